//! `Tokenizer`: converts text to ids and ids to text.

use std::collections::BTreeSet;

use jeton_core::error::{Error, ErrorKind};
use jeton_core::model::bpe::RankOrder;
use jeton_core::model::{Model, Sampler};
use jeton_core::tokenizer as core;
use jeton_core::util::cancel::{KeepGoing, KeepGoingMut};
use jeton_core::vocab::{Kind, Vocab};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyMemoryView};

use crate::arguments::{self, Text, Wide};
use crate::callback;
use crate::column;
use crate::error;
use crate::explained::{merges, told, Merges, Told};
use crate::id_list;
use crate::numpy_array;
use crate::signals::{run_on_threads, run_with_signals};
use crate::vocabulary::Vocabulary;

#[pyclass(frozen, module = "jeton._core")]
pub struct Tokenizer(pub(crate) core::Tokenizer);

/// Texts of up to this many bytes are encoded, and up to this many ids are decoded, without releasing the GIL. In such
/// short calls, releasing it costs more than other threads gain.
pub const SHORT: usize = 1 << 11;

type SpanTuples = Vec<(usize, usize)>;
type Columns<'py> =
    (Vec<u32>, Vec<Bound<'py, PyBytes>>, SpanTuples, SpanTuples, SpanTuples, Vec<u32>, Vec<bool>, Vec<Option<u8>>);

#[pymethods]
impl Tokenizer {
    /// Creates a tokenizer. `options`: a `Definition` as JSON.
    #[new]
    fn new(py: Python<'_>, vocabulary: &Vocabulary, options: &str) -> PyResult<Self> {
        let build =
            || core::Tokenizer::from_json(options, Vocab::new(vocabulary.entries.iter())?, vocabulary.extras.clone());
        let tok = py.detach(build).map_err(|failed| error::plain(py, failed))?;
        run_on_threads(py, |watch| tok.prepare_model(watch), |failed| error::plain(py, failed)).map(|()| Self(tok))
    }

    /// Builds the tables of the fast path now instead of on first use.
    fn make_tables(&self, py: Python<'_>) -> PyResult<()> {
        run_on_threads(py, |watch| self.0.prepare(usize::MAX, watch), |failed| error::plain(py, failed))
    }

    /// Encodes a text or a pair. `sampler`: (dropout, alpha, nbest, seed) for a random encoding.
    #[pyo3(signature = (text, special=None, threads=1, template=false, pair=None, sampler=None))]
    #[allow(clippy::too_many_arguments)]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        special: Option<&Bound<'py, PyAny>>,
        threads: usize,
        template: bool,
        pair: Option<&Bound<'py, PyAny>>,
        sampler: Option<(f64, f64, Option<usize>, u64)>,
    ) -> PyResult<Bound<'py, PyList>> {
        let mut chance = sampler.map(|(dropout, alpha, nbest, seed)| {
            let mut sampler = Sampler::new(seed);
            (sampler.dropout, sampler.alpha, sampler.nbest) = (dropout, alpha, nbest);
            sampler
        });
        let mut one = |text| match &mut chance {
            Some(sampler) => self.sample(py, text, special, sampler),
            None => self.encode_long(py, text, special, threads),
        };
        let first = one(text)?;
        let second = pair.map(one).transpose()?;
        if !template && second.is_none() {
            return id_list::list(py, &first);
        }
        id_list::list(py, &self.0.template().apply(&first, second.as_deref(), template, |id| id).tokens)
    }

    /// Encodes a text. Permits no special tokens, adds no template, and does not sample.
    fn encode_text<'py>(&self, py: Python<'py>, text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        id_list::list(py, &self.encode_long(py, text, None, 1)?)
    }

    /// Encodes a text like `encode_text`; returns None for a text that is long enough for several threads.
    fn encode_short<'py>(&self, py: Python<'py>, text: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyList>>> {
        match arguments::is_long(text)? {
            true => Ok(None),
            false => self.encode_text(py, text).map(Some),
        }
    }

    /// Encodes a text. Returns a NumPy array if there are few ids and `use_numpy` was called, else a view of
    /// little-endian u32.
    #[pyo3(signature = (text, special=None, threads=1, template=false))]
    fn encode_array<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        special: Option<&Bound<'py, PyAny>>,
        threads: usize,
        template: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut ids = self.encode_long(py, text, special, threads)?;
        if template {
            ids = self.0.template().apply(&ids, None, true, |id| id).tokens;
        }
        match numpy_array::short(py, &ids)? {
            Some(array) => Ok(array),
            None => column::view(py, ids).map(Bound::into_any),
        }
    }

    /// Encodes many texts. Returns ids (little-endian u32) and offsets of the texts (little-endian i64).
    #[pyo3(signature = (texts, special, threads, template=false))]
    #[allow(clippy::type_complexity)]
    fn encode_batch<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<Bound<'py, PyAny>>,
        special: Option<&Bound<'py, PyAny>>,
        threads: usize,
        template: bool,
    ) -> PyResult<(Bound<'py, PyMemoryView>, Bound<'py, PyMemoryView>)> {
        let encode = |texts: &[core::Input<'_>], permit: &core::Permit<'_>, watch: KeepGoingMut<'_>| {
            self.0.encode_batch(texts, permit, threads, watch)
        };
        let (mut ids, mut offsets) = self.batch(py, &texts, special, threads, encode)?;
        if template {
            (ids, offsets) = py.detach(|| self.0.framed(&ids, &offsets));
        }
        Ok((column::view(py, ids)?, column::view(py, offsets)?))
    }

    #[pyo3(signature = (text, special=None, threads=1))]
    fn count(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        special: Option<&Bound<'_, PyAny>>,
        threads: usize,
    ) -> PyResult<usize> {
        let mut wide = Wide::default();
        let (text, permit) = (wide.one(text, threads)?, self.permit(py, special)?);
        if text.bytes().len() < SHORT {
            return self.0.count(text.input(), &permit, 1, &mut || true).map_err(|failed| text.error(py, failed));
        }
        let work = |watch: KeepGoingMut<'_>| self.0.count(text.input(), &permit, threads, watch);
        run_on_threads(py, work, |failed| text.error(py, failed))
    }

    /// Returns the number of ids that the template adds to one text.
    fn num_template_ids(&self) -> usize {
        self.0.template().num_added(false)
    }

    /// Returns (columns, pretokens, dropped byte ranges) of a text or a pair. Columns have one row for each token:
    /// id, bytes, byte span, char span, HF's offsets, type id, mask of the template, index of the text. `most`:
    /// encoding stops after the pretoken in which the number of tokens reaches `most`.
    #[pyo3(signature = (text, special=None, *, pair=None, template=false, most=usize::MAX))]
    #[allow(clippy::type_complexity)]
    fn tokenize<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        special: Option<&Bound<'py, PyAny>>,
        pair: Option<&Bound<'py, PyAny>>,
        template: bool,
        most: usize,
    ) -> PyResult<(Columns<'py>, Vec<(usize, usize, usize)>, SpanTuples)> {
        let permit = self.permit(py, special)?;
        let texts = [Some(text), pair].into_iter().flatten().map(Text::of).collect::<PyResult<Vec<_>>>()?;
        let encode = |text: &Text<'_>| {
            let work =
                |keep_going: KeepGoing<'_>| self.0.encode_head_with_spans(text.bytes(), &permit, most, keep_going);
            run_with_signals(py, work, |failed| text.error(py, failed))
        };
        let encodings = texts.iter().map(encode).collect::<PyResult<Vec<_>>>()?;
        let bytes: Vec<&[u8]> = texts.iter().map(Text::bytes).collect();
        let framed = self.0.frame_encodings(&bytes, &encodings, template);
        let tokens = self.spellings(py, &framed.ids);
        let core::Framed { ids, byte_spans, char_spans, offsets, type_ids, special_tokens_mask, sequences } = framed;
        let columns = (ids, tokens, byte_spans, char_spans, offsets, type_ids, special_tokens_mask, sequences);
        let core::Encoding { pretokens, dropped, .. } = encodings.into_iter().next().unwrap_or_default();
        Ok((columns, pretokens, dropped))
    }

    /// Calls `each` with the tokens of a text in order, a few thousand at a time: (ids, bytes, byte spans, flag). The
    /// flag is true for tokens of the text, and false for tokens of the template.
    #[pyo3(signature = (text, each, special=None, *, template=false))]
    fn tokenize_in_chunks(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        each: &Bound<'_, PyAny>,
        special: Option<&Bound<'_, PyAny>>,
        template: bool,
    ) -> PyResult<()> {
        let (text, permit) = (Text::of(text)?, self.permit(py, special)?);
        let each = each.clone().unbind();
        let mut raised = None;
        let mut call = |chunk: core::SpanChunk<'_>| {
            let called = callback::attached(|py| {
                let tokens = self.spellings(py, chunk.ids);
                let args = (chunk.ids.to_vec(), tokens, chunk.byte_spans.to_vec(), chunk.from_text);
                callback::call(each.bind(py), &args.into_pyobject(py)?).map(drop)
            });
            called.map_err(|error| {
                raised = Some(error);
                ErrorKind::Interrupted.into()
            })
        };
        let work =
            |keep_going: KeepGoing<'_>| self.0.encode_in_chunks(text.bytes(), &permit, template, keep_going, &mut call);
        let done = run_with_signals(py, work, |failed| text.error(py, failed));
        raised.map_or(done, Err)
    }

    /// Returns the byte spans of the tokens of a text. A span is two little-endian i64.
    #[pyo3(signature = (text, special=None, *, template=false))]
    fn byte_spans<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        special: Option<&Bound<'py, PyAny>>,
        template: bool,
    ) -> PyResult<Bound<'py, PyMemoryView>> {
        let (text, permit) = (Text::of(text)?, self.permit(py, special)?);
        let work = |keep_going: KeepGoing<'_>| {
            let mut spans = Vec::new();
            self.0.encode_in_chunks(text.bytes(), &permit, template, keep_going, &mut |chunk| {
                spans.extend(chunk.byte_spans.iter().flat_map(|&(start, end)| [start as i64, end as i64]));
                Ok(())
            })?;
            Ok(spans)
        };
        column::view(py, run_with_signals(py, work, |failed| text.error(py, failed))?)
    }

    /// Returns the n best segmentations of a text and their scores.
    #[pyo3(signature = (text, n, special=None))]
    fn nbest(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        n: usize,
        special: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<(Vec<u32>, f64)>> {
        let (text, permit) = (Text::of(text)?, self.permit(py, special)?);
        run_with_signals(
            py,
            |keep_going| self.0.nbest(text.bytes(), &permit, n, keep_going),
            |failed| text.error(py, failed),
        )
    }

    /// Returns the first `most` pretokens with all their steps. For the whole text, also returns the number of
    /// pretokens, of merges and of tokens, and the ids of the added tokens.
    #[pyo3(signature = (text, special=None, *, most=usize::MAX))]
    #[allow(clippy::type_complexity)]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        special: Option<&Bound<'py, PyAny>>,
        most: usize,
    ) -> PyResult<(Vec<Told<'py>>, usize, usize, usize, BTreeSet<u32>)> {
        let (text, permit) = (Text::of(text)?, self.permit(py, special)?);
        let work = |keep_going: KeepGoing<'_>| self.0.explain(text.bytes(), &permit, most, keep_going);
        let all = run_with_signals(py, work, |failed| text.error(py, failed))?;
        let parts = all.parts.into_iter().map(|part| told(py, part)).collect();
        Ok((parts, all.num_parts, all.num_merges, all.num_tokens, all.added))
    }

    /// Returns (symbols, starts, merges, splits) of the content of an entry, if the model merges.
    fn explain_entry(&self, py: Python<'_>, id: u32) -> PyResult<Option<Merges>> {
        let story =
            run_with_signals(py, |keep_going| self.0.explain_entry(id, keep_going), |failed| error::plain(py, failed))?;
        Ok(story.map(merges))
    }

    /// Returns the alternatives of the pattern, if it is the only stage before the model.
    fn alternatives(&self) -> Vec<String> {
        self.0.alternatives()
    }

    #[pyo3(signature = (ids, skip_special=false))]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyList>,
        skip_special: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.decode_slice(py, &arguments::ids(ids)?, skip_special)
    }

    /// Decodes ids to text. Invalid UTF-8 is replaced by U+FFFD as in the library that the tokenizer comes from.
    #[pyo3(signature = (ids, skip_special=false))]
    fn decode_text(&self, py: Python<'_>, ids: &Bound<'_, PyList>, skip_special: bool) -> PyResult<String> {
        let ids = arguments::ids(ids)?;
        let decode = || self.0.decode_text(&ids, skip_special);
        let done = if ids.len() < SHORT { decode() } else { py.detach(decode) };
        done.map_err(|failed| error::plain(py, failed))
    }

    /// Decodes ids that are passed as bytes (little-endian u32), because a view of an array can be unaligned.
    #[pyo3(signature = (ids, *, skip_special))]
    fn decode_array<'py>(
        &self,
        py: Python<'py>,
        ids: PyBuffer<u8>,
        skip_special: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.decode_slice(py, &column::ids(py, &ids)?, skip_special)
    }

    /// Highest id plus one.
    #[getter]
    fn vocab_size(&self) -> usize {
        self.0.vocab().len()
    }

    #[getter]
    fn num_tokens(&self) -> usize {
        self.0.vocab().num_tokens()
    }

    /// Returns the kind of an id: 0 gap, 1 token, 2 token that ends a word, 3 added, 4 special.
    fn kind(&self, id: u32) -> u8 {
        self.0.vocab().kind(id) as u8
    }

    /// Decodes one id as if it were in the middle of a text. Returns `None` for an id without an entry.
    fn decoded<'py>(&self, py: Python<'py>, id: u32) -> Option<Bound<'py, PyBytes>> {
        let mut bytes = Vec::new();
        self.0.decode_one(id, &mut bytes);
        (self.0.vocab().kind(id) != Kind::Hole).then(|| PyBytes::new(py, &bytes))
    }

    /// Returns the content of an entry.
    fn content<'py>(&self, py: Python<'py>, id: u32) -> Option<Bound<'py, PyBytes>> {
        let vocab = self.0.vocab();
        (vocab.kind(id) != Kind::Hole).then(|| PyBytes::new(py, vocab.content(id)))
    }

    /// Returns the ordinary entry with this content.
    fn find(&self, content: &[u8], ends_word: bool) -> Option<u32> {
        self.0.vocab().find(content, ends_word)
    }

    /// Returns the ids of entries of a kind, ascending.
    fn ids_of(&self, kind: u8) -> Vec<u32> {
        self.0.vocab().iter().filter(|entry| entry.1 as u8 == kind).map(|entry| entry.0).collect()
    }

    /// Returns the scores by id.
    fn scores(&self) -> Vec<f64> {
        self.0.scores().to_vec()
    }

    /// Returns all ids, ascending.
    fn ids(&self) -> Vec<u32> {
        self.0.vocab().iter().map(|(id, _, _)| id).collect()
    }

    /// Returns the added tokens: (id, content, special, flags).
    fn added_tokens(&self) -> Vec<(u32, String, bool, u8)> {
        let vocab = self.0.vocab();
        let text = |id| String::from_utf8_lossy(vocab.content(id)).into_owned();
        self.0.added().iter().map(|&id| (id, text(id), vocab.kind(id) == Kind::Special, self.0.flags(id))).collect()
    }

    /// Returns the merges in order of rank: (left, right, result).
    fn merges(&self, py: Python<'_>) -> PyResult<Vec<(u32, u32, u32)>> {
        run_with_signals(py, |keep_going| self.merge_list(keep_going), |failed| error::plain(py, failed))
    }

    /// Returns entries and merges, for building another tokenizer.
    fn vocabulary(&self, py: Python<'_>) -> PyResult<Vocabulary> {
        let entries = self.0.vocab().iter().collect();
        let merges = if self.has_merges() { self.merges(py)? } else { Vec::new() };
        let (scores, flags) = (self.0.scores().to_vec(), self.0.all_flags().to_vec());
        Ok(Vocabulary { entries, extras: core::Extras { merges, scores, flags } })
    }

    /// Returns all data of entries and merges that affects ids or decoded bytes, in canonical form. For each id, in
    /// ascending order: u32 id, u8 kind, u8 flags, u32 length and the content. For a model with a merge list, three u32
    /// for each merge follow. For a model with scores, the scores follow as f64. Numbers are little-endian.
    fn canonical<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = Vec::new();
        for (id, kind, content) in self.0.vocab().iter() {
            bytes.extend_from_slice(&id.to_le_bytes());
            bytes.push(kind as u8);
            bytes.push(self.0.flags(id));
            bytes.extend_from_slice(&(content.len() as u32).to_le_bytes());
            bytes.extend_from_slice(content);
        }
        if self.has_merges() {
            for (left, right, result) in self.merges(py)? {
                for id in [left, right, result] {
                    bytes.extend_from_slice(&id.to_le_bytes());
                }
            }
        }
        if matches!(self.0.model(), Model::Pieces(_) | Model::Unigram(_)) {
            self.0.scores().iter().for_each(|score| bytes.extend_from_slice(&score.to_le_bytes()));
        }
        Ok(PyBytes::new(py, &bytes))
    }
}

