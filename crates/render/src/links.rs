//! The doors of a mail's foot. All of them lead to the page behind its signed link, and say what it is to show first.

use catalogue::{Catalogue, KindDef};
use minijinja::Value as Scripted;
use model::{PlanName, SubjectRef, VersionedState};

use crate::values::{named_value, web_address};

/// The link of a mail, by which its reader is known.
#[derive(Clone, Copy)]
pub struct FootLinks<'a>(pub Option<&'a str>);

impl FootLinks<'_> {
    /// The link that ends the mails.
    pub fn unsubscribe_link(self) -> Scripted {
        self.link_to("")
    }

    /// The link to what waits.
    pub fn rest_link(self) -> Scripted {
        self.link_to("/rest")
    }

    /// The link to where one asks for less of what this names.
    pub fn less_link(self, of: Option<&str>) -> Scripted {
        of.map_or(Scripted::UNDEFINED, |of| self.link_to(&format!("?less={}", encode_name(of))))
    }

    /// The other plans that the reader may have, each with its link.
    pub fn alternative_links(
        self,
        plan: &PlanName,
        catalogue: &Catalogue,
        title_of: &dyn Fn(&PlanName) -> String,
    ) -> Scripted {
        let other = |name: &PlanName| {
            let parts = [
                ("plan", Scripted::from(name.as_str())),
                ("title", Scripted::from(title_of(name))),
                ("link", self.link_to(&format!("?plan={}", encode_name(name.as_str())))),
            ];
            named_value(name.to_string(), parts)
        };
        let others = catalogue.alternatives(plan).into_iter().filter(|_| self.0.is_some());
        Scripted::from(others.map(|plan| other(&plan.name)).collect::<Vec<_>>())
    }

    fn link_to(self, what: &str) -> Scripted {
        self.0.map_or(Scripted::UNDEFINED, |link| Scripted::from(web_address(&format!("{link}{what}"))))
    }
}

/// The target of "less of this": the thread of the entry if it has exactly one, else its subject.
pub fn mute_target<'a>(
    kind: &'a KindDef,
    subject: &'a SubjectRef,
    state: &'a VersionedState,
) -> &'a SubjectRef {
    match kind.threads(subject, Some(state)) {
        [thread] => thread,
        _ => subject,
    }
}

/// A name as it stands in the query of an address.
fn encode_name(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte);
    name.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_end_its_value() {
        let check = |name: &str, expected: &str| assert_eq!(encode_name(name), expected);
        check("author:1", "author:1");
        check("a&do=on#x", "a%26do%3Don%23x");
        check("é\r\n\"<>' %", "%C3%A9%0D%0A%22%3C%3E%27%20%25");
    }
}
