//! What is known beside what the nodes said of the transaction itself: the JSON of the column `known`. Every field may be absent; one that is not known is
//! an error, since it may be one that is spelled wrongly.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, FixedBytes, U256};
use engine::evm::code::Code;
use engine::evm::{BalanceChange, Holding, HoldingChange};
use engine::solana::Key;
use engine::{Account, EvmFacts, SolanaFacts, Token};
use serde::{Deserialize, Serialize};

use crate::error::RowError;

const COLUMN: &str = "known";

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Evm<'a> {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) hash_computed: bool,
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) tokens: Cow<'a, BTreeMap<Address, Arc<Token>>>,
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) balances: Cow<'a, BTreeMap<Address, BalanceChange>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) holdings: Vec<HoldingRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) given: Vec<GivenRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) vouched: Vec<VouchedRow>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) codes: BTreeMap<Address, Option<CodeRow>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub(crate) also_on: Cow<'a, [String]>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub(crate) unasked: Cow<'a, [String]>,
}

fn is_empty<V: Clone>(map: &BTreeMap<Address, V>) -> bool {
    map.is_empty()
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HoldingRow {
    token: Address,
    holder: Address,
    before: Option<Holding>,
    after: Option<Holding>,
}

impl HoldingRow {
    pub(crate) fn entry(self) -> ((Address, Address), HoldingChange) {
        let change = HoldingChange { before: self.before, after: self.after };
        ((self.token, self.holder), change)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenRow {
    token: Address,
    giver: Address,
    taker: Address,
    amount: Option<U256>,
}

impl GivenRow {
    pub(crate) fn entry(self) -> ((Address, Address, Address), Option<U256>) {
        ((self.token, self.giver, self.taker), self.amount)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VouchedRow {
    asked: Address,
    selector: FixedBytes<4>,
    about: Address,
    answer: Option<U256>,
}

impl VouchedRow {
    pub(crate) fn entry(self) -> ((Address, [u8; 4], Address), Option<U256>) {
        ((self.asked, self.selector.0, self.about), self.answer)
    }
}

/// All of a contract's code, or as much as the engine keeps of it.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum CodeRow {
    Kept(Code),
    Whole {
        code: Bytes,
        #[serde(default)]
        beacon: B256,
    },
}

impl CodeRow {
    pub(crate) fn code(self) -> Code {
        match self {
            Self::Kept(code) => code,
            Self::Whole { code, beacon } => Code::new(&code, beacon),
        }
    }
}

impl<'a> Evm<'a> {
    pub(crate) fn read(text: Option<&str>) -> Result<Self, RowError> {
        read(text)
    }

    pub(crate) fn of(facts: &'a EvmFacts) -> Self {
        let holdings = facts.holdings.iter().map(|((token, holder), change)| HoldingRow {
            token: *token,
            holder: *holder,
            before: change.before,
            after: change.after,
        });
        let given = facts.given.iter().map(|((token, giver, taker), amount)| GivenRow {
            token: *token,
            giver: *giver,
            taker: *taker,
            amount: *amount,
        });
        let vouched = facts.vouched.iter().map(|((asked, selector, about), answer)| VouchedRow {
            asked: *asked,
            selector: selector.into(),
            about: *about,
            answer: *answer,
        });
        let codes = facts.codes.iter().map(|(contract, said)| (*contract, said.clone().map(CodeRow::Kept)));
        Self {
            hash_computed: facts.is_hash_computed,
            tokens: Cow::Borrowed(&facts.tokens),
            balances: Cow::Borrowed(&facts.balances),
            holdings: holdings.collect(),
            given: given.collect(),
            vouched: vouched.collect(),
            codes: codes.collect(),
            also_on: Cow::Borrowed(&facts.also_on),
            unasked: Cow::Borrowed(&facts.unasked),
        }
    }

    pub(crate) fn written(&self) -> serde_json::Result<Option<String>> {
        written(self)
    }
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Solana {
    /// By mint.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tokens: BTreeMap<String, Arc<Token>>,
}

impl Solana {
    pub(crate) fn read(text: Option<&str>) -> Result<Self, RowError> {
        read(text)
    }

    pub(crate) fn of(facts: &SolanaFacts) -> Self {
        let tokens = facts.tokens.iter();
        Self { tokens: tokens.map(|(mint, said)| (Account::Solana(*mint).to_string(), Arc::clone(said))).collect() }
    }

    pub(crate) fn written(&self) -> serde_json::Result<Option<String>> {
        written(self)
    }

    pub(crate) fn tokens(self) -> Result<BTreeMap<Key, Arc<Token>>, RowError> {
        let named = self.tokens.into_iter().map(|(mint, said)| match Account::parse(&mint) {
            Ok(Account::Solana(key)) => Ok((key, said)),
            Ok(Account::Evm(_)) | Err(_) => Err(RowError::unreadable(COLUMN, &format!("`{mint}` is no mint"))),
        });
        named.collect::<Result<_, _>>().map(clipped)
    }
}

/// What tokens say of themselves is passed on no further than the nodes' own answers would be.
pub(crate) fn clipped<K: Ord>(mut tokens: BTreeMap<K, Arc<Token>>) -> BTreeMap<K, Arc<Token>> {
    for token in tokens.values_mut() {
        let is_long = |text: &Option<String>| text.as_ref().is_some_and(|text| Token::clip(text).len() < text.len());
        if is_long(&token.symbol) || is_long(&token.name) {
            let said = Arc::make_mut(token);
            for text in [&mut said.symbol, &mut said.name].into_iter().flatten() {
                *text = Token::clip(text).to_owned();
            }
        }
    }
    tokens
}

fn read<'a, T: Default + Deserialize<'a>>(text: Option<&'a str>) -> Result<T, RowError> {
    let Some(text) = text.filter(|text| *text != "null") else { return Ok(T::default()) };
    serde_json::from_str(text).map_err(|error| RowError::unreadable(COLUMN, &error))
}

/// Nothing where nothing is known.
fn written(known: &impl Serialize) -> serde_json::Result<Option<String>> {
    let text = serde_json::to_string(known)?;
    Ok((text != "{}").then_some(text))
}
