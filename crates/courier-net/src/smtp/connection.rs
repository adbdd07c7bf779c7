//! One connection to a mail server: it is made safe and let in, and then takes mails, one after the other.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use courier::{Gate, Handed};
use rustls::pki_types::ServerName;
use secrecy::ExposeSecret as _;
use smtp_proto::{
    AUTH_LOGIN, AUTH_PLAIN, EXT_8BIT_MIME, EXT_PIPELINING, EXT_SIZE, EXT_SMTP_UTF8, EXT_START_TLS,
    EhloResponse,
};
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::TlsConnector;

use super::{
    reply::{Meaning, Reply},
    settings::{Login, Server, Times, Tls},
    wire::{Broken, Stream, Wire},
};

/// One mail as it goes over the wire.
pub(crate) struct Letter<'a> {
    /// Where it is sent back to.
    pub from: &'a str,
    pub to: &'a str,
    pub bytes: &'a [u8],
    /// Its addresses or headers are not all ASCII.
    pub is_utf8: bool,
}

/// Why there is no connection. Nobody was asked yet whether the mail may go.
#[derive(Debug)]
pub(super) enum Unopened {
    /// It did not answer as a server does.
    Broken(Broken),
    /// It wants nothing of us, or not now.
    Said(Reply),
    /// It does not offer what we demand, or does not take our credentials: somebody has to look.
    Unsafe(String),
}

impl From<Broken> for Unopened {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

/// How a mail fared.
pub(super) struct Carried {
    pub handed: Handed,
    /// The connection takes another one.
    pub is_open: bool,
    /// The server wants less of us for a while.
    pub is_slow: bool,
}

/// Why a mail was not even begun on a connection: the server closed it meanwhile.
pub(super) struct Stale;

pub(super) struct Connection {
    wire: Wire<Box<dyn Stream>>,
    offers: EhloResponse<String>,
    times: Times,
    /// Mails that were begun on it.
    pub mails: u32,
}

impl Connection {
    /// Connects, demands what has to be demanded, and logs in.
    pub async fn open(server: &Server) -> Result<Self, Unopened> {
        let times = server.times;
        let stream = timeout(times.connect, TcpStream::connect((server.host.as_str(), server.port)));
        let stream = match stream.await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(Broken::of("connecting", &error).into()),
            Err(_) => return Err(Broken("connecting: nobody answers".to_owned()).into()),
        };
        // Small commands wait for their replies: nothing is gained by gathering them.
        stream.set_nodelay(true).map_err(|error| Broken::of("connecting", &error))?;
        let (wire, offers) = match &server.tls {
            Tls::None => greeted(Wire::new(Box::new(stream) as Box<dyn Stream>), server).await?,
            Tls::FromTheStart(connector) => {
                let stream = secured(stream, connector, server).await?;
                greeted(Wire::new(stream), server).await?
            }
            Tls::Required(connector) => {
                let (mut wire, offers) = greeted(Wire::new(stream), server).await?;
                if !offers.has_capability(EXT_START_TLS) {
                    return Err(Unopened::Unsafe("the server offers no STARTTLS".to_owned()));
                }
                wire.say("STARTTLS\r\n", times.command).await?;
                let reply = wire.hear(times.command).await?;
                if reply.meaning() != Meaning::Yes {
                    return Err(Unopened::Said(reply));
                }
                let mut wire = Wire::new(secured(wire.into_stream()?, connector, server).await?);
                // What was offered before was said by anybody.
                let offers = offers_of(&mut wire, server).await?;
                (wire, offers)
            }
        };
        let mut connection = Self { wire, offers, times, mails: 0 };
        if let Some(login) = &server.login {
            connection.log_in(login).await?;
        }
        Ok(connection)
    }

