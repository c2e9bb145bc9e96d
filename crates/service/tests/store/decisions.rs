//! Rows of a book, what people decide on them, and the table that shows them.

use taxon::store::{
    BookRow, BookSettings, NewDecision, PartOutcome, ReadRow, ReviewFilter, ReviewRow, ReviewSort, ReviewState, RowKey,
    Store,
};

use super::engines::{DAY, Engine, NOON, SECOND, engines};
use super::jobs::{HELD, end, job, outcome};

pub fn key(hash: &str) -> RowKey {
    RowKey { hash: hash.to_owned(), wallet: "w".to_owned() }
}

pub fn decision(category: &str, comment: &str) -> NewDecision {
    NewDecision { category: category.to_owned(), treatment: "income".to_owned(), comment: comment.to_owned() }
}

/// A row that a person must look at.
pub fn row(hash: &str) -> ReadRow {
    ReadRow {
        hash: hash.to_owned(),
        wallet: "w".to_owned(),
        chain: "demo".to_owned(),
        time: 1_700_000_000,
        category: "unclassified",
        treatment: "needs_review",
        taxable: None,
        confidence: 40,
        needs_review: true,
        protocol: "Some Protocol".to_owned(),
        note: "Look at it.".to_owned(),
        amounts: "1 ETH → 2 USDC".to_owned(),
        contract: "0xc0".to_owned(),
        function: "a9059cbb".to_owned(),
        engine: "0.1.0+aa".to_owned(),
        part: 0,
    }
}

fn read(hash: &str, category: &'static str, treatment: &'static str) -> ReadRow {
    ReadRow {
        category,
        treatment,
        taxable: Some(true),
        needs_review: false,
        engine: "0.1.0+bb".to_owned(),
        ..row(hash)
    }
}

/// A job of the owner reads these.
async fn reads(store: &Store, owner: &str, id: &str, rows: Vec<ReadRow>) {
    job(store, id, owner, 1).await;
    let held = store.hold_parts(id, HELD, 1).await.unwrap();
    assert!(end(store, &held[0], id, &PartOutcome { rows, ..outcome(true) }).await);
}

/// Two people, and the first book of one of them with these rows.
async fn book(engine: &Engine, rows: Vec<ReadRow>) -> BookRow {
    let store = &engine.store;
    for owner in ["a", "b"] {
        assert!(store.create_account(owner, &format!("{owner}@example.com"), "hash").await.unwrap());
    }
    engine.sql("UPDATE accounts SET proved_at = 1").await.unwrap();
    reads(store, "a", "first", rows).await;
    store.own_book("a", "book-a").await.unwrap().unwrap()
}

async fn table(store: &Store, book: &BookRow, filter: &ReviewFilter) -> Vec<ReviewRow> {
    store.review_rows(book, filter, 1_000).await.unwrap()
}

async fn hashes(store: &Store, book: &BookRow, state: ReviewState) -> String {
    let rows = table(store, book, &ReviewFilter { state, ..ReviewFilter::default() }).await;
    rows.iter().map(|row| row.hash.as_str()).collect::<Vec<_>>().join(" ")
}

async fn needs_second(store: &Store, book: &BookRow, needs_second: bool) {
    let settings = BookSettings { needs_second, ..BookSettings::first() };
    assert!(store.set_book("a", &book.id, &settings).await.unwrap());
}

