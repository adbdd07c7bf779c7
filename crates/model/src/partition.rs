//! Who owns whom: one function gives a person's (and a subject's) partition, on every engine, and it is
//! given explicitly with every record. No client's own partitioner is ever used.

use std::sync::atomic::{AtomicU32, Ordering};

use xxhash_rust::xxh3::xxh3_64;

use crate::{
    fault::{self, Fault},
    id::{Person, SubjectRef, Tenant},
    limits::PARTITIONS,
};

/// The partition of a person in `pending`, `inbox`, `windows` and `ready`.
pub fn of_person(tenant: &Tenant, person: &Person) -> u32 {
    let number = of(tenant, person.as_str());
    if fault::planted(Fault::AnotherOwner) {
        return (number + ASKED.fetch_add(1, Ordering::Relaxed) % 2) % PARTITIONS;
    }
    number
}

/// How often somebody asked; only for the planted fault.
static ASKED: AtomicU32 = AtomicU32::new(0);

/// The partition of a subject in `events`.
pub fn of_subject(tenant: &Tenant, subject: &SubjectRef) -> u32 {
    of(tenant, subject.as_str())
}

fn of(tenant: &Tenant, name: &str) -> u32 {
    let mut bytes = Vec::with_capacity(tenant.as_str().len() + 1 + name.len());
    bytes.extend_from_slice(tenant.as_str().as_bytes());
    bytes.push(0); // no name holds a control character, so the two cannot run into each other
    bytes.extend_from_slice(name.as_bytes());
    u32::try_from(xxh3_64(&bytes) % u64::from(PARTITIONS)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These never change: a person who moved to another partition would lose their open windows.
    #[test]
    fn partitions_are_for_life() {
        let check = |tenant: &str, person: &str, partition: u32| {
            let found = of_person(&Tenant::new(tenant).unwrap(), &Person::new(person).unwrap());
            assert_eq!(found, partition, "{tenant}/{person}");
        };
        check("main", "ann", 28);
        check("main", "bob", 34);
        check("other", "ann", 37);
    }

    #[test]
    fn partitions_are_even() {
        let tenant = Tenant::new("main").unwrap();
        let mut counts = [0_u32; PARTITIONS as usize];
        for i in 0..64_000 {
            counts[of_person(&tenant, &Person::new(&format!("p{i}")).unwrap()) as usize] += 1;
        }
        assert!(counts.iter().all(|n| (800..1200).contains(n)), "{counts:?}");
    }
}
