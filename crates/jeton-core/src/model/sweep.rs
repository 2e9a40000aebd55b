//! Places by rank: the lowest rank first, and of equal ranks the leftmost place.
//!
//! A long sequence has far more places than ranks. So only ranks are in a heap, each once, with a list of its places. The places of the
//! lowest rank are swept from left to right; what merges on the way nearly always has a higher rank, and is appended to the list
//! of that. What has not, in a vocabulary that nobody trained, goes to a small heap beside the sweep.
//!
//! Cost: O(1) a place that comes in order, O(log n) else. Plain version: one heap of (rank, place), which the tests compare.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::hash_map::Entry;
use hashbrown::HashMap;

use super::merging::NONE;

/// Places that wait, by rank.
#[derive(Debug, Default)]
pub struct Sweep {
    lists: HashMap<u32, List>,
    ranks: BinaryHeap<Reverse<u32>>, // of `lists`
    links: Vec<Link>,
    free: Option<u32>,                     // the first link that is in no list
    rank: Option<u32>,                     // of what is swept
    places: Vec<u32>,                      // of this rank, ascending
    next: usize,                           // in `places`
    late: BinaryHeap<Reverse<(u32, u32)>>, // (rank, place), no rank over the one that is swept
}

/// A list of links.
#[derive(Debug, Clone, Copy)]
struct List {
    first: u32,
    last: u32,
    is_ascending: bool,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    place: u32,
    next: u32,
}

impl Sweep {
    /// Forgets all places.
    pub fn clear(&mut self) {
        let Self { lists, ranks, links, free, rank, places, next, late } = self;
        lists.clear();
        ranks.clear();
        links.clear();
        places.clear();
        late.clear();
        (*free, *rank, *next) = (None, None, 0);
    }

    /// Room that is kept.
    pub fn capacity(&self) -> usize {
        self.links.capacity().max(self.places.capacity()).max(self.lists.capacity()).max(self.late.capacity())
    }

    /// Adds a place.
    pub fn push(&mut self, rank: u32, place: u32) {
        if self.rank.is_some_and(|now| rank <= now) {
            self.late.push(Reverse((rank, place)));
            return;
        }
        let link = Link { place, next: NONE };
        let at = match self.free {
            Some(at) => {
                let next = self.links[at as usize].next;
                self.free = (next != NONE).then_some(next);
                self.links[at as usize] = link;
                at
            }
            None => {
                self.links.push(link);
                self.links.len() as u32 - 1
            }
        };
        match self.lists.entry(rank) {
            Entry::Vacant(list) => {
                list.insert(List { first: at, last: at, is_ascending: true });
                self.ranks.push(Reverse(rank));
            }
            Entry::Occupied(mut list) => {
                let list = list.get_mut();
                list.is_ascending &= self.links[list.last as usize].place <= place;
                self.links[list.last as usize].next = at;
                list.last = at;
            }
        }
    }

    /// Takes the leftmost place of the lowest rank: (rank, place).
    pub fn pop(&mut self) -> Option<(u32, u32)> {
        loop {
            let swept = self.rank.zip(self.places.get(self.next).copied());
            match (self.late.peek(), swept) {
                (Some(&Reverse(late)), swept) if swept.is_none_or(|swept| late < swept) => {
                    self.late.pop();
                    return Some(late);
                }
                (_, Some(swept)) => {
                    self.next += 1;
                    return Some(swept);
                }
                _ => self.take()?,
            }
        }
    }

    /// Makes the list of the lowest rank the one that is swept.
    fn take(&mut self) -> Option<()> {
        let Reverse(rank) = self.ranks.pop()?;
        let list = self.lists.remove(&rank)?;
        self.places.clear();
        let mut at = list.first;
        while at != NONE {
            let Link { place, next } = self.links[at as usize];
            self.places.push(place);
            at = next;
        }
        self.links[list.last as usize].next = self.free.unwrap_or(NONE);
        self.free = Some(list.first);
        if !list.is_ascending {
            self.places.sort_unstable();
        }
        (self.rank, self.next) = (Some(rank), 0);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes out is what one heap gives, wherever new ranks and places fall.
    #[test]
    fn as_one_heap() {
        let mut state = 1u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % below) as u32
        };
        let mut sweep = Sweep::default();
        for round in 0..200 {
            sweep.clear();
            let mut plain = BinaryHeap::new();
            for place in 0..300 {
                let rank = draw(1 + round % 40);
                sweep.push(rank, place);
                plain.push(Reverse((rank, place)));
            }
            while let Some(Reverse(expected)) = plain.pop() {
                assert_eq!(sweep.pop(), Some(expected));
                if draw(3) == 0 {
                    let (rank, place) = (draw(60), draw(300)); // lower ranks, too
                    sweep.push(rank, place);
                    plain.push(Reverse((rank, place)));
                }
            }
            assert_eq!(sweep.pop(), None);
        }
    }
}
