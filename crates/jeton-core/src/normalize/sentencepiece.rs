//! SentencePiece's normalizer: replaces the longest matches of rules; collapses and escapes white space, and adds the
//! dummy prefix or suffix.
//!
//! Invariant: the text equals SentencePiece's. Each output byte is aligned with the input that its rule matched. The
//! dummy prefix or suffix has an empty range, and no byte is aligned with removed white space.
//!
//! Cost: linear. Each position takes one bounded lookup in the user-defined entries and one in the rules. ASCII that no
//! rule contains is copied. Source: google/sentencepiece, `normalizer.cc`. Left out: invalid UTF-8; callers pass only
//! valid text.

use super::charsmap::Charsmap;
use crate::aligned_text::AlignedWriter;
use crate::error::{Error, Result};
use crate::util::cancel::CancelCheck;
use crate::util::trie::Trie;
use crate::util::utf8::{of_three, of_two};

/// Character that stands for a space in pieces (`▁`).
pub(super) const MARK: &str = "\u{2581}";

/// Options for white space, named as in the model's file.
#[derive(Debug, Clone, Copy)]
pub struct CharsmapOptions {
    /// If true, a space (the dummy prefix) is inserted before the text.
    pub add_dummy_prefix: bool,
    /// If true, white space is trimmed at both ends, and runs are collapsed to one space.
    pub remove_extra_whitespaces: bool,
    /// If true, spaces become `▁`.
    pub escape_whitespaces: bool,
    /// If true, the dummy space is inserted after the text instead of before it.
    pub treat_whitespace_as_suffix: bool,
}

/// Normalizer of a SentencePiece model.
#[derive(Debug)]
pub(super) struct SentencePiece {
    map: Option<Charsmap>,
    options: CharsmapOptions,
    user_defined: Option<Trie>,
    has_spaces: bool,    // true if some user-defined entry contains a space
    plain: [bool; 256],  // bytes that are copied unchanged if ASCII or the end of the text follows
    simple: [bool; 256], // plain bytes, and the space if no rule contains it
    // Bit set of the characters from U+0080 to U+FFFF that begin no rule or user-defined entry.
    stays: Box<[u64; 1 << 10]>,
}

impl SentencePiece {
    /// Builds a normalizer from rules, options and the contents of user-defined entries. The normalizer does not change
    /// these contents in a text.
    ///
    /// # Errors
    /// [`Error::config`] for contents that are not UTF-8.
    pub(super) fn new(map: Option<Charsmap>, options: CharsmapOptions, user_defined: &[&[u8]]) -> Result<Self> {
        let mut plain = [false; 256];
        for (byte, plain) in (0..=255u8).zip(&mut plain) {
            // Without rules, the bytes of characters beyond ASCII are plain, too.
            *plain = (byte < 128 || map.is_none())
                && byte != b' '
                && map.as_ref().is_none_or(|map| !map.begins_in_ascii[usize::from(byte)]);
        }
        let mut stays = Box::new([0; 1 << 10]);
        let changes = map.as_ref().map(Charsmap::first_characters);
        for (at, stays) in stays.iter_mut().enumerate().skip(2) {
            *stays = !changes.as_ref().map_or(0, |changes| changes[at]);
        }
        let mut is_space_simple = map.as_ref().is_none_or(|map| !map.begins[usize::from(b' ')]);
        let mut contents = Vec::with_capacity(user_defined.len());
        for (content, id) in user_defined.iter().zip(0..) {
            let text = std::str::from_utf8(content)
                .map_err(|_| Error::config(format!("the user-defined entry {content:?} is not UTF-8")))?;
            if let Some(first) = text.bytes().next() {
                plain[usize::from(first)] = false;
                is_space_simple &= first != b' ';
                let code = text.chars().next().map_or(0, |c| c as usize);
                if let Some(bits) = stays.get_mut(code / 64) {
                    *bits &= !(1 << (code % 64));
                }
                contents.push((*content, id));
            }
        }
        let has_spaces = contents.iter().any(|(content, _)| content.contains(&b' '));
        let user_defined = (!contents.is_empty()).then(|| Trie::new(contents));
        let mut simple = plain;
        simple[usize::from(b' ')] = is_space_simple;
        Ok(Self { map, options, user_defined, has_spaces, plain, simple, stays })
    }

