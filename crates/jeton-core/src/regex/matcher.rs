//! Backtracking matcher with an explicit stack and a step budget.
//!
//! Invariant: each instruction and each character that is read costs a step, and a search ends when the budget is
//! exhausted. The budget is linear in the length of the text, so no pattern hangs. Pending alternatives are on a
//! separate, bounded stack, so the stack of the thread cannot overflow. If budget and stack suffice, the match equals
//! the match of leftmost-first backtracking.
//!
//! A search that becomes expensive starts to memoize its failures. Example: if the last line of a text has no line end,
//! a search for `[^\n]*\n` reads this line about once. Without memoization, it would read the line again from each of
//! its characters.
//!
//! Cost: time up to the budget; 24 bytes of memory for each pending alternative, and up to 64 MiB for memoized
//! failures. A run of characters of any length is one alternative.
//!
//! Source: James C. Davis, Francisco Servant, Dongyoon Lee, "Using Selective Memoization to Defeat Regular Expression
//! Denial of Service" (2021), for the memoization.

use super::failure_cache::FailureCache;
use super::program::{Instruction, Program, Set};
use super::syntax::{Assertion, Greed};

/// Maximum number of pending alternatives. This many alternatives take 100 MB. A pattern reaches the limit only if one
/// of its groups repeats millions of times.
const MAX_OPEN: usize = 1 << 22;

/// Resource whose exhaustion ended a search without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exhausted {
    /// The step budget.
    Steps,
    /// The stack, which has room for [`MAX_OPEN`] alternatives.
    Alternatives,
}

/// Returns the step budget for a text of `bytes` bytes.
///
/// Published patterns take fewer than ten steps for each byte. The budget is larger because lookaheads of users'
/// patterns can read a line or a paragraph repeatedly. If a pattern reads the whole document again at each character,
/// the search is stopped after about three seconds per MB of text.
pub(super) fn budget(bytes: usize) -> u64 {
    1_000_000 + 1_000 * bytes as u64
}

/// Returns the number of steps after which a search memoizes failures. No published pattern takes as many.
fn free(bytes: usize) -> u64 {
    4_096 + 16 * bytes as u64
}

/// An alternative to try after a failure, or an action to undo.
enum Backtrack {
    /// A branch that was not tried yet.
    Branch { label: u32, at: usize },
    /// The second branch of a split. If it fails, too, the failure is memoized.
    Choice { label: u32, at: usize },
    /// A greedy run that can release characters, down to `low`.
    Shrink { label: u32, low: usize, at: usize },
    /// A lazy run that can consume another character.
    Grow { label: u32, taken: u32, at: usize },
    /// A possessive run. It has no alternatives, but its failure is memoized.
    Keep { label: u32, taken: u32, at: usize },
    /// Previous value of a slot, which backtracking restores.
    Slot { slot: u32, value: usize },
    /// A choice whose alternatives have all failed.
    Failed { key: usize },
}

/// One search through one text, with its budget.
pub(crate) struct Matcher<'t> {
    program: &'t Program,
    text: &'t [u8],
    open: Vec<Backtrack>,
    slots: Vec<usize>,
    /// Steps that are left: at first those for the search without memoization, later those for the search with it.
    steps: u64,
    /// Steps for the search with memoization, which starts when `steps` are used up; 0 after it has started.
    reserve: u64,
    failures: Option<FailureCache>,
    /// True if an attempt has tried to read a character at the end of the text. Only [`Matcher::find_decided`] sets it.
    at_end: bool,
}

/// Result of a search in the beginning of a text whose rest is not known yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decided {
    /// Start and end of a match.
    Match(usize, usize),
    /// No match starts before this position. Whether a match starts at it depends on text that follows.
    Open(usize),
}

impl<'t> Matcher<'t> {
    /// Creates a matcher with the step budget of a text of `bytes` bytes.
    pub(super) fn new(program: &'t Program, text: &'t str, bytes: usize) -> Self {
        Self::with_steps(program, text, free(bytes), budget(bytes))
    }

