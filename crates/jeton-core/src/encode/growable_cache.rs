//! Trait of caches that grow within the memory limit of all caches.

/// Bounded cache that can double its capacity.
pub(super) trait GrowableCache {
    /// Bytes that doubling takes; 0 if too few entries were evicted to double.
    fn growth_bytes(&self) -> usize;
    /// Doubles the capacity and keeps the entries.
    fn grow(&mut self);
    /// Keeps the capacity and counts evictions anew.
    fn keep_size(&mut self);
}
