//! What was loaded for a turn: the records of everybody concerned and what is known of them, and for those whose
//! windows are due their days and the world that their entries speak of.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use catalogue::{
    Catalogue,
    truth::{ReaderFacts, TellableEntry, check_reachable, reasons_that_hold},
    windows::WindowEntry,
};
use model::{
    AudienceMatch, Day, DayRow, DayView, EndReason, EntryKey, EntryReason, EntryView, Fate, Kind, SubjectRef,
    UtcMillis, Value, VersionedState, WorldSnapshot,
    closing_candidate::ClosingCandidate,
    entry::DayKey,
    fault::{self, PlantedFault},
    limits::{AHEAD_MS_MAX, DAY_LIFE_MS, READY_REASONS_MAX, UNREPORTED_MS},
    person::{PersonRecord, Window, profile},
    plan::{FirstRule, OncePer, Plan, PlanSet, SectionOrder},
    ready,
    window::WindowTarget,
};

use crate::memory::{PersonKey, PersonRecords};

/// All that a decision looks at.
#[derive(Default, Debug)]
pub struct DigestFacts {
    /// Of those concerned who have one, as they were before the turn.
    pub records: PersonRecords,
    pub known: BTreeMap<PersonKey, DigestPersonStates>,
    pub days: BTreeMap<DayKey, Vec<DayRow>>,
    pub world: WorldSnapshot,
    /// Whether persons have a live connection, of whom somebody could say.
    pub live: BTreeMap<PersonKey, bool>,
}

/// What is known of a person.
#[derive(Default, Clone, Debug)]
pub struct DigestPersonStates {
    pub profile: VersionedState,
    /// This and the notes matter at a closing, and are loaded only for one.
    pub mutes: VersionedState,
    pub notes: VersionedState,
}

/// Of whom nothing is known.
static NOBODY: DigestPersonStates = {
    const NOTHING: VersionedState = VersionedState { cells: BTreeMap::new() };
    DigestPersonStates { profile: NOTHING, mutes: NOTHING, notes: NOTHING }
};

/// The day of a person.
pub fn day_key(key: &PersonKey, day: Day) -> DayKey {
    DayKey { tenant: key.0.clone(), person: key.1.clone(), day }
}

/// The days that a closing reads. What it tells is in the window's own days; but a plan that says a subject
/// once within its look-back has to see what was told in all of that. A mark lies in the day of its entry, and
/// what was told on the first day of the look-back may itself have looked back as far as any plan of the
/// channel does.
pub fn days_to_read(window: &Window, plans: &PlanSet, now: UtcMillis) -> BTreeSet<Day> {
    let mut days = window.days.clone();
    if let Some(plan) = plans.by_name.get(&window.plan).filter(|plan| plan.once_per == OncePer::Subject) {
        let newest = Day::from_instant(now.plus(AHEAD_MS_MAX));
        let others = plans.by_name.values().filter(|other| other.channel == plan.channel);
        let longest = others.map(|other| i32::from(other.look_back_days)).max().unwrap_or(0);
        let living = Day::from_instant(now.plus(-DAY_LIFE_MS));
        let oldest = plan.oldest_day(window.due).plus(-longest).0.max(living.0);
        days.extend((oldest..=newest.0).map(Day).filter(|day| day.expires_at() > now));
    }
    days
}

impl DigestFacts {
    pub fn person_states(&self, key: &PersonKey) -> &DigestPersonStates {
        self.known.get(key).unwrap_or(&NOBODY)
    }

    fn reader<'a>(&'a self, key: &'a PersonKey) -> ReaderFacts<'a> {
        let DigestPersonStates { profile, mutes, notes } = self.person_states(key);
        ReaderFacts { tenant: &key.0, person: &key.1, profile, mutes, notes }
    }

