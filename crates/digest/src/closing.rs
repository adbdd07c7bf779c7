//! Closings: which entries a window that is due holds, and whether each still does.
//!
//! A closing is decided in two places. This module says which entries there are to tell, since that needs the catalogue:
//! whose kinds they are of, which windows they belong to by now, whether their conditions still hold, and in which order
//! they rank. What becomes of these candidates needs the plan and the clock alone and is `model::closing`: told, held
//! back, or ended. Between the two lie [`ClosingCandidate`]s.

mod joint_closing;
mod ranks;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use catalogue::{
    Catalogue,
    bundles::BundleEntry,
    truth::{PersonReach, ReaderFacts, TellableEntry, reasons_that_hold},
};
use model::{
    Actor, Day, DayView, EndReason, EntryKey, EntryReason, EntryView, SubjectRef, UtcMillis, VersionedState,
    closing_candidate::ClosingCandidate,
    fault::{self, PlantedFault},
    limits::{READY_REASONS_MAX, UNREPORTED_MS},
    person::{PersonRecord, Window},
    plan::{FirstRule, OncePer, Plan},
    ready,
    window::WindowTarget,
};

use self::joint_closing::{ClosingEntry, JointClosing, WindowReasonMatch, WindowReasons};
use crate::{
    facts::{DigestFacts, DigestPersonStates, day_key},
    memory::PersonKey,
};

/// Windows with days in which entries wait for them. Usually there are such windows; after a change of the
/// catalogue that gave a kind to another plan, of what the person prefers, or of what windows are told apart by,
/// there are none yet.
pub type OtherWindowDays = BTreeSet<(WindowTarget, Day)>;

/// The fate of an entry at a closing.
enum ClosingVerdict {
    /// With the instant that it is about, and the keys of its windows.
    Ours(Result<Vec<EntryReason>, EndReason>, Option<UtcMillis>, BTreeSet<Arc<str>>),
    Others(Vec<WindowTarget>),
}

/// Subjects that messages say.
#[derive(Default)]
struct ClosingSubjects {
    /// Within the look-back.
    told: BTreeSet<SubjectRef>,
    /// In a Ready that is on its way, or was deferred, and may yet go out without them.
    waiting: BTreeSet<SubjectRef>,
}

/// Of which nothing is known.
static UNKNOWN: VersionedState = VersionedState { cells: BTreeMap::new() };

/// What the days of windows hold for their closing.
#[derive(Default)]
pub struct FoundCandidates {
    pub candidates: Vec<ClosingCandidate>,
    /// What is for other windows.
    pub others: OtherWindowDays,
    /// The days of what is put off, each with when it comes back.
    pub put_off: Vec<(Day, UtcMillis)>,
}

impl DigestFacts {
    /// What is known of a person.
    pub fn reader<'a>(&'a self, key: &'a PersonKey) -> ReaderFacts<'a> {
        let DigestPersonStates { profile, preferences, notes } = self.person_states(key);
        ReaderFacts { tenant: &key.0, person: &key.1, profile, preferences, notes }
    }

    /// Some days, folded with the marks that are still owed to them.
    fn view_days(
        &self,
        key: &PersonKey,
        days: impl Iterator<Item = Day>,
        record: &PersonRecord,
        now: UtcMillis,
    ) -> DayView {
        let rows = days.flat_map(|day| self.days.get(&day_key(key, day)).into_iter().flatten());
        let mut view = model::fold::fold_rows(rows);
        for row in record.owed_rows() {
            view.add(&row);
        }
        view.settle(&self.person_states(key).notes, now)
    }

