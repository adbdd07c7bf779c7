//! Signatures as dkimpy sees them.

use std::{fs, process::Command};

use courier::{Courier as _, HandoverOutcome};
use courier_net::dkim::{DkimKey, DkimSigner};
use engines::{MailOptions, MailTls, python};
use serde_json::{Value, json};

use crate::mail_setup::{RecordingGate, mail_message, now_ms, open_mailer, route_line, start_server};

fn make_key(kind: &str, domain: &str, selector: &str, since: i64) -> (DkimKey, (String, String)) {
    let pem = DkimKey::generate_pem(kind).unwrap();
    let key = DkimKey::read(domain, selector, since, &pem).unwrap();
    let record = key.dns_record().unwrap();
    (key, record)
}

/// For each signature of a mail the selector and whether it holds, by the records of these keys.
fn verify_mail(mail: &[u8], records: &[(String, String)]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let (path, dns) = (folder.path().join("mail.eml"), folder.path().join("dns.json"));
    fs::write(&path, mail).unwrap();
    let records: serde_json::Map<String, Value> =
        records.iter().map(|(name, text)| (name.clone(), json!(text))).collect();
    fs::write(&dns, Value::from(records).to_string()).unwrap();
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/python/dkim_verify.py");
    let output =
        Command::new(python().unwrap()).args([program.as_ref(), path.as_os_str(), dns.as_os_str()]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_that_arrives_is_signed_by_the_newest_keys() {
    let server = start_server(MailOptions::default());
    let at = now_ms() / 1_000;
    let (old, old_record) = make_key("rsa", "news.example", "old", at - 90_000);
    let (rsa, rsa_record) = make_key("rsa", "news.example", "rsa", at - 60);
    let (small, small_record) = make_key("ed25519", "example", "small", 0);
    let (next, _) = make_key("rsa", "news.example", "next", at + 60);
    let (other, _) = make_key("rsa", "ews.example", "other", 0);
    let signer = DkimSigner::new(vec![old, rsa, small, next, other]);
    let records = [old_record, rsa_record, small_record];
    let courier = open_mailer(&route_line(&server, MailTls::None, ""), None, signer);
    let handed = courier.hand(&mail_message(1, "ann@mail.example"), &RecordingGate::default()).await.unwrap();
    assert_eq!(handed, HandoverOutcome::Accepted);
    let mail = server.arrived_mails().unwrap().remove(0).bytes;
    assert_eq!(verify_mail(&mail, &records), json!({"rsa": true, "small": true}));
    // What a server on the way may do leaves it whole, and what nobody may do does not.
    let text = String::from_utf8(mail).unwrap();
    let check = |what: &str, changed: String, holds: bool| {
        let found = verify_mail(changed.as_bytes(), &records);
        assert_eq!(found, json!({"rsa": holds, "small": holds}), "{what}");
    };
    check("one line more before it", format!("Received: from a by b\r\n{text}"), true);
    check("blanks at the end of a line", text.replace("--\r\n", "--  \r\n"), true);
    check("a header folded anew", text.replacen("Subject: ", "Subject:\r\n\t ", 1), true);
    check("another word", text.replacen("dot", "dog", 1), false);
    check("another subject", text.replacen("Subject: ", "Subject: x", 1), false);
    for header in ["From", "To", "Cc", "Subject", "Reply-To", "List-Unsubscribe", "Content-Type", "Date"] {
        check(&format!("one more {header}"), format!("{header}: eve@mail.example\r\n{text}"), false);
    }
}

#[test]
fn keys_that_openssl_made_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let check = |args: &[&str], expected: &str| {
        let path = folder.path().join("key.pem");
        let made =
            Command::new("openssl").arg(args[0]).arg("-out").arg(&path).args(&args[1..]).output().unwrap();
        assert!(made.status.success());
        let read = DkimKey::read("news.example", "s1", 0, &fs::read_to_string(path).unwrap());
        let said = read.map_or_else(|why| why.to_string(), |key| key.dns_record().unwrap().1);
        assert!(said.starts_with(expected), "{args:?}: {said}");
    };
    check(&["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], "v=DKIM1; k=rsa; p=MII");
    check(&["genrsa", "-traditional", "2048"], "v=DKIM1; k=rsa; p=MII");
    check(&["genpkey", "-algorithm", "ED25519"], "v=DKIM1; k=ed25519; p=");
    check(&["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"], "neither RSA of at least");
    check(&["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"], "neither RSA");
    for (domain, selector) in
        [("news.example; p=x", "s1"), ("news.example", "s1\r\n"), ("", "s1"), ("a..b", "s1")]
    {
        assert!(DkimKey::read(domain, selector, 0, "").is_err());
    }
    assert!(
        DkimKey::read("news.example", "s1", 0, "no key").is_err_and(|why| why.to_string().contains("PEM"))
    );
}
