//! Slips in how a plan paces itself, in what holds it, and in surfaces and caps.

use super::{GOOD, MJML, describe_result, messages, parse_with};

const CLOSE: &str =
    "    close: {daily: \"09:00\", zone: person, spread: 1h30m}\n    look_back: 14d\n    at_least: 2\n";

/// What stands in place of the plan's rules, and what is said of it.
pub(super) const PACES: &[(&str, &str)] = &[
    ("close: at_once", "fine"),
    ("close: at_wonce", "27:12: there is no such way to close: `at_wonce`; did you mean `at_once`?"),
    ("close: {silence: 5m, most: 1h}", "fine"),
    ("close: {silence: 5m}", "27:12: `close` needs `most`"),
    ("close: {silence: 2h, most: 1h}", "27:32: `most` is shorter than `silence`"),
    ("close: {after: 5m, most: 1h}", "27:30: `most` has no effect with `after`"),
    (
        "close: {silence: 5m, most: 15d}",
        "28:16: `most` is longer than `look_back`, so the first entries would be forgotten; `look_back` must be at least 15d",
    ),
    ("close: {away: 30m}", "fine"),
    ("close: {before: starts, by: 2h}", "27:12: `work` has no field `starts`"),
    ("close: {before: out, by: 2h}", "27:12: `event` has no field `out`"),
    ("close: at_once\n    key: [kind, subject.title]", "28:17: `event` has no field `title`"),
    (
        "close: at_once\n    key: title",
        "28:10: `title` is not a part of a key; the parts of a key are `kind`, `subject`, `actor` and fields, such as `subject.author`",
    ),
    ("close: at_once\n    key: [kind, subject, actor]", "fine"),
    ("close: at_once\n    key: [kind, actor, kind]", "28:24: `kind` is given twice"),
    ("close: {after: 1h}\n    entries: 5\n    first: alone", "fine"),
    (
        "close: {after: 1h}\n    first: allone",
        "28:12: `first` must be `gathered`, `alone` or `both`; did you mean `alone`?",
    ),
    (
        "close: at_once\n    first: alone",
        "28:12: `first` has no effect with `at_once`: each entry goes at once",
    ),
    ("close: {after: 1h}\n    alone: {most: 3, within: 10m}", "fine"),
    (
        "close: {after: 1h}\n    alone: {most: 30, within: 10m}",
        "28:19: `most` must be a whole number from 1 to 10, not 30",
    ),
    ("close: {after: 1h}\n    alone: {within: 15d}", "28:21: `within` must be from 1s to 14d"),
    (
        "close: {after: 1h}\n    alone: {within: 1m}\n    first: both",
        "28:12: `alone` has no effect beside `first`",
    ),
    ("close: at_once\n    rest: {start: 10m, factor: 144, most: 1d, reset: 12h}", "fine"),
    ("close: at_once\n    rest: {start: 4h}", "fine"),
    (
        "close: at_once\n    rest: {start: 4h, factor: 2}",
        "28:11: a rest that grows by `factor` or `each` needs a `most` that is longer than `start`",
    ),
    ("close: at_once\n    rest: {start: 4h, most: 1h}", "28:11: `most` is shorter than `start`"),
    (
        "close: at_once\n    rest: {start: 4h, most: 5h}",
        "28:11: a rest with `most` grows by `factor` or by `each`",
    ),
    (
        "close: at_once\n    at_least: 2",
        "28:15: `at_least` has no effect with `at_once`: each entry goes at once",
    ),
    ("close: {after: 1h}\n    at_least: 2\n    below: ended", "fine"),
    ("close: {after: 1h}\n    at_least: 13", "fine"),
    (
        "close: {after: 1h}\n    at_least: 14",
        "28:15: `at_least` is 14, but a message has room for 13: nothing would ever be told; make room for that many with `most` of the sections",
    ),
    ("close: at_once\n    rest: {start: 4h}\n    at_least: 2", "fine"),
    // The sample says a subject once.
    (
        "close: {after: 1h}\n    key: [kind, subject]\n    at_least: 2",
        "29:15: `at_least` is 2, but a window of one subject, which is told once, never holds more than one entry; leave `subject` out of the `key`, or write `once_per: event`",
    ),
    ("close: {after: 1h}\n    key: [subject]\n    together: true\n    at_least: 2", "fine"),
    ("close: {after: 1h}\n    key: [kind]\n    at_least: 5", "fine"),
    (
        "close: {after: 1h}\n    key: [kind]\n    at_least: 6",
        "29:15: `at_least` is 6, but a window of `event_near` has room for 5; make room for that many with `most` of its section",
    ),
    ("close: {after: 1h}\n    key: [kind]\n    together: true\n    at_least: 6", "fine"),
    ("close: {after: 1h}\n    key: [actor]\n    at_least: 13", "fine"),
    ("close: {after: 1h}\n    below: ended", "28:12: `below` has no effect without `at_least`"),
    ("close: at_once\n    urgent: yes", "28:13: `urgent` must be true or false, not a text"),
    (
        "close: at_once\n    urgent: true\n    online: hold",
        "29:13: `online` has no effect if `urgent` is set: nothing holds the window",
    ),
    (
        "close: at_once\n    urgent: true\n    quiet: {from: \"22:00\", to: \"08:00\", zone: person}",
        "29:12: `quiet` has no effect if `urgent` is set: nothing holds the window",
    ),
    ("close: {after: 1h}\n    key: [kind]\n    together: true", "fine"),
    (
        "close: {after: 1h}\n    together: true",
        "28:15: `together` has no effect without a `key`: there is one window only",
    ),
    (
        "close: {after: 1h}\n    key: [kind]\n    together: true\n    first: alone",
        "29:15: `together` has no effect beside `first`",
    ),
    (
        "close: at_once\n    entries: 2",
        "28:14: `entries` has no effect with `at_once`: each entry goes at once",
    ),
    (
        "close: at_once\n    rest: {start: 4h}\n    entries: 2",
        "29:14: `entries` has no effect with `at_once` and `rest`: the window closes when the rest is over",
    ),
    (
        "close: {away: 1h30m}\n    online: ended",
        "28:13: `online` has no effect beside `away: 1h30m`: a person who was away for that long is not online",
    ),
    ("close: {away: 30m}\n    online: ended\n    entries: 2", "fine"),
    ("close: {away: 30m}\n    online: hold\n    first: alone", "fine"),
    ("close: at_once\n    online: {postpone: 20m}", "fine"),
    ("close: at_once\n    online: holt", "28:13: `online` must be `hold` or `ended`; did you mean `hold`?"),
    ("close: at_once\n    quiet: {from: \"22:00\", to: \"08:00\", zone: person, then: silent}", "fine"),
    (
        "close: at_once\n    quiet: {from: \"22:00\", to: \"22:00\", zone: person}",
        "28:12: quiet hours that begin and end at the same time would last all day",
    ),
    (
        "close: at_once\n    quiet: {from: 22, to: \"08:00\", zone: person}",
        "28:19: `from` must be a text, not a number; write it like \"09:00\"",
    ),
    (
        "close: at_once\n    follows: {plan: dayly, wait: 10m}",
        "28:21: there is no plan `dayly`; did you mean `daily`?",
    ),
    ("close: at_once\n    follows: {plan: daily, wait: 10m}", "28:21: `daily` would follow itself"),
    ("close: at_once\n    counts_on: [push]", "fine"),
    ("close: at_once\n    counts_on: push", "fine"),
    ("close: at_once\n    counts_on: []", "28:16: `counts_on` names no channel"),
    (
        "close: at_once\n    counts_on: [push, email]",
        "28:23: `counts_on` is for other channels: this plan is on `email` itself",
    ),
    ("close: at_once\n    counts_on: [push, chat, push]", "28:29: `push` is given twice"),
    ("close: at_once\n    counts_on: [e-mail]", "28:17: there is no channel `e-mail`; did you mean `email`?"),
];

