//! Unigram model: finds the segmentation with the highest sum of scores (Viterbi).
//!
//! `best[end]` is the best segmentation of the text up to `end`: its score, and the start of its last piece. At the
//! start of each character, every piece that begins there updates `best` at the end of the piece, if this gives a
//! higher score than the stored one. The score of a character that is not a piece is the lowest score of all pieces,
//! minus 10.
//!
//! Rounding decides between nearly equal segmentations, so the arithmetic follows the library that the model comes
//! from. SentencePiece adds in 32 bits. A user-defined piece has the score (length − 1) / 10, with the length in bytes
//! (in the n-best search in characters), so the best segmentation nearly always contains this piece. HF adds in 64 bits
//! and has no user-defined pieces. SentencePiece up to 0.2.1 scored user-defined pieces by the best score times the
//! length; Jeton follows 0.2.3.
//!
//! If no piece crosses the start of a word, the segmentation of a text is the concatenation of those of its words. HF
//! starts the sum of each word at 0. SentencePiece continues the sum, so rounding depends on the preceding text. This
//! matters only if the scores of the best and the second best segmentation of a word differ by less than the rounding
//! error. For most words the difference is larger, so their ids can be cached (`encode_word`).
//!
//! At a position that no piece crosses, the preceding segmentation is final. A long text continues from there with
//! empty buffers.
//!
//! Cost: O(n · longest piece) time; 256 KiB of memory, and 16 bytes for each byte of text up to the next position that
//! no piece crosses. Source: Kudo 2018, arXiv 1804.10959; SentencePiece src/unigram_model.cc (EncodeOptimized); HF
//! models/unigram/model.rs. Sampling and n best: `lattice`.
//!
//! A special token with a score is matched like an ordinary piece if the caller permits the token; HF always matches
//! it. SentencePiece's control pieces are never matched.
//!
//! Left out: without an unknown token, HF refuses a text if the search considers an unknown character; Jeton refuses
//! it if the result uses one.

use hashbrown::HashSet;

use super::best_paths::{Best, BestPaths, NO_ID, UNREACHED};
use super::output::{Out, Specials};
use super::scratch::Scratch;
use super::unknown::{char_len, utf8, Unknown, UnknownWriter};
use crate::error::{Error, ErrorKind, Result};
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::util::trie::{Trie, ROOT};
use crate::util::utf8::{of_three, of_two};
use crate::vocab::alphabet::WORD_START;
use crate::vocab::merge_boundaries::MarkBoundaries;
use crate::vocab::{Kind, Vocab};

/// Difference between the lowest score of all pieces and the score of an unknown character.
const PENALTY: f64 = 10.0;

/// If the sum of scores falls below this limit, SentencePiece subtracts it from all sums that are still in use, so that
/// 32-bit floats are precise enough for long texts.
const REBASE: f64 = -100_000.0;

/// The cached ids of a word are used only if the absolute sum of scores is certain to stay below this limit. Such a sum
/// is never below [`REBASE`], so SentencePiece subtracts nothing from it.
const MOST_SUM: f64 = 90_000.0;

/// Number of bytes after which a window ends at the next position that no piece crosses. It is small in tests, so that
/// short texts have many windows.
const WINDOW: usize = if cfg!(test) { 8 } else { 1 << 10 };

/// A Unigram model.
#[derive(Debug, Clone)]
pub struct Unigram {
    trie: Trie,
    first: Box<[u32]>, // character up to U+FFFF -> its trie node; ROOT: no piece begins with it
    entries: Vec<PieceEntry>,
    pub(super) unk_score: f64,
    pub(super) single: bool,
    pub(super) unknown: Unknown,
    cuts_words: bool, // true if no piece crosses the start of a word, and `▁` is a piece
    largest: f64,     // maximum absolute score of a character
}

/// Properties of an entry.
#[derive(Debug, Clone, Copy)]
struct PieceEntry {
    score: f64, // with `single`, rounded to f32
    is_user_defined: bool,
    is_special: bool,
}

