//! Conversions of UTF-8: validates text, decodes characters, and encodes code points, four at a time.
//!
//! Python stores a string in one, two or four bytes for each character. Python's own conversion to UTF-8 takes six
//! cycles for each character, and keeps the result in the string. This module computes the bytes of four characters in
//! parallel, and compacts them with a shuffle that depends on their lengths, as simdutf does (Lemire and Clausecker
//! 2022, arXiv 2109.10433).

use crate::util::buffer_pool;
use crate::util::simd::{self, Detected, Portable};

/// Returns the text as a string if it is valid UTF-8. Beyond ASCII, this is several times as fast as
/// [`std::str::from_utf8`].
#[inline]
pub fn validated(text: &[u8]) -> Option<&str> {
    simdutf8::basic::from_utf8(text).ok()
}

/// Returns the offset of the first byte that is not part of valid UTF-8.
pub fn first_invalid(text: &[u8]) -> Option<usize> {
    simdutf8::compat::from_utf8(text).err().map(|error| error.valid_up_to())
}

/// Returns the length in bytes of the character that begins with `lead`; 1 for a continuation byte.
#[inline(always)]
pub fn char_len(lead: u8) -> usize {
    match lead {
        0..0xC0 => 1,
        0xC0..0xE0 => 2,
        0xE0..0xF0 => 3,
        0xF0.. => 4,
    }
}

/// Returns the code point of two bytes of UTF-8.
#[inline(always)]
pub fn of_two(first: u8, second: u8) -> u32 {
    u32::from(first & 0x1F) << 6 | u32::from(second & 0x3F)
}

/// Returns the code point of three bytes of UTF-8.
#[inline(always)]
pub fn of_three(first: u8, second: u8, third: u8) -> u32 {
    u32::from(first & 0x0F) << 12 | u32::from(second & 0x3F) << 6 | u32::from(third & 0x3F)
}

/// Returns the code point of the character that begins at `at`, and its length in bytes.
#[inline(always)]
pub fn decode(text: &[u8], at: usize) -> (u32, usize) {
    match text[at] {
        lead @ 0..0x80 => (u32::from(lead), 1),
        lead @ 0x80..0xE0 => (of_two(lead, text[at + 1]), 2),
        lead @ 0xE0..0xF0 => (of_three(lead, text[at + 1], text[at + 2]), 3),
        lead => {
            let [second, third, fourth] = [1, 2, 3].map(|i| u32::from(text[at + i] & 0x3F));
            (u32::from(lead & 0x07) << 18 | second << 12 | third << 6 | fourth, 4)
        }
    }
}

/// Number of bytes that one vector store writes.
const STEP: usize = 16;

/// Maximum initial capacity in bytes.
const MOST_AT_ONCE: usize = 1 << 28;

/// Returns a buffer whose capacity usually suffices for the UTF-8 of `points` characters.
pub fn room_for(points: usize) -> Vec<u8> {
    buffer_pool::TEXTS.take((3 * points).min(MOST_AT_ONCE) + STEP)
}

/// Returns a capacity with which [`append`] does not reallocate for `points` characters.
pub const fn most_bytes(points: usize) -> usize {
    4 * points + STEP
}

/// Appends the UTF-8 of `points`. If one of them is a surrogate (U+D800 to U+DFFF) or greater than U+10FFFF, returns
/// false and leaves `out` unchanged.
pub fn append(points: &[u32], out: &mut Vec<u8>) -> bool {
    append_with(simd::detected(), points, out)
}

/// Runs [`append`] with the given instructions.
fn append_with(instructions: Detected, points: &[u32], out: &mut Vec<u8>) -> bool {
    let before = out.len();
    let done = simd::dispatch!(
        instructions,
        (points: &[u32] = points, out: &mut Vec<u8> = out) -> bool,
        |level: L| <L as Append>::append(level, points, out)
    );
    if !done {
        out.truncate(before);
    }
    done
}

/// Conversion of code points with one instruction set. A value of an implementing type proves that the processor has
/// the instructions.
trait Append: Copy {
    /// Runs [`append`], but if a point is invalid, the characters before it stay in `out`.
    fn append(self, points: &[u32], out: &mut Vec<u8>) -> bool;
}

impl Append for Portable {
    #[inline(always)]
    fn append(self, points: &[u32], out: &mut Vec<u8>) -> bool {
        plain(points, out)
    }
}

