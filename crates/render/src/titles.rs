//! Titles of sections, plans and categories, which may say a message.

use catalogue::ReaderLanguage;
use model::PlanName;

use crate::{
    renderer::{MessageRenderer, TextPart, is_title_template},
    roots::{TextRoots, language_roots},
    text_cleaning,
};

impl MessageRenderer {
    /// What readers call the messages of a plan, in the language that a profile states.
    pub fn plan_title(&self, plan: &PlanName, stated: Option<&str>) -> String {
        self.plan_title_in(plan, &self.catalogue.language_for(stated))
    }

    /// A title of a section, in the language that a profile states.
    pub fn section_title(&self, title: &str, stated: Option<&str>) -> String {
        self.say_title_in(title, &self.catalogue.language_for(stated))
    }

    /// What readers call a category, in the language that a profile states.
    pub fn category_title(&self, name: &str, stated: Option<&str>) -> String {
        self.say_title_in(&self.catalogue.title_of_category(name), &self.catalogue.language_for(stated))
    }

    pub(crate) fn plan_title_in(&self, plan: &PlanName, language: &ReaderLanguage) -> String {
        self.say_title_in(&self.catalogue.title_of(plan), language)
    }

    /// One that cannot be filled in is said as it is written: it is no reason to hold a message back.
    pub(crate) fn say_title_in(&self, title: &str, language: &ReaderLanguage) -> String {
        if !is_title_template(title) {
            return title.to_owned();
        }
        let roots = TextRoots::from(language_roots(&self.catalogue, language));
        let said = self.render(TextPart::Title(title), &roots);
        said.map_or_else(|_| title.to_owned(), |said| text_cleaning::clean_sentence(&said, usize::MAX))
    }
}
