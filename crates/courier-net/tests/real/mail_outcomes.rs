//! What becomes of a mail in each mood of a server.

use std::time::Duration;

use courier::{Courier as _, HandoverOutcome};
use courier_net::dkim::DkimSigner;
use engines::{MailOptions, MailTls};
use futures::future::join_all;
use model::returns::ReturnSort;

use crate::mail_setup::{
    HAND_OVER, RecordingGate, mail_message, open_mailer, open_mailer_within, route_line, start_server,
};

/// How long a mail may be in the hands of a server that says nothing.
const SHORT: Duration = Duration::from_secs(30);

/// What a hand-over came to, in a word and the server's codes.
fn describe_outcome(handed: &HandoverOutcome) -> String {
    match handed {
        HandoverOutcome::Accepted => "accepted".to_owned(),
        HandoverOutcome::Stopped => "stopped".to_owned(),
        HandoverOutcome::NotNow(why) | HandoverOutcome::Away(why) | HandoverOutcome::Busy(why) => {
            format!("not now: {why}")
        }
        HandoverOutcome::Refused(why) => format!("refused: {why}"),
        HandoverOutcome::Unknown(why) => format!("unknown: {why}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_mood_of_a_server_has_its_outcome() {
    let server = start_server(MailOptions::default());
    // Of each: what became of it, how often the gate was asked, and how many mails the server has of it.
    let check = async |to: &str, expected: &str, asked: usize, arrives: usize| {
        let (before, gate) = (server.arrived_mails().unwrap().len(), RecordingGate::default());
        // Whoever says nothing is waited for, but not for long.
        let hand_over = if to == "hang" { SHORT } else { HAND_OVER };
        let courier = open_mailer_within(
            hand_over,
            &route_line(&server, MailTls::None, ""),
            None,
            DkimSigner::default(),
        );
        let handed = courier.hand(&mail_message(1, &format!("{to}@mail.example")), &gate).await.unwrap();
        assert_eq!(describe_outcome(&handed), expected, "{to}");
        assert_eq!(gate.times_asked(), asked, "{to}: how often the gate was asked");
        assert_eq!(server.arrived_mails().unwrap().len() - before, arrives, "{to}: what the server has");
        // Only what is about the address is told of it, and only where it can be about nothing else.
        let back = if to == "never" { vec![(ReturnSort::Hard, "5.1.1".to_owned())] } else { Vec::new() };
        assert_eq!(*gate.back.lock().unwrap(), back, "{to}: what came back");
    };
    check("ann", "accepted", 1, 1).await;
    check("slow", "accepted", 1, 1).await;
    check("never", "refused: 550 5.1.1 there is no", 0, 0).await;
    check("later", "not now: 451 4.2.0 is not to be reached", 0, 0).await;
    check("goodbye", "not now: 421 4.7.0 less of you, please", 0, 0).await;
    check("leaves", "not now: a reply: unexpected end of file", 0, 0).await;
    check("data-never", "refused: 554 5.7.1 not for", 1, 0).await;
    check("data-later", "not now: 452 4.3.1 no room", 1, 0).await;
    check("data-goodbye", "not now: 421 4.3.2 going down", 1, 0).await;
    check("drop", "unknown: a reply: unexpected end of file", 1, 1).await;
    check("hang", "unknown: a reply: nothing for 15 s", 1, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_is_used_again_and_one_that_was_closed_costs_nothing() {
    let server = start_server(MailOptions { idle: Some(10), ..MailOptions::default() });
    let courier = open_mailer(&route_line(&server, MailTls::None, ""), None, DkimSigner::default());
    let hand = async |number: u8, to: &str, no: bool| {
        let gate = RecordingGate { no, ..RecordingGate::default() };
        let handed = courier.hand(&mail_message(number, &format!("{to}@mail.example")), &gate).await.unwrap();
        (describe_outcome(&handed), gate.times_asked())
    };
    for (number, to, no, expected) in [
        (1, "ann", false, "accepted"),
        (2, "ann", true, "stopped"),
        (3, "never", false, "refused: 550 5.1.1 there is no"),
        (4, "data-never", false, "refused: 554 5.7.1 not for"),
        (5, "bob", false, "accepted"),
    ] {
        assert_eq!(hand(number, to, no).await.0, expected, "{number}");
    }
    assert_eq!(server.connections(), 1, "all of these go over one connection");
    runtime::retry::wait_real_time(Duration::from_secs(15)).await;
    assert_eq!(hand(6, "ann", false).await, ("accepted".to_owned(), 1), "the server had closed it");
    assert_eq!(server.connections(), 2);
    server.stop().unwrap();
    server.start_again().unwrap();
    assert_eq!(hand(7, "ann", false).await, ("accepted".to_owned(), 1), "it was killed and is there again");
    assert_eq!(server.arrived_mails().unwrap().len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_goes_where_it_is_not_safe() {
    let plain = start_server(MailOptions::default());
    let wrong =
        start_server(MailOptions { tls: MailTls::StartTls, wrong_name: true, ..MailOptions::default() });
    let good = start_server(MailOptions {
        tls: MailTls::FromTheStart,
        login: Some("ann:s3cret"),
        ..MailOptions::default()
    });
    let ca = good.ca().unwrap();
    let check = async |ways: &str, ca: Option<&[u8]>, expected: &str| {
        let (courier, gate) = (open_mailer(ways, ca, DkimSigner::default()), RecordingGate::default());
        let handed = courier.hand(&mail_message(1, "ann@mail.example"), &gate).await.unwrap();
        assert!(describe_outcome(&handed).contains(expected), "{handed:?} is not {expected:?}");
        assert_eq!(gate.times_asked(), usize::from(handed == HandoverOutcome::Accepted));
    };
    let named = |server, tls, login| route_line(server, tls, login);
    // Whoever sits between can take STARTTLS out of what a server offers.
    let stripped = named(&plain, MailTls::StartTls, "ann:s3cret");
    check(&stripped, Some(&ca), "the server offers no STARTTLS").await;
    check(&named(&wrong, MailTls::StartTls, ""), Some(&wrong.ca().unwrap()), "not valid for name").await;
    let secure = named(&good, MailTls::FromTheStart, "ann:s3cret");
    check(&secure, None, "invalid peer certificate").await;
    check(&secure, Some(&wrong.ca().unwrap()), "invalid peer certificate").await;
    check(&secure, Some(&ca), "accepted").await;
    check(&named(&good, MailTls::FromTheStart, "ann:wrong"), Some(&ca), "does not take the login: 535").await;
    check(&named(&good, MailTls::FromTheStart, ""), Some(&ca), "530 5.7.0").await;
    check(&named(&plain, MailTls::None, "ann:s3cret"), None, "does not take the login").await;
    for server in [&plain, &wrong] {
        assert_eq!(server.arrived_mails().unwrap().len(), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_way_stands_in_for_another_and_a_slow_one_holds_nobody_up() {
    let (good, gone) = (start_server(MailOptions::default()), start_server(MailOptions::default()));
    gone.stop().unwrap();
    let (first, second) = (route_line(&gone, MailTls::None, ""), route_line(&good, MailTls::None, ""));
    let courier = open_mailer(
        &format!("{first}?name=a&weight=9\n{second}?name=b&weight=1"),
        None,
        DkimSigner::default(),
    );
    let messages: Vec<_> = (1..=40).map(|number| mail_message(number, "ann@mail.example")).collect();
    let gates: Vec<RecordingGate> = messages.iter().map(|_| RecordingGate::default()).collect();
    let handed =
        join_all(messages.iter().zip(&gates).map(|(message, gate)| courier.hand(message, gate))).await;
    for (handed, gate) in handed.into_iter().zip(&gates) {
        assert_eq!((handed.unwrap(), gate.times_asked()), (HandoverOutcome::Accepted, 1));
    }
    assert_eq!(good.arrived_mails().unwrap().len(), 40);
    // One that stands still: some wait for it, and once that is known nobody does.
    good.pause().unwrap();
    let courier = open_mailer_within(SHORT, &format!("{second}?connections=2"), None, DkimSigner::default());
    let watch = runtime::clock::SteadyStopwatch::start();
    let gates: Vec<RecordingGate> = messages.iter().map(|_| RecordingGate::default()).collect();
    let handed =
        join_all(messages.iter().zip(&gates).map(|(message, gate)| courier.hand(message, gate))).await;
    for handed in handed {
        assert!(matches!(handed.unwrap(), HandoverOutcome::Away(_) | HandoverOutcome::Busy(_)));
    }
    // If each of them waited, two at a time, it would be 50 s.
    assert!(watch.elapsed() < Duration::from_secs(20), "{:?}", watch.elapsed());
    good.resume().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_that_is_too_large_is_refused_before_it_is_sent() {
    let server = start_server(MailOptions { size: Some(2_000), ..MailOptions::default() });
    let courier = open_mailer(&route_line(&server, MailTls::None, ""), None, DkimSigner::default());
    let mut large = mail_message(1, "ann@mail.example");
    large.text = "words and more of them\n".repeat(200);
    let gate = RecordingGate::default();
    let handed = courier.hand(&large, &gate).await.unwrap();
    assert_eq!(
        (describe_outcome(&handed).as_str(), gate.times_asked()),
        ("refused: larger than the server takes (2000 bytes)", 0)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_of_any_script_is_asked_for() {
    let server = start_server(MailOptions::default());
    let courier = open_mailer(&route_line(&server, MailTls::None, ""), None, DkimSigner::default());
    let handed =
        courier.hand(&mail_message(1, "änn@bücher.example"), &RecordingGate::default()).await.unwrap();
    assert_eq!(handed, HandoverOutcome::Accepted);
    let about = server.arrived_mails().unwrap().remove(0).about;
    assert_eq!(about["to"][0], "änn@xn--bcher-kva.example");
    assert!(about["options"].to_string().contains("SMTPUTF8"), "{about}");
}
