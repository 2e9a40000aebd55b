//! BERT's normalizer: cleans text, adds spaces around Chinese characters, strips accents, lowercases.
//!
//! Two algorithms give the same text. If alignments are requested, each step processes the whole text. Otherwise, one
//! pass applies all steps to each character. One pass suffices because all steps except NFD read single characters. NFD
//! also reorders marks, but a later step removes nearly all marks. The remaining marks, and the characters next to
//! them, are processed step by step.
//!
//! Source: huggingface/tokenizers, `normalizers/bert.rs`.

use unicode_normalization::char::decompose_canonical;

use super::char_set::CharSet;
use super::edit;
use super::forms::Form;
use super::lower_case::lower;
use super::properties::{Properties, CHINESE, CONTROL, NFD, NONSPACING, ORDERED, SPACE, UPPER};
use crate::aligned_text::{AlignedText, AlignedWriter};
use crate::error::Result;
use crate::util::cancel::CancelCheck;

/// The steps of BERT's normalizer that are enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bert {
    pub(super) clean: bool,
    pub(super) chinese: bool,
    pub(super) accents: bool,
    pub(super) lowercase: bool,
}

impl Bert {
    pub(super) fn apply(self, aligned: &mut AlignedText, cancel: &mut CancelCheck<'_>) -> Result<()> {
        if aligned.is_traced() && !aligned.text().is_ascii() {
            return self.step_by_step(aligned, cancel);
        }
        aligned.rewrite(|old, writer| self.write(old, writer, cancel))
    }

    fn step_by_step(self, aligned: &mut AlignedText, cancel: &mut CancelCheck<'_>) -> Result<()> {
        if self.clean {
            aligned.rewrite(|old, writer| edit::clean(old, writer, cancel))?;
        }
        if self.chinese {
            aligned.rewrite(|old, writer| edit::space_chinese(old, writer, cancel))?;
        }
        if self.accents {
            aligned.rewrite(|old, writer| Form::Nfd.write(old, writer, cancel))?;
            aligned.rewrite(|old, writer| edit::drop_with(NONSPACING, old, writer, cancel))?;
        }
        if self.lowercase {
            aligned.rewrite(|old, writer| edit::lowercase(old, writer, cancel))?;
        }
        Ok(())
    }

    /// Returns the property bits of characters that any enabled step changes.
    fn touched(self) -> u16 {
        let steps = [
            (self.clean, CONTROL | SPACE),
            (self.chinese, CHINESE),
            (self.accents, NFD | NONSPACING | ORDERED),
            (self.lowercase, UPPER),
        ];
        steps.into_iter().filter(|step| step.0).map(|step| step.1).sum()
    }

    /// Writes the normalized form of `old` in one pass. Writes alignments only if `old` is ASCII.
    pub(super) fn write(self, old: &str, writer: &mut AlignedWriter<'_>, cancel: &mut CancelCheck<'_>) -> Result<()> {
        if old.is_ascii() {
            for bytes in old.as_bytes().chunks(1 << 16) {
                edit::bert_ascii(bytes, self.clean, self.lowercase, writer);
                cancel.check_now()?;
            }
            return Ok(());
        }
        let (properties, touched) = (Properties::get(), self.touched());
        let mut new = String::new();
        edit::each(CharSet::of_bits(touched), old, writer, cancel, |c, writer, cancel| {
            let rest = &old[writer.at()..];
            if c.is_ascii() {
                let run = edit::ascii_run(rest.as_bytes());
                edit::bert_ascii(&rest.as_bytes()[..run], self.clean, self.lowercase, writer);
                return Ok(());
            }
            let bits = properties.of(c) & touched;
            if bits & ORDERED == 0 {
                new.clear();
                let mut len = 0;
                // Processes this character together with the following ones, up to 64 in total.
                for c in rest.chars().take(64) {
                    let bits = properties.of(c) & touched;
                    if bits == 0 || bits & ORDERED != 0 {
                        break;
                    }
                    self.spell(c, bits, properties, &mut new);
                    len += c.len_utf8();
                }
                writer.replace(len, &new);
                return Ok(());
            }
            // A run of characters that NFD decomposes or that an earlier step removes is processed step by step. Marks
            // are not reordered across other characters, so the run is independent of its context.
            let moved = |c: char| properties.of(c) & touched & (NFD | CONTROL) != 0;
            let len = rest.find(|c| !moved(c)).unwrap_or(rest.len());
            let mut between = AlignedText::new(&rest[..len], false)?;
            self.step_by_step(&mut between, cancel)?;
            writer.replace(len, between.text());
            Ok(())
        })
    }

    /// Appends the normalized form of a character.
    #[inline]
    fn spell(self, c: char, bits: u16, properties: &Properties, new: &mut String) {
        if bits & (CONTROL | SPACE) != 0 {
            if bits & CONTROL == 0 {
                new.push(' ');
            }
            return;
        }
        if bits == CHINESE {
            new.push(' ');
            new.push(c);
            new.push(' ');
            return;
        }
        let mut each = |c: char| {
            let bits = properties.of(c);
            if self.accents && bits & NONSPACING != 0 {
            } else if self.lowercase && bits & UPPER != 0 {
                new.extend(lower(c));
            } else {
                new.push(c);
            }
        };
        if bits & CHINESE != 0 {
            each(' ');
        }
        if bits & NFD != 0 {
            decompose_canonical(c, &mut each);
        } else {
            each(c);
        }
        if bits & CHINESE != 0 {
            each(' ');
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    fn both(bert: Bert, text: &str) -> [String; 2] {
        [false, true].map(|traced| {
            let mut aligned = AlignedText::new(text, traced).unwrap();
            let cancel = &mut CancelCheck::new(&|| true);
            if traced {
                bert.step_by_step(&mut aligned, cancel).unwrap();
            } else {
                bert.apply(&mut aligned, cancel).unwrap();
            }
            aligned.text().to_owned()
        })
    }

    fn all() -> impl Iterator<Item = Bert> {
        (0..16).map(|i| Bert { clean: i & 1 > 0, chinese: i & 2 > 0, accents: i & 4 > 0, lowercase: i & 8 > 0 })
    }

    #[test]
    fn one_pass_equals_the_steps_for_every_character() {
        let chars: Vec<char> = ('\0'..=char::MAX).collect();
        for bert in all() {
            for text in chars.chunks(4096) {
                let [once, stepwise] = both(bert, &text.iter().collect::<String>());
                assert!(once == stepwise, "{bert:?}, from U+{:04X}", text[0] as u32);
            }
        }
    }

    #[test]
    fn one_pass_equals_the_steps_for_sequences_of_marks() {
        let properties = Properties::get();
        let ordered: Vec<char> = ('\0'..=char::MAX).filter(|&c| properties.of(c) & ORDERED != 0).collect();
        assert!(ordered.len() > 3 && ordered.len() < 1000, "{}", ordered.len());
        let others = [
            'a',
            'É',
            '\u{301}',
            '\u{323}',
            '\u{AD}',
            '漢',
            '\u{F900}',
            '가',
            '\u{F73}',
            '\u{344}',
            ' ',
            '\u{16FE4}',
            'İ',
        ];
        let mut state = 1u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            (state >> 33) as usize % below
        };
        for _ in 0..20_000 {
            let mut draw = |_| if next(2) == 0 { ordered[next(ordered.len())] } else { others[next(others.len())] };
            let text: String = (0..12).map(&mut draw).collect();
            for bert in all() {
                let [once, stepwise] = both(bert, &text);
                assert_eq!(once, stepwise, "{bert:?}, {text:?}");
            }
        }
    }
}
