//! What is said over HTTP, and what is kept of it so that a repeated request hears the same.

use std::collections::BTreeMap;

use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use catalogue::Catalogue;
use model::{Tenant, UtcMillis, civil_time::ZoneRules};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use source_text::{did_you_mean, list_choices};
use wire::{CloudChange, CloudError};

use crate::{
    admission::{AdmittedItem, CloudEventSort, admit_cloud_event},
    admission_error::{AdmissionError, quote_text},
    config::{BEHIND_RETRY_SECS, BUSY_RETRY_SECS},
    effects::IntakeVerdict,
    note::{self, ChangeNote},
};

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IngestAnswer {
    pub status: StatusCode,
    /// JSON.
    pub body: String,
    retry_secs: Option<u32>,
}

/// An item of a body that was not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RejectedItem {
    pub index: usize,
    pub refused: AdmissionError,
}

impl IngestAnswer {
    /// What was taken and what not: 202 if anything was, and only after all of that is durable.
    pub fn from_items(accepted: usize, rejected: &[RejectedItem], notes: &[(usize, ChangeNote)]) -> Self {
        let status = if accepted == 0 { StatusCode::BAD_REQUEST } else { StatusCode::ACCEPTED };
        let rejected: Vec<_> = rejected
            .iter()
            .map(|RejectedItem { index, refused }| json!({"index": index, "reason": refused.reason, "at": refused.at}))
            .collect();
        let mut body = json!({"accepted": accepted, "rejected": rejected});
        if !notes.is_empty() {
            let note =
                |(index, note): &(usize, ChangeNote)| json!({"index": index, "note": note.to_string()});
            body["notes"] = notes.iter().map(note).collect();
        }
        Self { status, body: body.to_string(), retry_secs: None }
    }

    /// What of mails of ours came back, once that is durable.
    pub fn for_returns(taken: usize) -> Self {
        Self { status: StatusCode::OK, body: json!({"accepted": taken}).to_string(), retry_secs: None }
    }

    /// The body could not even be taken apart.
    pub fn unreadable(error: &CloudError) -> Self {
        let body = json!({"error": error.reason, "at": error.at}).to_string();
        Self { status: StatusCode::BAD_REQUEST, body, retry_secs: None }
    }

    pub fn error(status: StatusCode, reason: &str) -> Self {
        Self { status, body: json!({"error": reason}).to_string(), retry_secs: None }
    }

    pub fn unauthorized(reason: &str) -> Self {
        Self::error(StatusCode::UNAUTHORIZED, reason)
    }

    /// An engine is busy: nothing was acknowledged, and the same may be sent again.
    pub fn busy(reason: &str) -> Self {
        let answer = Self::error(StatusCode::SERVICE_UNAVAILABLE, reason);
        Self { retry_secs: Some(BUSY_RETRY_SECS), ..answer }
    }

    /// The house is behind with what it was told already.
    pub fn behind() -> Self {
        let answer = Self::error(StatusCode::TOO_MANY_REQUESTS, "the house is behind; come again later");
        Self { retry_secs: Some(BEHIND_RETRY_SECS), ..answer }
    }

    /// The lists of this tenant came to more rows than it may have.
    pub fn over_quota(retry_secs: u32) -> Self {
        let reason = "the lists of this tenant came to too many rows a minute; come again later";
        let answer = Self::error(StatusCode::TOO_MANY_REQUESTS, reason);
        Self { retry_secs: Some(retry_secs), ..answer }
    }

    pub fn full(reason: &str) -> Self {
        Self::error(StatusCode::INSUFFICIENT_STORAGE, reason)
    }
}

