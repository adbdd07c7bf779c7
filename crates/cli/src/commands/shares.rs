//! `tidings shares`: what share of the entries of each day was told, what became of the others, and how many windows are due.

use model::UtcMillis;
use settings::config::Config;
use shell::{failure::CommandError, terminal};
use views::{
    days,
    shares::{
        EntryShare, FateCounts, ToldShares,
        count::{self, ShareCursor},
        due_windows::{self, DueCounts, DueWindows},
    },
};

use super::{
    OutputStyle,
    access::{DirectEngines, HouseAccess, explain_missing_catalogue, reach_house},
};
use crate::arguments as cli;

pub fn run(config: &Config, asked: &cli::SharesArgs, out: OutputStyle) -> Result<(), CommandError> {
    let Some(since) = days::parse_days_back(&asked.since) else {
        let (most, since) = (days::DAYS_MAX, terminal::clean_text(&asked.since));
        return Err(CommandError::Usage(format!(
            "--since must be a number of days up to {most}d, not `{since}`"
        )));
    };
    let reach = reach_house(config)?;
    let shares = add_up_pieces(|from| piece(&reach, config, since, from));
    terminal::progress_done();
    let shares = shares?;
    if out.json {
        return Ok(terminal::print_json(&shares)?);
    }
    print_shares(&shares)
}

/// Adds up pieces until there is no more.
fn add_up_pieces(
    mut piece: impl FnMut(Option<&str>) -> Result<ToldShares, CommandError>,
) -> Result<ToldShares, CommandError> {
    let mut progress = terminal::ProgressLine::start();
    let mut shares = piece(None)?;
    while let Some(from) = shares.next.clone() {
        let day = shares.cut.as_deref().unwrap_or_default();
        progress.show(format!("{} rows counted, down to {}", shares.rows, terminal::clean_text(day)));
        let more = piece(Some(&from))?;
        if more.next.as_ref() == Some(&from) {
            return Err(CommandError::Failed(anyhow::anyhow!("counting makes no progress")));
        }
        shares.join(more);
    }
    Ok(shares)
}

fn piece(
    reach: &HouseAccess,
    config: &Config,
    since: i32,
    from: Option<&str>,
) -> Result<ToldShares, CommandError> {
    match reach {
        HouseAccess::Running(client) => {
            let days = format!("{since}d");
            let mut query = vec![("since", days.as_str())];
            query.extend(from.map(|from| ("from", from)));
            client.get("/admin/shares", &query)?.into_value()
        }
        HouseAccess::Files(files) => {
            let DirectEngines { runtime, topics, store, clock, catalogue, .. } = &**files;
            let Some(catalogue) = catalogue else {
                return Err(explain_missing_catalogue(config, "a count"));
            };
            let now = UtcMillis(clock.now());
            let place: Option<ShareCursor> = from.map(str::parse).transpose()?;
            let days = (count::days(since, store.day_life(), now), place);
            let counted = count::count_shares(&**store, &config.tenant, catalogue, days, count::PIECE);
            let mut shares = runtime.block_on(counted)?;
            if from.is_none() {
                shares.due =
                    Some(runtime.block_on(due_windows::count_due_windows(&**topics, &config.tenant, now))?);
            }
            Ok(shares)
        }
    }
}

fn print_shares(shares: &ToldShares) -> Result<(), CommandError> {
    let ToldShares { since, until, rows, total, days, due, .. } = shares;
    terminal::print_talk(format!("{rows} rows of {since} to {until}, days by UTC"));
    let of_days = days.iter().map(|day| share_row(&day.day, &day.tally.share));
    let all = [share_row("all", &total.share)];
    print_table(DAYS_HEAD, of_days.chain(all))?;
    let of_channels = days
        .iter()
        .flat_map(|day| day.tally.channels.iter().map(|(channel, of)| fates_row(&day.day, channel, of)));
    let all = total.channels.iter().map(|(channel, of)| fates_row("all", channel, of));
    print_table(CHANNELS_HEAD, of_channels.chain(all))?;
    let kinds = total.kinds.iter().map(|(kind, of)| share_row(&terminal::clean_text(kind), of));
    print_table(KINDS_HEAD, kinds)?;
    print_table(ARMS_HEAD, total.arms.iter().map(|(arm, of)| share_row(arm, of)))?;
    if let Some(DueWindows { cut, deferred, total, plans }) = due {
        let plans = plans.iter().map(|(plan, of)| soon_row(&terminal::clean_text(plan), of));
        print_table(PLANS_HEAD, plans.chain([soon_row("all", total)]))?;
        if *deferred > 0 {
            let (messages, are) = if *deferred == 1 { ("message", "is") } else { ("messages", "are") };
            terminal::print_talk(format!(
                "{deferred} {messages} that no server has taken yet {are} sent again; their entries count as told"
            ));
        }
        if let Some(most) = cut {
            terminal::print_talk(format!(
                "these are the windows of the first {most} records; there are more"
            ));
        }
    }
    Ok(())
}

