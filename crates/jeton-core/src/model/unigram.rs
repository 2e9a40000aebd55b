//! Unigram: the segmentation whose scores add up to most (Viterbi).
//!
//! `best[end]` is the best way to cover the text up to `end`: its score, and where its last piece begins. From each character's
//! start, every piece that begins there offers itself to the place where it ends; the first of equals stays. A character that is no
//! piece costs 10 more than the worst piece.
//!
//! Two arithmetics, for a rounding decides between nearly equal segmentations: SentencePiece adds in 32 bits, and a user-defined
//! piece scores a tenth of its length less one (here in bytes, for the n best in characters), so that it nearly always wins. HF
//! adds in 64 bits and knows no user-defined pieces. SentencePiece up to 0.2.1 had another score for user-defined pieces, the
//! best score times the length, and let sums grow; we follow 0.2.3, by its results.
//!
//! Where no piece reaches over the start of a word, a text is the sum of its words. HF adds each word from 0. SentencePiece goes on adding,
//! and what 32 bits round off depends on all that came before; but not where the best way through a word leads every
//! other by more than the roundings can make up. Most words are of this kind: their pieces can be remembered (`encode_word`).
//!
//! Cost: O(n · longest piece) time, 16 bytes of memory a byte of text. Source: Kudo 2018, arXiv 1804.10959; SentencePiece
//! src/unigram_model.cc (EncodeOptimized); HF models/unigram/model.rs. Sampling and the n best: `lattice`.
//!
//! A special token that has a score is a piece like others where the caller permits it, as it always is to HF. SentencePiece's
//! control pieces are never spelled.
//!
//! Left out: HF refuses a text when an unknown character without unknown token was ever considered, we when it is used.

use super::bpe::has_inner_word_start;
use super::trie::Trie;
use super::unknown::{char_len, utf8, Unknown, Writer};
use super::{Out, Scratch, Specials};
use crate::alphabet::WORD_START;
use crate::error::{Error, Result};
use crate::interrupt::{GoOn, Looks};
use crate::vocab::{Kind, Vocab};

/// What an unknown character costs beyond the worst piece.
const PENALTY: f64 = 10.0;

/// Below this sum SentencePiece takes the sum so far off all sums, so that 32 bits still tell the segmentations of a long text apart.
const REBASE: f64 = -100_000.0;

/// Sums as large as this are not followed word by word: they come near [`REBASE`].
const MOST_SUM: f64 = 90_000.0;

/// No piece, or none yet.
pub(super) const NO_ID: u32 = u32::MAX;

/// A Unigram model.
#[derive(Debug, Clone)]
pub struct Unigram {
    trie: Trie,
    pub(super) scores: Vec<f64>, // id -> score; with `single`, what fits f32
    is_user_defined: Vec<bool>,
    is_special: Vec<bool>,
    pub(super) unk_score: f64,
    pub(super) single: bool,
    pub(super) unknown: Unknown,
    cuts_words: bool, // no piece reaches over the start of a word, and `▁` is one
    largest: f64,     // no character adds or takes more than this
}

/// The best way to cover the text up to some place.
#[derive(Debug, Clone, Copy)]
pub struct Best {
    score: f64,
    start: u32, // of the last piece; NO_ID: no way known
    id: u32,    // NO_ID: unknown
}

const UNREACHED: Best = Best { score: 0.0, start: NO_ID, id: NO_ID };

