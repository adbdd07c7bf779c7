//! What comes back of mails: noted, then told, then acknowledged; and never without the word of a mail of ours.

use courier::mail_returns::{self, ReturnProvider};
use model::{
    PlanName, ReadyId,
    plan::GENERAL,
    returns::{AddressHash, ReturnSort, Slip, find_suppression},
};
use wire::{ReturnNotice, return_path, token::LinkSecret};

use super::*;
use crate::{IngestError, apply_return_mail, returns::ReturnPaths};

const DOMAIN: &str = "returns.example.com";
const ADDRESS: &str = "ann@example.org";
const READY: ReadyId = ReadyId([3; 16]);

fn secret() -> LinkSecret {
    LinkSecret::new([7; 32])
}

fn paths() -> ReturnPaths {
    ReturnPaths::new(DOMAIN, secret())
}

fn return_word() -> String {
    return_path::sign_return_path(READY, &secret())
}

fn sample_slip() -> Slip {
    Slip {
        tenant: tenant(),
        person: ann(),
        plan: PlanName::new("daily").unwrap(),
        stream: "offers".into(),
        channel: model::Channel::Email,
        address: AddressHash::from_address(&tenant(), &ann(), ADDRESS),
        at: parse_instant("2026-11-21T09:00:00Z"),
    }
}

/// A house from which a mail to ann has left.
async fn house_with_slip() -> IngestHouse {
    let house = IngestHouse::new().await;
    house.store.keep(READY, sample_slip()).await.unwrap();
    house
}

/// A mail comes to an address.
async fn deliver_mail(house: &IngestHouse, to: &str, mail: &str) -> Result<(), IngestError> {
    apply_return_mail(&house.deps, &paths(), &[to.to_owned()].into(), mail.as_bytes().to_vec()).await
}

fn returns_router(house: &IngestHouse, keys: Option<Vec<ApiKey>>) -> Router {
    let http = house.http();
    router(HttpIntake {
        keys: keys.into(),
        config: Config { returns: Some(paths()), ..http.config.clone() },
        ..http
    })
}

impl IngestHouse {
    /// Why nothing goes to ann by now, of the mail's own stream and of another.
    async fn suppressions(&self) -> [Option<ReturnSort>; 2] {
        let notes = self.state(StateKey::Notes(tenant(), ann())).await;
        ["offers", GENERAL]
            .map(|stream| find_suppression(&notes, sample_slip().address, stream, parse_instant(NOON)))
    }

    async fn return_records(&self) -> Vec<ReturnNotice> {
        let records = self.records(topics::RETURNS).await;
        records.iter().map(|record| wire::returns::decode(record.value.as_ref().unwrap()).unwrap()).collect()
    }
}

fn bounce_body(word: &str) -> String {
    json!({"RecordType": "Bounce", "Type": "HardBounce", "Email": ADDRESS, "Metadata": {"tidings": word}})
        .to_string()
}

fn report_mail(fields: &str) -> String {
    format!(
        "From: <MAILER-DAEMON@mx.example.org>\r\nContent-Type: multipart/report; boundary=x\r\n\r\n--x\r\n\
         Content-Type: message/{fields}\r\n\r\n--x--\r\n"
    )
}

fn failure_report() -> String {
    report_mail("delivery-status\r\n\r\nReporting-MTA: dns; x\r\n\r\nAction: failed\r\nStatus: 5.1.1")
}

fn complaint_report(word: &str) -> String {
    report_mail(&format!(
        "feedback-report\r\n\r\nFeedback-Type: abuse\r\nOriginal-Mail-From: <{word}@{DOMAIN}>"
    ))
}

