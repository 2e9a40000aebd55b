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

/// How often the keeper looks. In this time a thread touches some ten megabytes, for the system maps neighbors of a touched page, too.
const EVERY: Duration = Duration::from_millis(1);

/// Memory that lies in files.
pub trait Ground: fmt::Debug + Send + Sync {
    /// A new file, mapped.
    ///
    /// # Errors
    /// Of the system: there is no room on the disk.
    fn room(&self, bytes: usize) -> Result<Box<dyn Room>>;

    /// How much of this process is resident; `None` where the system does not say.
    fn resident(&self) -> Option<Resident>;

    /// Gives the system back what the allocator holds and nobody uses.
    fn trim(&self);

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
        self.limit / 3
    }

    /// Gives mapped pages back where all together pass the limit. An eighth of it they may always have.
    fn look(&self) {
        let mapped = mapped();
        if mapped.is_empty() {
            return;
        }
        let Some(resident) = self.ground.resident() else { return };
        let room = self.limit.saturating_sub(resident.own + self.limit / 4); // what is touched between two looks
        if resident.mapped > room.max(self.limit / 8) {
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

    /// Whether lists of so many bytes together are too many to lie in memory.
    pub fn is_tight(&self, bytes: usize) -> bool {
        self.shared.as_ref().is_some_and(|shared| bytes > shared.share())
    }

    /// Gives back what nobody uses, where lists of so many bytes together are too many to lie in memory.
    pub fn trim_for(&self, bytes: usize) {
        if let Some(shared) = self.shared.as_ref().filter(|_| self.is_tight(bytes)) {
            shared.ground.trim();
        }
    }

    /// Gives mapped pages back if they pass the limit. For loops that touch many of them.
    pub fn look(&self) {
        if let Some(shared) = &self.shared {
            shared.look();
        }
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
            Place::Memory(_) if self.memory.goes_to_file(before, doubled * size_of::<T>()) => {
                self.move_to_file(needed)?
            }
            Place::Memory(list) => {
                // SAFETY: so many values were written there; now they move with the rest.
                unsafe { list.set_len(self.len) };
                list.reserve_exact(doubled - self.len);
                pages::large(list.spare_capacity_mut());
                self.settle_in_memory(before);
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

    /// Gives room back that is not needed; the list may come back from its file.
    ///
    /// # Errors
    /// As [`List::reserve`].
    pub fn shrink(&mut self) -> Result<()> {
        let before = self.bytes();
        if let Place::Memory(list) = &mut self.place {
            // SAFETY: so many values were written there; they may move.
            unsafe { list.set_len(self.len) };
            list.shrink_to_fit();
            self.settle_in_memory(before);
            return Ok(());
        }
        let mut smaller = Self::new(&self.memory);
        smaller.extend_from_slice(self)?;
        *self = smaller;
        Ok(())
    }

    /// The list of its place has moved: it holds all values, and from now on none.
    fn settle_in_memory(&mut self, before: usize) {
        if let Place::Memory(list) = &mut self.place {
            list.clear();
            self.capacity = list.capacity();
            self.start = NonNull::from(list.spare_capacity_mut()).cast();
            let after = self.bytes();
            self.count(before, after);
        }
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
