//! Windows that close together, and which of an entry's reasons are theirs.

use std::{collections::BTreeSet, sync::Arc};

use catalogue::{
    Catalogue, KindDef,
    truth::{PersonReach, ReaderFacts, TellableEntry},
    windows::WindowEntry,
};
use model::{
    Actor, Channel, Day, EndReason, EntryKey, EntryReason, EntryView, Fate, Kind, SubjectRef, UtcMillis,
    VersionedState, WorldSnapshot,
    person::{PersonRecord, Window},
    plan::Plan,
    time::AskedMoment,
    window::WindowTarget,
};

/// Windows that close together, and what their entries are judged by.
pub(super) struct JointClosing<'a> {
    pub(super) open: &'a [&'a Window],
    pub(super) plan: &'a Plan,
    pub(super) firsts: Vec<&'a Plan>,
    /// The plans that it follows.
    pub(super) followed: Vec<&'a Plan>,
    pub(super) reader: ReaderFacts<'a>,
    pub(super) reach: PersonReach,
    pub(super) catalogue: &'a Catalogue,
    pub(super) record: &'a PersonRecord,
    pub(super) now: UtcMillis,
}

/// An entry, and what its windows depend on.
pub(super) struct ClosingEntry<'a> {
    pub(super) key: EntryKey,
    pub(super) entry: &'a EntryView,
    pub(super) subject: &'a SubjectRef,
    pub(super) state: &'a VersionedState,
}

/// Which of an entry's reasons concern a window.
pub(super) enum WindowReasonMatch {
    These(WindowReasons),
    Others(Vec<WindowTarget>),
    /// Its kinds are not in the catalogue any more.
    Nobodys,
}

/// Reasons that concern a window.
pub(super) struct WindowReasons {
    pub(super) reasons: BTreeSet<EntryReason>,
    /// The instant that they are about.
    pub(super) aim: Option<UtcMillis>,
    /// The keys of their windows.
    pub(super) keys: BTreeSet<Arc<str>>,
    /// Windows of other plans of the same channel, each with the reason that concerns it.
    pub(super) beside: Vec<(WindowTarget, EntryReason)>,
}

impl JointClosing<'_> {
    /// When its entries are asked: the window that is due has the time of the message.
    pub(super) fn moment(&self) -> AskedMoment {
        let due = self.open.last().map_or(self.now, |window| window.due);
        AskedMoment { now: self.now, due }
    }

    /// Whether a plan that is followed is to tell it first: it waits there, in a window that is open.
    pub(super) fn is_told_first(&self, day: Day, entry: &EntryView) -> bool {
        let is_by = |of: &Plan| {
            let kinds = entry.reasons.iter().filter_map(|reason| self.catalogue.kinds.get(&reason.kind));
            let mut plans = kinds.flat_map(|kind| self.catalogue.plans_of_reader(kind, &self.reader));
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
    pub(super) fn end_reason_before(&self, entry: &EntryView) -> Option<EndReason> {
        let fates = self.followed.iter().map(|of| entry.fate(of.channel));
        let mut ended = fates.filter_map(|fate| if let Fate::Ended(why) = fate { Some(why) } else { None });
        ended.find(|why| {
            matches!(
                why,
                EndReason::SeesItself | EndReason::SeenBefore | EndReason::TooFew | EndReason::ToldBefore
            )
        })
    }

    /// Windows are chosen when an entry is told, and not when it is announced: the person may prefer another plan
    /// by then, and the subject may have changed.
    pub(super) fn match_reasons(&self, world: &WorldSnapshot, of: &ClosingEntry<'_>) -> WindowReasonMatch {
        let (mut others, mut reasons, mut aims) = (Vec::new(), BTreeSet::new(), Vec::new());
        let (mut beside, mut keys, mut is_known) = (Vec::new(), BTreeSet::new(), false);
        let Self { plan, firsts, catalogue, .. } = self;
        for reason in &of.entry.reasons {
            let Some(kind) = catalogue.kinds.get(&reason.kind) else { continue };
            let (subject, actor) = (of.subject, of.entry.actor());
            let thing = WindowEntry { kind: &kind.name, subject, actor, state: of.state };
            let plans = self.chosen_plans(world, of, (reason, kind));
            let tells = plan.follows.is_none() || self.is_followed_by(&reason.kind, &plans, of.key.day());
            let mut is_of_a_first = false;
            for told_by in plans {
                let is_ours = kind.plans.contains(&plan.name) && self.follows_nothing(told_by, of);
                let told_by = if is_ours { plan } else { told_by };
                is_known = true;
                let wanted = thing.window_target(told_by);
                let is_first = firsts.iter().any(|first| wanted.plan == first.name);
                is_of_a_first |= is_first;
                if is_first && tells && self.has_window(&wanted, of.key.day()) {
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
            if plan.follows.is_some() && tells && !is_of_a_first && self.has_window(&wanted, of.key.day()) {
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

    /// The plans that tell a person of an entry for a reason, as they chose for what it is about.
    fn chosen_plans(
        &self,
        world: &WorldSnapshot,
        of: &ClosingEntry<'_>,
        (reason, kind): (&EntryReason, &KindDef),
    ) -> Vec<&Plan> {
        let Self { catalogue, reader, .. } = self;
        if !catalogue.offers_digest(kind) {
            return catalogue.plans_for(kind, reader.profile);
        }
        let reasons = BTreeSet::new();
        let choice = |channel: Channel| {
            let (subject, moment) = (of.subject, self.moment());
            let actor = of.entry.actor().and_then(Actor::person);
            let told = TellableEntry {
                subject,
                key: of.key,
                actor,
                reasons: &reasons,
                place: channel.into(),
                moment,
            };
            catalogue.find_choice(world, reader, &told, (reason, kind)).choice
        };
        catalogue.plans_by_choice(kind, reader.profile, choice)
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
        let is_coming =
            |first: &Plan| of.entry.waits(first.channel) && self.is_open(first, None, of.key.day());
        preferred.channel == self.plan.channel
            && !self.is_open(preferred, None, of.key.day())
            && !followed.any(is_coming)
    }

    /// Whether one of the windows is the one that is wanted.
    fn has_window(&self, wanted: &WindowTarget, day: Day) -> bool {
        let gathers = self.plan.follows.is_some() && self.plan.key.is_empty();
        gathers || self.open.iter().any(|window| wanted.key == window.key) || self.is_last_place(wanted, day)
    }
}
