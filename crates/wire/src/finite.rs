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

/// A number that may be missing.
pub(crate) mod optional {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

    #[allow(clippy::ref_option, reason = "serde asks for a reference")]
    pub(crate) fn serialize<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        match number {
            Some(number) if !number.is_finite() => Err(ser::Error::custom("a number is not finite")),
            number => number.serialize(serializer),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        match Option::<f64>::deserialize(deserializer)? {
            Some(number) if !number.is_finite() => Err(de::Error::custom("a number is not finite")),
            number => Ok(number),
        }
    }
}
