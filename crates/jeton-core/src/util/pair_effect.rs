//! Effect of a stage on the position between two adjacent characters.

/// Effect of a stage between two adjacent characters, in any context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairEffect {
    /// The stage splits there, and processes both sides independently.
    Split,
    /// The stage processes both sides independently, and these characters are then adjacent.
    Keep(char, char),
    /// The effect depends on more than the two characters, or is not known.
    Unknown,
}
