//! Mutations of JSON values: replace, duplicate, move, nest.
//!
//! Source of the odd values: numbers, ids and texts that readers have handled wrongly (see `testdata/hostile`).

use serde_json::{json, Value};

use crate::rng::Rng;

/// Returns the JSON pointers of all values in a document, with at most 40 members of each.
pub fn nodes(value: &Value) -> Vec<String> {
    fn visit(value: &Value, path: &str, out: &mut Vec<String>) {
        out.push(path.to_owned());
        match value {
            Value::Array(items) => {
                for (i, item) in items.iter().enumerate().take(40) {
                    visit(item, &format!("{path}/{i}"), out);
                }
            }
            Value::Object(members) => {
                for (key, member) in members.iter().take(40) {
                    visit(member, &format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")), out);
                }
            }
            _ => {}
        }
    }
    let mut out = Vec::new();
    visit(value, "", &mut out);
    out
}

/// Returns a copy with one change; `None` if the input is not JSON.
pub fn mutate(input: &[u8], words: &[&str], rng: &mut Rng) -> Option<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(input).ok()?;
    let paths = nodes(&value);
    let path = paths[rng.below(paths.len())].clone();
    let other = value.pointer(&paths[rng.below(paths.len())])?.clone();
    let node = value.pointer_mut(&path)?;
    match (rng.below(9), &mut *node) {
        (0, _) => *node = odd(words, rng),
        (1, _) => *node = other,
        (2, Value::Array(items)) if !items.is_empty() => drop(items.remove(rng.below(items.len()))),
        (2, Value::Object(members)) if !members.is_empty() => {
            let key = members.keys().nth(rng.below(members.len()))?.clone();
            members.remove(&key);
        }
        (3, Value::Array(items)) => {
            let at = rng.below(items.len() + 1);
            let new = if items.is_empty() || rng.once_in(3) { odd(words, rng) } else { rng.any(items).clone() };
            items.insert(at, new);
        }
        (3, Value::Object(members)) => {
            let key = if rng.once_in(2) {
                rng.pick(&["", "type", "id", "\u{120}", "<unk>"])
            } else {
                *words.get(rng.below(words.len()))?
            };
            members.insert(key.to_owned(), other);
        }
        (4, Value::Number(number)) => {
            let near = number.as_i64().unwrap_or(0).wrapping_add(rng.between(0, 4) as i64 - 2);
            *node = if rng.once_in(2) { json!(near) } else { number_odd(rng) };
        }
        (5, Value::String(text)) => {
            let changed =
                super::bytes::mutate(text.as_bytes(), other.as_str().unwrap_or_default().as_bytes(), words, rng);
            *text = String::from_utf8_lossy(&changed).into_owned();
        }
        (6, Value::String(text)) => *text = text.repeat(rng.length(300)),
        (7, Value::Object(members)) if !members.is_empty() => return doubled_key(&value, &path, rng),
        (8, _) if rng.once_in(10) => {
            // Deep nesting around a copy, written as text because serde_json limits the depth.
            let depth = rng.pick(&[2, 100, 127, 128, 200, 20_000]);
            let inner = node.to_string();
            let text = value.to_string();
            let (open, close) = rng.pick(&[("[", "]"), ("{\"a\":", "}")]);
            let deep = format!("{}{inner}{}", open.repeat(depth), close.repeat(depth));
            return Some(text.replacen(&inner, &deep, 1).into_bytes());
        }
        (_, Value::Bool(flag)) => *flag = !*flag,
        (_, Value::String(text)) if !words.is_empty() => *text = rng.pick(words).to_string(),
        _ => *node = odd(words, rng),
    }
    serde_json::to_vec(&value).ok()
}

/// Returns the document with a duplicate key in the object at `path`.
fn doubled_key(value: &Value, path: &str, rng: &mut Rng) -> Option<Vec<u8>> {
    let members = value.pointer(path)?.as_object()?;
    let (key, member) = members.iter().nth(rng.below(members.len()))?;
    let whole = value.pointer(path)?.to_string();
    let again = format!("{{{}:{member},{}", serde_json::to_string(key).ok()?, whole.strip_prefix('{')?);
    Some(value.to_string().replacen(&whole, &again, 1).into_bytes())
}

fn number_odd(rng: &mut Rng) -> Value {
    match rng.below(12) {
        0 => json!(-1),
        1 => json!(0.5),
        2 => json!(1e300),
        3 => json!(-1e300),
        4 => json!(u32::MAX),
        5 => json!(u64::from(u32::MAX) + 1),
        6 => json!(u64::MAX),
        7 => json!(i64::MIN),
        8 => json!((1 << 24) - 1),
        9 => json!(1 << 24),
        10 => json!(5e-324),
        _ => json!(rng.below(300)),
    }
}

fn odd(words: &[&str], rng: &mut Rng) -> Value {
    match rng.below(9) {
        0 => Value::Null,
        1 => json!(rng.once_in(2)),
        2 | 3 => number_odd(rng),
        4 => json!([]),
        5 => json!({}),
        6 => json!(""),
        7 => json!(rng.pick(&[
            "\u{0}",
            "\u{e000}",
            "\u{2581}",
            "a b",
            "\u{301}",
            "<0x0A>",
            "<0xFF>",
            "<unk>",
            "(",
            "\\p{L}+",
            "\u{1f600}"
        ])),
        _ if words.is_empty() => json!("a"),
        _ => json!(rng.pick(words)),
    }
}
