//! The keys of mail: what is known of them, what is refused, and that no password is ever shown.

use secrecy::ExposeSecret as _;

use super::{merge_values, show_value};

const WAYS: &str = "smtp://ann:correct-horse-battery@mail.example.com?weight=3";

#[test]
fn what_is_known_of_mail_is_what_was_said() {
    let public = ("TIDINGS_PUBLIC_URL", "https://news.example.com:8443/x");
    let ways = ("TIDINGS_MAIL_WAYS", WAYS);
    let named = merge_values("mail: {name: mta.example.com, dkim: keys, ca: ca.pem}", &[ways], &[]).unwrap();
    let mail = named.config.mail.as_ref().unwrap();
    assert_eq!((mail.name.as_str(), mail.ways.expose_secret()), ("mta.example.com", WAYS));
    assert_eq!(show_value(&named, "mail.dkim"), "keys (tidings.yaml:1:37)");
    assert_eq!(show_value(&named, "mail.ways"), "*** (environment TIDINGS_MAIL_WAYS)");
    assert!(!format!("{:?}", named.config).contains("correct-horse-battery"));
    let of_url = merge_values("", &[public, ways], &[]).unwrap();
    assert_eq!(of_url.config.mail.unwrap().name, "news.example.com");
    assert_eq!(merge_values("", &[ways], &[]).unwrap().config.mail.unwrap().name, "localhost");
    assert!(merge_values("", &[public], &[]).unwrap().config.mail.is_none());
}

#[test]
fn ways_may_be_a_list() {
    let file = format!("mail:\n  ways:\n    - {WAYS}\n    - 'smtps://other.example.net'\n");
    let named = merge_values(&file, &[], &[]).unwrap();
    let expected = format!("{WAYS}\nsmtps://other.example.net");
    assert_eq!(named.config.mail.as_ref().unwrap().ways.expose_secret(), expected);
    assert!(
        show_value(&named, "mail.ways").starts_with("*** (tidings.yaml:"),
        "{}",
        show_value(&named, "mail.ways")
    );
    for slip in
        ["mail: {ways: [7]}", "mail: {ways: [[a]]}", "mail: {ways: {a: b}}", "mail: {ways: ['a\n\nb']}"]
    {
        let refused = merge_values(slip, &[], &[]).unwrap_err().to_string();
        assert!(refused.contains("`mail.ways` must be"), "{slip}: {refused}");
    }
    let refused = merge_values("mail: {ways: []}", &[], &[]).unwrap_err().to_string();
    assert!(refused.contains("it is empty"), "{refused}");
}

#[test]
fn what_is_wrong_about_mail_is_told_in_full() {
    let check = |file: &str, ways: &str, expected: &[&str]| {
        let environment: &[_] = if ways.is_empty() { &[] } else { &[("TIDINGS_MAIL_WAYS", ways)] };
        let refused = merge_values(file, environment, &[]).unwrap_err().to_string();
        for words in expected {
            assert!(refused.contains(words), "{refused:?} does not say {words:?}");
        }
        assert!(!refused.contains("correct-horse-battery"), "{refused}");
    };
    let both = format!("{WAYS}&wait=3\nsmtp+plain://10.1.1.1");
    check(
        "",
        &both,
        &["route 1: `wait` is not one of", "route 2: `smtp+plain` is for a server on this machine"],
    );
    check("mail: {dkim: keys}", "", &["tidings.yaml:1:14", "`mail.dkim` has no effect without `mail.ways`"]);
    check("mail: {name: 'a b'}", WAYS, &["mail.name: `a b` is not a host name"]);
    check("mail: {way: x}", WAYS, &["`mail.way", "`mail.ways`"]);
}
