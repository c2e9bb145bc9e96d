//! Compares one answer with its label, in pure functions. The treatment of a category comes from the engine's table alone.

use engine::category::Telling;
use engine::classification::Assets;
use engine::confidence::REVIEW_BELOW;
use engine::treatment::Treatment;
use engine::treatments::Treatments;
use engine::{Category, Classification, Family};
use serde::{Deserialize, Serialize};

use super::labels::{Label, Net, integer};

/// Rent and wrapping change SOL balances, so on Solana only the other tokens are compared.
const WRAPPED_SOL: &str = "So11111111111111111111111111111111111111112";

/// Worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// Not for review, and the treatment is that of no accepted category.
    Wrong,
    /// Not classified at all.
    Error,
    /// Not for review, the treatment is fine, the category is not among the accepted ones.
    Miscat,
    /// Left to a person.
    Review,
    /// Not for review, and the category is accepted.
    Auto,
}

/// What `--out` writes and `--against` reads. Category names of an earlier version are kept as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) hash: String,
    pub(super) chain: Option<String>,
    pub(super) wallet: Option<String>,
    pub(super) verdict: Verdict,
    pub(super) error: Option<String>,
    pub(super) category: String,
    pub(super) treatment: Treatment,
    pub(super) confidence: u8,
    /// `None` where the label knows no movements.
    pub(super) exact: Option<bool>,
    pub(super) protocol: Option<String>,
}

impl Verdict {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Wrong => "wrong",
            Self::Error => "error",
            Self::Miscat => "miscat",
            Self::Review => "review",
            Self::Auto => "auto",
        }
    }
}

impl Row {
    /// The answer in one word: category, treatment and confidence, or why there is none.
    pub(super) fn reading(&self) -> String {
        match &self.error {
            Some(code) => code.clone(),
            None => format!("{}/{}/{}", self.category, self.treatment.name(), self.confidence),
        }
    }
}

#[derive(Debug)]
pub(super) struct Judged<'a> {
    pub(super) label: &'a Label,
    pub(super) row: Row,
    pub(super) breaks_contract: bool,
    /// Whether a category that requires steps has them.
    pub(super) steps: Option<bool>,
}

pub(super) fn judge<'a>(label: &'a Label, answer: &Classification, treatments: &Treatments) -> Judged<'a> {
    let reading = JudgedAnswer {
        category: answer.category,
        treatment: answer.treatment,
        taxable: answer.taxable,
        confidence: answer.confidence,
        needs_review: answer.needs_review,
    };
    let is_answered = answer.error.is_none();
    let wants_steps = answer.category.meaning().telling == Telling::InSteps;
    let has_steps = || {
        let has_legs = answer.legs.as_ref().is_some_and(|legs| !legs.is_empty());
        let has_memo = answer.memo.as_ref().is_some_and(|memo| !memo.is_empty());
        answer.parent.is_some() && has_legs && has_memo
    };
    Judged {
        label,
        row: Row {
            hash: label.hash.to_string(),
            chain: label.chain.clone().or_else(|| answer.chain.clone()),
            wallet: label.wallet.map(|wallet| wallet.to_string()),
            verdict: if is_answered { reading.verdict(&label.categories, treatments) } else { Verdict::Error },
            error: answer.error.map(str::to_owned),
            category: answer.category.name().to_owned(),
            treatment: answer.treatment,
            confidence: answer.confidence,
            exact: label.movements.as_ref().map(|wanted| {
                is_answered && net(&answer.assets, label.hash.family()).is_some_and(|found| found == *wanted)
            }),
            protocol: answer.protocol.clone().filter(|name| !name.is_empty()),
        },
        breaks_contract: is_answered && reading.breaks_contract(),
        steps: (is_answered && wants_steps).then(has_steps),
    }
}

/// The part of an answer that is judged.
#[derive(Debug, Clone, Copy)]
struct JudgedAnswer {
    category: Category,
    treatment: Treatment,
    taxable: Option<bool>,
    confidence: u8,
    needs_review: bool,
}

