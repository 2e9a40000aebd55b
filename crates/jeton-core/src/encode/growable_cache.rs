//! Trait of caches that share one memory limit for growth.

/// Bounded cache that can double its capacity.
pub(super) trait GrowableCache {
    /// Bytes that doubling takes; 0 if there were too few evictions to double.
    fn growth_bytes(&self) -> usize;
    /// Doubles the capacity and keeps the entries.
    fn grow(&mut self);
    /// Keeps the capacity and resets the count of evictions.
    fn keep_size(&mut self);
}
