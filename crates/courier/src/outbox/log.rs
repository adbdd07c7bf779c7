//! Every acceptance, a line each: message id, Ready, `first` or `again`.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use model::ReadyId;

/// One acceptance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Accepted {
    pub message_id: String,
    pub ready: ReadyId,
    /// The mail was there already: somebody handed it over twice.
    pub again: bool,
}

pub(super) struct Log {
    path: PathBuf,
    file: File,
    /// The file's end may be half a line.
    torn: bool,
}

impl Log {
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let path = folder.join("accepted.log");
        let file = OpenOptions::new().create(true).read(true).append(true).open(&path)?;
        File::open(folder)?.sync_all()?;
        let (mut last, bytes) = ([b'\n'], file.metadata()?.len());
        if bytes > 0 {
            // One byte of it: it has a line for every mail there ever was.
            file.read_exact_at(&mut last, bytes - 1)?;
        }
        let torn = last != [b'\n'];
        Ok(Self { path, file, torn })
    }

    /// Adds lines for good.
    pub(super) fn append(&mut self, lines: impl Iterator<Item = Accepted>) -> io::Result<()> {
        let mut text = String::new();
        for Accepted { message_id, ready, again } in lines {
            let which = if again { "again" } else { "first" };
            text.push_str(&format!("{message_id} {ready} {which}\n"));
        }
        if text.is_empty() {
            return Ok(());
        }
        if self.torn {
            text.insert(0, '\n');
        }
        self.torn = true;
        self.file.write_all(text.as_bytes())?;
        self.file.sync_data()?;
        self.torn = false;
        Ok(())
    }

    /// All lines that are whole.
    pub(super) fn read(&self) -> io::Result<Vec<Accepted>> {
        let text = fs::read_to_string(&self.path)?;
        Ok(text.lines().filter_map(line).collect())
    }
}

fn line(text: &str) -> Option<Accepted> {
    let mut words = text.split(' ');
    let message_id = words.next()?.to_owned();
    let ready = ReadyId::parse(words.next()?)?;
    let again = match words.next()? {
        "first" => false,
        "again" => true,
        _ => return None,
    };
    Some(Accepted { message_id, ready, again })
}
