//! Longest parts of a text within a number of tokens: the longest prefix, the longest suffix, or all consecutive parts.
//!
//! A part may begin or end at a boundary of a text unit, and its tokens are those of the part encoded alone. A longer
//! part may have fewer tokens ("tokeniz" has two tokens, "tokenization" one), so the search begins with the longest
//! part. Joints make the search local: the number of tokens of a text is the number before a joint plus the number
//! after it. So a prefix that extends beyond a joint has at least as many tokens as the text before the joint, and only
//! the positions between the last joint within the limit and the next joint are tried.
//!
//! Cost: each byte is encoded about twice, whatever the limit. Byte-level models with a named pattern have a faster
//! search (`byte_cut`). Joints may be more than [`LONG`] bytes apart, for example in base64 or in a script without
//! spaces and punctuation. Then all prefixes between two joints are counted at once (`byte_cut`, `stretch`). In three
//! cases, the search between these joints is a bisection instead: the search for a suffix, if the model is not
//! byte-level; the search for the end of the prefix, if the middle of a text is removed; and any search with a model or
//! stage that `stretch` leaves out. Bisection assumes that longer parts have more tokens. The part found by bisection
//! is within the limit, but a longer part may be within the limit, too.
//!
//! ```text
//! joints        positions where ids are independent, decided by the two adjacent characters
//! joint_search  search for joints in a text
//! byte_cut      the search for byte-level models
//! stretch       text without joints
//! token_reach   bytes that a token can cover, which bounds both searches
//! chunk         a part, and rounding to characters
//! growing       ids of a text that grows
//! ```

pub(in crate::tokenizer) mod byte_cut;
pub(in crate::tokenizer) mod chunk;
pub(in crate::tokenizer) mod growing;
pub(in crate::tokenizer) mod joint_search;
pub(in crate::tokenizer) mod joints;
pub(in crate::tokenizer) mod stretch;
pub(in crate::tokenizer) mod token_reach;

use std::borrow::Cow;
use std::collections::HashMap;

use super::pipeline::fast_path::Input;
use super::pipeline::permit::Permit;
use super::pipeline::Tokenizer;
use crate::encode::Written;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Model, Scratch};
use crate::util::cancel::KeepGoing;
use crate::util::text_unit::TextUnit;
use byte_cut::ByteCutter;
use chunk::{ceil, floor, Chunk, LONG};
use stretch::{JointlessStretch, KeptPairs};

/// Minimum and maximum of [`step`], in bytes.
const STEPS: (usize, usize) = (12, 256);

/// Maximum number of positions that are tried in one batch.
const MOST_TRIED: usize = 16;

/// Result of removing the middle of a text: what remains is a prefix and a suffix, with a marker between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// End of the prefix.
    pub head: usize,
    /// Start of the suffix; equal to `head` if nothing is removed.
    pub tail: usize,
}

/// Position in a text, with the number of tokens before it (for prefixes) or after it (for suffixes).
#[derive(Debug, Clone, Copy)]
struct Base {
    at: usize,
    count: usize,
}

/// Upper bound for the end of the longest prefix within the limit.
#[derive(Debug, Clone, Copy)]
struct Upper {
    at: usize,
    exceeds: bool, // true if `at` is a joint with more tokens before it than the limit
}

/// Search for parts of one text.
pub struct TextCutter<'t> {
    tok: &'t Tokenizer,
    permit: &'t Permit<'t>,
    text: &'t str,
    unit: TextUnit,
    keep_going: KeepGoing<'t>,
    alone: HashMap<char, usize>, // cache: character -> number of its tokens
    bytes_per_token: f64,
    jointless: (usize, usize), // range that was found to have no joint inside
    by_bytes: Option<ByteCutter<'t>>,
    kept: KeptPairs,
    rounds: bool, // true if rounding makes counts at joints inexact, so that results are checked
}

impl<'t> TextCutter<'t> {
    /// Creates a cutter that cuts the text only at boundaries of `unit`.
    ///
    /// # Errors
    /// `Interrupted` while tables of the tokenizer are built.
    pub fn new(
        tok: &'t Tokenizer,
        text: &'t str,
        unit: TextUnit,
        permit: &'t Permit<'t>,
        keep_going: KeepGoing<'t>,
    ) -> Result<Self> {
        Ok(Self {
            tok,
            permit,
            text,
            unit,
            keep_going,
            alone: HashMap::new(),
            bytes_per_token: 4.0,
            jointless: (0, 0),
            by_bytes: ByteCutter::new(tok, text, permit, keep_going)?,
            kept: KeptPairs::default(),
            rounds: matches!(tok.model(), Model::Unigram(_)),
        })
    }

