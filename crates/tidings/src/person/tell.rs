//! Says what is known of a person, and nothing by which others could reach them.

use std::{cmp::Reverse, ops::Range};

use catalogue::{Catalogue, PROFILE_FIELDS};
use model::{
    Millis, Person, State, SubjectRef, Value,
    civil::Zones,
    device,
    hook::Hook,
    person::{PersonRecord, Waiting, notes, profile},
};

use super::{
    Again, Coming, Device, Erased, Follow, Follows, Got, MUTES_LISTED, Message, Mute, Mutes, Seen, Stated,
    Whole,
    gather::{Gathered, Told},
};
use crate::{
    days,
    http::look,
    open::{self, Deed, OneWindow},
};

/// A version that is no instant of these years is a source's own count.
const INSTANTS: Range<i64> = 946_684_800_000..4_102_444_800_000;
/// Characters of a token that are shown, of one that has so many.
const TOKEN_END: usize = 4;
const TOKEN_CHARS_MIN: usize = 20;

/// All that is said.
pub fn tell(
    person: &Person,
    gathered: &Gathered,
    (zones, catalogue): (&Zones, Option<&Catalogue>),
    now: Millis,
) -> Whole {
    let Gathered { known, suppressed, .. } = gathered;
    let record = known.record.as_ref();
    let stated = known.profile.text(profile::ZONE).filter(|name| zones.get(name).is_some());
    Whole {
        person: person.to_string(),
        at: now.to_string(),
        zone: stated.unwrap_or("UTC").to_owned(),
        unknown: gathered.unknown.clone(),
        profile: profile_of(&known.profile),
        erased: erased(&known.notes),
        suppressions: suppressed.suppressions.iter().filter(|one| one.holds).cloned().collect(),
        follows: follows(gathered),
        mutes: muted(gathered),
        devices: devices(&known.profile),
        seen: record.map(seen).unwrap_or_default(),
        coming: record.map(|record| coming(record, gathered, catalogue, now)).unwrap_or_default(),
        again: record.map(|record| record.waiting.iter().map(again).collect()).unwrap_or_default(),
        got: gathered.told.iter().map(|told| got(told, gathered)).collect(),
        days: gathered.days.clone(),
    }
}

/// The version of a word, if it is an instant.
pub(super) fn since(version: i64) -> Option<String> {
    INSTANTS.contains(&version).then(|| Millis(version).to_string())
}

fn profile_of(known: &State) -> Vec<Stated> {
    let line = |field: &&str| {
        let value = known.get(field)?.to_string();
        let value = match *field {
            profile::EMAIL => look::masked(&value),
            field if Hook::parse(field).is_some() => masked_url(&value),
            _ => value,
        };
        Some(Stated { field: (*field).to_owned(), value })
    };
    PROFILE_FIELDS.iter().filter_map(line).collect()
}

/// Where an address leads, without what lets one in there.
pub(super) fn masked_url(address: &str) -> String {
    let host = address.split_once("://").and_then(|(scheme, rest)| {
        let host = rest.split(['/', '?', '#']).next()?.rsplit('@').next()?;
        Some(format!("{scheme}://{host}/\u{2026}"))
    });
    host.unwrap_or_else(|| "\u{2026}".to_owned())
}

fn erased(known: &State) -> Option<Erased> {
    let asked = notes::last_erased(known).map(|at| at.to_string());
    let state = match (known.flag(notes::ERASED), notes::is_being_erased(known)) {
        (true, true) => "running",
        (true, false) => "erased",
        (false, _) => "welcome",
    };
    (known.flag(notes::ERASED) || asked.is_some()).then(|| Erased { state: state.to_owned(), asked })
}

fn follows(gathered: &Gathered) -> Follows {
    let one = |(subject, version): &(SubjectRef, i64)| Follow {
        subject: subject.to_string(),
        name: gathered.names.get(subject.as_str()).cloned(),
        since: since(*version),
    };
    let newest = gathered.follows.iter().map(one).collect();
    Follows { newest, count: gathered.followed, is_cut: gathered.is_cut }
}

