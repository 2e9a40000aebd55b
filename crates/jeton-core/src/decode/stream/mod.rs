//! Decoding of ids that arrive one by one. Text is returned as soon as it is final.
//!
//! Invariant: the concatenated text of all pushes and of the end equals that of the batch
//! ([`super::Decoder::decode_text`], or [`super::Decoder::decode`] and a policy for invalid UTF-8), for any division
//! into pushes. Text that was returned is never changed; text that later ids can change is held back. With stop strings
//! the text ends before the first match. After a prompt, the text is the decoded text of all ids (prompt and later ids)
//! without the beginning that it shares with the decoded prompt. An incomplete character at the end of the prompt is
//! left out of the decoded prompt.
//!
//! Cost: amortized constant time for each id, plus the length of its content. Memory: the text, and the bytes that are
//! held back. These are a few bytes, or a run of byte pieces; `stage` lists them for each step.
//!
//! ```text
//! ids ─ Contents | SentenceState | ChainState ─ bytes ─ utf8 ─ text ─ stop ─►  final text
//! ```
//!
//! Left out: an output limit for the returned text. A stream fails if the text of the ids so far exceeds the limit of
//! decoding these ids at once.

mod byte_run;
mod chain;
mod sentence;
mod stage;
mod stop;
mod strip;
mod utf8;
mod words;

use std::collections::VecDeque;

use super::contents::put;
use super::entries::unknown;
use super::parts::{content, Plan};
use crate::error::{Error, ErrorKind, Result};
use crate::vocab::{Kind, Vocab};

use chain::ChainState;
use sentence::SentenceState;
use stop::StopMatcher;
use utf8::{Invalid, NotUtf8, Utf8};

/// Policy for bytes that are not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidUtf8 {
    /// Invalid bytes become U+FFFD, as in [`super::Decoder::decode_text`].
    Replace,
    /// Invalid bytes are omitted.
    Ignore,
    /// Invalid bytes are an error, [`ErrorKind::NotUtf8`].
    Strict,
}

/// State of decoding ids that arrive one by one.
#[derive(Debug, Clone)]
pub struct Stream {
    plan: PlanState,
    skip_special: bool,
    invalid: InvalidUtf8,
    utf8: Utf8,
    prompt: VecDeque<char>, // text of the prompt that was held back at its end and has not become final since
    stop: Option<StopMatcher>,
    text: String, // final text
    status: Status,
    bytes: Vec<u8>, // scratch buffer
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Open,
    Finished,
    Failed,
}

#[derive(Debug, Clone)]
enum PlanState {
    /// The text is the concatenation of the bytes of all tokens. The flag is true if the last token ends a word; a
    /// space is then written before the next token.
    Contents(bool),
    Sentence(SentenceState),
    Chain(ChainState),
}

impl PlanState {
    /// Ends the text, and appends the rest of its bytes to `out`.
    fn finish(&mut self, plan: &Plan, lossy: bool, out: &mut Vec<u8>) -> Result<()> {
        match (self, plan) {
            (Self::Sentence(state), Plan::Sentence(sentence)) => state.finish(sentence, lossy, out)?,
            (Self::Chain(state), Plan::Steps(chain)) => state.finish(chain, lossy, out)?,
            _ => {}
        }
        Ok(())
    }
}

impl Stream {
    pub(super) fn new(plan: &Plan, skip_special: bool, invalid: InvalidUtf8) -> Self {
        let plan = match plan {
            Plan::Contents { .. } => PlanState::Contents(false),
            Plan::Sentence(sentence) => PlanState::Sentence(SentenceState::new(sentence)),
            Plan::Steps(chain) => PlanState::Chain(ChainState::new(chain)),
        };
        Self {
            plan,
            skip_special,
            invalid,
            utf8: Utf8::default(),
            prompt: VecDeque::new(),
            stop: None,
            text: String::new(),
            status: Status::Open,
            bytes: Vec::new(),
        }
    }

    /// Implements [`super::Decoder::begin_text`].
    pub(super) fn begin_text(&mut self, plan: &Plan, stops: Vec<String>) -> Result<()> {
        self.text = String::new();
        let stop = if stops.is_empty() { None } else { Some(StopMatcher::new(stops)?) };
        self.prompt = self.held_text(plan)?.chars().collect();
        self.stop = stop;
        Ok(())
    }

