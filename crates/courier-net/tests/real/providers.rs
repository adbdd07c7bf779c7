//! Providers: fakes that take what the documentation of each says, all promises of a courier over each of them, what becomes
//! of a mail in each of their moods, and signatures as botocore makes them.

use std::{
    fs,
    process::Command,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use courier::{
    Courier, HandoverOutcome, MailPayload, Message, MessagePayload,
    conformance::{BrokenCourierPromise, CourierHarness, run_promises},
    mime::{self, READY_HEADER},
};
use courier_net::{
    TlsTrust,
    dkim::{DkimKey, DkimSigner},
    mail::MailCourier,
    mail_routes::{self, RouteDefaults},
};
use engines::python;
use model::{ReadyId, Tenant, UtcMillis};
use serde_json::{Value, json};

use crate::{
    fake::{FakeHttpAnswer, FakeHttpRequest, FakeHttpService},
    mail_setup::{HAND_OVER, RecordingGate, mail_message, now_ms},
};

const REGION: &str = "eu-west-1";
/// Amazon's secrets have characters that an address has to write otherwise.
const SECRET: &str = "wJalr/UtnFEMI+K7MDENG/bPxRfi=";
const TOKEN: &str = "s3cret-token";

/// A mail, and what it is traced by.
type TracedMail = (Vec<u8>, String);

/// What one provider takes, by its documentation.
#[derive(Clone, Copy)]
struct ProviderCase {
    name: &'static str,
    path: &'static str,
    /// What it says to a mail that it takes.
    status: u16,
    /// The way to it, by where it is.
    way: fn(&str) -> String,
    /// What is wrong with a request, if anything is.
    wrong: fn(&FakeHttpRequest) -> Option<FakeHttpAnswer>,
    /// The mail that it would send, and what it keeps to trace it by.
    mail: fn(&FakeHttpRequest) -> Result<TracedMail, String>,
}

const SORTS: [ProviderCase; 3] = [
    ProviderCase {
        name: "ses",
        path: "/v2/email/outbound-emails",
        status: 200,
        way: |at| {
            let secret = SECRET.replace('/', "%2F").replace('+', "%2B").replace('=', "%3D");
            format!("ses://AKIDEXAMPLE:{secret}@{REGION}?endpoint={at}&configuration_set=all")
        },
        wrong: |seen| {
            let is_signed =
                seen.header("authorization").starts_with("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/");
            (!is_signed).then(|| answer_with_header(403, "x-amzn-errortype", "IncompleteSignatureException"))
        },
        mail: |seen| {
            let said = seen.json();
            if said["ConfigurationSetName"] != "all" {
                return Err("it is of no configuration set".to_owned());
            }
            let bytes = BASE64_STANDARD.decode(expect_text(&said["Content"]["Raw"]["Data"])?);
            let bytes = bytes.map_err(|error| error.to_string())?;
            let to = expect_text(&said["Destination"]["ToAddresses"][0])?;
            if !String::from_utf8_lossy(&bytes).contains(&format!("To: {to}\r\n")) {
                return Err("it is to somebody else".to_owned());
            }
            let tag = &said["EmailTags"][0];
            let good = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
            match expect_text(&tag["Value"]) {
                Ok(value) if tag["Name"] == "tidings" && value.len() <= 256 && value.chars().all(good) => {
                    Ok((bytes, value))
                }
                _ => Err(format!("{tag} is no tag")),
            }
        },
    },
    ProviderCase {
        name: "postmark",
        path: "/email",
        status: 200,
        way: |at| format!("postmark://{TOKEN}@{at}?stream=news"),
        wrong: |seen| {
            let is_known = seen.header("x-postmark-server-token") == TOKEN;
            (!is_known).then(|| FakeHttpAnswer::with_json(401, &json!({"ErrorCode": 10, "Message": "No"})))
        },
        mail: |seen| {
            let said = seen.json();
            if said["MessageStream"] != "news" || said["TrackOpens"] != false {
                return Err("it is of another stream, or its opens are tracked".to_owned());
            }
            let headers = said["Headers"].as_array().ok_or("no headers")?;
            let headers =
                headers.iter().map(|one| Ok((expect_text(&one["Name"])?, expect_text(&one["Value"])?)));
            let mut headers = headers.collect::<Result<Vec<_>, String>>()?;
            // Else it makes up an id of its own.
            let kept = headers.iter().position(|(name, value)| name == "X-PM-KeepID" && value == "true");
            headers.remove(kept.ok_or("its id is not kept")?);
            let words = [&said["Subject"], &said["TextBody"], &said["HtmlBody"]].map(expect_text);
            let [subject, plain, html] = words;
            let bytes = build_mail(
                expect_text(&said["From"])?,
                expect_text(&said["To"])?,
                subject?,
                plain?,
                html?,
                headers,
            )?;
            Ok((bytes, expect_text(&said["Metadata"]["tidings"])?))
        },
    },
    ProviderCase {
        name: "sendgrid",
        path: "/v3/mail/send",
        status: 202,
        way: |at| format!("sendgrid://{TOKEN}@{at}"),
        wrong: |seen| {
            let is_known = seen.header("authorization") == format!("Bearer {TOKEN}");
            (!is_known).then(|| FakeHttpAnswer::with_json(401, &json!({"errors": [{"message": "no"}]})))
        },
        mail: |seen| {
            let said = seen.json();
            let headers = said["headers"].as_object().ok_or("no headers")?;
            let headers = headers.iter().map(|(name, value)| Ok((name.clone(), expect_text(value)?)));
            let headers = headers.collect::<Result<Vec<_>, String>>()?;
            let reserved = [
                "x-sg-id",
                "x-sg-eid",
                "received",
                "dkim-signature",
                "content-type",
                "content-transfer-encoding",
                "to",
                "from",
                "subject",
                "reply-to",
                "cc",
                "bcc",
            ];
            if let Some((name, _)) =
                headers.iter().find(|(name, _)| reserved.contains(&name.to_ascii_lowercase().as_str()))
            {
                return Err(format!("{name} is a header of its own"));
            }
            let from = match said["from"]["name"].as_str() {
                Some(name) => format!("\"{name}\" <{}>", expect_text(&said["from"]["email"])?),
                None => expect_text(&said["from"]["email"])?,
            };
            let (subject, parts) =
                (expect_text(&said["subject"])?, said["content"].as_array().ok_or("no content")?);
            if subject.is_empty() || parts.is_empty() || parts.iter().any(|part| part["value"] == "") {
                return Err("it takes nothing that is empty".to_owned());
            }
            let is_html = |part: &&Value| part["type"] == "text/html";
            if parts.first().is_some_and(|part| is_html(&part)) && parts.len() > 1 {
                return Err("the plain words come first".to_owned());
            }
            let part = |html: bool| {
                let part = parts.iter().find(|part| is_html(part) == html);
                part.map_or(Ok(String::new()), |part| expect_text(&part["value"]))
            };
            // A headline of one blank is none.
            let subject = if subject == " " { String::new() } else { subject };
            let to = expect_text(&said["personalizations"][0]["to"][0]["email"])?;
            let bytes = build_mail(from, to, subject, part(false)?, part(true)?, headers)?;
            Ok((bytes, expect_text(&said["custom_args"]["tidings"])?))
        },
    },
];

fn expect_text(value: &Value) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| format!("{value} is no text"))
}

