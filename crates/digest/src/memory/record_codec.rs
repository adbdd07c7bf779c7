//! A compact encoding of records, for memory only. Instants are close to one another, so most are written as
//! differences; a missing part takes no byte, or one bit of the flags.
//!
//! A record with marks or Readys has those for a moment and is long with them: it is kept as it is on the topic.

use std::{collections::BTreeSet, sync::Arc};

use anyhow::{Context as _, ensure};
use model::{
    Day, EntryKey, PlanName, ReadyId, UtcMillis,
    closing_dates::ClosingNumber,
    habit::VisitHabit,
    person::{Act, HoldCause, MessageHistory, PersonBadge, PersonRecord, ToldClosing, Window},
    trace::{EntryTraces, TraceContext},
};

use super::{
    PersonKey,
    bytes::{PackedReader, put_count, put_number, put_signed, put_text},
    names::RecordNames,
    waiting_messages,
    window_counts::WindowCounts,
};

/// What a record has, or what it is.
mod has {
    pub const TOLD_ON: u64 = 1;
    pub const TOLD: u64 = 1 << 1;
    pub const COUNTED: u64 = 1 << 2;
    pub const SEEN: u64 = 1 << 3;
    /// It is kept as on the topic.
    pub const AS_ON_TOPIC: u64 = 1 << 4;
    pub const HABIT: u64 = 1 << 5;
    pub const BADGE: u64 = 1 << 6;
    // It takes a second byte.
    pub const HELD: u64 = 1 << 7;
    pub const TRACES: u64 = 1 << 8;
    pub const PUT_OFF: u64 = 1 << 9;
}

/// What a window has.
mod open {
    pub const KEY: u64 = 1;
    pub const AFTER: u64 = 1 << 1;
    pub const LAST: u64 = 1 << 2;
    pub const AIM: u64 = 1 << 3;
    pub const FIRST: u64 = 1 << 4;
    pub const RELEASED: u64 = 1 << 5;
    pub const CANCELLED: u64 = 1 << 6;
    // From here on rare, for they take a second byte.
    pub const ONLINE: u64 = 1 << 7;
    pub const QUIET: u64 = 1 << 8;
    pub const CAP: u64 = 1 << 9;
    pub const HOUR: u64 = 1 << 10;
}

/// Writes a record; its names were learnt.
pub fn write_packed(
    out: &mut Vec<u8>,
    key: &PersonKey,
    record: &PersonRecord,
    names: &RecordNames,
) -> anyhow::Result<()> {
    // All of it is named here, so that what is added cannot be forgotten.
    let PersonRecord {
        windows,
        owed,
        waiting,
        last_opening,
        told_on,
        told,
        counted,
        seen,
        habit,
        badge,
        put_off,
        rows,
        traces,
        keep_until,
    } = record;
    let counts = WindowCounts::of_windows(windows);
    if !owed.is_empty() || !waiting.is_empty() {
        let bits = [(has::HELD, counts.has_held()), (has::TRACES, !traces.is_empty())];
        put_number(out, has::AS_ON_TOPIC | sum_flags(&bits));
        write_counts(out, &counts);
        write_due_of_waiting(out, record);
        // The topic has no word of them.
        write_traces(out, traces);
        out.extend(wire::window::encode(&key.0, &key.1, record)?);
        return Ok(());
    }
    let bits = [
        (has::TOLD_ON, !told_on.is_empty()),
        (has::TOLD, !told.is_empty()),
        (has::COUNTED, !counted.is_empty()),
        (has::SEEN, !seen.is_empty()),
        (has::HABIT, !habit.is_empty()),
        (has::BADGE, badge.is_some()),
        (has::HELD, counts.has_held()),
        (has::TRACES, !traces.is_empty()),
        (has::PUT_OFF, !put_off.is_empty()),
    ];
    put_number(out, sum_flags(&bits));
    write_counts(out, &counts);
    put_signed(out, last_opening.0);
    put_signed(out, instant_difference(*keep_until, *last_opening));
    for window in windows {
        write_window(out, window, *last_opening, names);
    }
    write_days(out, rows.keys());
    rows.values().for_each(|rows| put_number(out, u64::from(*rows)));
    write_each(out, told_on, |out, (plan, told)| {
        names.plans.put(out, plan);
        put_signed(out, i64::from(told.number.0));
        put_count(out, told.keys.len());
        told.keys.iter().for_each(|key| put_signed(out, *key));
    });
    write_each(out, told, |out, told| write_told(out, told, *last_opening, names));
    write_each(out, counted, |out, (cap, at)| {
        names.words.put(out, cap);
        write_instants(out, at, *last_opening);
    });
    write_each(out, seen, |out, (surface, at)| {
        names.words.put(out, surface);
        put_signed(out, instant_difference(*at, *last_opening));
    });
    write_each(out, habit.visits(), |out, (hour, count)| out.extend([hour, count]));
    write_each(out, badge, |out, badge| write_badge(out, badge, *last_opening, names));
    write_traces(out, traces);
    write_each(out, put_off, |out, (day, until)| {
        put_signed(out, i64::from(day.0));
        put_signed(out, instant_difference(*until, *last_opening));
    });
    Ok(())
}

