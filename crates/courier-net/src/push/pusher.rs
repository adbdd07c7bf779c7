//! A message to all devices of a person.

use std::{fmt, time::Duration};

use async_trait::async_trait;
use courier::{Courier, CourierError, Gate, Handed, Message, Outcome, Push, Way};
use futures::future::join_all;
use model::{
    Channel,
    device::{Device, Platform},
};
use runtime::Clock;
use url::Url;

use super::{
    apns::{self, Apns},
    fcm::{self, Fcm},
    service::{Letter, Service, send},
    web::{self, Web},
};
use crate::{
    fared::Fared,
    http::Times,
    lane::{Closed, spread},
    pace::is_rate,
    ways::Trust,
};

/// By which services pushes go; devices of the others are not reached.
#[derive(Clone, Debug)]
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

impl fmt::Debug for RealClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

impl Pusher {
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

/// For operators; without its keys.
impl fmt::Display for Pusher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let services = Platform::ALL.into_iter().filter_map(|platform| self.service(platform));
        let all: Vec<String> = services.map(Service::told).collect();
        f.write_str(if all.is_empty() { "no service" } else { "" })?;
        f.write_str(&all.join("; "))
    }
}

#[async_trait]
impl Courier for Pusher {
    async fn hand(&self, message: &Message, gate: &dyn Gate) -> Result<Handed, CourierError> {
        let Way::Push(push) = &message.way else {
            return Ok(Handed::Refused("it is no push".to_owned()));
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
    let mut closed: Option<Closed> = None;
    for (platform, fared) in fared {
        let told = |why: &str| format!("{}: {why}", platform.name());
        match fared {
            Fared::Accepted => return Handed::Accepted,
            Fared::Unknown(why) => unknown.push(told(why)),
            Fared::Later(why) => later.push(told(why)),
            Fared::Closed(why) => {
                let why = why.clone().named(platform.name());
                closed = Some(closed.map_or_else(|| why.clone(), |before| before.or(why.clone())));
            }
            Fared::Refused(why) | Fared::Gone(why) => never.push(told(why)),
        }
    }
    if !unknown.is_empty() {
        return Handed::Unknown(unknown.join("; "));
    }
    if !later.is_empty() {
        return Handed::NotNow(later.join("; "));
    }
    if let Some(closed) = closed {
        return closed.handed();
    }
    if never.is_empty() {
        never.push("there is no device".to_owned());
    }
    Handed::Refused(never.join("; "))
}

/// The root of a service, without the slash at its end.
pub(super) fn root(text: &str) -> Result<String, String> {
    let url = Url::parse(text).ok().filter(|url| url.scheme() == "https" && url.has_host());
    let url =
        url.ok_or_else(|| format!("`{text}` is not the address of a service: it begins with `https://`"))?;
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane;

    #[test]
    fn what_becomes_of_a_message_is_the_best_of_its_devices() {
        use Fared::{Accepted, Closed, Gone, Later, Refused, Unknown};
        let why = || "why".to_owned();
        let check = |fared: &[Fared], expected: Handed| {
            let platforms = Platform::ALL.into_iter().cycle();
            assert_eq!(sum(platforms.zip(fared)), expected, "{fared:?}");
        };
        check(&[Gone(why()), Unknown(why()), Later(why()), Accepted], Handed::Accepted);
        check(&[Gone(why()), Later(why()), Unknown(why())], Handed::Unknown("web: why".to_owned()));
        check(&[Refused(why()), Later(why()), Later(why())], Handed::NotNow("ios: why; web: why".to_owned()));
        let away = |why: &str| lane::Closed::Away(why.to_owned());
        let busy = |why: &str| lane::Closed::Busy(why.to_owned());
        check(&[Refused(why()), Closed(away("why"))], Handed::Away("ios: why".to_owned()));
        check(&[Closed(busy("why")), Closed(away("why"))], Handed::Busy("android: why".to_owned()));
        check(&[Closed(away("why")), Later(why())], Handed::NotNow("ios: why".to_owned()));
        check(&[Refused(why()), Gone(why())], Handed::Refused("android: why; ios: why".to_owned()));
        check(&[], Handed::Refused("there is no device".to_owned()));
    }

    #[test]
    fn a_message_is_on_its_way_no_longer_than_it_may_be() {
        for seconds in [1, 8, 60, 120, 3_600] {
            let hand_over = Duration::from_secs(seconds);
            let Times { wait, request, .. } = Times::within(hand_over);
            // One's turn, a request, a new token and a second request, each with what is left of its reply.
            assert!(wait + (request + request / 4) * 3 <= hand_over, "{seconds}");
        }
    }

    #[test]
    fn a_service_is_named_by_its_root() {
        let check =
            |text: &str, expected: Option<&str>| assert_eq!(root(text).ok().as_deref(), expected, "{text}");
        check("https://api.push.apple.com", Some("https://api.push.apple.com"));
        check("https://127.0.0.1:8443/", Some("https://127.0.0.1:8443"));
        check("http://api.push.apple.com", None);
        check("api.push.apple.com", None);
        check("", None);
    }
}
