//! From Markdown to HTML: headings get the ids that GitHub gives them, links are resolved to their pages, and raw HTML is shown as text.

use std::collections::BTreeMap;

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

#[derive(Debug, Default)]
pub(super) struct Rendered {
    /// The first heading.
    pub(super) title: String,
    /// Id and words of each heading of the second level.
    pub(super) sections: Vec<(String, String)>,
    pub(super) html: String,
}

/// `linked` resolves a link; where it returns nothing, only the words are shown.
pub(super) fn render(text: &str, linked: &dyn Fn(&str) -> Option<String>) -> Rendered {
    let mut page = Rendered::default();
    let mut out: Vec<Event<'_>> = Vec::new();
    let mut heading: Option<Vec<Event<'_>>> = None;
    let mut is_link = false;
    let mut ids = Ids::default();
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        let event = match event {
            Event::Start(Tag::Heading { .. }) => {
                heading = Some(Vec::new());
                continue;
            }
            Event::End(TagEnd::Heading(level)) => {
                out.extend(finish(&mut page, &mut ids, level, heading.take().unwrap_or_default()));
                continue;
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => match linked(&dest_url) {
                Some(leads) => {
                    is_link = true;
                    Event::Start(Tag::Link { link_type, dest_url: leads.into(), title, id })
                }
                None => continue,
            },
            Event::End(TagEnd::Link) if !std::mem::take(&mut is_link) => continue,
            Event::Html(raw) | Event::InlineHtml(raw) => Event::Text(raw),
            Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
            Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
            Event::Start(Tag::Table(columns)) => {
                out.push(Event::Html("<div class=\"wide\">".into()));
                Event::Start(Tag::Table(columns))
            }
            Event::End(TagEnd::Table) => {
                out.push(Event::End(TagEnd::Table));
                Event::Html("</div>\n".into())
            }
            other => other,
        };
        heading.as_mut().unwrap_or(&mut out).push(event);
    }
    html::push_html(&mut page.html, out.into_iter());
    // A scrolling element must be focusable by keyboard. Text never holds a bare `<`.
    page.html = page.html.replace("<pre>", "<pre tabindex=\"0\">");
    page
}

/// A heading with its id and a link to itself.
fn finish<'a>(page: &mut Rendered, ids: &mut Ids, level: HeadingLevel, inside: Vec<Event<'a>>) -> Vec<Event<'a>> {
    let words: String = inside
        .iter()
        .filter_map(|event| match event {
            Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
            _ => None,
        })
        .collect();
    let id = ids.next(&words);
    match level {
        HeadingLevel::H1 if page.title.is_empty() => page.title = words,
        HeadingLevel::H2 => page.sections.push((id.clone(), words)),
        _ => {}
    }
    let itself = format!(" <a class=\"self\" href=\"#{id}\" aria-label=\"Link to this section\">#</a>");
    let start = Tag::Heading { level, id: Some(CowStr::from(id)), classes: Vec::new(), attrs: Vec::new() };
    let mut out = vec![Event::Start(start)];
    out.extend(inside);
    if level != HeadingLevel::H1 {
        out.push(Event::InlineHtml(itself.into()));
    }
    out.push(Event::End(TagEnd::Heading(level)));
    out
}

/// As GitHub makes them, so that a link with an anchor works there and here.
#[derive(Default)]
struct Ids(BTreeMap<String, usize>);

impl Ids {
    fn next(&mut self, words: &str) -> String {
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let id = words.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-");
        let count = self.0.entry(id.clone()).or_default();
        *count += 1;
        match *count {
            1 => id,
            more => format!("{id}-{}", more - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        render(text, &|href| href.starts_with('#').then(|| href.to_owned())).html
    }

    #[test]
    fn raw_html_is_shown_and_not_obeyed() {
        let out = html("a <b onclick=x>b</b>\n\n<script>alert(1)</script>\n\n| a |\n|---|\n| <img src=x> |\n");
        assert!(!out.contains("<script") && !out.contains("<b ") && !out.contains("<img"), "{out}");
        assert!(out.contains("&lt;script&gt;") && out.contains("&lt;img"), "{out}");
    }

    #[test]
    fn a_link_that_leads_nowhere_keeps_its_words() {
        let out = html("[good](#a), [bad](javascript:alert(1)), [good](#b)");
        assert_eq!(out, "<p><a href=\"#a\">good</a>, bad, <a href=\"#b\">good</a></p>\n");
    }

    #[test]
    fn headings_have_the_ids_that_github_gives_them() {
        let page = render("# One\n## What's `tx_not_found`, and why?\n## Two\n## Two\n### Three", &|_| None);
        let ids: Vec<&str> = page.sections.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!((page.title.as_str(), ids), ("One", vec!["whats-tx_not_found-and-why", "two", "two-1"]));
        assert!(page.html.contains("<h3 id=\"three\">Three"), "{}", page.html);
    }
}
