//! Vocabulary: id ↔ bytes, with all entries in one arena.
//!
//! An entry has a kind and a content. The content is what the model matches: raw bytes at byte level, else the spelling
//! (`▁the`, `##ing`, `<0x0A>`). Ids can have gaps. No two ordinary entries have the same content and the same
//! end-of-word flag, so content and flag determine the id. The table for this lookup does not contain added tokens,
//! because a matcher finds them. A special token can have the same content as an ordinary entry.
//!
//! Cost: for each entry, its content, 5 bytes for start and kind, and 5 bytes of the lookup table.
//!
//! The start of a content is stored with a flag, which is set if the kind affects decoding. For most ids, the flag is
//! not set, and decoding does not read the kind.

pub mod alphabet;
pub mod byte_alphabet;
pub mod marks;
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
    /// Entry of the model.
    Token = 1,
    /// Entry of the model that ends a word; decodes to its content and a space.
    EndsWord = 2,
    /// Added token that is not special: always matched.
    Added = 3,
    /// Special token: matched only if the caller permits it.
    Special = 4,
    /// Unused piece (SentencePiece): merges can form it, but it is then split into its parts.
    Unused = 5,
    /// Byte-fallback entry, `<0x0A>` (SentencePiece). The text `<0x0A>` does not match it.
    Byte = 6,
    /// Byte-level entry whose spelling has a character outside of the byte alphabet (HF). No text produces it; it
    /// decodes to its spelling.
    Unreachable = 7,
}

impl Kind {
    /// Returns the kind with this number.
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

/// Maximum total bytes of the contents of a vocabulary. Without a limit, merges that each double the length of a token
/// could exhaust memory. 1 GiB is a thousand times the size of the largest vocabulary in use.
pub const MAX_BYTES: usize = 1 << 30;

/// Maximum id, a hundred times the largest id in use. Arrays are indexed by id; without a limit, a small file with a
/// huge id could take gigabytes of memory.
pub const MAX_ID: u32 = (1 << 24) - 1;

/// Entries of a vocabulary under construction, in any order. Contents are concatenated in one buffer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct List {
    contents: Vec<u8>,
    rows: Vec<(u32, Kind, usize)>, // (id, kind, end of its content in `contents`)
}

impl List {
    /// Creates a list with capacity for `num_entries` short entries.
    pub fn with_capacity(num_entries: usize) -> Self {
        Self { contents: Vec::with_capacity(num_entries * 8), rows: Vec::with_capacity(num_entries) }
    }

    /// Appends an entry.
    pub fn push(&mut self, id: u32, kind: Kind, content: &[u8]) {
        self.contents.extend_from_slice(content);
        self.rows.push((id, kind, self.contents.len()));
    }

    /// Appends an entry, and returns its content. `write` must append the content to the buffer that it is given.
    ///
    /// # Errors
    /// Errors of `write`, after which the list is unchanged.
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

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the entry at index `place`, which must be below the length.
    pub fn at(&self, place: usize) -> (u32, Kind, &[u8]) {
        let (id, kind, end) = self.rows[place];
        let start = place.checked_sub(1).map_or(0, |before| self.rows[before].2);
        (id, kind, &self.contents[start..end])
    }

    /// Iterates over the entries.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Kind, &[u8])> + Clone {
        let starts = std::iter::once(0).chain(self.rows.iter().map(|row| row.2));
        self.rows.iter().zip(starts).map(|(&(id, kind, end), start)| (id, kind, &self.contents[start..end]))
    }

    /// Returns the highest id plus one.
    pub fn next_id(&self) -> u32 {
        self.rows.iter().map(|row| row.0.saturating_add(1)).max().unwrap_or(0)
    }

    /// Sets the kind of all entries for which `wanted` returns true.
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

/// Flag in `ContentRange::start`, set if decoding the id takes more than copying its content. This is the case for a
/// gap, a special token, and an entry that ends a word.
const ODD: u32 = 1 << 31;

/// Range of an entry's content in the arena.
#[derive(Debug, Clone, Copy)]
pub struct ContentRange {
    start: u32,
    end: u32,
}

impl ContentRange {
    /// Returns the length of the content in bytes.
    #[inline(always)]
    pub fn len(self) -> usize {
        ((self.end & !ODD) - (self.start & !ODD)) as usize
    }

    /// Returns true if the content is empty.
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

/// Vocabulary: id ↔ bytes.
#[derive(Debug, Clone, Default)]
pub struct Vocab {
    arena: Vec<u8>,   // contents, with padding for reads of fixed length
    starts: Vec<u32>, // id -> start in `arena`, with the flag ODD; one more item for the end
    kinds: Vec<Kind>,
    table: HashTable<u32>, // ids of model entries, by content
    num_tokens: usize,
    hash: Hash,
}

impl Vocab {
    /// Number of bytes that can be read from the start of any content, even if the content is shorter. This permits
    /// reads of fixed length.
    pub const PADDING: usize = 16;

