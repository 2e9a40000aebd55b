//! Normalizers: each component rewrites the chunks of an [`AlignedText`] and updates the alignment.
//!
//! Invariant: on every text, a component gives the same result and the same alignment as the original library. For the
//! component `SentencePiece`, the original library is SentencePiece 0.2. For all other components, the original library
//! is huggingface/tokenizers 0.23, including its bugs. If a feature is not supported, the error names the feature.
//!
//! Cost: linear in the text, one pass for each component. If alignments are requested, BERT's component takes up to
//! five passes. Runs of unchanged characters are found 64 bytes at a time and copied. If no alignment is requested, a
//! text that does not change is borrowed ([`normalized`]). Components are built once.
//!
//! ```text
//! properties     properties of characters, one bit each
//! char_set       search for the first character of a text that can change
//! edit           components that process single characters
//! forms          NFC, NFD, NFKC, NFKD
//! bert           BERT's steps, in one pass if alignments are not requested
//! charsmap       SentencePiece's character map: a double-array trie and replacements
//! compile        normalization rules → character map
//! nfkc_rules     the named rules of SentencePiece
//! precompiled    character map as HF applies it
//! sentencepiece  character map as SentencePiece applies it, and its handling of white space
//! denormalizer   character map for decoded text, in fragments
//! replace        replacement of a text or a regex
//! pair_effect    effect of a normalizer on the position between two adjacent characters
//! outputs        characters that no normalized text contains
//! ```
//!
//! Source: huggingface/tokenizers, `normalizers/` and `tokenizer/normalizer.rs`; google/sentencepiece, `normalizer.cc`.
//! Left out: patterns that match the empty text, and a `Prepend` of the empty text, because HF itself corrupts text
//! after such components.

mod bert;
mod char_set;
mod charsmap;
pub mod compile;
mod denormalizer;
mod edit;
mod forms;
mod lower_case;
pub mod nfkc_rules;
pub mod outputs;
pub mod pair_effect;
mod precompiled;
mod properties;
mod replace;
mod sentencepiece;
mod starts;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use serde_json::Value;

use crate::aligned_text::{AlignedText, AlignedWriter};
use crate::error::{Error, Result};
use crate::util::cancel::{most_bytes, CancelCheck, KeepGoing};
use bert::Bert;
use charsmap::Charsmap;
use forms::Form;
use replace::Replace;
use sentencepiece::SentencePiece;

pub use denormalizer::{Denormalizer, DenormalizerState};
pub use sentencepiece::CharsmapOptions;
pub use starts::Started;

/// One component of a normalizer.
#[derive(Debug)]
pub struct Normalizer(NormalizerKind);

/// Effect of a component that inserts a prefix, replaces spaces, or does both, and changes nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marking<'a> {
    /// Text inserted before the chunk.
    pub prefix: &'a str,
    /// True if each space is replaced by `▁`, including spaces in the prefix.
    pub replaces: bool,
}

#[derive(Debug)]
enum NormalizerKind {
    Form(Form),
    Lowercase,
    Strip { left: bool, right: bool },
    StripAccents,
    Nmt,
    Bert(Bert),
    Prepend(String),
    ByteLevel,
    Replace(Box<Replace>),
    Precompiled(Charsmap),
    SentencePiece(Box<SentencePiece>),
}

impl Normalizer {
    /// Builds a component from its JSON. The component has a type of `tokenizer.json`, or Jeton's own type
    /// `SentencePiece`. `user_defined`: the texts of user-defined entries, used only by `SentencePiece`. Normalization
    /// matches these texts before all rules and leaves them unchanged.
    ///
    /// # Errors
    /// [`Error::config`] for an unknown or unsupported component, [`Error::format`] for a component with invalid
    /// content.
    pub fn from_json(part: &str, user_defined: &[&[u8]]) -> Result<Self> {
        Self::from_value(&parse(part)?, user_defined)
    }

