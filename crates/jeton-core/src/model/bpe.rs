//! Byte-pair encoding of one pretoken. This module finds the initial symbols; the module `merging` applies the merges.
//!
//! Ranks come from a merge list (its order) or from a rank file, where the rank of a pair is the rank of its
//! concatenated bytes. For rank files, the pair table is reconstructed: it contains the last merge of each token
//! (`reconstruct`).
//!
//! Building that table takes as long as the rest of loading, so it is built when pairs are first needed (fast-path
//! tables, explanations). Until then, merges are looked up by bytes (`ContentRanks`), unless a token is very long. The
//! first texts are encoded in this way, as are all texts if the model is too large for fast-path tables.
//!
//! Left out: caches and vector instructions. Plain version: `reference/step05_encode.py`.
//! Source: Sennrich et al. 2016, arXiv 1508.07909, section 3.2; tiktoken's use of ranks, openai/tiktoken src/lib.rs.

use std::sync::OnceLock;

use super::added_entries::AddedEntries;
use super::merging::{Look, Merger, WordStart};
use super::output::Out;
use super::pairs::{Merge, Pairs};
use super::reconstruct::merges_of_tokens;
use super::scratch::Scratch;
use crate::error::{Error, Result};
use crate::util::cancel::KeepGoing;
use crate::vocab::alphabet::{Alphabet, EndOfWord, Level, Symbol, WORD_START};
use crate::vocab::marks::Marks;
use crate::vocab::merge_boundaries::{MarkBoundaries, SplitPoints};
use crate::vocab::{show, Kind, Vocab};

/// Source of the ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankOrder {
    /// The order of a merge list.
    Merges,
    /// The order of the tokens, as in tiktoken: the rank of a pair is the rank of its result, the concatenated token.
    Tokens,
}

/// A BPE model.
#[derive(Debug, Clone)]
pub struct Bpe {
    /// Initial symbols of a pretoken.
    pub alphabet: Alphabet,
    /// Source of the ranks.
    pub ranks: RankOrder,
    merges: Vec<(u32, u32, u32)>, // rank -> (left, right, result); empty for RankOrder::Tokens
    pairs: OnceLock<Pairs>,
    word_start: Option<WordStart>,
    whole_first: bool,
    pub(super) added: AddedEntries, // added tokens that are entries of the model, too
    longest: usize,                 // bytes of the longest token if merges can be looked up by contents; else 0
}

impl Bpe {
    /// Builds a model from a merge list in order of rank.
    ///
    /// `whole_first`: whole pretokens are looked up before merging (`ignore_merges` in HF).
    ///
    /// # Errors
    /// [`Error::config`] for a merge whose parts or result are not entries, whose result is not the concatenation of
    /// the parts, that crosses the end of a word, or that is a duplicate. Merges of special tokens are ignored; other
    /// added tokens count as entries.
    pub fn from_merges(
        vocab: &Vocab,
        alphabet: Alphabet,
        merges: Vec<(u32, u32, u32)>,
        whole_first: bool,
    ) -> Result<Self> {
        let mark = Symbol { unit: None, ends_word: true, inside: false };
        if alphabet.end == EndOfWord::Symbol && alphabet.id(mark).is_none() {
            return Err(Error::config("the end-of-word mark is not in the vocabulary"));
        }
        let mut model = Self {
            alphabet,
            ranks: RankOrder::Merges,
            merges,
            pairs: OnceLock::new(),
            word_start: None,
            whole_first,
            added: AddedEntries::default(),
            longest: 0,
        };
        let (mut pairs, mut joined) = (Pairs::with_capacity(model.merges.len()), Vec::new());
        for rank in 0..model.merges.len() {
            model.add_merge(vocab, rank as u32, &mut joined, &mut pairs)?;
        }
        model.pairs = pairs.into();
        model.word_start = model.find_word_start(vocab);
        Ok(model)
    }

