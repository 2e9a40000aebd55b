//! Buffers that encoding reuses.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::best_paths::BestPaths;
use super::linked_symbols::SymbolNode;
use super::rank_queue::RankQueue;

/// Priority queue of (rank << 32 | position, length of the pair in bytes), lowest first.
pub(super) type Agenda = BinaryHeap<Reverse<(u64, usize)>>;

/// Buffers of encoding, reused between pretokens.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) symbols: Vec<u32>,
    pub(super) ranks: Vec<u32>,
    pub(super) starts: Vec<usize>,
    pub(super) nodes: Vec<SymbolNode>,
    pub(super) queue: RankQueue,
    pub(super) joint: (Vec<SymbolNode>, RankQueue), // for checking the boundary of two tokens
    pub(super) heap: BinaryHeap<Reverse<u64>>,      // rank << 32 | position, for sampling
    pub(super) agenda: Agenda,
    pub(super) best_paths: BestPaths,
    pub(super) ids: Vec<u32>,
    pub(super) ends: Vec<usize>,
}

impl Scratch {
    /// Shrinks buffers after a long pretoken, so that pooled memory is bounded.
    pub fn forget_large(&mut self) {
        const MOST: usize = 1 << 16; // maximum number of elements of a buffer
        let Self { symbols, ranks, starts, nodes, queue, joint, heap, agenda, best_paths, ids, ends } = self;
        let sizes = [symbols.capacity(), ranks.capacity(), starts.capacity(), nodes.capacity(), heap.capacity()];
        let more = [
            queue.capacity(),
            joint.0.capacity(),
            joint.1.capacity(),
            agenda.capacity(),
            best_paths.capacity(),
            ids.capacity(),
            ends.capacity(),
        ];
        if sizes.iter().chain(&more).any(|&capacity| capacity > MOST) {
            *self = Self::default();
        }
    }
}
