//! What is said to the house under test, what it acknowledged, and what must have become of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use runtime::Clock;
use serde_json::json;

use crate::house::KillHouse;

/// A message that arrived: under which id, to whom, and what it says, a line for each thing.
pub struct ArrivedMessage {
    pub id: String,
    pub to: String,
    pub text: String,
}

/// Persons who follow, events they should hear of, and which of these were acknowledged.
#[derive(Default)]
pub struct KillLoad {
    facts: bool,
    /// The address of the first of them, where it matters.
    pub first: Option<String>,
    /// What the browser of each of them subscribed to, where they are told by push.
    pub browsers: Vec<String>,
    /// The address of each of them, where they are told by a hook.
    pub hooks: Vec<String>,
    /// Whether what is published is urgent.
    pub is_urgent: bool,
    /// By number of the event: when it occurred, the same at every try, and whether it was acknowledged.
    events: BTreeMap<u64, (String, bool)>,
}

impl KillLoad {
    pub const PERSONS: u64 = 24;
    pub const EVENTS: u64 = 40;
    const AUTHORS: u64 = 5;

    /// Who each person is and whom they follow: person `p` follows authors `p` and `p + 1`.
    pub fn send_facts(&mut self, house: &KillHouse) {
        let mut lines = String::new();
        for p in 0..Self::PERSONS {
            let own = |all: &[String]| usize::try_from(p).ok().and_then(|p| all.get(p).cloned());
            let mut data = json!({"person": format!("p{p}"), "email": self.address(p)});
            if let Some(hook) = own(&self.hooks) {
                data["webhook"] = hook.into();
            }
            let profile = json!({"id": format!("profile-{p}"), "source": "kill", "type": "tidings.profile", "data": data});
            lines += &format!("{profile}\n");
            if let Some(token) = own(&self.browsers) {
                let device = json!({"id": format!("device-{p}"), "source": "kill", "type": "tidings.device",
                    "data": {"person": format!("p{p}"), "device": "browser", "platform": "web", "token": token}});
                lines += &format!("{device}\n");
            }
            for author in Self::authors_of(p) {
                let follow = json!({"id": format!("follow-{p}-{author}"), "source": "kill", "type": "tidings.follow",
                    "data": {"person": format!("p{p}"), "target": format!("author:{author}")}});
                lines += &format!("{follow}\n");
            }
        }
        self.facts = house.post("/v1/facts", &lines);
    }

    pub fn address(&self, p: u64) -> String {
        let first = self.first.clone().filter(|_| p == 0);
        first.unwrap_or_else(|| format!("p{p}@example.org"))
    }

    /// How often a person is to be told of an event.
    pub fn owed_count(p: u64, event: u64) -> usize {
        usize::from(Self::authors_of(p).contains(&(event % Self::AUTHORS)))
    }

    fn authors_of(person: u64) -> [u64; 2] {
        [person % Self::AUTHORS, (person + 1) % Self::AUTHORS]
    }

    /// Publishes every event that is not acknowledged yet, a few a request.
    pub fn publish(&mut self, house: &KillHouse) {
        self.publish_first(Self::EVENTS, house);
    }

    /// The same, of the first so many.
    pub fn publish_first(&mut self, most: u64, house: &KillHouse) {
        if self.events.is_empty() {
            let now = model::UtcMillis(Clock::real(0).now());
            self.events = (0..Self::EVENTS).map(|n| (n, (now.to_string(), false))).collect();
        }
        let first = self.events.range(..most);
        let open: Vec<u64> = first.filter(|(_, (_, acked))| !acked).map(|(n, _)| *n).collect();
        for some in open.chunks(4) {
            let what = if self.is_urgent { "post.alarmed" } else { "post.published" };
            let line = |n: &u64| {
                let event = json!({"id": format!("event-{n}"), "source": "kill", "type": what,
                    "subject": format!("post:{n}"), "time": self.events[n].0,
                    "data": {"title": format!("Title{n}."), "author": format!("author:{}", n % Self::AUTHORS),
                        "public": true}});
                format!("{event}\n")
            };
            let lines: String = some.iter().map(line).collect();
            if house.post("/v1/changes", &lines) {
                for n in some {
                    self.events.entry(*n).and_modify(|(_, acked)| *acked = true);
                }
            } else {
                // It stands still at its point: nothing more will be taken in this life.
                return;
            }
        }
    }

    pub fn is_acknowledged(&self) -> bool {
        self.facts
            && self.events.len() as u64 == Self::EVENTS
            && self.events.values().all(|(_, acked)| *acked)
    }

