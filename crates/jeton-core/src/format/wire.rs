//! Reads and writes protobuf's wire format: a message as a list of fields, without a schema.
//!
//! Cost: one pass; byte values are borrowed. Left out: groups, which are errors. Source: protobuf.dev, "Encoding".

use std::fmt::Display;

use prost::encoding::{decode_key, decode_varint, encode_key, encode_varint, WireType};

use crate::error::{Error, Result};

/// Value of a field, by its wire type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'m> {
    /// An integer or Boolean of variable length.
    Number(u64),
    /// A number of 32 bits, read as a float.
    Float(f32),
    /// A number of 64 bits, not interpreted.
    Fixed64(u64),
    /// A string, bytes or a message.
    Bytes(&'m [u8]),
}

/// Field of a message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Field<'m> {
    /// Number of the field in the schema.
    pub number: u32,
    /// Value of the field.
    pub value: Value<'m>,
    /// Byte offset of the field in the message.
    pub at: usize,
}

/// Iterator over the fields of a message, in order. It ends after an error.
#[derive(Debug)]
pub struct Fields<'m> {
    message: &'m [u8],
    rest: &'m [u8],
}

/// Iterates over the fields of a message. Where the message is invalid, yields [`Error::format`] with the byte offset,
/// and ends.
pub fn read_message(message: &[u8]) -> Fields<'_> {
    Fields { message, rest: message }
}

impl<'m> Iterator for Fields<'m> {
    type Item = Result<Field<'m>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let at = self.message.len() - self.rest.len();
        let read = self.field(at);
        if read.is_err() {
            self.rest = &[];
        }
        Some(read)
    }
}

impl<'m> Fields<'m> {
    fn field(&mut self, at: usize) -> Result<Field<'m>> {
        let wrong = |error: &dyn Display| Error::format(format!("not a message: {error}"), format!("byte {at}"));
        let (number, wire) = decode_key(&mut self.rest).map_err(|error| wrong(&error))?;
        let value = match wire {
            WireType::Varint => Some(Value::Number(decode_varint(&mut self.rest).map_err(|error| wrong(&error))?)),
            WireType::LengthDelimited => {
                let size = decode_varint(&mut self.rest).map_err(|error| wrong(&error))?;
                usize::try_from(size).ok().and_then(|size| self.take(size)).map(Value::Bytes)
            }
            WireType::SixtyFourBit => self.array().map(|bytes| Value::Fixed64(u64::from_le_bytes(bytes))),
            WireType::ThirtyTwoBit => self.array().map(|bytes| Value::Float(f32::from_le_bytes(bytes))),
            WireType::StartGroup | WireType::EndGroup => return Err(wrong(&"a group")),
        };
        Ok(Field { number, value: value.ok_or_else(|| wrong(&"a field is cut off"))?, at })
    }

    fn take(&mut self, size: usize) -> Option<&'m [u8]> {
        let (value, after) = self.rest.split_at_checked(size)?;
        self.rest = after;
        Some(value)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }
}

/// Appends a field to a message.
pub fn put(number: u32, value: Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Number(value) => {
            encode_key(number, WireType::Varint, out);
            encode_varint(value, out);
        }
        Value::Float(value) => {
            encode_key(number, WireType::ThirtyTwoBit, out);
            out.extend_from_slice(&value.to_le_bytes());
        }
        Value::Fixed64(value) => {
            encode_key(number, WireType::SixtyFourBit, out);
            out.extend_from_slice(&value.to_le_bytes());
        }
        Value::Bytes(value) => {
            encode_key(number, WireType::LengthDelimited, out);
            encode_varint(value.len() as u64, out);
            out.extend_from_slice(value);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn fields_are_equal_after_writing_and_truncated_messages_are_errors() {
        let fields = [
            (1, Value::Number(u64::MAX)),
            (15, Value::Bytes(b"abc")),
            (16, Value::Float(-0.5)),
            (16, Value::Fixed64(u64::MAX - 1)),
            (16, Value::Number(0)),
            (1 << 20, Value::Bytes(b"")),
        ];
        let mut message = Vec::new();
        for (number, value) in fields {
            put(number, value, &mut message);
        }
        let read: Vec<_> = read_message(&message).map(Result::unwrap).collect();
        assert!(read.iter().map(|field| (field.number, field.value)).eq(fields));
        assert_eq!(read[1].at, 11);
        for wrong in
            [&message[..message.len() - 1], b"\x0a\xff\xff\xff\xff\x0f", b"\0", b"\x0b", b"\x0c", b"\x08", b"\x0d\0"]
        {
            let failed = read_message(wrong).last().unwrap().unwrap_err();
            assert!(failed.to_string().contains("not a message"), "{wrong:?}");
        }
    }
}
