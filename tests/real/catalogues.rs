//! A catalogue that is rolled out in the wrong order: ingest has it, and the fan-out not yet.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context as _, Result, ensure};
use model::UtcMillis;
use runtime::{Clock, clock::SteadyStopwatch};

use crate::{
    house::{EngineAddresses, RealHouse, pause_for, wait_until},
    input,
    outbox_mails::OutboxMailReader,
};

const NOTES: u64 = 20;
const PATIENCE: Duration = Duration::from_secs(180);
const CATALOGUE: &str = "TIDINGS_CATALOGUE";

#[test]
fn an_older_fan_out_waits_for_the_catalogue_of_ingest_and_nobody_is_left_out() {
    let name = format!("catalogues_{}", std::process::id());
    let (kafka, cql) = (engines::kafka().unwrap(), engines::cql().unwrap());
    let engines = EngineAddresses { kafka, cql, name: &name, known: false };
    let mut house =
        RealHouse::prepare_on(&engines, &[&["ingest"], &["fanout"], &["digest", "sender"]]).unwrap();
    roll_out(&mut house).with_context(|| house.read_logs()).unwrap();
}

fn roll_out(house: &mut RealHouse) -> Result<()> {
    let newer = tempfile::tempdir()?;
    write_newer(newer.path())?;
    let newer = newer.path().display().to_string();
    house.processes[0].set(CATALOGUE, &newer);
    house.processes[2].set(CATALOGUE, &newer);
    house.start()?;
    let now = UtcMillis(Clock::real(0).now()).to_string();
    let profiles: Vec<String> = (0..NOTES).map(|reader| input::profile_fact(reader, None)).collect();
    house.say("/v1/facts", &profiles)?;
    let notes = (0..NOTES).map(|reader| input::note_event(&format!("note:{reader}"), reader, &now));
    let notes: Vec<String> = notes.map(|note| note.replace("note.written", "note.shown")).collect();
    house.say("/v1/changes", &notes)?;
    let waits = || -> Result<bool> {
        Ok(house.processes[1].get_text("/health/ready", None)?.1.contains("edition 2"))
    };
    wait_until(PATIENCE, &waits).context("the old fan-out does not say what it waits for")?;
    house.processes[1].stop()?;
    house.processes[1].set(CATALOGUE, &newer);
    house.processes[1].start()?;
    house.wait_ready()?;
    let (mut mails, waited) = (OutboxMailReader::default(), SteadyStopwatch::start());
    while mails.len() < NOTES as usize && waited.elapsed() < PATIENCE {
        house.check_alive()?;
        drop(house.release("notes"));
        mails.read_new(house.outbox())?;
        pause_for(Duration::from_millis(500));
    }
    let counts = mails.counts();
    ensure!(counts.len() == NOTES as usize && counts.values().all(|count| *count == 1), "{counts:?}");
    Ok(())
}

/// The usual catalogue with a kind more.
fn write_newer(folder: &Path) -> Result<()> {
    let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("real/catalogue");
    let text = fs::read_to_string(usual.join("catalogue.yaml"))?;
    let kind = "kinds:\n  note_shown: {on: note.shown, to: {person: reader}, says: 'A note', plans: [notes]}";
    let text = text.replacen("kinds:\n", &format!("{kind}\n"), 1);
    let text = text.replace("kinds: note_written,", "kinds: [note_written, note_shown],");
    fs::write(folder.join("catalogue.yaml"), text)?;
    fs::create_dir(folder.join("mail"))?;
    for file in fs::read_dir(usual.join("mail"))? {
        let file = file?;
        fs::copy(file.path(), folder.join("mail").join(file.file_name()))?;
    }
    Ok(())
}