#[tokio::test]
async fn a_row_is_decided_undone_and_nothing_is_lost() {
    for engine in engines().await {
        let store = &engine.store;
        let twice = ReadRow { confidence: 41, ..row("h1") };
        let book = book(&engine, vec![row("h1"), twice, row("h2"), read("h3", "swap", "disposal")]).await;
        assert_eq!(hashes(store, &book, ReviewState::Open).await, "h1 h2", "{}", engine.name);
        assert_eq!(hashes(store, &book, ReviewState::Read).await, "", "what no person must look at is not kept");
        assert!(store.has_open(&book).await.unwrap() && !store.has_decisions(&book.id).await.unwrap());
        let keys = [key("h1"), key("h3"), key("nothing")];
        assert_eq!(store.decide(&book, &keys, &decision("airdrop", "mine"), "a").await.unwrap(), 1);
        assert_eq!(hashes(store, &book, ReviewState::Open).await, "h2");
        assert_eq!(hashes(store, &book, ReviewState::Decided).await, "h1");
        assert_eq!(hashes(store, &book, ReviewState::All).await, "h1 h2");
        let shown =
            &table(store, &book, &ReviewFilter { state: ReviewState::Decided, ..ReviewFilter::default() }).await[0];
        assert_eq!((shown.category.as_str(), shown.decided_category.as_deref()), ("unclassified", Some("airdrop")));
        assert_eq!((shown.decider.as_deref(), shown.decided_at), (Some("a@example.com"), Some(NOON)));
        assert_eq!(shown.confidence, 41, "of a hash that came twice the last counts");
        assert_eq!(store.decide(&book, &keys[..1], &decision("gift", ""), "b").await.unwrap(), 1);
        assert_eq!(store.undo(&book, &keys, "b").await.unwrap(), 1);
        assert_eq!(store.undo(&book, &keys, "b").await.unwrap(), 0);
        assert_eq!(hashes(store, &book, ReviewState::Open).await, "h1 h2");
        let log = store.decision_log(&book, Some("H1"), None, 9).await.unwrap();
        let told: Vec<_> =
            log.iter().map(|step| (step.what.as_str(), step.category.as_str(), step.by_email.as_str())).collect();
        let (a, b) = ("a@example.com", "b@example.com");
        assert_eq!(
            told,
            [("undone", "gift", b), ("decided", "gift", b), ("decided", "airdrop", a)],
            "the newest first"
        );
        let counts = store.review_counts(&book).await.unwrap();
        assert_eq!((counts.open, counts.decided, counts.waiting, counts.disagreed), (2, 0, 0, 0));
    }
}

#[tokio::test]
async fn a_row_that_the_book_did_not_keep_is_decided_undone_and_signed_too() {
    for engine in engines().await {
        let (store, name) = (&engine.store, engine.name);
        let plain = read("h3", "swap", "disposal");
        let book = book(&engine, vec![row("h1"), plain.clone(), read("h4", "swap", "disposal")]).await;
        // As the results of the job have them: one that waits, one that needs nobody, twice, in two parts.
        let stale = ReadRow { confidence: 1, note: "older".to_owned(), ..row("h1") };
        let rows = [stale, plain.clone(), plain.clone(), ReadRow { part: 7, ..plain.clone() }];
        let decided = store.decide_read_rows(&book, "first", &rows, &decision("airdrop", "mine"), "a").await.unwrap();
        assert_eq!(decided, 2, "{name}");
        let shown = table(store, &book, &ReviewFilter { state: ReviewState::Decided, ..ReviewFilter::default() }).await;
        let told: Vec<_> = shown
            .iter()
            .map(|row| {
                (row.hash.as_str(), row.category.as_str(), row.needs_review, row.confidence, row.comment.as_deref())
            })
            .collect();
        let expected = [("h1", "unclassified", true, 40, Some("mine")), ("h3", "swap", false, 40, Some("mine"))];
        assert_eq!(told, expected, "{name}: the row that was there stays as it was read");
        assert_eq!(store.decisions(&book.id, &[key("h3")]).await.unwrap()[0].category, "airdrop", "exports tell it");
        assert_eq!(store.decided_keys(&book.id, None, 9).await.unwrap(), [key("h1"), key("h3")]);
        assert_eq!(store.decided_keys(&book.id, Some(&key("h1")), 9).await.unwrap(), [key("h3")]);
        // A later job reads it as before: whoever decided had seen that.
        reads(store, "a", "second", vec![plain.clone()]).await;
        assert_eq!(hashes(store, &book, ReviewState::Decided).await, "h1 h3", "{name}");
        reads(store, "a", "third", vec![read("h3", "gift", "non_taxable")]).await;
        assert_eq!(hashes(store, &book, ReviewState::Disagreed).await, "h3", "{name}");
        assert_eq!(store.undo(&book, &[key("h1"), key("h3")], "a").await.unwrap(), 2);
        assert_eq!(
            hashes(store, &book, ReviewState::Open).await,
            "h1",
            "{name}: what needs nobody is not in the queue"
        );
        assert_eq!(hashes(store, &book, ReviewState::Read).await, "h3", "{name}");

        needs_second(store, &book, true).await;
        let only = [read("h4", "swap", "disposal")];
        let decided = store.decide_read_rows(&book, "first", &only, &decision("gift", ""), "a").await.unwrap();
        assert_eq!((decided, hashes(store, &book, ReviewState::Waiting).await.as_str()), (1, "h4"), "{name}");
        assert_eq!(store.sign(&book, &[key("h4")], "b").await.unwrap(), 1);
        assert_eq!(hashes(store, &book, ReviewState::Decided).await, "h4", "{name}");

        assert_eq!(store.decide_read_rows(&book, "first", &[], &decision("gift", ""), "a").await.unwrap(), 0);
        let gone = BookRow { id: "book-z".to_owned(), ..book.clone() };
        assert_eq!(store.decide_read_rows(&gone, "first", &only, &decision("gift", ""), "a").await.unwrap(), 0);

        // The log, a page at a time: each line once, the newest first.
        let (mut lines, mut before) = (Vec::new(), None);
        for _ in 0..9 {
            let page = store.decision_log(&book, None, before.as_ref(), 2).await.unwrap();
            let Some(last) = page.last() else { break };
            before = Some(last.cursor());
            lines.extend(page.iter().map(|line| format!("{} {} {}", line.hash, line.step, line.what)));
        }
        lines.sort_unstable();
        let all = ["h1 1 decided", "h1 2 undone", "h3 1 decided", "h3 2 undone", "h4 1 decided", "h4 2 signed"];
        assert_eq!(lines, all, "{name}");
    }
}

