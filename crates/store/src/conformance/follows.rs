//! Promises about follows.

use std::{collections::BTreeMap, sync::Arc};

use model::{Follow, Person, limits::SLICE_PERSONS_MAX};

use super::{
    Broken, Harness, Kept, Promise, held, same,
    samples::{person, subject, tenant},
};
use crate::port::Store;

pub(super) const PROMISES: &[Promise] = &[
    Promise {
        name: "follows are durable",
        says: "a follow whose write has returned is there after a crash",
        check: |harness| Box::pin(durable(harness)),
    },
    Promise {
        name: "the newer follow wins",
        says: "of the versions of a follow the highest stands in every order; at one version its end does",
        check: |harness| Box::pin(newer_wins(harness)),
    },
    Promise {
        name: "the end of a follow is a row",
        says: "an end that comes first keeps an older follow away that comes later",
        check: |harness| Box::pin(end_is_a_row(harness)),
    },
    Promise {
        name: "parts cover everybody once",
        says: "part after part names everybody who follows throughout exactly once, and nobody who does not, while others come and go",
        check: |harness| Box::pin(covered(harness)),
    },
    Promise {
        name: "a part has its size",
        says: "a part names at most as many as asked for, and never more than a slice may",
        check: |harness| Box::pin(sized(harness)),
    },
    Promise {
        name: "follows agree with followers",
        says: "whether somebody follows is told the same from both sides, in the order asked for",
        check: |harness| Box::pin(agree(harness)),
    },
];

fn follow(who: &str, target: &str, version: i64, on: bool) -> Result<Follow, Broken> {
    Ok(Follow { tenant: tenant("main")?, person: person(who)?, target: subject(target)?, version, on })
}

/// Everybody who follows, by parts of this size.
async fn all(store: &Arc<dyn Store>, target: &str, most: usize) -> Result<Vec<Person>, Broken> {
    let (tenant, target) = (tenant("main")?, subject(target)?);
    let (mut persons, mut from) = (Vec::new(), None);
    for _ in 0..1_000 {
        let part = store.followers(&tenant, &target, from.as_deref(), most).await?;
        held(format!("{} in a part of {most}", part.persons.len()), part.persons.len() <= most)?;
        persons.extend(part.persons);
        match part.next {
            Some(next) => from = Some(next),
            None => return Ok(persons),
        }
    }
    Err(Broken("the parts do not end".into()))
}

async fn follows(store: &Arc<dyn Store>, who: &str, target: &str) -> Result<bool, Broken> {
    let of = (tenant("main")?, person(who)?, subject(target)?);
    Ok(store.follows(&[of]).await? == [true])
}

async fn durable(harness: &mut dyn Harness) -> Kept {
    let mut store = harness.open().await?;
    for n in 0..3 {
        store.follow(vec![follow(&format!("p{n}"), "author:7", 1, true)?]).await?;
        store = harness.crash(store).await?;
    }
    same("followers after a crash", &all(&store, "author:7", 10).await?.len(), &3)?;
    store.follow(vec![follow("p1", "author:7", 2, false)?]).await?;
    store = harness.crash(store).await?;
    same("followers after an end and a crash", &all(&store, "author:7", 10).await?.len(), &2)
}

async fn newer_wins(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let on_off = [(1, true), (2, false), (3, true)];
    let off_on = [(1, false), (2, true), (3, false)];
    let tied = [(2, true), (2, false), (1, true)];
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for (versions, expected) in [(on_off, true), (off_on, false), (tied, false)] {
        for order in orders {
            let who = format!("{versions:?} {order:?}");
            let many = order.map(|at| follow(&who, "author:7", versions[at].0, versions[at].1));
            let many: Vec<Follow> = many.into_iter().collect::<Result<_, _>>()?;
            for one in many.iter().flat_map(|one| [one, one]) {
                store.follow(vec![one.clone()]).await?;
            }
            same(&who, &follows(&store, &who, "author:7").await?, &expected)?;
            // The same in one call.
            let at_once = many.into_iter().map(|one| Follow { target: one.target.clone(), ..one });
            let other = subject("author:8")?;
            store.follow(at_once.map(|one| Follow { target: other.clone(), ..one }).collect()).await?;
            same(format!("{who} in one call"), &follows(&store, &who, "author:8").await?, &expected)?;
        }
    }
    Ok(())
}

