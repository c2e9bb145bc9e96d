//! Cases as documents: `tests/cases/*.md` tell why, name a transaction of the demo chain, and show its reading. The whole trip
//! runs over the recorded tape. `UPDATE=1` rewrites the readings; review the diff.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests fail loudly")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use chains::{Fetched, Forgetful, Registry, Tape, TokenMemory, Upstreams, tape_node};
use engine::classification::AssetLeg;
use engine::{Account, Classification, Knowledge, Missing, NEED_ROUNDS_MAX, Policy, Question, Read, TxHash};
use serde::Deserialize;

static KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(|| Knowledge::embedded().expect("embedded packs load"));

const READING: &str = "## Reading\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[derive(Deserialize)]
struct Scenario {
    transactions: Vec<Done>,
}

#[derive(Deserialize)]
struct Done {
    name: String,
    hash: String,
    wallet: String,
}

fn demo() -> Upstreams {
    let mut registry = Registry::embedded().unwrap();
    registry.add(&std::fs::read_to_string(root().join("demo/chain.toml")).unwrap()).unwrap();
    let node = |slug: &str, file: &str| {
        let tape = Tape::read(&std::fs::read_to_string(root().join(file)).unwrap()).unwrap();
        tape_node(registry.find(slug).unwrap(), &Arc::new(tape))
    };
    let memory: Arc<dyn TokenMemory> = Arc::new(Forgetful);
    Upstreams::new([node("demo", "demo/evm.jsonl"), node("demo-solana", "demo/solana.jsonl")], &memory)
}

/// What was done on both demo chains; no name is used twice.
fn scenario() -> Scenario {
    let read = |file: &str| -> Scenario {
        serde_json::from_str(&std::fs::read_to_string(root().join(file)).unwrap()).unwrap()
    };
    let mut all = read("demo/scenario.json");
    all.transactions.extend(read("demo/solana-scenario.json").transactions);
    all
}

/// `key: value` lines between the prose and the reading.
fn settings(text: &str) -> BTreeMap<&str, &str> {
    let keys = ["transaction", "wallet", "own wallet", "policy"];
    let pairs = text.lines().filter_map(|line| line.split_once(": "));
    pairs.filter(|(key, _)| keys.contains(key)).map(|(key, value)| (key, value.trim())).collect()
}

async fn check(upstreams: &Upstreams, scenario: &Scenario, head: &str) -> String {
    let settings = settings(head);
    let name = settings.get("transaction").expect("a case names its transaction");
    let done = scenario.transactions.iter().find(|done| done.name == *name).expect("a transaction of the scenario");
    let wallet = settings.get("wallet").copied().unwrap_or(&done.wallet);
    let mut policy = Policy::default();
    for choice in settings.get("policy").into_iter().flat_map(|text| text.split(", ")) {
        let (key, value) = choice.split_once('=').expect("key=value");
        policy.set(key, value);
    }
    let question = Question {
        wallet: Some(Account::parse(wallet).unwrap()),
        own_wallets: settings.get("own wallet").map(|text| Account::parse(text).unwrap()).into_iter().collect(),
        policy,
        explain: true,
        ..Question::default()
    };
    let hash = TxHash::parse(&done.hash).unwrap();
    let mut complete = upstreams.fetch(hash, None).await.expect("the tape has it");
    for _ in 0..NEED_ROUNDS_MAX {
        let Ok(Read::Needs(needs)) = engine::read(complete.facts(), &question, &KNOWLEDGE, Missing::Ask) else { break };
        complete = complete.answer(&needs).await.expect("the tape has it");
    }
    let answer = answered(&complete, &question);
    kept_facts_read_the_same(upstreams, hash, &complete, &question, &answer);
    print(&answer)
}

fn answered(complete: &Fetched, question: &Question) -> Classification {
    let read = engine::read(complete.facts(), question, &KNOWLEDGE, Missing::Ask).expect("the wallet is a party");
    read.done().expect("nothing is lacking any more")
}

