//! What a push can reach: devices of a person, each a field of their profile that only a fact about it can set.

use std::{cmp::Reverse, fmt, sync::Arc};

use crate::value::{Value, ValueCell, VersionedState};

/// Devices of a person, at most: whoever has more loses the one that is oldest.
pub const MOST: usize = 20;

/// Names of fields begin so.
const PREFIX: &str = "device ";

/// What runs there, which decides how a push is written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DevicePlatform {
    Android,
    Ios,
    Web,
}

/// Something that a push can reach.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PushDevice {
    pub id: String,
    pub platform: DevicePlatform,
    /// By which its platform's service finds it.
    pub token: String,
}

// A token never reaches a log by accident.
impl fmt::Debug for PushDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.id, self.platform.name())
    }
}

impl DevicePlatform {
    pub const ALL: [Self; 3] = [Self::Android, Self::Ios, Self::Web];

    pub fn name(self) -> &'static str {
        match self {
            Self::Android => "android",
            Self::Ios => "ios",
            Self::Web => "web",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|platform| platform.name() == text)
    }
}

/// The field of a device.
pub fn device_field(id: &str) -> String {
    format!("{PREFIX}{id}")
}

/// What the field of a device says.
pub fn device_value(platform: DevicePlatform, token: &str) -> Value {
    Value::from_text(&format!("{} {token}", platform.name()))
}

/// The devices that a profile has, those first that were named last.
pub fn read_devices(profile: &VersionedState) -> Vec<PushDevice> {
    let device = |(name, cell): (&Arc<str>, &ValueCell)| {
        let id = name.strip_prefix(PREFIX)?.to_owned();
        let Some(Value::Text(text)) = &cell.value else { return None };
        let (platform, token) = text.split_once(' ')?;
        let device = PushDevice { id, platform: DevicePlatform::parse(platform)?, token: token.to_owned() };
        Some((Reverse(cell.version), device))
    };
    let mut found: Vec<_> = profile.cells.iter().filter_map(device).collect();
    found.sort();
    found.truncate(MOST);
    found.into_iter().map(|(_, device)| device).collect()
}