    /// Creates a matcher with a budget of `steps` steps. It begins to memoize failures after `free` steps.
    fn with_steps(program: &'t Program, text: &'t str, free: u64, steps: u64) -> Self {
        let (text, slots, free) = (text.as_bytes(), vec![0; program.num_slots], free.min(steps));
        Self {
            program,
            text,
            open: Vec::new(),
            slots,
            steps: free,
            reserve: steps - free,
            failures: None,
            at_end: false,
        }
    }

    /// Returns the bounds of the first match that is not empty and starts at or after `start`.
    pub(super) fn find(&mut self, start: usize) -> Result<Option<(usize, usize)>, Exhausted> {
        self.remembering(|matcher| matcher.search::<false>(start), |matcher| matcher.search::<true>(start))
    }

    /// Finds the first match that is not empty and starts at or after `start`, although the end of the text may still
    /// be missing. Returns the match if no continuation of the text can change it. Otherwise, returns a position before
    /// which certainly no match starts.
    pub(super) fn find_decided(&mut self, start: usize) -> Result<Decided, Exhausted> {
        self.remembering(
            |matcher| matcher.search_decided::<false>(start),
            |matcher| matcher.search_decided::<true>(start),
        )
    }

    /// Returns the end of the match that starts at `start`.
    pub(super) fn matches(&mut self, start: usize) -> Result<Option<usize>, Exhausted> {
        self.remembering(
            |matcher| matcher.match_at::<false, false>(start),
            |matcher| matcher.match_at::<true, false>(start),
        )
    }

    /// Runs a search without memoization. If its steps are exhausted, runs it again with memoization.
    #[inline]
    fn remembering<T>(
        &mut self,
        forgetful: impl FnOnce(&mut Self) -> Result<T, Exhausted>,
        mindful: impl FnOnce(&mut Self) -> Result<T, Exhausted>,
    ) -> Result<T, Exhausted> {
        if self.failures.is_none() {
            match forgetful(self) {
                Err(Exhausted::Steps) if self.reserve > 0 => {
                    self.steps = std::mem::take(&mut self.reserve);
                    self.failures = Some(FailureCache::new(self.program.num_choices, self.text.len()));
                }
                found => return found,
            }
        }
        mindful(self)
    }

    /// Finds the first match. Compiled separately for searches that memoize (`REMEMBERS`), so that other searches avoid
    /// the cost of memoization.
    #[inline(never)]
    fn search<const REMEMBERS: bool>(&mut self, start: usize) -> Result<Option<(usize, usize)>, Exhausted> {
        let mut from = start;
        while from < self.text.len() {
            match self.match_at::<REMEMBERS, false>(from)? {
                Some(end) if end > from => return Ok(Some((from, end))),
                _ => from = next(self.text, from),
            }
        }
        Ok(None)
    }

    #[inline(never)]
    fn search_decided<const REMEMBERS: bool>(&mut self, start: usize) -> Result<Decided, Exhausted> {
        let mut from = start;
        while from < self.text.len() {
            self.at_end = false;
            let end = self.match_at::<REMEMBERS, true>(from)?;
            match end {
                _ if self.at_end => break,
                Some(end) if end > from => return Ok(Decided::Match(from, end)),
                _ => from = next(self.text, from),
            }
        }
        Ok(Decided::Open(from))
    }

    /// Sets `at_end` if an attempt reads at the end of the text.
    #[inline(always)]
    fn reads<const WATCHES: bool>(&mut self, at: usize) {
        if WATCHES {
            self.at_end |= at == self.text.len();
        }
    }

    fn spend(&mut self, steps: usize) -> Result<(), Exhausted> {
        self.steps = self.steps.checked_sub(steps as u64).ok_or(Exhausted::Steps)?;
        Ok(())
    }

    /// Returns the key under which the outcome of a choice is cached. Returns None for a choice in a loop body that has
    /// not advanced yet. A loop ends if its body does not advance, so the outcome of such a choice depends not only on
    /// its key, but also on where the body began.
    fn key(&self, label: usize, at: usize) -> Option<usize> {
        let choice = self.program.choices[label].as_ref()?;
        let has_moved = choice.mark.is_none_or(|slot| self.slots[slot] < at);
        has_moved.then_some(at * self.program.num_choices + choice.number)
    }

