//! Native coin passed on inside a transaction, from the two trace formats that nodes offer.

use alloy_primitives::{Address, B256, Bytes, U256};
use serde::{Deserialize, Serialize};

use super::InternalValue;
use super::json::{EvmTransaction, Receipt};
use crate::chain::Chain;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InternalTransfer {
    pub from: Address,
    pub to: Address,
    pub value: U256,
}

/// The root frame of geth's `callTracer`: the transaction's own call.
#[derive(Debug, Clone, Deserialize)]
pub struct CallFrame {
    pub from: Option<Address>,
    pub to: Option<Address>,
    pub value: Option<U256>,
    pub input: Option<Bytes>,
    pub error: Option<String>,
    #[serde(default)]
    pub calls: Vec<InnerFrame>,
}

/// A frame below the root.
#[derive(Debug, Clone, Deserialize)]
pub struct InnerFrame {
    #[serde(rename = "type", default)]
    pub kind: String,
    pub from: Option<Address>,
    pub to: Option<Address>,
    pub value: Option<U256>,
    pub error: Option<String>,
    #[serde(default)]
    pub calls: Vec<InnerFrame>,
}

/// A row of the older flat format, `trace_transaction`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FlatTrace {
    pub transaction_hash: Option<B256>,
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

/// The last of the transaction types that every chain shares; types above it belong to one chain, and so does the format of their traces.
const SHARED_KIND_MAX: u64 = 4;

/// What a trace says of the transaction that it is of. Formats and nodes leave parts out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Root {
    pub hash: Option<B256>,
    pub from: Option<Address>,
    pub to: Option<Address>,
    pub value: Option<U256>,
    pub input: Option<Bytes>,
    pub failed: bool,
}

impl Root {
    pub fn of_call_tracer(frame: &CallFrame) -> Self {
        Self {
            hash: None,
            from: frame.from,
            to: frame.to,
            value: frame.value,
            input: frame.input.clone(),
            failed: frame.error.is_some(),
        }
    }

    pub fn of_flat(rows: &[FlatTrace]) -> Self {
        let hash = rows.iter().find_map(|row| row.transaction_hash);
        let Some(row) = rows.iter().find(|row| row.trace_address.is_empty()) else {
            return Self { hash, ..Self::default() };
        };
        let created = row.result.as_ref().and_then(|result| result.address);
        Self {
            hash,
            from: row.action.from,
            to: row.action.to.or(created),
            value: row.action.value,
            input: None,
            failed: row.error.is_some(),
        }
    }

    /// Whether the trace is of this transaction and ended as its receipt says. Where a chain acts by itself the zero address
    /// sends, or the root frame is the system's, and only the end is compared.
    pub fn agrees(&self, transaction: &EvmTransaction, receipt: &Receipt) -> bool {
        if differ(&self.hash, &Some(transaction.hash))
            || receipt.status.is_some_and(|status| status.is_zero() != self.failed)
        {
            return false;
        }
        let zero_address = Some(Address::ZERO);
        if transaction.kind() > SHARED_KIND_MAX || Some(transaction.from) == zero_address || self.from == zero_address {
            return true;
        }
        !differ(&self.from, &Some(transaction.from))
            && !differ(&self.to, &transaction.to.or(receipt.contract_address))
            && !differ(&self.value, &Some(transaction.value))
            && self.input.as_ref().is_none_or(|input| *input == transaction.input)
    }
}

/// Both exist and differ.
fn differ<T: PartialEq>(one: &Option<T>, other: &Option<T>) -> bool {
    one.is_some() && other.is_some() && one != other
}

/// Only frames that transfer value of their own count: a delegate call repeats its caller's value.
pub fn carries_value(kind: &str) -> bool {
    ["CALL", "CREATE", "CREATE2", "SELFDESTRUCT", "SUICIDE"].iter().any(|carrier| kind.eq_ignore_ascii_case(carrier))
}

/// Transfers below the root frame, whose value the transaction itself states, and whether the root failed.
/// What a failed frame did, and everything below it, was undone.
pub fn from_call_tracer(root: &CallFrame) -> (Vec<InternalTransfer>, bool) {
    let mut transfers = Vec::new();
    if root.error.is_some() {
        return (transfers, true);
    }
    let mut open: Vec<std::slice::Iter<'_, InnerFrame>> = vec![root.calls.iter()];
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
    let undone = undone(rows);
    let failed = undone.iter().any(|address| address.is_empty());
    // No failed frame is above another, so only the last one before a row in trace order can be above that row.
    let is_kept = |row: &&FlatTrace| {
        let before = undone.partition_point(|place| *place <= row.trace_address.as_slice());
        !undone.get(..before).and_then(<[_]>::last).is_some_and(|place| row.trace_address.starts_with(place))
    };
    let transfers = rows.iter().filter(|row| !row.trace_address.is_empty()).filter(is_kept).filter_map(flat_transfer);
    (transfers.filter(|transfer| !transfer.value.is_zero()).collect(), failed)
}

/// What a trace tells of the coin on this chain. One in which a contract of the chain itself moved the coin without a value does not tell all that
/// moved, and balances must.
pub fn told_by_frame(root: &CallFrame, chain: &Chain) -> InternalValue {
    let (transfers, failed) = from_call_tracer(root);
    let is_whole = !calls_any(root, &chain.quirks.coin_contracts);
    if is_whole { InternalValue::Traced { transfers, failed } } else { InternalValue::Untraceable }
}

