//! How many messages the entries of a week would have made.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Channel, Kind, UtcMillis,
    civil_time::{self, Zone, ZoneRules},
    person::profile,
    plan::{CloseRule, KeyPart, Plan, ZoneRule},
};
use preferences::PreferenceChoice;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{PlanCadence, ReaderState, reader_state::SheetTopic};

/// An entry of a person's days.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WeekEntry {
    pub at: UtcMillis,
    /// The kinds by which it is for the person.
    pub kinds: BTreeSet<Kind>,
    pub subject: String,
}

/// What one plan would have told.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WeekForecast {
    pub channel: String,
    pub plan: String,
    pub cadence: PlanCadence,
    pub entries: usize,
    pub messages: usize,
}

/// The messages of each plan, as the preferences are, if nobody had seen anything before and nothing had held a message
/// back. What follows another plan is not counted: it tells what nobody came for.
pub fn forecast_week(
    reader: &ReaderState<'_>,
    entries: &[WeekEntry],
    zones: &ZoneRules,
) -> Vec<WeekForecast> {
    let topics = reader.topics();
    let topic_of = |kind: &Kind| topics.iter().find(|(_, kinds)| kinds.iter().any(|one| one.name == *kind));
    let mut told: BTreeMap<(Channel, &str), (&Plan, Vec<&WeekEntry>)> = BTreeMap::new();
    for entry in entries {
        let mut channels = BTreeSet::new();
        for (topic, kinds) in entry.kinds.iter().filter_map(topic_of) {
            for (channel, plan) in plans_of_topic(reader, topic, kinds, entry) {
                if channels.insert(channel) {
                    told.entry((channel, plan.name.as_str())).or_insert((plan, Vec::new())).1.push(entry);
                }
            }
        }
    }
    let own = zones.get_or_utc(reader.profile.text(profile::ZONE));
    let counted = told.into_iter().map(|((channel, name), (plan, entries))| WeekForecast {
        channel: channel.name().to_owned(),
        plan: name.to_owned(),
        cadence: PlanCadence::of_plan(plan),
        entries: entries.len(),
        messages: count_messages(plan, &entries, &zone_of(plan, &own, zones)),
    });
    counted.collect()
}

/// By which plans an entry is told for one topic.
fn plans_of_topic<'a>(
    reader: &ReaderState<'a>,
    topic: &SheetTopic,
    kinds: &[&catalogue::KindDef],
    entry: &WeekEntry,
) -> Vec<(Channel, &'a Plan)> {
    let mut found = Vec::new();
    for channel in reader.channels_of(kinds) {
        let (choice, _) = reader.choice_of_topic(topic, kinds, channel.into());
        if choice == PreferenceChoice::Off || reader.profile.flag(channel.off()) {
            continue;
        }
        let own = kinds.iter().filter(|kind| entry.kinds.contains(&kind.name));
        let mut plans = own.flat_map(|kind| reader.plans_of(kind, choice));
        found.extend(
            plans.find(|plan| plan.channel == channel && plan.follows.is_none()).map(|plan| (channel, plan)),
        );
    }
    found
}

fn zone_of(plan: &Plan, own: &Zone, zones: &ZoneRules) -> Zone {
    match &plan.close {
        CloseRule::Calendar { zone: ZoneRule::Fixed(name), .. } => zones.get_or_utc(Some(name)),
        _ => own.clone(),
    }
}

/// How many windows these open, each under its key.
fn count_messages(plan: &Plan, entries: &[&WeekEntry], zone: &Zone) -> usize {
    let mut by_key: BTreeMap<(String, String), Vec<UtcMillis>> = BTreeMap::new();
    for entry in entries {
        let kind =
            plan.key.contains(&KeyPart::Kind).then(|| entry.kinds.first().map(Kind::to_string)).flatten();
        let subject = plan.key.contains(&KeyPart::Subject).then(|| entry.subject.clone());
        by_key.entry((kind.unwrap_or_default(), subject.unwrap_or_default())).or_default().push(entry.at);
    }
    by_key.into_values().map(|instants| count_windows(plan, instants, zone)).sum()
}

fn count_windows(plan: &Plan, mut instants: Vec<UtcMillis>, zone: &Zone) -> usize {
    instants.sort_unstable();
    let mut open: Option<(UtcMillis, UtcMillis)> = None;
    let mut windows = 0;
    for at in instants {
        let opening = match open {
            Some((opening, due)) if at < due => opening,
            _ => {
                windows += 1;
                at
            }
        };
        let due = match &plan.close {
            CloseRule::Calendar { dates, times, .. } => {
                civil_time::next_closing(opening, None, (dates, times), zone).1
            }
            CloseRule::After { ms } | CloseRule::Away { ms } => opening.plus(*ms),
            CloseRule::Silence { ms, most_ms } => at.plus(*ms).min(opening.plus(*most_ms)),
            CloseRule::Before { .. } => opening,
        };
        open = Some((opening, due));
    }
    windows
}
