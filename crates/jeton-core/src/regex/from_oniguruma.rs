//! Translates regexes of HF `tokenizers` (Oniguruma with Ruby's syntax) to tiktoken's dialect.
//!
//! Invariant: the result has the same meaning, or an error names the unsupported construct. Differences:
//!
//! | Oniguruma | tiktoken |
//! |---|---|
//! | `x{n,m}+`, `x{n}?` | `(?:x{n,m})+`, `(?:x{n})?` |
//! | `^`, `$` | lookarounds, since Oniguruma's `^` and `$` match at each line, whatever the flags |
//! | `.`, `(?m:.)` | `[^\n]`, `(?s:.)` |
//! | `\w`, `\b` | properties: in Oniguruma, `²³¹¼½¾` outside of brackets are word characters, U+200C/D are not |
//! | `\h`, `[[:alpha:]]` | `[0-9A-Fa-f]`; properties, because the names in `[:…:]` mean properties of Unicode |
//! | `\p{^L}` | `\P{L}` |
//!
//! Properties, `\s` and `\d` are the same sets in both engines, which have Unicode 16 (compared for every code
//! point).
//!
//! Left out, with an error that names the construct: features that tiktoken's dialect lacks (backreferences, `\G`,
//! `\K`, `\R`, `\X`, absent operators, conditionals, lookbehinds of variable width); the flag `x`; a flag that is set
//! in the middle of a group, because its scope differs; in case-insensitive patterns, all cased characters beyond
//! ASCII, and `ss`, `ff`, `fi`, `fl`, `st`, which Oniguruma folds into one character; a quantifier on a quantifier or
//! on an assertion; ambiguous ranges (`[a-\d]`).

use regex_syntax::hir::{Class, HirKind};

/// Translates a pattern of Oniguruma to tiktoken's dialect.
///
/// # Errors
/// Name of the unsupported construct.
pub(super) fn read(pattern: &str) -> Result<String, String> {
    let mut reader = PatternReader { pattern, at: 0, out: String::new(), flags: RubyFlags::default(), last: None };
    reader.alternation(0)?;
    match reader.peek() {
        None => Ok(reader.out),
        Some(_) => Err("a `)` without its `(`".to_owned()),
    }
}

/// Properties of the characters that Oniguruma's `\w` matches inside of brackets, such as `[\w]`.
const WORD: &str = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}";
/// Characters that Oniguruma's `\w` matches only outside of brackets.
const MORE_WORD: &str = r"\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE}";
const HEX: &str = "0-9A-Fa-f";

/// Characters beyond ASCII that have case folding.
const WITH_CASE: &str = r"[[\p{Cased}\p{Changes_When_Casemapped}\p{Changes_When_Casefolded}]&&[^\x00-\x7F]]";
/// Characters beyond ASCII that case folding can change, alone or as a part of a sequence.
const FOLDING: &str = r"[[\p{Cased}\p{Changes_When_Casemapped}\p{Changes_When_Casefolded}\p{M}\p{Lm}]&&[^\x00-\x7F]]";

/// Sequences of ASCII letters that are the case folding of one character (`ß`, `ﬁ`, `ﬆ`).
const FOLDED: [&str; 5] = ["ss", "ff", "fi", "fl", "st"];

/// Maximum nesting depth of groups.
const MAX_DEPTH: usize = 64;

/// Properties with the same name and meaning in both engines, normalized as in Oniguruma: in lower case, without
/// spaces, `-` and `_`.
const PROPERTIES: &str = "
    any assigned c cc cf cn co control format unassigned privateuse other
    l lu ll lt lm lo letter uppercaseletter lowercaseletter titlecaseletter modifierletter otherletter
    m mn mc me mark nonspacingmark spacingmark enclosingmark n nd nl no number decimalnumber letternumber othernumber
    p pc pd ps pe pi pf po punctuation connectorpunctuation dashpunctuation openpunctuation closepunctuation
    initialpunctuation finalpunctuation otherpunctuation
    s sm sc sk so symbol mathsymbol currencysymbol modifiersymbol othersymbol
    z zs zl zp separator spaceseparator lineseparator paragraphseparator
    alphabetic uppercase lowercase whitespace math cased ideographic emoji emojipresentation extendedpictographic
    idstart idcontinue xidstart xidcontinue
    arabic armenian balinese bengali bopomofo braille buginese canadianaboriginal cherokee common coptic cuneiform cyrillic
    devanagari ethiopic georgian glagolitic gothic greek gujarati gurmukhi han hangul hebrew hiragana inherited javanese kannada
    katakana khmer lao latin lisu malayalam mongolian myanmar newtailue nko ogham olchiki oriya runic sinhala sundanese syriac
    tagalog tailam taile taitham tamil telugu thaana thai tibetan tifinagh vai yi";

