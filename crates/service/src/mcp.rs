//! The agent interface: a stateless MCP server over streamable HTTP, so that any instance can answer any message. It calls the same use
//! cases through the same entry (`app/door`) as REST.

mod answer;
mod frame;
mod server;
mod tools;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn;
use rmcp::transport::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;

use crate::config::Config;
use crate::web::{BODY_BYTES_MAX, Web};
use server::Server;

/// Names of this very machine.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
/// As an operator writes "any host".
const ANY_HOST: &str = "*";

pub(crate) fn routes(path: &str, web: &Web, config: &Config) -> Router<Web> {
    let server = Arc::new(Server::new(web.clone()));
    let service = StreamableHttpService::new(
        move || Ok(Arc::clone(&server)),
        Arc::new(NeverSessionManager::default()),
        transport(config),
    );
    Router::new().route_service(path, service).layer(from_fn(frame::carry))
}

/// Against DNS rebinding, where a web page reaches a service on its reader's machine: `Host` and `Origin` are compared with what the
/// operator allows.
fn transport(config: &Config) -> StreamableHttpServerConfig {
    let hosts = LOOPBACK.map(str::to_owned).into_iter().chain(config.mcp.hosts.iter().cloned());
    let body = usize::try_from(BODY_BYTES_MAX).unwrap_or(usize::MAX);
    let transport = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(body)
        .with_allowed_origins(config.cors_origins.iter().map(|origin| with_port(origin)))
        .enforce_origin_validation();
    if config.mcp.hosts.iter().any(|host| host == ANY_HOST) {
        transport.disable_allowed_hosts()
    } else {
        transport.with_allowed_hosts(hosts)
    }
}

/// An origin without a port means the default port of its scheme.
fn with_port(origin: &str) -> String {
    let default = match origin.split_once("://") {
        Some(("https", host)) if !has_port(host) => ":443",
        Some(("http", host)) if !has_port(host) => ":80",
        _ => "",
    };
    format!("{origin}{default}")
}

fn has_port(host: &str) -> bool {
    host.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()))
}