impl Unigram {
    /// Builds a model. `single` is true for SentencePiece's arithmetic (32 bits), false for HF's (64 bits). Entries
    /// with ids past the end of `scores` are not part of the model.
    ///
    /// # Errors
    /// `Config` for an entry without a score, and for a score that is not finite; errors of [`Unknown::new`].
    pub fn new(vocab: &Vocab, scores: &[f64], unknown: Unknown, single: bool) -> Result<Self> {
        if let Some(id) = scores.iter().position(|score| !score.is_finite()) {
            return Err(Error::config(format!("the score of id {id} is not a finite number")));
        }
        let round = |score: f64| if single { f64::from(score as f32) } else { score };
        let scores: Vec<f64> = scores.iter().map(|&score| round(score)).collect();
        let entry = |&score: &f64| PieceEntry { score, is_user_defined: false, is_special: false };
        let mut entries: Vec<PieceEntry> = scores.iter().map(entry).collect();
        let mut pieces = Vec::with_capacity(scores.len());
        let mut mark = [0; 4];
        let mark: &[u8] = WORD_START.encode_utf8(&mut mark).as_bytes();
        let (mut has_mark, mut has_inner, mut largest) = (false, false, 1.0f64);
        let mut min = if single { f32::MAX.into() } else { f64::MAX };
        for (id, kind, content) in vocab.iter() {
            let score = scores.get(id as usize).copied();
            match (kind, score) {
                (Kind::Token, None) => return Err(Error::config(format!("the piece with id {id} has no score"))),
                (Kind::Token | Kind::Added, Some(_)) => pieces.push((content, id)),
                (Kind::Special, Some(_)) if !single => pieces.push((content, id)),
                _ => {}
            }
            if let (Kind::Token | Kind::Added, Some(score)) = (kind, score) {
                has_mark |= kind == Kind::Token && content == mark;
                has_inner |= has_inner_word_start(content);
                largest = score.abs().max(largest);
            }
            if let Some(score) = score {
                entries[id as usize].is_user_defined = single && kind == Kind::Added;
                entries[id as usize].is_special = kind == Kind::Special;
                if kind == Kind::Token || !single {
                    min = score.min(min);
                }
            }
        }
        let unk_score = round(min - PENALTY);
        let (cuts_words, largest) = (single && has_mark && !has_inner, unk_score.abs().max(largest));
        let code = |content: &[u8]| std::str::from_utf8(content).ok()?.chars().next();
        let initial: HashSet<char> = pieces.iter().filter_map(|entry| code(entry.0)).collect();
        let trie = Trie::new(pieces);
        let mut first = vec![ROOT; 1 << 16].into_boxed_slice();
        for c in initial {
            if let Some(first) = first.get_mut(c as usize) {
                *first = trie.node(c.encode_utf8(&mut [0; 4]).as_bytes()).unwrap_or(ROOT);
            }
        }
        Ok(Self { trie, first, entries, unk_score, single, unknown, cuts_words, largest })
    }

    /// Returns true if a special token is a piece, so that results depend on the permitted special tokens.
    pub(super) fn has_special_pieces(&self) -> bool {
        !self.single && self.entries.iter().any(|entry| entry.is_special)
    }

