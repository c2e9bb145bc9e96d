//! Wallets in the place of a table: their transactions as an explorer over a real node lists them, or the node itself on Solana, exactly and each once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Output;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{Query, State};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::OnceCell;

use super::cli::said;
use super::crash::within;
use super::harness::{Answer, Scenario, Setup, Taxon, chain_file, demo_scenario, free_port, mainnet, read, root, rpc};
use super::pages::browser::Browser;
use super::solana;

/// Who sent most transactions of the scenario, and to whom it gave things.
const WALLET: &str = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
const FRIEND: &str = "0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc";
/// Fees of the marketplace go to it, from inside.
const DEPLOYER: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";

const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const TRANSFER_SINGLE: &str = "0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62";
const TRANSFER_BATCH: &str = "0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb";
/// Fewer than are asked for, so that there are pages.
const PAGE_ROWS: usize = 7;

/// 2026-01-02 in UTC; the chain begins a day earlier.
const SECOND_DAY: u128 = 1_767_312_000;

/// What a source that fails once costs, and reading.
const DONE: Duration = Duration::from_secs(60);

/// Changes what the explorer answers.
type Tamper = fn(&BTreeMap<String, String>, Value) -> Value;

/// By the name of the list: rows, and whom each names.
type Lists = BTreeMap<&'static str, Vec<(Value, BTreeSet<String>)>>;

/// An explorer in the form of Etherscan, over the blocks, logs and traces of a real node.
struct Explorer {
    lists: &'static Lists,
    tamper: Tamper,
    asked: Mutex<usize>,
}

impl Explorer {
    async fn start(node: &str, tamper: Tamper) -> (String, Arc<Self>) {
        static LISTS: OnceCell<Lists> = OnceCell::const_new();
        let lists = LISTS.get_or_init(|| lists(node)).await;
        let explorer = Arc::new(Self { lists, tamper, asked: Mutex::new(0) });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/api?apikey=s3cr3t", listener.local_addr().unwrap());
        let router = Router::new().route("/api", axum::routing::get(answer)).with_state(Arc::clone(&explorer));
        tokio::spawn(async move { axum::serve(listener, router).await });
        (url, explorer)
    }
}

async fn answer(State(explorer): State<Arc<Explorer>>, Query(query): Query<BTreeMap<String, String>>) -> Json<Value> {
    *explorer.asked.lock().unwrap() += 1;
    let Some(list) = query.get("action").and_then(|action| explorer.lists.get(action.as_str())) else {
        return Json(json!({ "status": "0", "message": "NOTOK", "result": "Error! Missing Or invalid Action name" }));
    };
    let number = |field: &str| query[field].parse::<usize>().unwrap();
    let first_block = number("startblock");
    let named = list.iter().filter(|(_, named)| named.contains(&query["address"])).map(|(row, _)| row);
    let from = named.filter(|row| row["blockNumber"].as_str().unwrap().parse::<usize>().unwrap() >= first_block);
    let rows: Vec<&Value> = from.skip((number("page") - 1) * PAGE_ROWS).take(PAGE_ROWS).collect();
    let told = match rows.as_slice() {
        [] => json!({ "status": "0", "message": "No transactions found", "result": [] }),
        rows => json!({ "status": "1", "message": "OK", "result": rows }),
    };
    Json((explorer.tamper)(&query, told))
}

