//! Sequences of symbols in a file that is written once and read sequentially.
//!
//! ```text
//! sequence    weight | number of symbols | ids      two integers in LEB128; ids little-endian, each in `width` bytes
//! ```
//!
//! Cost: one to four bytes for each symbol, depending on the highest id, and about two bytes for each sequence. Pages
//! are released as soon as they are written or read, so a file of any size takes some megabytes of memory. Left out:
//! random access.

use prost::encoding::{decode_varint, encode_varint};

use super::layout::Sequences;
use crate::error::{ErrorKind, Result};
use crate::util::spill::{MemoryLimit, SpillVec};

/// Number of bytes that are written or read before their pages are released.
const CHUNK: usize = 1 << 20;

/// Sequences in a file, or in memory if they take less than a megabyte.
#[derive(Debug)]
pub struct SequenceFile {
    bytes: SpillVec<u8>,
    chunk: Vec<u8>, // buffer, appended to `bytes` when it is full
    /// Number of bytes of each id.
    pub width: usize,
    /// Number of symbols in the file.
    pub num_symbols: usize,
    /// Number of sequences in the file.
    pub num_sequences: usize,
}

/// Returns the number of bytes that ids below `num_ids` need.
fn width(num_ids: usize) -> usize {
    match num_ids {
        0..=0x100 => 1,
        0x101..=0x1_0000 => 2,
        0x1_0001..=0x100_0000 => 3,
        _ => 4,
    }
}

/// Appends an id in `width` bytes.
#[inline]
pub fn push_id(bytes: &mut Vec<u8>, id: u32, width: usize) {
    bytes.extend_from_slice(&id.to_le_bytes()[..width]);
}

/// Reads ids of `width` bytes each from `bytes`, and appends them to `ids`.
#[inline]
pub fn read_ids(bytes: &[u8], width: usize, ids: &mut Vec<u32>) {
    match width {
        1 => ids.extend(bytes.iter().map(|&byte| u32::from(byte))),
        2 => ids.extend(bytes.as_chunks::<2>().0.iter().map(|&id| u32::from(u16::from_le_bytes(id)))),
        3 => ids.extend(bytes.as_chunks::<3>().0.iter().map(|&[a, b, c]| u32::from_le_bytes([a, b, c, 0]))),
        _ => ids.extend(bytes.as_chunks::<4>().0.iter().map(|&id| u32::from_le_bytes(id))),
    }
}

impl SequenceFile {
    /// Creates an empty file for ids below `num_ids`.
    pub fn new(num_ids: usize, memory: &MemoryLimit) -> Self {
        let bytes = SpillVec::new(&memory.in_files());
        Self { bytes, chunk: Vec::new(), width: width(num_ids), num_symbols: 0, num_sequences: 0 }
    }

    fn flush(&mut self) -> Result<()> {
        self.bytes.extend_from_slice(&self.chunk)?;
        self.bytes.release();
        self.chunk.clear();
        Ok(())
    }

    /// Writes the rest of the buffer, and returns the file for reading.
    ///
    /// # Errors
    /// I/O errors.
    pub fn finish(mut self) -> Result<Self> {
        self.flush()?;
        self.chunk = Vec::new();
        Ok(self)
    }

    /// Calls `each` for each sequence, in order. `each` gets the ids (which it may change), the weight, and the
    /// position of the sequence in the file, as a fraction from 0 to 1.
    ///
    /// # Errors
    /// Errors of `each`.
    pub fn for_each(&self, mut each: impl FnMut(&mut Vec<u32>, u64, f64) -> Result<()>) -> Result<()> {
        let corrupt = || ErrorKind::Internal("a sequence that ends too early".into());
        let (mut ids, mut released) = (Vec::new(), 0);
        let mut left = &*self.bytes;
        while !left.is_empty() {
            let at = self.bytes.len() - left.len();
            let mut integer = || decode_varint(&mut left).map_err(|_| corrupt());
            let (weight, len) = (integer()?, integer()?);
            let (symbols, rest) = left.split_at_checked(len as usize * self.width).ok_or_else(corrupt)?;
            ids.clear();
            read_ids(symbols, self.width, &mut ids);
            each(&mut ids, weight, at as f64 / self.bytes.len() as f64)?;
            left = rest;
            if at - released >= CHUNK {
                self.bytes.release();
                released = at;
            }
        }
        self.bytes.release();
        Ok(())
    }
}

impl Sequences for SequenceFile {
    fn reserve(&mut self, _: usize, _: usize) -> Result<()> {
        Ok(())
    }

    #[inline]
    fn push(&mut self, ids: impl ExactSizeIterator<Item = u32>, weight: u64) -> Result<()> {
        self.num_symbols += ids.len();
        self.num_sequences += 1;
        encode_varint(weight, &mut self.chunk);
        encode_varint(ids.len() as u64, &mut self.chunk);
        ids.for_each(|id| push_id(&mut self.chunk, id, self.width));
        if self.chunk.len() >= CHUNK {
            self.flush()?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn reading_gives_the_written_sequences() {
        for num_ids in [2, 256, 257, 1 << 16, (1 << 16) + 1, 1 << 24, (1 << 24) + 1, u32::MAX as usize] {
            let last = num_ids as u32 - 1;
            let written = [(vec![0, last], 1), (vec![last; 300], u64::MAX), (vec![last / 2, 1], 1 << 35)];
            let mut file = SequenceFile::new(num_ids, &MemoryLimit::unlimited());
            written.iter().for_each(|(ids, weight)| file.push(ids.iter().copied(), *weight).unwrap());
            let (file, mut read) = (file.finish().unwrap(), Vec::new());
            let mut push = |ids: &mut Vec<u32>, weight| read.push((ids.clone(), weight));
            file.for_each(|ids, weight, _| {
                push(ids, weight);
                Ok(())
            })
            .unwrap();
            assert_eq!(read, written);
            assert_eq!((file.num_sequences, file.num_symbols), (3, 304));
        }
    }
}
