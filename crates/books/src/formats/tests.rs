use serde_json::{Value, json};

use super::*;
use crate::decision::Decision;

/// Formats that have no place for a mark, and leave out what needs one; and the one that has no trades.
const WITHOUT_MARKS: [&str; 3] = ["bitcointax", "cointracker", "rp2-intra"];

/// A swap that was left to a person, and what that person decided.
fn decided(signed: Option<[&str; 2]>) -> Reading {
    let recorded: Value = serde_json::from_str(include_str!("../../../service/src/openapi/examples.json")).unwrap();
    let mut row = recorded["/v1/classify"]["response"].clone();
    row["needs_review"] = json!(true);
    row["taxable"] = Value::Null;
    row["review_note"] = json!("Somebody must look.");
    let decision = Decision {
        category: "swap".to_owned(),
        treatment: Some("disposal".to_owned()),
        comment: "as the <contract> says\r\n=1".to_owned(),
        by: Some("a@example.com".to_owned()),
        at: "2026-02-03T04:05:06Z".to_owned(),
        needs_signature: true,
        signed_by: signed.map(|[by, _]| by.to_owned()),
        signed_at: signed.map(|[_, at]| at.to_owned()),
    };
    Reading { row: serde_json::from_value(row).unwrap(), decision: Some(decision) }
}

fn written(format: &Format, readings: Vec<Reading>) -> String {
    let prices = "time,asset,currency,price\n2026-01-01,ETH,USD,3000\n2026-01-01,0x5fbdb2315678afecb367f032d93f642f64180aa3,USD,0.999\n";
    let prices = format.takes_prices().then(|| Prices::read(prices.as_bytes(), None).unwrap());
    let chart = Chart::embedded().unwrap();
    let options =
        Options { chart, coins: BTreeSet::new(), prices, scratch: || Ok(Box::new(std::io::Cursor::new(Vec::new()))) };
    let mut out = Vec::new();
    format.write(&mut readings.into_iter().map(Ok), &options, &mut out).unwrap();
    String::from_utf8_lossy(&out).into_owned()
}

#[test]
fn every_format_says_what_a_person_decided_and_who_and_when() {
    let signature = ["b@example.com", "2026-02-04T00:00:00Z"];
    for format in FORMATS.iter().filter(|format| !WITHOUT_MARKS.contains(&format.name) && !format.needs_codes) {
        let text = written(format, vec![decided(Some(signature))]);
        for words in ["a@example.com", "2026-02-03", "b@example.com", "2026-02-04", "says"] {
            // Parquet keeps times as numbers.
            let is_there = text.contains(words) || format.name == "parquet" && words.starts_with("2026");
            assert!(is_there, "{} does not say {words}: {text}", format.name);
        }
        assert!(!text.contains("not decided"), "{}: {text}", format.name);
        let waits = written(format, vec![decided(None)]);
        assert!(!waits.contains("b@example.com"), "{}: {waits}", format.name);
    }
}

#[test]
fn a_report_says_everything_whole_and_keeps_strangers_words_harmless() {
    let mut stranger = decided(None);
    stranger.row.protocol = Some("</p><script>alert(1)</script>\u{202e}".to_owned());
    stranger.decision = None;
    let mut plain = decided(None);
    (plain.row.needs_review, plain.row.taxable, plain.decision) = (false, Some(true), None);
    let report = written(find("report").unwrap(), vec![plain.clone(), stranger, decided(None)]);
    let hash = plain.row.hash.as_deref().unwrap();
    assert_eq!(report.matches(hash).count(), 5, "three transactions, two of them for people: {report}");
    for words in [
        "3 transactions as their wallets saw them, 2 of them left to people, of which 1 are decided and 1 of those wait for a second person.",
        "Not decided.",
        "as the &lt;contract&gt; says  =1",
        "&lt;script&gt;",
        &plain.row.engine,
        &plain.row.perspective.unwrap().to_string(),
        engine::DISCLAIMER,
        "@media print",
    ] {
        assert!(report.contains(words), "{words}: {report}");
    }
    assert!(!report.contains("<script") && !report.contains('\u{202e}') && !report.contains("http"), "{report}");
}

#[test]
fn pages_say_of_every_kind_what_it_becomes() {
    for format in &FORMATS {
        let Some(words) = format.words() else { continue };
        assert_eq!(words.len(), KINDS.len(), "{}", format.name);
    }
    let shown = |format: &str, about: &str| {
        let at = KINDS.iter().position(|kind| kind.about == about).unwrap();
        let mut words = find(format).unwrap().words().unwrap();
        let Word { becomes, mark } = words.swap_remove(at);
        let becomes = match becomes {
            Becomes::Row(words) => words.join(" "),
            Becomes::RowEach => "each".to_owned(),
            Becomes::LeftOut => "-".to_owned(),
        };
        (becomes, mark)
    };
    let cases = [
        ("koinly", "loan taken", "loan", "A loan, not income and not a sale."),
        ("koinly", "exchange without gain", "swap", ""),
        ("koinly", "open, for review, in", "", "REVIEW"),
        ("bittytax", "exchange without gain", "each", ""),
        ("divly", "mining", "Deposit Mining", ""),
        ("kryptos", "given to a protocol to hold", "withdrawal Stake", "Held by a protocol and still owned."),
        ("bitcointax", "own transfer, out", "-", ""),
        ("cointracker", "bought, and nothing went out", "-", ""),
        ("cointracker", "taken back from a protocol", "unstake", ""),
        ("rp2-in", "exchange without gain", "-", ""),
        ("rp2-intra", "own transfer, in", "transfer", ""),
        ("summ", "spam", "-", ""),
        ("hledger", "trade", "Equity:Exchanged", ""),
        ("hledger", "payment", "Expenses:{category}", ""),
        ("hledger", "spam", "Equity:Ignored", ""),
        ("xero", "fee", "5100 Expenses:Fees", ""),
        ("xero", "spam", "-", ""),
    ];
    for (format, about, becomes, mark) in cases {
        assert_eq!(shown(format, about), (becomes.to_owned(), mark.to_owned()), "{format}, {about}");
    }
}

/// Kinds are all that a posting can be, so that no page leaves anything out.
#[test]
fn every_entry_is_of_a_kind() {
    let mut missing = vec![];
    for entry in crate::chart::ENTRIES {
        if !KINDS.iter().any(|kind| kind.entries.contains(&entry)) {
            missing.push(entry.name());
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}
