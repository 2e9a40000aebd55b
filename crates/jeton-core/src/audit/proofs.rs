//! Finds proofs that no text produces an entry.
//!
//! A text produces an entry only if the entry's characters are next to each other in some pretoken. So no text produces
//! the entry if
//! - its bytes are not part of any UTF-8 text,
//! - it contains an added token, which is matched first,
//! - no normalized text contains one of its characters,
//! - a pre-tokenizer removes one of its characters, or no pretoken has its characters next to each other,
//! - the model forms other tokens from its characters (`model/unformed`),
//! - it ends inside a character, and the rules above exclude every completion of the character.
//!
//! Each rule holds for texts of any length. Left out: conditions of a regex that concern more than a pair of adjacent
//! characters, such as counts or lookarounds. In a regex with such conditions, the rules only check that some path
//! through the regex reads the characters.

use super::completion::Edges;
use super::fate::Fate;
use crate::error::Result;
use crate::model::unformed::{byte_of, Formation, Unformed};
use crate::normalize::outputs::NormalizerOutputs;
use crate::pretokenize::parts::pair_effect::SplitterPairs;
use crate::pretokenize::Splitter;
use crate::tokenizer::Tokenizer;
use crate::util::cancel::KeepGoing;
use crate::util::utf8::char_len;
use crate::vocab::Kind;

/// Proofs for the entries of a tokenizer, with lookup tables of its stages.
pub(super) struct Proofs<'t> {
    tok: &'t Tokenizer,
    outputs: NormalizerOutputs<'t>,
    splitters: Vec<SplitterPairs>, // splitters that read the same characters as the model
    formation: Formation,
    added: Vec<Vec<u8>>, // contents of added tokens, which never reach the model
}

/// Maximum number of bytes that a partial character may lack. If it lacks more, its completions are not examined.
const MOST_MISSING: usize = 2;
/// Maximum number of added tokens that are searched for in each entry.
const MOST_ADDED: usize = 64;

impl<'t> Proofs<'t> {
    pub(super) fn new(tok: &'t Tokenizer, keep_going: KeepGoing<'_>) -> Result<Self> {
        let spells_bytes = tok.normalizers().iter().any(|part| part.spells_bytes());
        let mut splitters: Vec<SplitterPairs> = Vec::new();
        for splitter in tok.splitters().iter().filter(|_| !spells_bytes) {
            splitters.push(splitter.pairs());
            if splitters.last().is_some_and(SplitterPairs::spells_bytes) {
                break; // later splitters read the byte alphabet
            }
        }
        let outputs = NormalizerOutputs::new(tok.normalizers());
        let formation = tok.model().formation(tok.vocab(), keep_going)?;
        Ok(Self { tok, outputs, splitters, formation, added: always_matched(tok) })
    }

