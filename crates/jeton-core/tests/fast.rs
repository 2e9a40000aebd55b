//! Many pretokens at once give the ids of one after the other: for random vocabularies, of which few look like one that was trained.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

#[allow(dead_code)] // shared with the tests of the pretokenizer
mod pretokenize_texts;

use std::collections::HashSet;

use jeton_core::model::Scratch;
use jeton_core::tokenizer::{Extras, Permission, Tokenizer};
use jeton_core::vocab::{Kind, Vocab};
use pretokenize_texts::{rounds, Random, FRAGMENTS};

/// What the merges of a vocabulary are drawn from: characters of one to four bytes, and what repeats.
const PARTS: [&str; 14] = ["a", "b", "ab", " ", "  ", "the", "é", "Ж", "中", "文字", "한", "😀", "'s", "\u{301}"];

struct Made {
    tok: Tokenizer,
    contents: Vec<Vec<u8>>,
    what: String,
}

/// Bytes, then tokens that join two earlier ones which stand beside each other in some text.
fn make(random: &mut Random) -> Made {
    let all_bytes = random.below(4) > 0;
    let by_rank = random.below(2) == 0;
    let whole_first = by_rank || random.below(2) == 0;
    let text: Vec<u8> = (0..200).flat_map(|_| PARTS[random.below(PARTS.len())].bytes()).collect();
    let mut contents: Vec<Vec<u8>> = (0..=255)
        .map(|byte| vec![byte])
        .filter(|byte| all_bytes || text.contains(&byte[0]) || random.below(2) == 0)
        .collect();
    let mut known: HashSet<Vec<u8>> = contents.iter().cloned().collect();
    let mut merges = Vec::new();
    let mut symbols: Vec<usize> =
        text.iter().map(|&byte| contents.iter().position(|content| content[0] == byte).unwrap()).collect();
    for _ in 0..20 + random.below(150) {
        let at = random.below(symbols.len() - 1);
        let (left, right) = (symbols[at], symbols[at + 1]);
        let joined = [contents[left].clone(), contents[right].clone()].concat();
        if joined.len() > 40 || !known.insert(joined.clone()) {
            continue;
        }
        merges.push((left as u32, right as u32, contents.len() as u32));
        contents.push(joined);
        if random.below(4) > 0 {
            // as a trainer would: everywhere
            let new = contents.len() - 1;
            let mut i = 0;
            while i + 1 < symbols.len() {
                if (symbols[i], symbols[i + 1]) == (left, right) {
                    symbols[i] = new;
                    symbols.remove(i + 1);
                }
                i += 1;
            }
        }
    }
    if by_rank {
        // Entries that no merge reaches, and an order that no trainer has.
        for _ in 0..random.below(10) {
            let (i, j) = (random.below(contents.len()), random.below(contents.len()));
            let joined = [contents[i].clone(), contents[j].clone(), contents[i].clone()].concat();
            if joined.len() <= 40 && known.insert(joined.clone()) {
                contents.push(joined);
            }
        }
        let bytes = contents.iter().filter(|content| content.len() == 1).count();
        for _ in 0..random.below(5) {
            let (i, j) = (bytes + random.below(contents.len() - bytes), bytes + random.below(contents.len() - bytes));
            contents.swap(i, j);
        }
    } else if random.below(3) == 0 {
        for _ in 0..5 {
            let (i, j) = (random.below(merges.len()), random.below(merges.len()));
            merges.swap(i, j);
        }
    }
    let pattern = ["none", "gpt2", "cl100k", "o200k", "qwen2", "whitespace"][random.below(6)];
    let ranks = if by_rank { "tokens" } else { "merges" };
    let unk = (random.below(2) == 0).then_some(contents.len());
    let (unk_id, fuse_unk) = (unk.map_or("null".to_owned(), |id| id.to_string()), random.below(2) == 0);
    let options = format!(
        r#"{{"model":{{"type":"BPE","level":"byte","ranks":"{ranks}","whole_first":{whole_first},"end_of_word":null,
        "unk":{unk_id},"fuse_unk":{fuse_unk}}},
        "pretokenizer":[{{"type":"Pattern","name":"{pattern}"}}]}}"#
    );
    let entries = (0..).zip(&contents).map(|(id, content)| (id, Kind::Token, content.as_slice()));
    let unknown = unk.map(|id| (id as u32, Kind::Special, b"<unk>".as_slice()));
    let vocab = Vocab::new(entries.chain(unknown)).unwrap();
    let merges = if by_rank { Vec::new() } else { merges };
    let tok = Tokenizer::from_json(&options, vocab, Extras { merges, ..Extras::default() }).unwrap();
    Made {
        tok,
        contents,
        what: format!("{ranks} {pattern} whole first {whole_first} all bytes {all_bytes} unk {unk_id} {fuse_unk}"),
    }
}

