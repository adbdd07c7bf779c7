//! What a list of mails shows, kept in memory: read once from the mails' headers, then added to.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read as _},
};

use mail_parser::MessageParser;
use model::{Millis, ReadyId};

use super::{Summary, folder::Folder, mail};
use crate::mime::READY_HEADER;

/// Bytes of a file that are read for its headers; nearly all are shorter.
const HEAD_BYTES: u64 = 4 * 1024;
/// Those few that are longer get so much.
const HEAD_BYTES_MAX: u64 = 64 * 1024;

#[derive(Default)]
pub(super) struct Index {
    by_date: BTreeMap<(Millis, String), Summary>,
}

impl Index {
    /// Reads the beginning of every mail.
    pub(super) fn read(folder: &Folder) -> io::Result<Self> {
        let mut index = Self::default();
        let mut head = Vec::new();
        for path in folder.files()? {
            let file = File::open(path)?;
            let bytes = file.metadata()?.len();
            head.clear();
            (&file).take(HEAD_BYTES).read_to_end(&mut head)?;
            if !head.windows(4).any(|end| end == b"\r\n\r\n") {
                (&file).take(HEAD_BYTES_MAX).read_to_end(&mut head)?;
            }
            index.add(summary(&head, Some(bytes)));
        }
        Ok(index)
    }

    pub(super) fn add(&mut self, summary: Summary) {
        self.by_date.insert((summary.date, summary.message_id.clone()), summary);
    }

    pub(super) fn newest(&self, most: usize) -> Vec<Summary> {
        self.by_date.values().rev().take(most).cloned().collect()
    }

    pub(super) fn len(&self) -> usize {
        self.by_date.len()
    }
}

/// What is shown of a mail, from its beginning and its size.
pub(super) fn summary(head: &[u8], bytes: Option<u64>) -> Summary {
    let parsed = MessageParser::default().parse_headers(head).unwrap_or_default();
    let date = parsed.date().map(|date| date.to_timestamp().saturating_mul(1000));
    let ready = parsed.header_raw(READY_HEADER).and_then(|text| ReadyId::parse(text.trim()));
    Summary {
        message_id: parsed.message_id().unwrap_or_default().to_owned(),
        headline: parsed.subject().unwrap_or_default().to_owned(),
        to: parsed.to().map(mail::addresses).unwrap_or_default(),
        date: Millis(date.unwrap_or_default()),
        bytes: bytes.unwrap_or(head.len() as u64),
        ready,
    }
}
