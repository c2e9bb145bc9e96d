//! The documentation at `/docs`: Markdown of the repository and the code's own tables, each page rendered when it is first asked for and then
//! served as finished bytes. It sees the rules, the chains and the tables; it never sees the store or a request's body.

mod layout;
mod markdown;
mod tables;

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::http::HeaderMap;
use axum::response::Redirect;
use axum::routing::get;

use crate::app::{DISCLAIMER, Reader};
use crate::web::StaticFile;
use tables::Tables;

const CSS: &str = include_str!("../assets/taxon.css");
const CSS_PATH: &str = "/assets/taxon.css";

/// Pages run no script and load nothing from elsewhere, so a hostile name that slipped through could still do nothing.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A page, by the path of its Markdown in the repository.
struct PageSource {
    /// Its place in the navigation; a page without one is reached from other pages.
    place: Option<Place>,
    /// What follows in `/docs/<slug>`.
    slug: &'static str,
    file: &'static str,
    text: &'static str,
}

/// A part of the navigation, and what the page is called there.
struct Place {
    group: &'static str,
    name: &'static str,
}

impl PageSource {
    fn path(&self) -> String {
        if self.slug == "index" { "/docs".to_owned() } else { format!("/docs/{}", self.slug) }
    }
}

macro_rules! page {
    ($group:literal, $slug:literal, $name:literal, $file:literal) => {
        PageSource {
            place: Some(Place { group: $group, name: $name }),
            slug: $slug,
            file: $file,
            text: include_str!(concat!("../../../", $file)),
        }
    };
}

/// The page on a format, or on several that belong together: `books::formats::Format::page`.
macro_rules! format_page {
    ($name:literal) => {
        PageSource {
            place: None,
            slug: concat!("formats/", $name),
            file: concat!("docs/formats/", $name, ".md"),
            text: include_str!(concat!("../../../docs/formats/", $name, ".md")),
        }
    };
}

/// In the order of the navigation, then those that it leaves out.
static PAGES: [PageSource; 47] = [
    page!("Start", "index", "Overview", "docs/index.md"),
    page!("Start", "quickstart", "Quickstart", "docs/quickstart.md"),
    page!("Start", "agents", "Agents (MCP)", "docs/agents.md"),
    page!("Start", "bulk", "Tables and books", "docs/bulk.md"),
    page!("Start", "facts", "Facts and verdicts", "docs/facts.md"),
    page!("Start", "formats", "Formats", "docs/formats.md"),
    page!("Start", "jobs", "Jobs", "docs/jobs.md"),
    page!("Start", "books", "Books", "docs/books.md"),
    page!("Start", "journal", "Journals and prices", "docs/journal.md"),
    page!("Start", "webhooks", "Webhooks", "docs/webhooks.md"),
    page!("Understand", "concepts", "Concepts", "docs/concepts.md"),
    page!("Understand", "categories", "Categories", "docs/categories.md"),
    page!("Understand", "errors", "Errors", "docs/errors.md"),
    page!("Understand", "chains", "Chains", "docs/chains.md"),
    page!("Understand", "protocols", "Protocols", "docs/protocols.md"),
    page!("Understand", "glossary", "Glossary", "docs/glossary.md"),
    page!("Operate", "quota", "Quota and limits", "docs/quota.md"),
    page!("Operate", "self-hosting", "Self-hosting", "docs/self-hosting.md"),
    page!("Operate", "fleet", "A fleet", "docs/fleet.md"),
    page!("Operate", "security", "Security", "docs/security.md"),
    page!("Operate", "faults", "Nodes that fail", "docs/faults.md"),
    page!("Operate", "capacity", "Capacity", "docs/capacity.md"),
    page!("Operate", "eval", "Judge it", "docs/eval.md"),
    page!("Operate", "changelog", "Changelog", "CHANGELOG.md"),
    format_page!("awaken"),
    format_page!("beancount"),
    format_page!("bitcointax"),
    format_page!("bittytax"),
    format_page!("blockpit"),
    format_page!("coinledger"),
    format_page!("coinpanda"),
    format_page!("cointracker"),
    format_page!("cointracking"),
    format_page!("cryptio"),
    format_page!("divly"),
    format_page!("everything"),
    format_page!("hledger"),
    format_page!("koinly"),
    format_page!("kryptos"),
    format_page!("quickbooks"),
    format_page!("recap"),
    format_page!("rp2"),
    format_page!("summ"),
    format_page!("taxbit"),
    format_page!("tokentax"),
    format_page!("xero"),
    format_page!("zenledger"),
];

/// A page as it is served.
struct Rendered {
    html: StaticFile,
    markdown: StaticFile,
}

/// Made when it is first looked at: pages would be a part of every start, and most instances are asked for few.
type Later<T> = Arc<LazyLock<T, Box<dyn FnOnce() -> T + Send>>>;

fn later<T>(make: impl FnOnce() -> T + Send + 'static) -> Later<T> {
    Arc::new(LazyLock::new(Box::new(make)))
}

