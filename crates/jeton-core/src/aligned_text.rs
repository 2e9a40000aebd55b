//! Text with its alignment to the input. The stages before the model split the text into chunks and rewrite it.
//!
//! Each stage before the model rewrites chunks (normalizers) or splits them (matching of added tokens, pre-tokenizers).
//! All stages work on one [`AlignedText`], in order, and are independent of each other.
//!
//! Invariant: chunks are ascending, disjoint and not empty. With tracing, each byte of the text has two ranges of the
//! input. The *source* of a byte is the input text that the byte replaces: sources are ascending and cover all text
//! that is not removed. The *origin* of a byte is the range that Hugging Face reports. Of two composed characters, the
//! origin covers only the first. Of the characters that are matched by a `Replace`, the origin covers only the last.
//!
//! Cost: one pass over the text for each stage. Tracing takes eight bytes of memory for each byte of the text, and
//! eight more as soon as the source and the origin of some byte differ. If there are many chunks, they go through the
//! remaining stages in batches ([`AlignedText::batches`]) that fit the CPU caches, so a stage must process each chunk
//! independently of the others. The output of a stage has a maximum size, which depends on the size of the input
//! ([`most_bytes`]). The limit is needed because a tokenizer file can list many components, and each of them could
//! double the text.
//! Source: the alignment rules, which determine offsets, are from huggingface/tokenizers, tokenizer/normalizer.rs
//! (`transform_range`).

use std::ops::Range;

use crate::error::{Error, Result};
use crate::util::alloc;
use crate::util::cancel::most_bytes;

/// Number of chunks in a batch. It is small in tests, so that short texts have many batches.
const BATCH: usize = if cfg!(test) { 3 } else { 1 << 10 };

/// Half-open byte range of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InputRange {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

/// Range of the text that the remaining stages process independently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// Start of the chunk, as a byte offset in the text.
    pub start: u32,
    /// End of the chunk (exclusive), as a byte offset in the text.
    pub end: u32,
    /// Origin of the chunk; only with tracing.
    pub origin: InputRange,
    /// Source of the chunk; only with tracing.
    pub source: InputRange,
    /// Id of the added token, if the chunk is an added token. Later stages skip added tokens.
    pub id: Option<u32>,
}

impl Chunk {
    /// Returns the byte range in the text.
    pub fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Output of a stage that splits a chunk.
#[derive(Debug)]
pub struct ChunkSink<'d> {
    chunks: &'d mut Vec<Chunk>,
    start: u32, // start of the chunk in the text
    origins: &'d [InputRange],
    sources: &'d [InputRange],
}

impl ChunkSink<'_> {
    /// Appends a part of the chunk, given as a byte range of the chunk's text. If the part is an added token, `id` is
    /// the id of this token. Parts must be in order. Empty parts are ignored.
    #[inline]
    pub fn push(&mut self, start: usize, end: usize, id: Option<u32>) {
        if start < end {
            let [origin, source] =
                [self.origins, self.sources].map(|ranges| whole(ranges, start..end).unwrap_or_default());
            let (start, end) = (self.start + start as u32, self.start + end as u32);
            self.chunks.push(Chunk { start, end, origin, source, id });
        }
    }
}

/// Returns the input range from the start of the first byte's range to the end of the last byte's range.
fn whole(ranges: &[InputRange], bytes: Range<usize>) -> Option<InputRange> {
    let ranges = ranges.get(bytes)?;
    Some(InputRange { start: ranges.first()?.start, end: ranges.last()?.end })
}

/// Text that one stage passes to the next stage.
#[derive(Debug, Clone, Default)]
pub struct AlignedText {
    text: String,
    origins: Option<Vec<InputRange>>, // one for each byte of text
    sources: Option<Vec<InputRange>>, // one for each byte of text; None if equal to the origins
    chunks: Vec<Chunk>,
    before: usize, // bytes of the text in previous batches
    most: usize,   // maximum bytes of the text, including previous batches
}

