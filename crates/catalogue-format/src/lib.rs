//! The format of a catalogue, declared once: each map with its keys, and of each key the value, the default, a sentence for
//! people and the version in which it came. The reader takes from it which keys are known, [`crate::schema`] makes a JSON
//! Schema of it for editors, and [`crate::reference`] a page.
//!
//! The tests walk this table over every catalogue that there is: a key that is not read, a word or a bound that the reader
//! does not have, a default that is not what holds without the key, fail there.

pub mod limits;
pub mod reference;
pub mod schema;
pub mod words;

mod events;
mod forms;
mod holds;
mod plans;
mod root;
mod slots;

pub use events::{AUDIENCE, CATEGORY, KIND};
pub use forms::LENGTH;
pub use holds::{CAP, CAPPED_MAX, FOLLOWS, ONLINE, QUIET, SURFACE_MAP};
pub use plans::{ALONE, CLOSE, ENTRIES_MAX, MAIL, ORDER, PLAN, PUSH, REST, SECTION, SHARED};
pub use root::{CATALOGUE, SOURCE};
pub use slots::{SLOT_BANNER, SLOT_LIST, SLOT_TABLE};

/// The version in which most keys came.
pub const FIRST_VERSION: &str = "0.1.0";

/// One key of a map.
pub struct FormatKey {
    pub name: &'static str,
    pub value: FormatValue,
    /// What holds unless it is set, if that can be written.
    pub default: Option<&'static str>,
    pub doc: &'static str,
    pub since: &'static str,
}

/// What may stand at a key.
pub enum FormatValue {
    /// A text of this form.
    Text(&'static TextForm),
    /// `true` or `false`.
    Flag,
    /// A whole number.
    Number {
        least: u16,
        most: u16,
    },
    /// A length of time, in milliseconds.
    Length {
        least_ms: i64,
        most_ms: i64,
    },
    /// One of some words.
    Words(&'static [&'static str]),
    /// A list, or one value alone.
    Some(&'static FormatValue),
    /// A list of so many.
    List {
        of: &'static FormatValue,
        least: usize,
        most: usize,
    },
    Map(&'static MapFormat),
    /// A map by names of one's own.
    Named(&'static NamedValues),
    /// One of these.
    Either(&'static [FormatValue]),
}

/// The form of a text.
pub struct TextForm {
    /// What it is called in the reference.
    pub name: &'static str,
    /// A regular expression of JSON Schema that each has which the reader takes; empty: any text.
    pub pattern: &'static str,
}

/// A map: what it is called in messages, and its keys.
pub struct MapFormat {
    pub title: &'static str,
    /// By this the schema and the page name it.
    pub id: &'static str,
    pub doc: &'static str,
    pub groups: &'static [&'static KeyGroup],
    /// What stands at names of one's own beside the keys.
    pub names: Option<&'static NamedValues>,
    /// Which keys go together; one of these holds. The first key that one needs is its own, where there are several.
    pub combinations: &'static [KeyCombination],
}

/// Keys that stand together on the page.
pub struct KeyGroup {
    pub title: &'static str,
    pub keys: &'static [FormatKey],
}

/// What stands at names of one's own.
pub struct NamedValues {
    pub name: &'static TextForm,
    pub value: FormatValue,
    pub most: usize,
}

/// Keys that go together.
pub struct KeyCombination {
    /// The key by which it is chosen, and what stands there.
    pub chosen_by: Option<(&'static str, FormatValue)>,
    pub needs: &'static [&'static str],
    pub optional: OptionalKeys,
}

/// What may stand beside the keys that a combination needs.
pub enum OptionalKeys {
    /// Every other key of the map.
    Any,
    Only(&'static [&'static str]),
    /// Every other key, except these and those of these groups.
    AllBut(&'static [&'static str], &'static [&'static KeyGroup]),
}

impl FormatKey {
    pub const fn new(name: &'static str, value: FormatValue, doc: &'static str) -> Self {
        Self { name, value, default: None, doc, since: FIRST_VERSION }
    }

    /// With what holds unless it is set.
    pub const fn unless_set(
        name: &'static str,
        value: FormatValue,
        default: &'static str,
        doc: &'static str,
    ) -> Self {
        Self { name, value, default: Some(default), doc, since: FIRST_VERSION }
    }
}

impl MapFormat {
    /// All keys, in the order in which they are offered.
    pub fn keys(&self) -> impl Iterator<Item = &'static FormatKey> {
        self.groups.iter().flat_map(|group| group.keys)
    }

    pub fn key_names(&self) -> impl Iterator<Item = &'static str> {
        self.keys().map(|key| key.name)
    }

    pub fn has(&self, key: &str) -> bool {
        self.key_names().any(|name| name == key)
    }

    /// The keys that each combination needs.
    pub fn needed(&self) -> Vec<&'static str> {
        let needs = |name: &&str| self.combinations.iter().all(|one| one.needs.contains(name));
        self.key_names().filter(needs).collect()
    }

    /// The first keys of its combinations, where each has one of its own.
    pub fn ways(&self) -> impl Iterator<Item = (&'static str, &'static KeyCombination)> {
        self.combinations.iter().filter_map(|one| Some((*one.needs.first()?, one)))
    }
}

impl KeyCombination {
    pub const fn new(needs: &'static [&'static str], optional: OptionalKeys) -> Self {
        Self { chosen_by: None, needs, optional }
    }

    pub const fn chosen_by(
        key: &'static str,
        value: FormatValue,
        needs: &'static [&'static str],
        optional: OptionalKeys,
    ) -> Self {
        Self { chosen_by: Some((key, value)), needs, optional }
    }

    /// Whether a key of its map may stand there.
    pub fn has(&self, key: &str) -> bool {
        let is_optional = match &self.optional {
            OptionalKeys::Any => true,
            OptionalKeys::Only(keys) => keys.contains(&key),
            OptionalKeys::AllBut(keys, groups) => {
                !keys.contains(&key) && !groups.iter().any(|group| group.has(key))
            }
        };
        is_optional || self.needs.contains(&key)
    }
}

impl KeyGroup {
    /// The names of its keys.
    pub fn key_names(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().map(|key| key.name)
    }

    fn has(&self, key: &str) -> bool {
        self.key_names().any(|name| name == key)
    }
}
