//! Random sampling for BPE-dropout and subword regularization, with the same results on every machine.
//!
//! The generator is SplitMix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators", OOPSLA,
//! figure 19). Probabilities are computed only with +, -, ×, ÷ and powers of two, because IEEE 754 defines their
//! results to the last bit. `exp` and `ln` differ in the last bit between platforms, and one bit can change an id.
//! [`Scaled`] represents very small probabilities without a logarithm, as a factor and a power of two.

/// Options of sampling, and the random number generator.
#[derive(Debug, Clone)]
pub struct Sampler {
    /// BPE-dropout: probability that the next merge is skipped.
    pub dropout: f64,
    /// Unigram: factor by which scores are multiplied before they become probabilities; 0 makes all segmentations
    /// equally likely.
    pub alpha: f64,
    /// Unigram: number of best segmentations to sample from; `None`: all segmentations.
    pub nbest: Option<usize>,
    state: u64,
}

impl Sampler {
    /// Creates a sampler from a seed; equal seeds give equal ids.
    pub fn new(seed: u64) -> Self {
        Self { dropout: 0.0, alpha: 1.0, nbest: None, state: seed }
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a random number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns true if the next merge is skipped. Probabilities 0 and 1 draw no random number.
    pub fn drops_merge(&mut self) -> bool {
        self.dropout > 0.0 && (self.dropout >= 1.0 || self.unit() < self.dropout)
    }

    /// Returns a random index into `weights`. The probability of an index is proportional to its weight. The
    /// method adds up the weights until the total exceeds a random fraction of `sum`, and returns the index of the last
    /// weight added. If the total stays too small because of rounding, the method returns the last index.
    pub fn choose(&mut self, weights: impl Iterator<Item = Scaled>, sum: Scaled) -> usize {
        let aim = self.unit();
        let (mut so_far, mut last) = (Scaled::ZERO, 0);
        for (index, weight) in weights.enumerate() {
            so_far = so_far.plus(weight);
            last = index;
            if so_far.over(sum) > aim {
                break;
            }
        }
        last
    }
}

/// The number `factor` · 2^`power`. `factor` is 0 or in [1, 2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scaled {
    factor: f64,
    power: i64,
}

/// ln 2 in two parts; the first has so few bits that small multiples of it are exact (fdlibm, e_exp.c).
const LN2: (f64, f64) = (6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10);

/// Limit on the absolute value of the argument of [`Scaled::exp`]. An argument beyond it gives the same probability as
/// the limit: 0 or 1, after rounding.
const LARGEST: f64 = 1e15;

impl Scaled {
    /// The number 0.
    pub const ZERO: Self = Self { factor: 0.0, power: 0 };
    /// The number 1.
    pub const ONE: Self = Self { factor: 1.0, power: 0 };

    /// Returns e to the power of `x`, with about 15 correct digits (fewer for x in the millions). `x` must not be NaN.
    pub fn exp(x: f64) -> Self {
        let x = x.clamp(-LARGEST, LARGEST);
        let power = (x / (LN2.0 + LN2.1)).floor();
        let rest = (x - power * LN2.0) - power * LN2.1; // in [0, ln 2), up to rounding
        let mut sum = 1.0;
        for i in (1..=20).rev() {
            sum = 1.0 + rest / f64::from(i) * sum; // Taylor series in Horner form: 0.7^21/21! is under 1e-22
        }
        Self { factor: sum, power: power as i64 }.normal()
    }

    fn normal(mut self) -> Self {
        while self.factor >= 2.0 {
            self.factor /= 2.0;
            self.power += 1;
        }
        while self.factor > 0.0 && self.factor < 1.0 {
            self.factor *= 2.0;
            self.power -= 1;
        }
        self
    }

    /// Returns the product.
    pub fn times(self, other: Self) -> Self {
        Self { factor: self.factor * other.factor, power: self.power.saturating_add(other.power) }.normal()
    }

    /// Returns the sum.
    pub fn plus(self, other: Self) -> Self {
        let (large, small) = if self.is_over(other) { (self, other) } else { (other, self) };
        Self { factor: large.factor + small.factor * half_to(large.power.saturating_sub(small.power)), ..large }
            .normal()
    }

    /// Returns the quotient `self / whole`. `whole` must not be smaller than `self`.
    pub fn over(self, whole: Self) -> f64 {
        if self.factor == 0.0 || whole.factor == 0.0 {
            return 0.0;
        }
        let quotient = self.factor / whole.factor;
        match whole.power.saturating_sub(self.power) {
            down @ 0.. => quotient * half_to(down),
            up => quotient / half_to(up.saturating_neg()),
        }
    }

    fn is_over(self, other: Self) -> bool {
        other.factor == 0.0 || (self.factor != 0.0 && self.power >= other.power)
    }
}

/// Returns 2 to the power of -`power`, or 0 if the value is too small to change a sum.
fn half_to(power: i64) -> f64 {
    match power {
        0..=1022 => f64::from_bits(((1023 - power) as u64) << 52),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_agrees_with_the_platform() {
        for x in [0.0, -0.1, -1.0, -10.0, 3.5, -700.0, std::f64::consts::LN_2, -123.456] {
            let ours = Scaled::exp(x).over(Scaled::ONE);
            assert!((ours / f64::exp(x) - 1.0).abs() < 1e-13, "{x}: {ours} {}", f64::exp(x));
        }
    }

    #[test]
    fn sums_and_quotients_of_tiny_numbers_are_computed() {
        let (a, b) = (Scaled::exp(-5000.0), Scaled::exp(-5001.0));
        assert!((b.over(a) - f64::exp(-1.0)).abs() < 1e-11);
        assert!((a.over(a.plus(b)) - 1.0 / (1.0 + f64::exp(-1.0))).abs() < 1e-11);
        assert_eq!(Scaled::ZERO.plus(a), a);
        assert_eq!(a.times(Scaled::ONE), a);
    }

    #[test]
    fn splitmix64_gives_the_published_numbers() {
        let mut sampler = Sampler::new(1_234_567); // the test vector of Rosetta Code's page on SplitMix64
        assert_eq!([sampler.bits(), sampler.bits()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }
}