impl AlignedText {
    /// Creates the text of an input, as one chunk. With tracing, each byte has the range of its character in the
    /// input.
    ///
    /// # Errors
    /// [`Error::text`] for an input of 4 GiB or more.
    pub fn new(input: &str, traced: bool) -> Result<Self> {
        Self::part_of(input, 0, traced)
    }

    /// Creates the text of a part of an input; the part begins at byte `at`.
    ///
    /// # Errors
    /// As [`AlignedText::new`].
    pub fn part_of(input: &str, at: usize, traced: bool) -> Result<Self> {
        let end = u32::try_from(at + input.len())
            .map_err(|_| Error::text("a text of 4 GiB or more cannot be normalized: encode it in parts", 0))?;
        let from = at as u32;
        let mut origins = None;
        if traced {
            let mut list = alloc::with_capacity(input.len())?;
            let chars = input.char_indices().map(|(at, c)| (from + at as u32, c.len_utf8()));
            list.extend(
                chars.flat_map(|(at, len)| std::iter::repeat_n(InputRange { start: at, end: at + len as u32 }, len)),
            );
            origins = Some(list);
        }
        let mut text = alloc::string(input.len())?;
        text.push_str(input);
        let range = InputRange { start: from, end };
        let whole = Chunk { start: 0, end: input.len() as u32, origin: range, source: range, id: None };
        let chunks = if input.is_empty() { Vec::new() } else { vec![whole] };
        let most = most_bytes(input.len()).min(u32::MAX as usize);
        Ok(Self { text, origins, sources: None, chunks, before: 0, most })
    }

    /// Sets the limit on the output of each stage, in bytes. The limit must depend on the length of the text before
    /// normalization. Therefore, this call is needed if the [`AlignedText`] was created from a normalized text.
    pub fn set_limit(&mut self, bytes: usize) {
        self.most = bytes.min(u32::MAX as usize);
    }

    /// Returns the current text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the chunks, in order.
    pub fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// Returns true if the ranges of the input are recorded (tracing).
    pub fn is_traced(&self) -> bool {
        self.origins.is_some()
    }

    /// Returns the origin of each byte of the text; empty without tracing.
    pub fn origins(&self) -> &[InputRange] {
        self.origins.as_deref().unwrap_or_default()
    }

    /// Returns the source of each byte of the text; empty without tracing.
    pub fn sources(&self) -> &[InputRange] {
        self.sources.as_deref().unwrap_or(self.origins())
    }

    /// Returns true if the sources are stored in a separate list. This list is created as soon as the source and the
    /// origin of some byte differ; before that, the list of origins is used for the sources, too.
    pub fn has_sources(&self) -> bool {
        self.sources.is_some()
    }

    /// Returns true if the remaining stages are faster in batches of chunks.
    pub fn is_large(&self) -> bool {
        self.chunks.len() > BATCH
    }

