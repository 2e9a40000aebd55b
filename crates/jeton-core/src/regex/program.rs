//! Compiles the syntax tree of a pattern to instructions for the matcher.
//!
//! Invariant: a program has at most [`MAX_INSTRUCTIONS`] instructions. Intervals are unrolled, and a pattern that
//! becomes too large is refused. There are two optimizations. First, repetition of a character set is one instruction,
//! so a run costs one test for each character. Second, a branch has a guard, the set of its first characters, so most
//! branches are skipped without being entered.
//!
//! Source: the instructions of Russ Cox, "Regular Expression Matching: the Virtual Machine Approach" (2009), with three
//! additions: runs, guards and marks.

use std::collections::HashMap;
use std::marker::PhantomData;

use regex_syntax::hir::ClassUnicode;

use super::syntax::{parse_set, Assertion, Greed, Refusal, SyntaxNode};
use crate::util::utf8::decode;

/// Maximum number of instructions. It permits thousands of literals, and compiling takes milliseconds.
const MAX_INSTRUCTIONS: usize = 50_000;

/// Index of an instruction.
pub(super) type Label = usize;

/// Instruction of the matcher. Execution continues with the next instruction unless a target is given.
#[derive(Debug)]
pub(super) enum Instruction {
    /// Consume one character of the set.
    One(usize),
    /// Consume `min` to `max` characters of the set.
    Run { set: usize, min: u32, max: u32, greed: Greed },
    /// Continue at the label.
    Jump(Label),
    /// Continue at `first`; if the match from there fails, at `second`. `guard`: all characters with which `first` can
    /// start.
    Split { first: Label, second: Label, guard: Option<usize> },
    /// Store the position in a slot, at the start of a loop's body.
    Mark(usize),
    /// Exit the loop if the position has not advanced since the `Mark`.
    Moved { slot: usize, exit: Label },
    /// Store the position and the number of pending alternatives in two slots.
    Begin(usize),
    /// Discard the alternatives added since `Begin`.
    Commit(usize),
    /// As `Commit`, and return to the stored position.
    Return(usize),
    /// Do what `Begin` does, and add an alternative: continue at `after` if the body of the negative lookaround fails.
    BeginNot { slot: usize, after: Label },
    /// Fail, because the body of a `BeginNot` has matched.
    Fail(usize),
    /// Move back by a number of characters.
    Back(usize),
    /// Check an assertion.
    Assert(Assertion),
    /// End of the pattern.
    Match,
}

/// A set of characters with a fast membership test.
#[derive(Debug)]
pub(super) struct Set {
    ascii: [bool; 128],
    /// Characters beyond ASCII: ascending ranges, both ends included.
    wide: Vec<(u32, u32)>,
}

impl Set {
    fn new(class: &ClassUnicode) -> Self {
        let mut ascii = [false; 128];
        let mut wide = Vec::new();
        for range in class.iter() {
            let (first, last) = (u32::from(range.start()), u32::from(range.end()));
            for code in first..=last.min(127) {
                ascii[code as usize] = true;
            }
            if last > 127 {
                wide.push((first.max(128), last));
            }
        }
        Self { ascii, wide }
    }

    /// Returns the end of the character that starts at `at`, if it is in the set.
    #[inline(always)]
    pub(super) fn accepts(&self, text: &[u8], at: usize) -> Option<usize> {
        let byte = *text.get(at)?;
        if byte < 128 {
            return self.ascii[byte as usize].then_some(at + 1);
        }
        let (code, length) = decode(text, at);
        self.has_wide(code).then_some(at + length)
    }

    fn has_wide(&self, code: u32) -> bool {
        let index = self.wide.partition_point(|&(_, last)| last < code);
        self.wide.get(index).is_some_and(|&(first, _)| first <= code)
    }
}

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) instructions: Vec<Instruction>,
    pub(super) sets: Vec<Set>,
    /// Number of slots.
    pub(super) num_slots: usize,
    /// For each instruction: its [`Choice`], or None for an instruction whose failures are not memoized.
    pub(super) choices: Vec<Option<Choice>>,
    pub(super) num_choices: usize,
    /// Index of the set of `\w`, if the pattern contains a word boundary.
    pub(super) word: Option<usize>,
    /// True if an instruction reads text before the match.
    pub(super) looks_back: bool,
}

