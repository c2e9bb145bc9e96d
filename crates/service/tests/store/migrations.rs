//! A database that an earlier release migrated is opened by this one. What follows was read out of `_sqlx_migrations` after a release
//! whose migrations sqlx's own macro embedded: version, description, checksum.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, SqliteConnection};
use taxon::store::{Clock, Database, HistoryRow, ReviewFilter, ReviewState, Store};

use super::engines::{Engine, engines};

type Row = (i64, &'static str, &'static str);

const SQLITE: [Row; 4] = [
    (1, "keys", "589658e5168efe0fb6d87718698956616747d2951e0e7f2c2b123bfe5a32bb752031b2a5d587849ad084e8da90673450"),
    (2, "ledger", "a816f4821cc69c9744359336d108b4d15a17e2453dfd64658cf6acfe278bc1939da1408f911ee1bad8363374566ed640"),
    (3, "accounts", "e8485124ef1a14efabd7914208cd73f87d39d156e8165deba1adac4651a2bcb3e3505960b25552261ee503e09ebd665f"),
    (4, "cache", "26e01eb70507119492073b18ad4c5e1dafb102e3575f188beea80b79f571c303897d53fddc3920e01cac7bd19d61b54a"),
];

const POSTGRES: [Row; 4] = [
    (1, "keys", "5a54949309009d343dd8a6a692685485d17cb10f269c69e2ed959ddfc820dbb340c577160e62c3ea385724c78a7cf38d"),
    (2, "ledger", "49e5c7bc98e92eaf94f7a8f79a3a1be4b12d6eaf651031398018aae77a4f70fe629dd3753a1ffec70286fbb6047fdb45"),
    (3, "accounts", "8340f0a07e4fce6ca03df31e3878f278433d0e8c1119b0625fc2fe4e19e85f404e3713ea17ec5fadcaf96f65d74c9d86"),
    (4, "cache", "a170fecbc927d2903a93a3f1358742cbba676aa86316999bc5cdbaf35ac6dc613ebe98a170e01ba1193f2d9e1e63c984"),
];

const COLUMNS: &str = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES";

/// The rows of an earlier release in the place of ours.
async fn make_earlier(engine: &Engine) {
    let insert = |rows: &[Row], bytes: fn(&str) -> String| {
        let row = |(version, description, checksum): &Row| {
            format!("({version}, '{description}', true, {}, 1)", bytes(checksum))
        };
        format!("{COLUMNS} {}", rows.iter().map(row).collect::<Vec<_>>().join(", "))
    };
    match &engine.database {
        Database::Sqlite(path) => {
            let mut file = SqliteConnection::connect(&format!("sqlite:{}", path.display())).await.unwrap();
            file.execute("DELETE FROM _sqlx_migrations WHERE version <= 4").await.unwrap();
            let rows = insert(&SQLITE, |hex| format!("x'{hex}'"));
            file.execute(AssertSqlSafe(rows)).await.unwrap();
        }
        Database::Postgres(url) => {
            let mut server = PgConnection::connect(url).await.unwrap();
            server.execute("DELETE FROM _sqlx_migrations WHERE version <= 4").await.unwrap();
            let rows = insert(&POSTGRES, |hex| format!("decode('{hex}', 'hex')"));
            server.execute(AssertSqlSafe(rows)).await.unwrap();
        }
    }
}

/// What the database keeps of its migrations.
async fn written(engine: &Engine) -> Vec<(i64, String, String)> {
    match &engine.database {
        Database::Sqlite(path) => {
            let mut file = SqliteConnection::connect(&format!("sqlite:{}", path.display())).await.unwrap();
            let rows = "SELECT version, description, lower(hex(checksum)) FROM _sqlx_migrations ORDER BY version";
            sqlx::query_as(rows).fetch_all(&mut file).await.unwrap()
        }
        Database::Postgres(url) => {
            let mut server = PgConnection::connect(url).await.unwrap();
            let rows = "SELECT version, description, encode(checksum, 'hex') FROM _sqlx_migrations ORDER BY version";
            sqlx::query_as(rows).fetch_all(&mut server).await.unwrap()
        }
    }
}

#[tokio::test]
async fn a_database_of_an_earlier_release_needs_nothing() {
    for engine in engines().await {
        let earlier = if engine.name == "sqlite" { SQLITE } else { POSTGRES };
        let earlier = earlier.map(|(version, name, checksum)| (version, name.to_owned(), checksum.to_owned())).to_vec();
        let ours = written(&engine).await;
        assert!(ours.starts_with(&earlier), "{}: this release writes other rows: {ours:?}", engine.name);
        make_earlier(&engine).await;
        let opened = Store::open(&engine.database, Clock::System).await;
        assert!(opened.is_ok(), "{}: {:?}", engine.name, opened.err());
        assert_eq!(written(&engine).await, ours, "{}: something was migrated", engine.name);
    }
}

