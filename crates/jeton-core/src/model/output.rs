//! Output buffers of models, and the set of permitted special tokens.

/// A segmentation: ids and sum of scores.
pub type Segmentation = (Vec<u32>, f64);

/// A segmentation with the end of each id in the text: ids, ends, sum of scores.
pub type PlacedSegmentation = (Vec<u32>, Vec<usize>, f64);

/// Permitted special tokens.
#[derive(Debug, Clone, Copy, Default)]
pub enum Specials<'a> {
    /// No special token.
    #[default]
    None,
    /// All special tokens.
    All,
    /// The special tokens with these ids, in ascending order.
    Only(&'a [u32]),
    /// No special token is permitted, and text that would produce one is an error.
    Refused,
}

impl Specials<'_> {
    /// Returns true if a model may choose the special token `id`. With [`Self::Refused`], it may choose any special
    /// token, but reports an error if the token is in its result.
    pub fn has(self, id: u32) -> bool {
        match self {
            Self::None => false,
            Self::All | Self::Refused => true,
            Self::Only(ids) => ids.binary_search(&id).is_ok(),
        }
    }
}

/// Output buffers of a model.
#[derive(Debug)]
pub struct Out<'a> {
    /// List to which the ids are appended.
    pub ids: &'a mut Vec<u32>,
    /// Byte offset in the pretoken at which each id ends; None if not requested.
    pub ends: Option<&'a mut Vec<usize>>,
    /// Permitted special tokens.
    pub special: Specials<'a>,
}

impl<'a> Out<'a> {
    /// Collects ids only.
    pub fn ids(ids: &'a mut Vec<u32>) -> Self {
        Self { ids, ends: None, special: Specials::None }
    }

    /// Collects ids and the end of each id.
    pub fn with_ends(ids: &'a mut Vec<u32>, ends: &'a mut Vec<usize>) -> Self {
        Self { ids, ends: Some(ends), special: Specials::None }
    }

    /// Appends an id.
    #[inline]
    pub(super) fn push(&mut self, id: u32, end: usize) {
        self.ids.push(id);
        if let Some(ends) = &mut self.ends {
            ends.push(end);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Truncates to `len` ids.
    pub(super) fn truncate(&mut self, len: usize) {
        let gone = self.ids.len() - len;
        self.ids.truncate(len);
        if let Some(ends) = &mut self.ends {
            ends.truncate(ends.len().saturating_sub(gone));
        }
    }
}