    /// What is wrong with what arrived: no message twice, each event once, and once more as a maybe at most.
    pub fn check_arrived(&self, told: &[ArrivedMessage], is_unclear: bool) -> Result<(), String> {
        let (mut wrong, mut ids) = (Vec::new(), BTreeSet::new());
        let mut by_person: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for message in told {
            if !ids.insert(&message.id) {
                wrong.push(format!("{} arrived twice", message.id));
            }
            by_person.entry(&message.to).or_default().push(&message.text);
        }
        let mut again = BTreeSet::new();
        for p in 0..Self::PERSONS {
            let texts = by_person.remove(self.address(p).as_str()).unwrap_or_default();
            for n in 0..Self::EVENTS {
                let title = format!("Title{n}.");
                let lines =
                    || texts.iter().flat_map(|text| text.lines()).filter(|line| line.contains(&title));
                let (count, maybe) =
                    (lines().count(), lines().filter(|line| line.contains("may have been sent")).count());
                if maybe > 0 {
                    again.insert(p);
                }
                let (least, most) = (Self::owed_count(p, n), Self::owed_count(p, n) + maybe);
                if !(least..=most).contains(&count) || maybe > 1 {
                    wrong.push(format!(
                        "p{p} was told of event {n} {count} times, {maybe} of them as a maybe"
                    ));
                }
            }
        }
        if is_unclear && again.is_empty() {
            wrong.push("nobody was told again, though nobody can know whether they were told".to_owned());
        }
        wrong.extend(by_person.keys().map(|address| format!("a message to {address}, whom nobody knows")));
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
    }

    /// What is urgent comes twice at most, in the same words under the same id, and never as a maybe.
    pub fn check_urgent(&self, told: Vec<ArrivedMessage>, was_taken: bool) -> Result<(), String> {
        let mut by_id: BTreeMap<String, Vec<ArrivedMessage>> = BTreeMap::new();
        for message in told {
            by_id.entry(message.id.clone()).or_default().push(message);
        }
        let mut twice = 0;
        for (id, messages) in &mut by_id {
            let first = &messages[0];
            let is_same = messages.iter().all(|message| message.text == first.text && message.to == first.to);
            if messages.len() > 2 || !is_same || first.text.contains("may have been sent") {
                return Err(format!("{id} arrived {} times, the same: {is_same}", messages.len()));
            }
            twice += usize::from(messages.len() > 1);
            messages.truncate(1);
        }
        if was_taken && twice == 0 {
            return Err("nothing went out again, though nobody can know whether it went out".to_owned());
        }
        self.check_arrived(&by_id.into_values().flatten().collect::<Vec<_>>(), false)
    }

    /// Every event is told to each of its followers in exactly one mail, and no mail left twice.
    pub fn check_mails(&self, house: &KillHouse, dir: &Path) -> Result<(), String> {
        let accepted = std::fs::read_to_string(dir.join("outbox/accepted.log")).map_err(|e| e.to_string())?;
        if let Some(again) = accepted.lines().find(|line| line.contains("again")) {
            return Err(format!("a mail left twice: {again}"));
        }
        let mails = read_mails(dir)?;
        let mut wrong = Vec::new();
        for p in 0..Self::PERSONS {
            let empty = Vec::new();
            let own = mails.get(&format!("p{p}@example.org")).unwrap_or(&empty);
            for n in 0..Self::EVENTS {
                let owed = Self::owed_count(p, n);
                let told = own.iter().filter(|text| text.contains(&format!("Title{n}."))).count();
                if told != owed {
                    wrong.push(format!("p{p} was told of event {n} {told} times, not {owed}"));
                }
            }
            wrong.extend(check_fates(house, p)?);
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
    }
}

/// What is wrong with the fates of a person's entries: all were told, and the journal knows it.
fn check_fates(house: &KillHouse, p: u64) -> Result<Vec<String>, String> {
    let days = house.days(&format!("p{p}"))?;
    let mut found = BTreeSet::new();
    let entries =
        days["days"].as_array().into_iter().flatten().filter_map(|day| day["entries"].as_array()).flatten();
    for entry in entries {
        for fate in entry["fates"].as_array().into_iter().flatten() {
            if fate["fate"] != "told" || fate["journal"] == "unknown" {
                found.insert(format!("p{p}, {}: {fate}", entry["subject"]));
            }
        }
    }
    Ok(found.into_iter().collect())
}

/// The text of every mail in the outbox, by receiver.
pub fn read_mails(dir: &Path) -> Result<BTreeMap<String, Vec<String>>, String> {
    let mut mails: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let folders = std::fs::read_dir(dir.join("outbox/mail")).map_err(|e| e.to_string())?;
    for folder in folders.flatten() {
        for file in std::fs::read_dir(folder.path()).map_err(|e| e.to_string())?.flatten() {
            let raw = std::fs::read(file.path()).map_err(|e| e.to_string())?;
            let mail = mail_parser::MessageParser::default().parse(&raw).ok_or("an unreadable mail")?;
            let to = mail.to().and_then(|to| to.first()).and_then(|to| to.address()).unwrap_or_default();
            let text = mail.body_text(0).unwrap_or_default().into_owned();
            mails.entry(to.to_owned()).or_default().push(text);
        }
    }
    Ok(mails)
}
