//! Preferences: how a person wants to be told of a kind, a category, a subject, a thread, what somebody does, or everything, in
//! one place or all. A mute is the preference to hear nothing. Who chose to be told of a subject belongs to its crowd of
//! subscribers.

use catalogue::Catalogue;
use model::{Crowd, CrowdEnrolment, Kind, Person, SubjectRef, Tenant, ValueCell, VersionedState};
use preferences::{PreferenceChoice, PreferenceField, PreferenceScope, ReadingPlace};
use room::catalogue_names::{find_category, find_kind};
use source_text::{list_choices, quote_text, suggest_name};

use crate::{
    admission_error::{AdmissionError, data_pointer, refuse_at},
    config::PREFERENCES_MAX,
    fact_data::{FactData, check_declared},
};

/// The word by which a choice is taken back.
const UNSET: &str = "default";

/// How a person wants to be told of something, or that they no longer say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PreferenceFact {
    pub tenant: Tenant,
    pub person: Person,
    /// The field that says so.
    pub name: String,
    pub version: i64,
    pub choice: Option<PreferenceChoice>,
    /// The crowd of subscribers that they belong to by it, and whether they do.
    pub crowd: Option<(SubjectRef, bool)>,
}

impl PreferenceFact {
    /// The field as the store keeps it.
    pub fn state(&self) -> VersionedState {
        let (mut state, value) = (VersionedState::default(), Some(PreferenceChoice::to_value(self.choice)));
        state.set(&self.name, ValueCell { version: self.version, value });
        state
    }

    /// What it changes of a crowd.
    pub fn enrolment(&self) -> Option<CrowdEnrolment> {
        let (target, on) = self.crowd.clone()?;
        let (tenant, person, version) = (self.tenant.clone(), self.person.clone(), self.version);
        Some(CrowdEnrolment { tenant, person, crowd: Crowd::Followers(target), version, on })
    }

    /// Whether there is room for it beside those that are stored and those that are about to be. What was
    /// taken back counts too: its row stays, so that an older word does not come back.
    pub fn check_room(
        &self,
        stored: Option<&VersionedState>,
        coming: Option<&VersionedState>,
    ) -> Result<(), AdmissionError> {
        let is_stored = |name: &str| stored.is_some_and(|stored| stored.cells.contains_key(name));
        let new = coming.map_or(0, |coming| coming.cells.keys().filter(|name| !is_stored(name)).count());
        let is_coming = coming.is_some_and(|coming| coming.cells.contains_key(self.name.as_str()));
        let there = stored.map_or(0, |stored| stored.cells.len()) + new;
        // Whoever has chosen for so many things can still turn off a kind, or everything: of those there are few.
        let of_kinds = [preferences::KIND, preferences::CATEGORY, preferences::ALL];
        let is_of_kinds = of_kinds.contains(&PreferenceField::parse(&self.name).sort);
        let most = if is_of_kinds { 2 * PREFERENCES_MAX } else { PREFERENCES_MAX };
        if is_stored(&self.name) || is_coming || there < most {
            return Ok(());
        }
        refuse_at(
            "/data",
            format!(
                "this person has {there} mutes and other preferences, ended ones included, and can have no more"
            ),
        )
    }
}

/// What a fact says of a preference.
pub(crate) struct StatedPreference {
    pub name: String,
    pub choice: Option<PreferenceChoice>,
    pub crowd: Option<(SubjectRef, bool)>,
}

/// What a fact mutes: exactly one of the four sorts; or that it is muted no longer.
pub(crate) fn parse_mute(
    data: FactData<'_>,
    is_muted: bool,
    catalogue: &Catalogue,
) -> Result<StatedPreference, AdmissionError> {
    let known: Vec<&str> = ["person"].into_iter().chain(preferences::MUTABLE).collect();
    data.check_fields(&known)?;
    let mut given = list_given(data, &preferences::MUTABLE).into_iter();
    let (Some(sort), None) = (given.next(), given.next()) else {
        return refuse_at(
            "/data",
            format!("`data` must have exactly one of {}", list_choices(preferences::MUTABLE)),
        );
    };
    parse_scope(data, &[sort], None, is_muted.then_some(PreferenceChoice::Off), catalogue)
}

/// A choice of a person: of one thing, of a kind about a subject, or of everything.
pub(crate) fn parse_preference(
    data: FactData<'_>,
    catalogue: &Catalogue,
) -> Result<StatedPreference, AdmissionError> {
    let sorts = [&preferences::MUTABLE[..], &[preferences::CATEGORY]].concat();
    let known = [&["person", "choice", "channel"][..], &sorts, &[preferences::ALL]].concat();
    data.check_fields(&known)?;
    let text = data.text("choice")?;
    let choice = PreferenceChoice::parse(text);
    if choice.is_none() && text != UNSET {
        let known = PreferenceChoice::ALL.map(PreferenceChoice::name).into_iter().chain([UNSET]);
        let help = list_choices(known);
        return refuse_at("/data/choice", format!("`choice` is `{}`, not {help}", quote_text(text)));
    }
    let place = if is_given(data, "channel") { Some(parse_place(data)?) } else { None };
    if place == Some(ReadingPlace::Feed) && choice == Some(PreferenceChoice::Digest) {
        return refuse_at("/data/choice", "a feed has no digest: choose `on`, `off` or `default`".to_owned());
    }
    let given = list_given(data, &sorts);
    // What a slip leaves out must not be everything.
    let is_all = data.0.get(preferences::ALL).is_some_and(|all| *all == true);
    if is_all != given.is_empty() {
        let what = "a preference is about one thing, or a kind and a subject, or about everything with `\"all\": true`";
        return refuse_at("/data", what.to_owned());
    }
    parse_scope(data, &given, place, choice, catalogue)
}

