//! Reads and writes BERT's vocab.txt: one entry in each line; the id is the line number, from 0.
//!
//! Lines end in LF or CRLF. Blank lines are allowed only at the end of the file. A blank line between entries would be
//! an empty entry, and no text is encoded to the id of an empty entry.
//!
//! Cost: one pass. Source: huggingface/transformers `tokenization_bert.py` (`load_vocab`). Duplicate entries are an
//! error; in `transformers`, the later id of a duplicate silently replaces the earlier id.

use hashbrown::HashMap;

use crate::error::{Error, Result};
use crate::vocab::{Kind, List, Vocab, MAX_ID};

/// Maximum number of entries for which memory is allocated in advance. A file can have far fewer entries than lines,
/// because blank lines are not entries.
const MAX_RESERVED: usize = 1 << 17;

/// Content of a file.
#[derive(Debug, Default, PartialEq)]
pub struct VocabFile {
    /// Entries of the model.
    pub entries: List,
    /// True if an entry has an upper-case letter. Entries in brackets, such as `[CLS]`, are ignored.
    pub has_upper_case: bool,
}

/// Reads a file.
///
/// # Errors
/// [`Error::format`] with the number of the invalid line.
pub fn read(data: &[u8]) -> Result<VocabFile> {
    let mut file = VocabFile::default();
    let lines = data.iter().filter(|&&byte| byte == b'\n').count();
    let lines = (lines + 1).min(MAX_RESERVED);
    file.entries = List::with_capacity(lines);
    let mut seen: HashMap<&str, usize> = HashMap::with_capacity(lines);
    let mut blank = None;
    for (number, line) in (1..).zip(data.split(|&byte| byte == b'\n')) {
        let wrong = |message: String| Err(Error::format(message, format!("line {number}")));
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            blank = blank.or(Some(number));
            continue;
        }
        if let Some(blank) = blank {
            return Err(Error::format("a blank line between entries", format!("line {blank}")));
        }
        let Ok(text) = std::str::from_utf8(line) else {
            return wrong("not UTF-8".into());
        };
        if number - 1 > MAX_ID as usize {
            return wrong("more entries than any vocabulary has".into());
        }
        if let Some(other) = seen.insert(text, number) {
            return wrong(format!("{text:?} is also on line {other}"));
        }
        let is_name = text.starts_with('[') && text.ends_with(']');
        file.has_upper_case |= !is_name && has_upper_case(text);
        file.entries.push((number - 1) as u32, Kind::Token, line);
    }
    if file.entries.is_empty() {
        return Err(Error::format("no entries", "line 1"));
    }
    Ok(file)
}

fn has_upper_case(text: &str) -> bool {
    match text.is_ascii() {
        true => text.bytes().any(|byte| byte.is_ascii_uppercase()),
        false => text.chars().any(char::is_uppercase),
    }
}

/// Writes a vocabulary. The ids must be 0, 1, 2, … without gaps.
///
/// # Errors
/// [`Error::config`] if an id is missing, or if an entry is not one line of UTF-8 text.
pub fn write(vocab: &Vocab) -> Result<String> {
    let mut file = String::new();
    for (line, (id, _, content)) in (0..).zip(vocab.iter()) {
        if id != line {
            return Err(Error::config(format!("no token has the id {line}, and the ids of vocab.txt have no holes")));
        }
        match std::str::from_utf8(content) {
            Ok(text) if !text.contains(['\n', '\r']) => file.push_str(text),
            _ => {
                let spelled = crate::vocab::show(content);
                return Err(Error::config(format!("the token {spelled:?} with id {id} is not one line of text")));
            }
        }
        file.push('\n');
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn line_numbers_are_ids() {
        let file = read("[PAD]\r\n[UNK]\n##é\na\n\n".as_bytes()).unwrap();
        let ids: Vec<_> = file.entries.iter().map(|entry| (entry.0, entry.2)).collect();
        assert_eq!(ids, [(0, b"[PAD]".as_slice()), (1, b"[UNK]"), (2, "##é".as_bytes()), (3, b"a")]);
        assert!(!file.has_upper_case);
        assert!(read(b"[UNK]\n##\xc3\x89").unwrap().has_upper_case);
        let vocab = Vocab::new(file.entries.iter()).unwrap();
        assert_eq!(write(&vocab).unwrap(), "[PAD]\n[UNK]\n##é\na\n");
    }

    #[test]
    fn errors_name_the_line() {
        let refused = |data: &[u8]| read(data).unwrap_err().to_string();
        assert_eq!(refused(b"a\nb\na\n"), "\"a\" is also on line 1 (line 3)");
        assert_eq!(refused(b"a\n\n\nb\n"), "a blank line between entries (line 2)");
        assert_eq!(refused(b"a\n\xff\n"), "not UTF-8 (line 2)");
        assert_eq!(refused(b"\n\n"), "no entries (line 1)");
    }
}
