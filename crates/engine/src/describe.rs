//! Plain words for the answer. Token text is untrusted and passed on unchanged: the code that renders it must escape it.

use crate::category::Category;
use crate::classification::{AssetLeg, Assets};
use crate::scene::Doubt;
use crate::treatment::Treatment;

/// Legs listed by name in one sentence; the rest are counted.
const LISTED_MAX: usize = 4;
/// Capacity of a description, so that it is not reallocated while it is written.
const SENTENCES_BYTES_LIKELY: usize = 192;

pub fn description(
    category: Category,
    assets: &Assets,
    protocol: Option<&str>,
    treatment: Treatment,
    basis: Option<&str>,
    needs_review: bool,
) -> String {
    let mut text = String::with_capacity(SENTENCES_BYTES_LIKELY);
    push_action(&mut text, category, assets);
    if let Some(name) = protocol {
        push(&mut text, &[" on ", name]);
    }
    text.push_str(". ");
    text.push_str(&if needs_review { leaning(treatment) } else { consequence(treatment, basis) });
    text
}

/// Known parts are concatenated without formatting: most of an answer's cost is its text.
fn push(text: &mut String, parts: &[&str]) {
    parts.iter().for_each(|part| text.push_str(part));
}

/// While a person has yet to decide, the treatment is only a hint.
fn leaning(treatment: Treatment) -> String {
    let to = match treatment {
        Treatment::Disposal => "a disposal",
        Treatment::Income => "income",
        Treatment::NonTaxable => "no taxable event",
        Treatment::Expense => "an expense",
        Treatment::NeedsReview => return "A person decides the treatment.".to_owned(),
    };
    format!("A person decides the treatment; the leaning is to {to}.")
}

fn push_action(text: &mut String, category: Category, assets: &Assets) {
    let sent = list(&assets.sent);
    let received = list(&assets.received);
    let about = category.meaning().about.trim_end_matches('.');
    match (category, sent.as_deref(), received.as_deref()) {
        (Category::Swap, Some(sent), Some(got)) => push(text, &["Swapped ", sent, " for ", got]),
        (Category::Swap, None, Some(moved)) | (Category::Swap, Some(moved), None) => {
            push(text, &["An order was filled: ", moved, " against what moved when it was placed"]);
        }
        (Category::Wrap, Some(sent), Some(got)) => push(text, &["Wrapped ", sent, " into ", got]),
        (Category::Unwrap, Some(sent), Some(got)) => push(text, &["Unwrapped ", sent, " into ", got]),
        (Category::NftPurchase, Some(sent), Some(got)) => push(text, &["Bought ", got, " for ", sent]),
        (Category::NftSale, Some(sent), Some(got)) => push(text, &["Sold ", sent, " for ", got]),
        (Category::Transfer | Category::NftTransfer | Category::SelfTransfer, Some(sent), None) => {
            push(text, &["Sent ", sent]);
        }
        (Category::Transfer | Category::NftTransfer | Category::SelfTransfer, None, Some(got)) => {
            push(text, &["Received ", got]);
        }
        (Category::Unclassified, None, None) => {
            text.push_str("Nothing moved for this wallet, and what the call did is not known");
        }
        (Category::Unclassified, Some(sent), None) => push(text, &[sent, " left the wallet; what for is not clear"]),
        (Category::Unclassified, None, Some(got)) => push(text, &[got, " arrived; what for is not clear"]),
        (Category::Unclassified, Some(sent), Some(got)) => {
            push(text, &[sent, " left and ", got, " arrived; what for is not clear"]);
        }
        (_, Some(sent), Some(got)) => push(text, &[about, ": ", sent, " out, ", got, " in"]),
        (_, Some(sent), None) => push(text, &[about, ": ", sent, " out"]),
        (_, None, Some(got)) => push(text, &[about, ": ", got, " in"]),
        (_, None, None) => text.push_str(about),
    }
}

/// A position of the table is told with what it rests on.
fn consequence(treatment: Treatment, basis: Option<&str>) -> String {
    let said = match treatment {
        Treatment::Disposal => "A taxable disposal",
        Treatment::Income => "Taxable income",
        Treatment::NonTaxable => "Not a taxable event",
        Treatment::Expense => "An expense, paid by disposing of crypto",
        Treatment::NeedsReview => return "A person decides the treatment.".to_owned(),
    };
    match basis {
        Some(basis) => [said, " (", basis, ")."].concat(),
        None => [said, "."].concat(),
    }
}