    /// Returns the number of tokens of the text if it is at most `limit`. Encodes only as much of the text as
    /// necessary.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`], for the text that is encoded.
    pub fn count_up_to(&mut self, limit: usize) -> Result<Option<usize>> {
        let (bases, _) = self.bases(0, self.text.len(), limit)?;
        let last = bases.last().filter(|last| last.at == self.text.len() && last.count <= limit);
        match last {
            Some(last) if !self.rounds => Ok(Some(last.count)),
            Some(_) => self.count(self.text).map(|count| Some(count).filter(|&count| count <= limit)),
            None => Ok(None),
        }
    }

    /// Returns the longest prefix of at most `limit` tokens.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`], for the text that is encoded.
    pub fn prefix(&mut self, limit: usize) -> Result<Chunk> {
        self.longest_prefix(0, self.text.len(), limit, "")
    }

    /// Returns the longest suffix of at most `limit` tokens.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`], for the text that is encoded.
    pub fn suffix(&mut self, limit: usize) -> Result<Chunk> {
        self.longest_suffix(0, self.text.len(), limit)
    }

    /// Removes the middle of the text. The marker's tokens are subtracted from `limit`, and the suffix gets at most
    /// half of the rest. The prefix is the longest one for which prefix, marker and suffix together have at most
    /// `limit` tokens.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`]; `Limit` if the marker alone exceeds the limit.
    pub fn without_middle(&mut self, limit: usize, marker: &str) -> Result<Cut> {
        let whole = self.count_up_to(limit)?;
        if whole.is_some() {
            return Ok(Cut { head: self.text.len(), tail: self.text.len() });
        }
        let of_marker = self.count(marker)?;
        if of_marker > limit {
            return Err(ErrorKind::Limit { at: 0, count: of_marker, limit }.into());
        }
        let mut half = (limit - of_marker) / 2;
        loop {
            let tail = self.longest_suffix(0, self.text.len(), half)?.start;
            let rest = [marker, &self.text[tail..]].concat();
            // Only the tokens up to the first joint of `rest` depend on the prefix.
            let first_char = rest.chars().next().map_or(0, char::len_utf8);
            let joint = self.tok.next_joint(&rest, first_char, rest.len()).unwrap_or(rest.len());
            let after = if joint < rest.len() { self.count_between(&rest, joint, rest.len())? } else { 0 };
            if let Some(limit) = limit.checked_sub(after) {
                // At least one character is removed, even if the whole text with the marker inserted would be within
                // the limit.
                let end = floor(self.text, tail.saturating_sub(1));
                let head = self.longest_prefix(0, end, limit, &rest[..joint])?;
                if head.end > 0 || self.count(&rest)? <= limit + after {
                    return Ok(Cut { head: head.end, tail });
                }
            }
            match half {
                0 => return Ok(Cut { head: 0, tail: self.text.len() }),
                _ => half -= 1,
            }
        }
    }

    /// Divides the text into parts of at most `limit` tokens, each as long as possible. With `overlap`, each part
    /// begins with the longest suffix of the previous part that has at most `overlap` tokens, unless no new text would
    /// fit after this suffix.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`]; `Limit` for a character that exceeds the limit.
    pub fn parts(&mut self, limit: usize, overlap: usize) -> Result<Vec<Chunk>> {
        let mut parts: Vec<Chunk> = Vec::new();
        let mut start = 0;
        while start < self.text.len() {
            let part = self.longest_prefix(start, self.text.len(), limit, "")?;
            if part.end == start {
                return Err(self.over_limit(start, limit));
            }
            parts.push(part);
            start = part.end;
            if overlap == 0 || part.end == self.text.len() {
                continue;
            }
            let mut most = overlap;
            while most > 0 {
                let again = self.longest_suffix(part.start, part.end, most)?;
                let from = again.start.max(part.start);
                if from > part.start && from < part.end {
                    let next = self.longest_prefix(from, self.text.len(), limit, "")?;
                    if next.end > part.end {
                        start = from;
                        break;
                    }
                }
                most /= 2;
            }
        }
        Ok(parts)
    }

