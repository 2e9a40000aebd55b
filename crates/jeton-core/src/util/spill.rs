//! Vectors that spill to memory-mapped files beyond a memory limit.
//!
//! A [`SpillVec`] is accessed as a slice, whether it is in memory or in a file. Resident pages of a mapped file count
//! as memory of the process. While work runs, a thread checks the number of resident pages every millisecond
//! ([`MemoryLimit::enforce_during`]); loops that touch many pages also check it ([`MemoryLimit::enforce`]). If the
//! limit is exceeded, pages are released: their content stays in the page cache of the system or on the disk, and the
//! next access costs a page fault of about a microsecond.
//!
//! Only the excess pages are released. The first pages of the vectors stay mapped, as many as the limit allows. So the
//! number of page faults grows with the excess. If all pages were released, learning would be 20 times slower as soon
//! as the vectors exceed the limit.
//!
//! The allocator is trimmed as well, because it keeps memory that other vectors and tables have freed.
//!
//! Memory that the process had before the limit was created is not counted: a Python process with NumPy has 50 MB
//! before it does any work.
//!
//! Invariant: the values of a vector do not depend on where it is stored. Every allocation is fallible. [`Storage`]
//! creates the files.
//!
//! Fork: another thread can hold the lock of the registry at the time of the fork, so a child process never takes the
//! lock (see `Shared::registry`). In a child process, only the system manages the pages of mapped files.
//!
//! Cost: while a vector is in memory, it costs as much as a `Vec`. Left out: systems that do not report resident
//! memory; there, only the system manages mapped pages.

use std::alloc::{alloc, dealloc, realloc, Layout};
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};
use crate::util::{huge_pages, process};

/// Minimum size of a vector that moves to a file, in bytes.
const LARGE: usize = 1 << 20;

/// Alignment of mapped files. Every page size divides it or is a multiple of it.
pub const PAGE: usize = 4096;

/// Interval of the checks in [`MemoryLimit::enforce_during`]. A thread maps about ten megabytes in this time, because
/// the system also maps the neighbors of each page that the thread touches.
const INTERVAL: Duration = Duration::from_millis(1);

/// Creates mapped files, and reports resident memory.
pub trait Storage: fmt::Debug + Send + Sync {
    /// Creates and maps a file. `bytes` is its size in bytes.
    ///
    /// # Errors
    /// I/O errors, for example if the disk is full.
    fn create(&self, bytes: usize) -> Result<Arc<dyn Mapping>>;

    /// Returns the resident memory of this process; `None` if the system does not report it.
    fn resident(&self) -> Option<Resident>;

    /// Returns unused memory of the allocator to the system.
    fn trim(&self);
}

/// Mapped file that only this process accesses.
///
/// # Safety
/// [`Mapping::start`] is the first of [`Mapping::bytes`] initialized bytes, at a multiple of [`PAGE`]. The bytes are
/// valid for reads and writes through this pointer until the value is dropped. Their address and number do not change
/// while the value exists. No other code reads or writes them, except through a value returned by [`Mapping::grown`].
/// [`Mapping::release`] does not change the content.
pub unsafe trait Mapping: fmt::Debug + Send + Sync {
    /// Returns the address of the first byte.
    fn start(&self) -> NonNull<u8>;

    /// Returns the size in bytes.
    fn bytes(&self) -> usize;

    /// Extends the file and maps it again. The content does not change. From then on, the content must only be accessed
    /// through the returned value.
    ///
    /// # Errors
    /// I/O errors, for example if the disk is full; this value is then unchanged.
    fn grown(&self, bytes: usize) -> Result<Arc<dyn Mapping>>;

    /// Releases the physical memory of the pages after the first `keep` bytes. The next access reads them from the
    /// file.
    fn release(&self, keep: usize);

    /// Returns how many bytes of the mapping are in physical memory; `None` if the system does not report it.
    fn resident(&self) -> Option<usize>;
}

/// Resident memory, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Resident {
    /// Anonymous memory.
    pub own: usize,
    /// Memory of mapped files.
    pub mapped: usize,
}

/// Pages are released when memory exceeds the limit minus a reserve, because more pages can be mapped before the next
/// check. The reserve is the limit divided by this number.
const SLACK: usize = 16;

/// Memory can exceed the limit even after pages have been released. If memory exceeds the limit after `CHECKS`
/// consecutive releases, the mapped pages of the vectors are counted. A single release is not enough: right after a
/// release, other threads can map as many pages as a small limit allows.
const CHECKS: u32 = 16;

