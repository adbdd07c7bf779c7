//! A datum of somebody else's schema, as JSON.
//!
//! Schema and datum both come from outside, and a small schema can ask for very much: lists of nothing,
//! records within themselves, records of records of records. So we walk it ourselves and count: levels,
//! values, bytes. The library's own reader has no bound on levels or on what takes no bytes.

use apache_avro::{
    Schema,
    schema::{DecimalSchema, InnerDecimalSchema, NamesRef, ResolvedSchema, UuidSchema},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use model::{Day, UtcMillis};
use serde_json::{Map, Number, Value};

use crate::{codec::DecodeError, json::DEPTH_MAX, schema_source::WriterSchema};

/// Values of one datum, those within others too.
pub const VALUES_MAX: usize = 100_000;
/// Bytes of names that the schema gives and the datum only asks for: of fields, of symbols.
pub const NAMES_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes of a decimal: some 38 digits.
const DECIMAL_BYTES_MAX: usize = 16;

/// Reads a whole datum.
///
/// Instants are RFC 3339, dates `2026-11-21`, decimals their digits as text, bytes base64; what is a union
/// is what it holds; times of day are numbers.
pub(crate) fn datum_to_json(writer: &WriterSchema, datum: &[u8]) -> Result<Value, DecodeError> {
    let resolved = ResolvedSchema::new(&writer.schema).map_err(DecodeError::new)?;
    let mut walk = DatumWalk {
        names: resolved.get_names(),
        rest: datum,
        values: VALUES_MAX,
        names_bytes: NAMES_BYTES_MAX,
    };
    let value = walk.read_value(&writer.schema, None, DEPTH_MAX)?;
    match walk.rest.len() {
        0 => Ok(value),
        more => Err(DecodeError::new(format!("{more} bytes follow the record"))),
    }
}

struct DatumWalk<'a> {
    names: &'a NamesRef<'a>,
    rest: &'a [u8],
    /// How many more there may be.
    values: usize,
    /// How many more bytes of names.
    names_bytes: usize,
}

fn fail_decoding<T>(reason: impl std::fmt::Display) -> Result<T, DecodeError> {
    Err(DecodeError::new(reason))
}

impl<'a> DatumWalk<'a> {
    fn read_value(
        &mut self,
        schema: &Schema,
        within: Option<&str>,
        levels: usize,
    ) -> Result<Value, DecodeError> {
        let Some(left) = self.values.checked_sub(1) else {
            return fail_decoding(format!("more than {VALUES_MAX} values"));
        };
        self.values = left;
        Ok(match schema {
            Schema::Null => Value::Null,
            Schema::Boolean => match self.take_bytes(1)? {
                [0] => Value::Bool(false),
                [1] => Value::Bool(true),
                _ => return fail_decoding("a flag is neither 0 nor 1"),
            },
            Schema::Int | Schema::TimeMillis => self.read_int()?.into(),
            Schema::Long | Schema::TimeMicros => self.read_long()?.into(),
            Schema::Float => {
                let bytes = self.take_four()?;
                // The shortest digits: 0.1 is 0.1 and not 0.10000000149.
                let number = f32::from_le_bytes(bytes).to_string().parse().unwrap_or(f64::NAN);
                finite_number(number)?
            }
            Schema::Double => {
                let bytes = self.take_bytes(8)?.try_into().map_err(DecodeError::new)?;
                finite_number(f64::from_le_bytes(bytes))?
            }
            Schema::String | Schema::Uuid(UuidSchema::String) => Value::String(self.read_text()?),
            Schema::Bytes | Schema::BigDecimal => STANDARD.encode(self.read_bytes()?).into(),
            Schema::Fixed(fixed) | Schema::Duration(fixed) => {
                STANDARD.encode(self.take_bytes(fixed.size)?).into()
            }
            Schema::Uuid(UuidSchema::Bytes) => format_uuid(self.read_bytes()?)?,
            Schema::Uuid(UuidSchema::Fixed(fixed)) => format_uuid(self.take_bytes(fixed.size)?)?,
            Schema::Decimal(decimal) => self.read_decimal(decimal)?,
            Schema::Date => Day(self.read_int()?).to_string().into(),
            Schema::TimestampMillis => format_instant(self.read_long()?),
            Schema::TimestampMicros => format_instant(self.read_long()?.div_euclid(1_000)),
            Schema::TimestampNanos => format_instant(self.read_long()?.div_euclid(1_000_000)),
            Schema::LocalTimestampMillis => format_local(self.read_long()?),
            Schema::LocalTimestampMicros => format_local(self.read_long()?.div_euclid(1_000)),
            Schema::LocalTimestampNanos => format_local(self.read_long()?.div_euclid(1_000_000)),
            Schema::Enum(of) => {
                match usize::try_from(self.read_int()?).ok().and_then(|at| of.symbols.get(at)) {
                    Some(symbol) => Value::String(self.take_name(symbol)?),
                    None => return fail_decoding(format!("{} has no such symbol", of.name.name())),
                }
            }
            Schema::Union(of) => {
                match usize::try_from(self.read_long()?).ok().and_then(|at| of.variants().get(at)) {
                    Some(one) => self.read_value(one, within, levels)?,
                    None => return fail_decoding("a union has no such branch"),
                }
            }
            Schema::Ref { name } => {
                let name = name.fully_qualified_name(within);
                let Some(schema) = self.names.get(name.as_ref()) else {
                    return fail_decoding(format!("the schema does not say what `{}` is", name.name()));
                };
                self.read_value(schema, name.namespace(), levels)?
            }
            Schema::Array(_) | Schema::Map(_) | Schema::Record(_) => {
                let Some(levels) = levels.checked_sub(1) else {
                    return fail_decoding(format!("nested deeper than {DEPTH_MAX} levels"));
                };
                self.read_composite(schema, within, levels)?
            }
        })
    }

