//! Compiles the automata of patterns to the table of a transducer.
//!
//! A transducer reads a text once and yields the ends of its pretokens. An automaton of a pattern would have to read
//! text again: it knows the end of a match only when a longer match is impossible, and by then it can have read far
//! beyond the end. So a state of the transducer is a list of *hypotheses*. The first is the current match. The second
//! is the next match, under the assumption that the current match ends at its latest end so far. The third is the match
//! after the second, and so on. When the current match can no longer be extended, the second hypothesis has already
//! read the text after it. Each hypothesis has a slot for its latest end. Slots are in the order of the hypotheses, so
//! dropping the first hypothesis only increases an index:
//!
//! ```text
//! read a class at position i:   ends[count + slot] = i;   count += complete;   state = next
//! ```
//!
//! Text between two matches is also a pretoken.
//!
//! A sequence of patterns, each of which splits the result of the previous one (HF's `Split`), becomes one transducer
//! under a condition: each pattern except the last recognizes every boundary as soon as it reads the next character.
//! The boundary then cuts the text of the following pattern. Otherwise, a second transducer reads the text with the
//! cuts of the first.
//!
//! Source: Jeton's own method. Lexers that never read text again are known from Reps, "Maximal-Munch Tokenization in
//! Linear Time" (1998), and from Li and Mamouras, "Streaming Tokenization" (2025), which bounds the lookahead.

use std::cell::Cell;
use std::collections::HashMap;

use crate::regex::{minimal, Automaton, CharacterClasses, Reason, Step, Transition, DEAD, START};

/// Maximum number of hypotheses in a state.
const MAX_OPEN: usize = 7;

/// Slot for positions that are never read.
pub(super) const NO_SLOT: u8 = MAX_OPEN as u8;

/// Maximum number of table entries. It limits compilation to about a tenth of a second.
const MAX_ENTRIES: usize = 1 << 14;

/// One hypothesis about a pretoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Hypothesis {
    /// A match that has possibly begun, but has no end yet.
    Begun { candidates: Candidates },
    /// A match that has an end, but can still end later. Its slot contains the latest end so far. `late`: true if
    /// restarting the cutters at this end would change the state of some [`Cutter`].
    Open { state: u16, late: bool },
    /// Text without a match, followed by possible matches (the candidates). The slot contains the position at which
    /// the first candidate begins. If this candidate matches, the text without a match ends at this position. `late`:
    /// see `Open`.
    Gap { candidates: Candidates, late: bool },
    /// A complete pretoken, whose end is in its slot.
    Complete,
}

/// Maximum number of candidates of a hypothesis.
const MAX_CANDIDATES: usize = 4;

/// The first element is the state of a match that can still fail. The next elements are the states of matches that
/// begin at later characters; a state that equals a previous one is left out. The remaining elements are [`DEAD`]. Only
/// the first match has a slot. So if the first match fails at a character, the other matches must fail at the same
/// character. A pattern that does not guarantee this is rejected.
type Candidates = [u16; MAX_CANDIDATES];

fn one(state: u16) -> Candidates {
    let mut candidates = [DEAD; MAX_CANDIDATES];
    candidates[0] = state;
    candidates
}

/// Entry of the table: output of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Entry {
    pub(super) next: u16,
    /// Slot to which the step writes the position. Slots are counted from the hypothesis that was first before the
    /// step, even if the step completes this hypothesis.
    pub(super) slot: u8,
    /// Number of pretokens that the step completes.
    pub(super) complete: u8,
    /// Effect of the step on the starts of pretokens.
    pub(super) action: Action,
}

/// Effect of a step on the starts of pretokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) enum Action {
    #[default]
    Nothing,
    /// A pretoken starts at this character.
    Here,
    /// A pretoken starts at the previous character.
    Previous,
    /// A pretoken can start at this character; later steps decide.
    Maybe,
    /// One pretoken starts at the position of the last `Maybe`, and another at the previous character. Example: in a
    /// run of white space, one pretoken starts after the last line end, and another at the last character of the run.
    MaybeAndPrevious,
    /// A pretoken starts before the previous character. The text must be read again to find this start.
    Earlier,
}

impl Transition for Entry {
    fn next(&self) -> usize {
        usize::from(self.next)
    }

    fn to(&self, next: u16) -> Self {
        Self { next, ..*self }
    }
}

/// A pattern that recognizes each boundary as soon as it reads the character after the boundary. A step consists of a
/// flag and the next state. The flag is true if a pretoken ends before the character that the step reads.
struct Cutter {
    steps: Vec<(bool, u16)>,
    width: usize,
}

impl Cutter {
    fn step(&self, state: u16, class: u8) -> (bool, u16) {
        self.steps[usize::from(state) * self.width + usize::from(class)]
    }
}

/// State of the transducer. A state without hypotheses is the state at the start of a pretoken.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    cutters: Vec<u16>,
    open: Vec<Hypothesis>,
    /// Slot to which the last step wrote the position.
    written: u8,
    /// True if the first slot contains the position of the last [`Action::Maybe`].
    has_maybe: bool,
}

