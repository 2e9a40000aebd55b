//! Agreement of several tokenizers on a corpus: common boundaries and tokens, and passages that they split differently.
//!
//! A boundary is a position strictly inside of a text at which a token begins or ends. *Common* boundaries are those
//! that all tokenizers have, and the ends of the text. A *passage* is the text between two consecutive common
//! boundaries, if some tokenizer has another boundary inside of it. So passages are disjoint, and outside of them all
//! tokens are equal.
//!
//! Cost: linear in the text for each pair of tokenizers; 16 bytes for each token of the texts being processed. The
//! table of passages has at most [`MAX_PASSAGES`] entries of at most [`MAX_PASSAGE`] bytes.
//!
//! Left out: tokens that cover no bytes of the text, and tokens of a template.

use hashbrown::HashMap;

use super::pipeline::permit::Permit;
use super::pipeline::Tokenizer;
use crate::error::Result;
use crate::parallel;
use crate::util::cancel::{CancelCheck, KeepGoing};

/// Maximum number of distinct passages in the table. When the table is full, new passages are not added to it; only the
/// totals include them.
pub const MAX_PASSAGES: usize = 1 << 16;
/// Maximum length of a listed passage, in bytes.
pub const MAX_PASSAGE: usize = 64;

type Spans = Vec<(usize, usize)>;

/// A passage that some tokenizers split differently from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Number of times that the passage occurs.
    pub count: u64,
    /// For each tokenizer, the boundaries inside of the passage's first occurrence.
    pub boundaries: Vec<Vec<usize>>,
}

/// One of the compared tokenizers. The ids of all texts can be provided if the concatenated tokens of each text equal
/// the text.
#[derive(Debug)]
pub struct Encoder<'t> {
    /// The tokenizer.
    pub tok: &'t Tokenizer,
    /// Permission for special tokens in the texts.
    pub permit: Permit<'t>,
    /// The ids of all texts, and for each text the number of ids up to its end. If None, the texts are encoded with
    /// spans.
    pub ids: Option<(Vec<u32>, Vec<usize>)>,
}

/// Counts of boundaries, tokens, ids and passages in the texts added so far.
#[derive(Debug, Default)]
pub struct Agreement {
    /// Number of compared tokenizers.
    num_toks: usize,
    boundaries: Vec<u64>,
    tokens: Vec<u64>,
    frequencies: Vec<Vec<u64>>,
    passages: HashMap<Box<[u8]>, Passage>,
    num_passages: u64,
    passage_bytes: u64,
}

impl Agreement {
    /// Creates empty counts for `num_toks` tokenizers.
    pub fn new(num_toks: usize) -> Self {
        let pairs = num_toks * num_toks;
        Self {
            num_toks,
            boundaries: vec![0; pairs],
            tokens: vec![0; pairs],
            frequencies: vec![Vec::new(); num_toks],
            ..Self::default()
        }
    }

    /// Returns, for each pair of tokenizers, the number of boundaries that both have, as a row-major matrix. The
    /// diagonal has the number of boundaries of each tokenizer.
    pub fn boundaries(&self) -> &[u64] {
        &self.boundaries
    }

    /// Returns, for each pair of tokenizers, the number of tokens with the same span, as a row-major matrix. The
    /// diagonal has the number of tokens of each tokenizer.
    pub fn tokens(&self) -> &[u64] {
        &self.tokens
    }

    /// Returns how often each id of a tokenizer occurs, up to the highest id that occurs.
    pub fn frequencies(&self, tok: usize) -> &[u64] {
        self.frequencies.get(tok).map_or(&[], Vec::as_slice)
    }

    /// Returns the number of occurrences of passages, and the number of their bytes.
    pub fn passages(&self) -> (u64, u64) {
        (self.num_passages, self.passage_bytes)
    }

    /// Returns the `most` passages with the most occurrences, in descending order. Passages with equal counts are in
    /// byte order.
    pub fn frequent_passages(&self, most: usize) -> Vec<(&[u8], &Passage)> {
        let mut rows: Vec<_> = self.passages.iter().map(|(bytes, passage)| (bytes.as_ref(), passage)).collect();
        rows.sort_unstable_by(|a, b| b.1.count.cmp(&a.1.count).then(a.0.cmp(b.0)));
        rows.truncate(most);
        rows
    }

