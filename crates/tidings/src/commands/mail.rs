//! Keys for mails, and one mail to see whether it arrives.

use std::{
    fs::{self, OpenOptions},
    hash::{BuildHasher as _, RandomState},
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use async_trait::async_trait;
use courier::{Courier as _, Gate, Handed, Mail, Message, Way};
use courier_net::dkim::{Key, folder};
use model::{Millis, ReadyId};
use runtime::Clock;
use sender::message::domain;
use serde_json::json;

use super::Out;
use crate::{
    cli::{Dkim, DkimWhat, NewKey, SendTest},
    config::Config,
    failure::Failure,
    post, say,
};

/// Only whoever runs the house reads its keys.
const PRIVATE: u32 = 0o600;

pub fn dkim(config: &Config, asked: &Dkim, out: Out) -> Result<(), Failure> {
    match &asked.what {
        DkimWhat::New(new) => make(config, new, out),
        DkimWhat::List { folder } => list(&folder_of(config, folder.as_ref())?, out),
    }
}

fn folder_of(config: &Config, named: Option<&PathBuf>) -> Result<PathBuf, Failure> {
    let configured = config.mail.as_ref().and_then(|mail| mail.dkim.as_ref());
    let folder = named.or(configured).cloned();
    folder.ok_or_else(|| Failure::refused("no folder of keys: name it with --folder, or set `mail.dkim`"))
}

fn make(config: &Config, new: &NewKey, out: Out) -> Result<(), Failure> {
    let folder = folder_of(config, new.folder.as_ref())?;
    let now = Clock::real(0).now();
    let date = new.from.clone().unwrap_or_else(|| Millis(now).to_string().chars().take(10).collect());
    let since = folder::since(&date);
    let since = since.ok_or_else(|| Failure::refused(format!("`{date}` is no date, such as 2026-12-01")))?;
    let selector = new.selector.clone().unwrap_or_else(|| format!("{}-{}", new.kind, date.replace('-', "")));
    let refused = |why: courier_net::dkim::Unusable| Failure::refused(format!("`{}`: {why}", new.domain));
    let pem = Key::make(&new.kind).map_err(refused)?;
    let key = Key::read(&new.domain, &selector, since, &pem).map_err(refused)?;
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let path = folder.join(folder::file(&new.domain, &selector, new.from.as_deref()));
    write_new(&path, &pem, "--selector gives the new key another name")?;
    say::talk(format!("made {}; this has to stand in the DNS before it is used", path.display()));
    show(&[key], now, out)
}

/// Never over another key: mails that are on their way are checked against its record, and browsers have its half.
pub fn write_new(path: &Path, pem: &str, otherwise: &str) -> Result<(), Failure> {
    let file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(path);
    let mut file = match file {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(Failure::refused(format!("{} is there already; {otherwise}", path.display())));
        }
        file => file.with_context(|| path.display().to_string())?,
    };
    file.write_all(pem.as_bytes())
        .and_then(|()| file.sync_all())
        .with_context(|| path.display().to_string())?;
    Ok(())
}

fn list(folder: &Path, out: Out) -> Result<(), Failure> {
    let keys = folder::read(folder).map_err(|wrong| Failure::refused(wrong.join("\n")))?;
    show(&keys, Clock::real(0).now(), out)
}

fn show(keys: &[Key], now: i64, out: Out) -> Result<(), Failure> {
    let used = |key: &Key| key.since() <= now.div_euclid(1_000);
    let records = keys.iter().map(|key| Ok((key, key.record().context("its record")?)));
    let records = records.collect::<anyhow::Result<Vec<_>>>()?;
    if out.json {
        let one = |(key, (name, text)): &(&Key, (String, String))| json!({"name": name, "record": text, "used": used(key)});
        return Ok(say::json(&serde_json::Value::from_iter(records.iter().map(one)))?);
    }
    for (key, (name, text)) in &records {
        let until = if used(key) { "" } else { "; not used yet" };
        say::data(format!("{name}  TXT{until}\n  {text}"))?;
    }
    Ok(())
}

/// Sends one mail. Its failure is the answer, with the server's own codes.
pub fn send_test(config: &Config, asked: &SendTest, out: Out) -> Result<(), Failure> {
    let Some(mail) = &config.mail else {
        return Err(Failure::refused(
            "mails stay in the outbox: `mail.ways` names no server that takes them further",
        ));
    };
    let mailer = post::mailer(mail, config.limits.hand_over).map_err(Failure::Refused)?;
    let message = test_message(config, asked);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("start tokio")?;
    let handed = runtime.block_on(mailer.hand(&message, &Open)).context("send")?;
    ended(handed, &message, out)
}

/// What became of one that was sent to see whether it arrives. Its failure is the answer.
pub(super) fn ended(handed: Handed, message: &Message, out: Out) -> Result<(), Failure> {
    let why = match handed {
        Handed::Accepted => {
            if out.json {
                return Ok(say::json(&json!({"outcome": "accepted", "message_id": message.message_id}))?);
            }
            return Ok(say::data(format!("accepted as <{}>", message.message_id))?);
        }
        Handed::Stopped => "stopped".to_owned(),
        Handed::NotNow(why) | Handed::Away(why) | Handed::Busy(why) => format!("not now: {why}"),
        Handed::Refused(why) => format!("refused: {why}"),
        Handed::Unknown(why) => format!("nobody can say whether it was taken: {why}"),
    };
    Err(Failure::Failed(anyhow::anyhow!(why)))
}

/// The id of a Ready that never was.
pub(super) fn by_chance() -> ReadyId {
    let half = || RandomState::new().hash_one(std::process::id()).to_be_bytes();
    let mut id = [0; 16];
    id[..8].copy_from_slice(&half());
    id[8..].copy_from_slice(&half());
    ReadyId(id)
}

fn test_message(config: &Config, asked: &SendTest) -> Message {
    let ready = by_chance();
    let text = "This mail was sent to see whether mails of this house arrive. If you read it, they do.";
    Message {
        tenant: config.tenant.clone(),
        ready,
        message_id: format!("{ready}@{}", domain(&asked.from)),
        headline: "Mail of this house arrives".to_owned(),
        text: format!("{text}\n"),
        date: Millis(Clock::real(0).now()),
        way: Way::Mail(Mail {
            from: asked.from.clone(),
            to: asked.to.clone(),
            preheader: String::new(),
            html: format!("<!doctype html><html lang=\"en\"><body><p>{text}</p></body></html>"),
            return_path: None,
            headers: vec![("Auto-Submitted".to_owned(), "auto-generated".to_owned())],
        }),
    }
}

/// Nobody else sends this message.
pub(super) struct Open;

#[async_trait]
impl Gate for Open {
    async fn may_go(&self) -> bool {
        true
    }
}
