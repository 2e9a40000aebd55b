//! Byte-pair encoding of one pretoken: again and again the pair of lowest rank becomes one symbol, leftmost first.
//!
//! Two ways to the same ids. A short pretoken is merged in an array: each step scans for the lowest rank, O(n²) with a tiny
//! constant. A long one uses a linked list and a heap of (rank, place), O(n log n) whatever the bytes.
//!
//! Ranks come from a merge list (its order) or from a rank file, where the rank of a pair is the rank of its concatenated
//! bytes: then the table holds *every* split of every token into two tokens, so look-ups by pair and by bytes agree, even for
//! files that no trainer wrote.
//!
//! Left out: caches and vector instructions. Plain version: `reference/step05_encode.py`.
//! Source: Sennrich et al. 2016, arXiv 1508.07909, section 3.2; tiktoken's use of ranks, openai/tiktoken src/lib.rs.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::pairs::{Merge, Pairs};
use crate::alphabet::{Alphabet, EndOfWord, Symbol};
use crate::error::{Error, Result};
use crate::interrupt::{GoOn, Looks};
use crate::vocab::{show, Kind, Vocab};

/// Pretokens up to this many symbols are merged in an array. Measured on English, Chinese and code: at 64 both ways cost the same
/// within noise, and almost no pretoken is longer.
const SHORT: usize = 64;

/// Where the ranks come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranks {
    /// The order of a merge list.
    Merges,
    /// The order of the tokens, for the concatenation of a pair (tiktoken).
    Tokens,
}

/// A BPE model.
#[derive(Debug, Clone)]
pub struct Bpe {
    /// How a pretoken becomes symbols.
    pub alphabet: Alphabet,
    /// Where the ranks come from.
    pub ranks: Ranks,
    merges: Vec<(u32, u32, u32)>, // rank -> (left, right, result); empty for Ranks::Tokens
    pairs: Pairs,
    whole_first: bool,
}

/// Memory that encoding reuses from pretoken to pretoken.
#[derive(Debug, Default)]
pub struct Scratch {
    symbols: Vec<u32>,
    ranks: Vec<u32>,
    nodes: Vec<Node>,
    heap: BinaryHeap<Reverse<u64>>, // rank << 32 | place
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub(super) id: u32,
    pub(super) prev: u32,
    pub(super) next: u32,
}

pub(super) const NONE: u32 = u32::MAX;

impl Bpe {
    /// A model from a merge list in order of rank.
    ///
    /// `whole_first`: a pretoken that is an entry is that entry, whatever the merges say (`ignore_merges` in HF).
    ///
    /// # Errors
    /// [`Error::config`] for a merge whose parts or result are no entries, whose result is not the parts joined, that merges past the
    /// end of a word, or that is listed twice.
    pub fn from_merges(
        vocab: &Vocab,
        alphabet: Alphabet,
        merges: Vec<(u32, u32, u32)>,
        whole_first: bool,
    ) -> Result<Self> {
        let mark = Symbol { unit: None, ends_word: true };
        if alphabet.end == EndOfWord::Symbol && alphabet.id(mark).is_none() {
            return Err(Error::config("the end-of-word mark is not in the vocabulary"));
        }
        let mut pairs = Pairs::with_capacity(merges.len());
        let mut joined = Vec::new();
        for (rank, &(left, right, result)) in merges.iter().enumerate() {
            let wrong = |why: &str| Error::config(format!("merge {rank}, ({left}, {right}) -> {result}: {why}"));
            for id in [left, right, result] {
                if !matches!(vocab.kind(id), Kind::Token | Kind::EndsWord) {
                    return Err(wrong(&format!("{id} is not an entry of the vocabulary")));
                }
            }
            if vocab.kind(left) == Kind::EndsWord || vocab.kind(right) != vocab.kind(result) {
                return Err(wrong("it does not keep the end of the word"));
            }
            joined.clear();
            joined.extend_from_slice(vocab.content(left));
            joined.extend_from_slice(vocab.content(right));
            if joined != vocab.content(result) {
                let [parts, whole] = [show(&joined), show(vocab.content(result))];
                return Err(wrong(&format!("the parts spell {parts:?}, the result {whole:?}")));
            }
            if pairs.insert(left, right, Merge { rank: rank as u32, result }).is_some() {
                return Err(wrong("the pair is listed twice"));
            }
        }
        Ok(Self { alphabet, ranks: Ranks::Merges, merges, pairs, whole_first })
    }

