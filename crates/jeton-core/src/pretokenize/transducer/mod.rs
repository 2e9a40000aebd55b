//! Transducer of a pattern: finds the starts of pretokens. It reads each byte once, without branches that depend on the
//! text.
//!
//! Invariant: the starts equal the starts that the backtracking matcher finds; tests compare the two. Patterns without
//! a transducer use the backtracking matcher.
//!
//! A window is first translated to classes of characters, one for each byte of the text. Then six interleaved lanes
//! each read a part of the window and replace each class by an action. In one lane, each load needs the state of the
//! previous load; interleaving overlaps the latencies of the lanes. All lanes except the first assume that a pretoken
//! starts at their first byte; the caller repairs the positions at which lanes meet (see `starts`). Most actions are
//! "no start" or "a pretoken starts here"; vector instructions collect them. If an action says that a pretoken has
//! ended earlier, the text is read again.
//!
//! ```text
//! compile   automata → table
//! ```

mod compile;

use std::fmt;
use std::ops::Range;

use self::compile::{Action, Entry};
use crate::regex::{Automaton, CharacterClasses, Reason, MIXED};
use crate::util::simd::block::Block;

/// Number of lanes in a window.
const LANES: usize = 6;
/// Minimum length in bytes of a window that is read in lanes.
const WORTH_LANES: usize = 1 << 9;

/// Number of entries of the table. The entries of one state are a row, whose length is a power of two. The 16-bit index
/// of the first entry of the row represents the state; the sum of this index and a class is the index of an entry.
const ENTRIES: usize = (1 << 16) + (1 << 8);

/// Lowest bit of the number of completed pretokens in an entry of the table. The bits below it hold the action.
const COMPLETE: u32 = 8;
/// Lowest bit of the slot in an entry of the table.
const SLOT: u32 = 12;
/// Lowest bit of the next state in an entry of the table.
const NEXT: u32 = 16;

/// Number of slots of a [`Reader`]. Each hypothesis of a state has a slot (see `compile`). One more slot receives the
/// positions that are never read. So there are more slots than the maximum number of hypotheses.
const SLOTS: usize = 16;

/// Transducer of one pattern, or of a sequence of patterns, each of which splits the result of the preceding ones.
pub(crate) struct Transducer {
    classes: CharacterClasses,
    table: Box<[u32; ENTRIES]>, // pages after the last state are never touched
    num_states: usize,
    width: usize, // number of entries of each state
    at_cut: u8,   // offset added to the class of a character at a cut
    covers_all: bool,
}

/// Bit set of the positions at which a text is already cut. If bit i is set, the text is cut before byte i.
#[derive(Clone, Copy)]
pub(super) struct Cuts<'c>(pub(super) &'c [u64]);

impl Cuts<'_> {
    /// No cuts, for a text that is not cut yet.
    pub(super) const NONE: Self = Self(&[]);

    #[inline(always)]
    fn has(self, at: usize) -> bool {
        self.0.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 != 0)
    }
}

impl fmt::Debug for Transducer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transducer").field("num_states", &self.num_states).finish_non_exhaustive()
    }
}

/// State of a lane: the table entry of its last step.
#[derive(Clone, Copy, Default)]
struct Lane(u32);

impl Lane {
    /// Reads a class, and replaces it by the action of the step.
    #[inline(always)]
    fn read(&mut self, table: &[u32; ENTRIES], class: &mut u8) {
        self.0 = table[(self.0 >> NEXT) as usize + usize::from(*class)];
        *class = self.0 as u8;
    }
}

impl Transducer {
    /// Builds the transducer of patterns, each of which splits the result of the preceding ones. `reads_cuts`: true if
    /// the transducer reads texts that are already cut.
    ///
    /// # Errors
    /// The reason why the transducer cannot be built.
    pub(crate) fn new(classes: CharacterClasses, automata: &[Automaton], reads_cuts: bool) -> Result<Self, Reason> {
        let compile::Table { entries, width: row, covers_all } = compile::compile(automata, &classes, reads_cuts)?;
        let width = (row + 1).next_power_of_two(); // includes the class of continuation bytes
        let num_states = entries.len() / row;
        if num_states * width > 1 << 16 || row >= usize::from(MIXED) {
            return Err("its table would be too large");
        }
        let later_bytes = usize::from(classes.end()) + 1;
        let Ok(mut table) = Box::<[u32; ENTRIES]>::try_from(vec![0; ENTRIES].into_boxed_slice()) else {
            return Err("its table would be too large");
        };
        for (state, entries) in entries.chunks(row).enumerate() {
            let own = Entry { next: state as u16, slot: compile::NO_SLOT, ..Entry::default() };
            let (without_cut, with_cut) = entries.split_at(later_bytes);
            for (class, entry) in without_cut.iter().chain([&own]).chain(with_cut).enumerate() {
                table[state * width + class] = (u32::from(entry.next) * width as u32) << NEXT
                    | u32::from(entry.slot) << SLOT
                    | u32::from(entry.complete) << COMPLETE
                    | entry.action as u32;
            }
        }
        Ok(Self { classes, table, num_states, width, at_cut: later_bytes as u8 + 1, covers_all })
    }

