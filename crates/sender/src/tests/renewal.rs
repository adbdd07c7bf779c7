//! Which pushes are put into other words when a part of what they told is revoked.

use catalogue::Catalogue;
use model::{
    Channel, DayRow, Entry, EntryKey, Mark, MarkAction, PlanName, ReadyId, UtcMillis,
    fold::fold_rows,
    limits::{DAY_MS, REVOCABLE_MS},
    ready::Ready,
};
use room::testing::{parse_catalogue, subject};
use store::{JournalClaim, JournalOutcome, JournalRecord, JournalRows};

use super::{NOW, claim, facts, key, ready, reason, record};
use crate::{badge::list_partly_withdrawn, facts::SenderFacts, renewal::build_renewal};

/// What is told is as elsewhere, by pushes that gather.
const PLAN: &str = r#"
plans:
  soon:
    channel: push
    close: {after: 10m}
    look_back: 7d
    headline: News
    body: '{{ items | first }}'
    sections:
      - {title: Works, kinds: [work_out], most: 20, order: newest}
"#;

fn push_catalogue() -> Catalogue {
    let (told, _) = super::CATALOGUE.split_once("\nplans:").unwrap();
    parse_catalogue(&format!("{}{PLAN}", told.replace("[daily]", "[soon]")))
}

/// The push that told three entries.
const PUSH: ReadyId = ReadyId([7; 16]);

/// What is known when these entries were revoked.
fn known(revoked: &[u8]) -> SenderFacts {
    let entry = |n| {
        DayRow::Entry(Entry {
            key: key(n),
            reason: reason(),
            subject: subject("work:1"),
            actor: None,
            kept: model::KeptFields::new(),
        })
    };
    let mut rows: Vec<DayRow> = [1, 2, 3].map(entry).into();
    let told = vec![key(1), key(2), key(3)];
    rows.push(DayRow::Mark(Mark::new(Some(Channel::Push), MarkAction::Taken(PUSH), told, NOW)));
    let is_revoked = |one: EntryKey| revoked.iter().any(|n| key(*n) == one);
    let view = fold_rows(&rows).withdraw(|key, _| is_revoked(key), NOW);
    SenderFacts { view, ..facts().0 }
}

fn soon() -> PlanName {
    PlanName::new("soon").unwrap()
}

/// The Ready without words on whose occasion it is asked.
fn occasion(now: UtcMillis) -> Ready {
    let (channel, entries, expires) = (Channel::Push, Vec::new(), now.plus(DAY_MS));
    Ready { plan: soon(), channel, entries, due: now, expires, ..ready(0) }
}

fn journalled(plan: Option<PlanName>, what: JournalOutcome) -> JournalRows {
    let claim = JournalClaim { told: vec![key(1), key(2), key(3)], plan, ..claim(0, NOW) };
    JournalRows { claims: vec![claim], records: vec![JournalRecord { ready: PUSH, ..record(0, what) }] }
}

fn renew(revoked: &[u8], journalled: &JournalRows, now: UtcMillis) -> Option<Ready> {
    let (world, catalogue) = (facts().1, push_catalogue());
    build_renewal(&occasion(now), (PUSH, journalled), &known(revoked), (&world, &catalogue), now)
}

#[test]
fn what_is_left_of_a_push_is_told_in_other_words() {
    let check = |revoked: &[u8], plan: Option<PlanName>, what, late: i64, expected: Option<&[u8]>| {
        let renewal = renew(revoked, &journalled(plan, what), NOW.plus(late));
        let told = renewal.map(|renewal| renewal.keys().collect::<Vec<_>>());
        let expected = expected.map(|left| left.iter().map(|n| key(*n)).collect::<Vec<_>>());
        assert_eq!(told, expected, "{revoked:?} {what:?} {late}");
    };
    let sent = JournalOutcome::Sent;
    check(&[2], Some(soon()), sent, 0, Some(&[1, 3]));
    check(&[1, 2], Some(soon()), sent, REVOCABLE_MS, Some(&[3]));
    // Whole pushes are taken away, and those of which nothing was revoked stay.
    check(&[1, 2, 3], Some(soon()), sent, 0, None);
    check(&[], Some(soon()), sent, 0, None);
    check(&[2], Some(soon()), sent, REVOCABLE_MS + 1, None);
    // A claim of an older sender does not say in whose words it told.
    check(&[2], None, sent, 0, None);
    check(&[2], Some(PlanName::new("gone").unwrap()), sent, 0, None);
    for what in [JournalOutcome::Unknown, JournalOutcome::Refused, JournalOutcome::NotSent] {
        check(&[2], Some(soon()), what, 0, None);
    }
}

#[test]
fn each_revocation_has_an_id_of_its_own() {
    let sent = journalled(Some(soon()), JournalOutcome::Sent);
    let first = renew(&[2], &sent, NOW).unwrap();
    let again = renew(&[2], &sent, NOW.plus(DAY_MS)).unwrap();
    let second = renew(&[2, 3], &sent, NOW).unwrap();
    assert_eq!(first.id, again.id);
    assert!(first.id != second.id && first.id != PUSH);
    assert_eq!((first.teller(), second.teller()), (PUSH, PUSH), "a device has one of them");
    assert!(first.silent && !first.is_wordless());
}

#[test]
fn pushes_are_asked_of_the_journal_while_they_may_be_seen() {
    let check = |revoked: &[u8], late: i64, expected: &[ReadyId]| {
        assert_eq!(
            list_partly_withdrawn(&known(revoked).view, NOW.plus(late)),
            expected,
            "{revoked:?} {late}"
        );
    };
    check(&[1], 0, &[PUSH]);
    check(&[1], REVOCABLE_MS, &[PUSH]);
    check(&[1], REVOCABLE_MS + 1, &[]);
    check(&[], 0, &[]);
    check(&[1, 2, 3], 0, &[]);
}
