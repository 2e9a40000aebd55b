//! Structure-aware fuzzing: seeds, mutations, generators, and properties of every outcome.
//!
//! ```text
//! rng       seeded random numbers: runs are reproducible
//! mutate    mutations of bytes, lines, JSON and protobuf
//! cases     generators of tokenizers and texts, as JSON
//! targets   code under test, and its properties
//! engine    the fuzzing loop
//! minimize  minimization of findings
//! coverage  libFuzzer's loop instead of the engine's: a separate program, with the feature of that name
//! ```
//!
//! An input whose outcome has a new message joins the pool; messages replace coverage as feedback. An input is
//! accepted, is refused with one of Jeton's errors, or violates a property. The engine detects panics and timeouts;
//! `tools/fuzz.py`, which runs it as a child process, detects stack overflows and excessive memory.

pub mod cases;
pub mod engine;
pub mod minimize;
pub mod mutate;
pub mod rng;
pub mod targets;
