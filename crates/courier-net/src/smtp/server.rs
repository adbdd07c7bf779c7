//! The other side of a talk: takes mail that comes here. Never a relay, for whoever is behind it says which addresses
//! are its own; and nobody keeps it waiting, fills it up or slips a second mail into the first.

use std::{fmt, io, net::SocketAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use courier::parse;
use listener::{AcceptedClient, LimitedListener, ListenerLimits};
use runtime::ShutdownSignal;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
    time::timeout,
};

use super::{
    command::{MAIL_FLAGS, SmtpCommand},
    wire::SmtpStream,
};

/// Bytes of one line of commands.
const LINE_BYTES_MAX: usize = 2_048;
/// Commands of one connection that lead to no mail.
const IDLE_COMMANDS_MAX: u32 = 100;
/// Bytes that are read at once.
const READ_BYTES: usize = 16 * 1024;
/// What ends a mail. Nothing else does: a server that also takes bare line feeds can be told a mail within a mail.
const END: &[u8] = b"\r\n.\r\n";

/// Whose mail it is.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct SmtpEnvelope {
    /// Whom to tell if it cannot be delivered; empty if nobody.
    pub from: String,
    pub to: Vec<String>,
}

// An address never reaches a log by accident.
impl fmt::Debug for SmtpEnvelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SmtpEnvelope(to {})", self.to.len())
    }
}

/// What became of a mail that came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MailboxOutcome {
    /// It is here for good.
    Kept,
    /// Whoever sent it keeps it and comes again.
    Later,
    Never,
}

/// Who takes mails.
#[async_trait]
pub trait SmtpMailbox: Send + Sync {
    /// Whether mail to this address is taken here.
    fn takes_address(&self, to: &str) -> bool;

    /// Takes a mail, as it came, but for the dots that its lines got on the way. It is acknowledged when this returns.
    async fn take_mail(&self, envelope: &SmtpEnvelope, mail: Vec<u8>) -> MailboxOutcome;
}

/// How much is taken.
#[derive(Clone, Copy, Debug)]
pub struct SmtpServerLimits {
    pub mail_bytes: usize,
    pub recipients: usize,
    /// Connections at the same time, and of one address of a client. Who comes then is told to come again.
    pub connections: usize,
    pub per_address: usize,
    /// How long a line of commands may take, a part of a mail, or an answer.
    pub step: Duration,
    /// How long it may take until a mail begins, and until it has been read.
    pub talk: Duration,
    pub mail: Duration,
}

impl SmtpServerLimits {
    pub const USUAL: Self = Self {
        mail_bytes: 1024 * 1024,
        recipients: 50,
        connections: 64,
        per_address: 8,
        step: Duration::from_secs(60),
        talk: Duration::from_secs(5 * 60),
        mail: Duration::from_secs(10 * 60),
    };
}

/// What is said to who finds no place.
const FULL: &str = "421 4.3.2 too many are here, come again\r\n";

/// A server that listens.
#[derive(Debug)]
pub struct SmtpServer {
    listener: LimitedListener,
    name: String,
    bounds: SmtpServerLimits,
}

impl SmtpServer {
    pub async fn bind(address: SocketAddr, name: &str, bounds: SmtpServerLimits) -> io::Result<Self> {
        let SmtpServerLimits { connections, per_address, .. } = bounds;
        let limits = ListenerLimits { connections, per_address }.capped_by_files();
        Ok(Self { listener: LimitedListener::bind(address, limits).await?, name: name.to_owned(), bounds })
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.address()
    }

    /// Takes mails until the shutdown; a mail that is being taken then is still answered.
    pub async fn serve(self, mailbox: Arc<dyn SmtpMailbox>, shutdown: ShutdownSignal) {
        let Self { listener, name, bounds } = self;
        let mut talks = JoinSet::new();
        loop {
            let AcceptedClient { stream, place } = tokio::select! {
                guest = listener.next(FULL) => guest,
                () = shutdown.wait() => break,
            };
            while talks.try_join_next().is_some() {}
            let talk = SmtpSession::new(stream, mailbox.clone(), name.clone(), bounds);
            let shutdown = shutdown.clone();
            talks.spawn(async move {
                talk.run_session(&shutdown).await;
                drop(place);
            });
        }
        drop(listener);
        while talks.join_next().await.is_some() {}
    }
}

/// One connection.
struct SmtpSession<S> {
    stream: S,
    mailbox: Arc<dyn SmtpMailbox>,
    name: String,
    bounds: SmtpServerLimits,
    received: Vec<u8>,
    has_greeted: bool,
    /// The mail that is being told of; from the moment that its sender is named.
    envelope: Option<SmtpEnvelope>,
}

/// Why a talk ends.
struct SmtpSessionEnd;

