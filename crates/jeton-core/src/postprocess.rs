//! Templates that add tokens around the ids of a text or a pair of texts; HF's trimming of offsets.
//!
//! A template is a list of items: a sequence (A, the text; B, the other text of a pair) or fixed ids, each with a type
//! id. HF's BertProcessing, RobertaProcessing and TemplateProcessing are such lists. Without a template, a pair is A
//! with type id 0, then B with type id 1.
//!
//! Invariant: without special tokens, sequences keep the template's order and type ids.
//! Cost: linear in the output.
//! Source: huggingface/tokenizers, processors/template.rs, pre_tokenizers/byte_level.rs (`process_offsets`).
//! Left out: truncation and padding.

use serde::Deserialize;

use crate::error::{Error, Result};

/// Maximum number of sequences in a template. HF has no limit. Jeton's limit prevents a file of a few kilobytes from
/// repeating a text thousands of times.
const MOST_SEQUENCES: usize = 16;

/// One of the two texts of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Sequence {
    /// The text, or the first text of a pair.
    A,
    /// The second text of a pair.
    B,
}

/// An item of a template.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Item {
    /// All tokens of a text.
    Sequence {
        /// One of the two texts.
        sequence: Sequence,
        /// Type id of the text's tokens.
        type_id: u32,
    },
    /// Fixed tokens of the template.
    Ids {
        /// Ids in order.
        ids: Vec<u32>,
        /// Type id of these tokens.
        type_id: u32,
    },
}

/// Templates for one text and for a pair of texts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    single: Vec<Item>,
    #[serde(default = "both", deserialize_with = "or_both")]
    pair: Vec<Item>,
    #[serde(default)]
    trim_offsets: bool,
    #[serde(default)]
    add_prefix_space: bool,
    /// Option for the rows of overflowing tokens. The core ignores this option, because the caller creates these rows.
    #[serde(default, rename = "overflow_type_ids")]
    _overflow_type_ids: Option<bool>,
}

fn item(sequence: Sequence, type_id: u32) -> Item {
    Item::Sequence { sequence, type_id }
}

fn both() -> Vec<Item> {
    vec![item(Sequence::A, 0), item(Sequence::B, 1)]
}

fn or_both<'de, D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<Item>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_else(both))
}

/// The default template adds no tokens: it consists of text A, or of texts A and B.
impl Default for Template {
    fn default() -> Self {
        Self {
            single: vec![item(Sequence::A, 0)],
            pair: both(),
            trim_offsets: false,
            add_prefix_space: false,
            _overflow_type_ids: None,
        }
    }
}

/// Origin of a token in the output of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenSource {
    /// Text that the token belongs to.
    pub sequence: Sequence,
    /// Index of the token in the text.
    pub index: usize,
}

/// Output of a template, as columns of equal length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembled<T> {
    /// Tokens of the texts and of the template, in order.
    pub tokens: Vec<T>,
    /// Type id of each token.
    pub type_ids: Vec<u32>,
    /// True for tokens of the template.
    pub special_tokens_mask: Vec<bool>,
    /// Origin of each token; `None` for tokens of the template.
    pub sources: Vec<Option<TokenSource>>,
}

impl Template {
    /// Reads `{"single": [item…], "pair": [item…] | null, "trim_offsets": …, "add_prefix_space": …}`, where an item is
    /// `{"sequence": "A" | "B", "type_id": …}` or `{"ids": [id…], "type_id": …}`. If `pair` is missing, a pair becomes
    /// A followed by B.
    ///
    /// # Errors
    /// [`Error::config`] for invalid JSON, for a `single` with B, and for a list with more than 16 sequences.
    pub fn from_json(json: &str) -> Result<Self> {
        let template: Self = serde_json::from_str(json)
            .map_err(|error| Error::config(format!("the template cannot be read: {error}")))?;
        let is_b = |item: &Item| matches!(item, Item::Sequence { sequence: Sequence::B, .. });
        if template.single.iter().any(is_b) {
            return Err(Error::config("the template for one text names the sequence B, which only exists in pairs"));
        }
        for items in [&template.single, &template.pair] {
            if items.iter().filter(|item| matches!(item, Item::Sequence { .. })).count() > MOST_SEQUENCES {
                return Err(Error::config(format!("a template names its sequences more than {MOST_SEQUENCES} times")));
            }
        }
        Ok(template)
    }

    /// Returns the items for one text.
    pub fn single(&self) -> &[Item] {
        &self.single
    }

