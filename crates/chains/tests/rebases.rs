//! A report that changes every balance of stETH, asked for the wallets of holders: what it came to is read from two views at two blocks. The
//! nodes' answers are in words here, since no test can wait for a report.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail loudly")]

use std::sync::{Arc, LazyLock};

use chains::{Forgetful, Registry, Tape, TokenMemory, Upstreams, tape_node};
use engine::{Account, Category, Classification, Knowledge, Missing, NEED_ROUNDS_MAX, Policy, Question, Read, TxHash};
use serde_json::{Value, json};

static KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(|| Knowledge::embedded().expect("embedded packs load"));

const STETH: &str = "0xae7ab96520de3a18e5e111b5eaab095312d7fe84";
const HASH: &str = "0x1111111111111111111111111111111111111111111111111111111111111111";
const BLOCK_HASH: &str = "0x2222222222222222222222222222222222222222222222222222222222222222";
const ORACLE: &str = "0x3333333333333333333333333333333333333333";
/// Held 100 by 90 shares, and holds 100.3 by as many.
const HOLDER: &str = "0x4444444444444444444444444444444444444444";
/// Sold half of its shares in the same block.
const SELLER: &str = "0x5555555555555555555555555555555555555555";
/// Never held any.
const NOBODY: &str = "0x6666666666666666666666666666666666666666";
/// The node has forgotten the block before for it.
const FORGOTTEN: &str = "0x7777777777777777777777777777777777777777";
const BLOCK: u64 = 1000;
const TOKEN_REBASED: &str = "0xff08c3ef606d198e316ef5b822193c489965899eb4e3c248cea1a4626c3eda50";

fn word(number: u128) -> String {
    format!("{number:064x}")
}

/// `balanceOf` or `sharesOf` of a holder at a block; without an amount the node refuses.
fn view(selector: &str, holder: &str, block: u64, amount: Option<u128>) -> Value {
    let data = format!("{selector}{:0>64}", holder.trim_start_matches("0x"));
    let params = json!([{ "to": STETH, "data": data }, format!("{block:#x}")]);
    match amount {
        Some(amount) => {
            json!({ "chain": "report", "method": "eth_call", "params": params, "result": format!("0x{}", word(amount)) })
        }
        None => json!({ "chain": "report", "method": "eth_call", "params": params }),
    }
}

