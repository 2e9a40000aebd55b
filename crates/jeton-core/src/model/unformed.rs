//! Finds entries that a model never produces, for any pretoken.
//!
//! BPE: suppose that merges form an entry in a text. Until the entry is formed, no merge crosses its edges. The merges
//! between its edges happen in the same order as when the entry is encoded alone: the lowest rank first, among equal
//! ranks the leftmost. So an entry that is not formed when it is encoded alone is not formed in any text. The lookup
//! of whole pretokens can still find the entry (`whole_first`).
//!
//! Unigram: if a sequence of other pieces spells an entry, and the sum of their scores is higher than the score of the
//! entry, then this sequence replaces the entry in any segmentation. The difference must exceed the rounding error.
//!
//! An entry that ends inside a character is followed by a continuation byte. The entry is not formed if a part at the
//! right edge of the entry merges with this byte before it merges with the part on its left. Two conditions ensure
//! this. First, the merge of the part with the byte has a lower rank than the merge of the part to the left. Second,
//! every merge of the byte with a following token has a higher rank than the merge of the part with the byte and than
//! all merges inside the part; otherwise, the byte could merge to the right first.
//!
//! Cost: building the merge trees; for an entry that ends inside a character, a lookup for each part at its right edge;
//! for Unigram, the pieces inside each entry.
//!
//! Left out:
//! - BPE with `continuing_subword_prefix`
//! - BPE entries that contain spelled bytes (`<0x0A>`), because several sequences of symbols have the same content
//! - pieces that contain a character without a piece of its own
//! - whole words of WordPiece that are longer than the model's limit

use super::bpe::Bpe;
use super::linked_symbols::NONE;
use super::merge_trees::{MergeTrees, NO_PART};
use super::pairs::Pairs;
use super::Model;
use crate::error::{ErrorKind, Result};
use crate::util::cancel::KeepGoing;
use crate::vocab::alphabet::{EndOfWord, Level, WORD_START};
use crate::vocab::{Kind, Vocab};

/// Maximum rounding error of one 32-bit addition with a sum of up to 100,000: half of the distance between adjacent
/// 32-bit floats.
const ROUNDING_SINGLE: f64 = 0.004;
/// Maximum rounding error of one 64-bit addition with a sum of up to 10⁹.
const ROUNDING_DOUBLE: f64 = 1e-7;

/// Reason why a model does not produce an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unformed {
    /// The symbols of the entry merge into other tokens.
    Merges,
    /// The symbols of the entry merge into other tokens. But if the entry is a whole pretoken, the lookup of whole
    /// pretokens finds it.
    MergesExceptWhole,
    /// Other pieces have a higher sum of scores.
    Scores,
    /// The entry has a form that the model never produces. A model of characters produces only single characters; a
    /// model of words produces only words with one `▁`.
    Form,
}

/// Tables to find out whether a part at the right edge of a byte-level entry merges with the byte that follows it.
#[derive(Debug)]
struct RightEdges {
    units: [u32; 256],            // byte -> initial symbol, or NONE
    rights: Vec<Vec<(u32, u32)>>, // byte -> (rank, right part) of its merges, ascending
    max_ranks: Vec<u32>,          // id -> maximum rank in its tree; 0 for a unit
}

/// Merge trees, and which entries can be built from initial symbols by merges.
#[derive(Debug)]
pub struct Formation {
    trees: MergeTrees,
    is_formed: Option<Vec<bool>>, // entry -> true if merges can build it; None: not known
    edges: Option<RightEdges>,    // None unless symbols are bytes
}

impl Formation {
    /// Returns the merge trees; empty if they are not known.
    pub fn trees(&self) -> &MergeTrees {
        &self.trees
    }
}

