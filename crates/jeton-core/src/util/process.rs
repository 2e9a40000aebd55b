//! Id of the process.

/// Returns the id of this process, which is not 0. WebAssembly has one process, without an id: the standard library panics.
pub(crate) fn id() -> u32 {
    if cfg!(target_family = "wasm") {
        1
    } else {
        std::process::id()
    }
}
