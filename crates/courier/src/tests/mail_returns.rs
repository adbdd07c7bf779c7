//! What comes back of mails: reports as servers write them, what providers post, and hostile bytes.

use model::returns::ReturnSort;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::mail_returns::{
    ProviderPost, ReturnPathMail, ReturnProvider, ReturnedMail, read_mail, read_webhook,
};

const WORD: &str = "bcieqwerty";

/// A report with these fields, of a mail that is quoted in one of the two usual ways.
fn report_mail(sort: &str, part: &str, fields: &str, quoted: &str) -> String {
    let text = format!(
        "Return-Path: <>\nFrom: MAILER-DAEMON@mx.example.org (Mail Delivery System)\n\
         To: {WORD}@returns.example.com\nSubject: Undelivered Mail Returned to Sender\n\
         Auto-Submitted: auto-replied\nMIME-Version: 1.0\n\
         Content-Type: multipart/report; report-type={sort};\n\tboundary=\"4F1.1/mx.example.org\"\n\n\
         This is a MIME-encapsulated message.\n\n--4F1.1/mx.example.org\n\
         Content-Description: Notification\nContent-Type: text/plain; charset=us-ascii\n\n\
         I'm sorry to have to inform you that your message could not\nbe delivered.\n\n\
         --4F1.1/mx.example.org\nContent-Description: Delivery report\nContent-Type: {part}\n\n{fields}\n\n\
         --4F1.1/mx.example.org\n{quoted}\n\n--4F1.1/mx.example.org--\n"
    );
    text.replace('\n', "\r\n")
}

const HEADERS: &str = "Content-Type: text/rfc822-headers\n\nReturn-Path: <bcieqwerty@returns.example.com>\n\
     From: News <news@example.com>\nX-Tidings-Return: bcieqwerty\nSubject: News";
const WHOLE: &str = "Content-Type: message/rfc822\n\nReturn-Path: <bcieqwerty@returns.example.com>\n\
     From: News <news@example.com>\nTo: ann@example.org\nX-Tidings-Return: bcieqwerty\nSubject: News\n\nHello.";

fn dsn_mail(fields: &str) -> String {
    let mail = "Reporting-MTA: dns; mx.example.org\nArrival-Date: Sat, 21 Nov 2026 09:00:00 +0000 (UTC)\n\n";
    report_mail("delivery-status", "message/delivery-status", &format!("{mail}{fields}"), HEADERS)
}

/// The fields of a receiver to whom a mail could not be delivered.
fn failed_fields(status: &str, said: &str) -> String {
    format!(
        "Final-Recipient: rfc822; ann@example.org\nOriginal-Recipient: rfc822;ann@example.org\nAction: failed\n\
         Status: {status}\nRemote-MTA: dns; mx.example.org\nDiagnostic-Code: smtp; {said}"
    )
}

fn returned_letter(what: ReturnSort, code: &str) -> ReturnPathMail {
    ReturnPathMail::Came(ReturnedMail { what, code: code.to_owned(), words: vec![WORD.to_owned()] })
}

