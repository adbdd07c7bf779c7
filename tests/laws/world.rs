//! The whole house on embedded engines in memory, under a clock that stands still: what is said goes in by the
//! topic of changes, what leaves is read in the outbox, and what became of entries in the days.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use catalogue::Catalogue;
use courier::outbox::OutboxCourier;
use house::{Config, HouseEngines, RunningHouse, declare_topics};
use model::{
    Channel, Day, DayRow, Entry, EntryKey, EventKey, Fate, Person, SubjectRef, UtcMillis,
    civil_time::ZoneRules, entry::DayKey, fold::DayView, partition::PartitionCount, person::Act,
};
use runtime::Clock;
use serde_json::{Value, json};
use store::{DayRows, DayStore as _, StateKey, StateStore as _};
use tempfile::TempDir;
use topic::{NewRecord, Topics as _};
use wire::{AnnouncementBatch, DayAnnouncement, InboxItem, topics};

use crate::names::{self, HOUR_MS, a_day, day_key, kind, reason, subject, tenant};

/// How long a claim holds here.
pub const CLAIM_MS: i64 = 10_000;
/// Nothing that comes to an end takes longer than this, in real time.
const PATIENCE: Duration = Duration::from_secs(180);

/// A house and all that is below it.
pub struct LawHouse {
    pub clock: Clock,
    pub catalogue: Arc<Catalogue>,
    pub topics: topic::embedded::EmbeddedTopics,
    pub store: Arc<store_embedded::EmbeddedStore>,
    pub outbox: Arc<OutboxCourier>,
    pub config: Config,
    house: Option<RunningHouse>,
    version: i64,
    said: Vec<NewRecord>,
    pub dir: TempDir,
}

/// A mail that was accepted: to whom, and the titles that it tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LawMail {
    pub to: String,
    pub titles: Vec<String>,
}

impl LawHouse {
    /// The engines, at half past nine in Berlin on the first day, and no house yet.
    pub async fn new(catalogue: Arc<Catalogue>) -> Self {
        Self::with_session(catalogue, topic::embedded::SESSION).await
    }

    /// The same, where a member that does not call for so long counts as gone.
    pub async fn with_session(catalogue: Arc<Catalogue>, session: Duration) -> Self {
        let dir = crate::engine_folder::temp_engine_dir();
        let clock = Clock::still(a_day().start().plus(17 * HOUR_MS / 2).0);
        let topics =
            topic::embedded::EmbeddedTopics::open_with(&dir.path().join("topics"), clock.clone(), session);
        let topics = topics.unwrap();
        let store = Arc::new(store_embedded::EmbeddedStore::open(&dir.path().join("store")).unwrap());
        let outbox = Arc::new(OutboxCourier::open(&dir.path().join("outbox")).unwrap());
        declare_topics(&topics, PartitionCount::USUAL).await.unwrap();
        let mut config = Config::with_defaults(tenant("main"), 1_000_000);
        config.sender.claim_ms = CLAIM_MS;
        // Who waits at a gate waits until it is opened.
        config.sender.patience = PATIENCE;
        let (house, version, said) = (None, 0, Vec::new());
        Self { clock, catalogue, topics, store, outbox, config, house, version, said, dir }
    }

    /// The engines as they are.
    pub fn engines(&self) -> HouseEngines {
        HouseEngines {
            live: Arc::new(live::UnknownConnections),
            topics: Arc::new(self.topics.clone()),
            store: self.store.clone(),
            courier: self.outbox.clone(),
            schemas: Arc::new(wire::NoSchemaSource),
        }
    }

    /// Opens the house on these engines.
    pub async fn start(&mut self, engines: HouseEngines) {
        let (catalogue, clock) = (self.catalogue.clone(), self.clock.clone());
        let house =
            RunningHouse::start(engines, catalogue, clock, ZoneRules::load_bundled(), self.config.clone())
                .await;
        self.house = Some(house.unwrap());
    }

    pub fn house(&self) -> &RunningHouse {
        self.house.as_ref().expect("the house is closed")
    }

    /// The house is gone from one moment to the next.
    pub async fn crash(&mut self) {
        if let Some(house) = self.house.take() {
            house.abandon().await;
        }
    }

    /// The house goes on, but is not ours any more: another may be opened beside it.
    pub fn leave(&mut self) -> RunningHouse {
        self.house.take().expect("the house is closed")
    }