#[tokio::test]
async fn a_second_person_signs_and_nobody_their_own() {
    for engine in engines().await {
        let store = &engine.store;
        let book = book(&engine, vec![row("h1"), row("h2")]).await;
        let keys = [key("h1"), key("h2")];
        assert_eq!(store.decide(&book, &keys[..1], &decision("gift", ""), "a").await.unwrap(), 1);
        assert_eq!(store.sign(&book, &keys, "b").await.unwrap(), 0, "{}: not needed", engine.name);
        needs_second(store, &book, true).await;
        assert_eq!(hashes(store, &book, ReviewState::Waiting).await, "h1", "what was decided before waits now");
        assert_eq!(store.decide(&book, &keys[1..], &decision("gift", ""), "b").await.unwrap(), 1);
        assert_eq!(store.sign(&book, &keys, "a").await.unwrap(), 1);
        assert_eq!(hashes(store, &book, ReviewState::Waiting).await, "h1", "nobody signs their own");
        assert_eq!(hashes(store, &book, ReviewState::Decided).await, "h2");
        let told = store.decisions(&book.id, &keys).await.unwrap();
        let signed = told.iter().find(|decision| decision.hash == "h2").unwrap();
        assert_eq!((signed.decided_by.as_str(), signed.signed_by.as_deref()), ("b@example.com", Some("a@example.com")));
        assert_eq!(store.decide(&book, &keys[1..], &decision("swap", ""), "b").await.unwrap(), 1);
        assert_eq!(hashes(store, &book, ReviewState::Waiting).await, "h1 h2", "another decision is signed anew");
        needs_second(store, &book, false).await;
        assert_eq!(hashes(store, &book, ReviewState::Decided).await, "h1 h2");
    }
}

