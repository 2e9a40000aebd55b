//! Pretoken starts by Boolean algebra on bit masks: 64 bytes at a time, without branches on ordinary text.
//!
//! Each character class is a mask with one bit for each byte. "A letter that no letter precedes" is `letters & !(letters <<
//! 1)`, with the last bit of each mask carried into the next block. An addition fills a run: `(seed + run) ^ run` has the
//! bits of `run` from `seed` to the end of the run.
//!
//! The algebra is exact on *easy* text. Text that 64 bytes do not determine is marked as *hard*, and the caller splits it
//! with the scanner: white space and numbers beyond ASCII, a capital after a letter without case, a mark after a symbol.
//! The caller also handles white space at the end of the text.
//!
//! Source of the idea, byte classes as masks: simdjson (Langdale and Lemire 2019, arXiv 1902.08318); gigatoken and Hugging
//! Face's tokenizers 1.0 split text like this. The algebra is our own.

use super::Starts;
use crate::pretokenize::scanner::{contraction, Contraction, Family};
use crate::util::classes::{Classes, CASELESS, LETTER, LOWER, MARK, NEWLINE, NUMBER, OTHER, SPACE, UPPER};
use crate::util::simd::block::Block;

/// One mask for each class, in the order of the classes' bits.
type Masks = [u64; 8];

/// State carried to the next block: properties of the last byte, as the lowest bit.
#[derive(Default)]
struct Before {
    letters: u64,
    numbers: u64, // the last three bytes
    spaces: u64,
    newlines: u64,
    symbols: u64,
    blank: u64, // the space character
    absorbed: u64,
    first_symbol: u64,
    withdrawn: u64, // in spaces whose start is removed if they end in a newline
    capitals: u64,
    lower: u64,
    groups: u64, // starts of digit groups among the last three bytes
}

/// Classes of the first bytes of a block, which may belong to a character of the previous block.
type Spill = [u8; 4];

const fn index(class: u8) -> usize {
    class.trailing_zeros() as usize
}

/// Returns the bits of `run` from each bit of `seed` to the end of its run.
#[inline(always)]
fn flood(seed: u64, run: u64) -> u64 {
    ((seed & run).wrapping_add(run) ^ run | seed) & run
}

/// Returns the masks of 64 bytes at `at`.
#[inline(always)]
fn classify<B: Block>(
    proof: B::Proof,
    block: B,
    classes: &Classes,
    text: &[u8],
    at: usize,
    spill: &mut Spill,
) -> Masks {
    let mut masks = [0; 8];
    let wide = block.wide();
    masks[index(UPPER)] = block.within(b'A', b'Z');
    masks[index(LOWER)] = block.within(b'a', b'z');
    masks[index(NUMBER)] = block.within(b'0', b'9');
    masks[index(NEWLINE)] = block.equal(b'\n') | block.equal(b'\r');
    masks[index(SPACE)] = (block.equal(b' ') | block.within(b'\t', b'\r')) & !masks[index(NEWLINE)];
    let named = masks.iter().fold(wide, |all, mask| all | mask);
    masks[index(OTHER)] = !named;
    if wide != 0 {
        classify_wide(proof, block, wide, classes, text, at, spill, &mut masks);
    } else {
        *spill = Spill::default();
    }
    masks
}

