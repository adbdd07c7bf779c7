//! Reads the rows of days and counts their entries: the newest day first, a part at a time, and with a pause behind each
//! part, so that it is the asker who waits and not the house.
//!
//! What is in memory is one part and the rows of one person's day, however many there are.

use std::{fmt, ops::RangeInclusive, str::FromStr, time::Duration};

use anyhow::{Context as _, ensure};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use catalogue::Catalogue;
use model::{
    Day, DayLife, Tenant, UtcMillis,
    fold::fold_rows,
    limits::{AHEAD_MS_MAX, DAY_ROWS_READ_MAX},
};
use runtime::{Clock, clock::SteadyStopwatch};
use store::{DayPart, DayRows, StateKey, Store};

use super::ToldShares;

/// How much one count looks at.
#[derive(Clone, Copy, Debug)]
pub struct ShareCountLimits {
    /// Rows read at once.
    pub part: usize,
    /// With so many rows counted it ends with the part in hand.
    pub rows: u64,
    /// And after so long too: engines elsewhere may be slow.
    pub time: Duration,
}

/// What one request may take.
pub const PIECE: ShareCountLimits =
    ShareCountLimits { part: 2_000, rows: 100_000, time: Duration::from_secs(3) };
/// The limit for the page, for which a person waits.
pub const PAGE: ShareCountLimits =
    ShareCountLimits { part: 2_000, rows: 50_000, time: Duration::from_secs(1) };

/// A pause is as long as the part before it took, within these.
const PAUSE_MS: RangeInclusive<i64> = 1..=100;
/// Characters of a place: an engine's own is not longer than a key of its.
const PLACE_CHARS_MAX: usize = 2_048;

/// The days so far back until a minute ahead, as far as they still live.
pub fn days(back: i32, life: DayLife, now: UtcMillis) -> RangeInclusive<Day> {
    let until = Day::from_instant(now.plus(AHEAD_MS_MAX));
    let since = until.plus(-back.clamp(0, crate::days::DAYS_MAX));
    since.max(life.oldest_day(now))..=until
}

/// Where a count goes on: a day, and a place in it that its engine understands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareCursor {
    pub day: Day,
    from: Option<Vec<u8>>,
}

impl fmt::Display for ShareCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { day, from } = self;
        match from {
            None => write!(f, "{day}"),
            Some(from) => write!(f, "{day}:{}", URL_SAFE_NO_PAD.encode(from)),
        }
    }
}

impl FromStr for ShareCursor {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        ensure!(text.len() <= PLACE_CHARS_MAX, "it is not a valid cursor: it is too long");
        let (day, from) = text.split_once(':').map_or((text, None), |(day, from)| (day, Some(from)));
        let day = Day::parse(day).context("it is not a valid cursor: it does not begin with a day")?;
        let from = from.map(|from| URL_SAFE_NO_PAD.decode(from)).transpose();
        let from = from.ok().context("it is not a valid cursor: it was changed")?;
        ensure!(from.as_ref().is_none_or(|from| !from.is_empty()), "it is not a valid cursor: it is cut off");
        Ok(Self { day, from })
    }
}

/// Counts the entries of a tenant's days from the newest one on, or from a place on.
pub async fn count_shares(
    store: &dyn Store,
    tenant: &Tenant,
    catalogue: &Catalogue,
    (days, from): (RangeInclusive<Day>, Option<ShareCursor>),
    bounds: ShareCountLimits,
) -> anyhow::Result<ToldShares> {
    let (since, until) = days.into_inner();
    let ShareCursor { mut day, mut from } = from.unwrap_or(ShareCursor { day: until, from: None });
    let shares = ToldShares::new(since, until);
    let mut count =
        ShareCounter { store, tenant, catalogue, bounds, watch: SteadyStopwatch::start(), parts: 0, shares };
    while day >= since {
        let rest = match count.has_enough() {
            true => Some(ShareCursor { day, from: None }),
            false => count.day(day, from.take()).await.with_context(|| format!("count {day}"))?,
        };
        if let Some(rest) = rest {
            count.shares.cut = Some(rest.day.to_string());
            count.shares.next = Some(rest.to_string());
            break;
        }
        day = day.plus(-1);
    }
    Ok(count.shares)
}