async fn lists(node: &str) -> Lists {
    let mut lists: Lists =
        ["txlist", "txlistinternal", "tokentx", "tokennfttx", "token1155tx"].map(|list| (list, Vec::new())).into();
    for block in blocks(node).await {
        let row = |hash: &Value| json!({ "blockNumber": hex(&block["number"]).to_string(), "timeStamp": hex(&block["timestamp"]).to_string(), "hash": hash });
        for transaction in block["transactions"].as_array().unwrap() {
            let hash = &transaction["hash"];
            let mut list = |name: &str, named: BTreeSet<String>| lists.get_mut(name).unwrap().push((row(hash), named));
            list("txlist", texts([&transaction["from"], &transaction["to"]]));
            for frame in rpc(node, "trace_transaction", json!([hash])).await.as_array().unwrap() {
                let is_inside = frame["traceAddress"] != json!([]) && hex(&frame["action"]["value"]) > 0;
                if is_inside {
                    list("txlistinternal", texts([&frame["action"]["from"], &frame["action"]["to"]]));
                }
            }
        }
        let number = &block["number"];
        for log in
            rpc(node, "eth_getLogs", json!([{ "fromBlock": number, "toBlock": number }])).await.as_array().unwrap()
        {
            let topics: Vec<&str> =
                log["topics"].as_array().unwrap().iter().map(|topic| topic.as_str().unwrap()).collect();
            let (name, sides) = match topics.as_slice() {
                [TRANSFER, from, to] => ("tokentx", [*from, *to]),
                [TRANSFER, from, to, _] => ("tokennfttx", [*from, *to]),
                [TRANSFER_SINGLE | TRANSFER_BATCH, _, from, to] => ("token1155tx", [*from, *to]),
                _ => continue,
            };
            let named = sides.map(|topic| format!("0x{}", &topic[26..])).into();
            lists.get_mut(name).unwrap().push((row(&log["transactionHash"]), named));
        }
    }
    lists
}

/// Every block of the shared chain, which only grew while the scenario was played.
async fn blocks(node: &str) -> &'static [Value] {
    static BLOCKS: OnceCell<Vec<Value>> = OnceCell::const_new();
    let all = async || {
        let head = hex(&rpc(node, "eth_blockNumber", json!([])).await);
        let mut blocks = Vec::new();
        for number in 1..=head {
            blocks.push(rpc(node, "eth_getBlockByNumber", json!([format!("{number:#x}"), true])).await);
        }
        blocks
    };
    BLOCKS.get_or_init(all).await
}

fn hex(value: &Value) -> u128 {
    u128::from_str_radix(value.as_str().unwrap_or("0x0").trim_start_matches("0x"), 16).unwrap()
}

fn texts<const N: usize>(values: [&Value; N]) -> BTreeSet<String> {
    values.into_iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Hashes of the transactions that someone sent or was sent.
async fn direct(node: &str, account: &str) -> BTreeSet<String> {
    let blocks = blocks(node).await;
    let all = blocks.iter().flat_map(|block| block["transactions"].as_array().unwrap());
    let own = all.filter(|transaction| transaction["from"] == account || transaction["to"] == account);
    own.map(|transaction| transaction["hash"].as_str().unwrap().to_owned()).collect()
}

/// Hashes of the transactions that were mined before a time.
async fn mined_before(node: &str, seconds: u128) -> BTreeSet<String> {
    let blocks = blocks(node).await;
    let early = blocks.iter().filter(|block| hex(&block["timestamp"]) < seconds);
    let all = early.flat_map(|block| block["transactions"].as_array().unwrap());
    all.map(|transaction| transaction["hash"].as_str().unwrap().to_owned()).collect()
}

fn hashes(scenario: &Scenario, names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| scenario.named(name).hash.clone()).collect()
}

/// The local chain, with an explorer that is asked without a pause.
fn setup(node: &str, explorer: Option<&str>) -> Setup {
    let data = tempfile::tempdir().unwrap();
    let chains = data.path().join("chains.toml");
    std::fs::write(&chains, chain_file(&[("local", 31_337, node)], "ethereum")).unwrap();
    let mut setup = Setup { data: Arc::new(data), env: BTreeMap::new(), flags: Vec::new(), around: None }
        .with("TAXON_RPC_LOCAL", node)
        .with("TAXON_CHAINS", &chains.display().to_string())
        .with("TAXON_EXPLORERS_PER_SECOND", "1000");
    if let Some(url) = explorer {
        setup = setup.with("TAXON_EXPLORER_LOCAL", url);
    }
    setup
}

