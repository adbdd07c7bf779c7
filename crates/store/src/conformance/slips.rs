//! Promises about slips.

use std::sync::Arc;

use model::{
    Channel, PlanName, ReadyId, UtcMillis,
    returns::{AddressHash, SLIP_LIFE_MS, Slip},
};

use super::{
    BrokenStorePromise, StoreHarness, StorePromiseResult, expect_same,
    samples::{NOW, person, ready_id, tenant},
};
use crate::port::Store;

promises! {
    check_last_slip keeps "the last slip stands":
        "a slip comes back as it was kept, also after a crash; of several of one Ready it is the last";
    check_slips_apart keeps "slips are apart":
        "each Ready has its own slip, whatever its id has in common with another's";
    check_slip_expires keeps "a slip is gone when it has had its time":
        "a slip is there until it is as old as slips live, and then it is not";
}

fn sample_slip(name: &str, stream: &str, at: UtcMillis) -> Result<Slip, BrokenStorePromise> {
    let plan = PlanName::new("daily").map_err(|error| BrokenStorePromise(error.to_string()))?;
    let (tenant, person) = (tenant("main")?, person(name)?);
    let address = AddressHash::from_address(&tenant, &person, "ann@example.org");
    Ok(Slip { tenant, person, plan, stream: stream.into(), channel: Channel::Email, address, at })
}

async fn find_slip(store: &Arc<dyn Store>, ready: ReadyId) -> Result<Option<Slip>, BrokenStorePromise> {
    Ok(store.slip(ready, NOW.plus(5)).await?)
}

async fn check_last_slip(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let mut store = harness.open().await?;
    expect_same("before", &find_slip(&store, ready_id(1)).await?, &None)?;
    for (name, stream, at) in [("ann", "general", NOW), ("änn/:", "offers", NOW.plus(1))] {
        let kept = sample_slip(name, stream, at)?;
        store.keep(ready_id(1), kept.clone()).await?;
        store = harness.crash(store).await?;
        expect_same(name, &find_slip(&store, ready_id(1)).await?, &Some(kept))?;
    }
    Ok(())
}

async fn check_slips_apart(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let mut ids = [ready_id(1), ready_id(1), ready_id(2)];
    ids[1].0[15] ^= 1;
    for (id, name) in ids.into_iter().zip(["ann", "bob", "cy"]) {
        store.keep(id, sample_slip(name, "general", NOW)?).await?;
    }
    for (id, name) in ids.into_iter().zip(["ann", "bob", "cy"]) {
        expect_same(name, &find_slip(&store, id).await?, &Some(sample_slip(name, "general", NOW)?))?;
    }
    Ok(())
}

async fn check_slip_expires(harness: &mut dyn StoreHarness) -> StorePromiseResult {
    let store = harness.open().await?;
    let kept = sample_slip("ann", "general", NOW)?;
    store.keep(ready_id(1), kept.clone()).await?;
    let last = NOW.plus(SLIP_LIFE_MS - 1);
    expect_same("a millisecond before", &store.slip(ready_id(1), last).await?, &Some(kept))?;
    expect_same("at its end", &store.slip(ready_id(1), last.plus(1)).await?, &None)
}
