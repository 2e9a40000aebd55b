//! Checks that normalization without alignment gives the same text as with alignment. If the result is the unchanged
//! text (borrowed), each character must be aligned with itself.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::borrow::Cow;

use base64::engine::general_purpose::STANDARD;
use base64::Engine;

use super::properties::{Properties, ALL, CHINESE, NFD};
use super::{compile, nfkc_rules, normalized, Normalizer};
use crate::aligned_text::AlignedText;

const PARTS: [&str; 24] = [
    r#"{"type":"NFC"}"#,
    r#"{"type":"NFD"}"#,
    r#"{"type":"NFKC"}"#,
    r#"{"type":"NFKD"}"#,
    r#"{"type":"Lowercase"}"#,
    r#"{"type":"StripAccents"}"#,
    r#"{"type":"Nmt"}"#,
    r#"{"type":"ByteLevel"}"#,
    r#"{"type":"Strip","strip_left":true,"strip_right":true}"#,
    r#"{"type":"Prepend","prepend":"▁"}"#,
    r#"{"type":"Replace","pattern":{"String":" "},"content":"▁"}"#,
    r#"{"type":"Replace","pattern":{"String":"a"},"content":"a"}"#,
    r#"{"type":"Replace","pattern":{"String":"é"},"content":"<e>"}"#,
    r#"{"type":"Replace","pattern":{"String":"ab"},"content":"ab"}"#,
    r#"{"type":"Replace","pattern":{"String":"\n"},"content":""}"#,
    r#"{"type":"Replace","pattern":{"Regex":"\\s+"},"content":" "}"#,
    r#"{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true}"#,
    r#"{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":false}"#,
    r#"{"type":"BertNormalizer","clean_text":false,"handle_chinese_chars":false,"strip_accents":true,"lowercase":false}"#,
    r#"{"type":"BertNormalizer","clean_text":false,"handle_chinese_chars":false,"strip_accents":false,"lowercase":true}"#,
    r#"{"type":"NFC"},{"type":"Lowercase"},{"type":"NFD"},{"type":"StripAccents"}"#,
    r#"{"type":"Strip","strip_left":true,"strip_right":false},{"type":"NFKC"},{"type":"Prepend","prepend":"x"}"#,
    r#"{"type":"SentencePiece","precompiled_charsmap":null,"add_dummy_prefix":false,"remove_extra_whitespaces":false,
        "escape_whitespaces":true,"treat_whitespace_as_suffix":false}"#,
    r#"{"type":"SentencePiece","precompiled_charsmap":null,"add_dummy_prefix":true,"remove_extra_whitespaces":true,
        "escape_whitespaces":false,"treat_whitespace_as_suffix":true}"#,
];

/// The tests form all pairs of these characters, in both orders, and mix the characters into longer texts:
/// - letters, marks and jamo;
/// - characters that normalization expands, composes again or removes;
/// - characters whose case changes, with or without regard to the context;
/// - the first and the last characters of each UTF-8 length.
const INTERESTING: &str = "aeE bZ\t\n\r\0\u{7f}\u{85}\u{a0}éÉÅåßİıΣσςǅ\u{301}\u{300}\u{323}\u{327}\u{308}\u{315}\u{31b}\u{345}\u{344}\u{340}\
    \u{1100}\u{1161}\u{11a8}\u{11a7}가각힣\u{d7b0}ﬁﬃ①㍍ﷺｶﾞか\u{3099}が\u{212b}\u{2126}\u{958}\u{915}\u{93c}\u{94d}\u{928}\u{9c7}\u{9be}\u{f73}\u{f71}\u{f72}\u{f81}\
    \u{e33}\u{e49}漢\u{f900}\u{2f00}\u{3400}▁\u{2581}\u{200b}\u{feff}\u{fffd}\u{ffff}\u{7ff}\u{800}\u{10000}😀\u{1d165}\u{1d15e}\u{2f800}\u{20000}\u{10400}\u{e0001}\u{105c9}\
    \u{10ffff}\u{898}\u{1885}\u{16fe4}";

fn read(parts: &str) -> Vec<Normalizer> {
    Normalizer::list_from_json(&format!("[{parts}]"), &[]).unwrap()
}

