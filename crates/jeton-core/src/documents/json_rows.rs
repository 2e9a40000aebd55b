//! Reads one field of each row of JSON Lines, unescaped into one buffer.
//!
//! This module accepts only rows whose field is a string, and which every JSON reader reads in the same way. If the
//! field occurs several times in a row, the last one is read. All other rows are left to the caller, which parses them
//! on the slow path and reports errors: invalid rows, rows that only lenient readers accept, rows without the field,
//! fields that are not strings, escapes with half a surrogate pair, and objects and arrays nested more than `MAX_DEPTH`
//! deep.
//!
//! Cost: one pass over the bytes for UTF-8, one for line ends and one for JSON; memory for the texts. Other fields are
//! checked and skipped without a copy. Left out: reading files, and error messages about rows. Slow path: Python's
//! `json.loads`.
//! Source: RFC 8259.

use super::{lines, Span};
use crate::error::Result;
use crate::util::{alloc, utf8};

/// Maximum depth of nested objects and arrays, as in `serde_json`. Deeper rows are left to the caller, because readers
/// have different limits.
const MAX_DEPTH: usize = 128;

/// Texts of a field in consecutive rows.
#[derive(Debug, Default)]
pub struct FieldTexts {
    /// Texts of all rows, concatenated.
    pub texts: String,
    /// Range of the text of each row; empty for a row in `unread`.
    pub spans: Vec<Span>,
    /// Indices of the rows that this module does not accept, ascending. The caller must parse them.
    pub unread: Vec<usize>,
}

/// Buffer of the texts, as bytes, while rows are read.
///
/// Invariant: valid UTF-8, because only whole characters are appended.
#[derive(Default)]
struct Texts(Vec<u8>);

/// Reads `field` of each line; the last line need not have a line end. Lines of invalid UTF-8 are left to the caller.
///
/// # Errors
/// [`crate::error::ErrorKind::Memory`].
pub fn read(data: &[u8], field: &str) -> Result<FieldTexts> {
    let num_lines = lines::count_ends(data) + 1;
    // An escape has more bytes than the character it stands for, so the texts are never longer than the rows.
    let mut texts = Texts(alloc::with_capacity(data.len())?);
    let mut found = FieldTexts { spans: alloc::with_capacity(num_lines)?, ..FieldTexts::default() };
    let whole = utf8::validated(data);
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', data).chain([data.len()]) {
        if start == data.len() {
            break;
        }
        let line = match whole {
            Some(text) => text.get(start..end),
            None => utf8::validated(&data[start..end]),
        };
        let from = texts.0.len();
        if line.and_then(|line| Row { line, at: 0 }.read(field, &mut texts)).is_none() {
            texts.truncate(from);
            found.unread.push(found.spans.len());
        }
        found.spans.push((from, texts.0.len()));
        start = end + 1;
    }
    found.texts = texts.into_string();
    Ok(found)
}

impl Texts {
    /// Removes the bytes from `len` on. `len` must be an earlier length.
    fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    fn push_str(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    fn push(&mut self, c: char) {
        self.push_str(c.encode_utf8(&mut [0; 4]));
    }

    /// Appends the characters of UTF-16 code units that `next` returns, until it returns None, a surrogate, or a unit
    /// below U+0080. The unit that ends the loop is lost.
    fn push_units(&mut self, mut next: impl FnMut() -> Option<u32>) {
        let mut bytes = [0; 3 * UNITS];
        loop {
            let mut len = 0;
            while len + 3 <= bytes.len() {
                match next() {
                    Some(unit @ 0x80..0x800) => {
                        bytes[len] = 0xC0 | (unit >> 6) as u8;
                        bytes[len + 1] = 0x80 | (unit & 0x3F) as u8;
                        len += 2;
                    }
                    Some(unit @ (0x800..0xD800 | 0xE000..=0xFFFF)) => {
                        bytes[len] = 0xE0 | (unit >> 12) as u8;
                        bytes[len + 1] = 0x80 | (unit >> 6 & 0x3F) as u8;
                        bytes[len + 2] = 0x80 | (unit & 0x3F) as u8;
                        len += 3;
                    }
                    _ => {
                        self.0.extend_from_slice(&bytes[..len]);
                        return;
                    }
                }
            }
            self.0.extend_from_slice(&bytes[..len]);
        }
    }

    fn into_string(self) -> String {
        debug_assert!(std::str::from_utf8(&self.0).is_ok());
        // SAFETY: only whole characters are appended, and `truncate` is only called with earlier lengths, between
        // appends.
        unsafe { String::from_utf8_unchecked(self.0) }
    }
}

/// Number of code units that are collected before they are appended.
const UNITS: usize = 16;

/// One line, and the reading position in it. Methods return `None` if this parser does not accept the row; the caller
/// then parses it in full.
struct Row<'a> {
    line: &'a str,
    at: usize,
}