impl Program {
    /// Returns an upper bound of the number of preceding characters that affect whether a match starts at a position.
    pub(super) fn reach_back(&self) -> usize {
        let back = |instruction: &Instruction| match instruction {
            Instruction::Back(characters) => *characters,
            _ => 0,
        };
        // The sum starts with 1, because the assertions `^` and `\b` read one character before the position.
        self.instructions.iter().map(back).fold(1, usize::saturating_add)
    }
}

/// Data of an instruction whose failures are memoized: a `Split`, or a `Run` without a maximum. Each loop contains at
/// least one such instruction.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) number: usize,
    /// Slot of the innermost loop that has a `Mark` and contains the instruction. Loops outside the instruction's
    /// lookaround or atomic group do not count.
    pub(super) mark: Option<usize>,
}

/// Compiles a tree.
pub(super) fn compile(node: &SyntaxNode) -> Result<Program, Refusal> {
    let mut compiler = Compiler {
        program: Program {
            instructions: Vec::new(),
            sets: Vec::new(),
            num_slots: 0,
            choices: Vec::new(),
            num_choices: 0,
            word: None,
            looks_back: false,
        },
        set_of: HashMap::new(),
        class_of: HashMap::new(),
        guard_of: HashMap::new(),
        tree: PhantomData,
        mark: None,
    };
    compiler.node(node)?;
    compiler.emit(Instruction::Match)?;
    Ok(compiler.program)
}

struct Compiler<'t> {
    program: Program,
    /// Ranges of a set → index of the set.
    set_of: HashMap<Vec<(char, char)>, usize>,
    /// Address of a node → cached result of [`Compiler::class`]; cached because the body of an interval (`{2,9}`) is
    /// compiled many times.
    class_of: HashMap<*const SyntaxNode, Option<usize>>,
    /// Address of a node → cached result of [`Compiler::guard`].
    guard_of: HashMap<*const SyntaxNode, Option<usize>>,
    /// Borrows the tree, so that its nodes keep their addresses.
    tree: PhantomData<&'t SyntaxNode>,
    /// Value of [`Choice::mark`] for choices in the part of the tree that is currently compiled.
    mark: Option<usize>,
}

impl<'t> Compiler<'t> {
    fn here(&self) -> Label {
        self.program.instructions.len()
    }

    fn emit(&mut self, instruction: Instruction) -> Result<Label, Refusal> {
        if self.here() == MAX_INSTRUCTIONS {
            return refuse(format!("more than {MAX_INSTRUCTIONS} steps once its intervals are written out"));
        }
        let is_choice = matches!(instruction, Instruction::Split { .. } | Instruction::Run { max: u32::MAX, .. });
        let choice = Choice { number: self.program.num_choices, mark: self.mark };
        self.program.choices.push(is_choice.then_some(choice));
        self.program.num_choices += usize::from(is_choice);
        self.program.instructions.push(instruction);
        Ok(self.here() - 1)
    }

    /// Sets the target of an instruction that was emitted before its target was known.
    fn patch(&mut self, label: Label, target: Label) {
        match &mut self.program.instructions[label] {
            Instruction::Jump(to) | Instruction::Moved { exit: to, .. } | Instruction::BeginNot { after: to, .. } => {
                *to = target
            }
            Instruction::Split { first, second, .. } => *(if *first == UNKNOWN { first } else { second }) = target,
            _ => {}
        }
    }

    fn slots(&mut self, count: usize) -> usize {
        self.program.num_slots += count;
        self.program.num_slots - count
    }

    fn set(&mut self, class: &ClassUnicode) -> usize {
        let sets = &mut self.program.sets;
        let ranges = class.iter().map(|range| (range.start(), range.end())).collect();
        *self.set_of.entry(ranges).or_insert_with(|| {
            sets.push(Set::new(class));
            sets.len() - 1
        })
    }

    /// Returns the index of the set of characters that `node` matches; None if `node` is neither a set of characters
    /// nor an alternation of sets.
    fn class(&mut self, node: &'t SyntaxNode) -> Option<usize> {
        let address = std::ptr::from_ref(node);
        if let Some(&known) = self.class_of.get(&address) {
            return known;
        }
        let set = as_class(node).map(|class| self.set(&class));
        self.class_of.insert(address, set);
        set
    }

    /// Returns the characters with which a match of `node` can start; None if a match can be empty.
    fn guard(&mut self, node: &'t SyntaxNode) -> Option<usize> {
        let address = std::ptr::from_ref(node);
        if let Some(&known) = self.guard_of.get(&address) {
            return known;
        }
        let mut class = ClassUnicode::empty();
        let set = (!first(node, &mut class)).then(|| self.set(&class));
        self.guard_of.insert(address, set);
        set
    }

