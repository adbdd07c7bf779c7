//! Tokens that were really signed, and what somebody makes of them who would like to be another.

use std::sync::Arc;

use aws_lc_rs::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _},
};
use axum::http::{HeaderMap, StatusCode, header};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use house_facts::KeyScope;
use jsonwebtoken::{EncodingKey, crypto};
use model::Tenant;
use secrecy::SecretString;
use serde_json::json;

use super::*;
use crate::{
    ApiKey, HttpProblem, ProblemType,
    api_key::{ApiKeyList, TenantAccess},
    person_access::{PersonAccess, PersonCaller, PersonDoor, PersonIssuer},
};

const NOW_SECS: i64 = 1_800_000_000;
const NOW: UtcMillis = UtcMillis(NOW_SECS * 1_000);
const ISSUER: &str = "https://login.shop.example";

/// A key of a login: what it signs with, and what it says of it.
struct LoginKey {
    algorithm: Algorithm,
    pair: EncodingKey,
    jwk: Value,
}

impl LoginKey {
    fn ed25519(id: &str) -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
        let x = URL_SAFE_NO_PAD.encode(pair.public_key());
        let jwk = json!({"kty": "OKP", "crv": "Ed25519", "kid": id, "x": x, "use": "sig", "alg": "EdDSA"});
        Self { algorithm: Algorithm::EdDSA, pair: EncodingKey::from_ed_der(document.as_ref()), jwk }
    }

    fn p256(id: &str) -> Self {
        let (random, sort) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let document = EcdsaKeyPair::generate_pkcs8(sort, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(sort, document.as_ref()).unwrap();
        let point = &pair.public_key().as_ref()[1..];
        let [x, y] = [&point[..32], &point[32..]].map(|half| URL_SAFE_NO_PAD.encode(half));
        let jwk = json!({"kty": "EC", "crv": "P-256", "kid": id, "x": x, "y": y});
        Self { algorithm: Algorithm::ES256, pair: EncodingKey::from_ec_der(document.as_ref()), jwk }
    }

    fn sign(&self, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
        let signature = crypto::sign(message.as_bytes(), &self.pair, self.algorithm).unwrap();
        format!("{message}.{signature}")
    }

    fn id(&self) -> &str {
        self.jwk["kid"].as_str().unwrap()
    }

    /// A token as a login makes it, with other claims than usual.
    fn token(&self, other: Value) -> String {
        self.sign(&self.header(json!({})), &claims(other).to_string())
    }

    fn header(&self, other: Value) -> String {
        merge(json!({"alg": format!("{:?}", self.algorithm), "kid": self.id()}), other).to_string()
    }
}

fn claims(other: Value) -> Value {
    merge(json!({"iss": ISSUER, "aud": "tidings", "sub": "ann", "exp": NOW_SECS + 600}), other)
}

/// One object with what another says; `null` takes away.
fn merge(one: Value, other: Value) -> Value {
    let (Value::Object(mut one), Value::Object(other)) = (one, other) else { panic!("no objects") };
    for (name, value) in other {
        if value.is_null() {
            one.remove(&name)
        } else {
            one.insert(name, value)
        };
    }
    Value::Object(one)
}

fn tenant(name: &str) -> Tenant {
    Tenant::new(name).unwrap()
}

fn issuer(of: &str, audience: &str, keys: &[&LoginKey]) -> Arc<PersonIssuer> {
    let issuer = PersonIssuer::new(tenant(of), ISSUER.to_owned(), audience.to_owned(), vec![]);
    issuer.replace_keys(Arc::new(key_set(keys)));
    Arc::new(issuer)
}

fn key_set(keys: &[&LoginKey]) -> PersonKeySet {
    let keys: Vec<&Value> = keys.iter().map(|key| &key.jwk).collect();
    PersonKeySet::parse(json!({"keys": keys}).to_string().as_bytes()).unwrap()
}

fn refusal(answer: Result<impl fmt::Debug, HttpProblem>) -> String {
    let problem = answer.unwrap_err();
    assert_eq!(problem.kind, ProblemType::InvalidToken);
    problem.detail.into_owned()
}

