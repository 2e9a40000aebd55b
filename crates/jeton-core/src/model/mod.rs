//! Models: encode a pretoken to ids.
//!
//! Each model has one file (`words` has four small models); `options` builds them from JSON. The tokens cover the
//! pretoken: each begins at the end of the previous one. An end-of-word mark covers no bytes of the text. A byte token
//! covers one byte of its character.
//!
//! Invariant: a special token in the output is the unknown token, or permitted by the caller (`Specials`). Text that
//! cannot be encoded without loss, because there is no unknown token, is an error, even where HF drops characters.
//!
//! ```text
//! bpe            BPE by a merge list or by ranks
//! merging        slow path of BPE, with `linked_symbols` and `rank_queue`
//! pairs          table of merges; `reconstruct` computes the merges from ranks
//! pieces         SentencePiece's BPE
//! unigram        Viterbi search, with `best_paths`
//! lattice        n best segmentations of Unigram, and sampled ones
//! words          WordLevel, WordPiece, SentencePiece's word and character models
//! fast           fast path of BPE: many pretokens at once
//! windows        linear-time merging of long pretokens
//! unknown        text that no entry covers
//! added_entries  added tokens that are also entries
//! dropout        BPE-dropout, with the random numbers of `sampling`
//! prefixes       token counts of all prefixes of a pretoken, with `token_parts`
//! merge_trees    the merges that form each entry
//! append         adds entries to a vocabulary
//! unformed       entries that are never formed
//! explain        merges of one pretoken, step by step
//! why            for models without merges: the alternatives that they considered
//! pair_effect    positions that no token crosses
//! ```

use crate::error::{Error, Result};
use crate::util::cancel::KeepGoing;
use crate::vocab::marks::{Marks, MARK};
use crate::vocab::merge_boundaries::{MarkBoundaries, SplitPoints};
use crate::vocab::Vocab;

mod added_entries;
pub mod append;
mod best_paths;
pub mod bpe;
mod dropout;
pub mod explain;
pub mod fast;
mod lattice;
mod linked_symbols;
pub mod merge_trees;
mod merging;
mod options;
mod output;
pub mod pair_effect;
pub mod pairs;
pub mod pieces;
pub mod prefixes;
mod rank_queue;
mod reconstruct;
mod sampling;
mod scratch;
mod token_parts;
pub mod unformed;
pub mod unigram;
mod unknown;
pub mod why;
mod windows;
pub mod words;

pub use added_entries::AddedEntries;
pub use lattice::MOST as MOST_SEGMENTATIONS;
pub use output::{Out, PlacedSegmentation, Segmentation, Specials};
pub use sampling::Sampler;
pub use scratch::Scratch;
pub use token_parts::TokenParts;
pub use unknown::Unknown;

/// A model.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)] // one model for each tokenizer; a box would cost the byte-level path one more load
pub enum Model {
    /// Byte-pair encoding by a merge list or by ranks.
    Bpe(bpe::Bpe),
    /// SentencePiece's BPE.
    Pieces(pieces::Pieces),
    /// Unigram: highest sum of scores.
    Unigram(unigram::Unigram),
    /// HF's WordPiece.
    WordPiece(words::WordPiece),
    /// HF's WordLevel.
    WordLevel(words::WordLevel),
    /// SentencePiece's word model.
    Words(words::Words),
    /// SentencePiece's character model.
    Chars(words::Chars),
}

impl Model {
    /// Appends the ids of one pretoken.
    ///
    /// # Errors
    /// `Text` for pretokens that the model cannot encode; `Interrupted` when `keep_going` returns false.
    #[inline]
    pub fn encode(
        &self,
        vocab: &Vocab,
        pretoken: &[u8],
        keep_going: KeepGoing<'_>,
        scratch: &mut Scratch,
        out: &mut Out<'_>,
    ) -> Result<()> {
        match self {
            Self::Bpe(model) => model.encode(vocab, pretoken, keep_going, scratch, out),
            _ if pretoken.is_empty() => Ok(()),
            Self::Pieces(model) => model.encode(vocab, pretoken, keep_going, scratch, out),
            Self::Unigram(model) => model.encode(pretoken, keep_going, scratch, out),
            Self::WordPiece(model) => model.encode(pretoken, keep_going, out),
            Self::WordLevel(model) => model.encode(vocab, pretoken, out),
            Self::Words(model) => model.encode(vocab, pretoken, keep_going, out),
            Self::Chars(model) => model.encode(vocab, pretoken, keep_going, out),
        }
    }

