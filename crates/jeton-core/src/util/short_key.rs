//! 16-byte keys of short byte strings: up to 15 bytes, zero padding, and the length in the last byte.
//!
//! Invariant: two strings of up to 15 bytes are equal if and only if their keys are equal. So a comparison is one
//! instruction and reads no other memory. The last byte of the key of a longer string is 16; the caller defines the
//! other bytes. The layout in memory is the same on every machine.

/// Maximum length in bytes of a string that fits its key.
pub(crate) const MAX_BYTES: usize = 15;

/// Last byte of the key of a string that is longer than [`MAX_BYTES`].
const LONGER: u128 = MAX_BYTES as u128 + 1;

/// Key of a string: its bytes (at most 15), zeros, and its length in the last byte.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)] // because vectors are loaded from keys
pub(crate) struct ShortKey(u128);

/// Length of a string → two integers of 16 bytes. The first is a mask that keeps the bytes of the string and clears the
/// rest. The second is zero, except for its last byte, which is the last byte of the key.
const MASKS: [[u128; 2]; MAX_BYTES + 2] = {
    let mut masks = [[0; 2]; MAX_BYTES + 2];
    let mut len = 1;
    while len <= MAX_BYTES {
        masks[len] = [(u128::MAX >> (128 - 8 * len)).to_le(), ((len as u128) << 120).to_le()];
        len += 1;
    }
    masks[MAX_BYTES + 1][1] = (LONGER << 120).to_le();
    masks
};

impl ShortKey {
    /// Key of the empty string.
    pub(crate) const EMPTY: Self = Self(0);

    /// Returns the key of the first `len` bytes of `sixteen`; for more than 15 bytes, `ShortKey::longer(0)`.
    #[inline(always)]
    pub(crate) fn new(sixteen: [u8; 16], len: usize) -> Self {
        let [own, length] = MASKS[len.min(MAX_BYTES + 1)];
        Self(u128::from_ne_bytes(sixteen) & own | length)
    }

    /// Returns the key of a string.
    #[inline]
    pub(crate) fn of(string: &[u8]) -> Self {
        // Reads the string by two overlapping loads, because a copy of variable length would be a function call.
        let start = &string[..string.len().min(16)];
        let (eight, four) = ((start.first_chunk(), start.last_chunk()), (start.first_chunk(), start.last_chunk()));
        let sixteen = if let (Some(&first), Some(&last)) = eight {
            u128::from(u64::from_le_bytes(first)) | u128::from(u64::from_le_bytes(last)) << (8 * (start.len() - 8))
        } else if let (Some(&first), Some(&last)) = four {
            u128::from(u32::from_le_bytes(first)) | u128::from(u32::from_le_bytes(last)) << (8 * (start.len() - 4))
        } else {
            start.iter().rev().fold(0, |all, &byte| all << 8 | u128::from(byte))
        };
        Self::new(sixteen.to_le_bytes(), string.len())
    }

    /// Creates the key of a string that is longer than [`MAX_BYTES`], with 120 bits that the caller defines.
    pub(crate) fn longer(bits: u128) -> Self {
        Self((bits & !(0xFF << 120) | LONGER << 120).to_le())
    }

    /// Returns true if this is the key of a string of more than 15 bytes.
    #[inline(always)]
    pub(crate) fn is_longer(self) -> bool {
        self.0.to_le() >> 120 == LONGER
    }

    /// Returns the key as an integer, whose highest 8 bits are the last byte.
    #[inline(always)]
    pub(crate) fn bits(self) -> u128 {
        self.0.to_le()
    }

    /// Returns the string. Must not be called if the string is longer than [`MAX_BYTES`].
    #[inline(always)]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the pointer is to an integer of 16 initialized bytes, which is borrowed for as long as `self`. Bytes
        // need no alignment.
        let sixteen = unsafe { &*std::ptr::from_ref(&self.0).cast::<[u8; 16]>() };
        &sixteen[..usize::from(sixteen[MAX_BYTES]).min(MAX_BYTES)]
    }

    /// Returns an integer for sorting strings of up to 15 bytes. Strings are first padded with zeros to 15 bytes and
    /// compared by these bytes; if the padded bytes are equal, the shorter string comes first. Among all strings with
    /// the same padded bytes, a string of 15 bytes therefore has the greatest integer. So a string of more than 15 bytes
    /// can be sorted by the integer of its first 15 bytes, plus 1.
    #[inline(always)]
    pub(crate) fn order(self) -> u128 {
        self.0.to_be()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_equal_and_ordered_like_strings() {
        let letters: &[u8] = b"\0a\xFF";
        let mut strings: Vec<Vec<u8>> = vec![Vec::new()];
        for len in 0..=MAX_BYTES {
            let longest: Vec<_> = strings.iter().filter(|string| string.len() == len).take(9).cloned().collect();
            strings.extend(
                longest.iter().flat_map(|head| letters.iter().map(|&last| [head.as_slice(), &[last]].concat())),
            );
        }
        assert!(strings.iter().any(|string| string.len() > MAX_BYTES));
        for left in &strings {
            let key = ShortKey::of(left);
            assert_eq!(key.is_longer(), left.len() > MAX_BYTES);
            if key.is_longer() {
                assert_eq!(key, ShortKey::longer(0));
                continue;
            }
            assert_eq!(key.bytes(), left);
            let mut sixteen = [0xEE; 16];
            sixteen[..left.len()].copy_from_slice(left);
            assert_eq!(ShortKey::new(sixteen, left.len()), key);
            for right in strings.iter().filter(|right| right.len() <= MAX_BYTES) {
                assert_eq!(key.order().cmp(&ShortKey::of(right).order()), left.cmp(right), "{left:?} {right:?}");
            }
        }
        assert_eq!(ShortKey::default(), ShortKey::EMPTY);
        let bits = 0x0123_4567_89AB_CDEF << 40;
        assert_eq!(ShortKey::longer(bits).bits() & !(0xFF << 120), bits);
    }
}
