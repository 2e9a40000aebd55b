//! Deterministic automaton of a pattern over classes of characters.
//!
//! Invariant: if the automaton reads from a given position, its last accepting step before the dead state is at the end
//! of the match that leftmost-first backtracking finds. A step reads the class of the next character, or the end of the
//! text, and accepts if a match ends *before* that character. So assertions about the next character (`(?!\S)`, `$`,
//! the end of a possessive run) need no further text.
//!
//! A state is a list of threads of the pattern's program, in order of preference. A thread that has matched removes the
//! threads after it. All states are found by following all classes from the start state; then equivalent states are
//! merged.
//!
//! Source: Russ Cox, "Regular Expression Matching: the Virtual Machine Approach" (2009), for the ordered threads; the
//! subset construction of Rabin and Scott (1959); Moore's minimization (1956).
//! Left out (an error returns the reason): lookbehind; lookahead at more than one character; atomic groups, and
//! possessive repeats of more than one character; repeats of an expression that can be empty; automata that are too
//! large.

use std::collections::HashMap;

use regex_syntax::hir::ClassUnicode;

use super::character_classes::{ClassSet, Partition};
use super::program::{as_class, first};
use super::syntax::{parse_set, Assertion, Class, Greed, SyntaxNode};

/// Maximum number of instructions of a program. Together with [`MAX_STEPS`], it limits the time of compilation to about
/// a tenth of a second.
const MAX_INSTRUCTIONS: usize = 1_000;
/// Maximum number of steps in an automaton, the sum over all states.
const MAX_STEPS: usize = 1 << 14;

/// Maximum number of rounds in which states are merged.
const MAX_ROUNDS: usize = 50;

/// State in which no match is possible any more.
pub(crate) const DEAD: u16 = 0;

/// State at the start of a match.
pub(crate) const START: u16 = 1;

/// Reason why a pattern has no automaton.
pub(crate) type Reason = &'static str;

#[derive(Debug, Clone, Copy)]
enum Instruction {
    One(ClassSet),
    Jump(usize),
    Split(usize, usize), // continue at both, in order of preference
    Next(ClassSet),      // assert that the next character (or the end of the text) is in the set
    Match,
}

/// What a state does when it reads one character, or the end of the text. Characters of the same class have the same
/// step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Step {
    /// True if a match ends before the character that is read. This match replaces matches that ended earlier.
    pub(crate) accepts: bool,
    /// The next state.
    pub(crate) next: u16,
}

/// The automaton. Each state has a step for each class and for the end of the text.
#[derive(Debug)]
pub(crate) struct Automaton {
    steps: Vec<Step>,
    width: usize,
}

impl Automaton {
    pub(super) fn new(node: &SyntaxNode, partition: &Partition) -> Result<Self, Reason> {
        if first(node, &mut ClassUnicode::empty()) {
            return Err("it may match the empty text");
        }
        let mut compiler = Compiler { partition, instructions: Vec::new() };
        compiler.node(node)?;
        compiler.emit(Instruction::Match)?;
        let width = usize::from(partition.classes.end()) + 1;
        Ok(Self { steps: minimal(determinize(&compiler.instructions, width)?, width, usize::from(START) + 1), width })
    }

    /// Returns the step for a class in a state.
    pub(crate) fn step(&self, state: u16, class: u8) -> Step {
        self.steps[usize::from(state) * self.width + usize::from(class)]
    }

    /// Returns, for each state, true if a match will end regardless of how the text continues.
    pub(crate) fn certain(&self) -> Vec<bool> {
        let mut fails: Vec<bool> = (0..self.num_states()).map(|state| state == usize::from(DEAD)).collect();
        loop {
            let before = fails.clone();
            for (state, row) in self.steps.chunks(self.width).enumerate() {
                fails[state] |= row.iter().any(|step| !step.accepts && before[usize::from(step.next)]);
            }
            if fails == before {
                return fails.into_iter().map(|fails| !fails).collect();
            }
        }
    }

    /// Returns true if, in this state, a match ends before the next character, whatever that character is.
    pub(crate) fn accepts_now(&self, state: u16) -> bool {
        self.steps[usize::from(state) * self.width..][..self.width].iter().all(|step| step.accepts)
    }

    pub(crate) fn num_states(&self) -> usize {
        self.steps.len() / self.width
    }
}

/// A pattern whose lookaheads at more than one character have been removed.
pub(super) struct WithoutFarLooks {
    /// The pattern, changed so that any run of characters of `set` is one match.
    pub(super) tree: SyntaxNode,
    /// Characters that can occur in a match of an alternative that looks ahead at more than one character.
    pub(super) set: ClassUnicode,
}

