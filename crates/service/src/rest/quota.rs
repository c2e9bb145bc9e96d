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

use crate::app::QuotaStatus;
use crate::error::ApiError;
use crate::schema;
use crate::web::{Web, bearer};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct QuotaQuery {
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
    params(QuotaQuery),
    responses(
        (status = 200, description = "The pool, or that a billing rail counts.", body = QuotaStatus),
        (status = 503, description = "The ledger is out of reach. Never a made-up number. Retry shortly.", body = QuotaUnavailable),
    ),
    security((), ("key" = [])),
)]
pub(crate) async fn status(
    State(web): State<Web>,
    peer: Option<axum::Extension<ConnectInfo<SocketAddr>>>,
    headers: HeaderMap,
    asked: Result<Query<QuotaQuery>, QueryRejection>,
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
    asked: Result<Query<QuotaQuery>, QueryRejection>,
) -> Result<QuotaStatus, ApiError> {
    let asker = web.app.admit_to_status(bearer(headers), address).await?;
    let Query(asked) = asked.map_err(|error| ApiError::invalid_request(error.body_text()))?;
    web.app.quota_status(&asker, asked.hash.as_deref()).await
}