/// The table of a transducer.
pub(super) struct Table {
    /// Entries of all states, beginning with the state at the start of a pretoken. Each state has one entry for each
    /// class of characters and one for the end of the text. If preceding patterns have cut the texts that the
    /// transducer reads, each state has a second entry for each class. The second entry is for a character that comes
    /// directly after a cut.
    pub(super) entries: Vec<Entry>,
    /// Number of entries of each state.
    pub(super) width: usize,
    /// True if each pretoken is a match, so that no text is left between matches.
    pub(super) covers_all: bool,
}

/// Builds the table for a sequence of patterns; each pattern splits the result of the previous pattern. `reads_cuts`:
/// true if the transducer reads texts that were already cut by patterns of a preceding transducer.
pub(super) fn compile(automata: &[Automaton], classes: &CharacterClasses, reads_cuts: bool) -> Result<Table, Reason> {
    let Some((last, before)) = automata.split_last() else { return Err("it is empty") };
    let mut cutters = Vec::new();
    for automaton in before {
        let table = follow(&[], automaton, classes, false)?;
        let width = table.width;
        let mut steps = Vec::with_capacity(table.entries.len());
        for entry in table.entries {
            let cuts = entry.complete == 1 && entry.slot == 0;
            if entry.complete > 0 && !cuts {
                return Err("a pattern before the last one knows its matches too late");
            }
            steps.push((cuts, entry.next));
        }
        cutters.push(Cutter { steps, width });
    }
    follow(&cutters, last, classes, reads_cuts)
}

/// Builds all states that are reachable from the start.
fn follow(
    cutters: &[Cutter],
    automaton: &Automaton,
    classes: &CharacterClasses,
    reads_cuts: bool,
) -> Result<Table, Reason> {
    let without_cut = (0..=classes.end()).map(|class| (class, false));
    let with_cut = (0..classes.end()).filter(|_| reads_cuts).map(|class| (class, true));
    let inputs: Vec<(u8, bool)> = without_cut.chain(with_cut).collect();
    let width = inputs.len();
    let (certain, leaves_gaps) = (automaton.certain(), Cell::new(false));
    let reader = Reader { cutters, automaton, certain, end: classes.end(), leaves_gaps };
    let cutters_at_start = vec![0; cutters.len()];
    let start = State { cutters: cutters_at_start, open: Vec::new(), written: NO_SLOT, has_maybe: false };
    let mut states = vec![start.clone()];
    let mut numbers = HashMap::from([(start, 0u16)]);
    let (mut table, mut at) = (Vec::new(), 0);
    while at < states.len() {
        let state = states[at].clone();
        for &(class, is_cut) in &inputs {
            let (entry, next) = reader.step(&state, class, is_cut)?;
            let number = numbers.len() as u16;
            let next = *numbers.entry(next).or_insert_with_key(|state| {
                states.push(state.clone());
                number
            });
            table.push(Entry { next, ..entry });
        }
        if states.len() * width > MAX_ENTRIES {
            return Err("its table would be too large");
        }
        at += 1;
    }
    Ok(Table { entries: minimal(table, width, 1), width, covers_all: !reader.leaves_gaps.get() })
}

struct Reader<'a> {
    cutters: &'a [Cutter],
    automaton: &'a Automaton,
    certain: Vec<bool>,
    end: u8,
    leaves_gaps: Cell<bool>,
}

