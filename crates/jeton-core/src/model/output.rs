//! Output of models, and the permitted special tokens.

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
    /// Any special token is an error.
    Refused,
}

impl Specials<'_> {
    /// Returns true if a special token may be produced.
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
    /// The ids, appended.
    pub ids: &'a mut Vec<u32>,
    /// End of the bytes of each id, counted from the start of the pretoken; None if not requested.
    pub ends: Option<&'a mut Vec<usize>>,
    /// Permitted special tokens.
    pub special: Specials<'a>,
}

impl<'a> Out<'a> {
    /// Collects ids only.
    pub fn ids(ids: &'a mut Vec<u32>) -> Self {
        Self { ids, ends: None, special: Specials::None }
    }

    /// Collects ids and ends.
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