    /// Builds SentencePiece's normalizer from a character map and options for white space.
    ///
    /// # Errors
    /// As [`Normalizer::from_json`].
    pub fn sentencepiece(map: Option<&[u8]>, options: CharsmapOptions, user_defined: &[&[u8]]) -> Result<Self> {
        let part = SentencePiece::new(map.map(Charsmap::new).transpose()?, options, user_defined)?;
        Ok(Self(NormalizerKind::SentencePiece(Box::new(part))))
    }

    /// Returns true if the component is a Unicode normalization form, such as NFC. If a form does not change a text, it
    /// aligns each character with itself.
    pub fn is_form(&self) -> bool {
        matches!(self.0, NormalizerKind::Form(_))
    }

    /// Returns the effect of a component that inserts a text before a chunk, replaces spaces by `▁`, or does both.
    /// Returns None if the component does anything else.
    pub fn marking(&self) -> Option<Marking<'_>> {
        match &self.0 {
            NormalizerKind::Prepend(prefix) => Some(Marking { prefix, replaces: false }),
            NormalizerKind::Replace(replace) => {
                replace.is_of(" ", sentencepiece::MARK).then_some(Marking { prefix: "", replaces: true })
            }
            NormalizerKind::SentencePiece(part) => {
                part.prefix_of_marks().map(|prefix| Marking { prefix, replaces: true })
            }
            _ => None,
        }
    }

    /// Reads normalizers from a JSON list of components.
    ///
    /// # Errors
    /// As [`Normalizer::from_json`].
    pub fn list_from_json(parts: &str, user_defined: &[&[u8]]) -> Result<Vec<Self>> {
        match parse(parts)? {
            Value::Array(parts) => parts.iter().map(|part| Self::from_value(part, user_defined)).collect(),
            _ => Err(Error::format("the normalizers are no list", "$.normalizer")),
        }
    }

    fn from_value(part: &Value, user_defined: &[&[u8]]) -> Result<Self> {
        let fields = Fields { part, kind: part["type"].as_str().unwrap_or_default() };
        Ok(Self(match fields.kind {
            "NFC" => NormalizerKind::Form(Form::Nfc),
            "NFD" => NormalizerKind::Form(Form::Nfd),
            "NFKC" => NormalizerKind::Form(Form::Nfkc),
            "NFKD" => NormalizerKind::Form(Form::Nfkd),
            "Lowercase" => NormalizerKind::Lowercase,
            "Strip" => NormalizerKind::Strip { left: fields.flag("strip_left")?, right: fields.flag("strip_right")? },
            "StripAccents" => NormalizerKind::StripAccents,
            "Nmt" => NormalizerKind::Nmt,
            "BertNormalizer" => {
                let lowercase = fields.flag("lowercase")?;
                NormalizerKind::Bert(Bert {
                    clean: fields.flag("clean_text")?,
                    chinese: fields.flag("handle_chinese_chars")?,
                    accents: if part["strip_accents"].is_null() { lowercase } else { fields.flag("strip_accents")? },
                    lowercase,
                })
            }
            "Prepend" => match fields.text("prepend")? {
                "" => {
                    let message = "a Prepend of the empty text is not supported";
                    return Err(Error::unsupported("Prepend of the empty text", message));
                }
                text => NormalizerKind::Prepend(text.to_owned()),
            },
            "ByteLevel" => NormalizerKind::ByteLevel,
            "Replace" => NormalizerKind::Replace(Box::new(fields.replace()?)),
            "Precompiled" => NormalizerKind::Precompiled(Charsmap::new(&fields.charsmap()?)?),
            "SentencePiece" => NormalizerKind::SentencePiece(Box::new(fields.sentencepiece(user_defined)?)),
            _ => return Err(Error::config(format!("the normalizer {} is not known", part["type"]))),
        }))
    }

    /// Normalizes bytes as SentencePiece does. Returns the text and the alignment that SentencePiece would return.
    ///
    /// # Errors
    /// [`Error::config`] if the component is not `SentencePiece`; [`Error::text`] for a text over 4 GiB; `Interrupted`.
    pub fn with_starts(&self, text: &[u8], keep_going: KeepGoing<'_>) -> Result<Started> {
        match &self.0 {
            NormalizerKind::SentencePiece(part) => part.with_starts(text, &mut CancelCheck::new(keep_going)),
            _ => Err(Error::config("only SentencePiece's normalizer aligns bytes with starts")),
        }
    }

    /// Normalizes bytes like [`Normalizer::with_starts`], but returns only the text, without the alignment. Valid UTF-8
    /// takes a fast path.
    ///
    /// # Errors
    /// As [`Normalizer::with_starts`].
    pub fn without_starts(&self, text: &[u8], keep_going: KeepGoing<'_>) -> Result<String> {
        let Ok(valid) = std::str::from_utf8(text) else { return Ok(self.with_starts(text, keep_going)?.text) };
        Ok(normalized(std::slice::from_ref(self), valid, keep_going)?.into_owned())
    }

    /// Rewrites the chunks of a text.
    ///
    /// # Errors
    /// [`Error::text`] for a regex that exceeds its budget; `Interrupted`.
    pub fn apply(&self, aligned: &mut AlignedText, keep_going: KeepGoing<'_>) -> Result<()> {
        let cancel = &mut CancelCheck::new(keep_going);
        match &self.0 {
            NormalizerKind::Bert(part) => part.apply(aligned, cancel),
            _ => aligned.rewrite(|old, writer| self.write(old, writer, cancel)),
        }
    }

    /// Writes the replacement of a chunk. BERT's component supports a writer with alignment only if `old` is ASCII.
    fn write(&self, old: &str, writer: &mut AlignedWriter<'_>, cancel: &mut CancelCheck<'_>) -> Result<()> {
        match &self.0 {
            NormalizerKind::Form(form) => form.write(old, writer, cancel),
            NormalizerKind::Lowercase => edit::lowercase(old, writer, cancel),
            NormalizerKind::Strip { left, right } => {
                edit::strip(old, writer, *left, *right);
                Ok(())
            }
            NormalizerKind::StripAccents => edit::strip_accents(old, writer, cancel),
            NormalizerKind::Nmt => edit::nmt(old, writer, cancel),
            NormalizerKind::Bert(part) => part.write(old, writer, cancel),
            NormalizerKind::Prepend(text) => {
                edit::prepend(old, writer, text);
                Ok(())
            }
            NormalizerKind::ByteLevel => edit::byte_level(old, writer, cancel),
            NormalizerKind::Replace(replace) => replace.write(old, writer, cancel),
            NormalizerKind::Precompiled(map) => precompiled::write(map, old, writer, cancel),
            NormalizerKind::SentencePiece(part) => part.write(old, writer, cancel),
        }
    }
}

