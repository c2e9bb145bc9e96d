//! Tables in and out of a store that speaks S3, and what pyarrow and DuckDB read of them.

use std::process::Command;

use serde_json::{Value, json};

use super::demo_table;
use super::servers::Server;
use crate::harness::{Running, Setup, free_port, root, wait_for};

fn python(name: &str) -> Command {
    let program = root().join("target/lake/venv/bin").join(name);
    assert!(program.exists(), "{} is missing: run tests/lake/install", program.display());
    Command::new(program)
}

#[tokio::test]
async fn tables_go_in_and_out_of_s3_and_others_read_them() {
    let port = free_port().to_string();
    let mut command = Command::new("sh");
    let server = python("moto_server").get_program().to_owned();
    command.args(["-c", "exec \"$@\" 2>/dev/null", "sh"]).arg(server).args(["-H", "127.0.0.1", "-p", &port]);
    let _store = Running::start(&command);
    let endpoint = format!("http://127.0.0.1:{port}");
    let client = crate::harness::client();
    wait_for(&endpoint, async |url| client.get(url).send().await.is_ok()).await;
    let table = std::fs::read(demo_table()).unwrap();
    for (path, body) in [("lake", Vec::new()), ("lake/tables/a/demo.csv", table)] {
        // It takes any signature.
        let signed =
            "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";
        let put = client.put(format!("{endpoint}/{path}")).header("authorization", signed).body(body);
        assert!(put.send().await.unwrap().status().is_success(), "{path}");
    }
    let server = Server::start();
    let setup = Setup::demo()
        .with("TAXON_NATS_URL", &server.url)
        .with("AWS_ENDPOINT", &endpoint)
        .with("AWS_ALLOW_HTTP", "true")
        .with("AWS_ACCESS_KEY_ID", "key")
        .with("AWS_SECRET_ACCESS_KEY", "secret")
        .with("AWS_REGION", "us-east-1");
    setup.run(&["streams", "make"]);
    let fed = setup.run(&["feed", "s3://lake/tables", "--demo"]);
    assert!(fed.contains("85 transactions in 1 batches"), "{fed}");
    setup.run(&["work", "--until-empty", "--demo"]);
    // Twice into the store: the second finds everything there.
    for _ in 0..2 {
        let told = setup.run(&["drain", "--out", "s3://lake/verdicts"]);
        assert!(told.starts_with("85 rows in 2 files"), "{told}");
    }
    let folder = setup.data.path().join("verdicts").to_string_lossy().into_owned();
    setup.run(&["drain", "--out", &folder]);

    let script = root().join("tests/lake/check.py");
    let seen = python("python").arg(script).args([&folder, &endpoint, "lake/verdicts"]).output().unwrap();
    assert!(seen.status.success(), "{}", String::from_utf8_lossy(&seen.stderr));
    let seen: Value = serde_json::from_slice(&seen.stdout).unwrap();
    assert_eq!((&seen["codecs"], &seen["bounded"]), (&json!(["ZSTD"]), &json!(true)), "{seen}");
    for by in ["pyarrow", "duckdb", "s3"] {
        assert_eq!(seen[by]["hashes"], 85, "{by}: {seen}");
        assert_eq!(seen[by]["chains"], json!(["demo", "demo-solana"]), "{by}");
        assert_eq!(seen[by]["rows"], seen["pyarrow"]["rows"], "{by}");
    }
    // Without the store it says so, and leaves nothing behind.
    let away = setup.clone().with("AWS_ENDPOINT", "http://127.0.0.1:9");
    let refused = away.output(&["feed", "s3://lake/tables", "--demo"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("s3://lake/tables cannot be listed"), "{refused:?}");
}
