//! Lines of JSON → the text of one field of each.
//!
//! A row that is read here is read as any JSON reader reads it: the field is a string, and of several fields of one name the last
//! counts. Everything else (a row that is broken, or that only a lenient reader takes; a field that is not there, or holds
//! something else; an escape that is half a character) is left to the caller, who knows what to do and what to say.
//!
//! Cost: each byte is looked at twice, for the end of the line and for the JSON; memory is that of the texts. Fields that nobody
//! asked for are skipped without being kept. Left out: reading files, and what is wrong with a row.
//! Plain version: Python's `json.loads`, to which the caller falls back.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::error::Result;
use crate::memory;

/// The texts of some rows, one after the other.
#[derive(Debug, Default)]
pub struct Rows {
    arena: Vec<u8>,
    spans: Vec<Option<(usize, usize)>>, // of arena; None for a row that is left to the caller
}

impl Rows {
    /// For each line its text, or None where the caller must look.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&[u8]>> {
        self.spans.iter().map(|span| span.map(|(start, end)| &self.arena[start..end]))
    }

    fn push(&mut self, line: &str, field: &str) {
        let start = self.arena.len();
        let mut json = serde_json::Deserializer::from_str(line);
        let row = Row { field, arena: &mut self.arena, start };
        let is_read = row.deserialize(&mut json).is_ok_and(|found| found && json.end().is_ok());
        if !is_read {
            self.arena.truncate(start);
        }
        self.spans.push(is_read.then_some((start, self.arena.len())));
    }
}

/// Reads lines, of which the last may lack its end, and takes `field` from each. A line that is not UTF-8 is left to the caller.
///
/// # Errors
/// [`crate::error::ErrorKind::Memory`].
pub fn read(lines: &[u8], field: &str) -> Result<Rows> {
    let num_lines = lines.split(|&byte| byte == b'\n').count();
    let mut rows = Rows { arena: memory::with_capacity(lines.len())?, spans: memory::with_capacity(num_lines)? };
    match std::str::from_utf8(lines) {
        Ok(text) => text.split_inclusive('\n').for_each(|line| rows.push(line, field)),
        Err(_) => lines.split_inclusive(|&byte| byte == b'\n').for_each(|line| match std::str::from_utf8(line) {
            Ok(line) => rows.push(line, field),
            Err(_) => rows.spans.push(None),
        }),
    }
    Ok(rows)
}

/// One row: an object, whose field goes into the arena. True if it was there.
struct Row<'a> {
    field: &'a str,
    arena: &'a mut Vec<u8>,
    start: usize,
}

impl<'de> DeserializeSeed<'de> for Row<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<bool, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Row<'_> {
    type Value = bool;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<bool, A::Error> {
        let mut found = false;
        while let Some(is_wanted) = map.next_key_seed(IsField(self.field))? {
            if is_wanted {
                self.arena.truncate(self.start);
                map.next_value_seed(Text(self.arena))?;
                found = true;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Whether a key is the field.
struct IsField<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for IsField<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<bool, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for IsField<'_> {
    type Value = bool;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a name")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> std::result::Result<bool, E> {
        Ok(name == self.0)
    }
}

/// A string, which is added to the arena.
struct Text<'a>(&'a mut Vec<u8>);

impl<'de> DeserializeSeed<'de> for Text<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl Visitor<'_> for Text<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<(), E> {
        if self.0.try_reserve(text.len()).is_err() {
            return Err(E::custom("out of memory"));
        }
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn texts(lines: &[u8]) -> Vec<Option<String>> {
        let rows = read(lines, "text").unwrap();
        rows.iter().map(|text| text.map(|text| String::from_utf8_lossy(text).into_owned())).collect()
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn the_field_of_each_row() {
        assert_eq!(texts(b""), []);
        let two = br#"{"text": "a\n\u00e9\ud83d\ude00"}
            {"id": [1, {"text": 2}], "text": "b"}"#;
        assert_eq!(texts(two), [some("a\né😀"), some("b")]);
        assert_eq!(texts(b"{\"text\": \"one\", \"te\\u0078t\": \"two\"}\r\n"), [some("two")]);
    }

    #[test]
    fn what_the_caller_must_look_at() {
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
            r#"{"text": "a", "b": NaN}"#,
            r#"{"text": "\ud800"}"#,
            r#"{"text": "a", "text": 1}"#,
        ];
        for line in lines {
            let both = format!("{line}\n{{\"text\": \"next\"}}\n");
            assert_eq!(texts(both.as_bytes()), [None, some("next")], "{line}");
        }
    }

    #[test]
    fn a_line_that_is_not_utf8_is_the_callers() {
        assert_eq!(texts(b"{\"text\": \"\xff\"}\n{\"text\": \"next\"}"), [None, some("next")]);
    }
}
