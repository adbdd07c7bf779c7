//! Keys and a test mail as an operator meets them: the real program, a real mail server within TLS, exit codes and words.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{fs, path::Path, process::Command};

use engines::{MailOptions, MailTls, PythonMailServer};

/// What the program said and how it ended.
fn run_line(folder: &Path, environment: &[(&str, &str)], line: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    command.args(line).current_dir(folder).env_clear().envs(environment.iter().copied());
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_key_is_made_and_a_test_mail_arrives_signed() {
    let server = PythonMailServer::start(MailOptions {
        tls: MailTls::StartTls,
        login: Some("ann:correct-horse"),
        ..MailOptions::default()
    });
    let (server, folder) = (server.unwrap(), tempfile::tempdir().unwrap());
    fs::write(folder.path().join("ca.pem"), server.ca().unwrap()).unwrap();
    let at = |password: &str| format!("smtp://ann:{password}@{}:{}", server.host(), server.port());
    let (good, wrong) = (at("correct-horse"), at("wrong-horse"));
    let mail =
        |ways| [("TIDINGS_MAIL_WAYS", ways), ("TIDINGS_MAIL_CA", "ca.pem"), ("TIDINGS_MAIL_DKIM", "keys")];
    let (good, wrong) = (mail(good.as_str()), mail(wrong.as_str()));
    let send = ["send-test", "bob@mail.example", "--from", "News <news@shop.example>"];
    let check = |environment: &[(&str, &str)], line: &[&str], code: i32, expected: &str| {
        let (ended, out, err) = run_line(folder.path(), environment, line);
        assert_eq!((ended, format!("{out}{err}").contains(expected)), (code, true), "{line:?}: {out}{err}");
        assert!(!format!("{out}{err}").contains("-horse"), "{out}{err}");
        assert!(!err.contains("bob@"), "{err}");
    };
    check(&good, &send, 3, "`mail.dkim`: keys: entity not found");
    check(&good, &["dkim", "new", "shop.example", "--selector", "s1"], 0, "s1._domainkey.shop.example  TXT");
    check(&good, &["dkim", "new", "shop.example", "--selector", "s1"], 3, "exists already");
    check(&good, &["dkim", "new", "shop.example", "--kind", "dsa"], 2, "[possible values: rsa, ed25519]");
    check(&[], &["dkim", "new", "shop example", "--folder", "keys"], 3, "not a DNS name");
    check(
        &[],
        &["dkim", "new", "shop.example", "--folder", "keys", "--from", "soon"],
        3,
        "`soon` is not a date",
    );
    check(&[], &["dkim", "list"], 3, "no folder of keys");
    check(&[], &["dkim", "list", "--folder", "keys", "--json"], 0, "\"used\":true");
    check(&good, &send, 0, "accepted as <");
    check(&wrong, &send, 1, "the server does not take the login: 535");
    check(&[], &send, 3, "`mail.ways` names no server");
    let arrived = server.arrived_mails().unwrap();
    assert_eq!(arrived.len(), 1);
    let text = String::from_utf8_lossy(&arrived[0].bytes).into_owned();
    assert!(
        text.starts_with("DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=shop.example; s=s1;"),
        "{text}"
    );
    fs::write(folder.path().join("keys/s2._domainkey.shop.example@soon.pem"), "no key").unwrap();
    check(&good, &send, 3, "s2._domainkey.shop.example@soon.pem: its date is not such as");
}
