//! The little world that a catalogue brings along, published into an empty house.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use model::{Day, UtcMillis, limits::DAY_MS};
use shell::{
    client::HouseClient,
    datadir::AdminAccess,
    feed::{self, FeedItem},
    terminal,
};
use tokio::task::spawn_blocking;

use crate::context::{ProcessContext, ProcessHouse};

/// What a catalogue has for the demo, if it has one: what happened before anybody looked, and what happened a day later,
/// when the first mails have gone out.
const DEMO_FILE: &str = "demo.ndjson";
const DEMO_NEXT_FILE: &str = "demo-next.ndjson";
/// When the times in such files are as they stand there. Later, what is to come in them is still to come.
const WRITTEN: &str = "2026-11-27";

/// Tells an empty house the little world of its catalogue; a demo without one is a demo too. Where the catalogue has a
/// second day, a day goes by in between: who opens the page finds mails that were sent, and news that waits.
pub async fn seed_demo(site: &ProcessContext, home: &ProcessHouse, admin: &AdminAccess) {
    let file = |name| site.config.catalogue.as_ref().map(|dir| dir.join(name)).filter(|path| path.exists());
    let Some(first) = file(DEMO_FILE) else { return };
    let now = || UtcMillis(site.clock.clock().now());
    let seeded = async {
        let mut accepted = publish_demo_file(first, admin, now()).await?;
        if let Some(next) = file(DEMO_NEXT_FILE) {
            // Where mails leave the house the clock stays: nobody takes a mail that was signed tomorrow.
            if site.config.mail.is_none() {
                home.settle().await?;
                let clock = site.clock.clone();
                spawn_blocking(move || clock.advance(DAY_MS)).await??;
                home.settle().await?;
            }
            accepted += publish_demo_file(next, admin, now()).await?;
        }
        anyhow::Ok(accepted)
    };
    match seeded.await {
        Ok(accepted) => terminal::print_talk(format!("demo data is in: {accepted} items")),
        Err(error) => tracing::warn!(error = format!("{error:#}"), "the demo data could not be published"),
    }
}

/// Tells a file's lines; gives how many were accepted.
pub async fn publish_demo_file(path: PathBuf, admin: &AdminAccess, now: UtcMillis) -> anyhow::Result<u64> {
    let written = Day::parse(WRITTEN).context("the day on which demo data was written")?;
    let days = i64::from(Day::from_instant(now).0 - written.0).max(0);
    let client = HouseClient::new(admin.clone()).map_err(|failure| anyhow!("{failure}"))?;
    let told = spawn_blocking(move || {
        let file = std::fs::File::open(&path).with_context(|| path.display().to_string())?;
        let items = feed::read_items(std::io::BufReader::new(file))?;
        let items =
            items.map(|item| item.map(|item| FeedItem { text: move_times(&item.text, days), ..item }));
        let refused =
            |why: &str| terminal::print_talk(terminal::clean_text(&format!("{}: {why}", path.display())));
        feed::feed_items(&client, items, refused, |_| {}).map_err(|failure| anyhow!("{failure}"))
    });
    Ok(told.await.context("publish the demo data")??.accepted)
}

/// The same with each time so many days later.
fn move_times(text: &str, days: i64) -> String {
    let move_time = |part: &str| Some(UtcMillis::parse(part)?.plus(days * DAY_MS).to_string());
    let parts = text.split('"').map(|part| move_time(part).unwrap_or_else(|| part.to_owned()));
    parts.collect::<Vec<String>>().join("\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_move_and_nothing_else_does() {
        let check = |text: &str, days, expected: &str| assert_eq!(move_times(text, days), expected);
        let line = r#"{"id":"2027-01-15","opens":"2027-01-15T18:00:00Z","title":"\"Ebb\""}"#;
        check(line, 0, &line.replace("00Z", "00.000Z"));
        check(line, 31, &line.replace("2027-01-15T18:00:00Z", "2027-02-15T18:00:00.000Z"));
        check("{}", 5, "{}");
    }
}
