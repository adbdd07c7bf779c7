//! The slots of a mail: each has the addresses at which its thing is shown and led to, and what stands where no picture is shown.

use languages::ReaderLanguage;
use minijinja::Value as Scripted;

use crate::{
    input::MailInput,
    renderer::MessageRenderer,
    text_cleaning,
    values::{named_value, web_address},
};

/// What stands behind the address of a place for the page of its thing.
pub const PAGE: &str = "go";

impl MessageRenderer {
    /// The slots of a mail, in the order of their places; none where its plan has none.
    pub(crate) fn slot_values(&self, input: &MailInput<'_>, language: &ReaderLanguage) -> Scripted {
        let list = self.catalogue.mails.get(input.plan).and_then(|mail| mail.slots.as_deref());
        let list = list.and_then(|name| self.catalogue.slots.get(name));
        let Some((list, base)) = list.zip(input.slots) else { return Scripted::UNDEFINED };
        let alt = text_cleaning::clean_value(&self.say_title_in(&list.alt, language));
        let slot = |place: u16| {
            let parts = [
                ("image", Scripted::from(web_address(&format!("{base}/{place}")))),
                ("link", Scripted::from(web_address(&format!("{base}/{place}/{PAGE}")))),
                ("alt", Scripted::from(alt.as_str())),
            ];
            named_value(alt.clone(), parts)
        };
        Scripted::from((1..=list.places).map(slot).collect::<Vec<_>>())
    }
}
