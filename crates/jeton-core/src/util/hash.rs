//! Fast hash of byte strings and of pairs of ids.
//!
//! Folded 64×64→128-bit multiplication of eight bytes at a time (as in wyhash, by Wang Yi). The seed is random for each
//! process, so that no text can be prepared whose pretokens collide; no result of the crate depends on it.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use crate::util::atomic_cell::made_once;

const MIX: u64 = 0x9E37_79B9_7F4A_7C15; // 2^64 / golden ratio

fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *made_once(&SEED, || RandomState::new().hash_one(MIX))
}

/// Hash function with the seed of the process, which is read once outside of loops.
#[derive(Debug, Clone, Copy)]
pub struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(seed())
    }
}

impl Hash {
    /// Hashes a byte string.
    #[inline]
    pub fn bytes(self, bytes: &[u8]) -> u64 {
        let mut h = self.0 ^ (bytes.len() as u64).wrapping_mul(MIX);
        let mut rest = bytes;
        while let Some((&word, more)) = rest.split_first_chunk().filter(|_| rest.len() > 8) {
            h = fold(h ^ u64::from_le_bytes(word));
            rest = more;
        }
        fold(h ^ last_word(bytes))
    }

    /// Hashes two integers.
    #[inline(always)]
    pub fn two(self, left: u64, right: u64) -> u64 {
        let wide = u128::from(left ^ self.0) * u128::from(right ^ self.0.rotate_left(32) ^ MIX);
        (wide as u64) ^ ((wide >> 64) as u64)
    }

    /// Hashes an integer.
    #[inline]
    pub fn int(self, value: u64) -> u64 {
        fold(self.0 ^ value)
    }
}

/// Returns the last eight bytes, or fewer, as a number that is injective for each length.
#[inline]
fn last_word(bytes: &[u8]) -> u64 {
    let half = |four: &[u8; 4]| u64::from(u32::from_le_bytes(*four));
    match (bytes.last_chunk(), bytes.first_chunk(), bytes.last_chunk(), bytes) {
        (Some(&word), ..) => u64::from_le_bytes(word),
        (_, Some(first), Some(last), _) => half(first) | half(last) << 32,
        (.., &[first, .., last]) => u64::from(first) | u64::from(bytes[bytes.len() / 2]) << 8 | u64::from(last) << 16,
        (.., &[only]) => u64::from(only),
        _ => 0,
    }
}

#[inline]
fn fold(x: u64) -> u64 {
    let wide = u128::from(x ^ MIX) * 0xA076_1D64_78BD_642F;
    (wide as u64) ^ ((wide >> 64) as u64)
}
