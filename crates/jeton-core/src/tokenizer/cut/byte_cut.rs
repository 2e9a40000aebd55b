//! Finds the longest parts of a text that have at most a given number of tokens, for tokenizers with a byte-level model
//! and at most one named pattern. A normalization form may precede the pattern as long as it leaves the text unchanged;
//! each part of the text is then unchanged as well.
//!
//! The tokens of the whole text are computed once, in blocks. Between two joints (see `joints`), a part has the same
//! tokens as the whole text, so the last token within the limit is found by its index. If that token ends at a joint,
//! the prefix up to there is the result, because any longer prefix has more tokens. Otherwise all positions up to the
//! next joint are tried, from the longest prefix to the shortest. The pretokens of such a prefix equal those of the
//! text except for the last few, and the tokens of its last pretoken follow from those of the whole pretoken
//! (`model/prefixes`).
//!
//! A long stretch of text without a joint is encoded from the start of the part up to an upper bound of the bytes that
//! `limit` tokens can cover (`token_reach`). All positions of the stretch are tried.
//!
//! Invariant: the result is the longest of all prefixes. Cost: the text is encoded once, and the text around the end of
//! each part once more. Without joints, each part is encoded up to the upper bound, which is usually a few times the
//! part's length.
//!
//! Left out: vocabularies that lack a byte of UTF-8, and units other than characters. Also left out, because `cut`
//! handles them: added tokens at the tried positions, and text there that a normalization form changes.

use std::ops::Range;

use super::chunk::{ceil, floor, Chunk, LONG};
use super::token_reach::TokenReach;
use crate::error::Result;
use crate::model::bpe::Bpe;
use crate::model::prefixes::{PrefixCounter, PretokenTokens, SuffixTokens};
use crate::model::{Out, Scratch};
use crate::pretokenize::Pretokenizer;
use crate::tokenizer::pipeline::build::SINGLE_WORD;
use crate::tokenizer::pipeline::permit::Permit;
use crate::tokenizer::pipeline::Tokenizer;
use crate::util::cancel::KeepGoing;

/// Maximum bytes of a block of text that is encoded at once.
const BLOCK: usize = 1 << 16;

/// In the search for a suffix, a pretoken of up to this many bytes is encoded. For a longer one, the tokens are counted
/// from the known tokens of shorter suffixes of the same pretoken.
const SHORT_PRETOKEN: usize = 24;

/// If at most this many bytes follow the last token within the limit, each position in these bytes is tried as the end
/// of the prefix. If more bytes follow, `token_reach` first computes an upper bound of the end, which takes as long as
/// trying a few positions.
const FEW_BYTES: usize = 32;

/// Finds the longest prefixes of `text[start..]` within a limit of tokens, for ascending positions `start` of one text.
pub(in crate::tokenizer) struct ByteCutter<'t> {
    tok: &'t Tokenizer,
    permit: &'t Permit<'t>,
    pretokenizer: &'t Pretokenizer,
    text: &'t str,
    keep_going: KeepGoing<'t>,
    counter: PrefixCounter<'t>,
    reach: &'t TokenReach,
    ids: Vec<u32>,
    ends: Vec<usize>,
    since: usize,        // a joint, or the start of the text; the tokens from here to `until` are in `ids`
    until: usize,        // a joint, or the end of the text
    cursor: usize,       // index of the token at which the next search begins
    gap: (usize, usize), // range without a joint inside, up to a joint or the end of the text
    bytes_per_token: f64,
    is_valid: bool, // the concatenated tokens equal the text
    region: Region,
    scratch: Scratch,
    alone: (Vec<u32>, Vec<usize>),
}

/// Pretokens of a part of the text, and their numbers of tokens.
#[derive(Debug, Default)]
struct Region {
    /// Index range of the region's tokens in `ByteCutter::ids`; None if `ids` does not include the tokens of the
    /// region.
    tokens: Option<Range<usize>>,
    /// Start of each pretoken, and the end of the last one.
    bounds: Vec<usize>,
    /// Number of tokens before each position of `bounds`.
    counts: Vec<usize>,
    /// Remaining budget, in bytes, for pretokenizing parts of the region again.
    budget: usize,
    /// Index of the pretoken that was checked most recently, and a position in it from [`Pretokenizer::one_from`]. A
    /// prefix of the pretoken is a single pretoken if it ends at this position or later, and at least three bytes
    /// before the end of the pretoken.
    one_from: Option<(usize, Option<usize>)>,
}