    /// Adds a merge of the list to the table.
    fn add_merge(&mut self, vocab: &Vocab, rank: u32, joined: &mut Vec<u8>, pairs: &mut Pairs) -> Result<()> {
        let (left, right, result) = self.merges[rank as usize];
        let wrong = |why: &str| Error::config(format!("merge {rank}, ({left}, {right}) -> {result}: {why}"));
        let (kinds, ends) = ([left, right, result].map(|id| vocab.kind(id)), |id| vocab.kind(id) == Kind::EndsWord);
        if let Some(at) = kinds.iter().position(|kind| matches!(kind, Kind::Hole | Kind::Unused)) {
            return Err(wrong(&format!("{} is not an entry of the vocabulary", [left, right, result][at])));
        }
        if kinds.contains(&Kind::Unreachable) {
            return Ok(()); // no text produces this symbol
        }
        if ends(left) || ends(right) != ends(result) {
            return Err(wrong("it does not keep the end of the word"));
        }
        if vocab.content(left).is_empty() || vocab.content(right).is_empty() && !ends(right) {
            return Err(wrong("a part is empty"));
        }
        // As in HF: the right part loses as many bytes as the prefix has, even if these bytes differ from the prefix.
        let Some(rest) = vocab.content(right).get(self.alphabet.prefix().len()..) else {
            return Err(wrong("the right part is shorter than continuing_subword_prefix"));
        };
        joined.clear();
        joined.extend_from_slice(vocab.content(left));
        joined.extend_from_slice(rest);
        if joined != vocab.content(result) {
            let [parts, whole] = [show(joined), show(vocab.content(result))];
            return Err(wrong(&format!("the parts spell {parts:?}, but the result spells {whole:?}")));
        }
        for id in [left, right, result] {
            if vocab.kind(id) == Kind::Added {
                self.add_entry(vocab, id);
            }
        }
        // Text never becomes a special token, so the table omits a merge with such a token. The list keeps the merge,
        // because files are written from the list.
        if !kinds.contains(&Kind::Special) && pairs.insert(left, right, Merge { rank, result }).is_some() {
            return Err(wrong("the pair is listed twice"));
        }
        Ok(())
    }

    /// Makes a nonspecial added token an entry of the model.
    pub(super) fn add_entry(&mut self, vocab: &Vocab, id: u32) {
        self.added.insert(vocab, id);
        self.alphabet.insert_entry(id, vocab.content(id));
    }

    /// Returns the symbol `▁` if texts can be split before it.
    fn find_word_start(&self, vocab: &Vocab) -> Option<WordStart> {
        let symbol = self.mark_symbol()?;
        let boundaries = MarkBoundaries::new(self.merges.iter().map(|merge| vocab.content(merge.2)));
        // If all symbols are characters, a merge that crosses the position before a `▁` forms a token in which `▁`
        // follows another character. The tokens therefore show where texts can be split.
        let is_other = |id| Some(id) == self.alphabet.unk() || vocab.content(id).starts_with(b"<0x");
        let has_other = || self.merges.iter().any(|&(left, right, _)| is_other(left) || is_other(right));
        if !boundaries.joined().is_empty() && has_other() {
            return None;
        }
        Some(WordStart::new(symbol, boundaries, |c| self.character(c)))
    }

    /// Returns the symbol `▁` of a model whose symbols are characters.
    fn mark_symbol(&self) -> Option<u32> {
        let Alphabet { level: Level::Char, end: EndOfWord::None, .. } = self.alphabet else { return None };
        self.alphabet.prefix().is_empty().then(|| self.character(WORD_START)).flatten()
    }

    /// Returns the symbol of a character.
    fn character(&self, c: char) -> Option<u32> {
        self.alphabet.id(Symbol { unit: Some(c.into()), ends_word: false, inside: false })
    }

