//! Widths of tokens in characters, and the normalized form of each character of a text; used by `one_to_one`.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;

use hashbrown::HashSet;

use crate::util::atomic_cell::made_once;

/// Mask for the byte that is stored for a character. The bits in the mask are the class of the character. The other
/// bits of the byte are flags for characters unknown to the model.
pub(in crate::tokenizer) const CLASS: u8 = 7;
/// Class of a character that becomes exactly one character, which is part of a word.
pub(in crate::tokenizer) const ORDINARY: u8 = 0;
/// Class of a character that becomes white space.
pub(in crate::tokenizer) const WHITE: u8 = 1;
/// Class of a character that becomes a separate word.
pub(in crate::tokenizer) const ISOLATED: u8 = 2;
/// Class that is stored after the last character.
pub(in crate::tokenizer) const END: u8 = 3;
/// Class of a character whose normalized form depends on its neighbors, and of a character that fits no other class.
pub(in crate::tokenizer) const CHANGES: u8 = 4;
/// Class of a character that is removed.
pub(in crate::tokenizer) const DROPPED: u8 = 5;
/// Bit that is set in `CHANGES` and `DROPPED`. In [`WordRules::ascii`], it is also set for a character that becomes
/// several characters.
pub(in crate::tokenizer) const NOT_ONE: u8 = 4;

/// Flag of a normalized character that occurs in no piece of a Unigram model, so that it is unknown in any text.
pub(in crate::tokenizer) const UNKNOWN: u8 = 0x10;
/// Flag of a normalized character that is unknown next to some characters, but not next to others.
pub(in crate::tokenizer) const AMBIGUOUS: u8 = 0x20;

/// Flag in the width of a token: the token begins inside of a character.
pub(in crate::tokenizer) const INSIDE: u8 = 0x80;
/// Flag in the width of a token: the token begins with the mark of words (for example, `▁`). The mark is not counted in
/// the width.
pub(in crate::tokenizer) const MARKED: u8 = 0x80;
/// Flag in the width of a token: the token continues a word. The continuing prefix of the token (for example, `##`) is
/// not counted in the width.
pub(in crate::tokenizer) const CONTINUES: u8 = 0x40;

/// Widths of tokens in characters. The alignment of a text follows from the widths of its tokens.
#[derive(Debug)]
pub(in crate::tokenizer) struct OneToOne {
    /// Width of each token, by id. The low bits are the number of characters that begin in the token; the high bits are
    /// the flags defined above. If the width is unknown, the value is 0.
    pub(in crate::tokenizer) widths: Box<[u8]>,
    pub(in crate::tokenizer) kind: AlignedKind,
    /// Ids of the byte-fallback tokens, such as `<0x0A>`, by byte.
    pub(in crate::tokenizer) bytes: Option<Box<[u32; 256]>>,
}

#[derive(Debug)]
pub(in crate::tokenizer) enum AlignedKind {
    /// The text is one pretoken. If a mark is prepended to the text, `mark_end` is the end offset of the mark: 1 if the
    /// mark is aligned to the first character, otherwise 0. If no mark is prepended, `mark_end` is None.
    Whole { mark_end: Option<i64> },
    /// The text consists of words, separated by white space.
    Words(Box<WordRules>),
}

/// Rules by which a text is divided into words.
#[derive(Debug)]
pub(in crate::tokenizer) struct WordRules {
    /// The mark that is inserted before each word.
    pub(in crate::tokenizer) mark: Option<char>,
    /// Images (normalized forms) of characters.
    pub(in crate::tokenizer) images: Images,
    /// Class of each ASCII character that becomes one character; `NOT_ONE` for other ASCII characters.
    pub(in crate::tokenizer) ascii: [u8; 128],
    /// True if there are only two places where a word can end within a text: before white space, and next to an
    /// isolated character (before or after this character).
    pub(in crate::tokenizer) ends_at_white: bool,
    /// True if a normalizer has HF's bug: when it removes characters at the start of a text, the alignment is shifted.
    pub(in crate::tokenizer) may_shift: bool,
    /// True if adjacent unknown characters are one token.
    pub(in crate::tokenizer) fuses_unknown: bool,
}