impl Model {
    /// Computes which entries of the vocabulary are results of merges.
    ///
    /// # Errors
    /// `Interrupted`.
    pub fn formation(&self, vocab: &Vocab, keep_going: KeepGoing<'_>) -> Result<Formation> {
        let is_clear = match self {
            Self::Bpe(model) => model.alphabet.prefix().is_empty(),
            Self::Pieces(_) => true,
            _ => false,
        };
        let trees = match self.merge_trees(vocab, keep_going) {
            Err(error) if matches!(error.kind(), ErrorKind::Config { feature: Some(_), .. }) => MergeTrees::default(),
            trees => trees?,
        };
        let is_formed = (is_clear && !trees.left.is_empty()).then(|| formed(&trees));
        let edges = match self {
            Self::Bpe(model) if is_clear && model.alphabet.level == Level::Byte => {
                Some(RightEdges::new(vocab, &trees, model.pairs(vocab, keep_going)?))
            }
            _ => None,
        };
        Ok(Formation { trees, is_formed, edges })
    }

    /// Returns true if a byte-level entry is never a token when the continuation byte `byte` follows, because the entry
    /// or a part at its right edge merges with `byte`. `may_follow` returns true if a token with the given content can
    /// follow `byte`.
    ///
    /// # Errors
    /// `Interrupted`.
    pub fn is_extended(
        &self,
        vocab: &Vocab,
        formation: &Formation,
        id: u32,
        byte: u8,
        may_follow: &dyn Fn(&[u8]) -> bool,
    ) -> Result<bool> {
        let (Self::Bpe(model), Some(edges)) = (self, &formation.edges) else { return Ok(false) };
        let pairs = model.pairs(vocab, &|| true)?;
        let rank = |left, right| pairs.get(left, right).map_or(NONE, |merge| merge.rank);
        let unit = edges.units[usize::from(byte)];
        let may_merge = |limit: u32| {
            let lower = edges.rights[usize::from(byte)].iter().take_while(|right| right.0 <= limit);
            lower.into_iter().any(|&(_, right)| may_follow(vocab.content(right)))
        };
        let (mut part, mut next) = (id, NONE); // part at the right edge, and rank of its merge to the left
        loop {
            let joined = rank(part, unit);
            if unit != NONE && joined < next && !may_merge(joined.max(edges.max_ranks[part as usize])) {
                return Ok(true);
            }
            let (left, right) = (formation.trees.left[part as usize], formation.trees.right[part as usize]);
            if left == NO_PART {
                return Ok(false);
            }
            (next, part) = (rank(left, right), right);
        }
    }

    /// Returns true if an entry spells a byte (`<0x0A>`) and is only used for text that no other entry covers.
    pub fn is_byte_entry(&self, vocab: &Vocab, formation: &Formation, id: u32) -> bool {
        let is_spelled = || byte_of(vocab.content(id)).is_some();
        match (self, vocab.kind(id)) {
            (_, Kind::Byte) => is_spelled(),
            (Self::Bpe(model), Kind::Token) => {
                let is_merged = formation.trees.left[id as usize] != NO_PART;
                model.alphabet.spells_unknown() && is_spelled() && !is_merged
            }
            _ => false,
        }
    }

    /// Returns the reason why no pretoken produces this ordinary entry; None if some pretoken can produce it.
    pub fn unformed(&self, vocab: &Vocab, formation: &Formation, id: u32) -> Option<Unformed> {
        let content = vocab.content(id);
        let is_formed = |formation: &Formation| formation.is_formed.as_ref().is_none_or(|formed| formed[id as usize]);
        match self {
            Self::Bpe(model) if is_formed(formation) || is_ambiguous(model, content) => None,
            Self::Bpe(model) if model.whole_first() => Some(Unformed::MergesExceptWhole),
            Self::Bpe(_) => Some(Unformed::Merges),
            Self::Pieces(_) => (!is_formed(formation)).then_some(Unformed::Merges),
            Self::Unigram(model) => model.is_outscored(vocab, id).then_some(Unformed::Scores),
            Self::Chars(_) => {
                let is_char = std::str::from_utf8(content).is_ok_and(|text| text.chars().nth(1).is_none());
                (!is_char).then_some(Unformed::Form)
            }
            Self::Words(_) => {
                let has_inner =
                    std::str::from_utf8(content).is_ok_and(|text| text.chars().skip(1).any(|c| c == WORD_START));
                has_inner.then_some(Unformed::Form)
            }
            Self::WordPiece(_) | Self::WordLevel(_) => None,
        }
    }

