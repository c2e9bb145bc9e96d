//! What surrounds every page: navigation, contents, footer.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::markdown::Rendered;
use super::{CSS_PATH, DISCLAIMER, PAGES, PageSource, Place};

/// Further pages, served by other modules.
const REFERENCE: [(&str, &str); 2] = [("/docs/api", "API reference"), ("/openapi.json", "OpenAPI document")];

/// A page with fewer sections than this needs no table of contents.
const CONTENTS_MIN: usize = 3;

const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='3' fill='%230b5d57'/%3E%3Cpath d='M4 4h8v2H9v7H7V6H4z' fill='%23fff'/%3E%3C/svg%3E";

pub(super) fn page(source: &PageSource, page: &Rendered, engine: &str) -> String {
    let markdown = format!("/docs/{}.md", source.slug);
    let title = if source.slug == "index" { "taxon docs".to_owned() } else { format!("{} · taxon docs", page.title) };
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                link rel="stylesheet" href=(CSS_PATH);
                link rel="icon" href=(ICON);
                link rel="alternate" type="text/markdown" href=(markdown);
            }
            body {
                a.skip href="#content" { "Skip to the content" }
                header.top {
                    a.brand href="/" { "taxon" }
                    span { "reads blockchain transactions for tax" }
                    a.menu href="#pages" { "Pages" }
                }
                div.columns {
                    @if page.sections.len() >= CONTENTS_MIN {
                        nav.contents aria-label="On this page" {
                            p { "On this page" }
                            ul { @for (id, words) in &page.sections { li { a href={ "#" (id) } { (words) } } } }
                        }
                    }
                    main id="content" { (PreEscaped(&page.html)) }
                    // Behind the text, so that on a phone the page begins with what it is about.
                    nav.site id="pages" aria-label="Pages" { (navigation(source)) }
                }
                footer {
                    p { strong { (DISCLAIMER) } }
                    p { "taxon " (engine) " · " a href=(markdown) { "this page as Markdown" } }
                }
            }
        }
    };
    markup.into_string()
}

fn navigation(current: &PageSource) -> Markup {
    let placed: Vec<(&PageSource, &Place)> =
        PAGES.iter().filter_map(|page| Some((page, page.place.as_ref()?))).collect();
    let mut groups: Vec<&str> = placed.iter().map(|(_, place)| place.group).collect();
    groups.dedup();
    html! {
        @for group in groups {
            section {
                h2 { (group) }
                ul {
                    @for (page, place) in placed.iter().filter(|(_, place)| place.group == group) {
                        li { a href=(page.path()) aria-current=[(page.slug == current.slug).then_some("page")] { (place.name) } }
                    }
                }
            }
        }
        section {
            h2 { "Reference" }
            ul { @for (path, name) in REFERENCE { li { a href=(path) { (name) } } } }
        }
    }
}
