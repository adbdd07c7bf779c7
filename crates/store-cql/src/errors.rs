//! What a driver's error asks for: patience, fewer requests, or somebody who sets it right.

use scylla::errors::{
    BadQuery, ConnectionError, ConnectionPoolError, ConnectionSetupRequestErrorKind, DbError, ExecutionError,
    MetadataError, NewSessionError, NextPageError, NextRowError, PagerExecutionError, PrepareError,
    RequestAttemptError, RequestError,
};
use store::StoreError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
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
pub(crate) struct Trouble {
    pub sort: Sort,
    pub says: String,
}

impl Trouble {
    pub(crate) fn hopeless(says: impl Into<String>) -> Self {
        Self { sort: Sort::Hopeless, says: says.into() }
    }

    /// As the port tells it, with what was being done.
    pub(crate) fn told(self, what: &str) -> StoreError {
        let says = format!("{what}: {}", self.says);
        match self.sort {
            Sort::Busy | Sort::Overloaded => StoreError::Busy(says),
            Sort::Hopeless => StoreError::Broken(says),
        }
    }
}

macro_rules! troubles {
    ($($error:ty => $sort:path;)*) => {$(
        impl From<$error> for Trouble {
            fn from(error: $error) -> Self {
                Self { sort: $sort(&error), says: error.to_string() }
            }
        }
    )*};
}

troubles! {
    ExecutionError => execution;
    PrepareError => prepare;
    PagerExecutionError => pager;
    NextRowError => row;
    NewSessionError => session;
}

macro_rules! unreadable {
    ($($error:ty),*) => {$(
        impl From<$error> for Trouble {
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
impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy(says) | StoreError::Full(says) => Self { sort: Sort::Busy, says },
            StoreError::Broken(says) => Self::hopeless(says),
        }
    }
}

fn execution(error: &ExecutionError) -> Sort {
    match error {
        ExecutionError::BadQuery(bad) => bad_query(bad),
        ExecutionError::PrepareError(error) => prepare(error),
        ExecutionError::ConnectionPoolError(error) => pool(error),
        ExecutionError::LastAttemptError(error) => attempt(error),
        ExecutionError::RequestTimeout(_) => Sort::Overloaded,
        ExecutionError::EmptyPlan | ExecutionError::SchemaAgreementError(_) => Sort::Busy,
        _ => Sort::Hopeless,
    }
}

fn bad_query(_: &BadQuery) -> Sort {
    Sort::Hopeless
}

fn prepare(error: &PrepareError) -> Sort {
    match error {
        PrepareError::ConnectionPoolError(error) => pool(error),
        PrepareError::AllAttemptsFailed { first_attempt } => attempt(first_attempt),
        _ => Sort::Hopeless,
    }
}

fn pager(error: &PagerExecutionError) -> Sort {
    match error {
        PagerExecutionError::PrepareError(error) => prepare(error),
        PagerExecutionError::NextPageError(error) => page(error),
        _ => Sort::Hopeless,
    }
}

fn row(error: &NextRowError) -> Sort {
    match error {
        NextRowError::NextPageError(error) => page(error),
        _ => Sort::Hopeless,
    }
}

fn page(error: &NextPageError) -> Sort {
    match error {
        NextPageError::RequestFailure(error) => request(error),
        _ => Sort::Hopeless,
    }
}

fn request(error: &RequestError) -> Sort {
    match error {
        RequestError::ConnectionPoolError(error) => pool(error),
        RequestError::LastAttemptError(error) => attempt(error),
        RequestError::RequestTimeout(_) => Sort::Overloaded,
        RequestError::EmptyPlan => Sort::Busy,
        _ => Sort::Hopeless,
    }
}

fn attempt(error: &RequestAttemptError) -> Sort {
    match error {
        RequestAttemptError::DbError(error, _) => db(error),
        RequestAttemptError::UnableToAllocStreamId => Sort::Overloaded,
        RequestAttemptError::BrokenConnectionError(_) => Sort::Busy,
        _ => Sort::Hopeless,
    }
}

fn db(error: &DbError) -> Sort {
    match error {
        DbError::Overloaded
        | DbError::WriteTimeout { .. }
        | DbError::ReadTimeout { .. }
        | DbError::RateLimitReached { .. } => Sort::Overloaded,
        DbError::Unavailable { .. }
        | DbError::IsBootstrapping
        | DbError::TruncateError
        | DbError::ReadFailure { .. }
        | DbError::WriteFailure { .. }
        | DbError::Unprepared { .. }
        | DbError::ServerError => Sort::Busy,
        // Cassandra's own for a lightweight transaction that nobody knows the end of.
        DbError::Other(0x1700) => Sort::Overloaded,
        _ => Sort::Hopeless,
    }
}

/// Who is not let in will not be let in next time.
fn pool(error: &ConnectionPoolError) -> Sort {
    let ConnectionPoolError::Broken { last_connection_error } = error else { return Sort::Busy };
    let ConnectionError::ConnectionSetupRequestError(error) = last_connection_error else {
        return Sort::Busy;
    };
    match error.get_error() {
        ConnectionSetupRequestErrorKind::DbError(error, _) => db(error),
        ConnectionSetupRequestErrorKind::MissingAuthentication
        | ConnectionSetupRequestErrorKind::StartAuthSessionError(_)
        | ConnectionSetupRequestErrorKind::AuthChallengeEvaluationError(_)
        | ConnectionSetupRequestErrorKind::AuthFinishError(_) => Sort::Hopeless,
        _ => Sort::Busy,
    }
}

fn session(error: &NewSessionError) -> Sort {
    match error {
        NewSessionError::MetadataError(MetadataError::ConnectionPoolError(error)) => pool(error),
        NewSessionError::MetadataError(_) | NewSessionError::FailedToResolveAnyHostname(_) => Sort::Busy,
        _ => Sort::Hopeless,
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
            (timeout, Sort::Overloaded),
            (unfinished, Sort::Overloaded),
            (DbError::Overloaded, Sort::Overloaded),
            (unavailable, Sort::Busy),
            (DbError::IsBootstrapping, Sort::Busy),
            (DbError::Invalid, Sort::Hopeless),
            (DbError::SyntaxError, Sort::Hopeless),
            (DbError::Unauthorized, Sort::Hopeless),
            (DbError::AuthenticationError, Sort::Hopeless),
        ] {
            let failed = RequestAttemptError::DbError(error, "as it says".into());
            let trouble = Trouble::from(ExecutionError::LastAttemptError(failed));
            assert_eq!(trouble.sort, sort, "{trouble:?}");
            assert_eq!(matches!(trouble.told("a test"), StoreError::Broken(_)), sort == Sort::Hopeless);
        }
        let late = Trouble::from(ExecutionError::RequestTimeout(std::time::Duration::from_secs(1)));
        assert_eq!(late.sort, Sort::Overloaded);
    }
}
