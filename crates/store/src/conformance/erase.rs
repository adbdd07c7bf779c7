//! Promises about erasure. What they write lies in every place that a store has: whoever adds one adds it here.

use std::sync::Arc;

use model::{
    Channel, Crowd, Enrolment, Mark, PlanName, Row, State, Value, What,
    entry::DayKey,
    erase::{Counts, Erase, Holding, Keeper},
    person::notes,
    place::Cell,
    returns::{AddressHash, Slip},
};

use super::{
    Broken, Harness, Kept, Promise, held, same,
    samples::{NOW, day_key, entry, entry_key, person, read, ready, subject, tenant, today, write},
};
use crate::port::{Claim, Journalled, Record, Recorded, StateKey, Store};

pub(super) const PROMISES: &[Promise] = &[
    Promise {
        name: "who is erased is gone",
        says: "after an erasure nothing of the person is read in any port, also after a crash and once files were gathered",
        check: |harness| Box::pin(gone(harness)),
    },
    Promise {
        name: "an erasure tells what went",
        says: "an erasure tells of every place how much there was, as a look before it; another one finds nothing",
        check: |harness| Box::pin(told(harness)),
    },
    Promise {
        name: "a look removes nothing",
        says: "who looks what an erasure would remove leaves everything",
        check: |harness| Box::pin(looked(harness)),
    },
    Promise {
        name: "that somebody was erased stays",
        says: "the notes that a person was erased, and when, outlive the erasure, and no other note does",
        check: |harness| Box::pin(noted(harness)),
    },
    Promise {
        name: "nobody else is erased",
        says: "persons of other tenants and of names that begin alike keep all they have",
        check: |harness| Box::pin(others(harness)),
    },
    Promise {
        name: "who was erased may come back",
        says: "what is written after an erasure stands, if its version is newer than what was removed",
        check: |harness| Box::pin(back(harness)),
    },
];

fn crowds() -> Result<[Crowd; 3], Broken> {
    Ok([Crowd::Followers(subject("author:7")?), Crowd::Cell(Cell(7)), Crowd::Everyone])
}

fn days(of: &str, who: &str) -> Result<[DayKey; 2], Broken> {
    Ok([day_key(of, who, today())?, day_key(of, who, today().plus(-3))?])
}

/// Writes something into every place. `n` tells Readys apart, `version` who comes later.
async fn fill(store: &dyn Store, (of, who): (&str, &str), n: u8, version: i64) -> Kept {
    let (tenant, person) = (tenant(of)?, person(who)?);
    let [this, earlier] = days(of, who)?;
    let mark = Mark::new(Some(Channel::Email), What::Taken(ready(n)), vec![entry_key(1, this.day)], NOW);
    write(store, &this, &[entry(1, this.day)?, entry(2, this.day)?, Row::Mark(mark)]).await?;
    write(store, &earlier, &[entry(3, earlier.day)?]).await?;
    let state = |names: &[&str]| State::at(version, names.iter().map(|name| (*name, Some(Value::text("x")))));
    let marked = marked();
    let key = |key: fn(model::Tenant, model::Person) -> StateKey| key(tenant.clone(), person.clone());
    store
        .merge(vec![
            (key(StateKey::Person), state(&["email", "name", "zone"])),
            (key(StateKey::Mutes), state(&["kind a", "kind b"])),
            (key(StateKey::Notes), state(&["full_day"])),
            (key(StateKey::Notes), marked),
        ])
        .await?;
    let enrolments = crowds()?.map(|crowd| {
        let (tenant, person) = (tenant.clone(), person.clone());
        Enrolment { tenant, person, crowd, version, on: true }
    });
    store.enrol(enrolments.into()).await?;
    let plan = PlanName::new("daily").map_err(|error| Broken(error.to_string()))?;
    let address = AddressHash::of(&tenant, &person, "ann@example.org");
    let (stream, channel) = ("general".into(), Channel::Email);
    let slip = Slip { tenant: tenant.clone(), person, plan, stream, channel, address, at: NOW };
    store.keep(ready(n), slip).await?;
    let told = vec![entry_key(1, this.day)];
    let claim = Claim { ready: ready(n), attempt: 0, token: [n; 16], at: NOW, deadline: NOW.plus(1), told };
    store.claim(&tenant, claim).await?;
    let (at, what, left) = (NOW, Recorded::Sent, Vec::new());
    Ok(store.record(&tenant, Record { ready: ready(n), attempt: 0, at, what, left }).await?)
}

/// What is noted of who was erased, for good.
fn marked() -> State {
    let mut marked = State::at(1, [(notes::ERASED, Some(Value::Flag(true)))]);
    marked.merge(&notes::erased_at(NOW));
    marked.merge(&notes::erased_to(NOW));
    marked
}

/// What `fill` writes, by place.
fn filled() -> Counts {
    let count = |holding: Holding| match holding {
        Holding::Days => 4,
        Holding::Profile | Holding::Crowds => 3,
        Holding::Mutes | Holding::Journal => 2,
        Holding::Notes | Holding::Slips | Holding::Follows => 1,
        // It lies by no person's name, and ends after a day.
        _ => 0,
    };
    Holding::kept_by(Keeper::Store).map(|holding| (holding, count(holding))).collect()
}

