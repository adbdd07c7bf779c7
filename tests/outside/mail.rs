//! Mail clients that others made, and one that breaks every rule, on the SMTP server that the intake and the sink share.

use anyhow::{Context as _, Result};
use tests::sink::SinkProcess;

use crate::{python_program, run_program, wait_until};

const TO: &str = "ann@example.org";

/// Whether a sink's page shows a mail with this subject.
fn shows_subject(sink: &SinkProcess, subject: &str) -> Result<bool> {
    Ok(ureq::get(&sink.page).call()?.body_mut().read_to_string()?.contains(subject))
}

#[test]
fn an_smtp_server_takes_what_is_right_and_stands_what_is_wrong() {
    let mut sink = SinkProcess::start().unwrap();
    let mut torture = python_program("smtp_torture.py").unwrap();
    let (host, port) = sink.place().unwrap();
    println!("{}", run_program(torture.args([host, port, TO])).unwrap());
    assert!(sink.is_alive().unwrap(), "it lives");
    wait_until(|| shows_subject(&sink, "aiosmtplib")).unwrap();
}

#[test]
fn mails_of_nodemailer_arrive() {
    let sink = SinkProcess::start().unwrap();
    let mut client = engines::node("send_mail.cjs").unwrap();
    let (host, port) = sink.place().unwrap();
    let sent = run_program(client.args([host, port, TO])).unwrap();
    assert_eq!(sent.lines().count(), 4, "{sent}");
    for subject in sent.lines() {
        wait_until(|| shows_subject(&sink, subject)).with_context(|| subject.to_owned()).unwrap();
    }
}
