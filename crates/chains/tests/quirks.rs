//! What chains do otherwise than Ethereum, one test per kind, by the rows of `chains.toml`. The node's answers have the form that the chain's
//! documentation shows; no transaction of these chains was recorded.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail loudly"
)]

use std::sync::{Arc, LazyLock};

use chains::{FetchError, Fetched, Forgetful, Registry, Tape, TokenMemory, Upstreams, tape_node};
use engine::{Category, Classification, Knowledge, Missing, NEED_ROUNDS_MAX, Question, Read, TxHash};
use serde_json::{Value, json};

static KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(|| Knowledge::embedded().expect("embedded packs load"));
static REGISTRY: LazyLock<Registry> = LazyLock::new(|| Registry::embedded().expect("chains.toml loads"));

const HASH: &str = "0x1111111111111111111111111111111111111111111111111111111111111111";
const BLOCK_HASH: &str = "0x2222222222222222222222222222222222222222222222222222222222222222";
const BLOCK: u64 = 1000;
const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const WALLET: &str = "0x4444444444444444444444444444444444444444";
const FRIEND: &str = "0x5555555555555555555555555555555555555555";
const SPONSOR: &str = "0x6666666666666666666666666666666666666666";
const TOKEN: &str = "0x7777777777777777777777777777777777777777";
const OTHER_TOKEN: &str = "0x8888888888888888888888888888888888888888";
const ZERO: &str = "0x0000000000000000000000000000000000000000";
/// 2026-11-01.
const LATE: u64 = 1_793_491_200;

/// A transaction of the wallet's that used 21,000 of 100,000 gas at a price of 10, on a chain of the registry.
struct Case {
    slug: &'static str,
    transaction: Value,
    receipt: Value,
    header: Value,
    trace: Option<Value>,
    answers: Vec<(&'static str, Value, Value)>,
}

impl Case {
    fn on(slug: &'static str) -> Self {
        let number = format!("{BLOCK:#x}");
        let chain_id = REGISTRY.find(slug).unwrap().chain_id.unwrap();
        Self {
            slug,
            transaction: json!({ "hash": HASH, "from": WALLET, "to": FRIEND, "value": "0x0", "input": "0xffffffff", "type": "0x2", "chainId": format!("{chain_id:#x}"), "blockNumber": number, "blockHash": BLOCK_HASH, "gas": "0x186a0", "gasPrice": "0xa" }),
            receipt: json!({ "transactionHash": HASH, "blockHash": BLOCK_HASH, "blockNumber": number, "gasUsed": "0x5208", "effectiveGasPrice": "0xa", "status": "0x1", "contractAddress": null, "logs": [] }),
            header: json!({ "hash": BLOCK_HASH, "number": number, "timestamp": format!("{LATE:#x}") }),
            trace: Some(json!({ "type": "CALL" })),
            answers: Vec::new(),
        }
    }

    fn transaction(mut self, more: &Value) -> Self {
        merge(&mut self.transaction, more);
        self
    }

    fn receipt(mut self, more: &Value) -> Self {
        merge(&mut self.receipt, more);
        self
    }

    fn logs(self, logs: &[Value]) -> Self {
        self.receipt(&json!({ "logs": logs }))
    }

    fn at(mut self, timestamp: u64) -> Self {
        self.header["timestamp"] = json!(format!("{timestamp:#x}"));
        self
    }

    fn untraced(mut self) -> Self {
        self.trace = None;
        self
    }

    /// What the trace has below its root.
    fn calls(mut self, calls: Value) -> Self {
        self.trace.as_mut().unwrap()["calls"] = calls;
        self
    }

    fn answer(mut self, method: &'static str, params: Value, result: Value) -> Self {
        self.answers.push((method, params, result));
        self
    }

    /// What the wallet had of the coin before and after the block, in which it sent this transaction alone.
    fn balances(self, before: u64, after: u64) -> Self {
        let [earlier, then] = [BLOCK - 1, BLOCK].map(|number| json!([WALLET, format!("{number:#x}")]));
        self.answer("eth_getBalance", earlier.clone(), json!(format!("{before:#x}")))
            .answer("eth_getBalance", then.clone(), json!(format!("{after:#x}")))
            .answer("eth_getTransactionCount", earlier, json!("0x1"))
            .answer("eth_getTransactionCount", then, json!("0x2"))
    }

