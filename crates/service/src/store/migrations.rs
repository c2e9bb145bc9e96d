//! The migrations, embedded in the binary. sqlx's `migrate!` embeds a folder too, but as a macro of sqlx it makes the compiler compile
//! all of sqlx for itself; a list of files needs none of that, and a test compares the list with the folders.

use std::borrow::Cow;

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// Version, description, statements. A database keeps the description and a checksum of the statements, so a file never changes.
type MigrationFile = (i64, &'static str, &'static str);

const SQLITE: [MigrationFile; 10] = [
    (1, "keys", include_str!("../../../../migrations/sqlite/0001_keys.sql")),
    (2, "ledger", include_str!("../../../../migrations/sqlite/0002_ledger.sql")),
    (3, "accounts", include_str!("../../../../migrations/sqlite/0003_accounts.sql")),
    (4, "cache", include_str!("../../../../migrations/sqlite/0004_cache.sql")),
    (5, "proof", include_str!("../../../../migrations/sqlite/0005_proof.sql")),
    (6, "jobs", include_str!("../../../../migrations/sqlite/0006_jobs.sql")),
    (7, "webhooks", include_str!("../../../../migrations/sqlite/0007_webhooks.sql")),
    (8, "books", include_str!("../../../../migrations/sqlite/0008_books.sql")),
    (9, "listing", include_str!("../../../../migrations/sqlite/0009_listing.sql")),
    (10, "dates", include_str!("../../../../migrations/sqlite/0010_dates.sql")),
];

const POSTGRES: [MigrationFile; 10] = [
    (1, "keys", include_str!("../../../../migrations/postgres/0001_keys.sql")),
    (2, "ledger", include_str!("../../../../migrations/postgres/0002_ledger.sql")),
    (3, "accounts", include_str!("../../../../migrations/postgres/0003_accounts.sql")),
    (4, "cache", include_str!("../../../../migrations/postgres/0004_cache.sql")),
    (5, "proof", include_str!("../../../../migrations/postgres/0005_proof.sql")),
    (6, "jobs", include_str!("../../../../migrations/postgres/0006_jobs.sql")),
    (7, "webhooks", include_str!("../../../../migrations/postgres/0007_webhooks.sql")),
    (8, "books", include_str!("../../../../migrations/postgres/0008_books.sql")),
    (9, "listing", include_str!("../../../../migrations/postgres/0009_listing.sql")),
    (10, "dates", include_str!("../../../../migrations/postgres/0010_dates.sql")),
];

pub(super) fn sqlite() -> Migrator {
    migrator(&SQLITE)
}

pub(super) fn postgres() -> Migrator {
    migrator(&POSTGRES)
}

fn migrator(files: &[MigrationFile]) -> Migrator {
    let migration = |&(version, description, statements): &MigrationFile| {
        // Each runs in one transaction.
        let outside_transaction = false;
        let kind = MigrationType::Simple;
        Migration::new(version, Cow::Borrowed(description), kind, statements.into_sql_str(), outside_transaction)
    };
    Migrator::with_migrations(files.iter().map(migration).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    type Told = (i64, String, String, Vec<u8>, bool);

    fn told(migrator: &Migrator) -> Vec<Told> {
        let told = |migration: &Migration| {
            assert!(matches!(migration.migration_type, MigrationType::Simple));
            let (description, statements) = (migration.description.to_string(), migration.sql.as_str().to_owned());
            (migration.version, description, statements, migration.checksum.to_vec(), migration.no_tx)
        };
        migrator.iter().map(told).collect()
    }

    /// sqlx's own reading of the folders is what `migrate!` embeds.
    #[tokio::test]
    async fn the_lists_hold_every_file_of_their_folders() {
        for (folder, embedded) in [("sqlite", sqlite()), ("postgres", postgres())] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations").join(folder);
            let read = Migrator::new(path).await.unwrap();
            assert_eq!(told(&embedded), told(&read), "{folder}");
        }
    }
}
