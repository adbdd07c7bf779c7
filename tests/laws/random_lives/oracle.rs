//! What one may expect of a plan, written down from its description and not from its code: slow, and knowing nothing
//! but what happened and what was told. It says what must not be, and leaves open what may be either way.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use catalogue::Catalogue;
use model::{
    Channel, DayView, EndReason, EntryKey, EntryView, Fate, Kind, PlanName, ReadyId, UtcMillis,
    VersionedState,
    civil_time::ZoneRules,
    delivery::{Delivery, DeliveryOutcome},
    limits::DAY_MS,
    person::{Act, PersonRecord, profile},
    plan::{FirstRule, OncePer, Plan},
    ready::Ready,
};

use super::{
    earliest_times, hold_rules, latest_times,
    script::{ScriptEvent, ScriptHappening},
};
use crate::names::LIFE;
use crate::{names::kind, outcomes};

/// A law that did not hold, and the story of it.
#[derive(Debug)]
pub struct BrokenLaw {
    pub why: String,
    pub story: Vec<String>,
}

/// What is so as something is told.
pub struct TellingMoment<'a> {
    pub now: UtcMillis,
    pub profile: &'a VersionedState,
    pub live: Option<bool>,
    pub zones: &'a ZoneRules,
}

/// A message that was decided.
pub struct OracleMessage {
    pub at: UtcMillis,
    pub ready: Ready,
    /// What became of it, once the owner heard that.
    pub reported: Option<Delivery>,
}

/// All that happened, and all that was told.
pub struct PlanOracle {
    pub catalogue: Arc<Catalogue>,
    pub entries: BTreeMap<EntryKey, ScriptEvent>,
    pub stored: BTreeMap<EntryKey, UtcMillis>,
    /// When the digest heard of them first.
    announced: BTreeMap<EntryKey, UtcMillis>,
    public: BTreeMap<usize, bool>,
    /// All instants at which a work was said to start.
    pub starts: BTreeMap<usize, Vec<UtcMillis>>,
    unfollowed: BTreeSet<usize>,
    seen: BTreeSet<usize>,
    /// On which surface the person was, and when.
    pub visits: Vec<(&'static str, UtcMillis)>,
    /// The person chose between plans.
    pub chose: bool,
    /// The person stated quiet hours of their own, now or before.
    stated: bool,
    acts: Vec<(PlanName, Option<String>, UtcMillis)>,
    /// Plans of which somebody cancelled windows.
    cancelled: BTreeSet<PlanName>,
    pub messages: Vec<OracleMessage>,
    /// The Readys that took an entry on a channel and did not give it back; none where all did.
    taken: BTreeMap<(EntryKey, Channel), Vec<ReadyId>>,
    /// Those that went out with it for certain.
    sent: BTreeMap<(EntryKey, Channel), Vec<ReadyId>>,
}

impl PlanOracle {
    pub fn new(catalogue: Arc<Catalogue>) -> Self {
        Self {
            catalogue,
            entries: BTreeMap::new(),
            stored: BTreeMap::new(),
            announced: BTreeMap::new(),
            public: BTreeMap::new(),
            starts: BTreeMap::new(),
            unfollowed: BTreeSet::new(),
            seen: BTreeSet::new(),
            visits: Vec::new(),
            chose: false,
            stated: false,
            acts: Vec::new(),
            cancelled: BTreeSet::new(),
            messages: Vec::new(),
            taken: BTreeMap::new(),
            sent: BTreeMap::new(),
        }
    }

