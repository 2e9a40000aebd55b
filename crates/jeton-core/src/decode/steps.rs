//! HF's decoders as operations on a list of strings.
//!
//! Invariant: on valid UTF-8 each operation gives the same strings as HF's. Where HF panics (`Strip` with overlapping
//! ends), the result is the empty string. If the caller wants bytes, `ByteFallback` and `ByteLevel` can produce invalid
//! UTF-8. Later operations search bytes instead of characters, which gives the same matches in UTF-8.
//!
//! Cost: linear in the strings for each operation, for any search string.
//! Source: huggingface/tokenizers, decoders/*.rs, normalizers/replace.rs, pre_tokenizers/{byte_level,metaspace}.rs.

use memchr::memmem::Finder;

use super::needle::Needle;
use super::pieces::StringList;
use super::regex_replacer::RegexReplacer;
use crate::error::Result;
use crate::vocab::byte_alphabet::stand_in;

/// One decoder of a chain.
#[derive(Debug, Clone)]
pub(super) enum DecodeStep {
    /// BPEDecoder: replaces the suffix in each string by a space, but removes the suffix from the last string.
    Suffix(Replacer),
    /// Converts byte pieces such as `<0x0A>` to their byte.
    ByteFallback,
    /// Converts characters of the byte alphabet to bytes, and joins all strings into one.
    ByteLevel(ByteAlphabet),
    /// Joins all strings into one. Used instead of `ByteLevel` if the contents of tokens are bytes already.
    Bytes,
    Ctc {
        pad: Replacer,
        delimiter: Replacer,
        cleanup: bool,
    },
    Fuse,
    /// Replaces the mark by a space. If encoding prepends a mark to texts, removes the mark from the first string.
    Metaspace {
        mark: Replacer,
        drops_first: bool,
    },
    Replace {
        pattern: Replacer,
        content: String,
    },
    ReplaceRegex(RegexReplacer),
    /// Removes matches of the regex ` \z`, a space at the end.
    DropLastSpace,
    Strip {
        content: String,
        start: usize,
        stop: usize,
    },
    WordPiece {
        prefix: String,
        cleanup: bool,
    },
    /// Joins the strings with a separator, as HF does if there is no decoder.
    Join(String),
}

impl DecodeStep {
    /// Applies the step to `pieces`; `spare` is a scratch buffer. With `lossy`, invalid UTF-8 is replaced. Stops soon
    /// after more than `most` bytes are written; the caller reports this as an error.
    ///
    /// # Errors
    /// As [`RegexReplacer::replace`].
    pub fn run(&self, pieces: &mut StringList, spare: &mut StringList, lossy: bool, most: usize) -> Result<()> {
        match self {
            Self::Fuse => {
                pieces.fuse();
                return Ok(());
            }
            Self::Bytes => {
                fuse_bytes(pieces, lossy);
                return Ok(());
            }
            _ => spare.clear(),
        }
        match self {
            Self::ByteFallback => byte_fallback(pieces, spare, lossy),
            Self::Ctc { pad, delimiter, cleanup } => ctc(pieces, spare, pad, delimiter, *cleanup, most),
            _ => {
                let last = pieces.len().saturating_sub(1);
                for (i, piece) in pieces.iter().enumerate() {
                    self.one(piece, i == 0, i == last, spare.open(), most)?;
                    spare.close();
                    if spare.open().len() > most {
                        break;
                    }
                }
            }
        }
        std::mem::swap(pieces, spare);
        if matches!(self, Self::ByteLevel(_)) {
            fuse_bytes(pieces, lossy);
        }
        Ok(())
    }

    /// Returns true if the step maps each string of the list to one string, independently of the other strings and of
    /// the position in the list. As an exception, the first string can be treated differently.
    pub fn is_context_free(&self) -> bool {
        match self {
            Self::Metaspace { .. } | Self::Replace { .. } | Self::ReplaceRegex(_) | Self::DropLastSpace => true,
            Self::Strip { .. } | Self::WordPiece { .. } | Self::Join(_) => true,
            Self::Suffix(_) | Self::ByteFallback | Self::ByteLevel(_) | Self::Bytes | Self::Ctc { .. } | Self::Fuse => {
                false
            }
        }
    }