impl<'t> ByteCutter<'t> {
    /// Creates a cutter; None for tokenizers that it does not support.
    ///
    /// # Errors
    /// `Interrupted` while tables are built.
    pub(in crate::tokenizer) fn new(
        tok: &'t Tokenizer,
        text: &'t str,
        permit: &'t Permit<'t>,
        keep_going: KeepGoing<'t>,
    ) -> Result<Option<Self>> {
        let Some(pretokenizer) = tok.byte_pattern().filter(|pattern| pattern.has_prefix_rules()) else {
            return Ok(None);
        };
        // Two cases are not supported. If the model looks up whole pretokens and there is no pattern, the cutter could
        // look up a part of a pretoken as if it were a whole one. And if an added token matches only single words, a
        // match depends on the text around it.
        let looks_up = tok.model.as_bpe().is_some_and(Bpe::whole_first) && pretokenizer.pattern().is_none();
        if looks_up || tok.added.iter().any(|&id| tok.flags(id) & SINGLE_WORD != 0) {
            return Ok(None);
        }
        let reach = tok.token_reach();
        let counter = PrefixCounter::new(&tok.model, &tok.vocab, reach.longest(), tok.token_parts(keep_going)?);
        Ok(counter.map(|counter| Self {
            tok,
            permit,
            pretokenizer,
            text,
            keep_going,
            counter,
            reach,
            ids: Vec::new(),
            ends: Vec::new(),
            since: 0,
            until: 0,
            cursor: 0,
            gap: (0, 0),
            bytes_per_token: 4.0,
            is_valid: true,
            region: Region::default(),
            scratch: Scratch::default(),
            alone: Default::default(),
        }))
    }

    /// Returns the longest prefix of `text[start..]` with at most `limit` tokens; None if an added token, or text that
    /// normalization changes, may be at one of the tried positions.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`], for the text that is encoded.
    pub(in crate::tokenizer) fn longest_prefix(&mut self, start: usize, limit: usize) -> Result<Option<Chunk>> {
        let len = self.text.len();
        if !self.is_valid {
            return Ok(None);
        }
        if limit == 0 || start == len {
            return Ok(Some(Chunk { start, end: start, count: 0 }));
        }
        let (joint, before) = if start == 0 || self.joint_at(start) {
            (start, 0)
        } else {
            let joint = self.joint_after(start);
            // If the next joint is more than `LONG` and more than `4 * limit` bytes away, `in_window` encodes only a
            // bounded range. Otherwise, all text up to the joint is encoded. This takes time linear in the part,
            // because a part of `limit` tokens has at least `limit` bytes.
            if joint - start > LONG.max(limit.saturating_mul(4)) {
                return self.in_window(start, limit, len);
            }
            if self.is_changed(start, joint) {
                return Ok(None);
            }
            let before = match self.count_rest(start, joint)? {
                Some(count) if count <= limit => count,
                _ => {
                    let alone = std::mem::take(&mut self.alone);
                    let alone = self.encode_alone(start, joint, alone)?;
                    let before = alone.0.len();
                    if before > limit {
                        let found = self.in_region(start, joint, &alone.0, &alone.1, limit)?;
                        self.alone = alone;
                        return Ok(found.map(|(end, count)| Chunk { start, end, count }));
                    }
                    self.alone = alone;
                    before
                }
            };
            (joint, before)
        };
        let left = limit - before;
        let first = self.know(joint, left)?;
        if !self.is_valid {
            return Ok(None);
        }
        let Some(&last) =
            self.ends.get(first + left - usize::from(left > 0)).filter(|_| self.ends.len() > first + left)
        else {
            return Ok(Some(Chunk { start, end: len, count: before + self.ends.len() - first }));
        };
        let last = if left == 0 { joint } else { last };
        self.cursor = first + left;
        if left == 0 || self.text.is_char_boundary(last) && self.joint_at(last) {
            return Ok(Some(Chunk { start, end: last, count: limit }));
        }
        let within = floor(self.text, last);
        let found = self.joint_before(joint, within);
        let upper = self.joint_after(within);
        let mut from = first + left; // index of the first token after `found`; the loop is short
        while from > first && self.ends[from - 1] > found {
            from -= 1;
        }
        let so_far = before + from - first;
        if upper - found > LONG {
            let rest = self.in_window(found, limit - so_far, upper)?;
            return Ok(rest.map(|rest| Chunk { start, end: rest.end, count: so_far + rest.count }));
        }
        if self.is_changed(found, upper) {
            return Ok(None);
        }
        let (ids, ends) = (std::mem::take(&mut self.ids), std::mem::take(&mut self.ends));
        let to = first + left + ends[first + left..].iter().take_while(|&&end| end <= upper).count();
        let done = self.in_region(found, upper, &ids[from..to], &ends[from..to], limit - so_far);
        self.region.tokens = Some(from..to);
        (self.ids, self.ends) = (ids, ends);
        Ok(done?.map(|(end, count)| Chunk { start, end, count: so_far + count }))
    }

