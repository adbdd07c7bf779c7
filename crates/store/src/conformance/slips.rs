//! Promises about slips.

use std::sync::Arc;

use model::{
    Channel, Millis, PlanName, ReadyId,
    returns::{AddressHash, SLIP_LIFE_MS, Slip},
};

use super::{
    Broken, Harness, Kept, Promise, same,
    samples::{NOW, person, ready, tenant},
};
use crate::port::Store;

pub(super) const PROMISES: &[Promise] = &[
    Promise {
        name: "the last slip stands",
        says: "a slip comes back as it was kept, also after a crash; of several of one Ready it is the last",
        check: |harness| Box::pin(last_stands(harness)),
    },
    Promise {
        name: "slips are apart",
        says: "each Ready has its own slip, whatever its id has in common with another's",
        check: |harness| Box::pin(apart(harness)),
    },
    Promise {
        name: "a slip is gone when it has had its time",
        says: "a slip is there until it is as old as slips live, and then it is not",
        check: |harness| Box::pin(gone(harness)),
    },
];

fn slip(name: &str, stream: &str, at: Millis) -> Result<Slip, Broken> {
    let plan = PlanName::new("daily").map_err(|error| Broken(error.to_string()))?;
    let (tenant, person) = (tenant("main")?, person(name)?);
    let address = AddressHash::of(&tenant, &person, "ann@example.org");
    Ok(Slip { tenant, person, plan, stream: stream.into(), channel: Channel::Email, address, at })
}

async fn found(store: &Arc<dyn Store>, ready: ReadyId) -> Result<Option<Slip>, Broken> {
    Ok(store.slip(ready, NOW.plus(5)).await?)
}

async fn last_stands(harness: &mut dyn Harness) -> Kept {
    let mut store = harness.open().await?;
    same("before", &found(&store, ready(1)).await?, &None)?;
    for (name, stream, at) in [("ann", "general", NOW), ("änn/:", "offers", NOW.plus(1))] {
        let kept = slip(name, stream, at)?;
        store.keep(ready(1), kept.clone()).await?;
        store = harness.crash(store).await?;
        same(name, &found(&store, ready(1)).await?, &Some(kept))?;
    }
    Ok(())
}

async fn apart(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let mut ids = [ready(1), ready(1), ready(2)];
    ids[1].0[15] ^= 1;
    for (id, name) in ids.into_iter().zip(["ann", "bob", "cy"]) {
        store.keep(id, slip(name, "general", NOW)?).await?;
    }
    for (id, name) in ids.into_iter().zip(["ann", "bob", "cy"]) {
        same(name, &found(&store, id).await?, &Some(slip(name, "general", NOW)?))?;
    }
    Ok(())
}

async fn gone(harness: &mut dyn Harness) -> Kept {
    let store = harness.open().await?;
    let kept = slip("ann", "general", NOW)?;
    store.keep(ready(1), kept.clone()).await?;
    let last = NOW.plus(SLIP_LIFE_MS - 1);
    same("a millisecond before", &store.slip(ready(1), last).await?, &Some(kept))?;
    same("at its end", &store.slip(ready(1), last.plus(1)).await?, &None)
}
