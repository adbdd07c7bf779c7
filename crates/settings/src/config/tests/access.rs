//! Access tokens, the house that commands ask, and no outbox.

use house_facts::AccessRole;

use super::*;

const TOKEN: &str = "correct-horse-token";

fn tokens_of(merged: &MergedConfig) -> Vec<(AccessRole, &str)> {
    merged.config.access_tokens.iter().map(|one| (one.role, one.token.expose_secret())).collect()
}

#[test]
fn tokens_have_a_role_and_may_be_several() {
    use AccessRole::{Metrics, Operate, Read};
    let check = |file: &str, environment: &[(&str, &str)], expected: &[(AccessRole, &str)], shown: &str| {
        let merged = merge_values(file, environment, &[]).unwrap_or_else(|refused| panic!("{refused}"));
        assert_eq!(tokens_of(&merged), expected, "{file}");
        assert_eq!(show_value(&merged, "access_tokens"), shown);
        for text in [
            format!("{merged:?}"),
            format!("{:?}", listing::config_lines(&merged)),
            listing::config_as_json(&merged).to_string(),
        ] {
            assert!(!text.contains("0123456789abcdef") && !text.contains(TOKEN), "{text}");
        }
    };
    let (new, old) = ("new-0123456789abcdef", "old-0123456789abcdef");
    let variable = "TIDINGS_ACCESS_TOKENS";
    check("", &[], &[], "- (default)");
    check(
        "access_tokens: [{role: metrics, token: correct-horse-token}]",
        &[],
        &[(Metrics, TOKEN)],
        "metrics *** (tidings.yaml:1:17)",
    );
    check(
        "access_tokens:\n- {role: read, token: correct-horse-token}\n- {role: operate, token_file: tokens}",
        &[],
        &[(Read, TOKEN), (Operate, new), (Operate, old)],
        "read ***, operate ***, operate *** (tidings.yaml:2:3)",
    );
    // The environment is in place of the file, and written as it is.
    check(
        "access_tokens: [{role: read, token: correct-horse-token}]",
        &[(variable, "[{role: operate, token_file: tokens}]")],
        &[(Operate, new), (Operate, old)],
        "operate ***, operate *** (environment TIDINGS_ACCESS_TOKENS)",
    );
    check(
        "access_tokens: [{role: read, token: correct-horse-token}]",
        &[(variable, "[]")],
        &[],
        "- (default)",
    );
    // Twice the same is once.
    check(
        "access_tokens: [{role: read, token: correct-horse-token}, {role: read, token: correct-horse-token}]",
        &[],
        &[(Read, TOKEN)],
        "read *** (tidings.yaml:1:17)",
    );
}

#[test]
fn tokens_that_are_none_are_refused_and_not_shown() {
    let check = |tokens: &str, says: &str| {
        for (file, environment) in [
            (format!("api_keys: [{{tenant: t, key: {SECRET}}}]\naccess_tokens: {tokens}"), vec![]),
            (format!("api_keys: [{{tenant: t, key: {SECRET}}}]"), vec![("TIDINGS_ACCESS_TOKENS", tokens)]),
        ] {
            let refused = merge_values(&file, &environment, &[]).unwrap_err().to_string();
            let is_variable = environment.is_empty() || refused.contains("TIDINGS_ACCESS_TOKENS");
            assert!(refused.contains(says) && is_variable, "{tokens}: {refused}");
            assert!(!refused.contains("horse"), "{refused}");
        }
    };
    check("correct-horse-token", " list");
    check("{role: read}", " list");
    check("[correct-horse-token]", "an access token must be `{role: ..., token: ...}`");
    check("[{token: correct-horse-token}]", "needs a `role`");
    check(
        "[{role: admin, token: correct-horse-token}]",
        "`admin` is not a role: one of `metrics`, `read`, `operate`",
    );
    check("[{role: Read, token: correct-horse-token}]", "is not a role");
    check("[{role: read}]", "an access token needs `token` or `token_file`");
    check("[{role: read, token: a, token_file: b}]", "not both");
    check("[{role: read, tokn: correct-horse-token}]", "did you mean `token`?");
    check("[{role: read, token: 00012345678901234}]", "`token` must be a text: quote it");
    check("[{role: read, token: short-horse}]", "at least 16 characters");
    check("[{role: read, token: 'correct horse battery'}]", "only letters, digits and signs of ASCII");
    check("[{role: read, token: 'correct-hörse-battery'}]", "only letters, digits and signs of ASCII");
    check(&format!("[{{role: read, token: {}}}]", "h".repeat(513)), "at most 512 characters");
    check("[{role: read, token_file: empty}]", "an access token is empty");
    check("[{role: read, token_file: nowhere}]", "nowhere: ");
    check(&format!("[{{role: read, token: {SECRET}}}]"), "is an API key, too");
    check(
        "[{role: read, token: correct-horse-token}, {role: operate, token: correct-horse-token}]",
        "two roles have this access token",
    );
}

