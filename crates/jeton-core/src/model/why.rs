//! Lists the alternatives that models without merges considered: the lattice of Unigram, the lookups of WordPiece.
//!
//! A limited number of lattice pieces is listed and the rest only counted, so memory is bounded for pretokens of any
//! length. The best segmentation is the one that the encoder uses. Other good segmentations are searched in short
//! pretokens only, since the search needs the whole lattice.
//!
//! Scores are computed as in the n-best search (`lattice`). In SentencePiece's encoding, the score of a user-defined
//! piece with characters beyond ASCII is slightly higher than in this search.

use super::best_paths::NO_ID;
use super::output::Specials;
use super::unigram::Unigram;
use super::unknown::{char_len, utf8};
use super::words::WordPiece;
use crate::error::Result;
use crate::util::cancel::{CancelCheck, KeepGoing};

/// Maximum length in bytes of a pretoken for which segmentations other than the best are searched. The lattice of such
/// a pretoken takes a few MB.
const SHORT: usize = 1 << 14;

/// Maximum number of segmentations that are listed in addition to the best one.
const OTHERS: usize = 3;

/// A piece at a position.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PieceMatch {
    /// Byte offset in the pretoken at which the piece starts.
    pub start: usize,
    /// Byte offset in the pretoken at which the piece ends.
    pub end: usize,
    /// Id of the piece; None for an unknown character.
    pub id: Option<u32>,
    /// Score of the piece.
    pub score: f64,
}

/// A segmentation and the sum of its scores.
#[derive(Debug, Clone, PartialEq)]
pub struct Way {
    /// Pieces in order.
    pub pieces: Vec<PieceMatch>,
    /// Sum of their scores.
    pub score: f64,
}

/// The lattice of a pretoken, its best segmentation and the next best ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Ways {
    /// First pieces of the lattice, up to a limit, ordered by start, then by length.
    pub pieces: Vec<PieceMatch>,
    /// Number of pieces of the whole lattice.
    pub num_pieces: usize,
    /// The chosen segmentation.
    pub best: Way,
    /// The next best segmentations, in descending order of score; empty for a long pretoken.
    pub others: Vec<Way>,
}

/// Matches of WordPiece in a pretoken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attempts {
    /// Matches in order: the longest entry at each start, as (start, end, id).
    pub found: Vec<(usize, usize, u32)>,
    /// Byte offset at which no entry matches, so that the whole pretoken is unknown.
    pub stuck_at: Option<usize>,
    /// True if the pretoken has more characters than the model accepts.
    pub is_too_long: bool,
}

impl Unigram {
    /// Returns the best segmentations of a pretoken, and the first pieces of its lattice (at most `most`).
    ///
    /// # Errors
    /// As [`Unigram::encode`].
    pub fn ways(&self, text: &[u8], most: usize, special: Specials<'_>, keep_going: KeepGoing<'_>) -> Result<Ways> {
        let path = self.best_path(text, special, keep_going)?;
        let others =
            if text.len() <= SHORT { self.best_paths(text, OTHERS + 1, special, keep_going)? } else { Vec::new() };
        let others = others.into_iter().filter(|(other, _)| *other != path).take(OTHERS);
        let others = others.map(|(path, score)| Way { score, ..self.way(text, &path) }).collect();
        let (mut pieces, mut num_pieces, mut start) = (Vec::new(), 0, 0);
        let mut cancel = CancelCheck::new(keep_going);
        while start < text.len() {
            let next = start + char_len(text, start);
            let mut is_char_known = false;
            let mut tell = |end, id| {
                num_pieces += 1;
                if pieces.len() < most {
                    pieces.push(self.piece(text, start, end, id));
                }
            };
            for (end, id) in self.pieces(text, start, special) {
                cancel.check()?;
                is_char_known |= end == next;
                tell(end, id);
            }
            if !is_char_known {
                tell(next, NO_ID);
            }
            cancel.check()?;
            start = next;
        }
        Ok(Ways { pieces, num_pieces, best: self.way(text, &path), others })
    }

    fn way(&self, text: &[u8], path: &[(u32, usize)]) -> Way {
        let starts = std::iter::once(0).chain(path.iter().map(|&(_, end)| end));
        let pieces: Vec<PieceMatch> =
            starts.zip(path).map(|(start, &(id, end))| self.piece(text, start, end, id)).collect();
        let score = pieces.iter().fold(0.0, |sum, piece| self.round(sum + piece.score));
        Way { pieces, score }
    }

    fn piece(&self, text: &[u8], start: usize, end: usize, id: u32) -> PieceMatch {
        let chars = text[start..end].iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
        let score = if id == NO_ID { self.unk_score } else { self.round(self.score(id, chars)) };
        PieceMatch { start, end, id: (id != NO_ID).then_some(id), score }
    }
}

impl WordPiece {
    /// Returns the matches in a pretoken, up to the first offset at which no entry matches.
    ///
    /// # Errors
    /// As [`WordPiece::encode`].
    pub fn attempts(&self, pretoken: &[u8], keep_going: KeepGoing<'_>) -> Result<Attempts> {
        let mut attempts = Attempts { is_too_long: self.is_too_long(pretoken)?, ..Attempts::default() };
        let (mut at, mut cancel) = (0, CancelCheck::new(keep_going));
        while at < pretoken.len() && !attempts.is_too_long {
            cancel.check()?;
            let Some((end, id)) = self.longest(pretoken, at) else {
                utf8(pretoken)?;
                attempts.stuck_at = Some(at);
                break;
            };
            attempts.found.push((at, end, id));
            at = end;
        }
        Ok(attempts)
    }
}