    /// Searches for a proof that no text produces an ordinary entry or a byte entry. Returns the kind of the proof, if
    /// one is found.
    pub(super) fn find(&self, id: u32) -> Option<Fate> {
        let vocab = self.tok.vocab();
        let content = vocab.content(id);
        match vocab.kind(id) {
            Kind::Unreachable => return Some(Fate::Spelling),
            Kind::Unused => return Some(Fate::Unused),
            Kind::Byte | Kind::Token if self.is_byte_entry(id) => return self.of_byte(content),
            Kind::Token | Kind::EndsWord => {}
            _ => return None,
        }
        if content.is_empty() && vocab.kind(id) == Kind::Token {
            return Some(Fate::Empty);
        }
        let prefix = self.tok.model().continuing_prefix().as_bytes();
        let inner = content.strip_prefix(prefix).filter(|inner| !prefix.is_empty() && !inner.is_empty());
        let Some(edges) = Edges::of(inner.unwrap_or(content)) else { return Some(Fate::NotUtf8) };
        // The pre-tokenizer can add a leading space after the normalizer and the earlier splitters have run, so these
        // never see the space. The rules about the normalizer and the splitters are therefore applied to the text
        // without it.
        let is_prefixed = self.tok.splitters().iter().any(|part| part.adds_prefix_space());
        let text = edges.whole.strip_prefix(' ').filter(|_| is_prefixed).unwrap_or(edges.whole);
        if text.chars().any(|c| !self.may_be_space(c) && self.outputs.excludes(c)) {
            return Some(Fate::Normalizer);
        }
        if self.added.iter().any(|added| contains(text.as_bytes(), added)) {
            return Some(Fate::Added);
        }
        let splitters = self.tok.splitters().iter().take(self.splitters.len());
        let removes = |c: char| splitters.clone().any(|part| part.removes(c));
        if text.chars().any(|c| !self.may_be_space(c) && removes(c)) {
            return Some(Fate::Removed);
        }
        if !self.may_hold(text) {
            return Some(Fate::Split);
        }
        if inner.is_some() && text.chars().next().is_some_and(|c| self.begins_pretokens(c)) && self.is_no_word(content)
        {
            return Some(Fate::Split);
        }
        match self.tok.model().unformed(vocab, &self.formation, id) {
            Some(Unformed::Merges) => Some(Fate::Merges),
            Some(Unformed::MergesExceptWhole) if !edges.is_whole() => Some(Fate::Merges),
            Some(Unformed::Scores) => Some(Fate::Scores),
            Some(Unformed::Form) => Some(Fate::Form),
            _ => self.is_cut_off(id, &edges).then_some(Fate::Extended),
        }
    }

    /// Returns true if the entry ends inside a character and is never formed, whichever bytes complete the character.
    fn is_cut_off(&self, id: u32, edges: &Edges<'_>) -> bool {
        let Some(&first) = edges.tail.first() else { return false };
        let missing = char_len(first).saturating_sub(edges.tail.len());
        if !(1..=MOST_MISSING).contains(&missing) {
            return false;
        }
        (0..1usize << (6 * missing)).all(|number| {
            let rest: Vec<u8> = (0..missing).map(|at| 0x80 | (number >> (6 * at) & 0x3F) as u8).collect();
            let bytes = [edges.whole.as_bytes(), edges.tail, &rest].concat();
            let Ok(text) = std::str::from_utf8(&bytes) else { return true };
            let is_excluded = || text.chars().next_back().is_some_and(|c| self.outputs.excludes(c));
            let may_follow = |next: &[u8]| match Edges::of(next) {
                None => false,
                Some(next) if missing > 1 => !next.head.is_empty(),
                Some(next) if !next.head.is_empty() => false,
                Some(next) => {
                    next.whole.chars().next().is_none_or(|c| self.may_hold(&[text, &String::from(c)].concat()))
                }
            };
            let model = self.tok.model();
            let is_extended = model.is_extended(self.tok.vocab(), &self.formation, id, rest[0], &may_follow);
            is_extended.unwrap_or(false) || is_excluded() || !self.may_hold(text)
        })
    }

    /// Returns true if the entry spells one byte and is only used for text that no other entry covers.
    pub(super) fn is_byte_entry(&self, id: u32) -> bool {
        self.tok.model().is_byte_entry(self.tok.vocab(), &self.formation, id)
    }

    /// Returns false if no pretoken contains the text.
    fn may_hold(&self, text: &str) -> bool {
        self.splitters.iter().zip(self.tok.splitters()).enumerate().all(|(index, (pairs, splitter))| {
            // A later component may replace spaces by a mark. Before that component runs, a mark in `text` can still be
            // a space.
            let mark = self.tok.splitters()[index + 1..].iter().find_map(Splitter::space_mark);
            match mark.filter(|&mark| splitter.space_mark().is_none() && text.contains(mark)) {
                Some(_) => true,
                None => pairs.may_hold(text),
            }
        })
    }

    /// Returns true if `c` is the mark that replaces spaces. The pre-tokenizer adds this mark, so the rules about
    /// excluded and removed characters do not apply to it.
    fn may_be_space(&self, c: char) -> bool {
        self.tok.splitters().iter().any(|part| part.space_mark() == Some(c))
    }