    /// Returns the items for a pair.
    pub fn pair(&self) -> &[Item] {
        &self.pair
    }

    /// Returns true if offsets exclude white space at the ends of tokens: see [`trim_offsets`].
    pub fn trim_offsets(&self) -> bool {
        self.trim_offsets
    }

    /// Returns true if [`trim_offsets`] keeps a single leading space in the offsets of a text's first token.
    pub fn add_prefix_space(&self) -> bool {
        self.add_prefix_space
    }

    /// Returns the number of ids that the template adds to a text, or to a pair.
    pub fn num_added(&self, is_pair: bool) -> usize {
        let added = |item: &Item| match item {
            Item::Ids { ids, .. } => ids.len(),
            Item::Sequence { .. } => 0,
        };
        self.items(is_pair, true).map(added).sum()
    }

    /// Returns the items of the template. If `add_special_tokens` is false, leaves out its fixed tokens.
    pub fn items(&self, is_pair: bool, add_special_tokens: bool) -> impl Iterator<Item = &Item> {
        let items = if is_pair { &self.pair } else { &self.single };
        items.iter().filter(move |item| add_special_tokens || matches!(item, Item::Sequence { .. }))
    }

    /// Applies the template to the tokens of one text or of a pair; `own` creates a token from an id of the template.
    pub fn apply<T: Clone>(
        &self,
        first: &[T],
        second: Option<&[T]>,
        add_special_tokens: bool,
        own: impl Fn(u32) -> T,
    ) -> Assembled<T> {
        let mut out = Assembled {
            tokens: Vec::new(),
            type_ids: Vec::new(),
            special_tokens_mask: Vec::new(),
            sources: Vec::new(),
        };
        for item in self.items(second.is_some(), add_special_tokens) {
            let type_id = match item {
                &Item::Sequence { sequence, type_id } => {
                    let tokens = match sequence {
                        Sequence::A => first,
                        Sequence::B => second.unwrap_or_default(),
                    };
                    out.tokens.extend_from_slice(tokens);
                    out.sources.extend((0..tokens.len()).map(|index| Some(TokenSource { sequence, index })));
                    type_id
                }
                Item::Ids { ids, type_id } => {
                    out.tokens.extend(ids.iter().map(|&id| own(id)));
                    out.sources.resize(out.tokens.len(), None);
                    *type_id
                }
            };
            out.type_ids.resize(out.tokens.len(), type_id);
            out.special_tokens_mask.resize(out.tokens.len(), matches!(item, Item::Ids { .. }));
        }
        out
    }
}

/// Excludes white space at both ends of a token from its offsets, as HF's ByteLevel and RobertaProcessing do.
///
/// `content` is the content of the token. `is_bytes` is true if the content is the bytes of a byte-level entry. Then
/// only the space counts as white space, because HF tests the spelling, in which `Ċ` stands for a line feed. `is_bytes`
/// is false for text (an added token, or a spelling such as `Ġthe`). `index` is the index of the token in its text.
/// `span` is in characters. It does not contain the space that `add_prefix_space` inserts before the text, so nothing is
/// subtracted for this space.
#[must_use]
pub fn trim_offsets(
    content: &[u8],
    is_bytes: bool,
    add_prefix_space: bool,
    index: usize,
    mut span: (usize, usize),
) -> (usize, usize) {
    WhiteEnds::of(content, is_bytes).trim(add_prefix_space, index, &mut span);
    span
}

/// Numbers of white-space characters, by HF's definition, at the start and at the end of a token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WhiteEnds {
    /// Number of white-space characters at the start of the token.
    pub leading: usize,
    /// Number of white-space characters at the end of the token.
    pub trailing: usize,
}

impl WhiteEnds {
    /// Counts the white space at both ends of a token; `content` and `is_bytes` are as in [`trim_offsets`].
    pub fn of(content: &[u8], is_bytes: bool) -> Self {
        if is_bytes {
            let leading = content.iter().take_while(|&&byte| byte == b' ').count();
            return Self { leading, trailing: content.iter().rev().take_while(|&&byte| byte == b' ').count() };
        }
        let is_white = |c: &char| *c == 'Ġ' || c.is_whitespace();
        let text = String::from_utf8_lossy(content);
        let leading = text.chars().take_while(is_white).count();
        Self { leading, trailing: text.chars().rev().take_while(is_white).count() }
    }

