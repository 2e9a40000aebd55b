//! `Vocabulary`: entries and merges of a tokenizer under construction. Python code only passes it from
//! call to call, and does not read it.

use std::collections::{HashMap, HashSet};

use jeton_core::error::Error;
use jeton_core::format::converted::{self, MergeOrder};
use jeton_core::format::{hf_json, ranks};
use jeton_core::tokenizer::Extras;
use jeton_core::train::assemble::NumberedPieces;
use jeton_core::vocab::{Kind, List};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::column;
use crate::error;

/// (id, kind, content) of an entry that is not learned.
pub type ReservedEntry = (u32, u8, String);

/// Converts the entries that are not learned. Entries of an unknown kind become special tokens.
pub fn reserved_entries(reserved: Vec<ReservedEntry>) -> List {
    let kind = |kind| Kind::from_u8(kind).unwrap_or(Kind::Special);
    reserved.into_iter().map(|(id, number, content)| (id, kind(number), content.into_bytes())).collect()
}

/// Entries and merges of a tokenizer, with scores and flags.
#[pyclass(frozen, module = "jeton._core")]
#[derive(Clone, Default)]
pub struct Vocabulary {
    pub entries: List,
    pub extras: Extras,
}

impl Vocabulary {
    /// Builds a vocabulary from learned pieces with scores.
    pub fn from_pieces(pieces: NumberedPieces) -> Self {
        Self { entries: pieces.entries, extras: Extras { scores: pieces.scores, ..Extras::default() } }
    }
}

#[pymethods]
impl Vocabulary {
    /// Builds a vocabulary from lists: `kinds` has the number of each entry's `Kind` (1 token, 2 token that ends a
    /// word, …); `scores` has one score for each id.
    #[new]
    #[pyo3(signature = (ids, kinds, contents, merges, scores=None))]
    fn new(
        ids: Vec<u32>,
        kinds: Vec<u8>,
        contents: Vec<Vec<u8>>,
        merges: Vec<(u32, u32, u32)>,
        scores: Option<Vec<f64>>,
    ) -> PyResult<Self> {
        let wrong = || error::ConfigError::new_err("ids, kinds and contents must be of one length, and kinds 0 to 7");
        if ids.len() != kinds.len() || ids.len() != contents.len() {
            return Err(wrong());
        }
        let rows = ids.into_iter().zip(kinds).zip(contents);
        let entries =
            rows.map(|((id, kind), content)| Some((id, Kind::from_u8(kind)?, content))).collect::<Option<_>>();
        let entries = entries.ok_or_else(wrong)?;
        Ok(Self { entries, extras: Extras { merges, scores: scores.unwrap_or_default(), ..Extras::default() } })
    }

    /// Reads a rank file of tiktoken.
    #[staticmethod]
    fn from_ranks(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let entries = py.detach(|| ranks::read(data)).map_err(|failed| error::plain(py, failed))?;
        Ok(Self { entries, extras: Extras::default() })
    }

    /// Returns a vocabulary with more added tokens. A token with the id of an ordinary entry replaces the entry.
    /// `flags` of a token is a sum: 1 if it includes white space on the left, 2 on the right, 4 if it matches single
    /// words only, 8 if it matches in normalized text, 16 if it is also an entry of the model.
    #[pyo3(signature = (ids, contents, special, flags=None))]
    fn with_added(&self, ids: Vec<u32>, contents: Vec<Vec<u8>>, special: Vec<bool>, flags: Option<Vec<u8>>) -> Self {
        let taken: HashSet<u32> = ids.iter().copied().collect();
        let is_taken = |id: u32| taken.contains(&id);
        let mut entries = match self.entries.iter().any(|entry| is_taken(entry.0)) {
            true => self.entries.iter().filter(|entry| !is_taken(entry.0)).collect(),
            false => self.entries.clone(),
        };
        let mut extras = self.extras.clone();
        extras.flags.retain(|(id, _)| !taken.contains(id));
        let flagged = ids.iter().copied().zip(flags.unwrap_or_default());
        extras.flags.extend(flagged.filter(|&(_, flags)| flags != 0));
        let kinds = special.into_iter().map(|special| if special { Kind::Special } else { Kind::Added });
        entries.extend(ids.into_iter().zip(kinds).zip(contents).map(|((id, kind), content)| (id, kind, content)));
        Self { entries, extras }
    }

    /// Returns a vocabulary of the entries with ids below `limit`, with their merges.
    fn prefix(&self, limit: u32) -> Self {
        let entries = self.entries.iter().filter(|entry| entry.0 < limit).collect();
        let mut extras = self.extras.clone();
        extras.merges.retain(|&(_, _, result)| result < limit);
        extras.flags.retain(|&(id, _)| id < limit);
        Self { entries, extras }
    }

