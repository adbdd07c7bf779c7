//! The queue in which spans wait to leave. It has an end, and nobody waits for it.

use std::{
    fmt,
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    time::Duration,
};

use crate::{
    ended_span::EndedSpan,
    metrics::{FULL, TraceMetrics},
};

/// Where spans that ended are put.
pub(crate) struct SpanOutlet {
    metrics: TraceMetrics,
    /// Nobody takes any more once it is closed.
    queue: Mutex<Option<SyncSender<EndedSpan>>>,
}

impl fmt::Debug for SpanOutlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpanOutlet").finish_non_exhaustive()
    }
}

/// Where spans that ended are taken from.
#[derive(Debug)]
pub struct SpanQueue(Receiver<EndedSpan>);

impl SpanOutlet {
    pub fn open(waiting_max: usize, metrics: TraceMetrics) -> (Self, SpanQueue) {
        let (queue, taken) = sync_channel(waiting_max);
        (Self { metrics, queue: Mutex::new(Some(queue)) }, SpanQueue(taken))
    }

    /// Never waits: a span for which there is no room is dropped.
    pub fn push(&self, ended: EndedSpan) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = queue.as_ref().is_some_and(|queue| queue.try_send(ended).is_ok());
        if !has_room {
            self.metrics.count_spans(FULL, 1);
        }
    }

    pub fn close(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl SpanQueue {
    /// The next spans: waits for the first so long at most, and takes as many as are there. `None` when there will be no
    /// more.
    pub fn take_batch(&self, most: usize, patience: Duration) -> Option<Vec<EndedSpan>> {
        let first = match self.0.recv_timeout(patience) {
            Ok(first) => first,
            Err(RecvTimeoutError::Timeout) => return Some(Vec::new()),
            Err(RecvTimeoutError::Disconnected) => return None,
        };
        Some(std::iter::once(first).chain(self.0.try_iter()).take(most).collect())
    }
}
