//! Scenarios: behaviour that anyone can read, run against a whole house with virtual time.
//!
//! A scenario is a text, one line one thing; `#` begins a comment, and the first line is a comment that says
//! which behaviour the file proves. `docs/scenarios.md` explains it all to people who do not program.
//!
//! ```text
//! # Two new items of one maker are one mail, on the next morning.
//! catalogue examples/shop
//! person ann zone=Europe/Berlin email=ann@example.org
//!
//! mon 09:30  follow ann maker:7
//! mon 10:00  event item.offered item:1 maker=maker:7 title="Moon" offered=yes
//! mon 10:05  event item.offered item:2 maker=maker:7 title="Sun" offered=yes
//! tue 08:00  expect mail ann sections "New items: Sun, Moon"
//! wed 08:00  expect nothing
//! ```
//!
//! # Grammar
//!
//! ```text
//! head    = "catalogue" FOLDER | "start" DATE | "clock" ZONE
//!         | "word" NAME PARAMETER… "=" line-without-time, with $PARAMETER
//! line    = [ DAY TIME[".."TIME] ] ( verb | word )
//! DAY     = mon … sun, mon+1 (a week later), 2026-03-29
//! TIME    = 09:30, 09:30:15
//! verb    = "person" P field… | "device" P DEVICE (PLATFORM | "none") | "follow" P SUBJECT | "unfollow" P SUBJECT
//!         | "mute" P muted | "unmute" P muted | "prefer" P choice | "erase" P | "welcome" P
//!         | "event" TYPE SUBJECT field… [@id= @at= @actor= @source= @version= @via=http|topic]
//!                                       [@subjects=[SUBJECT…] @persons=[P P=SCORE…]]
//!                                       [@actorname= @actorkind= @times=N, of which `@actor=[P…]` take turns]
//!         | "again"
//!         | "read" P about | "clear" P about
//!         | "seen" P SURFACE | "app" P ("connected" | "gone")
//!         | "upstream" "text" | "upstream" "hex" DIGITS
//!         | "post" PATH "body" "expect" STATUS ["part of the answer"…]
//!         | "returned" ("hard"|"soft"|"complaint"|"away") P | "lift" P ["stream" NAME]
//!         | "mail" "down"|"up" | "release" PLAN (P|"all") | "discard" PLAN P ["key" KEY] | "archive" "before" DAY
//!         | "pause" SCOPE | "resume" SCOPE, where SCOPE = "plan:"PLAN | "channel:"CHANNEL | "tenant:"NAME
//!         | "replay" "events"|"changes" "from" DAY TIME ["telling" "missing"]
//!         | "restart" "all" | "crash" "all" | "house" "down"|"up" ["with" FOLDER]
//!         | "tenant" NAME, whose all lines from here on are
//!         | "expect" expected
//! about   = SUBJECT | "kind" KIND | "all"
//! choice  = ("on" | "digest" | "off" | "default") ["channel" CHANNEL] ["kind" KIND] ["subject" SUBJECT] …
//! muted   = "kind" KIND | "actor" P | "subject" SUBJECT | "thread" SUBJECT
//! expected= "mail" P ["to" ADDRESS] ["headline" "…"] ["sections" "Title: item, item"…] ["has" "…"…] ["lacks" "…"…]
//!         | "push" P ["silent"] and the same
//!         | "nothing"
//!         | "fate" P SUBJECT ("…"… | "none") | "why" P SUBJECT "part of the explanation"…
//!         | "rejected" "part of the reason" | "quarantine" "part of the reason"
//!         | "open" P NUMBER
//!         | "feed" P ["first" NUMBER] ("…"… | "none") ["more"]
//!         | "count" P ["category" NAME] "new" NUMBER "unread" NUMBER
//!         | "slots" P ["by" ("reader" | "proxy" | "robot")] (SUBJECT | "-")… | "click" P NUMBER (SUBJECT | "-")
//! field   = name=value
//! value   = yes | no | 7 | 52.52,13.40 | (fri 18:00) | [a b] | "text" | text | nothing at all, a removal
//! ```
//!
//! A line without a time happens at the time of the line before it. Time never goes back. A stretch of time
//! says that what is expected comes within it, both ends included.
//!
//! # What is exact
//!
//! A mail, or a record that is put aside, must be expected by a line: before anything else is done, and
//! before time is at the next line's (or at its stretch's beginning), or the file fails. What is refused must
//! be expected by the very next line. The fates of a subject are all its entries, oldest first.
//!
//! # Tour
//!
//! [`parse()`] reads a text into a [`Scenario`]; [`scenario`] says what is in one. [`run()`] plays it to a
//! [`StageWorld`], which is all that it sees of a house, and gives a [`ScenarioReport`] with a trace that is the same in
//! every run. The world of the real house is in `tidings`.

mod calendar;
mod channel_word;
mod token;
mod value;

pub mod mail_visitor;
pub mod scenario;

mod args;
mod expectation_words;
mod verb;
mod word;

mod consistency;
mod head;
mod lines;
mod parse;

pub mod world;

mod arrivals;
mod comparison;
mod expectation;
mod fate_word;
mod report;
mod request;
mod revocation;
mod run;

#[cfg(test)]
mod tests;

pub use calendar::ScenarioCalendar;
pub use parse::{MAIN, WORDS, find_catalogue, load_scenario, parse, parse_with};
pub use report::{ScenarioFailure, ScenarioNote, ScenarioReport};
pub use run::{ScenarioPace, run, run_at};
pub use scenario::Scenario;
pub use world::StageWorld;
