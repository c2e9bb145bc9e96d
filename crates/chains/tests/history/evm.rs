//! An explorer in the form of Etherscan, as https://docs.etherscan.io/api-reference/endpoint/txlist has it, and the same when it misbehaves.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Query, State};
use chains::{ExplorerFault, Forgetful, HistoryError, Period, Registry, TokenMemory, Upstreams, live_node};
use engine::TxHash;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::Outcome;

const WALLET: &str = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
/// Rows that Etherscan lists of one question.
const WINDOW_ROWS: usize = 10_000;
/// When block 0 was; each block takes a second.
const GENESIS: i64 = 1_700_000_000;

type Asked = BTreeMap<String, String>;
/// Changes what the explorer answers, by how often it was asked before.
type Tamper = fn(usize, &Asked, Value) -> Value;

type AnyTamper = dyn Fn(usize, &Asked, Value) -> Value + Send + Sync;

/// A row: its block, and the number of its transaction.
type Row = (u64, u64);

struct Explorer {
    lists: BTreeMap<&'static str, Vec<Row>>,
    /// Rows of a page at most, whatever is asked for.
    page_rows_max: usize,
    tamper: Box<AnyTamper>,
    asked: Mutex<Vec<Asked>>,
}

impl Explorer {
    fn with(lists: &[(&'static str, Vec<Row>)]) -> Self {
        let lists = lists.iter().cloned().collect();
        Self { lists, page_rows_max: 1_000, tamper: Box::new(|_, _, told| told), asked: Mutex::default() }
    }

    fn tampered(self, tamper: impl Fn(usize, &Asked, Value) -> Value + Send + Sync + 'static) -> Self {
        Self { tamper: Box::new(tamper), ..self }
    }

    /// What came of the wallet's history, and what the explorer was asked for.
    async fn history(self, period: Period) -> (Outcome, Vec<Asked>) {
        let explorer = Arc::new(self);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v2/api?chainid=1&apikey=s3cr3t", listener.local_addr().unwrap());
        let router = Router::new().route("/v2/api", axum::routing::get(answer)).with_state(Arc::clone(&explorer));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let outcome = Outcome::of(&upstreams(Some(&url)), "ethereum", WALLET, period).await;
        if let Err(error) = &outcome.end {
            let told = format!("{error} {error:?}");
            assert!(!told.contains("s3cr3t") && !told.contains("127.0.0.1"), "{told}");
        }
        let asked = std::mem::take(&mut *explorer.asked.lock().unwrap());
        (outcome, asked)
    }

    async fn read(self) -> Outcome {
        self.history(Period::default()).await.0
    }

    fn page(&self, asked: &Asked) -> Value {
        let number = |field: &str| asked.get(field).map(|text| text.parse::<u64>().unwrap());
        let (page, offset) = (number("page").unwrap() as usize, number("offset").unwrap() as usize);
        if page * offset > WINDOW_ROWS {
            return refused("Result window is too large, PageNo x Offset size must be less than or equal to 10000");
        }
        let list = self.lists.get(asked["action"].as_str()).cloned().unwrap_or_default();
        let (first, last) = (number("startblock").unwrap(), number("endblock").unwrap_or(u64::MAX));
        let offset = offset.min(self.page_rows_max);
        let within = list.into_iter().filter(|(block, _)| (first..=last).contains(block));
        let rows: Vec<Value> = within.skip((page - 1) * offset).take(offset).map(row).collect();
        if rows.is_empty() { nothing() } else { json!({ "status": "1", "message": "OK", "result": rows }) }
    }

    fn block_at(&self, asked: &Asked) -> Value {
        let block = asked["timestamp"].parse::<i64>().unwrap() - GENESIS;
        let block = if asked["closest"] == "before" { block } else { block + 1 };
        json!({ "status": "1", "message": "OK", "result": block.max(0).to_string() })
    }
}

async fn answer(State(explorer): State<Arc<Explorer>>, Query(asked): Query<Asked>) -> String {
    let before = {
        let mut all = explorer.asked.lock().unwrap();
        all.push(asked.clone());
        all.len() - 1
    };
    assert_eq!((asked["apikey"].as_str(), asked["chainid"].as_str()), ("s3cr3t", "1"));
    let told = match asked["module"].as_str() {
        "block" => explorer.block_at(&asked),
        _ => {
            assert_eq!((asked["address"].as_str(), asked["sort"].as_str()), (WALLET, "asc"));
            explorer.page(&asked)
        }
    };
    match (explorer.tamper)(before, &asked, told) {
        Value::String(body) => body,
        told => told.to_string(),
    }
}

fn upstreams(explorer: Option<&str>) -> Upstreams {
    let registry = Registry::embedded().unwrap();
    // No node is asked.
    let node = live_node(registry.find("ethereum").unwrap(), &["http://127.0.0.1:9".to_owned()], None).unwrap();
    let node = match explorer {
        Some(url) => node.with_explorer(url, 100_000).unwrap(),
        None => node,
    };
    let memory: Arc<dyn TokenMemory> = Arc::new(Forgetful);
    Upstreams::new([node], &memory)
}

fn hash(number: u64) -> TxHash {
    TxHash::parse(&format!("0x{number:064x}")).unwrap()
}

fn hashes(numbers: impl IntoIterator<Item = u64>) -> Vec<TxHash> {
    numbers.into_iter().map(hash).collect()
}

fn row((block, number): Row) -> Value {
    json!({
        "blockNumber": block.to_string(), "timeStamp": (GENESIS + block as i64).to_string(),
        "hash": hash(number).to_string(), "from": WALLET, "to": WALLET, "value": "1", "confirmations": "7",
    })
}

fn nothing() -> Value {
    json!({ "status": "0", "message": "No transactions found", "result": [] })
}

fn refused(text: &str) -> Value {
    json!({ "status": "0", "message": "NOTOK", "result": text })
}

#[tokio::test]
async fn five_lists_are_read_and_a_transaction_counts_once() {
    let explorer = Explorer::with(&[
        ("txlist", vec![(1, 1), (2, 2), (4, 4)]),
        ("txlistinternal", vec![(2, 2), (3, 3), (3, 3)]),
        ("tokentx", vec![(1, 1), (5, 5)]),
        ("tokennfttx", vec![(6, 6)]),
        ("token1155tx", vec![(6, 6), (7, 7)]),
    ]);
    let outcome = explorer.read().await;
    assert_eq!(outcome.hashes, hashes([1, 2, 4, 3, 5, 6, 7]));
    let counts = outcome.counts();
    let counts: Vec<(&str, usize)> = counts.iter().map(|(what, new)| (what.as_str(), *new)).collect();
    assert_eq!(
        counts,
        [
            ("transactions", 3),
            ("internal transfers", 1),
            ("token transfers", 1),
            ("NFT transfers", 1),
            ("ERC-1155 transfers", 1),
        ]
    );
    assert!(outcome.unseen().contains("validators"), "{}", outcome.unseen());
}

#[tokio::test]
async fn a_wallet_that_did_nothing_has_no_transactions() {
    let (outcome, asked) = Explorer::with(&[]).history(Period::default()).await;
    assert!(outcome.hashes.is_empty() && outcome.counts().iter().all(|(_, new)| *new == 0));
    assert_eq!(asked.len(), 5, "one page of each list");
}

/// Etherscan's window ends within block 3,333, whose rows are asked for again.
#[tokio::test]
async fn lists_longer_than_the_explorer_shows_at_once_are_whole() {
    let rows: Vec<Row> = (0..25_500).map(|number| (number / 3, number)).collect();
    let (outcome, asked) = Explorer::with(&[("txlist", rows)]).history(Period::default()).await;
    assert_eq!(outcome.hashes, hashes(0..25_500));
    let starts: Vec<&str> =
        asked.iter().filter(|one| one["page"] == "1").map(|one| one["startblock"].as_str()).collect();
    assert_eq!(starts[..4], ["0", "3333", "6666", "0"], "two more windows, and then the next list");
}

/// Some give fewer rows than are asked for. A short page is no end.
#[tokio::test]
async fn pages_may_be_shorter_than_was_asked_for() {
    let rows: Vec<Row> = (0..2_350).map(|number| (number / 3, number)).collect();
    let explorer = Explorer { page_rows_max: 100, ..Explorer::with(&[("tokentx", rows)]) };
    assert_eq!(explorer.read().await.hashes, hashes(0..2_350));
}

#[tokio::test]
async fn a_block_with_more_rows_than_are_shown_at_once_is_told() {
    let mut rows: Vec<Row> = (0..9_000).map(|number| (number, number)).collect();
    rows.extend((9_000..20_001).map(|number| (9_000, number)));
    rows.push((9_001, 20_001));
    let outcome = Explorer::with(&[("tokentx", rows)]).read().await;
    assert_eq!(outcome.error(), HistoryError::CrowdedBlock { list: "tokentx", block: 9_000 });
    assert_eq!(
        outcome.error().to_string(),
        "`tokentx`: block 9000 alone has more rows than the explorer lists at once"
    );
}

#[tokio::test]
async fn an_explorer_that_repeats_itself_for_ever_is_given_up() {
    let first_page: Tamper = |_, asked, told| {
        if asked["page"] == "1" {
            told
        } else {
            json!({ "status": "1", "message": "OK", "result": [row((3, 1)), row((3, 2))] })
        }
    };
    let (outcome, asked) =
        Explorer::with(&[("txlist", vec![(3, 1), (3, 2)])]).tampered(first_page).history(Period::default()).await;
    assert_eq!(outcome.error(), HistoryError::Repeated { list: "txlist", page: 2 });
    assert_eq!(asked.len(), 2);
    // The same with the count of confirmations that grows, which is no news.
    let growing: Tamper = |asked, _, _| {
        let mut row = row((3, 1));
        row["confirmations"] = json!(asked.to_string());
        json!({ "status": "1", "message": "OK", "result": [row] })
    };
    assert_eq!(
        Explorer::with(&[]).tampered(growing).read().await.error(),
        HistoryError::Repeated { list: "txlist", page: 2 }
    );
    // Two pages in turn.
    let in_turn: Tamper =
        |asked, _, _| json!({ "status": "1", "message": "OK", "result": [row((3 + asked as u64 % 2, 1))] });
    assert_eq!(
        Explorer::with(&[]).tampered(in_turn).read().await.error(),
        HistoryError::Unordered { list: "txlist", page: 3 }
    );
    // Never the same page, never an end: all in one block, or in a block each.
    let one_block: Tamper = |asked, _, _| json!({ "status": "1", "message": "OK", "result": [row((3, asked as u64))] });
    let (outcome, asked) = Explorer::with(&[]).tampered(one_block).history(Period::default()).await;
    assert_eq!((outcome.error(), asked.len()), (HistoryError::CrowdedBlock { list: "txlist", block: 3 }, 20));
    let endless: Tamper =
        |asked, _, _| json!({ "status": "1", "message": "OK", "result": [row((asked as u64, asked as u64))] });
    let (outcome, asked) = Explorer::with(&[]).tampered(endless).history(Period::default()).await;
    assert_eq!((outcome.error(), asked.len()), (HistoryError::ManyPages { list: "txlist" }, 2_000));
}

/// One that does not go on from a block would show the first ten thousand rows for ever.
#[tokio::test]
async fn an_explorer_that_does_not_count_blocks_is_found_out() {
    let from_the_start: Tamper = |_, asked, _| {
        let page: u64 = asked["page"].parse().unwrap();
        let rows: Vec<Value> = ((page - 1) * 1_000..page * 1_000).map(|number| row((number, number))).collect();
        json!({ "status": "1", "message": "OK", "result": rows })
    };
    let outcome = Explorer::with(&[]).tampered(from_the_start).read().await;
    assert_eq!(outcome.error(), HistoryError::Unordered { list: "txlist", page: 1 });
    assert_eq!(outcome.hashes.len(), WINDOW_ROWS);
    let vanishing: Tamper = |_, asked, told| if asked["startblock"] == "0" { told } else { nothing() };
    let rows: Vec<Row> = (0..12_000).map(|number| (number, number)).collect();
    let outcome = Explorer::with(&[("txlist", rows)]).tampered(vanishing).read().await;
    assert_eq!(outcome.error(), HistoryError::Vanished { list: "txlist", block: 9_999 });
}

#[tokio::test]
async fn rows_that_cannot_be_read_are_told_by_place_and_field() {
    let cases: [(&str, Value, &str); 9] = [
        ("hash", json!("0x12"), "hash"),
        ("hash", json!("z".repeat(66)), "hash"),
        ("hash", json!("5".repeat(87)), "hash"),
        ("hash", json!(7), "hash"),
        ("timeStamp", json!("yesterday"), "timeStamp"),
        ("timeStamp", json!("-5"), "timeStamp"),
        ("timeStamp", json!(1_700_000_000), "timeStamp"),
        ("blockNumber", json!("0x10"), "blockNumber"),
        ("blockNumber", json!("18446744073709551616"), "blockNumber"),
    ];
    for (field, value, told) in cases {
        let list = [("txlist", vec![(1, 1), (2, 2)])];
        let mut lie = row((2, 2));
        lie[field] = value.clone();
        let lying = move |_: usize, _: &Asked, mut told: Value| {
            told["result"][1] = lie.clone();
            told
        };
        let outcome = Explorer::with(&list).tampered(lying).read().await;
        assert_eq!(outcome.error(), HistoryError::Row { list: "txlist", page: 1, row: 2, field: told }, "{value}");
    }
    assert_eq!(
        HistoryError::Row { list: "txlist", page: 1, row: 2, field: "hash" }.to_string(),
        "`txlist`: row 2 of page 1 has no readable `hash`"
    );
}

#[tokio::test]
async fn what_is_no_answer_of_an_explorer_is_an_error() {
    let cases: [(Tamper, ExplorerFault); 5] = [
        (|_, _, _| json!("<html>come back later</html>"), ExplorerFault::Unreadable),
        (|_, _, _| json!({ "status": "1", "message": "OK", "result": ["0x1"] }), ExplorerFault::Unreadable),
        (|_, _, _| json!({ "status": "0", "message": "NOTOK", "result": [] }), ExplorerFault::Unreadable),
        (|_, _, _| refused("Invalid API Key"), ExplorerFault::Forbidden),
        (|_, _, _| json!("x".repeat(33 << 20)), ExplorerFault::Unreadable),
    ];
    for (tamper, fault) in cases {
        let outcome = Explorer::with(&[("txlist", vec![(1, 1)])]).tampered(tamper).read().await;
        assert_eq!(outcome.error(), HistoryError::Explorer { list: "txlist", fault });
        assert!(outcome.hashes.is_empty());
    }
}

#[tokio::test]
async fn a_rate_limit_is_waited_for_but_not_for_ever() {
    let list = [("txlist", vec![(1, 1), (2, 2)])];
    let once: Tamper = |asked, _, told| {
        if asked == 1 { refused("Max calls per sec rate limit reached (3/sec)") } else { told }
    };
    assert_eq!(Explorer::with(&list).tampered(once).read().await.hashes, hashes([1, 2]));
    let always: Tamper = |_, _, _| refused("Max rate limit reached, please use API Key for higher rate limit");
    let (outcome, asked) = Explorer::with(&list).tampered(always).history(Period::default()).await;
    assert_eq!(outcome.error(), HistoryError::Explorer { list: "txlist", fault: ExplorerFault::Limited });
    assert_eq!(asked.len(), 4);
}

/// Etherscan and Blockscout say it in different ways; what they do not list is said.
#[tokio::test]
async fn lists_that_an_explorer_lacks_are_told_and_the_others_read() {
    let ways: [Tamper; 2] = [
        |_, asked, told| {
            if asked["action"] == "token1155tx" { refused("Error! Missing Or invalid Action name") } else { told }
        },
        |_, asked, told| {
            let unknown = json!({ "status": "0", "message": "Unknown action", "result": null });
            if asked["action"] == "token1155tx" { unknown } else { told }
        },
    ];
    for tamper in ways {
        let outcome =
            Explorer::with(&[("txlist", vec![(1, 1)]), ("tokennfttx", vec![(2, 2)])]).tampered(tamper).read().await;
        assert_eq!(outcome.hashes, hashes([1, 2]));
        assert_eq!(outcome.counts().len(), 4);
        assert!(outcome.unseen().contains("ERC-1155 transfers: the explorer has no such list"), "{}", outcome.unseen());
    }
}

/// What has no list of transactions at all is no explorer, and a list that goes missing in the middle is no list that was never there.
#[tokio::test]
async fn an_explorer_without_transactions_is_none() {
    let nowhere: Tamper = |_, _, _| json!({ "status": "0", "message": "Unknown action", "result": null });
    let outcome = Explorer::with(&[]).tampered(nowhere).read().await;
    assert_eq!(outcome.error(), HistoryError::Explorer { list: "txlist", fault: ExplorerFault::UnknownAction });
    let in_the_middle: Tamper = |_, asked, told| {
        let is_second = asked["action"] == "tokentx" && asked["page"] == "2";
        if is_second { refused("Error! Missing Or invalid Action name") } else { told }
    };
    let outcome = Explorer::with(&[("tokentx", vec![(1, 1)])]).tampered(in_the_middle).read().await;
    assert_eq!(outcome.error(), HistoryError::Explorer { list: "tokentx", fault: ExplorerFault::UnknownAction });
}

/// Blockscout names the hash otherwise in this list, leaves out times, and lists what it has traced so far.
#[tokio::test]
async fn internal_transfers_as_blockscout_lists_them() {
    let tamper: Tamper = |_, asked, mut told| {
        if asked["action"] != "txlistinternal" {
            return told;
        }
        for row in told["result"].as_array_mut().unwrap() {
            row["transactionHash"] = row.as_object_mut().unwrap().remove("hash").unwrap();
            row["timeStamp"] = json!("");
        }
        told["status"] = json!("2");
        told["message"] = json!("Some internal transactions within this block range have not yet been processed");
        told
    };
    let outcome = Explorer::with(&[("txlistinternal", vec![(1, 1), (2, 2)])]).tampered(tamper).read().await;
    assert_eq!(outcome.hashes, hashes([1, 2]));
    assert!(
        outcome.unseen().contains("internal transfers that the explorer has not looked at yet"),
        "{}",
        outcome.unseen()
    );
}

#[tokio::test]
async fn a_period_is_kept_with_and_without_blocks_by_time() {
    let rows: Vec<Row> = (0..3_000).map(|number| (number, number)).collect();
    let lists = [("txlist", rows.clone()), ("tokentx", rows)];
    let period = Period { from: Some(GENESIS + 1_100), to: Some(GENESIS + 1_200) };
    let (outcome, asked) = Explorer::with(&lists).history(period).await;
    assert_eq!(outcome.hashes, hashes(1_100..=1_200));
    let pages: Vec<&Asked> = asked.iter().filter(|one| one["module"] == "account").collect();
    assert!(pages.iter().all(|one| (one["startblock"].as_str(), one["endblock"].as_str()) == ("1100", "1201")));
    let unknown: Tamper = |_, asked, told| {
        if asked["module"] == "block" { refused("Error! Missing Or invalid Action name") } else { told }
    };
    let (outcome, asked) = Explorer::with(&lists).tampered(unknown).history(period).await;
    assert_eq!(outcome.hashes, hashes(1_100..=1_200));
    let pages = asked.iter().filter(|one| one["action"] == "txlist").count();
    assert_eq!(pages, 2, "what follows is later, so it is not asked for");
    // A period that has not come yet: Etherscan knows no block after it.
    let future: Tamper = |_, asked, told| {
        let is_asked = asked.get("closest").is_some_and(|side| side == "after");
        if is_asked { refused("Error! No closest block found") } else { told }
    };
    let period = Period { from: Some(GENESIS + 2_990), to: Some(GENESIS + 9_999) };
    assert_eq!(Explorer::with(&lists).tampered(future).history(period).await.0.hashes, hashes(2_990..3_000));
}

#[tokio::test]
async fn without_an_explorer_or_with_a_foreign_address_nothing_is_listed() {
    let upstreams = upstreams(None);
    assert_eq!(upstreams.that_list_accounts().count(), 0);
    assert_eq!(Outcome::of(&upstreams, "ethereum", WALLET, Period::default()).await.error(), HistoryError::NoExplorer);
    let foreign = "CQWqqEj5H5TMczc3MmjptCCAg1GDYrH9hMDsSnWqsGcm";
    assert_eq!(
        Outcome::of(&upstreams, "ethereum", foreign, Period::default()).await.error(),
        HistoryError::OtherFamily
    );
    assert_eq!(Outcome::of(&upstreams, "base", WALLET, Period::default()).await.error(), HistoryError::NotServed);
}
