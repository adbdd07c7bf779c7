//! What entries of a bundle have in common, where a client wants another key than the catalogue has.

use std::sync::Arc;

use catalogue::Catalogue;

use crate::bundle::FeedEntry;

/// By what entries are bundled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BundleRule {
    /// As the kinds of the catalogue say.
    #[default]
    Catalogue,
    Kind,
    Category,
    Subject,
    Actor,
    /// Each entry stands alone.
    Alone,
}

impl BundleRule {
    pub const ALL: [Self; 6] =
        [Self::Catalogue, Self::Kind, Self::Category, Self::Subject, Self::Actor, Self::Alone];

    pub fn name(self) -> &'static str {
        match self {
            Self::Catalogue => "catalogue",
            Self::Kind => "kind",
            Self::Category => "category",
            Self::Subject => "subject",
            Self::Actor => "actor",
            Self::Alone => "none",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.name() == name)
    }

    /// An entry with its key by this rule; one that lacks what the rule asks for stands alone.
    pub fn apply(self, entry: Arc<FeedEntry>, catalogue: &Catalogue) -> Arc<FeedEntry> {
        let key = match self {
            Self::Catalogue => return entry,
            Self::Kind => Some(entry.kind.to_string()),
            Self::Category => catalogue.kinds.get(&entry.kind).and_then(|kind| kind.category.clone()),
            Self::Subject => Some(entry.subject.to_string()),
            Self::Actor => entry.actor.as_ref().map(|actor| actor.id.to_string()),
            Self::Alone => None,
        };
        // Not a key of the catalogue, whatever that one is.
        let bundle = key.map(|key| format!("{}\n{key}", self.name()).into());
        Arc::new(FeedEntry { bundle, ..FeedEntry::clone(&entry) })
    }
}
