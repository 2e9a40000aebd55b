//! Hostile input: readers return an error or a value, and pretokens cover their text. Nothing panics.

#![allow(clippy::unwrap_used, clippy::panic)]

use jeton_core::format::{hf_json, ranks};
use jeton_core::model::Scratch;
use jeton_core::pretokenize::names;
use jeton_core::tokenizer::{Extras, Origin, Permission, Tokenizer};
use jeton_core::vocab::{Kind, Vocab};
use proptest::prelude::*;

const JSON: &str = r#"{"version":"1.0","added_tokens":[{"id":3,"content":"<s>","special":true}],"normalizer":null,
"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":[["a","b"]]},"decoder":{"type":"ByteLevel"}}"#;

/// Generates a file with some bytes changed, removed or inserted.
fn damaged(file: &'static [u8]) -> impl Strategy<Value = Vec<u8>> {
    let change = (0..file.len(), 0usize..6, prop::collection::vec(any::<u8>(), 0..4));
    prop::collection::vec(change, 0..5).prop_map(move |changes| {
        let mut bytes = file.to_vec();
        for (at, cut, new) in changes {
            let at = at.min(bytes.len());
            let end = (at + cut).min(bytes.len());
            bytes.splice(at..end, new);
        }
        bytes
    })
}

fn tokenizer(pattern: &str) -> Tokenizer {
    let bytes: Vec<[u8; 1]> = (0..=255).map(|byte| [byte]).collect();
    let mut entries: Vec<(u32, Kind, &[u8])> =
        (0..).zip(&bytes).map(|(id, byte)| (id, Kind::Token, byte.as_slice())).collect();
    let words: [&[u8]; 4] = [b"aa", b"aaa", b"  ", b"\xe5\xb0"];
    entries.extend((256..).zip(words).map(|(id, word)| (id, Kind::Token, word)));
    entries.extend([(300, Kind::Special, b"<a>".as_slice()), (301, Kind::Special, b"<a>b"), (302, Kind::Added, b"zz")]);
    let vocab = Vocab::new(entries).unwrap();
    let merges = vec![(97, 97, 256), (256, 97, 257), (32, 32, 258), (0xe5, 0xb0, 259)];
    let options = format!(
        r#"{{"model":{{"type":"BPE","level":"byte","ranks":"merges","whole_first":false,"end_of_word":null,"unk":null}},
        "pretokenizer":[{{"type":"Pattern","name":"{pattern}"}}]}}"#
    );
    Tokenizer::from_json(&options, vocab, Extras { merges, ..Extras::default() }).unwrap()
}

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        any::<Vec<u8>>(),
        "\\PC{0,12}".prop_map(String::into_bytes),
        "[ \\n<a>bz']{0,20}".prop_map(String::into_bytes),
        prop::collection::vec(Just(0xffu8), 0..20),
        Just("小冬".as_bytes()[..4].to_vec()),
    ];
    prop::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn damaged_files_give_values_or_errors(json in damaged(JSON.as_bytes()), lines in damaged(b"YQ== 0\nYg== 1\nYWI= 2\n")) {
        if let Ok(file) = hf_json::read(&json) {
            prop_assert_eq!(file.vocab.ids.len(), file.vocab.tokens.len());
        }
        if let Ok(tokens) = ranks::read(&lines) {
            prop_assert!(tokens.iter().all(|(_, _, bytes)| !bytes.is_empty()));
        }
    }

    #[test]
    fn segments_cover_the_text_and_decoding_restores_it(text in any_bytes(), all in any::<bool>()) {
        for name in names().iter().filter(|&&name| name != "whitespace") {
            let tok = tokenizer(name);
            let permit = tok.permit(if all { &Permission::All } else { &Permission::None }).unwrap();
            let mut end = 0;
            tok.for_each_segment(&text, &permit, false, &|| true, |segment| {
                let Origin::At(start) = segment.place else { panic!("{name}: plain text is borrowed") };
                assert!(start == end && !segment.bytes.is_empty(), "{name}: {start} after {end}");
                end += segment.bytes.len();
                Ok(())
            }).unwrap();
            prop_assert_eq!(end, text.len());

            let mut ids = Vec::new();
            tok.encode(&text, &permit, &|| true, &mut Scratch::default(), &mut ids).unwrap();
            prop_assert!(all || ids.iter().all(|&id| tok.vocab().kind(id) != Kind::Special));
            let back = tok.decode(&ids, false).unwrap().into_vec();
            prop_assert_eq!(&back, &text);
            prop_assert_eq!(tok.count(&text, &permit, 1, &mut || true).unwrap(), ids.len());

            let encoding = tok.encode_with_spans(&text, &permit, &|| true).unwrap();
            prop_assert_eq!(&encoding.ids, &ids);
            let tiles: Vec<u8> = encoding.byte_spans.iter().flat_map(|&(start, end)| text[start..end].to_vec()).collect();
            prop_assert_eq!(&tiles, &text);
        }
    }
}

/// Any number of threads, with any split points, gives the ids of a single thread.
#[test]
fn threads_do_not_change_ids() {
    let unspaced = "今天的天气真好我们去公园散步吧".repeat(30_000);
    let spaced = "the quick  brown fox's 1234567 \n\n jumps <a>b over zz\t".repeat(24_000);
    for name in ["o200k", "gpt2", "whitespace", "none"] {
        let tok = tokenizer(name);
        for text in [unspaced.as_bytes(), spaced.as_bytes()] {
            for permission in [Permission::None, Permission::All, Permission::Only(vec![301])] {
                let permit = tok.permit(&permission).unwrap();
                let mut ids = Vec::new();
                tok.encode(text, &permit, &|| true, &mut Scratch::default(), &mut ids).unwrap();
                for threads in [2, 3, 7] {
                    assert_eq!(tok.encode_long(text, &permit, threads, &mut || true).unwrap(), ids, "{name} {threads}");
                }
                assert_eq!(tok.count(text, &permit, 3, &mut || true).unwrap(), ids.len());
                let texts = [text, b"", b"short", text, b"a"];
                let (batch, offsets) = tok.encode_batch(&texts, &permit, 3, &mut || true).unwrap();
                assert_eq!(offsets.len(), 6);
                assert_eq!(batch[..ids.len()], ids[..]);
                assert_eq!(batch[offsets[3] as usize..offsets[4] as usize], ids[..]);
            }
        }
    }
}
