//! `Strip` on strings that arrive in fragments.
//!
//! `Strip` removes characters at the end of a string, so the characters that it would remove if the string ended now
//! are held back.

/// State of `Strip` in one string.
#[derive(Debug, Clone, Default)]
pub(super) struct Stripped {
    removed: usize,  // number of characters removed at the start
    is_inside: bool, // true after the start has been stripped
    matched: usize,  // bytes held back because they may begin an occurrence of the character
    held: usize,     // number of occurrences of the character held back at the end
}

impl Stripped {
    /// Reads text, and strips `character`. After a mismatch, the comparison restarts at the first byte of `character`.
    /// Another occurrence cannot begin within the matched bytes: in UTF-8, the first byte of a character is a lead
    /// byte, and the other bytes are not.
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
                self.is_inside = true; // the matched bytes may be at the end, so they are held back
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
            self.release(character, out); // the text ends within an occurrence, which is not removed
        }
        *self = Self::default();
    }
}
