//! Blocks of EVM chains.

use chains::Upstreams;
use serde_json::{Value, json};

use super::{by_hash, code, of_block, one_by_one, recorded, said, unsupported};

const SLUG: &str = "demo";
const NUMBER: &str = "0x3e8";
const BLOCK: u64 = 1_000;
const HASH: &str = "0x2222222222222222222222222222222222222222222222222222222222222222";
const OTHER_HASH: &str = "0x3333333333333333333333333333333333333333333333333333333333333333";

/// What a node says of a block; a test changes it.
#[derive(Clone)]
struct Told {
    header: Value,
    transactions: Value,
    receipts: Value,
    traces: Value,
    flat: Value,
    /// Calls by block that the node does not offer.
    without: Vec<&'static str>,
}

const RECEIPTS: &str = "eth_getBlockReceipts";
const TRACES: &str = "debug_traceBlockByNumber";
const FLAT: &str = "trace_block";

/// The block, and what the node says of its transactions one by one.
fn gathered() -> (Told, Vec<Value>) {
    let rows = recorded(include_str!("../../../../demo/evm.jsonl"));
    let of = |method: &str, hash: &Value| {
        let row = rows.iter().find(|row| row["method"] == method && row["params"][0] == *hash);
        row.unwrap_or_else(|| panic!("{method} {hash}"))["result"].clone()
    };
    let header = json!({ "hash": HASH, "number": NUMBER, "timestamp": "0x65000000", "miner": format!("0x{:040x}", 7) });
    let (mut transactions, mut receipts, mut traces, mut flat) = (vec![], vec![], vec![], vec![]);
    let mut singles = vec![
        said(SLUG, "eth_getBlockByNumber", &json!([NUMBER, false]), &header),
        said(SLUG, "eth_getBlockByNumber", &json!(["finalized", false]), &header),
    ];
    for row in rows.iter().filter(|row| row["method"] == "eth_getTransactionByHash") {
        let hash = &row["params"][0];
        let place = json!(format!("{:#x}", transactions.len()));
        let moved = |mut told: Value| {
            (told["blockNumber"], told["blockHash"]) = (json!(NUMBER), json!(HASH));
            told["transactionIndex"] = place.clone();
            told
        };
        let (transaction, receipt) = (moved(row["result"].clone()), moved(of("eth_getTransactionReceipt", hash)));
        let trace = of("debug_traceTransaction", hash);
        let rows = flattened(&trace, hash);
        singles.push(said(SLUG, "eth_getTransactionByHash", &json!([hash]), &transaction));
        singles.push(said(SLUG, "eth_getTransactionReceipt", &json!([hash]), &receipt));
        let tracer = json!([hash, { "tracer": "callTracer" }]);
        singles.push(said(SLUG, "debug_traceTransaction", &tracer, &trace));
        singles.push(said(SLUG, "trace_transaction", &json!([hash]), &json!(rows)));
        transactions.push(transaction);
        receipts.push(receipt);
        traces.push(json!({ "txHash": hash, "result": trace }));
        flat.extend(rows);
    }
    assert!(transactions.len() > 50);
    flat.push(json!({ "type": "reward", "action": { "author": format!("0x{:040x}", 7), "value": "0x1" } }));
    let told = Told {
        header,
        transactions: transactions.into(),
        receipts: receipts.into(),
        traces: traces.into(),
        flat: flat.into(),
        without: vec![],
    };
    (told, singles)
}

/// The frames of a call tracer as rows of the older format.
fn flattened(root: &Value, hash: &Value) -> Vec<Value> {
    let mut rows = Vec::new();
    let mut open = vec![(root, Vec::<usize>::new())];
    while let Some((frame, address)) = open.pop() {
        let calls = frame["calls"].as_array().map(Vec::as_slice).unwrap_or_default();
        for (at, inner) in calls.iter().enumerate().rev() {
            open.push((inner, [address.clone(), vec![at]].concat()));
        }
        let kind = frame["type"].as_str().unwrap().to_lowercase();
        let is_creation = kind.starts_with("create");
        let (from, to, value) = (&frame["from"], &frame["to"], &frame["value"]);
        let mut row = json!({ "transactionHash": hash, "traceAddress": address, "subtraces": 0 });
        if is_creation {
            row["type"] = json!("create");
            row["action"] = json!({ "from": from, "value": value });
            row["result"] = json!({ "address": to });
        } else {
            row["type"] = json!("call");
            row["action"] = json!({ "callType": kind, "from": from, "to": to, "value": value });
            row["result"] = json!({});
        }
        if !frame["error"].is_null() {
            row["error"] = frame["error"].clone();
        }
        rows.push(row);
    }
    rows
}

