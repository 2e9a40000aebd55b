//! Reads and writes `tokenizer.json`: its two large members, `model.vocab` and `model.merges`, as columns, all other
//! members as JSON text.
//!
//! Python code handles the small members, but must not loop over vocabulary entries. [`read`] therefore extracts the
//! two large members while parsing; [`vocab_json`] and [`merges_json`] write them.
//!
//! serde_json limits nesting (128 levels); memory is linear in the size of the file. Duplicate keys in the vocabulary
//! are an error. Both forms of merges are read: `"a b"` and `["a", "b"]`.

use std::fmt;
use std::ops::Index;

use hashbrown::hash_table::{Entry, HashTable};
use serde::de::{Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::json_object::{self, Object, ObjectVisitor, Seed};
use super::numbers;
use crate::error::{Error, Result};
use crate::util::hash::Hash;
use crate::util::trie::Trie;
use crate::vocab::byte_alphabet;
use crate::vocab::{Kind, List, Vocab};

/// Content of a `tokenizer.json`.
#[derive(Debug, Default)]
pub struct TokenizerFile {
    /// All members except `model.vocab` and `model.merges`, as JSON text.
    pub rest: String,
    /// `model.vocab`.
    pub vocab: VocabColumns,
    /// `model.merges` as ids: left, right and the result.
    pub merges: Vec<(u32, u32, u32)>,
    /// True if the file has `model.merges`.
    pub has_merges: bool,
}

/// List of strings, concatenated in one buffer, because 100,000 allocations take as long as parsing the strings.
#[derive(Debug, Default)]
pub struct Strings {
    text: String,
    ends: Vec<usize>,
}

impl Strings {
    fn push(&mut self, string: &str) {
        self.text.push_str(string);
        self.ends.push(self.text.len());
    }

    /// Returns the number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there are no strings.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns a string by its index.
    pub fn get(&self, index: usize) -> Option<&str> {
        (index < self.len()).then(|| &self[index])
    }

    /// Iterates over all strings.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|index| &self[index])
    }
}

impl Index<usize> for Strings {
    type Output = str;

    fn index(&self, index: usize) -> &str {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[index]]
    }
}

/// Parses a string into [`Strings`].
struct StringVisitor<'a>(&'a mut Strings);

impl Visitor<'_> for StringVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<(), E> {
        self.0.push(text);
        Ok(())
    }
}

/// A vocabulary as columns.
#[derive(Debug, Default)]
pub struct VocabColumns {
    /// Spellings of the entries, in the order of the file.
    pub tokens: Strings,
    /// Ids of the entries, in the order of `tokens`.
    pub ids: Vec<u32>,
    /// Scores of the entries of a Unigram model, in the order of `tokens`; empty for other models.
    pub scores: Vec<f64>,
    rows: HashTable<u32>, // spelling -> index in the columns
    hash: Hash,
}

/// Rules for spelling a token's bytes in a file.
#[derive(Debug, Clone, Copy)]
pub struct Spelling<'a> {
    /// True if bytes are spelled in GPT-2's byte alphabet, false if they are UTF-8 text.
    pub byte_alphabet: bool,
    /// Suffix of tokens that end a word; empty if there are none.
    pub end_of_word: &'a str,
}

