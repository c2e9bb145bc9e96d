//! The answer, field by field as the interface specification has it. The order of fields is the order in the answer. What is said of a
//! field here is what the OpenAPI document and the agent interface say of it.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::asset::{Account, NftKind};
use crate::category::Category;
use crate::json;
use crate::opinion::Source;
use crate::role::Role;
use crate::treatment::{LedgerAction, Treatment};

pub const API_VERSION: &str = "v1";
/// A word of ours. Under its own name serde would want to borrow it from what it reads.
pub type Constant = &'static str;
/// The one way in which amounts are inferred.
pub const BALANCE_DELTA: &str = "balance_delta";

/// How one transaction was read for tax. Informational only, not tax advice.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Classification {
    /// Always `v1`.
    #[schema(value_type = String, pattern = "^v1$")]
    #[serde(deserialize_with = "version")]
    pub api_version: Constant,
    /// Batch results only: the item's `tx_id`. Absent when the item had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Batch results only: why this one item was not classified. An item with `error` must not be booked. The codes are those of
    /// `ErrorEnvelope` and `unsupported_chain`.
    #[serde(skip_serializing_if = "Option::is_none", default, deserialize_with = "no_error")]
    #[schema(value_type = Option<String>)]
    pub error: Option<Constant>,
    /// The hash that was classified; an EVM hash in lower case.
    #[schema(required)]
    pub hash: Option<String>,
    /// Slug of the chain that served the result; null when none did.
    #[schema(required)]
    pub chain: Option<String>,
    pub category: Category,
    pub treatment: Treatment,
    /// True: a taxable event. False: a positive finding that it is not. Null: undetermined, always with `needs_review`; it must never be
    /// read as false.
    #[schema(required)]
    pub taxable: Option<bool>,
    /// A signal for routing that tells how far the sources agree, not a percentage of accuracy. 95 and above: all sources agree, or a
    /// verified rule with evidence on chain. 80 to 94: most agree. 60 to 79: one source, nothing against it. Below 60: always
    /// `needs_review`.
    #[schema(maximum = 100)]
    pub confidence: u8,
    /// True when a person must look. Then `taxable` is null, `review_note` says why, and `treatment` is at most a pointer.
    pub needs_review: bool,
    /// Suggested ledger label.
    #[schema(required)]
    pub ledger_action: Option<LedgerAction>,
    /// Display name of the protocol, where it was identified.
    #[schema(required)]
    pub protocol: Option<String>,
    /// The reasoning in plain words.
    #[schema(required)]
    pub description: Option<String>,
    /// Why a person must look. Set exactly when `needs_review` is true.
    #[schema(required)]
    pub review_note: Option<String>,
    /// Set only where more than one treatment is defensible.
    #[schema(required)]
    pub grey_area: Option<GreyArea>,
    pub assets: Assets,
    /// Present when the transaction was not on the chain that was asked for but on another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain_corrected: Option<ChainCorrected>,
    /// The address whose view of the transaction this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub perspective: Option<Account>,
    /// Reviews only, where nothing moved for `perspective` and the request named no `wallet`: accounts for which something moved, at most 16. Ask again
    /// with the one that is yours.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schema(value_type = Option<Vec<String>>, max_items = 16)]
    pub parties: Option<Vec<Account>>,
    /// When it happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<BlockTime>,
    /// Transactions of several steps only: the whole in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// Transactions of several steps only: the steps in chain order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub legs: Option<Vec<Step>>,
    /// Transactions of several steps only: the postings as a journal in plain words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memo: Option<String>,
    /// How every unit of every leg is booked. Absent on items with `error`. The amounts of a leg's postings add up to the leg, to the last digit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postings: Option<Vec<Posting>>,
    /// Version of the engine and digest of its rules. The same chain data and the same `engine` give the same bytes.
    pub engine: String,
    /// With `explain: true` only: what each source said, and where on chain it saw it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Vec<Evidence>>,
    /// The source that decided the category. The agent interface tells it.
    #[serde(skip)]
    pub source: Source,
    /// `needs_review` is set by the question's `review_below` alone. What a reading costs does not depend on that floor.
    #[serde(skip)]
    pub is_floored: bool,
    /// What the transaction called. Like transactions are found by it; the answer does not tell it.
    #[serde(skip)]
    pub called: Option<Called>,
}

/// The contract or program that a transaction called, and the function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Called {
    pub contract: Account,
    /// The first bytes of the call in hex: 4 on EVM, up to 8 on Solana; empty for a plain payment.
    pub function: String,
}

