//! The OpenAPI document: generated from the routes and their types, the error table, and recorded answers of the service. The only data
//! that it reads is the list of chains that this instance serves.

use std::borrow::Cow;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use serde_json::{Map, Value, json};
use utoipa::{OpenApi, ToSchema};

use crate::app::Reader;
use crate::error::{ErrorEnvelope, Met, TABLE, samples};
use crate::rest::quota::QuotaUnavailable;
use crate::schema::drop_optional_nulls;
use crate::web::StaticFile;

#[derive(OpenApi)]
#[openapi(components(schemas(ErrorEnvelope, QuotaUnavailable)))]
struct Base;

/// Answers of the demo chains; a test asks the service for them again.
const EXAMPLES: &str = include_str!("openapi/examples.json");
const ABOUT: &str = include_str!("openapi/about.md");

/// Statuses of the error table that an operation answers with, beside those that its handler names.
const FAILURES: &[(&str, &[u16])] = &[
    ("/v1/classify", &[400, 401, 402, 404, 429, 500, 502]),
    ("/v1/classify-batch", &[400, 401, 402, 429, 500]),
    ("/v1/journal", &[400, 401, 429, 500]),
    ("/v1/books", &[401, 404, 429, 500]),
    ("/v1/jobs", &[400, 401, 404, 429, 500]),
    ("/v1/jobs/wallets", &[400, 401, 404, 429, 500]),
    ("/v1/jobs/{id}/start", &[401, 404, 429, 500]),
    ("/v1/jobs/{id}", &[401, 404, 429, 500]),
    ("/v1/jobs/{id}/results", &[400, 401, 404, 429, 500]),
    ("/quota-status", &[400, 401, 429]),
];
/// Schemas that callers send; the others are answers.
const REQUESTS: [&str; 11] = [
    "SingleRequest",
    "BatchRequest",
    "BatchItem",
    "Policy",
    "JournalRequest",
    "WalletsJob",
    "JournalPrice",
    "ChartForm",
    "Chart",
    "AccountName",
    "AccountRow",
];

/// For one instance, with the chains that it serves, or for any.
pub(crate) fn document(api: utoipa::openapi::OpenApi, instance: Option<&Reader>) -> Value {
    let mut base = Base::openapi();
    base.merge(api);
    let mut document = serde_json::to_value(base).unwrap_or_default();
    let fields = [
        (
            "info",
            json!({
                "title": "taxon",
                "version": env!("CARGO_PKG_VERSION"),
                "summary": "Reads blockchain transactions for tax.",
                "description": guide(),
                "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
            }),
        ),
        ("servers", json!([{ "url": "/", "description": "This instance." }])),
        (
            "tags",
            json!([
                { "name": "Classify", "description": "What a transaction was for tax." },
                { "name": "Books", "description": "Results as lines of a journal, and the books that jobs belong to." },
                { "name": "Jobs", "description": "Whole tables, or all that wallets did, read while the caller does something else." },
                { "name": "Quota", "description": "What is left." },
                { "name": "Reference", "description": "Tables that change rarely." },
                { "name": "Health", "description": "For operators." },
            ]),
        ),
        ("externalDocs", json!({ "url": "/docs", "description": "Quickstart, concepts, categories, errors." })),
    ];
    if let Value::Object(whole) = &mut document {
        whole.extend(fields.map(|(name, value)| (name.to_owned(), value)));
    }
    if let Some(components) = document.get_mut("components").and_then(Value::as_object_mut) {
        components.insert("securitySchemes".to_owned(), security());
        components.insert("responses".to_owned(), failures());
        components.insert("headers".to_owned(), headers());
        let schemas = components.get_mut("schemas").and_then(Value::as_object_mut);
        for (_, schema) in schemas.into_iter().flatten().filter(|(name, _)| !REQUESTS.contains(&name.as_str())) {
            drop_optional_nulls(schema);
        }
    }
    let examples: Value = serde_json::from_str(EXAMPLES).unwrap_or_default();
    for (path, item) in document.get_mut("paths").and_then(Value::as_object_mut).into_iter().flatten() {
        for operation in item.as_object_mut().into_iter().flat_map(Map::values_mut) {
            describe(path, operation, &examples);
        }
    }
    if let Some(reader) = instance {
        of_instance(&mut document, reader);
    }
    document
}

/// What an integrator or an agent must know, in one page.
pub(crate) fn guide() -> String {
    format!("{ABOUT}\n{}", error_page())
}

/// Failures, headers and examples of one operation.
fn describe(path: &str, operation: &mut Value, examples: &Value) {
    let statuses = FAILURES.iter().find(|(of, _)| *of == path).map_or(&[][..], |(_, statuses)| statuses);
    if let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) {
        for response in responses.values_mut().filter_map(Value::as_object_mut) {
            response.insert("headers".to_owned(), json!({ "x-request-id": refer("headers", "RequestId") }));
        }
        responses.extend(statuses.iter().map(|status| (status.to_string(), refer("responses", &name_of(*status)))));
        let answer = responses.get_mut("200").and_then(|response| response.get_mut("content"));
        exemplify(answer, examples.get(path).and_then(|example| example.get("response")));
    }
    let body = operation.get_mut("requestBody").and_then(|body| body.get_mut("content"));
    exemplify(body, examples.get(path).and_then(|example| example.get("request")));
}

fn exemplify(content: Option<&mut Value>, example: Option<&Value>) {
    let media = content.and_then(|content| content.get_mut("application/json")).and_then(Value::as_object_mut);
    if let (Some(media), Some(example)) = (media, example) {
        media.insert("example".to_owned(), example.clone());
    }
}

