//! Targets of single pipeline components: an object with the component and its input texts.
//!
//! Properties: the chunks of an aligned text are ascending, disjoint, not empty and on character boundaries; each byte
//! has an origin within the input.

use jeton_core::aligned_text::AlignedText;
use jeton_core::decode::{Decoded, Decoder};
use jeton_core::error::Result;
use jeton_core::normalize::Normalizer;
use jeton_core::postprocess::Template;
use jeton_core::pretokenize::{Pretokenizer, Splitter};
use jeton_core::util::simd::SimdLevel;
use jeton_core::vocab::{Kind, Vocab};
use serde_json::{json, Value};

use super::{not_a_case, refused, streaming, wrong, Checked, Outcome, Target};
use crate::cases;
use crate::mutate::Shape;
use crate::rng::Rng;

const NORMALIZERS: &[&str] = &[
    "NFC",
    "NFD",
    "NFKC",
    "NFKD",
    "Lowercase",
    "Strip",
    "StripAccents",
    "Nmt",
    "BertNormalizer",
    "Precompiled",
    "Replace",
    "Prepend",
    "ByteLevel",
    "SentencePiece",
    "String",
    "Regex",
    "content",
    "precompiled_charsmap",
    "",
];
const SPLITTERS: &[&str] = &[
    "BertPreTokenizer",
    "ByteLevel",
    "CharDelimiterSplit",
    "Digits",
    "FixedLength",
    "Metaspace",
    "Punctuation",
    "Split",
    "UnicodeScripts",
    "Whitespace",
    "WhitespaceSplit",
    "Pattern",
    "Isolated",
    "Removed",
    "MergedWithPrevious",
    "MergedWithNext",
    "Contiguous",
    "String",
    "Regex",
    "",
];
const DECODERS: &[&str] = &[
    "BPEDecoder",
    "ByteFallback",
    "ByteLevel",
    "CTC",
    "Fuse",
    "Metaspace",
    "Replace",
    "Strip",
    "WordPiece",
    "Join",
    "SentencePiece",
    "String",
    "Regex",
    " \\z",
    "",
];

pub const TARGETS: &[Target] = &[
    Target {
        name: "regex",
        shape: Shape::Json,
        words: &["\\p{L}+", "(?!\\S)", "a|b", "(a*)*"],
        seeds: Vec::new,
        generate: Some(make_regex),
        run: regex,
    },
    Target {
        name: "normalizer",
        shape: Shape::Json,
        words: NORMALIZERS,
        seeds: Vec::new,
        generate: Some(make_normalizer),
        run: normalizer,
    },
    Target {
        name: "charsmap",
        shape: Shape::Bytes,
        words: &["\u{0}"],
        seeds: Vec::new,
        generate: Some(make_charsmap),
        run: charsmap,
    },
    Target {
        name: "splitter",
        shape: Shape::Json,
        words: SPLITTERS,
        seeds: Vec::new,
        generate: Some(make_splitter),
        run: splitter,
    },
    Target {
        name: "decoder",
        shape: Shape::Json,
        words: DECODERS,
        seeds: Vec::new,
        generate: Some(make_decoder),
        run: decoder,
    },
    Target {
        name: "template",
        shape: Shape::Json,
        words: &["sequence", "ids", "type_id", "A", "B", "single", "pair"],
        seeds: Vec::new,
        generate: Some(make_template),
        run: template,
    },
];

fn case(part: Value, rng: &mut Rng) -> Vec<u8> {
    let texts: Vec<String> = (0..rng.between(1, 3)).map(|_| cases::text(rng, &[])).collect();
    json!({"part": part, "texts": texts}).to_string().into_bytes()
}

/// Returns the component as JSON text, and the texts.
fn read(input: &[u8]) -> std::result::Result<(String, Vec<String>), Outcome> {
    let case: Value = serde_json::from_slice(input).map_err(not_a_case)?;
    let part = case.get("part").ok_or(()).map_err(not_a_case)?.to_string();
    let texts = case["texts"].as_array().into_iter().flatten();
    let texts = texts.filter_map(cases::from_json).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok((part, texts.collect()))
}

fn make_regex(rng: &mut Rng) -> Vec<u8> {
    let part = json!(cases::any_regex(rng));
    case(part, rng)
}

