//! What may be asked: a page of a feed by its address, and a mark by its body.

use std::{str::FromStr as _, sync::Arc};

use catalogue::Catalogue;
use feed_bundles::{
    BundleName, FeedBundle, FeedEntry,
    cursor::FeedCursor,
    rule::BundleRule,
    visit::{FeedVisit, VISIT_CHARS_MAX},
};
use model::{EntryKey, Kind, SubjectRef, Tenant, UtcMillis, WorldSnapshot, attention::NOT_PUT_OFF};
use room::{
    catalogue_names::{find_category, find_kind, find_thread},
    feedback::parse_entry_key,
};
use schemars::JsonSchema;
use serde::Deserialize;
use source_text::list_choices;
use web::{
    HttpProblem, ProblemType,
    pagination::{CURSOR, ListParams},
};
use wire::FeedbackAction;

use crate::config::{MARK_BUNDLES_MAX, MARK_ENTRIES_MAX, PAGE_BUNDLES, PAGE_BUNDLES_MAX};

pub const KIND: &str = "kind";
pub const CATEGORY: &str = "category";
pub const THREAD: &str = "thread";
pub const UNREAD: &str = "unread";
pub const SAVED: &str = "saved";
pub const PARTS: &str = "parts";
pub const BUNDLE_BY: &str = "bundle_by";

/// A page of a feed, or of a bundle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageRequest {
    pub cursor: Option<FeedCursor>,
    pub most: usize,
    pub filter: FeedFilter,
    pub rule: BundleRule,
    pub in_parts: bool,
}

/// Which bundles are wanted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FeedFilter {
    pub kind: Option<Kind>,
    pub category: Option<String>,
    pub thread: Option<SubjectRef>,
    pub is_unread: bool,
    pub is_saved: bool,
}

/// Where it is known what entries hang on.
#[derive(Clone, Copy)]
pub struct FilterContext<'a> {
    pub catalogue: &'a Catalogue,
    pub tenant: &'a Tenant,
    pub world: &'a WorldSnapshot,
}

impl PageRequest {
    pub fn parse(asked: &ListParams, catalogue: &Catalogue) -> Result<Self, HttpProblem> {
        let cursor = asked.text(CURSOR).filter(|text| !text.is_empty());
        let cursor = cursor.map(|text| FeedCursor::parse(text).map_err(|error| refuse(CURSOR, error)));
        let rule = read_rule(asked)?;
        let filter = FeedFilter {
            kind: read_name((asked, KIND), find_kind, catalogue)?,
            category: read_name((asked, CATEGORY), find_category, catalogue)?,
            thread: read_name((asked, THREAD), find_thread, catalogue)?,
            is_unread: parse_flag(asked, UNREAD)?,
            is_saved: parse_flag(asked, SAVED)?,
        };
        Ok(Self {
            cursor: cursor.transpose()?,
            most: asked.limit(1..=PAGE_BUNDLES_MAX, PAGE_BUNDLES)?,
            filter,
            rule,
            in_parts: parse_flag(asked, PARTS)?,
        })
    }
}

fn refuse(name: &str, reason: impl std::fmt::Display) -> HttpProblem {
    HttpProblem::bad_request(format_args!("{name}: {reason}"))
}

/// A name of the catalogue, if one is given.
fn read_name<T>(
    (asked, parameter): (&ListParams, &str),
    find: impl FnOnce(&str, &Catalogue) -> Result<T, String>,
    catalogue: &Catalogue,
) -> Result<Option<T>, HttpProblem> {
    let found = asked.text(parameter).map(|name| find(name, catalogue));
    found.transpose().map_err(|reason| refuse(parameter, reason))
}

/// By what a client wants bundles.
pub fn read_rule(asked: &ListParams) -> Result<BundleRule, HttpProblem> {
    match asked.text(BUNDLE_BY) {
        None => Ok(BundleRule::default()),
        Some(name) => parse_rule(name).map_err(|reason| refuse(BUNDLE_BY, reason)),
    }
}

fn parse_rule(name: &str) -> Result<BundleRule, String> {
    BundleRule::parse(name)
        .ok_or_else(|| format!("it must be one of {}", list_choices(BundleRule::ALL.map(BundleRule::name))))
}