/// Adds the characters beyond ASCII.
///
/// Each character writes its class to four bytes, beginning at its first; the next character overwrites the excess, and
/// bytes that are not part of a character are masked.
#[inline(always)]
#[allow(clippy::too_many_arguments)] // all of it lives in registers
fn classify_wide<B: Block>(
    proof: B::Proof,
    block: B,
    wide: u64,
    classes: &Classes,
    text: &[u8],
    at: usize,
    spill: &mut Spill,
    masks: &mut Masks,
) {
    // Caseless letters by their first byte: Han from U+5000 on and most of U+4E00 to U+4FFF, Hangul from U+B000 to
    // U+CFFF.
    let caseless =
        block.within(0xE5, 0xE9) | block.within(0xEB, 0xEC) | block.equal(0xE4) & block.within(0xB8, 0xBF) >> 1;
    let mut kinds = [0; 64 + 4];
    kinds[..4].copy_from_slice(spill);
    let mut rest = wide & !block.within(0x80, 0xBF) & !caseless;
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

impl Starts {
    /// Finds the starts in the first `len` bytes of `text`, which begins with a pretoken. `len` is the length
    /// of the text, or divisible by 64.
    #[inline(always)]
    pub(super) fn algebra<F: Family, B: Block>(&mut self, proof: B::Proof, classes: &Classes, text: &[u8], len: usize) {
        let mut before = Before::default();
        let mut spill = Spill::default();
        let mut contraction_end = 0;
        let mut at = 0;
        while at < len {
            let mut copy = [0; 64]; // zeros are symbols, which are masked below
            let bytes = match text.get(at..).and_then(|rest| rest.first_chunk()) {
                Some(bytes) => bytes,
                None => {
                    copy[..text.len() - at].copy_from_slice(&text[at..]);
                    &copy
                }
            };
            let valid = if len - at < 64 { (1 << (len - at)) - 1 } else { u64::MAX };
            let block = B::load(proof, bytes);
            let masks = classify(proof, block, classes, text, at, &mut spill).map(|mask| mask & valid);
            let later = block.within(0x80, 0xBF); // continuation bytes
            self.step::<F, B>(block, &masks, later, valid, text, at, &mut before, &mut contraction_end);
            at += 64;
        }
    }

    /// Processes one block.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)] // all of it lives in registers
    fn step<F: Family, B: Block>(
        &mut self,
        block: B,
        masks: &Masks,
        later: u64,
        valid: u64,
        text: &[u8],
        at: usize,
        before: &mut Before,
        contraction_end: &mut usize,
    ) {
        let rules = F::RULES;
        let of = |class: u8| masks[index(class)];
        let (marks, others) = (of(MARK), of(OTHER));
        let (capitals, lower, numbers) = (of(UPPER), of(LOWER), of(NUMBER));
        let letters = capitals | lower | of(CASELESS) | if rules.cased { marks } else { 0 };
        let symbols = if rules.cased { others } else { others | marks };
        let newlines = if rules.newlines { of(NEWLINE) } else { 0 };
        let spaces = if rules.newlines { of(SPACE) } else { of(SPACE) | of(NEWLINE) };
        let blank = block.equal(b' ');

        let after_letter = letters << 1 | before.letters;
        let after_space = spaces << 1 | before.spaces;
        let after_newline = newlines << 1 | before.newlines;
        let after_blank = blank << 1 | before.blank;

        // Line ends, and slashes among them, that belong to preceding symbols.
        let mut absorbed = 0;
        if rules.newlines {
            let tail = if rules.slashes { newlines | block.equal(b'/') & valid } else { newlines };
            let seed = newlines & (symbols << 1 | before.symbols) | tail & before.absorbed;
            absorbed = flood(seed, tail);
        }
        let symbols_left = symbols & !absorbed;
        // Symbols without a prefix, and the byte after the first of them: it prefixes a word there.
        let after_symbol = symbols_left << 1 | before.symbols & !before.absorbed;
        let free = symbols_left & !later & !after_symbol & !after_blank;
        let first_symbols = free | flood((free << 1 | before.first_symbol) & later, later);
        let after_first = (first_symbols << 1 | before.first_symbol) & !later;
        let mut starts = free;

        // Words.
        let words = letters & !after_letter;
        starts |= if rules.any_prefix { words & !(after_space | after_first) } else { words & !after_blank };
        let mut hard = 0;
        if rules.cased {
            let after_capital = capitals << 1 | before.capitals;
            let after_lower = lower << 1 | before.lower;
            starts |= capitals & after_lower;
            hard |= capitals & !after_capital & !after_lower & after_letter;
        }

        // Numbers.
        let after_number = numbers << 1 | before.numbers >> 2;
        let first_digits = numbers & !after_number;
        match rules.digits {
            1 => starts |= numbers & !later,
            usize::MAX => starts |= if rules.any_prefix { first_digits } else { first_digits & !after_blank },
            _ => {
                let fourth =
                    numbers & after_number & (numbers << 2 | before.numbers >> 1) & (numbers << 3 | before.numbers);
                let mut group = (first_digits << 3 | before.groups) & fourth;
                let mut groups = first_digits | group;
                while group != 0 {
                    group = group << 3 & fourth;
                    groups |= group;
                }
                starts |= groups;
                before.groups = groups >> 61;
            }
        }

        // White space: its first character starts a pretoken, and so does its last one before other characters.
        starts |= spaces & !after_space;
        let solid_after_space = valid & !(spaces | newlines) & after_space;
        starts |= solid_after_space >> 1;
        if solid_after_space & 1 != 0 && at > 0 {
            self.bits[at / 64 - 1] |= 1 << 63;
        }
        if rules.newlines {
            starts |= newlines & !absorbed & !after_space & !after_newline;
            // White space up to its last newline is one pretoken: spaces between two newlines start none.
            let after_absorbed = absorbed << 1 | before.absorbed;
            let seed = spaces & !after_space & after_newline & !after_absorbed | spaces & before.withdrawn;
            let ends_at_once = newlines & before.withdrawn;
            before.withdrawn = 0;
            if seed | ends_at_once != 0 {
                let reach = flood(seed, spaces);
                before.withdrawn = reach >> 63;
                let mut ends = (reach << 1) & newlines | ends_at_once;
                self.bits[at / 64] |= starts;
                starts = 0;
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
        self.bits[at / 64] |= starts;

        // Contractions. One may have begun in the previous block.
        if *contraction_end > at {
            self.clear(at, *contraction_end);
        }
        let apostrophes = block.equal(b'\'');
        let mut candidates = apostrophes & if rules.contraction == Contraction::Suffix { after_letter } else { free };
        while candidates != 0 {
            let bit = candidates.trailing_zeros() as usize;
            candidates &= candidates - 1;
            let apostrophe = at + bit;
            let length = contraction::<F>(text, apostrophe + 1);
            if length == 0 || rules.contraction == Contraction::Suffix && *contraction_end == apostrophe {
                continue;
            }
            *contraction_end = apostrophe + 1 + length;
            let from = if rules.contraction == Contraction::Suffix { apostrophe } else { apostrophe + 1 };
            self.clear(from, *contraction_end);
            self.set(*contraction_end);
        }

        let foreign = block.wide() & !later; // first bytes of characters beyond ASCII
        hard |= foreign & (spaces | if rules.digits == usize::MAX { 0 } else { numbers });
        if rules.cased {
            hard |= marks & !later & (others << 1 | before.symbols);
        }
        while hard != 0 {
            self.hard.push((at + hard.trailing_zeros() as usize) as u32);
            hard &= hard - 1;
        }

        before.letters = letters >> 63;
        before.numbers = numbers >> 61;
        before.spaces = spaces >> 63;
        before.newlines = newlines >> 63;
        before.symbols = symbols >> 63;
        before.blank = blank >> 63;
        before.absorbed = absorbed >> 63;
        before.first_symbol = first_symbols >> 63;
        before.capitals = capitals >> 63;
        before.lower = lower >> 63;
    }
}

/// Bits that the masks of classes assume.
const _: () = assert!(UPPER | LOWER | CASELESS | MARK | NUMBER | SPACE | NEWLINE | OTHER == 0xFF && LETTER == 7);