    pub fn note_happening(&mut self, what: &ScriptHappening, now: UtcMillis) {
        match what {
            ScriptHappening::Event(event) => {
                self.public.insert(event.work, event.public);
                self.starts.entry(event.work).or_default().push(event.starts);
            }
            ScriptHappening::Public { work, flag } => {
                self.public.insert(*work, *flag);
            }
            ScriptHappening::Starts { work, at } => self.starts.entry(*work).or_default().push(*at),
            ScriptHappening::Follow { author, on: true } => {
                self.unfollowed.remove(author);
            }
            ScriptHappening::Follow { author, on: false } => {
                self.unfollowed.insert(*author);
            }
            ScriptHappening::Seen { event, .. } if self.entries.values().any(|one| one.number == *event) => {
                self.seen.insert(*event);
            }
            ScriptHappening::Prefers { .. } => self.chose = true,
            ScriptHappening::Profile { field: profile::QUIET, .. } => self.stated = true,
            ScriptHappening::Visit { surface } => self.visits.push((surface, now)),
            _ => {}
        }
    }

    pub fn note_stored(&mut self, key: EntryKey, event: &ScriptEvent, now: UtcMillis) {
        self.entries.insert(key, event.clone());
        self.stored.insert(key, now);
    }

    pub fn note_announced(&mut self, key: EntryKey, now: UtcMillis) {
        self.announced.entry(key).or_insert(now);
    }

    pub fn note_act(&mut self, act: Act, plan: &PlanName, key: Option<&str>, at: UtcMillis) {
        if act == Act::Cancel {
            self.cancelled.insert(plan.clone());
        }
        self.acts.push((plan.clone(), key.map(str::to_owned), at));
    }

    /// Whether somebody released this window.
    fn is_acted_on(&self, ready: &Ready) -> bool {
        let meant = |(plan, key, at): &(PlanName, Option<String>, UtcMillis)| {
            *plan == ready.plan && *at >= ready.opening && key.as_deref().is_none_or(|key| key == &*ready.key)
        };
        self.acts.iter().any(meant)
    }

    /// A message was decided: whether it may be.
    pub fn check_told(&mut self, ready: &Ready, world: &TellingMoment<'_>) -> Result<(), String> {
        let catalogue = self.catalogue.clone();
        let Some(plan) = catalogue.plans.by_name.get(&ready.plan) else {
            return Err("is of no plan".to_owned());
        };
        let acted = self.is_acted_on(ready);
        if ready.is_wordless() {
            return Ok(());
        }
        self.check_room(ready, plan)?;
        for entry in &ready.entries {
            self.check_may_tell(entry.key, ready, plan, world)?;
        }
        hold_rules::check_holds(self, ready, plan, acted, world)?;
        earliest_times::check_early(self, ready, plan, acted, world)?;
        for entry in &ready.entries {
            let others = plan.counts_on.iter().copied().filter(|channel| *channel != plan.channel);
            for channel in std::iter::once(plan.channel).chain(others) {
                self.taken.entry((entry.key, channel)).or_default().push(ready.id);
            }
        }
        self.messages.push(OracleMessage { at: world.now, ready: ready.clone(), reported: None });
        Ok(())
    }

    /// As many things as there may be, and no fewer.
    fn check_room(&self, ready: &Ready, plan: &Plan) -> Result<(), String> {
        if ready.entries.is_empty() {
            return Err("tells nothing".to_owned());
        }
        for (place, section) in plan.sections.iter().enumerate() {
            let own = ready.entries.iter().filter(|entry| usize::from(entry.section) == place);
            let things = match plan.once_per {
                OncePer::Event => own.count(),
                OncePer::Mail | OncePer::Subject => {
                    own.map(|entry| &entry.subject).collect::<BTreeSet<_>>().len()
                }
            };
            if things > usize::from(section.most) {
                return Err(format!("{things} things in a section for {}", section.most));
            }
        }
        Ok(())
    }