    /// Returns true if each pretoken is a match, so that no text is left between matches.
    pub(super) fn covers_all(&self) -> bool {
        self.covers_all
    }

    /// Returns the number of states, the number of classes, and the number of bytes of the tables.
    pub(crate) fn size(&self) -> [usize; 3] {
        let num_classes = usize::from(self.classes.num_classes());
        [self.num_states, num_classes, self.num_states * self.width * 4 + self.classes.memory()]
    }

    /// Returns the end of the pretoken that starts at `start`. `start` must be before the end of the text.
    pub(super) fn end_of_pretoken(&self, text: &[u8], start: usize, cuts: Cuts<'_>) -> usize {
        let mut reader = Reader::default();
        let mut at = start;
        while at < text.len() {
            let (class, length) = self.class_at(text, at, cuts);
            if reader.read(&self.table, class, at) > 0 {
                return reader.ends[0];
            }
            at += length;
        }
        reader.read(&self.table, self.classes.end(), at);
        reader.ends[0]
    }

    /// Returns the class of the character at `at`, and its length in bytes.
    #[inline(always)]
    fn class_at(&self, text: &[u8], at: usize, cuts: Cuts<'_>) -> (u8, usize) {
        let (class, length) = self.classes.at(text, at);
        (class + if cuts.has(at) { self.at_cut } else { 0 }, length)
    }

    /// Sets the bits of the pretoken starts in `window`, and appends to `meet` the positions at which one lane ends and
    /// the next begins. A pretoken must start at the beginning of the window. Each lane sets bits as if the text began
    /// with the lane; at the end of a lane, bits can be missing. Adds to `wide` the blocks of 64 bytes that contain
    /// continuation bytes of characters.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)] // buffers of the caller
    pub(super) fn find<B: Block>(
        &self,
        proof: B::Proof,
        actions: &mut Vec<u8>,
        text: &[u8],
        window: Range<usize>,
        cuts: Cuts<'_>,
        bits: &mut [u64],
        meet: &mut Vec<u32>,
        wide: &mut Vec<u32>,
    ) {
        let Range { start: begin, end: len } = window;
        self.classify::<B>(proof, actions, text, len, wide);
        for (block, &word) in cuts.0.iter().enumerate() {
            for bit in ones(word) {
                actions[block * 64 + bit] += self.at_cut;
            }
        }
        let part = if len - begin < WORTH_LANES { 0 } else { (len - begin) / LANES };
        self.run(&mut actions[begin..len], part);
        actions[..begin].fill(Action::Nothing as u8);
        actions[len..].fill(Action::Nothing as u8);
        meet.extend((1..LANES).filter(|_| part > 0).map(|lane| (begin + lane * part) as u32));
        for block in begin / 64..len.div_ceil(64) {
            let Some(own) = actions[block * 64..].first_chunk::<64>() else { return };
            let own = B::load(proof, own);
            bits[block] |= own.equal(Action::Here as u8);
            let both = own.equal(Action::MaybeAndPrevious as u8);
            for bit in ones(own.equal(Action::Previous as u8) | both) {
                let at = self.classes.start_of_character(text, block * 64 + bit - 1);
                bits[at / 64] |= 1 << (at % 64);
            }
            for bit in ones(both) {
                let last = actions[..block * 64 + bit].iter().rposition(|&action| action == Action::Maybe as u8);
                let at = last.unwrap_or(begin);
                bits[at / 64] |= 1 << (at % 64);
            }
            for bit in ones(own.equal(Action::Earlier as u8)) {
                let at = block * 64 + bit;
                let lane = (at - begin).checked_div(part).map_or(0, |lane| lane.min(LANES - 1));
                self.read_again(text, begin + lane * part, at, cuts, bits);
            }
        }
    }

