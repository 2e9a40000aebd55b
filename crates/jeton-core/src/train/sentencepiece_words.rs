//! Trainers of SentencePiece's word and character models. From the counts of words, the trainers select the most
//! frequent words or characters as pieces.
//!
//! Words are normalized and split at white space, with U+001F in place of control and user-defined symbols. A word that
//! contains U+001F or a rare character is not a piece.
//!
//! Invariant: the same pieces in the same order, with the same scores, as sentencepiece 0.2.3. A score is the logarithm
//! of a piece's share of the total count, in 32 bits. Cost: one pass over the counts, and sorting. Source:
//! google/sentencepiece `word_model_trainer.cc`, `char_model_trainer.cc`.

use std::cmp::Reverse;
use std::collections::HashSet;

use serde::Deserialize;

use super::count::Counts;
use super::sentencepiece::{required_chars, text};
use crate::error::{Error, Result};

/// Options of the trainers, named as in SentencePiece.
#[derive(Debug, Clone, Deserialize)]
pub struct WordOptions {
    /// `word` or `char`.
    pub model_type: String,
    /// Maximum number of pieces, excluding control symbols and other reserved pieces.
    pub vocab_size: usize,
    /// True if all words or characters become pieces. `vocab_size` and `character_coverage` then have no effect.
    pub use_all_vocab: bool,
    /// Minimum share of all characters of the corpus (each occurrence counts) that must be in the vocabulary. The most
    /// frequent characters are added to the vocabulary until this share is reached.
    pub character_coverage: f32,
    /// Characters that are always in the vocabulary.
    pub required_chars: String,
}

impl WordOptions {
    /// Reads options from JSON.
    ///
    /// # Errors
    /// [`Error::config`] for invalid JSON.
    pub fn from_json(options: &str) -> Result<Self> {
        serde_json::from_str(options).map_err(|error| Error::config(format!("options of training: {error}")))
    }
}

/// Returns the pieces with their scores, in descending order of counts.
///
/// # Errors
/// [`Error::training`] for words with U+2585, or if no word was counted.
pub fn learn(counts: &Counts, options: &WordOptions) -> Result<Vec<(String, f64)>> {
    let coverage = if options.use_all_vocab { f32::INFINITY } else { options.character_coverage };
    let chars = required_chars(counts, coverage, &options.required_chars, 1, &mut || true)?;
    let (mut pieces, sum) = match options.model_type.as_str() {
        "char" => {
            let sum: u64 = chars.iter().map(|entry| entry.1).sum();
            (chars.into_iter().map(|(c, count)| (c.to_string(), count)).collect(), sum)
        }
        "word" => words(counts, &chars)?,
        other => return Err(Error::config(format!("there is no trainer of {other:?} here"))),
    };
    if sum == 0 {
        return Err(Error::training("the corpus has no words"));
    }
    if !options.use_all_vocab {
        pieces.truncate(options.vocab_size);
    }
    let whole = (sum as f32).ln();
    Ok(pieces.into_iter().map(|(piece, count)| (piece, f64::from((count as f32).ln() - whole))).collect())
}

/// Returns the words that consist of `chars` only, by descending count, and the total count of all words.
fn words(counts: &Counts, chars: &[(char, u64)]) -> Result<(Vec<(String, u64)>, u64)> {
    let known: HashSet<char> = chars.iter().map(|entry| entry.0).collect();
    let (mut found, mut sum) = (Vec::new(), 0u64);
    for (word, count) in counts.iter() {
        let word = text(word)?;
        sum = sum.saturating_add(count);
        if word.chars().all(|c| known.contains(&c)) {
            found.push((word.to_owned(), count));
        }
    }
    found.sort_by(|a, b| (Reverse(a.1), &a.0).cmp(&(Reverse(b.1), &b.0)));
    Ok((found, sum))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    fn learned(model_type: &str, use_all_vocab: bool) -> Vec<(String, f64)> {
        let mut counts = Counts::default();
        for (word, count) in [("▁low", 4), ("▁a\u{1F}", 3), ("▁new", 4), ("▁x", 1)] {
            counts.add(word.as_bytes(), count).unwrap();
        }
        let model_type = model_type.to_owned();
        let required_chars = String::new();
        let options = WordOptions { model_type, vocab_size: 2, use_all_vocab, character_coverage: 1.0, required_chars };
        learn(&counts, &options).unwrap()
    }

    #[test]
    fn words_with_a_boundary_are_not_pieces() {
        let score = f64::from(4f32.ln() - 12f32.ln());
        assert_eq!(learned("word", false), [("▁low".into(), score), ("▁new".into(), score)]);
        assert_eq!(learned("word", true).len(), 3);
    }

    #[test]
    fn characters_are_ordered_by_count() {
        let pieces = learned("char", true);
        assert_eq!(pieces[0].0, "▁");
        assert_eq!(pieces[1].0, "w");
        assert!(pieces.iter().all(|piece| piece.0 != "\u{1F}"));
        assert_eq!(learned("char", false).len(), 2);
    }
}
