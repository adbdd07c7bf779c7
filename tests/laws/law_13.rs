//! Law 13: large audiences go through the log in slices. However an audience is cut, and wherever the room dies
//! and goes on, the rows are those of each event, member and reason: all of them, and no other.

use std::{collections::BTreeSet, sync::Arc};

use catalogue::Catalogue;
use fanout::{Deps, FanoutMetrics, FanoutSizes};
use house::declare_topics;
use model::{
    AudienceMatch, Crowd, CrowdEnrolment, DayRow, EntryReason, Event, EventKey, GeoPoint, ListedPerson,
    Person, PersonScore, Value, VersionedState, entry::DayKey, partition::PartitionCount,
    person::profile::PlaceOrigin,
};
use runtime::{Clock, metrics::Metrics};
use store::{CrowdStore as _, DayStore as _, StateKey, StateStore as _};
use store_embedded::EmbeddedStore;
use tempfile::TempDir;
use topic::{NewRecord, Topics as _, rough_topics::RoughTopicsOdds};
use wire::topics;

use crate::{
    catalogue_text::parse_catalogue,
    names::{HOUR_MS, a_day, kind, person, subject, tenant},
    seeds::{LawDice, run_waiting_schedules},
};

#[test]
fn law_13_large_audiences_in_slices() {
    run_waiting_schedules(5, |dice| async { SliceSchedule::new(dice).await.run(1).await });
    run_waiting_schedules(3, |dice| async { SliceSchedule::new(dice).await.with_one_crowd().run(8).await });
}

const CATALOGUE: &str = "catalogue: slices\n\
    subjects:\n  work: {author: ref author, house: ref author, place: place, owner: person, guest: person}\n  author: {name: text}\n\
    kinds:\n  \
      made: {on: work.made, to: {followers_of: [author, house]}, says: x, plans: [daily]}\n  \
      seen: {on: work.made, to: {followers_of: subject}, actor: told, says: x, plans: [daily]}\n  \
      near: {on: work.made, to: {near: place, within: 30 km}, says: x, plans: [daily]}\n  \
      town: {on: work.made, to: {near: place, within: 3 km}, says: x, plans: [daily]}\n  \
      open: {on: work.opened, to: everyone, says: x, plans: [daily]}\n  \
      pick: {on: work.made, to: listed, says: x, plans: [daily]}\n  \
      yours: {on: work.made, to: {person: owner}, says: x, plans: [daily]}\n  \
      met: {on: work.made, to: {mutual: [owner, guest]}, says: x, plans: [daily]}\n\
    plans:\n  daily: {channel: email, close: {daily: \"09:00\", zone: person}, look_back: 7d, from: a@example.com, headline: x, \
      template: mail.mjml, text: mail.txt, sections: [{title: x, kinds: [made, seen, near, town, open, pick, yours, met], most: 8}]}\n";

/// Places of which each has some others near it: in steps of about a kilometre, and of a hundred.
const STEPS: [f64; 5] = [0.0, 0.01, 0.02, 0.2, 0.9];
/// Lives after which nothing happens any more, so that it comes to an end.
const LIVES_MAX: usize = 12;

/// What is true of somebody.
struct SlicePerson {
    name: Person,
    follows: BTreeSet<String>,
    place: Option<GeoPoint>,
    /// Where their IP address is, which counts where no place is stated.
    by_address: Option<GeoPoint>,
    is_known: bool,
}

struct SliceSchedule {
    dice: LawDice,
    catalogue: Arc<Catalogue>,
    clock: Clock,
    topics: topic::embedded::EmbeddedTopics,
    store: Arc<EmbeddedStore>,
    sizes: FanoutSizes,
    /// What happens.
    whats: &'static [&'static str],
    events_most: usize,
    persons: Vec<SlicePerson>,
    _dir: TempDir,
}

