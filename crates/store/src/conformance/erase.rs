//! Promises about erasure. What they write lies in every place that a store has: whoever adds one adds it here.

use std::sync::Arc;

use house_facts::erasure::{EraseMode, Holding, HoldingCounts, HoldingKeeper};
use model::{
    Channel, Crowd, CrowdEnrolment, DayRow, Mark, MarkAction, PlanName, Value, VersionedState,
    entry::DayKey,
    person::notes,
    place::GlobeCell,
    returns::{AddressHash, Slip},
};

use super::{
    BrokenStorePromise, StoreHarness, StorePromiseResult, expect_holds, expect_same,
    samples::{
        NOW, day_key, entry_key, entry_row, person, read_rows, ready_id, subject, tenant, today, write_rows,
    },
};
use crate::port::{JournalClaim, JournalOutcome, JournalRecord, JournalRows, StateKey, Store};

promises! {
    check_erased_gone keeps "who is erased is gone":
        "after an erasure nothing of the person is read in any port, also after a crash and once files were gathered";
    check_erasure_counts keeps "an erasure tells what went":
        "an erasure tells of every place how much there was, as a look before it; another one finds nothing";
    check_look_removes_nothing keeps "a look removes nothing":
        "a preview of an erasure removes nothing";
    check_note_stays keeps "that somebody was erased stays":
        "the notes that a person was erased, and when, outlive the erasure, and no other note does";
    check_others_stay keeps "nobody else is erased":
        "persons of other tenants and of names that begin alike keep all they have";
    check_return_after_erasure keeps "who was erased may come back":
        "what is written after an erasure stands, if its version is newer than what was removed";
}

fn crowds_of_each_sort() -> Result<[Crowd; 3], BrokenStorePromise> {
    Ok([Crowd::Followers(subject("author:7")?), Crowd::Cell(GlobeCell(7)), Crowd::Everyone])
}

fn two_days(of: &str, who: &str) -> Result<[DayKey; 2], BrokenStorePromise> {
    Ok([day_key(of, who, today())?, day_key(of, who, today().plus(-3))?])
}

/// Writes something into every place. `n` tells Readys apart, `version` who comes later.
async fn fill_everywhere(
    store: &dyn Store,
    (of, who): (&str, &str),
    n: u8,
    version: i64,
) -> StorePromiseResult {
    let (tenant, person) = (tenant(of)?, person(who)?);
    let [this, earlier] = two_days(of, who)?;
    let mark =
        Mark::new(Some(Channel::Email), MarkAction::Taken(ready_id(n)), vec![entry_key(1, this.day)], NOW);
    write_rows(store, &this, &[entry_row(1, this.day)?, entry_row(2, this.day)?, DayRow::Mark(mark)]).await?;
    write_rows(store, &earlier, &[entry_row(3, earlier.day)?]).await?;
    let state = |names: &[&str]| {
        VersionedState::from_values(version, names.iter().map(|name| (*name, Some(Value::from_text("x")))))
    };
    let marked = erased_note();
    let key = |key: fn(model::Tenant, model::Person) -> StateKey| key(tenant.clone(), person.clone());
    store
        .merge(vec![
            (key(StateKey::Person), state(&["email", "name", "zone"])),
            (key(StateKey::Preferences), state(&["kind a", "kind b"])),
            (key(StateKey::Saved), state(&["an entry"])),
            (key(StateKey::Streams), state(&["a process"])),
            (key(StateKey::Notes), state(&["full_day"])),
            (key(StateKey::Notes), marked),
        ])
        .await?;
    let enrolments = crowds_of_each_sort()?.map(|crowd| {
        let (tenant, person) = (tenant.clone(), person.clone());
        CrowdEnrolment { tenant, person, crowd, version, on: true }
    });
    store.enrol(enrolments.into()).await?;
    let plan = PlanName::new("daily").map_err(|error| BrokenStorePromise(error.to_string()))?;
    let address = AddressHash::from_address(&tenant, &person, "ann@example.org");
    let (stream, channel) = ("general".into(), Channel::Email);
    let slip = Slip { tenant: tenant.clone(), person, plan, stream, channel, address, at: NOW };
    store.keep(ready_id(n), slip).await?;
    let told = vec![entry_key(1, this.day)];
    let (deadline, plan) = (NOW.plus(1), None);
    let claim =
        JournalClaim { ready: ready_id(n), attempt: 0, token: [n; 16], at: NOW, deadline, told, plan };
    store.claim(&tenant, claim).await?;
    let (at, what, left) = (NOW, JournalOutcome::Sent, Vec::new());
    Ok(store.record(&tenant, JournalRecord { ready: ready_id(n), attempt: 0, at, what, left }).await?)
}

/// What is noted of who was erased, for good.
fn erased_note() -> VersionedState {
    let mut marked = VersionedState::from_values(1, [(notes::ERASED, Some(Value::Flag(true)))]);
    marked.merge(&notes::note_erasure_asked(NOW));
    marked.merge(&notes::note_erasure_done(NOW));
    marked
}

/// What `fill_everywhere` writes, by place.
fn filled_counts() -> HoldingCounts {
    let count = |holding: Holding| match holding {
        Holding::Days => 4,
        Holding::Profile | Holding::Crowds => 3,
        Holding::Mutes | Holding::Journal => 2,
        Holding::Notes | Holding::Saved | Holding::Streams | Holding::Slips | Holding::Follows => 1,
        // It lies by no person's name, and ends after a day.
        _ => 0,
    };
    Holding::kept_by(HoldingKeeper::Store).map(|holding| (holding, count(holding))).collect()
}

