//! Coin that contracts passed on: in either of the formats that nodes offer, or as a list.

use alloy_primitives::{Address, Bytes, U256};
use engine::Chain;
use engine::evm::InternalValue;
use engine::evm::json::{EvmTransaction, Receipt};
use engine::evm::trace::{CallFrame, FlatTrace, InnerFrame, InternalTransfer, Root, told_by_frame, told_by_rows};
use serde::{Deserialize, Serialize};

use crate::error::RowError;

const COLUMN: &str = "internal";

/// An object is one of ours or the root of a call trace; whichever fields it has tell.
#[derive(Deserialize)]
struct Read {
    transfers: Option<Vec<InternalTransfer>>,
    #[serde(default)]
    failed: bool,
    listed: Option<Vec<InternalTransfer>>,
    #[serde(default)]
    untraceable: bool,
    #[serde(rename = "type")]
    kind: Option<String>,
    from: Option<Address>,
    to: Option<Address>,
    value: Option<U256>,
    input: Option<Bytes>,
    error: Option<String>,
    #[serde(default)]
    calls: Vec<InnerFrame>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Written<'a> {
    Traced { transfers: &'a [InternalTransfer], failed: bool },
    Listed { listed: &'a [InternalTransfer] },
    Untraceable { untraceable: bool },
}

pub(crate) fn read(
    text: Option<&str>,
    chain: &Chain,
    transaction: &EvmTransaction,
    receipt: &Receipt,
) -> Result<InternalValue, RowError> {
    let Some(text) = text.map(str::trim_start).filter(|text| *text != "null") else {
        return Ok(InternalValue::NotAsked);
    };
    let unreadable = |error: serde_json::Error| RowError::unreadable(COLUMN, &error);
    let (root, internal) = if text.starts_with('[') {
        let rows: Vec<FlatTrace> = serde_json::from_str(text).map_err(unreadable)?;
        (Root::of_flat(&rows), told_by_rows(&rows, chain))
    } else {
        let read: Read = serde_json::from_str(text).map_err(unreadable)?;
        match read {
            Read { untraceable: true, .. } => return Ok(InternalValue::Untraceable),
            Read { listed: Some(transfers), .. } => return Ok(InternalValue::Listed { transfers }),
            Read { transfers: Some(transfers), failed, .. } => {
                (Root { failed, ..Root::default() }, InternalValue::Traced { transfers, failed })
            }
            Read { kind: None, .. } => {
                return Err(RowError::Unreadable { column: COLUMN, what: "it is in none of the forms".to_owned() });
            }
            Read { from, to, value, input, error, calls, .. } => {
                let frame = CallFrame { from, to, value, input, error, calls };
                (Root::of_call_tracer(&frame), told_by_frame(&frame, chain))
            }
        }
    };
    if !root.agrees(transaction, receipt) {
        return Err(RowError::Contradiction("`internal` is of another transaction, or ended otherwise than `receipt`"));
    }
    Ok(internal)
}

pub(crate) fn written(internal: &InternalValue) -> serde_json::Result<Option<String>> {
    let written = match internal {
        InternalValue::NotAsked => return Ok(None),
        InternalValue::Traced { transfers, failed } => Written::Traced { transfers, failed: *failed },
        InternalValue::Listed { transfers } => Written::Listed { listed: transfers },
        InternalValue::Untraceable => Written::Untraceable { untraceable: true },
    };
    serde_json::to_string(&written).map(Some)
}