fn regex(input: &[u8]) -> Checked {
    let (part, texts) = read(input)?;
    let pattern: String = serde_json::from_str(&part).map_err(not_a_case)?;
    let pretokenizer = Pretokenizer::regex(&pattern).map_err(refused)?;
    let oracle = Pretokenizer::backtracking(&pattern).map_err(refused)?;
    for text in &texts {
        // Compiled patterns need no budget. They split like the matcher, if the matcher finishes within its budget.
        if let Ok(expected) = oracle.spans(text).collect::<Result<Vec<_>>>() {
            let starts: Vec<usize> = expected.iter().map(|span| span.start).collect();
            if pretokenizer.starts_at_level(text, SimdLevel::Avx512).is_some_and(|found| found != starts) {
                return wrong("the finder finds other starts than the matcher");
            }
            if pretokenizer.spans(text).map(Result::ok).ne(expected.into_iter().map(Some)) {
                return wrong("other spans than those of the matcher");
            }
        }
        let mut end = 0;
        for span in pretokenizer.spans(text) {
            let span = span.map_err(refused)?;
            if span.start != end || span.end <= end || !text.is_char_boundary(span.end) {
                return wrong(format!("the span {span:?} after {end}"));
            }
            end = span.end;
        }
        if end != text.len() {
            return wrong(format!("the spans end at {end} of {}", text.len()));
        }
    }
    Ok(String::new())
}

/// Checks the aligned text of `input`.
fn check(aligned: &AlignedText, input: &str, traced: bool) -> std::result::Result<(), String> {
    let mut end = 0;
    for piece in aligned.chunks() {
        let is_sound = piece.start >= end && piece.end > piece.start && aligned.text().get(piece.range()).is_some();
        if !is_sound {
            return Err(format!("the piece {piece:?} after {end} of {}", aligned.text().len()));
        }
        let origin = piece.origin;
        if origin.start > origin.end || origin.end as usize > input.len() {
            return Err(format!("the piece {piece:?} of an input of {}", input.len()));
        }
        end = piece.end;
    }
    if traced && aligned.origins().len() != aligned.text().len() {
        return Err(format!("{} origins of {} bytes", aligned.origins().len(), aligned.text().len()));
    }
    for origin in aligned.origins() {
        if origin.start > origin.end || input.get(origin.start as usize..origin.end as usize).is_none() {
            return Err(format!("the origin {origin:?} in {input:?}"));
        }
    }
    Ok(())
}

fn on_drafts(texts: &[String], mut apply: impl FnMut(&mut AlignedText) -> Result<()>) -> Checked {
    for text in texts {
        let mut untraced = None;
        for traced in [false, true] {
            let mut aligned = AlignedText::new(text, traced).map_err(refused)?;
            for _ in 0..2 {
                apply(&mut aligned).map_err(refused)?;
                check(&aligned, text, traced)?;
            }
            let shape: Vec<_> = aligned.chunks().iter().map(|piece| (piece.start, piece.end, piece.id)).collect();
            match &untraced {
                None => untraced = Some((aligned.text().to_owned(), shape)),
                Some(other) if *other != (aligned.text().to_owned(), shape) => {
                    return wrong("the trace changes the text or its pieces")
                }
                Some(_) => {}
            }
        }
    }
    Ok(String::new())
}

fn make_normalizer(rng: &mut Rng) -> Vec<u8> {
    let part = cases::normalizer(rng);
    case(part, rng)
}

fn normalizer(input: &[u8]) -> Checked {
    let (part, texts) = read(input)?;
    for user_defined in [&[][..], &[b"ab".as_slice(), "\u{2581}".as_bytes(), b"<s>"]] {
        let normalizer = Normalizer::from_json(&part, user_defined).map_err(refused)?;
        on_drafts(&texts, |aligned| normalizer.apply(aligned, &|| true))?;
    }
    Ok(part.chars().take(20).collect())
}

fn make_charsmap(rng: &mut Rng) -> Vec<u8> {
    cases::charsmap_bytes(rng)
}

fn charsmap(input: &[u8]) -> Checked {
    let map = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, input);
    let own: String = ('\u{1}'..'\u{180}').collect();
    let texts = [own, cases::SNIPPETS.concat(), "a".repeat(3000), "abc cab bca".into(), "e\u{301}\u{323}".repeat(100)];
    let parts = [
        json!({"type": "Precompiled", "precompiled_charsmap": map}),
        json!({"type": "SentencePiece", "precompiled_charsmap": map, "add_dummy_prefix": true, "remove_extra_whitespaces": true, "escape_whitespaces": true, "treat_whitespace_as_suffix": false}),
        json!({"type": "SentencePiece", "precompiled_charsmap": map, "add_dummy_prefix": true, "remove_extra_whitespaces": false, "escape_whitespaces": false, "treat_whitespace_as_suffix": true}),
    ];
    for part in parts {
        let normalizer = Normalizer::from_json(&part.to_string(), &[b"ab"]).map_err(refused)?;
        on_drafts(&texts, |aligned| normalizer.apply(aligned, &|| true))?;
    }
    Ok(String::new())
}

