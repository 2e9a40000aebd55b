//! Totals of the counts for each script.
//!
//! The script of a pretoken is the script of its first character that has one; digits, punctuation and white space have
//! no script. Rare scripts are counted together (`util/scripts`).

use super::table::Counts;

use crate::util::scripts::{names, script, NONE};

/// Totals of the pretokens in one script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Unicode name of the script; `Other` for all rare scripts together; `None` for pretokens without a script.
    pub script: &'static str,
    /// Number of distinct pretokens.
    pub distinct: u64,
    /// Sum of the pretokens' counts.
    pub occurrences: u64,
    /// Total number of bytes of all occurrences.
    pub bytes: u64,
}

impl Counts {
    /// Returns the totals of each script that occurs, in descending order of bytes.
    pub fn scripts(&self) -> Vec<Share> {
        let mut shares: Vec<_> =
            names().map(|script| Share { script, distinct: 0, occurrences: 0, bytes: 0 }).collect();
        for (pretoken, count) in self.iter() {
            let chars = pretoken.utf8_chunks().flat_map(|chunk| chunk.valid().chars());
            let share = &mut shares[chars.map(script).find(|&number| number != NONE).unwrap_or(NONE)];
            share.distinct += 1;
            share.occurrences = share.occurrences.saturating_add(count);
            share.bytes = share.bytes.saturating_add(count.saturating_mul(pretoken.len() as u64));
        }
        shares.retain(|share| share.distinct > 0);
        shares.sort_by_key(|share| std::cmp::Reverse(share.bytes)); // a stable sort: ties stay in order
        shares
    }
}
