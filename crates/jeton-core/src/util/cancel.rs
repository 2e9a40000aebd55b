//! Cancellation checks for long loops, and a limit on the size of the text that stages write.

use crate::error::{ErrorKind, Result};

/// Returns the maximum number of bytes that stages are allowed to write for an input of `bytes`. The character that
/// grows most in practice is U+FDFA: NFKC turns its 3 bytes into 33 bytes, which take 66 bytes in the byte alphabet.
pub fn most_bytes(bytes: usize) -> usize {
    bytes.saturating_mul(100).saturating_add(1_000_000)
}

/// Callback that returns false to cancel the work. Loops call it every few thousand steps; a call at every step would
/// be too slow.
pub type KeepGoing<'a> = &'a dyn Fn() -> bool;

/// Callback that returns false to cancel the work. If several threads work, only one of them calls it.
pub type KeepGoingMut<'a> = &'a mut dyn FnMut() -> bool;

/// Number of steps of a loop between two calls of the callback. This many steps take well below 10 ms in any loop of
/// this crate.
const STEPS_BETWEEN_CHECKS: u32 = 4096;

/// Cancellation check that calls [`KeepGoing`] once every few thousand steps.
pub struct CancelCheck<'a> {
    keep_going: KeepGoing<'a>,
    steps: u32,
}

impl<'a> CancelCheck<'a> {
    /// Creates a check that calls `keep_going`.
    pub fn new(keep_going: KeepGoing<'a>) -> Self {
        Self { keep_going, steps: 0 }
    }

    /// Counts a step, and calls the callback once enough steps have passed.
    ///
    /// # Errors
    /// `Interrupted` when the callback returns false.
    #[inline]
    pub fn check(&mut self) -> Result<()> {
        self.steps += 1;
        if self.steps < STEPS_BETWEEN_CHECKS {
            return Ok(());
        }
        self.check_now()
    }

    /// Calls the callback now.
    ///
    /// # Errors
    /// As [`CancelCheck::check`].
    #[cold]
    pub fn check_now(&mut self) -> Result<()> {
        self.steps = 0;
        if (self.keep_going)() {
            Ok(())
        } else {
            Err(ErrorKind::Interrupted.into())
        }
    }
}
