//! What is said over HTTP: what became of each item of a body, or why of none.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use house_facts::recall::REVOKE;
use model::{Tenant, UtcMillis};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use source_text::{did_you_mean, list_choices, quote_text};
use web::{HttpProblem, ProblemType, idempotency::IdempotentAnswer};
use wire::{CloudChange, CloudError, token::LinkSecret};

use crate::{
    admission::{AdmittedItem, CloudEventSort, admit_cloud_event},
    admission_error::AdmissionError,
    admission_rules::AdmissionRules,
    config::BEHIND_RETRY_SECS,
    effects::IntakeVerdict,
    ingest_error::IngestError,
    note::{self, ChangeNote},
};

/// What became of a body's items.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize)]
pub struct IngestReport {
    /// How many items were accepted, and are durable.
    pub accepted: usize,
    /// The others.
    pub rejected: Vec<RejectedItem>,
    /// Accepted items that are probably mistakes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub notes: Vec<NotedItem>,
}

/// An item of a body that was not accepted.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize)]
pub struct RejectedItem {
    /// Its place in the body, from 0.
    pub index: usize,
    pub reason: String,
    /// A JSON pointer into the item, empty for the whole of it; or line and column of the body.
    pub at: String,
}

/// An item of a body that was accepted and is probably not what was meant.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize)]
pub struct NotedItem {
    /// Its place in the body, from 0.
    pub index: usize,
    pub note: String,
}

/// What of mails of ours came back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize)]
pub struct ReturnReport {
    /// How many reports were about mails of this house.
    pub accepted: usize,
}

impl IngestReport {
    /// 202 if anything was accepted, and only after all of that is durable.
    pub fn into_answer(self) -> Result<IdempotentAnswer<Self>, HttpProblem> {
        if self.accepted > 0 {
            return IdempotentAnswer::new(StatusCode::ACCEPTED, &self);
        }
        let detail = match self.rejected.len() {
            0 => "the body has no items".to_owned(),
            1 => "the only item was refused".to_owned(),
            many => format!("all {many} items were refused"),
        };
        let Value::Object(members) = serde_json::to_value(&self)? else {
            return Err(anyhow::anyhow!("a report is an object").into());
        };
        let problem = HttpProblem::new(ProblemType::NothingAccepted, detail).with_members(members);
        Ok(IdempotentAnswer::from_problem(&problem))
    }
}

/// The body could not even be taken apart.
pub fn describe_unreadable(error: &CloudError) -> HttpProblem {
    HttpProblem::new(ProblemType::UnreadableBody, &error.reason).with_pointer(&error.at)
}

/// The house is behind with what it was told already.
pub fn describe_lag() -> HttpProblem {
    HttpProblem::from_text(ProblemType::HouseBehind, "the house is behind; retry later")
        .with_retry(BEHIND_RETRY_SECS)
}

/// The lists of this tenant came to more rows than it may have.
pub fn describe_quota(retry_secs: u32) -> HttpProblem {
    let reason = "the lists of this tenant make too many rows a minute; retry later";
    HttpProblem::from_text(ProblemType::QuotaExceeded, reason).with_retry(retry_secs)
}

/// Why nothing was acknowledged.
pub fn describe_failure(error: IngestError) -> HttpProblem {
    match error {
        IngestError::Busy(reason) => HttpProblem::busy(reason),
        IngestError::Full(reason) => HttpProblem::new(ProblemType::DiskFull, reason),
        IngestError::Broken(_) => error.into(),
    }
}

/// A body, judged item by item.
#[derive(Debug, Default)]
pub struct JudgedBody {
    pub admitted: Vec<AdmittedItem>,
    /// Where each admitted one stands in the body.
    indices: Vec<usize>,
    rejected: Vec<RejectedItem>,
    /// Each once, with the first item that it is about.
    notes: BTreeMap<ChangeNote, usize>,
}

