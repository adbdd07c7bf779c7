//! A small world of crowds and events, the room in it, and what lies in days and on `pending` afterwards.

use std::{collections::BTreeSet, sync::Arc};

use catalogue::Catalogue;
use model::{
    Crowd, CrowdEnrolment, Day, DayRow, Event, EventKey, GeoPoint, ListedPerson, PersonScore, Slice, Value,
    VersionedState, entry::DayKey, partition::PartitionCount, person::profile,
};
use room::{
    records::event_record,
    testing::{
        RoomEngines, list_records, parse_catalogue, parse_instant, person, subject, tenant, wait_until_read,
    },
};
use runtime::{ShutdownSignal, metrics::Metrics};
use store::{CrowdStore as _, DayStore as _, StateKey, StateStore as _};
use topic::{TopicRecord, Topics as _};
use wire::{
    DayAnnouncement,
    replay::{ReplayStamp, WireHeaders},
    topics,
};

use super::watched_engines::{EffectWatch, FanoutWatchedTopics, WatchedStore};
use crate::{
    Config, Deps, FanoutMetrics, FanoutSizes,
    config::{ANNOUNCED_MAX, GROUP, SLICES_GROUP},
    run_with,
};

const CATALOGUE: &str = r#"
catalogue: sample
subjects:
  work:
    {title: text, author: ref author, house: ref house, public: flag, place: place, owner: person, guest: person}
  author: {name: text}
  house: {name: text}
kinds:
  work_out:
    on: work.published
    to: {followers_of: [author, house]}
    while: subject.public
    says: '{{ subject.title }}'
    plans: [daily]
  work_seen: {on: work.published, to: {followers_of: subject}, says: x, plans: [daily]}
  in_town: {on: work.shown, to: {near: place, within: 40 km}, says: x, plans: [daily]}
  next_door: {on: work.shown, to: {near: place, within: 2 km}, says: x, plans: [daily]}
  yours: {on: work.sold, to: {person: owner}, says: x, plans: [daily]}
  met: {on: work.met, to: {mutual: [owner, guest]}, says: x, plans: [daily]}
  picked: {on: work.picked, to: listed, says: x, plans: [daily]}
  news: {on: work.opened, to: everyone, says: x, plans: [daily]}
  told_all: {on: work.rated, to: {followers_of: author}, actor: told, says: x, plans: [daily]}
plans:
  daily:
    channel: email
    close: {daily: "09:00", zone: person}
    look_back: 7d
    from: Sample <news@example.com>
    headline: News
    template: mail.mjml
    text: mail.txt
    sections:
      - title: Works
        kinds: [work_out, work_seen, in_town, next_door, yours, met, picked, news, told_all]
        most: 8
        order: newest
"#;
pub const NOON: &str = "2026-11-21T12:00:00Z";
pub const TODAY: &str = "2026-11-21";

pub fn catalogue() -> Catalogue {
    parse_catalogue(CATALOGUE)
}

/// `52.5,13.4`.
pub fn parse_place(text: &str) -> GeoPoint {
    let (lat, lon) = text.split_once(',').unwrap();
    GeoPoint::new(lat.parse().unwrap(), lon.parse().unwrap()).unwrap()
}

/// An event about a work, `published` if it does not say: `1 by author:7 in house:3 from ann`,
/// `1 shown at 52.5,13.4`, `1 met owner ann guest bob`, `1 picked lists ann=0.5 bob`, `1 on 2026-11-20T10:00:00Z`.
pub fn parse_event(text: &str) -> Event {
    let words: Vec<&str> = text.split(' ').collect();
    let after = |word| words.iter().position(|w| *w == word).map(|at| words[at + 1]);
    let known = ["shown", "sold", "met", "picked", "opened", "rated"];
    let what = words.get(1).filter(|word| known.contains(word)).unwrap_or(&"published");
    let refers = |word, name| after(word).map(|to| (name, Some(Value::Ref(subject(to)))));
    let names = |word| after(word).map(|who| (word, Some(Value::from_text(who))));
    let shown = after("at").map(|to| ("place", Some(Value::Place(parse_place(to)))));
    let fields = [refers("by", "author"), refers("in", "house"), names("owner"), names("guest"), shown];
    let listed = words.iter().position(|word| *word == "lists").map_or(&[][..], |from| &words[from + 1..]);
    let listed = listed.iter().map(|one| {
        let (who, score) = one.split_once('=').unwrap_or((one, "0"));
        ListedPerson { person: person(who), score: PersonScore::new(score.parse().unwrap()).unwrap() }
    });
    Event {
        tenant: tenant(),
        key: EventKey::from_source_id(&tenant(), "test", text),
        what: format!("work.{what}"),
        subject: subject(&format!("work:{}", words[0])),
        actor: after("from").map(|name| person(name).into()),
        occurred: parse_instant(after("on").unwrap_or("2026-11-21T10:00:00Z")),
        persons: listed.collect(),
        state: VersionedState::from_values(1, fields.into_iter().flatten()),
    }
}

