//! Which special tokens a text may contain: the caller's permission, made ready once for any number of texts.

use std::borrow::Cow;

use super::Tokenizer;
use crate::error::{ErrorKind, Result};
use crate::pretokenize::Span;
use crate::special::{Added, Matcher};
use crate::vocab::Kind;

/// Which special tokens a text may contain. Added tokens that are not special are always matched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Permission {
    /// None: their spelling is plain text.
    #[default]
    None,
    /// All.
    All,
    /// Finding one is an error.
    Raise,
    /// Those with these ids.
    Only(Vec<u32>),
}

/// A permission with the matcher it needs.
#[derive(Debug)]
pub struct Permit<'t> {
    matcher: Option<Cow<'t, Matcher>>,
    refused: Option<&'t Matcher>,
}

impl Tokenizer {
    /// Makes a permission ready.
    ///
    /// # Errors
    /// As [`Matcher::new`].
    pub fn permit(&self, permission: &Permission) -> Result<Permit<'_>> {
        let matcher = match permission {
            Permission::None | Permission::Raise => self.vocabulary_tokens.as_ref().map(Cow::Borrowed),
            Permission::All => self.every_token.as_ref().map(Cow::Borrowed),
            Permission::Only(ids) => {
                let mut wanted = ids.clone();
                wanted.sort_unstable();
                let allowed = |id: &u32| self.vocab.kind(*id) == Kind::Added || wanted.binary_search(id).is_ok();
                let tokens = self.added.iter().copied().filter(allowed);
                Matcher::new(tokens.map(|id| Added::plain(self.vocab.content(id), id)))?.map(Cow::Owned)
            }
        };
        let refused = if *permission == Permission::Raise { self.special_tokens.as_ref() } else { None };
        Ok(Permit { matcher, refused })
    }

    /// Calls `each` with the added tokens of `text` and with the stretches between them (id `None`, perhaps empty), in order.
    pub(super) fn stretches(
        &self,
        text: &[u8],
        permit: &Permit<'_>,
        mut each: impl FnMut(Span, Option<u32>) -> Result<()>,
    ) -> Result<()> {
        if let Some(found) = permit.refused.and_then(|special| special.find(text, 0)) {
            let token = String::from_utf8_lossy(self.vocab.content(found.id)).into_owned();
            return Err(ErrorKind::Special { token, at: found.start }.into());
        }
        let mut start = 0;
        if let Some(matcher) = &permit.matcher {
            for found in matcher.matches(text) {
                each(Span { start, end: found.start }, None)?;
                each(Span { start: found.start, end: found.end }, Some(found.id))?;
                start = found.end;
            }
        }
        each(Span { start, end: text.len() }, None)
    }
}
