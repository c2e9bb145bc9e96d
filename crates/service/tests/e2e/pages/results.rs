//! The results of a job as a table: filtered and paged by its address, decided on whatever the rules made of a row, and the log of what was decided.

use reqwest::Method;
use rusqlite::Connection;
use serde_json::Value;

use super::browser::{Browser, Page, proxied};
use super::strangers::harmless;
use super::until;
use crate::harness::{Taxon, demo_scenario, read};

/// What a page may take at most, without being squeezed.
const TABLE_BYTES_MAX: usize = 80_000;
const MARK_BYTES: usize = 23;

fn rows(page: &Page) -> Vec<String> {
    let start = "name=\"row\" value=\"";
    page.text.split(start).skip(1).map(|rest| rest.split_once('"').unwrap().0.to_owned()).collect()
}

fn count(page: &Page) -> usize {
    if page.has("No row is like that.") {
        return 0;
    }
    page.between("<p><strong>", "</strong> row").parse().unwrap()
}

/// The place of a transaction in the table, from the page that shows it alone or among others.
fn place_of(page: &Page, hash: &str) -> String {
    let line = page.text.split("<tr>").find(|line| line.contains(&format!("/reading/{hash}?"))).expect("a line of it");
    line.split("name=\"row\" value=\"").nth(1).unwrap().split_once('"').unwrap().0.to_owned()
}