    /// Some days, folded with the marks that are still owed to them.
    fn view_days(&self, key: &PersonKey, days: impl Iterator<Item = Day>, record: &PersonRecord) -> DayView {
        let rows = days.flat_map(|day| self.days.get(&day_key(key, day)).into_iter().flatten());
        let mut view = model::fold::fold_rows(rows).with_notes(&self.person_states(key).notes);
        for row in record.owed_rows() {
            view.add(&row);
        }
        view
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
    ) -> (Vec<ClosingCandidate>, OtherWindowDays) {
        let reader = self.reader(key);
        let Some(window) = open.last() else { return Default::default() };
        let said = self.message_subjects(key, window, record, plan, now);
        let days: BTreeSet<Day> = open.iter().flat_map(|window| &window.days).copied().collect();
        let view = self.view_days(key, days.into_iter(), record);
        let (mut candidates, mut others) = (Vec::new(), OtherWindowDays::new());
        let plans = &catalogue.plans.by_name;
        let followed: Vec<&Plan> = match &plan.follows {
            Some(follows) => follows.plans.iter().filter_map(|name| plans.get(name)).collect(),
            None => Vec::new(),
        };
        // A plan that follows others tells what those are for.
        let firsts = catalogue.plans.leading_plans(plan);
        let reached = check_reachable(&reader, plan.channel, &plan.stream, now);
        let closing = JointClosing { open, plan, firsts, followed, reader, reached, catalogue, record, now };
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
            let (holds, aim, keys) = match self.judge_entry(&closing, (at.day(), entry), subject, told) {
                ClosingVerdict::Others(_) if repeated => continue,
                ClosingVerdict::Others(wanted) => {
                    others.extend(wanted.into_iter().map(|wanted| (wanted, at.day())));
                    continue;
                }
                ClosingVerdict::Ours(holds, aim, keys) => (holds, aim, keys),
            };
            let (reasons, holds) = match holds {
                Ok(_) if said.told.contains(subject) => (Vec::new(), Err(EndReason::ToldBefore)),
                Ok(reasons) => (reasons, Ok(())),
                Err(why) => (Vec::new(), Err(why)),
            };
            let rank = self.rank_entry(&closing.reader, subject, at, &reasons, plan);
            let reasons = keep_best_reasons(reasons, plan);
            let awaits = said.waiting.contains(subject);
            let (subject, maybe, key) = (subject.clone(), entry.maybe_sent(), at);
            candidates.push(ClosingCandidate {
                key,
                subject,
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
        (candidates, others)
    }

    /// Whether an entry is told here, and if so whether it still holds. What does not hold here may hold for another
    /// plan of the channel: then it ends for neither.
    fn judge_entry(
        &self,
        closing: &JointClosing<'_>,
        (day, entry): (Day, &EntryView),
        subject: &SubjectRef,
        told: Option<UtcMillis>,
    ) -> ClosingVerdict {
        let JointClosing { reader, catalogue, .. } = closing;
        let state = self.world.state(reader.tenant, subject).unwrap_or(&UNKNOWN);
        let of = ClosingEntry { day, entry, subject, state };
        let WindowReasons { reasons, aim, keys, beside } = match closing.match_reasons(&of) {
            WindowReasonMatch::These(these) => these,
            WindowReasonMatch::Others(wanted) => return ClosingVerdict::Others(wanted),
            WindowReasonMatch::Nobodys => {
                return ClosingVerdict::Ours(Err(EndReason::KindGone), None, BTreeSet::new());
            }
        };
        if let Err(why) = closing.reached {
            return ClosingVerdict::Ours(Err(why), aim, keys);
        }
        let holding = |reasons: &BTreeSet<EntryReason>| {
            reasons_that_hold(
                &self.world,
                reader,
                &TellableEntry { subject, actor: entry.actor(), reasons },
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
        let view = self.view_days(key, days, record);
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

    fn rank_entry(
        &self,
        reader: &ReaderFacts<'_>,
        subject: &SubjectRef,
        at: EntryKey,
        reasons: &[EntryReason],
        plan: &Plan,
    ) -> f64 {
        let section = reasons.iter().filter_map(|reason| plan.section_of(&reason.kind)).min();
        let Some(section) = section.and_then(|index| plan.sections.get(index)) else { return LAST };
        let field = |name: &str| self.world.state(reader.tenant, subject).and_then(|state| state.get(name));
        let rank = match &section.order {
            SectionOrder::Newest => Some(instant_rank(at.occurred)),
            SectionOrder::Oldest => Some(-instant_rank(at.occurred)),
            SectionOrder::Soonest(name) => match field(name) {
                Some(Value::Time(at)) => Some(-instant_rank(*at)),
                _ => None,
            },
            SectionOrder::Best(name) => match field(name) {
                Some(Value::Number(number)) => Some(*number),
                _ => None,
            },
            SectionOrder::Score => {
                let scores = reasons.iter().filter_map(|reason| match reason.because {
                    AudienceMatch::Listed(score) => Some(score),
                    _ => None,
                });
                scores.max().map(model::PersonScore::value)
            }
            SectionOrder::Nearest(name) => {
                let here = reader.profile.place(profile::PLACE);
                here.zip(field(name).and_then(Value::as_place)).map(|(here, there)| -here.distance_km(there))
            }
        };
        rank.unwrap_or(LAST)
    }
}

/// Whether the entry that a window told first counts as told by that very message, and nobody has seen it.
fn was_told_first((tenant, person): &PersonKey, window: &Window, entry: &EntryView, plan: &Plan) -> bool {
    let first = ready::derive_ready_id(tenant, person, &window.plan, &window.key, window.opening, 0);
    let mut tellers = entry.tellers(plan.channel);
    // Where there were too few, the window before this one told it.
    let goes_on = plan.at_least > 1;
    !entry.is_seen() && tellers.any(|(ready, at)| ready == first || goes_on && at < window.opening)
}

/// As many reasons as a Ready takes of one entry, those of the best section first: it is told by that one.
fn keep_best_reasons(mut reasons: Vec<EntryReason>, plan: &Plan) -> Vec<EntryReason> {
    if reasons.len() > READY_REASONS_MAX && !fault::is_planted(PlantedFault::AllReasons) {
        reasons.sort_by_key(|reason| plan.section_of(&reason.kind).unwrap_or(usize::MAX));
        reasons.truncate(READY_REASONS_MAX);
    }
    reasons
}

/// Windows that close together, and what their entries are judged by.
struct JointClosing<'a> {
    open: &'a [&'a Window],
    plan: &'a Plan,
    firsts: Vec<&'a Plan>,
    /// The plans that it follows.
    followed: Vec<&'a Plan>,
    reader: ReaderFacts<'a>,
    reached: Result<(), EndReason>,
    catalogue: &'a Catalogue,
    record: &'a PersonRecord,
    now: UtcMillis,
}

impl JointClosing<'_> {
    /// Whether a plan that is followed is to tell it first: it waits there, in a window that is open.
    fn is_told_first(&self, day: Day, entry: &EntryView) -> bool {
        let is_by = |of: &Plan| {
            let kinds = entry.reasons.iter().filter_map(|reason| self.catalogue.kinds.get(&reason.kind));
            let mut plans = kinds.flat_map(|kind| self.catalogue.plans_for(kind, self.reader.profile));
            plans.any(|plan| plan.name == of.name)
        };
        let mut first = self.followed.iter().filter(|of| entry.waits(of.channel));
        first.any(|of| self.is_open(of, None, day) && is_by(of))
    }

    /// Whether a window of a plan is open for a day, with this key or any.
    fn is_open(&self, plan: &Plan, key: Option<&str>, day: Day) -> bool {
        let same = |window: &&Window| window.plan == plan.name && key.is_none_or(|key| *window.key == *key);
        self.record.windows.iter().filter(same).any(|window| window.days.contains(&day))
    }

    /// Whether what these windows hold is told by them, though it wants a window of its own: it found no place for one
    /// until its last call.
    fn is_last_place(&self, wanted: &WindowTarget, day: Day) -> bool {
        let is_it = |window: &&Window| window.key.is_empty();
        let is_last = self.plan.follows.is_some() || self.plan.last_call(day) <= self.now;
        !self.plan.key.is_empty()
            && is_last
            && self.open.last().is_some_and(is_it)
            && !self.is_open(self.plan, Some(&wanted.key), day)
    }

    /// Why an entry ended for good on a channel that was to tell it first: then it ends here too.
    fn end_reason_before(&self, entry: &EntryView) -> Option<EndReason> {
        let fates = self.followed.iter().map(|of| entry.fate(of.channel));
        let mut ended = fates.filter_map(|fate| if let Fate::Ended(why) = fate { Some(why) } else { None });
        ended.find(|why| {
            matches!(
                why,
                EndReason::SeesItself | EndReason::SeenBefore | EndReason::TooFew | EndReason::ToldBefore
            )
        })
    }
}

/// What becomes of an entry at a closing.
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

/// The rank of what has nothing to be ranked by.
const LAST: f64 = f64::MIN;

#[allow(clippy::cast_precision_loss, reason = "a rank only orders, and such instants fit 53 bits for ages")]
fn instant_rank(at: UtcMillis) -> f64 {
    at.0 as f64
}

/// Windows with days in which entries wait for them. Usually there are such windows; after a change of the
/// catalogue that gave a kind to another plan, of what the person prefers, or of what windows are told apart by,
/// there are none yet.
pub type OtherWindowDays = BTreeSet<(WindowTarget, Day)>;

/// Which of an entry's reasons concern a window.
enum WindowReasonMatch {
    These(WindowReasons),
    Others(Vec<WindowTarget>),
    /// Its kinds are not in the catalogue any more.
    Nobodys,
}

/// Reasons that concern a window.
struct WindowReasons {
    reasons: BTreeSet<EntryReason>,
    /// The instant that they are about.
    aim: Option<UtcMillis>,
    /// The keys of their windows.
    keys: BTreeSet<Arc<str>>,
    /// Windows of other plans of the same channel, each with the reason that concerns it.
    beside: Vec<(WindowTarget, EntryReason)>,
}

/// Of which nothing is known.
static UNKNOWN: VersionedState = VersionedState { cells: BTreeMap::new() };

/// An entry, and what its windows depend on.
struct ClosingEntry<'a> {
    day: Day,
    entry: &'a EntryView,
    subject: &'a SubjectRef,
    state: &'a VersionedState,
}

impl JointClosing<'_> {
    /// Windows are chosen when an entry is told, and not when it is announced: the person may prefer another plan
    /// by then, and the subject may have changed.
    fn match_reasons(&self, of: &ClosingEntry<'_>) -> WindowReasonMatch {
        let (mut others, mut reasons, mut aims) = (Vec::new(), BTreeSet::new(), Vec::new());
        let (mut beside, mut keys, mut is_known) = (Vec::new(), BTreeSet::new(), false);
        let Self { plan, firsts, catalogue, .. } = self;
        for reason in &of.entry.reasons {
            let Some(kind) = catalogue.kinds.get(&reason.kind) else { continue };
            let (subject, actor) = (of.subject, of.entry.actor());
            let thing = WindowEntry { kind: &kind.name, subject, actor, state: of.state };
            let plans = catalogue.plans_for(kind, self.reader.profile);
            let tells = plan.follows.is_none() || self.is_followed_by(&reason.kind, &plans, of.day);
            let mut is_of_a_first = false;
            for told_by in plans {
                let is_ours = kind.plans.contains(&plan.name) && self.follows_nothing(told_by, of);
                let told_by = if is_ours { plan } else { told_by };
                is_known = true;
                let wanted = thing.window_target(told_by);
                let is_first = firsts.iter().any(|first| wanted.plan == first.name);
                is_of_a_first |= is_first;
                if is_first && tells && self.has_window(&wanted, of.day) {
                    reasons.insert(reason.clone());
                    aims.extend(wanted.aim);
                    keys.insert(wanted.key);
                } else if of.entry.waits(told_by.channel) {
                    // What is over on its own channel wants no window there. And a plan that follows is no one's to
                    // hand to: its windows open when the other has told.
                    if told_by.channel == plan.channel && told_by.follows.is_none() {
                        beside.push((wanted.clone(), reason.clone()));
                    }
                    others.push(wanted);
                }
            }
            // The person preferred another plan when it was told first.
            let wanted = thing.window_target(plan);
            if plan.follows.is_some() && tells && !is_of_a_first && self.has_window(&wanted, of.day) {
                reasons.insert(reason.clone());
                keys.insert(wanted.key);
            }
        }
        match (is_known, reasons.is_empty()) {
            (_, false) => {
                WindowReasonMatch::These(WindowReasons { reasons, aim: aims.into_iter().min(), keys, beside })
            }
            (true, true) => WindowReasonMatch::Others(others),
            (false, true) => WindowReasonMatch::Nobodys,
        }
    }

