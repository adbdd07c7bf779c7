//! What a person sees of their preferences.

use model::{Channel, PlanName, person::profile, plan::Plan};
use preferences::{PreferenceChoice, ReadingPlace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    PlanCadence, ReaderState,
    reader_state::SheetTopic,
    thing_line::{ThingLine, list_things},
};

/// The preferences of a person.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PreferenceSheet {
    /// The language that the person stated.
    pub language: Option<String>,
    /// The one in which they are told.
    pub spoken: String,
    /// Those in which the catalogue tells.
    pub languages: Vec<String>,
    /// The person's time zone, which `hour` and `quiet` are read in; UTC if there is none.
    pub zone: Option<String>,
    /// The full hour at which daily and rarer messages come, where their plan goes by the person's zone.
    pub hour: Option<String>,
    /// The hours in which nothing but urgent messages comes.
    pub quiet: Option<String>,
    /// The date until which nothing but urgent messages comes.
    pub quiet_until: Option<String>,
    pub channels: Vec<ChannelLine>,
    pub topics: Vec<TopicLine>,
    /// Single things that the person wants to be told of. What was said last comes first.
    pub subscriptions: Vec<ThingLine>,
    /// Single things that the person wants to hear nothing of. What was said last comes first.
    pub mutes: Vec<ThingLine>,
}

/// A channel as a whole.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ChannelLine {
    pub channel: String,
    /// Whether the person wants nothing at all on it.
    pub off: bool,
    /// The plan that the person chose of `plans`.
    pub plan: Option<String>,
    /// The plans among which there is a choice, in the catalogue's order.
    pub plans: Vec<SheetPlan>,
}

/// A plan that somebody can choose.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SheetPlan {
    pub plan: String,
    pub title: String,
    pub cadence: PlanCadence,
}

/// A category, or a kind that stands by itself: exactly one of the two is there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TopicLine {
    pub category: Option<String>,
    pub kind: Option<String>,
    /// What the person calls it.
    pub title: String,
    /// The kinds that it is about.
    pub kinds: Vec<String>,
    /// It is told whatever people choose, so that there is nothing to choose.
    pub critical: bool,
    pub channels: Vec<ChoiceCell>,
}

/// How a topic is told on a channel, or in the feed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ChoiceCell {
    /// A channel, or `feed`.
    pub channel: String,
    /// `on`, `digest` or `off`.
    pub choice: String,
    /// Whether the person said so; else it is what the catalogue has for everybody, and of the feed what is on for some channel.
    pub chosen: bool,
    /// What can be chosen.
    pub offers: Vec<ChoiceOffer>,
}

/// A choice, and what it comes to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ChoiceOffer {
    pub choice: String,
    /// By which plans the topic would be told; by none if it is off.
    pub plans: Vec<String>,
    /// The quickest of them; of a digest the quickest of those that gather.
    pub cadence: Option<PlanCadence>,
}

impl PreferenceSheet {
    /// The sheet of a person of whom this is known.
    pub fn read(reader: &ReaderState<'_>) -> Self {
        let text = |field: &str| reader.profile.text(field).map(str::to_owned);
        let languages = reader.catalogue.spoken_languages();
        let channels = Channel::ALL.into_iter().filter_map(|channel| read_channel(reader, channel));
        let topics = reader.topics().into_iter();
        let (subscriptions, mutes) = list_things(reader);
        Self {
            language: text(profile::LANGUAGE),
            spoken: reader.catalogue.language_for(reader.profile.text(profile::LANGUAGE)).tag().to_owned(),
            languages: languages.iter().map(|language| language.tag().to_owned()).collect(),
            zone: text(profile::ZONE),
            hour: text(profile::HOUR),
            quiet: text(profile::QUIET),
            quiet_until: text(profile::QUIET_UNTIL),
            channels: channels.collect(),
            topics: topics.map(|(topic, kinds)| read_topic(reader, &topic, &kinds)).collect(),
            subscriptions,
            mutes,
        }
    }

    /// What the person said of one thing, by the field that speaks of it for all channels.
    pub fn thing(&self, field: &str) -> Option<&ThingLine> {
        self.subscriptions.iter().chain(&self.mutes).find(|thing| thing.field() == field)
    }

    /// The cell of a topic on a channel.
    pub fn cell(&self, (category, kind): (Option<&str>, Option<&str>), channel: &str) -> Option<&ChoiceCell> {
        let is_meant =
            |line: &&TopicLine| line.category.as_deref() == category && line.kind.as_deref() == kind;
        self.topics.iter().find(is_meant)?.channels.iter().find(|cell| cell.channel == channel)
    }
}

