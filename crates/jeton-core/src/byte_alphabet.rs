//! GPT-2's byte alphabet: 256 printable characters that stand in for the bytes, so that files can spell any bytes as text.
//!
//! Bytes that are printable in Latin-1 stand for themselves; the others, in order, for U+0100, U+0101 and so on.
//! Source: openai/gpt-2 src/encoder.py, `bytes_to_unicode`.

/// Bytes that stand for themselves.
fn is_printable(byte: u8) -> bool {
    matches!(byte, 33..=126 | 161..=172 | 174..=255)
}

const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let (mut byte, mut next) = (0usize, 256u16);
    while byte < 256 {
        table[byte] = match byte {
            33..=126 | 161..=172 | 174..=255 => byte as u16,
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

/// The character that stands in for `byte`.
pub fn stand_in(byte: u8) -> char {
    char::from_u32(TO_CHAR[usize::from(byte)].into()).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The byte that `c` stands in for.
pub fn byte(c: char) -> Option<u8> {
    match u32::from(c) {
        code @ 0..=255 => Some(code as u8).filter(|&byte| is_printable(byte)),
        code @ 256..=323 => (0..=255).find(|&byte| u32::from(TO_CHAR[usize::from(byte)]) == code),
        _ => None,
    }
}

/// Spells `bytes` in the byte alphabet.
pub fn spell(bytes: &[u8], out: &mut String) {
    out.extend(bytes.iter().map(|&byte| stand_in(byte)));
}

/// Reads a spelling back into `out`.
///
/// # Errors
/// The first character that stands in for no byte.
pub fn read(spelling: &str, out: &mut Vec<u8>) -> Result<(), char> {
    for c in spelling.chars() {
        out.push(byte(c).ok_or(c)?);
    }
    Ok(())
}

/// Appends what a text in the byte alphabet stands for; a character that stands for no byte is itself, in UTF-8.
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
    fn every_byte_has_its_own_character() {
        for b in 0..=255 {
            assert_eq!(byte(stand_in(b)), Some(b));
        }
        assert_eq!(stand_in(b' '), 'Ġ');
        assert_eq!(stand_in(b'\n'), 'Ċ');
        assert_eq!(byte(' '), None);
        assert_eq!(byte('\u{144}'), None);
    }
}
