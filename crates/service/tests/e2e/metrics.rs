//! What a Prometheus reads: the text by its own rules, every metric as the page documents it, and nothing in it that is anybody's.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Method;
use serde_json::json;

use super::harness::{Setup, Taxon, demo_scenario, free_port};

const UNKNOWN: &str = "0x00000000000000000000000000000000000000000000000000000000deadbeef";

struct Measured {
    taxon: Taxon,
    address: String,
}

impl Measured {
    async fn start() -> Self {
        let address = format!("127.0.0.1:{}", free_port());
        let setup = Setup::demo().with("TAXON_METRICS_LISTEN", &address);
        let taxon = setup.with("TAXON_METER_SINK", "http://user:s3cr3t@127.0.0.1:9/sink").start().await;
        Self { taxon, address }
    }

    async fn text(&self) -> String {
        let answer = crate::harness::client().get(format!("http://{}/metrics", self.address)).send().await.unwrap();
        assert_eq!(answer.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
        answer.text().await.unwrap()
    }

    async fn scrape(&self) -> Exposition {
        Exposition::parse(&self.text().await)
    }
}

/// A scrape, read by the rules of the text format: a fault in it fails the test.
#[derive(Debug, Default)]
struct Exposition {
    kinds: BTreeMap<String, String>,
    samples: BTreeMap<(String, BTreeMap<String, String>), f64>,
}

impl Exposition {
    fn parse(text: &str) -> Self {
        let mut all = Self::default();
        let mut helped = BTreeSet::new();
        let mut current = String::new();
        assert!(text.ends_with('\n'));
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, words) = help.split_once(' ').unwrap();
                assert!(helped.insert(name.to_owned()) && !words.is_empty(), "{line}");
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').unwrap();
                assert!(helped.contains(name), "{line}: what it says comes first");
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert!(all.kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "{line}: told twice");
                name.clone_into(&mut current);
            } else {
                let (name, labels, value) = sample(line);
                let family = all.family(&name).unwrap_or_else(|| panic!("{line}: of no metric"));
                assert_eq!(family, current, "{line}: is apart from its metric");
                assert!(all.samples.insert((name, labels), value).is_none(), "{line}: told twice");
            }
        }
        all.check_histograms();
        all
    }

    /// The metric that a sample belongs to.
    fn family(&self, name: &str) -> Option<String> {
        if self.kinds.contains_key(name) {
            return Some(name.to_owned());
        }
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end))?;
        self.kinds.get(base).filter(|kind| *kind == "histogram").map(|_| base.to_owned())
    }

    /// Buckets grow, and the last holds all.
    fn check_histograms(&self) {
        for (name, _) in self.kinds.iter().filter(|(_, kind)| *kind == "histogram") {
            let mut series: BTreeMap<BTreeMap<String, String>, Vec<(f64, f64)>> = BTreeMap::new();
            for ((_, labels), count) in self.samples.iter().filter(|((one, _), _)| *one == format!("{name}_bucket")) {
                let mut labels = labels.clone();
                let bound = labels.remove("le").unwrap();
                let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().unwrap() };
                series.entry(labels).or_default().push((bound, *count));
            }
            for (labels, mut buckets) in series {
                buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
                assert!(buckets.is_sorted_by(|a, b| a.1 <= b.1), "{name} {labels:?}: {buckets:?}");
                let (last, whole) = *buckets.last().unwrap();
                assert!(
                    last.is_infinite() && self.samples.contains_key(&(format!("{name}_sum"), labels.clone())),
                    "{name}"
                );
                assert_eq!(self.samples[&(format!("{name}_count"), labels)], whole, "{name}");
            }
        }
    }

    fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let key = (name.to_owned(), labels);
        *self.samples.get(&key).unwrap_or_else(|| panic!("no {key:?}"))
    }
}

