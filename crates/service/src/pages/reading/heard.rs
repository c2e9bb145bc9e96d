//! Confidence, and the sources that were heard: who agreed, who dissented, and where on chain each saw it.

use engine::classification::Evidence;
use engine::confidence::{BANDS, band};
use engine::opinion::Source;
use maud::{Markup, html};

use super::{Shown, outside};
use crate::pages::parts::text;

/// Pieces of evidence that the page lists on each side.
const EVIDENCE_LISTED_MAX: usize = 40;

pub(super) fn section(shown: &Shown<'_>) -> Markup {
    let row = shown.row;
    html! {
        section.confidence aria-labelledby="confidence" {
            h2 id="confidence" { "Evidence: who agreed, who dissented" }
            p { (band(row.confidence).about) " " span.quiet { "Confidence is a signal for routing, not a percentage of accuracy." } }
            @match &row.evidence {
                Some(evidence) if !evidence.is_empty() => {
                    div.columns-two {
                        (heard(shown, "Agreed", true, evidence))
                        (heard(shown, "Dissented", false, evidence))
                    }
                }
                Some(_) => p { "No source had anything to say about this transaction." },
                None => {}
            }
        }
    }
}

/// The number, its band in a word, and a bar.
pub(super) fn score(confidence: u8) -> Markup {
    html! {
        div.score {
            p { span.quiet { "Confidence " } strong { (confidence) } span.quiet { " of 100" } span.band { (band(confidence).name) } }
            (bar(confidence))
            p { a href="#confidence" { "Who agreed, who dissented" } }
        }
    }
}

/// A bar with the borders of the bands; the words beside it say the same.
fn bar(confidence: u8) -> Markup {
    html! {
        svg.bar viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" {
            rect.empty width="100" height="6" {}
            rect.full width=(confidence) height="6" {}
            @for border in BANDS.iter().map(|band| band.from).filter(|from| *from > 0) { rect.border x=(border) width="0.4" height="6" {} }
        }
    }
}

fn heard(shown: &Shown<'_>, heading: &str, agrees: bool, evidence: &[Evidence]) -> Markup {
    let rows: Vec<&Evidence> = evidence.iter().filter(|row| row.agrees == agrees).collect();
    let more = rows.len().saturating_sub(EVIDENCE_LISTED_MAX);
    let class = if agrees { "agreed" } else { "dissented" };
    html! {
        div class=(class) {
            h3 { (heading) " " span.quiet { "(" (rows.len()) ")" } }
            @if rows.is_empty() { p.quiet { "Nobody" } }
            ul.heard {
                @for row in rows.iter().take(EVIDENCE_LISTED_MAX) {
                    li {
                        p { strong { (source(row.source)) } " said " code { (row.says.name()) } }
                        p.quiet { code { (text(&row.rule)) } (place(shown, row)) }
                    }
                }
            }
            @if more > 0 { p.quiet { "and " (more) " more, in the answer as JSON." } }
        }
    }
}

fn source(source: Source) -> &'static str {
    match source {
        Source::Protocol => "A known contract or event",
        Source::Call => "What was asked for",
        Source::Shape => "The movements alone",
        Source::Labels => "A third party's label",
        Source::None => "No source",
    }
}

/// Where on chain it was seen, with a link to look there.
fn place(shown: &Shown<'_>, row: &Evidence) -> Markup {
    let seen = match (row.log_index, row.instruction_index) {
        (Some(log), _) => Some((format!("log {log}"), "#eventlog")),
        (None, Some(instruction)) => Some((format!("instruction {instruction}"), "")),
        (None, None) => None,
    };
    html! {
        @if let Some((words, anchor)) = seen {
            " at "
            // Explorers that know no such part of their page show its beginning.
            @match shown.explorer() {
                Some(address) => (outside(&format!("{address}{anchor}"), &words)),
                None => (words),
            }
        }
    }
}