fn write_traces(out: &mut Vec<u8>, traces: &EntryTraces) {
    write_each(out, traces, |out, (key, context)| {
        out.extend(key.to_bytes());
        out.extend(context.to_bytes());
    });
}

fn read_traces(bytes: &mut PackedReader<'_>, flags: u64) -> Option<EntryTraces> {
    read_each(bytes, flags & has::TRACES, |bytes| {
        let key = EntryKey::from_bytes(bytes.take(ENTRY_KEY_BYTES)?)?;
        Some((key, TraceContext::from_bytes(bytes.array()?)))
    })
}

fn write_counts(out: &mut Vec<u8>, counts: &WindowCounts) {
    put_count(out, counts.open);
    if counts.has_held() {
        counts.held.iter().for_each(|held| put_count(out, *held));
    }
}

fn read_counts(bytes: &mut PackedReader<'_>, flags: u64) -> Option<WindowCounts> {
    let mut counts = WindowCounts { open: bytes.count()?, ..WindowCounts::default() };
    if flags & has::HELD != 0 {
        for held in &mut counts.held {
            *held = bytes.count()?;
        }
    }
    Some(counts)
}

/// How many windows are open in a record, and how many of them are held.
pub fn count_windows(bytes: &[u8]) -> WindowCounts {
    let mut bytes = PackedReader(bytes);
    bytes.number().and_then(|flags| read_counts(&mut bytes, flags)).unwrap_or_default()
}

/// When the Readys of a record were due that wait for another try.
pub fn due_of_waiting(bytes: &[u8]) -> Vec<UtcMillis> {
    let mut bytes = PackedReader(bytes);
    let flags = bytes.number().filter(|flags| flags & has::AS_ON_TOPIC != 0);
    let read = flags.and_then(|flags| {
        read_counts(&mut bytes, flags)?;
        read_due_of_waiting(&mut bytes)
    });
    read.unwrap_or_default()
}

fn write_due_of_waiting(out: &mut Vec<u8>, record: &PersonRecord) {
    let due = waiting_messages::due_of_waiting(record);
    put_count(out, due.len());
    due.for_each(|at| put_signed(out, at.0));
}

fn read_due_of_waiting(bytes: &mut PackedReader<'_>) -> Option<Vec<UtcMillis>> {
    (0..bytes.count()?).map(|_| bytes.signed().map(UtcMillis)).collect()
}

/// Whether a record has marks, Readys, a badge or something that was put off, and so may want a turn for something else than a window.
pub fn has_more(bytes: &[u8]) -> bool {
    PackedReader(bytes)
        .number()
        .is_none_or(|flags| flags & (has::AS_ON_TOPIC | has::BADGE | has::PUT_OFF) != 0)
}

/// Reads a record.
pub fn read_packed(bytes: &[u8], names: &RecordNames) -> anyhow::Result<PersonRecord> {
    let mut bytes = PackedReader(bytes);
    let flags = bytes.number().context("the flags")?;
    if flags & has::AS_ON_TOPIC != 0 {
        read_counts(&mut bytes, flags).context("the windows")?;
        read_due_of_waiting(&mut bytes).context("the Readys")?;
        let traces = read_traces(&mut bytes, flags).context("the traces")?;
        let (.., record) = wire::window::decode(bytes.0)?;
        return Ok(PersonRecord { traces, ..record });
    }
    let record = read_record(&mut bytes, flags, names).context("it differs from what was written")?;
    ensure!(bytes.0.is_empty(), "it is longer than what was written");
    Ok(record)
}

