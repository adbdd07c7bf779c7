//! A provider and all that is between it and us: how many requests there may be at the same time, how fast, and what is
//! said of one that fails.

use std::{fmt, sync::Arc, time::Duration};

use courier::{Gate, Handed};

use super::{Letter, Provider};
use crate::{
    fared::{Fared, sent},
    http::{Client, Manner, Times},
    lane::{Closed, Lane, Width},
    smtp::{Brought, Limits},
    ways::Trust,
};

/// Providers close what is idle after a minute or more.
const IDLE: Duration = Duration::from_secs(50);

#[derive(Debug)]
pub(crate) struct Destination {
    provider: Box<dyn Provider>,
    limits: Limits,
    lane: Arc<Lane>,
    client: Client,
}

impl Destination {
    pub fn new(provider: Box<dyn Provider>, limits: Limits, trust: &Trust, hand_over: Duration) -> Self {
        let Limits { connections: at_once, waiting, wait, per_second, ramp, .. } = limits;
        let times = Times::within(hand_over);
        let manner = Manner { times, guard: None, is_http2_only: false, idle: IDLE };
        let lane = Lane::new(Width { at_once, waiting, wait, per_second, ramp });
        Self { provider, limits, lane, client: Client::new(trust, manner) }
    }

    pub fn limits(&self) -> Limits {
        self.limits
    }

    pub fn takes_bytes(&self) -> bool {
        self.provider.takes_bytes()
    }

    /// Brings a mail there. What the provider does not take now, another one may.
    pub async fn bring(&self, letter: &Letter<'_>, gate: &dyn Gate, spread: u64) -> Brought {
        let (turn, _room) = match self.lane.admit(spread).await {
            Ok(admitted) => admitted,
            Err(why) => return Brought::Away(why),
        };
        let request = match self.provider.write(letter) {
            Ok(request) => request,
            Err(why) => return Brought::Here(Handed::Refused(why)),
        };
        if !gate.may_go().await {
            return Brought::Here(Handed::Stopped);
        }
        let judged = sent(&self.client, request, |reply| self.provider.judge(reply, letter.now)).await;
        turn.went(judged.went);
        match judged.fared {
            Fared::Accepted => Brought::Here(Handed::Accepted),
            Fared::Refused(why) | Fared::Gone(why) => Brought::Here(Handed::Refused(why)),
            Fared::Later(why) => Brought::Away(Closed::Away(why)),
            Fared::Closed(why) => Brought::Away(why),
            Fared::Unknown(why) => Brought::Here(Handed::Unknown(why)),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.provider.told())
    }
}
