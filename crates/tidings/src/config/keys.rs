//! What can be set, and where.

/// One thing that can be set in the file, in the environment and mostly by a flag.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// In the file; a dot goes one level down.
    pub name: &'static str,
    pub environment: &'static str,
    /// What holds without being set; `None` is nothing at all.
    pub default: Option<&'static str>,
    pub help: &'static str,
}

const fn key(
    name: &'static str,
    environment: &'static str,
    default: Option<&'static str>,
    help: &'static str,
) -> Key {
    Key { name, environment, default, help }
}

pub const DATA_DIR: &str = "data_dir";
pub const LISTEN: &str = "listen";
pub const PUBLIC_URL: &str = "public_url";
pub const TENANT: &str = "tenant";
pub const CATALOGUE: &str = "catalogue";
pub const API_KEYS: &str = "api_keys";
pub const DISK_RESERVE: &str = "disk_reserve";
pub const DEMO: &str = "demo";
pub const LOG_FILTER: &str = "log.filter";
pub const LOG_FORMAT: &str = "log.format";
pub const LIMITS_LAG: &str = "limits.lag";

/// All keys, in the order in which they are shown.
pub const KEYS: [Key; 11] = [
    key(DATA_DIR, "TIDINGS_DATA_DIR", Some(".tidings"), "where everything is kept"),
    key(
        LISTEN,
        "TIDINGS_LISTEN",
        Some("127.0.0.1:7280"),
        "address of page and HTTP; port 0 takes a free one",
    ),
    key(
        PUBLIC_URL,
        "TIDINGS_PUBLIC_URL",
        None,
        "the address by which readers of mails reach it, for the links in them; the one it listens on unless set",
    ),
    key(TENANT, "TIDINGS_TENANT", Some("main"), "whose events and persons these are, where nobody says"),
    key(CATALOGUE, "TIDINGS_CATALOGUE", None, "folder of the catalogue"),
    key(API_KEYS, "TIDINGS_API_KEY", None, "who may speak for which tenant; needed beyond this machine"),
    key(
        DISK_RESERVE,
        "TIDINGS_DISK_RESERVE",
        Some("256 MiB"),
        "disk that is never used: intake stops before",
    ),
    key(
        DEMO,
        "TIDINGS_DEMO",
        Some("false"),
        "a clock that can be moved forward, and a little world to begin with",
    ),
    key(LOG_FILTER, "TIDINGS_LOG_FILTER", Some("info"), "what is logged, such as `info,digest=debug`"),
    key(LOG_FORMAT, "TIDINGS_LOG_FORMAT", Some("text"), "`text` or `json`"),
    key(
        LIMITS_LAG,
        "TIDINGS_LIMITS_LAG",
        Some("100000"),
        "records a stage may be behind before intake answers 429",
    ),
];

/// The file that holds the one API key that the environment may give.
pub const API_KEY_FILE_VARIABLE: &str = "TIDINGS_API_KEY_FILE";
/// Fewer characters than this are no key.
pub const API_KEY_CHARS_MIN: usize = 16;

pub fn get(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// The nearest of some names, unless all of them are far.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    // Swapped letters are one slip; a third of the word may be wrong.
    let far = word.chars().count() / 3 + 1;
    names
        .into_iter()
        .map(|name| (strsim::osa_distance(&word, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= far)
        .min()
        .map(|(_, name)| name)
}
