//! Vectors have the same values in memory and in files.

#![allow(clippy::unwrap_used)]

mod storage;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use jeton_core::error::Result;
use jeton_core::util::spill::{Mapping, MemoryLimit, Resident, SpillVec, Storage};
use proptest::prelude::*;
use storage::{limited, Disk};

#[test]
fn values_are_equal_in_memory_and_in_a_file() {
    let (memory, files) = limited(16 << 20, usize::MAX);
    memory.enforce_during(|| {
        let mut lists: Vec<SpillVec<u32>> = (0..3).map(|_| SpillVec::new(&memory)).collect();
        for value in 0..700_000 {
            lists.iter_mut().try_for_each(|list| list.push(value)).unwrap();
        }
        assert_eq!(files.load(Ordering::Relaxed), 1, "the second list passed the share, and left room for the third");
        lists.push(SpillVec::new(&memory.in_files()));
        lists[3].extend(0..700_000).unwrap();
        assert_eq!(files.load(Ordering::Relaxed), 2);
        for list in &mut lists {
            list.extend_from_slice(&[7; 100_000]).unwrap();
            list.retain_mut(|value| *value % 2 == 1);
            assert_eq!(list.len(), 450_000);
            assert!(list[..350_000].iter().zip(0..).all(|(&value, at)| value == 2 * at + 1));
            assert!(list.copy(&MemoryLimit::unlimited()).unwrap()[350_000..].iter().all(|&value| value == 7));
            list.truncate(10);
            list.shrink().unwrap();
            assert_eq!(&list[..], [1, 3, 5, 7, 9, 11, 13, 15, 17, 19]);
        }
    });
    let mut again: SpillVec<u64> = SpillVec::new(&memory);
    again.reserve(1_000_000).unwrap();
    assert_eq!(files.load(Ordering::Relaxed), 2, "the room of the others was given back");
}

#[test]
fn full_disk_is_an_error_and_keeps_the_values() {
    let (memory, _) = limited(1 << 20, 3 << 20);
    let mut list: SpillVec<u64> = SpillVec::new(&memory);
    let pushed = (0..).take_while(|&value| list.push(value).is_ok()).count();
    assert!(pushed > 100_000 && list.len() == pushed);
    assert!(list.iter().zip(0..).all(|(&value, at)| value == at));
}

#[test]
fn failed_allocation_is_an_error_and_keeps_the_values() {
    for memory in [MemoryLimit::unlimited(), limited(1 << 20, 3 << 20).0] {
        let mut list: SpillVec<u64> = SpillVec::new(&memory);
        list.extend((0..1000u32).map(u64::from)).unwrap();
        for more in [1 << 60, usize::MAX / 8, usize::MAX - 10, usize::MAX] {
            list.reserve(more).unwrap_err();
        }
        assert!(list.len() == 1000 && list.iter().zip(0..).all(|(&value, at)| value == at));
    }
}

/// Iterator whose `size_hint` is half of its length.
struct Liar(usize);

impl Iterator for Liar {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0 = self.0.checked_sub(1)?;
        Some(7)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0 / 2, Some(self.0 / 2))
    }
}

impl ExactSizeIterator for Liar {}

#[test]
fn iterator_longer_than_its_size_hint_is_truncated() {
    let mut list: SpillVec<u64> = SpillVec::default();
    list.extend(Liar(1000)).unwrap();
    assert!(list.len() <= list.capacity() && list.iter().all(|&value| value == 7));
}

#[test]
fn first_bytes_of_vectors_stay_mapped() {
    let (memory, _) = limited(8 << 20, usize::MAX);
    let mut lists: Vec<SpillVec<u64>> = (0..3).map(|_| SpillVec::new(&memory)).collect();
    lists.push(SpillVec::new(&memory.in_files()));
    for list in &mut lists {
        list.extend((0..400_000u32).map(u64::from)).unwrap();
    }
    assert!(lists[2].is_in_file() && lists[3].is_in_file());
    memory.enforce(); // `Block::release` checks its argument
    assert!(lists.iter().all(|list| list.iter().zip(0..).all(|(&value, at)| value == at)));
}