impl SliceSchedule {
    async fn new(mut dice: LawDice) -> Self {
        let dir = crate::engine_folder::temp_engine_dir();
        let clock = Clock::still(a_day().start().plus(12 * HOUR_MS).0);
        let topics =
            topic::embedded::EmbeddedTopics::open(&dir.path().join("topics"), clock.clone()).unwrap();
        declare_topics(&topics, PartitionCount::USUAL).await.unwrap();
        let store = Arc::new(EmbeddedStore::open(&dir.path().join("store")).unwrap());
        let sizes = FanoutSizes { inline: dice.below(6), slice: 2 + dice.below(16) };
        let persons = (0..10 + dice.below(40)).map(|n| SlicePerson::draw(&mut dice, n)).collect();
        let (catalogue, whats) = (parse_catalogue(CATALOGUE), &["work.made", "work.made", "work.opened"]);
        Self { dice, catalogue, clock, topics, store, sizes, whats, events_most: 4, persons, _dir: dir }
    }

    /// Nothing but one crowd in the smallest slices: so much is written that a store which is often busy is
    /// busy in the middle of it.
    fn with_one_crowd(mut self) -> Self {
        self.sizes.slice = 2;
        self.whats = &["work.opened"];
        self.events_most = 1;
        self.persons.iter_mut().for_each(|known| known.is_known = true);
        self
    }

    /// On a store of which so many calls in a hundred fail before their effect, and as many after it. A turn
    /// asks many crowds, and is done again if one of them is busy.
    async fn run(mut self, busy_percent: u8) {
        self.enrol().await;
        let mut events = Vec::new();
        let many = 1 + self.dice.below(self.events_most);
        for number in 0..many {
            events.push(self.event(number));
        }
        self.publish(&events).await;
        self.run_lives(busy_percent).await;
        let expected: BTreeSet<_> = events.iter().flat_map(|event| self.expected_rows(event)).collect();
        let found = self.rows().await;
        let once: BTreeSet<_> = found.iter().cloned().collect();
        assert_eq!(once.len(), found.len(), "a row stands there twice");
        let missing: Vec<_> = expected.difference(&once).collect();
        let strange: Vec<_> = once.difference(&expected).collect();
        assert!(missing.is_empty() && strange.is_empty(), "missing {missing:?}, strange {strange:?}");
    }

    /// What is known of everybody, and rows that somebody left where they were before.
    async fn enrol(&mut self) {
        let mut enrolments = Vec::new();
        for known in &self.persons {
            let mut enrol = |crowd| {
                let (tenant, person) = (tenant("main"), known.name.clone());
                enrolments.push(CrowdEnrolment { tenant, person, crowd, version: 1, on: true });
            };
            known.follows.iter().for_each(|target| enrol(Crowd::Followers(subject(target))));
            let left = self.dice.once_in_a_hundred(20).then(|| any_place(&mut self.dice));
            let places = known.place.iter().chain(&left).map(|at| (PlaceOrigin::Stated, at));
            places
                .chain(known.by_address.iter().map(|at| (PlaceOrigin::Address, at)))
                .flat_map(|(origin, at)| at.cells_of(origin))
                .for_each(|cell| enrol(Crowd::Cell(cell)));
            if known.is_known {
                enrol(Crowd::Everyone);
            }
            for (origin, place) in PlaceOrigin::ALL.into_iter().zip([known.place, known.by_address]) {
                let state = VersionedState::from_values(1, [(origin.field(), place.map(Value::Place))]);
                let key = StateKey::Person(tenant("main"), known.name.clone());
                self.store.merge(vec![(key, state)]).await.unwrap();
            }
        }
        self.store.enrol(enrolments).await.unwrap();
    }

