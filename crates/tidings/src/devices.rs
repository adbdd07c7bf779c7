//! The devices on which pushes reach a person, for looking at: what each is, and since when. Their tokens stay where
//! they are.

use anyhow::Context as _;
use model::{Millis, Person, Tenant, device};
use serde::{Deserialize, Serialize};
use store::{StateKey, Store};

/// A person's devices, those first that were named last.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Devices {
    pub person: String,
    pub devices: Vec<OneDevice>,
}

/// One of them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OneDevice {
    pub device: String,
    /// `android`, `ios` or `web`.
    pub platform: String,
    /// The version of what was said of it: an instant, unless whoever said it counts otherwise.
    pub since: String,
}

/// What is known by now.
pub async fn read(store: &dyn Store, (tenant, person): (&Tenant, &Person)) -> anyhow::Result<Devices> {
    let key = StateKey::Person(tenant.clone(), person.clone());
    let profile = store.states(&[key]).await.context("the profile")?.pop().unwrap_or_default();
    let one = |found: device::Device| {
        let version = profile.cells.get(device::field(&found.id).as_str()).map_or(0, |cell| cell.version);
        OneDevice {
            device: found.id,
            platform: found.platform.name().to_owned(),
            since: Millis(version).to_string(),
        }
    };
    let devices = device::of(&profile).into_iter().map(one).collect();
    Ok(Devices { person: person.to_string(), devices })
}
