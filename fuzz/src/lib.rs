//! Fuzzing: seeds, mutations that know the shape of a file, and what must hold of every outcome.
//!
//! ```text
//! rng       a seeded generator, so that a run can be repeated
//! mutate    bytes, lines, JSON and protobuf, changed at random
//! cases     tokenizers and texts, made at random, as JSON
//! targets   the code under test, and its properties
//! engine    the loop: choose, change, run, look
//! minimize  a finding, made small
//! coverage  libFuzzer's loop in place of the engine's: a program of its own, with the feature of that name
//! ```
//!
//! An input whose outcome has a message not seen before joins the pool, which stands in for coverage. A run ends in one
//! of three ways: the input is fine, it is refused by one of our errors, or something is wrong. A panic, a stack
//! overflow, too much memory or time are found by the engine or by `tools/fuzz.py`, which runs this as a process of its
//! own.

pub mod cases;
pub mod engine;
pub mod minimize;
pub mod mutate;
pub mod rng;
pub mod targets;