    async fn log_in(&mut self, login: &Login) -> Result<(), Unopened> {
        let Login { user, password } = login;
        let password = password.expose_secret();
        let reply = if self.offers.auth() & AUTH_PLAIN != 0 {
            let word = BASE64_STANDARD.encode(format!("\0{user}\0{password}"));
            self.ask(&format!("AUTH PLAIN {word}\r\n")).await?
        } else if self.offers.auth() & AUTH_LOGIN != 0 {
            let mut reply = self.ask("AUTH LOGIN\r\n").await?;
            for word in [user.as_str(), password] {
                if reply.code == 334 {
                    reply = self.ask(&format!("{}\r\n", BASE64_STANDARD.encode(word))).await?;
                }
            }
            reply
        } else {
            return Err(Unopened::Unsafe("the server takes no password by AUTH PLAIN or LOGIN".to_owned()));
        };
        match reply.meaning() {
            Meaning::Yes => Ok(()),
            Meaning::Never => Err(Unopened::Unsafe(format!("the server does not take the login: {reply}"))),
            Meaning::Later | Meaning::GoOn => Err(Unopened::Said(reply)),
        }
    }

    async fn ask(&mut self, command: &str) -> Result<Reply, Broken> {
        self.wire.say(command, self.times.command).await?;
        self.wire.hear(self.times.command).await
    }

    /// Whether it may be used again: a server that has closed it, or says that it will, has said so by now.
    pub async fn is_fresh(&mut self) -> bool {
        self.wire.is_quiet().await
    }

    /// Carries a mail as far as it goes. The gate is asked when the server would take it, right before the mail.
    pub async fn carry(&mut self, letter: &Letter<'_>, gate: &dyn Gate) -> Result<Carried, Stale> {
        let is_first = self.mails == 0;
        self.mails += 1;
        let params = match self.params(letter) {
            Ok(params) => params,
            Err(why) => return Ok(Carried { is_open: true, is_slow: false, handed: Handed::Refused(why) }),
        };
        let envelope = self.envelope(letter, &params).await;
        match envelope {
            // Between two mails a server may close: another connection finds out what it thinks of this one.
            Err(_) if !is_first => return Err(Stale),
            Ok(replies) if !is_first && replies.first().is_some_and(Reply::is_goodbye) => return Err(Stale),
            Err(broken) => return Ok(lost(Handed::Away(broken.0))),
            Ok(replies) => {
                let no = replies.iter().enumerate().find(|(_, reply)| reply.meaning() != Meaning::Yes);
                if let Some((place, no)) = no {
                    // Said to whom it is to; what it is about its words say.
                    if place > 0
                        && no.meaning() == Meaning::Never
                        && let Some(sort) = no.sort(letter.from, letter.to)
                    {
                        gate.came_back(sort, &no.most_telling()).await;
                    }
                    return Ok(self.refused(no, letter).await);
                }
            }
        }
        if !gate.may_go().await {
            let is_open = self.forget().await;
            return Ok(Carried { handed: Handed::Stopped, is_open, is_slow: false });
        }
        match self.ask("DATA\r\n").await {
            Ok(reply) if reply.code == 354 => Ok(self.hand(letter).await),
            Ok(reply) => Ok(self.refused(&reply, letter).await),
            Err(broken) => Ok(lost(Handed::Away(broken.0))),
        }
    }

