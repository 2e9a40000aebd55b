//! Effect of a stage on the position between two adjacent characters.

/// Effect of a stage on the position between two adjacent characters, whatever precedes and follows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairEffect {
    /// The stage splits the text between the characters, and processes both sides independently.
    Split,
    /// The stage processes both sides independently, and these two characters are adjacent in its output.
    Keep(char, char),
    /// The effect is not known, or depends on more than the two characters.
    Unknown,
}
