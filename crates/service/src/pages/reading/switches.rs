//! The policy switches: the caller's position on four questions. Turning one reads the transaction again.

use engine::Policy;
use engine::category::{PolicyKey, Treatment};
use maud::{Markup, html};

use super::Shown;

struct Switch {
    key: PolicyKey,
    /// As the query names it.
    name: &'static str,
    question: &'static str,
    /// The house default first.
    options: [(Treatment, &'static str, &'static str); 2],
}

impl Switch {
    fn chosen(&self, policy: Policy) -> Option<Treatment> {
        match self.key {
            PolicyKey::Lp => policy.lp,
            PolicyKey::Wrap => policy.wrap,
            PolicyKey::Lst => policy.lst,
            PolicyKey::Staking => policy.staking,
        }
    }
}

const SWITCHES: [Switch; 4] = [
    Switch {
        key: PolicyKey::Lp,
        name: "lp",
        question: "Entering and leaving liquidity pools",
        options: [
            (Treatment::Disposal, "disposal", "A disposal"),
            (Treatment::NonTaxable, "non_taxable", "Not taxable, basis carried"),
        ],
    },
    Switch {
        key: PolicyKey::Wrap,
        name: "wrap",
        question: "Wrapping and unwrapping a coin",
        options: [
            (Treatment::NonTaxable, "non_taxable", "Not taxable, basis carried"),
            (Treatment::Disposal, "disposal", "A disposal"),
        ],
    },
    Switch {
        key: PolicyKey::Lst,
        name: "lst",
        question: "Liquid-staking tokens, minted and redeemed",
        options: [
            (Treatment::Disposal, "disposal", "A disposal"),
            (Treatment::NonTaxable, "non_taxable", "Not taxable, basis carried"),
        ],
    },
    Switch {
        key: PolicyKey::Staking,
        name: "staking",
        question: "Staking rewards by rebase",
        options: [
            (Treatment::Income, "income", "Income when received"),
            (Treatment::NonTaxable, "defer", "Deferred until disposal"),
        ],
    },
];

pub(super) fn section(shown: &Shown<'_>) -> Markup {
    let steps = shown.row.legs.iter().flatten().map(|step| step.category);
    let keys: Vec<PolicyKey> =
        std::iter::once(shown.row.category).chain(steps).filter_map(|category| category.row().policy).collect();
    let (governing, others): (Vec<&Switch>, Vec<&Switch>) = SWITCHES.iter().partition(|one| keys.contains(&one.key));
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

/// A hash may stand on several chains: the one that was read stays.
fn chain(shown: &Shown<'_>) -> Markup {
    html! { @if let Some(chain) = &shown.row.chain { input type="hidden" name="chain" value=(chain); } }
}

/// The same hash reads differently for its sender and for its recipient. Choices that were made are kept.
fn another_wallet(shown: &Shown<'_>) -> Markup {
    let chosen = SWITCHES.iter().filter_map(|switch| {
        let chosen = switch.chosen(shown.policy)?;
        switch.options.iter().find(|(treatment, ..)| *treatment == chosen).map(|(_, value, _)| (switch.name, *value))
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

fn choice(switch: &Switch, policy: Policy) -> Markup {
    let chosen = switch.chosen(policy);
    let id = format!("policy-{}", switch.name);
    html! {
        p.choice {
            label for=(id) { (switch.question) }
            select id=(id) name=(switch.name) data-submit {
                @for (at, (treatment, value, words)) in switch.options.iter().enumerate() {
                    option value=(value) selected[chosen.map_or(at == 0, |chosen| chosen == *treatment)] {
                        (words) @if at == 0 { " (house default)" }
                    }
                }
            }
        }
    }
}
