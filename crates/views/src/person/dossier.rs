//! Says what is known of a person, and nothing by which others could reach them.

use std::{cmp::Reverse, ops::Range};

use ::preferences::PreferenceField;
use catalogue::{Catalogue, PROFILE_FIELDS};
use model::{
    Person, PlanName, SubjectRef, UtcMillis, VersionedState,
    civil_time::ZoneRules,
    device,
    hook::Hook,
    person::{DeferredReady, PersonRecord, notes, profile},
};

use super::{
    DossierDevice, DossierErasure, DossierField, DossierFollow, DossierFollows, DossierMessage,
    DossierPreference, DossierPreferences, DossierPreview, DossierRetry, DossierSighting, DossierWindow,
    PREFERENCES_LISTED, PersonDossier,
    load::{DossierFacts, TellingMessage},
    preferences::{StandingPreference, list_standing},
};
use crate::{
    days, display,
    open_windows::{self, OpenWindow, WindowAction},
};

/// A version that is no instant of these years is a source's own count.
const INSTANTS: Range<i64> = 946_684_800_000..4_102_444_800_000;
/// Characters of a token that are shown, of one that has so many.
const TOKEN_END: usize = 4;
const TOKEN_CHARS_MIN: usize = 20;

/// All that is said.
pub fn build_dossier(
    person: &Person,
    gathered: &DossierFacts,
    (zones, catalogue): (&ZoneRules, Option<&Catalogue>),
    now: UtcMillis,
) -> PersonDossier {
    let DossierFacts { known, suppressed, .. } = gathered;
    let arm = catalogue.filter(|catalogue| catalogue.canary.is_some()).map(|of| of.arm_of(person).name());
    let catalogue = catalogue.map(|catalogue| catalogue.for_person(person));
    let record = known.record.as_ref();
    let stated = known.profile.text(profile::ZONE).filter(|name| zones.get(name).is_some());
    PersonDossier {
        person: person.to_string(),
        at: now.to_string(),
        zone: stated.unwrap_or("UTC").to_owned(),
        catalogue: arm.map(str::to_owned),
        unknown: gathered.unknown.clone(),
        profile: profile_of(&known.profile),
        erased: describe_erasure(&known.notes),
        suppressions: suppressed.suppressions.iter().filter(|one| one.holds).cloned().collect(),
        follows: follows(gathered),
        preferences: list_preferences(gathered),
        devices: devices(&known.profile),
        seen: record.map(list_sightings).unwrap_or_default(),
        coming: record.map(|record| list_windows(record, gathered, catalogue, now)).unwrap_or_default(),
        again: record.map(|record| record.waiting.iter().map(describe_retry).collect()).unwrap_or_default(),
        got: gathered.told.iter().map(|told| describe_message(told, gathered)).collect(),
        days: gathered.days.clone(),
    }
}

/// The version of a word, if it is an instant.
pub(super) fn format_version(version: i64) -> Option<String> {
    INSTANTS.contains(&version).then(|| UtcMillis(version).to_string())
}

fn profile_of(known: &VersionedState) -> Vec<DossierField> {
    let line = |field: &&str| {
        let value = known.get(field)?.to_string();
        let value = match *field {
            profile::EMAIL => display::mask_address(&value),
            field if Hook::parse(field).is_some() => mask_url(&value),
            _ => value,
        };
        Some(DossierField { field: (*field).to_owned(), value })
    };
    // Of an address there is the place, which comes with its mark.
    let kept = |field| if field == profile::IP_ADDRESS { profile::PLACE_BY_ADDRESS } else { field };
    PROFILE_FIELDS.map(kept).iter().filter_map(line).collect()
}

/// Where an address leads, without what lets one in there.
pub(super) fn mask_url(address: &str) -> String {
    let host = address.split_once("://").and_then(|(scheme, rest)| {
        let host = rest.split(['/', '?', '#']).next()?.rsplit('@').next()?;
        Some(format!("{scheme}://{host}/\u{2026}"))
    });
    host.unwrap_or_else(|| "\u{2026}".to_owned())
}

fn describe_erasure(known: &VersionedState) -> Option<DossierErasure> {
    let asked = notes::last_erased(known).map(|at| at.to_string());
    let state = match (known.flag(notes::ERASED), notes::is_being_erased(known)) {
        (true, true) => "running",
        (true, false) => "erased",
        (false, _) => "welcome",
    };
    (known.flag(notes::ERASED) || asked.is_some()).then(|| DossierErasure { state: state.to_owned(), asked })
}

