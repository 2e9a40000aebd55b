//! Lists that are in memory up to a limit, and in memory-mapped files beyond it.
//!
//! A list is a slice to its user wherever it is stored, and nothing that is computed depends on it. Pages of a mapped
//! file that were touched count as memory of the process. While work runs, a thread checks every millisecond how much
//! that is ([`Memory::keep`]), and loops that touch many pages check, too ([`Memory::look`]). Where it passes the
//! limit, pages are released: their content stays in the system's page cache or on the disk, and to touch one again
//! costs a page fault, about a microsecond.
//!
//! Only what exceeds the limit is released. The first bytes of the mapped lists, as many as fit, stay mapped
//! ([`Shared::look`]), so that the number of page faults grows with the excess. To release all pages whenever the limit
//! was passed made learning 20 times slower as soon as the lists did not fit.
//!
//! What the process held when the limit was made is not counted: a Python process with NumPy has 50 MB before it does
//! anything.
//!
//! Invariant: a list's values do not depend on where it is stored. Every allocation is fallible. Files are made by
//! [`Ground`].
//!
//! Fork: the registry of mapped lists has a lock that another thread may hold at that moment. A child process never
//! takes it (see [`Shared::rooms`]); there, pages of mapped files are the system's to manage.
//!
//! Cost: that of a `Vec` while a list is in memory. Left out: systems that do not report resident memory, on which
//! mapped pages are the system's to manage.

use std::alloc::{alloc, dealloc, realloc, Layout};
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use hashbrown::HashTable;

use crate::error::{Error, ErrorKind, Result};
use crate::huge_pages;

/// Bytes of a list from which on a file is worth it.
const LARGE: usize = 1 << 20;

/// What every page size divides, or is divided by: mapped files begin at multiples of it.
pub const PAGE: usize = 4096;

/// How often the thread of [`Memory::keep`] checks. Meanwhile a thread touches some ten megabytes, for the system maps
/// neighbors of a touched page, too.
const EVERY: Duration = Duration::from_millis(1);

/// Makes mapped files, and reports what is resident.
pub trait Ground: fmt::Debug + Send + Sync {
    /// A new file of so many bytes, mapped.
    ///
    /// # Errors
    /// Of the system: the disk is full.
    fn room(&self, bytes: usize) -> Result<Arc<dyn Room>>;

    /// How much of this process is resident; `None` where the system does not report it.
    fn resident(&self) -> Option<Resident>;

    /// Returns to the system what the allocator holds unused.
    fn trim(&self);
}

/// A mapped file of this process's own.
///
/// # Safety
/// [`Room::start`] is the first of [`Room::bytes`] initialized bytes, at a multiple of [`PAGE`], that are valid for
/// reads and writes through this pointer until the value is dropped. Neither changes while the value exists. Nothing
/// else reads or writes these bytes, save a value that [`Room::grown`] made of it. [`Room::release`] changes no
/// content.
pub unsafe trait Room: fmt::Debug + Send + Sync {
    /// The first byte.
    fn start(&self) -> NonNull<u8>;

    /// How many there are.
    fn bytes(&self) -> usize;

    /// The same file with more bytes, mapped once more. It begins with the content of this one, which may no longer be
    /// used through this value.
    ///
    /// # Errors
    /// Of the system: the disk is full; then this value is as before.
    fn grown(&self, bytes: usize) -> Result<Arc<dyn Room>>;

    /// Tells the system to take back the pages after the first `keep` bytes. Their content stays.
    fn release(&self, keep: usize);
}

/// Bytes that are in memory at this moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Resident {
    /// Of no file.
    pub own: usize,
    /// Of mapped files.
    pub mapped: usize,
}

/// A mapped list, as the registry knows it.
#[derive(Debug)]
struct Mapped {
    room: Weak<dyn Room>,
    is_pinned: bool, // whether its first bytes stay mapped where they fit
}

#[derive(Debug)]
struct Shared {
    limit: usize,
    ground: Box<dyn Ground>,
    process: u32,
    own_before: usize,
    mapped_before: AtomicUsize, // files of others: libraries, mostly
    in_memory: AtomicUsize,     // bytes of lists there
    rooms: Mutex<Vec<Mapped>>,
}

