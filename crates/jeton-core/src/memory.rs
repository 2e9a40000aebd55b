//! Lists that lie in memory while a limit allows it, and in a file from then on.
//!
//! A file is mapped, so who uses a list sees a slice, wherever it lies, and nothing that is computed depends on it. What is touched of a
//! file counts as this process's memory. So while work goes on a thread looks every few milliseconds how much that is, and where it
//! passes the limit, the system is told to take all mapped pages back ([`Memory::keep`]). Their content stays in the
//! system's cache of the file, or on the disk: to touch one again costs about a microsecond.
//!
//! Invariant: a list's values do not depend on where it lies. Files are made by who knows of files ([`Ground`]).
//!
//! Cost: nothing beside a `Vec` while it is in memory. Left out: systems that do not say how much is resident, on which the mapped
//! pages are the system's to manage.

use std::fmt;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::Result;
use crate::pages;

/// Bytes of a list from which on a file is worth it.
const LARGE: usize = 1 << 20;

/// How often the keeper looks. In this time a thread touches some ten megabytes.
const EVERY: Duration = Duration::from_millis(4);

/// Memory that lies in files.
pub trait Ground: fmt::Debug + Send + Sync {
    /// A new file, mapped.
    ///
    /// # Errors
    /// Of the system: there is no room on the disk.
    fn room(&self, bytes: usize) -> Result<Box<dyn Room>>;

    /// How much of this process is resident; `None` where the system does not say.
    fn resident(&self) -> Option<Resident>;

    /// Tells the system to take back the pages of mapped memory that begin at this address; their content stays.
    fn let_go(&self, start: usize, bytes: usize);
}

/// A mapped file of this process's own.
pub trait Room: fmt::Debug + Send + Sync {
    /// Where it begins.
    fn start(&self) -> NonNull<u8>;

    /// Makes it larger; its content stays, though it may begin elsewhere.
    ///
    /// # Errors
    /// Of the system: there is no room on the disk; then it is as it was.
    fn grow(&mut self, bytes: usize) -> Result<()>;
}

/// Bytes that are in memory at this moment.
#[derive(Debug, Clone, Copy)]
pub struct Resident {
    /// Of no file.
    pub own: usize,
    /// Of mapped files.
    pub mapped: usize,
}

#[derive(Debug)]
struct Shared {
    limit: usize,
    ground: Box<dyn Ground>,
    in_memory: AtomicUsize, // bytes of lists there
}

/// Where the lists of this process lie in files: start, bytes.
static MAPPED: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

fn mapped() -> MutexGuard<'static, Vec<(usize, usize)>> {
    MAPPED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// What lists may take in memory; other things need some, too.
    fn share(&self) -> usize {
        self.limit / 5 * 2
    }

    /// Gives mapped pages back where all together pass the limit. An eighth of it they may always have.
    fn look(&self) {
        let mapped = mapped();
        if mapped.is_empty() {
            return;
        }
        let Some(resident) = self.ground.resident() else { return };
        if resident.mapped > self.limit.saturating_sub(resident.own).max(self.limit / 8) {
            mapped.iter().for_each(|&(start, bytes)| self.ground.let_go(start, bytes));
        }
    }
}

/// How much memory lists may take together, and where they lie beyond. By default there is no limit.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    shared: Option<Arc<Shared>>,
    in_files: bool,
}

impl Memory {
    /// Without a limit.
    pub const fn unlimited() -> Self {
        Self { shared: None, in_files: false }
    }

    /// About `limit` bytes for the whole process.
    pub fn new(limit: usize, ground: Box<dyn Ground>) -> Self {
        Self { shared: Some(Arc::new(Shared { limit, ground, in_memory: AtomicUsize::new(0) })), in_files: false }
    }

    /// The same for lists that are read once and need not be near.
    pub fn in_files(&self) -> Self {
        Self { shared: self.shared.clone(), in_files: true }
    }

    /// Does `work`, and sees to it that mapped pages do not pass the limit meanwhile.
    pub fn keep<R>(&self, work: impl FnOnce() -> R) -> R {
        let Some(shared) = &self.shared else { return work() };
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let look = || {
                while !done.load(Ordering::Relaxed) {
                    std::thread::park_timeout(EVERY);
                    shared.look();
                }
            };
            // Without a thread the system decides what stays.
            let keeper = std::thread::Builder::new().spawn_scoped(scope, look).ok();
            let _end = End { done: &done, keeper: keeper.as_ref().map(|keeper| keeper.thread()) };
            work()
        })
    }

    /// Whether a list that grows from `before` to `after` bytes goes to a file, or stays there.
    fn goes_to_file(&self, before: usize, after: usize) -> bool {
        let Some(shared) = &self.shared else { return false };
        let others = shared.in_memory.load(Ordering::Relaxed).saturating_sub(before);
        after >= LARGE && (self.in_files || others.saturating_add(after) > shared.share())
    }
}

