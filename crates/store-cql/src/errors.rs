//! The class of a driver's error: retry, fewer requests, or a wrong setting.

use scylla::errors::{
    BadQuery, ConnectionError, ConnectionPoolError, ConnectionSetupRequestErrorKind, DbError, ExecutionError,
    MetadataError, NewSessionError, NextPageError, NextRowError, PagerExecutionError, PrepareError,
    RequestAttemptError, RequestError,
};
use store::StoreError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CqlErrorSort {
    /// Another try may succeed.
    Busy,
    /// So may one with fewer at once.
    Overloaded,
    /// Trying again does not cure it.
    Hopeless,
}

/// An attempt that failed. Of a write nobody knows whether it happened.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{says}")]
pub(crate) struct CqlError {
    pub sort: CqlErrorSort,
    pub says: String,
}

impl CqlError {
    pub(crate) fn hopeless(says: impl Into<String>) -> Self {
        Self { sort: CqlErrorSort::Hopeless, says: says.into() }
    }

    /// As the port tells it, with what was being done.
    pub(crate) fn into_store_error(self, what: &str) -> StoreError {
        let says = format!("{what}: {}", self.says);
        match self.sort {
            CqlErrorSort::Busy | CqlErrorSort::Overloaded => StoreError::Busy(says),
            CqlErrorSort::Hopeless => StoreError::Broken(says),
        }
    }
}

macro_rules! troubles {
    ($($error:ty => $sort:path;)*) => {$(
        impl From<$error> for CqlError {
            fn from(error: $error) -> Self {
                Self { sort: $sort(&error), says: error.to_string() }
            }
        }
    )*};
}

troubles! {
    ExecutionError => classify_execution;
    PrepareError => classify_prepare;
    PagerExecutionError => classify_pager;
    NextRowError => classify_row;
    NewSessionError => classify_session;
}

macro_rules! unreadable {
    ($($error:ty),*) => {$(
        impl From<$error> for CqlError {
            fn from(error: $error) -> Self {
                Self::hopeless(format!("an answer that cannot be read: {error}"))
            }
        }
    )*};
}

unreadable!(
    scylla::errors::IntoRowsResultError,
    scylla::errors::RowsError,
    scylla::errors::MaybeFirstRowError,
    scylla::errors::TypeCheckError,
    scylla::errors::DeserializationError
);

/// What the store's own codec says of what it found.
impl From<StoreError> for CqlError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy(says) | StoreError::Full(says) => Self { sort: CqlErrorSort::Busy, says },
            StoreError::Refused(says) | StoreError::Broken(says) => Self::hopeless(says),
        }
    }
}

fn classify_execution(error: &ExecutionError) -> CqlErrorSort {
    match error {
        ExecutionError::BadQuery(bad) => classify_bad_query(bad),
        ExecutionError::PrepareError(error) => classify_prepare(error),
        ExecutionError::ConnectionPoolError(error) => classify_pool(error),
        ExecutionError::LastAttemptError(error) => classify_attempt(error),
        ExecutionError::RequestTimeout(_) => CqlErrorSort::Overloaded,
        ExecutionError::EmptyPlan | ExecutionError::SchemaAgreementError(_) => CqlErrorSort::Busy,
        _ => CqlErrorSort::Hopeless,
    }
}

fn classify_bad_query(_: &BadQuery) -> CqlErrorSort {
    CqlErrorSort::Hopeless
}

fn classify_prepare(error: &PrepareError) -> CqlErrorSort {
    match error {
        PrepareError::ConnectionPoolError(error) => classify_pool(error),
        PrepareError::AllAttemptsFailed { first_attempt } => classify_attempt(first_attempt),
        _ => CqlErrorSort::Hopeless,
    }
}

fn classify_pager(error: &PagerExecutionError) -> CqlErrorSort {
    match error {
        PagerExecutionError::PrepareError(error) => classify_prepare(error),
        PagerExecutionError::NextPageError(error) => classify_page(error),
        _ => CqlErrorSort::Hopeless,
    }
}

fn classify_row(error: &NextRowError) -> CqlErrorSort {
    match error {
        NextRowError::NextPageError(error) => classify_page(error),
        _ => CqlErrorSort::Hopeless,
    }
}

fn classify_page(error: &NextPageError) -> CqlErrorSort {
    match error {
        NextPageError::RequestFailure(error) => classify_request(error),
        _ => CqlErrorSort::Hopeless,
    }
}