    /// Whether one entry may be told by this message.
    fn check_may_tell(
        &self,
        key: EntryKey,
        ready: &Ready,
        plan: &Plan,
        world: &TellingMoment<'_>,
    ) -> Result<(), String> {
        let now = world.now;
        let Some(event) = self.entries.get(&key) else { return Err(format!("{key} is no entry")) };
        let what = format!("{} {}", key.occurred, event.work);
        if LIFE.expiry(key.day()) <= now {
            return Err(format!("{what} has expired"));
        }
        if key.day() < plan.oldest_day(ready.due) {
            return Err(format!("{what} lies before the look-back"));
        }
        if !self.public[&event.work] || self.unfollowed.contains(&(event.work % 2)) {
            return Err(format!("{what} does not hold"));
        }
        if self.seen.contains(&event.number) {
            return Err(format!("{what} was read or cleared"));
        }
        if world.profile.flag(plan.channel.off()) {
            return Err("the person wants nothing on this channel".to_owned());
        }
        if plan.section_of(&kind(event.kind)).is_none() {
            return Err(format!("{what} is of kind {}, which it does not tell", event.kind));
        }
        let before = self.taken.get(&(key, plan.channel)).map_or(&[][..], Vec::as_slice);
        // What a plan tells first and again with the others.
        let again = |id: &ReadyId| {
            let other = self.messages.iter().find(|other| other.ready.id == *id);
            other.is_some_and(|other| earliest_times::is_first_of(plan, &other.ready, ready))
        };
        // A limit (docs/windows.md): what was told first and counts as told by another channel may be repeated, whatever
        // became of the first message.
        let is_first = plan.first == FirstRule::Both;
        let counts = |id: &&ReadyId| {
            self.messages.iter().any(|other| other.ready.id == **id && other.ready.channel != plan.channel)
        };
        match before.iter().find(|id| !(again(id) || is_first && counts(id))) {
            Some(other) => Err(format!("{what} was taken by {other} and did not come back")),
            None => Ok(()),
        }
    }

    /// A message left the house, or ended there.
    pub fn check_sent(&mut self, ready: &Ready, delivery: &Delivery) -> Result<(), String> {
        if !matches!(delivery.outcome, DeliveryOutcome::Sent { .. }) {
            return Ok(());
        }
        let plan = &self.catalogue.plans.by_name[&ready.plan];
        for key in outcomes::told_entries(ready, delivery) {
            let before = self.sent.entry((key, ready.channel)).or_default();
            // One may overtake another on its way out.
            let are_both = |one: &Ready| {
                earliest_times::is_first_of(plan, one, ready) || earliest_times::is_first_of(plan, ready, one)
            };
            let is_again = |id: &&ReadyId| {
                let other = self.messages.iter().find(|other| other.ready.id == **id);
                !other.is_some_and(|other| are_both(&other.ready))
            };
            if let Some(other) = before.iter().find(is_again) {
                return Err(format!("{key} was sent before, by {other}"));
            }
            before.push(ready.id);
        }
        self.check_says_once(ready, delivery)
    }

    /// Where a plan says a subject once, no message within its look-back that was decided before said it.
    fn check_says_once(&self, ready: &Ready, delivery: &Delivery) -> Result<(), String> {
        let decided = |id| self.messages.iter().position(|one| one.ready.id == id);
        let Some(place) = decided(ready.id) else { return Ok(()) };
        let told: BTreeSet<EntryKey> = outcomes::told_entries(ready, delivery).collect();
        let own = ready.entries.iter().filter(|entry| told.contains(&entry.key));
        for entry in own {
            let others = self
                .messages
                .iter()
                .enumerate()
                .filter(|(other, told)| *other != place && told.ready.channel == ready.channel);
            for (other, message) in others {
                let sent = |key| {
                    self.sent.get(&(key, ready.channel)).is_some_and(|by| by.contains(&message.ready.id))
                };
                let said =
                    message.ready.entries.iter().filter(|one| one.subject == entry.subject && sent(one.key));
                let said: Vec<EntryKey> = said.map(|one| one.key).collect();
                let (earlier, later, days) = if other < place {
                    (other, place, said)
                } else {
                    (place, other, vec![entry.key; said.len().min(1)])
                };
                let (earlier, later) = (&self.messages[earlier], &self.messages[later]);
                let plan = &self.catalogue.plans.by_name[&later.ready.plan];
                if plan.once_per != OncePer::Subject
                    || earliest_times::is_first_of(plan, &earlier.ready, &later.ready)
                {
                    continue;
                }
                let looks_back = model::Day::from_instant(earlier.at) >= plan.oldest_day(later.ready.due);
                if looks_back && days.iter().any(|key| LIFE.expiry(key.day()) > later.at) {
                    return Err(format!(
                        "{} was said by {:?} and by {:?}",
                        entry.subject, earlier.ready, later.ready
                    ));
                }
            }
        }
        Ok(())
    }

