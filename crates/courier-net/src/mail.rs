//! Mail by one or several ways: weighted while all are well, the next one where one is not.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use courier::{
    Courier, CourierError, Gate, Handed, Message, Outcome,
    mime::{self, Written},
};
use model::{Channel, ReadyId};
use tokio::task::spawn_blocking;

use crate::{
    dkim::Signer,
    lane::spread,
    smtp::{Brought, Destination, Letter, Limits, Server},
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
    destination: Destination,
}

impl Way {
    pub fn smtp(name: &str, weight: u32, server: Server, limits: Limits) -> Self {
        Self { name: name.to_owned(), weight, destination: Destination::new(server, limits) }
    }

    pub fn name(&self) -> &str {
        &self.name
    }
}

/// For operators; without its password.
impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, weight {}", self.name, self.destination, self.weight)?;
        write!(f, ", {} connections", self.destination.limits().connections)
    }
}

/// Takes mails to the world.
#[derive(Debug)]
pub struct Mailer {
    ways: Vec<Way>,
    signer: Arc<Signer>,
    /// Domains of which it was said that there is no key.
    unsigned: Mutex<BTreeSet<String>>,
}

impl Mailer {
    pub fn new(ways: Vec<Way>, signer: Signer) -> Self {
        Self { ways, signer: Arc::new(signer), unsigned: Mutex::default() }
    }

    /// The ways in the order in which they are asked: by lot, but a mail draws the same lots each time.
    fn ways_of(&self, ready: ReadyId) -> Vec<&Way> {
        let mut ways: Vec<(f64, &Way)> = self.ways.iter().map(|way| (lot(way, ready), way)).collect();
        ways.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        ways.into_iter().map(|(_, way)| way).collect()
    }

    /// Off the thread that waits for others: a signature takes a processor for a millisecond.
    async fn signed(&self, bytes: Vec<u8>, domain: String, at: i64) -> Result<Vec<u8>, CourierError> {
        if self.signer.is_empty() {
            return Ok(bytes);
        }
        if !self.signer.signs_for(&domain, at) {
            self.tell_unsigned(&domain);
            return Ok(bytes);
        }
        let signer = self.signer.clone();
        let signed = spawn_blocking(move || signer.signed(&bytes, &domain, at)).await;
        let signed = signed.map_err(|_| CourierError::Broken("a signature was cut off".to_owned()))?;
        signed.map_err(|error| CourierError::Broken(format!("DKIM: {error}")))
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
        let Written { from, return_path, to, is_utf8, bytes, .. } = match mime::write(message) {
            Ok(written) => written,
            Err(unfit) => return Ok(Handed::Refused(unfit.to_string())),
        };
        let bytes = self.signed(bytes, domain_of(&from), message.date.0.div_euclid(SECOND_MS)).await?;
        let letter = Letter { from: &return_path, to: &to, bytes: &bytes, is_utf8 };
        let mut why = "there is no way for mail".to_owned();
        for way in self.ways_of(message.ready) {
            match way.destination.bring(&letter, gate, spread(message.ready)).await {
                Brought::Here(handed) => return Ok(handed),
                Brought::Away(reason) => why = format!("{}: {reason}", way.name),
            }
        }
        Ok(Handed::NotNow(why))
    }

    /// SMTP has no question for this.
    async fn outcome(&self, _channel: Channel, _message_id: &str) -> Result<Outcome, CourierError> {
        Ok(Outcome::CannotTell)
    }
}
