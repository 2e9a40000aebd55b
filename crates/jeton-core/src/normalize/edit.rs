//! Normalizers that process single characters.
//!
//! Invariant: runs of unchanged characters are copied; other characters are replaced or removed, one by one.
//! Source: huggingface/tokenizers, `normalizers/`; NMT's rules are SentencePiece's.

use super::lower_case::lower;
use super::properties::{Properties, CHINESE, CONTROL, SPACE, UPPER};
use crate::aligned_text::{AlignedText, AlignedWriter};
use crate::error::Result;
use crate::util::cancel::CancelCheck;
use crate::vocab::byte_alphabet::stand_in;

/// Copies text that `touches` excludes, and calls `edit` for other characters, of which it consumes exactly one.
fn each(
    aligned: &mut AlignedText,
    cancel: &mut CancelCheck<'_>,
    touches: impl Fn(char) -> bool,
    edit: impl Fn(char, &mut AlignedWriter<'_>),
) -> Result<()> {
    aligned.rewrite(|old, writer| {
        let mut copied = 0;
        for (at, c) in old.char_indices() {
            cancel.check()?;
            if touches(c) {
                writer.copy(at - copied);
                edit(c, writer);
                copied = at + c.len_utf8();
            }
        }
        writer.copy(old.len() - copied);
        Ok(())
    })
}

fn leave_out(c: char, writer: &mut AlignedWriter<'_>) {
    writer.replace(c.len_utf8(), "");
}

/// Removes the characters with a property.
pub(super) fn drop_with(bit: u16, aligned: &mut AlignedText, cancel: &mut CancelCheck<'_>) -> Result<()> {
    let properties = Properties::get();
    each(aligned, cancel, |c| properties.of(c) & bit != 0, leave_out)
}

/// Lowercases character by character, without context.
pub(super) fn lowercase(aligned: &mut AlignedText, cancel: &mut CancelCheck<'_>) -> Result<()> {
    let properties = Properties::get();
    let touches = |c: char| if c.is_ascii() { c.is_ascii_uppercase() } else { properties.of(c) & UPPER != 0 };
    each(aligned, cancel, touches, |c, writer| {
        for (index, c) in lower(c).enumerate() {
            writer.put(c, isize::from(index > 0));
        }
    })
}

/// Strips white space at the ends.
pub(super) fn strip(aligned: &mut AlignedText, left: bool, right: bool) -> Result<()> {
    aligned.rewrite(|old, writer| {
        let rest = if left { old.trim_start() } else { old };
        writer.replace(old.len() - rest.len(), "");
        writer.copy(if right { rest.trim_end().len() } else { rest.len() });
        Ok(())
    })
}

/// Removes control characters and replaces invisible characters by spaces.
pub(super) fn nmt(aligned: &mut AlignedText, cancel: &mut CancelCheck<'_>) -> Result<()> {
    let rule = |c: char| match c as u32 {
        0x01..=0x08 | 0x0B | 0x0E..=0x1F | 0x7F | 0x8F | 0x9F => Some(None),
        0x09 | 0x0A | 0x0C | 0x0D | 0x1680 | 0x200B..=0x200F | 0x2028 | 0x2029 | 0x2581 | 0xFEFF | 0xFFFD => {
            Some(Some(' '))
        }
        _ => None,
    };
    each(
        aligned,
        cancel,
        |c| rule(c).is_some(),
        |c, writer| match rule(c) {
            Some(Some(space)) => writer.put(space, 0),
            _ => leave_out(c, writer),
        },
    )
}

/// Cleans text as BERT does.
pub(super) fn clean(aligned: &mut AlignedText, cancel: &mut CancelCheck<'_>) -> Result<()> {
    let properties = Properties::get();
    each(
        aligned,
        cancel,
        |c| properties.of(c) & (CONTROL | SPACE) != 0,
        |c, writer| match properties.of(c) & CONTROL {
            0 => writer.put(' ', 0),
            _ => leave_out(c, writer),
        },
    )
}

/// Adds spaces around Chinese characters.
pub(super) fn space_chinese(aligned: &mut AlignedText, cancel: &mut CancelCheck<'_>) -> Result<()> {
    let properties = Properties::get();
    let is_chinese = |c| properties.of(c) & CHINESE != 0;
    each(aligned, cancel, is_chinese, |c, writer| {
        writer.put(' ', 0);
        writer.put(c, 1);
        writer.put(' ', 1);
    })
}

/// Applies all of BERT's steps to ASCII, in one pass.
pub(super) fn bert_ascii(
    aligned: &mut AlignedText,
    cleans: bool,
    lowers: bool,
    cancel: &mut CancelCheck<'_>,
) -> Result<()> {
    let touches = |c: char| (cleans && c.is_ascii_control()) || (lowers && c.is_ascii_uppercase());
    each(aligned, cancel, touches, |c, writer| match c {
        '\t' | '\n' | '\r' => writer.put(' ', 0),
        _ if c.is_ascii_control() => leave_out(c, writer),
        _ => writer.put(c.to_ascii_lowercase(), 0),
    })
}

/// Inserts a text before each chunk, with the input range of its first character.
pub(super) fn prepend(aligned: &mut AlignedText, text: &str) -> Result<()> {
    aligned.rewrite(|old, writer| {
        let Some(first) = old.chars().next() else { return Ok(()) };
        for (index, c) in text.chars().enumerate() {
            writer.put(c, isize::from(index > 0));
        }
        writer.put(first, 1);
        writer.copy(old.len() - first.len_utf8());
        Ok(())
    })
}

/// Spells bytes in GPT-2's byte alphabet.
pub(super) fn byte_level(aligned: &mut AlignedText, cancel: &mut CancelCheck<'_>) -> Result<()> {
    each(
        aligned,
        cancel,
        |c| !c.is_ascii_graphic(),
        |c, writer| {
            for (index, byte) in c.encode_utf8(&mut [0; 4]).bytes().enumerate() {
                writer.put(stand_in(byte), isize::from(index > 0));
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A compiler with newer tables would change training and encoding: then `lower` needs the age of a
    /// character.
    #[test]
    fn lower_case_is_that_of_unicode_17() {
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
