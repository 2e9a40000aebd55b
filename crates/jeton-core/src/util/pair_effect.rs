//! Effect of a stage on the position between two adjacent characters.

/// Effect of a stage on the position between two adjacent characters, whatever precedes and follows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairEffect {
    /// The stage splits the text between the characters, and processes both sides independently.
    Split,
    /// The stage does not split the text between the characters, but processes the text before and after this position
    /// independently. The two fields are characters of the stage's output: the last character before the position, then
    /// the first character after the position.
    Keep(char, char),
    /// The effect is not known, or depends on more than the two characters.
    Unknown,
}