impl Spelling<'_> {
    /// Returns the spelling of an entry.
    ///
    /// # Errors
    /// [`Error::config`] if the content must be spelled as text, but is not UTF-8. Only entries of the kinds `Token`
    /// and `EndsWord` can be spelled in the byte alphabet.
    pub fn write(&self, kind: Kind, content: &[u8]) -> Result<String> {
        let mut text = String::new();
        self.append(kind, content, &mut text)?;
        Ok(text)
    }

    fn append(&self, kind: Kind, content: &[u8], text: &mut String) -> Result<()> {
        match (kind, self.byte_alphabet) {
            (Kind::Token | Kind::EndsWord, true) => byte_alphabet::spell(content, text),
            _ => text.push_str(std::str::from_utf8(content).map_err(|_| {
                Error::config(format!("the token {:?} is not UTF-8 and cannot be spelled", crate::vocab::show(content)))
            })?),
        }
        if kind == Kind::EndsWord {
            text.push_str(self.end_of_word);
        }
        Ok(())
    }

    /// Converts a spelling to kind and content.
    pub fn read(&self, spelling: &str) -> (Kind, Vec<u8>) {
        let marked = if self.end_of_word.is_empty() { None } else { spelling.strip_suffix(self.end_of_word) };
        let (kind, text) = marked.map_or((Kind::Token, spelling), |text| (Kind::EndsWord, text));
        let mut content = Vec::with_capacity(text.len());
        if !self.byte_alphabet {
            content.extend_from_slice(text.as_bytes());
        } else if byte_alphabet::read(text, &mut content).is_err() {
            return (Kind::Unreachable, spelling.as_bytes().to_vec());
        }
        (kind, content)
    }
}

/// Reads a file.
///
/// # Errors
/// [`Error::format`] with line and column, or with a JSON path.
pub fn read(json: &[u8]) -> Result<TokenizerFile> {
    let mut raw = TokenizerRaw::default();
    json_object::parse(json, "tokenizer.json", ObjectVisitor(&mut raw))?;
    let TokenizerRaw { rest: mut all, model: ModelRaw { rest: model, mut vocab, merges, has_merges }, has_model } = raw;
    vocab.index()?;
    let prefix = model.get("continuing_subword_prefix").and_then(Value::as_str);
    let merges = resolve(&vocab, &merges, prefix.unwrap_or_default())?;
    if has_model {
        all.insert("model".into(), Value::Object(model));
    }
    Ok(TokenizerFile { rest: json_object::text(&all)?, vocab, merges, has_merges })
}

/// Reads a bare vocabulary, `{"token": id}`.
///
/// # Errors
/// As [`read`].
pub fn read_vocab(json: &[u8]) -> Result<VocabColumns> {
    let mut vocab = VocabColumns::default();
    json_object::parse(json, "vocabulary", VocabVisitor(&mut vocab))?;
    vocab.index()?;
    Ok(vocab)
}

impl VocabColumns {
    /// Builds the hash table for [`VocabColumns::id`].
    fn index(&mut self) -> Result<()> {
        let Self { tokens, rows, hash, .. } = self;
        rows.reserve(tokens.len(), |_| 0); // the table is empty, so the hash function is never called
        for (row, token) in (0u32..).zip(tokens.iter()) {
            let key = |row: &u32| hash.bytes(tokens[*row as usize].as_bytes());
            let same = |&other: &u32| &tokens[other as usize] == token;
            if rows.find(key(&row), same).is_some() {
                let place = format!("$.model.vocab[{token:?}]");
                return Err(Error::format("the token appears in the vocabulary twice", place));
            }
            rows.insert_unique(key(&row), row, key);
        }
        Ok(())
    }

    /// Returns the id of a spelling.
    pub fn id(&self, token: &str) -> Option<u32> {
        let row = self.rows.find(self.hash.bytes(token.as_bytes()), |&row| &self.tokens[row as usize] == token)?;
        Some(self.ids[*row as usize])
    }
}

/// Returns the ids of merges: left, right and result. The result is the concatenation of the two parts, in which the
/// prefix (`##`) of the right part is left out.
fn resolve(vocab: &VocabColumns, merges: &Strings, prefix: &str) -> Result<Vec<(u32, u32, u32)>> {
    let mut joined = String::new();
    let mut resolved = Vec::with_capacity(merges.len() / 2);
    for i in 0..merges.len() / 2 {
        let (left, right) = (&merges[2 * i], &merges[2 * i + 1]);
        joined.clear();
        joined.push_str(left);
        joined.push_str(right.strip_prefix(prefix).unwrap_or(right));
        let find = |token: &str| {
            vocab.id(token).ok_or_else(|| {
                let message = format!("the merge \"{left} {right}\" needs {token:?}, which is not in the vocabulary");
                Error::format(message, format!("$.model.merges[{i}]"))
            })
        };
        resolved.push((find(left)?, find(right)?, find(&joined)?));
    }
    Ok(resolved)
}

