//! Reads and writes GPT-2's pair of files: `encoder.json` (spelling → id) and `vocab.bpe` (one merge in each line),
//! also called `vocab.json` and `merges.txt`.
//!
//! All lines that begin with `#version` are skipped; each other line has two tokens separated by one space. Tokens are
//! returned as spelled; the caller converts spellings (byte alphabet, end-of-word mark).
//!
//! Cost: one pass over each file. Source: openai/gpt-2 `src/encoder.py`; huggingface/tokenizers `models/bpe/model.rs`
//! (meaning of lines).

use hashbrown::HashSet;

use super::hf_json::{self, Spelling};
use crate::error::{Error, Result};
use crate::vocab::{Vocab, MAX_ID};

/// Reads both files into the members of a `tokenizer.json`.
///
/// # Errors
/// [`Error::format`] with the number of the invalid line, or the path of the invalid value in the vocabulary.
pub fn read(vocab: &[u8], merges: &[u8]) -> Result<hf_json::TokenizerFile> {
    let vocab = hf_json::read_vocab(vocab)?;
    check_ids(&vocab)?;
    let mut pairs = HashSet::new();
    let mut resolved = Vec::with_capacity(merges.len() / 8);
    let mut joined = String::new();
    let merges = merges.strip_suffix(b"\n").unwrap_or(merges);
    for (number, line) in (1..).zip(merges.split(|&byte| byte == b'\n')) {
        let wrong = |message: String| Error::format(message, format!("merges, line {number}"));
        let line = std::str::from_utf8(line).map_err(|_| wrong("not UTF-8".into()))?;
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.starts_with("#version") || (line.is_empty() && number == 1) {
            continue;
        }
        let (left, right) = match line.split_once(' ') {
            Some((left, right)) if !left.is_empty() && !right.is_empty() && !right.contains(' ') => (left, right),
            _ => return Err(wrong(format!("expected two tokens with one space between them, not {:?}", short(line)))),
        };
        joined.clear();
        joined.push_str(left);
        joined.push_str(right);
        let find =
            |token: &str| vocab.id(token).ok_or_else(|| wrong(format!("{:?} is not in the vocabulary", short(token))));
        let merge = (find(left)?, find(right)?, find(&joined)?);
        if !pairs.insert((merge.0, merge.1)) {
            return Err(wrong("the pair is listed twice".into()));
        }
        resolved.push(merge);
    }
    Ok(hf_json::TokenizerFile { rest: "{}".into(), vocab, merges: resolved, has_merges: true })
}

/// Returns an error for ids out of range and for duplicate ids.
fn check_ids(vocab: &hf_json::VocabColumns) -> Result<()> {
    let mut taken = HashSet::with_capacity(vocab.ids.len());
    for (&id, token) in vocab.ids.iter().zip(vocab.tokens.iter()) {
        let wrong = |message: String| Err(Error::format(message, format!("vocabulary, $[{:?}]", short(token))));
        if id > MAX_ID {
            return wrong(format!("id {id} is over the highest possible id, {MAX_ID}"));
        }
        if !taken.insert(id) {
            return wrong(format!("id {id} is given twice"));
        }
    }
    Ok(())
}

fn short(text: &str) -> String {
    crate::vocab::show(text.as_bytes())
}

/// Returns the text of `merges.txt`: the version, then one line for each merge.
///
/// # Errors
/// [`Error::config`] for a token that is not UTF-8, and for a merge that cannot be written on a line of its own.
pub fn write(vocab: &Vocab, merges: &[(u32, u32, u32)], spelling: &Spelling<'_>) -> Result<String> {
    let mut file = String::from("#version: 0.2\n");
    for (i, &(left, right, _)) in merges.iter().enumerate() {
        let token = |id: u32| spelling.write(vocab.kind(id), vocab.content(id));
        let line = format!("{} {}", token(left)?, token(right)?);
        if line.contains(['\n', '\r']) || line.matches(' ').count() != 1 || line.starts_with("#version") {
            return Err(Error::config(format!(
                "merge {i}, {:?}, cannot be written on a line of its own",
                short(&line)
            )));
        }
        file.push_str(&line);
        file.push('\n');
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::vocab::Kind;

    const VOCAB: &[u8] = br###"{"a": 0, "b": 1, "ab": 2, "#": 3, "##": 4}"###;

    #[test]
    fn a_pair_is_read_and_written() {
        for text in ["#version: 0.2\na b\n# #\n", "a b\r\n# #\r\n", "a b\n#version\n# #", "\na b\n# #\n"] {
            let file = read(VOCAB, text.as_bytes()).unwrap();
            assert_eq!(file.merges, [(0, 1, 2), (3, 3, 4)], "{text:?}");
            assert_eq!(file.vocab.id("ab"), Some(2));
        }
        let file = read(VOCAB, b"a b\n# #\n").unwrap();
        let entries =
            file.vocab.ids.iter().zip(file.vocab.tokens.iter()).map(|(&id, t)| (id, Kind::Token, t.as_bytes()));
        let vocab = Vocab::new(entries).unwrap();
        let spelling = Spelling { byte_alphabet: true, end_of_word: "" };
        assert_eq!(write(&vocab, &file.merges, &spelling).unwrap(), "#version: 0.2\na b\n# #\n");
    }

    #[test]
    fn errors_name_the_line() {
        let refused = |merges: &[u8]| read(VOCAB, merges).unwrap_err().to_string();
        assert_eq!(refused(b"a b\na c\n"), "\"c\" is not in the vocabulary (merges, line 2)");
        assert!(refused(b"a b\n\n# #\n").contains("two tokens"));
        assert!(refused(b"a b\n# # \n").contains("two tokens"));
        assert!(refused(b"a\n").contains("line 1"));
        assert!(refused(b"a \xff\n").contains("not UTF-8 (merges, line 1)"));
        assert_eq!(refused(b"a b\na b\n"), "the pair is listed twice (merges, line 2)");
        assert!(read(br#"{"a": 0, "b": 0}"#, b"").unwrap_err().to_string().contains("$[\"b\"]"));
        assert!(read(b"[1]", b"").unwrap_err().to_string().contains("line 1"));
        assert!(read(br#"{"a": 0, "a": 1}"#, b"").unwrap_err().to_string().contains("twice"));
    }
}
