//! Parses the text of a pattern into a tree. The dialect is the dialect of tiktoken's engine: Rust's `regex` syntax
//! with lookaround, atomic groups and possessive quantifiers.
//!
//! Invariant: a pattern has the same meaning as in tiktoken's engine (fancy-regex), or an error names the unsupported
//! construct. The tree has at most [`MAX_DEPTH`] nested groups, so recursion over it is safe. `regex-syntax` handles
//! character sets, properties and case folding; this module finds where sets begin and end.
//! Left out, with an error that names the construct: backreferences, subroutine calls, conditionals, absent operators,
//! control verbs, `\K`, `\G`, `\R`, `\X`, `\Z`, the word starts and ends (`\<`, `\b{start}`), the flags `R` and `U`,
//! `(?-u)`, and a flag that is set in the middle of a group, because its scope differs between engines.

use std::ops::Range;

use regex_syntax::hir::{Class as HirClass, ClassUnicode, ClassUnicodeRange, HirKind};

/// Node of the syntax tree.
#[derive(Debug, Clone)]
pub(super) enum SyntaxNode {
    /// Matches the empty text.
    Empty,
    /// Matches one character of a set.
    Class(Class),
    /// Concatenation.
    Concat(Vec<SyntaxNode>),
    /// Alternation, leftmost first.
    Alternate(Vec<SyntaxNode>),
    /// Repetition, `min` to `max` times; `max` is `u32::MAX` for no limit.
    Repeat { node: Box<SyntaxNode>, min: u32, max: u32, greed: Greed },
    /// Atomic group: only the first match of the body is tried.
    Atomic(Box<SyntaxNode>),
    /// Lookahead or lookbehind, possibly negated.
    Look { node: Box<SyntaxNode>, ahead: bool, negated: bool },
    /// Assertion about a position.
    Assert(Assertion),
}

/// A set of characters.
#[derive(Debug, Clone)]
pub(super) struct Class {
    /// Characters after case folding.
    pub(super) set: ClassUnicode,
    /// Class before case folding, in the notation of `regex-syntax`.
    pub(super) text: String,
}

/// Order in which the matcher tries numbers of repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Greed {
    /// The maximum is tried first.
    Greedy,
    /// The minimum is tried first.
    Lazy,
    /// Only the maximum is tried.
    Possessive,
}

/// Assertion about the position between two characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Assertion {
    /// `\A`, and `^` without the flag `m`.
    StartText,
    /// `\z`, and `$` without the flag `m`.
    EndText,
    /// `(?m)^`.
    StartLine,
    /// `(?m)$`.
    EndLine,
    /// `\b`.
    WordBoundary,
    /// `\B`.
    NotWordBoundary,
}

/// Reason for refusing a pattern.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// Name of the unsupported construct, or description of the error.
    pub(super) what: String,
    /// Byte offset in the pattern.
    pub(super) at: usize,
}

type Parsed<T> = Result<T, Refusal>;

/// Maximum nesting depth of groups, as in tiktoken's engine.
const MAX_DEPTH: usize = 64;

/// Maximum bytes of a pattern. The longest published pattern has about 400 bytes. The length is limited because parsing
/// one class takes up to 0.1 ms, and a longer pattern could have tens of thousands of classes.
const MAX_BYTES: usize = 1 << 15;

/// Parses a pattern.
pub(super) fn parse(pattern: &str) -> Parsed<SyntaxNode> {
    let mut branches = parse_branches(pattern)?;
    Ok(match branches.len() {
        1 => branches.remove(0).0,
        _ => SyntaxNode::Alternate(branches.into_iter().map(|(node, _)| node).collect()),
    })
}

/// Parses the alternatives of a pattern. Returns, for each alternative, its tree and its byte range in the pattern.
pub(super) fn parse_branches(pattern: &str) -> Parsed<Vec<(SyntaxNode, Range<usize>)>> {
    let mut parser = Parser { pattern, at: 0, depth: 0, flags: Flags::default() };
    if pattern.len() > MAX_BYTES {
        return parser.refuse(format!("more than {MAX_BYTES} bytes"));
    }
    let mut branches = Vec::new();
    loop {
        let start = parser.at;
        branches.push((parser.concatenation()?, start..parser.at));
        if !parser.eat("|") {
            break;
        }
    }
    if parser.at < pattern.len() {
        return parser.refuse("a `)` without its `(`");
    }
    Ok(branches)
}

