//! Promises about names: tenants share nothing, and no name runs into another.

use model::{Crowd, CrowdEnrolment, Value, VersionedState, entry::DayKey, place::GlobeCell};

use super::{
    BrokenStorePromise, StoreHarness, StorePromiseResult, expect_same,
    samples::{
        NOW, day_key, entry_row, entry_rows, hostile_names, person, read_rows, ready_id, subject, tenant,
        today, write_rows,
    },
};
use crate::port::{
    DayRows, JournalClaim, JournalClaimOutcome, JournalOutcome, JournalRecord, JournalRows, StateKey, Store,
};

promises! {
    check_tenants keeps "tenants are apart":
        "nothing that one tenant writes is seen by another, in any port";
    check_hostile_days keeps "days of any names are apart":
        "days of names that begin alike, are very long or look like separators share no row";
    check_hostile_states keeps "states of any names are apart":
        "states of such names, and fields of such names, share no cell";
    check_hostile_crowds keeps "crowds of any names are apart":
        "members of such names are told with their names whole, and of no other crowd";
}

fn state_keys(of: &str) -> Result<Vec<StateKey>, BrokenStorePromise> {
    let (of, who) = (tenant(of)?, person("ann")?);
    let persons = StateKey::OF_PERSONS.map(|key| key(of.clone(), who.clone()));
    Ok(persons.into_iter().chain([StateKey::Subject(of, subject("work:1")?)]).collect())
}

fn crowds_of_each_sort() -> Result<[Crowd; 3], BrokenStorePromise> {
    Ok([Crowd::Followers(subject("author:7")?), Crowd::Cell(GlobeCell(7)), Crowd::Everyone])
}

/// Writes something everywhere as one tenant; `n` tells it from what others write.
async fn write_everywhere(store: &dyn Store, name: &str, n: u8) -> StorePromiseResult {
    let of = tenant(name)?;
    write_rows(store, &day_key(name, "ann", today())?, &entry_rows(u16::from(n), u16::from(n) + 1, today())?)
        .await?;
    let value = Some(Value::from_text(&format!("of {n}")));
    let state = VersionedState::from_values(5, [("title", value)]);
    store.merge(state_keys(name)?.into_iter().map(|owner| (owner, state.clone())).collect()).await?;
    let mut enrolments = Vec::new();
    for crowd in crowds_of_each_sort()? {
        let person = person(&format!("p{n}"))?;
        enrolments.push(CrowdEnrolment { tenant: of.clone(), person, crowd, version: 1, on: true });
    }
    store.enrol(enrolments).await?;
    let (at, deadline, told, plan) = (NOW, NOW.plus(1), Vec::new(), None);
    let claim = JournalClaim { ready: ready_id(1), attempt: 0, token: [n; 16], at, deadline, told, plan };
    expect_same(
        format!("the claim of {name}"),
        &store.claim(&of, claim).await?,
        &JournalClaimOutcome::Yours,
    )?;
    let record = JournalRecord {
        ready: ready_id(1),
        attempt: u16::from(n),
        at,
        what: JournalOutcome::Sent,
        left: Vec::new(),
    };
    store.record(&of, record).await?;
    expect_same(format!("the answer of {name}"), &store.answer(&of, "key", vec![n], NOW).await?, &vec![n])
}

/// Looks whether a tenant has what it wrote, and that only.
async fn check_everywhere(store: &dyn Store, name: &str, n: Option<u8>) -> StorePromiseResult {
    let of = tenant(name)?;
    let rows = n.map(|n| entry_row(u16::from(n), today())).transpose()?;
    expect_same(
        format!("the day of {name}"),
        &read_rows(store, &day_key(name, "ann", today())?).await?,
        &Vec::from_iter(rows),
    )?;
    let state = n
        .map(|n| VersionedState::from_values(5, [("title", Some(Value::from_text(&format!("of {n}"))))]))
        .unwrap_or_default();
    let keys = state_keys(name)?;
    expect_same(format!("the states of {name}"), &store.states(&keys).await?, &vec![state; keys.len()])?;
    let persons: Vec<_> = n.map(|n| person(&format!("p{n}"))).transpose()?.into_iter().collect();
    for crowd in crowds_of_each_sort()? {
        let members = store.members(&of, &crowd, None, 10).await?.persons;
        expect_same(format!("{crowd} in {name}"), &members, &persons)?;
        for m in 1..4 {
            let asked = (of.clone(), person(&format!("p{m}"))?, crowd.clone());
            expect_same(format!("{crowd} in {name}"), &store.belongs(&[asked]).await?, &vec![n == Some(m)])?;
        }
    }
    let JournalRows { claims, records } =
        store.read_journal(&of, &[ready_id(1)]).await?.pop().unwrap_or_default();
    let tokens: Vec<u8> = claims.iter().map(|claim| claim.token[0]).collect();
    let attempts: Vec<u16> = records.iter().map(|record| record.attempt).collect();
    expect_same(format!("the claims of {name}"), &tokens, &Vec::from_iter(n))?;
    expect_same(format!("the records of {name}"), &attempts, &Vec::from_iter(n.map(u16::from)))?;
    expect_same(
        format!("the answer of {name}"),
        &store.find_answer(&of, "key", NOW).await?.map(|found| found.body),
        &n.map(|n| vec![n]),
    )
}

