//! The pipeline that owns the stages: match added tokens, normalize, pretokenize, model, postprocess; and decode.
//!
//! Invariant: same text, same tokenizer, same ids, for any number of threads and any grouping of texts.
//! Nothing here changes after construction, so a tokenizer can be shared between threads.
//!
//! Text goes to the model in *segments*: added tokens and pretokens. Where nothing rewrites text and one pattern cuts
//! it, segments are borrowed from the text; else they come from a `Draft` of each stretch between added tokens.
//!
//! `build` puts a tokenizer together, `segments` cuts, `long` serves long texts and batches on threads, `spans` says
//! where each id comes from, `explain` why.

mod build;
mod explain;
mod frame;
mod long;
mod permit;
mod segments;
mod spans;

pub use build::{Extras, ENTRY};
pub use explain::{Explained, Explanation, Why};
pub use frame::Framed;
pub use long::Input;
pub use permit::{Permission, Permit};
pub use segments::{Place, Segment};
pub use spans::{Chunk, Encoding};

use crate::cancel::KeepGoing;
use crate::decode::{Decoded, Decoder};
use crate::encode::Encoder;
use crate::error::Result;
use crate::model::{Model, Out, Sampler, Scratch};
use crate::normalize::Normalizer;
use crate::postprocess::Template;
use crate::pretokenize::{Pretokenizer, Splitter};
use crate::special::Matcher;
use crate::vocab::Vocab;

/// A tokenizer.
#[derive(Debug)]
pub struct Tokenizer {
    vocab: Vocab,
    added: Vec<u32>,       // ids of added tokens, special or not
    flags: Vec<(u32, u8)>, // of added tokens that have any, by rising id
    scores: Vec<f64>,      // by id; empty where the model has none
    model: Model,
    encoder: Encoder,
    decoder: Decoder,
    template: Template,
    normalizers: Vec<Normalizer>,
    splitters: Vec<Splitter>,
    plain: Option<Pretokenizer>, // all that happens before the model, where that is one pattern
    byte_alphabet: bool,         // pieces spell bytes in the byte alphabet
    needs_origins: bool,         // a splitter looks where its pieces come from
    model_finds_added: bool,     // SentencePiece: user-defined pieces are its normalizer's and its model's business
    spellings: Vec<(u32, Vec<u8>)>, // what normalized text holds of added tokens that are looked for there
    matchers: [Matchers; 2],     // for no special tokens, and for all
}

/// Matchers of added tokens in raw and in normalized text.
#[derive(Debug, Clone, Default)]
struct Matchers {
    raw: Option<Matcher>,
    normalized: Option<Matcher>,
}

impl Tokenizer {
    /// The ids of all added tokens, special or not, ascending.
    pub fn added(&self) -> &[u32] {
        &self.added
    }

    /// The flags of an added token: 1 strips white space on the left, 2 on the right, 4 matches single words only, 8
    /// matches normalized text, 16 is an entry of the model, too.
    pub fn flags(&self, id: u32) -> u8 {
        self.flags.binary_search_by_key(&id, |&(id, _)| id).map_or(0, |at| self.flags[at].1)
    }

    /// All flags that are not 0, by rising id.
    pub fn all_flags(&self) -> &[(u32, u8)] {
        &self.flags
    }

    /// The scores by id; empty where the model has none.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// id ↔ bytes.
    pub fn vocab(&self) -> &Vocab {
        &self.vocab
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Template around a text or a pair.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// Appends the ids of `text` to `out`, one pretoken after the other: the slow path, which the fast path of
    /// [`Tokenizer::encode_long`] equals.
    ///
    /// # Errors
    /// As [`Tokenizer::for_each_segment`] and [`Model::encode`].
    pub fn encode(
        &self,
        text: &[u8],
        permit: &Permit<'_>,
        keep_going: KeepGoing<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        // Traced where an error tells the place.
        self.for_each_segment(text, permit, permit.refuses(), keep_going, |segment| {
            self.encode_segment(&segment, keep_going, scratch, &mut Out { special: permit.specials(), ..Out::ids(out) })
        })
    }

    /// Encodes with random sampling: merges left out, or segmentations drawn.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn sample(
        &self,
        text: &[u8],
        permit: &Permit<'_>,
        sampler: &mut Sampler,
        keep_going: KeepGoing<'_>,
    ) -> Result<Vec<u32>> {
        let (mut scratch, mut ids) = (Scratch::default(), Vec::new());
        self.for_each_segment(text, permit, permit.refuses(), keep_going, |segment| {
            let mut out = Out { special: permit.specials(), ..Out::ids(&mut ids) };
            match segment.added {
                Some(id) => out.ids.push(id),
                None => self
                    .model
                    .sample(&self.vocab, segment.bytes, sampler, keep_going, &mut scratch, &mut out)
                    .map_err(|error| segment.located(error))?,
            }
            Ok(())
        })?;
        Ok(ids)
    }

