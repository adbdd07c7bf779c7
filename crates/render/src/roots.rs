//! What is given to a text at its root: sections, groups, items.

use std::collections::BTreeMap;

use catalogue::Catalogue;
use expression::{DIRECTION, LANGUAGE, OTHER, SLOTS, VARIANT};
use languages::ReaderLanguage;
use minijinja::Value as Scripted;
use model::{EntryReason, FieldType, Kind, SubjectRef};

use crate::{
    groups::{self, GroupHead, ItemGroup},
    input::{ItemInput, MailInput, RenderError, SectionInput},
    limits::SAYS_CHARS_MAX,
    links::{FootLinks, mute_target},
    messages_said::SPOKEN,
    reason_words::ReasonTeller,
    renderer::{MessageRenderer, TextPart},
    text_cleaning,
    values::{MailViews, NamedValue, SpokenLanguage, WallMoment, named_value, web_address},
};

/// Variants are numbers below this, which so many texts as ten can be taken from evenly.
const VARIANTS: u64 = 2_520;

/// What is given to a text at its root.
pub type TextRoots = BTreeMap<&'static str, Scripted>;

/// One item, and by what it stands with others.
struct PreparedItem<'a> {
    name: String,
    says: String,
    parts: BTreeMap<String, Scripted>,
    why: String,
    input: ItemInput<'a>,
    heads: Vec<GroupHead>,
}

impl PreparedItem<'_> {
    /// As a text sees it, with what is still to be said of why it is told.
    fn value(&self, also: &str) -> Scripted {
        let mut parts = self.parts.clone();
        parts.insert("also".to_string(), Scripted::from(also));
        Scripted::from_object(NamedValue { parts, name: self.name.clone() })
    }

    fn full_value(&self) -> Scripted {
        self.value(&self.why)
    }
}

impl MessageRenderer {
    /// What is said of each item and why, for a list that has no layout.
    pub(crate) fn say_items(&self, input: &MailInput<'_>) -> Result<Vec<(String, String)>, RenderError> {
        let language = self.catalogue.language_for(input.language);
        let (telling, mut views) = self.build_tellers(&language, input);
        let items = input.sections.iter().flat_map(|section| &section.items);
        let say =
            |item| self.prepare_item(item, input, &telling, &mut views).map(|item| (item.says, item.why));
        items.map(say).collect()
    }