async fn check_tenants(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let names = [("main", 1), ("mai", 2), ("main2", 3)];
    for (at, (name, n)) in names.into_iter().enumerate() {
        write_everywhere(&*store, name, n).await?;
        for (at_other, (other, m)) in names.into_iter().enumerate() {
            check_everywhere(&*store, other, (at_other <= at).then_some(m)).await?;
        }
    }
    Ok(())
}

async fn check_hostile_days(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let names = hostile_names();
    let mut keys: Vec<DayKey> = Vec::new();
    for of in &names {
        for who in &names {
            keys.push(day_key(of, who, today())?);
        }
    }
    let mut rows = Vec::new();
    for (key, n) in keys.iter().zip(0..) {
        rows.push(DayRows { key: key.clone(), rows: vec![entry_row(n, today())?] });
    }
    store.write(rows.clone(), NOW).await?;
    let found = store.read(&keys, NOW).await?;
    for (written, found) in rows.iter().zip(&found) {
        expect_same(format!("{:?}", written.key), found, &written.rows)?;
    }
    expect_same("days", &found.len(), &rows.len())
}

async fn check_hostile_states(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let names = hostile_names();
    let (mut keys, mut states) = (Vec::new(), Vec::new());
    for of in ["a", "a:b", "😀"] {
        for name in &names {
            let (of, who) = (tenant(of)?, person(name)?);
            let mut owners = StateKey::OF_PERSONS.map(|key| key(of.clone(), who.clone())).to_vec();
            let (short, _) = name.split_at(name.floor_char_boundary(126));
            owners.extend(subject(&format!("a:{short}")).ok().map(|subject| StateKey::Subject(of, subject)));
            for owner in owners {
                // Names cut short may be the same one twice.
                if !keys.contains(&owner) {
                    let at = i64::try_from(keys.len()).unwrap_or(0) + 1;
                    let fields =
                        names.iter().map(|field| (field, Some(Value::from_text(&format!("{field} {at}")))));
                    states.push(VersionedState::from_values(at, fields));
                    keys.push(owner);
                }
            }
        }
    }
    store.merge(keys.iter().cloned().zip(states.iter().cloned()).collect()).await?;
    let found = store.states(&keys).await?;
    for ((key, written), found) in keys.iter().zip(&states).zip(&found) {
        expect_same(format!("{key:?}"), found, written)?;
    }
    expect_same("states", &found.len(), &states.len())
}

async fn check_hostile_crowds(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let names = hostile_names();
    // Of what begins alike, tenants among them, and of each sort.
    let mut crowds = Vec::new();
    for of in ["a", "ae", "main"] {
        for target in ["a:a", "a:ab", "a:a:"] {
            crowds.push((tenant(of)?, Crowd::Followers(subject(target)?)));
        }
        for cell in [0, 0x6161, 0x6100_0000_0000_0000, u64::MAX] {
            crowds.push((tenant(of)?, Crowd::Cell(GlobeCell(cell))));
        }
        crowds.push((tenant(of)?, Crowd::Everyone));
    }
    let mut written = Vec::new();
    for (n, who) in names.iter().enumerate() {
        for (m, (of, crowd)) in crowds.iter().enumerate() {
            let (tenant, crowd) = (of.clone(), crowd.clone());
            // Each is in some and not in others, so that a collision adds somebody.
            written.push(CrowdEnrolment {
                tenant,
                person: person(who)?,
                crowd,
                version: 1,
                on: (n + m) % 3 != 0,
            });
        }
    }
    store.enrol(written.clone()).await?;
    for (of, crowd) in &crowds {
        let on = written.iter().filter(|one| one.on && one.tenant == *of && one.crowd == *crowd);
        let mut expected: Vec<_> = on.map(|one| one.person.clone()).collect();
        let (mut found, mut from) = (Vec::new(), None);
        loop {
            let part = store.members(of, crowd, from.as_deref(), 4).await?;
            found.extend(part.persons);
            from = part.next;
            if from.is_none() || found.len() > names.len() {
                break;
            }
        }
        expected.sort();
        found.sort();
        expect_same(format!("{crowd} in {of}"), &found, &expected)?;
    }
    Ok(())
}
