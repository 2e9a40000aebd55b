//! Minimum of up to 64 priorities. The priorities stay in vector registers, where individual priorities can be
//! replaced.

use super::detection::Portable;

/// Array of priorities in vector registers.
pub(crate) trait MinArray: Copy {
    /// Proof that the processor has the instructions that the methods use.
    type Proof: Copy;

    fn empty(proof: Self::Proof) -> Self;
    /// Loads the first priorities, as many as the array holds.
    fn load(proof: Self::Proof, priorities: &[u32; 64]) -> Self;
    fn min(self) -> u32;
    /// Replaces the priority at an index.
    fn with(self, place: usize, value: u32) -> Self;
}

/// Portable version.
#[derive(Clone, Copy)]
pub(crate) struct PortableMin<const N: usize>([u32; N]);

impl<const N: usize> MinArray for PortableMin<N> {
    type Proof = Portable;

    #[inline(always)]
    fn empty(_: Portable) -> Self {
        Self([u32::MAX; N])
    }

    #[inline(always)]
    fn load(_: Portable, priorities: &[u32; 64]) -> Self {
        let mut row = [0; N];
        row.copy_from_slice(&priorities[..N]);
        Self(row)
    }

    #[inline(always)]
    fn min(self) -> u32 {
        self.0.iter().fold(u32::MAX, |least, &value| least.min(value))
    }

    #[inline(always)]
    fn with(mut self, place: usize, value: u32) -> Self {
        self.0[place % N] = value;
        self
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2Min, Avx512Min};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::MinArray;
    use crate::util::simd::detection::{HasAvx2, HasAvx512};

    /// Array that contains one mask for each of 64 positions. The mask for position `place` consists of the 64 values
    /// that begin at index 64 − `place`. Its value number `place` (from 0) is `MASKS[64]`; its other values are 0. One
    /// load reads eight values of a mask.
    static MASKS: [u32; 128] = {
        let mut masks = [0; 128];
        masks[64] = u32::MAX;
        masks
    };

    /// N vectors of eight priorities. Only `empty` and `load` create this type, and they require a [`HasAvx2`]; so
    /// `self` also proves AVX2.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2Min<const N: usize>([__m256i; N]);

    impl<const N: usize> MinArray for Avx2Min<N> {
        type Proof = HasAvx2;

        #[inline(always)]
        fn empty(_: HasAvx2) -> Self {
            // SAFETY: the argument proves AVX2; the instruction accesses no memory.
            Self([unsafe { _mm256_set1_epi32(-1) }; N])
        }

        #[inline(always)]
        fn load(_: HasAvx2, priorities: &[u32; 64]) -> Self {
            let eights: &[[u32; 8]] = priorities.as_chunks().0;
            // SAFETY: each load reads the eight integers of `eights[i]` and needs no alignment; the argument proves
            // AVX2.
            Self(std::array::from_fn(|i| unsafe { _mm256_loadu_si256(eights[i].as_ptr().cast()) }))
        }

        #[inline(always)]
        fn min(self) -> u32 {
            // SAFETY: `self` proves AVX2 (see the type); the instructions access no memory.
            unsafe {
                let mut least = self.0[0];
                for vector in &self.0[1..] {
                    least = _mm256_min_epu32(least, *vector);
                }
                let four = _mm_min_epu32(_mm256_castsi256_si128(least), _mm256_extracti128_si256::<1>(least));
                let two = _mm_min_epu32(four, _mm_shuffle_epi32::<0b01_00_11_10>(four));
                let one = _mm_min_epu32(two, _mm_shuffle_epi32::<0b10_11_00_01>(two));
                _mm_cvtsi128_si32(one) as u32
            }
        }

        #[inline(always)]
        fn with(mut self, place: usize, value: u32) -> Self {
            let masks = &MASKS[MASKS.len() / 2 - place % (8 * N)..];
            for (vector, mask) in self.0.iter_mut().zip(masks.as_chunks::<8>().0) {
                // SAFETY: `self` proves AVX2 (see the type); the load reads the eight integers of `mask` and needs no
                // alignment.
                unsafe {
                    let here = _mm256_loadu_si256(mask.as_ptr().cast());
                    *vector = _mm256_blendv_epi8(*vector, _mm256_set1_epi32(value as i32), here);
                }
            }
            self
        }
    }

    /// N vectors of sixteen priorities. Only `empty` and `load` create this type, and they require a [`HasAvx512`]; so
    /// `self` also proves AVX-512.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx512Min<const N: usize>([__m512i; N]);

    impl<const N: usize> MinArray for Avx512Min<N> {
        type Proof = HasAvx512;

        #[inline(always)]
        fn empty(_: HasAvx512) -> Self {
            // SAFETY: the argument proves AVX-512 F; the instruction accesses no memory.
            Self([unsafe { _mm512_set1_epi32(-1) }; N])
        }

        #[inline(always)]
        fn load(_: HasAvx512, priorities: &[u32; 64]) -> Self {
            let sixteens: &[[u32; 16]] = priorities.as_chunks().0;
            // SAFETY: each load reads the sixteen integers of `sixteens[i]` and needs no alignment; the argument proves
            // AVX-512 F.
            Self(std::array::from_fn(|i| unsafe { _mm512_loadu_si512(sixteens[i].as_ptr().cast()) }))
        }

        #[inline(always)]
        fn min(self) -> u32 {
            // SAFETY: `self` proves AVX-512 F (see the type); the instructions access no memory.
            unsafe {
                let mut least = self.0[0];
                for vector in &self.0[1..] {
                    least = _mm512_min_epu32(least, *vector);
                }
                _mm512_reduce_min_epu32(least)
            }
        }

        #[inline(always)]
        fn with(mut self, place: usize, value: u32) -> Self {
            // SAFETY: `self` proves AVX-512 F (see the type); the instructions access no memory.
            unsafe {
                let value = value as i32;
                for (i, vector) in self.0.iter_mut().enumerate() {
                    let here = (1u64 << place >> (16 * i)) as u16;
                    *vector = _mm512_mask_set1_epi32(*vector, here, value);
                }
            }
            self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::util::simd::{self, Detected, SimdLevel};

    fn check<R: MinArray>(proof: R::Proof, len: usize) {
        let mut plain = [u32::MAX; 64];
        for (i, value) in plain.iter_mut().enumerate().take(len) {
            *value = (i as u32 + 1).wrapping_mul(0x9E37_79B9);
        }
        let mut row = R::load(proof, &plain);
        for step in 0..500usize {
            assert_eq!(row.min(), plain[..len].iter().copied().min().unwrap_or(0));
            let (place, value) = (step * 31 % len, (step as u32).wrapping_mul(0xC2B2_AE3D));
            plain[place] = value;
            row = row.with(place, value);
        }
        assert_eq!(R::empty(proof).min(), u32::MAX);
    }

    #[test]
    fn registers_equal_an_array() {
        check::<PortableMin<16>>(Portable, 16);
        check::<PortableMin<64>>(Portable, 64);
        #[cfg(target_arch = "x86_64")]
        {
            if let Detected::Avx2(proof) = simd::detected().at_most(SimdLevel::Avx2) {
                check::<Avx2Min<2>>(proof, 16);
                check::<Avx2Min<4>>(proof, 32);
                check::<Avx2Min<8>>(proof, 64);
            }
            if let Detected::Avx512(proof) = simd::detected() {
                check::<Avx512Min<1>>(proof, 16);
                check::<Avx512Min<2>>(proof, 32);
                check::<Avx512Min<4>>(proof, 64);
            }
        }
    }
}
