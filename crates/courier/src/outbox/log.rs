//! Every acceptance, a line each: message id, Ready, `first` or `again`.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
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
}

impl Log {
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let path = folder.join("accepted.log");
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        File::open(folder)?.sync_all()?;
        Ok(Self { path, file })
    }

    /// Adds lines for good.
    pub(super) fn append(&mut self, lines: impl Iterator<Item = Accepted>) -> io::Result<()> {
        // Another process may have been killed within a line; that one ends here.
        let mut text = String::from("\n");
        for Accepted { message_id, ready, again } in lines {
            let which = if again { "again" } else { "first" };
            text.push_str(&format!("{message_id} {ready} {which}\n"));
        }
        if text.len() == 1 {
            return Ok(());
        }
        self.file.write_all(text.as_bytes())?;
        self.file.sync_data()
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