fn plain(points: &[u32], out: &mut Vec<u8>) -> bool {
    points.iter().all(|&point| {
        let character = char::from_u32(point);
        character.into_iter().for_each(|c| out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()));
        character.is_some()
    })
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{plain, Append, STEP};
    use crate::util::simd::{HasAvx2, HasAvx512};

    /// Shuffle and total number of bytes for each combination of lengths of four characters. In the index, bit `i` is
    /// set if character `i` has more than one byte, and bit `i + 4` if it has three bytes.
    static SHUFFLES: [([u8; STEP], u8); 256] = shuffles();

    const fn shuffles() -> [([u8; STEP], u8); 256] {
        let mut shuffles = [([0x80; STEP], 0); 256];
        let mut which = 0;
        while which < 256 {
            let (mut character, mut len) = (0, 0);
            while character < 4 {
                let bytes = 1 + (which >> character & 1) + (which >> (character + 4) & 1);
                let mut byte = 0;
                while byte < bytes {
                    shuffles[which].0[len] = (4 * character + byte) as u8;
                    (byte, len) = (byte + 1, len + 1);
                }
                character += 1;
            }
            shuffles[which].1 = len as u8;
            which += 1;
        }
        shuffles
    }

    impl Append for HasAvx2 {
        #[inline(always)]
        fn append(self, points: &[u32], out: &mut Vec<u8>) -> bool {
            out.reserve(super::most_bytes(points.len())); // usually a no-op; does not overflow for a slice of u32
            let (sixteens, rest) = points.as_chunks::<16>();
            // A character takes at most four bytes, so before each call there is spare capacity for four bytes of
            // each remaining character, and for `STEP` more bytes.
            for sixteen in sixteens {
                // SAFETY: the spare capacity suffices for all remaining points, of which these are the first.
                if unsafe { !append_ascii(self, sixteen, out) && !append_any(self, sixteen, out) } {
                    return false;
                }
            }
            // SAFETY: as in the loop; `rest` contains all remaining points.
            unsafe { append_any(self, rest, out) }
        }
    }

    impl Append for HasAvx512 {
        /// Uses the instructions of AVX2, because four characters fill 16 bytes, and AVX-512 F has no wider byte
        /// shuffle.
        #[inline(always)]
        fn append(self, points: &[u32], out: &mut Vec<u8>) -> bool {
            self.avx2().append(points, out)
        }
    }

    /// Appends sixteen characters if all are ASCII.
    ///
    /// # Safety
    /// `out` must have a spare capacity of at least 16 bytes.
    #[inline(always)]
    unsafe fn append_ascii(_: HasAvx2, points: &[u32; 16], out: &mut Vec<u8>) -> bool {
        // SAFETY: the four loads read points 0 to 3, 4 to 7, 8 to 11 and 12 to 15. The store writes 16 bytes to the
        // spare capacity, and `set_len` adds exactly these 16 bytes. Neither the loads nor the store need alignment.
        // The argument of type `HasAvx2` proves that the processor has AVX2.
        unsafe {
            let [a, b, c, d] = [0, 4, 8, 12].map(|at| _mm_loadu_si128(points[at..].as_ptr().cast()));
            let all = _mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d));
            let is_ascii = _mm_testz_si128(all, _mm_set1_epi32(!0x7F)) == 1;
            if is_ascii {
                let bytes = _mm_packus_epi16(_mm_packus_epi32(a, b), _mm_packus_epi32(c, d));
                _mm_storeu_si128(out.as_mut_ptr().add(out.len()).cast(), bytes);
                out.set_len(out.len() + 16);
            }
            is_ascii
        }
    }

    /// Appends characters of any length, four at a time.
    ///
    /// # Safety
    /// `out` must have a spare capacity of four bytes for each point, and [`STEP`] more bytes.
    #[inline(always)]
    unsafe fn append_any(proof: HasAvx2, points: &[u32], out: &mut Vec<u8>) -> bool {
        let (fours, rest) = points.as_chunks::<4>();
        for four in fours {
            let Some((bytes, len)) = encode(proof, four) else {
                if !plain(four, out) {
                    return false;
                }
                continue;
            };
            // SAFETY: the store writes `STEP` = 16 bytes to the spare capacity. That is large enough: the caller
            // guarantees four bytes for each point and `STEP` more bytes, and each earlier point took at most four
            // bytes. `set_len` adds at most 12 bytes, all of which the store has initialized.
            unsafe {
                _mm_storeu_si128(out.as_mut_ptr().add(out.len()).cast(), bytes);
                out.set_len(out.len() + len);
            }
        }
        plain(rest, out)
    }

    /// Returns the bytes of four characters, and how many bytes these are. Returns None if any of the characters has
    /// four bytes or is invalid.
    #[inline(always)]
    fn encode(_: HasAvx2, four: &[u32; 4]) -> Option<(__m128i, usize)> {
        // SAFETY: the loads read the four points and the 16 bytes of `shuffle`, and need no alignment. The argument of
        // type `HasAvx2` proves that the processor has AVX2.
        unsafe {
            let c = _mm_loadu_si128(four.as_ptr().cast());
            let is_half = _mm_cmpeq_epi32(_mm_and_si128(c, _mm_set1_epi32(!0x7FF)), _mm_set1_epi32(0xD800));
            let is_far = _mm_cmpgt_epi32(_mm_srli_epi32::<16>(c), _mm_setzero_si128());
            let is_other = _mm_or_si128(is_half, is_far);
            if _mm_testz_si128(is_other, is_other) == 0 {
                return None;
            }
            let low = _mm_and_si128(c, _mm_set1_epi32(0x3F));
            let above = _mm_srli_epi32::<6>(c);
            let middle = _mm_and_si128(above, _mm_set1_epi32(0x3F));
            let of_two = _mm_or_si128(_mm_or_si128(above, _mm_slli_epi32::<8>(low)), _mm_set1_epi32(0x80C0));
            let ends = _mm_or_si128(_mm_slli_epi32::<8>(middle), _mm_slli_epi32::<16>(low));
            let of_three = _mm_or_si128(_mm_or_si128(_mm_srli_epi32::<12>(c), ends), _mm_set1_epi32(0x80_80E0));
            let (wide, three) = (_mm_cmpgt_epi32(c, _mm_set1_epi32(0x7F)), _mm_cmpgt_epi32(c, _mm_set1_epi32(0x7FF)));
            let bytes = _mm_blendv_epi8(_mm_blendv_epi8(c, of_two, wide), of_three, three);
            let which = _mm_movemask_ps(_mm_castsi128_ps(wide)) | _mm_movemask_ps(_mm_castsi128_ps(three)) << 4;
            let (shuffle, len) = &SHUFFLES[which as usize & 0xFF];
            Some((_mm_shuffle_epi8(bytes, _mm_loadu_si128(shuffle.as_ptr().cast())), usize::from(*len)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversion_equals_the_standard_library() {
        let kinds =
            [0..0x80, 0x80..0x800, 0x800..0xD800, 0xE000..0x1_0000, 0x1_0000..0x11_0000, 0x7E..0x82, 0x7FE..0x802];
        let mut chance = 3u64;
        let mut next = |most: u32| {
            chance = chance.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            (chance >> 33) as u32 % most
        };
        for round in 0..4_000 {
            let kinds = &kinds[..1 + next(kinds.len() as u32) as usize];
            let points: Vec<u32> = (0..next(40))
                .map(|_| {
                    let kind = &kinds[next(kinds.len() as u32) as usize];
                    kind.start + next(kind.end - kind.start)
                })
                .collect();
            let text: String = points.iter().copied().filter_map(char::from_u32).collect();
            let mut out = b"before".to_vec();
            for level in [simd::SimdLevel::Portable, simd::SimdLevel::Avx2, simd::SimdLevel::Avx512] {
                let level = simd::detected().at_most(level);
                out.truncate(6);
                assert!(append_with(level, &points, &mut out) && out[6..] == *text.as_bytes(), "{points:x?}");
            }
            if round % 4 == 0 && !points.is_empty() {
                let mut broken = points.clone();
                broken[next(points.len() as u32) as usize] = [0xD800, 0xDFFF, 0x11_0000, u32::MAX][next(4) as usize];
                for level in [simd::SimdLevel::Portable, simd::SimdLevel::Avx2, simd::SimdLevel::Avx512] {
                    let level = simd::detected().at_most(level);
                    assert!(!append_with(level, &broken, &mut out) && out.len() == 6 + text.len());
                }
            }
        }
    }
}