    /// Returns true if a choice is known to fail at a position.
    fn has_failed(&self, label: usize, at: usize) -> bool {
        self.failures.as_ref().is_some_and(|failures| self.key(label, at).is_some_and(|key| failures.has(key)))
    }

    fn remember(&mut self, label: usize, at: usize) {
        if let (Some(key), Some(failures)) = (self.key(label, at), &mut self.failures) {
            failures.insert(key);
        }
    }

    /// Memoizes the failure of a run that has consumed `taken` characters up to `at`. Inserts a key for each position
    /// where the run could have ended: for `at`, and for each earlier position down to the minimum length of the run.
    fn remember_run(&mut self, label: usize, taken: u32, mut at: usize) {
        let Instruction::Run { min, max: u32::MAX, .. } = self.program.instructions[label] else { return };
        self.remember(label, at);
        for _ in min..taken {
            at = previous(self.text, at);
            self.remember(label, at);
        }
    }

    /// Pushes an entry that is popped when the last alternative of a choice has failed; the failure of the choice is
    /// then memoized. Uses at most half of the stack, so that the other half remains for alternatives.
    fn remember_later(&mut self, label: usize, at: usize) {
        if let Some(key) = self.key(label, at).filter(|_| self.open.len() < MAX_OPEN / 2) {
            self.open.push(Backtrack::Failed { key });
        }
    }

    fn push(&mut self, open: Backtrack) -> Result<(), Exhausted> {
        if self.open.len() == MAX_OPEN {
            return Err(Exhausted::Alternatives);
        }
        self.open.push(open);
        Ok(())
    }

