//! Reported alternatives of models, compared with their results.

#![allow(clippy::unwrap_used)]

use jeton_core::model::explain::Story;
use jeton_core::model::why::PieceMatch;
use jeton_core::model::{Model, Out, Scratch, Specials};
use jeton_core::vocab::{Kind, Vocab};
use proptest::prelude::*;

/// Creates a vocabulary: `<unk>` with id 0, then the words without duplicates.
fn pieces(words: &[(String, u8)]) -> (Vocab, Vec<f64>) {
    let mut entries = vec![(0, Kind::Special, "<unk>".to_string())];
    let mut scores = vec![0.0];
    for (word, score) in words {
        if entries.iter().all(|entry| entry.2 != *word) {
            entries.push((entries.len() as u32, Kind::Token, word.clone()));
            scores.push(-f64::from(*score));
        }
    }
    let vocab = Vocab::new(entries.iter().map(|(id, kind, content)| (*id, *kind, content.as_bytes()))).unwrap();
    (vocab, scores)
}

fn words(alphabet: &'static str) -> impl Strategy<Value = Vec<(String, u8)>> {
    let word = proptest::string::string_regex(&format!("[{alphabet}]{{1,4}}")).unwrap();
    proptest::collection::vec((word, 0..5u8), 1..25)
}

fn encode(model: &Model, vocab: &Vocab, text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    model.encode(vocab, text.as_bytes(), &|| true, &mut Scratch::default(), &mut Out::ids(&mut ids)).unwrap();
    ids
}

/// Applies all merges of an explanation, each at its leftmost position.
fn replayed(story: &Story) -> Vec<u32> {
    let mut symbols = story.symbols.clone();
    for step in &story.steps {
        let at = symbols.windows(2).position(|pair| pair == [step.merged.left, step.merged.right]).unwrap();
        symbols.splice(at..at + 2, [step.result]);
    }
    symbols
}

/// Fuses adjacent unknown tokens.
fn fused(mut ids: Vec<u32>) -> Vec<u32> {
    ids.dedup_by(|next, before| (*next, *before) == (0, 0));
    ids
}