    fn over_limit(&mut self, at: usize, limit: usize) -> Error {
        let one = self.text[at..].chars().next().map_or(0, char::len_utf8);
        match self.count(&self.text[at..at + one]) {
            Ok(count) => ErrorKind::Limit { at, count, limit }.into(),
            Err(error) => error.shifted(at),
        }
    }

    /// Finds the longest prefix of `text[start..end]` that, followed by `rest`, has at most `limit` tokens. If no
    /// boundary of the unit is within the limit, boundaries of smaller units are tried; if none of them is within the
    /// limit, the prefix is empty. `rest` may be cut off at one of its joints if the caller subtracts the tokens of the
    /// omitted text from `limit`.
    fn longest_prefix(&mut self, start: usize, end: usize, limit: usize, rest: &str) -> Result<Chunk> {
        let mut of_characters = None;
        if let (Some(by_bytes), true) = (&mut self.by_bytes, end == self.text.len() && rest.is_empty()) {
            of_characters = by_bytes.longest_prefix(start, limit)?;
            if let Some(found) = of_characters {
                let len = found.end - start;
                let is_character = len > 0 && matches!(self.unit, TextUnit::Character);
                let back = || boundaries_back(self.unit, &self.text[start..], len);
                if is_character || found.end == self.text.len() || back().next() == Some(len) {
                    return Ok(found);
                }
            }
        }
        let (mut bases, mut upper) = self.bases(start, end, limit)?;
        if let Some(last) = bases.last().filter(|last| last.at == end && last.count <= limit) {
            if end == self.text.len() && rest.is_empty() {
                let count = if self.rounds { self.count(&self.text[start..end])? } else { last.count };
                if count <= limit {
                    return Ok(Chunk { start, end, count });
                }
            }
        }
        while bases.last().is_some_and(|last| last.count > limit) {
            upper = bases.pop().map_or(upper, |last| Upper { at: last.at, exceeds: true });
        }
        self.refine(&mut bases, &mut upper, limit)?;
        let last = bases.last().map_or(start, |last| last.at);
        if !rest.is_empty() && (upper.at - last).max(rest.len()) > LONG {
            // Trying a position encodes `rest` and the text after the last joint. If one of these is long, bisection is
            // used, because it tries only few positions.
            let within = self.bisect_prefix(start, &bases, (start, upper.at), limit, rest)?;
            upper = Upper { at: within, exceeds: false };
        }
        // If `rest` is empty and `upper.at` is a joint over the limit, the position `upper.at` is not tried. If `rest`
        // is not empty, `upper.at` is tried in any case: it is not always a joint, and the prefix that ends there may
        // have fewer tokens together with `rest` than alone.
        let upper = match upper.exceeds && rest.is_empty() {
            true => floor(self.text, upper.at.saturating_sub(1)),
            false => upper.at,
        };
        let upper = of_characters.map_or(upper, |longest| longest.end);
        let mut unit = Some(self.unit);
        while let Some(one) = unit {
            let text = self.text;
            let mut positions = boundaries_back(one, &text[start..], upper - start).map(|at| start + at);
            let mut num_tried = if one == TextUnit::Character { 4 } else { 1 };
            loop {
                let tried: Vec<usize> = positions.by_ref().take(num_tried).collect();
                let counts = self.counts_up_to(&bases, start, &tried, rest)?;
                for (&at, count) in tried.iter().zip(counts) {
                    if count > limit {
                        continue;
                    }
                    let exact = if self.rounds { self.count(&[&text[start..at], rest].concat())? } else { count };
                    if exact <= limit {
                        return Ok(Chunk { start, end: at, count: exact });
                    }
                }
                if tried.len() < num_tried {
                    break;
                }
                num_tried = (2 * num_tried).min(MOST_TRIED);
            }
            unit = one.smaller();
        }
        Ok(Chunk { start, end: start, count: 0 })
    }

