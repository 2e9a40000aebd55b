//! Which special tokens a text may contain: the caller's permission, made ready once for any number of texts.

use std::borrow::Cow;

use super::{Matchers, Tokenizer};
use crate::error::{ErrorKind, Result};
use crate::pretokenize::Span;
use crate::special::Matcher;

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

/// A permission with the matchers it needs.
#[derive(Debug)]
pub struct Permit<'t> {
    matchers: Cow<'t, Matchers>,
    refused: Option<&'t Matchers>,
}

impl Permit<'_> {
    /// What looks for added tokens in normalized text.
    pub(super) fn normalized(&self) -> Option<&Matcher> {
        self.matchers.normalized.as_ref()
    }
}

impl Tokenizer {
    /// Makes a permission ready.
    ///
    /// # Errors
    /// As [`Matcher::new`].
    pub fn permit(&self, permission: &Permission) -> Result<Permit<'_>> {
        let [none, all, special] = &self.matchers;
        let matchers = match permission {
            Permission::None | Permission::Raise => Cow::Borrowed(none),
            Permission::All => Cow::Borrowed(all),
            Permission::Only(ids) => {
                let mut wanted = ids.clone();
                wanted.sort_unstable();
                Cow::Owned(self.matchers_for(|id| self.always_matched(id) || wanted.binary_search(&id).is_ok())?)
            }
        };
        let refused = (*permission == Permission::Raise).then_some(special);
        Ok(Permit { matchers, refused })
    }

    /// Calls `each` with the added tokens of the raw text and with the stretches between them (id `None`, perhaps empty), in order.
    pub(super) fn stretches(
        &self,
        text: &[u8],
        permit: &Permit<'_>,
        mut each: impl FnMut(Span, Option<u32>) -> Result<()>,
    ) -> Result<()> {
        for matcher in permit.refused.into_iter().flat_map(|special| [&special.raw, &special.normalized]).flatten() {
            if let Some(found) = matcher.find(text, 0) {
                let token = String::from_utf8_lossy(self.vocab.content(found.id)).into_owned();
                return Err(ErrorKind::Special { token, at: found.start }.into());
            }
        }
        let mut start = 0;
        for found in permit.matchers.raw.iter().flat_map(|matcher| matcher.matches(text)) {
            each(Span { start, end: found.start }, None)?;
            each(Span { start: found.start, end: found.end }, Some(found.id))?;
            start = found.end;
        }
        each(Span { start, end: text.len() }, None)
    }
}