pub(crate) fn router<S: Clone + Send + Sync + 'static>(reader: &Arc<Reader>) -> Router<S> {
    let known = Arc::clone(reader);
    let tables = later(move || Tables::new(&known.knowledge, &known.served_chains(), known.registry.chains()));
    let mut router = Router::new().route("/docs/", get(|| async { Redirect::permanent("/docs") }));
    for page in &PAGES {
        let (tables, reader) = (Arc::clone(&tables), Arc::clone(reader));
        let html = later(move || rendered(page, &tables, &reader.knowledge.engine));
        let markdown = Arc::clone(&html);
        router = router
            .route(&page.path(), get(move |headers: HeaderMap| async move { html.html.clone().answer(&headers) }))
            .route(
                &format!("/docs/{}.md", page.slug),
                get(move |headers: HeaderMap| async move { markdown.markdown.clone().answer(&headers) }),
            );
    }
    router.route(CSS_PATH, StaticFile::new("text/css; charset=utf-8", POLICY, CSS).route())
}

fn rendered(page: &PageSource, tables: &Tables, engine: &str) -> Rendered {
    let text = tables.fill(page.text);
    let html = layout::page(page, &markdown::render(&text, &|href| linked(page, href)), engine);
    Rendered {
        html: StaticFile::new("text/html; charset=utf-8", POLICY, html),
        markdown: StaticFile::new("text/markdown; charset=utf-8", POLICY, plain(text)),
    }
}

/// The Markdown as an agent reads it: links lead to the Markdown of other pages.
fn plain(text: String) -> String {
    let text = text.replace("](../CHANGELOG.md", "](changelog.md");
    if text.contains(DISCLAIMER) { text } else { format!("{text}\n{DISCLAIMER}\n") }
}

/// Where a link of a page leads on the site: links between Markdown files are written so that they also work in the repository. A link
/// without a target becomes plain text.
fn linked(from: &PageSource, href: &str) -> Option<String> {
    if href.starts_with('#') || href.starts_with("https://") || href.starts_with("http://") {
        return Some(href.to_owned());
    }
    let (file, anchor) = href.split_once('#').map_or((href, None), |(file, anchor)| (file, Some(anchor)));
    let mut parts: Vec<&str> = from.file.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    let file = parts.join("/");
    let page = PAGES.iter().find(|page| page.file == file)?;
    Some(anchor.map_or_else(|| page.path(), |anchor| format!("{}#{anchor}", page.path())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use books::formats::{FORMATS, KINDS};

    fn page(slug: &str) -> &'static PageSource {
        PAGES.iter().find(|page| page.slug == slug).expect("there is such a page")
    }

    #[test]
    fn links_between_files_lead_to_pages() {
        let cases = [
            ("concepts", "categories.md#swap", Some("/docs/categories#swap")),
            ("concepts", "index.md", Some("/docs")),
            ("index", "../CHANGELOG.md", Some("/docs/changelog")),
            ("changelog", "docs/quota.md", Some("/docs/quota")),
            ("formats", "formats/koinly.md", Some("/docs/formats/koinly")),
            ("formats/koinly", "../formats.md#ledgers", Some("/docs/formats#ledgers")),
            ("index", "#here", Some("#here")),
            ("index", "https://example.org/a", Some("https://example.org/a")),
            ("index", "../../../etc/passwd", None),
            ("index", "javascript:alert(1)", None),
            ("index", "//example.org", None),
            ("index", "nowhere.md", None),
        ];
        for (from, href, leads) in cases {
            assert_eq!(linked(page(from), href).as_deref(), leads, "{href}");
        }
    }

    /// A link that leads nowhere is dropped silently when a page is rendered, so it is looked for here.
    #[test]
    fn every_link_of_every_file_leads_somewhere() {
        for page in &PAGES {
            let text = Tables::of_formats().fill(page.text);
            markdown::render(&text, &|href| {
                let leads = linked(page, href);
                assert!(leads.is_some(), "{}: {href}", page.file);
                leads
            });
        }
    }

    /// Files that the navigation leaves out would be found by nobody if no page led to them.
    #[test]
    fn every_format_has_its_page_with_a_row_for_each_kind() {
        let tables = Tables::of_formats();
        let list = tables.fill(page("formats").text);
        for format in &FORMATS {
            let text = tables.fill(page(&format!("formats/{}", format.page)).text);
            assert!(list.contains(&format!("(formats/{}.md)", format.page)), "{}", format.name);
            assert!(text.contains(&format!("--format {} ", format.name)), "{} has no command", format.name);
            for kind in &KINDS {
                assert!(text.contains(&format!("\n| {} | ", kind.about)), "{}: {}", format.page, kind.about);
            }
        }
        for slug in PAGES.iter().filter_map(|page| page.slug.strip_prefix("formats/")) {
            assert!(FORMATS.iter().any(|format| format.page == slug), "{slug} is no format");
        }
    }

    /// A variable that the code reads and the page does not name would never be found.
    #[test]
    fn every_variable_is_documented() {
        let text = page("self-hosting").text;
        for part in include_str!("config.rs").split('"').chain(include_str!("logs.rs").split('"')) {
            let is_name = part.strip_prefix("TAXON_").is_some_and(|rest| {
                !rest.is_empty() && !rest.ends_with('_') && rest.chars().all(|c| c.is_ascii_uppercase() || c == '_')
            });
            assert!(!is_name || text.contains(&format!("`{part}`")), "docs/self-hosting.md does not name {part}");
        }
    }
}
