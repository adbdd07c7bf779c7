//! The promises of a courier, kept over SMTP within TLS.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use courier::{
    Courier,
    conformance::{Broken, Harness, run},
};
use courier_net::dkim::Signer;
use engines::{MailOptions, MailServer, MailTls};

use crate::post;

const LOGIN: &str = "ann:s3cret";

/// One server for all promises; what had arrived when a promise began is not looked at.
struct Post {
    server: MailServer,
    before: Mutex<usize>,
}

impl Post {
    fn courier(&self) -> Arc<dyn Courier> {
        let ways = post::address(&self.server, MailTls::StartTls, LOGIN);
        Arc::new(post::mailer(&ways, Some(&self.server.ca().unwrap()), Signer::default()))
    }
}

#[async_trait]
impl Harness for Post {
    async fn open(&self) -> Result<Arc<dyn Courier>, Broken> {
        *self.before.lock().unwrap() = self.server.arrived().unwrap().len();
        Ok(self.courier())
    }

    async fn crash(&self, courier: Arc<dyn Courier>) -> Result<Arc<dyn Courier>, Broken> {
        drop(courier);
        Ok(self.courier())
    }

    async fn arrived(&self) -> Result<Vec<Vec<u8>>, Broken> {
        let arrived = self.server.arrived().map_err(|error| Broken(error.to_string()))?;
        let new = arrived.into_iter().skip(*self.before.lock().unwrap());
        Ok(new.map(|mail| mail.bytes).collect())
    }

    fn knows(&self) -> bool {
        false
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn smtp_keeps_every_promise() {
    let options = MailOptions { tls: MailTls::StartTls, login: Some(LOGIN), ..MailOptions::default() };
    let post = Post { server: post::start(options), before: Mutex::new(0) };
    assert_eq!(format!("{:?}", run(&post).await), "[]");
    let arrived = post.server.arrived().unwrap();
    assert!(!arrived.is_empty());
    for mail in arrived {
        assert_eq!((&mail.about["tls"], &mail.about["login"]), (&true.into(), &"ann".into()));
    }
}
