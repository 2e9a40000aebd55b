//! Counts → merges: one incremental engine for every tie rule.
//!
//! Every distinct pretoken stands once in one array of cells ([`super::cells`]), with its count as weight, in order of first
//! appearance. For each pair the engine keeps its count (Σ weight × adjacent places, overlapping) and the cells where it begins,
//! ascending. A merge visits exactly these cells, whatever the length of the pretokens, so text without pretokens costs no more
//! than text with.
//!
//! # Why it is exact
//! In plain BPE a token string has one derivation: all occurrences of the winning pair are merged at once, so how a
//! string came about depends on the string alone. Hence all occurrences of a pair are born in one merge, its count never grows
//! after that, and its first occurrence never moves forward. Every entry of the heap is therefore an upper bound, and a top
//! entry that is still true is the winner. Cells where a pair no longer stands are recognized by their content: ids never come
//! back to a cell they left.
//!
//! # Cost
//! O(initial symbols + merge events), plus a heap operation for each pair born and each bound corrected. Memory: 8 bytes a
//! cell, 4 for each place of a pair.
//!
//! Left out: batching, threads (merging after deduplication is a walk through memory), Unigram, WordPiece.
//! Plain version: `reference/step04_train.py`. Source: the incremental method is Sennrich et al. 2016 (subword-nmt
//! `learn_bpe.py`); the proof above is ours.

use std::cell::RefCell;
use std::collections::HashSet;

use hashbrown::HashTable;
use serde::Deserialize;

use super::cells::{Cells, MAX_CELLS};
use super::count::Counts;
use super::heap::Heap;
use super::rules::Rule;
use super::sequences::Symbols;
use super::tokens::Tokens;
use crate::alphabet::{EndOfWord, Level};
use crate::error::{Error, ErrorKind, Result};
use crate::hash::Hash;
use crate::interrupt::{GoOn, Looks};

/// Which of the most frequent pairs is merged when several are equally frequent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TieBreak {
    /// The one whose first occurrence in the current sequences comes first.
    First,
    /// The lowest (left id, right id).
    LowestIds,
    /// The larger (left, right) as strings, left first.
    HighestPair,
    /// The one whose result has fewer initial symbols, then the smaller string.
    Shortest,
}

/// What to learn.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The tie rule.
    pub tie_break: TieBreak,
    /// At most this many merges.
    pub num_merges: usize,
    /// Pairs less frequent than this are not merged; 0 means 1.
    pub min_frequency: u64,
    /// The unit of a symbol.
    pub level: Level,
    /// How the end of a word is marked.
    pub end: EndOfWord,
    /// The spelling of the mark, where tie rules compare strings.
    pub end_of_word: &'a str,
    /// Which pairs may merge; `None` is all.
    pub rule: Option<&'a dyn Rule>,
}

/// One merge, and the state of the corpus after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merge {
    /// Left id.
    pub left: u32,
    /// Right id.
    pub right: u32,
    /// The new id.
    pub result: u32,
    /// How often the pair stood in the corpus.
    pub count: u64,
    /// Tokens that the whole corpus takes after the merge.
    pub corpus_tokens: u64,
    /// Different tokens that occur in it after the merge.
    pub tokens_in_use: u32,
}

/// Learns merges; `watch` is called after each with the number done, and stops the work by returning false.
///
/// # Errors
/// [`ErrorKind::Interrupted`]; [`Error::training`] for counts whose sum passes 2⁶³ or a corpus of 2³² or more distinct symbols.
pub fn learn(
    counts: &Counts,
    symbols: &Symbols,
    options: &Options<'_>,
    watch: &mut dyn FnMut(usize) -> bool,
) -> Result<Vec<Merge>> {
    Ok(run(counts, symbols, options, watch)?.0)
}