#[test]
fn a_token_says_who_somebody_is_until_when() {
    let (one, two) = (LoginKey::ed25519("one"), LoginKey::p256("two"));
    let access = PersonAccess::new(vec![issuer("shop", "tidings", &[&one, &two])]);
    let check = |token: &str, person: &str, expires: i64| {
        let found = access.verify(token, NOW).unwrap_or_else(|problem| panic!("{problem:?}"));
        assert_eq!((found.tenant.as_str(), found.person.as_str()), ("shop", person));
        assert_eq!(found.expires, UtcMillis(expires));
    };
    // A minute longer than it says.
    let soon = NOW.0 + 660_000;
    for key in [&one, &two] {
        check(&key.token(json!({})), "ann", soon);
        check(&key.token(json!({"sub": "ä/b c"})), "ä/b c", soon);
        check(&key.token(json!({"aud": ["other", "tidings"]})), "ann", soon);
        check(&key.token(json!({"exp": NOW_SECS - 59})), "ann", NOW.0 + 1_000);
        check(&key.token(json!({"exp": NOW_SECS + 86_400})), "ann", NOW.0 + 86_460_000);
        check(&key.token(json!({"exp": NOW_SECS as f64 + 0.5})), "ann", NOW.0 + 60_500);
        check(&key.token(json!({"nbf": NOW_SECS + 59, "iat": NOW_SECS + 59})), "ann", soon);
        check(&key.token(json!({"scope": "all", "jti": 7, "nested": {"a": [1]}})), "ann", soon);
        // One that names no key is by any of its sort.
        let header = key.header(json!({"kid": null, "typ": "JWT"}));
        check(&key.sign(&header, &claims(json!({})).to_string()), "ann", soon);
        // Keys that a token brings along count for nothing, and hurt nobody.
        let header = key.header(json!({"jku": "https://evil.example", "x5u": "https://evil.example"}));
        check(&key.sign(&header, &claims(json!({})).to_string()), "ann", soon);
    }
}

#[test]
fn a_token_with_other_claims_counts_for_nothing() {
    let key = LoginKey::ed25519("one");
    let access = PersonAccess::new(vec![issuer("shop", "tidings", &[&key])]);
    let check = |other: Value, says: &str| {
        let why = refusal(access.verify(&key.token(other.clone()), NOW));
        assert!(why.contains(says), "{other}: {why}");
        // What stands in it is not said again.
        assert!(!why.contains("secret"), "{other}: {why}");
    };
    check(json!({"exp": NOW_SECS - 60}), "expired");
    check(json!({"exp": 0}), "expired");
    check(json!({"nbf": NOW_SECS + 61}), "not good yet");
    check(json!({"iat": NOW_SECS + 61}), "not good yet");
    check(json!({"exp": NOW_SECS + 86_400 + 61}), "longer than a day");
    let (no_text, no_time) = ("is not text", "is not a number of seconds");
    for (name, value, says) in [
        ("exp", json!(null), "has no"),
        ("exp", json!("1800000600"), no_time),
        ("exp", json!("secret"), no_time),
        ("exp", json!(9e18), no_time),
        ("exp", json!(-1), no_time),
        ("sub", json!(null), "has no"),
        ("sub", json!(7), no_text),
        ("sub", json!(["secret"]), no_text),
        ("iss", json!(null), "has no"),
        ("iss", json!([ISSUER]), no_text),
        ("aud", json!(null), "has no"),
        ("aud", json!({"secret": 1}), "neither text nor a list of texts"),
        ("aud", json!(["tidings", 7]), "neither text nor a list of texts"),
        ("nbf", json!("secret"), no_time),
        ("nbf", json!(1e300), no_time),
        ("iat", json!({"secret": 1}), no_time),
    ] {
        check(json!({name: value}), says);
        check(json!({name: value}), &format!("`{name}`"));
    }
    for sub in ["", "a\u{0}b", "a\nb", &"a".repeat(129)] {
        check(json!({"sub": sub}), "not a person's id");
    }
    for aud in [json!("other"), json!([]), json!(["Tidings"]), json!("tidings ")] {
        check(json!({"aud": aud}), "no login is known");
    }
    check(json!({"iss": "https://login.other.example"}), "no login is known");
    let twice = claims(json!({})).to_string().replace("\"sub\":\"ann\"", "\"sub\":\"ann\",\"sub\":\"eve\"");
    let why = refusal(access.verify(&key.sign(&key.header(json!({})), &twice), NOW));
    assert!(why.contains("one of them twice"), "{why}");
}

