//! How often messages of a plan come, in a word.

use model::{
    closing_dates::{ClosingDates, DateUnit},
    limits::DAY_MS,
    plan::{CloseRule, Plan},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What waits for less than an hour is no digest to anybody.
const HOUR_MS: i64 = 3_600_000;

/// How often somebody hears by a plan, as people choose it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanCadence {
    AtOnce,
    /// Gathered for less than a day.
    Hourly,
    Daily,
    Weekly,
    Monthly,
    /// When a rule says so that has no such rhythm.
    Other,
}

impl PlanCadence {
    pub fn of_plan(plan: &Plan) -> Self {
        match &plan.close {
            _ if plan.follows.is_some() => Self::Other,
            CloseRule::After { ms } | CloseRule::Silence { most_ms: ms, .. } => Self::of_length(*ms),
            CloseRule::Calendar { dates, times, .. } => match dates {
                ClosingDates::Weekdays(days) if (0..7).all(|day| days.has(day)) => {
                    if times.len() > 1 {
                        Self::Hourly
                    } else {
                        Self::Daily
                    }
                }
                ClosingDates::Weekdays(days) if (0..7).filter(|day| days.has(*day)).count() == 1 => {
                    Self::Weekly
                }
                ClosingDates::Weekdays(_) => Self::Daily,
                ClosingDates::Monthly(_) => Self::Monthly,
                ClosingDates::Every { count: 1, unit, .. } => match unit {
                    DateUnit::Days => Self::Daily,
                    DateUnit::Weeks => Self::Weekly,
                    DateUnit::Months => Self::Monthly,
                },
                ClosingDates::Every { .. } | ClosingDates::Cron(_) => Self::Other,
            },
            CloseRule::Before { .. } | CloseRule::Away { .. } => Self::Other,
        }
    }

    fn of_length(ms: i64) -> Self {
        match ms {
            ..HOUR_MS => Self::AtOnce,
            HOUR_MS..DAY_MS => Self::Hourly,
            _ => Self::Daily,
        }
    }

    /// As it stands in JSON and in names of sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::AtOnce => "at_once",
            Self::Hourly => "hourly",
            Self::Daily => "daily",
            Self::Weekly => "weekly",
            Self::Monthly => "monthly",
            Self::Other => "other",
        }
    }
}
