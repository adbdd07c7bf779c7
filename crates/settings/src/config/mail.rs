//! The keys of mail.

use std::{path::PathBuf, time::Duration};

use courier_net::{
    TlsTrust,
    mail_routes::{self, RouteDefaults},
};
use secrecy::{ExposeSecret as _, SecretString};

use super::{
    keys::{MAIL_CA, MAIL_DKIM, MAIL_NAME, MAIL_WAYS},
    merge::ConfigMerge,
    parse::parse_path,
};

/// How mails leave the house.
#[derive(Clone, Debug)]
pub struct MailConfig {
    /// An address a line, with passwords.
    pub ways: SecretString,
    pub ca: Option<PathBuf>,
    pub name: String,
    pub dkim: Option<PathBuf>,
}

/// The name of a house that has none configured.
const NAMELESS: &str = "localhost";

/// Understands them; every line of the ways that is wrong is told.
pub fn resolve_mail(
    merge: &mut ConfigMerge<'_>,
    public_url: Option<&str>,
    hand_over: Option<Duration>,
) -> Option<MailConfig> {
    let (ca, dkim) = (merge.take(MAIL_CA, parse_path), merge.take(MAIL_DKIM, parse_path));
    let name = merge
        .take(MAIL_NAME, parse_host)
        .or_else(|| host_of(public_url?))
        .unwrap_or_else(|| NAMELESS.to_owned());
    let Some((ways, source)) = merge.secrets.get(MAIL_WAYS).cloned() else {
        [MAIL_CA, MAIL_NAME, MAIL_DKIM].into_iter().for_each(|name| merge.refuse_without(name, MAIL_WAYS));
        return None;
    };
    // Only read: whether the certificates are there is seen when they are needed.
    let common =
        RouteDefaults { ehlo: name.clone(), hand_over: hand_over?, trust: TlsTrust::new(None).ok()? };
    if let Err(wrong) = mail_routes::parse_routes(ways.expose_secret(), &common) {
        wrong.into_iter().for_each(|wrong| merge.refuse(&source, format!("`{MAIL_WAYS}`: {wrong}")));
    }
    Some(MailConfig { ways, ca, name, dkim })
}

/// A name that a server can be told.
fn parse_host(text: &str) -> Result<String, String> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-.[:]".contains(&byte);
    let is_host = (1..=255).contains(&text.len()) && text.bytes().all(good);
    if is_host { Ok(text.to_owned()) } else { Err("is not a host name".to_owned()) }
}

fn host_of(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let host = rest.split('/').next()?;
    let name = if host.starts_with('[') { None } else { host.split(':').next() };
    name.filter(|name| !name.is_empty()).map(str::to_owned)
}