    fn upstreams(&self) -> Upstreams {
        let number = format!("{BLOCK:#x}");
        let mut said = vec![
            ("eth_getTransactionByHash", json!([HASH]), self.transaction.clone()),
            ("eth_getTransactionReceipt", json!([HASH]), self.receipt.clone()),
            ("eth_getBlockByNumber", json!([number, false]), self.header.clone()),
        ];
        if let Some(mut trace) = self.trace.clone() {
            for field in ["from", "to", "value", "input"] {
                trace[field] = self.transaction[field].clone();
            }
            said.push(("debug_traceTransaction", json!([HASH, { "tracer": "callTracer" }]), trace));
        }
        said.extend(self.answers.clone());
        let line = |(method, params, result): &(&str, Value, Value)| {
            format!("{}\n", json!({ "chain": self.slug, "method": method, "params": params, "result": result }))
        };
        let tape = Arc::new(Tape::read(&said.iter().map(line).collect::<String>()).unwrap());
        let memory: Arc<dyn TokenMemory> = Arc::new(Forgetful);
        Upstreams::new([tape_node(REGISTRY.find(self.slug).unwrap(), &tape)], &memory)
    }

    async fn fetched(&self) -> Result<Fetched, FetchError> {
        self.upstreams().fetch(TxHash::parse(HASH).unwrap(), None).await
    }

    async fn read(&self) -> Classification {
        self.read_as(WALLET).await
    }

