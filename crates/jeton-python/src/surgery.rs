//! Changes finished vocabularies: merge trees, pruning, appended entries, and maps between vocabularies.

use std::collections::HashMap;

use jeton_core::error::Result;
use jeton_core::model::append::{AppendOptions, Appended};
use jeton_core::model::{Out, Scratch};
use jeton_core::tokenizer as core;
use jeton_core::util::cancel::{CancelCheck, KeepGoing};
use jeton_core::vocab::Kind;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use crate::column;
use crate::counts::Counts;
use crate::error;
use crate::signals::run_with_signals;
use crate::tokenizer::Tokenizer;
use crate::vocabulary::Vocabulary;

/// Value that means "no id".
const NONE: u32 = u32::MAX;

type View<'py> = Bound<'py, PyMemoryView>;

#[pymethods]
impl Tokenizer {
    /// Returns four columns, each with one value for each id: the kind of its entry; the left part and the right part
    /// of the last merge of the entry (2³² - 1 if there is none); 1 for an initial symbol, else 0.
    fn merge_trees<'py>(&self, py: Python<'py>) -> PyResult<(View<'py>, View<'py>, View<'py>, View<'py>)> {
        let vocab = self.0.vocab();
        let make = |keep_going: KeepGoing<'_>| self.0.model().merge_trees(vocab, keep_going);
        let trees = run_with_signals(py, make, |failed| error::plain(py, failed))?;
        let kinds: Vec<u32> = (0..vocab.len() as u32).map(|id| vocab.kind(id) as u32).collect();
        let units: Vec<u32> = trees.is_unit.iter().map(|&is_unit| u32::from(is_unit)).collect();
        Ok((
            column::view(py, kinds)?,
            column::view(py, trees.left)?,
            column::view(py, trees.right)?,
            column::view(py, units)?,
        ))
    }

    /// Removes `num_removed` of the removable entries, one after another. Each time, the candidates are the entries
    /// that are not a part of a remaining entry, and the least frequent candidate is removed. Returns 1 for each id
    /// that remains, else 0. `counts`: i64 for each id; `remains` and `removable`: u32 for each id.
    fn without_rare<'py>(
        &self,
        py: Python<'py>,
        counts: PyBuffer<u8>,
        remains: PyBuffer<u8>,
        removable: PyBuffer<u8>,
        num_removed: usize,
    ) -> PyResult<View<'py>> {
        let counts: Vec<u64> = column::wide(py, &counts)?.into_iter().map(|count| count.max(0) as u64).collect();
        let flags =
            |bytes| Ok::<_, PyErr>(column::ids(py, bytes)?.into_iter().map(|flag| flag != 0).collect::<Vec<_>>());
        let (remains, removable) = (flags(&remains)?, flags(&removable)?);
        let len = self.0.vocab().len();
        if [counts.len(), remains.len(), removable.len()] != [len; 3] {
            return Err(error::ConfigError::new_err("one number for each id is needed"));
        }
        let make = |keep_going: KeepGoing<'_>| {
            let trees = self.0.model().merge_trees(self.0.vocab(), keep_going)?;
            Ok(trees.without_rare(&counts, remains, &removable, num_removed))
        };
        let remains = run_with_signals(py, make, |failed| error::plain(py, failed))?;
        column::view(py, remains.into_iter().map(u32::from).collect::<Vec<u32>>())
    }

    /// Encodes counted pretokens. Returns the number of occurrences of each id as i64, in order of the ids.
    fn count_ids<'py>(&self, py: Python<'py>, counts: &Counts) -> PyResult<View<'py>> {
        let vocab = self.0.vocab();
        let make = |keep_going: KeepGoing<'_>| {
            let (mut scratch, mut ids, mut uses) = (Scratch::default(), Vec::new(), vec![0i64; vocab.len()]);
            let mut cancel = CancelCheck::new(keep_going);
            for (pretoken, count) in counts.0.iter() {
                cancel.check()?;
                ids.clear();
                self.0.model().encode(vocab, pretoken, keep_going, &mut scratch, &mut Out::ids(&mut ids))?;
                for &id in &ids {
                    let uses = &mut uses[id as usize];
                    *uses = uses.saturating_add(i64::try_from(count).unwrap_or(i64::MAX));
                }
            }
            Ok(uses)
        };
        column::view(py, run_with_signals(py, make, |failed| error::plain(py, failed))?)
    }

    /// Appends entries with the given contents, together with the merges that form these entries.
    #[pyo3(signature = (contents, *, next_id, bridges))]
    fn append_entries<'py>(
        &self,
        py: Python<'py>,
        contents: Vec<Vec<u8>>,
        next_id: u32,
        bridges: bool,
    ) -> PyResult<Extended<'py>> {
        let contents: Vec<&[u8]> = contents.iter().map(Vec::as_slice).collect();
        append(py, self, &contents, AppendOptions { next_id, bridges, extends_alphabet: false, keeps_crossed: false })
    }

    /// Appends entries of another vocabulary in the order of `ids` (u32), together with the merges that form these
    /// entries.
    #[pyo3(signature = (other, ids, *, next_id))]
    fn append_vocabulary<'py>(
        &self,
        py: Python<'py>,
        other: &Tokenizer,
        ids: PyBuffer<u8>,
        next_id: u32,
    ) -> PyResult<Extended<'py>> {
        let ids = column::ids(py, &ids)?;
        let contents: Vec<&[u8]> = ids.iter().map(|&id| other.0.vocab().content(id)).collect();
        let keeps_crossed = self.0.model().as_bpe().is_some_and(|bpe| bpe.whole_first());
        append(py, self, &contents, AppendOptions { next_id, bridges: false, extends_alphabet: true, keeps_crossed })
    }

    /// Returns, for each id of this tokenizer, the id of `other` that is decoded to the same bytes; 2³² - 1 if there is
    /// none. A special token only corresponds to a special token.
    fn vocabulary_map<'py>(&self, py: Python<'py>, other: &Tokenizer) -> PyResult<View<'py>> {
        let make = || {
            let mut ids: HashMap<(bool, Vec<u8>), u32> = HashMap::with_capacity(other.0.vocab().num_tokens());
            let key = |tok: &core::Tokenizer, id: u32, kind: Kind| {
                let mut bytes = Vec::new();
                tok.decode_one(id, &mut bytes);
                (kind == Kind::Special, bytes)
            };
            let mut rare = Vec::new(); // byte tokens and similar entries, used only if no ordinary entry matches
            for (id, kind, _) in other.0.vocab().iter() {
                match kind {
                    Kind::Token | Kind::EndsWord | Kind::Special => {
                        ids.entry(key(&other.0, id, kind)).or_insert(id);
                    }
                    _ => rare.push((id, kind)),
                }
            }
            for (id, kind) in rare {
                ids.entry(key(&other.0, id, kind)).or_insert(id);
            }
            let mut map = vec![NONE; self.0.vocab().len()];
            for (id, kind, _) in self.0.vocab().iter() {
                let key = key(&self.0, id, kind);
                if !key.1.is_empty() {
                    map[id as usize] = ids.get(&key).copied().unwrap_or(NONE);
                }
            }
            map
        };
        column::view(py, py.detach(make))
    }
}

