//! Hostile input: real answers and requests, mutated. Byte by byte, or member by member where it is JSON, since a flipped
//! byte seldom gets past a JSON parser.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Changes to one input.
const CHANGES_MAX: usize = 6;
/// Bytes that one change adds.
const ADDED_BYTES_MAX: usize = 64;

/// Seeds with bytes flipped, cut, doubled, moved between them; and now and then plain noise.
pub fn bytes(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let bent = (prop::sample::select(seeds.clone()), prop::sample::select(seeds), any::<u64>(), 0..=CHANGES_MAX);
    let bent = bent.prop_map(|(mut one, other, seed, changes)| {
        let mut draw = Draw(seed);
        for _ in 0..changes {
            bend_bytes(&mut one, &other, &mut draw);
        }
        one
    });
    prop_oneof![15 => bent, 1 => prop::collection::vec(any::<u8>(), 0..256)]
}

/// Seeds whose JSON lines have members dropped, doubled, exchanged, retyped or stretched; and now and then bytes of any kind.
pub fn json(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let bent = (prop::sample::select(seeds.clone()), any::<u64>(), 1..=CHANGES_MAX);
    let bent = bent.prop_map(|(seed_bytes, seed, changes)| {
        let mut draw = Draw(seed);
        let mut lines: Vec<Vec<u8>> = seed_bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        for _ in 0..changes {
            let at = draw.below(lines.len());
            if let Some((line, mut value)) =
                lines.get_mut(at).and_then(|line| serde_json::from_slice(line).ok().map(|value| (line, value)))
            {
                bend_json(&mut value, &mut draw);
                *line = value.to_string().into_bytes();
            }
        }
        lines.join(&b'\n')
    });
    prop_oneof![7 => bent, 1 => bytes(seeds)]
}

/// Numbers that follow from a seed alone, so that a failure can be reproduced.
#[derive(Debug)]
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// Zero when there is nothing to choose from.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next()).unwrap_or_default().checked_rem(end).unwrap_or_default()
    }
}

fn bend_bytes(one: &mut Vec<u8>, other: &[u8], draw: &mut Draw) {
    let (from, to) = (draw.below(one.len().saturating_add(1)), draw.below(one.len().saturating_add(1)));
    let part = from.min(to)..from.max(to).min(from.min(to).saturating_add(ADDED_BYTES_MAX));
    match draw.below(7) {
        0 => one.truncate(from),
        1 => drop(one.drain(part)),
        2 => {
            let doubled = one.get(part).unwrap_or_default().to_vec();
            drop(one.splice(to..to, doubled));
        }
        3 => {
            let start = draw.below(other.len());
            let taken = other.get(start..).unwrap_or_default().iter().take(ADDED_BYTES_MAX).copied();
            drop(one.splice(from..from, taken));
        }
        4 => {
            let edge = [0x00, 0xff, 0x7f, 0x80, b'"', b'\\', b'\n', b' ', b'%', b'<', b'0', b'-'];
            let byte = edge.get(draw.below(edge.len())).copied().unwrap_or_default();
            one.insert(from, byte);
        }
        _ => {
            let bit = 1_u8 << draw.below(8);
            if let Some(byte) = one.get_mut(from) {
                *byte ^= bit;
            }
        }
    }
}

/// Changes one place of the value, chosen among all.
fn bend_json(value: &mut Value, draw: &mut Draw) {
    let place = draw.below(count(value));
    let mut left = place;
    if let Some(found) = find(value, &mut left) {
        bend_place(found, draw);
    }
}

fn count(value: &Value) -> usize {
    let inside: usize = match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        _ => 0,
    };
    inside.saturating_add(1)
}

fn find<'a>(value: &'a mut Value, left: &mut usize) -> Option<&'a mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left = left.saturating_sub(1);
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| find(item, left)),
        Value::Object(members) => members.values_mut().find_map(|member| find(member, left)),
        _ => None,
    }
}

fn bend_place(value: &mut Value, draw: &mut Draw) {
    if draw.below(4) == 0 {
        *value = filler(draw);
        return;
    }
    match value {
        Value::Object(members) => bend_object(members, draw),
        Value::Array(items) => {
            let (one, other) = (draw.below(items.len()), draw.below(items.len()));
            match draw.below(4) {
                0 if !items.is_empty() => drop(items.remove(one)),
                1 if !items.is_empty() => items.swap(one, other),
                2 => items.push(filler(draw)),
                _ => {
                    if let Some(item) = items.get(one).cloned() {
                        items.insert(other, item);
                    }
                }
            }
        }
        Value::String(text) => bend_text(text, draw),
        Value::Number(number) => {
            let near = number.as_i64().unwrap_or_default();
            let choices = [json!(near.wrapping_add(1)), json!(near.wrapping_neg()), json!(u64::MAX), json!(0)];
            *value = choices.get(draw.below(choices.len())).cloned().unwrap_or_default();
        }
        Value::Null | Value::Bool(_) => *value = filler(draw),
    }
}

/// Members dropped, renamed, or given the value of another.
fn bend_object(members: &mut Map<String, Value>, draw: &mut Draw) {
    let names: Vec<String> = members.keys().cloned().collect();
    let mut pick = || names.get(draw.below(names.len())).cloned();
    let (Some(one), Some(other)) = (pick(), pick()) else { return };
    match draw.below(3) {
        0 => drop(members.remove(&one)),
        1 => {
            let taken = members.remove(&one).unwrap_or_default();
            members.insert(format!("{one}x"), taken);
        }
        _ => {
            let copied = members.get(&one).cloned().unwrap_or_default();
            members.insert(other, copied);
        }
    }
}

fn bend_text(text: &mut String, draw: &mut Draw) {
    let mut chars: Vec<char> = text.chars().collect();
    let at = draw.below(chars.len().saturating_add(1));
    match draw.below(6) {
        0 => chars.truncate(at),
        1 => {
            // A word of zeros, ones or a number: what ABI data, hashes and amounts are made of.
            let words = [
                "0".repeat(64),
                "f".repeat(64),
                format!("{:064x}", draw.next()),
                "\u{202e}€\0".to_owned(),
                "1".repeat(300),
            ];
            let word: Vec<char> =
                words.get(draw.below(words.len())).map(|word| word.chars().collect()).unwrap_or_default();
            drop(chars.splice(at..at, word));
        }
        2 => drop(chars.splice(at..at, ['€', '\u{0}', '\u{1f600}'])),
        _ => {
            let digits = ['0', '1', '2', 'a', 'f', 'z', 'x', '.', '-', ' '];
            if let (Some(char), Some(digit)) = (chars.get_mut(at), digits.get(draw.below(digits.len()))) {
                *char = *digit;
            }
        }
    }
    *text = chars.into_iter().collect();
}

fn filler(draw: &mut Draw) -> Value {
    let choices = [
        Value::Null,
        json!(true),
        json!(-1),
        json!(1e300),
        json!(u64::MAX),
        json!(""),
        json!("0x"),
        json!("0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"),
        json!("0x0"),
        json!("zzz"),
        json!([]),
        json!({}),
        json!([[[[]]]]),
    ];
    choices.get(draw.below(choices.len())).cloned().unwrap_or_default()
}
