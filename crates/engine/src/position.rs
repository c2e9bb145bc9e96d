//! The position that a law and the caller's policy take on one reading, and the one not taken. Policy sees the reading only, and never
//! overrides a review.

use crate::adjudicate::Reading;
use crate::belief::is_only_word;
use crate::category::Category;
use crate::legs::{Direction, Leg};
use crate::opinion::{Opinion, Perhaps, Strength};
use crate::policy::Policy;
use crate::question::Question;
use crate::scene::Scene;
use crate::treatment::{LedgerAction, Treatment};
use crate::treatments::{Condition, Grey, GreySide, TreatmentRow, Treatments};

/// What the reading knows that the table's conditions ask for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Circumstances {
    pub all_parties_own: bool,
    pub paid: bool,
    pub claimed_by_wallet: bool,
    pub incoming: bool,
    pub verified: bool,
    pub out: bool,
    pub another_token_may_arrive: bool,
    pub one_family: bool,
    pub repaid_otherwise: bool,
    pub only_word: bool,
    pub perhaps: Option<Perhaps>,
}

/// The position taken, and the one not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position<'a> {
    pub treatment: Treatment,
    pub ledger_action: LedgerAction,
    /// What it rests on, where it is the table's own position.
    pub basis: Option<&'a str>,
    pub grey: Option<GreyPosition<'a>>,
}

/// The other position that can be defended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GreyPosition<'a> {
    pub note: &'a str,
    pub treatment: Treatment,
    pub label: &'a str,
}

pub fn position<'a>(
    treatments: &'a Treatments,
    category: Category,
    policy: &Policy,
    facts: Circumstances,
) -> Position<'a> {
    let row = treatments.row(category);
    let perhaps = facts.perhaps.and_then(|perhaps| treatments.perhaps(perhaps));
    let default = default_position(row, facts, perhaps);
    // No policy makes untaxed what only a stranger says.
    let is_heard = |chosen: &Treatment| !facts.only_word || *chosen != Treatment::NonTaxable;
    let chosen = row.policy.and_then(|key| policy.chosen(key)).filter(is_heard);
    match (chosen, &row.grey) {
        (Some(treatment), Some(grey)) if treatment == grey.alternate.treatment && default.grey.is_some() => Position {
            treatment,
            ledger_action: grey.alternate.ledger_action.unwrap_or(LedgerAction::Review),
            basis: None,
            grey: Some(GreyPosition {
                note: &grey.note,
                treatment: default.treatment,
                label: default_label(default.treatment),
            }),
        },
        _ => default,
    }
}

fn default_position<'a>(row: &'a TreatmentRow, facts: Circumstances, perhaps: Option<&'a Grey>) -> Position<'a> {
    let instead = row.instead.iter().find(|instead| holds(instead.when, facts));
    let (treatment, ledger_action) =
        instead.map_or((row.treatment, row.ledger_action), |instead| (instead.treatment, instead.ledger_action));
    let shown = row.grey.as_deref().filter(|grey| grey.when.is_none_or(|condition| holds(condition, facts)));
    let shown = shown.or(perhaps.filter(|grey| grey.alternate.treatment != treatment));
    Position {
        treatment,
        ledger_action,
        basis: (treatment == row.treatment).then_some(&row.basis),
        grey: shown.map(|grey| {
            let side = side(grey, facts);
            GreyPosition { note: &grey.note, treatment: side.treatment, label: &side.label }
        }),
    }
}

fn side(grey: &Grey, facts: Circumstances) -> &GreySide {
    let instead = grey.instead.iter().find(|(condition, _)| holds(*condition, facts));
    instead.map_or(&grey.alternate, |(_, side)| side)
}

fn holds(condition: Condition, facts: Circumstances) -> bool {
    match condition {
        Condition::OtherPartyUnknown => !facts.all_parties_own,
        Condition::PayeeByShape => !facts.verified,
        Condition::NotClaimedByWallet => !facts.claimed_by_wallet,
        Condition::Free => !facts.paid,
        Condition::AnotherTokenArrives => facts.another_token_may_arrive,
        Condition::OneFamily => facts.one_family,
        Condition::RepaidAssetDiffers => facts.repaid_otherwise,
        Condition::LockReceipt => facts.incoming,
        Condition::BothWays => facts.out && facts.incoming,
        Condition::OnlySent => facts.out && !facts.incoming,
        Condition::OnlyReceived => facts.incoming && !facts.out,
        Condition::SomethingSent => facts.out,
    }
}

