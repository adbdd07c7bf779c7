//! The doors of a mail's foot. All of them lead to the page behind its signed link, and say what it is to show first.

use catalogue::{Catalogue, KindDef};
use minijinja::Value as Scripted;
use model::{
    PlanName, SubjectRef, VersionedState,
    plan::{KeyPart, Plan},
};

use crate::{
    input::ItemInput,
    values::{named_value, web_address},
};

/// The link of a mail, by which its reader is known.
#[derive(Clone, Copy)]
pub struct FootLinks<'a>(pub Option<&'a str>);

impl FootLinks<'_> {
    /// The link that ends the mails.
    pub fn unsubscribe_link(self) -> Scripted {
        self.link_to("")
    }

    /// The link to all that the reader can choose.
    pub fn settings_link(self) -> Scripted {
        self.link_to("/settings")
    }

    /// The link to what waits.
    pub fn rest_link(self) -> Scripted {
        self.link_to("/rest")
    }

    /// The link to where one asks for less of what this names.
    pub fn less_link(self, of: Option<&str>) -> Scripted {
        of.map_or(Scripted::UNDEFINED, |of| self.link_to(&less_query(of)))
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

/// What a link has behind it that asks for less of something.
pub fn less_query(of: &str) -> String {
    format!("?less={}", encode_name(of))
}

/// What a mail that tells these is about as a whole, as its plan keeps things apart: one subject, what one hangs on, or one kind.
/// Nothing where it is about more, and of what nobody can turn off.
pub fn find_mail_scope<'a>(
    plan: &Plan,
    catalogue: &'a Catalogue,
    items: impl IntoIterator<Item = &'a ItemInput<'a>>,
) -> Option<&'a str> {
    let items: Vec<&ItemInput<'_>> = items.into_iter().collect();
    let kinds: Vec<&KindDef> = items.iter().filter_map(|item| catalogue.kinds.get(item.kind)).collect();
    if kinds.len() < items.len() || kinds.iter().any(|kind| kind.critical) {
        return None;
    }
    let is_apart = |part: fn(&KeyPart) -> bool| plan.key.iter().any(part);
    let one = |names: Vec<&'a str>| {
        let first = *names.first()?;
        names.iter().all(|name| *name == first).then_some(first)
    };
    let subject = || one(items.iter().map(|item| item.subject.as_str()).collect());
    let thread = || {
        let target = |(kind, item): (&&'a KindDef, &&'a ItemInput<'_>)| {
            mute_target(kind, item.subject, item.state).as_str()
        };
        one(kinds.iter().zip(&items).map(target).collect())
    };
    let kind = || one(kinds.iter().map(|kind| kind.name.as_str()).collect());
    if is_apart(|part| *part == KeyPart::Subject) {
        return subject();
    }
    if is_apart(|part| matches!(part, KeyPart::Field(_))) {
        return thread();
    }
    is_apart(|part| *part == KeyPart::Kind).then(kind).flatten()
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

    const CATALOGUE: &str = r#"
catalogue: letters
subjects:
  page: {title: text, book: ref book, author: person}
  book: {title: text}
kinds:
  linked: {on: page.linked, to: {person: author}, thread: book, says: x, plans: [ping]}
  quoted: {like: linked, on: page.quoted}
  locked: {like: linked, on: page.locked, critical: true}
plans:
  ping: {channel: push, close: at_once, look_back: 3d, headline: x, body: x, sections: [{title: x, kinds: [linked, quoted, locked], most: 9}]}
"#;

    #[test]
    fn a_mail_is_about_what_its_plan_keeps_apart() {
        let read = |name: &str| Err(format!("no {name}"));
        let catalogue =
            Catalogue::parse(CATALOGUE, "x", &read).unwrap_or_else(|problems| panic!("{problems}"));
        let plan = catalogue.plans.by_name.values().next().unwrap();
        let words = crate::ItemWords::default();
        let check = |key: &[KeyPart], told: &[(&str, &str, &str)], expected: Option<&str>| {
            let plan = Plan { key: key.to_vec(), ..plan.clone() };
            let owned: Vec<_> = told
                .iter()
                .map(|(kind, page, book)| {
                    let book = model::Value::Ref(SubjectRef::new(book).unwrap());
                    let state = VersionedState::from_values(1, [("book", Some(book))]);
                    (model::Kind::new(kind).unwrap(), SubjectRef::new(page).unwrap(), state)
                })
                .collect();
            let items: Vec<ItemInput<'_>> = owned
                .iter()
                .map(|(kind, subject, state)| ItemInput {
                    kind,
                    subject,
                    state,
                    reasons: &[],
                    maybe: false,
                    words: &words,
                })
                .collect();
            assert_eq!(find_mail_scope(&plan, &catalogue, &items), expected, "{key:?} {told:?}");
        };
        let book = KeyPart::Field("book".to_owned());
        let same = [("linked", "page:1", "book:1"), ("quoted", "page:1", "book:1")];
        let thread = [("linked", "page:1", "book:1"), ("linked", "page:2", "book:1")];
        check(&[], &same, None);
        check(&[KeyPart::Subject], &same, Some("page:1"));
        check(&[KeyPart::Subject, KeyPart::Kind], &same[..1], Some("page:1"));
        check(&[KeyPart::Subject], &thread, None);
        check(std::slice::from_ref(&book), &thread, Some("book:1"));
        check(&[book], &[thread[0], ("linked", "page:3", "book:2")], None);
        check(&[KeyPart::Kind], &thread, Some("linked"));
        check(&[KeyPart::Kind], &same, None);
        check(&[KeyPart::Kind], &[], None);
        // Nobody can turn it off, so that less of it would change nothing.
        check(&[KeyPart::Kind], &[("locked", "page:1", "book:1")], None);
        check(&[KeyPart::Kind], &[("gone", "page:1", "book:1")], None);
    }

    #[test]
    fn a_name_cannot_end_its_value() {
        let check = |name: &str, expected: &str| assert_eq!(encode_name(name), expected);
        check("author:1", "author:1");
        check("a&do=on#x", "a%26do%3Don%23x");
        check("é\r\n\"<>' %", "%C3%A9%0D%0A%22%3C%3E%27%20%25");
    }
}
