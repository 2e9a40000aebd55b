//! The learner and the encoder compared with plain versions that recount everything at every step.

#![allow(clippy::unwrap_used)]

mod storage;

use std::collections::HashMap;

use jeton_core::error::Result;
use jeton_core::model::bpe::Bpe;
use jeton_core::model::{Out, Scratch};
use jeton_core::train::count::Counts;
use jeton_core::train::learn::{learn, learn_more};
use jeton_core::train::merge::LearnedMerge;
use jeton_core::train::options::{KnownTokens, LearnOptions, TieBreak, Tuning};
use jeton_core::train::rules::Rule;
use jeton_core::train::sequences::symbols;
use jeton_core::util::spill::MemoryLimit;
use jeton_core::vocab::alphabet::{Alphabet, EndOfWord, Level};
use jeton_core::vocab::{Kind, Vocab};
use proptest::prelude::*;
use storage::limited;

type Pair = (u32, u32);

/// Returns all pairs with their counts, in order of first occurrence.
fn count_pairs(sequences: &[(Vec<u32>, u64)]) -> Vec<(Pair, u64)> {
    let mut order: Vec<(Pair, u64)> = Vec::new();
    let mut at: HashMap<Pair, usize> = HashMap::new();
    for (sequence, weight) in sequences {
        for pair in sequence.windows(2) {
            let index = *at.entry((pair[0], pair[1])).or_insert_with(|| {
                order.push(((pair[0], pair[1]), 0));
                order.len() - 1
            });
            order[index].1 += weight;
        }
    }
    order
}

fn merge_everywhere(sequence: &[u32], pair: Pair, new: u32) -> Vec<u32> {
    let mut out = Vec::new();
    let mut i = 0;
    while i < sequence.len() {
        if i + 1 < sequence.len() && (sequence[i], sequence[i + 1]) == pair {
            out.push(new);
            i += 2;
        } else {
            out.push(sequence[i]);
            i += 1;
        }
    }
    out
}

/// Rule that forbids tokens of more than five bytes, and tokens that end in `c`.
struct Short;

impl Rule for Short {
    fn allows(&self, left: &[u8], right: &[u8]) -> bool {
        left.len() + right.len() <= 5 && right.last() != Some(&b'c')
    }
}

fn naive(
    words: &[(Vec<u8>, u64)],
    tie_break: TieBreak,
    num_merges: usize,
    min_frequency: u64,
    rule: Option<&dyn Rule>,
) -> Vec<(u32, u32, u64, u64)> {
    let mut sequences: Vec<(Vec<u32>, u64)> =
        words.iter().map(|(w, n)| (w.iter().map(|&b| b.into()).collect(), *n)).collect();
    let mut strings: Vec<Vec<u8>> = (0..=255).map(|b| vec![b]).collect();
    let mut merges = Vec::new();
    while merges.len() < num_merges {
        let mut pairs = count_pairs(&sequences);
        let spelled = |id: u32| strings[id as usize].as_slice();
        pairs.retain(|&((left, right), _)| rule.is_none_or(|rule| rule.allows(spelled(left), spelled(right))));
        let Some(most) = pairs.iter().map(|&(_, n)| n).max().filter(|&n| n >= min_frequency) else { break };
        let tied = pairs.iter().filter(|&&(_, n)| n == most).map(|&(pair, _)| pair);
        let joined = |p: &Pair| [strings[p.0 as usize].clone(), strings[p.1 as usize].clone()].concat();
        let (left, right) = match tie_break {
            TieBreak::First => tied.clone().next().unwrap(),
            TieBreak::LowestIds => tied.clone().min().unwrap(),
            TieBreak::HighestPair => {
                tied.clone().max_by_key(|p| (&strings[p.0 as usize], &strings[p.1 as usize])).unwrap()
            }
            TieBreak::Shortest => tied.clone().min_by_key(|p| (joined(p).len(), joined(p), *p)).unwrap(),
        };
        let new = 256 + merges.len() as u32;
        strings.push(joined(&(left, right)));
        for (sequence, _) in &mut sequences {
            *sequence = merge_everywhere(sequence, (left, right), new);
        }
        let tokens = sequences.iter().map(|(s, n)| s.len() as u64 * n).sum();
        merges.push((left, right, most, tokens));
    }
    merges
}

/// Vocabulary of some merges, from which learning continues.
struct Half {
    merges: Vec<Pair>,
    strings: Vec<Vec<u8>>,
}

impl Half {
    fn new(merges: &[LearnedMerge]) -> Self {
        let mut strings: Vec<Vec<u8>> = (0..=255).map(|b| vec![b]).collect();
        for m in merges {
            strings.push([strings[m.left as usize].clone(), strings[m.right as usize].clone()].concat());
        }
        Self { merges: merges.iter().map(|m| (m.left, m.right)).collect(), strings }
    }
}

impl KnownTokens for Half {
    fn next_id(&self) -> u32 {
        self.strings.len() as u32
    }

    fn spelling(&self, id: u32) -> &[u8] {
        &self.strings[id as usize]
    }

    fn num_symbols(&self, id: u32) -> u32 {
        self.spelling(id).len() as u32
    }

