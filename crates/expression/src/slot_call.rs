//! `slot(1)`: a place of a mail at which something stands that is chosen when the mail is opened. A text has the addresses of its
//! picture and of its page, which are the same whatever that is.

use minijinja::machinery::ast;

use crate::{
    check::TextChecker,
    value_type::{TextScope, TextValueType},
};

/// The name of the function, and of the list of all places.
pub const SLOT: &str = "slot";
pub const SLOTS: &str = "slots";

/// What stands at a place.
fn slot_type() -> TextValueType {
    let parts = [("image", TextValueType::Url), ("link", TextValueType::Url), ("alt", TextValueType::Text)];
    TextValueType::record(SLOT, false, parts)
}

impl TextScope<'_> {
    /// The same where a text has so many slots.
    #[must_use]
    pub fn with_slots(mut self, places: u16) -> Self {
        self.slots = places;
        self.names.insert(SLOTS.to_string(), TextValueType::list(slot_type()));
        self
    }
}

impl TextChecker<'_> {
    /// The type of a call of `slot`.
    pub(crate) fn slot_type(&mut self, call: &ast::Spanned<ast::Call<'_>>) -> TextValueType {
        let places = self.scope.slots;
        if places == 0 {
            let help = "name a list of slots at the plan: `slots: NAME`; only mails have some".to_string();
            self.add_finding(call.span(), "there are no slots here", help);
            return slot_type();
        }
        let [ast::CallArg::Pos(place)] = &call.args[..] else {
            self.add_finding(
                call.span(),
                "`slot` takes one number, its place",
                "write `slot(1)`".to_string(),
            );
            return slot_type();
        };
        let of = self.expression_type(place);
        let is_there = |place: i64| (1..=i64::from(places)).contains(&place);
        match place.as_const().map(|value| i64::try_from(value).ok().filter(|place| is_there(*place))) {
            Some(None) => {
                let help = format!("the list has the places 1 to {places}");
                self.add_finding(place.span(), "there is no such slot", help);
            }
            None if !matches!(of, TextValueType::Number | TextValueType::Any) => {
                self.add_finding(place.span(), format!("a place is a number, this is {of}"), None);
            }
            Some(Some(_)) | None => {}
        }
        slot_type()
    }
}
