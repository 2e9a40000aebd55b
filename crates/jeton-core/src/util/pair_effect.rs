//! Effect of a stage on the position between two adjacent characters.

/// What a stage does between two adjacent characters, whatever precedes and follows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairEffect {
    /// It splits there, and processes both sides independently.
    Split,
    /// It processes both sides independently, and these characters are then adjacent.
    Keep(char, char),
    /// It depends on more than the two, or is not known.
    Unknown,
}
