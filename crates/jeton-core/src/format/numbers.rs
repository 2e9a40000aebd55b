//! Reads and writes scores in `tokenizer.json` as Hugging Face `tokenizers` parses them.
//!
//! HF's parser reads the digits as one integer, rounds it to a double, and divides by a power of ten, which rounds
//! again. As a result, a quarter of T5's scores differ in the last bit from the double that is nearest to the number in
//! the file. The last bit decides between segmentations with nearly equal scores, so [`read`] rounds in the same way.
//!
//! [`write()`] formats a score so that HF's parser and a correctly rounding parser return the same bits. The score is
//! written as an integer divided by a power of ten, and both numbers are chosen to be exact as doubles. Each parser
//! then rounds only once, in the division. For some doubles, no such integer exists. HF's parser never returns these
//! doubles: when HF reads a file that contains such a double, the value changes by one unit in the last place.
//!
//! Cost: about twenty divisions for a score whose shortest decimal form does not suffice. Source: serde_json `de.rs`
//! without the feature `float_roundtrip`. Left out: scores with an absolute value below 1e-5, because they need more
//! digits than a 64-bit integer has; no model has such scores.

/// Highest exponent of a power of ten that a double represents exactly.
const EXACT: u64 = 22;

/// Parses a number as HF does; `None` if it is invalid or out of range.
#[must_use]
pub fn read(text: &str) -> Option<f64> {
    let (is_negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (digits, power) = match digits.split_once(['e', 'E']) {
        Some((digits, power)) => (digits, power.parse::<i64>().ok()?),
        None => (digits, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() {
        return None;
    }
    let (mut significand, mut exponent) = (0_u64, 0_i64);
    let mut is_full = false;
    for (place, byte) in whole.bytes().chain(fraction.bytes()).enumerate() {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        let in_whole = place < whole.len();
        let more =
            significand.checked_mul(10).and_then(|tens| tens.checked_add(digit)).filter(|_| !(is_full && in_whole));
        match more {
            Some(more) => {
                significand = more;
                exponent -= i64::from(!in_whole);
            }
            // The integer has no room for this digit, so the digit is ignored. All later digits of the same part (whole
            // or fraction) are ignored too. Each ignored digit of the whole part adds 1 to the exponent.
            None if in_whole => {
                is_full = true;
                exponent += 1;
            }
            None => break,
        }
    }
    let value = scale(significand as f64, exponent.saturating_add(power))?;
    Some(if is_negative { -value } else { value })
}

fn scale(mut value: f64, mut exponent: i64) -> Option<f64> {
    while exponent < -308 && value != 0.0 {
        value /= 1e308;
        exponent += 308;
    }
    if value == 0.0 {
        return Some(0.0);
    }
    let power = power_of_ten(exponent.unsigned_abs());
    let value = if exponent < 0 { value / power } else { value * power };
    value.is_finite().then_some(value)
}

/// Returns the double that is nearest to 10 to the power of `exponent`; `powi` can return a neighbor of this double.
fn power_of_ten(exponent: u64) -> f64 {
    // Most scores in a file have these exponents, so their powers are in a table.
    const SMALL: [f64; EXACT as usize + 1] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ];
    let small = usize::try_from(exponent).ok().and_then(|exponent| SMALL.get(exponent));
    small.copied().unwrap_or_else(|| format!("1e{exponent}").parse().unwrap_or(f64::INFINITY))
}

/// Formats a score so that HF parses it exactly. Uses the shortest decimal form if it suffices.
#[must_use]
pub fn write(score: f64) -> String {
    let shortest = format!("{score:?}");
    if read(&shortest) == Some(score) {
        return shortest;
    }
    let sign = if score < 0.0 { "-" } else { "" };
    for exponent in 1..=EXACT {
        let power = power_of_ten(exponent);
        let scaled = (score.abs() * power).round();
        if scaled >= u64::MAX as f64 {
            break;
        }
        for digits in [scaled, scaled.next_down(), scaled.next_up()] {
            if digits.fract() == 0.0 && digits / power == score.abs() {
                let width = exponent as usize + 1;
                let digits = format!("{:0>width$}", digits as u64);
                let (whole, fraction) = digits.split_at(digits.len() - exponent as usize);
                let spelled = format!("{sign}{whole}.{fraction}");
                if read(&spelled) == Some(score) && spelled.parse() == Ok(score) {
                    return spelled;
                }
            }
        }
    }
    shortest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_spelling_are_parsed() {
        for (text, value) in
            [("0", 0.0), ("-1", -1.0), ("1.5e2", 150.0), ("1E-2", 0.01), ("12e+1", 120.0), ("-0.0", -0.0)]
        {
            assert_eq!(read(text), Some(value), "{text}");
        }
        for text in ["", "-", "x", "1.x", "null", ".5", "1e", "\"1\"", "1e400"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read("1e-400"), Some(0.0));
        assert_eq!(read("123456789012345678901234567890"), Some(12_345_678_901_234_567_890_f64 * 1e10));
    }

    #[test]
    fn rounding_twice_differs_from_rounding_once() {
        // A score in T5's vocabulary: `read` rounds it twice, Rust's parser once, and the results differ.
        let text = "-2.0122928619384766";
        assert_ne!(read(text), text.parse().ok());
    }

    #[test]
    fn both_parsers_read_written_scores_exactly() {
        let mut state = 1_u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let unit = (state >> 11) as f64 / (1_u64 << 53) as f64;
            let single = f64::from((unit * -20.0) as f32);
            for score in [unit * -20.0, -unit, unit * -1e-3, unit * -1e6, single] {
                // Only scores that HF's parser can return are tested.
                let Some(score) = read(&format!("{score:?}")).filter(|score| score.abs() > 1e-5) else { continue };
                let spelled = write(score);
                assert_eq!((read(&spelled), spelled.parse()), (Some(score), Ok(score)));
            }
        }
    }
}