/// Normalizes a text by components in order, without alignment. The result is borrowed if every component leaves the
/// text unchanged and would align each character with itself.
///
/// # Errors
/// As [`Normalizer::apply`].
pub fn normalized<'t>(parts: &[Normalizer], text: &'t str, keep_going: KeepGoing<'_>) -> Result<Cow<'t, str>> {
    let most = most_bytes(text.len()).min(u32::MAX as usize); // positions have 32 bits, as in an aligned text
    let mut new = Cow::Borrowed(text);
    for part in parts {
        let mut cancel = CancelCheck::new(keep_going);
        if let Some(text) = AlignedText::rewritten(&new, most, |old, writer| part.write(old, writer, &mut cancel))? {
            new = Cow::Owned(text);
        }
    }
    Ok(new)
}

/// Normalizes a text by components in order, with the alignment that splitters need. `at`: position of the text in the
/// input.
///
/// # Errors
/// As [`Normalizer::apply`]; [`Error::text`] for an input of 4 GiB or more.
pub fn aligned(
    parts: &[Normalizer],
    text: &str,
    at: usize,
    is_traced: bool,
    keep_going: KeepGoing<'_>,
) -> Result<AlignedText> {
    let new = normalized(parts, text, keep_going)?;
    let is_changed = matches!(new, Cow::Owned(_));
    if !is_changed || !is_traced {
        let mut aligned = AlignedText::part_of(&new, at, is_traced)?;
        aligned.set_limit(most_bytes(text.len()));
        return Ok(aligned);
    }
    let mut aligned = AlignedText::part_of(text, at, true)?;
    parts.iter().try_for_each(|part| part.apply(&mut aligned, keep_going))?;
    Ok(aligned)
}