/// `1.5 WETH, 2 UNI and 3 more`; `None` when there is nothing to list.
pub fn list(legs: &[AssetLeg]) -> Option<String> {
    let named = legs.len().min(LISTED_MAX);
    let more = legs.len().saturating_sub(LISTED_MAX);
    let mut text = String::with_capacity(named.saturating_mul(LEG_BYTES_LIKELY));
    for (at, leg) in legs.iter().take(LISTED_MAX).enumerate() {
        let is_last = at.saturating_add(1) == named && more == 0;
        text.push_str(match at {
            0 => "",
            _ if is_last => " and ",
            _ => ", ",
        });
        push_leg(&mut text, leg);
    }
    if more > 0 {
        push(&mut text, &[" and ", &more.to_string(), " more"]);
    }
    (!legs.is_empty()).then_some(text)
}

/// Capacity for an amount with eighteen decimals and a symbol.
const LEG_BYTES_LIKELY: usize = 40;

fn push_leg(text: &mut String, leg: &AssetLeg) {
    let symbol = leg.display_symbol.as_ref().unwrap_or(&leg.symbol);
    match &leg.token_id {
        Some(id) if leg.amount == "1" => push(text, &[symbol, " #", id]),
        Some(id) => push(text, &[&leg.amount, " × ", symbol, " #", id]),
        None => push(text, &[&leg.amount, " ", symbol]),
    }
}

/// Why a reading is left to a person when only the caller's floor requires it.
pub fn below_floor(confidence: u8, floor: u8) -> String {
    format!(
        "Readings with a confidence under {floor} are left to a person here, and this one has {confidence}: its category and treatment are the \
         leaning."
    )
}

pub fn doubt(doubt: &Doubt) -> String {
    match doubt {
        Doubt::InternalValueUnknown => "No node could show native coin passed on inside the transaction, so proceeds in the native coin may be missing.".to_owned(),
        Doubt::BalanceDelta => "A native amount was inferred by the method balance_delta (balance after the block less balance before it), which also holds whatever else that block did to the account.".to_owned(),
        Doubt::SeveralChains(others) => format!("The transaction carries no chain id and also stands on: {}.", others.join(", ")),
        Doubt::UnaskedChains(others) => format!("The transaction carries no chain id and may stand on further chains, whose nodes did not answer: {}. Ask again with `chain`.", others.join(", ")),
        Doubt::SeveralActors(actors) => {
            let named: Vec<String> = actors.iter().map(ToString::to_string).collect();
            format!("Several accounts act in this transaction; ask for one with `wallet`: {}.", named.join(", "))
        }
        Doubt::HandedOver => "The wallet, or an account of it, was given to somebody else.".to_owned(),
        Doubt::Mixed => "Beside what is known, the transaction moved something with somebody else.".to_owned(),
        Doubt::Confidential => "A confidential transfer took part: its amounts are hidden on chain.".to_owned(),
        Doubt::Unsettled => "What this comes to is not decided in this transaction alone.".to_owned(),
        Doubt::EffectsUnknown => "The node no longer knows what this transaction did.".to_owned(),
        Doubt::AccountsUnknown => "The node did not load all accounts that this transaction names.".to_owned(),
        Doubt::TooManyLogs(count) => format!("The transaction has {count} logs, more than are read."),
        Doubt::TooManyLegs(count) => format!("{count} assets moved for the wallet, more than are explained one by one."),
        Doubt::TooManyClaims => "The transaction holds more calls or claims than are looked at.".to_owned(),
        Doubt::Rival(one, other) => {
            format!("The evidence is as strong for `{}` as for `{}`, which are taxed differently.", one.name(), other.name())
        }
        Doubt::OutcomeUnknown => "The receipt is older than status codes and all gas was spent: the transaction may have failed.".to_owned(),
        Doubt::AmountOverflow => "The logs claim amounts that add up to more than any ledger can hold, so no leg is stated.".to_owned(),
    }
}
