//! A folder of keys: each file is called as its record in the DNS, with a date behind if it is to be used only from
//! then on. `s1._domainkey.example.com.pem`, `s2._domainkey.example.com@2026-12-01.pem`.

use std::{fs, io, path::Path};

use chrono::{NaiveDate, NaiveTime};

use super::{DkimKey, DkimSigner};

const ENDING: &str = ".pem";
const BETWEEN: &str = "._domainkey.";

/// The key files of a folder, and what is wrong with each that cannot be used.
pub fn read_keys(folder: &Path) -> Result<Vec<DkimKey>, Vec<String>> {
    let shown = folder.display();
    let files = fs::read_dir(folder).map_err(|error| vec![format!("{shown}: {}", describe_error(&error))])?;
    let (mut keys, mut wrong) = (Vec::new(), Vec::new());
    let mut names: Vec<String> = files
        .filter_map(|file| file.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(ENDING))
        .collect();
    names.sort();
    for name in &names {
        match read_key_file(folder, name) {
            Ok(key) => keys.push(key),
            Err(why) => wrong.push(format!("{shown}/{name}: {why}")),
        }
    }
    if names.is_empty() {
        wrong.push(format!("{shown}: the folder has no key; `tidings dkim new DOMAIN` makes one"));
    }
    if wrong.is_empty() { Ok(keys) } else { Err(wrong) }
}

/// The name of a key's file.
pub fn key_file_name(domain: &str, selector: &str, from: Option<&str>) -> String {
    let from = from.map(|date| format!("@{date}")).unwrap_or_default();
    format!("{selector}{BETWEEN}{domain}{from}{ENDING}")
}

/// The first instant of a date, in seconds; `None` if it is none.
pub fn parse_since(date: &str) -> Option<i64> {
    let date = NaiveDate::parse_from_str(date, "%Y-%m-%d").ok()?;
    Some(date.and_time(NaiveTime::MIN).and_utc().timestamp())
}

fn read_key_file(folder: &Path, name: &str) -> Result<DkimKey, String> {
    let (selector, rest) = name.split_once(BETWEEN).ok_or("not called SELECTOR._domainkey.DOMAIN.pem")?;
    let rest = rest.strip_suffix(ENDING).unwrap_or(rest);
    let (domain, from) = match rest.split_once('@') {
        Some((domain, date)) => (domain, parse_since(date).ok_or("its date is not such as 2026-12-01")?),
        None => (rest, i64::MIN),
    };
    let pem = fs::read_to_string(folder.join(name)).map_err(|error| describe_error(&error))?;
    DkimKey::read(domain, selector, from, &pem).map_err(|why| why.to_string())
}

fn describe_error(error: &io::Error) -> String {
    error.kind().to_string()
}

impl DkimSigner {
    /// The keys of a folder.
    pub fn from_folder(folder: &Path) -> Result<Self, Vec<String>> {
        read_keys(folder).map(Self::new)
    }
}
