//! A message to all devices of a person.

use std::time::Duration;

use async_trait::async_trait;
use courier::{Courier, CourierError, Gate, Handed, Message, Outcome, Push, Way};
use futures::future::join_all;
use model::{
    Channel, ReadyId,
    device::{Device, Platform},
};
use runtime::Clock;
use url::Url;

use super::{
    apns::{self, Apns},
    fcm::{self, Fcm},
    http::Times,
    service::{Fared, Letter, Service, send},
    web::{self, Web},
};
use crate::ways::Trust;

/// By which services pushes go; devices of the others are not reached.
#[derive(Clone)]
pub struct Settings {
    pub apns: Option<apns::Settings>,
    pub fcm: Option<fcm::Settings>,
    pub web: Option<web::Settings>,
    pub trust: Trust,
    /// How long one message may be on its way.
    pub hand_over: Duration,
}

/// Takes pushes to the world.
#[derive(Debug)]
pub struct Pusher {
    apns: Option<Apns>,
    fcm: Option<Fcm>,
    web: Option<Web>,
    clock: RealClock,
}

struct RealClock(Clock);

impl std::fmt::Debug for RealClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}

impl Pusher {
    /// `clock` is that of the world, for others look at theirs when they check what we sign.
    pub fn new(settings: &Settings, clock: Clock) -> Result<Self, String> {
        let Settings { apns, fcm, web, trust, hand_over } = settings;
        let times = Times::within(*hand_over);
        Ok(Self {
            apns: apns.as_ref().map(|settings| Apns::new(settings, trust, times)).transpose()?,
            fcm: fcm.as_ref().map(|settings| Fcm::new(settings, trust, times)).transpose()?,
            web: web.as_ref().map(|settings| Web::new(settings, trust, times)).transpose()?,
            clock: RealClock(clock),
        })
    }

    fn service(&self, platform: Platform) -> Option<&dyn Service> {
        match platform {
            Platform::Ios => self.apns.as_ref().map(|service| service as &dyn Service),
            Platform::Android => self.fcm.as_ref().map(|service| service as &dyn Service),
            Platform::Web => self.web.as_ref().map(|service| service as &dyn Service),
        }
    }

    /// What becomes of it for each device; none if the gate said no.
    async fn brought(&self, message: &Message, push: &Push, gate: &dyn Gate) -> Option<Vec<(Device, Fared)>> {
        let now = self.clock.0.now();
        let spread = spread(message.ready);
        let prepared = join_all(push.devices.iter().map(async |device| {
            let Some(service) = self.service(device.platform) else {
                return Err(Fared::Refused(format!("there is no way to {} devices", device.platform.name())));
            };
            let letter = Letter { message, push, device, now, spread };
            Ok((service, service.prepare(&letter).await?))
        }));
        let prepared = prepared.await;
        // Nothing can go out: there is no need to ask.
        if prepared.iter().any(Result::is_ok) && !gate.may_go().await {
            return None;
        }
        let sent = prepared.into_iter().map(async |prepared| match prepared {
            Ok((service, prepared)) => send(service, prepared, now).await,
            Err(fared) => fared,
        });
        let fared = join_all(sent).await;
        Some(push.devices.iter().cloned().zip(fared).collect())
    }
}

#[async_trait]
impl Courier for Pusher {
    async fn hand(&self, message: &Message, gate: &dyn Gate) -> Result<Handed, CourierError> {
        let Way::Push(push) = &message.way else {
            return Ok(Handed::Refused("a mail is no push".to_owned()));
        };
        let Some(brought) = self.brought(message, push, gate).await else {
            return Ok(Handed::Stopped);
        };
        for (device, fared) in &brought {
            if let Fared::Gone(_) = fared {
                gate.gone(device).await;
            }
        }
        Ok(sum(brought.iter().map(|(device, fared)| (device.platform, fared))))
    }

    /// None of the services has a question for this.
    async fn outcome(&self, _channel: Channel, _message_id: &str) -> Result<Outcome, CourierError> {
        Ok(Outcome::CannotTell)
    }
}

/// Somebody who has it on one device has it.
fn sum<'a>(fared: impl Iterator<Item = (Platform, &'a Fared)>) -> Handed {
    let (mut unknown, mut later, mut never) = (Vec::new(), Vec::new(), Vec::new());
    for (platform, fared) in fared {
        let told = |why: &str| format!("{}: {why}", platform.name());
        match fared {
            Fared::Accepted => return Handed::Accepted,
            Fared::Unknown(why) => unknown.push(told(why)),
            Fared::Later(why) => later.push(told(why)),
            Fared::Refused(why) | Fared::Gone(why) => never.push(told(why)),
        }
    }
    if !unknown.is_empty() {
        return Handed::Unknown(unknown.join("; "));
    }
    if !later.is_empty() {
        return Handed::NotNow(later.join("; "));
    }
    if never.is_empty() {
        never.push("there is no device".to_owned());
    }
    Handed::Refused(never.join("; "))
}

/// The same message differs from others in the same way each time.
fn spread(ready: ReadyId) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&ready.0[..8]);
    u64::from_le_bytes(bytes)
}

/// The root of a service, without the slash at its end.
pub(super) fn root(text: &str) -> Result<String, String> {
    let url = Url::parse(text).ok().filter(|url| url.scheme() == "https" && url.has_host());
    let url =
        url.ok_or_else(|| format!("`{text}` is not the address of a service: it begins with `https://`"))?;
    Ok(url.as_str().trim_end_matches('/').to_owned())
}
