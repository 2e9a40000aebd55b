//! `Counts`: distinct pretokens with their counts. `Counts.learn` learns merges, and returns them with the vocabulary.

use std::fs::File;
use std::io::{BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Mutex;

use jeton_core::error::Error;
use jeton_core::tokenizer::Extras;
use jeton_core::train::merge::OnMerge;
use jeton_core::train::options::{LearnOptions, TieBreak};
use jeton_core::train::rules::{named::NamedRule, Rule};
use jeton_core::train::{assemble, count, learn, sequences};
use jeton_core::util::cancel::KeepGoing;
use jeton_core::vocab::alphabet::{EndOfWord, Level};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::callback;
use crate::error;
use crate::mmap::Limit;
use crate::once::interned;
use crate::run::Run;
use crate::signals::run_with_signals;
use crate::vocabulary::Vocabulary;

/// A Python file object, as a writer.
struct Object<'a> {
    file: &'a Py<PyAny>,
    failed: &'a Mutex<Option<PyErr>>, // exception that the object raised
}

impl Write for Object<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = callback::attached(|py| {
            let write = self.file.bind(py).getattr(interned!(py, "write"))?;
            callback::call(&write, &(PyBytes::new(py, bytes),).into_pyobject(py)?)?.extract::<usize>()
        });
        let error = match written {
            Ok(written) if (1..=bytes.len()).contains(&written) => return Ok(written),
            Ok(_) => return Err(std::io::ErrorKind::WriteZero.into()),
            Err(error) => error,
        };
        if let Ok(mut failed) = self.failed.lock() {
            *failed = Some(error);
        }
        Err(std::io::Error::other("the file object raised an exception"))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(()) // the caller flushes
    }
}

/// Distinct pretokens and their counts.
#[pyclass(frozen, module = "jeton._core")]
pub struct Counts(pub count::Counts);

#[pymethods]
impl Counts {
    /// Builds counts from (pretoken, count) in order of first appearance.
    #[staticmethod]
    fn from_items(py: Python<'_>, items: Vec<(Vec<u8>, u64)>) -> PyResult<Self> {
        let mut counts = count::Counts::default();
        items
            .iter()
            .try_for_each(|(pretoken, n)| counts.add(pretoken, *n))
            .map_err(|failed| error::plain(py, failed))?;
        Ok(Self(counts))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Sum of the counts of all pretokens.
    #[getter]
    fn total(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.0.total())
    }

