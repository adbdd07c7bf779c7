//! The page of a sink, with what a stranger may have sent to it.

use courier_net::smtp::server::{SmtpEnvelope, SmtpMailbox as _};
use runtime::Clock;
use web::RequestGuard;

use super::*;
use crate::{sink::SinkApp, sink::router, trial_mailbox::TrialMailbox};

const MAIL: &str = "From: News <news@shop.example>\r\nTo: Ann <ann@mail.example>\r\nSubject: =?utf-8?q?Sm=C3=B8rrebr=C3=B8d_<b>?=\r\n\
    MIME-Version: 1.0\r\nContent-Type: multipart/alternative; boundary=x\r\n\r\n\
    --x\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nas <i>text</i>\r\n\
    --x\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>as HTML</p><script>alert(1)</script>\r\n--x--\r\n";

async fn ask(router: &Router, host: &str, path: &str) -> (StatusCode, HeaderMap, String) {
    let request = Request::get(path).header(header::HOST, host).body(Body::empty()).unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    let headers = response.headers().clone();
    let (status, text) = read_response(response).await;
    (status, headers, text)
}

#[tokio::test]
async fn what_came_is_shown_and_runs_nothing() {
    let sink = Arc::new(TrialMailbox::new(Clock::real(0)));
    let guard = RequestGuard::new(HOST.parse().unwrap(), false, || random_hex(8)).unwrap();
    let way = "smtp+plain://127.0.0.1:2525".to_owned();
    let router = router(SinkApp { sink: sink.clone(), guard, pages: PageTemplates::new().unwrap(), way });
    let check = async |path: &str, status: StatusCode, words: &[&str]| {
        let (said, headers, text) = ask(&router, HOST, path).await;
        assert_eq!(said, status, "{path}: {text}");
        for word in words {
            assert!(text.contains(word), "{path}: `{word}` is not in {text}");
        }
        headers["content-security-policy"].to_str().unwrap().to_owned()
    };
    check("/", StatusCode::OK, &["TIDINGS_MAIL_WAYS=smtp", "No mail has come yet"]).await;
    let envelope = |to: &str| SmtpEnvelope { from: String::new(), to: vec![to.to_owned()] };
    sink.take_mail(&envelope("<i>@mail.example"), b"no mail at all \xff".to_vec()).await;
    sink.take_mail(&envelope("ann@mail.example"), MAIL.as_bytes().to_vec()).await;

    let list =
        ["2 mails have come", "Smørrebrød &lt;b&gt;", "&lt;i&gt;@mail.example", "No headline", "from nobody"];
    check("/", StatusCode::OK, &list).await;
    let shown = ["News &lt;news@shop.example&gt;", "/inbox/html?id=2", "<iframe class=\"mail\" sandbox"];
    let policy = check("/inbox/mail?id=2", StatusCode::OK, &shown).await;
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    check("/inbox/mail?id=2&show=text", StatusCode::OK, &["as &lt;i&gt;text&lt;"]).await;
    check("/inbox/mail?id=2&show=headers", StatusCode::OK, &["boundary=x"]).await;
    check("/inbox/mail?id=2&show=raw", StatusCode::OK, &["=?utf-8?q?Sm=C3=B8rrebr=C3=B8d_&lt;b&gt;?="]).await;
    let policy = check("/inbox/html?id=2", StatusCode::OK, &["<p>as HTML</p>"]).await;
    assert!(policy.starts_with("sandbox; default-src 'none'"), "{policy}");
    for show in ["html", "text", "headers", "raw"] {
        check(&format!("/inbox/mail?id=1&show={show}"), StatusCode::OK, &[]).await;
    }
    check("/inbox/mail?id=3", StatusCode::NOT_FOUND, &["No such mail"]).await;
    check("/inbox/html?id=0", StatusCode::NOT_FOUND, &["No such mail"]).await;
    check("/inbox/mail?id=x", StatusCode::BAD_REQUEST, &[]).await;
    check("/admin/stages", StatusCode::NOT_FOUND, &[]).await;
    assert_eq!(ask(&router, "evil.example", "/").await.0, StatusCode::FORBIDDEN);
}
