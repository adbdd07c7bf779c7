//! The command line as a client of the house that runs on the data directory.

use std::{path::Path, time::Duration};

use anyhow::Context as _;
use model::Tenant;
use secrecy::ExposeSecret as _;
use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::{Agent, http::Response};

use crate::{datadir::AdminAccess, failure::CommandError, terminal};

/// Longer than the house itself takes for any request.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);

/// Talks to a running house.
pub struct HouseClient {
    agent: Agent,
    admin: AdminAccess,
}

/// How long a process may take to say that it is well: it looks at its engines for 2 seconds at most.
const HEALTH_TIME_MAX: Duration = Duration::from_secs(5);

/// Asks a process what it tells anybody.
pub fn ask_openly(address: &str, path: &str) -> Result<HouseResponse, CommandError> {
    let answer = new_agent(HEALTH_TIME_MAX).get(format!("{address}{path}")).call();
    read_answer(
        answer.map_err(|error| {
            CommandError::from_unreachable(format!("nobody answers at {address}: {error}"))
        })?,
    )
}

fn new_agent(answer_time_max: Duration) -> Agent {
    let config = Agent::config_builder()
        .timeout_global(Some(answer_time_max))
        .http_status_as_error(false)
        // An address of this machine, whatever the environment says about proxies.
        .proxy(None)
        .max_redirects(0);
    config.build().into()
}

fn read_answer(mut answer: Response<ureq::Body>) -> Result<HouseResponse, CommandError> {
    let retry_after = answer.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
    let status = answer.status().as_u16();
    let text = answer.body_mut().read_to_string().context("read the answer")?;
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Ok(HouseResponse { status, body, retry_after })
}

/// What the house said.
#[derive(Clone, Debug, PartialEq)]
pub struct HouseResponse {
    pub status: u16,
    pub body: Value,
    /// Seconds after which it wants to be asked again.
    pub retry_after: Option<u64>,
}

impl HouseClient {
    /// Finds the house that runs on a data directory.
    pub fn find(dir: &Path) -> Result<Self, CommandError> {
        match AdminAccess::read(dir)? {
            Some(admin) => Ok(Self::new(admin)),
            None => {
                let dir = dir.display();
                Err(CommandError::from_unreachable(format!(
                    "no house runs on {dir}; start one with `tidings up`"
                )))
            }
        }
    }

    pub fn new(admin: AdminAccess) -> Self {
        Self { agent: new_agent(ANSWER_TIME_MAX), admin }
    }

    /// Whether the house speaks for the tenant that was asked for: nobody tells it of another one.
    pub fn speaks_for(&self, asked: &Tenant) -> Result<(), CommandError> {
        let runs = &self.admin.tenant;
        if runs == asked.as_str() {
            return Ok(());
        }
        let what = format!("this house runs for tenant `{runs}`, not `{asked}`; see --tenant");
        Err(CommandError::from_refusal(terminal::clean_text(&what)))
    }

    pub fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<HouseResponse, CommandError> {
        let request = self.agent.get(self.url(path)).header("authorization", self.bearer());
        let request = query.iter().fold(request, |request, (name, value)| request.query(name, value));
        self.read_response(request.call())
    }

    /// Posts JSON. The same key and body again is the same request again.
    pub fn post(
        &self,
        path: &str,
        body: &str,
        idempotency_key: Option<&str>,
    ) -> Result<HouseResponse, CommandError> {
        let mut request = self.agent.post(self.url(path)).header("authorization", self.bearer());
        request = request.header("content-type", "application/json");
        if let Some(key) = idempotency_key {
            request = request.header("idempotency-key", key);
        }
        self.read_response(request.send(body))
    }

    /// Posts bytes as they are.
    pub fn post_bytes(&self, path: &str, body: &[u8]) -> Result<HouseResponse, CommandError> {
        let request = self.agent.post(self.url(path)).header("authorization", self.bearer());
        self.read_response(request.header("content-type", "application/octet-stream").send(body))
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.admin.address)
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.admin.token.expose_secret())
    }

    fn read_response(
        &self,
        answer: Result<Response<ureq::Body>, ureq::Error>,
    ) -> Result<HouseResponse, CommandError> {
        let AdminAccess { address, pid, .. } = &self.admin;
        read_answer(answer.map_err(|error| {
            let what = format!("process {pid} does not answer at {address}: {error}");
            CommandError::from_unreachable(what)
        })?)
    }
}

impl HouseResponse {
    /// The answer, if it is a good one.
    pub fn into_value<T: DeserializeOwned>(self) -> Result<T, CommandError> {
        if (200..300).contains(&self.status) {
            return serde_json::from_value(self.body)
                .context("decode the answer")
                .map_err(CommandError::Failed);
        }
        let why = self.error_text();
        Err(match self.status {
            400..=499 => CommandError::from_refusal(why),
            _ => CommandError::Failed(anyhow::anyhow!(why)),
        })
    }

    /// Why not.
    pub fn error_text(&self) -> String {
        match (&self.body["detail"], &self.body["at"]) {
            (Value::String(detail), Value::String(at)) => terminal::clean_text(&format!("{at}: {detail}")),
            (Value::String(detail), _) => terminal::clean_text(detail),
            _ => format!("the house answered {}", self.status),
        }
    }
}
