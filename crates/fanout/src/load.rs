//! What is read from the store to decide a turn: who is in a crowd, where they are, and the states of persons and subjects.

use anyhow::{Context as _, ensure};
use futures::future;
use model::{Crowd, Event, Person, Slice, Tenant, VersionedState, person::profile, place};
use store::StateKey;
use wire::replay::ReplayStamp;

use crate::{
    config::PROFILES_AT_ONCE,
    reach,
    recipient_sheet::RecipientSheet,
    run::{FanoutWork, retry_while_busy},
    search::CrowdSearch,
    whereabouts::{self, PersonWhereabouts},
};

impl FanoutWork {
    /// Finds more of a slice, for at most so many rows. Returns for how many there was somebody.
    pub(crate) async fn find_members(
        &self,
        search: &mut CrowdSearch,
        again: Option<&ReplayStamp>,
        most: usize,
        sheet: &mut RecipientSheet,
        enough: impl Fn(&CrowdSearch) -> bool + Send + Sync,
    ) -> anyhow::Result<usize> {
        let mut found = 0;
        while found < most
            && !enough(search)
            && let Some(ask) = search.next_query(most - found)
        {
            let (store, tenant, share) = (&self.deps.store, &search.slice().event.tenant, ask.share);
            let mut asked = Vec::with_capacity(ask.crowds.len());
            for crowd in ask.crowds {
                asked.push(retry_while_busy(|| store.members(tenant, crowd, ask.from, share)));
            }
            let answers = future::try_join_all(asked).await.context("crowds")?;
            for (crowd, persons) in search.take_members(answers, share) {
                found += persons.len() * search.rows_each();
                self.add_members(search.slice(), again, &crowd, persons, sheet).await?;
            }
        }
        Ok(found)
    }

    /// Puts those members of a crowd on the sheet who are told under a slice's kinds.
    pub(crate) async fn add_members(
        &self,
        slice: &Slice,
        again: Option<&ReplayStamp>,
        crowd: &Crowd,
        mut persons: Vec<Person>,
        sheet: &mut RecipientSheet,
    ) -> anyhow::Result<()> {
        if again.is_some() {
            persons =
                self.members_at_event(&slice.event, crowd, persons).await.context("who was there then")?;
        }
        let places = match crowd {
            Crowd::Cell(cell) => {
                let tenant = &slice.event.tenant;
                let places = self.load_places(tenant, &persons).await.context("places of persons")?;
                self.remove_from_cell(tenant, *cell, &persons, &places).await.context("who left a cell")?;
                places.iter().map(PersonWhereabouts::place).collect()
            }
            Crowd::Followers(_) | Crowd::Everyone => Vec::new(),
        };
        for kind in slice.kinds.iter().filter_map(|kind| self.deps.catalogue.kinds.get(kind)) {
            let Some((because, circle)) = reach::reason_in_crowd(kind, crowd, &slice.event) else { continue };
            let way = reach::build_entry(&slice.event, again, kind, because, &self.deps.catalogue);
            let Some(circle) = circle else {
                sheet.add(way, persons.iter().cloned());
                continue;
            };
            let there = persons.iter().zip(&places).filter(|(_, place)| circle.contains(**place));
            let there: Vec<Person> = there.map(|(person, _)| person.clone()).collect();
            self.deps.metrics.count_elsewhere(persons.len() - there.len());
            sheet.add(way, there);
        }
        Ok(())
    }

    /// Where these persons are now.
    pub(crate) async fn load_places(
        &self,
        tenant: &Tenant,
        persons: &[Person],
    ) -> anyhow::Result<Vec<PersonWhereabouts>> {
        self.load_profiles(tenant, persons, PersonWhereabouts::from_profile).await
    }

    /// Takes those out of a cell who moved away from it and did not leave it: their intake died in between, or
    /// two moves met. They would be asked for at each event.
    pub(crate) async fn remove_from_cell(
        &self,
        tenant: &Tenant,
        cell: place::GlobeCell,
        persons: &[Person],
        places: &[PersonWhereabouts],
    ) -> anyhow::Result<()> {
        let gone: Vec<(Person, &PersonWhereabouts)> =
            whereabouts::find_elsewhere(cell, persons, places).collect();
        if gone.is_empty() {
            return Ok(());
        }
        let names: Vec<Person> = gone.iter().map(|(person, _)| person.clone()).collect();
        let since = self.load_enrolments(tenant, &Crowd::Cell(cell), &names).await?;
        let left = whereabouts::end_enrolments(tenant, cell, gone.into_iter().zip(since));
        if left.is_empty() { Ok(()) } else { Ok(self.deps.store.enrol(left).await?) }
    }

    /// Something of the profiles of these persons.
    pub(crate) async fn load_profiles<T>(
        &self,
        tenant: &Tenant,
        persons: &[Person],
        of: impl Fn(&VersionedState) -> T + Send + Sync,
    ) -> anyhow::Result<Vec<T>> {
        let mut all = Vec::with_capacity(persons.len());
        for some in persons.chunks(PROFILES_AT_ONCE) {
            let key = |person: &Person| StateKey::Person(tenant.clone(), person.clone());
            let keys: Vec<StateKey> = some.iter().map(key).collect();
            all.extend(self.load_states(&keys).await?.iter().map(&of));
        }
        Ok(all)
    }

    /// Those of a crowd who were in it when an event occurred that is there once more: who came later is not
    /// told old news.
    pub(crate) async fn members_at_event(
        &self,
        event: &Event,
        crowd: &Crowd,
        persons: Vec<Person>,
    ) -> anyhow::Result<Vec<Person>> {
        let since = match crowd {
            Crowd::Followers(_) => self.load_enrolments(&event.tenant, crowd, &persons).await?,
            Crowd::Cell(_) => {
                let moved = |profile: &VersionedState| Some(profile.cells.get(profile::PLACE)?.version);
                self.load_profiles(&event.tenant, &persons, moved).await?
            }
            // Each new word of a profile enrols anew; the oldest one that still stands is when they were there.
            Crowd::Everyone => {
                let first = |profile: &VersionedState| profile.cells.values().map(|cell| cell.version).min();
                self.load_profiles(&event.tenant, &persons, first).await?
            }
        };
        let all = persons.len();
        let was = |since: Option<i64>| since.is_some_and(|since| since <= event.occurred.0);
        let of_then: Vec<Person> = persons
            .into_iter()
            .zip(since)
            .filter(|(_, since)| was(*since))
            .map(|(person, _)| person)
            .collect();
        self.deps.metrics.count_latecomers(all - of_then.len());
        Ok(of_then)
    }

    /// By which versions these persons are in a crowd.
    pub(crate) async fn load_enrolments(
        &self,
        tenant: &Tenant,
        crowd: &Crowd,
        persons: &[Person],
    ) -> anyhow::Result<Vec<Option<i64>>> {
        let of: Vec<_> =
            persons.iter().map(|person| (tenant.clone(), person.clone(), crowd.clone())).collect();
        let since = self.deps.store.enrolled_since(&of).await?;
        ensure!(since.len() == of.len(), "{} answers came back of {}", since.len(), of.len());
        Ok(since)
    }

    /// The states of all of these: if one were missing, somebody would be taken for somebody else.
    pub(crate) async fn load_states(&self, keys: &[StateKey]) -> anyhow::Result<Vec<VersionedState>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let states = self.deps.store.states(keys).await?;
        ensure!(states.len() == keys.len(), "{} states came back of {}", states.len(), keys.len());
        Ok(states)
    }
}
