//! Runs a program over a text: backtracking with a stack of its own and a count of its steps.
//!
//! Invariant: every character that is looked at and every instruction costs a step, and a search ends when the budget
//! is spent. The budget is linear in the text, so no pattern hangs; the alternatives live on a stack that is bounded
//! too, not on the thread's, so none overflows it. Where both suffice, the match is the one that leftmost-first
//! backtracking finds.
//!
//! Cost: time up to the budget; memory 24 bytes per open alternative. A run of characters is one alternative however
//! long.

use super::program::{Instruction, Program, Set};
use super::syntax::{Assertion, Greed};

/// Open alternatives that a match may have: 100 MB of them. Only a group that repeats millions of times gets there.
const MAX_OPEN: usize = 1 << 22;

/// Why a search ended without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exhausted {
    /// The budget of steps is spent.
    Steps,
    /// More than [`MAX_OPEN`] alternatives.
    Alternatives,
}

/// The steps that a text of so many bytes may take.
///
/// The published patterns take fewer than ten per byte. The rest is for a user's lookaheads, which may each read a
/// line or a paragraph again; a pattern that reads a whole document for each of its characters is stopped after about
/// three seconds per MB.
pub(super) fn budget(bytes: usize) -> u64 {
    1_000_000 + 1_000 * bytes as u64
}

/// Something to go on with after a failure.
enum Open {
    /// Another branch.
    Branch { label: u32, at: usize },
    /// A greedy run that can give back characters, down to `low`.
    Shrink { label: u32, low: usize, at: usize },
    /// A lazy run that can take another character.
    Grow { label: u32, taken: u32, at: usize },
    /// A slot's earlier value.
    Slot { slot: u32, value: usize },
}

/// One search through one text, with its budget.
pub(in crate::pretokenize) struct Matcher<'t> {
    program: &'t Program,
    text: &'t [u8],
    open: Vec<Open>,
    slots: Vec<usize>,
    steps: u64,
}

impl<'t> Matcher<'t> {
    pub(super) fn new(program: &'t Program, text: &'t str, steps: u64) -> Self {
        Self { program, text: text.as_bytes(), open: Vec::new(), slots: vec![0; program.num_slots], steps }
    }

    /// The first match that is not empty and starts at `start` or later: its start and end.
    pub(super) fn find(&mut self, start: usize) -> Result<Option<(usize, usize)>, Exhausted> {
        let mut from = start;
        while from < self.text.len() {
            match self.match_at(from)? {
                Some(end) if end > from => return Ok(Some((from, end))),
                _ => from = next(self.text, from),
            }
        }
        Ok(None)
    }

    fn spend(&mut self, steps: usize) -> Result<(), Exhausted> {
        self.steps = self.steps.checked_sub(steps as u64).ok_or(Exhausted::Steps)?;
        Ok(())
    }

    fn push(&mut self, open: Open) -> Result<(), Exhausted> {
        if self.open.len() == MAX_OPEN {
            return Err(Exhausted::Alternatives);
        }
        self.open.push(open);
        Ok(())
    }

    /// End of the match that starts at `start`.
    fn match_at(&mut self, start: usize) -> Result<Option<usize>, Exhausted> {
        self.open.clear();
        let (mut label, mut at) = (0, start);
        loop {
            self.spend(1)?;
            let program = self.program;
            let goes_on = match program.instructions[label] {
                Instruction::One(set) => program.sets[set].accepts(self.text, at).map(|end| (label + 1, end)),
                Instruction::Run { set, min, max, greed } => {
                    self.run(&program.sets[set], label, at, (min, max), greed)?.map(|end| (label + 1, end))
                }
                Instruction::Jump(to) => Some((to, at)),
                Instruction::Split { second, guard: Some(set), .. }
                    if program.sets[set].accepts(self.text, at).is_none() =>
                {
                    Some((second, at))
                }
                Instruction::Split { first, second, .. } => {
                    self.push(Open::Branch { label: second as u32, at })?;
                    Some((first, at))
                }
                Instruction::Mark(slot) => {
                    self.push(Open::Slot { slot: slot as u32, value: self.slots[slot] })?;
                    self.slots[slot] = at;
                    Some((label + 1, at))
                }
                Instruction::Moved { slot, exit } => Some((if self.slots[slot] == at { exit } else { label + 1 }, at)),
                Instruction::Begin(slot) => {
                    self.begin(slot, at);
                    Some((label + 1, at))
                }
                Instruction::BeginNot { slot, after } => {
                    self.begin(slot, at);
                    self.push(Open::Branch { label: after as u32, at })?;
                    Some((label + 1, at))
                }
                // What is forgotten may hold earlier values of slots. They belong to loops inside the group, which set
                // them anew before they read them.
                Instruction::Commit(slot) => {
                    self.open.truncate(self.slots[slot]);
                    Some((label + 1, at))
                }
                Instruction::Return(slot) => {
                    self.open.truncate(self.slots[slot]);
                    Some((label + 1, self.slots[slot + 1]))
                }
                Instruction::Fail(slot) => {
                    self.open.truncate(self.slots[slot]);
                    None
                }
                Instruction::Back(characters) => {
                    self.spend(characters.min(at))?;
                    back(self.text, at, characters).map(|at| (label + 1, at))
                }
                Instruction::Assert(assertion) => self.holds(assertion, at).then_some((label + 1, at)),
                Instruction::Match => return Ok(Some(at)),
            };
            match goes_on {
                Some(next) => (label, at) = next,
                None => match self.reopen()? {
                    Some(next) => (label, at) = next,
                    None => return Ok(None),
                },
            }
        }
    }