fn refer(kind: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/components/{kind}/{name}") })
}

fn name_of(status: u16) -> String {
    format!("Failed{status}")
}

fn security() -> Value {
    json!({ "key": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "txn_ + 8 characters + _ + 32 characters",
        "description": "`Authorization: Bearer <key>`. An operator makes keys with `taxon keys create`. One key works here and on `/mcp`.",
    } })
}

fn headers() -> Value {
    json!({
        "RequestId": {
            "description": "The client's own `x-request-id` when it is 1 to 64 of `[A-Za-z0-9._-]`, else a fresh one. Name it when you report \
                            something.",
            "schema": { "type": "string", "minLength": 1, "maxLength": 64 },
        },
        "RetryAfter": { "description": "Whole seconds to wait.", "required": true, "schema": { "type": "integer", "minimum": 1 } },
        "Authenticate": { "description": "Always `Bearer`.", "required": true, "schema": { "type": "string" } },
    })
}

/// Every failing status with the codes that come with it, each with an example and with what to do.
fn failures() -> Value {
    let mut responses = Map::new();
    let mut statuses: Vec<u16> = FAILURES.iter().flat_map(|(_, statuses)| *statuses).copied().collect();
    statuses.sort_unstable();
    statuses.dedup();
    for status in statuses {
        let rows = TABLE.iter().filter(|row| row.status == status && row.met != Met::Item && row.code != "not_found");
        let lines: Vec<String> =
            rows.clone().map(|row| format!("- `{}`: {} **Do:** {}", row.code, row.condition, row.action)).collect();
        let examples: Map<String, Value> = rows
            .filter_map(|row| {
                let sample = samples().into_iter().find(|sample| sample.code() == row.code)?;
                Some((row.code.to_owned(), json!({ "value": sample.envelope() })))
            })
            .collect();
        let mut headers = Map::from_iter([("x-request-id".to_owned(), refer("headers", "RequestId"))]);
        match status {
            401 => drop(headers.insert("WWW-Authenticate".to_owned(), refer("headers", "Authenticate"))),
            429 => drop(headers.insert("Retry-After".to_owned(), refer("headers", "RetryAfter"))),
            _ => {}
        }
        let content = json!({ "application/json": {
            "schema": refer("schemas", &ErrorEnvelope::name()),
            "examples": examples,
        } });
        let response = json!({ "description": lines.join("\n"), "headers": headers, "content": content });
        responses.insert(name_of(status), response);
    }
    Value::Object(responses)
}

/// The error table as Markdown.
fn error_page() -> String {
    let mut page = "## Errors\n\nEvery error comes as `ErrorEnvelope`, except the 503 of `/quota-status`. Codes are stable, messages may change.\n\n\
                    | code | status | in a batch | when | do |\n|---|---|---|---|---|\n"
        .to_owned();
    for row in TABLE {
        let item = match row.met {
            Met::Call => "",
            Met::CallAndItem => "per item",
            Met::Item => "per item only",
        };
        let line = format!("| `{}` | {} | {item} | {} | {} |\n", row.code, row.status, row.condition, row.action);
        page.push_str(&line);
    }
    page
}

/// The chains that this instance takes on the single call, and its own engine in the examples.
fn of_instance(document: &mut Value, reader: &Reader) {
    let chain =
        document.pointer_mut("/components/schemas/SingleRequest/properties/chain").and_then(Value::as_object_mut);
    if let Some(chain) = chain {
        let mut names: Vec<Value> = vec![Value::Null];
        for served in reader.served_chains() {
            let id = served.chain_id.map(|id| id.to_string());
            let spellings = std::iter::once(served.slug.clone()).chain(served.aliases.iter().cloned()).chain(id);
            names.extend(spellings.map(Value::String));
        }
        chain.insert("enum".to_owned(), Value::Array(names));
    }
    name_engine(document, &reader.knowledge.engine);
}

fn name_engine(value: &mut Value, engine: &str) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if name == "engine" => engine.clone_into(text),
                    other => name_engine(other, engine),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| name_engine(item, engine)),
        _ => {}
    }
}

/// Nothing but our own files, and calls to ourselves.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const PAGE: &str = include_str!("openapi/page.html");
const SCRIPT: &str = include_str!("openapi/page.js");

/// `/openapi.json`, and Swagger UI on it.
pub(crate) fn router<S: Clone + Send + Sync + 'static>(document: &Value) -> Router<S> {
    let script = "text/javascript; charset=utf-8";
    let files: [(&str, &str, Cow<'static, [u8]>); 5] = [
        ("/openapi.json", "application/json", serde_json::to_vec(document).unwrap_or_default().into()),
        ("/docs/api", "text/html; charset=utf-8", PAGE.as_bytes().into()),
        ("/docs/api/page.js", script, SCRIPT.as_bytes().into()),
        ("/docs/api/swagger-ui.css", "text/css; charset=utf-8", swagger("swagger-ui.css")),
        ("/docs/api/swagger-ui.js", script, swagger("swagger-ui-bundle.js")),
    ];
    files.into_iter().fold(Router::new(), |router, (path, kind, bytes)| {
        let bytes = match bytes {
            Cow::Borrowed(bytes) => Bytes::from_static(bytes),
            Cow::Owned(bytes) => bytes.into(),
        };
        router.route(path, StaticFile::new(kind, POLICY, bytes).route())
    })
}

fn swagger(name: &str) -> Cow<'static, [u8]> {
    let found = utoipa_swagger_ui::serve(name, Arc::new(utoipa_swagger_ui::Config::default()));
    found.ok().flatten().map(|file| file.bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests;
