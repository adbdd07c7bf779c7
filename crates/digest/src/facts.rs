//! What was loaded for a turn: the records of everybody concerned and what is known of them, and for those whose
//! windows are due their days and the world that their entries speak of.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use catalogue::{
    Catalogue,
    truth::{Reader, Told, reachable, still},
    windows::Thing,
};
use model::{
    Because, Day, DayView, EntryKey, EntryView, Fate, Kind, Millis, Reason, Row, State, SubjectRef, Value,
    Why, World,
    closing::Candidate,
    entry::DayKey,
    fault::{self, Fault},
    limits::{AHEAD_MS_MAX, DAY_LIFE_MS, READY_REASONS_MAX, UNREPORTED_MS},
    person::{PersonRecord, Window, profile},
    plan::{First, OncePer, Order, Plan, Plans},
    ready,
    window::Wanted,
};

use crate::memory::{PersonKey, Records};

/// All that a decision looks at.
#[derive(Default, Debug)]
pub struct Facts {
    /// Of those concerned who have one, as they were before the turn.
    pub records: Records,
    pub known: BTreeMap<PersonKey, Known>,
    pub days: BTreeMap<DayKey, Vec<Row>>,
    pub world: World,
    /// Whether persons have a live connection, of whom somebody could say.
    pub live: BTreeMap<PersonKey, bool>,
}

/// What is known of a person.
#[derive(Default, Clone, Debug)]
pub struct Known {
    pub profile: State,
    /// This and the notes matter at a closing, and are loaded only for one.
    pub mutes: State,
    pub notes: State,
}

/// Of whom nothing is known.
static NOBODY: Known = {
    const NOTHING: State = State { cells: BTreeMap::new() };
    Known { profile: NOTHING, mutes: NOTHING, notes: NOTHING }
};

/// The day of a person.
pub fn day_key(key: &PersonKey, day: Day) -> DayKey {
    DayKey { tenant: key.0.clone(), person: key.1.clone(), day }
}

/// The days that a closing reads. What it tells is in the window's own days; but a plan that says a subject
/// once within its look-back has to see what was told in all of that. A mark lies in the day of its entry, and
/// what was told on the first day of the look-back may itself have looked back as far as any plan of the
/// channel does.
pub fn days_to_read(window: &Window, plans: &Plans, now: Millis) -> BTreeSet<Day> {
    let mut days = window.days.clone();
    if let Some(plan) = plans.by_name.get(&window.plan).filter(|plan| plan.once_per == OncePer::Subject) {
        let newest = Day::of(now.plus(AHEAD_MS_MAX));
        let others = plans.by_name.values().filter(|other| other.channel == plan.channel);
        let longest = others.map(|other| i32::from(other.look_back_days)).max().unwrap_or(0);
        let living = Day::of(now.plus(-DAY_LIFE_MS));
        let oldest = plan.oldest(window.due).plus(-longest).0.max(living.0);
        days.extend((oldest..=newest.0).map(Day).filter(|day| day.expires() > now));
    }
    days
}

impl Facts {
    pub fn known(&self, key: &PersonKey) -> &Known {
        self.known.get(key).unwrap_or(&NOBODY)
    }

    fn reader<'a>(&'a self, key: &'a PersonKey) -> Reader<'a> {
        let Known { profile, mutes, notes } = self.known(key);
        Reader { tenant: &key.0, person: &key.1, profile, mutes, notes }
    }

