//! Realistic example data: words of plausible lengths, made distinct by a number, and states under which a kind is
//! told. The sparse variant leaves out every optional field.

use std::collections::BTreeMap;

use catalogue::{Audience, Catalogue, KindDef, example_moment};
use expression::ConditionFacts;
use model::{
    FieldType, GeoPoint, Person, SubjectRef, SubjectType, UtcMillis, Value, ValueCell, VersionedState,
};

/// Tries to make a condition hold. Most hold at once, or with a flag turned.
const TRIES: usize = 400;
/// The other party, for kinds about two persons.
const OTHER: &str = "ben";
/// How many different subjects are referred to.
const REFERRED: usize = 5;

const THINGS: [&str; 16] = [
    "Harbour",
    "Moon",
    "Two rooms",
    "Garden",
    "Winter Salon",
    "Ebb",
    "The long table",
    "Glass",
    "Lantern",
    "A field",
    "Blue hour",
    "Stairs",
    "Orchard",
    "Letters",
    "The ferry",
    "Market day",
];
const WHERE: [&str; 12] = [
    "at dawn",
    "over the Spree",
    "at the park",
    "in the rain",
    "by the sea",
    "without end",
    "on Sunday",
    "for Ada",
    "near the old mill",
    "in four parts",
    "after the fair",
    "under the bridge",
];
const FIRST: [&str; 8] = ["Mira", "Jon", "Adaeze", "Lena", "Tomás", "Yuki", "Samir", "Charlotte"];
const LAST: [&str; 8] = ["Okafor", "Vik", "Holm", "Baumgartner", "Ito", "Haddad", "de Souza", "Lindqvist"];
const CITIES: [&str; 6] = ["Berlin", "Hamburg", "Rotterdam", "San Sebastián", "Łódź", "Aarhus"];
const SENTENCES: [&str; 4] = [
    "I walked past it twice before I saw that the door was open, and then stayed until they closed.",
    "Can you come on Thursday? The others are there from six, and somebody has to bring the keys.",
    "Quiet, with light from two sides; the tram stops in front of the house and the park begins behind it.",
    "Thank you for the photos! I like the third one best, although it is a little dark.",
];