    /// Returns (pretoken, count) in order of first appearance.
    fn items<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, u64)> {
        self.0.iter().map(|(pretoken, n)| (PyBytes::new(py, pretoken), n)).collect()
    }

    /// Returns the sum of both counts; pretokens that occur only in `other` come last.
    fn merged(&self, py: Python<'_>, other: &Self, memory: &Limit) -> PyResult<Self> {
        self.changed(py, memory, |sum, keep_going| sum.merge(&other.0, keep_going)).map(|(sum, ())| sum)
    }

    /// Returns the counts minus the counts of `other`.
    fn less(&self, py: Python<'_>, other: &Self, memory: &Limit) -> PyResult<Self> {
        self.changed(py, memory, |left, keep_going| left.subtract(&other.0, keep_going)).map(|(left, ())| left)
    }

    /// Returns the counts multiplied by `numerator / denominator`, rounded half to even.
    fn scaled(&self, py: Python<'_>, numerator: u64, denominator: u64, memory: &Limit) -> PyResult<Self> {
        self.changed(py, memory, |scaled, keep_going| scaled.scale(numerator, denominator, keep_going))
            .map(|(scaled, ())| scaled)
    }

    /// Returns the counts without the pretokens whose count is below `min_count`, and (distinct pretokens, occurrences,
    /// bytes) of the dropped pretokens.
    fn without_rare(&self, py: Python<'_>, min_count: u64, memory: &Limit) -> PyResult<(Self, (u64, u64, u64))> {
        let (kept, dropped) = self.changed(py, memory, |kept, keep_going| kept.drop_rare(min_count, keep_going))?;
        Ok((kept, (dropped.distinct, dropped.occurrences, dropped.bytes)))
    }

    /// Returns the n most frequent pretokens; pretokens with equal counts are in order of first appearance.
    fn most_common<'py>(&self, py: Python<'py>, n: usize) -> Vec<(Bound<'py, PyBytes>, u64)> {
        py.detach(|| self.0.most_common(n)).into_iter().map(|(pretoken, n)| (PyBytes::new(py, pretoken), n)).collect()
    }

    /// Returns the number of pretokens with this count.
    fn num_with(&self, py: Python<'_>, count: u64) -> usize {
        py.detach(|| self.0.iter().filter(|&(_, own)| own == count).count())
    }

    /// Returns, for each position of `places`, the number of distinct pretokens that first appear before it.
    fn distinct_before(&self, places: Vec<u64>) -> Vec<usize> {
        places.into_iter().map(|place| self.0.distinct_before(place)).collect()
    }

    /// Returns rows of (script, distinct pretokens, occurrences, bytes of all occurrences), by descending bytes.
    fn scripts(&self, py: Python<'_>) -> Vec<(&'static str, u64, u64, u64)> {
        let shares = py.detach(|| self.0.scripts());
        shares.into_iter().map(|share| (share.script, share.distinct, share.occurrences, share.bytes)).collect()
    }

    /// Position in the corpus after the last counted pretoken.
    #[getter]
    fn end(&self) -> u64 {
        self.0.end()
    }

    /// Returns a checksum of the pretokens and their counts.
    fn checksum(&self, py: Python<'_>) -> u32 {
        py.detach(|| self.0.checksum())
    }

    /// Writes all entries to a file object, as a run.
    fn write_run(&self, py: Python<'_>, file: Py<PyAny>, memory: &Limit) -> PyResult<()> {
        let failed = Mutex::new(None);
        let write = |keep_going: KeepGoing<'_>| {
            let out = BufWriter::with_capacity(1 << 20, Object { file: &file, failed: &failed });
            memory.0.enforce_during(|| self.0.write(out, &memory.0, keep_going))
        };
        let written = run_with_signals(py, write, |failed| error::plain(py, failed));
        match failed.into_inner().ok().flatten() {
            Some(error) => Err(error),
            None => written,
        }
    }

    /// Reads a run that is stored in a file between the offsets `at` and `end`.
    #[staticmethod]
    fn from_run(py: Python<'_>, path: PathBuf, at: u64, end: u64, memory: &Limit) -> PyResult<Self> {
        let read = |keep_going: KeepGoing<'_>| {
            let mut file = File::open(&path)?;
            let len = file.metadata()?.len().saturating_sub(at);
            file.seek(SeekFrom::Start(at))?;
            let input = BufReader::with_capacity(1 << 17, file);
            memory.0.enforce_during(|| count::Counts::read(input, len, end, &memory.0, keep_going))
        };
        run_with_signals(py, read, |failed| error::plain(py, failed)).map(Self)
    }

    /// Learns merges. Returns the vocabulary, the size of the alphabet, and the columns of the training log (see
    /// `Learned`).
    #[pyo3(signature = (*, level, end_of_word, end_of_word_style, tie_break, min_frequency, vocab_size, run, rules=None))]
    #[allow(clippy::too_many_arguments)]
    fn learn(
        &self,
        py: Python<'_>,
        level: &str,
        end_of_word: Option<&str>,
        end_of_word_style: &str,
        tie_break: &str,
        min_frequency: u64,
        vocab_size: usize,
        run: &Run,
        rules: Option<&str>,
    ) -> PyResult<Learned> {
        let (level, end) = (read_level(level)?, read_end(end_of_word.map(|_| end_of_word_style))?);
        let tie_break = read_tie_break(tie_break)?;
        let rules = read_rules(py, rules)?;
        let learn = |watch: &mut OnMerge<'_>| {
            let symbols = sequences::symbols(&self.0, level, end)?;
            let num_symbols = symbols.symbols.len();
            if num_symbols > vocab_size {
                return Ok((symbols, None));
            }
            let num_merges = vocab_size - num_symbols;
            let options = LearnOptions {
                tie_break,
                num_merges,
                min_frequency,
                level,
                end,
                end_of_word: end_of_word.unwrap_or_default(),
                rule: rules.as_ref().map(|rules| rules as &dyn Rule),
                ..run.options()
            };
            let merges = learn::learn(&self.0, &symbols, &options, watch)?;
            Ok((symbols, Some(merges)))
        };
        let (symbols, merges) = run.learn(py, learn)?;
        let num_symbols = symbols.symbols.len();
        let Some(merges) = merges else {
            return Err(error::ConfigError::new_err(format!(
                "the vocabulary size leaves room for {vocab_size} entries beside the special tokens, but the alphabet alone has {num_symbols}"
            )));
        };
        let entries = py.detach(|| assemble::from_merges(&symbols, level, &merges));
        let vocabulary = Vocabulary {
            entries: entries.map_err(|failed| error::plain(py, failed))?,
            extras: Extras { merges: assemble::triples(&merges), ..Extras::default() },
        };
        let pair_counts = merges.iter().map(|merge| merge.count).collect();
        let corpus_tokens = merges.iter().map(|merge| merge.corpus_tokens).collect();
        let tokens_in_use = merges.iter().map(|merge| merge.tokens_in_use).collect();
        Ok((vocabulary, num_symbols, pair_counts, corpus_tokens, tokens_in_use))
    }
}