/// Replaces the alternatives that look ahead at more than one character by one alternative that matches any run of
/// their characters (the set). The caller must then split each run by the original pattern. Outside of the runs, the
/// matches equal those of the original pattern under two conditions. First, the characters of every other alternative
/// are either all in the set or all outside of it, so that each run is a sequence of whole matches and of text that no
/// match covers. Second, matches cover all text outside of the runs. This function checks the first condition, and the
/// caller checks the second.
pub(super) fn without_far_looks(node: &SyntaxNode) -> Option<WithoutFarLooks> {
    let branches =
        if let SyntaxNode::Alternate(branches) = node { branches.as_slice() } else { std::slice::from_ref(node) };
    let mut set = ClassUnicode::empty();
    branches.iter().filter(|branch| looks_far(branch)).for_each(|branch| collect_consumed(branch, &mut set));
    let mut rest = vec![SyntaxNode::Repeat {
        node: Box::new(SyntaxNode::Class(Class { set: set.clone(), text: String::new() })),
        min: 1,
        max: u32::MAX,
        greed: Greed::Greedy,
    }];
    for branch in branches {
        let mut consumed = ClassUnicode::empty();
        collect_consumed(branch, &mut consumed);
        let mut common = consumed.clone();
        common.intersect(&set);
        if common.ranges().is_empty() {
            rest.push(branch.clone());
        } else if common.ranges() != consumed.ranges() || first(branch, &mut ClassUnicode::empty()) {
            return None; // a match of the empty text makes the following alternatives unreachable
        }
    }
    (!set.ranges().is_empty() && rest.len() > 1).then_some(WithoutFarLooks { tree: SyntaxNode::Alternate(rest), set })
}

/// Returns true if a part of the tree looks ahead at more than one character.
fn looks_far(node: &SyntaxNode) -> bool {
    let is_near = |node: &SyntaxNode| match node {
        SyntaxNode::Alternate(branches) => branches.iter().all(|branch| {
            as_class(branch).is_some() || matches!(branch, SyntaxNode::Assert(Assertion::EndText | Assertion::EndLine))
        }),
        _ => as_class(node).is_some() || matches!(node, SyntaxNode::Assert(_)),
    };
    match node {
        SyntaxNode::Empty | SyntaxNode::Class(_) | SyntaxNode::Assert(_) => false,
        SyntaxNode::Concat(parts) | SyntaxNode::Alternate(parts) => parts.iter().any(looks_far),
        SyntaxNode::Repeat { node, .. } | SyntaxNode::Atomic(node) => looks_far(node),
        SyntaxNode::Look { node, ahead, .. } => *ahead && !is_near(node),
    }
}

/// Adds to `set` all characters that a match of `node` can contain.
fn collect_consumed(node: &SyntaxNode, set: &mut ClassUnicode) {
    match node {
        SyntaxNode::Empty | SyntaxNode::Assert(_) | SyntaxNode::Look { .. } => {}
        SyntaxNode::Class(class) => set.union(&class.set),
        SyntaxNode::Concat(parts) | SyntaxNode::Alternate(parts) => {
            parts.iter().for_each(|part| collect_consumed(part, set))
        }
        SyntaxNode::Repeat { node, .. } | SyntaxNode::Atomic(node) => collect_consumed(node, set),
    }
}

/// Adds all character sets of a tree to `sets`. The automaton of the tree must distinguish these sets.
pub(super) fn collect_sets(node: &SyntaxNode, sets: &mut Vec<ClassUnicode>) {
    match node {
        SyntaxNode::Empty => {}
        SyntaxNode::Class(class) => sets.push(class.set.clone()),
        SyntaxNode::Concat(parts) => parts.iter().for_each(|part| collect_sets(part, sets)),
        SyntaxNode::Alternate(branches) => match as_class(node) {
            Some(set) => sets.push(set),
            None => branches.iter().for_each(|branch| collect_sets(branch, sets)),
        },
        SyntaxNode::Repeat { node, .. } | SyntaxNode::Atomic(node) | SyntaxNode::Look { node, .. } => {
            collect_sets(node, sets)
        }
        SyntaxNode::Assert(_) => sets.extend(newline()),
    }
}

fn newline() -> Option<ClassUnicode> {
    parse_set(r"\n", false).ok()
}

struct Compiler<'p> {
    partition: &'p Partition,
    instructions: Vec<Instruction>,
}