/// Facts that were kept as bytes need no node and give the same bytes; damaged ones give nothing.
fn kept_facts_read_the_same(
    upstreams: &Upstreams,
    hash: TxHash,
    complete: &Fetched,
    question: &Question,
    answer: &Classification,
) {
    let bytes = complete.encode().expect("small enough");
    let again = upstreams.decode(&complete.chain().slug, hash, &bytes).expect("what was encoded decodes");
    let same = answered(&again, question);
    let mut written = Vec::new();
    same.write_json(&mut written).unwrap();
    assert_eq!(String::from_utf8(written).unwrap(), serde_json::to_string(answer).unwrap());
    for damaged in [bytes.get(..bytes.len() / 2).unwrap(), &[], &[0xff; 64]] {
        assert!(upstreams.decode(&complete.chain().slug, hash, damaged).is_none());
    }
    assert!(upstreams.decode("elsewhere", hash, &bytes).is_none());
}

/// The reading as a tax person would want it on a page.
fn print(answer: &Classification) -> String {
    let mut out = String::new();
    let taxable = answer.taxable.map_or("undetermined".to_owned(), |taxable| taxable.to_string());
    let _ = writeln!(out, "category    {} ({})", answer.category.name(), answer.treatment.text());
    let _ = writeln!(out, "taxable     {taxable}, confidence {}", answer.confidence);
    let _ = writeln!(out, "ledger      {}", answer.ledger_action.map(|action| action.text()).unwrap_or_default());
    if let Some(protocol) = &answer.protocol {
        let _ = writeln!(out, "protocol    {protocol}");
    }
    for (side, legs) in [("sent", &answer.assets.sent), ("received", &answer.assets.received)] {
        for leg in legs {
            let _ = writeln!(out, "{side:<11} {}", written(leg));
        }
    }
    if let Some(gas) = &answer.assets.gas {
        let _ = writeln!(out, "gas         {}", written(gas));
    }
    let _ = writeln!(out, "says        {}", answer.description.as_deref().unwrap_or_default());
    if let Some(note) = &answer.review_note {
        let _ = writeln!(out, "review      {note}");
    }
    if let Some(alternate) = answer.grey_area.as_ref().and_then(|grey| grey.alternate.as_ref()) {
        let treatment = alternate.treatment.map(|treatment| treatment.text()).unwrap_or_default();
        let _ = writeln!(out, "otherwise   {treatment}: {}", alternate.label.as_deref().unwrap_or_default());
    }
    for step in answer.legs.iter().flatten() {
        let _ = writeln!(
            out,
            "step {}      {} {}: {}",
            step.leg_index,
            step.role.text(),
            step.category.name(),
            step.description
        );
    }
    for evidence in answer.evidence.iter().flatten() {
        let at = evidence.log_index.map(|index| format!(" at log {index}")).unwrap_or_default();
        let agrees = if evidence.agrees { "agrees" } else { "dissents" };
        let _ = writeln!(
            out,
            "evidence    {} says {}{at} ({}): {agrees}",
            evidence.rule,
            evidence.says.name(),
            evidence.source.text()
        );
    }
    out
}

fn written(leg: &AssetLeg) -> String {
    let id = leg.token_id.as_ref().map(|id| format!(" #{id}")).unwrap_or_default();
    format!("{} {}{id} ({})", leg.amount, leg.symbol, leg.action.text())
}

/// The wire spelling of an enum, so that a case reads as the interface does.
mod wire {
    pub trait Text {
        fn text(&self) -> String;
    }

    impl<T: serde::Serialize> Text for T {
        fn text(&self) -> String {
            serde_json::to_value(self).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
        }
    }
}
use wire::Text as _;

#[tokio::test]
async fn every_case_reads_as_its_document_says() {
    let upstreams = demo();
    let scenario = scenario();
    let update = std::env::var_os("UPDATE").is_some();
    let mut moved = Vec::new();
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(root().join("tests/cases")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 30, "{} cases", paths.len());
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let (head, _) = text.split_once(READING).unwrap_or((&text, ""));
        let reading = check(&upstreams, &scenario, head).await;
        let document = format!("{}\n\n{READING}```text\n{reading}```\n", head.trim_end());
        if update {
            std::fs::write(&path, document).unwrap();
        } else if document != text {
            moved.push(format!("{} reads now:\n{reading}", path.display()));
        }
    }
    assert!(moved.is_empty(), "{}\nUPDATE=1 rewrites them", moved.join("\n"));
}
