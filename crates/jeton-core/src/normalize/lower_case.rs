//! Lower case by Unicode 17.

/// Returns the lower case by Unicode 17, even if the compiler's tables are older.
pub(super) fn lower(c: char) -> std::char::ToLowercase {
    let code = c as u32;
    let simple = match code {
        0xA7CE | 0xA7D2 | 0xA7D4 => code + 1,
        0x16EA0..=0x16EB8 => code + 0x1B,
        _ => return c.to_lowercase(),
    };
    char::from_u32(simple).unwrap_or(c).to_lowercase()
}