fn follows(gathered: &DossierFacts) -> DossierFollows {
    let one = |(subject, version): &(SubjectRef, i64)| DossierFollow {
        subject: subject.to_string(),
        name: gathered.names.get(subject.as_str()).cloned(),
        since: format_version(*version),
    };
    let newest = gathered.follows.iter().map(one).collect();
    DossierFollows { newest, count: gathered.followed, is_cut: gathered.is_cut }
}

fn list_preferences(gathered: &DossierFacts) -> DossierPreferences {
    let all = list_standing(&gathered.known.preferences);
    let one = |one: &StandingPreference<'_>| {
        let PreferenceField { place, sort, of } = one.field;
        let name = gathered.names.get(of).filter(|_| ["subject", "thread"].contains(&sort));
        DossierPreference {
            choice: one.choice.name().to_owned(),
            channel: place.map(ToOwned::to_owned),
            sort: sort.to_owned(),
            of: of.to_owned(),
            name: name.cloned(),
            since: format_version(one.version),
        }
    };
    DossierPreferences { newest: all.iter().take(PREFERENCES_LISTED).map(one).collect(), count: all.len() }
}

fn devices(known: &VersionedState) -> Vec<DossierDevice> {
    let one = |found: device::PushDevice| {
        let version =
            known.cells.get(device::device_field(&found.id).as_str()).map_or(0, |cell| cell.version);
        let (platform, token) = (found.platform.name().to_owned(), token(&found.token));
        DossierDevice { device: found.id, platform, token, since: format_version(version) }
    };
    device::read_devices(known).into_iter().map(one).collect()
}

/// The end of a token tells two devices apart, and nobody can use it.
pub(super) fn token(whole: &str) -> String {
    let many = whole.chars().count();
    let hidden = if many < TOKEN_CHARS_MIN { many } else { many - TOKEN_END };
    std::iter::once('\u{2026}').chain(whole.chars().skip(hidden)).collect()
}

fn list_sightings(record: &PersonRecord) -> Vec<DossierSighting> {
    let mut seen: Vec<_> = record.seen.iter().collect();
    seen.sort_by_key(|(_, at)| Reverse(**at));
    seen.into_iter()
        .map(|(surface, at)| DossierSighting { surface: surface.to_string(), at: at.to_string() })
        .collect()
}

fn list_windows(
    record: &PersonRecord,
    gathered: &DossierFacts,
    catalogue: Option<&Catalogue>,
    now: UtcMillis,
) -> Vec<DossierWindow> {
    let plans = catalogue.map(|catalogue| &catalogue.plans);
    let one = |window: OpenWindow| {
        let plan =
            plans.and_then(|plans| plans.by_name.values().find(|plan| plan.name.as_str() == window.plan));
        let channel = plan.map(|plan| plan.channel.to_string());
        DossierWindow { channel, message: message(&window, gathered), window }
    };
    let is_paused = |plan: &PlanName| gathered.paused.contains(plan);
    open_windows::list_open_windows(record, is_paused, now, plans).into_iter().map(one).collect()
}

/// What a window would tell now; one that has more than a message has room for makes several.
fn message(window: &OpenWindow, gathered: &DossierFacts) -> Option<DossierPreview> {
    let is_own = |plan: &str, key: &str| plan == window.plan && key == window.key;
    let own = gathered.coming.iter().filter(|(ready, _)| is_own(ready.plan.as_str(), &ready.key));
    let own: Vec<_> = own.filter(|_| window.act != Some(WindowAction::Cancel)).collect();
    let (_, first) = own.first()?;
    let entries = own.iter().map(|(ready, _)| ready.entries.len()).sum();
    Some(DossierPreview { headline: first.headline.clone(), entries, remarks: first.remarks.clone() })
}

fn describe_retry(waiting: &DeferredReady) -> DossierRetry {
    let DeferredReady { at, ready } = waiting;
    let (plan, channel) = (ready.plan.to_string(), ready.channel.to_string());
    DossierRetry { plan, channel, entries: ready.entries.len(), at: at.to_string() }
}

fn describe_message(told: &TellingMessage, gathered: &DossierFacts) -> DossierMessage {
    let (outcome, at) = days::describe_journal(&told.journalled);
    let subject = told.subject.as_str();
    DossierMessage {
        ready: told.ready.to_string(),
        channel: told.channel.to_string(),
        plan: told.slip.as_ref().map(|slip| slip.plan.to_string()),
        headline: told.mail.as_ref().map(|(_, headline)| headline.clone()).filter(|text| !text.is_empty()),
        about: gathered.names.get(subject).cloned().unwrap_or_else(|| subject.to_owned()),
        entries: told.entries,
        outcome: outcome.unwrap_or_default(),
        at,
        mail: told.mail.as_ref().map(|(id, _)| id.clone()),
    }
}
