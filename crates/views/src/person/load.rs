//! Reads what is said of a person.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashSet},
};

use ::preferences::subscribed_subject;
use anyhow::Context as _;
use model::{
    Channel, Day, EntryKey, EntryView, Person, PlanName, ReadyId, SubjectRef, Tenant, UtcMillis,
    limits::{AHEAD_MS_MAX, FOLLOWS_PART_MAX},
    ready::Ready,
    returns::Slip,
};
use store::{JournalRows, Store};

use super::{
    DAYS_SHOWN, DossierDay, DossierSources, ENTRIES_LISTED, ENTRIES_OF_DAY_MAX, FOLLOWS_LISTED,
    FOLLOWS_READ_MAX, GOT_LISTED, PREFERENCES_LISTED, preferences::list_standing,
};
use crate::{
    days::{self, DayEntries, EntryContext},
    open_windows,
    preview::{self, LoadedPerson, MessagePreview},
    suppressions::{self, PersonSuppressions},
};

/// Messages whose instants are looked up, so that the last ones are shown: those that took entries last.
const GOT_LOOKED_AT: usize = 4 * GOT_LISTED;
const WITHOUT_CATALOGUE: &str = "without a catalogue, titles, waiting entries and the next messages are \
    missing; name its folder with TIDINGS_CATALOGUE";

/// The loaded facts.
pub struct DossierFacts {
    pub known: LoadedPerson,
    pub suppressed: PersonSuppressions,
    /// The newest follows, with their versions, and how many there are.
    pub follows: Vec<(SubjectRef, i64)>,
    pub followed: usize,
    /// There are more than were counted.
    pub is_cut: bool,
    /// What subjects are called.
    pub names: BTreeMap<String, String>,
    pub told: Vec<TellingMessage>,
    pub coming: Vec<(Ready, MessagePreview)>,
    pub days: Vec<DossierDay>,
    pub unknown: Vec<String>,
    /// Of the plans of open windows those that are paused.
    pub paused: BTreeSet<PlanName>,
}

/// A message that took entries.
pub struct TellingMessage {
    pub ready: ReadyId,
    pub channel: Channel,
    pub entries: usize,
    /// The newest of them.
    pub newest: EntryKey,
    pub subject: SubjectRef,
    pub taken: UtcMillis,
    pub journalled: JournalRows,
    pub slip: Option<Slip>,
    /// Its Message-ID in the outbox, and what stands above it.
    pub mail: Option<(String, String)>,
}

impl DossierFacts {
    /// Whether nothing at all is known of them.
    pub fn is_nobody(&self) -> bool {
        let known = &self.known;
        known.is_nobody() && known.preferences.is_empty() && known.notes.is_empty() && self.followed == 0
    }
}

/// Reads all that there is.
pub async fn load_facts(person: &Person, sources: DossierSources<'_>) -> anyhow::Result<DossierFacts> {
    let own = sources.catalogue.map(|catalogue| catalogue.for_person(person));
    let sources = DossierSources { catalogue: own, ..sources };
    let DossierSources { at, catalogue, studio, .. } = sources;
    let known = preview::load_known_person(person, at).await.context("load the person")?;
    let suppressed = suppressions::load_suppressions(at.store, (at.tenant, person), at.now).await?;
    let mut unknown: Vec<String> =
        catalogue.is_none().then(|| WITHOUT_CATALOGUE.to_owned()).into_iter().collect();
    let mut coming = Vec::new();
    if let Some(studio) = studio {
        // What cannot be made keeps nobody from seeing the rest.
        match studio.preview_windows(person, &known, at).await {
            Ok(found) => coming = found,
            Err(error) => unknown.push(format!("the next messages cannot be made: {error:#}")),
        }
    }
    let (mut follows, is_cut) = follows(at.store, (at.tenant, person)).await.context("load their follows")?;
    let followed = follows.len();
    follows.sort_by(|(one, since), (other, till)| till.cmp(since).then_with(|| one.cmp(other)));
    follows.truncate(FOLLOWS_LISTED);
    let told = load_messages(&known, sources).await?;
    let chosen = list_standing(&known.preferences).into_iter().take(PREFERENCES_LISTED);
    let chosen = chosen.filter_map(|one| SubjectRef::new(one.field.of).ok());
    let followed_now = follows.iter().map(|(subject, _)| subject.clone());
    let subjects: BTreeSet<SubjectRef> =
        followed_now.chain(chosen).chain(told.iter().map(|one| one.subject.clone())).collect();
    let names = days::load_subject_names(at.store, at.tenant, subjects, catalogue)
        .await
        .context("names of subjects")?;
    let days = load_days(&known, sources).await?;
    let pauses = open_windows::read_paused(at.log, catalogue.map(|catalogue| &catalogue.plans)).await?;
    let open = known.record.iter().flat_map(|record| &record.windows).map(|window| &window.plan);
    let paused = open.filter(|plan| pauses.has(at.tenant, plan)).cloned().collect();
    Ok(DossierFacts {
        known,
        suppressed,
        follows,
        followed,
        is_cut,
        names,
        told,
        coming,
        days,
        unknown,
        paused,
    })
}