    /// Entries of windows that are told together and still wait on the plan's channel, each with whether it still
    /// holds; the last window is the one that is due.
    pub fn candidates(
        &self,
        key: &PersonKey,
        open: &[&Window],
        record: &PersonRecord,
        plan: &Plan,
        (catalogue, now): (&Catalogue, UtcMillis),
    ) -> FoundCandidates {
        let reader = self.reader(key);
        let Some(window) = open.last() else { return FoundCandidates::default() };
        let said = self.message_subjects(key, window, record, plan, now);
        let days: BTreeSet<Day> = open.iter().flat_map(|window| &window.days).copied().collect();
        let view = self.view_days(key, days.into_iter(), record, now);
        let (mut candidates, mut others) = (Vec::new(), OtherWindowDays::new());
        let put_off = view.entries().filter_map(|(at, entry)| Some((at.day(), entry.put_off()?))).collect();
        let plans = &catalogue.plans.by_name;
        let followed: Vec<&Plan> = match &plan.follows {
            Some(follows) => follows.plans.iter().filter_map(|name| plans.get(name)).collect(),
            None => Vec::new(),
        };
        // A plan that follows others tells what those are for.
        let firsts = catalogue.plans.leading_plans(plan);
        let reach = PersonReach::find(&reader, (plan.channel, &plan.stream), now);
        let closing = JointClosing { open, plan, firsts, followed, reader, reach, catalogue, record, now };
        let repeats = |at, entry: &EntryView| {
            plan.first == FirstRule::Both
                && window.first == Some(at)
                && was_told_first(key, window, entry, plan)
        };
        for (at, entry) in view.entries() {
            let repeated = repeats(at, entry);
            let Some(subject) = entry.subject().filter(|_| entry.waits(plan.channel) || repeated) else {
                continue;
            };
            let told =
                closing.followed.iter().flat_map(|of| entry.tellers(of.channel)).map(|(_, at)| at).max();
            let untold = told.is_none() && closing.is_told_first(at.day(), entry);
            let (holds, aim, keys) = match self.judge_entry(&closing, (at, entry), subject, told) {
                ClosingVerdict::Others(_) if repeated => continue,
                ClosingVerdict::Others(wanted) => {
                    others.extend(wanted.into_iter().map(|wanted| (wanted, at.day())));
                    continue;
                }
                ClosingVerdict::Ours(holds, aim, keys) => (holds, aim, keys),
            };
            let bundle =
                holds.as_ref().ok().and_then(|held| self.find_bundle(&closing, (subject, entry), held));
            let (reasons, holds) = match holds {
                Ok(_) if bundle.is_none() && said.told.contains(subject) => {
                    (Vec::new(), Err(EndReason::ToldBefore))
                }
                Ok(reasons) => (reasons, Ok(())),
                Err(why) => (Vec::new(), Err(why)),
            };
            let rank = self.rank_entry(&closing.reader, subject, at, &reasons, (plan, catalogue));
            let reasons = keep_best_reasons(reasons, plan);
            let awaits = bundle.is_none() && said.waiting.contains(subject);
            let (subject, maybe, key) = (subject.clone(), entry.maybe_sent(), at);
            candidates.push(ClosingCandidate {
                key,
                subject,
                actor: entry.actor().cloned(),
                kept: entry.kept_fields().clone(),
                bundle,
                reasons,
                rank,
                holds,
                maybe,
                awaits,
                aim,
                repeated,
                told,
                untold,
                keys,
            });
        }
        FoundCandidates { candidates, others, put_off }
    }

    /// Whether an entry is told here, and if so whether it still holds. What does not hold here may hold for another
    /// plan of the channel: then it ends for neither.
    fn judge_entry(
        &self,
        closing: &JointClosing<'_>,
        (key, entry): (EntryKey, &EntryView),
        subject: &SubjectRef,
        told: Option<UtcMillis>,
    ) -> ClosingVerdict {
        let JointClosing { reader, catalogue, .. } = closing;
        let state = self.world.state(reader.tenant, subject).unwrap_or(&UNKNOWN);
        let of = ClosingEntry { key, entry, subject, state };
        let WindowReasons { reasons, aim, keys, beside } = match closing.match_reasons(&self.world, &of) {
            WindowReasonMatch::These(these) => these,
            WindowReasonMatch::Others(wanted) => return ClosingVerdict::Others(wanted),
            WindowReasonMatch::Nobodys => {
                return ClosingVerdict::Ours(Err(EndReason::KindGone), None, BTreeSet::new());
            }
        };
        let reasons = match closing.reach.keep_reaching(catalogue, reasons) {
            Ok(reasons) => reasons,
            Err(why) => return ClosingVerdict::Ours(Err(why), aim, keys),
        };
        let holding = |reasons: &BTreeSet<EntryReason>| {
            reasons_that_hold(
                &self.world,
                reader,
                &TellableEntry {
                    subject,
                    key,
                    actor: entry.actor().and_then(Actor::person),
                    reasons,
                    place: closing.plan.channel.into(),
                    moment: closing.moment(),
                },
                catalogue,
            )
        };
        let held = match closing.end_reason_before(entry).filter(|_| told.is_none()) {
            Some(why) => Err(why),
            None => holding(&reasons),
        };
        let holds_beside =
            |(_, reason): &(WindowTarget, EntryReason)| holding(&BTreeSet::from([reason.clone()])).is_ok();
        let beside = beside.into_iter().filter(|_| held.is_err()).filter(holds_beside);
        let beside: Vec<WindowTarget> = beside.map(|(wanted, _)| wanted).collect();
        if beside.is_empty() { ClosingVerdict::Ours(held, aim, keys) } else { ClosingVerdict::Others(beside) }
    }

