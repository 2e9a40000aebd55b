//! The caller's permission for special tokens in texts. It is prepared once, and then used for any number of texts.

use std::borrow::Cow;

use super::{Matchers, Tokenizer};
use crate::added_tokens::{AddedTokenMatch, AddedTokenMatcher};
use crate::error::{ErrorKind, Result};
use crate::model::Specials;
use crate::pretokenize::Span;
use crate::vocab::Kind;

/// Special tokens that are matched in a text. Added tokens that are not special are always matched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Permission {
    /// No special token; the spelling of a special token is ordinary text.
    #[default]
    None,
    /// All special tokens.
    All,
    /// No special token; a text that contains the spelling of a special token is an error.
    Raise,
    /// The special tokens with these ids.
    Only(Vec<u32>),
}

/// A permission with the matchers that it needs.
#[derive(Debug)]
pub struct Permit<'t> {
    matchers: Cow<'t, Matchers>,
    permission: Permission, // with ids in ascending order
}

impl Permit<'_> {
    /// Returns the special tokens that the model is permitted to produce.
    pub(in crate::tokenizer) fn specials(&self) -> Specials<'_> {
        match &self.permission {
            Permission::None => Specials::None,
            Permission::Raise => Specials::Refused,
            Permission::All => Specials::All,
            Permission::Only(ids) => Specials::Only(ids),
        }
    }

    /// Returns the matcher of added tokens in raw text.
    pub(in crate::tokenizer) fn raw(&self) -> Option<&AddedTokenMatcher> {
        self.matchers.raw.as_ref()
    }

    /// Returns the matcher of added tokens in normalized text.
    pub(in crate::tokenizer) fn normalized(&self) -> Option<&AddedTokenMatcher> {
        self.matchers.normalized.as_ref()
    }

    /// Returns true if special tokens in a text are an error.
    pub(in crate::tokenizer) fn refuses(&self) -> bool {
        self.permission == Permission::Raise
    }
}

impl Tokenizer {
    /// Returns the default permission, which permits no special token.
    #[inline]
    pub fn permit_none(&self) -> Permit<'_> {
        Permit { matchers: Cow::Borrowed(&self.matchers[0]), permission: Permission::None }
    }

    /// Prepares a permission.
    ///
    /// # Errors
    /// As [`AddedTokenMatcher::new`].
    pub fn permit(&self, permission: &Permission) -> Result<Permit<'_>> {
        let mut permission = permission.clone();
        let matchers = match &mut permission {
            Permission::None => return Ok(self.permit_none()),
            // Under `Raise`, every special token is matched, and its match is an error.
            Permission::Raise | Permission::All => Cow::Borrowed(&self.matchers[1]),
            Permission::Only(ids) => {
                ids.sort_unstable();
                Cow::Owned(self.matchers_for(|id| self.always_matched(id) || ids.binary_search(&id).is_ok())?)
            }
        };
        Ok(Permit { matchers, permission })
    }

    /// Iterates over the special tokens in a text as if all were permitted, without running the model. `None` if any
    /// added token is matched in normalized text.
    pub fn special_matches<'m>(&'m self, text: &'m [u8]) -> Option<impl Iterator<Item = AddedTokenMatch> + 'm> {
        let all = &self.matchers[1];
        let raw = || all.raw.iter().flat_map(|matcher| matcher.matches(text));
        all.normalized.is_none().then(|| raw().filter(|found| self.vocab.kind(found.id) == Kind::Special))
    }

    /// Calls `each` with the added tokens of the raw text and the ranges between them, in order. For a range between
    /// tokens, the id is `None`; empty ranges are left out.
    pub(in crate::tokenizer) fn stretches(
        &self,
        text: &[u8],
        permit: &Permit<'_>,
        each: impl FnMut(Span, Option<u32>) -> Result<()>,
    ) -> Result<()> {
        self.around_added(text, 0, permit.raw(), permit, each)
    }

    /// Like [`Tokenizer::stretches`], but with the added tokens that are matched in normalized text. `at` is the
    /// position of `text` in the raw text; it is added to the positions in error messages.
    pub(in crate::tokenizer) fn normalized_stretches(
        &self,
        text: &str,
        at: usize,
        permit: &Permit<'_>,
        each: impl FnMut(Span, Option<u32>) -> Result<()>,
    ) -> Result<()> {
        self.around_added(text.as_bytes(), at, permit.normalized(), permit, each)
    }

    fn around_added(
        &self,
        text: &[u8],
        at: usize,
        matcher: Option<&AddedTokenMatcher>,
        permit: &Permit<'_>,
        mut each: impl FnMut(Span, Option<u32>) -> Result<()>,
    ) -> Result<()> {
        let between = |each: &mut dyn FnMut(Span, Option<u32>) -> Result<()>, start, end| {
            if start < end {
                each(Span { start, end }, None)
            } else {
                Ok(())
            }
        };
        let mut start = 0;
        for found in matcher.iter().flat_map(|matcher| matcher.matches(text)) {
            self.check(found.id, permit, || at + found.start)?;
            between(&mut each, start, found.start)?;
            each(Span { start: found.start, end: found.end }, Some(found.id))?;
            start = found.end;
        }
        between(&mut each, start, text.len())
    }

    /// # Errors
    /// `Special` for a special token that the permission refuses, with its byte offset.
    pub(in crate::tokenizer) fn check(&self, id: u32, permit: &Permit<'_>, at: impl FnOnce() -> usize) -> Result<()> {
        if !permit.refuses() || self.vocab.kind(id) != Kind::Special {
            return Ok(());
        }
        let token = String::from_utf8_lossy(self.vocab.content(id)).into_owned();
        Err(ErrorKind::Special { token, at: at() }.into())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;
    use crate::model::Scratch;
    use crate::tokenizer::Extras;
    use crate::vocab::Vocab;

    #[test]
    fn special_token_that_normalization_produces_is_refused() {
        let entries = [(0, Kind::Token, "?"), (1, Kind::Token, "x"), (2, Kind::Special, "<S>")];
        let vocab = Vocab::new(entries.map(|(id, kind, content)| (id, kind, content.as_bytes()))).unwrap();
        let options = r#"{"model": {"type": "WordLevel", "unk": 0}, "normalizer": [{"type": "Lowercase"}],
            "pretokenizer": [{"type": "Whitespace"}]}"#;
        let extras = Extras { flags: vec![(2, 8)], ..Extras::default() };
        let tok = Tokenizer::from_json(options, vocab, extras).unwrap();
        let permit = tok.permit(&Permission::Raise).unwrap();
        let encode = |text: &str| {
            let mut ids = Vec::new();
            tok.encode(text.as_bytes(), &permit, &|| true, &mut Scratch::default(), &mut ids).map(|()| ids)
        };
        for text in ["x é <S>", "x é <s>"] {
            assert!(matches!(encode(text).unwrap_err().into_kind(), ErrorKind::Special { at: 5, .. }), "{text}");
        }
        assert_eq!(encode("X <T>").unwrap(), [1, 0, 0, 0]);
    }
}
