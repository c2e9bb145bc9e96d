//! The dashboard over real HTTP: who may enter, what a form needs, what is whose, and what it costs. The list of routes is taken from
//! the router's own text, so that a new page cannot be forgotten here.

mod books;
pub mod browser;
mod doors;
mod forms;
mod history;
mod jobs;
mod leaving;
mod operator;
mod owners;
mod races;
mod results;
mod review_table;
mod strangers;
mod try_it;

use super::harness::{Taxon, demo_scenario, read};
use browser::{Browser, PASSWORD, Page};

/// Pages that anybody may see and forms that anybody may send.
const OPEN: [&str; 7] = ["/", "/try", "/reading/{hash}", "/sign-up", "/sign-in", "/sign-out", "/link/{token}"];

/// The address of a webhook of whoever is busy.
const WEBHOOK: &str = "http://127.0.0.1:9/hook-of-mine";

struct Route {
    path: &'static str,
    is_page: bool,
    is_form: bool,
    /// The page that whoever loads the address of a form is led to.
    leads_to: Option<&'static str>,
}

impl Route {
    fn is_open(&self) -> bool {
        OPEN.contains(&self.path)
    }
}

/// Every route of the dashboard but its files.
fn routes() -> Vec<Route> {
    let text =
        include_str!("../../src/router.rs").split_once("fn page_routes(").unwrap().1.split_once("\n}\n").unwrap().0;
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix(".route(\"")?.split_once('"'));
    let routes: Vec<Route> = lines
        .filter(|(path, _)| !path.starts_with("/assets/"))
        .map(|(path, how)| {
            let leads_to = how.split_once("get(|| to(\"").map(|(_, rest)| rest.split_once('"').unwrap().0);
            let is_page = how.contains("get(") && leads_to.is_none();
            Route { path, is_page, is_form: how.contains("post("), leads_to }
        })
        .collect();
    let all = text.matches(".route(").count() - text.matches(".route())").count();
    assert_eq!(routes.len(), all - text.matches(".route(\"/assets/").count(), "a route on one line each");
    assert!(routes.len() >= 23 && routes.iter().all(|route| route.is_page || route.is_form));
    routes
}

/// What the parameters of paths stand for.
struct Names {
    hash: String,
    wallet: String,
    token: String,
    key_id: String,
    job_id: String,
    webhook_id: String,
    message_id: String,
    book_id: String,
    rule_id: String,
    row: String,
    owner_id: String,
    email: String,
}

impl Names {
    /// The path with its parameters filled in.
    fn path(&self, route: &Route) -> String {
        let id = match route.path.split('/').nth(1) {
            Some("operator") => &self.owner_id,
            Some("jobs") => &self.job_id,
            Some("webhooks") => &self.webhook_id,
            Some("deliveries") => &self.message_id,
            Some("books") => &self.book_id,
            _ => &self.key_id,
        };
        let path = route.path.replace("{hash}", &self.hash).replace("{token}", &self.token).replace("{id}", id);
        assert!(!path.contains('{'), "say what {path} stands for");
        path
    }

    /// A form that would do something, if it were let.
    fn fields(&self, route: &Route) -> Vec<(&str, &str)> {
        match route.path {
            "/try" => vec![("hash", &self.hash)],
            "/sign-up" => vec![("email", "fresh@example.com"), ("password", PASSWORD)],
            "/sign-in" => vec![("email", &self.email), ("password", PASSWORD)],
            "/link/{token}" => vec![("password", PASSWORD)],
            "/account/keys" => vec![("name", "made")],
            "/account/keys/{id}/name" => vec![("name", "renamed")],
            "/account/password" => vec![("old", "not the password"), ("new", "another password")],
            "/account/delete" => vec![("password", "not the password")],
            "/books" => vec![("name", "made")],
            "/books/{id}" => vec![
                ("name", "changed"),
                ("wallets", &self.wallet),
                ("jurisdiction", "us"),
                ("time_zone", "UTC"),
                ("chart", ""),
            ],
            "/books/{id}/people" | "/books/{id}/people/remove" => vec![("email", "another@example.com")],
            "/jobs" => vec![("file", &self.hash), ("name", "made"), ("chain", "demo")],
            "/jobs/wallets" => vec![("wallets", "0x000000000000000000000000000000000000dEaD"), ("name", "made")],
            "/webhooks" => vec![("url", "http://127.0.0.1:9/made"), ("job.finished", "yes")],
            "/webhooks/{id}/events" => vec![("job.failed", "yes")],
            "/books/{id}/review" => {
                vec![("row", &self.row), ("do", "decide"), ("category", "swap"), ("comment", "changed")]
            }
            "/jobs/{id}/rows" => {
                vec![("row", "0:0"), ("do", "decide"), ("category", "swap"), ("comment", "changed")]
            }
            "/books/{id}/rules" => {
                vec![("row", &self.row), ("do", "like"), ("category", "swap"), ("comment", "changed")]
            }
            "/books/{id}/rules/remove" => vec![("rule", &self.rule_id)],
            "/operator/sign-up" => vec![("open", "no")],
            "/operator/owners/{id}/tier" => vec![("tier", "pro"), ("pool", "7")],
            "/sign-out"
            | "/account/keys/{id}/revoke"
            | "/account/sign-out-everywhere"
            | "/jobs/{id}/start"
            | "/jobs/{id}/cancel"
            | "/webhooks/{id}/rotate"
            | "/webhooks/{id}/enable"
            | "/webhooks/{id}/test"
            | "/webhooks/{id}/remove"
            | "/deliveries/{id}/again"
            | "/books/{id}/remove"
            | "/operator/owners/{id}/revoke" => Vec::new(),
            other => panic!("say what the form of {other} holds"),
        }
    }
}

