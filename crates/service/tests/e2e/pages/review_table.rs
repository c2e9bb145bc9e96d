//! The review table: filtered, sorted and paged by its address, decided in bulk, signed by a second person, and by rules for all that are alike.

use reqwest::Method;
use rusqlite::Connection;
use serde_json::Value;

use super::browser::{Browser, Page, proxied};
use super::strangers::harmless;
use super::until;
use crate::harness::{Taxon, demo_scenario, read};

/// What the table may take at most on its way, and without being squeezed.
const TABLE_BYTES_MAX: usize = 80_000;

async fn job(taxon: &Taxon, person: &mut Browser, key: &str, book: &str, table: &str) -> String {
    let request = taxon.raw(Method::POST, &format!("/v1/jobs?chain=demo&book={book}")).bearer_auth(key);
    let taken = read(request.body(table.to_owned()).send().await.unwrap()).await;
    assert_eq!(taken.status, 202, "{}", taken.body);
    let id = taken.body["id"].as_str().unwrap().to_owned();
    until(person, &format!("/jobs/{id}"), |page| page.has(">Finished<")).await;
    id
}

async fn act(person: &mut Browser, table: &str, what: &str, rows: &[&str], fields: &[(&str, &str)]) -> Page {
    let mut all: Vec<(&str, &str)> = rows.iter().map(|row| ("row", *row)).collect();
    all.push(("do", what));
    all.extend(fields);
    person.post(table, &all).await
}

/// The rows that a page of the table holds, in its order.
fn rows(page: &Page) -> Vec<String> {
    let start = "name=\"row\" value=\"";
    page.text.split(start).skip(1).map(|rest| rest.split_once('"').unwrap().0.to_owned()).collect()
}

fn counts(page: &Page) -> [String; 4] {
    ["Open", "Waiting for sign-off", "Disagreed", "Decided"]
        .map(|state| page.between(&format!("{state} <strong>"), "<").to_owned())
}

fn database(taxon: &Taxon) -> Connection {
    Connection::open(taxon.setup.data.path().join("taxon.db")).unwrap()
}

