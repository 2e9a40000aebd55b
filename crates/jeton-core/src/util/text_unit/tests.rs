#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use unicode_segmentation::UnicodeSegmentation;

use super::restart::{graphemes, words, LETTER, LONE, SPACE};
use super::*;

/// Characters of every class of the rules for graphemes, words and sentences, with one to four bytes.
const CHARACTERS: &str =
    "aZé한ד'\"’.,:;_·1٣½\u{301}\u{ad}\u{200d}\u{200b} \n\r-ªऩ्ि😉👩𐐀\u{feff}🇩🇪今天のカﾈสำกำ\u{600}\u{1160}각\
    ?!。)]»(\u{2028}\u{85}\t\u{a0}\u{3000}…⁉ꗁǅ—\u{0}";

fn forward(unit: TextUnit, text: &str) -> Vec<usize> {
    unit.boundaries(text).collect()
}

/// Returns pseudorandom texts of up to `most` characters.
fn texts(rounds: u64, most: u64) -> impl Iterator<Item = String> {
    let characters: Vec<char> = CHARACTERS.chars().collect();
    let mut state = 7u64;
    let mut next = move |most: u64| {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        (state >> 33) % most
    };
    (0..rounds).map(move |_| {
        let start = next(characters.len() as u64) as usize; // few characters, so pairs of classes repeat
        let most_kinds = if next(2) == 0 { 6 } else { characters.len() as u64 - 2 };
        let kinds = 2 + next(most_kinds) as usize;
        let length = next(most);
        (0..length).map(|_| characters[(start + next(kinds as u64) as usize) % characters.len()]).collect()
    })
}

fn rounds() -> u64 {
    if cfg!(miri) {
        30
    } else {
        20_000
    }
}

#[test]
fn boundaries_equal_those_of_the_library() {
    for text in texts(rounds(), 40) {
        let ends = |lengths: &mut dyn Iterator<Item = &str>| {
            lengths
                .scan(0, |at, part| {
                    *at += part.len();
                    Some(*at)
                })
                .collect::<Vec<usize>>()
        };
        assert_eq!(forward(TextUnit::Sentence, &text), ends(&mut text.split_sentence_bounds()), "{text:?}");
        assert_eq!(forward(TextUnit::Word, &text), ends(&mut text.split_word_bounds()), "{text:?}");
        assert_eq!(forward(TextUnit::Grapheme, &text), ends(&mut text.graphemes(true)), "{text:?}");
        assert_eq!(forward(TextUnit::Character, &text), ends(&mut text.split_inclusive(|_| true)), "{text:?}");
    }
}

/// Checks that, from each offset, the boundaries read backward equal those read forward. Blocks are so short in this
/// test that most texts have several blocks.
#[test]
fn backward_boundaries_equal_forward_ones_in_reverse() {
    for text in texts(rounds() / 10, 60) {
        for unit in TextUnit::ALL {
            let expected = forward(unit, &text);
            for at_most in 0..=text.len() + 1 {
                let back: Vec<usize> = unit.boundaries_back(&text, at_most).collect();
                let expected: Vec<usize> = expected.iter().copied().filter(|&at| at <= at_most).rev().collect();
                assert_eq!(back, expected, "{unit:?} {at_most} {text:?}");
            }
        }
    }
}

/// Checks the backward iterator on texts that are longer than one of its blocks.
#[test]
fn boundaries_back_join_across_blocks() {
    let texts: Vec<String> = texts(rounds() / 20, 60).collect();
    for unit in TextUnit::ALL {
        for text in texts.chunks(20).map(|texts| texts.concat()) {
            let expected: Vec<usize> = forward(unit, &text).into_iter().rev().collect();
            assert_eq!(unit.boundaries_back(&text, text.len()).collect::<Vec<_>>(), expected, "{unit:?} {text:?}");
        }
    }
}

/// Checks that the rest of a text after one of its boundaries has the same boundaries alone as in the whole text.
#[test]
fn a_text_can_be_divided_from_left_to_right() {
    for text in texts(rounds() / 10, 40) {
        for unit in TextUnit::ALL {
            let all = forward(unit, &text);
            for (index, &start) in all.iter().enumerate() {
                let rest: Vec<usize> = unit.boundaries(&text[start..]).map(|at| at + start).collect();
                assert_eq!(rest, all[index + 1..], "{unit:?} {start} {text:?}");
            }
        }
    }
}

/// Checks, for each code point (a sample in debug builds), that the restart points that follow from its class are
/// boundaries of unicode-segmentation.
#[test]
fn restart_points_are_boundaries_of_the_library() {
    let step = if cfg!(miri) {
        5000
    } else if cfg!(debug_assertions) {
        5
    } else {
        1
    };
    let is_boundary = |unit: TextUnit, text: &str, at: usize| unit.boundaries(text).any(|end| end == at);
    let mut wrong = Vec::new(); // code points
    for character in ('\0'..=char::MAX).step_by(step) {
        let class = words().of(character);
        let others: &[char] = match class {
            LETTER => &[' ', '今'],
            SPACE => &['a', '今'],
            LONE => &['a', ' ', '今', character],
            _ => &[],
        };
        let has_word_boundary =
            |left: char, right: char| is_boundary(TextUnit::Word, &format!("a'{left}{right}'a"), 2 + left.len_utf8());
        let has_grapheme_boundary = |left: char, right: char| {
            is_boundary(TextUnit::Grapheme, &format!("{left}{right}\u{301}"), left.len_utf8())
        };
        let mut is_right =
            others.iter().all(|&other| has_word_boundary(character, other) && has_word_boundary(other, character));
        if graphemes().of(character) == LONE {
            is_right &= [(character, 'a'), ('न', character), (character, character)]
                .iter()
                .all(|&(left, right)| has_grapheme_boundary(left, right));
        }
        if !is_right {
            wrong.push(format!("{:X}", u32::from(character)));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Checks texts on which unicode-segmentation takes quadratic time, because it applies SB8 after each of many closing
/// brackets or spaces.
#[test]
fn sentences_take_linear_time() {
    let many = if cfg!(miri) { 100 } else { 400_000 };
    for run in [")", " ", ") ", ")\u{301}"] {
        for (after, ends) in [("x", 1), ("X", 2)] {
            let text = format!("a.{}{}{after}", run.repeat(many), "1-".repeat(many));
            assert_eq!(forward(TextUnit::Sentence, &text).len(), ends, "{run:?} {after}");
        }
    }
}

/// Checks texts that consist of a single word, sentence or grapheme cluster.
#[test]
fn a_long_unit_is_read_up_to_the_offset_only() {
    let many = if cfg!(miri) { 2_000 } else { 1_000_000 };
    for (unit, text) in [
        (TextUnit::Word, "a".repeat(many)),
        (TextUnit::Sentence, "a ".repeat(many)),
        (TextUnit::Grapheme, format!("a{}", "\u{301}".repeat(many))),
    ] {
        for at in 0..many.min(2_000) {
            assert_eq!(unit.boundaries_back(&text, at).next(), None, "{unit:?} {at}");
        }
        assert_eq!(unit.boundaries_back(&text, text.len()).collect::<Vec<_>>(), [text.len()]);
    }
}

#[test]
fn names_and_units_convert_both_ways() {
    for unit in TextUnit::ALL {
        assert_eq!(TextUnit::from_name(unit.name()), Some(unit));
    }
    assert_eq!(TextUnit::from_name("line"), None);
    assert_eq!(TextUnit::Sentence.smaller(), Some(TextUnit::Word));
    assert_eq!(TextUnit::Character.smaller(), None);
}
