//! What an accountant checks of any answer: every unit is posted once, steps add up, the headline hides nothing taxable, and entries fit what
//! they are posted under. The cases of packs, the property tests and the fuzzers hold every answer to it.

use std::collections::BTreeMap;

use alloy_primitives::U256;

use crate::asset::Account;
use crate::category::Category;
use crate::classification::{AssetLeg, Assets, Classification, Entry, Posting, Side};
use crate::treatment::Treatment;

/// Everything that is wrong with the books of an answer, in words.
pub fn faults(answer: &Classification) -> Vec<String> {
    let Some(postings) = &answer.postings else {
        return if answer.error.is_some() { Vec::new() } else { vec!["nothing is posted".to_owned()] };
    };
    let mut found = Vec::new();
    found.extend(unbalanced(answer, postings));
    if !answer.needs_review {
        found.extend(steps_off(answer));
        found.extend(headline_off(answer, postings));
        found.extend(
            postings
                .iter()
                .filter(|posting| !fits(posting))
                .map(|posting| format!("`{}` is posted under `{}`", posting.entry.name(), posting.treatment.name())),
        );
        found.extend(one_sided(postings));
        if postings.iter().any(|posting| posting.entry == Entry::Open) {
            found.push("something is open, and nobody is asked to look".to_owned());
        }
    }
    found
}

fn unbalanced(answer: &Classification, postings: &[Posting]) -> Option<String> {
    let mut left: BTreeMap<(Side, usize), U256> = BTreeMap::new();
    let sides = [(Side::Sent, &answer.assets.sent), (Side::Received, &answer.assets.received)];
    for (side, legs) in sides {
        for (at, leg) in legs.iter().enumerate() {
            left.insert((side, at), raw(&leg.amount, leg.decimals)?);
        }
    }
    for posting in postings.iter().filter(|posting| posting.side != Side::Gas) {
        let legs = if posting.side == Side::Sent { &answer.assets.sent } else { &answer.assets.received };
        let amount = legs.get(posting.index).and_then(|leg| raw(&posting.amount, leg.decimals));
        let of_leg = left.get_mut(&(posting.side, posting.index));
        match (of_leg, amount) {
            (Some(of_leg), Some(amount)) if amount <= *of_leg => *of_leg = of_leg.saturating_sub(amount),
            _ => return Some("more is posted than moved".to_owned()),
        }
    }
    left.values().any(|left| !left.is_zero()).then(|| "less is posted than moved".to_owned())
}

/// What an asset is in an answer.
type AssetKey = (Option<Account>, Option<String>);

/// Over all steps, each asset nets to the legs of the whole.
fn steps_off(answer: &Classification) -> Option<String> {
    let steps = answer.legs.as_ref()?;
    let (mut ahead, mut back): (BTreeMap<AssetKey, U256>, BTreeMap<AssetKey, U256>) = Default::default();
    let mut add = |assets: &Assets, is_whole: bool| {
        let mut sum = |legs: &[AssetLeg], is_sent: bool| {
            for leg in legs {
                let sums = if is_sent == is_whole { &mut back } else { &mut ahead };
                let amount = raw(&leg.amount, leg.decimals).unwrap_or_default();
                let total = sums.entry((leg.token_address, leg.token_id.clone())).or_default();
                *total = total.saturating_add(amount);
            }
        };
        sum(&assets.sent, true);
        sum(&assets.received, false);
    };
    steps.iter().for_each(|step| add(&step.assets, false));
    add(&answer.assets, true);
    (ahead != back).then(|| "the steps do not add up to the whole".to_owned())
}

/// `taxable: false` is a finding about every part but gas and fees.
fn headline_off(answer: &Classification, postings: &[Posting]) -> Option<String> {
    let is_hidden = |posting: &Posting| posting.taxable == Some(true) && posting.entry != Entry::Expense;
    let hides = answer.taxable == Some(false) && postings.iter().any(is_hidden);
    hides.then(|| "something taxable is under a headline that says there is nothing".to_owned())
}

fn fits(posting: &Posting) -> bool {
    use Entry::{
        Acquire, Borrow, CarryIn, CarryOut, Dispose, Expense, Ignore, Income, Lock, Mirror, MoveIn, MoveOut, Open,
        Repay, Unlock,
    };
    match posting.treatment {
        Treatment::Disposal => matches!(posting.entry, Dispose | Acquire),
        // A voucher may be given up for income.
        Treatment::Income => matches!(posting.entry, Income | Dispose),
        Treatment::Expense => matches!(posting.entry, Expense),
        Treatment::NonTaxable => match posting.entry {
            CarryOut | CarryIn | MoveOut | MoveIn | Lock | Unlock | Borrow | Repay | Mirror | Ignore => true,
            // What is free has no cost.
            Acquire => posting.category == Category::NftMint,
            Dispose | Income | Expense | Open => false,
        },
        Treatment::NeedsReview => posting.entry == Open,
    }
}

/// Cost that leaves arrives somewhere, and what is sold is sold for something, unless the other side moves elsewhere.
fn one_sided(postings: &[Posting]) -> Vec<String> {
    let has = |entry: Entry| postings.iter().any(|posting| posting.entry == entry);
    let mut found = Vec::new();
    if has(Entry::CarryOut) && !has(Entry::CarryIn) {
        found.push("cost is carried out and nothing takes it on".to_owned());
    }
    let is_alone = |posting: &&Posting| posting.entry == Entry::Dispose && !sells_for_nothing_here(posting.category);
    if !has(Entry::Acquire)
        && let Some(posting) = postings.iter().find(is_alone)
    {
        found.push(format!("`{}` disposes and acquires nothing", posting.category.name()));
    }
    found
}

/// The other side is a service, another chain, an earlier or later transaction, a position without a token, or a debt.
fn sells_for_nothing_here(category: Category) -> bool {
    matches!(
        category,
        Category::Payment
            | Category::BridgeSwap
            | Category::TokenSale
            | Category::LiquidityAdd
            | Category::LiquidityRemove
            | Category::LiquidStakingRedeem
            | Category::Liquidation
            | Category::Swap
            | Category::NftPurchase
            | Category::NftSale
            | Category::Reward
            | Category::Interest
            | Category::Airdrop
            | Category::IncomeReceipt
    )
}

/// The integer behind an exact decimal.
fn raw(text: &str, decimals: Option<u8>) -> Option<U256> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let places = usize::from(decimals.unwrap_or(0)).checked_sub(fraction.len())?;
    let digits: String = [whole, fraction].concat().chars().chain(std::iter::repeat_n('0', places)).collect();
    U256::from_str_radix(&digits, 10).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_is_read_back_to_the_last_digit() {
        let cases = [
            ("0", Some(18), "0"),
            ("1.5", Some(18), "1500000000000000000"),
            ("12", None, "12"),
            ("0.01", Some(2), "1"),
        ];
        for (text, decimals, digits) in cases {
            assert_eq!(raw(text, decimals).map(|raw| raw.to_string()).as_deref(), Some(digits), "{text}");
        }
        assert_eq!(raw("0.001", Some(2)), None);
    }
}