#[tokio::test]
async fn rows_of_a_job_are_decided_signed_and_exported() {
    let taxon = proxied().start().await;
    let mut person = Browser::signed_in(&taxon, "192.0.2.1", "a@example.com").await;
    let mut second = Browser::signed_in(&taxon, "192.0.2.2", "b@example.com").await;
    let mut stranger = Browser::signed_in(&taxon, "192.0.2.3", "c@example.com").await;
    let key = person.new_key("").await;
    let book = person.submit("/books", "/books", &[("name", "Client")]).await.location().to_owned();
    let (id, table) = (book[7..].to_owned(), format!("{book}/review"));
    assert!(person.get(&table).await.has("Nothing here waits for a person."));
    let hashes: String = demo_scenario().transactions.iter().map(|done| format!("{}\n", done.hash)).collect();
    let first = job(&taxon, &mut person, &key, &id, &hashes).await;
    assert_eq!(person.get("/review").await.location(), table, "the first book with something open");
    let page = person.get(&table).await;
    let open = rows(&page);
    assert!(open.len() >= 5, "{}", page.text);
    assert_eq!(counts(&page)[0], open.len().to_string());
    for words in ["aria-sort=\"ascending\"", "→", "<time datetime=\"20", "href=\"/reading/0x", "aria-label=\"Choose 0x"]
    {
        assert!(page.has(words), "no {words} in {}", page.text);
    }
    harmless(&page.text.replace("<script src", ""), "the table");
    assert_eq!(page.text.matches("<script").count(), 1, "the table needs no script");

    // Sorted by its headers, filtered by its fields; both are addresses.
    let newest = rows(&person.get(&format!("{table}?sort=-date")).await);
    assert_eq!(newest, open.iter().rev().cloned().collect::<Vec<_>>());
    for sort in ["wallet", "protocol", "category", "-confidence"] {
        assert_eq!(rows(&person.get(&format!("{table}?sort={sort}")).await).len(), open.len(), "{sort}");
    }
    let (hash, wallet) = open[0].split_once(':').unwrap();
    assert_eq!(rows(&person.get(&format!("{table}?find={}", &hash[4..20])).await), open[..1]);
    assert!(rows(&person.get(&format!("{table}?wallet={wallet}")).await).contains(&open[0]));
    for none in ["chain=base", "protocol=nobody", "find=%25", "category=spam", "wallet=%00"] {
        assert!(rows(&person.get(&format!("{table}?{none}")).await).is_empty(), "{none}");
    }

    // Several at once, back to the same page of the table; what is wrong is told, with what was typed and chosen.
    let chosen: Vec<&str> = open.iter().take(3).map(String::as_str).collect();
    let hostile = "<script>alert(1)</script>\u{202e}";
    let words = [("category", "airdrop"), ("comment", hostile), ("back", "sort=-date")];
    let done = act(&mut person, &table, "decide", &chosen, &words).await;
    assert_eq!((done.status, done.location()), (303, format!("{table}?sort=-date").as_str()), "{}", done.text);
    let page = person.get(&format!("{table}?state=decided")).await;
    assert_eq!(rows(&page).len(), 3);
    assert!(page.has("&lt;script&gt;alert(1)") && page.has("a@example.com") && page.has(">Income<"), "{}", page.text);
    harmless(&page.text.replace("<script src", ""), "a comment");
    let wrong = act(&mut person, &table, "decide", &[&open[3]], &[("category", ""), ("comment", "kept")]).await;
    assert!(
        wrong.status == 400
            && wrong.has("Choose a category.")
            && wrong.has(">kept</textarea>")
            && wrong.has(" checked")
    );
    assert!(act(&mut person, &table, "decide", &[], &[("category", "airdrop")]).await.has("Choose at least one row."));
    assert!(act(&mut person, &table, "sign", &[&open[0]], &[]).await.has("needs no second person"));

    // The file of the job tells the decision beside the verdict.
    let request = taxon.raw(Method::GET, &format!("/v1/jobs/{first}/results?format=jsonl")).bearer_auth(&key);
    let answers = request.send().await.unwrap().text().await.unwrap();
    let told: Vec<Value> = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let decided: Vec<&Value> = told.iter().filter(|row| row["decision"].is_object()).collect();
    assert_eq!(decided.len(), 3);
    for row in decided {
        let decision = &row["decision"];
        assert_eq!((&decision["category"], &decision["treatment"]), (&"airdrop".into(), &"income".into()));
        assert_eq!((&decision["by"], &decision["comment"]), (&"a@example.com".into(), &hostile.into()));
        assert!(decision["at"].is_string() && decision["signed_by"].is_null() && row["needs_review"] == true, "{row}");
    }
    let koinly = person.get(&format!("/jobs/{first}/results?format=koinly")).await;
    assert_eq!(koinly.status, 200, "other formats are written as before");

    // Undone in one step.
    assert_eq!(act(&mut person, &table, "undo", &chosen[..1], &[]).await.status, 303);
    assert_eq!(counts(&person.get(&table).await), [(open.len() - 2).to_string(), "0".into(), "0".into(), "2".into()]);

    // A second person, once the book needs one. A stranger reaches nothing.
    let settings = [
        ("name", "Client"),
        ("wallets", ""),
        ("jurisdiction", "us"),
        ("time_zone", "UTC"),
        ("chart", ""),
        ("needs_second", "yes"),
    ];
    assert_eq!(person.post(&book, &settings).await.status, 303);
    assert_eq!(person.submit(&book, &format!("{book}/people"), &[("email", "b@example.com")]).await.status, 303);
    for path in [table.clone(), format!("{book}/rules")] {
        assert_eq!((stranger.get(&path).await.status, second.get(&path).await.status), (404, 200), "{path}");
    }
    for what in ["decide", "undo", "sign", "like"] {
        let refused = act(&mut stranger, &table, what, &chosen, &[("category", "airdrop")]).await;
        assert_eq!(refused.status, 404, "{what}");
    }
    let waiting = format!("{table}?state=waiting");
    assert!(person.get(&waiting).await.has("Another person signs it."));
    assert_eq!(act(&mut person, &table, "sign", &chosen, &[]).await.status, 303);
    assert_eq!(rows(&person.get(&waiting).await).len(), 2, "nobody signs their own");
    assert!(second.get(&waiting).await.has("Waits for a signature."));
    assert_eq!(act(&mut second, &table, "sign", &chosen, &[]).await.status, 303);
    let signed = person.get(&format!("{table}?state=decided")).await;
    assert!(rows(&signed).len() == 2 && signed.has("signed by <bdi>b@example.com</bdi>"), "{}", signed.text);
    assert_eq!(counts(&signed)[1], "0");
}

