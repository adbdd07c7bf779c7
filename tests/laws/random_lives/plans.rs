//! A catalogue drawn at random: a few kinds, and plans with every knob there is, alone and beside each other. What
//! comes out is text, so that whatever passes is what somebody could have written. Each knob is a line of its own, so
//! that a story can be told without those that do not matter.

use std::fmt::Write as _;

use crate::seeds::LawDice;

/// Kinds that may be drawn; what happened to a work, to who follows its author.
pub const KINDS: [&str; 3] = ["made", "shown", "sold"];
const CHANNELS: [&str; 3] = ["email", "push", "chat"];

/// A catalogue, in parts that may be left out.
#[derive(Clone, Debug)]
pub struct RandomCatalogue {
    pub caps: Vec<String>,
    pub plans: Vec<RandomPlan>,
}

/// One plan.
#[derive(Clone, Debug)]
pub struct RandomPlan {
    pub name: String,
    pub channel: &'static str,
    /// What it needs: when it closes, how far it looks back, its sections.
    needed: [String; 2],
    /// What it may do without.
    pub knobs: Vec<String>,
    /// The kinds that it tells, by section.
    sections: Vec<(Vec<&'static str>, usize, &'static str)>,
}

impl RandomCatalogue {
    /// Draws one; whether it makes sense is the catalogue's own to say.
    pub fn new(dice: &mut LawDice) -> Self {
        let mut plans: Vec<RandomPlan> = Vec::new();
        for number in 0..1 + dice.below(4) {
            let plan = RandomPlan::new(dice, number, &plans);
            plans.push(plan);
        }
        // Under whatever name a plan comes first.
        let mut names = ["ash", "birch", "cedar", "dogwood"].map(str::to_owned);
        dice.shuffle(&mut names);
        for plan in &mut plans {
            for (number, name) in names.iter().enumerate() {
                plan.name = plan.name.replace(&format!("p{number}"), name);
                plan.knobs.iter_mut().for_each(|knob| *knob = knob.replace(&format!("p{number}"), name));
            }
        }
        // Which plan a kind names first decides which one of a channel tells it.
        dice.shuffle(&mut plans);
        let caps = (0..dice.pick(&[0, 0, 1, 2])).map(|number| draw_cap(dice, number));
        Self { caps: caps.collect(), plans }
    }

    /// As somebody would write it.
    pub fn text(&self) -> String {
        let mut text = String::from(
            "catalogue: drawn\nsubjects:\n  work: {title: text, author: ref author, board: text, public: flag, starts: time}\n  \
             author: {name: text}\nsurfaces:\n  site: 15m\n  app: {online: 10m, ask: live}\n",
        );
        if !self.caps.is_empty() {
            text += "caps:\n";
            self.caps.iter().for_each(|cap| writeln!(text, "  {cap}").unwrap());
        }
        text += "kinds:\n";
        for kind in KINDS {
            let of = self.plans.iter().filter(|plan| plan.tells(kind)).map(|plan| plan.name.as_str());
            let plans: Vec<&str> = of.collect();
            if !plans.is_empty() {
                writeln!(
                    text,
                    "  {kind}: {{on: work.{kind}, to: {{followers_of: author}}, while: subject.public, says: '{kind}', \
                     plans: [{}]}}",
                    plans.join(", ")
                )
                .unwrap();
            }
        }
        text += "plans:\n";
        self.plans.iter().for_each(|plan| plan.write(&mut text));
        text
    }

    /// All that is a little less than this: without a cap, a plan or a knob.
    pub fn shrink(&self) -> Vec<Self> {
        let mut all = Vec::new();
        let without = |at: usize| {
            let mut less = self.clone();
            less.plans.remove(at);
            less
        };
        all.extend((0..self.plans.len()).filter(|_| self.plans.len() > 1).map(without));
        all.extend((0..self.caps.len()).map(|at| {
            let mut less = self.clone();
            less.caps.remove(at);
            less
        }));
        for (place, plan) in self.plans.iter().enumerate() {
            all.extend((0..plan.knobs.len()).map(|at| {
                let mut less = self.clone();
                less.plans[place].knobs.remove(at);
                less
            }));
        }
        all
    }
}

