//! Finds pretoken starts by Boolean algebra on bit masks: 64 bytes at a time, without branches on ordinary text.
//!
//! Each character class is a mask with one bit for each byte. "A letter that no letter precedes" is `letters &
//! !(letters << 1)`, with the last bit of each mask carried into the next block. An addition fills a run: `(seed + run)
//! ^ run`, masked by `run`, has the bits of `run` from `seed` to the end of the run.
//!
//! The algebra is exact on *easy* text. Positions at which the masks of a block do not determine the starts are
//! recorded as *hard*: white space and numbers beyond ASCII, a capital after a letter without case, a mark after a
//! symbol. Around hard positions, the caller splits the text with the scanner. The caller also handles white space at
//! the end of the text.
//!
//! Source: byte classes as masks are from simdjson (Langdale and Lemire 2019, arXiv 1902.08318); gigatoken and Hugging
//! Face's tokenizers 1.0 split text with such masks, too. The algebra is Jeton's own.

use super::Starts;
use crate::pretokenize::scanner::{contraction, Contraction, Family};
use crate::util::classes::{Classes, CASELESS, LETTER, LOWER, MARK, NEWLINE, NUMBER, OTHER, SPACE, UPPER};
use crate::util::simd::block::Block;

/// One mask for each class, in the order of the classes' bits.
type Masks = [u64; 8];

/// State carried to the next block. The lowest bit of a field tells whether the last byte of the block has the property
/// that the field is named after.
#[derive(Default)]
struct Before {
    letters: u64,
    numbers: u64, // numbers among the last three bytes
    spaces: u64,
    newlines: u64,
    symbols: u64,
    blank: u64, // the last byte is the space character
    absorbed: u64,
    first_symbol: u64,
    withdrawn: u64, // starts at spaces, removed if a newline ends their run
    capitals: u64,
    lower: u64,
    groups: u64, // starts of digit groups among the last three bytes
}

/// Classes of the first bytes of a block. These bytes can belong to a character that begins in the previous block.
type Spill = [u8; 4];

const fn index(class: u8) -> usize {
    class.trailing_zeros() as usize
}

/// For each bit of `seed` that is set in `run`, returns that bit and the consecutive set bits of `run` above it.
#[inline(always)]
fn flood(seed: u64, run: u64) -> u64 {
    ((seed & run).wrapping_add(run) ^ run | seed) & run
}

/// 64 bytes, the mask of the bytes beyond ASCII, and the mask of continuation bytes.
#[derive(Clone, Copy)]
struct Bytes<B> {
    block: B,
    wide: u64,
    later: u64,
}

impl<B: Block> Bytes<B> {
    #[inline(always)]
    fn new(block: B) -> Self {
        Self { block, wide: block.wide(), later: block.within(0x80, 0xBF) }
    }
}

/// Returns the class masks of the 64 bytes at `at`.
#[inline(always)]
fn classify<B: Block>(
    proof: B::Proof,
    bytes: Bytes<B>,
    classes: &Classes,
    text: &[u8],
    at: usize,
    spill: &mut Spill,
) -> Masks {
    let mut masks = [0; 8];
    let Bytes { block, wide, .. } = bytes;
    masks[index(UPPER)] = block.within(b'A', b'Z');
    masks[index(LOWER)] = block.within(b'a', b'z');
    masks[index(NUMBER)] = block.within(b'0', b'9');
    masks[index(NEWLINE)] = block.equal(b'\n') | block.equal(b'\r');
    masks[index(SPACE)] = (block.equal(b' ') | block.within(b'\t', b'\r')) & !masks[index(NEWLINE)];
    let named = masks.iter().fold(wide, |all, mask| all | mask);
    masks[index(OTHER)] = !named;
    if wide != 0 {
        classify_wide(proof, bytes, classes, text, at, spill, &mut masks);
    } else {
        *spill = Spill::default();
    }
    masks
}

