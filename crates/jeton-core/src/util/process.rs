//! Id of the process.

/// Returns the id of this process, which is not 0. WebAssembly has a single process without an id, for which the
/// standard library would panic.
pub(crate) fn id() -> u32 {
    if cfg!(target_family = "wasm") {
        1
    } else {
        std::process::id()
    }
}