    /// Encodes with random sampling: BPE-dropout for both kinds of BPE, subword regularization for Unigram.
    ///
    /// # Errors
    /// As [`Model::encode`]; `Config` for models without sampling, and for invalid probabilities.
    pub fn sample(
        &self,
        vocab: &Vocab,
        pretoken: &[u8],
        sampler: &mut Sampler,
        keep_going: KeepGoing<'_>,
        scratch: &mut Scratch,
        out: &mut Out<'_>,
    ) -> Result<()> {
        if !(0.0..=1.0).contains(&sampler.dropout) {
            return Err(Error::config(format!("dropout must be a probability from 0 to 1, not {}", sampler.dropout)));
        }
        match self {
            Self::Bpe(_) | Self::Pieces(_) if sampler.dropout == 0.0 => {
                self.encode(vocab, pretoken, keep_going, scratch, out)
            }
            Self::Bpe(model) => model.sample(vocab, pretoken, sampler, keep_going, scratch, out),
            Self::Pieces(model) => model.sample(vocab, pretoken, sampler, keep_going, scratch, out),
            Self::Unigram(model) => model.sample(pretoken, sampler, keep_going, out),
            _ => {
                Err(Error::config("this model has only one segmentation of a text; BPE and Unigram models can sample"))
            }
        }
    }

    /// Returns the `n` best segmentations of a pretoken in descending order of their scores (Unigram only).
    ///
    /// # Errors
    /// As [`Model::encode`]; `Config` for another model, or `n` out of range.
    pub fn nbest(
        &self,
        pretoken: &[u8],
        n: usize,
        special: Specials<'_>,
        keep_going: KeepGoing<'_>,
    ) -> Result<Vec<Segmentation>> {
        match self {
            Self::Unigram(model) => model.nbest(pretoken, n, special, keep_going),
            _ => Err(Error::config("only Unigram models have n-best segmentations")),
        }
    }

    /// Returns the `n` best segmentations, with the end of each id in the pretoken.
    ///
    /// # Errors
    /// As [`Model::nbest`].
    pub fn nbest_with_ends(
        &self,
        pretoken: &[u8],
        n: usize,
        keep_going: KeepGoing<'_>,
    ) -> Result<Vec<PlacedSegmentation>> {
        match self {
            Self::Unigram(model) => model.nbest_with_ends(pretoken, n, Specials::None, keep_going),
            _ => Err(Error::config("only Unigram models have n-best segmentations")),
        }
    }

    /// Returns true if HF gives all byte tokens of a run of unknown text the same offsets.
    pub fn places_bytes_together(&self) -> bool {
        matches!(self, Self::Unigram(model) if !model.single)
    }

    /// Returns true if `id` is an unknown token for which HF shows the text that the token covers.
    pub fn shows_text_of(&self, id: u32) -> bool {
        matches!(self, Self::Unigram(model) if !model.single && model.unknown.unk() == Some(id))
    }

    /// Returns the id of the unknown token.
    pub fn unk(&self) -> Option<u32> {
        match self {
            Self::Bpe(model) => model.alphabet.unk(),
            Self::Pieces(model) => model.unknown.unk(),
            Self::Unigram(model) => model.unknown.unk(),
            Self::WordPiece(model) => Some(model.unk),
            Self::WordLevel(model) => model.unk,
            Self::Words(model) => model.unknown.unk(),
            Self::Chars(model) => model.unknown.unk(),
        }
    }

    /// Returns the prefix, such as `##`, of tokens that do not begin a pretoken; empty if the model has none. The
    /// prefix is not part of the text.
    pub fn continuing_prefix(&self) -> &str {
        match self {
            Self::Bpe(model) => model.alphabet.prefix(),
            Self::WordPiece(model) => &model.prefix,
            _ => "",
        }
    }

    /// Returns the split points inside of pretokens; None if the model permits no such splits.
    pub fn split_points(&self, vocab: &Vocab, marks: Marks) -> Option<SplitPoints> {
        match self {
            Self::Bpe(model) => model.split_points(vocab, marks),
            Self::Pieces(model) => model.split_points(vocab, marks),
            Self::Unigram(model) if model.is_sum_of_words() => {
                let no_inner = MarkBoundaries::new([].into_iter());
                Some(SplitPoints::new((marks, &no_inner), |_| false, None))
            }
            _ => None,
        }
    }

