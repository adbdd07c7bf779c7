//! The way to a provider: one request over HTTP.

use std::{fmt, time::Duration};

use courier::{HandoverGate, HandoverOutcome};

use super::{MailProvider, ProviderMail};
use crate::{
    http::{OutboundClient, OutboundOptions, OutboundTimeouts},
    send_outcome::{SendOutcome, send_and_judge},
    tls_trust::TlsTrust,
};

/// Providers close what is idle after a minute or more.
const IDLE: Duration = Duration::from_secs(50);

#[derive(Debug)]
pub(crate) struct ProviderTransport {
    provider: Box<dyn MailProvider>,
    client: OutboundClient,
}

impl ProviderTransport {
    pub fn new(provider: Box<dyn MailProvider>, trust: &TlsTrust, hand_over: Duration) -> Self {
        let times = OutboundTimeouts::within_hand_over(hand_over);
        let manner = OutboundOptions { times, guard: None, is_http2_only: false, idle: IDLE };
        Self { provider, client: OutboundClient::new(trust, manner) }
    }

    pub fn takes_bytes(&self) -> bool {
        self.provider.takes_bytes()
    }

    /// Carries a mail as far as it goes, and asks the gate as late as it can.
    pub async fn carry(&self, letter: &ProviderMail<'_>, gate: &dyn HandoverGate) -> SendOutcome {
        let request = match self.provider.encode_request(letter) {
            Ok(request) => request,
            Err(why) => return SendOutcome::unsent(HandoverOutcome::Refused(why)),
        };
        if !gate.may_go().await {
            return SendOutcome::unsent(HandoverOutcome::Stopped);
        }
        send_and_judge(&self.client, request, |reply| self.provider.judge(reply, letter.now)).await
    }
}

impl fmt::Display for ProviderTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.provider.describe())
    }
}