/// The mutes that hold, the newest first. One that has ended is still there, as a flag that is down.
pub(super) fn mutes(known: &State) -> Vec<(&str, i64)> {
    let holding = known.cells.iter().filter(|(_, cell)| cell.value == Some(Value::Flag(true)));
    let mut all: Vec<(&str, i64)> = holding.map(|(name, cell)| (&**name, cell.version)).collect();
    all.sort_by_key(|(name, version)| (Reverse(*version), *name));
    all
}

/// The sort of a mute, and what it is of.
pub(super) fn split(name: &str) -> (&str, &str) {
    name.split_once(' ').unwrap_or(("", name))
}

fn muted(gathered: &Gathered) -> Mutes {
    let all = mutes(&gathered.known.mutes);
    let one = |(name, version): &(&str, i64)| {
        let (sort, of) = split(name);
        let name = gathered.names.get(of).filter(|_| ["subject", "thread"].contains(&sort));
        Mute { sort: sort.to_owned(), of: of.to_owned(), name: name.cloned(), since: since(*version) }
    };
    Mutes { newest: all.iter().take(MUTES_LISTED).map(one).collect(), count: all.len() }
}

fn devices(known: &State) -> Vec<Device> {
    let one = |found: device::Device| {
        let version = known.cells.get(device::field(&found.id).as_str()).map_or(0, |cell| cell.version);
        let (platform, token) = (found.platform.name().to_owned(), token(&found.token));
        Device { device: found.id, platform, token, since: since(version) }
    };
    device::of(known).into_iter().map(one).collect()
}

/// The end of a token tells two devices apart, and nobody can use it.
pub(super) fn token(whole: &str) -> String {
    let many = whole.chars().count();
    let hidden = if many < TOKEN_CHARS_MIN { many } else { many - TOKEN_END };
    std::iter::once('\u{2026}').chain(whole.chars().skip(hidden)).collect()
}

fn seen(record: &PersonRecord) -> Vec<Seen> {
    let mut seen: Vec<_> = record.seen.iter().collect();
    seen.sort_by_key(|(_, at)| Reverse(**at));
    seen.into_iter().map(|(surface, at)| Seen { surface: surface.to_string(), at: at.to_string() }).collect()
}

fn coming(
    record: &PersonRecord,
    gathered: &Gathered,
    catalogue: Option<&Catalogue>,
    now: Millis,
) -> Vec<Coming> {
    let plans = catalogue.map(|catalogue| &catalogue.plans);
    let one = |window: OneWindow| {
        let plan =
            plans.and_then(|plans| plans.by_name.values().find(|plan| plan.name.as_str() == window.plan));
        let channel = plan.map(|plan| plan.channel.to_string());
        Coming { channel, message: message(&window, gathered), window }
    };
    open::of(record, now, plans).into_iter().map(one).collect()
}

/// What a window would tell now; one that has more than a message has room for makes several.
fn message(window: &OneWindow, gathered: &Gathered) -> Option<Message> {
    let is_own = |plan: &str, key: &str| plan == window.plan && key == window.key;
    let own = gathered.coming.iter().filter(|(ready, _)| is_own(ready.plan.as_str(), &ready.key));
    let own: Vec<_> = own.filter(|_| window.act != Some(Deed::Cancel)).collect();
    let (_, first) = own.first()?;
    let entries = own.iter().map(|(ready, _)| ready.entries.len()).sum();
    Some(Message { headline: first.headline.clone(), entries, remarks: first.remarks.clone() })
}

fn again(waiting: &Waiting) -> Again {
    let Waiting { at, ready } = waiting;
    let (plan, channel) = (ready.plan.to_string(), ready.channel.to_string());
    Again { plan, channel, entries: ready.entries.len(), at: at.to_string() }
}

fn got(told: &Told, gathered: &Gathered) -> Got {
    let (outcome, at) = days::said(&told.journalled);
    let subject = told.subject.as_str();
    Got {
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