impl Denormalizer {
    /// Builds a denormalizer from its JSON: a character map and the options of SentencePiece's normalizer.
    ///
    /// # Errors
    /// [`Error::format`] for missing options and an invalid map.
    pub fn from_value(part: &Value) -> Result<Self> {
        let fields = Fields { part, kind: "the denormalizer" };
        let options = CharsmapOptions {
            add_dummy_prefix: fields.flag("add_dummy_prefix")?,
            remove_extra_whitespaces: fields.flag("remove_extra_whitespaces")?,
            escape_whitespaces: fields.flag("escape_whitespaces")?,
            treat_whitespace_as_suffix: false,
        };
        Self::new(&fields.charsmap()?, options)
    }
}

fn parse(json: &str) -> Result<Value> {
    serde_json::from_str(json).map_err(|error| Error::format(format!("no JSON: {error}"), "$.normalizer"))
}

/// JSON fields of a component, with the kind of the component for error messages.
struct Fields<'a> {
    part: &'a Value,
    kind: &'a str,
}

impl Fields<'_> {
    fn wrong(&self, name: &str, expected: &str) -> Error {
        Error::format(format!("{} needs {expected}", self.kind), format!("$.normalizer.{name}"))
    }

    fn flag(&self, name: &str) -> Result<bool> {
        self.part[name].as_bool().ok_or_else(|| self.wrong(name, "true or false"))
    }

    fn text(&self, name: &str) -> Result<&str> {
        self.part[name].as_str().ok_or_else(|| self.wrong(name, "a text"))
    }

    fn charsmap(&self) -> Result<Vec<u8>> {
        let name = "precompiled_charsmap";
        STANDARD.decode(self.text(name)?).map_err(|error| self.wrong(name, &format!("base64 ({error})")))
    }

    fn replace(&self) -> Result<Replace> {
        let (pattern, content) = (&self.part["pattern"], self.text("content")?);
        match (pattern["String"].as_str(), pattern["Regex"].as_str()) {
            (Some(text), None) => Replace::text(text, content),
            (None, Some(regex)) => Replace::regex(regex, content),
            _ => Err(self.wrong("pattern", "a String or a Regex")),
        }
    }

    fn sentencepiece(&self, user_defined: &[&[u8]]) -> Result<SentencePiece> {
        let has_map = !matches!(self.part["precompiled_charsmap"].as_str(), None | Some(""));
        let map = if has_map { Some(Charsmap::new(&self.charsmap()?)?) } else { None };
        let options = CharsmapOptions {
            add_dummy_prefix: self.flag("add_dummy_prefix")?,
            remove_extra_whitespaces: self.flag("remove_extra_whitespaces")?,
            escape_whitespaces: self.flag("escape_whitespaces")?,
            treat_whitespace_as_suffix: self.flag("treat_whitespace_as_suffix")?,
        };
        SentencePiece::new(map, options, user_defined)
    }
}

