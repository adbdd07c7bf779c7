//! Keys of records. A name holds no control character, so a zero byte keeps tenant and name apart.

use sha2::{Digest as _, Sha256};

use model::{Person, SubjectRef, Tenant};

use crate::codec::DecodeError;

/// The key of a record about a person: `inbox`, `windows`, `ready`.
pub fn person_key(tenant: &Tenant, person: &Person) -> Vec<u8> {
    join_names(tenant, person.as_str())
}

/// A person in few letters, for logs: the same for the same person, and no name.
pub fn person_print(tenant: &Tenant, name: &Person) -> String {
    let hash = Sha256::digest(person_key(tenant, name));
    hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// The key of a record about a subject: `events`, `slices`.
pub fn subject_key(tenant: &Tenant, subject: &SubjectRef) -> Vec<u8> {
    join_names(tenant, subject.as_str())
}

/// The key of a record of many persons of one partition: `pending`.
pub fn partition_key(number: u32) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

/// Reads the person of a record's key.
pub fn read_person_key(key: &[u8]) -> Result<(Tenant, Person), DecodeError> {
    let (tenant, name) = split_names(key)?;
    Ok((Tenant::new(tenant)?, Person::new(name)?))
}

/// What this record is about.
pub fn read_subject_key(key: &[u8]) -> Result<(Tenant, SubjectRef), DecodeError> {
    let (tenant, name) = split_names(key)?;
    Ok((Tenant::new(tenant)?, SubjectRef::new(name)?))
}

/// Which partition's record this is.
pub fn read_partition_key(key: &[u8]) -> Result<u32, DecodeError> {
    match key.try_into() {
        Ok(bytes) => Ok(u32::from_be_bytes(bytes)),
        Err(_) => Err(DecodeError::new(format!("a partition's key has 4 bytes, not {}", key.len()))),
    }
}

fn join_names(tenant: &Tenant, name: &str) -> Vec<u8> {
    [tenant.as_str().as_bytes(), &[0], name.as_bytes()].concat()
}

fn split_names(key: &[u8]) -> Result<(&str, &str), DecodeError> {
    let text = str::from_utf8(key).map_err(|_| DecodeError::new("the key is not UTF-8"))?;
    text.split_once('\0').ok_or_else(|| DecodeError::new("the key has no zero byte after its tenant"))
}
