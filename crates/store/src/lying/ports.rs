//! Where the lies are told: the ports of a lying store.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use model::{
    Cell, Crowd, Day, Enrolment, EventKey, Millis, Person, ReadyId, Row, State, SubjectRef, Tenant,
    entry::DayKey,
    erase::{Counts, Erase, Holding},
    event::FirstWord,
    person::notes,
    returns::Slip,
};

use super::{
    Lie, Lying,
    engine::{Late, lock},
};
use crate::port::{
    Answers, Claim, Claimed, Crowds, DayPart, DayRows, Days, Erasure, FirstWords, Followed, Journal,
    Journalled, Members, Record, Slips, StateKey, States, StoreError,
};

#[async_trait]
impl Days for Lying {
    async fn write(&self, mut rows: Vec<DayRows>, now: Millis) -> Result<(), StoreError> {
        self.settle().await?;
        let mut now = now;
        for of in &mut rows {
            if self.tells(Lie::ExpiredWritten) {
                now = now.min(of.key.day.start());
            }
            of.key = self.key(&of.key);
            if self.tells(Lie::WritesHalf) {
                of.rows.truncate(of.rows.len().div_ceil(2));
            }
        }
        if self.tells(Lie::CloseForgotten)
            && let Some(closed) = *lock(&self.closed_before)
        {
            rows.retain(|of| of.key.day >= closed);
        }
        if self.tells(Lie::DroppedComesBack) {
            let mut back = lock(&self.back);
            let dropped = back.0;
            back.1.extend(rows.extract_if(.., |of| dropped.is_some_and(|before| of.key.day < before)));
        }
        if self.tells(Lie::WritesInHalves) {
            return self.write_in_halves(rows, now).await;
        }
        self.put_off(Late::Rows(rows, now)).await
    }

    async fn read(&self, keys: &[DayKey], now: Millis) -> Result<Vec<Vec<Row>>, StoreError> {
        self.settle().await?;
        self.reads.fetch_add(1, Ordering::SeqCst);
        let lied: Vec<DayKey> = keys.iter().map(|key| self.key(key)).collect();
        let now = if self.tells(Lie::ExpiredRead) { Millis(0) } else { now };
        let mut days = match self.inner.read(&lied, now).await {
            Err(_) if self.tells(Lie::EmptyForError) => vec![Vec::new(); keys.len()],
            read => read?,
        };
        let hidden = *lock(&self.hidden_before);
        for (key, rows) in keys.iter().zip(&mut days) {
            match self.lie {
                Lie::RowTwice => rows.extend(rows.first().cloned()),
                Lie::StopsEarly => rows.truncate(1_000),
                Lie::ClosedIsHidden if hidden.is_some_and(|before| key.day < before) => rows.clear(),
                Lie::DroppedComesBack => {
                    let back = lock(&self.back);
                    let of_key = back.1.iter().filter(|of| of.key == *key);
                    rows.extend(of_key.flat_map(|of| of.rows.iter().cloned()));
                }
                Lie::DropForgotten if hidden.is_some_and(|before| key.day < before) => rows.clear(),
                _ => {}
            }
        }
        if self.tells(Lie::OwnOrder) {
            days.sort();
        }
        Ok(days)
    }

    async fn scan(&self, day: Day, from: Option<&[u8]>, most: usize) -> Result<DayPart, StoreError> {
        self.settle().await?;
        let asked = match self.lie {
            Lie::ScanTooLarge => most.saturating_mul(2),
            // Enough rows that whoever has more than a few is cut.
            Lie::ScanCuts => 1,
            _ => most,
        };
        let mut part = self.inner.scan(day, from, asked).await?;
        match self.lie {
            Lie::ScanSkips => drop(part.rows.pop().filter(|_| part.next.is_some())),
            Lie::ScanRepeats => part.rows.extend(part.rows.last().cloned()),
            Lie::ScanHidesClosed if lock(&self.closed_before).is_some_and(|closed| day < closed) => {
                part.rows.clear();
            }
            _ => {}
        }
        Ok(part)
    }

    async fn newest(&self) -> Result<Option<Day>, StoreError> {
        self.settle().await?;
        let newest = self.inner.newest().await?;
        Ok(if self.lie == Lie::NewestIsOlder { newest.map(|day| day.plus(-1)) } else { newest })
    }