/// The vocabulary with the appended entries, the id of each requested entry (2³² - 1 if it has none), the fate of each
/// requested entry (`append::Fate`), and the number of new merges.
type Extended<'py> = (Vocabulary, View<'py>, View<'py>, usize);

fn append<'py>(
    py: Python<'py>,
    tok: &Tokenizer,
    contents: &[&[u8]],
    options: AppendOptions,
) -> PyResult<Extended<'py>> {
    let make = |keep_going: KeepGoing<'_>| {
        let made = tok.0.model().append(tok.0.vocab(), contents, options, keep_going)?;
        let vocabulary = extended(&tok.0, &made, keep_going)?;
        Ok((vocabulary, made))
    };
    let (vocabulary, made) = run_with_signals(py, make, |failed| error::plain(py, failed))?;
    let fates: Vec<u32> = made.fates.iter().map(|&fate| fate as u32).collect();
    Ok((vocabulary, column::view(py, made.ids)?, column::view(py, fates)?, made.merges.len()))
}

/// Returns the vocabulary with appended entries. The scores of new pieces are lower than all existing scores; each new
/// piece has a lower score than the one before it.
fn extended(tok: &core::Tokenizer, made: &Appended, keep_going: KeepGoing<'_>) -> Result<Vocabulary> {
    let vocab = tok.vocab();
    let mut entries: jeton_core::vocab::List = vocab.iter().collect();
    entries.extend(made.entries.iter());
    let (mut merges, mut scores) = (Vec::new(), tok.scores().to_vec());
    if let Some(bpe) = tok.model().as_bpe() {
        if bpe.ranks == jeton_core::model::bpe::RankOrder::Merges {
            merges = bpe.merges(vocab, keep_going)?;
            merges.extend_from_slice(&made.merges);
        }
    }
    if !scores.is_empty() {
        let pieces = vocab.iter().filter(|entry| matches!(entry.1, Kind::Token | Kind::Unused));
        let lowest = pieces.filter_map(|(id, ..)| scores.get(id as usize)).fold(0.0, |low: f64, &score| low.min(score));
        let mut score = lowest as f32; // files and ranks have single precision
        scores.resize(entries.next_id() as usize, 0.0);
        for (id, _, _) in made.entries.iter() {
            let rounded = score.floor() - 1.0;
            score = if rounded < score { rounded } else { score.next_down() };
            scores[id as usize] = f64::from(score);
        }
    }
    Ok(Vocabulary { entries, extras: core::Extras { merges, scores, flags: tok.all_flags().to_vec() } })
}
