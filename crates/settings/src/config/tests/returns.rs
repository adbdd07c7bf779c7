//! The keys of what comes back: what is known of them, and what is refused.

use courier::mail_returns::ReturnProvider;

use super::merge_values;

#[test]
fn what_is_known_of_return_paths_is_what_was_said() {
    let all = "mail: {returns: Returns.example.com, provider: postmark, intake: '127.0.0.1:2525'}";
    let returns = merge_values(all, &[], &[]).unwrap().config.returns.unwrap();
    assert_eq!(
        (returns.domain.as_str(), returns.provider),
        ("returns.example.com", Some(ReturnProvider::Postmark))
    );
    assert_eq!(returns.intake.unwrap().port(), 2525);
    let alone = merge_values("", &[("TIDINGS_MAIL_RETURNS", "returns.example.com")], &[]).unwrap();
    let alone = alone.config.returns.unwrap();
    assert_eq!((alone.provider, alone.intake), (None, None));
    assert!(merge_values("", &[], &[]).unwrap().config.returns.is_none());
}

#[test]
fn what_is_wrong_about_return_paths_is_told() {
    let check = |file: &str, expected: &str| {
        let refused = merge_values(file, &[], &[]).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused:?} does not say {expected:?}");
    };
    check("mail: {returns: a@example.com}", "mail.returns: `a@example.com` is not a domain");
    check("mail: {returns: 'a..b'}", "is not a domain");
    check("mail: {returns: example.com, provider: pigeon}", "`pigeon` is not one of ses, postmark, sendgrid");
    check("mail: {returns: example.com, intake: '25'}", "mail.intake: `25` is not an address and port");
    check("mail: {provider: ses}", "`mail.provider` has no effect without `mail.returns`");
    check("mail: {intake: '127.0.0.1:2525'}", "`mail.intake` has no effect without `mail.returns`");
}
