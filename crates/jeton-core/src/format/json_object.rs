//! Parses JSON objects of files: members with many entries into columns, all other members into a tree.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// An object that the parser fills.
pub(super) trait Object<'de> {
    /// Description of the expected value, for error messages.
    const EXPECTED: &'static str;
    /// JSON path of the object, followed by a dot; empty for the whole file.
    const PATH: &'static str;

    /// If the member can have many entries, parses its value, and returns true if a member with this key was parsed
    /// before. If the member is not of this kind, parses nothing and returns None.
    fn parse_large<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A)
        -> std::result::Result<Option<bool>, A::Error>;

    /// Returns the map to which all other members are added.
    fn rest(&mut self) -> &mut Map<String, Value>;
}

/// Parses a value with a visitor. The visitor returns an error for unexpected types.
pub(super) struct Seed<V>(pub(super) V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Seed<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<V::Value, D::Error> {
        deserializer.deserialize_any(self.0)
    }
}

/// Parses an [`Object`].
pub(super) struct ObjectVisitor<'a, O>(pub(super) &'a mut O);

impl<'de, O: Object<'de>> Visitor<'de> for ObjectVisitor<'_, O> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(O::EXPECTED)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let twice = match self.0.parse_large(&key, &mut map)? {
                Some(twice) => twice,
                None => self.0.rest().insert(key.clone(), map.next_value()?).is_some(),
            };
            if twice {
                let path = O::PATH.to_owned() + &key;
                return Err(A::Error::custom(format!("the key {path:?} is given twice")));
            }
        }
        Ok(())
    }
}

/// Parses a whole file, which must be an object.
///
/// # Errors
/// [`Error::format`] with line and column.
pub(super) fn parse<'de>(json: &'de [u8], what: &str, visitor: impl Visitor<'de, Value = ()>) -> Result<()> {
    let mut parser = serde_json::Deserializer::from_slice(json);
    let parsed = parser.deserialize_map(visitor).and_then(|()| parser.end());
    parsed.map_err(|error| unreadable(what, &error))
}

/// Converts an error of the parser.
pub(super) fn unreadable(what: &str, error: &serde_json::Error) -> Error {
    let place = format!("line {}, column {}", error.line(), error.column());
    let text = error.to_string();
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    Error::format(format!("not a readable {what}: {message}"), place)
}

/// Returns the members in `rest`, which were parsed into a tree, as JSON text.
///
/// # Errors
/// [`Error::format`] if writing fails.
pub(super) fn text(rest: &Map<String, Value>) -> Result<String> {
    serde_json::to_string(rest).map_err(|error| Error::format(error.to_string(), "$"))
}
