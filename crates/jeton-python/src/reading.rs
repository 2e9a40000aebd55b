//! Reads whole files as documents, and validates them, on several threads.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;
use std::sync::Mutex;

use jeton_core::documents::Span;
use jeton_core::parallel;
use jeton_core::util::utf8;

/// Maximum total size in bytes of the files that one call reads.
const MOST: usize = 64 << 20;

/// Reads each file as a document into one buffer. `sizes` are the known sizes, at most [`MOST`] bytes in total. Returns
/// `None` if a file cannot be read, is not UTF-8, or now has another size. The caller then reads the files one by one
/// and reports errors.
pub fn whole_files(paths: &[PathBuf], sizes: &[usize], threads: usize) -> Option<(String, Vec<Span>)> {
    let total = sizes.iter().try_fold(0usize, |total, &size| total.checked_add(size))?;
    if paths.len() != sizes.len() || total > MOST {
        return None;
    }
    let mut whole = vec![0; total]; // its pages are mapped when the threads write to them
    let (mut spans, mut rooms, mut rest) = (Vec::with_capacity(sizes.len()), Vec::new(), whole.as_mut_slice());
    for (path, &size) in paths.iter().zip(sizes) {
        let (room, after) = rest.split_at_mut(size);
        let start = spans.last().map_or(0, |&(_, end)| end);
        spans.push((start, start + size));
        rooms.push(Mutex::new((path, room)));
        rest = after;
    }
    let threads = threads.min(total / parallel::BYTES_WORTH_A_THREAD).max(1);
    let read = |at: usize, _: &dyn Fn() -> bool| {
        Ok(rooms[at].lock().is_ok_and(|mut file| {
            let (path, room) = &mut *file;
            fills(path, room).unwrap_or(false) && utf8::validated(room).is_some()
        }))
    };
    let done = parallel::jobs(rooms.len(), threads, &mut || true, read);
    drop(rooms);
    if !done.into_iter().all(|done| done.unwrap_or(false)) {
        return None;
    }
    // SAFETY: `whole` consists of adjacent ranges, each of which is valid.
    Some((unsafe { String::from_utf8_unchecked(whole) }, spans))
}

/// Reads a file into `room`; returns true if the file has exactly the size of `room`.
fn fills(path: &PathBuf, room: &mut [u8]) -> std::io::Result<bool> {
    let mut file = File::open(path)?;
    match file.read_exact(room) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(false),
        done => done?,
    }
    Ok(file.read(&mut [0])? == 0)
}
