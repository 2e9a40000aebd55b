//! Normalization forms NFC, NFD, NFKC and NFKD as in HF: by Unicode 9, with HF's alignments.
//!
//! Invariant: a text is split before characters that do not change, are not reordered, and do not compose with a
//! preceding character. Each part goes through the standard algorithm: decompose, order marks by class, compose.
//! Alignments follow HF: the first character of a decomposition takes the position of the original, and the others
//! count as insertions. An inserted mark stays an insertion when it is reordered. A composed character takes the
//! position of its first part, but its source (a range of the original text) covers all parts.
//!
//! Cost: linear; n log n within a run of n marks. Characters that do not change, and marks that are in order and do not
//! compose, are copied without decomposition (the quick check of the standard). Source: Unicode Standard Annex #15;
//! huggingface/tokenizers and the crate unicode-normalization-alignments for the alignments.

use unicode_normalization::char::{canonical_combining_class, compose, decompose_canonical, decompose_compatible};

use super::char_set::CharSet;
use super::properties::{Properties, CHANGES, NFC, NFD, NFKC, NFKD};
use crate::aligned_text::AlignedWriter;
use crate::error::Result;
use crate::util::cancel::CancelCheck;

/// A Unicode normalization form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

impl Form {
    fn composes(self) -> bool {
        matches!(self, Self::Nfc | Self::Nfkc)
    }

    /// Returns the property bit of characters that can change, be reordered, or compose with a preceding character.
    pub(super) fn unstable(self) -> u16 {
        match self {
            Self::Nfc => NFC,
            Self::Nfd => NFD,
            Self::Nfkc => NFKC,
            Self::Nfkd => NFKD,
        }
    }

    /// Returns the property bit that marks the characters decomposed by this form.
    fn decomposed(self) -> u16 {
        match self {
            Self::Nfc | Self::Nfd => NFD,
            Self::Nfkc | Self::Nfkd => NFKD,
        }
    }

    /// Writes the normal form of a chunk.
    pub(super) fn write(self, old: &str, writer: &mut AlignedWriter<'_>, cancel: &mut CancelCheck<'_>) -> Result<()> {
        if old.is_ascii() {
            writer.copy(old.len());
            return Ok(());
        }
        let properties = Properties::get();
        let unstable = CharSet::of_bits(self.unstable());
        let mut run =
            CombiningRun { form: self, properties, pending: Vec::new(), base: None, after: Vec::new(), class: None };
        let mut from = 0; // start of the text, or of the last stable character
        while from < old.len() {
            let found = unstable.find(old, from);
            from = found + self.ordered_marks(&old[found..], properties);
            if from > found {
                continue;
            }
            let before = &old[writer.at()..found];
            let held = if self.composes() && found < old.len() { before.chars().next_back() } else { None };
            writer.copy(before.len() - held.map_or(0, char::len_utf8));
            if let Some(held) = held {
                run.take(held, writer, cancel)?;
            }
            from = found;
            for c in old[found..].chars().take_while(|&c| unstable.has(c)) {
                run.take(c, writer, cancel)?;
                from += c.len_utf8();
            }
            run.finish(writer);
        }
        writer.copy(old.len() - writer.at());
        Ok(())
    }

    /// Returns the length in bytes of the leading marks, if they are in order and do not compose, so that the form does
    /// not change them.
    fn ordered_marks(self, text: &str, properties: &Properties) -> usize {
        let (mut bytes, mut last) = (0, 0);
        for c in text.chars() {
            let bits = properties.of(c);
            if bits & self.unstable() == 0 {
                break;
            }
            let class = canonical_combining_class(c);
            if bits & self.unstable() << CHANGES != 0 || class < last {
                return 0;
            }
            last = class;
            bytes += c.len_utf8();
        }
        bytes
    }
}

/// State of normalization (decompose, order marks, compose) for the text between two split points.
struct CombiningRun {
    form: Form,
    properties: &'static Properties,
    pending: Vec<(u8, char, isize)>, // (class, character, change), not yet ordered; only the first can have class 0
    base: Option<(char, isize)>,     // character with which marks can compose
    after: Vec<(char, isize)>,       // following characters that did not compose
    class: Option<u8>,               // combining class of the last element of `after`
}