/// What is read of somebody, as text: empty if there is nothing but the note that they were erased.
async fn read_remains(
    store: &dyn Store,
    (of, who): (&str, &str),
    n: u8,
) -> Result<Vec<String>, BrokenStorePromise> {
    let (tenant, person) = (tenant(of)?, person(who)?);
    let mut left = Vec::new();
    for key in two_days(of, who)? {
        let rows = read_rows(store, &key).await?;
        left.extend((!rows.is_empty()).then(|| format!("{} rows of {}", rows.len(), key.day)));
    }
    let keys = StateKey::OF_PERSONS.map(|key| key(tenant.clone(), person.clone()));
    for (key, state) in keys.iter().zip(store.states(&keys).await?) {
        let cells = state.cells.keys().filter(|name| !notes::outlives(name));
        left.extend(cells.map(|name| format!("{name} of {key:?}")));
    }
    for crowd in crowds_of_each_sort()? {
        let asked = [(tenant.clone(), person.clone(), crowd.clone())];
        left.extend(store.belongs(&asked).await?.contains(&true).then(|| format!("{crowd}")));
        let members = store.members(&tenant, &crowd, None, 100).await?.persons;
        left.extend(members.contains(&person).then(|| format!("a member of {crowd}")));
    }
    let follows = store.list_followed(&tenant, &person, None, 100).await?.subjects;
    left.extend(follows.iter().map(|(subject, _)| format!("that they follow {subject}")));
    let slip = store.slip(ready_id(n), NOW).await?;
    left.extend(slip.is_some().then(|| "a slip".to_owned()));
    let journalled = store.read_journal(&tenant, &[ready_id(n)]).await?;
    left.extend((journalled != [JournalRows::default()]).then(|| "the journal".to_owned()));
    Ok(left)
}

async fn erase_person(
    store: &dyn Store,
    (of, who): (&str, &str),
    how: EraseMode,
) -> Result<HoldingCounts, BrokenStorePromise> {
    Ok(store.erase(&tenant(of)?, &person(who)?, how, NOW).await?)
}

const ANN: (&str, &str) = ("main", "ann");

async fn check_erased_gone(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    fill_everywhere(&*store, ANN, 1, 5).await?;
    expect_holds("what was written is not found", read_remains(&*store, ANN, 1).await?.len() >= 14)?;
    erase_person(&*store, ANN, EraseMode::Remove).await?;
    expect_same("what is left", &read_remains(&*store, ANN, 1).await?, &Vec::new())?;
    store = harness.crash(store).await?;
    expect_same("what is left after a crash", &read_remains(&*store, ANN, 1).await?, &Vec::new())?;
    store.scrub().await?;
    expect_same("what is left in the end", &read_remains(&*store, ANN, 1).await?, &Vec::new())
}

async fn check_erasure_counts(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let nothing: HoldingCounts = filled_counts().into_keys().map(|holding| (holding, 0)).collect();
    expect_same("before there is anything", &erase_person(&*store, ANN, EraseMode::Look).await?, &nothing)?;
    fill_everywhere(&*store, ANN, 1, 5).await?;
    expect_same("a look", &erase_person(&*store, ANN, EraseMode::Look).await?, &filled_counts())?;
    expect_same("the erasure", &erase_person(&*store, ANN, EraseMode::Remove).await?, &filled_counts())?;
    expect_same("another erasure", &erase_person(&*store, ANN, EraseMode::Remove).await?, &nothing)?;
    expect_same("another look", &erase_person(&*store, ANN, EraseMode::Look).await?, &nothing)
}

async fn check_look_removes_nothing(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    fill_everywhere(&*store, ANN, 1, 5).await?;
    let before = read_remains(&*store, ANN, 1).await?;
    erase_person(&*store, ANN, EraseMode::Look).await?;
    expect_same("what is left", &read_remains(&*store, ANN, 1).await?, &before)
}

async fn check_note_stays(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    fill_everywhere(&*store, ANN, 1, 5).await?;
    erase_person(&*store, ANN, EraseMode::Remove).await?;
    let of = [StateKey::Notes(tenant("main")?, person("ann")?)];
    let marked = vec![erased_note()];
    expect_same("the notes", &store.states(&of).await?, &marked)?;
    store = harness.crash(store).await?;
    expect_same("the notes after a crash", &store.states(&of).await?, &marked)
}

async fn check_others_stay(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let all = [ANN, ("main", "an"), ("main", "anne"), ("mai", "ann"), ("main2", "ann")];
    for (n, one) in (1..).zip(all) {
        fill_everywhere(&*store, one, n, 5).await?;
    }
    let mut before = Vec::new();
    for (n, one) in (1..).zip(all) {
        before.push(read_remains(&*store, one, n).await?);
    }
    erase_person(&*store, ANN, EraseMode::Remove).await?;
    for (n, one) in (1..).zip(all).skip(1) {
        expect_same(
            format!("what {one:?} has"),
            &read_remains(&*store, one, n).await?,
            &before[usize::from(n) - 1],
        )?;
    }
    Ok(())
}

async fn check_return_after_erasure(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store: Arc<dyn Store> = harness.open().await?;
    fill_everywhere(&*store, ANN, 1, 5).await?;
    let before = read_remains(&*store, ANN, 1).await?;
    erase_person(&*store, ANN, EraseMode::Remove).await?;
    // Versions are the source's: they need not be instants.
    fill_everywhere(&*store, ANN, 1, 6).await?;
    expect_same("what is there again", &read_remains(&*store, ANN, 1).await?, &before)?;
    store = harness.crash(store).await?;
    expect_same("what is there after a crash", &read_remains(&*store, ANN, 1).await?, &before)
}