    /// Encodes more text until more than `left` tokens follow a joint, or the text ends. Returns the index of the first
    /// token after the joint.
    fn know(&mut self, joint: usize, left: usize) -> Result<usize> {
        if joint < self.since {
            self.forget_before(self.until);
            (self.since, self.until) = (joint, joint);
        }
        loop {
            if self.until > joint || self.until == self.text.len() {
                let first = self.first_after(joint);
                if self.until == self.text.len() || self.ends.len() - first > left {
                    return Ok(first);
                }
            }
            let num_known = self.ends.len().saturating_sub(self.cursor);
            let missing = (left + 1).saturating_sub(num_known).max(1);
            let wanted = (missing as f64 * self.bytes_per_token * 1.125) as usize;
            let wanted = wanted.max(self.until.min(BLOCK)); // at least as long as the text so far, up to BLOCK
            self.forget_before(joint.min(self.until));
            self.extend(self.until.max(joint).saturating_add(wanted).min(self.text.len()))?;
        }
    }

    /// Removes the tokens before a joint. Parts are searched in order, so earlier tokens are no longer needed.
    fn forget_before(&mut self, joint: usize) {
        let num = self.ends.partition_point(|&end| end <= joint);
        self.ids.drain(..num);
        self.ends.drain(..num);
        self.since = self.since.max(joint);
        self.cursor = 0;
        self.region.tokens = None;
    }

    /// Returns the index of the first token that ends after a position.
    fn first_after(&mut self, at: usize) -> usize {
        let from = if self.cursor > 0 && self.ends.get(self.cursor - 1).is_some_and(|&end| end <= at) {
            self.cursor
        } else {
            0
        };
        // The token is usually near the cursor.
        let mut step = 8;
        while self.ends.get(from + step).is_some_and(|&end| end <= at) {
            step *= 2;
        }
        let to = (from + step).min(self.ends.len());
        self.cursor = from + self.ends[from..to].partition_point(|&end| end <= at);
        self.cursor
    }

    /// Encodes more of the text, up to a joint at or after `until`.
    fn extend(&mut self, until: usize) -> Result<()> {
        let (from, until) = (self.until, ceil(self.text, until));
        let until = if until == self.text.len() || self.joint_at(until) { until } else { self.joint_after(until) };
        let part = &self.text[from..until];
        let ids = self.tok.encode_long(part, self.permit, 1, &mut || (self.keep_going)());
        let ids = ids.map_err(|error| error.shifted(from))?;
        let (mut at, mut is_same) = (from, true);
        let is_normalized = !self.tok.normalizers.is_empty();
        self.ends.extend(ids.iter().map(|&id| {
            let start = at;
            at += self.tok.vocab.content_len(id);
            is_same &= !is_normalized || self.text.as_bytes().get(start..at) == Some(self.tok.vocab.content(id));
            at
        }));
        if !ids.is_empty() {
            self.bytes_per_token = (self.bytes_per_token + part.len() as f64 / ids.len() as f64) / 2.0;
        }
        self.is_valid &= is_same && at == until;
        self.ids.extend(ids);
        self.until = until;
        Ok(())
    }