#[test]
fn a_report_of_a_delivery_says_whether_the_address_is_dead() {
    let check = |fields: &str, expected: ReturnPathMail| {
        assert_eq!(read_mail(dsn_mail(fields).as_bytes()), expected, "{fields}");
        // Some servers end lines without a carriage return.
        assert_eq!(read_mail(dsn_mail(fields).replace("\r\n", "\n").as_bytes()), expected, "{fields}");
    };
    let hard = |status: &str, said: &str| {
        check(&failed_fields(status, said), returned_letter(ReturnSort::Hard, status));
    };
    let soft = |status: &str, said: &str| {
        check(&failed_fields(status, said), returned_letter(ReturnSort::Soft, status));
    };
    hard(
        "5.1.1",
        "550 5.1.1 <ann@example.org>: Recipient address rejected:\n    User unknown in local table",
    );
    hard("5.1.1", "550-5.1.1 The email account that you tried to reach does not exist.");
    hard("5.1.2", "550 Host unknown");
    hard("5.1.10", "550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup");
    hard("5.2.1", "550 5.2.1 The email account that you tried to reach is disabled.");
    hard("5.0.0", "550 Requested action not taken: no such user here");
    hard("5.4.1", "550 5.4.1 Recipient address rejected: Access denied.");
    soft("5.0.0", "554 Transaction failed");
    soft("5.1.8", "550 5.1.8 sender address rejected: domain does not exist");
    soft("5.2.2", "552 5.2.2 The email account that you tried to reach is over quota.");
    soft("5.3.4", "552 5.3.4 Message size exceeds fixed limit");
    soft("5.4.1", "550 5.4.1 all relaying denied");
    soft("5.7.1", "550 5.7.1 Message rejected as spam by content filtering; sender does not exist");
    soft("4.4.7", "421 4.4.7 Delivery time expired");
    soft("4.2.2", "452 4.2.2 mailbox full");
    soft("9.9.9", "what");
    check("Final-Recipient: rfc822; ann@example.org\nAction: failed", returned_letter(ReturnSort::Soft, ""));
    check("Action: FAILED (by us)\nStatus: 5.1.1 (bad mailbox)", returned_letter(ReturnSort::Hard, "5.1.1"));
    check("Action: failed\nDiagnostic-Code: smtp; 550 user unknown", returned_letter(ReturnSort::Hard, ""));
    let two =
        format!("{}\n\n{}", failed_fields("4.2.2", "452 full"), failed_fields("5.1.1", "550 user unknown"));
    check(&two, returned_letter(ReturnSort::Hard, "5.1.1"));
    for action in ["delayed", "delivered", "relayed", "expanded", ""] {
        check(&format!("Action: {action}\nStatus: 4.4.1"), ReturnPathMail::Nothing);
    }
    check("", ReturnPathMail::Nothing);
}

#[test]
fn a_report_of_a_complaint_says_of_which_mail() {
    let arf = |fields: &str, quoted: &str| {
        report_mail("feedback-report", "message/feedback-report", fields, quoted)
    };
    let check = |fields: &str, quoted: &str, expected: ReturnPathMail| {
        assert_eq!(read_mail(arf(fields, quoted).as_bytes()), expected, "{fields}");
    };
    let abuse = "Feedback-Type: abuse\nUser-Agent: SomeGenerator/1.0\nVersion: 1\n\
         Original-Mail-From: <bcieqwerty@returns.example.com>\nArrival-Date: Thu, 8 Mar 2026 14:00:00 -0500\n\
         Source-IP: 192.0.2.1\nReported-Domain: example.com";
    for quoted in [WHOLE, HEADERS, "Content-Type: text/plain\n\nnothing"] {
        check(abuse, quoted, returned_letter(ReturnSort::Complaint, "abuse"));
    }
    check("Feedback-Type: fraud\nVersion: 1", WHOLE, returned_letter(ReturnSort::Complaint, "fraud"));
    check("Feedback-Type: not-spam\nVersion: 1", WHOLE, ReturnPathMail::Nothing);
    check("Feedback-Type: auth-failure\nVersion: 1", WHOLE, ReturnPathMail::Nothing);
    check("Version: 1", WHOLE, ReturnPathMail::Nothing);
    let nobodys = ReturnPathMail::Came(ReturnedMail {
        what: ReturnSort::Complaint,
        code: "abuse".to_owned(),
        words: Vec::new(),
    });
    check("Feedback-Type: abuse", "Content-Type: text/plain\n\nReturn-Path: <bcieqwerty@x>", nobodys);
}

#[test]
fn what_is_no_report_is_none() {
    let away = "From: ann@example.org\r\nTo: bcieqwerty@returns.example.com\r\nSubject: Out of office\r\n\
         Auto-Submitted: auto-replied\r\n\r\nI am away. 550 5.1.1 user unknown.\r\n";
    let said = "Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: text/plain\r\n\r\n\
         Action: failed\r\nStatus: 5.1.1\r\n--x--\r\n";
    // A receipt that it was read has the same form.
    let receipt =
        report_mail("disposition-notification", "message/disposition-notification", "Action: failed", WHOLE);
    for text in ["", "\r\n", "hello", away, said, &receipt] {
        assert_eq!(read_mail(text.as_bytes()), ReturnPathMail::NoReport, "{text}");
    }
}

