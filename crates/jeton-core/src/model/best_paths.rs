//! Best segmentations of prefixes of a text, which the Viterbi search extends.

/// Id of unknown characters. As the `start` of a [`Best`], it means that no segmentation was found yet.
pub(super) const NO_ID: u32 = u32::MAX;

/// Best segmentation of the text up to a position.
#[derive(Debug, Clone, Copy)]
pub(super) struct Best {
    pub(super) score: f64,
    pub(super) start: u32, // start of the last piece, or of the run of unknown characters; NO_ID: no segmentation yet
    pub(super) id: u32,    // id of the last piece; NO_ID: unknown characters
}

/// Reusable buffers of searches. Positions are relative to the start of the window.
#[derive(Debug, Default)]
pub struct BestPaths {
    pub(super) best: Vec<Best>,
    pub(super) leads: Vec<f64>,         // lead of the best segmentation over the second best
    pub(super) path: Vec<(u32, usize)>, // the best segmentation, last piece first: (id, end)
}

impl BestPaths {
    /// Returns the capacity of the largest buffer.
    pub(super) fn capacity(&self) -> usize {
        self.best.capacity().max(self.path.capacity())
    }
}

pub(super) const UNREACHED: Best = Best { score: 0.0, start: NO_ID, id: NO_ID };
