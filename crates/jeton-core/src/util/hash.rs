//! Hashes of byte strings and of integers, by foldhash.
//!
//! The seed is random for each process, so that an attacker cannot prepare a text whose pretokens collide. No result of
//! the crate depends on the seed.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

use foldhash::fast::FoldHasher;
use foldhash::SharedSeed;

use crate::util::atomic_cell::made_once;

/// Hash function with the seed of the process.
#[derive(Clone, Copy, Debug)]
pub struct Hash {
    seed: u64,
    shared: &'static SharedSeed,
}

impl Default for Hash {
    fn default() -> Self {
        static SEED: OnceLock<u64> = OnceLock::new();
        let seed = *made_once(&SEED, || RandomState::new().hash_one(0));
        Self { seed, shared: SharedSeed::global_random() }
    }
}

impl Hash {
    #[inline(always)]
    fn hasher(self) -> FoldHasher<'static> {
        FoldHasher::with_seed(self.seed, self.shared)
    }

    /// Returns the hash of a byte string.
    #[inline]
    pub fn bytes(self, bytes: &[u8]) -> u64 {
        let mut hasher = self.hasher();
        hasher.write(bytes);
        hasher.finish()
    }

    /// Returns the hash of two integers.
    #[inline(always)]
    pub fn two(self, left: u64, right: u64) -> u64 {
        let mut hasher = self.hasher();
        hasher.write_u64(left);
        hasher.write_u64(right);
        hasher.finish()
    }

    /// Returns the hash of an integer.
    #[inline]
    pub fn int(self, value: u64) -> u64 {
        let mut hasher = self.hasher();
        hasher.write_u64(value);
        hasher.finish()
    }
}
