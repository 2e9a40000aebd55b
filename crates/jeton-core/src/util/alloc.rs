//! Fallible allocation, which returns an error instead of aborting when memory runs out.

use hashbrown::HashTable;

use crate::error::{Error, Result};

/// Returns a `Vec` of `len` copies of a value.
///
/// # Errors
/// [`crate::error::ErrorKind::Memory`].
pub fn filled<T: Clone>(value: T, len: usize) -> Result<Vec<T>> {
    let mut list = with_capacity(len)?;
    list.resize(len, value);
    Ok(list)
}

/// Returns an empty `Vec` of this capacity.
///
/// # Errors
/// [`crate::error::ErrorKind::Memory`].
pub fn with_capacity<T>(capacity: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(capacity).map_err(|_| Error::memory(capacity.saturating_mul(size_of::<T>())))?;
    Ok(list)
}

/// Returns an empty `String` of this capacity.
///
/// # Errors
/// [`crate::error::ErrorKind::Memory`].
pub fn string(capacity: usize) -> Result<String> {
    let mut text = String::new();
    text.try_reserve_exact(capacity).map_err(|_| Error::memory(capacity))?;
    Ok(text)
}

/// Reserves capacity for `more` values, growing as a `Vec` does.
///
/// # Errors
/// [`crate::error::ErrorKind::Memory`].
#[inline]
pub fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<()> {
    list.try_reserve(more).map_err(|_| Error::memory(list.len().saturating_add(more).saturating_mul(size_of::<T>())))
}

/// Reserves capacity for one more entry in a hash table.
///
/// # Errors
/// [`crate::error::ErrorKind::Memory`].
#[inline]
pub fn reserve_slot<T>(table: &mut HashTable<T>, rehash: impl Fn(&T) -> u64) -> Result<()> {
    table.try_reserve(1, rehash).map_err(|_| Error::memory(table.capacity().saturating_mul(2 * size_of::<T>())))
}