/// Ends the keeper, even where the work fails.
struct End<'a> {
    done: &'a AtomicBool,
    keeper: Option<&'a std::thread::Thread>,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(keeper) = self.keeper {
            keeper.unpark();
        }
    }
}

/// Where the values of a list are.
#[derive(Debug)]
enum Place<T> {
    Memory(Vec<MaybeUninit<T>>), // of length 0: all of it is spare
    File(Box<dyn Room>),
}

/// A list that grows, in memory or in a file.
pub struct List<T: Copy> {
    start: NonNull<T>,
    len: usize,
    capacity: usize,
    place: Place<T>,
    memory: Memory,
}

// SAFETY: it owns its values, as a `Vec` does.
unsafe impl<T: Copy + Send> Send for List<T> {}
// SAFETY: likewise.
unsafe impl<T: Copy + Sync> Sync for List<T> {}

impl<T: Copy> List<T> {
    /// Nothing yet.
    pub fn new(memory: &Memory) -> Self {
        let place = Place::Memory(Vec::new());
        Self { start: NonNull::dangling(), len: 0, capacity: 0, place, memory: memory.clone() }
    }

    /// Room for `more` values.
    ///
    /// # Errors
    /// Of the system: there is no room on the disk.
    #[inline]
    pub fn reserve(&mut self, more: usize) -> Result<()> {
        if self.capacity - self.len < more {
            self.grow(more)?;
        }
        Ok(())
    }

    #[cold]
    fn grow(&mut self, more: usize) -> Result<()> {
        const { assert!(align_of::<T>() <= 4096 && size_of::<T>() > 0) }
        let before = self.bytes();
        let needed = (self.len + more).max(self.len + self.len / 2);
        let doubled = (self.len + more).max(2 * self.len);
        match &mut self.place {
            Place::File(room) => {
                let old = (self.start.as_ptr() as usize, before);
                let mut mapped = mapped(); // nobody lets go of what is just being mapped anew
                room.grow(needed * size_of::<T>())?;
                self.start = room.start().cast();
                mapped.retain(|&region| region != old);
                mapped.push((self.start.as_ptr() as usize, needed * size_of::<T>()));
                self.capacity = needed;
            }
            Place::Memory(_) if self.memory.goes_to_file(before, doubled * size_of::<T>()) => self.move_to_file(needed)?,
            Place::Memory(list) => {
                // SAFETY: so many values were written there; now they move with the rest.
                unsafe { list.set_len(self.len) };
                list.reserve_exact(doubled - self.len);
                pages::large(list.spare_capacity_mut());
                list.clear();
                self.capacity = list.capacity();
                self.start = NonNull::from(&mut list.spare_capacity_mut()[0]).cast();
                let after = self.bytes();
                self.count(before, after);
            }
        }
        Ok(())
    }

    #[cold]
    fn move_to_file(&mut self, capacity: usize) -> Result<()> {
        let Some(shared) = self.memory.shared.clone() else { return Ok(()) };
        let room = shared.ground.room(capacity * size_of::<T>())?;
        let start: NonNull<T> = room.start().cast();
        // SAFETY: both have room for so many values, a mapped file begins at a page, and they are different memory.
        unsafe { std::ptr::copy_nonoverlapping(self.start.as_ptr(), start.as_ptr(), self.len) };
        self.count(self.bytes(), 0);
        (self.start, self.capacity, self.place) = (start, capacity, Place::File(room));
        mapped().push((start.as_ptr() as usize, self.bytes()));
        Ok(())
    }

    /// Bytes that it has room for.
    pub fn bytes(&self) -> usize {
        self.capacity * size_of::<T>()
    }

    fn count(&self, before: usize, after: usize) {
        if let Some(shared) = &self.memory.shared {
            shared.in_memory.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
        }
    }

    /// Adds a value.
    ///
    /// # Errors
    /// As [`List::reserve`].
    #[inline]
    pub fn push(&mut self, value: T) -> Result<()> {
        self.reserve(1)?;
        // SAFETY: there is room for one more.
        unsafe { self.start.add(self.len).write(value) };
        self.len += 1;
        Ok(())
    }

    /// Adds values.
    ///
    /// # Errors
    /// As [`List::reserve`].
    #[inline]
    pub fn extend(&mut self, values: impl ExactSizeIterator<Item = T>) -> Result<()> {
        self.reserve(values.len())?;
        values.take(self.capacity - self.len).for_each(|value| {
            // SAFETY: `take` gives no more than there is room for.
            unsafe { self.start.add(self.len).write(value) };
            self.len += 1;
        });
        Ok(())
    }

    /// Adds values.
    ///
    /// # Errors
    /// As [`List::reserve`].
    #[inline]
    pub fn extend_from_slice(&mut self, values: &[T]) -> Result<()> {
        self.extend(values.iter().copied())
    }

