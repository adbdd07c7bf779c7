//! The text of a catalogue's file, and why there is none.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
};

use crate::limits::FILE_BYTES_MAX;

/// Why a file has no text for a catalogue.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileTextError {
    #[error("there is no such file")]
    Absent,
    #[error("it is not a file")]
    NoFile,
    #[error("the file has more than {FILE_BYTES_MAX} bytes")]
    TooLong,
    #[error("it is not UTF-8 in line {}; save it in the encoding UTF-8", good.matches('\n').count() + 1)]
    NotUtf8 {
        /// What comes before.
        good: String,
    },
    #[error("this user may not read it")]
    Forbidden,
    #[error("{0}")]
    Broken(io::Error),
}

impl From<io::Error> for FileTextError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Absent,
            io::ErrorKind::PermissionDenied => Self::Forbidden,
            _ => Self::Broken(error),
        }
    }
}

/// Reads a text file, but not forever: the name could be that of a device, or of a pipe that nobody writes to.
pub(crate) fn read_file_text(path: &Path) -> Result<String, FileTextError> {
    if !fs::metadata(path)?.is_file() {
        return Err(FileTextError::NoFile);
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    // What is cut off here may end within a character.
    if bytes.len() > FILE_BYTES_MAX {
        return Err(FileTextError::TooLong);
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        FileTextError::NotUtf8 { good: String::from_utf8_lossy(good).into_owned() }
    })
}