fn upstreams() -> Upstreams {
    let mut registry = Registry::embedded().unwrap();
    let chain = "[[chain]]\nslug = \"report\"\nname = \"Report\"\nfamily = \"evm\"\nchain_id = 31338\nnative_symbol = \"ETH\"\nnative_name = \"Ether\"\nnative_decimals = 18\ncontracts_as = \"ethereum\"\n";
    registry.add(chain).unwrap();
    let said = |method: &str, params: Value, result: Value| json!({ "chain": "report", "method": method, "params": params, "result": result });
    let totals = [86_400, 1000, 1000, 1000, 1003, 0].map(word).concat();
    let log = json!({ "address": STETH, "topics": [TOKEN_REBASED, format!("0x{}", word(7))], "data": format!("0x{totals}"), "logIndex": "0x5" });
    let transaction = json!({ "hash": HASH, "from": ORACLE, "to": ORACLE, "value": "0x0", "input": "0xffffffff", "type": "0x2", "chainId": "0x7a6a", "blockNumber": "0x3e8", "blockHash": BLOCK_HASH, "gas": "0x5208", "gasPrice": "0x1" });
    let receipt = json!({ "transactionHash": HASH, "blockHash": BLOCK_HASH, "blockNumber": "0x3e8", "gasUsed": "0x5208", "effectiveGasPrice": "0x1", "status": "0x1", "contractAddress": null, "logs": [log] });
    let header = json!({ "hash": BLOCK_HASH, "number": "0x3e8", "timestamp": "0x65000000" });
    let (balance, shares) = ("0x70a08231", "0xf5eb42dc");
    let holds = |holder: &str, before: Option<[u128; 2]>, after: [u128; 2]| {
        [
            view(balance, holder, BLOCK - 1, before.map(|[balance, _]| balance)),
            view(shares, holder, BLOCK - 1, before.map(|[_, shares]| shares)),
            view(balance, holder, BLOCK, Some(after[0])),
            view(shares, holder, BLOCK, Some(after[1])),
        ]
    };
    let unit = 1_000_000_000_000_000_000;
    let mut exchanges = vec![
        said("eth_getTransactionByHash", json!([HASH]), transaction),
        said("eth_getTransactionReceipt", json!([HASH]), receipt),
        said("eth_getBlockByNumber", json!(["0x3e8", false]), header.clone()),
        said("eth_getBlockByNumber", json!(["finalized", false]), header),
        said(
            "debug_traceTransaction",
            json!([HASH, { "tracer": "callTracer" }]),
            json!({ "type": "CALL", "from": ORACLE, "to": ORACLE, "value": "0x0", "input": "0xffffffff" }),
        ),
    ];
    exchanges.extend(holds(HOLDER, Some([100 * unit, 90 * unit]), [1003 * unit / 10, 90 * unit]));
    exchanges.extend(holds(SELLER, Some([100 * unit, 90 * unit]), [50 * unit, 45 * unit]));
    exchanges.extend(holds(NOBODY, Some([0, 0]), [0, 0]));
    exchanges.extend(holds(FORGOTTEN, None, [100 * unit, 90 * unit]));
    let tape: String = exchanges.iter().map(|exchange| format!("{exchange}\n")).collect();
    let tape = Arc::new(Tape::read(&tape).unwrap());
    let memory: Arc<dyn TokenMemory> = Arc::new(Forgetful);
    Upstreams::new([tape_node(registry.find("report").unwrap(), &tape)], &memory)
}

/// `None` where the wallet is no part of it.
async fn asked(wallet: &str, policy: Policy) -> Option<Classification> {
    let question = Question { wallet: Some(Account::parse(wallet).unwrap()), policy, ..Question::default() };
    let mut complete = upstreams().fetch(TxHash::parse(HASH).unwrap(), None).await.expect("the tape has it");
    for _ in 0..NEED_ROUNDS_MAX {
        match engine::read(complete.facts(), &question, &KNOWLEDGE, Missing::Ask) {
            Ok(Read::Needs(needs)) => complete = complete.answer(&needs).await.expect("the tape has it"),
            Ok(Read::Done(answer)) => return Some(*answer),
            Err(_) => return None,
        }
    }
    panic!("the engine keeps asking")
}

#[tokio::test]
async fn a_holder_earned_what_its_balance_grew_by() {
    let answer = asked(HOLDER, Policy::default()).await.expect("a holder");
    assert_eq!(answer.review_note, None);
    assert_eq!((answer.category, answer.taxable), (Category::StakingRebase, Some(true)));
    assert_eq!(answer.assets.received.first().unwrap().amount, "300000000000000000", "the tape knows no decimals");
    assert_eq!(answer.protocol.as_deref(), Some("Lido"));
    let mut policy = Policy::default();
    policy.set("staking", "defer");
    let deferred = asked(HOLDER, policy).await.expect("a holder");
    assert_eq!((deferred.category, deferred.taxable), (Category::StakingRebase, Some(false)));
}

#[tokio::test]
async fn what_cannot_be_known_is_left_to_a_person() {
    for wallet in [SELLER, FORGOTTEN] {
        let answer = asked(wallet, Policy::default()).await.expect("perhaps a holder");
        assert!(answer.needs_review && answer.taxable.is_none(), "{wallet}: {:?}", answer.description);
    }
}

#[tokio::test]
async fn who_holds_none_is_no_part_of_it() {
    assert!(asked(NOBODY, Policy::default()).await.is_none());
}
