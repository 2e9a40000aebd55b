//! Finds the lines of a text, as ranges that do not include the line ends.

use super::Span;
use crate::error::Result;
use crate::util::alloc;

/// Returns the number of line ends.
pub fn count_ends(text: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', text).count()
}

/// Returns the ranges of the lines; the last line need not have a line end. A line end is `\n` or `\r\n`.
///
/// # Errors
/// [`crate::error::ErrorKind::Memory`].
pub fn spans(text: &str) -> Result<Vec<Span>> {
    let bytes = text.as_bytes();
    let mut spans = alloc::with_capacity(count_ends(bytes) + 1)?;
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', bytes).chain((!text.is_empty()).then_some(bytes.len())) {
        if start < bytes.len() {
            let has_return = end > start && bytes[end - 1] == b'\r';
            spans.push((start, end - usize::from(has_return)));
        }
        start = end + 1;
    }
    Ok(spans)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn spans_exclude_line_ends() {
        let lines = |text: &'static str| -> Vec<&str> {
            spans(text).unwrap().into_iter().map(|(start, end)| &text[start..end]).collect()
        };
        assert_eq!(lines(""), [""; 0]);
        assert_eq!(lines("\n"), [""]);
        assert_eq!(lines("a\n\nb\r\n\r\nc\r\r\n"), ["a", "", "b", "", "c\r"]);
        assert_eq!(lines("a\nb\r"), ["a", "b"]);
        assert_eq!(lines("\u{4e2d}\r"), ["\u{4e2d}"]);
        assert_eq!(count_ends(b"a\n\nb"), 2);
    }
}