#[derive(Debug, Clone, Copy, Default)]
struct RubyFlags {
    ignore_case: bool,
    dot_all: bool,
}

#[derive(Debug)]
struct PatternReader<'p> {
    pattern: &'p str,
    at: usize,
    out: String,
    flags: RubyFlags,
    /// In case-insensitive mode, the preceding character if it is a literal: it can fold together with the next one.
    last: Option<char>,
}

/// Kind of the last item that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Atom {
    /// An item that consumes characters.
    Text,
    /// An item that consumes no characters, such as an assertion.
    Place,
}

/// A member of a set in brackets.
enum Member {
    One(char),
    Set(String),
}

impl PatternReader<'_> {
    fn rest(&self) -> &str {
        &self.pattern[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    /// Consumes the characters up to and including `end`.
    fn until(&mut self, end: &str, what: &str) -> Result<String, String> {
        let length = self.rest().find(end).ok_or_else(|| format!("{what} without its `{end}`"))?;
        let text = self.rest()[..length].to_owned();
        self.at += length + end.len();
        Ok(text)
    }

    fn alternation(&mut self, depth: usize) -> Result<(), String> {
        let start = self.at;
        while let Some(c) = self.peek() {
            match c {
                ')' => return Ok(()),
                '|' => {
                    self.next();
                    self.out.push('|');
                    self.last = None;
                }
                '(' if self.eat("(?#") => {
                    self.until(")", "a comment")?;
                }
                _ => {
                    let first = self.at == start;
                    let from = self.out.len();
                    if let Some(atom) = self.atom(depth, first)? {
                        self.quantifier(atom, from)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Translates one atom; returns None for an atom that only changes flags.
    fn atom(&mut self, depth: usize, first: bool) -> Result<Option<Atom>, String> {
        let Some(c) = self.next() else { return Ok(None) };
        let literal = std::mem::take(&mut self.last);
        match c {
            '(' => {
                self.last = literal;
                return self.group(depth, first);
            }
            '[' => {
                let set = self.bracketed(0)?;
                match class(&set)?.ranges() {
                    // Oniguruma reads a set of one character as a literal, which can fold together with its neighbors.
                    [only] if self.flags.ignore_case && only.start() == only.end() => {
                        self.literal(only.start(), literal)?;
                    }
                    _ => self.push_set(&set, true)?,
                }
            }
            '.' => self.out.push_str(if self.flags.dot_all { "(?s:.)" } else { r"[^\n]" }),
            '^' => {
                self.out.push_str(r"(?:\A|(?<=\n)(?!\z))");
                return Ok(Some(Atom::Place));
            }
            '$' => {
                self.out.push_str(r"(?=\n|\z)");
                return Ok(Some(Atom::Place));
            }
            '?' | '*' | '+' => return Err("a quantifier with nothing to repeat".to_owned()),
            '\\' => return self.escape(literal).map(Some),
            c => self.literal(c, literal)?,
        }
        Ok(Some(Atom::Text))
    }

    fn literal(&mut self, c: char, before: Option<char>) -> Result<(), String> {
        if self.flags.ignore_case {
            if !c.is_ascii() && class(FOLDING)?.iter().any(|range| (range.start()..=range.end()).contains(&c)) {
                return Err(format!("{c:?} under case-insensitive matching"));
            }
            let c = c.to_ascii_lowercase();
            if let Some(pair) = before.map(|before| format!("{before}{c}")).filter(|pair| FOLDED.contains(&&**pair)) {
                return Err(format!("`{pair}` under case-insensitive matching"));
            }
            self.last = Some(c);
        }
        push_literal(c, r"\.+*?()|[]{}^$#&-~", &mut self.out);
        Ok(())
    }

    fn quantifier(&mut self, atom: Atom, from: usize) -> Result<(), String> {
        let Some((text, is_interval)) = self.bounds()? else { return Ok(()) };
        if atom == Atom::Place {
            return Err("a repeat of an assertion".to_owned());
        }
        if is_interval && self.last.is_some() {
            return Err("an interval under case-insensitive matching".to_owned());
        }
        self.last = None;
        self.out.push_str(&text);
        let is_fixed = is_interval && !text.contains(',');
        let wrapped = is_fixed && self.peek() == Some('?') || is_interval && self.peek() == Some('+');
        if wrapped {
            self.out.insert_str(from, "(?:");
            self.out.push(')');
        }
        if let Some(mark @ ('?' | '+')) = self.peek() {
            self.next();
            self.out.push(mark);
        }
        match self.bounds()? {
            None => Ok(()),
            Some(_) => Err("a quantifier on a quantifier".to_owned()),
        }
    }

    /// Reads a quantifier without its suffix. Returns its text, and true if it is an interval.
    fn bounds(&mut self) -> Result<Option<(String, bool)>, String> {
        match self.peek() {
            Some(c @ ('?' | '*' | '+')) => {
                self.next();
                return Ok(Some((c.to_string(), false)));
            }
            Some('{') => {}
            _ => return Ok(None),
        }
        let Some(length) = self.rest().find('}') else { return Ok(None) };
        let inside = &self.rest()[1..length];
        let (min, max) = inside.split_once(',').unwrap_or((inside, inside));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(min) || !is_number(max) || min.is_empty() && max.is_empty() {
            return Ok(None); // the brace is literal text
        }
        let text = match (min, max) {
            ("", max) => format!("{{0,{max}}}"),
            _ if inside.contains(',') => format!("{{{min},{max}}}"),
            _ => format!("{{{min}}}"),
        };
        let (min, max) = (min.parse::<u32>().unwrap_or(0), max.parse::<u32>().unwrap_or(u32::MAX));
        if min > max || min > 100_000 || max > 100_000 && max != u32::MAX {
            return Err(format!("the interval {{{inside}}}"));
        }
        self.at += length + 1;
        Ok(Some((text, true)))
    }

    /// Translates a group whose `(` has been read; returns None for a group that only changes flags.
    fn group(&mut self, depth: usize, first: bool) -> Result<Option<Atom>, String> {
        if depth == MAX_DEPTH {
            return Err(format!("groups more than {MAX_DEPTH} deep"));
        }
        let flags = self.flags;
        let mut atom = Atom::Text;
        if !self.rest().starts_with('?') {
            if self.rest().starts_with('*') {
                return Err("a callout (*...)".to_owned());
            }
            self.out.push_str("(?:");
        } else if let Some(open) = ["?:", "?>"].into_iter().find(|open| self.eat(open)) {
            self.out = std::mem::take(&mut self.out) + "(" + open;
        } else if let Some(open) = ["?=", "?!", "?<=", "?<!"].into_iter().find(|open| self.eat(open)) {
            self.out = std::mem::take(&mut self.out) + "(" + open;
            self.last = None;
            atom = Atom::Place;
        } else if self.eat("?<") {
            self.until(">", "a group name")?;
            self.out.push_str("(?:");
        } else if self.eat("?'") {
            self.until("'", "a group name")?;
            self.out.push_str("(?:");
        } else {
            self.next();
            if self.set_flags()? {
                if !first {
                    return Err("a flag in the middle of a group".to_owned());
                }
                self.out.push_str(if self.flags.ignore_case { "(?i)" } else { "" });
                return if depth == 0 { Ok(None) } else { Err("a flag that is set within a group".to_owned()) };
            }
            self.out.push_str(match (flags.ignore_case, self.flags.ignore_case) {
                (false, true) => "(?i:",
                (true, false) => "(?-i:",
                _ => "(?:",
            });
        }
        self.alternation(depth + 1)?;
        if self.next() != Some(')') {
            return Err("a `(` without its `)`".to_owned());
        }
        self.out.push(')');
        self.flags = flags;
        if atom == Atom::Place {
            self.last = None;
        }
        Ok(Some(atom))
    }

    /// Reads flags whose `(?` has been read. Returns true if `)` follows them, so that they apply to the rest of the
    /// enclosing group; false if the body of a group follows.
    fn set_flags(&mut self) -> Result<bool, String> {
        let (start, mut on) = (self.at, true);
        loop {
            match self.next() {
                Some('i') => self.flags.ignore_case = on,
                Some('m') => self.flags.dot_all = on,
                Some('-') if on => on = false,
                Some(':') => return Ok(false),
                Some(')') => return Ok(true),
                Some(_) => return Err(format!("(?{}", &self.pattern[start..self.at])),
                None => return Err("a `(` without its `)`".to_owned()),
            }
        }
    }

    /// Translates an escape outside of brackets whose backslash has been read.
    fn escape(&mut self, before: Option<char>) -> Result<Atom, String> {
        let place = match self.peek() {
            Some('A') => r"\A".to_owned(),
            Some('z') => r"\z".to_owned(),
            Some('Z') => r"(?=\n?\z)".to_owned(),
            Some('b') => boundary("!", "="),
            Some('B') => boundary("=", "!"),
            Some('w') => {
                self.next();
                self.push_set(&format!("[{WORD}{MORE_WORD}]"), false)?;
                return Ok(Atom::Text);
            }
            Some('W') => {
                self.next();
                self.push_set(&format!("[^{WORD}{MORE_WORD}]"), false)?;
                return Ok(Atom::Text);
            }
            _ => {
                let is_property = matches!(self.peek(), Some('p' | 'P'));
                match self.member()? {
                    Member::One(c) => self.literal(c, before)?,
                    Member::Set(set) => self.push_set(&set, is_property)?,
                }
                return Ok(Atom::Text);
            }
        };
        self.next();
        self.out.push_str(&place);
        Ok(Atom::Place)
    }

    /// Reads an escape that stands for one character or for a set of characters. Its backslash has been read.
    fn member(&mut self) -> Result<Member, String> {
        let Some(c) = self.next() else { return Err("a backslash at the end".to_owned()) };
        let set = |text: String| Ok(Member::Set(text));
        Ok(Member::One(match c {
            'd' | 'D' | 's' | 'S' => return set(format!("\\{c}")),
            'w' => return set(format!("[{WORD}]")),
            'W' => return set(format!("[^{WORD}]")),
            'h' => return set(format!("[{HEX}]")),
            'H' => return set(format!("[^{HEX}]")),
            'p' | 'P' => return self.property(c == 'P').map(Member::Set),
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'f' => '\x0C',
            'v' => '\x0B',
            'a' => '\x07',
            'e' => '\x1B',
            'u' => self.code(4)?,
            'x' if self.eat("{") => {
                let digits = self.until("}", "a code point")?;
                code(&digits).filter(|_| digits.len() <= 8).ok_or_else(|| format!("the code point {digits:?}"))?
            }
            'x' => self.code(2).and_then(|c| if c.is_ascii() { Ok(c) } else { Err(format!("the byte {c:?}")) })?,
            c if c.is_ascii_alphanumeric() => return Err(format!("\\{c}")),
            c => c,
        }))
    }

    /// Reads a code point of `digits` hexadecimal digits.
    fn code(&mut self, digits: usize) -> Result<char, String> {
        let text = self.rest().get(..digits).unwrap_or_default().to_owned();
        self.at += text.len();
        code(&text).filter(|_| text.len() == digits).ok_or_else(|| format!("the code point {text:?}"))
    }

    /// Translates a property whose `\p` or `\P` has been read.
    fn property(&mut self, negated: bool) -> Result<String, String> {
        if !self.eat("{") {
            return Err(r"\p without braces".to_owned());
        }
        let not = self.eat("^") != negated;
        let name = self.until("}", r"\p{")?;
        let plain: String = name.to_ascii_lowercase().chars().filter(|c| !matches!(c, ' ' | '-' | '_')).collect();
        let (escape, hat) = if not { ("\\P", "^") } else { ("\\p", "") };
        if PROPERTIES.split_ascii_whitespace().any(|property| property == plain) {
            return Ok(format!("{escape}{{{name}}}"));
        }
        match posix(&plain).filter(|_| plain != "punct" && plain != "word") {
            Some(members) => Ok(format!("[{hat}{members}]")),
            None if plain == "punct" => Ok(format!("{escape}{{P}}")),
            None => Err(format!("\\p{{{name}}}")),
        }
    }

    /// Translates a set in brackets to the notation of `regex-syntax`. The `[` of the set has been read.
    fn bracketed(&mut self, depth: usize) -> Result<String, String> {
        if depth == MAX_DEPTH {
            return Err(format!("sets more than {MAX_DEPTH} deep"));
        }
        let mut set = String::from("[");
        let negated = self.eat("^");
        if negated {
            set.push('^');
        }
        if self.rest().starts_with(']') {
            return Err("an empty set".to_owned());
        }
        let mut first = true;
        loop {
            let starts = std::mem::replace(&mut first, false);
            let Some(c) = self.next() else { return Err("a `[` without its `]`".to_owned()) };
            let member = match c {
                ']' => break,
                '[' if self.eat(":") => {
                    let not = if self.eat("^") { "^" } else { "" };
                    let name = self.until(":]", "[:")?;
                    Member::Set(format!("[{not}{}]", posix(&name).ok_or_else(|| format!("[:{name}:]"))?))
                }
                '[' => Member::Set(self.bracketed(depth + 1)?),
                '&' if self.eat("&") => {
                    if self.flags.ignore_case || starts || self.rest().starts_with([']', '-', '&']) {
                        return Err("&& here".to_owned());
                    }
                    set.push_str("&&");
                    continue;
                }
                '-' if starts || self.rest().starts_with(']') => Member::One('-'),
                '-' => return Err("`-` in the middle of a set".to_owned()),
                '\\' if self.rest().starts_with(['b']) => {
                    self.next();
                    Member::One('\x08')
                }
                '\\' => self.member()?,
                c => Member::One(c),
            };
            let c = match member {
                Member::Set(inner) => {
                    set.push_str(&inner);
                    continue;
                }
                Member::One(c) => c,
            };
            push_member(c, &mut set);
            if self.rest().starts_with('-') && !self.rest().starts_with("-]") {
                if self.pattern[..self.at].ends_with('-') && !self.pattern[..self.at].ends_with(r"\-") {
                    return Err("a range from `-`".to_owned());
                }
                self.next();
                let end = match self.next() {
                    Some('\\') => match self.member()? {
                        Member::One(end) => end,
                        Member::Set(inner) => return Err(format!("a range that ends in {inner}")),
                    },
                    Some('&') if !self.rest().starts_with('&') => '&',
                    Some(end) if !matches!(end, '[' | ']' | '-' | '&') => end,
                    _ => return Err("a range without its end".to_owned()),
                };
                if end < c {
                    return Err("a range that runs backwards".to_owned());
                }
                set.push('-');
                push_member(end, &mut set);
            }
        }
        set.push(']');
        Ok(set)
    }

    /// Writes a set. Returns an error if case folding has different effects on it in the two engines.
    fn push_set(&mut self, set: &str, folds: bool) -> Result<(), String> {
        let members = class(set)?;
        if self.flags.ignore_case {
            let mut wide = members.clone();
            wide.intersect(&class(WITH_CASE)?);
            let mut folded = members.clone();
            folded.try_case_fold_simple().map_err(|error| error.to_string())?;
            if folds && !wide.ranges().is_empty() || !folds && folded != members {
                return Err(format!("{set} under case-insensitive matching"));
            }
        }
        if members.ranges().is_empty() {
            return Err("an empty set".to_owned());
        }
        self.out.push_str(set);
        Ok(())
    }
}

/// Returns the characters of `[:name:]`, in the notation of `regex-syntax`.
fn posix(name: &str) -> Option<String> {
    Some(match name {
        "alpha" => r"\p{Alphabetic}".to_owned(),
        "alnum" => r"\p{Alphabetic}\p{Nd}".to_owned(),
        "digit" => r"\p{Nd}".to_owned(),
        "lower" => r"\p{Lowercase}".to_owned(),
        "upper" => r"\p{Uppercase}".to_owned(),
        "space" => r"\s".to_owned(),
        "punct" => r"\p{P}\p{S}".to_owned(),
        "cntrl" => r"\p{Cc}".to_owned(),
        "blank" => r"\p{Zs}\t".to_owned(),
        "xdigit" => HEX.to_owned(),
        "ascii" => r"\x00-\x7F".to_owned(),
        "word" => WORD.to_owned(),
        "graph" => r"[^\s\p{Cc}\p{Cn}]".to_owned(),
        "print" => r"[^\s\p{Cc}\p{Cn}]\p{Zs}".to_owned(),
        _ => return None,
    })
}

/// Returns an equivalent of `\b`, written with lookarounds, if the arguments are `!` and `=`. If they are `=` and `!`,
/// returns an equivalent of `\B`.
fn boundary(differs: &str, same: &str) -> String {
    let word = format!("[{WORD}{MORE_WORD}]");
    format!("(?:(?<={word})(?{differs}{word})|(?<!{word})(?{same}{word}))")
}

fn code(digits: &str) -> Option<char> {
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    char::from_u32(u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?)
}

fn push_member(c: char, set: &mut String) {
    push_literal(c, r"\[]^-&~", set);
}

/// Writes a character: with a backslash if it is in `special`, as a hexadecimal code if it is invisible.
fn push_literal(c: char, special: &str, out: &mut String) {
    match c {
        '\n' => out.push_str(r"\n"),
        '\r' => out.push_str(r"\r"),
        '\t' => out.push_str(r"\t"),
        c if c.is_control() => *out += &format!("\\x{{{:X}}}", u32::from(c)),
        c if special.contains(c) => out.extend(['\\', c]),
        c => out.push(c),
    }
}

/// Parses a set in the notation of `regex-syntax`.
fn class(set: &str) -> Result<regex_syntax::hir::ClassUnicode, String> {
    match regex_syntax::parse(set).map(regex_syntax::hir::Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(members))) => Ok(members),
        Ok(HirKind::Class(Class::Bytes(members))) => members.to_unicode_class().ok_or_else(|| format!("the set {set}")),
        Ok(HirKind::Literal(literal)) => {
            let text = std::str::from_utf8(&literal.0).map_err(|_| format!("the set {set}"))?;
            let ranges = text.chars().map(|c| regex_syntax::hir::ClassUnicodeRange::new(c, c));
            Ok(regex_syntax::hir::ClassUnicode::new(ranges))
        }
        Ok(_) => Ok(regex_syntax::hir::ClassUnicode::empty()),
        Err(_) => Err(format!("the set {set}")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

    use super::*;

    #[test]
    fn each_construct_is_translated() {
        for (pattern, expected) in [
            (r"\p{N}{1,3}+|a++|b?+|c{2}+d{2}?e{,3}", r"(?:\p{N}{1,3})+|a++|b?+|(?:c{2})+(?:d{2})?e{0,3}"),
            (r"^a$|\Ab\Z", r"(?:\A|(?<=\n)(?!\z))a(?=\n|\z)|\Ab(?=\n?\z)"),
            (r".(?m:.)", r"[^\n](?:(?s:.))"),
            (r"(?i:'s|'t|'ll)(?i)", "a flag in the middle"),
            (r"(?i)'s|[a-c\s]+", r"(?i)'s|[a-c\s]+"),
            (r"(?<name>a)(b)(?#comment)", r"(?:a)(?:b)"),
            (r"[\w\-a-][[:^alpha:]\h]", r"[[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]\-a\-][[^\p{Alphabetic}][0-9A-Fa-f]]"),
            (r"\p{^Lu}\P{^L}[\p{Han}&&[^x]]", r"\P{Lu}\p{L}[\p{Han}&&[^x]]"),
            (r"a{x}{", r"a\{x\}\{"),
            (r" ?[^(\s|[.,!?…。,、।۔،])]+", r" ?[^(\s|[.,!?…。,、।۔،])]+"),
        ] {
            match read(pattern) {
                Ok(text) => assert_eq!(text, expected, "{pattern}"),
                Err(refusal) => assert!(refusal.contains(expected), "{pattern}: {refusal}"),
            }
        }
    }

    #[test]
    fn errors_name_constructs_without_a_translation() {
        for (pattern, name) in [
            (r"(a)\1", r"\1"),
            (r"\Ga", r"\G"),
            (r"(?~a)", "(?~"),
            (r"(?x) a", "(?x"),
            (r"a(?i)b|c", "middle of a group"),
            (r"(?i)ß", "under case-insensitive"),
            (r"(?i)(s)s", "`ss`"),
            (r"(?i)[\p{L}]", "under case-insensitive"),
            (r"a**", "on a quantifier"),
            (r"(?=a)*b", "an assertion"),
            (r"[a-\d]", "a range that ends"),
            (r"[a-c-e]", "`-` in the middle"),
            (r"[]a]", "an empty set"),
            (r"\p{Bogus}", "Bogus"),
            (r"a)", "`)`"),
            (r"(a", "`(`"),
            (r"[a", "`[`"),
            (r"\xE9", "the byte"),
            (r"a{3,2}", "interval"),
        ] {
            let refusal = read(pattern).expect_err(pattern);
            assert!(refusal.contains(name), "{pattern}: {refusal}");
        }
        assert!(read(&"(".repeat(10_000)).is_err() && read(&"[".repeat(10_000)).is_err());
    }
}