/// The fields of these that stand in the data.
fn list_given<'s>(data: FactData<'_>, sorts: &[&'s str]) -> Vec<&'s str> {
    sorts.iter().copied().filter(|sort| is_given(data, sort)).collect()
}

fn is_given(data: FactData<'_>, field: &str) -> bool {
    data.0.get(field).is_some_and(|of| !of.is_null())
}

fn parse_place(data: FactData<'_>) -> Result<ReadingPlace, AdmissionError> {
    let text = data.text("channel")?;
    let Some(place) = ReadingPlace::parse(text) else {
        let help = suggest_name(text, ReadingPlace::ALL.map(ReadingPlace::name));
        return refuse_at("/data/channel", format!("there is no channel `{}`: {help}", quote_text(text)));
    };
    Ok(place)
}

fn parse_scope(
    data: FactData<'_>,
    given: &[&str],
    place: Option<ReadingPlace>,
    choice: Option<PreferenceChoice>,
    catalogue: &Catalogue,
) -> Result<StatedPreference, AdmissionError> {
    let kind = || parse_kind(data, catalogue);
    let thing = |sort: &str| -> Result<SubjectRef, AdmissionError> {
        let of = data.parse_name(sort, SubjectRef::new)?;
        check_declared(&of, &data_pointer(sort), catalogue)?;
        Ok(of)
    };
    let stated =
        |scope: PreferenceScope<'_>, crowd| StatedPreference { name: scope.field(place), choice, crowd };
    Ok(match given {
        [] => stated(PreferenceScope::All, None),
        [preferences::KIND] => stated(PreferenceScope::Kind(&kind()?), None),
        [preferences::ACTOR] => {
            stated(PreferenceScope::Actor(&data.parse_name(preferences::ACTOR, Person::new)?), None)
        }
        [preferences::THREAD] => stated(PreferenceScope::Thread(&thing(preferences::THREAD)?), None),
        [preferences::CATEGORY] => stated(PreferenceScope::Category(&parse_category(data, catalogue)?), None),
        [preferences::SUBJECT] => {
            let of = thing(preferences::SUBJECT)?;
            let crowd = find_crowd(None, &of, place, choice)?;
            stated(PreferenceScope::Subject(&of), crowd)
        }
        [preferences::KIND, preferences::SUBJECT] => {
            let (kind, of) = (kind()?, thing(preferences::SUBJECT)?);
            let crowd = find_crowd(Some(&kind), &of, place, choice)?;
            stated(PreferenceScope::About(&kind, &of), crowd)
        }
        several => {
            return refuse_at(
                "/data",
                format!(
                    "a preference is about one thing, or a kind and a subject, and not about {}",
                    list_all(several)
                ),
            );
        }
    })
}

fn list_all(several: &[&str]) -> String {
    let quoted: Vec<String> = several.iter().map(|sort| format!("`{sort}`")).collect();
    quoted.join(" and ")
}

/// The crowd of a subject's subscribers, and whether the person belongs to it by this choice. Who says something of one place
/// only stays in it, for they may want another one; whoever is told in none is asked at the end.
fn find_crowd(
    kind: Option<&Kind>,
    of: &SubjectRef,
    place: Option<ReadingPlace>,
    choice: Option<PreferenceChoice>,
) -> Result<Option<(SubjectRef, bool)>, AdmissionError> {
    let on = matches!(choice, Some(PreferenceChoice::On | PreferenceChoice::Digest));
    if !on && place.is_some() {
        return Ok(None);
    }
    let target = preferences::subscribers_target(kind, of);
    match target {
        Some(target) => Ok(Some((target, on))),
        None if !on => Ok(None),
        None => refuse_at("/data/subject", "with its kind the subject has more than 127 bytes".to_owned()),
    }
}

fn parse_category(data: FactData<'_>, catalogue: &Catalogue) -> Result<String, AdmissionError> {
    let text = data.text(preferences::CATEGORY)?;
    find_category(text, catalogue).or_else(|reason| refuse_at(data_pointer(preferences::CATEGORY), reason))
}

pub(crate) fn parse_kind(data: FactData<'_>, catalogue: &Catalogue) -> Result<Kind, AdmissionError> {
    let kind = data.parse_name(preferences::KIND, Kind::new)?;
    find_kind(kind.as_str(), catalogue).or_else(|reason| refuse_at(data_pointer(preferences::KIND), reason))
}