impl Reader<'_> {
    /// Reads a class in a state; returns the table entry and the next state. `is_cut`: the text is cut before the
    /// character.
    fn step(&self, state: &State, class: u8, is_cut: bool) -> Result<(Entry, State), Reason> {
        let is_end = class == self.end;
        // A cut of one cutter restarts the following cutters.
        let (mut cuts, mut late, mut cutters) = (is_end || is_cut, false, Vec::new());
        for (cutter, &at) in self.cutters.iter().zip(&state.cutters) {
            let (restarted, (cuts_here, next)) = (cutter.step(0, class).1, cutter.step(at, class));
            cuts |= cuts_here;
            cutters.push(if is_end {
                0
            } else if cuts {
                restarted
            } else {
                next
            });
            late |= !cuts && next != restarted;
        }
        let mut open = Vec::new();
        let slot = self.read(&state.open, if cuts { self.end } else { class }, late, &mut open)?;
        let complete = open.iter().take_while(|one| **one == Hypothesis::Complete).count();
        open.drain(..complete);
        if !is_end && (cuts || state.open.is_empty()) {
            self.begin(class, &mut open);
        }
        let complete = complete as u8;
        let action = match (complete, slot, state.written) {
            (0, 0, _) => Action::Maybe,
            (0, ..) => Action::Nothing,
            (1, 0, _) => Action::Here,
            (1, _, 0) => Action::Previous,
            (2, 2.., 1) if state.has_maybe => Action::MaybeAndPrevious,
            _ => Action::Earlier,
        };
        let entry = Entry { next: 0, slot, complete, action };
        let written = if slot == NO_SLOT || cuts || slot < complete { NO_SLOT } else { slot - complete };
        let has_maybe = complete == 0 && (slot == 0 || state.has_maybe);
        Ok((entry, State { cutters, open, written, has_maybe }))
    }

    /// Advances all hypotheses by one class; returns the slot to which the position is written. `late`: true if
    /// restarting the cutters at this position would change the state of some [`Cutter`].
    fn read(&self, open: &[Hypothesis], class: u8, late: bool, next: &mut Vec<Hypothesis>) -> Result<u8, Reason> {
        let complete = |late: bool| match late {
            true => Err("a pattern before the last one splits differently after a boundary of the last one"),
            false => Ok(Hypothesis::Complete),
        };
        let mut slot = NO_SLOT;
        for &hypothesis in open {
            let (candidates, is_gap) = match hypothesis {
                Hypothesis::Complete => {
                    next.push(hypothesis);
                    continue;
                }
                Hypothesis::Open { state, .. } => (one(state), false),
                Hypothesis::Begun { candidates } => (candidates, false),
                Hypothesis::Gap { candidates, .. } => (candidates, true),
            };
            let is_late =
                matches!(hypothesis, Hypothesis::Gap { late: true, .. } | Hypothesis::Open { late: true, .. });
            let step = self.automaton.step(candidates[0], class);
            if step.accepts {
                if is_gap {
                    next.push(complete(is_late)?);
                }
                slot = next.len() as u8;
                next.push(match step.next {
                    DEAD => complete(late)?,
                    state => Hypothesis::Open { state, late },
                });
                if class != self.end {
                    self.begin(class, next);
                }
                break; // drops the hypotheses that assume an earlier end of this match
            }
            match (hypothesis, step.next) {
                (Hypothesis::Open { .. } | Hypothesis::Complete, DEAD) => next.push(complete(is_late)?),
                (Hypothesis::Open { .. } | Hypothesis::Complete, state) => {
                    next.push(Hypothesis::Open { state, late: is_late });
                }
                // The first candidate failed before it had an end. The other candidates must fail at this character,
                // too. So the next match begins at this character or later.
                (Hypothesis::Begun { .. } | Hypothesis::Gap { .. }, DEAD) => {
                    if candidates[1..].iter().any(|&other| self.automaton.step(other, class) != Step::default()) {
                        return Err("a match may fail while one that begins later goes on");
                    }
                    slot = next.len() as u8;
                    let state = self.automaton.step(START, class).next;
                    self.leaves_gaps.set(true);
                    if class == self.end {
                        next.push(complete(late)?);
                    } else if !self.automaton.accepts_now(state) {
                        next.push(Hypothesis::Gap { candidates: one(state), late });
                    } else {
                        next.extend([complete(late)?, Hypothesis::Begun { candidates: one(state) }]);
                    }
                }
                (Hypothesis::Begun { .. } | Hypothesis::Gap { .. }, state) if !self.certain[usize::from(state)] => {
                    // The first candidate can still fail, so matches that begin at later characters are tracked, too.
                    // If a later match has reached the same state as an earlier match, both can only fail together, so
                    // the later match is left out.
                    let candidates = self.go_on(state, &candidates[1..], class)?;
                    next.push(match hypothesis {
                        Hypothesis::Gap { late, .. } => Hypothesis::Gap { candidates, late },
                        _ => Hypothesis::Begun { candidates },
                    });
                }
                (Hypothesis::Begun { .. } | Hypothesis::Gap { .. }, state) => {
                    if is_gap {
                        next.push(complete(is_late)?);
                    }
                    next.push(Hypothesis::Begun { candidates: one(state) });
                }
            }
        }
        match next.len() > MAX_OPEN {
            true => Err("too many pretokens stay open"),
            false => Ok(slot),
        }
    }

    /// Advances the candidates by one character, given as its class, and adds a candidate that begins with this
    /// character. `first`: state of the first candidate after the character. `others`: states of the other candidates
    /// before the character.
    fn go_on(&self, first: u16, others: &[u16], class: u8) -> Result<Candidates, Reason> {
        let mut candidates = one(first);
        for (index, &state) in others.iter().chain([&START]).enumerate() {
            let step = self.automaton.step(state, class);
            if step.accepts && index < others.len() {
                return Err("a match may go on while one that begins later has ended");
            }
            if step.next == DEAD || candidates.contains(&step.next) {
                continue;
            }
            match candidates.iter().position(|&state| state == DEAD) {
                Some(free) => candidates[free] = step.next,
                None => return Err("a match may fail after many characters"),
            }
        }
        Ok(candidates)
    }

    /// Adds the hypothesis that a pretoken begins with this character.
    fn begin(&self, class: u8, open: &mut Vec<Hypothesis>) {
        open.push(Hypothesis::Begun { candidates: one(self.automaton.step(START, class).next) });
    }
}
