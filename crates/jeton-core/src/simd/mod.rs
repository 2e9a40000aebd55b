//! Which vector instructions this processor has, asked once.
//!
//! Every loop that uses vectors is written once over a small trait, and compiled for each level. All levels give the same
//! results; `JETON_SIMD=avx2` or `JETON_SIMD=portable` in the environment takes a lower one, for tests and measurements.

pub(crate) mod block;

use std::sync::OnceLock;

/// Instruction sets, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Integers of 64 bits, on any machine.
    Portable,
    /// x86-64 with AVX2, BMI1, BMI2 and POPCNT (Haswell, 2013; Zen, 2017).
    Avx2,
    /// x86-64 with AVX-512 F, BW and VL as well (Skylake-SP, 2017; Zen 4, 2022).
    Avx512,
}

/// The best level that the processor has and the environment allows.
#[inline]
pub fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let allowed = match std::env::var("JETON_SIMD").as_deref() {
            Ok("portable") => Level::Portable,
            Ok("avx2") => Level::Avx2,
            _ => Level::Avx512,
        };
        available().min(allowed)
    })
}

#[cfg(target_arch = "x86_64")]
fn available() -> Level {
    let avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl");
    match (avx2, avx512) {
        (true, true) => Level::Avx512,
        (true, false) => Level::Avx2,
        _ => Level::Portable,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn available() -> Level {
    Level::Portable
}

/// Asks for a line of memory that will be read soon.
#[inline(always)]
pub(crate) fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint; SSE is part of x86-64.
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
