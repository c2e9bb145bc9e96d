//! Webhooks as a receiver meets them: signed so that the reference libraries accept them, sent again when they fail, held up by nobody else's receiver, and
//! never sent to this machine unless the operator allows it.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use reqwest::Method;
use serde_json::{Value, json};

use super::crash::books::batch;
use super::crash::within;
use super::harness::{Setup, Taxon, demo_scenario, free_port, root};
use super::pages::browser::{Browser, Page, proxied};

const EMAIL: &str = "a@example.com";
/// A message is sent again after five to six seconds; a receiver that stalls is given up on after fifteen.
const ARRIVED: Duration = Duration::from_secs(60);
const EVENTS: [(&str, &str); 4] =
    [("job.finished", "yes"), ("job.failed", "yes"), ("quota.low", "yes"), ("quota.exhausted", "yes")];

/// What came in: the path that it was sent to, the headers that count, and the body.
#[derive(Debug, Clone)]
struct Came {
    path: String,
    headers: BTreeMap<String, String>,
    body: String,
}

impl Came {
    fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }

    fn event(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    fn kind(&self) -> String {
        self.event()["type"].as_str().unwrap().to_owned()
    }
}

#[derive(Default)]
struct Inside {
    came: Vec<Came>,
    /// The path of whoever is gone.
    is_gone: bool,
}

/// Receivers on this machine, one a path: each answers as its path says.
struct Sink {
    port: u16,
    inside: Arc<Mutex<Inside>>,
}

impl Sink {
    fn new() -> Self {
        Self { port: free_port(), inside: Arc::default() }
    }

    async fn listen(&self) {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", self.port)).await.unwrap();
        let router = Router::new().fallback(take).with_state(Arc::clone(&self.inside));
        tokio::spawn(async move { axum::serve(listener, router).await });
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn came(&self, path: &str) -> Vec<Came> {
        self.inside.lock().unwrap().came.iter().filter(|came| came.path == path).cloned().collect()
    }

    fn kinds(&self, path: &str) -> Vec<String> {
        self.came(path).iter().map(Came::kind).collect()
    }
}

async fn take(State(inside): State<Arc<Mutex<Inside>>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let text = |name: &str| (name.to_owned(), headers[name].to_str().unwrap().to_owned());
    let named = ["webhook-id", "webhook-timestamp", "webhook-signature", "content-type", "user-agent"];
    let (is_first, is_gone) = {
        let mut inside = inside.lock().unwrap();
        let path = uri.path().to_owned();
        let is_first = !inside.came.iter().any(|came| came.path == path);
        let body = String::from_utf8(body.to_vec()).unwrap();
        inside.came.push(Came { path, headers: named.into_iter().map(text).collect(), body });
        (is_first, inside.is_gone)
    };
    match uri.path() {
        "/fails-once" if is_first => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        "/moved" => Redirect::temporary("/elsewhere").into_response(),
        "/stalls" => {
            tokio::time::sleep(ARRIVED).await;
            StatusCode::OK.into_response()
        }
        "/gone" if is_gone => StatusCode::GONE.into_response(),
        _ => (StatusCode::ACCEPTED, "x".repeat(1 << 20)).into_response(),
    }
}

/// What the reference libraries of Python and JavaScript make of messages: both must accept all of them with this secret.
async fn verify(secret: &str, came: &[Came]) {
    let lines =
        came.iter().map(|came| json!({ "secret": secret, "headers": came.headers, "body": came.body }).to_string());
    let (input, count) = (lines.collect::<Vec<_>>().join("\n"), came.len());
    let python = (root().join("target/agents/venv/bin/python"), "verify_webhooks.py");
    for (program, script) in [python, (Path::new("node").to_owned(), "verify_webhooks.mjs")] {
        let mut command = Command::new(&program);
        command.arg(root().join("tests/agents").join(script)).stdin(Stdio::piped()).stdout(Stdio::piped());
        let input = input.clone();
        let output = tokio::task::spawn_blocking(move || {
            let mut child = command.spawn().expect("run tests/agents/install, or ./test");
            child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
            child.wait_with_output().unwrap()
        });
        let output = output.await.unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.lines().count() == count, "{script}: {said}");
    }
}

/// A webhook that is added on the page: its path there, and its secret.
async fn add(person: &mut Browser, url: &str, events: &[(&str, &str)]) -> (String, String) {
    let fields = [&[("url", url)], events].concat();
    let page = person.submit("/webhooks", "/webhooks", &fields).await;
    assert_eq!(page.status, 200, "{}", page.text);
    (endpoint_path(&page), page.between("id=\"new-secret\">", "<").to_owned())
}

fn endpoint_path(page: &Page) -> String {
    format!("/webhooks/{}", page.between("action=\"/webhooks/", "/test"))
}

async fn press(person: &mut Browser, on: &str, what: &str) -> Page {
    person.submit(on, &format!("{on}/{what}"), &[]).await
}

