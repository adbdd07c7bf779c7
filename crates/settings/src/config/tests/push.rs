//! The keys of pushes: of each service all or nothing, and no key is ever shown.

use secrecy::ExposeSecret as _;

use super::{merge_values, show_value};

const KEY: (&str, &str) = ("TIDINGS_APNS_KEY", "correct-horse-battery");

#[test]
fn what_is_known_of_pushes_is_what_was_said() {
    let file = "apns: {key_id: K1, team_id: T1, topic: com.example.app, per_second: 0.5}\nwebpush: {subject: 'mailto:a@b.example', hosts: [push.lan, ntfy.lan]}";
    let environment = [
        KEY,
        ("TIDINGS_FCM_ACCOUNT", "{}"),
        ("TIDINGS_FCM_PER_SECOND", "50"),
        ("TIDINGS_WEBPUSH_KEY", "correct-horse-too"),
    ];
    let known = merge_values(file, &environment, &[]).unwrap();
    let push = &known.config.push;
    let (apns, web) = (push.apns.as_ref().unwrap(), push.web.as_ref().unwrap());
    assert_eq!((apns.key_id.as_str(), apns.topic.as_str()), ("K1", "com.example.app"));
    assert_eq!(apns.root, "https://api.push.apple.com");
    assert_eq!(push.fcm.as_ref().unwrap().account.expose_secret(), "{}");
    assert_eq!(web.hosts, ["push.lan", "ntfy.lan"]);
    let rates = (apns.per_second, push.fcm.as_ref().unwrap().per_second, web.per_second);
    assert_eq!(rates, (Some(0.5), Some(50.0), None));
    assert_eq!(show_value(&known, "apns.key"), "*** (environment TIDINGS_APNS_KEY)");
    assert!(!format!("{:?}", known.config).contains("correct-horse"));
    let none = merge_values("", &[], &[]).unwrap().config.push;
    assert!(none.apns.is_none() && none.fcm.is_none() && none.web.is_none());
}

#[test]
fn half_of_a_service_is_refused() {
    let check = |file: &str, environment: &[(&str, &str)], expected: &[&str]| {
        let refused = merge_values(file, environment, &[]).unwrap_err().to_string();
        for words in expected {
            assert!(refused.contains(words), "{refused:?} does not say {words:?}");
        }
        assert!(!refused.contains("correct-horse"), "{refused}");
    };
    let without = ["without `apns.key_id`", "without `apns.team_id`", "without `apns.topic`"];
    check("", &[KEY], &without);
    check("apns: {topic: x}", &[], &["tidings.yaml:1:15", "`apns.topic` has no effect without `apns.key`"]);
    check("", &[("TIDINGS_WEBPUSH_KEY", "k")], &["without `webpush.subject`"]);
    check("fcm: {per_second: 5}", &[], &["`fcm.per_second` has no effect without `fcm.account`"]);
    for wrong in ["0", "-1", "nan", "inf", "1e7", "many"] {
        check(&format!("apns: {{per_second: {wrong}}}"), &[KEY], &["apns.per_second: `", "is not a rate"]);
    }
    check("webpush: {hosts: [a.lan]}", &[], &["`webpush.hosts` has no effect without `webpush.key`"]);
}
