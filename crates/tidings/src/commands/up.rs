//! `tidings up`: the whole house in this process, with its page.

use super::{
    Out,
    live::{self, Process},
};
use crate::{config::Config, datadir::DataDir, failure::Failure, house::Room};

pub fn run(config: Config, out: Out) -> Result<(), Failure> {
    live::run(process, config, out)
}

fn process(config: Config) -> Result<Process, Failure> {
    let data = DataDir::hold(&config.data_dir)?;
    let secret = match &config.secret {
        Some(secret) => secret.clone(),
        None => data.secret()?,
    };
    Ok(Process { config, data, secret, rooms: Room::ALL.into(), migrates: true })
}
