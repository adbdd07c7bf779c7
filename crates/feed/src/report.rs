//! What is answered, in JSON.

use std::collections::{BTreeMap, BTreeSet};

use feed_bundles::{
    BundleName, FeedBundle,
    actors::BundleActors,
    counts::{BundleCounts, CappedCount, FeedCounts},
};
use model::{Actor, ActorId, GeoPoint, KeptFields, Person, SubjectRef, UtcMillis, Value};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

/// A page of a person's feed.
#[derive(Debug, PartialEq, JsonSchema, Serialize)]
pub struct FeedPageReport {
    /// The newest first.
    pub bundles: Vec<BundleReport>,
    /// Of the whole feed by the key of the page, whatever else it is asked for.
    pub counts: CountsReport,
    /// Names the entries that this page shows, for a mark.
    pub shown: String,
    /// Where to go on; null after the last page.
    pub next: Option<String>,
}

/// Entries that are told as one.
#[derive(Debug, PartialEq, JsonSchema, Serialize)]
pub struct BundleReport {
    /// Names it within the person.
    pub bundle: String,
    pub kind: String,
    pub category: Option<String>,
    /// What its newest entry is about.
    pub subject: String,
    #[serde(flatten)]
    pub words: WordsReport,
    /// Since when its newest entry is news.
    pub since: String,
    /// No visit showed it yet.
    pub new: bool,
    /// Something of it is unread.
    pub unread: bool,
    pub saved: bool,
    /// How many entries it has.
    pub count: usize,
    pub actors: ActorsReport,
    /// Their keys, the newest first, 100 at most.
    pub entries: Vec<String>,
}

/// What is said, in the person's language; or its parts, for who says it.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct WordsReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// Why the person gets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The subject's URL.
    pub page: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<PartsReport>,
}

/// Of what a sentence is made.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct PartsReport {
    /// What the subject is called by now.
    pub name: Option<String>,
    /// What the newest event itself said, of what its kind keeps.
    pub kept: Map<String, Json>,
    /// Why, as `tidings days` prints it.
    pub reasons: Vec<String>,
}

/// Who did it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ActorsReport {
    /// Those that a sentence may name, the newest first, three at most.
    pub named: Vec<ActorReport>,
    /// How many beside the first of them, 99 at most.
    pub others: usize,
    /// There are more others than that.
    pub more: bool,
}

#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ActorReport {
    pub sort: ActorSort,
    /// Of a person with an account.
    pub id: Option<String>,
    pub name: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ActorSort {
    Person,
    Anonymous,
    System,
}

/// How many bundles are new, and how many have something unread.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct CountsReport {
    pub new: CountReport,
    pub unread: CountReport,
    /// Of the categories that have any bundle.
    pub categories: BTreeMap<String, CategoryCountsReport>,
}

#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct CategoryCountsReport {
    pub new: CountReport,
    pub unread: CountReport,
}

/// A number that is shown.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct CountReport {
    /// 99 at most.
    #[schemars(range(min = 0, max = 99))]
    pub number: usize,
    /// There are more: `99+`.
    pub more: bool,
}

/// A bundle, and what is in it.
#[derive(Debug, PartialEq, JsonSchema, Serialize)]
pub struct OpenBundleReport {
    #[serde(flatten)]
    pub bundle: BundleReport,
    /// The newest first.
    pub items: Vec<ItemReport>,
    /// Where to go on; null after the last one.
    pub next: Option<String>,
}

/// One entry of a bundle.
#[derive(Debug, PartialEq, JsonSchema, Serialize)]
pub struct ItemReport {
    /// Its key, as feedback names it.
    pub entry: String,
    pub kind: String,
    pub subject: String,
    #[serde(flatten)]
    pub words: WordsReport,
    pub occurred: String,
    pub new: bool,
    pub unread: bool,
    pub saved: bool,
    pub actor: Option<ActorReport>,
}

/// What a mark did.
#[derive(Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct MarksReport {
    /// Entries that it is for; null where one note stands for all.
    pub marked: Option<usize>,
    /// As they are now.
    pub counts: CountsReport,
}

impl BundleReport {
    /// Everything but its words.
    pub fn new(
        (bundle, as_of): (&FeedBundle, UtcMillis),
        category: Option<&str>,
        erased: &BTreeSet<Person>,
        entries_max: usize,
    ) -> Self {
        let lead = bundle.lead();
        Self {
            bundle: BundleName { id: bundle.id, as_of }.to_string(),
            kind: lead.kind.to_string(),
            category: category.map(str::to_owned),
            subject: lead.subject.to_string(),
            words: WordsReport::default(),
            since: lead.attention.since.to_string(),
            new: bundle.is_new(),
            unread: bundle.is_unread(),
            saved: bundle.is_saved(),
            count: bundle.entries().len(),
            actors: ActorsReport::new(&BundleActors::from_bundle(bundle), erased),
            entries: bundle.entries().iter().take(entries_max).map(|entry| entry.key.to_string()).collect(),
        }
    }
}

impl ActorsReport {
    fn new(actors: &BundleActors, erased: &BTreeSet<Person>) -> Self {
        let (others, more) = actors.others();
        Self {
            named: actors.first.iter().map(|actor| ActorReport::new(actor, erased)).collect(),
            others,
            more,
        }
    }
}

impl ActorReport {
    /// Who was erased since is somebody, and not named.
    pub fn new(actor: &Actor, erased: &BTreeSet<Person>) -> Self {
        let (sort, id) = match &actor.id {
            ActorId::Person(person) => (ActorSort::Person, Some(person)),
            ActorId::Anonymous(_) => (ActorSort::Anonymous, None),
            ActorId::System => (ActorSort::System, None),
        };
        if id.is_some_and(|person| erased.contains(person)) {
            return Self { sort, id: None, name: None };
        }
        let name = actor.name.as_ref().map(ToString::to_string);
        Self { sort, id: id.map(ToString::to_string), name }
    }
}

impl From<CappedCount> for CountReport {
    fn from(count: CappedCount) -> Self {
        Self { number: count.number(), more: count.has_more() }
    }
}

impl From<&FeedCounts> for CountsReport {
    fn from(FeedCounts { all, by_category }: &FeedCounts) -> Self {
        let of = |(name, counts): (&String, &BundleCounts)| {
            let BundleCounts { new, unread } = *counts;
            (name.clone(), CategoryCountsReport { new: new.into(), unread: unread.into() })
        };
        Self {
            new: all.new.into(),
            unread: all.unread.into(),
            categories: by_category.iter().map(of).collect(),
        }
    }
}

/// What an event said itself, as upstream services state it.
pub fn list_kept(kept: &KeptFields) -> Map<String, Json> {
    kept.iter().map(|(name, value)| (name.to_string(), value_json(value))).collect()
}

fn value_json(value: &Value) -> Json {
    match value {
        Value::Text(text) => Json::from(&**text),
        Value::Number(number) => Json::from(*number),
        Value::Flag(flag) => Json::from(*flag),
        Value::Time(at) => Json::from(at.to_string()),
        Value::Ref(to) => Json::from(to.as_str()),
        Value::Refs(all) => all.iter().map(SubjectRef::as_str).collect(),
        Value::Place(GeoPoint { lat, lon }) => json!({"lat": lat, "lon": lon}),
    }
}
