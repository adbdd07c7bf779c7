//! Two lives of a process: one that ends by a kill, and one after it.

use std::{fmt, thread, time::Duration};

use runtime::crash_point;

use crate::{PATIENCE, house::KillHouse, load::KillLoad};

/// Where the first one ends: at a point of its own that was passed so often, or while the other side, in this mood, holds
/// what it was handed.
#[derive(Clone, Copy, PartialEq)]
pub enum KillPoint {
    Own(&'static str, u64),
    Held(&'static str),
}

/// The other side has taken what it holds, or not.
pub const TAKEN: KillPoint = KillPoint::Held("taken");
const LOST: KillPoint = KillPoint::Held("lost");

/// The deaths amid what may be handed over twice, each with whether it is urgent.
pub const DEATHS: [(KillPoint, bool); 10] = [
    (KillPoint::Own(crash_point::CLAIMED, 1), false),
    (KillPoint::Own(crash_point::SENT, 1), false),
    (KillPoint::Own(crash_point::CLAIMED, 9), false),
    (KillPoint::Own(crash_point::SENT, 9), false),
    (KillPoint::Own(crash_point::CLAIMED, 5), true),
    (KillPoint::Own(crash_point::SENT, 5), true),
    (LOST, false),
    (TAKEN, false),
    (LOST, true),
    (TAKEN, true),
];

/// Those of them that are tried on Kafka and Cassandra too: the journal is another one there, and so is what the other
/// life finds of the log.
pub const SHARED: [(&str, KillPoint, bool); 2] =
    [("sent", KillPoint::Own(crash_point::SENT, 9), false), ("taken", TAKEN, true)];

impl KillPoint {
    /// Whether the other side had a message of which nobody wrote down that it has it.
    pub fn was_taken(self) -> bool {
        self == TAKEN || matches!(self, Self::Own(crash_point::SENT, _))
    }
}

impl fmt::Display for KillPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(point, nth) => write!(f, "{point}:{nth}"),
            Self::Held(mood) => f.write_str(mood),
        }
    }
}

/// Hours that are waited for somebody to be told again, of the clock that is moved.
const HOURS: usize = 24;
/// What passes meanwhile of the time by which a cluster counts.
const BETWEEN: Duration = Duration::from_secs(1);

/// Where two lives keep their journal, and how the second one finds the log.
pub struct LifeEngines(Vec<(String, String)>);

impl LifeEngines {
    /// The house's own, in its folder.
    pub fn embedded() -> Self {
        Self(Vec::new())
    }

    /// Kafka and Cassandra, under a name of its own: the first life lays out what is there.
    pub fn on_clusters(name: &str) -> Result<Self, String> {
        let plain = |error: anyhow::Error| format!("{error:#}");
        let (kafka, cql) = (engines::kafka().map_err(plain)?, engines::cql().map_err(plain)?);
        Ok(Self(tests::production_settings(kafka, cql, &format!("{name}{}", std::process::id()))))
    }

    pub fn settings(&self) -> Vec<(&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value)).collect()
    }
}

/// Opens a house with these settings more.
pub type HouseOpener<'a> = dyn Fn(&[(&str, &str)]) -> Result<KillHouse, String> + 'a;

/// Lives through both and tells each all there is; the first dies as its clock goes on `to` there. Gives the second one.
pub fn live_twice(
    load: &mut KillLoad,
    (at, to): (KillPoint, &str),
    open: &HouseOpener<'_>,
    holds: &dyn Fn() -> bool,
) -> Result<KillHouse, String> {
    let point = at.to_string();
    let stop = matches!(at, KillPoint::Own(..)).then_some(("TIDINGS_STOP_AT", point.as_str()));
    let first = open(stop.as_slice())?;
    load.send_facts(&first);
    load.publish(&first);
    let came = thread::scope(|scope| {
        scope.spawn(|| {
            first.await_all_read();
            first.move_clock(to);
        });
        let came = if stop.is_some() { first.has_stopped_within(PATIENCE) } else { holds() };
        first.kill();
        came
    });
    if !came {
        return Err(format!("it never came to {at}: {}", first.drain_log()));
    }
    let second = open(&[])?;
    load.send_facts(&second);
    load.publish(&second);
    second.await_all_read();
    if load.is_acknowledged() { Ok(second) } else { Err("not everything was acknowledged".to_owned()) }
}

/// Moves the clock until all is told, and further: what comes too much comes later. Gives what is wrong then.
///
/// Who was killed holds its partitions for a while on Kafka, and a clock that moves does not wait for that. It waits for what
/// is in hand: a hand-over during which an hour passes is one of which nobody can say what became of it.
pub fn settle_house(house: &KillHouse, wrong: &dyn Fn() -> Result<(), String>) -> Result<(), String> {
    let move_clock = |to: &str| {
        house.await_all_read();
        house.move_clock(to);
    };
    let mut hours = 0..HOURS;
    while wrong().is_err() && hours.next().is_some() {
        thread::park_timeout(BETWEEN);
        move_clock("hour");
    }
    wrong()?;
    ["hour", "morning", "hour"].into_iter().for_each(move_clock);
    house.await_all_read();
    wrong().map_err(|wrong| format!("later: {wrong}"))
}
