//! Reads the header of a safetensors file: a JSON object that maps names to tensors, each with type, shape and byte
//! range.
//!
//! Invariant: [`read`] accepts exactly the headers that the safetensors library accepts, even in forms that writers do
//! not use. A tensor can be an array of the three fields type, shape and byte range, instead of an object. If two
//! tensors have the same name, the last tensor is used. Unknown fields of a tensor are parsed and ignored. The tensors
//! must cover the data in order, without gaps.
//!
//! Cost: time linear in the length of the header; 4 bytes of memory for each byte of the header. Source:
//! huggingface/safetensors 0.8.0, `src/tensor.rs` (`read_metadata`, `validate`, deserializers derived by serde). Left
//! out: the length field before the header, and the data of the tensors.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::json_object::unreadable;
use crate::error::{Error, Result};

/// Maximum length of a header in bytes.
pub const MAX_LEN: usize = 100_000_000;

/// Type of a tensor's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[allow(non_camel_case_types, missing_docs, reason = "named as in the file")]
pub enum Dtype {
    BOOL,
    F4,
    F6_E2M3,
    F6_E3M2,
    U8,
    I8,
    F8_E5M2,
    F8_E4M3,
    F8_E8M0,
    F8_E4M3FNUZ,
    F8_E5M2FNUZ,
    I16,
    U16,
    F16,
    BF16,
    I32,
    U32,
    F32,
    C64,
    F64,
    I64,
    U64,
}

impl Dtype {
    fn bits(self) -> u64 {
        match self {
            Self::F4 => 4,
            Self::F6_E2M3 | Self::F6_E3M2 => 6,
            Self::BOOL | Self::U8 | Self::I8 => 8,
            Self::F8_E5M2 | Self::F8_E4M3 | Self::F8_E8M0 | Self::F8_E4M3FNUZ | Self::F8_E5M2FNUZ => 8,
            Self::I16 | Self::U16 | Self::F16 | Self::BF16 => 16,
            Self::I32 | Self::U32 | Self::F32 => 32,
            Self::C64 | Self::F64 | Self::I64 | Self::U64 => 64,
        }
    }
}

/// A tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// Type of the elements.
    pub dtype: Dtype,
    /// Size of each dimension.
    pub shape: Vec<u64>,
    /// Half-open byte range of the data, counted from the end of the header.
    pub data_offsets: (u64, u64),
}

/// A header.
#[derive(Debug, Default)]
pub struct Header {
    /// Free-form metadata of the file.
    pub metadata: Option<BTreeMap<String, String>>,
    /// Tensors with their names, in the order of their byte ranges, then by name.
    pub tensors: Vec<(String, Tensor)>,
}

/// Reads a header. `size`: number of bytes of data after the header.
///
/// # Errors
/// [`Error::format`] for a header that the safetensors library refuses.
pub fn read(json: &[u8], size: u64) -> Result<Header> {
    if json.len() > MAX_LEN {
        return Err(Error::format(format!("the header is longer than {MAX_LEN} bytes"), "byte 0"));
    }
    let raw: RawHeader = serde_json::from_slice(json).map_err(|error| unreadable("header", &error))?;
    let mut tensors: Vec<_> = raw.tensors.into_iter().collect();
    tensors.sort_by_key(|(_, tensor)| tensor.data_offsets); // a stable sort keeps the order of names
    let mut at = 0;
    for (name, tensor) in &tensors {
        let wrong = |what: String| Error::format(what, format!("$[{:?}]", crate::vocab::show(name.as_bytes())));
        let (start, end) = tensor.data_offsets;
        if start != at || end < start {
            return Err(wrong(format!("the tensor has the bytes {start} to {end}, and must begin at {at}")));
        }
        let count = tensor.shape.iter().try_fold(1u64, |count, &dim| count.checked_mul(dim));
        let bits = count.and_then(|count| count.checked_mul(tensor.dtype.bits()));
        if bits.is_none_or(|bits| bits % 8 != 0 || bits / 8 != end - start) {
            return Err(wrong(format!("the tensor has {} bytes, which is not the size of its shape", end - start)));
        }
        at = end;
    }
    if at != size {
        return Err(Error::format(
            format!("the tensors have {at} bytes, but the file has {size} after its header"),
            "$",
        ));
    }
    Ok(Header { metadata: raw.metadata, tensors })
}

struct RawHeader {
    metadata: Option<BTreeMap<String, String>>,
    tensors: BTreeMap<String, Tensor>,
}

impl<'de> Deserialize<'de> for RawHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_map(HeaderVisitor)
    }
}

struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = RawHeader;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<RawHeader, A::Error> {
        let (mut metadata, mut tensors) = (None, BTreeMap::new());
        while let Some(key) = map.next_key::<String>()? {
            if key != "__metadata__" {
                tensors.insert(key, map.next_value()?);
            } else if metadata.replace(map.next_value()?).is_some() {
                return Err(A::Error::duplicate_field("__metadata__"));
            }
        }
        Ok(RawHeader { metadata: metadata.flatten(), tensors })
    }
}