fn unigram(vocab: &Vocab, scores: &[f64], single: bool) -> Model {
    let precision = if single { "f32" } else { "f64" };
    Model::from_json(&format!(r#"{{"type":"Unigram","unk":0,"precision":"{precision}"}}"#), vocab, vec![], scores)
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn lattice_has_every_piece_and_the_best_segmentation(words in words("abé"), text in "[abéx]{1,12}", single in any::<bool>()) {
        let (vocab, scores) = pieces(&words);
        let model = unigram(&vocab, &scores, single);
        let Model::Unigram(unigram) = &model else { unreachable!() };
        let ways = unigram.ways(text.as_bytes(), usize::MAX, Specials::None, &|| true).unwrap();
        let mut all = Vec::new();
        for (start, c) in text.char_indices() {
            let ends = (start + c.len_utf8()..=text.len()).filter(|&end| text.is_char_boundary(end));
            for end in ends {
                match vocab.find(&text.as_bytes()[start..end], false) {
                    Some(id) => all.push((start, end, Some(id))),
                    None if end == start + c.len_utf8() => all.push((start, end, None)),
                    None => {}
                }
            }
        }
        // The unknown character is listed after the pieces that begin at it.
        all.sort_by_key(|&(start, end, id)| (start, id.is_none(), end));
        let edge = |piece: &PieceMatch| (piece.start, piece.end, piece.id);
        prop_assert_eq!(ways.pieces.iter().map(edge).collect::<Vec<_>>(), all);
        prop_assert_eq!(ways.num_pieces, ways.pieces.len());

        let ids: Vec<u32> = ways.best.pieces.iter().map(|piece| piece.id.unwrap_or(0)).collect();
        prop_assert_eq!(fused(ids), encode(&model, &vocab, &text));
        let nbest = model.nbest(text.as_bytes(), 4, Specials::None, &|| true).unwrap();
        prop_assert_eq!(ways.best.score, nbest[0].1);
        for way in std::iter::once(&ways.best).chain(&ways.others) {
            prop_assert_eq!(way.pieces.iter().fold(0, |at, piece| if piece.start == at { piece.end } else { usize::MAX }), text.len());
            prop_assert_eq!(way.pieces.iter().map(|piece| piece.score).sum::<f64>(), way.score);
            prop_assert!(way.pieces.iter().all(|piece| ways.pieces.contains(piece)));
        }
        prop_assert!(ways.others.iter().all(|way| way.pieces != ways.best.pieces && way.score <= ways.best.score));
        prop_assert!(ways.others.windows(2).all(|pair| pair[0].score >= pair[1].score));

        let few = unigram.ways(text.as_bytes(), 2, Specials::None, &|| true).unwrap();
        prop_assert_eq!(&few.pieces[..], &ways.pieces[..ways.pieces.len().min(2)]);
        prop_assert_eq!((few.num_pieces, few.best), (ways.num_pieces, ways.best));
    }

    #[test]
    fn attempts_equal_the_matches_of_word_piece(words in words("ab#"), text in "[ab#]{1,12}", max_chars in 3..12usize) {
        let (vocab, _) = pieces(&words);
        let options = format!(r###"{{"type":"WordPiece","unk":0,"prefix":"##","max_chars":{max_chars}}}"###);
        let model = Model::from_json(&options, &vocab, vec![], &[]).unwrap();
        let Model::WordPiece(word_piece) = &model else { unreachable!() };
        let attempts = word_piece.attempts(text.as_bytes(), &|| true).unwrap();
        prop_assert_eq!(attempts.is_too_long, text.len() > max_chars);
        let ids = encode(&model, &vocab, &text);
        if attempts.is_too_long || attempts.stuck_at.is_some() {
            prop_assert_eq!(ids, [0]);
        } else {
            prop_assert_eq!(ids, attempts.found.iter().map(|found| found.2).collect::<Vec<_>>());
        }
        let end = attempts.found.iter().fold(0, |at, &(start, end, _)| if start == at { end } else { usize::MAX });
        prop_assert_eq!(end, attempts.stuck_at.unwrap_or(if attempts.is_too_long { 0 } else { text.len() }));
    }

    #[test]
    fn pieces_are_explained_by_their_merges(words in words("ab▁é"), text in "[ab▁éx]{0,40}") {
        let all: Vec<_> = ["a", "b", "▁", "é"].map(|c| (c.to_string(), 0)).into_iter().chain(words).collect();
        let (vocab, scores) = pieces(&all);
        let model = Model::from_json(r#"{"type":"Pieces","unk":0}"#, &vocab, vec![], &scores).unwrap();
        let Model::Pieces(merging) = &model else { unreachable!() };
        let story = merging.explain(&vocab, text.as_bytes(), &|| true).unwrap().unwrap();
        prop_assert_eq!(fused(replayed(&story)), encode(&model, &vocab, &text));
        let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        prop_assert_eq!(&story.starts, &starts);
        prop_assert!(story.steps.iter().all(|step| starts.contains(&step.at)));
        prop_assert!(story.steps.iter().all(|step| step.rivals.iter().all(|rival| rival.rank >= step.merged.rank)));
    }
}

#[test]
fn lattice_of_a_megabyte_is_bounded() {
    let (vocab, scores) = pieces(&[("a".into(), 1), ("aa".into(), 1), ("aaa".into(), 2), ("aaaa".into(), 2)]);
    let model = unigram(&vocab, &scores, true);
    let Model::Unigram(unigram) = &model else { unreachable!() };
    let text = "a".repeat(1 << 20);
    let ways = unigram.ways(text.as_bytes(), 1000, Specials::None, &|| true).unwrap();
    assert_eq!((ways.pieces.len(), ways.num_pieces, ways.others.len()), (1000, 4 * text.len() - 6, 0));
    assert_eq!(ways.best.pieces.last().unwrap().end, text.len());
}

#[test]
fn entries_are_explained_by_their_own_bytes() {
    let (vocab, scores) =
        pieces(&[("a".into(), 1), ("b".into(), 1), ("ab".into(), 2), ("abab".into(), 3), ("bb ".into(), 4)]);
    let pieces_model = Model::from_json(r#"{"type":"Pieces","unk":0}"#, &vocab, vec![], &scores).unwrap();
    // A piece with a character that is not a piece has no merges.
    assert!(pieces_model.explain_entry(&vocab, 4, &|| true).unwrap().is_none());
    let (vocab, scores) = pieces(&[("a".into(), 1), ("b".into(), 1), ("ab".into(), 2), ("abab".into(), 3)]);
    let pieces_model = Model::from_json(r#"{"type":"Pieces","unk":0}"#, &vocab, vec![], &scores).unwrap();
    let story = pieces_model.explain_entry(&vocab, 4, &|| true).unwrap().unwrap();
    assert_eq!((story.symbols.clone(), replayed(&story)), (vec![1, 2, 1, 2], vec![4]));
    assert!(unigram(&vocab, &scores, true).explain_entry(&vocab, 4, &|| true).unwrap().is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn unused_pieces_are_explained_by_merges_and_splits(words in words("ab"), unused in any::<u32>(), text in "[ab]{0,40}") {
        let all: Vec<_> = ["a", "b"].map(|c| (c.to_string(), 0)).into_iter().chain(words).collect();
        let (vocab, scores) = pieces(&all);
        let kind = |id: u32, kind| if kind == Kind::Token && id > 2 && unused >> (id % 32) & 1 == 1 { Kind::Unused } else { kind };
        let entries: Vec<_> = vocab.iter().map(|(id, of, content)| (id, kind(id, of), content.to_vec())).collect();
        let vocab = Vocab::new(entries.iter().map(|(id, kind, content)| (*id, *kind, content.as_slice()))).unwrap();
        let model = Model::from_json(r#"{"type":"Pieces","unk":0}"#, &vocab, vec![], &scores).unwrap();
        let Model::Pieces(merging) = &model else { unreachable!() };
        let story = merging.explain(&vocab, text.as_bytes(), &|| true).unwrap().unwrap();
        let mut symbols = Vec::new(); // (id, start)
        let mut start = 0;
        for id in replayed(&story) {
            symbols.push((id, start));
            start += vocab.content(id).len();
        }
        for split in &story.splits {
            let at = symbols.iter().position(|&symbol| symbol == (split.id, split.at)).unwrap();
            prop_assert_eq!(vocab.kind(split.id), Kind::Unused);
            symbols.splice(at..=at, [(split.left, split.at), (split.right, split.middle)]);
        }
        let ids: Vec<u32> = symbols.iter().map(|symbol| symbol.0).collect();
        prop_assert_eq!(ids, encode(&model, &vocab, &text));
    }
}
