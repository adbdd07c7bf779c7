//! What becomes of a request, and what that says about where it went.

use hyper::{Request, body::Bytes};

use crate::{
    http::{Client, Failed, Reply},
    lane::Closed,
    pace::Went,
};

/// What became of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fared {
    Accepted,
    /// Never, to this token or address.
    Gone(String),
    Refused(String),
    /// Whoever was asked takes it another time.
    Later(String),
    /// Nobody was asked.
    Closed(Closed),
    /// It may have arrived.
    Unknown(String),
}

impl Fared {
    /// Nobody was asked, since nobody would take anything.
    pub fn away(why: &str) -> Self {
        Self::Closed(Closed::Away(why.to_owned()))
    }
}

/// What an answer means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Judged {
    pub fared: Fared,
    pub went: Went,
    /// Our token is not taken any more; with another one it may go.
    pub is_stale: bool,
}

impl Judged {
    pub fn well(fared: Fared) -> Self {
        Self { fared, went: Went::Well, is_stale: false }
    }

    /// It wants less of us, for so many milliseconds if it says so.
    pub fn slow(why: String, pause: Option<u64>) -> Self {
        Self { fared: Fared::away(&why), went: Went::Slow(pause), is_stale: false }
    }

    /// Nothing goes before somebody has looked.
    pub fn closed(service: &'static str, why: String) -> Self {
        tracing::error!(service, why, "a service does not take who we are: somebody has to look");
        Self::slow(why, None)
    }

    pub fn stale(why: String) -> Self {
        Self { is_stale: true, ..Self::slow(why, None) }
    }
}

/// Sends a request. Where there is no reply, it comes to the same everywhere.
pub(crate) async fn sent(
    client: &Client,
    request: Request<Bytes>,
    judge: impl FnOnce(&Reply) -> Judged,
) -> Judged {
    match client.send(request).await {
        Ok(reply) => judge(&reply),
        Err(Failed::Barred(why)) => Judged::well(Fared::Refused(why)),
        Err(Failed::NotSent(why)) => Judged::slow(why, None),
        Err(Failed::Unknown(why)) => {
            Judged { fared: Fared::Unknown(why), ..Judged::slow(String::new(), None) }
        }
    }
}
