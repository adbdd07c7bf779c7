//! A second good catalogue with every audience and every way to close, and its slips.

use model::{Value, VersionedState, person::profile};

use super::parse_with;
use crate::{Audience, Catalogue};

pub const WIDE: &str = r#"
catalogue: wide
subjects:
  match: {about: text, one: person, other: person, city: ref city, cities: refs city, at: place, met: time, open: flag, third: person, home: place}
  city:  {name: text}
kinds:
  fan:
    on: match.made
    to: {followers_of: city}
    while: subject.open
    says: Somebody met
    thread: cities
    plans: slow
  pair:
    on: match.made
    to: {mutual: [one, other]}
    says: 'You and {{ other | default("somebody") }} met in {{ city.name }}'
    thread: city
    plans: [slow, soon]
  asked:
    on: match.asked
    to: {person: one}
    while: subject.one != subject.other
    says: '{{ subject.other | upper }} asks'
    actor: told
    plans: [slow]
  close_by:
    on: match.made
    to: {near: at, within: 40 km}
    says: Near you
    thread: subject
    plans: [slow]
  picked:
    on: match.picked
    to: listed
    says: Picked for you
    plans: [slow]
  said_to_all:
    on: match.told
    to: everyone
    says: Hello
    plans: [slow]
plans:
  slow:
    channel: email
    close: {weekly: "18:30", on: [mon, thu], zone: Europe/Berlin}
    look_back: 8d
    once_per: mail
    from: news@example.com
    headline: Hello
    template: mail/daily.mjml
    text: mail/daily.txt
    sections:
      - {title: Near, kinds: close_by, most: 8, order: {nearest: at}}
      - {title: Picked, kinds: picked, most: 8, order: score}
      - {title: Rest, kinds: [fan, pair, asked, said_to_all], most: 8}
  soon:
    channel: email
    close: {after: 2h}
    look_back: 1d
    from: news@example.com
    headline: Soon
    template: mail/daily.mjml
    text: mail/daily.txt
    sections:
      - {title: Met, kinds: pair, most: 8}
"#;

pub const MJML: &str = "<mjml><mj-body>{% for i in items %}{{ i.says }}{% endfor %}</mj-body></mjml>";

const WEEKLY: &str = r#"{weekly: "18:30", on: [mon, thu], zone: Europe/Berlin}"#;