/// Mapped vectors.
#[derive(Debug, Default)]
struct Registry {
    mappings: Vec<Registered>,
    exceeded: u32, // number of consecutive checks that exceeded the limit even after a release
    trims: Trims,
}

/// Interval between trims of the allocator. A trim is expensive: it visits all free blocks, and each of their pages
/// costs a page fault when it is allocated again.
const TRIM_INTERVAL: Duration = Duration::from_millis(5);

/// Maximum interval between trims. The interval grows after trims that release less than a sixteenth of the limit.
const LONGEST_TRIM_INTERVAL: Duration = Duration::from_millis(640);

/// Schedule of trims of the allocator.
#[derive(Debug, Default)]
struct Trims {
    last: Option<Instant>,
    interval: Duration,
}

impl Trims {
    fn is_due(&self) -> bool {
        self.last.is_none_or(|last| last.elapsed() >= self.interval)
    }

    /// Records a trim. The interval doubles after a trim that released little.
    fn record(&mut self, is_in_vain: bool) {
        let doubled = self.interval.saturating_mul(2).min(LONGEST_TRIM_INTERVAL);
        self.interval = if is_in_vain { doubled.max(TRIM_INTERVAL) } else { TRIM_INTERVAL };
        self.last = Some(Instant::now());
    }
}

#[derive(Debug)]
struct Registered {
    mapping: Weak<dyn Mapping>,
    is_pinned: bool, // the first bytes of the vector stay mapped if they fit
}

#[derive(Debug)]
struct Shared {
    limit: usize,
    storage: Box<dyn Storage>,
    process: u32,
    own_before: usize,
    mapped_before: AtomicUsize, // bytes of mapped pages of other files, mostly libraries
    in_memory: AtomicUsize,     // bytes of vectors in memory
    registry: Mutex<Registry>,
}

impl Shared {
    /// Returns the number of bytes that vectors are allowed to take in memory; the rest of the limit is for the other
    /// tables of learning.
    fn share(&self) -> usize {
        self.limit / 2
    }

    /// Locks the registry of mapped vectors. Returns `None` in a child process forked from the one that created the
    /// limit: if another thread held the lock at the time of the fork, the child would wait for the lock forever.
    fn registry(&self) -> Option<MutexGuard<'_, Registry>> {
        (process::id() == self.process).then(|| self.registry.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, mapping: &Arc<dyn Mapping>, is_pinned: bool) {
        if let Some(mut registry) = self.registry() {
            registry.mappings.retain(|mapped| mapped.mapping.strong_count() > 0);
            registry.mappings.push(Registered { mapping: Arc::downgrade(mapping), is_pinned });
        }
    }

    /// Returns unused memory to the system if the limit is exceeded and much of the memory is not in vectors. This is
    /// necessary because the allocator keeps the memory of freed vectors and tables, for each thread. In Unigram
    /// training, the memory freed by a pass can reach two thirds of the limit.
    fn trim(&self, resident: &mut Resident, mapped_before: usize, trims: &mut Trims) {
        let own = resident.own.saturating_sub(self.own_before);
        let others = own.saturating_sub(self.in_memory.load(Ordering::Relaxed));
        let total = own.saturating_add(resident.mapped.saturating_sub(mapped_before));
        let is_exceeded = total > self.limit - self.limit / SLACK;
        if !is_exceeded || others < self.limit / 8 || !trims.is_due() {
            return;
        }
        self.storage.trim();
        let Some(after) = self.storage.resident() else { return };
        trims.record(resident.own.saturating_sub(after.own) < self.limit / 16);
        *resident = after;
    }

