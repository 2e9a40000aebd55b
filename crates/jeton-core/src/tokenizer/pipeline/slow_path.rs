//! Slow path, which encodes one segment after the other; sampling; and the n best segmentations.

use super::permit::Permit;
use super::segments::Segment;
use super::Tokenizer;
use crate::error::Result;
use crate::model::{Out, Sampler, Scratch};
use crate::util::cancel::KeepGoing;

impl Tokenizer {
    /// Appends the ids of `text` to `out`, one pretoken after the other. [`Tokenizer::encode_long`], the fast path,
    /// gives the same ids.
    ///
    /// # Errors
    /// As [`Tokenizer::for_each_segment`] and `Model::encode`.
    pub fn encode(
        &self,
        text: &[u8],
        permit: &Permit<'_>,
        keep_going: KeepGoing<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        // If `permit` refuses special tokens, the alignment is traced, because the error states the token's position.
        self.for_each_segment(text, permit, permit.refuses(), keep_going, |segment| {
            self.encode_segment(&segment, keep_going, scratch, &mut Out { special: permit.specials(), ..Out::ids(out) })
        })
    }

    /// Encodes with BPE-dropout or subword regularization.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn sample(
        &self,
        text: &[u8],
        permit: &Permit<'_>,
        sampler: &mut Sampler,
        keep_going: KeepGoing<'_>,
    ) -> Result<Vec<u32>> {
        let (mut scratch, mut ids) = (Scratch::default(), Vec::new());
        self.for_each_segment(text, permit, permit.refuses(), keep_going, |segment| {
            let mut out = Out { special: permit.specials(), ..Out::ids(&mut ids) };
            match segment.added {
                Some(id) => out.ids.push(id),
                None => self
                    .model
                    .sample(&self.vocab, segment.bytes, sampler, keep_going, &mut scratch, &mut out)
                    .map_err(|error| segment.located(error))?,
            }
            Ok(())
        })?;
        Ok(ids)
    }

    /// Returns the n best segmentations of a text with their scores, in descending order.
    ///
    /// # Errors
    /// As `Model::nbest`.
    pub fn nbest(
        &self,
        text: &[u8],
        permit: &Permit<'_>,
        n: usize,
        keep_going: KeepGoing<'_>,
    ) -> Result<Vec<(Vec<u32>, f64)>> {
        let mut segments = Vec::new(); // by segment: its best segmentations; back pointers to the previous best results
        let mut best = vec![(0.0, 0, 0)]; // (score, index in the best so far, index in the segment's best)
        self.for_each_segment(text, permit, permit.refuses(), keep_going, |segment| {
            let own = match segment.added {
                Some(id) => vec![(vec![id], 0.0)],
                None => {
                    let best = self.model.nbest(segment.bytes, n, permit.specials(), keep_going);
                    best.map_err(|error| segment.located(error))?
                }
            };
            // `best` and `own` are sorted by descending score. Let (i, j) be the combination of entry i of `best` with
            // entry j of `own`. Each combination with smaller or equal indices scores at least as high as (i, j). Apart
            // from (i, j), there are (i + 1)(j + 1) - 1 of these combinations. If there are n or more, (i, j) is not
            // needed.
            let joined = |(i, so_far): (usize, &(f64, usize, usize))| {
                let so_far = so_far.0;
                own.iter().take(n / (i + 1)).enumerate().map(move |(j, own)| (so_far + own.1, i, j))
            };
            let mut next: Vec<_> = best.iter().enumerate().flat_map(joined).collect();
            next.sort_by(|a, b| b.0.total_cmp(&a.0)); // stable: equal scores keep their order
            next.truncate(n);
            let from: Vec<_> = next.iter().map(|&(_, i, j)| (i, j)).collect();
            best = next;
            segments.push((own, from));
            Ok(())
        })?;
        let ids = |mut at: usize| {
            let mut parts = Vec::with_capacity(segments.len());
            for (own, from) in segments.iter().rev() {
                let (before, which) = from[at];
                parts.push(own[which].0.as_slice());
                at = before;
            }
            parts.reverse();
            parts.concat()
        };
        Ok(best.iter().enumerate().map(|(at, &(score, ..))| (ids(at), score)).collect())
    }

    /// Appends the ids of a segment.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub(in crate::tokenizer) fn encode_segment(
        &self,
        segment: &Segment<'_>,
        keep_going: KeepGoing<'_>,
        scratch: &mut Scratch,
        out: &mut Out<'_>,
    ) -> Result<()> {
        match segment.added {
            Some(id) => {
                out.ids.push(id);
                if let Some(ends) = &mut out.ends {
                    ends.push(segment.bytes.len());
                }
                Ok(())
            }
            None => self
                .model
                .encode(&self.vocab, segment.bytes, keep_going, scratch, out)
                .map_err(|error| segment.located(error)),
        }
    }
}
