//! A tokenizer and texts as one JSON object, so that findings are readable and can be minimized.
//!
//! ```text
//! options   components of a tokenizer
//! bytes     ids 0…255 are the bytes
//! fallback  "token" or "byte": 256 entries "<0x00>"… of that kind, from the id 300 on
//! entries   [id, kind, content]
//! merges    [left, right, result]; scores by id; flags [id, flags]
//! texts     see `cases::from_json`; ids to decode
//! ```

use jeton_core::error::Result;
use jeton_core::tokenizer::{Extras, Tokenizer};
use jeton_core::vocab::{Kind, Vocab};
use serde_json::{json, Value};

use crate::cases;
use crate::rng::Rng;

/// First id of the byte-fallback entries.
pub const FALLBACK: u32 = 300;
/// First id of other entries.
pub const OTHERS: u32 = 600;

const KINDS: [(&str, Kind); 6] = [
    ("token", Kind::Token),
    ("ends", Kind::EndsWord),
    ("added", Kind::Added),
    ("special", Kind::Special),
    ("unused", Kind::Unused),
    ("byte", Kind::Byte),
];

fn kind(name: &Value) -> Option<Kind> {
    KINDS.iter().find(|(known, _)| name == known).map(|&(_, kind)| kind)
}

fn numbers(value: &Value) -> Vec<u32> {
    value.as_array().into_iter().flatten().filter_map(|number| u32::try_from(number.as_u64()?).ok()).collect()
}

/// Builds the tokenizer of a case; `None` for an invalid case.
pub fn tokenizer(case: &Value) -> Option<Result<Tokenizer>> {
    let mut entries: Vec<(u32, Kind, Vec<u8>)> = Vec::new();
    if case["bytes"] == true {
        entries.extend((0..=255).map(|byte| (u32::from(byte), Kind::Token, vec![byte])));
    }
    if let Some(kind) = kind(&case["fallback"]) {
        entries.extend((0..256).map(|byte| (FALLBACK + byte, kind, format!("<0x{byte:02X}>").into_bytes())));
    }
    for entry in case["entries"].as_array().into_iter().flatten() {
        let id = entry[0].as_u64().and_then(|id| u32::try_from(id).ok()).filter(|&id| id < 1 << 16);
        if let (Some(id), Some(kind), Some(content)) = (id, kind(&entry[1]), cases::from_json(&entry[2])) {
            entries.push((id, kind, content));
        }
    }
    let triples = case["merges"].as_array().into_iter().flatten().map(numbers);
    let merges = triples.filter_map(|merge| <[u32; 3]>::try_from(merge).ok()).map(|[a, b, c]| (a, b, c)).collect();
    let flags = case["flags"].as_array().into_iter().flatten().map(numbers);
    let flags = flags.filter_map(|pair| <[u32; 2]>::try_from(pair).ok()).map(|[id, flags]| (id, flags as u8)).collect();
    let scores =
        case["scores"].as_array().into_iter().flatten().map(|score| score.as_f64().unwrap_or(f64::NAN)).collect();
    let vocab = Vocab::new(entries.iter().map(|(id, kind, content)| (*id, *kind, content.as_slice())));
    let options = case["options"].to_string();
    if !case["options"].is_object() {
        return None;
    }
    Some(vocab.and_then(|vocab| Tokenizer::from_json(&options, vocab, Extras { merges, scores, flags })))
}

/// Returns the texts of a case.
pub fn texts(case: &Value) -> Vec<Vec<u8>> {
    case["texts"].as_array().into_iter().flatten().filter_map(cases::from_json).collect()
}

/// Returns the ids of a case to decode.
pub fn ids(case: &Value) -> Vec<u32> {
    numbers(&case["ids"])
}

