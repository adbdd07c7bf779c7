//! Tests of two catalogues at once: what an older one does not have is gone only if no newer one is in use.

use house_facts::edition::Edition;
use model::{
    AudienceMatch, Channel, Day, DayRow, EndReason, EntryKey, EntryReason, EventKey, Fate, Kind, UtcMillis,
    entry::{DayKey, Entry},
};
use room::testing::{subject, tenant};
use store::{DayRows, DayStore as _};

use super::{DigestWorld, EIGHT, HOUR, ann};

pub const OWN: Edition = Edition { number: 1, hash: 5 };
pub const WAIT_MS: i64 = 60_000;
const NEWER: Edition = Edition { number: 2, hash: 9 };
const GONE: Fate = Fate::Ended(EndReason::KindGone);

impl DigestWorld {
    /// The fate on the only channel that there is.
    async fn mail_fate(&self, key: EntryKey) -> Fate {
        let day = DayKey { tenant: tenant(), person: ann(), day: Day::from_instant(key.occurred) };
        let rows = self.store.read(&[day], UtcMillis(self.deps.clock.now())).await.unwrap().remove(0);
        model::fold::fold_rows(&rows).get(key).unwrap().fate(Channel::Email)
    }

    async fn wait_for_edition(&self) {
        while self.deps.editions.awaited_edition(UtcMillis(self.deps.clock.now())).is_none() {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_kind_that_only_a_newer_catalogue_has_is_waited_for() {
    let world = DigestWorld::new().await;
    world.deps.editions.learn(OWN, NEWER);
    let key = world.publish_event(&ann(), "memoed", (1, 1), EIGHT, true).await;
    world.wait_for_edition().await;
    assert_eq!(world.readys().await, []);
    // Somebody goes back to this catalogue: now the kind is gone.
    let back = Edition { number: 3, ..OWN };
    world.deps.editions.learn(back, back);
    world.advance_to(EIGHT + HOUR).await;
    assert_eq!(world.mail_fate(key).await, GONE);
}

#[tokio::test]
async fn after_the_longest_wait_a_kind_is_gone() {
    let world = DigestWorld::new().await;
    world.deps.editions.learn(OWN, NEWER);
    let key = world.publish_event(&ann(), "memoed", (1, 1), EIGHT, true).await;
    world.wait_for_edition().await;
    world.deps.clock.advance(WAIT_MS);
    world.advance_to(EIGHT + HOUR).await;
    assert_eq!(world.mail_fate(key).await, GONE);
}

/// The row is there, and its announcement is not yet: a window of another kind meets it when it closes.
#[tokio::test]
async fn a_closing_ends_nothing_that_only_a_newer_catalogue_has() {
    let world = DigestWorld::new().await;
    let told = world.publish_work(1, EIGHT, true).await;
    let key = EntryKey { occurred: UtcMillis(EIGHT), event: EventKey([9; 16]) };
    let reason = EntryReason { kind: Kind::new("memoed").unwrap(), because: AudienceMatch::Named };
    let entry =
        Entry { key, reason, subject: subject("work:9"), actor: None, kept: model::KeptFields::new() };
    let day = DayKey { tenant: tenant(), person: ann(), day: Day::from_instant(key.occurred) };
    world
        .store
        .write(vec![DayRows { key: day, rows: vec![DayRow::Entry(entry)] }], UtcMillis(EIGHT))
        .await
        .unwrap();
    world.settle().await;
    world.deps.editions.learn(OWN, NEWER);
    world.deps.clock.advance_to(EIGHT + HOUR);
    world.wait_for_edition().await;
    assert_eq!(world.readys().await, []);
    assert_eq!(world.mail_fate(key).await, Fate::Waiting { carried: false });
    let back = Edition { number: 3, ..OWN };
    world.deps.editions.learn(back, back);
    world.settle().await;
    assert_eq!(world.told_counts().await, [1]);
    assert!(matches!(world.mail_fate(told).await, Fate::Told { .. }));
    assert_eq!(world.mail_fate(key).await, GONE);
}
