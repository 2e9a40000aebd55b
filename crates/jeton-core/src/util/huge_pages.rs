//! Huge pages for large tables, and prefaulting of result buffers.
//!
//! The first write to each page of 4 KiB costs a page fault, and random access to a table of hundreds of megabytes
//! misses the TLB. Pages of 2 MiB reduce both costs. On a virtual machine, the first write of 8 MiB takes 0.8 ms
//! with huge pages and 4.5 ms with small pages. If the host first has to allocate the pages, the write takes 17 ms with
//! huge pages and 21 ms with small pages. The advantage of small pages: the host has to allocate them less often.
//!
//! Tables are accessed at random, so tables use huge pages. Id buffers use small pages, because each call needs new
//! memory for its ids.
//!
//! Linux only (`madvise`); a no-op elsewhere. Left out: buffers that do not fill a huge page.

use std::alloc::{alloc, dealloc, handle_alloc_error, Layout};
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::error::{Error, Result};

/// Usual size of a huge page, and a multiple of every base page size.
const HUGE_PAGE: usize = 2 << 20;

/// Advises the system to use huge pages for the parts of `memory` that fill whole huge pages. The content does not
/// change.
pub fn advise<T>(memory: &mut [MaybeUninit<T>]) {
    let (start, len) = (memory.as_mut_ptr() as usize, std::mem::size_of_val(memory));
    let (first, last) = (start.next_multiple_of(HUGE_PAGE), (start + len) / HUGE_PAGE * HUGE_PAGE);
    #[cfg(target_os = "linux")]
    if first < last {
        // SAFETY: the range is within `memory`, which is borrowed mutably, and the advice changes no content. If the
        // system refuses the advice, nothing happens.
        unsafe { libc::madvise(first as *mut libc::c_void, last - first, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (first, last);
}

/// Memory range for another thread to prefault.
#[derive(Debug)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux prefaults"))]
pub struct PrefaultRange {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: only `prefault` uses the address, and it neither reads nor writes through it.
unsafe impl Send for PrefaultRange {}

/// Returns the range of the first `most` bytes of `memory`, or of all its bytes if it is shorter.
pub fn prefault_range(memory: &mut [MaybeUninit<u8>], most: usize) -> PrefaultRange {
    PrefaultRange { len: memory.len().min(most), start: NonNull::from(memory).cast() }
}

/// Maps the pages of a range while another thread writes to the range (`MADV_POPULATE_WRITE`). A page takes a
/// microsecond. The content does not change. If the system does not support `MADV_POPULATE_WRITE`, each page is mapped
/// at its first write.
///
/// # Safety
/// The memory of `range` must stay allocated, at the same address, until this function returns.
pub unsafe fn prefault(range: PrefaultRange) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096; // a system with larger pages refuses the call
        let start = range.start.as_ptr().addr();
        let (first, last) = (start.next_multiple_of(PAGE), (start + range.len) / PAGE * PAGE);
        for at in (first..last).step_by(HUGE_PAGE) {
            // SAFETY: the address range is within `range`, which the caller guarantees to be allocated. The advice
            // maps pages and changes no content, so it does not affect the writing thread. A refusal is harmless.
            unsafe { libc::madvise(at as *mut libc::c_void, HUGE_PAGE.min(last - at), libc::MADV_POPULATE_WRITE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = range;
}

/// Boxed slice, allocated in huge pages if it fills at least half of a huge page.
///
/// Invariant: `start` points to the first of `len` initialized values. Only this `HugeVec` accesses them. They are in
/// an allocation with the layout `HugeVec::layout(len)`; if this layout has size 0, there is no allocation.
pub struct HugeVec<T: Copy> {
    start: NonNull<T>,
    len: usize,
}

// SAFETY: only this `HugeVec` accesses its values (see the invariant), as with a `Box<[T]>`.
unsafe impl<T: Copy + Send> Send for HugeVec<T> {}
// SAFETY: only this `HugeVec` accesses its values, and a `&HugeVec` only gives access to `&[T]`.
unsafe impl<T: Copy + Sync> Sync for HugeVec<T> {}

impl<T: Copy> HugeVec<T> {
    /// Creates a slice of `len` copies of a value.
    ///
    /// # Errors
    /// [`crate::error::ErrorKind::Memory`].
    pub fn filled(value: T, len: usize) -> Result<Self> {
        let layout = Self::layout(len).ok_or_else(|| Error::memory(len.saturating_mul(size_of::<T>())))?;
        if layout.size() == 0 {
            return Ok(Self { start: NonNull::dangling(), len });
        }
        // SAFETY: the size of `layout` is not 0.
        let start = unsafe { alloc(layout) }.cast::<MaybeUninit<T>>();
        let start = NonNull::new(start).ok_or_else(|| Error::memory(layout.size()))?;
        // SAFETY: the slice ends within the allocation of `layout.size()` bytes. It is aligned for `T`, because
        // `layout` requires at least the alignment of `T`. Nothing else refers to it yet.
        let memory = unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), layout.size() / size_of::<T>()) };
        advise(memory);
        memory[..len].fill(MaybeUninit::new(value)); // in bounds, because the layout is that of `len` values or larger
        Ok(Self { start: start.cast(), len })
    }

    /// Like [`HugeVec::filled`], but aborts the process if memory runs out, like `vec!`.
    pub fn filled_or_abort(value: T, len: usize) -> Self {
        Self::filled(value, len).unwrap_or_else(|_| handle_alloc_error(Self::layout(len).unwrap_or(Layout::new::<T>())))
    }

    /// Returns the layout of `len` values, rounded up to whole huge pages if they fill at least half of a huge page;
    /// `None` if the size exceeds the address space.
    fn layout(len: usize) -> Option<Layout> {
        let layout = Layout::array::<T>(len).ok()?;
        if layout.size() < HUGE_PAGE / 2 {
            return Some(layout);
        }
        let size = layout.size().checked_next_multiple_of(HUGE_PAGE)?;
        Layout::from_size_align(size, HUGE_PAGE.max(layout.align())).ok()
    }
}

impl<T: Copy> Deref for HugeVec<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the first `len` values are initialized, and only this `HugeVec` accesses them (see the invariant). It
        // is borrowed for as long as the slice.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Copy> DerefMut for HugeVec<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`, and this value is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Copy> Drop for HugeVec<T> {
    fn drop(&mut self) {
        if let Some(layout) = Self::layout(self.len).filter(|layout| layout.size() > 0) {
            // SAFETY: `filled` allocated it with this layout, which depends only on `len`.
            unsafe { dealloc(self.start.as_ptr().cast(), layout) };
        }
    }
}

impl<T: Copy> Default for HugeVec<T> {
    fn default() -> Self {
        Self { start: NonNull::dangling(), len: 0 }
    }
}

impl<T: Copy> fmt::Debug for HugeVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HugeVec of {} values", self.len)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn table_has_its_values() {
        for len in [0, 1, 10, HUGE_PAGE / 4, HUGE_PAGE + 17] {
            let mut table = HugeVec::filled([7u32, 8], len).unwrap();
            assert_eq!(table.iter().filter(|&&value| value == [7, 8]).count(), len);
            if let Some(last) = table.last_mut() {
                *last = [1, 2];
            }
            assert!(table.len() == len && table.last().is_none_or(|&last| last == [1, 2]));
        }
        assert!((HugeVec::filled(0u64, HUGE_PAGE).unwrap().as_ptr() as usize).is_multiple_of(HUGE_PAGE));
    }

    #[test]
    fn failed_allocation_is_an_error() {
        for len in [1 << 44, usize::MAX / 8, usize::MAX / 2, usize::MAX] {
            assert!(matches!(HugeVec::filled(0u64, len).unwrap_err().kind(), crate::error::ErrorKind::Memory { .. }));
        }
    }

    #[test]
    fn prefault_runs_while_another_thread_writes() {
        let mut list: Vec<u8> = Vec::with_capacity(1 << 22);
        let memory = prefault_range(list.spare_capacity_mut(), usize::MAX);
        std::thread::scope(|scope| {
            // SAFETY: the list does not grow, and outlives the scope.
            scope.spawn(move || unsafe { prefault(memory) });
            (0..1 << 22).for_each(|at| list.push(at as u8));
        });
        assert!(list.iter().enumerate().all(|(at, &byte)| byte == at as u8));
    }

    #[test]
    fn advice_changes_no_content() {
        let mut list = vec![1u64; 1 << 20];
        list.reserve_exact(1 << 20);
        advise(list.spare_capacity_mut());
        list.resize(2 << 20, 2);
        assert_eq!(list.iter().sum::<u64>(), 3 << 20);
    }
}