    /// With what an entry is told as one: by the kind in whose words it is told.
    fn find_bundle(
        &self,
        closing: &JointClosing<'_>,
        (subject, entry): (&SubjectRef, &EntryView),
        reasons: &[EntryReason],
    ) -> Option<Arc<str>> {
        let kind = closing.catalogue.kinds.get(closing.plan.told_kind(reasons)?.1)?;
        let state = self.world.state(closing.reader.tenant, subject).unwrap_or(&UNKNOWN);
        kind.bundle_of(BundleEntry { subject, actor: entry.actor(), kept: entry.kept_fields(), state })
    }

    /// The subjects that messages on this channel say, where the plan says each once within its look-back.
    fn message_subjects(
        &self,
        key: &PersonKey,
        window: &Window,
        record: &PersonRecord,
        plan: &Plan,
        now: UtcMillis,
    ) -> ClosingSubjects {
        let mut said = ClosingSubjects::default();
        if plan.once_per != OncePer::Subject || fault::is_planted(PlantedFault::ToldAgain) {
            return said;
        }
        let of_person = day_key(key, Day(i32::MIN))..=day_key(key, Day(i32::MAX));
        let days = self.days.range(of_person).map(|(key, _)| key.day);
        let view = self.view_days(key, days, record, now);
        let waits = |ready| record.waiting.iter().any(|waiting| waiting.ready.id == ready);
        // Whoever has it tells it, or reports that they did not.
        let is_on_its_way = |ready, at: UtcMillis| waits(ready) || at.plus(UNREPORTED_MS) > now;
        for (_, entry) in view.entries() {
            let Some(subject) = entry.subject() else { continue };
            for (ready, at) in entry.tellers(plan.channel) {
                if is_on_its_way(ready, at) {
                    said.waiting.insert(subject.clone());
                } else if Day::from_instant(at) >= plan.oldest_day(window.due) {
                    said.told.insert(subject.clone());
                }
            }
        }
        said
    }
}

/// Whether the entry that a window told first counts as told by that very message, and nobody has seen it.
fn was_told_first((tenant, person): &PersonKey, window: &Window, entry: &EntryView, plan: &Plan) -> bool {
    let first = ready::derive_ready_id(tenant, person, &window.plan, &window.key, window.opening, 0);
    let mut tellers = entry.tellers(plan.channel);
    // Where there were too few, the window before this one told it.
    let goes_on = plan.at_least > 1;
    !entry.is_read_or_cleared() && tellers.any(|(ready, at)| ready == first || goes_on && at < window.opening)
}

/// As many reasons as a Ready takes of one entry, those of the best section first: it is told by that one.
fn keep_best_reasons(mut reasons: Vec<EntryReason>, plan: &Plan) -> Vec<EntryReason> {
    if reasons.len() > READY_REASONS_MAX && !fault::is_planted(PlantedFault::AllReasons) {
        reasons.sort_by_key(|reason| plan.section_of(&reason.kind).unwrap_or(usize::MAX));
        reasons.truncate(READY_REASONS_MAX);
    }
    reasons
}
