//! Rules that users select by name: constraints on the tokens of a vocabulary.
//!
//! Each rule requires a property of a token's spelling. So all merged tokens have this property, and any vocabulary can
//! be checked for it. At byte level, a token is allowed to be a part of a character. Rules about characters exclude
//! tokens that join such a part with bytes of another character.
//!
//! Cost: linear in the length of the token that is checked. Left out: rules about the position of a token in the text,
//! which a pattern can express.

use std::collections::HashSet;

use serde::Deserialize;

use super::Rule;
use crate::error::{Error, Result};
use crate::pretokenize::characters::{Scripts, COMMON, INHERITED};
use crate::util::classes::{Classes, LETTER, MARK, NUMBER, OTHER, WHITE_SPACE};

/// Selected rules. Each field excludes some tokens.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a rule of its own")]
pub struct NamedRule {
    /// Excludes tokens that join a part of a character with bytes of another character.
    pub whole_characters: bool,
    /// Excludes tokens with characters of two classes. The classes are letters with their marks, numbers, white space,
    /// and others. One space may precede any class.
    pub one_class: bool,
    /// Excludes tokens with letters of two scripts. Characters of the script Common are compatible with any script;
    /// Han, Hiragana and Katakana count as one script.
    pub one_script: bool,
    /// Excludes tokens of two or more characters that contain a punctuation mark or a symbol.
    pub lone_punctuation: bool,
    /// Excludes tokens that are longer than this, in characters if `by_character`, else in bytes.
    pub max_token_length: Option<usize>,
    /// Excludes tokens with these spellings.
    pub blocked: HashSet<Vec<u8>>,
    /// Excludes tokens of more than this number of words. A run of white space after the first character begins a new
    /// word.
    pub max_words: Option<usize>,
    /// True if symbols are characters, false if they are bytes.
    pub by_character: bool,
}

impl NamedRule {
    /// Reads rules from JSON.
    ///
    /// # Errors
    /// [`Error::config`] for invalid JSON.
    pub fn from_json(rules: &str) -> Result<Self> {
        serde_json::from_str(rules).map_err(|error| Error::config(format!("rules of training: {error}")))
    }

    /// Returns true if a token is allowed to have this spelling.
    pub fn holds(&self, spelling: &[u8]) -> bool {
        let length = || if self.by_character { characters(spelling).count() } else { spelling.len() };
        if self.max_token_length.is_some_and(|most| length() > most) || self.blocked.contains(spelling) {
            return false;
        }
        let asks = self.whole_characters || self.one_class || self.one_script || self.lone_punctuation;
        if asks && !is_whole(spelling) {
            return false;
        }
        (!self.one_class || is_of_one_class(spelling))
            && (!self.one_script || is_of_one_script(spelling))
            && (!self.lone_punctuation || characters(spelling).count() < 2 || !characters(spelling).any(is_punctuation))
            && self.max_words.is_none_or(|most| num_words(spelling) <= most)
    }
}

impl Rule for NamedRule {
    fn allows(&self, left: &[u8], right: &[u8]) -> bool {
        self.holds(&[left, right].concat())
    }
}

fn characters(spelling: &[u8]) -> impl Iterator<Item = char> + Clone + '_ {
    spelling.utf8_chunks().flat_map(|chunk| chunk.valid().chars())
}

/// Returns true if a spelling consists of whole characters, or is part of a single character.
fn is_whole(spelling: &[u8]) -> bool {
    let is_part = |byte: &u8| byte & 0xC0 == 0x80;
    match std::str::from_utf8(spelling) {
        Ok(_) => true,
        // Valid bytes precede the invalid ones, so the spelling joins a part of a character with other text.
        Err(error) if error.valid_up_to() > 0 => false,
        Err(error) => error.error_len().is_none() || (spelling.len() < 4 && spelling.iter().all(is_part)),
    }
}

/// Returns the class of a character as a bit.
fn class(c: char) -> u8 {
    let class = Classes::get().at(c.encode_utf8(&mut [0; 4]).as_bytes(), 0).0;
    [LETTER | MARK, NUMBER, WHITE_SPACE].into_iter().find(|kind| kind & class != 0).unwrap_or(OTHER)
}

fn is_of_one_class(spelling: &[u8]) -> bool {
    let mut all = characters(spelling);
    let first = all.next();
    let mut rest = all.map(class).fold(0, |kinds, kind| kinds | kind);
    match first {
        Some(' ') if rest & WHITE_SPACE == 0 => {}
        Some(first) => rest |= class(first),
        None => {}
    }
    [LETTER | MARK, NUMBER, WHITE_SPACE, OTHER].into_iter().any(|kind| rest & !kind == 0)
}

fn is_of_one_script(spelling: &[u8]) -> bool {
    let scripts = Scripts::get();
    let mut own = characters(spelling).map(|c| scripts.of(c)).filter(|script| ![0, COMMON, INHERITED].contains(script));
    own.next().is_none_or(|first| own.all(|script| script == first))
}

/// Returns true for `\p{P}` and `\p{S}`.
fn is_punctuation(c: char) -> bool {
    class(c) == OTHER && !c.is_control()
}

fn num_words(spelling: &[u8]) -> usize {
    let spaces: Vec<bool> = characters(spelling).map(char::is_whitespace).collect();
    1 + spaces.windows(2).filter(|pair| !pair[0] && pair[1]).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rule: &NamedRule, holds: &[&str], breaks: &[&str]) {
        for (texts, expected) in [(holds, true), (breaks, false)] {
            for text in texts {
                assert_eq!(rule.holds(text.as_bytes()), expected, "{text:?} {rule:?}");
            }
        }
    }

    #[test]
    fn each_rule_excludes_its_tokens() {
        let none = NamedRule::default();
        check(&none, &["a1", "aж", "a, b"], &[]);
        check(
            &NamedRule { one_class: true, ..none.clone() },
            &["ab", " ab", " 12", "  ", "e\u{301}", " ,", "今の"],
            &["a1", "a b", "a ", "  a", "1,"],
        );
        check(&NamedRule { one_script: true, ..none.clone() }, &["ab 1", "今の", "жы", "12"], &["aж", "a今"]);
        check(
            &NamedRule { lone_punctuation: true, ..none.clone() },
            &["ab", ",", "€", " a"],
            &[",,", " ,", "a,", "$1"],
        );
        check(&NamedRule { max_token_length: Some(3), ..none.clone() }, &["abc", "今"], &["abcd", "今a"]);
        check(&NamedRule { max_token_length: Some(3), by_character: true, ..none.clone() }, &["今天的"], &["今天的a"]);
        check(&NamedRule { max_words: Some(2), ..none.clone() }, &["a b", " a b", "a b"], &["a b c", " a b c", "a b "]);
        let blocked = [b"ab".to_vec()].into();
        check(&NamedRule { blocked, ..none }, &["abc", "a"], &["ab"]);
    }

    #[test]
    fn partial_characters_merge_only_within_a_character() {
        let rule = NamedRule { whole_characters: true, ..NamedRule::default() };
        let [a, b, c] = [0xE4, 0xBB, 0x8A]; // 今
        for spelling in [&[a][..], &[a, b], &[a, b, c], &[b, c], &[b], &[a, b, c, a, b, c], b"ab"] {
            assert!(rule.holds(spelling), "{spelling:?}");
        }
        for spelling in [&[a, b, c, a][..], &[c, a], &[b, c, b'a'], &[b'a', a], &[a, b, c, c], &[b, b, b, b]] {
            assert!(!rule.holds(spelling), "{spelling:?}");
        }
    }
}
