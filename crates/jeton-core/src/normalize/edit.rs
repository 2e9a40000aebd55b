//! Normalizers that process single characters.
//!
//! Invariant: runs of unchanged characters are copied; other characters are replaced or removed, one by one.
//! Source: huggingface/tokenizers, `normalizers/`; the rules of NMT are from SentencePiece.

use std::sync::OnceLock;

use super::char_set::CharSet;
use super::lower_case::lower;
use super::properties::{Properties, CHINESE, CONTROL, MARK, SPACE, UPPER};
use crate::aligned_text::AlignedWriter;
use crate::error::Result;
use crate::util::atomic_cell::made_once;
use crate::util::cancel::CancelCheck;
use crate::vocab::byte_alphabet::stand_in;

/// Copies the characters that are not in `set`. Calls `edit` at each character of the set; `edit` consumes one or more
/// characters.
pub(super) fn each(
    set: &CharSet,
    old: &str,
    writer: &mut AlignedWriter<'_>,
    cancel: &mut CancelCheck<'_>,
    mut edit: impl FnMut(char, &mut AlignedWriter<'_>, &mut CancelCheck<'_>) -> Result<()>,
) -> Result<()> {
    while writer.at() < old.len() {
        let found = set.find(old, writer.at());
        writer.copy(found - writer.at());
        while let Some(c) = old[writer.at()..].chars().next().filter(|&c| set.has(c)) {
            cancel.check()?;
            edit(c, writer, cancel)?;
        }
    }
    Ok(())
}

fn leave_out(c: char, writer: &mut AlignedWriter<'_>) {
    writer.replace(c.len_utf8(), "");
}

/// Removes the characters with the property `bit`.
pub(super) fn drop_with(
    bit: u16,
    old: &str,
    writer: &mut AlignedWriter<'_>,
    cancel: &mut CancelCheck<'_>,
) -> Result<()> {
    each(CharSet::of_bits(bit), old, writer, cancel, |c, writer, _| {
        leave_out(c, writer);
        Ok(())
    })
}

/// Removes marks.
pub(super) fn strip_accents(old: &str, writer: &mut AlignedWriter<'_>, cancel: &mut CancelCheck<'_>) -> Result<()> {
    if old.is_ascii() {
        writer.copy(old.len());
        return Ok(());
    }
    drop_with(MARK, old, writer, cancel)
}

/// Lowercases character by character, without context.
pub(super) fn lowercase(old: &str, writer: &mut AlignedWriter<'_>, cancel: &mut CancelCheck<'_>) -> Result<()> {
    writer.copy_ascii_lowercase(ascii_run(old.as_bytes()));
    if writer.at() == old.len() {
        return Ok(());
    }
    each(CharSet::of_bits(UPPER), old, writer, cancel, |c, writer, _| {
        if c.is_ascii() {
            writer.copy_ascii_lowercase(ascii_run(&old.as_bytes()[writer.at()..]));
            return Ok(());
        }
        for (index, c) in lower(c).enumerate() {
            writer.put(c, isize::from(index > 0));
        }
        Ok(())
    })
}

/// Returns the number of leading bytes that are ASCII.
pub(super) fn ascii_run(bytes: &[u8]) -> usize {
    leading(bytes, |byte| byte.is_ascii())
}

/// Returns the number of leading bytes that are printable ASCII.
pub(super) fn printable_run(bytes: &[u8]) -> usize {
    leading(bytes, |byte| (b' '..=b'~').contains(&byte))
}

/// Returns the number of leading bytes for which `is_in` returns true. Tests 32 bytes at a time.
#[inline(always)]
fn leading(bytes: &[u8], is_in: impl Fn(u8) -> bool) -> usize {
    let blocks = bytes.as_chunks::<32>().0.iter();
    let whole = 32 * blocks.take_while(|block| block.iter().fold(true, |all, &byte| all & is_in(byte))).count();
    whole + bytes[whole..].iter().take_while(|&&byte| is_in(byte)).count()
}

/// Strips white space at the start, the end, or both.
pub(super) fn strip(old: &str, writer: &mut AlignedWriter<'_>, left: bool, right: bool) {
    let rest = if left { old.trim_start() } else { old };
    writer.replace(old.len() - rest.len(), "");
    writer.copy(if right { rest.trim_end().len() } else { rest.len() });
}

