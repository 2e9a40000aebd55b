//! SentencePiece's character map as HF applies it: one lookup for each grapheme instead of the longest match.
//!
//! Invariant: text and alignment equal HF's. A grapheme of up to five bytes is replaced by the rule for the *shortest*
//! of its prefixes that has a rule. If there is no such rule, or the grapheme is longer, the same lookup is done for
//! each of its characters. HF does not count characters that are removed at the start of a text, so its alignment of
//! the following text is shifted. This module shifts alignments in the same way, because HF's offsets depend on them.
//! It does not shift the *source* of a byte (see `aligned_text`), because byte spans depend on it.
//!
//! Cost: linear. Characters that have no rule and are separate graphemes are copied without segmentation.
//! Source: huggingface/tokenizers, `normalizers/precompiled.rs`, and the crate spm_precompiled 0.1.4.

use unicode_segmentation::UnicodeSegmentation;

use super::char_set::CharSet;
use super::charsmap::{is_apart, Charsmap};
use crate::aligned_text::AlignedWriter;
use crate::error::Result;
use crate::util::cancel::CancelCheck;

/// Graphemes of this many bytes or more are looked up only character by character, not as a whole.
const LONG: usize = 6;

/// Writes the replacement of a chunk.
pub(super) fn write(
    map: &Charsmap,
    old: &str,
    writer: &mut AlignedWriter<'_>,
    cancel: &mut CancelCheck<'_>,
) -> Result<()> {
    let mut changes = Changes { last: None, lags: false };
    let set = if old.is_ascii() { None } else { Some(map.joined_or_mapped()) };
    let mut at = 0;
    while at < old.len() {
        let plain = set.map_or_else(|| plain_run(map, &old[at..]), |set| unmapped_run(set, &old[at..]));
        if plain > 0 {
            changes.copy(&old[at..at + plain], writer, cancel)?;
            at += plain;
            continue;
        }
        cancel.check()?;
        writer.check()?;
        let grapheme = first_grapheme(&old[at..]);
        at += grapheme.len();
        if grapheme.len() < LONG {
            if let Some((_, new)) = map.prefixes(grapheme).next() {
                changes.replace(grapheme, new, writer);
                continue;
            }
        }
        for (start, c) in grapheme.char_indices() {
            cancel.check()?;
            let one = &grapheme[start..start + c.len_utf8()];
            match map.prefixes(one).next() {
                Some((_, new)) => changes.replace(one, new, writer),
                None => changes.push(c, 0, writer),
            }
        }
    }
    changes.flush(writer);
    Ok(())
}

/// Returns the first grapheme of a text that is not empty. CR LF is the only pair of ASCII characters that is one
/// grapheme.
fn first_grapheme(text: &str) -> &str {
    match text.as_bytes() {
        [first, second, ..] if *first != b'\r' && first.is_ascii() && second.is_ascii() => &text[..1],
        _ => text.graphemes(true).next().unwrap_or(text),
    }
}

/// Returns the number of leading ASCII bytes that are not part of any rule and are separate graphemes.
fn plain_run(map: &Charsmap, text: &str) -> usize {
    let is_plain = |byte: u8| byte != b'\r' && !map.begins_in_ascii[usize::from(byte)];
    text.bytes().take_while(|&byte| is_plain(byte)).count()
}

/// Returns the length in bytes of the leading characters that are separate graphemes and for which the map has no rule.
/// `set`: result of [`Charsmap::joined_or_mapped`].
fn unmapped_run(set: &CharSet, text: &str) -> usize {
    let run = set.find(text, 0);
    match text[run..].chars().next() {
        // `next` can be in one grapheme with the last character of the run, so the run ends before that character.
        Some(next) if !is_apart(next) => run - text[..run].chars().next_back().map_or(0, char::len_utf8),
        _ => run,
    }
}

/// Writes each new character with a delay, because the next old characters may be removed. The number of
/// removed characters is then subtracted from the delayed character's `change` (see [`AlignedWriter::put`]).
struct Changes {
    last: Option<Change>,
    lags: bool, // true if characters were removed at the start of the text
}

/// A character to write; the fields are the arguments of [`AlignedWriter::put_before_removed`].
struct Change {
    c: char,
    change: isize,
    removed: usize,
}

impl Changes {
    fn push(&mut self, c: char, change: isize, writer: &mut AlignedWriter<'_>) {
        self.flush(writer);
        self.last = Some(Change { c, change, removed: 0 });
    }

    fn flush(&mut self, writer: &mut AlignedWriter<'_>) {
        if let Some(Change { c, change, removed }) = self.last.take() {
            writer.put_before_removed(c, change, removed);
        }
    }

    /// Replaces `old` by `new`. The old text is one grapheme or one character.
    fn replace(&mut self, old: &str, new: &str, writer: &mut AlignedWriter<'_>) {
        let before = old.chars().count();
        let after = new.chars().count();
        for (index, c) in new.chars().enumerate() {
            self.push(c, isize::from(index >= before), writer);
        }
        if after < before {
            match &mut self.last {
                Some(last) => {
                    last.change -= (before - after) as isize;
                    last.removed += if after == 0 { before } else { 0 };
                }
                None => {
                    self.lags = true;
                    writer.remove_uncounted(before);
                }
            }
        }
    }

    fn copy(&mut self, run: &str, writer: &mut AlignedWriter<'_>, cancel: &mut CancelCheck<'_>) -> Result<()> {
        if self.lags {
            for c in run.chars() {
                cancel.check()?;
                self.push(c, 0, writer);
            }
            return Ok(());
        }
        self.flush(writer);
        let last = run.chars().next_back();
        writer.copy(run.len() - last.map_or(0, char::len_utf8));
        self.last = last.map(|c| Change { c, change: 0, removed: 0 });
        Ok(())
    }
}
