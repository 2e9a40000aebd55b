//! Decoding of many sequences of ids, on several threads.
//!
//! Invariant: each row equals the result of [`Tokenizer::decode`] or [`Tokenizer::decode_text`], for any number of
//! threads. Cost: linear. The rows that one thread decodes share a buffer.

use super::Tokenizer;
use crate::error::{Error, ErrorKind, Result};
use crate::parallel;
use crate::util::cancel::{KeepGoing, KeepGoingMut};

/// Number of ids that a thread decodes in one unit of work, which takes some tens of microseconds.
const PART: usize = 1 << 14;

/// Decoded bytes of consecutive sequences, concatenated.
#[derive(Debug, Clone, Default)]
pub struct DecodedRows {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl DecodedRows {
    /// Returns the bytes of each sequence.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end])
    }
}

impl Tokenizer {
    /// Decodes many sequences of ids, to bytes or, with `as_text`, to valid UTF-8.
    ///
    /// # Errors
    /// The index of the first sequence that failed, and the error of [`Tokenizer::decode`] for this sequence. If
    /// `watch` stops the work, the error is `Interrupted`, and the index has no meaning.
    pub fn decode_batch(
        &self,
        rows: &[&[u32]],
        skip_special: bool,
        as_text: bool,
        threads: usize,
        watch: KeepGoingMut<'_>,
    ) -> std::result::Result<Vec<DecodedRows>, (usize, Error)> {
        let mut groups = Vec::new();
        let (mut start, mut size) = (0, 0);
        for (index, row) in rows.iter().enumerate() {
            size += row.len() + 1; // decoding an empty row also takes time
            if size >= PART || index + 1 == rows.len() {
                groups.push(start..index + 1);
                (start, size) = (index + 1, 0);
            }
        }
        let work = |group: usize, keep_going: KeepGoing<'_>| {
            let mut decoded = DecodedRows::default();
            for (index, ids) in groups[group].clone().zip(&rows[groups[group].clone()]) {
                if let Err(error) = self.append_decoded(ids, skip_special, as_text, &mut decoded.bytes) {
                    return Ok(Err((index, error)));
                }
                decoded.ends.push(decoded.bytes.len());
                if !keep_going() {
                    return Err(ErrorKind::Interrupted.into());
                }
            }
            Ok(Ok(decoded))
        };
        let results = parallel::jobs(groups.len(), threads, watch, work);
        groups.iter().zip(results).map(|(group, done)| done.map_err(|error| (group.start, error))?).collect()
    }

    fn append_decoded(&self, ids: &[u32], skip_special: bool, as_text: bool, out: &mut Vec<u8>) -> Result<()> {
        if as_text {
            out.extend_from_slice(self.decode_text(ids, skip_special)?.as_bytes());
            return Ok(());
        }
        let decoded = self.decode(ids, skip_special)?;
        let start = out.len();
        out.resize(start + decoded.len(), 0);
        decoded.write(&mut out[start..]);
        Ok(())
    }
}
