//! What an owner sees of days, readings and reviews, on one instance and on several that share a database.

use serde_json::json;

use super::browser::{Browser, PAGE_BYTES_MAX, PASSWORD, proxied};
use super::{hash, until};
use crate::harness::{Postgres, free_port};

/// The records of a CSV, as RFC 4180 has it.
fn records(text: &str) -> Vec<Vec<String>> {
    let (mut all, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut chars = text.chars().peekable();
    let mut is_quoted = false;
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => field.push(chars.next().unwrap()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => record.push(std::mem::take(&mut field)),
            '\r' if !is_quoted && chars.peek() == Some(&'\n') => {
                chars.next();
                record.push(std::mem::take(&mut field));
                all.push(std::mem::take(&mut record));
            }
            c => field.push(c),
        }
    }
    assert!(!is_quoted && field.is_empty() && record.is_empty(), "it ends with a line");
    all
}

async fn comes_and_goes(first: &crate::harness::Taxon, second: &crate::harness::Taxon) {
    let mut person = Browser::new(first, "192.0.2.1");
    assert!(person.sign_up("a@example.com", PASSWORD).await.has("Sign in with it"));
    assert_eq!(person.sign_in("a@example.com", PASSWORD).await.status, 303);
    let mut there = person.at(second);
    assert!(there.is_signed_in().await, "a session holds on every instance");
    let key = there.new_key("on the second").await;
    assert!(person.get("/account").await.has("on the second"));
    let names = ["v2_swap_eth_in", "plain_transfer", "userop_bundle_of_two"];
    let items: Vec<_> = names.iter().map(|name| json!({ "hash": hash(name) })).collect();
    assert_eq!(first.post_as(&key, "/v1/classify-batch", &json!({ "hashes": items })).await.status, 200);
    // The pool of two is used up by the swap and the bundle.
    assert_eq!(second.post_as(&key, "/v1/classify", &json!({ "hash": hash("weth_wrap") })).await.status, 402);

    let usage = until(&mut there, "/usage", |page| page.has("in this time: 1.")).await;
    assert!(!usage.has("/reading/0x"), "usage is about what is counted");
    let readings = until(&mut there, "/readings", |page| page.text.matches("/reading/0x").count() == 3).await;
    let place = |name: &str| readings.text.find(&hash(name)).unwrap();
    assert!(place("userop_bundle_of_two") < place("v2_swap_eth_in"), "by the date of the transaction");
    assert!(place("v2_swap_eth_in") < place("plain_transfer"));
    assert!(usage.has("<strong>2</strong> of 2 used, <strong>0</strong> left"), "{}", usage.text);
    assert!(usage.has("<td>2</td><td>1</td><td>1</td>"), "billable, free, refused: {}", usage.text);

    let bundle = hash("userop_bundle_of_two");
    let table = there.get("/review").await.location().to_owned();
    until(&mut person, &table, |page| page.has(&bundle)).await;
    let row = person.get(&table).await.between("name=\"row\" value=\"", "\"").to_owned();
    let comment = "=HYPERLINK(\"http://evil.example\"), <b>\r\nsecond \"line\" \u{202e}";
    let decide = async |browser: &mut Browser, row: &str, category: &str, comment: &str| {
        let fields = [("row", row), ("do", "decide"), ("category", category), ("comment", comment)];
        browser.post(&table, &fields).await
    };
    let decided = decide(&mut there, &row, "swap", comment).await;
    assert_eq!(decided.location(), table, "{}", decided.text);
    let done = person.get(&format!("{table}?state=decided")).await;
    assert!(done.has("&lt;b&gt;") && !done.has("<b>") && !done.has("\u{202e}"), "{}", done.text);

    let csv = person.get("/readings.csv").await;
    assert_eq!((csv.status, csv.header("content-type")), (200, "text/csv; charset=utf-8"));
    assert!(csv.header("content-disposition").starts_with("attachment"), "{:?}", csv.headers);
    let rows = records(&csv.text);
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|row| row.len() == 12), "{rows:?}");
    let at = |name: &str| rows[0].iter().position(|column| column == name).unwrap();
    let listed = rows.iter().find(|row| row[at("hash")] == bundle).unwrap();
    assert_eq!(listed[at("needs_review")], "true");
    assert!(listed[at("time")].starts_with("2026-01-31T"), "{listed:?}");

    // What is looked for is text: no pattern, no quote, no control character means anything.
    let count = async |browser: &mut Browser, query: &str| {
        browser.get(&format!("/readings?{query}")).await.text.matches("/reading/0x").count()
    };
    for (query, rows) in [
        ("find=", 3),
        ("find=%25", 0),
        ("find=_", 0),
        ("find=%", 0),
        ("find=swap", 1),
        ("find=SWAP", 1),
        ("find=sw_p", 0),
        ("find=s%25", 0),
        ("find=!", 0),
        ("find='", 0),
        ("find=%00", 0),
        ("find=demo", 3),
        ("before=0:0x:", 0),
        ("before=nonsense", 3),
    ] {
        assert_eq!(count(&mut there, query).await, rows, "{query}");
    }
    assert_eq!(count(&mut there, &format!("find={}", bundle[..12].to_uppercase().replace("0X", "0x"))).await, 1);
    assert_eq!(records(&person.get("/readings.csv?find=swap").await.text).len(), 2);

    let long = "é".repeat(1_001);
    for (category, comment, said) in [
        ("nonsense", "", "Choose a category"),
        ("gift", "", "choose one"),
        ("swap", "a\0b", "no control characters"),
        ("swap", long.as_str(), "at most 2000 bytes"),
    ] {
        let page = decide(&mut there, &row, category, comment).await;
        assert!(page.status == 400 && page.has(said), "{said}: {}", page.text);
    }
    let undo = [("row", row.as_str()), ("do", "undo"), ("back", "state=decided")];
    assert_eq!(there.post(&table, &undo).await.location(), format!("{table}?state=decided"));
    assert!(person.get(&table).await.has("Open <strong>1</strong>"));

    assert_eq!(person.submit("/account", "/account/sign-out-everywhere", &[]).await.status, 303);
    assert!(!there.is_signed_in().await, "everywhere is on every instance");
}