    /// Returns true if the model can encode texts in which `▁` is spelled as `marks` says: as itself or as a space.
    /// Both kinds of BPE accept spaces if they have a symbol for `▁` and do not look up whole pretokens.
    /// SentencePiece's BPE does so only if pretokens need not begin at each `▁`. Unigram accepts spaces if each `▁`
    /// begins a pretoken and pretokens are encoded independently.
    pub fn takes(&self, vocab: &Vocab, marks: Marks) -> bool {
        match (self, marks) {
            (_, Marks::Written) => true,
            (Self::Bpe(model), _) => model.has_marks(),
            (Self::Unigram(model), Marks::Spaces { begin_pretokens }) => begin_pretokens && !model.is_sum_of_words(),
            (Self::Pieces(_), Marks::Spaces { begin_pretokens }) => {
                !begin_pretokens && vocab.find(&MARK, false).is_some()
            }
            _ => false,
        }
    }

    /// Returns true if the model treats permitted special tokens as ordinary pieces.
    pub fn has_special_pieces(&self) -> bool {
        matches!(self, Self::Unigram(model) if model.has_special_pieces())
    }

    /// Returns the added tokens that are also entries of the model, in arbitrary order. Only HF's models list such
    /// tokens; the result is empty for other models. In SentencePiece's models, all added tokens are entries. In
    /// Unigram, added tokens with a score are entries.
    pub fn added_entries(&self) -> Vec<u32> {
        match self {
            Self::Bpe(model) => model.added_entries().collect(),
            Self::WordPiece(model) => model.added.ids().collect(),
            Self::WordLevel(model) => model.added.ids().collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the model if it is Unigram and encodes words independently.
    pub fn as_sum_of_words(&self) -> Option<&unigram::Unigram> {
        match self {
            Self::Unigram(model) if model.is_sum_of_words() => Some(model),
            _ => None,
        }
    }

    /// Returns true if encoding the first text already requires the pair table. In SentencePiece's BPE, this is only so
    /// for models with unused pieces; other models build the table once the encoded bytes justify the cost.
    pub fn needs_pairs(&self) -> bool {
        match self {
            Self::Bpe(model) => model.needs_pairs(),
            Self::Pieces(model) => model.needs_pairs(),
            _ => false,
        }
    }

    /// Announces texts of `bytes` bytes in total. SentencePiece's BPE builds the pair table if this justifies the cost.
    ///
    /// # Errors
    /// `Interrupted` when `keep_going` returns false.
    #[inline]
    pub fn announce(&self, vocab: &Vocab, bytes: usize, keep_going: KeepGoing<'_>) -> Result<()> {
        match self {
            Self::Pieces(model) if model.repays_pairs(vocab, bytes) => model.pairs(vocab, keep_going).map(drop),
            _ => Ok(()),
        }
    }

    /// Builds the pair table, if the model uses one, in time linear in the size of the vocabulary.
    ///
    /// # Errors
    /// `Interrupted` when `keep_going` returns false.
    pub fn prepare(&self, vocab: &Vocab, keep_going: KeepGoing<'_>) -> Result<()> {
        match self {
            Self::Bpe(model) if model.needs_pairs() => model.pairs(vocab, keep_going).map(drop),
            Self::Pieces(model) if !model.has_odd() => model.pairs(vocab, keep_going).map(drop),
            _ => Ok(()),
        }
    }

    /// Returns the merge list that replaces the scores of SentencePiece's BPE ([`pieces::Pieces::merge_list`]); empty
    /// for other models.
    ///
    /// # Errors
    /// `Interrupted`.
    pub fn piece_merges(&self, vocab: &Vocab, keep_going: KeepGoing<'_>) -> Result<Vec<(u32, u32, u32)>> {
        match self {
            Self::Pieces(model) => model.merge_list(vocab, keep_going),
            _ => Ok(Vec::new()),
        }
    }

    /// Returns the model, if it is BPE by merges or ranks.
    pub fn as_bpe(&self) -> Option<&bpe::Bpe> {
        match self {
            Self::Bpe(model) => Some(model),
            _ => None,
        }
    }
}