/// As [`learn`]; and, where fewer merges were found than asked for, the pairs that merges of other pairs have taken every occurrence of.
///
/// # Errors
/// As [`learn`].
pub fn learn_and_what_is_gone(
    counts: &Counts,
    symbols: &Symbols,
    options: &Options<'_>,
    watch: &mut dyn FnMut(usize) -> bool,
) -> Result<(Vec<Merge>, Vec<(u32, u32)>)> {
    let (merges, learner) = run(counts, symbols, options, watch)?;
    let is_gone = |pair: &&Pair| pair.count == 0 && learner.allows(pair.left, pair.right);
    let mut gone: Vec<(u32, u32)> = Vec::new();
    if merges.len() < options.num_merges {
        gone = learner.pairs.iter().filter(is_gone).map(|pair| (pair.left, pair.right)).collect();
        let merged: HashSet<(u32, u32)> = merges.iter().map(|merge| (merge.left, merge.right)).collect();
        gone.retain(|pair| !merged.contains(pair));
    }
    Ok((merges, gone))
}

fn run<'a>(
    counts: &Counts,
    symbols: &Symbols,
    options: &Options<'a>,
    watch: &mut dyn FnMut(usize) -> bool,
) -> Result<(Vec<Merge>, Learner<'a>)> {
    let mut learner = Learner::new(counts, symbols, options, &mut || watch(0))?;
    let mut merges = Vec::new();
    while merges.len() < options.num_merges {
        if !watch(merges.len()) {
            return Err(ErrorKind::Interrupted.into());
        }
        let Some(pair) = learner.best() else { break };
        merges.push(learner.merge(pair)?);
    }
    Ok((merges, learner))
}

#[derive(Debug, Clone, Copy)]
struct Pair {
    left: u32,
    right: u32,
    count: u64,
    places: usize, // postings[places..places + num_places]: cells where it begins or once began, ascending
    num_places: u32,
}

/// An upper bound for a pair: it was this frequent, with this tie key, when the entry was written.
#[derive(Debug, Clone, Copy)]
struct Bound {
    count: u64,
    key: u64,
    pair: u32,
}

/// What one merge does to the pairs with one neighbor.
#[derive(Debug, Clone, Copy, Default)]
struct Neighbor {
    weight: u64,
    num_places: u32,
}

/// The neighbors on one side of the merged places.
#[derive(Debug, Default)]
struct Side {
    of: Vec<Neighbor>,       // by id
    ids: Vec<u32>,           // those that occur
    places: Vec<(u32, u32)>, // (neighbor, cell where the new pair begins)
}

impl Side {
    #[inline]
    fn add(&mut self, id: u32, weight: u64, place: u32) {
        let neighbor = &mut self.of[id as usize];
        if neighbor.num_places == 0 {
            self.ids.push(id);
        }
        neighbor.weight += weight;
        neighbor.num_places += 1;
        self.places.push((id, place));
    }
}

struct Learner<'a> {
    tie_break: TieBreak,
    min_frequency: u64,
    rule: Option<&'a dyn Rule>,
    cells: Cells,
    tokens: Tokens,
    pairs: Vec<Pair>,
    index: HashTable<u32>, // into pairs
    hash: Hash,
    postings: Vec<u32>,
    heap: Heap<Bound>,
    before: Side,
    after: Side,
    corpus_tokens: u64,
}

/// Whether `a` goes before `b`.
#[inline]
fn beats(a: &Bound, b: &Bound, tie_break: TieBreak, pairs: &[Pair], tokens: &Tokens) -> bool {
    if a.count != b.count {
        return a.count > b.count;
    }
    match (tie_break, tokens.strings()) {
        (TieBreak::HighestPair, Some(strings)) => {
            let [a, b] = [&pairs[a.pair as usize], &pairs[b.pair as usize]];
            let order = strings.of(a.left).cmp(strings.of(b.left));
            let order = order.then_with(|| strings.of(a.right).cmp(strings.of(b.right)));
            order.reverse().then((a.left, a.right).cmp(&(b.left, b.right))).is_lt()
        }
        (TieBreak::Shortest, Some(strings)) => {
            let by_length = a.key.cmp(&b.key);
            let [a, b] = [&pairs[a.pair as usize], &pairs[b.pair as usize]];
            let order = by_length.then_with(|| strings.joined(a.left, a.right).cmp(strings.joined(b.left, b.right)));
            order.then((a.left, a.right).cmp(&(b.left, b.right))).is_lt()
        }
        _ => a.key < b.key,
    }
}

