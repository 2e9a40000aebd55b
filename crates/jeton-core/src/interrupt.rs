//! Stopping long work: a question that loops ask now and then, and how much stages may write.

use crate::error::{ErrorKind, Result};

/// How many bytes stages may make of `bytes`. What grows most in use is U+FDFA: 33 bytes for 3 under NFKC, 66 in the byte alphabet.
pub fn most_bytes(bytes: usize) -> usize {
    bytes.saturating_mul(100).saturating_add(1_000_000)
}

/// Whether to go on. Cheap enough to ask every few thousand steps, too dear for every step.
pub type GoOn<'a> = &'a dyn Fn() -> bool;

/// How many steps of a loop pass between two looks: well under 10 ms of any loop here.
const STEPS_BETWEEN_LOOKS: u32 = 4096;

/// Asks `GoOn` once in a few thousand steps.
pub struct Looks<'a> {
    go_on: GoOn<'a>,
    steps: u32,
}

impl<'a> Looks<'a> {
    /// Looks that ask `go_on`.
    pub fn new(go_on: GoOn<'a>) -> Self {
        Self { go_on, steps: 0 }
    }

    /// One step more.
    ///
    /// # Errors
    /// `Interrupted` when the work is to stop.
    #[inline]
    pub fn now_and_then(&mut self) -> Result<()> {
        self.steps += 1;
        if self.steps < STEPS_BETWEEN_LOOKS {
            return Ok(());
        }
        self.look()
    }

    /// Asks at once.
    ///
    /// # Errors
    /// As [`Looks::now_and_then`].
    #[cold]
    pub fn look(&mut self) -> Result<()> {
        self.steps = 0;
        if (self.go_on)() {
            Ok(())
        } else {
            Err(ErrorKind::Interrupted.into())
        }
    }
}