fn default_label(treatment: Treatment) -> &'static str {
    match treatment {
        Treatment::Disposal => "Disposal, the house default",
        Treatment::Income => "Income at receipt, the house default",
        Treatment::NonTaxable => "Not a taxable event, the house default",
        Treatment::Expense => "Expense, the house default",
        Treatment::NeedsReview => "Review, the house default",
    }
}

/// What the table's conditions ask, for the whole transaction or for one claim in it.
pub fn circumstances(
    scene: &Scene<'_>,
    reading: &Reading,
    question: &Question,
    claim: Option<&Opinion>,
) -> Circumstances {
    let counts = |at: usize| claim.is_none_or(|claim| claim.explains.contains(at));
    let legs = || scene.legs.iter().enumerate().filter(|(at, _)| counts(*at)).map(|(_, leg)| leg);
    let out = |leg: &Leg| leg.direction == Direction::Out;
    let any_claim = |is: &dyn Fn(&Opinion) -> bool| claim.map_or_else(|| reading.claims.iter().any(is), is);
    Circumstances {
        all_parties_own: legs().all(|leg| scene.is_own_move(leg, question)),
        paid: legs().any(|leg| out(leg) && !leg.asset.is_nft()),
        claimed_by_wallet: scene.acts,
        incoming: legs().any(|leg| leg.direction == Direction::In),
        verified: claim.map_or(reading.strength, |claim| claim.strength) == Strength::Verified,
        out: legs().any(out),
        another_token_may_arrive: any_claim(&|claim| claim.may_exchange),
        one_family: any_claim(&|claim| claim.is_one_family),
        repaid_otherwise: any_claim(&|claim| claim.is_repaid_otherwise),
        only_word: any_claim(&|claim| is_only_word(scene, claim)),
        perhaps: claim.map_or_else(|| reading.claims.iter().find_map(|claim| claim.perhaps), |claim| claim.perhaps),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::category::TABLE;
    use crate::policy::KEYS;

    fn all_policies() -> impl Iterator<Item = Policy> {
        let values = ["disposal", "non_taxable", "income", "defer", "nonsense"];
        KEYS.iter().map(|row| row.name).chain(["unheard_of"]).flat_map(move |key| {
            values.into_iter().map(move |value| {
                let mut policy = Policy::default();
                policy.set(key, value);
                policy
            })
        })
    }

    #[test]
    fn policy_is_total_and_moves_only_what_it_governs() {
        let us = Treatments::us().expect("treatments/us.toml loads");
        for row in TABLE {
            let default = position(&us, row.category, &Policy::default(), Circumstances::default());
            for policy in all_policies() {
                let chosen = position(&us, row.category, &policy, Circumstances::default());
                if chosen != default {
                    let alternate = chosen.grey.as_ref().expect("a flip always shows the position not taken");
                    assert!(us.row(row.category).policy.is_some(), "{}", row.name);
                    assert_eq!(alternate.treatment, default.treatment);
                    assert_ne!(chosen.treatment, default.treatment);
                }
            }
        }
    }

    #[test]
    fn a_flip_books_as_the_contract_says() {
        let us = Treatments::us().expect("treatments/us.toml loads");
        let cases = [
            ("lp", "non_taxable", Category::LiquidityAdd, LedgerAction::CarryBasis),
            ("wrap", "disposal", Category::Unwrap, LedgerAction::DisposeAndAcquire),
            ("lst", "non_taxable", Category::LiquidStakingMint, LedgerAction::CarryBasis),
            ("staking", "defer", Category::StakingRebase, LedgerAction::NoEntry),
        ];
        for (key, value, category, action) in cases {
            let mut policy = Policy::default();
            policy.set(key, value);
            assert_eq!(
                position(&us, category, &policy, Circumstances::default()).ledger_action,
                action,
                "{key}={value}"
            );
        }
    }

    #[test]
    fn what_is_left_of_a_flash_loan_decides_it() {
        let us = Treatments::us().expect("treatments/us.toml loads");
        let left = |out, incoming| {
            let facts = Circumstances { out, incoming, ..Circumstances::default() };
            position(&us, Category::FlashLoan, &Policy::default(), facts).treatment
        };
        assert_eq!(left(true, true), Treatment::Disposal);
        assert_eq!(left(true, false), Treatment::Expense);
        assert_eq!(left(false, true), Treatment::Income);
        assert_eq!(left(false, false), Treatment::NonTaxable);
    }
}
