//! `GET /quota-status`: what is left in the caller's pool. It consumes nothing, and says so when the ledger cannot tell: a number here
//! is never made up.

use std::net::SocketAddr;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{ConnectInfo, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::app::{Asker, QuotaStatus};
use crate::auth::Caller;
use crate::error::ApiError;
use crate::limits::Counted;
use crate::schema;
use crate::web::{Bearer, Web, bearer};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Asked {
    /// Also tells in `repeat` whether this hash was counted in the period.
    #[param(value_type = Option<schema::HashText>, nullable = false)]
    hash: Option<String>,
}

/// The one body that is not the envelope.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct QuotaUnavailable {
    /// Always `quota_status_unavailable`.
    #[schema(value_type = String, pattern = "^quota_status_unavailable$")]
    error: &'static str,
}

/// What is left in the caller's pool
///
/// Free, and consumes nothing. With a key: its owner's pool of the month. Without: the address's pool of the day. Limited like the classify
/// calls, per key or per address.
#[utoipa::path(
    get,
    path = "/quota-status",
    operation_id = "quota_status",
    tag = "Quota",
    params(Asked),
    responses(
        (status = 200, description = "The pool, or that a billing rail counts.", body = QuotaStatus),
        (status = 503, description = "The ledger is out of reach. Never a made-up number. Retry shortly.", body = QuotaUnavailable),
    ),
    security((), ("key" = [])),
)]
pub(super) async fn status(
    State(web): State<Web>,
    peer: Option<axum::Extension<ConnectInfo<SocketAddr>>>,
    headers: HeaderMap,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Response, ApiError> {
    let address = web.address(&headers, peer.as_ref().map(|extension| &extension.0));
    match answer(&web, &headers, &address, asked).await {
        Err(ApiError::LedgerAway) => {
            let body = QuotaUnavailable { error: "quota_status_unavailable" };
            Ok((StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response())
        }
        other => other.map(|status| Json(status).into_response()),
    }
}

async fn answer(
    web: &Web,
    headers: &HeaderMap,
    address: &str,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<QuotaStatus, ApiError> {
    let key = match bearer(headers) {
        Bearer::Absent => None,
        Bearer::Malformed => return Err(web.unauthorized(address).await?),
        // A caller who thinks it has a key must not be shown the anonymous pool.
        Bearer::Key(key) => match web.app.auth.caller(key).await? {
            Some(caller) => Some(caller),
            None => return Err(web.unauthorized(address).await?),
        },
    };
    let caller = match &key {
        Some(caller) => {
            web.count(Counted::StatusByKey { key_id: &caller.key_id }).await?;
            Caller::clone(caller)
        }
        None => {
            web.count(Counted::StatusByAddress(address)).await?;
            web.app.anonymous(address)
        }
    };
    let Query(asked) = asked.map_err(|error| ApiError::InvalidRequest(error.body_text()))?;
    let asker = if key.is_some() { Asker::Keyed(&caller) } else { Asker::Anonymous(&caller) };
    web.app.quota_status(asker, asked.hash.as_deref()).await
}
