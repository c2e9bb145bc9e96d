//! Journal lines for results that a caller has: they balance, values come from the caller's prices alone, and nothing that is sent is trusted.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::harness::{Setup, Taxon, client, demo_scenario, read};

const NOWHERE: &str = "0xabababababababababababababababababababababababababababababababab";
const DEMO_DOLLAR: &str = "0x5fbdb2315678afecb367f032d93f642f64180aa3";
/// Postings that one call takes.
const POSTINGS_MAX: usize = 1_000;

/// Every transaction of the demo chain, and one that is nowhere, as a batch answers them.
async fn results(taxon: &Taxon) -> Vec<Value> {
    let scenario = demo_scenario();
    let hashes = scenario.transactions.iter().map(|done| done.hash.as_str()).chain([NOWHERE]);
    let items: Vec<Value> = hashes.map(|hash| json!({ "hash": hash, "chain": "demo" })).collect();
    let batch = taxon.post("/v1/classify-batch", &json!({ "hashes": items })).await;
    assert_eq!(batch.status, 200, "{}", batch.body);
    batch.body["results"].as_array().unwrap().clone()
}

async fn swap(taxon: &Taxon) -> Value {
    taxon.classify(&demo_scenario().named("v2_swap_eth_in").hash).await.body
}

fn prices() -> Value {
    json!([
        { "time": "2026-01-01", "asset": "ETH", "currency": "USD", "price": "3000" },
        { "time": "2026-01-01T00:10:00Z", "asset": DEMO_DOLLAR, "currency": "USD", "price": "0.999", "chain": "demo" },
    ])
}

/// Amounts as integers of 10^-24.
fn units(amount: &str) -> i128 {
    const PLACES: usize = 24;
    let (sign, amount) = amount.strip_prefix('-').map_or((1, amount), |amount| (-1, amount));
    let (whole, part) = amount.split_once('.').unwrap_or((amount, ""));
    assert!(part.len() <= PLACES, "{amount}");
    sign * format!("{whole}{part:0<PLACES$}").parse::<i128>().unwrap()
}

#[tokio::test]
async fn the_lines_of_every_transaction_balance_and_cost_nothing() {
    let taxon = Setup::demo().start().await;
    let results = results(&taxon).await;
    let used = taxon.quota(&taxon.key).await["used"].clone();
    let answer = taxon.post("/v1/journal", &json!({ "results": results, "prices": prices() })).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(taxon.quota(&taxon.key).await["used"], used, "nothing was classified");
    let lines = answer.body["lines"].as_array().unwrap();
    let postings: usize = results.iter().filter_map(|row| row["postings"].as_array()).map(Vec::len).sum();
    assert_eq!((lines.len(), &answer.body["skipped"]), (postings * 2, &json!(1)));
    let mut sums: BTreeMap<(&str, &str), i128> = BTreeMap::new();
    let mut unpriced = 0;
    for line in lines {
        let asset = line["token_address"].as_str().or(line["symbol"].as_str()).unwrap();
        *sums.entry((line["hash"].as_str().unwrap(), asset)).or_default() += units(line["quantity"].as_str().unwrap());
        unpriced += usize::from(line["unpriced"] == true);
        let is_valueless = ["mirror", "ignore"].contains(&line["entry"].as_str().unwrap());
        let has_value = line["value"].is_string();
        assert_eq!(has_value, line["price_time"].is_string() && line["currency"] == "USD", "{line}");
        assert!([has_value, is_valueless, line["unpriced"] == true].iter().filter(|is| **is).count() == 1, "{line}");
        assert!(line["entry"] != "open" || line["needs_review"] == true, "{line}");
        if has_value {
            let [quantity, price, value] = ["quantity", "price", "value"].map(|name| line[name].as_str().unwrap());
            let product = i128::from(3000) * units(quantity);
            assert!(price != "3000" || units(value) == product, "{line}");
        }
    }
    assert!(sums.len() > 60 && sums.values().all(|sum| *sum == 0), "{sums:?}");
    assert_eq!(answer.body["unpriced"], unpriced);
    assert!(unpriced > 0 && unpriced < lines.len(), "{unpriced}");
}

