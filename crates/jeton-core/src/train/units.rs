//! Counts of the characters, or bytes, in all pretokens, on several threads.
//!
//! Cost: one pass over the pretokens. Each thread has a table of 10 MB with an entry for each code point. A page of the
//! table takes memory only if one of its code points occurs, so a text in one script uses few pages.

use super::count::Counts;
use crate::error::Result;
use crate::parallel;
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::vocab::alphabet::{for_each_symbol, EndOfWord, Level};

/// Number of code points.
const CODE_POINTS: usize = char::MAX as usize + 1;

/// Number of pretokens in one job of a thread.
const JOB: usize = 1 << 16;

/// Counts of units, and the forms in which they occur.
#[derive(Debug)]
pub(super) struct Units {
    /// Count of each unit, saturating at 2⁶⁴ - 1.
    pub(super) uses: Vec<u64>,
    forms: Vec<u8>, // unit -> one bit for each form that occurs
}

/// Returns the bit of a form. `inside`: the unit is not the first one of its word. `ends_word`: it is the last one.
fn form(inside: bool, ends_word: bool) -> u8 {
    1 << (u8::from(inside) | u8::from(ends_word) << 1)
}

impl Units {
    fn new(level: Level) -> Self {
        let num_units = if level == Level::Byte { 256 } else { CODE_POINTS };
        // Zeroed pages take memory only after they are first written, so unused code points cost little.
        Self { uses: vec![0; num_units], forms: vec![0; num_units] }
    }

    /// Counts the units of all pretokens, on up to `threads` threads. `end` determines how the last unit is marked.
    ///
    /// # Errors
    /// `Interrupted`. At character level, also an error for a pretoken that is not valid UTF-8.
    pub(super) fn count(
        counts: &Counts,
        level: Level,
        end: EndOfWord,
        threads: usize,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<Self> {
        let threads = threads.min(counts.len() / JOB).max(1);
        let size = counts.len().div_ceil(threads).max(1);
        let job = |at: usize, keep_going: KeepGoing<'_>| {
            let (mut units, mut cancel) = (Self::new(level), CancelCheck::new(keep_going));
            for (pretoken, count) in counts.range(at * size..counts.len().min((at + 1) * size)) {
                cancel.check()?;
                for_each_symbol(pretoken, level, end, |symbol, at| {
                    if let Some(unit) = symbol.unit {
                        let uses = &mut units.uses[unit as usize];
                        *uses = uses.saturating_add(count);
                        units.forms[unit as usize] |= form(at > 0, symbol.ends_word);
                    }
                    Ok(())
                })?;
            }
            Ok(units)
        };
        let mut all = Self::new(level);
        for units in parallel::jobs(threads, threads, watch, job) {
            let units = units?;
            let own = all.uses.iter_mut().zip(&mut all.forms);
            for ((uses, forms), (&more, &other)) in own.zip(units.uses.iter().zip(&units.forms)) {
                if other != 0 {
                    *uses = uses.saturating_add(more);
                    *forms |= other;
                }
            }
        }
        Ok(all)
    }

    /// Returns the units that occur, in ascending order, with their counts.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        (0..).zip(self.uses.iter().zip(&self.forms)).filter(|(_, (_, &forms))| forms != 0).map(|(at, (&n, _))| (at, n))
    }

    /// Returns true if a unit occurs in the form that `inside` and `ends_word` describe. `inside`: the unit is not the
    /// first one of its word. `ends_word`: it is the last one.
    pub(super) fn has(&self, unit: u32, inside: bool, ends_word: bool) -> bool {
        self.forms.get(unit as usize).is_some_and(|forms| forms & form(inside, ends_word) != 0)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;

    #[test]
    fn threads_do_not_change_the_counts() {
        let mut counts = Counts::default();
        for i in 0..3 * JOB as u64 {
            counts.add(format!("é{i}x").as_bytes(), i).unwrap();
        }
        counts.add("Δ".as_bytes(), 0).unwrap();
        counts.add("x".as_bytes(), u64::MAX).unwrap();
        let found =
            [1, 3].map(|threads| Units::count(&counts, Level::Char, EndOfWord::Suffix, threads, &mut || true).unwrap());
        let all: u64 = (0..3 * JOB as u64).sum();
        for units in &found {
            assert_eq!(units.iter().collect::<Vec<_>>(), found[0].iter().collect::<Vec<_>>());
            assert_eq!(units.iter().count(), 10 + 3);
            assert_eq!([units.uses['é' as usize], units.uses['x' as usize]], [all, u64::MAX]);
            let forms = |c: char| {
                [(false, false), (true, false), (false, true), (true, true)]
                    .map(|(inside, end)| units.has(c.into(), inside, end))
            };
            assert_eq!(forms('é'), [true, false, false, false]);
            assert_eq!(forms('x'), [false, false, true, true]);
            assert_eq!(forms('Δ'), [false, false, true, false]);
        }
    }
}
