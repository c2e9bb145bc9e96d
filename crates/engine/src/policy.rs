//! The caller's house position on four two-sided treatments. Policy sees the reading only, and never overrides a review.

use serde::Deserialize;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType};
use utoipa::{PartialSchema, ToSchema};

use crate::category::{Category, Condition, Grey, LedgerAction, PolicyKey, Side, Treatment};

/// One choice per key; `None` is the platform default. The wording of the request is lenient by contract: unknown keys
/// and invalid values are ignored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Policy {
    pub lp: Option<Treatment>,
    pub wrap: Option<Treatment>,
    pub lst: Option<Treatment>,
    /// `NonTaxable` stands for `defer`.
    pub staking: Option<Treatment>,
}

impl Policy {
    /// Reads one `key=value`; what is not in the table is ignored.
    pub fn set(&mut self, key: &str, value: &str) {
        let two_sided = match value {
            "disposal" => Some(Treatment::Disposal),
            "non_taxable" => Some(Treatment::NonTaxable),
            _ => None,
        };
        let slot = match key {
            "lp" => &mut self.lp,
            "wrap" => &mut self.wrap,
            "lst" => &mut self.lst,
            "staking" => {
                match value {
                    "income" => self.staking = Some(Treatment::Income),
                    "defer" => self.staking = Some(Treatment::NonTaxable),
                    _ => {}
                }
                return;
            }
            _ => return,
        };
        *slot = two_sided.or(*slot);
    }

    fn choice(&self, key: PolicyKey) -> Option<Treatment> {
        match key {
            PolicyKey::Lp => self.lp,
            PolicyKey::Wrap => self.wrap,
            PolicyKey::Lst => self.lst,
            PolicyKey::Staking => self.staking,
        }
    }
}

impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = serde_json::Map::<String, serde_json::Value>::deserialize(deserializer)?;
        let mut policy = Self::default();
        for (key, value) in &entries {
            if let Some(value) = value.as_str() {
                policy.set(key, value);
            }
        }
        Ok(policy)
    }
}

/// Values of any kind are taken, and ignored when they are not in the table: the schema must not promise a refusal.
impl PartialSchema for Policy {
    fn schema() -> RefOr<Schema> {
        let key = |about: &str, values: [&str; 2]| {
            let [default, other] = values;
            let about = format!("{about} `{default}` (the house default) or `{other}`. Anything else is ignored.");
            ObjectBuilder::new().schema_type(SchemaType::AnyValue).description(Some(about)).examples(values)
        };
        ObjectBuilder::new()
            .description(Some(
                "The caller's position on four two-sided treatments. Every key is optional; unknown keys and values are ignored and never \
                 an error. The position not taken goes to `grey_area.alternate`. A policy never overrides `needs_review`.",
            ))
            .property("lp", key("Entry and exit of liquidity pools:", ["disposal", "non_taxable"]))
            .property("wrap", key("Wrapping and unwrapping of the same underlying:", ["non_taxable", "disposal"]))
            .property("lst", key("Minting and redeeming of liquid-staking tokens:", ["disposal", "non_taxable"]))
            .property("staking", key("Timing of rebase rewards only:", ["income", "defer"]))
            .into()
    }
}

impl ToSchema for Policy {
    fn name() -> std::borrow::Cow<'static, str> {
        "Policy".into()
    }
}

/// What the reading knows that the table's conditions ask for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Circumstances {
    pub all_parties_own: bool,
    pub paid: bool,
    pub claimed_by_wallet: bool,
    pub incoming: bool,
    pub verified: bool,
    /// What is left of a flash loan once borrow and repay have cancelled.
    pub out: bool,
}

/// The position taken, and the one not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub treatment: Treatment,
    pub ledger_action: LedgerAction,
    pub grey: Option<(&'static str, Side)>,
}

pub fn position(category: Category, policy: &Policy, facts: Circumstances) -> Position {
    let default = default_position(category, facts);
    let chosen = category.row().policy.and_then(|key| policy.choice(key));
    match (chosen, default.grey) {
        (Some(treatment), Some((note, side))) if treatment == side.treatment => Position {
            treatment,
            ledger_action: flipped_action(category, treatment),
            grey: Some((note, Side { treatment: default.treatment, label: default_label(default.treatment) })),
        },
        _ => default,
    }
}

