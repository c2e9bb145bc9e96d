//! A backup holds everything that must not be lost, either engine restores it, and an incomplete backup changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row, SqliteConnection};
use taxon::store::backup::{BackupError, NOT_KEPT, Present, kept, restore};
use taxon::store::{
    AttemptOutcome, Billing, BookSettings, BookWallet, Clock, Database, HistoryRow, NewKey, NewSession, PartOutcome,
    RefusalCount, SettleOutcome, Store, WebhookSecret,
};

use super::engines::{Engine, NOON, databases, engines, payer, reserve, settle};
use super::{decisions, jobs, webhooks};

/// Tables beside those that are kept or emptied: the list of migrations, rate windows, and what SQLite notes for itself.
const ELSEWHERE: [&str; 3] = ["_sqlx_migrations", "windows", "sqlite_sequence"];

/// Every table of a database: its columns, and its rows with each value as text, as plain SQL tells them.
type Contents = BTreeMap<String, (BTreeSet<String>, Vec<Vec<Option<String>>>)>;

async fn contents(database: &Database) -> Contents {
    let mut contents = Contents::new();
    let columns = columns(database).await;
    for (table, columns) in columns {
        let (names, shown): (BTreeSet<String>, Vec<String>) = columns.into_iter().unzip();
        let ask = AssertSqlSafe(format!("SELECT {} FROM {table}", shown.join(", ")));
        let mut rows: Vec<Vec<Option<String>>> = match database {
            Database::Sqlite(path) => {
                let mut file = SqliteConnection::connect(&format!("sqlite:{}", path.display())).await.unwrap();
                let rows = sqlx::query(ask).fetch_all(&mut file).await.unwrap();
                file.close().await.unwrap();
                rows.iter().map(|row| (0..row.len()).map(|at| row.get(at)).collect()).collect()
            }
            Database::Postgres(url) => {
                let mut server = PgConnection::connect(url).await.unwrap();
                let rows = sqlx::query(ask).fetch_all(&mut server).await.unwrap();
                server.close().await.unwrap();
                rows.iter().map(|row| (0..row.len()).map(|at| row.get(at)).collect()).collect()
            }
        };
        rows.sort();
        contents.insert(table, (names, rows));
    }
    contents
}

/// Tables, and their columns with the expression that shows them alike on both engines.
async fn columns(database: &Database) -> BTreeMap<String, BTreeMap<String, String>> {
    let rows: Vec<(String, String, String)> = match database {
        Database::Sqlite(path) => {
            let mut file = SqliteConnection::connect(&format!("sqlite:{}", path.display())).await.unwrap();
            let ask = "SELECT m.name, c.name, c.type FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'";
            let rows = sqlx::query_as(ask).fetch_all(&mut file).await.unwrap();
            file.close().await.unwrap();
            rows
        }
        Database::Postgres(url) => {
            let mut server = PgConnection::connect(url).await.unwrap();
            let ask = "SELECT table_name::text, column_name::text, data_type::text FROM information_schema.columns WHERE table_schema = 'public'";
            let rows = sqlx::query_as(ask).fetch_all(&mut server).await.unwrap();
            server.close().await.unwrap();
            rows
        }
    };
    let mut tables: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (table, column, kind) in rows {
        let shown = match kind.as_str() {
            // Of nothing, `hex` makes an empty text.
            "BLOB" => format!("CASE WHEN {column} IS NOT NULL THEN lower(hex({column})) END"),
            "bytea" => format!("encode({column}, 'hex')"),
            "boolean" => format!("CAST(CAST({column} AS integer) AS text)"),
            _ => format!("CAST({column} AS text)"),
        };
        tables.entry(table).or_default().insert(column, shown);
    }
    tables.retain(|table, _| !ELSEWHERE.contains(&table.as_str()) && !table.starts_with("cache_"));
    tables
}

