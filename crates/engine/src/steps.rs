//! A transaction of several steps, told step by step: one claim each, with its part and its share of the legs.

use crate::adjudicate::Reading;
use crate::asset::Account;
use crate::asset_legs::{LegShare, assets, assets_of};
use crate::category::{Category, Telling};
use crate::classification::{Assets, Step};
use crate::describe;
use crate::legs::Leg;
use crate::opinion::Opinion;
use crate::position::{circumstances, position};
use crate::question::Question;
use crate::role::Role;
use crate::scene::Scene;
use crate::treatment::{LedgerAction, Treatment};
use crate::treatments::Treatments;

/// What the steps of one answer are made from.
#[derive(Debug, Clone, Copy)]
pub struct Breakdown<'a> {
    pub scene: &'a Scene<'a>,
    pub reading: &'a Reading,
    pub question: &'a Question,
    pub treatments: &'a Treatments,
    /// Whether a person decides the whole.
    pub needs_review: bool,
}

impl Breakdown<'_> {
    /// Always on a bridge, an order, a flash loan and a batch of NFTs, and wherever the reading holds more than one category.
    pub fn steps(&self) -> Option<Vec<Step>> {
        let Self { scene, reading, .. } = *self;
        if !scene.actors.is_empty() {
            let steps = scene.actors.iter().enumerate();
            return Some(steps.map(|(at, (actor, legs))| account(scene, at, *actor, legs)).collect());
        }
        let is_batch = is_batch(scene, reading);
        let is_told_in_steps = reading.category.meaning().telling == Telling::InSteps;
        if !(is_told_in_steps || is_batch || has_several(reading)) {
            return None;
        }
        let mut seen = Vec::new();
        let mut steps = Vec::new();
        for claim in &reading.claims {
            let key = (claim.category, claim.explains);
            if seen.contains(&key) {
                continue;
            }
            seen.push(key);
            for role in roles(claim, reading, is_batch) {
                steps.push(self.step(claim, steps.len(), role));
            }
        }
        Some(steps)
    }

    /// What the principal alone moved, where other steps moved the rest.
    pub fn principal_assets(&self) -> Option<Assets> {
        let Self { scene, reading, .. } = *self;
        let is_told_apart = has_several(reading) && reading.residual.is_empty() && !self.needs_review;
        let principal = || reading.claims.iter().filter(|claim| claim.category == reading.category);
        let part = |at: usize| {
            let claim = principal().find(|claim| claim.explains.contains(at))?;
            Some(claim.amount_of(at).map_or(LegShare::Whole, LegShare::Amount))
        };
        (is_told_apart && principal().next().is_some()).then(|| assets(scene, part))
    }

    fn step(&self, claim: &Opinion, leg_index: usize, role: Role) -> Step {
        let Self { scene, reading, question, treatments, needs_review } = *self;
        let facts = circumstances(scene, reading, question, Some(claim));
        let position = position(treatments, claim.category, &question.policy, facts);
        let mut assets = assets(scene, |at| part(claim, at, &reading.claims));
        assets.gas = None;
        let protocol = claim.protocol.as_deref();
        let (treatment, basis) = (position.treatment, position.basis);
        let description = match role {
            Role::FlashBorrow => "Borrowed within the transaction; the loan is repaid before it ends.".to_owned(),
            Role::FlashRepay => "Repaid within the transaction; loan and repayment cancel.".to_owned(),
            _ => describe::description(claim.category, &assets, protocol, treatment, basis, needs_review),
        };
        Step {
            leg_index,
            role,
            category: claim.category,
            taxable: if needs_review { None } else { treatment.taxable() },
            treatment,
            ledger_action: if needs_review { LedgerAction::Review } else { position.ledger_action },
            protocol: protocol.map(str::to_owned),
            description,
            assets,
        }
    }
}

/// One of several accounts that act in one transaction: what it moved, for a person to read.
fn account(scene: &Scene<'_>, leg_index: usize, actor: Account, legs: &[Leg]) -> Step {
    let assets = assets_of(scene, legs, |_| Some(LegShare::Whole));
    let moved = describe::description(Category::Unclassified, &assets, None, Treatment::NeedsReview, None, true);
    Step {
        leg_index,
        role: Role::Item,
        category: Category::Unclassified,
        taxable: None,
        treatment: Treatment::NeedsReview,
        ledger_action: LedgerAction::Review,
        protocol: None,
        description: format!("Account {actor}: {moved}"),
        assets,
    }
}

pub fn memo(description: &str, steps: &[Step]) -> String {
    let line = |step: &Step| format!("{}. {}", step.leg_index.saturating_add(1), step.description);
    let lines: Vec<String> = steps.iter().map(line).collect();
    format!("{description} Post as: {}", lines.join(" "))
}

fn is_batch(scene: &Scene<'_>, reading: &Reading) -> bool {
    let nfts = scene.legs.iter().filter(|leg| leg.asset.is_nft()).count();
    reading.category.is_nft_sale() && nfts > 1
}

fn has_several(reading: &Reading) -> bool {
    reading.claims.iter().any(|claim| claim.category != reading.category)
}

/// A flash loan is two steps that cancel; the items of a batch, and claims beside the principal, are items.
fn roles(claim: &Opinion, reading: &Reading, is_batch: bool) -> Vec<Role> {
    match claim.role {
        Role::Principal if claim.category == Category::FlashLoan => vec![Role::FlashBorrow, Role::FlashRepay],
        Role::Principal if is_batch || claim.category != reading.category => vec![Role::Item],
        role => vec![role],
    }
}

/// What a step shows of a leg. A price paid for several items at once is not assigned to any one of them.
fn part(claim: &Opinion, leg: usize, claims: &[Opinion]) -> Option<LegShare> {
    if !claim.explains.contains(leg) {
        return None;
    }
    if let Some(amount) = claim.amount_of(leg) {
        return Some(LegShare::Amount(amount));
    }
    let mut sharing = claims.iter().filter(|other| other.category == claim.category && other.explains.contains(leg));
    let is_shared = sharing.any(|other| other.explains != claim.explains);
    (!is_shared).then_some(LegShare::Whole)
}
