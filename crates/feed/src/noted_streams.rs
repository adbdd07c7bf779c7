//! Who has a stream open here, and of whom that was noted, for surfaces with `ask: live`: whoever decides whether somebody is
//! here asks the store. What began or ended since the last look is to be noted, and what lasts before nobody believes it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use model::UtcMillis;
use room::open_streams::RENEWED_MS;

use crate::facts::TenantPerson;

/// So often it is looked at.
pub const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Notes of one write.
pub const NOTES_AT_ONCE: usize = 500;

/// Who was noted, and when.
#[derive(Debug, Default, PartialEq)]
pub struct NotedStreams(BTreeMap<TenantPerson, UtcMillis>);

/// What is to be noted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct StreamChanges {
    pub open: Vec<TenantPerson>,
    pub ended: Vec<TenantPerson>,
}

impl NotedStreams {
    pub fn find_changes(&self, open: &[TenantPerson], now: UtcMillis) -> StreamChanges {
        let is_due = |whose: &&TenantPerson| self.0.get(*whose).is_none_or(|at| now.since(*at) >= RENEWED_MS);
        let there: BTreeSet<&TenantPerson> = open.iter().collect();
        StreamChanges {
            open: open.iter().filter(is_due).cloned().collect(),
            ended: self.0.keys().filter(|whose| !there.contains(whose)).cloned().collect(),
        }
    }

    pub fn has(&self, whose: &TenantPerson) -> bool {
        self.0.contains_key(whose)
    }

    pub fn add_open(&mut self, whose: &[TenantPerson], now: UtcMillis) {
        self.0.extend(whose.iter().map(|whose| (whose.clone(), now)));
    }

    pub fn remove_ended(&mut self, whose: &[TenantPerson]) {
        whose.iter().for_each(|whose| {
            self.0.remove(whose);
        });
    }
}

#[cfg(test)]
mod tests {
    use model::{Person, Tenant};

    use super::*;

    #[test]
    fn what_began_lasts_or_ended_is_noted_in_time() {
        let who = |name: &str| (Tenant::new("main").unwrap(), Person::new(name).unwrap());
        let check = |noted: &[(&str, i64)], open: &[&str], expected: (&[&str], &[&str])| {
            let noted = NotedStreams(noted.iter().map(|(name, at)| (who(name), UtcMillis(*at))).collect());
            let open: Vec<TenantPerson> = open.iter().map(|name| who(name)).collect();
            let StreamChanges { open, ended } = noted.find_changes(&open, UtcMillis(RENEWED_MS));
            let names = |of: &[TenantPerson]| of.iter().map(|(_, name)| name.to_string()).collect::<Vec<_>>();
            assert_eq!(
                (names(&open), names(&ended)),
                (
                    expected.0.iter().map(ToString::to_string).collect(),
                    expected.1.iter().map(ToString::to_string).collect(),
                )
            );
        };
        check(&[], &[], (&[], &[]));
        check(&[], &["ann"], (&["ann"], &[]));
        check(&[("ann", 1)], &["ann"], (&[], &[]));
        check(&[("ann", 0)], &["ann"], (&["ann"], &[]));
        check(&[("ann", 0), ("ben", 1)], &["cleo"], (&["cleo"], &["ann", "ben"]));
    }
}
