//! Keys of records. A name holds no control character, so a zero byte keeps tenant and name apart.

use sha2::{Digest as _, Sha256};

use model::{Person, SubjectRef, Tenant};

use crate::codec::Undecodable;

/// The key of a record about a person: `inbox`, `windows`, `ready`.
pub fn person(tenant: &Tenant, person: &Person) -> Vec<u8> {
    join(tenant, person.as_str())
}

/// A person in few letters, for logs: the same for the same person, and no name.
pub fn print(tenant: &Tenant, name: &Person) -> String {
    let hash = Sha256::digest(person(tenant, name));
    hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// The key of a record about a subject: `events`, `slices`.
pub fn subject(tenant: &Tenant, subject: &SubjectRef) -> Vec<u8> {
    join(tenant, subject.as_str())
}

/// The key of a record of many persons of one partition: `pending`.
pub fn partition(number: u32) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

/// Whose record this is.
pub fn to_person(key: &[u8]) -> Result<(Tenant, Person), Undecodable> {
    let (tenant, name) = split(key)?;
    Ok((Tenant::new(tenant)?, Person::new(name)?))
}

/// What this record is about.
pub fn to_subject(key: &[u8]) -> Result<(Tenant, SubjectRef), Undecodable> {
    let (tenant, name) = split(key)?;
    Ok((Tenant::new(tenant)?, SubjectRef::new(name)?))
}

/// Which partition's record this is.
pub fn to_partition(key: &[u8]) -> Result<u32, Undecodable> {
    match key.try_into() {
        Ok(bytes) => Ok(u32::from_be_bytes(bytes)),
        Err(_) => Err(Undecodable::new(format!("a partition's key has 4 bytes, not {}", key.len()))),
    }
}

fn join(tenant: &Tenant, name: &str) -> Vec<u8> {
    [tenant.as_str().as_bytes(), &[0], name.as_bytes()].concat()
}

fn split(key: &[u8]) -> Result<(&str, &str), Undecodable> {
    let text = str::from_utf8(key).map_err(|_| Undecodable::new("the key is not utf-8"))?;
    text.split_once('\0').ok_or_else(|| Undecodable::new("the key has no zero byte after its tenant"))
}
