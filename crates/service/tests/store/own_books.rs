//! Books: whose they are, who else sees them, and what goes with them.

use taxon::store::{BookRemoval, BookSettings, BookWallet, NewJob, Store};

use super::engines::{Engine, engines};
use super::jobs::{HELD, end, job, outcome};

fn settings(name: &str) -> BookSettings {
    BookSettings { name: name.to_owned(), time_zone: "UTC".to_owned(), ..BookSettings::default() }
}

/// Three accounts; only the first two have shown that their address is theirs.
async fn people(engine: &Engine) {
    for owner in ["a", "b", "c"] {
        assert!(engine.store.create_account(owner, &format!("{owner}@example.com"), "hash").await.unwrap());
    }
    engine.sql("UPDATE accounts SET proved_at = 1 WHERE owner_id <> 'c'").await.unwrap();
}

async fn names(store: &Store, person: &str) -> Vec<String> {
    store.books(person, 10).await.unwrap().into_iter().map(|book| book.name).collect()
}

#[tokio::test]
async fn a_book_is_its_owners_and_of_whoever_was_added() {
    for engine in engines().await {
        let store = &engine.store;
        people(&engine).await;
        let first = store.first_book("a", "first", &settings("My books")).await.unwrap().unwrap();
        let again = store.first_book("a", "second", &settings("My books")).await.unwrap().unwrap();
        assert_eq!((first.id.as_str(), again.id.as_str(), first.is_first), ("first", "first", true), "{}", engine.name);
        assert!(store.first_book("nobody", "x", &settings("x")).await.unwrap().is_none());
        assert!(store.create_book("a", "client", &settings("A client"), 2).await.unwrap());
        assert!(!store.create_book("a", "more", &settings("More"), 2).await.unwrap(), "as many as one may have");
        assert_eq!(names(store, "a").await, ["My books", "A client"]);
        assert!(names(store, "b").await.is_empty() && store.book("b", "client").await.unwrap().is_none());

        let wallet = |address: &str| BookWallet { address: address.to_owned(), label: "hot".to_owned() };
        let told = BookSettings {
            needs_second: true,
            period_to: Some("2026-12-31".to_owned()),
            wallets: vec![wallet("0x2"), wallet("0x1")],
            ..settings("A client")
        };
        assert!(!store.set_book("b", "client", &told).await.unwrap(), "not anybody's to change");
        assert!(store.set_book("a", "client", &told).await.unwrap());
        let book = store.own_book("a", "client").await.unwrap().unwrap();
        assert_eq!((book.needs_second, book.period_to.as_deref()), (true, Some("2026-12-31")));
        assert_eq!(store.book_wallets(&book).await.unwrap(), told.wallets);

        for email in ["b@example.com", "c@example.com", "nobody@example.com"] {
            assert!(!store.add_to_book("b", "client", email, 3).await.unwrap(), "only its owner adds");
            assert!(store.add_to_book("a", "client", email, 3).await.unwrap());
        }
        assert!(store.add_to_book("a", "client", "b@example.com", 3).await.unwrap(), "twice is once");
        assert!(!store.add_to_book("a", "client", "d@example.com", 3).await.unwrap(), "as many as there may be");
        assert_eq!(store.book_people(&book).await.unwrap().len(), 3);
        assert_eq!(names(store, "b").await, ["A client"]);
        assert!(
            store.book("b", "client").await.unwrap().is_some() && store.book("b", "first").await.unwrap().is_none()
        );
        assert!(store.own_book("b", "client").await.unwrap().is_none(), "seeing is not owning");
        assert!(store.book("c", "client").await.unwrap().is_none(), "whoever has shown nothing sees nothing");
        assert!(!store.take_from_book("b", "client", "b@example.com").await.unwrap());
        assert!(store.take_from_book("a", "client", "b@example.com").await.unwrap());
        assert!(store.book("b", "client").await.unwrap().is_none());
    }
}

#[tokio::test]
async fn a_job_belongs_to_a_book_of_its_owner_and_goes_with_it() {
    for engine in engines().await {
        let store = &engine.store;
        people(&engine).await;
        job(store, "one", "a", 1).await;
        assert!(store.create_book("b", "theirs", &settings("Theirs"), 9).await.unwrap());
        let stranger = NewJob {
            id: "two".to_owned(),
            owner_id: "a".to_owned(),
            key_id: String::new(),
            book_id: "theirs".to_owned(),
            name: String::new(),
            options: "{}".to_owned(),
            starts: true,
        };
        assert!(!store.begin_job(&stranger, 9).await.unwrap(), "{}: no job in another's book", engine.name);
        assert_eq!(store.job("a", "one").await.unwrap().unwrap().book_id.as_deref(), Some("book-a"));
        assert_eq!(store.jobs("a", Some("book-a"), None, 9).await.unwrap().len(), 1);
        assert!(store.jobs("a", Some("theirs"), None, 9).await.unwrap().is_empty());
        let book = store.own_book("a", "book-a").await.unwrap().unwrap();
        assert_eq!(store.book_jobs(&book).await.unwrap(), (1, 1));
        assert_eq!(store.remove_book("a", "book-a").await.unwrap(), BookRemoval::Busy);
        assert_eq!(store.remove_book("b", "book-a").await.unwrap(), BookRemoval::Missing);
        let held = store.hold_parts("one", HELD, 1).await.unwrap();
        assert!(end(store, &held[0], "one", &outcome(true)).await);
        assert_eq!(store.remove_book("a", "book-a").await.unwrap(), BookRemoval::Removed);
        assert!(store.job("a", "one").await.unwrap().is_none() && store.own_books("a", 9).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn whoever_leaves_takes_their_books_and_leaves_those_of_others() {
    for engine in engines().await {
        let store = &engine.store;
        people(&engine).await;
        job(store, "one", "a", 1).await;
        job(store, "two", "b", 1).await;
        assert!(store.add_to_book("a", "book-a", "b@example.com", 3).await.unwrap());
        assert!(store.add_to_book("b", "book-b", "a@example.com", 3).await.unwrap());
        assert!(store.delete_account("a", "erased-a").await.unwrap(), "{}", engine.name);
        assert!(store.own_books("a", 9).await.unwrap().is_empty());
        let left = store.books("b", 9).await.unwrap();
        assert_eq!(left.iter().map(|book| book.id.as_str()).collect::<Vec<_>>(), ["book-b"]);
        assert!(store.book_people(&left[0]).await.unwrap().is_empty(), "the address of who left is erased");
        // Somebody else who gets the address later is let into nothing.
        assert!(store.create_account("d", "a@example.com", "hash").await.unwrap());
        engine.sql("UPDATE accounts SET proved_at = 1").await.unwrap();
        assert!(store.books("d", 9).await.unwrap().is_empty());
    }
}
