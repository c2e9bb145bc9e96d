//! Targets of `fuzz/` over requests: what headers say, and what the whole service answers to anything at all.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::LazyLock;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::response::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header};
use ipnet::IpNet;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tower::ServiceExt;

use crate::app::{self, Demo, Presented};
use crate::auth::{self, Tier};
use crate::config::{Config, Mcp, Nats};
use crate::error::TABLE;
use crate::router;
use crate::store::Database;
use crate::web::{Web, bearer, client_address};

/// Far more than any answer takes: past it a request counts as hanging.
const ANSWER_SECONDS_MAX: u64 = 60;
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// As a seed writes the valid key.
const KEY: &str = "{key}";
/// Below this the agent interface leaves a reading to a person.
const AGENT_FLOOR: u64 = 70;

struct Service {
    runtime: Runtime,
    router: Router,
    key: String,
    _folder: TempDir,
}

#[expect(clippy::expect_used, reason = "without a service there is nothing to hold")]
static SERVICE: LazyLock<Service> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(&folder);
    let (router, key) = runtime.block_on(async {
        let app = app::open(&config, Demo::On).await.expect("the demo opens");
        let key = auth::create(&app.store, "a@example.com", Tier::Enterprise, "", Some(i64::MAX)).await;
        (router::whole(Web::new(app.into(), &config), &config), key.expect("a key").text)
    });
    Service { runtime, router, key, _folder: folder }
});

/// The demo chains alone, without a limit on calls.
pub(crate) fn config(folder: &TempDir) -> Config {
    Config {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        data_dir: folder.path().to_owned(),
        rules: None,
        packs: None,
        lists: engine::rules::Lists::Whole,
        chains: None,
        cors_origins: Vec::new(),
        database: Database::Sqlite(folder.path().join("taxon.db")),
        rate_per_minute: 0,
        pool_anon: i64::MAX,
        pool_dev: i64::MAX,
        cache_memory_mib: 8,
        cache_disk_mib: 0,
        connections_max: 0,
        connections_per_address_max: 0,
        metrics_listen: None,
        trusted_proxies: Vec::new(),
        meter: None,
        webhook_private: false,
        mcp: Mcp { listen: None, hosts: vec!["*".to_owned()] },
        explorers: std::collections::BTreeMap::new(),
        explorers_per_second: 1,
        nats: Nats::default(),
        // With an upstream configured, the public endpoints are not used.
        rpc: [("demo".to_owned(), Vec::new())].into(),
    }
}

/// Lines: the peer, the networks that are trusted, and headers. An untrusted peer is its own client; behind a trusted proxy only an address
/// in the header is accepted. A key is part of the one header that holds it.
pub fn headers(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    let Some(peer) = lines.next().and_then(|line| line.trim().parse::<IpAddr>().ok()) else { return };
    let trusted: Vec<IpNet> =
        lines.next().unwrap_or_default().split(',').filter_map(|text| text.trim().parse().ok()).collect();
    let headers = header_map(lines);
    let found = client_address(peer, &headers, &trusted);
    let peer = peer.to_canonical();
    if found != peer {
        assert!(trusted.iter().any(|network| network.contains(&peer)), "{peer} is a stranger");
        let values = headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
        let mut hops = values.flat_map(|value| value.split(',')).map(str::trim);
        assert!(hops.any(|hop| addresses(hop).contains(&Some(found))), "{found} is in no hop");
    }
    if let Presented::Key(key) = bearer(&headers) {
        let mut all = headers.get_all(header::AUTHORIZATION).iter();
        let one = all.next().and_then(|one| one.to_str().ok()).unwrap_or_default();
        assert!(all.next().is_none() && one.trim_end().ends_with(key), "{one}");
        assert_eq!(key, key.trim());
    }
}

/// Every way in which a hop may be written.
fn addresses(hop: &str) -> [Option<IpAddr>; 3] {
    let bare = hop.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
    let with_port = hop.parse::<SocketAddr>().ok().map(|address| address.ip());
    [hop.parse().ok(), bare, with_port].map(|address| address.map(|address| address.to_canonical()))
}

fn header_map<'a>(lines: impl Iterator<Item = &'a str>) -> HeaderMap {
    let pairs = lines.filter_map(|line| line.split_once(':'));
    let parsed = pairs.filter_map(|(name, value)| {
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_str(value.trim()).ok()?))
    });
    let mut headers = HeaderMap::new();
    for (name, value) in parsed {
        headers.append(name, value);
    }
    headers
}

