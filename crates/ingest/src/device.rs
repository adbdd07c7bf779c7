//! Devices that a push can reach, as facts state them: each is a field of the profile.

use model::{
    ValueCell, VersionedState,
    device::{self, DevicePlatform},
};
use serde_json::Value;
use source_text::{list_choices, quote_text};

use crate::{
    admission_error::{AdmissionError, refuse_at},
    fact_data::FactData,
};

/// Characters of a device's id.
const ID_CHARS_MAX: usize = 64;
/// Bytes of a token, whichever platform gave it.
const TOKEN_BYTES_MAX: usize = 4 * 1024;

/// The field of a device; a token of null takes it away.
pub(crate) fn device_cells(data: FactData<'_>, version: i64) -> Result<VersionedState, AdmissionError> {
    data.check_fields(&["person", "device", "platform", "token"])?;
    let id = data.text("device")?;
    // It stands in names of fields and in lists.
    let is_word =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    if id.len() > ID_CHARS_MAX || !id.split('.').all(is_word) {
        return refuse_at("/data/device", "it must consist of letters, digits, `-`, `_` and `.`");
    }
    let value = match data.0.get("token") {
        Some(Value::Null) => None,
        _ => Some(device::device_value(parse_platform(data)?, parse_token(data)?)),
    };
    let mut state = VersionedState::default();
    state.set(&device::device_field(id), ValueCell { version, value });
    Ok(state)
}

fn parse_platform(data: FactData<'_>) -> Result<DevicePlatform, AdmissionError> {
    let text = data.text("platform")?;
    let names = DevicePlatform::ALL.map(DevicePlatform::name);
    let unknown = || {
        let reason = format!("there is no platform `{}`: use {}", quote_text(text), list_choices(names));
        AdmissionError::new("/data/platform", reason)
    };
    DevicePlatform::parse(text).ok_or_else(unknown)
}

fn parse_token(data: FactData<'_>) -> Result<&str, AdmissionError> {
    let token = data.text("token")?;
    if token.is_empty() || token.len() > TOKEN_BYTES_MAX || !token.bytes().all(|byte| byte.is_ascii_graphic())
    {
        return refuse_at(
            "/data/token",
            format!("it must be 1 to {TOKEN_BYTES_MAX} visible ASCII characters without spaces"),
        );
    }
    Ok(token)
}
