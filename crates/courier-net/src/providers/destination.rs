//! A provider and all that is between it and us: how many requests there may be at the same time, how fast, and what is
//! said of one that fails.

use std::{fmt, sync::Arc, time::Duration};

use courier::{HandoverGate, HandoverOutcome};

use super::{MailProvider, ProviderMail};
use crate::{
    destination_limiter::{DestinationLimiter, LimiterError, LimiterWidth},
    http::{OutboundClient, OutboundOptions, OutboundTimeouts},
    http_outcome::{HttpOutcome, send_and_judge},
    smtp::{MailRouteOutcome, SmtpLimits},
    tls_trust::TlsTrust,
};

/// Providers close what is idle after a minute or more.
const IDLE: Duration = Duration::from_secs(50);

#[derive(Debug)]
pub(crate) struct ProviderDestination {
    provider: Box<dyn MailProvider>,
    limits: SmtpLimits,
    lane: Arc<DestinationLimiter>,
    client: OutboundClient,
}

impl ProviderDestination {
    pub fn new(
        provider: Box<dyn MailProvider>,
        limits: SmtpLimits,
        trust: &TlsTrust,
        hand_over: Duration,
    ) -> Self {
        let SmtpLimits { connections: at_once, waiting, wait, per_second, ramp, .. } = limits;
        let times = OutboundTimeouts::within_hand_over(hand_over);
        let manner = OutboundOptions { times, guard: None, is_http2_only: false, idle: IDLE };
        let lane = DestinationLimiter::new(LimiterWidth { at_once, waiting, wait, per_second, ramp });
        Self { provider, limits, lane, client: OutboundClient::new(trust, manner) }
    }

    pub fn limits(&self) -> SmtpLimits {
        self.limits
    }

    pub fn takes_bytes(&self) -> bool {
        self.provider.takes_bytes()
    }

    /// Brings a mail there. What the provider does not take now, another one may.
    pub async fn bring(
        &self,
        letter: &ProviderMail<'_>,
        gate: &dyn HandoverGate,
        spread: u64,
    ) -> MailRouteOutcome {
        let (turn, _room) = match self.lane.admit(spread).await {
            Ok(admitted) => admitted,
            Err(why) => return MailRouteOutcome::Away(why),
        };
        let request = match self.provider.encode_request(letter) {
            Ok(request) => request,
            Err(why) => return MailRouteOutcome::Here(HandoverOutcome::Refused(why)),
        };
        if !gate.may_go().await {
            return MailRouteOutcome::Here(HandoverOutcome::Stopped);
        }
        let judged =
            send_and_judge(&self.client, request, |reply| self.provider.judge(reply, letter.now)).await;
        turn.record_signal(judged.went);
        match judged.fared {
            HttpOutcome::Accepted => MailRouteOutcome::Here(HandoverOutcome::Accepted),
            HttpOutcome::Refused(why) | HttpOutcome::Gone(why) => {
                MailRouteOutcome::Here(HandoverOutcome::Refused(why))
            }
            HttpOutcome::Later(why) => MailRouteOutcome::Away(LimiterError::Away(why)),
            HttpOutcome::Closed(why) => MailRouteOutcome::Away(why),
            HttpOutcome::Unknown(why) => MailRouteOutcome::Here(HandoverOutcome::Unknown(why)),
        }
    }
}

impl fmt::Display for ProviderDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.provider.describe())
    }
}
