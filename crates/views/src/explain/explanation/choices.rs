//! By whose word a person is told of an entry, or is not.

use std::collections::BTreeSet;

use catalogue::choices::{ChoiceSource, FoundChoice};
use model::{Channel, EntryReason, EntryView};
use preferences::{PreferenceChoice, PreferenceField, ReadingPlace};

use super::{ExplanationBuilder, StepBearing};

impl ExplanationBuilder<'_> {
    /// How these reasons are told on a channel by now, each with its kind and who says so.
    fn find_choices(
        &self,
        channel: Channel,
        entry: &EntryView,
        reasons: &BTreeSet<EntryReason>,
    ) -> Vec<(String, FoundChoice)> {
        let told = self.tellable_entry(channel, entry, reasons);
        let of = |reason: &EntryReason| {
            let kind = self.catalogue.kinds.get(&reason.kind)?;
            let found = self.catalogue.find_choice(&self.gathered.world, self.reader, &told, (reason, kind));
            Some((reason.kind.to_string(), found))
        };
        reasons.iter().filter_map(of).collect()
    }

    /// Names what the person, or the catalogue for them, turned off and matches these reasons now. They may have ended since what
    /// counted then.
    pub(super) fn describe_mutes(
        &self,
        channel: Channel,
        entry: &EntryView,
        reasons: &BTreeSet<EntryReason>,
    ) -> String {
        let mut named = BTreeSet::new();
        let found = self.find_choices(channel, entry, reasons).into_iter();
        for (kind, found) in found.filter(|(_, found)| found.choice == PreferenceChoice::Off) {
            match found.by {
                ChoiceSource::Person(fields) => {
                    named.extend(fields.iter().map(|field| describe_field(field)));
                }
                by => {
                    let by = self.describe_source(&kind, &by);
                    named.insert(format!("`{kind}` is told only to those who choose it, by {by}"));
                }
            }
        }
        if named.is_empty() {
            return "muted at that time".to_owned();
        }
        format!("muted: {}", named.into_iter().collect::<Vec<_>>().join(" and "))
    }

    /// Notes what the person, or the catalogue for them, has chosen by now. Of what was told it may have been otherwise.
    pub(super) fn explain_choices(&mut self, channel: Channel, entry: &EntryView, when: &str) {
        let mut notes = BTreeSet::new();
        for (kind, found) in self.find_choices(channel, entry, &entry.reasons) {
            let choice = found.choice.name();
            match found.by {
                ChoiceSource::Nobody => {}
                ChoiceSource::Critical => {
                    notes.insert(format!("{channel}: `{kind}` is critical, so no preference counts"));
                }
                by => {
                    let by = self.describe_source(&kind, &by);
                    notes.insert(format!("{channel}: {when}`{kind}` is `{choice}` by {by}"));
                }
            }
        }
        for note in notes {
            self.add_step(StepBearing::Note, note);
        }
    }

    fn describe_source(&self, kind: &str, by: &ChoiceSource) -> String {
        let kind = self.catalogue.kinds.get(kind);
        let category = kind.and_then(|kind| kind.category.as_deref()).unwrap_or_default();
        match by {
            ChoiceSource::Person(fields) => {
                let fields: Vec<String> = fields.iter().map(|field| describe_field(field)).collect();
                format!("the person's choice for {}", fields.join(" and "))
            }
            ChoiceSource::Kind => "its `unless_chosen`".to_owned(),
            ChoiceSource::Tenant => {
                format!("what the category `{category}` says for the tenant {}", self.reader.tenant)
            }
            ChoiceSource::Category => format!("the `unless_chosen` of the category `{category}`"),
            ChoiceSource::Critical | ChoiceSource::Nobody => "nobody's word".to_owned(),
        }
    }
}

/// A field of the preferences, for people: kinds and categories are words of the catalogue, the rest has names of its own.
fn describe_field(field: &str) -> String {
    let PreferenceField { place, sort, of } = PreferenceField::parse(field);
    let what = match (sort, of.split_once(' ')) {
        (preferences::ALL, _) => "everything".to_owned(),
        (preferences::KIND | preferences::CATEGORY, _) => format!("the {sort} `{of}`"),
        (preferences::ABOUT, Some((kind, subject))) => format!("`{kind}` about {subject}"),
        _ => format!("the {sort} {of}"),
    };
    match place {
        None => what,
        Some(place) if place == ReadingPlace::Feed.name() => format!("{what} in the feed"),
        Some(channel) => format!("{what} by {channel}"),
    }
}
