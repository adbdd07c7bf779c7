//! Writes databases in the format of MaxMind, <https://maxmind.github.io/MaxMind-DB/>: small ones, for scenarios and tests.

use std::net::IpAddr;

use ipnetwork::IpNetwork;
use model::{GeoPoint, UtcMillis};
use serde_json::{Value, json};

/// Before the metadata.
const MARKER: &[u8] = b"\xab\xcd\xefMaxMind.com";
/// Zeros between tree and data.
const SEPARATOR: [u8; 16] = [0; 16];
/// Bits of each half of a node.
const RECORD_BITS: u64 = 32;
/// Bits of an address before those of IPv4.
const BITS_BEFORE_V4: u32 = 96;

// Sorts of data.
const TEXT: u8 = 2;
const DOUBLE: u8 = 3;
const UINT16: u8 = 5;
const UINT32: u8 = 6;
const MAP: u8 = 7;
const UINT64: u8 = 9;
const ARRAY: u8 = 11;
const FLAG: u8 = 14;

/// A database that is being written.
#[derive(Clone, Debug)]
pub struct DatabaseWriter {
    name: String,
    built: UtcMillis,
    nodes: Vec<[TreeLeaf; 2]>,
    data: Vec<u8>,
}

/// Where a half of a node leads.
#[derive(Clone, Copy, Debug)]
enum TreeLeaf {
    Nothing,
    Node(usize),
    /// Where its data begin.
    Record(usize),
}

impl DatabaseWriter {
    /// A database of this name, such as `GeoLite2-City`.
    pub fn new(name: &str, built: UtcMillis) -> Self {
        let (name, nodes) = (name.to_owned(), vec![[TreeLeaf::Nothing; 2]]);
        Self { name, built, nodes, data: Vec::new() }
    }

    /// A network of a city: its addresses are within so many kilometres of a place.
    #[must_use]
    pub fn with_place(self, network: IpNetwork, at: GeoPoint, radius_km: u16) -> Self {
        let location = json!({"accuracy_radius": radius_km, "latitude": at.lat, "longitude": at.lon});
        self.with_record(network, &json!({"location": location}))
    }

    /// A network, and what is known of it. One within another is added after it.
    #[must_use]
    pub fn with_record(mut self, network: IpNetwork, record: &Value) -> Self {
        let leaf = TreeLeaf::Record(self.data.len());
        encode(record, &mut self.data);
        let (bits, length) = match network.ip() {
            IpAddr::V4(v4) => (u128::from(v4.to_bits()), BITS_BEFORE_V4 + u32::from(network.prefix())),
            IpAddr::V6(v6) => (v6.to_bits(), u32::from(network.prefix())),
        };
        let bit = |depth: u32| usize::from(bits >> (u128::BITS - 1 - depth) & 1 == 1);
        if length == 0 {
            self.nodes[0] = [leaf; 2];
            return self;
        }
        let mut at = 0;
        for depth in 0..length - 1 {
            at = match self.nodes[at][bit(depth)] {
                TreeLeaf::Node(next) => next,
                shared => {
                    self.nodes.push([shared; 2]);
                    let next = self.nodes.len() - 1;
                    self.nodes[at][bit(depth)] = TreeLeaf::Node(next);
                    next
                }
            };
        }
        self.nodes[at][bit(length - 1)] = leaf;
        self
    }

    /// The bytes of the file.
    pub fn finish(&self) -> Vec<u8> {
        let number = |leaf: TreeLeaf| match leaf {
            TreeLeaf::Nothing => self.nodes.len(),
            TreeLeaf::Node(node) => node,
            TreeLeaf::Record(start) => self.nodes.len() + SEPARATOR.len() + start,
        };
        let mut file = Vec::new();
        for leaf in self.nodes.iter().flatten() {
            file.extend(u32::try_from(number(*leaf)).unwrap_or(u32::MAX).to_be_bytes());
        }
        file.extend(SEPARATOR);
        file.extend(&self.data);
        file.extend(MARKER);
        let built = u64::try_from(self.built.0 / 1_000).unwrap_or_default();
        let numbers = [
            ("binary_format_major_version", UINT16, 2),
            ("binary_format_minor_version", UINT16, 0),
            ("build_epoch", UINT64, built),
            ("ip_version", UINT16, 6),
            ("node_count", UINT32, self.nodes.len() as u64),
            ("record_size", UINT16, RECORD_BITS),
        ];
        let name = Value::from(self.name.as_str());
        let others = [
            ("database_type", name),
            ("description", json!({"en": "made here"})),
            ("languages", json!(["en"])),
        ];
        encode_head(MAP, numbers.len() + others.len(), &mut file);
        for (name, sort, number) in numbers {
            encode_text(name, &mut file);
            encode_number(sort, number, &mut file);
        }
        for (name, value) in others {
            encode_text(name, &mut file);
            encode(&value, &mut file);
        }
        file
    }
}

/// A value as the format has it. What it has no form for is left out: nobody writes that here.
fn encode(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => encode_head(MAP, 0, out),
        Value::Bool(flag) => encode_head(FLAG, usize::from(*flag), out),
        Value::Number(number) => match number.as_u64() {
            None => {
                encode_head(DOUBLE, 8, out);
                out.extend(number.as_f64().unwrap_or_default().to_be_bytes());
            }
            Some(number) => encode_number(UINT32, number, out),
        },
        Value::String(text) => encode_text(text, out),
        Value::Array(items) => {
            encode_head(ARRAY, items.len(), out);
            items.iter().for_each(|item| encode(item, out));
        }
        Value::Object(fields) => {
            encode_head(MAP, fields.len(), out);
            for (name, field) in fields {
                encode_text(name, out);
                encode(field, out);
            }
        }
    }
}

/// A whole number in as many bytes as its sort has.
fn encode_number(sort: u8, number: u64, out: &mut Vec<u8>) {
    let bytes = match sort {
        UINT16 => 2,
        UINT32 => 4,
        _ => 8,
    };
    encode_head(sort, bytes, out);
    out.extend(&number.to_be_bytes()[8 - bytes..]);
}

fn encode_text(text: &str, out: &mut Vec<u8>) {
    encode_head(TEXT, text.len(), out);
    out.extend(text.as_bytes());
}

/// The sort of what follows, and how long it is: up to 284.
fn encode_head(sort: u8, length: usize, out: &mut Vec<u8>) {
    let (short, more) = match u8::try_from(length) {
        Ok(short @ ..29) => (short, None),
        _ => (29, Some(u8::try_from(length.saturating_sub(29)).unwrap_or(u8::MAX))),
    };
    // Later sorts stand in a byte of their own.
    if sort > MAP {
        out.extend([short, sort - MAP]);
    } else {
        out.push(sort << 5 | short);
    }
    out.extend(more);
}