fn answer_with_header(status: u16, header: &'static str, value: &str) -> FakeHttpAnswer {
    FakeHttpAnswer::Says { status, header: Some((header, value.to_owned())), body: b"{}".to_vec() }
}

/// The mail that a provider makes of parts. Its date is its own.
fn build_mail(
    from: String,
    to: String,
    headline: String,
    text: String,
    html: String,
    mut headers: Vec<(String, String)>,
) -> Result<Vec<u8>, String> {
    let mut taken = |wanted: &str| {
        let at = headers.iter().position(|(name, _)| name == wanted);
        at.map(|at| headers.remove(at).1).ok_or_else(|| format!("there is no {wanted}"))
    };
    let message_id = taken("Message-ID")?.trim_matches(['<', '>']).to_owned();
    let ready = ReadyId::parse(&taken(READY_HEADER)?).ok_or("no id of a Ready")?;
    let tenant = Tenant::new("main").map_err(|error| error.to_string())?;
    let way = MessagePayload::Mail(MailPayload {
        from,
        to,
        preheader: String::new(),
        html,
        headers,
        return_path: None,
    });
    let date = UtcMillis(1_795_248_000_000);
    let message = Message { tenant, ready, message_id, headline, text, date, way };
    mime::write_message(&message).map(|written| written.bytes).map_err(|unfit| unfit.to_string())
}

