//! Counts of words → pieces, by the rules of SentencePiece's BPE trainer.
//!
//! Words are normalized and split at white space, with U+001F in place of control and user-defined symbols. The
//! vocabulary has the most frequent characters that together cover `character_coverage` of the text. All other
//! characters, and U+001F, split the words. Pieces are learned by merges, with the tie rule `shortest` and the
//! constraint [`super::rules::sentencepiece`]; in the vocabulary, the characters follow the learned pieces.
//!
//! When no pair is left, SentencePiece continues with former pairs. A former pair is two symbols that were adjacent at
//! an earlier step but are no longer adjacent anywhere, because other merges changed all occurrences. Its spelling
//! becomes a piece. This trainer does the same.
//!
//! Invariant: the same pieces in the same order as sentencepiece 0.2.3. As in that library, coverage is compared in 32
//! bits. Cost: one pass over the counts, and learning. Source: google/sentencepiece `trainer_interface.cc`,
//! `bpe_model_trainer.cc`. Left out: sampling, differential privacy, `auto_character_coverage`.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use super::count::Counts;
use super::learn;
use super::merge::{LearnedMerge, OnMerge};
use super::options::{LearnOptions, TieBreak};
use super::replay::{Replay, ReplayScratch};
use super::rules::sentencepiece::PieceRules;
use super::rules::Rule;
use super::sequences::Symbols;
use super::units::Units;
use crate::error::{Error, ErrorKind, Result};
use crate::vocab::alphabet::{EndOfWord, Level, Symbol};

/// Substitute for a control or user-defined symbol.
const BOUNDARY: char = '\u{1F}';
/// SentencePiece's substitute for rare characters.
const RARE: char = '\u{2585}';

/// Options of the trainer.
#[derive(Debug, Clone, Deserialize)]
pub struct SentencePieceOptions {
    /// Total number of pieces, including characters, excluding control symbols and other reserved pieces.
    pub vocab_size: usize,
    /// Minimum share of the text that consists of characters in the vocabulary.
    pub character_coverage: f32,
    /// Characters that are always in the vocabulary.
    pub required_chars: String,
    /// Options that determine which pieces are valid.
    #[serde(flatten)]
    pub candidates: PieceRules,
}

impl SentencePieceOptions {
    /// Reads options from JSON.
    ///
    /// # Errors
    /// [`Error::config`] for invalid JSON.
    pub fn from_json(options: &str) -> Result<Self> {
        serde_json::from_str(options).map_err(|error| Error::config(format!("options of training: {error}")))
    }
}

/// Result of training: pieces and merges.
#[derive(Debug)]
pub struct SentencePieceResult {
    /// All pieces, in descending order of scores.
    pub pieces: Vec<String>,
    /// Number of single characters, which are the last pieces.
    pub num_chars: usize,
    /// Merges in the order in which they were learned. All ids in them are indices in `pieces`.
    pub merges: Vec<LearnedMerge>,
}

/// Learns pieces. `watch` is called as in [`learn::learn`].
///
/// # Errors
/// [`Error::config`] if the characters alone exceed the vocabulary size; [`Error::training`] for words with U+2585, or
/// if no character was counted; the errors of [`learn::learn`].
pub fn learn(
    counts: &Counts,
    options: &SentencePieceOptions,
    run: &LearnOptions<'_>,
    watch: &mut OnMerge<'_>,
) -> Result<SentencePieceResult> {
    let required = &options.required_chars;
    let chars = required_chars(counts, options.character_coverage, required, run.threads, &mut || watch(run.done))?;
    let chars: Vec<char> = chars.into_iter().map(|(c, _)| c).collect();
    let Some(num_merges) = options.vocab_size.checked_sub(chars.len()) else {
        return Err(Error::config(format!(
            "the vocabulary size leaves room for {} pieces, but the corpus alone has {} characters; lower character_coverage or raise vocab_size",
            options.vocab_size,
            chars.len()
        )));
    };
    let unit = |&c: &char| Symbol { unit: Some(c.into()), ends_word: false, inside: false };
    let symbols = Symbols { symbols: chars.iter().map(unit).collect(), first_id: 0, drops_others: false };
    let core = LearnOptions {
        tie_break: TieBreak::Shortest,
        num_merges,
        level: Level::Char,
        rule: Some(&options.candidates as &dyn Rule),
        ..*run
    };
    let segments = cut(counts, &chars, run, &mut || watch(run.done))?;
    let merges = learn::learn(&segments, &symbols, &core, watch)?;
    let mut strings = PieceStrings::new(&chars, &merges);
    if merges.len() < num_merges {
        let gone = gone(&segments, &symbols, &merges, &mut || watch(&merges))?;
        strings.add_gone(gone, &options.candidates, num_merges);
    }
    Ok(strings.assemble(chars.len(), merges))
}

