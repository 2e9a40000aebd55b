//! Generators of random texts and pipeline components, as JSON.
//!
//! Concatenated random tokens find more defects than random text. Texts therefore consist of the vocabulary's contents,
//! of characters that some stage handles specially, of runs, and sometimes of invalid UTF-8.

use serde_json::{json, Value};

use crate::rng::Rng;

/// Characters and short texts that some stage handles specially.
pub const SNIPPETS: &[&str] = &[
    "a",
    "b",
    "ab",
    "abc",
    "A",
    "É",
    "e\u{301}",
    "é",
    "ß",
    "İ",
    "ǅ",
    "Ω",
    "Σ",
    "ς",
    "ﬁ",
    "½",
    "①",
    "Ａ",
    "ｱ",
    "가",
    "각",
    "한국",
    "今天",
    "小冬",
    "の",
    "ー",
    "ไทย",
    "กำ",
    "नमस्ते",
    "שָׁלוֹם",
    "مرحبا",
    "\u{200d}",
    "\u{200b}",
    "\u{feff}",
    "\u{fffd}",
    "\u{ad}",
    "\u{301}",
    "\u{323}\u{301}",
    "\u{1f468}\u{200d}\u{1f469}",
    "\u{1f1e9}\u{1f1ea}",
    "🙂",
    "\u{10ffff}",
    "\u{e000}",
    "\u{0}",
    "\u{1}",
    "\u{7f}",
    "\u{85}",
    "\u{a0}",
    "\u{2028}",
    "\u{3000}",
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\r\n",
    "\n\n",
    "\u{2581}",
    "\u{2581}\u{2581}",
    "Ġ",
    "Ċ",
    "##",
    "##a",
    "</w>",
    "<unk>",
    "<s>",
    "[UNK]",
    "<0x0A>",
    "<0xFF>",
    "<0x",
    "0",
    "1",
    "12",
    "1234567",
    "٣",
    "Ⅳ",
    ".",
    ",",
    "...",
    "!?",
    "-",
    "_",
    "'s",
    "'",
    "’s",
    "don't",
    "(",
    "[MASK]",
    "<|endoftext|>",
    "\\",
    "/",
    "http://x.y",
    "\u{1e9b}\u{323}",
    "\u{fdfa}",
    "\u{1d15e}",
    "\u{2126}",
    "\u{f0f}",
    "\u{1100}\u{1161}\u{11a8}",
];

/// Generates a text of up to about 100 snippets, usually fewer; `own` are the contents of the vocabulary.
pub fn text(rng: &mut Rng, own: &[&str]) -> String {
    let mut out = String::new();
    for _ in 0..rng.length(100) {
        match rng.below(8) {
            0..=2 if !own.is_empty() => out.push_str(rng.pick(own)),
            3 => out.extend(char::from_u32(rng.below(0x11_0000) as u32)),
            4 => out.extend(char::from_u32(rng.below(0x500) as u32)),
            5 if rng.once_in(4) => out.push_str(&rng.pick(SNIPPETS).repeat(rng.length(600))),
            _ => out.push_str(rng.pick(SNIPPETS)),
        }
    }
    out
}

/// Generates a text, sometimes with invalid UTF-8.
pub fn bytes(rng: &mut Rng, own: &[&str]) -> Vec<u8> {
    let mut out = text(rng, own).into_bytes();
    if rng.once_in(4) {
        for _ in 0..rng.length(8).max(1) {
            let at = rng.below(out.len() + 1);
            let bad: &[u8] = rng.pick(&[
                &b"\xff"[..],
                b"\xc3",
                b"\xe4\xbb",
                b"\xf0\x9f\x99",
                b"\x80",
                b"\xed\xa0\x80",
                b"\xc0\x80",
                b"\xf4\x90\x80\x80",
            ]);
            out.splice(at..at, bad.iter().copied());
        }
    }
    out
}

/// Converts bytes to JSON: a text, or `{"hex": "ff00"}`.
pub fn to_json(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!(text),
        Err(_) => json!({"hex": bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()}),
    }
}

