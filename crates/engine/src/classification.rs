//! The answer, field by field as the interface specification has it. The order of fields is the order in the answer.

use serde::Serialize;

use crate::asset::{Account, NftKind};
use crate::category::{Category, LedgerAction, Treatment};
use crate::opinion::{Role, Source};

pub const API_VERSION: &str = "v1";

#[derive(Debug, Clone, Serialize)]
pub struct Classification {
    pub api_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'static str>,
    pub hash: Option<String>,
    pub chain: Option<String>,
    pub category: Category,
    pub treatment: Treatment,
    pub taxable: Option<bool>,
    pub confidence: u8,
    pub needs_review: bool,
    pub ledger_action: Option<LedgerAction>,
    pub protocol: Option<String>,
    pub description: Option<String>,
    pub review_note: Option<String>,
    pub grey_area: Option<GreyArea>,
    pub assets: Assets,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain_corrected: Option<ChainCorrected>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub perspective: Option<Account>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<BlockTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub legs: Option<Vec<Step>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memo: Option<String>,
    pub engine: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Vec<Evidence>>,
}

#[derive(Debug, Clone, Serialize)]
pub struct GreyArea {
    pub note: Option<String>,
    pub alternate: Option<Alternate>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Alternate {
    pub treatment: Option<Treatment>,
    pub taxable: Option<bool>,
    pub label: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct Assets {
    pub sent: Vec<AssetLeg>,
    pub received: Vec<AssetLeg>,
    pub gas: Option<AssetLeg>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Transferred,
    Received,
    Minted,
    Burned,
    PaidGas,
}

#[derive(Debug, Clone, Serialize)]
pub struct AssetLeg {
    pub symbol: String,
    pub amount: String,
    pub action: Action,
    pub decimals: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_address: Option<Account>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Account>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Account>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_type: Option<NftKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_id: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub symbol_collision: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_symbol: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub inferred: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inferred_basis: Option<&'static str>,
}

#[derive(Debug, Clone, Serialize)]
pub struct ChainCorrected {
    pub requested: String,
    pub detected: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct BlockTime {
    pub number: u64,
    pub timestamp: String,
    pub finalized: bool,
}

#[derive(Debug, Clone, Serialize)]
pub struct Parent {
    pub category: Category,
    pub treatment: Treatment,
    pub description: String,
}

/// One step of a transaction that has several.
#[derive(Debug, Clone, Serialize)]
pub struct Step {
    pub leg_index: usize,
    pub role: Role,
    pub category: Category,
    pub taxable: Option<bool>,
    pub treatment: Treatment,
    pub ledger_action: LedgerAction,
    pub protocol: Option<String>,
    pub description: String,
    pub assets: Assets,
}

#[derive(Debug, Clone, Serialize)]
pub struct Evidence {
    pub source: Source,
    pub rule: String,
    pub says: Category,
    pub log_index: Option<u64>,
    pub instruction_index: Option<u64>,
    pub agrees: bool,
}