fn read_posted(provider: ReturnProvider, body: &Value) -> Vec<(ReturnSort, String, Vec<String>)> {
    match read_webhook(provider, body.to_string().as_bytes()).unwrap() {
        ProviderPost::Came(came) => came.into_iter().map(|one| (one.what, one.code, one.words)).collect(),
        ProviderPost::Confirm(address) => panic!("{address}"),
    }
}

fn one_notice(what: ReturnSort, code: &str) -> Vec<(ReturnSort, String, Vec<String>)> {
    vec![(what, code.to_owned(), vec![WORD.to_owned()])]
}

#[test]
fn ses_tells_through_sns_or_without_it() {
    let mail = json!({"source": "bcieqwerty@returns.example.com", "messageId": "0102",
        "tags": {"tidings": ["bcieqwerty"]}, "headers": [{"name": "X-Tidings-Return", "value": "bcieqwerty"}]});
    let bounce = |sort: &str, status: Value| {
        json!({"notificationType": "Bounce", "mail": mail, "bounce": {"bounceType": sort,
            "bounceSubType": "General", "timestamp": "2026-11-21T08:00:00.000Z",
            "bouncedRecipients": [{"emailAddress": "ann@example.org", "action": "failed", "status": status,
                "diagnosticCode": "smtp; 550 5.1.1 user unknown"}]}})
    };
    let complaint = |sort: &str| {
        json!({"eventType": "Complaint", "mail": mail, "complaint": {"complaintFeedbackType": sort,
            "complainedRecipients": [{"emailAddress": "ann@example.org"}]}})
    };
    let check = |inner: Value, expected: Vec<_>| {
        let envelope = json!({"Type": "Notification", "TopicArn": "arn", "Message": inner.to_string()});
        assert_eq!(read_posted(ReturnProvider::Ses, &envelope), expected, "{inner}");
        assert_eq!(read_posted(ReturnProvider::Ses, &inner), expected, "{inner}");
    };
    check(bounce("Permanent", json!("5.1.1")), one_notice(ReturnSort::Hard, "5.1.1"));
    check(bounce("Permanent", Value::Null), one_notice(ReturnSort::Hard, "general"));
    check(bounce("Transient", json!("4.2.2")), one_notice(ReturnSort::Soft, "4.2.2"));
    check(bounce("Undetermined", Value::Null), one_notice(ReturnSort::Soft, "general"));
    check(complaint("abuse"), one_notice(ReturnSort::Complaint, "abuse"));
    check(complaint("not-spam"), vec![]);
    check(json!({"eventType": "Delivery", "mail": mail}), vec![]);
    let text = json!({"Type": "Notification", "Message": "Successfully validated SNS topic"});
    assert_eq!(read_posted(ReturnProvider::Ses, &text), []);
}

#[test]
fn a_subscription_is_confirmed_at_sns_and_nowhere_else() {
    let check = |address: &str, good: bool| {
        let body = json!({"Type": "SubscriptionConfirmation", "SubscribeURL": address}).to_string();
        let read = read_webhook(ReturnProvider::Ses, body.as_bytes());
        assert_eq!(read == Ok(ProviderPost::Confirm(address.to_owned())), good, "{address}: {read:?}");
    };
    check("https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=2336", true);
    check("https://sns.cn-north-1.amazonaws.com.cn/?Action=ConfirmSubscription&Token=2336", true);
    check("http://sns.eu-west-1.amazonaws.com/?Token=2336", false);
    check("https://sns.example.net/?x=.amazonaws.com/", false);
    check("https://sns.example.net#.amazonaws.com/", false);
    check("https://sns..amazonaws.com.example.net/", false);
    check("https://sns.eu.amazonaws.com/\nsecond line", false);
    check("", false);
}

