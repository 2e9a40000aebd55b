//! Bundle: the file format of a tokenizer for the page. `tools/page/bundle.py` writes it from any tokenizer that Jeton
//! loads.
//!
//! ```text
//! "jeton 1\n"    8 bytes
//! u32            length of the header
//! header         JSON: Header
//! columns        ids (each minus (the previous id + 1)), kinds (a byte), lengths and bytes of the contents;
//!                left, right and result ids of the merges (each result minus (the previous result + 1), in zigzag);
//!                scores (f64); ids of flagged entries (u32) and their flags (a byte)
//! ```
//!
//! Integers without a stated type are LEB128; the others are little-endian.

use jeton_core::error::{Error, Result};
use jeton_core::tokenizer::Extras;
use jeton_core::vocab::{Kind, List};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::engine::Facts;

const MAGIC: &[u8] = b"jeton 1\n";

/// The JSON header of a bundle, which precedes the columns.
#[derive(Deserialize)]
pub struct Header {
    /// A `Definition` as the core reads it.
    pub options: Box<RawValue>,
    /// Properties that the API needs and the core does not have.
    pub facts: Facts,
    entries: usize,
    merges: usize,
    scores: usize,
    flags: usize,
}

/// A tokenizer that was read but not built yet.
pub struct Bundle {
    /// Options and facts of the tokenizer.
    pub header: Header,
    /// Entries of the vocabulary.
    pub entries: List,
    /// Merges, scores and flags of the vocabulary.
    pub extras: Extras,
}

/// Reads a bundle.
///
/// # Errors
/// [`Error::format`] for a file that is not a bundle, or that ends too early.
pub fn read(file: &[u8]) -> Result<Bundle> {
    let mut rest = Rest { file, at: 0 };
    if rest.take(MAGIC.len())? != MAGIC {
        return Err(Error::format("this is not a bundle of this version", "byte 0"));
    }
    let len = u32::from_le_bytes(rest.array()?) as usize;
    let header: Header =
        serde_json::from_slice(rest.take(len)?).map_err(|error| Error::format(error.to_string(), "header"))?;
    let n = header.entries;
    let mut ids = Vec::new();
    let mut next = 0u32;
    for _ in 0..n {
        let id = next.wrapping_add(rest.number()?);
        next = id.wrapping_add(1);
        ids.push(id);
    }
    let kinds = rest.take(n)?;
    let lengths = rest.numbers(n)?;
    let mut entries = List::with_capacity(n);
    for ((id, kind), length) in ids.into_iter().zip(kinds).zip(lengths) {
        let kind = Kind::from_u8(*kind).ok_or_else(|| rest.wrong("no kind of entries has this number"))?;
        entries.push(id, kind, rest.take(length as usize)?);
    }
    let (lefts, rights) = (rest.numbers(header.merges)?, rest.numbers(header.merges)?);
    let mut merges = Vec::with_capacity(lefts.len());
    let mut next = 0u32;
    for (left, right) in lefts.into_iter().zip(rights) {
        let step = rest.number()?;
        let result = next.wrapping_add((step >> 1) ^ (step & 1).wrapping_neg());
        next = result.wrapping_add(1);
        merges.push((left, right, result));
    }
    let scores = (0..header.scores).map(|_| Ok(f64::from_le_bytes(rest.array()?))).collect::<Result<_>>()?;
    let flagged = (0..header.flags).map(|_| Ok(u32::from_le_bytes(rest.array()?))).collect::<Result<Vec<_>>>()?;
    let flags = flagged.into_iter().zip(rest.take(header.flags)?.iter().copied()).collect();
    if rest.at != file.len() {
        return Err(rest.wrong("bytes follow the last column"));
    }
    Ok(Bundle { header, entries, extras: Extras { merges, scores, flags } })
}

/// The bytes that have not been read yet.
struct Rest<'f> {
    file: &'f [u8],
    at: usize,
}

impl<'f> Rest<'f> {
    fn wrong(&self, message: &str) -> Error {
        Error::format(message, format!("byte {}", self.at))
    }

    fn take(&mut self, len: usize) -> Result<&'f [u8]> {
        let end = self.at.checked_add(len).filter(|&end| end <= self.file.len());
        let end = end.ok_or_else(|| self.wrong("the file ends too early"))?;
        Ok(&self.file[std::mem::replace(&mut self.at, end)..end])
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }

    fn number(&mut self) -> Result<u32> {
        let mut number = 0;
        for shift in (0..32).step_by(7) {
            let [byte] = self.array()?;
            number |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.wrong("a number has more than 32 bits"))
    }

    fn numbers(&mut self, n: usize) -> Result<Vec<u32>> {
        (0..n).map(|_| self.number()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Vec<u8> {
        let header = br#"{"options": {}, "facts": {"kind": "BPE", "is_byte_level": true, "by_chars": false, "end_of_word": null, "unk_id": null,
            "chat": false}, "entries": 3, "merges": 1, "scores": 1, "flags": 1}"#;
        let mut file = MAGIC.to_vec();
        file.extend((header.len() as u32).to_le_bytes());
        file.extend(header);
        file.extend([97, 0, 0xa9, 1]); // ids 97, 98, 268
        file.extend([1, 1, 1, 1, 1, 2]); // kinds, lengths
        file.extend(b"abab");
        file.extend([97, 98, 0x98, 4]); // left, right, result
        file.extend(1.5f64.to_le_bytes());
        file.extend(98u32.to_le_bytes());
        file.push(2);
        file
    }

    #[test]
    fn bundle_columns_become_entries_and_merges() {
        let Ok(Bundle { entries, extras, .. }) = read(&file()) else { unreachable!("the file is a bundle") };
        let ids: Vec<_> = entries.iter().map(|(id, _, content)| (id, content)).collect();
        assert_eq!(ids, [(97, &b"a"[..]), (98, b"b"), (268, b"ab")]);
        assert_eq!((extras.merges, extras.scores, extras.flags), (vec![(97, 98, 268)], vec![1.5], vec![(98, 2)]));
    }

    #[test]
    fn every_truncation_is_an_error() {
        let file = file();
        assert!((0..file.len()).all(|end| read(&file[..end]).is_err()));
        assert!(read(&[&file[..], b"x"].concat()).is_err());
    }
}