    /// Some days, folded with the marks that are still owed to them.
    fn view(&self, key: &PersonKey, days: impl Iterator<Item = Day>, record: &PersonRecord) -> DayView {
        let rows = days.flat_map(|day| self.days.get(&day_key(key, day)).into_iter().flatten());
        let mut view = model::fold::fold(rows).with_notes(&self.known(key).notes);
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
        (catalogue, now): (&Catalogue, Millis),
    ) -> (Vec<Candidate>, Others) {
        let reader = self.reader(key);
        let Some(window) = open.last() else { return Default::default() };
        let said = self.said(key, window, record, plan, now);
        let days: BTreeSet<Day> = open.iter().flat_map(|window| &window.days).copied().collect();
        let view = self.view(key, days.into_iter(), record);
        let (mut candidates, mut others) = (Vec::new(), Others::new());
        let plans = &catalogue.plans.by_name;
        let followed: Vec<&Plan> = match &plan.follows {
            Some(follows) => follows.plans.iter().filter_map(|name| plans.get(name)).collect(),
            None => Vec::new(),
        };
        // A plan that follows others tells what those are for.
        let firsts = catalogue.plans.firsts_of(plan);
        let reached = reachable(&reader, plan.channel, &plan.stream, now);
        let closing = Closing { open, plan, firsts, followed, reader, reached, catalogue, record, now };
        let repeats = |at, entry: &EntryView| {
            plan.first == First::Both && window.first == Some(at) && was_told_first(key, window, entry, plan)
        };
        for (at, entry) in view.entries() {
            let repeated = repeats(at, entry);
            let Some(subject) = entry.subject().filter(|_| entry.waits(plan.channel) || repeated) else {
                continue;
            };
            let told =
                closing.followed.iter().flat_map(|of| entry.tellers(of.channel)).map(|(_, at)| at).max();
            let untold = told.is_none() && closing.is_told_first(at.day(), entry);
            let (holds, aim, keys) = match self.judge(&closing, (at.day(), entry), subject, told) {
                Judged::Others(_) if repeated => continue,
                Judged::Others(wanted) => {
                    others.extend(wanted.into_iter().map(|wanted| (wanted, at.day())));
                    continue;
                }
                Judged::Ours(holds, aim, keys) => (holds, aim, keys),
            };
            let (reasons, holds) = match holds {
                Ok(_) if said.told.contains(subject) => (Vec::new(), Err(Why::ToldBefore)),
                Ok(reasons) => (reasons, Ok(())),
                Err(why) => (Vec::new(), Err(why)),
            };
            let rank = self.rank(&closing.reader, subject, at, &reasons, plan);
            let reasons = foremost(reasons, plan);
            let awaits = said.waiting.contains(subject);
            let (subject, maybe, key) = (subject.clone(), entry.maybe_sent(), at);
            candidates.push(Candidate {
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
    fn judge(
        &self,
        closing: &Closing<'_>,
        (day, entry): (Day, &EntryView),
        subject: &SubjectRef,
        told: Option<Millis>,
    ) -> Judged {
        let Closing { reader, catalogue, .. } = closing;
        let state = self.world.state(reader.tenant, subject).unwrap_or(&UNKNOWN);
        let of = Of { day, entry, subject, state };
        let These { reasons, aim, keys, beside } = match closing.ours(&of) {
            Ours::These(these) => these,
            Ours::Others(wanted) => return Judged::Others(wanted),
            Ours::Nobodys => return Judged::Ours(Err(Why::KindGone), None, BTreeSet::new()),
        };
        if let Err(why) = closing.reached {
            return Judged::Ours(Err(why), aim, keys);
        }
        let holding = |reasons: &BTreeSet<Reason>| {
            still(&self.world, reader, &Told { subject, actor: entry.actor(), reasons }, catalogue)
        };
        let held = match closing.ended_before(entry).filter(|_| told.is_none()) {
            Some(why) => Err(why),
            None => holding(&reasons),
        };
        let holds_beside =
            |(_, reason): &(Wanted, Reason)| holding(&BTreeSet::from([reason.clone()])).is_ok();
        let beside = beside.into_iter().filter(|_| held.is_err()).filter(holds_beside);
        let beside: Vec<Wanted> = beside.map(|(wanted, _)| wanted).collect();
        if beside.is_empty() { Judged::Ours(held, aim, keys) } else { Judged::Others(beside) }
    }

    /// The subjects that messages on this channel say, where the plan says each once within its look-back.
    fn said(
        &self,
        key: &PersonKey,
        window: &Window,
        record: &PersonRecord,
        plan: &Plan,
        now: Millis,
    ) -> Said {
        let mut said = Said::default();
        if plan.once_per != OncePer::Subject || fault::planted(Fault::ToldAgain) {
            return said;
        }
        let of_person = day_key(key, Day(i32::MIN))..=day_key(key, Day(i32::MAX));
        let days = self.days.range(of_person).map(|(key, _)| key.day);
        let view = self.view(key, days, record);
        let waits = |ready| record.waiting.iter().any(|waiting| waiting.ready.id == ready);
        // Whoever has it tells it, or reports that they did not.
        let is_on_its_way = |ready, at: Millis| waits(ready) || at.plus(UNREPORTED_MS) > now;
        for (_, entry) in view.entries() {
            let Some(subject) = entry.subject() else { continue };
            for (ready, at) in entry.tellers(plan.channel) {
                if is_on_its_way(ready, at) {
                    said.waiting.insert(subject.clone());
                } else if Day::of(at) >= plan.oldest(window.due) {
                    said.told.insert(subject.clone());
                }
            }
        }
        said
    }

    fn rank(
        &self,
        reader: &Reader<'_>,
        subject: &SubjectRef,
        at: EntryKey,
        reasons: &[Reason],
        plan: &Plan,
    ) -> f64 {
        let section = reasons.iter().filter_map(|reason| plan.section_of(&reason.kind)).min();
        let Some(section) = section.and_then(|index| plan.sections.get(index)) else { return LAST };
        let field = |name: &str| self.world.state(reader.tenant, subject).and_then(|state| state.get(name));
        let rank = match &section.order {
            Order::Newest => Some(ms(at.occurred)),
            Order::Oldest => Some(-ms(at.occurred)),
            Order::Soonest(name) => match field(name) {
                Some(Value::Time(at)) => Some(-ms(*at)),
                _ => None,
            },
            Order::Best(name) => match field(name) {
                Some(Value::Number(number)) => Some(*number),
                _ => None,
            },
            Order::Score => {
                let scores = reasons.iter().filter_map(|reason| match reason.because {
                    Because::Listed(score) => Some(score),
                    _ => None,
                });
                scores.max().map(model::Score::value)
            }
            Order::Nearest(name) => {
                let here = reader.profile.place(profile::PLACE);
                here.zip(field(name).and_then(Value::as_place)).map(|(here, there)| -here.distance_km(there))
            }
        };
        rank.unwrap_or(LAST)
    }
}

/// Whether the entry that a window told first counts as told by that very message, and nobody has seen it.
fn was_told_first((tenant, person): &PersonKey, window: &Window, entry: &EntryView, plan: &Plan) -> bool {
    let first = ready::id(tenant, person, &window.plan, &window.key, window.opening, 0);
    let mut tellers = entry.tellers(plan.channel);
    // Where there were too few, the window before this one told it.
    let goes_on = plan.at_least > 1;
    !entry.is_seen() && tellers.any(|(ready, at)| ready == first || goes_on && at < window.opening)
}

/// As many reasons as a Ready takes of one entry, those of the best section first: it is told by that one.
fn foremost(mut reasons: Vec<Reason>, plan: &Plan) -> Vec<Reason> {
    if reasons.len() > READY_REASONS_MAX && !fault::planted(Fault::AllReasons) {
        reasons.sort_by_key(|reason| plan.section_of(&reason.kind).unwrap_or(usize::MAX));
        reasons.truncate(READY_REASONS_MAX);
    }
    reasons
}

/// Windows that close together, and what their entries are judged by.
struct Closing<'a> {
    open: &'a [&'a Window],
    plan: &'a Plan,
    firsts: Vec<&'a Plan>,
    /// The plans that it follows.
    followed: Vec<&'a Plan>,
    reader: Reader<'a>,
    reached: Result<(), Why>,
    catalogue: &'a Catalogue,
    record: &'a PersonRecord,
    now: Millis,
}

impl Closing<'_> {
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
    fn is_last_place(&self, wanted: &Wanted, day: Day) -> bool {
        let is_it = |window: &&Window| window.key.is_empty();
        let is_last = self.plan.follows.is_some() || self.plan.last_call(day) <= self.now;
        !self.plan.key.is_empty()
            && is_last
            && self.open.last().is_some_and(is_it)
            && !self.is_open(self.plan, Some(&wanted.key), day)
    }

    /// Why an entry ended for good on a channel that was to tell it first: then it ends here too.
    fn ended_before(&self, entry: &EntryView) -> Option<Why> {
        let fates = self.followed.iter().map(|of| entry.fate(of.channel));
        let mut ended = fates.filter_map(|fate| if let Fate::Ended(why) = fate { Some(why) } else { None });
        ended.find(|why| matches!(why, Why::SeesItself | Why::SeenBefore | Why::TooFew | Why::ToldBefore))
    }
}

/// What becomes of an entry at a closing.
enum Judged {
    /// With the instant that it is about, and the keys of its windows.
    Ours(Result<Vec<Reason>, Why>, Option<Millis>, BTreeSet<Arc<str>>),
    Others(Vec<Wanted>),
}

/// Subjects that messages say.
#[derive(Default)]
struct Said {
    /// Within the look-back.
    told: BTreeSet<SubjectRef>,
    /// In a Ready that is on its way, or was deferred, and may yet go out without them.
    waiting: BTreeSet<SubjectRef>,
}

/// The rank of what has nothing to be ranked by.
const LAST: f64 = f64::MIN;

#[allow(clippy::cast_precision_loss, reason = "a rank only orders, and such instants fit 53 bits for ages")]
fn ms(at: Millis) -> f64 {
    at.0 as f64
}

/// Windows with days in which entries wait for them. Usually there are such windows; after a change of the
/// catalogue that gave a kind to another plan, of what the person prefers, or of what windows are told apart by,
/// there are none yet.
pub type Others = BTreeSet<(Wanted, Day)>;

/// Which of an entry's reasons concern a window.
enum Ours {
    These(These),
    Others(Vec<Wanted>),
    /// Its kinds are not in the catalogue any more.
    Nobodys,
}

/// Reasons that concern a window.
struct These {
    reasons: BTreeSet<Reason>,
    /// The instant that they are about.
    aim: Option<Millis>,
    /// The keys of their windows.
    keys: BTreeSet<Arc<str>>,
    /// Windows of other plans of the same channel, each with the reason that concerns it.
    beside: Vec<(Wanted, Reason)>,
}

/// Of which nothing is known.
static UNKNOWN: State = State { cells: BTreeMap::new() };

/// An entry, and what its windows depend on.
struct Of<'a> {
    day: Day,
    entry: &'a EntryView,
    subject: &'a SubjectRef,
    state: &'a State,
}

