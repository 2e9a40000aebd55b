//! Symbols of a pretoken as a doubly linked list in one array.

/// Stands for no symbol, rank or position.
pub(super) const NONE: u32 = u32::MAX;

/// A symbol in a linked list.
#[derive(Debug, Clone, Copy)]
pub(super) struct SymbolNode {
    pub(super) id: u32,
    pub(super) prev: u32,
    pub(super) next: u32,
}
