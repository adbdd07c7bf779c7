//! Mails against hostile text in every field.

use model::{
    ReadyId, Tenant, UtcMillis,
    device::{DevicePlatform, PushDevice},
};
use proptest::{collection::vec, prelude::*};

use crate::{
    mime::{LINE_BYTES_MAX, MimeError, MimeMessage, bare_id, write_message},
    outbox::OutboxMail,
    port::{self, Message, MessagePayload},
};

pub(super) fn sample_message() -> Message {
    Message {
        tenant: Tenant::new("main").unwrap(),
        ready: ReadyId([7; 16]),
        message_id: "0707@news.example".to_owned(),
        headline: "Two new things".to_owned(),
        text: "Hello\n".to_owned(),
        date: UtcMillis(1_795_248_000_000),
        way: MessagePayload::Mail(port::MailPayload {
            from: "News <news@news.example>".to_owned(),
            to: "ann@mail.example".to_owned(),
            preheader: String::new(),
            html: "<p>Hello</p>".to_owned(),
            return_path: None,
            headers: vec![],
        }),
    }
}

#[test]
fn a_mail_is_what_it_always_was() {
    let written = write_message(&sample_message()).unwrap();
    let expected = "Message-ID: <0707@news.example>\r\n\
        Date: Sat, 21 Nov 2026 08:00:00 +0000\r\n\
        From: News <news@news.example>\r\n\
        To: ann@mail.example\r\n\
        Subject: Two new things\r\n\
        X-Tidings-Ready: 07070707070707070707070707070707\r\n\
        MIME-Version: 1.0\r\n\
        Content-Type: multipart/alternative; \
        boundary=\"=_BOUNDARY\"\r\n\
        \r\n\
        --=_BOUNDARY\r\n\
        Content-Type: text/plain; charset=utf-8\r\n\
        Content-Transfer-Encoding: quoted-printable\r\n\
        \r\n\
        Hello\r\n\
        \r\n\
        --=_BOUNDARY\r\n\
        Content-Type: text/html; charset=utf-8\r\n\
        Content-Transfer-Encoding: quoted-printable\r\n\
        \r\n\
        <p>Hello</p>\r\n\
        --=_BOUNDARY--\r\n";
    let text = String::from_utf8(written.bytes).unwrap();
    let boundary = text.split("boundary=\"=_").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(text.replace(boundary, "BOUNDARY"), expected);
    assert_eq!((written.from.as_str(), written.to.as_str()), ("news@news.example", "ann@mail.example"));
}

fn refuse_message(change: impl FnOnce(&mut Message)) -> MimeError {
    let mut message = sample_message();
    change(&mut message);
    write_message(&message).unwrap_err()
}

fn refuse_mail(change: impl FnOnce(&mut port::MailPayload)) -> MimeError {
    write_message(&sample_message().with_mail(change)).unwrap_err()
}

#[test]
fn what_cannot_go_is_refused_without_a_quote() {
    let check = |unfit: MimeError, expected: &str| assert_eq!(unfit.to_string(), expected);
    check(
        refuse_message(|m| m.headline = "a\r\nBcc: b@c.example".into()),
        "headline: has a line break or a zero byte",
    );
    check(refuse_mail(|m| m.to = "not an address".into()), "to: not an address that servers take");
    check(refuse_mail(|m| m.to = "ann@".into()), "to: not an address");
    check(refuse_mail(|m| m.to = "a@b.example, c@d.example".into()), "to: not an address that servers take");
    check(
        refuse_mail(|m| m.to = "<a@b.example>, <c@d.example>".into()),
        "to: its name needs quotes, or it is a list",
    );
}

