//! Plain words for the answer. Token text is untrusted and passed on unchanged: the code that renders it must escape it.

mod words;

use crate::asset::Account;
use crate::category::Category;
use crate::classification::{AssetLeg, Assets};
use crate::legs::Direction;
use crate::scene::Doubt;
use crate::treatment::Treatment;

/// Legs listed by name in one sentence; the rest are counted.
const LISTED_MAX: usize = 4;
/// Capacity of a description, so that it is not reallocated while it is written.
const SENTENCES_BYTES_LIKELY: usize = 192;

/// One part of a transaction: what happened, where, and what it comes to.
#[derive(Debug, Clone, Copy)]
pub struct Told<'a> {
    pub category: Category,
    pub assets: &'a Assets,
    pub protocol: Option<&'a str>,
    pub treatment: Treatment,
    pub basis: Option<&'a str>,
}

pub fn description(told: &Told<'_>, needs_review: bool) -> String {
    let mut text = happened(told);
    text.push(' ');
    if needs_review {
        push_leaning(&mut text, told.treatment);
    } else {
        push_consequence(&mut text, told.treatment, told.basis);
    }
    text
}

/// What happened, without what it comes to.
pub fn happened(told: &Told<'_>) -> String {
    let mut text = String::with_capacity(SENTENCES_BYTES_LIKELY);
    push_action(&mut text, told);
    text.push('.');
    text
}

/// Known parts are concatenated without formatting: most of an answer's cost is its text.
fn push(text: &mut String, parts: &[&str]) {
    parts.iter().for_each(|part| text.push_str(part));
}

const OPEN: &str = "A person decides the treatment.";

/// While a person has yet to decide, the treatment is only a hint.
fn push_leaning(text: &mut String, treatment: Treatment) {
    let to = match treatment {
        Treatment::Disposal => "a disposal",
        Treatment::Income => "income",
        Treatment::NonTaxable => "no taxable event",
        Treatment::Expense => "an expense",
        Treatment::NeedsReview => return text.push_str(OPEN),
    };
    push(text, &["A person decides the treatment; the leaning is to ", to, "."]);
}

/// The phrase with its legs. The protocol is named where the phrase has a place for it or its first pause, else at its end.
fn push_action(text: &mut String, told: &Told<'_>) {
    let (sent, received) = (&told.assets.sent, &told.assets.received);
    let phrases = words::of(told.category);
    let mut rest = match (sent.is_empty(), received.is_empty()) {
        (false, false) => phrases.both,
        (false, true) => phrases.out,
        (true, false) => phrases.incoming,
        (true, true) => phrases.none,
    };
    let mut protocol = told.protocol;
    while let Some((before, after)) = rest.split_once('{') {
        push_words(text, before, &mut protocol);
        let (which, after) = after.split_once('}').unwrap_or((after, ""));
        match which {
            "exchange" => text.push_str(protocol.take().unwrap_or("an exchange")),
            "out" => push_legs(text, sent),
            _ => push_legs(text, received),
        }
        rest = after;
    }
    push_words(text, rest, &mut protocol);
    if let Some(name) = protocol {
        push(text, &[" on ", name]);
    }
}

/// Words between two places, with the protocol's name where they pause and it is not told yet.
fn push_words(text: &mut String, words: &str, protocol: &mut Option<&str>) {
    let pause = || words.bytes().position(|byte| matches!(byte, b':' | b';'));
    let (before, after) = protocol.and_then(|_| words.split_at_checked(pause()?)).unwrap_or((words, ""));
    text.push_str(before);
    if !after.is_empty() {
        push(text, &[" on ", protocol.take().unwrap_or_default(), after]);
    }
}

/// A position of the table is told with what it rests on.
fn push_consequence(text: &mut String, treatment: Treatment, basis: Option<&str>) {
    let said = match treatment {
        Treatment::Disposal => "A taxable disposal",
        Treatment::Income => "Taxable income",
        Treatment::NonTaxable => "Not a taxable event",
        Treatment::Expense => "An expense, paid by disposing of crypto",
        Treatment::NeedsReview => return text.push_str(OPEN),
    };
    match basis {
        Some(basis) => push(text, &[said, " (", basis, ")."]),
        None => push(text, &[said, "."]),
    }
}

/// `1.5 WETH, 2 UNI and 3 more`.
fn push_legs(text: &mut String, legs: &[AssetLeg]) {
    let named = legs.len().min(LISTED_MAX);
    let more = legs.len().saturating_sub(LISTED_MAX);
    for (at, leg) in legs.iter().take(LISTED_MAX).enumerate() {
        let is_last = at.saturating_add(1) == named && more == 0;
        text.push_str(match at {
            0 => "",
            _ if is_last => " and ",
            _ => ", ",
        });
        push_leg(text, leg);
    }
    if more > 0 {
        push(text, &[" and ", &more.to_string(), " more"]);
    }
}

