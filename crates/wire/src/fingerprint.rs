//! A schema's fingerprint: CRC-64-AVRO of its canonical form, as Avro's specification has it.
//!
//! The library's own differs from that of other languages wherever there is a logical type: it leaves
//! `{"type":"long"}` where the canonical form has `"long"`. We write the one that all know and read both.

use apache_avro::{Schema, rabin::Rabin};
use serde_json::Value;

const EMPTY: u64 = 0xC15D_213A_A4D7_A795;

/// The fingerprint that we write.
pub(crate) fn standard_fingerprint(schema: &Schema) -> Result<[u8; 8], String> {
    canonical_form(schema).map(|text| crc64_avro(&text).to_le_bytes())
}

/// The one that the library writes.
pub(crate) fn library_fingerprint(schema: &Schema) -> Result<[u8; 8], String> {
    let bytes = schema.fingerprint::<Rabin>().bytes;
    bytes.try_into().map_err(|_| "the fingerprint does not have 8 bytes".to_owned())
}

/// The specification's canonical form.
pub(crate) fn canonical_form(schema: &Schema) -> Result<String, String> {
    let form: Value = serde_json::from_str(&schema.canonical_form()).map_err(|error| error.to_string())?;
    Ok(simplify_form(form).to_string())
}

/// Primitive types are their bare names.
fn simplify_form(form: Value) -> Value {
    match form {
        Value::Array(items) => items.into_iter().map(simplify_form).collect(),
        Value::Object(fields) => match fields.get("type") {
            Some(Value::String(primitive)) if fields.len() == 1 => Value::String(primitive.clone()),
            _ => fields.into_iter().map(|(name, field)| (name, simplify_form(field))).collect(),
        },
        other => other,
    }
}

/// Only done once a schema, so it does without a table.
pub(crate) fn crc64_avro(text: &str) -> u64 {
    text.bytes().fold(EMPTY, |print, byte| {
        let mut entry = (print ^ u64::from(byte)) & 0xFF;
        for _ in 0..8 {
            entry = (entry >> 1) ^ (EMPTY & (entry & 1).wrapping_neg());
        }
        (print >> 8) ^ entry
    })
}
