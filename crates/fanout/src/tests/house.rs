//! A small world of crowds and events, the room in it, and what lies in days and on `pending` afterwards.

use std::{collections::BTreeSet, sync::Arc};

use catalogue::Catalogue;
use model::{
    Crowd, Day, Enrolment, Event, EventKey, Listed, Millis, Person, Place, Row, Score, Slice, State,
    SubjectRef, Tenant, Value, entry::DayKey, partition::Partitions, person::profile,
};
use runtime::{Clock, Quiet, Shutdown, metrics::Metrics};
use store::{Crowds as _, Days as _, StateKey, States as _};
use tempfile::TempDir;
use topic::{NewRecord, Record, Retention, TopicSpec, Topics as _};
use wire::{
    Announcement,
    replay::{Again, Headers},
    topics,
};

use super::watched::{Watch, WatchedStore, WatchedTopics};
use crate::{
    Config, FanoutMetrics, Ports, Sizes,
    config::{ANNOUNCED_MAX, GROUP, RECORDS_MAX, SLICES_GROUP},
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
    let template = |name: &str| match name {
        "mail.mjml" => {
            Ok("<mjml><mj-body>{% for i in items %}{{ i.says }}{% endfor %}</mj-body></mjml>".to_owned())
        }
        _ => Ok("{% for i in items %}{{ i.says }}{% endfor %}".to_owned()),
    };
    Catalogue::parse(CATALOGUE, "catalogue.yaml", &template).unwrap_or_else(|problems| panic!("{problems}"))
}

pub fn at(text: &str) -> Millis {
    Millis::parse(text).unwrap()
}

pub fn tenant() -> Tenant {
    Tenant::new("main").unwrap()
}

pub fn person(name: &str) -> Person {
    Person::new(name).unwrap()
}

pub fn subject(text: &str) -> SubjectRef {
    SubjectRef::new(text).unwrap()
}

/// `52.5,13.4`.
pub fn place(text: &str) -> Place {
    let (lat, lon) = text.split_once(',').unwrap();
    Place::new(lat.parse().unwrap(), lon.parse().unwrap()).unwrap()
}

/// An event about a work, `published` if it does not say: `1 by author:7 in house:3 from ann`,
/// `1 shown at 52.5,13.4`, `1 met owner ann guest bob`, `1 picked lists ann=0.5 bob`, `1 on 2026-11-20T10:00:00Z`.
pub fn event(text: &str) -> Event {
    let words: Vec<&str> = text.split(' ').collect();
    let after = |word| words.iter().position(|w| *w == word).map(|at| words[at + 1]);
    let known = ["shown", "sold", "met", "picked", "opened", "rated"];
    let what = words.get(1).filter(|word| known.contains(word)).unwrap_or(&"published");
    let refers = |word, name| after(word).map(|to| (name, Some(Value::Ref(subject(to)))));
    let names = |word| after(word).map(|who| (word, Some(Value::text(who))));
    let shown = after("at").map(|to| ("place", Some(Value::Place(place(to)))));
    let fields = [refers("by", "author"), refers("in", "house"), names("owner"), names("guest"), shown];
    let listed = words.iter().position(|word| *word == "lists").map_or(&[][..], |from| &words[from + 1..]);
    let listed = listed.iter().map(|one| {
        let (who, score) = one.split_once('=').unwrap_or((one, "0"));
        Listed { person: person(who), score: Score::new(score.parse().unwrap()).unwrap() }
    });
    Event {
        tenant: tenant(),
        key: EventKey::of(&tenant(), "test", text),
        what: format!("work.{what}"),
        subject: subject(&format!("work:{}", words[0])),
        actor: after("from").map(person),
        occurred: at(after("on").unwrap_or("2026-11-21T10:00:00Z")),
        persons: listed.collect(),
        state: State::at(1, fields.into_iter().flatten()),
    }
}

/// The world and the engines below it.
pub struct House {
    _dir: TempDir,
    pub ports: Ports,
    pub topics: topic::embedded::Embedded,
    pub store: Arc<store::embedded::Embedded>,
    pub watch: Arc<Watch>,
    pub sizes: Sizes,
}