#[tokio::test]
async fn a_chart_is_taken_as_toml_and_as_json() {
    let taxon = Setup::demo().start().await;
    let swap = swap(&taxon).await;
    let toml = "wallet = { account = \"Bank:{wallet}\", code = \"1\" }\n\
                [[account]]\nentry = [\"expense\"]\nprotocol = [\"Uniswap v2\"]\nasset = [\"ETH\"]\naccount = \"Costs:{protocol}\"\n\
                [[account]]\naccount = \"Rest:{category}\"\ncode = \"9\"\n";
    let json = json!({
        "wallet": { "account": "Bank:{wallet}", "code": "1" },
        "account": [
            { "entry": ["expense"], "protocol": ["Uniswap v2"], "asset": ["ETH"], "account": "Costs:{protocol}" },
            { "account": "Rest:{category}", "code": "9" },
        ],
    });
    let mut answers = Vec::new();
    for chart in [json!(toml), json] {
        let answer = taxon.post("/v1/journal", &json!({ "results": [swap], "chart": chart })).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answers.push(answer.body);
    }
    let accounts: Vec<(&str, Option<&str>)> = answers[0]["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| (line["account"].as_str().unwrap(), line["account_code"].as_str()))
        .collect();
    let bank = ("Bank:0x70997970c51812dc3a010c7d01b50e0d17dc79c8", Some("1"));
    let rest = ("Rest:Swap", Some("9"));
    assert_eq!(accounts, [bank, rest, rest, bank, bank, ("Costs:Uniswap v2", None)]);
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0]["unpriced"], 6, "without prices nothing has a value");
}

/// What is wrong with a body, as a change of a good one, and what is said of it.
type Fault = (fn(&mut Value), &'static str);

const FAULTS: [Fault; 22] = [
    (|body| drop(body.as_object_mut().unwrap().remove("results")), "missing field `results`"),
    (|body| body["results"] = json!([]), "`results` takes 1 to 100 items, not 0"),
    (|body| body["results"] = json!(vec![1; 101]), "`results` takes 1 to 100 items, not 101"),
    (|body| body["results"][1] = json!(7), "`results[1]`: not a classification"),
    (|body| body["results"][1] = json!([]), "`results[1]`: not a classification"),
    (|body| body["results"][1] = json!({ "error": null }), "`results[1]`: not a classification: missing field"),
    (|body| body["results"][1]["category"] = json!("nonsense"), "`results[1]`: not a classification: category"),
    (|body| body["results"][0]["perspective"] = json!("0x1"), "`results[0]`: not a classification: perspective"),
    (|body| body["results"][1]["postings"][0]["index"] = json!(3), "`results[1]`: `postings[0]` points at no leg"),
    (|body| body["results"][1]["postings"][0]["amount"] = json!("1e9"), "`results[1]`: the amount of `postings[0]`"),
    (|body| body["results"][1]["postings"][0]["amount"] = json!("9".repeat(100)), "`results[1]`: the amount of"),
    (|body| drop(body["results"][1].as_object_mut().unwrap().remove("postings")), "`results[1]`: it has no `postings`"),
    (|body| body["results"][1]["protocol"] = json!("x".repeat(400)), "`results[1]`: `protocol` is longer than"),
    (|body| body["chart"] = json!("wallet = 7"), "`chart`: the chart of accounts is refused"),
    (
        |body| body["chart"] = json!({ "wallet": { "account": "A" }, "account": [] }),
        "names none for a posting of `dispose`",
    ),
    (|body| body["results"][1]["category"] = json!("x".repeat(99_999)), "`results[1]`: not a classification: category"),
    (
        |body| body["chart"] = json!(format!("wallet = {}", "x".repeat(99_999))),
        "`chart`: the chart of accounts is refused",
    ),
    (|body| body["chart"] = json!(7), "`chart`: the chart of accounts is refused"),
    (|body| body["prices"][1]["price"] = json!("1,5"), "`prices[1].price`: `1,5` is no plain decimal"),
    (|body| body["prices"][1]["time"] = json!("today"), "`prices[1].time`: `today` is no time or date"),
    (|body| body["prices"][1]["currency"] = json!("EUR"), "`prices[1].currency`: EUR after USD: choose one"),
    (|body| body["currency"] = json!("GBP"), "`prices`: there is no price in GBP"),
];

async fn shared() -> (&'static str, &'static str) {
    static SHARED: OnceCell<Taxon> = OnceCell::const_new();
    let start = || async { Setup::demo().with("TAXON_RATE_PER_MINUTE", "100000").start().await };
    let taxon = SHARED.get_or_init(start).await;
    (&taxon.url, &taxon.key)
}

#[tokio::test]
async fn what_cannot_be_booked_is_refused_with_its_place() {
    let (url, key) = shared().await;
    let client = client();
    let post = async |path: &str, body: &Value| {
        read(client.post(format!("{url}{path}")).bearer_auth(key).json(body).send().await.unwrap()).await
    };
    let hash = demo_scenario().named("v2_swap_eth_in").hash.clone();
    let swap = post("/v1/classify", &json!({ "hash": hash })).await.body;
    let good = json!({ "results": [swap, swap], "prices": prices() });
    assert_eq!(post("/v1/journal", &good).await.status, 200);
    for (change, words) in FAULTS {
        let mut body = good.clone();
        change(&mut body);
        let answer = post("/v1/journal", &body).await;
        let message = answer.body["error"]["message"].as_str().unwrap_or_default();
        assert_eq!((answer.status, answer.code()), (400, "invalid_request"), "{words}: {message}");
        assert!(message.contains(words) && message.len() < 1_000, "{words}: {message}");
        // Agents are told the same, with the index of the result.
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "map_to_chart_of_accounts", "arguments": body } });
        let told = post("/mcp", &call).await.body;
        let index = words.strip_prefix("`results[").and_then(|rest| rest.split(']').next()?.parse::<usize>().ok());
        assert_eq!(told["error"]["data"], json!({ "code": "invalid_request", "index": index }), "{words}: {told}");
        assert!(told["error"]["message"].as_str().unwrap().contains(words), "{words}: {told}");
    }
    // As many postings as fit, all of one leg with the longest symbol: the answer stays within bounds.
    let full = |postings: usize| {
        let mut swap = swap.clone();
        swap["assets"]["sent"][0]["symbol"] = json!("\u{1}".repeat(320));
        swap["postings"] = Value::Array(vec![swap["postings"][0].clone(); postings]);
        json!({ "results": [swap] })
    };
    let answer =
        client.post(format!("{url}/v1/journal")).bearer_auth(key).json(&full(POSTINGS_MAX)).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert!(answer.bytes().await.unwrap().len() < 8 << 20);
    let refused = post("/v1/journal", &full(POSTINGS_MAX + 1)).await;
    assert!(
        refused.body["error"]["message"].as_str().unwrap().contains("at most 1000 postings together"),
        "{}",
        refused.body
    );
}