const DAYS_HEAD: [&str; 6] = ["day", "entries", "told", "waiting", "ended", "share told"];
const KINDS_HEAD: [&str; 6] = ["kind", "entries", "told", "waiting", "ended", "share told"];
const ARMS_HEAD: [&str; 6] = ["catalogue", "entries", "told", "waiting", "ended", "share told"];
const CHANNELS_HEAD: [&str; 9] =
    ["day", "channel", "entries", "told", "read", "cleared", "carried", "waiting", "ended"];
const PLANS_HEAD: [&str; 7] = ["windows of", "open", "due now", "in 1 min", "in 1 h", "in 1 d", "later"];

/// A table and an empty line; nothing where there is nothing but its head.
fn print_table<const N: usize>(
    head: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) -> Result<(), CommandError> {
    let lines = terminal::format_headed_table(head, rows);
    if lines.len() < 2 {
        return Ok(());
    }
    terminal::print_headed_table(lines)?;
    Ok(terminal::print_data("")?)
}

fn share_row(name: &str, share: &EntryShare) -> [String; 6] {
    let EntryShare { entries, told, waiting, ended, told_percent } = share;
    let percent = told_percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent:.1} %"));
    [name.to_owned(), entries.to_string(), told.to_string(), waiting.to_string(), ended.to_string(), percent]
}

fn fates_row(day: &str, channel: &str, fates: &FateCounts) -> [String; 9] {
    let FateCounts { entries, told, read, cleared, carried, waiting, ended } = fates;
    let [entries, told, read, cleared, carried, waiting] =
        [entries, told, read, cleared, carried, waiting].map(u64::to_string);
    let mut reasons: Vec<(&String, &u64)> = ended.iter().collect();
    reasons.sort_by_key(|(why, count)| (std::cmp::Reverse(**count), *why));
    let reasons = reasons.iter().map(|(why, count)| format!("{why} {count}")).collect::<Vec<_>>().join(", ");
    let ended = ended.values().sum::<u64>();
    let ended =
        if ended == 0 { "0".to_owned() } else { format!("{ended}: {}", terminal::clean_text(&reasons)) };
    [day.to_owned(), terminal::clean_text(channel), entries, told, read, cleared, carried, waiting, ended]
}

fn soon_row(plan: &str, soon: &DueCounts) -> [String; 7] {
    let DueCounts { open, now, minute, hour, day, later } = soon;
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
            let mut piece = ToldShares::new(Day(0), Day(1));
            (piece.rows, piece.next) = (rows, next.map(str::to_owned));
            piece
        };
        let mut asked = Vec::new();
        let found = add_up_pieces(|from| {
            asked.push(from.map(str::to_owned));
            let next = [Some("b"), Some("c"), None].get(asked.len() - 1).copied().flatten();
            Ok(piece(10, next))
        });
        let found = found.unwrap();
        assert_eq!((found.rows, found.next), (30, None));
        assert_eq!(asked, [None, Some("b".to_owned()), Some("c".to_owned())]);
        // A house that says the same again and again is not asked forever.
        let stuck = add_up_pieces(|_| Ok(piece(1, Some("b")))).unwrap_err();
        assert_eq!(stuck.to_string(), "counting makes no progress");
    }

    #[test]
    fn the_reasons_stand_behind_their_number() {
        let ended = [("muted".to_owned(), 1), ("expired".to_owned(), 2), ("a\u{1b}[2J".to_owned(), 1)];
        let fates_of = FateCounts { entries: 5, told: 1, ended: ended.into(), ..FateCounts::default() };
        let found = fates_row("2026-11-21", "email", &fates_of);
        assert_eq!(found[8], "4: expired 2, a\u{fffd}[2J 1, muted 1");
        assert_eq!(fates_row("all", "push", &FateCounts::default())[8], "0");
        assert_eq!(share_row("all", &EntryShare::default())[5], "-");
    }
}
