//! Owners and their keys.

use taxon::store::{Billing, Clock, Database, Key, NewKey, Store};

use super::engines::{NOON, engines};

fn new(id: &str, email: &str, billing: Billing) -> NewKey {
    NewKey {
        id: id.to_owned(),
        hash: format!("hash of {id}").into_bytes(),
        email: email.to_owned(),
        name: String::new(),
        owner_id: format!("owner of {id}"),
        billing,
    }
}

fn pool_of(tier: &str, contracted: Option<i64>) -> Billing {
    Billing::Pool { tier: tier.to_owned(), contracted }
}

async fn key(store: &Store, id: &str) -> Key {
    store.key(id).await.unwrap().unwrap()
}

#[tokio::test]
async fn keys_of_one_owner_share_its_tier_and_pool() {
    for engine in engines().await {
        let store = &engine.store;
        store.create_key(&new("aaaaaaaa", "a@example.com", pool_of("dev", None))).await.unwrap();
        store.create_key(&new("pppppppp", "a@example.com", Billing::Metered)).await.unwrap();
        assert_eq!(key(store, "aaaaaaaa").await.billing, pool_of("dev", None), "a metered key leaves the pool alone");
        store.create_key(&new("bbbbbbbb", "a@example.com", pool_of("enterprise", Some(3)))).await.unwrap();
        store.create_key(&new("cccccccc", "c@example.com", pool_of("pro", None))).await.unwrap();
        for id in ["aaaaaaaa", "bbbbbbbb"] {
            let key = key(store, id).await;
            assert_eq!((key.owner_id.as_str(), &key.billing), ("owner of aaaaaaaa", &pool_of("enterprise", Some(3))));
        }
        assert_eq!(key(store, "pppppppp").await.billing, Billing::Metered);
        assert_eq!(key(store, "cccccccc").await.owner_id, "owner of cccccccc");
        assert_eq!(store.keys().await.unwrap().len(), 4, "{}", engine.name);
    }
}

#[tokio::test]
async fn keys_are_renamed_used_and_revoked_once() {
    for engine in engines().await {
        let store = &engine.store;
        store.create_key(&new("aaaaaaaa", "a@example.com", pool_of("dev", None))).await.unwrap();
        let name = "<b>'); DROP TABLE keys; --</b> \u{202e}";
        assert!(store.rename_key("aaaaaaaa", name).await.unwrap());
        store.touch_keys(&[("aaaaaaaa".to_owned(), NOON), ("gone".to_owned(), NOON)]).await.unwrap();
        store.touch_keys(&[("aaaaaaaa".to_owned(), NOON - 5_000)]).await.unwrap();
        let used = key(store, "aaaaaaaa").await;
        assert_eq!((used.name.as_str(), used.last_used_at), (name, Some(NOON / 1000)), "{}", engine.name);
        assert!(store.revoke_key("aaaaaaaa").await.unwrap());
        engine.set_clock(NOON + 60_000);
        assert!(store.revoke_key("aaaaaaaa").await.unwrap());
        let beside = engine.beside().await;
        assert_eq!(key(&beside, "aaaaaaaa").await.revoked_at, Some(NOON / 1000), "the first time is kept");
        assert!(!store.revoke_key("nobody").await.unwrap() && !store.rename_key("nobody", "x").await.unwrap());
        assert!(store.key("'; --").await.unwrap().is_none());
    }
}

/// Both find the migrations half done or done, whichever comes first.
#[tokio::test(flavor = "multi_thread")]
async fn several_processes_may_start_at_once() {
    for engine in engines().await {
        let opened = (0..6).map(|_| {
            let database = engine.database.clone();
            tokio::spawn(async move { Store::open(&database, Clock::System).await.unwrap().answers().await })
        });
        for store in opened.collect::<Vec<_>>() {
            assert!(store.await.unwrap(), "{}", engine.name);
        }
    }
}

#[tokio::test]
async fn a_database_of_a_newer_taxon_is_refused() {
    for engine in engines().await {
        let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                     VALUES (9999, 'later', true, 'x', 0)";
        engine.sql(newer).await.unwrap();
        let refused = Store::open(&engine.database, Clock::System).await.unwrap_err().to_string();
        assert_eq!(
            refused, "the database stands at version 9999 and this taxon knows only 10: start the newer taxon again",
            "{}",
            engine.name
        );
    }
}

/// A database of the first version, with keys in it, keeps what its owners have.
#[tokio::test]
async fn the_first_version_is_brought_up_to_date_with_its_keys() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("taxon.db");
    let only_first = folder.path().join("migrations");
    std::fs::create_dir(&only_first).unwrap();
    let first = include_str!("../../../../migrations/sqlite/0001_keys.sql");
    std::fs::write(only_first.join("0001_keys.sql"), first).unwrap();
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path).create_if_missing(true);
    let pool = sqlx::SqlitePool::connect_with(options).await.unwrap();
    sqlx::migrate::Migrator::new(only_first).await.unwrap().run(&pool).await.unwrap();
    let rows = "INSERT INTO owners VALUES ('o1', 'a@example.com', 1), ('o2', 'b@example.com', 1);
                INSERT INTO keys VALUES ('standing', 'o1', x'01', '', 'enterprise', 7, 1, NULL);
                INSERT INTO keys VALUES ('revoked1', 'o1', x'02', '', 'dev', NULL, 2, 3);
                INSERT INTO keys VALUES ('partner1', 'o2', x'03', '', 'partner', NULL, 1, NULL);";
    sqlx::raw_sql(rows).execute(&pool).await.unwrap();
    pool.close().await;
    let store = Store::open(&Database::Sqlite(path), Clock::System).await.unwrap();
    assert_eq!(key(&store, "standing").await.billing, pool_of("enterprise", Some(7)));
    assert_eq!(key(&store, "partner1").await.billing, Billing::Metered);
}