    /// Finds the longest prefix of `text[start..upper]` that has at most `limit` tokens. Used where the next joint is
    /// far away.
    fn in_window(&mut self, start: usize, limit: usize, upper: usize) -> Result<Option<Chunk>> {
        let bytes = self.text.as_bytes();
        let end = ceil(self.text, self.reach.end(&bytes[..upper], start, limit));
        if self.is_changed(start, end) {
            return Ok(None);
        }
        let ids = self.tok.encode_long(&self.text[start..end], self.permit, 1, &mut || (self.keep_going)());
        let ids = ids.map_err(|error| error.shifted(start))?;
        if ids.len() <= limit {
            return Ok(Some(Chunk { start, end, count: ids.len() }));
        }
        let mut at = start;
        let ends: Vec<usize> = ids
            .iter()
            .map(|&id| {
                at += self.tok.vocab.content_len(id);
                at
            })
            .collect();
        let found = self.in_region(start, end, &ids, &ends, limit)?;
        Ok(found.map(|(end, count)| Chunk { start, end, count }))
    }

    /// Finds the longest prefix of `text[base..upper]` with at most `limit` tokens; returns its end and its number of
    /// tokens. The whole range must have more than `limit` tokens. `base` is a joint or the start of a part. `ids` and
    /// `ends` are the tokens of the range.
    fn in_region(
        &mut self,
        base: usize,
        upper: usize,
        ids: &[u32],
        ends: &[usize],
        limit: usize,
    ) -> Result<Option<(usize, usize)>> {
        if limit == 0 {
            return Ok(Some((base, 0)));
        }
        let mut region = std::mem::take(&mut self.region);
        region.tokens = None;
        region.bounds.clear();
        region.counts.clear();
        region.one_from = None;
        let mut count = 0;
        for span in self.pretokenizer.spans(&self.text[base..upper]) {
            let span = span.map_err(|error| error.shifted(base))?;
            count += ends[count..].partition_point(|&end| end <= base + span.start);
            region.bounds.push(base + span.start);
            region.counts.push(count);
        }
        region.bounds.push(upper);
        region.counts.push(ids.len());
        region.budget = 64 * LONG + 8 * (upper - base);
        let mut found = Some((base, 0));
        let mut index = region.bounds.len() - 2;
        let mut at = upper;
        if upper - ends.get(limit - 1).map_or(base, |&end| end) > FEW_BYTES {
            at = upper.min(self.reach.end(&self.text.as_bytes()[..upper], base, limit) + 1);
        }
        while at > base {
            at = floor(self.text, at - 1);
            if at == base {
                break;
            }
            while region.bounds[index] >= at {
                index -= 1;
            }
            match self.count_in_region(&mut region, index, at, ids, ends)? {
                Some(count) if count > limit => {}
                count => {
                    found = count.map(|count| (at, count));
                    break;
                }
            }
        }
        self.region = region;
        Ok(found)
    }

    /// Counts the tokens from the start of a region to `at`, which is inside of the pretoken `index` or at its end.
    /// None if the remaining budget is too small for pretokenizing this part of the text again.
    fn count_in_region(
        &mut self,
        region: &mut Region,
        index: usize,
        at: usize,
        ids: &[u32],
        ends: &[usize],
    ) -> Result<Option<usize>> {
        let (bytes, bounds) = (self.text.as_bytes(), &region.bounds);
        let known = |index: usize| PretokenTokens {
            ids: &ids[region.counts[index]..region.counts[index + 1]],
            ends: &ends[region.counts[index]..region.counts[index + 1]],
            start: bounds[index],
        };
        let (start, end) = (bounds[index], bounds[index + 1]);
        // Index of the first pretoken that may change if the text ends at `at`. To find it, `is_final` can read all
        // bytes from `start` to `at`; an eighth of their number is charged to the budget.
        let mut first = index;
        if index > 0 {
            region.budget = region.budget.saturating_sub((at - start) / 8);
        }
        while first > 0 && !self.pretokenizer.is_final(bytes, (bounds[first - 1], bounds[first]), at) {
            first -= 1;
        }
        if first == index && end - at >= 3 {
            let rules = match region.one_from {
                Some((known, rules)) if known == index => rules,
                _ => {
                    let rules = self.pretokenizer.one_from(bytes, start, end);
                    region.one_from = Some((index, rules));
                    rules
                }
            };
            if rules.is_some_and(|from| from <= at) {
                let count = self.counter.count_prefix(&bytes[start..end], known(index), at - start, self.keep_going)?;
                return Ok(Some(region.counts[index] + count));
            }
        }
        let from = bounds[first];
        let Some(budget) = region.budget.checked_sub(at - from) else { return Ok(None) };
        region.budget = budget;
        let mut count = region.counts[first];
        let mut next = first; // index of the text's first pretoken that begins at or after the current one
        for span in self.pretokenizer.spans(&self.text[from..at]) {
            let span = span.map_err(|error| error.shifted(from))?;
            let (start, end) = (from + span.start, from + span.end);
            while bounds[next] < start {
                next += 1;
            }
            count += if bounds[next] == start && next <= index {
                match end {
                    end if end == bounds[next + 1] => region.counts[next + 1] - region.counts[next],
                    end if end < bounds[next + 1] => {
                        let pretoken = &bytes[start..bounds[next + 1]];
                        self.counter.count_prefix(pretoken, known(next), end - start, self.keep_going)?
                    }
                    _ => self.count_pretoken(start, end)?,
                }
            } else {
                self.count_pretoken(start, end)?
            };
        }
        Ok(Some(count))
    }

