//! The decoder `WordPiece` on strings that arrive in fragments.
//!
//! The beginning of a string is held back until it is certain whether it is the decoder's prefix, such as `##`. Other
//! text is held back as long as it can be the beginning of a string that the cleanup replaces.

use std::sync::OnceLock;

use super::super::needle::Needle;
use super::super::steps::REPAIRS;
use crate::util::atomic_cell::made_once;

fn needles() -> &'static Vec<Needle> {
    static NEEDLES: OnceLock<Vec<Needle>> = OnceLock::new();
    made_once(&NEEDLES, || REPAIRS.iter().map(|(old, _)| Needle::new(old.as_bytes())).collect())
}

/// State of `WordPiece` in one string.
#[derive(Debug, Clone)]
pub(super) struct Word {
    prefix: Option<usize>, // number of matched bytes of the prefix; None after the match has succeeded or failed
    repairs: Option<[usize; REPAIRS.len()]>, // state of each replacement of the cleanup; they run one after the other
    buffers: [Vec<u8>; 2],
}

impl Word {
    pub fn new(cleanup: bool) -> Self {
        Self { prefix: None, repairs: cleanup.then_some([0; REPAIRS.len()]), buffers: Default::default() }
    }

    /// Begins the next string of a text. Not called for the first string: there, a prefix such as `##` is kept.
    pub fn begin(&mut self) {
        self.prefix = Some(0);
    }

    pub fn part(&mut self, mut fragment: &[u8], prefix: &[u8], out: &mut Vec<u8>) {
        while let Some(matched) = self.prefix {
            if matched == prefix.len() {
                self.prefix = None;
                break;
            }
            match fragment.split_first() {
                None => return,
                Some((byte, rest)) if *byte == prefix[matched] => {
                    self.prefix = Some(matched + 1);
                    fragment = rest;
                }
                Some(_) => {
                    self.prefix = None;
                    self.write(b" ", out);
                    self.write(&prefix[..matched], out);
                }
            }
        }
        self.write(fragment, out);
    }

    /// Ends the string: appends the rest of its text.
    pub fn close(&mut self, prefix: &[u8], out: &mut Vec<u8>) {
        if let Some(matched) = self.prefix.take().filter(|&matched| matched < prefix.len()) {
            self.write(b" ", out);
            self.write(&prefix[..matched], out);
        }
        self.clean_up(&[], true, out);
    }

    fn write(&mut self, text: &[u8], out: &mut Vec<u8>) {
        if !text.is_empty() {
            self.clean_up(text, false, out);
        }
    }

    /// Applies the replacements, one after the other, to a part of the string. `ends` is true for the last part.
    fn clean_up(&mut self, text: &[u8], ends: bool, out: &mut Vec<u8>) {
        let Some(repairs) = &mut self.repairs else {
            out.extend_from_slice(text);
            return;
        };
        let [from, into] = &mut self.buffers;
        from.extend_from_slice(text);
        for ((matched, needle), (_, new)) in repairs.iter_mut().zip(needles()).zip(REPAIRS) {
            needle.replace(matched, from, new.as_bytes(), into, usize::MAX); // replacements never lengthen text
            if ends {
                needle.flush(matched, into);
            }
            from.clear();
            std::mem::swap(from, into);
        }
        out.append(from);
    }
}
