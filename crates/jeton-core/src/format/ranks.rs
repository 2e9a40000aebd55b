//! tiktoken's rank files: one token a line, `base64(bytes) rank`.
//!
//! Cost: one pass, no copy beside the tokens. Source: openai/tiktoken tiktoken/load.py.

use base64::prelude::{Engine, BASE64_STANDARD};

use crate::error::{Error, Result};
use crate::vocab::{Kind, Vocab, MAX_ID};

/// Reads a rank file into `(rank, bytes)`, in the file's order.
///
/// # Errors
/// [`Error::format`] with the line.
pub fn read(file: &[u8]) -> Result<Vec<(u32, Vec<u8>)>> {
    let mut tokens = Vec::with_capacity(file.len() / 16);
    for (number, line) in file.split(|&byte| byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        let wrong = |message: &str| Error::format(message, format!("line {}", number + 1));
        let mut fields = line.splitn(2, |&byte| byte == b' ');
        let (Some(spelled), Some(rank)) = (fields.next(), fields.next()) else {
            return Err(wrong("expected base64, a space and a rank"));
        };
        let bytes = BASE64_STANDARD.decode(spelled).map_err(|error| wrong(&format!("not base64: {error}")))?;
        if bytes.is_empty() {
            return Err(wrong("an empty token"));
        }
        let rank =
            std::str::from_utf8(rank).ok().and_then(|rank| rank.parse().ok()).filter(|&rank: &u32| rank <= MAX_ID);
        let rank = rank.ok_or_else(|| wrong("the rank is not a number between 0 and 2^24"))?;
        tokens.push((rank, bytes));
    }
    Ok(tokens)
}

/// Writes the ordinary entries of a vocabulary whose ids are ranks.
pub fn write(vocab: &Vocab) -> String {
    let mut file = String::new();
    for (id, kind, content) in vocab.iter() {
        if kind == Kind::Token {
            BASE64_STANDARD.encode_string(content, &mut file);
            file.push_str(&format!(" {id}\n"));
        }
    }
    file
}