#[test]
fn tokens_lock_a_house_as_keys_do() {
    let tokens = "access_tokens: [{role: metrics, token: correct-horse-token}]\nlisten: 0.0.0.0:80";
    assert!(merge_values(tokens, &[], &[]).unwrap().config.is_locked());
    assert!(!merge_values("", &[], &[]).unwrap().config.is_locked());
}

#[test]
fn commands_can_be_told_of_a_house_elsewhere() {
    let check =
        |environment: &[(&str, &str)], flags: &[(&'static str, &'static str, &str)], expected: &str| {
            let merged = merge_values("", environment, flags).unwrap_or_else(|refused| panic!("{refused}"));
            let server = merged.config.server.as_ref();
            let token = |token: &secrecy::SecretString| token.expose_secret().to_owned();
            let found = server.map_or_else(String::new, |server| {
                format!("{} {:?} {:?}", server.url, server.token.as_ref().map(token), server.ca)
            });
            assert_eq!(found, expected);
            assert!(!format!("{merged:?}").contains("0123456789abcdef"));
        };
    let (server, file) = (("TIDINGS_SERVER", "https://e.example/"), ("TIDINGS_TOKEN_FILE", "tokens"));
    check(&[], &[], "");
    check(&[file], &[], "");
    check(&[server], &[], "https://e.example None None");
    check(&[server, file], &[], "https://e.example Some(\"new-0123456789abcdef\") None");
    check(
        &[server, ("TIDINGS_TOKEN", "environment-0123456789abcdef"), ("TIDINGS_CA_FILE", "/ca.pem")],
        &[("server", "--server", "http://127.0.0.1:1"), ("token", "--token-file", "tokens")],
        "http://127.0.0.1:1 Some(\"new-0123456789abcdef\") Some(\"/ca.pem\")",
    );
    let refuse = |flags: &[(&'static str, &'static str, &str)], says: &str| {
        let refused = merge_values("", &[server], flags).unwrap_err().to_string();
        assert!(refused.contains(says), "{refused}");
    };
    refuse(&[("token", "--token-file", "nowhere")], "flag --token-file: nowhere: ");
    refuse(
        &[("token", "--token-file", "empty")],
        "flag --token-file: token: an access token must have at least 16",
    );
    refuse(
        &[("server", "--server", "http://news.example.org")],
        "flag --server: server: `http://news.example.org` is not encrypted",
    );
}

#[test]
fn an_outbox_can_be_none_and_a_folder_of_that_name_is_another() {
    let check = |file: &str, environment: &[(&str, &str)], expected: Option<&str>, shown: &str| {
        let path = Path::new("conf/tidings.yaml");
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let merged = values::merge_layers(Some((path, file)), environment, vec![], read_fake_file).unwrap();
        assert_eq!(merged.config.outbox.as_deref(), expected.map(Path::new), "{file}");
        assert_eq!(show_value(&merged, "outbox"), shown);
    };
    check("data_dir: d", &[], Some("conf/d/outbox"), "conf/d/outbox (default)");
    check("outbox: none", &[], None, "none (conf/tidings.yaml:1:9)");
    check("outbox: 'none'", &[], None, "none (conf/tidings.yaml:1:9)");
    check("outbox: ./none", &[], Some("conf/./none"), "conf/./none (conf/tidings.yaml:1:9)");
    check("outbox: None", &[], Some("conf/None"), "conf/None (conf/tidings.yaml:1:9)");
    check("outbox: o", &[("TIDINGS_OUTBOX", "none")], None, "none (environment TIDINGS_OUTBOX)");
    check("outbox: none", &[("TIDINGS_OUTBOX", "/o")], Some("/o"), "/o (environment TIDINGS_OUTBOX)");
}
