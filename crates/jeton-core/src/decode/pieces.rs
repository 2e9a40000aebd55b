//! List of strings in one buffer. Decoders read and write such lists.
//!
//! Invariant: `ends` is ascending, and its last entry is the end of the completed strings in `bytes`. The bytes
//! after it are the *open* string, to which more bytes can be appended.

#[derive(Debug, Clone, Default)]
pub(super) struct StringList {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl StringList {
    pub fn with_capacity(pieces: usize) -> Self {
        Self { bytes: Vec::with_capacity(4 * pieces), ends: Vec::with_capacity(pieces) }
    }

    /// Returns the buffer. Bytes that are appended to it belong to the open string.
    pub fn open(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Completes the open string.
    pub fn close(&mut self) {
        self.ends.push(self.bytes.len());
    }

    /// Completes the open string unless it is empty.
    pub fn close_unless_empty(&mut self) {
        if self.bytes.len() > self.ends.last().copied().unwrap_or(0) {
            self.close();
        }
    }

    pub fn push(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
        self.close();
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the ends of the completed strings.
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Joins all strings into one.
    pub fn fuse(&mut self) {
        self.ends.clear();
        self.close();
    }

    /// Returns the strings in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end])
    }

    /// Returns the strings in order, and the beginning of the open string. The flag is true for complete strings.
    pub fn fragments(&self) -> impl Iterator<Item = (&[u8], bool)> {
        let open = &self.bytes[self.ends.last().copied().unwrap_or(0)..];
        self.iter().map(|piece| (piece, true)).chain(std::iter::once((open, false)))
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
