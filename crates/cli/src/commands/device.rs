//! `tidings device`: the devices on which pushes reach a person; adds or removes one.

use model::Person;
use serde_json::{Value, json};
use settings::config::Config;
use shell::{failure::CommandError, terminal};
use views::devices::{self, PersonDeviceView, PersonDevices};

use super::{
    OutputStyle,
    access::{DirectEngines, HouseAccess, reach_house},
    publish,
};
use crate::arguments as cli;

pub fn run(config: &Config, asked: &cli::DeviceArgs, out: OutputStyle) -> Result<(), CommandError> {
    match (&asked.device, &asked.platform, &asked.token) {
        (Some(device), _, _) if asked.remove => {
            publish::publish_device(config, device_fact(&asked.person, device, None), out)
        }
        (Some(device), Some(platform), Some(token)) => {
            publish::publish_device(config, device_fact(&asked.person, device, Some((platform, token))), out)
        }
        (Some(device), _, _) => {
            let what = "give a platform and a token, or --remove";
            Err(CommandError::Usage(format!("`{}`: {what}", terminal::clean_text(device))))
        }
        (None, _, _) => list_devices(config, &asked.person, out),
    }
}

/// What is said of a device; without a token it is taken away.
fn device_fact(person: &str, device: &str, is: Option<(&String, &String)>) -> Value {
    match is {
        Some((platform, token)) => {
            json!({"person": person, "device": device, "platform": platform, "token": token})
        }
        None => json!({"person": person, "device": device, "token": null}),
    }
}

fn list_devices(config: &Config, person: &str, out: OutputStyle) -> Result<(), CommandError> {
    let person = Person::new(person).map_err(CommandError::from_refusal)?;
    let found: PersonDevices = match reach_house(config)? {
        HouseAccess::Running(client) => {
            client.get("/admin/devices", &[("person", person.as_str())])?.into_value()?
        }
        HouseAccess::Files(files) => {
            let DirectEngines { runtime, store, .. } = &*files;
            runtime.block_on(devices::read_devices(&**store, (&config.tenant, &person)))?
        }
    };
    if out.json {
        return Ok(terminal::print_json(&found)?);
    }
    if found.devices.is_empty() {
        terminal::print_talk(format!("no device of {} is known", terminal::clean_text(&found.person)));
        return Ok(());
    }
    Ok(terminal::print_headed_table(device_table(&found.devices))?)
}

const HEAD: [&str; 3] = ["device", "platform", "since"];

fn device_table(of: &[PersonDeviceView]) -> Vec<String> {
    let row =
        |one: &PersonDeviceView| [terminal::clean_text(&one.device), one.platform.clone(), one.since.clone()];
    terminal::format_headed_table(HEAD, of.iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_stand_in_columns() {
        let one = |device: &str, platform: &str| PersonDeviceView {
            device: device.to_owned(),
            platform: platform.to_owned(),
            since: "2026-11-21T08:00:00.000Z".to_owned(),
        };
        let expected = [
            "device          platform  since",
            "phone           android   2026-11-21T08:00:00.000Z",
            "browser-0a1b2c  web       2026-11-21T08:00:00.000Z",
        ];
        assert_eq!(device_table(&[one("phone", "android"), one("browser-0a1b2c", "web")]), expected);
    }
}