/// What moved, and with whom: `5 WETH sent to 0x12…; 10 DAI received from 0x34…`.
pub fn parties(assets: &Assets) -> String {
    let told = |leg: &AssetLeg, [done, word]: [&str; 2], other: Option<&Account>| {
        let mut text = String::with_capacity(LEG_BYTES_LIKELY);
        push_leg(&mut text, leg);
        push(&mut text, &[" ", done]);
        if let Some(other) = other.filter(|other| !other.is_zero()) {
            push(&mut text, &[" ", word, " ", &other.to_string()]);
        }
        text
    };
    let sent = assets.sent.iter().map(|leg| told(leg, ["sent", "to"], leg.to.as_ref()));
    let received = assets.received.iter().map(|leg| told(leg, ["received", "from"], leg.from.as_ref()));
    let all: Vec<String> = sent.chain(received).collect();
    let more = all.len().saturating_sub(LISTED_MAX);
    let listed = all.get(..LISTED_MAX).unwrap_or(&all).join("; ");
    match (listed.is_empty(), more) {
        (true, _) => "nothing moved for this wallet".to_owned(),
        (false, 0) => listed,
        (false, more) => format!("{listed}; and {more} more"),
    }
}

/// Capacity for an amount with eighteen decimals and a symbol.
const LEG_BYTES_LIKELY: usize = 40;

fn push_leg(text: &mut String, leg: &AssetLeg) {
    push_part(text, leg, &leg.amount);
}

/// So much of a leg.
pub fn push_part(text: &mut String, leg: &AssetLeg, amount: &str) {
    let symbol = leg.display_symbol.as_ref().unwrap_or(&leg.symbol);
    match &leg.token_id {
        Some(id) if amount == "1" => push(text, &[symbol, " #", id]),
        Some(id) => {
            push_amount(text, amount);
            push(text, &[" × ", symbol, " #", id]);
        }
        // Where the token does not tell its decimals, the amount is in its smallest unit.
        None => {
            let is_raw = leg.decimals.is_none() && leg.token_type.is_none();
            push_amount(text, amount);
            push(text, &[if is_raw { " base units of " } else { " " }, symbol]);
        }
    }
}

/// With a comma after each thousand.
fn push_amount(text: &mut String, amount: &str) {
    let mut rest = amount;
    let mut whole = amount.bytes().position(|byte| byte == b'.').unwrap_or(amount.len());
    while whole > 3 {
        let first = if whole.is_multiple_of(3) { 3 } else { whole % 3 };
        let Some((digits, further)) = rest.split_at_checked(first) else { break };
        push(text, &[digits, ","]);
        (rest, whole) = (further, whole.saturating_sub(first));
    }
    text.push_str(rest);
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
        Doubt::PassedOn(account) => format!("More than a tenth of what was traded went to {account}, which gave nothing for it: look whether it is a fee, or a payment of its own."),
        Doubt::OnTheWay(Direction::Out, account) => format!("More than a tenth of what went out by way of {account} stayed there, and no list knows that contract: look whether it was paid."),
        Doubt::OnTheWay(Direction::In, account) => format!("More than a tenth of what came in by way of {account} was its own, and no list knows that contract: look whether it paid the wallet."),
        Doubt::NettedIncome => "Something was earned and went out again in the same transaction, so that no amount here shows it. Look at the logs for what was claimed: it is income, and what it went into has its value as cost.".to_owned(),
        Doubt::Confidential => "A confidential transfer took part: its amounts are hidden on chain.".to_owned(),
        Doubt::Unsettled => "The chain alone does not decide what this comes to. Look at the protocol's own record of this position.".to_owned(),
        Doubt::AnothersPosition(other) => format!("The protocol names {other} as the owner, sender or recipient, and not this wallet: between two people it is a payment or a receipt. Where both are yours, name it in `own_wallets`."),
        Doubt::EffectsUnknown => "The node no longer knows what this transaction did.".to_owned(),
        Doubt::AccountsUnknown => "The node did not load all accounts that this transaction names.".to_owned(),
        Doubt::TooManyLogs(count) => format!("The transaction has {count} logs, more than are read."),
        Doubt::TooManyLegs(count) => format!("{count} assets moved for the wallet, more than are explained one by one."),
        Doubt::TooManyMovements(count) => format!("Assets moved {count} times into or out of the wallet, more often than is told apart."),
        Doubt::TooManyClaims => "The transaction holds more calls or claims than are looked at.".to_owned(),
        Doubt::Rival(one, other) => {
            format!("The evidence is as strong for `{}` as for `{}`, which are taxed differently.", one.name(), other.name())
        }
        Doubt::OutcomeUnknown => "The receipt is older than status codes and all gas was spent: the transaction may have failed.".to_owned(),
        Doubt::RebaseUnknown => "A token changed every balance in this transaction, and no node could tell what this wallet held before and after, or its shares moved in the same block. Look at the wallet's balance on both sides of the block.".to_owned(),
        Doubt::RebasedDown => "A token made every balance smaller in this transaction, this wallet's too, which is no movement. Look at how your books carry its cost.".to_owned(),
        Doubt::Underlogged(token) => format!("The token {token} moved more than it logs, as those do that spread a part of each transfer over all holders: what left the wallet is more than is shown. Look at its balance before and after."),
        Doubt::Inscribed => "The calldata is a text that does something with a token which only indexers outside the chain keep: what moved, and to whom, the chain does not tell. Look at the text.".to_owned(),
        Doubt::Unreadable(log) => format!("Log {log} says that something of this wallet's moved, in a form that no standard has. Look at what that contract did."),
        Doubt::FeeUnknown(why) => format!("No fee is stated: {why}"),
        Doubt::Caveat(says) => says.clone(),
        Doubt::AmountOverflow => "The logs claim amounts that add up to more than any ledger can hold, so no leg is stated.".to_owned(),
    }
}
