//! The bodies of the two classify calls, parsed once: past this page a bad hash or wallet has no spelling.

use std::fmt;

use engine::question::OWN_WALLETS_MAX;
use engine::{Account, Policy, Question, TxHash};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

use crate::error::{ApiError, Invalid};
use crate::schema;

pub(crate) const BATCH_ITEMS_MAX: usize = 100;

/// One transaction to classify.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) hash: TxHash,
    pub(crate) tx_id: Option<String>,
    pub(crate) chain: Option<String>,
    pub(crate) question: Question,
}

/// One transaction. Unknown fields are ignored; null is absent.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct SingleRequest {
    #[schema(value_type = schema::HashText)]
    hash: String,
    /// Slug of the chain, a common alias, or a decimal chain id. Found out when absent. When the transaction is on another served chain
    /// instead, the answer says so in `chain_corrected`.
    chain: Option<String>,
    policy: Option<Policy>,
    /// Read the transaction as this address saw it. Found out when absent.
    #[schema(value_type = Option<schema::WalletText>)]
    wallet: Option<String>,
    /// Moves between these addresses are `self_transfer`.
    #[schema(value_type = Option<Vec<schema::WalletText>>, max_items = 1_000)]
    own_wallets: Option<Vec<String>>,
    /// Adds `evidence`: what each source said, and where on chain.
    explain: Option<bool>,
}

/// 1 to 100 transactions. Unknown fields are ignored; null is absent.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct BatchRequest {
    #[schema(min_items = 1, max_items = 100)]
    #[serde(deserialize_with = "objects")]
    hashes: Vec<BatchItem>,
    policy: Option<Policy>,
    /// Read every transaction as this address saw it, unless an item names its own. Found out for each when absent.
    #[schema(value_type = Option<schema::WalletText>)]
    wallet: Option<String>,
    /// Moves between these addresses are `self_transfer`.
    #[schema(value_type = Option<Vec<schema::WalletText>>, max_items = 1_000)]
    own_wallets: Option<Vec<String>>,
    /// Adds `evidence` to each result: what each source said, and where on chain.
    explain: Option<bool>,
}

/// One transaction of a batch.
#[derive(Debug, Deserialize, ToSchema)]
struct BatchItem {
    #[schema(value_type = schema::HashText)]
    hash: String,
    /// Comes back as `id`. Strongly recommended.
    tx_id: Option<String>,
    /// As on the single call; a chain that is not served makes this one item fail with `unsupported_chain`.
    chain: Option<String>,
    /// Read this transaction as this address saw it.
    #[schema(value_type = Option<schema::WalletText>)]
    wallet: Option<String>,
}

/// What serde derives reads an array in place of an object, and its members by their places. These are objects.
fn objects<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<BatchItem>, D::Error> {
    struct Object(BatchItem);
    impl<'de> Deserialize<'de> for Object {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_map(ItemVisitor).map(Self)
        }
    }
    struct ItemVisitor;
    impl<'de> Visitor<'de> for ItemVisitor {
        type Value = BatchItem;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object with `hash`")
        }

        fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<BatchItem, A::Error> {
            BatchItem::deserialize(MapAccessDeserializer::new(fields))
        }
    }
    let items = Vec::<Object>::deserialize(deserializer)?;
    Ok(items.into_iter().map(|Object(item)| item).collect())
}

impl SingleRequest {
    pub(crate) fn item(self) -> Result<Item, ApiError> {
        let hash = TxHash::parse(&self.hash).map_err(|error| ApiError::invalid_hash(&error))?;
        let question = question(self.wallet, self.own_wallets, self.policy, self.explain)?;
        Ok(Item { hash, tx_id: None, chain: self.chain, question })
    }
}

impl BatchRequest {
    pub(crate) fn items(self) -> Result<Vec<Item>, ApiError> {
        if self.hashes.is_empty() || self.hashes.len() > BATCH_ITEMS_MAX {
            let found = self.hashes.len();
            return Err(ApiError::invalid_request(format!("`hashes` takes 1 to {BATCH_ITEMS_MAX} items, not {found}")));
        }
        let whole = question(self.wallet, self.own_wallets, self.policy, self.explain)?;
        self.hashes.into_iter().enumerate().map(|(at, item)| item.parse(at, &whole)).collect()
    }
}

impl BatchItem {
    fn parse(self, at: usize, whole: &Question) -> Result<Item, ApiError> {
        let of_item = |words: String| Invalid::new(words).of_item(Some(at));
        let hash = TxHash::parse(&self.hash)
            .map_err(|error| ApiError::InvalidHash(of_item(format!("hashes[{at}]: {error}"))))?;
        let mut question = whole.clone();
        if let Some(wallet) = self.wallet {
            let wallet = Account::parse(&wallet);
            let invalid = |error| ApiError::InvalidRequest(of_item(format!("`hashes[{at}].wallet`: {error}")));
            question.wallet = Some(wallet.map_err(invalid)?);
        }
        Ok(Item { hash, tx_id: self.tx_id, chain: self.chain, question })
    }
}

fn question(
    wallet: Option<String>,
    own_wallets: Option<Vec<String>>,
    policy: Option<Policy>,
    explain: Option<bool>,
) -> Result<Question, ApiError> {
    let own_wallets = own_wallets.unwrap_or_default();
    if own_wallets.len() > OWN_WALLETS_MAX {
        return Err(ApiError::invalid_request(format!("`own_wallets` takes at most {OWN_WALLETS_MAX} addresses")));
    }
    let own_wallets = own_wallets
        .iter()
        .enumerate()
        .map(|(at, text)| address(text, &format!("own_wallets[{at}]")))
        .collect::<Result<_, _>>()?;
    Ok(Question {
        wallet: wallet.map(|text| address(&text, "wallet")).transpose()?,
        own_wallets,
        policy: policy.unwrap_or_default(),
        explain: explain.unwrap_or(false),
        review_below: None,
    })
}

/// An address that a caller named in this field.
pub(super) fn address(text: &str, field: &str) -> Result<Account, ApiError> {
    Account::parse(text).map_err(|error| ApiError::invalid_request(format!("`{field}`: {error}")))
}