impl Unigram {
    /// A model. `single`: SentencePiece's arithmetic, else HF's. Entries with an id past the end of `scores` are not of the model.
    ///
    /// # Errors
    /// `Config` for an entry without a score, a score that is no number, and as [`Unknown::new`].
    pub fn new(vocab: &Vocab, scores: &[f64], unknown: Unknown, single: bool) -> Result<Self> {
        if let Some(id) = scores.iter().position(|score| !score.is_finite()) {
            return Err(Error::config(format!("the score of id {id} is not a finite number")));
        }
        let round = |score: f64| if single { f64::from(score as f32) } else { score };
        let scores: Vec<f64> = scores.iter().map(|&score| round(score)).collect();
        let mut pieces = Vec::with_capacity(scores.len());
        let (mut is_user_defined, mut is_special) = (vec![false; scores.len()], vec![false; scores.len()]);
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
                is_user_defined[id as usize] = single && kind == Kind::Added;
                is_special[id as usize] = kind == Kind::Special;
                if kind == Kind::Token || !single {
                    min = score.min(min);
                }
            }
        }
        let unk_score = round(min - PENALTY);
        let (cuts_words, largest) = (single && has_mark && !has_inner, unk_score.abs().max(largest));
        Ok(Self {
            trie: Trie::new(pieces),
            scores,
            is_user_defined,
            is_special,
            unk_score,
            single,
            unknown,
            cuts_words,
            largest,
        })
    }

    /// Whether permission decides what may come out.
    pub(super) fn has_special_pieces(&self) -> bool {
        !self.single && self.is_special.contains(&true)
    }

    /// The pieces that begin at `start`, shortest first: where each ends, and its id.
    #[inline]
    pub(super) fn pieces<'a>(
        &'a self,
        text: &'a [u8],
        start: usize,
        special: Specials<'a>,
    ) -> impl Iterator<Item = (usize, u32)> + 'a {
        let may_be = move |&(_, id): &(usize, u32)| !self.is_special[id as usize] || special.has(id);
        self.trie.matches(text, start).filter(may_be)
    }

    /// The score of a piece of `len` bytes (for the n best: characters), as SentencePiece and HF would give it.
    #[inline]
    pub(super) fn score(&self, id: u32, len: usize) -> f64 {
        if self.is_user_defined[id as usize] {
            return f64::from((len as f32 - 1.0) * 0.1);
        }
        self.scores[id as usize]
    }

    #[inline]
    pub(super) fn round(&self, score: f64) -> f64 {
        if self.single {
            f64::from(score as f32)
        } else {
            score
        }
    }

    /// The best segmentation as it is found, before anything is made of unknown characters: (id, end) from the start on.
    ///
    /// # Errors
    /// As [`Unigram::encode`].
    pub(super) fn best_path(&self, text: &[u8], special: Specials<'_>, go_on: GoOn<'_>) -> Result<Vec<(u32, usize)>> {
        utf8(text)?;
        check_len(text)?;
        let (mut best, mut path) = (Vec::new(), Vec::new());
        self.search::<false>(text, 0.0, special, go_on, &mut best, &mut Vec::new())?;
        trace(&best, &mut path);
        path.reverse();
        Ok(path)
    }

    /// Appends the ids of a text.
    ///
    /// # Errors
    /// `Text` where it is not UTF-8, and for a character that is no piece, if nothing stands in; `Interrupted`.
    pub fn encode(&self, text: &[u8], go_on: GoOn<'_>, scratch: &mut Scratch, out: &mut Out<'_>) -> Result<()> {
        utf8(text)?;
        check_len(text)?;
        let Scratch { best, path, .. } = scratch;
        self.search::<false>(text, 0.0, out.special, go_on, best, &mut Vec::new())?;
        trace(best, path);
        self.write(text, path.iter().rev().copied(), out)
    }

    /// Whether words, from one `▁` that follows something else to the next, can be encoded by [`Unigram::encode_word`].
    pub(super) fn is_sum_of_words(&self) -> bool {
        self.cuts_words
    }

    /// Appends the ids of a word. `sum`: of all scores before it, and then with its own. Whether these ids are the word's after any sum for
    /// which [`Unigram::sum_after`] is known.
    ///
    /// # Errors
    /// As [`Unigram::encode`].
    pub fn encode_word(
        &self,
        word: &[u8],
        sum: &mut f64,
        go_on: GoOn<'_>,
        scratch: &mut Scratch,
        out: &mut Out<'_>,
    ) -> Result<bool> {
        let chars = utf8(word)?.chars().count() as f64;
        check_len(word)?;
        let Scratch { best, path, leads, .. } = scratch;
        self.search::<true>(word, *sum, out.special, go_on, best, leads)?;
        trace(best, path);
        // A sum of at most 2^17 is rounded by at most 2^-8, and by 2^-24 of what it is now.
        let rounded = 2.0f64.powi(-8) + (sum.abs() + self.largest * chars) * 2.0f64.powi(-24);
        let is_sure = |&(id, end): &(u32, usize)| {
            id != NO_ID && !self.is_user_defined[id as usize] && leads[end] > 2.0 * chars * rounded
        };
        let lasts = path.iter().all(is_sure);
        *sum = best[word.len()].score;
        self.write(word, path.iter().rev().copied(), out)?;
        Ok(lasts)
    }

    /// The sum after a word of `len` bytes whose ids were remembered; None where they have to be found again.
    #[inline]
    pub fn sum_after(&self, sum: f64, ids: &[u32], len: usize) -> Option<f64> {
        if sum.abs() + self.largest * (len as f64 + 1.0) >= MOST_SUM {
            return None;
        }
        Some(ids.iter().fold(sum, |sum, &id| self.round(self.scores[id as usize] + sum)))
    }

    /// Fills `best` for a text after some sum. `LEADS`: and by how much the best way to each place leads the second best.
    fn search<const LEADS: bool>(
        &self,
        text: &[u8],
        sum: f64,
        special: Specials<'_>,
        go_on: GoOn<'_>,
        best: &mut Vec<Best>,
        leads: &mut Vec<f64>,
    ) -> Result<()> {
        best.clear();
        best.resize(text.len() + 1, UNREACHED);
        best[0].score = sum;
        if LEADS {
            leads.clear();
            leads.resize(text.len() + 1, f64::INFINITY);
        }
        let mut looks = Looks::new(go_on);
        let (mut start, mut reached) = (0, 0);
        let mut offer = |best: &mut [Best], end: usize, candidate: Best| {
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
        while start < text.len() {
            if self.single && best[start].score < REBASE {
                let base = best[start].score;
                best[start..=reached].iter_mut().for_each(|place| place.score = self.round(place.score - base));
            }
            let so_far = best[start].score;
            let next = start + char_len(text, start);
            let mut is_char_known = false;
            for (end, id) in self.pieces(text, start, special) {
                looks.now_and_then()?;
                is_char_known |= end == next;
                reached = reached.max(end);
                let score = self.score(id, end - start) + so_far;
                offer(best, end, Best { score, start: start as u32, id });
            }
            if !is_char_known {
                let score = self.unk_score + so_far;
                offer(best, next, Best { score, start: start as u32, id: NO_ID });
            }
            looks.now_and_then()?;
            (start, reached) = (next, reached.max(next));
        }
        Ok(())
    }

    /// Appends a segmentation: (id, end) of each piece.
    pub(super) fn write(&self, text: &[u8], path: impl Iterator<Item = (u32, usize)>, out: &mut Out<'_>) -> Result<()> {
        // HF looks the text of each token up again, so a run of unknown characters may turn out to be a piece.
        let special = out.special;
        let spelled = |run: &[u8]| {
            let found = self.pieces(run, 0, special).last();
            found.filter(|&(end, _)| !self.single && end == run.len()).map(|(_, id)| id)
        };
        let mut writer = Writer::new(&self.unknown, text, out).looking_up(&spelled);
        for (id, end) in path {
            match id {
                NO_ID => writer.unknown(end)?,
                // To HF the piece of the unknown token is unknown text as well, one with its neighbors.
                _ if !self.single && Some(id) == self.unknown.unk() => writer.unknown(end)?,
                _ => writer.known(id, end)?,
            }
        }
        writer.finish()
    }
}

/// The best way, last piece first: (id, end).
fn trace(best: &[Best], path: &mut Vec<(u32, usize)>) {
    path.clear();
    let mut end = best.len() - 1;
    while end > 0 {
        path.push((best[end].id, end));
        end = best[end].start as usize;
    }
}

/// # Errors
/// `Text` where places would not fit 32 bits.
pub(super) fn check_len(text: &[u8]) -> Result<()> {
    match text.len() {
        0..0xFFFF_FFFF => Ok(()),
        _ => Err(Error::text("a pretoken of 4 GiB or more cannot be encoded: use a pattern that cuts the text", 0)),
    }
}