/// Returns each of [`PARTS`], and one character map twice: as Hugging Face applies it and as SentencePiece applies it.
fn all() -> impl Iterator<Item = Vec<Normalizer>> {
    let map = STANDARD.encode(compile::compile(&nfkc_rules::named("nmt_nfkc_cf").unwrap()).unwrap());
    let mapped = [
        format!(r#"{{"type":"Precompiled","precompiled_charsmap":"{map}"}}"#),
        format!(
            r#"{{"type":"SentencePiece","precompiled_charsmap":"{map}","add_dummy_prefix":false,
            "remove_extra_whitespaces":false,"escape_whitespaces":false,"treat_whitespace_as_suffix":false}}"#
        ),
    ];
    PARTS.into_iter().map(read).chain(mapped.into_iter().map(|parts| read(&parts)))
}

/// Compares normalization with and without alignment. Returns true if normalization did not change the text.
fn check(parts: &[Normalizer], text: &str) -> bool {
    let mut aligned = AlignedText::new(text, true).unwrap();
    parts.iter().for_each(|part| part.apply(&mut aligned, &|| true).unwrap());
    let fast = normalized(parts, text, &|| true).unwrap();
    assert_eq!(fast, aligned.text(), "{parts:?} {text:?}");
    let is_borrowed = matches!(fast, Cow::Borrowed(_));
    if is_borrowed {
        let identity = AlignedText::new(text, true).unwrap();
        assert_eq!((aligned.text(), aligned.origins()), (text, identity.origins()), "{parts:?} {text:?}");
        assert_eq!(aligned.sources(), identity.sources(), "{parts:?} {text:?}");
    }
    is_borrowed
}

fn draws(mut state: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (state >> 33) as usize % below
    }
}

#[test]
fn each_character_gives_equal_text_with_and_without_alignment() {
    let properties = Properties::get();
    for parts in all() {
        let all: Vec<char> = ('\0'..=char::MAX).collect();
        for block in all.chunks(1 << 12) {
            check(&parts, &block.iter().collect::<String>());
        }
        // Only a sample of the characters in large blocks is tested.
        let is_large = |c: char| matches!(properties.of(c) & ALL, 0 | CHINESE) || ('가'..='힣').contains(&c);
        for (index, c) in all.into_iter().enumerate() {
            if !is_large(c) && properties.of(c) & NFD != 0 && index % 3 == 0 || index % 97 == 0 {
                check(&parts, &c.to_string());
            }
        }
    }
}

#[test]
fn pairs_and_triples_give_equal_text_with_and_without_alignment() {
    let chars: Vec<char> = INTERESTING.chars().collect();
    let mut draw = draws(5);
    for parts in all() {
        for &left in &chars {
            for &right in &chars {
                check(&parts, &format!("{left}{right}"));
                let (before, after) = (chars[draw(chars.len())], chars[draw(chars.len())]);
                check(&parts, &format!("x{before}{left}{right}{after}x"));
            }
        }
    }
}

#[test]
fn longer_texts_give_equal_text_with_and_without_alignment() {
    let chars: Vec<char> = INTERESTING.chars().collect();
    let scripts = [
        "plain text, mostly of letters. ",
        "простой текст в предложении ",
        "天地玄黄，宇宙洪荒。",
        "한국어 문장 ",
        "ひらがなカタカナ、",
        "हिन्दी में लिखा ",
        "naïve café ",
    ];
    let mut draw = draws(9);
    for parts in all() {
        let mut unchanged = 0;
        for round in 0..120 {
            let (script, one_in) = (scripts[round % scripts.len()], [usize::MAX, 100, 10, 1][round / 7 % 4]);
            let letters: Vec<char> = script.chars().collect();
            let text: String = (0..draw(600))
                .map(|at| {
                    if draw(1 << 20).is_multiple_of(one_in) && one_in < usize::MAX {
                        chars[draw(chars.len())]
                    } else {
                        letters[at % letters.len()]
                    }
                })
                .collect();
            unchanged += usize::from(check(&parts, &text));
        }
        let name = format!("{parts:?}");
        assert!(
            unchanged > 0 || !["Form(Nfc)", "Form(Nfkc)", "Nmt", "StripAccents"].contains(&name.as_str()),
            "{name}"
        );
    }
}

#[test]
fn text_in_normal_form_is_borrowed() {
    let nfc = read(r#"{"type":"NFC"}"#);
    for text in [
        "",
        "é",
        "x\u{316}\u{301}b",
        "क\u{93c}",
        "हिन्दी",
        "한국어",
        "ไทย น้ำ",
        "か\u{3099}".replace('\u{3099}', "").as_str(),
    ] {
        assert!(check(&nfc, text), "{text:?}");
    }
    for text in ["e\u{301}", "\u{212b}", "\u{1100}\u{1161}", "か\u{3099}", "a\u{301}\u{316}", "\u{958}"] {
        assert!(!check(&nfc, text), "{text:?}");
    }
}
