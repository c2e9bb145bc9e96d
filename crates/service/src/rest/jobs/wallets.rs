//! `/v1/jobs/wallets`: what wallets did is looked up, and read as a table would be.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::Policy;
use engine::policy::KEYS;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::app::{AdmittedCall, JobStatus, WalletsRequest};
use crate::error::ApiError;
use crate::rest::body::JsonBody;
use crate::schema;
use crate::web::Web;

/// Wallets whose transactions are looked up. Unknown fields are ignored; null is absent.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct WalletsJob {
    /// Each transaction is read as its wallet saw it. Moves between the wallets, and those of the book, are `self_transfer`.
    #[schema(value_type = Vec<schema::WalletText>, min_items = 1, max_items = 100)]
    wallets: Vec<String>,
    /// Where to look. Every served chain that lists accounts when absent.
    chain: Option<String>,
    /// The first day, in UTC.
    #[schema(example = "2024-01-01")]
    from: Option<String>,
    /// The last day, itself counted in.
    #[schema(example = "2024-12-31")]
    to: Option<String>,
    /// The book that it belongs to, whose wallets and policy it is read with: an `id` of `GET /v1/books`. The first when absent.
    book: Option<String>,
    /// What to call it.
    name: Option<String>,
    /// Further addresses of the same person, which are not looked up.
    #[schema(value_type = Option<Vec<schema::WalletText>>, max_items = 1_000)]
    own_wallets: Option<Vec<String>>,
    policy: Option<Policy>,
    /// `false` keeps it `ready` until `POST /v1/jobs/{id}/start`, so that what was found can be looked at before anything is counted.
    start: Option<bool>,
}

impl From<WalletsJob> for WalletsRequest {
    fn from(body: WalletsJob) -> Self {
        let chosen = body.policy.unwrap_or_default();
        let policy = KEYS.iter().filter_map(|row| {
            let choice = row.choice_of(chosen.chosen(row.key)?)?;
            Some((row.name.to_owned(), choice.name.to_owned()))
        });
        Self {
            book: body.book,
            name: body.name,
            wallets: body.wallets,
            has_book_wallets: false,
            chain: body.chain,
            from: body.from,
            to: body.to,
            own_wallets: body.own_wallets.unwrap_or_default(),
            policy: policy.collect(),
            waits: body.start == Some(false),
        }
    }
}

/// Have all that wallets did classified
///
/// On Solana the node lists it, on EVM chains an explorer; a 400 says where neither does. Looking up takes as long as the source is slow: the job is
/// `listing` meanwhile, and `table` says what was found and what the sources cannot show. Then it is a job like any other.
#[utoipa::path(
    post,
    path = "/v1/jobs/wallets",
    operation_id = "create_wallets_job",
    tag = "Jobs",
    request_body = WalletsJob,
    responses((status = 202, description = "The wallets are being looked up.", body = JobStatus)),
    security(("key" = [])),
)]
pub(crate) async fn create(
    State(web): State<Web>,
    call: AdmittedCall,
    JsonBody(body): JsonBody<WalletsJob>,
) -> Result<(StatusCode, Json<JobStatus>), ApiError> {
    let status = web.app.take_wallets(&call, body.into()).await?;
    Ok((StatusCode::ACCEPTED, Json(status)))
}
