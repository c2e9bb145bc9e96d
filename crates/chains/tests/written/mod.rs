//! One transaction of a chain whose node's answers are written in the test.

use std::sync::{Arc, LazyLock};

use chains::{Forgetful, Registry, Tape, TokenMemory, Upstreams, tape_node};
use engine::{Classification, Knowledge, Missing, NEED_ROUNDS_MAX, Question, Read, TxHash};
use serde_json::{Value, json};

static KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(|| Knowledge::embedded().expect("embedded packs load"));

/// It has the contracts of another chain.
const CHAIN: &str = "[[chain]]\nslug = \"written\"\nname = \"Written\"\nfamily = \"evm\"\nchain_id = 31338\nnative_symbol = \"ETH\"\nnative_name = \"Ether\"\nnative_decimals = 18\n";
const HASH: &str = "0x1111111111111111111111111111111111111111111111111111111111111111";
const BLOCK_HASH: &str = "0x2222222222222222222222222222222222222222222222222222222222222222";
/// The block that holds the transaction.
pub const BLOCK: u64 = 1000;

/// An answer of the node; without a result it refuses.
pub fn said(method: &str, params: &Value, result: Option<Value>) -> Value {
    match result {
        Some(result) => json!({ "chain": "written", "method": method, "params": params, "result": result }),
        None => json!({ "chain": "written", "method": method, "params": params }),
    }
}

/// What the engine makes of a call by one account of another that logs this, where the contracts of that chain stand; `None` where the question's
/// wallet is no part of it.
pub async fn read(
    contracts_as: &str,
    (from, to): (&str, &str),
    logs: &[Value],
    answers: impl IntoIterator<Item = Value>,
    question: &Question,
) -> Option<Classification> {
    let mut registry = Registry::embedded().unwrap();
    registry.add(&format!("{CHAIN}contracts_as = \"{contracts_as}\"\n")).unwrap();
    let number = format!("{BLOCK:#x}");
    let transaction = json!({ "hash": HASH, "from": from, "to": to, "value": "0x0", "input": "0xffffffff", "type": "0x2", "chainId": "0x7a6a", "blockNumber": number, "blockHash": BLOCK_HASH, "gas": "0x5208", "gasPrice": "0x1" });
    let receipt = json!({ "transactionHash": HASH, "blockHash": BLOCK_HASH, "blockNumber": number, "gasUsed": "0x5208", "effectiveGasPrice": "0x1", "status": "0x1", "contractAddress": null, "logs": logs });
    let header = json!({ "hash": BLOCK_HASH, "number": number, "timestamp": "0x65000000" });
    let trace = json!({ "type": "CALL", "from": from, "to": to, "value": "0x0", "input": "0xffffffff" });
    let mut exchanges = vec![
        said("eth_getTransactionByHash", &json!([HASH]), Some(transaction)),
        said("eth_getTransactionReceipt", &json!([HASH]), Some(receipt)),
        said("eth_getBlockByNumber", &json!([number, false]), Some(header.clone())),
        said("eth_getBlockByNumber", &json!(["finalized", false]), Some(header)),
        said("debug_traceTransaction", &json!([HASH, { "tracer": "callTracer" }]), Some(trace)),
    ];
    exchanges.extend(answers);
    let tape: String = exchanges.iter().map(|exchange| format!("{exchange}\n")).collect();
    let tape = Arc::new(Tape::read(&tape).unwrap());
    let memory: Arc<dyn TokenMemory> = Arc::new(Forgetful);
    let upstreams = Upstreams::new([tape_node(registry.find("written").unwrap(), &tape)], &memory);
    let mut complete = upstreams.fetch(TxHash::parse(HASH).unwrap(), None).await.expect("the tape has it");
    for _ in 0..NEED_ROUNDS_MAX {
        match engine::read(complete.facts(), question, &KNOWLEDGE, Missing::Ask) {
            Ok(Read::Needs(needs)) => complete = complete.answer(&needs).await.expect("the tape has it"),
            Ok(Read::Done(answer)) => return Some(*answer),
            Err(_) => return None,
        }
    }
    panic!("the engine keeps asking")
}