    /// Returns true if `▁` is a symbol and the model does not look up whole pretokens.
    pub(super) fn has_marks(&self) -> bool {
        self.mark_symbol().is_some() && !self.whole_first
    }

    /// Builds a model from a byte-level vocabulary whose ids are ranks.
    pub fn from_ranks(vocab: &Vocab, alphabet: Alphabet) -> Self {
        let longest = vocab.iter().map(|(_, _, content)| content.len()).max().unwrap_or(0);
        let is_plain = alphabet.end == EndOfWord::None && alphabet.prefix().is_empty() && alphabet.bytes().is_some();
        Self {
            alphabet,
            ranks: RankOrder::Tokens,
            merges: Vec::new(),
            pairs: OnceLock::new(),
            word_start: None,
            whole_first: true,
            added: AddedEntries::default(),
            longest: if is_plain && longest <= ContentRanks::MOST { longest } else { 0 },
        }
    }

    /// Returns true if even the first text cannot be encoded without the pair table.
    pub(super) fn needs_pairs(&self) -> bool {
        self.longest == 0
    }

    /// Returns the pair table. If the model was built from token ranks instead of a merge list, the first call builds
    /// the table, which takes as long as the rest of loading.
    ///
    /// # Errors
    /// `Interrupted` during construction.
    pub(super) fn pairs(&self, vocab: &Vocab, keep_going: KeepGoing<'_>) -> Result<&Pairs> {
        if let Some(pairs) = self.pairs.get() {
            return Ok(pairs);
        }
        // Concurrent threads can each build the table. No thread waits for another: a fork copies only the thread that
        // calls it, so in the new process, a wait for another thread could last forever.
        let tokens = vocab.iter().filter(|&(_, kind, _)| kind == Kind::Token);
        let symbols = |content: &[u8], symbols: &mut Vec<u32>| self.alphabet.symbols(content, symbols, None).is_ok();
        let made = merges_of_tokens(vocab, tokens.map(|(id, _, content)| (id, content)), symbols, |id| id, keep_going)?;
        Ok(self.pairs.get_or_init(|| made))
    }

