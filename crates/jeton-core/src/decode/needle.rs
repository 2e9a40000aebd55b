//! Search for one string in text that arrives in fragments (Knuth, Morris and Pratt).
//!
//! Invariant: the text that is held back is always a prefix of the needle, so its length is the whole state.

/// A string to search for.
#[derive(Debug, Clone)]
pub(super) struct Needle {
    bytes: Box<[u8]>,
    borders: Box<[usize]>, // i -> length of the longest proper prefix of `bytes[..=i]` that is also its suffix
}

impl Needle {
    pub fn new(needle: &[u8]) -> Self {
        let mut borders = vec![0; needle.len()];
        for i in 1..needle.len() {
            let mut border = borders[i - 1];
            while border > 0 && needle[i] != needle[border] {
                border = borders[border - 1];
            }
            borders[i] = border + usize::from(needle[i] == needle[border]);
        }
        Self { bytes: needle.into(), borders: borders.into() }
    }

    pub fn text(&self) -> &[u8] {
        &self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Searches `text` up to the end of the first match, and appends the text before the match to `out`. `matched` is
    /// the number of bytes that are held back. If there is a match, returns the number of bytes read, and `matched`
    /// becomes 0. The needle must not be empty.
    pub fn find(&self, matched: &mut usize, text: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        let mut at = 0;
        while at < text.len() {
            if *matched == 0 {
                let skipped = text[at..].iter().position(|&byte| byte == self.bytes[0]).unwrap_or(text.len() - at);
                out.extend_from_slice(&text[at..at + skipped]);
                at += skipped;
                if at == text.len() {
                    break;
                }
            }
            if text[at] == self.bytes[*matched] {
                *matched += 1;
                at += 1;
                if *matched == self.bytes.len() {
                    *matched = 0;
                    return Some(at);
                }
            } else {
                let border = self.borders[*matched - 1];
                out.extend_from_slice(&self.bytes[..*matched - border]);
                *matched = border;
            }
        }
        None
    }

    /// Appends `text` with every match replaced by `with`, until `out` has more than `most` bytes. The needle must
    /// not be empty.
    pub fn replace(&self, matched: &mut usize, text: &[u8], with: &[u8], out: &mut Vec<u8>, most: usize) {
        let mut at = 0;
        while let Some(read) = self.find(matched, &text[at..], out) {
            out.extend_from_slice(with);
            at += read;
            if out.len() > most {
                return;
            }
        }
    }

    /// Appends the bytes that are held back. Call it at the end of the text.
    pub fn flush(&self, matched: &mut usize, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bytes[..std::mem::take(matched)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacing_in_fragments_equals_replacing_at_once() {
        let texts = ["", "a", "aabaabaaab", "aaaaaaa", "abababab", "xaabx▁▁a", "aab▁"];
        for needle in ["a", "aa", "aab", "abab", "aabaaab", "▁", "▁a", "▁▁"] {
            let needle_of = Needle::new(needle.as_bytes());
            for text in texts {
                let wanted = text.replace(needle, "-");
                for cut in 0..=text.len() {
                    let (mut out, mut matched) = (Vec::new(), 0);
                    for fragment in [&text.as_bytes()[..cut], &text.as_bytes()[cut..]] {
                        needle_of.replace(&mut matched, fragment, b"-", &mut out, usize::MAX);
                    }
                    needle_of.flush(&mut matched, &mut out);
                    assert_eq!(String::from_utf8_lossy(&out), wanted, "{needle} in {text}, cut at {cut}");
                }
            }
        }
    }
}