fn default_position(category: Category, facts: Circumstances) -> Position {
    let row = category.row();
    let grey = match row.grey {
        Grey::Never => None,
        Grey::Always(note, side) => Some((note, side)),
        Grey::When(condition, note, side) => holds(condition, facts).then_some((note, side_for(category, side, facts))),
    };
    let (treatment, ledger_action) = match category {
        Category::NftMint if !facts.paid => (Treatment::NonTaxable, LedgerAction::NoEntry),
        Category::FlashLoan => flash_loan_remainder(facts),
        _ => (row.treatment, row.ledger_action),
    };
    Position { treatment, ledger_action, grey }
}

/// After borrow and repay cancel, a flash loan is whatever is left of it.
fn flash_loan_remainder(facts: Circumstances) -> (Treatment, LedgerAction) {
    match (facts.out, facts.incoming) {
        (true, true) => (Treatment::Disposal, LedgerAction::DisposeAndAcquire),
        (true, false) => (Treatment::Expense, LedgerAction::ExpenseFee),
        (false, true) => (Treatment::Income, LedgerAction::RecognizeIncome),
        (false, false) => (Treatment::NonTaxable, LedgerAction::NoEntry),
    }
}

fn holds(condition: Condition, facts: Circumstances) -> bool {
    match condition {
        Condition::OtherPartyUnknown => !facts.all_parties_own,
        Condition::PayeeByShape => !facts.verified,
        Condition::NotClaimedByWallet => !facts.claimed_by_wallet,
        Condition::Free => !facts.paid,
        // What arrives on the other chain, and what was borrowed before, is not in this transaction.
        Condition::AnotherTokenArrives | Condition::OneFamily | Condition::RepaidAssetDiffers => false,
        Condition::LockReceipt => facts.incoming,
    }
}

/// A transfer's other side depends on its direction: out it may be a payment, in it may be income.
fn side_for(category: Category, side: Side, facts: Circumstances) -> Side {
    match category {
        Category::Transfer if facts.incoming && !facts.out => {
            Side { treatment: Treatment::Income, label: "Income received from another person" }
        }
        Category::Transfer => Side { treatment: Treatment::Disposal, label: "Payment to another person" },
        _ => side,
    }
}

fn flipped_action(category: Category, treatment: Treatment) -> LedgerAction {
    match (category, treatment) {
        (Category::StakingRebase, Treatment::NonTaxable) => LedgerAction::NoEntry,
        (_, Treatment::Disposal) => LedgerAction::DisposeAndAcquire,
        (_, Treatment::NonTaxable) => LedgerAction::CarryBasis,
        (_, Treatment::Income) => LedgerAction::RecognizeIncome,
        (_, Treatment::Expense) => LedgerAction::ExpenseFee,
        (_, Treatment::NeedsReview) => LedgerAction::Review,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::category::TABLE;

    const CHOICES: [&str; 5] = ["disposal", "non_taxable", "income", "defer", "nonsense"];

    fn all_policies() -> impl Iterator<Item = Policy> {
        ["lp", "wrap", "lst", "staking", "unheard_of"].into_iter().flat_map(|key| {
            CHOICES.into_iter().map(move |value| {
                let mut policy = Policy::default();
                policy.set(key, value);
                policy
            })
        })
    }

    #[test]
    fn policy_is_total_and_moves_only_what_it_governs() {
        for row in TABLE {
            let default = position(row.category, &Policy::default(), Circumstances::default());
            for policy in all_policies() {
                let chosen = position(row.category, &policy, Circumstances::default());
                if chosen != default {
                    let (_, alternate) = chosen.grey.expect("a flip always shows the position not taken");
                    assert!(row.policy.is_some(), "{}", row.name);
                    assert_eq!(alternate.treatment, default.treatment);
                    assert_ne!(chosen.treatment, default.treatment);
                }
            }
        }
    }

    #[test]
    fn unknown_keys_and_values_are_ignored() {
        let policy: Policy =
            serde_json::from_str(r#"{"lp":"income","wrap":7,"staking":"defer","colour":"red"}"#).unwrap();
        assert_eq!(policy, Policy { staking: Some(Treatment::NonTaxable), ..Policy::default() });
    }
}
