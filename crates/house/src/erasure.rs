//! Erasing a person. A request marks the person at once and for good, and is recorded on the topic `erasures`; from
//! then on everything about the person is ignored and nothing is told to them. The keeper does the rest ([`work`]),
//! when what was in flight has landed, and leaves a receipt. Every step may be repeated, so a killed process starts
//! over.

use std::collections::BTreeMap;

use anyhow::Context as _;
use courier::Courier;
use house_facts::erasure::{
    EraseMode, Erasure, ErasureDecision, ErasureProgress, HoldingCounts, Receipt, add_counts, decide_erasure,
};
use model::{Person, Tenant, UtcMillis, person::notes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{StateKey, Store};
use topic::Topics;
use wire::topics;

mod places;
pub mod work;

/// Records read at once.
const PAGE: usize = 1_000;
/// Earlier receipts of one person that are shown.
const EARLIER_MAX: usize = 100;

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErasureAction {
    /// Count what there is.
    Look,
    Erase,
    /// The person may come back.
    Welcome,
}

/// An erasure, as people and programs see it. It names no address.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
pub struct ErasureView {
    pub person: String,
    /// `asked`, `working`, `done`, `lifted`, or `looked`.
    pub state: String,
    pub asked: String,
    pub at: String,
    /// What is being done.
    pub step: Option<String>,
    pub places: Vec<ErasurePlaceView>,
    /// What was asked for before, the latest first: for a year no receipt goes because of another one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Self>,
}

/// What became of one place.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
pub struct ErasurePlaceView {
    pub place: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<u64>,
    /// Of who was only looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_be_removed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stays: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// Marks a person and asks for the rest; or takes the mark away. Why not, if it cannot be now.
pub async fn request_erasure(
    (store, log): (&dyn Store, &dyn Topics),
    (tenant, person): (&Tenant, &Person),
    welcomes: bool,
    now: UtcMillis,
) -> anyhow::Result<Result<(), &'static str>> {
    let key = StateKey::Notes(tenant.clone(), person.clone());
    let known = store
        .states(std::slice::from_ref(&key))
        .await
        .context("the mark of the erasure")?
        .pop()
        .unwrap_or_default();
    // A mark that was set from outside may be of any version; the last word has to stand.
    let before = known.cells.get(notes::ERASED).map_or(i64::MIN, |cell| cell.version);
    let version = now.0.max(before.saturating_add(1));
    let (noted, told) = match decide_erasure(&known, (welcomes, version), now) {
        ErasureDecision::Taken { notes, told } => (notes, told),
        ErasureDecision::Running => return Ok(Err(ingest::STILL_RUNNING)),
        ErasureDecision::Late => return Ok(Err("a later statement about this person holds")),
    };
    let Some((asked, progress)) = told else {
        return Ok(Err("this person is not marked as erased"));
    };
    store.merge(vec![(key, noted)]).await.context("the mark of the erasure")?;
    let (tenant, person) = (tenant.clone(), person.clone());
    write_erasure(log, &Erasure { tenant, person, asked, at: now, progress }).await.map(Ok)
}

/// What an erasure would remove now, of the store and of the courier if one is at hand. Nothing is changed.
pub async fn preview_erasure(
    (store, courier): (&dyn Store, Option<&dyn Courier>),
    (tenant, person): (&Tenant, &Person),
    now: UtcMillis,
) -> anyhow::Result<ErasureView> {
    let whose = places::load_message_keys(store, (tenant, person), now).await?;
    let mut counts = store.erase(tenant, person, EraseMode::Look, now).await.context("the store")?;
    if let Some(courier) = courier {
        let kept = courier.erase(&whose, EraseMode::Look).await.context("the courier")?;
        add_counts(&mut counts, places::of_courier(kept));
    }
    let (tenant, person) = (tenant.clone(), person.clone());
    let progress = ErasureProgress::Working { step: String::new(), removed: counts };
    let mut seen = ErasureView::from_erasure(&Erasure { tenant, person, asked: now, at: now, progress });
    (seen.state, seen.step) = ("looked".to_owned(), None);
    for place in &mut seen.places {
        place.would_be_removed = place.removed.take();
    }
    Ok(seen)
}

/// How far it is with a person, if they were ever to be erased; with it what was before, each as it ended.
pub async fn find_erasure(
    log: &dyn Topics,
    (tenant, person): (&Tenant, &Person),
) -> anyhow::Result<Option<ErasureView>> {
    let mut all: BTreeMap<UtcMillis, Erasure> = BTreeMap::new();
    let hear = |one: Erasure| {
        if (&one.tenant, &one.person) == (tenant, person) {
            all.insert(one.asked, one);
        }
    };
    read_erasures(log, &mut 0, hear).await?;
    let mut all = all.values().rev().map(ErasureView::from_erasure);
    let last = all.next();
    let earlier = all.take(EARLIER_MAX).collect();
    Ok(last.map(|last| ErasureView { earlier, ..last }))
}

/// The last word on every erasure. It is read once, and then what came since.
#[derive(Debug, Default)]
pub struct ErasureBook {
    next: u64,
    last: BTreeMap<(Tenant, Person), Erasure>,
}

impl ErasureBook {
    pub async fn update(&mut self, log: &dyn Topics) -> anyhow::Result<()> {
        let Self { next, last } = self;
        let hear = |one: Erasure| {
            last.insert((one.tenant.clone(), one.person.clone()), one);
        };
        read_erasures(log, next, hear).await
    }

    pub fn last_word(&self, tenant: &Tenant, person: &Person) -> Option<&Erasure> {
        self.last.get(&(tenant.clone(), person.clone()))
    }
}

/// Reads what was written down since.
async fn read_erasures(
    log: &dyn Topics,
    next: &mut u64,
    mut hear: impl FnMut(Erasure),
) -> anyhow::Result<()> {
    let (first, end) = log.bounds(topics::ERASURES).await?.first().copied().unwrap_or_default();
    *next = first.max(*next);
    while *next < end {
        let records = log.read(topics::ERASURES, 0, *next, PAGE).await?;
        *next = records.last().map_or(end, |last| last.offset + 1);
        for record in records {
            let erasure = wire::erasure::decode(record.value.as_deref().unwrap_or_default())
                .with_context(|| format!("{} at offset {}", topics::ERASURES, record.offset))?;
            hear(erasure);
        }
    }
    Ok(())
}

/// Writes down how far it is.
async fn write_erasure(log: &dyn Topics, erasure: &Erasure) -> anyhow::Result<()> {
    log.append(vec![room::records::erasure_record(erasure)?])
        .await
        .context("record the progress of the erasure")
}

impl ErasureView {
    fn from_erasure(erasure: &Erasure) -> Self {
        let counted = |counts: &HoldingCounts| {
            let place = |(holding, removed): (&house_facts::erasure::Holding, &u64)| ErasurePlaceView {
                place: holding.name().to_owned(),
                removed: Some(*removed),
                would_be_removed: None,
                stays: None,
                until: None,
            };
            counts.iter().map(place).collect()
        };
        let (state, step, places) = match &erasure.progress {
            ErasureProgress::Asked => ("asked", None, Vec::new()),
            ErasureProgress::Lifted => ("lifted", None, Vec::new()),
            ErasureProgress::Working { step, removed } => ("working", Some(step.clone()), counted(removed)),
            ErasureProgress::Done(Receipt { lines }) => {
                let place = |line: &house_facts::erasure::ReceiptLine| ErasurePlaceView {
                    place: line.holding.name().to_owned(),
                    removed: Some(line.removed),
                    would_be_removed: None,
                    stays: line.stays.clone(),
                    until: line.until.map(|until| until.to_string()),
                };
                ("done", None, lines.iter().map(place).collect())
            }
        };
        Self {
            person: erasure.person.to_string(),
            state: state.to_owned(),
            asked: erasure.asked.to_string(),
            at: erasure.at.to_string(),
            step,
            places,
            earlier: Vec::new(),
        }
    }
}
