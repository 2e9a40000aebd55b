//! id ↔ bytes, with all entries in one arena.
//!
//! An entry has a kind and a content, its bytes in decoded text. Ids may have gaps. The contents of ordinary entries,
//! together with the end-of-word flag, are unique, so content → id is a function. Added tokens are found by their matcher
//! instead; a special token may have the content of an ordinary entry.
//!
//! Cost: 5 bytes for each entry in addition to its content, and 5 for the lookup table.
//!
//! The start of an entry's content also tells whether its kind matters for decoding, so decoding needs one lookup for most
//! ids.

pub mod alphabet;
pub mod byte_alphabet;
pub(crate) mod merge_boundaries;

use hashbrown::hash_table::{Entry, HashTable};

use crate::error::{Error, Result};
use crate::util::hash::Hash;

/// Kind of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// No token has this id.
    Hole = 0,
    /// An entry of the model.
    Token = 1,
    /// An entry of the model that ends a word: it decodes to its content and a space.
    EndsWord = 2,
    /// An added token that is vocabulary: always matched.
    Added = 3,
    /// A special token: matched only by permission.
    Special = 4,
    /// An entry that merges may pass through and that is never the result (SentencePiece).
    Unused = 5,
    /// Byte-fallback entry, `<0x0A>`, which text does not match (SentencePiece).
    Byte = 6,
    /// Byte-level entry whose spelling has a character outside of the byte alphabet (HF): unreachable; decodes to its
    /// spelling.
    Unreachable = 7,
}

impl Kind {
    /// The kind with this number.
    pub fn from_u8(number: u8) -> Option<Self> {
        const KINDS: [Kind; 8] = [
            Kind::Hole,
            Kind::Token,
            Kind::EndsWord,
            Kind::Added,
            Kind::Special,
            Kind::Unused,
            Kind::Byte,
            Kind::Unreachable,
        ];
        KINDS.get(usize::from(number)).copied()
    }
}

/// The bytes that training and files may spell out in one vocabulary. A merge that doubles its token each time would
/// pass any memory; 1 GiB is a thousand times the largest vocabulary in use.
pub const MAX_BYTES: usize = 1 << 30;

/// Highest id that may occur, a hundred times that of the largest vocabulary in use. Arrays are indexed by id, so a
/// file of a few bytes with a huge id must not take gigabytes.
pub const MAX_ID: u32 = (1 << 24) - 1;

/// Entries of a vocabulary in the making, in any order, with their contents in one piece.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct List {
    contents: Vec<u8>,
    rows: Vec<(u32, Kind, usize)>, // id, kind, where in `contents` its own ends
}

impl List {
    /// With room for so many entries of a few bytes.
    pub fn with_capacity(num_entries: usize) -> Self {
        Self { contents: Vec::with_capacity(num_entries * 8), rows: Vec::with_capacity(num_entries) }
    }

    /// One more.
    pub fn push(&mut self, id: u32, kind: Kind, content: &[u8]) {
        self.contents.extend_from_slice(content);
        self.rows.push((id, kind, self.contents.len()));
    }

    /// One more, whose content `write` appends; returns that content.
    ///
    /// # Errors
    /// What `write` returns; the list is as it was then.
    pub fn push_with<E>(
        &mut self,
        id: u32,
        kind: Kind,
        write: impl FnOnce(&mut Vec<u8>) -> std::result::Result<(), E>,
    ) -> std::result::Result<&[u8], E> {
        let start = self.contents.len();
        if let Err(error) = write(&mut self.contents) {
            self.contents.truncate(start);
            return Err(error);
        }
        self.rows.push((id, kind, self.contents.len()));
        Ok(&self.contents[start..])
    }

    /// Entries.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The entry at a place of the list, which must have as many.
    pub fn at(&self, place: usize) -> (u32, Kind, &[u8]) {
        let (id, kind, end) = self.rows[place];
        let start = place.checked_sub(1).map_or(0, |before| self.rows[before].2);
        (id, kind, &self.contents[start..end])
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Kind, &[u8])> + Clone {
        let starts = std::iter::once(0).chain(self.rows.iter().map(|row| row.2));
        self.rows.iter().zip(starts).map(|(&(id, kind, end), start)| (id, kind, &self.contents[start..end]))
    }

    /// The highest id plus one.
    pub fn next_id(&self) -> u32 {
        self.rows.iter().map(|row| row.0.saturating_add(1)).max().unwrap_or(0)
    }

    /// Another kind for those of which `wanted` says so.
    pub fn change_kinds(&mut self, kind: Kind, wanted: impl Fn(u32, Kind) -> bool) {
        self.rows.iter_mut().filter(|row| wanted(row.0, row.1)).for_each(|row| row.1 = kind);
    }
}