/// Returns the character set of `text`, which is one class, property, escape or literal in the notation of
/// `regex-syntax`.
pub(super) fn parse_set(text: &str, ignore_case: bool) -> Result<ClassUnicode, String> {
    let mut builder = regex_syntax::ParserBuilder::new();
    let hir = builder.case_insensitive(ignore_case).build().parse(text).map_err(|error| match error {
        regex_syntax::Error::Parse(error) => error.kind().to_string(),
        regex_syntax::Error::Translate(error) => error.kind().to_string(),
        error => error.to_string(),
    })?;
    match hir.into_kind() {
        HirKind::Class(HirClass::Unicode(set)) => Ok(set),
        HirKind::Class(HirClass::Bytes(set)) => set.to_unicode_class().ok_or_else(|| format!("the byte set {text}")),
        HirKind::Literal(literal) => {
            match std::str::from_utf8(&literal.0).map(|text| (text.chars().next(), text.len())) {
                Ok((Some(c), length)) if c.len_utf8() == length => {
                    Ok(ClassUnicode::new([ClassUnicodeRange::new(c, c)]))
                }
                _ => Err(format!("the class {text}")),
            }
        }
        _ => Err(format!("the class {text}")),
    }
}

#[derive(Clone, Copy, Default)]
struct Flags {
    ignore_case: bool,
    multi_line: bool,
    dot_all: bool,
    verbose: bool,
}

struct Parser<'p> {
    pattern: &'p str,
    at: usize,
    depth: usize,
    flags: Flags,
}

