//! What moved, leg by leg and in full precision.

use engine::Account;
use engine::asset::NftKind;
use engine::classification::{Action, AssetLeg, Assets};
use maud::{Markup, html};

use crate::pages::parts::{amount, amount_within, badge, short, text_within};

/// Legs listed on each side.
const LEGS_LISTED_MAX: usize = 60;

/// Up to so many legs, the names of their tokens have all the room that they need.
const LEGS_ROOMY_MAX: usize = 12;

/// Characters of a token's symbol or name, where there is room and where there are many legs.
const NAME_CHARS_MAX: usize = 64;
const NAME_OF_MANY_CHARS_MAX: usize = 20;

/// Legs listed in the line under a step.
const STEP_LEGS_MAX: usize = 4;

/// The two sides beside each other, and gas below.
pub(super) fn sides(assets: &Assets) -> Markup {
    html! {
        div.sides {
            (side("Went out", "−", "out", &assets.sent))
            (side("Came in", "+", "in", &assets.received))
        }
        @match &assets.gas {
            Some(gas) => p.gas { span.quiet { "Network fee" } " " (amount(gas)) },
            None => p.gas { span.quiet { "Network fee: none paid by this wallet" } },
        }
    }
}

fn side(heading: &str, sign: &str, class: &str, legs: &[AssetLeg]) -> Markup {
    let more = legs.len().saturating_sub(LEGS_LISTED_MAX);
    let chars_max = if legs.len() > LEGS_ROOMY_MAX { NAME_OF_MANY_CHARS_MAX } else { NAME_CHARS_MAX };
    html! {
        div class=(class) {
            h3 { (heading) }
            @if legs.is_empty() { p.quiet { "Nothing" } }
            @else { ul.legs { @for leg in legs.iter().take(LEGS_LISTED_MAX) { (listed(sign, leg, chars_max)) } } }
            @if more > 0 { p.quiet { "and " (more) " more, in the answer of the API." } }
        }
    }
}

fn listed(sign: &str, leg: &AssetLeg, chars_max: usize) -> Markup {
    let is_special = leg.symbol_collision || leg.inferred || leg.token_type.is_some();
    html! {
        li {
            p.sum { span.sign { (sign) } "\u{a0}" (amount_within(leg, chars_max)) }
            @if is_special {
                p.badges {
                    @if leg.symbol_collision { (badge("alarm", "⚠ Look-alike: not the known token of this symbol")) }
                    @if leg.inferred { (badge("needs_review", "Amount inferred")) }
                    @if let Some(kind) = leg.token_type { (badge("plain", nft(kind))) }
                }
            }
            dl {
                @if leg.token_name.is_some() || leg.token_address.is_some() {
                    dt { "Token" }
                    dd {
                        @if let Some(name) = &leg.token_name { (text_within(name, chars_max)) " " }
                        @if let Some(contract) = &leg.token_address { (short(&contract.to_string())) }
                    }
                }
                @if let Some(to) = &leg.to { (party("To", to, (leg.action == Action::Burned).then_some("burned"))) }
                @if let Some(from) = &leg.from {
                    (party("From", from, (leg.action == Action::Minted).then_some("newly minted")))
                }
                @if leg.decimals.is_none() && leg.token_type.is_none() {
                    dt { "Unit" }
                    dd { "raw count: the token does not tell its decimals" }
                }
                @if let Some(basis) = leg.inferred_basis {
                    dt { "Method" }
                    dd { code { (basis) } }
                }
            }
        }
    }
}

fn party(word: &str, account: &Account, how: Option<&str>) -> Markup {
    html! {
        dt { (word) }
        dd {
            @if account.is_zero() { "nobody, " }
            @if let Some(how) = how { (how) " " }
            (short(&account.to_string()))
        }
    }
}

fn nft(kind: NftKind) -> &'static str {
    match kind {
        NftKind::Erc721 => "NFT (ERC-721)",
        NftKind::Erc1155 => "NFT (ERC-1155)",
        NftKind::Erc6909 => "token (ERC-6909)",
        NftKind::Cryptopunk => "NFT (CryptoPunk)",
        NftKind::SplNft => "NFT (SPL)",
        NftKind::CompressedNft => "NFT (compressed)",
    }
}

/// The legs of one step, in a line.
pub(super) fn line(assets: &Assets) -> Markup {
    let sides = [("−", "out", &assets.sent), ("+", "in", &assets.received)];
    let count = assets.sent.len().saturating_add(assets.received.len());
    let more = count.saturating_sub(STEP_LEGS_MAX);
    let legs = sides.into_iter().flat_map(|(sign, class, legs)| legs.iter().map(move |leg| (sign, class, leg)));
    html! {
        @if count > 0 {
            ul.step-legs {
                @for (sign, class, leg) in legs.take(STEP_LEGS_MAX) {
                    li class=(class) {
                        span.sign { (sign) } "\u{a0}" (amount_within(leg, NAME_OF_MANY_CHARS_MAX))
                        @if leg.symbol_collision { " " (badge("alarm", "⚠ Look-alike")) }
                    }
                }
                @if more > 0 { li.quiet { "and " (more) " more" } }
            }
        }
    }
}