impl SmtpSession<TcpStream> {
    async fn run_session(mut self, shutdown: &ShutdownSignal) {
        let _ended = self.serve_mails(shutdown).await;
        // Who was told something may read it: a close with bytes unread would take it away.
        let _closed = self.stream.shutdown().await;
    }
}

impl<S: SmtpStream> SmtpSession<S> {
    fn new(stream: S, mailbox: Arc<dyn SmtpMailbox>, name: String, bounds: SmtpServerLimits) -> Self {
        Self { stream, mailbox, name, bounds, received: Vec::new(), has_greeted: false, envelope: None }
    }

    async fn serve_mails(&mut self, shutdown: &ShutdownSignal) -> Result<(), SmtpSessionEnd> {
        let greeting = format!("220 {} ESMTP\r\n", self.name);
        self.write_text(&greeting).await?;
        loop {
            match timeout(self.bounds.talk, self.wait_for_mail(shutdown)).await {
                Ok(begun) => begun?,
                Err(_) => return self.end_too_long().await,
            }
            self.receive_mail().await?;
        }
    }

    /// Returns when a mail may come.
    async fn wait_for_mail(&mut self, shutdown: &ShutdownSignal) -> Result<(), SmtpSessionEnd> {
        let mut idle = 0;
        loop {
            let line = tokio::select! {
                line = self.read_line() => line?,
                () = shutdown.wait() => {
                    self.write_text("421 4.3.2 going down, come again\r\n").await?;
                    return Err(SmtpSessionEnd);
                }
            };
            idle += 1;
            if idle > IDLE_COMMANDS_MAX {
                self.write_text("421 4.7.0 too many commands\r\n").await?;
                return Err(SmtpSessionEnd);
            }
            match SmtpCommand::read(&line) {
                SmtpCommand::Data if self.may_begin() => return Ok(()),
                SmtpCommand::Quit => {
                    self.write_text("221 2.0.0 bye\r\n").await?;
                    return Err(SmtpSessionEnd);
                }
                order => {
                    let reply = self.reply_to_command(order);
                    self.write_text(&reply).await?;
                }
            }
        }
    }

    fn may_begin(&self) -> bool {
        self.envelope.as_ref().is_some_and(|envelope| !envelope.to.is_empty())
    }

    /// What is said to an order that takes no time.
    fn reply_to_command(&mut self, order: SmtpCommand) -> String {
        match order {
            SmtpCommand::Hello { is_extended } => {
                (self.has_greeted, self.envelope) = (true, None);
                let (name, size) = (&self.name, self.bounds.mail_bytes);
                if is_extended {
                    return format!(
                        "250-{name}\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n\
                         250-ENHANCEDSTATUSCODES\r\n250 SIZE {size}\r\n"
                    );
                }
                format!("250 {name}\r\n")
            }
            SmtpCommand::From { address, size, flags } => self.set_sender(address, size, flags).to_owned(),
            SmtpCommand::To(address) => self.add_recipient(address).to_owned(),
            SmtpCommand::Data => "503 5.5.1 whose mail, and to whom?\r\n".to_owned(),
            SmtpCommand::Reset => {
                self.envelope = None;
                "250 2.0.0 forgotten\r\n".to_owned()
            }
            SmtpCommand::Nothing => "250 2.0.0 well\r\n".to_owned(),
            SmtpCommand::Verify => "252 2.5.2 send a mail and see\r\n".to_owned(),
            SmtpCommand::Quit | SmtpCommand::Unoffered => "502 5.5.1 not here\r\n".to_owned(),
            SmtpCommand::Nonsense => "500 5.5.2 what is that?\r\n".to_owned(),
        }
    }