    /// Splits the text into batches of chunks. Stages that process chunks independently give the same result for
    /// batches as for the whole text.
    pub fn batches(&self) -> impl Iterator<Item = Self> + '_ {
        let mut start = 0;
        self.chunks.chunks(BATCH).map(move |group| {
            let end = group.last().map_or(start, |last| last.end);
            let text = start as usize..end as usize; // including gaps between chunks
            let moved = |chunk: &Chunk| Chunk { start: chunk.start - start, end: chunk.end - start, ..*chunk };
            let chunks = group.iter().map(moved).collect();
            start = end;
            let of_text =
                |ranges: &Option<Vec<InputRange>>| ranges.as_ref().map(|ranges| ranges[text.clone()].to_vec());
            let (origins, sources) = (of_text(&self.origins), of_text(&self.sources));
            Self { text: self.text[text].to_owned(), origins, sources, chunks, before: 0, most: self.most }
        })
    }

    /// Sets the number of bytes that the current stage has written for the previous batches. This number is added to
    /// the positions in this batch, and the limit on the output applies to all batches together.
    pub fn comes_after(&mut self, bytes: usize) {
        self.before = bytes;
    }

    /// Rewrites all chunks except added tokens. `write` gets the text of a chunk and writes its replacement. Chunks
    /// that become empty are removed.
    ///
    /// # Errors
    /// Errors of `write`; [`Error::text`] for text over the output limit.
    pub fn rewrite(&mut self, mut write: impl FnMut(&str, &mut AlignedWriter<'_>) -> Result<()>) -> Result<()> {
        let mut text = alloc::string(self.text.len() + self.text.len() / 8 + 16)?;
        let new_ranges = |old: &Option<Vec<InputRange>>| match old {
            Some(old) => Ok(Some(alloc::with_capacity(old.len() + old.len() / 8 + 16)?)),
            None => Ok::<_, Error>(None),
        };
        let (mut origins, mut sources) = (new_ranges(&self.origins)?, new_ranges(&self.sources)?);
        let mut chunks = alloc::with_capacity(self.chunks.len())?;
        for chunk in &self.chunks {
            let old = &self.text[chunk.range()];
            let start = text.len();
            let trace = match (&mut origins, &self.origins) {
                (Some(origins), Some(old_origins)) => Some(TraceWriter {
                    old_origins: &old_origins[chunk.range()],
                    old_sources: &self.sources.as_ref().unwrap_or(old_origins)[chunk.range()],
                    from: (chunk.origin, chunk.source),
                    start,
                    source_at: 0,
                    origins,
                    sources: &mut sources,
                }),
                _ => None,
            };
            let text = &mut text;
            let (before, most) = (self.before, self.most);
            let mut writer = AlignedWriter { old, at: 0, start, text, trace, before, most, state: WriterState::Writes };
            match chunk.id {
                Some(_) => writer.copy(old.len()),
                None => write(old, &mut writer)?,
            }
            writer.check()?;
            if start < text.len() {
                chunks.push(Chunk { start: start as u32, end: text.len() as u32, ..*chunk });
            }
        }
        *self = Self { text, origins, sources, chunks, ..*self };
        Ok(())
    }

    /// Rewrites a text without alignment. `write` writes the new text, which has at most `most` bytes. If the new
    /// text equals the old one and each character would be aligned with itself, returns None and allocates nothing.
    ///
    /// # Errors
    /// As [`AlignedText::rewrite`].
    pub fn rewritten(
        old: &str,
        most: usize,
        write: impl FnOnce(&str, &mut AlignedWriter<'_>) -> Result<()>,
    ) -> Result<Option<String>> {
        let mut text = String::new();
        let state = WriterState::Unchanged;
        let mut writer = AlignedWriter { old, at: 0, start: 0, text: &mut text, trace: None, before: 0, most, state };
        write(old, &mut writer)?;
        if writer.state == WriterState::Unchanged && writer.at == old.len() {
            return Ok(None);
        }
        writer.begin();
        writer.check()?;
        Ok(Some(text))
    }

    /// Splits all chunks except added tokens. `cut` gets the position and the text of a chunk, and appends the parts
    /// that are kept, in order.
    ///
    /// # Errors
    /// Errors of `cut`.
    pub fn cut(&mut self, mut cut: impl FnMut(usize, &str, &mut ChunkSink<'_>) -> Result<()>) -> Result<()> {
        let mut chunks = alloc::with_capacity(self.chunks.len())?;
        for chunk in &self.chunks {
            if chunk.id.is_some() {
                chunks.push(*chunk);
                continue;
            }
            let [origins, sources] =
                [self.origins(), self.sources()].map(|ranges| ranges.get(chunk.range()).unwrap_or_default());
            let mut parts = ChunkSink { chunks: &mut chunks, start: chunk.start, origins, sources };
            cut(self.before + chunk.start as usize, &self.text[chunk.range()], &mut parts)?;
        }
        self.chunks = chunks;
        Ok(())
    }
}

/// Writer for the origins and sources of a chunk's replacement.
#[derive(Debug)]
struct TraceWriter<'d> {
    old_origins: &'d [InputRange],
    old_sources: &'d [InputRange],
    from: (InputRange, InputRange), // origin and source of the chunk
    start: usize,                   // start of the chunk in the new text
    source_at: usize,               // number of consumed items of `old_sources`
    origins: &'d mut Vec<InputRange>,
    sources: &'d mut Option<Vec<InputRange>>, // None while equal to the origins
}

impl TraceWriter<'_> {
    /// Writes the same two ranges for each of `len` bytes.
    #[inline]
    fn put(&mut self, len: usize, origin: InputRange, source: InputRange) {
        if source != origin && self.sources.is_none() {
            *self.sources = Some(self.origins.clone());
        }
        self.origins.extend(std::iter::repeat_n(origin, len));
        if let Some(sources) = self.sources {
            sources.extend(std::iter::repeat_n(source, len));
        }
    }

    /// Copies the ranges of the next `bytes` bytes of the old text, which begin at `at`.
    fn copy(&mut self, at: usize, bytes: usize) {
        let old = &self.old_sources[self.source_at..self.source_at + bytes];
        let origins = &self.old_origins[at..at + bytes];
        if self.sources.is_none() && origins != old {
            *self.sources = Some(self.origins.clone());
        }
        self.origins.extend_from_slice(origins);
        if let Some(sources) = self.sources {
            sources.extend_from_slice(old);
        }
        self.source_at += bytes;
    }

    /// Returns the source of the next `bytes` bytes of the old text; if `bytes` is 0, the empty range at this position.
    fn next_source(&self, bytes: usize) -> InputRange {
        let here = || self.old_sources.get(self.source_at).map_or(self.from.1.end, |next| next.start);
        whole(self.old_sources, self.source_at..self.source_at + bytes)
            .unwrap_or_else(|| InputRange { start: here(), end: here() })
    }

    /// Returns the range of a character that is inserted before byte `at`: the range of the previous byte. If there is
    /// no previous byte (`at` is 0), returns the empty range at the start of the chunk.
    fn inserted(old: &[InputRange], at: usize, from: InputRange) -> InputRange {
        match at {
            0 => InputRange { start: from.start, end: from.start },
            _ => old[at - 1],
        }
    }

    /// Removes the ranges of the last bytes, from `len` on.
    fn truncate(&mut self, len: usize) {
        self.origins.truncate(len);
        if let Some(sources) = self.sources {
            sources.truncate(len);
        }
    }

    /// Returns the empty range at the end of the last range written for this chunk.
    fn after(&self, ranges: &[InputRange], from: InputRange) -> InputRange {
        let here = ranges[self.start..].last().map_or(from.start, |last| last.end);
        InputRange { start: here, end: here }
    }
}

