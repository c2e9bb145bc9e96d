//! Events and calls by their signature: how they look on chain, and where each parameter is.

use std::ops::Deref;

use alloy_primitives::{B256, FixedBytes};

use super::{FaultText, Field};
use crate::evm::json::Log;
use crate::rules::abi::{AbiType, Signature, head_words};
use crate::rules::path;

/// Topic count and data length of an event. Unrelated events share a topic0, so a log must match exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    pub topics: usize,
    /// Words in the data's head; with a dynamic parameter the data may be longer, else it is exactly this.
    pub words: usize,
    pub dynamic: bool,
}

impl Layout {
    fn of(event: &Signature, anonymous: bool) -> Self {
        let data = || event.params.iter().filter(|param| !param.indexed);
        Self {
            topics: event.params.iter().filter(|param| param.indexed).count().saturating_add(usize::from(!anonymous)),
            words: head_words(data()),
            dynamic: data().any(|param| param.kind.is_dynamic()),
        }
    }

    pub fn fits(&self, log: &Log) -> bool {
        let bytes = self.words.saturating_mul(32);
        let data_fits = if self.dynamic { log.data.len() >= bytes } else { log.data.len() == bytes };
        log.topics.len() == self.topics && data_fits
    }
}

/// A parameter that names an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountParam {
    /// A word: an EVM address, or 32 bytes of another family.
    Word(Field),
    /// `bytes` or `string`, as bridges between families take it.
    Bytes(Field),
}

/// A signature whose parameters can be found by path.
#[derive(Debug, Clone)]
pub struct ParamFinder {
    pub signature: Signature,
    /// The topic of the first indexed parameter.
    first_topic: usize,
}

impl ParamFinder {
    pub fn name(&self) -> &str {
        &self.signature.name
    }

    /// One word, of whatever type.
    pub fn word(&self, path: &str) -> Result<Field, FaultText> {
        single(path, self.words(path)?)
    }

    /// One address.
    pub fn address(&self, path: &str) -> Result<Field, FaultText> {
        single(path, self.addresses(path)?)
    }

    /// A word, or with `[*]` several. An indexed parameter that is longer than a word is its hash.
    pub fn words(&self, path: &str) -> Result<Field, FaultText> {
        let found = path::find(path, &self.signature.params, self.first_topic)?;
        match (&found.field, found.kind) {
            (Field::Topic(_), _) | (_, AbiType::Word(_)) => Ok(found.field),
            (_, kind) => {
                Err(format!("`{path}` is {kind}; a rule reads one word of it, or with `[*]` each of its members"))
            }
        }
    }

    /// An address, or with `[*]` several.
    pub fn addresses(&self, path: &str) -> Result<Field, FaultText> {
        let found = path::find(path, &self.signature.params, self.first_topic)?;
        match found.kind {
            // Protocols of several families of chains write accounts as words.
            AbiType::Word(name) if matches!(name.as_str(), "address" | "bytes32" | "uint256" | "uint160") => {
                Ok(found.field)
            }
            kind => Err(format!("`{path}` is {kind}, not an address")),
        }
    }

    /// One account, of whatever chain.
    pub fn account(&self, path: &str) -> Result<AccountParam, FaultText> {
        let found = path::find(path, &self.signature.params, self.first_topic)?;
        match (&found.field, found.kind) {
            (Field::Word(_) | Field::Path(_), AbiType::Bytes(_)) => Ok(AccountParam::Bytes(single(path, found.field)?)),
            _ => Ok(AccountParam::Word(self.address(path)?)),
        }
    }

    /// `bytes`, or with `[*]` several.
    pub(super) fn bytes(&self, path: &str) -> Result<Field, FaultText> {
        let found = path::find(path, &self.signature.params, self.first_topic)?;
        match found.kind {
            AbiType::Bytes(name) if name == "bytes" => Ok(found.field),
            kind => Err(format!("`{path}` is {kind}, not bytes")),
        }
    }

    /// Words that the other signature gives the same name.
    pub(super) fn shared(&self, other: &Self) -> Vec<(Field, Field)> {
        let names = self.signature.params.iter().map(|param| param.name.as_str());
        names.filter_map(|name| Some((self.word(name).ok()?, other.word(name).ok()?))).collect()
    }
}

fn single(path: &str, field: Field) -> Result<Field, FaultText> {
    if field.repeats() { Err(format!("`{path}` names several values where one is needed")) } else { Ok(field) }
}

/// An event by its signature.
#[derive(Debug, Clone)]
pub struct EventShape {
    shape: ParamFinder,
    pub topic0: B256,
    pub layout: Layout,
}

impl Deref for EventShape {
    type Target = ParamFinder;

    fn deref(&self) -> &ParamFinder {
        &self.shape
    }
}

/// `topic0` is what an anonymous event begins with: topic 0 is then its first indexed parameter.
pub fn event_shape(signature: &str, topic0: Option<&str>) -> Result<EventShape, FaultText> {
    let signature = Signature::event(signature)?;
    let raw = topic0.map(|text| text.parse::<B256>().map_err(|_| format!("`{text}` is no topic"))).transpose()?;
    let is_anonymous = raw.is_some();
    let layout = Layout::of(&signature, is_anonymous);
    Ok(EventShape {
        topic0: raw.unwrap_or_else(|| signature.topic0()),
        layout,
        shape: ParamFinder { signature, first_topic: usize::from(!is_anonymous) },
    })
}

/// A call by its signature.
#[derive(Debug, Clone)]
pub struct CallShape {
    shape: ParamFinder,
    pub selector: FixedBytes<4>,
    /// Words in the head of its arguments.
    pub words: usize,
}

impl Deref for CallShape {
    type Target = ParamFinder;

    fn deref(&self) -> &ParamFinder {
        &self.shape
    }
}

pub fn call_shape(signature: &str) -> Result<CallShape, FaultText> {
    let signature = Signature::call(signature)?;
    let (selector, words) = (signature.selector(), head_words(&signature.params));
    Ok(CallShape { shape: ParamFinder { signature, first_topic: 0 }, selector, words })
}
