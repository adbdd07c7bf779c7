//! How things look to people: instants, numbers, addresses.

use jiff::Timestamp;
use model::{Day, UtcMillis, civil_time::Zone};

/// `Sat 21 Nov 2026, 10:05`, on the wall of a zone.
pub fn format_instant(at: UtcMillis, zone: &Zone) -> String {
    match Timestamp::from_millisecond(at.0) {
        Ok(at) => at.to_zoned(zone.clone()).strftime("%a %-d %b %Y, %H:%M").to_string(),
        Err(_) => at.to_string(),
    }
}

/// `10:05`, on the wall of a zone; `Fri 22:05` where it is another day there than in UTC, by whose days entries stand.
pub fn format_clock(at: UtcMillis, zone: &Zone) -> String {
    let Ok(at) = Timestamp::from_millisecond(at.0) else { return at.to_string() };
    let there = at.to_zoned(zone.clone());
    let is_same_day = there.date() == at.to_zoned(Zone::UTC).date();
    there.strftime(if is_same_day { "%H:%M" } else { "%a %H:%M" }).to_string()
}

/// `Sat 21 Nov`.
pub fn format_date(day: Day) -> String {
    match Timestamp::from_millisecond(day.start().0) {
        Ok(at) => at.to_zoned(Zone::UTC).strftime("%a %-d %b").to_string(),
        Err(_) => day.to_string(),
    }
}

/// `Sat 21 Nov 2026`: a day beside instants.
pub fn format_whole_date(day: Day) -> String {
    match Timestamp::from_millisecond(day.start().0) {
        Ok(at) => at.to_zoned(Zone::UTC).strftime("%a %-d %b %Y").to_string(),
        Err(_) => day.to_string(),
    }
}

/// How long until then, in the one or two units that matter.
pub fn format_until(ms: i64) -> String {
    let minutes = ms.max(0) / 60_000;
    let (days, hours, minutes) = (minutes / 1_440, minutes / 60 % 24, minutes % 60);
    match (days, hours, minutes) {
        (0, 0, 0) if ms > 0 => "in less than a minute".to_owned(),
        (0, 0, 0) => "now".to_owned(),
        (0, 0, m) => format!("in {m} min"),
        (0, h, 0) => format!("in {h} h"),
        (0, h, m) => format!("in {h} h {m} min"),
        (d, 0, _) => format!("in {d} d"),
        (d, h, _) => format!("in {d} d {h} h"),
    }
}

/// Text as a part of an address.
pub fn urlencode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// `12,345`.
pub fn format_number(n: u64) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).unwrap_or("")).collect();
    groups.join(",")
}

/// An address of which nobody can write to: its first letter and where it is.
pub fn mask_address(address: &str) -> String {
    match address.rsplit_once('@') {
        Some((local, domain)) => {
            let first: String = local.chars().take(1).collect();
            format!("{first}\u{2026}@{domain}")
        }
        None => "\u{2026}".to_owned(),
    }
}

/// What a page says after something was done; the address names it, the words are ours.
const DONE: [(&str, &str); 9] = [
    ("published", "Published and stored. It is being worked on now."),
    ("moved", "The clock was moved, and everything due by then was done."),
    ("moving", "The clock was moved; the house is still busy with what was due."),
    ("retried", "Put back where it came from."),
    ("dropped", "Dropped."),
    (
        "released",
        "Released: what waited there is told now, unless something speaks against it at the closing.",
    ),
    ("paused", "Paused. What gathers there waits until the pause ends."),
    ("resumed", "The pause is over; what gathered is told now."),
    ("cancelled", "Cancelled: what waited there is not told."),
];

pub fn done_message(name: &str) -> Option<&'static str> {
    DONE.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_look_as_people_write_them() {
        assert_eq!(format_number(0), "0");
        assert_eq!(format_number(999), "999");
        assert_eq!(format_number(1_234_567), "1,234,567");
        assert_eq!(mask_address("ann@example.org"), "a\u{2026}@example.org");
        assert_eq!(mask_address("nonsense"), "\u{2026}");
        assert_eq!(
            format_instant(UtcMillis::parse("2026-11-21T10:05:59Z").unwrap(), &Zone::UTC),
            "Sat 21 Nov 2026, 10:05"
        );
        let early = UtcMillis::parse("2026-11-26T02:18:00Z").unwrap();
        assert_eq!(format_clock(early, &Zone::UTC), "02:18");
        assert_eq!(format_clock(early, &Zone::fixed(jiff::tz::offset(-5))), "Wed 21:18");
        assert_eq!(format_date(Day::parse("2026-11-01").unwrap()), "Sun 1 Nov");
        assert_eq!(format_whole_date(Day::parse("2026-11-01").unwrap()), "Sun 1 Nov 2026");
        assert_eq!(format_until(-1), "now");
        assert_eq!(format_until(0), "now");
        assert_eq!(format_until(59_999), "in less than a minute");
        assert_eq!(format_until(60_000), "in 1 min");
        assert_eq!(format_until(90 * 60_000), "in 1 h 30 min");
        assert_eq!(format_until(25 * 3_600_000), "in 1 d 1 h");
    }
}
