//! Large memory in large pages, where the system gives them to who asks.
//!
//! Memory that is touched for the first time costs a fault for every page of 4 KiB, and a table of hundreds of megabytes that is read here and there
//! needs many translations of addresses. In pages of 2 MiB there are fewer of both. But on a virtual machine whose host has given the memory away, the
//! first touch of such a page takes milliseconds: so this is for training's tables, not for those of encoding, which are small, and not for ids.
//!
//! Linux gives large pages where a program asks (`madvise`), and elsewhere nothing is done. Left out: small memory, for which the whole
//! large page would be filled.

use std::alloc::{alloc, dealloc, handle_alloc_error, Layout};
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// The usual size of a large page, and a multiple of every small one's.
const LARGE: usize = 2 << 20;

/// Asks for large pages for those parts of `room` that fill them. Its content stays.
pub fn large<T>(room: &mut [MaybeUninit<T>]) {
    let (start, len) = (room.as_mut_ptr() as usize, std::mem::size_of_val(room));
    let (first, last) = (start.next_multiple_of(LARGE), (start + len) / LARGE * LARGE);
    #[cfg(target_os = "linux")]
    if first < last {
        // SAFETY: the range lies within `room`, which is ours alone, and the advice changes no content. That it is refused does no harm.
        unsafe { libc::madvise(first as *mut libc::c_void, last - first, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (first, last);
}

/// Where some memory is.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    start: usize,
    len: usize,
}

/// The place of the first `most` bytes of `room`.
pub fn place(room: &[MaybeUninit<u8>], most: usize) -> Room {
    Room { start: room.as_ptr() as usize, len: room.len().min(most) }
}

/// Has the system find the pages for it, a microsecond each, while another thread writes there. What stands there stays; where the system
/// cannot, each page is found when it is written.
pub fn touch(room: Room) {
    #[cfg(target_os = "linux")]
    {
        const SMALL: usize = 4096; // or more, and then the system refuses
        let (first, last) = (room.start.next_multiple_of(SMALL), (room.start + room.len) / SMALL * SMALL);
        for at in (first..last).step_by(LARGE) {
            // SAFETY: no content changes, also where the memory is somebody else's by now; that it is refused does no harm.
            unsafe { libc::madvise(at as *mut libc::c_void, LARGE.min(last - at), libc::MADV_POPULATE_WRITE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = room;
}

/// A list of fixed length, in large pages if it fills at least half of one.
pub struct Table<T: Copy> {
    start: NonNull<T>,
    len: usize,
}

// SAFETY: it owns its values, as a `Box<[T]>` does.
unsafe impl<T: Copy + Send> Send for Table<T> {}
// SAFETY: likewise.
unsafe impl<T: Copy + Sync> Sync for Table<T> {}

impl<T: Copy> Table<T> {
    /// `len` values that are the same.
    pub fn filled(value: T, len: usize) -> Self {
        let layout = Self::layout(len);
        if layout.size() == 0 {
            return Self { start: NonNull::dangling(), len };
        }
        // SAFETY: the size is not 0.
        let start = unsafe { alloc(layout) }.cast::<MaybeUninit<T>>();
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        // SAFETY: all of the allocation, which is at least as large as `len` values; nobody else knows it.
        let room = unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), layout.size() / size_of::<T>()) };
        large(room);
        room[..len].fill(MaybeUninit::new(value));
        Self { start: start.cast(), len }
    }

    fn layout(len: usize) -> Layout {
        // More than the address space is as good as no memory.
        let layout = Layout::array::<T>(len).unwrap_or_else(|_| handle_alloc_error(Layout::new::<T>()));
        let large = Layout::from_size_align(layout.size(), LARGE).ok().filter(|_| layout.size() >= LARGE / 2);
        large.map_or(layout, |large| large.pad_to_align())
    }
}

impl<T: Copy> Deref for Table<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `filled` has written so many values there, and they live as long as the table.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Copy> DerefMut for Table<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: likewise, and nobody else has the table.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Copy> Drop for Table<T> {
    fn drop(&mut self) {
        let layout = Self::layout(self.len);
        if layout.size() > 0 {
            // SAFETY: `filled` got it with this layout.
            unsafe { dealloc(self.start.as_ptr().cast(), layout) };
        }
    }
}

impl<T: Copy> Default for Table<T> {
    fn default() -> Self {
        Self { start: NonNull::dangling(), len: 0 }
    }
}

impl<T: Copy> Clone for Table<T> {
    fn clone(&self) -> Self {
        let Some(&first) = self.first() else { return Self::default() };
        let mut copy = Self::filled(first, self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl<T: Copy> fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table of {} values", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_a_table() {
        for len in [0, 1, 10, LARGE / 4, LARGE + 17] {
            let mut table = Table::filled([7u32, 8], len);
            assert_eq!(table.iter().filter(|&&value| value == [7, 8]).count(), len);
            if let Some(last) = table.last_mut() {
                *last = [1, 2];
            }
            let copy = table.clone();
            drop(table);
            assert!(copy.len() == len && copy.last().is_none_or(|&last| last == [1, 2]));
        }
        assert!((Table::filled(0u64, LARGE).as_ptr() as usize).is_multiple_of(LARGE));
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
