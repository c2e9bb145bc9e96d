//! How a listed contract proves what another is.

use alloy_primitives::{Address, B256, Selector, U256};

use super::FaultText;
use crate::rules::Holder;
use crate::rules::abi::{AbiType, Signature};
use crate::rules::file::{AskedAt, ProofRow, ProvingAnswer};

/// One contract that proves others.
#[derive(Debug, Clone)]
pub struct ProofRule {
    /// As evidence shows it.
    pub id: String,
    /// What the contract is that it proves.
    pub proves: Holder,
    pub by: Address,
    pub proof: Proof,
    /// What a contract in this role logs, and what it is called for: by these it is noticed.
    pub topics: Vec<B256>,
    pub selectors: Vec<Selector>,
}

#[derive(Debug, Clone)]
pub enum Proof {
    /// It is asked, and its answer proves the role.
    Answer { function: String, selector: Selector, answer: ProvingAnswer, at: AskedAt },
    /// The other runs its code and can run no other: a minimal proxy, or with `proxies` one that follows this beacon, by the hash of its code.
    Code { proxies: Vec<B256> },
}

impl Proof {
    /// As evidence shows it.
    pub fn evidence(&self, pack: &str, by: &str) -> String {
        match self {
            Self::Answer { function, .. } => format!("proof: {pack} {by} {function}"),
            Self::Code { .. } => format!("proof: code of {pack} {by}"),
        }
    }
}

impl ProvingAnswer {
    pub fn is_met_by(self, word: U256) -> bool {
        match self {
            Self::True => word == U256::ONE,
            Self::NotZero => !word.is_zero(),
        }
    }
}

/// What proves the role, and the topics of the events that the row names.
pub fn proof(row: &ProofRow) -> Result<(Proof, Vec<B256>), FaultText> {
    let topics = row.logs.iter().map(|text| Ok(Signature::event(text.get_ref())?.topic0()));
    let topics = topics.collect::<Result<_, FaultText>>()?;
    let proof = match (&row.ask, &row.call, &row.runs) {
        (Some(_), Some(call), None) if row.proxies.is_empty() => {
            let function = Signature::call(call.get_ref())?;
            let is_address = |kind: &AbiType| matches!(kind, AbiType::Word(name) if name == "address");
            match function.params.as_slice() {
                [only] if is_address(&only.kind) => {}
                _ => return Err("the contract in question is the only argument".to_owned()),
            }
            let selector = function.selector();
            Proof::Answer { function: function.name, selector, answer: row.answer, at: row.at }
        }
        (None, None, Some(_)) if !row.governed => {
            let hash = |text: &String| text.parse().map_err(|_| format!("`{text}` is no hash of code"));
            Proof::Code { proxies: row.proxies.iter().map(hash).collect::<Result<_, FaultText>>()? }
        }
        _ => return Err("either `ask` and `call`, or `runs`, which nobody governs".to_owned()),
    };
    Ok((proof, topics))
}