#[tokio::test]
async fn all_like_one_are_decided_and_rules_that_disagree_are_told() {
    let taxon = proxied().start().await;
    let mut person = Browser::signed_in(&taxon, "192.0.2.1", "a@example.com").await;
    let key = person.new_key("").await;
    let book = person.submit("/books", "/books", &[("name", "Client")]).await.location().to_owned();
    let (id, table) = (book[7..].to_owned(), format!("{book}/review"));
    let bundle = demo_scenario().named("userop_bundle_of_two").hash.clone();
    job(&taxon, &mut person, &key, &id, &bundle).await;
    let file = database(&taxon);
    // Others like it, which an older job brought.
    let copy = "INSERT INTO book_rows SELECT book_id, ?1, wallet, chain, time, category, treatment, taxable, confidence, needs_review, protocol,
                    note, amounts, contract, function, '0.0.1+old', 'gone', 0, read_at, state FROM book_rows WHERE hash = ?2";
    for at in 0..30 {
        file.execute(copy, (format!("0x{at:064x}"), &bundle)).unwrap();
    }
    let row = rows(&person.get(&format!("{table}?find={bundle}")).await)[0].clone();
    let words =
        [("category", "gift"), ("treatment", "non_taxable"), ("comment", "all \"gifts\""), ("back", "sort=-date")];
    let preview = act(&mut person, &table, "like", &[&row], &words).await;
    assert!(
        preview.status == 200 && preview.has("<strong>31</strong> open rows") && preview.has("The first 20 are shown.")
    );
    assert_eq!(counts(&person.get(&table).await)[0], "31", "looking changes nothing");
    let two = act(&mut person, &table, "like", &[&row, &row], &words).await;
    assert!(two.status == 400 && two.has("Choose the one row"), "{}", two.text);
    let rules = format!("{book}/rules");
    let fields: Vec<(String, String)> = preview.hidden(&rules);
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let request = person.request(Method::POST, &rules).header("content-type", super::browser::FORM);
    let made = person.send(request.body(serde_urlencoded::to_string(&fields).unwrap())).await;
    assert_eq!(made.location(), format!("{table}?sort=-date"), "{}", made.text);
    assert_eq!(counts(&person.get(&table).await), ["0", "0", "0", "31"]);
    assert!(person.get(&format!("{table}?state=decided")).await.has(", by a rule"));
    // A later job follows it.
    let database = file;
    for statement in ["DELETE FROM decisions WHERE hash = ?1", "DELETE FROM book_rows WHERE hash = ?1"] {
        database.execute(statement, [&bundle]).unwrap();
    }
    job(&taxon, &mut person, &key, &id, &bundle).await;
    let later = person.get(&format!("{table}?state=decided&find={bundle}")).await;
    assert!(rows(&later).len() == 1 && later.has("by a rule"), "{}", later.text);

    // What the rules of today say otherwise than a decision under older ones.
    let swap = demo_scenario().named("v2_swap_eth_in").hash.clone();
    let first = job(&taxon, &mut person, &key, &id, &swap).await;
    let answer: Value =
        serde_json::from_str(&person.get(&format!("/jobs/{first}/results?format=jsonl")).await.text).unwrap();
    let swapped = format!("{swap}:{}", answer["perspective"].as_str().unwrap());
    assert!(
        rows(&person.get(&format!("{table}?state=read&find={swap}")).await).is_empty(),
        "what needs nobody is not kept"
    );
    let older = "INSERT INTO book_rows SELECT book_id, ?1, ?2, chain, time, 'unclassified', 'needs_review', NULL, 40, 1, protocol, note, amounts,
                     '', '', '0.0.1+old', 'gone', 0, read_at, 'open' FROM book_rows WHERE hash = ?3";
    database.execute(older, (&swap, answer["perspective"].as_str().unwrap(), &bundle)).unwrap();
    let decided = act(&mut person, &table, "decide", &[&swapped], &[("category", "airdrop")]).await;
    assert_eq!(decided.status, 303, "{}", decided.text);
    job(&taxon, &mut person, &key, &id, &swap).await;
    let disagreed = person.get(&format!("{table}?state=disagreed")).await;
    assert!(disagreed.has("The rules now read this as Swap.") && disagreed.has("Airdrop"), "{}", disagreed.text);
    assert_eq!(act(&mut person, &table, "decide", &[&swapped], &[("category", "airdrop")]).await.status, 303);
    assert_eq!(counts(&person.get(&table).await)[2], "0", "whoever decides again has seen it");

    // The rule is taken back with what came from it.
    let taken = person.submit(&rules, &format!("{rules}/remove"), &[]).await;
    assert_eq!(taken.location(), rules, "{}", taken.text);
    assert_eq!(counts(&person.get(&table).await), ["31", "0", "0", "1"]);
    assert!(person.get(&rules).await.has("None yet"));

    // Pages of fifty, each row once, and light.
    let long = "Seen: much. Missing: a rule <b>that</b> says what it was for. ".repeat(20);
    database.execute_batch("BEGIN").unwrap();
    for at in 100..400 {
        database.execute(copy, (format!("0x{at:064x}"), format!("0x{:064x}", 1))).unwrap();
    }
    database.execute("UPDATE book_rows SET note = ?1, amounts = '123456789.123456789123… LONGSYMBOL + 2 more → 1 USDC', protocol = 'Some Protocol V3'", [&long]).unwrap();
    database.execute_batch("COMMIT").unwrap();
    let (mut path, mut seen) = (format!("{table}?sort=protocol"), Vec::new());
    for _ in 0..10 {
        let page = person.get(&path).await;
        assert!(page.text.len() < TABLE_BYTES_MAX && rows(&page).len() <= 50, "{} bytes", page.text.len());
        assert!(person.transferred(&path).await < TABLE_BYTES_MAX);
        seen.extend(rows(&page));
        if !page.has("rel=\"next\"") {
            break;
        }
        path = page.between("rel=\"next\" href=\"", "\"").replace("&amp;", "&");
    }
    assert_eq!(seen.len(), 331);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 331, "each once");
}