#[tokio::test]
async fn days_readings_and_reviews_are_told_and_exported() {
    let taxon = proxied().with("TAXON_POOL_DEV", "2").start().await;
    comes_and_goes(&taxon, &taxon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_instances_on_one_database_are_one_service() {
    let postgres = Postgres::start();
    let setup = proxied().with("TAXON_POOL_DEV", "2").with("TAXON_DATABASE_URL", &postgres.url);
    let (first, second) = (setup.start().await, setup.start_on(free_port(), String::new()).await);
    comes_and_goes(&first, &second).await;
    // Tries are counted together.
    for at in 0..5 {
        let taxon = if at % 2 == 0 { &first } else { &second };
        assert_eq!(Browser::new(taxon, "10.0.0.1").sign_in("b@example.com", PASSWORD).await.status, 200);
    }
    assert_eq!(Browser::new(&second, "10.0.0.1").sign_in("b@example.com", PASSWORD).await.status, 429);
    // And what is gone on one is gone on the other.
    let mut person = Browser::signed_in(&first, "192.0.2.5", "leaving@example.com").await;
    let key = person.at(&second).new_key("").await;
    assert_eq!(person.submit("/account/delete", "/account/delete", &[("password", PASSWORD)]).await.status, 303);
    assert!(!person.at(&second).is_signed_in().await);
    assert_eq!(second.post_as(&key, "/v1/classify", &json!({ "hash": hash("weth_wrap") })).await.status, 401);
}

#[tokio::test]
async fn what_agents_leave_to_a_person_waits_for_review() {
    let taxon = proxied().start().await;
    let mut person = Browser::signed_in(&taxon, "192.0.2.1", "a@example.com").await;
    let key = person.new_key("").await;
    let approval = hash("approval");
    let rest = async || taxon.post_as(&key, "/v1/classify", &json!({ "hash": approval })).await.body;
    let plain = rest().await;
    assert_eq!((&plain["confidence"], &plain["needs_review"]), (&json!(64), &json!(false)));
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "classify_batch", "arguments": { "hashes": [{ "hash": approval }] } } });
    let told = taxon.post_as(&key, "/mcp", &call).await.body;
    let row = &told["result"]["structuredContent"]["results"][0];
    assert_eq!(
        (&row["needs_review"], &row["taxable"], &row["ledger_action"]),
        (&json!(true), &json!(null), &json!("review"))
    );
    assert_eq!(
        (&row["category"], &row["treatment"], &row["confidence"]),
        (&plain["category"], &plain["treatment"], &json!(64))
    );
    let (note, description) = (row["review_note"].as_str().unwrap(), row["description"].as_str().unwrap());
    assert!(note.contains("under 70") && note.contains("64"), "{note}");
    assert!(
        description.ends_with("A person decides the treatment; the leaning is to no taxable event."),
        "{description}"
    );
    assert_eq!((&row["reasoning"], &row["authoritative"]), (&row["description"], &json!(false)));
    let table = person.get("/review").await.location().to_owned();
    until(&mut person, &table, |page| page.has(&approval)).await;
    assert_eq!(taxon.quota(&key).await["used"], 0, "an approval is free on every interface");
    assert_eq!(rest().await, plain, "and REST has no floor");
}