    /// Returns the concatenation of all text that was returned so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the stop string that was found, if any.
    pub fn stopped(&self) -> Option<&str> {
        self.stop.as_ref()?.stopped()
    }

    pub(super) fn push(&mut self, plan: &Plan, vocab: &Vocab, ids: &[u32]) -> Result<&str> {
        if self.status != Status::Open {
            self.check_status(Status::Finished, "is finished")?;
            self.check_status(Status::Failed, "failed at an earlier id")?;
        }
        if let &[id] = ids {
            return self.push_one(plan, vocab, id);
        }
        if let Some(position) = ids.iter().position(|&id| vocab.kind(id) == Kind::Hole) {
            return Err(unknown(vocab, ids[position], position));
        }
        let start = self.text.len();
        if self.stopped().is_none() {
            let done = self.decode(plan, vocab, ids.iter().map(|&id| (id, vocab.kind(id))), None);
            self.check(done)?;
        }
        Ok(&self.text[start..])
    }

    /// Decodes one id like [`Stream::push`]. This is the most frequent call, so it has no loop over ids.
    fn push_one(&mut self, plan: &Plan, vocab: &Vocab, id: u32) -> Result<&str> {
        let kind = vocab.kind(id);
        if kind == Kind::Hole {
            return Err(unknown(vocab, id, 0));
        }
        let start = self.text.len();
        if self.stopped().is_none() && !(self.skip_special && kind == Kind::Special) {
            let done = self.decode(plan, vocab, std::iter::once((id, kind)), Some((id, kind)));
            self.check(done)?;
        }
        Ok(&self.text[start..])
    }

    pub(super) fn finish(&mut self, plan: &Plan) -> Result<&str> {
        let start = self.text.len();
        self.check_status(Status::Failed, "failed at an earlier id")?;
        if self.status == Status::Open {
            self.status = Status::Finished;
            if self.stopped().is_none() {
                let done = self.decode_rest(plan);
                self.check(done)?;
            }
            (self.bytes, self.plan) = (Vec::new(), PlanState::Contents(false));
        }
        Ok(&self.text[start..])
    }

    /// Returns a copy of this stream that writes runs of byte pieces early, instead of holding them back (see
    /// [`byte_run`]). The copy's text starts out empty. Returns None if no run can be written early.
    pub(super) fn early(&self) -> Option<Self> {
        let mut plan = self.plan.clone();
        let is_early = match &mut plan {
            PlanState::Chain(state) => self.lossy() && state.write_early(),
            _ => false,
        };
        is_early.then(|| Self {
            plan,
            skip_special: self.skip_special,
            invalid: self.invalid,
            utf8: self.utf8.clone(),
            prompt: VecDeque::new(),
            stop: None,
            text: String::new(),
            status: self.status,
            bytes: Vec::new(),
        })
    }

    /// Returns true if a stream made by [`Stream::early`] has written a run of byte pieces that was not UTF-8.
    pub(super) fn is_wrong(&self) -> bool {
        matches!(&self.plan, PlanState::Chain(state) if state.is_wrong())
    }

    /// Returns the number of held-back characters: the characters that would be written if the text ended now.
    /// `content` is the bytes of the next token. If the held-back bytes end with an incomplete character, this
    /// character is counted only if `content` makes it invalid.
    pub(super) fn held_chars(&self, plan: &Plan, content: &[u8]) -> Result<usize> {
        if let PlanState::Contents(_) = self.plan {
            let continues = content.first().is_none_or(|byte| byte & 0xC0 == 0x80);
            return Ok(usize::from(self.lossy() && self.utf8.is_incomplete() && !continues));
        }
        Ok(self.held_text(plan)?.chars().count())
    }

    /// Returns the text that is held back: the text that would be written if the ids ended now. An incomplete character
    /// at its end is left out.
    fn held_text(&self, plan: &Plan) -> Result<String> {
        let (mut state, mut utf8) = (self.plan.clone(), self.utf8.clone());
        let (mut bytes, mut text) = (Vec::new(), String::new());
        state.finish(plan, false, &mut bytes)?;
        let invalid = if self.lossy() { Invalid::Replace } else { Invalid::Ignore };
        let _ = utf8.push(&bytes, invalid, |some| text.push_str(some));
        Ok(text)
    }