    /// Builds a vocabulary from `(id, kind, content)` in any order.
    ///
    /// # Errors
    /// [`Error::config`] for a duplicate id, an empty added token, two ordinary entries with the same content, an id
    /// over [`MAX_ID`], or contents over [`MAX_BYTES`] in total.
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

    /// Reserves memory for all entries at once, because growing would rehash all entries repeatedly.
    fn reserve(&mut self, entries: &[(u32, Kind, &[u8])]) {
        self.table.reserve(entries.len(), |_| 0); // the table is empty, so the hash function is never called
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
        self.starts.pop(); // removes the end, which becomes a start
        self.starts.resize(id as usize, here | ODD); // ids without an entry
        self.kinds.resize(id as usize, Kind::Hole);
        self.starts.push(if matches!(kind, Kind::Special | Kind::EndsWord) { here | ODD } else { here });
        self.arena.extend_from_slice(content);
        self.starts.push(self.arena.len() as u32);
        self.kinds.push(kind);
        self.num_tokens += 1;
        if content.is_empty() && kind == Kind::Token {
            return Ok(()); // Whisper's vocabulary has an empty entry; it is unreachable and decodes to no bytes
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

    /// Returns the highest id plus one.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Returns true if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.num_tokens == 0
    }

    /// Returns the number of entries.
    pub fn num_tokens(&self) -> usize {
        self.num_tokens
    }

    /// Returns the kind of `id`; [`Kind::Hole`] past the end.
    #[inline]
    pub fn kind(&self, id: u32) -> Kind {
        self.kinds.get(id as usize).copied().unwrap_or(Kind::Hole)
    }

    /// Returns the content of `id`; empty for a gap.
    #[inline]
    pub fn content(&self, id: u32) -> &[u8] {
        self.place(id).map_or(&[], |place| self.at(place))
    }

    /// Returns the number of bytes of the content of `id`; 0 for a gap.
    #[inline(always)]
    pub fn content_len(&self, id: u32) -> usize {
        self.place(id).map_or(0, ContentRange::len)
    }

    /// Returns the range of the content of `id`; None past the end.
    #[inline(always)]
    pub fn place(&self, id: u32) -> Option<ContentRange> {
        match self.starts.get(id as usize..id as usize + 2) {
            Some(&[start, end]) => Some(ContentRange { start, end }),
            _ => None,
        }
    }

    /// Returns the content at a range.
    #[inline(always)]
    pub fn at(&self, place: ContentRange) -> &[u8] {
        &self.arena[place.start()..place.start() + place.len()]
    }

    /// Returns the `PADDING` bytes that begin at the start of a range. If the content at the range is longer, it is
    /// truncated. If the content is shorter, unrelated bytes follow it.
    #[inline(always)]
    pub fn padded(&self, place: ContentRange) -> &[u8] {
        &self.arena[place.start()..place.start() + Self::PADDING]
    }

    /// Appends the bytes that `id` adds to decoded text: its content, and a space if it ends a word.
    pub fn write_decoded(&self, id: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(self.content(id));
        if self.kind(id) == Kind::EndsWord {
            out.push(b' ');
        }
    }

    /// Returns a content of at most 16 bytes as a little-endian integer.
    #[inline(always)]
    pub fn number(&self, place: ContentRange) -> u128 {
        let all = self.padded(place).first_chunk().map_or(0, |&bytes| u128::from_le_bytes(bytes));
        all & u128::MAX.checked_shr(128 - 8 * place.len() as u32).unwrap_or(0)
    }

    /// Returns the id of the model entry with this content and this end-of-word flag.
    #[inline]
    pub fn find(&self, content: &[u8], ends_word: bool) -> Option<u32> {
        let same = |&id: &u32| same(self.content(id), content) && (self.kind(id) == Kind::EndsWord) == ends_word;
        self.table.find(self.key(content, ends_word), same).copied()
    }

    /// Iterates over all entries, by ascending id.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Kind, &[u8])> {
        let ids = 0..self.len() as u32;
        ids.map(|id| (id, self.kind(id), self.content(id))).filter(|entry| entry.1 != Kind::Hole)
    }
}

/// Compares two contents. Most contents are short, and short contents are compared inline, because a function call
/// would take longer.
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

/// Formats bytes for an error message, and truncates long ones.
pub fn show(bytes: &[u8]) -> String {
    const ENOUGH: usize = 60;
    let end = if bytes.len() > ENOUGH { ENOUGH } else { bytes.len() };
    let more = if bytes.len() > ENOUGH { "…" } else { "" };
    String::from_utf8_lossy(&bytes[..end]).into_owned() + more
}