impl<C: AsRef<[u8]>> Extend<(u32, Kind, C)> for List {
    fn extend<I: IntoIterator<Item = (u32, Kind, C)>>(&mut self, entries: I) {
        entries.into_iter().for_each(|(id, kind, content)| self.push(id, kind, content.as_ref()));
    }
}

impl<C: AsRef<[u8]>> FromIterator<(u32, Kind, C)> for List {
    fn from_iter<I: IntoIterator<Item = (u32, Kind, C)>>(entries: I) -> Self {
        let entries = entries.into_iter();
        let mut list = Self::with_capacity(entries.size_hint().0);
        list.extend(entries);
        list
    }
}

/// Set in a start where the entry does not simply decode to its content: a hole, a special token, the end of a word.
const ODD: u32 = 1 << 31;

/// Range of the content of an entry.
#[derive(Debug, Clone, Copy)]
pub struct ContentRange {
    start: u32,
    end: u32,
}

impl ContentRange {
    /// Its bytes.
    #[inline(always)]
    pub fn len(self) -> usize {
        ((self.end & !ODD) - (self.start & !ODD)) as usize
    }

    /// It has none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns true if the kind affects decoding.
    #[inline(always)]
    pub fn is_odd(self) -> bool {
        self.start & ODD != 0
    }

    #[inline(always)]
    fn start(self) -> usize {
        (self.start & !ODD) as usize
    }
}

/// id ↔ bytes.
#[derive(Debug, Clone, Default)]
pub struct Vocab {
    arena: Vec<u8>,   // and as many bytes more as may be read at once
    starts: Vec<u32>, // id -> start in arena, and whether it is odd; one more at the end
    kinds: Vec<Kind>,
    table: HashTable<u32>, // ids of model entries, by content
    num_tokens: usize,
    hash: Hash,
}

impl Vocab {
    /// Readable bytes from the start of any content.
    pub const PADDING: usize = 16;