    fn check_status(&self, refused: Status, what: &str) -> Result<()> {
        if self.status == refused {
            return Err(Error::config(format!("the stream {what}; a new text needs a new stream")));
        }
        Ok(())
    }

    /// Returns `done`; if it is an error, marks the stream as failed.
    fn check(&mut self, done: Result<()>) -> Result<()> {
        done.inspect_err(|_| self.status = Status::Failed)
    }

    /// Decodes `entries`: pairs of an id and its kind. If there is only one entry and this entry is not skipped, the
    /// caller also passes the entry as `only`. The stored string of the entry can then be used.
    fn decode(
        &mut self,
        plan: &Plan,
        vocab: &Vocab,
        entries: impl Iterator<Item = (u32, Kind)>,
        only: Option<(u32, Kind)>,
    ) -> Result<()> {
        let lossy = self.lossy();
        self.bytes.clear();
        let skip = self.skip_special;
        let mut kept = entries.filter(|&(_, kind)| !(skip && kind == Kind::Special));
        match (&mut self.plan, plan) {
            (PlanState::Contents(space), Plan::Contents { respelled }) => {
                let bytes = &mut self.bytes;
                kept.for_each(|(id, kind)| put(content(vocab, respelled, id), kind, space, bytes));
            }
            (PlanState::Sentence(state), Plan::Sentence(sentence)) => {
                let bytes = &mut self.bytes;
                kept.try_for_each(|(id, kind)| state.push(sentence, id, kind, vocab.content(id), lossy, bytes))?;
            }
            (PlanState::Chain(state), Plan::Steps(chain)) => {
                let is_done =
                    only.map_or(Ok(false), |entry| state.push_stored(chain, vocab, entry, &mut self.bytes))?;
                if !is_done {
                    state.push(chain, vocab, kept, lossy, &mut self.bytes)?;
                }
            }
            _ => return Err(ErrorKind::Internal("a stream of another decoder".into()).into()),
        }
        self.emit(false)
    }

    fn decode_rest(&mut self, plan: &Plan) -> Result<()> {
        let lossy = self.lossy();
        self.bytes.clear();
        self.plan.finish(plan, lossy, &mut self.bytes)?;
        self.emit(true)
    }

    /// Converts the decoded bytes to text and appends it. `ends` is true at the end of the text.
    fn emit(&mut self, ends: bool) -> Result<()> {
        if let (false, None, true) = (ends, &self.stop, self.prompt.is_empty()) {
            if let Some(text) = self.utf8.whole(&self.bytes) {
                self.text.push_str(text);
                return Ok(());
            }
        }
        let (invalid, prompt, text, stop) = (self.policy(), &mut self.prompt, &mut self.text, &mut self.stop);
        let mut emit = |some: &str| {
            let some = without_prompt(some, prompt);
            match stop {
                Some(stop) => stop.push(some, text),
                None => text.push_str(some),
            }
        };
        let mut done = self.utf8.push(&self.bytes, invalid, &mut emit);
        if ends && done.is_ok() {
            done = self.utf8.finish(invalid, &mut emit);
        }
        if let (true, Some(stop)) = (ends && done.is_ok(), &mut self.stop) {
            stop.finish(&mut self.text);
        }
        match done {
            Err(NotUtf8 { at, reason }) if self.stopped().is_none() => Err(ErrorKind::NotUtf8 { at, reason }.into()),
            _ => Ok(()),
        }
    }

    fn lossy(&self) -> bool {
        self.invalid == InvalidUtf8::Replace
    }

    fn policy(&self) -> Invalid {
        match self.invalid {
            InvalidUtf8::Replace => Invalid::Replace,
            InvalidUtf8::Ignore => Invalid::Ignore,
            InvalidUtf8::Strict => Invalid::Strict,
        }
    }
}

/// Removes the longest common prefix of `text` and `prompt` from each of the two, and returns the rest of `text`. If
/// the next character of `text` differs from the next character of `prompt`, also clears `prompt`. Reason: the ids
/// after the prompt have changed the remaining part of the prompt's text.
fn without_prompt<'a>(mut text: &'a str, prompt: &mut VecDeque<char>) -> &'a str {
    while let (Some(wanted), Some(found)) = (prompt.front(), text.chars().next()) {
        if *wanted != found {
            prompt.clear();
            break;
        }
        prompt.pop_front();
        text = &text[found.len_utf8()..];
    }
    text
}

#[cfg(test)]
mod tests;
