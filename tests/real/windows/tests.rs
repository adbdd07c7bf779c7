//! Each check sees the wrong that it is for.

use super::{
    cast::{CastMember, ComingHabit},
    checks,
    script::SaidNote,
    story::{StoryEntry, StoryFate, StorySighting, WindowStory},
};
use crate::outbox_mails::ToldMail;

const NINE: i64 = 600;
const BY_HAND: i64 = 900;
const PUSHES: [&str; 3] = ["now", "rests", "capped"];

impl WindowStory {
    fn note(&mut self, person: &str, kind: &str, key: &str, subjects: &[&str]) {
        for subject in subjects {
            let (person, subject) = (person.to_owned(), (*subject).to_owned());
            let waits = || Some(StoryFate { fate: "waiting".to_owned(), ..StoryFate::default() });
            let is_push = PUSHES.contains(&kind);
            let mail = if is_push && kind != "now" { None } else { waits() };
            let push = if is_push { waits() } else { None };
            self.entries.push(StoryEntry { person: person.clone(), subject: subject.clone(), mail, push });
            let (kind, key) = (kind.to_owned(), key.to_owned());
            self.said.push(SaidNote { person, subject, kind, key, aim: 200_000, is_gone: false });
        }
    }

    fn tell(&mut self, person: &str, plan: &str, closed: i64, subjects: &[&str]) {
        let (ready, is_push) = (format!("{plan}-{}", self.mails.len()), PUSHES.contains(&plan));
        for subject in subjects {
            let fate = |entry: &mut StoryEntry| {
                let fate = if is_push { &mut entry.push } else { &mut entry.mail };
                fate.as_mut().filter(|fate| fate.ready.is_none()).map(|fate| {
                    let (told, journal) = ("told".to_owned(), "sent".to_owned());
                    *fate = StoryFate { fate: told, ready: Some(ready.clone()), journal, at: closed * 1_000 };
                })
            };
            let mut own = self.entries.iter_mut().filter(|e| e.person == person && e.subject == *subject);
            own.find_map(fate);
        }
        let (to, plan) = (person.to_owned(), plan.to_owned());
        let items = subjects.iter().map(ToString::to_string).collect();
        self.mails.insert(ready, ToldMail { closed, to, plan, is_push, items });
    }

    fn end_entry(&mut self, subject: &str, is_push: bool, fate: &str) {
        let entry = self.entries.iter_mut().find(|entry| entry.subject == subject).unwrap();
        let of = if is_push { &mut entry.push } else { &mut entry.mail };
        *of = Some(StoryFate { fate: fate.to_owned(), ..StoryFate::default() });
    }

    /// Said and told.
    fn note_and_tell(&mut self, person: &str, kind: &str, closed: i64, subject: &str) {
        self.note(person, kind, "", &[subject]);
        self.tell(person, kind, closed, &[subject]);
    }

    fn entry_mut(&mut self, subject: &str) -> &mut StoryEntry {
        self.entries.iter_mut().find(|entry| entry.subject == subject).unwrap()
    }

    fn mail_mut(&mut self, subject: &str) -> &mut ToldMail {
        self.mails.values_mut().find(|mail| mail.items.iter().any(|item| item == subject)).unwrap()
    }
}

/// A story with a message of every plan, in which all is well.
fn good_story() -> WindowStory {
    let mut story = WindowStory { nine: NINE * 1_000, by_hand: BY_HAND * 1_000, ..WindowStory::default() };
    let ann = CastMember { has_nine: true, has_device: true, ..CastMember::default() };
    let ben = CastMember {
        released: Some(499_000),
        has_device: true,
        comes: ComingHabit::Often,
        ..CastMember::default()
    };
    let cleo = CastMember { quiet: Some(0..NINE * 1_000), ..CastMember::default() };
    story.people = [("ann", ann), ("ben", ben), ("cleo", cleo)].map(|(p, who)| (p.to_owned(), who)).into();
    story.seen = vec![StorySighting { person: "ben".to_owned(), at: 100_000, known: 100_500 }];
    story.note_and_tell("ann", "dated", NINE, "d1");
    story.note_and_tell("ben", "dated", 500, "d2");
    story.note_and_tell("ben", "dated", 950, "d3");
    story.note("ann", "sliding", "", &["s1", "s2", "s3"]);
    story.tell("ann", "sliding", 100, &["s1", "s2", "s3"]);
    story.note("ann", "counted", "x", &["e1", "e2", "e3", "e4"]);
    story.tell("ann", "counted", 100, &["e1", "e2", "e3", "e4"]);
    story.note_and_tell("ann", "ahead", 190, "a1");
    story.note_and_tell("ben", "absent", 160, "w1");
    story.note("ann", "first_a", "first_a", &["f1", "f2", "f3"]);
    story.tell("ann", "first", 10, &["f1"]);
    story.tell("ann", "first", 70, &["f2", "f3"]);
    story.note("ann", "both", "", &["b1", "b2"]);
    story.tell("ann", "both", 10, &["b1"]);
    story.tell("ann", "both", 70, &["b1", "b2"]);
    for (closed, subject) in [(10, "l1"), (20, "l2"), (80, "l3")] {
        story.note_and_tell("ann", "lately", closed, subject);
    }
    story.note("ann", "rests", "r", &["r", "r", "r"]);
    for closed in [10, 15, 25] {
        story.tell("ann", "rests", closed, &["r"]);
    }
    for (closed, subject) in [(10, "c1"), (11, "c2"), (12, "c3"), (950, "c4")] {
        story.note_and_tell("ann", "capped", closed, subject);
    }
    story.note_and_tell("cleo", "calm", NINE, "q1");
    story.note_and_tell("ben", "calm", 125, "q2");
    story.note("ann", "now", "", &["n1"]);
    story.tell("ann", "now", 10, &["n1"]);
    story.tell("ann", "nudge", 75, &["n1"]);
    story.note("ben", "now", "", &["n2"]);
    story.tell("ben", "now", 50, &["n2"]);
    story.end_entry("n2", false, "was online");
    story.note("cleo", "now", "", &["n3"]);
    story.tell("cleo", "nudge", 20, &["n3"]);
    story.end_entry("n3", true, "no address");
    story
}

