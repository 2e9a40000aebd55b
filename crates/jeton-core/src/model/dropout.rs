//! BPE-dropout: merges are skipped at random, so the same text can get different ids on each call.
//!
//! Each merge is skipped with probability p; skipped merges are candidates again after the next merge. With p = 1, the
//! result is the initial symbols. Even if a whole pretoken is a vocabulary entry, the pretoken is not looked up
//! but merged from its symbols.
//!
//! Cost: O(n log n / (1 − p)). Source: Provilkov et al. 2020, arXiv 1910.13267; HF models/bpe/word.rs (`merge_all`).

use std::cmp::Reverse;

use super::bpe::Bpe;
use super::merging::{join, write};
use super::output::Out;
use super::sampling::Sampler;
use super::scratch::Scratch;
use crate::error::Result;
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::vocab::Vocab;

impl Bpe {
    /// Appends the ids of one pretoken. Merges are skipped with the probability `sampler.dropout`.
    ///
    /// # Errors
    /// As [`Bpe::encode`].
    pub fn sample(
        &self,
        vocab: &Vocab,
        pretoken: &[u8],
        sampler: &mut Sampler,
        keep_going: KeepGoing<'_>,
        scratch: &mut Scratch,
        out: &mut Out<'_>,
    ) -> Result<()> {
        self.symbols(pretoken, scratch, out)?;
        let Scratch { symbols, nodes, heap, starts, .. } = scratch;
        let merger = self.merger(vocab, keep_going)?;
        merger.fill(symbols, nodes, heap)?;
        let (mut cancel, mut passed) = (CancelCheck::new(keep_going), Vec::new());
        while let Some(Reverse(entry)) = heap.pop() {
            cancel.check()?;
            if sampler.drops_merge() {
                passed.push(Reverse(entry));
                continue;
            }
            heap.extend(passed.drain(..));
            let (rank, at) = ((entry >> 32) as u32, entry as u32);
            let Some(merge) = merger.live(nodes, rank, at) else { continue };
            let before = join(nodes, at, merge.result);
            merger.offer(nodes, heap, before);
            merger.offer(nodes, heap, at);
        }
        write(nodes, starts, pretoken.len(), out);
        Ok(())
    }
}
