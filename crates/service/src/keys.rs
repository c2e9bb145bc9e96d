//! API keys: made, stored as hashes, checked on every call. A key is shown once and never stored.

use std::path::Path;
use std::time::Duration;

use rand::Rng;
use rand::distr::{Alphanumeric, SampleString};
use sha2::{Digest, Sha256};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Row, SqlitePool};

const ID_CHARS: usize = 8;
const SECRET_CHARS: usize = 32;
const PREFIX: &str = "txn_";
/// `txn_` + 8 + `_` + 32.
const KEY_CHARS: usize = PREFIX.len() + ID_CHARS + 1 + SECRET_CHARS;
const EMAIL_BYTES_MAX: usize = 254;
const NAME_BYTES_MAX: usize = 200;
const CONNECTIONS_MAX: u32 = 8;
const BUSY_SECONDS_MAX: u64 = 5;
const MIGRATION_TRIES_MAX: usize = 4;
const MIGRATION_PAUSE_MILLIS: u64 = 150;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Tier {
    Dev,
    Pro,
    Platform,
    Enterprise,
    Partner,
}

impl Tier {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Pro => "pro",
            Self::Platform => "platform",
            Self::Enterprise => "enterprise",
            Self::Partner => "partner",
        }
    }
}

/// A key's text, split and checked; anything else is not a key.
struct Presented<'a> {
    id: &'a str,
    whole: &'a str,
}

fn parse(text: &str) -> Option<Presented<'_>> {
    if text.len() != KEY_CHARS {
        return None;
    }
    let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
    let is_base62 = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (id.len() == ID_CHARS && is_base62(id) && is_base62(secret)).then_some(Presented { id, whole: text })
}

fn hash(key: &str) -> Vec<u8> {
    Sha256::digest(key.as_bytes()).to_vec()
}

#[derive(Debug, Clone)]
pub(crate) struct Listed {
    pub(crate) id: String,
    pub(crate) owner: String,
    pub(crate) name: String,
    pub(crate) tier: String,
    pub(crate) created_at: i64,
    pub(crate) revoked_at: Option<i64>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum KeyError {
    #[error("`{0}` is not an e-mail address")]
    Email(String),
    #[error("a name has at most {NAME_BYTES_MAX} bytes and no control characters")]
    Name,
    #[error("no key is called `{0}`")]
    Unknown(String),
    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),
    #[error("the database could not be brought up to date: {0}")]
    Migration(#[from] sqlx::migrate::MigrateError),
}

#[derive(Debug, Clone)]
pub(crate) struct Keys {
    pool: SqlitePool,
}

impl Keys {
    /// Opens or makes the database and brings it up to date. Several processes may do so at once.
    pub(crate) async fn open(path: &Path) -> Result<Self, KeyError> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(Duration::from_secs(BUSY_SECONDS_MAX));
        let pool = SqlitePoolOptions::new().max_connections(CONNECTIONS_MAX).connect_with(options).await?;
        migrate(&pool).await?;
        Ok(Self { pool })
    }

