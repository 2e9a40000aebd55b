//! Sentences: rules SB1 to SB998 of Unicode Standard Annex #29 as a state machine.
//!
//! Rule SB8 looks ahead from each character after a full stop to the next letter or terminator. That position is
//! computed once and stored, so all sentences together take time linear in the text.
//!
//! Left out: tailorings for languages and abbreviations. For example, `Mr. Fox` becomes two sentences.

use std::sync::OnceLock;

use crate::util::atomic_cell::made_once;
use crate::util::property_table::PropertyTable;

/// Values of Sentence_Break.
mod class {
    pub(super) const OTHER: u8 = 0;
    pub(super) const CR: u8 = 1;
    pub(super) const LF: u8 = 2;
    pub(super) const SEP: u8 = 3;
    /// Extend and Format: characters that belong to the character before them (SB5).
    pub(super) const EXTEND: u8 = 4;
    pub(super) const SP: u8 = 5;
    pub(super) const LOWER: u8 = 6;
    pub(super) const UPPER: u8 = 7;
    pub(super) const OLETTER: u8 = 8;
    pub(super) const NUMERIC: u8 = 9;
    pub(super) const ATERM: u8 = 10;
    pub(super) const STERM: u8 = 11;
    pub(super) const SCONTINUE: u8 = 12;
    pub(super) const CLOSE: u8 = 13;
}
use class::*;

/// Returns the table that maps each character to its class. The table is built on the first call.
fn classes() -> &'static PropertyTable {
    static CLASSES: OnceLock<PropertyTable> = OnceLock::new();
    made_once(&CLASSES, || {
        PropertyTable::new(
            OTHER,
            &[
                (r"\p{sb=CR}", CR),
                (r"\p{sb=LF}", LF),
                (r"\p{sb=Sep}", SEP),
                (r"[\p{sb=Extend}\p{sb=Format}]", EXTEND),
                (r"\p{sb=Sp}", SP),
                (r"\p{sb=Lower}", LOWER),
                (r"\p{sb=Upper}", UPPER),
                (r"\p{sb=OLetter}", OLETTER),
                (r"\p{sb=Numeric}", NUMERIC),
                (r"\p{sb=ATerm}", ATERM),
                (r"\p{sb=STerm}", STERM),
                (r"\p{sb=SContinue}", SCONTINUE),
                (r"\p{sb=Close}", CLOSE),
            ],
        )
    })
}

/// Returns true if a sentence certainly ends between `second` and `third`, whatever text surrounds the three
/// consecutive characters, and the text before that boundary cannot affect later sentences. `first` is None at the
/// start of a text.
pub(super) fn is_certain_end(first: Option<char>, second: char, third: char) -> bool {
    let classes = classes();
    if classes.of(second) == LF {
        return true; // SB4
    }
    let (before, after) = (classes.of(second), classes.of(third));
    match before {
        // SB11 applies: only SB7 and SB8 join a terminator to a following letter, and both need a full stop.
        STERM => matches!(after, LOWER | UPPER | OLETTER),
        SP => match first.map(|first| classes.of(first)) {
            Some(STERM) => matches!(after, LOWER | UPPER | OLETTER),
            Some(ATERM) => matches!(after, UPPER | OLETTER),
            _ => false,
        },
        _ => false,
    }
}

/// State of a sequence `SATerm Close* Sp*` that ends before the current character.
#[derive(Clone, Copy)]
struct Terminator {
    /// True for a full stop, which does not always end a sentence.
    is_aterm: bool,
    /// True for a full stop after a cased letter (SB7).
    after_cased: bool,
    /// Characters after the terminator: 0 for none, 1 for `Close+`, 2 for `Close* Sp+`.
    followed_by: u8,
}

