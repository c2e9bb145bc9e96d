//! How a listed contract is asked about another.

use alloy_primitives::{Address, B256, Selector, U256};

use super::FaultText;
use crate::rules::Holder;
use crate::rules::abi::{AbiType, Signature};
use crate::rules::file::{AskedAt, ProofRow, ProvingAnswer};

/// One contract that can be asked.
#[derive(Debug, Clone)]
pub struct ProofRule {
    /// As evidence shows it.
    pub id: String,
    /// What a contract is that it vouches for.
    pub proves: Holder,
    pub asked: Address,
    pub selector: Selector,
    pub answer: ProvingAnswer,
    pub at: AskedAt,
    /// What a contract in this role logs, and what it is called for: by these it is noticed.
    pub topics: Vec<B256>,
    pub selectors: Vec<Selector>,
}

impl ProofRule {
    pub fn is_met_by(&self, word: U256) -> bool {
        match self.answer {
            ProvingAnswer::True => word == U256::ONE,
            ProvingAnswer::NotZero => !word.is_zero(),
        }
    }
}

/// The function that is called, and the topics of the events that the row names.
pub fn proof(row: &ProofRow) -> Result<(Signature, Vec<B256>), FaultText> {
    let function = Signature::call(row.call.get_ref())?;
    let is_address = |kind: &AbiType| matches!(kind, AbiType::Word(name) if name == "address");
    match function.params.as_slice() {
        [only] if is_address(&only.kind) => {}
        _ => return Err("the contract in question is the only argument".to_owned()),
    }
    let topics = row.logs.iter().map(|text| Ok(Signature::event(text.get_ref())?.topic0()));
    Ok((function, topics.collect::<Result<_, FaultText>>()?))
}
