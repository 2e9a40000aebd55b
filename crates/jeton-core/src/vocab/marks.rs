//! Spelling of `▁`, the mark of word starts, in the texts of the fast path.
//!
//! Some pipelines replace all spaces by `▁` before the model. The fast path skips this step: it encodes the original
//! text, with tables in which `▁` is spelled as a space. If the original text already contains a `▁`, the fast path
//! replaces this `▁` by a space, because the model reads `▁` for both characters. So the fast path's text has a space
//! wherever the model's text has a `▁`. The fast path's text contains no `▁`, and the model's text contains no space.
//! Therefore, each of the two texts can be converted into the other.

use std::borrow::Cow;

use memchr::memmem;

use super::alphabet::WORD_START;

/// UTF-8 of `▁`.
pub const MARK: [u8; 3] = [0xE2, 0x96, 0x81];

/// Spelling of `▁` in texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marks {
    /// Texts contain `▁`, like the vocabulary.
    Written,
    /// Texts contain a space instead of `▁`.
    Spaces {
        /// True if a pretoken begins at each mark.
        begin_pretokens: bool,
    },
}

impl Marks {
    /// Returns true if marks are spelled as spaces.
    #[inline]
    pub fn are_spaces(self) -> bool {
        self != Self::Written
    }

    /// Returns the character that represents the mark in texts: a space or `▁`.
    pub fn character(self) -> char {
        if self.are_spaces() {
            ' '
        } else {
            WORD_START
        }
    }

    /// Returns the spelling of an entry in texts; None if the entry contains a space, because the model never reads a
    /// space.
    pub fn spelled(self, content: &[u8]) -> Option<Cow<'_, [u8]>> {
        match self {
            Self::Written => Some(Cow::Borrowed(content)),
            Self::Spaces { .. } if content.contains(&b' ') => None,
            Self::Spaces { .. } => Some(with_spaces(content)),
        }
    }

    /// Returns the length in bytes of an entry's spelling in texts.
    #[inline]
    pub fn len(self, content: &[u8]) -> usize {
        match self {
            Self::Written => content.len(),
            Self::Spaces { .. } => content.len() - 2 * content.windows(3).filter(|&part| part == MARK).count(),
        }
    }
}

/// Returns a text with `▁` replaced by spaces.
pub fn with_spaces(text: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memmem::find(text, &MARK) else { return Cow::Borrowed(text) };
    let mut spelled = Vec::with_capacity(text.len());
    let mut from = 0;
    for at in memmem::find_iter(&text[first..], &MARK).map(|at| first + at) {
        spelled.extend_from_slice(&text[from..at]);
        spelled.push(b' ');
        from = at + MARK.len();
    }
    spelled.extend_from_slice(&text[from..]);
    Cow::Owned(spelled)
}

/// Writes a text to `out`, with spaces replaced by `▁`.
pub fn write_with_marks(text: &[u8], out: &mut Vec<u8>) {
    out.clear();
    for (at, part) in text.split(|&byte| byte == b' ').enumerate() {
        out.extend_from_slice(if at > 0 { &MARK } else { &[] });
        out.extend_from_slice(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_spaces_convert_both_ways() {
        let spaces = Marks::Spaces { begin_pretokens: false };
        let mut marked = Vec::new();
        for (text, spelled) in [("", ""), ("a", "a"), ("▁", " "), ("a▁▁’b▁", "a  ’b "), ("▂▁", "▂ ")]
        {
            assert_eq!(spaces.spelled(text.as_bytes()).as_deref(), Some(spelled.as_bytes()));
            assert_eq!(spaces.len(text.as_bytes()), spelled.len());
            assert_eq!(Marks::Written.len(text.as_bytes()), text.len());
            write_with_marks(spelled.as_bytes(), &mut marked);
            assert_eq!(marked, text.as_bytes());
        }
        assert_eq!(spaces.spelled(b"a b"), None);
    }
}
