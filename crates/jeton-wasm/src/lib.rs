//! The core for the playground without a server (`tools/build_page.py`): a C ABI for WebAssembly, without generated code.
//!
//! ```text
//! engine       requests → replies; the loaded tokenizers
//! bundle       a tokenizer as one file: options as JSON, entries, merges and scores in columns
//! explanation  steps of a model as JSON, as `Explanation.to_json` of Python writes them
//! agenda       priority queue of SentencePiece's BPE
//! training     a short text → merges and the initial symbols of its pretokens
//! failure      core errors → class and message, as the Python binding converts them
//! ```
//!
//! A call passes a request as JSON and data as bytes, and returns JSON and bytes in one buffer. The buffers belong to this
//! module's memory: the caller asks for them by [`allocate`] and returns them by [`release`].
//!
//! Left out: what composes answers of the page's API, which the worker does (`tools/page/engine`), and threads, files and clocks,
//! which WebAssembly lacks.

use std::cell::RefCell;

mod agenda;
mod bundle;
mod engine;
mod explanation;
mod failure;
mod training;

pub use engine::{Engine, Reply};

thread_local! {
    static ENGINE: RefCell<Engine> = RefCell::default();
}

/// Bytes before the content of a reply: the lengths of its JSON and of its data, as little-endian u32.
const HEAD: usize = 8;

/// Returns a buffer of `len` bytes, all 0.
#[no_mangle]
pub extern "C" fn allocate(len: usize) -> *mut u8 {
    leak(vec![0; len])
}

/// Frees a buffer.
///
/// # Safety
/// `start` and `len` are those of [`allocate`], or of a reply of [`call`], and the buffer has not been freed.
#[no_mangle]
pub unsafe extern "C" fn release(start: *mut u8, len: usize) {
    // SAFETY: the caller passes a buffer that `leak` made, with its length.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(start, len)) });
}

/// Answers a request: two little-endian u32, the lengths of the JSON and of the data that follow.
///
/// # Safety
/// Each pair of arguments is a buffer of [`allocate`], or part of one.
#[no_mangle]
pub unsafe extern "C" fn call(request: *const u8, request_len: usize, data: *const u8, data_len: usize) -> *mut u8 {
    // SAFETY: the caller passes two buffers with their lengths, which nothing changes during the call.
    let (request, data) =
        unsafe { (std::slice::from_raw_parts(request, request_len), std::slice::from_raw_parts(data, data_len)) };
    let reply = ENGINE.with_borrow_mut(|engine| engine.answer(request, data));
    let mut buffer = Vec::with_capacity(HEAD + reply.json.len() + reply.data.len());
    buffer.extend_from_slice(&(reply.json.len() as u32).to_le_bytes());
    buffer.extend_from_slice(&(reply.data.len() as u32).to_le_bytes());
    buffer.extend_from_slice(reply.json.as_bytes());
    buffer.extend_from_slice(&reply.data);
    leak(buffer)
}

/// Hands a buffer over to the caller.
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
        // SAFETY: the buffer has that many bytes, and the reply's length is that of its head and the lengths there.
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
