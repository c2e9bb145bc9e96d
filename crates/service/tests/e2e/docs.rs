//! The documentation as a reader meets it: pages, headers, links, and every code sample of every page, executed.

mod admin;
mod matching;
mod samples;

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Method;

use super::harness::{Setup, Taxon, root};

/// Every page with samples has a test of its own below; the others have none.
const WITH_SAMPLES: [&str; 13] = [
    "agents",
    "books",
    "bulk",
    "concepts",
    "errors",
    "eval",
    "facts",
    "fleet",
    "jobs",
    "journal",
    "quickstart",
    "quota",
    "self-hosting",
];

/// Pages in the navigation that other modules serve.
const ELSEWHERE: [&str; 2] = ["/docs/api", "/openapi.json"];

const CSP: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

#[tokio::test]
async fn quickstart() {
    samples::run("quickstart").await;
}

#[tokio::test]
async fn bulk() {
    samples::run("bulk").await;
}

#[tokio::test]
async fn facts() {
    samples::run("facts").await;
}

#[tokio::test]
async fn books() {
    samples::run("books").await;
}

#[tokio::test]
async fn jobs() {
    samples::run("jobs").await;
}

#[tokio::test]
async fn journal() {
    samples::run("journal").await;
}

#[tokio::test]
async fn agents() {
    samples::run("agents").await;
}

#[tokio::test]
async fn concepts() {
    samples::run("concepts").await;
}

#[tokio::test]
async fn errors() {
    samples::run("errors").await;
}

#[tokio::test]
async fn quota() {
    samples::run("quota").await;
}

#[tokio::test]
async fn eval() {
    samples::run("eval").await;
}

#[tokio::test]
async fn fleet() {
    samples::run("fleet").await;
}

#[tokio::test]
async fn self_hosting() {
    samples::run("self-hosting").await;
}

/// What a page answers: its headers and its text.
async fn page(taxon: &Taxon, path: &str) -> (BTreeMap<String, String>, String) {
    let response = taxon.raw(Method::GET, path).send().await.unwrap();
    assert_eq!(response.status(), 200, "{path}");
    let text = |(name, value): (&reqwest::header::HeaderName, &reqwest::header::HeaderValue)| {
        (name.to_string(), value.to_str().unwrap().to_owned())
    };
    assert_eq!(response.headers().get_all("content-type").iter().count(), 1, "{path}: it says once what it is");
    let headers = response.headers().iter().map(text).collect();
    (headers, response.text().await.unwrap())
}

/// The values of an attribute, wherever it occurs.
fn attributes(html: &str, name: &str) -> Vec<String> {
    let start = format!(" {name}=\"");
    html.split(&start).skip(1).map(|rest| rest.split('"').next().unwrap().replace("&amp;", "&")).collect()
}

/// Paths of the pages, as the navigation and the list of formats have them.
async fn pages(taxon: &Taxon) -> BTreeSet<String> {
    let (_, mut html) = page(taxon, "/docs").await;
    html += &page(taxon, "/docs/formats").await.1;
    let hrefs = attributes(&html, "href").into_iter().filter(|href| !href.contains('#'));
    hrefs
        .filter(|href| href.starts_with("/docs") && !href.ends_with(".md") && !ELSEWHERE.contains(&href.as_str()))
        .collect()
}

fn slug(path: &str) -> &str {
    path.strip_prefix("/docs/").unwrap_or("index")
}

#[tokio::test]
async fn every_page_exists_with_its_headers_and_its_markdown() {
    let taxon = Setup::demo().start().await;
    let pages = pages(&taxon).await;
    assert!(pages.len() > 40, "{pages:?}");
    let markdown = pages.iter().map(|path| format!("/docs/{}.md", slug(path)));
    let kinds =
        pages.iter().cloned().map(|path| (path, "text/html")).chain(markdown.map(|path| (path, "text/markdown")));
    for (path, kind) in kinds.chain([("/assets/taxon.css".to_owned(), "text/css")]) {
        let (headers, text) = page(&taxon, &path).await;
        assert_eq!(headers["content-type"], format!("{kind}; charset=utf-8"), "{path}");
        assert_eq!(headers["content-security-policy"], CSP, "{path}");
        assert_eq!(headers["x-content-type-options"], "nosniff", "{path}");
        assert_eq!(headers["referrer-policy"], "no-referrer", "{path}");
        assert_eq!(headers["cache-control"], "no-cache", "{path}");
        assert!(kind == "text/css" || text.contains("informational only and are not tax advice"), "{path}");
        assert!(!text.contains("<!-- "), "{path}: a table is missing");
        assert!(!text.contains("<script") && !text.contains(" style="), "{path}");
        let again = taxon.raw(Method::GET, &path).header("if-none-match", &headers["etag"]).send().await.unwrap();
        assert_eq!((again.status().as_u16(), again.text().await.unwrap().len()), (304, 0), "{path}");
    }
    let (_, index) = page(&taxon, "/docs/").await;
    assert!(index.contains("<title>taxon docs</title>"), "with a slash it leads to the same page");
}

#[tokio::test]
async fn what_is_no_page_is_an_error_in_the_envelope() {
    let taxon = Setup::demo().start().await;
    for path in ["/docs/nowhere", "/docs/quickstart.html", "/docs/../Cargo.toml", "/assets/other.css"] {
        let answer = taxon.get(path).await;
        assert_eq!((answer.status, answer.code()), (404, "not_found"), "{path}");
    }
    let answer = taxon.post("/docs", &serde_json::json!({})).await;
    assert_eq!((answer.status, answer.code()), (405, "method_not_allowed"));
}

