//! Whether an answer is what a page shows. `…` in a page stands for what was left out: part of a line, whole lines when it is alone in one,
//! further fields of an object when it is a name.

use serde_json::Value;

const LEFT_OUT: &str = "…";

/// The places where they differ; none when the page tells the truth.
pub fn json(shown: &Value, real: &Value, at: &str) -> Vec<String> {
    match (shown, real) {
        (Value::Object(shown), Value::Object(real)) => {
            let mut faults = Vec::new();
            for (name, value) in shown.iter().filter(|(name, _)| *name != LEFT_OUT) {
                match real.get(name) {
                    Some(told) => faults.extend(json(value, told, &format!("{at}.{name}"))),
                    None => faults.push(format!("{at}.{name} is not in the answer")),
                }
            }
            if !shown.contains_key(LEFT_OUT) {
                let more = real.keys().filter(|name| !shown.contains_key(*name));
                faults.extend(more.map(|name| format!("{at}.{name} is not on the page")));
            }
            faults
        }
        (Value::Array(shown), Value::Array(real)) => {
            if shown.len() != real.len() {
                return vec![format!("{at} has {} elements, not {}", real.len(), shown.len())];
            }
            let pairs = shown.iter().zip(real).enumerate();
            pairs.flat_map(|(index, (shown, real))| json(shown, real, &format!("{at}[{index}]"))).collect()
        }
        (Value::String(shown), Value::String(real)) if line(shown, real) => Vec::new(),
        (shown, real) if shown == real => Vec::new(),
        (shown, real) => vec![format!("{at} is {real}, not {shown}")],
    }
}

pub fn text(shown: &str, real: &str) -> bool {
    let of = |text: &str| text.trim_matches('\n').lines().map(str::trim_end).map(str::to_owned).collect::<Vec<_>>();
    lines(&of(shown), &of(real))
}

fn lines(shown: &[String], real: &[String]) -> bool {
    match shown.split_first() {
        None => real.is_empty(),
        Some((first, rest)) if first == LEFT_OUT => (0..=real.len()).any(|skipped| lines(rest, &real[skipped..])),
        Some((first, rest)) => real.split_first().is_some_and(|(told, more)| line(first, told) && lines(rest, more)),
    }
}

fn line(shown: &str, real: &str) -> bool {
    match shown.split_once(LEFT_OUT) {
        None => shown == real,
        Some((head, tail)) => real.strip_prefix(head).is_some_and(|rest| {
            rest.char_indices().map(|(at, _)| at).chain([rest.len()]).any(|at| line(tail, &rest[at..]))
        }),
    }
}

#[test]
fn what_is_left_out_may_be_anything_and_what_is_shown_must_be_there() {
    let real: Value = serde_json::from_str(r#"{"a":"one two","b":[1,null],"c":true}"#).unwrap();
    let faults = |shown: &str| json(&serde_json::from_str(shown).unwrap(), &real, "answer").len();
    assert_eq!(faults(r#"{"a":"one two","b":[1,null],"c":true}"#), 0);
    assert_eq!(faults(r#"{"a":"one …","…":"…"}"#), 0);
    assert_eq!(faults(r#"{"a":"two …","…":"…"}"#), 1);
    assert_eq!(faults(r#"{"a":"one two"}"#), 2);
    assert_eq!(faults(r#"{"b":[1],"…":"…"}"#), 1);
    assert_eq!(faults(r#"{"b":[1,false],"…":"…"}"#), 1);
    assert_eq!(faults(r#"{"d":1,"…":"…"}"#), 1);
    assert!(
        text("…\nb …c\n", "a\na\nb   xc\n")
            && text("a\n…\n", "a\n")
            && !text("a\n", "a\nb\n")
            && !text("b\n…\n", "a\nb\n")
    );
}
