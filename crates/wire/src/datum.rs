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
use model::{Day, Millis};
use serde_json::{Map, Number, Value};

use crate::{codec::Undecodable, json::DEPTH_MAX, schemas::Writer};

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
pub(crate) fn json(writer: &Writer, datum: &[u8]) -> Result<Value, Undecodable> {
    let resolved = ResolvedSchema::new(&writer.schema).map_err(Undecodable::new)?;
    let mut walk =
        Walk { names: resolved.get_names(), rest: datum, values: VALUES_MAX, names_bytes: NAMES_BYTES_MAX };
    let value = walk.value(&writer.schema, None, DEPTH_MAX)?;
    match walk.rest.len() {
        0 => Ok(value),
        more => Err(Undecodable::new(format!("{more} bytes follow the record"))),
    }
}

struct Walk<'a> {
    names: &'a NamesRef<'a>,
    rest: &'a [u8],
    /// How many more there may be.
    values: usize,
    /// How many more bytes of names.
    names_bytes: usize,
}

fn wrong<T>(reason: impl std::fmt::Display) -> Result<T, Undecodable> {
    Err(Undecodable::new(reason))
}

impl<'a> Walk<'a> {
    fn value(&mut self, schema: &Schema, within: Option<&str>, levels: usize) -> Result<Value, Undecodable> {
        let Some(left) = self.values.checked_sub(1) else {
            return wrong(format!("more than {VALUES_MAX} values"));
        };
        self.values = left;
        Ok(match schema {
            Schema::Null => Value::Null,
            Schema::Boolean => match self.take(1)? {
                [0] => Value::Bool(false),
                [1] => Value::Bool(true),
                _ => return wrong("a flag is neither 0 nor 1"),
            },
            Schema::Int | Schema::TimeMillis => self.int()?.into(),
            Schema::Long | Schema::TimeMicros => self.long()?.into(),
            Schema::Float => {
                let bytes = self.four()?;
                // The shortest digits: 0.1 is 0.1 and not 0.10000000149.
                let number = f32::from_le_bytes(bytes).to_string().parse().unwrap_or(f64::NAN);
                finite(number)?
            }
            Schema::Double => {
                let bytes = self.take(8)?.try_into().map_err(Undecodable::new)?;
                finite(f64::from_le_bytes(bytes))?
            }
            Schema::String | Schema::Uuid(UuidSchema::String) => Value::String(self.text()?),
            Schema::Bytes | Schema::BigDecimal => STANDARD.encode(self.bytes()?).into(),
            Schema::Fixed(fixed) | Schema::Duration(fixed) => STANDARD.encode(self.take(fixed.size)?).into(),
            Schema::Uuid(UuidSchema::Bytes) => uuid(self.bytes()?)?,
            Schema::Uuid(UuidSchema::Fixed(fixed)) => uuid(self.take(fixed.size)?)?,
            Schema::Decimal(decimal) => self.decimal(decimal)?,
            Schema::Date => Day(self.int()?).to_string().into(),
            Schema::TimestampMillis => instant(self.long()?),
            Schema::TimestampMicros => instant(self.long()?.div_euclid(1_000)),
            Schema::TimestampNanos => instant(self.long()?.div_euclid(1_000_000)),
            Schema::LocalTimestampMillis => local(self.long()?),
            Schema::LocalTimestampMicros => local(self.long()?.div_euclid(1_000)),
            Schema::LocalTimestampNanos => local(self.long()?.div_euclid(1_000_000)),
            Schema::Enum(of) => match usize::try_from(self.int()?).ok().and_then(|at| of.symbols.get(at)) {
                Some(symbol) => Value::String(self.named(symbol)?),
                None => return wrong(format!("{} has no such symbol", of.name.name())),
            },
            Schema::Union(of) => {
                match usize::try_from(self.long()?).ok().and_then(|at| of.variants().get(at)) {
                    Some(one) => self.value(one, within, levels)?,
                    None => return wrong("a union has no such branch"),
                }
            }
            Schema::Ref { name } => {
                let name = name.fully_qualified_name(within);
                let Some(schema) = self.names.get(name.as_ref()) else {
                    return wrong(format!("the schema does not say what `{}` is", name.name()));
                };
                self.value(schema, name.namespace(), levels)?
            }
            Schema::Array(_) | Schema::Map(_) | Schema::Record(_) => {
                let Some(levels) = levels.checked_sub(1) else {
                    return wrong(format!("nested deeper than {DEPTH_MAX} levels"));
                };
                self.several(schema, within, levels)?
            }
        })
    }