impl Shared {
    /// Bytes that lists may take in memory; learning keeps other tables, too.
    fn share(&self) -> usize {
        self.limit / 2
    }

    /// The mapped lists; `None` in a child process that was forked from the one that made the limit: another thread may
    /// have held the lock at that moment, and nobody would release it.
    fn rooms(&self) -> Option<MutexGuard<'_, Vec<Mapped>>> {
        (std::process::id() == self.process).then(|| self.rooms.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, room: &Arc<dyn Room>, is_pinned: bool) {
        if let Some(mut rooms) = self.rooms() {
            rooms.retain(|mapped| mapped.room.strong_count() > 0);
            rooms.push(Mapped { room: Arc::downgrade(room), is_pinned });
        }
    }

    /// Releases mapped pages where they pass the limit. Half of it is always theirs: with less, other tables have
    /// passed the limit already, and each visit would cost a fault.
    ///
    /// Three quarters of what mapped pages may take belong to the first pinned bytes, which are never released: of
    /// lists that are visited in no order that is as good a choice as any, and the quarter that is left serves all
    /// other pages until it is full again.
    fn look(&self) {
        let Some(rooms) = self.rooms() else { return };
        if rooms.is_empty() {
            return;
        }
        let Some(resident) = self.ground.resident() else { return };
        let own = resident.own.saturating_sub(self.own_before);
        let allowed = self.limit.saturating_sub(own).max(self.limit / 2);
        let before = self.mapped_before.load(Ordering::Relaxed);
        if resident.mapped.saturating_sub(before) <= allowed {
            return;
        }
        let mut pinned = allowed / 4 * 3;
        for mapped in &*rooms {
            let Some(room) = mapped.room.upgrade() else { continue };
            let keep = if mapped.is_pinned { pinned.min(room.bytes()) / PAGE * PAGE } else { 0 };
            pinned -= keep;
            room.release(keep);
        }
        // Where that was not enough, what is mapped beyond the pinned bytes is not ours: libraries that were loaded
        // meanwhile.
        let still = self.ground.resident().map_or(0, |resident| resident.mapped);
        if still.saturating_sub(before) > allowed {
            self.mapped_before.fetch_max(still - allowed / 4 * 3, Ordering::Relaxed);
        }
    }
}

/// How much memory lists may take together; beyond it they are in files. There is no limit by default.
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

    /// About `limit` bytes beyond what the process has now.
    pub fn new(limit: usize, ground: Box<dyn Ground>) -> Self {
        let Resident { own, mapped } = ground.resident().unwrap_or_default();
        let shared = Shared {
            limit,
            ground,
            process: std::process::id(),
            own_before: own,
            mapped_before: AtomicUsize::new(mapped),
            in_memory: AtomicUsize::new(0),
            rooms: Mutex::default(),
        };
        Self { shared: Some(Arc::new(shared)), in_files: false }
    }

    /// The same limit, for lists that are read in order: they are in files from the start, and none of their pages is
    /// pinned.
    pub fn in_files(&self) -> Self {
        Self { shared: self.shared.clone(), in_files: true }
    }

    /// Whether lists of so many bytes together are too many to be in memory.
    pub fn is_tight(&self, bytes: usize) -> bool {
        self.shared.as_ref().is_some_and(|shared| bytes > shared.share())
    }

    /// Returns unused memory to the system, where lists of so many bytes together are too many to be in memory.
    pub fn trim_for(&self, bytes: usize) {
        if let Some(shared) = self.shared.as_ref().filter(|_| self.is_tight(bytes)) {
            shared.ground.trim();
        }
    }

    /// Releases mapped pages if they pass the limit. For loops that touch many of them.
    pub fn look(&self) {
        if let Some(shared) = &self.shared {
            shared.look();
        }
    }

    /// Does `work` while another thread keeps mapped pages within the limit.
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

    /// Whether a list that grows from `before` to `after` bytes goes to a file.
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

/// `len` copies of a value.
///
/// # Errors
/// [`ErrorKind::Memory`].
pub fn filled<T: Clone>(value: T, len: usize) -> Result<Vec<T>> {
    let mut list = with_capacity(len)?;
    list.resize(len, value);
    Ok(list)
}

