//! Requests over HTTP as services send them: connections that are kept, and a pace that waits for nobody.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, bail, ensure};
use runtime::clock::SteadyStopwatch;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::Semaphore,
    time::{sleep, timeout},
};

/// Requests under way at once: fewer than the house works on, so that what has to wait does so here, where it
/// is counted as waiting.
const AT_ONCE: usize = 48;
/// An answer is no longer than this, and no later.
const ANSWER_BYTES_MAX: usize = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(30);
/// Before the same is sent again to a house that was busy, and how often.
const BUSY_PAUSE: Duration = Duration::from_millis(20);
const TRIES_MAX: usize = 500;
/// The same for a house that has enough of one tenant.
const QUOTA_PAUSE: Duration = Duration::from_secs(1);
const QUOTA_TRIES_MAX: usize = 600;

/// Where requests go.
pub struct HttpLoadClient {
    /// Host and port.
    address: String,
    /// The line of the API key, where the house asks for one.
    key: String,
    idle: Mutex<Vec<TcpStream>>,
    room: Semaphore,
    /// How often the house was busy.
    busy: Mutex<usize>,
}

impl HttpLoadClient {
    pub fn new(address: &str) -> Self {
        let (idle, busy) = (Mutex::default(), Mutex::default());
        Self { address: address.to_owned(), key: String::new(), idle, room: Semaphore::new(AT_ONCE), busy }
    }

    /// The same for the tenant of this API key.
    pub fn with_key(address: &str, key: &str) -> Self {
        Self { key: format!("authorization: Bearer {key}\r\n"), ..Self::new(address) }
    }

    /// Sends a body until it is taken: what a service does that was told to come again.
    pub async fn post(&self, path: &str, body: &str) -> anyhow::Result<String> {
        self.post_patiently(path, body, (TRIES_MAX, BUSY_PAUSE)).await
    }

    /// Sends a body until it is taken, also by a house that has enough of us for a minute.
    pub async fn post_in_time(&self, path: &str, body: &str) -> anyhow::Result<String> {
        self.post_patiently(path, body, (QUOTA_TRIES_MAX, QUOTA_PAUSE)).await
    }

    async fn post_patiently(
        &self,
        path: &str,
        body: &str,
        (tries, pause): (usize, Duration),
    ) -> anyhow::Result<String> {
        let _room = self.room.acquire().await?;
        for _ in 0..tries {
            match self.request("POST", path, body).await? {
                (202, said) => return Ok(said),
                (429 | 503, _) => {
                    *lock_mutex(&self.busy) += 1;
                    sleep(pause).await;
                }
                (status, said) => bail!("{path} answered {status}: {said}"),
            }
        }
        bail!("{path} was busy {tries} times")
    }

    /// Sends a body once, to a path that answers 200; what it said.
    pub async fn post_json(&self, path: &str, body: &str) -> anyhow::Result<String> {
        let _room = self.room.acquire().await?;
        let (status, said) = self.request("POST", path, body).await?;
        ensure!(status == 200, "{path} answered {status}: {said}");
        Ok(said)
    }

    /// What the house answers to a question.
    pub async fn get(&self, path: &str) -> anyhow::Result<String> {
        let (status, said) = self.get_any(path).await?;
        ensure!(status == 200, "{path} answered {status}: {said}");
        Ok(said)
    }

    /// The same with its status, whatever that is.
    pub async fn get_any(&self, path: &str) -> anyhow::Result<(u16, String)> {
        let _room = self.room.acquire().await?;
        self.request("GET", path, "").await
    }

    /// How often the house was busy by now.
    pub fn busy_answers(&self) -> usize {
        *lock_mutex(&self.busy)
    }

    async fn request(&self, method: &str, path: &str, body: &str) -> anyhow::Result<(u16, String)> {
        let answer = timeout(PATIENCE, self.try_request(method, path, body)).await;
        answer.context("no answer came")?.with_context(|| format!("{method} {path}"))
    }

    async fn try_request(&self, method: &str, path: &str, body: &str) -> anyhow::Result<(u16, String)> {
        let kept = lock_mutex(&self.idle).pop();
        let mut connection = match kept {
            Some(connection) => connection,
            None => {
                let connection = TcpStream::connect(&self.address).await.context("connect")?;
                connection.set_nodelay(true)?;
                connection
            }
        };
        let (address, key, length) = (&self.address, &self.key, body.len());
        let form =
            if body.starts_with('[') { "application/cloudevents-batch+json" } else { "application/json" };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\n{key}content-type: {form}\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        connection.write_all(request.as_bytes()).await?;
        let answer = read_answer(&mut connection).await?;
        lock_mutex(&self.idle).push(connection);
        Ok(answer)
    }
}

fn lock_mutex<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads one answer, which says how long it is.
async fn read_answer(connection: &mut TcpStream) -> anyhow::Result<(u16, String)> {
    const END: &[u8] = b"\r\n\r\n";
    let mut bytes = Vec::with_capacity(1_024);
    let head = loop {
        let read = connection.read_buf(&mut bytes).await?;
        ensure!(read > 0 && bytes.len() <= ANSWER_BYTES_MAX, "the answer has no end");
        if let Some(at) = bytes.windows(END.len()).position(|window| window == END) {
            break at;
        }
    };
    let text = str::from_utf8(&bytes[..head]).context("the answer's head")?.to_ascii_lowercase();
    let status = text.split(' ').nth(1).context("a status")?.parse()?;
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length.context("an answer without its length")?.trim().parse()?;
    ensure!(length <= ANSWER_BYTES_MAX, "an answer of {length} bytes");
    let end = head + END.len() + length;
    while bytes.len() < end {
        ensure!(connection.read_buf(&mut bytes).await? > 0, "the answer was cut off");
    }
    Ok((status, String::from_utf8_lossy(&bytes[head + END.len()..end]).into_owned()))
}

/// Things that happen at a rate, whatever becomes of them: the thing of each number has its instant, and what
/// is late counts from there. Otherwise a house that stops for a second would be asked nothing in that second,
/// and nobody would know.
#[derive(Clone, Copy)]
pub struct LoadPace {
    start: SteadyStopwatch,
    per_second: usize,
}

impl LoadPace {
    pub fn start(per_second: usize) -> Self {
        Self { start: SteadyStopwatch::start(), per_second }
    }

    /// How long after the start this number has its instant.
    pub fn instant(&self, number: usize) -> Duration {
        #[allow(clippy::cast_precision_loss, reason = "a number of records is far from 52 bits")]
        Duration::from_secs_f64(number as f64 / self.per_second as f64)
    }

    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// The first number whose instant has not come yet.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of records is far from 52 bits"
    )]
    pub fn due_count(&self) -> usize {
        (self.elapsed().as_secs_f64() * self.per_second as f64) as usize
    }

    /// Returns at the instant of this number, or at once if that is over.
    pub async fn wait_until(&self, number: usize) {
        let left = self.instant(number).saturating_sub(self.elapsed());
        if !left.is_zero() {
            sleep(left).await;
        }
    }
}