/// One of them, with what it answers by now and what it took.
struct FakeMailProvider {
    sort: ProviderCase,
    fake: FakeHttpService,
    mood: Arc<Mutex<Vec<FakeHttpAnswer>>>,
    taken: Mutex<Vec<FakeHttpRequest>>,
}

impl FakeMailProvider {
    async fn start(sort: ProviderCase, protocol: &str) -> Self {
        let mood = Arc::new(Mutex::new(Vec::new()));
        let own = mood.clone();
        let fake = FakeHttpService::start_with_protocol(protocol, move |seen| {
            if seen.path != sort.path || seen.header("content-type") != "application/json" {
                return FakeHttpAnswer::with_json(404, &json!({}));
            }
            if let Some(answer) = (sort.wrong)(seen) {
                return answer;
            }
            if let Some(answer) = own.lock().unwrap().pop() {
                return answer;
            }
            match (sort.mail)(seen) {
                Ok(_) => FakeHttpAnswer::with_json(sort.status, &json!({})),
                Err(why) => FakeHttpAnswer::with_json(422, &json!({"ErrorCode": 300, "Message": why})),
            }
        });
        Self { sort, fake: fake.await, mood, taken: Mutex::default() }
    }

    fn set_answer(&self, answer: FakeHttpAnswer) {
        *self.mood.lock().unwrap() = vec![answer];
    }

    fn fake_host(&self) -> String {
        self.fake.root().trim_start_matches("https://").to_owned()
    }

    fn route_line(&self) -> String {
        (self.sort.way)(&self.fake_host())
    }

    fn mailer(&self) -> MailCourier {
        open_mailer(&self.route_line(), &[self.fake.ca()], HAND_OVER)
    }

    /// All that was asked of it, since it was forgotten.
    fn requests_since(&self) -> Vec<FakeHttpRequest> {
        let mut taken = self.taken.lock().unwrap();
        taken.extend(self.fake.take_requests());
        taken.clone()
    }

    fn forget_requests(&self) {
        self.fake.take_requests();
        self.taken.lock().unwrap().clear();
    }
}

fn open_mailer(ways: &str, authorities: &[&[u8]], hand_over: Duration) -> MailCourier {
    let trust = TlsTrust::new(Some(&authorities.concat())).unwrap();
    let common = RouteDefaults { ehlo: "house.example".to_owned(), hand_over, trust };
    MailCourier::new(mail_routes::parse_routes(ways, &common).unwrap(), DkimSigner::default(), hand_over)
}

async fn hand_mail(courier: &MailCourier, message: &Message) -> (String, usize) {
    let gate = RecordingGate::default();
    let told = match courier.hand(message, &gate).await.unwrap() {
        HandoverOutcome::Accepted => "accepted".to_owned(),
        HandoverOutcome::Stopped => "stopped".to_owned(),
        HandoverOutcome::NotNow(why) | HandoverOutcome::Away(why) | HandoverOutcome::Busy(why) => {
            format!("not now: {why}")
        }
        HandoverOutcome::Refused(why) => format!("refused: {why}"),
        HandoverOutcome::Unknown(why) => format!("unknown: {why}"),
    };
    assert!(!told.contains("ann@") && !told.contains("s3cret"), "{told}");
    (told, gate.times_asked())
}