    fn several(
        &mut self,
        schema: &Schema,
        within: Option<&str>,
        levels: usize,
    ) -> Result<Value, Undecodable> {
        let mut items = Vec::new();
        let mut fields = Map::new();
        match schema {
            Schema::Record(record) => {
                let name = record.name.fully_qualified_name(within);
                for field in &record.fields {
                    let value = self.value(&field.schema, name.namespace(), levels)?;
                    fields.insert(self.named(&field.name)?, value);
                }
                return Ok(Value::Object(fields));
            }
            Schema::Array(array) => {
                while let Some(many) = self.block()? {
                    for _ in 0..many {
                        items.push(self.value(&array.items, within, levels)?);
                    }
                }
                return Ok(Value::Array(items));
            }
            Schema::Map(map) => {
                while let Some(many) = self.block()? {
                    for _ in 0..many {
                        let name = self.text()?;
                        let value = self.value(&map.types, within, levels)?;
                        if let Some(_twice) = fields.insert(name.clone(), value) {
                            return wrong(format!("`{name}` is given twice"));
                        }
                    }
                }
            }
            _ => {}
        }
        Ok(Value::Object(fields))
    }

    /// A name of the schema, which takes room here and none in the datum.
    fn named(&mut self, name: &str) -> Result<String, Undecodable> {
        let Some(left) = self.names_bytes.checked_sub(name.len()) else {
            return wrong(format!("the names of its fields take more than {NAMES_BYTES_MAX} bytes"));
        };
        self.names_bytes = left;
        Ok(name.to_owned())
    }

    /// How many items the next block has; `None` at the end.
    fn block(&mut self) -> Result<Option<u64>, Undecodable> {
        let many = self.long()?;
        if many < 0 {
            let _bytes = self.long()?;
        }
        Ok((many != 0).then_some(many.unsigned_abs()))
    }

    fn take(&mut self, many: usize) -> Result<&'a [u8], Undecodable> {
        let Some((taken, rest)) = self.rest.split_at_checked(many) else {
            return wrong("the record ends too early");
        };
        self.rest = rest;
        Ok(taken)
    }

    fn four(&mut self) -> Result<[u8; 4], Undecodable> {
        self.take(4)?.try_into().map_err(Undecodable::new)
    }

    /// A number in groups of seven bits, its sign in the last one.
    fn long(&mut self) -> Result<i64, Undecodable> {
        let mut raw = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = u64::from(self.take(1)?[0]);
            raw |= (byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed());
            }
        }
        wrong("a number has more than 64 bits")
    }

    fn int(&mut self) -> Result<i32, Undecodable> {
        i32::try_from(self.long()?).map_err(|_| Undecodable::new("a number has more than 32 bits"))
    }

    fn bytes(&mut self) -> Result<&'a [u8], Undecodable> {
        match usize::try_from(self.long()?) {
            Ok(many) => self.take(many),
            Err(_) => wrong("a length is less than nothing"),
        }
    }

    fn text(&mut self) -> Result<String, Undecodable> {
        str::from_utf8(self.bytes()?).map(str::to_owned).map_err(|_| Undecodable::new("a text is not utf-8"))
    }

    fn decimal(&mut self, of: &DecimalSchema) -> Result<Value, Undecodable> {
        let bytes = match &of.inner {
            InnerDecimalSchema::Bytes => self.bytes()?,
            InnerDecimalSchema::Fixed(fixed) => self.take(fixed.size)?,
        };
        if bytes.len() > DECIMAL_BYTES_MAX {
            return wrong(format!("a decimal of {} bytes, more than {DECIMAL_BYTES_MAX}", bytes.len()));
        }
        let is_negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
        let whole = bytes
            .iter()
            .fold(if is_negative { -1_i128 } else { 0 }, |number, byte| (number << 8) | i128::from(*byte));
        Ok(Value::String(scaled(whole, of.scale)?))
    }
}

/// The digits of a number, with so many behind the point.
fn scaled(whole: i128, scale: usize) -> Result<String, Undecodable> {
    const SCALE_MAX: usize = 64;
    if scale > SCALE_MAX {
        return wrong(format!("a decimal of {scale} places, more than {SCALE_MAX}"));
    }
    let sign = if whole < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", whole.unsigned_abs(), width = scale + 1);
    let (before, behind) = digits.split_at(digits.len() - scale);
    let point = if behind.is_empty() { "" } else { "." };
    Ok(format!("{sign}{before}{point}{behind}"))
}

fn finite(number: f64) -> Result<Value, Undecodable> {
    Number::from_f64(number).map(Value::Number).ok_or_else(|| Undecodable::new("a number is not finite"))
}

fn uuid(bytes: &[u8]) -> Result<Value, Undecodable> {
    let bytes: [u8; 16] = bytes.try_into().map_err(|_| Undecodable::new("a uuid has not 16 bytes"))?;
    let digits = format!("{:032x}", u128::from_be_bytes(bytes));
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
    Ok(Value::String(parts.join("-")))
}

fn instant(ms: i64) -> Value {
    Value::String(Millis(ms).to_string())
}

/// An instant of nobody's zone.
fn local(ms: i64) -> Value {
    Value::String(Millis(ms).to_string().trim_end_matches('Z').to_owned())
}
