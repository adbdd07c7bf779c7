//! A database of addresses: a file in the format of MaxMind, held in memory and checked before it is used.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::SystemTime,
};

use anyhow::{Context as _, ensure};
use maxminddb::{MaxMindDbError, Reader, WithinOptions};
use model::{GeoPoint, UtcMillis};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

/// Kilometres of accuracy. What a database knows less well is no place, for `near` would not be true of it.
pub const RADIUS_KM_MAX: f64 = 100.0;
/// Networks that are looked at before a database is used: enough to see whether it has places and can be read.
const NETWORKS_CHECKED: usize = 100_000;
/// Parts of a degree that are kept: a tenth of it is some eleven kilometres.
const PARTS_OF_DEGREE: f64 = 10.0;

/// What a file looks like from outside; nothing where there is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FileStamp(Option<(u64, Option<SystemTime>)>);

impl FileStamp {
    pub fn of_file(path: &Path) -> Self {
        Self(fs::metadata(path).ok().map(|found| (found.len(), found.modified().ok())))
    }
}

/// Where addresses are.
#[derive(Debug)]
pub struct AddressDatabase {
    reader: Reader<Vec<u8>>,
    stamp: FileStamp,
    is_warned: AtomicBool,
}

/// What is read of what a database has about a network. Makers write numbers in several sorts.
#[derive(Deserialize)]
struct NetworkRecord {
    #[serde(default)]
    location: Value,
    /// Named, or one cannot tell a city from the middle of a country.
    city: Option<IgnoredAny>,
}

impl AddressDatabase {
    /// Reads and checks a file.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let stamp = FileStamp::of_file(path);
        let of_file = || format!("the database of IP addresses {}", path.display());
        let read = || {
            ensure!(fs::metadata(path)?.is_file(), "it is not a file");
            Self::from_bytes(fs::read(path)?)
        };
        Ok(Self { stamp, ..read().with_context(of_file)? })
    }

    /// The same of what a file has in it.
    pub fn from_bytes(bytes: Vec<u8>) -> anyhow::Result<Self> {
        let reader = Reader::from_source(bytes).context(
            "it cannot be read: it must be a whole file in the format of MaxMind, which mostly ends in .mmdb",
        )?;
        let database = Self { reader, stamp: FileStamp::default(), is_warned: AtomicBool::default() };
        database.check_places()?;
        Ok(database)
    }

    /// The file as it was when this was read.
    pub fn stamp(&self) -> FileStamp {
        self.stamp
    }

    /// When it was made, by its own word.
    pub fn built(&self) -> UtcMillis {
        let seconds = i64::try_from(self.reader.metadata().build_epoch).unwrap_or(i64::MAX);
        UtcMillis(seconds.saturating_mul(1_000))
    }

    /// What its maker calls it, `GeoLite2-City`.
    pub fn name(&self) -> &str {
        &self.reader.metadata().database_type
    }

    /// Roughly where an address is; nothing where that is not known well enough.
    pub fn find_place(&self, address: IpAddr) -> Option<GeoPoint> {
        // An IPv4 address may be written as one of IPv6.
        let address = address.to_canonical();
        let has_record =
            !is_private(address) && (address.is_ipv4() || self.reader.metadata().ip_version == 6);
        let found = if has_record { self.find_record(address) } else { Ok(None) };
        found
            .unwrap_or_else(|error| {
                // No word of the address.
                if !self.is_warned.swap(true, Ordering::Relaxed) {
                    tracing::warn!(%error, "the database of IP addresses has records that cannot be read");
                }
                None
            })?
            .place()
    }

    fn find_record(&self, address: IpAddr) -> Result<Option<NetworkRecord>, MaxMindDbError> {
        self.reader.lookup(address)?.decode()
    }

    /// Whether it has a place at all, and nothing unreadable among the first that it has.
    fn check_places(&self) -> anyhow::Result<()> {
        let mut is_found = false;
        for network in self.reader.networks(WithinOptions::default())?.take(NETWORKS_CHECKED) {
            let record: Option<NetworkRecord> =
                network.and_then(|found| found.decode()).context("it is damaged")?;
            is_found |= record.is_some_and(|record| record.point().is_some());
        }
        let name = self.name();
        ensure!(
            is_found,
            "it has no places: it is `{name}`, and one of cities is needed, such as GeoLite2-City"
        );
        Ok(())
    }
}

impl NetworkRecord {
    fn point(&self) -> Option<GeoPoint> {
        GeoPoint::new(self.location["latitude"].as_f64()?, self.location["longitude"].as_f64()?)
    }

    /// The place, no finer than it is needed; nothing if it may be far off.
    fn place(&self) -> Option<GeoPoint> {
        let radius = self.location["accuracy_radius"].as_f64();
        if !radius.map_or(self.city.is_some(), |radius| radius <= RADIUS_KM_MAX) {
            return None;
        }
        let at = self.point()?;
        // Zero has no sign.
        let coarse = |degrees: f64| (degrees * PARTS_OF_DEGREE).round() / PARTS_OF_DEGREE + 0.0;
        GeoPoint::new(coarse(at.lat), coarse(at.lon))
    }
}

/// Whether an address means something within a network alone, whatever a database says of it.
fn is_private(address: IpAddr) -> bool {
    /// Shared by the customers of a provider (RFC 6598).
    const SHARED: (Ipv4Addr, u32) = (Ipv4Addr::new(100, 64, 0, 0), 10);
    match address {
        IpAddr::V4(v4) => {
            let (shared, bits) = SHARED;
            v4.is_private()
                || v4.is_loopback()
                || v4.is_link_local()
                || v4.is_unspecified()
                || v4.is_broadcast()
                || v4.is_multicast()
                || (v4.to_bits() ^ shared.to_bits()) >> (Ipv4Addr::BITS - bits) == 0
        }
        IpAddr::V6(v6) => {
            v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_multicast()
                || v6.is_unique_local()
                || v6.is_unicast_link_local()
        }
    }
}
