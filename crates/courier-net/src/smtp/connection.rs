//! One connection to a mail server: it is made safe and let in, and then takes mails, one after the other.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use courier::{HandoverGate, HandoverOutcome};
use rustls::pki_types::ServerName;
use secrecy::ExposeSecret as _;
use smtp_proto::{
    AUTH_LOGIN, AUTH_PLAIN, EXT_8BIT_MIME, EXT_PIPELINING, EXT_SIZE, EXT_SMTP_UTF8, EXT_START_TLS,
    EhloResponse,
};
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::TlsConnector;

use super::{
    reply::{ReplyMeaning, SmtpReply},
    settings::{SmtpLogin, SmtpRelay, SmtpTimeouts, SmtpTls},
    wire::{SmtpStream, SmtpWire, SmtpWireError},
};
use crate::{backoff::DestinationSignal, send_outcome::SendOutcome};

/// One mail as it goes over the wire.
pub(crate) struct SmtpMail<'a> {
    /// Where it is sent back to.
    pub from: &'a str,
    pub to: &'a str,
    pub bytes: &'a [u8],
    /// Its addresses or headers are not all ASCII.
    pub is_utf8: bool,
}

/// Why there is no connection. Nobody was asked yet whether the mail may go.
#[derive(Debug)]
pub(super) enum SmtpOpenError {
    /// It did not answer as a server does.
    Broken(SmtpWireError),
    /// It wants nothing of us, or not now.
    Said(SmtpReply),
    /// It does not offer what we demand, or does not take our credentials: somebody has to look.
    Unsafe(String),
}

impl From<SmtpWireError> for SmtpOpenError {
    fn from(broken: SmtpWireError) -> Self {
        Self::Broken(broken)
    }
}

/// Why a mail was not even begun on a connection: the server closed it meanwhile.
pub(super) struct StaleConnectionError;

pub(super) struct SmtpConnection {
    wire: SmtpWire<Box<dyn SmtpStream>>,
    offers: EhloResponse<String>,
    times: SmtpTimeouts,
    /// Mails that were begun on it.
    pub mails: u32,
    /// It takes another one.
    pub is_open: bool,
}