    /// Counts the tokens of `text[start..joint]` if the region of the previous search includes this range and ends at
    /// `joint`; otherwise returns None.
    fn count_rest(&mut self, start: usize, joint: usize) -> Result<Option<usize>> {
        let region = std::mem::take(&mut self.region);
        let done = self.count_rest_of(&region, start, joint);
        self.region = region;
        done
    }

    fn count_rest_of(&mut self, region: &Region, start: usize, joint: usize) -> Result<Option<usize>> {
        let Some(tokens) = region.tokens.clone() else { return Ok(None) };
        let (bounds, counts) = (&region.bounds, &region.counts);
        if bounds.first().is_none_or(|&first| start < first) || bounds.last() != Some(&joint) {
            return Ok(None);
        }
        let (mut count, mut index) = (0, 0);
        for span in self.pretokenizer.spans(&self.text[start..joint]) {
            let span = span.map_err(|error| error.shifted(start))?;
            let (from, to) = (start + span.start, start + span.end);
            while bounds[index + 1] <= from {
                index += 1;
            }
            count += if to != bounds[index + 1] {
                self.count_pretoken(from, to)?
            } else if from == bounds[index] {
                counts[index + 1] - counts[index]
            } else {
                let own = tokens.start + counts[index]..tokens.start + counts[index + 1];
                let known = PretokenTokens { ids: &self.ids[own.clone()], ends: &self.ends[own], start: bounds[index] };
                let pretoken = &self.text.as_bytes()[bounds[index]..to];
                self.counter.count_suffix(pretoken, known, from - bounds[index], self.keep_going)?
            };
        }
        Ok(Some(count))
    }

