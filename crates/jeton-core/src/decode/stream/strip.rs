//! `Strip` on strings that arrive in fragments.
//!
//! Held back: as many characters at the end of the text so far as may still be removed.

/// State of `Strip` in one string.
#[derive(Debug, Clone, Default)]
pub(super) struct Stripped {
    removed: usize,  // characters removed at the start
    is_inside: bool, // true after the start has been stripped
    matched: usize,  // bytes held back of an incomplete occurrence of the character
    held: usize,     // occurrences of the character held back at the end
}

impl Stripped {
    /// Reads text. A character of UTF-8 does not overlap with itself, so a mismatch restarts the comparison.
    pub fn part(&mut self, text: &[u8], character: &[u8], start: usize, stop: usize, out: &mut Vec<u8>) {
        let mut rest = text;
        while let (false, Some((&byte, after))) = (self.is_inside, rest.split_first()) {
            if self.removed < start && byte == character[self.matched] {
                rest = after;
                self.matched += 1;
                if self.matched == character.len() {
                    self.matched = 0;
                    self.removed += 1;
                }
            } else {
                self.is_inside = true; // the matched bytes are held back, since they may be at the end
                if self.matched > 0 && stop == 0 {
                    self.release(character, out);
                }
            }
        }
        if stop == 0 {
            out.extend_from_slice(rest);
            return;
        }
        for &byte in rest {
            if byte != character[self.matched] {
                self.release(character, out);
            }
            if byte != character[self.matched] {
                out.push(byte);
                continue;
            }
            self.matched += 1;
            if self.matched == character.len() {
                self.matched = 0;
                self.held += 1;
                if self.held > stop {
                    self.held = stop;
                    out.extend_from_slice(character);
                }
            }
        }
    }

    /// Appends all text that is held back.
    fn release(&mut self, character: &[u8], out: &mut Vec<u8>) {
        for _ in 0..std::mem::take(&mut self.held) {
            out.extend_from_slice(character);
        }
        out.extend_from_slice(&character[..std::mem::take(&mut self.matched)]);
    }

    /// Ends the string.
    pub fn close(&mut self, character: &[u8], out: &mut Vec<u8>) {
        if self.matched > 0 {
            self.release(character, out); // the text ends in a part of the character
        }
        *self = Self::default();
    }
}