/// Process whose allocator keeps freed memory until it is trimmed.
#[derive(Debug, Default)]
struct Process {
    freed: AtomicUsize,
    needed: AtomicUsize,
    trims: AtomicUsize,
}

#[derive(Debug)]
struct ProcessStorage(Arc<Process>);

impl Storage for ProcessStorage {
    fn create(&self, bytes: usize) -> Result<Arc<dyn Mapping>> {
        Disk { largest: usize::MAX, files: Arc::default() }.create(bytes)
    }

    fn resident(&self) -> Option<Resident> {
        let own = self.0.freed.load(Ordering::Relaxed) + self.0.needed.load(Ordering::Relaxed);
        Some(Resident { own, mapped: 0 })
    }

    fn trim(&self) {
        self.0.freed.store(0, Ordering::Relaxed);
        self.0.trims.fetch_add(1, Ordering::Relaxed);
    }
}

/// Creates a process that has freed memory, and a limit of 8 MiB with a vector in a file.
fn process_with_freed(freed: usize) -> (Arc<Process>, MemoryLimit, SpillVec<u64>) {
    let process = Arc::new(Process { freed: freed.into(), ..Process::default() });
    let memory = MemoryLimit::new(8 << 20, Box::new(ProcessStorage(process.clone())));
    let mut list = SpillVec::new(&memory.in_files());
    list.extend((0..200_000u32).map(u64::from)).unwrap();
    assert!(list.is_in_file());
    (process, memory, list)
}

#[test]
fn freed_memory_does_not_count_as_memory_of_the_process() {
    assert_eq!(process_with_freed(1 << 20).0.trims.load(Ordering::Relaxed), 0);
    let (process, memory, _list) = process_with_freed(6 << 20);
    assert_eq!(process.trims.load(Ordering::Relaxed), 1);
    process.freed.store(7 << 20, Ordering::Relaxed);
    memory.enforce();
    assert_eq!(process.trims.load(Ordering::Relaxed), 1, "the limit is not exceeded");
    process.freed.store(9 << 20, Ordering::Relaxed);
    memory.enforce();
    assert_eq!(process.trims.load(Ordering::Relaxed), 2);
    assert_eq!(process.freed.load(Ordering::Relaxed), 0);
}

#[test]
fn trims_that_release_little_become_rare() {
    let (process, memory, _list) = process_with_freed(0);
    process.needed.store(9 << 20, Ordering::Relaxed);
    let began = std::time::Instant::now();
    while began.elapsed() < std::time::Duration::from_millis(200) {
        memory.enforce();
    }
    // Trims after 0, 5, 15, 35, 75 and 155 ms.
    assert!((1..=6).contains(&process.trims.load(Ordering::Relaxed)));
}

proptest! {
    #[test]
    fn operations_equal_those_of_a_vec(steps in prop::collection::vec((0u8..5, 0usize..300_000), 1..12), limit in prop::sample::select(vec![0, 4 << 20])) {
        let memory = if limit == 0 { MemoryLimit::unlimited() } else { limited(limit, usize::MAX).0 };
        let (mut list, mut plain) = (SpillVec::new(&memory), Vec::new());
        for (what, n) in steps {
            match what {
                0 => list.extend((0..n).map(|i| i as u64)).unwrap(),
                1 => list.push(n as u64).unwrap(),
                2 => list.truncate(n),
                3 => list.shrink().unwrap(),
                _ => list.retain_mut(|value| *value % 3 != 0),
            }
            match what {
                0 => plain.extend((0..n).map(|i| i as u64)),
                1 => plain.push(n as u64),
                2 => plain.truncate(n),
                3 => {}
                _ => plain.retain(|value| *value % 3 != 0),
            }
            prop_assert!(list[..] == plain[..]);
        }
    }
}
