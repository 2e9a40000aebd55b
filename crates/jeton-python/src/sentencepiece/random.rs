//! Global state of the process: seed for random segmentations, and time limit of n-best search.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::OnceLock;

use jeton_core::model::Sampler;
use jeton_core::util::atomic_cell::made_once;
use pyo3::prelude::*;

/// Seed of the next segmentation. It is initialized at random.
static NEXT: OnceLock<AtomicU64> = OnceLock::new();
static NBEST_TIMEOUT: AtomicI64 = AtomicI64::new(0);

/// Difference between successive seeds. It is odd, so that the sequence runs through all 2^64 values.
const STEP: u64 = 0xD1B5_4A32_D192_ED03;

fn next() -> &'static AtomicU64 {
    made_once(&NEXT, || AtomicU64::new(RandomState::new().build_hasher().finish()))
}

/// Returns a sampler for one text, with the next seed.
pub fn sampler() -> Sampler {
    Sampler::new(next().fetch_add(STEP, Ordering::Relaxed))
}

/// Sets the seed of the process.
#[pyfunction]
pub fn set_random_seed(seed: u32) {
    next().store(u64::from(seed), Ordering::Relaxed);
}

/// Sets the time limit in milliseconds; 0 stands for no limit.
#[pyfunction]
pub fn set_nbest_timeout(milliseconds: i32) {
    NBEST_TIMEOUT.store(i64::from(milliseconds), Ordering::Relaxed);
}

/// Returns the time limit in milliseconds; None for no limit.
pub fn nbest_timeout() -> Option<u64> {
    u64::try_from(NBEST_TIMEOUT.load(Ordering::Relaxed)).ok().filter(|&limit| limit > 0)
}