impl Closing<'_> {
    /// Windows are chosen when an entry is told, and not when it is announced: the person may prefer another plan
    /// by then, and the subject may have changed.
    fn ours(&self, of: &Of<'_>) -> Ours {
        let (mut others, mut reasons, mut aims) = (Vec::new(), BTreeSet::new(), Vec::new());
        let (mut beside, mut keys, mut is_known) = (Vec::new(), BTreeSet::new(), false);
        let Self { plan, firsts, catalogue, .. } = self;
        for reason in &of.entry.reasons {
            let Some(kind) = catalogue.kinds.get(&reason.kind) else { continue };
            let (subject, actor) = (of.subject, of.entry.actor());
            let thing = Thing { kind: &kind.name, subject, actor, state: of.state };
            let plans = catalogue.plans_for(kind, self.reader.profile);
            let tells = plan.follows.is_none() || self.is_followed_by(&reason.kind, &plans, of.day);
            let mut is_of_a_first = false;
            for told_by in plans {
                let is_ours = kind.plans.contains(&plan.name) && self.follows_nothing(told_by, of);
                let told_by = if is_ours { plan } else { told_by };
                is_known = true;
                let wanted = thing.wanted(told_by);
                let is_first = firsts.iter().any(|first| wanted.plan == first.name);
                is_of_a_first |= is_first;
                if is_first && tells && self.holds(&wanted, of.day) {
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
            let wanted = thing.wanted(plan);
            if plan.follows.is_some() && tells && !is_of_a_first && self.holds(&wanted, of.day) {
                reasons.insert(reason.clone());
                keys.insert(wanted.key);
            }
        }
        match (is_known, reasons.is_empty()) {
            (_, false) => Ours::These(These { reasons, aim: aims.into_iter().min(), keys, beside }),
            (true, true) => Ours::Others(others),
            (false, true) => Ours::Nobodys,
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
    fn follows_nothing(&self, preferred: &Plan, of: &Of<'_>) -> bool {
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
    fn holds(&self, wanted: &Wanted, day: Day) -> bool {
        let gathers = self.plan.follows.is_some() && self.plan.key.is_empty();
        gathers || self.open.iter().any(|window| wanted.key == window.key) || self.is_last_place(wanted, day)
    }
}