#[rustfmt::skip]
pub const SLIPS: &[(&str, &str, &str)] = &[
    ("about: text, one: person", "about: text, one: persons", "4:29: `persons` is not a type; did you mean `person`?"),
    ("about: text, one: person", "about: text, one: ref person", "4:29: there is no subject `person`; a person is not a subject; write `person` alone"),
    ("about: text, one: person", "about: text, one: refs person", "4:29: there is no subject `person`; a person is not a subject; write `person` alone"),
    ("to: {followers_of: city}", "to: {followers_of: one}", "9:24: `one` is person, but only a subject that a field refers to can be followed"),
    ("to: {followers_of: city}", "to: {followers_of: 7}", "9:24: `followers_of` must be a list of texts, not a number; write it like `[one, other]`"),
    ("to: {followers_of: city}", "to: {followers_of: [city, 7]}", "9:31: `followers_of` must be a text, not a number; write it in quotes"),
    ("to: {followers_of: city}", "to: {followers_of: [city, city]}", "9:31: `city` is given twice"),
    ("to: {followers_of: city}", "to: {followers: city}", "9:10: `to` has no key `followers`; did you mean `followers_of`?"),
    ("to: {mutual: [one, other]}", "to: {mutual: [one, ohter]}", "16:24: `match` has no field `ohter`; did you mean `other`?"),
    ("to: {mutual: [one, other]}", "to: {mutual: [one, about]}", "16:24: `about` is text, but `mutual` needs a person"),
    ("to: {mutual: [one, other]}", "to: {mutual: [one, one]}", "16:24: `one` is given twice; the two parties need two different fields"),
    ("to: {mutual: [one, other]}", "to: {mutual: [one]}", "16:18: `mutual` needs two fields, not 1"),
    ("to: {mutual: [one, other]}", "to: {mutual: [one, other, city]}", "16:18: `mutual` needs two fields, not 3"),
    ("to: {mutual: [one, other]}", "to: {mutual: one}", "16:18: `mutual` needs two fields; write `{mutual: [FIELD, FIELD]}`"),
    ("to: {mutual: [one, other]}", "to: {mutual: [one, 7]}", "16:24: `mutual` must be a text, not a number; write it in quotes"),
    ("to: {mutual: [one, other]}", "to: {mutaul: [one, other]}", "16:10: `to` has no key `mutaul`; did you mean `mutual`?"),
    ("to: {mutual: [one, other]}", "to: {person: one}", "17:23: there is no `other`; a text here reads `actor`, `cities`, `city`, `direction`, `event`, `language`, `subject` or `variant`"),
    ("one: person, other: person, city: ref city", "one: person, two: person, other: ref city, city: ref city", "16:19: in the texts of this kind, `other` is the other party; the field `other` of `match` needs another name\n16:24: `other` is ref city, but `mutual` needs a person\n23:27: text cannot be compared with city; two subjects are compared by their `.id`\n24:31: `upper` cannot be used on city"),
    ("{{ other | default(\"somebody\") }}", "{{ othre }}", "17:23: there is no `othre`; did you mean `other`?"),
    ("says: '{{ subject.other | upper }} asks'", "says: '{{ other }} asks'", "24:15: there is no `other`; a text here reads `actor`, `cities`, `city`, `direction`, `event`, `language`, `subject` or `variant`"),
    ("says: '{{ subject.other | upper }} asks'", "says: '{{ subject.other.name }} asks'", "24:29: a text has no `name`"),
    ("to: {person: one}", "to: {person: on}", "22:18: `match` has no field `on`; did you mean `one`?"),
    ("to: {person: one}", "to: {person: whoever}", "22:18: `match` has no field `whoever`; use `one`, `other` or `third`"),
    ("to: {person: one}", "to: {person: city}", "22:18: `city` is ref city, but this audience needs a person"),
    ("to: {person: one}", "to: {person: [one, other]}", "22:18: `person` must be a text, not a list"),
    ("to: {person: one}", "to: {persons: one}", "22:10: `to` has no key `persons`; did you mean `person`?"),
    ("to: {person: one}", "to: {person: one, within: 4 km}", "22:31: `within` goes with `near` only"),
    ("to: {person: one}", "to: {person: one, mutual: [one, other]}", "22:9: `to` takes one audience; an audience is `{followers_of: FIELD}`, `{subscribers_of: FIELD}`, `{near: FIELD, within: 40 km}`, `{person: FIELD}`, `{mutual: [FIELD, FIELD]}`, `listed` or `everyone`"),
    ("to: {person: one}", "to: {}", "22:9: `to` names no audience; an audience is `{followers_of: FIELD}`, `{subscribers_of: FIELD}`, `{near: FIELD, within: 40 km}`, `{person: FIELD}`, `{mutual: [FIELD, FIELD]}`, `listed` or `everyone`"),
    ("to: {person: one}", "to: [one]", "22:9: `to` must be a map or a word, not a list; an audience is `{followers_of: FIELD}`, `{subscribers_of: FIELD}`, `{near: FIELD, within: 40 km}`, `{person: FIELD}`, `{mutual: [FIELD, FIELD]}`, `listed` or `everyone`"),
    ("to: {person: one}", "to: 7", "22:9: `to` must be a map or a word, not a number; an audience is `{followers_of: FIELD}`, `{subscribers_of: FIELD}`, `{near: FIELD, within: 40 km}`, `{person: FIELD}`, `{mutual: [FIELD, FIELD]}`, `listed` or `everyone`"),
    ("to: {person: one}", "to:", "22:7: `to` must be a map or a word, not nothing; an audience is `{followers_of: FIELD}`, `{subscribers_of: FIELD}`, `{near: FIELD, within: 40 km}`, `{person: FIELD}`, `{mutual: [FIELD, FIELD]}`, `listed` or `everyone`"),
    ("to: {near: at, within: 40 km}", "to: {near: ta, within: 40 km}", "29:16: `match` has no field `ta`; did you mean `at`?"),
    ("to: {near: at, within: 40 km}", "to: {near: nowhere, within: 40 km}", "29:16: `match` has no field `nowhere`; use `at` or `home`"),
    ("to: {near: at, within: 40 km}", "to: {near: city, within: 40 km}", "29:16: `city` is ref city, but `near` needs a place"),
    ("to: {near: at, within: 40 km}", "to: {near: at}", "29:9: `to` needs `within`"),
    ("to: {near: at, within: 40 km}", "to: {within: 40 km}", "29:18: `within` goes with `near` only"),
    ("to: {near: at, within: 40 km}", "to: {near: at, wihtin: 40 km}", "29:20: `to` has no key `wihtin`; did you mean `within`?"),
    ("to: {near: at, within: 40 km}", "to: {near: [at], within: 40 km}", "29:16: `near` must be a text, not a list"),
    ("to: {near: at, within: 40 km}", "to: {near: at, within: 40km}", "fine"),
    ("to: {near: at, within: 40 km}", "to: {near: at, within: 1.5 km}", "fine"),
    ("to: {near: at, within: 40 km}", "to: {near: at, within: 500 m}", "fine"),
    ("to: {near: at, within: 40 km}", "to: {near: at, within: 1000 km}", "fine"),
    ("to: {near: at, within: 40 km}", "to: {near: at, within: 1000.1 km}", "29:28: `within` must be more than 0 and at most 1000 km"),
    ("to: {near: at, within: 40 km}", "to: {near: at, within: 0 m}", "29:28: `within` must be more than 0 and at most 1000 km"),
    ("to: {near: at, within: 40 km}", "to: {near: at, within: 40}", "29:28: `within` has no unit: 40; write it like `40 km` or `500 m`"),
    ("to: {near: at, within: 40 km}", "to: {near: at, within: 40 miles}", "29:28: `40 miles` is not a distance; write it like `40 km` or `500 m`"),
    ("to: {near: at, within: 40 km}", "to: {near: at, within: -40 km}", "29:28: `-40 km` is not a distance; write it like `40 km` or `500 m`"),
    ("to: {near: at, within: 40 km}", "to: {near: at, within: 1e3 km}", "29:28: `1e3 km` is not a distance; write it like `40 km` or `500 m`"),
    ("to: {near: at, within: 40 km}", "to: {near: at, within: inf km}", "29:28: `inf km` is not a distance; write it like `40 km` or `500 m`"),
    ("to: {near: at, within: 40 km}", "to: {near: at, within: 1.2.3 km}", "29:28: `1.2.3 km` is not a distance; write it like `40 km` or `500 m`"),
    ("to: {near: at, within: 40 km}", "to: {near: at, within: [40 km]}", "29:28: `within` must be a text, not a list"),
    ("to: listed", "to: lsited", "35:9: there is no audience `lsited`; did you mean `listed`?"),
    ("to: listed", "to: list", "35:9: there is no audience `list`; did you mean `listed`?"),
    ("to: listed", "to: everybody", "35:9: there is no audience `everybody`; did you mean `everyone`?"),
    ("to: listed", "to: followers_of", "35:9: there is no audience `followers_of`; an audience is `{followers_of: FIELD}`, `{subscribers_of: FIELD}`, `{near: FIELD, within: 40 km}`, `{person: FIELD}`, `{mutual: [FIELD, FIELD]}`, `listed` or `everyone`"),
    ("to: listed", "to: {listed: true}", "35:10: `listed` takes no value; write `to: listed`"),
    ("to: listed", "to: everyone", "55:56: no kind of this section has a score; only a kind with `to: listed` has scores"),
    ("to: everyone", "to: {everyone: }", "40:10: `everyone` takes no value; write `to: everyone`"),
    ("actor: told", "actor: tlod", "25:12: `actor` must be `told` or `left_out`; did you mean `told`?"),
    ("actor: told", "actor: left_out", "fine"),
    ("actor: told", "actor: left out", "25:12: `actor` must be `told` or `left_out`; did you mean `left_out`?"),
    ("actor: told", "actor: true", "25:12: `actor` must be a text, not a flag; write it in quotes"),
    ("actor: told", "actor: nobody", "25:12: `actor` must be `told` or `left_out`"),
    ("actor: told", "unsure: agian", "25:13: `unsure` must be `again` or `later`; did you mean `again`?"),
    ("thread: cities", "thread: citeis", "12:13: `match` has no field `citeis`; did you mean `cities`?"),
    ("thread: cities", "thread: subjcet", "12:13: `match` has no field `subjcet`; did you mean `subject`?"),
    ("thread: cities", "thread: about", "12:13: `about` is text, but a thread must be a subject that a field refers to"),
    ("thread: cities", "thread: one", "12:13: `one` is person, but a thread must be a subject that a field refers to"),
    ("thread: cities", "thread: [city]", "12:13: `thread` must be a text, not a list"),
    ("thread: cities", "threads: city", "12:5: a kind has no key `threads`; did you mean `thread`?"),
    (WEEKLY, "{weekly: \"18:30\", zone: person}", "46:12: `close` needs `on`"),
    (WEEKLY, "{weekly: \"18:30\", on: [], zone: person}", "46:34: `on` names no day"),
    (WEEKLY, "{weekly: \"18:30\", on: 7, zone: person}", "46:34: `on` must be a list of texts, not a number; write it like `[one, other]`"),
    (WEEKLY, "{weekly: \"6pm\", on: [mon, thu], zone: person}", "46:21: `6pm` is not a time of day; write it like \"09:00\""),
    (WEEKLY, "{weekly: \"18:30\", on: monday, zone: person}", "46:34: there is no day `monday`; did you mean `mon`?"),
    (WEEKLY, "{weekly: \"18:30\", on: [mon, Thursday], zone: person}", "46:40: there is no day `Thursday`; did you mean `thu`?"),
    (WEEKLY, "{weekly: \"18:30\", on: [mon, thr], zone: person}", "46:40: there is no day `thr`; did you mean `thu`?"),
    (WEEKLY, "{weekly: \"18:30\", on: [mon, weekends], zone: person}", "46:40: there is no day `weekends`; use `mon`, `tue`, `wed`, `thu`, `fri`, `sat` or `sun`"),
    (WEEKLY, "{weekly: \"18:30\", on: [mon, 4], zone: person}", "46:40: `on` must be a text, not a number; write it in quotes"),
    (WEEKLY, "{weekly: \"18:30\", on: [mon, mon, fri], zone: person}", "46:40: `mon` is given twice"),
    (WEEKLY, "{weekly: \"18:30\", on: [mon, fri]}", "46:12: `close` needs `zone`"),
    (WEEKLY, "{weekly: mon, zone: person}", "46:12: `close` needs `on`\n46:21: `mon` is not a time of day; write it like \"09:00\""),
    (WEEKLY, "{weekly: mon, on: \"18:30\", zone: person}", "46:21: `mon` is not a time of day; write it like \"09:00\"\n46:30: there is no day `18:30`; use `mon`, `tue`, `wed`, `thu`, `fri`, `sat` or `sun`"),
    (WEEKLY, "{wekly: \"18:30\", on: [mon, thu], zone: person}", "46:13: `close` has no key `wekly`; did you mean `weekly`?"),
    (WEEKLY, "{daily: \"18:30\", on: [mon, thu], zone: person}", "46:33: `on` has no effect with `daily`; for some days of the week, write `weekly`"),
    (WEEKLY, "{daily: \"18:30\", weekly: \"18:30\", on: [mon, thu], zone: person}", "46:12: `close` takes one rule; a window closes `at_once`, `{after: 2h}`, `{silence: 5m, most: 1h}`, `{away: 30m}`, `{before: FIELD, by: 2h}`, `{daily: \"09:00\", zone: person}`, `{weekly: \"09:00\", on: [mon, thu], zone: person}`, `{monthly: \"09:00\", on: [1, 15], zone: person}`, `{every: 2 weeks, from: 2026-01-05, at: \"09:00\", zone: person}` or `{cron: \"0 9 * * 1-5\", zone: person}`"),
    (WEEKLY, "{on: [mon, thu], zone: person}", "46:12: `close` does not say when; a window closes `at_once`, `{after: 2h}`, `{silence: 5m, most: 1h}`, `{away: 30m}`, `{before: FIELD, by: 2h}`, `{daily: \"09:00\", zone: person}`, `{weekly: \"09:00\", on: [mon, thu], zone: person}`, `{monthly: \"09:00\", on: [1, 15], zone: person}`, `{every: 2 weeks, from: 2026-01-05, at: \"09:00\", zone: person}` or `{cron: \"0 9 * * 1-5\", zone: person}`"),
    (WEEKLY, "{when: \"18:30\", on: [mon, thu], zone: person}", "46:13: `close` has no key `when`; `close` has `daily`, `weekly`, `monthly`, `every`, `cron`, `after`, `silence`, `away`, `before`, `by`, `most`, `on`, `from`, `at`, `zone`, `spread` or `best`"),
    (WEEKLY, "{daily: [\"18:30\", \"09:00\"], zone: person}", "fine"),
    (WEEKLY, "{daily: [], zone: person}", "46:20: `daily` takes 1 to 24 times of day"),
    (WEEKLY, "{daily: [\"09:00\", \"9:30\"], zone: person}", "46:30: `9:30` is not a time of day; write it like \"09:00\""),
    (WEEKLY, "{daily: [\"09:00\", \"09:00\"], zone: person}", "46:30: `09:00` is given twice"),
    (WEEKLY, "{daily: [\"09:00\", \"11:00\"], zone: person, spread: 2h}", "46:62: `spread` must be shorter than the time between two closings, 2h"),
    (WEEKLY, "{daily: [\"00:30\", \"23:00\"], zone: person, spread: 90m}", "46:62: `spread` must be shorter than the time between two closings, 1h30m"),
    (WEEKLY, "{daily: [\"09:00\", \"11:00\"], zone: person, best: \"07:00-22:00\"}", "46:60: `best` is one hour of the day, so it takes one time and not several"),
    (WEEKLY, "{monthly: \"18:30\", on: [1, 6, 11, 16, 21, 26], zone: person}", "47:16: with `look_back: 8d`, entries that one mail carries over expire before the next; `look_back` must be at least 12d, twice the longest gap between two closings (6d)"),
    (WEEKLY, "{monthly: \"18:30\", on: 1, zone: person}", "47:16: with `look_back: 8d`, entries that one mail carries over expire before the next; `look_back` must be at least 62d, twice the longest gap between two closings (31d)"),
    (WEEKLY, "{monthly: \"18:30\", on: last, zone: person}", "47:16: with `look_back: 8d`, entries that one mail carries over expire before the next; `look_back` must be at least 62d, twice the longest gap between two closings (31d)"),
    (WEEKLY, "{monthly: \"18:30\", on: [first mon, third mon], zone: person}", "47:16: with `look_back: 8d`, entries that one mail carries over expire before the next; `look_back` must be at least 42d, twice the longest gap between two closings (21d)"),
    (WEEKLY, "{monthly: \"18:30\", on: [15, 31], zone: person}", "46:40: not every month has a day 31; take a day from 1 to 28; for the last day of each month, write `monthly` with `on: last`"),
    (WEEKLY, "{monthly: \"18:30\", on: fifth mon, zone: person}", "46:35: most months have no fifth day of the week; write `last mon`"),
    (WEEKLY, "{monthly: \"18:30\", on: mon, zone: person}", "46:35: there is no day of the month `mon`; a day of the month is a number from 1 to 28, `last`, `first mon` to `fourth sun`, or `last fri`"),
    (WEEKLY, "{monthly: \"18:30\", on: [0, 1.5], zone: person}", "46:36: there is no day of the month `0`; a day of the month is a number from 1 to 28, `last`, `first mon` to `fourth sun`, or `last fri`
46:39: there is no day of the month `1.5`; a day of the month is a number from 1 to 28, `last`, `first mon` to `fourth sun`, or `last fri`"),
    (WEEKLY, "{monthly: \"18:30\", on: [1, 6, 11, 11, 16, 21, 26], zone: person, spread: 0s}", "46:46: this day is given twice\n47:16: with `look_back: 8d`, entries that one mail carries over expire before the next; `look_back` must be at least 12d, twice the longest gap between two closings (6d)"),
    (WEEKLY, "{monthly: \"18:30\", on: [], zone: person}", "46:35: `on` names no day"),
    (WEEKLY, "{monthly: \"18:30\", zone: person}", "46:12: `close` needs `on`"),
    (WEEKLY, "{weekly: \"18:30\", on: [1], zone: person}", "46:35: `on` must be a text, not a number; write it in quotes"),
    (WEEKLY, "{every: 2 days, from: 2026-01-05, at: [\"09:00\", \"18:00\"], zone: person}", "fine"),
    (WEEKLY, "{every: 1 week, from: 2026-01-05, at: \"09:00\", zone: person}", "47:16: with `look_back: 8d`, entries that one mail carries over expire before the next; `look_back` must be at least 14d, twice the longest gap between two closings (7d)"),
    (WEEKLY, "{every: 3 months, from: 2026-01-05, at: \"09:00\", zone: person}", "46:12: two closings may lie 92d apart, so `look_back` would have to be 184d, and it is 88d at most where days live for 90d; entries that one mail carries over would expire before the next; close more often"),
    (WEEKLY, "{every: 1 month, from: 2026-01-31, at: \"09:00\", zone: person}", "46:35: not every month has a day 31; take a day from 1 to 28; for the last day of each month, write `monthly` with `on: last`"),
    (WEEKLY, "{every: 2d, from: 2026-01-05, at: \"09:00\", zone: person}", "46:20: `2d` is not a number of days, weeks or months; write it like `3 days`, `2 weeks` or `1 month`, of at most 366 days, 52 weeks or 12 months"),
    (WEEKLY, "{every: 53 weeks, from: 2026-01-05, at: \"09:00\", zone: person}", "46:20: `53 weeks` is not a number of days, weeks or months; write it like `3 days`, `2 weeks` or `1 month`, of at most 366 days, 52 weeks or 12 months"),
    (WEEKLY, "{every: 2 days, from: 5.1.2026, at: \"09:00\", zone: person}", "46:34: `5.1.2026` is not a date; write it like `2026-01-05`"),
    (WEEKLY, "{every: 2 days, from: 2026-02-30, at: \"09:00\", zone: person}", "46:34: `2026-02-30` is not a date; write it like `2026-01-05`"),
    (WEEKLY, "{every: 2 days, zone: person}", "46:12: `close` needs `at`
46:12: `close` needs `from`"),
    (WEEKLY, "{every: 2 days, from: 2026-01-05, at: \"09:00\", on: mon, zone: person}", "46:63: `on` has no effect with `every`; for some days of the week, write `weekly`"),
    (WEEKLY, "{cron: \"0 9 * * 1-5\", zone: person}", "fine"),
    (WEEKLY, "{cron: \"0 9 * *\", zone: person}", "46:19: `0 9 * *` is not a line of cron with five fields; write minute, hour, day of the month, month and day of the week: `0 9 * * mon-fri`"),
    (WEEKLY, "{cron: \"0 9 L * *\", zone: person}", "46:19: `L` is no day of the month of cron; for the last day or the n-th day of the week, write `monthly`"),
    (WEEKLY, "{cron: \"0 9 30 2 *\", zone: person}", "46:12: there is no such date on the calendar; name a date that comes again and again"),
    (WEEKLY, "{cron: \"0 9 29 2 *\", zone: person}", "46:12: two closings may lie 2921d apart, so `look_back` would have to be 5842d, and it is 88d at most where days live for 90d; entries that one mail carries over would expire before the next; close more often"),
    (WEEKLY, "{weekly: \"18:30\", on: [mon, thu], zone: person, spread: 20m}", "fine"),
    (WEEKLY, "{weekly: \"18:30\", on: [mon, wed], zone: person}", "47:16: with `look_back: 8d`, entries that one mail carries over expire before the next; `look_back` must be at least 10d, twice the longest gap between two closings (5d)"),
    (WEEKLY, "{weekly: \"18:30\", on: fri, zone: person}", "47:16: with `look_back: 8d`, entries that one mail carries over expire before the next; `look_back` must be at least 14d, twice the longest gap between two closings (7d)"),
    (WEEKLY, "{weekly: \"18:30\", on: [mon, tue, wed, thu, fri], zone: person}", "fine"),
    (WEEKLY, "{after: 8d}", "fine"),
    (WEEKLY, "{after: 8d1s}", "47:16: `after` is longer than `look_back`, so the first entries would be forgotten; `look_back` must be at least 9d"),
    ("look_back: 8d", "look_back: 7d", "47:16: with `look_back: 7d`, entries that one mail carries over expire before the next; `look_back` must be at least 8d, twice the longest gap between two closings (4d)"),
    ("on: [mon, thu], zone: Europe/Berlin}\n    look_back: 8d", "on: sun, zone: person}\n    look_back: 13d", "47:16: with `look_back: 13d`, entries that one mail carries over expire before the next; `look_back` must be at least 14d, twice the longest gap between two closings (7d)"),
    ("on: [mon, thu], zone: Europe/Berlin}\n    look_back: 8d", "on: sun, zone: person}\n    look_back: 14d", "fine"),
    ("{after: 2h}", "{after: 1m}", "fine"),
    ("{after: 2h}", "{after: 59s}", "59:20: `after` must be from 1m to 200d"),
    ("{after: 2h}", "{after: 201d}", "59:20: `after` must be from 1m to 200d"),
    ("{after: 2h}", "{after: 30h}", "60:16: `after` is longer than `look_back`, so the first entries would be forgotten; `look_back` must be at least 2d"),
    ("{after: 2h}", "{after: 2}", "59:20: `after` must be a text, not a number; write it like `20m`, `1h30m` or `7d`"),
    ("{after: 2h}", "{after: 2 hours}", "59:20: `2 hours` is not a length of time; write it like `20m`, `1h30m` or `7d`"),
    ("{after: 2h}", "{atfer: 2h}", "59:13: `close` has no key `atfer`; did you mean `after`?"),
    ("{after: 2h}", "{after: 2h, on: mon}", "59:28: `on` has no effect with `after`; for some days of the week, write `weekly`"),
    ("{after: 2h}", "{after: 2h, zone: person, spread: 5m}", "59:30: `zone` has no effect with `after`\n59:46: `spread` has no effect with `after`"),
    ("{after: 2h}", "2h", "59:12: there is no such way to close: `2h`; a window closes `at_once`, `{after: 2h}`, `{silence: 5m, most: 1h}`, `{away: 30m}`, `{before: FIELD, by: 2h}`, `{daily: \"09:00\", zone: person}`, `{weekly: \"09:00\", on: [mon, thu], zone: person}`, `{monthly: \"09:00\", on: [1, 15], zone: person}`, `{every: 2 weeks, from: 2026-01-05, at: \"09:00\", zone: person}` or `{cron: \"0 9 * * 1-5\", zone: person}`"),
    ("once_per: mail", "once_per: mial", "48:15: `once_per` must be `event`, `mail` or `subject`; did you mean `mail`?"),
    ("once_per: mail", "once_per: day", "48:15: `once_per` must be `event`, `mail` or `subject`"),
    ("order: score", "order: scores", "55:56: there is no order `scores`; did you mean `score`?"),
    ("order: score", "order: {score: about}", "55:57: `order` has no key `score`; `order` has `soonest`, `best` or `nearest`"),
    ("kinds: picked, most: 8, order: score", "kinds: picked, most: 8, order: {best: score}", "55:56: `match` has no field `score` to order by; `order: score` sorts by the score of listed persons"),
    ("order: {nearest: at}", "order: score", "54:56: no kind of this section has a score; only a kind with `to: listed` has scores"),
    ("order: {nearest: at}", "order: {nearest: ta}", "54:56: `match` has no field `ta` to order by; did you mean `at`?"),
    ("order: {nearest: at}", "order: {nearest: met}", "54:56: `met` is time, but this order needs a place"),
    ("order: {nearest: at}", "order: nearest", "54:56: there is no order `nearest`; an order is `newest`, `oldest`, `score`, `priority`, `diverse`, `{soonest: FIELD}`, `{best: FIELD}` or `{nearest: FIELD}`"),
    ("order: {nearest: at}", "order: {nearest: [at]}", "54:66: `nearest` must be a text, not a list"),
    ("plans: [slow, soon]", "plans: [slow, sono]", "19:19: there is no plan `sono`; did you mean `soon`?"),
];

/// Pieces that decide what a plan does.
#[rustfmt::skip]
pub const RULES: &[(&str, &str)] = &[
    ("[mon, thu]", "[tue, fri]"),
    ("[mon, thu]", "[mon, tue, thu]"),
    ("after: 2h", "after: 3h"),
    ("order: score", "order: newest"),
    ("{nearest: at}", "oldest"),
    ("{nearest: at}", "{nearest: home}"),
    ("once_per: mail", "once_per: subject"),
];

/// Pieces that decide whom and how it is told.
#[rustfmt::skip]
pub const WORDS: &[(&str, &str)] = &[
    ("{followers_of: city}", "{followers_of: cities}"),
    ("{followers_of: city}", "{followers_of: [city, cities]}"),
    ("{mutual: [one, other]}", "{mutual: [other, one]}"),
    ("{mutual: [one, other]}", "{mutual: [one, third]}"),
    ("{near: at, within", "{near: home, within"),
    ("{mutual: [one, other]}\n", "{mutual: [one, other]}\n    actor: left_out\n"),
    ("{person: one}", "{person: other}"),
    ("actor: told", "actor: left_out"),
    ("within: 40 km", "within: 41 km"),
    ("{near: at, within: 40 km}", "everyone"),
    ("to: everyone", "to: listed"),
    ("thread: city\n", "thread: cities\n"),
    ("    thread: subject\n", ""),
    ("[slow, soon]", "[soon, slow]"),
    ("cities: refs city", "cities: ref city"),
];

pub fn parse_wide() -> Catalogue {
    parse_with(WIDE, MJML).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn audiences_are_read_as_they_are_written() {
    let catalogue = parse_wide();
    let check = |kind: &str, to: Audience, actor_told: bool, thread: Option<&str>| {
        let kind = &catalogue.kinds[kind];
        assert_eq!(
            (&kind.to, kind.actor_told, kind.thread.as_deref()),
            (&to, actor_told, thread),
            "{kind:?}"
        );
    };
    let text = str::to_string;
    check("fan", Audience::FollowersOf(vec![text("city")]), false, Some("cities"));
    check("pair", Audience::Mutual(text("one"), text("other")), true, Some("city"));
    check("asked", Audience::Person(text("one")), true, None);
    check("close_by", Audience::Near { field: text("at"), within_km: 40.0 }, false, Some("subject"));
    check("picked", Audience::Listed, false, None);
    check("said_to_all", Audience::Everyone, false, None);
    let metres = parse_with(&WIDE.replace("40 km", "500 m"), MJML).unwrap();
    assert_eq!(metres.kinds["close_by"].to, Audience::Near { field: text("at"), within_km: 0.5 });
    let left_out = WIDE.replace("{mutual: [one, other]}\n", "{mutual: [one, other]}\n    actor: left_out\n");
    assert!(!parse_with(&left_out, MJML).unwrap().kinds["pair"].actor_told);
}

#[test]
fn a_preference_chooses_among_the_plans_of_a_kind() {
    let catalogue = parse_wide();
    let check = |kind: &str, preferred: Option<Value>, expected: &str| {
        let profile = VersionedState::from_values(1, [(profile::EMAIL_PLAN, preferred)]);
        let plans = catalogue.plans_for(&catalogue.kinds[kind], &profile);
        let names: Vec<&str> = plans.iter().map(|plan| plan.name.as_str()).collect();
        assert_eq!(names, [expected], "{kind} {profile:?}");
    };
    check("pair", None, "slow");
    check("pair", Some(Value::from_text("slow")), "slow");
    check("pair", Some(Value::from_text("soon")), "soon");
    // What the kind does not offer is no preference, and neither is what is no text.
    check("asked", Some(Value::from_text("soon")), "slow");
    check("pair", Some(Value::from_text("never")), "slow");
    check("pair", Some(Value::from_text("")), "slow");
    check("pair", Some(Value::Flag(true)), "slow");
    let nobody = catalogue.plans_for(&catalogue.kinds["pair"], &VersionedState::default());
    assert_eq!(nobody.len(), 1);
}
