//! Upper bounds of the number of bytes that a given number of tokens can cover. They limit the searches for the end of
//! a prefix and for the start of a suffix.
//!
//! A table maps three bytes to the length of the longest token that begins with them. This length bounds the end of a
//! token that begins at a given position, and so the start of the next token. A second table maps three bytes to the
//! length of the longest token that ends with them; it serves the search backwards.
//!
//! Cost: 256 KiB, built once, linear in the vocabulary; one lookup for each byte up to the bound.

use crate::vocab::Vocab;

const BITS: u32 = 16;

/// Lengths of the longest tokens, by their first and by their last bytes.
#[derive(Debug)]
pub(in crate::tokenizer) struct TokenReach {
    by_start: Box<[u16]>, // hash of the first three bytes -> bytes of the longest token with that hash
    by_end: Box<[u16]>,   // hash of the last three bytes -> bytes of the longest token with that hash
    longest: usize,
}

fn hash(a: u8, b: u8, c: u8) -> usize {
    let three = u32::from(a) << 16 | u32::from(b) << 8 | u32::from(c);
    (three.wrapping_mul(0x9E37_79B1) >> (32 - BITS)) as usize
}

impl TokenReach {
    /// Builds the tables from all entries.
    pub(in crate::tokenizer) fn new(vocab: &Vocab) -> Self {
        let [mut by_start, mut by_end] = [0; 2].map(|_| vec![2; 1 << BITS].into_boxed_slice());
        let mut longest = 1;
        for (_, _, content) in vocab.iter() {
            longest = content.len().max(longest);
            let len = u16::try_from(content.len()).unwrap_or(u16::MAX);
            if let [a, b, c, ..] = *content {
                let known = &mut by_start[hash(a, b, c)];
                *known = len.max(*known);
            }
            if let [.., a, b, c] = *content {
                let known = &mut by_end[hash(a, b, c)];
                *known = len.max(*known);
            }
        }
        Self { by_start, by_end, longest }
    }

    /// Returns the number of bytes of the longest entry.
    pub(in crate::tokenizer) fn longest(&self) -> usize {
        self.longest
    }

    /// Returns an upper bound for the end of `num` consecutive tokens that begin at `start`. The bound is at most the
    /// length of the text.
    pub(in crate::tokenizer) fn end(&self, text: &[u8], start: usize, num: usize) -> usize {
        let (mut end, mut from) = (start, start); // upper bound so far, for tokens that start before `from`
        for _ in 0..num {
            let mut next = end;
            while from <= end {
                next = next.max(from + self.at(text, from));
                from += 1;
            }
            if next >= text.len() {
                return text.len();
            }
            end = next;
        }
        end
    }

    /// Returns a lower bound for the start of the last `num` tokens of a text.
    pub(in crate::tokenizer) fn start(&self, text: &[u8], num: usize) -> usize {
        let (mut start, mut from) = (text.len(), text.len()); // lower bound so far, for tokens that end after `from`
        for _ in 0..num {
            let mut next = start;
            while from >= start && from > 0 {
                let own = match text[..from] {
                    [.., a, b, c] => match self.by_end[hash(a, b, c)] {
                        u16::MAX => self.longest,
                        known => usize::from(known),
                    },
                    _ => from,
                };
                next = next.min(from.saturating_sub(own));
                from -= 1;
            }
            if next == 0 {
                return 0;
            }
            start = next;
        }
        start
    }

    fn at(&self, text: &[u8], at: usize) -> usize {
        match text.get(at..at + 3) {
            Some(&[a, b, c]) => match self.by_start[hash(a, b, c)] {
                u16::MAX => self.longest,
                known => usize::from(known),
            },
            _ => text.len() - at,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;
    use crate::vocab::Kind;

    #[test]
    fn bounds_are_not_exceeded_by_tokens() {
        let entries: Vec<&[u8]> = vec![b"a", b"b", b"ab", b"abc", b"abcdefgh", b"bbbb"];
        let vocab = Vocab::new((0..).zip(entries).map(|(id, content)| (id, Kind::Token, content))).unwrap();
        let reach = TokenReach::new(&vocab);
        assert_eq!(reach.longest(), 8);
        assert_eq!(reach.end(b"xxabcdefghxxxxxxxxxxxx", 2, 1), 10);
        assert!(reach.end(b"xxabcdefghxxxxxxxxxxxx", 0, 2) >= 4);
        assert_eq!(reach.end(b"abcd", 0, 9), 4);
        assert_eq!(reach.end(b"abcdef", 3, 0), 3);
        assert_eq!(reach.start(b"xxxxxxxxxxxxabcdefgh", 1), 12);
        assert!(reach.start(b"xxxxxxxxxxxxabcdefghab", 2) <= 12);
        assert_eq!((reach.start(b"ab", 9), reach.start(b"abc", 0)), (0, 3));
    }
}
