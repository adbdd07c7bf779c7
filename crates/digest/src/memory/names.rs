//! Names that come again and again, kept once and written as a number: tenants, plans and their rules, caps, surfaces.
//! Not persons, and not the keys of windows: there is no end to those.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use model::{Person, PlanName, Tenant, person::PersonRecord};

use super::{
    PersonKey,
    bytes::{PackedReader, put_count, put_number, put_text},
};

/// Names of one sort that are kept. What comes then is written in full, so that a catalogue that changes every hour
/// costs bytes and no more.
const KEPT_MAX: usize = 4_000;

#[derive(Default, Debug)]
pub struct RecordNames {
    tenants: NumberedNames<Tenant>,
    pub plans: NumberedNames<PlanName>,
    pub rules: NumberedNames<u64>,
    /// Of caps and surfaces.
    pub words: NumberedNames<Arc<str>>,
}

impl RecordNames {
    /// Keeps the names in a record. What is written and was not learnt before is written in full, and would not be
    /// found by its number's bytes later: so this comes first.
    pub fn learn(&mut self, key: &PersonKey, record: &PersonRecord) {
        self.tenants.learn(&key.0);
        for window in &record.windows {
            self.plans.learn(&window.plan);
            self.rules.learn(&window.plan_hash);
        }
        record.told_on.keys().for_each(|plan| self.plans.learn(plan));
        record.told.iter().for_each(|told| self.plans.learn(&told.plan));
        record.badge.iter().for_each(|badge| self.plans.learn(&badge.plan));
        record.counted.keys().chain(record.seen.keys()).for_each(|word| self.words.learn(word));
    }

    /// Whose record it is, with which its bytes begin.
    pub fn encode_key(&self, (tenant, person): &PersonKey) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        self.tenants.put(&mut out, tenant);
        put_text(&mut out, person.as_str());
        out
    }

    /// The key at the beginning of bytes.
    pub fn read_key(&self, bytes: &[u8]) -> Option<PersonKey> {
        let mut bytes = PackedReader(bytes);
        let tenant = self.tenants.take(&mut bytes)?;
        Some((tenant, Person::new(bytes.text()?).ok()?))
    }

    /// What stands behind the key.
    pub fn behind_key<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let mut bytes = PackedReader(bytes);
        self.tenants.take(&mut bytes)?;
        bytes.text()?;
        Some(bytes.0)
    }
}

/// Names of one sort.
#[derive(Debug)]
pub struct NumberedNames<T> {
    places: HashMap<T, usize>,
    names: Vec<T>,
}

impl<T> Default for NumberedNames<T> {
    fn default() -> Self {
        Self { places: HashMap::new(), names: Vec::new() }
    }
}

impl<T: PackedName> NumberedNames<T> {
    fn learn(&mut self, name: &T) {
        if self.names.len() < KEPT_MAX && !self.places.contains_key(name) {
            self.places.insert(name.clone(), self.names.len());
            self.names.push(name.clone());
        }
    }

    /// Its number from one on, or zero and itself.
    pub fn put(&self, out: &mut Vec<u8>, name: &T) {
        match self.places.get(name) {
            Some(place) => put_count(out, place + 1),
            None => {
                put_number(out, 0);
                name.put(out);
            }
        }
    }

    pub fn take(&self, bytes: &mut PackedReader<'_>) -> Option<T> {
        match bytes.count()?.checked_sub(1) {
            Some(place) => self.names.get(place).cloned(),
            None => T::take(bytes),
        }
    }
}

/// What can be written in full.
pub trait PackedName: Clone + Eq + Hash {
    fn put(&self, out: &mut Vec<u8>);
    fn take(bytes: &mut PackedReader<'_>) -> Option<Self>;
}

impl PackedName for Tenant {
    fn put(&self, out: &mut Vec<u8>) {
        put_text(out, self.as_str());
    }

    fn take(bytes: &mut PackedReader<'_>) -> Option<Self> {
        Self::new(bytes.text()?).ok()
    }
}

impl PackedName for PlanName {
    fn put(&self, out: &mut Vec<u8>) {
        put_text(out, self.as_str());
    }

    fn take(bytes: &mut PackedReader<'_>) -> Option<Self> {
        Self::new(bytes.text()?).ok()
    }
}

impl PackedName for Arc<str> {
    fn put(&self, out: &mut Vec<u8>) {
        put_text(out, self);
    }

    fn take(bytes: &mut PackedReader<'_>) -> Option<Self> {
        bytes.text().map(Self::from)
    }
}

/// The hash of a plan's rules.
impl PackedName for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    fn take(bytes: &mut PackedReader<'_>) -> Option<Self> {
        bytes.array().map(Self::from_le_bytes)
    }
}