#[tokio::test]
async fn an_agent_gets_the_same_lines() {
    let taxon = Setup::demo().start().await;
    let body = json!({ "results": results(&taxon).await, "prices": prices() });
    let rest = taxon.post("/v1/journal", &body).await.body;
    // An agent hands on the rows as it got them, with the old names that REST has not.
    let hashes: Vec<Value> = demo_scenario()
        .transactions
        .iter()
        .take(20)
        .map(|done| json!({ "hash": done.hash, "chain": "demo" }))
        .collect();
    let call = async |tool: &str, arguments: &Value| {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
        let answer = taxon.post("/mcp", &message).await.body;
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        answer["result"]["structuredContent"].clone()
    };
    assert_eq!(call("map_to_chart_of_accounts", &body).await, rest);
    let rows = call("classify_batch", &json!({ "hashes": hashes })).await;
    let lines = call("map_to_chart_of_accounts", &json!({ "results": rows["results"] })).await;
    assert!(lines["lines"].as_array().unwrap().len() > 40, "{lines}");
}

#[tokio::test]
async fn a_call_needs_a_key_and_counts_as_one_request() {
    let taxon = Setup::demo().with("TAXON_RATE_PER_MINUTE", "2").start().await;
    let swap = swap(&taxon).await;
    let body = json!({ "results": [swap] });
    let keyless = read(taxon.raw(Method::POST, "/v1/journal").json(&body).send().await.unwrap()).await;
    assert_eq!((keyless.status, keyless.code()), (401, "unauthorized"));
    assert_eq!(taxon.post("/v1/journal", &body).await.status, 200);
    let limited = taxon.post("/v1/journal", &body).await;
    assert_eq!((limited.status, limited.code()), (429, "rate_limited"));
}
