//! Text → text before splitting.