#[tokio::test]
async fn calls_refused_for_their_rate_are_told() {
    let taxon = proxied().with("TAXON_RATE_PER_MINUTE", "3").start().await;
    let mut person = Browser::signed_in(&taxon, "192.0.2.1", "a@example.com").await;
    let key = person.new_key("").await;
    for status in [200, 200, 200, 429, 429] {
        assert_eq!(taxon.post_as(&key, "/v1/classify", &json!({ "hash": hash("weth_wrap") })).await.status, status);
    }
    let usage = until(&mut person, "/usage", |page| page.has("Requests refused in this time: 2.")).await;
    assert!(usage.has("<td>1</td><td>0</td><td>2</td>"), "{}", usage.text);
}

#[tokio::test]
async fn a_full_history_is_light_and_its_csv_is_whole() {
    let taxon = proxied().start().await;
    let mut person = Browser::signed_in(&taxon, "192.0.2.1", "a@example.com").await;
    let database = rusqlite::Connection::open(taxon.setup.data.path().join("taxon.db")).unwrap();
    let note =
        "The row is left to a person, because a token calls itself \"=1+1\", <b>and</b> \u{202e}more. ".repeat(20);
    let insert = "INSERT INTO readings (owner_id, hash, wallet, chain, category, treatment, taxable, confidence, needs_review, protocol, note, at)
                  SELECT owner_id, ?1, '0x00', 'demo', 'unclassified', 'needs_review', NULL, 10, 1, 'Some Protocol', ?2, 1767225600000
                  FROM accounts";
    database.execute_batch("BEGIN").unwrap();
    for at in 0..2_500_u64 {
        database
            .execute(insert, (format!("0x{:064x}", u128::from(at) * 0x9e37_79b9_7f4a_7c15_f39c_c060), &note))
            .unwrap();
    }
    database.execute_batch("COMMIT").unwrap();
    for path in ["/usage", "/readings", "/account"] {
        let bytes = person.transferred(path).await;
        assert!(bytes < PAGE_BYTES_MAX, "{path}: {bytes} bytes");
    }
    let second = person.get("/readings").await.between("<p><a href=\"", "\" rel=\"next\"").replace("&amp;", "&");
    assert_eq!(person.get(&second).await.text.matches("/reading/0x").count(), 50, "{second}");
    let rows = records(&person.get("/readings.csv").await.text);
    let mut hashes: Vec<&String> = rows.iter().skip(1).map(|row| &row[1]).collect();
    hashes.sort();
    hashes.dedup();
    assert_eq!(
        (rows.len(), hashes.len()),
        (2_501, 2_500),
        "all of one moment, over several pages of the database, each once"
    );
}
