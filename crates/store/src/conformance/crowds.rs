//! Promises about crowds.

use std::{collections::BTreeMap, sync::Arc};

use model::{
    Crowd, CrowdEnrolment, Person, SubjectRef,
    limits::{FOLLOWS_PART_MAX, SLICE_PERSONS_MAX},
    place::GlobeCell,
};

use super::{
    BrokenStorePromise, StoreHarness, StorePromiseResult, expect_holds, expect_same,
    samples::{hostile_names, person, subject, tenant},
};
use crate::port::{CrowdCut, Store};

promises! {
    check_durable keeps "enrolments are durable":
        "an enrolment whose write has returned is there after a crash";
    check_newer_wins keeps "the newer enrolment wins":
        "of the versions of an enrolment the highest stands in every order; at one version its end does";
    check_leaving_row keeps "leaving is a row":
        "an end that comes first keeps an older enrolment away that comes later";
    check_since_when keeps "since when is known":
        "a member is enrolled by the version that stands, and a non-member by none";
    check_parts_cover keeps "parts cover everybody once":
        "part after part names each lasting member exactly once and no non-member, while others come and go";
    check_part_size keeps "a part has its size":
        "a part names at most as many as asked for, and never more than a slice may";
    check_crowd_cut keeps "a crowd is cut into parts":
        "the parts of what is left of a crowd are walked at any time, and name each lasting member once";
    check_sides_agree keeps "both sides of a crowd agree":
        "whether somebody belongs is told the same from both sides, in the order asked for";
    check_follows_listed keeps "what a person follows is listed":
        "part after part names what a person follows once, by the version that stands, and nothing else, after a crash as well";
    check_crowds_apart keeps "crowds are apart":
        "followers, each cell and everyone are crowds of their own";
}

fn followers(of: &str) -> Result<Crowd, BrokenStorePromise> {
    Ok(Crowd::Followers(subject(of)?))
}

fn enrolment(who: &str, crowd: &Crowd, version: i64, on: bool) -> Result<CrowdEnrolment, BrokenStorePromise> {
    Ok(CrowdEnrolment { tenant: tenant("main")?, person: person(who)?, crowd: crowd.clone(), version, on })
}

/// Everybody who belongs, by parts of this size.
async fn read_all_members(
    store: &Arc<dyn Store>,
    crowd: &Crowd,
    most: usize,
) -> Result<Vec<Person>, BrokenStorePromise> {
    let tenant = tenant("main")?;
    let (mut persons, mut from) = (Vec::new(), None);
    for _ in 0..1_000 {
        let part = store.members(&tenant, crowd, from.as_deref(), most).await?;
        expect_holds(format!("{} in a part of {most}", part.persons.len()), part.persons.len() <= most)?;
        persons.extend(part.persons);
        match part.next {
            Some(next) => from = Some(next),
            None => return Ok(persons),
        }
    }
    Err(BrokenStorePromise("the parts do not end".into()))
}

async fn belongs(store: &Arc<dyn Store>, who: &str, crowd: &Crowd) -> Result<bool, BrokenStorePromise> {
    let of = (tenant("main")?, person(who)?, crowd.clone());
    Ok(store.belongs(&[of]).await? == [true])
}

/// A crowd of each sort.
fn one_of_each() -> Result<[Crowd; 3], BrokenStorePromise> {
    Ok([followers("author:7")?, Crowd::Cell(GlobeCell(0x8728_3082_9fff_ffff)), Crowd::Everyone])
}

async fn check_durable(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    for crowd in one_of_each()? {
        for n in 0..3 {
            store.enrol(vec![enrolment(&format!("p{n}"), &crowd, 1, true)?]).await?;
            store = harness.crash(store).await?;
        }
        expect_same(
            format!("{crowd} after a crash"),
            &read_all_members(&store, &crowd, 10).await?.len(),
            &3,
        )?;
        store.enrol(vec![enrolment("p1", &crowd, 2, false)?]).await?;
        store = harness.crash(store).await?;
        expect_same(
            format!("{crowd} after an end and a crash"),
            &read_all_members(&store, &crowd, 10).await?.len(),
            &2,
        )?;
    }
    Ok(())
}

