//! The promises of a courier, kept over SMTP within TLS.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use courier::{
    Courier,
    conformance::{BrokenCourierPromise, CourierHarness, run_promises},
};
use courier_net::dkim::DkimSigner;
use engines::{MailOptions, MailTls, PythonMailServer};

use crate::mail_setup;

const LOGIN: &str = "ann:s3cret";

/// One server for all promises; what had arrived when a promise began is not looked at.
struct MailServerHarness {
    server: PythonMailServer,
    before: Mutex<usize>,
}

impl MailServerHarness {
    fn courier(&self) -> Arc<dyn Courier> {
        let ways = mail_setup::route_line(&self.server, MailTls::StartTls, LOGIN);
        Arc::new(mail_setup::open_mailer(&ways, Some(&self.server.ca().unwrap()), DkimSigner::default()))
    }
}

#[async_trait]
impl CourierHarness for MailServerHarness {
    async fn open(&self) -> Result<Arc<dyn Courier>, BrokenCourierPromise> {
        *self.before.lock().unwrap() = self.server.arrived_mails().unwrap().len();
        Ok(self.courier())
    }

    async fn crash(&self, courier: Arc<dyn Courier>) -> Result<Arc<dyn Courier>, BrokenCourierPromise> {
        drop(courier);
        Ok(self.courier())
    }

    async fn arrived_mails(&self) -> Result<Vec<Vec<u8>>, BrokenCourierPromise> {
        let arrived = self.server.arrived_mails().map_err(|error| BrokenCourierPromise(error.to_string()))?;
        let new = arrived.into_iter().skip(*self.before.lock().unwrap());
        Ok(new.map(|mail| mail.bytes).collect())
    }

    fn knows_sent(&self) -> bool {
        false
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn smtp_keeps_every_promise() {
    let options = MailOptions { tls: MailTls::StartTls, login: Some(LOGIN), ..MailOptions::default() };
    let post = MailServerHarness { server: mail_setup::start_server(options), before: Mutex::new(0) };
    assert_eq!(format!("{:?}", run_promises(&post).await), "[]");
    let arrived = post.server.arrived_mails().unwrap();
    assert!(!arrived.is_empty());
    for mail in arrived {
        assert_eq!((&mail.about["tls"], &mail.about["login"]), (&true.into(), &"ann".into()));
    }
}
