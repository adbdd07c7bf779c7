//! Who did what an item tells, and what its events said themselves: the same in a mail, a push and a feed.

use std::collections::{BTreeMap, BTreeSet};

use model::{Actor, EntryKey, EntryView, Person, Tenant, limits::ACTORS_SOUGHT_MAX, person::notes};
use render::ItemWords;
use store::{StateKey, Store, StoreError};

use crate::world::StateAge;

/// The persons among actors who have a name.
pub fn list_named_actors<'a>(actors: impl IntoIterator<Item = &'a Actor>) -> BTreeSet<Person> {
    let named = actors.into_iter().filter(|actor| actor.name.is_some());
    named.filter_map(Actor::person).cloned().collect()
}

/// Those of some persons who were erased and not welcomed since; a moment ago, where that is enough.
pub async fn read_erased_actors(
    store: &dyn Store,
    persons: BTreeSet<(Tenant, Person)>,
    age: StateAge,
) -> Result<BTreeSet<(Tenant, Person)>, StoreError> {
    let keys: Vec<StateKey> =
        persons.iter().map(|(tenant, person)| StateKey::Notes(tenant.clone(), person.clone())).collect();
    let states = age.read(store, &keys).await?;
    let found = persons.into_iter().zip(states).filter(|(_, state)| state.flag(notes::ERASED));
    Ok(found.map(|(who, _)| who).collect())
}

/// What the events of an entry said themselves, and of those for which it stands: who did it is sought among the newest. Who
/// was erased since has no name. `lead` is the one that it is said of.
pub fn collect_words<'v>(
    lead: EntryKey,
    mut keys: Vec<EntryKey>,
    find: &dyn Fn(EntryKey) -> Option<&'v EntryView>,
    erased: &BTreeSet<Person>,
) -> ItemWords {
    keys.sort_unstable_by(|a, b| b.cmp(a));
    let newest = keys.iter().take(ACTORS_SOUGHT_MAX).filter_map(|key| find(*key)?.actor());
    let newest: Vec<&Actor> = newest.collect();
    // Whoever the newest event does not name may be named by an older one.
    let is_erased = |actor: &Actor| actor.person().is_some_and(|person| erased.contains(person));
    let mut names = BTreeMap::new();
    for actor in newest.iter().filter(|actor| actor.name.is_some() && !is_erased(actor)) {
        names.entry(&actor.id).or_insert(*actor);
    }
    let named = |actor: &Actor| names.get(&actor.id).copied().cloned();
    let mut known = BTreeSet::new();
    let distinct = newest.iter().filter(|actor| known.insert(&actor.id));
    let actors = distinct.filter_map(|actor| named(actor)).collect();
    let lead = find(lead);
    let first = lead.and_then(EntryView::actor);
    ItemWords {
        actor: first.and_then(named),
        actors,
        // Beside whom the sentence names, or calls somebody. If nobody did the newest, it is all of them.
        others: known.len().saturating_sub(usize::from(first.is_some())),
        kept: lead.map(|lead| lead.kept_fields().clone()).unwrap_or_default(),
        count: keys.len(),
    }
}