/// Looks again until the page has these words.
async fn comes_to(person: &mut Browser, path: &str, words: &str) -> Page {
    let start = Instant::now();
    loop {
        let page = person.get(path).await;
        if page.has(words) {
            return page;
        }
        assert!(start.elapsed() < ARRIVED, "{words}: {}", page.text);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// A job of one row.
async fn job(taxon: &Taxon, key: &str, hash: &str) -> String {
    let request = taxon.raw(Method::POST, "/v1/jobs?chain=demo&name=%3Cmine%3E").bearer_auth(key).body(hash.to_owned());
    let taken: Value = serde_json::from_slice(&request.send().await.unwrap().bytes().await.unwrap()).unwrap();
    taken["id"].as_str().unwrap_or_else(|| panic!("{taken}")).to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn receivers_get_what_they_can_verify_whatever_others_do() {
    let sink = Sink::new();
    sink.listen().await;
    let setup = proxied().with("TAXON_LOG", "info").around("exec \"$@\" >printed.txt 2>&1");
    let taxon = setup.start().await;
    let mut person = Browser::signed_in(&taxon, "192.0.2.1", EMAIL).await;
    let key = setup.key(EMAIL, "enterprise", &["--pool", "10"]);
    let mut added = Vec::new();
    for path in ["/well", "/fails-once", "/moved", "/stalls", "/gone"] {
        added.push(add(&mut person, &sink.url(path), &EVENTS[..if path == "/well" { 4 } else { 1 }]).await);
    }
    let full = person.post("/webhooks", &[("url", &sink.url("/more")), ("quota.low", "yes")]).await;
    assert!(full.status == 400 && full.has("You have 5 webhooks: remove one first."), "{}", full.text);
    let [(well, secret), _, (moved, _), (stalls, _), (gone, _)] = added.as_slice() else { panic!("five") };
    sink.inside.lock().unwrap().is_gone = true;

    let swap = demo_scenario().named("v2_swap_eth_in").hash.clone();
    let id = job(&taxon, &key, &swap).await;
    let start = Instant::now();
    within(ARRIVED, async || sink.kinds("/well") == ["job.finished"]).await;
    assert!(start.elapsed() < Duration::from_secs(14), "the receiver that stalls holds up nobody");
    let told = sink.came("/well").remove(0);
    assert_eq!(
        (told.headers["content-type"].as_str(), told.event()["data"]["id"].clone()),
        ("application/json", json!(id))
    );
    let data = told.event()["data"].clone();
    let counts = json!([data["name"], data["state"], data["rows"], data["read"], data["failed"], data["needs_review"]]);
    assert_eq!(counts, json!(["<mine>", "finished", 1, 1, 0, 0]));

    // The pool of ten runs low and then out; what is told of one period keeps its order.
    let hashes: Vec<String> = demo_scenario().transactions.into_iter().map(|done| done.hash).collect();
    let answer = taxon.post_as(&key, "/v1/classify-batch", &batch(&hashes[..hashes.len().min(100)])).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    within(ARRIVED, async || sink.kinds("/well").contains(&"quota.exhausted".to_owned())).await;
    let quota = sink.came("/well").into_iter().find(|came| came.kind() == "quota.exhausted").unwrap();
    assert_eq!(quota.event()["data"]["pool"], 10);
    verify(secret, &sink.came("/well")).await;

    // After a rotation both secrets verify, and the new one is shown once.
    let rotated = press(&mut person, well, "rotate").await;
    let new = rotated.between("id=\"new-secret\">", "<").to_owned();
    assert!(new != *secret && !person.get(well).await.has(&new) && person.get(well).await.has("signs too until"));
    let before = sink.came("/well").len();
    let tested = press(&mut person, well, "test").await;
    let message = tested.location().to_owned();
    comes_to(&mut person, &message, ">Delivered<").await;
    let test = sink.came("/well").split_off(before);
    assert_eq!(
        (test.len(), test[0].kind().as_str(), format!("/deliveries/{}", test[0].id())),
        (1, "test", message.clone())
    );
    assert_eq!(test[0].headers["webhook-signature"].split(' ').count(), 2);
    verify(secret, &test).await;
    verify(&new, &test).await;

    // Sent again by hand, under the same id.
    assert_eq!(press(&mut person, &message, "again").await.location(), message);
    within(ARRIVED, async || sink.came("/well").len() == before + 2).await;
    assert_eq!(sink.came("/well").last().unwrap().id(), test[0].id());

    within(ARRIVED, async || sink.came("/fails-once").len() == 2).await;
    let tries = sink.came("/fails-once");
    assert_eq!((tries[0].id(), &tries[0].body), (tries[1].id(), &tries[1].body), "the same message");
    let page = comes_to(&mut person, moved, "It answered 307, a redirect, and those are not followed.").await;
    assert!(page.has(">Waiting<") && page.has("job.finished") && sink.came("/elsewhere").is_empty());
    comes_to(&mut person, stalls, "It did not answer within 15 seconds.").await;

    // Whoever says that it is gone is left alone until its owner enables it.
    let page = comes_to(&mut person, gone, ">Disabled<").await;
    assert!(page.has("it answered 410: it is gone") && page.has(">Given up<"), "{}", page.text);
    let refused = press(&mut person, gone, "test").await;
    assert!(refused.status == 400 && refused.has("until you enable it again"), "{}", refused.text);
    sink.inside.lock().unwrap().is_gone = false;
    assert_eq!(press(&mut person, gone, "enable").await.status, 303);
    let old = format!("/deliveries/{}", person.get(gone).await.between("href=\"/deliveries/", "\""));
    let shown = person.get(&old).await;
    assert!(shown.has("&lt;mine&gt;") && shown.has("It answered 410"), "{}", shown.text);
    press(&mut person, &old, "again").await;
    comes_to(&mut person, &old, ">Delivered<").await;
    assert_eq!(sink.came("/gone").len(), 2);

    let log = std::fs::read_to_string(setup.data.path().join("printed.txt")).unwrap();
    assert!(log.contains("/webhooks"), "requests are logged: {log}");
    for hidden in [secret.as_str(), &new, "fails-once", &format!(":{}", sink.port)] {
        assert!(!log.contains(hidden), "{hidden} is in the log");
    }
    let remove = format!("{well}/remove");
    assert_eq!(person.submit(&remove, &remove, &[]).await.location(), "/webhooks");
    assert_eq!((person.get(well).await.status, person.get(&message).await.status), (404, 404));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_survives_a_kill_and_goes_nowhere_that_is_not_public() {
    let sink = Sink::new();
    let allowed = proxied();
    let refused = allowed.clone().with("TAXON_WEBHOOK_PRIVATE", "0");
    let taxon = allowed.start().await;
    let mut person = Browser::signed_in(&taxon, "192.0.2.1", EMAIL).await;
    let key = person.new_key("").await;
    let (by_address, secret) = add(&mut person, &sink.url("/address"), &EVENTS).await;
    let (by_number, _) = add(&mut person, &format!("https://2130706433:{}/number", sink.port), &EVENTS).await;
    let (by_name, _) = add(&mut person, &format!("https://localhost:{}/name", sink.port), &EVENTS).await;
    job(&taxon, &key, &demo_scenario().transactions[0].hash).await;
    for path in [&by_address, &by_number, &by_name] {
        comes_to(&mut person, path, "No connection could be made").await;
    }
    taxon.kill();
    sink.listen().await;

    // Now only public addresses are allowed: what is there already goes nowhere, and the rest cannot be added.
    let taxon = start(&refused).await;
    let mut person = person.at(&taxon);
    let not_public = "It leads to an address that is not public";
    for (path, why) in [(&by_address, "It must begin with https://"), (&by_number, not_public), (&by_name, not_public)]
    {
        comes_to(&mut person, path, why).await;
    }
    for (url, why) in [
        ("nonsense", "it is not a web address"),
        ("http://1.1.1.1/", "it must begin with https://"),
        ("https://me:secret@1.1.1.1/", "it holds a user name or a password"),
        ("https://127.0.0.1/", "not public"),
        ("https://2130706433/", "not public"),
        ("https://0x7f.1/", "not public"),
        ("https://[::ffff:127.0.0.1]/", "not public"),
        ("https://[fd00::1]/", "not public"),
        ("https://169.254.169.254/", "not public"),
        ("https://localhost:8443/", "not public"),
        ("https://name.invalid/", "its name cannot be resolved"),
    ] {
        let page = person.submit("/webhooks", "/webhooks", &[("url", url), ("job.finished", "yes")]).await;
        assert!(page.status == 400 && page.has("The address is refused") && page.has(why), "{url}: {}", page.text);
        assert!(page.has(&format!("value=\"{url}\"")), "{url}: what was typed stays");
    }
    let none = person.submit("/webhooks", "/webhooks", &[("url", "https://1.1.1.1/")]).await;
    assert!(none.status == 400 && none.has("Choose at least one event."), "{}", none.text);
    assert!(sink.inside.lock().unwrap().came.is_empty());
    taxon.kill();

    let taxon = start(&allowed).await;
    let mut person = person.at(&taxon);
    let message = format!("/deliveries/{}", person.get(&by_address).await.between("href=\"/deliveries/", "\""));
    assert_eq!(press(&mut person, &message, "again").await.status, 303);
    comes_to(&mut person, &message, ">Delivered<").await;
    assert_eq!(sink.kinds("/address"), ["job.finished"]);
    verify(&secret, &sink.came("/address")).await;

    // Thirty in any minute, and one was counted already.
    let csrf = person.csrf().await;
    let enable = format!("{by_name}/enable");
    for _ in 0..29 {
        assert_eq!(person.send(person.form(&enable, &csrf, &[])).await.status, 303);
    }
    let page = person.send(person.form(&enable, &csrf, &[])).await;
    assert!(page.status == 429 && page.has("Too many tries"), "{}", page.text);
}

async fn start(setup: &Setup) -> Taxon {
    setup.start_on(free_port(), String::new()).await
}