    /// Returns the start of the longest suffix of `text[start..end]` with at most `limit` tokens, where `end` is a
    /// joint or the end of the text. None if the start cannot be determined.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub(in crate::tokenizer) fn longest_suffix(
        &mut self,
        start: usize,
        end: usize,
        limit: usize,
    ) -> Result<Option<usize>> {
        let (text, bytes) = (self.text, self.text.as_bytes());
        let from = floor(text, start + self.reach.start(&bytes[start..end], limit));
        if self.is_changed(from, end) {
            return Ok(None);
        }
        let mut budget = (1 << 22) + 8 * (end - from);
        // For each position in `from..=end`: the end of the pretoken that starts at this position, and the number of
        // tokens from this position to `end`.
        let mut suffixes = vec![(end, u32::MAX); end - from + 1];
        suffixes[end - from] = (end, 0);
        let (mut known, mut known_end) = (SuffixTokens::default(), end);
        let mut found = end;
        for (offset, c) in text[from..end].char_indices().rev() {
            let (at, next) = (from + offset, from + offset + c.len_utf8());
            let next_end = suffixes[next - from].0;
            let to = if next < end && self.pretokenizer.ends_as_next(&bytes[..end], at, next_end) {
                next_end
            } else {
                let Some(span) = self.pretokenizer.spans(&text[at..end]).next() else { return Ok(None) };
                let to = at + span.map_err(|error| error.shifted(at))?.end;
                let Some(left) = budget.checked_sub(to - at) else { return Ok(None) };
                budget = left;
                to
            };
            let own = if to - at <= SHORT_PRETOKEN {
                self.count_pretoken(at, to)?
            } else {
                if known_end != to {
                    let Some(left) = budget.checked_sub(to - at) else { return Ok(None) };
                    budget = left;
                    known.clear();
                    known_end = to;
                }
                let reach = |offset: usize| self.reach.end(&bytes[..to], at + offset, 1) - at - offset;
                match self.counter.count_longer_suffix(&bytes[at..to], &mut known, reach, self.keep_going)? {
                    Some(own) => own,
                    None => return Ok(None),
                }
            };
            let count = suffixes[to - from].1.saturating_add(own as u32);
            suffixes[offset] = (to, count);
            if count as usize <= limit {
                found = at;
            }
        }
        Ok(Some(found))
    }

    fn count_pretoken(&mut self, start: usize, end: usize) -> Result<usize> {
        let mut ids = std::mem::take(&mut self.alone.0);
        ids.clear();
        let pretoken = &self.text.as_bytes()[start..end];
        let mut out = Out::ids(&mut ids);
        let done = self.tok.model.encode(&self.tok.vocab, pretoken, self.keep_going, &mut self.scratch, &mut out);
        let count = ids.len();
        self.alone.0 = ids;
        done.map(|()| count).map_err(|error| error.shifted(start))
    }

    /// Encodes `text[start..end]`, which must not contain added tokens; returns the ids and the ends of the tokens.
    fn encode_alone(
        &mut self,
        start: usize,
        end: usize,
        (mut ids, mut ends): (Vec<u32>, Vec<usize>),
    ) -> Result<(Vec<u32>, Vec<usize>)> {
        ids.clear();
        ends.clear();
        for span in self.pretokenizer.spans(&self.text[start..end]) {
            let span = span.map_err(|error| error.shifted(start))?;
            let pretoken = &self.text.as_bytes()[start + span.start..start + span.end];
            let num = ids.len();
            let mut out = Out::ids(&mut ids);
            let done = self.tok.model.encode(&self.tok.vocab, pretoken, self.keep_going, &mut self.scratch, &mut out);
            done.map_err(|error| error.shifted(start + span.start))?;
            let mut at = start + span.start;
            ends.extend(ids[num..].iter().map(|&id| {
                at += self.tok.vocab.content_len(id);
                at
            }));
        }
        Ok((ids, ends))
    }

    /// Returns true if the text from `start` to `end` contains an added token, or if normalization changes this text.
    fn is_changed(&self, start: usize, end: usize) -> bool {
        let text = &self.text[start..end];
        let matchers = [self.permit.raw(), self.permit.normalized()];
        matchers.into_iter().flatten().any(|matcher| matcher.matches(text.as_bytes()).next().is_some())
            || !self.tok.forms_keep(text, self.keep_going)
    }

    /// Returns true if a position inside of the text is a joint.
    fn joint_at(&mut self, at: usize) -> bool {
        let (before, after) = (&self.text[..at], &self.text[at..]);
        match (before.chars().next_back(), after.chars().next()) {
            (Some(left), Some(right)) => self.tok.is_joint(left, right),
            _ => false,
        }
    }

    /// Returns the first joint after a position, or the end of the text.
    fn joint_after(&mut self, at: usize) -> usize {
        if (self.gap.0..self.gap.1).contains(&at) {
            return self.gap.1;
        }
        let text = self.text;
        let mut chars = text[at..].chars();
        let Some(mut left) = chars.next() else { return text.len() };
        let mut joint = at + left.len_utf8();
        for right in chars {
            if self.tok.is_joint(left, right) {
                break;
            }
            joint += right.len_utf8();
            left = right;
        }
        self.gap = (at, joint);
        joint
    }

    /// Returns the last joint in `joint + 1..=at`, or `joint` if this range has none.
    fn joint_before(&mut self, joint: usize, at: usize) -> usize {
        let text = self.text;
        let mut right = text[at..].chars().next();
        let mut position = at;
        for left in text[joint..at].chars().rev() {
            if right.is_some_and(|right| self.tok.is_joint(left, right)) {
                return position;
            }
            position -= left.len_utf8();
            right = Some(left);
        }
        joint
    }
}
