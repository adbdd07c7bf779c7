//! A canary: a catalogue that is tried on a share of the persons, while all others have the one of before.
//!
//! Who has which is a function of the person alone, so it is the same in each room, after a restart and when the share
//! grows. Both are checked as one: what comes in, and whom a kind is for, is the same in both; what is told, when and
//! in which words may differ.

use std::sync::Arc;

use model::{Kind, Person, PlanName, plan::Plan};
use share_ratio::ShareRatio;
use xxhash_rust::xxh3::xxh3_64;

use crate::{Catalogue, KindDef};

/// Keeps who has the canary apart from who has which partition.
const SALT: &[u8] = b"canary\0";

/// A catalogue on trial.
#[derive(Clone, PartialEq, Debug)]
pub struct CanaryCatalogue {
    pub catalogue: Arc<Catalogue>,
    /// Of all persons.
    pub share: ShareRatio,
}

/// Which of two catalogues a person has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CatalogueArm {
    Base,
    Canary,
}

impl CatalogueArm {
    pub const ALL: [Self; 2] = [Self::Base, Self::Canary];

    pub fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Canary => "canary",
        }
    }
}

impl Catalogue {
    /// The same with another one on trial; all that stands against it, if anything does.
    pub fn with_canary(mut self, canary: Self, share: ShareRatio) -> Result<Self, Vec<String>> {
        let problems = find_differences(&self, &canary);
        if !problems.is_empty() {
            return Err(problems);
        }
        let of_all = [self.hash, canary.hash, u64::from(share.thousandths())].map(u64::to_le_bytes);
        self.hash = xxh3_64(of_all.as_flattened());
        self.canary = Some(CanaryCatalogue { catalogue: Arc::new(canary), share });
        Ok(self)
    }

    /// The one that a person has.
    pub fn for_person(&self, person: &Person) -> &Self {
        match (&self.canary, self.arm_of(person)) {
            (Some(canary), CatalogueArm::Canary) => &canary.catalogue,
            _ => self,
        }
    }

    pub fn arm_of(&self, person: &Person) -> CatalogueArm {
        match &self.canary {
            Some(canary) if canary.share.has(draw_person(person)) => CatalogueArm::Canary,
            _ => CatalogueArm::Base,
        }
    }

    /// Each with its arm.
    pub fn arms(&self) -> impl Iterator<Item = (CatalogueArm, &Self)> + Clone {
        let canary = self.canary.as_ref().map(|canary| (CatalogueArm::Canary, &*canary.catalogue));
        std::iter::once((CatalogueArm::Base, self)).chain(canary)
    }

    /// Kinds that are told on an event, of each arm.
    pub fn kinds_of_arms_on(&self, what: &str) -> impl Iterator<Item = &KindDef> {
        self.arms().flat_map(move |(_, of)| of.kinds_on(what))
    }

    /// Whether a kind is in either.
    pub fn knows_kind(&self, kind: &Kind) -> bool {
        self.arms().any(|(_, of)| of.kinds.contains_key(kind))
    }

    /// The plans of both.
    pub fn plans_of_arms(&self) -> impl Iterator<Item = &Plan> + Clone {
        self.arms().flat_map(|(_, of)| of.plans.by_name.values())
    }

    /// Whether a plan of either has pushes with a number.
    pub fn have_badges(&self) -> bool {
        self.arms().any(|(_, of)| of.plans.have_badges())
    }

    /// Whether a plan of either has pushes.
    pub fn have_pushes(&self) -> bool {
        self.arms().any(|(_, of)| of.plans.have_pushes())
    }

    /// What the house calls it, among the catalogues that it took up.
    pub fn edition_name(&self) -> String {
        match &self.canary {
            None => self.name.clone(),
            Some(canary) => format!("{}, canary for {}", self.name, canary.share),
        }
    }
}

/// The number of a person, which is as good as random.
fn draw_person(person: &Person) -> u64 {
    xxh3_64(&[SALT, person.as_str().as_bytes()].concat())
}