impl Classification {
    /// Of a transaction that was not classified: still with every field that is always present.
    pub fn failed(hash: Option<String>, error: Constant, reason: String, engine: String) -> Self {
        Self {
            api_version: API_VERSION,
            id: None,
            error: Some(error),
            hash,
            chain: None,
            category: Category::Unclassified,
            treatment: Treatment::NeedsReview,
            taxable: None,
            confidence: 0,
            needs_review: true,
            ledger_action: Some(LedgerAction::Review),
            protocol: None,
            description: None,
            review_note: Some(reason),
            grey_area: None,
            assets: Assets::default(),
            chain_corrected: None,
            perspective: None,
            block: None,
            parent: None,
            legs: None,
            memo: None,
            parties: None,
            postings: None,
            engine,
            evidence: None,
            source: Source::None,
            is_floored: false,
            called: None,
        }
    }

    /// Appends the answer as JSON.
    pub fn write_json(&self, bytes: &mut Vec<u8>) -> serde_json::Result<()> {
        json::write(bytes, self)
    }
}

/// One result per item, in input order.
#[derive(Debug, Serialize, ToSchema)]
pub struct BatchResponse {
    /// Always `v1`.
    #[schema(value_type = String, pattern = "^v1$")]
    pub api_version: Constant,
    /// The number of results.
    pub count: usize,
    #[schema(value_type = Vec<Classification>)]
    pub results: Vec<Arc<Classification>>,
}

impl BatchResponse {
    pub fn of(results: Vec<Arc<Classification>>) -> Self {
        Self { api_version: API_VERSION, count: results.len(), results }
    }

    /// Appends the answer as JSON.
    pub fn write_json(&self, bytes: &mut Vec<u8>) -> serde_json::Result<()> {
        json::write(bytes, self)
    }
}

/// More than one treatment is defensible. `treatment` and `taxable` of the result are the position taken.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct GreyArea {
    /// What the positions rest on.
    #[schema(required)]
    pub note: Option<String>,
    /// The position not taken.
    #[schema(required)]
    pub alternate: Option<Alternate>,
}

/// A defensible position that was not taken.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Alternate {
    #[schema(required)]
    pub treatment: Option<Treatment>,
    /// As on the result: null is undetermined.
    #[schema(required)]
    pub taxable: Option<bool>,
    /// The position in a few words.
    #[schema(required)]
    pub label: Option<String>,
}

/// What moved, net per asset for the perspective: what went out and came back cancels, and a net of zero is no leg.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct Assets {
    pub sent: Vec<AssetLeg>,
    pub received: Vec<AssetLeg>,
    /// The network fee, in the coin or in the token that paid it; null when the perspective did not pay it, and when it is not known, which
    /// `review_note` then says.
    #[schema(required)]
    pub gas: Option<AssetLeg>,
}

/// What happened on a leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = LegAction)]
pub enum Action {
    Transferred,
    Received,
    Minted,
    Burned,
    PaidGas,
}

/// One asset that moved. An asset is a contract or mint, plus the token id for an NFT.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AssetLeg {
    /// Exactly as the contract reports it, cut at 256 bytes; `UNKNOWN` when it reports none. A stranger wrote it: escape it.
    pub symbol: String,
    /// Exact decimal: no exponent, no trailing zeros, no rounding, any size. Do not read it as a float. Without known decimals it is the raw
    /// integer; on NFT legs it is the token count.
    #[schema(pattern = r"^[0-9]+(\.[0-9]+)?$")]
    pub amount: String,
    pub action: Action,
    /// Decimals that `amount` was written with; null when unknown.
    #[schema(required)]
    pub decimals: Option<u8>,
    /// Contract in lower-case hex, or Solana mint in base58. Absent on the native coin.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub token_address: Option<Account>,
    /// The token's own name, where it is known. A stranger wrote it: escape it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_name: Option<String>,
    /// Recipient, on sent legs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub to: Option<Account>,
    /// Sender, on received legs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub from: Option<Account>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_type: Option<NftKind>,
    /// NFT legs only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_id: Option<String>,
    /// True when the symbol is that of a canonical token on the same chain at another address. Absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    #[schema(required = false)]
    pub symbol_collision: bool,
    /// For display only, present with `symbol_collision`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_symbol: Option<String>,
    /// True when the amount was inferred and not read from a log or trace. Such a result is always `needs_review`. Absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    #[schema(required = false)]
    pub inferred: bool,
    /// How it was inferred, as `balance_delta`; present with `inferred`.
    #[serde(skip_serializing_if = "Option::is_none", default, deserialize_with = "basis")]
    #[schema(value_type = Option<String>)]
    pub inferred_basis: Option<Constant>,
}

/// The transaction was found on another chain than the one that was asked for.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ChainCorrected {
    /// Slug of the chain that was asked for.
    pub requested: String,
    /// Slug of the chain that has it.
    pub detected: String,
}

/// The block that the transaction stands in.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct BlockTime {
    /// Block number; the slot on Solana.
    pub number: u64,
    /// RFC 3339, UTC.
    #[schema(format = DateTime)]
    pub timestamp: String,
    /// Whether the chain calls the block final.
    pub finalized: bool,
}

