//! Where the engines of a test live: in memory if the machine has such a place, for a law is about what is
//! written and not about how fast a disk confirms it.

use tempfile::TempDir;

/// A folder that is gone with its owner.
pub fn temp_engine_dir() -> TempDir {
    let memory = std::path::Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.unwrap()
}
