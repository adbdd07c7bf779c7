//! `tidings run`: some rooms in this process; the others are in other processes, on the same engines.

use std::collections::BTreeSet;

use wire::token::{SECRET_BYTES, Secret};

use super::{
    Out,
    live::{self, Process},
};
use crate::{
    cli,
    config::{Config, Engine},
    datadir::DataDir,
    failure::Failure,
    house::Room,
};

pub fn run(config: Config, asked: &cli::Run, out: Out) -> Result<(), Failure> {
    let rooms: BTreeSet<Room> = asked.rooms.iter().copied().collect();
    let Engine::Production(_) = config.engine else {
        return Err(Failure::refused(
            "rooms of several processes need engines that they can share: `engine: production`; \
             the whole house on embedded ones is `tidings up`",
        ));
    };
    if config.demo {
        return Err(Failure::refused("a demo has one clock, and so one process: `tidings up --demo`"));
    }
    let secret = secret(&config, &rooms)?;
    let process = |config: Config| {
        let data = DataDir::share(&config.data_dir, rooms.contains(&Room::Ingest))?;
        Ok(Process { config, data, secret, rooms, migrates: false })
    };
    live::run(process, config, out)
}

/// What links are signed with where they are made, and known by where they come back. Never a fresh one: with
/// one for each process the links of mails would lead nowhere.
fn secret(config: &Config, rooms: &BTreeSet<Room>) -> Result<Secret, Failure> {
    match &config.secret {
        Some(secret) => Ok(secret.clone()),
        None if rooms.contains(&Room::Ingest) || rooms.contains(&Room::Sender) => {
            Err(Failure::refused(format!(
                "ingest and sender need the same `secret`, which signs the links of mails: make one with \
             `openssl rand -hex {SECRET_BYTES}` and give it to all processes by TIDINGS_SECRET, TIDINGS_SECRET_FILE or \
             `secret_file`; a house that ran by `tidings up` has its own in {}",
                config.data_dir.join("secret").display()
            )))
        }
        // Nobody signs anything here.
        None => Ok(Secret::new([0; SECRET_BYTES])),
    }
}
