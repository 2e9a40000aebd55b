//! Best segmentations of prefixes of a text, which the Viterbi search extends.

/// No piece, or none yet.
pub(super) const NO_ID: u32 = u32::MAX;

/// The best way to cover the text up to some place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Best {
    pub(super) score: f64,
    pub(super) start: u32, // of the last piece, or of the run of unknown characters; NO_ID: no way known
    pub(super) id: u32,    // NO_ID: unknown
}

/// Memory that searches reuse: for places from the window's start on.
#[derive(Debug, Default)]
pub struct BestPaths {
    pub(super) best: Vec<Best>,
    pub(super) leads: Vec<f64>,         // by how much the best way leads the second best
    pub(super) path: Vec<(u32, usize)>, // the best way, last piece first: (id, end)
}

impl BestPaths {
    /// Elements of the longest list.
    pub(super) fn capacity(&self) -> usize {
        self.best.capacity().max(self.path.capacity())
    }
}

pub(super) const UNREACHED: Best = Best { score: 0.0, start: NO_ID, id: NO_ID };
