//! Each model compared with its plain version, a literal implementation of the library's rule.

#![allow(clippy::unwrap_used)]

use jeton_core::model::{Model, Out, Sampler, Scratch, Specials};
use jeton_core::vocab::{Kind, Vocab};
use proptest::prelude::*;

fn vocab(entries: &[(u32, Kind, String)]) -> Vocab {
    Vocab::new(entries.iter().map(|(id, kind, content)| (*id, *kind, content.as_bytes()))).unwrap()
}

fn encode(model: &Model, vocab: &Vocab, text: &str) -> (Vec<u32>, Vec<usize>) {
    let (mut ids, mut ends, mut scratch) = (Vec::new(), Vec::new(), Scratch::default());
    model.encode(vocab, text.as_bytes(), &|| true, &mut scratch, &mut Out::with_ends(&mut ids, &mut ends)).unwrap();
    let mut alone = Vec::new();
    model.encode(vocab, text.as_bytes(), &|| true, &mut scratch, &mut Out::ids(&mut alone)).unwrap();
    assert_eq!(ids, alone, "with and without ends");
    assert_eq!(ids.len(), ends.len());
    assert!(ends.is_sorted() && ends.last().copied().unwrap_or(0) == text.len(), "{text:?} {ends:?}");
    (ids, ends)
}

/// Creates a vocabulary of pieces: `<unk>` with id 0, then the words with their kinds and scores.
fn pieces(words: &[(String, u8, u8)]) -> (Vocab, Vec<f64>) {
    let mut entries = vec![(0, Kind::Special, "<unk>".to_string())];
    let mut scores = vec![0.0];
    for (word, kind, score) in words {
        if entries.iter().all(|entry| entry.2 != *word) {
            let kind = [Kind::Token, Kind::Token, Kind::Token, Kind::Unused, Kind::Added][usize::from(*kind)];
            entries.push((entries.len() as u32, kind, word.clone()));
            scores.push(-f64::from(*score));
        }
    }
    (vocab(&entries), scores)
}

/// SentencePiece's BPE: a scan of all neighbors for each merge. Returns spans.
fn plain_pieces(vocab: &Vocab, scores: &[f64], text: &str) -> Vec<(usize, usize, u32)> {
    let piece = |s: &str| vocab.find(s.as_bytes(), false);
    let mut symbols: Vec<(usize, usize, bool)> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let user = vocab.iter().filter(|e| e.1 == Kind::Added && text.as_bytes()[at..].starts_with(e.2));
        let frozen = user.map(|e| e.2.len()).max();
        let len = frozen.unwrap_or_else(|| text[at..].chars().next().unwrap().len_utf8());
        symbols.push((at, at + len, frozen.is_some()));
        at += len;
    }
    loop {
        let mut best: Option<(f64, usize)> = None;
        for i in 1..symbols.len() {
            if symbols[i - 1].2 || symbols[i].2 {
                continue;
            }
            if let Some(id) = piece(&text[symbols[i - 1].0..symbols[i].1]) {
                if best.is_none_or(|best| scores[id as usize] > best.0) {
                    best = Some((scores[id as usize], i));
                }
            }
        }
        let Some((_, i)) = best else { break };
        symbols[i - 1].1 = symbols[i].1;
        symbols.remove(i);
    }
    let id = |&(start, end, frozen): &(usize, usize, bool)| {
        let added = vocab.iter().find(|e| frozen && e.2 == &text.as_bytes()[start..end]).map(|e| e.0);
        (start, end, added.or_else(|| piece(&text[start..end])).unwrap_or(0))
    };
    symbols.iter().map(id).collect()
}

/// Fuses adjacent unknown tokens.
fn fused(tokens: Vec<(usize, usize, u32)>) -> (Vec<u32>, Vec<usize>) {
    let (mut ids, mut ends) = (Vec::new(), Vec::new());
    for (_, end, id) in tokens {
        if id == 0 && ids.last() == Some(&0) {
            ends.pop();
        } else {
            ids.push(id);
        }
        ends.push(end);
    }
    (ids, ends)
}

/// Returns the highest sum of scores over all segmentations.
fn brute_force(vocab: &Vocab, scores: &[f64], unk: f64, text: &str, at: usize) -> f64 {
    if at == text.len() {
        return 0.0;
    }
    let rest = text[at..].char_indices().skip(1).map(|(i, _)| at + i).chain([text.len()]);
    let first = at + text[at..].chars().next().unwrap().len_utf8();
    let mut best = f64::NEG_INFINITY;
    for end in rest {
        let id = vocab.find(&text.as_bytes()[at..end], false);
        let score = match id {
            Some(id) if vocab.kind(id) == Kind::Token => scores[id as usize],
            _ if end == first => unk,
            _ => continue,
        };
        best = best.max(score + brute_force(vocab, scores, unk, text, end));
    }
    best
}