impl JudgedAnswer {
    fn verdict(self, accepted: &[Category], treatments: &Treatments) -> Verdict {
        let is_accepted_treatment = || accepted.iter().any(|category| treatments.allows(*category, self.treatment));
        if self.needs_review {
            Verdict::Review
        } else if !treatments.allows(self.category, self.treatment) {
            Verdict::Wrong
        } else if accepted.contains(&self.category) {
            Verdict::Auto
        } else if is_accepted_treatment() {
            Verdict::Miscat
        } else {
            Verdict::Wrong
        }
    }

    /// Invariants that callers rely on: `taxable` is null exactly where review is needed, and else follows from the treatment.
    fn breaks_contract(self) -> bool {
        self.needs_review != self.taxable.is_none()
            || (self.confidence < REVIEW_BELOW && !self.needs_review)
            || (!self.needs_review && self.taxable != self.treatment.taxable())
    }
}

/// NFTs count by contract. `None` when an amount has no integer in raw units, which equals no label.
fn net(assets: &Assets, family: Family) -> Option<Net> {
    let mut net = Net::new();
    let sent = assets.sent.iter().map(|leg| (leg, "-"));
    let received = assets.received.iter().map(|leg| (leg, ""));
    for (leg, sign) in sent.chain(received) {
        if leg.token_type.is_some() && leg.token_address.is_none() {
            return None;
        }
        let digits = raw_digits(&leg.amount, leg.decimals.unwrap_or(0))?;
        let total = net.entry(leg.token_address).or_default();
        *total = total.checked_add(integer(&format!("{sign}{digits}"))?)?;
    }
    if family == Family::Solana {
        net.retain(|mint, _| mint.is_some_and(|mint| mint.to_string() != WRAPPED_SOL));
    }
    net.retain(|_, total| !total.is_zero());
    Some(net)
}

/// The decimal amount as an integer in raw units.
fn raw_digits(amount: &str, decimals: u8) -> Option<String> {
    let places = usize::from(decimals);
    let (whole, fraction) = amount.split_once('.').unwrap_or((amount, ""));
    (fraction.len() <= places).then(|| format!("{whole}{fraction:0<places$}"))
}

#[cfg(test)]
mod tests {
    use alloy_primitives::aliases::I512;
    use engine::Account;
    use engine::asset::NftKind;
    use engine::classification::{Action, AssetLeg};

    use super::*;

    const TOKEN: &str = "0x5fbdb2315678afecb367f032d93f642f64180aa3";

    fn reading(category: &str, treatment: Treatment, needs_review: bool) -> JudgedAnswer {
        let taxable = if needs_review { None } else { treatment.taxable() };
        let confidence = if needs_review { 40 } else { 95 };
        JudgedAnswer { category: Category::parse(category).unwrap(), treatment, taxable, confidence, needs_review }
    }

    #[test]
    fn verdicts() {
        use Treatment::{Disposal, Expense, Income, NeedsReview, NonTaxable};
        let treatments = Treatments::us().unwrap();
        for (category, treatment, needs_review, accepted, verdict) in [
            ("swap", Disposal, false, "swap", Verdict::Auto),
            ("swap", Disposal, false, "wrap swap", Verdict::Auto),
            ("swap", Disposal, false, "nft_sale", Verdict::Miscat),
            ("swap", Disposal, false, "wrap nft_sale", Verdict::Miscat),
            ("swap", Disposal, false, "wrap", Verdict::Wrong),
            ("swap", NeedsReview, true, "swap", Verdict::Review),
            ("swap", Disposal, true, "wrap", Verdict::Review),
            // A treatment that is not its category's is wrong, whatever the label.
            ("swap", NonTaxable, false, "swap wrap", Verdict::Wrong),
            ("wrap", Disposal, false, "wrap swap", Verdict::Wrong),
            ("unclassified", NonTaxable, false, "unclassified", Verdict::Wrong),
            // An answer that is for review takes no treatment, so none can be right.
            ("transfer", NonTaxable, false, "donation gift", Verdict::Wrong),
            ("nft_mint", Disposal, false, "nft_mint", Verdict::Auto),
            ("nft_mint", NonTaxable, false, "nft_mint", Verdict::Auto),
            ("nft_mint", Income, false, "nft_mint", Verdict::Wrong),
            ("transfer", NonTaxable, false, "nft_mint", Verdict::Miscat),
            ("flash_loan", Expense, false, "flash_loan", Verdict::Auto),
            ("reward", Income, false, "flash_loan", Verdict::Miscat),
            ("flash_loan", NeedsReview, false, "flash_loan", Verdict::Wrong),
        ] {
            let wanted: Vec<Category> = accepted.split(' ').map(|name| Category::parse(name).unwrap()).collect();
            let found = reading(category, treatment, needs_review).verdict(&wanted, &treatments);
            assert_eq!(found, verdict, "{category} {treatment:?} {needs_review} for {accepted}");
        }
    }