async fn check_newer_wins(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let on_off = [(1, true), (2, false), (3, true)];
    let off_on = [(1, false), (2, true), (3, false)];
    let tied = [(2, true), (2, false), (1, true)];
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let (one_by_one, at_once) = (followers("author:7")?, Crowd::Cell(GlobeCell(7)));
    for (versions, expected) in [(on_off, true), (off_on, false), (tied, false)] {
        for order in orders {
            let who = format!("{versions:?} {order:?}");
            for at in order {
                let one = enrolment(&who, &one_by_one, versions[at].0, versions[at].1)?;
                store.enrol(vec![one.clone()]).await?;
                store.enrol(vec![one]).await?;
            }
            expect_same(&who, &belongs(&store, &who, &one_by_one).await?, &expected)?;
            let many = order.map(|at| enrolment(&who, &at_once, versions[at].0, versions[at].1));
            store.enrol(many.into_iter().collect::<Result<_, _>>()?).await?;
            expect_same(format!("{who} in one call"), &belongs(&store, &who, &at_once).await?, &expected)?;
        }
    }
    Ok(())
}

async fn check_leaving_row(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    for crowd in one_of_each()? {
        store.enrol(vec![enrolment("ann", &crowd, 9, false)?]).await?;
        store = harness.crash(store).await?;
        store.enrol(vec![enrolment("ann", &crowd, 8, true)?]).await?;
        expect_holds("an older enrolment came back", !belongs(&store, "ann", &crowd).await?)?;
        expect_same(&crowd, &read_all_members(&store, &crowd, 10).await?, &Vec::new())?;
        store.enrol(vec![enrolment("ann", &crowd, 10, true)?]).await?;
        expect_holds("a newer enrolment did not stand", belongs(&store, "ann", &crowd).await?)?;
    }
    Ok(())
}

async fn check_since_when(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    for crowd in one_of_each()? {
        let of = (tenant("main")?, person("ann")?, crowd.clone());
        for (version, on, expected) in [
            (5, true, Some(5)),
            (7, true, Some(7)),
            (6, true, Some(7)),
            (8, false, None),
            (-3, true, None),
            (9, true, Some(9)),
        ] {
            store.enrol(vec![enrolment("ann", &crowd, version, on)?]).await?;
            expect_same(&crowd, &store.enrolled_since(std::slice::from_ref(&of)).await?, &vec![expected])?;
        }
        store = harness.crash(store).await?;
        expect_same(&crowd, &store.enrolled_since(&[of]).await?, &vec![Some(9)])?;
    }
    Ok(())
}

async fn check_parts_cover(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    for (crowd, other) in [
        (followers("author:7")?, followers("author:70")?),
        (Crowd::Cell(GlobeCell(255)), Crowd::Cell(GlobeCell(256))),
        (Crowd::Everyone, Crowd::Cell(GlobeCell(0))),
    ] {
        check_crowd_covered(&store, &crowd, &other).await?;
    }
    Ok(())
}

async fn check_crowd_covered(store: &Arc<dyn Store>, crowd: &Crowd, other: &Crowd) -> StorePromiseResult {
    let of = tenant("main")?;
    let mut start = Vec::new();
    for n in 0..300 {
        // Every fifth has left before; every seventh is in another crowd of nearly the same name.
        start.push(enrolment(&format!("p{n:03}"), crowd, 1, true)?);
        if n % 5 == 0 {
            start.push(enrolment(&format!("p{n:03}"), crowd, 2, false)?);
        }
        if n % 7 == 0 {
            start.push(enrolment(&format!("p{n:03}x"), other, 1, true)?);
        }
    }
    store.enrol(start).await?;
    let mut seen: BTreeMap<Person, usize> = BTreeMap::new();
    let mut from = None;
    for round in 0..1_000 {
        let part = store.members(&of, crowd, from.as_deref(), 17).await?;
        for person in part.persons {
            *seen.entry(person).or_default() += 1;
        }
        // Others come, and go again, before, within and behind where we are.
        let version = round / 3 + 1;
        let coming =
            (0..30).map(|n| enrolment(&format!("p{:03}new", n * 10), crowd, version, round % 2 == 0));
        store.enrol(coming.collect::<Result<_, _>>()?).await?;
        from = match part.next {
            Some(next) => Some(next),
            None => break,
        };
        expect_holds("the parts do not end", round < 900)?;
    }
    for n in 0..300 {
        let who = person(&format!("p{n:03}"))?;
        expect_same(
            format!("times that {who} was named"),
            &seen.remove(&who).unwrap_or(0),
            &usize::from(n % 5 != 0),
        )?;
    }
    let strangers = seen.iter().find(|(who, times)| **times > 1 || !who.as_str().ends_with("new"));
    expect_holds(format!("named but not once or not a member: {strangers:?}"), strangers.is_none())
}

