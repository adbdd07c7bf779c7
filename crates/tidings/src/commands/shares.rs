//! `tidings shares`: what share of the entries of each day was told, what became of the others, and how many windows are due.

use model::Millis;

use super::{
    Out,
    reach::{Files, Reach, reach},
};
use crate::{
    cli,
    config::Config,
    days,
    failure::Failure,
    say::{self, Paint},
    shares::{
        Fates, Share, Shares,
        due::{self, Due, Soon},
        walk::{self, Place},
    },
};

pub fn run(config: &Config, asked: &cli::Shares, out: Out) -> Result<(), Failure> {
    let Some(since) = days::since(&asked.since) else {
        let (most, since) = (days::DAYS_MAX, say::clean(&asked.since));
        return Err(Failure::Usage(format!("--since is a number of days up to {most}d, not `{since}`")));
    };
    let reach = reach(config)?;
    let shares = all(|from| piece(&reach, config, since, from));
    say::progress_done();
    let shares = shares?;
    if out.json {
        return Ok(say::json(&shares)?);
    }
    print(&shares)
}

/// Adds up pieces until there is no more.
fn all(mut piece: impl FnMut(Option<&str>) -> Result<Shares, Failure>) -> Result<Shares, Failure> {
    let mut progress = say::Progress::start();
    let mut shares = piece(None)?;
    while let Some(from) = shares.next.clone() {
        let day = shares.cut.as_deref().unwrap_or_default();
        progress.show(format!("{} rows counted, down to {}", shares.rows, say::clean(day)));
        let more = piece(Some(&from))?;
        if more.next.as_ref() == Some(&from) {
            return Err(Failure::Failed(anyhow::anyhow!("counting does not come forward")));
        }
        shares.join(more);
    }
    Ok(shares)
}

fn piece(reach: &Reach, config: &Config, since: i32, from: Option<&str>) -> Result<Shares, Failure> {
    match reach {
        Reach::Running(client) => {
            let days = format!("{since}d");
            let mut query = vec![("since", days.as_str())];
            query.extend(from.map(|from| ("from", from)));
            client.get("/admin/shares", &query)?.good()
        }
        Reach::Files(files) => {
            let Files { runtime, topics, store, clock, catalogue, .. } = &**files;
            let now = Millis(clock.now());
            let place: Option<Place> = from.map(str::parse).transpose()?;
            let days = (walk::days(since, now), place);
            let counted = walk::count(&**store, &config.tenant, catalogue.as_ref(), days, walk::PIECE);
            let mut shares = runtime.block_on(counted)?;
            if from.is_none() {
                shares.due = Some(runtime.block_on(due::read(&**topics, &config.tenant, now))?);
            }
            Ok(shares)
        }
    }
}

fn print(shares: &Shares) -> Result<(), Failure> {
    let Shares { since, until, rows, total, days, due, .. } = shares;
    say::talk(format!("{rows} rows of {since} to {until}, days by UTC"));
    let of_days = days.iter().map(|day| share(&day.day, &day.tally.share));
    let all = [share("all", &total.share)];
    table([DAYS_HEAD.map(str::to_owned)].into_iter().chain(of_days).chain(all))?;
    let of_channels = days
        .iter()
        .flat_map(|day| day.tally.channels.iter().map(|(channel, of)| fates(&day.day, channel, of)));
    let all = total.channels.iter().map(|(channel, of)| fates("all", channel, of));
    table([CHANNELS_HEAD.map(str::to_owned)].into_iter().chain(of_channels).chain(all))?;
    let kinds = total.kinds.iter().map(|(kind, of)| share(&say::clean(kind), of));
    table([KINDS_HEAD.map(str::to_owned)].into_iter().chain(kinds))?;
    if let Some(Due { cut, total, plans }) = due {
        let plans = plans.iter().map(|(plan, of)| soon(&say::clean(plan), of));
        table([PLANS_HEAD.map(str::to_owned)].into_iter().chain(plans).chain([soon("all", total)]))?;
        if let Some(most) = cut {
            say::talk(format!("these are the windows of the first {most} records; there are more"));
        }
    }
    Ok(())
}

