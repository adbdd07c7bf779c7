//! The decision of the intake: what a CloudEvent is admitted as, and in which pieces what was admitted is written. Pure;
//! [`crate::admission`] judges one, [`crate::effects`] says what a piece comes to.

use model::{Tenant, UtcMillis, trace::TraceParent};
use topic::TopicRecord;
use wire::{CloudChange, replay, token::LinkSecret, trace};

use crate::{
    admission::{AdmittedItem, admit_cloud_event},
    admission_error::AdmissionError,
    admission_rules::AdmissionRules,
    config::EXTRA_BYTES_MAX,
};

/// Law 3: judged against the instant at which the record was appended, whenever it is read.
pub(crate) fn judge_cloud(
    cloud: CloudChange,
    record: &TopicRecord,
    tenant: &Tenant,
    first_seen: UtcMillis,
    rules: AdmissionRules<'_>,
    secret: &LinkSecret,
) -> Result<AdmittedItem, AdmissionError> {
    let mut admitted = admit_cloud_event(cloud, tenant, first_seen, rules, secret)?;
    if let AdmittedItem::Change(change) = &mut admitted {
        change.headers = replay::carry_headers(&record.headers);
    }
    Ok(admitted)
}

/// What is announced of these changes goes on in this trace.
pub(crate) fn stamp_changes(admitted: &mut [AdmittedItem], parent: Option<&TraceParent>) {
    let Some(TraceParent { context, state, .. }) = parent else { return };
    for one in admitted {
        if let AdmittedItem::Change(change) = one {
            change.headers.extend(trace::parent_headers(*context, state.as_ref()));
        }
    }
}

/// In order, in pieces that are not much more written out than they are now.
pub(crate) fn split_pieces(admitted: Vec<AdmittedItem>) -> Vec<Vec<AdmittedItem>> {
    let mut pieces: Vec<Vec<AdmittedItem>> = Vec::new();
    let mut left = 0_usize;
    for one in admitted {
        let extra = match &one {
            AdmittedItem::Change(change) => change.extra_bytes(),
            _ => 0,
        };
        match pieces.last_mut() {
            Some(piece) if extra <= left => piece.push(one),
            _ => {
                pieces.push(vec![one]);
                left = EXTRA_BYTES_MAX;
            }
        }
        left = left.saturating_sub(extra);
    }
    pieces
}
