//! A session with its statements, and the one place that sends: so many at once, again when it may help.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicU64, Ordering},
};

use futures::stream::{FuturesUnordered, StreamExt as _};
use runtime::retry;
use scylla::{
    client::session::Session,
    response::{PagingState, query_result::QueryRowsResult},
    serialize::row::SerializeRow,
    statement::prepared::PreparedStatement,
};
use store::StoreError;

use crate::{
    connection::connect,
    errors::{CqlError, CqlErrorSort},
    migration,
    request_window::RequestWindow,
    settings::Settings,
    statements::CqlStatements,
};

/// Tries of one request, with growing pauses between them; after that the caller decides.
const TRIES_MAX: u32 = 5;

pub(crate) struct CqlEngine {
    pub session: Session,
    pub statements: CqlStatements,
    window: RequestWindow,
    in_flight_max: usize,
    /// Spreads those who failed together.
    salt: AtomicU64,
}

impl CqlEngine {
    pub(crate) async fn open(settings: &Settings) -> Result<Self, StoreError> {
        let connected = async {
            let session = connect(settings).await?;
            migration::check_laid_out(&session, settings).await?;
            let statements = CqlStatements::prepare(&session, settings).await?;
            Ok::<_, CqlError>((session, statements))
        };
        let (session, statements) =
            connected.await.map_err(|trouble| trouble.into_store_error("opening the store"))?;
        let in_flight_max = settings.in_flight_max.max(1);
        Ok(Self {
            session,
            statements,
            window: RequestWindow::new(in_flight_max),
            in_flight_max,
            salt: AtomicU64::new(0),
        })
    }

    /// Does what may be repeated until it is done, hopeless, or was tried often enough.
    pub(crate) async fn run_with_retries<T, F>(
        &self,
        what: &'static str,
        attempt: impl Fn() -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, CqlError>>,
    {
        let mut tries = 0;
        loop {
            let place = self.window.enter().await;
            let trouble = match attempt().await {
                Ok(done) => {
                    place.went_well(what);
                    return Ok(done);
                }
                Err(trouble) => trouble,
            };
            match trouble.sort {
                CqlErrorSort::Overloaded => place.was_too_much(),
                CqlErrorSort::Busy | CqlErrorSort::Hopeless => drop(place),
            }
            tries += 1;
            if trouble.sort == CqlErrorSort::Hopeless || tries == TRIES_MAX {
                return Err(trouble.into_store_error(what));
            }
            retry::pause_before_retry(tries - 1, self.salt.fetch_add(1, Ordering::Relaxed)).await;
        }
    }

    /// Runs all of them, so many at once as the window may ever allow; the answers come in their order.
    pub(crate) async fn run_all<T, F>(&self, mut asked: impl Iterator<Item = F>) -> Result<Vec<T>, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let mut running = FuturesUnordered::new();
        let mut answers: Vec<Option<T>> = Vec::new();
        loop {
            while running.len() < self.in_flight_max
                && let Some(one) = asked.next()
            {
                let at = answers.len();
                answers.push(None);
                running.push(async move { (at, one.await) });
            }
            match running.next().await {
                Some((at, answer)) => answers[at] = Some(answer?),
                None => return Ok(answers.into_iter().flatten().collect()),
            }
        }
    }

    /// An answer of which it is known that there is little, page by page.
    pub(crate) async fn read_pages(
        &self,
        statement: &PreparedStatement,
        values: &(impl SerializeRow + ?Sized),
    ) -> Result<Vec<QueryRowsResult>, CqlError> {
        let (mut pages, mut from) = (Vec::with_capacity(1), PagingState::start());
        loop {
            let (page, next) = self.session.execute_single_page(statement, values, from).await?;
            pages.push(page.into_rows_result()?);
            match next.into_paging_control_flow() {
                ControlFlow::Continue(next) => from = next,
                ControlFlow::Break(()) => return Ok(pages),
            }
        }
    }
}