/// A `Vec` with this capacity.
///
/// # Errors
/// [`ErrorKind::Memory`].
pub fn with_capacity<T>(capacity: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(capacity).map_err(|_| Error::memory(capacity.saturating_mul(size_of::<T>())))?;
    Ok(list)
}

/// A `String` with this capacity.
///
/// # Errors
/// [`ErrorKind::Memory`].
pub fn string(capacity: usize) -> Result<String> {
    let mut text = String::new();
    text.try_reserve_exact(capacity).map_err(|_| Error::memory(capacity))?;
    Ok(text)
}

/// Capacity for `more` values, with the growth of a `Vec`.
///
/// # Errors
/// [`ErrorKind::Memory`].
#[inline]
pub fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<()> {
    list.try_reserve(more).map_err(|_| Error::memory(list.len().saturating_add(more).saturating_mul(size_of::<T>())))
}

/// Capacity of a hash table for one more entry.
///
/// # Errors
/// [`ErrorKind::Memory`].
#[inline]
pub fn reserve_slot<T>(table: &mut HashTable<T>, rehash: impl Fn(&T) -> u64) -> Result<()> {
    table.try_reserve(1, rehash).map_err(|_| Error::memory(table.capacity().saturating_mul(2 * size_of::<T>())))
}

/// A list that grows, in memory or in a file.
///
/// Invariant: `start` is the first of `capacity` values, of which the first `len` are initialized. They belong to this
/// list alone: to an allocation of the global allocator with the layout of `capacity` values (none where that is 0), or
/// where there is a `room`, to it.
pub struct List<T: Copy> {
    start: NonNull<T>,
    len: usize,
    capacity: usize,
    room: Option<Arc<dyn Room>>,
    memory: Memory,
}

// SAFETY: the values belong to the list alone (its invariant), as those of a `Vec`; a `Room` is `Send` and `Sync`.
unsafe impl<T: Copy + Send> Send for List<T> {}
// SAFETY: `&List` gives `&[T]` only; likewise.
unsafe impl<T: Copy + Sync> Sync for List<T> {}

impl<T: Copy> List<T> {
    /// An empty list.
    pub fn new(memory: &Memory) -> Self {
        Self { start: NonNull::dangling(), len: 0, capacity: 0, room: None, memory: memory.clone() }
    }

    /// Capacity for `more` values.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`]; of the system: the disk is full. The list is as before.
    #[inline]
    pub fn reserve(&mut self, more: usize) -> Result<()> {
        if self.capacity - self.len < more {
            self.grow(more)?;
        }
        Ok(())
    }

    #[cold]
    fn grow(&mut self, more: usize) -> Result<()> {
        const { assert!(align_of::<T>() <= PAGE && size_of::<T>() > 0) }
        let least = self.len.checked_add(more).ok_or_else(|| Error::memory(usize::MAX))?;
        let doubled = least.max(self.len.saturating_mul(2));
        let by_half = least.max(self.len.saturating_add(self.len / 2));
        if self.room.is_some() || self.memory.goes_to_file(self.bytes(), doubled.saturating_mul(size_of::<T>())) {
            self.move_to_file(by_half)
        } else {
            self.resize_in_memory(doubled).or_else(|_| self.resize_in_memory(least))
        }
    }

    /// The layout of so many values.
    fn layout(capacity: usize) -> Result<Layout> {
        Layout::array::<T>(capacity).map_err(|_| Error::memory(capacity.saturating_mul(size_of::<T>())))
    }

    /// Gives a list that is in memory another capacity, at least its length.
    fn resize_in_memory(&mut self, capacity: usize) -> Result<()> {
        let (old, new) = (Self::layout(self.capacity)?, Self::layout(capacity)?);
        if new.size() == 0 {
            self.forget();
            return Ok(());
        }
        let start = if old.size() == 0 {
            // SAFETY: the size is not 0.
            unsafe { alloc(new) }
        } else {
            // SAFETY: without a room the values are an allocation with the layout `old`; the new size is not 0, and
            // `Layout::array` has checked that it does not overflow.
            unsafe { realloc(self.start.as_ptr().cast(), old, new.size()) }
        };
        let before = self.bytes();
        self.start = NonNull::new(start.cast()).ok_or_else(|| Error::memory(new.size()))?;
        self.capacity = capacity;
        self.count(before, self.bytes());
        // SAFETY: these are the values of the allocation behind the first `len`; nothing else refers to them here.
        huge_pages::advise(unsafe {
            std::slice::from_raw_parts_mut(
                self.start.as_ptr().cast::<MaybeUninit<T>>().add(self.len),
                capacity - self.len,
            )
        });
        Ok(())
    }

