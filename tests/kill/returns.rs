//! A mail that comes back to the real process over SMTP, from a client that nobody here wrote: taken only if it is of a
//! mail of ours, and known also by the process that comes after one that was killed right behind its word.

use std::{path::Path, process::Command};

use engines::{MailOptions, PythonMailServer};
use model::{UtcMillis, returns::ReturnSort};
use runtime::Clock;
use serde_json::{Value, json};
use topic::Topics as _;
use wire::{ReturnNotice, topics};

use crate::{house::KillHouse, wait_until};

/// Sends a mail to each of these addresses, from nobody as servers do, and prints a code for each.
const CLIENT: &str = r"
import smtplib, sys
port, mail = int(sys.argv[1]), open(sys.argv[2], 'rb').read()
for to in sys.argv[3:]:
    with smtplib.SMTP('127.0.0.1', port) as server:
        try:
            server.sendmail('', [to], mail)
            print(250)
        except smtplib.SMTPRecipientsRefused as refused:
            print(refused.recipients[to][0])
";

const REPORT: &str = "From: MAILER-DAEMON@mx.example.org (Mail Delivery System)\r\nSubject: Undelivered\r\n\
    Auto-Submitted: auto-replied\r\nMIME-Version: 1.0\r\nContent-Type: multipart/report;\r\n \
    report-type=delivery-status; boundary=\"9B1.1\"\r\n\r\n--9B1.1\r\nContent-Type: text/plain\r\n\r\n\
    Sorry.\r\n\r\n--9B1.1\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.example.org\r\n\r\n\
    Final-Recipient: rfc822; ann@example.org\r\nAction: failed\r\nStatus: 5.1.1\r\n\
    Diagnostic-Code: smtp; 550 5.1.1 user unknown\r\n\r\n--9B1.1--\r\n";

#[test]
fn a_mail_that_came_back_is_known_after_a_kill() {
    let server = PythonMailServer::start(MailOptions::default()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let way = format!("smtp+plain://{}:{}", server.host(), server.port());
    let settings = [
        ("TIDINGS_MAIL_WAYS", way.as_str()),
        ("TIDINGS_MAIL_RETURNS", "returns.example"),
        ("TIDINGS_MAIL_INTAKE", "127.0.0.1:0"),
    ];
    let house = KillHouse::start_with(dir.path(), &settings).unwrap();
    let port =
        house.opened.split("taken at 127.0.0.1:").nth(1).and_then(|rest| rest.split_whitespace().next());
    let port = port.unwrap().to_owned();
    send_facts(&house, "ann@example.org", 1);
    house.await_all_read();
    house.move_clock("morning");
    assert!(wait_until(|| server.arrived_mails().unwrap().len() == 1));
    let path = server.arrived_mails().unwrap()[0].about["from"].as_str().unwrap_or_default().to_owned();
    let (word, domain) = path.split_once('@').unwrap();
    assert_eq!((word.len(), domain), (wire::return_path::CHARS, "returns.example"));

    // Nobody else's mail is taken, and no return path that somebody made up.
    let changed = word.replace(&word[8..9], if &word[8..9] == "a" { "b" } else { "a" });
    let forged = format!("{changed}@{domain}");
    let sent =
        send_bounces(dir.path(), &port, &["bob@elsewhere.example", "ann@returns.example", &forged, &path]);
    assert_eq!(sent, ["550", "550", "550", "250"]);
    house.kill();

    let second = KillHouse::start_with(dir.path(), &settings).unwrap();
    send_facts(&second, "ann@example.org", 2);
    second.await_all_read();
    second.move_clock("morning");
    assert!(wait_until(|| read_fate(&second, 2) == "suppressed (hard bounce)"));
    send_facts(&second, "ann@example.net", 3);
    second.await_all_read();
    second.move_clock("morning");
    assert!(wait_until(|| server.arrived_mails().unwrap().len() == 2));
    assert_eq!(server.arrived_mails().unwrap()[1].about["to"][0], "ann@example.net");
    second.kill();
    let told = read_returns(dir.path());
    let said: Vec<_> = told.iter().map(|one| (one.person.as_str(), one.what, one.code.as_str())).collect();
    assert_eq!(said, [("ann", ReturnSort::Hard, "5.1.1")]);
}

/// Ann with this address, and a post of somebody whom she follows.
fn send_facts(house: &KillHouse, address: &str, number: u32) {
    let fact =
        |id: String, what: &str, data: Value| json!({"id": id, "source": "kill", "type": what, "data": data});
    let profile = fact(
        format!("p{number}"),
        "tidings.profile",
        json!({"person": "ann", "email": address, "zone": "UTC"}),
    );
    let follow = fact("f".to_owned(), "tidings.follow", json!({"person": "ann", "target": "author:1"}));
    assert!(house.post("/v1/facts", &format!("{profile}\n{follow}\n")));
    let event = json!({"id": format!("e{number}"), "source": "kill", "type": "post.published",
        "subject": format!("post:{number}"), "time": UtcMillis(Clock::real(0).now()).to_string(),
        "data": {"title": "Moon", "author": "author:1", "public": true}});
    assert!(house.post("/v1/changes", &event.to_string()));
}

/// What the other side said to each address.
fn send_bounces(dir: &Path, port: &str, to: &[&str]) -> Vec<String> {
    let (client, report) = (dir.join("client.py"), dir.join("report.eml"));
    std::fs::write(&client, CLIENT).unwrap();
    std::fs::write(&report, REPORT).unwrap();
    let mut command = Command::new(engines::python().unwrap());
    let output = command.arg(client).arg(port).arg(report).args(to).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    said.lines().map(str::to_owned).collect()
}

/// What became of a post on the way to ann.
fn read_fate(house: &KillHouse, number: u32) -> String {
    let days = house.days("ann").unwrap();
    let days = days["days"].as_array().cloned().unwrap_or_default();
    let entries = days.iter().flat_map(|day| day["entries"].as_array().cloned().unwrap_or_default());
    let of = format!("post:{number}");
    let mut own = entries.filter(|entry| entry["subject"] == of.as_str());
    own.next().and_then(|entry| entry["fates"][0]["fate"].as_str().map(str::to_owned)).unwrap_or_default()
}

/// The topic, as whoever reads it finds it.
fn read_returns(dir: &Path) -> Vec<ReturnNotice> {
    let tokio = tokio::runtime::Runtime::new().unwrap();
    tokio.block_on(async {
        let log = topic::embedded::EmbeddedTopics::open(&dir.join("topics"), Clock::real(0)).unwrap();
        let records = log.read(topics::RETURNS, 0, 0, 10).await.unwrap();
        records.iter().map(|record| wire::returns::decode(record.value.as_ref().unwrap()).unwrap()).collect()
    })
}