    /// Processes one string, if the step is context-free.
    ///
    /// # Errors
    /// As [`RegexReplacer::replace`].
    pub fn one(&self, piece: &[u8], is_first: bool, is_last: bool, out: &mut Vec<u8>, most: usize) -> Result<()> {
        match self {
            Self::Suffix(suffix) => suffix.replace(piece, if is_last { "" } else { " " }, out, most),
            Self::ByteLevel(alphabet) => alphabet.read_or_copy(piece, out),
            Self::Metaspace { mark, drops_first } => {
                mark.replace(piece, if is_first && *drops_first { "" } else { " " }, out, most);
            }
            Self::Replace { pattern, content } if !piece.is_empty() => pattern.replace(piece, content, out, most),
            Self::ReplaceRegex(replacer) => replacer.replace(piece, out, most)?,
            Self::DropLastSpace => out.extend_from_slice(piece.strip_suffix(b" ").unwrap_or(piece)),
            Self::Strip { content, start, stop } => out.extend_from_slice(strip(piece, content, *start, *stop)),
            Self::WordPiece { prefix, cleanup } => {
                let start = out.len();
                let mut piece = piece;
                if !is_first {
                    match piece.strip_prefix(prefix.as_bytes()) {
                        Some(rest) => piece = rest,
                        None => out.push(b' '),
                    }
                }
                out.extend_from_slice(piece);
                if *cleanup {
                    clean_up(out, start);
                }
            }
            Self::Join(separator) => {
                if !is_first {
                    out.extend_from_slice(separator.as_bytes());
                }
                out.extend_from_slice(piece);
            }
            _ => out.extend_from_slice(piece),
        }
        Ok(())
    }
}

fn fuse_bytes(pieces: &mut StringList, lossy: bool) {
    pieces.fuse();
    if lossy && std::str::from_utf8(pieces.open()).is_err() {
        let text = String::from_utf8_lossy(pieces.open()).into_owned();
        *pieces.open() = text.into_bytes();
        pieces.fuse();
    }
}

/// Converts each run of byte pieces to text. If a run is not valid UTF-8 and `lossy` is true, every byte of the run
/// becomes U+FFFD.
fn byte_fallback(from: &StringList, into: &mut StringList, lossy: bool) {
    let mut run: Vec<u8> = Vec::new();
    let end_run = |run: &mut Vec<u8>, into: &mut StringList| {
        if run.is_empty() {
            return;
        }
        if std::str::from_utf8(run).is_ok() {
            into.push(run);
        } else {
            for byte in run.iter() {
                into.push(if lossy { "\u{fffd}".as_bytes() } else { std::slice::from_ref(byte) });
            }
        }
        run.clear();
    };
    for piece in from.iter() {
        match byte_of(piece) {
            Some(byte) => run.push(byte),
            None => {
                end_run(&mut run, into);
                into.push(piece);
            }
        }
    }
    end_run(&mut run, into);
}

/// Length of a byte piece in bytes.
pub(super) const BYTE_PIECE: usize = b"<0x0A>".len();

/// Returns the byte that a byte piece such as `<0x0A>` spells. `<0x+A>` is also valid: Rust's number parser accepts the
/// sign, and so does HF.
pub(super) fn byte_of(piece: &[u8]) -> Option<u8> {
    match piece {
        [b'<', b'0', b'x', digits @ .., b'>'] if digits.len() == 2 => {
            u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        }
        _ => None,
    }
}

fn ctc(from: &StringList, into: &mut StringList, pad: &Replacer, delimiter: &Replacer, cleanup: bool, most: usize) {
    let mut before: Option<&[u8]> = None;
    for piece in from.iter() {
        if before.replace(piece) != Some(piece) {
            ctc_piece(piece, into, pad, delimiter, cleanup, most);
        }
    }
}

/// Applies `Ctc` to a string that differs from the previous one.
pub(super) fn ctc_piece(
    piece: &[u8],
    into: &mut StringList,
    pad: &Replacer,
    delimiter: &Replacer,
    cleanup: bool,
    most: usize,
) {
    if cleanup {
        let mut clean = Vec::new();
        pad.replace(piece, "", &mut clean, most);
        clean_up(&mut clean, 0);
        delimiter.replace(&clean, " ", into.open(), most);
    } else {
        pad.replace(piece, "", into.open(), most);
    }
    into.close_unless_empty();
}

/// Removes at most `start` copies of `content` from the start of a piece, and at most `stop` copies from its end.
fn strip<'a>(piece: &'a [u8], content: &str, start: usize, stop: usize) -> &'a [u8] {
    let content = content.as_bytes();
    let mut kept = piece;
    for _ in 0..start {
        match kept.strip_prefix(content) {
            Some(rest) => kept = rest,
            None => break,
        }
    }
    for _ in 0..stop {
        match kept.strip_suffix(content) {
            Some(rest) => kept = rest,
            None => break,
        }
    }
    kept
}

/// Replacements of HF's `cleanup` for English, in HF's order. The searched strings all begin with a space.
pub(super) const REPAIRS: [(&str, &str); 11] = [
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
];

/// Applies the replacements of `cleanup` to `text` from `start` on.
fn clean_up(text: &mut Vec<u8>, start: usize) {
    let begins = |pair: &[u8]| pair[0] == b' ' && matches!(pair[1], b'.' | b'?' | b'!' | b',' | b'\'' | b'n' | b'd');
    if !text[start..].windows(2).any(begins) {
        return;
    }
    for (old, new) in REPAIRS {
        let (old, new) = (old.as_bytes(), new.as_bytes());
        if find(&text[start..], old).is_none() {
            continue;
        }
        let mut repaired = Vec::with_capacity(text.len() - start);
        let mut rest = &text[start..];
        while let Some(at) = find(rest, old) {
            repaired.extend_from_slice(&rest[..at]);
            repaired.extend_from_slice(new);
            rest = &rest[at + old.len()..];
        }
        repaired.extend_from_slice(rest);
        text.truncate(start);
        text.extend_from_slice(&repaired);
    }
}