    /// Until every stage but these has read all there is. Sees nothing of work without records.
    pub async fn wait_caught_up(&self, but: &[&str]) {
        let caught_up = async {
            loop {
                let stages = self.house().stages().await.unwrap();
                if stages.iter().all(|stage| stage.lag == 0 || but.contains(&stage.name.as_str())) {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, caught_up).await.expect("somebody does not catch up");
    }

    /// Until nothing is left to do at this instant.
    pub async fn settle(&self) {
        let settled = tokio::time::timeout(PATIENCE, self.house().settle()).await;
        settled.expect("the house does not settle").expect("a room failed");
    }

    /// Moves the clock from one instant at which something is due to the next.
    pub async fn pass_time(&self, ms: i64) {
        let until = self.clock.now() + ms;
        self.settle().await;
        while let Some(next) = self.clock.next_wake().filter(|next| *next <= until) {
            self.clock.advance_to(next);
            self.settle().await;
        }
        self.clock.advance_to(until);
        self.settle().await;
    }

    /// The first closing of the morning after the first day.
    pub fn next_morning(&self) -> UtcMillis {
        a_day().plus(1).start().plus(8 * HOUR_MS)
    }

    pub fn now(&self) -> UtcMillis {
        UtcMillis(self.clock.now())
    }

    /// Says something upstream; versions go up as it is said.
    pub async fn say(&mut self, partition: u32, mut change: Value) {
        self.version += 1;
        change["version"] = json!(self.version);
        change["source"] = json!("laws");
        let record = NewRecord {
            topic: topics::CHANGES.into(),
            partition,
            key: Vec::new(),
            value: Some(change.to_string().into_bytes()),
            headers: Vec::new(),
        };
        self.said.push(record.clone());
        self.topics.append(vec![record]).await.unwrap();
    }

    /// All that was ever said is said again.
    pub async fn replay(&self) {
        self.topics.append(self.said.clone()).await.unwrap();
    }

    /// Somebody who can be told, in Berlin, and follows these authors.
    pub async fn add_person(&mut self, who: &str, authors: &[&str]) {
        let email = format!("{who}@example.com");
        let profile = json!({"person": who, "email": email, "zone": "Europe/Berlin"});
        self.send_fact("tidings.profile", profile).await;
        for author in authors {
            self.follow(who, author, true).await;
        }
    }

    /// These persons follow one author, who has made a work; all of it is read.
    pub async fn add_followed_work(&mut self, persons: &[&str]) {
        for who in persons {
            self.add_person(who, &["author:1"]).await;
        }
        self.settle().await;
        self.publish_work("work.made", 0, "author:1", self.now()).await;
        self.settle().await;
    }

    pub async fn follow(&mut self, who: &str, target: &str, on: bool) {
        let what = if on { "tidings.follow" } else { "tidings.unfollow" };
        self.send_fact(what, json!({"person": who, "target": target})).await;
    }

    pub async fn send_fact(&mut self, what: &str, data: Value) {
        let id = format!("fact {}", self.version);
        self.say(0, json!({"specversion": "1.0", "id": id, "type": what, "data": data})).await;
    }

    /// A work by its number: its title is `T` and the number, its event's id is the same.
    pub async fn publish_work(&mut self, what: &str, number: usize, author: &str, at: UtcMillis) {
        let data = json!({"title": format!("T{number}"), "author": author, "public": true});
        let subject = format!("work:{number}");
        let partition = u32::try_from(number % 8).unwrap();
        let id = format!("T{number}");
        let time = at.to_string();
        let change = json!({"specversion": "1.0", "id": id, "type": what, "subject": subject, "time": time, "data": data});
        self.say(partition, change).await;
    }

    /// The work is as it was, but not to be seen any more.
    pub async fn withdraw(&mut self, number: usize) {
        let (id, subject) = (format!("W{}", self.version), format!("work:{number}"));
        let time = self.now().to_string();
        let data = json!({"public": false});
        let change = json!({"specversion": "1.0", "id": id, "type": "work.withdrawn", "subject": subject, "time": time, "data": data});
        self.say(0, change).await;
    }

    /// A row of a person's day by hand, as the fan-out leaves it, and what it is about.
    pub async fn store_row(&self, who: &str, what: &str, number: usize, at: UtcMillis) {
        let about = subject(&format!("work:{number}"));
        let fields =
            [("title", model::Value::from_text(&format!("T{number}"))), ("public", model::Value::Flag(true))];
        let state = model::VersionedState::from_values(1, fields.map(|(name, value)| (name, Some(value))));
        let key = StateKey::Subject(tenant("main"), about.clone());
        self.store.merge(vec![(key, state)]).await.unwrap();
        let entry = Entry {
            key: key_of(number, at),
            reason: reason(what, 1),
            subject: about,
            actor: None,
            kept: model::KeptFields::new(),
        };
        let rows = vec![DayRows {
            key: day_key("main", who, Day::from_instant(at)),
            rows: vec![DayRow::Entry(entry)],
        }];
        self.store.write(rows, self.now()).await.unwrap();
    }

    /// The announcement of one row.
    pub async fn announce(&self, who: &str, what: &str, day: Day) {
        let who = Person::new(who).unwrap();
        let partition = PartitionCount::USUAL.of_person(&tenant("main"), &who);
        let one = DayAnnouncement {
            person: who,
            day,
            rows: 1,
            kinds: vec![kind(what)],
            windows: vec![],
            full: false,
        };
        let pending = AnnouncementBatch { tenant: tenant("main"), announcements: vec![one] };
        let value = Some(wire::pending::encode(&pending).unwrap());
        let key = wire::key::partition_key(partition);
        self.topics
            .append(vec![NewRecord {
                topic: topics::PENDING.into(),
                partition,
                key,
                value,
                headers: Vec::new(),
            }])
            .await
            .unwrap();
    }

    /// Releases a person's window of a plan by hand.
    pub async fn release(&self, who: &str, plan: &str) {
        let (tenant, person, plan) = (tenant("main"), Person::new(who).unwrap(), names::plan(plan));
        let (partition, key) =
            (PartitionCount::USUAL.of_person(&tenant, &person), wire::key::person_key(&tenant, &person));
        let release =
            InboxItem::ByHand { tenant, person, act: Act::Release, plan, key: None, at: self.now() };
        let value = Some(wire::inbox::encode(&release).unwrap());
        self.topics
            .append(vec![NewRecord {
                topic: topics::INBOX.into(),
                partition,
                key,
                value,
                headers: Vec::new(),
            }])
            .await
            .unwrap();
    }

    /// The days of a person that still live.
    pub async fn view(&self, who: &str) -> DayView {
        let mut view = DayView::default();
        for rows in self.days(who).await.values() {
            rows.iter().for_each(|row| view.add(row));
        }
        view
    }

    pub async fn days(&self, who: &str) -> BTreeMap<Day, Vec<DayRow>> {
        let days: Vec<Day> = (-9..30).map(|later| a_day().plus(later)).collect();
        let key = |day: &Day| DayKey { tenant: tenant("main"), person: Person::new(who).unwrap(), day: *day };
        let keys: Vec<DayKey> = days.iter().map(key).collect();
        let rows = self.store.read(&keys, self.now()).await.unwrap();
        days.into_iter().zip(rows).collect()
    }

    /// What became of a person's entries, by the titles of the works.
    pub async fn fates(&self, who: &str) -> BTreeMap<String, Fate> {
        let view = self.view(who).await;
        view.entries()
            .map(|(_, entry)| (work_title(entry.subject().unwrap()), entry.fate(Channel::Email)))
            .collect()
    }

    /// Every mail that was accepted, in order; one that was handed over twice stands there twice.
    pub async fn mails(&self) -> Vec<LawMail> {
        let mut mails = Vec::new();
        for accepted in self.outbox.read_acceptances().await.unwrap() {
            let mail = self
                .outbox
                .read_mail(&accepted.message_id)
                .await
                .unwrap()
                .expect("an accepted mail is not there");
            let says = mail.text.lines().filter_map(|line| line.strip_suffix('.')?.split_once(' '));
            let titles = says.map(|(_, title)| title.to_owned()).collect();
            mails.push(LawMail { to: mail.header("to").unwrap_or_default().to_owned(), titles });
        }
        mails
    }

    /// How often a person was told a title.
    pub async fn told_titles(&self, who: &str) -> BTreeMap<String, usize> {
        let mut told = BTreeMap::new();
        let to = format!("{who}@example.com");
        for mail in self.mails().await.into_iter().filter(|mail| mail.to == to) {
            for title in mail.titles {
                *told.entry(title).or_default() += 1;
            }
        }
        told
    }

    /// Every record of a topic, in the order of its partitions.
    pub async fn records(&self, topic: &str) -> Vec<topic::TopicRecord> {
        let mut all = Vec::new();
        for (partition, (from, _)) in (0..).zip(self.topics.bounds(topic).await.unwrap()) {
            all.extend(self.topics.read(topic, partition, from, usize::MAX).await.unwrap());
        }
        all
    }
}

/// The title of a work.
pub fn work_title(subject: &SubjectRef) -> String {
    format!("T{}", subject.id())
}

/// The key of the entry of a work by its number.
pub fn key_of(number: usize, at: UtcMillis) -> EntryKey {
    EntryKey { occurred: at, event: EventKey::from_source_id(&tenant("main"), "laws", &format!("T{number}")) }
}