#[test]
fn postmark_tells_one_at_a_time() {
    let check = |record: &str, sort: &str, expected: Vec<_>| {
        let body = json!({"RecordType": record, "Type": sort, "TypeCode": 1, "Email": "ann@example.org",
            "Metadata": {"tidings": WORD}, "Description": "The server was unable to deliver your message"});
        assert_eq!(read_posted(ReturnProvider::Postmark, &body), expected, "{record} {sort}");
    };
    check("Bounce", "HardBounce", one_notice(ReturnSort::Hard, "hardbounce"));
    check("Bounce", "SoftBounce", one_notice(ReturnSort::Soft, "softbounce"));
    check("SpamComplaint", "SpamComplaint", one_notice(ReturnSort::Complaint, "spamcomplaint"));
    check("Bounce", "Transient", vec![]);
    check("Bounce", "AutoResponder", vec![]);
    check("Open", "", vec![]);
}

#[test]
fn sendgrid_tells_many_at_once() {
    let event = |event: &str, sort: &str, status: &str, reason: &str| {
        json!({"email": "ann@example.org", "event": event, "type": sort, "status": status, "reason": reason,
            "tidings": WORD, "timestamp": 1_795_248_000})
    };
    let check = |of: Value, expected: Vec<_>| {
        assert_eq!(read_posted(ReturnProvider::SendGrid, &json!([of])), expected);
    };
    check(
        event("bounce", "bounce", "5.1.1", "550 5.1.1 user unknown"),
        one_notice(ReturnSort::Hard, "5.1.1"),
    );
    check(event("bounce", "bounce", "5.2.2", "552 over quota"), one_notice(ReturnSort::Soft, "5.2.2"));
    check(event("bounce", "bounce", "", "Invalid"), one_notice(ReturnSort::Hard, "bounce"));
    check(event("bounce", "blocked", "5.7.1", "spam"), one_notice(ReturnSort::Soft, "5.7.1"));
    check(event("spamreport", "", "", ""), one_notice(ReturnSort::Complaint, "abuse"));
    check(event("dropped", "", "", "Bounced Address"), one_notice(ReturnSort::Hard, "dropped"));
    check(event("dropped", "", "", "Unsubscribed Address"), vec![]);
    check(event("deferred", "", "4.2.2", "later"), vec![]);
    check(event("delivered", "", "", ""), vec![]);
    let many = json!([event("delivered", "", "", ""), event("spamreport", "", "", ""), 7, null, {}]);
    assert_eq!(read_posted(ReturnProvider::SendGrid, &many), one_notice(ReturnSort::Complaint, "abuse"));
    let beside = json!([{"event": "spamreport", "unique_args": {"tidings": WORD}}]);
    assert_eq!(read_posted(ReturnProvider::SendGrid, &beside), one_notice(ReturnSort::Complaint, "abuse"));
}

#[test]
fn what_nobody_posts_is_told() {
    for provider in ReturnProvider::ALL {
        for body in ["", "{", "7", "null", "\"x\"", "{}", &"[".repeat(9_999)] {
            assert!(read_webhook(provider, body.as_bytes()).is_err(), "{} {body}", provider.name());
        }
    }
}

/// Reports and bodies, and whatever may be made of them.
fn sample_bytes() -> Vec<Vec<u8>> {
    let arf = report_mail("feedback-report", "message/feedback-report", "Feedback-Type: abuse", WHOLE);
    let event = json!({"notificationType": "Bounce", "mail": {"source": "bcieqwerty@x"}, "bounce": {}});
    [
        dsn_mail(&failed_fields("5.1.1", "550 user unknown")),
        arf,
        event.to_string(),
        json!([event]).to_string(),
    ]
    .map(String::into_bytes)
    .to_vec()
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(
        which in 0..4_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..9),
        cut in prop::option::of(any::<prop::sample::Index>()),
        any in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut bytes = sample_bytes().swap_remove(which);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        for bytes in [&bytes, &any] {
            if let ReturnPathMail::Came(came) = read_mail(bytes) {
                prop_assert!(came.words.len() <= 8 && came.words.iter().all(|word| word.len() <= 64));
                prop_assert!(!came.code.contains('@'));
            }
            for provider in ReturnProvider::ALL {
                let _read = read_webhook(provider, bytes);
            }
        }
    }
}
