//! Long texts and many texts: cut for threads, and stopped when the caller wants it.

use std::cell::RefCell;

use super::{Permit, Tokenizer};
use crate::error::{Error, ErrorKind, Result};
use crate::interrupt::GoOn;
use crate::model::Scratch;
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
        self.stretches(text, permit, |span, id| {
            ids.extend(id);
            if id.is_none() {
                let add = |text: &[u8], pretoken, go_on: GoOn<'_>, scratch: &mut _, ids: &mut _| {
                    self.encode_pretoken(text, pretoken, go_on, scratch, ids)
                };
                for part in self.on_parts(text, span, threads, watch, &add)? {
                    ids.extend_from_slice(&part);
                }
            }
            Ok(())
        })?;
        Ok(ids)
    }

    /// The number of ids of a text.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_long`].
    pub fn count(&self, text: &[u8], permit: &Permit<'_>, threads: usize, watch: Watch<'_>) -> Result<usize> {
        let mut count = 0;
        let add = |text: &[u8], pretoken, go_on: GoOn<'_>, scratch: &mut _, (count, ids): &mut (usize, Vec<u32>)| {
            ids.clear();
            self.encode_pretoken(text, pretoken, go_on, scratch, ids)?;
            *count += ids.len();
            Ok(())
        };
        self.stretches(text, permit, |span, id| {
            count += usize::from(id.is_some());
            if id.is_none() {
                count += self.on_parts(text, span, threads, watch, &add)?.iter().map(|(count, _)| count).sum::<usize>();
            }
            Ok(())
        })?;
        Ok(count)
    }

    /// Calls `add` with every pretoken of a stretch of text without added tokens; one result for each part it was cut in.
    fn on_parts<R: Default + Send>(
        &self,
        text: &[u8],
        stretch: Span,
        threads: usize,
        watch: Watch<'_>,
        add: &(impl Fn(&[u8], Span, GoOn<'_>, &mut Scratch, &mut R) -> Result<()> + Sync),
    ) -> Result<Vec<R>> {
        let Span { start, end } = stretch;
        let Ok(text_str) = std::str::from_utf8(&text[start..end]) else {
            let watch = RefCell::new(watch);
            let go_on = || watch.borrow_mut()();
            let (mut scratch, mut result) = (Scratch::default(), R::default());
            let mut add = |pretoken| add(text, pretoken, &go_on, &mut scratch, &mut result);
            self.pretokens(text, stretch, &go_on, &mut add)?;
            return Ok(vec![result]);
        };
        if !watch() {
            return Err(ErrorKind::Interrupted.into());
        }
        let texts = [text_str];
        let threads = threads.min((end - start) / BYTES_WORTH_A_THREAD).max(1);
        let parts = parallel::plan(&texts, &self.pretokenizer, threads).map_err(|error| error.shifted(start))?;
        let work = |part: &Part<'_>, go_on: GoOn<'_>| -> Result<(R, Landing)> {
            let (mut scratch, mut result) = (Scratch::default(), R::default());
            let add = |text: &str, pretoken| add(text.as_bytes(), pretoken, go_on, &mut scratch, &mut result);
            let landing = part.for_each_span(&self.pretokenizer, go_on, add)?;
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
