//! Calls hooks: addresses that persons have named, and that lead to strangers.

use std::{fmt, time::Duration};

use async_trait::async_trait;
use courier::{Call, Courier, CourierError, Gate, Handed, Message, Outcome, Way};
use hyper::{
    Request,
    body::Bytes,
    header::{HeaderValue, USER_AGENT},
};
use model::{Channel, hook::Hook};
use runtime::Clock;
use tokio::sync::OwnedSemaphorePermit;

use super::{Form, Keys, Letter, form};
use crate::{
    fared::{Fared, Judged, sent},
    hosts::{Hosts, Reach},
    http::{Client, Guard, Manner, Times},
    lane::{Closed, Turn, spread},
    ways::Trust,
};

/// Addresses have so many paces, at most.
const PACES_MAX: usize = 10_000;
/// Requests of one pace at the same time.
const REQUESTS: usize = 20;
const IDLE: Duration = Duration::from_secs(60);
/// Bytes of a request's body, at most.
const BODY_BYTES_MAX: usize = 256 * 1024;
/// How we call ourselves.
const NAME: HeaderValue = HeaderValue::from_static("tidings");

/// Which hooks are called, and how.
#[derive(Clone, Debug)]
pub struct Settings {
    pub hooks: Vec<Hook>,
    pub keys: Keys,
    /// Hosts that are called wherever they are, such as one on one's own network.
    pub hosts: Vec<String>,
    /// To each host, or address where a hook has it so.
    pub per_second: Option<f64>,
    pub trust: Trust,
    /// How long one message may be on its way.
    pub hand_over: Duration,
}

/// Takes calls to the world.
pub struct Caller {
    hooks: Vec<Hook>,
    keys: Keys,
    guard: Guard,
    paces: Hosts<()>,
    client: Client,
    clock: Clock,
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("hooks", &self.hooks).finish_non_exhaustive()
    }
}

/// A request that only has to be sent.
struct Prepared {
    form: &'static dyn Form,
    turn: Turn,
    room: OwnedSemaphorePermit,
    request: Request<Bytes>,
    now: i64,
}

impl Caller {
    /// `clock` is that of the world, for others look at theirs when they check what we sign.
    pub fn new(settings: &Settings, clock: Clock) -> Result<Self, String> {
        let Settings { hooks, keys, hosts, per_second, trust, hand_over } = settings;
        if let Some(hook) = hooks.iter().find(|hook| form(**hook).is_signed() && keys.is_empty()) {
            return Err(format!("`{}` is signed, and there is no secret to sign it with", hook.name()));
        }
        let (times, guard) = (Times::within(*hand_over), Guard::new(hosts));
        let reach = Reach { most: PACES_MAX, at_once: REQUESTS, per_second: *per_second, times };
        let manner = Manner { times, guard: Some(guard.clone()), is_http2_only: false, idle: IDLE };
        Ok(Self {
            hooks: hooks.clone(),
            keys: keys.clone(),
            guard,
            paces: Hosts::new(reach),
            client: Client::new(trust, manner),
            clock,
        })
    }

    pub fn calls(&self, hook: Hook) -> bool {
        self.hooks.contains(&hook)
    }

    /// Makes a request ready. Nothing of the message leaves the house.
    async fn prepare(&self, message: &Message, call: &Call) -> Result<Prepared, Fared> {
        let refused = |why: &str| Fared::Refused(why.to_owned());
        if !self.calls(call.hook) {
            return Err(refused("this hook is not called"));
        }
        let (form, now) = (form(call.hook), self.clock.now());
        let url = self.guard.read(&call.address).map_err(refused)?;
        let (headers, body) =
            form.write(&Letter { message, call, keys: &self.keys, now }).map_err(Fared::Refused)?;
        if body.len() > BODY_BYTES_MAX {
            let why = format!("it has {} bytes, and no more than {BODY_BYTES_MAX} are sent", body.len());
            return Err(Fared::Refused(why));
        }
        let request = Request::post(url.as_str()).header(USER_AGENT, NAME).body(body);
        let mut request = request.map_err(|_| refused("no request can be made of it"))?;
        request.headers_mut().extend(headers);
        let pace = self.paces.get(&form.pace_of(&url));
        let pace = pace.ok_or_else(|| Fared::away("too many addresses are called"))?;
        let (turn, room) = pace.lane.admit(spread(message.ready)).await.map_err(Fared::Closed)?;
        Ok(Prepared { form, turn, room, request, now })
    }

    /// Once more, if who is called knows it again and nobody knows whether it came.
    async fn send(&self, prepared: Prepared) -> Fared {
        let Prepared { form, turn, room: _room, request, now } = prepared;
        let once = async || sent(&self.client, request.clone(), |reply| form.judge(reply, now)).await;
        let judged = match once().await {
            Judged { fared: Fared::Unknown(first), .. } if form.knows_again() => {
                let second = once().await;
                // What the second came to says nothing about the first, but where it was taken.
                let fared = match second.fared {
                    Fared::Accepted => Fared::Accepted,
                    _ => Fared::Unknown(first),
                };
                Judged { fared, ..second }
            }
            judged => judged,
        };
        turn.went(judged.went);
        judged.fared
    }
}

/// For operators.
impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.hooks.iter().map(|hook| hook.name()).collect();
        f.write_str(&names.join(", "))
    }
}

#[async_trait]
impl Courier for Caller {
    async fn hand(&self, message: &Message, gate: &dyn Gate) -> Result<Handed, CourierError> {
        let Way::Call(call) = &message.way else {
            return Ok(Handed::Refused("it is no call of a hook".to_owned()));
        };
        let fared = match self.prepare(message, call).await {
            Err(fared) => fared,
            Ok(_) if !gate.may_go().await => return Ok(Handed::Stopped),
            Ok(prepared) => match self.send(prepared).await {
                // Whoever is called answers for this address alone.
                Fared::Closed(Closed::Away(why) | Closed::Busy(why)) => Fared::Later(why),
                fared => fared,
            },
        };
        Ok(match fared {
            Fared::Accepted => Handed::Accepted,
            Fared::Gone(why) => {
                gate.left(call).await;
                Handed::Refused(why)
            }
            Fared::Refused(why) => Handed::Refused(why),
            Fared::Later(why) => Handed::NotNow(why),
            Fared::Closed(closed) => closed.handed(),
            Fared::Unknown(why) => Handed::Unknown(why),
        })
    }

    /// Nobody has a question for this.
    async fn outcome(&self, _channel: Channel, _message_id: &str) -> Result<Outcome, CourierError> {
        Ok(Outcome::CannotTell)
    }
}