fn hash(name: &str) -> String {
    demo_scenario().named(name).hash.clone()
}

/// Everything that somebody sees of what is theirs. Two of these are equal when nothing has changed.
async fn seen(browser: &mut Browser) -> Vec<String> {
    let mut all = Vec::new();
    for path in ["/account", "/jobs", "/webhooks", "/books", "/usage", "/readings", "/readings.csv", "/operator", "/"] {
        all.push(browser.get(path).await.text);
    }
    let table = browser.get("/review").await.location().to_owned();
    all.push(browser.get(&format!("{table}?state=all")).await.text);
    all
}

/// Looks again until it is so: what was read is written down within a second or two.
pub async fn until(browser: &mut Browser, path: &str, is_so: impl Fn(&Page) -> bool) -> Page {
    for _ in 0..60 {
        let page = browser.get(path).await;
        if is_so(&page) {
            return page;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("{path} did not come to it: {}", browser.get(path).await.text);
}

/// An owner with a key that was used, a job, a webhook, a reading and a review of it.
async fn busy(taxon: &Taxon, browser: &mut Browser, email: &str) -> Names {
    let key = browser.new_key("the name of a key").await;
    let done = demo_scenario().named("userop_bundle_of_two").clone();
    let request = taxon.raw(reqwest::Method::POST, "/v1/jobs?chain=demo&name=a%20table%20of%20mine").bearer_auth(&key);
    let taken = read(request.body(done.hash.clone()).send().await.unwrap()).await;
    assert_eq!(taken.status, 202, "{}", taken.body);
    let job_id = taken.body["id"].as_str().unwrap().to_owned();
    let book_id = taken.body["book"].as_str().unwrap().to_owned();
    until(browser, &format!("/jobs/{job_id}"), |page| page.has(">Finished<")).await;
    let request = taxon.raw(reqwest::Method::GET, &format!("/v1/jobs/{job_id}/results?format=jsonl")).bearer_auth(&key);
    let row = read(request.send().await.unwrap()).await.body;
    assert_eq!(row["needs_review"], serde_json::json!(true), "{row}");
    let wallet = row["perspective"].as_str().unwrap().to_owned();
    let (table, row) = (format!("/books/{book_id}/review"), format!("{}:{wallet}", done.hash));
    assert!(browser.get(&table).await.has(&row), "it waits");
    let fields = [("row", row.as_str()), ("do", "like"), ("category", "self_transfer"), ("comment", "mine alone")];
    let rules = format!("/books/{book_id}/rules");
    assert_eq!(browser.post(&rules, &fields).await.location(), table);
    let rule_id = browser.get(&rules).await.between("name=\"rule\" value=\"", "\"").to_owned();
    until(browser, "/account", |page| !page.has("never")).await;
    // Nobody listens there.
    let made = browser.submit("/webhooks", "/webhooks", &[("url", WEBHOOK), ("quota.low", "yes")]).await;
    let webhook_id = made.between("action=\"/webhooks/", "/test").to_owned();
    let path = format!("/webhooks/{webhook_id}");
    let tested = browser.submit(&path, &format!("{path}/test"), &[]).await;
    let message_id = tested.location().strip_prefix("/deliveries/").unwrap().to_owned();
    Names {
        hash: done.hash,
        wallet,
        token: browser::link(&taxon.setup, "linked@example.com").replace("/link/", ""),
        key_id: key[4..12].to_owned(),
        job_id,
        webhook_id,
        message_id,
        book_id,
        rule_id,
        row,
        owner_id: "0".repeat(32),
        email: email.to_owned(),
    }
}