    fn event(&mut self, number: usize) -> Event {
        let (dice, whats) = (&mut self.dice, self.whats);
        let mut fields = Vec::new();
        for name in ["author", "house"] {
            fields.push((name, Some(Value::Ref(subject(&format!("author:{}", dice.below(3)))))));
        }
        for name in ["owner", "guest"] {
            let who = format!("p{}", dice.below(8));
            fields.push((name, dice.once_in_a_hundred(60).then(|| Value::from_text(&who))));
        }
        fields.push(("place", dice.once_in_a_hundred(80).then(|| Value::Place(any_place(dice)))));
        let state = VersionedState::from_values(1, fields);
        let listed: BTreeSet<usize> = (0..dice.below(9)).map(|_| dice.below(30)).collect();
        let score = |n: &usize| PersonScore(i64::try_from(*n).unwrap());
        Event {
            tenant: tenant("main"),
            key: EventKey::from_source_id(&tenant("main"), "laws", &number.to_string()),
            what: dice.pick(whats).to_owned(),
            subject: subject(&format!("work:{}", dice.below(2))),
            actor: dice.once_in_a_hundred(50).then(|| person(&format!("p{}", dice.below(8))).into()),
            occurred: a_day().start().plus(dice.ms(0, 12 * HOUR_MS)),
            persons: listed
                .iter()
                .map(|n| ListedPerson { person: person(&format!("p{n}")), score: score(n) })
                .collect(),
            state,
        }
    }

    async fn publish(&self, events: &[Event]) {
        let record = |event: &Event| NewRecord {
            topic: topics::EVENTS.into(),
            partition: PartitionCount::USUAL.of_subject(&event.tenant, &event.subject),
            key: wire::key::subject_key(&event.tenant, &event.subject),
            value: Some(wire::event::encode(event).unwrap()),
            headers: Vec::new(),
        };
        self.topics.append(events.iter().map(record).collect()).await.unwrap();
    }

    /// One life after the other, until everything has been read.
    async fn run_lives(&mut self, busy_percent: u8) {
        let odds = RoughTopicsOdds { crash: 15, ..RoughTopicsOdds::ROUGH };
        let mut rough =
            topic::rough_topics::RoughTopics::new(Arc::new(self.topics.clone()), odds, self.dice.next());
        let mut roughness = store::rough_store::StoreRoughness {
            busy_before_percent: busy_percent,
            busy_after_percent: busy_percent,
            ..store::rough_store::StoreRoughness::from_seed(self.dice.next())
        };
        for life in 0.. {
            if life == LIVES_MAX {
                rough.calm_down();
                (roughness.busy_before_percent, roughness.busy_after_percent) = (0, 0);
            }
            roughness.seed += 1;
            let ports = self.fanout_deps(&rough, roughness);
            let stop = if life < LIVES_MAX && self.dice.once_in_a_hundred(50) {
                self.dice.below(400)
            } else {
                usize::MAX
            };
            if self.one_life(ports, stop).await {
                return;
            }
            rough = rough.reopen_on(Arc::new(self.topics.clone()));
        }
    }

    fn fanout_deps(
        &self,
        rough: &topic::rough_topics::RoughTopics,
        roughness: store::rough_store::StoreRoughness,
    ) -> Deps {
        let store = store::rough_store::RoughStore::new(self.store.clone(), roughness);
        let (topics, catalogue) = (Arc::new(rough.clone()), self.catalogue.clone());
        Deps {
            room: room::Deps::for_one_room(topics, Arc::new(store), catalogue, self.clock.clone()),
            metrics: FanoutMetrics::declare(&Metrics::default()).unwrap(),
        }
    }

    /// Runs until there is nothing left to read (then it says so), it dies, or it is dropped where it stands
    /// after others went first so many times.
    async fn one_life(&self, ports: Deps, stop: usize) -> bool {
        let ended = async {
            let mut times = 0;
            while times < stop {
                if !self.is_behind().await {
                    return true;
                }
                tokio::task::yield_now().await;
                times += 1;
            }
            false
        };
        tokio::select! {
            died = fanout::run_with(ports, fanout::Config { records_max: 1, ..fanout::Config::default() }, self.sizes) => {
                assert!(died.is_err(), "it stopped by itself");
                false
            }
            caught_up = ended => caught_up,
        }
    }

    async fn is_behind(&self) -> bool {
        let groups = [
            (fanout::config::GROUP, topics::EVENTS),
            // After the events: what they left for slices is in the log by then.
            (fanout::config::SLICES_GROUP, topics::SLICES),
        ];
        for (group, topic) in groups {
            let standing = self.topics.standing(group, topic).await.unwrap();
            if standing.iter().any(|at| at.committed < at.end) {
                return true;
            }
        }
        false
    }