async fn check_part_size(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let of = tenant("main")?;
    for crowd in [followers("author:7")?, Crowd::Everyone] {
        let many = (0..SLICE_PERSONS_MAX + 50).map(|n| enrolment(&format!("p{n:05}"), &crowd, 1, true));
        store.enrol(many.collect::<Result<_, _>>()?).await?;
        for most in [1, 100, SLICE_PERSONS_MAX] {
            let part = store.members(&of, &crowd, None, most).await?;
            let persons = part.persons.len();
            expect_holds(format!("{persons} in a part of {most}"), (1..=most).contains(&persons))?;
            expect_holds("a part that is not the last names no next", part.next.is_some())?;
        }
        let part = store.members(&of, &crowd, None, usize::MAX).await?;
        expect_holds(format!("{} in a slice", part.persons.len()), part.persons.len() <= SLICE_PERSONS_MAX)?;
        let all = read_all_members(&store, &crowd, SLICE_PERSONS_MAX).await?;
        expect_same("all of them", &all.len(), &(SLICE_PERSONS_MAX + 50))?;
    }
    Ok(())
}

async fn check_crowd_cut(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let of = tenant("main")?;
    let cell = GlobeCell(0x0831_f8ff_ffff_ffff);
    for crowd in [followers("author:7")?, Crowd::Cell(cell), Crowd::Everyone] {
        let many = (0..300).map(|n| enrolment(&format!("p{n:03}"), &crowd, 1, true));
        store.enrol(many.collect::<Result<_, _>>()?).await?;
        for (first, share, most) in [(1, 1, 1), (7, 20, 16), (100, 50, 4), (100, 1_000, 16), (290, 1, 16)] {
            let part = store.members(&of, &crowd, None, first).await?;
            let Some(from) = part.next else { continue };
            let cut = CrowdCut { from: &from, found: part.persons.len(), share, most };
            let places = store.cut_crowd(&of, &crowd, cut).await?;
            expect_holds(format!("{} parts of {most}", places.len()), (1..=most).contains(&places.len()))?;
            let mut persons = part.persons;
            // The last part first: each is walked by itself.
            for (n, place) in places.iter().enumerate().rev() {
                let mut from = Some(place.clone());
                while let Some(place) = from {
                    // Behind the last one there may be more than was looked at.
                    if n + 1 < places.len() {
                        let cut = CrowdCut { from: &place, found: 1, share: 1, most: 9 };
                        let again = store.cut_crowd(&of, &crowd, cut).await?;
                        expect_same("a part that is cut again", &again, &vec![place.clone()])?;
                    }
                    let part = store.members(&of, &crowd, Some(&place), 9).await?;
                    persons.extend(part.persons);
                    from = part.next;
                }
            }
            persons.sort_unstable();
            let all: Vec<Person> = (0..300).map(|n| person(&format!("p{n:03}"))).collect::<Result<_, _>>()?;
            expect_same(format!("{crowd}, {first} and then parts of {share}"), &persons, &all)?;
        }
    }
    Ok(())
}

async fn check_sides_agree(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let (of, crowds) = (tenant("main")?, one_of_each()?);
    let mut asked = Vec::new();
    let mut written = Vec::new();
    for n in 0..40 {
        for (m, crowd) in crowds.iter().enumerate() {
            let who = format!("p{n}");
            asked.push((of.clone(), person(&who)?, crowd.clone()));
            match (n + m) % 3 {
                0 => written.push(enrolment(&who, crowd, 1, true)?),
                1 => written.push(enrolment(&who, crowd, 1, false)?),
                _ => {}
            }
        }
    }
    store.enrol(written).await?;
    let told = store.belongs(&asked).await?;
    expect_same("answers", &told.len(), &asked.len())?;
    for crowd in crowds {
        let mut one_side: Vec<Person> = read_all_members(&store, &crowd, 7).await?;
        one_side.sort();
        let on = asked.iter().zip(&told).filter(|((_, _, of), on)| **on && *of == crowd);
        let mut other_side: Vec<Person> = on.map(|((_, person, _), _)| person.clone()).collect();
        other_side.sort();
        expect_same(&crowd, &one_side, &other_side)?;
        expect_holds("nobody belongs", !one_side.is_empty())?;
    }
    Ok(())
}