/// The plans of a channel that are alternatives of each other.
pub(crate) fn list_choosable_plans<'a>(reader: &ReaderState<'a>, channel: Channel) -> Vec<&'a Plan> {
    let plans = reader.catalogue.plans.by_name.values().filter(|plan| plan.channel == channel);
    plans.filter(|plan| !reader.catalogue.alternatives(&plan.name).is_empty()).collect()
}

fn read_channel(reader: &ReaderState<'_>, channel: Channel) -> Option<ChannelLine> {
    let is_used = reader.channels_of(&reader.catalogue.kinds.values().collect::<Vec<_>>()).contains(&channel);
    let plan = |plan: &&Plan| SheetPlan {
        plan: plan.name.as_str().to_owned(),
        title: reader.catalogue.title_of(&plan.name),
        cadence: PlanCadence::of_plan(plan),
    };
    let plans = list_choosable_plans(reader, channel);
    let stated = reader.profile.text(channel.plan());
    let chosen = plans.iter().find(|plan| stated == Some(plan.name.as_str()));
    is_used.then(|| ChannelLine {
        channel: channel.name().to_owned(),
        off: reader.profile.flag(channel.off()),
        plan: chosen.map(|plan| plan.name.as_str().to_owned()),
        plans: plans.iter().map(plan).collect(),
    })
}

fn read_topic(reader: &ReaderState<'_>, topic: &SheetTopic, kinds: &[&catalogue::KindDef]) -> TopicLine {
    let (category, kind) = match topic {
        SheetTopic::Category(name) => (Some(name.clone()), None),
        SheetTopic::Kind(kind) => (None, Some(kind.as_str().to_owned())),
    };
    let title = match topic {
        SheetTopic::Category(name) => reader.catalogue.title_of_category(name),
        SheetTopic::Kind(kind) => kind.as_str().replace('_', " "),
    };
    let critical = kinds.iter().all(|kind| kind.critical);
    let cell = |place: ReadingPlace| {
        let (choice, chosen) = reader.choice_of_topic(topic, kinds, place);
        let all = PreferenceChoice::ALL.into_iter();
        let offered =
            all.filter(|one| *one == choice || (!critical && is_offered(reader, kinds, place, *one)));
        let offers = offered.map(|one| read_offer(reader, kinds, place, one)).collect();
        ChoiceCell { channel: place.name().to_owned(), choice: choice.name().to_owned(), chosen, offers }
    };
    TopicLine {
        category,
        kind,
        title,
        kinds: kinds.iter().map(|kind| kind.name.as_str().to_owned()).collect(),
        critical,
        channels: reader.places_of(kinds).into_iter().map(cell).collect(),
    }
}

/// Whether a choice comes to something else than the others: a digest does where a plan beside it does not gather.
fn is_offered(
    reader: &ReaderState<'_>,
    kinds: &[&catalogue::KindDef],
    place: ReadingPlace,
    choice: PreferenceChoice,
) -> bool {
    let has = |kind: &&catalogue::KindDef, gathers: bool| {
        let mut plans =
            kind.offered_plans(&reader.catalogue.plans).filter(|plan| place == plan.channel.into());
        plans.any(|plan| plan.gathers() == gathers)
    };
    choice != PreferenceChoice::Digest || kinds.iter().any(|kind| has(kind, true) && has(kind, false))
}

fn read_offer(
    reader: &ReaderState<'_>,
    kinds: &[&catalogue::KindDef],
    place: ReadingPlace,
    choice: PreferenceChoice,
) -> ChoiceOffer {
    let plans_of = |kind: &&catalogue::KindDef| reader.plans_of(kind, choice);
    let told = |plan: &&Plan| place == plan.channel.into() && choice != PreferenceChoice::Off;
    let mut plans: Vec<&Plan> = kinds.iter().flat_map(plans_of).filter(told).collect();
    plans.sort_by_key(|plan| (PlanCadence::of_plan(plan), plan.name.clone()));
    plans.dedup_by_key(|plan| plan.name.clone());
    let names: Vec<&PlanName> = plans.iter().map(|plan| &plan.name).collect();
    // A kind that has no plan that gathers is told as before, beside those that have one. They are what is chosen.
    let gathers = |plan: &&&Plan| choice == PreferenceChoice::Digest && plan.gathers();
    let quickest = plans.iter().find(gathers).or(plans.first());
    ChoiceOffer {
        choice: choice.name().to_owned(),
        plans: names.into_iter().map(|name| name.as_str().to_owned()).collect(),
        cadence: match place {
            ReadingPlace::Feed => (choice == PreferenceChoice::On).then_some(PlanCadence::AtOnce),
            ReadingPlace::Channel(_) => quickest.map(|plan| PlanCadence::of_plan(plan)),
        },
    }
}
