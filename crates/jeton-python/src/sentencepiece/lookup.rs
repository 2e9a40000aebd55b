//! Returns properties of pieces, for one id or many ids at once.

use jeton_core::sentencepiece::PieceKind;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use super::convert;
use super::PieceModel;

#[pymethods]
impl PieceModel {
    /// Returns the number of pieces.
    fn piece_size(&self) -> usize {
        self.len()
    }

    /// Returns the id of a piece, or of each piece of a sequence.
    fn piece_to_id<'py>(&self, py: Python<'py>, piece: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if piece.is_instance_of::<PyString>() || piece.is_instance_of::<PyBytes>() {
            let Ok(text) = convert::item(piece) else {
                return Err(PyTypeError::new_err("a piece has a lone surrogate"));
            };
            return Ok(self.pieces.id(self.tok(), text.bytes()).into_pyobject(py)?.into_any());
        }
        let id = |item: &Bound<'py, PyAny>| {
            let text = convert::item(item).map_err(|_| PyTypeError::new_err("pieces must be str or bytes"))?;
            Ok(self.pieces.id(self.tok(), text.bytes()))
        };
        let ids: PyResult<Vec<u32>> = match piece.cast::<PyList>() {
            Ok(list) => {
                let mut ids = Vec::with_capacity(list.len());
                for item in list.iter() {
                    ids.push(match item.cast_exact::<PyString>().ok().and_then(|text| text.to_str().ok()) {
                        Some(text) => self.pieces.id(self.tok(), text.as_bytes()),
                        None => id(&item)?,
                    });
                }
                Ok(ids)
            }
            Err(_) => convert::items(piece)?.iter().map(id).collect(),
        };
        ids?.into_pyobject(py)
    }

    /// Returns the piece of an id.
    fn id_to_piece<'py>(&self, py: Python<'py>, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.look_up(py, id, |id| Ok(self.string(py, id).into_any()))
    }

    /// Returns the score of an id.
    fn score<'py>(&self, py: Python<'py>, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let scores = self.tok().scores();
        let score = |id: u32| scores.get(id as usize).copied().unwrap_or(0.0);
        self.look_up(py, id, |id| Ok(score(id).into_pyobject(py)?.into_any()))
    }

    fn is_unknown<'py>(&self, py: Python<'py>, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.is_kind(py, id, PieceKind::Unknown)
    }

    fn is_control<'py>(&self, py: Python<'py>, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.is_kind(py, id, PieceKind::Control)
    }

    fn is_unused<'py>(&self, py: Python<'py>, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.is_kind(py, id, PieceKind::Unused)
    }

    fn is_byte<'py>(&self, py: Python<'py>, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.is_kind(py, id, PieceKind::Byte)
    }
}

impl PieceModel {
    fn is_kind<'py>(&self, py: Python<'py>, id: &Bound<'py, PyAny>, kind: PieceKind) -> PyResult<Bound<'py, PyAny>> {
        let is_kind = |id: u32| self.pieces.kind(self.tok(), id) == kind;
        self.look_up(py, id, |id| Ok(is_kind(id).into_pyobject(py)?.to_owned().into_any()))
    }

    /// Applies `each` to an id, or to all ids of a sequence.
    fn look_up<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
        each: impl Fn(u32) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(id) = convert::integer(id) {
            let known = u32::try_from(id).ok().filter(|&id| (id as usize) < self.len());
            return each(known.ok_or_else(|| PyIndexError::new_err("piece id is out of range."))?);
        }
        let ids = self.checked(convert::ids(id)?)?;
        let found = ids.into_iter().map(each).collect::<PyResult<Vec<_>>>()?;
        Ok(PyList::new(py, found)?.into_any())
    }
}