impl Counts {
    /// Copies the counts and applies `change` to the copy, within a memory limit and without the GIL. Returns the copy
    /// and the result of `change`.
    fn changed<R: Send>(
        &self,
        py: Python<'_>,
        memory: &Limit,
        change: impl FnOnce(&mut count::Counts, KeepGoing<'_>) -> Result<R, Error> + Send,
    ) -> PyResult<(Self, R)> {
        let copy_and_change = |keep_going: KeepGoing<'_>| {
            memory.0.enforce_during(|| {
                let mut copy = self.0.copy(&memory.0, keep_going)?;
                let returned = change(&mut copy, keep_going)?;
                Ok((Self(copy), returned))
            })
        };
        run_with_signals(py, copy_and_change, |failed| error::plain(py, failed))
    }
}

/// The vocabulary, the size of the alphabet, and the columns of the training log: pair counts, corpus tokens, tokens in
/// use.
type Learned = (Vocabulary, usize, Vec<u64>, Vec<u64>, Vec<u32>);

/// Converts the name of a tie rule to the core's type.
pub fn read_tie_break(name: &str) -> PyResult<TieBreak> {
    match name {
        "first" => Ok(TieBreak::First),
        "lowest_ids" => Ok(TieBreak::LowestIds),
        "highest_pair" => Ok(TieBreak::HighestPair),
        "shortest" => Ok(TieBreak::Shortest),
        other => Err(error::ConfigError::new_err(format!("there is no tie rule named {other:?}"))),
    }
}

/// Reads rules from JSON; `None` stands for no rules.
pub fn read_rules(py: Python<'_>, json: Option<&str>) -> PyResult<Option<NamedRule>> {
    json.map(NamedRule::from_json).transpose().map_err(|failed| error::plain(py, failed))
}

/// Converts the name of a level of symbols: `"byte"` or `"char"`.
pub fn read_level(level: &str) -> PyResult<Level> {
    match level {
        "byte" => Ok(Level::Byte),
        "char" => Ok(Level::Char),
        other => Err(error::ConfigError::new_err(format!("level must be \"byte\" or \"char\", not {other:?}"))),
    }
}

/// Converts the style of end-of-word marks: `None`, `"symbol"` or `"suffix"`.
pub fn read_end(style: Option<&str>) -> PyResult<EndOfWord> {
    match style {
        None => Ok(EndOfWord::None),
        Some("symbol") => Ok(EndOfWord::Symbol),
        Some("suffix") => Ok(EndOfWord::Suffix),
        Some(other) => Err(error::ConfigError::new_err(format!(
            "end_of_word_style must be \"symbol\" or \"suffix\", not {other:?}"
        ))),
    }
}
