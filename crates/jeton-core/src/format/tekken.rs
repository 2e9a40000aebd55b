//! Reads and writes Mistral's tekken.json: ranked tokens in base64, special tokens, and a few options.
//!
//! The member `vocab` has one object for each token, and is read while parsing; other members are returned as JSON
//! text. `token_str` is skipped, because `token_bytes` has the same content. The caller assigns ids: special tokens
//! come first, and ranks beyond the vocabulary size are dropped.
//!
//! Invariant: entry i has rank i, the first 256 entries are the bytes, and no token is empty. Cost: one pass; only the
//! tokens are copied. Source: mistralai/mistral-common `tokens/tokenizers/tekken.py`.

use std::borrow::Cow;
use std::fmt;

use base64::prelude::{Engine, BASE64_STANDARD};
use serde::de::{Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::json_object::{self, Object, ObjectVisitor, Seed};
use crate::error::{Error, Result};
use crate::vocab::{Kind, Vocab, MAX_ID};

/// Content of a file.
#[derive(Debug, Default)]
pub struct TekkenFile {
    /// All members except `vocab`, as JSON text.
    pub rest: String,
    /// Bytes of each token, by rank.
    pub tokens: Vec<Vec<u8>>,
}

#[derive(Deserialize)]
struct Token<'a> {
    rank: u32,
    #[serde(borrow)]
    token_bytes: Cow<'a, str>,
    #[serde(default)]
    #[allow(dead_code)]
    token_str: IgnoredAny,
}

#[derive(Default)]
struct TekkenRaw {
    rest: Map<String, Value>,
    tokens: Option<Vec<Vec<u8>>>,
    failed: Option<Error>, // error with a JSON path, which is more precise than line and column
}

/// Reads a file.
///
/// # Errors
/// [`Error::format`] with the JSON path, or line and column of invalid JSON.
pub fn read(json: &[u8]) -> Result<TekkenFile> {
    let mut raw = TekkenRaw::default();
    json_object::parse(json, "tekken.json", ObjectVisitor(&mut raw))
        .map_err(|error| raw.failed.take().unwrap_or(error))?;
    let tokens = raw.tokens.ok_or_else(|| Error::format("tekken.json without a list of tokens", "$.vocab"))?;
    if tokens.len() < 256 {
        return Err(Error::format(format!("{} tokens are too few for the 256 bytes", tokens.len()), "$.vocab"));
    }
    Ok(TekkenFile { rest: json_object::text(&raw.rest)?, tokens })
}

struct TokensVisitor<'a>(&'a mut TekkenRaw);

impl<'de> Object<'de> for TekkenRaw {
    const EXPECTED: &'static str = "an object";
    const PATH: &'static str = "";

    fn parse_large<A: MapAccess<'de>>(
        &mut self,
        key: &str,
        map: &mut A,
    ) -> std::result::Result<Option<bool>, A::Error> {
        if key != "vocab" {
            return Ok(None);
        }
        let twice = self.tokens.is_some();
        map.next_value_seed(Seed(TokensVisitor(self)))?;
        Ok(Some(twice))
    }

    fn rest(&mut self) -> &mut Map<String, Value> {
        &mut self.rest
    }
}

impl<'de> Visitor<'de> for TokensVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of tokens")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<(), A::Error> {
        let mut tokens = Vec::new();
        while let Some(token) = seq.next_element::<Token<'_>>()? {
            match bytes(&token, tokens.len()) {
                Ok(bytes) => tokens.push(bytes),
                Err((message, field)) => {
                    let place = format!("$.vocab[{}].{field}", tokens.len());
                    self.0.failed = Some(Error::format(message, place));
                    return Err(A::Error::custom("see failed"));
                }
            }
        }
        self.0.tokens = Some(tokens);
        Ok(())
    }
}

