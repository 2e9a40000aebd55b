//! Translates patterns from tiktoken's dialect to Oniguruma with Ruby's syntax, for HF `tokenizers`.
//!
//! Invariant: the result has the same meaning, or an error names the unsupported construct. The result is written from
//! the syntax tree, so one function translates each construct:
//!
//! | tiktoken | Oniguruma |
//! |---|---|
//! | `x{n,m}+` | `(?>x{n,m})`, since `+` after an interval repeats the interval |
//! | `x{n}?` | `x{n}`, since `?` after `x{n}` makes `x{n}` optional |
//! | `^`, `$` | `\A`, `\z`, since Oniguruma's `^` and `$` match at every line |
//! | `(?m)^`, `(?m)$`, `\b` | lookarounds with tiktoken's set, since Oniguruma defines line ends and words otherwise |
//! | `.`, `(?s).` | `[^\n]`, `[\s\S]`, since Oniguruma's flags have other letters |
//! | `(?i:x)` | all cases: `[Xx]`, since Oniguruma also folds one character to several (`ß` to `ss`) |
//! | `\w`, `[[:alpha:]]`, `[a--b]` | properties, characters, `[a&&[^b]]` |
//!
//! Refused: a property that Oniguruma might not have, unless it consists of few ranges; a large set that depends on
//! case; a lookaround inside a lookbehind; repetition of an assertion; counts above Oniguruma's limit; a pattern that
//! matches the empty text, because HF `tokenizers` splits there and Jeton does not.

use std::fmt::Write;

use regex_syntax::ast::{self, Ast};
use regex_syntax::hir::ClassUnicode;

use super::program::first;
use super::syntax::{parse, parse_set, Assertion, Class, Greed, SyntaxNode};
use crate::util::classes::{Classes, LETTER};

/// A set of characters, such as a property, is written as ranges only if the set has at most this many ranges. A longer
/// list would make the translated pattern long, and more dependent on the Unicode version.
const MAX_RANGES: usize = 12;

/// Oniguruma's `ONIG_MAX_REPEAT_NUM`.
const MAX_REPEAT: u32 = 100_000;

/// `\w` of tiktoken's engine. Oniguruma's `\w` lacks the joiners.
const WORD: &str = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}";

/// Properties with the same name and meaning in both engines: Unicode's short and long names, in lower case.
const PROPERTIES: &str = "
    l lu ll lt lm lo m mn mc me n nd nl no p pc pd ps pe pi pf po s sm sc sk so z zs zl zp c cc cf cn co
    letter uppercase_letter lowercase_letter titlecase_letter modifier_letter other_letter
    mark nonspacing_mark spacing_mark enclosing_mark number decimal_number letter_number other_number
    punctuation symbol math_symbol currency_symbol modifier_symbol other_symbol separator
    alphabetic uppercase lowercase white_space any assigned
    arabic armenian bengali bopomofo common cyrillic devanagari ethiopic georgian greek gujarati gurmukhi han hangul hebrew
    hiragana inherited kannada katakana khmer lao latin malayalam mongolian myanmar oriya sinhala syriac tamil telugu thaana
    thai tibetan yi";

/// Translates a pattern to Oniguruma.
///
/// # Errors
/// Name of the unsupported construct, or the error of the pattern.
pub fn to_oniguruma(pattern: &str) -> Result<String, String> {
    let node = parse(pattern).map_err(|refusal| refusal.what)?;
    if first(&node, &mut ClassUnicode::empty()) {
        return Err("a pattern that matches the empty text".to_owned());
    }
    let mut text = String::new();
    write_node(&node, &mut text)?;
    Ok(text)
}