/// Returns the offset of the first occurrence of a short `needle`.
pub(super) fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len()).position(|window| window == needle)
}

/// In texts of up to this many bytes, comparing the needle at each position is faster than the search in linear time.
/// Tokens are usually shorter.
const SHORT_TEXT: usize = 64;

/// Replacement of all occurrences of a string, in linear time.
#[derive(Debug, Clone)]
pub(super) struct Replacer {
    /// First byte of the needle; None if the needle is empty. An empty needle matches at every character boundary.
    first: Option<u8>,
    finder: Box<Finder<'static>>,
    pub needle: Needle, // used for text in fragments
}

impl Replacer {
    pub fn new(needle: &str) -> Self {
        let bytes = needle.as_bytes();
        Self {
            first: bytes.first().copied(),
            finder: Box::new(Finder::new(bytes).into_owned()),
            needle: Needle::new(bytes),
        }
    }

    /// Appends `text` with every match replaced by `with`, until `out` has more than `most` bytes.
    pub fn replace(&self, text: &[u8], with: &str, out: &mut Vec<u8>, most: usize) {
        let Some(first) = self.first else {
            self.part(&mut 0, text, with, out, most);
            out.extend_from_slice(with.as_bytes());
            return;
        };
        let candidate = text.iter().position(|&byte| byte == first);
        let Some(at) = candidate.filter(|at| at + self.needle.text().len() <= text.len()) else {
            out.extend_from_slice(text);
            return;
        };
        if text.len() <= SHORT_TEXT {
            return self.replace_short(text, first, at, with, out, most);
        }
        let mut done = 0;
        for start in self.finder.find_iter(&text[at..]).map(|start| at + start) {
            out.extend_from_slice(&text[done..start]);
            out.extend_from_slice(with.as_bytes());
            if out.len() > most {
                return;
            }
            done = start + self.needle.text().len();
        }
        out.extend_from_slice(&text[done..]);
    }

    /// Appends `text` with the replacements of [`Replacer::replace`]. Compares the whole needle wherever its first byte
    /// occurs; `at` is the first such position.
    fn replace_short(&self, text: &[u8], first: u8, mut at: usize, with: &str, out: &mut Vec<u8>, most: usize) {
        let needle = self.needle.text();
        let mut done = 0;
        while let Some(candidate) = text.get(at..at + needle.len()) {
            if candidate.iter().eq(needle) {
                if at > done {
                    out.extend_from_slice(&text[done..at]);
                }
                out.extend_from_slice(with.as_bytes());
                if out.len() > most {
                    return;
                }
                at += needle.len();
                done = at;
            } else {
                at += 1;
            }
            match text[at..].iter().position(|&byte| byte == first) {
                Some(distance) => at += distance,
                None => break,
            }
        }
        out.extend_from_slice(&text[done..]);
    }

    /// Reads a part of a text and appends it with the replacements of [`Replacer::replace`]. Holds back bytes at the
    /// end that can be the beginning of a match; `matched` is their number.
    pub fn part(&self, matched: &mut usize, part: &[u8], with: &str, out: &mut Vec<u8>, most: usize) {
        if !self.needle.is_empty() {
            return self.needle.replace(matched, part, with.as_bytes(), out, most);
        }
        for &byte in part {
            if byte & 0xc0 != 0x80 {
                out.extend_from_slice(with.as_bytes());
                if out.len() > most {
                    return;
                }
            }
            out.push(byte);
        }
    }

    /// Ends a text whose parts were passed to [`Replacer::part`].
    pub fn close(&self, matched: &mut usize, with: &str, out: &mut Vec<u8>) {
        if self.needle.is_empty() {
            out.extend_from_slice(with.as_bytes());
        }
        self.needle.flush(matched, out);
    }
}

/// Inverse of the byte alphabet: characters → bytes.
#[derive(Debug, Clone)]
pub(super) struct ByteAlphabet(Vec<Option<u8>>);

impl ByteAlphabet {
    pub fn new() -> Self {
        let mut bytes = vec![None; 0x144]; // the last character of the alphabet is U+0143
        for byte in 0..=255 {
            if let Some(place) = bytes.get_mut(stand_in(byte) as usize) {
                *place = Some(byte);
            }
        }
        Self(bytes)
    }

    /// Returns the byte of a character of the alphabet.
    pub fn byte(&self, character: char) -> Option<u8> {
        self.0.get(character as usize).copied().flatten()
    }

    /// Appends the bytes that `piece` spells, or `piece` itself if a character is outside of the alphabet.
    pub fn read_or_copy(&self, piece: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        let read = std::str::from_utf8(piece).is_ok_and(|spelling| {
            spelling.chars().all(|c| {
                let byte = self.byte(c);
                out.extend(byte);
                byte.is_some()
            })
        });
        if !read {
            out.truncate(start);
            out.extend_from_slice(piece);
        }
    }
}