    /// A model from a byte-level vocabulary whose ids are ranks.
    pub fn from_ranks(vocab: &Vocab, alphabet: Alphabet) -> Self {
        let mut pairs = Pairs::with_capacity(vocab.num_tokens() * 2);
        let tokens = vocab.iter().filter(|&(_, kind, _)| kind == Kind::Token);
        let lengths: BTreeSet<usize> = tokens.map(|(_, _, content)| content.len()).collect();
        for (result, kind, content) in vocab.iter() {
            if kind != Kind::Token {
                continue;
            }
            // Only lengths that some token has: one huge token does not make every split of it a look-up.
            let fits = |&&length: &&usize| length < content.len() && lengths.contains(&(content.len() - length));
            for &middle in lengths.iter().filter(fits) {
                let (left, right) = content.split_at(middle);
                let Some(left) = vocab.find(left, false) else { continue };
                if let Some(right) = vocab.find(right, false) {
                    pairs.insert(left, right, Merge { rank: result, result });
                }
            }
        }
        Self { alphabet, ranks: Ranks::Tokens, merges: Vec::new(), pairs, whole_first: true }
    }

    /// A pretoken that is an entry is that entry, whatever the merges say.
    pub fn whole_first(&self) -> bool {
        self.whole_first
    }

    /// The merge of two neighbors, if they have one.
    #[inline]
    pub fn merge(&self, left: u32, right: u32) -> Option<Merge> {
        self.pairs.get(left, right)
    }

    /// The merges in order of rank: the list the model was made from. For ranks of tokens, the merge that makes each token out of its
    /// bytes; a token that no merges reach is only ever found as a whole and has none.
    ///
    /// # Errors
    /// As [`Bpe::explain`].
    pub fn merges(&self, vocab: &Vocab) -> Result<Vec<(u32, u32, u32)>> {
        if self.ranks == Ranks::Merges {
            return Ok(self.merges.clone());
        }
        let mut scratch = Scratch::default();
        let mut merges = Vec::with_capacity(vocab.num_tokens());
        for (id, kind, content) in vocab.iter() {
            if kind != Kind::Token || content.len() == 1 {
                continue;
            }
            scratch.symbols.clear();
            if content.len() <= SHORT {
                self.alphabet.symbols(content, &mut scratch.symbols)?;
                self.merge_short(&mut scratch, id);
            }
            if let [left, right] = scratch.symbols[..] {
                merges.push((left, right, id));
            } else if let Some(last) = self.explain(content, &|| true)?.steps.pop().filter(|step| step.result == id) {
                // Ranks that do not grow along merges: a token of higher rank comes first, as in ".:.:" of Llama 3.
                merges.push((last.merged.left, last.merged.right, id));
            }
        }
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
        go_on: GoOn<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        if self.whole_first {
            if let Some(id) = vocab.find(pretoken, false) {
                out.push(id);
                return Ok(());
            }
        }
        scratch.symbols.clear();
        self.alphabet.symbols(pretoken, &mut scratch.symbols)?;
        if scratch.symbols.len() <= SHORT {
            self.merge_short(scratch, NONE);
            out.extend_from_slice(&scratch.symbols);
        } else {
            self.merge_long(go_on, scratch, out)?;
        }
        Ok(())
    }

    #[inline]
    fn rank(&self, left: u32, right: u32) -> u32 {
        self.merge(left, right).map_or(NONE, |merge| merge.rank)
    }

