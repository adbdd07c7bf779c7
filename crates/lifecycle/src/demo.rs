//! The little world that a catalogue brings along, published into an empty house.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use model::limits::DAY_MS;
use shell::{client::HouseClient, datadir::AdminAccess, feed, terminal};
use tokio::task::spawn_blocking;

use crate::context::{ProcessContext, ProcessHouse};

/// What a catalogue has for the demo, if it has one: what happened before anybody looked, and what happened a day later,
/// when the first mails have gone out.
const DEMO_FILE: &str = "demo.ndjson";
const DEMO_NEXT_FILE: &str = "demo-next.ndjson";
/// Tells an empty house the little world of its catalogue; a demo without one is a demo too. Where the catalogue has a
/// second day, a day goes by in between: who opens the page finds mails that were sent, and news that waits.
pub async fn seed_demo(site: &ProcessContext, home: &ProcessHouse, admin: &AdminAccess) {
    let file = |name| site.config.catalogue.as_ref().map(|dir| dir.join(name)).filter(|path| path.exists());
    let Some(first) = file(DEMO_FILE) else { return };
    let seeded = async {
        let mut accepted = publish_demo_file(first, admin).await?;
        if let Some(next) = file(DEMO_NEXT_FILE) {
            // Where mails leave the house the clock stays: nobody takes a mail that was signed tomorrow.
            if site.config.mail.is_none() {
                home.settle().await?;
                let clock = site.clock.clone();
                spawn_blocking(move || clock.advance(DAY_MS)).await??;
                home.settle().await?;
            }
            accepted += publish_demo_file(next, admin).await?;
        }
        anyhow::Ok(accepted)
    };
    match seeded.await {
        Ok(accepted) => terminal::print_talk(format!("demo data is in: {accepted} items")),
        Err(error) => tracing::warn!(error = format!("{error:#}"), "the demo data could not be published"),
    }
}

/// Tells a file's lines; gives how many were accepted.
pub async fn publish_demo_file(path: PathBuf, admin: &AdminAccess) -> anyhow::Result<u64> {
    let client = HouseClient::new(admin.clone()).map_err(|failure| anyhow!("{failure}"))?;
    let told = spawn_blocking(move || {
        let file = std::fs::File::open(&path).with_context(|| path.display().to_string())?;
        let items = feed::read_items(std::io::BufReader::new(file))?;
        let refused =
            |why: &str| terminal::print_talk(terminal::clean_text(&format!("{}: {why}", path.display())));
        feed::feed_items(&client, items, refused, |_| {}).map_err(|failure| anyhow!("{failure}"))
    });
    Ok(told.await.context("publish the demo data")??.accepted)
}
