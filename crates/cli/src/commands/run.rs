//! `tidings run`: some rooms in this process; the others are in other processes, on the same engines.

use std::collections::BTreeSet;

use adapters::engine_setup::format_gate::WayBack;
use house::RoomName;
use lifecycle::start::{ProcessSpec, SpecMaker};
use settings::config::{Config, EngineConfig};
use shell::{datadir::DataDir, failure::CommandError};
use wire::token::{LinkSecret, SECRET_BYTES};

use crate::arguments as cli;

/// Some rooms, on engines that other processes share.
pub fn rooms_spec(config: &Config, asked: &cli::RunArgs) -> Result<SpecMaker<'static>, CommandError> {
    let rooms: BTreeSet<RoomName> = asked.rooms.iter().copied().collect();
    let EngineConfig::Production(_) = config.engine else {
        return Err(CommandError::from_refusal(
            "several processes need engines that they can share (`engine: production`); with embedded \
            engines, run the whole house with `tidings up`",
        ));
    };
    if config.demo {
        return Err(CommandError::from_refusal(
            "a demo has one clock and runs in one process: `tidings up --demo`",
        ));
    }
    let secret = require_secret(config, &rooms)?;
    Ok(Box::new(|config: Config| {
        let data = DataDir::share(&config.data_dir, rooms.contains(&RoomName::Ingest))?;
        Ok(ProcessSpec { config, data, secret, rooms, migrates: false, way_back: WayBack::Kept })
    }))
}

/// The rooms that sign links, or answer those that were signed.
const SIGNING: [RoomName; 3] = [RoomName::Ingest, RoomName::Sender, RoomName::Slots];

/// The secret that signs links in one process and verifies them in another. It is never generated here: with a secret
/// per process, the links of mails would be invalid.
fn require_secret(config: &Config, rooms: &BTreeSet<RoomName>) -> Result<LinkSecret, CommandError> {
    match &config.secret {
        Some(secret) => Ok(secret.clone()),
        None if SIGNING.iter().any(|room| rooms.contains(room)) => Err(CommandError::from_refusal(format!(
            "ingest, sender and slots need the same `secret`, which signs the links of mails: make one with \
             `openssl rand -hex {SECRET_BYTES}` and give it to all processes with TIDINGS_SECRET, TIDINGS_SECRET_FILE or \
             `secret_file`; a house that ran with `tidings up` has its own in {}",
            config.data_dir.join("secret").display()
        ))),
        // Nobody signs anything here.
        None => Ok(LinkSecret::new([0; SECRET_BYTES])),
    }
}
