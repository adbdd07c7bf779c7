//! In which order entries of a section are told.

use catalogue::{Catalogue, truth::ReaderFacts};
use model::{
    AudienceMatch, EntryKey, EntryReason, SubjectRef, UtcMillis, Value,
    person::profile,
    plan::{Plan, SectionOrder},
};

use crate::facts::DigestFacts;

/// The rank of what has nothing to be ranked by.
const LAST: f64 = f64::MIN;

#[allow(clippy::cast_precision_loss, reason = "a rank only orders, and such instants fit 53 bits for ages")]
fn instant_rank(at: UtcMillis) -> f64 {
    at.0 as f64
}

impl DigestFacts {
    pub(super) fn rank_entry(
        &self,
        reader: &ReaderFacts<'_>,
        subject: &SubjectRef,
        at: EntryKey,
        reasons: &[EntryReason],
        (plan, catalogue): (&Plan, &Catalogue),
    ) -> f64 {
        let section = reasons.iter().filter_map(|reason| plan.section_of(&reason.kind)).min();
        let Some(section) = section.and_then(|index| plan.sections.get(index)) else { return LAST };
        let field = |name: &str| self.world.state(reader.tenant, subject).and_then(|state| state.get(name));
        let rank = match &section.order {
            SectionOrder::Newest | SectionOrder::Diverse => Some(instant_rank(at.occurred)),
            SectionOrder::Oldest => Some(-instant_rank(at.occurred)),
            SectionOrder::Priority => {
                let kinds = reasons.iter().filter_map(|reason| catalogue.kinds.get(&reason.kind));
                kinds.map(|kind| kind.priority).min().map(|priority| -f64::from(priority))
            }
            SectionOrder::Soonest(name) => match field(name) {
                Some(Value::Time(at)) => Some(-instant_rank(*at)),
                _ => None,
            },
            SectionOrder::Best(name) => match field(name) {
                Some(Value::Number(number)) => Some(*number),
                _ => None,
            },
            SectionOrder::Score => {
                let scores = reasons.iter().filter_map(|reason| match reason.because {
                    AudienceMatch::Listed(score) => Some(score),
                    _ => None,
                });
                scores.max().map(model::PersonScore::value)
            }
            SectionOrder::Nearest(name) => {
                let here = profile::find_place(reader.profile);
                here.zip(field(name).and_then(Value::as_place))
                    .map(|(here, there)| -here.at.distance_km(there))
            }
        };
        rank.unwrap_or(LAST)
    }
}