impl IntoResponse for IngestAnswer {
    fn into_response(self) -> Response {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(secs) = self.retry_secs {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(secs));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"tidings\""));
        }
        (self.status, headers, self.body).into_response()
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
        catalogue: &Catalogue,
        zones: &ZoneRules,
    ) -> Self {
        let mut judged = Self::default();
        let mut fields = note::StrangeFieldNotes::default();
        for (index, item) in items.into_iter().enumerate() {
            let item =
                item.map_err(|error| AdmissionError::new(pointer_in_item(&error.at, index), error.reason));
            let verdict = item.and_then(|cloud| {
                check_path(sort, &cloud.what)?;
                let strange = if sort == CloudEventSort::Change {
                    fields.note_fields(&cloud, catalogue)
                } else {
                    Vec::new()
                };
                Ok((admit_cloud_event(cloud, tenant, first_seen, catalogue, zones)?, strange))
            });
            match verdict {
                Ok((admitted, mut notes)) => {
                    if let AdmittedItem::Change(change) = &admitted {
                        notes.extend(note::note_change(change, catalogue));
                    }
                    for note in notes {
                        judged.notes.entry(note).or_insert(index);
                    }
                    judged.admitted.push(admitted);
                    judged.indices.push(index);
                }
                Err(refused) => judged.rejected.push(RejectedItem { index, refused }),
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

    /// The answer, once the admitted ones are durable.
    pub fn answer(mut self, verdicts: Vec<IntakeVerdict>) -> IngestAnswer {
        let mut accepted = 0;
        for (index, verdict) in self.indices.into_iter().zip(verdicts) {
            match verdict {
                // Whether somebody was erased is nobody else's business.
                IntakeVerdict::Taken | IntakeVerdict::Ignored => accepted += 1,
                IntakeVerdict::Refused(refused) => self.rejected.push(RejectedItem { index, refused }),
            }
        }
        self.rejected.sort_by_key(|rejected| rejected.index);
        let mut notes: Vec<(usize, ChangeNote)> =
            self.notes.into_iter().map(|(note, index)| (index, note)).collect();
        notes.sort();
        IngestAnswer::from_items(accepted, &self.rejected, &notes)
    }
}

fn check_path(place: CloudEventSort, what: &str) -> Result<(), AdmissionError> {
    let sort = CloudEventSort::from_type(what)?;
    if sort == place {
        return Ok(());
    }
    let what = quote_text(what);
    // What is no fact looks like a change, and a slip in a fact's type would be sent astray.
    if sort == CloudEventSort::Change {
        let help = did_you_mean(&what, place.types())
            .unwrap_or_else(|| format!("here it is {}", list_choices(place.types())));
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
    let of_line = at.strip_prefix("line ").and_then(|at| at.split_once(' ')).map(|(_, at)| at);
    match of_list.or(of_line) {
        Some("") => "/",
        Some(inside) if inside.starts_with('/') => inside,
        _ => at,
    }
}

/// What a request with an idempotency key asks for: the same key with anything else is a mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdempotentRequest(pub [u8; 32]);

impl IdempotentRequest {
    /// The attributes are those in headers; a body that has its own has none there.
    pub fn from_request(sort: CloudEventSort, attributes: &[(String, Vec<u8>)], body: &[u8]) -> Self {
        let mut hash = Sha256::new().chain_update(sort.path()).chain_update([0]);
        for (name, value) in attributes {
            let length = value.len().to_be_bytes();
            hash = hash.chain_update(name).chain_update([0]).chain_update(length).chain_update(value);
        }
        Self(hash.chain_update(body).finalize().into())
    }

    pub fn mismatch() -> IngestAnswer {
        let reason = "this idempotency key came with another request before";
        IngestAnswer::error(StatusCode::UNPROCESSABLE_ENTITY, reason)
    }

    /// What is written before anything is done: when the request was first seen. A retry after a crash is
    /// judged by the same instant, so it writes the same rows.
    pub fn encode_first_seen(self, at: UtcMillis) -> Vec<u8> {
        [self.0.as_slice(), &at.0.to_be_bytes()].concat()
    }

    pub fn decode_first_seen(bytes: &[u8]) -> Option<(Self, UtcMillis)> {
        let (asked, at) = bytes.split_first_chunk::<32>()?;
        Some((Self(*asked), UtcMillis(i64::from_be_bytes(at.try_into().ok()?))))
    }

    /// What is written when all is done: the answer.
    pub fn encode_answer(self, answer: &IngestAnswer) -> Vec<u8> {
        [self.0.as_slice(), &answer.status.as_u16().to_be_bytes(), answer.body.as_bytes()].concat()
    }

    pub fn decode_answer(bytes: &[u8]) -> Option<(Self, IngestAnswer)> {
        let (asked, rest) = bytes.split_first_chunk::<32>()?;
        let (status, body) = rest.split_first_chunk::<2>()?;
        let status = StatusCode::from_u16(u16::from_be_bytes(*status)).ok()?;
        let body = String::from_utf8(body.to_vec()).ok()?;
        Some((Self(*asked), IngestAnswer { status, body, retry_secs: None }))
    }
}