fn read_record(bytes: &mut PackedReader<'_>, flags: u64, names: &RecordNames) -> Option<PersonRecord> {
    let windows = read_counts(bytes, flags)?.open;
    let last_opening = UtcMillis(bytes.signed()?);
    let keep_until = read_instant(bytes, last_opening)?;
    let windows = (0..windows).map(|_| read_window(bytes, last_opening, names)).collect::<Option<_>>()?;
    let days = read_days(bytes)?;
    let rows = days.into_iter().map(|day| Some((day, u32::try_from(bytes.number()?).ok()?)));
    let rows = rows.collect::<Option<_>>()?;
    let told_on = read_each(bytes, flags & has::TOLD_ON, |bytes| {
        let (plan, number) = (names.plans.take(bytes)?, ClosingNumber(i32::try_from(bytes.signed()?).ok()?));
        let keys = (0..bytes.count()?).map(|_| bytes.signed()).collect::<Option<_>>()?;
        Some((plan, ToldClosing { number, keys }))
    })?;
    let told = read_each(bytes, flags & has::TOLD, |bytes| read_told(bytes, last_opening, names))?;
    let counted = read_each(bytes, flags & has::COUNTED, |bytes| {
        Some((names.words.take(bytes)?, read_instants(bytes, last_opening)?))
    })?;
    let seen = read_each(bytes, flags & has::SEEN, |bytes| {
        Some((names.words.take(bytes)?, read_instant(bytes, last_opening)?))
    })?;
    let habit: Vec<(u8, u8)> = read_each(bytes, flags & has::HABIT, |bytes| {
        let [hour, count] = bytes.array()?;
        Some((hour, count))
    })?;
    let badge: Vec<PersonBadge> =
        read_each(bytes, flags & has::BADGE, |bytes| read_badge(bytes, last_opening, names))?;
    let traces = read_traces(bytes, flags)?;
    let put_off = read_each(bytes, flags & has::PUT_OFF, |bytes| {
        Some((Day(i32::try_from(bytes.signed()?).ok()?), read_instant(bytes, last_opening)?))
    })?;
    let (owed, waiting) = (Vec::new(), Vec::new());
    Some(PersonRecord {
        windows,
        owed,
        waiting,
        last_opening,
        told_on,
        told,
        counted,
        seen,
        habit: VisitHabit::from_visits(habit),
        badge: badge.into_iter().next(),
        put_off,
        rows,
        traces,
        keep_until,
    })
}

fn write_window(out: &mut Vec<u8>, window: &Window, near: UtcMillis, names: &RecordNames) {
    let Window { plan, plan_hash, key, opening, due, act, after, held, heard, last, hour, aim, first, days } =
        window;
    let bits = [
        (open::KEY, !key.is_empty()),
        (open::AFTER, after.is_some()),
        (open::LAST, last != opening),
        (open::AIM, aim.is_some()),
        (open::FIRST, first.is_some()),
        (open::RELEASED, *act == Some(Act::Release)),
        (open::CANCELLED, *act == Some(Act::Cancel)),
        (open::ONLINE, *held == Some(HoldCause::Online)),
        (open::QUIET, *held == Some(HoldCause::Quiet)),
        (open::CAP, *held == Some(HoldCause::Cap)),
        (open::HOUR, hour.is_some()),
    ];
    put_number(out, sum_flags(&bits));
    names.plans.put(out, plan);
    names.rules.put(out, plan_hash);
    put_signed(out, instant_difference(*opening, near));
    put_signed(out, instant_difference(*due, *opening));
    put_number(out, u64::from(*heard));
    write_days(out, days);
    if !key.is_empty() {
        put_text(out, key);
    }
    if let Some(ReadyId(id)) = after {
        out.extend_from_slice(id);
    }
    if last != opening {
        put_signed(out, instant_difference(*last, *opening));
    }
    if let Some(aim) = aim {
        put_signed(out, instant_difference(*aim, *opening));
    }
    if let Some(first) = first {
        out.extend_from_slice(&first.to_bytes());
    }
    out.extend(hour);
}

fn read_window(bytes: &mut PackedReader<'_>, near: UtcMillis, names: &RecordNames) -> Option<Window> {
    let flags = bytes.number()?;
    let has = |bit: u64| flags & bit != 0;
    let (plan, plan_hash): (PlanName, _) = (names.plans.take(bytes)?, names.rules.take(bytes)?);
    let opening = read_instant(bytes, near)?;
    let due = read_instant(bytes, opening)?;
    let heard = u32::try_from(bytes.number()?).ok()?;
    let days: BTreeSet<Day> = read_days(bytes)?.into_iter().collect();
    let key: Arc<str> = if has(open::KEY) { bytes.text()?.into() } else { "".into() };
    let mut window = Window { due, heard, days, ..Window::new(plan, plan_hash, key, opening) };
    if has(open::AFTER) {
        window.after = Some(ReadyId(bytes.array()?));
    }
    if has(open::LAST) {
        window.last = read_instant(bytes, opening)?;
    }
    if has(open::AIM) {
        window.aim = Some(read_instant(bytes, opening)?);
    }
    if has(open::FIRST) {
        window.first = Some(EntryKey::from_bytes(bytes.take(ENTRY_KEY_BYTES)?)?);
    }
    if has(open::HOUR) {
        window.hour = Some(u8::from_le_bytes(bytes.array()?));
    }
    let acts = [(open::RELEASED, Act::Release), (open::CANCELLED, Act::Cancel)];
    window.act = acts.into_iter().find(|(bit, _)| has(*bit)).map(|(_, act)| act);
    let holds =
        [(open::ONLINE, HoldCause::Online), (open::QUIET, HoldCause::Quiet), (open::CAP, HoldCause::Cap)];
    window.held = holds.into_iter().find(|(bit, _)| has(*bit)).map(|(_, held)| held);
    Some(window)
}

