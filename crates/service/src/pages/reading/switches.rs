//! The policy switches: the caller's position on four questions. Turning one reads the transaction again.

use engine::Policy;
use engine::policy::{KEYS, PolicyKey, PolicyRow};
use maud::{Markup, html};

use super::Shown;

pub(super) fn section(shown: &Shown<'_>) -> Markup {
    let steps = shown.row.legs.iter().flatten().map(|step| step.category);
    let keys: Vec<PolicyKey> = std::iter::once(shown.row.category)
        .chain(steps)
        .filter_map(|category| shown.treatments.row(category).policy)
        .collect();
    let (governing, others): (Vec<&PolicyRow>, Vec<&PolicyRow>) = KEYS.iter().partition(|row| keys.contains(&row.key));
    html! {
        section.policy aria-labelledby="policy" {
            h2 id="policy" { "Read it another way" }
            form method="get" action=(shown.here) autocomplete="off" {
                (chain(shown))
                @if let Some(wallet) = shown.asked_wallet { input type="hidden" name="wallet" value=(wallet); }
                @if governing.is_empty() { p.quiet { "None of the four open questions governs this transaction." } }
                @else {
                    p { "On this question both sides are defensible, and the choice is yours. Make it once per book, not per transaction. A choice reads the transaction again." }
                    @if shown.row.needs_review { p { "While a person must look, a switch moves only the leaning." } }
                }
                @for switch in governing { (choice(switch, shown.policy)) }
                details {
                    summary { "Questions that do not touch this transaction" }
                    @for switch in others { (choice(switch, shown.policy)) }
                }
                button type="submit" { "Read again" }
            }
            (another_wallet(shown))
        }
    }
}

/// A hash may exist on several chains: the form keeps the one that was read.
fn chain(shown: &Shown<'_>) -> Markup {
    html! { @if let Some(chain) = &shown.row.chain { input type="hidden" name="chain" value=(chain); } }
}

/// The same hash reads differently for its sender and for its recipient. Choices that were made are kept.
fn another_wallet(shown: &Shown<'_>) -> Markup {
    let chosen = KEYS.iter().filter_map(|row| {
        let choice = row.choice_of(shown.policy.chosen(row.key)?)?;
        Some((row.name, choice.name))
    });
    html! {
        form method="get" action=(shown.here) {
            (chain(shown))
            @for (name, value) in chosen { input type="hidden" name=(name) value=(value); }
            p.choice {
                label for="another-wallet" { "Read it from another wallet's side" }
                input id="another-wallet" type="text" name="wallet" value=[shown.asked_wallet] required
                    spellcheck="false" autocapitalize="off" placeholder="an address that took part";
            }
            button type="submit" { "Read for this wallet" }
        }
    }
}

fn choice(switch: &PolicyRow, policy: Policy) -> Markup {
    let chosen = policy.chosen(switch.key);
    let id = format!("policy-{}", switch.name);
    html! {
        p.choice {
            label for=(id) { (switch.question) }
            select id=(id) name=(switch.name) data-submit {
                @for (at, choice) in switch.choices.iter().enumerate() {
                    option value=(choice.name) selected[chosen.map_or(at == 0, |chosen| chosen == choice.treatment)] {
                        (choice.label) @if at == 0 { " (house default)" }
                    }
                }
            }
        }
    }
}