    /// Gives a list in a file another capacity, or moves it there.
    #[cold]
    fn move_to_file(&mut self, capacity: usize) -> Result<()> {
        let Some(shared) = self.memory.shared.clone() else { return self.resize_in_memory(capacity) };
        let bytes = Self::layout(capacity)?.size();
        let room = match &self.room {
            Some(room) => room.grown(bytes)?,
            None => shared.ground.room(bytes)?,
        };
        let start: NonNull<T> = room.start().cast();
        // Of what `Room` promises, the size is checked here, so that a mistake there is no mistake here.
        if room.bytes() < bytes || !start.as_ptr().addr().is_multiple_of(PAGE) {
            return Err(ErrorKind::Internal("a mapped file that is too small".into()).into());
        }
        shared.add(&room, !self.memory.in_files);
        if self.room.is_none() {
            // SAFETY: `len` values are initialized here (the invariant); the room has at least `capacity` ≥ `len`
            // (checked above), it begins at a page, for which `grow` has checked the alignment of `T`, and is different
            // memory.
            unsafe { std::ptr::copy_nonoverlapping(self.start.as_ptr(), start.as_ptr(), self.len) };
            self.forget();
        }
        // Where the list was in a file already, the new mapping begins with its content (`Room::grown`).
        (self.start, self.capacity, self.room) = (start, capacity, Some(room));
        Ok(())
    }

    /// Frees the memory of the list, whose values are elsewhere by now or not needed; its length stays.
    fn forget(&mut self) {
        if self.room.take().is_none() {
            self.count(self.bytes(), 0);
            if let Ok(layout) = Self::layout(self.capacity) {
                if layout.size() > 0 {
                    // SAFETY: without a room the values are an allocation with this layout.
                    unsafe { dealloc(self.start.as_ptr().cast(), layout) };
                }
            }
        }
        (self.start, self.capacity) = (NonNull::dangling(), 0);
    }

    /// Bytes of its capacity.
    pub fn bytes(&self) -> usize {
        self.capacity * size_of::<T>() // no overflow: there is an allocation or a file of this size
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
        // SAFETY: `reserve` has made the capacity at least `len` + 1.
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
            // SAFETY: `take` gives at most as many values as the capacity exceeds the length, whatever the iterator
            // says of its length, and each adds one to the length.
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

    /// Frees capacity that is not needed; the list may come back from its file.
    ///
    /// # Errors
    /// As [`List::reserve`].
    pub fn shrink(&mut self) -> Result<()> {
        if self.room.is_none() {
            return self.resize_in_memory(self.len);
        }
        let smaller = self.copy(&self.memory)?;
        *self = smaller;
        Ok(())
    }

    /// A list with the same values under another limit.
    ///
    /// # Errors
    /// As [`List::reserve`].
    pub fn copy(&self, memory: &Memory) -> Result<Self> {
        let mut copy = Self::new(memory);
        copy.reserve(self.len)?;
        for values in self.chunks(LARGE) {
            copy.extend_from_slice(values)?;
            memory.look();
        }
        Ok(copy)
    }

    /// Drops all but the first `len` values.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Keeps the values for which `keep` returns true; it may change them.
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

    /// How many values it can hold without growing.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Whether it is in a file.
    #[inline]
    pub fn is_in_file(&self) -> bool {
        self.room.is_some()
    }
}

impl<T: Copy> Deref for List<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the first `len` values are initialized and belong to the list (its invariant), which is borrowed as
        // long as the slice; `start` is aligned and not null also where there are none.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Copy> DerefMut for List<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`, and the list is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Copy> Drop for List<T> {
    fn drop(&mut self) {
        self.forget();
    }
}

impl<T: Copy> Default for List<T> {
    fn default() -> Self {
        Self::new(&Memory::default())
    }
}

impl<T: Copy> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "List of {} values", self.len)
    }
}
