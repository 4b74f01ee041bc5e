//! Numbers of as many bytes as they need, and reading bytes within their bounds.

use super::damaged_data;
use singlet_item::first_bytes;
use singlet_store::Result;

/// Seven bits a byte, the lowest first.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut number: u128) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Bytes that are read from their beginning. What is not there is damage, never a panic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn rest_bytes(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn read_byte(&mut self) -> Result<u8> {
        let (first, rest) = self.rest.split_first().ok_or_else(|| damaged_data("a value"))?;
        self.rest = rest;
        Ok(*first)
    }

    pub(crate) fn take_bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or_else(|| damaged_data("a value"))?;
        self.rest = rest;
        Ok(taken)
    }

    /// A number of up to 128 bits.
    pub(crate) fn read_varint(&mut self) -> Result<u128> {
        let first = self.read_byte()?;
        if first < 0x80 {
            return Ok(u128::from(first));
        }
        let mut number = u128::from(first & 0x7f);
        let mut shift = 7;
        loop {
            let byte = self.read_byte()?;
            let bits = u128::from(byte & 0x7f);
            // Bits that would be shifted out are damage: another number must not come of it.
            if shift >= 128 || (bits << shift) >> shift != bits {
                return Err(damaged_data("a number"));
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
            shift += 7;
        }
    }

    pub(crate) fn read_length(&mut self) -> Result<usize> {
        usize::try_from(self.read_varint()?).map_err(|_| damaged_data("a length"))
    }

    /// Bytes that say how many they are.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.read_length()?;
        self.take_bytes(length)
    }

    /// Bytes that say how many they are, with the first of them as [`first_bytes`] has them.
    pub(crate) fn bytes_and_first(&mut self) -> Result<(&'a [u8], u64)> {
        let length = self.read_length()?;
        let first = match self.rest.first_chunk() {
            // What follows is read with them, and left out again: no bytes are looked at one by one.
            Some(first) if length < 8 => u64::from_be_bytes(*first) & !(u64::MAX >> (8 * length)),
            Some(first) => u64::from_be_bytes(*first),
            None => first_bytes(self.rest.get(..length).unwrap_or_default()),
        };
        Ok((self.take_bytes(length)?, first))
    }

    pub(crate) fn text(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| damaged_data("a text"))
    }
}
