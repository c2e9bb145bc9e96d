//! JSON Schema out of the code's own types, for the OpenAPI document and for the agent interface: one wording for both.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// 32 bytes in hexadecimal; or base58 of 64 bytes, all but those that begin with several zero bytes (one in 65,000).
const HASH: &str = "^(0x[0-9a-fA-F]{64}\
    |[2-5]B{87}|6[1-6]B{86}|67[1-9A-HJ-NP-Za-km-q]B{85}\
    |[3-9A-HJ-NP-Za-km-z]B{86}|2[B-HJ-NP-Za-km-z]B{85}|2A[GHJ-NP-Za-km-z]B{84}\
    |1([2-9A-HJ-NP-Za-km-z]B{85}|2[1-9]B{85}|2A[1-9A-E]B{84}|[HJ-NP-Za-km-z]B{84}|G[F-HJ-NP-Za-km-z]B{83}))$";
/// 20 bytes in hexadecimal; or base58 of 32 bytes, all but those that begin with several zero bytes.
const WALLET: &str = "^(0x[0-9a-fA-F]{40}\
    |[2-9A-H]B{43}|J[1-9A-D]B{42}|JE[1-9A-HJ]B{41}\
    |[5-9A-HJ-NP-Za-km-z]B{42}|4[v-z]B{41}|4u[R-Za-km-z]B{40}\
    |1([2-9A-HJ-NP-Za-km-z]B{41}|[23]B{42}|4[1-9A-HJ-NP-Za-km-t]B{41}|[u-z]B{40}|t[K-NP-Za-km-z]B{39}))$";

fn pattern(short: &str) -> String {
    // The B of a character class is no repeated one.
    short.replace("B{", "[1-9A-HJ-NP-Za-km-z]{")
}

/// A transaction hash as callers write it.
pub(crate) struct HashText;

impl PartialSchema for HashText {
    fn schema() -> RefOr<Schema> {
        let about = "EVM: `0x` and 64 hex digits of any case. Solana: a base58 signature that decodes to exactly 64 bytes. Nothing is \
                     trimmed. Signatures that begin with several zero bytes are taken too, though the pattern leaves them out.";
        let example = "0x4269acca4df0873843feda1b6ecc1aaececfe3e9b7284969c47bc3e73874a109";
        text(about, HASH).examples([example]).into()
    }
}

impl ToSchema for HashText {
    fn name() -> Cow<'static, str> {
        "TxHash".into()
    }
}

/// An address as callers write it.
pub(crate) struct WalletText;

impl PartialSchema for WalletText {
    fn schema() -> RefOr<Schema> {
        let about = "An EVM address, `0x` and 40 hex digits, or a Solana address in base58. Solana addresses that begin with several zero \
                     bytes are taken too, though the pattern leaves them out.";
        text(about, WALLET).into()
    }
}

impl ToSchema for WalletText {
    fn name() -> Cow<'static, str> {
        "Wallet".into()
    }
}

fn text(about: &str, short: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).description(Some(about)).pattern(Some(pattern(short)))
}

/// A type as one schema with all that it refers to.
pub(crate) fn bundle<T: ToSchema>() -> Map<String, Value> {
    let mut parts = Vec::new();
    T::schemas(&mut parts);
    let defs: Map<String, Value> = parts.into_iter().map(|(name, part)| (name, inlined(part))).collect();
    let mut whole = match inlined(T::schema()) {
        Value::Object(whole) => whole,
        other => Map::from_iter([("const".to_owned(), other)]),
    };
    if whole.get("type").is_some_and(|kind| kind == "object") {
        // Some hosts look for it even where nothing is asked.
        whole.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    if !defs.is_empty() {
        whole.insert("$defs".to_owned(), Value::Object(defs));
    }
    whole
}

fn inlined(part: RefOr<Schema>) -> Value {
    let mut value = serde_json::to_value(part).unwrap_or_default();
    refer_to_defs(&mut value);
    value
}

fn refer_to_defs(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(target)) = fields.get_mut("$ref") {
                *target = target.replace("#/components/schemas/", "#/$defs/");
            }
            fields.values_mut().for_each(refer_to_defs);
        }
        Value::Array(items) => items.iter_mut().for_each(refer_to_defs),
        _ => {}
    }
}

/// Drops what a bundled schema no longer refers to.
pub(crate) fn drop_unused_defs(whole: &mut Map<String, Value>) {
    let Some(Value::Object(defs)) = whole.remove("$defs") else { return };
    let mut kept = Map::new();
    let mut unread: Vec<String> = whole.values().flat_map(names).collect();
    while let Some(name) = unread.pop() {
        if let Some(part) = defs.get(&name).filter(|_| !kept.contains_key(&name)) {
            unread.extend(names(part));
            kept.insert(name, part.clone());
        }
    }
    whole.insert("$defs".to_owned(), Value::Object(kept));
}

/// Names of the parts that a schema refers to.
fn names(value: &Value) -> Vec<String> {
    match value {
        Value::String(target) => target.strip_prefix("#/$defs/").map(str::to_owned).into_iter().collect(),
        Value::Object(fields) => fields.values().flat_map(names).collect(),
        Value::Array(items) => items.iter().flat_map(names).collect(),
        _ => Vec::new(),
    }
}

/// In an answer, what is optional is absent and never null.
pub(crate) fn drop_optional_nulls(schema: &mut Value) {
    let required: Vec<String> = match schema.get("required") {
        Some(Value::Array(names)) => names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    };
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for (_, property) in properties.iter_mut().filter(|(name, _)| !required.contains(name)) {
            without_null(property);
        }
    }
}

fn without_null(property: &mut Value) {
    let Value::Object(fields) = property else { return };
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|one| one != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            fields.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(sides)) = fields.get_mut("oneOf") {
        sides.retain(|side| *side != json!({ "type": "null" }));
        if let [Value::Object(one)] = sides.as_slice() {
            let one = one.clone();
            fields.remove("oneOf");
            fields.extend(one);
        }
    }
}

#[cfg(test)]
mod tests {
    use engine::{Account, TxHash};
    use proptest::prelude::*;
    use proptest::string::string_regex;

    use super::*;

    fn strings(short: &str) -> impl Strategy<Value = String> + use<> {
        string_regex(pattern(short).trim_start_matches('^').trim_end_matches('$')).unwrap()
    }

    proptest! {
        /// The service accepts whatever the document calls well formed.
        #[test]
        fn patterns_promise_nothing_that_is_refused(hash in strings(HASH), wallet in strings(WALLET)) {
            prop_assert!(TxHash::parse(&hash).is_ok(), "{}", hash);
            prop_assert!(Account::parse(&wallet).is_ok(), "{}", wallet);
        }
    }
}