#[test]
fn lists_of_addresses_never_pass() {
    for to in [
        "a@b.example,c@d.example",
        "a@b.example, c@d.example",
        "a@b.example;c@d.example",
        "\"a@b.example, \"c@d.example",
        "a@b.example c@d.example",
        "\"x y\"@b.example",
        "ä b@b.example",
        "ä@b.example, ö@b.example",
        "a@bü cher.example",
        "a\u{2028}b@c.example",
        "a@\u{ff0e}example",
        "@b.example",
        "a@",
        "",
        " ",
        "<>",
        "a..b@c.example",
        ".a@b.example",
        "a@b.example>",
        "<a@b.example",
        "a@b@c.example",
        "a@b.example (x)",
        "group: a@b.example;",
        "Eve <eve@b.example>, <ann@b.example>",
        "Inc, News <a@b.example>",
        "\"a\" \"b\" <a@b.example>",
    ] {
        let message = sample_message().with_mail(|mail| mail.to = to.to_owned());
        assert!(write_message(&message).is_err(), "{to}");
    }
    for to in [
        "a@b.example",
        "Ann <a@b.example>",
        "<a@b.example>",
        " a+tag@b.example ",
        "ann@localhost",
        "\"Ann, <b@c.example>\" <a@b.example>",
    ] {
        let message = sample_message().with_mail(|mail| mail.to = to.to_owned());
        assert!(write_message(&message).is_ok(), "{to}");
    }
}

#[test]
fn dates_outside_the_calendar_are_refused() {
    for date in [-1, i64::MIN, i64::MAX, 253_402_300_800_000] {
        assert_eq!(refuse_message(|m| m.date = UtcMillis(date)).field, "date");
    }
}

#[test]
fn headers_of_ours_are_not_replaced() {
    for name in [
        "To",
        "BCC",
        "subject",
        "Content-Type",
        "Content-Transfer-Encoding",
        "X-Tidings-Ready",
        "",
        "a b",
        "a:b",
        "ä",
    ] {
        assert_eq!(refuse_mail(|m| m.headers = vec![(name.into(), "x".into())]).field, "headers", "{name}");
    }
    for value in ["", " x", "x\u{7}", "x\ty"] {
        assert_eq!(
            refuse_mail(|m| m.headers = vec![("X-A".into(), value.into())]).field,
            "headers",
            "{value:?}"
        );
    }
    let twice = vec![("X-A".into(), "1".into()), ("x-a".into(), "2".into())];
    assert_eq!(refuse_mail(|m| m.headers = twice).field, "headers");
    assert_eq!(refuse_mail(|m| m.headers = vec![("X-A".into(), "x".repeat(1_000))]).field, "headers");
    assert_eq!(refuse_mail(|m| m.html = "x".repeat(9 << 20)).field, "body");
}

#[test]
fn addresses_of_any_script() {
    let check = |to: &str, is_utf8: bool, envelope: &str, header: &str| {
        let written = write_message(&sample_message().with_mail(|mail| mail.to = to.to_owned())).unwrap();
        assert_eq!((written.is_utf8, written.to.as_str()), (is_utf8, envelope), "{to}");
        let text = String::from_utf8(written.bytes).unwrap();
        assert!(text.contains(&format!("\r\nTo: {header}\r\n")), "{to}: {text}");
    };
    // A domain has a form that every server takes.
    check("ann@bücher.example", false, "ann@xn--bcher-kva.example", "ann@xn--bcher-kva.example");
    check("Ann <ann@BÜCHER.example>", false, "ann@xn--bcher-kva.example", "Ann <ann@xn--bcher-kva.example>");
    check("änn.lee@bücher.example", true, "änn.lee@xn--bcher-kva.example", "änn.lee@xn--bcher-kva.example");
    check("用户@example.com", true, "用户@example.com", "用户@example.com");
}

#[test]
fn ids_are_bare() {
    assert_eq!(bare_id("<a@b>"), Some("a@b"));
    assert_eq!(bare_id("a@b"), Some("a@b"));
    for bad in ["", "a", "<a@b", "a@b>", "a@b c", "a@@b", "../a@b", "a@b/c\0", "a@", "@b", "a..b@c"] {
        // A slash is an atom's character; what matters is that no file is named by it.
        assert_eq!(bare_id(bad), None, "{bad}");
    }
    assert_eq!(bare_id(&format!("{}@b", "a".repeat(300))), None);
}

