//! Encodes texts to ids, pieces, messages and offsets.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use jeton_core::error::ErrorKind;
use jeton_core::parallel;
use jeton_core::sentencepiece::{encoded_message, nbest_message, Draw, EncodedText, SpelledIds};
use jeton_core::tokenizer::Input;
use jeton_core::util::cancel::KeepGoing;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use super::convert::{self, char_indices, raised, Output, VectorBuffer};
use super::{random, PieceModel};
use crate::arguments::{Text, Wide};
use crate::signals::{run_on_threads, run_with_signals};
use crate::tokenizer::SHORT;

/// SentencePiece's limit for the number of segmentations.
const MOST_NBEST: i32 = 512;

/// Options of an encoding call.
struct Frame {
    output: Output,
    draw: Option<Draw>,
    bos: bool,
    eos: bool,
    reverse: bool,
    unk_piece: bool,
}

impl Frame {
    #[allow(clippy::too_many_arguments)]
    fn new(
        output: u8,
        sampling: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>, Bound<'_, PyAny>)>,
        flags: [&Bound<'_, PyAny>; 4],
    ) -> PyResult<Self> {
        let draw = sampling.map(|(enabled, nbest, alpha)| {
            let draw = Draw { nbest: convert::integer(&nbest)?, alpha: convert::number(&alpha)? };
            Ok::<_, PyErr>(convert::flag(&enabled)?.then_some(draw))
        });
        let [bos, eos, reverse, unk_piece] = flags.map(convert::flag);
        let frame = Self {
            output: Output::of(output)?,
            draw: draw.transpose()?.flatten(),
            bos: bos?,
            eos: eos?,
            reverse: reverse?,
            unk_piece: unk_piece?,
        };
        let changes = frame.bos || frame.eos || frame.reverse || frame.unk_piece;
        if changes && matches!(frame.output, Output::Message | Output::Mapping | Output::ByteMapping) {
            return Err(PyRuntimeError::new_err(
                "add_bos, add_eos, reverse and emit_unk_piece are not supported for protos and offsets",
            ));
        }
        Ok(frame)
    }

    /// Checks the options of sampling that do not depend on the model.
    fn check_draw(&self) -> PyResult<()> {
        match self.draw {
            Some(draw) if !draw.alpha.is_finite() || draw.alpha < 0.0 => {
                Err(PyRuntimeError::new_err(format!("alpha is {}, not a finite number of at least 0", draw.alpha)))
            }
            Some(draw) if draw.nbest > MOST_NBEST => {
                Err(PyRuntimeError::new_err(format!("nbest_size is {}; the limit is {MOST_NBEST}", draw.nbest)))
            }
            _ => Ok(()),
        }
    }
}

/// Result of the core for one text.
enum Encoded {
    Ids(Vec<u32>),
    SpelledIds(SpelledIds),
    Text(EncodedText),
}

#[pymethods]
impl PieceModel {
    /// Encodes a text; with `is_batch`, encodes a list of texts. `sampling`: (enabled, nbest_size, alpha).
    #[allow(clippy::too_many_arguments)]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        input: &Bound<'py, PyAny>,
        is_batch: bool,
        output: u8,
        sampling: Option<(Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>)>,
        add_bos: &Bound<'py, PyAny>,
        add_eos: &Bound<'py, PyAny>,
        reverse: &Bound<'py, PyAny>,
        unk_piece: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let frame = Frame::new(output, sampling, [add_bos, add_eos, reverse, unk_piece])?;
        if is_batch {
            return self.encode_all(py, input, &frame, threads);
        }
        let mut wide = Wide::default();
        let text = match input.is_instance_of::<PyString>() {
            true => wide.one(input, threads).or_else(|_| convert::text(input))?,
            false => convert::text(input)?,
        };
        frame.check_draw()?;
        let encoded = match text.bytes().len() < SHORT {
            true => self.run(text.input(), &frame, 1, &|| true).map_err(raised)?,
            false => run_with_signals(py, |keep_going| self.run(text.input(), &frame, threads, keep_going), raised)?,
        };
        self.check_roles(&frame)?;
        self.object(py, &frame, text.bytes(), encoded)
    }

