//! What a person can mute, as the name of the flag that says so.

use crate::id::{Kind, Person, SubjectRef};

/// Names of flags begin so.
pub const SORTS: [&str; 4] = ["kind", "actor", "subject", "thread"];

pub fn kind_field(kind: &Kind) -> String {
    format!("kind {kind}")
}

pub fn actor_field(actor: &Person) -> String {
    format!("actor {actor}")
}

pub fn subject_field(subject: &SubjectRef) -> String {
    format!("subject {subject}")
}

/// A thread is named by the subject that it hangs on.
pub fn thread_field(of: &SubjectRef) -> String {
    format!("thread {of}")
}