#[tokio::test]
async fn every_link_and_anchor_leads_somewhere() {
    let taxon = Setup::demo().start().await;
    let mut ids: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut links: Vec<(String, String)> = Vec::new();
    for path in pages(&taxon).await {
        let (_, html) = page(&taxon, &path).await;
        let (all, distinct) = (attributes(&html, "id"), attributes(&html, "id").into_iter().collect::<BTreeSet<_>>());
        assert_eq!(all.len(), distinct.len(), "{path}: ids are unique");
        ids.insert(path.clone(), distinct);
        links.extend(attributes(&html, "href").into_iter().map(|href| (path.clone(), href)));
    }
    let mut met = 0;
    for (from, href) in links {
        if href.starts_with("https://") || href.starts_with("data:image/svg+xml,") {
            continue;
        }
        if ELSEWHERE.contains(&href.as_str()) {
            page(&taxon, &href).await;
            continue;
        }
        let (to, anchor) = href.split_once('#').map_or((href.as_str(), None), |(to, anchor)| (to, Some(anchor)));
        let to = if to.is_empty() { from.as_str() } else { to };
        match (ids.get(to), anchor) {
            (Some(ids), Some(anchor)) => assert!(ids.contains(anchor), "{from}: {href}"),
            (Some(_), None) => {}
            (None, _) => drop(page(&taxon, to).await),
        }
        met += 1;
    }
    assert!(met > 300, "{met} links were followed");
}

/// The README's commands for a deployment are the ones that the page tells.
#[test]
fn the_readme_deploys_as_the_page_does() {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let section = text.split("## Deploy\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let shown = samples::blocks("README", section).remove(0).text;
    admin::check("README.md, Deploy", &shown);
    assert!(std::fs::read_to_string(root().join("docs/self-hosting.md")).unwrap().contains(&shown));
}

#[tokio::test]
async fn no_sample_is_left_out() {
    let taxon = Setup::demo().start().await;
    for path in pages(&taxon).await {
        let (_, text) = page(&taxon, &format!("/docs/{}.md", slug(&path))).await;
        let has_samples = !samples::blocks(slug(&path), &text).is_empty();
        assert_eq!(has_samples, WITH_SAMPLES.contains(&slug(&path)), "{path}");
    }
}

/// Packs and chains may be an operator's, taken from anywhere.
#[tokio::test]
async fn hostile_packs_and_chains_are_shown_and_not_obeyed() {
    let setup = Setup::demo();
    let packs = setup.data.path().join("packs");
    std::fs::create_dir(&packs).unwrap();
    let hostile = "</ul><script>alert(1)</script> [x](javascript:alert(1)) `a` | <b>b</b>";
    let links =
        r#"["javascript:alert(1)", "https://example.org/\"><script>alert(1)</script>", "<script>alert(1)</script>"]"#;
    let text = std::fs::read_to_string(root().join("docs/self-hosting.md")).unwrap();
    let pack = samples::blocks("self-hosting", &text).into_iter().find(|block| block.is("toml", "pack")).unwrap();
    let pack = pack.text.replace("My exchange", hostile).replace("Deposit address", hostile);
    let pack = pack
        .replace("[\"https://exchange.example.com/addresses\", \"https://registry.example.org/my-exchange\"]", links);
    std::fs::write(packs.join("mine.toml"), pack).unwrap();
    let chains = samples::blocks("self-hosting", &text).into_iter().find(|block| block.is("toml", "chains")).unwrap();
    let chains = chains.text.replace("My chain", hostile).replace("\"MY\"", "\"<b>MY</b>\"");
    std::fs::write(setup.data.path().join("mine.toml"), format!("{chains}aliases = [\"<b>x</b>\"]\n")).unwrap();
    let file = setup.data.path().join("mine.toml").display().to_string();
    let setup = setup.with("TAXON_RULES", &packs.display().to_string()).with("TAXON_CHAINS", &file);
    let taxon = setup.with("TAXON_RPC_MYCHAIN", "http://127.0.0.1:9").start().await;
    for path in ["/docs/protocols", "/docs/chains"] {
        let (_, html) = page(&taxon, path).await;
        assert!(
            html.contains("&lt;script&gt;alert(1)&lt;/script&gt; [x](javascript:alert(1)) `a` | &lt;b&gt;b&lt;/b&gt;"),
            "{path}"
        );
        assert!(!html.contains("<script") && !html.contains("<b>") && !html.contains("href=\"javascript"), "{path}");
    }
}

/// The largest page, as a browser with a slow line gets it.
#[tokio::test]
async fn the_list_of_protocols_stays_small() {
    let taxon = Setup::demo().start().await;
    let client = chains::http::client_builder().no_gzip().build().unwrap();
    let asked = client.get(format!("{}/docs/protocols", taxon.url)).header("accept-encoding", "gzip");
    let asked = asked.send().await.unwrap();
    assert_eq!(asked.headers()["content-encoding"], "gzip");
    let bytes = asked.bytes().await.unwrap().len();
    assert!(bytes < 80_000, "{bytes} bytes");
}
