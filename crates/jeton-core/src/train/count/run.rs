//! Byte format of sorted counts, for spilled runs and for files of counts.
//!
//! ```text
//! entry      shared | rest | bytes | count | first      pretokens in ascending order, front-coded
//! trailer    entries: u64 | occurrences: u64 | CRC-32 of all preceding bytes: u32 | "JTR1"      little-endian
//! ```
//!
//! The four integers of an entry are LEB128. A pretoken consists of the first `shared` bytes of the previous pretoken
//! and of `rest` further bytes. `first` is the first position of the pretoken in the corpus.
//!
//! Invariant: [`RunReader`] validates each entry before returning it; before it reports the end, it also validates the
//! order, the sums and the checksum of all entries. The memory for a pretoken grows only with the bytes that were read
//! from the file.
//!
//! Cost: 10 to 20 bytes for each entry; one pass.
//! Source: front coding as in Witten, Moffat and Bell, Managing Gigabytes, section 4.1.
//! Left out: compression, and random access.

use std::io::{Read, Write};

use prost::encoding::encode_varint;

use crate::error::{Error, Result};

const MAGIC: &[u8; 4] = b"JTR1";

/// Length of the trailer in bytes.
pub const END: u64 = 24;

/// Iterator over pretokens with their counts, in byte order.
pub trait Source {
    /// Writes the next pretoken to `pretoken`, which must still contain the previous one. Returns the count and first
    /// position of the written pretoken, or None at the end.
    ///
    /// # Errors
    /// I/O errors; [`Error::format`] for invalid data.
    fn next(&mut self, pretoken: &mut Vec<u8>) -> Result<Option<(u64, u64)>>;
}

/// State of the checksum CRC-32 as in zlib, updated byte by byte.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crc(u32);

const CRC_STEPS: [u32; 256] = {
    let mut steps = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            crc = if crc & 1 != 0 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
            bit += 1;
        }
        steps[byte] = crc;
        byte += 1;
    }
    steps
};

impl Crc {
    pub(super) const NEW: Self = Self(!0);

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |crc, &byte| crc >> 8 ^ CRC_STEPS[usize::from(crc as u8 ^ byte)]);
    }

    pub(super) fn value(self) -> u32 {
        !self.0
    }
}

/// Maximum length of the prefix that an entry shares with the previous one. This limits the expansion of an untrusted
/// file to about ten times its size.
const MOST_SHARED: usize = 64;

/// Writer of a run, entry by entry.
#[derive(Debug)]
pub struct RunWriter<W> {
    out: W,
    crc: Crc,
    last: Vec<u8>,
    entries: u64,
    occurrences: u64,
    bytes: Vec<u8>, // buffer of one entry
}

impl<W: Write> RunWriter<W> {
    /// Creates a writer to `out`, which should be buffered.
    pub fn new(out: W) -> Self {
        Self { out, crc: Crc::NEW, last: Vec::new(), entries: 0, occurrences: 0, bytes: Vec::new() }
    }

    /// Writes the next entry in byte order.
    ///
    /// # Errors
    /// I/O errors.
    pub fn push(&mut self, pretoken: &[u8], count: u64, first: u64) -> Result<()> {
        let shared = self.last.iter().zip(pretoken).take(MOST_SHARED).take_while(|(last, own)| last == own).count();
        let rest = &pretoken[shared..];
        self.bytes.clear();
        encode_varint(shared as u64, &mut self.bytes);
        encode_varint(rest.len() as u64, &mut self.bytes);
        self.bytes.extend_from_slice(rest);
        encode_varint(count, &mut self.bytes);
        encode_varint(first, &mut self.bytes);
        self.crc.add(&self.bytes);
        self.out.write_all(&self.bytes)?;
        self.last.truncate(shared);
        self.last.extend_from_slice(rest);
        self.entries += 1;
        self.occurrences = self.occurrences.saturating_add(count);
        Ok(())
    }

