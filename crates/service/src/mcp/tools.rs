//! The tools: what each is called, what it takes and gives, and the use case behind it.

use std::sync::Arc;

use engine::category::TABLE;
use engine::treatments::CategoryRow;
use engine::{Account, Category};
use rmcp::model::{Tool, ToolAnnotations};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_path_to_error::{Path, Segment};
use utoipa::ToSchema;

use super::answer::{AgentBatch, Fields, batch};
use crate::app::{
    BatchRequest, ChainList, DISCLAIMER, JournalAnswer, JournalRequest, KnownAddress, QuotaStatus, RequestId,
};
use crate::auth::Caller;
use crate::error::{ApiError, Invalid};
use crate::schema::{HashText, WalletText, bundle, drop_optional_nulls, drop_unused_defs};
use crate::web::Web;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolName {
    ClassifyBatch,
    QuotaStatus,
    ListChains,
    ExplainCategory,
    LookupContract,
    MapToChartOfAccounts,
}

/// Agents act on answers without a person: below this confidence the answer is left to review.
const REVIEW_BELOW: u8 = 70;

const ALL: [ToolName; 6] = [
    ToolName::ClassifyBatch,
    ToolName::QuotaStatus,
    ToolName::ListChains,
    ToolName::ExplainCategory,
    ToolName::LookupContract,
    ToolName::MapToChartOfAccounts,
];

/// An answer for programs, and the same for readers, in the order of its fields.
#[derive(Debug)]
pub(super) struct ToolAnswer {
    pub(super) structured: Value,
    pub(super) text: String,
}

/// How much of the answer to tell.
#[derive(Debug, Deserialize, ToSchema)]
struct ToldArguments {
    /// `summary` tells a line per transaction, for agents with little room. Everything when absent.
    fields: Option<Fields>,
}

/// Whose pool: the key's owner's.
#[derive(Debug, Deserialize, ToSchema)]
struct QuotaArguments {
    /// Also tells in `repeat` whether this hash was counted in the period, so that asking again is free.
    #[schema(value_type = Option<HashText>)]
    hash: Option<String>,
}

/// Nothing is asked.
#[derive(Debug, Deserialize, ToSchema)]
struct NoArguments {}

/// Which category.
#[derive(Debug, Deserialize, ToSchema)]
struct CategoryArguments {
    /// As on a result, such as `swap`.
    category: String,
}

/// Which contract, account or program.
#[derive(Debug, Deserialize, ToSchema)]
struct ContractArguments {
    /// An EVM address, or a Solana account or program.
    #[schema(value_type = WalletText)]
    address: String,
    /// Slug, alias or chain id; every chain that the packs name when absent.
    chain: Option<String>,
}

impl ToolName {
    pub(super) fn parse(name: &str) -> Option<Self> {
        ALL.into_iter().find(|one| one.text() == name)
    }

