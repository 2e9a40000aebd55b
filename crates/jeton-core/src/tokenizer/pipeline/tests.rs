//! Tests that a tokenizer with normalizers encodes, counts, cuts and computes spans with the same results as a
//! tokenizer whose stages rewrite an aligned text.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fmt::Debug;

use super::build::{Extras, LSTRIP, NORMALIZED, RSTRIP};
use super::permit::{Permission, Permit};
use super::space_marks::SpaceMarks;
use super::Tokenizer;
use crate::encode::Encoder;
use crate::error::Result;
use crate::model::Scratch;
use crate::tokenizer::spans::token_widths::SpanKind;
use crate::tokenizer::{Growing, TextCutter};
use crate::util::text_unit::TextUnit;
use crate::vocab::marks::Marks;
use crate::vocab::{Kind, Vocab};

const NORMALIZERS: [&str; 10] = [
    "",
    r#"{"type":"NFC"}"#,
    r#"{"type":"NFD"}"#,
    r#"{"type":"NFKC"},{"type":"Lowercase"}"#,
    r#"{"type":"Lowercase"},{"type":"NFD"},{"type":"StripAccents"}"#,
    r#"{"type":"Replace","pattern":{"String":" "},"content":"▁"}"#,
    r#"{"type":"Replace","pattern":{"Regex":"\\s+"},"content":" "},{"type":"Strip","strip_left":true,"strip_right":true}"#,
    r#"{"type":"Prepend","prepend":"▁"},{"type":"Replace","pattern":{"String":" "},"content":"▁"}"#,
    r#"{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true}"#,
    r#"{"type":"NFC"},{"type":"ByteLevel"}"#,
];
const PATTERNS: [&str; 7] = [
    "",
    r#"{"type":"Pattern","name":"gpt2"}"#,
    r#"{"type":"Pattern","name":"qwen2"}"#,
    r#"{"type":"Pattern","name":"whitespace"}"#,
    r#"{"type":"Pattern","regex":"[a-z]+|\\s+|."}"#,
    r#"{"type":"Pattern","regex":"\\s?[a-z]+"},{"type":"Pattern","regex":"\\s?[A-Z']+"},{"type":"Digits","individual_digits":true}"#,
    // The byte alphabet spells the third byte of some characters as a numeric character, such as `²`, which Digits
    // splits off.
    r#"{"type":"Punctuation","behavior":"Contiguous"},{"type":"ByteLevel","add_prefix_space":false,"use_regex":true},{"type":"Digits","individual_digits":false}"#,
];
const ALPHABET: &str = "abcehlotABC  \n'1é\u{301}e\u{323}가\u{1100}\u{1161}漢字Жж▁ﬁ😀İ";

/// Pseudorandom numbers below a limit.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (self.0 >> 33) as usize % limit
    }

    fn text(&mut self, length: usize) -> String {
        let chars: Vec<char> = ALPHABET.chars().collect();
        let plain: Vec<char> = "the cat\nhat é가漢ж".chars().collect();
        let one_in = [1_000_000, 20, 2][self.below(3)];
        let mut c =
            || if self.below(one_in) == 0 { chars[self.below(chars.len())] } else { plain[self.below(plain.len())] };
        let mut text: String = (0..length).map(|_| c()).collect();
        for _ in 0..[0, 0, 1, 7][self.below(4)] {
            let added = ["<S>", "<s>", " <é> ", "É", "<E\u{301}>"][self.below(5)];
            let at = (self.below(text.len() + 1)..).find(|&at| text.is_char_boundary(at)).unwrap();
            text.insert_str(at, added);
        }
        text
    }
}

