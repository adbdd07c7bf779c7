//! A preview of what would be told if windows of a person were released now: the decision of a turn that is never
//! committed.

use std::collections::{BTreeMap, BTreeSet};

use catalogue::Catalogue;
use house_facts::pause::PausedPlans;
use model::{
    KeyList, PlanName, UtcMillis,
    civil_time::ZoneRules,
    person::{Act, PersonRecord},
    ready::Ready,
};
use store::Store;

use crate::{
    decide::{DigestDecider, DigestDecision},
    facts::DigestFacts,
    load::{load_person_states, load_world, read_days},
    memory::{PersonKey, PersonRecords},
    read::PersonNews,
};

/// With what it is foreseen.
#[derive(Clone, Copy)]
pub struct ReleaseForecast<'a> {
    pub store: &'a dyn Store,
    pub catalogue: &'a Catalogue,
    pub zones: &'a ZoneRules,
    pub now: UtcMillis,
}

impl ReleaseForecast<'_> {
    /// The Readys of a person's windows of these plans, as a release by hand would have them decided.
    pub async fn forecast_release(
        self,
        key: &PersonKey,
        record: &PersonRecord,
        plans: &[PlanName],
    ) -> anyhow::Result<Vec<Ready>> {
        let Self { store, catalogue, now, .. } = self;
        let due = vec![key.clone()];
        let known = load_person_states(store, &BTreeSet::from([key]), &due, catalogue).await?;
        let records = PersonRecords::from([(key.clone(), record.clone())]);
        let mut facts = DigestFacts { records, known, ..DigestFacts::default() };
        let release = |plan: &PlanName| PersonNews::ByHand {
            act: Act::Release,
            plan: plan.clone(),
            key: None,
            at: now,
        };
        let news = BTreeMap::from([(key.clone(), plans.iter().map(release).collect())]);
        facts.records.extend(self.decide_news(&facts, &news, &[]).records);
        let place = (store, catalogue);
        let mut read = due.clone();
        facts.days = read_days(place, &facts.records, &mut read, (now, now)).await?;
        facts.world = load_world(place, &facts.records, &facts.days, &due, now).await?;
        let decided = self.decide_news(&facts, &BTreeMap::new(), &due);
        let is_meant =
            |ready: &Ready| plans.contains(&ready.plan) && !ready.is_wordless() && !ready.is_recalled();
        let (readys, lists) = (decided.ready, decided.lists);
        // Nobody writes the lists.
        let with_lists = |mut ready: Ready| {
            for entry in &mut ready.entries {
                let of_entry = std::mem::take(&mut entry.lists).into_iter();
                let lists = of_entry.filter_map(|named| lists.get(&(key.clone(), named)));
                entry.others.extend(lists.flat_map(KeyList::keys));
            }
            ready
        };
        Ok(readys.into_iter().filter(is_meant).map(with_lists).collect())
    }

    fn decide_news(
        &self,
        facts: &DigestFacts,
        news: &BTreeMap<PersonKey, Vec<PersonNews>>,
        due: &[PersonKey],
    ) -> DigestDecision {
        let Self { catalogue, zones, now, .. } = *self;
        let paused = &PausedPlans::default();
        DigestDecider { facts, acknowledged: &[], catalogue, zones, paused, now, closing: now }
            .decide(news, due)
    }
}