const DAYS_HEAD: [&str; 6] = ["day", "entries", "told", "waiting", "ended", "share told"];
const KINDS_HEAD: [&str; 6] = ["kind", "entries", "told", "waiting", "ended", "share told"];
const CHANNELS_HEAD: [&str; 9] =
    ["day", "channel", "entries", "told", "read", "cleared", "carried", "waiting", "ended"];
const PLANS_HEAD: [&str; 7] = ["windows of", "open", "due now", "in 1 min", "in 1 h", "in 1 d", "later"];

/// A table and an empty line; nothing where there is nothing but its head.
fn table<const N: usize>(rows: impl Iterator<Item = [String; N]>) -> Result<(), Failure> {
    let rows: Vec<[String; N]> = rows.collect();
    if rows.len() < 2 {
        return Ok(());
    }
    let mut lines = say::table(&rows).into_iter();
    if let Some(head) = lines.next() {
        say::data(Paint::data().with(say::FAINT, head))?;
    }
    lines.try_for_each(say::data)?;
    Ok(say::data("")?)
}

fn share(name: &str, share: &Share) -> [String; 6] {
    let Share { entries, told, waiting, ended, told_percent } = share;
    let percent = told_percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent:.1} %"));
    [name.to_owned(), entries.to_string(), told.to_string(), waiting.to_string(), ended.to_string(), percent]
}

fn fates(day: &str, channel: &str, fates: &Fates) -> [String; 9] {
    let Fates { entries, told, read, cleared, carried, waiting, ended } = fates;
    let [entries, told, read, cleared, carried, waiting] =
        [entries, told, read, cleared, carried, waiting].map(u64::to_string);
    let mut reasons: Vec<(&String, &u64)> = ended.iter().collect();
    reasons.sort_by_key(|(why, count)| (std::cmp::Reverse(**count), *why));
    let reasons = reasons.iter().map(|(why, count)| format!("{why} {count}")).collect::<Vec<_>>().join(", ");
    let ended = ended.values().sum::<u64>();
    let ended = if ended == 0 { "0".to_owned() } else { format!("{ended}: {}", say::clean(&reasons)) };
    [day.to_owned(), say::clean(channel), entries, told, read, cleared, carried, waiting, ended]
}

fn soon(plan: &str, soon: &Soon) -> [String; 7] {
    let Soon { open, now, minute, hour, day, later } = soon;
    let [open, now, minute, hour, day, later] = [open, now, minute, hour, day, later].map(u64::to_string);
    [plan.to_owned(), open, now, minute, hour, day, later]
}

#[cfg(test)]
mod tests {
    use model::Day;

    use super::*;

    #[test]
    fn pieces_are_asked_for_until_there_is_no_more() {
        let piece = |rows: u64, next: Option<&str>| {
            let mut piece = Shares::new(Day(0), Day(1));
            (piece.rows, piece.next) = (rows, next.map(str::to_owned));
            piece
        };
        let mut asked = Vec::new();
        let found = all(|from| {
            asked.push(from.map(str::to_owned));
            let next = [Some("b"), Some("c"), None].get(asked.len() - 1).copied().flatten();
            Ok(piece(10, next))
        });
        let found = found.unwrap();
        assert_eq!((found.rows, found.next), (30, None));
        assert_eq!(asked, [None, Some("b".to_owned()), Some("c".to_owned())]);
        // A house that says the same again and again is not asked for ever.
        let stuck = all(|_| Ok(piece(1, Some("b")))).unwrap_err();
        assert_eq!(stuck.to_string(), "counting does not come forward");
    }

    #[test]
    fn the_reasons_stand_behind_their_number() {
        let ended = [("muted".to_owned(), 1), ("expired".to_owned(), 2), ("a\u{1b}[2J".to_owned(), 1)];
        let fates_of = Fates { entries: 5, told: 1, ended: ended.into(), ..Fates::default() };
        let found = fates("2026-11-21", "email", &fates_of);
        assert_eq!(found[8], "4: expired 2, a\u{fffd}[2J 1, muted 1");
        assert_eq!(fates("all", "push", &Fates::default())[8], "0");
        assert_eq!(share("all", &Share::default())[5], "-");
    }
}