impl<'a> Learner<'a> {
    fn new(counts: &Counts, symbols: &Symbols, options: &Options<'a>, watch: &mut dyn FnMut() -> bool) -> Result<Self> {
        let watch = RefCell::new(watch);
        let go_on = || watch.borrow_mut()();
        let mut learner = Self {
            tie_break: options.tie_break,
            min_frequency: options.min_frequency.max(1),
            rule: options.rule,
            cells: Cells::new(),
            tokens: Tokens::new(symbols, options)?,
            pairs: Vec::new(),
            index: HashTable::new(),
            hash: Hash::default(),
            postings: Vec::new(),
            heap: Heap::new(Vec::new(), |_, _| false),
            before: Side::default(),
            after: Side::default(),
            corpus_tokens: 0,
        };
        learner.lay_out(counts, symbols, options, &go_on)?;
        let most_merges = options.num_merges.min(learner.cells.len()); // each takes a cell at least
        let num_ids = learner.tokens.len() + most_merges;
        learner.before.of.resize(num_ids, Neighbor::default());
        learner.after.of.resize(num_ids, Neighbor::default());
        learner.find_pairs(&go_on)?;
        Ok(learner)
    }

    /// Fills the cells.
    fn lay_out(&mut self, counts: &Counts, symbols: &Symbols, options: &Options<'_>, go_on: GoOn<'_>) -> Result<()> {
        let alphabet = symbols.alphabet(options.level, options.end, None);
        let mut ids = Vec::new();
        let mut total: u128 = 0;
        let mut looks = Looks::new(go_on);
        for (pretoken, count) in counts.iter() {
            looks.now_and_then()?;
            ids.clear();
            alphabet.symbols(pretoken, &mut ids, None)?;
            total += u128::from(count) * ids.len() as u128;
            if total > i64::MAX as u128 {
                return Err(Error::training("the counts add up to more than 2^63 symbols"));
            }
            for &id in &ids {
                self.tokens.occurs(id, count);
            }
            if ids.len() < 2 || count == 0 {
                continue; // no pairs
            }
            if self.cells.len() + ids.len() > MAX_CELLS {
                return Err(Error::training(
                    "more than 2^31 symbols in distinct pretokens: use a pattern that cuts the text shorter",
                ));
            }
            self.cells.push(&ids, count);
        }
        self.corpus_tokens = total as u64;
        Ok(())
    }

    /// Counts all pairs, then lists the places of those that can ever be merged.
    fn find_pairs(&mut self, go_on: GoOn<'_>) -> Result<()> {
        let mut looks = Looks::new(go_on);
        let cells = std::mem::replace(&mut self.cells, Cells::new());
        let mut pair_at = vec![u32::MAX; cells.len()];
        for (at, left, right) in cells.initial_pairs() {
            looks.now_and_then()?;
            let index = self.pair(left, right);
            self.pairs[index as usize].count += cells.weight(at);
            self.pairs[index as usize].num_places += 1;
            pair_at[at as usize] = index;
        }
        self.cells = cells;
        for index in 0..self.pairs.len() {
            let Pair { left, right, .. } = self.pairs[index];
            if !self.allows(left, right) {
                self.pairs[index].count = 0; // and so it stays: counts never grow
            }
        }
        let mut total = 0;
        for pair in &mut self.pairs {
            pair.places = total;
            if pair.count >= self.min_frequency {
                total += pair.num_places as usize;
            }
            pair.num_places = 0;
        }
        self.postings = vec![0; total];
        for (at, &index) in pair_at.iter().enumerate() {
            if let Some(pair) = self.pairs.get_mut(index as usize) {
                if pair.count >= self.min_frequency {
                    self.postings[pair.places + pair.num_places as usize] = at as u32;
                    pair.num_places += 1;
                }
            }
        }
        let frequent =
            (0..self.pairs.len() as u32).filter(|&pair| self.pairs[pair as usize].count >= self.min_frequency);
        let bounds = frequent.map(|pair| self.bound(pair)).collect();
        self.heap = Heap::new(bounds, |a, b| beats(a, b, self.tie_break, &self.pairs, &self.tokens));
        Ok(())
    }

