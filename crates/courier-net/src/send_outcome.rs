//! What became of a message at one destination, and what that says about where it went.

use courier::HandoverOutcome;
use hyper::{Request, body::Bytes};

use crate::{
    backoff::DestinationSignal,
    http::{OutboundClient, OutboundError, OutboundReply},
};

/// The outcome that the port tells, with what only this crate has to know beside it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SendOutcome {
    pub handed: HandoverOutcome,
    /// How the destination is used from here on.
    pub load: DestinationSignal,
    /// It came to nobody who decided about this message: another destination may be asked.
    pub elsewhere: bool,
    /// Never again to this token or address.
    pub is_gone: bool,
    /// Our token is not taken any more; with another one it may go.
    pub is_stale: bool,
}

impl SendOutcome {
    /// The destination decided about this very message.
    pub fn decided(handed: HandoverOutcome) -> Self {
        Self { handed, load: DestinationSignal::Well, elsewhere: false, is_gone: false, is_stale: false }
    }

    pub fn refused(why: impl Into<String>) -> Self {
        Self::decided(HandoverOutcome::Refused(why.into()))
    }

    pub fn gone(why: impl Into<String>) -> Self {
        Self { is_gone: true, ..Self::refused(why) }
    }

    /// It ended here before anything was sent.
    pub fn unsent(handed: HandoverOutcome) -> Self {
        Self { load: DestinationSignal::Nowhere, ..Self::decided(handed) }
    }

    /// Nobody was asked: it had no turn.
    pub fn turned_away(handed: HandoverOutcome) -> Self {
        Self { elsewhere: true, ..Self::unsent(handed) }
    }

    /// Nobody was asked, since nobody would take anything.
    pub fn away(why: impl Into<String>) -> Self {
        Self::turned_away(HandoverOutcome::Away(why.into()))
    }

    /// It wants less of us, for so many milliseconds if it says so.
    pub fn slow_down(why: impl Into<String>, pause: Option<u64>) -> Self {
        Self { load: DestinationSignal::Slow(pause), ..Self::away(why) }
    }

    /// Nothing goes before somebody has looked.
    pub fn locked_out(service: &'static str, why: String) -> Self {
        tracing::error!(service, why, "a service rejects the credentials: check them");
        Self::slow_down(why, None)
    }

    pub fn stale_token(why: String) -> Self {
        Self { is_stale: true, ..Self::slow_down(why, None) }
    }

    /// It may have arrived.
    pub fn unknown(why: String) -> Self {
        let load = DestinationSignal::Slow(None);
        Self { load, ..Self::decided(HandoverOutcome::Unknown(why)) }
    }
}

/// Of two destinations the last says why; where one of them has a turn soon, it is worth waiting for.
pub(crate) fn prefer_sooner(first: HandoverOutcome, last: HandoverOutcome) -> HandoverOutcome {
    match (first, last) {
        (HandoverOutcome::Busy(why), HandoverOutcome::Away(_)) => HandoverOutcome::Busy(why),
        (_, last) => last,
    }
}

/// The same of a destination with a name, where nobody was asked.
pub(crate) fn name_destination(handed: HandoverOutcome, name: &str) -> HandoverOutcome {
    match handed {
        HandoverOutcome::Away(why) => HandoverOutcome::Away(format!("{name}: {why}")),
        HandoverOutcome::Busy(why) => HandoverOutcome::Busy(format!("{name}: {why}")),
        other => other,
    }
}

/// Sends a request. Where there is no reply, it comes to the same everywhere.
pub(crate) async fn send_and_judge(
    client: &OutboundClient,
    request: Request<Bytes>,
    judge: impl FnOnce(&OutboundReply) -> SendOutcome,
) -> SendOutcome {
    match client.send(request).await {
        Ok(reply) => judge(&reply),
        Err(OutboundError::Barred(why)) => SendOutcome::refused(why),
        Err(OutboundError::NotSent(why)) => SendOutcome::slow_down(why, None),
        Err(OutboundError::Unknown(why)) => SendOutcome::unknown(why),
    }
}
