//! id ↔ bytes, all entries in one arena.
//!
//! An entry is what an id adds to decoded text (its content) and its kind. Ids may have holes. Contents of ordinary entries are
//! unique, together with the end-of-word flag, so that content → id is a function; added tokens are found by the matcher
//! instead (a special token may be spelled like an ordinary entry).
//!
//! Cost: 5 bytes an entry beside its content, 5 more for the look-up table.

use hashbrown::HashTable;

use crate::error::{Error, Result};
use crate::hash::Hash;

/// What an id is.
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
    /// An entry that stands for one byte, `<0x0A>`, and that no text spells (SentencePiece).
    Byte = 6,
}

impl Kind {
    /// The kind with this number.
    pub fn from_u8(number: u8) -> Option<Self> {
        const KINDS: [Kind; 7] =
            [Kind::Hole, Kind::Token, Kind::EndsWord, Kind::Added, Kind::Special, Kind::Unused, Kind::Byte];
        KINDS.get(usize::from(number)).copied()
    }
}

/// The bytes that training and files may spell out in one vocabulary. A merge that doubles its token each time would pass any
/// memory; 1 GiB is a thousand times the largest vocabulary in use.
pub const MAX_BYTES: usize = 1 << 30;

/// Highest id that may occur, a hundred times that of the largest vocabulary in use. Arrays are indexed by id, so a file of a few
/// bytes with a huge id must not take gigabytes.
pub const MAX_ID: u32 = (1 << 24) - 1;

/// id ↔ bytes.
#[derive(Debug, Clone, Default)]
pub struct Vocab {
    arena: Vec<u8>,
    starts: Vec<u32>, // id -> start in arena; one more at the end
    kinds: Vec<Kind>,
    table: HashTable<u32>, // ids of model entries, by content
    num_tokens: usize,
    hash: Hash,
}

impl Vocab {
    /// A vocabulary from `(id, kind, content)` in any order.
    ///
    /// # Errors
    /// [`Error::config`] for an id given twice, an empty added token, two ordinary entries with one content, an id over [`MAX_ID`], or contents over
    /// [`MAX_BYTES`] in all.
    pub fn new<'a>(entries: impl IntoIterator<Item = (u32, Kind, &'a [u8])>) -> Result<Self> {
        let mut entries: Vec<_> = entries.into_iter().filter(|entry| entry.1 != Kind::Hole).collect();
        entries.sort_by_key(|&(id, _, _)| id);
        let mut vocab = Self { starts: vec![0], ..Self::default() };
        vocab.reserve(&entries);
        for (id, kind, content) in entries {
            vocab.push(id, kind, content)?;
        }
        Ok(vocab)
    }

    /// Room for everything at once: growing step by step would hash every entry again and again.
    fn reserve(&mut self, entries: &[(u32, Kind, &[u8])]) {
        let Self { table, arena, .. } = self;
        table.reserve(entries.len(), |_| 0); // empty as yet, so nothing is hashed
        arena.reserve(entries.iter().map(|entry| entry.2.len()).sum::<usize>().min(MAX_BYTES));
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
        self.starts.resize(id as usize + 1, here);
        self.kinds.resize(id as usize, Kind::Hole);
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
            if let Some(other) = self.find(content, kind == Kind::EndsWord) {
                return Err(Error::config(format!("ids {other} and {id} have the same content, {:?}", show(content))));
            }
            let key = self.key(content, kind == Kind::EndsWord);
            let Self { arena, starts, kinds, table, hash, .. } = self;
            table.insert_unique(key, id, |&i| {
                let content = &arena[starts[i as usize] as usize..starts[i as usize + 1] as usize];
                hash.bytes(content) ^ u64::from(kinds[i as usize] == Kind::EndsWord)
            });
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

    /// What `id` is; a hole also past the end.
    #[inline]
    pub fn kind(&self, id: u32) -> Kind {
        self.kinds.get(id as usize).copied().unwrap_or(Kind::Hole)
    }

    /// The content of `id`: empty for a hole.
    #[inline]
    pub fn content(&self, id: u32) -> &[u8] {
        match self.starts.get(id as usize..id as usize + 2) {
            Some(&[start, end]) => &self.arena[start as usize..end as usize],
            _ => &[],
        }
    }

    /// Appends what `id` adds to decoded text: its content, and a space where it ends a word.
    pub fn write_decoded(&self, id: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(self.content(id));
        if self.kind(id) == Kind::EndsWord {
            out.push(b' ');
        }
    }

    /// The model entry with this content.
    #[inline]
    pub fn find(&self, content: &[u8], ends_word: bool) -> Option<u32> {
        let same = |&id: &u32| self.content(id) == content && (self.kind(id) == Kind::EndsWord) == ends_word;
        self.table.find(self.key(content, ends_word), same).copied()
    }

    /// All entries, by rising id.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Kind, &[u8])> {
        let ids = 0..self.len() as u32;
        ids.map(|id| (id, self.kind(id), self.content(id))).filter(|entry| entry.1 != Kind::Hole)
    }
}

/// Bytes for an error message.
pub fn show(bytes: &[u8]) -> String {
    const ENOUGH: usize = 60;
    let end = if bytes.len() > ENOUGH { ENOUGH } else { bytes.len() };
    let more = if bytes.len() > ENOUGH { "…" } else { "" };
    String::from_utf8_lossy(&bytes[..end]).into_owned() + more
}
