//! Native coin passed on inside a transaction, out of the two trace formats that nodes speak.

use alloy_primitives::{Address, U256};
use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InternalTransfer {
    pub from: Address,
    pub to: Address,
    pub value: U256,
}

/// A frame of geth's `callTracer`.
#[derive(Debug, Clone, Deserialize)]
pub struct CallFrame {
    #[serde(rename = "type", default)]
    pub kind: String,
    pub from: Option<Address>,
    pub to: Option<Address>,
    pub value: Option<U256>,
    pub error: Option<String>,
    #[serde(default)]
    pub calls: Vec<CallFrame>,
}

/// A row of the older flat format, `trace_transaction`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FlatTrace {
    pub action: FlatAction,
    #[serde(rename = "type", default)]
    pub kind: String,
    pub error: Option<String>,
    #[serde(default)]
    pub trace_address: Vec<u32>,
    pub result: Option<FlatResult>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FlatAction {
    pub call_type: Option<String>,
    pub from: Option<Address>,
    pub to: Option<Address>,
    pub value: Option<U256>,
    pub address: Option<Address>,
    pub refund_address: Option<Address>,
    pub balance: Option<U256>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct FlatResult {
    pub address: Option<Address>,
}

/// Only frames that hand on value of their own count: a delegate call shows its caller's value again.
fn carries_value(kind: &str) -> bool {
    ["CALL", "CREATE", "CREATE2", "SELFDESTRUCT"].iter().any(|carrier| kind.eq_ignore_ascii_case(carrier))
}

/// Transfers below the root frame, whose value the transaction itself states, and whether the root failed.
/// What a failed frame did, and everything below it, was undone.
pub fn from_call_tracer(root: &CallFrame) -> (Vec<InternalTransfer>, bool) {
    let mut transfers = Vec::new();
    if root.error.is_some() {
        return (transfers, true);
    }
    let mut open: Vec<std::slice::Iter<'_, CallFrame>> = vec![root.calls.iter()];
    while let Some(siblings) = open.last_mut() {
        let Some(frame) = siblings.next() else {
            open.pop();
            continue;
        };
        if frame.error.is_some() {
            continue;
        }
        if let (true, Some(from), Some(to), Some(value)) =
            (carries_value(&frame.kind), frame.from, frame.to, frame.value)
            && !value.is_zero()
        {
            transfers.push(InternalTransfer { from, to, value });
        }
        open.push(frame.calls.iter());
    }
    (transfers, false)
}

pub fn from_flat(rows: &[FlatTrace]) -> (Vec<InternalTransfer>, bool) {
    let undone: Vec<&[u32]> =
        rows.iter().filter(|row| row.error.is_some()).map(|row| row.trace_address.as_slice()).collect();
    let failed = undone.iter().any(|address| address.is_empty());
    let stands = |row: &&FlatTrace| !undone.iter().any(|above| row.trace_address.starts_with(above));
    let transfers = rows.iter().filter(|row| !row.trace_address.is_empty()).filter(stands).filter_map(flat_transfer);
    (transfers.filter(|transfer| !transfer.value.is_zero()).collect(), failed)
}

fn flat_transfer(row: &FlatTrace) -> Option<InternalTransfer> {
    let action = &row.action;
    match row.kind.as_str() {
        "call" if action.call_type.as_deref() == Some("call") => {
            Some(InternalTransfer { from: action.from?, to: action.to?, value: action.value? })
        }
        "create" => Some(InternalTransfer {
            from: action.from?,
            to: row.result.as_ref().and_then(|result| result.address)?,
            value: action.value?,
        }),
        "suicide" => {
            Some(InternalTransfer { from: action.address?, to: action.refund_address?, value: action.balance? })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> Address {
        Address::with_last_byte(last)
    }

    #[test]
    fn a_failed_frame_takes_everything_below_it_along() {
        let root: CallFrame = serde_json::from_str(
            r#"{"type":"CALL","from":"0x0000000000000000000000000000000000000001","to":"0x0000000000000000000000000000000000000002","value":"0x9","calls":[
                {"type":"CALL","from":"0x0000000000000000000000000000000000000002","to":"0x0000000000000000000000000000000000000003","value":"0x5","error":"execution reverted","calls":[
                    {"type":"CALL","from":"0x0000000000000000000000000000000000000003","to":"0x0000000000000000000000000000000000000001","value":"0x5"}]},
                {"type":"DELEGATECALL","from":"0x0000000000000000000000000000000000000002","to":"0x0000000000000000000000000000000000000004","value":"0x9","calls":[
                    {"type":"CALL","from":"0x0000000000000000000000000000000000000002","to":"0x0000000000000000000000000000000000000001","value":"0x7"}]}]}"#,
        )
        .unwrap();
        let expected = InternalTransfer { from: address(2), to: address(1), value: U256::from(7) };
        assert_eq!(from_call_tracer(&root), (vec![expected], false));
    }

    #[test]
    fn the_flat_format_says_the_same() {
        let rows: Vec<FlatTrace> = serde_json::from_str(
            r#"[{"type":"call","traceAddress":[],"action":{"callType":"call","from":"0x0000000000000000000000000000000000000001","to":"0x0000000000000000000000000000000000000002","value":"0x9"}},
                {"type":"call","traceAddress":[0],"error":"Reverted","action":{"callType":"call","from":"0x0000000000000000000000000000000000000002","to":"0x0000000000000000000000000000000000000003","value":"0x5"}},
                {"type":"call","traceAddress":[0,0],"action":{"callType":"call","from":"0x0000000000000000000000000000000000000003","to":"0x0000000000000000000000000000000000000001","value":"0x5"}},
                {"type":"suicide","traceAddress":[1],"action":{"address":"0x0000000000000000000000000000000000000002","refundAddress":"0x0000000000000000000000000000000000000001","balance":"0x7"}}]"#,
        )
        .unwrap();
        let expected = InternalTransfer { from: address(2), to: address(1), value: U256::from(7) };
        assert_eq!(from_flat(&rows), (vec![expected], false));
    }
}
