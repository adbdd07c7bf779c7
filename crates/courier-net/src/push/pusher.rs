//! A message to all devices of a person.

use std::{fmt, time::Duration};

use async_trait::async_trait;
use courier::{Courier, CourierError, HandoverGate, HandoverOutcome, Message, MessagePayload, PushPayload};
use futures::future::join_all;
use model::{
    Channel,
    device::{DevicePlatform, PushDevice},
};
use runtime::{Clock, clock::SteadyStopwatch};

use super::{
    apns::{self, ApnsService},
    fcm::{self, FcmService},
    service::{DevicePushService, PushDispatch, send_prepared},
    web::{self, WebPushService},
};
use crate::{
    backoff::is_rate,
    destination_limiter::spread_of_ready,
    http::OutboundTimeouts,
    metrics::CourierMetrics,
    send_outcome::{SendOutcome, name_destination, prefer_sooner},
    tls_trust::TlsTrust,
};

/// By which services pushes go; devices of the others are not reached.
#[derive(Clone, Debug)]
pub struct Settings {
    pub apns: Option<apns::Settings>,
    pub fcm: Option<fcm::Settings>,
    pub web: Option<web::Settings>,
    pub trust: TlsTrust,
    /// How long one message may be on its way.
    pub hand_over: Duration,
}

/// Takes pushes to the world.
#[derive(Debug)]
pub struct PushCourier {
    apns: Option<ApnsService>,
    fcm: Option<FcmService>,
    web: Option<WebPushService>,
    clock: RealClock,
    metrics: Option<CourierMetrics>,
}

struct RealClock(Clock);

impl fmt::Debug for RealClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

impl PushCourier {
    /// `clock` is that of the world, for others look at theirs when they check what we sign.
    pub fn new(settings: &Settings, clock: Clock) -> Result<Self, String> {
        let Settings { apns, fcm, web, trust, hand_over } = settings;
        let rates = [
            apns.as_ref().and_then(|settings| settings.per_second),
            fcm.as_ref().and_then(|settings| settings.per_second),
            web.as_ref().and_then(|settings| settings.per_second),
        ];
        if !rates.into_iter().flatten().all(is_rate) {
            return Err("`per_second` is a number above 0, and at most a million".to_owned());
        }
        let times = OutboundTimeouts::within_hand_over(*hand_over);
        Ok(Self {
            apns: apns.as_ref().map(|settings| ApnsService::new(settings, trust, times)).transpose()?,
            fcm: fcm.as_ref().map(|settings| FcmService::new(settings, trust, times)).transpose()?,
            web: web.as_ref().map(|settings| WebPushService::new(settings, trust, times)).transpose()?,
            clock: RealClock(clock),
            metrics: None,
        })
    }

    /// The same, counted by service.
    #[must_use]
    pub fn with_metrics(self, metrics: CourierMetrics) -> Self {
        for platform in DevicePlatform::ALL {
            if let Some(service) = self.service_for(platform) {
                metrics.begin_provider(Channel::Push, service.name());
            }
        }
        Self { metrics: Some(metrics), ..self }
    }

    fn note_sent(&self, service: &dyn DevicePushService, outcome: &SendOutcome, watch: &SteadyStopwatch) {
        if let Some(metrics) = &self.metrics {
            metrics.note_handover(Channel::Push, service.name(), &outcome.handed, watch.elapsed());
            metrics.note_up(
                Channel::Push,
                service.name(),
                !matches!(outcome.handed, HandoverOutcome::Away(_)),
            );
        }
    }

    fn service_for(&self, platform: DevicePlatform) -> Option<&dyn DevicePushService> {
        match platform {
            DevicePlatform::Ios => self.apns.as_ref().map(|service| service as &dyn DevicePushService),
            DevicePlatform::Android => self.fcm.as_ref().map(|service| service as &dyn DevicePushService),
            DevicePlatform::Web => self.web.as_ref().map(|service| service as &dyn DevicePushService),
        }
    }

    /// What becomes of it for each device; none if the gate said no.
    async fn send_to_devices(
        &self,
        message: &Message,
        push: &PushPayload,
        gate: &dyn HandoverGate,
    ) -> Option<Vec<(PushDevice, SendOutcome)>> {
        let now = self.clock.0.now();
        let spread = spread_of_ready(message.ready);
        let prepared = join_all(push.devices.iter().map(async |device| {
            let Some(service) = self.service_for(device.platform) else {
                return Err(SendOutcome::refused(format!(
                    "there is no way to {} devices",
                    device.platform.name()
                )));
            };
            let letter = PushDispatch { message, push, device, now, spread };
            let watch = SteadyStopwatch::start();
            let prepared = service.prepare(&letter).await;
            let prepared = prepared.inspect_err(|outcome| self.note_sent(service, outcome, &watch))?;
            Ok((service, prepared))
        }));
        let prepared = prepared.await;
        // Nothing can go out: there is no need to ask.
        if prepared.iter().any(Result::is_ok) && !gate.may_go().await {
            return None;
        }
        let sent = prepared.into_iter().map(async |prepared| match prepared {
            Ok((service, prepared)) => {
                let watch = SteadyStopwatch::start();
                let outcome = send_prepared(service, prepared, now).await;
                self.note_sent(service, &outcome, &watch);
                outcome
            }
            Err(outcome) => outcome,
        });
        let outcomes = join_all(sent).await;
        Some(push.devices.iter().cloned().zip(outcomes).collect())
    }
}

