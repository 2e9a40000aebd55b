//! Memory-mapped temporary files, to which the core's vectors spill beyond a memory limit.
//!
//! A file has no name, or is deleted when it is closed, so no file remains even if the process is killed. Its blocks
//! are allocated on the disk before they are mapped, so a full disk is an error instead of a signal (SIGBUS) at a later
//! write. The allocation prevents the signal only on a file system that overwrites blocks in place; a copy-on-write
//! file system allocates again at each write. On Btrfs, copy-on-write is disabled for the file; ZFS and bcachefs cannot
//! disable it and are refused.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::Arc;

use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::util::spill::{Mapping, MemoryLimit, Resident, Storage, PAGE};
use memmap2::MmapRaw;
use pyo3::prelude::*;

/// Memory limit of counting and learning, with the folder for spill files.
#[pyclass(frozen, module = "jeton._core", name = "Memory")]
pub struct Limit(pub MemoryLimit);

#[pymethods]
impl Limit {
    #[new]
    fn new(limit: usize, folder: PathBuf) -> Self {
        Self(MemoryLimit::new(limit, Box::new(Folder(folder))))
    }
}

/// Returns the memory limit in `limit`. If `limit` is None, the returned memory limit permits any size.
pub fn memory(limit: Option<&Limit>) -> MemoryLimit {
    limit.map(|limit| limit.0.clone()).unwrap_or_default()
}

/// Folder in which the spill files are created.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    /// Converts an I/O error to an error of the core. The message of the new error says what to do.
    fn refused(&self, bytes: usize, error: &std::io::Error) -> Error {
        let megabytes = bytes >> 20;
        let message = format!(
            "{error}; data beyond memory_limit needs a file of {megabytes} MiB in {}; pass spill_folder= on a \
             larger disk, or a higher memory_limit",
            self.0.display()
        );
        ErrorKind::System { message, code: error.raw_os_error() }.into()
    }
}

impl Storage for Folder {
    fn create(&self, bytes: usize) -> Result<Arc<dyn Mapping>> {
        let made = || {
            std::fs::create_dir_all(&self.0)?;
            let file = tempfile::tempfile_in(&self.0)?;
            overwrite(&file)?;
            Mapped::new(self.0.clone(), Arc::new(file), 0, bytes)
        };
        made().map(|mapped| Arc::new(mapped) as Arc<dyn Mapping>).map_err(|error| self.refused(bytes, &error))
    }

    #[cfg(target_os = "linux")]
    fn resident(&self) -> Option<Resident> {
        let fields = std::fs::read_to_string("/proc/self/statm").ok()?;
        let mut pages = fields.split(' ').skip(1).map_while(|field| field.parse::<usize>().ok());
        let (all, mapped) = (pages.next()?, pages.next()?);
        let page = page_bytes()?;
        Some(Resident { own: all.saturating_sub(mapped) * page, mapped: mapped * page })
    }

    #[cfg(not(target_os = "linux"))]
    fn resident(&self) -> Option<Resident> {
        None
    }

    fn trim(&self) {
        trim();
    }
}

/// Returns the size of a page.
#[cfg(target_os = "linux")]
fn page_bytes() -> Option<usize> {
    // SAFETY: the function takes and returns a number.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok().filter(|&bytes| bytes > 0)
}

/// Returns unused memory of the allocator to the system.
pub fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the function does not affect allocated memory.
    unsafe {
        libc::malloc_trim(0)
    };
}

/// Magic numbers of copy-on-write file systems, from `statfs(2)` and from the source code of ZFS and bcachefs.
#[cfg(target_os = "linux")]
mod copying {
    pub const BTRFS: i64 = 0x9123_683E;
    pub const ZFS: i64 = 0x2FC1_2FC1;
    pub const BCACHEFS: i64 = 0xCA45_1A4E;
    /// `FS_NOCOW_FL` of `linux/fs.h`.
    pub const OVERWRITE: libc::c_int = 0x0080_0000;
}