impl JudgedBody {
    /// Judges what a body brings to the place of one sort.
    pub fn judge(
        items: Vec<Result<CloudChange, CloudError>>,
        sort: CloudEventSort,
        (tenant, first_seen): (&Tenant, UtcMillis),
        rules: AdmissionRules<'_>,
        secret: &LinkSecret,
    ) -> Self {
        let (mut judged, catalogue) = (Self::default(), rules.catalogue);
        let mut fields = note::StrangeFieldNotes::default();
        for (index, item) in items.into_iter().enumerate() {
            let item =
                item.map_err(|error| AdmissionError::new(pointer_in_item(&error.at, index), error.reason));
            let verdict = item.and_then(|cloud| {
                check_path(sort, &cloud.what)?;
                let strange = if sort == CloudEventSort::Change && cloud.what != REVOKE {
                    fields.note_fields(&cloud, catalogue)
                } else {
                    Vec::new()
                };
                Ok((admit_cloud_event(cloud, tenant, first_seen, rules, secret)?, strange))
            });
            match verdict {
                Ok((admitted, mut notes)) => {
                    notes.extend(match &admitted {
                        AdmittedItem::Change(change) => note::note_change(change, catalogue),
                        AdmittedItem::Preference(fact) => note::note_preference(fact, catalogue),
                        _ => None,
                    });
                    for note in notes {
                        judged.notes.entry(note).or_insert(index);
                    }
                    judged.admitted.push(admitted);
                    judged.indices.push(index);
                }
                Err(refused) => judged.rejected.push(rejected_item(index, refused)),
            }
        }
        judged
    }

    /// The rows that its lists come to.
    pub fn rows(&self) -> u64 {
        let rows = self.admitted.iter().map(|one| match one {
            AdmittedItem::Change(change) => change.persons.len() * change.subjects.len(),
            _ => 0,
        });
        rows.sum::<usize>() as u64
    }

    /// How many were not admitted.
    pub fn rejected(&self) -> usize {
        self.rejected.len()
    }

    /// What is said, once the admitted ones are durable.
    pub fn into_report(mut self, verdicts: Vec<IntakeVerdict>) -> IngestReport {
        let mut accepted = 0;
        for (index, verdict) in self.indices.into_iter().zip(verdicts) {
            match verdict {
                // Whether somebody was erased is nobody else's business.
                IntakeVerdict::Taken | IntakeVerdict::Ignored => accepted += 1,
                IntakeVerdict::Refused(refused) => self.rejected.push(rejected_item(index, refused)),
            }
        }
        self.rejected.sort_by_key(|rejected| rejected.index);
        let mut notes: Vec<(usize, ChangeNote)> =
            self.notes.into_iter().map(|(note, index)| (index, note)).collect();
        notes.sort();
        let notes = notes.into_iter().map(|(index, note)| NotedItem { index, note: note.to_string() });
        IngestReport { accepted, rejected: self.rejected, notes: notes.collect() }
    }
}

fn rejected_item(index: usize, refused: AdmissionError) -> RejectedItem {
    RejectedItem { index, reason: refused.reason, at: refused.at }
}

fn check_path(place: CloudEventSort, what: &str) -> Result<(), AdmissionError> {
    let sort = CloudEventSort::from_type(what)?;
    if sort == place {
        return Ok(());
    }
    let what = quote_text(what);
    // What is no fact looks like a change, and a slip in a fact's type would be sent astray.
    if sort == CloudEventSort::Change && what != REVOKE {
        let help = did_you_mean(&what, place.types())
            .unwrap_or_else(|| format!("this path takes {}", list_choices(place.types())));
        return Err(AdmissionError::new(
            "/type",
            format!("`{what}` is a change, taken at {}: {help}", sort.path()),
        ));
    }
    Err(AdmissionError::new("/type", format!("`{what}` is taken at {}", sort.path())))
}

/// An item's own errors point into the item: its place in the body is told by its index.
fn pointer_in_item(at: &str, index: usize) -> &str {
    let of_list = at.strip_prefix('/').and_then(|at| at.strip_prefix(&index.to_string()));
    // What is about a whole line ends behind its number.
    let of_line = at.strip_prefix("line ").map(|at| at.split_once(' ').map_or("", |(_, inside)| inside));
    match of_list.or(of_line) {
        Some(inside) if inside.is_empty() || inside.starts_with('/') => inside,
        _ => at,
    }
}
