//! What happens in five busy days: all that comes from outside, each with its instant, drawn before anything runs, so
//! that a story can be told with less of it.

use model::{
    Channel, Day, UtcMillis,
    limits::{DAY_MS, LATE_MS_MAX},
    person::Act,
};

use super::plans::KINDS;
use crate::{
    names::{HOUR_MS, LIFE, a_day},
    seeds::LawDice,
};

pub const BUSY_DAYS: i32 = 5;
const ZONES: [&str; 4] = ["Europe/Berlin", "Pacific/Kiritimati", "America/Los_Angeles", "Asia/Kathmandu"];

/// Something that happens at an instant.
#[derive(Clone, Debug)]
pub struct ScriptStep {
    pub at: UtcMillis,
    pub what: ScriptHappening,
}

#[derive(Clone, Debug)]
pub enum ScriptHappening {
    Event(ScriptEvent),
    /// A work may be seen, or no longer.
    Public {
        work: usize,
        flag: bool,
    },
    /// It starts at another instant.
    Starts {
        work: usize,
        at: UtcMillis,
    },
    Follow {
        author: usize,
        on: bool,
    },
    /// The person read or cleared the entry of an event.
    Seen {
        event: usize,
        cleared: bool,
    },
    /// A field of the profile; the digest hears of it.
    Profile {
        field: &'static str,
        value: Option<&'static str>,
    },
    Off {
        channel: Channel,
        off: bool,
    },
    /// Of the plans there are, one is preferred on its channel.
    Prefers {
        plan: usize,
    },
    /// The person is seen on a surface.
    Visit {
        surface: &'static str,
    },
    /// Whether the app is connected.
    Connected {
        on: bool,
    },
    /// By hand: this plan, all of its windows or the one that was opened so many before the last.
    ByHand {
        act: Act,
        plan: usize,
        window: Option<usize>,
        ago_ms: i64,
    },
}

/// What happened to a work.
#[derive(Clone, Debug)]
pub struct ScriptEvent {
    pub number: usize,
    pub kind: &'static str,
    pub work: usize,
    pub actor: Option<usize>,
    pub occurred: UtcMillis,
    /// So long after it was stored it is announced, and perhaps again.
    pub announced_ms: i64,
    pub again_ms: Option<i64>,
    pub starts: UtcMillis,
    pub public: bool,
}

/// The zone in which somebody lives at first.
pub fn draw_home(dice: &mut LawDice) -> &'static str {
    dice.pick(&ZONES)
}

/// All of it, in the order in which it happens.
pub fn draw_script(dice: &mut LawDice) -> Vec<ScriptStep> {
    let begin = a_day().start();
    let many = 3 + dice.below(11);
    let mut steps: Vec<ScriptStep> = Vec::new();
    let mut events = 0;
    for _ in 0..many {
        // Often on the hour, so that things happen together, and at the instants at which windows close.
        let at = begin.plus(dice.ms(0, i64::from(BUSY_DAYS) * DAY_MS));
        let at = if dice.once_in_a_hundred(30) { UtcMillis(at.0 / HOUR_MS * HOUR_MS) } else { at };
        let some = if dice.once_in_a_hundred(2) { 20 + dice.below(20) } else { dice.pick(&[1, 1, 1, 2, 4]) };
        if dice.once_in_a_hundred(60) {
            for _ in 0..some {
                let gap = dice.pick(&[0, 0, 1_000, 30_000, 15 * 60_000]);
                let at = steps.last().map_or(at, |last| if last.at >= at { last.at.plus(gap) } else { at });
                let event = ScriptHappening::Event(draw_event(dice, events, at));
                events += 1;
                steps.push(ScriptStep { at, what: event });
            }
        } else {
            let what = draw_other(dice, events, at);
            steps.push(ScriptStep { at, what });
        }
    }
    steps.sort_by_key(|step| step.at);
    steps
}

fn draw_event(dice: &mut LawDice, number: usize, at: UtcMillis) -> ScriptEvent {
    let late = if dice.once_in_a_hundred(15) { dice.ms(0, LATE_MS_MAX) } else { 0 };
    let work = if dice.once_in_a_hundred(30) { dice.below(number + 1) } else { number };
    ScriptEvent {
        number,
        kind: dice.pick(&KINDS),
        work,
        actor: dice.once_in_a_hundred(60).then(|| dice.below(3)),
        // No two events happen at one instant, so that newest and oldest mean something.
        occurred: at.plus(-late),
        announced_ms: dice.pick(&[0, 0, 0, 40, 5_000, 3 * HOUR_MS]),
        again_ms: dice.once_in_a_hundred(10).then(|| dice.ms(0, 5 * HOUR_MS)),
        starts: at.plus(dice.ms(-DAY_MS, 9 * DAY_MS)),
        public: dice.once_in_a_hundred(92),
    }
}

fn draw_other(dice: &mut LawDice, events: usize, at: UtcMillis) -> ScriptHappening {
    match dice.below(16) {
        0..2 => ScriptHappening::Public { work: dice.below(events + 1), flag: dice.once_in_a_hundred(40) },
        2 => ScriptHappening::Starts {
            work: dice.below(events + 1),
            at: at.plus(dice.ms(-DAY_MS, 6 * DAY_MS)),
        },
        3 => ScriptHappening::Follow { author: dice.below(2), on: dice.once_in_a_hundred(40) },
        4..7 => ScriptHappening::Seen { event: dice.below(events + 1), cleared: dice.once_in_a_hundred(40) },
        7 => ScriptHappening::Profile { field: model::person::profile::ZONE, value: Some(dice.pick(&ZONES)) },
        8 => {
            let value = dice.pick(&[None, Some("13:00-15:00"), Some("22:00-21:00")]);
            ScriptHappening::Profile { field: model::person::profile::QUIET, value }
        }
        9 => {
            let channel = dice.pick(&[Channel::Email, Channel::Push]);
            ScriptHappening::Off { channel, off: dice.once_in_a_hundred(50) }
        }
        10 => ScriptHappening::Prefers { plan: dice.below(4) },
        11..14 => ScriptHappening::Visit { surface: dice.pick(&["site", "app"]) },
        14 => ScriptHappening::Connected { on: dice.once_in_a_hundred(50) },
        _ => ScriptHappening::ByHand {
            act: dice.pick(&[Act::Release, Act::Release, Act::Cancel]),
            plan: dice.below(4),
            window: dice.once_in_a_hundred(50).then(|| dice.below(3)),
            ago_ms: dice.pick(&[0, 0, 1_000, 2 * HOUR_MS]),
        },
    }
}

/// When the last day of all that happens expires.
pub fn script_end() -> UtcMillis {
    LIFE.expiry(a_day().plus(BUSY_DAYS + 1))
}

impl ScriptEvent {
    /// The day in which it lies.
    pub fn day(&self) -> Day {
        Day::from_instant(self.occurred)
    }
}
