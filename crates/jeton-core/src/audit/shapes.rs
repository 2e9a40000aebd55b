//! Shapes of entries: digits, white space, partial characters, and forms of private data.
//!
//! The form of an entry does not prove that its data is private: an address in a vocabulary was frequent in the
//! training corpus, and could be public. The report of the Python package says so.
//!
//! Cost: linear in the bytes of the vocabulary.

use crate::error::Result;
use crate::tokenizer::Tokenizer;
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::vocab::Kind;

/// Properties of the decoded bytes of an entry, one bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shape(pub u32);

impl Shape {
    /// The bytes are not whole characters.
    pub const PART: u32 = 1;
    /// The text has only ASCII digits.
    pub const DIGITS: u32 = 1 << 1;
    /// The text has only white space.
    pub const WHITE: u32 = 1 << 2;
    /// The text begins with a space and has no other white space.
    pub const LEADING_SPACE: u32 = 1 << 3;
    /// The text contains a line feed or a carriage return.
    pub const NEWLINE: u32 = 1 << 4;
    /// The text contains a tab.
    pub const TAB: u32 = 1 << 5;
    /// The text contains an e-mail address, `name@host.tld`.
    pub const EMAIL: u32 = 1 << 6;
    /// The text contains a scheme with a host, or a host in a public domain.
    pub const URL: u32 = 1 << 7;
    /// The text contains at least nine digits with separators, such as a phone number.
    pub const PHONE: u32 = 1 << 8;
    /// The text contains at least 16 successive hexadecimal digits.
    pub const HEX: u32 = 1 << 9;
    /// The text contains at least 24 successive base64 characters.
    pub const BASE64: u32 = 1 << 10;
    /// The text contains a host in a private domain.
    pub const HOST: u32 = 1 << 11;
    /// The text contains the path of a home folder.
    pub const HOME: u32 = 1 << 12;
    /// The text contains an IPv4 address.
    pub const ADDRESS: u32 = 1 << 13;

    /// Returns true if all of `bits` are set.
    pub fn has(self, bits: u32) -> bool {
        self.0 & bits == bits
    }
}

const PUBLIC: [&str; 12] = ["com", "net", "org", "info", "edu", "gov", "io", "ru", "de", "fr", "jp", "cn"];
const PRIVATE: [&str; 6] = ["local", "internal", "intranet", "lan", "corp", "localdomain"];

/// Returns the shape and the length of the text of each id. The length is in characters; if the id decodes to invalid
/// UTF-8 (part of a character), it is in bytes.
///
/// # Errors
/// `Interrupted`.
pub fn shapes(tok: &Tokenizer, keep_going: KeepGoing<'_>) -> Result<(Vec<Shape>, Vec<u32>)> {
    let len = tok.vocab().len();
    let (mut shapes, mut lengths) = (vec![Shape::default(); len], vec![0; len]);
    let (mut cancel, mut decoded) = (CancelCheck::new(keep_going), Vec::new());
    for (id, kind, _) in tok.vocab().iter() {
        cancel.check()?;
        if matches!(kind, Kind::Special | Kind::Byte) {
            continue;
        }
        decoded.clear();
        tok.decode_one(id, &mut decoded);
        let text = std::str::from_utf8(&decoded);
        shapes[id as usize] = text.map_or(Shape(Shape::PART), shape);
        lengths[id as usize] = text.map_or(decoded.len(), |text| text.chars().count()) as u32;
    }
    Ok((shapes, lengths))
}

/// Returns the shape of a text.
pub fn shape(text: &str) -> Shape {
    let is_white = |c: char| c.is_whitespace();
    let mut bits = 0;
    let mut set = |bit, is_so| bits |= if is_so { bit } else { 0 };
    set(Shape::DIGITS, !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
    set(Shape::WHITE, !text.is_empty() && text.chars().all(is_white));
    set(
        Shape::LEADING_SPACE,
        text.strip_prefix(' ').is_some_and(|rest| !rest.is_empty() && !rest.starts_with(is_white)),
    );
    set(Shape::NEWLINE, text.contains(['\n', '\r']));
    set(Shape::TAB, text.contains('\t'));
    if text.len() >= 7 {
        let text = text.trim();
        let is_email = is_email(text);
        set(Shape::EMAIL, is_email);
        set(Shape::URL, has_scheme(text) || !is_email && hosts(text).any(|host| is_in(host, &PUBLIC)));
        set(Shape::HOST, hosts(text).any(|host| is_in(host, &PRIVATE)));
        set(Shape::PHONE, is_phone(text));
        set(Shape::HEX, has_hex(text));
        set(Shape::BASE64, has_base64(text));
        set(Shape::HOME, ["/home/", "/Users/", "\\Users\\"].iter().any(|home| follows(text, home)));
        set(Shape::ADDRESS, has_address(text));
    }
    Shape(bits)
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+')
}

/// Returns the possible host names: runs of ASCII letters, digits, `-` and `.` that contain a `.`.
fn hosts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '.').filter(|run| run.contains('.'))
}