fn make_splitter(rng: &mut Rng) -> Vec<u8> {
    let part = cases::splitter(rng);
    case(part, rng)
}

fn splitter(input: &[u8]) -> Checked {
    let (part, texts) = read(input)?;
    let splitter = Splitter::from_json(&part).map_err(refused)?;
    on_drafts(&texts, |aligned| splitter.apply(aligned, &|| true))
}

fn make_decoder(rng: &mut Rng) -> Vec<u8> {
    let parts = cases::decoders(rng);
    let ids: Vec<usize> = (0..rng.length(60)).map(|_| rng.below(44)).collect();
    json!({"part": parts, "ids": ids, "byte_level": rng.once_in(2)}).to_string().into_bytes()
}

fn vocab() -> Result<Vocab> {
    let texts = [
        "\u{2581}",
        "a",
        "b",
        " ",
        "  ",
        "##a",
        "##",
        "</w>",
        "a</w>",
        "<0x0A>",
        "<0xE4>",
        "<0xBB>",
        "<0x8A>",
        "<0xff>",
        "Ġ",
        "Ġa",
        "é",
        "🙂",
        "|",
        "<pad>",
        ".",
        "n't",
        "\u{2581}\u{2581}a",
        "do not",
        "'m",
    ];
    let mut entries: Vec<(u32, Kind, &[u8])> =
        (0..).zip(&texts).map(|(id, text)| (id, Kind::Token, text.as_bytes())).collect();
    entries.extend([
        (30, Kind::Special, b"<s>".as_slice()),
        (31, Kind::Added, b" x "),
        (32, Kind::EndsWord, b"a"),
        (33, Kind::EndsWord, b""),
        (34, Kind::Unused, b"u"),
        (35, Kind::Byte, b"<0xF0>"),
        (36, Kind::Token, b"\xff\xc3"),
        (37, Kind::Byte, b"odd"),
        (38, Kind::Special, b"<0x41>"),
    ]);
    Vocab::new(entries)
}

fn decoder(input: &[u8]) -> Checked {
    let case: Value = serde_json::from_slice(input).map_err(not_a_case)?;
    let vocab = vocab().map_err(|error| error.to_string())?;
    let byte_level = case["byte_level"] == true;
    let decoder = Decoder::from_json(&case["part"].to_string(), &vocab, byte_level, None).map_err(refused)?;
    let ids: Vec<u32> =
        case["ids"].as_array().into_iter().flatten().filter_map(|id| id.as_u64()?.try_into().ok()).collect();
    for skip_special in [false, true] {
        let decoded = decoder.decode(&vocab, &ids, skip_special).map(Decoded::into_vec);
        match (decoded, decoder.decode_text(&vocab, &ids, skip_special)) {
            (Ok(_), Ok(_)) => {}
            (Err(error), Err(other)) if error == other => return Err(refused(error)),
            (Ok(_), Err(error)) | (Err(error), _) => return wrong(format!("one decodes, the other does not: {error}")),
        }
    }
    for skip_special in [false, true] {
        streaming::check(&decoder, &vocab, &ids, skip_special)?;
    }
    let mut out = Vec::new();
    for id in 0..45 {
        decoder.token(&vocab, id, &mut out);
    }
    Ok(String::new())
}

fn make_template(rng: &mut Rng) -> Vec<u8> {
    cases::template(rng, 40).to_string().into_bytes()
}

fn template(input: &[u8]) -> Checked {
    let template = Template::from_json(&String::from_utf8_lossy(input)).map_err(refused)?;
    for (first, second) in [(&[][..], None), (&[1, 2], None), (&[1], Some(&[][..])), (&[1, 2], Some(&[3][..]))] {
        for add in [false, true] {
            let out = template.apply(first, second, add, |id| id);
            let lengths = [out.type_ids.len(), out.special_tokens_mask.len(), out.sources.len()];
            if lengths != [out.tokens.len(); 3] {
                return wrong("columns of different lengths");
            }
            let added = out.special_tokens_mask.iter().filter(|&&special| special).count();
            if added != if add { template.num_added(second.is_some()) } else { 0 } {
                return wrong("num_added is not what is added");
            }
        }
    }
    Ok(String::new())
}
