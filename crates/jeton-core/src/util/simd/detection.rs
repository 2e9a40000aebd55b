//! Detects the vector instructions of the processor, and defines types whose values prove that it has them.

use std::sync::OnceLock;

use crate::util::atomic_cell::made_once;

/// Instruction sets, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SimdLevel {
    /// 64-bit integers, which every machine has.
    Portable,
    /// x86-64 with AVX2, BMI1, BMI2 and POPCNT (Haswell, 2013; Zen, 2017).
    Avx2,
    /// x86-64 with the instructions of `Avx2` and AVX-512 F, DQ, BW and VL (Skylake-SP, 2017; Zen 4, 2022).
    Avx512,
}

/// Instructions of [`SimdLevel::Portable`], which every processor has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Portable;

/// Proof that the processor has the instructions of [`SimdLevel::Avx2`].
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct HasAvx2(());

/// Proof that the processor has the instructions of [`SimdLevel::Avx512`], which include those of [`SimdLevel::Avx2`].
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct HasAvx512(HasAvx2);

#[cfg(target_arch = "x86_64")]
impl HasAvx512 {
    /// Returns the proof of [`SimdLevel::Avx2`].
    #[inline(always)]
    pub(crate) fn avx2(self) -> HasAvx2 {
        self.0
    }
}

/// A SIMD level, with the proof that the processor has its instructions.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Detected {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(HasAvx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(HasAvx512),
}

impl Detected {
    fn level(self) -> SimdLevel {
        match self {
            Self::Portable => SimdLevel::Portable,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => SimdLevel::Avx2,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => SimdLevel::Avx512,
        }
    }

    /// Returns the lower of this level and `most`.
    pub(crate) fn at_most(self, most: SimdLevel) -> Self {
        match (self, most) {
            (_, SimdLevel::Portable) => Self::Portable,
            #[cfg(target_arch = "x86_64")]
            (Self::Avx512(proof), SimdLevel::Avx2) => Self::Avx2(proof.avx2()),
            _ => self,
        }
    }
}

/// Returns the best level that the processor has and the environment allows.
#[inline]
pub fn level() -> SimdLevel {
    detected().level()
}

/// Returns the same level as [`level`], with the proof that the processor has the level's instructions.
#[inline]
pub(crate) fn detected() -> Detected {
    static DETECTED: OnceLock<Detected> = OnceLock::new();
    *made_once(&DETECTED, || {
        available().at_most(match std::env::var("JETON_SIMD").as_deref() {
            Ok("portable") => SimdLevel::Portable,
            Ok("avx2") => SimdLevel::Avx2,
            _ => SimdLevel::Avx512,
        })
    })
}

#[cfg(target_arch = "x86_64")]
fn available() -> Detected {
    let avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl");
    match (avx2, avx512) {
        (true, true) => Detected::Avx512(HasAvx512(HasAvx2(()))),
        (true, false) => Detected::Avx2(HasAvx2(())),
        _ => Detected::Portable,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn available() -> Detected {
    Detected::Portable
}
