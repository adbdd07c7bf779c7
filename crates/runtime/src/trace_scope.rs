//! In which trace the work at hand is: log lines name it, and spans begin below it.

use std::fmt;

tokio::task_local! {
    static CURRENT: TraceScope;
}

/// A span that is recorded, by its ids.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceScope {
    pub trace: [u8; 16],
    pub span: [u8; 8],
}

/// Does something within a span, if there is one.
pub async fn with_scope<T>(scope: Option<TraceScope>, work: impl Future<Output = T>) -> T {
    match scope {
        Some(scope) => CURRENT.scope(scope, work).await,
        None => work.await,
    }
}

/// The span that is at work here.
pub fn current_scope() -> Option<TraceScope> {
    CURRENT.try_with(|scope| *scope).ok()
}

/// An id as people see it: digits.
pub struct IdDigits<'a>(pub &'a [u8]);

impl fmt::Display for IdDigits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
