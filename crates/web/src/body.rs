//! How much of a request is read: so many bytes, in so much time, and no more in memory than has come.

use axum::{
    Extension,
    extract::{DefaultBodyLimit, Request},
    http::{HeaderMap, header},
};
use futures::StreamExt as _;
use model::Tenant;
use tokio::time::timeout;

use crate::{
    limits::{BODIES_BYTES_MAX, BODY_TIME_MAX, BODY_UNIT_BYTES, JSON_BYTES_MAX},
    permits::{OtherTenantCheck, TenantPermit, TenantPermits},
    problem::{HttpProblem, ProblemType},
};

/// Reads bodies, of all requests together no more than fits.
#[derive(Debug)]
pub struct BodyReader {
    bytes_max: usize,
    /// What came of bodies, by [`BODY_UNIT_BYTES`].
    units: TenantPermits,
}

/// A body, with what says that it is in memory.
#[derive(Debug)]
pub struct ReadBody {
    pub bytes: Vec<u8>,
    _held: Option<TenantPermit>,
}

impl BodyReader {
    /// For bodies of so many bytes each.
    pub fn new(bytes_max: usize, has_others: OtherTenantCheck) -> Self {
        Self { bytes_max, units: TenantPermits::new(BODIES_BYTES_MAX / BODY_UNIT_BYTES, has_others) }
    }

    /// A body to its end.
    pub async fn read(&self, tenant: &Tenant, request: Request) -> Result<ReadBody, HttpProblem> {
        match timeout(BODY_TIME_MAX, self.read_whole(tenant, request)).await {
            Ok(read) => read,
            Err(_) => {
                Err(HttpProblem::from_text(ProblemType::BodyTooSlow, "the body took too long to arrive"))
            }
        }
    }

    async fn read_whole(&self, tenant: &Tenant, request: Request) -> Result<ReadBody, HttpProblem> {
        let (mut bytes, mut held): (Vec<u8>, Option<TenantPermit>) = (Vec::new(), None);
        let mut units = 0;
        let mut parts = request.into_body().into_data_stream();
        while let Some(part) = parts.next().await {
            let part = part.map_err(|_| {
                HttpProblem::from_text(ProblemType::UnreadableBody, "the body did not arrive whole")
            })?;
            if bytes.len() + part.len() > self.bytes_max {
                let reason = format!("the body has more than {} bytes", self.bytes_max);
                return Err(HttpProblem::new(ProblemType::BodyTooLarge, reason));
            }
            let wanted = (bytes.len() + part.len()).div_ceil(BODY_UNIT_BYTES);
            let more = u32::try_from(wanted - units).unwrap_or(u32::MAX);
            let more = self.units.take(tenant, more);
            let more = more.ok_or_else(|| HttpProblem::busy("too many bodies at once"))?;
            match &mut held {
                Some(held) => held.merge(more),
                None => held = Some(more),
            }
            units = wanted;
            bytes.extend_from_slice(&part);
        }
        Ok(ReadBody { bytes, _held: held })
    }
}

/// Bytes of a body that a path takes: whoever sends more is told how many.
#[derive(Clone, Copy, Debug)]
pub struct BodyLimit(pub usize);

impl Default for BodyLimit {
    fn default() -> Self {
        Self(JSON_BYTES_MAX)
    }
}

/// A layer: no more than so many bytes.
pub fn limit_body(bytes_max: usize) -> (DefaultBodyLimit, Extension<BodyLimit>) {
    (DefaultBodyLimit::max(bytes_max), Extension(BodyLimit(bytes_max)))
}

/// Reads a body of which nothing is wanted, in the same bounds: an answer before its end is followed by the end of the
/// connection, and a client that is told to come again shall find it there.
pub async fn drain_body(request: Request, bytes_max: usize) {
    let (mut body, mut left) = (request.into_body().into_data_stream(), bytes_max);
    let read = async {
        while let Some(Ok(piece)) = body.next().await
            && let Some(less) = left.checked_sub(piece.len())
        {
            left = less;
        }
    };
    // A client that is too slow, or sends too much, is cut off.
    drop(timeout(BODY_TIME_MAX, read).await);
}

/// Whether the body is sent as it is: nobody here unpacks one.
pub fn check_encoding(headers: &HeaderMap) -> Result<(), HttpProblem> {
    if headers.get_all(header::CONTENT_ENCODING).iter().all(|encoding| encoding == "identity") {
        return Ok(());
    }
    Err(HttpProblem::from_text(ProblemType::UnsupportedMediaType, "compressed bodies are not accepted"))
}

/// Whether the body is said to be something that is read; nothing said is as good.
pub fn check_media_type(headers: &HeaderMap, known: &[&str]) -> Result<(), HttpProblem> {
    check_encoding(headers)?;
    let Some(given) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let essence = given.to_str().unwrap_or("?").split(';').next().unwrap_or_default().trim();
    if known.iter().any(|known| known.eq_ignore_ascii_case(essence)) {
        return Ok(());
    }
    let reason = format!("the content type must be one of {}", known.join(", "));
    Err(HttpProblem::new(ProblemType::UnsupportedMediaType, reason))
}