    /// Whether the rule, if there is one, lets the pair merge.
    fn allows(&self, left: u32, right: u32) -> bool {
        match (self.rule, self.tokens.strings()) {
            (Some(rule), Some(strings)) => rule.allows(strings.of(left), strings.of(right)),
            _ => true,
        }
    }

    /// The index of a pair, which is made if it is new.
    fn pair(&mut self, left: u32, right: u32) -> u32 {
        let Self { pairs, index, hash, .. } = self;
        let key = |pair: &Pair| hash.int(u64::from(pair.left) << 32 | u64::from(pair.right));
        let new = Pair { left, right, count: 0, places: 0, num_places: 0 };
        let same = |&i: &u32| (pairs[i as usize].left, pairs[i as usize].right) == (left, right);
        let rehash = |&i: &u32| key(&pairs[i as usize]);
        let next = pairs.len() as u32;
        let found = *index.entry(key(&new), same, rehash).or_insert(next).get();
        if found == next {
            pairs.push(new);
        }
        found
    }

    fn known_pair(&self, left: u32, right: u32) -> Option<u32> {
        let key = self.hash.int(u64::from(left) << 32 | u64::from(right));
        let same = |&i: &u32| (self.pairs[i as usize].left, self.pairs[i as usize].right) == (left, right);
        self.index.find(key, same).copied()
    }

    /// Whether the pair begins at this cell.
    #[inline]
    fn stands_at(&self, pair: &Pair, at: u32) -> bool {
        self.cells.holds(at, pair.left, self.tokens.length(pair.left), pair.right)
    }

    /// The present bound of a pair.
    fn bound(&self, index: u32) -> Bound {
        let pair = &self.pairs[index as usize];
        let length = |id: u32| u64::from(self.tokens.length(id));
        let key = match self.tie_break {
            TieBreak::First => self.postings.get(pair.places).copied().unwrap_or(0).into(),
            TieBreak::LowestIds => u64::from(pair.left) << 32 | u64::from(pair.right),
            TieBreak::HighestPair => 0,
            TieBreak::Shortest => length(pair.left) + length(pair.right),
        };
        Bound { count: pair.count, key, pair: index }
    }

    /// The pair to merge next.
    fn best(&mut self) -> Option<u32> {
        loop {
            let &mut Bound { count, key, pair } = self.heap.top()?;
            if self.tie_break == TieBreak::First {
                self.skip_gone(pair);
            }
            let now = self.bound(pair);
            let beats = |a: &Bound, b: &Bound| beats(a, b, self.tie_break, &self.pairs, &self.tokens);
            if now.count < self.min_frequency {
                self.heap.pop(beats);
            } else if (now.count, now.key) == (count, key) {
                self.heap.pop(beats);
                return Some(pair);
            } else if let Some(top) = self.heap.top() {
                *top = now;
                self.heap.changed(beats);
            }
        }
    }

    /// Drops the leading places where the pair no longer stands: its first place is then its first occurrence.
    fn skip_gone(&mut self, index: u32) {
        let mut pair = self.pairs[index as usize];
        while pair.num_places > 0 && !self.stands_at(&pair, self.postings[pair.places]) {
            pair.places += 1;
            pair.num_places -= 1;
        }
        self.pairs[index as usize] = pair;
    }

    /// Merges a pair everywhere.
    fn merge(&mut self, index: u32) -> Result<Merge> {
        let pair = self.pairs[index as usize];
        let result = self.tokens.push(pair.left, pair.right)?;
        let mut merged = 0; // weighted places
        for i in pair.places..pair.places + pair.num_places as usize {
            let at = self.postings[i];
            if self.stands_at(&pair, at) {
                merged += self.merge_at(&pair, result, at);
            }
        }
        self.pairs[index as usize].count = 0;
        self.settle(&pair, result);
        self.corpus_tokens -= merged;
        self.tokens.merged(pair.left, pair.right, result, merged);
        let (corpus_tokens, tokens_in_use) = (self.corpus_tokens, self.tokens.in_use());
        Ok(Merge { left: pair.left, right: pair.right, result, count: pair.count, corpus_tokens, tokens_in_use })
    }

