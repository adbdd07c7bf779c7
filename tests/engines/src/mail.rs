//! A mail server with every mood that one can have: `tests/python/mail_server.py`, on aiosmtpd.

use std::{fs, net::SocketAddr, path::PathBuf};

use anyhow::{Context as _, Result};

use crate::{
    certificates::TestCertificates,
    network::LoopbackNetwork,
    node::{EngineNode, node_folder},
    tools::{built_folder, project_root},
};

/// How a mail server is spoken with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MailTls {
    #[default]
    None,
    /// It offers STARTTLS, and takes nothing before.
    StartTls,
    FromTheStart,
}

/// What a mail server is like.
#[derive(Clone, Copy, Debug, Default)]
pub struct MailOptions {
    pub tls: MailTls,
    /// Its certificate names another machine.
    pub wrong_name: bool,
    /// `USER:PASSWORD`, without which it takes nothing.
    pub login: Option<&'static str>,
    /// Bytes of the largest mail.
    pub size: Option<usize>,
    /// Seconds after which it leaves whoever says nothing.
    pub idle: Option<u32>,
    /// Where it delivers what it took, by LMTP.
    pub mailboxes: Option<SocketAddr>,
}

pub struct PythonMailServer {
    node: EngineNode,
    host: String,
    port: u16,
    certificates: Option<TestCertificates>,
    _network: LoopbackNetwork,
}

/// A mail as it arrived.
#[derive(Clone, Debug)]
pub struct ArrivedMail {
    pub bytes: Vec<u8>,
    /// From, to, options, TLS and login, as JSON.
    pub about: serde_json::Value,
}

impl PythonMailServer {
    /// Starts one and waits until it is ready.
    pub fn start(options: MailOptions) -> Result<Self> {
        let network = LoopbackNetwork::claim()?;
        let (host, port) = (network.host(0), network.port(2_525)?);
        let folder = node_folder("mail")?;
        let program = project_root().join("tests/python/mail_server.py");
        let mut command = vec![python()?.into(), program.into(), "--host".into(), host.clone().into()];
        let mut word = |name: &str, value: String| command.extend([name.into(), value.into()]);
        word("--port", port.to_string());
        let mails = folder.path().join("mails");
        fs::create_dir(&mails)?;
        word("--folder", mails.display().to_string());
        let certificates = match options.tls {
            MailTls::None => None,
            tls => {
                word("--tls", if tls == MailTls::StartTls { "starttls" } else { "tls" }.to_owned());
                let named = if options.wrong_name { "127.1.2.3" } else { &host };
                let made = TestCertificates::make(folder.path(), &[named])?;
                word("--certificate", made.nodes_pem.display().to_string());
                Some(made)
            }
        };
        options.login.into_iter().for_each(|login| word("--login", login.to_owned()));
        options.size.into_iter().for_each(|size| word("--size", size.to_string()));
        options.idle.into_iter().for_each(|seconds| word("--idle", seconds.to_string()));
        options.mailboxes.into_iter().for_each(|at| word("--lmtp", at.to_string()));
        let node = EngineNode::new(folder, command, "ready")?;
        let server = Self { node, host, port, certificates, _network: network };
        server.start_again().context("cannot start the mail server")?;
        Ok(server)
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The authority of its certificate.
    pub fn ca(&self) -> Result<Vec<u8>> {
        let certificates = self.certificates.as_ref().context("it has no certificate")?;
        Ok(fs::read(&certificates.ca_pem)?)
    }

    /// The mails that it took, in order.
    pub fn arrived_mails(&self) -> Result<Vec<ArrivedMail>> {
        let mut arrived = Vec::new();
        for number in 1.. {
            let path = self.node.folder().join(format!("mails/{number}.eml"));
            if !path.exists() {
                break;
            }
            let about = serde_json::from_slice(&fs::read(path.with_extension("json"))?)?;
            arrived.push(ArrivedMail { bytes: fs::read(path)?, about });
        }
        Ok(arrived)
    }

    /// How often somebody has connected since it was started last.
    pub fn connections(&self) -> usize {
        self.node.times_logged("connected")
    }

    /// How many it has kept waiting since it was started last.
    pub fn held_count(&self) -> usize {
        self.node.times_logged("holds")
    }

    /// Waits until it has kept more than so many waiting.
    pub fn wait_until_it_holds_more_than(&self, held: usize) -> Result<()> {
        self.node.wait_for(|| self.held_count() > held)
    }

    /// Ends it without a warning. Its mails stay.
    pub fn stop(&self) -> Result<()> {
        self.node.kill()
    }

    pub fn start_again(&self) -> Result<()> {
        self.node.start()?;
        self.node.wait_ready()
    }

    /// It stands still: whoever connects is heard by nobody.
    pub fn pause(&self) -> Result<()> {
        self.node.pause()
    }

    pub fn resume(&self) -> Result<()> {
        self.node.resume()
    }
}

/// The Python that the programs in `tests/python` stand on, among the build outputs.
pub fn python() -> Result<PathBuf> {
    Ok(built_folder("python", "requirements.txt", include_str!("../../python/requirements.txt"))?
        .join("bin/python"))
}
