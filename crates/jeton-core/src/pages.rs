//! Large memory in large pages, where the system gives them to who asks.
//!
//! Memory that is touched for the first time costs a fault for every page of 4 KiB, and a table of hundreds of megabytes that is read here and there
//! needs many translations of addresses. In pages of 2 MiB there are fewer of both. But on a virtual machine whose host has given the memory away, the
//! first touch of such a page takes milliseconds: so this is for training's tables, not for those of encoding, which are small, and not for ids.
//!
//! Linux gives large pages where a program asks (`madvise`), and elsewhere nothing is done. Left out: small memory, for which the whole
//! large page would be filled.

use std::alloc::{alloc, dealloc, Layout};
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::error::{Error, Result};

/// The usual size of a large page, and a multiple of every small one's.
const LARGE: usize = 2 << 20;

/// Asks for large pages for those parts of `room` that fill them. Its content stays.
pub fn large<T>(room: &mut [MaybeUninit<T>]) {
    let (start, len) = (room.as_mut_ptr() as usize, std::mem::size_of_val(room));
    let (first, last) = (start.next_multiple_of(LARGE), (start + len) / LARGE * LARGE);
    #[cfg(target_os = "linux")]
    if first < last {
        // SAFETY: the range lies within `room`, which is borrowed mutably, and the advice changes no content. That it is refused does no harm.
        unsafe { libc::madvise(first as *mut libc::c_void, last - first, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (first, last);
}

/// Memory that another thread touches.
#[derive(Debug)]
pub struct Room {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: `touch` is all that is done with the address, and reads and writes nothing through it.
unsafe impl Send for Room {}

/// The first `most` bytes of `room`.
pub fn place(room: &mut [MaybeUninit<u8>], most: usize) -> Room {
    Room { len: room.len().min(most), start: NonNull::from(room).cast() }
}

/// Has the system map the pages of a room, a microsecond each, while another thread writes there. The content stays; where the system
/// cannot, each page is mapped when it is written.
///
/// # Safety
/// The memory of which `room` was made stays allocated, at the same address, until this returns.
pub unsafe fn touch(room: Room) {
    #[cfg(target_os = "linux")]
    {
        const SMALL: usize = 4096; // or more, and then the system refuses
        let start = room.start.as_ptr().addr();
        let (first, last) = (start.next_multiple_of(SMALL), (start + room.len) / SMALL * SMALL);
        for at in (first..last).step_by(LARGE) {
            // SAFETY: the range lies within the room, which is allocated, as the caller promises. The advice maps pages and changes no content,
            // so the thread that writes there is not disturbed. That it is refused does no harm.
            unsafe { libc::madvise(at as *mut libc::c_void, LARGE.min(last - at), libc::MADV_POPULATE_WRITE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = room;
}

/// A list of fixed length, in large pages if it fills at least half of one.
///
/// Invariant: `start` is the first of `len` initialized values that belong to this table alone: an allocation with [`Table::layout`] of `len`,
/// or none where that has no size.
pub struct Table<T: Copy> {
    start: NonNull<T>,
    len: usize,
}

// SAFETY: the values belong to the table alone (its invariant), as those of a `Box<[T]>`.
unsafe impl<T: Copy + Send> Send for Table<T> {}
// SAFETY: `&Table` gives `&[T]` only; likewise.
unsafe impl<T: Copy + Sync> Sync for Table<T> {}

impl<T: Copy> Table<T> {
    /// `len` copies of a value.
    ///
    /// # Errors
    /// [`crate::error::ErrorKind::Memory`].
    pub fn filled(value: T, len: usize) -> Result<Self> {
        let layout = Self::layout(len).ok_or_else(|| Error::memory(len.saturating_mul(size_of::<T>())))?;
        if layout.size() == 0 {
            return Ok(Self { start: NonNull::dangling(), len });
        }
        // SAFETY: the size is not 0.
        let start = unsafe { alloc(layout) }.cast::<MaybeUninit<T>>();
        let start = NonNull::new(start).ok_or_else(|| Error::memory(layout.size()))?;
        // SAFETY: the slice ends within the allocation of `layout.size()` bytes, is aligned for `T` (`layout` asks for that or more), and nothing
        // else refers to it yet.
        let room = unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), layout.size() / size_of::<T>()) };
        large(room);
        room[..len].fill(MaybeUninit::new(value)); // at most what there is: the layout is that of `len` values or larger
        Ok(Self { start: start.cast(), len })
    }

    /// Of `len` values; in whole large pages where they fill half of one. None for more than the address space.
    fn layout(len: usize) -> Option<Layout> {
        let layout = Layout::array::<T>(len).ok()?;
        if layout.size() < LARGE / 2 {
            return Some(layout);
        }
        let size = layout.size().checked_next_multiple_of(LARGE)?;
        Layout::from_size_align(size, LARGE.max(layout.align())).ok()
    }
}

impl<T: Copy> Deref for Table<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the first `len` values are initialized and belong to the table (its invariant), which is borrowed as long as the slice.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Copy> DerefMut for Table<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`, and the table is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Copy> Drop for Table<T> {
    fn drop(&mut self) {
        if let Some(layout) = Self::layout(self.len).filter(|layout| layout.size() > 0) {
            // SAFETY: `filled` allocated it with this layout, which depends on `len` alone.
            unsafe { dealloc(self.start.as_ptr().cast(), layout) };
        }
    }
}

impl<T: Copy> Default for Table<T> {
    fn default() -> Self {
        Self { start: NonNull::dangling(), len: 0 }
    }
}

impl<T: Copy> fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table of {} values", self.len)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_a_table() {
        for len in [0, 1, 10, LARGE / 4, LARGE + 17] {
            let mut table = Table::filled([7u32, 8], len).unwrap();
            assert_eq!(table.iter().filter(|&&value| value == [7, 8]).count(), len);
            if let Some(last) = table.last_mut() {
                *last = [1, 2];
            }
            assert!(table.len() == len && table.last().is_none_or(|&last| last == [1, 2]));
        }
        assert!((Table::filled(0u64, LARGE).unwrap().as_ptr() as usize).is_multiple_of(LARGE));
    }

    #[test]
    fn memory_that_is_not_there_is_an_error() {
        for len in [1 << 44, usize::MAX / 8, usize::MAX / 2, usize::MAX] {
            assert!(matches!(Table::filled(0u64, len).unwrap_err().kind(), crate::error::ErrorKind::Memory { .. }));
        }
    }

    #[test]
    fn pages_are_mapped_while_they_are_written() {
        let mut list: Vec<u8> = Vec::with_capacity(1 << 22);
        let room = place(list.spare_capacity_mut(), usize::MAX);
        std::thread::scope(|scope| {
            // SAFETY: the list does not grow, and outlives the scope.
            scope.spawn(move || unsafe { touch(room) });
            (0..1 << 22).for_each(|at| list.push(at as u8));
        });
        assert!(list.iter().enumerate().all(|(at, &byte)| byte == at as u8));
    }

    #[test]
    fn advice_changes_no_content() {
        let mut list = vec![1u64; 1 << 20];
        list.reserve_exact(1 << 20);
        large(list.spare_capacity_mut());
        list.resize(2 << 20, 2);
        assert_eq!(list.iter().sum::<u64>(), 3 << 20);
    }
}
