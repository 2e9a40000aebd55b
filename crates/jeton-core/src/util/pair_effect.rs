//! Effect of a stage on the position between two adjacent characters.

/// Effect of a stage between two adjacent characters, in any context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairEffect {
    /// It splits there, and processes both sides independently.
    Split,
    /// It processes both sides independently, and these characters are then adjacent.
    Keep(char, char),
    /// It depends on more than the two, or is not known.
    Unknown,
}
