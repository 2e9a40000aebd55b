//! Large memory in large pages, where the system gives them to who asks.
//!
//! Memory that is touched for the first time costs a fault for every page of 4 KiB, on a virtual machine some microseconds: for a megabyte of
//! fresh ids half as long as finding them takes. In pages of 2 MiB it is a tenth of that, and a table that is read here and there
//! needs fewer translations of addresses.
//!
//! Linux gives large pages where a program asks (`madvise`), and elsewhere nothing is done. Left out: small memory, for which the whole
//! large page would be filled.

use std::mem::MaybeUninit;

/// The usual size of a large page, and a multiple of every small one's.
#[cfg(target_os = "linux")]
const LARGE: usize = 2 << 20;

/// Asks for large pages for those parts of `room` that fill them. Its content stays.
#[cfg(target_os = "linux")]
pub fn large<T>(room: &mut [MaybeUninit<T>]) {
    let (start, len) = (room.as_mut_ptr() as usize, std::mem::size_of_val(room));
    let first = start.next_multiple_of(LARGE);
    let last = (start + len) / LARGE * LARGE;
    if first < last {
        // SAFETY: the range lies within `room`, which is ours alone, and the advice changes no content. That it is refused does no harm.
        unsafe { libc::madvise(first as *mut libc::c_void, last - first, libc::MADV_HUGEPAGE) };
    }
}

/// Elsewhere there is nothing to ask.
#[cfg(not(target_os = "linux"))]
pub fn large<T>(_: &mut [MaybeUninit<T>]) {}

/// `len` values, in large pages if they fill some.
pub fn filled<T: Copy>(value: T, len: usize) -> Box<[T]> {
    let mut list = Vec::with_capacity(len);
    large(list.spare_capacity_mut());
    list.resize(len, value);
    list.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    #[test]
    fn content_stays() {
        for len in [0, 10, 3 << 20] {
            let list = super::filled(7u32, len);
            assert!(list.len() == len && list.iter().all(|&value| value == 7));
        }
        let mut list = vec![1u64; 1 << 20];
        list.reserve_exact(1 << 20);
        super::large(list.spare_capacity_mut());
        list.resize(2 << 20, 2);
        assert_eq!(list.iter().sum::<u64>(), 3 << 20);
    }
}
