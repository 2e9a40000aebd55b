//! "Files" that are memory: what is tested is what lists and learning make of them.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use jeton_core::error::{Error, Result};
use jeton_core::memory::{Ground, Memory, Resident, Room};

/// A disk with room for files of so many bytes, and how many files were made.
#[derive(Debug)]
struct Disk {
    largest: usize,
    files: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct Block {
    words: Vec<[u64; 8]>,
    start: usize, // a multiple of a page
    largest: usize,
}

impl Block {
    fn of(bytes: usize, largest: usize) -> Result<Self> {
        if bytes > largest {
            return Err(Error::training("the disk is full"));
        }
        let mut block = Self { words: vec![[u64::MAX; 8]; bytes.div_ceil(64) + 65], start: 0, largest };
        block.start = (block.words.as_mut_ptr() as usize).next_multiple_of(4096);
        Ok(block)
    }
}

impl Ground for Disk {
    fn room(&self, bytes: usize) -> Result<Box<dyn Room>> {
        self.files.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Block::of(bytes, self.largest)?))
    }

    fn resident(&self) -> Option<Resident> {
        Some(Resident { own: 0, mapped: usize::MAX })
    }

    fn trim(&self) {}

    fn let_go(&self, _: usize, _: usize) {}
}

impl Room for Block {
    fn start(&self) -> NonNull<u8> {
        NonNull::new(std::ptr::with_exposed_provenance_mut(self.start)).unwrap()
    }

    fn grow(&mut self, bytes: usize) -> Result<()> {
        let larger = Self::of(bytes, self.largest)?;
        let old = (self.words.len() - 65) * 64;
        // SAFETY: both have so many bytes from their start on, and they are different memory.
        unsafe { std::ptr::copy_nonoverlapping(self.start().as_ptr(), larger.start().as_ptr(), old.min(bytes)) };
        *self = larger;
        Ok(())
    }
}

/// A limit of memory on a disk with room for files of `largest` bytes, and the number of files that are made.
pub fn limited(limit: usize, largest: usize) -> (Memory, Arc<AtomicUsize>) {
    let files = Arc::new(AtomicUsize::new(0));
    (Memory::new(limit, Box::new(Disk { largest, files: files.clone() })), files)
}