    /// # Errors
    /// As [`Bpe::pairs`].
    pub(super) fn merger(&self, vocab: &Vocab, keep_going: KeepGoing<'_>) -> Result<Merger<'_, Pairs>> {
        Ok(Merger { merges: self.pairs(vocab, keep_going)?, word_start: self.word_start.as_ref() })
    }

    /// Returns true if no merge joins a symbol to a `▁` on its right.
    pub fn splits_words(&self) -> bool {
        self.word_start.as_ref().is_some_and(|start| start.boundaries.joined().is_empty())
    }

    /// Returns true if whole pretokens are looked up before merging.
    pub fn whole_first(&self) -> bool {
        self.whole_first
    }

    /// Returns the split points inside of pretokens, if any.
    pub(super) fn split_points(&self, vocab: &Vocab, marks: Marks) -> Option<SplitPoints> {
        if self.whole_first {
            return None;
        }
        let before_marks = match marks {
            Marks::Spaces { begin_pretokens: true } => &MarkBoundaries::all(),
            _ => &self.word_start.as_ref()?.boundaries,
        };
        // If unknown characters are spelled as byte tokens, these tokens are symbols, and texts can be split next to
        // unknown characters. If a merge contains a byte token, texts are not split there, because the merge can join
        // an unknown character to a neighbor.
        let spells = self.alphabet.spells_unknown();
        let merges = |id| vocab.content(id).starts_with(b"<0x");
        let is_free = spells && !self.merges.iter().any(|&(left, right, _)| merges(left) || merges(right));
        let is_known = |c: char| marks.character() == c || self.character(c).is_some();
        let boundaries = is_free.then(|| SplitPoints::boundaries(vocab, marks));
        Some(SplitPoints::new((marks, before_marks), |c| is_free && !is_known(c), boundaries))
    }

    /// Returns the merges in order of rank: the original merge list or, if the model was built from token ranks, the
    /// last merge of each token. A token that is not the result of any merge is only matched as a whole pretoken.
    ///
    /// # Errors
    /// As `Bpe::pairs`.
    pub fn merges(&self, vocab: &Vocab, keep_going: KeepGoing<'_>) -> Result<Vec<(u32, u32, u32)>> {
        if self.ranks == RankOrder::Merges {
            return Ok(self.merges.clone());
        }
        let pairs = self.pairs(vocab, keep_going)?;
        let mut merges: Vec<_> = pairs.iter().map(|(left, right, merge)| (left, right, merge.result)).collect();
        merges.sort_unstable_by_key(|merge| merge.2);
        Ok(merges)
    }

    /// Appends the ids of one pretoken to `out`.
    ///
    /// # Errors
    /// [`Error::text`] for a unit that is not in the alphabet.
    pub fn encode(
        &self,
        vocab: &Vocab,
        pretoken: &[u8],
        keep_going: KeepGoing<'_>,
        scratch: &mut Scratch,
        out: &mut Out<'_>,
    ) -> Result<()> {
        if let Some(id) = self.entry(vocab, pretoken) {
            out.push(id, pretoken.len());
            return Ok(());
        }
        let len = self.symbols(pretoken, scratch, out)?;
        if self.longest > 0 && self.pairs.get().is_none() {
            let contents = ContentRanks { vocab, longest: self.longest };
            return Merger { merges: &contents, word_start: None }.run(len, keep_going, scratch, out);
        }
        self.merger(vocab, keep_going)?.run(len, keep_going, scratch, out)
    }

    /// Returns the id of the entry whose content is the whole pretoken, if any.
    #[inline]
    pub fn entry(&self, vocab: &Vocab, pretoken: &[u8]) -> Option<u32> {
        if self.whole_first {
            self.added.find(vocab, pretoken)
        } else {
            None
        }
    }

    /// Iterates over the added tokens that are also entries of the model, in arbitrary order.
    pub fn added_entries(&self) -> impl Iterator<Item = u32> + '_ {
        self.added.ids()
    }

    /// Computes the initial symbols, and their offsets if requested. Returns the offset after the last symbol.
    pub(super) fn symbols(&self, pretoken: &[u8], scratch: &mut Scratch, out: &Out<'_>) -> Result<usize> {
        scratch.symbols.clear();
        scratch.starts.clear();
        let starts = out.ends.is_some().then_some(&mut scratch.starts);
        self.alphabet.symbols(pretoken, &mut scratch.symbols, starts)
    }
}

/// Lookup of ranks by content, as in tiktoken: neighbors merge if their concatenation is a token.
struct ContentRanks<'a> {
    vocab: &'a Vocab,
    longest: usize,
}

impl ContentRanks<'_> {
    /// This lookup is used for a vocabulary whose longest token has at most this many bytes. The limit bounds the time
    /// of a lookup, which concatenates two tokens.
    const MOST: usize = 256;
}

impl Look for ContentRanks<'_> {
    #[inline]
    fn get(&self, left: u32, right: u32) -> Option<Merge> {
        let vocab = self.vocab;
        let (left, right) = (vocab.place(left)?, vocab.place(right)?);
        let len = left.len() + right.len();
        if len > self.longest {
            return None;
        }
        let result = if len <= Vocab::PADDING {
            let right = vocab.number(right).checked_shl(8 * left.len() as u32).unwrap_or(0);
            vocab.find(&(vocab.number(left) | right).to_le_bytes()[..len], false)?
        } else {
            let mut joined = [0; Self::MOST];
            joined[..left.len()].copy_from_slice(vocab.at(left));
            joined[left.len()..len].copy_from_slice(vocab.at(right));
            vocab.find(&joined[..len], false)?
        };
        (vocab.kind(result) == Kind::Token).then_some(Merge { rank: result, result })
    }
}
