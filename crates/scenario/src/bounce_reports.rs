//! What the other side of the mail writes when one comes back: reports as servers and mailbox providers send them.

use stage::scenario::ScenarioReturn;

/// The domain of return paths in a scenario.
pub(super) const DOMAIN: &str = "returns.example";
/// What they are signed with there.
pub(super) const SECRET: [u8; 32] = [7; 32];

/// A report on the mail of a word.
pub(super) fn bounce_report(back: ScenarioReturn, word: &str) -> String {
    let (sort, fields) = match back {
        ScenarioReturn::Hard => ("delivery-status", failed_fields("5.1.1", "550 5.1.1 user unknown")),
        ScenarioReturn::Soft => ("delivery-status", failed_fields("4.2.2", "452 4.2.2 mailbox full")),
        ScenarioReturn::Complaint => ("feedback-report", "Feedback-Type: abuse\nVersion: 1".to_owned()),
        ScenarioReturn::Away => return away_reply(word),
    };
    let text = format!(
        "From: MAILER-DAEMON@mx.example.org\nTo: {word}@{DOMAIN}\nSubject: Returned\nMIME-Version: 1.0\n\
         Content-Type: multipart/report; report-type={sort}; boundary=x\n\n--x\nContent-Type: text/plain\n\n\
         It came back.\n\n--x\nContent-Type: message/{sort}\n\n{fields}\n\n--x\n\
         Content-Type: text/rfc822-headers\n\nX-Tidings-Return: {word}\n\n--x--\n"
    );
    text.replace('\n', "\r\n")
}

fn failed_fields(status: &str, said: &str) -> String {
    format!(
        "Reporting-MTA: dns; mx.example.org\n\nFinal-Recipient: rfc822; somebody@example.org\nAction: failed\n\
         Status: {status}\nDiagnostic-Code: smtp; {said}"
    )
}

fn away_reply(word: &str) -> String {
    let text = format!(
        "From: somebody@example.org\nTo: {word}@{DOMAIN}\nSubject: Away\nAuto-Submitted: auto-replied\n\n\
         I am back on Monday. Status: 5.1.1\n"
    );
    text.replace('\n', "\r\n")
}