/// Tokens glued together, fragments, runs; sometimes cut within a character.
fn text(random: &mut Random, contents: &[Vec<u8>]) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..1 + random.below(40) {
        let times = if random.below(12) == 0 { 1 + random.below(200) } else { 1 };
        let part = match random.below(3) {
            0 => contents[random.below(contents.len())].clone(),
            1 => PARTS[random.below(PARTS.len())].as_bytes().to_vec(),
            _ => FRAGMENTS[random.below(FRAGMENTS.len())].as_bytes().to_vec(),
        };
        text.extend(part.repeat(times));
    }
    if random.below(2) == 0 {
        text = String::from_utf8_lossy(&text).into_owned().into_bytes();
    }
    text
}

#[test]
fn many_at_once_equal_one_after_the_other() {
    let mut random = Random(11);
    let (mut encoded, mut refused) = (0, 0);
    for _ in 0..rounds(400) {
        let Made { tok, contents, what } = make(&mut random);
        let permit = tok.permit(&Permission::None).unwrap();
        let texts: Vec<Vec<u8>> = (0..30).map(|_| text(&mut random, &contents)).collect();
        let mut all = Vec::new();
        for text in &texts {
            let mut ids = Vec::new();
            let plain = tok.encode(text, &permit, &|| true, &mut Scratch::default(), &mut ids).map(|()| ids);
            for again in 0..2 {
                let fast = tok.encode_long(text, &permit, 1, &mut || true);
                let known = String::from_utf8_lossy(text);
                match (&plain, &fast) {
                    (Ok(plain), Ok(fast)) => {
                        if let Some(at) = (0..plain.len().max(fast.len())).find(|&i| plain.get(i) != fast.get(i)) {
                            let near = |ids: &[u32]| {
                                let from = at.saturating_sub(3).min(ids.len());
                                ids[from..(at + 5).min(ids.len())]
                                    .iter()
                                    .map(|&id| (id, String::from_utf8_lossy(&contents[id as usize]).into_owned()))
                                    .collect::<Vec<_>>()
                            };
                            panic!(
                                "{what}, time {again}, id {at} of {}: {:?}, plain {:?}, in {known:?}",
                                plain.len(),
                                near(fast),
                                near(plain)
                            );
                        }
                    }
                    (Err(plain), Err(fast)) => assert_eq!(fast.to_string(), plain.to_string(), "{what}"),
                    _ => panic!("{what}, {known:?}: {plain:?} and {fast:?}"),
                }
            }
            match plain {
                Ok(ids) => {
                    assert_eq!(tok.count(text, &permit, 1, &mut || true).unwrap(), ids.len(), "{what}");
                    all.push(Some(ids));
                    encoded += 1;
                }
                Err(_) => {
                    all.push(None);
                    refused += 1;
                }
            }
        }
        let first_refused = all.iter().position(Option::is_none);
        match tok.encode_batch(&texts.iter().collect::<Vec<_>>(), &permit, 2, &mut || true) {
            Ok((ids, offsets)) => {
                assert_eq!(first_refused, None);
                let parts = offsets.windows(2).map(|range| ids[range[0] as usize..range[1] as usize].to_vec());
                assert!(parts.eq(all.into_iter().flatten()), "{what}: as a batch");
            }
            Err((index, _)) => assert_eq!(Some(index), first_refused, "{what}"),
        }
    }
    assert!(encoded > refused && refused > 0, "{encoded} encoded, {refused} refused");
}
