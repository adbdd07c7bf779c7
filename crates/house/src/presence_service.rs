//! Asking the product whether its apps are connected: `POST` of `{"tenant": "main", "persons": ["ann"]}` to the address
//! that `presence.url` names, answered with `{"connected": ["ann"]}`.
//!
//! A message is better told than held up, so the service has half a second, and any failure counts as "unknown".

use std::{collections::BTreeSet, time::Duration};

use anyhow::{Context as _, ensure};
use async_trait::async_trait;
use live::LiveConnections;
use model::{Person, Tenant};
use serde::Deserialize;
use serde_json::json;
use tokio::task::spawn_blocking;
use ureq::Agent;

/// For one question, from its first byte to the last of its answer.
const TIME: Duration = Duration::from_millis(500);
/// As many persons as are asked for, with their longest names.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;

/// The product's own service.
#[derive(Clone, Debug)]
pub struct PresenceService {
    agent: Agent,
    url: String,
}

#[derive(Deserialize)]
struct PresenceResponse {
    connected: Vec<String>,
}

impl PresenceService {
    /// A service at an address that was checked.
    pub fn new(url: &str) -> anyhow::Result<Self> {
        Self::with_timeout(TIME, url)
    }

    fn with_timeout(time: Duration, url: &str) -> anyhow::Result<Self> {
        Ok(Self { agent: http_agent::build_agent(None, time)?, url: url.to_owned() })
    }

    fn ask_connected(&self, tenant: &Tenant, persons: &[Person]) -> anyhow::Result<BTreeSet<Person>> {
        let names: Vec<&str> = persons.iter().map(Person::as_str).collect();
        let question = json!({"tenant": tenant.as_str(), "persons": names});
        let mut answer = self
            .agent
            .post(&self.url)
            .send_json(&question)
            .context("the presence service does not answer")?;
        ensure!(answer.status().is_success(), "the presence service answered {}", answer.status());
        let body = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX);
        let answer: PresenceResponse =
            body.read_json().context("the answer of the presence service cannot be read")?;
        // Whoever was not asked about is nobody's business.
        let connected = answer.connected.iter().map(String::as_str).collect::<BTreeSet<&str>>();
        Ok(persons.iter().filter(|person| connected.contains(person.as_str())).cloned().collect())
    }
}

#[async_trait]
impl LiveConnections for PresenceService {
    async fn find_connected(&self, tenant: &Tenant, persons: &[Person]) -> anyhow::Result<BTreeSet<Person>> {
        let (service, tenant, persons) = (self.clone(), tenant.clone(), persons.to_vec());
        spawn_blocking(move || service.ask_connected(&tenant, &persons))
            .await
            .context("the request was stopped")?
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        net::TcpListener,
        thread,
    };

    use super::*;

    /// For whoever does answer: machines that are busy stand still for longer than a product may.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// What is made of an answer, byte for byte; nothing is none.
    async fn connected_by_answer(answer: Option<&str>) -> Result<Vec<String>, String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/presence", listener.local_addr().unwrap());
        let (answer, is_silent) = (answer.map(ToOwned::to_owned), answer.is_none());
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = [0; 4096];
            let read = stream.read(&mut asked).unwrap();
            match answer {
                Some(answer) => stream.write_all(answer.as_bytes()).unwrap(),
                // Silent for as long as the other side waits.
                None => drop(stream.read_to_end(&mut Vec::new())),
            }
            String::from_utf8_lossy(&asked[..read]).into_owned()
        });
        let persons = ["ann", "ben"].map(|name| Person::new(name).unwrap());
        let service = PresenceService::with_timeout(if is_silent { TIME } else { PATIENCE }, &url).unwrap();
        let found = service.find_connected(&Tenant::new("main").unwrap(), &persons).await;
        let asked = server.join().unwrap();
        assert!(asked.starts_with("POST /presence HTTP/1.1"), "{asked}");
        found
            .map(|found| found.iter().map(ToString::to_string).collect())
            .map_err(|error| format!("{error:#}"))
    }

    fn ok_response(body: &str) -> String {
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
    }

    #[tokio::test]
    async fn whoever_is_said_to_be_connected_is() {
        let some = ok_response(r#"{"connected": ["ben", "somebody else"], "more": 1}"#);
        assert_eq!(connected_by_answer(Some(&some)).await.unwrap(), ["ben"]);
        assert!(connected_by_answer(Some(&ok_response(r#"{"connected": []}"#))).await.unwrap().is_empty());
    }

    /// A service like a product's: it answers each question about whom it knows.
    #[tokio::test]
    async fn a_service_keeps_the_promises_of_the_port() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/presence", listener.local_addr().unwrap());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut asked = Vec::new();
                // Head and body may come one after the other.
                while !asked.ends_with(b"}") {
                    let mut some = [0; 1024];
                    let read = stream.read(&mut some).unwrap();
                    asked.extend_from_slice(&some[..read]);
                }
                let text = String::from_utf8_lossy(&asked).into_owned();
                let known = ["ann", "ben"].into_iter().filter(|name| text.contains(&format!("\"{name}\"")));
                let names: Vec<&str> = known.collect();
                stream.write_all(ok_response(&json!({"connected": names}).to_string()).as_bytes()).unwrap();
            }
        });
        let persons = ["ben", "ann"].map(|name| Person::new(name).unwrap());
        live::conformance::check_live_engine(
            &PresenceService::with_timeout(PATIENCE, &url).unwrap(),
            &Tenant::new("main").unwrap(),
            &persons,
        )
        .await
        .unwrap();
    }

    #[tokio::test]
    async fn whatever_else_comes_says_nothing() {
        let large = ok_response(&format!(r#"{{"connected": ["{}"]}}"#, "x".repeat(70_000)));
        let moved = "HTTP/1.1 302 Found\r\nLocation: http://169.254.0.1/\r\nContent-Length: 0\r\n\r\n";
        let answers = [
            ok_response("[]"),
            ok_response("no JSON"),
            large,
            moved.to_owned(),
            "HTTP/1.1 500 No\r\n\r\n".to_owned(),
            "?".to_owned(),
        ];
        for answer in &answers {
            assert!(connected_by_answer(Some(answer)).await.is_err(), "{answer:.60}");
        }
        assert!(connected_by_answer(None).await.is_err(), "too late");
    }
}