fn parse_flag(asked: &ListParams, name: &str) -> Result<bool, HttpProblem> {
    let Some(text) = asked.text(name) else { return Ok(false) };
    bool::from_str(text).map_err(|_| refuse(name, "it must be true or false"))
}

impl FeedFilter {
    /// Whether a bundle is wanted: one of which an entry is.
    pub fn wants(&self, bundle: &FeedBundle, context: FilterContext<'_>) -> bool {
        let Self { kind, category, thread, is_unread, is_saved } = self;
        let wants_all = kind.is_none() && category.is_none() && thread.is_none();
        let of = |entry: &Arc<FeedEntry>| {
            kind.as_ref().is_none_or(|kind| *kind == entry.kind)
                && category.as_deref().is_none_or(|category| context.is_of_category(entry, category))
                && thread.as_ref().is_none_or(|thread| context.is_in_thread(entry, thread))
        };
        (!is_unread || bundle.is_unread())
            && (!is_saved || bundle.is_saved())
            && (wants_all || bundle.entries().iter().any(of))
    }
}

impl FilterContext<'_> {
    pub fn is_of_category(self, entry: &FeedEntry, category: &str) -> bool {
        let own = self.catalogue.kinds.get(&entry.kind).and_then(|kind| kind.category.as_deref());
        own == Some(category)
    }

    /// Whether an entry is about this subject, or hangs on it.
    pub fn is_in_thread(self, entry: &FeedEntry, thread: &SubjectRef) -> bool {
        let state = self.world.state(self.tenant, &entry.subject);
        let kind = self.catalogue.kinds.get(&entry.kind);
        entry.subject == *thread
            || kind.is_some_and(|kind| kind.threads(&entry.subject, state).contains(thread))
    }
}

/// A mark, as it is sent.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MarkOrder {
    pub mark: MarkWord,
    /// Until when something is put off, in RFC 3339; of `snoozed` alone.
    #[serde(default)]
    pub until: Option<String>,
    /// What a page said: all entries that it showed. Beside one of the fields below, of those only what that page showed.
    #[serde(default)]
    #[schemars(length(max = VISIT_CHARS_MAX))]
    pub shown: Option<String>,
    #[serde(default)]
    #[schemars(length(min = 1, max = MARK_BUNDLES_MAX))]
    pub bundles: Option<Vec<String>>,
    /// By what the bundles were made, as the page was asked; the answer counts them so.
    #[serde(default)]
    pub bundle_by: Option<String>,
    #[serde(default)]
    #[schemars(length(min = 1, max = MARK_ENTRIES_MAX))]
    pub entries: Option<Vec<String>>,
    #[serde(default)]
    pub kind: Option<String>,
    #[serde(default)]
    pub category: Option<String>,
    #[serde(default)]
    pub thread: Option<String>,
    /// Everything that is listed.
    #[serde(default)]
    pub all: Option<bool>,
}

/// What the person did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MarkWord {
    Seen,
    Read,
    Unread,
    Cleared,
    Restored,
    Saved,
    Unsaved,
    Snoozed,
    Unsnoozed,
}

/// A mark that was understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MarkRequest {
    pub did: FeedbackAction,
    pub target: MarkTarget,
    /// Only what this visit showed.
    pub shown: Option<FeedVisit>,
    /// By what bundles are named, and counted afterwards.
    pub rule: BundleRule,
}

/// What a mark is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MarkTarget {
    /// All that is listed.
    All,
    Bundles(Vec<BundleName>),
    Entries(Vec<EntryKey>),
    Kind(Kind),
    Category(String),
    Thread(SubjectRef),
}

impl MarkOrder {
    pub fn parse(&self, catalogue: &Catalogue, now: UtcMillis) -> Result<MarkRequest, HttpProblem> {
        let did = self.parse_action(now)?;
        let shown = match &self.shown {
            None => None,
            Some(text) => Some(FeedVisit::parse(text).map_err(|error| wrong_at("/shown", error))?),
        };
        let rule = match &self.bundle_by {
            None => BundleRule::default(),
            Some(name) => parse_rule(name).map_err(|reason| wrong_at("/bundle_by", reason))?,
        };
        let target = self.parse_target(shown.is_some(), catalogue)?;
        let unlisted = match self.mark {
            MarkWord::Restored => Some("what was cleared is not listed: name the entries to restore"),
            MarkWord::Unsnoozed => Some("what was put off is not listed: name its entries"),
            _ => None,
        };
        if let Some(reason) = unlisted.filter(|_| !matches!(target, MarkTarget::Entries(_))) {
            return Err(wrong_at("/mark", reason));
        }
        Ok(MarkRequest { did, target, shown, rule })
    }