    /// Forgets all but the first `len` values.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Keeps what `keep` wants; it may change the values.
    pub fn retain_mut(&mut self, mut keep: impl FnMut(&mut T) -> bool) {
        let mut kept = 0;
        for at in 0..self.len {
            if keep(&mut self[at]) {
                self[kept] = self[at];
                kept += 1;
            }
        }
        self.len = kept;
    }

    /// How many values it has room for without growing.
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}

impl<T: Copy> Deref for List<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: so many values were written there, and they live as long as the list.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Copy> DerefMut for List<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: likewise, and nobody else has the list.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Copy> Drop for List<T> {
    fn drop(&mut self) {
        let region = (self.start.as_ptr() as usize, self.bytes());
        match &self.place {
            Place::Memory(_) => self.count(region.1, 0),
            // Before the file is unmapped, which is when the place is dropped.
            Place::File(_) => mapped().retain(|&other| other != region),
        }
    }
}

impl<T: Copy> Default for List<T> {
    fn default() -> Self {
        Self::new(&Memory::default())
    }
}

/// A copy lies in memory.
impl<T: Copy> Clone for List<T> {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        // Only files can refuse.
        copy.extend_from_slice(self).ok();
        copy
    }
}

impl<T: Copy> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "List of {} values", self.len)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::error::Error;

    /// "Files" that are memory: what is tested is what lists make of them.
    #[derive(Debug, Default)]
    pub(crate) struct Heap {
        pub(crate) full_at: usize,
    }

    #[derive(Debug)]
    struct Block {
        words: Vec<[u64; 8]>,
        start: usize,
        full_at: usize,
    }

    impl Block {
        fn of(bytes: usize, full_at: usize) -> Result<Self> {
            if bytes > full_at {
                return Err(Error::training("the disk is full"));
            }
            let mut block = Self { words: vec![[u64::MAX; 8]; bytes / 64 + 64], start: 0, full_at };
            block.start = (block.words.as_mut_ptr() as usize).next_multiple_of(4096);
            Ok(block)
        }
    }

    impl Ground for Heap {
        fn room(&self, bytes: usize) -> Result<Box<dyn Room>> {
            Ok(Box::new(Block::of(bytes, self.full_at)?))
        }

        fn resident(&self) -> Option<Resident> {
            Some(Resident { own: 0, mapped: usize::MAX })
        }

        fn let_go(&self, _: usize, _: usize) {}
    }

    impl Room for Block {
        fn start(&self) -> NonNull<u8> {
            NonNull::new(std::ptr::with_exposed_provenance_mut(self.start)).unwrap()
        }

        fn grow(&mut self, bytes: usize) -> Result<()> {
            let larger = Self::of(bytes, self.full_at)?;
            let old = self.words.len() * 64 - 4096;
            // SAFETY: both are as large, at least.
            unsafe { std::ptr::copy_nonoverlapping(self.start().as_ptr(), larger.start().as_ptr(), old.min(bytes)) };
            *self = larger;
            Ok(())
        }
    }

    /// For at most so many bytes, two fifths of them in lists in memory.
    pub(crate) fn limited(limit: usize, full_at: usize) -> Memory {
        Memory::new(limit, Box::new(Heap { full_at }))
    }

    #[test]
    fn values_stay_where_ever_the_list_lies() {
        let memory = limited(20 << 20, usize::MAX);
        memory.keep(|| {
            let mut lists: Vec<List<u32>> = (0..3).map(|_| List::new(&memory)).collect();
            let files = memory.in_files();
            lists.push(List::new(&files));
            for value in 0..700_000 {
                lists.iter_mut().try_for_each(|list| list.push(value)).unwrap();
            }
            assert!(matches!(lists[0].place, Place::Memory(_)) && matches!(lists[1].place, Place::File(_)));
            assert!(matches!(lists[3].place, Place::File(_)));
            for list in &mut lists {
                list.extend_from_slice(&[7; 100_000]).unwrap();
                list.retain_mut(|value| *value % 2 == 1);
                assert_eq!(list.len(), 450_000);
                assert!(list[..350_000].iter().zip(0..).all(|(&value, at)| value == 2 * at + 1));
                assert!(list.clone()[350_000..].iter().all(|&value| value == 7));
            }
            drop(lists);
            let shared = memory.shared.as_ref().unwrap();
            assert_eq!(shared.in_memory.load(Ordering::Relaxed), 0);
        });
    }

    #[test]
    fn a_full_disk_is_an_error_and_what_was_there_stays() {
        let memory = limited(1 << 20, 3 << 20);
        let mut list: List<u64> = List::new(&memory);
        let pushed = (0..).take_while(|&value| list.push(value).is_ok()).count();
        assert!(pushed > 100_000 && list.len() == pushed);
        assert!(list.iter().zip(0..).all(|(&value, at)| value == at));
    }
}
