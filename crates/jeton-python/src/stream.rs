//! `jeton.TextStream`: decodes ids that arrive one by one.
//!
//! Users get this class and its docstrings directly, without a wrapper class in Python: for a single id, a wrapper
//! method would take as long as the decoding. Every call is atomic, so threads can share a stream. A long push moves
//! the state out of the object instead of copying it, because copying takes time linear in the whole text.

use jeton_core::decode::{InvalidUtf8, Stream};
use jeton_core::error::Error;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyDict, PyInt, PyList, PyString};

use crate::arguments;
use crate::error;
use crate::exclusive::Exclusive;
use crate::tokenizer::Tokenizer;

/// Decoder of ids that arrive one by one. `Tokenizer.stream` makes one.
///
/// The texts that `push` and `finish` return, joined, equal `decode` of all ids. Text is returned once, as soon as no
/// later id can change it. An id takes amortized constant time plus the length of its text. Memory is proportional to
/// the length of `text` and of the text that is held back.
///
/// An incomplete character and the beginning of a stop string are held back. Some decoder components hold back more:
///
/// - ``ByteFallback``: a run of byte pieces (``<0xE4>``), until it ends. If a run as a whole is not UTF-8, Hugging Face
///   replaces each of its bytes, so no character of the run is final earlier.
/// - ``Strip`` at the end, ``BPEDecoder``, and end-of-word tokens: spaces or characters that are removed at the end.
/// - ``Replace``, and the cleanup of ``WordPiece``: the beginning of a string that they replace.
/// - ``BPEDecoder``, ``CTC`` and ``ByteLevel`` after a component that joins all strings (``Fuse``, ``ByteLevel``): up
///   to the whole text. No known tokenizer has this order.
///
/// Threads can share a stream, because each call is atomic. The caller is responsible for the order of calls. In a
/// process that was forked while another thread pushed more than a thousand ids at once, every call raises
/// `ConfigError`.
///
/// Attributes:
///     text: all text that `push` and `finish` returned, without the prompt. Each access copies it.
///     stopped: the stop string that ended the text; None if none was found so far.
///
/// Examples:
///     >>> from jeton import Tokenizer
///     >>> tok = Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])
///     >>> stream = tok.stream()
///     >>> [stream.push(id) for id in "né".encode()]
///     ['n', '', 'é']
///     >>> stream.push([0xE5, 0xB0]), stream.finish(), stream.text
///     ('', '�', 'né�')
#[pyclass(frozen, module = "jeton")]
pub struct TextStream {
    tok: Py<Tokenizer>,
    stream: Exclusive<Option<Stream>>, // None during a long push
}

/// Maximum number of ids that are decoded without releasing the GIL.
const SHORT: usize = 1 << 10;

/// Number of characters that `repr` shows.
const SHOWN: usize = 40;

/// Converts the name of a policy for bytes that are not UTF-8.
pub fn invalid_utf8(errors: &str) -> PyResult<InvalidUtf8> {
    match errors {
        "replace" => Ok(InvalidUtf8::Replace),
        "ignore" => Ok(InvalidUtf8::Ignore),
        "strict" => Ok(InvalidUtf8::Strict),
        _ => Err(PyValueError::new_err("errors must be \"replace\", \"ignore\" or \"strict\"")),
    }
}

#[pymethods]
impl Tokenizer {
    /// Starts a stream. `errors`: "replace", "ignore" or "strict". The stream ends at the first stop string that occurs
    /// after the prompt.
    #[pyo3(signature = (prompt_ids, stop, *, errors, skip_special))]
    fn text_stream(
        slf: Py<Self>,
        py: Python<'_>,
        prompt_ids: &Bound<'_, PyList>,
        stop: Vec<String>,
        errors: &str,
        skip_special: bool,
    ) -> PyResult<TextStream> {
        let invalid = invalid_utf8(errors)?;
        let mut stream = slf.get().0.decoder().stream(skip_special, invalid);
        let ids = arguments::ids(prompt_ids)?;
        let start = || {
            let decoder = slf.get().0.decoder();
            decoder.push(slf.get().0.vocab(), &mut stream, &ids)?;
            decoder.begin_text(&mut stream, stop)
        };
        py.detach(start).map_err(|failed| error::plain(py, failed))?;
        Ok(TextStream { tok: slf, stream: Exclusive::new(Some(stream)) })
    }
}