/// Returns true if the host is a name of at least three characters in one of the domains.
fn is_in(host: &str, domains: &[&str]) -> bool {
    let Some((name, domain)) = host.trim_end_matches('.').rsplit_once('.') else { return false };
    let name = name.rsplit('.').next().unwrap_or_default();
    let is_domain = domains.contains(&domain);
    is_domain && name.len() >= 3 && name.bytes().any(|byte| byte.is_ascii_alphabetic())
}

fn is_email(text: &str) -> bool {
    let Some((name, host)) = text.split_once('@') else { return false };
    let has_name = name.chars().next_back().is_some_and(|c| c.is_alphanumeric());
    let end = host.find(|c| !is_name(c)).unwrap_or(host.len());
    let host = host[..end].trim_end_matches('.');
    has_name && host.rsplit_once('.').is_some_and(|(name, tld)| name.len() >= 2 && tld.len() >= 2)
}

/// Returns true if the text contains `start`, followed by a name.
fn follows(text: &str, start: &str) -> bool {
    let Some((_, rest)) = text.split_once(start) else { return false };
    rest.chars().take_while(|c| c.is_alphanumeric()).count() >= 2
}

fn has_scheme(text: &str) -> bool {
    let hosts = ["://", "www."].iter().filter_map(|start| text.split_once(start));
    hosts.into_iter().any(|(_, rest)| {
        let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        let is_inside = |dot: usize| dot > 0 && dot + 2 < end;
        rest[..end].find('.').is_some_and(is_inside)
    })
}

fn is_phone(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let is_separator = |c: char| matches!(c, ' ' | '-' | '.' | '(' | ')' | '/' | '+');
    let has_groups = text.starts_with('+') || text.matches(['-', ' ', ')']).count() >= 2;
    (9..=15).contains(&digits) && has_groups && text.chars().all(|c| c.is_ascii_digit() || is_separator(c))
}

/// Returns the runs of bytes for which `is_in_run` returns true.
fn runs(text: &str, is_in_run: impl Fn(u8) -> bool) -> impl Iterator<Item = &[u8]> {
    text.as_bytes().split(move |&byte| !is_in_run(byte))
}

fn has_hex(text: &str) -> bool {
    runs(text, |byte| byte.is_ascii_alphanumeric()).any(|run| {
        let digits = run.iter().filter(|byte| byte.is_ascii_digit()).count();
        run.len() >= 16 && run.iter().all(u8::is_ascii_hexdigit) && digits >= 4 && run.len() - digits >= 2
    })
}

fn has_base64(text: &str) -> bool {
    runs(text, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')).any(|run| {
        let count = |is_of: fn(&u8) -> bool| run.iter().filter(|&byte| is_of(byte)).count();
        let changes = run.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count();
        let is_mixed = count(u8::is_ascii_uppercase) >= 3 && count(u8::is_ascii_lowercase) >= 3;
        run.len() >= 24 && is_mixed && count(u8::is_ascii_digit) >= 3 && changes >= 4
    })
}

fn has_address(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_digit() && c != '.').any(|run| {
        let numbers: Vec<&str> = run.split('.').collect();
        numbers.len() == 4 && numbers.iter().all(|number| number.parse::<u8>().is_ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_private_data_are_found() {
        for (text, bit) in [
            ("jane.doe@example.org", Shape::EMAIL),
            (" info@example.co.uk", Shape::EMAIL),
            ("https://example.org/x", Shape::URL),
            ("//www.example.org", Shape::URL),
            ("example.com", Shape::URL),
            ("+49 30 1234567", Shape::PHONE),
            ("(555) 010-9999 1", Shape::PHONE),
            ("deadbeef01234567", Shape::HEX),
            ("QUJD12RERk34dGhpcyBp56czEy", Shape::BASE64),
            ("printer7.local", Shape::HOST),
            ("/home/jane/work", Shape::HOME),
            ("C:\\Users\\jane", Shape::HOME),
            ("192.168.0.17", Shape::ADDRESS),
        ] {
            assert!(shape(text).has(bit), "{text}: {:b}", shape(text).0);
        }
        for text in [
            "example",
            "@interface",
            "foo@bar",
            "://",
            "www.",
            ".com",
            "1.2.3",
            "0000000000000000",
            "abcdefabcdefabcdef",
            "2011-2012",
            "1,000,000,000",
            "/home/",
            "internationalization",
            "getElementsByTagName2x",
            "aaaa.bbbb.cccc",
        ] {
            assert_eq!(shape(text).0 >> 6, 0, "{text}: {:b}", shape(text).0);
        }
    }

    #[test]
    fn digits_and_white_space_are_found() {
        for (text, bits) in [
            ("123", Shape::DIGITS),
            (" 123", Shape::LEADING_SPACE),
            ("  ", Shape::WHITE),
            ("\t\n", Shape::WHITE | Shape::TAB | Shape::NEWLINE),
            ("  a", 0),
            ("", 0),
            ("٣", 0),
        ] {
            assert_eq!(shape(text).0, bits, "{text:?}");
        }
    }
}
