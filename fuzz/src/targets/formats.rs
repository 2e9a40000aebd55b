//! Targets of the file formats.

use jeton_core::format::{hf_json, ranks};
use jeton_core::format::{layout, merges_txt, sentencepiece, tekken, vocab_txt};
use jeton_core::vocab::{Kind, Vocab};

use super::{refused, unreadable, wrong, Checked, Target};
use crate::mutate::Shape;

/// Maximum id, because higher ones need large tables.
const HIGH: u32 = 1 << 18;

/// Separator of the two files of a format that consists of two.
const BETWEEN: &[u8] = b"\n=====\n";

pub const TARGETS: &[Target] = &[
    Target { name: "hf_json", shape: Shape::Json, words: HF_WORDS, seeds: hf_seeds, generate: None, run: hf_json },
    Target {
        name: "ranks",
        shape: Shape::Lines,
        words: &["YQ== 0", "YWI= 256", "= 1", "YQ==", " "],
        seeds: rank_seeds,
        generate: None,
        run: ranks,
    },
    Target {
        name: "encoder_json",
        shape: Shape::Json,
        words: &["a", "ab"],
        seeds: || seeds(&[r#"{"a": 0, "b": 1, "ab": 2}"#]),
        generate: None,
        run: encoder_json,
    },
    Target {
        name: "merges_txt",
        shape: Shape::Lines,
        words: &["#version: 0.2", "a b", "ab c", " "],
        seeds: merges_seeds,
        generate: None,
        run: merges,
    },
    Target {
        name: "vocab_txt",
        shape: Shape::Lines,
        words: &["[UNK]", "[PAD]", "##a", "É"],
        seeds: || seeds(&["[PAD]\n[UNK]\n[CLS]\na\nb\n##c\n"]),
        generate: None,
        run: vocab_txt,
    },
    Target {
        name: "tekken",
        shape: Shape::Json,
        words: TEKKEN_WORDS,
        seeds: tekken_seeds,
        generate: None,
        run: tekken,
    },
    Target {
        name: "sentencepiece",
        shape: Shape::Proto,
        words: &[],
        seeds: sentencepiece_seeds,
        generate: None,
        run: sentencepiece,
    },
    Target {
        name: "layout",
        shape: Shape::Json,
        words: &["specials", "shift", "languages", "mask", "<unk>", "<s>", "a"],
        seeds: layout_seeds,
        generate: None,
        run: layout,
    },
    Target {
        name: "facts",
        shape: Shape::Json,
        words: &["unigram", "bpe", "word", "char", "<unk>"],
        seeds: facts_seeds,
        generate: None,
        run: facts,
    },
];

const HF_WORDS: &[&str] = &[
    "model",
    "vocab",
    "merges",
    "type",
    "BPE",
    "Unigram",
    "WordPiece",
    "WordLevel",
    "added_tokens",
    "content",
    "special",
    "id",
    "unk_token",
    "normalizer",
    "pre_tokenizer",
    "decoder",
    "post_processor",
    "a b",
    "ab",
];
const TEKKEN_WORDS: &[&str] = &[
    "config",
    "pattern",
    "num_vocab_tokens",
    "default_vocab_size",
    "default_num_special_tokens",
    "version",
    "vocab",
    "special_tokens",
    "rank",
    "token_bytes",
    "token_str",
    "is_control",
    "v3",
    "v7",
    "YQ==",
];

fn seeds(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn hf_seeds() -> Vec<Vec<u8>> {
    seeds(&[
        r#"{"version":"1.0","added_tokens":[{"id":3,"content":"<s>","special":true}],"normalizer":null,"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":[["a","b"]]},"decoder":{"type":"ByteLevel"}}"#,
        r#"{"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"aba":5},"merges":["a b","ab a"]}}"#,
        r#"{"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0.0],["a",-1.5],["b",-2e3]]}}"#,
    ])
}

fn rank_seeds() -> Vec<Vec<u8>> {
    seeds(&["YQ== 0\nYg== 1\nYWI= 2\n", "AA== 0\r\nAQ== 1\r\n", "4LiB 16777215\n"])
}

fn hf_json(input: &[u8]) -> Checked {
    let file = hf_json::read(input).map_err(unreadable)?;
    let columns = &file.vocab;
    if columns.ids.len() != columns.tokens.len()
        || !(columns.scores.is_empty() || columns.scores.len() == columns.ids.len())
    {
        return wrong("columns of different lengths");
    }
    if serde_json::from_str::<serde_json::Value>(&file.rest).is_err() {
        return wrong("the rest is no JSON");
    }
    if columns.tokens.iter().any(|token| columns.id(token).is_none()) {
        return wrong("a token is not found");
    }
    Ok(format!("{}", file.has_merges))
}

fn ranks(input: &[u8]) -> Checked {
    let tokens = ranks::read(input).map_err(unreadable)?;
    if tokens.iter().any(|token| token.0 > HIGH) {
        return Ok("a high id".into()); // its table would take tens of milliseconds
    }
    let vocab = Vocab::new(tokens.iter()).map_err(refused)?;
    let mut sorted: Vec<_> = tokens.iter().collect();
    sorted.sort_by_key(|token| token.0);
    match ranks::read(ranks::write(&vocab).as_bytes()) {
        Ok(again) if again.iter().eq(sorted) => Ok(String::new()),
        _ => wrong("written and read again it is another file"),
    }
}

fn encoder_json(input: &[u8]) -> Checked {
    let columns = hf_json::read_vocab(input).map_err(unreadable)?;
    match columns.ids.len() == columns.tokens.len() {
        true => Ok(String::new()),
        false => wrong("columns of different lengths"),
    }
}

fn merges_seeds() -> Vec<Vec<u8>> {
    let vocab = r#"{"a": 0, "b": 1, "ab": 2, "c": 3, "abc": 4}"#;
    let between = String::from_utf8_lossy(BETWEEN);
    seeds(&[&format!("{vocab}{between}#version: 0.2\na b\nab c\n"), &format!("{vocab}{between}a b\r\nab c")])
}

fn merges(input: &[u8]) -> Checked {
    let at = input.windows(BETWEEN.len()).position(|window| window == BETWEEN);
    let (vocab, merges) = at.map_or((input, &b""[..]), |at| (&input[..at], &input[at + BETWEEN.len()..]));
    let file = merges_txt::read(vocab, merges).map_err(unreadable)?;
    let entries =
        file.vocab.ids.iter().zip(file.vocab.tokens.iter()).map(|(&id, token)| (id, Kind::Token, token.as_bytes()));
    let table = Vocab::new(entries).map_err(refused)?;
    let spelling = hf_json::Spelling { byte_alphabet: false, end_of_word: "" };
    let written = merges_txt::write(&table, &file.merges, &spelling).map_err(refused)?;
    match merges_txt::read(vocab, written.as_bytes()) {
        Ok(again) if again.merges == file.merges => Ok(String::new()),
        again => wrong(format!(
            "written and read again it is another file: {}",
            again.err().map_or_else(String::new, |error| error.to_string())
        )),
    }
}

fn vocab_txt(input: &[u8]) -> Checked {
    let file = vocab_txt::read(input).map_err(unreadable)?;
    let vocab = Vocab::new(file.entries.iter()).map_err(|error| format!("read, but no vocabulary: {error}"))?;
    let text = vocab_txt::write(&vocab).map_err(refused)?;
    match vocab_txt::read(text.as_bytes()) {
        Ok(again) if again.entries == file.entries => Ok(String::new()),
        _ => wrong("written and read again it is another file"),
    }
}

fn tekken_seeds() -> Vec<Vec<u8>> {
    let vocab: Vec<String> = (0..256)
        .map(|byte| {
            let bytes = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, [byte as u8]);
            format!(r#"{{"rank":{byte},"token_bytes":"{bytes}","token_str":null}}"#)
        })
        .collect();
    let file = |specials: &str| {
        format!(
            r#"{{"config":{{"pattern":"\\s+|\\S+","num_vocab_tokens":257,"default_vocab_size":259,"default_num_special_tokens":2,"version":"v3"}},"vocab":[{},{{"rank":256,"token_bytes":"YWI=","token_str":"ab"}}]{specials}}}"#,
            vocab.join(",")
        )
    };
    seeds(&[
        &file(""),
        &file(
            r#","special_tokens":[{"rank":0,"token_str":"<unk>","is_control":true},{"rank":1,"token_str":"<s>","is_control":true}]"#,
        ),
    ])
}

fn tekken(input: &[u8]) -> Checked {
    let file = tekken::read(input).map_err(unreadable)?;
    if file.tokens.iter().any(Vec::is_empty) {
        return wrong("an empty token");
    }
    match serde_json::from_str::<serde_json::Value>(&file.rest) {
        Ok(_) => Ok(String::new()),
        Err(_) => wrong("the rest is no JSON"),
    }
}

fn piece(text: &str, score: f32, kind: u8) -> Vec<u8> {
    let mut bytes = vec![0x0a, text.len() as u8];
    bytes.extend(text.as_bytes());
    bytes.push(0x15);
    bytes.extend(score.to_le_bytes());
    bytes.extend([0x18, kind]);
    [&[0x0a, bytes.len() as u8][..], &bytes].concat()
}

fn message(number: u8, fields: &[u8]) -> Vec<u8> {
    [&[(number << 3) | 2, fields.len() as u8][..], fields].concat()
}

/// Creates a small model of a `model_type`, with or without byte pieces.
fn model(model_type: u8, with_bytes: bool) -> Vec<u8> {
    let mut file = [piece("<unk>", 0.0, 2), piece("<s>", 0.0, 3), piece("</s>", 0.0, 3)].concat();
    if with_bytes {
        for byte in 0..=255 {
            file.extend(piece(&format!("<0x{byte:02X}>"), 0.0, 6));
        }
    }
    let pieces = [
        ("\u{2581}", -1.0, 1),
        ("a", -2.0, 1),
        ("b", -3.0, 1),
        ("ab", -1.5, 1),
        ("\u{2581}ab", -2.5, 1),
        ("<user>", 0.0, 4),
        ("aa", 0.0, 5),
    ];
    for (text, score, kind) in pieces {
        file.extend(piece(text, score, kind));
    }
    // model_type (3), vocab_size (4), byte_fallback (35), unk_surface (44)
    let trainer =
        [&[0x18, model_type, 0x20, 10][..], if with_bytes { &[0x98, 2, 1] } else { &[] }, &[0xe2, 2, 1, b'?']].concat();
    file.extend(message(2, &trainer));
    file.extend(message(3, &[0x0a, 3, b'n', b'f', b'k', 0x12, 0, 0x18, 1, 0x20, 1, 0x28, 1]));
    file
}

fn sentencepiece_seeds() -> Vec<Vec<u8>> {
    vec![model(1, false), model(2, true), model(3, false), model(4, false), model(1, true)]
}

fn sentencepiece(input: &[u8]) -> Checked {
    let model = sentencepiece::read(input).map_err(unreadable)?;
    let json = model.facts.to_json().map_err(|error| format!("facts without JSON: {error}"))?;
    match sentencepiece::Facts::from_json(&json) {
        Ok(facts) if facts == model.facts => {}
        _ => return wrong("the facts come back from JSON as others"),
    }
    let written = sentencepiece::write(&model).map_err(refused)?;
    match sentencepiece::read(&written) {
        Ok(again) if again == model => Ok(model.facts.model_type),
        Ok(_) => wrong("written and read again it is another model"),
        Err(error) => wrong(format!("written it cannot be read: {error}")),
    }
}

fn layout_seeds() -> Vec<Vec<u8>> {
    seeds(&[
        r#"{"specials": {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}, "shift": 1, "languages": ["en"], "mask": "<mask>"}"#,
        r#"{"specials": {"<unk>": 0}}"#,
    ])
}

fn layout(input: &[u8]) -> Checked {
    let layout = layout::Layout::from_json(&String::from_utf8_lossy(input)).map_err(refused)?;
    let file = model(1, false);
    let Ok(model) = sentencepiece::read(&file) else { return wrong("the seed cannot be read") };
    let arranged = layout::arrange(model, Some(&layout)).map_err(refused)?;
    if arranged.scores.len() > HIGH as usize {
        return Ok("a high id".into());
    }
    let vocab = Vocab::new(arranged.entries.iter()).map_err(refused)?;
    match arranged.scores.len() > vocab.len() {
        true => wrong("scores of ids that there are not"),
        false => Ok(String::new()),
    }
}

fn facts_seeds() -> Vec<Vec<u8>> {
    let model = |input: Vec<u8>| sentencepiece::read(&input).ok()?.facts.to_json().ok();
    sentencepiece_seeds().into_iter().filter_map(model).map(String::into_bytes).collect()
}

fn facts(input: &[u8]) -> Checked {
    let facts = sentencepiece::Facts::from_json(&String::from_utf8_lossy(input)).map_err(refused)?;
    Ok(facts.model_type)
}