impl SmtpConnection {
    /// Connects, demands what has to be demanded, and logs in.
    pub async fn open(server: &SmtpRelay) -> Result<Self, SmtpOpenError> {
        let times = server.times;
        let stream = timeout(times.connect, TcpStream::connect((server.host.as_str(), server.port)));
        let stream = match stream.await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(SmtpWireError::from_io("connecting", &error).into()),
            Err(_) => return Err(SmtpWireError("connecting: no answer".to_owned()).into()),
        };
        // Small commands wait for their replies: nothing is gained by gathering them.
        stream.set_nodelay(true).map_err(|error| SmtpWireError::from_io("connecting", &error))?;
        let (wire, offers) = match &server.tls {
            SmtpTls::None => {
                read_greeting(SmtpWire::new(Box::new(stream) as Box<dyn SmtpStream>), server).await?
            }
            SmtpTls::FromTheStart(connector) => {
                let stream = start_tls(stream, connector, server).await?;
                read_greeting(SmtpWire::new(stream), server).await?
            }
            SmtpTls::Required(connector) => {
                let (mut wire, offers) = read_greeting(SmtpWire::new(stream), server).await?;
                if !offers.has_capability(EXT_START_TLS) {
                    return Err(SmtpOpenError::Unsafe("the server offers no STARTTLS".to_owned()));
                }
                wire.write_text("STARTTLS\r\n", times.command).await?;
                let reply = wire.read_reply(times.command).await?;
                if reply.meaning() != ReplyMeaning::Yes {
                    return Err(SmtpOpenError::Said(reply));
                }
                let mut wire = SmtpWire::new(start_tls(wire.into_stream()?, connector, server).await?);
                // What was offered before was said by anybody.
                let offers = read_offers(&mut wire, server).await?;
                (wire, offers)
            }
        };
        let mut connection = Self { wire, offers, times, mails: 0, is_open: true };
        if let Some(login) = &server.login {
            connection.log_in(login).await?;
        }
        Ok(connection)
    }

    async fn log_in(&mut self, login: &SmtpLogin) -> Result<(), SmtpOpenError> {
        let SmtpLogin { user, password } = login;
        let password = password.expose_secret();
        let reply = if self.offers.auth() & AUTH_PLAIN != 0 {
            let word = BASE64_STANDARD.encode(format!("\0{user}\0{password}"));
            self.send_command(&format!("AUTH PLAIN {word}\r\n")).await?
        } else if self.offers.auth() & AUTH_LOGIN != 0 {
            let mut reply = self.send_command("AUTH LOGIN\r\n").await?;
            for word in [user.as_str(), password] {
                if reply.code == 334 {
                    reply = self.send_command(&format!("{}\r\n", BASE64_STANDARD.encode(word))).await?;
                }
            }
            reply
        } else {
            return Err(SmtpOpenError::Unsafe(
                "the server takes no password by AUTH PLAIN or LOGIN".to_owned(),
            ));
        };
        match reply.meaning() {
            ReplyMeaning::Yes => Ok(()),
            ReplyMeaning::Never => {
                Err(SmtpOpenError::Unsafe(format!("the server does not take the login: {reply}")))
            }
            ReplyMeaning::Later | ReplyMeaning::GoOn => Err(SmtpOpenError::Said(reply)),
        }
    }

    async fn send_command(&mut self, command: &str) -> Result<SmtpReply, SmtpWireError> {
        self.wire.write_text(command, self.times.command).await?;
        self.wire.read_reply(self.times.command).await
    }

    /// Whether it may be used again: a server that has closed it, or says that it will, has said so by now.
    pub async fn is_fresh(&mut self) -> bool {
        self.wire.is_quiet().await
    }

    /// Carries a mail as far as it goes. The gate is asked when the server would take it, right before the mail.
    pub async fn send_mail(
        &mut self,
        letter: &SmtpMail<'_>,
        gate: &dyn HandoverGate,
    ) -> Result<SendOutcome, StaleConnectionError> {
        let is_first = self.mails == 0;
        self.mails += 1;
        let params = match self.mail_params(letter) {
            Ok(params) => params,
            Err(why) => return Ok(SendOutcome::refused(why)),
        };
        let envelope = self.send_envelope(letter, &params).await;
        match envelope {
            // Between two mails a server may close: another connection finds out what it thinks of this one.
            Err(_) if !is_first => return Err(StaleConnectionError),
            Ok(replies) if !is_first && replies.first().is_some_and(SmtpReply::is_goodbye) => {
                return Err(StaleConnectionError);
            }
            Err(broken) => return Ok(self.lose_connection(HandoverOutcome::Away(broken.0))),
            Ok(replies) => {
                let no = replies.iter().enumerate().find(|(_, reply)| reply.meaning() != ReplyMeaning::Yes);
                if let Some((place, no)) = no {
                    // Said to whom it is to; what it is about its words say.
                    if place > 0
                        && no.meaning() == ReplyMeaning::Never
                        && let Some(sort) = no.sort_of_refusal(letter.from, letter.to)
                    {
                        gate.note_return(sort, &no.best_code()).await;
                    }
                    return Ok(self.refuse_mail(no, letter).await);
                }
            }
        }
        if !gate.may_go().await {
            self.is_open = self.reset_mail().await;
            return Ok(SendOutcome::decided(HandoverOutcome::Stopped));
        }
        match self.send_command("DATA\r\n").await {
            Ok(reply) if reply.code == 354 => Ok(self.send_data(letter).await),
            Ok(reply) => Ok(self.refuse_mail(&reply, letter).await),
            Err(broken) => Ok(self.lose_connection(HandoverOutcome::Away(broken.0))),
        }
    }

    /// What is asked for beside the addresses.
    fn mail_params(&self, letter: &SmtpMail<'_>) -> Result<String, String> {
        let mut params = String::new();
        if self.offers.has_capability(EXT_SIZE) {
            // None is no limit (RFC 1870).
            if self.offers.size > 0 && letter.bytes.len() > self.offers.size {
                return Err(format!("larger than the server takes ({} bytes)", self.offers.size));
            }
            params.push_str(&format!(" SIZE={}", letter.bytes.len()));
        }
        if letter.is_utf8 {
            if !self.offers.has_capability(EXT_SMTP_UTF8) || !self.offers.has_capability(EXT_8BIT_MIME) {
                return Err("the address is not ASCII, and the server offers no SMTPUTF8".to_owned());
            }
            params.push_str(" BODY=8BITMIME SMTPUTF8");
        }
        Ok(params)
    }

    /// Says from whom and to whom; in one go where the server allows it.
    async fn send_envelope(
        &mut self,
        letter: &SmtpMail<'_>,
        params: &str,
    ) -> Result<Vec<SmtpReply>, SmtpWireError> {
        let from = format!("MAIL FROM:<{}>{params}\r\n", letter.from);
        let to = format!("RCPT TO:<{}>\r\n", letter.to);
        if !self.offers.has_capability(EXT_PIPELINING) {
            let first = self.send_command(&from).await?;
            if first.meaning() != ReplyMeaning::Yes {
                return Ok(vec![first]);
            }
            return Ok(vec![first, self.send_command(&to).await?]);
        }
        self.wire.write_text(&(from + &to), self.times.command).await?;
        Ok(vec![
            self.wire.read_reply(self.times.command).await?,
            self.wire.read_reply(self.times.command).await?,
        ])
    }

    /// The mail itself. It is on its way for good from the moment at which its last line begins to go out.
    async fn send_data(&mut self, letter: &SmtpMail<'_>) -> SendOutcome {
        if let Err(broken) = self.wire.write_mail(letter.bytes, self.times.mail).await {
            // It may be this very mail that it breaks off at.
            return self.lose_connection(HandoverOutcome::NotNow(broken.0));
        }
        let ended = async {
            self.wire.write_text(".\r\n", self.times.command).await?;
            self.wire.read_reply(self.times.accept).await
        };
        match ended.await {
            Ok(reply) if reply.meaning() == ReplyMeaning::Yes => {
                SendOutcome::decided(HandoverOutcome::Accepted)
            }
            Ok(reply) if reply.is_no() => {
                self.is_open = !reply.is_goodbye();
                judge_reply(&reply, letter)
            }
            // Neither yes nor no: it may mean anything.
            Ok(reply) => self.lose_connection(HandoverOutcome::Unknown(reply.redact(letter.to))),
            Err(broken) => self.lose_connection(HandoverOutcome::Unknown(broken.0)),
        }
    }

    /// The server said no before the mail itself.
    async fn refuse_mail(&mut self, reply: &SmtpReply, letter: &SmtpMail<'_>) -> SendOutcome {
        self.is_open = !reply.is_goodbye() && self.reset_mail().await;
        judge_reply(reply, letter)
    }

    /// The connection broke off, and with it the talk about the mail in hand.
    fn lose_connection(&mut self, handed: HandoverOutcome) -> SendOutcome {
        self.is_open = false;
        SendOutcome { load: DestinationSignal::Slow(None), ..SendOutcome::decided(handed) }
    }

    /// Takes back what was begun, and says whether the connection is as it was before.
    async fn reset_mail(&mut self) -> bool {
        self.send_command("RSET\r\n").await.is_ok_and(|reply| reply.meaning() == ReplyMeaning::Yes)
    }

    /// Says goodbye. Nobody waits for the answer.
    pub async fn close(mut self) {
        let _gone_anyway = self.wire.write_text("QUIT\r\n", Duration::from_secs(1)).await;
    }
}