/// Maximum length of a repeated text; lower with instrumentation, which makes every byte slower.
const LONGEST: usize = if cfg!(feature = "coverage") { 1 << 18 } else { 1 << 22 };

/// Converts JSON to bytes; also accepts `{"repeat": "ab", "times": 1000}`.
pub fn from_json(value: &Value) -> Option<Vec<u8>> {
    if let Some(text) = value.as_str() {
        return Some(text.as_bytes().to_vec());
    }
    if let Some(times) = value["times"].as_u64() {
        let part = from_json(&value["repeat"])?;
        let length = usize::try_from(times).ok()?.checked_mul(part.len())?;
        return (length <= LONGEST).then(|| part.repeat(times as usize));
    }
    let hex = value["hex"].as_str()?.as_bytes();
    hex.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// Generates a short text for an option.
pub fn word(rng: &mut Rng) -> String {
    match rng.below(4) {
        0 => rng.pick(SNIPPETS).to_string(),
        1 => rng.pick(&["", "a", " ", "\u{2581}", "##", "</w>", "ab", "aa"]).to_string(),
        2 => text(rng, &[]).chars().take(3).collect(),
        _ => format!("{}{}", rng.pick(SNIPPETS), rng.pick(SNIPPETS)),
    }
}

fn character(rng: &mut Rng) -> String {
    word(rng).chars().next().unwrap_or('\u{2581}').to_string()
}

/// Generates a regex, mostly a valid one.
pub fn regex(rng: &mut Rng) -> String {
    match rng.below(3) {
        0 => any_regex(rng),
        _ => rng
            .pick(&[
                "\\s+",
                "\\p{L}+|\\p{N}{1,3}",
                "a|ab",
                "[^\\s]+",
                " ?\\p{L}+",
                "\\w+|[^\\w\\s]+",
                "(?<=a)b",
                "(?i:'s|'t)",
                "\\s+(?!\\S)|\\s+",
                "[ab]{2,3}?",
                "(?:ab)++",
                ".",
            ])
            .into(),
    }
}

/// Generates a regex from random syntax elements.
pub fn any_regex(rng: &mut Rng) -> String {
    const ATOMS: &[&str] = &[
        "a",
        "b",
        ".",
        "\\s",
        "\\S",
        "\\w",
        "\\W",
        "\\d",
        "\\p{L}",
        "\\p{N}",
        "\\p{Lu}",
        "\\P{L}",
        "\\p{Han}",
        "[ab]",
        "[^a]",
        "[^\\s\\p{L}\\p{N}]",
        "[a-z&&[^b]]",
        "[\\r\\n]",
        " ",
        "'",
        "\\n",
        "\\x{e9}",
        "\\u00e9",
        "é",
        "今",
        "^",
        "$",
        "\\b",
        "\\B",
        "\\A",
        "\\z",
        "\\Z",
        "(?=a)",
        "(?!a)",
        "(?<=a)",
        "(?<!a)",
        "(?!\\S)",
        "'s|'t",
        "\\h",
        "\\R",
        "\\X",
        "[[:alpha:]]",
        "\\G",
        "(?i:s)",
        "(?:a|b|ab)",
        "(a)\\1",
        "\\k<x>",
    ];
    const REPEATS: &[&str] = &[
        "", "", "", "*", "+", "?", "*?", "+?", "??", "++", "*+", "?+", "{2}", "{1,3}", "{0,}", "{,2}", "{1000}",
        "{99999}",
    ];
    let mut out = String::new();
    if rng.once_in(6) {
        out.push_str(rng.pick(&["(?i)", "(?x)", "(?s)", "(?m)", "(?-u)"]));
    }
    for _ in 0..rng.length(10).max(1) {
        match rng.below(8) {
            0 => out.push('|'),
            1 => {
                out = format!("({}{out}){}", rng.pick(&["", "?:", "?>", "?=", "?!", "?i:", "?<n>"]), rng.pick(REPEATS));
            }
            _ => {
                out.push_str(rng.pick(ATOMS));
                out.push_str(rng.pick(REPEATS));
            }
        }
    }
    out
}

/// Generates a normalizer of HF or SentencePiece.
pub fn normalizer(rng: &mut Rng) -> Value {
    let flag = |rng: &mut Rng| rng.once_in(2);
    match rng.below(14) {
        0..=4 => {
            json!({"type": rng.pick(&["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel"])})
        }
        5 => json!({"type": "Strip", "strip_left": flag(rng), "strip_right": flag(rng)}),
        6 => {
            let accents = flag(rng);
            json!({"type": "BertNormalizer", "clean_text": flag(rng), "handle_chinese_chars": flag(rng), "strip_accents": if rng.once_in(3) { Value::Null } else { json!(accents) }, "lowercase": flag(rng)})
        }
        7 => json!({"type": "Replace", "pattern": {"String": word(rng)}, "content": word(rng)}),
        8 => json!({"type": "Replace", "pattern": {"Regex": regex(rng)}, "content": word(rng)}),
        9 => json!({"type": "Prepend", "prepend": word(rng)}),
        10 => json!({"type": "Precompiled", "precompiled_charsmap": charsmap(rng)}),
        _ => {
            let map = if rng.once_in(2) { Value::Null } else { json!(charsmap(rng)) };
            json!({"type": "SentencePiece", "precompiled_charsmap": map, "add_dummy_prefix": flag(rng), "remove_extra_whitespaces": flag(rng), "escape_whitespaces": flag(rng), "treat_whitespace_as_suffix": flag(rng)})
        }
    }
}

/// Generates a pre-tokenizer of HF, or a pattern.
pub fn splitter(rng: &mut Rng) -> Value {
    let flag = |rng: &mut Rng| rng.once_in(2);
    let behavior = rng.pick(&["Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"]).to_string();
    match rng.below(14) {
        0 | 1 => json!({"type": rng.pick(&["BertPreTokenizer", "Whitespace", "WhitespaceSplit", "UnicodeScripts"])}),
        2 | 3 => {
            json!({"type": "ByteLevel", "add_prefix_space": flag(rng), "trim_offsets": flag(rng), "use_regex": flag(rng)})
        }
        4 => json!({"type": "CharDelimiterSplit", "delimiter": character(rng)}),
        5 => json!({"type": "Digits", "individual_digits": flag(rng)}),
        6 => json!({"type": "FixedLength", "length": rng.length(20)}),
        7 => {
            json!({"type": "Metaspace", "replacement": if flag(rng) { "\u{2581}".to_owned() } else { character(rng) }, "prepend_scheme": rng.pick(&["always", "never", "first"]), "split": flag(rng)})
        }
        8 => json!({"type": "Punctuation", "behavior": behavior}),
        9 => json!({"type": "Split", "pattern": {"String": word(rng)}, "behavior": behavior, "invert": flag(rng)}),
        10 => json!({"type": "Split", "pattern": {"Regex": regex(rng)}, "behavior": behavior, "invert": flag(rng)}),
        11 => json!({"type": "Pattern", "regex": regex(rng)}),
        _ => json!({"type": "Pattern", "name": rng.pick(jeton_core::pretokenize::names())}),
    }
}

/// Generates a decoder of HF or SentencePiece.
pub fn decoder(rng: &mut Rng) -> Value {
    let flag = |rng: &mut Rng| rng.once_in(2);
    match rng.below(14) {
        0 => json!({"type": "BPEDecoder", "suffix": word(rng)}),
        1 | 2 => {
            json!({"type": "ByteLevel", "add_prefix_space": flag(rng), "trim_offsets": flag(rng), "use_regex": flag(rng)})
        }
        3 | 4 => json!({"type": "ByteFallback"}),
        5 => json!({"type": "CTC", "pad_token": word(rng), "word_delimiter_token": word(rng), "cleanup": flag(rng)}),
        6 => json!({"type": "Fuse"}),
        7 => {
            json!({"type": "Metaspace", "replacement": character(rng), "prepend_scheme": rng.pick(&["always", "never", "first"])})
        }
        8 if flag(rng) => json!({"type": "Replace", "pattern": {"Regex": regex(rng)}, "content": word(rng)}),
        8 => json!({"type": "Replace", "pattern": {"String": word(rng)}, "content": word(rng)}),
        9 => json!({"type": "Strip", "content": character(rng), "start": rng.length(20), "stop": rng.length(20)}),
        10 => json!({"type": "WordPiece", "prefix": word(rng), "cleanup": flag(rng)}),
        11 => json!({"type": "Join", "separator": word(rng)}),
        _ => {
            let rules = json!({"precompiled_charsmap": charsmap(rng), "add_dummy_prefix": flag(rng), "remove_extra_whitespaces": flag(rng), "escape_whitespaces": flag(rng)});
            let denormalizer = if flag(rng) { Value::Null } else { rules };
            json!({"type": "SentencePiece", "denormalizer": denormalizer, "add_dummy_prefix": flag(rng), "remove_extra_whitespaces": flag(rng), "unk": if flag(rng) { Value::Null } else { json!(600) }, "unk_surface": word(rng)})
        }
    }
}

/// Generates a list of decoders. If SentencePiece's decoder is in the list, it is the only one.
pub fn decoders(rng: &mut Rng) -> Value {
    let mut parts: Vec<Value> = (0..rng.length(5)).map(|_| decoder(rng)).collect();
    if let Some(at) = parts.iter().position(|part| part["type"] == "SentencePiece").filter(|_| !rng.once_in(20)) {
        parts = vec![parts.swap_remove(at)];
    }
    json!(parts)
}

/// Generates a template for texts and pairs.
pub fn template(rng: &mut Rng, num_ids: usize) -> Value {
    let list = |rng: &mut Rng, both: bool| {
        let mut items = Vec::new();
        for _ in 0..rng.length(5) {
            items.push(json!({"ids": [rng.below(num_ids + 1)], "type_id": rng.below(3)}));
            let sequence = if both && rng.once_in(2) { "B" } else { "A" };
            items.push(json!({"sequence": sequence, "type_id": rng.below(3)}));
        }
        items
    };
    json!({"single": list(rng, false), "pair": list(rng, true), "trim_offsets": rng.once_in(2), "add_prefix_space": rng.once_in(2)})
}

/// Generates a precompiled character map in base64, with random rules, sometimes corrupt.
///
/// The format is SentencePiece's: the length of a double-array trie, the trie, and the texts that its leaves refer to.
/// Units are those of Darts-clone (S. Yata): offset, label, leaf bit.
pub fn charsmap(rng: &mut Rng) -> String {
    let mut map = charsmap_bytes(rng);
    if rng.once_in(2) {
        map = crate::mutate::mutate(&map, &[], crate::mutate::Shape::Bytes, &[], rng);
    }
    base64::Engine::encode(&base64::prelude::BASE64_STANDARD, map)
}

/// Builds a character map of one-byte and two-byte rules.
pub fn charsmap_bytes(rng: &mut Rng) -> Vec<u8> {
    let mut texts: Vec<u8> = Vec::new();
    let mut units = vec![0u32; 1024];
    // The root's children are at 256 ^ label; each has a separate block for its leaf, or for a further child.
    units[0] = unit_offset(0, 256);
    let mut block = 512;
    for _ in 0..rng.length(12).max(1) {
        let label = if rng.once_in(2) { b'a' + rng.below(3) as u8 } else { rng.between(1, 255) as u8 };
        let node = 256 ^ usize::from(label);
        if units[node] != 0 {
            continue;
        }
        let at = texts.len() as u32;
        texts.extend(word(rng).bytes().filter(|&byte| byte != 0));
        texts.push(0);
        units.resize(units.len().max(block + 256), 0);
        // A leaf is stored at label 0 of the node's block.
        units[node] = unit_offset(node, block) | u32::from(label) | (1 << 8);
        units[block] = at | (1 << 31);
        block += 256;
    }
    let mut bytes = ((units.len() * 4) as u32).to_le_bytes().to_vec();
    bytes.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
    bytes.extend(texts);
    bytes
}

/// Returns the offset bits of a unit at `from` whose children are around `to`.
fn unit_offset(from: usize, to: usize) -> u32 {
    let offset = (from ^ to) as u32;
    if offset < 1 << 21 {
        offset << 10
    } else {
        (offset >> 8) << 10 | 1 << 9
    }
}