    /// Returns the vocabulary with other ids. `new_ids` (u32) lists the new ids, indexed by the old id; the value
    /// 2³² - 1 removes the entry. Merges that contain a removed entry, as a part or as the result, are removed, too.
    fn renumbered(&self, py: Python<'_>, new_ids: PyBuffer<u8>) -> PyResult<Self> {
        let new_ids = column::ids(py, &new_ids)?;
        let new = |id: u32| new_ids.get(id as usize).copied().filter(|&id| id != u32::MAX);
        Ok(py.detach(|| {
            let entries: List =
                self.entries.iter().filter_map(|(id, kind, content)| Some((new(id)?, kind, content))).collect();
            let mut extras = Extras::default();
            let merge = |&(left, right, result): &(u32, u32, u32)| Some((new(left)?, new(right)?, new(result)?));
            extras.merges = self.extras.merges.iter().filter_map(merge).collect();
            extras.flags = self.extras.flags.iter().filter_map(|&(id, flags)| Some((new(id)?, flags))).collect();
            if !self.extras.scores.is_empty() {
                extras.scores = vec![0.0; entries.next_id() as usize];
                for (id, ..) in self.entries.iter() {
                    let score = self.extras.scores.get(id as usize);
                    let place = new(id).and_then(|id| extras.scores.get_mut(id as usize));
                    if let (Some(place), Some(&score)) = (place, score) {
                        *place = score;
                    }
                }
            }
            Self { entries, extras }
        }))
    }

    /// Returns a vocabulary in which the ordinary entries with the ids `ids` have the kind `kind`.
    fn with_kind(&self, kind: u8, ids: Vec<u32>) -> PyResult<Self> {
        let kind = Kind::from_u8(kind).ok_or_else(|| error::ConfigError::new_err("kinds are 0 to 7"))?;
        let wanted: HashSet<u32> = ids.into_iter().collect();
        let mut made = self.clone();
        made.entries.change_kinds(kind, |id, before| before == Kind::Token && wanted.contains(&id));
        Ok(made)
    }

    /// Returns a vocabulary with scores, by id.
    fn with_scores(&self, scores: Vec<f64>) -> Self {
        Self { entries: self.entries.clone(), extras: Extras { scores, ..self.extras.clone() } }
    }

    /// Returns the pieces of a SentencePiece model in the form of Hugging Face's models: all pieces are ordinary
    /// entries without flags. Merges replace the scores. `order` is the order of the merges: "scores" or "ids". If
    /// `order` is None, no merges are made, and the scores are kept.
    #[pyo3(signature = (order=None))]
    fn converted_pieces(&self, py: Python<'_>, order: Option<&str>) -> PyResult<Self> {
        let order = match order {
            None => None,
            Some("scores") => Some(MergeOrder::Scores),
            Some("ids") => Some(MergeOrder::Ids),
            Some(_) => return Err(error::ConfigError::new_err("the order is scores or ids")),
        };
        Ok(py.detach(|| {
            let mut entries = self.entries.clone();
            entries.change_kinds(Kind::Token, |_, _| true);
            let mut extras = Extras::default();
            match order {
                Some(order) => extras.merges = converted::merges(&entries, &self.extras.scores, order),
                None => {
                    extras.scores.clone_from(&self.extras.scores);
                    extras.scores.resize(entries.next_id() as usize, 0.0);
                }
            }
            Self { entries, extras }
        }))
    }

    /// Returns (id, content, true if special) of the special and the added tokens, in order of their ids.
    fn added(&self) -> Vec<(u32, String, bool)> {
        let is_added = |entry: &(u32, Kind, &[u8])| matches!(entry.1, Kind::Special | Kind::Added);
        let text = |content: &[u8]| String::from_utf8_lossy(content).into_owned();
        let rows = self.entries.iter().filter(is_added);
        let mut added: Vec<_> = rows.map(|(id, kind, content)| (id, text(content), kind == Kind::Special)).collect();
        added.sort_unstable_by_key(|row| row.0);
        added
    }

    /// Returns a vocabulary in which the entry `id` has the score `score`.
    fn with_score(&self, id: usize, score: f64) -> Self {
        let mut made = self.clone();
        if let Some(old) = made.extras.scores.get_mut(id) {
            *old = score;
        }
        made
    }

    /// Returns the id of the entry with this content, of any kind.
    fn find_any(&self, content: &[u8]) -> Option<u32> {
        self.entries.iter().find(|entry| entry.2 == content).map(|entry| entry.0)
    }

    /// Returns the highest id plus one.
    fn next_id(&self) -> u32 {
        self.entries.next_id()
    }