    fn node(&mut self, node: &'t SyntaxNode) -> Result<(), Refusal> {
        match node {
            SyntaxNode::Empty => {}
            SyntaxNode::Concat(parts) => parts.iter().try_for_each(|part| self.node(part))?,
            SyntaxNode::Class(_) | SyntaxNode::Alternate(_) => match self.class(node) {
                Some(set) => {
                    self.emit(Instruction::One(set))?;
                }
                None => self.alternate(node, true)?,
            },
            SyntaxNode::Repeat { node, min, max, greed } => match self.class(node) {
                Some(set) => {
                    self.emit(Instruction::Run { set, min: *min, max: *max, greed: *greed })?;
                }
                None if *greed == Greed::Possessive => {
                    self.atomic(|compiler| compiler.repeat(node, *min, *max, false))?;
                }
                None => self.repeat(node, *min, *max, *greed == Greed::Lazy)?,
            },
            SyntaxNode::Atomic(node) => self.atomic(|compiler| compiler.node(node))?,
            SyntaxNode::Look { node, ahead, negated } => self.look(node, *ahead, *negated)?,
            SyntaxNode::Assert(assertion) => self.assert(*assertion)?,
        }
        Ok(())
    }

    fn assert(&mut self, assertion: Assertion) -> Result<(), Refusal> {
        match assertion {
            Assertion::EndText | Assertion::EndLine => {}
            Assertion::StartText | Assertion::StartLine => self.program.looks_back = true,
            Assertion::WordBoundary | Assertion::NotWordBoundary => {
                self.program.looks_back = true;
                if self.program.word.is_none() {
                    let word = parse_set(r"\w", false).map_err(|what| Refusal { what, at: 0 })?;
                    self.program.word = Some(self.set(&word));
                }
            }
        }
        self.emit(Instruction::Assert(assertion))?;
        Ok(())
    }

    /// Compiles the branches of `node`. A node that is not an alternation is one branch. Branches of a lookbehind
    /// (`ahead` is false) have no guard: a guard tests the character at the current position, but such a branch starts
    /// to match at an earlier character.
    fn alternate(&mut self, node: &'t SyntaxNode, ahead: bool) -> Result<(), Refusal> {
        let branch = if ahead { Self::node } else { Self::behind };
        let branches =
            if let SyntaxNode::Alternate(branches) = node { branches.as_slice() } else { std::slice::from_ref(node) };
        let mut jumps = Vec::new();
        for (index, node) in branches.iter().enumerate() {
            if index + 1 == branches.len() {
                branch(self, node)?;
                break;
            }
            let guard = if ahead { self.guard(node) } else { None };
            let first = self.here() + 1;
            let split = self.emit(Instruction::Split { first, second: UNKNOWN, guard })?;
            branch(self, node)?;
            jumps.push(self.emit(Instruction::Jump(UNKNOWN))?);
            self.patch(split, self.here());
        }
        jumps.into_iter().for_each(|jump| self.patch(jump, self.here()));
        Ok(())
    }

    /// Compiles a repetition: `min` copies, then either a loop or nested optional copies.
    fn repeat(&mut self, node: &'t SyntaxNode, min: u32, max: u32, lazy: bool) -> Result<(), Refusal> {
        let guard = self.guard(node).filter(|_| !lazy);
        let before = self.here();
        // If `min` is not 0, the loop itself is the last required copy: `x+` is one copy that repeats.
        for _ in 0..if max == u32::MAX { min.saturating_sub(1) } else { min } {
            self.node(node)?;
            if self.here() == before {
                return Ok(()); // a body without instructions needs no loop
            }
        }
        let mut skips = Vec::new();
        if max == u32::MAX {
            if min == 0 {
                skips.push(self.split(lazy, guard)?);
            }
            let start = self.here();
            let mark = if self.guard(node).is_none() { Some(self.slots(1)) } else { None };
            if let Some(slot) = mark {
                self.emit(Instruction::Mark(slot))?;
            }
            let outer = self.mark;
            self.mark = mark.or(outer);
            self.node(node)?;
            self.mark = outer;
            if let Some(slot) = mark {
                skips.push(self.emit(Instruction::Moved { slot, exit: UNKNOWN })?);
            }
            let (first, second) = if lazy { (UNKNOWN, start) } else { (start, UNKNOWN) };
            skips.push(self.emit(Instruction::Split { first, second, guard })?);
        } else {
            for _ in min..max {
                skips.push(self.split(lazy, guard)?);
                let before = self.here();
                self.node(node)?;
                if self.here() == before {
                    break;
                }
            }
        }
        skips.into_iter().for_each(|skip| self.patch(skip, self.here()));
        Ok(())
    }