fn hostile_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<String>(),
        "[ -~]{0,20}",
        prop::sample::select(vec![
            "\r\n",
            "\n",
            "\r",
            "\0",
            "\r\n.\r\n",
            "\n.\n",
            "Bcc: eve@mail.example",
            "\r\n\r\n",
            " ",
            "\t",
            "\"",
            "\\",
            "<",
            ">",
            "@",
            ",",
            "=?utf-8?q?x?=",
            "=?",
            "?=",
            "--=_",
            "=\r\n",
            "ann@mail.example",
            "\u{85}",
            "\u{2028}",
            "\u{7f}",
            ":",
            "%0d%0a",
        ])
        .prop_map(str::to_owned),
    ];
    vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

/// A line break in any header's place was either refused or is not there.
fn check_bytes(written: &MimeMessage, headers: usize) {
    let text = std::str::from_utf8(&written.bytes).unwrap();
    assert!(text.is_ascii() || written.is_utf8);
    assert!(!text.contains('\0') && text.ends_with("\r\n"));
    assert_eq!(text.matches('\r').count(), text.matches("\r\n").count());
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    assert!(text.split("\r\n").all(|line| line.len() <= LINE_BYTES_MAX));
    let head = text.split("\r\n\r\n").next().unwrap();
    let names: Vec<&str> = head.split("\r\n").filter(|line| !line.starts_with(' ')).collect();
    // Eight of ours; what does not begin with a blank is a header.
    assert_eq!(names.len(), 8 + headers, "{names:?}");
    assert!(!names.iter().any(|line| line.to_ascii_lowercase().starts_with("bcc:")), "{names:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_field_leaves_its_place(
        which in 0..7,
        evil in hostile_text(),
        html in hostile_text(),
        text in hostile_text(),
    ) {
        let mut message = sample_message();
        message.text = text;
        let mut headers = 0;
        match which {
            0 => message.message_id = evil.clone(),
            4 => message.headline = evil.clone(),
            _ => {}
        }
        let message = message.with_mail(|mail| {
            mail.html = html;
            match which {
                1 => mail.from = evil.clone(),
                2 => mail.to = evil.clone(),
                3 => mail.from = format!("{evil} <news@news.example>"),
                5 => mail.headers = vec![("X-More".to_owned(), evil.clone())],
                6 => mail.headers = vec![(evil.clone(), "x".to_owned())],
                _ => {}
            }
        });
        if which >= 5 {
            headers = 1;
        }
        match write_message(&message) {
            Ok(written) => {
                prop_assert!(which == 4 || !evil.contains(['\r', '\n', '\0']));
                check_bytes(&written, headers);
                prop_assert_eq!(write_message(&message).unwrap(), written);
            }
            Err(unfit) => prop_assert!(unfit.to_string().len() < 100),
        }
    }

    #[test]
    fn what_is_read_is_what_was_written(headline in hostile_text(), html in hostile_text(), text in hostile_text()) {
        let mut message = sample_message();
        message.headline = headline.replace(['\r', '\n', '\0'], "");
        message.text = text;
        let message = message.with_mail(|mail| mail.html = html.clone());
        let mail = OutboxMail::parse(write_message(&message).unwrap().bytes);
        prop_assert_eq!(mail.header("subject").unwrap(), &message.headline);
        // Line ends are a mail's own, so one sort of them comes back.
        prop_assert_eq!(mail.text, message.text.replace("\r\n", "\n"));
        prop_assert_eq!(mail.html, html.replace("\r\n", "\n"));
    }
}

