//! The devices on which pushes reach a person, for looking at: what each is, and since when. Their tokens stay where
//! they are.

use anyhow::Context as _;
use model::{Person, Tenant, UtcMillis, device};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{StateKey, Store};

/// By what browsers know the house.
#[derive(Clone, Debug, Default)]
pub struct WebKey {
    /// The public half of its key; none, and no browser is shown anything.
    pub public: Option<String>,
    /// Whether browsers are shown copies of what lies in the outbox.
    pub is_copy: bool,
}

/// A person's devices, those first that were named last.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
pub struct PersonDevices {
    pub person: String,
    pub devices: Vec<PersonDeviceView>,
}

/// One of them.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
pub struct PersonDeviceView {
    pub device: String,
    /// `android`, `ios` or `web`.
    pub platform: String,
    /// The version of what was said of it: an instant, unless whoever said it counts otherwise.
    pub since: String,
}

/// What is known by now.
pub async fn read_devices(
    store: &dyn Store,
    (tenant, person): (&Tenant, &Person),
) -> anyhow::Result<PersonDevices> {
    let key = StateKey::Person(tenant.clone(), person.clone());
    let profile = store.states(&[key]).await.context("the profile")?.pop().unwrap_or_default();
    let one = |found: device::PushDevice| {
        let version =
            profile.cells.get(device::device_field(&found.id).as_str()).map_or(0, |cell| cell.version);
        PersonDeviceView {
            device: found.id,
            platform: found.platform.name().to_owned(),
            since: UtcMillis(version).to_string(),
        }
    };
    let devices = device::read_devices(&profile).into_iter().map(one).collect();
    Ok(PersonDevices { person: person.to_string(), devices })
}