    /// If the normalizer does nothing but replace each space by a mark and insert a prefix, returns this prefix.
    pub(super) fn prefix_of_marks(&self) -> Option<&'static str> {
        let Self { map, options, .. } = self;
        let is_simple = !options.remove_extra_whitespaces && !options.treat_whitespace_as_suffix;
        let marks = map.is_none() && !self.has_spaces && is_simple && options.escape_whitespaces;
        marks.then_some(if options.add_dummy_prefix { MARK } else { "" })
    }

    /// Returns true if the normalizer only replaces spaces, each one separately, and inserts a prefix.
    pub(super) fn only_escapes(&self) -> bool {
        let Self { map, options, user_defined, .. } = self;
        let is_simple = !options.remove_extra_whitespaces && !options.treat_whitespace_as_suffix;
        map.is_none() && user_defined.is_none() && is_simple
    }

    /// Returns the character that the normalizer adds at the start of a text, if any.
    pub(super) fn adds_prefix(&self) -> Option<char> {
        let mark = if self.options.escape_whitespaces { '\u{2581}' } else { ' ' };
        self.options.add_dummy_prefix.then_some(mark)
    }

    /// Returns true if there are user-defined entries, which are left unchanged.
    pub(super) fn has_user_defined(&self) -> bool {
        self.user_defined.is_some()
    }

    /// Returns the options.
    pub(super) fn options(&self) -> CharsmapOptions {
        self.options
    }

    /// Returns the rules, if any.
    pub(super) fn map(&self) -> Option<&Charsmap> {
        self.map.as_ref()
    }

    /// Returns the replacement of a single character by the rules, before spaces are escaped.
    pub(super) fn rule(&self, c: char) -> String {
        let mut buffer = [0; 4];
        let text = &*c.encode_utf8(&mut buffer);
        let rule = self.map.as_ref().and_then(|map| map.prefixes(text).last());
        rule.map_or(text, |(_, new)| new).to_owned()
    }

    /// Returns the number of bytes that the next step consumes, and their replacement.
    pub(super) fn prefix<'a>(&'a self, text: &'a str) -> (usize, &'a str) {
        let found = self.user_defined.as_ref().and_then(|trie| trie.longest(text.as_bytes(), 0));
        if let Some((end, _)) = found {
            return (end, &text[..end]);
        }
        let rule = self.map.as_ref().and_then(|map| map.prefixes(text).last());
        rule.unwrap_or_else(|| {
            let one = text.chars().next().map_or(0, char::len_utf8);
            (one, &text[..one])
        })
    }

    /// Returns the number of leading bytes that are copied unchanged.
    #[inline]
    fn plain_run(&self, text: &[u8]) -> usize {
        let run = text.iter().take_while(|byte| self.plain[usize::from(**byte)]).count();
        run - usize::from(self.may_go_on(text, run))
    }

    /// Returns the length in bytes of the leading characters beyond ASCII that are copied unchanged in any context.
    #[inline]
    fn staying_run(&self, text: &[u8]) -> usize {
        let mut at = 0;
        loop {
            let (code, len) = match text[at..] {
                [a @ 0xC0..0xE0, b, ..] => (of_two(a, b), 2),
                [a @ 0xE0..0xF0, b, c, ..] => (of_three(a, b, c), 3),
                _ => return at,
            };
            if self.stays[code as usize / 64] >> (code % 64) & 1 == 0 {
                return at;
            }
            at += len;
        }
    }

    /// Returns the length in bytes of the leading characters that are copied unchanged. Counts whole characters only.
    #[inline]
    pub(super) fn unchanged_run(&self, text: &[u8]) -> usize {
        match text.first() {
            Some(byte) if !byte.is_ascii() => self.staying_run(text),
            _ => self.plain_run(text),
        }
    }

    /// Returns true if the last of `run` plain bytes can begin a rule together with the bytes after it.
    fn may_go_on(&self, text: &[u8], run: usize) -> bool {
        let begins_rule = |byte: u8| self.map.as_ref().is_some_and(|map| map.begins[usize::from(byte)]);
        match (text[..run].last(), text.get(run)) {
            (Some(&last), Some(next)) => !next.is_ascii() && begins_rule(last),
            _ => false,
        }
    }

    /// Copies plain bytes and replaces spaces by marks, without branches and without alignment. Returns the number of
    /// consumed bytes.
    fn write_simple(&self, old: &str, after_space: &mut bool, writer: &mut AlignedWriter<'_>) -> usize {
        const STEP: usize = 64;
        let bytes = old.as_bytes();
        let mark = u32::from_le_bytes([MARK.as_bytes()[0], MARK.as_bytes()[1], MARK.as_bytes()[2], 0]);
        let mut done = 0;
        let spaces_alone = self.simple == [true; 256];
        loop {
            // If no rule changes anything but spaces, 64 bytes without a space are copied at once.
            let step = bytes[done..].first_chunk::<STEP>().filter(|_| spaces_alone);
            if step.is_some_and(|step| !step.iter().fold(false, |any, &byte| any | (byte == b' '))) {
                let end = (done..=done + STEP).rev().find(|&end| old.is_char_boundary(end)).unwrap_or(done);
                writer.copy(end - done);
                (done, *after_space) = (end, false);
                continue;
            }
            let mut new = [0u8; 4 * STEP];
            let (mut len, mut taken, mut space) = (0, 0, *after_space);
            for &byte in bytes[done..].iter().take(STEP) {
                let is_space = byte == b' ';
                if !self.simple[usize::from(byte)] {
                    break;
                }
                let written = if is_space { mark } else { u32::from(byte) };
                if let Some(there) = new[len..].first_chunk_mut() {
                    *there = written.to_le_bytes();
                }
                len += [1, MARK.len(), 1, 0][usize::from(is_space) | usize::from(space) << 1];
                space = is_space & self.options.remove_extra_whitespaces;
                taken += 1;
            }
            let is_last = taken < STEP;
            // The last byte is not consumed if it can begin a rule together with the bytes after it. The step must also
            // end at a character boundary.
            let whole = taken;
            taken -= usize::from(taken > 0 && self.may_go_on(bytes, done + taken));
            while !old.is_char_boundary(done + taken) {
                taken -= 1;
            }
            if taken < whole {
                len -= whole - taken; // each of these bytes was copied as one byte
                space = self.options.remove_extra_whitespaces
                    && match done + taken {
                        0 => *after_space,
                        before => bytes[before - 1] == b' ',
                    };
            }
            debug_assert!(std::str::from_utf8(&new[..len]).is_ok());
            // SAFETY: the first `taken` bytes from `done` on are whole characters of `old`, because `done` is a
            // character boundary, and `taken` was lowered until `done + taken` was one, too. For each byte the loop
            // wrote the byte itself or, for a space, all of `MARK` or nothing. That is at most 3 · STEP bytes, so the
            // four bytes of each write fit. When `taken` was lowered, `len` was lowered by the same number, because
            // each byte that was taken back had been copied as one byte. None of these bytes is a space: `may_go_on`
            // is true only after a byte that begins a rule, and a space that begins a rule is not `simple`; the bytes
            // that were taken back to reach a character boundary are part of a character beyond ASCII. The remaining
            // bytes of `new` are therefore whole characters and whole marks.
            writer.replace(taken, unsafe { std::str::from_utf8_unchecked(&new[..len]) });
            (done, *after_space) = (done + taken, space);
            if is_last || taken == 0 {
                return done;
            }
        }
    }

    /// Writes the normalized form of a chunk.
    pub(super) fn write(&self, old: &str, writer: &mut AlignedWriter<'_>, cancel: &mut CancelCheck<'_>) -> Result<()> {
        let options = self.options;
        let space = if options.escape_whitespaces { MARK } else { " " };
        let mut at = 0;
        while options.remove_extra_whitespaces && at < old.len() {
            cancel.check()?;
            match self.prefix(&old[at..]) {
                (taken, " ") => {
                    writer.replace(taken, "");
                    at += taken;
                }
                _ => break,
            }
        }
        if at == old.len() {
            return Ok(());
        }
        if options.add_dummy_prefix && !options.treat_whitespace_as_suffix {
            writer.replace(0, space);
        }
        let mut after_space = options.remove_extra_whitespaces;
        let is_simple = options.escape_whitespaces && !writer.is_traced();
        while at < old.len() {
            cancel.check()?;
            if is_simple && self.simple[usize::from(old.as_bytes()[at])] {
                let taken = self.write_simple(&old[at..], &mut after_space, writer);
                if taken > 0 {
                    at += taken;
                    continue;
                }
            }
            let rest = &old.as_bytes()[at..];
            let run = self.unchanged_run(rest);
            if run > 0 {
                writer.copy(run);
                at += run;
                after_space = false;
                continue;
            }
            writer.check()?;
            let (taken, whole) = self.prefix(&old[at..]);
            let new = if after_space { whole.trim_start_matches(' ') } else { whole };
            if new == " " {
                writer.replace(taken, space);
            } else if options.escape_whitespaces && new.contains(' ') {
                writer.replace(taken, &new.replace(' ', MARK));
            } else if new == &old[at..at + taken] {
                writer.copy(taken);
            } else {
                writer.replace(taken, new);
            }
            if !new.is_empty() {
                after_space = options.remove_extra_whitespaces && new.ends_with(' ');
            }
            at += taken;
        }
        while options.remove_extra_whitespaces && writer.written().ends_with(space) {
            writer.take_back(space.len());
        }
        if options.add_dummy_prefix && options.treat_whitespace_as_suffix {
            writer.append(space);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use crate::aligned_text::AlignedText;
    use crate::normalize::Normalizer;

    /// Compares texts with and without alignment, because the branchless loop runs only without alignment.
    #[test]
    fn texts_are_equal_with_and_without_alignment() {
        let mut state = 7u64;
        let mut draw = |below: usize| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            (state >> 33) as usize % below
        };
        let user_defined: [&[u8]; 1] = [b"x  y"];
        for kind in 0..4 {
            let part = format!(
                r#"{{"type":"SentencePiece","precompiled_charsmap":null,"add_dummy_prefix":true,
                "remove_extra_whitespaces":{},"escape_whitespaces":true,"treat_whitespace_as_suffix":false}}"#,
                kind & 1 != 0
            );
            let normalizer = Normalizer::from_json(&part, &user_defined[..kind / 2]).unwrap();
            for _ in 0..100 {
                let characters = ['a', ' ', ' ', 'x', 'y', 'é', '中', '😉'];
                let num_kinds = 1 + draw(characters.len());
                let text: String = (0..draw(300)).map(|_| characters[draw(num_kinds)]).collect();
                let [with, without] = [true, false].map(|is_traced| {
                    let mut aligned = AlignedText::new(&text, is_traced).unwrap();
                    normalizer.apply(&mut aligned, &|| true).unwrap();
                    aligned.text().to_owned()
                });
                assert_eq!(with, without, "{text:?}");
            }
        }
    }
}
