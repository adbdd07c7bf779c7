//! Large audiences of several tenants: what each waits for, and how much a turn tells of whom.

use std::{collections::BTreeMap, sync::Arc};

use house_facts::tenant_shares::TenantShares;
use model::{CrowdEnrolment, Tenant};
use room::records::slice_record;
use store::CrowdStore as _;

use super::*;
use crate::config::CROWD_PARTS_MAX;

fn other_tenant() -> Tenant {
    Tenant::new("other").unwrap()
}

/// An event of the other tenant, whose followers are so many; the last of them is awaited.
async fn prepare_other(house: &FanoutHouse, few: usize) -> Event {
    let crowd = Crowd::Followers(subject("author:8"));
    let enrol = |n| CrowdEnrolment {
        tenant: other_tenant(),
        person: person(&format!("few{n}")),
        crowd: crowd.clone(),
        version: 1,
        on: true,
    };
    house.store.enrol((0..few).map(enrol).collect()).await.unwrap();
    let members = house.store.members(&other_tenant(), &crowd, None, few).await.unwrap();
    *house.watch.awaited.lock().unwrap() = Some((members.persons.last().unwrap().clone(), None));
    let event = parse_event("2 by author:8");
    Event { tenant: other_tenant(), key: EventKey::from_source_id(&other_tenant(), "test", "2"), ..event }
}

/// Each part of the large one writes its next slice behind all others, so a slice waits for one turn of each part at most.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slice_waits_for_one_round_of_another_tenants_parts() {
    const MANY: usize = 8_000;
    let house = FanoutHouse::with_sizes(3, 20).await;
    house.add_followers(MANY, "author:7").await;
    let small = prepare_other(&house, 8).await;
    house.publish(&[parse_event("1 by author:7")]).await;
    let begun = std::sync::atomic::AtomicUsize::new(0);
    let publish = async {
        while house.watch.slices.load(Ordering::SeqCst) < 2 * CROWD_PARTS_MAX {
            tokio::task::yield_now().await;
        }
        let large = house.slices().await.swap_remove(0);
        let crowds = vec![Crowd::Followers(subject("author:8"))];
        let slice = Slice { event: small.clone(), crowds, from: None, ..large };
        let partition = PartitionCount::USUAL.of_subject(&slice.event.tenant, &slice.event.subject);
        begun.store(house.watch.slices.load(Ordering::SeqCst), Ordering::SeqCst);
        house.topics.append(vec![slice_record(&slice, None, partition, None).unwrap()]).await.unwrap();
    };
    tokio::join!(house.settle(), publish);
    let own = house.slices().await.iter().filter(|slice| slice.event.tenant == other_tenant()).count();
    let (_, seen) = house.watch.awaited.lock().unwrap().clone().unwrap();
    let waited = seen.expect("the small event was not announced").saturating_sub(begun.into_inner());
    // Of this engine the last part is cut once more when its turn has come, so there are up to twice as many.
    let round = 2 * CROWD_PARTS_MAX + 1;
    let all = house.watch.slices.load(Ordering::SeqCst);
    assert!(own > 0 && all > 3 * (own + 1) * round, "{own} slices of {all} show nothing");
    // One round more, since the large one goes on until the first slice of the small one is in the log; and another, since of
    // four slices a round a part of the large one takes two turns, so more of them are alive.
    assert!(waited <= (own + 2) * round, "{own} slices waited for {waited} turns of {all}");
}

#[tokio::test]
async fn a_turn_tells_as_many_as_the_weight_says() {
    let count_turns = async |heavy: &[(&str, u32)]| {
        let weights: BTreeMap<Tenant, u32> =
            heavy.iter().map(|(name, weight)| (Tenant::new(name).unwrap(), *weight)).collect();
        let mut house = FanoutHouse::with_sizes(3, 40).await;
        house.config.shares = Arc::new(TenantShares::new(weights, BTreeMap::new()));
        house.add_followers(600, "author:7").await;
        house.publish(&[parse_event("1 by author:7")]).await;
        house.settle().await;
        let names: Vec<String> = (0..600).map(|n| format!("p{n}")).collect();
        assert!(house.rows(&names, TODAY).await.iter().all(|rows| rows.len() == 1));
        house.watch.slices.load(Ordering::SeqCst)
    };
    let alone = count_turns(&[]).await;
    assert_eq!(count_turns(&[(tenant().as_str(), 4), ("other", 1)]).await, alone, "it is the heaviest");
    let light = count_turns(&[("other", 4)]).await;
    assert!(light >= 2 * alone, "{light} turns, {alone} where nobody is heavier");
}