#[test]
fn a_token_that_was_tampered_with_counts_for_nothing() {
    let (key, point, foreign) = (LoginKey::ed25519("one"), LoginKey::p256("two"), LoginKey::ed25519("one"));
    let access = PersonAccess::new(vec![issuer("shop", "tidings", &[&key, &point])]);
    let good = key.token(json!({}));
    let (message, signature) = good.rsplit_once('.').unwrap();
    let (head, body) = message.split_once('.').unwrap();
    let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let with_header = |text: &str| format!("{}.{body}.{signature}", encode(text));
    let check = |token: &str, says: &str| {
        let why = refusal(access.verify(token, NOW));
        assert!(why.contains(says), "{token}: {why}");
        assert!(token.is_empty() || !why.contains(token), "{why}");
    };
    for odd in ["", ".", "..", "...", "a.b", message, &good[1..], &format!("{good}.x"), "eyJ.eyJ.eyJ"] {
        check(odd, "cannot be read");
    }
    check(&format!("{head}.{body}."), "signature");
    check(&good[..good.len() - 2], "signature");
    check(&format!("{good}AAAA"), "signature");
    check(&format!("{head}.{}.{signature}", encode(&claims(json!({"sub": "eve"})).to_string())), "signature");
    check(&foreign.token(json!({})), "signature");
    // Without a signature, in each way that somebody may write it.
    for none in ["none", "None", "NONE", ""] {
        let header = json!({"alg": none, "kid": "one"}).to_string();
        check(&with_header(&header), "cannot be read");
        check(&format!("{}.{body}.", encode(&header)), "cannot be read");
    }
    // With the public key as a secret that everybody knows.
    for secret in [key.jwk["x"].as_str().unwrap().as_bytes(), key.jwk.to_string().as_bytes()] {
        let message = format!("{}.{body}", encode(r#"{"alg":"HS256","kid":"one"}"#));
        let secret = EncodingKey::from_secret(secret).unwrap();
        let signature = crypto::sign(message.as_bytes(), &secret, Algorithm::HS256).unwrap();
        check(&format!("{message}.{signature}"), "not signed by EdDSA or ES256");
    }
    check(&with_header(r#"{"alg":"RS256","kid":"one"}"#), "not signed by EdDSA or ES256");
    check(&with_header(r#"{"alg":"ES384","kid":"one"}"#), "not signed by EdDSA or ES256");
    // A key signs by its own algorithm, whatever the token says.
    check(&with_header(r#"{"alg":"ES256","kid":"one"}"#), "a key that is not known");
    check(&with_header(r#"{"alg":"ES256"}"#), "signature");
    check(&with_header(r#"{"alg":"EdDSA","kid":"two"}"#), "a key that is not known");
    check(&key.sign(&key.header(json!({"kid": "three"})), &claims(json!({})).to_string()), "not known");
    check(&key.sign(&key.header(json!({"kid": ""})), &claims(json!({})).to_string()), "not known");
    check(&key.sign(&key.header(json!({"crit": ["exp"]})), &claims(json!({})).to_string()), "`crit`");
    check(&with_header(r#"{"alg":"EdDSA","alg":"EdDSA","kid":"one"}"#), "cannot be read");
    check(&with_header("[]"), "cannot be read");
    // The right key, brought along by somebody who signs with another.
    let header = json!({"alg": "EdDSA", "jwk": {"kty": "OKP", "crv": "Ed25519", "x": foreign.jwk["x"]}});
    check(&foreign.sign(&header.to_string(), &claims(json!({})).to_string()), "signature");
    check(&key.token(json!({"padding": "x".repeat(5 * 1_024)})), "too long");
}

#[test]
fn issuer_and_audience_choose_the_tenant_and_never_the_key() {
    let (a, b) = (LoginKey::ed25519("key"), LoginKey::ed25519("key"));
    let issuers = vec![issuer("a", "tidings", &[&a]), issuer("b", "other", &[&b])];
    let access = PersonAccess::new(issuers);
    let find = |key: &LoginKey, aud: Value| {
        access.verify(&key.token(json!({"aud": aud})), NOW).map(|found| found.tenant.to_string())
    };
    assert_eq!(find(&a, json!("tidings")).unwrap(), "a");
    assert_eq!(find(&b, json!("other")).unwrap(), "b");
    assert!(refusal(find(&a, json!("other"))).contains("signature"));
    assert!(refusal(find(&b, json!("tidings"))).contains("signature"));
    assert!(refusal(find(&a, json!(["tidings", "other"]))).contains("several audiences"));
}

#[test]
fn while_keys_are_missing_a_client_is_told_to_come_again() {
    let (old, new) = (LoginKey::p256("old"), LoginKey::p256("new"));
    let login = PersonIssuer::new(tenant("shop"), ISSUER.to_owned(), "tidings".to_owned(), vec![]);
    let login = Arc::new(login);
    let access = PersonAccess::new(vec![login.clone()]);
    let problem = access.verify(&old.token(json!({})), NOW).unwrap_err();
    assert_eq!(problem.status(), StatusCode::SERVICE_UNAVAILABLE);
    login.replace_keys(Arc::new(key_set(&[&old])));
    assert!(access.verify(&old.token(json!({})), NOW).is_ok() && !login.take_missed_key());
    // A key that nobody knows is asked for, once.
    assert!(access.verify(&new.token(json!({})), NOW).is_err());
    assert!(login.take_missed_key() && !login.take_missed_key());
    login.replace_keys(Arc::new(key_set(&[&old, &new])));
    assert!(access.verify(&old.token(json!({})), NOW).is_ok());
    assert!(access.verify(&new.token(json!({})), NOW).is_ok() && !login.take_missed_key());
    login.replace_keys(Arc::new(key_set(&[&new])));
    assert!(access.verify(&old.token(json!({})), NOW).is_err());
}

#[test]
fn a_set_of_keys_has_one_at_least_that_is_ours() {
    let (one, two) = (LoginKey::ed25519("one").jwk, LoginKey::p256("two").jwk);
    let check = |set: Value, expected: Result<usize, &str>| {
        let found = PersonKeySet::parse(set.to_string().as_bytes());
        match (found, expected) {
            (Ok(keys), Ok(count)) => assert_eq!(keys.count(), count, "{set}"),
            (Err(why), Err(says)) => assert!(why.contains(says), "{set}: {why}"),
            (found, expected) => panic!("{set}: {found:?}, expected {expected:?}"),
        }
    };
    let with = |key: &Value, other: Value| merge(key.clone(), other);
    check(json!({"keys": [one, two]}), Ok(2));
    check(json!({"keys": [with(&one, json!({"kid": null, "use": null, "alg": null}))]}), Ok(1));
    check(json!({"keys": [with(&one, json!({"key_ops": ["verify"]}))], "more": 1}), Ok(1));
    // What is of an unknown sort does not hide the others.
    let strange = json!({"kty": "AKP", "alg": "ML-DSA-44", "pub": "AAAA"});
    let rsa = json!({"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "one"});
    check(json!({"keys": [strange, rsa, 7, null, {"kty": "oct", "k": "AAAA"}, one]}), Ok(1));
    for of_no_use in [
        with(&one, json!({"use": "enc"})),
        with(&one, json!({"alg": "ES256"})),
        with(&one, json!({"key_ops": ["sign"]})),
        with(&one, json!({"crv": "X25519"})),
        with(&one, json!({"crv": "P-256"})),
        with(&one, json!({"x": "AAAA"})),
        with(&one, json!({"x": "not base64!"})),
        with(&two, json!({"crv": "P-384"})),
        with(&two, json!({"y": "AAAA"})),
        with(&two, json!({"alg": "RS256"})),
        rsa,
    ] {
        check(json!({"keys": [of_no_use]}), Err("no key that tokens may be signed with"));
    }
    check(json!({"keys": []}), Err("no key"));
    check(json!({"keys": {}}), Err("no list `keys`"));
    check(json!([one]), Err("no list `keys`"));
    check(json!({"keys": vec![&one; 64]}), Ok(64));
    check(json!({"keys": vec![&one; 65]}), Err("more than 64 keys"));
    check(json!({"keys": [one], "padding": "x".repeat(64 * 1_024)}), Err("more than 65536 bytes"));
    assert!(PersonKeySet::parse(b"<html>").is_err_and(|why| why == "it is no JSON"));
}

/// Who a request is taken for: a service, a person, or the status that it is answered with.
#[test]
fn a_request_shows_a_key_or_a_token_and_one_of_them() {
    let key = LoginKey::ed25519("one");
    let persons = PersonAccess::new(vec![issuer("shop", "tidings", &[&key])]);
    let door = |keys: Option<Vec<ApiKey>>, persons: &PersonAccess| PersonDoor {
        services: TenantAccess { keys: ApiKeyList::new(keys), tenant: tenant("main") },
        persons: persons.clone(),
    };
    let secret = ApiKey::new(&SecretString::from("a.service.key"), tenant("shop"));
    let locked = door(Some(vec![secret.clone()]), &persons);
    let (open, keys_alone) = (door(None, &persons), door(Some(vec![secret]), &PersonAccess::default()));
    let bearer = |token: &str| format!("Bearer {token}");
    let (good, bad) = (bearer(&key.token(json!({}))), bearer(&key.token(json!({"exp": 1}))));
    let check = |door: &PersonDoor, lines: &[&str], expected: &str| {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::AUTHORIZATION, line.parse().unwrap());
        }
        let found = match door.authenticate(&headers, KeyScope::Read, NOW) {
            Ok(PersonCaller::Service(tenant)) => format!("{tenant}"),
            Ok(PersonCaller::Holder(holder)) => format!("{} of {}", holder.person, holder.tenant),
            Err(problem) => problem.kind.name().to_owned(),
        };
        assert_eq!(found, expected, "{lines:?}");
    };
    let basic = "Basic dGlkaW5nczphLnNlcnZpY2Uua2V5";
    let cases: [(&[&str], [&str; 3]); 9] = [
        (&[], ["unauthorized", "main", "unauthorized"]),
        (&["Bearer a.service.key"], ["shop", "invalid-token", "shop"]),
        (&[&good], ["ann of shop", "ann of shop", "unauthorized"]),
        (&[&bad], ["invalid-token", "invalid-token", "unauthorized"]),
        (&[&good, &good], ["unauthorized", "unauthorized", "unauthorized"]),
        (&[&good, "Bearer a.service.key"], ["unauthorized", "unauthorized", "unauthorized"]),
        (&["Bearer eyJ.x.y"], ["invalid-token", "invalid-token", "unauthorized"]),
        (&["Bearer wrong"], ["unauthorized", "invalid-token", "unauthorized"]),
        (&[basic], ["unauthorized", "unauthorized", "unauthorized"]),
    ];
    for (lines, expected) in cases {
        check(&locked, lines, expected[0]);
        check(&open, lines, expected[1]);
        check(&keys_alone, lines, expected[2]);
    }
    let answer = locked.persons.verify(&bad[7..], NOW).unwrap_err();
    let shown = format!("{answer:?} {}", answer.body());
    assert!(!shown.contains("eyJ"), "{shown}");
    let response = axum::response::IntoResponse::into_response(answer);
    assert_eq!(
        response.headers()[header::WWW_AUTHENTICATE],
        "Bearer realm=\"tidings\", error=\"invalid_token\""
    );
}