/// Returns the characters of the vocabulary with their counts, in descending order of counts. Runs on up to `threads`
/// threads.
pub(super) fn required_chars(
    counts: &Counts,
    coverage: f32,
    required: &str,
    threads: usize,
    watch: &mut dyn FnMut() -> bool,
) -> Result<Vec<(char, u64)>> {
    let asked = required.chars().filter(|&c| c != '\0');
    let mut seen: HashMap<char, (bool, u64)> = asked.map(|c| (c, (true, 0))).collect();
    let mut total: u64 = 0;
    let units = Units::count(counts, Level::Char, EndOfWord::None, threads, watch)?;
    let found = units.iter().filter_map(|(unit, count)| char::from_u32(unit).map(|c| (c, count)));
    for (c, count) in found.filter(|&(c, _)| c != '\0' && c != ' ') {
        seen.entry(c).or_default().1 = count;
        total = total.saturating_add(count);
    }
    if seen.contains_key(&RARE) {
        return Err(Error::training(
            "the normalized corpus contains U+2585, which SentencePiece keeps for rare characters",
        ));
    }
    let mut sorted: Vec<(char, (bool, u64))> = seen.into_iter().collect();
    sorted.sort_by_key(|&(c, key)| (std::cmp::Reverse(key), c));
    let mut covered: u64 = 0;
    let mut chars = Vec::new();
    for (c, (_, count)) in sorted {
        if (covered as f64 / total as f64) as f32 >= coverage {
            break;
        }
        covered = covered.saturating_add(count);
        if c != BOUNDARY {
            chars.push((c, count));
        }
    }
    chars.sort_by_key(|&(c, count)| (std::cmp::Reverse(count), c)); // required characters are sorted in the same way
    Ok(chars)
}

pub(super) fn text(word: &[u8]) -> Result<&str> {
    std::str::from_utf8(word).map_err(|error| Error::text("a word is not UTF-8", error.valid_up_to()))
}

/// Splits the words at all characters that are not in `chars`. Equal segments are not combined, because that would take
/// a lookup for each word, and learning does not require distinct segments.
fn cut(counts: &Counts, chars: &[char], run: &LearnOptions<'_>, watch: &mut dyn FnMut() -> bool) -> Result<Counts> {
    let mut known = vec![false; char::MAX as usize + 1];
    chars.iter().for_each(|&c| known[c as usize] = true);
    let (mut segments, mut place) = (Counts::within(run.memory), 0);
    for (i, (word, count)) in counts.iter().enumerate() {
        if i % 4096 == 0 && !watch() {
            return Err(ErrorKind::Interrupted.into());
        }
        for segment in text(word)?.split(|c| !known[c as usize]).filter(|segment| !segment.is_empty()) {
            segments.push(segment.as_bytes(), count, place)?;
            place += 1;
        }
    }
    segments.ends_at(place);
    Ok(segments)
}

/// Returns all pairs of symbols that were adjacent at any time, except pairs for which a merge was learned. As in
/// SentencePiece, a pair counts even if its symbols were adjacent only between two replacements by the same merge. For
/// example, if `a` and `b` are merged in `abab`, then `ab` and `a` are adjacent after the first replacement and before
/// the second replacement.
fn gone(
    segments: &Counts,
    symbols: &Symbols,
    merges: &[LearnedMerge],
    watch: &mut dyn FnMut() -> bool,
) -> Result<HashSet<(u32, u32)>> {
    let alphabet = symbols.alphabet(Level::Char, EndOfWord::None, None);
    let replay = Replay::new(merges, symbols.symbols.len() as u32)?;
    let (mut met, mut ids, mut scratch) = (HashSet::new(), Vec::new(), ReplayScratch::default());
    for (i, (segment, _)) in segments.iter().enumerate() {
        if i % 4096 == 0 && !watch() {
            return Err(ErrorKind::Interrupted.into());
        }
        ids.clear();
        alphabet.symbols(segment, &mut ids, None)?;
        replay.apply(&mut ids, &mut scratch, |pair| {
            met.insert(pair);
        });
    }
    for merge in merges {
        met.remove(&(merge.left, merge.right));
    }
    Ok(met)
}

/// Spellings by id: characters, then pieces.
struct PieceStrings(Vec<String>);

impl PieceStrings {
    fn new(chars: &[char], merges: &[LearnedMerge]) -> Self {
        let mut all: Vec<String> = chars.iter().map(char::to_string).collect();
        for merge in merges {
            all.push([all[merge.left as usize].as_str(), &all[merge.right as usize]].concat());
        }
        Self(all)
    }

    /// Adds the spellings of the pairs in `gone` (the result of [`gone`]) as pieces, the shortest first, until there
    /// are `num_pieces` pieces.
    fn add_gone(&mut self, gone: HashSet<(u32, u32)>, candidates: &PieceRules, num_pieces: usize) {
        let known: HashSet<&str> = self.0.iter().map(String::as_str).collect();
        let num_chars = known.iter().filter(|string| string.chars().nth(1).is_none()).count();
        let parts = gone.into_iter().map(|(left, right)| (&self.0[left as usize], &self.0[right as usize]));
        let valid = parts.filter(|(left, right)| candidates.allows(left.as_bytes(), right.as_bytes()));
        let strings = valid.map(|(left, right)| [left.as_str(), right].concat());
        let mut strings: Vec<(usize, String)> =
            strings.filter(|string| !known.contains(string.as_str())).map(|s| (s.chars().count(), s)).collect();
        strings.sort_unstable();
        strings.dedup();
        let room = num_pieces - (known.len() - num_chars);
        self.0.extend(strings.into_iter().map(|(_, string)| string).take(room));
    }

    /// Returns the pieces in order, with the characters last.
    fn assemble(mut self, num_chars: usize, mut merges: Vec<LearnedMerge>) -> SentencePieceResult {
        let num_others = self.0.len() - num_chars;
        self.0.rotate_left(num_chars);
        let place = |id: u32| match id.checked_sub(num_chars as u32) {
            None => num_others as u32 + id,
            Some(piece) => piece,
        };
        for merge in &mut merges {
            (merge.left, merge.right, merge.result) = (place(merge.left), place(merge.right), place(merge.result));
        }
        SentencePieceResult { pieces: self.0, num_chars, merges }
    }
}
