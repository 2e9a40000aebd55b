//! Pipelines that replace spaces by `▁`: they are recognized, and texts are not rewritten where they do no more than put a text
//! in front.
//!
//! SentencePiece's models have them as its normalizer, and a `tokenizer.json` as `Prepend` and `Replace` (Llama 2), as
//! `Metaspace` (Mistral), or as `Replace` and a `Split` at spaces, which are gone by then (Gemma). What counts is what the
//! components do, in their order:
//!
//! Let `e` replace each space by `▁`. `e(xy) = e(x)e(y)` and `e(e(x)) = e(x)`. `Prepend` makes `pc` of a chunk `c`, `Replace`
//! and Metaspace make `e(c)`, Metaspace's scheme `▁c` or `c`, and a `Split` at a text with a space leaves a chunk without
//! spaces. By induction a stretch of text `t`, which is one chunk before the first component, is `q t` or `q e(t)` after each
//! of them, with `q` from the components alone, or from them, the first character of `t` and its place if `q` was empty. At
//! the end it is `q e(t)`, where `q` has no space: one chunk, or one for each `▁` if Metaspace splits. The encoder takes `q`
//! and `t`, and treats each space as `▁` ([`Marks::Spaces`]).
//!
//! A `tokenizer.json` of Unigram (T5, XLM-R) splits normalized text at white space and puts a `▁` before each word: the encoder
//! takes the words, with spaces for the marks.
//!
//! Left out: added tokens that are matched in normalized text, and text that is not UTF-8 (both take `segments`).

use crate::normalize::Normalizer;
use crate::pretokenize::{Metaspace, PrependScheme, Splitter};
use crate::vocab::alphabet::WORD_START;
use crate::vocab::marks::{with_spaces, Marks};

/// A recognized pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tokenizer) struct SpaceMarks {
    prefix: Prefix,
    begin_pretokens: bool,
    normalizers_alone: bool,
    takes_words: bool,
}

/// Text in front of a stretch of text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Prefix {
    /// Always the same, as the encoder spells it.
    Fixed(Vec<u8>),
    /// `▁`, if the text begins neither with one nor with a space.
    Mark {
        /// Only at the start of the input.
        first: bool,
    },
}

impl SpaceMarks {
    /// Recognizes a pipeline.
    pub(in crate::tokenizer) fn of(normalizers: &[Normalizer], splitters: &[Splitter]) -> Option<Self> {
        let spells_bytes = normalizers.iter().any(Normalizer::spells_bytes);
        if let ([words, metaspace], false) = (splitters, spells_bytes) {
            let always = Metaspace { mark: WORD_START, scheme: PrependScheme::Always, split: true };
            if words.splits_at_white_space() && metaspace.metaspace() == Some(always) {
                let prefix = Prefix::Fixed(Vec::new());
                return Some(Self { prefix, begin_pretokens: true, normalizers_alone: false, takes_words: true });
            }
        }
        let mut prefix = String::new();
        let mut has_spaces = true;
        let mark = WORD_START.to_string();
        for normalizer in normalizers {
            let marking = normalizer.marking()?;
            prefix.insert_str(0, marking.prefix);
            if marking.replaces {
                (prefix, has_spaces) = (prefix.replace(' ', &mark), false);
            }
        }
        let (mut scheme, mut begin_pretokens) = (PrependScheme::Never, false);
        for (at, splitter) in splitters.iter().enumerate() {
            match splitter.metaspace() {
                Some(Metaspace { mark: WORD_START, scheme: own, split }) if at == 0 && prefix.is_empty() => {
                    (scheme, begin_pretokens, has_spaces) = (own, split, false);
                }
                // It finds a mark at the start.
                Some(Metaspace { mark: WORD_START, split: false, .. })
                    if at == 0 && prefix.starts_with([' ', WORD_START]) =>
                {
                    (prefix, has_spaces) = (prefix.replace(' ', &mark), false);
                }
                None if !has_spaces && splitter.needs_spaces() => {}
                _ => return None,
            }
        }
        if has_spaces || prefix.contains(' ') {
            return None;
        }
        let prefix = match scheme {
            PrependScheme::Never => Prefix::Fixed(with_spaces(prefix.as_bytes()).into_owned()),
            PrependScheme::First => Prefix::Mark { first: true },
            PrependScheme::Always => Prefix::Mark { first: false },
        };
        let normalizers_alone = splitters.iter().all(Splitter::needs_spaces);
        Some(Self { prefix, begin_pretokens, normalizers_alone, takes_words: false })
    }

    /// Returns true if no splitter does anything.
    pub(in crate::tokenizer) fn normalizers_alone(&self) -> bool {
        self.normalizers_alone
    }

    /// Returns true if texts are normalized, and each word gets a mark.
    pub(in crate::tokenizer) fn takes_words(&self) -> bool {
        self.takes_words
    }

    /// Returns the spelling of `▁` in the encoder's texts.
    pub(in crate::tokenizer) fn marks(&self) -> Marks {
        Marks::Spaces { begin_pretokens: self.begin_pretokens }
    }

    /// Returns the text in front of a stretch of text, not empty, that begins at byte `at` of the input.
    #[inline]
    pub(in crate::tokenizer) fn prefix(&self, text: &str, at: usize) -> &[u8] {
        match &self.prefix {
            Prefix::Fixed(prefix) => prefix,
            Prefix::Mark { first } if (at == 0 || !first) && !text.starts_with([' ', WORD_START]) => b" ",
            Prefix::Mark { .. } => &[],
        }
    }
}