    /// Replaces classes by actions. Each lane reads `part` bytes, and the last lane then also reads the remaining
    /// bytes. If `part` is 0, one lane reads all bytes.
    #[inline(always)]
    fn run(&self, classes: &mut [u8], part: usize) {
        let table = &*self.table;
        let (side_by_side, rest) = classes.split_at_mut(part * LANES);
        let [mut a, mut b, mut c, mut d, mut e, mut f] = [Lane::default(); LANES];
        if part > 0 {
            let (first, others) = side_by_side.split_at_mut(part);
            let (second, others) = others.split_at_mut(part);
            let (third, others) = others.split_at_mut(part);
            let (fourth, others) = others.split_at_mut(part);
            let (fifth, sixth) = others.split_at_mut(part);
            let all = first.iter_mut().zip(second).zip(third).zip(fourth).zip(fifth).zip(sixth);
            for (((((first, second), third), fourth), fifth), sixth) in all {
                a.read(table, first);
                b.read(table, second);
                c.read(table, third);
                d.read(table, fourth);
                e.read(table, fifth);
                f.read(table, sixth);
            }
        }
        rest.iter_mut().for_each(|class| f.read(table, class));
    }

    /// Reads the text of a lane a second time, and sets the bits of the pretokens that are complete after the character
    /// at `at`. `begin` is the position of the lane's first byte.
    #[inline(never)]
    fn read_again(&self, text: &[u8], begin: usize, at: usize, cuts: Cuts<'_>, bits: &mut [u64]) {
        let mut reader = Reader::default();
        let mut place = last_before(bits, at).max(begin); // a lane can begin inside a character
        while self.classes.start_of_character(text, place) != place {
            place += 1;
        }
        while place <= at {
            let (class, length) = self.class_at(text, place, cuts);
            for end in 0..reader.read(&self.table, class, place) {
                let end = reader.ends[end % SLOTS];
                bits[end / 64] |= 1 << (end % 64);
            }
            place += length;
        }
    }

    /// Translates the first `len` bytes of a text to classes.
    #[inline(always)]
    fn classify<B: Block>(&self, proof: B::Proof, classes: &mut Vec<u8>, text: &[u8], len: usize, wide: &mut Vec<u32>) {
        classes.resize(len.next_multiple_of(64), 0);
        let of_byte = self.classes.of_byte();
        for (at, out) in (0..len).step_by(64).zip(classes.as_chunks_mut::<64>().0) {
            let mut copy = [0; 64];
            let bytes = text[at..].first_chunk().unwrap_or_else(|| {
                copy[..text.len() - at].copy_from_slice(&text[at..]);
                &copy
            });
            let block = B::load(proof, bytes);
            *out = block.translated(of_byte);
            if block.wide() == 0 {
                continue;
            }
            wide.push(at as u32);
            for bit in ones(B::load(proof, out).equal(MIXED)) {
                out[bit] = self.classes.at(text, at + bit).0;
            }
        }
    }
}

/// Iterates over the bits of a mask.
#[inline(always)]
fn ones(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

/// Returns the position of the last set bit before `at`, or 0 if there is none.
pub(super) fn last_before(bits: &[u64], at: usize) -> usize {
    let Some(last) = at.checked_sub(1) else { return 0 };
    let mut word = last / 64;
    let mut rest = bits[word] & u64::MAX >> (63 - last % 64);
    while rest == 0 && word > 0 {
        word -= 1;
        rest = bits[word];
    }
    (word * 64 + 63).saturating_sub(rest.leading_zeros() as usize)
}

/// Reads the classes of characters one by one. For each hypothesis about a pretoken (see `compile`), a slot of `ends`
/// stores the latest position at which this pretoken can end.
#[derive(Default)]
struct Reader {
    entry: u32,
    ends: [usize; SLOTS],
}

impl Reader {
    /// Reads the class of the character at `at`; returns the number of pretokens that are completed by this step.
    #[inline(always)]
    fn read(&mut self, table: &[u32; ENTRIES], class: u8, at: usize) -> usize {
        self.entry = table[(self.entry >> NEXT) as usize + usize::from(class)];
        self.ends[(self.entry >> SLOT) as usize % SLOTS] = at;
        (self.entry >> COMPLETE) as usize % SLOTS
    }
}
