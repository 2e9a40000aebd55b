//! Batched encoding yields the ids of the slow path for random vocabularies, most of which are unlike trained ones.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod pretokenize_texts;

use std::collections::HashSet;

use jeton_core::model::Scratch;
use jeton_core::tokenizer::{Extras, Permission, Tokenizer};
use jeton_core::vocab::{Kind, Vocab};
use pretokenize_texts::{rounds, Random, FRAGMENTS};

/// Fragments of random vocabularies: characters of one to four bytes, and runs.
const PARTS: [&str; 17] =
    ["a", "b", "ab", " ", "  ", "the", "é", "Ж", "中", "文字", "한", "字", "。", "국中", "😀", "'s", "\u{301}"];

struct Made {
    tok: Tokenizer,
    contents: Vec<Vec<u8>>,
    what: String,
}

/// Generates a byte-level BPE model: bytes, and merges of tokens that are adjacent in a random text.
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
            // Merge all occurrences, as a trainer does.
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
        // Entries that no merge produces, in an order that training does not yield.
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

/// Generates a text of concatenated tokens, fragments and runs, sometimes with invalid UTF-8.
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

/// Stages that replace spaces by `▁`: normalizers and pre-tokenizers. The last three also do something else.
const MARKING: [[&str; 2]; 15] = [
    ["", r#"{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":false}"#],
    ["", r#"{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":false}"#],
    ["", r#"{"type":"Metaspace","replacement":"▁","prepend_scheme":"never","split":false}"#],
    ["", r#"{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}"#],
    ["", r#"{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true}"#],
    ["PREPEND,REPLACE", ""],
    ["REPLACE,PREPEND", ""],
    [r#"REPLACE,{"type":"Prepend","prepend":"a▁"}"#, ""],
    [r#"{"type":"Prepend","prepend":" "},REPLACE"#, ""],
    ["REPLACE", r#"{"type":"Split","pattern":{"String":" "},"behavior":"MergedWithPrevious","invert":false}"#],
    ["PREPEND,REPLACE", r#"{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":false}"#],
    [
        r#"{"type":"SentencePiece","precompiled_charsmap":null,"add_dummy_prefix":true,"remove_extra_whitespaces":false,
        "escape_whitespaces":true,"treat_whitespace_as_suffix":false}"#,
        "",
    ],
    ["PREPEND,REPLACE", r#"{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}"#],
    [
        r#"REPLACE,{"type":"Prepend","prepend":" "}"#,
        r#"{"type":"Split","pattern":{"String":" "},"behavior":"Isolated","invert":false}"#,
    ],
    ["REPLACE", r#"{"type":"Split","pattern":{"String":" "},"behavior":"Removed","invert":true}"#],
];

/// Generates a model of pieces (by merges, by scores, or Unigram), most of them concatenated from two others, some
/// user-defined, unused or bytes.
fn make_words(random: &mut Random) -> Made {
    const LETTERS: [&str; 16] =
        ["▁", "a", ".", "b", "1", "c", "(", "é", "中", "文", "字", "▁▁", "▁a", "▁the", "x", "'"];
    let kind = random.below(4);
    let mut contents: Vec<(Kind, String)> =
        LETTERS[..random.below(3) + 12].iter().map(|&c| (Kind::Token, c.into())).collect();
    let mut known: HashSet<String> = contents.iter().map(|(_, content)| content.clone()).collect();
    let mut merges = Vec::new();
    let inside = random.below(6) == 0; // pieces can cross the start of a word
    for _ in 0..10 + random.below(80) {
        let (left, right) = (random.below(contents.len()), random.below(contents.len()));
        let joined = contents[left].1.clone() + &contents[right].1;
        let reaches = joined.trim_start_matches('▁').contains('▁');
        if joined.len() > 30 || reaches && !inside || !known.insert(joined.clone()) {
            continue;
        }
        merges.push((left as u32, right as u32, contents.len() as u32));
        contents.push((Kind::Token, joined));
    }
    let marking = (random.below(2) == 0).then(|| MARKING[random.below(MARKING.len())]);
    let mut flags = Vec::new();
    if kind > 0 || marking.is_some() {
        for _ in 0..random.below(3) {
            let content: String = (0..1 + random.below(3)).map(|_| LETTERS[random.below(LETTERS.len())]).collect();
            if known.insert(content.clone()) {
                if kind == 0 {
                    flags.push((contents.len() as u32, random.below(16) as u8));
                }
                contents.push((Kind::Added, content));
            }
        }
        if kind > 0 && random.below(5) == 0 {
            let at = random.below(contents.len());
            contents[at].0 = Kind::Unused;
        }
    }
    if random.below(8) == 0 {
        contents.remove(0); // no piece begins a word
        merges.clear();
    }
    let bytes = random.below(2) == 0;
    if bytes {
        contents.extend((0..=255).map(|byte| (Kind::Byte, format!("<0x{byte:02X}>"))));
    }
    let unk = contents.len();
    contents.push((Kind::Special, "<unk>".into()));
    // Few distinct scores, so that many segmentations have nearly equal sums; sometimes large ones, so that sums are
    // rebased.
    let [step, base] = [[1.0, 0.1, 0.01, 0.001][random.below(4)], [0.0, 0.0, 300.0, 5_000.0][random.below(4)]];
    let distinct = random.below(2) == 0;
    let score = |i: usize, random: &mut Random| match distinct {
        true => -(i as f64) * 0.5,
        false => -base - step * (1 + random.below(40)) as f64,
    };
    let scores: Vec<f64> = (0..contents.len()).map(|i| score(i, random)).collect();
    let model = match kind {
        0 => format!(
            r#""type":"BPE","level":"char","ranks":"merges","whole_first":{},"end_of_word":null,"fuse_unk":{},"byte_fallback":{bytes}"#,
            random.below(4) == 0,
            random.below(2) == 0,
        ),
        1 => format!(r#""type":"Pieces","byte_fallback":{bytes}"#),
        _ => format!(r#""type":"Unigram","precision":"f32","byte_fallback":{bytes}"#),
    };
    let pattern = ["none", "none", "gpt2", "whitespace"][random.below(4)];
    let [normalizer, pretokenizer] = match marking {
        Some(parts) => parts.map(|part| {
            let prepend = part.replace("PREPEND", r#"{"type":"Prepend","prepend":"▁"}"#);
            prepend.replace("REPLACE", r#"{"type":"Replace","pattern":{"String":" "},"content":"▁"}"#)
        }),
        None => [String::new(), format!(r#"{{"type":"Pattern","name":"{pattern}"}}"#)],
    };
    let options =
        format!(r#"{{"model":{{{model},"unk":{unk}}},"normalizer":[{normalizer}],"pretokenizer":[{pretokenizer}]}}"#);
    let entries = (0..).zip(&contents).map(|(id, (kind, content))| (id, *kind, content.as_bytes()));
    let vocab = Vocab::new(entries).unwrap();
    let (merges, scores) = if kind == 0 { (merges, Vec::new()) } else { (Vec::new(), scores) };
    let tok = Tokenizer::from_json(&options, vocab, Extras { merges, scores, flags }).unwrap();
    let what = format!("{options}, {contents:?}, step {step}, base {base}, distinct {distinct}");
    Made { tok, contents: contents.into_iter().map(|(_, content)| content.into_bytes()).collect(), what }
}

/// Generates a text of words, some of which are pieces.
fn words(random: &mut Random, contents: &[Vec<u8>]) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..1 + random.below(60) {
        let times = if random.below(12) == 0 { 1 + random.below(100) } else { 1 };
        let part = match random.below(4) {
            0 => "▁".as_bytes(),
            1 => ["z", " ", "Ж", "😀", "zz", "\u{2582}", "\u{2600}", "a.", ")b"][random.below(9)].as_bytes(),
            _ => &contents[random.below(contents.len())],
        };
        text.extend(part.repeat(times));
    }
    match random.below(3) {
        0 => text,
        all => String::from_utf8_lossy(&text).replace("▁", [" ", " ", "▁ "][all]).into_bytes(),
    }
}

#[test]
fn batched_encoding_of_words_equals_the_slow_path() {
    let mut random = Random(23);
    for _ in 0..rounds(400) {
        let made = make_words(&mut random);
        let texts: Vec<Vec<u8>> = (0..30).map(|_| words(&mut random, &made.contents)).collect();
        compare(&made, &texts);
    }
}

#[test]
fn batched_encoding_of_bytes_equals_the_slow_path() {
    let mut random = Random(11);
    let (mut encoded, mut refused) = (0, 0);
    for _ in 0..rounds(400) {
        let made = make(&mut random);
        let texts: Vec<Vec<u8>> = (0..30).map(|_| text(&mut random, &made.contents)).collect();
        let (some, others) = compare(&made, &texts);
        (encoded, refused) = (encoded + some, refused + others);
    }
    assert!(encoded > refused && refused > 0, "{encoded} encoded, {refused} refused");
}

/// Compares all encoding functions on all texts; returns the numbers of encoded and of refused texts.
fn compare(made: &Made, texts: &[Vec<u8>]) -> (usize, usize) {
    let Made { tok, contents, what } = made;
    let permit = tok.permit(&Permission::None).unwrap();
    let (mut encoded, mut refused) = (0, 0);
    let mut all = Vec::new();
    for text in texts {
        let mut ids = Vec::new();
        let plain = tok.encode(text, &permit, &|| true, &mut Scratch::default(), &mut ids).map(|()| ids);
        for again in 0..3 {
            // First without tables, then with tables, then with filled caches.
            if again == 1 {
                tok.prepare(usize::MAX, &mut || true).unwrap();
            }
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
    (encoded, refused)
}