impl RandomPlan {
    fn new(dice: &mut LawDice, number: usize, before: &[Self]) -> Self {
        let followed = (!before.is_empty() && dice.once_in_a_hundred(40)).then(|| dice.pick(before));
        // What was told on a channel is not told there again, so who follows is of another one.
        let others: Vec<&'static str> =
            CHANNELS.into_iter().filter(|name| followed.iter().all(|plan| plan.channel != *name)).collect();
        let channel = dice.pick(&others);
        let (close, days) = draw_close(dice);
        let days = (days + dice.pick(&[0, 0, 2, 6])).min(19);
        let needed = [format!("close: {close}"), format!("look_back: {days}d")];
        let mut kinds: Vec<&str> = match &followed {
            Some(plan) => KINDS.into_iter().filter(|kind| plan.tells(kind)).collect(),
            None => KINDS.into_iter().filter(|_| dice.once_in_a_hundred(60)).collect(),
        };
        if kinds.is_empty() {
            kinds.push(dice.pick(&KINDS));
        }
        let apart = kinds.len() > 1 && dice.once_in_a_hundred(30);
        let rest = if apart { kinds.split_off(1) } else { Vec::new() };
        let sections = [kinds, rest].into_iter().filter(|kinds| !kinds.is_empty());
        let sections =
            sections.map(|kinds| (kinds, dice.pick(&[1, 2, 3, 20]), dice.pick(&["newest", "oldest"])));
        let sections = sections.collect();
        let mut knobs = draw_knobs(dice, channel, &close);
        if let Some(plan) = &followed {
            let idle = ["entries", "first", "alone", "rest", "together", "key"];
            knobs.retain(|knob| !idle.iter().any(|name| knob.starts_with(name)));
            let key = plan.knobs.iter().find(|knob| knob.starts_with("key"));
            knobs.extend(key.filter(|_| dice.once_in_a_hundred(60)).cloned());
            let wait = dice.pick(&["1m", "10m", "3h", "1d"]);
            let other = before.iter().find(|other| other.name != plan.name && dice.once_in_a_hundred(25));
            let plans =
                other.map_or_else(|| plan.name.clone(), |other| format!("[{}, {}]", plan.name, other.name));
            knobs.push(format!("follows: {{plan: {plans}, wait: {wait}}}"));
        }
        Self { name: format!("p{number}"), channel, needed, knobs, sections }
    }

    fn tells(&self, kind: &str) -> bool {
        self.sections.iter().any(|(kinds, ..)| kinds.contains(&kind))
    }

    fn write(&self, text: &mut String) {
        let Self { name, channel, needed, knobs, sections } = self;
        writeln!(text, "  {name}:\n    channel: {channel}").unwrap();
        needed.iter().chain(knobs).for_each(|line| writeln!(text, "    {line}").unwrap());
        *text += match *channel {
            "email" => {
                "    from: a@example.com\n    headline: x\n    template: mail.mjml\n    text: mail.txt\n"
            }
            _ => "    headline: x\n    body: y\n",
        };
        *text += "    sections:\n";
        for (kinds, most, order) in sections {
            let kinds = kinds.join(", ");
            writeln!(text, "      - {{title: x, kinds: [{kinds}], most: {most}, order: {order}}}").unwrap();
        }
    }
}

/// When a plan closes, and how many days it looks back on at least.
fn draw_close(dice: &mut LawDice) -> (String, usize) {
    let zone = dice.pick(&["person", "person", "America/New_York"]);
    let time = dice.pick(&["09:00", "00:00", "23:59", "18:30"]);
    let spread = dice.pick(&["", "", ", spread: 2h"]);
    match dice.below(12) {
        0 => ("at_once".to_owned(), 1),
        1..3 => dice
            .pick(&[("1m", 1), ("10m", 1), ("2h", 1), ("5h", 1), ("26h", 2), ("4d", 4)])
            .write_clause("after"),
        3 => {
            let (ms, most, days) = dice.pick(&[("30s", "5m", 1), ("5m", "1h", 1), ("3h", "30h", 2)]);
            (format!("{{silence: {ms}, most: {most}}}"), days)
        }
        4 => (format!("{{daily: \"{time}\", zone: {zone}{spread}}}"), 2),
        5 => dice.pick(&[
            (format!("{{daily: [\"09:00\", \"18:30\"], zone: {zone}{spread}}}"), 2),
            (format!("{{cron: \"30 7-19/6 * * *\", zone: {zone}{spread}}}"), 2),
            (format!("{{every: 3 days, from: 2026-01-05, at: [\"{time}\", \"12:00\"], zone: {zone}}}"), 6),
            (format!("{{monthly: \"{time}\", on: [1, 6, 11, 16, 21, 26], zone: {zone}{spread}}}"), 12),
        ]),
        6 => {
            let (on, days) = dice.pick(&[("[mon, thu]", 8), ("[sun]", 14), ("[fri, sat, sun, mon]", 8)]);
            (format!("{{weekly: \"{time}\", on: {on}, zone: {zone}{spread}}}"), days)
        }
        7 => {
            let hours = dice.pick(&["07:00-22:00", "20:00-02:00"]);
            (format!("{{daily: \"{time}\", zone: person, best: \"{hours}\"}}"), 2)
        }
        8..10 => (format!("{{before: starts, by: {}}}", dice.pick(&["1m", "2h", "3d"])), dice.pick(&[1, 7])),
        _ => dice.pick(&[("1m", 1), ("30m", 1), ("7h", 2), ("3d", 7)]).write_clause("away"),
    }
}

