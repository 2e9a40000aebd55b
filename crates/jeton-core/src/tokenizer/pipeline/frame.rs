//! Encoded texts with the tokens of the template, as columns with one row for each token.

use super::Tokenizer;
use crate::postprocess::{Item, Sequence, WhiteEnds};
use crate::tokenizer::spans::Encoding;
use crate::vocab::alphabet::Level;
use crate::vocab::Kind;

/// An encoded text or pair of texts with the tokens of the template, as columns with one row for each token.
#[derive(Debug, Clone, Default)]
pub struct Framed {
    /// Ids of the texts and of the template's tokens.
    pub ids: Vec<u32>,
    /// Byte range of each token in its text; empty for tokens of the template.
    pub byte_spans: Vec<(usize, usize)>,
    /// Character range of each token in its text.
    pub char_spans: Vec<(usize, usize)>,
    /// Hugging Face's offsets of each token.
    pub offsets: Vec<(usize, usize)>,
    /// Type ids, as the template sets them.
    pub type_ids: Vec<u32>,
    /// True for tokens of the template.
    pub special_tokens_mask: Vec<bool>,
    /// Index (0 or 1) of the text that each token is from; None for tokens of the template.
    pub sequences: Vec<Option<u8>>,
}

impl Tokenizer {
    /// Joins one or two encoded texts and the tokens of the template. Without `add`, these tokens are left out, and the
    /// template determines only the order and the type ids of the texts.
    pub fn frame_encodings(&self, texts: &[&[u8]], encodings: &[Encoding], add: bool) -> Framed {
        let tokens = |encoding: &Encoding| (0..encoding.ids.len()).map(Some).collect::<Vec<_>>();
        let indices: Vec<Vec<Option<usize>>> = encodings.iter().map(tokens).collect();
        let own = std::cell::RefCell::new(Vec::new()); // ids of the template's tokens, in order
        let assembled = self.template.apply(
            indices.first().map_or(&[], Vec::as_slice),
            indices.get(1).map(Vec::as_slice),
            add,
            |id| {
                own.borrow_mut().push(id);
                None
            },
        );
        let mut own = own.into_inner().into_iter();
        let mut framed = Framed {
            type_ids: assembled.type_ids,
            special_tokens_mask: assembled.special_tokens_mask,
            ..Framed::default()
        };
        for source in assembled.sources {
            let which = source.map(|source| (u8::from(source.sequence == Sequence::B), source.index));
            let found = which.and_then(|(which, index)| {
                Some((texts.get(usize::from(which))?, encodings.get(usize::from(which))?, index))
            });
            framed.sequences.push(which.map(|(which, _)| which));
            let Some((text, encoding, index)) = found else {
                framed.ids.push(own.next().unwrap_or_default());
                framed.byte_spans.push((0, 0));
                framed.char_spans.push((0, 0));
                framed.offsets.push((0, 0));
                continue;
            };
            let id = encoding.ids[index];
            let mut offsets = encoding.offsets[index];
            if self.template.trim_offsets() {
                let ends = self.white_ends(text, id, encoding.byte_spans[index]);
                ends.trim(self.template.add_prefix_space(), index, &mut offsets);
            }
            framed.ids.push(id);
            framed.byte_spans.push(encoding.byte_spans[index]);
            framed.char_spans.push(encoding.char_spans[index]);
            framed.offsets.push(offsets);
        }
        framed
    }

    /// Returns the white space at the start and end of a token, which HF excludes from the offsets of the token.
    /// `span`: byte range of the token in `text`.
    pub(in crate::tokenizer) fn white_ends(&self, text: &[u8], id: u32, (start, end): (usize, usize)) -> WhiteEnds {
        let is_entry = matches!(self.vocab.kind(id), Kind::Token | Kind::EndsWord);
        let is_bytes = is_entry && self.model.as_bpe().is_some_and(|bpe| bpe.alphabet.level == Level::Byte);
        // For an ordinary entry, the white space is taken from the token's content. Two kinds of tokens cover text that
        // can differ from their content: an added token covers its whole match, including white space at the ends; the
        // unknown token of HF's Unigram covers the unknown text. For these two kinds, the covered text is used.
        let found = if is_entry && !self.model.shows_text_of(id) { None } else { text.get(start..end) };
        WhiteEnds::of(found.unwrap_or(self.vocab.content(id)), is_bytes)
    }

    /// Joins the ids of many texts. Each text gets the tokens that the template adds to a single text.
    pub fn framed(&self, ids: &[u32], offsets: &[i64]) -> (Vec<u32>, Vec<i64>) {
        let num_texts = offsets.len().saturating_sub(1);
        let mut all = Vec::with_capacity(ids.len() + self.template.num_added(false) * num_texts);
        let mut starts = Vec::with_capacity(num_texts + 1);
        starts.push(0);
        for range in offsets.windows(2) {
            let text = ids.get(range[0] as usize..range[1] as usize).unwrap_or_default();
            for item in self.template.single() {
                match item {
                    Item::Ids { ids, .. } => all.extend_from_slice(ids),
                    Item::Sequence { sequence: Sequence::A, .. } => all.extend_from_slice(text),
                    Item::Sequence { sequence: Sequence::B, .. } => {} // skipped: there is no second text
                }
            }
            starts.push(all.len() as i64);
        }
        (all, starts)
    }

    /// Joins the token offsets of many texts, in the order in which [`Tokenizer::framed`] joins the ids. There are two
    /// numbers for each id; ids of the template have offsets (0, 0).
    pub fn framed_offsets(&self, spans: &[i64], offsets: &[i64]) -> Vec<i64> {
        let num_added = 2 * self.template.num_added(false) * offsets.len().saturating_sub(1);
        let mut all = Vec::with_capacity(spans.len() + num_added);
        for range in offsets.windows(2) {
            for item in self.template.single() {
                match item {
                    Item::Ids { ids, .. } => all.resize(all.len() + 2 * ids.len(), 0),
                    Item::Sequence { sequence: Sequence::A, .. } => {
                        let text = spans.get(2 * range[0] as usize..2 * range[1] as usize);
                        all.extend_from_slice(text.unwrap_or_default());
                    }
                    Item::Sequence { sequence: Sequence::B, .. } => {} // skipped, as in `framed`
                }
            }
        }
        all
    }
}
