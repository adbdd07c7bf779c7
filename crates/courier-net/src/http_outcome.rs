//! What becomes of a request, and what that says about where it went.

use hyper::{Request, body::Bytes};

use crate::{
    backoff::DestinationSignal,
    destination_limiter::LimiterError,
    http::{OutboundClient, OutboundError, OutboundReply},
};

/// What became of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum HttpOutcome {
    Accepted,
    /// Never, to this token or address.
    Gone(String),
    Refused(String),
    /// Whoever was asked takes it another time.
    Later(String),
    /// Nobody was asked.
    Closed(LimiterError),
    /// It may have arrived.
    Unknown(String),
}

impl HttpOutcome {
    /// Nobody was asked, since nobody would take anything.
    pub fn closed_away(why: &str) -> Self {
        Self::Closed(LimiterError::Away(why.to_owned()))
    }
}

/// What an answer means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ReplyVerdict {
    pub fared: HttpOutcome,
    pub went: DestinationSignal,
    /// Our token is not taken any more; with another one it may go.
    pub is_stale: bool,
}

impl ReplyVerdict {
    pub fn from_outcome(fared: HttpOutcome) -> Self {
        Self { fared, went: DestinationSignal::Well, is_stale: false }
    }

    /// It wants less of us, for so many milliseconds if it says so.
    pub fn slow_down(why: String, pause: Option<u64>) -> Self {
        Self { fared: HttpOutcome::closed_away(&why), went: DestinationSignal::Slow(pause), is_stale: false }
    }

    /// Nothing goes before somebody has looked.
    pub fn locked_out(service: &'static str, why: String) -> Self {
        tracing::error!(service, why, "a service rejected our credentials; check them");
        Self::slow_down(why, None)
    }

    pub fn stale_token(why: String) -> Self {
        Self { is_stale: true, ..Self::slow_down(why, None) }
    }
}

/// Sends a request. Where there is no reply, it comes to the same everywhere.
pub(crate) async fn send_and_judge(
    client: &OutboundClient,
    request: Request<Bytes>,
    judge: impl FnOnce(&OutboundReply) -> ReplyVerdict,
) -> ReplyVerdict {
    match client.send(request).await {
        Ok(reply) => judge(&reply),
        Err(OutboundError::Barred(why)) => ReplyVerdict::from_outcome(HttpOutcome::Refused(why)),
        Err(OutboundError::NotSent(why)) => ReplyVerdict::slow_down(why, None),
        Err(OutboundError::Unknown(why)) => {
            ReplyVerdict { fared: HttpOutcome::Unknown(why), ..ReplyVerdict::slow_down(String::new(), None) }
        }
    }
}
