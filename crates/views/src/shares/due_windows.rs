//! How many windows are due now, and how many soon, by plan, and how many messages wait for a server. For looking at: the log's compacted topic says what is open,
//! and its first records alone are read, as for a person's windows.

use std::collections::BTreeMap;

use house::person_windows as windows;
use model::{Tenant, UtcMillis, limits::DAY_MS};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topic::Topics;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

/// Open windows, by when they are due.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DueWindows {
    /// How many records of persons were read at most; there were more than that. `None` if all were read.
    pub cut: Option<u64>,
    /// Messages that no server has taken yet, and that are sent again. Their entries count as told.
    #[serde(default)]
    pub deferred: u64,
    pub total: DueCounts,
    pub plans: BTreeMap<String, DueCounts>,
}

/// Windows by when they are due: each counts once, and all together are open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DueCounts {
    pub open: u64,
    /// Their instant has come, and they are still open.
    pub now: u64,
    /// Within a minute.
    pub minute: u64,
    /// Later than that, and within an hour.
    pub hour: u64,
    pub day: u64,
    pub later: u64,
}

impl DueWindows {
    fn add(&mut self, plan: &str, ms: i64) {
        self.total.add(ms);
        match self.plans.get_mut(plan) {
            Some(soon) => soon.add(ms),
            None => self.plans.entry(plan.to_owned()).or_default().add(ms),
        }
    }
}

impl DueCounts {
    /// Counts a window that is due in so many milliseconds.
    fn add(&mut self, ms: i64) {
        self.open += 1;
        let one = match ms {
            ms if ms <= 0 => &mut self.now,
            ms if ms <= MINUTE_MS => &mut self.minute,
            ms if ms <= HOUR_MS => &mut self.hour,
            ms if ms <= DAY_MS => &mut self.day,
            _ => &mut self.later,
        };
        *one += 1;
    }
}

/// Counts the open windows of a tenant.
pub async fn count_due_windows(
    log: &dyn Topics,
    tenant: &Tenant,
    now: UtcMillis,
) -> anyhow::Result<DueWindows> {
    let remembered = windows::load_persons(log).await?;
    let mut due = DueWindows {
        cut: remembered.is_cut.then_some(windows::RECORDS_MAX as u64),
        deferred: remembered.deferred_messages(tenant).0 as u64,
        ..DueWindows::default()
    };
    for ((of, _), record) in &remembered.persons {
        if of == tenant {
            record.windows.iter().for_each(|window| due.add(window.plan.as_str(), window.due.since(now)));
        }
    }
    Ok(due)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_window_counts_once() {
        let check = |ms: i64, expect: [u64; 5]| {
            let mut due = DueWindows::default();
            due.add("daily", ms);
            let DueCounts { open, now, minute, hour, day, later } = due.plans["daily"];
            assert_eq!((open, [now, minute, hour, day, later]), (1, expect), "{ms}");
            assert_eq!(due.total, due.plans["daily"]);
        };
        check(i64::MIN, [1, 0, 0, 0, 0]);
        check(0, [1, 0, 0, 0, 0]);
        check(1, [0, 1, 0, 0, 0]);
        check(60_000, [0, 1, 0, 0, 0]);
        check(60_001, [0, 0, 1, 0, 0]);
        check(3_600_000, [0, 0, 1, 0, 0]);
        check(3_600_001, [0, 0, 0, 1, 0]);
        check(86_400_000, [0, 0, 0, 1, 0]);
        check(86_400_001, [0, 0, 0, 0, 1]);
        check(i64::MAX, [0, 0, 0, 0, 1]);
    }
}