/// Normalized form of a character: its class, the number of normalized characters, and two flags for each normalized
/// character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tokenizer) struct Image(u32);

/// Maximum number of normalized characters in an image.
pub(in crate::tokenizer) const MOST_IMAGE: usize = 8;

impl Image {
    /// Creates an image of one character, or of none if the class is `DROPPED`.
    pub(in crate::tokenizer) fn new(class: u8) -> Self {
        Self(u32::from(class) | u32::from(class != DROPPED) << 8)
    }

    /// Creates an image of several ordinary characters, with the flags of each.
    pub(in crate::tokenizer) fn of_word(flags: impl Iterator<Item = u8>) -> Self {
        let with =
            |bits, (index, flags): (usize, u8)| bits + (1 << 8) + (u32::from(flags >> 4 & 3) << (16 + 2 * index));
        Self(flags.enumerate().fold(ORDINARY.into(), with))
    }

    /// Returns the class.
    #[inline(always)]
    pub(in crate::tokenizer) fn class(self) -> u8 {
        self.0 as u8
    }

    /// Returns the number of normalized characters.
    #[inline(always)]
    pub(in crate::tokenizer) fn len(self) -> usize {
        (self.0 >> 8 & 0xFF) as usize
    }

    /// Returns the class and the flags of the normalized character at `index` in this image.
    #[inline(always)]
    pub(in crate::tokenizer) fn entry(self, index: usize) -> u8 {
        self.class() | ((self.0 >> (16 + 2 * index) & 3) as u8) << 4
    }
}

/// Number of code points in a block.
const BLOCK: usize = 256;

/// Cache of the images of characters, which are computed on first use.
pub(in crate::tokenizer) struct Images {
    blocks: Box<[OnceLock<Box<[AtomicU32; BLOCK]>>]>, // an image is 0 until it is computed
    known: Option<KnownCharacters>,
}

/// Characters that occur in the pieces of a Unigram model.
#[derive(Debug, Default)]
pub(in crate::tokenizer) struct KnownCharacters {
    /// Characters that are pieces by themselves.
    pub(in crate::tokenizer) pieces: HashSet<char>,
    /// Characters that occur in at least one piece.
    pub(in crate::tokenizer) others: HashSet<char>,
    /// First character of the unknown token's spelling.
    pub(in crate::tokenizer) unk_start: Option<char>,
}

impl std::fmt::Debug for Images {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Images").finish_non_exhaustive()
    }
}

impl Images {
    pub(in crate::tokenizer) fn new(known: Option<KnownCharacters>) -> Self {
        Self { blocks: (0..=char::MAX as usize / BLOCK).map(|_| OnceLock::new()).collect(), known }
    }

    /// Returns the flags of a normalized character.
    pub(in crate::tokenizer) fn flags(&self, c: char) -> u8 {
        match &self.known {
            Some(known) if known.unk_start == Some(c) => AMBIGUOUS,
            Some(known) if known.pieces.contains(&c) => 0,
            Some(known) if known.others.contains(&c) => AMBIGUOUS,
            Some(_) => UNKNOWN,
            None => 0,
        }
    }

    /// Returns the image of a character, computed by `compute` on first use.
    #[inline(always)]
    pub(in crate::tokenizer) fn of(&self, c: char, compute: impl FnOnce(char) -> Image) -> Image {
        let (block, index) = (c as usize / BLOCK, c as usize % BLOCK);
        let known = self.blocks[block].get().map_or(0, |images| images[index].load(Ordering::Relaxed));
        match known {
            0 => self.fill(c, compute),
            known => Image(known),
        }
    }

    #[cold]
    fn fill(&self, c: char, compute: impl FnOnce(char) -> Image) -> Image {
        let image = compute(c);
        let block = made_once(&self.blocks[c as usize / BLOCK], || Box::new([const { AtomicU32::new(0) }; BLOCK]));
        block[c as usize % BLOCK].store(image.0, Ordering::Relaxed);
        image
    }
}
