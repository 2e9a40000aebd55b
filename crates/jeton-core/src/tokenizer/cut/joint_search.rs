//! Finds joints in a text: positions such that the ids before and after them are independent. Also determines for which
//! tokenizers the concatenated tokens of a text equal the text's bytes.

use std::borrow::Cow;

use super::joints::{AddedPairs, Joints};
use super::token_reach::TokenReach;
use crate::error::Result;
use crate::model::pair_effect::ModelPairs;
use crate::model::TokenParts;
use crate::normalize::Normalizer;
use crate::pretokenize::Pretokenizer;
use crate::tokenizer::pipeline::Tokenizer;
use crate::util::atomic_cell::made_once;
use crate::util::cancel::KeepGoing;
use crate::vocab::Kind;

impl Tokenizer {
    /// Returns the last merge of each token of a byte-level BPE. Returns None for other models, and if a token is the
    /// result of several pairs, does not have a higher rank than both of its parts, or has bytes that merge into other
    /// tokens.
    ///
    /// # Errors
    /// `Interrupted` while tables are built.
    pub(in crate::tokenizer) fn token_parts(&self, keep_going: KeepGoing<'_>) -> Result<Option<&TokenParts>> {
        if self.parts.get().is_none() {
            let made = self.model.token_parts(&self.vocab, keep_going)?;
            return Ok(made_once(&self.parts, || made).as_ref());
        }
        Ok(self.parts.get().and_then(Option::as_ref))
    }

    /// Returns true if the concatenated tokens of a text equal its bytes. This holds for a byte-level model under two
    /// conditions: at most one pattern, without gaps, precedes the model; and every added token is matched in raw text,
    /// without the white space next to it.
    pub(in crate::tokenizer) fn tokens_are_bytes(&self) -> bool {
        let keeps_all = self.raw_pattern().is_some_and(|pattern| !pattern.leaves_gaps());
        let is_exact = |&id: &u32| !self.takes_space(id) && !self.is_matched_in_normalized_text(id);
        keeps_all && self.model.is_byte_level() && self.added.iter().all(is_exact)
    }

    /// Returns the pattern that splits a text, or None if the concatenated tokens can differ from the text's bytes. If
    /// the tokenizer has normalizers, the tokens equal the bytes only for a text that has no added tokens and for which
    /// [`Tokenizer::forms_keep`] returns true.
    pub(in crate::tokenizer) fn byte_pattern(&self) -> Option<&Pretokenizer> {
        if let Some(pattern) = self.raw_pattern() {
            return Some(pattern).filter(|_| self.tokens_are_bytes());
        }
        let [only] = &self.splitters[..] else { return None };
        let is_exact = self.model.is_byte_level() && self.normalizers.iter().all(Normalizer::is_form);
        only.byte_pattern().filter(|pattern| is_exact && !pattern.leaves_gaps())
    }

    /// Returns true if normalization does not change a text. Must be called only if all normalizers are normalization
    /// forms.
    pub(in crate::tokenizer) fn forms_keep(&self, text: &str, keep_going: KeepGoing<'_>) -> bool {
        self.normalized(text, keep_going).is_ok_and(|normalized| matches!(normalized, Cow::Borrowed(_)))
    }

    /// Returns the table that bounds how many bytes a given number of tokens can cover.
    pub(in crate::tokenizer) fn token_reach(&self) -> &TokenReach {
        made_once(&self.reach, || TokenReach::new(&self.vocab))
    }

    /// Returns true if a position between these two characters is a joint.
    #[inline]
    pub(in crate::tokenizer) fn is_joint(&self, left: char, right: char) -> bool {
        self.joints().is_joint(&self.normalizers, left, right)
    }

    /// Returns true if all stages before the model keep two adjacent characters together.
    pub(in crate::tokenizer) fn keeps(&self, left: char, right: char) -> bool {
        self.joints().keeps(&self.normalizers, left, right)
    }

    fn joints(&self) -> &Joints {
        made_once(&self.joints, || {
            let mut added = [AddedPairs::default(), AddedPairs::default()];
            let mut user_defined = Vec::new();
            for &id in &self.added {
                let is_normalized = self.is_matched_in_normalized_text(id);
                added[usize::from(is_normalized)].add(self.matched_spelling(id), self.takes_space(id));
                if self.model_finds_added && self.vocab.kind(id) == Kind::Added {
                    user_defined.push(self.vocab.content(id));
                }
            }
            let normalizers = self.normalizers.iter().map(|normalizer| normalizer.pairs(&user_defined)).collect();
            let splitters = self.splitters.iter().map(|splitter| splitter.pairs()).collect();
            let spells_bytes = self.byte_alphabet; // entries are in the byte alphabet then; characters of pairs are not
            let model = if spells_bytes { ModelPairs::All } else { self.model.pairs_of_entries(&self.vocab) };
            Joints::new(added, normalizers, splitters, model)
        })
    }

    /// Returns the first joint in `from..=until`. `from` must be a character boundary.
    pub(in crate::tokenizer) fn next_joint(&self, text: &str, from: usize, until: usize) -> Option<usize> {
        let joints = self.joints();
        let mut before = text[..from].chars().next_back();
        let mut at = from;
        for c in text[from..].chars() {
            if at > until {
                return None;
            }
            if before.is_some_and(|before| joints.is_joint(&self.normalizers, before, c)) {
                return Some(at);
            }
            at += c.len_utf8();
            before = Some(c);
        }
        None
    }

    /// Returns the last joint in `from..=until`.
    pub(in crate::tokenizer) fn last_joint(&self, text: &str, from: usize, until: usize) -> Option<usize> {
        let joints = self.joints();
        let mut after = text[until..].chars().next();
        let mut at = until;
        for c in text[..until].chars().rev() {
            if at < from {
                return None;
            }
            if after.is_some_and(|after| joints.is_joint(&self.normalizers, c, after)) {
                return Some(at);
            }
            at -= c.len_utf8();
            after = Some(c);
        }
        None
    }
}
