#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use base64::prelude::{Engine, BASE64_STANDARD};

use super::super::Decoder;
use super::*;
use crate::normalize::compile::compile;

const CONTENTS: &[&str] = &[
    "▁", "a", "b", " ", "  ", "##a", "##", "#", "</w>", "a</w>", "<", "0x0A>", "<0x0A>", "<0xE4>", "<0xBB>", "<0x8A>",
    "<0xff>", "<0xF0>", "Ġ", "Ġa", "é", "äº", "Ĭ", "🙂", "|", "<pad>", ".", " .", "n't", " n't", "▁▁a", "do not",
    " do", " not", "'", " '", "ab", "aab", "   ", "x a",
];

fn vocab() -> Vocab {
    let kind = |i: usize| match i % 13 {
        3 => Kind::Added,
        5 => Kind::Special,
        7 => Kind::EndsWord,
        11 => Kind::Unreachable,
        _ if CONTENTS[i].starts_with("<0x") => Kind::Byte,
        _ => Kind::Token,
    };
    let entries = CONTENTS.iter().enumerate().map(|(i, content)| (i as u32, kind(i), content.as_bytes()));
    let broken =
        [(CONTENTS.len() as u32, Kind::Token, &b"\xe4\xbb"[..]), (CONTENTS.len() as u32 + 1, Kind::Token, b"\x8a")];
    Vocab::new(entries.chain(broken)).unwrap()
}

const STEPS: &[&str] = &[
    r#"{"type":"BPEDecoder","suffix":"</w>"}"#,
    r#"{"type":"BPEDecoder","suffix":"a"}"#,
    r#"{"type":"BPEDecoder","suffix":""}"#,
    r#"{"type":"ByteFallback"}"#,
    r#"{"type":"ByteLevel"}"#,
    r#"{"type":"CTC","pad_token":"<pad>","word_delimiter_token":"|","cleanup":true}"#,
    r#"{"type":"CTC","pad_token":"a","word_delimiter_token":"b","cleanup":false}"#,
    r#"{"type":"Fuse"}"#,
    r#"{"type":"Fuse"}"#,
    r#"{"type":"Fuse"}"#,
    r#"{"type":"Metaspace","replacement":"▁"}"#,
    r#"{"type":"Metaspace","replacement":"a","prepend_scheme":"never"}"#,
    r#"{"type":"Replace","pattern":{"String":"▁"},"content":" "}"#,
    r#"{"type":"Replace","pattern":{"String":"aab"},"content":"<0xE4>"}"#,
    r#"{"type":"Replace","pattern":{"String":" a"},"content":"aa"}"#,
    r#"{"type":"Replace","pattern":{"String":""},"content":"a "}"#,
    r#"{"type":"Replace","pattern":{"Regex":" \\z"},"content":""}"#,
    r#"{"type":"Replace","pattern":{"Regex":"[ a]+(?!b)"},"content":"b "}"#,
    r#"{"type":"Replace","pattern":{"Regex":"(?<=a b|a)[^a]|^b|a$"},"content":"-"}"#,
    r#"{"type":"Replace","pattern":{"Regex":"\\A.|\\b\\w{2,}?\\b|(?:ab?)++\\z"},"content":""}"#,
    r#"{"type":"Strip","content":" ","start":1,"stop":0}"#,
    r#"{"type":"Strip","content":" ","start":2,"stop":2}"#,
    r#"{"type":"Strip","content":"▁","start":0,"stop":1}"#,
    r#"{"type":"Strip","content":"a","start":1,"stop":3}"#,
    r###"{"type":"WordPiece","prefix":"##","cleanup":true}"###,
    r#"{"type":"WordPiece","prefix":"","cleanup":true}"#,
    r###"{"type":"WordPiece","prefix":"##","cleanup":false}"###,
    r#"{"type":"Join","separator":" "}"#,
];

/// Returns the options of a denormalizer whose rules replace strings that the test vocabulary can decode to.
fn denormalizer(add_dummy_prefix: bool, remove_extra_whitespaces: bool) -> String {
    let rules = [("a", "b"), ("ab", " "), ("a a", "x  "), (" .", "."), ("今a", ""), ("##", "# #")];
    let rules = rules.iter().map(|&(old, new)| (old.to_owned(), new.to_owned())).collect();
    let map = BASE64_STANDARD.encode(compile(&rules).unwrap());
    format!(
        r#"{{"precompiled_charsmap":"{map}","add_dummy_prefix":{add_dummy_prefix},
            "remove_extra_whitespaces":{remove_extra_whitespaces},"escape_whitespaces":false}}"#
    )
}

