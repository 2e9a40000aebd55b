//! Priority queue of (rank, position). Pops the lowest rank first, and among equal ranks the leftmost position.
//!
//! A long sequence has far more positions than ranks. So the heap contains each rank once, and each rank has a linked
//! list of its positions. The positions of the lowest rank (the current rank) are popped from left to right. A new
//! merge nearly always has a higher rank than the current rank. The position of the merge is then appended to the list
//! of the merge's rank. If a vocabulary was not trained, the rank of a new merge can be lower than the current rank or
//! equal to it. The position of the merge is then pushed to a small second heap.
//!
//! Cost: O(1) for positions pushed in order, else O(log n). The tests compare this queue with a plain version: one heap
//! of (rank, position).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::hash_map::Entry;
use hashbrown::HashMap;

use super::linked_symbols::NONE;

/// Priority queue of (rank, position).
#[derive(Debug, Default)]
pub struct RankQueue {
    lists: HashMap<u32, LinkedList>,
    ranks: BinaryHeap<Reverse<u32>>, // ranks of `lists`
    nodes: Vec<QueueNode>,
    free: Option<u32>,                     // head of the list of free nodes
    rank: Option<u32>,                     // rank of `positions`
    positions: Vec<u32>,                   // positions of the lowest rank, ascending
    next: usize,                           // index in `positions` of the next position to pop
    late: BinaryHeap<Reverse<(u32, u32)>>, // (rank, position) pushed with a rank not above the current one
}

/// Positions of one rank, in a linked list of nodes.
#[derive(Debug, Clone, Copy)]
struct LinkedList {
    first: u32,
    last: u32,
    is_ascending: bool,
}

#[derive(Debug, Clone, Copy)]
struct QueueNode {
    position: u32,
    next: u32,
}

impl RankQueue {
    /// Removes all positions and keeps the capacity.
    pub fn clear(&mut self) {
        let Self { lists, ranks, nodes, free, rank, positions, next, late } = self;
        lists.clear();
        ranks.clear();
        nodes.clear();
        positions.clear();
        late.clear();
        (*free, *rank, *next) = (None, None, 0);
    }

    /// Returns the largest capacity of all buffers.
    pub fn capacity(&self) -> usize {
        self.nodes.capacity().max(self.positions.capacity()).max(self.lists.capacity()).max(self.late.capacity())
    }

    /// Pushes a position.
    pub fn push(&mut self, rank: u32, position: u32) {
        if self.rank.is_some_and(|now| rank <= now) {
            self.late.push(Reverse((rank, position)));
            return;
        }
        let node = QueueNode { position, next: NONE };
        let at = match self.free {
            Some(at) => {
                let next = self.nodes[at as usize].next;
                self.free = (next != NONE).then_some(next);
                self.nodes[at as usize] = node;
                at
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        };
        match self.lists.entry(rank) {
            Entry::Vacant(list) => {
                list.insert(LinkedList { first: at, last: at, is_ascending: true });
                self.ranks.push(Reverse(rank));
            }
            Entry::Occupied(mut list) => {
                let list = list.get_mut();
                list.is_ascending &= self.nodes[list.last as usize].position <= position;
                self.nodes[list.last as usize].next = at;
                list.last = at;
            }
        }
    }

    /// Pops the leftmost position of the lowest rank, as (rank, position).
    pub fn pop(&mut self) -> Option<(u32, u32)> {
        loop {
            let in_order = self.rank.zip(self.positions.get(self.next).copied());
            match (self.late.peek(), in_order) {
                (Some(&Reverse(late)), in_order) if in_order.is_none_or(|in_order| late < in_order) => {
                    self.late.pop();
                    return Some(late);
                }
                (_, Some(in_order)) => {
                    self.next += 1;
                    return Some(in_order);
                }
                _ => self.next_rank()?,
            }
        }
    }

    /// Moves the positions of the lowest rank in `ranks` into `positions`; None if there is no rank.
    fn next_rank(&mut self) -> Option<()> {
        let Reverse(rank) = self.ranks.pop()?;
        let list = self.lists.remove(&rank)?;
        self.positions.clear();
        let mut at = list.first;
        while at != NONE {
            let QueueNode { position, next } = self.nodes[at as usize];
            self.positions.push(position);
            at = next;
        }
        self.nodes[list.last as usize].next = self.free.unwrap_or(NONE);
        self.free = Some(list.first);
        if !list.is_ascending {
            self.positions.sort_unstable();
        }
        (self.rank, self.next) = (Some(rank), 0);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that positions are popped in the order of a single heap, for any order of pushes.
    #[test]
    fn order_equals_that_of_one_heap() {
        let mut state = 1u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % below) as u32
        };
        let mut queue = RankQueue::default();
        for round in 0..200 {
            queue.clear();
            let mut plain = BinaryHeap::new();
            for position in 0..300 {
                let rank = draw(1 + round % 40);
                queue.push(rank, position);
                plain.push(Reverse((rank, position)));
            }
            while let Some(Reverse(expected)) = plain.pop() {
                assert_eq!(queue.pop(), Some(expected));
                if draw(3) == 0 {
                    let (rank, position) = (draw(60), draw(300)); // ranks lower than the current one occur, too
                    queue.push(rank, position);
                    plain.push(Reverse((rank, position)));
                }
            }
            assert_eq!(queue.pop(), None);
        }
    }
}