/// State of the generator.
struct Making {
    entries: Vec<(u32, &'static str, Vec<u8>)>,
    merges: Vec<[u32; 3]>,
    next: u32,
}

impl Making {
    fn add(&mut self, kind: &'static str, content: Vec<u8>) -> Option<u32> {
        let is_model = |kind: &str| matches!(kind, "token" | "unused");
        let taken = |(_, other, text): &(u32, &str, Vec<u8>)| {
            *text == content && (*other == kind || is_model(other) && is_model(kind))
        };
        if content.is_empty() && kind != "ends" || self.entries.iter().any(taken) {
            return None;
        }
        let id = self.next;
        self.next += 1;
        self.entries.push((id, kind, content));
        Some(id)
    }
}

/// Generates a case: a model of any type, mostly consistent with its vocabulary, with components and texts.
pub fn make(rng: &mut Rng) -> Value {
    let mut making = Making { entries: Vec::new(), merges: Vec::new(), next: OTHERS };
    let model_type = rng.pick(&[
        "BPE",
        "BPE",
        "BPE",
        "Pieces",
        "Pieces",
        "Unigram",
        "Unigram",
        "WordPiece",
        "WordLevel",
        "Words",
        "Chars",
    ]);
    let byte_level = model_type == "BPE" && rng.once_in(2);
    let needs_unk = matches!(model_type, "WordPiece" | "Words" | "Chars");
    let fallback = (rng.once_in(3) && !byte_level).then(|| {
        if matches!(model_type, "Pieces" | "Chars" | "Words") || rng.once_in(3) {
            "byte"
        } else {
            "token"
        }
    });
    let unk = if rng.once_in(6) && !needs_unk {
        None
    } else {
        making.add(if rng.once_in(8) { "token" } else { "special" }, b"<unk>".to_vec())
    };
    let prefix = match model_type {
        "WordPiece" => "##",
        "BPE" if !byte_level && fallback.is_none() && rng.once_in(4) => "##",
        _ => "",
    };
    let end = if model_type == "BPE" && prefix.is_empty() && fallback.is_none() {
        rng.pick(&["", "", "symbol", "suffix"])
    } else {
        ""
    };
    vocabulary(rng, &mut making, model_type, byte_level, prefix, end);
    let mut flags = Vec::new();
    for _ in 0..rng.length(5) {
        let kind = rng.pick(&["added", "special"]);
        if let Some(id) = making.add(kind, cases::word(rng).into_bytes()) {
            if rng.once_in(2) {
                flags.push([id, rng.below(16) as u32]);
            }
        }
    }
    let scores: Vec<f64> = match model_type {
        "Pieces" | "Unigram" => (0..making.next)
            .map(|id| match rng.below(8) {
                0 => 0.0,
                1 => -1.0,
                2 => rng.pick(&[1.0, -1e30, -0.0, 3.4e38, -5e-324]),
                3 => -f64::from(id),
                _ => -(rng.below(2000) as f64) / 100.0,
            })
            .collect(),
        _ => Vec::new(),
    };
    let ends = if end.is_empty() { Value::Null } else { json!(end) };
    let unk = if rng.once_in(60) { Some(rng.below(700) as u32) } else { unk };
    let on = |rng: &mut Rng| rng.once_in(2);
    let model = json!({
        "type": model_type, "level": if byte_level { "byte" } else { "char" }, "ranks": if byte_level && rng.once_in(4) { "tokens" } else { "merges" },
        "whole_first": on(rng), "end_of_word": ends, "unk": unk, "fuse_unk": on(rng), "byte_fallback": fallback.is_some(),
        "prefix": if prefix.is_empty() && model_type == "BPE" { Value::Null } else { json!(prefix) }, "precision": rng.pick(&["f32", "f64"]),
        "max_chars": if rng.once_in(4) { rng.below(6) } else { 100 },
    });
    let parts = |rng: &mut Rng, most: usize, make: fn(&mut Rng) -> Value| -> Vec<Value> {
        (0..rng.length(most)).map(|_| make(rng)).collect()
    };
    let plain = rng.once_in(4);
    let normalizer = if plain { Vec::new() } else { parts(rng, 3, cases::normalizer) };
    let mut pretokenizer = if plain {
        vec![json!({"type": "Pattern", "name": rng.pick(jeton_core::pretokenize::names())})]
    } else {
        parts(rng, 3, cases::splitter)
    };
    if byte_level && rng.once_in(3) {
        pretokenizer.push(
            json!({"type": "ByteLevel", "add_prefix_space": on(rng), "trim_offsets": true, "use_regex": on(rng)}),
        );
    }
    let decoder = if rng.once_in(3) { Value::Null } else { cases::decoders(rng) };
    let template = if rng.once_in(2) { Value::Null } else { cases::template(rng, making.next as usize) };
    let own: Vec<&str> = making.entries.iter().filter_map(|entry| std::str::from_utf8(&entry.2).ok()).collect();
    let texts: Vec<Value> = (0..rng.between(1, 3)).map(|_| some_text(rng, &own)).collect();
    let ids: Vec<usize> = (0..rng.length(30))
        .map(|_| if rng.once_in(3) { rng.below(256) } else { rng.between(590, making.next as usize + 1) })
        .collect();
    let entries: Vec<Value> =
        making.entries.iter().map(|(id, kind, content)| json!([id, kind, cases::to_json(content)])).collect();
    json!({
        "options": {"model": model, "normalizer": normalizer, "pretokenizer": pretokenizer, "decoder": decoder, "template": template},
        "bytes": byte_level && !rng.once_in(8), "fallback": fallback, "entries": entries, "merges": making.merges, "scores": scores, "flags": flags,
        "texts": texts, "ids": ids,
    })
}

fn some_text(rng: &mut Rng, own: &[&str]) -> Value {
    if rng.once_in(150) {
        let part = cases::bytes(rng, own);
        let part = if part.is_empty() || part.len() > 1000 { b"ab ".to_vec() } else { part };
        let most = if rng.once_in(12) { 1_200_000 } else { 150_000 };
        return json!({"repeat": cases::to_json(&part), "times": rng.below(most) / part.len()});
    }
    cases::to_json(&cases::bytes(rng, own))
}

/// Generates the entries of the model, and merges.
fn vocabulary(rng: &mut Rng, making: &mut Making, model_type: &str, byte_level: bool, prefix: &str, end: &str) {
    let alphabet: Vec<char> = {
        let text: String =
            (0..rng.between(2, 10)).map(|_| rng.pick(cases::SNIPPETS)).chain(["a", "b", "\u{2581}", " "]).collect();
        text.chars().collect()
    };
    // (id, content without prefix, has the end-of-word mark, has the prefix).
    let mut units: Vec<(u32, Vec<u8>, bool, bool)> = Vec::new();
    if byte_level {
        units.extend((0..=255u8).map(|byte| (u32::from(byte), vec![byte], false, false)));
    }
    for c in alphabet {
        let content = c.to_string().into_bytes();
        if !byte_level {
            units.extend(making.add("token", content.clone()).map(|id| (id, content.clone(), false, false)));
        }
        if !prefix.is_empty() {
            let spelled = [prefix.as_bytes(), &content].concat();
            units.extend(making.add("token", spelled).map(|id| (id, content.clone(), false, true)));
        }
        if end == "suffix" && !byte_level {
            units.extend(making.add("ends", content.clone()).map(|id| (id, content, true, false)));
        }
    }
    if byte_level && end == "suffix" {
        for byte in 0..=255u8 {
            units.extend(making.add("ends", vec![byte]).map(|id| (id, vec![byte], true, false)));
        }
    }
    if end == "symbol" {
        units.extend(making.add("ends", Vec::new()).map(|id| (id, Vec::new(), true, false)));
    }
    for _ in 0..rng.length(60) {
        let recent = units.len().saturating_sub(12);
        let pick =
            |rng: &mut Rng| if rng.once_in(2) { rng.between(recent, units.len() - 1) } else { rng.below(units.len()) };
        let (left, right) = (units[pick(rng)].clone(), units[pick(rng)].clone());
        let content = [left.1.as_slice(), &right.1].concat();
        if left.2 || content.len() > 60 || (!prefix.is_empty() && !right.3) {
            continue;
        }
        let spelled = if left.3 { [prefix.as_bytes(), &content].concat() } else { content.clone() };
        let unused = model_type == "Pieces" && rng.once_in(6);
        if let Some(id) = making.add(
            if right.2 {
                "ends"
            } else if unused {
                "unused"
            } else {
                "token"
            },
            spelled,
        ) {
            if model_type == "BPE" {
                making.merges.push([left.0, right.0, id]);
            }
            units.push((id, content, right.2, left.3));
        }
    }
    if matches!(model_type, "WordPiece" | "WordLevel" | "Words" | "Unigram" | "Pieces") {
        for _ in 0..rng.length(12) {
            making.add("token", cases::word(rng).into_bytes());
        }
    }
}
