//! Who did something, as a change says it. Of somebody without an account only a hash is kept.

use std::sync::Arc;

use model::{Actor, ActorId, Person, Tenant, limits::ID_BYTES_MAX};
use source_text::{quote_text, suggest_name};
use wire::{CloudChange, token::LinkSecret};

use crate::admission_error::{AdmissionError, describe_bad_name, refuse_at};

const PERSON: &str = "person";
const ANONYMOUS: &str = "anonymous";
const SYSTEM: &str = "system";

/// The actor of a change, if it names one.
pub(crate) fn parse_actor(
    cloud: &CloudChange,
    tenant: &Tenant,
    secret: &LinkSecret,
) -> Result<Option<Actor>, AdmissionError> {
    let name = cloud.actor_name.as_deref().and_then(clean_name);
    let id = match (cloud.actor_kind.as_deref(), cloud.actor.as_deref()) {
        (None, None) if name.is_none() => return Ok(None),
        (None | Some(PERSON), Some(person)) => {
            let person = Person::new(person);
            ActorId::Person(person.map_err(|bad| AdmissionError::new("/actor", describe_bad_name(&bad)))?)
        }
        (Some(ANONYMOUS), Some(text)) => ActorId::Anonymous(secret.hash_anonymous(tenant, text)),
        (Some(SYSTEM), None) => ActorId::System,
        (Some(SYSTEM), Some(_)) => {
            return refuse_at("/actor", "with `actorkind` `system` there is no `actor`: leave it out");
        }
        (None | Some(PERSON | ANONYMOUS), None) => {
            return refuse_at("/actor", "`actor` is missing; without one, say `actorkind` `system`");
        }
        (Some(other), _) => {
            let help = suggest_name(other, [PERSON, ANONYMOUS, SYSTEM]);
            return refuse_at(
                "/actorkind",
                format!("there is no sort of actor `{}`: {help}", quote_text(other)),
            );
        }
    };
    Ok(Some(Actor { id, name }))
}

/// What to call somebody is no reason to lose what they did: of a name that is too long the beginning is kept, and of any
/// name only what can be read.
fn clean_name(text: &str) -> Option<Arc<str>> {
    let plain: String = text.chars().filter(|c| !c.is_control() && !turns_text(*c)).collect();
    let cut = &plain[..plain.floor_char_boundary(ID_BYTES_MAX)];
    (!cut.trim().is_empty()).then(|| cut.trim().into())
}

/// Whether a character breaks lines, or turns the direction of what stands behind it, in a mail the sentence of others.
fn turns_text(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