    /// Releases mapped pages if memory exceeds the limit. Mapped pages can always take half of the limit, however much
    /// memory the process needs for other tables. If mapped pages had less memory, each access would cost a page fault.
    ///
    /// Three quarters of the memory for mapped pages are reserved for pinned pages: the first pages of vectors, which
    /// stay mapped. For vectors that are accessed at random, it does not matter which pages are pinned. Pages that
    /// are not pinned use the last quarter. When this quarter is full, all of these pages are released.
    fn enforce(&self) {
        let Some(mut registry) = self.registry() else { return };
        if registry.mappings.is_empty() {
            return;
        }
        let Some(mut resident) = self.storage.resident() else { return };
        let before = self.mapped_before.load(Ordering::Relaxed);
        self.trim(&mut resident, before, &mut registry.trims);
        // `own` is the growth of memory since the limit was created. If the process has freed memory that is older than
        // the limit, this growth is too small. So `own` is raised to at least the number of bytes of vectors in memory.
        let own = resident.own.saturating_sub(self.own_before).max(self.in_memory.load(Ordering::Relaxed));
        let allowed = (self.limit - self.limit / SLACK).saturating_sub(own).max(self.limit / 2);
        if resident.mapped.saturating_sub(before) <= allowed {
            return;
        }
        let mut pinned = allowed / 4 * 3;
        for mapped in &registry.mappings {
            let Some(mapping) = mapped.mapping.upgrade() else { continue };
            let keep = if mapped.is_pinned { pinned.min(mapping.bytes()) / PAGE * PAGE } else { 0 };
            pinned -= keep;
            mapping.release(keep);
        }
        // If memory exceeds the limit after each of `CHECKS` consecutive releases, the excess pages do not belong to
        // vectors. They belong to libraries that were loaded after the limit was created.
        let still = self.storage.resident().map_or(0, |resident| resident.mapped);
        if still.saturating_sub(before) <= allowed {
            registry.exceeded = 0;
            return;
        }
        registry.exceeded += 1;
        if registry.exceeded == CHECKS {
            registry.exceeded = 0;
            // `still` counts all mapped pages, `ours` only the pages of vectors. `still` is measured first. If another
            // thread maps pages of vectors between the two measurements, only `ours` counts these pages. So they do not
            // raise `foreign`, the estimate for mapped files without vectors.
            let mappings = registry.mappings.iter().filter_map(|mapped| mapped.mapping.upgrade());
            let ours = mappings.map(|mapping| mapping.resident()).sum::<Option<usize>>();
            let foreign = still.saturating_sub(ours.unwrap_or(allowed / 4 * 3));
            self.mapped_before.fetch_max(foreign, Ordering::Relaxed);
        }
    }
}

/// Limit on the memory that all vectors take together; beyond it, vectors spill to files. By default, there is no
/// limit.
#[derive(Debug, Clone, Default)]
pub struct MemoryLimit {
    shared: Option<Arc<Shared>>,
    in_files: bool,
}

impl MemoryLimit {
    /// Returns a limit that is never exceeded.
    pub const fn unlimited() -> Self {
        Self { shared: None, in_files: false }
    }

    /// Creates a limit of about `limit` bytes in addition to the current memory of the process.
    pub fn new(limit: usize, storage: Box<dyn Storage>) -> Self {
        let mut resident = storage.resident().unwrap_or_default();
        // The allocator can still hold memory that an earlier step, such as counting, has freed. The process no longer
        // needs this memory, so it is returned to the system before the memory of the process is measured.
        if resident.own > limit / 4 {
            storage.trim();
            resident = storage.resident().unwrap_or_default();
        }
        let Resident { own, mapped } = resident;
        let shared = Shared {
            limit,
            storage,
            process: process::id(),
            own_before: own,
            mapped_before: AtomicUsize::new(mapped),
            in_memory: AtomicUsize::new(0),
            registry: Mutex::default(),
        };
        Self { shared: Some(Arc::new(shared)), in_files: false }
    }

    /// Returns the same limit for vectors that are accessed in order. Such vectors are in files from the start, without
    /// pinned pages.
    pub fn in_files(&self) -> Self {
        Self { shared: self.shared.clone(), in_files: true }
    }

    /// Returns the working memory in bytes for each of `threads` threads; all threads together use an eighth of the
    /// limit.
    pub fn working_memory(&self, threads: usize) -> usize {
        self.shared.as_ref().map_or(usize::MAX, |shared| shared.limit / 8 / threads.max(1))
    }

    /// Returns true if there is a limit.
    pub fn is_limited(&self) -> bool {
        self.shared.is_some()
    }

    /// Returns the number of bytes that all vectors together are allowed to take in memory.
    pub fn for_vectors(&self) -> usize {
        self.shared.as_ref().map_or(usize::MAX, |shared| shared.share())
    }

    /// Returns true if vectors of `bytes` bytes in total exceed the memory for vectors.
    pub fn is_tight(&self, bytes: usize) -> bool {
        self.shared.as_ref().is_some_and(|shared| bytes > shared.share())
    }

    /// Returns unused memory to the system, if there is a limit.
    pub fn trim(&self) {
        if let Some(shared) = &self.shared {
            shared.storage.trim();
        }
    }

