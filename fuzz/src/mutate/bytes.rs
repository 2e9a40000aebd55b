//! Mutations of bytes: set, remove, copy, move, splice.

use crate::rng::Rng;

/// Texts that parsers of some format have read wrongly.
const ODD: [&str; 30] = [
    "-1",
    "0",
    "1e999",
    "-0",
    "4294967295",
    "4294967296",
    "16777215",
    "16777216",
    "18446744073709551616",
    "9223372036854775807",
    "0.5",
    "NaN",
    "null",
    "[[[[",
    "{\"a\":",
    "\"",
    "\\ud800",
    "\\u0000",
    "\u{feff}",
    "\u{0}",
    "\u{2581}",
    "\u{301}",
    "\u{1f468}\u{200d}\u{1f469}",
    "\r\n",
    "\n\n",
    " ",
    "\t",
    "<0x0A>",
    "<unk>",
    "##",
];

/// Bytes with a special meaning in UTF-8 or JSON.
const EDGES: [u8; 16] = [0, 1, 0x7f, 0x80, 0xbf, 0xc0, 0xc3, 0xed, 0xf4, 0xff, b'"', b'\n', b' ', b'{', b'[', b'-'];

/// Returns a copy of the input with one change.
pub fn mutate(input: &[u8], other: &[u8], words: &[&str], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = input.to_vec();
    let at = rng.below(bytes.len() + 1);
    let end = (at + rng.length(64)).min(bytes.len());
    match rng.below(12) {
        0 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
        1 if at < bytes.len() => bytes[at] = rng.pick(&EDGES),
        2 if at < bytes.len() => bytes[at] = rng.bits() as u8,
        3 => drop(bytes.drain(at..end)),
        4 => bytes.truncate(at),
        5 => {
            let part = bytes[at..end].to_vec();
            let times = rng.length(40).max(1);
            bytes.splice(at..at, part.repeat(times));
        }
        6 => drop(bytes.splice(at..end, rng.pick(&ODD).bytes())),
        7 if !words.is_empty() => drop(bytes.splice(at..end, rng.pick(words).bytes())),
        8 => {
            let from = rng.below(other.len() + 1);
            let to = (from + rng.length(4096)).min(other.len());
            bytes.splice(at..end, other[from..to].iter().copied());
        }
        9 => {
            let part: Vec<u8> = bytes.drain(at..end).collect();
            let to = rng.below(bytes.len() + 1);
            bytes.splice(to..to, part);
        }
        10 => {
            // Replaces a number.
            let digits = |byte: &u8| byte.is_ascii_digit();
            if let Some(start) = bytes[at..].iter().position(digits) {
                let start = at + start;
                let len = bytes[start..].iter().take_while(|byte| digits(byte)).count();
                bytes.splice(start..start + len, rng.pick(&ODD[..11]).bytes());
            }
        }
        _ => {
            let random: Vec<u8> = (0..rng.length(16)).map(|_| rng.bits() as u8).collect();
            bytes.splice(at..at, random);
        }
    }
    bytes
}
