//! Spans do not depend on the number of parts.

#![allow(clippy::unwrap_used)]

use jeton_core::parallel::{plan, run};
use jeton_core::pretokenize::{names, Pretokenizer, Span};
use proptest::prelude::*;

type Place = (usize, Span); // (address of the text, span in it)

fn in_one(pretokenizer: &Pretokenizer, texts: &[&str]) -> Vec<Place> {
    let spans = |text: &&str| pretokenizer.spans(text).map(|span| span.unwrap()).collect::<Vec<_>>();
    texts.iter().flat_map(|text| spans(text).into_iter().map(|span| (text.as_ptr() as usize, span))).collect()
}

fn in_parts(pretokenizer: &Pretokenizer, texts: &[&str], parts: usize) -> Vec<Place> {
    let parts = plan(texts, pretokenizer, parts).unwrap();
    let found = run(&parts, &mut || true, |part, keep_going| {
        let mut spans = Vec::new();
        let landing = part.for_each_span(pretokenizer, keep_going, |text, span| {
            spans.push((text.as_ptr() as usize, span));
            Ok(())
        })?;
        Ok((spans, landing))
    });
    found.unwrap().concat()
}

/// Generates texts of few distinct fragments: in long runs, guessed boundaries are often wrong.
fn texts() -> impl Strategy<Value = Vec<String>> {
    let atoms = [
        "a", "B", " ", "  ", "\n", "\r\n", "1", "12", "天", "é", "\u{301}", "!", "'s", "/", "\u{85}", "\u{3000}", "ſ",
        "😉",
    ];
    let few = prop::sample::subsequence(atoms.to_vec(), 1..5);
    let text = (few, prop::sample::select(vec![0usize, 3, 60, 400, 1500]))
        .prop_flat_map(|(few, most)| prop::collection::vec(prop::sample::select(few), 0..=most))
        .prop_map(|atoms| atoms.concat());
    prop::collection::vec(text, 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn parts_do_not_change_spans(texts in texts(), name in prop::sample::select(names().to_vec()), parts in 1usize..20) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let pretokenizer = Pretokenizer::named(name).unwrap();
        prop_assert_eq!(in_parts(&pretokenizer, &texts, parts), in_one(&pretokenizer, &texts));
    }

    #[test]
    fn parts_do_not_change_spans_of_regexes(texts in texts(), parts in 1usize..20) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for regex in [r"[\s\S]{1,7}", r"\w+", r"(?<=a)B|.", r"\p{N}{1,3}", r"^.|x", r"\s+$|\w+", r"(?:aB|a)(?!1)|\s", COVERS_ALL] {
            let pretokenizer = Pretokenizer::regex(regex).unwrap();
            prop_assert_eq!(in_parts(&pretokenizer, &texts, parts), in_one(&pretokenizer, &texts), "{}", regex);
        }
        let sequence = Pretokenizer::sequence(&[r"\p{N}{1,3}", COVERS_ALL]).unwrap();
        prop_assert_eq!(in_parts(&sequence, &texts, parts), in_one(&sequence, &texts));
    }
}

const COVERS_ALL: &str = r"[^\s\p{L}]?\p{L}+|\s*[\r\n]+|\s+(?!\S)|\s+|[^\s\p{L}]+";

/// A pattern without a name also divides a text, if no step budget applies to the whole text.
#[test]
fn patterns_that_compile_divide_a_text() {
    let text = "Ab cd\n  12 ".repeat(1_000);
    let parts = |pretokenizer: &Pretokenizer| plan(&[text.as_str()], pretokenizer, 4).unwrap().len();
    assert_eq!(parts(&Pretokenizer::regex(COVERS_ALL).unwrap()), 4);
    assert_eq!(parts(&Pretokenizer::sequence(&[r"\p{N}", COVERS_ALL]).unwrap()), 4);
    assert_eq!(parts(&Pretokenizer::backtracking(COVERS_ALL).unwrap()), 1);
    assert_eq!(parts(&Pretokenizer::regex(r"(?<=a)B|.").unwrap()), 1);
}

#[test]
fn more_parts_than_characters_give_the_same_spans() {
    for name in names() {
        let pretokenizer = Pretokenizer::named(name).unwrap();
        for texts in [vec![], vec![""], vec!["", "", ""], vec!["a"], vec![" "], vec!["", "a", ""], vec!["天"]] {
            assert_eq!(in_parts(&pretokenizer, &texts, 1000), in_one(&pretokenizer, &texts));
        }
    }
}