impl CombiningRun {
    fn take(&mut self, c: char, writer: &mut AlignedWriter<'_>, cancel: &mut CancelCheck<'_>) -> Result<()> {
        cancel.check()?;
        if self.properties.of(c) & self.form.decomposed() == 0 {
            self.order(writer);
            self.pending.push((0, c, 0));
            return Ok(());
        }
        let form = self.form;
        let mut change = 0;
        let each = |c| {
            let class = canonical_combining_class(c);
            if class == 0 {
                self.order(writer);
            }
            self.pending.push((class, c, change));
            change = 1;
        };
        match form {
            Form::Nfc | Form::Nfd => decompose_canonical(c, each),
            Form::Nfkc | Form::Nfkd => decompose_compatible(c, each),
        }
        Ok(())
    }

    /// Orders the pending marks and writes them.
    fn order(&mut self, writer: &mut AlignedWriter<'_>) {
        let mut pending = std::mem::take(&mut self.pending);
        pending.sort_by_key(|(class, ..)| *class); // a stable sort keeps the order within a class
        for (class, c, change) in pending.drain(..) {
            match self.form.composes() {
                true => self.merge(class, c, change, writer),
                false => writer.put(c, change),
            }
        }
        self.pending = pending;
    }

    fn merge(&mut self, class: u8, c: char, change: isize, writer: &mut AlignedWriter<'_>) {
        let Some((base, base_change)) = self.base else {
            match class {
                0 => self.base = Some((c, change)),
                _ => writer.put(c, change),
            }
            return;
        };
        if self.class.is_none_or(|last| last < class) {
            // Only compositions of Unicode 9 apply; their results have a decomposition in the tables of Unicode 9.
            if let Some(merged) = compose(base, c).filter(|c| self.properties.of(*c) & NFD != 0) {
                self.base = Some((merged, base_change + change - 1));
                return;
            }
        }
        if class == 0 {
            self.put_base(writer);
            self.base = Some((c, change));
        } else {
            self.after.push((c, change));
            self.class = Some(class);
        }
    }

    fn put_base(&mut self, writer: &mut AlignedWriter<'_>) {
        for (c, change) in self.base.take().into_iter().chain(self.after.drain(..)) {
            writer.put(c, change);
        }
        self.class = None;
    }

    fn finish(&mut self, writer: &mut AlignedWriter<'_>) {
        self.order(writer);
        self.put_base(writer);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;
    use crate::aligned_text::AlignedText;
    use unicode_normalization::UnicodeNormalization;

    fn of(form: Form, text: &str) -> String {
        let mut aligned = AlignedText::new(text, true).unwrap();
        aligned.rewrite(|old, writer| form.write(old, writer, &mut CancelCheck::new(&|| true))).unwrap();
        assert_eq!(aligned.origins().len(), aligned.text().len());
        aligned.text().to_owned()
    }

    #[test]
    fn forms_equal_the_standard() {
        for text in [
            "",
            "plain",
            "e\u{301}e\u{323}\u{302}é\u{323}",
            "\u{301}\u{327}",
            "각가\u{1100}\u{1161}\u{11A8}\u{1161}",
            "ﬁ Å ①",
            "a\u{315}\u{300}\u{5ae}\u{344}b\u{f73}\u{f71}",
            "\u{3094}\u{9c7}\u{9be}\u{ddc}\u{dca}",
        ] {
            assert_eq!(of(Form::Nfc, text), text.nfc().collect::<String>());
            assert_eq!(of(Form::Nfd, text), text.nfd().collect::<String>());
            assert_eq!(of(Form::Nfkc, text), text.nfkc().collect::<String>());
            assert_eq!(of(Form::Nfkd, text), text.nfkd().collect::<String>());
        }
    }

    #[test]
    fn a_million_marks_are_normalized_in_time() {
        let text: String = std::iter::once('a').chain(['\u{315}', '\u{323}', '\u{301}'].repeat(300_000)).collect();
        for form in [Form::Nfc, Form::Nfd] {
            assert!(of(form, &text).len() >= text.len() - 6);
        }
    }
}
