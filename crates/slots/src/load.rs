//! What the store says: which list stands, whose mail it is, and what is known of the things that may stand in it.

use std::collections::BTreeMap;

use catalogue::{SlotListDef, SlotTable};
use model::{Person, SubjectRef, Tenant, Value, VersionedState, WorldSnapshot};
use room::world::{StateAge, WorldQuery, load_world};
use slot_lists::{SlotList, codec::decode_list};
use store::{StandingAnswer, StateKey, StoreError};
use wire::mail_slots::MailSlots;

use crate::{
    config::CANDIDATES_PER_PLACE,
    deps::Deps,
    facts::{ListFacts, StandingList, StrangeListError},
    read::AskedList,
};

/// The list that stands for everybody who is shown the same.
pub async fn load_standing(deps: &Deps, asked: &AskedList) -> anyhow::Result<Option<StandingList>> {
    let Some(key) = asked.answer_key() else { return Ok(None) };
    let answer = deps.room.store.find_answer(&asked.slots.tenant, &key, deps.room.now()).await?;
    answer.map(read_standing).transpose()
}

pub fn read_standing(answer: StandingAnswer) -> anyhow::Result<StandingList> {
    let list = decode_list(&answer.body).ok_or(StrangeListError)?;
    Ok(StandingList { list, answer })
}

/// Whose mail it is; nobody's if it never left, or so long ago that nothing is known of it, or if they were erased.
pub async fn load_reader(deps: &Deps, slots: &MailSlots) -> Result<Option<Person>, StoreError> {
    let slip = deps.room.store.slip(slots.ready, deps.room.now()).await?;
    Ok(slip.filter(|slip| slip.tenant == slots.tenant).map(|slip| slip.person))
}

/// What may stand in a list for a reader, and what is known of it.
pub async fn load_facts(
    deps: &Deps,
    (tenant, reader): (&Tenant, Option<&Person>),
    def: &SlotListDef,
) -> Result<ListFacts, StoreError> {
    let rows: Vec<Option<SubjectRef>> = def.tables.iter().map(|table| name_row(table, reader)).collect();
    let keys: Vec<StateKey> =
        rows.iter().flatten().map(|row| StateKey::Subject(tenant.clone(), row.clone())).collect();
    let states = deps.room.store.states_lately(&keys).await?;
    let by_row: BTreeMap<&SubjectRef, VersionedState> = rows.iter().flatten().zip(states).collect();
    let most = CANDIDATES_PER_PLACE * usize::from(def.places);
    let named = |(table, row): (&SlotTable, &Option<SubjectRef>)| {
        let state = row.as_ref().and_then(|row| by_row.get(row));
        let refs = state.and_then(|state| state.get(&table.field)).map_or(&[][..], Value::refs);
        refs.iter().filter(|thing| thing.kind() == def.of).take(most).cloned().collect()
    };
    let tables: Vec<Vec<SubjectRef>> = def.tables.iter().zip(&rows).map(named).collect();
    let world = load_things(deps, tenant, tables.iter().flatten(), def).await?;
    Ok(ListFacts { tables, world })
}

/// What is known of the things of a list now.
pub async fn load_shown(
    deps: &Deps,
    tenant: &Tenant,
    list: &SlotList,
    def: &SlotListDef,
) -> Result<WorldSnapshot, StoreError> {
    load_things(deps, tenant, list.things().map(|thing| &thing.subject), def).await
}

async fn load_things(
    deps: &Deps,
    tenant: &Tenant,
    things: impl Iterator<Item = &SubjectRef> + Send,
    def: &SlotListDef,
) -> Result<WorldSnapshot, StoreError> {
    let subjects = things.map(|thing| (tenant.clone(), thing.clone())).collect();
    let wanted = WorldQuery { subjects, age: StateAge::Lately, ..WorldQuery::default() };
    // Only a condition asks what a thing refers to.
    let refers_to = |state: &VersionedState| {
        def.holds.iter().flat_map(|holds| holds.references(&def.of, state)).collect()
    };
    load_world(&*deps.room.store, wanted, &refers_to).await
}

/// The row of a table for a reader; none where nobody knows whose it would be.
fn name_row(table: &SlotTable, reader: Option<&Person>) -> Option<SubjectRef> {
    let id = table.row.as_deref().or_else(|| reader.map(Person::as_str))?;
    SubjectRef::new(&format!("{}:{id}", table.subject)).ok()
}