    /// Merges `scratch.symbols` in place with ranks below `limit`. `ranks[i]` is the rank of the pair that starts at i.
    fn merge_short(&self, scratch: &mut Scratch, limit: u32) {
        let Scratch { symbols, ranks, .. } = scratch;
        ranks.clear();
        ranks.extend(symbols.windows(2).map(|pair| self.rank(pair[0], pair[1])));
        while let Some((at, rank)) = ranks.iter().copied().enumerate().min_by_key(|&(_, rank)| rank) {
            if rank >= limit {
                return;
            }
            let Some(merge) = self.merge(symbols[at], symbols[at + 1]) else { return };
            symbols[at] = merge.result;
            symbols.remove(at + 1);
            ranks.remove(at);
            if at < ranks.len() {
                ranks[at] = self.rank(symbols[at], symbols[at + 1]);
            }
            if at > 0 {
                ranks[at - 1] = self.rank(symbols[at - 1], symbols[at]);
            }
        }
    }

    /// The same for many symbols, straight into `out`.
    fn merge_long(&self, go_on: GoOn<'_>, scratch: &mut Scratch, out: &mut Vec<u32>) -> Result<()> {
        let Scratch { symbols, nodes, heap, .. } = scratch;
        if symbols.len() >= NONE as usize {
            return Err(Error::text(
                "a pretoken of 4 GiB or more cannot be encoded: use a pattern that cuts the text",
                0,
            ));
        }
        self.fill(symbols, nodes, heap);
        let mut looks = Looks::new(go_on);
        while let Some(Reverse(entry)) = heap.pop() {
            looks.now_and_then()?;
            let (rank, at) = ((entry >> 32) as u32, entry as u32);
            let Some(merge) = self.live(nodes, rank, at) else { continue };
            let before = join(nodes, at, merge.result);
            self.offer(nodes, heap, before);
            self.offer(nodes, heap, at);
        }
        let mut at = 0;
        while at != NONE {
            out.push(nodes[at as usize].id);
            at = nodes[at as usize].next;
        }
        Ok(())
    }

    pub(super) fn fill(&self, symbols: &[u32], nodes: &mut Vec<Node>, heap: &mut BinaryHeap<Reverse<u64>>) {
        let last = symbols.len() as u32 - 1;
        nodes.clear();
        let links = |i: u32| (i.wrapping_sub(1), if i == last { NONE } else { i + 1 });
        nodes.extend((0..).zip(symbols).map(|(i, &id)| Node { id, prev: links(i).0, next: links(i).1 }));
        let mut first = std::mem::take(heap).into_vec();
        first.clear();
        let ranks = symbols.windows(2).map(|pair| self.rank(pair[0], pair[1]));
        let known = (0u64..).zip(ranks).filter(|&(_, rank)| rank != NONE);
        first.extend(known.map(|(i, rank)| Reverse(u64::from(rank) << 32 | i)));
        *heap = BinaryHeap::from(first); // O(n), where n pushes would be O(n log n)
    }

    /// The merge that a heap entry names, if the two symbols still stand there.
    pub(super) fn live(&self, nodes: &[Node], rank: u32, at: u32) -> Option<Merge> {
        let node = nodes[at as usize];
        if node.id == NONE || node.next == NONE {
            return None;
        }
        self.merge(node.id, nodes[node.next as usize].id).filter(|merge| merge.rank == rank)
    }

    /// Puts the pair that starts at `at` on the heap, if there is one and it has a merge.
    pub(super) fn offer(&self, nodes: &[Node], heap: &mut BinaryHeap<Reverse<u64>>, at: u32) {
        let Some(node) = nodes.get(at as usize) else { return };
        let Some(next) = nodes.get(node.next as usize) else { return };
        let rank = self.rank(node.id, next.id);
        if rank != NONE {
            heap.push(Reverse(u64::from(rank) << 32 | u64::from(at)));
        }
    }
}

/// Makes the node at `at` and the one after it one; returns the place before.
pub(super) fn join(nodes: &mut [Node], at: u32, result: u32) -> u32 {
    let gone = nodes[at as usize].next;
    let Node { next: after, .. } = nodes[gone as usize];
    nodes[gone as usize].id = NONE;
    nodes[at as usize].id = result;
    nodes[at as usize].next = after;
    if after != NONE {
        nodes[after as usize].prev = at;
    }
    nodes[at as usize].prev
}
