//! The keys of what comes back of mails.

use std::net::SocketAddr;

use courier::mail_returns::ReturnProvider;

use super::{
    keys::{MAIL_INTAKE, MAIL_PROVIDER, MAIL_RETURNS},
    merge::ConfigMerge,
    parse::parse_as,
};

/// Where mails come back to.
#[derive(Clone, Debug)]
pub struct ReturnsConfig {
    /// The domain of the return paths.
    pub domain: String,
    /// Who takes mails further, and tells of them in a way of its own.
    pub provider: Option<ReturnProvider>,
    /// Where mails to return paths are taken.
    pub intake: Option<SocketAddr>,
}

/// Characters of a domain that leave room for the rest of an address.
const DOMAIN_CHARS_MAX: usize = 180;

/// Parses them; without a domain the others have no effect.
pub fn resolve_returns(merge: &mut ConfigMerge<'_>) -> Option<ReturnsConfig> {
    let provider = merge.take(MAIL_PROVIDER, parse_provider);
    let intake = merge.take(MAIL_INTAKE, parse_as("is not an address and port, such as 127.0.0.1:2525"));
    if merge.source(MAIL_RETURNS).is_none() {
        [MAIL_PROVIDER, MAIL_INTAKE].into_iter().for_each(|name| merge.refuse_without(name, MAIL_RETURNS));
    }
    Some(ReturnsConfig { domain: merge.take(MAIL_RETURNS, parse_domain)?, provider, intake })
}

fn parse_provider(text: &str) -> Result<ReturnProvider, String> {
    let found = ReturnProvider::ALL.into_iter().find(|provider| provider.name() == text);
    let names = ReturnProvider::ALL.map(ReturnProvider::name).join(", ");
    found.ok_or_else(|| format!("is not one of {names}"))
}

fn parse_domain(text: &str) -> Result<String, String> {
    let good = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if text.len() <= DOMAIN_CHARS_MAX && text.split('.').all(good) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("is not a domain, such as returns.example.com".to_owned())
    }
}
