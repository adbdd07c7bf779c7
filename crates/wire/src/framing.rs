//! The wire format of a schema registry: a zero byte, the id of the schema in big endian, the datum.

const MAGIC: u8 = 0;
const FRAME_BYTES: usize = 5;

/// A datum in its frame.
pub fn add_frame(id: u32, datum: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(FRAME_BYTES + datum.len());
    bytes.push(MAGIC);
    bytes.extend(id.to_be_bytes());
    bytes.extend(datum);
    bytes
}

/// The schema's id and the datum, if this is a frame. Neither JSON nor a single object begins with zero.
pub fn split_frame(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (id, datum) = bytes.strip_prefix(&[MAGIC])?.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*id), datum))
}
