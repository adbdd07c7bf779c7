//! What a machine may have none of for a while: room on the disk, and files.

use std::io;

use rustix::io::Errno;

/// Whether something failed for want of room on the disk, of a quota, or of files that may be open. It goes away by
/// itself, unlike a disk that is broken.
pub fn is_out_of_room(error: &io::Error) -> bool {
    let is_full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
    is_full
        || [Errno::MFILE, Errno::NFILE].iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_away_by_itself_is_known() {
        let check = |errno: Errno, expected: bool| {
            assert_eq!(
                is_out_of_room(&io::Error::from_raw_os_error(errno.raw_os_error())),
                expected,
                "{errno}"
            );
        };
        for errno in [Errno::NOSPC, Errno::DQUOT, Errno::MFILE, Errno::NFILE] {
            check(errno, true);
        }
        for errno in [Errno::IO, Errno::NOENT, Errno::ACCESS, Errno::ROFS] {
            check(errno, false);
        }
        assert!(!is_out_of_room(&io::Error::other("too many open files")));
    }
}