/// What they follow, and whether there is more than that. What they subscribed to stands among their preferences.
async fn follows(
    store: &dyn Store,
    (tenant, person): (&Tenant, &Person),
) -> anyhow::Result<(Vec<(SubjectRef, i64)>, bool)> {
    let (mut follows, mut behind, mut looked) = (Vec::new(), None, 0);
    loop {
        let part = store.list_followed(tenant, person, behind.as_ref(), FOLLOWS_PART_MAX).await?;
        let is_followed = |(subject, _): &(SubjectRef, i64)| subscribed_subject(subject).is_none();
        follows.extend(part.subjects.into_iter().filter(is_followed));
        looked += FOLLOWS_PART_MAX;
        match part.next {
            Some(_) if looked >= FOLLOWS_READ_MAX => return Ok((follows, true)),
            Some(next) => behind = Some(next),
            None => return Ok((follows, false)),
        }
    }
}

/// The last messages: found by what they took, for days are there whatever became of the log.
async fn load_messages(
    known: &LoadedPerson,
    sources: DossierSources<'_>,
) -> anyhow::Result<Vec<TellingMessage>> {
    let DossierSources { at, outbox, .. } = sources;
    let mut told = collect_messages(known);
    told.sort_by_key(|one| Reverse((one.taken, one.newest)));
    told.truncate(GOT_LOOKED_AT);
    let readys: Vec<ReadyId> = told.iter().map(|one| one.ready).collect();
    let journal = at.store.read_journal(at.tenant, &readys).await.context("the journal")?;
    for (one, journalled) in told.iter_mut().zip(journal) {
        one.taken = days::since_when(&journalled).unwrap_or(one.taken);
        one.journalled = journalled;
    }
    told.sort_by_key(|one| Reverse((one.taken, one.newest)));
    told.truncate(GOT_LISTED);
    for one in &mut told {
        one.slip = at.store.slip(one.ready, at.now).await.context("slips")?;
    }
    if let Some(outbox) = outbox {
        let readys: HashSet<ReadyId> = told.iter().map(|one| one.ready).collect();
        let mails = outbox.list_of_readys(&readys).into_iter();
        let mails: BTreeMap<_, _> =
            mails.filter_map(|mail| Some((mail.ready?, (mail.message_id, mail.headline)))).collect();
        told.iter_mut().for_each(|one| one.mail = mails.get(&one.ready).cloned());
    }
    Ok(told)
}

/// The messages that took entries, in no order.
fn collect_messages(known: &LoadedPerson) -> Vec<TellingMessage> {
    let mut by_ready: BTreeMap<(ReadyId, Channel), TellingMessage> = BTreeMap::new();
    for (key, view) in known.view.entries() {
        let Some(subject) = view.subject() else { continue };
        for channel in Channel::ALL {
            for (ready, taken) in view.tellers(channel) {
                let new = || TellingMessage {
                    ready,
                    channel,
                    entries: 0,
                    newest: key,
                    subject: subject.clone(),
                    taken,
                    journalled: JournalRows::default(),
                    slip: None,
                    mail: None,
                };
                let one = by_ready.entry((ready, channel)).or_insert_with(new);
                // Oldest first: what comes later is newer.
                (one.entries, one.newest, one.subject) = (one.entries + 1, key, subject.clone());
                one.taken = one.taken.max(taken);
            }
        }
    }
    by_ready.into_values().collect()
}

/// The last days, or the one that was asked for, each with the newest of its entries.
async fn load_days(known: &LoadedPerson, sources: DossierSources<'_>) -> anyhow::Result<Vec<DossierDay>> {
    let DossierSources { at, catalogue, day, .. } = sources;
    let oldest = Day::from_instant(at.now.plus(AHEAD_MS_MAX)).plus(-DAYS_SHOWN);
    let is_meant = |of: Day| day.map_or(of >= oldest, |day| of == day);
    let most = if day.is_some() { ENTRIES_OF_DAY_MAX } else { ENTRIES_LISTED };
    let mut by_day: BTreeMap<Day, Vec<(EntryKey, &EntryView)>> = BTreeMap::new();
    for (key, view) in known.view.entries().filter(|(key, _)| is_meant(key.day())) {
        by_day.entry(key.day()).or_default().push((key, view));
    }
    let mut days = Vec::new();
    for (day, entries) in by_day.iter().rev() {
        let more = entries.len().saturating_sub(most);
        let shown = &entries[more..];
        let beside = EntryContext::load(at.store, at.tenant, shown.iter().copied(), catalogue)
            .await
            .context("load the fates of entries")?;
        let entries = shown.iter().map(|(key, view)| beside.describe(*key, view)).collect();
        days.push(DossierDay { day: DayEntries { day: day.to_string(), entries }, more });
    }
    Ok(days)
}