    /// Iterates over the pieces at `start`, shortest first, as (end, id).
    #[inline]
    pub(super) fn pieces<'a>(
        &'a self,
        text: &'a [u8],
        start: usize,
        special: Specials<'a>,
    ) -> impl Iterator<Item = (usize, u32)> + 'a {
        let may_be = move |&(_, id): &(usize, u32)| !self.entries[id as usize].is_special || special.has(id);
        self.trie.matches(text, start).filter(may_be)
    }

    /// Returns the score of a piece, as SentencePiece or HF computes it. The score of a user-defined piece depends on
    /// its length `len`, which is in bytes, or in characters in the n-best search.
    #[inline]
    pub(super) fn score(&self, id: u32, len: usize) -> f64 {
        match self.entries[id as usize] {
            PieceEntry { is_user_defined: true, .. } => f64::from((len as f32 - 1.0) * 0.1),
            PieceEntry { score, .. } => score,
        }
    }

    #[inline]
    pub(super) fn round(&self, score: f64) -> f64 {
        if self.single {
            f64::from(score as f32)
        } else {
            score
        }
    }

    /// Returns the best segmentation as (id, end) of each piece, in order. Unknown characters have the id `NO_ID`.
    ///
    /// # Errors
    /// As [`Unigram::encode`].
    pub(super) fn best_path(
        &self,
        text: &[u8],
        special: Specials<'_>,
        keep_going: KeepGoing<'_>,
    ) -> Result<Vec<(u32, usize)>> {
        utf8(text)?;
        let mut path = Vec::new();
        let mut at = 0;
        self.search::<false>(text, &mut 0.0, special, keep_going, &mut BestPaths::default(), |id, end, _| {
            while id == NO_ID && at + char_len(text, at) < end {
                at += char_len(text, at);
                path.push((id, at));
            }
            path.push((id, end));
            at = end;
            Ok(())
        })?;
        Ok(path)
    }

    /// Appends the ids of a text.
    ///
    /// # Errors
    /// `Text` for text that is not UTF-8, or for an unknown character if there is no unknown token; `Interrupted`.
    pub fn encode(
        &self,
        text: &[u8],
        keep_going: KeepGoing<'_>,
        scratch: &mut Scratch,
        out: &mut Out<'_>,
    ) -> Result<()> {
        self.encode_after(text, &mut 0.0, keep_going, scratch, out)
    }

    /// Appends the ids of the rest of a text. The rest begins at a position that no piece crosses. `sum`: sum of the
    /// preceding scores, to which the scores of these ids are added.
    ///
    /// # Errors
    /// As [`Unigram::encode`].
    pub fn encode_after(
        &self,
        text: &[u8],
        sum: &mut f64,
        keep_going: KeepGoing<'_>,
        scratch: &mut Scratch,
        out: &mut Out<'_>,
    ) -> Result<()> {
        utf8(text)?;
        let special = out.special;
        let spelled = |run: &[u8], at| self.spelled(run, at, special);
        let mut writer = UnknownWriter::new(&self.unknown, text, out).looking_up(&spelled);
        let each = |id, end, _| self.put(id, end, &mut writer);
        self.search::<false>(text, sum, special, keep_going, &mut scratch.best_paths, each)?;
        writer.finish()
    }

    /// Counts the tokens of the best segmentations of all prefixes of a text. The result has the count of the prefix up
    /// to each byte position, and `u32::MAX` at positions inside of characters. Returns None if one of these
    /// segmentations has an unknown character that does not become bytes. The number of tokens of such characters is
    /// not clear, because a run of them can be one token.
    ///
    /// # Errors
    /// As [`Unigram::encode`].
    pub(crate) fn counts_of_prefixes(
        &self,
        text: &[u8],
        special: Specials<'_>,
        keep_going: KeepGoing<'_>,
    ) -> Result<Option<Vec<u32>>> {
        check_len(text)?;
        let (mut ways, mut cancel) = (BestPaths::default(), CancelCheck::new(keep_going));
        let mut counts = vec![u32::MAX; text.len() + 1];
        counts[0] = 0;
        let (mut from, mut sum) = (0, 0.0);
        while from < text.len() {
            let end = self.window::<false>(text, from, sum, special, &mut cancel, &mut ways)?;
            for at in 1..=end - from {
                let Some(way) = ways.best.get(at).filter(|way| way.start != NO_ID) else { continue };
                let start = way.start as usize;
                if way.id == NO_ID && !self.unknown.is_spelled() {
                    return Ok(None);
                }
                let own = if way.id == NO_ID { (at - start) as u32 } else { 1 };
                counts[from + at] = counts[from + start].saturating_add(own);
            }
            sum = ways.best[end - from].score;
            from = end;
        }
        Ok(Some(counts))
    }

    /// Returns true if [`Unigram::encode_word`] can encode the words of a text independently. A word begins at each `▁`
    /// that follows a character other than `▁`.
    pub(super) fn is_sum_of_words(&self) -> bool {
        self.cuts_words
    }

    /// Appends the ids of a word. `is_text` is true if the word is known to be UTF-8. `sum`: sum of the preceding
    /// scores, to which the scores of the word are added.
    ///
    /// The result tells whether the ids can be cached. They can if the word has the same ids after every preceding sum
    /// that [`Unigram::sum_after`] accepts. The test is made only if `asks` is true; else the result is false.
    ///
    /// # Errors
    /// As [`Unigram::encode`].
    pub fn encode_word(
        &self,
        (word, is_text): (&[u8], bool),
        asks: bool,
        sum: &mut f64,
        keep_going: KeepGoing<'_>,
        scratch: &mut Scratch,
        out: &mut Out<'_>,
    ) -> Result<bool> {
        if !is_text {
            utf8(word)?;
        }
        let (special, ways) = (out.special, &mut scratch.best_paths);
        let mut writer = UnknownWriter::new(&self.unknown, word, out);
        if !asks {
            let each = |id, end, _| self.put(id, end, &mut writer);
            self.search::<false>(word, sum, special, keep_going, ways, each)?;
            writer.finish()?;
            return Ok(false);
        }
        // Bound on the rounding error of an addition. It adds up the bounds of two cases: 2^-8 if the preceding sum is
        // another one (of at most 2^17) when the cached ids are used, and 2^-24 of the current sum in the search below.
        let chars = word.iter().filter(|&&byte| byte & 0xC0 != 0x80).count() as f64;
        let rounded = 2.0f64.powi(-8) + (sum.abs() + self.largest * chars) * 2.0f64.powi(-24);
        let mut lasts = true;
        self.search::<true>(word, sum, special, keep_going, ways, |id, end, lead| {
            lasts &= id != NO_ID && !self.entries[id as usize].is_user_defined && lead > 2.0 * chars * rounded;
            self.put(id, end, &mut writer)
        })?;
        writer.finish()?;
        Ok(lasts)
    }

    /// Adds the scores of a word's cached `ids` to `sum`, and returns the new sum. Returns None if `sum` is so large
    /// that the cached ids may be wrong. `len`: number of bytes of the word.
    #[inline]
    pub fn sum_after(&self, sum: f64, ids: &[u32], len: usize) -> Option<f64> {
        if sum.abs() + self.largest * (len as f64 + 1.0) >= MOST_SUM {
            return None;
        }
        Some(ids.iter().fold(sum, |sum, &id| self.round(self.entries[id as usize].score + sum)))
    }

    /// Finds the best segmentation of a text, and adds its score to `sum`, the sum of the preceding scores. Calls
    /// `each(id, end, lead)` for its pieces and runs of unknown characters in order. If `LEADS` is true, `lead` is the
    /// difference between the scores of the best and the second best segmentation up to `end`.
    fn search<const LEADS: bool>(
        &self,
        text: &[u8],
        sum: &mut f64,
        special: Specials<'_>,
        keep_going: KeepGoing<'_>,
        ways: &mut BestPaths,
        mut each: impl FnMut(u32, usize, f64) -> Result<()>,
    ) -> Result<()> {
        check_len(text)?;
        let mut cancel = CancelCheck::new(keep_going);
        let mut from = 0;
        while from < text.len() {
            let end = self.window::<LEADS>(text, from, *sum, special, &mut cancel, ways)?;
            let BestPaths { best, leads, path } = &mut *ways;
            let mut at = end - from;
            *sum = best[at].score;
            path.clear();
            while at > 0 {
                path.push((best[at].id, at));
                at = best[at].start as usize;
            }
            for &(id, at) in path.iter().rev() {
                each(id, from + at, if LEADS { leads[at] } else { f64::INFINITY })?;
            }
            from = end;
        }
        Ok(())
    }

    /// Finds the best segmentations from a position up to a position that no piece crosses, or to the end of the
    /// text; returns the position reached.
    fn window<const LEADS: bool>(
        &self,
        text: &[u8],
        from: usize,
        sum: f64,
        special: Specials<'_>,
        cancel: &mut CancelCheck<'_>,
        ways: &mut BestPaths,
    ) -> Result<usize> {
        let text = &text[from..];
        let BestPaths { best, leads, .. } = ways;
        best.clear();
        best.push(Best { score: sum, ..UNREACHED });
        if LEADS {
            leads.clear();
            leads.push(f64::INFINITY);
        }
        // Makes `best` slightly longer than is necessary for `end`, so that it is rarely resized.
        let grow = |best: &mut Vec<Best>, leads: &mut Vec<f64>, end: usize| {
            let len = (end + WINDOW / 4).min(text.len()) + 1;
            best.resize(len, UNREACHED);
            if LEADS {
                leads.resize(len, f64::INFINITY);
            }
        };
        let offer = |best: &mut [Best], leads: &mut [f64], end: usize, candidate: Best| {
            let (place, score) = (&mut best[end], self.round(candidate.score));
            let is_first = place.start == NO_ID;
            if LEADS && !is_first {
                let lead = score - place.score;
                leads[end] = if lead > 0.0 { lead } else { leads[end].min(-lead) };
            }
            if is_first || score > place.score {
                *place = Best { score, ..candidate };
            }
        };
        let (mut start, mut reached) = (0, 0);
        while start < text.len() && (start < WINDOW || reached > start) {
            cancel.check()?;
            if self.single && best[start].score < REBASE {
                let base = best[start].score;
                best[start..=reached].iter_mut().for_each(|place| place.score = self.round(place.score - base));
            }
            let so_far = best[start].score;
            let (node, next) = self.character(text, start);
            if next >= best.len() {
                grow(best, leads, next);
            }
            let mut is_char_known = false;
            if node != ROOT {
                for (end, id) in self.trie.matches_after(node, text, next) {
                    let entry = &self.entries[id as usize];
                    if entry.is_special && !special.has(id) {
                        continue;
                    }
                    cancel.check()?;
                    is_char_known |= end == next;
                    reached = reached.max(end);
                    if end >= best.len() {
                        grow(best, leads, end);
                    }
                    let score = self.score(id, end - start) + so_far;
                    offer(best, leads, end, Best { score, start: start as u32, id });
                }
            }
            if !is_char_known {
                let score = self.unk_score + so_far;
                let is_run = start > 0 && best[start].id == NO_ID;
                let first = if is_run { best[start].start } else { start as u32 };
                offer(best, leads, next, Best { score, start: first, id: NO_ID });
            }
            (start, reached) = (next, reached.max(next));
        }
        Ok(from + start)
    }

    /// Returns the trie node of the character at a position (ROOT if no piece begins with it) and the end of the
    /// character.
    #[inline(always)]
    fn character(&self, text: &[u8], at: usize) -> (u32, usize) {
        let (code, len) = match text[at..] {
            [a @ 0..0x80, ..] => (u32::from(a), 1),
            [a @ 0xC0..0xE0, b, ..] => (of_two(a, b), 2),
            [a @ 0xE0..0xF0, b, c, ..] => (of_three(a, b, c), 3),
            _ => {
                let end = at + char_len(text, at);
                return (self.trie.node(&text[at..end]).unwrap_or(ROOT), end);
            }
        };
        (self.first[code as usize & 0xFFFF], at + len)
    }

    /// Returns the piece that equals a run of unknown characters at `at`, if any. HF converts tokens to ids by their
    /// text, so it gives such a run the id of this piece.
    fn spelled(&self, run: &[u8], at: usize, special: Specials<'_>) -> Result<Option<u32>> {
        let found = self.pieces(run, 0, special).last().filter(|_| !self.single);
        let id = found.filter(|&(end, _)| end == run.len()).map(|(_, id)| id);
        match id {
            Some(id) if self.refuses(id, special) => Err(refusal(run, at)),
            id => Ok(id),
        }
    }

    /// Returns true if adjacent unknown characters are one token.
    pub fn fuses_unknown(&self) -> bool {
        self.unknown.is_fused()
    }

    /// Returns true if a piece is a special token that the caller does not permit.
    #[inline]
    fn refuses(&self, id: u32, special: Specials<'_>) -> bool {
        matches!(special, Specials::Refused) && self.entries[id as usize].is_special
    }

    /// Appends one piece of a segmentation.
    #[inline]
    fn put(&self, id: u32, end: usize, writer: &mut UnknownWriter<'_, '_>) -> Result<()> {
        match id {
            NO_ID => writer.unknown_characters(end),
            _ if self.refuses(id, writer.special()) => Err(refusal(writer.text_to(end), writer.at())),
            // HF treats the piece of the unknown token as unknown text, and fuses it with its neighbors.
            _ if !self.single && Some(id) == self.unknown.unk() => writer.unknown(end),
            _ => writer.known(id, end),
        }
    }

    /// Appends a segmentation: (id, end) of each piece.
    pub(super) fn write(&self, text: &[u8], path: impl Iterator<Item = (u32, usize)>, out: &mut Out<'_>) -> Result<()> {
        let special = out.special;
        let spelled = |run: &[u8], at| self.spelled(run, at, special);
        let mut writer = UnknownWriter::new(&self.unknown, text, out).looking_up(&spelled);
        path.into_iter().try_for_each(|(id, end)| self.put(id, end, &mut writer))?;
        writer.finish()
    }
}