impl Compiler<'_> {
    fn emit(&mut self, instruction: Instruction) -> Result<usize, Reason> {
        if self.instructions.len() == MAX_INSTRUCTIONS {
            return Err("its intervals are too long");
        }
        self.instructions.push(instruction);
        Ok(self.instructions.len() - 1)
    }

    fn here(&self) -> usize {
        self.instructions.len()
    }

    fn all_but(&self, set: &ClassSet) -> ClassSet {
        let mut others = ClassSet::default();
        (0..=self.partition.classes.end()).filter(|&class| !set.has(class)).for_each(|class| others.insert(class));
        others
    }

    fn node(&mut self, node: &SyntaxNode) -> Result<(), Reason> {
        match node {
            SyntaxNode::Empty => Ok(()),
            SyntaxNode::Class(class) => self.emit(Instruction::One(self.partition.of(&class.set))).map(drop),
            SyntaxNode::Concat(parts) => parts.iter().try_for_each(|part| self.node(part)),
            SyntaxNode::Alternate(branches) => match as_class(node) {
                Some(set) => self.emit(Instruction::One(self.partition.of(&set))).map(drop),
                None => self.alternate(branches),
            },
            SyntaxNode::Repeat { node, min, max, greed } => self.repeat(node, *min, *max, *greed),
            SyntaxNode::Atomic(node) => match as_class(node) {
                Some(_) => self.node(node),
                None => Err("it has an atomic group"),
            },
            SyntaxNode::Look { ahead: false, .. } => Err("it looks back"),
            SyntaxNode::Look { node, negated, .. } => {
                let set = self.look_ahead(node)?;
                self.emit(Instruction::Next(if *negated { self.all_but(&set) } else { set })).map(drop)
            }
            SyntaxNode::Assert(Assertion::EndText | Assertion::EndLine) => {
                let set = self.look_ahead(node)?;
                self.emit(Instruction::Next(set)).map(drop)
            }
            SyntaxNode::Assert(_) => Err("it looks back"),
        }
    }

    /// Returns the classes (including the end of the text) for which a lookahead at the next character succeeds.
    fn look_ahead(&self, node: &SyntaxNode) -> Result<ClassSet, Reason> {
        let mut set = ClassSet::default();
        match node {
            _ if as_class(node).is_some() => return Ok(as_class(node).map_or(set, |class| self.partition.of(&class))),
            SyntaxNode::Alternate(branches) => {
                for branch in branches {
                    set.union(&self.look_ahead(branch)?);
                }
            }
            SyntaxNode::Assert(assertion @ (Assertion::EndText | Assertion::EndLine)) => {
                if let (Assertion::EndLine, Some(newline)) = (assertion, newline()) {
                    set = self.partition.of(&newline);
                }
                set.insert(self.partition.classes.end());
            }
            _ => return Err("it looks ahead at more than one character"),
        }
        Ok(set)
    }

    fn alternate(&mut self, branches: &[SyntaxNode]) -> Result<(), Reason> {
        let mut jumps = Vec::new();
        for (index, branch) in branches.iter().enumerate() {
            if index + 1 == branches.len() {
                self.node(branch)?;
                break;
            }
            let split = self.emit(Instruction::Split(self.here() + 1, 0))?;
            self.node(branch)?;
            jumps.push(self.emit(Instruction::Jump(0))?);
            self.instructions[split] = Instruction::Split(split + 1, self.here());
        }
        for jump in jumps {
            self.instructions[jump] = Instruction::Jump(self.here());
        }
        Ok(())
    }

    fn repeat(&mut self, node: &SyntaxNode, min: u32, max: u32, greed: Greed) -> Result<(), Reason> {
        if first(node, &mut ClassUnicode::empty()) {
            return Err("it repeats what may be empty");
        }
        // A possessive run ends before its maximum only if the next character is not in the set.
        let leave = match (greed, as_class(node)) {
            (Greed::Possessive, Some(set)) => Some(Instruction::Next(self.all_but(&self.partition.of(&set)))),
            (Greed::Possessive, None) => return Err("it repeats a group possessively"),
            _ => None,
        };
        for _ in 0..min {
            self.node(node)?;
        }
        let (start, mut exits) = (self.here(), Vec::new());
        if max == u32::MAX {
            exits.push(self.emit(Instruction::Jump(0))?);
            self.node(node)?;
            self.emit(Instruction::Jump(start))?;
        } else {
            for _ in min..max {
                exits.push(self.emit(Instruction::Jump(0))?);
                self.node(node)?;
            }
        }
        // All exits jump to the end of the repetition. If the run is possessive, the code at this end begins with an
        // assertion, which checks that the next character is not in the set.
        let mut exit = self.here();
        if let (Some(leave), false) = (leave, exits.is_empty()) {
            if max != u32::MAX {
                self.emit(Instruction::Jump(exit + 2))?; // a run of maximum length skips the assertion
                exit += 1;
            }
            self.emit(leave)?;
        }
        for at in exits {
            self.instructions[at] = match greed {
                Greed::Lazy => Instruction::Split(exit, at + 1),
                _ => Instruction::Split(at + 1, exit),
            };
        }
        Ok(())
    }
}