/// `name{label="value",…} number`
fn sample(line: &str) -> (String, BTreeMap<String, String>, f64) {
    let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
    let (name, labels) =
        series.split_once('{').map_or((series, ""), |(name, rest)| (name, rest.strip_suffix('}').unwrap()));
    let is_name = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    assert!(is_name(name), "{line}");
    let mut read = BTreeMap::new();
    let mut rest = labels;
    while !rest.is_empty() {
        let (label, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
        // No value of ours needs escaping, so none may hold a quote or a backslash.
        let (value, after) = after.split_once('"').unwrap_or_else(|| panic!("{line}"));
        assert!(is_name(label) && !value.contains('\\'), "{line}");
        assert!(read.insert(label.to_owned(), value.to_owned()).is_none(), "{line}");
        rest = after.strip_prefix(',').unwrap_or(after);
    }
    (name.to_owned(), read, value.parse().unwrap_or_else(|_| panic!("{line}")))
}

/// Name, kind and labels of each metric, as the page has them.
async fn documented(taxon: &Taxon) -> BTreeMap<String, (String, BTreeSet<String>)> {
    let page = taxon.raw(Method::GET, "/docs/self-hosting.md").send().await.unwrap().text().await.unwrap();
    let rows = page
        .lines()
        .skip_while(|line| !line.starts_with("| metric |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let labels =
            cells[3].split(", ").map(|label| label.trim_matches('`').to_owned()).filter(|label| !label.is_empty());
        (cells[1].trim_matches('`').to_owned(), (cells[2].to_owned(), labels.collect()))
    };
    rows.map(row).collect()
}

#[tokio::test]
async fn what_is_exported_is_what_is_documented() {
    let measured = Measured::start().await;
    let taxon = &measured.taxon;
    let hash = demo_scenario().named("v2_swap_eth_in").hash.clone();
    for _ in 0..3 {
        assert_eq!(taxon.post("/v1/classify", &json!({ "hash": hash, "chain": "demo" })).await.status, 200);
    }
    let items = json!([{ "hash": hash, "chain": "demo" }, { "hash": UNKNOWN, "chain": "atlantis" }]);
    assert_eq!(taxon.post("/v1/classify-batch", &json!({ "hashes": items })).await.status, 200);
    assert_eq!(taxon.post("/v1/classify", &json!({ "hash": UNKNOWN, "chain": "ethereum" })).await.status, 502);
    assert_eq!(taxon.post_as("txn_nobody00_nothing", "/v1/classify", &json!({})).await.status, 401);
    taxon.get(&format!("/nowhere/{}?key={}", taxon.key, taxon.key)).await;

    let scraped = measured.scrape().await;
    let documented = documented(taxon).await;
    let exported: BTreeSet<&String> = scraped.kinds.keys().collect();
    assert_eq!(exported, documented.keys().collect::<BTreeSet<_>>());
    for (name, (kind, _)) in &documented {
        assert_eq!(&scraped.kinds[name], kind, "{name}");
    }
    for (name, labels) in scraped.samples.keys() {
        let family = scraped.family(name).unwrap();
        let used: BTreeSet<String> = labels.keys().filter(|label| *label != "le").cloned().collect();
        assert_eq!(used, documented[&family].1, "{name}");
    }

    let classify = |status| [("method", "POST"), ("route", "/v1/classify"), ("status", status)];
    for (status, count) in [("200", 3.0), ("502", 1.0), ("401", 1.0)] {
        assert_eq!(scraped.value("taxon_http_requests_total", &classify(status)), count, "{status}");
    }
    let nowhere = [("method", "GET"), ("route", "none"), ("status", "404")];
    assert_eq!(scraped.value("taxon_http_requests_total", &nowhere), 1.0);
    assert_eq!(scraped.value("taxon_http_request_duration_seconds_count", &[("route", "/v1/classify")]), 5.0);
    let swap = [("chain", "demo"), ("category", "swap"), ("treatment", "disposal")];
    assert_eq!(scraped.value("taxon_classifications_total", &swap), 4.0);
    assert_eq!(scraped.value("taxon_classification_confidence_count", &[]), 4.0);
    assert_eq!(scraped.value("taxon_classifications_review_total", &[]), 0.0);
    assert_eq!(scraped.value("taxon_item_errors_total", &[("code", "unsupported_chain")]), 1.0);
    assert_eq!(scraped.value("taxon_item_errors_total", &[("code", "upstream_unavailable")]), 1.0);
    assert!(scraped.value("taxon_ledger_turn_duration_seconds_count", &[]) >= 4.0);
    assert_eq!(scraped.value("taxon_ledger_waiting", &[]), 0.0);
    assert!(scraped.value("process_resident_memory_bytes", &[]) > 1e6);
}

#[tokio::test]
async fn nothing_secret_and_nothing_of_a_caller_is_in_it() {
    let measured = Measured::start().await;
    let taxon = &measured.taxon;
    let done = demo_scenario().named("v2_swap_eth_in").clone();
    let body = json!({ "hash": done.hash, "wallet": done.wallet, "chain": "demo" });
    assert_eq!(taxon.post("/v1/classify", &body).await.status, 200);
    for path in [format!("/{}", taxon.key), "/link/0123456789".to_owned(), format!("/a/{}", done.wallet)] {
        taxon.get(&path).await;
    }
    let odd = Method::from_bytes(b"PROPFIND").unwrap();
    taxon.raw(odd, "/v1/classify").header("x-request-id", &taxon.key).send().await.unwrap();
    let text = measured.text().await;
    let secrets = [
        &taxon.key[4..12],
        "txn_",
        "test@example.com",
        "@",
        &done.hash,
        &done.wallet,
        "s3cr3t",
        "http://",
        "127.0.0.1",
        "PROPFIND",
    ];
    for secret in secrets {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}

#[tokio::test]
async fn strangers_make_no_new_series() {
    let measured = Measured::start().await;
    let taxon = &measured.taxon;
    let visit = async |round: usize| {
        taxon.get(&format!("/nowhere/{round}")).await;
        taxon.get(&format!("/docs/nowhere-{round}")).await;
        taxon.post(&format!("/v1/{round}"), &json!({})).await;
        taxon.raw(Method::from_bytes(format!("ODD{round}").as_bytes()).unwrap(), "/chains").send().await.unwrap();
        taxon.post("/v1/classify", &json!({ "hash": UNKNOWN, "chain": format!("chain-{round}") })).await;
    };
    visit(0).await;
    let before: Vec<_> = measured.scrape().await.samples.into_keys().collect();
    for round in 1..20 {
        visit(round).await;
    }
    let after: Vec<_> = measured.scrape().await.samples.into_keys().collect();
    assert_eq!(before, after);
}

#[tokio::test]
async fn they_are_on_their_own_listener_alone() {
    let measured = Measured::start().await;
    assert_eq!(measured.taxon.get("/metrics").await.status, 404);
    let other = crate::harness::client().get(format!("http://{}/v1/classify", measured.address)).send().await.unwrap();
    assert_eq!(other.status(), 404);
    assert!(measured.taxon.setup.run(&["config"]).contains(&format!("metrics_listen   = {}", measured.address)));
}
