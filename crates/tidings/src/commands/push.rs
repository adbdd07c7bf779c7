//! `tidings push`: the key by which browsers know a house.

use std::path::Path;

use courier_net::push::Key;
use serde_json::json;

use super::{Out, mail::write_new};
use crate::{
    cli::{Push, PushWhat},
    failure::Failure,
    say,
};

pub fn run(asked: &Push, out: Out) -> Result<(), Failure> {
    match &asked.what {
        PushWhat::Key { file } => key(file, out),
    }
}

fn key(file: &Path, out: Out) -> Result<(), Failure> {
    let failed = |why: String| Failure::Failed(anyhow::anyhow!(why));
    let pem = Key::make().map_err(failed)?;
    let public = Key::es256(&pem).map_err(failed)?.public();
    write_new(file, &pem, "--file gives the new key another name")?;
    let path = file.display().to_string();
    if out.json {
        return Ok(say::json(&json!({"file": path, "public": public}))?);
    }
    say::talk(format!("made {path}; it belongs into the configuration, and its public half to browsers:"));
    say::data(format!("webpush: {{key_file: {path}, subject: \"mailto:YOU@EXAMPLE.ORG\"}}"))?;
    Ok(say::data(format!("applicationServerKey: {public}"))?)
}
