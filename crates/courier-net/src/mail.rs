//! Mail by one or several ways: weighted while all are well, the next one where one is not.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use courier::{
    Courier, CourierError, HandoverGate, HandoverOutcome, MailPayload, Message,
    mime::{self, MimeMessage},
};
use model::{Channel, ReadyId};
use runtime::{Clock, clock::SteadyStopwatch};

use crate::{
    destination_limiter::spread_of_ready,
    dkim::DkimSigner,
    mail_destination::{MailDestination, SmtpLimits},
    metrics::CourierMetrics,
    once_gate::OnceGate,
    providers,
    send_outcome::{SendOutcome, name_destination, prefer_sooner},
    smtp::{self, SmtpRelay, SmtpTransport},
};

/// Domains that are told of, at most.
const UNSIGNED_MAX: usize = 100;
/// Milliseconds of a second.
const SECOND_MS: i64 = 1_000;

/// One way for mail.
#[derive(Debug)]
pub struct MailRoute {
    name: String,
    /// Its share of the mails, beside those of the others; without one it is asked when no other takes a mail.
    weight: u32,
    /// Whose mails it takes, by their receivers' domains; without any, all.
    domains: Vec<String>,
    destination: RouteDestination,
}

#[derive(Debug)]
enum RouteDestination {
    Smtp(MailDestination<SmtpTransport>),
    Provider(MailDestination<providers::ProviderTransport>),
}

/// A mail, in the forms in which one or the other wants it.
struct OutgoingMail<'a> {
    message: &'a Message,
    mail: &'a MailPayload,
    written: &'a MimeMessage,
    /// Signed.
    bytes: &'a [u8],
}

impl MailRoute {
    pub fn by_smtp(name: &str, weight: u32, server: SmtpRelay, limits: SmtpLimits) -> Self {
        let transport = SmtpTransport::new(server, limits);
        let destination = RouteDestination::Smtp(MailDestination::new(transport, limits));
        Self { name: name.to_owned(), weight, domains: Vec::new(), destination }
    }

    pub(crate) fn by_provider(
        name: &str,
        weight: u32,
        transport: providers::ProviderTransport,
        limits: SmtpLimits,
    ) -> Self {
        let destination = RouteDestination::Provider(MailDestination::new(transport, limits));
        Self { name: name.to_owned(), weight, domains: Vec::new(), destination }
    }

    /// The same way for these domains alone, if there are any.
    #[must_use]
    pub fn only_for(self, domains: Vec<String>) -> Self {
        Self { domains, ..self }
    }

    fn is_for(&self, domain: &str) -> bool {
        self.domains.is_empty() || self.domains.iter().any(|own| own == domain)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    fn takes_bytes(&self) -> bool {
        match &self.destination {
            RouteDestination::Smtp(_) => true,
            RouteDestination::Provider(provider) => provider.transport.takes_bytes(),
        }
    }

    fn is_resting(&self) -> bool {
        match &self.destination {
            RouteDestination::Smtp(server) => server.is_resting(),
            RouteDestination::Provider(provider) => provider.is_resting(),
        }
    }

    async fn bring(&self, item: &OutgoingMail<'_>, gate: &dyn HandoverGate) -> SendOutcome {
        let OutgoingMail { message, mail, written, bytes } = *item;
        let spread = spread_of_ready(message.ready);
        match &self.destination {
            RouteDestination::Smtp(server) => {
                let MimeMessage { return_path: from, to, is_utf8, .. } = written;
                let letter = smtp::SmtpMail { from, to, bytes, is_utf8: *is_utf8 };
                server.bring(spread, server.transport.carry(&letter, gate)).await
            }
            RouteDestination::Provider(provider) => {
                let now = Clock::real(0).now();
                let letter = providers::ProviderMail { message, mail, written, bytes, now };
                provider.bring(spread, provider.transport.carry(&letter, gate)).await
            }
        }
    }
}

/// For operators; without its password.
impl fmt::Display for MailRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (told, limits) = match &self.destination {
            RouteDestination::Smtp(server) => (server.transport.to_string(), server.limits),
            RouteDestination::Provider(provider) => (provider.transport.to_string(), provider.limits),
        };
        write!(f, "{}: {told}, weight {}, {} connections", self.name, self.weight, limits.connections)
    }
}

/// Takes mails to the world.
#[derive(Debug)]
pub struct MailCourier {
    ways: Vec<MailRoute>,
    signer: DkimSigner,
    /// How long one mail may be on its way.
    hand_over: Duration,
    /// Domains of which it was said that there is no key.
    unsigned: Mutex<BTreeSet<String>>,
    metrics: Option<CourierMetrics>,
}

impl MailCourier {
    pub fn new(ways: Vec<MailRoute>, signer: DkimSigner, hand_over: Duration) -> Self {
        Self { ways, signer, hand_over, unsigned: Mutex::default(), metrics: None }
    }

    /// The same, counted by way.
    #[must_use]
    pub fn with_metrics(self, metrics: CourierMetrics) -> Self {
        for way in &self.ways {
            metrics.begin_provider(Channel::Email, way.name());
        }
        Self { metrics: Some(metrics), ..self }
    }

    async fn bring_by(
        &self,
        way: &MailRoute,
        item: &OutgoingMail<'_>,
        gate: &dyn HandoverGate,
    ) -> SendOutcome {
        let watch = SteadyStopwatch::start();
        let outcome = way.bring(item, gate).await;
        if let Some(metrics) = &self.metrics {
            metrics.note_handover(Channel::Email, way.name(), &outcome.handed, watch.elapsed());
            metrics.note_up(Channel::Email, way.name(), !way.is_resting());
        }
        outcome
    }

