//! `tidings device`: the devices on which pushes reach a person; adds or removes one.

use model::Person;
use serde_json::{Value, json};

use super::{
    Out,
    reach::{Files, Reach, reach},
    tell,
};
use crate::{
    cli,
    config::Config,
    devices::{self, Devices, OneDevice},
    failure::Failure,
    say::{self, Paint},
};

pub fn run(config: &Config, asked: &cli::Device, out: Out) -> Result<(), Failure> {
    match (&asked.device, &asked.platform, &asked.token) {
        (Some(device), _, _) if asked.remove => tell::device(config, fact(&asked.person, device, None), out),
        (Some(device), Some(platform), Some(token)) => {
            tell::device(config, fact(&asked.person, device, Some((platform, token))), out)
        }
        (Some(device), _, _) => {
            let what = "it needs a platform and a token, or --remove";
            Err(Failure::Usage(format!("`{}`: {what}", say::clean(device))))
        }
        (None, _, _) => list(config, &asked.person, out),
    }
}

/// What is said of a device; without a token it is taken away.
fn fact(person: &str, device: &str, is: Option<(&String, &String)>) -> Value {
    match is {
        Some((platform, token)) => {
            json!({"person": person, "device": device, "platform": platform, "token": token})
        }
        None => json!({"person": person, "device": device, "token": null}),
    }
}

fn list(config: &Config, person: &str, out: Out) -> Result<(), Failure> {
    let person = Person::new(person).map_err(Failure::refused)?;
    let found: Devices = match reach(config)? {
        Reach::Running(client) => client.get("/admin/devices", &[("person", person.as_str())])?.good()?,
        Reach::Files(files) => {
            let Files { runtime, store, .. } = &*files;
            runtime.block_on(devices::read(&**store, (&config.tenant, &person)))?
        }
    };
    if out.json {
        return Ok(say::json(&found)?);
    }
    if found.devices.is_empty() {
        say::talk(format!("no device is known of {}", say::clean(&found.person)));
        return Ok(());
    }
    let mut lines = table(&found.devices).into_iter();
    if let Some(head) = lines.next() {
        say::data(Paint::data().with(say::FAINT, head))?;
    }
    Ok(lines.try_for_each(say::data)?)
}

const HEAD: [&str; 3] = ["device", "platform", "since"];

fn table(of: &[OneDevice]) -> Vec<String> {
    let row = |one: &OneDevice| [say::clean(&one.device), one.platform.clone(), one.since.clone()];
    let rows = std::iter::once(HEAD.map(str::to_owned)).chain(of.iter().map(row));
    say::table(&rows.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_stand_in_columns() {
        let one = |device: &str, platform: &str| OneDevice {
            device: device.to_owned(),
            platform: platform.to_owned(),
            since: "2026-11-21T08:00:00.000Z".to_owned(),
        };
        let expected = [
            "device          platform  since",
            "phone           android   2026-11-21T08:00:00.000Z",
            "browser-0a1b2c  web       2026-11-21T08:00:00.000Z",
        ];
        assert_eq!(table(&[one("phone", "android"), one("browser-0a1b2c", "web")]), expected);
    }
}
