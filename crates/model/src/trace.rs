//! Traces, as far as rooms carry them on: opaque names of what another system records. Nothing is decided by them.

use std::{collections::BTreeMap, sync::Arc};

use crate::{entry::EntryKey, id::ReadyId, ready::Ready};

/// A place in a trace that is recorded: the trace and the span that others go on from. There is none of a trace that
/// nobody records.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TraceContext {
    pub trace: [u8; 16],
    pub span: [u8; 8],
}

impl TraceContext {
    /// 24 bytes, the trace first.
    pub fn to_bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..16].copy_from_slice(&self.trace);
        bytes[16..].copy_from_slice(&self.span);
        bytes
    }

    pub fn from_bytes(bytes: [u8; 24]) -> Self {
        let (mut trace, mut span) = ([0; 16], [0; 8]);
        trace.copy_from_slice(&bytes[..16]);
        span.copy_from_slice(&bytes[16..]);
        Self { trace, span }
    }
}

/// What somebody who calls us, or writes to us, says of the trace that they are in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceParent {
    pub context: TraceContext,
    /// Whether they record it; if not, we do not either.
    pub is_sampled: bool,
    /// What their system adds, handed on as it is.
    pub state: Option<Arc<str>>,
}

/// Contexts by the entries that they are of.
pub type EntryTraces = BTreeMap<EntryKey, TraceContext>;

/// What is linked to the telling of a Ready.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadyTraces {
    pub ready: ReadyId,
    pub links: Vec<TraceContext>,
}

/// The contexts of what a Ready tells, each once; nothing if none of it is traced.
pub fn link_ready(ready: &Ready, traces: &EntryTraces) -> Option<ReadyTraces> {
    if traces.is_empty() {
        return None;
    }
    let mut links: Vec<TraceContext> =
        ready.entries.iter().filter_map(|entry| traces.get(&entry.key).copied()).collect();
    links.sort_unstable();
    links.dedup();
    (!links.is_empty()).then_some(ReadyTraces { ready: ready.id, links })
}