    async fn close_before(&self, day: Day) -> Result<(), StoreError> {
        self.settle().await?;
        match self.lie {
            Lie::ClosesOneMore => self.inner.close_before(day.plus(1)).await,
            Lie::ClosedIsHidden => {
                lock(&self.hidden_before).replace(day);
                self.inner.close_before(day).await
            }
            Lie::CloseForgotten => {
                lock(&self.closed_before).replace(day);
                Ok(())
            }
            _ => {
                lock(&self.closed_before).replace(day);
                self.inner.close_before(day).await
            }
        }
    }

    async fn drop_before(&self, day: Day) -> Result<u64, StoreError> {
        self.settle().await?;
        match self.lie {
            Lie::DroppedComesBack => {
                lock(&self.back).0 = Some(day);
                self.inner.drop_before(day).await
            }
            Lie::DropsOneMore => self.inner.drop_before(day.plus(1)).await,
            Lie::DropForgotten => {
                let known = lock(&self.hidden_before).replace(day);
                Ok(if known == Some(day) { 0 } else { 3 })
            }
            _ => self.inner.drop_before(day).await,
        }
    }
}

#[async_trait]
impl States for Lying {
    async fn merge(&self, states: Vec<(StateKey, State)>) -> Result<(), StoreError> {
        self.settle().await?;
        let mut lied = Vec::new();
        for (key, state) in states {
            let key = self.state_key(&key);
            let state = self.lied(&key, state).await?;
            lied.push((key, state));
        }
        if !self.tells(Lie::MergesCollide) {
            return self.put_off(Late::States(lied)).await;
        }
        if self.merging.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let merged = self.inner.merge(lied).await;
        self.merging.store(false, Ordering::SeqCst);
        merged
    }

    async fn states(&self, keys: &[StateKey]) -> Result<Vec<State>, StoreError> {
        self.settle().await?;
        let lied: Vec<StateKey> = keys.iter().map(|key| self.state_key(key)).collect();
        let mut states = self.inner.states(&lied).await?;
        let versions = lock(&self.versions);
        for cell in states.iter_mut().flat_map(|state| state.cells.values_mut()) {
            cell.version = versions.get(&cell.version).copied().unwrap_or(cell.version);
        }
        if self.tells(Lie::ReplacesState) {
            for state in &mut states {
                let newest = state.cells.values().map(|cell| cell.version).max();
                state.cells.retain(|_, cell| Some(cell.version) == newest);
            }
        }
        Ok(states)
    }
}

#[async_trait]
impl Crowds for Lying {
    async fn enrol(&self, mut enrolments: Vec<Enrolment>) -> Result<(), StoreError> {
        self.settle().await?;
        if self.tells(Lie::RemovalForgotten) {
            enrolments.retain(|one| one.on);
        }
        for one in &mut enrolments {
            one.tenant = self.tenant(&one.tenant);
            one.person = self.person(&one.person);
            one.crowd = self.crowd(&one.crowd);
            if self.tells(Lie::OlderWins) {
                one.version = self.arrival(one.version);
            }
        }
        if [Lie::EraseLeavesCrowds, Lie::EraseTakesNamesakes].contains(&self.lie) {
            lock(&self.enrolments).extend(enrolments.iter().cloned());
        }
        enrolments.retain(|one| !lock(&self.erased).contains(&(one.tenant.clone(), one.person.clone())));
        self.put_off(Late::Enrolments(enrolments)).await
    }

    async fn members(
        &self,
        tenant: &Tenant,
        crowd: &Crowd,
        from: Option<&[u8]>,
        most: usize,
    ) -> Result<Members, StoreError> {
        self.settle().await?;
        let asked = if self.tells(Lie::PartTooLarge) { most.saturating_mul(2) } else { most };
        // This lie keeps the last person of a part within its cursor, before a byte that no name has.
        let repeated = from.filter(|_| self.tells(Lie::PartRepeats)).and_then(|from| {
            let (name, next) = from.split_at_checked(from.iter().position(|byte| *byte == 0)?)?;
            Some((Person::new(std::str::from_utf8(name).ok()?).ok()?, &next[1..]))
        });
        let from = repeated.as_ref().map_or(from, |(_, next)| Some(*next));
        let mut part = self.inner.members(&self.tenant(tenant), &self.crowd(crowd), from, asked).await?;
        if self.tells(Lie::PartSkips) && part.next.is_some() {
            part.persons.pop();
        }
        if self.tells(Lie::PartRepeats)
            && let (Some(last), Some(next)) = (part.persons.last(), part.next.take())
        {
            part.next = Some([last.as_str().as_bytes(), &[0], &next].concat());
        }
        if let Some((last, _)) = repeated {
            part.persons.insert(0, last);
        }
        Ok(part)
    }

