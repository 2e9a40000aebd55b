//! Mutations of protobuf messages: decode the fields, change some of them, encode them again.
//!
//! Source: the wire format, protobuf.dev/programming-guides/encoding.

use crate::rng::Rng;

/// Value of a field, by wire type.
#[derive(Debug, Clone)]
enum Payload {
    Varint(u64),
    Fixed64([u8; 8]),
    Bytes(Vec<u8>),
    Fixed32([u8; 4]),
}

type Field = (u64, Payload);

/// Returns a copy with one change; `None` if the input is not a message.
pub fn mutate(input: &[u8], rng: &mut Rng) -> Option<Vec<u8>> {
    let mut fields = read(input)?;
    if fields.is_empty() {
        return None;
    }
    let (at, to) = (rng.below(fields.len()), rng.below(fields.len()));
    match rng.below(10) {
        0 => drop(fields.remove(at)),
        1 => fields.insert(to, fields[at].clone()),
        2 => fields.swap(at, to),
        3 => fields[at].0 = rng.between(0, 20) as u64,
        4 => fields[at].0 = rng.pick(&[0, 1, 2, 3, 15, 16, 41, 1 << 28, 1 << 29, u64::MAX >> 3]),
        5 => fields.truncate(at),
        6 => fields = [fields.clone(), fields].concat(),
        _ => change(&mut fields[at].1, rng),
    }
    let mut bytes = Vec::with_capacity(input.len() + 16);
    for (number, payload) in &fields {
        write(*number, payload, &mut bytes);
    }
    if rng.once_in(20) {
        bytes.extend([(1 << 3) | 2, 0xff, 0xff, 0xff, 0xff, 0x0f]); // a length beyond the end
    }
    if rng.once_in(40) {
        bytes.extend(vec![(1 << 3) | 3; 10_000]); // nested groups
    }
    Some(bytes)
}

fn change(payload: &mut Payload, rng: &mut Rng) {
    const NUMBERS: [u64; 12] = [0, 1, 2, 3, 4, 5, 6, 1 << 24, u32::MAX as u64, 1 << 32, i64::MAX as u64, u64::MAX];
    match payload {
        Payload::Varint(number) => *number = rng.pick(&NUMBERS),
        Payload::Fixed32(bytes) => {
            *bytes = rng
                .pick(&[0f32, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MIN, f32::MAX, -1.0])
                .to_le_bytes();
        }
        Payload::Fixed64(bytes) => *bytes = rng.pick(&[f64::NAN, 0.0, f64::MAX]).to_le_bytes(),
        Payload::Bytes(bytes) => match (mutate(bytes, rng), rng.below(5)) {
            (Some(inner), 1..) => *bytes = inner,
            (_, _) if rng.once_in(8) => *payload = Payload::Varint(rng.bits() >> rng.below(64)),
            _ => *bytes = super::bytes::mutate(bytes, b"", &["\u{2581}", "<0x41>", "<unk>", "\u{2581}\u{2581}"], rng),
        },
    }
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 127).checked_shl(shift)?;
        if byte < 128 {
            return Some(number);
        }
    }
    None
}

fn read(mut bytes: &[u8]) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let mut take = |len: usize| {
            let (head, rest) = bytes.split_at_checked(len)?;
            bytes = rest;
            Some(head)
        };
        let payload = match tag & 7 {
            0 => Payload::Varint(varint(&mut bytes)?),
            1 => Payload::Fixed64(take(8)?.try_into().ok()?),
            2 => {
                let len = varint(&mut bytes)?;
                let (head, rest) = bytes.split_at_checked(usize::try_from(len).ok()?)?;
                bytes = rest;
                Payload::Bytes(head.to_vec())
            }
            5 => Payload::Fixed32(take(4)?.try_into().ok()?),
            _ => return None,
        };
        fields.push((tag >> 3, payload));
    }
    Some(fields)
}

fn write_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 128 {
        out.push(number as u8 | 128);
        number >>= 7;
    }
    out.push(number as u8);
}

fn write(number: u64, payload: &Payload, out: &mut Vec<u8>) {
    let tag = |wire: u64| (number << 3) | wire;
    match payload {
        Payload::Varint(value) => {
            write_varint(tag(0), out);
            write_varint(*value, out);
        }
        Payload::Fixed64(bytes) => {
            write_varint(tag(1), out);
            out.extend(bytes);
        }
        Payload::Bytes(bytes) => {
            write_varint(tag(2), out);
            write_varint(bytes.len() as u64, out);
            out.extend(bytes);
        }
        Payload::Fixed32(bytes) => {
            write_varint(tag(5), out);
            out.extend(bytes);
        }
    }
}
