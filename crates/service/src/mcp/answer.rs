//! What an agent is told of a batch: the REST rows with the names of older releases, or a line for each.

use std::sync::Arc;

use engine::classification::{API_VERSION, AssetLeg, Classification, Entry, Posting};
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
    /// A line per transaction: the verdict, what moved in one string, how each part of it is booked, and why a person must look.
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
    /// How every part of what moved, and of gas, is booked: also what is taxable beside the verdict. Absent with `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    postings: Option<Vec<SummaryPosting>>,
    /// The address whose view this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    perspective: Option<Account>,
    /// Where nothing moved for it: accounts for which something did. Ask the user which is theirs, and again with it as `wallet`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    parties: Option<Vec<Account>>,
    /// Why a person must look.
    #[serde(skip_serializing_if = "Option::is_none")]
    review_note: Option<String>,
}

/// A posting in short.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SummaryPosting {
    entry: Entry,
    /// Exact decimal.
    amount: String,
    /// A stranger's word; null when the posting points at no leg.
    #[schema(required)]
    symbol: Option<String>,
    category: Category,
    /// Null is undetermined, never false.
    #[schema(required)]
    taxable: Option<bool>,
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
        postings: postings(row),
        perspective: row.perspective,
        parties: row.parties.clone(),
        review_note: row.review_note.clone(),
    }
}

fn postings(row: &Classification) -> Option<Vec<SummaryPosting>> {
    let short = |posting: &Posting| SummaryPosting {
        entry: posting.entry,
        amount: posting.amount.clone(),
        symbol: row.assets.leg_of(posting).map(|leg| leg.shown_symbol().to_owned()),
        category: posting.category,
        taxable: posting.taxable,
    };
    row.postings.as_ref().map(|postings| postings.iter().map(short).collect())
}

#[cfg(test)]
mod tests {
    use engine::{Question, TxHash};
    use serde_json::{Value, json};

    use super::*;
    use crate::app::{self, Demo, Item};
    use crate::schema::bundle;

    /// A user operation on the demo chain: tokens are sent, which is not taxable, and its fee is paid, which is.
    const OPERATION: &str = "0xfa49f6b701c970fb20304a450f22ac60928d43e2f51985bdfa1a5a4f5f466c63";
    const NOWHERE: &str = "0xabababababababababababababababababababababababababababababababab";

    async fn read(hashes: &[&str]) -> Vec<Arc<Classification>> {
        let folder = tempfile::tempdir().unwrap();
        let reader = Arc::new(app::reader(&crate::fuzzing::demo_config(&folder), Demo::On, None).unwrap());
        let item = |hash: &&str| Item {
            hash: TxHash::parse(hash).unwrap(),
            tx_id: None,
            chain: Some("demo".to_owned()),
            question: Question::default(),
        };
        reader.rows(hashes.iter().map(item).collect()).await
    }

    #[tokio::test]
    async fn a_summary_tells_what_is_taxable_beside_the_rest() {
        let rows = read(&[OPERATION, NOWHERE]).await;
        let told = serde_json::to_value(batch(rows.clone(), Fields::Summary)).unwrap();
        let short = told["results"][0]["postings"].as_array().unwrap();
        let postings = rows[0].postings.as_ref().unwrap();
        assert_eq!(short.len(), postings.len());
        for (short, posting) in short.iter().zip(postings) {
            let expected = json!({
                "entry": posting.entry, "amount": posting.amount, "category": posting.category, "taxable": posting.taxable,
                "symbol": rows[0].assets.leg_of(posting).unwrap().symbol,
            });
            assert_eq!(*short, expected);
        }
        let steps = rows[0].legs.as_ref().unwrap();
        assert!(
            rows[0].taxable == Some(false) && steps.iter().any(|step| step.taxable == Some(true)),
            "a taxable step"
        );
        let is_fee = |short: &Value| short["entry"] == "expense" && short["symbol"] == "ETH";
        assert!(short.iter().any(|short| is_fee(short) && short["taxable"] == true), "{told}");
        assert!(told["results"][1]["error"].is_string() && told["results"][1].get("postings").is_none(), "{told}");
    }

    #[test]
    fn the_schema_of_a_summary_has_postings() {
        let schema = Value::Object(bundle::<AgentBatch>());
        let summary = &schema["$defs"]["SummaryRow"];
        let required = summary["required"].as_array().unwrap();
        assert!(summary["properties"]["postings"].is_object() && !required.contains(&json!("postings")), "{schema}");
        let posting = &schema["$defs"]["SummaryPosting"];
        let names: Vec<&String> = posting["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["amount", "category", "entry", "symbol", "taxable"], "{schema}");
        assert_eq!(posting["required"].as_array().unwrap().len(), 5, "{schema}");
    }
}