    /// Writes the trailer, and returns the destination.
    ///
    /// # Errors
    /// I/O errors.
    pub fn finish(mut self) -> Result<W> {
        let mut end = [self.entries.to_le_bytes(), self.occurrences.to_le_bytes()].concat();
        self.crc.add(&end);
        end.extend_from_slice(&self.crc.value().to_le_bytes());
        end.extend_from_slice(MAGIC);
        self.out.write_all(&end)?;
        Ok(self.out)
    }
}

/// Reader of a run, entry by entry.
#[derive(Debug)]
pub struct RunReader<R> {
    input: R,
    left: u64, // number of bytes of entries that have not been read
    at: u64,
    crc: Crc,
    entries: u64,
    occurrences: u64,
}

impl<R: Read> RunReader<R> {
    /// Creates a reader of `input`, which should be buffered. The entries and the trailer have `len` bytes in total.
    ///
    /// # Errors
    /// [`Error::format`] if `len` is too short.
    pub fn new(input: R, len: u64) -> Result<Self> {
        let left = len.checked_sub(END).ok_or_else(|| Error::format("counts that end too early", "byte 0"))?;
        Ok(Self { input, left, at: 0, crc: Crc::NEW, entries: 0, occurrences: 0 })
    }

    fn wrong(&self, what: &str) -> Error {
        Error::format(format!("damaged counts: {what}"), format!("byte {} of the entries", self.at))
    }

    fn byte(&mut self) -> Result<u8> {
        let mut byte = [0];
        if self.left == 0 {
            return Err(self.wrong("an entry ends too early"));
        }
        self.fill(&mut byte)?;
        Ok(byte[0])
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.input.read_exact(bytes).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => self.wrong("the file ends too early"),
            _ => error.into(),
        })?;
        self.crc.add(bytes);
        self.at += bytes.len() as u64;
        self.left = self.left.saturating_sub(bytes.len() as u64);
        Ok(())
    }

    fn integer(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.wrong("an integer of more than 64 bits"))
    }

    /// Reads and validates the trailer.
    fn end(&mut self) -> Result<()> {
        let mut end = [0; END as usize];
        let (sums, rest) = end.split_at_mut(16);
        self.fill(sums)?;
        let crc = self.crc.value();
        self.fill(rest)?;
        let written = [self.entries.to_le_bytes(), self.occurrences.to_le_bytes()].concat();
        if end[..16] != written || end[16..20] != crc.to_le_bytes() || &end[20..] != MAGIC {
            return Err(self.wrong("the checksum is wrong"));
        }
        Ok(())
    }
}

impl<R: Read> Source for RunReader<R> {
    fn next(&mut self, pretoken: &mut Vec<u8>) -> Result<Option<(u64, u64)>> {
        if self.left == 0 {
            return self.end().map(|()| None);
        }
        let (shared, rest) = (self.integer()?, self.integer()?);
        if shared > pretoken.len().min(MOST_SHARED) as u64 || rest > self.left || rest == 0 {
            return Err(self.wrong("an impossible pretoken length"));
        }
        let shared = shared as usize;
        // The first `shared` bytes of both pretokens are equal, so the next byte decides their order. If `shared` is
        // `MOST_SHARED`, further bytes can be equal, so all bytes are compared.
        let decide = if shared == MOST_SHARED { usize::MAX } else { 1 };
        let rest_of_last: Vec<u8> = pretoken[shared..].iter().copied().take(decide).collect();
        pretoken.truncate(shared);
        let mut rest = rest as usize;
        while rest > 0 {
            let (before, step) = (pretoken.len(), rest.min(1 << 16)); // the file may be shorter than `rest` claims
            pretoken.resize(before + step, 0);
            self.fill(&mut pretoken[before..])?;
            rest -= step;
        }
        if pretoken[shared..].iter().take(decide).le(&rest_of_last) {
            return Err(self.wrong("pretokens out of order"));
        }
        let (count, first) = (self.integer()?, self.integer()?);
        self.entries += 1;
        self.occurrences = self.occurrences.saturating_add(count);
        Ok(Some((count, first)))
    }
}
