//! `tidings push`: the key by which browsers know a house.

use std::path::Path;

use courier_net::push::JwtKey;
use serde_json::json;
use shell::{failure::CommandError, terminal};

use super::{OutputStyle, mail::write_new};
use crate::arguments::{PushArgs, PushCommand};

pub fn run(asked: &PushArgs, out: OutputStyle) -> Result<(), CommandError> {
    match &asked.what {
        PushCommand::Key { file } => make_web_push_key(file, out),
    }
}

fn make_web_push_key(file: &Path, out: OutputStyle) -> Result<(), CommandError> {
    let failed = |why: String| CommandError::Failed(anyhow::anyhow!(why));
    let pem = JwtKey::generate_pem().map_err(failed)?;
    let public = JwtKey::read_es256(&pem).map_err(failed)?.public_base64();
    write_new(file, &pem, "give the new key another name with --file")?;
    let path = file.display().to_string();
    if out.json {
        return Ok(terminal::print_json(&json!({"file": path, "public": public}))?);
    }
    terminal::print_talk(format!(
        "made {path}; put it into the configuration, and give its public half to browsers:"
    ));
    terminal::print_data(format!("webpush: {{key_file: {path}, subject: \"mailto:YOU@EXAMPLE.ORG\"}}"))?;
    Ok(terminal::print_data(format!("applicationServerKey: {public}"))?)
}