async fn end_is_a_row(harness: &mut dyn Harness) -> Kept {
    let mut store = harness.open().await?;
    store.follow(vec![follow("ann", "author:7", 9, false)?]).await?;
    store = harness.crash(store).await?;
    store.follow(vec![follow("ann", "author:7", 8, true)?]).await?;
    held("an older follow came back", !follows(&store, "ann", "author:7").await?)?;
    same("followers", &all(&store, "author:7", 10).await?, &Vec::new())?;
    store.follow(vec![follow("ann", "author:7", 10, true)?]).await?;
    held("a newer follow did not stand", follows(&store, "ann", "author:7").await?)
}

async fn covered(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let (of, target) = (tenant("main")?, subject("author:7")?);
    let mut start = Vec::new();
    for n in 0..300 {
        // Every fifth has left before; every seventh follows somebody else with nearly the same name.
        start.push(follow(&format!("p{n:03}"), "author:7", 1, true)?);
        if n % 5 == 0 {
            start.push(follow(&format!("p{n:03}"), "author:7", 2, false)?);
        }
        if n % 7 == 0 {
            start.push(follow(&format!("p{n:03}x"), "author:70", 1, true)?);
        }
    }
    store.follow(start).await?;
    let mut seen: BTreeMap<Person, usize> = BTreeMap::new();
    let mut from = None;
    for round in 0..1_000 {
        let part = store.followers(&of, &target, from.as_deref(), 17).await?;
        for person in part.persons {
            *seen.entry(person).or_default() += 1;
        }
        // Others come, and go again, before, within and behind where we are.
        let version = round / 3 + 1;
        let coming =
            (0..30).map(|n| follow(&format!("p{:03}new", n * 10), "author:7", version, round % 2 == 0));
        store.follow(coming.collect::<Result<_, _>>()?).await?;
        from = match part.next {
            Some(next) => Some(next),
            None => break,
        };
        held("the parts do not end", round < 900)?;
    }
    for n in 0..300 {
        let who = person(&format!("p{n:03}"))?;
        same(
            format!("times that {who} was named"),
            &seen.remove(&who).unwrap_or(0),
            &usize::from(n % 5 != 0),
        )?;
    }
    let strangers = seen.iter().find(|(who, times)| **times > 1 || !who.as_str().ends_with("new"));
    held(format!("named but not once or not a follower: {strangers:?}"), strangers.is_none())
}

async fn sized(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let many = (0..SLICE_PERSONS_MAX + 50).map(|n| follow(&format!("p{n:05}"), "author:7", 1, true));
    store.follow(many.collect::<Result<_, _>>()?).await?;
    let (of, target) = (tenant("main")?, subject("author:7")?);
    for most in [1, 100, SLICE_PERSONS_MAX] {
        let part = store.followers(&of, &target, None, most).await?;
        held(
            format!("{} in a part of {most}", part.persons.len()),
            (1..=most).contains(&part.persons.len()),
        )?;
        held("a part that is not the last names no next", part.next.is_some())?;
    }
    let part = store.followers(&of, &target, None, usize::MAX).await?;
    held(format!("{} in a slice", part.persons.len()), part.persons.len() <= SLICE_PERSONS_MAX)?;
    same("all of them", &all(&store, "author:7", SLICE_PERSONS_MAX).await?.len(), &(SLICE_PERSONS_MAX + 50))
}

async fn agree(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let (of, targets) = (tenant("main")?, ["author:7", "author:8", "author:9"]);
    let mut asked = Vec::new();
    let mut written = Vec::new();
    for n in 0..40 {
        for (m, target) in targets.iter().enumerate() {
            let who = format!("p{n}");
            asked.push((of.clone(), person(&who)?, subject(target)?));
            match (n + m) % 3 {
                0 => written.push(follow(&who, target, 1, true)?),
                1 => written.push(follow(&who, target, 1, false)?),
                _ => {}
            }
        }
    }
    store.follow(written).await?;
    let told = store.follows(&asked).await?;
    same("answers", &told.len(), &asked.len())?;
    for target in targets {
        let mut one_side: Vec<Person> = all(&store, target, 7).await?;
        one_side.sort();
        let on = asked.iter().zip(&told).filter(|((_, _, of), on)| **on && of.as_str() == target);
        let mut other_side: Vec<Person> = on.map(|((_, person, _), _)| person.clone()).collect();
        other_side.sort();
        same(format!("followers of {target}"), &one_side, &other_side)?;
        held("nobody follows", !one_side.is_empty())?;
    }
    Ok(())
}