/// Adds the characters beyond ASCII to the class masks.
///
/// Each character writes its class to four bytes, beginning at its first byte. The next character overwrites the
/// excess, and bytes that are not part of a character are masked.
#[inline(always)]
#[allow(clippy::too_many_arguments)] // all arguments stay in registers
fn classify_wide<B: Block>(
    proof: B::Proof,
    bytes: Bytes<B>,
    classes: &Classes,
    text: &[u8],
    at: usize,
    spill: &mut Spill,
    masks: &mut Masks,
) {
    let Bytes { block, wide, later } = bytes;
    // Caseless letters that need no look-up in `classes`. The first byte identifies Han from U+5000 on and Hangul from
    // U+B000 to U+CFFF. The first two bytes identify Han from U+4E00 to U+4FFF, if both are in this block.
    let caseless =
        block.within(0xE5, 0xE9) | block.within(0xEB, 0xEC) | block.equal(0xE4) & block.within(0xB8, 0xBF) >> 1;
    let mut kinds = [0; 64 + 4];
    kinds[..4].copy_from_slice(spill);
    let mut rest = wide & !later & !caseless;
    while rest != 0 {
        let first = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let class = classes.wide_in(four(text, at + first));
        kinds[first..first + 4].fill(class);
    }
    let own = caseless | caseless << 1 | caseless << 2;
    masks[index(CASELESS)] |= own;
    if caseless >> 62 != 0 {
        kinds[64..].fill(CASELESS);
    }
    let [kinds, after] = [&kinds[..64], &kinds[64..]];
    spill.copy_from_slice(after);
    let (kinds, wide) = (B::load(proof, kinds.first_chunk().unwrap_or(&[0; 64])), wide & !own);
    for class in [UPPER, LOWER, CASELESS, MARK, NUMBER, SPACE, OTHER] {
        masks[index(class)] |= kinds.having(class) & wide;
    }
}

/// Loads four bytes of a text, padded with zeros.
#[inline(always)]
fn four(text: &[u8], at: usize) -> [u8; 4] {
    let rest = &text[at..];
    rest.first_chunk().copied().unwrap_or_else(|| std::array::from_fn(|i| rest.get(i).copied().unwrap_or(0)))
}

/// Returns the mask of the bytes that follow a byte of `mask`. `carry` is the last bit of the previous block's mask,
/// and is set to the last bit of this one.
#[inline(always)]
fn after(mask: u64, carry: &mut u64) -> u64 {
    let after = mask << 1 | *carry;
    *carry = mask >> 63;
    after
}

/// Masks of a block: the groups of classes that a family of patterns distinguishes, and the bytes after each group.
struct Groups {
    later: u64, // continuation bytes
    capitals: u64,
    lower: u64,
    letters: u64,
    numbers: u64,
    symbols: u64,
    newlines: u64,
    spaces: u64,
    after_letter: u64,
    after_symbol: u64,
    after_newline: u64,
    after_space: u64,
    after_blank: u64,
}

impl Groups {
    #[inline(always)]
    fn new<F: Family>(masks: &Masks, blank: u64, later: u64, before: &mut Before) -> Self {
        let rules = F::RULES;
        let of = |class: u8| masks[index(class)];
        let (marks, others) = (of(MARK), of(OTHER));
        let (capitals, lower) = (of(UPPER), of(LOWER));
        let letters = capitals | lower | of(CASELESS) | if rules.cased || rules.marks { marks } else { 0 };
        let symbols = if rules.cased || rules.marks { others } else { others | marks };
        let newlines = if rules.newlines { of(NEWLINE) } else { 0 };
        let spaces = if rules.newlines { of(SPACE) } else { of(SPACE) | of(NEWLINE) };
        Self {
            later,
            capitals,
            lower,
            letters,
            numbers: of(NUMBER),
            symbols,
            newlines,
            spaces,
            after_letter: after(letters, &mut before.letters),
            after_symbol: after(symbols, &mut before.symbols),
            after_newline: after(newlines, &mut before.newlines),
            after_space: after(spaces, &mut before.spaces),
            after_blank: after(blank, &mut before.blank),
        }
    }

    /// Returns two masks: the newlines that belong to the symbols before them, and the bytes that follow a byte of the
    /// first mask. The first mask includes `slashes` that come after or between such newlines.
    #[inline(always)]
    fn absorbed<F: Family>(&self, slashes: u64, before: &mut Before) -> [u64; 2] {
        if !F::RULES.newlines {
            return [0; 2];
        }
        let tail = self.newlines | slashes;
        let seed = self.newlines & self.after_symbol | tail & before.absorbed;
        let absorbed = flood(seed, tail);
        [absorbed, after(absorbed, &mut before.absorbed)]
    }

