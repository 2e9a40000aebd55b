//! Writes tables of Unicode properties: the classes of the named patterns (`util/classes.rs`) and character sets of
//! Hugging Face's pre-tokenizers (`pretokenize/parts/characters.rs`). Building them at run time would take longer
//! than encoding a page.

#![allow(missing_docs, clippy::unwrap_used, reason = "a build that cannot go on fails")]

use std::fs;
use std::path::Path;

#[path = "src/util/class_bits.rs"]
#[allow(dead_code, reason = "those of several classes are for the library")]
mod class_bits;
#[path = "src/util/property_table.rs"]
#[allow(dead_code, reason = "lookups are for the library")]
mod property_table;

use class_bits::{CASELESS, LOWER, MARK, NEWLINE, NUMBER, OTHER, SPACE, UPPER};
use property_table::{ranges, PropertyTable};

/// Regex of the characters of a class → bit of the class. If several regexes match a character, the last one applies.
const CLASSES: [(&str, u8); 7] = [
    (r"[\p{Lu}\p{Lt}]", UPPER),
    (r"\p{Ll}", LOWER),
    (r"[\p{Lm}\p{Lo}]", CASELESS),
    (r"\p{M}", MARK),
    (r"\p{N}", NUMBER),
    (r"\s", SPACE),
    (r"[\r\n]", NEWLINE),
];

/// Lists of character ranges to generate, as (name of the list, regex class of the characters in the list).
const SETS: [(&str, &str); 3] = [
    ("PUNCTUATION", r"[!-/:-@\[-`{-~\x{166D}\x{111C9}[\p{P}&&\p{age=8.0}]]"),
    ("NUMBER", r"[\p{N}\x{11DE0}-\x{11DE9}\x{16FF4}-\x{16FF6}]"), // of Unicode 17: 13 more than in 16
    ("WORD", r"\w"),
];

fn main() {
    for path in ["build.rs", "src/util/property_table.rs", "src/util/class_bits.rs"] {
        println!("cargo::rerun-if-changed={path}");
    }
    let folder = std::env::var_os("OUT_DIR").unwrap();
    let write = |name: &str, text: String| fs::write(Path::new(&folder).join(name), text).unwrap();
    let table = PropertyTable::new(OTHER, &CLASSES);
    let (blocks, values) = (&table.blocks, &table.values);
    let (num_blocks, num_values) = (blocks.len(), values.len());
    write(
        "classes.rs",
        format!("static BLOCKS: [u16; {num_blocks}] = {blocks:?};\nstatic VALUES: [u8; {num_values}] = {values:?};\n"),
    );
    let sets = SETS.map(|(name, class)| {
        let ranges = ranges(class);
        format!("static {name}: [(u32, u32); {}] = {ranges:?};\n", ranges.len())
    });
    write("characters.rs", sets.concat());
}
