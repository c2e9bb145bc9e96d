//! One classification as a page: the verdict, then what moved, how it is booked, the steps, the other side of a grey area, and the evidence.

mod grey;
mod heard;
mod json;
mod legs;
mod postings;
mod switches;
#[cfg(test)]
mod tests;
mod verdict;

use engine::classification::Step;
use engine::treatment::Treatment;
use engine::{Category, Chain, Classification, Policy, Treatments};
use maud::{Markup, html};

use super::flow::flow;
use super::parts::{badge, copyable, prose, prose_within, short, spoken, taxable_words, text, time, treatment};

/// Steps that the page lists.
const STEPS_LISTED_MAX: usize = 24;

/// Up to so many steps, each is told whole.
const STEPS_ROOMY_MAX: usize = 6;

/// Characters of a step's description, where there is room and where there are many.
const STEP_CHARS_MAX: usize = 800;
const STEP_OF_MANY_CHARS_MAX: usize = 200;

/// What the page is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown<'a> {
    pub(crate) row: &'a Classification,
    /// The law that the row was read under.
    pub(crate) treatments: &'a Treatments,
    /// The chain that served; `None` when the row has no chain or it is no longer known.
    pub(crate) chain: Option<&'a Chain>,
    /// The policy that the row was read under.
    pub(crate) policy: Policy,
    /// The path of this page without its query: where the policy switches lead.
    pub(crate) here: &'a str,
    /// The wallet that was asked for, kept when a switch is turned.
    pub(crate) asked_wallet: Option<&'a str>,
}

/// The body of the page, without the frame. It begins with its `h1`.
pub(super) fn reading(shown: &Shown<'_>) -> Markup {
    let row = shown.row;
    html! {
        article class={ "reading " (verdict::tone(row)) } {
            (head(shown))
            @if row.error.is_none() {
                section.moved aria-labelledby="moved" {
                    h2 id="moved" { "What moved" }
                    (flow(row))
                    (legs::sides(&row.assets))
                }
                (postings::section(row))
                @if let Some(steps) = &row.legs { (steps_of(row, steps)) }
                (grey::section(row, shown.treatments))
                (heard::section(shown))
                (switches::section(shown))
            }
            (json::section(row))
        }
    }
}

fn head(shown: &Shown<'_>) -> Markup {
    let row = shown.row;
    html! {
        header.verdict {
            div.said {
                p.kicker { (verdict::kicker(row)) }
                h1 { (verdict::headline(row)) }
                (badges(row))
                @if let Some(description) = &row.description { p.lead { (prose(description)) } }
                @if let Some(note) = &row.review_note {
                    div.callout {
                        p { strong { (if row.error.is_some() { "What went wrong" } else { "Why a person must look" }) } }
                        p { (prose(note)) }
                    }
                }
                @if row.error.is_none() { (heard::score(row.confidence)) }
            }
            (facts(shown))
        }
    }
}

fn badges(row: &Classification) -> Markup {
    let collides = row.assets.sent.iter().chain(&row.assets.received).any(|leg| leg.symbol_collision);
    html! {
        p.badges {
            @if let Some(error) = row.error {
                a.badge.alarm href={ "/docs/errors#" (error) } { (error) }
                (badge("plain", "Not read: do not book it"))
            } @else {
                (badge(verdict::tone(row), taxable_words(row.taxable)))
                @if row.treatment != Treatment::NeedsReview {
                    a.badge.plain href="/docs/concepts#treatments" {
                        (if row.needs_review { "leaning " } else { "treatment " }) code { (row.treatment.name()) }
                    }
                }
                a.badge.plain href={ "/docs/categories#" (row.category.name()) } {
                    "category " code { (row.category.name()) }
                }
                @if row.category == Category::Spam { (badge("alarm", "⚠ Spam: do not book it")) }
                @if collides { (badge("alarm", "⚠ Look-alike symbol")) }
            }
        }
    }
}

