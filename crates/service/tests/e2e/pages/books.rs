//! Books on pages: made, set up, shared, used by jobs and removed; nobody else reaches them.

use reqwest::Method;
use serde_json::json;

use super::browser::{Browser, PAGE_BYTES_MAX, Page, proxied};
use super::strangers::harmless;
use super::until;
use crate::harness::{Taxon, demo_scenario, read};

const CHART: &str = "[wallet]\naccount = \"Assets:Kept:{wallet}\"\n\n[[account]]\naccount = \"Equity:Everything\"\n";

/// The settings of a book as its page has them, with these in their place.
async fn set(person: &mut Browser, book: &str, fields: &[(&str, &str)]) -> Page {
    let mut all = vec![
        ("name", "Client"),
        ("wallets", ""),
        ("jurisdiction", "us"),
        ("time_zone", "UTC"),
        ("chart", ""),
        ("period_from", ""),
        ("period_to", ""),
    ];
    all.retain(|(name, _)| fields.iter().all(|(field, _)| field != name));
    all.extend(fields);
    person.submit(book, book, &all).await
}

async fn job(taxon: &Taxon, key: &str, query: &str, table: &str) -> crate::harness::Answer {
    let request = taxon.raw(Method::POST, &format!("/v1/jobs?{query}")).bearer_auth(key);
    read(request.body(table.to_owned()).send().await.unwrap()).await
}

async fn results(taxon: &Taxon, key: &str, job: &str, format: &str) -> String {
    let request = taxon.raw(Method::GET, &format!("/v1/jobs/{job}/results?format={format}")).bearer_auth(key);
    request.send().await.unwrap().text().await.unwrap()
}