    /// What says to a reader why they are told, and what things are called.
    fn build_tellers<'a>(
        &'a self,
        language: &'a ReaderLanguage,
        input: &MailInput<'a>,
    ) -> (ReasonTeller<'a>, MailViews<'a>) {
        let MailInput { zone, due, related, persons, place, .. } = *input;
        let views = MailViews::new(&self.catalogue, language, zone, due, related);
        (ReasonTeller { catalogue: &self.catalogue, language, persons, place }, views)
    }

    pub(crate) fn build_roots(&self, input: &MailInput<'_>) -> Result<TextRoots, RenderError> {
        let language = self.catalogue.language_for(input.language);
        let (telling, mut views) = self.build_tellers(&language, input);
        let mut made = Vec::new();
        for section in input.sections {
            let items: Result<Vec<_>, _> = section
                .items
                .iter()
                .map(|item| self.prepare_item(item, input, &telling, &mut views))
                .collect();
            made.push((section, items?));
        }
        let first = made.iter().map(|(_, items)| items).find(|items| !items.is_empty());
        let lead = first.and_then(|first| self.find_lead(input, first));
        let items: Vec<Scripted> =
            made.iter().flat_map(|(_, items)| items).map(PreparedItem::full_value).collect();
        let leads = lead.map(|at| items[at].clone());
        let mut sections = Vec::new();
        for (section, items) in made.iter().filter(|(_, items)| !items.is_empty()) {
            let own = lead.filter(|_| sections.is_empty());
            sections.push(self.section_value(section, items, own, input, (&telling, &views)));
        }
        let more: usize = input.sections.iter().map(|section| section.more).sum();
        let name = input
            .name
            .map(|name| text_cleaning::clean_line(name, usize::MAX))
            .filter(|name| !name.is_empty());
        let moment = WallMoment::new(input.due, input.zone, input.due, &language);
        let postal =
            self.catalogue.postal.as_ref().map(|postal| Scripted::from(text_cleaning::clean_value(postal)));
        let doors = FootLinks(input.unsubscribe);
        let mut roots = TextRoots::from(language_roots(&self.catalogue, &language));
        roots.extend([
            ("name", name.map_or(Scripted::UNDEFINED, Scripted::from)),
            ("due", moment.map_or(Scripted::UNDEFINED, Scripted::from_object)),
            ("count", Scripted::from(items.len())),
            ("more", Scripted::from(more)),
            (VARIANT, Scripted::from(input.variant % VARIANTS)),
            ("plan", Scripted::from(input.plan.as_str())),
            ("items", Scripted::from(items)),
            ("sections", Scripted::from(sections)),
            ("lead", leads.unwrap_or(Scripted::UNDEFINED)),
            ("postal", postal.unwrap_or(Scripted::UNDEFINED)),
            (SLOTS, self.slot_values(input, &language)),
            ("unsubscribe", doors.unsubscribe_link()),
            ("settings", doors.settings_link()),
            ("rest", if more > 0 { doors.rest_link() } else { Scripted::UNDEFINED }),
            (
                "instead",
                doors.alternative_links(input.plan, &self.catalogue, &|plan| {
                    self.plan_title_in(plan, &language)
                }),
            ),
        ]);
        Ok(roots)
    }

    /// The first item of the first section with the picture that the plan's mails are led by.
    fn find_lead(&self, input: &MailInput<'_>, all: &[PreparedItem<'_>]) -> Option<usize> {
        let field = self.catalogue.mails.get(input.plan)?.lead.as_deref()?;
        all.iter().position(|PreparedItem { input: item, .. }| {
            let declared = self.catalogue.subjects.get(item.subject.kind());
            let declared = declared.and_then(|subject| subject.fields.get(field));
            let address = item.state.text(field).map(web_address).unwrap_or_default();
            declared == Some(&FieldType::Url) && !address.is_empty()
        })
    }

    fn section_value(
        &self,
        section: &SectionInput<'_>,
        items: &[PreparedItem<'_>],
        lead: Option<usize>,
        input: &MailInput<'_>,
        told: (&ReasonTeller<'_>, &MailViews<'_>),
    ) -> Scripted {
        let doors = FootLinks(input.unsubscribe);
        let places = (0..items.len()).filter(|at| Some(*at) != lead);
        let groups = groups::group_items(places.map(|at| (at, items[at].heads.clone())));
        let of = |places: &[usize]| places.iter().map(|at| &items[*at]).collect::<Vec<_>>();
        let said = |group: &ItemGroup| self.group_value(group.head.as_ref(), &of(&group.items), doors, told);
        let (alone, together): (Vec<&ItemGroup>, Vec<&ItemGroup>) =
            groups.iter().partition(|group| group.items.len() == 1);
        let alone: Vec<usize> = alone.iter().flat_map(|group| group.items.iter().copied()).collect();
        let alone = (!alone.is_empty()).then(|| self.group_value(None, &of(&alone), doors, told));
        let one_kind = shared_value(items.iter(), |item| item.input.kind).map(Kind::as_str);
        let title = text_cleaning::clean_value(&self.say_title_in(section.title, told.0.language));
        let parts = [
            ("title", Scripted::from(title.as_str())),
            ("items", items.iter().map(PreparedItem::full_value).collect()),
            ("groups", groups.iter().map(said).collect()),
            ("blocks", together.into_iter().map(said).chain(alone).collect()),
            ("more", Scripted::from(section.more)),
            ("less", doors.less_link(one_kind)),
        ];
        named_value(title, parts)
    }

    fn group_value(
        &self,
        head: Option<&GroupHead>,
        items: &[&PreparedItem<'_>],
        doors: FootLinks<'_>,
        (telling, views): (&ReasonTeller<'_>, &MailViews<'_>),
    ) -> Scripted {
        let subject = match head {
            Some(GroupHead::Of(subject)) => Some(subject),
            Some(GroupHead::Text(_)) | None => None,
        };
        let name = match head {
            Some(GroupHead::Of(subject)) => views.name_of(subject),
            Some(GroupHead::Text(text)) => text_cleaning::clean_line(text, usize::MAX),
            None => String::new(),
        };
        // Only where it ends all that stands here.
        let hangs = |item: &&PreparedItem<'_>, on: &SubjectRef| {
            let kind = self.catalogue.kinds.get(item.input.kind);
            kind.is_some_and(|kind| kind.threads(item.input.subject, Some(item.input.state)).contains(on))
        };
        let less = subject.filter(|on| items.iter().all(|item| hangs(item, on))).map(SubjectRef::as_str);
        // What all of it is told for is said at the head, and of each thing only what is left.
        let of_all = groups::common_reasons(items.iter().map(|item| item.input.reasons));
        let also = |item: &&PreparedItem<'_>| {
            let left = |reason: &&EntryReason| !of_all.iter().any(|one| groups::is_same_reason(one, reason));
            let reasons: Vec<EntryReason> = item.input.reasons.iter().filter(left).cloned().collect();
            item.value(&telling.reason_sentence(&ItemInput { reasons: &reasons, ..item.input }, views))
        };
        let first = items.first().filter(|_| !of_all.is_empty());
        let why =
            first.map(|item| telling.reason_sentence(&ItemInput { reasons: &of_all, ..item.input }, views));
        let parts = [
            ("name", Scripted::from(name.as_str())),
            ("items", items.iter().map(also).collect()),
            ("count", Scripted::from(items.len())),
            ("why", Scripted::from(why.unwrap_or_default())),
            ("less", doors.less_link(less)),
            ("subject", subject.and_then(|subject| views.known_view(subject)).unwrap_or(Scripted::UNDEFINED)),
        ];
        named_value(name, parts)
    }

    fn prepare_item<'a>(
        &self,
        item: &ItemInput<'a>,
        input: &MailInput<'a>,
        telling: &ReasonTeller<'_>,
        views: &mut MailViews<'a>,
    ) -> Result<PreparedItem<'a>, RenderError> {
        let kind =
            self.catalogue.kinds.get(item.kind).ok_or_else(|| RenderError::NoKind(item.kind.clone()))?;
        let subject = views.subject(item.subject, item.state);
        let mut roots: BTreeMap<String, Scripted> =
            views.references(item.subject, item.state).into_iter().collect();
        let other = telling.other_party(item);
        roots.insert("subject".to_string(), subject.clone());
        // Of each thing its own, or a mail of ten would say ten times the same.
        let own = xxhash_rust::xxh3::xxh3_64_with_seed(item.subject.as_str().as_bytes(), input.variant);
        roots.insert(VARIANT.to_string(), Scripted::from(own % VARIANTS));
        // Not there rather than empty, so that a sentence can say `default("Somebody")`.
        if let Some(other) = &other {
            roots.insert(OTHER.to_string(), Scripted::from(other.as_str()));
        }
        let words = views.words(kind, item.words);
        for (name, value) in &words {
            roots.entry((*name).to_string()).or_insert_with(|| value.clone());
        }
        for (name, value) in language_roots(&self.catalogue, telling.language) {
            roots.entry(name.to_string()).or_insert(value);
        }
        let sentence = match &kind.bundle {
            Some(bundle) if item.words.count > 1 => TextPart::SaysMany(kind, bundle),
            _ => TextPart::Says(kind),
        };
        let says = text_cleaning::clean_sentence(&self.render(sentence, &roots)?, SAYS_CHARS_MAX);
        let said = Scripted::from(says.as_str());
        let name = views.name(item.subject, item.state);
        let name = if name.is_empty() { says.clone() } else { name };
        let why = telling.reason_sentence(item, views);
        let less = FootLinks(input.unsubscribe)
            .less_link(Some(mute_target(kind, item.subject, item.state).as_str()));
        let parts = [
            ("kind", Scripted::from(kind.name.as_str())),
            ("says", said),
            ("why", Scripted::from(why.as_str())),
            ("distance", Scripted::from(telling.distance_words(item))),
            (OTHER, Scripted::from(other.unwrap_or_default())),
            ("maybe", Scripted::from(item.maybe)),
            ("name", Scripted::from(name.as_str())),
            ("less", less),
            ("subject", subject),
        ];
        let parts = parts.into_iter().chain(words);
        let parts = parts.map(|(part, value)| (part.to_string(), value)).collect();
        let heads = self.item_heads(item, input, views);
        Ok(PreparedItem { name, says, parts, why, input: *item, heads })
    }

    /// Under what an item may stand: what has no name is no head.
    fn item_heads(
        &self,
        item: &ItemInput<'_>,
        input: &MailInput<'_>,
        views: &MailViews<'_>,
    ) -> Vec<GroupHead> {
        let plan = self.catalogue.plans.by_name.get(input.plan);
        let section = plan.and_then(|plan| plan.sections.get(plan.section_of(item.kind)?));
        let Some(field) = section.and_then(|section| section.group.as_deref()) else { return Vec::new() };
        let mut heads = groups::list_heads(field, item.state, item.reasons);
        heads.retain(|head| match head {
            GroupHead::Of(subject) => !views.name_of(subject).is_empty(),
            GroupHead::Text(text) => !text_cleaning::clean_line(text, usize::MAX).is_empty(),
        });
        heads
    }
}

/// The language as texts read it, and as the words of texts do.
pub fn language_roots(catalogue: &Catalogue, language: &ReaderLanguage) -> [(&'static str, Scripted); 3] {
    let book = catalogue.messages.book_of(language);
    [
        (LANGUAGE, Scripted::from(language.tag())),
        (DIRECTION, Scripted::from(language.direction().name())),
        (SPOKEN, Scripted::from_object(SpokenLanguage(language.clone(), book))),
    ]
}

/// What all of these have, if that is one and the same.
fn shared_value<T, V: PartialEq>(all: impl IntoIterator<Item = T>, of: impl Fn(T) -> V) -> Option<V> {
    let mut values = all.into_iter().map(of);
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}