/// A person's name, by a number that tells it from some sixty others.
pub fn example_name(number: usize) -> String {
    let of = |pool: &[&'static str], at: usize| pool.get(at % pool.len().max(1)).copied().unwrap_or_default();
    format!("{} {}", of(&FIRST, number), of(&LAST, number / FIRST.len() + number))
}

/// A subject about which something is told, and what it refers to.
#[derive(Clone, PartialEq, Debug)]
pub struct ToldExample {
    pub subject: SubjectRef,
    pub state: VersionedState,
    pub related: BTreeMap<SubjectRef, VersionedState>,
}

/// Something that a kind tells, with every field set, by the number that tells it from others. Its condition holds
/// unless no data could be found under which it does.
pub fn told_example(catalogue: &Catalogue, kind: &KindDef, number: usize) -> Option<ToldExample> {
    let subject = Catalogue::example_ref(kind.subject(), number)?;
    let state = varied_state(catalogue, &subject);
    let related =
        catalogue.related_refs(&state).into_iter().map(|of| (of.clone(), varied_state(catalogue, &of)));
    let full = ToldExample { related: related.collect(), subject, state };
    if full.is_told(kind) {
        return Some(full);
    }
    let mut dice = ExampleDice(number as u64 + 1);
    let found = (0..TRIES).map(|_| full.change_values(kind, &mut dice)).find(|tried| tried.is_told(kind));
    Some(found.unwrap_or(full))
}

/// A subject of which every field says something, by the number in its id.
pub fn varied_state(catalogue: &Catalogue, subject: &SubjectRef) -> VersionedState {
    let mut state = VersionedState::default();
    let Some(declared) = catalogue.subjects.get(subject.kind()) else { return state };
    let number = subject.id().parse().unwrap_or(1);
    for (name, field) in &declared.fields {
        if let Some(value) = varied_value(declared, name, field, number) {
            state.set(name, ValueCell { version: 1, value: Some(value) });
        }
    }
    state
}

impl ToldExample {
    /// Whether the kind finds somebody for it, and its condition holds.
    pub fn is_told(&self, kind: &KindDef) -> bool {
        let facts = ConditionFacts {
            subject: &self.subject,
            state: &self.state,
            related: &|of| self.related.get(of),
            moment: example_moment(),
        };
        let holds = kind.holds.as_ref().is_none_or(|condition| condition.holds(&facts).unwrap_or(false));
        holds && self.is_found(kind)
    }

    fn is_found(&self, kind: &KindDef) -> bool {
        match &kind.to {
            Audience::Near { field, .. } => self.state.place(field).is_some(),
            Audience::Person(field) => self.state.text(field).is_some(),
            Audience::Mutual(one, other) => [one, other].iter().all(|field| self.state.text(field).is_some()),
            Audience::FollowersOf(_) | Audience::SubscribersOf(_) => {
                !kind.audience_matches(&self.subject, &self.state, Person::new(OTHER).ok()).is_empty()
            }
            Audience::Listed | Audience::Everyone => true,
        }
    }

    /// Without one field of the subject, or of all that it refers to; nothing if it is not told without it.
    pub fn without_field(&self, kind: &KindDef, field: &str, of: Option<&str>) -> Option<Self> {
        let mut without = self.clone();
        match of {
            None => remove_field(&mut without.state, field),
            Some(of) => {
                let related = without.related.iter_mut().filter(|(subject, _)| subject.kind() == of);
                related.for_each(|(_, state)| remove_field(state, field));
            }
        }
        (without != *self && without.is_told(kind)).then_some(without)
    }

    /// The sparse variant: every optional field is left out.
    pub fn reduce_to_least(&self, kind: &KindDef) -> Self {
        let mut least = self.clone();
        for (of, field) in self.fields() {
            if let Some(less) = least.without_field(kind, &field, of.as_deref()) {
                least = less;
            }
        }
        least
    }

    /// The fields of the subject, and by their types those of what it refers to.
    pub fn fields(&self) -> Vec<(Option<String>, String)> {
        let own = self.state.cells.keys().map(|field| (None, field.to_string()));
        let related = self.related.iter().flat_map(|(subject, state)| {
            state.cells.keys().map(|field| (Some(subject.kind().to_string()), field.to_string()))
        });
        // What is referred to first: it is known only as long as something refers to it.
        let mut fields: Vec<_> = related.chain(own).collect();
        fields.sort_by(|one, other| (one.0.is_none(), one).cmp(&(other.0.is_none(), other)));
        fields.dedup();
        fields
    }

    /// The same with numbers that are one: all of them, or each alone where it is not told then.
    pub fn singular_variants(&self, kind: &KindDef) -> Vec<Self> {
        let is_number = |cell: &ValueCell| matches!(cell.value, Some(Value::Number(_)));
        let one = |of: Option<&str>| {
            let mut single = self.clone();
            let states = std::iter::once(&mut single.state).chain(single.related.values_mut());
            let cells = states.flat_map(|state| state.cells.iter_mut());
            for (_, cell) in
                cells.filter(|(name, cell)| is_number(cell) && of.is_none_or(|of| &***name == of))
            {
                cell.value = Some(Value::Number(1.0));
            }
            (single != *self && single.is_told(kind)).then_some(single)
        };
        if let Some(all) = one(None) {
            return vec![all];
        }
        self.fields().iter().filter_map(|(_, field)| one(Some(field))).collect()
    }

    /// With other values where the kind's condition reads some.
    fn change_values(&self, kind: &KindDef, dice: &mut ExampleDice) -> Self {
        let Some(condition) = &kind.holds else { return self.clone() };
        let (texts, numbers) = condition_literals(&condition.text);
        let mut changed = self.clone();
        let subject = changed.subject.clone();
        let all = std::iter::once((&subject, &mut changed.state)).chain(changed.related.iter_mut());
        for (subject, state) in all {
            for field in condition.fields(subject.kind()) {
                let Some(cell) = state.cells.get_mut(field.as_str()) else { continue };
                match (&cell.value, dice.below(4)) {
                    (Some(Value::Flag(_)), roll) => cell.value = Some(Value::Flag(roll % 2 == 0)),
                    (Some(Value::Text(_)), 1 | 2) => {
                        cell.value =
                            dice.pick(&texts).map(|text| Value::from_text(text)).or(cell.value.take());
                    }
                    (Some(Value::Number(n)), 1) => cell.value = Some(Value::Number(n + 100.0)),
                    (Some(Value::Number(n)), 2 | 3) => {
                        let near = dice.pick(&numbers).map_or(*n, |number| number + f64::from(dice.step()));
                        cell.value = Some(Value::Number(near));
                    }
                    (Some(_), 3) => remove_field(state, &field),
                    _ => {}
                }
            }
        }
        changed
    }
}

fn remove_field(state: &mut VersionedState, field: &str) {
    state.cells.retain(|name, _| &**name != field);
}

/// The texts and the numbers that are written in a condition.
fn condition_literals(condition: &str) -> (Vec<String>, Vec<f64>) {
    let mut texts = Vec::new();
    let mut rest = condition;
    let mut bare = String::new();
    while let Some(at) = rest.find(['"', '\'']) {
        bare += rest.get(..at).unwrap_or_default();
        let quote = rest.get(at..=at).unwrap_or_default();
        let inner = rest.get(at + 1..).unwrap_or_default();
        let end = inner.find(quote).unwrap_or(inner.len());
        texts.extend(inner.get(..end).map(str::to_string));
        rest = inner.get(end + 1..).unwrap_or_default();
        bare.push(' ');
    }
    bare += rest;
    let words = bare.split(|c: char| !c.is_alphanumeric() && c != '.' && c != '_');
    (texts, words.filter_map(|word| word.parse().ok()).collect())
}

/// Chance that is the same in each run.
struct ExampleDice(u64);

impl ExampleDice {
    fn below(&mut self, most: usize) -> usize {
        // Marsaglia's xorshift: enough to try values out.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % most.max(1)
    }

    fn step(&mut self) -> i8 {
        [-1, 0, 1].get(self.below(3)).copied().unwrap_or(0)
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        let at = self.below(of.len());
        of.get(at)
    }
}

fn varied_value(declared: &SubjectType, name: &str, field: &FieldType, number: usize) -> Option<Value> {
    let to = |target: &str, nth: usize| Catalogue::example_ref(target, (number + nth) % REFERRED + 1);
    Some(match field {
        FieldType::Text => Value::from_text(&varied_text(declared, name, number)),
        FieldType::Url => Value::from_text(&varied_address(&declared.name, name, number)),
        // Never one, so that what is said of many is said.
        #[allow(clippy::cast_precision_loss)]
        FieldType::Number => Value::Number((number * 37 % 90 + 2) as f64),
        FieldType::Flag => Value::Flag(true),
        FieldType::Time => {
            let start = UtcMillis::parse("2026-11-27T18:00:00Z")?;
            let hours = i64::try_from(number).unwrap_or_default() * 27;
            Value::Time(UtcMillis(start.0 + hours * 3_600_000))
        }
        FieldType::Ref(target) => Value::Ref(to(target, 0)?),
        FieldType::Refs(target) => {
            let many = 2 + number % 2;
            Value::Refs((0..many).filter_map(|nth| to(target, nth)).collect())
        }
        // By the name of the field, so that two fields are two persons.
        FieldType::Person => Value::from_text(name),
        #[allow(clippy::cast_precision_loss)]
        FieldType::Place => {
            let step = (number % 20) as f64;
            Value::Place(GeoPoint { lat: 52.44 + step * 0.007, lon: 13.3 + step * 0.009 })
        }
    })
}

/// A text that could stand in a field of this name.
fn varied_text(declared: &SubjectType, name: &str, number: usize) -> String {
    let is = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let of =
        |pool: &[&str], at: usize| pool.get(at % pool.len().max(1)).copied().unwrap_or_default().to_string();
    let round = number / THINGS.len() + number;
    if is(&["words", "text", "body", "description", "summary", "motto", "comment", "message", "excerpt"]) {
        format!("{} ({number})", of(&SENTENCES, number))
    } else if is(&["city", "town", "district"]) {
        of(&CITIES, number)
    } else if is(&["name", "who", "author", "user"]) {
        example_name(number)
    } else if declared.called.as_deref() == Some(name) || is(&["title", "label", "headline"]) {
        format!("{} {}", of(&THINGS, number), of(&WHERE, round))
    } else {
        of(&THINGS, number + name.len())
    }
}

/// An address as long as they are: pictures come from elsewhere, with their size and version.
fn varied_address(subject: &str, name: &str, number: usize) -> String {
    let is_picture =
        ["image", "picture", "photo", "avatar", "logo", "cover"].iter().any(|word| name.contains(word));
    if is_picture {
        format!("https://images.example.com/{subject}/{number}/{name}-1200x900.jpg?v=5f3a9c{number}")
    } else {
        format!("https://www.example.com/{subject}/{number}-{name}-of-the-{subject}")
    }
}
