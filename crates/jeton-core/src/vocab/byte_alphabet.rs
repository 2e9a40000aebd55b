//! GPT-2's byte alphabet: one printable character for each of the 256 bytes, so that files can spell any bytes as text.
//!
//! A byte that is printable in Latin-1 is spelled as this Latin-1 character. The other bytes are spelled, in order, as
//! U+0100, U+0101 and so on.
//! Source: openai/gpt-2 src/encoder.py, `bytes_to_unicode`.

const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let (mut byte, mut next) = (0usize, 256u16);
    while byte < 256 {
        table[byte] = match byte {
            33..=126 | 161..=172 | 174..=255 => byte as u16, // printable in Latin-1
            _ => {
                next += 1;
                next - 1
            }
        };
        byte += 1;
    }
    table
}

static TO_CHAR: [u16; 256] = table();

/// Character → byte; a value over 255 for a character outside of the alphabet.
static TO_BYTE: [u16; 324] = back();

const fn back() -> [u16; 324] {
    let mut back = [u16::MAX; 324];
    let (table, mut byte) = (table(), 0);
    while byte < 256 {
        back[table[byte] as usize] = byte as u16;
        byte += 1;
    }
    back
}

/// Returns the character of `byte`.
pub fn stand_in(byte: u8) -> char {
    char::from_u32(TO_CHAR[usize::from(byte)].into()).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Returns the byte that `c` spells; None outside of the alphabet.
#[inline]
pub fn byte(c: char) -> Option<u8> {
    TO_BYTE.get(c as usize).and_then(|&byte| u8::try_from(byte).ok())
}

/// Spells `bytes` in the byte alphabet.
pub fn spell(bytes: &[u8], out: &mut String) {
    out.extend(bytes.iter().map(|&byte| stand_in(byte)));
}

/// Appends the bytes of a spelling to `out`.
///
/// # Errors
/// Returns the first character that is not in the alphabet.
pub fn read(spelling: &str, out: &mut Vec<u8>) -> Result<(), char> {
    for c in spelling.chars() {
        out.push(byte(c).ok_or(c)?);
    }
    Ok(())
}

/// Appends the bytes of a spelling; characters outside of the alphabet are appended as UTF-8.
pub fn push_bytes(spelling: &str, out: &mut Vec<u8>) {
    for c in spelling.chars() {
        match byte(c) {
            Some(byte) => out.push(byte),
            None => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_a_distinct_character() {
        for b in 0..=255 {
            assert_eq!(byte(stand_in(b)), Some(b));
        }
        assert_eq!(stand_in(b' '), 'Ġ');
        assert_eq!(stand_in(b'\n'), 'Ċ');
        assert_eq!((byte(' '), byte('\u{AD}')), (None, None));
        assert_eq!(byte('\u{144}'), None);
    }
}