/// Ensures that writes to allocated blocks of a file will overwrite them in place instead of allocating new blocks. The
/// file must be empty when this function is called.
#[cfg(target_os = "linux")]
fn overwrite(file: &File) -> std::io::Result<()> {
    use std::os::fd::AsRawFd;
    // SAFETY: zeros are a valid value of this structure of integers.
    let mut system: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the file is open, and the structure is writable.
    if unsafe { libc::fstatfs(file.as_raw_fd(), &mut system) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    // The integer type of `f_type` differs between systems. The mask removes the upper 32 bits, which can be a sign
    // extension.
    match system.f_type as i64 & 0xFFFF_FFFF {
        copying::BTRFS => {
            let mut flags: libc::c_int = 0;
            // SAFETY: the file is open, and both requests take the address of an `int` (ioctl_iflags(2)), the type of
            // `flags`.
            let done = unsafe {
                libc::ioctl(file.as_raw_fd(), libc::FS_IOC_GETFLAGS, &mut flags) == 0 && {
                    flags |= copying::OVERWRITE;
                    libc::ioctl(file.as_raw_fd(), libc::FS_IOC_SETFLAGS, &flags) == 0
                }
            };
            if done {
                Ok(())
            } else {
                Err(std::io::Error::last_os_error())
            }
        }
        copying::ZFS | copying::BCACHEFS => Err(std::io::Error::other(
            "this file system copies on write, so a full disk would end the process when a mapped page is written",
        )),
        _ => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn overwrite(_: &File) -> std::io::Result<()> {
    Ok(())
}

/// Number of bytes that are allocated in one step. Steps are short, because on some file systems a signal during a step
/// undoes the whole step, which must then be repeated.
const STEP: usize = 64 << 20;

/// Extends a file, and allocates the blocks of the new part on the disk.
fn allocate(file: &File, from: usize, to: usize) -> std::io::Result<()> {
    for at in (from..to).step_by(STEP) {
        allocate_step(file, at, STEP.min(to - at))?;
    }
    Ok(())
}

fn allocate_step(mut file: &File, from: usize, bytes: usize) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        // SAFETY: the file is open as long as it is borrowed; the other arguments are numbers.
        let once =
            || unsafe { libc::posix_fallocate64(file.as_raw_fd(), from as libc::off64_t, bytes as libc::off64_t) };
        let mut refused = once();
        while refused == libc::EINTR {
            refused = once();
        }
        if refused != libc::EOPNOTSUPP && refused != libc::EINVAL {
            return if refused == 0 { Ok(()) } else { Err(std::io::Error::from_raw_os_error(refused)) };
        }
    }
    let zeros = [0; 1 << 16];
    file.seek(SeekFrom::Start(from as u64))?;
    for at in (0..bytes).step_by(zeros.len()) {
        file.write_all(&zeros[..zeros.len().min(bytes - at)])?;
    }
    file.flush()
}

/// Mapped file. It has no name, so that no other process can open it.
#[derive(Debug)]
struct Mapped {
    folder: PathBuf,
    file: Arc<File>,
    map: MmapRaw,
    bytes: usize,
}

impl Mapped {
    fn new(folder: PathBuf, file: Arc<File>, from: usize, to: usize) -> std::io::Result<Self> {
        allocate(&file, from, to)?;
        let map = MmapRaw::map_raw(&*file)?;
        if map.len() < to {
            return Err(std::io::Error::other("the file is smaller than what was allocated"));
        }
        Ok(Self { folder, file, map, bytes: to })
    }
}

// SAFETY: the mapping begins at a page, has at least `bytes` bytes (checked in `new`), and exists until the value is
// dropped. The system fills unwritten bytes with zeros. Only `grown` maps the file again: the file has no name, and the
// file descriptor does not leave this module. Every page has a block on the disk: the blocks of the file are allocated,
// and files never shrink. `release` only gives advice to the system. The mapping is shared and has a file, so the
// system can read the released pages from the file again, with the same content.
unsafe impl Mapping for Mapped {
    fn start(&self) -> NonNull<u8> {
        NonNull::new(self.map.as_mut_ptr()).unwrap_or(NonNull::dangling()) // the system never maps address 0
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn grown(&self, bytes: usize) -> Result<Arc<dyn Mapping>> {
        let larger = Self::new(self.folder.clone(), self.file.clone(), self.bytes, bytes.max(self.bytes));
        match larger {
            Ok(larger) => Ok(Arc::new(larger)),
            Err(error) => Err(Folder(self.folder.clone()).refused(bytes, &error)),
        }
    }

    fn release(&self, keep: usize) {
        let keep = keep.next_multiple_of(PAGE).min(self.bytes);
        #[cfg(target_os = "linux")]
        // SAFETY: the range is within the mapping. The file is mapped as shared, so the advice does not change the
        // content. If pages are larger than `PAGE`, the system can refuse the advice, which is harmless.
        unsafe {
            libc::madvise(self.map.as_mut_ptr().add(keep).cast(), self.bytes - keep, libc::MADV_DONTNEED)
        };
        #[cfg(not(target_os = "linux"))]
        let _ = keep;
    }

    #[cfg(target_os = "linux")]
    fn resident(&self) -> Option<usize> {
        use std::os::unix::fs::FileExt;
        // Size in bytes of the entry of a page in `pagemap` (proc_pid_pagemap(5)). The highest bit of an entry means
        // that the page is in memory.
        const ENTRY: usize = 8;
        let page = page_bytes()?;
        let map = File::open("/proc/self/pagemap").ok()?;
        let (first, mut left) = (self.map.as_mut_ptr().addr() / page, self.bytes.div_ceil(page));
        let (mut at, mut mapped) = (first * ENTRY, 0);
        let mut entries = [0; ENTRY << 10];
        while left > 0 {
            let some = &mut entries[..ENTRY * left.min(1 << 10)];
            map.read_exact_at(some, at as u64).ok()?;
            mapped +=
                some.as_chunks::<ENTRY>().0.iter().filter(|&&entry| (u64::from_ne_bytes(entry) as i64) < 0).count();
            at += some.len();
            left -= some.len() / ENTRY;
        }
        Some(mapped * page)
    }

    #[cfg(not(target_os = "linux"))]
    fn resident(&self) -> Option<usize> {
        None
    }
}
