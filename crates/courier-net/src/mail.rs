//! Mail by one or several ways: weighted while all are well, the next one where one is not.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use courier::{
    Courier, CourierError, Gate, Handed, Mail, Message, Outcome,
    mime::{self, Written},
};
use model::{Channel, ReadyId};
use runtime::Clock;

use crate::{
    asked::Asked,
    dkim::Signer,
    lane::{Closed, spread},
    providers,
    smtp::{self, Brought, Limits, Server},
};

/// Domains that are told of, at most.
const UNSIGNED_MAX: usize = 100;
/// Milliseconds of a second.
const SECOND_MS: i64 = 1_000;

/// One way for mail.
#[derive(Debug)]
pub struct Way {
    name: String,
    /// Its share of the mails, beside those of the others; without one it is asked when no other takes a mail.
    weight: u32,
    /// Whose mails it takes, by their receivers' domains; without any, all.
    domains: Vec<String>,
    destination: Destination,
}

#[derive(Debug)]
enum Destination {
    Smtp(smtp::Destination),
    Provider(providers::Destination),
}

/// A mail, in the forms in which one or the other wants it.
struct Item<'a> {
    message: &'a Message,
    mail: &'a Mail,
    written: &'a Written,
    /// Signed.
    bytes: &'a [u8],
}

impl Way {
    pub fn smtp(name: &str, weight: u32, server: Server, limits: Limits) -> Self {
        let destination = Destination::Smtp(smtp::Destination::new(server, limits));
        Self { name: name.to_owned(), weight, domains: Vec::new(), destination }
    }

    pub(crate) fn provider(name: &str, weight: u32, destination: providers::Destination) -> Self {
        let destination = Destination::Provider(destination);
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
            Destination::Smtp(_) => true,
            Destination::Provider(provider) => provider.takes_bytes(),
        }
    }

    async fn bring(&self, item: &Item<'_>, gate: &dyn Gate) -> Brought {
        let Item { message, mail, written, bytes } = *item;
        let spread = spread(message.ready);
        match &self.destination {
            Destination::Smtp(server) => {
                let Written { return_path: from, to, is_utf8, .. } = written;
                server.bring(&smtp::Letter { from, to, bytes, is_utf8: *is_utf8 }, gate, spread).await
            }
            Destination::Provider(provider) => {
                let now = Clock::real(0).now();
                let letter = providers::Letter { message, mail, written, bytes, now };
                provider.bring(&letter, gate, spread).await
            }
        }
    }
}

/// For operators; without its password.
impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (told, limits) = match &self.destination {
            Destination::Smtp(server) => (server.to_string(), server.limits()),
            Destination::Provider(provider) => (provider.to_string(), provider.limits()),
        };
        write!(f, "{}: {told}, weight {}, {} connections", self.name, self.weight, limits.connections)
    }
}

/// Takes mails to the world.
#[derive(Debug)]
pub struct Mailer {
    ways: Vec<Way>,
    signer: Signer,
    /// How long one mail may be on its way.
    hand_over: Duration,
    /// Domains of which it was said that there is no key.
    unsigned: Mutex<BTreeSet<String>>,
}

impl Mailer {
    pub fn new(ways: Vec<Way>, signer: Signer, hand_over: Duration) -> Self {
        Self { ways, signer, hand_over, unsigned: Mutex::default() }
    }

    /// The ways in the order in which they are asked: those for the receiver's domain first, and else by lot, but a mail
    /// draws the same lots each time.
    fn ways_of(&self, ready: ReadyId, domain: &str) -> Vec<&Way> {
        let domain = domain.to_ascii_lowercase();
        let own = self.ways.iter().filter(|way| way.is_for(&domain));
        let mut ways: Vec<(f64, &Way)> = own.map(|way| (lot(way, ready), way)).collect();
        ways.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        ways.sort_by_key(|(_, way)| way.domains.is_empty());
        ways.into_iter().map(|(_, way)| way).collect()
    }