/// The same of the catalogue's own keys.
pub(super) const TOPS: &[(&str, &str)] = &[
    ("surfaces: {site: 15m, app: {online: 15m, ask: live}}", "fine"),
    ("surfaces: {site: 15m, app: {ask: live}}", "3:28: a surface needs `online`"),
    ("surfaces: {site: 2d}", "3:18: the time for which a person counts as online must be from 1s to 1d"),
    ("caps: {few: {most: 3, per: day, zone: person, channel: email}}", "fine"),
    (
        "caps: {few: {most: 3, per: day}}",
        "3:28: a cap per `day` needs `zone`: `person`, or a name such as `Europe/Berlin`",
    ),
    ("caps: {few: {most: 30, per: 1h}}", "3:20: `most` must be a whole number from 1 to 20, not 30"),
    (
        "caps: {few: {most: 3, per: 1h, kinds: [work_owt]}}",
        "3:40: there is no kind `work_owt`; did you mean `work_out`?",
    ),
    ("caps: {few: {most: 3, per: 1h, tenants: [one, two]}}", "fine"),
    ("caps: {few: {most: 3, per: 1h, tenants: []}}", "3:41: `tenants` names no tenant"),
    (
        "caps: {few: {most: 3, per: 1h, tenants: [\" \"]}}",
        "3:42: ` ` is not a tenant: tenant has a control character, or a space at its start or end",
    ),
    ("caps: {few: {most: 3, per: 1h, zone: person}}", "3:38: `zone` has no effect without `per: day`"),
];