/// The world and the engines below it.
pub struct FanoutHouse {
    _engines: RoomEngines,
    pub deps: Deps,
    pub topics: topic::embedded::EmbeddedTopics,
    pub store: Arc<store_embedded::EmbeddedStore>,
    pub watch: Arc<EffectWatch>,
    pub sizes: FanoutSizes,
    pub config: Config,
}

impl FanoutHouse {
    pub async fn new() -> Self {
        let engines = RoomEngines::open(parse_instant(NOON)).await;
        let (topics, store) = (engines.topics.clone(), engines.store.clone());
        let watch = Arc::new(EffectWatch::default());
        let watched_topics = FanoutWatchedTopics {
            inner: topics.clone(),
            store: store.clone(),
            watch: watch.clone(),
            now: parse_instant(NOON),
        };
        let room = room::Deps {
            topics: Arc::new(watched_topics),
            store: Arc::new(WatchedStore { inner: store.clone(), watch: watch.clone() }),
            ..engines.deps(catalogue())
        };
        let deps = Deps { room, metrics: FanoutMetrics::declare(&Metrics::default()).unwrap() };
        Self {
            _engines: engines,
            deps,
            topics,
            store,
            watch,
            sizes: FanoutSizes::default(),
            config: Config::default(),
        }
    }

    /// Slices as small as this.
    pub async fn with_sizes(inline: usize, slice: usize) -> Self {
        Self { sizes: FanoutSizes { inline, slice }, ..Self::new().await }
    }

    /// Lines of `ann author:7` (follows), `-ann author:7` (no more), `ann is` (of the house),
    /// `ann at 52.5,13.4` (is there) and `ann was 52.5,13.4` (a row that was left there).
    pub async fn store_facts(&self, lines: &[&str]) {
        let mut enrolments = Vec::new();
        let mut enrol = |who: &str, crowd, on, version: i64| {
            let version = if on { version } else { 2 };
            enrolments.push(CrowdEnrolment { tenant: tenant(), person: person(who), crowd, version, on });
        };
        for line in lines {
            let (on, line) = line.strip_prefix('-').map_or((true, *line), |line| (false, line));
            match line.split(' ').collect::<Vec<_>>()[..] {
                [who, "is"] => enrol(who, Crowd::Everyone, on, 1),
                [who, word @ ("at" | "was"), where_] => {
                    let version = i64::from(word == "at");
                    let cells = parse_place(where_).cells().into_iter().map(Crowd::Cell);
                    cells.for_each(|cell| enrol(who, cell, on, version));
                    if word == "at" {
                        self.set_profile(who, profile::PLACE, Value::Place(parse_place(where_))).await;
                    }
                }
                [who, target] => enrol(who, Crowd::Followers(subject(target)), on, 1),
                _ => panic!("{line}"),
            }
        }
        self.store.enrol(enrolments).await.unwrap();
    }

    /// So many persons `p0`, `p1` and so on follow a subject.
    pub async fn add_followers(&self, count: usize, target: &str) {
        let enrolment = |n| CrowdEnrolment {
            tenant: tenant(),
            person: person(&format!("p{n}")),
            crowd: Crowd::Followers(subject(target)),
            version: 1,
            on: true,
        };
        for from in (0..count).step_by(5_000) {
            self.store.enrol((from..count.min(from + 5_000)).map(enrolment).collect()).await.unwrap();
        }
    }

