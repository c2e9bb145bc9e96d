//! Several instances on one PostgreSQL act as one service, and live through its absence.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection, SqliteConnection};

use super::crash::books::{Books, Caller, Load, caller, single};
use super::crash::{within, within_since};
use super::harness::{Postgres, Setup, Taxon, demo_scenario, free_port};

/// After this long without its database the service has said so, and after this long with it again it serves.
const NOTICED: Duration = Duration::from_secs(8);
const BUSY: Duration = Duration::from_secs(30);
/// Calls in flight: several for each instance, and fewer than it has connections to the database. More would wait for a connection, and on a slow
/// machine be told, rightly, that the database is down.
const AT_ONCE: usize = 24;

/// On a real server, with a password in its address. What the instances complain of is kept beside their data.
fn shared(postgres: &Postgres) -> Setup {
    let url = postgres.url.replace("taxon@", "taxon:hunter2@");
    Setup::demo().with("TAXON_DATABASE_URL", &url).around("exec \"$@\" 2>>complaints.txt")
}

async fn three(setup: &Setup) -> [Taxon; 3] {
    let one = || setup.start_on(free_port(), String::new());
    let (a, b, c) = tokio::join!(one(), one(), one());
    [a, b, c]
}

/// A call for the first transaction of the demo chain.
fn first() -> Value {
    single(&demo_scenario().transactions[0].hash)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_instances_share_one_pool() {
    let postgres = Postgres::start();
    let setup = shared(&postgres);
    let instances = three(&setup).await;
    let books = Books::open(&instances[0]).await;
    let (owner, key) = caller(&setup, "shared", 25);
    let calls = books.billable.iter().enumerate().map(async |(at, hash)| {
        let answer = instances[at % 3].post_as(&key, "/v1/classify", &single(hash)).await;
        books.hear(&owner, &answer);
        answer.status
    });
    let statuses: Vec<_> = stream::iter(calls).buffer_unordered(AT_ONCE).collect().await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 25);
    assert_eq!(statuses.iter().filter(|status| **status == 402).count(), books.billable.len() - 25);
    assert_eq!(books.check(&setup)[&owner], 25);
    for instance in &instances {
        let quota = instance.quota(&key).await;
        assert_eq!((&quota["used"], &quota["limit"], &quota["exceeded"]), (&json!(25), &json!(25), &json!(true)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_instances_share_one_rate_limit() {
    let postgres = Postgres::start();
    let setup = shared(&postgres).with("TAXON_RATE_PER_MINUTE", "60");
    let instances = three(&setup).await;
    let (_, key) = caller(&setup, "hasty", 1_000);
    let start = Instant::now();
    let body = first();
    let calls = (0..150).map(|at| instances[at % 3].post_as(&key, "/v1/classify", &body));
    let answers: Vec<_> = stream::iter(calls).buffer_unordered(AT_ONCE).collect().await;
    assert!(start.elapsed() < Duration::from_secs(50), "the window has not moved on");
    let (within, late): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    for late in late {
        assert_eq!((late.status, late.code()), (429, "rate_limited"), "{}", late.body);
        let wait: u64 = late.headers["retry-after"].parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
    }
    assert_eq!(within.len(), 60);
}

#[tokio::test]
async fn a_key_is_known_and_revoked_everywhere_within_a_second() {
    let postgres = Postgres::start();
    let setup = shared(&postgres);
    let instances = three(&setup).await;
    let (_, key) = caller(&setup, "brief", 10);
    for instance in &instances {
        assert_eq!(instance.post_as(&key, "/v1/classify", &first()).await.status, 200);
    }
    setup.run(&["keys", "revoke", &key]);
    let revoked_at = Instant::now();
    for instance in &instances {
        let is_refused = async || instance.post_as(&key, "/v1/classify", &first()).await.status == 401;
        within_since(revoked_at, Duration::from_secs(1), is_refused).await;
    }
}

async fn status_and_code(taxon: &Taxon, (_, key): &Caller, hash: &str) -> (u16, String) {
    let answer = taxon.post_as(key, "/v1/classify", &single(hash)).await;
    (answer.status, answer.body["error"]["code"].as_str().unwrap_or_default().to_owned())
}

/// The database goes away under load and comes back; the service says so, and goes on without being started again.
async fn outage(away: impl Fn(&Postgres)) {
    let postgres = Postgres::start();
    let setup = shared(&postgres);
    let taxon = setup.start_on(free_port(), String::new()).await;
    let books = Books::open(&taxon).await;
    let (regular, tight) = (caller(&setup, "regular", 1_000), caller(&setup, "tight", 20));
    let load = Load::start(&books, &[&taxon.url], &[regular.clone(), tight]);
    within(BUSY, async || books.answers() > 20).await;

    away(&postgres);
    let hash = &books.billable[0];
    let internal = (500, "internal_error".to_owned());
    within(NOTICED, async || status_and_code(&taxon, &regular, hash).await == internal).await;
    let asked_at = Instant::now();
    let quota = taxon.raw(reqwest::Method::GET, "/quota-status").bearer_auth(&regular.1).send().await.unwrap();
    assert_eq!(quota.status(), 503);
    assert_eq!(quota.text().await.unwrap(), r#"{"error":"quota_status_unavailable"}"#);
    assert!(asked_at.elapsed() < NOTICED, "{:?}", asked_at.elapsed());
    assert_eq!(taxon.get("/quota-status").await.status, 503, "without a key too");
    assert_eq!(taxon.get("/readyz").await.status, 503);
    assert_eq!(taxon.get("/healthz").await.status, 200);
    assert_eq!(status_and_code(&taxon, &regular, hash).await, internal);

    postgres.start_again();
    within(NOTICED, async || taxon.get("/readyz").await.status == 200).await;
    assert_eq!(status_and_code(&taxon, &regular, hash).await.0, 200);
    let newcomer = caller(&setup, "newcomer", 1_000);
    let more = Load::start(&books, &[&taxon.url], std::slice::from_ref(&newcomer));
    let enough = books.answers() + 50;
    within(BUSY, async || books.answers() > enough).await;
    drop((load, more));

    let paid = books.check(&setup);
    assert!(paid["tight@example.com"] <= 20 && paid.contains_key(&newcomer.0), "{paid:?}");
    let refusals: BTreeSet<_> = books.refusals().into_iter().collect();
    assert!(refusals.is_subset(&[internal, (402, "quota_exceeded".to_owned())].into()), "{refusals:?}");
    let complaints = std::fs::read_to_string(setup.data.path().join("complaints.txt")).unwrap();
    assert!(complaints.contains("out of reach") && !complaints.contains("hunter2"), "{complaints}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_restarted_costs_no_row_and_no_restart() {
    outage(Postgres::stop).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_crashes_costs_no_row_and_no_restart() {
    outage(Postgres::kill).await;
}

/// A server that hangs says nothing at all: callers are told all the same, and nobody waits for ever.
#[tokio::test]
async fn a_database_that_hangs_is_given_up() {
    let postgres = Postgres::start();
    let setup = shared(&postgres);
    let taxon = setup.start_on(free_port(), String::new()).await;
    let (_, key) = caller(&setup, "patient", 10);
    assert_eq!(taxon.post_as(&key, "/v1/classify", &first()).await.status, 200);
    postgres.signal("STOP");
    let asked_at = Instant::now();
    assert_eq!(taxon.get("/quota-status").await.status, 503);
    assert!(asked_at.elapsed() < Duration::from_secs(20), "{:?}", asked_at.elapsed());
    postgres.signal("CONT");
    within(NOTICED, async || taxon.post_as(&key, "/v1/classify", &first()).await.status == 200).await;
}

#[tokio::test]
async fn two_instances_may_make_the_database_at_the_same_moment() {
    let postgres = Postgres::start();
    for setup in [shared(&postgres), Setup::demo()] {
        let one = || setup.start_on(free_port(), String::new());
        let (a, b) = tokio::join!(one(), one());
        let (_, key) = caller(&setup, "early", 10);
        for taxon in [a, b] {
            assert_eq!(taxon.get("/readyz").await.status, 200);
            assert_eq!(taxon.post_as(&key, "/v1/classify", &first()).await.status, 200);
        }
    }
}

/// As a later version of taxon would have left it behind.
const LATER: &str = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                     VALUES (9999, 'later', TRUE, 'later', 1)";

#[tokio::test]
async fn a_database_of_a_later_version_is_refused() {
    let postgres = Postgres::start();
    let (on_postgres, on_sqlite) = (shared(&postgres), Setup::demo());
    for setup in [&on_postgres, &on_sqlite] {
        setup.run(&["migrate"]);
    }
    let mut connection = PgConnection::connect(&postgres.url).await.unwrap();
    sqlx::query(LATER).execute(&mut connection).await.unwrap();
    let file = format!("sqlite:{}", on_sqlite.data.path().join("taxon.db").display());
    let mut connection = SqliteConnection::connect(&file).await.unwrap();
    sqlx::query(LATER).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();

    for setup in [on_postgres, on_sqlite] {
        for arguments in [&["serve", "--demo"][..], &["keys", "list"], &["migrate"]] {
            let output = setup.output(arguments);
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{said}");
            assert!(said.contains("version 9999") && said.contains("newer taxon"), "{said}");
        }
    }
}

#[test]
fn the_databases_address_is_printed_nowhere() {
    let addresses = [
        "postgres://taxon:hunter2@127.0.0.1:9/nowhere",
        "postgres://taxon:hunter2@no-such-host.invalid/nowhere",
        "postgres://taxon:hunter2@127.0.0.1:port/nowhere",
        "mysql://taxon:hunter2@127.0.0.1/nowhere",
    ];
    for address in addresses {
        let setup = Setup::demo().with("TAXON_DATABASE_URL", address).with("TAXON_LOG", "debug");
        for arguments in [&["config"][..], &["migrate"], &["serve"]] {
            let output = setup.output(arguments);
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8(said).unwrap();
            assert!(!said.is_empty() && !said.contains("hunter2"), "{arguments:?} {address}: {said}");
            let is_fine = arguments == ["config"] && address.starts_with("postgres");
            assert_eq!(output.status.code(), Some(i32::from(!is_fine)), "{arguments:?} {address}: {said}");
        }
    }
}
