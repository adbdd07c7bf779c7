//! What happens: notes for each person, of about half of the kinds each, so that nobody has more windows than there
//! is room for. The same tick says the same.

use model::UtcMillis;
use serde_json::{Value, json};

use super::cast::CastMember;

const KINDS: [&[&str]; 2] = [
    &["dated", "sliding", "ahead", "absent", "first_a", "first_b", "both", "now"],
    &["dated", "lately", "rests", "rooms", "counted", "calm", "capped"],
];
/// In the first ticks everything happens, so that windows of every type are open soon; then a third of it.
const BUSY: u64 = 4;
const THIRD: u64 = 3;
/// Every so many notes are taken back as they come, and never told.
const GONE: u64 = 9;
/// What some notes are about lies so far ahead, and the next ones a little further.
const AHEAD: i64 = 22_000;
const FURTHER: i64 = 4_000;

/// A note that was said.
#[derive(Clone, Default, Debug)]
pub struct SaidNote {
    pub person: String,
    pub subject: String,
    pub kind: String,
    /// What the windows of its plan are told apart by.
    pub key: String,
    /// The instant that it is about.
    pub aim: i64,
    pub is_gone: bool,
}

/// Numbers notes.
#[derive(Default)]
pub struct NoteScript {
    notes: u64,
}

impl NoteScript {
    /// What happens at one tick: the records, and what they say.
    pub fn tick<'a>(
        &mut self,
        tick: u64,
        people: impl Iterator<Item = (&'a String, &'a CastMember)>,
        now: i64,
    ) -> (Vec<String>, Vec<SaidNote>) {
        let mut all = (vec![], vec![]);
        for (person, who) in people {
            for (place, kind) in (0..).zip(KINDS[usize::from(who.number % 2 == 1)]) {
                if tick >= BUSY && !(tick + place + who.number).is_multiple_of(THIRD) {
                    continue;
                }
                let (record, said) = self.draw_note((tick, now), (person, who.number), kind);
                all.0.push(record.to_string());
                all.1.push(said);
            }
        }
        all
    }

    fn draw_note(
        &mut self,
        (tick, now): (u64, i64),
        (person, number): (&str, u64),
        kind: &str,
    ) -> (Value, SaidNote) {
        self.notes += 1;
        let note = self.notes;
        // Of some subjects there is news again and again.
        let is_again = kind == "rests";
        let subject = if is_again { format!("note:r{number}-{}", tick % 2) } else { format!("note:{note}") };
        let (room, actor) = (format!("room:{}", tick % 3), format!("actor-{}", note % 2));
        let aim = now + AHEAD + FURTHER * i64::try_from(tick % 4).unwrap_or_default();
        let is_gone = note % GONE == 4 && !is_again;
        let data = json!({"title": subject, "reader": person, "room": room, "gone": is_gone,
            "starts": UtcMillis(aim).to_string()});
        let record = json!({"id": format!("change-{note}"), "source": "real", "type": format!("note.{kind}"),
            "subject": subject, "time": UtcMillis(now).to_string(), "actor": actor, "data": data});
        let key = match kind {
            "first_a" | "first_b" => kind.to_owned(),
            "rests" => subject.clone(),
            "rooms" => room,
            "counted" => actor,
            _ => String::new(),
        };
        let (person, kind) = (person.to_owned(), kind.to_owned());
        (record, SaidNote { person, subject, kind, key, aim, is_gone })
    }
}
