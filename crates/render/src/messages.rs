//! The messages that a renderer makes: mails, pushes, and what either would tell.

use languages::MessageValue;
use minijinja::Value as Scripted;
use model::{FieldType, PlanName};

use crate::{
    input::{ItemInput, ListedItem, MailInput, RenderError, RenderedMail, RenderedPush},
    limits::{BODY_CHARS_MAX, HEADLINE_CHARS_MAX, LONGER_CHARS_MAX, PREHEADER_CHARS_MAX},
    renderer::{MessageRenderer, PushPart, TextPart},
    roots::TextRoots,
    text_cleaning,
    values::web_address,
};

impl MessageRenderer {
    /// Renders one mail.
    pub fn render_mail(&self, input: &MailInput<'_>) -> Result<RenderedMail, RenderError> {
        let plan = input.plan;
        let mail = self.catalogue.mails.get(plan).ok_or_else(|| RenderError::NoPlan(plan.clone()))?;
        let mut roots = self.build_roots(input)?;
        let headline = text_cleaning::clean_line(
            &self.render(TextPart::Headline(plan, mail), &roots)?,
            HEADLINE_CHARS_MAX,
        );
        let preheader = if mail.preheader.is_empty() {
            first_sentence(&roots)
        } else {
            self.render(TextPart::Preheader(plan, mail), &roots)?
        };
        let preheader = text_cleaning::clean_line(&preheader, PREHEADER_CHARS_MAX);
        roots.insert("headline", Scripted::from(headline.as_str()));
        roots.insert("preheader", Scripted::from(preheader.as_str()));
        let direction = self.catalogue.language_for(input.language).direction();
        let html = self.render(TextPart::Html(plan, mail, direction), &roots)?;
        let text = text_cleaning::wrap_text(&self.render(TextPart::Text(plan, mail), &roots)?);
        Ok(RenderedMail { headline, preheader, html, text })
    }

    /// What a message would tell, without its layout.
    pub fn render_list(&self, input: &MailInput<'_>) -> Result<Vec<ListedItem>, RenderError> {
        let said = self.say_items(input)?.into_iter().zip(self.list_pages(input));
        Ok(said.map(|((says, why), page)| ListedItem { says, why, page }).collect())
    }

    /// A sentence of a list with how many others it stands for, of which it says nothing.
    pub fn say_more(&self, says: &str, more: usize, language: Option<&str>) -> String {
        let says = MessageValue::Sentence(says.to_owned());
        let language = self.catalogue.language_for(language);
        language.house_sentence("and-more", &[("says", says), ("count", more.into())])
    }

    /// Where the things of a list are at home, for who says the rest.
    pub fn list_pages(&self, input: &MailInput<'_>) -> Vec<Option<String>> {
        let items = input.sections.iter().flat_map(|section| &section.items);
        items.map(|item| self.page_address(item, input.plan)).collect()
    }

    /// Where a thing is at home: the address of its subject that the plan's mails do not show as a picture.
    fn page_address(&self, item: &ItemInput<'_>, plan: &PlanName) -> Option<String> {
        let declared = self.catalogue.subjects.get(item.subject.kind())?;
        let mail = self.catalogue.mails.get(plan);
        let is_picture = |field: &str| {
            mail.is_some_and(|mail| {
                mail.lead.as_deref() == Some(field) || shows_picture(&mail.template, field)
            })
        };
        let addresses = declared.fields.iter().filter(|(_, field)| **field == FieldType::Url);
        let (name, _) = addresses.into_iter().find(|(name, _)| !is_picture(name))?;
        Some(web_address(item.state.text(name)?)).filter(|address| !address.is_empty())
    }

    /// Renders one push.
    pub fn render_push(&self, input: &MailInput<'_>) -> Result<RenderedPush, RenderError> {
        let plan = input.plan;
        let push = self.catalogue.pushes.get(plan).ok_or_else(|| RenderError::NoPlan(plan.clone()))?;
        let roots = self.build_roots(input)?;
        let line = |part, most| {
            Ok::<_, RenderError>(text_cleaning::clean_line(
                &self.render(TextPart::Push(plan, push, part), &roots)?,
                most,
            ))
        };
        let address = |part| {
            let address = web_address(self.render(TextPart::Push(plan, push, part), &roots)?.trim());
            Ok::<_, RenderError>((!address.is_empty()).then_some(address))
        };
        Ok(RenderedPush {
            headline: line(PushPart::Headline, HEADLINE_CHARS_MAX)?,
            body: line(PushPart::Body, BODY_CHARS_MAX)?,
            longer: line(PushPart::Longer, LONGER_CHARS_MAX)?,
            image: address(PushPart::Image)?,
            opens: address(PushPart::Opens)?,
        })
    }
}

/// Whether a layout has a picture from this field of something.
fn shows_picture(layout: &str, field: &str) -> bool {
    layout.split("src=\"{{").skip(1).any(|rest| {
        let path = rest.split("}}").next().unwrap_or_default();
        path.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == field)
    })
}

fn first_sentence(roots: &TextRoots) -> String {
    let first = roots.get("items").and_then(|items| items.get_item_by_index(0).ok());
    let says = first.and_then(|item| item.get_attr("says").ok());
    says.map(|says| says.to_string()).unwrap_or_default()
}
