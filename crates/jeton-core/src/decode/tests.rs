#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use super::steps::Replacer;
use super::*;

fn vocab(entries: &[(Kind, &str)]) -> Vocab {
    Vocab::new(entries.iter().enumerate().map(|(id, &(kind, content))| (id as u32, kind, content.as_bytes()))).unwrap()
}

fn tokens(contents: &[&str]) -> Vocab {
    vocab(&contents.iter().map(|&content| (Kind::Token, content)).collect::<Vec<_>>())
}

fn decoded(parts: &str, vocab: &Vocab, ids: &[u32]) -> (Vec<u8>, String) {
    let decoder = Decoder::from_json(parts, vocab, false, None).unwrap();
    let bytes = decoder.decode(vocab, ids, false).unwrap().into_vec();
    (bytes, decoder.decode_text(vocab, ids, false).unwrap())
}

fn text(parts: &str, contents: &[&str]) -> String {
    // The contents of a vocabulary must be distinct.
    let mut distinct: Vec<&str> = contents.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let ids: Vec<u32> = contents.iter().map(|content| distinct.binary_search(content).unwrap() as u32).collect();
    decoded(parts, &tokens(&distinct), &ids).1
}

fn middle(parts: &str, vocab: &Vocab, byte_level: bool, id: u32) -> String {
    let mut out = b"before".to_vec();
    Decoder::from_json(parts, vocab, byte_level, None).unwrap().token(vocab, id, &mut out);
    String::from_utf8_lossy(&out[6..]).into_owned()
}

const LLAMA: &str = r#"[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},
    {"type":"Strip","content":" ","start":1,"stop":0}]"#;
const WORDPIECE: &str = r###"[{"type":"WordPiece","prefix":"##","cleanup":true}]"###;
const SENTENCE: &str = r#"[{"type":"SentencePiece","add_dummy_prefix":true,"remove_extra_whitespaces":false,"unk":0}]"#;

#[test]
fn decoding_without_components_concatenates_contents() {
    let vocab = vocab(&[(Kind::EndsWord, "the"), (Kind::Token, "c"), (Kind::Special, "<s>")]);
    assert_eq!(decoded("null", &vocab, &[2, 0, 1, 0]).1, "<s>the cthe");
    let decoder = Decoder::from_json("null", &vocab, true, None).unwrap();
    assert_eq!(decoder.decode(&vocab, &[2, 1], true).unwrap().into_vec(), b"c");
    let error = decoder.decode(&vocab, &[1, 7], true).unwrap_err();
    assert!(matches!(error.kind(), crate::error::ErrorKind::UnknownId { id: 7, position: 1, .. }));
}

/// Decoding concatenates the contents of the ids. The contents are shorter than, as long as, or longer than the sixteen
/// bytes that the decoder copies at once. Some entries end words, so that a space follows them. Some ids are unknown.
#[test]
fn contents_of_all_lengths_are_concatenated() {
    let contents: Vec<Vec<u8>> = (0..41u8).map(|len| (0..len).map(|i| len ^ i << 2).collect()).collect();
    let kinds = [Kind::Token, Kind::EndsWord, Kind::Special, Kind::Added, Kind::Token];
    let kind = |id: u32| if id == 0 { Kind::EndsWord } else { kinds[id as usize % kinds.len()] };
    let entries = (0..).zip(&contents).map(|(id, content)| (3 * id, kind(id), &content[..]));
    let vocab = Vocab::new(entries).unwrap();
    let decoder = Decoder::from_json("null", &vocab, true, None).unwrap();
    let mut seed = 1u32;
    let mut random = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed >> 16
    };
    for round in 0..2_000 {
        let ids: Vec<u32> = (0..round % 40).map(|_| random() % contents.len() as u32 * 3).collect();
        for skip in [false, true] {
            let kept = || ids.iter().map(|id| id / 3).filter(|&id| !(skip && kind(id) == Kind::Special));
            let mut wanted = Vec::new();
            for id in kept() {
                wanted.extend_from_slice(&contents[id as usize]);
                wanted.extend((kind(id) == Kind::EndsWord).then_some(b' '));
            }
            if kept().next_back().is_some_and(|id| kind(id) == Kind::EndsWord) {
                wanted.pop();
            }
            assert_eq!(decoder.decode(&vocab, &ids, skip).unwrap().into_vec(), wanted, "{ids:?}");
        }
    }
    let highest = vocab.len() as u32 - 1;
    for hole in [1, 2, highest - 1, highest + 1, u32::MAX] {
        let error = decoder.decode(&vocab, &[3, hole], false).unwrap_err();
        assert!(matches!(error.kind(), crate::error::ErrorKind::UnknownId { id, position: 1, .. } if *id == hole));
    }
}