/// Writer for the new text of a chunk and the alignment of this new text. The writer consumes the chunk's old text from
/// start to end.
#[derive(Debug)]
pub struct AlignedWriter<'d> {
    old: &'d str,
    at: usize,    // number of consumed bytes of `old`
    start: usize, // start of the chunk in `text`
    text: &'d mut String,
    trace: Option<TraceWriter<'d>>,
    before: usize, // bytes written for previous batches
    most: usize,   // maximum bytes of `text`, including previous batches
    state: WriterState,
}

/// State of the output of a writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriterState {
    /// The output equals the consumed part of the old text and is not written yet. A writer that traces does not have
    /// this state.
    Unchanged,
    /// The output differs from the old text, and is written.
    Writes,
    /// An allocation for the output failed.
    NoMemory,
}

impl AlignedWriter<'_> {
    /// Starts to write: if no output is written yet, writes the unchanged text before the first change. Returns false
    /// if there is no memory for the output: [`AlignedWriter::check`] then returns the error.
    #[inline]
    fn begin(&mut self) -> bool {
        self.state == WriterState::Writes || self.write_unchanged()
    }

    #[cold]
    fn write_unchanged(&mut self) -> bool {
        if self.state == WriterState::Unchanged {
            let capacity = self.old.len() + self.old.len() / 8 + 16;
            self.state = match self.text.try_reserve_exact(capacity) {
                Ok(()) => WriterState::Writes,
                Err(_) => WriterState::NoMemory,
            };
            if self.state == WriterState::Writes {
                self.text.push_str(&self.old[..self.at]);
            }
        }
        self.state == WriterState::Writes
    }

    /// Returns the number of consumed bytes of the old text.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Returns the part of the old text that is not consumed yet.
    pub fn rest(&self) -> &str {
        &self.old[self.at..]
    }

    /// Checks the limit on the output. [`AlignedText::rewrite`] does this after each chunk, which suffices for Unicode
    /// mappings. If a stage can replace a character by longer text, the stage must also check the limit within a chunk.
    ///
    /// # Errors
    /// [`Error::text`] for text over the limit; [`Error::memory`] if an allocation for the output failed.
    pub fn check(&self) -> Result<()> {
        if self.state == WriterState::NoMemory {
            return Err(Error::memory(self.old.len()));
        }
        match self.before + self.text.len() <= self.most {
            true => Ok(()),
            false => Err(Error::text(
                format!("the tokenizer's components produce more than {} bytes from the text", self.most),
                0,
            )),
        }
    }

    /// Writes one character.
    ///
    /// - If `change` > 0, the new character is inserted and gets the ranges of the previous byte.
    /// - If `change` is 0, the new character replaces the next old character.
    /// - If `change` is −n, the new character replaces the next n + 1 old characters. The source of the new character
    ///   covers all replaced characters; the origin of the new character covers only the first replaced character.
    pub fn put(&mut self, c: char, change: isize) {
        self.put_before_removed(c, change, 0);
    }

    /// Writes one character like [`AlignedWriter::put`]. Of the old characters that the call consumes, the last
    /// `removed` ones are removed: the source of the new character does not include them.
    pub fn put_before_removed(&mut self, c: char, change: isize, removed: usize) {
        let consumed = if change > 0 { 0 } else { 1 + change.unsigned_abs() };
        let stays = change == 0 && self.state == WriterState::Unchanged && self.old[self.at..].starts_with(c);
        if stays || !self.begin() {
            self.at += chars_len(&self.old[self.at..], consumed);
            return;
        }
        if let Some(trace) = &mut self.trace {
            let (origin, source) = match change {
                1.. => (
                    TraceWriter::inserted(trace.old_origins, self.at, trace.from.0),
                    TraceWriter::inserted(trace.old_sources, trace.source_at, trace.from.1),
                ),
                _ => {
                    let end = trace.from.0.end;
                    let origin = trace.old_origins.get(self.at).copied();
                    let parts = chars_len(&self.old[trace.source_at..], consumed - removed);
                    (origin.unwrap_or(InputRange { start: end, end }), trace.next_source(parts))
                }
            };
            trace.put(c.len_utf8(), origin, source);
            trace.source_at += chars_len(&self.old[trace.source_at..], consumed);
        }
        self.text.push(c);
        self.at += chars_len(&self.old[self.at..], consumed);
    }

    /// Removes the next `chars` characters of the old text. As in Hugging Face's library, the position for origins does
    /// not move past the removed characters. Therefore, each later character gets the origin of an earlier character.
    pub fn remove_uncounted(&mut self, chars: usize) {
        self.begin();
        if let Some(trace) = &mut self.trace {
            trace.source_at += chars_len(&self.old[trace.source_at..], chars);
        }
    }

    /// Copies the next `bytes` bytes of the old text. They must end at a character boundary.
    pub fn copy(&mut self, bytes: usize) {
        let end = self.at + bytes;
        if self.state == WriterState::Writes {
            self.text.push_str(&self.old[self.at..end]);
        }
        if let Some(trace) = &mut self.trace {
            trace.copy(self.at, bytes);
        }
        self.at = end;
    }

    /// Copies the next `bytes` bytes of the old text and converts the copy to lower case. The bytes must all be ASCII.
    /// Each copied byte is aligned with its original byte.
    pub fn copy_ascii_lowercase(&mut self, bytes: usize) {
        let is_upper = |&byte: &u8| byte.is_ascii_uppercase();
        let changes =
            || self.old.as_bytes()[self.at..self.at + bytes].iter().fold(false, |any, byte| any | is_upper(byte));
        if self.state == WriterState::Unchanged && (!changes() || !self.begin()) {
            return self.copy(bytes);
        }
        let start = self.text.len();
        self.copy(bytes);
        if let Some(copied) = self.text.get_mut(start..) {
            copied.make_ascii_lowercase();
        }
    }

    /// Returns true if the ranges of the input are recorded (tracing).
    pub fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// Replaces the next `bytes` bytes of the old text by `new`. Each new byte gets the input range of all replaced
    /// bytes; if `bytes` is 0, the empty range at this position.
    pub fn replace(&mut self, bytes: usize, new: &str) {
        if bytes == 0 && new.is_empty() || !self.begin() {
            self.at += bytes;
            return;
        }
        if let Some(trace) = &mut self.trace {
            let here = || trace.old_origins.get(self.at).map_or(trace.from.0.end, |next| next.start);
            let origin = whole(trace.old_origins, self.at..self.at + bytes)
                .unwrap_or_else(|| InputRange { start: here(), end: here() });
            trace.put(new.len(), origin, trace.next_source(bytes));
            trace.source_at += bytes;
        }
        self.text.push_str(new);
        self.at += bytes;
    }

    /// Replaces the next `bytes` bytes of the old text by `new`. Each new byte gets the origin of the last replaced
    /// byte. `bytes` must not be 0.
    pub fn replace_match(&mut self, bytes: usize, new: &str) {
        let writes = self.begin();
        self.at += bytes;
        if !writes {
            return;
        }
        if let Some(trace) = &mut self.trace {
            let origin = TraceWriter::inserted(trace.old_origins, self.at, trace.from.0);
            trace.put(new.len(), origin, trace.next_source(bytes));
            trace.source_at += bytes;
        }
        self.text.push_str(new);
    }

    /// Replaces the rest of the old text by the output of `spell`. Only for writers without tracing.
    pub fn replace_all(&mut self, spell: impl FnOnce(&str, &mut String)) {
        debug_assert!(self.trace.is_none());
        if self.begin() {
            spell(&self.old[self.at..], self.text);
        }
        self.at = self.old.len();
    }

    /// Returns the text written for this chunk so far.
    pub fn written(&self) -> &str {
        match self.state {
            WriterState::Unchanged => &self.old[..self.at],
            _ => &self.text[self.start..],
        }
    }

    /// Removes the last `bytes` written bytes. They must begin at a character boundary. The old text stays consumed.
    pub fn take_back(&mut self, bytes: usize) {
        if !self.begin() {
            return;
        }
        self.text.truncate(self.text.len() - bytes);
        if let Some(trace) = &mut self.trace {
            trace.truncate(self.text.len());
        }
    }

    /// Writes `new`, aligned with the empty input range after the last written byte.
    pub fn append(&mut self, new: &str) {
        if !self.begin() {
            return;
        }
        if let Some(trace) = &mut self.trace {
            let origin = trace.after(trace.origins, trace.from.0);
            let source = trace.after(trace.sources.as_ref().unwrap_or(trace.origins), trace.from.1);
            trace.put(new.len(), origin, source);
        }
        self.text.push_str(new);
    }
}

