//! Long texts and many texts: cut for threads, and stopped when the caller wants it.

use super::{Permit, Place, Segment, Tokenizer};
use crate::error::{Error, ErrorKind, Result};
use crate::interrupt::GoOn;
use crate::model::{Out, Scratch};
use crate::parallel::{self, Landing, Part, BYTES_WORTH_A_THREAD};
use crate::pretokenize::Span;

/// From this size on a text is cut in parts, which can be stopped and can run on several threads. Below it a text takes less than
/// 50 ms, and starting threads would cost more than a tenth of the work.
const LONG_TEXT: usize = 1 << 20;

/// Texts of a batch are handed to threads in groups of about this many bytes.
const GROUP: usize = 1 << 16;

/// Asked now and then whether to go on.
type Watch<'a> = &'a mut dyn FnMut() -> bool;

impl Tokenizer {
    /// The ids of one text, on up to `threads` threads when it is long.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`]; `Interrupted` when `watch` returns false.
    pub fn encode_long(&self, text: &[u8], permit: &Permit<'_>, threads: usize, watch: Watch<'_>) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        if text.len() < LONG_TEXT {
            self.encode(text, permit, &|| true, &mut Scratch::default(), &mut ids)?;
            return Ok(ids);
        }
        let add = |segment: &Segment<'_>, go_on: GoOn<'_>, scratch: &mut Scratch, ids: &mut Vec<u32>| {
            self.encode_segment(segment, go_on, scratch, &mut Out { ids, ends: None })
        };
        for part in self.in_parts(text, permit, threads, watch, &add)? {
            ids.extend_from_slice(&part);
        }
        Ok(ids)
    }

    /// The number of ids of a text.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_long`].
    pub fn count(&self, text: &[u8], permit: &Permit<'_>, threads: usize, watch: Watch<'_>) -> Result<usize> {
        let add =
            |segment: &Segment<'_>, go_on: GoOn<'_>, scratch: &mut Scratch, (count, ids): &mut (usize, Vec<u32>)| {
                ids.clear();
                self.encode_segment(segment, go_on, scratch, &mut Out { ids, ends: None })?;
                *count += ids.len();
                Ok(())
            };
        Ok(self.in_parts(text, permit, threads, watch, &add)?.iter().map(|(count, _)| count).sum())
    }

    /// Calls `add` with every segment of a text; one result for each part it was cut in.
    fn in_parts<R: Default + Send>(
        &self,
        text: &[u8],
        permit: &Permit<'_>,
        threads: usize,
        watch: Watch<'_>,
        add: &(impl Fn(&Segment<'_>, GoOn<'_>, &mut Scratch, &mut R) -> Result<()> + Sync),
    ) -> Result<Vec<R>> {
        if self.plain.is_none() || permit.normalized().is_some() || std::str::from_utf8(text).is_err() {
            let whole = |_, go_on: GoOn<'_>| {
                let (mut scratch, mut result) = (Scratch::default(), R::default());
                self.for_each_segment(text, permit, false, go_on, |segment| {
                    add(&segment, go_on, &mut scratch, &mut result)
                })?;
                Ok(result)
            };
            let threads = usize::from(text.len() >= BYTES_WORTH_A_THREAD); // the calling thread watches
            return parallel::jobs(1, threads, watch, whole).into_iter().collect();
        }
        let mut results = Vec::new();
        self.stretches(text, permit, |span, id| {
            if id.is_none() {
                results.extend(self.on_parts(text, span, threads, watch, add)?);
                return Ok(());
            }
            let (mut scratch, mut result) = (Scratch::default(), R::default());
            let bytes = &text[span.start..span.end];
            add(&Segment { bytes, added: id, place: Place::At(span.start) }, &|| true, &mut scratch, &mut result)?;
            results.push(result);
            Ok(())
        })?;
        Ok(results)
    }

    /// The same for a stretch of text without added tokens, which is cut by one pattern.
    fn on_parts<R: Default + Send>(
        &self,
        text: &[u8],
        stretch: Span,
        threads: usize,
        watch: Watch<'_>,
        add: &(impl Fn(&Segment<'_>, GoOn<'_>, &mut Scratch, &mut R) -> Result<()> + Sync),
    ) -> Result<Vec<R>> {
        let Span { start, end } = stretch;
        let (Some(pretokenizer), Ok(text)) = (&self.plain, std::str::from_utf8(&text[start..end])) else {
            return Err(ErrorKind::Internal("a text that is not plain was cut for threads".into()).into());
        };
        if !watch() {
            return Err(ErrorKind::Interrupted.into());
        }
        let texts = [text];
        let threads = threads.min((end - start) / BYTES_WORTH_A_THREAD).max(1);
        let parts = parallel::plan(&texts, pretokenizer, threads).map_err(|error| error.shifted(start))?;
        let work = |part: &Part<'_>, go_on: GoOn<'_>| -> Result<(R, Landing)> {
            let (mut scratch, mut result) = (Scratch::default(), R::default());
            let add = |text: &str, span: Span| {
                let bytes = &text.as_bytes()[span.start..span.end];
                add(&Segment { bytes, added: None, place: Place::At(span.start) }, go_on, &mut scratch, &mut result)
            };
            let landing = part.for_each_span(pretokenizer, go_on, add)?;
            Ok((result, landing))
        };
        parallel::run(&parts, watch, work).map_err(|error| error.shifted(start))
    }

    /// The ids of many texts one after the other, and where each text's begin: `offsets[i]..offsets[i + 1]`.
    ///
    /// # Errors
    /// The index of the first text that failed, and its error.
    pub fn encode_batch(
        &self,
        texts: &[&[u8]],
        permit: &Permit<'_>,
        threads: usize,
        watch: Watch<'_>,
    ) -> std::result::Result<(Vec<u32>, Vec<i64>), (usize, Error)> {
        let groups = groups(texts);
        let total: usize = texts.iter().map(|text| text.len()).sum();
        // Also one thread is a thread: the calling one watches.
        let threads = if total < LONG_TEXT { 0 } else { threads.min(total / BYTES_WORTH_A_THREAD).max(1) };
        let small = |group: usize, go_on: GoOn<'_>| Ok(self.encode_group(&texts[groups[group].clone()], permit, go_on));
        let mut done = parallel::jobs(groups.len(), threads, watch, small);
        let (mut ids, mut offsets) = (Vec::new(), vec![0]);
        for (group, result) in groups.iter().zip(done.drain(..)) {
            let (part, ends) = match result.map_err(|error| (group.start, error))? {
                Ok(Some(encoded)) => encoded,
                Ok(None) => {
                    let long = self.encode_long(texts[group.start], permit, threads, watch);
                    let ids = long.map_err(|error| (group.start, error))?;
                    let end = ids.len();
                    (ids, vec![end])
                }
                Err((index, error)) => return Err((group.start + index, error)),
            };
            offsets.extend(ends.iter().map(|&end| (ids.len() + end) as i64));
            ids.extend_from_slice(&part);
        }
        Ok((ids, offsets))
    }

    /// The ids of a few texts and where each text's end; None for one long text, which is cut for all threads instead.
    #[allow(clippy::type_complexity)]
    fn encode_group(
        &self,
        texts: &[&[u8]],
        permit: &Permit<'_>,
        go_on: GoOn<'_>,
    ) -> std::result::Result<Option<(Vec<u32>, Vec<usize>)>, (usize, Error)> {
        if matches!(texts, [only] if only.len() >= LONG_TEXT) {
            return Ok(None);
        }
        let (mut scratch, mut ids, mut ends) = (Scratch::default(), Vec::new(), Vec::with_capacity(texts.len()));
        for (index, text) in texts.iter().enumerate() {
            self.encode(text, permit, go_on, &mut scratch, &mut ids).map_err(|error| (index, error))?;
            ends.push(ids.len());
        }
        Ok(Some((ids, ends)))
    }
}

/// Consecutive texts of about [`GROUP`] bytes each; a long text is a group of its own.
fn groups(texts: &[&[u8]]) -> Vec<std::ops::Range<usize>> {
    let mut groups = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (i, text) in texts.iter().enumerate() {
        if text.len() >= LONG_TEXT && start < i {
            groups.push(start..i);
            start = i;
        }
        bytes += text.len() + 1; // an empty text is some work, too
        if bytes >= GROUP || text.len() >= LONG_TEXT {
            groups.push(start..i + 1);
            (start, bytes) = (i + 1, 0);
        }
    }
    if start < texts.len() {
        groups.push(start..texts.len());
    }
    groups
}