    /// The owner hears what became of a message: what it did not tell is not taken any more, on no channel.
    pub fn note_report(&mut self, delivery: &Delivery) {
        let Some(told) = self.messages.iter_mut().find(|told| told.ready.id == delivery.ready) else {
            return;
        };
        let back = match &delivery.outcome {
            DeliveryOutcome::Sent { left }
            | DeliveryOutcome::Nothing { left }
            | DeliveryOutcome::Refused { left } => left.iter().map(|(key, _)| *key).collect(),
            DeliveryOutcome::Unknown { back, left } => {
                back.iter().copied().chain(left.iter().map(|(key, _)| *key)).collect()
            }
            DeliveryOutcome::Returned { back } => back.clone(),
            DeliveryOutcome::Deferred { .. } => Vec::new(),
        };
        if !matches!(delivery.outcome, DeliveryOutcome::Deferred { .. }) {
            told.reported = Some(delivery.clone());
        }
        for ((key, _), by) in &mut self.taken {
            by.retain(|id| *id != delivery.ready || !back.contains(key));
        }
    }

    /// Whether an entry was taken on a channel and did not come back.
    pub fn is_taken(&self, key: EntryKey, channel: Channel) -> bool {
        self.taken.get(&(key, channel)).is_some_and(|by| !by.is_empty())
    }

    /// Every entry of a day that lives has a fate that agrees with what was told, or something is on its way to it; and
    /// as its day ends, a fate for good.
    pub fn check_fates(
        &self,
        view: &DayView,
        record: &PersonRecord,
        profile: &VersionedState,
        now: UtcMillis,
    ) -> Result<(), String> {
        for (key, entry) in view.entries().filter(|(key, _)| LIFE.expiry(key.day()) > now) {
            let Some(event) = self.entries.get(&key) else { return Err(format!("{key} is no entry")) };
            let Some(kind) = self.catalogue.kinds.get(&kind(event.kind)) else { continue };
            for plan in self.catalogue.plans_for(kind, profile) {
                let what = format!("{} {} {} on {}", key.occurred, event.work, event.kind, plan.channel);
                self.check_fate((key, entry), plan, record, now).map_err(|why| format!("{what}: {why}"))?;
            }
        }
        Ok(())
    }

    fn check_fate(
        &self,
        (key, entry): (EntryKey, &EntryView),
        plan: &Plan,
        record: &PersonRecord,
        now: UtcMillis,
    ) -> Result<(), String> {
        let fate = entry.fate(plan.channel);
        let taken = self.taken.get(&(key, plan.channel)).map_or(&[][..], Vec::as_slice);
        match fate {
            Fate::Told { ready } if !taken.contains(&ready) => {
                Err(format!("counts as told by {ready}, which did not"))
            }
            Fate::Told { .. } => Ok(()),
            _ if !taken.is_empty() => Err(format!("is {fate}, and {taken:?} has it")),
            Fate::Ended(why) => {
                self.may_end(why, plan).then_some(()).ok_or_else(|| format!("cannot be {fate}"))
            }
            Fate::Read | Fate::Cleared | Fate::PutOff => Ok(()),
            Fate::Waiting { .. } if !self.announced.contains_key(&key) => Ok(()),
            Fate::Waiting { .. } => {
                // Where a window was cancelled by hand, no plan that follows opens one, not even to end what it would tell.
                let names = plan.follows.iter().flat_map(|follows| &follows.plans);
                let cancelled = names.filter(|name| self.cancelled.contains(*name));
                let mut before = cancelled.filter_map(|name| self.catalogue.plans.by_name.get(name));
                if before.any(|one| matches!(entry.fate(one.channel), Fate::Ended(_))) {
                    return Ok(());
                }
                self.check_goes_on(key, plan, record, now).map_err(|why| format!("is {fate}, {why}"))
            }
        }
    }