impl House {
    pub async fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let clock = Clock::still(at(NOON).0);
        let topics = topic::embedded::Embedded::open(&dir.path().join("topics"), clock.clone()).unwrap();
        let specs = topics::all(Partitions::USUAL).map(|(name, partitions, keep)| {
            let retention = match keep {
                topics::Keep::Millis(ms) => Retention::Milliseconds(ms),
                topics::Keep::Latest => Retention::Compacted,
            };
            TopicSpec { name: name.into(), partitions, retention }
        });
        topics.declare(&specs).await.unwrap();
        let store = Arc::new(store::embedded::Embedded::open(&dir.path().join("store")).unwrap());
        let watch = Arc::new(Watch::default());
        let watched_topics = WatchedTopics {
            inner: topics.clone(),
            store: store.clone(),
            watch: watch.clone(),
            now: at(NOON),
        };
        let ports = Ports {
            partitions: Partitions::USUAL,
            editions: model::edition::Editions::default(),
            topics: Arc::new(watched_topics),
            store: Arc::new(WatchedStore { inner: store.clone(), watch: watch.clone() }),
            catalogue: Arc::new(catalogue()),
            clock,
            quiet: Quiet::default(),
            shutdown: Shutdown::default(),
            metrics: FanoutMetrics::declare(&Metrics::default()).unwrap(),
        };
        Self { _dir: dir, ports, topics, store, watch, sizes: Sizes::default() }
    }

    /// Slices as small as this.
    pub async fn small(inline: usize, slice: usize) -> Self {
        Self { sizes: Sizes { inline, slice }, ..Self::new().await }
    }

    /// Lines of `ann author:7` (follows), `-ann author:7` (no more), `ann is` (of the house),
    /// `ann at 52.5,13.4` (is there) and `ann was 52.5,13.4` (a row that was left there).
    pub async fn facts(&self, lines: &[&str]) {
        let mut enrolments = Vec::new();
        let mut enrol = |who: &str, crowd, on, version: i64| {
            let version = if on { version } else { 2 };
            enrolments.push(Enrolment { tenant: tenant(), person: person(who), crowd, version, on });
        };
        for line in lines {
            let (on, line) = line.strip_prefix('-').map_or((true, *line), |line| (false, line));
            match line.split(' ').collect::<Vec<_>>()[..] {
                [who, "is"] => enrol(who, Crowd::Everyone, on, 1),
                [who, word @ ("at" | "was"), where_] => {
                    let version = i64::from(word == "at");
                    let cells = place(where_).cells().into_iter().map(Crowd::Cell);
                    cells.for_each(|cell| enrol(who, cell, on, version));
                    if word == "at" {
                        self.profile(who, profile::PLACE, Value::Place(place(where_))).await;
                    }
                }
                [who, target] => enrol(who, Crowd::Followers(subject(target)), on, 1),
                _ => panic!("{line}"),
            }
        }
        self.store.enrol(enrolments).await.unwrap();
    }

    /// So many persons `p0`, `p1` and so on follow a subject.
    pub async fn many(&self, count: usize, target: &str) {
        let enrolment = |n| Enrolment {
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

    pub async fn profile(&self, who: &str, field: &str, value: Value) {
        let key = StateKey::Person(tenant(), person(who));
        self.store.merge(vec![(key, State::at(1, [(field, Some(value))]))]).await.unwrap();
    }

    pub async fn note(&self, who: &str, field: &str, value: Value) {
        self.note_state(who, State::at(1, [(field, Some(value))])).await;
    }

    pub async fn note_state(&self, who: &str, state: State) {
        let key = StateKey::Notes(tenant(), person(who));
        self.store.merge(vec![(key, state)]).await.unwrap();
    }

    pub async fn publish(&self, events: &[Event]) {
        self.append(events, Vec::new()).await;
    }

    /// As a replay appends them.
    pub async fn replay(&self, events: &[Event], is_quiet: bool) {
        self.append(events, Again { replay: "r".into(), is_quiet }.headers()).await;
    }

    pub async fn append(&self, events: &[Event], headers: Headers) {
        let record = |event: &Event| NewRecord {
            topic: topics::EVENTS.into(),
            partition: Partitions::USUAL.of_subject(&event.tenant, &event.subject),
            key: wire::key::subject(&event.tenant, &event.subject),
            value: Some(wire::event::encode(event).unwrap()),
            headers: headers.clone(),
        };
        self.topics.append(events.iter().map(record).collect()).await.unwrap();
    }

    /// Runs the room until it has committed everything there is. Says whether it lived to see that.
    pub async fn live(&self) -> bool {
        let ports = Ports { shutdown: Shutdown::default(), ..self.ports.clone() };
        let caught_up = async {
            loop {
                let (_, changes) = ports.quiet.now();
                // Events first: the slices of what is committed there are in the log.
                let mut behind = false;
                for (group, topic) in [(GROUP, topics::EVENTS), (SLICES_GROUP, topics::SLICES)] {
                    let standing = self.topics.standing(group, topic).await.unwrap();
                    behind |= standing.iter().any(|at| at.committed < at.end);
                }
                if !behind {
                    break;
                }
                ports.quiet.changed(changes).await;
            }
            ports.shutdown.start();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            ended = run_with(ports.clone(), Config { records_max: RECORDS_MAX }, self.sizes) => ended.is_ok(),
            () = caught_up => false,
        }
    }

    pub async fn settle(&self) {
        assert!(self.live().await, "the room did not live");
    }

    pub async fn records(&self, topic: &str) -> Vec<Record> {
        let mut records = Vec::new();
        for (partition, (from, _)) in (0..).zip(self.topics.bounds(topic).await.unwrap()) {
            records.extend(self.topics.read(topic, partition, from, 100_000).await.unwrap());
        }
        records
    }

    pub async fn announcements(&self) -> Vec<Announcement> {
        let mut all = Vec::new();
        for record in self.records(topics::PENDING).await {
            let pending = wire::pending::decode(record.value.as_ref().unwrap()).unwrap();
            assert!(pending.announcements.len() <= ANNOUNCED_MAX);
            for announcement in pending.announcements {
                assert_eq!(
                    record.partition,
                    Partitions::USUAL.of_person(&pending.tenant, &announcement.person)
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

    pub async fn rows(&self, names: &[String], day: &str) -> Vec<Vec<Row>> {
        let day = Day::parse(day).unwrap();
        let key = |name: &String| DayKey { tenant: tenant(), person: person(name), day };
        self.store.read(&names.iter().map(key).collect::<Vec<_>>(), at(NOON)).await.unwrap()
    }

    /// What lies in everybody's day, a line each: `ann work:1 work_out follows author:7`.
    pub async fn told(&self, names: &[&str], day: &str) -> BTreeSet<String> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut lines = BTreeSet::new();
        for (name, rows) in names.iter().zip(self.rows(&names, day).await) {
            for row in rows {
                let Row::Entry(entry) = row else { panic!("{row:?}") };
                lines.insert(format!(
                    "{name} {} {} {}",
                    entry.subject, entry.reason.kind, entry.reason.because
                ));
            }
        }
        lines
    }
}
