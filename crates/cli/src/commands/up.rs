//! `tidings up`: the whole house in this process, with its page.

use adapters::engine_setup::format_gate::WayBack;
use house::RoomName;
use lifecycle::start::ProcessSpec;
use settings::config::Config;
use shell::{datadir::DataDir, failure::CommandError};

/// The whole house, on the engines of the configuration.
pub fn whole_house_spec(config: Config, way_back: WayBack) -> Result<ProcessSpec, CommandError> {
    let data = DataDir::hold(&config.data_dir)?;
    let secret = match &config.secret {
        Some(secret) => secret.clone(),
        None => data.secret()?,
    };
    Ok(ProcessSpec { config, data, secret, rooms: RoomName::ALL.into(), migrates: true, way_back })
}
