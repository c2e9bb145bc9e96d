//! Every malformed body, hash, header or path gets its code, in the envelope, and changes nothing.

use reqwest::Method;
use serde_json::{Value, json};

use super::harness::{Answer, Setup, Taxon, mainnet, read};

async fn service() -> Taxon {
    let (anvil, _) = mainnet().await;
    Taxon::start(&[("local", 31_337, &anvil.url)]).await
}

fn told(answer: &Answer) -> (u16, &str) {
    assert!(answer.body["error"]["message"].is_string(), "{}", answer.body);
    assert!(answer.headers.contains_key("x-request-id"));
    (answer.status, answer.code())
}

#[tokio::test]
async fn malformed_bodies_are_refused_with_a_reason() {
    let taxon = service().await;
    let hash = "0x".to_owned() + &"a".repeat(64);
    let too_many: Vec<Value> = (0..101).map(|_| json!({ "hash": hash })).collect();
    let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
    let huge = format!("{{\"hash\":\"{hash}\",\"pad\":\"{}\"}}", "x".repeat(1024 * 1024));
    let single: &[(&str, String)] = &[
        ("invalid_request", String::new()),
        ("invalid_request", "{".to_owned()),
        ("invalid_request", "[]".to_owned()),
        ("invalid_request", "null".to_owned()),
        ("invalid_request", format!("[\"{hash}\"]")),
        ("invalid_request", "{}".to_owned()),
        ("invalid_request", json!({ "hash": 7 }).to_string()),
        ("invalid_request", json!({ "hash": null }).to_string()),
        ("invalid_request", json!({ "hash": hash, "chain": 1 }).to_string()),
        ("invalid_request", json!({ "hash": hash, "chain": "atlantis" }).to_string()),
        ("invalid_request", json!({ "hash": hash, "policy": "lp" }).to_string()),
        ("invalid_request", json!({ "hash": hash, "policy": [] }).to_string()),
        ("invalid_request", json!({ "hash": hash, "explain": "yes" }).to_string()),
        ("invalid_request", json!({ "hash": hash, "wallet": "0x12" }).to_string()),
        ("invalid_request", json!({ "hash": hash, "own_wallets": "0x12" }).to_string()),
        (
            "invalid_request",
            json!({ "hash": hash, "own_wallets": vec!["0x00000000000000000000000000000000000000aa"; 1_001] })
                .to_string(),
        ),
        ("invalid_request", format!("{{\"hash\":{deep}}}")),
        ("invalid_request", huge),
        ("invalid_hash", json!({ "hash": "" }).to_string()),
        ("invalid_hash", json!({ "hash": format!(" {hash}") }).to_string()),
        ("invalid_hash", json!({ "hash": format!("{hash}a") }).to_string()),
        ("invalid_hash", json!({ "hash": hash.replace('a', "g") }).to_string()),
        ("invalid_hash", json!({ "hash": "\u{0}" }).to_string()),
    ];
    let batch: &[(&str, String)] = &[
        ("invalid_request", "{}".to_owned()),
        ("invalid_request", json!({ "hashes": [] }).to_string()),
        ("invalid_request", json!({ "hashes": {} }).to_string()),
        ("invalid_request", json!({ "hashes": [hash] }).to_string()),
        ("invalid_request", json!({ "hashes": too_many }).to_string()),
        ("invalid_request", json!({ "hashes": [{ "hash": hash, "tx_id": 7 }] }).to_string()),
        ("invalid_hash", json!({ "hashes": [{ "hash": hash }, { "hash": "0x1" }] }).to_string()),
    ];
    for (path, cases) in [("/v1/classify", single), ("/v1/classify-batch", batch)] {
        for (code, body) in cases {
            let request = taxon.raw(Method::POST, path).bearer_auth(&taxon.key);
            let request = request.header("content-type", "application/json").body(body.clone());
            let answer = read(request.send().await.unwrap()).await;
            assert_eq!(told(&answer), (400, *code), "{path} {body:.120}");
        }
    }
    let named = taxon.post("/v1/classify-batch", &json!({ "hashes": [{ "hash": hash }, { "hash": "0x1" }] })).await;
    assert!(named.body["error"]["message"].as_str().unwrap().contains("hashes[1]"));
    let unserved = taxon.post("/v1/classify", &json!({ "hash": hash, "chain": "atlantis" })).await;
    assert!(unserved.body["error"]["message"].as_str().unwrap().contains("local"), "the served slugs are listed");
}

#[tokio::test]
async fn nulls_and_unknown_fields_are_absent_fields() {
    let (_, scenario) = mainnet().await;
    let taxon = service().await;
    let hash = &scenario.named("weth_wrap").hash;
    let body = json!({ "hash": hash.to_uppercase().replace("0X", "0x"), "chain": null, "policy": null, "wallet": null,
                       "own_wallets": null, "explain": null, "colour": "red" });
    let answer = taxon.post("/v1/classify", &body).await;
    assert_eq!((answer.status, answer.body["hash"].as_str()), (200, Some(hash.as_str())));
    assert!(answer.body.get("id").is_none() && answer.body.get("error").is_none());
}