    /// Finds the longest suffix of `text[start..end]` that has at most `limit` tokens and begins at a unit boundary of
    /// `text[start..]`.
    fn longest_suffix(&mut self, start: usize, end: usize, limit: usize) -> Result<Chunk> {
        // Joints in descending order, each with the number of tokens between the joint and `end`.
        let mut bases = vec![Base { at: end, count: 0 }];
        let mut lower = start;
        let step = step(limit);
        while let Some(&last) = bases.last() {
            let joint = match self.text[start..last.at].chars().next() {
                Some(first) if last.at - start > first.len_utf8() => {
                    let until = last.at.saturating_sub(step).max(start + first.len_utf8());
                    let until = floor(self.text, until);
                    self.joint_before(start + first.len_utf8(), until)
                }
                _ => None,
            };
            let at = joint.unwrap_or(start);
            if last.at - at > LONG {
                // The suffix is repeatedly made twice as long, until it exceeds the limit or would reach `at`. If it
                // exceeds the limit, `ByteCutter::longest_suffix`, or else bisection, finds the start of the longest
                // suffix.
                let mut size = LONG;
                let over = loop {
                    let from = ceil(self.text, last.at.saturating_sub(size).max(at));
                    if from <= at {
                        break None;
                    }
                    if last.count + self.count_between(self.text, from, last.at)? > limit + 1 {
                        break Some(from);
                    }
                    size *= 2;
                };
                if let Some(over) = over {
                    let exact = match &mut self.by_bytes {
                        Some(by_bytes) => by_bytes.longest_suffix(at, last.at, limit - last.count)?,
                        None => None,
                    };
                    lower = match exact {
                        Some(exact) => exact,
                        None => self.bisect_suffix(over, last, limit)?,
                    };
                    if exact != Some(at) {
                        break;
                    }
                    lower = start;
                }
            }
            let Some(joint) = joint else {
                let count = last.count + self.count(&self.text[start..last.at])?;
                if count <= limit && (!self.rounds || self.count(&self.text[start..end])? <= limit) {
                    return Ok(Chunk { start, end, count });
                }
                break;
            };
            let count = last.count + self.count_between(self.text, joint, last.at)?;
            if count > limit {
                lower = joint;
                break;
            }
            bases.push(Base { at: joint, count });
        }
        if let Some(&last) = bases.last().filter(|last| last.at - lower <= LONG) {
            let first = self.text[lower..].chars().next().map_or(0, char::len_utf8);
            let mut base = last;
            while let Some(joint) = self.joint_before(lower + first, floor(self.text, base.at.saturating_sub(1))) {
                let count = base.count + self.count_between(self.text, joint, base.at)?;
                if count > limit {
                    lower = joint;
                    break;
                }
                base = Base { at: joint, count };
                bases.push(base);
            }
        }
        let mut unit = Some(self.unit);
        while let Some(one) = unit {
            if let Some(found) = self.first_suffix(one, (start, lower, end), &bases, limit)? {
                return Ok(found);
            }
            unit = one.smaller();
        }
        Ok(Chunk { start: end, end, count: 0 })
    }

    /// Tries the unit boundaries from `lower` on, in ascending order, and returns the first suffix within the limit.
    fn first_suffix(
        &mut self,
        unit: TextUnit,
        (start, lower, end): (usize, usize, usize),
        bases: &[Base],
        limit: usize,
    ) -> Result<Option<Chunk>> {
        let mut from = lower;
        while from < end {
            // The unit boundaries of the next few bytes, ascending.
            let until = ceil(self.text, (from + LONG / 4).min(end));
            let back = boundaries_back(unit, &self.text[start..], until - start).map(|at| start + at);
            let mut positions: Vec<usize> = back.take_while(|&at| at >= from).collect();
            if from == start {
                positions.push(start);
            }
            positions.sort_unstable();
            positions.dedup();
            for tried in positions.chunks(MOST_TRIED) {
                for &at in tried.iter().filter(|&&at| at < end) {
                    let next = bases.iter().rev().find(|base| base.at > at).copied();
                    let Some(next) = next else { continue };
                    let count = next.count + self.count(&self.text[at..next.at])?;
                    if count > limit {
                        continue;
                    }
                    let exact = if self.rounds { self.count(&self.text[at..end])? } else { count };
                    if exact <= limit {
                        return Ok(Some(Chunk { start: at, end, count: exact }));
                    }
                }
            }
            from = until + 1;
            from = ceil(self.text, from.min(end));
        }
        Ok(None)
    }