fn bytes(token: &Token<'_>, index: usize) -> std::result::Result<Vec<u8>, (String, &'static str)> {
    if token.rank as usize != index || index > MAX_ID as usize {
        return Err((format!("expected rank {index}, found {}", token.rank), "rank"));
    }
    let spelled = token.token_bytes.as_bytes();
    let bytes = BASE64_STANDARD.decode(spelled).map_err(|error| (format!("not base64: {error}"), "token_bytes"))?;
    if index < 256 && bytes != [index as u8] {
        return Err((format!("expected the byte 0x{index:02x}, found {bytes:?}"), "token_bytes"));
    }
    if bytes.is_empty() {
        return Err(("an empty token".into(), "token_bytes"));
    }
    Ok(bytes)
}

#[derive(Serialize)]
struct TekkenWriter<'a> {
    rank: u32,
    token_bytes: String,
    token_str: Option<&'a str>,
}

/// Writes the member `vocab` from the ordinary entries. Their ids must be `first`, `first + 1` and so on.
///
/// # Errors
/// [`Error::config`] for a gap in the ids, or for an entry of another kind.
pub fn write(vocab: &Vocab, first: u32) -> Result<String> {
    let mut json = String::from("[");
    for (rank, (id, kind, content)) in (0u32..).zip(vocab.iter().filter(|entry| entry.0 >= first)) {
        if kind != Kind::Token || id - first != rank {
            return Err(Error::config(format!(
                "id {id} is not the token with rank {rank}: in tekken.json special tokens come first, then tokens without holes"
            )));
        }
        if rank < 256 && content != [rank as u8] {
            return Err(Error::config(format!(
                "id {id} is not the byte 0x{rank:02x}, as the order of tekken.json has it"
            )));
        }
        let token = TekkenWriter {
            rank,
            token_bytes: BASE64_STANDARD.encode(content),
            token_str: std::str::from_utf8(content).ok(),
        };
        json.push_str(if rank > 0 { ",\n" } else { "\n" });
        json.push_str(&serde_json::to_string(&token).map_err(|error| Error::config(error.to_string()))?);
    }
    json.push_str("\n]");
    Ok(json)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn file(extra: &str) -> String {
        let bytes = (0..=255u8).map(|byte| {
            format!(r#"{{"rank": {byte}, "token_bytes": "{}", "token_str": null}}"#, BASE64_STANDARD.encode([byte]))
        });
        format!(r#"{{"config": {{"version": "v3"}}, "vocab": [{}{extra}]}}"#, bytes.collect::<Vec<_>>().join(","))
    }

    #[test]
    fn tokens_and_other_members_are_read() {
        let read = read(file(r#",{"rank": 256, "token_bytes": "\/\/8=", "token_str": "x"}"#).as_bytes()).unwrap();
        assert_eq!(read.tokens[256], b"\xff\xff");
        assert_eq!(read.rest, r#"{"config":{"version":"v3"}}"#);
        let entries = (3..).zip(&read.tokens).map(|(id, bytes)| (id, Kind::Token, bytes.as_slice()));
        let vocab = Vocab::new(entries.chain([(0, Kind::Special, b"<s>".as_slice())])).unwrap();
        let again = format!(r#"{{"vocab": {}}}"#, write(&vocab, 3).unwrap());
        assert_eq!(super::read(again.as_bytes()).unwrap().tokens, read.tokens);
        assert!(write(&vocab, 4).is_err());
        assert!(write(&vocab, 0).is_err());
    }

    #[test]
    fn errors_name_the_location() {
        let refused = |extra: &str| read(file(extra).as_bytes()).unwrap_err().to_string();
        assert!(refused(r#",{"rank": 255, "token_bytes": "YQ=="}"#).ends_with("found 255 ($.vocab[256].rank)"));
        assert!(refused(r#",{"rank": 256, "token_bytes": "Y"}"#).ends_with("($.vocab[256].token_bytes)"));
        assert!(refused(r#",{"rank": 256, "token_bytes": ""}"#).contains("empty"));
        assert!(refused(r#",{"rank": -1, "token_bytes": ""}"#).contains("line 1"));
        assert!(refused(r#",{"rank": 256}"#).contains("token_bytes"));
        assert!(read(br#"{"vocab": []}"#).unwrap_err().to_string().contains("256 bytes"));
        assert!(read(br#"{"vocab": [], "vocab": []}"#).unwrap_err().to_string().contains("twice"));
        assert!(read(b"[]").unwrap_err().to_string().contains("line 1"));
    }
}