fn write_node(node: &SyntaxNode, out: &mut String) -> Result<(), String> {
    match node {
        SyntaxNode::Empty => {}
        SyntaxNode::Class(class) => write_class(class, out)?,
        SyntaxNode::Concat(parts) => {
            for part in parts {
                let is_loose = matches!(part, SyntaxNode::Alternate(_));
                write_in(if is_loose { "(?:" } else { "" }, part, if is_loose { ")" } else { "" }, out)?;
            }
        }
        SyntaxNode::Alternate(branches) => {
            for (index, branch) in branches.iter().enumerate() {
                write_in(if index > 0 { "|" } else { "" }, branch, "", out)?;
            }
        }
        SyntaxNode::Repeat { node, min, max, greed } => write_repeat(node, (*min, *max), *greed, out)?,
        SyntaxNode::Atomic(node) => write_in("(?>", node, ")", out)?,
        SyntaxNode::Look { node, ahead, negated } => {
            if !ahead && holds_look(node) {
                return Err("a lookaround within a lookbehind".to_owned());
            }
            let open = match (ahead, negated) {
                (true, false) => "(?=",
                (true, true) => "(?!",
                (false, false) => "(?<=",
                (false, true) => "(?<!",
            };
            write_in(open, node, ")", out)?;
        }
        SyntaxNode::Assert(assertion) => match assertion {
            Assertion::StartText => out.push_str(r"\A"),
            Assertion::EndText => out.push_str(r"\z"),
            Assertion::StartLine => out.push_str(r"(?:\A|(?<=\n))"),
            Assertion::EndLine => out.push_str(r"(?=\n|\z)"),
            Assertion::WordBoundary => *out += &format!("(?:(?<=[{WORD}])(?![{WORD}])|(?<![{WORD}])(?=[{WORD}]))"),
            Assertion::NotWordBoundary => *out += &format!("(?:(?<=[{WORD}])(?=[{WORD}])|(?<![{WORD}])(?![{WORD}]))"),
        },
    }
    Ok(())
}

fn write_in(open: &str, node: &SyntaxNode, close: &str, out: &mut String) -> Result<(), String> {
    out.push_str(open);
    write_node(node, out)?;
    out.push_str(close);
    Ok(())
}

fn write_repeat(node: &SyntaxNode, (min, max): (u32, u32), greed: Greed, out: &mut String) -> Result<(), String> {
    if min > MAX_REPEAT || max > MAX_REPEAT && max != u32::MAX {
        return Err(format!("a repeat count above {MAX_REPEAT}"));
    }
    if is_place(node) {
        return Err("a repeat of an assertion".to_owned());
    }
    let quantifier = match (min, max) {
        (0, 1) => "?".to_owned(),
        (0, u32::MAX) => "*".to_owned(),
        (1, u32::MAX) => "+".to_owned(),
        (_, u32::MAX) => format!("{{{min},}}"),
        _ if min == max => format!("{{{min}}}"),
        _ => format!("{{{min},{max}}}"),
    };
    let is_interval = quantifier.starts_with('{');
    let is_single = matches!(node, SyntaxNode::Class(_));
    let is_atomic = greed == Greed::Possessive && is_interval;
    out.push_str(if is_atomic { "(?>" } else { "" });
    write_in(if is_single { "" } else { "(?:" }, node, if is_single { "" } else { ")" }, out)?;
    out.push_str(&quantifier);
    out.push_str(match greed {
        Greed::Lazy if min != max => "?",
        Greed::Possessive if !is_interval => "+",
        Greed::Possessive => ")",
        _ => "",
    });
    Ok(())
}

fn holds_look(node: &SyntaxNode) -> bool {
    match node {
        SyntaxNode::Empty | SyntaxNode::Class(_) => false,
        // True for assertions about words and lines, because they are written as lookarounds.
        SyntaxNode::Assert(assertion) => !matches!(assertion, Assertion::StartText | Assertion::EndText),
        SyntaxNode::Look { .. } => true,
        SyntaxNode::Concat(nodes) | SyntaxNode::Alternate(nodes) => nodes.iter().any(holds_look),
        SyntaxNode::Repeat { node, .. } | SyntaxNode::Atomic(node) => holds_look(node),
    }
}

/// Returns true if a node never consumes a character.
fn is_place(node: &SyntaxNode) -> bool {
    match node {
        SyntaxNode::Empty | SyntaxNode::Assert(_) | SyntaxNode::Look { .. } => true,
        SyntaxNode::Class(_) => false,
        SyntaxNode::Concat(nodes) | SyntaxNode::Alternate(nodes) => nodes.iter().all(is_place),
        SyntaxNode::Repeat { node, .. } | SyntaxNode::Atomic(node) => is_place(node),
    }
}

/// Writes a set of characters. If case folding does not change the set, translates the set as the pattern spells it.
/// Otherwise, writes the ranges of the folded set. If there are too many ranges, translates the set as spelled, and
/// writes the characters that case folding adds or removes. Example: in `(?i)\p{L}`, case folding adds U+0345, the
/// combining iota.
fn write_class(class: &Class, out: &mut String) -> Result<(), String> {
    let ast = ast::parse::Parser::new().parse(&class.text).map_err(|error| error.kind().to_string())?;
    let plain = parse_set(&class.text, false)?;
    if plain == class.set {
        return write_set(&ast, out);
    }
    if write_ranges(&class.set, false, out).is_ok() {
        return Ok(());
    }
    let refused = |()| format!("{} under case-insensitive matching", class.text);
    let (mut more, mut less) = (class.set.clone(), plain.clone());
    more.difference(&plain);
    less.difference(&class.set);
    out.push('[');
    write_set(&ast, out)?;
    if !more.ranges().is_empty() {
        write_ranges(&more, true, out).map_err(refused)?;
    }
    if !less.ranges().is_empty() {
        out.push_str("&&[^");
        write_ranges(&less, true, out).map_err(refused)?;
        out.push(']');
    }
    out.push(']');
    Ok(())
}

