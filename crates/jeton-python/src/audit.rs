//! Properties of entries for `jeton.audit`, as columns with one value for each id.

use jeton_core::audit::{self, Fate};
use jeton_core::util::cancel::KeepGoing;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};

use crate::column;
use crate::error;
use crate::signals::run_with_signals;
use crate::tokenizer::Tokenizer;

type View<'py> = Bound<'py, PyMemoryView>;

/// Fate of each entry (whether some text produces it), and a text for each entry that some text produces.
#[pyclass(frozen, module = "jeton._core")]
pub struct Reachability(audit::Reachability);

#[pymethods]
impl Reachability {
    /// For each entry, searches for a text that produces the entry, or for a proof that no text does. The most
    /// likely texts are always tried. `budget`: maximum number of further texts, for all entries together; a long text
    /// counts as several.
    #[new]
    fn new(py: Python<'_>, tok: &Tokenizer, budget: usize) -> PyResult<Self> {
        let work = |keep_going: KeepGoing<'_>| audit::reachability(&tok.0, budget, keep_going);
        run_with_signals(py, work, |failed| error::plain(py, failed)).map(Self)
    }

    /// Returns the fate of each id (`audit::Fate`) as a column of u32.
    fn fates<'py>(&self, py: Python<'py>) -> PyResult<View<'py>> {
        column::view(py, self.0.fates.iter().map(|&fate| fate as u32).collect::<Vec<u32>>())
    }

    /// Returns a u32 for each id: 1 if the text of the entry, on its own, is encoded as this id only, else 0.
    fn alone<'py>(&self, py: Python<'py>) -> PyResult<View<'py>> {
        column::view(py, self.0.alone.iter().map(|&alone| u32::from(alone)).collect::<Vec<u32>>())
    }

    /// Returns a text that produces the id; None if no such text was found.
    fn text<'py>(&self, py: Python<'py>, id: usize) -> Option<Bound<'py, PyBytes>> {
        let start = id.checked_sub(1).map_or(Some(0), |before| self.0.ends.get(before).copied())?;
        let text = self.0.texts.get(start..*self.0.ends.get(id)?)?;
        (self.0.fates.get(id) == Some(&Fate::Reached)).then(|| PyBytes::new(py, text))
    }

    /// Returns the merges that no text uses, as u32 indices in the tokenizer's list of merges.
    fn unused_merges<'py>(&self, py: Python<'py>, tok: &Tokenizer) -> PyResult<View<'py>> {
        let work = |keep_going: KeepGoing<'_>| audit::unused_merges(&tok.0, &self.0.fates, keep_going);
        column::view(py, run_with_signals(py, work, |failed| error::plain(py, failed))?)
    }
}

#[pymethods]
impl Tokenizer {
    /// Returns three columns, with one u32 for each id: the kind of the entry, its shape (`audit::Shape`), and its
    /// number of characters.
    fn entry_shapes<'py>(&self, py: Python<'py>) -> PyResult<(View<'py>, View<'py>, View<'py>)> {
        let work = |keep_going: KeepGoing<'_>| audit::shapes(&self.0, keep_going);
        let (shapes, lengths) = run_with_signals(py, work, |failed| error::plain(py, failed))?;
        let kinds: Vec<u32> = (0..shapes.len() as u32).map(|id| self.0.vocab().kind(id) as u32).collect();
        let shapes: Vec<u32> = shapes.into_iter().map(|shape| shape.0).collect();
        Ok((column::view(py, kinds)?, column::view(py, shapes)?, column::view(py, lengths)?))
    }

    /// Returns groups of ids whose normalized texts are equal. The flag of a group is true if the decoded bytes of its
    /// ids are equal, too.
    fn duplicate_entries(&self, py: Python<'_>) -> PyResult<Vec<(Vec<u32>, bool)>> {
        run_with_signals(py, |keep_going| audit::duplicates(&self.0, keep_going), |failed| error::plain(py, failed))
    }
}
