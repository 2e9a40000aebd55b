//! Recognition of pipelines that replace spaces by `▁`. If the only other effect of such a pipeline is to insert a
//! prefix, the encoder can treat spaces as `▁`, and texts need not be rewritten.
//!
//! In SentencePiece's models the normalizer replaces spaces. A `tokenizer.json` has `Prepend` and `Replace` (Llama 2),
//! `Metaspace` (Mistral), or `Replace` and then a `Split` at spaces (Gemma). This `Split` has no effect, because the
//! `Replace` has left no spaces. The recognition relies on the effect of the components, in their order:
//!
//! Let `e` replace each space by `▁`. Then `e(xy) = e(x)e(y)` and `e(e(x)) = e(x)`. The components have these effects
//! on a chunk `c`: `Prepend` of `p` gives `pc`; `Replace` and Metaspace give `e(c)`; Metaspace's scheme gives `▁c` or
//! `c`; a `Split` at a text that contains a space does not change a chunk without spaces. Let `t` be a text that is one
//! chunk before the first component. By induction, after each component the text is `q t` or `q e(t)` for some prefix
//! `q`. This `q` depends only on the components, with one exception: if `q` was empty before Metaspace, `q` also
//! depends on the first character of `t` and on the position of `t` in the input. At the end the text is `q e(t)`,
//! where `q` has no space. This text is one chunk, or one chunk for each `▁` if Metaspace splits. The encoder gets `q`
//! and `t`, and treats each space as `▁` ([`Marks::Spaces`]).
//!
//! A `tokenizer.json` of Unigram (T5, XLM-R) splits normalized text at white space and inserts a `▁` before each word.
//! The encoder gets these words with a space instead of each `▁`.
//!
//! Left out: added tokens that are matched in normalized text, and text that is not UTF-8; both use `segments`.

use crate::normalize::Normalizer;
use crate::pretokenize::{Metaspace, PrependScheme, Splitter};
use crate::vocab::alphabet::WORD_START;
use crate::vocab::marks::{with_spaces, Marks};

/// Properties of a recognized pipeline. They determine the input of the encoder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tokenizer) struct SpaceMarks {
    prefix: Prefix,
    begin_pretokens: bool,
    normalizers_alone: bool,
    takes_words: bool,
}

/// Text that is inserted in front of each part of the input. The parts are separated by added tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Prefix {
    /// Fixed text. As the encoder expects, it has a space instead of each `▁`.
    Fixed(Vec<u8>),
    /// `▁` is inserted before the text, unless the text already begins with a `▁` or a space.
    Mark {
        /// True to insert `▁` only at the start of the input.
        first: bool,
    },
}

impl SpaceMarks {
    /// Recognizes a pipeline from its components; None if it has effects other than those described above.
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
                // The prefix already begins with a mark, so Metaspace adds none.
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

    /// Returns true if the pipeline has no splitter that changes or splits text.
    pub(in crate::tokenizer) fn normalizers_alone(&self) -> bool {
        self.normalizers_alone
    }

    /// Returns true if the pipeline normalizes texts, splits them into words, and inserts a mark before each word.
    pub(in crate::tokenizer) fn takes_words(&self) -> bool {
        self.takes_words
    }

    /// Returns how `▁` is spelled in the texts that the encoder gets.
    pub(in crate::tokenizer) fn marks(&self) -> Marks {
        Marks::Spaces { begin_pretokens: self.begin_pretokens }
    }

    /// Returns the text to insert in front of `text`. `text` must not be empty, and begins at byte `at` of the input.
    #[inline]
    pub(in crate::tokenizer) fn prefix(&self, text: &str, at: usize) -> &[u8] {
        match &self.prefix {
            Prefix::Fixed(prefix) => prefix,
            Prefix::Mark { first } if (at == 0 || !first) && !text.starts_with([' ', WORD_START]) => b" ",
            Prefix::Mark { .. } => &[],
        }
    }
}