    /// Returns two masks: the starts of words, and the hard starts, at which the slow path runs. `after_first` marks
    /// each byte whose preceding symbol can be the prefix of a word.
    #[inline(always)]
    fn words<F: Family>(&self, after_first: u64, before: &mut Before) -> [u64; 2] {
        let words = self.letters & !self.after_letter;
        let starts =
            if F::RULES.any_prefix { words & !(self.after_space | after_first) } else { words & !self.after_blank };
        if !F::RULES.cased {
            return [starts, 0];
        }
        let after_capital = after(self.capitals, &mut before.capitals);
        let after_lower = after(self.lower, &mut before.lower);
        let hard = self.capitals & !after_capital & !after_lower & self.after_letter;
        [starts | self.capitals & after_lower, hard]
    }

    /// Returns the starts of numbers, or of digit groups if the length of numbers is limited.
    #[inline(always)]
    fn numbers<F: Family>(&self, before: &mut Before) -> u64 {
        let numbers = self.numbers;
        let after_number = numbers << 1 | before.numbers >> 2;
        let first_digits = numbers & !after_number;
        let starts = match F::RULES.digits {
            1 => numbers & !self.later,
            usize::MAX if F::RULES.any_prefix => first_digits,
            usize::MAX => first_digits & !self.after_blank,
            _ => {
                let fourth =
                    numbers & after_number & (numbers << 2 | before.numbers >> 1) & (numbers << 3 | before.numbers);
                let mut group = (first_digits << 3 | before.groups) & fourth;
                let mut groups = first_digits | group;
                while group != 0 {
                    group = group << 3 & fourth;
                    groups |= group;
                }
                before.groups = groups >> 61;
                groups
            }
        };
        before.numbers = numbers >> 61;
        starts
    }

    /// Returns the starts of pretokens of white space: the first character of each run of spaces, and each newline that
    /// follows no white space and does not belong to the symbols before it. `step` adds the last space before a word, a
    /// number or a symbol.
    #[inline(always)]
    fn white_space<F: Family>(&self, absorbed: u64) -> u64 {
        let spaces = self.spaces & !self.after_space;
        if !F::RULES.newlines {
            return spaces;
        }
        spaces | self.newlines & !absorbed & !self.after_space & !self.after_newline
    }
}

impl Starts {
    /// Finds the starts in the first `len` bytes of `text`, which begins with a pretoken. `len` is the length of the
    /// text or a multiple of 64.
    #[inline(always)]
    pub(super) fn algebra<F: Family, B: Block>(&mut self, proof: B::Proof, classes: &Classes, text: &[u8], len: usize) {
        let mut before = Before::default();
        let mut spill = Spill::default();
        let mut contraction_end = 0;
        let mut at = 0;
        while at < len {
            let mut copy = [0; 64]; // zeros are classified as symbols; they are masked below
            let bytes = match text.get(at..).and_then(|rest| rest.first_chunk()) {
                Some(bytes) => bytes,
                None => {
                    copy[..text.len() - at].copy_from_slice(&text[at..]);
                    &copy
                }
            };
            let valid = if len - at < 64 { (1 << (len - at)) - 1 } else { u64::MAX };
            let bytes = Bytes::new(B::load(proof, bytes));
            if bytes.wide != 0 {
                self.wide.push(at as u32);
            }
            let masks = classify(proof, bytes, classes, text, at, &mut spill).map(|mask| mask & valid);
            self.step::<F, B>(bytes, &masks, valid, text, at, &mut before, &mut contraction_end);
            at += 64;
        }
    }

