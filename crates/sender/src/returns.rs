//! The return paths of mails: where what comes back goes, and what is left behind so that it finds its person.

use courier::mail_returns::{ReturnProvider, WORD_HEADER, WORD_KEY};
use model::{
    Channel, ReadyId, UtcMillis, VersionedState,
    person::profile,
    ready::Ready,
    returns::{AddressHash, Slip},
};
use wire::{return_path, token::LinkSecret};

/// Where mails come back to, and what their addresses are signed with.
#[derive(Clone, Debug)]
pub struct ReturnAddresses {
    domain: String,
    secret: LinkSecret,
    /// Who takes our mails further, and tells of them in a way of its own.
    provider: Option<ReturnProvider>,
}

impl ReturnAddresses {
    pub fn new(domain: &str, secret: LinkSecret, provider: Option<ReturnProvider>) -> Self {
        Self { domain: domain.to_owned(), secret, provider }
    }

    /// The address to which a mail comes back: each mail has its own, and nobody else can make one.
    pub fn path(&self, ready: ReadyId) -> String {
        format!("{}@{}", return_path::sign_return_path(ready, &self.secret), self.domain)
    }

    /// The same word in headers: for whoever quotes those and leaves the return path out, and for a provider that puts
    /// its own return path in place of ours.
    pub fn headers(&self, ready: ReadyId) -> Vec<(String, String)> {
        let word = return_path::sign_return_path(ready, &self.secret);
        let of_provider = self.provider.map(|provider| match provider {
            ReturnProvider::Ses => ("X-SES-MESSAGE-TAGS".to_owned(), format!("{WORD_KEY}={word}")),
            ReturnProvider::Postmark => (format!("X-PM-Metadata-{WORD_KEY}"), word.clone()),
            ReturnProvider::SendGrid => {
                ("X-SMTPAPI".to_owned(), format!(r#"{{"unique_args":{{"{WORD_KEY}":"{word}"}}}}"#))
            }
        });
        std::iter::once((WORD_HEADER.to_owned(), word)).chain(of_provider).collect()
    }
}

/// The slip of a mail to its person's address.
pub fn build_slip(ready: &Ready, stream: &str, profile: &VersionedState, at: UtcMillis) -> Option<Slip> {
    let Ready { tenant, person, plan, .. } = ready;
    let address = profile.text(profile::EMAIL).filter(|_| ready.channel == Channel::Email)?;
    Some(Slip {
        tenant: tenant.clone(),
        person: person.clone(),
        plan: plan.clone(),
        stream: stream.into(),
        channel: Channel::Email,
        address: AddressHash::from_address(tenant, person, address),
        at,
    })
}
