//! How many files, and so connections, this process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that are asked for. More is no use to us, and some systems set no limit at all.
const FILES_WANTED: u64 = 65_536;

/// Raises the number of files to what this process is allowed. The usual limit is for programs that use `select`.
pub fn raise_file_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(FILES_WANTED, |maximum| maximum.min(FILES_WANTED));
    if current.is_some_and(|current| current < wanted) {
        // It may be forbidden; then there are fewer places.
        if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }) {
            tracing::warn!(%error, "the limit on open files cannot be raised");
        }
    }
}

/// Of these connections as many as a listener may have: the other half of the files is for engines and couriers.
pub fn cap_by_files(connections: usize) -> usize {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(FILES_WANTED);
    connections.min(usize::try_from(files / 2).unwrap_or(connections)).max(1)
}