/// For operators; without its keys.
impl fmt::Display for PushCourier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let services = DevicePlatform::ALL.into_iter().filter_map(|platform| self.service_for(platform));
        let all: Vec<String> = services.map(DevicePushService::describe).collect();
        f.write_str(if all.is_empty() { "no service" } else { "" })?;
        f.write_str(&all.join("; "))
    }
}

#[async_trait]
impl Courier for PushCourier {
    async fn hand(
        &self,
        message: &Message,
        gate: &dyn HandoverGate,
    ) -> Result<HandoverOutcome, CourierError> {
        let MessagePayload::Push(push) = &message.way else {
            return Ok(HandoverOutcome::Refused("it is no push".to_owned()));
        };
        let Some(brought) = self.send_to_devices(message, push, gate).await else {
            return Ok(HandoverOutcome::Stopped);
        };
        for (device, _) in brought.iter().filter(|(_, outcome)| outcome.is_gone) {
            gate.note_dead_device(device).await;
        }
        Ok(sum_outcomes(brought.iter().map(|(device, outcome)| (device.platform, &outcome.handed))))
    }

    /// None of the services has a question for this.
    async fn was_sent(&self, _channel: Channel, _message_id: &str) -> Result<Option<bool>, CourierError> {
        Ok(None)
    }
}

/// Somebody who has it on one device has it.
fn sum_outcomes<'a>(
    outcomes: impl Iterator<Item = (DevicePlatform, &'a HandoverOutcome)>,
) -> HandoverOutcome {
    let (mut unknown, mut later, mut never) = (Vec::new(), Vec::new(), Vec::new());
    let mut closed: Option<HandoverOutcome> = None;
    for (platform, outcome) in outcomes {
        let told = |why: &str| format!("{}: {why}", platform.name());
        match outcome {
            HandoverOutcome::Accepted | HandoverOutcome::Stopped => return outcome.clone(),
            HandoverOutcome::Unknown(why) => unknown.push(told(why)),
            HandoverOutcome::NotNow(why) => later.push(told(why)),
            HandoverOutcome::Away(_) | HandoverOutcome::Busy(_) => {
                let outcome = name_destination(outcome.clone(), platform.name());
                closed = Some(match closed {
                    Some(before) => prefer_sooner(before, outcome),
                    None => outcome,
                });
            }
            HandoverOutcome::Refused(why) => never.push(told(why)),
        }
    }
    if !unknown.is_empty() {
        return HandoverOutcome::Unknown(unknown.join("; "));
    }
    if !later.is_empty() {
        return HandoverOutcome::NotNow(later.join("; "));
    }
    if let Some(closed) = closed {
        return closed;
    }
    if never.is_empty() {
        never.push("there is no device".to_owned());
    }
    HandoverOutcome::Refused(never.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_becomes_of_a_message_is_the_best_of_its_devices() {
        use HandoverOutcome::{Accepted, Away, Busy, NotNow, Refused, Unknown};
        let why = || "why".to_owned();
        let check = |fared: &[HandoverOutcome], expected: HandoverOutcome| {
            let platforms = DevicePlatform::ALL.into_iter().cycle();
            assert_eq!(sum_outcomes(platforms.zip(fared)), expected, "{fared:?}");
        };
        check(&[Refused(why()), Unknown(why()), NotNow(why()), Accepted], HandoverOutcome::Accepted);
        check(
            &[Refused(why()), NotNow(why()), Unknown(why())],
            HandoverOutcome::Unknown("web: why".to_owned()),
        );
        check(
            &[Refused(why()), NotNow(why()), NotNow(why())],
            HandoverOutcome::NotNow("ios: why; web: why".to_owned()),
        );
        check(&[Refused(why()), Away(why())], HandoverOutcome::Away("ios: why".to_owned()));
        check(&[Busy(why()), Away(why())], HandoverOutcome::Busy("android: why".to_owned()));
        check(&[Away(why()), NotNow(why())], HandoverOutcome::NotNow("ios: why".to_owned()));
        check(
            &[Refused(why()), Refused(why())],
            HandoverOutcome::Refused("android: why; ios: why".to_owned()),
        );
        check(&[], HandoverOutcome::Refused("there is no device".to_owned()));
    }

    #[test]
    fn a_message_is_on_its_way_no_longer_than_it_may_be() {
        for seconds in [1, 8, 60, 120, 3_600] {
            let hand_over = Duration::from_secs(seconds);
            let OutboundTimeouts { wait, request, .. } = OutboundTimeouts::within_hand_over(hand_over);
            // One's turn, a request, a new token and a second request, each with what is left of its reply.
            assert!(wait + (request + request / 4) * 3 <= hand_over, "{seconds}");
        }
    }
}