    fn parse_action(&self, now: UtcMillis) -> Result<FeedbackAction, HttpProblem> {
        let action = match self.mark {
            MarkWord::Snoozed => {
                let until = self.until.as_deref().ok_or_else(|| {
                    wrong_at("/until", "it is needed: an instant such as `2026-11-21T09:00:00Z`")
                })?;
                let until = UtcMillis::parse(until).ok_or_else(|| {
                    wrong_at("/until", "it is not an instant such as `2026-11-21T09:00:00Z`")
                })?;
                if until <= now {
                    return Err(wrong_at("/until", "it is over already"));
                }
                return Ok(FeedbackAction::Snoozed(until));
            }
            MarkWord::Seen => FeedbackAction::Seen,
            MarkWord::Read => FeedbackAction::Read,
            MarkWord::Unread => FeedbackAction::Unread,
            MarkWord::Cleared => FeedbackAction::Cleared,
            MarkWord::Restored => FeedbackAction::Restored,
            MarkWord::Saved => FeedbackAction::Saved,
            MarkWord::Unsaved => FeedbackAction::Unsaved,
            MarkWord::Unsnoozed => FeedbackAction::Snoozed(NOT_PUT_OFF),
        };
        if self.until.is_some() {
            return Err(wrong_at("/until", "it goes with the mark `snoozed`"));
        }
        Ok(action)
    }

    fn parse_target(&self, has_shown: bool, catalogue: &Catalogue) -> Result<MarkTarget, HttpProblem> {
        let Self { bundles, entries, kind, category, thread, all, .. } = self;
        let given = [
            bundles.is_some(),
            entries.is_some(),
            kind.is_some(),
            category.is_some(),
            thread.is_some(),
            all.is_some(),
        ];
        match given.into_iter().filter(|is| *is).count() {
            0 if has_shown => return Ok(MarkTarget::All),
            1 => {}
            _ => {
                let choices = list_choices(["bundles", "entries", KIND, CATEGORY, THREAD, "all"]);
                return Err(wrong_at("", format!("it must have one of {choices}, or `shown` alone")));
            }
        }
        if let Some(ids) = bundles {
            let parse = |text: &str| {
                BundleName::parse(text)
                    .ok_or_else(|| "it is not the name of a bundle, as a page has it".to_owned())
            };
            return parse_list("/bundles", ids, MARK_BUNDLES_MAX, parse).map(MarkTarget::Bundles);
        }
        if let Some(keys) = entries {
            return parse_list("/entries", keys, MARK_ENTRIES_MAX, parse_entry_key).map(MarkTarget::Entries);
        }
        if let Some(name) = kind {
            let found = find_kind(name, catalogue).map(MarkTarget::Kind);
            return found.map_err(|reason| wrong_at("/kind", reason));
        }
        if let Some(name) = thread {
            let found = find_thread(name, catalogue).map(MarkTarget::Thread);
            return found.map_err(|reason| wrong_at("/thread", reason));
        }
        if let Some(name) = category {
            let found = find_category(name, catalogue).map(MarkTarget::Category);
            return found.map_err(|reason| wrong_at("/category", reason));
        }
        if *all == Some(true) { Ok(MarkTarget::All) } else { Err(wrong_at("/all", "it must be true")) }
    }
}

fn parse_list<T>(
    at: &str,
    texts: &[String],
    most: usize,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, HttpProblem> {
    if texts.is_empty() || texts.len() > most {
        return Err(wrong_at(at, format!("it must have 1 to {most}")));
    }
    let one = |(number, text): (usize, &String)| {
        parse(text).map_err(|reason| wrong_at(&format!("{at}/{number}"), reason))
    };
    texts.iter().enumerate().map(one).collect()
}

/// A field of the body that is not as it must be.
pub fn wrong_at(at: &str, reason: impl std::fmt::Display) -> HttpProblem {
    HttpProblem::new(ProblemType::InvalidBody, reason).with_pointer(at)
}
