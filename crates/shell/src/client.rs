//! The command line as a client of a house: of the one that runs on the data directory, or of one elsewhere.

use std::{io::Read, path::Path, time::Duration};

use anyhow::Context as _;
use model::Tenant;
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
use serde_json::Value;
use settings::config::{Config, ServerConfig};
use ureq::{Agent, http::Response};

use crate::{datadir::AdminAccess, failure::CommandError, terminal};

/// Longer than the house itself takes for any request.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);
/// The same for an answer that comes bit by bit, such as an archive.
const STREAM_TIME_MAX: Duration = Duration::from_secs(6 * 60 * 60);

/// Talks to a running house.
pub struct HouseClient {
    agent: Agent,
    /// For answers that take as long as they take.
    streams: Agent,
    target: HouseTarget,
}

/// Which house.
enum HouseTarget {
    /// The one of the data directory.
    Own(AdminAccess),
    Elsewhere {
        url: String,
        token: SecretString,
    },
}

/// How long a process may take to say that it is well: it looks at its engines for 2 seconds at most.
const HEALTH_TIME_MAX: Duration = Duration::from_secs(5);

/// Asks a process what it tells anybody.
pub fn ask_openly(address: &str, ca: Option<&Path>, path: &str) -> Result<HouseResponse, CommandError> {
    let answer = http_agent::build_agent(ca, HEALTH_TIME_MAX)?.get(format!("{address}{path}")).call();
    read_answer(
        answer.map_err(|error| {
            CommandError::from_unreachable(format!("nobody answers at {address}: {error}"))
        })?,
    )
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
    /// Finds the house that the settings name: one elsewhere, or the one that runs on the data directory.
    pub fn find(config: &Config) -> Result<Self, CommandError> {
        if let Some(server) = &config.server {
            return Self::for_server(server);
        }
        match AdminAccess::read(&config.data_dir)? {
            Some(admin) => Self::new(admin),
            None => {
                let dir = config.data_dir.display();
                Err(CommandError::from_unreachable(format!(
                    "no house runs on {dir}; start one with `tidings up`"
                )))
            }
        }
    }

    pub fn new(admin: AdminAccess) -> Result<Self, CommandError> {
        Self::for_target(HouseTarget::Own(admin), None)
    }

    fn for_server(ServerConfig { url, token, ca }: &ServerConfig) -> Result<Self, CommandError> {
        let Some(token) = token.clone() else {
            return Err(CommandError::from_refusal(format!(
                "{url} needs a token: name a file with one of its `access_tokens` with --token-file or TIDINGS_TOKEN_FILE"
            )));
        };
        Self::for_target(HouseTarget::Elsewhere { url: url.clone(), token }, ca.as_deref())
    }

    fn for_target(target: HouseTarget, ca: Option<&Path>) -> Result<Self, CommandError> {
        let agent = |time| http_agent::build_agent(ca, time).map_err(CommandError::Refused);
        Ok(Self { agent: agent(ANSWER_TIME_MAX)?, streams: agent(STREAM_TIME_MAX)?, target })
    }

    /// Whether it may have another disk than this process.
    pub fn is_elsewhere(&self) -> bool {
        matches!(self.target, HouseTarget::Elsewhere { .. })
    }

    /// Whether the house speaks for the tenant that was asked for: nobody tells it of another one.
    pub fn speaks_for(&self, asked: &Tenant) -> Result<(), CommandError> {
        let runs = match &self.target {
            HouseTarget::Own(admin) => admin.tenant.clone(),
            HouseTarget::Elsewhere { url, .. } => {
                let house: Value = self.get("/admin/house", &[])?.into_value()?;
                let tenant = house["tenant"].as_str().map(str::to_owned);
                tenant.with_context(|| format!("{url} does not answer as a house of Tidings does"))?
            }
        };
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

    /// Posts JSON, and gives a good answer as it comes.
    pub fn post_for_stream(&self, path: &str, body: &str) -> Result<impl Read + use<>, CommandError> {
        let request = self.streams.post(self.url(path)).header("authorization", self.bearer());
        let answer = self.check_answer(request.header("content-type", "application/json").send(body))?;
        if answer.status().is_success() {
            return Ok(answer.into_body().into_reader());
        }
        read_answer(answer)?.into_value::<Value>()?;
        Err(CommandError::Failed(anyhow::anyhow!("the house did not answer")))
    }

    fn url(&self, path: &str) -> String {
        match &self.target {
            HouseTarget::Own(admin) => format!("{}{path}", admin.address),
            HouseTarget::Elsewhere { url, .. } => format!("{url}{path}"),
        }
    }

    fn bearer(&self) -> String {
        let (HouseTarget::Own(AdminAccess { token, .. }) | HouseTarget::Elsewhere { token, .. }) =
            &self.target;
        format!("Bearer {}", token.expose_secret())
    }

    fn read_response(
        &self,
        answer: Result<Response<ureq::Body>, ureq::Error>,
    ) -> Result<HouseResponse, CommandError> {
        read_answer(self.check_answer(answer)?)
    }

    /// Says what is wrong where the house was not reached, or a house elsewhere does not let us in.
    fn check_answer(
        &self,
        answer: Result<Response<ureq::Body>, ureq::Error>,
    ) -> Result<Response<ureq::Body>, CommandError> {
        let url = match &self.target {
            HouseTarget::Own(AdminAccess { address, pid, .. }) => {
                return answer.map_err(|error| {
                    let what = format!("process {pid} does not answer at {address}: {error}");
                    CommandError::from_unreachable(what)
                });
            }
            HouseTarget::Elsewhere { url, .. } => url,
        };
        let answer = answer.map_err(|error| {
            let error = error.to_string();
            let is_distrusted = error.to_ascii_lowercase().contains("certificate");
            let hint = if is_distrusted { "; --ca-file names who signed its certificate" } else { "" };
            CommandError::from_unreachable(format!("no house answers at {url}: {error}{hint}"))
        })?;
        match answer.status().as_u16() {
            401 => Err(CommandError::from_refusal(format!(
                "{url} does not know this token: --token-file (TIDINGS_TOKEN_FILE) must name a file with one of its \
                `access_tokens`, of the role `read` to look or `operate` to change something"
            ))),
            300..=399 => {
                let to =
                    answer.headers().get("location").and_then(|to| to.to_str().ok()).unwrap_or("elsewhere");
                Err(CommandError::from_refusal(terminal::clean_text(&format!(
                    "{url} leads to {to}, and a token goes nowhere but to the address that was named: name that one \
                    with --server"
                ))))
            }
            _ => Ok(answer),
        }
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