impl<'a> Row<'a> {
    /// Appends the text of the field to `out`.
    fn read(mut self, field: &str, out: &mut Texts) -> Option<()> {
        let start = out.0.len();
        let mut is_found = false;
        self.token(b'{')?;
        if self.token(b'}').is_none() {
            loop {
                self.token(b'"')?;
                let is_wanted = self.key_is(field)?;
                self.token(b':')?;
                if is_wanted {
                    out.truncate(start);
                    self.token(b'"')?;
                    self.string(out)?;
                    is_found = true;
                } else {
                    self.skip_value(1)?;
                }
                if self.token(b',').is_none() {
                    self.token(b'}')?;
                    break;
                }
            }
        }
        self.skip_white();
        (is_found && self.at == self.line.len()).then_some(())
    }

    fn peek(&self) -> Option<u8> {
        self.line.as_bytes().get(self.at).copied()
    }

    fn skip_white(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    /// Skips white space and the following `byte`; None if another byte follows.
    fn token(&mut self, byte: u8) -> Option<()> {
        self.skip_white();
        self.byte(byte)
    }

    fn byte(&mut self, byte: u8) -> Option<()> {
        self.peek().filter(|&found| found == byte)?;
        self.at += 1;
        Some(())
    }

    /// Returns the characters up to the next quote, backslash or control character.
    fn plain(&mut self) -> Option<&'a str> {
        let start = self.at;
        self.at += plain_len(&self.line.as_bytes()[start..]);
        self.line.get(start..self.at)
    }

    /// Reads a key, after its opening quote; returns true if it equals `field`.
    fn key_is(&mut self, field: &str) -> Option<bool> {
        let start = self.at;
        let plain = self.plain()?;
        if self.byte(b'"').is_some() {
            return Some(plain == field);
        }
        self.at = start;
        let mut key = Texts::default();
        self.string(&mut key)?;
        Some(key.0 == field.as_bytes())
    }

    /// Reads a string, after its opening quote, and appends its text to `out`.
    fn string(&mut self, out: &mut Texts) -> Option<()> {
        loop {
            out.push_str(self.plain()?);
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => {
                    self.wide_escapes(out);
                    if self.peek() == Some(b'\\') {
                        out.push(self.escape()?);
                    }
                }
                _ => return None, // a control character
            }
        }
    }

    /// Fast path for text in scripts other than Latin: reads consecutive escapes of code units over U+007F. Stops
    /// before any other escape.
    fn wide_escapes(&mut self, out: &mut Texts) {
        let bytes = self.line.as_bytes();
        let at = &mut self.at;
        out.push_units(|| {
            let [b'\\', b'u', digits @ ..] = bytes.get(*at..)?.first_chunk::<6>()? else { return None };
            let unit = unit_of(*digits);
            if !matches!(unit, 0x80..0xD800 | 0xE000..=0xFFFF) {
                return None;
            }
            *at += 6;
            Some(unit)
        });
    }

    /// Reads an escape; returns its character.
    fn escape(&mut self) -> Option<char> {
        let kind = *self.line.as_bytes().get(self.at + 1)?;
        self.at += 2;
        Some(match kind {
            b'"' | b'\\' | b'/' => char::from(kind),
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => {
                let unit = self.unit()?;
                if unit & 0xFC00 != 0xD800 {
                    return char::from_u32(unit); // None for the second half of a surrogate pair
                }
                self.byte(b'\\')?;
                self.byte(b'u')?;
                let second = self.unit()?;
                if second & 0xFC00 != 0xDC00 {
                    return None;
                }
                return char::from_u32(0x1_0000 + ((unit & 0x3FF) << 10 | second & 0x3FF));
            }
            _ => return None,
        })
    }

    /// Reads the four hexadecimal digits of a code unit.
    fn unit(&mut self) -> Option<u32> {
        let digits = self.line.as_bytes().get(self.at..)?.first_chunk::<4>()?;
        let unit = unit_of(*digits);
        self.at += 4;
        (unit <= 0xFFFF).then_some(unit)
    }

    /// Skips a string after its opening quote.
    fn skip_string(&mut self) -> Option<()> {
        loop {
            self.at += plain_len(&self.line.as_bytes()[self.at..]);
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => self.escape().map(drop)?,
                _ => return None,
            }
        }
    }

    /// Skips a value that is nested in `depth` objects and arrays.
    fn skip_value(&mut self, depth: usize) -> Option<()> {
        self.skip_white();
        let first = self.peek()?;
        self.at += 1;
        match first {
            b'"' => self.skip_string(),
            b'{' | b'[' if depth >= MAX_DEPTH => None,
            b'{' => self.skip_items(b'}', |row| {
                row.token(b'"')?;
                row.skip_string()?;
                row.token(b':')?;
                row.skip_value(depth + 1)
            }),
            b'[' => self.skip_items(b']', |row| row.skip_value(depth + 1)),
            b't' => self.word("rue"),
            b'f' => self.word("alse"),
            b'n' => self.word("ull"),
            b'-' | b'0'..=b'9' => self.number(first),
            _ => None,
        }
    }

    /// Skips items separated by commas, and the closing bracket `close`.
    fn skip_items(&mut self, close: u8, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if self.token(close).is_some() {
            return Some(());
        }
        loop {
            item(self)?;
            if self.token(b',').is_none() {
                return self.token(close);
            }
        }
    }

    fn word(&mut self, rest: &str) -> Option<()> {
        let is_here = self.line.as_bytes()[self.at..].starts_with(rest.as_bytes());
        self.at += rest.len();
        is_here.then_some(())
    }

    /// Skips a number after its first byte.
    fn number(&mut self, first: u8) -> Option<()> {
        let first = if first == b'-' {
            self.at += 1;
            *self.line.as_bytes().get(self.at - 1)?
        } else {
            first
        };
        match first {
            b'0' => {}
            b'1'..=b'9' => _ = self.digits(),
            _ => return None,
        }
        if self.byte(b'.').is_some() {
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    /// Skips one or more digits.
    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }
}