impl Parser<'_> {
    fn refuse<T>(&self, what: impl Into<String>) -> Parsed<T> {
        Err(Refusal { what: what.into(), at: self.at })
    }

    fn rest(&self) -> &str {
        &self.pattern[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Consumes `text` if it is next.
    fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Consumes the characters up to and including `end`.
    fn until(&mut self, end: char, what: &str) -> Parsed<String> {
        let Some(length) = self.rest().find(end) else { return self.refuse(format!("{what} without its `{end}`")) };
        let text = self.rest()[..length].to_owned();
        self.at += length + end.len_utf8();
        Ok(text)
    }

    /// Skips comments, and white space under the flag `x`.
    fn skip(&mut self) -> Parsed<()> {
        loop {
            if self.eat("(?#") {
                let mut escaped = false;
                let end = self.rest().find(|c| {
                    let is_end = c == ')' && !escaped;
                    escaped = c == '\\' && !escaped;
                    is_end
                });
                let Some(end) = end else { return self.refuse("a comment without its `)`") };
                self.at += end + 1;
            } else if self.flags.verbose && self.peek() == Some('#') {
                self.at += self.rest().find('\n').map_or(self.rest().len(), |end| end + 1);
            } else if self.flags.verbose && matches!(self.peek(), Some(' ' | '\r' | '\n' | '\t')) {
                self.at += 1;
            } else {
                return Ok(());
            }
        }
    }

    fn alternation(&mut self) -> Parsed<SyntaxNode> {
        let mut branches = vec![self.concatenation()?];
        while self.eat("|") {
            branches.push(self.concatenation()?);
        }
        Ok(if branches.len() == 1 { branches.remove(0) } else { SyntaxNode::Alternate(branches) })
    }

    fn concatenation(&mut self) -> Parsed<SyntaxNode> {
        let mut parts = Vec::new();
        loop {
            self.skip()?;
            if matches!(self.peek(), None | Some('|' | ')')) {
                break;
            }
            match self.piece()? {
                SyntaxNode::Empty => {}
                part => parts.push(part),
            }
        }
        Ok(match parts.len() {
            0 => SyntaxNode::Empty,
            1 => parts.remove(0),
            _ => SyntaxNode::Concat(parts),
        })
    }

    /// Parses an atom and its quantifier.
    fn piece(&mut self) -> Parsed<SyntaxNode> {
        let atom = self.atom()?;
        self.skip()?;
        let (min, max) = match self.peek() {
            Some('?') => (0, 1),
            Some('*') => (0, u32::MAX),
            Some('+') => (1, u32::MAX),
            Some('{') => {
                let start = self.at;
                match self.interval()? {
                    // Steps back to the `}`: the code below consumes one character, for each kind of quantifier.
                    Some(bounds) => {
                        self.at -= 1;
                        bounds
                    }
                    None => {
                        self.at = start; // the brace is literal text
                        return Ok(atom);
                    }
                }
            }
            _ => return Ok(atom),
        };
        if matches!(atom, SyntaxNode::Empty | SyntaxNode::Look { .. }) {
            return self.refuse("a quantifier with nothing to repeat");
        }
        if min > max {
            return self.refuse(format!("the interval {{{min},{max}}}"));
        }
        self.at += 1;
        self.skip()?;
        let lazy = self.eat("?");
        let possessive = self.eat("+");
        let greed = match (lazy, possessive) {
            (false, false) => Greed::Greedy,
            (false, true) => Greed::Possessive,
            (true, _) => Greed::Lazy,
        };
        let repeat = SyntaxNode::Repeat { node: Box::new(atom), min, max, greed };
        Ok(if lazy && possessive { SyntaxNode::Atomic(Box::new(repeat)) } else { repeat })
    }

    /// Parses `{n}`, `{n,}`, `{,m}` or `{n,m}`; any other brace is literal text.
    fn interval(&mut self) -> Parsed<Option<(u32, u32)>> {
        self.at += 1;
        self.skip()?;
        let min = self.number()?;
        self.skip()?;
        let bounds = if self.eat(",") {
            self.skip()?;
            let max = self.number()?;
            Some((min.unwrap_or(0), max.unwrap_or(u32::MAX)))
        } else {
            min.map(|exactly| (exactly, exactly))
        };
        self.skip()?;
        Ok(if self.eat("}") { bounds } else { None })
    }

    fn number(&mut self) -> Parsed<Option<u32>> {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let text = &self.rest()[..digits];
        let number = match text.parse::<u32>() {
            Ok(number) if number < u32::MAX => Some(number),
            _ if digits == 0 => None,
            _ => return self.refuse(format!("the repeat count {text}")),
        };
        self.at += digits;
        Ok(number)
    }

    fn atom(&mut self) -> Parsed<SyntaxNode> {
        let Some(c) = self.peek() else { return Ok(SyntaxNode::Empty) };
        match c {
            '(' => return self.group(),
            '[' => return self.bracketed(),
            '\\' => return self.escape(),
            '+' | '*' | '?' => return Ok(SyntaxNode::Empty), // parsing the quantifier returns the error
            _ => self.at += c.len_utf8(),
        }
        Ok(match c {
            '.' => return self.class(if self.flags.dot_all { r"[\s\S]" } else { r"[^\n]" }.to_owned()),
            '^' if self.flags.multi_line => SyntaxNode::Assert(Assertion::StartLine),
            '^' => SyntaxNode::Assert(Assertion::StartText),
            '$' if self.flags.multi_line => SyntaxNode::Assert(Assertion::EndLine),
            '$' => SyntaxNode::Assert(Assertion::EndText),
            c => return self.literal(c),
        })
    }

    fn literal(&self, c: char) -> Parsed<SyntaxNode> {
        self.class(regex_syntax::escape(c.encode_utf8(&mut [0; 4])))
    }

    fn class(&self, text: String) -> Parsed<SyntaxNode> {
        match parse_set(&text, self.flags.ignore_case) {
            Ok(set) => Ok(SyntaxNode::Class(Class { set, text })),
            Err(what) => self.refuse(format!("{text}: {what}")),
        }
    }

    fn group(&mut self) -> Parsed<SyntaxNode> {
        let flags = self.flags;
        if self.depth == MAX_DEPTH {
            return self.refuse(format!("groups more than {MAX_DEPTH} deep"));
        }
        self.at += 1;
        self.skip()?;
        if self.rest().starts_with('*') {
            return self.refuse("a control verb (*...)");
        }
        let mut look = None;
        let mut atomic = false;
        if self.eat("?") {
            for (text, ahead, negated) in
                [("=", true, false), ("!", true, true), ("<=", false, false), ("<!", false, true)]
            {
                if look.is_none() && self.eat(text) {
                    look = Some((ahead, negated));
                }
            }
            if look.is_some() {
            } else if self.eat(">") {
                atomic = true;
            } else if self.eat("<") || self.eat("P<") {
                self.until('>', "a group name")?;
            } else if self.eat("'") {
                self.until('\'', "a group name")?;
            } else if self.flags()? {
                return Ok(SyntaxNode::Empty);
            }
        }
        self.depth += 1;
        let body = self.alternation()?;
        self.depth -= 1;
        if !self.eat(")") {
            return self.refuse("a `(` without its `)`");
        }
        self.flags = flags;
        Ok(match look {
            Some((ahead, negated)) => SyntaxNode::Look { node: Box::new(body), ahead, negated },
            None if atomic => SyntaxNode::Atomic(Box::new(body)),
            None => body,
        })
    }

    /// Parses the flags after a `(?` that has been read. Returns true for `(?i)`, where the flags apply to the rest of
    /// the pattern; returns false for `(?i:`, where the body of a group follows.
    fn flags(&mut self) -> Parsed<bool> {
        let start = self.at;
        let mut on = true;
        loop {
            match self.peek() {
                Some('i') => self.flags.ignore_case = on,
                Some('m') => self.flags.multi_line = on,
                Some('s') => self.flags.dot_all = on,
                Some('x') => self.flags.verbose = on,
                Some('u') if on => {}
                Some('-') if on => on = false,
                Some(':') => {
                    self.at += 1;
                    return Ok(false);
                }
                Some(')') if self.at > start && self.depth == 0 => {
                    self.at += 1;
                    return Ok(true);
                }
                Some(')') if self.at > start => return self.refuse("a flag in the middle of a group; write (?i:...)"),
                Some(c) => return self.refuse(format!("(?{}{c}", &self.pattern[start..self.at])),
                None => return self.refuse("a `(` without its `)`"),
            }
            self.at += 1;
        }
    }

    /// Parses an escape outside of brackets.
    fn escape(&mut self) -> Parsed<SyntaxNode> {
        let assertion = match self.rest().chars().nth(1) {
            Some('A') => Some(Assertion::StartText),
            Some('z') => Some(Assertion::EndText),
            Some('b' | 'B') if self.rest()[2..].starts_with('{') => {
                return self.refuse(format!("{}{{...}}", &self.rest()[..2]));
            }
            Some('b') => Some(Assertion::WordBoundary),
            Some('B') => Some(Assertion::NotWordBoundary),
            Some('0'..='9') => return self.refuse("a backreference"),
            _ => None,
        };
        if let Some(assertion) = assertion {
            self.at += 2;
            return Ok(SyntaxNode::Assert(assertion));
        }
        match self.escaped_class()? {
            Escape::Literal(c) => self.literal(c),
            Escape::Class(text) => self.class(text),
        }
    }

    /// Parses an escape that stands for characters, inside or outside of brackets.
    fn escaped_class(&mut self) -> Parsed<Escape> {
        let start = self.at;
        self.at += 1;
        let Some(c) = self.peek() else { return self.refuse("a backslash at the end") };
        self.at += c.len_utf8();
        let text = |text: &str| Ok(Escape::Class(text.to_owned()));
        let c = match c {
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => return text(&self.pattern[start..self.at]),
            'h' => return text("[0-9A-Fa-f]"),
            'H' => return text("[^0-9A-Fa-f]"),
            'O' => return text(r"[\s\S]"),
            'N' => return text(r"[^\n]"),
            'p' | 'P' => {
                match self.peek() {
                    Some('{') => {
                        self.until('}', r"\p{")?;
                    }
                    Some(c) => self.at += c.len_utf8(),
                    None => return self.refuse(r"\p without a property"),
                }
                return text(&self.pattern[start..self.at]);
            }
            'x' => self.hex(2)?,
            'u' => self.hex(4)?,
            'U' => self.hex(8)?,
            'a' => '\x07',
            'b' => '\x08',
            'e' => '\x1B',
            'f' => '\x0C',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0B',
            c if c.is_ascii_alphanumeric() || c == '<' || c == '>' => {
                self.at = start;
                return self.refuse(format!("\\{c}"));
            }
            c => c,
        };
        Ok(Escape::Literal(c))
    }

    /// Parses `digits` hexadecimal digits, or any number of digits in braces.
    fn hex(&mut self, digits: usize) -> Parsed<char> {
        let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let text = if self.eat("{") {
            self.until('}', "a code point")?
        } else {
            let text = self.rest().get(..digits).unwrap_or_default().to_owned();
            self.at += text.len();
            text
        };
        let code = if is_hex(&text) { u32::from_str_radix(&text, 16).ok() } else { None };
        code.and_then(char::from_u32).map_or_else(|| self.refuse(format!("the code point {text:?}")), Ok)
    }

    /// Parses a set in brackets. Translates it to the notation of `regex-syntax`, which has fewer escapes.
    fn bracketed(&mut self) -> Parsed<SyntaxNode> {
        let mut text = String::new();
        let mut open = 0;
        loop {
            match self.peek() {
                None => return self.refuse("a `[` without its `]`"),
                Some('[') => {
                    open += 1;
                    for mark in ["[", "^", "]"] {
                        if self.eat(mark) {
                            text.push_str(mark);
                        }
                    }
                }
                Some(']') => {
                    self.at += 1;
                    text.push(']');
                    open -= 1;
                    if open == 0 {
                        return self.class(text);
                    }
                }
                Some('\\') => match self.escaped_class()? {
                    Escape::Literal(c) => text.push_str(&regex_syntax::escape(c.encode_utf8(&mut [0; 4]))),
                    Escape::Class(class) => text.push_str(&class),
                },
                Some(c) => {
                    self.at += c.len_utf8();
                    text.push(c);
                }
            }
        }
    }
}

/// A parsed escape.
enum Escape {
    Literal(char),
    Class(String),
}
