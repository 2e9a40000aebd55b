//! Subtraction and scaling of counts; reading and writing of counts in the byte format of `run`.

use std::io::{Read, Write};

use super::merge::{Dropped, Sink};
use super::run::{Crc, RunReader, RunWriter, Source};
use super::table::Counts;
use crate::error::{Error, Result};
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::util::spill::MemoryLimit;

impl Counts {
    /// Subtracts the counts of `other` and removes pretokens whose count becomes 0. The remaining pretokens keep their
    /// order.
    ///
    /// # Errors
    /// [`Error::config`] that states both counts, for a pretoken that occurs more often in `other`; `Interrupted`.
    /// After an error the counts are invalid.
    pub fn subtract(&mut self, other: &Self, keep_going: KeepGoing<'_>) -> Result<()> {
        let mut cancel = CancelCheck::new(keep_going);
        for (pretoken, count) in other.iter().filter(|&(_, count)| count > 0) {
            cancel.check()?;
            self.take_away(pretoken, count).map_err(|own| {
                let pretoken = String::from_utf8_lossy(pretoken);
                Error::config(format!(
                    "the pretoken {pretoken:?} was counted {own} times; {count} cannot be subtracted"
                ))
            })?;
        }
        self.retain(keep_going, |_, count| *count > 0)
    }

    /// Returns a checksum: the CRC-32 of all pretokens with their counts, in order.
    pub fn checksum(&self) -> u32 {
        let mut crc = Crc::NEW;
        for (pretoken, count) in self.iter() {
            crc.add(&(pretoken.len() as u64).to_le_bytes());
            crc.add(pretoken);
            crc.add(&count.to_le_bytes());
        }
        crc.value()
    }

    /// Multiplies every count by `numerator` / `denominator`, rounded half to even, and removes pretokens whose count
    /// becomes 0.
    ///
    /// # Errors
    /// [`Error::config`] for a denominator of 0, [`Error::training`] for a count of 2⁶⁴; `Interrupted`. After an
    /// error the counts are invalid.
    pub fn scale(&mut self, numerator: u64, denominator: u64, keep_going: KeepGoing<'_>) -> Result<()> {
        let by = u128::from(denominator);
        if by == 0 {
            return Err(Error::config("a weight cannot have the denominator 0"));
        }
        let mut overflows = false;
        self.retain(keep_going, |_, count| {
            let product = u128::from(*count) * u128::from(numerator);
            let (whole, rest) = (product / by, product % by);
            let up = 2 * rest > by || 2 * rest == by && whole % 2 == 1;
            let scaled = u64::try_from(whole + u128::from(up));
            overflows |= scaled.is_err();
            *count = scaled.unwrap_or(u64::MAX);
            *count > 0
        })?;
        if overflows {
            return Err(Error::training("a count exceeds 2^64"));
        }
        Ok(())
    }

    /// Drops pretokens with a count below `min_count`; returns the totals of the dropped ones.
    ///
    /// # Errors
    /// `Interrupted`, after which the counts are invalid.
    pub fn drop_rare(&mut self, min_count: u64, keep_going: KeepGoing<'_>) -> Result<Dropped> {
        let mut dropped = Dropped::default();
        self.retain(keep_going, |pretoken, count| dropped.keeps(pretoken, *count, min_count))?;
        Ok(dropped)
    }

    /// Reads the output of [`Counts::write`]: the next `len` bytes of `input`, which should be buffered. For each
    /// pretoken, the position of its first occurrence must be below `end`.
    ///
    /// # Errors
    /// I/O errors; [`Error::format`] for invalid data; `Interrupted`.
    pub fn read(input: impl Read, len: u64, end: u64, memory: &MemoryLimit, keep_going: KeepGoing<'_>) -> Result<Self> {
        let (mut counts, mut pretoken) = (Self::within(memory), Vec::new());
        let mut cancel = CancelCheck::new(keep_going);
        let mut run = RunReader::new(input, len)?;
        while let Some((count, first)) = run.next(&mut pretoken)? {
            cancel.check()?;
            if first >= end {
                return Err(Error::format("damaged counts: a position after the last one", "the entries"));
            }
            counts.take(&pretoken, count, first)?;
        }
        counts.sort_by_place()?;
        counts.ends_at(end);
        Ok(counts)
    }

    /// Writes the entries, sorted by the bytes of their pretokens. For this, the table is copied and the copy sorted;
    /// the copy spills to files if it exceeds the memory limit.
    ///
    /// # Errors
    /// I/O errors; as [`Counts::copy`].
    pub fn write(&self, out: impl Write, memory: &MemoryLimit, keep_going: KeepGoing<'_>) -> Result<()> {
        let mut sorted = self.copy(memory, keep_going)?;
        sorted.sort_by_bytes();
        let (mut entries, mut pretoken) = (sorted.sorted(), Vec::new());
        let mut writer = RunWriter::new(out);
        let mut cancel = CancelCheck::new(keep_going);
        while let Some((count, first)) = entries.next(&mut pretoken)? {
            cancel.check()?;
            writer.push(&pretoken, count, first)?;
        }
        writer.finish()?.flush()?;
        Ok(())
    }
}