    /// Finds by bisection the first position after `over` such that the suffix from it is within the limit. The search
    /// assumes that longer suffixes have more tokens.
    fn bisect_suffix(&mut self, over: usize, base: Base, limit: usize) -> Result<usize> {
        let (mut low, mut high) = (over, base.at); // the suffix from `low` exceeds the limit, not the one from `high`
        while high - low > 1 {
            let middle = floor(self.text, low + (high - low) / 2);
            let middle = if middle <= low { ceil(self.text, low + 1) } else { middle };
            if middle >= high {
                break;
            }
            if base.count + self.count(&self.text[middle..base.at])? > limit {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(high)
    }

    /// Counts the tokens up to joints of `text[start..end]`, until a count exceeds the limit or the text ends. Returns
    /// these joints, ascending, and an upper bound for the end of the longest prefix within the limit. Only the count
    /// at the last joint can exceed the limit.
    fn bases(&mut self, start: usize, end: usize, limit: usize) -> Result<(Vec<Base>, Upper)> {
        let mut bases = vec![Base { at: start, count: 0 }];
        let step = step(limit);
        while let Some(&last) = bases.last() {
            if last.at == end || last.count > limit {
                break;
            }
            let wanted = (((limit - last.count) as f64 + 1.0) * self.bytes_per_token) as usize;
            let mut bounds = vec![last.at];
            let mut far = None; // the joint at the end of a long stretch without joints
            while let Some(&from) = bounds.last() {
                if from == end || from - last.at > wanted {
                    break;
                }
                let next = self.joint_after(start, from + step, end).unwrap_or(end);
                if next - from > LONG {
                    far = Some(next);
                    break;
                }
                bounds.push(next);
            }
            let pieces: Vec<Cow<'_, str>> =
                bounds.windows(2).map(|pair| Cow::Borrowed(with_context(self.text, start, pair[0], pair[1]))).collect();
            let counts = self.count_all(&pieces, last.at)?;
            let mut count = last.count;
            for (pair, of_piece) in bounds.windows(2).zip(counts) {
                count += of_piece - self.context(start, pair[0])?;
                bases.push(Base { at: pair[1], count });
                if count > limit {
                    break;
                }
            }
            let Some(&reached) = bases.last() else { break };
            if reached.count > last.count {
                let bytes = (reached.at - last.at) as f64 / (reached.count - last.count) as f64;
                self.bytes_per_token = (self.bytes_per_token + bytes.clamp(0.25, 64.0)) / 2.0;
            }
            let Some(far) = far.filter(|_| reached.count <= limit) else { continue };
            // The prefix is extended by more and more bytes, until it exceeds the limit or ends at `far`. If it exceeds
            // the limit, `longest_in_stretch`, or else bisection, finds the end of the longest prefix.
            let mut size = LONG;
            let over = loop {
                let at = ceil(self.text, (reached.at + size).min(far));
                let count = reached.count + self.count_from(start, reached.at, at)?;
                if count > limit {
                    break Some(at);
                }
                if at == far {
                    bases.push(Base { at: far, count });
                    break None;
                }
                size *= 2;
            };
            if let Some(over) = over {
                let upper = match self.longest_in_stretch(start, reached, far, limit)? {
                    Some(upper) if upper == far => {
                        let count = reached.count + self.count_from(start, reached.at, far)?;
                        bases.push(Base { at: far, count });
                        continue;
                    }
                    Some(upper) => upper,
                    None => self.bisect_prefix(start, &[reached], (reached.at, over), limit, "")?,
                };
                return Ok((bases, Upper { at: upper, exceeds: false }));
            }
        }
        Ok((bases, Upper { at: end, exceeds: false }))
    }

    /// Returns the end of the longest prefix that ends between `base` and the next joint; None if it cannot be
    /// determined.
    fn longest_in_stretch(&mut self, start: usize, base: Base, far: usize, limit: usize) -> Result<Option<usize>> {
        let text = with_context(self.text, start, base.at, far);
        let num_context = self.context(start, base.at)?;
        let context = text.len() - (far - base.at);
        let stretch = JointlessStretch { text, context, num_context };
        let (tok, permit, keep_going) = (self.tok, self.permit, self.keep_going);
        let found = tok.longest_in_stretch(stretch, limit - base.count, permit, &mut self.kept, keep_going);
        let found = found.map_err(|error| error.shifted(base.at - context))?;
        Ok(found.map(|end| base.at - context + end).filter(|&end| end > base.at))
    }

    /// Finds by bisection the last position in `low..=high` such that the prefix up to it, followed by `rest`, is
    /// within the limit. The search assumes that longer prefixes have more tokens.
    fn bisect_prefix(
        &mut self,
        start: usize,
        bases: &[Base],
        (mut low, mut high): (usize, usize),
        limit: usize,
        rest: &str,
    ) -> Result<usize> {
        while high - low > 1 {
            let middle = ceil(self.text, low + (high - low) / 2);
            let middle = if middle >= high { floor(self.text, high - 1) } else { middle };
            if middle <= low {
                break;
            }
            let counts = self.counts_up_to(bases, start, &[middle], rest)?;
            if counts.first().is_none_or(|&count| count > limit) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok(low)
    }

    /// Appends the joints between the last base and `upper` to `bases`, until a joint is over the limit. This joint is
    /// not appended; instead, `upper` is lowered to this joint.
    fn refine(&mut self, bases: &mut Vec<Base>, upper: &mut Upper, limit: usize) -> Result<()> {
        let (Some(&first), Some(&last)) = (bases.first(), bases.last()) else { return Ok(()) };
        if upper.at - last.at > LONG {
            return Ok(());
        }
        let mut bounds = vec![last.at];
        let mut from = last.at;
        while let Some(next) = self.joint_after(first.at, from + 1, upper.at) {
            bounds.push(next);
            from = next;
        }
        let pieces: Vec<Cow<'_, str>> =
            bounds.windows(2).map(|pair| Cow::Borrowed(with_context(self.text, first.at, pair[0], pair[1]))).collect();
        let counts = self.count_all(&pieces, last.at)?;
        let mut count = last.count;
        for (pair, of_piece) in bounds.windows(2).zip(counts) {
            count += of_piece - self.context(first.at, pair[0])?;
            if count > limit {
                *upper = Upper { at: pair[1], exceeds: true };
                break;
            }
            bases.push(Base { at: pair[1], count });
        }
        Ok(())
    }

    /// Returns, for each position `at`, the number of tokens of `text[start..at]` followed by `rest`.
    fn counts_up_to(&mut self, bases: &[Base], start: usize, positions: &[usize], rest: &str) -> Result<Vec<usize>> {
        let text = self.text;
        let base_of = |at: usize| {
            let index = bases.partition_point(|base| base.at < at);
            bases[index.saturating_sub(1)]
        };
        if let ([at], true) = (positions, rest.is_empty()) {
            if let Some(base) = bases.iter().rev().find(|base| base.at == *at) {
                return Ok(vec![base.count]);
            }
        }
        let pieces: Vec<Cow<'_, str>> = positions
            .iter()
            .map(|&at| {
                let piece = with_context(text, start, base_of(at).at, at);
                if rest.is_empty() {
                    Cow::Borrowed(piece)
                } else {
                    Cow::Owned([piece, rest].concat())
                }
            })
            .collect();
        let counts = self.count_all(&pieces, positions.first().map_or(start, |&at| base_of(at).at))?;
        positions
            .iter()
            .zip(counts)
            .map(|(&at, count)| {
                let base = base_of(at);
                Ok(base.count + count - self.context(start, base.at)?)
            })
            .collect()
    }

    /// Returns the first joint of `text[start..]` in `from..=until`.
    fn joint_after(&mut self, start: usize, from: usize, until: usize) -> Option<usize> {
        let from = ceil(self.text, from.max(start + 1).min(self.text.len()));
        let (low, high) = self.jointless;
        let resumed = if (low..high).contains(&from) { high } else { from };
        if resumed > until {
            return None;
        }
        let found = self.tok.next_joint(self.text, resumed, until);
        let end = found.unwrap_or(until + 1);
        if end.saturating_sub(from) > LONG {
            self.jointless = (from, end);
        }
        found
    }

    /// Returns the last joint (a position at which ids are independent) in `from..=until`.
    fn joint_before(&mut self, from: usize, until: usize) -> Option<usize> {
        if from > until {
            None
        } else {
            self.tok.last_joint(self.text, from, until)
        }
    }

    /// Counts the tokens of `text[from..until]`, where `from` is a joint or equals `start`.
    fn count_from(&mut self, start: usize, from: usize, until: usize) -> Result<usize> {
        let count = self.count(with_context(self.text, start, from, until))?;
        Ok(count - self.context(start, from)?)
    }

    /// Counts the tokens from a joint to `until`.
    fn count_between(&mut self, text: &str, joint: usize, until: usize) -> Result<usize> {
        let Some(before) = text[..joint].chars().next_back() else { return self.count(&text[..until]) };
        let count = self.count(&text[joint - before.len_utf8()..until])?;
        Ok(count - self.of_char(before)?)
    }

    /// Returns the number of tokens of the character before the joint `at`; 0 if `at` is `start`, because then there is
    /// no such character.
    fn context(&mut self, start: usize, at: usize) -> Result<usize> {
        match self.text[start..at].chars().next_back() {
            Some(before) => self.of_char(before),
            None => Ok(0),
        }
    }

    fn of_char(&mut self, c: char) -> Result<usize> {
        if let Some(&known) = self.alone.get(&c) {
            return Ok(known);
        }
        let count = self.count(c.encode_utf8(&mut [0; 4]))?;
        self.alone.insert(c, count);
        Ok(count)
    }

    fn count(&self, text: &str) -> Result<usize> {
        let counts = self.count_all(&[Cow::Borrowed(text)], self.offset_of(text))?;
        Ok(counts.first().copied().unwrap_or_default())
    }

    /// Returns the offset of a part in the text; 0 if `part` is not a slice of it.
    fn offset_of(&self, part: &str) -> usize {
        let offset = (part.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        if offset <= self.text.len() {
            offset
        } else {
            0
        }
    }

    /// Counts the tokens of texts, each encoded separately. `at`: offset of the first text, for error messages.
    fn count_all(&self, texts: &[Cow<'_, str>], at: usize) -> Result<Vec<usize>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let written = self.tok.run(self.permit, Written::new(true, 0), self.keep_going, |run| {
            run.joins_texts = texts.len() > 1;
            texts.iter().try_for_each(|text| {
                self.tok.run_text(Input::from(text.as_ref()), self.permit, run)?;
                run.end_of_text();
                Ok(())
            })
        });
        match written {
            Ok(written) => {
                let mut before = 0;
                Ok(written.ends.iter().map(|&end| end - std::mem::replace(&mut before, end)).collect())
            }
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted) => Err(error),
            Err(error) => Err(self.located(error, texts, at)),
        }
    }

    /// Encodes the texts again on the slow path and returns its error, because only errors of the slow path have a
    /// position.
    #[cold]
    fn located(&self, error: Error, texts: &[Cow<'_, str>], at: usize) -> Error {
        let mut ids = Vec::new();
        for text in texts {
            let at = match text {
                Cow::Borrowed(text) => self.offset_of(text),
                Cow::Owned(_) => at,
            };
            let done =
                self.tok.encode(text.as_bytes(), self.permit, self.keep_going, &mut Scratch::default(), &mut ids);
            if let Err(error) = done {
                return error.shifted(at);
            }
        }
        error
    }
}

/// The first pass of the search counts tokens only at some joints, and skips the joints in between. Returns the minimum
/// distance of two counted joints, in bytes. This distance is a fraction of the length of a part.
fn step(limit: usize) -> usize {
    (limit / 2).clamp(STEPS.0, STEPS.1)
}

/// Returns `text[from..until]`, together with the character before it if this character begins at `start` or later.
fn with_context(text: &str, start: usize, from: usize, until: usize) -> &str {
    let before = text[start..from].chars().next_back().map_or(0, char::len_utf8);
    &text[from - before..until]
}

/// Returns the positions in `1..=at` that are boundaries of text units (of the kind `unit`), in descending order.
fn boundaries_back(unit: TextUnit, text: &str, at: usize) -> Box<dyn Iterator<Item = usize> + '_> {
    match unit {
        TextUnit::Character => Box::new((1..=at).rev().filter(|&at| text.is_char_boundary(at))),
        _ => Box::new(unit.boundaries_back(text, at)),
    }
}
