//! Combination of the threads' tables into one.
//!
//! Tables are combined in pairs. Both tables of a pair have their pretokens in the order of first positions. If a
//! pretoken is in both tables, the count of the later entry is added to the earlier entry. Then the tables are merged
//! by position, as sorted lists.
//!
//! Cost: one lookup for each pretoken of the smaller table, divided among all threads, and one pass over both tables.

use super::table::Counts;
use crate::error::Result;

/// Number of pretokens that a thread looks up in one job.
const JOB: usize = 1 << 16;

/// Combines all tables into one.
///
/// # Errors
/// As [`Counts::add`].
pub(super) fn all(mut tables: Vec<Counts>) -> Result<Counts> {
    let threads = tables.len();
    while tables.len() > 1 {
        let mut pairs = tables.into_iter();
        let mut joined = Vec::new();
        while let Some(left) = pairs.next() {
            joined.push(match pairs.next() {
                Some(right) => two(left, right, threads)?,
                None => left,
            });
        }
        tables = joined;
    }
    Ok(tables.pop().unwrap_or_default())
}

/// Combines two tables into one.
fn two(left: Counts, right: Counts, threads: usize) -> Result<Counts> {
    let (mut left, right) = if left.len() < right.len() { (right, left) } else { (left, right) };
    let same = left.numbers_of(&right, JOB, threads)?;
    left.merged_by_place(right, &same)
}
