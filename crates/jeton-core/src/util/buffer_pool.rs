//! Pools for large result buffers. Each pool holds at most one buffer.
//!
//! The first write to fresh memory costs a page fault for every page. On a virtual machine whose host also has to
//! allocate the page, a fault takes a few microseconds. Encoding a text whose ids fill the page takes about the same
//! time. The buffer of a large result is therefore reused for the next large result.
//!
//! Buffers do not use huge pages: a huge page that the host has to allocate costs milliseconds, more than it saves
//! for sequential access.

use crate::util::atomic_cell::AtomicCell;

/// Buffers of ids.
pub static IDS: BufferPool<u32> = BufferPool(AtomicCell::new());

/// Buffers into which a caller's ids are copied.
pub static COPIES: BufferPool<u32> = BufferPool(AtomicCell::new());

/// Buffers of text.
pub static TEXTS: BufferPool<u8> = BufferPool(AtomicCell::new());

/// Buffers of offsets.
pub static OFFSETS: BufferPool<i64> = BufferPool(AtomicCell::new());

/// Buffers are pooled if their size in bytes is in this range. The size of a buffer is the number of its written bytes,
/// because untouched capacity takes no memory.
const POOLED_BYTES: std::ops::RangeInclusive<usize> = 1 << 20..=48 << 20;

/// Pool of one buffer.
pub struct BufferPool<T: Send>(AtomicCell<Vec<T>>);

impl<T: Send + Copy> BufferPool<T> {
    /// Returns an empty buffer of at least this capacity, pooled or new.
    pub fn take(&self, capacity: usize) -> Vec<T> {
        let is_large = capacity * size_of::<T>() >= *POOLED_BYTES.start();
        let kept = if is_large { self.0.take().filter(|list| list.capacity() >= capacity) } else { None };
        let mut list = kept.map_or_else(|| Vec::with_capacity(capacity), |list| *list);
        list.clear();
        list
    }

    /// Returns a buffer of `len` values for the caller to overwrite. They are zeros or values of an earlier use.
    pub fn take_filled(&self, len: usize) -> Vec<T>
    where
        T: Default,
    {
        let is_large = len * size_of::<T>() >= *POOLED_BYTES.start();
        let kept = if is_large { self.0.take().filter(|list| list.capacity() >= len) } else { None };
        match kept {
            Some(mut list) => {
                list.resize(len, T::default());
                *list
            }
            None => {
                // Extra capacity for the next results, which have about the same size. It takes no memory until it is
                // written.
                let mut list = vec![T::default(); if is_large { len + len / 4 } else { len }];
                list.truncate(len);
                list
            }
        }
    }

    /// Returns a buffer to the pool if its size is in `POOLED_BYTES`.
    pub fn keep(&self, list: Vec<T>) {
        if POOLED_BYTES.contains(&std::mem::size_of_val(&list[..])) {
            self.0.put(Box::new(list));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_buffer_is_reused() {
        let many = *POOLED_BYTES.start();
        let pool = BufferPool(AtomicCell::new());
        assert!(pool.take(many).capacity() >= many);
        pool.keep(Vec::with_capacity(2 * many));
        assert!(pool.0.take().is_none(), "nobody wrote it");
        let mut list = Vec::with_capacity(2 * many);
        list.resize(many, 1u32);
        let start = list.as_ptr();
        pool.keep(list);
        let small = pool.take(10);
        assert_ne!(small.as_ptr(), start, "too small to be worth it");
        let again = pool.take(2 * many);
        assert!(again.is_empty() && again.as_ptr() == start);
        pool.keep(vec![1; 2 * many]);
        let filled = pool.take_filled(many);
        assert!(filled.len() == many && filled.capacity() >= 2 * many);
        let fresh = pool.take_filled(many);
        assert!(fresh == vec![0; many] && fresh.capacity() > many, "with room for a larger one");
        pool.keep(vec![1; many]);
        assert!(pool.take(many + 1).capacity() > many, "what was kept is too small, and goes");
        pool.keep(vec![1; *POOLED_BYTES.end() / 4 + 1]);
        assert!(pool.0.take().is_none(), "too large");
    }
}