    /// Returns unused memory to the system if vectors of `bytes` bytes in total exceed the memory for vectors.
    pub fn trim_for(&self, bytes: usize) {
        if let Some(shared) = self.shared.as_ref().filter(|_| self.is_tight(bytes)) {
            shared.storage.trim();
        }
    }

    /// Releases mapped pages beyond the limit. Loops that touch many pages call it.
    pub fn enforce(&self) {
        if let Some(shared) = &self.shared {
            shared.enforce();
        }
    }

    /// Applies this limit to the pages of vectors that were created under other limits, and releases these pages. From
    /// then on, the pages count toward this limit, even if the vectors were created before the limit.
    pub fn adopt<const N: usize>(&self, mappings: [Option<&Arc<dyn Mapping>>; N]) {
        let Some(shared) = &self.shared else { return };
        let is_first = shared.registry().is_some_and(|registry| registry.mappings.is_empty());
        for mapping in mappings.into_iter().flatten() {
            mapping.release(0);
            shared.add(mapping, false);
        }
        if let (true, Some(resident)) = (is_first, shared.storage.resident()) {
            shared.mapped_before.store(resident.mapped, Ordering::Relaxed);
        }
    }

    /// Runs `work` while another thread enforces the limit.
    pub fn enforce_during<R>(&self, work: impl FnOnce() -> R) -> R {
        let Some(shared) = &self.shared else { return work() };
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let enforce = || {
                while !done.load(Ordering::Relaxed) {
                    std::thread::park_timeout(INTERVAL);
                    shared.enforce();
                }
            };
            // If the thread cannot be started, only the loops that call `enforce` release pages. Between these calls,
            // the operating system alone decides which pages stay in memory.
            let keeper = std::thread::Builder::new().spawn_scoped(scope, enforce).ok();
            let _end = End { done: &done, keeper: keeper.as_ref().map(|keeper| keeper.thread()) };
            work()
        })
    }

    /// Returns true if a vector that grows from `before` to `after` bytes moves to a file.
    fn spills(&self, before: usize, after: usize) -> bool {
        let Some(shared) = &self.shared else { return false };
        let others = shared.in_memory.load(Ordering::Relaxed).saturating_sub(before);
        after >= LARGE && (self.in_files || others.saturating_add(after) > shared.share())
    }
}

/// Number of steps of a loop over mapped pages between two checks. In these steps the loop maps about a megabyte.
const STEPS: u32 = 1 << 12;

/// Enforces the memory limit from inside a loop that reads vectors in order. Such a loop can map pages faster than the
/// thread of [`MemoryLimit::enforce_during`] releases them.
pub struct PageCheck<'a> {
    memory: &'a MemoryLimit,
    steps: u32,
}

impl<'a> PageCheck<'a> {
    /// Creates a check that enforces the limit `memory`.
    pub fn new(memory: &'a MemoryLimit) -> Self {
        Self { memory, steps: 0 }
    }

    /// Counts a step, and enforces the limit once enough steps have passed.
    #[inline]
    pub fn check(&mut self) {
        self.steps += 1;
        if self.steps == STEPS {
            self.steps = 0;
            self.memory.enforce();
        }
    }
}

/// Guard that ends the thread of [`MemoryLimit::enforce_during`], even if the work panics.
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

/// Growable array, in memory or in a mapped file.
///
/// Invariant: `start` is the first of `capacity` values, of which the first `len` are initialized. Only this vector
/// accesses the values. If `mapping` is not None, the values are in this file. If `mapping` is None, the values are in
/// an allocation of the global allocator, with the layout of `capacity` values. For a layout of size 0, there is no
/// allocation.
pub struct SpillVec<T: Copy> {
    start: NonNull<T>,
    len: usize,
    capacity: usize,
    mapping: Option<Arc<dyn Mapping>>,
    memory: MemoryLimit,
}

// SAFETY: only this vector accesses its values (see the invariant), as with a `Vec`; a `Mapping` is `Send` and `Sync`.
unsafe impl<T: Copy + Send> Send for SpillVec<T> {}
// SAFETY: only this vector accesses its values, and a `&SpillVec` only gives access to `&[T]`; a `Mapping` is `Sync`.
unsafe impl<T: Copy + Sync> Sync for SpillVec<T> {}