    fn read_composite(
        &mut self,
        schema: &Schema,
        within: Option<&str>,
        levels: usize,
    ) -> Result<Value, DecodeError> {
        let mut items = Vec::new();
        let mut fields = Map::new();
        match schema {
            Schema::Record(record) => {
                let name = record.name.fully_qualified_name(within);
                for field in &record.fields {
                    let value = self.read_value(&field.schema, name.namespace(), levels)?;
                    fields.insert(self.take_name(&field.name)?, value);
                }
                return Ok(Value::Object(fields));
            }
            Schema::Array(array) => {
                while let Some(many) = self.read_block()? {
                    for _ in 0..many {
                        items.push(self.read_value(&array.items, within, levels)?);
                    }
                }
                return Ok(Value::Array(items));
            }
            Schema::Map(map) => {
                while let Some(many) = self.read_block()? {
                    for _ in 0..many {
                        let name = self.read_text()?;
                        let value = self.read_value(&map.types, within, levels)?;
                        if let Some(_twice) = fields.insert(name.clone(), value) {
                            return fail_decoding(format!("`{name}` is given twice"));
                        }
                    }
                }
            }
            _ => {}
        }
        Ok(Value::Object(fields))
    }

    /// A name of the schema, which takes room here and none in the datum.
    fn take_name(&mut self, name: &str) -> Result<String, DecodeError> {
        let Some(left) = self.names_bytes.checked_sub(name.len()) else {
            return fail_decoding(format!("the names of its fields take more than {NAMES_BYTES_MAX} bytes"));
        };
        self.names_bytes = left;
        Ok(name.to_owned())
    }

    /// How many items the next block has; `None` at the end.
    fn read_block(&mut self) -> Result<Option<u64>, DecodeError> {
        let many = self.read_long()?;
        if many < 0 {
            let _bytes = self.read_long()?;
        }
        Ok((many != 0).then_some(many.unsigned_abs()))
    }

    fn take_bytes(&mut self, many: usize) -> Result<&'a [u8], DecodeError> {
        let Some((taken, rest)) = self.rest.split_at_checked(many) else {
            return fail_decoding("the record ends too early");
        };
        self.rest = rest;
        Ok(taken)
    }

    fn take_four(&mut self) -> Result<[u8; 4], DecodeError> {
        self.take_bytes(4)?.try_into().map_err(DecodeError::new)
    }

    /// A number in groups of seven bits, its sign in the last one.
    fn read_long(&mut self) -> Result<i64, DecodeError> {
        let mut raw = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = u64::from(self.take_bytes(1)?[0]);
            raw |= (byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed());
            }
        }
        fail_decoding("a number has more than 64 bits")
    }

    fn read_int(&mut self) -> Result<i32, DecodeError> {
        i32::try_from(self.read_long()?).map_err(|_| DecodeError::new("a number has more than 32 bits"))
    }

    fn read_bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        match usize::try_from(self.read_long()?) {
            Ok(many) => self.take_bytes(many),
            Err(_) => fail_decoding("a length is negative"),
        }
    }

    fn read_text(&mut self) -> Result<String, DecodeError> {
        str::from_utf8(self.read_bytes()?)
            .map(str::to_owned)
            .map_err(|_| DecodeError::new("a text is not UTF-8"))
    }

    fn read_decimal(&mut self, of: &DecimalSchema) -> Result<Value, DecodeError> {
        let bytes = match &of.inner {
            InnerDecimalSchema::Bytes => self.read_bytes()?,
            InnerDecimalSchema::Fixed(fixed) => self.take_bytes(fixed.size)?,
        };
        if bytes.len() > DECIMAL_BYTES_MAX {
            return fail_decoding(format!(
                "a decimal of {} bytes, more than {DECIMAL_BYTES_MAX}",
                bytes.len()
            ));
        }
        let is_negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
        let whole = bytes
            .iter()
            .fold(if is_negative { -1_i128 } else { 0 }, |number, byte| (number << 8) | i128::from(*byte));
        Ok(Value::String(format_decimal(whole, of.scale)?))
    }
}

/// The digits of a number, with so many behind the point.
fn format_decimal(whole: i128, scale: usize) -> Result<String, DecodeError> {
    const SCALE_MAX: usize = 64;
    if scale > SCALE_MAX {
        return fail_decoding(format!("a decimal of {scale} places, more than {SCALE_MAX}"));
    }
    let sign = if whole < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", whole.unsigned_abs(), width = scale + 1);
    let (before, behind) = digits.split_at(digits.len() - scale);
    let point = if behind.is_empty() { "" } else { "." };
    Ok(format!("{sign}{before}{point}{behind}"))
}

fn finite_number(number: f64) -> Result<Value, DecodeError> {
    Number::from_f64(number).map(Value::Number).ok_or_else(|| DecodeError::new("a number is not finite"))
}

fn format_uuid(bytes: &[u8]) -> Result<Value, DecodeError> {
    let bytes: [u8; 16] = bytes.try_into().map_err(|_| DecodeError::new("a UUID does not have 16 bytes"))?;
    let digits = format!("{:032x}", u128::from_be_bytes(bytes));
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
    Ok(Value::String(parts.join("-")))
}

fn format_instant(ms: i64) -> Value {
    Value::String(UtcMillis(ms).to_string())
}

/// A local time without a zone.
fn format_local(ms: i64) -> Value {
    Value::String(UtcMillis(ms).to_string().trim_end_matches('Z').to_owned())
}