#[tokio::test]
async fn a_decision_outlives_new_readings_and_says_where_rules_disagree() {
    for engine in engines().await {
        let store = &engine.store;
        let book = book(&engine, ["h1", "h2", "h3", "h4"].map(row).to_vec()).await;
        let keys = ["h1", "h2", "h3"].map(key);
        assert_eq!(store.decide(&book, &keys, &decision("airdrop", ""), "a").await.unwrap(), 3);
        engine.set_clock(NOON + DAY);
        let again = vec![
            read("h1", "swap", "disposal"),
            read("h2", "airdrop", "income"),
            ReadRow { confidence: 50, ..row("h3") },
            read("h4", "swap", "disposal"),
        ];
        reads(store, "a", "second", again.clone()).await;
        assert_eq!(hashes(store, &book, ReviewState::Disagreed).await, "h1", "{}", engine.name);
        assert_eq!(hashes(store, &book, ReviewState::Decided).await, "h2 h3");
        assert_eq!(hashes(store, &book, ReviewState::Open).await, "", "the rules have learned what h4 is");
        assert_eq!(hashes(store, &book, ReviewState::Read).await, "h4");
        assert_eq!(store.decide(&book, &[key("h4")], &decision("gift", ""), "a").await.unwrap(), 1);
        assert_eq!(store.undo(&book, &[key("h4")], "a").await.unwrap(), 1);
        assert_eq!(hashes(store, &book, ReviewState::Read).await, "h4", "what needs nobody needs nobody again");
        // Whoever decides the same again has seen what the rules say.
        assert_eq!(store.decide(&book, &keys[..1], &decision("airdrop", "still"), "a").await.unwrap(), 1);
        reads(store, "a", "third", again).await;
        assert_eq!(hashes(store, &book, ReviewState::Decided).await, "h1 h2 h3");
        reads(store, "a", "fourth", vec![read("h1", "gift", "non_taxable")]).await;
        assert_eq!(hashes(store, &book, ReviewState::Disagreed).await, "h1", "and another verdict is said again");
    }
}

#[tokio::test]
async fn all_like_one_are_decided_now_and_later_until_the_rule_goes() {
    for engine in engines().await {
        let store = &engine.store;
        let mut rows: Vec<ReadRow> = (0..2_500).map(|at| row(&format!("h{at:04}"))).collect();
        rows.push(ReadRow { function: "ffffffff".to_owned(), ..row("other function") });
        rows.push(ReadRow { chain: "base".to_owned(), ..row("other chain") });
        rows.push(ReadRow { category: "gift", ..row("other leaning") });
        rows.push(ReadRow { contract: String::new(), ..row("no contract") });
        let book = book(&engine, rows).await;
        assert!(store.likeness(&book, &key("no contract")).await.unwrap().is_none(), "{}", engine.name);
        let like = store.likeness(&book, &key("h0000")).await.unwrap().unwrap();
        let (count, first) = store.open_like(&book, &like, 2).await.unwrap();
        assert_eq!((count, first), (2_500, vec![key("h0000"), key("h0001")]));
        assert_eq!(store.decide(&book, &[key("h0000")], &decision("gift", "by hand"), "a").await.unwrap(), 1);
        let made = store.make_rule(&book, "rule", &like, &decision("airdrop", "all"), "a", 1).await.unwrap();
        assert_eq!(made, Some(2_499));
        assert_eq!(store.make_rule(&book, "more", &like, &decision("gift", ""), "a", 1).await.unwrap(), None);
        assert_eq!(
            hashes(store, &book, ReviewState::Open).await,
            "no contract other chain other function other leaning"
        );
        let later =
            vec![row("later"), ReadRow { function: "00000000".to_owned(), ..row("else") }, row("h0000"), row("h0001")];
        reads(store, "a", "second", later).await;
        let told = store.decisions(&book.id, &[key("later"), key("h0000"), key("h0001")]).await.unwrap();
        let mut told: Vec<_> = told.iter().map(|found| (found.hash.as_str(), found.category.as_str())).collect();
        told.sort_unstable();
        assert_eq!(told, [("h0000", "gift"), ("h0001", "airdrop"), ("later", "airdrop")]);
        assert_eq!(store.rules(&book).await.unwrap()[0].decided, 2_500);

        // What was changed or signed since stays.
        needs_second(store, &book, true).await;
        assert_eq!(store.sign(&book, &[key("h0002")], "a").await.unwrap(), 0, "who made the rule does not sign");
        assert_eq!(store.sign(&book, &[key("h0002")], "b").await.unwrap(), 1);
        assert_eq!(store.decide(&book, &[key("h0003")], &decision("gift", ""), "b").await.unwrap(), 1);
        let elsewhere = BookRow { id: "book-b".to_owned(), ..book.clone() };
        assert_eq!(store.remove_rule(&elsewhere, "rule", "b").await.unwrap(), None);
        assert_eq!(store.remove_rule(&book, "rule", "b").await.unwrap(), Some(2_498));
        assert_eq!(store.remove_rule(&book, "rule", "b").await.unwrap(), None);
        let kept = table(store, &book, &ReviewFilter { state: ReviewState::All, ..ReviewFilter::default() }).await;
        let kept = kept.iter().filter(|row| row.decided_category.is_some()).map(|row| row.hash.as_str());
        assert_eq!(kept.collect::<Vec<_>>(), ["h0000", "h0002", "h0003"]);
        reads(store, "a", "third", vec![row("last")]).await;
        assert!(store.decisions(&book.id, &[key("last")]).await.unwrap().is_empty(), "nothing follows it any more");
    }
}

