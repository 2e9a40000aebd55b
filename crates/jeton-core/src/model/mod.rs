//! pretoken → ids.

pub mod bpe;
pub mod explain;
pub mod pairs;
