//! A tiny catalogue with neutral names: two kinds, two plans on one channel, and knobs to turn.

use std::sync::Arc;

use catalogue::Catalogue;
use source_text::TextProblems;

use crate::names::LIFE;

/// What differs between the catalogues of the laws.
#[derive(Clone, Debug)]
pub struct CatalogueKnobs {
    /// What a section of the morning has room for.
    pub most: usize,
    /// Fewer than so many are not worth a morning's mail.
    pub at_least: usize,
    pub once_per: &'static str,
    pub morning: &'static str,
    /// Days of the week on which there is a morning's mail; every day, if it names none.
    pub morning_on: &'static str,
    pub morning_zone: &'static str,
    pub look_back_days: usize,
    /// What becomes of a message that may have been sent.
    pub unsure: &'static str,
    /// Whether all that a message has of one kind is told as one.
    pub bundles: bool,
}

impl Default for CatalogueKnobs {
    fn default() -> Self {
        Self {
            most: 5,
            at_least: 1,
            once_per: "event",
            morning: "09:00",
            morning_on: "",
            morning_zone: "person",
            look_back_days: 12,
            unsure: "later",
            bundles: false,
        }
    }
}

const LAYOUT: &str = "<mjml><mj-body><mj-section><mj-column>\
    {% for item in items %}<mj-text>{{ item.says }}</mj-text>{% endfor %}\
    </mj-column></mj-section></mj-body></mjml>";
const TEXT: &str = "{% for item in items %}{{ item.says }}\n{% endfor %}";

/// Which kind is told under which plan; of several plans the person may choose.
pub type KindPlanPairs = &'static [(&'static str, &'static str)];

/// All plans that any of these catalogues has.
pub const PLANS: [&str; 4] = ["morning", "evening", "weekly", "soon"];

/// The kind by which what is made is told also to who follows the work itself.
const SEEN: &str = "seen";
/// As usual: what is made or seen in the morning, what is shown in the evening.
pub const USUAL: KindPlanPairs = &[("made", "morning"), (SEEN, "morning"), ("shown", "evening")];
/// Nearly the same kinds, and the person has the choice.
pub const CHOSEN: KindPlanPairs =
    &[("made", "morning, weekly"), ("shown", "evening, soon, morning"), ("gone", "weekly")];
/// Later versions of the catalogue: kinds that have moved, a plan that is gone, a kind that is gone with its plan.
pub const CHANGED: [KindPlanPairs; 4] = [
    CHOSEN,
    &[("made", "evening"), ("shown", "morning")],
    &[("made", "morning"), ("shown", "morning")],
    &[("made", "morning")],
];

/// The usual catalogue: what happens to a work is told to who follows its author, and what is made also to who
/// follows the work itself.
pub fn knob_catalogue(knobs: &CatalogueKnobs) -> Arc<Catalogue> {
    catalogue_of(knobs, USUAL)
}

pub fn catalogue_of(knobs: &CatalogueKnobs, told: KindPlanPairs) -> Arc<Catalogue> {
    let mut text = String::from(
        "catalogue: laws\nsubjects:\n  work: {title: text, author: ref author, public: flag}\n  author: {name: text}\n\
         kinds:\n",
    );
    for (kind, plan) in told {
        let (on, target) = if *kind == SEEN { ("made", "subject") } else { (*kind, "author") };
        text += &format!(
            "  {kind}: {{on: work.{on}, to: {{followers_of: {target}}}, while: subject.public, \
             says: '{kind} {{{{ subject.title }}}}.', plans: [{plan}], unsure: {}{}}}\n",
            knobs.unsure,
            if knobs.bundles { ", bundle_by: kind, says_many: '{{ count }} works.'" } else { "" },
        );
    }
    text += "plans:\n";
    for plan in PLANS {
        let offered = told.iter().filter(|(_, plans)| plans.split(", ").any(|of| of == plan));
        let kinds: Vec<&str> = offered.map(|(kind, _)| *kind).collect();
        if !kinds.is_empty() {
            text += &plan_of(knobs, plan, &kinds.join(", "));
        }
    }
    parse_catalogue(&text)
}

fn plan_of(knobs: &CatalogueKnobs, plan: &str, kinds: &str) -> String {
    let CatalogueKnobs {
        most, at_least, once_per, morning, morning_on, morning_zone, look_back_days, ..
    } = knobs;
    let (close, at_least, order) = match plan {
        "morning" if morning_on.is_empty() => {
            (format!("{{daily: \"{morning}\", zone: {morning_zone}}}"), *at_least, "oldest")
        }
        "morning" => {
            let close = format!("{{weekly: \"{morning}\", on: {morning_on}, zone: {morning_zone}}}");
            (close, *at_least, "oldest")
        }
        "weekly" => ("{weekly: \"09:00\", on: [mon, thu], zone: person, spread: 2h}".to_owned(), 1, "oldest"),
        "soon" => ("{after: 5h}".to_owned(), 1, "newest"),
        _ => ("{daily: \"18:30\", zone: Europe/Berlin}".to_owned(), 1, "newest"),
    };
    // What a mail carries over must not be forgotten before the next one: no two of these days of the week lie
    // further apart than four days.
    let look_back_days = *look_back_days.max(if close.contains("weekly") { &8 } else { &2 });
    format!(
        "  {plan}:\n    channel: email\n    close: {close}\n    look_back: {look_back_days}d\n    at_least: {at_least}\n    \
         once_per: {once_per}\n    from: Laws <laws@example.com>\n    headline: Works\n    template: mail.mjml\n    \
         text: mail.txt\n    sections: [{{title: Works, kinds: [{kinds}], most: {most}, order: {order}}}]\n"
    )
}

pub fn parse_catalogue(text: &str) -> Arc<Catalogue> {
    read_catalogue(text).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A catalogue, or what is wrong with it.
pub fn read_catalogue(text: &str) -> Result<Arc<Catalogue>, TextProblems> {
    let template = |name: &str| Ok(if name == "mail.mjml" { LAYOUT } else { TEXT }.to_owned());
    Catalogue::parse_for(LIFE, text, "catalogue.yaml", &template).map(Arc::new)
}