#[derive(Default)]
struct TokenizerRaw {
    rest: Map<String, Value>,
    model: ModelRaw,
    has_model: bool,
}

#[derive(Default)]
struct ModelRaw {
    rest: Map<String, Value>,
    vocab: VocabColumns,
    merges: Strings, // left and right parts in turn
    has_merges: bool,
}

struct VocabVisitor<'a>(&'a mut VocabColumns);
struct ScoredVisitor<'a>(&'a mut VocabColumns);
struct MergesVisitor<'a>(&'a mut Strings);
struct MergeVisitor<'a>(&'a mut Strings);

impl<'de> Object<'de> for TokenizerRaw {
    const EXPECTED: &'static str = "an object";
    const PATH: &'static str = "";

    fn parse_large<A: MapAccess<'de>>(
        &mut self,
        key: &str,
        map: &mut A,
    ) -> std::result::Result<Option<bool>, A::Error> {
        if key != "model" {
            return Ok(None);
        }
        map.next_value_seed(Seed(ObjectVisitor(&mut self.model)))?;
        Ok(Some(std::mem::replace(&mut self.has_model, true)))
    }

    fn rest(&mut self) -> &mut Map<String, Value> {
        &mut self.rest
    }
}

impl<'de> Object<'de> for ModelRaw {
    const EXPECTED: &'static str = "the model as an object";
    const PATH: &'static str = "model.";

    fn parse_large<A: MapAccess<'de>>(
        &mut self,
        key: &str,
        map: &mut A,
    ) -> std::result::Result<Option<bool>, A::Error> {
        Ok(match key {
            "vocab" => {
                let twice = !self.vocab.tokens.is_empty();
                map.next_value_seed(Seed(VocabVisitor(&mut self.vocab)))?;
                Some(twice)
            }
            "merges" => {
                map.next_value_seed(Seed(MergesVisitor(&mut self.merges)))?;
                Some(std::mem::replace(&mut self.has_merges, true))
            }
            _ => None,
        })
    }

    fn rest(&mut self) -> &mut Map<String, Value> {
        &mut self.rest
    }
}

impl<'de> Visitor<'de> for VocabVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a vocabulary")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        while map.next_key_seed(Seed(StringVisitor(&mut self.0.tokens)))?.is_some() {
            self.0.ids.push(map.next_value()?);
        }
        Ok(())
    }

    // Reads the vocabulary of a Unigram model: pairs of piece and score. The index of a pair is the id.
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<(), A::Error> {
        while seq.next_element_seed(Seed(ScoredVisitor(self.0)))?.is_some() {
            self.0.ids.push(self.0.ids.len() as u32);
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for ScoredVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a piece and its score")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<(), A::Error> {
        let missing = |len| A::Error::invalid_length(len, &"a piece and its score");
        seq.next_element_seed(Seed(StringVisitor(&mut self.0.tokens)))?.ok_or_else(|| missing(0))?;
        let score = seq.next_element::<&RawValue>()?.ok_or_else(|| missing(1))?;
        let score = numbers::read(score.get()).ok_or_else(|| A::Error::custom("a score is not a number"))?;
        self.0.scores.push(score);
        Ok(())
    }
}

impl<'de> Visitor<'de> for MergesVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of merges")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<(), A::Error> {
        while seq.next_element_seed(Seed(MergeVisitor(self.0)))?.is_some() {}
        Ok(())
    }
}

