//! Output of models, and the permitted special tokens.

/// A segmentation: its ids and the sum of its scores.
pub type Segmentation = (Vec<u32>, f64);

/// The special tokens that text may become.
#[derive(Debug, Clone, Copy, Default)]
pub enum Specials<'a> {
    /// None.
    #[default]
    None,
    /// All.
    All,
    /// Those with these ids, ascending.
    Only(&'a [u32]),
    /// Any is an error.
    Refused,
}

impl Specials<'_> {
    /// True if one is requested.
    pub fn has(self, id: u32) -> bool {
        match self {
            Self::None => false,
            Self::All | Self::Refused => true,
            Self::Only(ids) => ids.binary_search(&id).is_ok(),
        }
    }
}

/// Buffer for the ids.
#[derive(Debug)]
pub struct Out<'a> {
    /// The ids, appended.
    pub ids: &'a mut Vec<u32>,
    /// For each id the end of its part of the pretoken, in bytes from the start of the pretoken; None if not requested.
    pub ends: Option<&'a mut Vec<usize>>,
    /// Special tokens that may be among them.
    pub special: Specials<'a>,
}

impl<'a> Out<'a> {
    /// Ids alone.
    pub fn ids(ids: &'a mut Vec<u32>) -> Self {
        Self { ids, ends: None, special: Specials::None }
    }

    /// Ids and ends.
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