    /// Returns true if the model uses byte tokens only for characters that are not entries. This must hold at every
    /// position in a word.
    pub fn falls_back_by_character(&self) -> bool {
        match self {
            Self::Bpe(model) => model.alphabet.prefix().is_empty() && model.alphabet.end == EndOfWord::None,
            Self::Pieces(_) | Self::Unigram(_) | Self::Chars(_) => true,
            Self::WordPiece(_) | Self::WordLevel(_) | Self::Words(_) => false,
        }
    }
}

impl RightEdges {
    fn new(vocab: &Vocab, trees: &MergeTrees, pairs: &Pairs) -> Self {
        let (mut units, mut rights) = ([NONE; 256], vec![Vec::new(); 256]);
        for (id, _, content) in vocab.iter().filter(|entry| trees.is_unit[entry.0 as usize]) {
            if let &[byte] = content {
                units[usize::from(byte)] = id;
            }
        }
        let mut max_ranks = vec![0; vocab.len()];
        let mut merges: Vec<_> = pairs.iter().collect();
        merges.sort_unstable_by_key(|(_, _, merge)| (vocab.content(merge.result).len(), merge.rank)); // parts first
        for (left, right, merge) in merges {
            let made = merge.result as usize;
            if (trees.left[made], trees.right[made]) == (left, right) {
                max_ranks[made] = merge.rank.max(max_ranks[left as usize]).max(max_ranks[right as usize]);
            }
            if let &[byte] = vocab.content(left) {
                rights[usize::from(byte)].push((merge.rank, right));
            }
        }
        rights.iter_mut().for_each(|merges| merges.sort_unstable());
        Self { units, rights, max_ranks }
    }
}

/// Returns the byte of a byte entry, such as 10 for `<0x0A>`; None if `content` has another form.
pub fn byte_of(content: &[u8]) -> Option<u8> {
    let digits = content.strip_prefix(b"<0x")?.strip_suffix(b">")?;
    let text = std::str::from_utf8(digits).ok().filter(|text| text.len() == 2)?;
    u8::from_str_radix(text, 16).ok()
}

/// Returns true if two sequences of initial symbols could have this content. Example: the content `<0x0A>` could be
/// six characters or one spelled byte.
fn is_ambiguous(model: &Bpe, content: &[u8]) -> bool {
    model.alphabet.spells_unknown() && content.windows(3).any(|part| part == b"<0x")
}

/// Returns a flag for each entry: true if all leaves of its merge tree are initial symbols. Merge trees have no cycles,
/// because each part has fewer initial symbols than the whole (a separate end-of-word mark counts as a symbol).
fn formed(trees: &MergeTrees) -> Vec<bool> {
    let len = trees.left.len();
    let (mut is_formed, mut is_known) = (trees.is_unit.clone(), trees.is_unit.clone());
    let mut stack = Vec::new();
    for id in 0..len {
        stack.push(id);
        while let Some(&top) = stack.last() {
            let parts = [trees.left[top], trees.right[top]].map(|part| part as usize);
            if is_known[top] || trees.left[top] == NO_PART {
                is_known[top] = true;
                stack.pop();
            } else if let Some(&open) = parts.iter().find(|&&part| !is_known[part]) {
                stack.push(open);
            } else {
                is_formed[top] = parts.iter().all(|&part| is_formed[part]);
                is_known[top] = true;
                stack.pop();
            }
        }
    }
    is_formed
}

impl super::unigram::Unigram {
    /// Returns true if a sequence of other pieces spells the entry and has a higher sum of scores than the entry. The
    /// difference must exceed the rounding error.
    fn is_outscored(&self, vocab: &Vocab, id: u32) -> bool {
        let content = vocab.content(id);
        if vocab.kind(id) != Kind::Token {
            return false;
        }
        let mut best = vec![f64::NEG_INFINITY; content.len() + 1];
        best[0] = 0.0;
        for start in 0..content.len() {
            if best[start] == f64::NEG_INFINITY {
                continue;
            }
            for (end, other) in self.pieces(content, start, super::Specials::None) {
                if other != id {
                    best[end] = best[end].max(best[start] + self.score(other, end - start));
                }
            }
        }
        let rounding = if self.single { ROUNDING_SINGLE } else { ROUNDING_DOUBLE };
        best[content.len()] > self.score(id, content.len()) + rounding * 2.0 * (content.len() + 1) as f64
    }
}
