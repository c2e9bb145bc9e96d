//! v1 only grows. The snapshot `docs/openapi.json` is what integrators build against; `UPDATE=1 cargo test -p taxon openapi` writes it
//! anew, and refuses to where that would break them.

use super::*;
use crate::router::{keyed_routes, open_routes};

const SNAPSHOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
/// Words about a schema, which may change; the rest is the contract.
const WORDS: [&str; 5] = ["description", "title", "example", "examples", "deprecated"];

type Change = fn(&mut Value);

fn current() -> Value {
    let (_, mut api) = open_routes().split_for_parts();
    api.merge(keyed_routes().split_for_parts().1);
    document(api, None)
}

fn snapshot() -> Value {
    let text = std::fs::read_to_string(SNAPSHOT).unwrap_or_else(|error| panic!("{SNAPSHOT}: {error}"));
    serde_json::from_str(&text).unwrap()
}

#[test]
fn the_document_is_the_one_that_integrators_hold() {
    let now = current();
    if std::env::var_os("UPDATE").is_some() {
        if std::path::Path::new(SNAPSHOT).exists() {
            assert_eq!(breaks(&snapshot(), &now), Vec::<String>::new(), "this change breaks v1: it belongs under /v2");
        }
        std::fs::write(SNAPSHOT, serde_json::to_string_pretty(&now).unwrap() + "\n").unwrap();
    }
    let then = snapshot();
    assert_eq!(breaks(&then, &now), Vec::<String>::new(), "this change breaks v1: it belongs under /v2");
    assert!(
        then == now,
        "the document has changed; read `UPDATE=1 cargo test -p taxon openapi && git diff docs/openapi.json`"
    );
}

#[test]
fn what_would_break_an_integrator_is_noticed() {
    let now = current();
    let breaking: [(&str, Change); 11] = [
        ("a parameter is needed", |it| {
            list(it, "/paths/~1v1~1jobs/post/parameters").push(json!({ "name": "c", "in": "query", "required": true }))
        }),
        ("a path goes", |it| drop(at(it, "/paths").remove("/v1/classify"))),
        ("a status goes", |it| drop(at(it, "/paths/~1v1~1classify/post/responses").remove("502"))),
        ("a parameter goes", |it| drop(at(it, "/paths/~1quota-status/get").remove("parameters"))),
        ("an answer's field goes", |it| drop(properties(it, "Classification").remove("taxable"))),
        ("an answer's field is no longer always there", |it| unrequire(it, "Classification", "category")),
        ("an answer's field changes its type", |it| {
            properties(it, "AssetLeg").insert("amount".to_owned(), json!({ "type": "number" }));
        }),
        ("a treatment comes", |it| list(it, "/components/schemas/Treatment/enum").push(json!("deferred"))),
        ("a ledger action goes", |it| drop(list(it, "/components/schemas/LedgerAction/enum").pop())),
        ("a request's field is needed", |it| {
            list(it, "/components/schemas/SingleRequest/required").push(json!("chain"))
        }),
        ("fewer items are taken", |it| {
            at(it, "/components/schemas/BatchRequest/properties/hashes").insert("maxItems".to_owned(), json!(50));
        }),
    ];
    for (what, change) in breaking {
        let mut changed = now.clone();
        change(&mut changed);
        assert!(!breaks(&now, &changed).is_empty(), "{what}, and nobody notices");
    }
    let growing: [(&str, Change); 4] = [
        ("a parameter comes that nobody has to give", |it| {
            list(it, "/paths/~1v1~1jobs/post/parameters").push(json!({ "name": "colour", "in": "query" }))
        }),
        ("a path comes", |it| drop(at(it, "/paths").insert("/v1/new".to_owned(), json!({ "get": {} })))),
        ("an answer's field comes", |it| {
            properties(it, "Classification").insert("colour".to_owned(), json!({ "type": "string" }));
        }),
        ("a ledger action comes", |it| list(it, "/components/schemas/LedgerAction/enum").push(json!("new"))),
    ];
    for (what, change) in growing {
        let mut changed = now.clone();
        change(&mut changed);
        assert_eq!(breaks(&now, &changed), Vec::<String>::new(), "{what}: that is allowed");
    }
}