    /// Returns the `nbest` best segmentations of a text, or of each text of a list.
    #[allow(clippy::too_many_arguments)]
    fn nbest<'py>(
        &self,
        py: Python<'py>,
        input: &Bound<'py, PyAny>,
        nbest: &Bound<'py, PyAny>,
        output: u8,
        add_bos: &Bound<'py, PyAny>,
        add_eos: &Bound<'py, PyAny>,
        reverse: &Bound<'py, PyAny>,
        unk_piece: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let nbest = convert::integer(nbest)?;
        let frame = Frame::new(output, None, [add_bos, add_eos, reverse, unk_piece])?;
        if let Ok(texts) = input.cast_exact::<PyList>() {
            let list = PyList::empty(py);
            for text in texts.iter() {
                list.append(self.nbest_one(py, &text, nbest, &frame)?)?;
            }
            return Ok(list.into_any());
        }
        self.nbest_one(py, input, nbest, &frame)
    }
}

impl PieceModel {
    /// Encodes one text.
    fn run(
        &self,
        text: Input<'_>,
        frame: &Frame,
        threads: usize,
        keep_going: KeepGoing<'_>,
    ) -> Result<Encoded, jeton_core::error::Error> {
        let tok = self.tok();
        if let Some(draw) = &frame.draw {
            let sampled = self.pieces.sample(tok, text.bytes(), draw, &mut random::sampler(), keep_going)?;
            return Ok(Encoded::Text(sampled));
        }
        match frame.output {
            Output::Ids | Output::Array => self.pieces.ids(tok, text, threads, &mut || keep_going()).map(Encoded::Ids),
            Output::Pieces | Output::BytePieces => {
                self.pieces.spell(tok, text, threads, &mut || keep_going()).map(Encoded::SpelledIds)
            }
            _ => self.pieces.encode(tok, text, None, keep_going).map(Encoded::Text),
        }
    }