impl Tokenizer {
    /// Returns the merges in order of rank; empty for a model without merges.
    pub(crate) fn merge_list(&self, keep_going: KeepGoing<'_>) -> Result<Vec<(u32, u32, u32)>, Error> {
        self.0.model().as_bpe().map_or(Ok(Vec::new()), |bpe| bpe.merges(self.0.vocab(), keep_going))
    }

    /// Returns true if the model was built from a merge list.
    pub(crate) fn has_merges(&self) -> bool {
        self.0.model().as_bpe().is_some_and(|bpe| bpe.ranks == RankOrder::Merges)
    }

    /// Decodes each id on its own, as if it were in the middle of a text.
    fn spellings<'py>(&self, py: Python<'py>, ids: &[u32]) -> Vec<Bound<'py, PyBytes>> {
        let mut adds = Vec::new();
        let mut one = |&id: &u32| {
            adds.clear();
            self.0.decode_one(id, &mut adds);
            PyBytes::new(py, &adds)
        };
        ids.iter().map(&mut one).collect()
    }

    /// Runs `work` on the texts of a batch; an error names the text that failed.
    pub(crate) fn batch<R: Send>(
        &self,
        py: Python<'_>,
        texts: &[Bound<'_, PyAny>],
        special: Option<&Bound<'_, PyAny>>,
        threads: usize,
        work: impl FnOnce(&[core::Input<'_>], &core::Permit<'_>, KeepGoingMut<'_>) -> Result<R, (usize, Error)> + Send,
    ) -> PyResult<R> {
        let permit = self.permit(py, special)?;
        let wide = Wide::of(py, texts, threads)?;
        let borrowed = wide.texts(texts)?;
        let inputs: Vec<core::Input<'_>> = borrowed.iter().map(Text::input).collect();
        let in_batch = |(index, failed): (usize, Error)| error::in_batch(py, borrowed[index].error(py, failed), index);
        run_on_threads(py, |watch| work(&inputs, &permit, watch), in_batch)
    }

    fn encode_long(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        special: Option<&Bound<'_, PyAny>>,
        threads: usize,
    ) -> PyResult<Vec<u32>> {
        let mut wide = Wide::default();
        let (text, permit) = (wide.one(text, threads)?, self.permit(py, special)?);
        if text.bytes().len() < SHORT {
            let done = self.0.encode_long(text.input(), &permit, 1, &mut || true);
            return done.map_err(|failed| text.error(py, failed));
        }
        let work = |watch: KeepGoingMut<'_>| self.0.encode_long(text.input(), &permit, threads, watch);
        run_on_threads(py, work, |failed| text.error(py, failed))
    }

    fn sample(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        special: Option<&Bound<'_, PyAny>>,
        sampler: &mut Sampler,
    ) -> PyResult<Vec<u32>> {
        let (text, permit) = (Text::of(text)?, self.permit(py, special)?);
        run_with_signals(
            py,
            |keep_going| self.0.sample(text.bytes(), &permit, sampler, keep_going),
            |failed| text.error(py, failed),
        )
    }

    pub(crate) fn permit(&self, py: Python<'_>, special: Option<&Bound<'_, PyAny>>) -> PyResult<core::Permit<'_>> {
        match special {
            None => Ok(self.0.permit_none()),
            Some(special) => self.0.permit(&arguments::permission(special)?).map_err(|failed| error::plain(py, failed)),
        }
    }

    fn decode_slice<'py>(&self, py: Python<'py>, ids: &[u32], skip_special: bool) -> PyResult<Bound<'py, PyBytes>> {
        if ids.len() < SHORT {
            let decoded = self.0.decode(ids, skip_special).map_err(|failed| error::plain(py, failed))?;
            return PyBytes::new_with(py, decoded.len(), |room| {
                decoded.write(room);
                Ok(())
            });
        }
        let done = py.detach(|| self.0.decode(ids, skip_special));
        let decoded = done.map_err(|failed| error::plain(py, failed))?;
        PyBytes::new_with(py, decoded.len(), |room| {
            py.detach(|| decoded.write(room));
            Ok(())
        })
    }
}
