//! What is asked: how many people there are, and how much happens to them.

use model::limits::DAY_LIFE_UNSAID;
use serde::Serialize;

/// Processors, memory and disks are twice what was measured for the peak.
pub const RESERVE: f64 = 2.0;

/// A day has so many seconds.
const DAY_SECONDS: f64 = 86_400.0;

/// What a house is asked to bear.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct SizeQuestion {
    pub persons: u64,
    /// Entries of each person a day.
    pub entries_per_day: f64,
    /// How many people an event concerns, on average.
    pub persons_per_event: f64,
    pub mails_per_day: f64,
    pub pushes_per_day: f64,
    /// What each person follows.
    pub follows: f64,
    /// Pages of their feed that each person looks at a day.
    pub pages_per_day: f64,
    /// How many of them have a stream of their feed open in the busiest hour.
    pub streams_percent: f64,
    /// All mails of a day leave within so many minutes, as a morning's digests do.
    pub digest_minutes: u32,
    /// How much of a day's events and pushes comes in the busiest hour.
    pub peak_hour_percent: f64,
    /// Copies that the engines keep.
    pub replication: u32,
    /// For how many days each day and its entries are kept.
    pub day_life: u16,
}

impl SizeQuestion {
    /// What is assumed of a house of which nothing else is known.
    pub const fn usual(persons: u64) -> Self {
        Self {
            persons,
            entries_per_day: 5.0,
            persons_per_event: 10.0,
            mails_per_day: 1.0,
            pushes_per_day: 1.0,
            follows: 10.0,
            pages_per_day: 2.0,
            streams_percent: 1.0,
            digest_minutes: 60,
            peak_hour_percent: 15.0,
            replication: 3,
            day_life: DAY_LIFE_UNSAID,
        }
    }

    /// What comes of it in a day, and at the worst moment of it.
    pub fn load(&self) -> HouseLoad {
        let persons = self.persons as f64;
        let entries_a_day = persons * self.entries_per_day;
        let pushes_a_day = persons * self.pushes_per_day;
        let mails_a_day = persons * self.mails_per_day;
        let events_a_day = entries_a_day / self.persons_per_event.max(1.0);
        // Never less than an even share of the day.
        let peak = |a_day: f64| a_day * (self.peak_hour_percent / 100.0).max(3_600.0 / DAY_SECONDS) / 3_600.0;
        HouseLoad {
            events_a_day,
            entries_a_day,
            mails_a_day,
            pushes_a_day,
            events_a_second: peak(events_a_day),
            entries_a_second: peak(entries_a_day),
            pushes_a_second: peak(pushes_a_day),
            pages_a_second: peak(persons * self.pages_per_day),
            streams: persons * self.streams_percent / 100.0,
            mails_a_second: mails_a_day / (f64::from(self.digest_minutes.max(1)) * 60.0),
        }
    }
}

/// What a house has to do.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct HouseLoad {
    pub events_a_day: f64,
    pub entries_a_day: f64,
    pub mails_a_day: f64,
    pub pushes_a_day: f64,
    /// In the busiest hour, as the next three.
    pub events_a_second: f64,
    pub entries_a_second: f64,
    pub pushes_a_second: f64,
    /// Of feeds, in that hour, and the streams that are open then.
    pub pages_a_second: f64,
    pub streams: f64,
    /// While the digests of a morning leave.
    pub mails_a_second: f64,
}

impl HouseLoad {
    pub fn messages_a_day(&self) -> f64 {
        self.mails_a_day + self.pushes_a_day
    }

    /// As if the busiest hour of pushes were that of the digests.
    pub fn messages_a_second(&self) -> f64 {
        self.mails_a_second + self.pushes_a_second
    }
}
