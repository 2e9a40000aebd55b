//! Protobuf's wire format: a message as a list of fields, without a schema.
//!
//! Cost: one pass; values of bytes are borrowed. Left out: groups, which are errors.
//! Source: protobuf.dev, "Encoding".

use std::fmt::Display;

use prost::encoding::{decode_key, decode_varint, encode_key, encode_varint, WireType};

use crate::error::{Error, Result};

/// Value of a field, by its wire type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'m> {
    /// An integer or a truth value.
    Number(u64),
    /// A number of 32 bits.
    Float(f32),
    /// A string, bytes or a message; a number of 64 bits.
    Bytes(&'m [u8]),
}

/// Returns the fields of a message, in order.
///
/// # Errors
/// [`Error::format`] with the byte.
pub fn read_message(message: &[u8]) -> Result<Vec<(u32, Value<'_>)>> {
    let (mut found, mut rest) = (Vec::new(), message);
    while !rest.is_empty() {
        let at = message.len() - rest.len();
        let wrong = |error: &dyn Display| Error::format(format!("not a message: {error}"), format!("byte {at}"));
        let (number, wire) = decode_key(&mut rest).map_err(|error| wrong(&error))?;
        let size = match wire {
            WireType::Varint => {
                let value = decode_varint(&mut rest).map_err(|error| wrong(&error))?;
                found.push((number, Value::Number(value)));
                continue;
            }
            WireType::LengthDelimited => decode_varint(&mut rest).map_err(|error| wrong(&error))?,
            WireType::SixtyFourBit => 8,
            WireType::ThirtyTwoBit => 4,
            WireType::StartGroup | WireType::EndGroup => return Err(wrong(&"a group")),
        };
        let split = usize::try_from(size).ok().and_then(|size| rest.split_at_checked(size));
        let (value, after) = split.ok_or_else(|| wrong(&"a field is cut off"))?;
        rest = after;
        found.push((
            number,
            match (wire, value) {
                (WireType::ThirtyTwoBit, &[a, b, c, d]) => Value::Float(f32::from_le_bytes([a, b, c, d])),
                _ => Value::Bytes(value),
            },
        ));
    }
    Ok(found)
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
    fn fields_survive_and_cut_messages_are_errors() {
        let fields = [
            (1, Value::Number(u64::MAX)),
            (15, Value::Bytes(b"abc")),
            (16, Value::Float(-0.5)),
            (16, Value::Number(0)),
            (1 << 20, Value::Bytes(b"")),
        ];
        let mut message = Vec::new();
        for (number, value) in fields {
            put(number, value, &mut message);
        }
        assert_eq!(read_message(&message).unwrap(), fields);
        assert_eq!(read_message(b"\x09\0\0\0\0\0\0\0\x01").unwrap(), [(1, Value::Bytes(b"\0\0\0\0\0\0\0\x01"))]);
        for wrong in
            [&message[..message.len() - 1], b"\x0a\xff\xff\xff\xff\x0f", b"\0", b"\x0b", b"\x0c", b"\x08", b"\x0d\0"]
        {
            assert!(read_message(wrong).unwrap_err().to_string().contains("not a message"), "{wrong:?}");
        }
    }
}