#[tokio::test]
async fn only_a_valid_key_is_admitted() {
    let taxon = service().await;
    let body = json!({ "hash": "0x".to_owned() + &"a".repeat(64) });
    let long = "x".repeat(60_000);
    let forged = format!("{}{}", &taxon.key[..13], "A".repeat(32));
    let bearer_forged = format!("Bearer {forged}");
    let bearer_long = format!("Bearer {long}");
    let basic = format!("Basic {}", taxon.key);
    let twice = format!("Bearer {}, Bearer {}", taxon.key, taxon.key);
    for header in ["", "Bearer", "Bearer ", &bearer_forged, &bearer_long, &basic, &twice, taxon.key.as_str()] {
        let request = taxon.raw(Method::POST, "/v1/classify").header("authorization", header).json(&body);
        let answer = read(request.send().await.unwrap()).await;
        assert_eq!(told(&answer), (401, "unauthorized"), "{header:.40}");
    }
    let none = read(taxon.raw(Method::POST, "/v1/classify").json(&body).send().await.unwrap()).await;
    assert_eq!(told(&none), (401, "unauthorized"));
    assert_eq!(none.headers.get("www-authenticate").map(String::as_str), Some("Bearer"));

    taxon.setup.run(&["keys", "revoke", &taxon.key[4..12]]);
    let after = taxon.post("/v1/classify", &body).await;
    assert_eq!(told(&after), (401, "unauthorized"), "a revoked key is refused at once, beside the running service");
}

#[tokio::test]
async fn unknown_paths_methods_and_types() {
    let taxon = service().await;
    let nowhere = read(taxon.raw(Method::GET, "/v1/nothing").send().await.unwrap()).await;
    assert_eq!(told(&nowhere), (404, "not_found"));
    let method = read(taxon.raw(Method::GET, "/v1/classify").send().await.unwrap()).await;
    assert_eq!(told(&method), (405, "method_not_allowed"), "path and method come before the key");
    assert_eq!(method.headers.get("allow").map(String::as_str), Some("POST"));
    let plain = taxon.raw(Method::POST, "/v1/classify").bearer_auth(&taxon.key).header("content-type", "text/plain");
    let plain = read(plain.body("{}").send().await.unwrap()).await;
    assert_eq!(told(&plain), (400, "invalid_request"));
}

#[tokio::test]
async fn request_ids_are_kept_when_well_formed() {
    let taxon = service().await;
    let long = "a".repeat(65);
    for (sent, kept) in [("abc.D_e-9", true), ("", false), ("a b", false), (long.as_str(), false)] {
        let answer = read(taxon.raw(Method::GET, "/healthz").header("x-request-id", sent).send().await.unwrap()).await;
        let id = &answer.headers["x-request-id"];
        assert_eq!(id == sent, kept, "{sent}");
        assert!(!id.is_empty());
    }
}

#[tokio::test]
async fn the_tables_are_public() {
    let taxon = service().await;
    let categories = taxon.get("/categories").await;
    let rows = categories.body["categories"].as_array().unwrap();
    assert!(rows.len() > 60 && rows.iter().any(|row| row["category"] == "swap" && row["treatment"] == "disposal"));
    assert_eq!(taxon.get("/readyz").await.status, 200);
    let chain = &taxon.get("/chains").await.body["chains"][0];
    let expected = json!({ "slug": "local", "name": "local", "family": "evm", "chain_id": 31337, "native_symbol": "ETH",
                           "native_decimals": 18, "explorer": null });
    assert_eq!(*chain, expected);
}

/// Every path of the router, with something in its holes.
fn all_paths() -> Vec<String> {
    let pages = include_str!("../../src/router.rs").split(".route(\"").skip(1);
    let pages = pages.filter_map(|rest| rest.split_once('"')).map(|(path, _)| path.to_owned());
    let documented: Value = serde_json::from_str(include_str!("../../../../docs/openapi.json")).unwrap();
    let documented: Vec<String> = documented["paths"].as_object().unwrap().keys().cloned().collect();
    let named = ["/mcp", "/nothing", "/openapi.json", "/docs", "/docs/api", "/assets/taxon.css"].map(str::to_owned);
    let all = pages.filter(|path| path != "/metrics").chain(documented).chain(named);
    all.map(|path| path.replace("{hash}", "0x00").replace("{token}", "00").replace("{id}", "00")).collect()
}

#[tokio::test]
async fn no_cache_keeps_what_is_somebodys() {
    const PUBLIC: [&str; 5] = ["/assets/copy.js", "/assets/taxon.css", "/docs", "/docs/api", "/openapi.json"];
    let taxon = Setup::demo().start().await;
    let paths = all_paths();
    assert!(paths.len() > 35, "{paths:?}");
    for path in paths {
        for method in [Method::GET, Method::POST] {
            let asked = taxon.raw(method.clone(), &path).bearer_auth(&taxon.key).send().await.unwrap();
            let said = asked.headers().get("cache-control").map(|value| value.to_str().unwrap().to_owned());
            let expected =
                if PUBLIC.contains(&path.as_str()) && method == Method::GET { "no-cache" } else { "no-store" };
            assert_eq!(said.as_deref(), Some(expected), "{method} {path} {}", asked.status());
        }
    }
    let status = taxon.raw(Method::GET, "/quota-status").bearer_auth(&taxon.key).send().await.unwrap();
    assert_eq!((status.status().as_u16(), &status.headers()["cache-control"]), (200, &"no-store".parse().unwrap()));
}