fn write_set(ast: &Ast, out: &mut String) -> Result<(), String> {
    match ast {
        Ast::Literal(literal) => push_char(literal.c, out),
        Ast::ClassUnicode(class) => write_property(class, out)?,
        Ast::ClassPerl(class) => write_perl(class, out),
        Ast::ClassBracketed(class) => write_bracketed(class, out)?,
        other => return Err(format!("the class {other}")),
    }
    Ok(())
}

fn write_bracketed(class: &ast::ClassBracketed, out: &mut String) -> Result<(), String> {
    out.push_str(if class.negated { "[^" } else { "[" });
    write_members(&class.kind, out)?;
    out.push(']');
    Ok(())
}

fn write_members(set: &ast::ClassSet, out: &mut String) -> Result<(), String> {
    match set {
        ast::ClassSet::Item(item) => write_item(item, out),
        ast::ClassSet::BinaryOp(operation) => {
            let (between, end) = match operation.kind {
                ast::ClassSetBinaryOpKind::Intersection => ("&&", ""),
                ast::ClassSetBinaryOpKind::Difference => ("&&[^", "]"),
                ast::ClassSetBinaryOpKind::SymmetricDifference => return Err("the symmetric difference ~~".to_owned()),
            };
            // tiktoken's engine reads `a--b&&c` as left-associative; Oniguruma needs brackets for this.
            out.push('[');
            write_members(&operation.lhs, out)?;
            out.push(']');
            out.push_str(between);
            write_members(&operation.rhs, out)?;
            out.push_str(end);
            Ok(())
        }
    }
}

fn write_item(item: &ast::ClassSetItem, out: &mut String) -> Result<(), String> {
    match item {
        ast::ClassSetItem::Empty(_) => {}
        ast::ClassSetItem::Literal(literal) => push_char(literal.c, out),
        ast::ClassSetItem::Range(range) => {
            push_char(range.start.c, out);
            out.push('-');
            push_char(range.end.c, out);
        }
        ast::ClassSetItem::Unicode(class) => write_property(class, out)?,
        ast::ClassSetItem::Perl(class) => write_perl(class, out),
        ast::ClassSetItem::Bracketed(class) => write_bracketed(class, out)?,
        ast::ClassSetItem::Union(union) => union.items.iter().try_for_each(|item| write_item(item, out))?,
        ast::ClassSetItem::Ascii(class) => {
            // `[:alpha:]` and similar sets have only ASCII characters in tiktoken's engine, but not in Oniguruma.
            let mut pattern = Ast::class_bracketed(ast::ClassBracketed {
                span: class.span,
                negated: false,
                kind: ast::ClassSet::Item(item.clone()),
            })
            .to_string();
            pattern.retain(|c| c != '\n');
            write_ranges(&parse_set(&pattern, false)?, true, out).map_err(|_| pattern)?;
        }
    }
    Ok(())
}

fn write_perl(class: &ast::ClassPerl, out: &mut String) {
    let not = if class.negated { "^" } else { "" };
    match (&class.kind, class.negated) {
        (ast::ClassPerlKind::Digit, false) => out.push_str(r"\d"),
        (ast::ClassPerlKind::Digit, true) => out.push_str(r"\D"),
        (ast::ClassPerlKind::Space, false) => out.push_str(r"\s"),
        (ast::ClassPerlKind::Space, true) => out.push_str(r"\S"),
        (ast::ClassPerlKind::Word, _) => *out += &format!("[{not}{WORD}]"),
    }
}

fn write_property(class: &ast::ClassUnicode, out: &mut String) -> Result<(), String> {
    let name = match &class.kind {
        ast::ClassUnicodeKind::OneLetter(letter) => letter.to_string(),
        ast::ClassUnicodeKind::Named(name) => name.clone(),
        ast::ClassUnicodeKind::NamedValue { name, value, .. } => match name.to_ascii_lowercase().as_str() {
            "sc" | "script" | "gc" | "general_category" => value.clone(),
            _ => format!("{name}={value}"),
        },
    };
    let escape = if class.is_negated() { 'P' } else { 'p' };
    let loose = name.to_ascii_lowercase().replace([' ', '-'], "_");
    if PROPERTIES.split_ascii_whitespace().any(|property| property == loose) {
        *out += &format!("\\{escape}{{{name}}}");
        return Ok(());
    }
    let text = Ast::class_unicode(class.clone()).to_string();
    write_ranges(&parse_set(&text, false)?, true, out).map_err(|_| text)
}