fn upstreams(told: &Told, singles: &[Value]) -> Upstreams {
    let mut block = told.header.clone();
    block["transactions"] = told.transactions.clone();
    let mut exchanges = singles.to_vec();
    exchanges.push(said(SLUG, "eth_getBlockByNumber", &json!([NUMBER, true]), &block));
    let tracer = json!([NUMBER, { "tracer": "callTracer" }]);
    for (method, params, result) in [
        (RECEIPTS, json!([NUMBER]), &told.receipts),
        (TRACES, tracer, &told.traces),
        (FLAT, json!([NUMBER]), &told.flat),
    ] {
        let is_offered = !told.without.contains(&method);
        exchanges.push(if is_offered {
            said(SLUG, method, &params, result)
        } else {
            unsupported(SLUG, method, &params)
        });
    }
    super::chain(SLUG, &exchanges)
}

fn hashes(told: &Told) -> Vec<String> {
    told.transactions.as_array().unwrap().iter().map(|one| one["hash"].as_str().unwrap().to_owned()).collect()
}

/// Without one of the kinds of single answers: then only the block's can have told it.
fn without(singles: &[Value], method: &str) -> Vec<Value> {
    singles.iter().filter(|row| row["method"] != method).cloned().collect()
}

#[tokio::test]
async fn a_block_tells_what_its_transactions_tell_one_by_one() {
    let (told, singles) = gathered();
    let alone = one_by_one(SLUG, &upstreams(&told, &singles), &hashes(&told)).await;
    // Nothing but the block's own three answers and the head.
    let head = vec![singles[1].clone()];
    let block = upstreams(&told, &head).block(SLUG, BLOCK).await.unwrap();
    assert_eq!(of_block(block), alone, "and in its order");
    let mut nameless = told.clone();
    for row in nameless.traces.as_array_mut().unwrap() {
        row.as_object_mut().unwrap().remove("txHash");
    }
    assert_eq!(of_block(upstreams(&nameless, &head).block(SLUG, BLOCK).await.unwrap()), alone, "traces by their place");
    let flat = Told { without: vec![TRACES], ..told.clone() };
    assert_eq!(of_block(upstreams(&flat, &head).block(SLUG, BLOCK).await.unwrap()), alone, "the older format");
    let receipts = Told { without: vec![RECEIPTS], ..told.clone() };
    let singly = without(&singles, "debug_traceTransaction");
    assert_eq!(of_block(upstreams(&receipts, &singly).block(SLUG, BLOCK).await.unwrap()), alone, "receipts one by one");
    let traces = Told { without: vec![TRACES, FLAT], ..told.clone() };
    let singly = without(&singles, "eth_getTransactionReceipt");
    assert_eq!(of_block(upstreams(&traces, &singly).block(SLUG, BLOCK).await.unwrap()), alone, "traces one by one");
    let neither = Told { without: vec![RECEIPTS, TRACES, FLAT], ..told };
    assert_eq!(of_block(upstreams(&neither, &singles).block(SLUG, BLOCK).await.unwrap()), alone, "both one by one");
}

type Lie = fn(&mut Told);

fn rows(list: &mut Value) -> &mut Vec<Value> {
    list.as_array_mut().unwrap()
}

