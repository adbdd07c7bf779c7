//! One tenant lists thousands of people at once while another says single things: how late those of the other are told,
//! alone and beside the first. Both speak to one house, the real program, each with an API key of its own.

use std::{
    cmp::Ordering,
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, bail, ensure};
use runtime::{clock::SteadyStopwatch, retry};
use serde_json::Value;

use crate::{
    http_load::HttpLoadClient,
    process::BenchProgram,
    report::{BenchFigure, BenchReport, quantile_millis},
};

/// The bar: a single thing is told within so long, whatever another tenant says.
const TOLD_MS_MAX: f64 = 2_000.0;
/// Rows of one change, the most that the intake takes: so many persons, each told of so many subjects.
const PERSONS: usize = 5_000;
const SUBJECTS: usize = 10;
/// Changes of one request, which then stays below 1 MiB.
const OF_REQUEST: usize = 15;
/// Single things said alone, before the other tenant begins; and the pause between two.
const ALONE: usize = 20;
const PAUSE: Duration = Duration::from_millis(200);
/// Between two looks whether something is there.
const LOOK: Duration = Duration::from_millis(5);
/// Whatever is said is told within this, or the bench ends.
const PATIENCE: Duration = Duration::from_secs(600);
/// Of the many who are listed so many are asked for their entries in the end.
const ASKED: usize = 10;
/// Rows that fan-out has written or refused, by its own metric.
const ROWS: &str = "tidings_fanout_rows_total";

const LOUD_KEY: &str = "key-of-the-loud-tenant";
const QUIET_KEY: &str = "key-of-the-quiet-tenant";
const READER: &str = "reader";

const CATALOGUE: &str = r"
catalogue: bench
subjects:
  work: {title: text}
  note: {title: text, reader: person}
kinds:
  picked:
    on: work.picked
    to: listed
    says: '{{ subject.title }}'
    plans: [daily]
  written:
    on: note.written
    to: {person: reader}
    says: '{{ subject.title }}'
    plans: [now]
plans:
  daily:
    channel: email
    close: {daily: '09:00', zone: person}
    look_back: 7d
    from: Bench <bench@example.org>
    headline: News
    template: mail.mjml
    text: mail.txt
    sections:
      - {title: News, kinds: [picked], most: 8, order: newest}
  now:
    channel: email
    close: at_once
    urgent: true
    look_back: 1d
    from: Bench <bench@example.org>
    headline: News
    template: mail.mjml
    text: mail.txt
    sections:
      - {title: News, kinds: [written], most: 8, order: newest}
";

/// What the loud tenant says, by the number of rows that it comes to.
struct LoudTenantLoad {
    persons: usize,
    changes: usize,
}

impl LoudTenantLoad {
    fn new(size: usize) -> Self {
        let persons = size.div_ceil(SUBJECTS).clamp(1, PERSONS);
        Self { persons, changes: size.div_ceil(persons * SUBJECTS) }
    }

    fn rows(&self) -> usize {
        self.persons * self.entries()
    }

    /// Entries of each person.
    fn entries(&self) -> usize {
        self.changes * SUBJECTS
    }

    fn bodies(&self) -> impl Iterator<Item = String> {
        let persons: Vec<String> = (0..self.persons).map(|n| format!("\"p{n}\"")).collect();
        let persons = persons.join(",");
        let change = move |change: usize| {
            let subjects: Vec<String> =
                (0..SUBJECTS).map(|n| format!("\"work:{}\"", change * SUBJECTS + n)).collect();
            format!(
                r#"{{"id":"c{change}","source":"bench","type":"work.picked","subjects":[{}],"title":"Work","persons":[{persons}]}}"#,
                subjects.join(",")
            )
        };
        let changes = self.changes;
        (0..changes).step_by(OF_REQUEST).map(move |first| {
            let of_body = first..changes.min(first + OF_REQUEST);
            format!("[{}]", of_body.map(&change).collect::<Vec<_>>().join(","))
        })
    }
}

/// How late single things were: until their entry was there, and until their mail was in the outbox.
#[derive(Default)]
struct QuietTenantDelays {
    entries: Vec<Duration>,
    mails: Vec<Duration>,
}

