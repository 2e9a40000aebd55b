//! `learn_more`: merges on top of a tokenizer's own.

use std::cell::RefCell;

use jeton_core::error::{Error, Result};
use jeton_core::model::{Out, Scratch};
use jeton_core::train::options::{KnownTokens, LearnOptions};
use jeton_core::train::rules::{named::NamedRule, Rule};
use jeton_core::train::{assemble, learn};
use jeton_core::vocab::Vocab;
use pyo3::prelude::*;

use crate::counts::{read_tie_break, Counts};
use crate::error;
use crate::run::Run;
use crate::tokenizer::Tokenizer;
use crate::vocabulary::Vocabulary;

/// Tokens of a tokenizer, by id.
struct TokenizerTokens<'a> {
    tokenizer: &'a jeton_core::tokenizer::Tokenizer,
    by_character: bool,
    next_id: u32,
}

impl TokenizerTokens<'_> {
    fn vocab(&self) -> &Vocab {
        self.tokenizer.vocab()
    }
}

impl KnownTokens for TokenizerTokens<'_> {
    fn next_id(&self) -> u32 {
        self.next_id
    }

    fn spelling(&self, id: u32) -> &[u8] {
        self.vocab().content(id)
    }

    fn num_symbols(&self, id: u32) -> u32 {
        let spelling = self.spelling(id);
        let symbols = spelling.iter().filter(|&&byte| !self.by_character || byte & 0xC0 != 0x80);
        symbols.count() as u32
    }

    fn encode(&self, pretoken: &[u8], ids: &mut Vec<u32>) -> Result<()> {
        thread_local! {
            static SCRATCH: RefCell<Scratch> = RefCell::default();
        }
        SCRATCH.with_borrow_mut(|scratch| {
            let Some(bpe) = self.tokenizer.model().as_bpe() else {
                return Err(Error::config("only a BPE tokenizer learns more merges".to_string()));
            };
            bpe.encode(self.vocab(), pretoken, &|| true, scratch, &mut Out::ids(ids))
        })
    }
}

/// Reads rules from JSON; `None` for none.
pub fn read_rules(py: Python<'_>, json: Option<&str>) -> PyResult<Option<NamedRule>> {
    json.map(NamedRule::from_json).transpose().map_err(|failed| error::plain(py, failed))
}

/// Returns for each spelling whether rules permit it.
#[pyfunction]
pub fn rules_hold(py: Python<'_>, rules_json: &str, spellings: Vec<Vec<u8>>) -> PyResult<Vec<bool>> {
    let rules = NamedRule::from_json(rules_json).map_err(|failed| error::plain(py, failed))?;
    Ok(py.detach(|| spellings.iter().map(|spelling| rules.holds(spelling)).collect()))
}

/// The vocabulary with the new entries, and the columns of the training log: pair counts, corpus tokens, tokens in use.
type LearnedMore = (Vocabulary, Vec<u64>, Vec<u64>, Vec<u32>);

/// Learns more merges, starting from the tokens of a tokenizer for the counted pretokens.
#[pyfunction]
#[pyo3(signature = (counts, tokenizer, vocabulary, *, tie_break, num_merges, min_frequency, by_character, rules_json, run))]
#[allow(clippy::too_many_arguments)]
pub fn learn_more(
    py: Python<'_>,
    counts: &Counts,
    tokenizer: &Tokenizer,
    vocabulary: &Vocabulary,
    tie_break: &str,
    num_merges: usize,
    min_frequency: u64,
    by_character: bool,
    rules_json: Option<&str>,
    run: &Run,
) -> PyResult<LearnedMore> {
    let rules = read_rules(py, rules_json)?;
    let options = LearnOptions {
        tie_break: read_tie_break(tie_break)?,
        num_merges,
        min_frequency,
        rule: rules.as_ref().map(|rules| rules as &dyn Rule),
        ..run.options()
    };
    let next_id = vocabulary.entries.next_id();
    let known = TokenizerTokens { tokenizer: &tokenizer.0, by_character, next_id };
    let merges = run.learn(py, |watch| learn::learn_more(&counts.0, &known, &options, watch))?;
    let entries = py.detach(|| assemble::with_merges(vocabulary.entries.clone(), &merges));
    let mut extras = vocabulary.extras.clone();
    extras.merges.extend(assemble::triples(&merges));
    let vocabulary = Vocabulary { entries: entries.map_err(|failed| error::plain(py, failed))?, extras };
    let pair_counts = merges.iter().map(|merge| merge.count).collect();
    let corpus_tokens = merges.iter().map(|merge| merge.corpus_tokens).collect();
    let tokens_in_use = merges.iter().map(|merge| merge.tokens_in_use).collect();
    Ok((vocabulary, pair_counts, corpus_tokens, tokens_in_use))
}