struct Random(u32);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 12) as usize % limit
    }

    fn decoder(&mut self) -> String {
        match self.below(8) {
            0 => "null".to_owned(),
            1 => {
                let flags = [(); 4].map(|()| self.below(2) == 0);
                let options = format!(r#""add_dummy_prefix":{},"remove_extra_whitespaces":{}"#, flags[0], flags[1]);
                let denormalizer =
                    if self.below(2) == 0 { "null".to_owned() } else { denormalizer(flags[2], flags[3]) };
                format!(r#"[{{"type":"SentencePiece",{options},"unk":1,"denormalizer":{denormalizer}}}]"#)
            }
            _ => {
                let steps: Vec<&str> = (0..self.below(5)).map(|_| STEPS[self.below(STEPS.len())]).collect();
                format!("[{}]", steps.join(","))
            }
        }
    }
}

/// Decodes `ids` in several pushes, and checks that the returned texts are together the whole text.
fn streamed(
    decoder: &Decoder,
    vocab: &Vocab,
    ids: &[u32],
    skip: bool,
    invalid: InvalidUtf8,
    random: &mut Random,
) -> Result<String> {
    let mut stream = decoder.stream(skip, invalid);
    let mut text = String::new();
    let mut rest = ids;
    while !rest.is_empty() {
        let (some, after) = rest.split_at(random.below(rest.len().min(4) + 1));
        text.push_str(decoder.push(vocab, &mut stream, some)?);
        assert_eq!(text, stream.text());
        rest = after;
        if random.below(10) == 0 {
            let mut copy = stream.clone();
            let _ = decoder.push(vocab, &mut copy, &[1]).is_ok() && decoder.finish(&mut copy).is_ok();
        }
    }
    text.push_str(decoder.finish(&mut stream)?);
    assert!(decoder.push(vocab, &mut stream, &[]).is_err());
    assert_eq!(decoder.finish(&mut stream).unwrap(), "");
    Ok(text)
}

#[test]
fn a_stream_gives_the_text_of_the_batch() {
    let vocab = vocab();
    let mut random = Random(11);
    for round in 0..10_000 {
        let (parts, byte_level) = (random.decoder(), random.below(2) == 0);
        let decoder = Decoder::from_json(&parts, &vocab, byte_level, None).unwrap();
        let ids: Vec<u32> = (0..random.below(12)).map(|_| random.below(vocab.len()) as u32).collect();
        let skip = random.below(2) == 0;
        let bytes = decoder.decode(&vocab, &ids, skip).unwrap().into_vec();
        let text = decoder.decode_text(&vocab, &ids, skip).unwrap();
        let place = format!("{round}: {parts}, {byte_level}, {ids:?}");
        let mut of = |invalid| streamed(&decoder, &vocab, &ids, skip, invalid, &mut random);
        assert_eq!(of(InvalidUtf8::Replace).unwrap(), text, "{place}");
        let kept: String = bytes.utf8_chunks().map(|chunk| chunk.valid()).collect();
        assert_eq!(of(InvalidUtf8::Ignore).unwrap(), kept, "{place}");
        match (of(InvalidUtf8::Strict), std::str::from_utf8(&bytes)) {
            (Ok(text), Ok(wanted)) => assert_eq!(text, wanted, "{place}"),
            (Err(error), Err(wanted)) => {
                let at = wanted.valid_up_to();
                assert!(matches!(error.kind(), ErrorKind::NotUtf8 { at: found, .. } if *found == at), "{place}");
            }
            other => panic!("{place}: {other:?}"),
        }
    }
}

/// Decodes all ids at once, under a policy for invalid UTF-8.
fn at_once(decoder: &Decoder, vocab: &Vocab, ids: &[u32], skip: bool, invalid: InvalidUtf8) -> String {
    match invalid {
        InvalidUtf8::Replace => decoder.decode_text(vocab, ids, skip).unwrap(),
        _ => {
            let bytes = decoder.decode(vocab, ids, skip).unwrap().into_vec();
            bytes.utf8_chunks().map(|chunk| chunk.valid()).collect()
        }
    }
}

#[test]
fn text_after_a_prompt_is_the_text_of_all_ids_without_the_common_beginning() {
    let vocab = vocab();
    let mut random = Random(23);
    let (mut whole, mut changed) = (0, 0);
    for round in 0..20_000 {
        let (parts, byte_level) = (random.decoder(), random.below(2) == 0);
        let decoder = Decoder::from_json(&parts, &vocab, byte_level, None).unwrap();
        let ids: Vec<u32> = (0..random.below(12)).map(|_| random.below(vocab.len()) as u32).collect();
        let (prompt, answer) = ids.split_at(random.below(ids.len() + 1));
        let (skip, invalid) = (random.below(2) == 0, [InvalidUtf8::Replace, InvalidUtf8::Ignore][random.below(2)]);
        let place = format!("{round}: {parts}, {byte_level}, {prompt:?}, {answer:?}, {skip}, {invalid:?}");
        let mut stream = decoder.stream(skip, invalid);
        let returned = decoder.push(&vocab, &mut stream, prompt).unwrap().len();
        let stop = ["a", "b", " ", "never"][random.below(4)];
        let mut stopped = stream.clone();
        decoder.begin_text(&mut stopped, vec![stop.to_owned()]).unwrap();
        decoder.begin_text(&mut stream, Vec::new()).unwrap();
        for &id in answer {
            decoder.push(&vocab, &mut stream, &[id]).unwrap();
            decoder.push(&vocab, &mut stopped, &[id]).unwrap();
        }
        decoder.finish(&mut stream).unwrap();
        decoder.finish(&mut stopped).unwrap();
        let text = stream.text();
        assert_eq!(stopped.text(), text.split(stop).next().unwrap(), "{place}");
        let all = at_once(&decoder, &vocab, &ids, skip, invalid);
        let alone = at_once(&decoder, &vocab, prompt, skip, invalid);
        assert!(all.ends_with(text) && all.len() - text.len() >= returned, "{text:?} of {all:?}, {place}");
        let bytes = decoder.decode(&vocab, prompt, skip).unwrap().into_vec();
        if bytes.utf8_chunks().last().is_some_and(|chunk| !chunk.invalid().is_empty()) {
            continue; // text after the prompt can complete its last character
        }
        let same: usize =
            all.chars().zip(alone.chars()).take_while(|(one, other)| one == other).map(|(c, _)| c.len_utf8()).sum();
        assert_eq!(text, &all[same..], "{place}");
        *(if same == alone.len() { &mut whole } else { &mut changed }) += 1;
    }
    assert!(whole > 10_000 && changed > 100, "{whole}, {changed}");
}

#[test]
fn a_prompt_that_ends_in_a_byte_piece_is_not_returned() {
    let vocab = vocab();
    let decoder = Decoder::from_json(LLAMA, &vocab, false, None).unwrap();
    let after = |prompt: &[&str], stops: &[&str], answer: &[&str]| {
        let mut stream = decoder.stream(false, InvalidUtf8::Replace);
        decoder.push(&vocab, &mut stream, &ids(prompt)).unwrap();
        decoder.begin_text(&mut stream, stops.iter().map(|&stop| stop.to_owned()).collect()).unwrap();
        for id in ids(answer) {
            decoder.push(&vocab, &mut stream, &[id]).unwrap();
        }
        decoder.finish(&mut stream).unwrap();
        (stream.text().to_owned(), stream.stopped().map(str::to_owned))
    };
    let stopped = |text: &str, stop: Option<&str>| (text.to_owned(), stop.map(str::to_owned));
    assert_eq!(after(&["a", "<0x0A>"], &[], &["b"]), stopped("b", None));
    assert_eq!(after(&["a", "<0x0A>"], &["\n"], &["b"]), stopped("b", None));
    assert_eq!(after(&["a", "<0x0A>"], &["\n"], &["<0x0A>", "b"]), stopped("", Some("\n")));
    assert_eq!(after(&["<0x0A>", "<0xE4>", "<0xBB>"], &["\n"], &["<0x8A>", "b"]), stopped("今b", None));
    assert_eq!(after(&["a", "<0xE4>"], &[], &["b"]), stopped("\u{fffd}b", None));
    // Hugging Face decodes successive byte tokens together; if they are not UTF-8, each of their bytes becomes U+FFFD.
    // So `<0xff>` after the prompt changes the text of `<0x0A>` at the end of the prompt.
    assert_eq!(after(&["a", "<0x0A>"], &[], &["<0xff>", "b"]), stopped("\u{fffd}\u{fffd}b", None));
}

const LLAMA: &str = r#"[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},
    {"type":"Strip","content":" ","start":1,"stop":0}]"#;