    pub async fn set_profile(&self, who: &str, field: &str, value: Value) {
        let key = StateKey::Person(tenant(), person(who));
        self.store.merge(vec![(key, VersionedState::from_values(1, [(field, Some(value))]))]).await.unwrap();
    }

    pub async fn set_note(&self, who: &str, field: &str, value: Value) {
        self.merge_notes(who, VersionedState::from_values(1, [(field, Some(value))])).await;
    }

    pub async fn merge_notes(&self, who: &str, state: VersionedState) {
        let key = StateKey::Notes(tenant(), person(who));
        self.store.merge(vec![(key, state)]).await.unwrap();
    }

    pub async fn publish(&self, events: &[Event]) {
        self.append(events, Vec::new()).await;
    }

    /// As a replay appends them.
    pub async fn replay(&self, events: &[Event], is_quiet: bool) {
        self.append(events, ReplayStamp { replay: "r".into(), is_quiet }.headers()).await;
    }

    pub async fn append(&self, events: &[Event], headers: WireHeaders) {
        let record = |event: &Event| event_record(event, headers.clone(), PartitionCount::USUAL).unwrap();
        self.topics.append(events.iter().map(record).collect()).await.unwrap();
    }

    /// For the next run: the last one was shut down.
    pub fn restarted_deps(&self) -> Deps {
        let room = room::Deps { shutdown: ShutdownSignal::default(), ..self.deps.room.clone() };
        Deps { room, ..self.deps.clone() }
    }

    /// Runs the room until it has committed everything there is. Says whether it lived to see that.
    pub async fn run_room(&self) -> bool {
        let deps = self.restarted_deps();
        let room = &deps.room;
        // Events first: the slices of what is committed there are in the log.
        let readings = [(GROUP, topics::EVENTS), (SLICES_GROUP, topics::SLICES)];
        let caught_up = async {
            wait_until_read(&self.topics, &room.quiet, &readings).await;
            room.shutdown.start();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            ended = run_with(deps.clone(), self.config.clone(), self.sizes) => ended.is_ok(),
            () = caught_up => false,
        }
    }

    pub async fn settle(&self) {
        assert!(self.run_room().await, "the room did not live");
    }

    pub async fn records(&self, topic: &str) -> Vec<TopicRecord> {
        list_records(&self.topics, topic).await
    }

    pub async fn announcements(&self) -> Vec<DayAnnouncement> {
        let mut all = Vec::new();
        for record in self.records(topics::PENDING).await {
            let pending = wire::pending::decode(record.value.as_ref().unwrap()).unwrap();
            assert!(pending.announcements.len() <= ANNOUNCED_MAX);
            for announcement in pending.announcements {
                assert_eq!(
                    record.partition,
                    PartitionCount::USUAL.of_person(&pending.tenant, &announcement.person)
                );
                all.push(announcement);
            }
        }
        all
    }

    /// Every slice that was written, of all events.
    pub async fn slices(&self) -> Vec<Slice> {
        let records = self.records(topics::SLICES).await;
        records.iter().map(|record| wire::slice::decode(record.value.as_ref().unwrap()).unwrap()).collect()
    }

    pub async fn rows(&self, names: &[String], day: &str) -> Vec<Vec<DayRow>> {
        let day = Day::parse(day).unwrap();
        let key = |name: &String| DayKey { tenant: tenant(), person: person(name), day };
        self.store.read(&names.iter().map(key).collect::<Vec<_>>(), parse_instant(NOON)).await.unwrap()
    }

    /// What lies in everybody's day, a line each: `ann work:1 work_out follows author:7`.
    pub async fn told_lines(&self, names: &[&str], day: &str) -> BTreeSet<String> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut lines = BTreeSet::new();
        for (name, rows) in names.iter().zip(self.rows(&names, day).await) {
            for row in rows {
                let DayRow::Entry(entry) = row else { panic!("{row:?}") };
                lines.insert(format!(
                    "{name} {} {} {}",
                    entry.subject, entry.reason.kind, entry.reason.because
                ));
            }
        }
        lines
    }
}