    /// Whether a plan that follows tells a kind that others told first: it is the one of its channel, or the one that would
    /// be has no window that waits for it. Who prefers a plan that tells of its own accord is told by that one.
    fn is_followed_by(&self, kind: &Kind, plans: &[&Plan], day: Day) -> bool {
        let plan = self.plan;
        match plans.iter().find(|one| one.channel == plan.channel) {
            Some(one) if one.name == plan.name => true,
            Some(one) if one.follows.is_none() || self.is_open(one, None, day) => false,
            _ => plan.section_of(kind).is_some(),
        }
    }

    /// Whether the person came to prefer a plan that follows when what it follows was over: no window of it will open, so
    /// this plan tells what it has gathered.
    fn follows_nothing(&self, preferred: &Plan, of: &ClosingEntry<'_>) -> bool {
        let Some(follows) = preferred.follows.as_ref().filter(|_| self.plan.follows.is_none()) else {
            return false;
        };
        let mut followed = follows.plans.iter().filter_map(|name| self.catalogue.plans.by_name.get(name));
        let is_coming = |first: &Plan| of.entry.waits(first.channel) && self.is_open(first, None, of.day);
        preferred.channel == self.plan.channel
            && !self.is_open(preferred, None, of.day)
            && !followed.any(is_coming)
    }

    /// Whether one of the windows is the one that is wanted.
    fn has_window(&self, wanted: &WindowTarget, day: Day) -> bool {
        let gathers = self.plan.follows.is_some() && self.plan.key.is_empty();
        gathers || self.open.iter().any(|window| wanted.key == window.key) || self.is_last_place(wanted, day)
    }
}