#[test]
fn components_of_known_tokenizers_decode_as_in_hf() {
    assert_eq!(text(LLAMA, &["▁the", "▁c", "<0xE2>", "<0x96>", "<0x81>", "at"]), "the c▁at");
    assert_eq!(text(LLAMA, &["<0xE2>", "<0x96>", "x"]), "\u{fffd}\u{fffd}x");
    assert_eq!(decoded(LLAMA, &tokens(&["<0xE2>", "<0x96>"]), &[0, 1]).0, [0xe2, 0x96]);
    assert_eq!(text(r#"[{"type":"Metaspace","replacement":"▁","add_prefix_space":true}]"#, &["▁a▁", "▁b"]), "a b");
    assert_eq!(text(WORDPIECE, &["go", "##ing", ",", "do not"]), "going, don't");
    assert_eq!(text(r#"[{"type":"BPEDecoder","suffix":"</w>"}]"#, &["a</w>", "b", "c</w>"]), "a bc");
    let ctc = r#"[{"type":"CTC","pad_token":"<pad>","word_delimiter_token":"|","cleanup":true}]"#;
    assert_eq!(text(ctc, &["h", "h", "<pad>", "h", "|", "|", "i"]), "hh i");
    assert_eq!(text(r#"[{"type":"Join","separator":" "}]"#, &["a", "b"]), "a b");
    assert_eq!(text(r#"[{"type":"ByteLevel"}]"#, &["Ġa", "é", "日"]), " a\u{fffd}日");
}

#[test]
fn end_of_word_mark_of_a_byte_level_vocabulary_is_decoded() {
    let vocab = vocab(&[(Kind::EndsWord, "the"), (Kind::Token, "é"), (Kind::Added, "é!")]);
    let parts = r#"[{"type":"Replace","pattern":{"String":"<>"},"content":"Ġ"},{"type":"ByteLevel"},
        {"type":"Replace","pattern":{"Regex":" \\z"},"content":""}]"#;
    let decoder = Decoder::from_json(parts, &vocab, true, None).unwrap();
    assert_eq!(decoder.decode_text(&vocab, &[0, 1, 0], false).unwrap(), "the éthe");
    // HF converts the contents of added tokens from the byte alphabet if possible.
    let decoder = Decoder::from_json(r#"[{"type":"ByteLevel"},{"type":"Fuse"}]"#, &vocab, true, None).unwrap();
    assert_eq!(decoder.decode_text(&vocab, &[2], false).unwrap(), "\u{fffd}!");
    assert_eq!(decoder.decode(&vocab, &[2, 1], false).unwrap().into_vec(), b"\xe9!\xc3\xa9");
}

/// With ByteLevel as the only component, each method of the decoder converts added tokens from the byte alphabet to
/// bytes. Without components, the contents of added tokens stay unchanged.
#[test]
fn added_tokens_in_the_byte_alphabet() {
    let vocab = vocab(&[
        (Kind::Token, "ï"),
        (Kind::Token, "\u{AF}"),
        (Kind::Added, "naïve"),
        (Kind::Special, "aĠ\u{ef}"),
        (Kind::Added, "ï中"),
        (Kind::Added, "a b"),
        (Kind::Special, "Ã"),
        (Kind::Added, "¯"),
    ]);
    let bytes = |parts: &str, ids: &[u32], skip: bool| {
        let decoder = Decoder::from_json(parts, &vocab, true, None).unwrap();
        let bytes = decoder.decode(&vocab, ids, skip).unwrap().into_vec();
        let mut joined = Vec::new();
        ids.iter()
            .filter(|&&id| !skip || vocab.kind(id) != Kind::Special)
            .for_each(|&id| decoder.token(&vocab, id, &mut joined));
        assert_eq!(bytes, joined);
        assert_eq!(decoder.decode_text(&vocab, ids, skip).unwrap(), String::from_utf8_lossy(&bytes));
        let mut stream = decoder.stream(skip, InvalidUtf8::Replace);
        for &id in ids {
            decoder.push(&vocab, &mut stream, &[id]).unwrap();
        }
        decoder.finish(&mut stream).unwrap();
        assert_eq!(stream.text(), String::from_utf8_lossy(&bytes));
        bytes
    };
    let level = r#"[{"type":"ByteLevel"}]"#;
    assert_eq!(bytes(level, &[0, 2, 4, 5], false), b"\xc3\xafna\xefve\xc3\xaf\xe4\xb8\xada b");
    assert_eq!(bytes(level, &[3, 2, 6], true), b"na\xefve");
    assert_eq!(bytes(level, &[3], false), b"a \xef");
    assert_eq!(bytes(level, &[6, 7], false), "ï".as_bytes(), "bytes of two tokens are one character");
    assert_eq!(bytes("null", &[2, 3], false), "naïveaĠï".as_bytes());
    let respelled = r#"{"type":"Respell","contents":[[2,"né"],[5,"aĠb"]]}"#;
    assert_eq!(bytes(&format!("[{respelled}]"), &[2, 5, 7], false), "néaĠb¯".as_bytes());
    let both = format!(r#"[{respelled},{{"type":"ByteLevel"}}]"#);
    assert_eq!(bytes(&both, &[2, 5, 7], false), b"n\xe9a b\xaf");
}

#[test]
fn token_has_its_bytes_in_the_middle_of_a_text() {
    let wordpiece = tokens(&["##ing", "ing"]);
    assert_eq!(middle(WORDPIECE, &wordpiece, false, 0), "ing");
    assert_eq!(middle(WORDPIECE, &wordpiece, false, 1), " ing");
    let pieces = tokens(&["▁de", "<0x0A>", "de</w>"]);
    assert_eq!(middle(LLAMA, &pieces, false, 0), " de");
    assert_eq!(middle(LLAMA, &pieces, false, 1), "\n");
    assert_eq!(middle(LLAMA, &pieces, false, 9), "");
    assert_eq!(middle(r#"[{"type":"BPEDecoder","suffix":"</w>"}]"#, &pieces, false, 2), "de ");
    assert_eq!(middle(r#"[{"type":"Metaspace","replacement":"▁"}]"#, &pieces, false, 0), " de");
    assert_eq!(middle(r#"[{"type":"ByteLevel"}]"#, &pieces, true, 0), "▁de");
    assert_eq!(middle(SENTENCE, &pieces, false, 0), " \u{2047} ");
    assert_eq!(middle(SENTENCE, &pieces, false, 1), "<0x0A>"); // a normal piece with the spelling of a byte piece
}

#[test]
fn sentencepiece_removes_the_dummy_prefix() {
    let vocab = vocab(&[
        (Kind::Special, "<unk>"),
        (Kind::Special, "<s>"),
        (Kind::Token, "▁"),
        (Kind::Token, "▁de▁"),
        (Kind::Byte, "<0xE2>"),
        (Kind::Byte, "<0x96>"),
        (Kind::Byte, "<0x81>"),
    ]);
    assert_eq!(decoded(SENTENCE, &vocab, &[1, 2, 2, 3]).1, "  de ");
    assert_eq!(decoded(SENTENCE, &vocab, &[1, 0, 3]).1, " \u{2047}  de ");
    assert_eq!(decoded(SENTENCE, &vocab, &[4, 5, 6, 3]).1, "▁ de ");
    let broken = decoded(SENTENCE, &vocab, &[4, 5, 1, 6]);
    assert_eq!(broken.1, "\u{fffd}\u{fffd}\u{fffd}");
    assert_eq!(broken.0, "▁".as_bytes());
    let many = SENTENCE.replace("false", "true");
    assert_eq!(decoded(&many, &vocab, &[2, 2, 3, 3]).1, "de  de ");
}

#[test]
fn errors_name_the_refused_component() {
    let vocab = tokens(&["a"]);
    for (parts, named) in [
        (r#"[{"type":"Replace","pattern":{"Regex":"(a)\\1"},"content":""}]"#, "\\1"),
        (r#"[{"type":"Replace","pattern":{"Regex":"a*"},"content":""}]"#, "the empty text"),
        (r#"[{"type":"Shout"}]"#, "Shout"),
        (r#"[{"type":"WordPiece","prefix":"x"}]"#, "cleanup"),
        (r#"[{"type":"Metaspace","replacement":"▁","add_prefix_space":false}]"#, "prepend_scheme"),
        (r#"[{"type":"Metaspace","replacement":"ab"}]"#, "decoder"),
        (
            r#"[{"type":"Fuse"},{"type":"SentencePiece","add_dummy_prefix":true,"remove_extra_whitespaces":true}]"#,
            "combined",
        ),
        (r#"[{"type":"SentencePiece","add_dummy_prefix":true,"remove_extra_whitespaces":true,"unk":5}]"#, "5"),
        (r#"[{"type":"Fuse"},{"type":"Respell","contents":[]},{"type":"Fuse"}]"#, "Respell"),
        ("{", "decoder"),
    ] {
        let error = Decoder::from_json(parts, &vocab, false, None).unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
    }
}

#[test]
fn regexes_are_replaced_in_each_string() {
    let words = r#"[{"type":"Replace","pattern":{"Regex":"^\\p{L}"},"content":" "},{"type":"Fuse"},
        {"type":"Replace","pattern":{"Regex":"(?<=[a-z]) +(?=\\.)"},"content":""}]"#;
    assert_eq!(text(words, &["xab", "éc", ".", "xa", "  ", "  ", "."]), " ab c. a.");
}

/// A regex search reads bytes that are not UTF-8 as U+FFFD. The original bytes are kept where the regex does not match.
#[test]
fn regexes_keep_bytes_outside_of_characters() {
    let contents: [&[u8]; 4] = [b"ab\xffab\xe4\xbb", b"\x8aab", b"\xf0", b"ab"];
    let vocab = Vocab::new((0..).zip(contents).map(|(id, content)| (id, Kind::Token, content))).unwrap();
    let parts = r#"[{"type":"Fuse"},{"type":"Replace","pattern":{"Regex":"ab"},"content":"-"}]"#;
    assert_eq!(decoded(parts, &vocab, &[0, 2, 0, 1]).0, b"-\xff-\xe4\xbb\xf0-\xff-\xe4\xbb\x8a-");
    let parts = parts.replace("ab", "[^a]b?");
    assert_eq!(decoded(&parts, &vocab, &[0, 3]).0, b"a--a--a-");
}

#[test]
fn regex_over_its_budget_is_an_error() {
    let vocab = tokens(&[&"a".repeat(20_000), "b"]);
    let parts = r#"[{"type":"Fuse"},{"type":"Replace","pattern":{"Regex":"(?=a*b)ac"},"content":""}]"#;
    let decoder = Decoder::from_json(parts, &vocab, false, None).unwrap();
    let is_text = |error: crate::error::Error| matches!(error.kind(), crate::error::ErrorKind::Text { .. });
    assert!(decoder.decode_text(&vocab, &[0, 1], false).is_err_and(is_text));
    let mut stream = decoder.stream(false, InvalidUtf8::Replace);
    decoder.push(&vocab, &mut stream, &[0, 1]).unwrap();
    assert!(decoder.finish(&mut stream).is_err());
}

#[test]
fn overlapping_strip_gives_the_empty_string() {
    let parts = r#"[{"type":"Strip","content":"x","start":2,"stop":5}]"#;
    assert_eq!(text(parts, &["x", "xxx", "axx"]), "a");
    assert_eq!(text(r#"[{"type":"BPEDecoder","suffix":""}]"#, &["ab", "c"]), " a b c");
}

#[test]
fn long_lists_take_linear_time() {
    let vocab = tokens(&["▁", "a", "<0xFF>"]);
    let ids: Vec<u32> = (0..300_000).map(|i| i % 3).collect();
    let parts = r#"[{"type":"Fuse"},{"type":"Replace","pattern":{"String":"▁a"},"content":" "},{"type":"Strip","content":" ","start":900000,"stop":900000},
        {"type":"WordPiece","prefix":"","cleanup":true},{"type":"ByteFallback"},{"type":"Metaspace","replacement":"▁"}]"#;
    assert_eq!(decoded(parts, &vocab, &ids).1.len(), 100_000 * 7 - 1);
    assert_eq!(decoded(LLAMA, &vocab, &vec![2; 300_000]).1.len(), 900_000);
}

#[test]
fn short_texts_are_replaced_like_long_ones() {
    let texts = ["", "a", "aabaabaaab", "aaaaaaa", "abababab", "xaabx▁▁a", "aab▁", "▁▁▁", "é▁é\u{2580}▁"];
    for needle in ["a", "aa", "aab", "abab", "▁", "▁▁", "▁a"] {
        let replacer = Replacer::new(needle);
        for text in texts.iter().flat_map(|text| [(*text).to_owned(), format!("{text}{}", "x".repeat(100))]) {
            let mut out = Vec::new();
            replacer.replace(text.as_bytes(), "-", &mut out, usize::MAX);
            assert_eq!(String::from_utf8(out).unwrap(), text.replace(needle, "-"), "{needle} in {text}");
        }
    }
}

/// Compares the start offsets of tokens, computed in one pass, with those found by decoding one id after the other.
/// Tests each policy for invalid UTF-8.
#[test]
fn starts_equal_those_of_the_stream() {
    let entries: [(Kind, &[u8]); 18] = [
        (Kind::Special, b"<unk>"),
        (Kind::Token, "▁the".as_bytes()),
        (Kind::Token, b"##ing"),
        (Kind::Token, "中天".as_bytes()),
        (Kind::Token, &[0xE4]),
        (Kind::Token, &[0xB8, 0xAD]),
        (Kind::Token, &[0xAD, b'x', 0xE4, 0xB8]),
        (Kind::EndsWord, "é".as_bytes()),
        (Kind::Added, "Ġé".as_bytes()),
        (Kind::Byte, b"<0xE4>"),
        (Kind::Byte, b"<0xB8>"),
        (Kind::Byte, b"<0xAD>"),
        (Kind::Token, "a long token, of 😀 and more than sixteen bytes".as_bytes()),
        (Kind::Token, "▁".as_bytes()),
        (Kind::Token, b"n't"),
        (Kind::Token, b"."),
        (Kind::EndsWord, b"end"),
        (Kind::Special, "</s>…".as_bytes()),
    ];
    let fallback = r#"[{"type":"ByteFallback"}]"#;
    let metaspace =
        r#"[{"type":"Metaspace","replacement":"▁","prepend_scheme":"always"},{"type":"Join","separator":"-"}]"#;
    let mut seed = 1u32;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as usize % below
    };
    let regexes = r#"[{"type":"Replace","pattern":{"Regex":"[▁.]|n(?='t)"},"content":"é"},{"type":"Fuse"},
        {"type":"Replace","pattern":{"Regex":"\\p{L}+(?= )"},"content":"_"}]"#;
    let respelled = r#"[{"type":"Respell","contents":[[8,"中é"]]}]"#;
    let level = r#"[{"type":"ByteLevel"}]"#;
    for parts in ["null", level, respelled, LLAMA, WORDPIECE, SENTENCE, fallback, metaspace, regexes] {
        for keeps_words in [false, true] {
            let is_kept = |kind: Kind| keeps_words || kind != Kind::EndsWord;
            let kept = entries.iter().filter(|entry| is_kept(entry.0));
            let vocab = Vocab::new((0..).zip(kept).map(|(id, &(kind, content))| (id, kind, content))).unwrap();
            let decoder = Decoder::from_json(parts, &vocab, parts != SENTENCE && parts != LLAMA, None).unwrap();
            for round in 0..1_500 {
                let sets: [&[u32]; 3] =
                    [&[1, 3, 4, 5, 5, 7], &[9, 10, 11, 9, 10, 11, 3, 0, 17], &[1, 2, 7, 12, 13, 14, 15]];
                let ids: Vec<u32> = (0..random(8))
                    .map(|_| match round % 4 {
                        0 => random(vocab.len()) as u32,
                        set => sets[set - 1][random(sets[set - 1].len())].min(vocab.len() as u32 - 1),
                    })
                    .collect();
                for invalid in [InvalidUtf8::Replace, InvalidUtf8::Ignore, InvalidUtf8::Strict] {
                    for skips in [false, true] {
                        let fast = decoder.decode_with_starts(&vocab, &ids, skips, invalid);
                        let slow = decoder.streamed_with_starts(&vocab, &ids, skips, invalid);
                        let shown = |found: Result<(String, Vec<usize>)>| found.map_err(|error| error.to_string());
                        assert_eq!(shown(fast), shown(slow), "{parts} {ids:?} {invalid:?} {skips}");
                    }
                }
            }
        }
    }
}

/// Tokens have the same starts whether runs of byte pieces are written early or held back until they end.
#[test]
fn starts_do_not_depend_on_early_runs() {
    let contents = ["▁", "a", " ", "é", "<0xE4>", "<0xB8>", "<0xAD>", "<0xC3>", "<0x20>", "<0xFF>", "<0x61>", "b "];
    let entries = (0..).zip(contents).map(|(id, content)| (id, Kind::Token, content.as_bytes()));
    let vocab = Vocab::new(entries).unwrap();
    let mut seed = 7u32;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as usize % below
    };
    let fallback = r#"{"type":"ByteFallback"}"#;
    let steps = [
        r#"{"type":"Fuse"}"#,
        r#"{"type":"Strip","content":" ","start":1,"stop":2}"#,
        r#"{"type":"Replace","pattern":{"String":"▁"},"content":" "}"#,
        r#"{"type":"Replace","pattern":{"Regex":"中a|[^ ]+(?= )"},"content":"_"}"#,
        r#"{"type":"WordPiece","prefix":"b","cleanup":true}"#,
    ];
    for _ in 0..4_000 {
        let mut parts: Vec<&str> = (0..random(4)).map(|_| steps[random(steps.len())]).collect();
        parts.insert(random(parts.len() + 1), fallback);
        let parts = format!("[{}]", parts.join(","));
        let decoder = Decoder::from_json(&parts, &vocab, false, None).unwrap();
        let ids: Vec<u32> = (0..random(14))
            .map(|at| if random(3) > 0 { 4 + at as u32 % 3 } else { random(vocab.len()) as u32 })
            .collect();
        let (mut stream, mut wanted, mut chars) = (decoder.stream(false, InvalidUtf8::Replace), Vec::new(), 0);
        for &id in &ids {
            wanted.push(chars + stream.held_chars(&decoder.plan, vocab.content(id)).unwrap());
            chars += decoder.push(&vocab, &mut stream, &[id]).unwrap().chars().count();
        }
        let mut least = chars + decoder.finish(&mut stream).unwrap().chars().count();
        for start in wanted.iter_mut().rev() {
            least = least.min(*start);
            *start = least;
        }
        let found = decoder.streamed_with_starts(&vocab, &ids, false, InvalidUtf8::Replace).unwrap();
        assert_eq!(found, (stream.text().to_owned(), wanted), "{parts} {ids:?}");
    }
}