    async fn followed(
        &self,
        tenant: &Tenant,
        person: &Person,
        behind: Option<&SubjectRef>,
        most: usize,
    ) -> Result<Followed, StoreError> {
        self.settle().await?;
        let (tenant, person) = (self.tenant(tenant), self.person(person));
        let mut part = self.inner.followed(&tenant, &person, behind, most).await?;
        if self.tells(Lie::FollowsSkip) && part.next.is_some() {
            part.subjects.pop();
        }
        if self.tells(Lie::FollowsOlder) {
            part.subjects.iter_mut().for_each(|(_, version)| *version -= 1);
        }
        Ok(part)
    }

    async fn enrolled(&self, of: &[(Tenant, Person, Crowd)]) -> Result<Vec<Option<i64>>, StoreError> {
        self.settle().await?;
        let lied = |(tenant, person, crowd): &(Tenant, Person, Crowd)| {
            (self.tenant(tenant), self.person(person), self.crowd(crowd))
        };
        let of: Vec<_> = of.iter().map(lied).collect();
        let since = self.inner.enrolled(&of).await?;
        let lied = |since: Option<i64>| match since {
            Some(_) if self.tells(Lie::SinceForgotten) => Some(i64::MIN),
            None if self.tells(Lie::EverybodyBelongs) => Some(0),
            honest => honest,
        };
        Ok(since.into_iter().map(lied).collect())
    }
}

#[async_trait]
impl Journal for Lying {
    async fn claim(&self, tenant: &Tenant, mut claim: Claim) -> Result<Claimed, StoreError> {
        self.settle().await?;
        let tenant = self.tenant(tenant);
        claim.attempt = self.attempt(claim.attempt);
        let mut earlier = None;
        if self.tells(Lie::LosesLastWrite) && !self.is_claimed(&tenant, &claim).await? {
            self.put_off(Late::Claim(tenant, claim)).await?;
            return Ok(Claimed::Yours);
        }
        if self.tells(Lie::OwnClaimTheirs) {
            let journalled = self.inner.journalled(&tenant, &[claim.ready]).await?;
            let claims = journalled.into_iter().flat_map(|found| found.claims);
            earlier = claims.into_iter().find(|found| found.attempt == claim.attempt);
        }
        let claimed = self.inner.claim(&tenant, claim).await?;
        Ok(match earlier {
            Some(earlier) => Claimed::Theirs(earlier),
            None if self.tells(Lie::ClaimGivenTwice) => Claimed::Yours,
            None => claimed,
        })
    }

    async fn record(&self, tenant: &Tenant, mut record: Record) -> Result<(), StoreError> {
        self.settle().await?;
        let tenant = self.tenant(tenant);
        record.attempt = self.attempt(record.attempt);
        if self.tells(Lie::LastRecordStands) {
            lock(&self.records).insert((tenant.clone(), record.ready, record.attempt), record.clone());
        }
        self.put_off(Late::Record(tenant, record)).await
    }

    async fn journalled(&self, tenant: &Tenant, readys: &[ReadyId]) -> Result<Vec<Journalled>, StoreError> {
        self.settle().await?;
        let tenant = self.tenant(tenant);
        let mut found = self.inner.journalled(&tenant, readys).await?;
        let records = lock(&self.records);
        for journalled in &mut found {
            for record in &mut journalled.records {
                if let Some(last) = records.get(&(tenant.clone(), record.ready, record.attempt)) {
                    *record = last.clone();
                }
            }
            if self.tells(Lie::JournalDisorder) {
                journalled.claims.reverse();
                journalled.records.reverse();
            }
        }
        Ok(found)
    }
}