/// The whole of a transaction of several steps. Further fields may come.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Parent {
    pub category: Category,
    pub treatment: Treatment,
    pub description: String,
}

/// One step of a transaction that has several. Further fields may come.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Step {
    /// From 0, in chain order.
    pub leg_index: usize,
    pub role: Role,
    pub category: Category,
    /// As on the result: null is undetermined.
    #[schema(required)]
    pub taxable: Option<bool>,
    pub treatment: Treatment,
    pub ledger_action: LedgerAction,
    #[schema(required)]
    pub protocol: Option<String>,
    pub description: String,
    pub assets: Assets,
}

/// What a posting is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = PostingSide)]
pub enum Side {
    Sent,
    Received,
    Gas,
}

/// How a part of a leg is booked. A closed set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = PostingEntry)]
pub enum Entry {
    /// Sold at fair value.
    Dispose,
    /// Bought, at the value of what was disposed of in the same transaction.
    Acquire,
    /// Income at fair value, which is also its cost.
    Income,
    /// Spent: a disposal and an expense.
    Expense,
    /// The same investment takes another form: its cost passes on.
    CarryOut,
    /// The other form, with the cost of what was carried out.
    CarryIn,
    /// The same asset to another place of the same owner.
    MoveOut,
    MoveIn,
    /// Held by a protocol and still owned, with no token for it.
    Lock,
    Unlock,
    /// A liability opens.
    Borrow,
    /// A liability closes.
    Repay,
    /// A token that only marks a debt: no value of its own.
    Mirror,
    /// Spam.
    Ignore,
    /// Undecided.
    Open,
}

impl Entry {
    pub fn name(self) -> &'static str {
        match self {
            Self::Dispose => "dispose",
            Self::Acquire => "acquire",
            Self::Income => "income",
            Self::Expense => "expense",
            Self::CarryOut => "carry_out",
            Self::CarryIn => "carry_in",
            Self::MoveOut => "move_out",
            Self::MoveIn => "move_in",
            Self::Lock => "lock",
            Self::Unlock => "unlock",
            Self::Borrow => "borrow",
            Self::Repay => "repay",
            Self::Mirror => "mirror",
            Self::Ignore => "ignore",
            Self::Open => "open",
        }
    }
}

/// How one part of one leg is booked.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Posting {
    pub side: Side,
    /// The leg: its place in `assets.sent` or `assets.received`; 0 for gas.
    pub index: usize,
    /// Exact decimal, as on the leg.
    #[schema(pattern = r"^[0-9]+(\.[0-9]+)?$")]
    pub amount: String,
    pub entry: Entry,
    pub category: Category,
    pub treatment: Treatment,
    /// As on the result: null is undetermined.
    #[schema(required)]
    pub taxable: Option<bool>,
    /// `leg_index` of the step that it belongs to; null where the result has no steps, and for gas.
    #[schema(required)]
    pub step: Option<usize>,
}

impl Assets {
    /// The leg that a posting is a part of.
    pub fn leg_of(&self, posting: &Posting) -> Option<&AssetLeg> {
        match posting.side {
            Side::Sent => self.sent.get(posting.index),
            Side::Received => self.received.get(posting.index),
            Side::Gas => self.gas.as_ref(),
        }
    }
}

impl AssetLeg {
    /// The symbol that tells an imitation from what it imitates.
    pub fn shown_symbol(&self) -> &str {
        self.display_symbol.as_ref().unwrap_or(&self.symbol)
    }
}

/// What one source said of the transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Evidence {
    pub source: Source,
    /// The rule that spoke: pack and signature, or the shape's name.
    pub rule: String,
    pub says: Category,
    /// Where on an EVM chain it was seen.
    #[schema(required)]
    pub log_index: Option<u64>,
    /// Where on Solana it was seen.
    #[schema(required)]
    pub instruction_index: Option<u64>,
    /// Whether it agrees with the verdict.
    pub agrees: bool,
}

/// A verdict that was kept is read back by the version that wrote it.
fn version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static str, D::Error> {
    let said = String::deserialize(deserializer)?;
    if said == API_VERSION { Ok(API_VERSION) } else { Err(serde::de::Error::custom("another version")) }
}

/// What failed is never kept.
fn no_error<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'static str>, D::Error> {
    match Option::<String>::deserialize(deserializer)? {
        None => Ok(None),
        Some(_) => Err(serde::de::Error::custom("no verdict")),
    }
}

fn basis<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'static str>, D::Error> {
    match Option::<String>::deserialize(deserializer)?.as_deref() {
        None => Ok(None),
        Some(BALANCE_DELTA) => Ok(Some(BALANCE_DELTA)),
        Some(_) => Err(serde::de::Error::custom("an unknown basis")),
    }
}
