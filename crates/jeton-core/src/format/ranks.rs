//! Reads and writes tiktoken's rank files: one token in each line, `base64(bytes) rank`.
//!
//! Cost: one pass; only the tokens are copied. Source: openai/tiktoken tiktoken/load.py.

use base64::prelude::{Engine, BASE64_STANDARD};

use crate::error::{Error, Result};
use crate::model::bpe::Bpe;
use crate::util::cancel::KeepGoing;
use crate::vocab::alphabet::{Alphabet, EndOfWord, Level};
use crate::vocab::{Kind, List, Vocab, MAX_ID};

/// Reads a rank file. The id of a token is its rank; entries are in the order of the file.
///
/// # Errors
/// [`Error::format`] with the number of the invalid line.
pub fn read(file: &[u8]) -> Result<List> {
    let mut tokens = List::with_capacity(file.len() / 16);
    let mut taken: Vec<bool> = Vec::new(); // rank -> true if a line has this rank
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
        let number = std::str::from_utf8(rank).ok().and_then(|rank| rank.parse().ok());
        let rank = number.unwrap_or(u32::MAX);
        let bytes = tokens
            .push_with(rank, Kind::Token, |bytes| BASE64_STANDARD.decode_vec(spelled, bytes))
            .map_err(|_| wrong(&format!("{:?} is not base64", crate::vocab::show(spelled))))?;
        if bytes.is_empty() {
            return Err(wrong("an empty token"));
        }
        if rank > MAX_ID {
            return Err(wrong("the rank is not a number between 0 and 2^24"));
        }
        let at = rank as usize;
        taken.resize(taken.len().max(at + 1), false);
        if std::mem::replace(&mut taken[at], true) {
            return Err(wrong(&format!("the rank {rank} is given twice")));
        }
    }
    Ok(tokens)
}

/// Writes a rank file with the ordinary entries of a vocabulary. The id of an entry is written as the rank.
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

/// Returns the reason why a merge list is not equivalent to ranks; None if it is equivalent.
///
/// With ranks, adjacent tokens merge if their concatenation is a token; the pair that gives the lowest id merges first.
/// A merge list is equivalent under three conditions. First, the merges are in ascending order of the ids of their
/// results. Second, each token has the same last merge (left part, right part) in the list and with ranks. Comparing the
/// last merges suffices, because the merges inside a token do not depend on the text around the token. Third, if the
/// list has no merge for a token of several bytes, then ranks have no merge for this token either, and the model finds
/// the token by looking up whole pretokens first.
///
/// # Errors
/// `Interrupted` when `keep_going` returns false.
pub fn differs(vocab: &Vocab, model: &Bpe, keep_going: KeepGoing<'_>) -> Result<Option<String>> {
    let show = |id: u32| format!("{:?} (id {id})", crate::vocab::show(vocab.content(id)));
    for byte in 0..=255u8 {
        if vocab.find(&[byte], false).is_none() {
            return Ok(Some(format!("the byte 0x{byte:02x} has no token")));
        }
    }
    if let Some((id, ..)) = vocab.iter().find(|entry| !matches!(entry.1, Kind::Token | Kind::Added | Kind::Special)) {
        return Ok(Some(format!("{} is not an ordinary token", show(id))));
    }
    let merges = model.merges(vocab, keep_going)?;
    if let Some(pair) = merges.windows(2).find(|pair| pair[0].2 >= pair[1].2) {
        let (first, then) = (show(pair[0].2), show(pair[1].2));
        return Ok(Some(format!("{first} is merged before {then}, which has no higher id")));
    }
    let alphabet = Alphabet::of(vocab, Level::Byte, EndOfWord::None, None);
    let ranked = Bpe::from_ranks(vocab, alphabet).merges(vocab, keep_going)?;
    let mut listed = merges.iter().peekable();
    for merge in ranked {
        match listed.next_if(|listed| listed.2 <= merge.2) {
            Some(same) if *same == merge => {}
            Some(&(left, right, result)) if result == merge.2 => {
                return Ok(Some(format!(
                    "{} is merged from {} and {}; by rank it would be {} and {}",
                    show(result),
                    show(left),
                    show(right),
                    show(merge.0),
                    show(merge.1)
                )));
            }
            Some(&(_, _, result)) => {
                return Ok(Some(format!("by rank, no pair of tokens would become {}", show(result))))
            }
            None => return Ok(Some(format!("no merge produces {}, but ranks would", show(merge.2)))),
        }
    }
    if let Some(&(_, _, result)) = listed.next() {
        return Ok(Some(format!("by rank, no pair of tokens would become {}", show(result))));
    }
    if !model.whole_first() {
        let made = |id| merges.binary_search_by_key(&id, |merge| merge.2).is_ok();
        let unmade = vocab.iter().find(|&(id, kind, text)| kind == Kind::Token && text.len() > 1 && !made(id));
        if let Some((id, ..)) = unmade {
            return Ok(Some(format!("no merge produces {}, but a rank file would match it as a whole", show(id))));
        }
    }
    Ok(None)
}
