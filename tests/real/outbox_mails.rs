//! What a house told, from its mails and from people's days, in a form that is the same whenever it was told.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::house::RealHouse;

/// How often each subject was told to each person.
pub type TellingCounts = BTreeMap<(String, String), usize>;
/// Of each person and each subject: a line for each entry, in the order in which they were told.
pub type CanonicalTelling = BTreeMap<(String, String), Vec<String>>;

/// A mail that left, or a push.
#[derive(Clone, Debug)]
pub struct ToldMail {
    /// When its window closed; a second is the finest that a mail can say.
    pub closed: i64,
    pub to: String,
    pub plan: String,
    pub is_push: bool,
    /// What its items are called, in their order.
    pub items: Vec<String>,
}

/// The mails of an outbox, read as they come.
#[derive(Default)]
pub struct OutboxMailReader {
    read: HashMap<PathBuf, String>,
    pub by_ready: HashMap<String, ToldMail>,
}

impl OutboxMailReader {
    /// Reads those that are new.
    pub fn read_new(&mut self, outbox: &Path) -> Result<()> {
        for folder in fs::read_dir(outbox.join("mail"))? {
            for file in fs::read_dir(folder?.path())? {
                let path = file?.path();
                if !self.read.contains_key(&path) {
                    let (ready, mail) =
                        parse_mail(&fs::read(&path)?).with_context(|| path.display().to_string())?;
                    ensure!(
                        self.by_ready.insert(ready.clone(), mail).is_none(),
                        "two mails tell {ready}: {}",
                        path.display()
                    );
                    self.read.insert(path, ready);
                }
            }
        }
        Ok(())
    }

    pub fn counts(&self) -> TellingCounts {
        let mut counts = TellingCounts::new();
        for mail in self.by_ready.values() {
            for item in &mail.items {
                *counts.entry((mail.to.clone(), item.clone())).or_default() += 1;
            }
        }
        counts
    }

    pub fn len(&self) -> usize {
        self.read.len()
    }
}

fn parse_mail(raw: &[u8]) -> Result<(String, ToldMail)> {
    let mail = mail_parser::MessageParser::default().parse(raw).context("it is no mail")?;
    let ready = mail.header("X-Tidings-Ready").and_then(|ready| ready.as_text()).context("no ready")?;
    let address = |addresses: Option<&mail_parser::Address<'_>>| {
        let address = addresses.and_then(|all| all.first()).and_then(|one| one.address());
        address.and_then(|address| address.split('@').next()).unwrap_or_default().to_owned()
    };
    let text = mail.body_text(0).context("no text")?;
    let items = text.lines().filter_map(|line| line.strip_prefix("- ")).map(|item| item.trim().to_owned());
    // A push is from nobody, and has no lines: its headline is its plan, and each word an item.
    let is_push = mail.header("X-Tidings-Channel").is_some();
    let read = ToldMail {
        closed: mail.date().context("no date")?.to_timestamp(),
        to: address(mail.to()),
        plan: if is_push { mail.subject().unwrap_or_default().to_owned() } else { address(mail.from()) },
        is_push,
        items: if is_push { text.split_whitespace().map(str::to_owned).collect() } else { items.collect() },
    };
    Ok((ready.trim().to_owned(), read))
}

/// What was told more often than it is owed.
pub fn find_excess(found: &TellingCounts, owed: &TellingCounts) -> Option<String> {
    let wrong = found.iter().find(|(of, count)| owed.get(*of).copied().unwrap_or_default() < **count);
    wrong.map(|(of, count)| format!("{of:?} was told {count} times and is owed {:?}", owed.get(of)))
}

/// Some of what is missing.
pub fn find_missing(found: &TellingCounts, owed: &TellingCounts) -> Vec<(String, String)> {
    let open = owed.iter().filter(|(of, count)| found.get(*of).copied().unwrap_or_default() < **count);
    open.map(|(of, _)| of.clone()).take(5).collect()
}

/// That nothing was handed over twice.
pub fn check_once(outbox: &Path) -> Result<()> {
    let log = fs::read_to_string(outbox.join("accepted.log"))?;
    let again = log.lines().find(|line| line.ends_with(" again"));
    ensure!(again.is_none(), "a mail was handed over twice: {again:?}");
    Ok(())
}