    /// What is asked for beside the addresses.
    fn params(&self, letter: &Letter<'_>) -> Result<String, String> {
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
    async fn envelope(&mut self, letter: &Letter<'_>, params: &str) -> Result<Vec<Reply>, Broken> {
        let from = format!("MAIL FROM:<{}>{params}\r\n", letter.from);
        let to = format!("RCPT TO:<{}>\r\n", letter.to);
        if !self.offers.has_capability(EXT_PIPELINING) {
            let first = self.ask(&from).await?;
            if first.meaning() != Meaning::Yes {
                return Ok(vec![first]);
            }
            return Ok(vec![first, self.ask(&to).await?]);
        }
        self.wire.say(&(from + &to), self.times.command).await?;
        Ok(vec![self.wire.hear(self.times.command).await?, self.wire.hear(self.times.command).await?])
    }

    /// The mail itself. It is on its way for good from the moment at which its last line begins to go out.
    async fn hand(&mut self, letter: &Letter<'_>) -> Carried {
        if let Err(broken) = self.wire.say_mail(letter.bytes, self.times.mail).await {
            // It may be this very mail that it breaks off at.
            return lost(Handed::NotNow(broken.0));
        }
        let ended = async {
            self.wire.say(".\r\n", self.times.command).await?;
            self.wire.hear(self.times.accept).await
        };
        match ended.await {
            Ok(reply) if reply.meaning() == Meaning::Yes => {
                Carried { handed: Handed::Accepted, is_open: true, is_slow: false }
            }
            Ok(reply) if reply.is_no() => {
                let (handed, is_slow) = (verdict(&reply, letter), reply.is_goodbye());
                Carried { handed, is_open: !is_slow, is_slow }
            }
            // Neither yes nor no: it may mean anything.
            Ok(reply) => lost(Handed::Unknown(reply.told(letter.to))),
            Err(broken) => lost(Handed::Unknown(broken.0)),
        }
    }

    /// The server said no before the mail itself.
    async fn refused(&mut self, reply: &Reply, letter: &Letter<'_>) -> Carried {
        let is_slow = reply.is_goodbye();
        let is_open = !is_slow && self.forget().await;
        Carried { handed: verdict(reply, letter), is_open, is_slow }
    }

    /// Takes back what was begun, and says whether the connection is as it was before.
    async fn forget(&mut self) -> bool {
        self.ask("RSET\r\n").await.is_ok_and(|reply| reply.meaning() == Meaning::Yes)
    }

    /// Says goodbye. Nobody waits for the answer.
    pub async fn close(mut self) {
        let _gone_anyway = self.wire.say("QUIT\r\n", Duration::from_secs(1)).await;
    }
}

fn verdict(reply: &Reply, letter: &Letter<'_>) -> Handed {
    let told = reply.told(letter.to);
    match reply.meaning() {
        Meaning::Never => Handed::Refused(told),
        // It leaves, whatever mail this is.
        _ if reply.is_goodbye() => Handed::Away(told),
        _ => Handed::NotNow(told),
    }
}

fn lost(handed: Handed) -> Carried {
    Carried { handed, is_open: false, is_slow: true }
}

/// The same stream within TLS, with whom its name says.
async fn secured(
    stream: TcpStream,
    connector: &TlsConnector,
    server: &Server,
) -> Result<Box<dyn Stream>, Unopened> {
    let name = ServerName::try_from(server.name().to_owned());
    let name = name.map_err(|_| Unopened::Unsafe("the server has no name that TLS can check".to_owned()))?;
    match timeout(server.times.command, connector.connect(name, stream)).await {
        Ok(Ok(stream)) => Ok(Box::new(stream)),
        Ok(Err(error)) => match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            Some(error) => Err(Unopened::Unsafe(format!("TLS: {error}"))),
            None => Err(Broken::of("TLS", &error).into()),
        },
        Err(_) => Err(Broken("TLS: no answer".to_owned()).into()),
    }
}

async fn greeted<S: Stream + 'static>(
    mut wire: Wire<S>,
    server: &Server,
) -> Result<(Wire<S>, EhloResponse<String>), Unopened> {
    let reply = wire.hear(server.times.greeting).await?;
    if reply.meaning() != Meaning::Yes {
        return Err(Unopened::Said(reply));
    }
    let offers = offers_of(&mut wire, server).await?;
    Ok((wire, offers))
}

async fn offers_of<S: Stream>(wire: &mut Wire<S>, server: &Server) -> Result<EhloResponse<String>, Unopened> {
    wire.say(&format!("EHLO {}\r\n", server.ehlo), server.times.command).await?;
    wire.hear_offers(server.times.command).await?.map_err(Unopened::Said)
}