    /// Returns true if the character only occurs at the start of pretokens.
    fn begins_pretokens(&self, c: char) -> bool {
        let splitters = &self.tok.splitters()[..self.splitters.len()];
        let is_surrounded = self.tok.normalizers().iter().any(|part| part.surrounds(c));
        splitters.iter().any(|part| part.isolates(c)) || is_surrounded && splitters.iter().any(|part| part.removes(' '))
    }

    /// Returns true if no pretoken contains the characters of `content`, including its prefix (`##`). From a pretoken
    /// that literally contains all these characters, the model could produce the entry, too.
    fn is_no_word(&self, content: &[u8]) -> bool {
        std::str::from_utf8(content).is_ok_and(|text| !self.may_hold(text))
    }

    /// Searches for a proof that no text produces a byte entry. The model never falls back to the bytes of a character
    /// that is an entry itself, or that no normalized text contains. Left out: continuation bytes and the first bytes
    /// of 4-byte characters, because too many characters contain them.
    fn of_byte(&self, content: &[u8]) -> Option<Fate> {
        let byte = byte_of(content)?;
        if !self.tok.model().falls_back_by_character() {
            return matches!(byte, 0xC0 | 0xC1 | 0xF5..).then_some(Fate::NotUtf8);
        }
        let mut text = [byte, 0x80, 0x80, 0x80];
        let is_entry = |text: &[u8]| {
            let id = self.tok.vocab().find(text, false);
            id.is_some_and(|id| self.tok.vocab().kind(id) == Kind::Token)
        };
        match byte {
            0xC0 | 0xC1 | 0xF5.. => Some(Fate::NotUtf8),
            ..0x80 => {
                let is_never = is_entry(&text[..1]) || self.outputs.excludes(char::from(byte));
                is_never.then_some(Fate::Character)
            }
            0xC2..0xF0 => {
                let len = if byte < 0xE0 { 2 } else { 3 };
                let all = (0..1usize << (6 * (len - 1))).all(|number| {
                    for (at, byte) in text[1..len].iter_mut().enumerate() {
                        *byte = 0x80 | (number >> (6 * at) & 0x3F) as u8;
                    }
                    std::str::from_utf8(&text[..len]).is_err() || is_entry(&text[..len])
                });
                all.then_some(Fate::Character)
            }
            _ => None,
        }
    }
}

/// Returns the contents of added tokens that are always matched before the model.
fn always_matched(tok: &Tokenizer) -> Vec<Vec<u8>> {
    const SINGLE_WORD: u8 = 4;
    const NORMALIZED: u8 = 8;
    let rewrites = tok.splitters().iter().any(|part| part.inserts());
    let is_raw = tok.normalizers().is_empty();
    let ids = tok.added().iter().filter(|&&id| tok.vocab().kind(id) == Kind::Added);
    // If the match of a single-word token is rejected, added tokens inside the match are not matched, either. So if
    // there is a single-word token, no token is certain to match wherever it occurs.
    let rewrites = rewrites || tok.added().iter().any(|&id| tok.flags(id) & SINGLE_WORD != 0);
    let ids = ids.filter(|&&id| !rewrites && (is_raw || tok.flags(id) & NORMALIZED != 0));
    let content = |&id: &u32| tok.normalized_spelling(id).unwrap_or(tok.vocab().content(id)).to_vec();
    let mut contents: Vec<Vec<u8>> = ids.map(content).filter(|content| !content.is_empty()).collect();
    // If the content of one added token contains that of another, only the shorter content is kept: every text that
    // contains the longer content also contains the shorter one.
    contents.sort_by_key(Vec::len);
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for content in contents {
        if kept.len() < MOST_ADDED && !kept.iter().any(|other| contains(&content, other)) {
            kept.push(content);
        }
    }
    kept
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some() // linear time; comparing each window would take quadratic time
}