    fn begin(&mut self, slot: usize, at: usize) {
        self.slots[slot] = self.open.len();
        self.slots[slot + 1] = at;
    }

    /// Takes characters of the set; the end, if there are enough of them.
    #[inline(always)]
    fn run(
        &mut self,
        set: &Set,
        label: usize,
        start: usize,
        (min, max): (u32, u32),
        greed: Greed,
    ) -> Result<Option<usize>, Exhausted> {
        let wanted = if greed == Greed::Lazy { min } else { max };
        let (mut at, mut low, mut taken) = (start, start, 0);
        while taken < wanted {
            let Some(end) = set.accepts(self.text, at) else { break };
            at = end;
            taken += 1;
            if taken == min {
                low = at;
            }
        }
        self.spend(at - start)?;
        if taken < min {
            return Ok(None);
        }
        let label = label as u32;
        match greed {
            Greed::Greedy if low < at => self.push(Open::Shrink { label: label + 1, low, at })?,
            Greed::Lazy if taken < max => self.push(Open::Grow { label, taken, at })?,
            _ => {}
        }
        Ok(Some(at))
    }

    /// Goes back to the last open alternative: where to go on.
    fn reopen(&mut self) -> Result<Option<(usize, usize)>, Exhausted> {
        while let Some(open) = self.open.pop() {
            match open {
                Open::Branch { label, at } => return Ok(Some((label as usize, at))),
                Open::Shrink { label, low, at } => {
                    let at = previous(self.text, at);
                    if low < at {
                        self.open.push(Open::Shrink { label, low, at });
                    }
                    return Ok(Some((label as usize, at)));
                }
                Open::Grow { label, taken, at } => {
                    self.spend(1)?;
                    let Instruction::Run { set, max, .. } = self.program.instructions[label as usize] else { continue };
                    if let Some(at) = self.program.sets[set].accepts(self.text, at) {
                        if taken + 1 < max {
                            self.open.push(Open::Grow { label, taken: taken + 1, at });
                        }
                        return Ok(Some((label as usize + 1, at)));
                    }
                }
                Open::Slot { slot, value } => self.slots[slot as usize] = value,
            }
        }
        Ok(None)
    }

    fn holds(&self, assertion: Assertion, at: usize) -> bool {
        let text = self.text;
        match assertion {
            Assertion::StartText => at == 0,
            Assertion::EndText => at == text.len(),
            Assertion::StartLine => at == 0 || text[at - 1] == b'\n',
            Assertion::EndLine => text.get(at).is_none_or(|&byte| byte == b'\n'),
            Assertion::WordBoundary | Assertion::NotWordBoundary => {
                let Some(word) = self.program.word.map(|set| &self.program.sets[set]) else { return false };
                let before = at > 0 && word.accepts(text, previous(text, at)).is_some();
                let after = word.accepts(text, at).is_some();
                (before != after) == (assertion == Assertion::WordBoundary)
            }
        }
    }
}

fn is_boundary(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

/// Start of the character that ends at `at`, which is not 0.
fn previous(text: &[u8], mut at: usize) -> usize {
    at -= 1;
    while !is_boundary(text[at]) {
        at -= 1;
    }
    at
}

/// End of the character that starts at `at`, which is not the end.
fn next(text: &[u8], mut at: usize) -> usize {
    at += 1;
    while text.get(at).is_some_and(|&byte| !is_boundary(byte)) {
        at += 1;
    }
    at
}

/// So many characters before `at`, if there are as many.
fn back(text: &[u8], mut at: usize, characters: usize) -> Option<usize> {
    for _ in 0..characters {
        if at == 0 {
            return None;
        }
        at = previous(text, at);
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::super::{program::compile, syntax::parse};
    use super::*;
    use crate::pretokenize::patterns::NAMED;

    /// Steps per byte that a pattern takes on a text.
    fn cost(pattern: &str, text: &str) -> f64 {
        let program = compile(&parse(pattern).unwrap()).unwrap();
        let mut matcher = Matcher::new(&program, text, u64::MAX);
        let mut at = 0;
        while let Some((_, end)) = matcher.find(at).unwrap() {
            at = end;
        }
        (u64::MAX - matcher.steps) as f64 / text.len() as f64
    }

    #[test]
    fn the_budget_is_far_from_what_published_patterns_take() {
        for named in &NAMED {
            for part in [
                "The quick brown fox isn't 12,345.6 years old!\n",
                "今天的天气很好。",
                "    if (x[i] != \"A\") {\r\n",
                "'",
                "\u{301}A",
            ] {
                let cost = cost(named.text, &part.repeat(200));
                assert!(cost < 10.0, "{} takes {cost:.1} steps per byte of {part:?}", named.name);
            }
        }
    }
}
