//! Recorded readings of a pack: a log, call or instruction of a real transaction, and what a rule of the pack reads in it. A case in
//! words is built from the pack's own signatures, so a wrong signature passes it; recorded bytes do not fit a wrong signature.

use alloy_primitives::{Address, Bytes};

use super::compile;
use super::file::{RecordedInstruction, RecordedLog, RecordedRow};
use super::solana::{SOLANA, key};
use crate::category::Category;
use crate::chain::Family;
use crate::evm::json::Log;
use crate::hash::TxHash;
use crate::solana::json::{DATA_CHARS_MAX, Instruction};

/// A row with its text parsed.
#[derive(Debug, Clone)]
pub struct RecordedReading<'a> {
    pub source: RecordedSource<'a>,
    /// The event, function or instruction.
    pub name: &'a str,
    pub values: Vec<(&'a str, &'a str)>,
    pub means: Option<Category>,
}

#[derive(Debug, Clone)]
pub enum RecordedSource<'a> {
    Demo(&'a str),
    Log { chain: &'a str, log: Log },
    Call { chain: &'a str, to: Address, input: &'a Bytes },
    Instruction(Instruction),
}

impl RecordedRow {
    pub fn parse(&self) -> Result<RecordedReading<'_>, String> {
        let source = self.source()?;
        let means = self.means.as_deref().map(compile::category).transpose()?;
        let text = self.reads.get_ref().as_str();
        if matches!(source, RecordedSource::Demo(_)) {
            return Ok(RecordedReading { source, name: text, values: Vec::new(), means });
        }
        let (name, values) = values(text)?;
        Ok(RecordedReading { source, name, values, means })
    }

    fn source(&self) -> Result<RecordedSource<'_>, String> {
        let bytes = [self.log.is_some(), self.call.is_some(), self.instruction.is_some()];
        let count = bytes.iter().filter(|is_there| **is_there).count();
        let tx = match (&self.tx, &self.demo) {
            (Some(tx), None) if count == 1 => tx,
            (None, Some(name)) if count == 0 => return Ok(RecordedSource::Demo(name)),
            _ => {
                return Err(
                    "a recorded reading has `tx` and one `log`, `call` or `instruction`, or else `demo`".to_owned()
                );
            }
        };
        let wrong = || format!("`{tx}` is no chain and hash, as in `ethereum 0x…`");
        let (chain, hash) = tx.split_once(' ').ok_or_else(wrong)?;
        let family = TxHash::parse(hash).map_err(|_| wrong())?.family();
        let is_solana = chain == SOLANA;
        if is_solana != (family == Family::Solana) || is_solana != self.instruction.is_some() {
            return Err(
                "instructions are of Solana; logs and calls are of EVM chains, each with its form of hash".to_owned()
            );
        }
        match (&self.log, &self.call, &self.instruction) {
            (Some(log), _, _) => {
                let RecordedLog { address, topics, data } = log.clone();
                Ok(RecordedSource::Log { chain, log: Log { address, topics, data, log_index: None } })
            }
            (_, Some(call), _) => Ok(RecordedSource::Call { chain, to: call.to, input: &call.input }),
            (_, _, Some(instruction)) => instruction.parse().map(RecordedSource::Instruction),
            (None, None, None) => Err(wrong()),
        }
    }
}

impl RecordedInstruction {
    fn parse(&self) -> Result<Instruction, String> {
        let wrong = || format!("`{}` is no data in base58", self.data);
        if self.data.len() > DATA_CHARS_MAX {
            return Err(wrong());
        }
        Ok(Instruction {
            program: key(&self.program)?,
            accounts: self.accounts.iter().map(|account| key(account)).collect::<Result<_, _>>()?,
            data: bs58::decode(&self.data).into_vec().map_err(|_| wrong())?,
            outer: 0,
            depth: 1,
        })
    }
}

type Values<'a> = Vec<(&'a str, &'a str)>;

/// `Name(parameter=value, …)`
fn values(text: &str) -> Result<(&str, Values<'_>), String> {
    let wrong = || format!("`{text}` does not read `Name(parameter=value, …)`");
    let (name, rest) = text.split_once('(').ok_or_else(wrong)?;
    let inside = rest.strip_suffix(')').ok_or_else(wrong)?;
    let pairs = inside.split(", ").filter(|pair| !pair.is_empty());
    let values = pairs.map(|pair| pair.split_once('=').ok_or_else(wrong)).collect::<Result<_, _>>()?;
    Ok((name, values))
}