    /// On the thread at hand: it takes about as long as the mail took to be made, and another thread would have to be woken.
    fn signed(&self, bytes: Vec<u8>, domain: &str, at: i64) -> Result<Vec<u8>, CourierError> {
        // Who puts together mails of their own signs those, with keys of their own.
        if self.signer.is_empty() || !self.ways.iter().any(Way::takes_bytes) {
            return Ok(bytes);
        }
        if !self.signer.signs_for(domain, at) {
            self.tell_unsigned(domain);
            return Ok(bytes);
        }
        self.signer.signed(bytes, domain, at).map_err(|error| CourierError::Broken(format!("DKIM: {error}")))
    }

    /// Whoever has keys means mails to be signed. Said once of each domain.
    fn tell_unsigned(&self, domain: &str) {
        let mut told = self.unsigned.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < UNSIGNED_MAX && told.insert(domain.to_owned()) {
            tracing::warn!(
                domain,
                "mails of this domain go out unsigned: there is no key of it, or of a domain above"
            );
        }
    }
}

/// Rendezvous hashing: each way draws a number, its weight bends it, the highest is asked first.
#[allow(clippy::cast_precision_loss, reason = "a lot only orders")]
fn lot(way: &Way, ready: ReadyId) -> f64 {
    let drawn = spread(ready) ^ xxhash_rust::xxh3::xxh3_64(way.name.as_bytes());
    let drawn = xxhash_rust::xxh3::xxh3_64(&drawn.to_le_bytes());
    let unit = (drawn >> 11) as f64 / (1_u64 << 53) as f64;
    // Without a weight it is behind all that have one.
    if way.weight == 0 { unit - 2.0 } else { unit.max(f64::MIN_POSITIVE).powf(1.0 / f64::from(way.weight)) }
}

fn domain_of(address: &str) -> String {
    address.rsplit_once('@').map_or("", |(_, domain)| domain).to_owned()
}

#[async_trait]
impl Courier for Mailer {
    async fn hand(&self, message: &Message, gate: &dyn Gate) -> Result<Handed, CourierError> {
        let Some(mail) = message.mail() else {
            return Ok(Handed::Refused("it is no mail".to_owned()));
        };
        let mut written = match mime::write(message) {
            Ok(written) => written,
            Err(unfit) => return Ok(Handed::Refused(unfit.to_string())),
        };
        let (bytes, at) = (std::mem::take(&mut written.bytes), message.date.0.div_euclid(SECOND_MS));
        let bytes = self.signed(bytes, &domain_of(&written.from), at)?;
        let item = Item { message, mail, written: &written, bytes: &bytes };
        let mut closed = Closed::Away("there is no way for mail".to_owned());
        let gate = Asked::new(gate, self.hand_over);
        for way in self.ways_of(message.ready, &domain_of(&written.to)) {
            match way.bring(&item, &gate).await {
                // It may have been sent had there been more time; it was not.
                Brought::Here(Handed::Stopped) if gate.is_late() => break,
                Brought::Here(handed) => return Ok(handed),
                Brought::Away(why) => closed = closed.or(why.named(&way.name)),
            }
            if gate.is_late() {
                break;
            }
        }
        Ok(closed.handed())
    }

    /// Neither SMTP nor any of the providers has a question for this.
    async fn outcome(&self, _channel: Channel, _message_id: &str) -> Result<Outcome, CourierError> {
        Ok(Outcome::CannotTell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ways::{self, Common, Trust};

    #[test]
    fn ways_for_a_domain_come_first_and_take_no_others() {
        let text = "smtp://a.example?weight=0\nsmtp://b.example?domains=gmx.example,Web.Example&weight=0\n\
                    smtp://c.example?weight=5&warm_up=2026-01-01";
        let trust = Trust::new(None).unwrap();
        let common = Common { ehlo: "x.example".to_owned(), hand_over: Duration::from_secs(1), trust };
        let mailer =
            Mailer::new(ways::parse(text, &common).unwrap(), Signer::default(), Duration::from_secs(1));
        let check = |domain: &str, expected: [&str; 2]| {
            let ways = mailer.ways_of(ReadyId([7; 16]), domain);
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
