//! A tiny catalogue with neutral names: two kinds, two plans on one channel, and knobs to turn.

use std::sync::Arc;

use catalogue::Catalogue;

/// What differs between the catalogues of the laws.
#[derive(Clone, Debug)]
pub struct Knobs {
    /// What a section of the morning has room for.
    pub most: usize,
    /// Fewer than so many are not worth a morning's mail.
    pub at_least: usize,
    pub once_per: &'static str,
    pub morning: &'static str,
    pub morning_zone: &'static str,
    pub look_back_days: usize,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            most: 5,
            at_least: 1,
            once_per: "event",
            morning: "09:00",
            morning_zone: "person",
            look_back_days: 12,
        }
    }
}

const LAYOUT: &str = "<mjml><mj-body><mj-section><mj-column>\
    {% for item in items %}<mj-text>{{ item.says }}</mj-text>{% endfor %}\
    </mj-column></mj-section></mj-body></mjml>";
const TEXT: &str = "{% for item in items %}{{ item.says }}\n{% endfor %}";

/// The catalogue: what is made is told in the morning to who follows the work or its author, what is shown
/// in the morning too or, to who prefers it, in the evening.
pub fn catalogue(knobs: &Knobs) -> Arc<Catalogue> {
    let Knobs { most, at_least, once_per, morning, morning_zone, look_back_days } = knobs;
    let text = format!(
        r#"
catalogue: laws
subjects:
  work:   {{title: text, author: ref author, public: flag}}
  author: {{name: text}}
kinds:
  made:
    on: work.made
    to: {{followers_of: [author, subject]}}
    while: subject.public
    says: 'made {{{{ subject.title }}}}.'
    plans: [morning]
  shown:
    on: work.shown
    to: {{followers_of: author}}
    while: subject.public
    says: 'shown {{{{ subject.title }}}}.'
    plans: [evening]
plans:
  morning:
    channel: email
    close: {{daily: "{morning}", zone: {morning_zone}}}
    look_back: {look_back_days}d
    at_least: {at_least}
    once_per: {once_per}
    from: Laws <laws@example.com>
    headline: 'Made'
    template: mail.mjml
    text: mail.txt
    sections:
      - {{title: Made, kinds: [made], most: {most}, order: oldest}}
  evening:
    channel: email
    close: {{daily: "18:30", zone: Europe/Berlin}}
    look_back: {look_back_days}d
    from: Laws <laws@example.com>
    headline: 'Shown'
    template: mail.mjml
    text: mail.txt
    sections:
      - {{title: Shown, kinds: [shown], most: {most}, order: newest}}
"#
    );
    parse(&text)
}

pub fn parse(text: &str) -> Arc<Catalogue> {
    let template = |name: &str| Ok(if name == "mail.mjml" { LAYOUT } else { TEXT }.to_owned());
    let catalogue = Catalogue::parse(text, "catalogue.yaml", &template);
    Arc::new(catalogue.unwrap_or_else(|problems| panic!("{problems}")))
}