impl<T: Copy> SpillVec<T> {
    /// Creates an empty vector.
    pub fn new(memory: &MemoryLimit) -> Self {
        Self { start: NonNull::dangling(), len: 0, capacity: 0, mapping: None, memory: memory.clone() }
    }

    /// Creates a vector of `len` copies of a value.
    ///
    /// # Errors
    /// As [`SpillVec::reserve`].
    pub fn filled(value: T, len: usize, memory: &MemoryLimit) -> Result<Self> {
        let mut list = Self::new(memory);
        list.extend(std::iter::repeat_n(value, len))?;
        Ok(list)
    }

    /// Reserves capacity for `more` values.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`]; I/O errors, for example if the disk is full. The vector is then unchanged.
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
        if self.mapping.is_some() || self.memory.spills(self.bytes(), doubled.saturating_mul(size_of::<T>())) {
            self.spill(by_half)
        } else {
            self.resize_in_memory(doubled).or_else(|_| self.resize_in_memory(least))
        }
    }

    /// Returns the layout of `capacity` values.
    fn layout(capacity: usize) -> Result<Layout> {
        Layout::array::<T>(capacity).map_err(|_| Error::memory(capacity.saturating_mul(size_of::<T>())))
    }

    /// Changes the capacity of a vector in memory; the capacity must not be less than the length.
    fn resize_in_memory(&mut self, capacity: usize) -> Result<()> {
        let (old, new) = (Self::layout(self.capacity)?, Self::layout(capacity)?);
        if new.size() == 0 {
            self.forget();
            return Ok(());
        }
        let start = if old.size() == 0 {
            // SAFETY: the size of `new` is not 0.
            unsafe { alloc(new) }
        } else {
            // SAFETY: without a mapping the values are in an allocation with the layout `old`. The new size is not 0,
            // and `Layout::array` has checked that it does not overflow.
            unsafe { realloc(self.start.as_ptr().cast(), old, new.size()) }
        };
        let before = self.bytes();
        self.start = NonNull::new(start.cast()).ok_or_else(|| Error::memory(new.size()))?;
        self.capacity = capacity;
        self.count(before, self.bytes());
        // SAFETY: the slice is the unused rest of the allocation, after its first `len` values. Nothing else refers to
        // this rest here.
        huge_pages::advise(unsafe {
            std::slice::from_raw_parts_mut(
                self.start.as_ptr().cast::<MaybeUninit<T>>().add(self.len),
                capacity - self.len,
            )
        });
        Ok(())
    }

    /// Moves the vector to a file, or changes its capacity there.
    #[cold]
    fn spill(&mut self, capacity: usize) -> Result<()> {
        let Some(shared) = self.memory.shared.clone() else { return self.resize_in_memory(capacity) };
        let bytes = Self::layout(capacity)?.size();
        let mapping = match &self.mapping {
            Some(mapping) => mapping.grown(bytes)?,
            None => shared.storage.create(bytes)?,
        };
        let start: NonNull<T> = mapping.start().cast();
        // The size and the alignment, which `Mapping` guarantees, are also checked here.
        if mapping.bytes() < bytes || !start.as_ptr().addr().is_multiple_of(PAGE) {
            return Err(ErrorKind::Internal("a mapped file that is too small".into()).into());
        }
        shared.add(&mapping, !self.memory.in_files);
        if self.mapping.is_none() {
            // SAFETY: `len` values are initialized here (the invariant). The mapping has space for `capacity` ≥ `len`
            // values and begins at a multiple of `PAGE` (both are checked above). `grow` has checked that `T` needs no
            // larger alignment than `PAGE`. The mapping does not overlap the vector's allocation.
            unsafe { std::ptr::copy_nonoverlapping(self.start.as_ptr(), start.as_ptr(), self.len) };
            self.forget();
        }
        // If the vector was already in a file, the new mapping begins with its content (`Mapping::grown`).
        (self.start, self.capacity, self.mapping) = (start, capacity, Some(mapping));
        Ok(())
    }

    /// Frees the storage after the values have been moved or dropped. The length does not change.
    fn forget(&mut self) {
        if self.mapping.take().is_none() {
            self.count(self.bytes(), 0);
            if let Ok(layout) = Self::layout(self.capacity) {
                if layout.size() > 0 {
                    // SAFETY: without a mapping the values are in an allocation with this layout.
                    unsafe { dealloc(self.start.as_ptr().cast(), layout) };
                }
            }
        }
        (self.start, self.capacity) = (NonNull::dangling(), 0);
    }

    /// Returns the capacity in bytes.
    pub fn bytes(&self) -> usize {
        self.capacity * size_of::<T>() // no overflow, because an allocation or a file has this size
    }

    fn count(&self, before: usize, after: usize) {
        if let Some(shared) = &self.memory.shared {
            shared.in_memory.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
        }
    }

    /// Appends a value.
    ///
    /// # Errors
    /// As [`SpillVec::reserve`].
    #[inline]
    pub fn push(&mut self, value: T) -> Result<()> {
        self.reserve(1)?;
        // SAFETY: `reserve` has ensured a capacity of at least `len` + 1.
        unsafe { self.start.add(self.len).write(value) };
        self.len += 1;
        Ok(())
    }

    /// Appends values.
    ///
    /// # Errors
    /// As [`SpillVec::reserve`].
    #[inline]
    pub fn extend(&mut self, values: impl ExactSizeIterator<Item = T>) -> Result<()> {
        self.reserve(values.len())?;
        values.take(self.capacity - self.len).for_each(|value| {
            // SAFETY: whatever length the iterator reports, `take` yields at most as many values as fit in the
            // capacity, and each adds one to the length.
            unsafe { self.start.add(self.len).write(value) };
            self.len += 1;
        });
        Ok(())
    }

    /// Appends values.
    ///
    /// # Errors
    /// As [`SpillVec::reserve`].
    #[inline]
    pub fn extend_from_slice(&mut self, values: &[T]) -> Result<()> {
        self.reserve(values.len())?;
        // SAFETY: `reserve` has ensured a capacity of at least `len` + `values.len()`. The slice does not overlap the
        // vector, which is borrowed mutably.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), self.start.add(self.len).as_ptr(), values.len()) };
        self.len += values.len();
        Ok(())
    }

    /// Releases mapped pages beyond the limit, if the vector is in a file. Loops that append to the vector call it.
    pub fn enforce(&self) {
        if self.is_in_file() {
            self.memory.enforce();
        }
    }

    /// Returns the memory limit of a vector in a file. For a vector in memory, returns [`MemoryLimit::unlimited`].
    pub fn memory(&self) -> MemoryLimit {
        if self.is_in_file() {
            self.memory.clone()
        } else {
            MemoryLimit::unlimited()
        }
    }

    /// Releases the memory of all pages, if the vector is in a file. Callers use it after a loop that accesses the
    /// vector in order.
    pub fn release(&self) {
        if let Some(mapping) = &self.mapping {
            mapping.release(0);
        }
    }

    /// Shrinks the capacity to the length. This can move the vector from its file back to memory.
    ///
    /// # Errors
    /// As [`SpillVec::reserve`].
    pub fn shrink(&mut self) -> Result<()> {
        if self.mapping.is_none() {
            return self.resize_in_memory(self.len);
        }
        let smaller = self.copy(&self.memory)?;
        *self = smaller;
        Ok(())
    }

    /// Copies the values into a vector under another limit.
    ///
    /// # Errors
    /// As [`SpillVec::reserve`].
    pub fn copy(&self, memory: &MemoryLimit) -> Result<Self> {
        let mut copy = Self::new(memory);
        copy.reserve(self.len)?;
        for values in self.chunks(LARGE) {
            copy.extend_from_slice(values)?;
            memory.enforce();
        }
        Ok(copy)
    }

    /// Drops all but the first `len` values.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Keeps the values for which `keep` returns true. `keep` is allowed to change the values.
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

    /// Returns the number of values that fit without growing.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the file of the vector.
    pub fn mapping(&self) -> Option<&Arc<dyn Mapping>> {
        self.mapping.as_ref()
    }

    /// Returns true if the vector is in a file.
    #[inline]
    pub fn is_in_file(&self) -> bool {
        self.mapping.is_some()
    }
}

impl<T: Copy> Deref for SpillVec<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the first `len` values are initialized, and only the vector accesses them (see the invariant). The
        // vector stays borrowed while the slice exists. `start` is aligned and not null even if there are no values.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Copy> DerefMut for SpillVec<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`, and the vector is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Copy> Drop for SpillVec<T> {
    fn drop(&mut self) {
        self.forget();
    }
}

impl<T: Copy> Default for SpillVec<T> {
    fn default() -> Self {
        Self::new(&MemoryLimit::default())
    }
}

impl<T: Copy> fmt::Debug for SpillVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpillVec of {} values", self.len)
    }
}