    /// Returns the end of the match that starts at `start`.
    #[inline(always)]
    fn match_at<const REMEMBERS: bool, const WATCHES: bool>(
        &mut self,
        start: usize,
    ) -> Result<Option<usize>, Exhausted> {
        self.open.clear();
        let (mut label, mut at) = (0, start);
        loop {
            self.spend(1)?;
            let program = self.program;
            if let Instruction::One(_) | Instruction::Split { guard: Some(_), .. } | Instruction::Assert(_) =
                program.instructions[label]
            {
                self.reads::<WATCHES>(at);
            }
            let goes_on = match program.instructions[label] {
                Instruction::One(set) => program.sets[set].accepts(self.text, at).map(|end| (label + 1, end)),
                Instruction::Run { set, min, max, greed } => {
                    let set = &program.sets[set];
                    self.run::<REMEMBERS, WATCHES>(set, label, at, (min, max), greed)?.map(|end| (label + 1, end))
                }
                Instruction::Jump(to) => Some((to, at)),
                Instruction::Split { second, guard: Some(set), .. }
                    if program.sets[set].accepts(self.text, at).is_none() =>
                {
                    Some((second, at))
                }
                Instruction::Split { .. } if REMEMBERS && self.has_failed(label, at) => None,
                Instruction::Split { first, second, .. } => {
                    self.push(match REMEMBERS {
                        true => Backtrack::Choice { label: label as u32, at },
                        false => Backtrack::Branch { label: second as u32, at },
                    })?;
                    Some((first, at))
                }
                Instruction::Mark(slot) => {
                    self.push(Backtrack::Slot { slot: slot as u32, value: self.slots[slot] })?;
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
                    self.push(Backtrack::Branch { label: after as u32, at })?;
                    Some((label + 1, at))
                }
                // Discards the entries that the group has pushed, including previous values of slots. These slots need
                // not be restored: they belong to loops inside the group, and a loop sets a slot before it is read.
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
                None => match self.reopen::<REMEMBERS, WATCHES>()? {
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

    /// Consumes consecutive characters of `set` from `start` on; returns their end, or None if there are fewer than
    /// `min`.
    #[inline(always)]
    fn run<const REMEMBERS: bool, const WATCHES: bool>(
        &mut self,
        set: &Set,
        label: usize,
        start: usize,
        (min, max): (u32, u32),
        greed: Greed,
    ) -> Result<Option<usize>, Exhausted> {
        let wanted = if greed == Greed::Lazy { min } else { max };
        let (mut at, mut low, mut taken) = (start, start, 0);
        let mut failed = REMEMBERS && min == 0 && self.has_failed(label, at);
        while taken < wanted && !failed {
            self.reads::<WATCHES>(at);
            let Some(end) = set.accepts(self.text, at) else { break };
            at = end;
            taken += 1;
            if taken == min {
                low = at;
            }
            failed = REMEMBERS && taken >= min && self.has_failed(label, at);
        }
        self.spend(at - start)?;
        if taken < min {
            return Ok(None);
        }
        let label = label as u32;
        match greed {
            Greed::Greedy if low < at => self.push(Backtrack::Shrink { label: label + 1, low, at })?,
            Greed::Lazy if taken < max && !failed => self.push(Backtrack::Grow { label, taken, at })?,
            Greed::Possessive if REMEMBERS && low < at => self.push(Backtrack::Keep { label, taken, at })?,
            _ => {}
        }
        Ok((!failed).then_some(at))
    }

    /// Backtracks to the last pending alternative; returns the label and position at which to continue.
    #[inline(always)]
    fn reopen<const REMEMBERS: bool, const WATCHES: bool>(&mut self) -> Result<Option<(usize, usize)>, Exhausted> {
        while let Some(open) = self.open.pop() {
            match open {
                Backtrack::Branch { label, at } => return Ok(Some((label as usize, at))),
                Backtrack::Shrink { label, low, at } => {
                    if REMEMBERS {
                        self.remember(label as usize - 1, at);
                    }
                    let at = previous(self.text, at);
                    if low < at {
                        self.open.push(Backtrack::Shrink { label, low, at });
                    } else if REMEMBERS {
                        self.remember_later(label as usize - 1, at);
                    }
                    return Ok(Some((label as usize, at)));
                }
                Backtrack::Grow { label, taken, at } => {
                    self.spend(1)?;
                    let Instruction::Run { set, max, .. } = self.program.instructions[label as usize] else { continue };
                    self.reads::<WATCHES>(at);
                    let next = self.program.sets[set].accepts(self.text, at);
                    if let Some(at) = next.filter(|&at| !REMEMBERS || !self.has_failed(label as usize, at)) {
                        if taken + 1 < max {
                            self.open.push(Backtrack::Grow { label, taken: taken + 1, at });
                        }
                        return Ok(Some((label as usize + 1, at)));
                    }
                    if REMEMBERS {
                        self.remember_run(label as usize, taken, at);
                    }
                }
                Backtrack::Choice { label, at } if REMEMBERS => {
                    let Instruction::Split { second, .. } = self.program.instructions[label as usize] else { continue };
                    self.remember_later(label as usize, at);
                    return Ok(Some((second, at)));
                }
                Backtrack::Keep { label, taken, at } if REMEMBERS => self.remember_run(label as usize, taken, at),
                Backtrack::Failed { key } if REMEMBERS => {
                    self.failures.iter_mut().for_each(|failures| failures.insert(key))
                }
                Backtrack::Choice { .. } | Backtrack::Keep { .. } | Backtrack::Failed { .. } => {}
                Backtrack::Slot { slot, value } => self.slots[slot as usize] = value,
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

/// Returns the start of the character that ends at `at`, which is not 0.
fn previous(text: &[u8], mut at: usize) -> usize {
    at -= 1;
    while !is_boundary(text[at]) {
        at -= 1;
    }
    at
}

/// Returns the end of the character that starts at `at`, which is not the end of the text.
fn next(text: &[u8], mut at: usize) -> usize {
    at += 1;
    while text.get(at).is_some_and(|&byte| !is_boundary(byte)) {
        at += 1;
    }
    at
}

/// Returns the position that is `characters` characters before `at`; None if there are fewer characters.
fn back(text: &[u8], mut at: usize, characters: usize) -> Option<usize> {
    for _ in 0..characters {
        if at == 0 {
            return None;
        }
        at = previous(text, at);
    }
    Some(at)
}

/// Returns how many steps per byte a pattern takes on a text. Tests of other modules use it.
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
pub(crate) fn cost(pattern: &str, text: &str) -> f64 {
    let program = super::program::compile(&super::syntax::parse(pattern).unwrap()).unwrap();
    let mut matcher = Matcher::with_steps(&program, text, u64::MAX, u64::MAX);
    let mut at = 0;
    while let Some((_, end)) = matcher.find(at).unwrap() {
        at = end;
    }
    (u64::MAX - matcher.steps) as f64 / text.len() as f64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::super::{program::compile, syntax::parse};
    use super::*;

    /// Returns a random number below `n`, by a small generator with a fixed seed: splitmix64, Steele, Lea and Flood
    /// 2014.
    fn below(state: &mut u64, n: u64) -> u64 {
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }

    /// Returns a random pattern. Any construct can be nested in any other.
    fn random_pattern(state: &mut u64, depth: u64) -> String {
        const ATOMS: [&str; 13] = ["a", "b", "é", "[ab]", "[^a]", ".", r"\s", r"\S", "^", "$", r"\b", "", "(?m:$)"];
        const GROUPS: [&str; 12] =
            ["(?:", "(?:", "(?:", "(?:", "(?:", "(?:|", "(?:a|", "(?>", "(?=", "(?!", "(?<=", "(?<!"];
        const REPEATS: [&str; 8] = ["*", "+", "?", "{2,}", "{1,2}", "{,2}", "{2}", "{0,}"];
        const GREEDS: [&str; 4] = ["", "", "?", "+"];
        let mut pattern = String::new();
        for part in 0..1 + below(state, 3) {
            if part > 0 && below(state, 4) == 0 {
                pattern.push('|');
            }
            let mut group = GROUPS[below(state, 12) as usize];
            let atom = ATOMS[below(state, 13) as usize];
            let is_atom = depth == 0 || below(state, 3) == 0;
            let part = if is_atom { atom.to_owned() } else { random_pattern(state, depth - 1) };
            let is_place = is_atom && (atom.is_empty() || "^$\\b(?m:$)".contains(atom));
            if is_atom && !is_place && below(state, 4) > 0 {
                pattern += &part;
            } else {
                group = if is_place { "(?:" } else { group };
                pattern += &format!("{group}{part})");
            }
            if !pattern.ends_with('|') && below(state, 2) == 0 && (is_atom || !group.contains(['=', '!'])) {
                let repeat = REPEATS[below(state, 8) as usize];
                let greed = if repeat.contains('{') { below(state, 3) } else { below(state, 4) };
                pattern += repeat;
                pattern += GREEDS[greed as usize];
            }
        }
        pattern
    }

    fn all(mut matcher: Matcher<'_>) -> Result<Vec<(usize, usize)>, Exhausted> {
        let (mut found, mut at) = (Vec::new(), 0);
        while let Some((start, end)) = matcher.find(at)? {
            found.push((start, end));
            at = end;
        }
        Ok(found)
    }

    /// Checks that memoization changes no match, whatever the number of steps after which it starts. Other tests check
    /// the matcher without memoization against the oracle.
    #[test]
    fn memoization_changes_no_match() {
        let rounds = std::env::var("JETON_TEST_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(5_000);
        let (mut state, mut compared) = (23, 0);
        for round in 0..rounds {
            // In the first pattern, the choice `(?:|é)` can fail at a position where it would succeed if the loop body
            // had already consumed an `a`. So the failure must not be memoized. Few random patterns test this case.
            let pattern = match round {
                0 => r".*(?=(?:a?(?:|é)|b)*$)(?=a)|.".to_owned(),
                _ => random_pattern(&mut state, 3),
            };
            let Ok(program) = parse(&pattern).and_then(|node| compile(&node)) else { continue };
            for _ in 0..20 {
                let few = 2 + below(&mut state, 5);
                let text: String = (0..below(&mut state, 16))
                    .map(|_| ["a", "b", "é", " ", "c", "\n"][below(&mut state, few) as usize])
                    .collect();
                let steps = 10_000_000;
                let Ok(plain) = all(Matcher::with_steps(&program, &text, steps, steps)) else { continue };
                for free in [0, below(&mut state, 60), below(&mut state, 600)] {
                    let found = all(Matcher::with_steps(&program, &text, free, steps));
                    assert_eq!(found.as_ref(), Ok(&plain), "{pattern} on {text:?}, remembering after {free} steps");
                }
                compared += 1;
            }
        }
        assert!(compared > rounds, "only {compared} of {}", rounds * 20);
    }
}
