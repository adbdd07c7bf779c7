//! `tidings up`: the whole house in this process, with its page.

use super::{
    OutputStyle,
    process::{self, ProcessSpec},
};
use crate::{config::Config, datadir::DataDir, failure::CommandError, house::RoomName};

pub fn run(config: Config, out: OutputStyle) -> Result<(), CommandError> {
    process::run(whole_house_spec, config, out)
}

fn whole_house_spec(config: Config) -> Result<ProcessSpec, CommandError> {
    let data = DataDir::hold(&config.data_dir)?;
    let secret = match &config.secret {
        Some(secret) => secret.clone(),
        None => data.secret()?,
    };
    Ok(ProcessSpec { config, data, secret, rooms: RoomName::ALL.into(), migrates: true })
}
