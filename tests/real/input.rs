//! What is said to a house: who follows whom, and what happens. The same numbers are the same input.

use model::UtcMillis;
use serde_json::json;

use crate::outbox_mails::TellingCounts;

/// Entries that a person has about; far from what makes a day full.
const ENTRIES: u64 = 80;
/// Every so many posts are never public.
const HIDDEN: u64 = 10;

pub struct HouseInput {
    pub facts: Vec<String>,
    pub events: Vec<String>,
    pub persons: Vec<String>,
    /// How often each person is to be told of each subject.
    pub owed: TellingCounts,
}

impl HouseInput {
    /// Half of the events are notes for one person; the other half are posts for four followers, each
    /// published twice.
    pub fn new(events: u64, now: UtcMillis) -> Self {
        let persons = (events * 5 / 2 / ENTRIES).max(20);
        let authors = persons / 2;
        let mut input = Self { facts: vec![], events: vec![], persons: vec![], owed: TellingCounts::new() };
        for p in 0..persons {
            // The odd ones take the first plan that there is.
            let plan = if p % 3 == 0 { "slow" } else { "soon" };
            input.persons.push(person_name(p));
            input.facts.push(profile_fact(p, Some(plan)));
            input.facts.extend([p, p + 1].map(|author| follow_fact(p, author % authors)));
        }
        for n in 0..events {
            let time = now.plus(i64::try_from(n).unwrap_or_default() * 10 - 3_600_000).to_string();
            if n % 2 == 0 {
                let reader = n / 2 % persons;
                let subject = format!("note:{n}");
                input.events.push(note_event(&subject, reader, &time));
                *input.owed.entry((person_name(reader), subject)).or_default() += 1;
                continue;
            }
            let (post, author) = (n / 4, n / 4 % authors);
            let is_public = !post.is_multiple_of(HIDDEN);
            let data = json!({"title": format!("post:{post}"), "author": format!("author:{author}"),
                "public": is_public});
            let event = json!({"id": format!("event-{n}"), "source": "real", "type": "post.published",
                "subject": format!("post:{post}"), "time": time, "data": data});
            input.events.push(event.to_string());
            if is_public {
                for p in (0..persons).filter(|p| [p % authors, (p + 1) % authors].contains(&author)) {
                    *input.owed.entry((person_name(p), format!("post:{post}"))).or_default() += 1;
                }
            }
        }
        input
    }
}

pub fn person_name(number: u64) -> String {
    format!("p{number}")
}

pub fn profile_fact(number: u64, plan: Option<&str>) -> String {
    let person = person_name(number);
    let mut data = json!({"person": person, "email": format!("{person}@example.org")});
    if let Some(plan) = plan {
        data["email_plan"] = plan.into();
    }
    json!({"id": format!("profile-{number}"), "source": "real", "type": "tidings.profile", "version": 1,
        "data": data})
    .to_string()
}

pub fn follow_fact(number: u64, author: u64) -> String {
    json!({"id": format!("follow-{number}-{author}"), "source": "real", "type": "tidings.follow", "version": 1,
        "data": {"person": person_name(number), "target": format!("author:{author}")}})
    .to_string()
}

/// A note for one person, by its subject.
pub fn note_event(subject: &str, reader: u64, time: &str) -> String {
    json!({"id": subject, "source": "real", "type": "note.written", "subject": subject, "time": time,
        "data": {"title": subject, "reader": person_name(reader)}})
    .to_string()
}
