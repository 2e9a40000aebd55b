//! Exponential function, natural logarithm and digamma function. Every machine computes the same result, bit for bit.
//!
//! The `exp` and `ln` of two platforms can differ in the last bit, and EM accumulates such differences until different
//! pieces are pruned. These functions use only +, −, ×, ÷ and powers of two, which IEEE 754 defines to the last bit.
//!
//! The relative error is below 1e-15 (the absolute error where `ln` is small); tests compare with the platform's
//! functions. Cost: about 20 operations each, and up to seven more divisions for digamma. Left out: arguments that do
//! not occur in training. `ln` and `digamma` take positive normal numbers, and `exp` takes numbers up to 700. Source:
//! the series of `exp` and atanh; for digamma the asymptotic series, as in Abramowitz and Stegun 1964, 6.3.18 and
//! 6.3.5.

/// ln 2 as a sum of two parts. The first has so few bits that small multiples of it are exact (fdlibm, e_exp.c).
const LN2: (f64, f64) = (6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10);

/// Arguments of [`exp`] below this give 0.
const LEAST: f64 = -708.0;

/// Returns e to the power of `x`.
pub fn exp(x: f64) -> f64 {
    if x < LEAST {
        return 0.0;
    }
    let power = (x / (LN2.0 + LN2.1)).round();
    let rest = (x - power * LN2.0) - power * LN2.1; // at most half of ln 2
    let mut sum = 1.0;
    for i in (1..=14).rev() {
        sum = 1.0 + rest * INVERSE[i] * sum; // Taylor series in Horner form: 0.35^15/15! is under 1e-18
    }
    sum * f64::from_bits(((1023 + power as i64) as u64) << 52)
}

/// Reciprocals: `INVERSE[i]` is 1 / i.
const INVERSE: [f64; 15] = {
    let mut inverse = [0.0; 15];
    let mut i = 1;
    while i < 15 {
        inverse[i] = 1.0 / i as f64;
        i += 1;
    }
    inverse
};

/// Returns the natural logarithm.
pub fn ln(x: f64) -> f64 {
    const BITS: u64 = (1 << 52) - 1;
    let bits = x.to_bits();
    let (mut power, mut factor) = ((bits >> 52) as i64 - 1023, f64::from_bits(bits & BITS | 1023 << 52));
    if factor > std::f64::consts::SQRT_2 {
        (power, factor) = (power + 1, factor / 2.0);
    }
    let ratio = (factor - 1.0) / (factor + 1.0); // ln factor = 2 atanh ratio, and the ratio is at most 0.172
    let square = ratio * ratio;
    let mut sum = 0.0;
    for i in (1..=10).rev() {
        sum = square * (1.0 / (2 * i + 1) as f64 + sum);
    }
    let power = power as f64;
    power * LN2.0 + (power * LN2.1 + 2.0 * ratio * (1.0 + sum))
}

/// Returns the derivative of the logarithm of the gamma function.
pub fn digamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 7.0 {
        shift -= 1.0 / x;
        x += 1.0;
    }
    let middle = x - 0.5;
    let square = 1.0 / (middle * middle);
    let series = 1.0 / 24.0 - square * (7.0 / 960.0 - square * (31.0 / 8064.0 - square * (127.0 / 30720.0)));
    shift + ln(middle) + square * series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_and_ln_agree_with_the_platform() {
        let mut x = 1e-9;
        while x < 1e18 {
            assert!((ln(x) - x.ln()).abs() <= 1e-15 * x.ln().abs().max(1.0), "{x}: {} {}", ln(x), x.ln());
            let power = x.ln() * 17.0;
            if (-700.0..700.0).contains(&power) {
                let (ours, theirs) = (exp(power), power.exp());
                assert!((ours / theirs - 1.0).abs() < 1e-14, "{power}: {ours} {theirs}");
            }
            x *= 1.37;
        }
        assert_eq!((ln(1.0), exp(0.0), exp(-1e9)), (0.0, 1.0, 0.0));
    }

    /// Checks known values, and the recurrence digamma(x + 1) = digamma(x) + 1/x.
    #[test]
    fn digamma_has_known_values_and_its_recurrence() {
        const EULER: f64 = 0.577_215_664_901_532_9;
        assert!((digamma(1.0) + EULER).abs() < 1e-10);
        assert!((digamma(0.5) + EULER + 2.0 * std::f64::consts::LN_2).abs() < 1e-10);
        for x in [0.5, 1.25, 6.999, 7.0, 7.5, 1e3, 1e12] {
            assert!((digamma(x + 1.0) - digamma(x) - 1.0 / x).abs() < 1e-9, "{x}");
        }
    }
}
