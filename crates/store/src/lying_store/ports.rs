//! Where the lies are told: the ports of a lying store.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use house_facts::erasure::{EraseMode, Holding, HoldingCounts};
use model::{
    Crowd, CrowdEnrolment, Day, DayRow, EventKey, Person, ReadyId, SubjectRef, Tenant, UtcMillis, ValueCell,
    VersionedState, entry::DayKey, event::FirstWord, person::notes, returns::Slip,
};

use super::{
    LyingStore, StoreLie,
    engine::{LateWrite, lock_mutex},
};
use crate::{
    decorator::{StoreCall, StoreDecorator},
    port::{
        CrowdCut, CrowdMembers, DayPart, DayRows, FollowedSubjects, JournalClaim, JournalClaimOutcome,
        JournalRecord, JournalRows, RemovedCell, StandingAnswer, StateKey, Store, StoreError,
    },
};

#[async_trait]
impl StoreDecorator for LyingStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn around<T: Send>(
        &self,
        _call: StoreCall,
        operation: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.settle_late_write().await?;
        operation.await
    }

    async fn write(&self, mut rows: Vec<DayRows>, now: UtcMillis) -> Result<(), StoreError> {
        let mut now = now;
        for of in &mut rows {
            if self.tells(StoreLie::ExpiredWritten) {
                now = now.min(of.key.day.start());
            }
            of.key = self.day_key(&of.key);
            if self.tells(StoreLie::WritesHalf) {
                of.rows.truncate(of.rows.len().div_ceil(2));
            }
        }
        if self.tells(StoreLie::CloseForgotten)
            && let Some(closed) = *lock_mutex(&self.closed_before)
        {
            rows.retain(|of| of.key.day >= closed);
        }
        if self.tells(StoreLie::DroppedComesBack) {
            let mut back = lock_mutex(&self.back);
            let dropped = back.0;
            back.1.extend(rows.extract_if(.., |of| dropped.is_some_and(|before| of.key.day < before)));
        }
        if self.tells(StoreLie::WritesInHalves) {
            return self.write_in_halves(rows, now).await;
        }
        self.delay_write(LateWrite::Rows(rows, now)).await
    }

    async fn read(&self, keys: &[DayKey], now: UtcMillis) -> Result<Vec<Vec<DayRow>>, StoreError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        let lied: Vec<DayKey> = keys.iter().map(|key| self.day_key(key)).collect();
        let now = if self.tells(StoreLie::ExpiredRead) { UtcMillis(0) } else { now };
        let mut days = match self.inner.read(&lied, now).await {
            Err(_) if self.tells(StoreLie::EmptyForError) => vec![Vec::new(); keys.len()],
            read => read?,
        };
        let hidden = *lock_mutex(&self.hidden_before);
        for (key, rows) in keys.iter().zip(&mut days) {
            match self.lie {
                StoreLie::RowTwice => rows.extend(rows.first().cloned()),
                StoreLie::StopsEarly => rows.truncate(1_000),
                StoreLie::ClosedIsHidden if hidden.is_some_and(|before| key.day < before) => rows.clear(),
                StoreLie::DroppedComesBack => {
                    let back = lock_mutex(&self.back);
                    let of_key = back.1.iter().filter(|of| of.key == *key);
                    rows.extend(of_key.flat_map(|of| of.rows.iter().cloned()));
                }
                StoreLie::DropForgotten if hidden.is_some_and(|before| key.day < before) => rows.clear(),
                _ => {}
            }
        }
        if self.tells(StoreLie::OwnOrder) {
            days.sort();
        }
        Ok(days)
    }

    async fn scan(&self, day: Day, from: Option<&[u8]>, most: usize) -> Result<DayPart, StoreError> {
        let asked = match self.lie {
            StoreLie::ScanTooLarge => most.saturating_mul(2),
            // Enough rows that whoever has more than a few is cut.
            StoreLie::ScanCuts => 1,
            _ => most,
        };
        let mut part = self.inner.scan(day, from, asked).await?;
        match self.lie {
            StoreLie::ScanSkips => drop(part.rows.pop().filter(|_| part.next.is_some())),
            StoreLie::ScanRepeats => part.rows.extend(part.rows.last().cloned()),
            StoreLie::ScanHidesClosed
                if lock_mutex(&self.closed_before).is_some_and(|closed| day < closed) =>
            {
                part.rows.clear();
            }
            _ => {}
        }
        Ok(part)
    }

    async fn newest(&self) -> Result<Option<Day>, StoreError> {
        let newest = self.inner.newest().await?;
        Ok(if self.lie == StoreLie::NewestIsOlder { newest.map(|day| day.plus(-1)) } else { newest })
    }

    async fn close_before(&self, day: Day) -> Result<(), StoreError> {
        match self.lie {
            StoreLie::ClosesOneMore => self.inner.close_before(day.plus(1)).await,
            StoreLie::ClosedIsHidden => {
                lock_mutex(&self.hidden_before).replace(day);
                self.inner.close_before(day).await
            }
            StoreLie::CloseForgotten => {
                lock_mutex(&self.closed_before).replace(day);
                Ok(())
            }
            _ => {
                lock_mutex(&self.closed_before).replace(day);
                self.inner.close_before(day).await
            }
        }
    }

    async fn drop_before(&self, day: Day) -> Result<u64, StoreError> {
        match self.lie {
            StoreLie::DroppedComesBack => {
                lock_mutex(&self.back).0 = Some(day);
                self.inner.drop_before(day).await
            }
            StoreLie::DropsOneMore => self.inner.drop_before(day.plus(1)).await,
            StoreLie::DropForgotten => {
                let known = lock_mutex(&self.hidden_before).replace(day);
                Ok(if known == Some(day) { 0 } else { 3 })
            }
            _ => self.inner.drop_before(day).await,
        }
    }

    async fn merge(&self, states: Vec<(StateKey, VersionedState)>) -> Result<(), StoreError> {
        let mut lied = Vec::new();
        for (key, state) in states {
            let key = self.state_key(&key);
            let state = self.apply_lie(&key, state).await?;
            lied.push((key, state));
        }
        if !self.tells(StoreLie::MergesCollide) {
            return self.delay_write(LateWrite::States(lied)).await;
        }
        if self.merging.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let merged = self.inner.merge(lied).await;
        self.merging.store(false, Ordering::SeqCst);
        merged
    }

    async fn forget_removed(&self, key: &StateKey, removed: &[RemovedCell]) -> Result<(), StoreError> {
        let removed = if self.tells(StoreLie::ForgetsNothing) { &[] } else { removed };
        self.inner.forget_removed(&self.state_key(key), removed).await
    }

    async fn states(&self, keys: &[StateKey]) -> Result<Vec<VersionedState>, StoreError> {
        let lied: Vec<StateKey> = keys.iter().map(|key| self.state_key(key)).collect();
        let mut states = self.inner.states(&lied).await?;
        let versions = lock_mutex(&self.versions);
        for cell in states.iter_mut().flat_map(|state| state.cells.values_mut()) {
            cell.version = versions.get(&cell.version).copied().unwrap_or(cell.version);
        }
        if self.tells(StoreLie::ReplacesState) {
            for state in &mut states {
                let newest = state.cells.values().map(|cell| cell.version).max();
                state.cells.retain(|_, cell| Some(cell.version) == newest);
            }
        }
        Ok(states)
    }

    async fn states_lately(&self, keys: &[StateKey]) -> Result<Vec<VersionedState>, StoreError> {
        let states = self.states(keys).await?;
        if !self.tells(StoreLie::ShowsFirst) {
            return Ok(states);
        }
        let mut shown = lock_mutex(&self.shown);
        let first = |(key, state): (&StateKey, _)| shown.entry(key.clone()).or_insert(state).clone();
        Ok(keys.iter().zip(states).map(first).collect())
    }

    async fn enrol(&self, mut enrolments: Vec<CrowdEnrolment>) -> Result<(), StoreError> {
        if self.tells(StoreLie::RemovalForgotten) {
            enrolments.retain(|one| one.on);
        }
        for one in &mut enrolments {
            one.tenant = self.tenant(&one.tenant);
            one.person = self.person(&one.person);
            one.crowd = self.crowd(&one.crowd);
            if self.tells(StoreLie::OlderWins) {
                one.version = self.arrival(one.version);
            }
        }
        if [StoreLie::EraseLeavesCrowds, StoreLie::EraseTakesNamesakes].contains(&self.lie) {
            lock_mutex(&self.enrolments).extend(enrolments.iter().cloned());
        }
        enrolments
            .retain(|one| !lock_mutex(&self.erased).contains(&(one.tenant.clone(), one.person.clone())));
        self.delay_write(LateWrite::Enrolments(enrolments)).await
    }

    async fn members(
        &self,
        tenant: &Tenant,
        crowd: &Crowd,
        from: Option<&[u8]>,
        most: usize,
    ) -> Result<CrowdMembers, StoreError> {
        let asked = if self.tells(StoreLie::PartTooLarge) { most.saturating_mul(2) } else { most };
        // This lie keeps the last person of a part within its cursor, before a byte that no name has.
        let repeated = from.filter(|_| self.tells(StoreLie::PartRepeats)).and_then(|from| {
            let (name, next) = from.split_at_checked(from.iter().position(|byte| *byte == 0)?)?;
            Some((Person::new(std::str::from_utf8(name).ok()?).ok()?, &next[1..]))
        });
        let from = repeated.as_ref().map_or(from, |(_, next)| Some(*next));
        let mut part = self.inner.members(&self.tenant(tenant), &self.crowd(crowd), from, asked).await?;
        if self.tells(StoreLie::PartSkips) && part.next.is_some() {
            part.persons.pop();
        }
        if self.tells(StoreLie::PartRepeats)
            && let (Some(last), Some(next)) = (part.persons.last(), part.next.take())
        {
            part.next = Some([last.as_str().as_bytes(), &[0], &next].concat());
        }
        if let Some((last, _)) = repeated {
            part.persons.insert(0, last);
        }
        Ok(part)
    }

    async fn cut_crowd(
        &self,
        tenant: &Tenant,
        crowd: &Crowd,
        cut: CrowdCut<'_>,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        let mut places = self.inner.cut_crowd(&self.tenant(tenant), &self.crowd(crowd), cut).await?;
        if self.tells(StoreLie::PartsWithoutEnd) {
            places.fill(cut.from.to_vec());
        }
        Ok(places)
    }

    async fn list_followed(
        &self,
        tenant: &Tenant,
        person: &Person,
        behind: Option<&SubjectRef>,
        most: usize,
    ) -> Result<FollowedSubjects, StoreError> {
        let (tenant, person) = (self.tenant(tenant), self.person(person));
        let mut part = self.inner.list_followed(&tenant, &person, behind, most).await?;
        if self.tells(StoreLie::FollowsSkip) && part.next.is_some() {
            part.subjects.pop();
        }
        if self.tells(StoreLie::FollowsOlder) {
            part.subjects.iter_mut().for_each(|(_, version)| *version -= 1);
        }
        Ok(part)
    }

    async fn enrolled_since(&self, of: &[(Tenant, Person, Crowd)]) -> Result<Vec<Option<i64>>, StoreError> {
        let lied = |(tenant, person, crowd): &(Tenant, Person, Crowd)| {
            (self.tenant(tenant), self.person(person), self.crowd(crowd))
        };
        let of: Vec<_> = of.iter().map(lied).collect();
        let since = self.inner.enrolled_since(&of).await?;
        let lied = |since: Option<i64>| match since {
            Some(_) if self.tells(StoreLie::SinceForgotten) => Some(i64::MIN),
            None if self.tells(StoreLie::EverybodyBelongs) => Some(0),
            honest => honest,
        };
        Ok(since.into_iter().map(lied).collect())
    }

    async fn claim(
        &self,
        tenant: &Tenant,
        mut claim: JournalClaim,
    ) -> Result<JournalClaimOutcome, StoreError> {
        let tenant = self.tenant(tenant);
        claim.attempt = self.attempt(claim.attempt);
        let mut earlier = None;
        if self.tells(StoreLie::LosesLastWrite) && !self.is_claimed(&tenant, &claim).await? {
            self.delay_write(LateWrite::Claim(tenant, claim)).await?;
            return Ok(JournalClaimOutcome::Yours);
        }
        if self.tells(StoreLie::OwnClaimTheirs) {
            let journalled = self.inner.read_journal(&tenant, &[claim.ready]).await?;
            let claims = journalled.into_iter().flat_map(|found| found.claims);
            earlier = claims.into_iter().find(|found| found.attempt == claim.attempt);
        }
        let claimed = self.inner.claim(&tenant, claim).await?;
        Ok(match earlier {
            Some(earlier) => JournalClaimOutcome::Theirs(earlier),
            None if self.tells(StoreLie::ClaimGivenTwice) => JournalClaimOutcome::Yours,
            None => claimed,
        })
    }

    async fn record(&self, tenant: &Tenant, mut record: JournalRecord) -> Result<(), StoreError> {
        let tenant = self.tenant(tenant);
        record.attempt = self.attempt(record.attempt);
        if self.tells(StoreLie::LastRecordStands) {
            lock_mutex(&self.records).insert((tenant.clone(), record.ready, record.attempt), record.clone());
        }
        self.delay_write(LateWrite::Record(tenant, record)).await
    }

    async fn read_journal(
        &self,
        tenant: &Tenant,
        readys: &[ReadyId],
    ) -> Result<Vec<JournalRows>, StoreError> {
        let tenant = self.tenant(tenant);
        let mut found = self.inner.read_journal(&tenant, readys).await?;
        let records = lock_mutex(&self.records);
        for journalled in &mut found {
            for record in &mut journalled.records {
                if let Some(last) = records.get(&(tenant.clone(), record.ready, record.attempt)) {
                    *record = last.clone();
                }
            }
            if self.tells(StoreLie::JournalDisorder) {
                journalled.claims.reverse();
                journalled.records.reverse();
            }
        }
        Ok(found)
    }

    async fn put_answer(
        &self,
        tenant: &Tenant,
        key: &str,
        before: Option<&StandingAnswer>,
        answer: StandingAnswer,
        now: UtcMillis,
    ) -> Result<StandingAnswer, StoreError> {
        let tenant = self.tenant(tenant);
        let found = self.inner.find_answer(&tenant, key, now).await?;
        if self.tells(StoreLie::LosesLastWrite) && found.is_none() {
            self.delay_write(LateWrite::Answer(tenant, key.to_owned(), answer.clone(), now)).await?;
            return Ok(answer);
        }
        let before = before.filter(|_| !self.tells(StoreLie::AnswersStay));
        let now = self.answer_time(now);
        let mut stands = self.inner.put_answer(&tenant, key, before, answer.clone(), now).await?;
        while self.tells(StoreLie::AnswersGiveWay) && before.is_some() && stands != answer {
            stands = self.inner.put_answer(&tenant, key, Some(&stands), answer.clone(), now).await?;
        }
        if !self.tells(StoreLie::LastAnswerStands) {
            return Ok(stands);
        }
        lock_mutex(&self.answers).insert((tenant, key.to_owned()), answer.clone());
        Ok(answer)
    }

    async fn find_answer(
        &self,
        tenant: &Tenant,
        key: &str,
        now: UtcMillis,
    ) -> Result<Option<StandingAnswer>, StoreError> {
        let tenant = self.tenant(tenant);
        let stands = self.inner.find_answer(&tenant, key, self.answer_time(now)).await?;
        let last = lock_mutex(&self.answers).get(&(tenant, key.to_owned())).cloned();
        Ok(last.or(stands))
    }

    async fn first_words(
        &self,
        said: &[(EventKey, FirstWord)],
        now: UtcMillis,
    ) -> Result<Vec<FirstWord>, StoreError> {
        if self.tells(StoreLie::LastWordStands) {
            return Ok(said.iter().map(|(_, word)| *word).collect());
        }
        let lied: Vec<_> = said.iter().map(|(event, word)| (self.event_key(*event), *word)).collect();
        let now = if self.tells(StoreLie::WordsForEver) { UtcMillis(0) } else { now };
        self.inner.first_words(&lied, now).await
    }

    async fn heard_at(&self, event: EventKey, now: UtcMillis) -> Result<Option<UtcMillis>, StoreError> {
        let heard = self.inner.heard_at(event, now).await?;
        Ok(if self.tells(StoreLie::HeardJustNow) { heard.map(|_| now) } else { heard })
    }

    async fn keep(&self, ready: ReadyId, slip: Slip) -> Result<(), StoreError> {
        let ready = self.slip_key(ready);
        if self.tells(StoreLie::FirstSlipStands) && self.inner.slip(ready, slip.at).await?.is_some() {
            return Ok(());
        }
        self.delay_write(LateWrite::Slip(ready, slip)).await
    }

    async fn slip(&self, ready: ReadyId, now: UtcMillis) -> Result<Option<Slip>, StoreError> {
        self.inner
            .slip(self.slip_key(ready), if self.tells(StoreLie::SlipsForEver) { UtcMillis(0) } else { now })
            .await
    }

    async fn erase(
        &self,
        tenant: &Tenant,
        person: &Person,
        how: EraseMode,
        now: UtcMillis,
    ) -> Result<HoldingCounts, StoreError> {
        let (tenant, person) = (self.tenant(tenant), self.person(person));
        let how = match how {
            EraseMode::Look if self.tells(StoreLie::LookRemoves) => EraseMode::Remove,
            EraseMode::Remove if self.tells(StoreLie::EraseIsTold) => EraseMode::Look,
            honest => honest,
        };
        let mut counts = self.inner.erase(&tenant, &person, how, now).await?;
        if how == EraseMode::Look {
            return Ok(counts);
        }
        let enrolments: Vec<CrowdEnrolment> = lock_mutex(&self.enrolments).clone();
        match self.lie {
            StoreLie::EraseLeavesCrowds => {
                let own = |one: &CrowdEnrolment| one.tenant == tenant && one.person == person;
                self.inner.enrol(enrolments.into_iter().filter(own).collect()).await?;
            }
            StoreLie::EraseSaysLittle => counts.retain(|holding, _| *holding != Holding::Slips),
            StoreLie::EraseForgetsItself => {
                let mut state = VersionedState::default();
                state.set(notes::ERASED, ValueCell { version: i64::MAX, value: None });
                self.inner.merge(vec![(StateKey::Notes(tenant, person), state)]).await?;
            }
            StoreLie::EraseTakesNamesakes => {
                for other in enrolments.iter().filter(|one| one.person == person) {
                    self.inner.erase(&other.tenant, &person, how, now).await?;
                }
            }
            StoreLie::ErasedForEver => drop(lock_mutex(&self.erased).insert((tenant, person))),
            _ => {}
        }
        Ok(counts)
    }
}