/// Builds all states that are reachable from the start state; state 0 is the dead state.
fn determinize(instructions: &[Instruction], width: usize) -> Result<Vec<Step>, Reason> {
    let mut numbers: HashMap<Vec<u16>, u16> = HashMap::from([(Vec::new(), DEAD), (vec![0], START)]);
    let mut states: Vec<Vec<u16>> = vec![Vec::new(), vec![0]];
    let mut steps = Vec::new();
    let (mut visited, mut added) = (vec![0usize; instructions.len()], vec![0usize; instructions.len()]);
    let (mut stack, mut round, mut at) = (Vec::new(), 0, 0);
    while at < states.len() {
        let threads = states[at].clone();
        for class in 0..width {
            round += 1;
            let (mut next, mut accepts) = (Vec::new(), false);
            'threads: for &thread in &threads {
                stack.push(usize::from(thread));
                while let Some(label) = stack.pop() {
                    if std::mem::replace(&mut visited[label], round) == round {
                        continue;
                    }
                    match instructions[label] {
                        Instruction::Jump(to) => stack.push(to),
                        Instruction::Split(preferred, other) => stack.extend([other, preferred]),
                        Instruction::Next(set) if set.has(class as u8) => stack.push(label + 1),
                        Instruction::One(set) if class + 1 < width && set.has(class as u8) => {
                            if std::mem::replace(&mut added[label + 1], round) != round {
                                next.push(label as u16 + 1);
                            }
                        }
                        Instruction::Next(_) | Instruction::One(_) => {}
                        Instruction::Match => {
                            accepts = true;
                            stack.clear();
                            break 'threads;
                        }
                    }
                }
            }
            let number = numbers.len() as u16;
            let next = *numbers.entry(next).or_insert_with_key(|threads| {
                states.push(threads.clone());
                number
            });
            steps.push(Step { accepts, next });
        }
        if states.len() * width > MAX_STEPS {
            return Err("its automaton has too many states");
        }
        at += 1;
    }
    Ok(steps)
}

/// Merges equivalent states, in at most `MAX_ROUNDS` rounds. The first `fixed` states keep their numbers.
pub(crate) fn minimal<S: Transition>(steps: Vec<S>, width: usize, fixed: usize) -> Vec<S> {
    let num_states = steps.len() / width;
    // Block of each state: states of a block are not distinguished yet. Each fixed state has a block of its own; these
    // blocks come first.
    let mut blocks: Vec<u16> = (0..num_states).map(|state| state.min(fixed) as u16).collect();
    let mut num_blocks = 0;
    for round in 0.. {
        if round == MAX_ROUNDS {
            return steps;
        }
        let mut numbers = HashMap::new();
        let next: Vec<u16> = (0..num_states)
            .map(|state| {
                let row = &steps[state * width..][..width];
                let row: Vec<S> = row.iter().map(|step| step.to(blocks[step.next()])).collect();
                let number = numbers.len() as u16;
                *numbers.entry((blocks[state], row)).or_insert(number)
            })
            .collect();
        let found = numbers.len();
        blocks = next;
        if found == num_blocks {
            break;
        }
        num_blocks = found;
    }
    let mut merged = Vec::with_capacity(num_blocks * width);
    for (state, row) in steps.chunks(width).enumerate() {
        if usize::from(blocks[state]) == merged.len() / width {
            merged.extend(row.iter().map(|step| step.to(blocks[step.next()])));
        }
    }
    merged
}

/// An entry of a transition table.
pub(crate) trait Transition: Clone + Eq + std::hash::Hash {
    /// Returns the next state.
    fn next(&self) -> usize;
    /// Returns a copy of the transition with `next` as its next state.
    fn to(&self, next: u16) -> Self;
}

impl Transition for Step {
    fn next(&self) -> usize {
        usize::from(self.next)
    }

    fn to(&self, next: u16) -> Self {
        Self { next, ..*self }
    }
}
