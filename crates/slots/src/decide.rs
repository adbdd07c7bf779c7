//! What stands in a list, and where a click leads. Pure.

use std::collections::{BTreeMap, BTreeSet};

use address_guard::find_allowed;
use catalogue::SlotListDef;
use expression::ConditionFacts;
use model::{
    SubjectRef, Tenant, UtcMillis, VersionedState, WorldSnapshot, time::AskedMoment, world::DELETED,
};
use slot_lists::{
    ListLife, SlotList, SlotThing,
    selection::{SlotCandidate, SlotSource, choose_things},
};

use crate::facts::ListFacts;

/// What the catalogue says of how long a list lives.
pub fn list_life(def: &SlotListDef) -> ListLife {
    ListLife { idle_ms: def.kept_ms, most_ms: def.at_most_ms }
}

/// The things of a list, the best first: none twice, none that is gone, and none that leads elsewhere.
pub fn choose_list(facts: &ListFacts, tenant: &Tenant, def: &SlotListDef, now: UtcMillis) -> Vec<SlotThing> {
    let named: BTreeSet<&SubjectRef> = facts.tables.iter().flatten().collect();
    let thing = |subject| Some((subject, find_thing(&facts.world, tenant, def, subject, now)?));
    let mut things: BTreeMap<&SubjectRef, SlotThing> = named.into_iter().filter_map(thing).collect();
    let candidate = |subject: &SubjectRef| {
        let state = facts.world.state(tenant, subject).filter(|_| things.contains_key(subject))?;
        let maker = def.maker.as_ref().and_then(|field| state.get(field)).map(|maker| format!("{maker:?}"));
        Some(SlotCandidate { subject: subject.clone(), maker })
    };
    let sources: Vec<SlotSource> = facts
        .tables
        .iter()
        .zip(&def.tables)
        .map(|(named, table)| SlotSource {
            candidates: named.iter().filter_map(candidate).collect(),
            share: usize::from(table.share),
        })
        .collect();
    let chosen = choose_things(&sources, &BTreeSet::new(), usize::from(def.places));
    chosen.iter().filter_map(|subject| things.remove(subject)).collect()
}

/// A thing as it would be shown now; nothing if it is gone, does not hold, or leads elsewhere.
pub fn find_thing(
    world: &WorldSnapshot,
    tenant: &Tenant,
    def: &SlotListDef,
    subject: &SubjectRef,
    now: UtcMillis,
) -> Option<SlotThing> {
    let state = world.state(tenant, subject).filter(|state| !is_deleted(state))?;
    if let Some(condition) = &def.holds {
        let facts = ConditionFacts {
            subject,
            state,
            related: &|of: &SubjectRef| world.state(tenant, of),
            moment: AskedMoment { now, due: now },
        };
        // What cannot be said to hold does not.
        if !condition.holds(&facts).unwrap_or(false) {
            return None;
        }
    }
    let address = |field: &str| find_allowed(state.text(field)?, &def.hosts);
    let (image, link) = (address(&def.image)?.into(), address(&def.link)?.into());
    Some(SlotThing { subject: subject.clone(), image, link })
}

/// Whether nothing was said of a subject since it was deleted.
fn is_deleted(state: &VersionedState) -> bool {
    let Some(deleted) = state.cells.get(DELETED) else { return false };
    let others = state.cells.iter().filter(|(name, _)| &***name != DELETED);
    others.map(|(_, cell)| cell.version).max().is_none_or(|newest| newest <= deleted.version)
}

/// Where a click on a place leads: to its thing or, if that is gone, to the nearest one that is not; `world` is what is known of the
/// things now.
pub fn find_page(
    list: &SlotList,
    world: &WorldSnapshot,
    tenant: &Tenant,
    (def, place): (&SlotListDef, usize),
    now: UtcMillis,
) -> Option<SlotThing> {
    list.at(place)?;
    let mut places: Vec<usize> = (1..=usize::from(def.places).max(place)).collect();
    places.sort_by_key(|other| other.abs_diff(place));
    let as_it_is = |thing: &SlotThing| find_thing(world, tenant, def, &thing.subject, now);
    places.into_iter().find_map(|other| as_it_is(list.at(other)?))
}

/// The picture of a place, if it may still be led to.
pub fn find_image(list: &SlotList, place: usize, def: &SlotListDef) -> Option<String> {
    find_allowed(&list.at(place)?.image, &def.hosts)
}