/// A count at work.
struct ShareCounter<'a> {
    store: &'a dyn Store,
    tenant: &'a Tenant,
    catalogue: &'a Catalogue,
    bounds: ShareCountLimits,
    watch: SteadyStopwatch,
    parts: u64,
    shares: ToldShares,
}

impl ShareCounter<'_> {
    /// One part it always counts: else whoever goes on from where it ended would never come to an end.
    fn has_enough(&self) -> bool {
        self.parts > 0 && (self.shares.rows >= self.bounds.rows || self.watch.elapsed() >= self.bounds.time)
    }

    /// Counts a day from a place on; says where to go on if it ended before the day did.
    async fn day(&mut self, day: Day, mut from: Option<Vec<u8>>) -> anyhow::Result<Option<ShareCursor>> {
        self.shares.begin(day);
        // Whoever is the last of a part may go on in the next one, and is folded whole.
        let mut held: Option<DayRows> = None;
        loop {
            let part = SteadyStopwatch::start();
            let DayPart { rows, next } =
                self.store.scan(day, from.as_deref(), self.bounds.part).await.context("read a part")?;
            ensure!(next.is_none() || next != from, "reading makes no progress");
            let goes_on =
                held.is_some() && held.as_ref().map(|held| &held.key) == rows.first().map(|of| &of.key);
            if !goes_on && self.has_enough() {
                // The part is read again by whoever goes on: its first person is another one.
                self.add(held).await?;
                return Ok(Some(ShareCursor { day, from }));
            }
            let mut done = Vec::with_capacity(rows.len());
            for of in rows {
                self.shares.rows += of.rows.len() as u64;
                match &mut held {
                    Some(held) if held.key == of.key => extend_day(held, of),
                    _ => done.extend(held.replace(of)),
                }
            }
            if next.is_none() {
                done.extend(held.take());
            }
            self.add(done).await?;
            self.parts += 1;
            if next.is_none() {
                return Ok(None);
            }
            from = next;
            pause(part.elapsed()).await;
        }
    }

    /// Counts days of persons, each with all its rows.
    async fn add(&mut self, persons: impl IntoIterator<Item = DayRows>) -> anyhow::Result<()> {
        let ours = persons.into_iter().filter(|of| of.key.tenant == *self.tenant);
        let (mut keys, mut of_persons) = (Vec::new(), Vec::new());
        for DayRows { key, rows } in ours {
            keys.push(StateKey::Notes(key.tenant, key.person.clone()));
            of_persons.push((key.person, rows));
        }
        // Who read all there is said so in one place.
        let notes = self.store.states(&keys).await.context("read what persons read or cleared at once")?;
        for ((person, rows), notes) in of_persons.iter().zip(&notes) {
            // What is put off waits, whether it is back or still to come.
            let view = fold_rows(rows).settle(notes, UtcMillis(i64::MAX));
            view.entries().for_each(|(_, entry)| self.shares.add(entry, person, self.catalogue));
        }
        Ok(())
    }
}

/// Adds the rest of a person's day, up to as many rows as any reader of days takes.
fn extend_day(held: &mut DayRows, more: DayRows) {
    let room = DAY_ROWS_READ_MAX.saturating_sub(held.rows.len());
    held.rows.extend(more.rows.into_iter().take(room));
}

/// Leaves the engines to others for as long as it had them. By the machine's clock: the house's may stand still.
async fn pause(took: Duration) {
    let ms = i64::try_from(took.as_millis()).unwrap_or(i64::MAX).clamp(*PAUSE_MS.start(), *PAUSE_MS.end());
    let clock = Clock::real(0);
    clock.sleep_until(clock.now() + ms).await;
}
