//! Both engines, each with a clock that the test moves.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use sqlx::{Connection, Executor, PgConnection};
use taxon::store::{Clock, Database, Payer, Resets, SettleOutcome, Settled, Store, Turn, Turned};
use tempfile::TempDir;

/// 2026-11-15T12:00:00Z.
pub const NOON: i64 = 1_794_744_000_000;
pub const SECOND: i64 = 1_000;
pub const DAY: i64 = 86_400 * SECOND;

pub struct Engine {
    pub name: &'static str,
    pub store: Store,
    pub database: Database,
    clock: Arc<AtomicI64>,
    _folder: TempDir,
}

impl Engine {
    pub fn set_clock(&self, millis: i64) {
        self.clock.store(millis, Ordering::SeqCst);
    }

    /// Another process on the same database.
    pub async fn beside(&self) -> Store {
        Store::open(&self.database, Clock::Manual(Arc::clone(&self.clock))).await.unwrap()
    }

    /// What an auditor with SQL would try.
    pub async fn sql(&self, statement: &'static str) -> Result<u64, sqlx::Error> {
        match &self.database {
            Database::Sqlite(path) => {
                let mut file = sqlx::SqliteConnection::connect(&format!("sqlite:{}", path.display())).await?;
                file.execute(statement).await.map(|done| done.rows_affected())
            }
            Database::Postgres(url) => {
                let mut server = PgConnection::connect(url).await?;
                server.execute(statement).await.map(|done| done.rows_affected())
            }
        }
    }
}

/// A PostgreSQL server for this run of the tests. It ends with the process and leaves nothing behind.
async fn server() -> &'static str {
    static URL: tokio::sync::OnceCell<String> = tokio::sync::OnceCell::const_new();
    URL.get_or_init(|| async {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("postgres-{}", std::process::id()));
        let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/postgres");
        let mut start = Command::new(&tool);
        start.args(["start", "--with", &std::process::id().to_string()]).arg(&folder);
        let output = start.output().expect("tools/postgres starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    })
    .await
}

/// A fresh database on each engine.
pub async fn engines() -> Vec<Engine> {
    vec![sqlite().await, postgres().await]
}

/// Databases that nobody has opened yet, with the name of their engine.
pub async fn databases() -> Vec<(&'static str, Database, TempDir)> {
    let folder = tempfile::tempdir().unwrap();
    let file = Database::Sqlite(folder.path().join("taxon.db"));
    vec![("sqlite", file, folder), ("postgres", on_server().await, tempfile::tempdir().unwrap())]
}

async fn on_server() -> Database {
    let server = server().await;
    let name = format!("t{:032x}", rand::random::<u128>());
    let mut admin = PgConnection::connect(server).await.unwrap();
    admin.execute(sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.unwrap();
    Database::Postgres(server.replace("/postgres", &format!("/{name}")))
}

async fn sqlite() -> Engine {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::Sqlite(folder.path().join("taxon.db"));
    open("sqlite", database, folder).await
}

pub async fn postgres() -> Engine {
    open("postgres", on_server().await, tempfile::tempdir().unwrap()).await
}

async fn open(name: &'static str, database: Database, folder: TempDir) -> Engine {
    let clock = Arc::new(AtomicI64::new(NOON));
    let store = Store::open(&database, Clock::Manual(Arc::clone(&clock))).await.unwrap();
    Engine { name, store, database, clock, _folder: folder }
}

pub fn payer(id: &str, limit: Option<i64>) -> Payer {
    Payer { id: id.to_owned(), resets: Resets::Monthly, limit }
}

/// A first turn: nothing to settle yet.
pub fn reserve(payer: &Payer, call: &str, hashes: &[&str]) -> Turn {
    Turn {
        payer: payer.clone(),
        period: None,
        call_id: call.to_owned(),
        key_id: "key00001".to_owned(),
        request_id: format!("request-{call}"),
        has_sink: true,
        settled: Vec::new(),
        wanted: hashes.iter().map(|hash| (*hash).to_owned()).collect(),
    }
}

/// A later turn of the same call.
pub fn settle(payer: &Payer, call: &str, period: &str, outcomes: &[(&str, SettleOutcome)], wanted: &[&str]) -> Turn {
    let settled = outcomes.iter().map(|(hash, outcome)| Settled {
        hash: (*hash).to_owned(),
        outcome: *outcome,
        category: if *outcome == SettleOutcome::Free { "transfer" } else { "swap" }.to_owned(),
        chain: "demo".to_owned(),
    });
    Turn { period: Some(period.to_owned()), settled: settled.collect(), ..reserve(payer, call, wanted) }
}

/// As `h1 held, h2 repeat | h3 billed`: what was wanted, and what was settled.
pub fn told(turned: &Turned) -> String {
    let words = |list: Vec<String>| list.join(" ").to_lowercase();
    let granted = words(turned.granted.iter().map(|grant| format!("{grant:?}")).collect());
    let posted = words(turned.posted.iter().map(|posted| format!("{posted:?}")).collect());
    if posted.is_empty() { granted } else { format!("{posted} | {granted}").trim_end_matches(" | ").to_owned() }
}