/// Creates a byte-level or character-level model with the given stages, and the same model without fast paths.
fn pair(normalizer: &str, pattern: &str, is_bytes: bool, draw: &mut Draw) -> [Tokenizer; 2] {
    let mut contents: Vec<Vec<u8>> = match is_bytes {
        true => (0..=255).map(|byte| vec![byte]).collect(),
        false => ALPHABET.chars().chain("stdv".chars()).map(|c| c.to_string().into_bytes()).collect(),
    };
    contents.sort();
    contents.dedup();
    let mut merges = Vec::new();
    for _ in 0..120 {
        let (left, right) = (draw.below(contents.len()), draw.below(contents.len()));
        let joined = [contents[left].clone(), contents[right].clone()].concat();
        if joined.len() < 9 && !contents.contains(&joined) {
            merges.push((left as u32, right as u32, contents.len() as u32));
            contents.push(joined);
        }
    }
    let first = contents.len() as u32;
    let mut entries: Vec<(u32, Kind, Vec<u8>)> =
        (0..).zip(contents).map(|(id, content)| (id, Kind::Token, content)).collect();
    let flags = [NORMALIZED, 0, NORMALIZED | LSTRIP, RSTRIP][draw.below(4)];
    for (id, kind, content) in
        [(first, Kind::Special, "<S>"), (first + 1, Kind::Added, "<é>"), (first + 2, Kind::Added, "É")]
    {
        entries.push((id, kind, content.as_bytes().to_vec()));
    }
    let level = if is_bytes { r#""level":"byte""# } else { r#""level":"char","unk":0"# };
    let options = format!(
        r#"{{"model":{{"type":"BPE",{level},"ranks":"merges"}},"normalizer":[{normalizer}],"pretokenizer":[{pattern}]}}"#
    );
    [true, false].map(|is_fast| {
        let vocab = Vocab::new(entries.iter().map(|(id, kind, content)| (*id, *kind, content.as_slice()))).unwrap();
        let extras = Extras {
            merges: merges.clone(),
            flags: (first..first + 3).map(|id| (id, flags)).filter(|flags| flags.1 != 0).collect(),
            ..Extras::default()
        };
        let mut tok = Tokenizer::from_json(&options, vocab, extras).unwrap();
        let is_bytewise = is_bytes && pattern.contains("ByteLevel") && !normalizer.contains("ByteLevel");
        assert_eq!(tok.bytewise.is_some(), is_bytewise);
        if !is_fast {
            tok.plain = None;
            tok.bytewise = None;
            tok.needs_origins = true;
        }
        tok
    })
}

/// Returns a result in its debug format, without the positions of errors.
fn shown<T: Debug>(result: Result<T>) -> String {
    result
        .map_or_else(|error| format!("error: {:?}", std::mem::discriminant(error.kind())), |value| format!("{value:?}"))
}

fn verbs(tok: &Tokenizer, text: &str, permit: &Permit<'_>) -> Vec<String> {
    let watch = &mut || true;
    let keep_going = &|| true;
    let mut ids = Vec::new();
    let encoded = tok.encode(text.as_bytes(), permit, keep_going, &mut Scratch::default(), &mut ids);
    let texts = [text, "", text];
    let mut found = vec![
        shown(encoded.map(|()| &ids)),
        shown(tok.encode_long(text, permit, 2, watch)),
        shown(tok.count(text, permit, 2, watch)),
        shown(tok.encode_batch(&texts, permit, 2, watch).map_err(|error| error.1)),
        shown(tok.encode_with_spans(text.as_bytes(), permit, keep_going)),
        shown(tok.encode_batch_with_offsets(&texts, permit, 2, true, watch).map_err(|error| error.1)),
        shown(tok.encode_batch_with_words(&texts, permit, 2, watch).map_err(|error| error.1)),
    ];
    for kind in [SpanKind::Bytes, SpanKind::Chars, SpanKind::Offsets] {
        found.push(shown(tok.known_spans(text.into(), &ids, permit, kind, keep_going)));
    }
    let explained = tok.explain(text.as_bytes(), permit, 50, keep_going);
    found.push(shown(explained.map(|explained| {
        let parts = explained.parts.into_iter().map(|part| (part.span, part.bytes, part.added, part.ids));
        (parts.collect::<Vec<_>>(), explained.num_tokens)
    })));
    let mut cutter = TextCutter::new(tok, text, TextUnit::Character, permit, keep_going).unwrap();
    found.extend([shown(cutter.prefix(7)), shown(cutter.suffix(5)), shown(cutter.parts(9, 0))]);
    let mut growing = Growing::default();
    let chars: Vec<char> = text.chars().collect();
    let grown = chars.chunks(11).map(|part| growing.append(tok, permit, &String::from_iter(part), keep_going));
    found.push(shown(grown.collect::<Result<Vec<_>>>()));
    let invalid = [text.as_bytes(), b"\xFF\xC3", text.as_bytes()].concat();
    found.push(shown(tok.encode_long(&invalid, permit, 2, watch)));
    found
}

#[test]
fn all_calls_agree_with_aligned_text() {
    let mut draw = Draw(3);
    for normalizer in NORMALIZERS {
        for pattern in PATTERNS {
            for is_bytes in [true, false] {
                let toks = pair(normalizer, pattern, is_bytes, &mut draw);
                for round in 0..12 {
                    let length = [0, 1, 3, 20, 80][round % 5];
                    let text = draw.text(length);
                    let permission = [Permission::None, Permission::All, Permission::Raise][round % 3].clone();
                    let [fast, slow] = [0, 1].map(|i| verbs(&toks[i], &text, &toks[i].permit(&permission).unwrap()));
                    for (index, (fast, slow)) in fast.iter().zip(&slow).enumerate() {
                        assert_eq!(
                            fast, slow,
                            "verb {index}, {normalizer} {pattern} {is_bytes} {permission:?} {text:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn long_texts_agree_on_any_number_of_threads() {
    let mut draw = Draw(4);
    for normalizer in [r#"{"type":"NFC"}"#, r#"{"type":"Lowercase"}"#] {
        let [fast, slow] = pair(normalizer, PATTERNS[1], true, &mut draw);
        let texts = [
            "the cat <é> in 漢字 hats é가\n".repeat(36_000),
            format!("{}E\u{301}", "Hat\nhat e\u{301} <S>".repeat(70_000)),
            format!("{}{}{}<é>", "<é>É".repeat(90_000), "the cat 漢 ".repeat(30_000), "a<é>É".repeat(90_000)),
        ];
        for text in &texts {
            let mut ids = Vec::new();
            let permit = slow.permit_none();
            slow.encode(text.as_bytes(), &permit, &|| true, &mut Scratch::default(), &mut ids).unwrap();
            for threads in [1, 3] {
                let permit = fast.permit_none();
                assert!(fast.encode_long(text.as_str(), &permit, threads, &mut || true).unwrap() == ids, "{threads}");
                assert_eq!(fast.count(text.as_str(), &permit, threads, &mut || true).unwrap(), ids.len());
            }
        }
        let short = ["<é>", "", "a<é>É<é> cat", "cat", "<é><é>"].map(|text| text.repeat(40));
        let texts: Vec<&str> = short.iter().chain(&texts).chain(&short).map(String::as_str).collect();
        let [permit, plain] = [&fast, &slow].map(Tokenizer::permit_none);
        let (ids, ends) = fast.encode_batch(&texts, &permit, 3, &mut || true).unwrap();
        for (i, text) in texts.iter().enumerate() {
            let mut alone = Vec::new();
            slow.encode(text.as_bytes(), &plain, &|| true, &mut Scratch::default(), &mut alone).unwrap();
            assert!(ids[ends[i] as usize..ends[i + 1] as usize] == alone, "text {i}");
        }
    }
}

/// Creates a Unigram tokenizer that inserts a mark before words, optionally after splitting at white space. Also
/// creates the same tokenizer with stages that rewrite an aligned text.
fn words(draw: &mut Draw) -> [Tokenizer; 2] {
    let normalizer = NORMALIZERS[[0, 3, 8, 6][draw.below(4)]];
    let split = [r#"{"type":"WhitespaceSplit"},"#, r#"{"type":"Pattern","name":"whitespace"},"#, ""][draw.below(3)];
    let scheme = if split.is_empty() { ["always", "first", "never"][draw.below(3)] } else { "always" };
    let normalizer = if split.is_empty() { "" } else { normalizer };
    let alphabet: Vec<char> = "abcehlot1é漢▁ж".chars().collect();
    let mut contents: Vec<String> = alphabet.iter().map(char::to_string).collect();
    while contents.len() < 120 {
        let piece: String = (0..2 + draw.below(4)).map(|_| alphabet[draw.below(alphabet.len())]).collect();
        let piece = if draw.below(2) == 0 { format!("▁{piece}") } else { piece };
        if !contents.contains(&piece) {
            contents.push(piece);
        }
    }
    let first = contents.len() as u32;
    let mut entries: Vec<(u32, Kind, String)> = vec![(0, Kind::Token, "?".to_owned())];
    entries.extend((1..).zip(contents).map(|(id, content)| (id, Kind::Token, content)));
    entries.extend([(first + 1, Kind::Special, "<S>".to_owned()), (first + 2, Kind::Added, "<é>".to_owned())]);
    let scores: Vec<f64> = (0..=first).map(|_| -1.0 - draw.below(12) as f64 / 2.0).collect();
    let options = format!(
        r#"{{"model":{{"type":"Unigram","unk":0,"single_precision":false}},"normalizer":[{normalizer}],"pretokenizer":[{split}
            {{"type":"Metaspace","replacement":"▁","prepend_scheme":"{scheme}","split":true}}]}}"#
    );
    [true, false].map(|is_fast| {
        let vocab = Vocab::new(entries.iter().map(|(id, kind, content)| (*id, *kind, content.as_bytes()))).unwrap();
        let extras = Extras { scores: scores.clone(), ..Extras::default() };
        let mut tok = Tokenizer::from_json(&options, vocab, extras).unwrap();
        assert_eq!(tok.space_marks.as_ref().map(SpaceMarks::takes_words), Some(!split.is_empty()), "{options}");
        if is_fast {
            tok.prepare(usize::MAX, &mut || true).unwrap();
        } else {
            tok.space_marks = None;
            tok.encoder = Encoder::new(&tok.vocab, &tok.model, Marks::Written);
        }
        tok
    })
}

#[test]
fn unigram_words_agree_with_aligned_text() {
    let mut draw = Draw(5);
    for round in 0..120 {
        let toks = words(&mut draw);
        for _ in 0..6 {
            let length = [0, 1, 5, 30, 200][draw.below(5)];
            let space = [" ", "\n", "  ", "\u{a0}", "\u{3000}", "▁", " ▁", "▁▁"];
            let text: Vec<String> = (0..length).map(|_| draw.text(5) + space[draw.below(space.len())]).collect();
            let text = text.concat();
            let permission = [Permission::None, Permission::All, Permission::Raise][round % 3].clone();
            let [fast, slow] = [0, 1].map(|i| verbs(&toks[i], &text, &toks[i].permit(&permission).unwrap()));
            for (index, (fast, slow)) in fast.iter().zip(&slow).enumerate() {
                assert_eq!(fast, slow, "verb {index}, {permission:?} {text:?}");
            }
        }
    }
}
