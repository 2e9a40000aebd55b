//! Finds characters that complete the partial characters at the edges of an entry.
//!
//! Shorter characters come first. Candidates are spread over all code points, so that the first few have many different
//! bytes.

use crate::util::utf8::char_len;

/// Maximum number of candidates for one edge of an entry.
const MOST: usize = 4096;

/// Bytes of an entry, divided into the end of a character (head), whole characters, and the beginning of a character
/// (tail).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edges<'a> {
    pub(super) head: &'a [u8],
    pub(super) whole: &'a str,
    pub(super) tail: &'a [u8],
}

impl<'a> Edges<'a> {
    /// Splits bytes; returns None if no text contains them.
    pub(super) fn of(bytes: &'a [u8]) -> Option<Self> {
        let num_head = bytes.iter().take_while(|&&byte| is_continuation(byte)).count();
        let (head, rest) = bytes.split_at(num_head);
        if num_head > 3 {
            return None;
        }
        match std::str::from_utf8(rest) {
            Ok(whole) => Some(Self { head, whole, tail: &[] }),
            Err(error) if error.error_len().is_none() => {
                let (whole, tail) = rest.split_at(error.valid_up_to());
                Some(Self { head, whole: std::str::from_utf8(whole).ok()?, tail })
            }
            Err(_) => None,
        }
    }

    /// Returns true if the bytes are whole characters.
    pub(super) fn is_whole(&self) -> bool {
        self.head.is_empty() && self.tail.is_empty()
    }
}

/// Bytes that can complete partial characters. Some candidates do not yield a character. The caller must
/// therefore check that the completed text is UTF-8.
#[derive(Debug)]
pub(super) struct Completions {
    before: [Vec<Vec<u8>>; 4], // length of the head -> bytes before it
    after: [Vec<Vec<u8>>; 4],  // number of missing bytes -> bytes after the tail
}

impl Completions {
    pub(super) fn new() -> Self {
        let before = |head: usize| (1..=4 - head).flat_map(|len| beginnings(len, len + head)).collect();
        let none = || vec![Vec::new()];
        Self {
            before: [none(), spread(before(1)), spread(before(2)), spread(before(3))],
            after: [
                none(),
                spread(continuations(1).collect()),
                spread(continuations(2).collect()),
                spread(continuations(3).collect()),
            ],
        }
    }

    /// Returns bytes that can precede the head. If there is no head, returns one empty string.
    pub(super) fn before(&self, edges: &Edges<'_>) -> &[Vec<u8>] {
        &self.before[edges.head.len()]
    }

    /// Returns bytes that can follow the tail. If there is no tail, returns one empty string.
    pub(super) fn after(&self, edges: &Edges<'_>) -> &[Vec<u8>] {
        let whole = edges.tail.first().map_or(0, |&first| char_len(first));
        &self.after[whole.saturating_sub(edges.tail.len()).min(3)]
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// Returns all sequences of `len` continuation bytes.
fn continuations(len: usize) -> impl Iterator<Item = Vec<u8>> {
    let num = 1usize << (6 * len);
    (0..num).map(move |number| (0..len).rev().map(|at| 0x80 | (number >> (6 * at) & 0x3F) as u8).collect())
}

/// Returns all strings of `len` bytes that are the beginning of a UTF-8 character of `whole` bytes.
fn beginnings(len: usize, whole: usize) -> impl Iterator<Item = Vec<u8>> {
    let leads = match whole {
        2 => 0xC2..=0xDF,
        3 => 0xE0..=0xEF,
        _ => 0xF0..=0xF4u8,
    };
    leads.flat_map(move |lead| continuations(len - 1).map(move |rest| [&[lead], &rest[..]].concat()))
}

/// Returns at most [`MOST`] candidates. Even the first few are spread over the whole list.
fn spread(all: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let len = all.len();
    // The stride is near the length divided by the golden ratio, so the first few candidates are far apart. It has no
    // factor in common with the length, so all candidates are reached.
    let stride = (len * 5 / 8..).find(|&stride| greatest_common_divisor(stride, len) == 1).unwrap_or(1);
    let mut all = all;
    (0..len.min(MOST)).map(|number| std::mem::take(&mut all[number * stride % len])).collect()
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    #[test]
    fn edges_of_bytes_outside_of_utf8_are_none() {
        for bytes in [&b"\xC0"[..], b"\xFF", b"a\xE0\x80", b"\x80\x80\x80\x80", b"\xC3a", b"\xED\xA0"] {
            assert_eq!(Edges::of(bytes), None, "{bytes:?}");
        }
        assert_eq!(Edges::of(b"\x80a\xE2\x82").unwrap(), Edges { head: b"\x80", whole: "a", tail: b"\xE2\x82" });
    }

    #[test]
    fn every_short_completion_is_a_candidate() {
        let all = Completions::new();
        let texts = |bytes: &[u8]| -> std::collections::BTreeSet<String> {
            let edges = Edges::of(bytes).unwrap();
            let both =
                all.before(&edges).iter().flat_map(|head| all.after(&edges).iter().map(move |tail| (head, tail)));
            both.filter_map(|(head, tail)| String::from_utf8([head, bytes, tail].concat()).ok()).collect()
        };
        let ending = |byte: u8| ('\0'..='\u{FFFF}').filter(move |c| c.to_string().as_bytes().last() == Some(&byte));
        let found = texts(b"\x80");
        assert!(found.len() > 2000 && ending(0x80).filter(|c| c.len_utf8() == 2).count() == 30);
        assert_eq!(texts(b"\xE2\x82").len(), 64);
        assert_eq!(texts(b"\xC3"), ('\u{C0}'..='\u{FF}').map(String::from).collect());
        assert_eq!(texts(b"\x82\xAC").iter().filter(|text| text.len() == 3).count(), 15); // all leads except E0
        assert_eq!(texts(b"ab").len(), 1);
        assert_eq!(texts(b"\xE2").len(), 4096);
    }
}