    /// Adds texts, on up to `threads` threads. The result does not depend on the number of threads.
    ///
    /// # Errors
    /// The error of [`Tokenizer::encode`] for the first text that a tokenizer rejects, with the index of that
    /// tokenizer. The counts then include only some of the texts.
    pub fn add(
        &mut self,
        encoders: &[Encoder<'_>],
        texts: &[&[u8]],
        threads: usize,
        watch: &mut dyn FnMut() -> bool,
    ) -> std::result::Result<(), (usize, crate::error::Error)> {
        let widths: Vec<_> = encoders.iter().map(token_widths).collect();
        let of_text = |index: usize, keep_going: KeepGoing<'_>| {
            let mut found = Vec::with_capacity(encoders.len());
            for (number, (encoder, widths)) in encoders.iter().zip(&widths).enumerate() {
                match tokens_of(encoder, widths, texts[index], index, keep_going) {
                    Ok(tokens) => found.push(tokens),
                    Err(error) => return Ok(Err((number, error))),
                }
            }
            Ok(Ok(found))
        };
        let mut failed = None;
        parallel::jobs_in_order(texts.len(), threads, watch, of_text, |index, result| {
            match result {
                Ok(Ok(found)) => self.add_text(texts[index], &found),
                Ok(Err(error)) => failed = Some(error),
                Err(error) => failed = Some((0, error)),
            }
            failed.is_none()
        });
        failed.map_or(Ok(()), Err)
    }

    /// Adds the tokens of one text, as encoded by each tokenizer.
    fn add_text(&mut self, text: &[u8], found: &[(Vec<u32>, Spans)]) {
        let mut common: Option<Vec<usize>> = None;
        let boundaries: Vec<_> = found.iter().map(|(_, spans)| inner_boundaries(spans, text.len())).collect();
        for (row, (ids, spans)) in found.iter().enumerate() {
            self.count_ids(row, ids);
            for column in row..found.len() {
                let shared = [shared(&boundaries[row], &boundaries[column]), shared(spans, &found[column].1)];
                for at in std::collections::BTreeSet::from([row * self.num_toks + column, column * self.num_toks + row])
                {
                    self.boundaries[at] += shared[0];
                    self.tokens[at] += shared[1];
                }
            }
            common = Some(match common {
                None => boundaries[row].clone(),
                Some(before) => intersection(&before, &boundaries[row]),
            });
        }
        let ends = common.unwrap_or_default().into_iter().chain([text.len()]);
        let mut cursors = vec![0; boundaries.len()];
        let mut start = 0;
        for end in ends {
            let inside: Vec<_> = cursors
                .iter_mut()
                .zip(&boundaries)
                .map(|(cursor, positions)| {
                    let rest = &positions[*cursor..];
                    let inner = &rest[..rest.partition_point(|&position| position < end)];
                    *cursor += inner.len() + usize::from(rest.get(inner.len()) == Some(&end));
                    inner
                })
                .collect();
            if inside.iter().any(|inner| !inner.is_empty()) {
                self.add_passage(&text[start..end], start, &inside);
            }
            start = end;
        }
    }

    fn count_ids(&mut self, tok: usize, ids: &[u32]) {
        let counts = &mut self.frequencies[tok];
        if let Some(&highest) = ids.iter().max() {
            if counts.len() <= highest as usize {
                counts.resize(highest as usize + 1, 0);
            }
        }
        ids.iter().for_each(|&id| counts[id as usize] += 1);
    }

    /// Adds a passage that begins at `start`, with each tokenizer's boundaries inside of it.
    fn add_passage(&mut self, bytes: &[u8], start: usize, inside: &[&[usize]]) {
        self.num_passages += 1;
        self.passage_bytes += bytes.len() as u64;
        if bytes.len() > MAX_PASSAGE {
            return;
        }
        if let Some(passage) = self.passages.get_mut(bytes) {
            passage.count += 1;
        } else if self.passages.len() < MAX_PASSAGES {
            let relative = |inner: &&[usize]| inner.iter().map(|position| position - start).collect();
            self.passages.insert(bytes.into(), Passage { count: 1, boundaries: inside.iter().map(relative).collect() });
        }
    }
}

impl Tokenizer {
    /// Counts the distinct byte strings to which entries decode. Returns three numbers: strings in both vocabularies,
    /// strings in this tokenizer's vocabulary, and strings in the other's.
    pub fn shared_entries(&self, other: &Self) -> (usize, usize, usize) {
        let (mine, its) = (self.contents(), other.contents());
        (shared(&mine, &its) as usize, mine.len(), its.len())
    }

    /// Returns the distinct byte strings to which the entries decode, ascending.
    fn contents(&self) -> Vec<Vec<u8>> {
        let mut contents: Vec<_> = self
            .vocab
            .iter()
            .map(|(id, ..)| {
                let mut decoded = Vec::new();
                self.decode_one(id, &mut decoded);
                decoded
            })
            .collect();
        contents.sort_unstable();
        contents.dedup();
        contents
    }
}

/// Returns the number of bytes of each token, by id; empty if the encoder has no ids.
fn token_widths(encoder: &Encoder<'_>) -> Vec<usize> {
    let Some((ids, _)) = &encoder.ids else { return Vec::new() };
    let mut widths = vec![usize::MAX; encoder.tok.vocab.len()];
    let mut decoded = Vec::new();
    for &id in ids {
        if let Some(width) = widths.get_mut(id as usize).filter(|width| **width == usize::MAX) {
            decoded.clear();
            encoder.tok.decode_one(id, &mut decoded);
            *width = decoded.len();
        }
    }
    widths
}

