//! Vector instructions. The processor's level of instructions is detected once.
//!
//! Each loop that uses vectors is written once over a small trait and compiled for each level. All levels give the same
//! results; the environment variable `JETON_SIMD=avx2` or `JETON_SIMD=portable` selects a lower level, for tests and
//! measurements.
//!
//! Executing instructions that the processor lacks is undefined behavior. All code with such instructions therefore
//! requires a `HasAvx2` or `HasAvx512`, as an argument or a field. These types have no data, and only the detection
//! creates their values.

pub(crate) mod block;
mod detection;
pub(crate) mod min;

use self::block::{Block, PortableBlock};
pub(crate) use self::detection::{detected, Detected, Portable};
pub use self::detection::{level, SimdLevel};
#[cfg(target_arch = "x86_64")]
pub(crate) use self::detection::{HasAvx2, HasAvx512};
use self::min::{MinArray, PortableMin};

/// Instructions of one level. A value of an implementing type proves that the processor has them.
pub(crate) trait Instructions: Copy {
    /// Block of 64 bytes.
    type Block: Block<Proof = Self>;
    /// Array of 16 priorities.
    type Min16: MinArray<Proof = Self>;
    /// Array of 32 priorities.
    type Min32: MinArray<Proof = Self>;
    /// Array of 64 priorities.
    type Min64: MinArray<Proof = Self>;
}

impl Instructions for Portable {
    type Block = PortableBlock;
    type Min16 = PortableMin<16>;
    type Min32 = PortableMin<32>;
    type Min64 = PortableMin<64>;
}

#[cfg(target_arch = "x86_64")]
impl Instructions for HasAvx2 {
    type Block = block::Avx2Block;
    type Min16 = min::Avx2Min<2>;
    type Min32 = min::Avx2Min<4>;
    type Min64 = min::Avx2Min<8>;
}

#[cfg(target_arch = "x86_64")]
impl Instructions for HasAvx512 {
    type Block = block::Avx512Block;
    type Min16 = min::Avx512Min<1>;
    type Min32 = min::Avx512Min<2>;
    type Min64 = min::Avx512Min<4>;
}

/// Compiles `$call` for each level, and runs it for the level that was detected. In `$call`, `$level` is the proof,
/// of type `$L`, which implements [`Instructions`]. The generated function cannot use variables of its surroundings,
/// so everything that `$call` uses is listed as arguments.
///
/// ```text
/// dispatch!(detected(), (text: &[u8] = text) -> usize, |level: L| count::<<L as Instructions>::Block>(level, text))
/// ```
macro_rules! dispatch {
    (
        $detected:expr, $(for <$F:ident: $Bound:path>)? ($($arg:ident: $type:ty = $value:expr),* $(,)?) $(-> $ret:ty)?,
        |$level:ident: $L:ident| $call:expr
    ) => {{
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        #[allow(clippy::too_many_arguments)]
        fn avx2$(<$F: $Bound>)?($level: $crate::util::simd::HasAvx2, $($arg: $type),*) $(-> $ret)? {
            type $L = $crate::util::simd::HasAvx2;
            $call
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512dq,avx512bw,avx512vl")]
        #[allow(clippy::too_many_arguments)]
        fn avx512$(<$F: $Bound>)?($level: $crate::util::simd::HasAvx512, $($arg: $type),*) $(-> $ret)? {
            type $L = $crate::util::simd::HasAvx512;
            $call
        }
        #[allow(clippy::too_many_arguments)]
        fn portable$(<$F: $Bound>)?($level: $crate::util::simd::Portable, $($arg: $type),*) $(-> $ret)? {
            type $L = $crate::util::simd::Portable;
            $call
        }
        match $detected {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `proof` proves that the processor has the instructions for which the function is compiled.
            $crate::util::simd::Detected::Avx512(proof) => unsafe { avx512$(::<$F>)?(proof, $($value),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `proof` proves that the processor has the instructions for which the function is compiled.
            $crate::util::simd::Detected::Avx2(proof) => unsafe { avx2$(::<$F>)?(proof, $($value),*) },
            $crate::util::simd::Detected::Portable => portable$(::<$F>)?($crate::util::simd::Portable, $($value),*),
        }
    }};
}
pub(crate) use dispatch;

/// Prefetches the cache line of an address. The address need not be valid.
#[inline(always)]
pub fn prefetch<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction is a hint, which accesses no memory and never faults; SSE is part of x86-64.
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