async fn answers(person: &mut Browser, job: &str) -> Vec<Value> {
    let text = person.get(&format!("{job}/results?format=jsonl")).await.text;
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// All transactions of the demo and one that no chain has.
async fn job(taxon: &Taxon, person: &mut Browser, key: &str) -> (String, String) {
    let mut hashes: String = demo_scenario().transactions.iter().map(|done| format!("{}\n", done.hash)).collect();
    hashes.push_str(&format!("0x{:064x}\n", 7));
    let taken = taxon.raw(Method::POST, "/v1/jobs?chain=demo").bearer_auth(key).body(hashes).send().await.unwrap();
    let taken = read(taken).await;
    assert_eq!(taken.status, 202, "{}", taken.body);
    let job = format!("/jobs/{}", taken.body["id"].as_str().unwrap());
    // The last row is asked for again after a pause, five times in all; the second shall be the last.
    let count = demo_scenario().transactions.len();
    until(person, &job, |page| page.has(&format!("<strong>{count} of {}</strong>", count + 1))).await;
    let file = Connection::open(taxon.setup.data.path().join("taxon.db")).unwrap();
    assert_eq!(file.execute("UPDATE job_parts SET tries = 4, due_at = 0", []).unwrap(), 1);
    until(person, &job, |page| page.has(">Finished<")).await;
    (job, format!("/books/{}", taken.body["book"].as_str().unwrap()))
}

/// Every page from this one on: the places in their order, and no page is heavy.
async fn walked(person: &mut Browser, path: &str) -> Vec<String> {
    let (mut path, mut seen) = (path.to_owned(), Vec::new());
    for _ in 0..20 {
        let page = person.get(&path).await;
        assert!(page.text.len() < TABLE_BYTES_MAX && rows(&page).len() <= 50, "{} bytes", page.text.len());
        seen.extend(rows(&page));
        if !page.has("rel=\"next\"") {
            return seen;
        }
        path = page.between("rel=\"next\" href=\"", "\"").replace("&amp;", "&");
    }
    panic!("the pages do not end");
}

#[tokio::test]
async fn results_are_filtered_by_what_rows_were_read_as() {
    let taxon = proxied().start().await;
    let mut person = Browser::signed_in(&taxon, "192.0.2.1", "a@example.com").await;
    let mut stranger = Browser::signed_in(&taxon, "192.0.2.2", "b@example.com").await;
    let key = person.new_key("").await;
    let (job, book) = job(&taxon, &mut person, &key).await;
    let table = format!("{job}/rows");
    assert!(person.get(&job).await.has(&format!("href=\"{table}\"")));
    let all = answers(&mut person, &job).await;
    let read: Vec<&Value> = all.iter().filter(|row| row["error"].is_null()).collect();
    assert_eq!(all.len(), read.len() + 1, "one failed");
    let with = |name: &str, value: &Value| read.iter().filter(|row| row[name] == *value).count();

    let page = person.get(&table).await;
    assert_eq!(count(&page), all.len());
    for words in
        ["aria-sort=\"ascending\"", "<time datetime=\"20", "href=\"/reading/0x", "aria-label=\"Choose 0x", ">Taxable<"]
    {
        assert!(page.has(words), "no {words} in {}", page.text);
    }
    harmless(&page.text.replace("<script src", ""), "the results");
    assert_eq!(page.text.matches("<script").count(), 1, "the table needs no script");
    let oldest = walked(&mut person, &table).await;
    let mut newest = walked(&mut person, &format!("{table}?sort=newest")).await;
    newest.reverse();
    assert_eq!((oldest.len(), &newest), (read.len(), &oldest), "each row once, in either order");

    // The same by marks as the answers say; and by the answers themselves, where an earlier version left times alone.
    let file = Connection::open(taxon.setup.data.path().join("taxon.db")).unwrap();
    for is_old in [false, true] {
        for (query, expected) in [
            ("category=swap".to_owned(), with("category", &"swap".into())),
            ("treatment=income".to_owned(), with("treatment", &"income".into())),
            ("treatment=needs_review".to_owned(), with("treatment", &"needs_review".into())),
            ("chain=demo".to_owned(), read.len()),
            ("chain=base".to_owned(), 0),
            ("category=swap&chain=base".to_owned(), 0),
            ("state=read".to_owned(), with("needs_review", &false.into())),
            ("state=review".to_owned(), with("needs_review", &true.into())),
            ("state=decided".to_owned(), 0),
            ("state=failed".to_owned(), 1),
            ("from=1999-01-01&to=2099-01-01".to_owned(), read.len()),
            ("to=1999-01-01".to_owned(), 0),
            ("category=%00".to_owned(), 0),
            ("from=nonsense&after=nonsense".to_owned(), all.len()),
        ] {
            let page = person.get(&format!("{table}?{query}")).await;
            assert_eq!((page.status, count(&page)), (200, expected), "{query}, old: {is_old}");
        }
        let mut parts = file.prepare("SELECT number, row_count, times FROM job_parts").unwrap();
        let parts: Vec<(i64, u16, Vec<u8>)> = parts
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        for (number, count, marks) in parts.iter().filter(|_| !is_old) {
            let rows = &marks[marks.len() - MARK_BYTES * usize::from(*count)..];
            let times: Vec<u8> = rows.chunks(MARK_BYTES).flat_map(|row| row[..8].to_vec()).collect();
            file.execute("UPDATE job_parts SET times = ?2 WHERE number = ?1", (number, times)).unwrap();
        }
    }
    let code = all.iter().find_map(|row| row["error"].as_str()).unwrap();
    let failed = person.get(&format!("{table}?state=failed")).await;
    assert!(failed.has(&format!("<strong>Not read</strong> <code>{code}</code>")), "{}", failed.text);
    assert_eq!(walked(&mut person, &table).await, oldest, "also where an earlier version has read them");

    // Days are those of the book's time zone.
    let first = read.iter().filter_map(|row| row["block"]["timestamp"].as_str()).min().unwrap();
    let at: jiff::Timestamp = first.parse().unwrap();
    let zone = if at.strftime("%H").to_string().as_str() < "12" { "America/Los_Angeles" } else { "Asia/Tokyo" };
    let day = at.in_tz(zone).unwrap().date();
    let settings = [("name", "x"), ("wallets", ""), ("jurisdiction", "us"), ("time_zone", zone), ("chart", "")];
    assert_eq!(person.post(&book, &settings).await.status, 303);
    let there = |row: &&&Value| {
        let at: jiff::Timestamp = row["block"]["timestamp"].as_str().unwrap().parse().unwrap();
        at.in_tz(zone).unwrap().date() == day
    };
    let page = person.get(&format!("{table}?from={day}&to={day}")).await;
    assert_eq!(count(&page), read.iter().filter(there).count(), "{zone}");
    assert!(page.has(&format!("name=\"from\" value=\"{day}\"")), "{}", page.text);

    for path in [table.clone(), format!("{book}/log")] {
        assert_eq!((stranger.get(&path).await.status, person.get(&path).await.status), (404, 200), "{path}");
    }
    let fields = [("row", oldest[0].as_str()), ("do", "decide"), ("category", "gift"), ("treatment", "non_taxable")];
    assert_eq!(stranger.post(&table, &fields).await.status, 404);
}

#[tokio::test]
async fn any_row_is_decided_signed_and_undone_and_the_log_tells_it() {
    let taxon = proxied().start().await;
    let mut person = Browser::signed_in(&taxon, "192.0.2.1", "a@example.com").await;
    let key = person.new_key("").await;
    let (job, book) = job(&taxon, &mut person, &key).await;
    let (table, review, log) = (format!("{job}/rows"), format!("{book}/review"), format!("{book}/log"));
    let open = person.get(&review).await.between("Open <strong>", "<").to_owned();
    assert!(person.get(&log).await.has("Nobody has decided anything yet."));
    assert!(person.get(&review).await.has(">leans to<") && person.get(&review).await.has(&format!("href=\"{log}\"")));
    let hash = demo_scenario().named("v2_swap_eth_in").hash.clone();
    let page = person.get(&format!("{table}?category=swap&state=read")).await;
    let place = place_of(&page, &hash);
    assert!(
        !person.get(&format!("{review}?state=all&find={hash}")).await.has(&format!("/reading/{hash}")),
        "the book does not keep it"
    );

    // What is wrong is told, with what was typed and chosen.
    let hostile = "<script>alert(1)</script>\u{202e}";
    let typed = [("row", place.as_str()), ("do", "decide"), ("category", ""), ("comment", "kept")];
    let wrong = person.post(&table, &typed).await;
    assert!(
        wrong.status == 400
            && wrong.has("Choose a category.")
            && wrong.has(">kept</textarea>")
            && wrong.has(" checked")
    );
    for (row, said) in [("9:0", "These are not rows"), ("-1:0", "These are not rows"), ("0:255", "These are not rows")]
    {
        let fields = [("row", row), ("do", "decide"), ("category", "airdrop")];
        let refused = person.post(&table, &fields).await;
        assert!(refused.status == 400 && refused.has(said), "{row}: {}", refused.text);
    }
    let none = person.post(&table, &[("do", "decide"), ("category", "airdrop")]).await;
    assert!(none.status == 400 && none.has("Choose at least one row."));
    let last = demo_scenario().transactions.len();
    let failed = format!("{}:{}", last / 100, last % 100);
    let fields = [("row", failed.as_str()), ("do", "decide"), ("category", "airdrop")];
    assert!(person.post(&table, &fields).await.has("A row that was not read cannot be decided."));
    for odd in ["x", "1", "1:256", "1:1:1"] {
        assert_eq!(person.post(&table, &[("row", odd), ("do", "decide")]).await.status, 400, "{odd}");
    }

    let fields = [
        ("row", place.as_str()),
        ("do", "decide"),
        ("category", "airdrop"),
        ("comment", hostile),
        ("back", "category=swap&sort=newest"),
    ];
    let done = person.post(&table, &fields).await;
    assert_eq!(
        (done.status, done.location()),
        (303, format!("{table}?category=swap&sort=newest").as_str()),
        "{}",
        done.text
    );
    let decided = person.get(&format!("{table}?state=decided")).await;
    assert_eq!((count(&decided), rows(&decided)), (1, vec![place.clone()]));
    assert!(decided.has("Swap") && decided.has("Airdrop") && decided.has("a@example.com"), "{}", decided.text);
    harmless(&decided.text.replace("<script src", ""), "a comment");
    assert!(!rows(&person.get(&format!("{table}?category=swap&state=read")).await).contains(&place), "one state each");
    let told = answers(&mut person, &job).await;
    let told: Vec<&Value> = told.iter().filter(|row| row["decision"].is_object()).collect();
    assert_eq!((told.len(), &told[0]["hash"], &told[0]["category"]), (1, &hash.as_str().into(), &"swap".into()));
    assert_eq!(told[0]["decision"]["category"], "airdrop");

    // In the review table it is decided, and undone in one step; then nobody waits for it.
    let found = format!("{review}?state=decided&find={hash}");
    let shown = person.get(&found).await;
    let row = shown.between("name=\"row\" value=\"", "\"").to_owned();
    assert!(row.starts_with(&hash), "{}", shown.text);
    assert_eq!(person.post(&review, &[("row", row.as_str()), ("do", "undo")]).await.status, 303);
    assert_eq!(person.get(&review).await.between("Open <strong>", "<"), open, "the queue is as it was");
    assert!(!person.get(&format!("{review}?find={hash}")).await.has(&row));
    assert_eq!(count(&person.get(&format!("{table}?state=decided")).await), 0);

    // On a book that has a second person sign, it waits.
    let settings = [
        ("name", "x"),
        ("wallets", ""),
        ("jurisdiction", "us"),
        ("time_zone", "UTC"),
        ("chart", ""),
        ("needs_second", "yes"),
    ];
    assert_eq!(person.post(&book, &settings).await.status, 303);
    assert_eq!(person.post(&table, &fields).await.status, 303);
    assert!(person.get(&format!("{table}?state=decided")).await.has("Waits for a signature."));
    assert!(person.get(&format!("{review}?state=waiting")).await.has(&row));
    assert_eq!(person.post(&table, &[("row", place.as_str()), ("do", "undo")]).await.status, 303);
    assert_eq!(count(&person.get(&format!("{table}?state=decided")).await), 0, "undone here too");

    let lines = person.get(&log).await;
    let told: Vec<&str> = ["Decided", "Undone"]
        .into_iter()
        .filter(|what| lines.text.matches(&format!("<td>{what}</td>")).count() == 2)
        .collect();
    assert_eq!(told, ["Decided", "Undone"], "{}", lines.text);
    assert!(
        lines.has("a@example.com") && lines.has("Airdrop") && lines.has("&lt;script&gt;alert(1)"),
        "{}",
        lines.text
    );
    harmless(&lines.text.replace("<script src", ""), "the log");
    assert!(person.get(&book).await.has(&format!("href=\"{log}\"")));
    assert!(person.get(&format!("{log}?find=ffffffff")).await.has("No line is like that."));
    assert_eq!(person.get(&format!("{log}?find=%00&before=1:1:%00:x")).await.status, 200);
    let file = Connection::open(taxon.setup.data.path().join("taxon.db")).unwrap();
    let copy = "INSERT INTO decision_log SELECT book_id, hash, wallet, step + ?1, what, category, treatment, comment, by_id, at - ?1, rule_id
                FROM decision_log WHERE step = 1";
    for at in 100..250 {
        file.execute(copy, [at]).unwrap();
    }
    let (mut path, mut lines) = (log, Vec::new());
    for _ in 0..4 {
        let page = person.get(&path).await;
        assert!(page.text.len() < TABLE_BYTES_MAX, "{}", page.text);
        lines.push(page.text.matches("<tr><td>").count());
        if page.has("rel=\"next\"") {
            path = page.between("rel=\"next\" href=\"", "\"").replace("&amp;", "&");
        }
    }
    assert_eq!(lines, [50, 50, 50, 4], "pages of fifty, each line once");
}