pub async fn run(
    size: usize,
    program: &Path,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<BenchReport> {
    let bed = BenchProgram::with_catalogue(program, CATALOGUE)?;
    let keys =
        format!("api_keys: [{{tenant: loud, key: {LOUD_KEY}}}, {{tenant: quiet, key: {QUIET_KEY}}}]\n");
    fs::write(bed.path("tidings.yaml"), keys)?;
    let mut up = bed.start_up("data")?;
    up.key = Some(LOUD_KEY);
    let loud = Arc::new(HttpLoadClient::with_key(&up.address, LOUD_KEY));
    let quiet = HttpLoadClient::with_key(&up.address, QUIET_KEY);
    let profile = format!(
        r#"{{"id":"profile","source":"bench","type":"tidings.profile","person":"{READER}","email":"reader@example.org"}}"#
    );
    quiet.post("/v1/facts", &profile).await?;
    let outbox = bed.path("data").join("outbox");
    let mut notes =
        QuietTenantLoad { quiet, outbox, written: 0, entries: BTreeSet::new(), since: String::new() };
    progress(&format!("tenants: {ALONE} single things, alone"));
    let mut alone = QuietTenantDelays::default();
    for _ in 0..ALONE {
        notes.write_note(&mut alone).await?;
        retry::wait_real_time(PAUSE).await;
    }
    let lists = LoudTenantLoad::new(size);
    let before = up.sum_metric(ROWS)?;
    progress(&format!("tenants: {} rows of another tenant, and single things beside them", lists.rows()));
    let watch = SteadyStopwatch::start();
    let posted = tokio::spawn({
        let (loud, bodies): (_, Vec<String>) = (loud.clone(), lists.bodies().collect());
        async move {
            for body in bodies {
                loud.post_in_time("/v1/changes", &body).await?;
            }
            anyhow::Ok(())
        }
    });
    let mut beside = QuietTenantDelays::default();
    loop {
        notes.write_note(&mut beside).await?;
        // A row is counted a moment after it is there.
        let written = up.sum_metric(ROWS)?.saturating_sub(before + beside.entries.len());
        if written >= lists.rows() {
            break;
        }
        ensure!(watch.elapsed() < PATIENCE, "{written} of {} rows in time", lists.rows());
        retry::wait_real_time(PAUSE).await;
    }
    let took = watch.elapsed();
    posted.await??;
    let held = has_all_entries(&loud, &lists).await?;
    Ok(build_report(&lists, took, (&alone, &beside), held))
}

fn build_report(
    lists: &LoudTenantLoad,
    took: Duration,
    (alone, beside): (&QuietTenantDelays, &QuietTenantDelays),
    held: bool,
) -> BenchReport {
    let pair = |name: &str, of: fn(&QuietTenantDelays) -> &Vec<Duration>, part: f64| {
        let late = |late: &QuietTenantDelays| {
            let mut sorted = of(late).clone();
            sorted.sort_unstable();
            quantile_millis(&sorted, part)
        };
        BenchFigure::compared_with(name, late(beside), "ms", late(alone))
    };
    #[allow(clippy::cast_precision_loss, reason = "figures for people to read")]
    let rate = lists.rows() as f64 / took.as_secs_f64();
    let engine = format!(
        "embedded, the real program with its usual quota, synced before each answer; {} single things beside {} \
         rows, against {ALONE} alone",
        beside.entries.len(),
        lists.rows()
    );
    let figures = vec![
        pair("half of the entries are there within", |late| &late.entries, 0.5),
        pair("all of the entries are there within", |late| &late.entries, 1.0).at_most(TOLD_MS_MAX),
        pair("half of the mails have left within", |late| &late.mails, 0.5),
        pair("all of the mails have left within", |late| &late.mails, 1.0).at_most(TOLD_MS_MAX),
        BenchFigure::compared_with("rows of the other tenant", rate, "per second", rate),
    ];
    let checked = format!(
        "{ASKED} persons of the one tenant have every entry, each single thing of the other was told by one mail"
    );
    BenchReport::new("tenants", engine, figures, (checked, held))
}

/// The single things of the quiet tenant.
struct QuietTenantLoad {
    quiet: HttpLoadClient,
    outbox: PathBuf,
    written: usize,
    /// The entries that were seen by now, and where to go on.
    entries: BTreeSet<String>,
    since: String,
}

impl QuietTenantLoad {
    /// Says one thing and waits until it is told.
    async fn write_note(&mut self, late: &mut QuietTenantDelays) -> anyhow::Result<()> {
        let number = self.written;
        self.written += 1;
        let body = format!(
            r#"{{"id":"n{number}","source":"bench","type":"note.written","subject":"note:{number}","title":"Note {number}","reader":"{READER}"}}"#
        );
        let watch = SteadyStopwatch::start();
        self.quiet.post("/v1/changes", &body).await?;
        while self.entries.len() < self.written {
            ensure!(watch.elapsed() < PATIENCE, "note {number} has no entry");
            retry::wait_real_time(LOOK).await;
            read_entries(&self.quiet, READER, &mut self.since, &mut self.entries).await?;
        }
        late.entries.push(watch.elapsed());
        loop {
            match count_mails(&self.outbox)?.cmp(&self.written) {
                Ordering::Less => {}
                Ordering::Equal => break,
                Ordering::Greater => bail!("note {number} was told twice"),
            }
            ensure!(watch.elapsed() < PATIENCE, "note {number} has no mail");
            retry::wait_real_time(LOOK).await;
        }
        late.mails.push(watch.elapsed());
        Ok(())
    }
}

/// Mails in a folder and those below it.
fn count_mails(folder: &Path) -> anyhow::Result<usize> {
    let mut count = 0;
    for file in fs::read_dir(folder).context("read the outbox")? {
        let file = file.context("read the outbox")?;
        if file.file_type().is_ok_and(|file| file.is_dir()) {
            count += count_mails(&file.path())?;
        } else {
            count += usize::from(file.path().extension().is_some_and(|end| end == "eml"));
        }
    }
    Ok(count)
}

/// Adds a person's entries from where the last look ended.
async fn read_entries(
    posts: &HttpLoadClient,
    person: &str,
    since: &mut String,
    entries: &mut BTreeSet<String>,
) -> anyhow::Result<()> {
    loop {
        let path = format!("/v1/people/{person}/entries?limit=500&since={since}");
        let answer: Value = serde_json::from_str(&posts.get(&path).await?).context("the entries")?;
        let found = answer["entries"].as_array().context("the entries")?;
        entries.extend(found.iter().filter_map(|entry| entry["entry"].as_str()).map(str::to_owned));
        answer["next"].as_str().context("where to go on")?.clone_into(since);
        if answer["more"] != true {
            return Ok(());
        }
    }
}

async fn has_all_entries(loud: &HttpLoadClient, lists: &LoudTenantLoad) -> anyhow::Result<bool> {
    for n in (0..lists.persons).step_by(lists.persons.div_ceil(ASKED)) {
        let mut entries = BTreeSet::new();
        read_entries(loud, &format!("p{n}"), &mut String::new(), &mut entries).await?;
        if entries.len() != lists.entries() {
            return Ok(false);
        }
    }
    Ok(true)
}