#[tokio::test]
async fn every_order_holds_every_row_once_over_its_pages() {
    for engine in engines().await {
        let store = &engine.store;
        let protocols = ["", "Aave", "aave", "Ünïswap", "_%!"];
        let categories = ["unclassified", "gift", "bet"];
        let rows: Vec<ReadRow> = (0..157_usize)
            .map(|at| ReadRow {
                hash: format!("{}{at:03}", if at % 2 == 0 { "0xAB" } else { "5k_" }),
                wallet: format!("w{}", at % 4),
                chain: if at % 3 == 0 { "base" } else { "demo" }.to_owned(),
                time: 1_700_000_000 + i64::try_from(at % 7).unwrap(),
                protocol: protocols[at % 5].to_owned(),
                category: categories[at % 3],
                confidence: i64::try_from(at % 6).unwrap(),
                ..row("")
            })
            .collect();
        let book = book(&engine, rows.clone()).await;
        let some: Vec<RowKey> =
            rows.iter().take(60).map(|row| RowKey { hash: row.hash.clone(), wallet: row.wallet.clone() }).collect();
        assert_eq!(store.decide(&book, &some, &decision("gift", ""), "a").await.unwrap(), 60);
        for sort in
            [ReviewSort::Time, ReviewSort::Wallet, ReviewSort::Protocol, ReviewSort::Category, ReviewSort::Confidence]
        {
            for is_descending in [false, true] {
                let mut filter =
                    ReviewFilter { state: ReviewState::All, sort, is_descending, ..ReviewFilter::default() };
                let mut seen: Vec<ReviewRow> = Vec::new();
                for _ in 0..20 {
                    let page = store.review_rows(&book, &filter, 20).await.unwrap();
                    let Some(last) = page.last() else { break };
                    filter.after = Some(last.cursor());
                    seen.extend(page);
                }
                let place = |row: &ReviewRow| {
                    let (number, text) = match sort {
                        ReviewSort::Time => (row.time, String::new()),
                        ReviewSort::Wallet => (0, row.wallet.clone()),
                        ReviewSort::Protocol => (0, row.protocol.clone()),
                        ReviewSort::Category => (0, row.category.clone()),
                        ReviewSort::Confidence => (row.confidence, String::new()),
                    };
                    (number, text, row.time, row.hash.clone(), row.wallet.clone())
                };
                let mut wanted = seen.clone();
                wanted.sort_by_key(place);
                if is_descending {
                    wanted.reverse();
                }
                assert!(
                    seen == wanted && seen.len() == 157,
                    "{}: {sort:?} {is_descending}: {}",
                    engine.name,
                    seen.len()
                );
            }
        }
        let count = async |filter: ReviewFilter| table(store, &book, &filter).await.len();
        let given = |text: &str| Some(text.to_owned());
        assert_eq!(count(ReviewFilter::default()).await, 97);
        assert_eq!(count(ReviewFilter { chain: given("base"), ..ReviewFilter::default() }).await, 33);
        assert_eq!(count(ReviewFilter { protocol: given("_%!"), ..ReviewFilter::default() }).await, 19);
        assert_eq!(
            count(ReviewFilter { category: given("bet"), wallet: given("w1"), ..ReviewFilter::default() }).await,
            8
        );
        assert_eq!(count(ReviewFilter { hash: given("xab15"), ..ReviewFilter::default() }).await, 4);
        assert_eq!(count(ReviewFilter { hash: given("k_1"), ..ReviewFilter::default() }).await, 28);
        assert_eq!(count(ReviewFilter { hash: given("%"), ..ReviewFilter::default() }).await, 0);
    }
}

