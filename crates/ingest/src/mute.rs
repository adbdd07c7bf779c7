//! Mutes: a person is no longer told of a kind, an actor, a subject or a thread.

use catalogue::Catalogue;
use model::{Kind, Person, SubjectRef, Tenant, Value, ValueCell, VersionedState, person::mutes};
use source_text::{did_you_mean, list_choices};

use crate::{
    admission_error::{AdmissionError, data_pointer, quote_text, refuse_at},
    config::MUTES_MAX,
    fact_data::{FactData, check_declared},
};

/// That a person muted something, or no longer does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MuteFact {
    pub tenant: Tenant,
    pub person: Person,
    /// The name of the flag that says so.
    pub name: String,
    pub version: i64,
    pub on: bool,
}

impl MuteFact {
    /// The flag as the store keeps it. At one version the one that is set wins, since telling somebody who
    /// did not want it is the worse mistake; that is why its end is a value and no removal.
    pub fn state(&self) -> VersionedState {
        let mut state = VersionedState::default();
        state.set(&self.name, ValueCell { version: self.version, value: Some(Value::Flag(self.on)) });
        state
    }

    /// Whether there is room for it beside those that are stored and those that are about to be. What was
    /// taken back counts too: its row stays, so that an older mute does not come back.
    pub fn check_room(
        &self,
        stored: Option<&VersionedState>,
        coming: Option<&VersionedState>,
    ) -> Result<(), AdmissionError> {
        let is_stored = |name: &str| stored.is_some_and(|stored| stored.cells.contains_key(name));
        let new = coming.map_or(0, |coming| coming.cells.keys().filter(|name| !is_stored(name)).count());
        let is_coming = coming.is_some_and(|coming| coming.cells.contains_key(self.name.as_str()));
        let there = stored.map_or(0, |stored| stored.cells.len()) + new;
        if is_stored(&self.name) || is_coming || there < MUTES_MAX {
            return Ok(());
        }
        refuse_at(
            "/data",
            format!("this person has {there} mutes, ended ones included, and can have no more"),
        )
    }
}

/// The name of what a fact mutes: exactly one of the four sorts.
pub(crate) fn parse_mute(data: FactData<'_>, catalogue: &Catalogue) -> Result<String, AdmissionError> {
    let known: Vec<&str> = ["person"].into_iter().chain(mutes::SORTS).collect();
    data.check_fields(&known)?;
    let mut given = mutes::SORTS.into_iter().filter(|sort| data.0.get(*sort).is_some_and(|of| !of.is_null()));
    let (Some(sort), None) = (given.next(), given.next()) else {
        return refuse_at("/data", format!("`data` must have exactly one of {}", list_choices(mutes::SORTS)));
    };
    match sort {
        "kind" => {
            let kind = data.parse_name(sort, Kind::new)?;
            check_kind(&kind, catalogue)?;
            Ok(mutes::kind_field(&kind))
        }
        "actor" => Ok(mutes::actor_field(&data.parse_name(sort, Person::new)?)),
        _ => {
            let of = data.parse_name(sort, SubjectRef::new)?;
            check_declared(&of, &data_pointer(sort), catalogue)?;
            Ok(if sort == "subject" { mutes::subject_field(&of) } else { mutes::thread_field(&of) })
        }
    }
}

pub(crate) fn check_kind(kind: &Kind, catalogue: &Catalogue) -> Result<(), AdmissionError> {
    if catalogue.knows_kind(kind) {
        return Ok(());
    }
    let near = did_you_mean(kind.as_str(), catalogue.kinds.keys().map(Kind::as_str));
    let help = near.map(|near| format!(": {near}")).unwrap_or_default();
    refuse_at(data_pointer("kind"), format!("there is no kind `{}`{help}", quote_text(kind.as_str())))
}
