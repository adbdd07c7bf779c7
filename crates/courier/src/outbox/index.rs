//! What a list of mails shows, kept in memory: read from the mails' headers once, and then from notes.

use std::{
    collections::{BTreeMap, HashMap},
    fs::{File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use mail_parser::MessageParser;
use model::{ReadyId, UtcMillis};

use super::{OutboxSummary, folder::OutboxFolder, mail};
use crate::mime::READY_HEADER;

/// Bytes of a file that are read for its headers; nearly all are shorter.
const HEAD_BYTES: u64 = 4 * 1024;
/// Those few that are longer get so much.
const HEAD_BYTES_MAX: u64 = 64 * 1024;

pub(super) struct OutboxIndex {
    by_date: BTreeMap<(UtcMillis, String), OutboxSummary>,
    /// What was read of each mail, a line each, so that opening need not read the mails again, and that
    /// several processes know of each other's mails. A line that is missing or broken costs one reading.
    notes: File,
    path: PathBuf,
    /// How far the notes have been read.
    read: u64,
}

/// A line of the notes: the file's name, and what a summary has.
type OutboxIndexLine = (String, String, String, String, i64, u64, Option<String>);

impl OutboxIndex {
    /// From the notes, and from the beginning of every mail that is not in them.
    pub(super) fn read(path: &Path, folder: &OutboxFolder) -> io::Result<Self> {
        let path = path.join("mail.notes");
        let notes = OpenOptions::new().create(true).read(true).append(true).open(&path)?;
        let mut index = Self { by_date: BTreeMap::new(), notes, path, read: 0 };
        let mut known: HashMap<String, OutboxSummary> = index.read_news()?.into_iter().collect();
        let mut head = Vec::new();
        for name in folder.list_names()? {
            if let Some(summary) = known.remove(&name) {
                index.insert(summary);
                continue;
            }
            let file = folder.open_file(&name)?;
            let bytes = file.metadata()?.len();
            head.clear();
            (&file).take(HEAD_BYTES).read_to_end(&mut head)?;
            if !head.windows(4).any(|end| end == b"\r\n\r\n") {
                (&file).take(HEAD_BYTES_MAX).read_to_end(&mut head)?;
            }
            index.add(name, read_summary(&head, bytes));
        }
        Ok(index)
    }

    /// Adds a mail that is new.
    pub(super) fn add(&mut self, name: String, summary: OutboxSummary) {
        let OutboxSummary { message_id, headline, to, date, bytes, ready } = summary.clone();
        let note: OutboxIndexLine =
            (name, message_id, headline, to, date.0, bytes, ready.map(|id| id.to_string()));
        // Without its note it is read again when the folder is opened.
        if let Ok(line) = serde_json::to_string(&note) {
            let _noted = self.notes.write_all(format!("\n{line}\n").as_bytes());
        }
        self.insert(summary);
    }

    /// Takes in what other processes noted since the last time.
    pub(super) fn refresh(&mut self) -> io::Result<()> {
        for (_, summary) in self.read_news()? {
            self.insert(summary);
        }
        Ok(())
    }

    /// The notes that were not read yet, with the names of their files.
    fn read_news(&mut self) -> io::Result<Vec<(String, OutboxSummary)>> {
        let mut text =
            vec![0; usize::try_from(self.notes.metadata()?.len().saturating_sub(self.read)).unwrap_or(0)];
        self.notes.read_exact_at(&mut text, self.read)?;
        // The last line may still be on its way.
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.read += whole as u64;
        Ok(text[..whole].split(|byte| *byte == b'\n').filter_map(parse_note).collect())
    }

    fn insert(&mut self, summary: OutboxSummary) {
        self.by_date.insert((summary.date, summary.message_id.clone()), summary);
    }

    /// The mails of which something is so.
    pub(super) fn list_where(&self, is: impl Fn(&OutboxSummary) -> bool) -> Vec<OutboxSummary> {
        self.by_date.values().filter(|summary| is(summary)).cloned().collect()
    }

    /// Takes mails out of the list and of the notes, which are written anew: whole in another file first, so that
    /// whoever is killed leaves the old ones or the new ones. A note that another process adds to the old ones is
    /// missed, which costs a reading.
    pub(super) fn remove(&mut self, gone: &[OutboxSummary]) -> io::Result<()> {
        let draft = self.path.with_extension("draft");
        let is_gone = |id: &str| gone.iter().any(|summary| summary.message_id == id);
        let kept = std::fs::read(&self.path)?;
        let kept = kept
            .split(|byte| *byte == b'\n')
            .filter(|line| parse_note(line).is_some_and(|(_, summary)| !is_gone(&summary.message_id)));
        let mut text = Vec::new();
        for line in kept {
            text.extend_from_slice(line);
            text.push(b'\n');
        }
        let mut file = File::create(&draft)?;
        file.write_all(&text)?;
        file.sync_all()?;
        std::fs::rename(&draft, &self.path)?;
        self.notes = OpenOptions::new().read(true).append(true).open(&self.path)?;
        self.read = text.len() as u64;
        for summary in gone {
            self.by_date.remove(&(summary.date, summary.message_id.clone()));
        }
        Ok(())
    }

    pub(super) fn newest(&self, most: usize) -> Vec<OutboxSummary> {
        self.by_date.values().rev().take(most).cloned().collect()
    }

    pub(super) fn len(&self) -> usize {
        self.by_date.len()
    }
}

fn parse_note(line: &[u8]) -> Option<(String, OutboxSummary)> {
    let (name, message_id, headline, to, date, bytes, ready): OutboxIndexLine =
        serde_json::from_slice(line).ok()?;
    let ready = match ready {
        Some(digits) => Some(ReadyId::parse(&digits)?),
        None => None,
    };
    Some((name, OutboxSummary { message_id, headline, to, date: UtcMillis(date), bytes, ready }))
}

/// What is shown of a mail, from its beginning and its size.
pub(super) fn read_summary(head: &[u8], bytes: u64) -> OutboxSummary {
    let parsed = MessageParser::default().parse_headers(head).unwrap_or_default();
    let date = parsed.date().map(|date| date.to_timestamp().saturating_mul(1000));
    let ready = parsed.header_raw(READY_HEADER).and_then(|text| ReadyId::parse(text.trim()));
    OutboxSummary {
        message_id: parsed.message_id().unwrap_or_default().to_owned(),
        headline: parsed.subject().unwrap_or_default().to_owned(),
        to: parsed.to().map(mail::format_addresses).unwrap_or_default(),
        date: UtcMillis(date.unwrap_or_default()),
        bytes,
        ready,
    }
}