trait CloseClause {
    fn write_clause(self, way: &str) -> (String, usize);
}

impl CloseClause for (&str, usize) {
    fn write_clause(self, way: &str) -> (String, usize) {
        (format!("{{{way}: {}}}", self.0), self.1)
    }
}

/// What a plan may say beside that. What cannot mean anything is drawn seldom, and the catalogue refuses it.
fn draw_knobs(dice: &mut LawDice, channel: &str, close: &str) -> Vec<String> {
    const REST: [&str; 5] = [
        "{start: 10m}",
        "{start: 4h}",
        "{start: 1d}",
        "{start: 10m, factor: 6, most: 1d, reset: 12h}",
        "{start: 30s, each: 30s, most: 30m}",
    ];
    let mut knobs = Vec::new();
    let at_once = close == "at_once";
    let strange = dice.once_in_a_hundred(3);
    let rests = dice.once_in_a_hundred(18);
    let key = dice.once_in_a_hundred(35);
    let first = (strange || !at_once) && dice.once_in_a_hundred(15);
    let mut maybe = |dice: &mut LawDice, times: usize, name: &str, values: &[&str]| {
        let drawn = dice.once_in_a_hundred(times);
        if drawn {
            knobs.push(format!("{name}: {}", dice.pick(values)));
        }
        drawn
    };
    let always = |drawn: bool| if drawn { 100 } else { 0 };
    const KEYS: [&str; 6] =
        ["[kind]", "[subject]", "[actor]", "[subject.author]", "[subject.board]", "[kind, subject.board]"];
    maybe(dice, always(key), "key", &KEYS);
    maybe(dice, always(rests), "rest", &REST);
    maybe(dice, always(first), "first", &["alone", "both"]);
    if strange || !at_once || rests {
        maybe(dice, 15, "entries", &["2", "3", "5"]);
        if maybe(dice, 20, "at_least", &["2", "2", "3", "4"]) {
            maybe(dice, 35, "below", &["ended"]);
        }
    }
    if strange || !(at_once || first) {
        maybe(dice, 12, "alone", &["{within: 10m}", "{most: 2, within: 5h}", "{most: 3, within: 1d}"]);
    }
    if strange || key && !first {
        maybe(dice, 30, "together", &["true"]);
    }
    let urgent = maybe(dice, 10, "urgent", &["true"]);
    if strange || !urgent {
        maybe(dice, 20, "online", &["hold", "ended", "{postpone: 20m}", "{postpone: 5h}"]);
        maybe(
            dice,
            25,
            "quiet",
            &[
                "{from: \"22:00\", to: \"08:00\", zone: person}",
                "{from: \"08:00\", to: \"20:00\", zone: Europe/Berlin}",
                "{from: \"06:00\", to: \"05:30\", zone: person, then: hold}",
                "{from: \"21:00\", to: \"09:30\", zone: person, then: silent}",
                "{from: \"20:00\", to: \"08:00\", zone: person, then: ended}",
            ],
        );
    }
    maybe(dice, 25, "once_per", &["mail", "subject", "subject"]);
    let counted = match channel {
        _ if strange => ["[email]", "[push]", "[email, chat]"],
        "email" => ["[chat]", "[push]", "[push, chat]"],
        "push" => ["[email]", "[chat]", "[email, chat]"],
        _ => ["[email]", "[push]", "[email, push]"],
    };
    maybe(dice, 15, "counts_on", &counted);
    if strange || channel == "push" {
        maybe(dice, 40, "badge", &["true"]);
    }
    if at_once && !strange {
        knobs.retain(|knob| !knob.starts_with("entries"));
    }
    knobs
}

fn draw_cap(dice: &mut LawDice, number: usize) -> String {
    let per = dice.pick(&["day, zone: person", "day, zone: Asia/Kathmandu", "6h", "24h", "3d"]);
    let of = dice.pick(&["", "", ", channel: push", ", channel: email"]);
    format!("cap{number}: {{most: {}, per: {per}{of}}}", 1 + dice.below(3))
}