    /// A vocabulary from `(id, kind, content)` in any order.
    ///
    /// # Errors
    /// [`Error::config`] for an id given twice, an empty added token, two ordinary entries with one content, an id over
    /// [`MAX_ID`], or contents over [`MAX_BYTES`] in all.
    pub fn new<'a>(entries: impl IntoIterator<Item = (u32, Kind, &'a [u8])>) -> Result<Self> {
        let mut entries: Vec<_> = entries.into_iter().filter(|entry| entry.1 != Kind::Hole).collect();
        entries.sort_by_key(|&(id, _, _)| id);
        let mut vocab = Self { starts: vec![0], ..Self::default() };
        vocab.reserve(&entries);
        for (id, kind, content) in entries {
            vocab.push(id, kind, content)?;
        }
        vocab.arena.extend([0; Self::PADDING]);
        Ok(vocab)
    }

    /// Room for everything at once: growing step by step would hash every entry again and again.
    fn reserve(&mut self, entries: &[(u32, Kind, &[u8])]) {
        self.table.reserve(entries.len(), |_| 0); // empty as yet, so nothing is hashed
        self.arena.reserve(entries.iter().map(|entry| entry.2.len()).sum::<usize>().min(MAX_BYTES) + Self::PADDING);
        self.starts.reserve(entries.last().map_or(0, |entry| entry.0.min(MAX_ID) as usize + 1));
        self.kinds.reserve(self.starts.capacity());
    }

    fn push(&mut self, id: u32, kind: Kind, content: &[u8]) -> Result<()> {
        if (id as usize) < self.len() {
            return Err(Error::config(format!(
                "id {id} is given twice: {:?} and {:?}",
                show(self.content(id)),
                show(content)
            )));
        }
        if id > MAX_ID {
            return Err(Error::config(format!("id {id} is over the highest possible id, {MAX_ID}")));
        }
        if self.arena.len() + content.len() > MAX_BYTES {
            return Err(Error::config("the tokens of the vocabulary spell more than 1 GiB"));
        }
        let here = self.arena.len() as u32;
        self.starts.pop(); // the end, where now something begins
        self.starts.resize(id as usize, here | ODD); // holes
        self.kinds.resize(id as usize, Kind::Hole);
        self.starts.push(if matches!(kind, Kind::Special | Kind::EndsWord) { here | ODD } else { here });
        self.arena.extend_from_slice(content);
        self.starts.push(self.arena.len() as u32);
        self.kinds.push(kind);
        self.num_tokens += 1;
        if content.is_empty() && kind == Kind::Token {
            return Ok(()); // Whisper's vocabulary has one: an id that no text has, and that decodes to nothing
        }
        if content.is_empty() && kind != Kind::EndsWord {
            return Err(Error::config(format!("the token with id {id} is empty")));
        }
        if matches!(kind, Kind::Token | Kind::EndsWord | Kind::Unused) {
            let ends_word = kind == Kind::EndsWord;
            let key = self.key(content, ends_word);
            let Self { arena, starts, kinds, table, hash, .. } = self;
            let at = |id: u32| {
                let [start, end] = [starts[id as usize], starts[id as usize + 1]].map(|place| (place & !ODD) as usize);
                (&arena[start..end], kinds[id as usize] == Kind::EndsWord)
            };
            let rehash = |&id: &u32| hash.bytes(at(id).0) ^ u64::from(at(id).1);
            match table.entry(key, |&other| at(other) == (content, ends_word), rehash) {
                Entry::Vacant(free) => free.insert(id),
                Entry::Occupied(taken) => {
                    let other = taken.get();
                    let content = show(content);
                    return Err(Error::config(format!("ids {other} and {id} have the same content, {content:?}")));
                }
            };
        }
        Ok(())
    }

    fn key(&self, content: &[u8], ends_word: bool) -> u64 {
        self.hash.bytes(content) ^ u64::from(ends_word)
    }

    /// Highest id plus one.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// There are no entries.
    pub fn is_empty(&self) -> bool {
        self.num_tokens == 0
    }

    /// Entries.
    pub fn num_tokens(&self) -> usize {
        self.num_tokens
    }

    /// Returns the kind of `id`; a hole also past the end.
    #[inline]
    pub fn kind(&self, id: u32) -> Kind {
        self.kinds.get(id as usize).copied().unwrap_or(Kind::Hole)
    }

    /// The content of `id`: empty for a hole.
    #[inline]
    pub fn content(&self, id: u32) -> &[u8] {
        self.place(id).map_or(&[], |place| self.at(place))
    }

    /// Returns the range of the content of `id`; empty past the end.
    #[inline(always)]
    pub fn place(&self, id: u32) -> Option<ContentRange> {
        match self.starts.get(id as usize..id as usize + 2) {
            Some(&[start, end]) => Some(ContentRange { start, end }),
            _ => None,
        }
    }

    /// The content that lies there.
    #[inline(always)]
    pub fn at(&self, place: ContentRange) -> &[u8] {
        &self.arena[place.start()..place.start() + place.len()]
    }

    /// Returns the bytes from there on, the content first.
    #[inline(always)]
    pub fn padded(&self, place: ContentRange) -> &[u8] {
        &self.arena[place.start()..place.start() + Self::PADDING]
    }

    /// Appends what `id` adds to decoded text: its content, and a space where it ends a word.
    pub fn write_decoded(&self, id: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(self.content(id));
        if self.kind(id) == Kind::EndsWord {
            out.push(b' ');
        }
    }

    /// A content of at most 16 bytes as a number, little-endian.
    #[inline(always)]
    pub fn number(&self, place: ContentRange) -> u128 {
        let all = self.padded(place).first_chunk().map_or(0, |&bytes| u128::from_le_bytes(bytes));
        all & u128::MAX.checked_shr(128 - 8 * place.len() as u32).unwrap_or(0)
    }

    /// The model entry with this content.
    #[inline]
    pub fn find(&self, content: &[u8], ends_word: bool) -> Option<u32> {
        let same = |&id: &u32| same(self.content(id), content) && (self.kind(id) == Kind::EndsWord) == ends_word;
        self.table.find(self.key(content, ends_word), same).copied()
    }

    /// All entries, by rising id.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Kind, &[u8])> {
        let ids = 0..self.len() as u32;
        ids.map(|id| (id, self.kind(id), self.content(id))).filter(|entry| entry.1 != Kind::Hole)
    }
}

/// Compares two contents. Most are short, and to call a function for them takes longer than to compare.
#[inline]
fn same(one: &[u8], other: &[u8]) -> bool {
    let words = |content: &[u8]| content.first_chunk::<8>().copied().zip(content.last_chunk::<8>().copied());
    let halves = |content: &[u8]| content.first_chunk::<4>().copied().zip(content.last_chunk::<4>().copied());
    match one.len() {
        len if len != other.len() => false,
        1..4 => one.iter().eq(other),
        4..8 => halves(one) == halves(other),
        8..=16 => words(one) == words(other),
        _ => one == other,
    }
}

/// Bytes for an error message.
pub fn show(bytes: &[u8]) -> String {
    const ENOUGH: usize = 60;
    let end = if bytes.len() > ENOUGH { ENOUGH } else { bytes.len() };
    let more = if bytes.len() > ENOUGH { "…" } else { "" };
    String::from_utf8_lossy(&bytes[..end]).into_owned() + more
}