    pub(crate) async fn create(
        &self,
        email: &str,
        tier: Tier,
        name: &str,
        pool: Option<i64>,
        now: i64,
    ) -> Result<String, KeyError> {
        if !is_email(email) {
            return Err(KeyError::Email(email.chars().filter(|c| !c.is_control()).take(80).collect()));
        }
        if name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
            return Err(KeyError::Name);
        }
        let id = Alphanumeric.sample_string(&mut rand::rng(), ID_CHARS);
        let key = format!("{PREFIX}{id}_{}", Alphanumeric.sample_string(&mut rand::rng(), SECRET_CHARS));
        let mut transaction = self.pool.begin().await?;
        let fresh_owner = format!("{:032x}", rand::rng().random::<u128>());
        sqlx::query("INSERT INTO owners (id, email, created_at) VALUES (?, ?, ?) ON CONFLICT (email) DO NOTHING")
            .bind(fresh_owner)
            .bind(email.to_lowercase())
            .bind(now)
            .execute(&mut *transaction)
            .await?;
        sqlx::query(
            "INSERT INTO keys (id, owner_id, hash, name, tier, pool, created_at)
             SELECT ?, id, ?, ?, ?, ?, ? FROM owners WHERE email = ?",
        )
        .bind(&id)
        .bind(hash(&key))
        .bind(name)
        .bind(tier.name())
        .bind(pool)
        .bind(now)
        .bind(email.to_lowercase())
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(key)
    }

    /// Whether the presented text is a key that stands.
    pub(crate) async fn stands(&self, presented: &str) -> Result<bool, KeyError> {
        let Some(key) = parse(presented) else { return Ok(false) };
        let row = sqlx::query("SELECT hash FROM keys WHERE id = ? AND revoked_at IS NULL")
            .bind(key.id)
            .fetch_optional(&self.pool)
            .await?;
        let Some(row) = row else { return Ok(false) };
        let stored: Vec<u8> = row.try_get("hash")?;
        Ok(stored == hash(key.whole))
    }

    pub(crate) async fn list(&self) -> Result<Vec<Listed>, KeyError> {
        let rows = sqlx::query(
            "SELECT keys.id, owners.email, keys.name, keys.tier, keys.created_at, keys.revoked_at
             FROM keys JOIN owners ON owners.id = keys.owner_id ORDER BY keys.created_at, keys.id",
        )
        .fetch_all(&self.pool)
        .await?;
        let listed = |row: &sqlx::sqlite::SqliteRow| {
            Ok(Listed {
                id: row.try_get("id")?,
                owner: row.try_get("email")?,
                name: row.try_get("name")?,
                tier: row.try_get("tier")?,
                created_at: row.try_get("created_at")?,
                revoked_at: row.try_get("revoked_at")?,
            })
        };
        rows.iter().map(listed).collect()
    }

    /// By the 8 characters that name it, or by the key itself.
    pub(crate) async fn revoke(&self, id_or_key: &str, now: i64) -> Result<String, KeyError> {
        let id = parse(id_or_key).map_or(id_or_key, |key| key.id);
        let done = sqlx::query("UPDATE keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?")
            .bind(now)
            .bind(id)
            .execute(&self.pool)
            .await?;
        if done.rows_affected() == 0 {
            // What was typed may be a secret that is not quite a key.
            return Err(KeyError::Unknown(id.chars().take(ID_CHARS).collect()));
        }
        Ok(id.to_owned())
    }

    pub(crate) async fn answers(&self) -> bool {
        sqlx::query("SELECT 1").execute(&self.pool).await.is_ok()
    }
}

/// SQLite has no lock around migrations: of two processes that start at once, one finds the other's work half done and
/// looks again.
async fn migrate(pool: &SqlitePool) -> Result<(), KeyError> {
    let migrator = sqlx::migrate!("../../migrations/sqlite");
    for _ in 1..MIGRATION_TRIES_MAX {
        if migrator.run(pool).await.is_ok() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(MIGRATION_PAUSE_MILLIS)).await;
    }
    Ok(migrator.run(pool).await?)
}

fn is_email(text: &str) -> bool {
    let parts = text.split_once('@');
    let is_plain = text.chars().all(|c| !c.is_control() && !c.is_whitespace());
    text.len() <= EMAIL_BYTES_MAX
        && is_plain
        && parts.is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty() && !domain.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_shape_is_a_key() {
        let good = format!("txn_{}_{}", "a1B2c3D4", "x".repeat(32));
        assert!(parse(&good).is_some());
        let long = "x".repeat(10_000_000);
        for bad in
            ["", "txn_", &good[1..], &format!("{good}x"), &good.replace("_x", "-x"), &good.replace('a', "\0"), &long]
        {
            assert!(parse(bad).is_none());
        }
    }

    #[tokio::test]
    async fn a_key_stands_until_it_is_revoked() {
        let folder = std::env::temp_dir().join(format!("taxon-keys-{:x}", rand::random::<u64>()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("taxon.db");
        let (keys, beside) = tokio::join!(Keys::open(&path), Keys::open(&path));
        let keys = keys.unwrap();
        assert!(beside.unwrap().answers().await, "two processes may start at once");
        let key = keys.create("a@example.com", Tier::Dev, "", None, 1).await.unwrap();
        let other = keys.create("A@example.com", Tier::Dev, "second", None, 2).await.unwrap();
        assert!(keys.stands(&key).await.unwrap() && keys.stands(&other).await.unwrap());
        let forged = format!("{}{}", &key[..13], "0".repeat(32));
        assert!(!keys.stands(&forged).await.unwrap());
        keys.revoke(&key[4..12], 3).await.unwrap();
        assert!(!keys.stands(&key).await.unwrap() && keys.stands(&other).await.unwrap());
        let listed = keys.list().await.unwrap();
        assert_eq!(listed.iter().map(|key| key.owner.as_str()).collect::<Vec<_>>(), ["a@example.com"; 2]);
        assert!(matches!(keys.create("nobody", Tier::Dev, "", None, 4).await, Err(KeyError::Email(_))));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
