//! `GET /quota-status`: what is left in the caller's pool. It consumes nothing, and says so when the ledger cannot tell: a number here
//! is never made up.

use std::net::SocketAddr;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{ConnectInfo, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::TxHash;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Rest;
use super::gate::{Bearer, bearer};
use crate::auth::Caller;
use crate::error::ApiError;
use crate::limits::Counted;
use crate::store::{Resets, Standing};

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    hash: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Anon,
    Dev,
    Partner,
}

#[derive(Debug, Serialize)]
struct PoolStatus {
    kind: Kind,
    /// Null when the hash that was asked for is a repeat.
    used: Option<i64>,
    limit: i64,
    remaining: Option<i64>,
    repeat: bool,
    exceeded: bool,
    resets: Resets,
}

#[derive(Debug, Serialize)]
struct PartnerStatus {
    kind: Kind,
    metered: &'static str,
    repeat: bool,
    exceeded: bool,
}

pub(super) async fn status(
    State(rest): State<Rest>,
    peer: Option<axum::Extension<ConnectInfo<SocketAddr>>>,
    headers: HeaderMap,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Response, ApiError> {
    let address = rest.address(&headers, peer.as_ref().map(|extension| &extension.0));
    match answer(&rest, &headers, &address, asked).await {
        Err(ApiError::LedgerAway) => {
            let body = json!({ "error": "quota_status_unavailable" });
            Ok((StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response())
        }
        other => other,
    }
}

async fn answer(
    rest: &Rest,
    headers: &HeaderMap,
    address: &str,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Response, ApiError> {
    let key = match bearer(headers) {
        Bearer::Absent => None,
        Bearer::Malformed => return Err(rest.unauthorized(address).await?),
        // A caller who thinks it has a key must not be shown the anonymous pool.
        Bearer::Key(key) => match rest.app.auth.caller(key).await? {
            Some(caller) => Some(caller),
            None => return Err(rest.unauthorized(address).await?),
        },
    };
    let caller = match &key {
        Some(caller) => {
            rest.count(Counted::StatusByKey { key_id: &caller.key_id }).await?;
            Caller::clone(caller)
        }
        None => {
            rest.count(Counted::StatusByAddress(address)).await?;
            rest.app.anonymous(address)
        }
    };
    let Query(asked) = asked.map_err(|error| ApiError::InvalidRequest(error.body_text()))?;
    let hash = asked.hash.map(|text| TxHash::parse(&text)).transpose();
    let hash = hash.map_err(|error| ApiError::InvalidHash(error.to_string()))?;
    let Standing { used, is_counted } = rest.app.quota(&caller.payer, hash).await?;
    let kind = if key.is_some() { Kind::Dev } else { Kind::Anon };
    let Some(limit) = caller.payer.limit else {
        let status =
            PartnerStatus { kind: Kind::Partner, metered: "billing-rail", repeat: is_counted, exceeded: false };
        return Ok(Json(status).into_response());
    };
    let status = PoolStatus {
        kind,
        used: (!is_counted).then_some(used),
        limit,
        remaining: (!is_counted).then_some((limit - used).max(0)),
        repeat: is_counted,
        exceeded: used >= limit,
        resets: caller.payer.resets,
    };
    Ok(Json(status).into_response())
}