/// Creates the error for a special token that the caller does not permit. `text` is the token, which begins at byte
/// `at`.
#[cold]
fn refusal(text: &[u8], at: usize) -> Error {
    ErrorKind::Special { token: String::from_utf8_lossy(text).into_owned(), at }.into()
}

/// Checks that the positions in a text fit into 32 bits.
///
/// # Errors
/// `Text` if they do not.
pub(super) fn check_len(text: &[u8]) -> Result<()> {
    match text.len() {
        0..0xFFFF_FFFF => Ok(()),
        _ => Err(Error::text("a pretoken of 4 GiB or more cannot be encoded: use a pattern that splits the text", 0)),
    }
}

/// Returns true if `content` has a `▁` that directly follows a character other than `▁`.
fn has_inner_word_start(content: &[u8]) -> bool {
    !MarkBoundaries::new([content].into_iter()).joined().is_empty()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// Returns the best segmentation of a whole text, found without windows. If several segmentations have the same
    /// score, the first one found is kept.
    fn by_the_rule(pieces: &BTreeMap<String, f64>, text: &str) -> Vec<(u32, usize)> {
        let unknown = pieces.values().copied().fold(0.0, f64::min) - PENALTY;
        let mut best = vec![(f64::NEG_INFINITY, 0, NO_ID); text.len() + 1];
        best[0].0 = 0.0;
        for (start, c) in text.char_indices() {
            let own = [(c.to_string(), NO_ID, unknown)].into_iter().filter(|(c, ..)| !pieces.contains_key(c));
            let others = pieces.iter().zip(0..).map(|((piece, &score), id)| (piece.clone(), id, score));
            for (piece, id, score) in own.chain(others).filter(|(piece, ..)| text[start..].starts_with(piece)) {
                let (score, end) = (score + best[start].0, start + piece.len());
                if score > best[end].0 {
                    best[end] = (score, start, id);
                }
            }
        }
        let mut path = Vec::new();
        let mut end = text.len();
        while end > 0 {
            path.insert(0, (best[end].2, end));
            end = best[end].1;
        }
        path
    }

    proptest! {
        /// Checks that the search, which uses windows and joins runs of unknown characters, finds the same path as
        /// `by_the_rule` for the whole text.
        #[test]
        fn best_path_in_windows_equals_that_of_the_whole_text(
            pieces in proptest::collection::btree_map("[ab中文é]{1,4}", -20.0..0.0f64, 1..20),
            text in "[ab中文éz😀]{0,60}",
            fused in any::<bool>(),
        ) {
            let entries = (0..).zip(&pieces).map(|(id, (piece, _))| (id, Kind::Token, piece.as_bytes()));
            let unk = pieces.len() as u32;
            let vocab = Vocab::new(entries.chain([(unk, Kind::Special, b"<unk>".as_slice())])).unwrap();
            let scores: Vec<f64> = pieces.values().copied().chain([0.0]).collect();
            let unknown = Unknown::new(&vocab, Some(unk), fused, false).unwrap();
            let model = Unigram::new(&vocab, &scores, unknown, false).unwrap();
            let path = model.best_path(text.as_bytes(), Specials::None, &|| true).unwrap();
            prop_assert_eq!(&path, &by_the_rule(&pieces, &text));
            let (mut ids, mut expected) = (Vec::new(), Vec::new());
            model.encode(text.as_bytes(), &|| true, &mut Scratch::default(), &mut Out::ids(&mut ids)).unwrap();
            model.write(text.as_bytes(), path.into_iter(), &mut Out::ids(&mut expected)).unwrap();
            prop_assert_eq!(ids, expected);
        }
    }
}