#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Field {
    Dtype,
    Shape,
    DataOffsets,
    #[serde(other)]
    Other,
}

impl<'de> Deserialize<'de> for Tensor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_struct("Tensor", &["dtype", "shape", "data_offsets"], TensorVisitor)
    }
}

struct TensorVisitor;

impl<'de> Visitor<'de> for TensorVisitor {
    type Value = Tensor;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tensor: an object of dtype, shape and data_offsets")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<Tensor, A::Error> {
        let missing = |len| A::Error::invalid_length(len, &"dtype, shape and data_offsets");
        Ok(Tensor {
            dtype: seq.next_element()?.ok_or_else(|| missing(0))?,
            shape: seq.next_element()?.ok_or_else(|| missing(1))?,
            data_offsets: seq.next_element()?.ok_or_else(|| missing(2))?,
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Tensor, A::Error> {
        let (mut dtype, mut shape, mut data_offsets) = (None, None, None);
        while let Some(field) = map.next_key()? {
            let twice = match field {
                Field::Dtype => dtype.replace(map.next_value()?).is_some().then_some("dtype"),
                Field::Shape => shape.replace(map.next_value()?).is_some().then_some("shape"),
                Field::DataOffsets => data_offsets.replace(map.next_value()?).is_some().then_some("data_offsets"),
                Field::Other => {
                    map.next_value::<Parsed>()?;
                    None
                }
            };
            if let Some(name) = twice {
                return Err(A::Error::duplicate_field(name));
            }
        }
        Ok(Tensor {
            dtype: dtype.ok_or_else(|| A::Error::missing_field("dtype"))?,
            shape: shape.ok_or_else(|| A::Error::missing_field("shape"))?,
            data_offsets: data_offsets.ok_or_else(|| A::Error::missing_field("data_offsets"))?,
        })
    }
}

/// A value that is parsed and dropped. `IgnoredAny` is not used, because it also accepts lone surrogates and any
/// nesting depth.
struct Parsed;

impl<'de> Deserialize<'de> for Parsed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Parsed {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<Self, A::Error> {
        while seq.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self, A::Error> {
        while map.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn tensors_are_ordered_by_their_bytes() {
        let json = r#" {"b": ["F32", [1], [2, 6]], "__metadata__": {"x": "y"}, "é": {"dtype": "F4", "shape": [2, 2], "data_offsets": [0, 2]},
            "c": {"dtype": {"U8": null}, "shape": [9, 0], "data_offsets": [2, 2], "more": [{"a": null}]}} "#;
        let json = json.as_bytes();
        let header = read(json, 6).unwrap();
        assert_eq!(header.tensors.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["é", "c", "b"]);
        assert_eq!(header.tensors[1].1.shape, [9, 0]);
        assert_eq!(header.metadata.unwrap()["x"], "y");
        assert!(read(json, 7).unwrap_err().to_string().contains("7 after its header"));
    }

    #[test]
    fn headers_that_the_library_refuses_are_errors() {
        let tensor = |fields: &str| format!(r#"{{"a": {{"dtype": "F32", {fields}}}}}"#);
        for (json, message) in [
            ("", "EOF"),
            ("[]", "expected an object"),
            (r#"{"__metadata__": {"a": 1}}"#, "expected a string"),
            (r#"{"__metadata__": {}, "__metadata__": {}}"#, "duplicate field"),
            (r#"{"a": null}"#, "expected a tensor"),
            (r#"{"a": ["F32", [1], [0, 4], 1]}"#, "trailing"),
            (r#"{"a": ["F31", [1], [0, 4]]}"#, "unknown variant"),
            (r#"{"a": {"dtype": "F4", "shape": [1], "data_offsets": [0, 0]}}"#, "not the size"),
            (&tensor(r#""shape": [1.0], "data_offsets": [0, 4]"#), "floating point"),
            (&tensor(r#""shape": [4294967296, 4294967296, 0], "data_offsets": [0, 0]"#), "not the size"),
            (&tensor(r#""shape": [1], "data_offsets": [4, 0]"#), "must begin at 0"),
            (&tensor(r#""shape": [1], "data_offsets": [0, 4, 0]"#), "trailing"),
            (&tensor(r#""shape": [1], "shape": [1], "data_offsets": [0, 4]"#), "duplicate field"),
            (&tensor(r#""shape": [1]"#), "missing field"),
            (&tensor(r#""shape": [1], "data_offsets": [0, 4], "x": "\ud800""#), "hex escape"),
            (&tensor(r#""shape": [1], "data_offsets": [0, 4], "x": 1e999"#), "out of range"),
            (&tensor(&format!(r#""shape": [1], "data_offsets": [0, 4], "x": {}"#, "[".repeat(200))), "recursion"),
        ] {
            let error = read(json.as_bytes(), 4).unwrap_err().to_string();
            assert!(error.contains(message), "{json}: {error}");
        }
    }
}