async fn check_crowds_apart(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let mut crowds = one_of_each()?.to_vec();
    // Cells whose numbers differ in one bit, and in what bytes they have.
    let cells = (0..64).map(|bit| 1 << bit).chain([0, u64::MAX, u64::from_be_bytes(*b"author:7")]);
    crowds.extend(cells.map(|cell| Crowd::Cell(GlobeCell(cell))));
    for (n, crowd) in crowds.iter().enumerate() {
        expect_same(format!("{crowd} before"), &read_all_members(&store, crowd, 10).await?, &Vec::new())?;
        store.enrol(vec![enrolment(&format!("p{n}"), crowd, 1, true)?]).await?;
    }
    for (n, crowd) in crowds.iter().enumerate() {
        expect_same(crowd, &read_all_members(&store, crowd, 10).await?, &vec![person(&format!("p{n}"))?])?;
    }
    Ok(())
}

/// What somebody follows, by parts of this size.
async fn read_all_followed(
    store: &Arc<dyn Store>,
    (of, who): (&str, &str),
    most: usize,
) -> Result<Vec<(SubjectRef, i64)>, BrokenStorePromise> {
    let (tenant, person) = (tenant(of)?, person(who)?);
    let (mut subjects, mut behind) = (Vec::new(), None);
    for _ in 0..1_000 {
        let part = store.list_followed(&tenant, &person, behind.as_ref(), most).await?;
        let size = part.subjects.len();
        expect_holds(format!("{size} in a part of {most}"), size <= most.clamp(1, FOLLOWS_PART_MAX))?;
        subjects.extend(part.subjects);
        match part.next {
            Some(next) => behind = Some(next),
            None => return Ok(subjects),
        }
    }
    Err(BrokenStorePromise("the parts do not end".into()))
}

async fn check_follows_listed(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    expect_same(
        "before there is anything",
        &read_all_followed(&store, ("main", "ann"), 7).await?,
        &Vec::new(),
    )?;
    let mut expected = BTreeMap::new();
    let mut enrolments = Vec::new();
    for (n, name) in (1..).zip(hostile_names()) {
        let (short, _) = name.split_at(name.floor_char_boundary(126));
        let Ok(of) = subject(&format!("a:{short}")) else { continue };
        let crowd = Crowd::Followers(of.clone());
        // Of three versions the newest stands, in each order; every fourth of them ends it.
        let mut versions = [(n, true), (n + 100, n % 4 != 0), (n + 50, n % 2 == 0)];
        versions.rotate_left(usize::try_from(n % 3).unwrap_or(0));
        for (version, on) in versions {
            enrolments.push(enrolment("ann", &crowd, version, on)?);
        }
        expected.insert(of, (n % 4 != 0).then_some(n + 100));
        // Of others, whose names begin alike.
        for who in ["an", "anne", "ann:"] {
            enrolments.push(enrolment(who, &crowd, 1, true)?);
        }
        enrolments.push(CrowdEnrolment { tenant: tenant("mai")?, ..enrolment("ann", &crowd, 1, true)? });
    }
    for crowd in [Crowd::Cell(GlobeCell(7)), Crowd::Everyone] {
        enrolments.push(enrolment("ann", &crowd, 1, true)?);
    }
    for one in enrolments {
        store.enrol(vec![one]).await?;
    }
    // Nobody looks between the last write and the crash.
    store.enrol(vec![enrolment("ann", &followers("z:last")?, 9, true)?]).await?;
    expected.insert(subject("z:last")?, Some(9));
    store = harness.crash(store).await?;
    let expected: Vec<_> = expected.into_iter().filter_map(|(of, version)| Some((of, version?))).collect();
    expect_holds("nothing is followed", expected.len() > 10)?;
    for most in [0, 1, 7, usize::MAX] {
        expect_same(
            format!("by {most}"),
            &read_all_followed(&store, ("main", "ann"), most).await?,
            &expected,
        )?;
    }
    let asked: Result<Vec<_>, BrokenStorePromise> = expected
        .iter()
        .map(|(of, _)| Ok((tenant("main")?, person("ann")?, Crowd::Followers(of.clone()))))
        .collect();
    let since: Vec<_> = expected.iter().map(|(_, version)| Some(*version)).collect();
    expect_same("the other side", &store.enrolled_since(&asked?).await?, &since)
}