/// A calendar, quiet hours that end what is due in them, and whether something is ever told.
const NIGHTS: &[(&str, &str, bool)] = &[
    ("daily: \"23:00\", zone: person", "from: \"22:00\", to: \"08:00\", zone: person", false),
    ("daily: \"09:00\", zone: person", "from: \"22:00\", to: \"08:00\", zone: person", true),
    ("daily: \"08:00\", zone: person", "from: \"22:00\", to: \"08:00\", zone: person", true),
    ("daily: \"22:00\", zone: person", "from: \"22:00\", to: \"08:00\", zone: person", false),
    ("daily: \"07:00\", zone: person, spread: 1h", "from: \"22:00\", to: \"08:00\", zone: person", false),
    ("daily: \"07:00\", zone: person, spread: 2h", "from: \"22:00\", to: \"08:00\", zone: person", true),
    ("weekly: \"12:00\", on: [mon, fri], zone: UTC", "from: \"11:00\", to: \"13:00\", zone: UTC", false),
    // New York and Berlin are five hours apart for three weeks of a year, and six in the others.
    (
        "daily: \"17:00\", zone: America/New_York",
        "from: \"22:00\", to: \"08:00\", zone: Europe/Berlin",
        false,
    ),
    ("daily: \"16:30\", zone: America/New_York", "from: \"22:00\", to: \"08:00\", zone: Europe/Berlin", true),
    ("daily: \"23:00\", zone: person", "from: \"22:00\", to: \"08:00\", zone: Europe/Berlin", true),
    (
        "daily: \"23:00\", zone: person, best: \"07:00-22:00\"",
        "from: \"22:00\", to: \"08:00\", zone: person",
        true,
    ),
    (
        "daily: \"23:00\", zone: person, best: \"22:00-07:00\"",
        "from: \"22:00\", to: \"08:00\", zone: person",
        false,
    ),
];

#[test]
fn a_calendar_does_not_close_in_hours_that_end_all() {
    for (close, quiet, is_told) in NIGHTS {
        let with = |then: &str| {
            let rules =
                format!("    close: {{{close}}}\n    look_back: 14d\n    quiet: {{{quiet}, then: {then}}}\n");
            messages(GOOD, CLOSE, &rules)
        };
        let found = with("ended");
        let is_refused = found.starts_with("29:12: it closes at ")
            && found.ends_with(
                ", which is always in these quiet hours, and with `then: ended` nothing is told in them; close at another \
                 time, or write `then: hold` or `then: silent`",
            );
        assert!(if *is_told { found == "fine" } else { is_refused }, "{close} {quiet}: {found}");
        assert_eq!((with("hold"), with("silent")), ("fine".to_owned(), "fine".to_owned()), "{close}");
    }
}

#[test]
fn who_is_away_is_not_here() {
    let check = |site: &str, away: &str, is_told: bool| {
        let text = GOOD.replace(
            "catalogue: sample\n",
            &format!("catalogue: sample\nsurfaces: {{site: {site}, app: 1m}}\n"),
        );
        let rules = format!("    close: {{away: {away}}}\n    look_back: 14d\n    online: hold\n");
        let found = describe_result(parse_with(&text.replace(CLOSE, &rules), MJML));
        assert_eq!(found == "fine", is_told, "{site} {away}: {found}");
    };
    check("15m", "30m", false);
    check("15m", "15m", false);
    check("15m", "14m", true);
}

pub(super) fn all_slips() -> Vec<(&'static str, String, &'static str)> {
    let paces = PACES.iter().map(|(rules, said)| {
        let look_back = if rules.contains("look_back") { "" } else { "    look_back: 14d\n" };
        (CLOSE, format!("    {rules}\n{look_back}"), *said)
    });
    let tops =
        TOPS.iter().map(|(top, said)| ("catalogue: sample\n", format!("catalogue: sample\n{top}\n"), *said));
    paces.chain(tops).collect()
}
