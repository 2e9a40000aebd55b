//! Training by the rules of the peers: what `training/presets/` asks of the core.

use jeton_core::error::Error;
use jeton_core::normalize::{compile, nfkc_rules};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error;

/// SentencePiece's character map: the rules of a name, if one is given, and others, which win.
#[pyfunction]
#[pyo3(signature = (name, rules))]
pub fn character_map<'py>(
    py: Python<'py>,
    name: Option<&str>,
    rules: Vec<(String, String)>,
) -> PyResult<Bound<'py, PyBytes>> {
    let build = || {
        let mut all = match name {
            Some(name) => nfkc_rules::named(name)
                .ok_or_else(|| Error::config(format!("there are no rules named {name:?}")))?,
            None => compile::Rules::new(),
        };
        all.extend(rules);
        compile::compile(&all)
    };
    let blob = py.detach(build).map_err(|failed| error::plain(py, failed))?;
    Ok(PyBytes::new(py, &blob))
}