/// What is read of somebody, as text: empty if there is nothing but the note that they were erased.
async fn left(store: &dyn Store, (of, who): (&str, &str), n: u8) -> Result<Vec<String>, Broken> {
    let (tenant, person) = (tenant(of)?, person(who)?);
    let mut left = Vec::new();
    for key in days(of, who)? {
        let rows = read(store, &key).await?;
        left.extend((!rows.is_empty()).then(|| format!("{} rows of {}", rows.len(), key.day)));
    }
    let keys = [StateKey::Person, StateKey::Mutes, StateKey::Notes];
    let keys = keys.map(|key| key(tenant.clone(), person.clone()));
    for (key, state) in keys.iter().zip(store.states(&keys).await?) {
        let cells = state.cells.keys().filter(|name| !notes::outlives(name));
        left.extend(cells.map(|name| format!("{name} of {key:?}")));
    }
    for crowd in crowds()? {
        let asked = [(tenant.clone(), person.clone(), crowd.clone())];
        left.extend(store.belongs(&asked).await?.contains(&true).then(|| format!("{crowd}")));
        let members = store.members(&tenant, &crowd, None, 100).await?.persons;
        left.extend(members.contains(&person).then(|| format!("a member of {crowd}")));
    }
    let follows = store.followed(&tenant, &person, None, 100).await?.subjects;
    left.extend(follows.iter().map(|(subject, _)| format!("that they follow {subject}")));
    let slip = store.slip(ready(n), NOW).await?;
    left.extend(slip.is_some().then(|| "a slip".to_owned()));
    let journalled = store.journalled(&tenant, &[ready(n)]).await?;
    left.extend((journalled != [Journalled::default()]).then(|| "the journal".to_owned()));
    Ok(left)
}

async fn erased(store: &dyn Store, (of, who): (&str, &str), how: Erase) -> Result<Counts, Broken> {
    Ok(store.erase(&tenant(of)?, &person(who)?, how, NOW).await?)
}

const ANN: (&str, &str) = ("main", "ann");

async fn gone(harness: &mut dyn Harness) -> Kept {
    let mut store = harness.open().await?;
    fill(&*store, ANN, 1, 5).await?;
    held("what was written is not found", left(&*store, ANN, 1).await?.len() >= 14)?;
    erased(&*store, ANN, Erase::Remove).await?;
    same("what is left", &left(&*store, ANN, 1).await?, &Vec::new())?;
    store = harness.crash(store).await?;
    same("what is left after a crash", &left(&*store, ANN, 1).await?, &Vec::new())?;
    store.scrub().await?;
    same("what is left in the end", &left(&*store, ANN, 1).await?, &Vec::new())
}

async fn told(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let nothing: Counts = filled().into_keys().map(|holding| (holding, 0)).collect();
    same("before there is anything", &erased(&*store, ANN, Erase::Look).await?, &nothing)?;
    fill(&*store, ANN, 1, 5).await?;
    same("a look", &erased(&*store, ANN, Erase::Look).await?, &filled())?;
    same("the erasure", &erased(&*store, ANN, Erase::Remove).await?, &filled())?;
    same("another erasure", &erased(&*store, ANN, Erase::Remove).await?, &nothing)?;
    same("another look", &erased(&*store, ANN, Erase::Look).await?, &nothing)
}

async fn looked(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    fill(&*store, ANN, 1, 5).await?;
    let before = left(&*store, ANN, 1).await?;
    erased(&*store, ANN, Erase::Look).await?;
    same("what is left", &left(&*store, ANN, 1).await?, &before)
}

async fn noted(harness: &mut dyn Harness) -> Kept {
    let mut store = harness.open().await?;
    fill(&*store, ANN, 1, 5).await?;
    erased(&*store, ANN, Erase::Remove).await?;
    let of = [StateKey::Notes(tenant("main")?, person("ann")?)];
    let marked = vec![marked()];
    same("the notes", &store.states(&of).await?, &marked)?;
    store = harness.crash(store).await?;
    same("the notes after a crash", &store.states(&of).await?, &marked)
}

async fn others(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let all = [ANN, ("main", "an"), ("main", "anne"), ("mai", "ann"), ("main2", "ann")];
    for (n, one) in (1..).zip(all) {
        fill(&*store, one, n, 5).await?;
    }
    let mut before = Vec::new();
    for (n, one) in (1..).zip(all) {
        before.push(left(&*store, one, n).await?);
    }
    erased(&*store, ANN, Erase::Remove).await?;
    for (n, one) in (1..).zip(all).skip(1) {
        same(format!("what {one:?} has"), &left(&*store, one, n).await?, &before[usize::from(n) - 1])?;
    }
    Ok(())
}

async fn back(harness: &mut dyn Harness) -> Kept {
    let mut store: Arc<dyn Store> = harness.open().await?;
    fill(&*store, ANN, 1, 5).await?;
    let before = left(&*store, ANN, 1).await?;
    erased(&*store, ANN, Erase::Remove).await?;
    // Versions are the source's: they need not be instants.
    fill(&*store, ANN, 1, 6).await?;
    same("what is there again", &left(&*store, ANN, 1).await?, &before)?;
    store = harness.crash(store).await?;
    same("what is there after a crash", &left(&*store, ANN, 1).await?, &before)
}