    fn set_sender(&mut self, address: String, size: usize, flags: u64) -> &'static str {
        if !self.has_greeted {
            return "503 5.5.1 who are you?\r\n";
        }
        if self.envelope.is_some() {
            return "503 5.5.1 one mail at a time\r\n";
        }
        if size > self.bounds.mail_bytes {
            return "552 5.3.4 too large\r\n";
        }
        if flags & !MAIL_FLAGS != 0 {
            return "555 5.5.4 that was not offered\r\n";
        }
        self.envelope = Some(SmtpEnvelope { from: address, to: Vec::new() });
        "250 2.1.0 well\r\n"
    }

    fn add_recipient(&mut self, address: String) -> &'static str {
        let Some(envelope) = &mut self.envelope else { return "503 5.5.1 whose mail?\r\n" };
        if envelope.to.len() >= self.bounds.recipients {
            return "452 4.5.3 too many at once\r\n";
        }
        if !self.mailbox.takes_address(&address) {
            return "550 5.1.1 nobody of that name is here\r\n";
        }
        envelope.to.push(address);
        "250 2.1.5 well\r\n"
    }

    /// A mail, to its end.
    async fn receive_mail(&mut self) -> Result<(), SmtpSessionEnd> {
        let Some(envelope) = self.envelope.take() else { return Err(SmtpSessionEnd) };
        self.write_text("354 go on\r\n").await?;
        let Ok(mail) = timeout(self.bounds.mail, self.read_mail()).await else {
            return self.end_too_long().await;
        };
        let Some(mail) = mail? else {
            // What comes behind it is not told from commands.
            self.write_text("552 5.3.4 too large\r\n").await?;
            return Err(SmtpSessionEnd);
        };
        if !is_in_lines(&mail) {
            return self.write_text("554 5.6.0 a line ends with a carriage return and a line feed\r\n").await;
        }
        if let Err(much) = parse::check_limits(&mail) {
            return self.write_text(&format!("554 5.6.0 {much}\r\n")).await;
        }
        self.write_text(match self.mailbox.take_mail(&envelope, mail).await {
            MailboxOutcome::Kept => "250 2.0.0 it is here\r\n",
            MailboxOutcome::Later => "451 4.3.0 not now, come again\r\n",
            MailboxOutcome::Never => "550 5.7.1 not wanted\r\n",
        })
        .await
    }

    /// The bytes of a mail without what ends it; `None` if there are too many.
    async fn read_mail(&mut self) -> Result<Option<Vec<u8>>, SmtpSessionEnd> {
        // The line end before the first line belongs to the command, and counts for a mail without any line.
        let mut mail = b"\r\n".to_vec();
        mail.append(&mut self.received);
        let mut looked = 0;
        loop {
            let end = find_mail_end(&mail, looked);
            if end.unwrap_or(mail.len()) > self.bounds.mail_bytes + END.len() {
                return Ok(None);
            }
            if let Some(at) = end {
                self.received = mail.split_off(at + END.len());
                mail.truncate(at + 2);
                return Ok(Some(remove_dots(&mail[2..])));
            }
            looked = mail.len().saturating_sub(END.len() - 1);
            self.read_into(&mut mail).await?;
        }
    }

    /// The next line, with its end. It has its time as a whole: a byte now and then is no line.
    async fn read_line(&mut self) -> Result<Vec<u8>, SmtpSessionEnd> {
        match timeout(self.bounds.step, self.read_line_bytes()).await {
            Ok(line) => line,
            Err(_) => self.end_too_long().await,
        }
    }

    async fn read_line_bytes(&mut self) -> Result<Vec<u8>, SmtpSessionEnd> {
        let mut received = std::mem::take(&mut self.received);
        loop {
            if let Some(at) = received.iter().position(|byte| *byte == b'\n') {
                self.received = received.split_off(at + 1);
                return Ok(received);
            }
            if received.len() > LINE_BYTES_MAX {
                self.write_text("500 5.5.6 too long a line\r\n").await?;
                return Err(SmtpSessionEnd);
            }
            self.read_into(&mut received).await?;
        }
    }

    async fn read_into(&mut self, bytes: &mut Vec<u8>) -> Result<(), SmtpSessionEnd> {
        bytes.reserve(READ_BYTES);
        match timeout(self.bounds.step, self.stream.read_buf(bytes)).await {
            Ok(Ok(read)) if read > 0 => Ok(()),
            Ok(_) => Err(SmtpSessionEnd),
            Err(_) => self.end_too_long().await,
        }
    }

    async fn end_too_long<T>(&mut self) -> Result<T, SmtpSessionEnd> {
        self.write_text("421 4.4.2 that took too long\r\n").await?;
        Err(SmtpSessionEnd)
    }

    async fn write_text(&mut self, text: &str) -> Result<(), SmtpSessionEnd> {
        let said = async {
            self.stream.write_all(text.as_bytes()).await?;
            self.stream.flush().await
        };
        matches!(timeout(self.bounds.step, said).await, Ok(Ok(()))).then_some(()).ok_or(SmtpSessionEnd)
    }
}

/// Where a mail ends, looked for from somewhere on.
fn find_mail_end(mail: &[u8], from: usize) -> Option<usize> {
    mail[from..].windows(END.len()).position(|window| window == END).map(|at| from + at)
}

/// Whether no line ends otherwise than it must.
fn is_in_lines(mail: &[u8]) -> bool {
    let mut before = 0;
    for byte in mail.iter().copied().chain([0]) {
        if (before == b'\r') != (byte == b'\n') {
            return false;
        }
        before = byte;
    }
    true
}

/// Each line without the dot that it got on the way.
fn remove_dots(mail: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(mail.len());
    for line in mail.split_inclusive(|byte| *byte == b'\n') {
        out.extend_from_slice(line.strip_prefix(b".").unwrap_or(line));
    }
    out
}

#[cfg(test)]
#[path = "server/tests.rs"]
mod tests;
