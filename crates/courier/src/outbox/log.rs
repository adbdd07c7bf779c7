//! Every acceptance, a line each: message id, Ready, `first` or `again`.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use model::ReadyId;

/// One acceptance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutboxAcceptance {
    pub message_id: String,
    pub ready: ReadyId,
    /// The mail was there already: somebody handed it over twice.
    pub again: bool,
}

pub(super) struct AcceptanceLog {
    path: PathBuf,
    file: File,
}

impl AcceptanceLog {
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let path = folder.join("accepted.log");
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        File::open(folder)?.sync_all()?;
        Ok(Self { path, file })
    }

    /// Adds lines for good.
    pub(super) fn append(&mut self, lines: impl Iterator<Item = OutboxAcceptance>) -> io::Result<()> {
        // Another process may have been killed within a line; that one ends here.
        let mut text = String::from("\n");
        for OutboxAcceptance { message_id, ready, again } in lines {
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
    pub(super) fn read_all(&self) -> io::Result<Vec<OutboxAcceptance>> {
        let text = fs::read_to_string(&self.path)?;
        Ok(text.lines().filter_map(parse_line).collect())
    }
}

fn parse_line(text: &str) -> Option<OutboxAcceptance> {
    let mut words = text.split(' ');
    let message_id = words.next()?.to_owned();
    let ready = ReadyId::parse(words.next()?)?;
    let again = match words.next()? {
        "first" => false,
        "again" => true,
        _ => return None,
    };
    Some(OutboxAcceptance { message_id, ready, again })
}
