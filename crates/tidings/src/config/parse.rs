//! How the texts of a configuration are understood, and what was probably meant by those that are not.

use std::{path::Path, str::FromStr};

use runtime::log::Format;

use super::keys::{self, API_KEY_FILE_VARIABLE, KEYS, Key};

pub fn parsed<T: FromStr>(what: &'static str) -> impl Fn(&str) -> Result<T, String> {
    move |text| text.parse().map_err(|_| what.to_owned())
}

pub fn format(text: &str) -> Result<Format, String> {
    match text {
        "text" => Ok(Format::Text),
        "json" => Ok(Format::Json),
        _ => Err("is neither `text` nor `json`".to_owned()),
    }
}

/// `268435456`, `256 MiB`, `2GiB`.
pub fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let (number, unit) = text.split_at(text.len() - digits.len());
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "kib" => 10,
        "mib" => 20,
        "gib" => 30,
        "tib" => 40,
        _ => return Err("is no size, such as 256 MiB".to_owned()),
    };
    let number: Option<u64> = number.parse().ok();
    number.and_then(|n| n.checked_mul(1 << shift)).ok_or_else(|| "is no size, such as 256 MiB".to_owned())
}

pub fn is_path(key: &Key) -> bool {
    matches!(key.name, keys::DATA_DIR | keys::CATALOGUE)
}

/// A path of the file is meant from the file's own folder.
pub fn beside(file: &Path, text: &str) -> String {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !text.is_empty() => {
            folder.join(text).display().to_string()
        }
        _ => text.to_owned(),
    }
}

pub fn unknown<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    match keys::nearest(word, names) {
        Some(near) => format!("unknown key `{word}`; did you mean `{near}`?"),
        None => format!("unknown key `{word}`; `tidings config` lists the known ones"),
    }
}

/// The variable that was probably meant.
pub fn misspelt(name: &str) -> Option<&'static str> {
    let known = KEYS.iter().map(|key| key.environment).chain([API_KEY_FILE_VARIABLE]);
    known
        .filter(|known| strsim::osa_distance(name, known) <= 2)
        .min_by_key(|known| strsim::osa_distance(name, known))
}
