//! Questions to a registry over HTTP.

use std::{ops::RangeInclusive, sync::Arc};

use anyhow::ensure;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use ureq::{Agent, Body, http::Response};
use wire::schemas::SCHEMA_BYTES_MAX;

use crate::Settings;

const MEDIA_TYPE: &str = "application/vnd.schemaregistry.v1+json";
/// A schema is a text within a text.
const ANSWER_BYTES_MAX: u64 = 2 * SCHEMA_BYTES_MAX as u64;
const REASON_CHARS_MAX: usize = 300;
/// How the API numbers a subject, a version or a schema that is not there; whoever else says 404 is no registry.
const NOT_FOUND: RangeInclusive<i64> = 40_401..=40_499;

/// Why there is no answer that can be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum RegistryError {
    #[error("the registry does not answer: {0}")]
    Unreachable(String),
    #[error("the registry says {status}: {message}")]
    Refused {
        status: u16,
        /// The API's own number.
        code: i64,
        message: String,
    },
    #[error("the registry's answer has more than {ANSWER_BYTES_MAX} bytes")]
    Large,
}

#[derive(Clone, Debug)]
pub(crate) struct RegistryClient {
    agent: Agent,
    urls: Arc<[String]>,
    login: Option<SecretString>,
}

impl RegistryClient {
    pub fn new(settings: &Settings) -> anyhow::Result<Self> {
        ensure!(!settings.urls.is_empty(), "the registry has no address");
        for url in &settings.urls {
            // An address is shown and kept; who knocks is not.
            ensure!(!url.contains('@'), "the registry's address must not contain user and password");
            let known = ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
            ensure!(known, "the registry's address `{url}` must begin with http:// or https://");
        }
        let agent = http_agent::build_agent(settings.ca.as_deref(), settings.timeout)?;
        let login = settings.user.as_ref().map(|user| {
            let password = settings.password.as_ref().map_or("", |password| password.expose_secret());
            SecretString::from(format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
        });
        Ok(Self { agent, urls: settings.urls.clone().into(), login })
    }

    pub async fn get(&self, path: &str) -> Result<Value, RegistryError> {
        self.send_request("GET", path, None).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Result<Value, RegistryError> {
        self.send_request("POST", path, Some(body)).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Result<Value, RegistryError> {
        self.send_request("PUT", path, Some(body)).await
    }

    async fn send_request(
        &self,
        method: &'static str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, RegistryError> {
        let (client, path) = (self.clone(), path.to_owned());
        let body = body.map(Value::to_string);
        let asked =
            tokio::task::spawn_blocking(move || client.send_to_any_url(method, &path, body.as_deref())).await;
        asked.unwrap_or_else(|error| Err(RegistryError::Unreachable(error.to_string())))
    }

    /// Asks one after the other until one answers.
    fn send_to_any_url(&self, method: &str, path: &str, body: Option<&str>) -> Result<Value, RegistryError> {
        let mut last = RegistryError::Unreachable("there is no address".to_owned());
        for url in &*self.urls {
            match self.send_to_url(method, &format!("{url}{path}"), body) {
                Err(error @ RegistryError::Unreachable(_)) => last = error,
                answer => return answer,
            }
        }
        Err(last)
    }

    fn send_to_url(&self, method: &str, url: &str, body: Option<&str>) -> Result<Value, RegistryError> {
        let request = ureq::http::Request::builder().method(method).uri(url);
        let request = request.header("accept", MEDIA_TYPE).header("content-type", MEDIA_TYPE);
        let request = match &self.login {
            Some(login) => request.header("authorization", login.expose_secret()),
            None => request,
        };
        let unreachable = |error: ureq::Error| RegistryError::Unreachable(error.to_string());
        let bad = |error: ureq::http::Error| RegistryError::Unreachable(error.to_string());
        let answer = match body {
            Some(body) => self.agent.run(request.body(body).map_err(bad)?),
            None => self.agent.run(request.body(()).map_err(bad)?),
        };
        read_response(answer.map_err(unreachable)?)
    }
}

/// What an answer says. A registry that cannot serve now, or does not let us in, is as good as away.
fn read_response(mut answer: Response<Body>) -> Result<Value, RegistryError> {
    let status = answer.status();
    let text = match answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string() {
        Ok(text) => text,
        Err(ureq::Error::BodyExceedsLimit(_)) => return Err(RegistryError::Large),
        Err(error) => return Err(RegistryError::Unreachable(error.to_string())),
    };
    let said: Option<Value> = serde_json::from_str(&text).ok();
    if status.is_success() {
        return said.ok_or_else(|| RegistryError::Unreachable("the answer is not JSON".to_owned()));
    }
    let message = said.as_ref().and_then(|said| said.get("message")?.as_str()).unwrap_or(&text);
    let message: String = message.chars().take(REASON_CHARS_MAX).collect();
    let code = said.and_then(|said| said.get("error_code")?.as_i64()).unwrap_or_default();
    match status.as_u16() {
        404 if !NOT_FOUND.contains(&code) => {
            Err(RegistryError::Unreachable(format!("404: the address is not the root of its API: {message}")))
        }
        status @ (404 | 409 | 422) => Err(RegistryError::Refused { status, code, message }),
        status => Err(RegistryError::Unreachable(format!("{status}: {message}"))),
    }
}
