//! Rule for Hugging Face's `max_token_length`.
//!
//! The limit is an exclusive bound of the length of a merged token, so the maximum length is `limit` − 1 symbols. Two
//! initial symbols may always merge, since the library does not check their pair. Source: huggingface/tokenizers
//! `models/bpe/word.rs`, and the wheel 0.23.3.

use super::Rule;
use crate::vocab::alphabet::Level;

/// A token must have fewer than `limit` symbols. Exception: a token of two symbols is always allowed.
#[derive(Debug, Clone, Copy)]
pub struct ShorterThan {
    /// Exclusive upper bound of the length of a token, in symbols.
    pub limit: usize,
    /// Unit of a symbol: a byte or a character.
    pub level: Level,
}

impl Rule for ShorterThan {
    fn allows(&self, left: &[u8], right: &[u8]) -> bool {
        let length = |spelling: &[u8]| match self.level {
            Level::Byte => spelling.len(),
            Level::Char => spelling.iter().filter(|&&byte| byte & 0xC0 != 0x80).count(),
        };
        let (left, right) = (length(left), length(right));
        left + right == 2 || left + right < self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_shorter_than_the_limit() {
        let rule = ShorterThan { limit: 4, level: Level::Char };
        assert!(rule.allows("é".as_bytes(), "今天".as_bytes()));
        assert!(!rule.allows(b"ab", b"cd"));
        assert!(ShorterThan { limit: 0, ..rule }.allows(b"a", b"b"));
        assert!(!ShorterThan { level: Level::Byte, ..rule }.allows("é".as_bytes(), "é".as_bytes()));
    }
}