/// Removes control characters and replaces invisible characters by spaces.
pub(super) fn nmt(old: &str, writer: &mut AlignedWriter<'_>, cancel: &mut CancelCheck<'_>) -> Result<()> {
    static SET: OnceLock<CharSet> = OnceLock::new();
    let rule = |c: char| match c as u32 {
        0x01..=0x08 | 0x0B | 0x0E..=0x1F | 0x7F | 0x8F | 0x9F => Some(None),
        0x09 | 0x0A | 0x0C | 0x0D | 0x1680 | 0x200B..=0x200F | 0x2028 | 0x2029 | 0x2581 | 0xFEFF | 0xFFFD => {
            Some(Some(' '))
        }
        _ => None,
    };
    let set = made_once(&SET, || CharSet::new(|c| rule(c).is_some(), Some(0)));
    each(set, old, writer, cancel, |c, writer, _| {
        match rule(c) {
            Some(Some(space)) => writer.put(space, 0),
            _ => leave_out(c, writer),
        }
        Ok(())
    })
}

/// Cleans text as BERT does: removes control characters, and replaces white space by spaces.
pub(super) fn clean(old: &str, writer: &mut AlignedWriter<'_>, cancel: &mut CancelCheck<'_>) -> Result<()> {
    let properties = Properties::get();
    each(CharSet::of_bits(CONTROL | SPACE), old, writer, cancel, |c, writer, _| {
        match properties.of(c) & CONTROL {
            0 => writer.put(' ', 0),
            _ => leave_out(c, writer),
        }
        Ok(())
    })
}

/// Adds spaces around Chinese characters.
pub(super) fn space_chinese(old: &str, writer: &mut AlignedWriter<'_>, cancel: &mut CancelCheck<'_>) -> Result<()> {
    each(CharSet::of_bits(CHINESE), old, writer, cancel, |c, writer, _| {
        writer.put(' ', 0);
        writer.put(c, 1);
        writer.put(' ', 1);
        Ok(())
    })
}

/// Applies BERT's steps to the next bytes, which must be ASCII.
pub(super) fn bert_ascii(bytes: &[u8], cleans: bool, lowers: bool, writer: &mut AlignedWriter<'_>) {
    let mut rest = bytes;
    while let Some(&first) = rest.first() {
        let run = if cleans { printable_run(rest) } else { rest.len() };
        if lowers {
            writer.copy_ascii_lowercase(run);
        } else {
            writer.copy(run);
        }
        rest = &rest[run..];
        if let (0, control) = (run, first) {
            match control {
                b'\t' | b'\n' | b'\r' => writer.put(' ', 0),
                _ => writer.replace(1, ""),
            }
            rest = &rest[1..];
        }
    }
}

/// Inserts `text` before a chunk, aligned with the chunk's first character.
pub(super) fn prepend(old: &str, writer: &mut AlignedWriter<'_>, text: &str) {
    let Some(first) = old.chars().next() else { return };
    for (index, c) in text.chars().enumerate() {
        writer.put(c, isize::from(index > 0));
    }
    writer.put(first, 1);
    writer.copy(old.len() - first.len_utf8());
}

/// Spells bytes in GPT-2's byte alphabet.
pub(super) fn byte_level(old: &str, writer: &mut AlignedWriter<'_>, cancel: &mut CancelCheck<'_>) -> Result<()> {
    while let Some(c) = old[writer.at()..].chars().next() {
        cancel.check()?;
        if c.is_ascii_graphic() {
            writer.copy(leading(&old.as_bytes()[writer.at()..], |byte| byte.is_ascii_graphic()));
            continue;
        }
        for (index, byte) in c.encode_utf8(&mut [0; 4]).bytes().enumerate() {
            writer.put(stand_in(byte), isize::from(index > 0));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails if the compiler's Unicode tables are newer than version 17. Newer tables would change training and
    /// encoding, unless `lower` is changed to check in which Unicode version a character was added.
    #[test]
    fn lower_case_equals_unicode_17() {
        let (mut count, mut sum) = (0, 0u64);
        for c in '\0'..=char::MAX {
            for l in lower(c).filter(|l| *l != c) {
                count += 1;
                sum += u64::from(l as u32) * (count + 1) % 0xFFFF_FFFB;
            }
        }
        assert_eq!((count, sum), (1489, 45_678_647_961));
    }
}