/// A request, as `METHOD TARGET`, headers, a blank line and a body: it is answered, never with a fault of the service, always with its id;
/// a refusal is the envelope with a documented code and its status, JSON-RPC, or a page.
pub fn http(bytes: &[u8]) {
    let end = bytes.windows(2).position(|two| two == b"\n\n").unwrap_or(bytes.len());
    let (head, body) = bytes.split_at(end);
    let head = String::from_utf8_lossy(head).replace(KEY, &SERVICE.key);
    let mut lines = head.lines();
    let (method, target) = lines.next().and_then(|line| line.split_once(' ')).unwrap_or_default();
    let (Ok(method), Ok(target)) = (Method::from_bytes(method.as_bytes()), target.parse::<Uri>()) else { return };
    let mut request = Request::new(Body::from(body.get(2..).unwrap_or_default().to_vec()));
    *request.headers_mut() = header_map(lines);
    *request.method_mut() = method.clone();
    *request.uri_mut() = target.clone();
    let given = request.headers().get("x-request-id").cloned();
    let (parts, body) = answered(request);
    assert!(!parts.status.is_server_error(), "{method} {target}: {}", parts.status);
    let id = parts.headers.get("x-request-id").map(HeaderValue::as_bytes).unwrap_or_default();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    assert!((1..=64).contains(&id.len()) && id.iter().all(is_plain), "every answer has an id");
    if let Some(given) = given.filter(|given| (1..=64).contains(&given.len()) && given.as_bytes().iter().all(is_plain))
    {
        assert_eq!(id, given.as_bytes(), "the caller's own is kept");
    }
    let is_read = method != Method::HEAD && !parts.headers.contains_key(header::CONTENT_ENCODING);
    if parts.status.is_client_error() && is_read {
        refusal(&parts, &body, target.path());
    }
}

fn refusal(parts: &Parts, body: &Bytes, path: &str) {
    let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let said = String::from_utf8_lossy(body);
    if kind.starts_with("text/html") {
        return assert!(said.starts_with("<!DOCTYPE html>") && said.ends_with("</html>"), "{path}: {said}");
    }
    assert_eq!(kind, "application/json", "{path}: {} {said}", parts.status);
    let told: Value = serde_json::from_slice(body).unwrap_or_default();
    if told.get("jsonrpc").is_some() {
        return assert!(told.pointer("/error/code").is_some_and(Value::is_i64), "{said}");
    }
    let code = told.pointer("/error/code").and_then(Value::as_str).unwrap_or_default();
    assert!(told.pointer("/error/message").is_some_and(|message| message.as_str() != Some("")), "{said}");
    let row = TABLE.iter().find(|row| row.code == code);
    assert_eq!(row.map(|row| row.status), Some(parts.status.as_u16()), "{path}: {said}");
}

/// A message to the agent interface, sent with a key: the answer is JSON-RPC to that very message, and a reading in it keeps the floor.
pub fn mcp(bytes: &[u8]) {
    let mut request = Request::new(Body::from(bytes.to_vec()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::from_static("/mcp");
    let bearer = HeaderValue::from_str(&format!("Bearer {}", SERVICE.key)).ok();
    request.headers_mut().extend(bearer.map(|bearer| (header::AUTHORIZATION, bearer)));
    request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let (parts, body) = answered(request);
    let said = String::from_utf8_lossy(&body);
    assert!(!parts.status.is_server_error(), "{}: {said}", parts.status);
    if parts.status == StatusCode::ACCEPTED {
        return assert!(body.is_empty(), "{said}");
    }
    let told: Value = serde_json::from_slice(&body).unwrap_or_default();
    assert_eq!(told.get("jsonrpc").and_then(Value::as_str), Some("2.0"), "{}: {said}", parts.status);
    assert!(told.get("result").is_some() != told.get("error").is_some(), "{said}");
    assert!(told.get("error").is_none() || told.pointer("/error/code").is_some_and(Value::is_i64), "{said}");
    let asked: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let id = told.get("id").unwrap_or(&Value::Null);
    assert!(id.is_null() || Some(id) == asked.get("id"), "{said}");
    for row in told.pointer("/result/structuredContent/results").and_then(Value::as_array).into_iter().flatten() {
        let is_review = row.get("needs_review").and_then(Value::as_bool);
        assert_eq!(is_review, row.get("taxable").map(Value::is_null), "{row}");
        let confidence = row.get("confidence").and_then(Value::as_u64);
        assert!(is_review == Some(true) || confidence.is_some_and(|confidence| confidence >= AGENT_FLOOR), "{row}");
    }
}

fn answered(mut request: Request<Body>) -> (Parts, Bytes) {
    let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 7));
    request.extensions_mut().insert(ConnectInfo(peer));
    let answer = async {
        let answer = SERVICE.router.clone().oneshot(request).await;
        let (parts, body) = answer.map_or_else(|never| match never {}, axum::http::Response::into_parts);
        (parts, to_bytes(body, ANSWER_BYTES_MAX).await.unwrap_or_default())
    };
    let within = async { tokio::time::timeout(Duration::from_secs(ANSWER_SECONDS_MAX), answer).await };
    let answer = SERVICE.runtime.block_on(within);
    assert!(answer.is_ok(), "the request hangs");
    answer.unwrap_or_else(|_| (axum::http::Response::new(()).into_parts().0, Bytes::new()))
}