#[cfg(test)]
mod alignment_tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;
    use crate::aligned_text::InputRange;

    fn run(parts: &str, text: &str) -> (String, Vec<(u32, u32)>) {
        let mut aligned = AlignedText::new(text, true).unwrap();
        for part in Normalizer::list_from_json(parts, &[b"x  y"]).unwrap() {
            part.apply(&mut aligned, &|| true).unwrap();
        }
        let origins = aligned.origins().iter().map(|InputRange { start, end }| (*start, *end));
        (aligned.text().to_owned(), origins.collect())
    }

    #[test]
    fn components_apply_in_order() {
        let parts = r#"[{"type":"NFD"},{"type":"StripAccents"},{"type":"Lowercase"},{"type":"Prepend","prepend":"_"}]"#;
        assert_eq!(run(parts, "\u{C9}a"), ("_ea".into(), vec![(0, 2), (0, 2), (2, 3)]));
    }

    /// Returns, for each byte of the normalized text, its source: a range of the input.
    fn sources(parts: &str, text: &str) -> Vec<(u32, u32)> {
        let mut aligned = AlignedText::new(text, true).unwrap();
        for part in Normalizer::list_from_json(parts, &[]).unwrap() {
            part.apply(&mut aligned, &|| true).unwrap();
        }
        aligned.sources().iter().map(|range| (range.start, range.end)).collect()
    }

    #[test]
    fn sources_cover_all_replaced_text() {
        let nfc = r#"[{"type":"NFC"}]"#;
        assert_eq!(run(nfc, "e\u{301}").1, [(0, 1); 2]);
        assert_eq!(sources(nfc, "e\u{301}a"), [(0, 3), (0, 3), (3, 4)]);
        assert_eq!(sources(nfc, "\u{1100}\u{1161}\u{11A8}"), [(0, 9); 3]);
        // NFC reorders these marks, but the ranges stay in the order of the input.
        assert_eq!(sources(nfc, "a\u{315}\u{300}"), [(0, 3), (0, 3), (3, 5), (3, 5)]);
        let again = r#"[{"type":"NFC"},{"type":"NFD"},{"type":"StripAccents"}]"#;
        assert_eq!(sources(again, "xe\u{301}a"), [(0, 1), (1, 4), (4, 5)]);
        let replace = r#"[{"type":"Replace","pattern":{"String":"ab"},"content":"cd"}]"#;
        assert_eq!(run(replace, "xab").1, [(0, 1), (2, 3), (2, 3)]);
        assert_eq!(sources(replace, "xab"), [(0, 1), (1, 3), (1, 3)]);
        let removed = r#"[{"type":"Replace","pattern":{"String":"ab"},"content":""},{"type":"NFC"}]"#;
        assert_eq!(sources(removed, "eab\u{301}a"), [(0, 5), (0, 5), (5, 6)]);
    }

    #[test]
    fn sentencepiece_handles_white_space_by_its_options() {
        let parts = r#"[{"type":"SentencePiece","precompiled_charsmap":null,"add_dummy_prefix":true,
            "remove_extra_whitespaces":true,"escape_whitespaces":false,"treat_whitespace_as_suffix":false}]"#;
        let (text, origins) = run(parts, "  a  b ");
        assert_eq!((text.as_str(), origins), (" a b", vec![(2, 2), (2, 3), (3, 4), (5, 6)]));
        assert_eq!(run(parts, "a x  y").0, " a x  y");
        assert_eq!(run(parts, "   ").0, "");
        assert_eq!(run(&parts.replace("as_suffix\":false", "as_suffix\":true"), "a  ").1, [(0, 1), (1, 1)]);
    }

    #[test]
    fn errors_name_the_defect_of_a_component() {
        for (part, expected) in [
            ("{", "JSON"),
            ("{}", "not known"),
            (r#"{"type":"Strip","strip_left":true}"#, "strip_right"),
            (r#"{"type":"Replace","pattern":"a","content":"b"}"#, "a String or a Regex"),
            (r#"{"type":"Replace","pattern":{"Regex":"a*"},"content":"b"}"#, "matches the empty text"),
            (r#"{"type":"Precompiled","precompiled_charsmap":"?"}"#, "base64"),
        ] {
            let error = Normalizer::from_json(part, &[]).unwrap_err().to_string();
            assert!(error.contains(expected), "{part}: {error}");
        }
    }
}