    /// Returns (ids, kinds, contents, merges); the first three are in the order of the entries.
    #[allow(clippy::type_complexity)]
    fn columns<'py>(&self, py: Python<'py>) -> (Vec<u32>, Vec<u8>, Vec<Bound<'py, PyBytes>>, Vec<(u32, u32, u32)>) {
        let entries = || self.entries.iter();
        let contents = entries().map(|entry| PyBytes::new(py, entry.2)).collect();
        let kinds = entries().map(|entry| entry.1 as u8).collect();
        (entries().map(|entry| entry.0).collect(), kinds, contents, self.extras.merges.clone())
    }

    /// Returns the contents of all entries, in byte order.
    fn sorted_contents<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        let contents = self.entries.iter().map(|entry| entry.2).collect();
        sorted_by_content(contents, |content: &&[u8]| content).into_iter().map(|it| PyBytes::new(py, it)).collect()
    }

    /// Returns all ids.
    fn ids(&self) -> Vec<u32> {
        self.entries.iter().map(|entry| entry.0).collect()
    }

    /// Returns the lowest id of `ids` that belongs to an entry.
    fn first_of(&self, ids: HashSet<u32>) -> Option<u32> {
        self.entries.iter().map(|entry| entry.0).filter(|id| ids.contains(id)).min()
    }

    /// Returns the id of the entry that has this content and does not end a word.
    fn find(&self, content: &[u8]) -> Option<u32> {
        self.entries.iter().find(|entry| entry.1 == Kind::Token && entry.2 == content).map(|entry| entry.0)
    }

    fn __len__(&self) -> usize {
        self.entries.len()
    }
}

/// Sorts bytes objects.
#[pyfunction]
pub fn sorted_bytes(tokens: Vec<Bound<'_, PyBytes>>) -> Vec<Bound<'_, PyBytes>> {
    sorted_by_content(tokens, |token| token.as_bytes())
}

/// Sorts items by their bytes. For most pairs of items, the first eight bytes decide; they are compared as integers.
fn sorted_by_content<T>(items: Vec<T>, content: impl Fn(&T) -> &[u8]) -> Vec<T> {
    let mut keyed: Vec<(u64, T)> = items.into_iter().map(|item| (first_eight(content(&item)), item)).collect();
    keyed.sort_unstable_by(|one, other| one.0.cmp(&other.0).then_with(|| content(&one.1).cmp(content(&other.1))));
    keyed.into_iter().map(|(_, item)| item).collect()
}

/// Returns the first eight bytes as a big-endian integer, padded with zeros.
fn first_eight(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = bytes.len().min(8);
    first[..length].copy_from_slice(&bytes[..length]);
    u64::from_be_bytes(first)
}

/// Vocabulary and merges of a `tokenizer.json`. The spellings are not converted to bytes yet.
#[pyclass(frozen, module = "jeton._core")]
pub struct SpelledVocabulary {
    pub file: hf_json::TokenizerFile,
}

#[pymethods]
impl SpelledVocabulary {
    /// True if the model has a merge list.
    #[getter]
    fn has_merges(&self) -> bool {
        self.file.has_merges
    }

    /// True if the vocabulary is a list of pieces with scores.
    #[getter]
    fn has_scores(&self) -> bool {
        !self.file.vocab.scores.is_empty()
    }

    /// Returns the spelling of the piece with this index in a list of pieces.
    fn token(&self, id: usize) -> Option<&str> {
        self.file.vocab.tokens.get(id)
    }

    /// Returns the number of entries of `model.vocab`.
    fn __len__(&self) -> usize {
        self.file.vocab.ids.len()
    }

    /// Returns true if some entry has this id. Takes linear time; only error messages need it.
    fn holds(&self, id: u32) -> bool {
        self.file.vocab.ids.contains(&id)
    }

    /// Returns true if some spelling contains `mark` before its end.
    fn holds_inside(&self, mark: &str) -> bool {
        let inside = |token: &str| token.strip_suffix(mark).unwrap_or(token).contains(mark);
        !mark.is_empty() && self.file.vocab.tokens.iter().any(inside)
    }

    /// Returns the id of a spelling.
    fn id(&self, spelling: &str) -> Option<u32> {
        self.file.vocab.id(spelling)
    }

    /// Converts the spellings to a vocabulary. Leaves out the added tokens `added` (id, content), because the caller
    /// adds them with their roles.
    #[pyo3(signature = (*, byte_alphabet, end_of_word, added))]
    fn read(
        &self,
        py: Python<'_>,
        byte_alphabet: bool,
        end_of_word: &str,
        added: HashMap<u32, String>,
    ) -> PyResult<Vocabulary> {
        let spelling = hf_json::Spelling { byte_alphabet, end_of_word };
        let columns = &self.file.vocab;
        let wrong = |message: String, token: &str| Error::format(message, format!("$.model.vocab[{token:?}]"));
        let read = || {
            let is_added = |id: &u32, token: &str| added.get(id).is_some_and(|added| added == token);
            let rows = columns.ids.iter().zip(columns.tokens.iter()).filter(|&(id, token)| !is_added(id, token));
            rows.map(|(&id, token)| {
                if let Some(other) = added.get(&id) {
                    return Err(wrong(
                        format!("{token:?} and the added token {other:?} have the same id, {id}"),
                        token,
                    ));
                }
                let (kind, content) = spelling.read(token);
                Ok((id, kind, content))
            })
            .collect::<jeton_core::error::Result<List>>()
        };
        let entries = py.detach(read).map_err(|failed| error::plain(py, failed))?;
        let (merges, scores) = (self.file.merges.clone(), columns.scores.clone());
        Ok(Vocabulary { entries, extras: Extras { merges, scores, ..Extras::default() } })
    }
}
