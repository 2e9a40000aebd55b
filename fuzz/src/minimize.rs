//! Minimization of findings: removes parts while the outcome stays the same.
//!
//! Delta debugging: bytes are removed in halves, quarters and so on (Zeller and Hildebrandt 2002, "Simplifying and
//! isolating failure-inducing input"). In JSON, members and items are removed first, so that the result stays
//! readable.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::mutate::{nodes, Shape};

/// Returns a minimal input for which `same` holds, as it does for `input`.
pub fn minimize(input: &[u8], shape: Shape, time: Duration, same: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let began = Instant::now();
    let goes_on = || began.elapsed() < time;
    let mut small = input.to_vec();
    if shape == Shape::Json {
        small = by_value(small, &same, &goes_on);
        if serde_json::from_slice::<Value>(&small).is_ok() {
            return small;
        }
    }
    by_bytes(small, &same, &goes_on)
}

fn by_value(input: Vec<u8>, same: &impl Fn(&[u8]) -> bool, goes_on: &impl Fn() -> bool) -> Vec<u8> {
    let Ok(mut value) = serde_json::from_slice::<Value>(&input) else { return input };
    if !same(value.to_string().as_bytes()) {
        return input;
    }
    let mut changed = true;
    while changed && goes_on() {
        changed = false;
        for path in nodes(&value) {
            for smaller in value.pointer(&path).map(candidates).unwrap_or_default() {
                if !goes_on() {
                    break;
                }
                let mut attempt = value.clone();
                let Some(node) = attempt.pointer_mut(&path) else { break };
                *node = smaller;
                if same(attempt.to_string().as_bytes()) {
                    value = attempt;
                    changed = true;
                    break;
                }
            }
        }
    }
    value.to_string().into_bytes()
}

/// Returns smaller replacements of a value, the smallest first.
fn candidates(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(items) => {
            let halves = [items.len() / 2..items.len(), 0..items.len() / 2].map(|range| Value::from(&items[range]));
            let without = (0..items.len().min(40)).map(|left_out| {
                let mut fewer = items.clone();
                fewer.remove(left_out);
                Value::Array(fewer)
            });
            if items.is_empty() {
                Vec::new()
            } else {
                halves.into_iter().chain(without).collect()
            }
        }
        Value::Object(members) => members
            .keys()
            .map(|key| {
                let mut fewer = members.clone();
                fewer.remove(key);
                Value::Object(fewer)
            })
            .collect(),
        Value::String(text) if !text.is_empty() => {
            let chars: Vec<char> = text.chars().collect();
            let part = |range: std::ops::Range<usize>| Value::String(chars[range].iter().collect());
            let middle = chars.len() / 2;
            let mut parts = vec![part(0..middle), part(middle..chars.len())];
            if chars.len() > 2 {
                let quarter = chars.len() / 4;
                parts.extend([part(quarter..chars.len()), part(0..chars.len() - quarter)]);
                parts.extend([part(1..chars.len()), part(0..chars.len() - 1)]);
                let without = |at: usize| Value::String([&chars[..at], &chars[at + 1..]].concat().iter().collect());
                parts.extend((1..chars.len().min(40) - 1).map(without));
            }
            parts
        }
        Value::Bool(true) => vec![Value::Bool(false)],
        _ => Vec::new(),
    }
}

fn by_bytes(mut small: Vec<u8>, same: &impl Fn(&[u8]) -> bool, goes_on: &impl Fn() -> bool) -> Vec<u8> {
    let mut size = small.len().div_ceil(2);
    while size > 0 && goes_on() {
        let mut at = 0;
        let mut changed = false;
        while at < small.len() && goes_on() {
            let end = (at + size).min(small.len());
            let attempt = [&small[..at], &small[end..]].concat();
            if same(&attempt) {
                small = attempt;
                changed = true;
            } else {
                at = end;
            }
        }
        if size == 1 && !changed {
            break;
        }
        size = if size == 1 { 1 } else { size / 2 };
    }
    small
}