    /// Who is to be told of an event and why, from what is true of everybody.
    fn expected_rows(&self, event: &Event) -> Vec<(EventKey, Person, EntryReason)> {
        let named = |field: &str| event.state.text(field).map(person);
        let mut all: Vec<(Person, &str, AudienceMatch)> = Vec::new();
        if event.what == "work.opened" {
            let known = self.persons.iter().filter(|known| known.is_known);
            all.extend(known.map(|known| (known.name.clone(), "open", AudienceMatch::Everyone)));
        } else {
            let fields =
                ["author", "house"].map(|field| event.state.get(field).unwrap().refs()[0].to_string());
            let made = fields.iter().map(|target| ("made", target.clone()));
            for (kind, target) in made.chain([("seen", event.subject.to_string())]) {
                let follow = self.persons.iter().filter(|known| known.follows.contains(&target));
                let because = AudienceMatch::Follows(subject(&target));
                all.extend(follow.map(|known| (known.name.clone(), kind, because.clone())));
            }
            if let Some(Value::Place(middle)) = event.state.get("place") {
                for (kind, km) in [("near", 30.0), ("town", 3.0)] {
                    let is_near = |known: &&SlicePerson| {
                        known.place.or(known.by_address).is_some_and(|at| at.distance_km(*middle) <= km)
                    };
                    all.extend(
                        self.persons
                            .iter()
                            .filter(is_near)
                            .map(|known| (known.name.clone(), kind, AudienceMatch::Near)),
                    );
                }
            }
            all.extend(named("owner").map(|who| (who, "yours", AudienceMatch::Named)));
            if let (Some(one), Some(other)) = (named("owner"), named("guest"))
                && one != other
            {
                all.push((one.clone(), "met", AudienceMatch::Mutual(other.clone())));
                all.push((other, "met", AudienceMatch::Mutual(one)));
            }
            let listed = event.persons.iter();
            all.extend(listed.map(|one| (one.person.clone(), "pick", AudienceMatch::Listed(one.score))));
        }
        // Two kinds tell also who did it: one says so, the other is mutual.
        all.retain(|(who, kind, _)| {
            ["seen", "met"].contains(kind) || event.actor.as_ref().and_then(model::Actor::person) != Some(who)
        });
        let reason = |name: &str, because| EntryReason { kind: kind(name), because };
        all.into_iter().map(|(who, kind, because)| (event.key, who, reason(kind, because))).collect()
    }

    async fn rows(&self) -> Vec<(EventKey, Person, EntryReason)> {
        let day =
            |n: usize| DayKey { tenant: tenant("main"), person: person(&format!("p{n}")), day: a_day() };
        let keys: Vec<DayKey> = (0..60).map(day).collect();
        let rows = self.store.read(&keys, a_day().start().plus(12 * HOUR_MS)).await.unwrap();
        let mut found = Vec::new();
        for (key, rows) in keys.iter().zip(rows) {
            for row in rows {
                let DayRow::Entry(entry) = row else { panic!("{row:?}") };
                found.push((entry.key.event, key.person.clone(), entry.reason));
            }
        }
        found
    }
}

impl SlicePerson {
    fn draw(dice: &mut LawDice, number: usize) -> Self {
        let mut follows = BTreeSet::new();
        for target in ["author:0", "author:1", "author:2", "work:0", "work:1"] {
            if dice.once_in_a_hundred(40) {
                follows.insert(target.to_owned());
            }
        }
        let place = dice.once_in_a_hundred(70).then(|| any_place(dice));
        let by_address = dice.once_in_a_hundred(40).then(|| any_place(dice));
        let (name, is_known) = (person(&format!("p{number}")), dice.once_in_a_hundred(80));
        Self { name, follows, place, by_address, is_known }
    }
}

fn any_place(dice: &mut LawDice) -> GeoPoint {
    GeoPoint { lat: 52.0 + dice.pick(&STEPS), lon: 13.0 + dice.pick(&STEPS) }
}
