//! The links of a mail by which its reader asks for no more of them.

use model::ready::Ready;
use wire::token::{self, Secret, Token};

/// The path behind the public address under which tokens are taken.
pub const PATH: &str = "u";

/// Where links lead, and what they are signed with.
#[derive(Clone, Debug)]
pub struct Links {
    public_url: String,
    secret: Secret,
}

impl Links {
    /// The address by which readers reach the house.
    pub fn new(public_url: &str, secret: Secret) -> Self {
        Self { public_url: public_url.trim_end_matches('/').to_owned(), secret }
    }

    /// The link for the reader of a Ready: the same person, plan and channel have the same link.
    pub fn unsubscribe(&self, ready: &Ready) -> String {
        let Ready { tenant, person, plan, channel, .. } = ready;
        let (tenant, person, plan) = (tenant.clone(), person.clone(), plan.clone());
        let text = token::sign(&Token { tenant, person, plan, channel: *channel }, &self.secret);
        format!("{}/{PATH}/{text}", self.public_url)
    }

    pub fn secret(&self) -> &Secret {
        &self.secret
    }
}
