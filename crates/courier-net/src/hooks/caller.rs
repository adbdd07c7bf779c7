//! Calls hooks: addresses that persons have named, and that lead to strangers.

use std::{fmt, time::Duration};

use address_guard::AddressGuard;
use async_trait::async_trait;
use courier::{CallPayload, Courier, CourierError, HandoverGate, HandoverOutcome, Message, MessagePayload};
use hyper::{
    Request,
    body::Bytes,
    header::{HeaderValue, USER_AGENT},
};
use model::{Channel, hook::Hook};
use runtime::{Clock, clock::SteadyStopwatch};
use tokio::sync::OwnedSemaphorePermit;

use super::{HookDispatch, HookForm, HookSecrets, form_of_hook};
use crate::{
    destination_limiter::{LimiterTicket, spread_of_ready},
    http::{OutboundClient, OutboundOptions, OutboundTimeouts},
    known_hosts::{HostLimits, KnownHosts},
    metrics::CourierMetrics,
    send_outcome::{SendOutcome, send_and_judge},
    tls_trust::TlsTrust,
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

/// Which hooks are enabled, and how.
#[derive(Clone, Debug)]
pub struct Settings {
    pub hooks: Vec<Hook>,
    pub keys: HookSecrets,
    /// Hosts that are called wherever they are, such as one on one's own network.
    pub hosts: Vec<String>,
    /// To each host, or address where a hook has it so.
    pub per_second: Option<f64>,
    pub trust: TlsTrust,
    /// How long one message may be on its way.
    pub hand_over: Duration,
}

/// Takes calls to the world.
pub struct HookCourier {
    hooks: Vec<Hook>,
    keys: HookSecrets,
    guard: AddressGuard,
    paces: KnownHosts<()>,
    client: OutboundClient,
    clock: Clock,
    metrics: Option<CourierMetrics>,
}

impl fmt::Debug for HookCourier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookCourier").field("hooks", &self.hooks).finish_non_exhaustive()
    }
}

/// A request that only has to be sent.
struct PreparedCall {
    form: &'static dyn HookForm,
    turn: LimiterTicket,
    room: OwnedSemaphorePermit,
    request: Request<Bytes>,
    now: i64,
}

impl HookCourier {
    /// `clock` is that of the world, for others look at theirs when they check what we sign.
    pub fn new(settings: &Settings, clock: Clock) -> Result<Self, String> {
        let Settings { hooks, keys, hosts, per_second, trust, hand_over } = settings;
        if let Some(hook) = hooks.iter().find(|hook| form_of_hook(**hook).is_signed() && keys.is_empty()) {
            return Err(format!("`{}` must be signed, but `hooks.secret` is not set", hook.name()));
        }
        let (times, guard) = (OutboundTimeouts::within_hand_over(*hand_over), AddressGuard::new(hosts));
        let reach = HostLimits { most: PACES_MAX, at_once: REQUESTS, per_second: *per_second, times };
        let manner = OutboundOptions { times, guard: Some(guard.clone()), is_http2_only: false, idle: IDLE };
        Ok(Self {
            hooks: hooks.clone(),
            keys: keys.clone(),
            guard,
            paces: KnownHosts::new(reach),
            client: OutboundClient::new(trust, manner),
            clock,
            metrics: None,
        })
    }

    /// The same, counted by hook: addresses are not told apart.
    #[must_use]
    pub fn with_metrics(self, metrics: CourierMetrics) -> Self {
        for hook in &self.hooks {
            metrics.begin_provider(Channel::Hook(*hook), hook.name());
        }
        Self { metrics: Some(metrics), ..self }
    }

    pub fn calls_hook(&self, hook: Hook) -> bool {
        self.hooks.contains(&hook)
    }

    /// Makes a request ready. Nothing of the message leaves the house.
    async fn prepare(&self, message: &Message, call: &CallPayload) -> Result<PreparedCall, SendOutcome> {
        let refused = |why: &str| SendOutcome::refused(why);
        if !self.calls_hook(call.hook) {
            return Err(refused("this hook is not called"));
        }
        let (form, now) = (form_of_hook(call.hook), self.clock.now());
        let url = self.guard.parse_address(&call.address).map_err(refused)?;
        let (headers, body) = form
            .build_request(&HookDispatch { message, call, keys: &self.keys, now })
            .map_err(SendOutcome::refused)?;
        if body.len() > BODY_BYTES_MAX {
            let why = format!("it has {} bytes, and no more than {BODY_BYTES_MAX} are sent", body.len());
            return Err(SendOutcome::refused(why));
        }
        let request = Request::post(url.as_str()).header(USER_AGENT, NAME).body(body);
        let mut request = request.map_err(|_| refused("no request can be made of it"))?;
        request.headers_mut().extend(headers);
        let pace = self.paces.get(&form.limiter_key(&url));
        let pace = pace.ok_or_else(|| SendOutcome::away("too many addresses are called"))?;
        let (turn, room) =
            pace.lane.admit(spread_of_ready(message.ready)).await.map_err(SendOutcome::turned_away)?;
        Ok(PreparedCall { form, turn, room, request, now })
    }

    /// Once more, if who is called knows it again and nobody knows whether it came.
    async fn send(&self, prepared: PreparedCall) -> SendOutcome {
        let PreparedCall { form, turn, room: _room, request, now } = prepared;
        let once =
            async || send_and_judge(&self.client, request.clone(), |reply| form.judge(reply, now)).await;
        let outcome = match once().await {
            SendOutcome { handed: HandoverOutcome::Unknown(first), .. } if form.knows_again() => {
                let second = once().await;
                // What the second came to says nothing about the first, but where it was taken.
                let handed = match second.handed {
                    HandoverOutcome::Accepted => HandoverOutcome::Accepted,
                    _ => HandoverOutcome::Unknown(first),
                };
                SendOutcome { load: second.load, ..SendOutcome::decided(handed) }
            }
            outcome => outcome,
        };
        turn.record_signal(outcome.load);
        outcome
    }
}

/// For operators.
impl fmt::Display for HookCourier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.hooks.iter().map(|hook| hook.name()).collect();
        f.write_str(&names.join(", "))
    }
}

#[async_trait]
impl Courier for HookCourier {
    async fn hand(
        &self,
        message: &Message,
        gate: &dyn HandoverGate,
    ) -> Result<HandoverOutcome, CourierError> {
        let MessagePayload::Call(call) = &message.way else {
            return Ok(HandoverOutcome::Refused("it is not a hook call".to_owned()));
        };
        let watch = SteadyStopwatch::start();
        let outcome = match self.prepare(message, call).await {
            Err(outcome) => outcome,
            Ok(_) if !gate.may_go().await => return Ok(HandoverOutcome::Stopped),
            Ok(prepared) => match self.send(prepared).await {
                // A host answers for this address alone.
                SendOutcome { handed: HandoverOutcome::Away(why) | HandoverOutcome::Busy(why), .. } => {
                    SendOutcome::decided(HandoverOutcome::NotNow(why))
                }
                outcome => outcome,
            },
        };
        if let Some(metrics) = &self.metrics {
            let hook = call.hook;
            metrics.note_handover(Channel::Hook(hook), hook.name(), &outcome.handed, watch.elapsed());
        }
        if outcome.is_gone {
            gate.note_dead_address(call).await;
        }
        Ok(outcome.handed)
    }

    /// Nobody has a question for this.
    async fn was_sent(&self, _channel: Channel, _message_id: &str) -> Result<Option<bool>, CourierError> {
        Ok(None)
    }
}
