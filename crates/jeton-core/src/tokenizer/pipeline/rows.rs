//! Makes rows of ids, in the form in which shard files contain them: the concatenated ids of many texts, in the integer
//! type of the file, with constant ids before and after each text.
//!
//! Texts that encode to no ids can be dropped. Cost: one more pass over the ids after encoding.

use super::fast_path::Input;
use super::permit::Permit;
use super::Tokenizer;
use crate::error::{Error, ErrorKind, Result};
use crate::util::alloc;
use crate::util::buffer_pool;
use crate::util::cancel::KeepGoingMut;

/// Integer type of the ids in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdType {
    /// `u16`
    Uint16,
    /// `i32`
    Int32,
    /// `u32`
    Uint32,
}

/// Ids in the integer type of a file. `i32` ids are stored as `u32` with the same bits.
#[derive(Debug)]
pub enum FileIds {
    /// `u16`
    Short(Vec<u16>),
    /// `i32` or `u32`
    Wide(Vec<u32>),
}

/// Form of the rows: integer type, and ids around each text.
#[derive(Debug, Clone, Copy)]
pub struct RowForm<'a> {
    /// Integer type of the ids.
    pub id_type: IdType,
    /// Ids that precede the ids of each text.
    pub before: &'a [u32],
    /// Ids that follow the ids of each text.
    pub after: &'a [u32],
    /// True to drop texts that encode to no ids. Otherwise, the rows of such texts contain only `before` and `after`.
    pub drops_empty: bool,
}

/// Rows of a batch of texts.
#[derive(Debug)]
pub struct Rows {
    /// Concatenated ids of all rows.
    pub ids: FileIds,
    /// Number of ids of each row.
    pub lengths: Vec<i64>,
    /// Indices of the texts that were dropped, ascending.
    pub dropped: Vec<usize>,
    /// Highest id; None if there are no ids.
    pub highest: Option<u32>,
}

impl IdType {
    fn max(self) -> u32 {
        match self {
            Self::Uint16 => u32::from(u16::MAX),
            Self::Int32 => i32::MAX as u32,
            Self::Uint32 => u32::MAX,
        }
    }
}

impl Tokenizer {
    /// Encodes many texts.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_batch`]; [`Error::config`] for an id that does not fit the type.
    pub fn encode_rows(
        &self,
        texts: &[Input<'_>],
        permit: &Permit<'_>,
        form: &RowForm<'_>,
        threads: usize,
        watch: KeepGoingMut<'_>,
    ) -> std::result::Result<Rows, (usize, Error)> {
        let (ids, offsets) = self.encode_batch(texts, permit, threads, watch)?;
        let rows = rows(ids, &offsets, form);
        buffer_pool::OFFSETS.keep(offsets);
        rows.map_err(|error| (0, error))
    }
}

fn rows(ids: Vec<u32>, offsets: &[i64], form: &RowForm<'_>) -> Result<Rows> {
    let num_added = form.before.len() + form.after.len();
    let mut lengths = alloc::with_capacity(offsets.len().saturating_sub(1))?;
    let mut dropped = Vec::new();
    for (text, range) in offsets.windows(2).enumerate() {
        match range[1] - range[0] {
            0 if form.drops_empty => dropped.push(text),
            length => lengths.push(length + num_added as i64),
        }
    }
    let added = if lengths.is_empty() { [&[][..]; 2] } else { [form.before, form.after] };
    let highest = ids.iter().chain(added[0]).chain(added[1]).copied().max();
    let most = form.id_type.max();
    if let Some(id) = highest.filter(|&id| id > most) {
        return Err(Error::config(format!("id {id} exceeds the type of the ids (maximum {most})")));
    }
    let len = ids.len() + num_added * lengths.len();
    let made = match form.id_type {
        IdType::Uint16 => {
            let mut made = alloc::with_capacity(len)?;
            append(&ids, offsets, form, &mut made, |id| id as u16)?;
            FileIds::Short(made)
        }
        IdType::Int32 | IdType::Uint32 if num_added > 0 => {
            let mut made = buffer_pool::IDS.take(len);
            append(&ids, offsets, form, &mut made, |id| id)?;
            FileIds::Wide(made)
        }
        IdType::Int32 | IdType::Uint32 => return Ok(Rows { ids: FileIds::Wide(ids), lengths, dropped, highest }),
    };
    buffer_pool::IDS.keep(ids);
    Ok(Rows { ids: made, lengths, dropped, highest })
}

/// Appends the ids of all rows to `out`.
fn append<T>(
    ids: &[u32],
    offsets: &[i64],
    form: &RowForm<'_>,
    out: &mut Vec<T>,
    narrow: impl Fn(u32) -> T + Copy,
) -> Result<()> {
    for range in offsets.windows(2) {
        let text = ids.get(range[0] as usize..range[1] as usize);
        let text = text.ok_or_else(|| ErrorKind::Internal("offsets beyond the ids".into()))?;
        if form.drops_empty && text.is_empty() {
            continue;
        }
        for part in [form.before, text, form.after] {
            out.extend(part.iter().map(|&id| narrow(id)));
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_ids_of_each_text_between_constant_ids() {
        let form = RowForm { id_type: IdType::Uint16, before: &[7], after: &[8, 9], drops_empty: true };
        let found = rows(vec![1, 2, 3], &[0, 2, 2, 3], &form).unwrap();
        assert!(matches!(&found.ids, FileIds::Short(ids) if ids == &[7, 1, 2, 8, 9, 7, 3, 8, 9]));
        assert_eq!((found.lengths, found.dropped, found.highest), (vec![5, 4], vec![1], Some(9)));
        let keeps = RowForm { id_type: IdType::Int32, drops_empty: false, ..form };
        let found = rows(vec![1], &[0, 0, 1], &keeps).unwrap();
        assert!(matches!(&found.ids, FileIds::Wide(ids) if ids == &[7, 8, 9, 7, 1, 8, 9]));
        assert_eq!((found.lengths, found.dropped), (vec![3, 4], vec![]));
        let plain = RowForm { before: &[], after: &[], id_type: IdType::Uint32, drops_empty: true };
        let found = rows(vec![5], &[0, 0, 1], &plain).unwrap();
        assert_eq!((found.lengths, found.dropped, found.highest), (vec![1], vec![0], Some(5)));
        assert_eq!(rows(vec![], &[0, 0], &form).unwrap().highest, None);
    }

    #[test]
    fn an_id_beyond_the_type_is_an_error() {
        let form = RowForm { id_type: IdType::Uint16, before: &[], after: &[], drops_empty: false };
        assert!(rows(vec![65_536], &[0, 1], &form).is_err());
        assert!(rows(vec![65_535], &[0, 1], &form).is_ok());
        assert!(rows(vec![1], &[0, 1], &RowForm { after: &[1 << 31], id_type: IdType::Int32, ..form }).is_err());
    }
}
