//! Keys for mails, and one mail to see whether it arrives.

use std::{
    fs::{self, OpenOptions},
    hash::{BuildHasher as _, RandomState},
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use adapters::courier_setup;
use anyhow::Context as _;
use async_trait::async_trait;
use courier::{Courier as _, HandoverGate, HandoverOutcome, MailPayload, Message, MessagePayload};
use courier_net::dkim::{DkimKey, folder};
use model::{ReadyId, UtcMillis};
use runtime::Clock;
use sender::message::mailbox_domain;
use serde_json::json;
use settings::config::Config;
use shell::{failure::CommandError, terminal};

use super::OutputStyle;
use crate::arguments::{DkimArgs, DkimCommand, NewDkimKeyArgs, SendTestArgs};

/// Only whoever runs the house reads its keys.
const PRIVATE: u32 = 0o600;

pub fn run_dkim(config: &Config, asked: &DkimArgs, out: OutputStyle) -> Result<(), CommandError> {
    match &asked.what {
        DkimCommand::New(new) => make_dkim_key(config, new, out),
        DkimCommand::List { folder } => list_dkim_keys(&key_folder(config, folder.as_ref())?, out),
    }
}

fn key_folder(config: &Config, named: Option<&PathBuf>) -> Result<PathBuf, CommandError> {
    let configured = config.mail.as_ref().and_then(|mail| mail.dkim.as_ref());
    let folder = named.or(configured).cloned();
    folder.ok_or_else(|| {
        CommandError::from_refusal("there is no folder of keys: name one with --folder, or set `mail.dkim`")
    })
}

fn make_dkim_key(config: &Config, new: &NewDkimKeyArgs, out: OutputStyle) -> Result<(), CommandError> {
    let folder = key_folder(config, new.folder.as_ref())?;
    let now = Clock::real(0).now();
    let date = new.from.clone().unwrap_or_else(|| UtcMillis(now).to_string().chars().take(10).collect());
    let since = folder::parse_since(&date);
    let since = since
        .ok_or_else(|| CommandError::from_refusal(format!("`{date}` is not a date, such as 2026-12-01")))?;
    let selector = new.selector.clone().unwrap_or_else(|| format!("{}-{}", new.kind, date.replace('-', "")));
    let refused =
        |why: courier_net::dkim::DkimKeyError| CommandError::from_refusal(format!("`{}`: {why}", new.domain));
    let pem = DkimKey::generate_pem(&new.kind).map_err(refused)?;
    let key = DkimKey::read(&new.domain, &selector, since, &pem).map_err(refused)?;
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let path = folder.join(folder::key_file_name(&new.domain, &selector, new.from.as_deref()));
    write_new(&path, &pem, "give the new key another name with --selector")?;
    terminal::print_talk(format!("made {}; publish this DNS record before the key is used", path.display()));
    print_dkim_records(&[key], now, out)
}

/// Never over another key: mails that are on their way are checked against its record, and browsers have its half.
pub fn write_new(path: &Path, pem: &str, otherwise: &str) -> Result<(), CommandError> {
    let file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(path);
    let mut file = match file {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(CommandError::from_refusal(format!(
                "{} exists already; {otherwise}",
                path.display()
            )));
        }
        file => file.with_context(|| path.display().to_string())?,
    };
    file.write_all(pem.as_bytes())
        .and_then(|()| file.sync_all())
        .with_context(|| path.display().to_string())?;
    Ok(())
}

fn list_dkim_keys(folder: &Path, out: OutputStyle) -> Result<(), CommandError> {
    let keys = folder::read_keys(folder).map_err(|wrong| CommandError::from_refusal(wrong.join("\n")))?;
    print_dkim_records(&keys, Clock::real(0).now(), out)
}

fn print_dkim_records(keys: &[DkimKey], now: i64, out: OutputStyle) -> Result<(), CommandError> {
    let used = |key: &DkimKey| key.since() <= now.div_euclid(1_000);
    let records = keys.iter().map(|key| Ok((key, key.dns_record().context("make its DNS record")?)));
    let records = records.collect::<anyhow::Result<Vec<_>>>()?;
    if out.json {
        let one = |(key, (name, text)): &(&DkimKey, (String, String))| json!({"name": name, "record": text, "used": used(key)});
        return Ok(terminal::print_json(&serde_json::Value::from_iter(records.iter().map(one)))?);
    }
    for (key, (name, text)) in &records {
        let until = if used(key) { "" } else { "; not used yet" };
        terminal::print_data(format!("{name}  TXT{until}\n  {text}"))?;
    }
    Ok(())
}

/// Sends one mail. Its failure is the answer, with the server's own codes.
pub fn send_test(config: &Config, asked: &SendTestArgs, out: OutputStyle) -> Result<(), CommandError> {
    let Some(mail) = &config.mail else {
        let what = match config.outbox {
            Some(_) => "mails stay in the outbox, because `mail.ways` names no server",
            None => "no mail can be sent: `mail.ways` names no server, and there is no outbox",
        };
        return Err(CommandError::from_refusal(what));
    };
    let mailer = courier_setup::build_mailer(mail, config.limits.hand_over).map_err(CommandError::Refused)?;
    let message = test_message(config, asked);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("start tokio")?;
    let handed = runtime.block_on(mailer.hand(&message, &TestSendGate)).context("send")?;
    report_handed(handed, &message, out)
}

/// What became of one that was sent to see whether it arrives. Its failure is the answer.
pub(super) fn report_handed(
    handed: HandoverOutcome,
    message: &Message,
    out: OutputStyle,
) -> Result<(), CommandError> {
    let why = match handed {
        HandoverOutcome::Accepted => {
            if out.json {
                return Ok(terminal::print_json(
                    &json!({"outcome": "accepted", "message_id": message.message_id}),
                )?);
            }
            return Ok(terminal::print_data(format!("accepted as <{}>", message.message_id))?);
        }
        HandoverOutcome::Stopped => "stopped".to_owned(),
        HandoverOutcome::NotNow(why) | HandoverOutcome::Away(why) | HandoverOutcome::Busy(why) => {
            format!("not now: {why}")
        }
        HandoverOutcome::Refused(why) => format!("refused: {why}"),
        HandoverOutcome::Unknown(why) => format!("it is not known whether it was accepted: {why}"),
    };
    Err(CommandError::Failed(anyhow::anyhow!(why)))
}

/// The id of a Ready that never was.
pub(super) fn random_ready_id() -> ReadyId {
    let half = || RandomState::new().hash_one(std::process::id()).to_be_bytes();
    let mut id = [0; 16];
    id[..8].copy_from_slice(&half());
    id[8..].copy_from_slice(&half());
    ReadyId(id)
}

fn test_message(config: &Config, asked: &SendTestArgs) -> Message {
    let ready = random_ready_id();
    let text = "This mail was sent to see whether mails of this house arrive. If you read it, they do.";
    Message {
        tenant: config.tenant.clone(),
        ready,
        message_id: format!("{ready}@{}", mailbox_domain(&asked.from)),
        headline: "Mail of this house arrives".to_owned(),
        text: format!("{text}\n"),
        date: UtcMillis(Clock::real(0).now()),
        way: MessagePayload::Mail(MailPayload {
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
pub(super) struct TestSendGate;

#[async_trait]
impl HandoverGate for TestSendGate {
    async fn may_go(&self) -> bool {
        true
    }
}