#[tokio::test]
async fn a_book_is_set_up_shared_and_read_by() {
    let taxon = proxied().start().await;
    let mut person = Browser::signed_in(&taxon, "192.0.2.1", "a@example.com").await;
    let mut other = Browser::signed_in(&taxon, "192.0.2.2", "b@example.com").await;
    let key = person.new_key("").await;
    assert!(person.get("/books").await.has("My books</bdi>"), "there is always a first");
    let hostile = "<b>Client</b> \u{202e}\"7\"";
    let made = person.submit("/books", "/books", &[("name", hostile)]).await;
    let book = made.location().to_owned();
    let id = book.strip_prefix("/books/").unwrap().to_owned();
    assert!(id.starts_with("book_"), "{book}");
    let page = person.get(&book).await;
    assert!(page.has("&lt;b&gt;Client&lt;/b&gt; \u{fffd}&quot;7&quot;"), "{}", page.text);
    harmless(&page.text.replace("<script src", ""), "a book");
    let none = person.submit("/books", "/books", &[("name", " ")]).await;
    assert!(none.status == 400 && none.has("1 to 200 characters"), "{}", none.text);

    // What cannot be kept is told, and what was typed stays.
    let long = format!("{}\nbob.eth", demo_scenario().wallet);
    for (field, value, said) in [
        ("wallets", long.as_str(), "Line 2 of the wallets"),
        ("time_zone", "Mars/Olympus", "IANA"),
        ("jurisdiction", "atlantis", "not known here"),
        ("chart", "[wallet", "chart of accounts is refused"),
        ("period_from", "tomorrow", "2026-01-31"),
        ("name", "", "1 to 200 characters"),
    ] {
        let refused = set(&mut person, &book, &[(field, value)]).await;
        assert!(refused.status == 400 && refused.has(said), "{field}: {}", refused.text);
        assert!(refused.has(value) || field == "jurisdiction", "{field} is lost");
    }
    let sent = demo_scenario().named("plain_transfer").clone();
    let legs = taxon.post_as(&key, "/v1/classify", &json!({ "hash": sent.hash })).await.body;
    let to = legs["assets"]["sent"][0]["to"].as_str().unwrap().to_owned();
    let wallets = format!("{} hot one\r\n{to}, cold", legs["perspective"].as_str().unwrap());
    let settings = [
        ("name", hostile),
        ("wallets", wallets.as_str()),
        ("time_zone", "europe/berlin"),
        ("lp", "non_taxable"),
        ("chart", CHART),
        ("period_from", "2026-01-01"),
        ("needs_second", "yes"),
    ];
    let kept = set(&mut person, &book, &settings).await;
    assert_eq!((kept.status, kept.location()), (303, book.as_str()), "{}", kept.text);
    let page = person.get(&book).await;
    for words in
        ["value=\"Europe/Berlin\"", "hot one\n", " cold</textarea>", "value=\"2026-01-01\"", "value=\"yes\" checked"]
    {
        assert!(page.has(words), "no {words} in {}", page.text);
    }

    // A job of the book is read with its wallets and exported by its chart; one of another book is not.
    let pool = demo_scenario().named("v2_liquidity_add").hash.clone();
    let table = format!("{}\n{pool}\n", sent.hash);
    let in_book = job(&taxon, &key, &format!("chain=demo&book={id}"), &table).await;
    assert_eq!((in_book.status, &in_book.body["book"]), (202, &json!(id)), "{}", in_book.body);
    let elsewhere = job(&taxon, &key, "chain=demo", &table).await;
    assert!(elsewhere.status == 202 && elsewhere.body["book"] != json!(id), "{}", elsewhere.body);
    for (taken, category, treatment, account) in [
        (&in_book, "self_transfer", "non_taxable", "Assets:Kept"),
        (&elsewhere, "transfer", "disposal", "Assets:Wallets"),
    ] {
        let job = taken.body["id"].as_str().unwrap();
        until(&mut person, &format!("/jobs/{job}"), |page| page.has(">Finished<")).await;
        let answers = results(&taxon, &key, job, "jsonl").await;
        let row = |hash: &str| -> serde_json::Value {
            serde_json::from_str(answers.lines().find(|line| line.contains(hash)).unwrap()).unwrap()
        };
        assert_eq!((&row(&sent.hash)["category"], &row(&pool)["treatment"]), (&json!(category), &json!(treatment)));
        assert!(results(&taxon, &key, job, "hledger").await.contains(account), "{account}");
    }
    let page = person.get(&book).await;
    assert!(
        page.has("<strong>1</strong> jobs, 0 of them unfinished") && page.has(in_book.body["id"].as_str().unwrap())
    );
    assert!(person.transferred(&book).await < PAGE_BYTES_MAX);
    for unknown in ["book_nobodys", "%00", "book_%ff"] {
        let refused = job(&taxon, &key, &format!("chain=demo&book={unknown}"), &table).await;
        assert!([400, 404].contains(&refused.status), "{unknown}: {}", refused.body);
    }
    let list = taxon.raw(Method::GET, "/v1/books").bearer_auth(&key).send().await.unwrap();
    let list = read(list).await.body;
    let named: Vec<_> = list["books"].as_array().unwrap().iter().map(|book| (&book["name"], &book["id"])).collect();
    assert_eq!((named[0].0, named[1]), (&json!("My books"), (&json!(hostile), &json!(id))), "{list}");

    // Another account reaches nothing, until it is let in; then it sees, and changes nothing.
    let their_key = other.new_key("").await;
    assert_eq!(job(&taxon, &their_key, &format!("chain=demo&book={id}"), &table).await.status, 404);
    assert_eq!(other.get(&book).await.status, 404);
    for email in ["b@example.com", "nobody@example.com"] {
        let added = person.submit(&book, &format!("{book}/people"), &[("email", email)]).await;
        assert_eq!(added.location(), book, "{}", added.text);
    }
    let page = person.get(&book).await;
    assert_eq!(page.text.matches("Take out</button>").count(), 2, "an address without an account looks like any other");
    assert!(other.get("/books").await.has("shared with you"));
    let seen = other.get(&book).await;
    assert!(seen.status == 200 && seen.has("hot one") && !seen.has("<textarea") && !seen.has("nobody@example.com"));
    assert_eq!(job(&taxon, &their_key, &format!("chain=demo&book={id}"), &table).await.status, 404, "nor uploads");
    let settings = ["name", "wallets", "jurisdiction", "time_zone", "chart"].map(|field| (field, "us"));
    assert_eq!(other.post(&book, &settings).await.status, 404);
    for form in ["people", "people/remove", "remove"] {
        assert_eq!(other.post(&format!("{book}/{form}"), &[("email", "c@example.com")]).await.status, 404, "{form}");
    }
    let out = person.submit(&book, &format!("{book}/people/remove"), &[("email", "b@example.com")]).await;
    assert_eq!((out.location(), other.get(&book).await.status), (book.as_str(), 404));

    // A book goes with its jobs.
    let remove = format!("{book}/remove");
    assert!(person.get(&remove).await.has("This cannot be undone."));
    assert_eq!(person.submit(&remove, &remove, &[]).await.location(), "/books");
    assert_eq!(person.get(&book).await.status, 404);
    assert_eq!(person.get(&format!("/jobs/{}", in_book.body["id"].as_str().unwrap())).await.status, 404);
    assert_eq!(person.get(&format!("/jobs/{}", elsewhere.body["id"].as_str().unwrap())).await.status, 200);
}