#[async_trait]
impl CourierHarness for FakeMailProvider {
    async fn open(&self) -> Result<Arc<dyn Courier>, BrokenCourierPromise> {
        self.forget_requests();
        Ok(Arc::new(self.mailer()))
    }

    async fn crash(&self, courier: Arc<dyn Courier>) -> Result<Arc<dyn Courier>, BrokenCourierPromise> {
        drop(courier);
        Ok(Arc::new(self.mailer()))
    }

    async fn arrived_mails(&self) -> Result<Vec<Vec<u8>>, BrokenCourierPromise> {
        let mails =
            self.requests_since().into_iter().map(|seen| (self.sort.mail)(&seen).map(|(mail, _)| mail));
        mails.collect::<Result<_, _>>().map_err(BrokenCourierPromise)
    }

    fn knows_sent(&self) -> bool {
        false
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_promise_is_kept_over_each_provider() {
    for sort in SORTS {
        let provider = FakeMailProvider::start(sort, "http/1.1").await;
        assert_eq!(format!("{:?}", run_promises(&provider).await), "[]", "{}", sort.name);
        assert!(provider.fake.connections() > 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_carries_what_it_is_traced_by() {
    for sort in SORTS {
        let provider = FakeMailProvider::start(sort, "h2").await;
        assert_eq!(
            hand_mail(&provider.mailer(), &mail_message(7, "ann@mail.example")).await.0,
            "accepted",
            "{}",
            sort.name
        );
        let (_, trace) = (sort.mail)(&provider.requests_since()[0]).unwrap();
        assert_eq!(trace, ReadyId([7; 16]).to_string());
    }
}

/// What arrived there, as botocore would have signed it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_amazon_is_asked_is_signed_as_botocore_signs() {
    let mut asked = Vec::new();
    for protocol in ["h2", "http/1.1"] {
        let provider = FakeMailProvider::start(SORTS[0], protocol).await;
        let courier = provider.mailer();
        for (number, to) in [(1, "ann@mail.example"), (2, "änn@bücher.example")] {
            assert_eq!(hand_mail(&courier, &mail_message(number, to)).await.0, "accepted");
        }
        for seen in provider.requests_since() {
            let names = ["content-type", "host", "x-amz-date", "authorization"];
            let headers: serde_json::Map<String, Value> =
                names.iter().map(|name| ((*name).to_owned(), seen.header(name).into())).collect();
            let at = provider.fake_host();
            assert_eq!(seen.header("host"), at);
            let url = format!("https://{at}{}", seen.path);
            asked.push(json!({
                "url": url, "headers": headers, "body": BASE64_STANDARD.encode(&seen.body),
                "key": "AKIDEXAMPLE", "secret": SECRET, "region": REGION, "service": "ses",
            }));
        }
    }
    let mut altered = asked[0].clone();
    altered["body"] = asked[1]["body"].clone();
    asked.push(altered);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("asked.json");
    fs::write(&path, Value::from(asked).to_string()).unwrap();
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/python/sigv4_verify.py");
    let output = Command::new(python().unwrap()).args([program.as_ref(), path.as_os_str()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let held: Vec<bool> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(held, [true, true, true, true, false]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_answer_of_a_provider_has_its_outcome() {
    let [ses, postmark, sendgrid] = SORTS;
    for protocol in ["h2", "http/1.1"] {
        for sort in SORTS {
            let provider = FakeMailProvider::start(sort, protocol).await;
            let check = async |answer: FakeHttpAnswer, expected: &str| {
                provider.set_answer(answer.clone());
                let (told, asked) = hand_mail(&provider.mailer(), &mail_message(1, "ann@mail.example")).await;
                let words = told.replace(&format!("{}: ", provider_name(&provider)), "");
                assert!(words.starts_with(expected), "{} {answer:?}: {told}", sort.name);
                assert_eq!((asked, provider.requests_since().len()), (1, 1), "{} {answer:?}", sort.name);
                provider.forget_requests();
            };
            for status in [408, 429, 500, 503] {
                check(FakeHttpAnswer::with_json(status, &json!({})), &format!("not now: {status}")).await;
            }
            for status in [400, 413, 415, 422] {
                check(FakeHttpAnswer::with_json(status, &json!({})), &format!("refused: {status}")).await;
            }
            for status in [401, 403, 404] {
                check(FakeHttpAnswer::with_json(status, &json!({})), &format!("not now: {status}")).await;
            }
            for status in [502, 504] {
                check(FakeHttpAnswer::with_json(status, &json!({})), &format!("unknown: {status}")).await;
            }
            check(FakeHttpAnswer::with_json(301, &json!({})), "refused: 301").await;
            check(FakeHttpAnswer::Breaks(h2::Reason::INTERNAL_ERROR), "unknown: ").await;
        }
    }
    let check = async |sort: ProviderCase, answer: FakeHttpAnswer, expected: &str| {
        let provider = FakeMailProvider::start(sort, "h2").await;
        provider.set_answer(answer.clone());
        let (told, asked) = hand_mail(&provider.mailer(), &mail_message(1, "ann@mail.example")).await;
        let words = told.replace(&format!("{}: ", provider_name(&provider)), "");
        assert_eq!((words.as_str(), asked), (expected, 1), "{} {answer:?}", sort.name);
    };
    let amazon = |status: u16, error: &str| answer_with_header(status, "x-amzn-errortype", error);
    check(ses, amazon(400, "MessageRejected"), "refused: 400 MessageRejected").await;
    check(ses, amazon(400, "BadRequestException:http://internal/"), "refused: 400 BadRequestException").await;
    check(ses, amazon(400, "ThrottlingException"), "not now: 400 ThrottlingException").await;
    check(ses, amazon(429, "TooManyRequestsException"), "not now: 429 TooManyRequestsException").await;
    check(ses, amazon(400, "LimitExceededException"), "not now: 400 LimitExceededException").await;
    check(ses, amazon(400, "SendingPausedException"), "not now: 400 SendingPausedException").await;
    check(ses, amazon(400, "AccountSuspendedException"), "not now: 400 AccountSuspendedException").await;
    check(ses, amazon(403, "SignatureDoesNotMatch"), "not now: 403 SignatureDoesNotMatch").await;
    let code = |status: u16, code: u16| {
        FakeHttpAnswer::with_json(status, &json!({"ErrorCode": code, "Message": "to ann@"}))
    };
    check(postmark, code(422, 406), "refused: 422 406").await;
    check(postmark, code(422, 300), "refused: 422 300").await;
    check(postmark, code(422, 405), "not now: 422 405").await;
    check(postmark, code(422, 400), "not now: 422 400").await;
    check(postmark, code(422, 1_235), "not now: 422 1235").await;
    check(postmark, code(503, 100), "not now: 503 100").await;
    check(postmark, code(200, 406), "refused: 200 406").await;
    check(
        sendgrid,
        FakeHttpAnswer::with_json(400, &json!({"errors": [{"message": "ann@"}]})),
        "refused: 400",
    )
    .await;
    check(sendgrid, FakeHttpAnswer::with_json(200, &json!({})), "accepted").await;
}

/// How a way is called that has no name of its own.
fn provider_name(provider: &FakeMailProvider) -> &str {
    if provider.sort.name == "ses" { REGION } else { "127.0.0.1" }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_says_nothing_may_have_it() {
    for sort in SORTS {
        let provider = FakeMailProvider::start(sort, "h2").await;
        provider.set_answer(FakeHttpAnswer::Hangs);
        let courier = open_mailer(&provider.route_line(), &[provider.fake.ca()], Duration::from_secs(30));
        let told = hand_mail(&courier, &mail_message(1, "ann@mail.example")).await;
        assert_eq!(told, ("unknown: no reply for 6 s".to_owned(), 1), "{}", sort.name);
    }
}

/// One way that does not take a mail costs it nothing: the next one does, by the same word of the gate.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_provider_stands_in_for_another() {
    let [first, second] = [SORTS[1], SORTS[2]].map(|sort| FakeMailProvider::start(sort, "h2"));
    let (first, second) = (first.await, second.await);
    let named = |provider: &FakeMailProvider, name: &str, weight: u16| {
        let way = provider.route_line();
        let mark = if way.contains('?') { '&' } else { '?' };
        format!("{way}{mark}name={name}&weight={weight}")
    };
    let ways = format!("{}\n{}", named(&first, "a", 1), named(&second, "b", 0));
    let authorities = [first.fake.ca(), second.fake.ca()];
    let hand = async |courier: &MailCourier, number: u8| {
        hand_mail(courier, &mail_message(number, "ann@mail.example")).await
    };
    let check = |told: (String, usize), at: [usize; 2]| {
        assert_eq!(told, ("accepted".to_owned(), 1));
        assert_eq!([first.requests_since().len(), second.requests_since().len()], at);
    };
    let courier = open_mailer(&ways, &authorities, HAND_OVER);
    check(hand(&courier, 1).await, [1, 0]);
    let later = Some(("retry-after", "60".to_owned()));
    first.set_answer(FakeHttpAnswer::Says { status: 503, header: later, body: vec![] });
    check(hand(&courier, 2).await, [2, 1]);
    // From now on it is left alone, and nobody has to ask it.
    check(hand(&courier, 3).await, [2, 2]);
    // Nobody is there at all.
    let gone = format!("postmark://{TOKEN}@127.84.255.1:9?name=gone\n{}", named(&second, "b", 0));
    check(hand(&open_mailer(&gone, &authorities, HAND_OVER), 4).await, [2, 3]);
    // What may have gone out goes by no other way.
    let courier = open_mailer(&ways, &authorities, HAND_OVER);
    first.set_answer(FakeHttpAnswer::Breaks(h2::Reason::INTERNAL_ERROR));
    let (told, asked) = hand(&courier, 5).await;
    assert!(told.starts_with("unknown: ") && asked == 1, "{told}");
    assert_eq!(second.requests_since().len(), 3);
    // Nor does it where too much time has passed since the gate was asked, so that the claim could end meanwhile.
    first.set_answer(FakeHttpAnswer::with_json(503, &json!({})));
    let trust = TlsTrust::new(Some(&authorities.concat())).unwrap();
    let common = RouteDefaults { ehlo: "house.example".to_owned(), hand_over: HAND_OVER, trust };
    let late = MailCourier::new(
        mail_routes::parse_routes(&ways, &common).unwrap(),
        DkimSigner::default(),
        Duration::ZERO,
    );
    assert_eq!(hand(&late, 5).await, ("not now: a: 503".to_owned(), 1));
    assert_eq!(second.requests_since().len(), 3);
    // And a no of the gate is one for all of them.
    let gate = RecordingGate { no: true, ..RecordingGate::default() };
    let handed =
        open_mailer(&ways, &authorities, HAND_OVER).hand(&mail_message(6, "ann@mail.example"), &gate).await;
    assert_eq!((handed.unwrap(), gate.times_asked()), (HandoverOutcome::Stopped, 1));
}

/// Amazon sends our bytes, so our signature stays; who makes mails of their own gets none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_signature_goes_where_our_bytes_go() {
    let key = DkimKey::read(
        "news.example",
        "s1",
        now_ms() / 1_000 - 60,
        &DkimKey::generate_pem("ed25519").unwrap(),
    )
    .unwrap();
    let provider = FakeMailProvider::start(SORTS[0], "h2").await;
    let trust = TlsTrust::new(Some(provider.fake.ca())).unwrap();
    let common = RouteDefaults { ehlo: "house.example".to_owned(), hand_over: HAND_OVER, trust };
    let courier = MailCourier::new(
        mail_routes::parse_routes(&provider.route_line(), &common).unwrap(),
        DkimSigner::new(vec![key]),
        HAND_OVER,
    );
    assert_eq!(hand_mail(&courier, &mail_message(1, "ann@mail.example")).await.0, "accepted");
    let (mail, _) = (SORTS[0].mail)(&provider.requests_since()[0]).unwrap();
    assert!(mail.starts_with(b"DKIM-Signature: "));
}