#[pymethods]
impl TextStream {
    /// Reads ids and returns the text that is now final.
    ///
    /// Args:
    ///     ids: one id, or any sequence or array of ids.
    ///
    /// Returns:
    ///     Text that follows the text of earlier calls; often "". After a stop string, always "": the ids are checked
    ///     and ignored.
    ///
    /// Raises:
    ///     UnknownTokenError: an id is outside the vocabulary or in a gap. The exception has the id's position. The
    ///         stream is unchanged: none of `ids` was read.
    ///     DecodeError: ``errors="strict"`` and the bytes are not UTF-8. The exception has the byte's position in the
    ///         whole text. The text that the same call decoded before this byte is in `text`. Every later call raises
    ///         `ConfigError`.
    ///     ConfigError: the stream is finished or failed, or the text is over the decoder's limit (a hundred times the
    ///         contents of the tokens).
    ///
    /// Examples:
    ///     >>> from jeton import Tokenizer
    ///     >>> Tokenizer.from_merges({104: b"h", 105: b"i"}, []).stream().push([104, 105])
    ///     'hi'
    fn push<'py>(&self, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
        let py = ids.py();
        if ids.is_exact_instance_of::<PyInt>() {
            return match arguments::small(ids) {
                Some(id) => self.push_short(py, &[id]),
                None => Err(error::unknown_id(self.tokenizer(), ids, 0)),
            };
        }
        let ids = arguments::ids_or_wide(&arguments::list_of_ids(ids)?)?
            .map_err(|(position, id)| error::unknown_id(self.tokenizer(), &id, position))?;
        if ids.len() <= SHORT {
            return self.push_short(py, &ids);
        }
        let change = self.stream.begin(py)?;
        let mut stream = change.step(py, Option::take).ok_or_else(lost)?;
        let decoder = self.tokenizer().decoder();
        let text = py.detach(|| decoder.push(self.tokenizer().vocab(), &mut stream, &ids).map(str::to_owned));
        change.step(py, |place| *place = Some(stream));
        text.map(|text| PyString::new(py, &text)).map_err(|failed| error::plain(py, failed))
    }

    /// Ends the text and returns its remaining part, with U+FFFD for an incomplete character as in `decode`.
    ///
    /// Later calls of `push` raise `ConfigError`; later calls of `finish` return "".
    ///
    /// Raises:
    ///     DecodeError: ``errors="strict"`` and the text ends within a character.
    ///     ConfigError: the stream failed.
    ///
    /// Examples:
    ///     >>> from jeton import Tokenizer
    ///     >>> stream = Tokenizer.from_merges({195: b"\xc3"}, []).stream()
    ///     >>> stream.push(195), stream.finish(), stream.finish()
    ///     ('', '�', '')
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.text_of(py, |stream| self.tokenizer().decoder().finish(stream))
    }

    /// Returns a second stream in the same state, for example for a branch of a beam search. Takes time proportional to
    /// `text`.
    ///
    /// Examples:
    ///     >>> from jeton import Tokenizer
    ///     >>> stream = Tokenizer.from_merges({104: b"h", 105: b"i"}, []).stream()
    ///     >>> stream.push(104)
    ///     'h'
    ///     >>> branch = stream.copy()
    ///     >>> branch.push(105), branch.text, stream.text
    ///     ('i', 'hi', 'h')
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let stream = self.with(py, |stream| stream.clone())?;
        Ok(Self { tok: self.tok.clone_ref(py), stream: Exclusive::new(Some(stream)) })
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyDict>) -> PyResult<Self> {
        self.copy(py)
    }

    /// All text that `push` and `finish` returned, without the prompt. Each access copies the text.
    #[getter]
    fn text<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.with(py, |stream| PyString::new(py, stream.text()))
    }

    /// The stop string that ended the text; None if none was found so far.
    #[getter]
    fn stopped<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        self.with(py, |stream| stream.stopped().map(|stop| PyString::new(py, stop)))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (shown, stopped) = self.with(py, |stream| {
            let text = stream.text();
            let shown = match text.char_indices().nth_back(SHOWN - 1) {
                Some((start @ 1.., _)) => format!("…{}", &text[start..]),
                _ => text.to_owned(),
            };
            (PyString::new(py, &shown), stream.stopped().map(|stop| PyString::new(py, stop)))
        })?;
        let stopped = match stopped {
            Some(stop) => format!(", stopped={}", stop.repr()?),
            None => String::new(),
        };
        Ok(format!("TextStream({}{stopped})", shown.repr()?))
    }
}

impl TextStream {
    fn tokenizer(&self) -> &jeton_core::tokenizer::Tokenizer {
        &self.tok.get().0
    }

    /// Runs `work` on the state. `work` must not run Python code.
    fn with<R>(&self, py: Python<'_>, work: impl FnOnce(&mut Stream) -> R) -> PyResult<R> {
        self.stream.change(py, |stream| stream.as_mut().map(work))?.ok_or_else(lost)
    }

    fn push_short<'py>(&self, py: Python<'py>, ids: &[u32]) -> PyResult<Bound<'py, PyString>> {
        self.text_of(py, |stream| self.tokenizer().decoder().push(self.tokenizer().vocab(), stream, ids))
    }

    /// Runs `work` on the state, and returns the text that `work` returns. An exception is created without holding the
    /// lock, because creating it can run the garbage collector.
    fn text_of<'py>(
        &self,
        py: Python<'py>,
        work: impl FnOnce(&mut Stream) -> Result<&str, Error>,
    ) -> PyResult<Bound<'py, PyString>> {
        let text = self.with(py, |stream| work(stream).map(|text| PyString::new(py, text)))?;
        text.map_err(|failed| error::plain(py, failed))
    }
}

fn lost() -> PyErr {
    error::ConfigError::new_err(
        "the process was forked while another thread pushed ids, so the state of the stream is unknown; make a copy of \
         the stream before forking",
    )
}
