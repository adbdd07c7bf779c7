//! A mail server that takes everything, keeps nothing and counts: Postfix's `smtp-sink`, and where that is not
//! installed our own.

use std::{
    fs,
    io::Read as _,
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context as _, bail};
use async_trait::async_trait;
use courier_net::smtp::server::{MailboxOutcome, SmtpEnvelope, SmtpMailbox, SmtpServer, SmtpServerLimits};
use runtime::{ShutdownSignal, clock::SteadyStopwatch, retry};

/// Where Debian lays it, beside what is on the path of programs.
const PLACES: [&str; 3] = ["smtp-sink", "/usr/sbin/smtp-sink", "/usr/lib/postfix/sbin/smtp-sink"];
/// Connections that wait to be taken.
const BACKLOG: &str = "1024";
const STARTS: Duration = Duration::from_secs(10);
/// What it counts last is printed a moment later.
const COUNTS: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);

/// What Linux counts the time of processes in.
const TICK: Duration = Duration::from_millis(10);

/// Of our own server.
const BOUNDS: SmtpServerLimits = SmtpServerLimits {
    connections: 512,
    per_address: 512,
    mail_bytes: 8 * 1024 * 1024,
    ..SmtpServerLimits::USUAL
};

/// A sink that runs. It ends with this.
pub enum BenchMailSink {
    Postfix(PostfixSink),
    Own(BuiltinMailSink),
}

impl BenchMailSink {
    pub async fn start() -> anyhow::Result<Self> {
        match find_smtp_sink() {
            Some(program) => Ok(Self::Postfix(PostfixSink::start(&program).await?)),
            None => Ok(Self::Own(BuiltinMailSink::start().await?)),
        }
    }

    /// What it is.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Postfix(_) => "Postfix's smtp-sink",
            Self::Own(_) => "a server of our own, for there is no smtp-sink here",
        }
    }

    pub fn port(&self) -> u16 {
        match self {
            Self::Postfix(sink) => sink.address.port(),
            Self::Own(sink) => sink.port,
        }
    }

    /// How long it has been at work on the same cores, if it is a process of its own.
    pub fn cpu_time(&self) -> Option<Duration> {
        let Self::Postfix(sink) = self else { return None };
        let said = fs::read_to_string(format!("/proc/{}/stat", sink.child.id())).ok()?;
        // Behind the program's name, which may have blanks, the twelfth and the thirteenth: for itself, and for it by the system.
        let mut fields = said.rsplit_once(')')?.1.split_whitespace().skip(11);
        let mut ticks = || fields.next()?.parse::<u32>().ok();
        Some(TICK * (ticks()? + ticks()?))
    }

    /// Whether it has taken so many mails, and no more.
    pub async fn has_taken(&self, mails: u64) -> bool {
        let watch = SteadyStopwatch::start();
        loop {
            let taken = match self {
                Self::Postfix(sink) => {
                    parse_mail_count(&sink.said.lock().unwrap_or_else(PoisonError::into_inner))
                }
                Self::Own(sink) => Some(sink.counts.0.load(Ordering::Relaxed)),
            };
            if taken >= Some(mails) || watch.elapsed() > COUNTS {
                return taken == Some(mails);
            }
            retry::wait_real_time(LOOK).await;
        }
    }
}

/// Our own server.
pub struct BuiltinMailSink {
    port: u16,
    counts: Arc<CountingMailbox>,
    shutdown: ShutdownSignal,
}

#[derive(Default)]
struct CountingMailbox(AtomicU64);

#[async_trait]
impl SmtpMailbox for CountingMailbox {
    fn takes_address(&self, _: &str) -> bool {
        true
    }

    async fn take_mail(&self, _: &SmtpEnvelope, _: Vec<u8>) -> MailboxOutcome {
        self.0.fetch_add(1, Ordering::Relaxed);
        MailboxOutcome::Kept
    }
}

impl BuiltinMailSink {
    async fn start() -> anyhow::Result<Self> {
        let server = SmtpServer::bind(([127, 0, 0, 1], 0).into(), "sink.example", BOUNDS).await?;
        let (counts, shutdown) = (Arc::new(CountingMailbox::default()), ShutdownSignal::default());
        let port = server.address()?.port();
        tokio::spawn(server.serve(counts.clone(), shutdown.clone()));
        Ok(Self { port, counts, shutdown })
    }
}

impl Drop for BuiltinMailSink {
    fn drop(&mut self) {
        self.shutdown.start();
    }
}

/// Postfix's.
pub struct PostfixSink {
    child: Child,
    address: SocketAddr,
    said: Arc<Mutex<Vec<u8>>>,
}

impl PostfixSink {
    async fn start(program: &Path) -> anyhow::Result<Self> {
        let address = free_address()?;
        let mut command = Command::new(program);
        command.args(["-c", "-4"]);
        if runs_as_root() {
            // As root it wants to be somebody else afterwards.
            command.args(["-u", "nobody"]);
        }
        command.args([&address.to_string(), BACKLOG]);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("start smtp-sink")?;
        let out = child.stdout.take().context("smtp-sink says nothing")?;
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = said.clone();
        thread::spawn(move || {
            let mut out = out;
            let mut bytes = [0; 4_096];
            while let Ok(read @ 1..) = out.read(&mut bytes) {
                let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                heard.extend_from_slice(&bytes[..read]);
                // The last line counts.
                let old = heard.len().saturating_sub(bytes.len());
                heard.drain(..old);
            }
        });
        let sink = Self { child, address, said };
        sink.await_answer().await?;
        Ok(sink)
    }

    async fn await_answer(&self) -> anyhow::Result<()> {
        let watch = SteadyStopwatch::start();
        while TcpStream::connect(self.address).is_err() {
            if watch.elapsed() > STARTS {
                bail!("smtp-sink does not answer");
            }
            retry::wait_real_time(LOOK).await;
        }
        Ok(())
    }
}

impl Drop for PostfixSink {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The last number of mails in what it printed: `sess=3 quit=2 mesg=17`.
fn parse_mail_count(said: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(said);
    // What stands last may be cut off.
    let (whole, _) = text.rsplit_once(['\r', '\n'])?;
    let (_, last) = whole.rsplit_once("mesg=")?;
    last.trim().split(|other: char| !other.is_ascii_digit()).next()?.parse().ok()
}

fn find_smtp_sink() -> Option<PathBuf> {
    let is_there = |place: &&&str| Command::new(place).arg("-?").output().is_ok();
    PLACES.iter().find(is_there).map(|place| Path::new(place).to_path_buf())
}

fn runs_as_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}

fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_whole_count_counts() {
        let check = |said: &str, expected: Option<u64>| {
            assert_eq!(parse_mail_count(said.as_bytes()), expected, "{said:?}");
        };
        check("", None);
        check("sess=1 quit=0 mesg=1\r", Some(1));
        check("sess=1 quit=0 mesg=1\rsess=1 quit=0 mesg=20\r", Some(20));
        check("sess=1 quit=0 mesg=1\rsess=1 quit=0 mesg=2", Some(1));
    }
}
