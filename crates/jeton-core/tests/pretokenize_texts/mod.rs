//! Texts that find differences between splitters, and a plain splitter that runs a regex over a text.
//!
//! Concatenated random fragments find more defects than random characters: each fragment is handled specially by some
//! pattern, and the combinations vary.

#![allow(dead_code, reason = "each test uses a part")]

use jeton_core::pretokenize::{Pretokenizer, Span};

/// Letters of every case, marks, digits, apostrophes, white space, line ends, slashes, symbols, and whole words.
#[rustfmt::skip]
pub const FRAGMENTS: &[&str] = &[
    "a", "z", "A", "Z", "the", "The", "THE", "tHe", "é", "É", "ß", "ẞ", "ſ", "K", "Ж", "ж", "Σ", "ς", "ǅ", "ǆ", "Ǆ", "ʰ", "ˇ", "ª",
    "ー", "々", "中", "文字", "ひ", "カ", "한", "א", "ع", "ก", "अ", "𝐀", "𝐚", "𠮷", "Ⅷ", "ⅷ", "ⓐ", "Ꭰ", "ꭰ", "\u{301}", "\u{300}\u{301}",
    "\u{93F}", "\u{20E3}", "\u{FE0F}", "\u{E0100}", "0", "1", "42", "123", "1234", "٣", "३", "½", "²", "〇", "𝟘", "'", "’", "'s", "'S", "'ſ",
    "'t", "'re", "'RE", "'rE", "'ve", "'m", "'M", "'ll", "'LL", "'lL", "'l", "'d", "'r", "'v", "''", "'x", " ", "  ", "   ", "\t", "\u{B}",
    "\u{C}", "\u{85}", "\u{A0}", "\u{1680}", "\u{2003}", "\u{2028}", "\u{2029}", "\u{202F}", "\u{3000}", "\u{200B}", "\u{FEFF}", "\u{180E}",
    "\n", "\r", "\r\n", "\n\n", "\n\r\n", " \n", "\n ", " \r\n ", "/", "//", "/\n", "\n/", "!", "?!", "...", "-", "--", "_", "$", "€", "^",
    "+", "`", "(", ")", "{", "}", "\\", "\"", "😉", "👩\u{200D}🚀", "🇨🇭", "\u{200D}", "\u{AD}", "\0", "\u{7F}", "\u{378}", "\u{E000}", "\u{10FFFF}",
    " the", " The", " 12", " !", "can't", "CAN'T", "x\u{301}", "X\u{301}", "foo_bar", "fooBar", "FOOBar", "hello world",
];

/// Pseudorandom generator with a fixed seed: SplitMix64 (Steele, Lea and Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    /// Generates a text of 1 to `most` fragments; a third of the texts have few distinct ones, and therefore runs.
    pub fn text(&mut self, most: usize) -> String {
        let count = 1 + self.below(most);
        let few: Vec<usize> = (0..1 + self.below(4)).map(|_| self.below(FRAGMENTS.len())).collect();
        let of_few = self.below(3) == 0;
        let draw =
            |random: &mut Self| if of_few { few[random.below(few.len())] } else { random.below(FRAGMENTS.len()) };
        (0..count).map(|_| FRAGMENTS[draw(self)]).collect()
    }
}

/// Returns the number of random texts of a comparison: fewer in debug builds, where the oracle is slow;
/// `JETON_TEST_ROUNDS` sets another number.
pub fn rounds(usual: usize) -> usize {
    let usual = if cfg!(debug_assertions) { usual / 8 } else { usual };
    std::env::var("JETON_TEST_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(usual)
}

/// Returns the spans; asserts that they cover the text from `start` on, and that none is empty.
pub fn spans_from(pretokenizer: &Pretokenizer, text: &str, start: usize) -> Vec<Span> {
    let spans: Vec<Span> = pretokenizer.spans_from(text, start).map(|span| span.expect("within the budget")).collect();
    let mut at = start;
    for span in &spans {
        assert_eq!(span.start, at, "{pretokenizer:?} leaves a gap or goes back in {text:?}");
        assert!(span.end > span.start && text.is_char_boundary(span.end), "{pretokenizer:?}: {span:?} in {text:?}");
        at = span.end;
    }
    assert_eq!(at, text.len(), "{pretokenizer:?} does not reach the end of {text:?}");
    spans
}

/// Splits with the published engine: matches, and the text between them.
pub fn oracle(regex: &fancy_regex::Regex, text: &str) -> Vec<Span> {
    let (mut spans, mut end, mut from) = (Vec::new(), 0, 0);
    while from <= text.len() {
        let Some(found) = regex.find_from_pos(text, from).expect("the oracle has no limit here") else { break };
        if found.start() == found.end() {
            from = found.end() + text[found.end()..].chars().next().map_or(1, char::len_utf8);
            continue;
        }
        if found.start() > end {
            spans.push(Span { start: end, end: found.start() });
        }
        spans.push(Span { start: found.start(), end: found.end() });
        end = found.end();
        from = end;
    }
    if end < text.len() {
        spans.push(Span { start: end, end: text.len() });
    }
    spans
}

/// Returns the text of each span, for messages.
pub fn pieces<'t>(text: &'t str, spans: &[Span]) -> Vec<&'t str> {
    spans.iter().map(|span| &text[span.start..span.end]).collect()
}

/// Generates a pattern. The flag is true if it must not be repeated, because it can match the empty text or has a
/// lazy repetition.
pub fn random_pattern(random: &mut Random, depth: usize) -> (String, bool) {
    const ATOMS: [&str; 11] = ["a", "b", r"\s", "[ab]", "[^a]", ".", r"\p{L}", "(?i:a)", "^", "$", r"\b"];
    const REPEATS: [&str; 11] = ["", "", "*", "+", "?", "*+", "++", "?+", "{2}", "{1,2}", "{,2}"];
    const LAZY: [&str; 4] = ["*?", "+?", "??", "{1,}?"];
    // If `once` is false, `inner` matches at least one character. A branch with such a part does not match the empty
    // text.
    let (mut pattern, mut is_lazy, mut is_solid, mut has_empty_branch) = (String::new(), false, false, false);
    for _ in 0..1 + random.below(3) {
        let (inner, once) = if depth == 0 {
            let index = random.below(ATOMS.len());
            (ATOMS[index].to_owned(), index > 7)
        } else {
            random_pattern(random, depth - 1)
        };
        let repeat = if once { "" } else { REPEATS[random.below(REPEATS.len())] };
        let solid = !once && !repeat.starts_with(['*', '?']) && repeat != "{,2}";
        pattern += &match random.below(9) {
            0 => ["(?=", "(?!", "(?<=", "(?<!"][random.below(4)].to_owned() + &inner + ")",
            1 => {
                is_lazy = true;
                ATOMS[random.below(8)].to_owned() + LAZY[random.below(4)]
            }
            2 => {
                has_empty_branch |= !is_solid;
                is_solid = !once;
                format!("|(?:{inner})")
            }
            kind => {
                is_solid |= solid;
                [format!("(?:{inner}){repeat}"), format!("({inner}){repeat}"), format!("(?>{inner}){repeat}")][kind % 3]
                    .clone()
            }
        };
    }
    (pattern, is_lazy || !is_solid || has_empty_branch)
}