    /// The n best segmentations of a text, best first, with their scores.
    ///
    /// # Errors
    /// As [`Model::nbest`].
    pub fn nbest(
        &self,
        text: &[u8],
        permit: &Permit<'_>,
        n: usize,
        keep_going: KeepGoing<'_>,
    ) -> Result<Vec<(Vec<u32>, f64)>> {
        let mut segments = Vec::new(); // of each its own best, and which of the best so far each of the best goes on from
        let mut best = vec![(0.0, 0, 0)]; // score, which of the best so far, which of the segment's own
        self.for_each_segment(text, permit, permit.refuses(), keep_going, |segment| {
            let own = match segment.added {
                Some(id) => vec![(vec![id], 0.0)],
                None => {
                    let best = self.model.nbest(segment.bytes, n, permit.specials(), keep_going);
                    best.map_err(|error| segment.located(error))?
                }
            };
            // Of both lists the best come first, so the i-th with the j-th has (i + 1)(j + 1) - 1 others before it.
            let joined = |(i, so_far): (usize, &(f64, usize, usize))| {
                let so_far = so_far.0;
                own.iter().take(n / (i + 1)).enumerate().map(move |(j, own)| (so_far + own.1, i, j))
            };
            let mut next: Vec<_> = best.iter().enumerate().flat_map(joined).collect();
            next.sort_by(|a, b| b.0.total_cmp(&a.0)); // stable: equal scores keep their order
            next.truncate(n);
            let from: Vec<_> = next.iter().map(|&(_, i, j)| (i, j)).collect();
            best = next;
            segments.push((own, from));
            Ok(())
        })?;
        let ids = |mut at: usize| {
            let mut parts = Vec::with_capacity(segments.len());
            for (own, from) in segments.iter().rev() {
                let (before, which) = from[at];
                parts.push(own[which].0.as_slice());
                at = before;
            }
            parts.reverse();
            parts.concat()
        };
        Ok(best.iter().enumerate().map(|(at, &(score, ..))| (ids(at), score)).collect())
    }

    fn encode_segment(
        &self,
        segment: &Segment<'_>,
        keep_going: KeepGoing<'_>,
        scratch: &mut Scratch,
        out: &mut Out<'_>,
    ) -> Result<()> {
        match segment.added {
            Some(id) => {
                out.ids.push(id);
                if let Some(ends) = &mut out.ends {
                    ends.push(segment.bytes.len());
                }
                Ok(())
            }
            None => self
                .model
                .encode(&self.vocab, segment.bytes, keep_going, scratch, out)
                .map_err(|error| segment.located(error)),
        }
    }

    /// The bytes that `ids` decode to.
    ///
    /// # Errors
    /// As [`Decoder::decode`].
    pub fn decode<'a>(&'a self, ids: &'a [u32], skip_special: bool) -> Result<Decoded<'a>> {
        self.decoder.decode(&self.vocab, ids, skip_special)
    }

    /// The text that `ids` decode to, with U+FFFD where the bytes are no text.
    ///
    /// # Errors
    /// As [`Decoder::decode_text`].
    pub fn decode_text(&self, ids: &[u32], skip_special: bool) -> Result<String> {
        self.decoder.decode_text(&self.vocab, ids, skip_special)
    }

    /// Appends what an id adds in the middle of a text.
    pub fn decode_one(&self, id: u32, out: &mut Vec<u8>) {
        self.decoder.token(&self.vocab, id, out);
    }
}
