//! `taxon backup` and `taxon restore` as an operator uses them: beside a service under load, from either database into either.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::crash::books::{Books, Load, caller, single};
use super::crash::within;
use super::harness::{Postgres, Setup, free_port};

const BUSY: Duration = Duration::from_secs(60);

fn on(postgres: &Postgres) -> Setup {
    Setup::demo().with("TAXON_DATABASE_URL", &postgres.url)
}

/// What a command says when it fails.
fn refused(setup: &Setup, arguments: &[&str]) -> String {
    let output = setup.output(arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
    said
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}

/// A backup under load is of one moment; a later one has all that callers were told, and on either database the old key goes on
/// where it was.
async fn moves(from: Setup, targets: [&Setup; 2]) {
    let taxon = from.start().await;
    let books = Books::open(&taxon).await;
    let (owner, key) = caller(&from, "regular", 30);
    let load = Load::start(&books, &[&taxon.url], &[(owner.clone(), key.clone()), caller(&from, "large", 1_000)]);
    within(BUSY, async || books.answers() > 10).await;
    let files = tempfile::tempdir().unwrap();
    let early = path(files.path(), "early.taxon");
    assert!(from.run(&["backup", &early]).starts_with("Wrote "));
    let enough = books.answers() + 30;
    within(BUSY, async || books.answers() > enough).await;
    drop(load);
    assert_eq!(taxon.stop().await, Some(0));
    let late = path(files.path(), "late.taxon");
    from.run(&["backup", &late]);
    assert_eq!(std::fs::metadata(&late).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(refused(&from, &["backup", &late]).contains("there already"));
    let (used, rows) = (from.run(&["ledger", "export"]), from.run(&["keys", "list"]));

    for target in targets {
        target.run(&["restore", &early]);
        assert_eq!(target.run(&["ledger", "check"]), "The books balance.\n");
        assert!(refused(target, &["restore", &late]).contains("holds rows already"));
        assert!(refused(target, &["restore", "--force", &late]).contains("--yes"), "nobody is there to be asked");
        target.run(&["restore", "--force", "--yes", &late]);
        assert_eq!((target.run(&["ledger", "export"]), target.run(&["keys", "list"])), (used.clone(), rows.clone()));
        let paid = books.check(target);
        let taxon = target.start_on(free_port(), key.clone()).await;
        let quota = taxon.quota(&key).await;
        assert_eq!((&quota["used"], &quota["limit"]), (&json!(paid[&owner]), &json!(30)));
        for row in used.lines().filter(|row| row.contains(&owner)).take(5) {
            let row: serde_json::Value = serde_json::from_str(row).unwrap();
            assert_eq!(taxon.post("/v1/classify", &single(row["hash"].as_str().unwrap())).await.status, 200);
        }
        assert_eq!(taxon.quota(&key).await["used"], quota["used"], "repeats stay repeats");
        let in_use = refused(target, &["restore", "--force", "--yes", &late]);
        assert!(in_use.contains("another taxon uses the database"), "{in_use}");
        assert_eq!(taxon.quota(&key).await["used"], quota["used"], "and nothing has changed");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_sqlite_to_either_database() {
    let postgres = Postgres::start();
    moves(Setup::demo(), [&Setup::demo(), &on(&postgres)]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_postgres_to_either_database() {
    let (here, there) = (Postgres::start(), Postgres::start());
    moves(on(&here), [&on(&there), &Setup::demo()]).await;
}

#[tokio::test]
async fn a_backup_may_be_a_stream_and_a_file_that_is_none_is_refused() {
    let (from, to) = (Setup::demo(), Setup::demo());
    let key = from.key("a@example.com", "dev", &[]);
    let streamed = from.output(&["backup", "-"]);
    assert!(streamed.status.success() && streamed.stdout.starts_with(&[0x1f, 0x8b]));
    assert!(!String::from_utf8_lossy(&streamed.stdout).contains(&key));
    let file = path(from.data.path(), "streamed");
    std::fs::write(&file, &streamed.stdout).unwrap();
    std::fs::write(path(from.data.path(), "half"), &streamed.stdout[..streamed.stdout.len() / 2]).unwrap();
    let longer = [streamed.stdout.as_slice(), b"more"].concat();
    std::fs::write(path(from.data.path(), "longer"), longer).unwrap();
    let twice = streamed.stdout.repeat(2);
    std::fs::write(path(from.data.path(), "twice"), twice).unwrap();
    for (name, why) in [
        ("half", "damaged"),
        ("longer", "damaged"),
        ("twice", "damaged"),
        ("taxon.db", "no backup"),
        ("nowhere", "cannot be read"),
    ] {
        let said = refused(&to, &["restore", &path(from.data.path(), name)]);
        assert!(said.contains(why), "{name}: {said}");
        assert!(!to.run(&["keys", "list"]).contains("a@example.com"));
    }
    assert!(to.run(&["restore", &file]).contains("1 owners, 1 keys"));
    let taxon = to.start_on(free_port(), key).await;
    assert_eq!(taxon.post("/v1/classify", &json!({})).await.status, 400, "the key is valid");
    assert!(refused(&from, &["backup", "/nowhere/at/all"]).contains("cannot be written"));
}

#[tokio::test]
async fn files_of_the_database_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let taxon = Setup::demo().around("umask 000; exec \"$@\"").start_on(free_port(), String::new()).await;
    let key = taxon.setup.key("a@example.com", "dev", &[]);
    assert_eq!(taxon.post_as(&key, "/v1/classify", &json!({})).await.status, 400);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(taxon.setup.data.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode();
        names.push(entry.file_name().into_string().unwrap());
        assert_eq!(mode & 0o777, 0o600, "{names:?}: {mode:o}");
    }
    assert!(
        ["taxon.db", "taxon.db-wal", "taxon.cache.db"].iter().all(|name| names.iter().any(|is| is == name)),
        "{names:?}"
    );
}
