//! Conversion of bytes that arrive in fragments to text. An incomplete character is held back until it is complete.
//!
//! Invariant: the text does not depend on how the bytes are divided into fragments. [`Invalid::Replace`] gives the text
//! of `String::from_utf8_lossy`, with one U+FFFD for each maximal subpart of a character. Cost: linear; at most three
//! bytes are held back. Source: The Unicode Standard, section 3.9, U+FFFD substitution.

const REPLACEMENT: &str = "\u{fffd}";

/// Policy for invalid UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Invalid {
    /// One U+FFFD for each maximal subpart of a character.
    Replace,
    /// One U+FFFD for each invalid byte.
    ReplaceBytes,
    /// Nothing: the bytes are omitted.
    Ignore,
    /// An error.
    Strict,
}

/// Error for invalid UTF-8 under [`Invalid::Strict`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotUtf8 {
    pub at: usize, // byte offset from the start of the first fragment
    pub reason: &'static str,
}

/// Incremental UTF-8 decoder.
#[derive(Debug, Clone, Default)]
pub(super) struct Utf8 {
    held: [u8; 4], // bytes of an incomplete character
    len: usize,    // number of its bytes
    done: usize,   // number of bytes before the incomplete character
}

impl Utf8 {
    /// Reads a fragment, and calls `emit` with the text that is complete.
    pub fn push(&mut self, mut bytes: &[u8], invalid: Invalid, mut emit: impl FnMut(&str)) -> Result<(), NotUtf8> {
        while self.len > 0 {
            let Some((&byte, rest)) = bytes.split_first() else { return Ok(()) };
            self.held[self.len] = byte;
            match std::str::from_utf8(&self.held[..=self.len]) {
                Ok(character) => {
                    emit(character);
                    self.done += self.len + 1;
                    self.len = 0;
                    bytes = rest;
                }
                Err(error) if error.error_len().is_none() => {
                    self.len += 1;
                    bytes = rest;
                }
                Err(_) => self.reject_held("invalid continuation byte", invalid, &mut emit)?, // `byte` is processed again
            }
        }
        if let Some(text) = self.whole(bytes) {
            if !text.is_empty() {
                emit(text);
            }
            return Ok(());
        }
        let mut left = bytes.len();
        for chunk in bytes.utf8_chunks() {
            left -= chunk.valid().len() + chunk.invalid().len();
            if !chunk.valid().is_empty() {
                emit(chunk.valid());
                self.done += chunk.valid().len();
            }
            let rest = chunk.invalid();
            if rest.is_empty() {
                continue;
            }
            self.held[..rest.len()].copy_from_slice(rest);
            self.len = rest.len();
            if left > 0 || std::str::from_utf8(rest).is_err_and(|error| error.error_len().is_some()) {
                let is_lead = matches!(rest[0], 0xC2..=0xF4);
                let reason = if is_lead { "invalid continuation byte" } else { "invalid start byte" };
                self.reject_held(reason, invalid, &mut emit)?;
            }
        }
        Ok(())
    }

    /// Reads a fragment and returns it as text. Returns None, and reads nothing, if the fragment is not valid UTF-8 or
    /// if the text before it ends with an incomplete character. This is a fast path: nearly all fragments are valid,
    /// and for short texts it costs less than `utf8_chunks`.
    pub fn whole<'a>(&mut self, bytes: &'a [u8]) -> Option<&'a str> {
        if self.len > 0 {
            return None;
        }
        let text = std::str::from_utf8(bytes).ok()?;
        self.done += text.len();
        Some(text)
    }

    /// Ends the text. An incomplete character at its end is treated as invalid.
    pub fn finish(&mut self, invalid: Invalid, mut emit: impl FnMut(&str)) -> Result<(), NotUtf8> {
        match self.len {
            0 => Ok(()),
            _ => self.reject_held("unexpected end of data", invalid, &mut emit),
        }
    }

    /// Removes and returns the bytes of an incomplete character at the end of the text so far.
    pub fn take_incomplete(&mut self) -> &[u8] {
        let len = std::mem::take(&mut self.len);
        self.done += len;
        &self.held[..len]
    }

    /// Returns true if the text so far ends inside a character.
    pub fn is_incomplete(&self) -> bool {
        self.len > 0
    }

    fn reject_held(
        &mut self,
        reason: &'static str,
        invalid: Invalid,
        emit: &mut impl FnMut(&str),
    ) -> Result<(), NotUtf8> {
        let (len, at) = (std::mem::take(&mut self.len), self.done);
        self.done += len;
        match invalid {
            Invalid::Replace => emit(REPLACEMENT),
            Invalid::ReplaceBytes => (0..len).for_each(|_| emit(REPLACEMENT)),
            Invalid::Ignore => {}
            Invalid::Strict => return Err(NotUtf8 { at, reason }),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(fragments: &[&[u8]], invalid: Invalid) -> Result<String, NotUtf8> {
        let (mut utf8, mut text) = (Utf8::default(), String::new());
        for fragment in fragments {
            utf8.push(fragment, invalid, |some| text.push_str(some))?;
        }
        utf8.finish(invalid, |some| text.push_str(some))?;
        Ok(text)
    }

    #[test]
    fn decoding_in_fragments_equals_decoding_at_once() {
        let pieces: [&[u8]; 12] = [
            b"a",
            "é".as_bytes(),
            "空".as_bytes(),
            "🙂".as_bytes(),
            b"\xff",
            b"\x80",
            b"\xe7\xa9",
            b"\xf0\x9f\x99",
            b"\xed\xa0",
            b"\xc0",
            b"\xf4\x90",
            b"\xe0\x80",
        ];
        for first in pieces {
            for second in pieces {
                for third in pieces {
                    let bytes = [first, second, third].concat();
                    let wanted = String::from_utf8_lossy(&bytes);
                    let strict = std::str::from_utf8(&bytes);
                    let alone: Vec<&[u8]> = bytes.chunks(1).collect();
                    for fragments in [&[&bytes[..]][..], &[first, second, third][..], &alone[..]] {
                        assert_eq!(decoded(fragments, Invalid::Replace).unwrap_or_default(), wanted, "{fragments:x?}");
                        let at = decoded(fragments, Invalid::Strict).map_err(|error| error.at);
                        assert_eq!(at, strict.map(str::to_owned).map_err(|error| error.valid_up_to()));
                        let kept: String = bytes.utf8_chunks().map(|chunk| chunk.valid()).collect();
                        assert_eq!(decoded(fragments, Invalid::Ignore).unwrap_or_default(), kept);
                        let each = |chunk: std::str::Utf8Chunk<'_>| {
                            chunk.valid().to_owned() + &REPLACEMENT.repeat(chunk.invalid().len())
                        };
                        let each: String = bytes.utf8_chunks().map(each).collect();
                        assert_eq!(decoded(fragments, Invalid::ReplaceBytes).unwrap_or_default(), each);
                    }
                }
            }
        }
    }
}
