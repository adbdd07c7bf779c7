//! The return paths of mails: where what comes back goes, and what is left behind so that it finds its person.

use courier::back::{Provider, WORD_HEADER, WORD_KEY};
use model::{
    Channel, Millis, ReadyId, State,
    person::profile,
    ready::Ready,
    returns::{AddressHash, Slip},
};
use wire::{token::Secret, verp};

/// Where mails come back to, and what their addresses are signed with.
#[derive(Clone, Debug)]
pub struct Returns {
    domain: String,
    secret: Secret,
    /// Who takes our mails further, and tells of them in a way of its own.
    provider: Option<Provider>,
}

impl Returns {
    pub fn new(domain: &str, secret: Secret, provider: Option<Provider>) -> Self {
        Self { domain: domain.to_owned(), secret, provider }
    }

    /// The address to which a mail comes back: each mail has its own, and nobody else can make one.
    pub fn path(&self, ready: ReadyId) -> String {
        format!("{}@{}", verp::sign(ready, &self.secret), self.domain)
    }

    /// The same word in headers: for whoever quotes those and leaves the return path out, and for a provider that puts
    /// its own return path in place of ours.
    pub fn headers(&self, ready: ReadyId) -> Vec<(String, String)> {
        let word = verp::sign(ready, &self.secret);
        let of_provider = self.provider.map(|provider| match provider {
            Provider::Ses => ("X-SES-MESSAGE-TAGS".to_owned(), format!("{WORD_KEY}={word}")),
            Provider::Postmark => (format!("X-PM-Metadata-{WORD_KEY}"), word.clone()),
            Provider::SendGrid => {
                ("X-SMTPAPI".to_owned(), format!(r#"{{"unique_args":{{"{WORD_KEY}":"{word}"}}}}"#))
            }
        });
        std::iter::once((WORD_HEADER.to_owned(), word)).chain(of_provider).collect()
    }
}

/// The slip of a mail to its person's address.
pub fn slip(ready: &Ready, stream: &str, profile: &State, at: Millis) -> Option<Slip> {
    let Ready { tenant, person, plan, .. } = ready;
    let address = profile.text(profile::EMAIL).filter(|_| ready.channel == Channel::Email)?;
    Some(Slip {
        tenant: tenant.clone(),
        person: person.clone(),
        plan: plan.clone(),
        stream: stream.into(),
        channel: Channel::Email,
        address: AddressHash::of(tenant, person, address),
        at,
    })
}
