//! Mutations of lines: remove, duplicate, swap, change a field.

use crate::rng::Rng;

/// Returns a copy with one change.
pub fn mutate(input: &[u8], other: &[u8], words: &[&str], rng: &mut Rng) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = input.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    let (at, to) = (rng.below(lines.len()), rng.below(lines.len()));
    match rng.below(9) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(to, lines[at].clone()),
        2 => lines.swap(at, to),
        3 => lines.insert(at, Vec::new()),
        4 => {
            let others: Vec<&[u8]> = other.split(|&byte| byte == b'\n').collect();
            lines.insert(at, rng.pick(&others).to_vec());
        }
        5 if !words.is_empty() => lines.insert(at, rng.pick(words).as_bytes().to_vec()),
        6 => {
            let mut fields: Vec<Vec<u8>> = lines[at].split(|&byte| byte == b' ').map(<[u8]>::to_vec).collect();
            let which = rng.below(fields.len());
            match rng.below(4) {
                0 => drop(fields.remove(which)),
                1 => fields.insert(which, fields[which].clone()),
                2 => fields.insert(which, Vec::new()),
                _ => fields[which] = lines[to].split(|&byte| byte == b' ').next().unwrap_or_default().to_vec(),
            }
            lines[at] = fields.join(&b' ');
        }
        7 => lines[at].push(b'\r'),
        _ => lines[at] = super::bytes::mutate(&lines[at], other, words, rng),
    }
    lines.join(&b'\n')
}