fn ids(contents: &[&str]) -> Vec<u32> {
    contents.iter().map(|content| CONTENTS.iter().position(|other| other == content).unwrap() as u32).collect()
}

/// Returns the text that each id adds, and the text that the end adds.
fn texts(parts: &str, contents: &[&str]) -> Vec<String> {
    let vocab = vocab();
    let decoder = Decoder::from_json(parts, &vocab, false, None).unwrap();
    let mut stream = decoder.stream(false, InvalidUtf8::Replace);
    let mut texts: Vec<String> = Vec::new();
    for id in ids(contents) {
        texts.push(decoder.push(&vocab, &mut stream, &[id]).unwrap().to_owned());
    }
    texts.push(decoder.finish(&mut stream).unwrap().to_owned());
    texts
}

#[test]
fn text_is_returned_as_soon_as_it_is_final() {
    assert_eq!(texts(LLAMA, &["▁", "a", "▁▁a", "b"]), ["", "a", "  a", "b", ""]);
    assert_eq!(texts(LLAMA, &["a", "<0xE4>", "<0xBB>", "<0x8A>", "a"]), ["a", "", "", "", "今a", ""]);
    assert_eq!(texts(LLAMA, &["<0xE4>", "<0xff>", "<0x0A>", "a"]), ["", "\u{fffd}\u{fffd}", "\u{fffd}", "a", ""]);
    let words = r###"[{"type":"WordPiece","prefix":"##","cleanup":true}]"###;
    assert_eq!(texts(words, &["a", "##a", ".", "n't"]), ["a", "a", ".", "n't", ""]);
    let regex = r#"[{"type":"Fuse"},{"type":"Replace","pattern":{"Regex":"(?<=a) +(?=\\.)"},"content":""}]"#;
    assert_eq!(
        texts(regex, &["a", " ", " ", ".", "b", "a", "  ", "b", " "]),
        ["a", "", "", ".", "b", "a", "", "  b", " ", ""]
    );
    let strip = r#"[{"type":"Fuse"},{"type":"Strip","content":" ","start":0,"stop":1}]"#;
    assert_eq!(texts(strip, &["a", "  ", " ", "b", " "]), ["a", " ", " ", " b", "", ""]);
    let sentence = r#"[{"type":"SentencePiece","add_dummy_prefix":true,"remove_extra_whitespaces":false}]"#;
    assert_eq!(
        texts(sentence, &["▁", "a", "<0xE4>", "<0xBB>", "<0x8A>", "<0xE4>", "b"]),
        ["", "a", "", "", "今", "", "\u{fffd}b", ""]
    );
    assert_eq!(texts(r#"[{"type":"BPEDecoder","suffix":"</w>"}]"#, &["a</w>", "b", "a</w>"]), ["a", " b", "a", ""]);
}

#[test]
fn stop_strings_end_the_text_and_errors_end_the_stream() {
    let vocab = vocab();
    let decoder = Decoder::from_json(LLAMA, &vocab, false, None).unwrap();
    let mut stream = decoder.stream(false, InvalidUtf8::Replace);
    decoder.push(&vocab, &mut stream, &ids(&["▁", "a"])).unwrap();
    decoder.begin_text(&mut stream, vec!["b.".to_owned()]).unwrap();
    let before = stream.clone();
    let error = decoder.push(&vocab, &mut stream, &[1, 999]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::UnknownId { id: 999, position: 1, .. }));
    for mut stream in [before, stream] {
        let mut push = |contents: &[&str]| decoder.push(&vocab, &mut stream, &ids(contents)).unwrap().to_owned();
        assert_eq!([push(&["▁▁a", "b"]), push(&["b"]), push(&[".", "a"]), push(&["a"])], ["  a", "b", "", ""]);
        assert_eq!((stream.stopped(), stream.text()), (Some("b."), "  ab"));
        assert_eq!(decoder.finish(&mut stream).unwrap(), "");
    }
    let mut stream = decoder.stream(false, InvalidUtf8::Strict);
    let error = decoder.push(&vocab, &mut stream, &ids(&["a", "<0xff>"])).unwrap_err();
    assert!(error.to_string().contains("byte 1"));
    assert!(decoder.push(&vocab, &mut stream, &[1]).is_err() && decoder.finish(&mut stream).is_err());
}

#[test]
fn long_text_takes_linear_memory() {
    let vocab = vocab();
    let parts = r#"[{"type":"Fuse"},{"type":"Replace","pattern":{"String":"▁a"},"content":" "},{"type":"Strip","content":" ","start":900000,"stop":9},
        {"type":"WordPiece","prefix":"","cleanup":true},{"type":"ByteFallback"},{"type":"Metaspace","replacement":"▁"}]"#;
    let decoder = Decoder::from_json(parts, &vocab, false, None).unwrap();
    let some = ids(&["▁", "a", "<0xff>"]);
    let all: Vec<u32> = some.iter().copied().cycle().take(150_000).collect();
    let mut stream = decoder.stream(false, InvalidUtf8::Replace);
    for &id in &all {
        decoder.push(&vocab, &mut stream, &[id]).unwrap();
    }
    assert!(format!("{:?}", stream.plan).len() < 4_000);
    decoder.finish(&mut stream).unwrap();
    assert_eq!(stream.text(), decoder.decode_text(&vocab, &all, false).unwrap());
    let double = format!("[{}]", [r#"{"type":"Replace","pattern":{"String":"a"},"content":"aa"}"#; 40].join(","));
    let decoder = Decoder::from_json(&double, &vocab, false, None).unwrap();
    let mut stream = decoder.stream(false, InvalidUtf8::Replace);
    let error = decoder.push(&vocab, &mut stream, &[1]).unwrap_err();
    assert!(error.to_string().contains("bytes from these ids"));
}