    /// Processes one block.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)] // all arguments stay in registers
    fn step<F: Family, B: Block>(
        &mut self,
        bytes: Bytes<B>,
        masks: &Masks,
        valid: u64,
        text: &[u8],
        at: usize,
        before: &mut Before,
        contraction_end: &mut usize,
    ) {
        let rules = F::RULES;
        let Bytes { block, wide, later } = bytes;
        let own = Groups::new::<F>(masks, block.equal(b' '), later, before);
        // Unlike `masks`, `slashes` needs no `& valid`: the bytes after the end of the text are zeros. With `& valid`,
        // LLVM 22 would compute the `|` of two masks on vectors of bits, and would build these vectors byte by byte, in
        // 120 instructions for AVX2.
        let slashes = if rules.slashes { block.equal(b'/') } else { 0 };
        let [absorbed, after_absorbed] = own.absorbed::<F>(slashes, before);
        let after_symbol = own.after_symbol & !after_absorbed;
        // The first symbol of each run of symbols, unless a blank precedes the run: the blank is then the run's prefix.
        // Without a blank, the first symbol can itself be the prefix of a word that directly follows it.
        let free = own.symbols & !absorbed & !later & !after_symbol & !own.after_blank;
        let first_symbols = free | flood((free << 1 | before.first_symbol) & later, later);
        let after_first = after(first_symbols, &mut before.first_symbol) & !later;
        let [words, hard_words] = own.words::<F>(after_first, before);
        let solid_after_space = valid & !(own.spaces | own.newlines) & own.after_space;
        self.bits[at / 64] |=
            free | words | own.numbers::<F>(before) | own.white_space::<F>(absorbed) | solid_after_space >> 1;
        if solid_after_space & 1 != 0 && at > 0 {
            self.bits[at / 64 - 1] |= 1 << 63;
        }
        if rules.newlines {
            self.withdraw_spaces(&own, after_absorbed, text, at, before);
        }
        // Removes starts inside a contraction that began in the previous block.
        if *contraction_end > at {
            self.clear(at, *contraction_end);
        }
        let apostrophes = block.equal(b'\'');
        let candidates = apostrophes & if rules.contraction == Contraction::Suffix { own.after_letter } else { free };
        self.contractions::<F>(candidates, text, at, contraction_end);

        let foreign = wide & !later; // first bytes of characters beyond ASCII
        let foreign_numbers = if rules.digits == usize::MAX { 0 } else { own.numbers };
        let mut hard = hard_words | foreign & (own.spaces | foreign_numbers);
        if rules.cased {
            hard |= masks[index(MARK)] & !later & own.after_symbol;
        }
        while hard != 0 {
            self.hard.push((at + hard.trailing_zeros() as usize) as u32);
            hard &= hard - 1;
        }
    }

    /// Removes the starts inside white space before its last newline. The white space up to the last newline is one
    /// pretoken, so spaces between two newlines do not start a pretoken.
    #[inline(always)]
    fn withdraw_spaces(&mut self, own: &Groups, after_absorbed: u64, text: &[u8], at: usize, before: &mut Before) {
        let seed = own.spaces & !own.after_space & own.after_newline & !after_absorbed | own.spaces & before.withdrawn;
        let ends_at_once = own.newlines & before.withdrawn;
        before.withdrawn = 0;
        if seed | ends_at_once != 0 {
            let reach = flood(seed, own.spaces);
            before.withdrawn = reach >> 63;
            let mut ends = (reach << 1) & own.newlines | ends_at_once;
            while ends != 0 {
                let end = at + ends.trailing_zeros() as usize;
                ends &= ends - 1;
                let mut start = end;
                while start > 0 && matches!(text[start - 1], b' ' | b'\t' | 0x0B | 0x0C) {
                    start -= 1;
                }
                self.clear(start, start + 1);
            }
        }
    }

    /// Joins contractions: finds them by their apostrophes in `candidates`, and removes the pretoken starts inside of
    /// them.
    #[inline(always)]
    fn contractions<F: Family>(&mut self, mut candidates: u64, text: &[u8], at: usize, contraction_end: &mut usize) {
        let is_suffix = F::RULES.contraction == Contraction::Suffix;
        while candidates != 0 {
            let apostrophe = at + candidates.trailing_zeros() as usize;
            candidates &= candidates - 1;
            let length = contraction::<F>(text, apostrophe + 1);
            if length == 0 || is_suffix && *contraction_end == apostrophe {
                continue;
            }
            *contraction_end = apostrophe + 1 + length;
            self.clear(if is_suffix { apostrophe } else { apostrophe + 1 }, *contraction_end);
            self.set(*contraction_end);
        }
    }
}

/// The masks assume that each class is one bit, and that the classes of letters are the lowest three bits.
const _: () = assert!(UPPER | LOWER | CASELESS | MARK | NUMBER | SPACE | NEWLINE | OTHER == 0xFF && LETTER == 7);
