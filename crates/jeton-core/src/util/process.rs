//! Id of the process.

/// Returns the id of this process, which is not 0. On WebAssembly, the result is 1: a process there has no id, and the
/// standard library would panic.
pub(crate) fn id() -> u32 {
    if cfg!(target_family = "wasm") {
        1
    } else {
        std::process::id()
    }
}