/// In what two catalogues may not differ.
fn find_differences(base: &Catalogue, canary: &Catalogue) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |is_same: bool, what: &str| {
        if !is_same {
            found.push(format!("`{what}` must be the same in both"));
        }
    };
    compare(base.name == canary.name, "catalogue");
    compare(base.subjects == canary.subjects, "subjects");
    compare(base.sources == canary.sources, "sources");
    compare(base.plans.surfaces == canary.plans.surfaces, "surfaces");
    let is_told_alike = |name: &Kind, other: &KindDef| {
        base.kinds.get(name).is_none_or(|own| own.on == other.on && own.to == other.to)
    };
    for (name, _) in canary.kinds.iter().filter(|(name, other)| !is_told_alike(name, other)) {
        found.push(format!("kind `{name}` must have the same `on` and `to` in both, or another name"));
    }
    let has_same_channel = |name: &PlanName, other: &Plan| {
        base.plans.by_name.get(name).is_none_or(|own| own.channel == other.channel)
    };
    for (name, _) in canary.plans.by_name.iter().filter(|(name, other)| !has_same_channel(name, other)) {
        found.push(format!("plan `{name}` must have the same channel in both, or another name"));
    }
    // Whoever asks for a slot says the list's name, and not whose catalogue it is of.
    let differs = |name: &String| base.slots.get(name).is_some_and(|own| canary.slots.get(name) != Some(own));
    for name in canary.slots.keys().filter(|name| differs(name)) {
        found.push(format!("slots `{name}` must be the same in both, or have another name"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `KIND` is the kind that there is.
    const TEXT: &str = "catalogue: flats
subjects:
  flat: {title: text, price: number}
kinds:
  KIND: {on: flat.cheaper, to: {followers_of: subject}, says: 'cheaper', plans: [daily]}
plans:
  daily:
    channel: push
    close: {daily: \"09:00\", zone: person}
    look_back: 3d
    headline: 'x'
    body: 'x'
    sections: [{title: New, kinds: KIND, most: 5}]
";

    fn parse(text: &str) -> Catalogue {
        Catalogue::parse(text, "catalogue.yaml", &|_| Ok(String::new()))
            .unwrap_or_else(|problems| panic!("{problems}"))
    }

    fn base() -> Catalogue {
        parse(&TEXT.replace("KIND", "cheaper"))
    }

    fn persons() -> impl Iterator<Item = Person> {
        (0..20_000).filter_map(|number| Person::new(&format!("p{number}")).ok())
    }

    #[test]
    fn what_may_not_differ_is_refused() {
        let base = TEXT.replace("KIND", "cheaper");
        let check = |from: &str, to: &str, expected: &[&str]| {
            let other = TEXT.replace(from, to).replace("KIND", "cheaper");
            assert_ne!(other, base);
            let found = parse(&base).with_canary(parse(&other), ShareRatio::from_percent(5));
            assert_eq!(found.err().unwrap_or_default(), expected, "{to}");
        };
        check("says: 'cheaper'", "says: 'less'", &[]);
        check("\"09:00\"", "\"10:00\"", &[]);
        check("KIND", "less", &[]);
        check("catalogue: flats", "catalogue: rooms", &["`catalogue` must be the same in both"]);
        check("price: number", "price: text", &["`subjects` must be the same in both"]);
        let kind = "kind `cheaper` must have the same `on` and `to` in both, or another name";
        check("on: flat.cheaper", "on: flat.gone", &[kind]);
        check("{followers_of: subject}", "everyone", &[kind]);
        let plan = "plan `daily` must have the same channel in both, or another name";
        check("channel: push", "channel: chat", &[plan]);
    }

    #[test]
    fn lists_of_slots_of_one_name_are_the_same() {
        let slots = "slots:\n  best: {of: flat, places: 2, image: image, link: page, alt: x, from: [{table: top.flats}], hosts: a.example, instead: {image: 'https://a.example/x', link: 'https://a.example/y'}}\nkinds:";
        let text = TEXT
            .replace("KIND", "cheaper")
            .replace("price: number}", "price: number, image: url, page: url}\n  top: {flats: refs flat}");
        let with = |slots: &str| parse(&text.replace("kinds:\n", &format!("{slots}\n")));
        let check = |other: &str, expected: &[&str]| {
            let found = with(slots).with_canary(with(other), ShareRatio::from_percent(5));
            assert_eq!(found.err().unwrap_or_default(), expected, "{other}");
        };
        check(&format!("# Another line.\n{slots}"), &[]);
        check("kinds:", &[]);
        check(&slots.replace("best:", "better:"), &[]);
        check(
            &slots.replace("places: 2", "places: 3"),
            &["slots `best` must be the same in both, or have another name"],
        );
    }

    #[test]
    fn a_share_of_the_persons_has_it_and_keeps_it_as_the_share_grows() {
        let tried = |share: ShareRatio| base().with_canary(base(), share).unwrap();
        let (few, more) = (tried(ShareRatio::from_percent(5)), tried(ShareRatio::from_percent(20)));
        let has = |of: &Catalogue, person: &Person| of.arm_of(person) == CatalogueArm::Canary;
        let count = persons().filter(|person| has(&few, person)).count();
        assert!((850..1_150).contains(&count), "{count} of 20,000");
        assert!(persons().all(|person| !has(&few, &person) || has(&more, &person)));
        let (nobody, all) = (tried(ShareRatio::NONE), tried(ShareRatio::WHOLE));
        assert!(persons().all(|person| !has(&nobody, &person) && has(&all, &person)));
        assert!(few.hash != more.hash && few.hash != base().hash);
    }

    #[test]
    fn the_name_says_whom_it_is_tried_on() {
        let tried = base().with_canary(base(), "0.5%".parse().unwrap()).unwrap();
        assert_eq!(tried.edition_name(), "flats, canary for 0.5 %");
    }
}