impl<'de> Visitor<'de> for MergeVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a merge: \"left right\" or [\"left\", \"right\"]")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<(), E> {
        match text.split_once(' ') {
            Some((left, right)) if !left.is_empty() && !right.is_empty() && !right.contains(' ') => {
                self.0.push(left);
                self.0.push(right);
                Ok(())
            }
            _ => Err(E::custom(format!("the merge {text:?} is not two tokens with one space between them"))),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<(), A::Error> {
        for _ in 0..2 {
            let part = seq.next_element_seed(Seed(StringVisitor(self.0)))?;
            part.ok_or_else(|| A::Error::custom("a merge needs two tokens"))?;
        }
        match seq.next_element::<IgnoredAny>()? {
            Some(_) => Err(A::Error::custom("a merge needs exactly two tokens")),
            None => Ok(()),
        }
    }
}

/// Spellings of entries as JSON strings, concatenated.
struct Quoted {
    text: Vec<u8>,
    starts: Vec<usize>, // id -> start in `text`; one more item for the end
}

impl Quoted {
    /// Spells the entries for which `is_wanted` returns true. Other entries get an empty spelling.
    ///
    /// # Errors
    /// As [`Spelling::write`].
    fn new(vocab: &Vocab, spelling: &Spelling<'_>, is_wanted: impl Fn(u32) -> bool) -> Result<Self> {
        let mut quoted = Self { text: Vec::new(), starts: Vec::with_capacity(vocab.len() + 1) };
        let mut plain = String::new();
        for id in 0..vocab.len() as u32 {
            quoted.starts.push(quoted.text.len());
            if vocab.kind(id) != Kind::Hole && is_wanted(id) {
                plain.clear();
                spelling.append(vocab.kind(id), vocab.content(id), &mut plain)?;
                push_json(&mut quoted.text, &plain)?;
            }
        }
        quoted.starts.push(quoted.text.len());
        Ok(quoted)
    }