/// `taxon bulk` with these arguments, which writes to `out.csv`. No secret is ever said.
async fn bulk(setup: &Setup, arguments: &[&str]) -> Output {
    let (setup, out) = (setup.clone(), out(setup));
    let arguments: Vec<String> =
        ["bulk"].iter().chain(arguments).map(|text| (*text).to_owned()).chain(["--out".to_owned(), out]).collect();
    let run = move || setup.output(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let output = tokio::task::spawn_blocking(run).await.unwrap();
    assert!(!said(&output).contains("s3cr3t") && !complaint(&output).contains("s3cr3t"), "{}", complaint(&output));
    output
}

fn out(setup: &Setup) -> String {
    setup.data.path().join("out.csv").display().to_string()
}

fn complaint(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The rows of the file.
fn written(setup: &Setup) -> Vec<BTreeMap<String, String>> {
    csv::Reader::from_path(out(setup)).unwrap().deserialize().map(Result::unwrap).collect()
}

/// The transactions that the file has of a wallet.
fn transactions_of(rows: &[BTreeMap<String, String>], wallet: &str) -> BTreeSet<String> {
    rows.iter().filter(|row| row["wallet"] == wallet).map(|row| row["hash"].clone()).collect()
}

#[tokio::test]
async fn a_wallet_is_written_with_what_only_its_transfers_name() {
    let (anvil, scenario) = mainnet().await;
    let (url, explorer) = Explorer::start(&anvil.url, |_, told| told).await;
    let setup = setup(&anvil.url, Some(&url));
    let output = bulk(&setup, &[FRIEND, "--chain", "local", "--format", "csv"]).await;
    assert!(output.status.success(), "{}", complaint(&output));
    let by_transfers_alone = [
        "token_transfer",
        "safe_transfer_token",
        "userop_transfer",
        "userop_bundle_of_two",
        "nft_transfer",
        "erc1155_transfer",
        "erc1155_batch_transfer",
        "batch_7702",
    ];
    let direct_ones = direct(&anvil.url, FRIEND).await;
    let others = hashes(scenario, &by_transfers_alone);
    assert!(direct_ones.is_disjoint(&others) && direct_ones.contains(&scenario.named("plain_transfer").hash));
    let rows = written(&setup);
    let all: BTreeSet<String> = &direct_ones | &others;
    assert_eq!(transactions_of(&rows, FRIEND), all);
    assert!(rows.iter().all(|row| row["wallet"] == FRIEND && row["chain"] == "local"));
    // As docs/bulk.md has it.
    let docs = std::fs::read_to_string(root().join("docs/bulk.md")).unwrap();
    let told = said(&output);
    let shown = told.lines().take(2).collect::<Vec<&str>>().join("\n");
    assert!(docs.contains(&shown) && shown.contains("on local: 13 transactions: 5 as transactions, "), "{shown}");
    assert!(*explorer.asked.lock().unwrap() > 5, "there were pages");
    // There is nothing before the chain, and its first day ends before the last of them.
    let output = bulk(&setup, &[FRIEND, "--chain", "local", "--to", "2025-12-31"]).await;
    assert!(output.status.success() && said(&output).contains("on local: 0 transactions\n"), "{}", complaint(&output));
    assert_eq!(written(&setup).len(), 0);
    let on_the_first_day = &all & &mined_before(&anvil.url, SECOND_DAY).await;
    assert!(!on_the_first_day.is_empty() && on_the_first_day.len() < all.len());
    let output = bulk(&setup, &[FRIEND, "--from", "2026-01-01", "--to", "2026-01-01"]).await;
    assert!(output.status.success(), "{}", complaint(&output));
    assert_eq!(transactions_of(&written(&setup), FRIEND), on_the_first_day);
}

#[tokio::test]
async fn what_moves_between_the_wallets_of_one_person_is_no_sale() {
    let (anvil, scenario) = mainnet().await;
    let (url, _explorer) = Explorer::start(&anvil.url, |_, told| told).await;
    let setup = setup(&anvil.url, Some(&url));
    let output = bulk(&setup, &[WALLET, FRIEND, DEPLOYER]).await;
    assert!(output.status.success(), "{}", complaint(&output));
    let rows = written(&setup);
    let sent = &scenario.named("plain_transfer").hash;
    let views: BTreeMap<&str, &str> = rows
        .iter()
        .filter(|row| row["hash"] == *sent && row["entry"].starts_with("move_"))
        .map(|row| (row["wallet"].as_str(), row["row_category"].as_str()))
        .collect();
    assert_eq!(views, [(WALLET, "self_transfer"), (FRIEND, "self_transfer")].into(), "each from its own side");
    // Nothing but a transfer inside names it.
    let inside = hashes(scenario, &["seaport_buy", "seaport_buy_batch"]);
    let direct_ones = direct(&anvil.url, DEPLOYER).await;
    let by_token = hashes(scenario, &["seaport_sell_by_offer"]);
    assert!(direct_ones.is_disjoint(&inside));
    assert_eq!(transactions_of(&rows, DEPLOYER), &(&direct_ones | &inside) | &by_token);
}

/// An explorer that fails in the middle leaves nothing behind, and what was read before it is not read again.
#[tokio::test]
async fn an_explorer_that_fails_ends_the_run_before_anything_is_read() {
    let (anvil, _) = mainnet().await;
    let first_page: Tamper = |query, told| {
        let row = json!({ "blockNumber": "7", "timeStamp": "1767225607", "hash": format!("0x{}", "ab".repeat(32)) });
        if query["action"] == "tokentx" { json!({ "status": "1", "message": "OK", "result": [row] }) } else { told }
    };
    let (url, _explorer) = Explorer::start(&anvil.url, first_page).await;
    let setup = setup(&anvil.url, Some(&url));
    let output = bulk(&setup, &[FRIEND, "--chain", "local"]).await;
    assert_eq!(output.status.code(), Some(1));
    let words = "on local cannot be listed: `tokentx`: page 2 is the same as the one before it, so the list has no end";
    assert!(complaint(&output).contains(words), "{}", complaint(&output));
    assert!(!Path::new(&out(&setup)).exists() && !Path::new(&format!("{}.part", out(&setup))).exists());
}

#[tokio::test]
async fn a_hash_on_no_chain_is_tried_again_and_one_of_somebody_else_is_left_out() {
    let (anvil, scenario) = mainnet().await;
    let invented: Tamper = |query, mut told| {
        if let (true, Some(rows)) = (query["action"] == "token1155tx", told["result"].as_array_mut()) {
            for row in rows.iter_mut().take(1) {
                row["hash"] = json!(format!("0x{}", "ab".repeat(32)));
            }
        }
        told
    };
    let (url, _explorer) = Explorer::start(&anvil.url, invented).await;
    let liar = setup(&anvil.url, Some(&url));
    let output = bulk(&liar, &[FRIEND, "--chain", "local"]).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains(&format!("not classified  0x{}", "ab".repeat(32))), "{}", said(&output));
    assert!(complaint(&output).contains("--resume tries them again"), "{}", complaint(&output));
    // The other one lists a transaction of somebody else, as explorers list calls that moved nothing.
    let foreign: Tamper = |query, mut told| {
        if let (true, Some(rows)) =
            (query["action"] == "txlistinternal" && query["page"] == "1", told["result"].as_array_mut())
        {
            let row = json!({ "blockNumber": "1", "timeStamp": "1767225601", "hash": demo_scenario().named("weth_wrap").hash });
            rows.insert(0, row);
        }
        told
    };
    let (url, _explorer) = Explorer::start(&anvil.url, foreign).await;
    let mended = liar.clone().with("TAXON_EXPLORER_LOCAL", &url);
    let output = bulk(&mended, &[FRIEND, "--chain", "local", "--resume"]).await;
    assert!(output.status.success(), "{}", complaint(&output));
    let foreign = &scenario.named("weth_wrap").hash;
    let words =
        format!("1 transactions are listed of a wallet that is no part of them, and left out\n  left out  {foreign}\n");
    assert!(said(&output).contains(&words), "{}", said(&output));
    let written = transactions_of(&written(&mended), FRIEND);
    assert!(written.contains(&scenario.named("erc1155_transfer").hash) && !written.contains(foreign));
}

#[tokio::test]
async fn what_cannot_be_looked_up_is_said_with_the_setting() {
    let (anvil, _) = mainnet().await;
    let setup = setup(&anvil.url, None);
    let solana = solana::scenario().wallet;
    let cases: [(&[&str], &str); 7] = [
        (&[FRIEND, "--chain", "local"], "set TAXON_EXPLORER_LOCAL to the address of one in the form of Etherscan"),
        (&[FRIEND], "set TAXON_EXPLORER_ETHEREUM, or that of another chain"),
        (&[FRIEND, "--chain", "base"], "no chain that is served is called `base`"),
        (&[&solana], "set TAXON_RPC_SOLANA"),
        (&[&solana, "--chain", "local"], "none of the wallets has an address of local"),
        (&[FRIEND, "--from", "2026-02-01", "--to", "2026-01-01"], "--from is later than --to"),
        (&[FRIEND, "--column", "hash"], "--wallet and --column are for tables"),
    ];
    for (arguments, words) in cases {
        let output = bulk(&setup, arguments).await;
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(complaint(&output).contains(words), "{arguments:?}: {}", complaint(&output));
    }
    let output = bulk(&setup, &["table.csv", "--from", "2026-01-01"]).await;
    assert!(complaint(&output).contains("--from and --to are for wallets"), "{}", complaint(&output));
    assert_eq!(bulk(&setup, &[FRIEND, "--from", "yesterday"]).await.status.code(), Some(2));
}

/// Two of these name only a token account of the wallet. The node lists a few at a time, as what it recorded has them.
#[tokio::test]
async fn a_wallet_on_solana_is_written_with_what_only_its_token_accounts_name() {
    let node = solana::Node::start(|_, answer| answer).await;
    let mut setup = Setup::demo();
    setup.flags.clear();
    setup.env.clear();
    let setup = setup.with("TAXON_RPC_SOLANA", &node.url);
    let scenario = solana::scenario();
    let output = bulk(&setup, &[&scenario.wallet]).await;
    assert!(output.status.success(), "{}", complaint(&output));
    let all: BTreeSet<String> = scenario.transactions.iter().map(|done| done.hash.clone()).collect();
    assert_eq!(transactions_of(&written(&setup), &scenario.wallet), all);
    let words = format!(
        "{} on solana: 22 transactions: 20 as transactions that name the wallet, 2 more as transactions that name one of its 5 token accounts\n",
        scenario.wallet
    );
    assert!(said(&output).starts_with(&words), "{}", said(&output));
    assert!(said(&output).contains("not listed on solana: token accounts that were closed"), "{}", said(&output));
    // From the recording: the two that came by token accounts were at 10 and 24 seconds after midnight.
    let output = bulk(&setup, &[&scenario.wallet, "--to", "2025-12-31"]).await;
    assert!(said(&output).contains("on solana: 0 transactions\n"), "{}", said(&output));
}

async fn job(taxon: &Taxon, method: reqwest::Method, path: &str) -> Answer {
    let request = taxon.raw(method, &format!("/v1/jobs/{path}")).bearer_auth(&taxon.key);
    read(request.send().await.unwrap()).await
}

/// The id of a job of these wallets, once it has come to a state.
async fn comes_to(taxon: &Taxon, id: &str, state: &str) -> Value {
    let now = async || job(taxon, reqwest::Method::GET, id).await.body;
    within(DONE, async || now().await["state"] == state).await;
    now().await
}

async fn begun(taxon: &Taxon, asked: &Value) -> String {
    let answer = taxon.post("/v1/jobs/wallets", asked).await;
    assert!(answer.status == 202 && answer.body["kept_until"].is_string(), "{}", answer.body);
    answer.body["id"].as_str().unwrap().to_owned()
}

async fn results(taxon: &Taxon, id: &str) -> Vec<Value> {
    let request = taxon.raw(reqwest::Method::GET, &format!("/v1/jobs/{id}/results?format=jsonl"));
    let text = request.bearer_auth(&taxon.key).send().await.unwrap().text().await.unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// One wallet's lists have no end, and those of another cannot be read the first time.
fn faulty(query: &BTreeMap<String, String>, told: Value) -> Value {
    static READ: AtomicUsize = AtomicUsize::new(0);
    let row = json!({ "blockNumber": "7", "timeStamp": "1767225607", "hash": format!("0x{}", "ab".repeat(32)) });
    match (query["address"].as_str(), query["action"].as_str()) {
        (DEPLOYER, "tokentx") => json!({ "status": "1", "message": "OK", "result": [row] }),
        (WALLET, "tokentx") if READ.fetch_add(1, Ordering::SeqCst) == 0 => json!({ "error": "out of order" }),
        _ => told,
    }
}

#[tokio::test]
async fn wallets_are_looked_up_as_a_job_and_read_as_on_the_command_line() {
    let (anvil, scenario) = mainnet().await;
    let (url, _explorer) = Explorer::start(&anvil.url, faulty).await;
    let setup = setup(&anvil.url, Some(&url));
    let output = bulk(&setup, &[FRIEND, "--chain", "local"]).await;
    assert!(output.status.success(), "{}", complaint(&output));
    let of_friend = transactions_of(&written(&setup), FRIEND);
    let taxon = setup.start().await;

    // What was found is seen before anything is counted.
    let id = begun(&taxon, &json!({ "wallets": [FRIEND, WALLET], "name": "both", "start": false })).await;
    let ready = comes_to(&taxon, &id, "ready").await;
    let told = &ready["table"];
    let counts: Vec<(&str, &str)> = told["wallets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|list| (list["wallet"].as_str().unwrap(), list["chain"].as_str().unwrap()))
        .collect();
    assert_eq!(counts, [(FRIEND, "local"), (WALLET, "local")], "{ready}");
    assert_eq!((&told["wallets"][0]["count"], &told["count"]), (&json!(of_friend.len()), &ready["rows"]), "{ready}");
    assert!(!told["unseen"].as_array().unwrap().is_empty() && told["unlisted"] == json!([]), "{ready}");
    assert_eq!((&ready["name"], &ready["reason"], &ready["read"]), (&json!("both"), &Value::Null, &json!(0)));
    assert_eq!(taxon.quota(&taxon.key).await["used"], 0);
    assert_eq!(job(&taxon, reqwest::Method::POST, &format!("{id}/start")).await.status, 200);
    let done = comes_to(&taxon, &id, "finished").await;
    assert_eq!((&done["failed"], &done["read"]), (&json!(0), &done["rows"]), "{done}");
    let rows = results(&taxon, &id).await;
    let of = |wallet: &str| -> BTreeSet<String> {
        let own = rows.iter().filter(|row| row["perspective"] == wallet);
        own.map(|row| row["hash"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(of(FRIEND), of_friend, "{}", rows[0]);
    let sent = &scenario.named("plain_transfer").hash;
    let views: Vec<&Value> = rows.iter().filter(|row| row["hash"] == *sent).collect();
    assert!(views.len() == 2 && views.iter().all(|row| row["category"] == "self_transfer"), "{views:?}");

    let id = begun(&taxon, &json!({ "wallets": [FRIEND], "chain": "local", "to": "2025-12-31" })).await;
    let none = comes_to(&taxon, &id, "finished").await;
    assert_eq!((&none["rows"], &none["table"]["count"], &none["name"]), (&json!(0), &json!(0), &json!(FRIEND)));
    let id = begun(&taxon, &json!({ "wallets": [DEPLOYER] })).await;
    let failed = comes_to(&taxon, &id, "failed").await;
    let why = "on local cannot be listed: `tokentx`: page 2 is the same as the one before it";
    assert!(failed["reason"].as_str().unwrap().contains(why), "{failed}");

    let many: Vec<String> = (0..101).map(|number| format!("0x{number:040x}")).collect();
    let solana = solana::scenario().wallet;
    for (asked, words) in [
        (json!({ "wallets": [] }), "1 to 100 wallets"),
        (json!({ "wallets": many }), "1 to 100 wallets"),
        (json!({ "wallets": [FRIEND, "alice.eth"] }), "`wallets[1]`: "),
        (json!({ "wallets": [FRIEND], "chain": "atlantis" }), "`atlantis` is not served"),
        (json!({ "wallets": [solana] }), "no node of Solana is served"),
        (json!({ "wallets": [solana], "chain": "local" }), "none of the wallets has an address of local"),
        (json!({ "wallets": [FRIEND], "from": "2026-02-01", "to": "2026-01-01" }), "first day is later than the last"),
        (json!({ "wallets": [FRIEND], "from": "yesterday" }), "`from`: a day is written like"),
        (json!({}), "wallets"),
    ] {
        let refused = taxon.post("/v1/jobs/wallets", &asked).await;
        let said = refused.body.to_string();
        assert!(refused.status == 400 && said.contains(words) && !said.contains("TAXON_"), "{asked}: {said}");
    }
    in_the_dashboard(&taxon, of_friend.len()).await;
}

/// The wallet of the book is looked up, shown and read.
async fn in_the_dashboard(taxon: &Taxon, count: usize) {
    let mut person = Browser::signed_in(taxon, "192.0.2.1", "a@example.com").await;
    let typed = [("wallets", "bob.eth"), ("chain", "local"), ("from", "2026-01-01"), ("name", "typed")];
    let refused = person.submit("/jobs", "/jobs/wallets", &typed).await;
    assert!(refused.status == 400 && refused.has("`wallets[0]`: ") && refused.has("Nothing here yet."));
    for kept in [">bob.eth</textarea>", "value=\"2026-01-01\"", "value=\"typed\"", "<option value=\"local\" selected>"]
    {
        assert!(refused.has(kept), "{kept}: {}", refused.text);
    }
    let books = person.get("/books").await;
    let book = format!("/books/{}", books.between("href=\"/books/", "\""));
    let fields = [("name", "Mine"), ("wallets", FRIEND), ("jurisdiction", "us"), ("time_zone", "UTC"), ("chart", "")];
    assert_eq!(person.submit(&book, &book, &fields).await.status, 303);
    let taken = person.submit("/jobs", "/jobs/wallets", &[("wallets", ""), ("book_wallets", "yes")]).await;
    assert_eq!(taken.status, 303, "{}", taken.text);
    let path = taken.location().to_owned();
    let page = super::pages::until(&mut person, &path, |page| page.has(">Ready to start</span>")).await;
    let found = format!("<td><code>{FRIEND}</code></td><td><bdi class=\"stranger\">local</bdi></td><td>{count}</td>");
    for words in [&found, "What was not looked at", "The first 10 of ", &format!("data-copy=\"{FRIEND}\"")] {
        assert!(page.has(words), "{words}: {}", page.text);
    }
    assert_eq!(person.submit(&path, &format!("{path}/start"), &[]).await.status, 303);
    let done = super::pages::until(&mut person, &path, |page| page.has(">Finished</span>")).await;
    assert!(done.has(&format!("{count} of {count}</strong> rows done")), "{}", done.text);
}

/// A source that takes its time: the job outlives the instance, and can be cancelled.
#[tokio::test]
async fn what_is_looked_up_outlives_a_restart() {
    let (anvil, _) = mainnet().await;
    let (url, explorer) = Explorer::start(&anvil.url, |_, told| told).await;
    let setup = setup(&anvil.url, Some(&url)).with("TAXON_EXPLORERS_PER_SECOND", "2");
    let first = setup.start().await;
    let id = begun(&first, &json!({ "wallets": [WALLET] })).await;
    let asked = async || *explorer.asked.lock().unwrap();
    within(DONE, async || job(&first, reqwest::Method::GET, &id).await.body["rows"] != 0).await;
    let so_far = job(&first, reqwest::Method::GET, &id).await.body;
    assert_eq!((&so_far["state"], &so_far["table"]), (&json!("listing"), &json!({})), "{so_far}");
    let key = first.key.clone();
    assert_eq!(first.stop().await, Some(0));
    let before = asked().await;

    let quick = setup.with("TAXON_EXPLORERS_PER_SECOND", "1000");
    let second = quick.start_on(free_port(), key.clone()).await;
    let done = comes_to(&second, &id, "finished").await;
    let hashes: Vec<String> = results(&second, &id).await.iter().map(|row| row["hash"].to_string()).collect();
    let distinct: BTreeSet<&String> = hashes.iter().collect();
    assert_eq!((hashes.len(), distinct.len()), (distinct.len(), hashes.len()), "each once");
    assert_eq!((&done["rows"], &done["table"]["count"]), (&json!(hashes.len()), &json!(hashes.len())), "{done}");
    assert!(asked().await > before, "it was looked up anew");
    drop(second);

    let slow = quick.with("TAXON_EXPLORERS_PER_SECOND", "1").start_on(free_port(), key).await;
    let id = begun(&slow, &json!({ "wallets": [WALLET] })).await;
    let cancelled = job(&slow, reqwest::Method::DELETE, &id).await;
    assert_eq!((cancelled.status, &cancelled.body["state"]), (200, &json!("cancelled")), "{}", cancelled.body);
    let started = job(&slow, reqwest::Method::POST, &format!("{id}/start")).await;
    assert_eq!((started.status, &started.body["state"]), (200, &json!("cancelled")), "it has ended");
}
