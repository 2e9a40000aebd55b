//! Core for the playground without a server (`tools/build_page.py`): a C ABI for WebAssembly, without generated code.
//!
//! ```text
//! engine       requests → replies; the loaded tokenizers
//! bundle       a tokenizer as one file: options as JSON, entries, merges and scores in columns
//! explanation  steps of a model as JSON, as `Explanation.to_json` of Python writes them
//! agenda       priority queue of SentencePiece's BPE
//! training     a short text → merges and the initial symbols of its pretokens
//! files        files that a user opens
//! failure      core errors → class and message, as the Python binding converts them
//! ```
//!
//! A call passes a request (JSON) and data (bytes), and returns JSON and bytes in one buffer. All buffers are in this
//! module's memory. The caller creates the buffers for requests and data with [`allocate`]. Later, the caller frees
//! these buffers, and the buffers of replies, with [`release`].
//!
//! Left out: composing the answers of the page's API, which the worker does (`tools/page/engine`); threads, files and
//! clocks, which WebAssembly lacks.

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

mod agenda;
mod bundle;
mod engine;
mod explanation;
mod failure;
mod files;
mod training;

pub use engine::{Engine, Reply};

thread_local! {
    static ENGINE: RefCell<Engine> = RefCell::default();
}

/// Number of bytes before the content of a reply. They are two little-endian u32: the lengths of its JSON and of its
/// data.
const HEAD: usize = 8;

/// Returns a buffer of `len` bytes, all 0.
#[no_mangle]
pub extern "C" fn allocate(len: usize) -> *mut u8 {
    leak(vec![0; len])
}

/// Message of the last panic. A panic ends the call by a trap. After that, only [`panicked`] may be called.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Records the messages of panics for [`panicked`]. Must be called once, before all other functions.
#[no_mangle]
pub extern "C" fn start() {
    std::panic::set_hook(Box::new(|panic| {
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string();
    }));
}

/// Returns the message of the last panic, as a reply.
#[no_mangle]
pub extern "C" fn panicked() -> *mut u8 {
    reply(&PANIC.lock().unwrap_or_else(PoisonError::into_inner), &[])
}

/// Frees a buffer.
///
/// # Safety
/// `start` and `len` must come from [`allocate`], or from a reply of [`call`], and the buffer must not have been
/// freed.
#[no_mangle]
pub unsafe extern "C" fn release(start: *mut u8, len: usize) {
    // SAFETY: the caller passes a buffer that `leak` has created, with its length.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(start, len)) });
}

/// Executes a request. A reply begins with two little-endian u32, the lengths of the JSON and of the data; then come
/// the JSON and the data.
///
/// # Safety
/// Each pair of arguments must be the address and the length of a buffer from [`allocate`], or of a part of one.
#[no_mangle]
pub unsafe extern "C" fn call(request: *const u8, request_len: usize, data: *const u8, data_len: usize) -> *mut u8 {
    // SAFETY: the caller passes two buffers with their lengths, and nothing changes them during the call.
    let (request, data) =
        unsafe { (std::slice::from_raw_parts(request, request_len), std::slice::from_raw_parts(data, data_len)) };
    let Reply { json, data } = ENGINE.with_borrow_mut(|engine| engine.answer(request, data));
    reply(&json, &data)
}

fn reply(json: &str, data: &[u8]) -> *mut u8 {
    let mut buffer = Vec::with_capacity(HEAD + json.len() + data.len());
    buffer.extend_from_slice(&(json.len() as u32).to_le_bytes());
    buffer.extend_from_slice(&(data.len() as u32).to_le_bytes());
    buffer.extend_from_slice(json.as_bytes());
    buffer.extend_from_slice(data);
    leak(buffer)
}

/// Transfers ownership of a buffer to the caller, which must free it by [`release`].
fn leak(bytes: Vec<u8>) -> *mut u8 {
    Box::into_raw(bytes.into_boxed_slice()).cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_pass_json_and_data() {
        let request = br#"{"do": "patterns"}"#;
        let buffer = allocate(request.len());
        // SAFETY: the buffer has `request.len()` bytes. A reply has a head of `HEAD` bytes. The number of bytes after
        // the head is the sum of the two lengths in the head.
        let json = unsafe {
            std::ptr::copy_nonoverlapping(request.as_ptr(), buffer, request.len());
            let reply = call(buffer, request.len(), buffer, 0);
            release(buffer, request.len());
            let len = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| *reply.add(at + i))) as usize;
            let whole = HEAD + len(0) + len(4);
            let json = std::slice::from_raw_parts(reply.add(HEAD), len(0)).to_vec();
            release(reply, whole);
            json
        };
        assert!(json.starts_with(br#"{"patterns":["#));
    }
}