    /// Whether something is on its way that gives a waiting entry its fate.
    fn check_goes_on(
        &self,
        key: EntryKey,
        plan: &Plan,
        record: &PersonRecord,
        now: UtcMillis,
    ) -> Result<(), String> {
        if LIFE.expiry(key.day()).since(now) < DAY_MS / 48 {
            return Err("and its day is about to expire".to_owned());
        }
        let plans = &self.catalogue.plans;
        let mut leading: BTreeSet<&PlanName> =
            plans.by_name.values().filter(|one| one.channel == plan.channel).map(|one| &one.name).collect();
        for _ in 0..plans.by_name.len() {
            let followed = leading.iter().filter_map(|name| plans.by_name.get(*name)?.follows.as_ref());
            let more: Vec<&PlanName> = followed.flat_map(|follows| &follows.plans).collect();
            leading.extend(more);
        }
        let heard = self.announced.get(&key).copied().unwrap_or(now);
        let is_late = latest_times::fate_deadline_ms(self, plan).is_some_and(|ms| heard.plus(ms) < now);
        if is_late && !self.taken.contains_key(&(key, plan.channel)) && !self.has_choice(key, plan) {
            return Err(format!("and nothing holds it since it was announced at {heard}"));
        }
        let open =
            record.windows.iter().any(|open| leading.contains(&open.plan) && open.days.contains(&key.day()));
        if open { Ok(()) } else { Err(format!("and no window is open for its day: {:?}", record.windows)) }
    }

    /// Whether another plan could tell it on the same channel.
    fn has_choice(&self, key: EntryKey, plan: &Plan) -> bool {
        let plans = self.catalogue.plans.by_name.values();
        let event = &self.entries[&key];
        plans.filter(|one| one.channel == plan.channel && Self::tells(one, event.kind)).count() > 1
    }

    /// Whether a plan, or one beside it, can end something for this reason.
    fn may_end(&self, why: EndReason, plan: &Plan) -> bool {
        let plans = || self.catalogue.plans.by_name.values();
        match why {
            EndReason::KindGone
            | EndReason::PlanGone
            | EndReason::NoAddress
            | EndReason::Erased
            | EndReason::Muted
            | EndReason::MovedAway => false,
            EndReason::ToldBefore => plans().any(|plan| plan.once_per == OncePer::Subject),
            EndReason::TooFew => plans().any(|plan| plan.at_least > 1),
            EndReason::QuietHours => plans().any(|plan| self.has_nights(plan)),
            EndReason::OverCap => self
                .catalogue
                .plans
                .caps
                .iter()
                .any(|cap| plans().any(|plan| cap.counts_plan(plan, &crate::names::tenant("main")))),
            EndReason::SeesItself => plans().any(|plan| {
                plan.online.is_some()
                    || plan.follows.is_some()
                    || matches!(plan.close, model::plan::CloseRule::Away { .. })
            }),
            EndReason::Cancelled => {
                self.acts.iter().any(|(of, ..)| *of == plan.name || plans().any(|one| one.name == *of))
            }
            _ => true,
        }
    }

    /// Whether quiet hours may hold a plan: those that it names, or those of the person.
    pub fn has_nights(&self, plan: &Plan) -> bool {
        plan.quiet.is_some() || self.stated
    }

    /// The kinds that a plan tells.
    pub fn tells(plan: &Plan, what: &str) -> bool {
        plan.section_of(&kind(what)).is_some()
    }

    /// Whether the catalogue knows what happened.
    pub fn knows(&self, name: &str) -> bool {
        self.catalogue.kinds.contains_key::<Kind>(&kind(name))
    }
}
