//! Keys by which those who are called see who calls: each tenant has one of its own for each hook, made of the house's
//! secret, so that none is kept anywhere.

use std::fmt;

use aws_lc_rs::hmac::{self, HMAC_SHA256};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use model::{Tenant, hook::Hook};
use secrecy::{ExposeSecret as _, SecretString};

/// Bytes of a secret, at least.
const BYTES_MIN: usize = 32;
/// Secrets at the same time: the one that is used, and the one before.
const SECRETS_MAX: usize = 2;

/// The house's secrets, the newest first. With two of them each call is signed by both, so that who is called can change
/// keys when they like.
#[derive(Clone, Default)]
pub struct HookSecrets(Vec<hmac::Key>);

impl fmt::Debug for HookSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} keys", self.0.len())
    }
}

impl HookSecrets {
    /// From a secret a line.
    pub fn read(lines: &SecretString) -> Result<Self, String> {
        let lines = lines.expose_secret().lines().map(str::trim).filter(|line| !line.is_empty());
        let lines: Vec<&str> = lines.collect();
        if lines.is_empty() || lines.len() > SECRETS_MAX {
            return Err("it is a secret a line, one or two of them".to_owned());
        }
        if lines.iter().any(|line| line.len() < BYTES_MIN) {
            return Err(format!(
                "a secret has at least {BYTES_MIN} characters, as `openssl rand -hex 32` makes them"
            ));
        }
        Ok(Self(lines.iter().map(|line| hmac::Key::new(HMAC_SHA256, line.as_bytes())).collect()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A tenant's keys for a hook, as its receivers are told them, the newest first.
    pub fn receiver_keys(&self, hook: Hook, tenant: &Tenant) -> Vec<SecretString> {
        self.tenant_tags(hook, tenant)
            .map(|key| format!("whsec_{}", BASE64_STANDARD.encode(key)).into())
            .collect()
    }

    /// The signatures of a text by each of them, in base64.
    pub(super) fn signatures(&self, hook: Hook, tenant: &Tenant, text: &[u8]) -> Vec<String> {
        let sign = |key: hmac::Tag| hmac::sign(&hmac::Key::new(HMAC_SHA256, key.as_ref()), text);
        self.tenant_tags(hook, tenant).map(|key| BASE64_STANDARD.encode(sign(key))).collect()
    }

    fn tenant_tags(&self, hook: Hook, tenant: &Tenant) -> impl Iterator<Item = hmac::Tag> {
        // No name of a hook has a blank in it, so no two of these are the same text.
        let whose = format!("tidings hook {} {tenant}", hook.name());
        self.0.iter().map(move |key| hmac::sign(key, whose.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_has_a_key_of_its_own_for_each_secret() {
        let (one, other) = ("1".repeat(32), "2".repeat(40));
        let keys = |lines: String| HookSecrets::read(&lines.into()).unwrap();
        let shown = |keys: &HookSecrets, hook: Hook, tenant: &str| -> Vec<String> {
            let shown = keys.receiver_keys(hook, &Tenant::new(tenant).unwrap());
            shown.iter().map(|key| key.expose_secret().to_owned()).collect()
        };
        let both = keys(format!("{one}\n\n {other} \n"));
        let found = shown(&both, Hook::Webhook, "main");
        assert_eq!(
            found,
            [shown(&keys(one.clone()), Hook::Webhook, "main"), shown(&keys(other), Hook::Webhook, "main")]
                .concat()
        );
        assert!(found[0] != found[1] && found[0].starts_with("whsec_"));
        let own = keys(one);
        for (hook, tenant) in [(Hook::Webhook, "main2"), (Hook::Chat, "main"), (Hook::Webhook, "other")] {
            assert_ne!(shown(&own, hook, tenant), found[..1], "{hook:?} {tenant}");
        }
        assert_eq!(format!("{both:?}"), "2 keys");
    }

    #[test]
    fn what_is_no_secret_is_refused_without_a_word_of_it() {
        let check = |lines: &str, expected: &str| {
            let why = HookSecrets::read(&lines.to_owned().into()).unwrap_err();
            assert!(why.contains(expected) && !why.contains("s3cret"), "{why}");
        };
        check("", "one or two");
        check(" \n", "one or two");
        check("s3cret", "at least 32");
        check(&format!("{}\ns3cret", "x".repeat(32)), "at least 32");
        check(&["s3cret".repeat(6).as_str(); 3].join("\n"), "one or two");
    }
}
