//! The end of an account: what is erased, and what stays.

use std::time::{Duration, Instant};

use serde_json::json;

use super::browser::{Browser, PASSWORD, proxied};
use super::{busy, until};
use crate::crash::within_since;

#[tokio::test]
async fn who_leaves_takes_everything_along_but_what_was_counted() {
    let taxon = proxied().start().await;
    let email = "quite.unmistakable@example.com";
    let mut person = Browser::signed_in(&taxon, "192.0.2.1", email).await;
    let names = busy(&taxon, &mut person, email).await;
    let key = person.new_key("unmistakable name").await;
    let hook = [("url", "http://127.0.0.1:9/unmistakable"), ("job.finished", "yes")];
    assert!(person.submit("/webhooks", "/webhooks", &hook).await.has("This is the secret."));
    let mut elsewhere = Browser::new(&taxon, "192.0.2.2");
    assert_eq!(elsewhere.sign_in(email, PASSWORD).await.status, 303);
    let table = format!("/books/{}/review", names.book_id);
    let fields =
        [("row", names.row.as_str()), ("do", "decide"), ("category", "swap"), ("comment", "unmistakable note")];
    assert_eq!(elsewhere.post(&table, &fields).await.status, 303);
    let wrong = person.submit("/account/delete", "/account/delete", &[("password", "not the password")]).await;
    assert!(wrong.has("is wrong") && person.is_signed_in().await);
    assert_eq!(taxon.post_as(&key, "/v1/classify", &json!({ "hash": names.hash })).await.status, 200);

    let left = person.submit("/account/delete", "/account/delete", &[("password", PASSWORD)]).await;
    let at = Instant::now();
    assert_eq!((left.status, left.location()), (303, "/"));
    let is_refused = async || taxon.post_as(&key, "/v1/classify", &json!({ "hash": names.hash })).await.status == 401;
    within_since(at, Duration::from_secs(1), is_refused).await;
    assert!(!person.is_signed_in().await && !elsewhere.is_signed_in().await, "every session is over");
    let ledger = taxon.setup.run(&["ledger", "check"]);
    let exported = taxon.setup.run(&["accounts", "list"]) + &taxon.setup.run(&["keys", "list"]) + &ledger;
    assert!(!exported.contains("unmistakable"), "{exported}");
    assert!(Browser::new(&taxon, "192.0.2.3").sign_in(email, PASSWORD).await.has("is wrong"));
    // What was on its way to be written down when they left is not written either.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let folder = taxon.setup.data.path().to_owned();
    let found: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.is_file())
        .filter(|path| std::fs::read(path).unwrap().windows(12).any(|bytes| bytes == b"unmistakable"))
        .map(|path| path.display().to_string())
        .collect();
    assert!(found.is_empty(), "while it runs: {found:?}");
    let database = rusqlite::Connection::open(folder.join("taxon.db")).unwrap();
    let count = |table: &str| -> i64 {
        database.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    assert_eq!((count("entries"), count("readings"), count("sessions")), (1, 0, 0));
    for table in ["books", "book_rows", "decisions", "decision_log", "decision_rules", "jobs"] {
        assert_eq!(count(table), 0, "{table}");
    }
    assert_eq!((count("webhook_endpoints"), count("webhook_deliveries")), (0, 0));

    // The address is free again, and whoever has it now starts anew.
    let mut again = Browser::new(&taxon, "192.0.2.4");
    assert!(again.sign_up(email, PASSWORD).await.has("Sign in with it"));
    assert_eq!(again.sign_in(email, PASSWORD).await.status, 303);
    assert!(again.get("/account").await.has("You have no key yet"));
    assert!(again.get("/readings").await.has("Nothing here yet"));
    assert!(again.get(&format!("/reading/{}", names.hash)).await.has("Read it"));
    until(&mut again, "/", |page| page.has(" left this month")).await;
}

#[tokio::test]
async fn the_only_operator_stays_while_others_have_accounts() {
    let taxon = proxied().start().await;
    let mut operator = Browser::operator(&taxon, "192.0.2.1", "op@example.com").await;
    let mut other = Browser::signed_in(&taxon, "192.0.2.2", "b@example.com").await;
    let page = operator.submit("/account/delete", "/account/delete", &[("password", PASSWORD)]).await;
    assert!(page.has("only operator") && operator.is_signed_in().await, "{}", page.text);
    assert_eq!(other.submit("/account/delete", "/account/delete", &[("password", PASSWORD)]).await.location(), "/");
    assert_eq!(operator.submit("/account/delete", "/account/delete", &[("password", PASSWORD)]).await.location(), "/");
    assert!(!operator.is_signed_in().await);
}