    fn text(self) -> &'static str {
        match self {
            Self::ClassifyBatch => "classify_batch",
            Self::QuotaStatus => "quota_status",
            Self::ListChains => "list_chains",
            Self::ExplainCategory => "explain_category",
            Self::LookupContract => "lookup_contract",
            Self::MapToChartOfAccounts => "map_to_chart_of_accounts",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::ClassifyBatch => "Classify transactions for tax",
            Self::QuotaStatus => "What is left in the pool",
            Self::ListChains => "Served chains",
            Self::ExplainCategory => "What a category means for tax",
            Self::LookupContract => "What is known of a contract or program",
            Self::MapToChartOfAccounts => "Journal lines by a chart of accounts",
        }
    }

    fn about(self) -> String {
        match self {
            Self::ClassifyBatch => format!(
                "Reads 1 to 100 blockchain transactions (EVM hashes or Solana signatures) for tax: category, treatment, taxable, confidence, \
                 exact asset legs and the reasoning. The chain is found when it is not named. Results come in input order; an item with \
                 `error` was not classified and must not be booked. `needs_review` true is for a person: never override it, and never \
                 read `taxable` null as false. Counts against the key's pool, repeats are free. {DISCLAIMER}"
            ),
            Self::QuotaStatus => {
                "What is left in the pool of the key's owner. Free. Ask it before large batches and after `quota_exceeded`.".to_owned()
            }
            Self::ListChains => "The chains that this instance serves, with their slugs. Free.".to_owned(),
            Self::ExplainCategory => format!(
                "The house position on a category: treatment, ledger action, what it rests on, the other defensible side, and the policy \
                 switch that governs it. Free. {DISCLAIMER}"
            ),
            Self::LookupContract => {
                "What the rule packs know of an address or program: protocol, the part it plays, and where that was checked. An empty list \
                 says only that no pack knows it. Free."
                    .to_owned()
            }
            Self::MapToChartOfAccounts => format!(
                "Journal lines for 1 to 100 results of `classify_batch`, whole and unchanged (not as `summary`): account, exact signed quantity, and a value \
                 where a price in `prices` fits. Quantities balance for each asset. Never make up a price: a line with `unpriced` has none, and lines with \
                 `needs_review` are for a person. Counts as a request, free of quota. {DISCLAIMER}"
            ),
        }
    }

    fn schemas(self) -> (Map<String, Value>, Map<String, Value>) {
        match self {
            Self::ClassifyBatch => (batch_arguments(), answer::<AgentBatch>()),
            Self::QuotaStatus => (bundle::<QuotaArguments>(), answer::<QuotaStatus>()),
            Self::ListChains => (bundle::<NoArguments>(), answer::<ChainList>()),
            Self::ExplainCategory => (bundle::<CategoryArguments>(), answer::<CategoryRow>()),
            Self::LookupContract => (bundle::<ContractArguments>(), answer::<KnownAddress>()),
            Self::MapToChartOfAccounts => (journal_arguments(), answer::<JournalAnswer>()),
        }
    }

    fn tool(self) -> Tool {
        let (input, output) = self.schemas();
        let hints = ToolAnnotations::with_title(self.title())
            .read_only(true)
            .destructive(false)
            .idempotent(true)
            // Only classification looks at chains that change outside of this service.
            .open_world(self == Self::ClassifyBatch);
        Tool::new(self.text(), self.about(), Arc::new(input))
            .with_title(self.title())
            .with_raw_output_schema(Arc::new(output))
            .with_annotations(hints)
    }

    /// Runs a tool for an identified caller; its cost is counted as on REST.
    pub(super) async fn run(
        self,
        web: &Web,
        caller: Arc<Caller>,
        request_id: RequestId,
        arguments: Map<String, Value>,
    ) -> Result<ToolAnswer, ApiError> {
        let arguments = Value::Object(arguments);
        match self {
            Self::ClassifyBatch => {
                let call = web.app.admit(caller, request_id).await?;
                let ToldArguments { fields } = read(&arguments)?;
                let mut items = read::<BatchRequest>(&arguments)?.items()?;
                items.iter_mut().for_each(|item| item.question.review_below = Some(REVIEW_BELOW));
                let rows = web.app.classify_batch(call, items).await?;
                told(&batch(rows, fields.unwrap_or_default()))
            }
            Self::QuotaStatus => {
                let asker = web.app.admit_key_to_status(caller).await?;
                let QuotaArguments { hash } = read(&arguments)?;
                told(&web.app.quota_status(&asker, hash.as_deref()).await?)
            }
            Self::ListChains => {
                let NoArguments {} = read(&arguments)?;
                told(&web.app.reader.chain_list())
            }
            Self::ExplainCategory => {
                let CategoryArguments { category } = read(&arguments)?;
                let Some(category) = Category::parse(&category) else {
                    let known: Vec<&str> = TABLE.iter().map(|row| row.name).collect();
                    return Err(ApiError::invalid_request(format!(
                        "no such `category`; known are: {}",
                        known.join(", ")
                    )));
                };
                told(&web.app.reader.knowledge.treatments.category_row(category))
            }
            Self::LookupContract => {
                let ContractArguments { address, chain } = read(&arguments)?;
                let address = Account::parse(&address)
                    .map_err(|error| ApiError::invalid_request(format!("`address`: {error}")))?;
                told(&web.app.reader.lookup(address, chain.as_deref())?)
            }
            Self::MapToChartOfAccounts => {
                web.app.admit(caller, request_id).await?;
                told(&read::<JournalRequest>(&arguments)?.lines()?)
            }
        }
    }
}

pub(super) fn all() -> Vec<Tool> {
    ALL.into_iter().map(ToolName::tool).collect()
}

/// The body of `POST /v1/classify-batch`, and how much of the answer to tell; one flat object, since not every host reads more.
fn batch_arguments() -> Map<String, Value> {
    let mut schema = bundle::<BatchRequest>();
    let told = bundle::<ToldArguments>();
    for part in ["properties", "$defs"] {
        if let (Some(Value::Object(whole)), Some(Value::Object(more))) = (schema.get_mut(part), told.get(part)) {
            whole.extend(more.clone());
        }
    }
    schema
}

/// The body of `POST /v1/journal`. Results are told as objects: their whole schema is on `classify_batch`, whose answers they are.
fn journal_arguments() -> Map<String, Value> {
    let mut schema = bundle::<JournalRequest>();
    if let Some(Value::Object(results)) = schema.get_mut("properties").and_then(|all| all.get_mut("results")) {
        results.insert("items".to_owned(), serde_json::json!({ "type": "object" }));
    }
    drop_unused_defs(&mut schema);
    schema
}

/// An answer's root is an object, also where it is one of two.
fn answer<T: ToSchema>() -> Map<String, Value> {
    let mut schema = Value::Object(bundle::<T>());
    drop_optional_nulls(&mut schema);
    for part in schema.get_mut("$defs").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        drop_optional_nulls(part);
        for side in part.get_mut("allOf").and_then(Value::as_array_mut).into_iter().flatten() {
            drop_optional_nulls(side);
        }
    }
    let Value::Object(mut schema) = schema else { return Map::new() };
    schema.insert("type".to_owned(), Value::from("object"));
    schema
}

fn read<T: DeserializeOwned>(arguments: &Value) -> Result<T, ApiError> {
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let words = Invalid::new(format!("the arguments are not as expected: {error}"));
        ApiError::InvalidRequest(words.of_item(item_of(error.path())))
    })
}

/// The batch item that a path in the arguments is in, as in `hashes[7].wallet`.
fn item_of(path: &Path) -> Option<usize> {
    let mut segments = path.iter();
    match (segments.next()?, segments.next()?) {
        (Segment::Map { key }, Segment::Seq { index }) if key == "hashes" => Some(*index),
        _ => None,
    }
}

fn told(answer: &impl Serialize) -> Result<ToolAnswer, ApiError> {
    match (serde_json::to_value(answer), serde_json::to_string(answer)) {
        (Ok(structured), Ok(text)) => Ok(ToolAnswer { structured, text }),
        _ => Err(ApiError::Internal),
    }
}