    /// The ways in the order in which they are asked: those for the receiver's domain first, and else by lot, but a mail
    /// draws the same lots each time.
    fn routes_for(&self, ready: ReadyId, domain: &str) -> Vec<&MailRoute> {
        let domain = domain.to_ascii_lowercase();
        let own = self.ways.iter().filter(|way| way.is_for(&domain));
        let mut ways: Vec<(f64, &MailRoute)> = own.map(|way| (rendezvous_score(way, ready), way)).collect();
        ways.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        ways.sort_by_key(|(_, way)| way.domains.is_empty());
        ways.into_iter().map(|(_, way)| way).collect()
    }

    /// On the thread at hand: it takes about as long as the mail took to be made, and another thread would have to be woken.
    fn sign_bytes(&self, bytes: Vec<u8>, domain: &str, at: i64) -> Result<Vec<u8>, CourierError> {
        // Who puts together mails of their own signs those, with keys of their own.
        if self.signer.is_empty() || !self.ways.iter().any(MailRoute::takes_bytes) {
            return Ok(bytes);
        }
        if !self.signer.signs_for(domain, at) {
            self.warn_unsigned(domain);
            return Ok(bytes);
        }
        self.signer
            .sign_mail(bytes, domain, at)
            .map_err(|error| CourierError::Broken(format!("DKIM: {error}")))
    }

    /// Whoever has keys means mails to be signed. Said once of each domain.
    fn warn_unsigned(&self, domain: &str) {
        let mut told = self.unsigned.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < UNSIGNED_MAX && told.insert(domain.to_owned()) {
            tracing::warn!(
                domain,
                "mail from this domain is sent unsigned; neither it nor a parent domain has a DKIM key"
            );
        }
    }
}

/// Rendezvous hashing: each way draws a number, its weight bends it, the highest is asked first.
#[allow(clippy::cast_precision_loss, reason = "a lot only orders")]
fn rendezvous_score(way: &MailRoute, ready: ReadyId) -> f64 {
    let drawn = spread_of_ready(ready) ^ xxhash_rust::xxh3::xxh3_64(way.name.as_bytes());
    let drawn = xxhash_rust::xxh3::xxh3_64(&drawn.to_le_bytes());
    let unit = (drawn >> 11) as f64 / (1_u64 << 53) as f64;
    // Without a weight it is behind all that have one.
    if way.weight == 0 { unit - 2.0 } else { unit.max(f64::MIN_POSITIVE).powf(1.0 / f64::from(way.weight)) }
}

fn domain_of(address: &str) -> String {
    address.rsplit_once('@').map_or("", |(_, domain)| domain).to_owned()
}

#[async_trait]
impl Courier for MailCourier {
    async fn hand(
        &self,
        message: &Message,
        gate: &dyn HandoverGate,
    ) -> Result<HandoverOutcome, CourierError> {
        let Some(mail) = message.mail() else {
            return Ok(HandoverOutcome::Refused("it is no mail".to_owned()));
        };
        let mut written = match mime::write_message(message) {
            Ok(written) => written,
            Err(unfit) => return Ok(HandoverOutcome::Refused(unfit.to_string())),
        };
        let (bytes, at) = (std::mem::take(&mut written.bytes), message.date.0.div_euclid(SECOND_MS));
        let bytes = self.sign_bytes(bytes, &domain_of(&written.from), at)?;
        let item = OutgoingMail { message, mail, written: &written, bytes: &bytes };
        let mut closed = HandoverOutcome::Away("there is no way for mail".to_owned());
        let gate = OnceGate::new(gate, self.hand_over);
        for way in self.routes_for(message.ready, &domain_of(&written.to)) {
            match self.bring_by(way, &item, &gate).await {
                // It may have been sent had there been more time; it was not.
                SendOutcome { handed: HandoverOutcome::Stopped, .. } if gate.is_late() => break,
                SendOutcome { handed, elsewhere: false, .. } => return Ok(handed),
                SendOutcome { handed, .. } => {
                    closed = prefer_sooner(closed, name_destination(handed, &way.name));
                }
            }
            if gate.is_late() {
                break;
            }
        }
        Ok(closed)
    }

    /// Neither SMTP nor any of the providers has a question for this.
    async fn was_sent(&self, _channel: Channel, _message_id: &str) -> Result<Option<bool>, CourierError> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        mail_routes::{self, RouteDefaults},
        tls_trust::TlsTrust,
    };

    #[test]
    fn ways_for_a_domain_come_first_and_take_no_others() {
        let text = "smtp://a.example?weight=0\nsmtp://b.example?domains=gmx.example,Web.Example&weight=0\n\
                    smtp://c.example?weight=5&warm_up=2026-01-01";
        let trust = TlsTrust::new(None).unwrap();
        let common = RouteDefaults { ehlo: "x.example".to_owned(), hand_over: Duration::from_secs(1), trust };
        let mailer = MailCourier::new(
            mail_routes::parse_routes(text, &common).unwrap(),
            DkimSigner::default(),
            Duration::from_secs(1),
        );
        let check = |domain: &str, expected: [&str; 2]| {
            let ways = mailer.routes_for(ReadyId([7; 16]), domain);
            let names: Vec<&str> = ways.iter().map(|way| way.name()).collect();
            assert_eq!(names[..2], expected, "{domain}");
            assert_eq!(ways.len(), if expected[0] == "b.example" { 3 } else { 2 }, "{domain}");
        };
        check("gmx.example", ["b.example", "c.example"]);
        check("WEB.example", ["b.example", "c.example"]);
        check("mail.gmx.example", ["c.example", "a.example"]);
        check("other.example", ["c.example", "a.example"]);
    }
}