/// Returns the ids of a text, and the spans of its tokens except empty spans.
fn tokens_of(
    encoder: &Encoder<'_>,
    widths: &[usize],
    text: &[u8],
    index: usize,
    keep_going: KeepGoing<'_>,
) -> Result<(Vec<u32>, Spans)> {
    if let Some(found) = tokens_by_width(encoder, widths, text, index, keep_going)? {
        return Ok(found);
    }
    let (mut ids, mut spans) = (Vec::new(), Spans::new());
    encoder.tok.encode_in_chunks(text, &encoder.permit, false, keep_going, &mut |chunk| {
        ids.extend_from_slice(chunk.ids);
        spans.extend(chunk.byte_spans.iter().filter(|span| span.0 < span.1));
        Ok(())
    })?;
    Ok((ids, spans))
}

/// Like [`tokens_of`], but uses the ids that the encoder provides instead of encoding the text. Returns None if the
/// bytes of these tokens do not equal the text.
fn tokens_by_width(
    encoder: &Encoder<'_>,
    widths: &[usize],
    text: &[u8],
    index: usize,
    keep_going: KeepGoing<'_>,
) -> Result<Option<(Vec<u32>, Spans)>> {
    let Some((ids, ends)) = &encoder.ids else { return Ok(None) };
    let start = index.checked_sub(1).map_or(0, |before| ends.get(before).copied().unwrap_or(0));
    let Some(ids) = ends.get(index).and_then(|&end| ids.get(start..end)) else { return Ok(None) };
    let mut cancel = CancelCheck::new(keep_going);
    let (mut at, mut spans) = (0_usize, Spans::with_capacity(ids.len()));
    for &id in ids {
        let width = widths.get(id as usize).copied().unwrap_or(0);
        if width > 0 {
            spans.push((at, at.saturating_add(width)));
        }
        at = at.saturating_add(width);
        cancel.check()?;
    }
    Ok((at == text.len()).then(|| (ids.to_vec(), spans)))
}

/// Returns the positions inside of a text at which tokens begin or end, ascending. `spans` must be ascending. Two spans
/// may overlap only in a character that a normalizer expanded.
fn inner_boundaries(spans: &[(usize, usize)], len: usize) -> Vec<usize> {
    let mut positions: Vec<_> = spans.iter().flat_map(|&(start, end)| [start, end]).collect();
    if !positions.is_sorted() {
        positions.sort_unstable();
    }
    positions.dedup();
    positions.retain(|&position| 0 < position && position < len);
    positions
}

/// Returns the number of equal items of two ascending lists.
fn shared<T: Ord>(a: &[T], b: &[T]) -> u64 {
    let (mut i, mut j, mut number) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        match x.cmp(y) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => (i, j, number) = (i + 1, j + 1, number + 1),
        }
    }
    number
}

/// Returns the items that two ascending lists have in common.
fn intersection(a: &[usize], b: &[usize]) -> Vec<usize> {
    let mut rest = b.iter().peekable();
    let mut common = Vec::new();
    for &item in a {
        while rest.next_if(|&&other| other < item).is_some() {}
        if rest.next_if(|&&other| other == item).is_some() {
            common.push(item);
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_and_intersections_are_computed() {
        assert_eq!(inner_boundaries(&[(0, 2), (2, 5), (6, 8)], 8), [2, 5, 6]);
        assert_eq!(inner_boundaries(&[(0, 3), (0, 3)], 3), [0_usize; 0]);
        assert_eq!(intersection(&[1, 3, 5, 9], &[0, 3, 4, 9, 10]), [3, 9]);
        assert_eq!(shared(&[(0, 2), (2, 3)], &[(0, 2), (2, 4)]), 1);
    }

    #[test]
    fn passages_are_between_common_boundaries() {
        let mut found = Agreement::new(2);
        let spans = |ends: &[usize]| {
            let mut start = 0;
            let mut next = |&end: &usize| (std::mem::replace(&mut start, end), end);
            ends.iter().map(&mut next).collect::<Spans>()
        };
        let of = |ids: Vec<u32>, ends: &[usize]| (ids, spans(ends));
        found.add_text(b"abcdefgh", &[of(vec![0, 1, 2], &[2, 5, 8]), of(vec![7, 7, 7, 9], &[2, 3, 5, 8])]);
        found.add_text(b"abc", &[of(vec![0, 3], &[1, 3]), of(vec![5, 5], &[2, 3])]);
        assert_eq!(found.boundaries(), [3, 2, 2, 4]);
        assert_eq!(found.tokens(), [5, 2, 2, 6]);
        assert_eq!((found.frequencies(0), found.frequencies(1)[5]), (&[2, 1, 1, 1][..], 2));
        assert_eq!(found.passages(), (2, 6));
        let listed =
            |boundaries: [&[usize]; 2]| Passage { count: 1, boundaries: boundaries.map(<[_]>::to_vec).to_vec() };
        let expected = [(&b"abc"[..], &listed([&[1], &[2]])), (b"cde", &listed([&[], &[1]]))];
        assert_eq!(found.frequent_passages(9), expected);
    }
}