/// Returns the value of four hexadecimal digits; over 0xFFFF if a byte is not a digit.
fn unit_of(digits: [u8; 4]) -> u32 {
    let [a, b, c, d] = digits.map(|digit| HEX[usize::from(digit)]);
    a << 12 | b << 8 | c << 4 | d
}

/// Value of each hexadecimal digit. Every other byte has the value 0x1_0000, which makes the result of [`unit_of`]
/// exceed 0xFFFF.
static HEX: [u32; 256] = {
    let mut values = [0x1_0000; 256];
    let mut digit = 0;
    while digit < 16 {
        values[b"0123456789abcdef"[digit] as usize] = digit as u32;
        values[b"0123456789ABCDEF"[digit] as usize] = digit as u32;
        digit += 1;
    }
    values
};

/// Number of bytes that are tested at once. The compiler generates vector instructions for the test.
const STEP: usize = 32;

/// Returns the number of bytes before the first quote, backslash or control character.
fn plain_len(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(step) = bytes[at..].first_chunk::<STEP>() {
        if step.iter().fold(false, |any, &byte| any | is_special(byte)) {
            break;
        }
        at += STEP;
    }
    while let Some(word) = bytes[at..].first_chunk::<8>() {
        let found = special_bytes(u64::from_le_bytes(*word));
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + bytes[at..].iter().take_while(|&&byte| !is_special(byte)).count()
}

fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < b' ')
}