    fn encode_all<'py>(
        &self,
        py: Python<'py>,
        input: &Bound<'py, PyAny>,
        frame: &Frame,
        threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let objects = convert::items(input)?;
        let items = objects.iter().map(convert::item).collect::<PyResult<Vec<_>>>()?;
        let inputs: Vec<Input<'_>> = items.iter().map(Text::input).collect();
        if !inputs.is_empty() {
            frame.check_draw()?;
        }
        let encoded = run_on_threads(py, |watch| self.run_all(&inputs, frame, threads, watch), raised)?;
        if !encoded.is_empty() {
            self.check_roles(frame)?;
        }
        let list = PyList::empty(py);
        for (text, encoded) in items.iter().zip(encoded) {
            list.append(self.object(py, frame, text.bytes(), encoded)?)?;
        }
        Ok(list.into_any())
    }

    fn run_all(
        &self,
        texts: &[Input<'_>],
        frame: &Frame,
        threads: usize,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<Encoded>, jeton_core::error::Error> {
        let needs_ids = matches!(frame.output, Output::Ids | Output::Array | Output::Pieces | Output::BytePieces);
        if frame.draw.is_some() || !needs_ids || texts.iter().any(|text| text.valid().is_none()) {
            let job = |index: usize, keep_going: KeepGoing<'_>| self.run(texts[index], frame, 1, keep_going);
            return parallel::jobs(texts.len(), threads, watch, job).into_iter().collect();
        }
        let tok = self.tok();
        let (ids, offsets) = tok.encode_batch(texts, &tok.permit_none(), threads, watch).map_err(|(_, error)| error)?;
        let spans = offsets.windows(2).map(|ends| ends[0] as usize..ends[1] as usize);
        let rows: Vec<Vec<u32>> = spans.map(|span| ids[span].to_vec()).collect();
        let is_spelled = matches!(frame.output, Output::Pieces | Output::BytePieces);
        let unk = self.pieces.unk();
        let has_unknown: Vec<usize> = match is_spelled {
            true => (0..rows.len()).filter(|&index| rows[index].contains(&unk)).collect(),
            false => Vec::new(),
        };
        let mut encoded: Vec<Encoded> = rows.into_iter().map(Encoded::Ids).collect();
        let job = |at: usize, keep_going: KeepGoing<'_>| self.run(texts[has_unknown[at]], frame, 1, keep_going);
        let spelled = parallel::jobs(has_unknown.len(), threads, watch, job);
        for (&index, spelled) in has_unknown.iter().zip(spelled) {
            encoded[index] = spelled?;
        }
        Ok(encoded)
    }

    fn nbest_one<'py>(
        &self,
        py: Python<'py>,
        input: &Bound<'py, PyAny>,
        nbest: i32,
        frame: &Frame,
    ) -> PyResult<Bound<'py, PyAny>> {
        let text = convert::text(input)?;
        if nbest > MOST_NBEST {
            return Err(PyRuntimeError::new_err(format!("nbest_size is {nbest}; the limit is {MOST_NBEST}")));
        }
        let (bytes, nbest) = (text.bytes(), usize::try_from(nbest).unwrap_or(1).max(1));
        let deadline = random::nbest_timeout().map(|limit| Instant::now() + Duration::from_millis(limit));
        let is_late = Mutex::new(false);
        let work = |keep_going: KeepGoing<'_>| {
            let limited = || {
                let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
                if let (true, Ok(mut is_late)) = (late, is_late.lock()) {
                    *is_late = true;
                }
                !late && keep_going()
            };
            let found = self.pieces.nbest(self.tok(), bytes, nbest, &limited);
            let interrupted = matches!(&found, Err(error) if matches!(error.kind(), ErrorKind::Interrupted));
            match interrupted && is_late.lock().is_ok_and(|is_late| *is_late) {
                true => self.pieces.encode(self.tok(), text.input(), None, keep_going).map(|best| vec![best]),
                false => found,
            }
        };
        let found = run_with_signals(py, work, raised)?;
        self.check_roles(frame)?;
        if frame.output == Output::Message {
            let message = nbest_message(bytes, &found, |id| self.tok().vocab().content(id));
            return Ok(PyBytes::new(py, &message).into_any());
        }
        let list = PyList::empty(py);
        for encoded in found {
            list.append(self.object(py, frame, bytes, Encoded::Text(encoded))?)?;
        }
        Ok(list.into_any())
    }

    fn check_roles(&self, frame: &Frame) -> PyResult<()> {
        for (wanted, id, name) in [(frame.bos, self.bos, "BOS"), (frame.eos, self.eos, "EOS")] {
            if wanted && id.is_none() {
                return Err(PyValueError::new_err(format!("the model has no control piece for {name}")));
            }
        }
        Ok(())
    }

    /// Converts an encoded text to the requested type.
    fn object<'py>(
        &self,
        py: Python<'py>,
        frame: &Frame,
        text: &[u8],
        encoded: Encoded,
    ) -> PyResult<Bound<'py, PyAny>> {
        match frame.output {
            Output::Ids | Output::Array => {
                let ids = match encoded {
                    Encoded::Ids(ids) | Encoded::SpelledIds(SpelledIds { ids, .. }) => ids,
                    Encoded::Text(text) => text.pieces.iter().map(|piece| piece.id).collect(),
                };
                let ids = self.framed(ids, frame, |id| id);
                match frame.output {
                    Output::Ids => ids.into_pyobject(py),
                    _ => Ok(Bound::new(py, VectorBuffer::new(&ids))?.into_any()),
                }
            }
            Output::Pieces | Output::BytePieces => {
                let as_bytes = frame.output == Output::BytePieces;
                let known = |id| self.piece(py, id, as_bytes);
                let pieces = match encoded {
                    Encoded::Ids(ids) => ids.into_iter().map(known).collect(),
                    Encoded::SpelledIds(SpelledIds { ids, unknown }) => {
                        let (unk, mut unknown) = (self.pieces.unk(), unknown.into_iter());
                        let mut text = |id| if id == unk { unknown.next() } else { None };
                        ids.into_iter().map(|id| self.spelled(py, id, text(id), frame, as_bytes)).collect()
                    }
                    Encoded::Text(text) => {
                        let pieces = text.pieces.into_iter();
                        pieces.map(|piece| self.spelled(py, piece.id, piece.unknown, frame, as_bytes)).collect()
                    }
                };
                Ok(PyList::new(py, self.framed(pieces, frame, known))?.into_any())
            }
            Output::Message => {
                let Encoded::Text(encoded) = encoded else { return Err(no_ranges()) };
                let message = encoded_message(text, &encoded, |id| self.tok().vocab().content(id));
                Ok(PyBytes::new(py, &message).into_any())
            }
            Output::Mapping | Output::ByteMapping => {
                let Encoded::Text(encoded) = encoded else { return Err(no_ranges()) };
                self.mapping(py, text, encoded, frame)
            }
        }
    }

    /// Reverses the items and adds BOS and EOS, as the options say.
    fn framed<T>(&self, mut items: Vec<T>, frame: &Frame, make: impl Fn(u32) -> T) -> Vec<T> {
        if frame.reverse {
            items.reverse();
        }
        if let Some(bos) = self.bos.filter(|_| frame.bos) {
            items.insert(0, make(bos));
        }
        if let Some(eos) = self.eos.filter(|_| frame.eos) {
            items.push(make(eos));
        }
        items
    }

    pub(super) fn piece<'py>(&self, py: Python<'py>, id: u32, as_bytes: bool) -> Bound<'py, PyAny> {
        match as_bytes {
            true => PyBytes::new(py, self.tok().vocab().content(id)).into_any(),
            false => self.string(py, id).into_any(),
        }
    }

    fn spelled<'py>(
        &self,
        py: Python<'py>,
        id: u32,
        unknown: Option<String>,
        frame: &Frame,
        as_bytes: bool,
    ) -> Bound<'py, PyAny> {
        let is_unk = |text: &String| self.pieces.id(self.tok(), text.as_bytes()) == self.pieces.unk();
        match unknown.filter(|text| !(frame.unk_piece && is_unk(text))) {
            Some(text) if as_bytes => PyBytes::new(py, text.as_bytes()).into_any(),
            Some(text) => PyString::new(py, &text).into_any(),
            None => self.piece(py, id, as_bytes),
        }
    }

    fn mapping<'py>(
        &self,
        py: Python<'py>,
        text: &[u8],
        encoded: EncodedText,
        frame: &Frame,
    ) -> PyResult<Bound<'py, PyAny>> {
        let as_bytes = frame.output == Output::ByteMapping;
        let ids: Vec<u32> = encoded.pieces.iter().map(|piece| piece.id).collect();
        let ranges = encoded.pieces.iter().map(|piece| (piece.range.0 as usize, piece.range.1 as usize));
        let offsets = offsets(text, ranges, as_bytes);
        let pieces = encoded.pieces.into_iter();
        let pieces: Vec<_> = pieces.map(|piece| self.spelled(py, piece.id, piece.unknown, frame, as_bytes)).collect();
        let mapping = PyDict::new(py);
        mapping.set_item("ids", ids)?;
        mapping.set_item("pieces", pieces)?;
        mapping.set_item("offsets", offsets)?;
        Ok(mapping.into_any())
    }
}

fn no_ranges() -> PyErr {
    PyRuntimeError::new_err("the pieces of this text have no ranges")
}

/// Converts byte ranges to character ranges; with `as_bytes`, returns them unchanged.
pub fn offsets(text: &[u8], ranges: impl Iterator<Item = (usize, usize)>, as_bytes: bool) -> Vec<(usize, usize)> {
    if as_bytes || text.is_ascii() {
        return ranges.collect();
    }
    let indices = char_indices(text);
    let at = |byte: usize| indices.get(byte).map_or(0, |&index| index as usize);
    ranges.map(|(start, end)| (at(start), at(end))).collect()
}