async fn key(store: &Store, id: &str, email: &str, billing: Billing) {
    let key = NewKey {
        id: id.to_owned(),
        hash: (0..32).map(|byte| byte ^ id.as_bytes()[0]).collect(),
        email: email.to_owned(),
        name: format!("κλειδί of {id}, \"quoted\"\n"),
        owner_id: format!("owner-{email}"),
        billing,
    };
    store.create_key(&key).await.unwrap();
}

/// Something in every table, odd characters and empty columns included.
async fn fill(engine: &Engine) {
    let store = &engine.store;
    key(store, "aaaaaaaa", "a@example.com", Billing::Pool { tier: "enterprise".to_owned(), contracted: Some(1_000) })
        .await;
    key(store, "bbbbbbbb", "b@example.com", Billing::Metered).await;
    assert!(store.revoke_key("bbbbbbbb").await.unwrap());
    store.touch_keys(&[("aaaaaaaa".to_owned(), NOON)]).await.unwrap();
    assert!(store.create_account("owner-new", "person@example.com", "$argon2id$hash").await.unwrap());
    engine.sql("UPDATE accounts SET proved_at = 1").await.unwrap();
    assert!(store.make_operator("person@example.com").await.unwrap());
    store.set_setting("sign_up", "off").await.unwrap();
    webhooks::endpoint(store, "owner-a@example.com", "whe_a", "job.finished quota.low").await;
    let secret = WebhookSecret(vec![9; 32]);
    assert!(store.rotate_secret("owner-a@example.com", "whe_a", &secret, Duration::from_secs(60)).await.unwrap());
    for id in ["msg_1", "msg_2"] {
        assert!(store.announce_test("owner-a@example.com", "whe_a", id).await.unwrap());
    }
    let due = store.hold_delivery("holder", Duration::from_secs(30)).await.unwrap().unwrap();
    let gone = AttemptOutcome {
        status: Some(410),
        failure: Some("gone".to_owned()),
        is_gone: true,
        ..AttemptOutcome::default()
    };
    store.end_delivery(&due, "holder", &gone, Duration::from_secs(60)).await.unwrap();
    jobs::job(store, "job", "owner-a@example.com", 3).await;
    let settings = BookSettings {
        name: "A \"client\"\u{2028}".to_owned(),
        period_from: Some("2026-01-01".to_owned()),
        needs_second: true,
        wallets: vec![BookWallet { address: "0xwallet".to_owned(), label: "hot".to_owned() }],
        ..BookSettings::default()
    };
    assert!(store.set_book("owner-a@example.com", "book-owner-a@example.com", &settings).await.unwrap());
    assert!(
        store.add_to_book("owner-a@example.com", "book-owner-a@example.com", "person@example.com", 5).await.unwrap()
    );
    let held = store.hold_parts("holder", jobs::HELD, 2).await.unwrap();
    let outcome = PartOutcome { rows: vec![decisions::row("h1")], ..jobs::outcome(true) };
    assert!(jobs::end(store, &held[0], "holder", &outcome).await);
    let owner = payer("owner-a@example.com", Some(1_000));
    let hashes: Vec<String> = (0..450).map(|number| format!("h{number:05}")).collect();
    let hashes: Vec<&str> = hashes.iter().map(String::as_str).collect();
    let period = store.turn(reserve(&owner, "a", &hashes)).await.unwrap().period;
    let outcome_of = |at: usize| if at.is_multiple_of(3) { SettleOutcome::Free } else { SettleOutcome::Billable };
    let outcomes: Vec<(&str, SettleOutcome)> =
        hashes.iter().enumerate().map(|(at, hash)| (*hash, outcome_of(at))).collect();
    store.turn(settle(&owner, "a", &period, &outcomes, &["held"])).await.unwrap();
    let many: Vec<String> = (0..2_000).map(|number| format!("more{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    store.turn(reserve(&owner, "refused", &many)).await.unwrap();
    let partner = payer("owner-b@example.com", None);
    let metered = [("m1", SettleOutcome::Billable), ("m2", SettleOutcome::Billable)];
    store.turn(settle(&partner, "m", &period, &metered, &[])).await.unwrap();
    let first = store.events(&partner.id).await.unwrap()[0].seq;
    store.delivered(&partner.id, first).await.unwrap();
    store.delay(&partner.id, Duration::from_secs(30), "it says 500").await.unwrap();
    let reading = HistoryRow {
        owner_id: owner.id.clone(),
        hash: "h00001".to_owned(),
        wallet: "0xwallet".to_owned(),
        chain: "demo".to_owned(),
        category: "swap",
        treatment: "needs_review",
        taxable: None,
        confidence: 41,
        needs_review: true,
        protocol: None,
        note: Some("a note\u{2028}\\".to_owned()),
        time: 1_767_225_600,
        at: NOON,
        rules: "1+aa".to_owned(),
        for_review: None,
    };
    let refusal = RefusalCount { owner_id: owner.id.clone(), day: 20_772, code: "rate_limited", count: 3 };
    store.write_history(&[reading], &[refusal]).await.unwrap();
    // As an older version left it.
    let review = "INSERT INTO reviews (owner_id, hash, wallet, category, comment, at) VALUES ('owner-a@example.com', 'h00001', 'w', 'swap', '', 1)";
    engine.sql(review).await.unwrap();
    let book = store.own_book("owner-a@example.com", "book-owner-a@example.com").await.unwrap().unwrap();
    let decision = decisions::decision("swap", "\"so\"\n");
    let like = store.likeness(&book, &decisions::key("h1")).await.unwrap().unwrap();
    assert_eq!(store.make_rule(&book, "rule", &like, &decision, "owner-a@example.com", 9).await.unwrap(), Some(1));
    assert_eq!(store.sign(&book, &[decisions::key("h1")], "owner-new").await.unwrap(), 1);
    assert!(store.lease("meter", "somebody", Duration::from_secs(10)).await.unwrap());
    let session = NewSession { token_hash: vec![7; 32], span: Duration::from_secs(600) };
    assert!(store.begin_session("owner-new", "$argon2id$hash", &session).await.unwrap());
}

async fn backup(store: &Store) -> Vec<u8> {
    store.back_up(Vec::new()).await.unwrap().0
}

fn unpacked(bytes: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
    text
}

fn packed(text: &str) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(text.as_bytes()).unwrap();
    packer.finish().unwrap()
}

#[tokio::test]
async fn every_table_is_kept_or_left_out_on_purpose() {
    for engine in engines().await {
        let found = columns(&engine.database).await;
        let found: BTreeMap<String, BTreeSet<String>> =
            found.into_iter().map(|(table, columns)| (table, columns.into_keys().collect())).collect();
        let listed = |(table, columns): (&str, Vec<&str>)| {
            (table.to_owned(), columns.into_iter().map(str::to_owned).collect::<BTreeSet<String>>())
        };
        let mut known: BTreeMap<String, BTreeSet<String>> = kept().into_iter().map(listed).collect();
        for table in NOT_KEPT {
            known.insert(table.to_owned(), found[table].clone());
        }
        assert_eq!(found, known, "{}: store/backup/tables.rs lists what is kept", engine.name);
    }
}

#[tokio::test]
async fn either_engine_restores_what_either_has_written() {
    for engine in engines().await {
        fill(&engine).await;
        let before = contents(&engine.database).await;
        let file = backup(&engine.store).await;
        for (name, database, _folder) in databases().await {
            let way = format!("{} to {name}", engine.name);
            let (about, counts) = restore(&database, file.as_slice(), Present::Refuse).await.unwrap();
            assert_eq!((about.engine.as_str(), about.taken_at), (engine.name, NOON), "{way}");
            let after = contents(&database).await;
            for (table, rows) in &before {
                if NOT_KEPT.contains(&table.as_str()) {
                    assert!(after[table].1.is_empty(), "{way}: {table}");
                    continue;
                }
                assert!(!rows.1.is_empty(), "the test puts something into {table}");
                assert_eq!(&after[table], rows, "{way}: {table}");
                assert_eq!(counts[table], u64::try_from(rows.1.len()).unwrap(), "{way}: {table}");
            }
            let noon = Clock::Manual(Arc::new(AtomicI64::new(NOON)));
            let store = Store::open(&database, noon).await.unwrap();
            assert_eq!(store.imbalances().await.unwrap(), [], "{way}");
            // What comes next is numbered after what came before.
            let partner = payer("owner-b@example.com", None);
            store.turn(settle(&partner, "n", "2026-11", &[("m3", SettleOutcome::Billable)], &[])).await.unwrap();
            let waiting = store.events(&partner.id).await.unwrap().into_iter().map(|event| event.entry.hash);
            assert_eq!(waiting.collect::<Vec<_>>(), ["m2", "m3"], "{way}");
            let again =
                store.turn(reserve(&payer("owner-a@example.com", Some(1_000)), "z", &["h00001"])).await.unwrap();
            assert_eq!(super::engines::told(&again), "repeat", "{way}");
        }
    }
}

#[tokio::test]
async fn a_database_in_use_or_with_rows_is_left_alone() {
    let engines = engines().await;
    fill(&engines[0]).await;
    let file = backup(&engines[0].store).await;
    for engine in &engines {
        let refused = restore(&engine.database, file.as_slice(), Present::Delete).await.unwrap_err();
        assert!(matches!(refused, BackupError::InUse), "{}: {refused}", engine.name);
    }
    for (name, database, _folder) in databases().await {
        restore(&database, file.as_slice(), Present::Refuse).await.unwrap();
        let before = contents(&database).await;
        let refused = restore(&database, file.as_slice(), Present::Refuse).await.unwrap_err();
        assert!(matches!(refused, BackupError::Occupied), "{name}: {refused}");
        assert_eq!(contents(&database).await, before, "{name}");
        restore(&database, file.as_slice(), Present::Delete).await.unwrap();
        assert_eq!(contents(&database).await, before, "{name}: the same again");
    }
}

#[tokio::test]
async fn what_is_no_whole_backup_changes_nothing() {
    let engines = engines().await;
    fill(&engines[0]).await;
    let file = backup(&engines[0].store).await;
    let text = unpacked(&file);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let without = |gone: usize| packed(&[&lines[..gone], &lines[gone + 1..]].concat().concat());
    let tail = lines.len() - 1;
    let refused: [(&str, Vec<u8>); 14] = [
        ("no backup", Vec::new()),
        ("no backup", b"SQLite format 3\0 and so on".to_vec()),
        ("no backup", packed("{\"hello\":1}\n")),
        ("no backup", file[..40].to_vec()),
        ("newer", packed(&text.replacen("\"taxon_backup\":1", "\"taxon_backup\":2", 1))),
        ("newer", packed(&text.replacen("\"email\"", "\"colour\"", 1))),
        ("newer", packed(&text.replacen("\"table\":\"keys\"", "\"table\":\"locks\"", 1))),
        ("damaged", packed(&text.replacen("h00001", "h99999", 1))),
        ("damaged", packed(&text.replacen("$argon2id$hash", "$argon2id$other", 1))),
        ("damaged", without(lines.len() / 2)),
        ("damaged", without(tail)),
        ("damaged", packed(&format!("{text}{}", lines[5]))),
        ("damaged", file[..file.len() - 4].to_vec()),
        ("damaged", file[..file.len() / 2].to_vec()),
    ];
    for (name, database, _folder) in databases().await {
        let check = async |present: Present, before: &Contents| {
            for (at, (why, bytes)) in refused.iter().enumerate() {
                let said = restore(&database, bytes.as_slice(), present).await.unwrap_err().to_string();
                assert!(said.contains(why), "{name}, {at}: {said}");
                assert_eq!(&contents(&database).await, before, "{name}, {at}");
            }
        };
        Store::open(&database, Clock::System).await.unwrap();
        let empty = contents(&database).await;
        check(Present::Refuse, &empty).await;
        restore(&database, file.as_slice(), Present::Refuse).await.unwrap();
        let full = contents(&database).await;
        check(Present::Delete, &full).await;
    }
}
