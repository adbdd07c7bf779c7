//! What a person does not want to hear of any more: a kind, what somebody does, a subject or a thread.

use catalogue::{
    Catalogue,
    problem::{did_you_mean, one_of},
};
use model::{Cell, Kind, Person, State, SubjectRef, Tenant, Value, person::mutes};

use crate::{
    admit::{Data, Refused, declared, pointer, quoted, refuse},
    config::MUTES_MAX,
};

/// That a person muted something, or no longer does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mute {
    pub tenant: Tenant,
    pub person: Person,
    /// The name of the flag that says so.
    pub name: String,
    pub version: i64,
    pub on: bool,
}

impl Mute {
    /// The flag as the store keeps it. At one version the one that is set wins, since telling somebody who
    /// did not want it is the worse mistake; that is why its end is a value and no removal.
    pub fn state(&self) -> State {
        let mut state = State::default();
        state.set(&self.name, Cell { version: self.version, value: Some(Value::Flag(self.on)) });
        state
    }

    /// Whether there is room for it beside those that are stored and those that are about to be. What was
    /// taken back counts too: its row stays, so that an older mute does not come back.
    pub fn fits(&self, stored: Option<&State>, coming: Option<&State>) -> Result<(), Refused> {
        let is_stored = |name: &str| stored.is_some_and(|stored| stored.cells.contains_key(name));
        let new = coming.map_or(0, |coming| coming.cells.keys().filter(|name| !is_stored(name)).count());
        let is_coming = coming.is_some_and(|coming| coming.cells.contains_key(self.name.as_str()));
        let there = stored.map_or(0, |stored| stored.cells.len()) + new;
        if is_stored(&self.name) || is_coming || there < MUTES_MAX {
            return Ok(());
        }
        refuse("/data", format!("this person has {there} mutes, ended ones included, and no more are kept"))
    }
}

/// The name of what a fact mutes: exactly one of the four sorts.
pub(crate) fn name(data: Data<'_>, catalogue: &Catalogue) -> Result<String, Refused> {
    let known: Vec<&str> = ["person"].into_iter().chain(mutes::SORTS).collect();
    data.only(&known)?;
    let mut given = mutes::SORTS.into_iter().filter(|sort| data.0.get(*sort).is_some_and(|of| !of.is_null()));
    let (Some(sort), None) = (given.next(), given.next()) else {
        return refuse("/data", format!("`data` must have exactly one of {}", one_of(mutes::SORTS)));
    };
    match sort {
        "kind" => {
            let kind = data.named(sort, Kind::new)?;
            is_told(&kind, catalogue)?;
            Ok(mutes::kind(&kind))
        }
        "actor" => Ok(mutes::actor(&data.named(sort, Person::new)?)),
        _ => {
            let of = data.named(sort, SubjectRef::new)?;
            declared(&of, &pointer(sort), catalogue)?;
            Ok(if sort == "subject" { mutes::subject(&of) } else { mutes::thread(&of) })
        }
    }
}

pub(crate) fn is_told(kind: &Kind, catalogue: &Catalogue) -> Result<(), Refused> {
    if catalogue.kinds.contains_key(kind) {
        return Ok(());
    }
    let near = did_you_mean(kind.as_str(), catalogue.kinds.keys().map(Kind::as_str));
    let help = near.map(|near| format!(": {near}")).unwrap_or_default();
    refuse(pointer("kind"), format!("there is no kind `{}`{help}", quoted(kind.as_str())))
}
