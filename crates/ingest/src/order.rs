//! Order: what is said without a time of its own happened in the order in which it was said.
//!
//! All of a request, and all that a client appended at once, was first seen at one instant. Its changes are told in
//! their order, so they follow one another by a millisecond. And what is said twice of one thing, a follow and its end,
//! has to have two versions, or the values would settle which of them stands.

use std::collections::HashMap;

use model::{SubjectRef, UtcMillis};
use wire::CloudChange;

use crate::{
    admission::{AdmittedItem, DEVICE, ERASE, FOLLOW, MUTE, PREFERENCE, PROFILE, UNFOLLOW, UNMUTE, WELCOME},
    config::IN_A_ROW_MAX,
};

/// Gives facts of one moment their versions. Each comes with when it was first seen.
pub(crate) fn order_facts<'a>(clouds: impl Iterator<Item = (&'a mut CloudChange, UtcMillis)>) {
    let mut said: HashMap<(UtcMillis, String), i64> = HashMap::new();
    for (cloud, seen) in clouds.filter(|(cloud, _)| cloud.time.is_none() && cloud.version.is_none()) {
        let Some(about) = fact_identity(cloud) else { continue };
        let before = said.entry((seen, about)).or_default();
        if *before > 0 {
            cloud.version = Some(seen.plus(*before).0);
        }
        *before += 1;
    }
}

/// What a fact is true of: a later one about the same overrides it.
fn fact_identity(cloud: &CloudChange) -> Option<String> {
    let field = |name: &str| cloud.data.get(name).map(ToString::to_string).unwrap_or_default();
    match cloud.what.as_str() {
        PROFILE => Some(format!("profile {}", field("person"))),
        DEVICE => Some(format!("device {} {}", field("person"), field("device"))),
        FOLLOW | UNFOLLOW => Some(format!("follow {} {}", field("person"), field("target"))),
        MUTE | UNMUTE | PREFERENCE => {
            let of = ["channel", "kind", "category", "actor", "subject", "thread"].map(field).join(" ");
            Some(format!("preference {} {of}", field("person")))
        }
        ERASE | WELCOME => Some(format!("erase {}", field("person"))),
        _ => None,
    }
}

/// Gives changes of one moment their times, and the versions of their fields.
pub(crate) fn order_changes(admitted: &mut [AdmittedItem]) {
    let mut in_a_row: HashMap<UtcMillis, i64> = HashMap::new();
    let mut said: HashMap<(UtcMillis, SubjectRef), i64> = HashMap::new();
    for one in admitted {
        if let AdmittedItem::Revocation(revocation) = one
            && !revocation.has_time
        {
            // It means what was said before it, and nothing that is said after it.
            let place = in_a_row.entry(revocation.until).or_default();
            revocation.until = revocation.until.plus((*place).min(IN_A_ROW_MAX));
            *place += 1;
        }
        let AdmittedItem::Change(change) = one else { continue };
        if change.stated.time {
            continue;
        }
        let seen = change.occurred;
        if !change.stated.version {
            let of = |(_, subject): &(_, SubjectRef)| (seen, subject.clone());
            let before =
                change.subjects.iter().filter_map(|one| said.get(&of(one)).copied()).max().unwrap_or(0);
            said.extend(change.subjects.iter().map(|one| (of(one), before + 1)));
            change.set_version(seen.plus(before).0);
        }
        let place = in_a_row.entry(seen).or_default();
        change.occurred = seen.plus((*place).min(IN_A_ROW_MAX));
        *place += 1;
    }
}
