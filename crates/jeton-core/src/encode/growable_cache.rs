//! Trait of caches that share one memory limit for growth.

/// Bounded cache that can double its capacity.
pub(super) trait GrowableCache {
    /// Returns the number of bytes that doubling would add; 0 if the cache has evicted too few entries to be doubled.
    fn growth_bytes(&self) -> usize;
    /// Doubles the capacity and keeps the entries.
    fn grow(&mut self);
    /// Keeps the capacity and resets the count of evictions.
    fn keep_size(&mut self);
}
