//! Files of this process's own as memory: what the core's lists lie in when they pass a limit.
//!
//! A file has no name, or loses it when it is closed, so nothing is left behind however the process ends. Its bytes are taken on the disk
//! before they are mapped: a full disk is an error here, and not a signal when a page is written.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::ptr::NonNull;

use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::memory::{Ground, Memory, Resident, Room};
use memmap2::MmapRaw;
use pyo3::prelude::*;

/// A limit of memory for the lists of counting and learning, and the folder where they go beyond it.
#[pyclass(frozen, module = "jeton._core", name = "Memory")]
pub struct Limit(pub Memory);

#[pymethods]
impl Limit {
    #[new]
    fn new(limit: usize, folder: PathBuf) -> Self {
        Self(Memory::new(limit, Box::new(Folder(folder))))
    }
}

/// The limit, or none.
pub fn memory(limit: Option<&Limit>) -> Memory {
    limit.map(|limit| limit.0.clone()).unwrap_or_default()
}

/// Where files are made.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    /// The system's refusal, with what can be done.
    fn refused(&self, bytes: usize, error: &std::io::Error) -> Error {
        let megabytes = bytes >> 20;
        let message = format!(
            "{error}; what memory_limit does not let lie in memory takes a file of {megabytes} MiB in {}: pass spill_folder= on a \
             larger disk, or a higher memory_limit",
            self.0.display()
        );
        ErrorKind::System { message, code: error.raw_os_error() }.into()
    }
}

impl Ground for Folder {
    fn room(&self, bytes: usize) -> Result<Box<dyn Room>> {
        let made = || {
            std::fs::create_dir_all(&self.0)?;
            let mut file = tempfile::tempfile_in(&self.0)?;
            take(&mut file, 0, bytes)?;
            let map = MmapRaw::map_raw(&file)?;
            Ok(Mapped { folder: self.0.clone(), file, map, bytes })
        };
        made().map(|mapped| Box::new(mapped) as Box<dyn Room>).map_err(|error| self.refused(bytes, &error))
    }

    #[cfg(target_os = "linux")]
    fn resident(&self) -> Option<Resident> {
        let fields = std::fs::read_to_string("/proc/self/statm").ok()?;
        let mut pages = fields.split(' ').skip(1).map_while(|field| field.parse::<usize>().ok());
        let (all, mapped) = (pages.next()?, pages.next()?);
        // SAFETY: it takes a number and gives one.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
        Some(Resident { own: all.saturating_sub(mapped) * page, mapped: mapped * page })
    }

    #[cfg(not(target_os = "linux"))]
    fn resident(&self) -> Option<Resident> {
        None
    }

    fn trim(&self) {
        trim();
    }

    fn let_go(&self, start: usize, bytes: usize) {
        #[cfg(target_os = "linux")]
        // SAFETY: the range is a shared mapping of a file, of which this advice changes no content. That it is refused does no harm.
        unsafe {
            libc::madvise(start as *mut libc::c_void, bytes, libc::MADV_DONTNEED)
        };
        #[cfg(not(target_os = "linux"))]
        let _ = (start, bytes);
    }
}

/// Gives the system back what the allocator holds and nobody uses.
pub fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it changes nothing that is allocated.
    unsafe {
        libc::malloc_trim(0)
    };
}

/// Makes a file larger, with its bytes on the disk.
fn take(file: &mut File, from: usize, to: usize) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        // SAFETY: the file is open, and the numbers are what they say.
        let refused = unsafe { libc::posix_fallocate64(file.as_raw_fd(), 0, to as libc::off64_t) };
        if refused != libc::EOPNOTSUPP && refused != libc::EINVAL {
            return if refused == 0 { Ok(()) } else { Err(std::io::Error::from_raw_os_error(refused)) };
        }
    }
    let zeros = [0; 1 << 16];
    file.seek(SeekFrom::Start(from as u64))?;
    for at in (from..to).step_by(zeros.len()) {
        file.write_all(&zeros[..zeros.len().min(to - at)])?;
    }
    file.flush()
}

/// A file, mapped.
#[derive(Debug)]
struct Mapped {
    folder: PathBuf,
    file: File,
    map: MmapRaw,
    bytes: usize,
}

impl Room for Mapped {
    fn start(&self) -> NonNull<u8> {
        NonNull::new(self.map.as_mut_ptr()).unwrap_or(NonNull::dangling()) // the system maps nothing at 0
    }

    fn grow(&mut self, bytes: usize) -> Result<()> {
        let larger = take(&mut self.file, self.bytes, bytes).and_then(|()| MmapRaw::map_raw(&self.file));
        let map = larger.map_err(|error| Folder(self.folder.clone()).refused(bytes, &error))?;
        (self.map, self.bytes) = (map, bytes);
        Ok(())
    }
}