    /// Emits a choice between the next instruction and a target, which the caller sets later.
    fn split(&mut self, lazy: bool, guard: Option<usize>) -> Result<Label, Refusal> {
        let next = self.here() + 1;
        let (first, second) = if lazy { (UNKNOWN, next) } else { (next, UNKNOWN) };
        self.emit(Instruction::Split { first, second, guard })
    }

    fn atomic(&mut self, body: impl FnOnce(&mut Self) -> Result<(), Refusal>) -> Result<(), Refusal> {
        let slot = self.slots(2);
        self.emit(Instruction::Begin(slot))?;
        let outer = self.mark.take();
        body(self)?;
        self.mark = outer;
        self.emit(Instruction::Commit(slot))?;
        Ok(())
    }

    fn look(&mut self, node: &'t SyntaxNode, ahead: bool, negated: bool) -> Result<(), Refusal> {
        let slot = self.slots(2);
        let begin = self.emit(match negated {
            true => Instruction::BeginNot { slot, after: UNKNOWN },
            false => Instruction::Begin(slot),
        })?;
        let outer = self.mark.take();
        if ahead {
            self.node(node)?;
        } else {
            self.program.looks_back = true;
            self.alternate(node, false)?;
        }
        self.mark = outer;
        self.emit(if negated { Instruction::Fail(slot) } else { Instruction::Return(slot) })?;
        self.patch(begin, self.here());
        Ok(())
    }

    /// Compiles one branch of a lookbehind: moves back by its width, then matches it.
    fn behind(&mut self, node: &'t SyntaxNode) -> Result<(), Refusal> {
        let Some(width) = width(node) else { return refuse("a lookbehind without a fixed width") };
        self.emit(Instruction::Back(width))?;
        self.node(node)
    }
}

/// Placeholder for a target that is set later.
const UNKNOWN: Label = usize::MAX;

fn refuse<T>(what: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { what: what.into(), at: 0 })
}

/// Returns the set of characters that `node` matches; None if `node` is neither a set of characters nor an alternation
/// of sets.
pub(super) fn as_class(node: &SyntaxNode) -> Option<ClassUnicode> {
    match node {
        SyntaxNode::Class(class) => Some(class.set.clone()),
        SyntaxNode::Alternate(branches) => branches.iter().try_fold(ClassUnicode::empty(), |mut all, branch| {
            all.union(&as_class(branch)?);
            Some(all)
        }),
        _ => None,
    }
}

/// Adds to `class` the characters with which a match of `node` can start. Returns true if a match can be empty.
pub(super) fn first(node: &SyntaxNode, class: &mut ClassUnicode) -> bool {
    match node {
        SyntaxNode::Empty | SyntaxNode::Look { .. } | SyntaxNode::Assert(_) => true,
        SyntaxNode::Class(one) => {
            class.union(&one.set);
            false
        }
        SyntaxNode::Concat(parts) => parts.iter().all(|part| first(part, class)),
        // `any` would stop at the first branch that can be empty, and leave out the characters of later branches.
        SyntaxNode::Alternate(branches) => branches.iter().filter(|branch| first(branch, class)).count() > 0,
        SyntaxNode::Repeat { node, min, max, .. } => *max == 0 || first(node, class) || *min == 0,
        SyntaxNode::Atomic(node) => first(node, class),
    }
}

/// Returns the length in characters of a match of `node`, if all matches have the same length.
fn width(node: &SyntaxNode) -> Option<usize> {
    match node {
        SyntaxNode::Empty | SyntaxNode::Look { .. } | SyntaxNode::Assert(_) => Some(0),
        SyntaxNode::Class(_) => Some(1),
        SyntaxNode::Concat(parts) => parts.iter().try_fold(0usize, |sum, part| sum.checked_add(width(part)?)),
        SyntaxNode::Alternate(branches) => {
            let mut widths = branches.iter().map(width);
            let one = widths.next()??;
            widths.all(|other| other == Some(one)).then_some(one)
        }
        SyntaxNode::Repeat { node, min, max, .. } if min == max => width(node)?.checked_mul(*min as usize),
        SyntaxNode::Repeat { node, .. } => width(node).filter(|&width| width == 0),
        SyntaxNode::Atomic(node) => width(node),
    }
}