/// What became of every entry of these persons. An error says where days and mails contradict each other, or
/// where a mail left twice.
pub fn read_canonical(
    house: &RealHouse,
    mails: &OutboxMailReader,
    persons: &[String],
) -> Result<CanonicalTelling> {
    check_once(house.outbox())?;
    let mut canonical = CanonicalTelling::new();
    let mut told_by: HashMap<String, Vec<(String, String)>> = HashMap::new();
    for person in persons {
        let mut entries = Vec::new();
        for entry in entries_of(&house.days(person)?) {
            entries.push(CanonicalEntry::read(&entry, mails, person)?);
        }
        // By when it was told; what was not told stands behind.
        entries.sort_by(|a, b| (a.told, &a.occurred).cmp(&(b.told, &b.occurred)));
        for entry in entries {
            if let Some(ready) = entry.ready {
                told_by.entry(ready).or_default().push((entry.occurred, entry.subject.clone()));
            }
            canonical.entry((person.clone(), entry.subject)).or_default().push(entry.line);
        }
    }
    for (ready, mail) in &mails.by_ready {
        let mut told = told_by.remove(ready).unwrap_or_default();
        told.sort();
        let told: Vec<String> = told.into_iter().map(|(_, subject)| subject).collect();
        let (to, items) = (&mail.to, &mail.items);
        ensure!(told == *items, "{ready} told {to} of {items:?}, and by the days of {told:?}");
    }
    ensure!(told_by.is_empty(), "told by no mail: {:?}", told_by.iter().next());
    Ok(canonical)
}

struct CanonicalEntry {
    subject: String,
    occurred: String,
    ready: Option<String>,
    /// When the window closed that told it.
    told: i64,
    line: String,
}

impl CanonicalEntry {
    fn read(entry: &Value, mails: &OutboxMailReader, person: &str) -> Result<Self> {
        let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        let (subject, occurred) = (text("subject"), text("occurred"));
        let fate = &entry["fates"][0];
        let ready = fate["ready"].as_str().map(str::to_owned);
        let mut line = format!("{occurred} {} {}: {}", entry["kinds"], entry["reasons"], fate["fate"]);
        let mut told = i64::MAX;
        if let Some(ready) = &ready {
            let mail = mails.by_ready.get(ready);
            let mail = mail.with_context(|| format!("no mail tells {person} of {subject}: {entry}"))?;
            ensure!(mail.to == person, "{ready} of {person} went to {}", mail.to);
            ensure!(fate["journal"] == "sent", "the journal does not know that it was sent: {entry}");
            line += &format!(" by {}", mail.plan);
            told = mail.closed;
        }
        Ok(Self { subject, occurred, ready, told, line })
    }
}

pub fn entries_of(days: &Value) -> Vec<Value> {
    let days = days["days"].as_array().into_iter().flatten();
    days.filter_map(|day| day["entries"].as_array()).flatten().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_twice_or_not_at_all_is_seen() {
        let check = |mails: &[(&str, &str, &str)], expect: &str| {
            let outbox = tempfile::tempdir().unwrap();
            let folder = outbox.path().join("mail/00");
            fs::create_dir_all(&folder).unwrap();
            for (number, (ready, to, item)) in mails.iter().enumerate() {
                let mail = format!(
                    "X-Tidings-Ready: {ready}\r\nFrom: soon@real.example\r\nTo: {to}@example.org\r\n\
                     Date: Sat, 21 Nov 2026 18:00:00 +0000\r\nContent-Type: text/plain\r\n\r\n1 news\r\n\r\n- {item}\r\n"
                );
                fs::write(folder.join(format!("{number}.eml")), mail).unwrap();
            }
            let of = |person: &str, subject: &str| (person.to_owned(), subject.to_owned());
            let owed = TellingCounts::from([(of("p1", "post:1"), 2), (of("p2", "note:1"), 1)]);
            let mut read = OutboxMailReader::default();
            let found = match read.read_new(outbox.path()) {
                Err(error) => format!("{error:#}"),
                Ok(()) => match find_excess(&read.counts(), &owed) {
                    Some(wrong) => wrong,
                    None => format!("missing {:?}", find_missing(&read.counts(), &owed)),
                },
            };
            assert!(found.contains(expect), "{mails:?}: {found}");
        };
        let (first, second, third) = (("a", "p1", "post:1"), ("b", "p1", "post:1"), ("c", "p2", "note:1"));
        check(&[first, second, third], "missing []");
        check(&[first, third], r#"missing [("p1", "post:1")]"#);
        check(&[first, second], r#"missing [("p2", "note:1")]"#);
        check(&[first, second, third, ("d", "p2", "note:1")], "was told 2 times and is owed Some(1)");
        check(&[first, second, third, ("d", "p2", "post:1")], "was told 1 times and is owed None");
        check(&[first, first], "two mails tell a");
    }
}