/// What a no means for the mail in hand, and for the server.
fn judge_reply(reply: &SmtpReply, letter: &SmtpMail<'_>) -> SendOutcome {
    let told = reply.redact(letter.to);
    let outcome = SendOutcome::decided(match reply.meaning() {
        ReplyMeaning::Never => HandoverOutcome::Refused(told),
        // It leaves, whatever mail this is.
        _ if reply.is_goodbye() => HandoverOutcome::Away(told),
        _ => HandoverOutcome::NotNow(told),
    });
    let load = if reply.is_goodbye() { DestinationSignal::Slow(None) } else { DestinationSignal::Well };
    SendOutcome { load, ..outcome }
}

/// The same stream within TLS, with whom its name says.
async fn start_tls(
    stream: TcpStream,
    connector: &TlsConnector,
    server: &SmtpRelay,
) -> Result<Box<dyn SmtpStream>, SmtpOpenError> {
    let name = ServerName::try_from(server.name().to_owned());
    let name =
        name.map_err(|_| SmtpOpenError::Unsafe("the server has no name that TLS can check".to_owned()))?;
    match timeout(server.times.command, connector.connect(name, stream)).await {
        Ok(Ok(stream)) => Ok(Box::new(stream)),
        Ok(Err(error)) => match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            Some(error) => Err(SmtpOpenError::Unsafe(format!("TLS: {error}"))),
            None => Err(SmtpWireError::from_io("TLS", &error).into()),
        },
        Err(_) => Err(SmtpWireError("TLS: no answer".to_owned()).into()),
    }
}

async fn read_greeting<S: SmtpStream + 'static>(
    mut wire: SmtpWire<S>,
    server: &SmtpRelay,
) -> Result<(SmtpWire<S>, EhloResponse<String>), SmtpOpenError> {
    let reply = wire.read_reply(server.times.greeting).await?;
    if reply.meaning() != ReplyMeaning::Yes {
        return Err(SmtpOpenError::Said(reply));
    }
    let offers = read_offers(&mut wire, server).await?;
    Ok((wire, offers))
}

async fn read_offers<S: SmtpStream>(
    wire: &mut SmtpWire<S>,
    server: &SmtpRelay,
) -> Result<EhloResponse<String>, SmtpOpenError> {
    wire.write_text(&format!("EHLO {}\r\n", server.ehlo), server.times.command).await?;
    wire.read_offers(server.times.command).await?.map_err(SmtpOpenError::Said)
}