#[tokio::test]
async fn a_provider_tells_what_came_back_and_it_is_noted_told_and_acknowledged() {
    let house = house_with_slip().await;
    let door = returns_router(&house, None);
    let (status, said) = post_body(&door, "/v1/returns/postmark", &[], bounce_body(&return_word())).await;
    assert_eq!((status, said.as_str()), (200, r#"{"accepted":1}"#));
    assert_eq!(house.suppressions().await, [Some(ReturnSort::Hard); 2]);
    let expected =
        ReturnNotice::from_slip(&sample_slip(), READY, (ReturnSort::Hard, "hardbounce"), parse_instant(NOON));
    assert_eq!(house.return_records().await, [expected]);
    let complaint = json!([{"event": "spamreport", "tidings": return_word()}, {"event": "open", "tidings": return_word()}]);
    let (status, said) = post_body(&door, "/v1/returns/sendgrid", &[], complaint.to_string()).await;
    assert_eq!((status, said.as_str()), (200, r#"{"accepted":1}"#));
    assert_eq!(house.return_records().await.len(), 2);
    for provider in ReturnProvider::ALL {
        let path = format!("/v1/returns/{}", provider.name());
        assert_eq!(post_body(&door, &path, &[], "nonsense").await.0, 400, "{path}");
    }
    assert_eq!(post_body(&house.router(), "/v1/returns/ses", &[], "{}").await.0, 404, "no domain, no way in");
}

/// Law 4: whoever is not told that it was taken says it again.
#[tokio::test]
async fn what_could_not_be_told_is_not_acknowledged() {
    let house = house_with_slip().await;
    let door = returns_router(&house, None);
    house.sick.busy.store(true, Ordering::SeqCst);
    assert_eq!(post_body(&door, "/v1/returns/postmark", &[], bounce_body(&return_word())).await.0, 503);
    let to = format!("{}@{DOMAIN}", return_word());
    deliver_mail(&house, &to, &failure_report()).await.unwrap_err();
    house.sick.busy.store(false, Ordering::SeqCst);
    assert_eq!(house.return_records().await, []);
    deliver_mail(&house, &to, &failure_report()).await.unwrap();
    assert_eq!(
        (house.return_records().await.len(), house.suppressions().await),
        (1, [Some(ReturnSort::Hard); 2])
    );
}

#[tokio::test]
async fn nothing_ends_without_the_word_of_a_mail_of_ours() {
    let house = house_with_slip().await;
    let door = returns_router(&house, None);
    let others = [
        return_path::sign_return_path(READY, &LinkSecret::new([8; 32])),
        // One of ours, of a mail that never left or is long forgotten.
        return_path::sign_return_path(ReadyId([4; 16]), &secret()),
        READY.to_string(),
        return_word().replace('b', "c"),
        String::new(),
    ];
    for word in &others {
        let (status, said) = post_body(&door, "/v1/returns/postmark", &[], bounce_body(word)).await;
        assert_eq!((status, said.as_str()), (200, r#"{"accepted":0}"#), "{word}");
        let to = format!("{word}@{DOMAIN}");
        deliver_mail(&house, &to, &failure_report()).await.unwrap();
        deliver_mail(&house, &format!("complaints@{DOMAIN}"), &complaint_report(word)).await.unwrap();
    }
    // Nor by a report that came to the box for all of them: it has to say the word itself.
    deliver_mail(&house, &format!("complaints@{DOMAIN}"), &failure_report()).await.unwrap();
    assert_eq!((house.suppressions().await, house.return_records().await), ([None; 2], vec![]));
    deliver_mail(&house, &format!("complaints@{DOMAIN}"), &complaint_report(&return_word())).await.unwrap();
    assert_eq!(house.suppressions().await, [Some(ReturnSort::Complaint), None]);
}

#[tokio::test]
async fn of_who_was_erased_nothing_is_noted() {
    let house = house_with_slip().await;
    let erased = VersionedState::from_values(1, [(notes::ERASED, Some(Value::Flag(true)))]);
    house.store.merge(vec![(StateKey::Notes(tenant(), ann()), erased)]).await.unwrap();
    let (status, said) =
        post_body(&returns_router(&house, None), "/v1/returns/postmark", &[], bounce_body(&return_word()))
            .await;
    assert_eq!((status, said.as_str()), (200, r#"{"accepted":0}"#));
    assert_eq!((house.suppressions().await, house.return_records().await), ([None; 2], vec![]));
}

#[tokio::test]
async fn a_provider_shows_a_key_as_a_password() {
    let house = house_with_slip().await;
    let keys = vec![ApiKey::new(&SecretString::from("one:two"), Tenant::new("other").unwrap())];
    let door = returns_router(&house, Some(keys));
    let basic = |text: &str| {
        format!("Basic {}", base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text))
    };
    let check = |authorization: String, expected: u16| {
        let door = door.clone();
        async move {
            let headers = [("authorization", authorization.as_str())];
            let (status, said) =
                post_body(&door, "/v1/returns/postmark", &headers, bounce_body(&return_word())).await;
            assert_eq!(
                (status, said.ends_with(" bearer")),
                (expected, expected == 401),
                "{authorization} {said}"
            );
        }
    };
    for wrong in ["one", "one:two", "tidings:one", "tidings:", ":", ""] {
        check(basic(wrong), 401).await;
    }
    check("Basic ???".to_owned(), 401).await;
    check("Bearer one".to_owned(), 401).await;
    check(basic("tidings:one:two"), 200).await;
    check("Bearer one:two".to_owned(), 200).await;
    let asked = Request::post("/v1/returns/ses").body(Body::empty()).unwrap();
    let asked = door.clone().oneshot(asked).await.unwrap();
    assert_eq!(asked.headers()["www-authenticate"], "Basic realm=\"tidings\"");
}

#[test]
fn only_return_paths_are_taken() {
    let check = |to: &str, expected: bool| assert_eq!(paths().takes(to), expected, "{to}");
    let word = return_word();
    check(&format!("{word}@{DOMAIN}"), true);
    check(&format!("{}@{}", word.to_uppercase(), DOMAIN.to_uppercase()), true);
    check(&format!("{word}@{DOMAIN}."), true);
    check(&format!("complaints@{DOMAIN}"), true);
    for other in [
        format!("{word}@example.com"),
        format!("{word}@x.{DOMAIN}"),
        format!("x{word}@{DOMAIN}"),
        format!("{word}+x@{DOMAIN}"),
        format!("ann@{DOMAIN}"),
        format!("complaints@{DOMAIN}@example.org"),
        format!("@{DOMAIN}"),
        DOMAIN.to_owned(),
        word,
        "ann@example.org".to_owned(),
        String::new(),
    ] {
        check(&other, false);
    }
}

proptest! {
    /// Whatever is written to us: nobody is left out of mails without a word that we made.
    #[test]
    fn no_bytes_are_a_return_without_a_word(
        to in ".{0,60}",
        mail in prop::collection::vec(any::<u8>(), 0..300),
        code in "[a-z2-7]{42}",
    ) {
        let forged = format!("b{code}@{DOMAIN}");
        prop_assert!(!paths().takes(&to) && !paths().takes(&forged));
        for to in [to, forged, format!("complaints@{DOMAIN}")] {
            for mail in [&mail[..], failure_report().as_bytes(), complaint_report(&format!("b{code}")).as_bytes()] {
                prop_assert!(!matches!(paths().read_letter(&to, &mail_returns::read_mail(mail)), crate::returns::ReturnReading::Back(_)));
            }
        }
    }
}
