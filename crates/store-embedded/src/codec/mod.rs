//! Items as bytes.
//!
//! An item is a version, its size as DynamoDB counts it, and its attributes in the order of their names: the name, then the value. A
//! value says how long it is, so that one attribute is found without looking into the others, and a page that only counts
//! looks at none. [`RawItem`] is such bytes, looked at where they lie.

mod raw;
#[cfg(test)]
mod tests;
mod varint;

pub(crate) use raw::{RawItem, WantedTest};
pub(crate) use varint::{Reader, put_varint};

use singlet_item::{Item, Number, Value, item_size_bytes};
use singlet_store::StoreError;

/// How items are written today.
const VERSION: u8 = 1;

/// What kind of value follows.
mod tag {
    pub(super) const NULL: u8 = 0;
    pub(super) const FALSE: u8 = 1;
    pub(super) const TRUE: u8 = 2;
    pub(super) const STRING: u8 = 3;
    pub(super) const NUMBER: u8 = 4;
    pub(super) const BINARY: u8 = 5;
    pub(super) const LIST: u8 = 6;
    pub(super) const MAP: u8 = 7;
    pub(super) const STRING_SET: u8 = 8;
    pub(super) const NUMBER_SET: u8 = 9;
    pub(super) const BINARY_SET: u8 = 10;
}

/// An item as bytes.
pub(crate) fn encode_item(item: &Item) -> Vec<u8> {
    // Counted when it is written: whoever reads is charged by it, and need not decode for that.
    let size = item_size_bytes(item);
    let mut out = begin(size);
    for (name, value) in item {
        put_bytes(&mut out, name.as_bytes());
        put_value(&mut out, value);
    }
    out
}

/// The bytes of an item of that size, before its attributes.
fn begin(size: usize) -> Vec<u8> {
    // Names and values of scalars take two or three bytes more than DynamoDB counts.
    let mut out = Vec::with_capacity(size + size / 4 + 16);
    out.push(VERSION);
    put_varint(&mut out, size as u128);
    out
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u128);
    out.extend_from_slice(bytes);
}

fn put_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.push(tag::NULL),
        Value::Bool(false) => out.push(tag::FALSE),
        Value::Bool(true) => out.push(tag::TRUE),
        Value::S(text) => {
            out.push(tag::STRING);
            put_bytes(out, text.as_bytes());
        }
        Value::N(number) => {
            out.push(tag::NUMBER);
            put_number(out, *number);
        }
        Value::B(bytes) => {
            out.push(tag::BINARY);
            put_bytes(out, bytes);
        }
        Value::L(elements) => put_nested(out, tag::LIST, |out| {
            elements.iter().for_each(|element| put_value(out, element));
        }),
        Value::M(entries) => put_nested(out, tag::MAP, |out| {
            for (name, value) in entries {
                put_bytes(out, name.as_bytes());
                put_value(out, value);
            }
        }),
        Value::Ss(members) => put_nested(out, tag::STRING_SET, |out| {
            members.iter().for_each(|member| put_bytes(out, member.as_bytes()));
        }),
        Value::Ns(members) => put_nested(out, tag::NUMBER_SET, |out| {
            members.iter().for_each(|member| put_number(out, *member));
        }),
        Value::Bs(members) => put_nested(out, tag::BINARY_SET, |out| {
            members.iter().for_each(|member| put_bytes(out, member));
        }),
    }
}

/// What stands inside comes after how long it is.
fn put_nested(out: &mut Vec<u8>, tag: u8, put: impl FnOnce(&mut Vec<u8>)) {
    let mut inside = Vec::new();
    put(&mut inside);
    // The length is known only now; a reader passes over the value by it.
    out.push(tag);
    put_bytes(out, &inside);
}

/// A number is how long it is, the power of ten, and the digits: small ones take four bytes with their tag.
fn put_number(out: &mut Vec<u8>, number: Number) {
    // One way for each number, so that equal items are equal bytes: whether anything changed is told by comparing them.
    let (digits, power) = number.to_parts();
    let mut inside = Vec::with_capacity(8);
    put_varint(&mut inside, zigzag(i128::from(power)));
    put_varint(&mut inside, zigzag(digits));
    put_bytes(out, &inside);
}

/// Small numbers of either sign as small ones without.
fn zigzag(number: i128) -> u128 {
    ((number << 1) ^ (number >> 127)).cast_unsigned()
}

fn unzigzag(number: u128) -> i128 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

/// What is in the file is not what was written there.
pub(crate) fn damaged_data(what: &str) -> StoreError {
    StoreError::unavailable(format!("the store is damaged: {what} cannot be read"))
        .with_told(Some("a file of the data is damaged"))
}