/// Iterator over the ends of sentences: see [`super::TextUnit::boundaries`].
pub(super) struct Sentences<'a> {
    text: &'a str,
    /// Start of the next sentence.
    start: usize,
    /// Only sentences that end at or before this position are returned. The text after it is read only to decide
    /// whether a sentence ends before it.
    limit: usize,
    /// Position at which the search for `stop` began. From here up to `stop`, exclusive, there is no letter, terminator
    /// or separator.
    stop_from: usize,
    /// Position of the next letter, terminator or separator, and true if it is a lower-case letter (SB8).
    stop: Option<(usize, bool)>,
    classes: &'static PropertyTable,
}

impl<'a> Sentences<'a> {
    /// Creates the sentences of `text`.
    pub(super) fn new(text: &'a str) -> Self {
        Self::with_limit(text, text.len())
    }

    /// Creates the sentences of `text` that end at or before `limit`.
    pub(super) fn with_limit(text: &'a str, limit: usize) -> Self {
        Self { text, start: 0, limit, stop_from: 0, stop: None, classes: classes() }
    }

    /// Returns true if the next letter, terminator or separator, from `at` on, is a lower-case letter (SB8).
    fn lower_follows(&mut self, at: usize) -> bool {
        if let Some((stop, is_lower)) = self.stop {
            if (self.stop_from..=stop).contains(&at) {
                return is_lower;
            }
        }
        self.stop_from = at;
        let is_stop = |class| matches!(class, OLETTER | UPPER | LOWER | SEP | CR | LF | STERM | ATERM);
        let mut rest = self.text[at..].char_indices().map(|(index, character)| (index, self.classes.of(character)));
        let (stop, is_lower) = match rest.find(|&(_, class)| is_stop(class)) {
            Some((index, class)) => (at + index, class == LOWER),
            None => (self.text.len(), false),
        };
        self.stop = Some((stop, is_lower));
        is_lower
    }

    /// Returns true if `terminator` ends a sentence before the character at `at`, whose class is `class`.
    fn ends_before(&mut self, terminator: Terminator, class: u8, at: usize) -> bool {
        if terminator.is_aterm {
            let is_next = terminator.followed_by == 0;
            if is_next && (class == NUMERIC || (class == UPPER && terminator.after_cased)) {
                return false; // SB6, SB7
            }
            if self.lower_follows(at) {
                return false; // SB8
            }
        }
        match class {
            SCONTINUE | STERM | ATERM => false,   // SB8a
            CLOSE => terminator.followed_by == 2, // SB9
            SP | SEP | CR | LF => false,          // SB9, SB10
            _ => true,                            // SB11
        }
    }
}

impl<'a> Iterator for Sentences<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.start >= self.limit {
            return None;
        }
        let (text, start) = (self.text, self.start);
        let mut terminator: Option<Terminator> = None;
        let mut before = OTHER; // class of the previous character, not counting marks
        for (index, character) in text[start..].char_indices() {
            let at = start + index;
            if at > self.limit {
                return None;
            }
            let class = self.classes.of(character);
            let is_end = match before {
                CR => class != LF,             // SB3, SB4
                LF | SEP => true,              // SB4
                _ if class == EXTEND => false, // SB5
                _ => terminator.is_some_and(|terminator| self.ends_before(terminator, class, at)),
            };
            if is_end && index > 0 {
                self.start = at;
                return Some(&text[start..at]);
            }
            if class == EXTEND {
                continue;
            }
            terminator = match (class, terminator) {
                (ATERM | STERM, _) => Some(Terminator {
                    is_aterm: class == ATERM,
                    after_cased: matches!(before, LOWER | UPPER),
                    followed_by: 0,
                }),
                (CLOSE, Some(known)) if known.followed_by < 2 => Some(Terminator { followed_by: 1, ..known }),
                (SP, Some(known)) => Some(Terminator { followed_by: 2, ..known }),
                _ => None,
            };
            before = class;
        }
        self.start = text.len();
        (text.len() <= self.limit).then(|| &text[start..])
    }
}
