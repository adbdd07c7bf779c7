//! Archiving for a caller elsewhere: first all rows as the bytes of a file, then, once the caller shows what the file
//! holds, the days are dropped.

use std::{convert::Infallible, io, time::Duration};

use aide::{
    OperationOutput,
    generate::GenContext,
    openapi::{MediaType, Operation, Response as ApiResponse},
};
use axum::{
    body::{Body, Bytes},
    http::header,
    response::{IntoResponse, Response},
};
use futures::stream;
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::timeout};
use upkeep::archive::{ArchiveDayDigest, drop_archived_days, export_days};

use super::{
    AppState, ArchiveWatch, AtomicU64, Deserialize, HttpProblem, JsonBody, JsonSchema, Ordering, State,
    check_archivable,
};

/// Pieces of the file that wait for the caller.
const PIECES_MAX: usize = 4;
/// How often a caller that waits hears how far it is.
const TOLD_EVERY: Duration = Duration::from_secs(1);
/// Days that a file may have.
const DAYS_MAX: usize = 1_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArchiveExportRequest {
    before: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArchiveDropRequest {
    before: String,
    /// What the caller's file holds of each day.
    days: Vec<ArchiveDayDigest>,
}

/// A container file, as it is made. It is whole if the days can be dropped with what it holds.
pub struct ArchiveFileStream(mpsc::Receiver<Result<Vec<u8>, io::Error>>);

/// Lines of JSON: how many rows were compared so far, and in the end what was dropped or why nothing was.
pub struct ArchiveDropStream(mpsc::Receiver<Value>);

/// Closes the days and sends their rows. Nothing is dropped by it.
pub async fn send_days(
    State(app): AppState,
    JsonBody(asked): JsonBody<ArchiveExportRequest>,
) -> Result<ArchiveFileStream, HttpProblem> {
    let range = check_archivable(&app, &asked.before).await?;
    let (pieces, mut made) = mpsc::channel(PIECES_MAX);
    let (sender, receiver) = mpsc::channel(PIECES_MAX);
    tokio::spawn(async move {
        let exporting = async {
            let store = app.house.engines().store.clone();
            let exported = export_days(&*store, range, &pieces).await;
            drop(pieces);
            exported
        };
        let passing = async {
            while let Some(piece) = made.recv().await {
                if sender.send(Ok(piece)).await.is_err() {
                    made.close();
                }
            }
        };
        let exported = tokio::select! {
            biased;
            () = app.house.intake().room.shutdown.wait() => Err(anyhow::anyhow!("the house stopped before it was done")),
            (exported, ()) = async { tokio::join!(exporting, passing) } => exported,
        };
        if let Err(error) = exported {
            tracing::warn!(error = format!("{error:#}"), "days could not be sent to be archived");
            // The answer breaks off, so that nobody takes it for a whole one.
            drop(sender.send(Err(io::Error::other("broken off"))).await);
        }
    });
    Ok(ArchiveFileStream(receiver))
}

/// Drops the days whose rows the caller has, all of them.
pub async fn drop_days(
    State(app): AppState,
    JsonBody(asked): JsonBody<ArchiveDropRequest>,
) -> Result<ArchiveDropStream, HttpProblem> {
    if asked.days.is_empty() || asked.days.len() > DAYS_MAX {
        return Err(HttpProblem::bad_request(format_args!("`days` must have 1 to {DAYS_MAX} days")));
    }
    let range = check_archivable(&app, &asked.before).await?;
    let Some(run) = app.archive.begin() else {
        return Err(HttpProblem::conflict("days are being archived already"));
    };
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let rows = &run.rows;
        let dropping = async {
            let store = &*app.house.engines().store;
            let watch = ArchiveWatch { rows, disk_low: &*app.disk_low };
            tokio::select! {
                biased;
                () = app.house.intake().room.shutdown.wait() => Err(anyhow::anyhow!("the house stopped before it was done")),
                dropped = drop_archived_days(store, range, &asked.days, &watch) => dropped,
            }
        };
        let dropped = tell_while(dropping, rows, &sender).await;
        if let Err(error) = &dropped {
            tracing::warn!(error = format!("{error:#}"), "archived days could not be dropped");
        }
        let ended = match dropped {
            Ok(ended) => ended,
            Err(error) => Err(format!("{error:#}")),
        };
        run.end(ended.clone());
        let last = match ended {
            Ok(archived) => json!({"archived": archived}),
            Err(why) => json!({"failed": why}),
        };
        drop(sender.send(last).await);
    });
    Ok(ArchiveDropStream(receiver))
}

/// Tells how far it is until it is done. Whoever does not listen any more does not stop it.
async fn tell_while<T>(work: impl Future<Output = T>, rows: &AtomicU64, sender: &mpsc::Sender<Value>) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        match timeout(TOLD_EVERY, &mut work).await {
            Ok(done) => return done,
            Err(_) => drop(sender.try_send(json!({"rows": rows.load(Ordering::Relaxed)}))),
        }
    }
}

impl IntoResponse for ArchiveFileStream {
    fn into_response(self) -> Response {
        let pieces = stream::unfold(self.0, async |mut from| Some((from.recv().await?, from)));
        ([(header::CONTENT_TYPE, FILE_MEDIA_TYPE)], Body::from_stream(pieces)).into_response()
    }
}

impl IntoResponse for ArchiveDropStream {
    fn into_response(self) -> Response {
        let lines = stream::unfold(self.0, async |mut from| {
            let line = Bytes::from(format!("{}\n", from.recv().await?));
            Some((Ok::<_, Infallible>(line), from))
        });
        ([(header::CONTENT_TYPE, LINES_MEDIA_TYPE)], Body::from_stream(lines)).into_response()
    }
}

const FILE_MEDIA_TYPE: &str = "application/octet-stream";
const LINES_MEDIA_TYPE: &str = "application/x-ndjson";

/// An answer of this media type, which no schema of ours describes.
fn describe_stream(media_type: &str, description: &str) -> Vec<(Option<u16>, ApiResponse)> {
    let content = [(media_type.to_owned(), MediaType::default())].into_iter().collect();
    let response = ApiResponse { description: description.to_owned(), content, ..ApiResponse::default() };
    vec![(Some(200), response)]
}

impl OperationOutput for ArchiveFileStream {
    type Inner = Self;

    fn inferred_responses(_: &mut GenContext, _: &mut Operation) -> Vec<(Option<u16>, ApiResponse)> {
        describe_stream(FILE_MEDIA_TYPE, "the rows of the days, an Avro container file")
    }
}

impl OperationOutput for ArchiveDropStream {
    type Inner = Self;

    fn inferred_responses(_: &mut GenContext, _: &mut Operation) -> Vec<(Option<u16>, ApiResponse)> {
        let what = "lines of JSON: `rows` that were compared so far; the last one has `archived`, or `failed` and why";
        describe_stream(LINES_MEDIA_TYPE, what)
    }
}