/// The same of the flat format.
pub fn told_by_rows(rows: &[FlatTrace], chain: &Chain) -> InternalValue {
    let (transfers, failed) = from_flat(rows);
    let contracts = &chain.quirks.coin_contracts;
    let reads = |row: &FlatTrace| row.action.call_type.as_deref().is_some_and(|it| it.eq_ignore_ascii_case(READ_ONLY));
    let is_own = |row: &FlatTrace| row.action.to.is_some_and(|to| contracts.contains(&to)) && !reads(row);
    if rows.iter().any(is_own) { InternalValue::Untraceable } else { InternalValue::Traced { transfers, failed } }
}

/// Whether any frame called one of these contracts so that it may have changed something.
fn calls_any(root: &CallFrame, contracts: &[Address]) -> bool {
    let is_one = |to: Option<Address>| to.is_some_and(|to| contracts.contains(&to));
    let mut open: Vec<&InnerFrame> = if contracts.is_empty() { Vec::new() } else { root.calls.iter().collect() };
    let mut is_called = is_one(root.to);
    while let Some(frame) = open.pop() {
        is_called |= is_one(frame.to) && !frame.kind.eq_ignore_ascii_case(READ_ONLY);
        open.extend(&frame.calls);
    }
    is_called
}

/// A call that can change nothing.
const READ_ONLY: &str = "STATICCALL";

/// Where frames failed, in order, without those below another.
fn undone(rows: &[FlatTrace]) -> Vec<&[u32]> {
    let mut places: Vec<&[u32]> =
        rows.iter().filter(|row| row.error.is_some()).map(|row| row.trace_address.as_slice()).collect();
    places.sort_unstable();
    places.dedup_by(|below, above| below.starts_with(above));
    places
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

    const SENDER: &str = "0x00000000000000000000000000000000000000a1";
    const CALLED: &str = "0x00000000000000000000000000000000000000b2";

    fn transaction(more: &str) -> EvmTransaction {
        let hash = B256::with_last_byte(7);
        serde_json::from_str(&format!(
            r#"{{"hash":"{hash}","from":"{SENDER}","to":"{CALLED}","value":"0x9","input":"0xabcd"{more}}}"#
        ))
        .unwrap()
    }

    fn receipt(status: &str) -> Receipt {
        let hash = B256::with_last_byte(7);
        serde_json::from_str(&format!(r#"{{"transactionHash":"{hash}","status":"{status}"}}"#)).unwrap()
    }

    fn root(from: &str, to: &str, value: &str, input: &str, more: &str) -> Root {
        let frame = format!(r#"{{"from":"{from}","to":"{to}","value":"{value}","input":"{input}"{more}}}"#);
        Root::of_call_tracer(&serde_json::from_str(&frame).unwrap())
    }

    #[test]
    fn a_trace_is_of_the_transaction_whose_call_is_its_root() {
        let failed = r#","error":"execution reverted""#;
        let good = receipt("0x1");
        let agrees = |root: Root| root.agrees(&transaction(""), &good);
        assert!(agrees(root(SENDER, CALLED, "0x9", "0xabcd", "")));
        assert!(agrees(Root::default()), "what a node leaves out contradicts nothing");
        for other in [
            root(CALLED, CALLED, "0x9", "0xabcd", ""),
            root(SENDER, SENDER, "0x9", "0xabcd", ""),
            root(SENDER, CALLED, "0x8", "0xabcd", ""),
            root(SENDER, CALLED, "0x9", "0xabce", ""),
            root(SENDER, CALLED, "0x9", "0xabcd", failed),
        ] {
            assert!(!agrees(other.clone()), "{other:?}");
        }
        let ended = root(SENDER, CALLED, "0x9", "0xabcd", failed);
        assert!(ended.agrees(&transaction(""), &receipt("0x0")));
    }

    #[test]
    fn a_flat_trace_names_its_transaction() {
        let rows = |hash: u8, from: &str| -> Vec<FlatTrace> {
            let hash = B256::with_last_byte(hash);
            let text = format!(
                r#"[{{"type":"call","traceAddress":[],"transactionHash":"{hash}","action":{{"callType":"call","from":"{from}","to":"{CALLED}","value":"0x9"}}}}]"#
            );
            serde_json::from_str(&text).unwrap()
        };
        let agrees = |rows: &[FlatTrace]| Root::of_flat(rows).agrees(&transaction(""), &receipt("0x1"));
        assert!(agrees(&rows(7, SENDER)));
        assert!(!agrees(&rows(8, SENDER)) && !agrees(&rows(7, CALLED)));
    }

    /// zkSync's root frame is the bootloader's; an OP stack deposit is sent by an alias.
    #[test]
    fn a_chains_own_transactions_are_compared_by_their_end_alone() {
        let zero = Address::ZERO.to_string();
        let good = receipt("0x1");
        assert!(root(&zero, SENDER, "0x0", "0x", "").agrees(&transaction(""), &good));
        assert!(root(CALLED, SENDER, "0x0", "0x", "").agrees(&transaction(r#","type":"0x7e""#), &good));
        assert!(!root(&zero, SENDER, "0x0", "0x", r#","error":"x""#).agrees(&transaction(""), &good));
    }
}
