//! Which work is urgent: an engine that has to let its requests wait takes those of urgent work first.

tokio::task_local! {
    static URGENT: ();
}

/// Does urgent work.
pub async fn run_urgently<T>(work: impl Future<Output = T>) -> T {
    URGENT.scope((), work).await
}

/// Whether the work at hand is urgent.
pub fn is_urgent() -> bool {
    URGENT.try_with(|()| ()).is_ok()
}

/// The same work, as urgent as the one at hand is now, wherever it runs.
pub fn inherit_urgency<T>(work: impl Future<Output = T>) -> impl Future<Output = T> {
    let urgent = is_urgent();
    async move { if urgent { run_urgently(work).await } else { work.await } }
}