    #[test]
    fn contracts() {
        let sound = reading("swap", Treatment::Disposal, false);
        assert!(!sound.breaks_contract());
        assert!(!reading("swap", Treatment::NeedsReview, true).breaks_contract());
        for broken in [
            JudgedAnswer { taxable: None, ..sound },
            JudgedAnswer { taxable: Some(false), ..sound },
            JudgedAnswer { confidence: 59, ..sound },
            JudgedAnswer { needs_review: true, ..sound },
        ] {
            assert!(broken.breaks_contract(), "{broken:?}");
        }
    }

    fn leg(contract: Option<&str>, amount: &str, decimals: Option<u8>, token_type: Option<NftKind>) -> AssetLeg {
        AssetLeg {
            symbol: String::new(),
            amount: amount.to_owned(),
            action: Action::Transferred,
            decimals,
            token_address: contract.map(|text| Account::parse(text).unwrap()),
            token_name: None,
            to: None,
            from: None,
            token_type,
            token_id: None,
            symbol_collision: false,
            display_symbol: None,
            inferred: false,
            inferred_basis: None,
        }
    }

    #[test]
    fn net_is_exact_in_raw_units() {
        let nft = || leg(Some(TOKEN), "1", None, Some(NftKind::Erc721));
        let assets = Assets {
            sent: vec![leg(None, "0.8", Some(18), None), nft()],
            received: vec![nft(), nft(), nft()],
            gas: Some(leg(None, "0.1", Some(18), None)),
        };
        let token = Account::parse(TOKEN).unwrap();
        let wanted = Net::from([
            (None, integer("-800000000000000000").unwrap()),
            (Some(token), I512::from_dec_str("2").unwrap()),
        ]);
        assert_eq!(net(&assets, Family::Evm), Some(wanted));
    }

    #[test]
    fn what_cancels_is_no_movement() {
        let assets = Assets {
            sent: vec![leg(Some(TOKEN), "1.5", Some(6), None)],
            received: vec![leg(Some(TOKEN), "1.50", Some(6), None)],
            gas: None,
        };
        assert_eq!(net(&assets, Family::Evm), Some(Net::new()));
    }

    #[test]
    fn an_amount_finer_than_its_decimals_equals_nothing() {
        let assets = Assets { sent: vec![leg(None, "0.15", Some(1), None)], ..Assets::default() };
        assert_eq!(net(&assets, Family::Evm), None);
    }

    #[test]
    fn sol_is_not_compared() {
        let mint = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";
        let legs = vec![
            leg(None, "1", Some(9), None),
            leg(Some(WRAPPED_SOL), "1", Some(9), None),
            leg(Some(mint), "2", Some(6), None),
        ];
        let found = net(&Assets { received: legs, ..Assets::default() }, Family::Solana).unwrap();
        assert_eq!(found.into_keys().collect::<Vec<_>>(), [Some(Account::parse(mint).unwrap())]);
    }
}
