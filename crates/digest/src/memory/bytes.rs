//! Numbers and texts in few bytes: seven bits of a number in each, so that small ones are short.

const MORE: u8 = 0x80;

pub fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= u64::from(MORE) {
        out.push(low_bits(number) | MORE);
        number >>= 7;
    }
    out.push(low_bits(number));
}

fn low_bits(number: u64) -> u8 {
    number.to_le_bytes()[0] & !MORE
}

/// A number that may be below zero; near to it on either side is short.
pub fn put_signed(out: &mut Vec<u8>, number: i64) {
    put_number(out, ((number << 1) ^ (number >> 63)).cast_unsigned());
}

pub fn put_text(out: &mut Vec<u8>, text: &str) {
    put_count(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

pub fn put_count(out: &mut Vec<u8>, count: usize) {
    put_number(out, count as u64);
}

/// Reads what was put. Each answers nothing where the bytes are not what they should be.
pub struct PackedReader<'a>(pub &'a [u8]);

impl<'a> PackedReader<'a> {
    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & !MORE) << shift;
            if byte & MORE == 0 {
                return Some(number);
            }
        }
        None
    }

    pub fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    pub fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    pub fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub fn text(&mut self) -> Option<&'a str> {
        let bytes = self.count()?;
        std::str::from_utf8(self.take(bytes)?).ok()
    }
}