#[tokio::test]
async fn what_cannot_be_believed_is_asked_of_the_transaction_itself() {
    let (told, singles) = gathered();
    let alone = by_hash(one_by_one(SLUG, &upstreams(&told, &singles), &hashes(&told)).await);
    let lies: [(&str, Lie); 19] = [
        ("receipts in another order", |told| rows(&mut told.receipts).reverse()),
        ("a receipt less", |told| drop(rows(&mut told.receipts).remove(3))),
        ("a receipt twice", |told| {
            let mut twice = told.receipts[3].clone();
            twice["status"] = json!("0x0");
            rows(&mut told.receipts).push(twice);
        }),
        ("a receipt of another block", |told| told.receipts[3]["blockHash"] = json!(OTHER_HASH)),
        ("a receipt of another number", |told| told.receipts[3]["blockNumber"] = json!("0x3e9")),
        ("receipts of another block only", |told| {
            for (at, receipt) in rows(&mut told.receipts).iter_mut().enumerate() {
                receipt["blockHash"] = json!(OTHER_HASH);
                receipt["transactionHash"] = json!(format!("0x{at:064x}"));
            }
        }),
        ("a receipt that cannot be read", |told| told.receipts[3] = json!({ "transactionHash": 7 })),
        ("no list of receipts", |told| told.receipts = json!({ "0": 1 })),
        ("no receipts", |told| told.receipts = Value::Null),
        ("traces in another order", |told| rows(&mut told.traces).reverse()),
        ("nameless traces in another order", |told| {
            for row in rows(&mut told.traces) {
                row.as_object_mut().unwrap().remove("txHash");
            }
            rows(&mut told.traces).reverse();
        }),
        ("a nameless trace less", |told| {
            for row in rows(&mut told.traces) {
                row.as_object_mut().unwrap().remove("txHash");
            }
            rows(&mut told.traces).remove(3);
        }),
        ("a trace less", |told| drop(rows(&mut told.traces).remove(3))),
        ("a trace twice", |told| {
            let twice = told.traces[3].clone();
            rows(&mut told.traces).push(twice);
        }),
        ("traces under each other's name", |told| {
            let names = (told.traces[3]["txHash"].take(), told.traces[40]["txHash"].take());
            (told.traces[40]["txHash"], told.traces[3]["txHash"]) = names;
        }),
        ("a trace that failed", |told| {
            let hash = told.traces[3]["txHash"].clone();
            told.traces[3] = json!({ "txHash": hash, "error": "execution timeout" });
        }),
        ("a trace that ended otherwise", |told| told.traces[3]["result"]["error"] = json!("execution reverted")),
        ("no list of traces", |told| (told.traces, told.flat) = (json!("none"), Value::Null)),
        // Its receipt shows that it is there.
        ("a transaction less", |told| drop(rows(&mut told.transactions).remove(3))),
    ];
    for (what, lie) in lies {
        let mut lied = told.clone();
        lie(&mut lied);
        let block = upstreams(&lied, &singles).block(SLUG, BLOCK).await;
        assert_eq!(by_hash(of_block(block.unwrap_or_else(|error| panic!("{what}: {error:?}")))), alone, "{what}");
    }
}

#[tokio::test]
async fn a_block_that_contradicts_itself_is_none() {
    let (told, singles) = gathered();
    let lies: [(&str, &str, Lie); 11] = [
        ("upstream_inconsistent", "another number", |told| told.header["number"] = json!("0x3e9")),
        ("upstream_inconsistent", "a transaction twice", |told| {
            let twice = told.transactions[3].clone();
            rows(&mut told.transactions).push(twice);
        }),
        ("upstream_inconsistent", "of another block", |told| told.transactions[3]["blockHash"] = json!(OTHER_HASH)),
        ("upstream_inconsistent", "of another number", |told| told.transactions[3]["blockNumber"] = json!("0x3e9")),
        ("upstream_inconsistent", "of no block", |told| told.transactions[3]["blockNumber"] = Value::Null),
        ("upstream_inconsistent", "another amount than was signed", |told| {
            told.transactions[3]["value"] = json!("0xffff");
        }),
        ("upstream_inconsistent", "another hash", |told| told.transactions[3]["hash"] = json!(OTHER_HASH)),
        ("upstream_inconsistent", "another chain", |told| told.transactions[3]["chainId"] = json!("0x1")),
        ("upstream_bad_response", "hashes only", |told| told.transactions = json!([OTHER_HASH])),
        ("upstream_bad_response", "no list", |told| told.transactions = json!({})),
        ("upstream_inconsistent", "a receipt of nobody", |told| {
            let mut receipt = told.receipts[3].clone();
            receipt["transactionHash"] = json!(OTHER_HASH);
            rows(&mut told.receipts).push(receipt);
        }),
    ];
    for (expected, what, lie) in lies {
        let mut lied = told.clone();
        lie(&mut lied);
        let error = upstreams(&lied, &singles).block(SLUG, BLOCK).await.map(|rows| rows.len()).unwrap_err();
        assert_eq!(code(&error), expected, "{what}: {error:?}");
    }
}

/// One whose receipt nobody has fails alone.
#[tokio::test]
async fn a_transaction_that_cannot_be_had_fails_alone() {
    let (mut told, singles) = gathered();
    let hash = told.transactions[3]["hash"].clone();
    rows(&mut told.receipts).remove(3);
    let is_its_receipt = |row: &Value| row["method"] == "eth_getTransactionReceipt" && row["params"][0] == hash;
    let singles: Vec<Value> = singles.into_iter().filter(|row| !is_its_receipt(row)).collect();
    let block = upstreams(&told, &singles).block(SLUG, BLOCK).await.unwrap();
    let failed: Vec<usize> = (0..block.len()).filter(|at| block[*at].fetched.is_err()).collect();
    assert_eq!(failed, [3]);
}
