//! Effect of a stage on the position between two adjacent characters.

/// Effect of a stage on the position between two adjacent characters, whatever precedes and follows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairEffect {
    /// The stage splits the text between the characters, and processes both sides independently.
    Split,
    /// The stage does not split the text between the characters, but processes the text before and after this position
    /// independently. The fields are the characters before and after this position in the stage's output.
    Keep(char, char),
    /// The effect is not known, or depends on more than the two characters.
    Unknown,
}
