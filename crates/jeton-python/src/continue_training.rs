//! `learn_more`: learns merges in addition to the merges of a tokenizer.

use std::cell::RefCell;
use std::collections::HashSet;

use jeton_core::error::{Error, Result};
use jeton_core::model::bpe::{Bpe, RankOrder};
use jeton_core::model::merge_trees::{MergeTrees, NO_PART};
use jeton_core::model::{Out, Scratch};
use jeton_core::train::options::{KnownTokens, LearnOptions};
use jeton_core::train::rules::{extension::ExtensionRule, named::NamedRule, Rule};
use jeton_core::train::{assemble, learn};
use jeton_core::util::cancel::{CancelCheck, KeepGoing};
use jeton_core::vocab::alphabet::{byte_entries, NO_ID};
use jeton_core::vocab::{Kind, Vocab};
use pyo3::prelude::*;

use crate::counts::{read_rules, read_tie_break, Counts};
use crate::error;
use crate::run::Run;
use crate::signals::run_with_signals;
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

    fn ranks_tokens(&self) -> bool {
        self.tokenizer.model().as_bpe().is_some_and(|bpe| bpe.ranks == RankOrder::Tokens)
    }

    /// Returns the rule that new entries must satisfy to extend this vocabulary.
    fn extension<'a>(
        &'a self,
        rule: Option<&'a dyn Rule>,
        protect: Option<&Counts>,
        keep_going: KeepGoing<'_>,
    ) -> Result<ExtensionRule<'a>> {
        let (mut protected, mut ids, mut cancel) = (HashSet::new(), Vec::new(), CancelCheck::new(keep_going));
        for (pretoken, _) in protect.into_iter().flat_map(|counts| counts.0.iter()) {
            cancel.check()?;
            ids.clear();
            self.encode(pretoken, &mut ids)?;
            protected.extend(ids.windows(2).map(|pair| (pair[0], pair[1])));
        }
        let vocab = self.vocab();
        let model = self.tokenizer.model();
        let trees = if self.ranks_tokens() { model.merge_trees(vocab, keep_going)? } else { MergeTrees::default() };
        let is_reached = |id: u32| trees.left.get(id as usize) != Some(&NO_PART) || trees.is_unit[id as usize];
        let unreached = vocab.iter().filter(|&(id, kind, _)| kind == Kind::Token && !is_reached(id));
        let splits_words = model.as_bpe().is_some_and(Bpe::splits_words);
        let spells_bytes = model.as_bpe().is_some_and(|bpe| bpe.alphabet.spells_unknown());
        let byte_tokens = spells_bytes.then(|| byte_entries(vocab)).flatten();
        let byte_tokens = byte_tokens.iter().flat_map(|ids| ids.iter().copied()).filter(|&id| id != NO_ID);
        ExtensionRule::new(vocab, protected, byte_tokens, unreached.map(|entry| entry.2), splits_words, rule)
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

/// Returns, for each spelling, true if the rules permit it.
#[pyfunction]
pub fn rules_hold(py: Python<'_>, rules_json: &str, spellings: Vec<Vec<u8>>) -> PyResult<Vec<bool>> {
    let rules = NamedRule::from_json(rules_json).map_err(|failed| error::plain(py, failed))?;
    Ok(py.detach(|| spellings.iter().map(|spelling| rules.holds(spelling)).collect()))
}

/// The vocabulary with the new entries, and the columns of the training log: pair counts, corpus tokens, tokens in use.
type LearnedMore = (Vocabulary, Vec<u64>, Vec<u64>, Vec<u32>);

#[pymethods]
impl Counts {
    /// Learns more merges, starting from the tokens into which the tokenizer encodes the counted pretokens.
    ///
    /// `extends`: true if the vocabulary is finished. Then new entries must satisfy an [`ExtensionRule`], too: for
    /// example, they must not be spelled like an added token. `protect`: counted pretokens whose encoding must not
    /// change; used only if `extends`. The new merges are added to the merge list, unless the tokenizer ranks tokens
    /// instead of merges.
    #[pyo3(signature = (tokenizer, vocabulary, *, tie_break, num_merges, min_frequency, by_character, rules_json, run, extends = false, protect = None))]
    #[allow(clippy::too_many_arguments)]
    fn learn_more(
        &self,
        py: Python<'_>,
        tokenizer: &Tokenizer,
        vocabulary: &Vocabulary,
        tie_break: &str,
        num_merges: usize,
        min_frequency: u64,
        by_character: bool,
        rules_json: Option<&str>,
        run: &Run,
        extends: bool,
        protect: Option<&Counts>,
    ) -> PyResult<LearnedMore> {
        let rules = read_rules(py, rules_json)?;
        let next_id = vocabulary.entries.next_id();
        let known = TokenizerTokens { tokenizer: &tokenizer.0, by_character, next_id };
        let named = rules.as_ref().map(|rules| rules as &dyn Rule);
        let extension = match extends {
            true => {
                let rule = |keep_going: KeepGoing<'_>| known.extension(named, protect, keep_going);
                Some(run_with_signals(py, rule, |failed| error::plain(py, failed))?)
            }
            false => None,
        };
        let options = LearnOptions {
            tie_break: read_tie_break(tie_break)?,
            num_merges,
            min_frequency,
            rule: extension.as_ref().map(|rule| rule as &dyn Rule).or(named),
            ..run.options()
        };
        let merges = run.learn(py, |watch| learn::learn_more(&self.0, &known, &options, watch))?;
        let entries = py.detach(|| assemble::with_merges(vocabulary.entries.clone(), &merges));
        let mut extras = vocabulary.extras.clone();
        if !known.ranks_tokens() {
            extras.merges.extend(assemble::triples(&merges));
        }
        let vocabulary = Vocabulary { entries: entries.map_err(|failed| error::plain(py, failed))?, extras };
        let pair_counts = merges.iter().map(|merge| merge.count).collect();
        let corpus_tokens = merges.iter().map(|merge| merge.corpus_tokens).collect();
        let tokens_in_use = merges.iter().map(|merge| merge.tokens_in_use).collect();
        Ok((vocabulary, pair_counts, corpus_tokens, tokens_in_use))
    }
}