/// Looks for quotes, backslashes and control characters in the eight bytes of a little-endian word. The lowest set bit
/// of the result is in the first such byte; the result is 0 if there is none.
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    // The borrow of a subtraction only changes bytes above the first match, so the lowest bit is correct.
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, b' ') | equal(b'"') | equal(b'\\')) & (ONES << 7)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn texts(lines: &[u8]) -> Vec<Option<String>> {
        let found = read(lines, "text").unwrap();
        let text = |(row, &(start, end)): (usize, &Span)| {
            found.unread.binary_search(&row).is_err().then(|| found.texts[start..end].to_owned())
        };
        found.spans.iter().enumerate().map(text).collect()
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn field_of_each_row_is_read() {
        assert_eq!(texts(b""), []);
        let two = br#"{"text": "a\n\u00e9\ud83d\ude00"}
            {"id": [1, {"text": 2}], "text": "b"}"#;
        assert_eq!(texts(two), [some("a\né😀"), some("b")]);
        assert_eq!(texts(b"{\"text\": \"one\", \"te\\u0078t\": \"two\"}\r\n"), [some("two")]);
        let escapes = br#" { "text" : "\"\\\/\b\f\n\r\t\u4E2d\u0000" , "b":[ ] , "c":{ } } "#;
        assert_eq!(texts(escapes), [some("\"\\/\u{8}\u{c}\n\r\t中\0")]);
        let others = br#"{"a":-0.5e+3,"b":[true,false,null,0,1E9,{"x":"\u00e9","y":[[]]}],"text":"","text":"t"}"#;
        assert_eq!(texts(others), [some("t")]);
    }

    #[test]
    fn rows_that_are_not_plain_are_left_to_the_caller() {
        let lines = [
            "",
            " ",
            "[]",
            "3",
            "{}",
            r#"{"text": 1}"#,
            r#"{"text": null}"#,
            r#"{"text": ["a"]}"#,
            r#"{"text": "a""#,
            r#"{"text": "a"} x"#,
            r#"{"text": "a",}"#,
            r#"{"text": "a", "b": NaN}"#,
            r#"{"text": "a", "b": 01}"#,
            r#"{"text": "a", "b": 1.}"#,
            r#"{"text": "a", "b": -}"#,
            r#"{"text": "a", "b": 1e}"#,
            r#"{"text": "a", "b": .5}"#,
            r#"{"text": "a", "b": tru}"#,
            r#"{"text": "a", "b": [1,]}"#,
            r#"{"text": "a" "b": 1}"#,
            "{\"text\": \"a\tb\"}",
            "{\"text\": \"a\", \"b\": \"\u{1}\"}",
            r#"{"text": "\x"}"#,
            r#"{"text": "\u12g4"}"#,
            r#"{"text": "\u12"#,
            r#"{"text": "\ud800"}"#,
            r#"{"text": "\ud800\u0041"}"#,
            r#"{"text": "\udc00"}"#,
            r#"{"text": "a", "text": 1}"#,
        ];
        for line in lines {
            let both = format!("{line}\n{{\"text\": \"next\"}}\n");
            assert_eq!(texts(both.as_bytes()), [None, some("next")], "{line}");
            let row: std::result::Result<std::collections::HashMap<String, String>, _> = serde_json::from_str(line);
            assert!(row.map_or(true, |row| !row.contains_key("text")), "{line}");
        }
        let deep = format!("{{\"text\": \"a\", \"b\": {}{}}}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        assert_eq!(texts(deep.as_bytes()), [None]);
        let less = format!("{{\"text\": \"a\", \"b\": {}{}}}", "[".repeat(MAX_DEPTH - 1), "]".repeat(MAX_DEPTH - 1));
        assert_eq!(texts(less.as_bytes()), [some("a")]);
    }

    #[test]
    fn special_bytes_are_found_at_every_position() {
        for special in [b'"', b'\\', b'\n', 0, 0x1F] {
            for len in 0..100 {
                let mut bytes = vec![b' '; len];
                bytes.extend([special, special, 0x20, 0x7F, 0x80, 0xFF]);
                assert_eq!(plain_len(&bytes), len);
            }
        }
        let plain: Vec<u8> = (0x20..=0xFF).filter(|byte| !b"\"\\".contains(byte)).collect();
        assert_eq!(plain_len(&plain), plain.len());
    }

    /// Checks that strings of any characters and escapes are read as `serde_json` reads them.
    #[test]
    fn strings_are_read_as_by_serde_json() {
        let mut state = 1u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let pieces = [
            "a",
            "plain text that is longer than a step of the search ",
            "\\n",
            "\\\"",
            "\\\\",
            "\\u4e2d",
            "\\ud83d\\ude00",
            "\\ud83d",
            "\\u00",
            "é",
            "中",
            "😀",
            "\"",
            "\\",
            "\t",
            "{",
            "}",
            ":",
            ",",
            " ",
            "\"text\"",
            "\"other\"",
            "1",
            "[",
            "]",
        ];
        let mut read_rows = 0;
        for _ in 0..20_000 {
            let inner: String = (0..random(8)).map(|_| pieces[random(pieces.len())]).collect();
            let line = match random(3) {
                0 => format!("{{\"text\":\"{inner}\"}}"),
                1 => format!("{{\"other\":[\"{inner}\"],\"text\":\"t\"}}"),
                _ => format!("{{{inner}:\"v\"}}"),
            };
            let expected = serde_json::from_str::<serde_json::Value>(&line).ok();
            let expected = expected.and_then(|row| row.get("text")?.as_str().map(str::to_owned));
            let found = texts(line.as_bytes());
            read_rows += usize::from(found[0].is_some());
            if found[0].is_some() {
                assert_eq!(found[0], expected, "{line}");
            } else {
                assert!(expected.is_none(), "{line}");
            }
        }
        assert!(read_rows > 1_000);
    }

    #[test]
    fn line_of_invalid_utf8_is_left_to_the_caller() {
        assert_eq!(texts(b"{\"text\": \"\xff\"}\n{\"text\": \"next\"}"), [None, some("next")]);
    }
}