    fn of(&self, id: u32) -> &[u8] {
        &self.text[self.starts[id as usize]..self.starts[id as usize + 1]]
    }
}

/// Converts JSON bytes to a string.
fn text(json: Vec<u8>) -> Result<String> {
    String::from_utf8(json).map_err(|error| Error::config(error.to_string()))
}

/// Result of writing `model.vocab`.
#[derive(Debug)]
pub struct WrittenVocab {
    /// Value of `model.vocab` as JSON text.
    pub json: String,
    /// Added tokens that conflict with an ordinary entry, because they have the same spelling.
    pub clashes: Vec<u32>,
    /// Added tokens that are written to `model.vocab` although they are neither special nor entries of the model. HF's
    /// model can therefore produce them from text.
    pub exposed: Vec<u32>,
}

/// Writes `model.vocab` with all ordinary entries. Added tokens are included, too: if ids have gaps, HF ignores the id
/// of an added token that is not included.
///
/// Exception: added tokens at the end of the vocabulary are omitted if HF assigns the same ids to them anyway. The
/// search for the first omitted token goes through the added tokens at the end, in the order of ids. It stops at the
/// first token that is not special, or whose id is at least `num_listed`. This token and all later tokens are omitted.
/// A token for which `is_model` returns true is never omitted.
///
/// # Errors
/// [`Error::config`] for two ordinary entries with the same spelling.
pub fn vocab_json(
    vocab: &Vocab,
    spelling: &Spelling<'_>,
    num_listed: u32,
    is_model: impl Fn(u32) -> bool,
) -> Result<WrittenVocab> {
    let is_outside = |id, kind| kind == Kind::Added && !is_model(id);
    let is_entry = |kind| matches!(kind, Kind::Token | Kind::EndsWord);
    let quoted = Quoted::new(vocab, spelling, |_| true)?;
    let hash = Hash::default();
    let key = |&id: &u32| hash.bytes(quoted.of(id));
    let mut taken = HashTable::with_capacity(vocab.num_tokens());
    for (id, kind, _) in vocab.iter().filter(|&(_, kind, _)| is_entry(kind)) {
        let show = |id| spelling.write(vocab.kind(id), vocab.content(id));
        let end = spelling.end_of_word;
        if kind == Kind::Token && !end.is_empty() && show(id)?.ends_with(end) {
            return Err(Error::config(format!("id {id}, {:?}, would be read as a token that ends a word", show(id)?)));
        }
        match taken.entry(key(&id), |&other| quoted.of(other) == quoted.of(id), key) {
            Entry::Vacant(free) => drop(free.insert(id)),
            Entry::Occupied(other) => {
                return Err(Error::config(format!(
                    "ids {} and {id} would both be spelled {:?} in tokenizer.json",
                    other.get(),
                    show(id)?
                )))
            }
        }
    }
    let is_taken = |id: u32| taken.find(key(&id), |&other| quoted.of(other) == quoted.of(id)).is_some();
    let clashes: Vec<u32> =
        vocab.iter().filter(|&(id, kind, _)| !is_entry(kind) && is_taken(id)).map(|(id, ..)| id).collect();
    let mut end = vocab.len() as u32;
    if vocab.num_tokens() == vocab.len() && clashes.is_empty() {
        let may_be_omitted = |&id: &u32| matches!(vocab.kind(id), Kind::Added | Kind::Special) && !is_model(id);
        let last = (0..end).rev().take_while(may_be_omitted);
        let last = last.filter(|&id| id >= num_listed || vocab.kind(id) == Kind::Added);
        end = last.last().unwrap_or(end);
    }
    let mut json = vec![b'{'];
    let mut exposed = Vec::new();
    for (id, kind, _) in vocab.iter().take_while(|&(id, ..)| id < end) {
        if clashes.binary_search(&id).is_ok() {
            continue;
        }
        if is_outside(id, kind) {
            exposed.push(id);
        }
        if json.len() > 1 {
            json.push(b',');
        }
        json.extend_from_slice(quoted.of(id));
        json.push(b':');
        push_json(&mut json, &id)?;
    }
    json.push(b'}');
    Ok(WrittenVocab { json: text(json)?, clashes, exposed })
}

/// Writes `model.vocab` of a Unigram model: a list of the spelling and score of every id. Returns the list, and true if
/// HF's parser reads all scores exactly. Returns `None` if ids have gaps, which a list cannot represent.
///
/// If only added tokens follow the last entry that has a score or is the unknown token, the list ends at this entry.
/// HF then numbers the added tokens from the end of the list, so they keep their ids.
///
/// # Errors
/// As [`Spelling::write`].
pub fn pieces_json(vocab: &Vocab, scores: &[f64], unk: Option<u32>) -> Result<Option<(String, bool)>> {
    if vocab.num_tokens() < vocab.len() {
        return Ok(None);
    }
    let is_added = |id| matches!(vocab.kind(id), Kind::Added | Kind::Special);
    let first = (scores.len() as u32).max(unk.map_or(0, |unk| unk + 1));
    let end = if (first..vocab.len() as u32).all(is_added) { first } else { vocab.len() as u32 };
    let mut is_exact = true;
    let spelling = Spelling { byte_alphabet: false, end_of_word: "" };
    let mut json = String::from("[");
    for (id, kind, content) in vocab.iter().take_while(|&(id, ..)| id < end) {
        let comma = if id > 0 { "," } else { "" };
        let score = scores.get(id as usize).copied().unwrap_or(0.0);
        let number = numbers::write(score);
        is_exact &= numbers::read(&number) == Some(score);
        let piece = quote(&spelling.write(kind, content)?)?;
        json.push_str(&format!("{comma}[{piece},{number}]"));
    }
    json.push(']');
    Ok(Some((json, is_exact)))
}

/// Searches for a tie: two pieces with equal scores, each of which is the concatenation of two other pieces. Returns
/// the tie with the highest score, or `None`. In a tie, SentencePiece first merges the piece that is leftmost in the
/// text, but a merge list first merges the piece that is first in the list. Trained models have no ties.
///
/// Runs of one character are ignored, because Llama and Mistral gave all runs of spaces the same score after training.
/// For runs of spaces, SentencePiece and a merge list both yield the longest run. This was tested (up to 120 spaces in
/// several contexts), not proved.
///
/// Cost: O(bytes of the pieces), and sorting.
#[must_use]
pub fn tied_pieces(vocab: &Vocab, scores: &[f64]) -> Option<(u32, u32)> {
    let score = |id: u32| scores.get(id as usize).copied().unwrap_or(0.0);
    let run_of = |id: u32| {
        let mut chars = std::str::from_utf8(vocab.content(id)).ok()?.chars();
        let first = chars.next()?;
        chars.all(|other| other == first).then_some(first)
    };
    let is_tie = |a: u32, b: u32| score(a) == score(b) && (run_of(a).is_none() || run_of(a) != run_of(b));
    let mut ids: Vec<u32> = vocab.iter().filter(|entry| entry.1 == Kind::Token).map(|(id, ..)| id).collect();
    ids.sort_by(|&a, &b| score(b).total_cmp(&score(a))); // a stable sort: equal scores stay in order of id
    let mut splits = None; // computed at the first tie
    let mut tied = ids.chunk_by(|&a, &b| score(a) == score(b)).filter(|tied| tied.len() > 1);
    tied.find_map(|tied| {
        let splits = splits.get_or_insert_with(|| Splits::new(vocab));
        let formed: Vec<u32> = tied.iter().copied().filter(|&id| splits.has_one(vocab.content(id))).collect();
        formed.iter().zip(formed.iter().skip(1)).map(|(&a, &b)| (a, b)).find(|&(a, b)| is_tie(a, b))
    })
}

/// Lookup that tests whether a text is the concatenation of two pieces.
struct Splits {
    pieces: Trie,
    reversed: Trie,
}

impl Splits {
    fn new(vocab: &Vocab) -> Self {
        let pieces = || vocab.iter().filter(|entry| matches!(entry.1, Kind::Token | Kind::Unused));
        let reversed: List = pieces().map(|(id, kind, content)| (id, kind, reverse(content))).collect();
        Self {
            pieces: Trie::new(pieces().map(|(id, _, content)| (content, id)).collect()),
            reversed: Trie::new(reversed.iter().map(|(id, _, content)| (content, id)).collect()),
        }
    }

