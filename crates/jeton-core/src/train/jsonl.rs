//! JSON Lines → the text of one field of each row.
//!
//! Every row that this module accepts means the same to any JSON reader: the field is a string, and the last of several
//! fields of one name counts. All else is left to the caller, which has the slow path and the error messages: invalid
//! rows, rows that only lenient readers accept, missing fields, fields that are no string, half a surrogate pair in an
//! escape.
//!
//! Cost: two passes over the bytes, for line ends and for JSON; memory for the texts. Other fields are skipped without
//! a copy. Left out: reading files, and errors of a row. Slow path: Python's `json.loads`.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::error::Result;
use crate::util::alloc;

/// Texts of consecutive rows.
#[derive(Debug, Default)]
pub struct FieldTexts {
    arena: Vec<u8>,
    spans: Vec<Option<(usize, usize)>>, // into arena; None for a row that is left to the caller
}

impl FieldTexts {
    /// Iterates over the texts of the rows; `None` for a row that is left to the caller.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&[u8]>> {
        self.spans.iter().map(|span| span.map(|(start, end)| &self.arena[start..end]))
    }

    fn push(&mut self, line: &str, field: &str) {
        let start = self.arena.len();
        let mut json = serde_json::Deserializer::from_str(line);
        let row = FieldOfRow { field, arena: &mut self.arena, start };
        let is_read = row.deserialize(&mut json).is_ok_and(|found| found && json.end().is_ok());
        if !is_read {
            self.arena.truncate(start);
        }
        self.spans.push(is_read.then_some((start, self.arena.len())));
    }
}

/// Reads `field` of each line; the last line may lack its end. Lines of invalid UTF-8 are left to the caller.
///
/// # Errors
/// [`crate::error::ErrorKind::Memory`].
pub fn read(lines: &[u8], field: &str) -> Result<FieldTexts> {
    let num_lines = lines.split(|&byte| byte == b'\n').count();
    let mut texts = FieldTexts { arena: alloc::with_capacity(lines.len())?, spans: alloc::with_capacity(num_lines)? };
    match std::str::from_utf8(lines) {
        Ok(text) => text.split_inclusive('\n').for_each(|line| texts.push(line, field)),
        Err(_) => lines.split_inclusive(|&byte| byte == b'\n').for_each(|line| match std::str::from_utf8(line) {
            Ok(line) => texts.push(line, field),
            Err(_) => texts.spans.push(None),
        }),
    }
    Ok(texts)
}

/// One row: an object, whose field is appended to the arena. True if the field is present.
struct FieldOfRow<'a> {
    field: &'a str,
    arena: &'a mut Vec<u8>,
    start: usize,
}

impl<'de> DeserializeSeed<'de> for FieldOfRow<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<bool, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for FieldOfRow<'_> {
    type Value = bool;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<bool, A::Error> {
        let mut found = false;
        while let Some(is_wanted) = map.next_key_seed(IsField(self.field))? {
            if is_wanted {
                self.arena.truncate(self.start);
                map.next_value_seed(AppendText(self.arena))?;
                found = true;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Deserializes a key, and compares it with the field.
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

/// Appends a string to the arena.
struct AppendText<'a>(&'a mut Vec<u8>);

impl<'de> DeserializeSeed<'de> for AppendText<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl Visitor<'_> for AppendText<'_> {
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
        let texts = read(lines, "text").unwrap();
        texts.iter().map(|text| text.map(|text| String::from_utf8_lossy(text).into_owned())).collect()
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
