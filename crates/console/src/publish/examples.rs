//! The events that the form offers, with example data that is really told.

use std::collections::BTreeMap;

use catalogue::{Audience, Catalogue, example_moment};
use expression::ConditionFacts;
use model::{Day, UtcMillis, Value, ValueCell, VersionedState, limits::DAY_MS};

/// The name of an event that tells nobody and only changes its subject.
const CHANGED: &str = "changed";
/// Flags whose values are tried out; each doubles the work.
const FLAGS_TRIED: usize = 8;

/// An event that can be published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventExample {
    pub what: String,
    pub subject: String,
    /// The kinds that are told on it.
    pub kinds: Vec<String>,
    /// Whether one of them is told to persons whom the event lists.
    pub lists: bool,
}

/// Every event that a kind is told on, and one for each subject that is never told by itself.
pub fn examples(catalogue: &Catalogue) -> Vec<EventExample> {
    let mut told: BTreeMap<String, EventExample> = BTreeMap::new();
    for kind in catalogue.kinds.values() {
        let (what, subject) = (kind.on.clone(), kind.subject().to_owned());
        let silent = EventExample { what: what.clone(), subject, kinds: Vec::new(), lists: false };
        let example = told.entry(what).or_insert(silent);
        example.kinds.push(kind.name.to_string());
        example.lists |= kind.to == Audience::Listed;
    }
    let mut examples: Vec<EventExample> = told.into_values().collect();
    let silent = catalogue.subjects.keys().map(|subject| {
        let what = format!("{subject}.{CHANGED}");
        EventExample { what, subject: subject.clone(), kinds: Vec::new(), lists: false }
    });
    examples.extend(silent.filter(|silent| !catalogue.kinds.values().any(|kind| kind.on == silent.what)));
    examples
}

impl EventExample {
    /// Example data under which the event is told: its times are still to come, and the flags are turned until every
    /// kind's condition holds, since an example that is suppressed shows nothing.
    pub fn state(&self, catalogue: &Catalogue, now: UtcMillis) -> VersionedState {
        let mut full = catalogue.example(&self.subject);
        let tomorrow = Day::from_instant(now.plus(DAY_MS));
        for cell in full.cells.values_mut() {
            if let Some(Value::Time(at)) = &mut cell.value {
                *at = at.plus((tomorrow.start().since(*at) / DAY_MS + 1).max(0) * DAY_MS);
            }
        }
        let flags = full.cells.iter().filter(|(_, cell)| matches!(cell.value, Some(Value::Flag(_))));
        let flags: Vec<_> = flags.map(|(name, _)| name.clone()).take(FLAGS_TRIED).collect();
        // Each bit of the number is one flag that is off.
        let tries = (0..1_u32 << flags.len()).map(|off| {
            let mut state = full.clone();
            for (_, name) in flags.iter().enumerate().filter(|(bit, _)| off & (1 << bit) != 0) {
                state.cells.insert(name.clone(), ValueCell { version: 1, value: Some(Value::Flag(false)) });
            }
            state
        });
        let told = tries.into_iter().find(|state| self.is_told(catalogue, state));
        told.unwrap_or(full)
    }

    fn is_told(&self, catalogue: &Catalogue, state: &VersionedState) -> bool {
        let Some(subject) = Catalogue::example_ref(&self.subject, 1) else { return true };
        let refers_to = catalogue.related_refs(state).into_iter();
        let related: BTreeMap<_, _> =
            refers_to.map(|of| (of.clone(), catalogue.example(of.kind()))).collect();
        let facts = ConditionFacts {
            subject: &subject,
            state,
            related: &|of| related.get(of),
            moment: example_moment(),
        };
        let conditions = catalogue.kinds_on(&self.what).filter_map(|kind| kind.holds.as_ref());
        conditions.into_iter().all(|condition| condition.holds(&facts).unwrap_or(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOP: &str = "
catalogue: shop
subjects:
  item: {title: text, maker: ref maker, offered: flag, banned: flag, until: time}
  maker: {name: text}
kinds:
  item_offered:
    on: item.offered
    to: {followers_of: maker}
    while: subject.offered and not subject.banned
    says: 'new'
    plans: [daily]
  item_suggested:
    on: item.suggested
    to: listed
    says: 'for you'
    plans: [daily]
plans:
  daily:
    channel: email
    close: {daily: '09:00', zone: person}
    look_back: 7d
    from: shop@shop.example
    headline: new
    template: mail
    text: mail
    sections:
      - {title: New, kinds: [item_offered, item_suggested], most: 5, order: newest}
";

    #[test]
    fn an_example_is_told() {
        let read = |_: &str| Ok("<mjml><mj-body></mj-body></mjml>".to_owned());
        let shop =
            Catalogue::parse(SHOP, "catalogue.yaml", &read).unwrap_or_else(|problems| panic!("{problems}"));
        let all = examples(&shop);
        let names: Vec<&str> = all.iter().map(|example| example.what.as_str()).collect();
        assert_eq!(names, ["item.offered", "item.suggested", "item.changed", "maker.changed"]);
        let lists: Vec<bool> = all.iter().map(|example| example.lists).collect();
        assert_eq!(lists, [false, true, false, false]);
        let state = all[0].state(&shop, UtcMillis(0));
        let flag = |name| state.get(name).and_then(Value::as_flag);
        assert_eq!((flag("offered"), flag("banned")), (Some(true), Some(false)));
        for now in
            ["1970-01-01T00:00:00Z", "2026-11-27T17:59:59Z", "2026-11-27T18:00:00Z", "2031-05-06T18:30:00Z"]
        {
            let now = UtcMillis::parse(now).unwrap();
            let state = all[0].state(&shop, now);
            let Some(Value::Time(until)) = state.get("until") else { panic!("{state:?}") };
            let text = until.to_string();
            assert!(*until > now && text.ends_with("T18:00:00.000Z"), "{text} at {now}");
        }
    }
}