    /// Returns true if a text is the concatenation of two pieces.
    fn has_one(&self, text: &[u8]) -> bool {
        let mut ends = vec![false; text.len()];
        let firsts = self.pieces.matches(text, 0).filter(|&(end, _)| end < text.len());
        firsts.for_each(|(end, _)| ends[end] = true);
        self.reversed.matches(&reverse(text), 0).any(|(len, _)| len < text.len() && ends[text.len() - len])
    }
}

fn reverse(text: &[u8]) -> Vec<u8> {
    text.iter().rev().copied().collect()
}

/// Writes `model.merges`.
///
/// # Errors
/// As [`Spelling::write`].
pub fn merges_json(vocab: &Vocab, merges: &[(u32, u32, u32)], spelling: &Spelling<'_>) -> Result<String> {
    let mut is_wanted = vec![false; vocab.len()];
    merges.iter().for_each(|&(left, right, _)| [left, right].iter().for_each(|&id| is_wanted[id as usize] = true));
    let quoted = Quoted::new(vocab, spelling, |id| is_wanted[id as usize])?;
    let mut json = vec![b'['];
    for (i, &(left, right, _)) in merges.iter().enumerate() {
        json.extend_from_slice(if i > 0 { b",[" } else { b"[" });
        json.extend_from_slice(quoted.of(left));
        json.push(b',');
        json.extend_from_slice(quoted.of(right));
        json.push(b']');
    }
    json.push(b']');
    text(json)
}

fn quote(plain: &str) -> Result<String> {
    let mut json = Vec::new();
    push_json(&mut json, plain)?;
    text(json)
}

fn push_json<T: serde::Serialize + ?Sized>(json: &mut Vec<u8>, value: &T) -> Result<()> {
    serde_json::to_writer(json, value).map_err(|error| Error::config(error.to_string()))
}
