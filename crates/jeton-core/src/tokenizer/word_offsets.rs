//! Offsets of the ids of a text in words, of which each character becomes one, and white space is dropped.
//!
//! The tokens of a word cover its characters in order, so their widths determine the offsets. Contents are not compared
//! with the text. A token that covers more than its width would leave characters at the end of the text, which is
//! checked; none covers less.
//!
//! An unknown token of WordPiece or WordLevel is a whole word. One of Unigram has the characters that the other tokens of
//! its word leave.
//!
//! Invariant: that of `one_to_one`. Cost: a class for each character, and a lookup for each token.

use hashbrown::HashMap;

use super::character_widths::{WordRules, CHANGES, CONTINUES, ISOLATED, MARKED, ORDINARY, WHITE};
use super::pipeline::Tokenizer;
use crate::model::Model;

/// Class after the last character.
const END: u8 = 3;

/// Buffers, for several texts.
#[derive(Default)]
pub(super) struct WordReader {
    classes: Vec<u8>, // of the characters of the text, and `END`
    known: HashMap<char, u8>,
}

impl WordReader {
    /// Writes Hugging Face's offsets of the ids of a text. Returns false if they do not follow.
    pub(super) fn write(
        &mut self,
        tok: &Tokenizer,
        widths: &[u8],
        rules: &WordRules,
        (ids, text): (&[u32], &str),
        spans: &mut [[i64; 2]],
    ) -> bool {
        if !self.read(tok, rules, text) {
            return false;
        }
        let classes = &self.classes[..];
        let class = |at: usize| classes.get(at).copied().unwrap_or(END);
        let unk = tok.model.unk();
        // The flag of a token that may begin a word, or may not.
        let (flag, expected) = if rules.mark.is_some() { (MARKED, MARKED) } else { (CONTINUES, 0) };
        let mut at = 0;
        for (index, (&id, span)) in ids.iter().zip(spans).enumerate() {
            let before = at;
            while class(at) == WHITE {
                at += 1;
            }
            let width = widths.get(id as usize).copied().unwrap_or(0);
            let after_white = index == 0 || at > before;
            let begins = after_white || rules.mark.is_none() && is_isolated(classes, at);
            if width == 0 {
                if Some(id) != unk {
                    return false;
                }
                let len = match &tok.model {
                    Model::WordPiece(_) | Model::WordLevel(_) if rules.ends_at_white => word_len(classes, at),
                    Model::Unigram(_) if rules.mark.is_some() && !begins => {
                        rest_of_word(classes, at, widths, &ids[index + 1..])
                    }
                    _ => 0,
                };
                if len == 0 {
                    return false;
                }
                *span = [at as i64, (at + len) as i64];
                at += len;
                continue;
            }
            // Without a mark, a token may begin a word in other places, too.
            if begins && width & flag != expected || !begins && rules.mark.is_some() && width & flag == expected {
                return false;
            }
            let len = usize::from(width & (CONTINUES - 1));
            if len == 0 && class(at) == END {
                return false;
            }
            // A mark alone is aligned to the first character of its word.
            *span = [at as i64, (at + len.max(1)) as i64];
            at += len;
        }
        while class(at) == WHITE {
            at += 1;
        }
        at + 1 == classes.len()
    }

    /// Finds the classes of a text. Returns false if a character changes otherwise.
    fn read(&mut self, tok: &Tokenizer, rules: &WordRules, text: &str) -> bool {
        let Self { classes, known } = self;
        classes.clear();
        if text.is_ascii() {
            classes.extend(text.bytes().map(|byte| rules.ascii[usize::from(byte & 0x7F)]));
        } else {
            classes.extend(text.chars().map(|c| match rules.ascii.get(c as usize) {
                Some(&class) => class,
                None => *known.entry(c).or_insert_with(|| tok.character_class(c, rules.mark)),
            }));
        }
        let all = classes.iter().fold(0u8, |all, class| all | class);
        classes.push(END);
        all & CHANGES != CHANGES
    }
}

fn from(classes: &[u8], at: usize) -> &[u8] {
    classes.get(at..).unwrap_or_default()
}

/// Returns true if a character or the one before it is a word of its own.
fn is_isolated(classes: &[u8], at: usize) -> bool {
    from(classes, at.saturating_sub(1)).iter().take(2).any(|&class| class == ISOLATED)
}

/// Returns the characters of the word that begins at a position.
fn word_len(classes: &[u8], at: usize) -> usize {
    match classes.get(at) {
        Some(&ISOLATED) => 1,
        _ => from(classes, at).iter().take_while(|&&class| class == ORDINARY).count(),
    }
}

/// Returns the characters that the next tokens leave of the rest of a word; 0 if there is another unknown one.
fn rest_of_word(classes: &[u8], at: usize, widths: &[u8], following: &[u32]) -> usize {
    let mut rest = from(classes, at).iter().take_while(|&&class| class != WHITE && class != END).count();
    for &id in following {
        match widths.get(id as usize).copied().unwrap_or(0) {
            0 => return 0,
            width if width & MARKED != 0 => break,
            width => rest = rest.saturating_sub(width.into()),
        }
    }
    rest
}