#[test]
fn what_is_well_is_not_wrong() {
    assert_eq!(checks::find_wrong(&good_story()), Vec::<String>::new());
}

#[test]
fn each_wrong_is_seen_by_its_check() {
    let check = |plant: fn(&mut WindowStory), by: &str| {
        let mut story = good_story();
        plant(&mut story);
        let wrong = checks::find_wrong(&story);
        assert!(wrong.iter().any(|wrong| wrong.starts_with(by)), "{by} sees nothing: {wrong:?}");
    };
    let owed = "told as often as owed";
    check(|story| story.tell("ann", "dated", 950, &["d1"]), owed);
    check(|story| story.mails.retain(|_, mail| mail.items != ["d1"]), owed);
    check(|story| story.tell("ann", "both", 950, &["b1"]), owed);
    check(|story| story.tell("ben", "ahead", 950, &["a1"]), owed);
    check(|story| story.said[0].is_gone = true, owed);
    check(|story| story.note("ann", "dated", "", &["d9"]), "every entry has its end");
    check(|story| story.entries.truncate(10), "every entry has its end");
    check(|story| story.entries.push(story.entries[0].clone()), "every entry has its end");
    check(|story| story.mail_mut("d1").to = "ben".to_owned(), "days and messages agree");
    check(|story| story.mail_mut("s1").items.truncate(2), "days and messages agree");
    check(|story| story.note_and_tell("ann", "dated", NINE + 1, "d9"), "a date once");
    check(|story| story.note_and_tell("ann", "dated", NINE, "d9"), "a date once");
    check(|story| story.mail_mut("d3").closed = NINE, "a date once");
    check(|story| story.mail_mut("d2").closed = 400, "a date once");
    check(|story| _ = story.awaits.insert("cleo".to_owned()), "a date once");
    check(|story| story.note_and_tell("cleo", "dated", NINE, "d9"), "a date once");
    check(|story| story.mail_mut("s1").items.truncate(2), "enough for a message");
    check(|story| story.mail_mut("e1").items.truncate(3), "enough for a message");
    check(|story| story.mail_mut("e1").items.push("f1".to_owned()), "one key in a message");
    check(|story| story.mail_mut("a1").closed = 189, "not long before");
    check(|story| story.note_and_tell("ben", "absent", 158, "w9"), "only who is away");
    check(|story| story.mail_mut("f1").items.push("f2".to_owned()), "the first alone");
    check(|story| story.mail_mut("f2").closed = 9, "the first alone");
    check(
        |story| story.mail_mut("b2").items = vec!["b2".to_owned(), "b3".to_owned()],
        "the first beside the others",
    );
    check(|story| story.mail_mut("l3").closed = 60, "few at once");
    check(|story| story.note_and_tell("ann", "rests", 12, "r"), "longer and longer rests");
    check(|story| story.mail_mut("c4").closed = 100, "no more than the cap");
    check(|story| story.note_and_tell("cleo", "calm", NINE - 1, "q9"), "nobody is disturbed");
    check(|story| story.note_and_tell("ben", "calm", 123, "q9"), "nobody is disturbed");
    check(|story| story.entry_mut("n1").push.as_mut().unwrap().at = 76_000, "a push first");
    check(|story| story.mails.retain(|_, mail| mail.plan != "now"), "a push first");
    check(|story| story.tell("ben", "nudge", 110, &["n2"]), "who came needs no mail");
}