fn push_message(words: &str, id: &str, opens: &str) -> Message {
    let device = |id: &str, platform| PushDevice { id: id.to_owned(), platform, token: "t".to_owned() };
    let link = |address: &str, title: &str| {
        Some(port::MessageLink { address: address.to_owned(), title: title.to_owned() })
    };
    let push = port::PushPayload {
        devices: vec![
            device(id, DevicePlatform::Android),
            device("pad", DevicePlatform::Ios),
            device("w", DevicePlatform::Web),
        ],
        longer: format!("{words} and more"),
        image: Some("https://p.example/1.png".to_owned()),
        opens: Some(opens.to_owned()),
        links: port::MessageLinks {
            read: link("https://n.example/u/r/abc", "Mark as read"),
            settings: link("https://n.example/u/def/settings", "Settings"),
        },
        silent: true,
        badge: Some(7),
        wordless: false,
        replaces: false,
        withdrawn: Vec::new(),
        expires: UtcMillis(1_795_248_060_000),
    };
    Message {
        headline: words.to_owned(),
        text: words.to_owned(),
        way: MessagePayload::Push(push),
        ..sample_message()
    }
}

/// What each platform is given stands in the outbox beside the words.
#[test]
fn a_push_is_given_in_the_form_of_each_platform() {
    let mail = OutboxMail::parse(
        write_message(&push_message("Two new things", "phone", "https://a.example/2")).unwrap().bytes,
    );
    assert_eq!(mail.header("to"), Some("phone@android.invalid, pad@ios.invalid, w@web.invalid"));
    assert_eq!(
        (mail.header("x-tidings-channel"), mail.header("x-tidings-silent")),
        (Some("push"), Some("yes"))
    );
    assert_eq!(mail.text, "Two new things");
    let raw = String::from_utf8(mail.raw).unwrap().replace("=\r\n", "");
    for piece in [
        "\"ttl\": \"60s\"",
        "\"body\": \"Two new things and more\"",
        "passive",
        "\"priority\": \"NORMAL\"",
        "\"badge\": 7",
        "\"notification_count\": 7",
    ] {
        assert!(raw.contains(piece), "{piece} in {raw}");
    }
    for (link, address) in
        [("read", "https://n.example/u/r/abc"), ("settings", "https://n.example/u/def/settings")]
    {
        let said = format!("\"{link}\": \"{address}\"");
        assert_eq!(raw.matches(&said).count(), 3, "each device knows {said}: {raw}");
    }
    assert_eq!(
        raw.matches("\"title\": \"Mark as read\"").count(),
        1,
        "only a browser needs words for a button: {raw}"
    );
    assert!(!raw.contains("replaces"), "{raw}");
    let mut renewed = push_message("Two new things", "phone", "https://a.example/2");
    if let MessagePayload::Push(push) = &mut renewed.way {
        push.replaces = true;
    }
    let raw = OutboxMail::parse(write_message(&renewed).unwrap().bytes).raw;
    let raw = String::from_utf8(raw).unwrap().replace("=\r\n", "");
    let marks = (raw.matches("\"replaces\": true").count(), raw.matches("\"replaces\": \"true\"").count());
    assert_eq!(marks, (2, 1), "each device knows that it replaces another: {raw}");
    let mut wordless = push_message("", "phone", "https://a.example/2");
    if let MessagePayload::Push(push) = &mut wordless.way {
        push.wordless = true;
        push.withdrawn = vec![ReadyId([0xab; 16])];
    }
    let raw = String::from_utf8(OutboxMail::parse(write_message(&wordless).unwrap().bytes).raw).unwrap();
    assert!(raw.contains("\"content-available\": 1") && raw.contains("\"badge\": \"7\""), "{raw}");
    assert_eq!(raw.matches(&"ab".repeat(16)).count(), 3, "each device knows which push was withdrawn: {raw}");
    for word in ["title", "alert", "\"body\"", "\"notification\"", "sound"] {
        assert!(!raw.contains(word), "{word} in {raw}");
    }
    assert!(
        write_message(&push_message("x", "a b", "https://a.example")).is_err(),
        "a device that is no word"
    );
}

proptest! {
    #[test]
    fn no_word_of_a_push_leaves_its_place(words in hostile_text(), opens in hostile_text()) {
        match write_message(&push_message(&words, "phone", &opens)) {
            Ok(written) => check_bytes(&written, 2),
            Err(unfit) => prop_assert!(unfit.to_string().len() < 100),
        }
    }
}
