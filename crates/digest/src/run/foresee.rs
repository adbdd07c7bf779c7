//! What would be told if windows of a person were released now: the decision of a turn that nobody commits, for previews.

use std::collections::{BTreeMap, BTreeSet};

use catalogue::Catalogue;
use model::{
    Millis, PlanName,
    civil::Zones,
    person::{Act, PersonRecord},
    ready::Ready,
};
use store::Store;

use crate::{
    decide::{Decided, Deciding},
    facts::Facts,
    memory::{PersonKey, Records},
    news::News,
};

use super::{known, read_days, world_of};

/// With what it is foreseen.
#[derive(Clone, Copy)]
pub struct Foresight<'a> {
    pub store: &'a dyn Store,
    pub catalogue: &'a Catalogue,
    pub zones: &'a Zones,
    pub now: Millis,
}

impl Foresight<'_> {
    /// The Readys of a person's windows of these plans, as a release by hand would have them decided.
    pub async fn released(
        self,
        key: &PersonKey,
        record: &PersonRecord,
        plans: &[PlanName],
    ) -> anyhow::Result<Vec<Ready>> {
        let Self { store, catalogue, now, .. } = self;
        let due = vec![key.clone()];
        let known = known(store, &BTreeSet::from([key]), &due).await?;
        let records = Records::from([(key.clone(), record.clone())]);
        let mut facts = Facts { records, known, ..Facts::default() };
        let release =
            |plan: &PlanName| News::ByHand { act: Act::Release, plan: plan.clone(), key: None, at: now };
        let news = BTreeMap::from([(key.clone(), plans.iter().map(release).collect())]);
        facts.records.extend(self.decided(&facts, &news, &[]).records);
        let place = (store, catalogue);
        let mut read = due.clone();
        facts.days = read_days(place, &facts.records, &mut read, (now, now)).await?;
        facts.world = world_of(place, &facts.records, &facts.days, &due, now).await?;
        let decided = self.decided(&facts, &BTreeMap::new(), &due);
        let is_meant =
            |ready: &Ready| plans.contains(&ready.plan) && !ready.is_badge() && !ready.is_recalled();
        Ok(decided.ready.into_iter().filter(is_meant).collect())
    }

    fn decided(&self, facts: &Facts, news: &BTreeMap<PersonKey, Vec<News>>, due: &[PersonKey]) -> Decided {
        let Self { catalogue, zones, now, .. } = *self;
        Deciding { facts, acknowledged: &[], catalogue, zones, now, closing: now }.decide(news, due)
    }
}