    /// Merges one occurrence and notes its neighbors. Returns its weight.
    #[inline]
    fn merge_at(&mut self, pair: &Pair, result: u32, at: u32) -> u64 {
        let weight = self.cells.weight(at);
        let length = self.tokens.length(result);
        if let Some(place) = self.cells.before(at) {
            let token = self.cells.token(place);
            self.before.add(token, weight, place);
            if token == result {
                // The occurrence just before saw our left half as its right neighbor; that pair is gone again.
                self.after.of[pair.left as usize].weight -= weight;
            }
        }
        if let Some(right) = self.cells.after(at, length) {
            self.after.add(right, weight, at);
        }
        self.cells.join(at, self.tokens.length(pair.left), length, result);
        weight
    }

    /// Brings the counts of all pairs up to date after the places of `pair` became `result`.
    fn settle(&mut self, pair: &Pair, result: u32) {
        // Pairs that lost occurrences: (x, left) and (right, y). What `after` took back for (result, left) was never lost.
        let regained = self.before.of[result as usize].weight;
        for i in 0..self.before.ids.len() {
            let x = self.before.ids[i];
            if x != result {
                self.lose(x, pair.left, self.before.of[x as usize].weight);
            }
        }
        for i in 0..self.after.ids.len() {
            let y = self.after.ids[i];
            let back = if y == pair.left { regained } else { 0 };
            self.lose(pair.right, y, self.after.of[y as usize].weight + back);
        }
        // Pairs that are born: (x, result) and (result, y).
        let mut side = std::mem::take(&mut self.before);
        self.give_birth(&mut side, |x| (x, result));
        self.before = side;
        let mut side = std::mem::take(&mut self.after);
        self.give_birth(&mut side, |y| (result, y));
        self.after = side;
    }

    fn lose(&mut self, left: u32, right: u32, weight: u64) {
        if let Some(index) = self.known_pair(left, right) {
            let pair = &mut self.pairs[index as usize];
            pair.count = pair.count.saturating_sub(weight); // the merged pair itself is already at 0
        }
    }

    /// Makes the new pairs of one side, with their places, and leaves the side empty.
    fn give_birth(&mut self, side: &mut Side, ids: impl Fn(u32) -> (u32, u32)) {
        let mut end = self.postings.len();
        let first_pair = self.pairs.len();
        for &id in &side.ids {
            let neighbor = &mut side.of[id as usize];
            let (left, right) = ids(id);
            if neighbor.weight >= self.min_frequency && self.allows(left, right) {
                let index = self.pair(left, right) as usize;
                self.pairs[index].count = neighbor.weight;
                self.pairs[index].places = end;
                self.pairs[index].num_places = neighbor.num_places;
                end += neighbor.num_places as usize;
                neighbor.num_places = index as u32; // from here on: the pair to write the places of
            } else {
                neighbor.num_places = u32::MAX;
            }
        }
        self.postings.resize(end, 0);
        let mut next: Vec<usize> = self.pairs[first_pair..].iter().map(|pair| pair.places).collect();
        for &(id, place) in &side.places {
            if let Some(next) =
                (side.of[id as usize].num_places as usize).checked_sub(first_pair).and_then(|i| next.get_mut(i))
            {
                self.postings[*next] = place;
                *next += 1;
            }
        }
        for index in first_pair..self.pairs.len() {
            let bound = self.bound(index as u32);
            self.heap.push(bound, |a, b| beats(a, b, self.tie_break, &self.pairs, &self.tokens));
        }
        for &id in &side.ids {
            side.of[id as usize] = Neighbor::default();
        }
        side.ids.clear();
        side.places.clear();
    }
}