fn facts(shown: &Shown<'_>) -> Markup {
    let row = shown.row;
    let chain = shown.chain.map(|chain| chain.name.as_str()).or(row.chain.as_deref());
    html! {
        dl.facts {
            @if let Some(block) = &row.block {
                dt { "When" }
                dd {
                    (time(&block.timestamp))
                    span.more {
                        (if shown.is_solana() { "Slot " } else { "Block " }) (block.number)
                        (if block.finalized { ", final" } else { ", not final yet: look again before you book it" })
                    }
                }
            }
            @if let Some(chain) = chain {
                dt { "Chain" }
                dd {
                    (chain)
                    @if let Some(corrected) = &row.chain_corrected {
                        span.more { "Asked for on " (text(&corrected.requested)) ", found here" }
                    }
                }
            }
            @if let Some(wallet) = &row.perspective {
                dt { "Wallet" }
                dd { (short(&wallet.to_string())) span.more { "Read from this wallet's side" } }
            }
            @if let Some(parties) = &row.parties {
                dt { "Moved for" }
                dd {
                    @for party in parties { (copyable(&party.to_string(), "address")) " " }
                    span.more { "If one of these is yours, read it from that side" }
                }
            }
            @if let Some(hash) = &row.hash {
                dt { "Transaction" }
                dd {
                    (copyable(hash, "transaction hash"))
                    @if let Some(address) = shown.explorer() { span.more { (outside(&address, "Open in the explorer")) } }
                }
            }
            @if let Some(protocol) = &row.protocol {
                dt { "Protocol" }
                dd { (text(protocol)) }
            }
            @if let Some(action) = row.ledger_action.filter(|_| row.error.is_none()) {
                dt { "Ledger" }
                dd { (verdict::action(action)) span.more { (verdict::booking(action)) } }
            }
        }
    }
}

fn steps_of(row: &Classification, steps: &[Step]) -> Markup {
    let more = steps.len().saturating_sub(STEPS_LISTED_MAX);
    let chars_max = if steps.len() > STEPS_ROOMY_MAX { STEP_OF_MANY_CHARS_MAX } else { STEP_CHARS_MAX };
    html! {
        section.steps aria-labelledby="steps" {
            h2 id="steps" { "Step by step" }
            p.quiet { "Post the steps or the whole, not both." }
            ol {
                @for step in steps.iter().take(STEPS_LISTED_MAX) {
                    li {
                        p.step {
                            strong { (spoken(step.category.name())) }
                            (badge("plain", &spoken(verdict::role(step.role))))
                            (treatment(step.treatment))
                            span.quiet { (taxable_words(step.taxable)) " · " (verdict::action(step.ledger_action)) }
                        }
                        p { (prose_within(&step.description, chars_max)) }
                        (legs::line(&step.assets))
                    }
                }
            }
            @if more > 0 { p.quiet { "and " (more) " more steps, in the answer as JSON." } }
            @if let Some(memo) = &row.memo {
                details.memo {
                    summary { "Posting memo for the whole" }
                    p { (prose(memo)) }
                }
            }
        }
    }
}

impl Shown<'_> {
    fn is_solana(&self) -> bool {
        self.chain.is_some_and(|chain| chain.family == engine::Family::Solana)
    }

    /// Where the explorer shows the transaction. An operator's chain file may hold anything, so only plain addresses count.
    fn explorer(&self) -> Option<String> {
        let base = self.chain?.explorer.as_deref()?.trim_end_matches('/');
        let hash = self.row.hash.as_deref()?;
        let is_web = base.starts_with("https://") || base.starts_with("http://");
        (is_web && hash.bytes().all(|byte| byte.is_ascii_alphanumeric())).then(|| format!("{base}/tx/{hash}"))
    }
}

/// A link that leaves the site.
fn outside(address: &str, words: &str) -> Markup {
    html! { a href=(address) rel="noreferrer noopener" { (words) " ↗" } }
}