/// Writes the ranges of a set in brackets. If `within` is false, a set of a single character is written without
/// brackets. Returns an error if the set is empty or has more than [`MAX_RANGES`] ranges.
fn write_ranges(set: &ClassUnicode, within: bool, out: &mut String) -> Result<(), ()> {
    let ranges = set.ranges();
    if ranges.is_empty() || ranges.len() > MAX_RANGES {
        return Err(());
    }
    if let ([only], false) = (ranges, within) {
        if only.start() == only.end() {
            push_char(only.start(), out);
            return Ok(());
        }
    }
    out.push('[');
    for range in ranges {
        push_char(range.start(), out);
        if range.start() < range.end() {
            out.push('-');
            push_char(range.end(), out);
        }
    }
    out.push(']');
    Ok(())
}

/// Writes a character: with a backslash if it is a metacharacter, as a hexadecimal code if it is invisible.
fn push_char(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str(r"\n"),
        '\r' => out.push_str(r"\r"),
        '\t' => out.push_str(r"\t"),
        ' ' => out.push(' '),
        c if c.is_ascii_punctuation()
            && !matches!(c, '\'' | '"' | '/' | ',' | ':' | ';' | '<' | '>' | '=' | '!' | '@' | '%' | '_' | '`') =>
        {
            out.push('\\');
            out.push(c);
        }
        c if c.is_ascii_graphic() || is_letter(c) => out.push(c),
        c => {
            let _ = write!(out, "\\x{{{:X}}}", u32::from(c)); // writing to a String never fails
        }
    }
}

fn is_letter(c: char) -> bool {
    Classes::get().at(c.encode_utf8(&mut [0; 4]).as_bytes(), 0).0 & LETTER != 0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

    use super::to_oniguruma;

    #[test]
    fn each_construct_is_translated() {
        for (pattern, expected) in [
            (r"\p{N}{1,3}+|a++|b?+d|c{2}+", r"(?>\p{N}{1,3})|a++|b?+d|(?>c{2})"),
            (r"a{2}?|a{2,3}?|a*?b", r"a{2}|a{2,3}?|a*?b"),
            (r"^a$|\Ab\z", r"\Aa\z|\Ab\z"),
            (r"(?m)^a$", r"(?:\A|(?<=\n))a(?=\n|\z)"),
            (r".(?s:.)", r"[^\n][\s\S]"),
            (r"(?i:'s|'t)", r"'[Ssſ]|'[Tt]"),
            (r"(?i)[a-c]\p{L}1", r"[A-Ca-c][\p{L}[\x{345}]]1"),
            (r"(?i)[^k\s]", "[[^k\\s]&&[^[K\u{212A}]]]"),
            (r"\d\w\s", r"\d[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}]\s"),
            (r"[\s&&[^\r\n]]", r"[[\s]&&[^\r\n]]"),
            (r"[[:digit:]a]", r"[[0-9]a]"),
            (r"[\d--5]", r"[[\d]&&[^5]]"),
            (r"(a|b)c|(?:de)+", r"(?:a|b)c|(?:de)+"),
            (r"(?>a)(?=b)(?!c)(?<=d)(?<!e|f)", r"(?>a)(?=b)(?!c)(?<=d)(?<!e|f)"),
            (r"\x{301}\-[\-\]]#", r"\x{301}\-[\-\]]\#"),
            (r"\p{Script=Han}\pL\P{Lu}", r"\p{Han}\p{L}\P{Lu}"),
        ] {
            assert_eq!(to_oniguruma(pattern).as_deref(), Ok(expected), "{pattern}");
        }
    }

    #[test]
    fn errors_name_constructs_without_a_translation() {
        for (pattern, name) in [
            (r"\p{ID_Start}", "ID_Start"),
            (r"(?i)\p{Lu}", r"\p{Lu} under case-insensitive"),
            (r"[a~~b]", "~~"),
            (r"(?<=(?!a)b)c", "lookbehind"),
            (r"(?<=\b)c", "lookbehind"),
            (r"a{100001}", "100000"),
            (r"a*|b", "the empty text"),
            (r"(?:^|\b)+a", "a repeat of an assertion"),
            (r"(a)\1", "backreference"),
            (r"(", "`)`"),
        ] {
            let refusal = to_oniguruma(pattern).expect_err(pattern);
            assert!(refusal.contains(name), "{pattern}: {refusal}");
        }
    }
}
