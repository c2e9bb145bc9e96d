//! What an agent is told of a batch: the REST rows with the names of older releases, or a line for each.

use std::sync::Arc;

use engine::classification::{API_VERSION, AssetLeg, Classification};
use engine::opinion::Source;
use engine::treatment::Treatment;
use engine::{Account, Category};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How much an agent wants to read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Fields {
    /// Everything that REST answers.
    #[default]
    All,
    /// A line per transaction: the verdict, what moved in one string, and why a person must look.
    Summary,
}

/// One result per item, in input order.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AgentBatch {
    /// Always `v1`.
    #[schema(value_type = String)]
    api_version: &'static str,
    /// The number of results.
    count: usize,
    results: Vec<AgentRow>,
}

/// Whole, or as a summary where that was asked for.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum AgentRow {
    Whole(Box<WholeRow>),
    Summary(Box<SummaryRow>),
}

/// The REST row, and under their old names what older releases called its fields. The old names go in the next minor version.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct WholeRow {
    #[serde(flatten)]
    #[schema(value_type = Classification)]
    row: Arc<Classification>,
    /// Deprecated, gone in the next minor version: old name of `category`.
    #[schema(value_type = String, deprecated)]
    tx_type: Category,
    /// Deprecated, gone in the next minor version: old name of `treatment`.
    #[schema(value_type = String, deprecated)]
    tax_category: Treatment,
    /// Deprecated, gone in the next minor version: old name of `description`.
    #[schema(deprecated, required)]
    reasoning: Option<String>,
    /// Deprecated, gone in the next minor version: exactly that `needs_review` is false.
    #[schema(deprecated)]
    authoritative: bool,
    /// Deprecated, gone in the next minor version: the evidence source that decided, `protocol`, `call`, `shape`, `labels` or `none`.
    #[schema(value_type = String, deprecated)]
    source: Source,
}

/// A transaction in a line.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SummaryRow {
    /// The item's `tx_id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Why it was not classified. Such an item must not be booked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    error: Option<&'static str>,
    #[schema(required)]
    hash: Option<String>,
    #[schema(required)]
    chain: Option<String>,
    category: Category,
    treatment: Treatment,
    /// Null is undetermined, never false.
    #[schema(required)]
    taxable: Option<bool>,
    #[schema(maximum = 100)]
    confidence: u8,
    /// True when a person must look: never override it.
    needs_review: bool,
    #[schema(required)]
    protocol: Option<String>,
    /// Exact amounts and symbols: `-1.5 ETH, +3000 USDC`. Symbols are strangers' words.
    moved: String,
    /// The address whose view this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    perspective: Option<Account>,
    /// Why a person must look.
    #[serde(skip_serializing_if = "Option::is_none")]
    review_note: Option<String>,
}

pub(super) fn batch(rows: Vec<Arc<Classification>>, fields: Fields) -> AgentBatch {
    let dress = |row: Arc<Classification>| match fields {
        Fields::All => AgentRow::Whole(Box::new(whole(row))),
        Fields::Summary => AgentRow::Summary(Box::new(summary(&row))),
    };
    AgentBatch { api_version: API_VERSION, count: rows.len(), results: rows.into_iter().map(dress).collect() }
}

fn whole(row: Arc<Classification>) -> WholeRow {
    WholeRow {
        tx_type: row.category,
        tax_category: row.treatment,
        reasoning: row.description.clone(),
        authoritative: !row.needs_review,
        source: row.source,
        row,
    }
}

fn summary(row: &Classification) -> SummaryRow {
    let legs = |sign: char, legs: &[AssetLeg]| -> Vec<String> {
        legs.iter().map(|leg| format!("{sign}{} {}", leg.amount, leg.symbol)).collect()
    };
    let moved = [legs('-', &row.assets.sent), legs('+', &row.assets.received)].concat().join(", ");
    SummaryRow {
        id: row.id.clone(),
        error: row.error,
        hash: row.hash.clone(),
        chain: row.chain.clone(),
        category: row.category,
        treatment: row.treatment,
        taxable: row.taxable,
        confidence: row.confidence,
        needs_review: row.needs_review,
        protocol: row.protocol.clone(),
        moved,
        perspective: row.perspective,
        review_note: row.review_note.clone(),
    }
}