#[test]
fn every_field_says_what_it_means() {
    let document = current();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let about = |schema: &Value| schema["description"].as_str().is_some_and(|text| text.len() > 3);
        assert!(about(schema) || schema.get("oneOf").is_some(), "{name}");
        for (field, property) in schema["properties"].as_object().into_iter().flatten() {
            // What refers to another schema says it there; some names say it all.
            let refers = property.to_string().contains("$ref");
            let plain = ["sent", "received", "name", "native_symbol", "native_decimals", "protocol", "description"];
            assert!(about(property) || refers || plain.contains(&field.as_str()), "{name}.{field}");
        }
    }
}

fn at<'a>(document: &'a mut Value, pointer: &str) -> &'a mut Map<String, Value> {
    document.pointer_mut(pointer).and_then(Value::as_object_mut).unwrap_or_else(|| panic!("nothing at {pointer}"))
}

fn list<'a>(document: &'a mut Value, pointer: &str) -> &'a mut Vec<Value> {
    document.pointer_mut(pointer).and_then(Value::as_array_mut).unwrap_or_else(|| panic!("nothing at {pointer}"))
}

fn properties<'a>(document: &'a mut Value, schema: &str) -> &'a mut Map<String, Value> {
    at(document, &format!("/components/schemas/{schema}/properties"))
}

fn unrequire(document: &mut Value, schema: &str, field: &str) {
    list(document, &format!("/components/schemas/{schema}/required")).retain(|name| name != field);
}

/// What an integrator who holds `then` would miss in `now`.
fn breaks(then: &Value, now: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (path, item) in then["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let place = format!("{method} {path}");
            let Some(kept) = now["paths"].get(path).and_then(|item| item.get(method)) else {
                found.push(format!("{place} is gone"));
                continue;
            };
            for (status, response) in operation["responses"].as_object().unwrap() {
                match kept["responses"].get(status) {
                    None => found.push(format!("{place}: {status} is gone")),
                    Some(kept) => {
                        same(&format!("{place} {status}"), &response["content"], &kept["content"], &mut found)
                    }
                }
            }
            // A parameter may come that nobody has to give.
            let named = |parameter: &Value| {
                operation["parameters"].as_array().is_some_and(|then| {
                    then.iter().any(|known| known["name"] == parameter["name"] && known["in"] == parameter["in"])
                })
            };
            let mut kept = kept.clone();
            if let Some(parameters) = kept["parameters"].as_array_mut() {
                parameters.retain(|parameter| parameter["required"] == json!(true) || named(parameter));
            }
            for part in ["parameters", "requestBody", "security"] {
                same(&format!("{place} {part}"), &operation[part], &kept[part], &mut found);
            }
        }
    }
    for (name, schema) in then["components"]["schemas"].as_object().unwrap() {
        match now["components"]["schemas"].get(name) {
            None => found.push(format!("{name} is gone")),
            Some(kept) => narrowed(name, schema, kept, &mut found),
        }
    }
    found
}

fn narrowed(name: &str, then: &Value, now: &Value, found: &mut Vec<String>) {
    let names = |schema: &Value| -> Vec<Value> { schema["required"].as_array().cloned().unwrap_or_default() };
    let (needed, kept) = if REQUESTS.contains(&name) { (names(now), names(then)) } else { (names(then), names(now)) };
    for field in needed.iter().filter(|field| !kept.contains(field)) {
        found.push(format!("{name}.{field}: whether it is always there has changed"));
    }
    for (field, property) in then["properties"].as_object().into_iter().flatten() {
        match now["properties"].get(field) {
            None => found.push(format!("{name}.{field} is gone")),
            Some(kept) => same(&format!("{name}.{field}"), property, kept, found),
        }
    }
    let values = |schema: &Value| schema["enum"].as_array().cloned().unwrap_or_default();
    let (old, new) = (values(then), values(now));
    if old.iter().any(|value| !new.contains(value)) || (name == "Treatment" && old.len() != new.len()) {
        found.push(format!("{name}: its values have changed"));
    }
    for part in ["type", "oneOf", "allOf", "anyOf", "pattern"] {
        same(&format!("{name} {part}"), &then[part], &now[part], found);
    }
}

/// The same but for the words.
fn same(place: &str, then: &Value, now: &Value, found: &mut Vec<String>) {
    if wordless(then) != wordless(now) {
        found.push(format!("{place} has changed"));
    }
}

fn wordless(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| !WORDS.contains(&name.as_str()));
            Value::Object(kept.map(|(name, field)| (name.clone(), wordless(field))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(wordless).collect()),
        other => other.clone(),
    }
}
