//! Devices that a push can reach, as facts state them: each is a field of the profile.

use catalogue::problem::one_of;
use model::{
    Cell, State,
    device::{self, Platform},
};
use serde_json::Value;

use crate::admit::{Data, Refused, quoted, refuse};

/// Characters of a device's id.
const ID_CHARS_MAX: usize = 64;
/// Bytes of a token, whichever platform gave it.
const TOKEN_BYTES_MAX: usize = 4 * 1024;

/// The field of a device; a token of null takes it away.
pub(crate) fn cells(data: Data<'_>, version: i64) -> Result<State, Refused> {
    data.only(&["person", "device", "platform", "token"])?;
    let id = data.text("device")?;
    // It stands in names of fields and in lists.
    let is_word =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    if id.len() > ID_CHARS_MAX || !id.split('.').all(is_word) {
        return refuse("/data/device", "it is not a word of letters, digits, `-`, `_` and `.`");
    }
    let value = match data.0.get("token") {
        Some(Value::Null) => None,
        _ => Some(device::value(platform(data)?, token(data)?)),
    };
    let mut state = State::default();
    state.set(&device::field(id), Cell { version, value });
    Ok(state)
}

fn platform(data: Data<'_>) -> Result<Platform, Refused> {
    let text = data.text("platform")?;
    let names = Platform::ALL.map(Platform::name);
    let unknown = || {
        let reason = format!("there is no platform `{}`: it is {}", quoted(text), one_of(names));
        Refused::new("/data/platform", reason)
    };
    Platform::parse(text).ok_or_else(unknown)
}

fn token(data: Data<'_>) -> Result<&str, Refused> {
    let token = data.text("token")?;
    if token.is_empty() || token.len() > TOKEN_BYTES_MAX || !token.bytes().all(|byte| byte.is_ascii_graphic())
    {
        return refuse(
            "/data/token",
            format!("it is not a word of at most {TOKEN_BYTES_MAX} visible letters"),
        );
    }
    Ok(token)
}