    fn encode(&self, pretoken: &[u8], ids: &mut Vec<u32>) -> Result<()> {
        *ids = pretoken.iter().map(|&b| b.into()).collect();
        for (&pair, new) in self.merges.iter().zip(256..) {
            *ids = merge_everywhere(ids, pair, new);
        }
        Ok(())
    }
}

fn corpus() -> impl Strategy<Value = Vec<(Vec<u8>, u64)>> {
    let word = prop_oneof![
        prop::collection::vec(b'a'..=b'b', 1..60),
        prop::collection::vec(b'a'..=b'e', 1..20),
        (b'a'..=b'c', 1usize..40).prop_map(|(letter, n)| vec![letter; n]),
    ];
    let weight = prop_oneof![1u64..4, 1u64..(1 << 40)];
    prop::collection::vec((word, weight), 1..12)
}

/// Number of random cases; `PROPTEST_CASES` reduces it, for sanitizers.
fn cases(all: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).map_or(all, |cases: u32| cases.min(all))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(400)))]
    #[test]
    fn merges_equal_those_of_the_plain_version(
        words in corpus(),
        tie_break in prop::sample::select(vec![TieBreak::First, TieBreak::LowestIds, TieBreak::HighestPair, TieBreak::Shortest]),
        min_frequency in 1u64..4,
        is_short in any::<bool>(),
        threads in 1usize..4,
        shared_places in prop::sample::select(vec![4, 1000, 1000, 1000]), // with 4, threads share nearly all merges, which is slow
        floor_divisor in prop::sample::select(vec![1, 100, u64::MAX]),
        limit in prop::sample::select(vec![None, Some(1), Some(400), Some(4000)]),
    ) {
        let rule: Option<&dyn Rule> = if is_short { Some(&Short) } else { None };
        let mut counts = Counts::default();
        for (word, n) in &words {
            counts.add(word, *n).unwrap();
        }
        let distinct: Vec<(Vec<u8>, u64)> = counts.iter().map(|(w, n)| (w.to_vec(), n)).collect();
        let symbols = symbols(&counts, Level::Byte, EndOfWord::None).unwrap();
        let memory = limit.map_or(MemoryLimit::unlimited(), |limit| limited(limit, usize::MAX).0);
        let options = LearnOptions { tie_break, num_merges: 60, done: &[], memory: &memory, min_frequency, level: Level::Byte, end: EndOfWord::None, end_of_word: "", rule, threads, tuning: Tuning { shard_bytes: 5, shared_places, floor_divisor } };
        let merges = learn(&counts, &symbols, &options, &mut |_| true).unwrap();
        let got: Vec<_> = merges.iter().map(|m| (m.left, m.right, m.count, m.corpus_tokens)).collect();
        let expected = naive(&distinct, tie_break, 60, min_frequency, rule);
        prop_assert_eq!(&got, &expected);

        // Learning that resumes after some merges of an earlier run learns the same merges.
        for done in [1, merges.len() / 2, merges.len()] {
            let done = &merges[..done.min(merges.len())];
            let again = learn(&counts, &symbols, &LearnOptions { done, ..options }, &mut |_| true).unwrap();
            prop_assert_eq!(&again, &merges);
        }

        // Learning that continues from the first half of the merges learns the second half.
        let half = merges.len() / 2;
        let known = Half::new(&merges[..half]);
        let rest = learn_more(&counts, &known, &LearnOptions { num_merges: 60 - half, ..options }, &mut |_| true).unwrap();
        prop_assert_eq!(&rest, &merges[half..]);

        // Encoding each word with the merges gives the sequence that training ended with.
        let mut entries: Vec<(u32, Vec<u8>)> = (0..256).map(|b| (b, vec![b as u8])).collect();
        for m in &merges {
            let joined = [entries[m.left as usize].1.clone(), entries[m.right as usize].1.clone()].concat();
            entries.push((m.result, joined));
        }
        let vocab = Vocab::new(entries.iter().map(|(id, bytes)| (*id, Kind::Token, bytes.as_slice()))).unwrap();
        let alphabet = Alphabet::of(&vocab, Level::Byte, EndOfWord::None, None);
        let list: Vec<_> = merges.iter().map(|m| (m.left, m.right, m.result)).collect();
        let bpe = Bpe::from_merges(&vocab, alphabet, list.clone(), false).unwrap();
        let mut scratch = Scratch::default();
        for (word, _) in &distinct {
            let long = word.repeat(30); // long enough for the priority queue
            for text in [word.as_slice(), long.as_slice()] {
                let mut ids = Vec::new();
                bpe.encode(&vocab, text, &|| true, &mut scratch, &mut Out::ids(&mut ids)).unwrap();
                let mut plain: Vec<u32> = text.iter().map(|&b| b.into()).collect();
                for &(left, right, new) in &list {
                    plain = merge_everywhere(&plain, (left, right), new);
                }
                prop_assert_eq!(&ids, &plain);
                let story = bpe.explain(&vocab, text, &|| true).unwrap();
                prop_assert_eq!(story.symbols.len() - story.steps.len(), ids.len());
            }
        }
    }
}