#[tokio::test]
async fn what_no_job_asked_for_waits_in_the_first_book() {
    for engine in engines().await {
        let store = &engine.store;
        let book = book(&engine, vec![row("h1")]).await;
        let asked = |owner: &str, row: ReadRow| taxon::store::HistoryRow {
            for_review: Some(Box::new(row)),
            ..super::history::reading(owner, "h1", "w", NOON)
        };
        store.write_history(&[asked("a", ReadRow { confidence: 1, ..row("h1") })], &[]).await.unwrap();
        let rows = table(store, &book, &ReviewFilter::default()).await;
        assert_eq!((rows.len(), rows[0].confidence), (1, 40), "{}: what a job has read stays", engine.name);
        store.write_history(&[asked("b", row("h1"))], &[]).await.unwrap();
        let theirs = store.own_books("b", 9).await.unwrap();
        assert_eq!(
            theirs.iter().map(|book| (book.is_first, book.name.as_str())).collect::<Vec<_>>(),
            [(true, "My books")]
        );
        assert_eq!(hashes(store, &theirs[0], ReviewState::Open).await, "h1");
        store.write_history(&[asked("b", ReadRow { confidence: 2, ..row("h1") })], &[]).await.unwrap();
        assert_eq!(table(store, &theirs[0], &ReviewFilter::default()).await[0].confidence, 2);
        // Old rows go, unless somebody has decided.
        assert_eq!(store.decide(&book, &[key("h1")], &decision("gift", ""), "a").await.unwrap(), 1);
        engine.set_clock(NOON + 60 * DAY);
        for owner in ["a", "b"] {
            store.purge_history(owner, NOON + 50 * DAY).await.unwrap();
        }
        assert_eq!(hashes(store, &theirs[0], ReviewState::All).await, "");
        assert_eq!(hashes(store, &book, ReviewState::All).await, "h1");
    }
}

#[tokio::test]
async fn decisions_go_with_the_book_and_stay_when_who_decided_leaves() {
    for engine in engines().await {
        let store = &engine.store;
        let book = book(&engine, vec![row("h1"), row("h2")]).await;
        let like = store.likeness(&book, &key("h1")).await.unwrap().unwrap();
        assert_eq!(store.make_rule(&book, "rule", &like, &decision("gift", ""), "b", 9).await.unwrap(), Some(2));
        reads(store, "b", "theirs", vec![row("h1")]).await;
        engine.set_clock(NOON + SECOND);
        assert!(store.delete_account("b", "deleted:b").await.unwrap(), "{}", engine.name);
        let told = store.decisions(&book.id, &[key("h1")]).await.unwrap();
        assert_eq!(
            (told.len(), told[0].decided_by.as_str()),
            (1, "deleted:b"),
            "the decision is the book's, the address is gone"
        );
        assert_eq!(engine.sql("DELETE FROM book_rows WHERE book_id = 'book-b'").await.unwrap(), 0);
        assert!(store.remove_book("a", "book-a").await.unwrap() == taxon::store::BookRemoval::Removed);
        for statement in [
            "DELETE FROM book_rows",
            "DELETE FROM decisions",
            "DELETE FROM decision_log",
            "DELETE FROM decision_rules",
            "DELETE FROM books",
        ] {
            assert_eq!(engine.sql(statement).await.unwrap(), 0, "{statement}, {}", engine.name);
        }
    }
}