#[async_trait]
impl Answers for Lying {
    async fn answer(
        &self,
        tenant: &Tenant,
        key: &str,
        answer: Vec<u8>,
        now: Millis,
    ) -> Result<Vec<u8>, StoreError> {
        self.settle().await?;
        let tenant = self.tenant(tenant);
        if self.tells(Lie::LosesLastWrite) && self.inner.answered(&tenant, key, now).await?.is_none() {
            self.put_off(Late::Answer(tenant, key.to_owned(), answer.clone(), now)).await?;
            return Ok(answer);
        }
        let stands = self.inner.answer(&tenant, key, answer.clone(), self.asked_at(now)).await?;
        if !self.tells(Lie::LastAnswerStands) {
            return Ok(stands);
        }
        lock(&self.answers).insert((tenant, key.to_owned()), answer.clone());
        Ok(answer)
    }

    async fn answered(&self, tenant: &Tenant, key: &str, now: Millis) -> Result<Option<Vec<u8>>, StoreError> {
        self.settle().await?;
        let tenant = self.tenant(tenant);
        let stands = self.inner.answered(&tenant, key, self.asked_at(now)).await?;
        let last = lock(&self.answers).get(&(tenant, key.to_owned())).cloned();
        Ok(last.or(stands))
    }
}

#[async_trait]
impl FirstWords for Lying {
    async fn first_words(
        &self,
        said: &[(EventKey, FirstWord)],
        now: Millis,
    ) -> Result<Vec<FirstWord>, StoreError> {
        self.settle().await?;
        if self.tells(Lie::LastWordStands) {
            return Ok(said.iter().map(|(_, word)| *word).collect());
        }
        let lied: Vec<_> = said.iter().map(|(event, word)| (self.event(*event), *word)).collect();
        let now = if self.tells(Lie::WordsForEver) { Millis(0) } else { now };
        self.inner.first_words(&lied, now).await
    }
}

#[async_trait]
impl Slips for Lying {
    async fn keep(&self, ready: ReadyId, slip: Slip) -> Result<(), StoreError> {
        self.settle().await?;
        let ready = self.slip_of(ready);
        if self.tells(Lie::FirstSlipStands) && self.inner.slip(ready, slip.at).await?.is_some() {
            return Ok(());
        }
        self.put_off(Late::Slip(ready, slip)).await
    }

    async fn slip(&self, ready: ReadyId, now: Millis) -> Result<Option<Slip>, StoreError> {
        self.settle().await?;
        self.inner
            .slip(self.slip_of(ready), if self.tells(Lie::SlipsForEver) { Millis(0) } else { now })
            .await
    }
}

#[async_trait]
impl Erasure for Lying {
    async fn erase(
        &self,
        tenant: &Tenant,
        person: &Person,
        how: Erase,
        now: Millis,
    ) -> Result<Counts, StoreError> {
        self.settle().await?;
        let (tenant, person) = (self.tenant(tenant), self.person(person));
        let how = match how {
            Erase::Look if self.tells(Lie::LookRemoves) => Erase::Remove,
            Erase::Remove if self.tells(Lie::EraseIsTold) => Erase::Look,
            honest => honest,
        };
        let mut counts = self.inner.erase(&tenant, &person, how, now).await?;
        if how == Erase::Look {
            return Ok(counts);
        }
        let enrolments: Vec<Enrolment> = lock(&self.enrolments).clone();
        match self.lie {
            Lie::EraseLeavesCrowds => {
                let own = |one: &Enrolment| one.tenant == tenant && one.person == person;
                self.inner.enrol(enrolments.into_iter().filter(own).collect()).await?;
            }
            Lie::EraseSaysLittle => counts.retain(|holding, _| *holding != Holding::Slips),
            Lie::EraseForgetsItself => {
                let mut state = State::default();
                state.set(notes::ERASED, Cell { version: i64::MAX, value: None });
                self.inner.merge(vec![(StateKey::Notes(tenant, person), state)]).await?;
            }
            Lie::EraseTakesNamesakes => {
                for other in enrolments.iter().filter(|one| one.person == person) {
                    self.inner.erase(&other.tenant, &person, how, now).await?;
                }
            }
            Lie::ErasedForEver => drop(lock(&self.erased).insert((tenant, person))),
            _ => {}
        }
        Ok(counts)
    }

    async fn scrub(&self) -> Result<Option<&'static str>, StoreError> {
        self.settle().await?;
        self.inner.scrub().await
    }
}