/// The queue from before there were books is in the owner's first book afterwards, with what was reviewed as decided.
#[tokio::test]
async fn reviews_of_an_earlier_release_become_decisions() {
    for engine in engines().await {
        for owner in ["a", "b"] {
            assert!(engine.store.create_account(owner, &format!("{owner}@example.com"), "hash").await.unwrap());
        }
        let doubtful = |hash: &str| HistoryRow {
            needs_review: true,
            taxable: None,
            ..super::history::reading("a", hash, "w", super::engines::NOON)
        };
        let rows = [doubtful("h1"), doubtful("h2"), super::history::reading("a", "h3", "w", super::engines::NOON)];
        engine.store.write_history(&rows, &[]).await.unwrap();
        engine
            .sql("INSERT INTO reviews (owner_id, hash, wallet, category, comment, at) VALUES ('a', 'h1', 'w', 'gift', 'mine', 7)")
            .await
            .unwrap();
        for table in [
            "DROP TABLE decision_log",
            "DROP TABLE decisions",
            "DROP TABLE decision_rules",
            "DROP TABLE book_rows",
            "DROP TABLE book_people",
            "DROP TABLE book_wallets",
            "DROP TABLE job_parts",
            "DROP TABLE jobs",
            "DROP TABLE books",
            "DELETE FROM _sqlx_migrations WHERE version IN (6, 8, 9)",
        ] {
            engine.sql(table).await.unwrap();
        }
        let store = engine.beside().await;
        let books = store.own_books("a", 9).await.unwrap();
        assert_eq!(books.iter().map(|book| book.is_first).collect::<Vec<_>>(), [true], "{}", engine.name);
        assert!(store.own_books("b", 9).await.unwrap().is_empty(), "made when it is first needed");
        let filter = ReviewFilter { state: ReviewState::All, ..ReviewFilter::default() };
        let rows = store.review_rows(&books[0], &filter, 9).await.unwrap();
        let told = rows.iter().map(|row| (row.hash.as_str(), row.state.as_deref(), row.decided_category.as_deref()));
        assert_eq!(told.collect::<Vec<_>>(), [("h1", Some("decided"), Some("gift")), ("h2", Some("open"), None)]);
        assert_eq!((rows[0].comment.as_deref(), rows[0].decided_at), (Some("mine"), Some(7)));
    }
}

/// The table of jobs is made anew, and what refers to it still does.
#[tokio::test]
async fn jobs_of_an_earlier_release_keep_their_parts() {
    for engine in engines().await {
        assert!(engine.store.create_account("a", "a@example.com", "hash").await.unwrap());
        let before = match engine.name {
            "sqlite" => include_str!("../../../../migrations/sqlite/0006_jobs.sql"),
            _ => include_str!("../../../../migrations/postgres/0006_jobs.sql"),
        };
        for statement in [
            "DROP TABLE job_parts",
            "DROP TABLE jobs",
            before,
            "ALTER TABLE jobs ADD COLUMN book_id TEXT REFERENCES books (id)",
            "CREATE INDEX jobs_by_book ON jobs (book_id, created_at, id)",
            "DELETE FROM _sqlx_migrations WHERE version = 9",
            "INSERT INTO jobs (id, owner_id, key_id, name, options, understood, state, row_count, created_at, due_at, served_at)
             VALUES ('one', 'a', '', 'a table', '{}', '{}', 'open', 2, 7, 0, 0), ('two', 'a', '', 'another', '{}', '{}', 'finished', 0, 8, 0, 0)",
            "INSERT INTO job_parts (job_id, number, row_count, asked) VALUES ('one', 0, 1, ''), ('one', 1, 1, '')",
        ] {
            // SQLite's tables are strict: what is bytes is written so.
            let statement = if engine.name == "sqlite" && statement.starts_with("INSERT INTO job_parts") {
                "INSERT INTO job_parts (job_id, number, row_count, asked) VALUES ('one', 0, 1, x''), ('one', 1, 1, x'')"
            } else {
                statement
            };
            engine.sql(statement).await.unwrap();
        }
        let store = engine.beside().await;
        let jobs = store.jobs("a", None, None, 9).await.unwrap();
        let told: Vec<(&str, &str, i64)> =
            jobs.iter().map(|job| (job.id.as_str(), job.state.as_str(), job.created_at)).collect();
        assert_eq!(told, [("two", "finished", 8), ("one", "open", 7)], "{}", engine.name);
        let held = store.hold_parts("worker", super::jobs::HELD, 9).await.unwrap();
        assert_eq!(held.len(), 2, "{}", engine.name);
        assert!(
            engine.sql("DELETE FROM jobs WHERE id = 'one'").await.is_err(),
            "{}: its parts refer to it",
            engine.name
        );
    }
}