fn words(alphabet: &'static str, num: usize) -> impl Strategy<Value = Vec<(String, u8, u8)>> {
    let word = proptest::string::string_regex(&format!("[{alphabet}]{{1,4}}")).unwrap();
    proptest::collection::vec((word, 0..5u8, 0..4u8), 1..num)
}

fn sums(ids: &[u32], ends: &[usize], text: &str, scores: &[f64], unk: f64) -> f64 {
    let mut start = 0;
    let mut sum = 0.0;
    for (&id, &end) in ids.iter().zip(ends) {
        sum += if id == 0 { unk * text[start..end].chars().count() as f64 } else { scores[id as usize] };
        start = end;
    }
    sum
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn pieces_merge_by_the_rule(words in words("ab▁é", 30), text in "[ab▁éx]{0,40}") {
        let without_unused: Vec<_> = words.into_iter().map(|(w, k, s)| (w, if k == 3 { 0 } else { k }, s)).collect();
        let (vocab, scores) = pieces(&without_unused);
        let model = Model::from_json(r#"{"type":"Pieces","unk":0}"#, &vocab, vec![], &scores).unwrap();
        let plain = fused(plain_pieces(&vocab, &scores, &text));
        prop_assert_eq!(&encode(&model, &vocab, &text), &plain);
        model.prepare(&vocab, &|| true).unwrap();
        prop_assert_eq!(encode(&model, &vocab, &text), plain);
    }

    #[test]
    fn long_pieces_merge_by_the_rule(words in words("ab▁", 12), text in "[ab▁]{60,200}") {
        let all = ["a", "b", "▁"].map(|c| (c.to_string(), 0, 0)).into_iter().chain(words);
        let without_unused: Vec<_> = all.map(|(w, k, s)| (w, if k == 3 { 0 } else { k }, s)).collect();
        let (vocab, scores) = pieces(&without_unused);
        let model = Model::from_json(r#"{"type":"Pieces","unk":0}"#, &vocab, vec![], &scores).unwrap();
        let plain = fused(plain_pieces(&vocab, &scores, &text));
        prop_assert_eq!(&encode(&model, &vocab, &text), &plain);
        model.prepare(&vocab, &|| true).unwrap();
        prop_assert_eq!(encode(&model, &vocab, &text), plain);
    }

    #[test]
    fn unused_pieces_are_split_again(words in words("ab", 20), text in "[ab]{0,30}") {
        let (vocab, scores) = pieces(&words);
        let model = Model::from_json(r#"{"type":"Pieces","unk":0}"#, &vocab, vec![], &scores).unwrap();
        let (ids, ends) = encode(&model, &vocab, &text);
        let mut start = 0;
        for (id, end) in ids.into_iter().zip(ends) {
            prop_assert!(vocab.kind(id) != Kind::Unused);
            prop_assert!(id == 0 || vocab.content(id) == &text.as_bytes()[start..end]);
            start = end;
        }
    }

    #[test]
    fn unigram_finds_the_best_sum(words in words("abé", 25), text in "[abéx]{0,12}", single in any::<bool>()) {
        let words: Vec<_> = words.into_iter().filter(|word| word.1 != 4).collect();
        let (vocab, scores) = pieces(&words);
        let tokens = vocab.iter().filter(|e| e.1 == Kind::Token || !single).map(|e| scores[e.0 as usize]);
        let unk = tokens.fold(f64::INFINITY, f64::min) - 10.0;
        prop_assume!(unk.is_finite());
        let precision = if single { "f32" } else { "f64" };
        let options = format!(r#"{{"type":"Unigram","unk":0,"precision":"{precision}"}}"#);
        let model = Model::from_json(&options, &vocab, vec![], &scores).unwrap();
        let (ids, ends) = encode(&model, &vocab, &text);
        let best = brute_force(&vocab, &scores, unk, &text, 0);
        prop_assert_eq!(sums(&ids, &ends, &text, &scores, unk), best);
        prop_assert!(ids.iter().all(|&id| matches!(vocab.kind(id), Kind::Token | Kind::Special)));
        if !text.is_empty() {
            let nbest = model.nbest(text.as_bytes(), 20, Specials::None, &|| true).unwrap();
            prop_assert_eq!(nbest[0].1, best);
            prop_assert!(nbest.windows(2).all(|pair| pair[0].1 >= pair[1].1));
        }
    }

    #[test]
    fn word_piece_is_greedy(words in words("ab#", 25), text in "[ab#]{1,12}", max_chars in 3..12usize) {
        let entries: Vec<_> = words.iter().map(|(word, ..)| word.clone()).collect();
        let mut all = vec!["[UNK]".to_string()];
        entries.into_iter().for_each(|word| if !all.contains(&word) { all.push(word) });
        let rows: Vec<_> = all.iter().zip(0..).map(|(w, i)| (i, if i == 0 { Kind::Special } else { Kind::Token }, w.clone())).collect();
        let vocab = vocab(&rows);
        let options = format!(r###"{{"type":"WordPiece","unk":0,"prefix":"##","max_chars":{max_chars}}}"###);
        let model = Model::from_json(&options, &vocab, vec![], &[]).unwrap();
        let (mut plain, mut at) = (Vec::new(), 0);
        while at < text.len() {
            let spelled = |end: usize| format!("{}{}", if at > 0 { "##" } else { "" }, &text[at..end]);
            let found = (at + 1..=text.len()).rev().find_map(|end| Some((end, vocab.find(spelled(end).as_bytes(), false)?)));
            let Some((end, id)) = found else { break };
            plain.push(id);
            at = end;
        }
        if at < text.len() || text.len() > max_chars {
            plain = vec![0];
        }
        prop_assert_eq!(encode(&model, &vocab, &text).0, plain);
    }

    /// No model panics for any vocabulary and any bytes.
    #[test]
    fn models_do_not_panic_on_any_bytes(
        contents in proptest::collection::hash_map(0..40u32, (1..7u8, proptest::collection::vec(any::<u8>(), 1..4)), 1..20),
        text in proptest::collection::vec(any::<u8>(), 0..20),
        seed in any::<u64>(),
    ) {
        let rows: Vec<_> = contents.iter().map(|(id, (kind, content))| (*id, Kind::from_u8(*kind).unwrap(), content.as_slice())).collect();
        let Ok(vocab) = Vocab::new(rows) else { return Ok(()) };
        let unk = *contents.keys().next().unwrap();
        let scores: Vec<f64> = (0..40).map(|i| -f64::from(i % 5)).collect();
        for name in ["BPE", "Pieces", "Unigram", "WordPiece", "WordLevel", "Segments", "Chars"] {
            for more in ["", r#","byte_fallback":true,"precision":"f32","level":"char","prefix":null"#] {
                let options = format!(r#"{{"type":"{name}","unk":{unk}{more}}}"#);
                let Ok(model) = Model::from_json(&options, &vocab, vec![], &scores) else { continue };
                let (mut ids, mut ends, mut scratch) = (Vec::new(), Vec::new(), Scratch::default());
                let mut noise = Sampler::new(seed);
                noise.dropout = 0.5;
                for text in [text.as_slice(), String::from_utf8_lossy(&text).as_bytes()] {
                    ids.clear();
                    ends.clear();
                    if model.encode(&vocab, text, &|| true, &mut scratch, &mut Out::with_ends(&mut ids, &mut ends)).is_ok() {
                        prop_assert_eq!(ends.last().copied().unwrap_or(0), text.len());
                    }
                    let _ = model.sample(&vocab, text, &mut noise, &|| true, &mut scratch, &mut Out::ids(&mut ids));
                    let _ = model.nbest(text, 5, Specials::None, &|| true);
                }
            }
        }
    }
}

#[test]
fn dropout_0_equals_encoding_and_dropout_1_merges_nothing() {
    let words = ["a", "b", "ab", "aba", "▁", "▁a"].map(|w| (w.to_string(), 0, w.len() as u8));
    let (vocab, scores) = pieces(&words);
    let model = Model::from_json(r#"{"type":"Pieces","unk":0}"#, &vocab, vec![], &scores).unwrap();
    let text = "abaab▁aab▁▁ba";
    let sample = |dropout: f64| {
        let mut noise = Sampler::new(7);
        noise.dropout = dropout;
        let mut ids = Vec::new();
        let mut scratch = Scratch::default();
        model.sample(&vocab, text.as_bytes(), &mut noise, &|| true, &mut scratch, &mut Out::ids(&mut ids)).unwrap();
        ids
    };
    assert_eq!(sample(0.0), encode(&model, &vocab, text).0);
    assert_eq!(sample(1.0).len(), text.chars().count());
    assert_eq!(sample(0.5), sample(0.5));
}

#[test]
fn samples_have_the_frequency_of_their_probability() {
    let (vocab, _) = pieces(&["a", "b", "ab"].map(|w| (w.to_string(), 0, 0)));
    // The probability of "ab" is 2^-1, that of "a"+"b" 2^-2: a ratio of 2 to 1.
    let ln2 = std::f64::consts::LN_2;
    let scores = [0.0, -ln2, -ln2, -ln2];
    let options = r#"{"type":"Unigram","unk":0,"precision":"f64"}"#;
    let model = Model::from_json(options, &vocab, vec![], &scores).unwrap();
    for nbest in [None, Some(2)] {
        let (mut noise, mut scratch, mut whole) = (Sampler::new(1), Scratch::default(), 0);
        noise.nbest = nbest;
        for _ in 0..6000 {
            let mut ids = Vec::new();
            model.sample(&vocab, b"ab", &mut noise, &|| true, &mut scratch, &mut Out::ids(&mut ids)).unwrap();
            whole += usize::from(ids == [3]);
        }
        assert!((3850..4150).contains(&whole), "{whole}");
    }
}

#[test]
fn long_texts_do_not_take_quadratic_time() {
    let text = "ab".repeat(1 << 19);
    let words = ["a", "b", "ab", "ba", "abab", "aba", "bab"].map(|w| (w.to_string(), 0, w.len() as u8));
    let (vocab, scores) = pieces(&words);
    for options in [r#"{"type":"Pieces","unk":0}"#, r#"{"type":"Unigram","unk":0,"precision":"f32"}"#] {
        let model = Model::from_json(options, &vocab, vec![], &scores).unwrap();
        assert!(encode(&model, &vocab, &text).0.len() > 1000);
        let mut noise = Sampler::new(1);
        noise.dropout = 0.3;
        let mut ids = Vec::new();
        let mut scratch = Scratch::default();
        model.sample(&vocab, text.as_bytes(), &mut noise, &|| true, &mut scratch, &mut Out::ids(&mut ids)).unwrap();
    }
}

#[test]
fn a_quarter_million_pieces_load_fast() {
    let rows: Vec<(u32, Kind, String)> = (0..250_000u32)
        .map(|id| (id, Kind::Token, format!("▁{}", id.wrapping_mul(0x9E37_79B1).to_string().replace('1', "é"))))
        .collect();
    let vocab = vocab(&rows);
    let scores: Vec<f64> = (0..250_000).map(|i| -f64::from(i)).collect();
    let start = std::time::Instant::now();
    let model =
        Model::from_json(r#"{"type":"Unigram","unk":null,"precision":"f32"}"#, &vocab, vec![], &scores).unwrap();
    let took = start.elapsed();
    println!("250,000 pieces: {took:?}");
    assert!(took.as_secs() < 3, "{took:?}"); // far above the usual time, for machines under load
    assert_eq!(encode(&model, &vocab, &rows[77].2).0, [77]);
}

#[test]
fn merges_never_produce_special_tokens() {
    let rows = [
        (0, Kind::Token, "a"),
        (1, Kind::Token, "b"),
        (2, Kind::Special, "ab"),
        (3, Kind::Added, "ba"),
        (4, Kind::Token, "bab"),
    ];
    let rows: Vec<_> = rows.map(|(id, kind, content)| (id, kind, content.to_string())).to_vec();
    let vocab = vocab(&rows);
    let merges = vec![(0, 1, 2), (1, 0, 3), (3, 1, 4)];
    let options = r#"{"type":"BPE","level":"char"}"#;
    let model = Model::from_json(options, &vocab, merges, &[]).unwrap();
    assert_eq!(encode(&model, &vocab, "abab").0, [0, 4]);
    assert_eq!(encode(&model, &vocab, "ba").0, [3]);
    assert_eq!(model.as_bpe().unwrap().merges(&vocab, &|| true).unwrap().len(), 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Before the pair table is built, merges are looked up by the bytes of both symbols. In this vocabulary, a token
    /// has a lower rank than its parts.
    #[test]
    fn lookup_by_contents_equals_lookup_by_pairs(
        words in prop::collection::vec("[abc]{2,6}", 1..60),
        texts in prop::collection::vec("[abcd]{0,12}|[abc]{60,200}", 1..12),
    ) {
        let bytes = (0..=255u8).map(|byte| vec![byte]).chain(words.into_iter().map(String::into_bytes));
        let mut contents: Vec<Vec<u8>> = bytes.collect();
        let mut seen = std::collections::HashSet::new();
        contents.retain(|content| seen.insert(content.clone()));
        let vocab = Vocab::new((0..).zip(&contents).map(|(id, content)| (id, Kind::Token, &content[..]))).unwrap();
        let model = Model::from_json(r#"{"type":"BPE","ranks":"tokens","whole_first":true}"#, &vocab, vec![], &[]).unwrap();
        let by_contents: Vec<_> = texts.iter().map(|text| encode(&model, &vocab, text)).collect();
        let Model::Bpe(bpe) = &model else { unreachable!() };
        for (text, found) in texts.iter().zip(&by_contents) {
            bpe.explain(&vocab, text.as_bytes(), &|| true).unwrap(); // builds the pair table
            prop_assert_eq!(&encode(&model, &vocab, text), found, "{}", text);
        }
    }
}