const ENTRY_KEY_BYTES: usize = 24;

fn write_badge(out: &mut Vec<u8>, badge: &PersonBadge, near: UtcMillis, names: &RecordNames) {
    let PersonBadge { plan, due } = badge;
    names.plans.put(out, plan);
    write_instants(out, due.as_slice(), near);
}

fn read_badge(bytes: &mut PackedReader<'_>, near: UtcMillis, names: &RecordNames) -> Option<PersonBadge> {
    let (plan, due) = (names.plans.take(bytes)?, read_instants(bytes, near)?);
    Some(PersonBadge { plan, due: due.first().copied() })
}

fn write_told(out: &mut Vec<u8>, told: &MessageHistory, near: UtcMillis, names: &RecordNames) {
    let MessageHistory { plan, key, at, heard, row, until } = told;
    names.plans.put(out, plan);
    put_text(out, key);
    put_signed(out, instant_difference(*heard, near));
    put_signed(out, instant_difference(*until, near));
    out.push(*row);
    write_instants(out, at, near);
}

fn read_told(bytes: &mut PackedReader<'_>, near: UtcMillis, names: &RecordNames) -> Option<MessageHistory> {
    let (plan, key) = (names.plans.take(bytes)?, bytes.text()?.into());
    let (heard, until) = (read_instant(bytes, near)?, read_instant(bytes, near)?);
    let [row] = bytes.array()?;
    Some(MessageHistory { plan, key, heard, until, row, at: read_instants(bytes, near)? })
}

fn sum_flags(bits: &[(u64, bool)]) -> u64 {
    bits.iter().filter(|(_, has)| *has).map(|(bit, _)| bit).sum()
}

/// The difference of two instants; it may wrap around, and reading wraps back.
fn instant_difference(at: UtcMillis, near: UtcMillis) -> i64 {
    at.0.wrapping_sub(near.0)
}

fn read_instant(bytes: &mut PackedReader<'_>, near: UtcMillis) -> Option<UtcMillis> {
    bytes.signed().map(|between| UtcMillis(near.0.wrapping_add(between)))
}

fn write_instants(out: &mut Vec<u8>, instants: &[UtcMillis], near: UtcMillis) {
    put_count(out, instants.len());
    instants.iter().for_each(|at| put_signed(out, instant_difference(*at, near)));
}

fn read_instants(bytes: &mut PackedReader<'_>, near: UtcMillis) -> Option<Vec<UtcMillis>> {
    let count = bytes.count()?;
    (0..count).map(|_| read_instant(bytes, near)).collect()
}

/// Each as what lies between it and the one before.
fn write_days<'a>(out: &mut Vec<u8>, days: impl IntoIterator<Item = &'a Day, IntoIter: ExactSizeIterator>) {
    let (days, mut before) = (days.into_iter(), 0);
    put_count(out, days.len());
    for day in days {
        put_signed(out, i64::from(day.0) - before);
        before = i64::from(day.0);
    }
}

fn read_days(bytes: &mut PackedReader<'_>) -> Option<Vec<Day>> {
    let (count, mut before) = (bytes.count()?, 0_i64);
    let next = |_| {
        before = before.checked_add(bytes.signed()?)?;
        i32::try_from(before).ok().map(Day)
    };
    (0..count).map(next).collect()
}

/// How many there are and each of them, if there are any: a flag says whether.
fn write_each<T>(
    out: &mut Vec<u8>,
    all: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
    write: impl Fn(&mut Vec<u8>, T),
) {
    let all = all.into_iter();
    if all.len() > 0 {
        put_count(out, all.len());
        all.for_each(|one| write(out, one));
    }
}

fn read_each<T, All: Default + FromIterator<T>>(
    bytes: &mut PackedReader<'_>,
    flag: u64,
    read: impl Fn(&mut PackedReader<'_>) -> Option<T>,
) -> Option<All> {
    if flag == 0 {
        return Some(All::default());
    }
    let count = bytes.count()?;
    (0..count).map(|_| read(bytes)).collect()
}
