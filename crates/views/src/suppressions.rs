//! The suppressions of a person's addresses because of returned mails, and lifting them.

use anyhow::Context as _;
use model::{
    Person, Tenant, UtcMillis,
    person::profile,
    returns::{AddressHash, Suppression, lift_returns, list_suppressions},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{StateKey, Store};

/// A person's suppressions.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
pub struct PersonSuppressions {
    pub person: String,
    pub suppressions: Vec<SuppressionLine>,
}

/// One of them.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
pub struct SuppressionLine {
    /// `hard`, `soft`, `complaint`.
    pub what: String,
    /// The only stream that it holds for; all of them without.
    pub stream: Option<String>,
    /// The code that the other side gave.
    pub code: String,
    /// When the mail left that came back.
    pub since: String,
    /// When it ends by itself; never without.
    pub until: Option<String>,
    /// Whether it is about the address that the person has now. One that they had before keeps nothing back.
    pub holds: bool,
}

/// What is known of a person by now.
pub async fn load_suppressions(
    store: &dyn Store,
    (tenant, person): (&Tenant, &Person),
    now: UtcMillis,
) -> anyhow::Result<PersonSuppressions> {
    let keys = [StateKey::Person, StateKey::Notes].map(|key| key(tenant.clone(), person.clone()));
    let states = store.states(&keys).await.context("profile and notes")?;
    let [known, notes] = &states[..] else { anyhow::bail!("the store gave another answer") };
    let address =
        known.text(profile::EMAIL).map(|own| AddressHash::from_address(tenant, person, own).to_string());
    let one = |found: Suppression| SuppressionLine {
        what: found.sort.name().to_owned(),
        stream: found.stream.as_deref().map(str::to_owned),
        holds: Some(&found.address) == address.as_ref(),
        code: found.code,
        since: found.since.to_string(),
        until: found.until.map(|until| until.to_string()),
    };
    let suppressions = list_suppressions(notes, now).into_iter().map(one).collect();
    Ok(PersonSuppressions { person: person.to_string(), suppressions })
}

/// Lifts everything, or complaints about one stream; says how many suppressions are gone. What comes back later of mails
/// that left before changes nothing about it.
pub async fn lift_for_person(
    store: &dyn Store,
    (tenant, person): (&Tenant, &Person),
    stream: Option<&str>,
    now: UtcMillis,
) -> anyhow::Result<usize> {
    let key = StateKey::Notes(tenant.clone(), person.clone());
    let notes = store.states(std::slice::from_ref(&key)).await.context("notes")?.pop().unwrap_or_default();
    let mut after = notes.clone();
    let state = lift_returns(&notes, stream, now);
    after.merge(&state);
    if !state.is_empty() {
        store.merge(vec![(key, state)]).await.context("notes")?;
    }
    Ok(list_suppressions(&notes, now).len().saturating_sub(list_suppressions(&after, now).len()))
}