fn classify_request(error: &RequestError) -> CqlErrorSort {
    match error {
        RequestError::ConnectionPoolError(error) => classify_pool(error),
        RequestError::LastAttemptError(error) => classify_attempt(error),
        RequestError::RequestTimeout(_) => CqlErrorSort::Overloaded,
        RequestError::EmptyPlan => CqlErrorSort::Busy,
        _ => CqlErrorSort::Hopeless,
    }
}

fn classify_attempt(error: &RequestAttemptError) -> CqlErrorSort {
    match error {
        RequestAttemptError::DbError(error, _) => classify_db(error),
        RequestAttemptError::UnableToAllocStreamId => CqlErrorSort::Overloaded,
        RequestAttemptError::BrokenConnectionError(_) => CqlErrorSort::Busy,
        _ => CqlErrorSort::Hopeless,
    }
}

fn classify_db(error: &DbError) -> CqlErrorSort {
    match error {
        DbError::Overloaded
        | DbError::WriteTimeout { .. }
        | DbError::ReadTimeout { .. }
        | DbError::RateLimitReached { .. } => CqlErrorSort::Overloaded,
        DbError::Unavailable { .. }
        | DbError::IsBootstrapping
        | DbError::TruncateError
        | DbError::ReadFailure { .. }
        | DbError::WriteFailure { .. }
        | DbError::Unprepared { .. }
        | DbError::ServerError => CqlErrorSort::Busy,
        // Cassandra's own for a lightweight transaction that nobody knows the end of.
        DbError::Other(0x1700) => CqlErrorSort::Overloaded,
        _ => CqlErrorSort::Hopeless,
    }
}

/// Rejected credentials will be rejected next time, too.
fn classify_pool(error: &ConnectionPoolError) -> CqlErrorSort {
    let ConnectionPoolError::Broken { last_connection_error } = error else { return CqlErrorSort::Busy };
    let ConnectionError::ConnectionSetupRequestError(error) = last_connection_error else {
        return CqlErrorSort::Busy;
    };
    match error.get_error() {
        ConnectionSetupRequestErrorKind::DbError(error, _) => classify_db(error),
        ConnectionSetupRequestErrorKind::MissingAuthentication
        | ConnectionSetupRequestErrorKind::StartAuthSessionError(_)
        | ConnectionSetupRequestErrorKind::AuthChallengeEvaluationError(_)
        | ConnectionSetupRequestErrorKind::AuthFinishError(_) => CqlErrorSort::Hopeless,
        _ => CqlErrorSort::Busy,
    }
}

fn classify_session(error: &NewSessionError) -> CqlErrorSort {
    match error {
        NewSessionError::MetadataError(MetadataError::ConnectionPoolError(error)) => classify_pool(error),
        NewSessionError::MetadataError(_) | NewSessionError::FailedToResolveAnyHostname(_) => {
            CqlErrorSort::Busy
        }
        _ => CqlErrorSort::Hopeless,
    }
}

#[cfg(test)]
mod tests {
    use scylla::errors::WriteType;
    use scylla::statement::Consistency;

    use super::*;

    #[test]
    fn an_error_asks_for_the_right_thing() {
        let timeout = DbError::WriteTimeout {
            consistency: Consistency::LocalQuorum,
            received: 1,
            required: 2,
            write_type: WriteType::Simple,
        };
        let unavailable =
            DbError::Unavailable { consistency: Consistency::LocalQuorum, required: 2, alive: 1 };
        let unfinished = DbError::Other(0x1700);
        for (error, sort) in [
            (timeout, CqlErrorSort::Overloaded),
            (unfinished, CqlErrorSort::Overloaded),
            (DbError::Overloaded, CqlErrorSort::Overloaded),
            (unavailable, CqlErrorSort::Busy),
            (DbError::IsBootstrapping, CqlErrorSort::Busy),
            (DbError::Invalid, CqlErrorSort::Hopeless),
            (DbError::SyntaxError, CqlErrorSort::Hopeless),
            (DbError::Unauthorized, CqlErrorSort::Hopeless),
            (DbError::AuthenticationError, CqlErrorSort::Hopeless),
        ] {
            let failed = RequestAttemptError::DbError(error, "as it says".into());
            let trouble = CqlError::from(ExecutionError::LastAttemptError(failed));
            assert_eq!(trouble.sort, sort, "{trouble:?}");
            assert_eq!(
                matches!(trouble.into_store_error("a test"), StoreError::Broken(_)),
                sort == CqlErrorSort::Hopeless
            );
        }
        let late = CqlError::from(ExecutionError::RequestTimeout(std::time::Duration::from_secs(1)));
        assert_eq!(late.sort, CqlErrorSort::Overloaded);
    }
}
