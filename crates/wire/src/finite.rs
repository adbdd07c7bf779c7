//! Numbers as serde sees them: neither infinite nor not a number, for those equal nothing and JSON has no
//! word for them. Used as `#[serde(with = "finite")]`.

use serde::{Deserialize, Deserializer, Serializer, de, ser};

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
pub(crate) fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    match number.is_finite() {
        true => serializer.serialize_f64(*number),
        false => Err(ser::Error::custom("a number is not finite")),
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(deserializer)?;
    match number.is_finite() {
        true => Ok(number),
        false => Err(de::Error::custom("a number is not finite")),
    }
}
