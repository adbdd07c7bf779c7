//! Mailboxes that people read: a real Dovecot, which takes mails by LMTP and shows them by IMAP.

use std::{
    fs,
    net::{IpAddr, SocketAddr},
    os::unix::fs::PermissionsExt as _,
    process::Command,
};

use anyhow::{Context as _, Result};

use crate::{
    mail::python,
    network::LoopbackNetwork,
    node::{EngineNode, node_folder},
    tools::{project_root, run_command},
};

const SETTINGS: &str = include_str!("../dovecot.conf");
/// The password of everybody: whoever reaches it is on this machine.
const PASSWORD: &str = "correct-horse";
const INSTALL: &str = "dovecot is missing: `setup/prepare.sh test` installs it";

pub struct DovecotMailboxes {
    _node: EngineNode,
    lmtp: SocketAddr,
    imap: SocketAddr,
    _network: LoopbackNetwork,
}

/// As whom its parts run.
struct DovecotUsers {
    internal: String,
    group: String,
    login: String,
    owner: String,
    owners: String,
}

impl DovecotMailboxes {
    /// Starts one and waits until it is ready.
    pub fn start() -> Result<Self> {
        let network = LoopbackNetwork::claim()?;
        let host: IpAddr = network.host(0).parse()?;
        let at = |usual| Ok::<_, anyhow::Error>(SocketAddr::new(host, network.port(usual)?));
        let (lmtp, imap) = (at(2_524)?, at(2_143)?);
        let folder = node_folder("mailboxes")?;
        let mails = folder.path().join("mails");
        fs::create_dir(&mails)?;
        // Mails belong to nobody who may do more, and who that is has to get to them.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711))?;
        fs::set_permissions(&mails, fs::Permissions::from_mode(0o777))?;
        let users = DovecotUsers::of_this_machine()?;
        let own = [
            ("HOST", host.to_string()),
            ("PASSWORD", PASSWORD.to_owned()),
            ("INTERNAL", users.internal),
            ("GROUP", users.group),
            ("LOGIN", users.login),
            ("OWNERS", users.owners),
            ("OWNER", users.owner),
            ("LMTP", lmtp.port().to_string()),
            ("IMAP", imap.port().to_string()),
            // Last, for nobody knows what a path is made of.
            ("FOLDER", folder.path().display().to_string()),
        ];
        let settings = own.iter().fold(SETTINGS.to_owned(), |text, (name, value)| text.replace(name, value));
        let file = folder.path().join("dovecot.conf");
        fs::write(&file, settings)?;
        let command = vec![dovecot_path()?.into(), "-F".into(), "-c".into(), file.into()];
        let node = EngineNode::new(folder, command, "starting up for imap, lmtp")?;
        node.start()?;
        node.wait_ready().context("cannot start the mailboxes")?;
        Ok(Self { _node: node, lmtp, imap, _network: network })
    }

    /// Where a mail server delivers to them.
    pub fn lmtp(&self) -> SocketAddr {
        self.lmtp
    }

    /// The mails of a mailbox, oldest first, as Python's imaplib reads them.
    pub fn read(&self, address: &str) -> Result<Vec<Vec<u8>>> {
        let folder = tempfile::tempdir()?;
        let mut read = Command::new(python()?);
        read.arg(project_root().join("tests/python/mailbox_read.py"));
        read.args([&self.imap.ip().to_string(), &self.imap.port().to_string(), address, PASSWORD]);
        let count: usize =
            run_command(read.arg(folder.path()))?.trim().parse().context("how many there are")?;
        let mail = |number| Ok(fs::read(folder.path().join(format!("{number}.eml")))?);
        (1..=count).map(mail).collect()
    }
}

impl DovecotUsers {
    /// Root gives its rights away, to those that the package has made; anybody else has none to give.
    fn of_this_machine() -> Result<Self> {
        let id =
            |word: &str| Ok::<_, anyhow::Error>(run_command(Command::new("id").arg(word))?.trim().to_owned());
        let word = |text: &str| text.to_owned();
        if id("-u")? == "0" {
            let (internal, login) = (word("dovecot"), word("dovenull"));
            return Ok(Self {
                group: internal.clone(),
                internal,
                login,
                owner: word("mail"),
                owners: word("mail"),
            });
        }
        let (user, group) = (id("-un")?, id("-gn")?);
        let [internal, login, owner] = [(); 3].map(|()| user.clone());
        Ok(Self { internal, group: group.clone(), login, owner, owners: group })
    }
}

/// It lies where a usual path does not lead to.
fn dovecot_path() -> Result<&'static str> {
    let known = ["/usr/sbin/dovecot", "/usr/local/sbin/dovecot"];
    known.into_iter().find(|path| fs::exists(path).unwrap_or(false)).context(INSTALL)
}