    /// Trims the offsets `span` of the token; the arguments are as in [`trim_offsets`].
    #[inline]
    pub fn trim(self, add_prefix_space: bool, index: usize, span: &mut (usize, usize)) {
        // Uses no branches, because they would be mispredicted: half of the tokens begin with a space.
        let is_kept = (self.leading == 1) & add_prefix_space & ((index == 0) | (span.0 == 0));
        span.0 = (span.0 + if is_kept { 0 } else { self.leading }).min(span.1);
        let end = span.1.saturating_sub(self.trailing).max(span.0);
        span.1 = if span.1 >= self.trailing { end } else { span.1 };
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    const BERT: &str = r#"{"single":[{"ids":[101],"type_id":0},{"sequence":"A","type_id":0},{"ids":[102],"type_id":0}],
        "pair":[{"ids":[101],"type_id":0},{"sequence":"A","type_id":0},{"ids":[102],"type_id":0},
        {"sequence":"B","type_id":1},{"ids":[102],"type_id":1}],"trim_offsets":false,"add_prefix_space":false}"#;

    fn from(sequence: Sequence, index: usize) -> Option<TokenSource> {
        Some(TokenSource { sequence, index })
    }

    #[test]
    fn template_adds_ids_around_texts() {
        let bert = Template::from_json(BERT).unwrap();
        assert_eq!((bert.num_added(false), bert.num_added(true)), (2, 3));
        let pair = bert.apply(&[7, 8], Some(&[9]), true, |id| id);
        assert_eq!(pair.tokens, [101, 7, 8, 102, 9, 102]);
        assert_eq!(pair.type_ids, [0, 0, 0, 0, 1, 1]);
        assert_eq!(pair.special_tokens_mask, [true, false, false, true, false, true]);
        let sources = [None, from(Sequence::A, 0), from(Sequence::A, 1), None, from(Sequence::B, 0), None];
        assert_eq!(pair.sources, sources);
        let bare = bert.apply(&[7, 8], Some(&[9]), false, |id| id);
        assert_eq!((bare.tokens, bare.type_ids), (vec![7, 8, 9], vec![0, 0, 1]));
        assert_eq!(bert.apply(&[7], None, true, |id| id).tokens, [101, 7, 102]);
    }

    #[test]
    fn template_without_a_pair_adds_nothing_to_a_pair() {
        let single = r#"{"single":[{"ids":[1,2],"type_id":3},{"sequence":"A","type_id":4},{"sequence":"A","type_id":5}],"pair":null}"#;
        let template = Template::from_json(single).unwrap();
        assert_eq!(template.pair(), Template::default().pair());
        let out = template.apply(&[9], None, true, |id| id);
        assert_eq!((out.tokens, out.type_ids), (vec![1, 2, 9, 9], vec![3, 3, 4, 5]));
        assert_eq!(Template::default().apply(&[9], Some(&[]), true, |id| id).type_ids, [0]);
    }

    #[test]
    fn errors_name_the_defect_of_a_template() {
        let b = r#"{"single":[{"sequence":"B","type_id":0}]}"#.to_owned();
        let many = format!(r#"{{"single":[{}]}}"#, vec![r#"{"sequence":"A","type_id":0}"#; 17].join(","));
        for (json, named) in [
            (b, "B"),
            (many, "16"),
            (r#"{"single":[{"sequence":"C","type_id":0}]}"#.to_owned(), "template"),
            (r#"{"single":[],"double":[]}"#.to_owned(), "double"),
            (r#"{"pair":[]}"#.to_owned(), "single"),
        ] {
            let error = Template::from_json(&json).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn trimmed_offsets_exclude_white_space() {
        assert_eq!(trim_offsets(b" the", true, false, 1, (3, 7)), (4, 7));
        assert_eq!(trim_offsets("Ġthe".as_bytes(), false, false, 1, (3, 7)), (4, 7));
        assert_eq!(trim_offsets(b"\n", true, false, 1, (3, 4)), (3, 4));
        assert_eq!(trim_offsets(b"\n", false, false, 1, (3, 4)), (4, 4));
        assert_eq!(trim_offsets(b"  ", true, false, 1, (3, 5)), (5, 5));
        assert_eq!(trim_offsets(b" the", true, true, 0, (0, 3)), (0, 3));
        assert_eq!(trim_offsets(b"  the", true, true, 0, (0, 4)), (2, 4));
        assert_eq!(trim_offsets(b"a  ", true, true, 0, (0, 1)), (0, 1)); // HF: fewer characters than spaces
    }
}