/// Returns the number of bytes of the first `chars` characters.
fn chars_len(text: &str, chars: usize) -> usize {
    text.chars().take(chars).map(char::len_utf8).sum()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, reason = "a test that cannot go on fails")]

    use super::*;

    #[test]
    fn rewritten_chunks_keep_origins_and_sources() -> Result<()> {
        let mut aligned = AlignedText::new("ab cé", true)?;
        aligned.cut(|_, _, parts| {
            parts.push(0, 2, Some(7));
            parts.push(2, 2, None);
            parts.push(3, 6, None);
            Ok(())
        })?;
        aligned.rewrite(|_, writer| {
            writer.put('_', 0);
            writer.put('c', 1);
            writer.replace(2, "xyz");
            Ok(())
        })?;
        assert_eq!(aligned.text(), "ab_cxyz");
        let [added, free] = aligned.chunks() else { panic!("two chunks") };
        assert_eq!((added.id, free.id, free.origin), (Some(7), None, InputRange { start: 3, end: 6 }));
        assert_eq!(whole(aligned.origins(), 2..4), Some(InputRange { start: 3, end: 4 }));
        assert_eq!(whole(aligned.origins(), 4..7), Some(InputRange { start: 4, end: 6 }));
        Ok(())
    }

    #[test]
    fn batches_rewrite_as_the_whole_text_does() -> Result<()> {
        let each = |aligned: &mut AlignedText| {
            aligned.rewrite(|old, writer| {
                writer.put('é', 0);
                writer.copy(old.len() - 1);
                Ok(())
            })
        };
        for traced in [false, true] {
            let mut aligned = AlignedText::new("  a b1 c2  d e3 f g4 h ", traced)?;
            aligned.cut(|_, text, parts| {
                let words = text.split(' ').map(|word| word.as_ptr() as usize - text.as_ptr() as usize);
                words.zip(text.split(' ')).for_each(|(at, word)| parts.push(at, at + word.len(), None));
                Ok(())
            })?;
            assert!(aligned.is_large());
            let (mut text, mut origins, mut places) = (String::new(), Vec::new(), Vec::new());
            let mut before = 0;
            for mut group in aligned.batches() {
                group.comes_after(before);
                before += group.text().len();
                group.cut(|place, text, parts| {
                    places.push(place);
                    parts.push(0, text.len(), None);
                    Ok(())
                })?;
                each(&mut group)?;
                text += group.text();
                origins.extend_from_slice(group.origins());
            }
            assert_eq!(places, aligned.chunks().iter().map(|chunk| chunk.start as usize).collect::<Vec<_>>());
            each(&mut aligned)?;
            assert_eq!((text.as_str(), &origins[..]), (aligned.text(), aligned.origins()));
        }
        Ok(())
    }

    #[test]
    fn output_limit_covers_previous_batches() -> Result<()> {
        let mut aligned = AlignedText::new("ab", false)?;
        aligned.comes_after(aligned.most);
        let error = aligned.rewrite(|old, writer| {
            writer.copy(old.len());
            Ok(())
        });
        assert!(error.is_err());
        Ok(())
    }

    #[test]
    fn repeated_growth_reaches_the_output_limit() -> Result<()> {
        let mut aligned = AlignedText::new("a", true)?;
        let mut double = || {
            aligned.rewrite(|old, writer| {
                writer.replace(old.len(), &old.repeat(2));
                Ok(())
            })
        };
        let error = (0..64).find_map(|_| double().err()).map(|error| error.to_string());
        assert!(error.is_some_and(|error| error.contains("more than 1000100 bytes")));
        Ok(())
    }

    #[test]
    fn take_back_removes_written_text() -> Result<()> {
        let mut aligned = AlignedText::new("ab  ", true)?;
        aligned.rewrite(|old, writer| {
            writer.copy(old.len());
            assert_eq!(writer.written(), "ab  ");
            writer.take_back(2);
            writer.append("_");
            Ok(())
        })?;
        assert_eq!((aligned.text(), aligned.origins()[2]), ("ab_", InputRange { start: 2, end: 2 }));
        Ok(())
    }
}
