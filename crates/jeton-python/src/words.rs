//! `Words` finds the words of texts, and the runs of scripts without spaces, and counts the tokens in both.
//! `main_script` finds the main script of a text.

use std::str::Utf8Error;

use jeton_core::tokenizer::TokensInWords;
use jeton_core::util::cancel::{KeepGoing, KeepGoingMut};
use jeton_core::util::{scripts, words};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

use crate::arguments::Text;
use crate::column;
use crate::error::{self, Fact, InvalidTextError};
use crate::signals::{run_on_threads, run_with_signals};
use crate::tokenizer::Tokenizer;

/// The words of several texts, and their runs of scripts without spaces.
#[pyclass(frozen, module = "jeton._core")]
pub struct Words {
    words: words::Words,
    /// Number of bytes of each text.
    lengths: Vec<usize>,
}

/// (tokens in words, words of one token, tokens in runs).
type Counts = (usize, usize, usize);

/// Returns the text as a string, or an error if it is not UTF-8.
fn utf8<'a>(text: &Text<'a>) -> Result<&'a str, Utf8Error> {
    match text {
        Text::Str(text) => Ok(text),
        Text::Bytes(bytes) => std::str::from_utf8(bytes),
    }
}

fn counts(found: TokensInWords) -> Counts {
    (found.words.tokens, found.words.whole, found.runs.tokens)
}

/// Returns the name of the script to which most characters belong. For Han with kana, the name is "Japanese". If no
/// character has a script, it is the string "None".
#[pyfunction]
pub fn main_script(py: Python<'_>, text: &str) -> &'static str {
    py.detach(|| scripts::main_script(text))
}

#[pymethods]
impl Words {
    #[new]
    fn new(py: Python<'_>, texts: Vec<Bound<'_, PyAny>>) -> PyResult<Self> {
        let texts = texts.iter().map(Text::of).collect::<PyResult<Vec<_>>>()?;
        let valid = py.detach(|| texts.iter().map(utf8).collect::<Result<Vec<_>, _>>()).map_err(|invalid| {
            let at = Fact::Number(Some(invalid.valid_up_to()));
            error::make::<InvalidTextError>(py, format!("a text is not UTF-8: {invalid}"), &[("position", at)])
        })?;
        let work = |keep_going: KeepGoing<'_>| words::Words::of(&valid, keep_going);
        let words = run_with_signals(py, work, |failed| error::plain(py, failed))?;
        Ok(Self { words, lengths: valid.iter().map(|text| text.len()).collect() })
    }

    /// Number of words of all texts.
    #[getter]
    fn num_words(&self) -> usize {
        self.words.num_words()
    }

    /// Number of characters in the runs of scripts without spaces; combining marks are not counted.
    #[getter]
    fn num_run_chars(&self) -> usize {
        self.words.num_run_chars()
    }

    /// Returns the byte ranges of the words of a text, and of its runs of scripts without spaces.
    #[allow(clippy::type_complexity)]
    fn ranges(&self, text: usize) -> (Vec<(usize, usize)>, Vec<(usize, usize)>) {
        (self.words.words(text).to_vec(), self.words.runs(text).to_vec())
    }

    /// Encodes `texts`, from which this object was created, and counts the tokens in their words and runs.
    fn count(
        &self,
        py: Python<'_>,
        tok: &Tokenizer,
        texts: Vec<Bound<'_, PyAny>>,
        special: Option<&Bound<'_, PyAny>>,
        threads: usize,
    ) -> PyResult<Counts> {
        let texts = texts.iter().map(Text::of).collect::<PyResult<Vec<_>>>()?;
        let bytes: Vec<&[u8]> = texts.iter().map(Text::bytes).collect();
        let permit = tok.permit(py, special)?;
        let count = |watch: KeepGoingMut<'_>| tok.0.count_in_words(&bytes, &self.words, &permit, threads, watch);
        run_on_threads(py, count, |failed| error::plain(py, failed)).map(counts)
    }

    /// Counts the tokens in words and runs, given the ids of all texts and the cumulative number of ids at the end of
    /// each text. None if the tokens of some text have more or fewer bytes in total than the text.
    fn count_ids(
        &self,
        py: Python<'_>,
        tok: &Tokenizer,
        ids: PyBuffer<u8>,
        ends: Vec<usize>,
    ) -> PyResult<Option<Counts>> {
        let ids = column::ids(py, &ids)?;
        let texts: Vec<(usize, usize)> = ends.into_iter().zip(self.lengths.iter().copied()).collect();
        let work = |keep_going: KeepGoing<'_>| tok.0.count_ids_in_words(&ids, &texts, &self.words, keep_going);
        Ok(run_with_signals(py, work, |failed| error::plain(py, failed))?.map(counts))
    }
}