    async fn read_as(&self, wallet: &str) -> Classification {
        let question = Question { wallet: engine::Account::parse(wallet).ok(), ..Question::default() };
        let mut complete = self.fetched().await.expect("the tape has it");
        for _ in 0..NEED_ROUNDS_MAX {
            match engine::read(complete.facts(), &question, &KNOWLEDGE, Missing::Ask).expect("the wallet is part of it")
            {
                Read::Needs(needs) => complete = complete.answer(&needs).await.expect("the tape has it"),
                Read::Done(answer) => return *answer,
            }
        }
        panic!("the engine keeps asking")
    }
}

fn merge(into: &mut Value, more: &Value) {
    for (key, value) in more.as_object().unwrap() {
        into[key] = value.clone();
    }
}

fn word(address: &str) -> String {
    format!("0x{:0>64}", address.trim_start_matches("0x"))
}

fn moved(token: &str, from: &str, to: &str, amount: u128) -> Value {
    json!({ "address": token, "topics": [TRANSFER, word(from), word(to)], "data": format!("0x{amount:064x}") })
}

/// What was paid for gas: the token, or nothing for the coin, and how much.
fn gas(answer: &Classification) -> Option<(Option<String>, String)> {
    let leg = answer.assets.gas.as_ref()?;
    Some((leg.token_address.map(|token| token.to_string()), leg.amount.clone()))
}

fn coin(amount: &str) -> Option<(Option<String>, String)> {
    Some((None, amount.to_owned()))
}

fn token(token: &str, amount: &str) -> Option<(Option<String>, String)> {
    Some((Some(token.to_owned()), amount.to_owned()))
}

/// What went out, as symbols and amounts.
fn sent(answer: &Classification) -> Vec<(&str, &str)> {
    answer.assets.sent.iter().map(|leg| (leg.symbol.as_str(), leg.amount.as_str())).collect()
}

fn note(answer: &Classification) -> &str {
    answer.review_note.as_deref().unwrap_or_default()
}

const EIP_7708: &str = "0xfffffffffffffffffffffffffffffffffffffffe";
const USDC_OF_ARC: &str = "0x3600000000000000000000000000000000000000";

/// Arc: a transfer of the token is logged by the system and by the contract, a plain payment by the system alone.
#[tokio::test]
async fn coin_that_two_contracts_log_moved_once() {
    let (system, contract) =
        (moved(EIP_7708, WALLET, FRIEND, 1_500_000_000_000_000_000), moved(USDC_OF_ARC, WALLET, FRIEND, 1_500_000));
    let to_contract = json!({ "to": USDC_OF_ARC });
    for logs in [vec![system.clone(), contract.clone()], vec![contract, system.clone()]] {
        // Everything that moves is logged, so that no trace is missed.
        let answer = Case::on("arc").transaction(&to_contract).untraced().logs(&logs).read().await;
        assert_eq!(sent(&answer), [("USDC", "1.5")], "{answer:?}");
        assert_eq!(gas(&answer), coin("0.00000000000021"));
        assert!(!note(&answer).contains("No node could show"), "{answer:?}");
    }
    let value = json!({ "value": format!("{:#x}", 1_500_000_000_000_000_000_u64), "input": "0x" });
    let plain = Case::on("arc").transaction(&value).logs(&[system]).read().await;
    assert_eq!((plain.category, sent(&plain)), (Category::Transfer, vec![("USDC", "1.5")]));
    assert!(!plain.needs_review, "{plain:?}");
    // Two payments of the same amount are two.
    let pair = || moved(EIP_7708, WALLET, FRIEND, 2_000_000_000_000_000_000);
    let twice = Case::on("arc").logs(&[pair(), pair(), moved(USDC_OF_ARC, WALLET, FRIEND, 2_000_000)]).read().await;
    assert_eq!(sent(&twice), [("USDC", "4")]);
}

const USDT0: &str = "0x779ded0c9e1022225f8e0630b35a9b54be713736";
const RESERVE: &str = "0x6d11e1a6bdcc974ebe1ca73cc2c1ea3fde624370";

/// Stable: the token cannot say the last twelve digits of the coin, and evens them out with a reserve.
#[tokio::test]
async fn a_log_with_fewer_decimals_is_the_same_move() {
    let amount = 1_000_000_500_000_000_000_u64;
    let value = json!({ "value": format!("{amount:#x}"), "input": "0x" });
    let logs = [moved(USDT0, WALLET, FRIEND, 1_000_000), moved(USDT0, WALLET, RESERVE, 1)];
    let case = |at: u64| Case::on("stable").transaction(&value).logs(&logs).at(at);
    let answer = case(LATE).read().await;
    assert_eq!(sent(&answer), [("USDT0", "1.0000005")], "{answer:?}");
    assert!(!answer.needs_review, "{answer:?}");
    let early = case(1_770_000_000).read().await;
    assert!(early.needs_review && note(&early).contains("gUSDT"), "{early:?}");
    let by_token = Case::on("stable").transaction(&json!({ "to": USDT0 })).logs(&logs[..1]).read().await;
    assert_eq!(sent(&by_token), [("USDT0", "1")]);
}

/// Celo: all that gas may cost is debited first, and credited last; the rest comes back.
#[tokio::test]
async fn a_fee_that_a_token_paid_is_stated_in_that_token() {
    let in_token = json!({ "type": "0x7b", "feeCurrency": TOKEN });
    let gas_fee_address = "0x000000000000000000000000000000000ce106a5";
    for sink in [ZERO, gas_fee_address] {
        let done = moved(OTHER_TOKEN, WALLET, FRIEND, 5);
        let debit = moved(TOKEN, WALLET, sink, 100);
        let credits = [moved(TOKEN, sink, WALLET, 60), moved(TOKEN, sink, SPONSOR, 30), moved(TOKEN, sink, FRIEND, 10)];
        let logs = [vec![debit.clone(), done.clone()], credits.to_vec()].concat();
        let answer = Case::on("celo").transaction(&in_token).logs(&logs).read().await;
        assert_eq!(gas(&answer), token(TOKEN, "40"), "{answer:?}");
        assert_eq!(sent(&answer), [("UNKNOWN", "5")]);
        // Of a transaction that failed only these logs are left.
        let failed = [vec![debit.clone()], credits.to_vec()].concat();
        let case = Case::on("celo").transaction(&in_token).logs(&failed).receipt(&json!({ "status": "0x0" }));
        let answer = case.untraced().read().await;
        assert_eq!((answer.category, gas(&answer)), (Category::FailedTransaction, token(TOKEN, "40")));
        // Where they do not add up, nothing is stated.
        let less = [vec![debit, done], credits[..2].to_vec()].concat();
        let answer = Case::on("celo").transaction(&in_token).logs(&less).read().await;
        assert_eq!(gas(&answer), None);
        assert!(
            answer.needs_review && note(&answer).contains("No fee is stated: it was paid in a token"),
            "{answer:?}"
        );
    }
    let in_coin = Case::on("celo").transaction(&json!({ "feeCurrency": null })).read().await;
    assert_eq!(gas(&in_coin), coin("0.00000000000021"));
}

const FEE_MANAGER: &str = "0xfeec000000000000000000000000000000000000";

/// Tempo: the receipt names the token and the payer, and the price is in dollars with 18 decimals.
#[tokio::test]
async fn a_chain_without_a_coin_states_its_fees_in_the_token_that_the_receipt_names() {
    // 21,000 gas at 2,000,000,000 are 42 millionths of a dollar.
    let paid = json!({ "feeToken": TOKEN, "feePayer": WALLET, "effectiveGasPrice": "0x77359400" });
    let done = moved(OTHER_TOKEN, WALLET, FRIEND, 5);
    let fee = moved(TOKEN, WALLET, FEE_MANAGER, 42);
    let case = |logs: &[Value]| Case::on("tempo").untraced().receipt(&paid).logs(logs);
    let answer = case(&[done.clone(), fee.clone()]).read().await;
    assert_eq!((gas(&answer), sent(&answer)), (token(TOKEN, "42"), vec![("UNKNOWN", "5")]), "{answer:?}");
    assert!(!note(&answer).contains("native coin"), "what nodes tell of balances means nothing: {answer:?}");
    // Held and given back; not logged at all; what contradicts is not stated.
    let held = [moved(TOKEN, WALLET, FEE_MANAGER, 100), done.clone(), moved(TOKEN, FEE_MANAGER, WALLET, 58)];
    assert_eq!(gas(&case(&held).read().await), token(TOKEN, "42"));
    assert_eq!(gas(&case(std::slice::from_ref(&done)).read().await), token(TOKEN, "42"));
    let other = case(&[done.clone(), moved(TOKEN, WALLET, FEE_MANAGER, 43)]).read().await;
    assert!(gas(&other).is_none() && other.needs_review, "{other:?}");
    // Rounded up.
    let more = json!({ "effectiveGasPrice": "0x77359401" });
    assert_eq!(gas(&case(std::slice::from_ref(&done)).receipt(&more).read().await), token(TOKEN, "43"));
    // Somebody else paid.
    let sponsored = Case::on("tempo").untraced().receipt(&paid).receipt(&json!({ "feePayer": SPONSOR }));
    let sponsored = sponsored.logs(&[done.clone(), moved(TOKEN, SPONSOR, FEE_MANAGER, 42)]);
    assert_eq!(gas(&sponsored.read().await), None);
    assert_eq!(gas(&sponsored.read_as(SPONSOR).await), token(TOKEN, "42"));
    // Its own type holds several calls.
    let own =
        Case::on("tempo").untraced().transaction(&json!({ "type": "0x76", "to": null, "input": "0x", "calls": [] }));
    let own = own.receipt(&paid).logs(&[done, fee]).read().await;
    assert!(own.needs_review && note(&own).contains("several calls"), "{own:?}");
}

#[tokio::test]
async fn gas_is_charged_as_the_chain_gives_back_what_was_not_used() {
    let expected = [("ethereum", "0.00000000000021"), ("monad", "0.000000000001"), ("conflux", "0.00000000000075")];
    for (slug, fee) in expected {
        assert_eq!(gas(&Case::on(slug).read().await), coin(fee), "{slug}");
    }
    let used = json!({ "gasUsed": format!("{:#x}", 80_000) });
    assert_eq!(
        gas(&Case::on("conflux").receipt(&used).read().await),
        coin("0.0000000000008"),
        "all of it was given back"
    );
}

const COIN_CONTRACT: &str = "0x000000000000000000000000000000000000800a";
const BOOTLOADER: &str = "0x0000000000000000000000000000000000008001";

/// ZKsync and its like: the coin's contract logs who paid for gas.
#[tokio::test]
async fn a_paymaster_pays_for_the_sender_and_not_the_sender() {
    for slug in ["zksync", "abstract", "sophon", "zklink"] {
        let own =
            [moved(COIN_CONTRACT, WALLET, BOOTLOADER, 1_000_000), moved(COIN_CONTRACT, BOOTLOADER, WALLET, 790_000)];
        let answer = Case::on(slug).logs(&own).read().await;
        assert_eq!((gas(&answer), sent(&answer)), (coin("0.00000000000021"), vec![]), "{slug}");
        let paid =
            [moved(COIN_CONTRACT, SPONSOR, BOOTLOADER, 1_000_000), moved(COIN_CONTRACT, BOOTLOADER, SPONSOR, 790_000)];
        let sponsored = Case::on(slug).logs(&paid);
        assert_eq!(gas(&sponsored.read().await), None, "{slug}");
        assert_eq!(gas(&sponsored.read_as(SPONSOR).await), coin("0.00000000000021"), "{slug}");
        let from_parent = Case::on(slug).transaction(&json!({ "type": "0xff" })).read().await;
        assert_eq!(gas(&from_parent), None, "{slug}: it was paid for on the parent chain");
    }
}

#[tokio::test]
async fn a_fee_that_nodes_do_not_tell_is_not_stated() {
    let numbered = json!({ "feeTokenID": "0x3", "feeRate": "0x1", "tokenScale": "0x1", "l1Fee": "0x5" });
    let cases =
        [Case::on("morph").receipt(&numbered), Case::on("hedera"), Case::on("filecoin"), Case::on("tempo").untraced()];
    for case in cases {
        let answer = case.read().await;
        assert_eq!(gas(&answer), None, "{}", case.slug);
        assert!(answer.needs_review && note(&answer).contains("No fee is stated"), "{}: {answer:?}", case.slug);
    }
    let in_coin = Case::on("morph").receipt(&json!({ "feeTokenID": "0x0", "l1Fee": "0x5" })).read().await;
    assert_eq!(gas(&in_coin), coin("0.000000000000210005"), "execution and the data on the parent chain");
    assert!(note(&Case::on("hedera").read().await).contains("two addresses"));
}

/// The OP stack counts the operator fee otherwise since Jovian, and states as blob gas what nobody pays for.
#[tokio::test]
async fn l1_and_operator_fees_are_counted_as_the_receipts_fork_has_it() {
    let parts = json!({ "l1Fee": "0x64", "operatorFeeScalar": "0x1e8480", "operatorFeeConstant": "0x7" });
    let isthmus = Case::on("zircuit").receipt(&parts).read().await;
    // 210,000 and 100, twice the gas, and 7.
    assert_eq!(gas(&isthmus), coin("0.000000000000252107"));
    let parts = json!({ "l1Fee": "0x64", "operatorFeeScalar": "0x2", "operatorFeeConstant": "0x7", "daFootprintGasScalar": "0x190", "blobGasUsed": "0x9c40", "blobGasPrice": "0x1" });
    let jovian = Case::on("zircuit").receipt(&parts).read().await;
    // 210,000 and 100, two hundred times the gas, and 7.
    assert_eq!(gas(&jovian), coin("0.000000000004410107"));
}

/// Sei, Injective and their like: modules of the chain are contracts that pay out without a value.
#[tokio::test]
async fn where_a_contract_of_the_chain_moves_the_coin_balances_are_compared() {
    let cases = [
        ("sei", "0x0000000000000000000000000000000000001007"),
        ("injective", "0x0000000000000000000000000000000000000066"),
        ("tac", "0x0000000000000000000000000000000000000801"),
    ];
    for (slug, module) in cases {
        let called = json!([{ "type": "CALL", "from": FRIEND, "to": module, "value": "0x0", "input": "0x" }]);
        let direct = json!({ "to": module });
        let within = || Case::on(slug).calls(called.clone());
        let at_once = || Case::on(slug).transaction(&direct);
        for case in [within(), at_once()] {
            let paid_out = case.balances(1_000_000, 1_000_000 - 210_000 + 5_000_000).read().await;
            let received: Vec<&str> = paid_out.assets.received.iter().map(|leg| leg.amount.as_str()).collect();
            assert_eq!(received, ["0.000000000005"], "{slug}: {paid_out:?}");
            assert!(paid_out.needs_review, "{slug}");
        }
        for case in [within(), at_once()] {
            let nothing = case.balances(1_000_000, 1_000_000 - 210_000).read().await;
            assert!(nothing.assets.received.is_empty() && !note(&nothing).contains("native"), "{slug}: {nothing:?}");
        }
        let unsaid = within().read().await;
        assert!(unsaid.needs_review && note(&unsaid).contains("native coin"), "{slug}: {unsaid:?}");
        // Whoever only asks it moves nothing.
        let asked = json!([{ "type": "STATICCALL", "from": FRIEND, "to": module, "input": "0x" }]);
        let asked = Case::on(slug).calls(asked).read().await;
        assert!(!note(&asked).contains("native coin"), "{slug}: {asked:?}");
    }
}

/// PulseChain begins with the history of Ethereum.
#[tokio::test]
async fn a_transaction_of_the_chain_that_was_forked_is_not_found_on_the_fork() {
    assert!(Case::on("pulsechain").fetched().await.is_ok());
    let of_ethereum = Case::on("pulsechain").transaction(&json!({ "chainId": "0x1" })).fetched().await;
    assert!(matches!(of_ethereum, Err(FetchError::NotDetected)), "{of_ethereum:?}");
    let of_neither = Case::on("pulsechain").transaction(&json!({ "chainId": "0x2" })).fetched().await;
    assert!(matches!(of_neither, Err(FetchError::Upstream { .. })), "{of_neither:?}");
}

#[tokio::test]
async fn a_block_is_final_by_the_tag_or_by_the_depth_of_the_row() {
    let depth = REGISTRY.find("ethereum-classic").unwrap().finality_depth.unwrap();
    for (head, is_final) in [(BLOCK + depth - 1, false), (BLOCK + depth, true)] {
        let case = Case::on("ethereum-classic").answer("eth_blockNumber", json!([]), json!(format!("{head:#x}")));
        assert_eq!(case.fetched().await.unwrap().is_final(), is_final, "{head}");
    }
    // A chain whose node does not know the tag, and whose row tells no depth, is never final.
    assert!(!Case::on("harmony").fetched().await.unwrap().is_final());
    let told = json!({ "hash": BLOCK_HASH, "number": format!("{BLOCK:#x}"), "timestamp": "0x65000000" });
    let tagged = Case::on("harmony").answer("eth_getBlockByNumber", json!(["finalized", false]), told);
    assert!(tagged.fetched().await.unwrap().is_final());
}

/// Ethereum Classic, before its receipts had a status: the trace tells.
#[tokio::test]
async fn a_receipt_without_a_status_is_read_by_the_trace() {
    let mut case = Case::on("ethereum-classic")
        .transaction(&json!({ "type": "0x0", "chainId": null }))
        .receipt(&json!({ "status": null }));
    assert_ne!(case.read().await.category, Category::FailedTransaction);
    case.trace.as_mut().unwrap()["error"] = json!("out of gas");
    assert_eq!(case.read().await.category, Category::FailedTransaction);
}

/// Flow: whoever acts from its other side pays no gas.
#[tokio::test]
async fn transactions_of_the_chain_itself_cost_nobody_gas() {
    let direct = Case::on("flow").transaction(&json!({ "type": "0xff" })).read().await;
    assert_eq!(gas(&direct), None);
    assert_eq!(gas(&Case::on("flow").read().await), coin("0.00000000000021"));
}
