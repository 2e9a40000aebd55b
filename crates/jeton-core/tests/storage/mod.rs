//! Storage in memory, for tests of spilling and of learning with spilled vectors.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use jeton_core::error::{Error, Result};
use jeton_core::util::spill::{Mapping, MemoryLimit, Resident, Storage};

/// Simulated disk with a maximum file size in bytes, and the number of created files.
#[derive(Debug)]
pub struct Disk {
    pub largest: usize,
    pub files: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct StorageBlock {
    words: Vec<[u64; 8]>,
    start: usize, // a multiple of a page
    bytes: usize,
    largest: usize,
}

impl StorageBlock {
    fn of(bytes: usize, largest: usize) -> Result<Self> {
        if bytes > largest {
            return Err(Error::training("the disk is full"));
        }
        let mut block = Self { words: vec![[u64::MAX; 8]; bytes.div_ceil(64) + 65], start: 0, bytes, largest };
        block.start = block.words.as_mut_ptr().expose_provenance().next_multiple_of(4096);
        Ok(block)
    }
}

impl Storage for Disk {
    fn create(&self, bytes: usize) -> Result<Arc<dyn Mapping>> {
        self.files.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(StorageBlock::of(bytes, self.largest)?))
    }

    fn resident(&self) -> Option<Resident> {
        Some(Resident { own: 0, mapped: usize::MAX })
    }

    fn trim(&self) {}
}

// SAFETY: the bytes are a range of `words`, which is never resized, from a page boundary on. `words` has more than 4
// KiB in addition to `bytes`, so the range ends within it. `vec!` has initialized the bytes, and nothing else
// accesses them.
unsafe impl Mapping for StorageBlock {
    fn start(&self) -> NonNull<u8> {
        NonNull::new(std::ptr::with_exposed_provenance_mut(self.start)).unwrap()
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn grown(&self, bytes: usize) -> Result<Arc<dyn Mapping>> {
        let larger = Self::of(bytes, self.largest)?;
        // SAFETY: both have at least that many bytes, and they do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(self.start().as_ptr(), larger.start().as_ptr(), self.bytes.min(bytes)) };
        Ok(Arc::new(larger))
    }

    fn release(&self, keep: usize) {
        assert!(keep <= self.bytes && keep.is_multiple_of(4096));
    }

    fn resident(&self) -> Option<usize> {
        Some(self.bytes)
    }
}

/// Returns a memory limit that spills to files of at most `largest` bytes, and the number of created files.
pub fn limited(limit: usize, largest: usize) -> (MemoryLimit, Arc<AtomicUsize>) {
    let files = Arc::new(AtomicUsize::new(0));
    (MemoryLimit::new(limit, Box::new(Disk { largest, files: files.clone() })), files)
}
