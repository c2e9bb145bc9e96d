//! A transaction of several steps, told step by step: one line of the books each, with its part and its share of the legs.

use crate::adjudicate::Reading;
use crate::asset::Account;
use crate::asset_legs::{assets_of, assets_of_other, share};
use crate::books::Line;
use crate::category::{Category, Telling};
use crate::classification::{Assets, Entry, Posting, Side, Step};
use crate::describe::{self, Told};
use crate::legs::Leg;
use crate::opinion::Opinion;
use crate::role::Role;
use crate::scene::Scene;
use crate::treatment::{LedgerAction, Treatment};

/// The steps, and the step of each line.
#[derive(Debug, Default)]
pub struct Steps {
    pub steps: Vec<Step>,
    pub of_lines: Vec<Option<usize>>,
}

/// Always on a bridge, an order, a flash loan and a batch of NFTs, and wherever the reading holds more than one category.
pub fn steps(scene: &Scene<'_>, reading: &Reading, lines: &[Line<'_>], needs_review: bool) -> Option<Steps> {
    if !scene.actors.is_empty() {
        let steps = scene.actors.iter().enumerate();
        let steps = steps.map(|(at, (actor, legs))| account(scene, at, *actor, legs)).collect();
        return Some(Steps { steps, of_lines: Vec::new() });
    }
    let is_batch = is_batch(scene, reading);
    let is_told_in_steps = reading.category.meaning().telling == Telling::InSteps;
    let has_several = lines.len() > 1 && lines.iter().any(|line| line.category != reading.category);
    if !(is_told_in_steps || is_batch || has_several) {
        return None;
    }
    let mut told = Steps::default();
    if lines.is_empty() {
        told.steps.push(leaning(scene, reading));
    }
    for line in lines {
        let roles = roles(line.claim, reading, is_batch);
        // What is left of a flash loan was moved when it was repaid.
        told.of_lines.push(told.steps.len().checked_add(roles.len().saturating_sub(1)));
        for role in roles {
            told.steps.push(step(scene, line, told.steps.len(), role, needs_review));
        }
    }
    Some(told)
}

/// What a line moved.
fn assets_of_line(scene: &Scene<'_>, line: &Line<'_>, with_mirrors: bool) -> Assets {
    assets_of_lines(scene, std::iter::once(line), with_mirrors)
}

/// What several lines moved together.
pub fn assets_of_lines<'a, 'b: 'a>(
    scene: &Scene<'_>,
    lines: impl Iterator<Item = &'a Line<'b>> + Clone,
    with_mirrors: bool,
) -> Assets {
    assets_of(scene, |at| {
        let parts = lines.clone().flat_map(|line| &line.parts);
        share(parts.filter(|part| part.leg == at && (with_mirrors || !part.is_mirror)).map(|part| part.amount))
    })
}

fn step(scene: &Scene<'_>, line: &Line<'_>, leg_index: usize, role: Role, needs_review: bool) -> Step {
    let position = &line.position;
    let assets = if role == Role::FlashBorrow { Assets::default() } else { assets_of_line(scene, line, true) };
    let protocol = line.claim.protocol.as_deref();
    let description = match role {
        Role::FlashBorrow => "Borrowed within the transaction; the loan is repaid before it ends.".to_owned(),
        Role::FlashRepay => "Repaid within the transaction; loan and repayment cancel.".to_owned(),
        _ => {
            let has_mirrors = line.parts.iter().any(|part| part.is_mirror);
            let spoken_of = has_mirrors.then(|| assets_of_line(scene, line, false));
            let (treatment, basis) = (position.treatment, position.basis);
            let assets = spoken_of.as_ref().unwrap_or(&assets);
            let told = Told { category: line.category, assets, protocol, treatment, basis };
            describe::description(&told, needs_review)
        }
    };
    Step {
        leg_index,
        role,
        category: line.category,
        taxable: if needs_review { None } else { position.treatment.taxable() },
        treatment: position.treatment,
        ledger_action: if needs_review { LedgerAction::Review } else { position.ledger_action },
        protocol: protocol.map(str::to_owned),
        description,
        assets,
    }
}

/// No claim decides, and the leaning is told in steps: the whole is one.
fn leaning(scene: &Scene<'_>, reading: &Reading) -> Step {
    let assets = assets_of(scene, |at| scene.legs.get(at).map(|leg| leg.amount));
    open_step(0, reading.category.meaning().role, reading.category, assets)
}

fn open_step(leg_index: usize, role: Role, category: Category, assets: Assets) -> Step {
    let told = Told {
        category: Category::Unclassified,
        assets: &assets,
        protocol: None,
        treatment: Treatment::NeedsReview,
        basis: None,
    };
    Step {
        leg_index,
        role,
        category,
        taxable: None,
        treatment: Treatment::NeedsReview,
        ledger_action: LedgerAction::Review,
        protocol: None,
        description: describe::description(&told, true),
        assets,
    }
}

/// One of several accounts that act in one transaction: what it moved, for a person to read.
fn account(scene: &Scene<'_>, leg_index: usize, actor: Account, legs: &[Leg]) -> Step {
    let assets = assets_of_other(scene, legs);
    let step = open_step(leg_index, Role::Item, Category::Unclassified, assets);
    Step { description: format!("Account {actor}: {}", step.description), ..step }
}

/// Capacity for a line of the journal.
const LINE_BYTES_LIKELY: usize = 96;

/// The postings as a journal: one line for each step and entry, then gas.
pub fn memo(postings: &[Posting], assets: &Assets) -> String {
    let mut groups: Vec<(Option<usize>, Entry, Category, Vec<&Posting>)> = Vec::new();
    for posting in postings {
        let is_same = |group: &&mut (Option<usize>, Entry, Category, Vec<&Posting>)| {
            group.0 == posting.step && group.1 == posting.entry && group.2 == posting.category
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.3.push(posting),
            None => groups.push((posting.step, posting.entry, posting.category, vec![posting])),
        }
    }
    groups.sort_by_key(|(step, entry, ..)| (step.is_none(), *step, *entry));
    let mut text = String::with_capacity(groups.len().saturating_mul(LINE_BYTES_LIKELY));
    for (at, (_, entry, category, postings)) in groups.iter().enumerate() {
        if at > 0 {
            text.push(' ');
        }
        text.push_str(&at.saturating_add(1).to_string());
        text.push_str(". ");
        text.push_str(entry.name());
        for (at, posting) in postings.iter().enumerate() {
            text.push_str(if at == 0 { " " } else { ", " });
            let leg = match posting.side {
                Side::Sent => assets.sent.get(posting.index),
                Side::Received => assets.received.get(posting.index),
                Side::Gas => assets.gas.as_ref(),
            };
            if let Some(leg) = leg {
                describe::push_part(&mut text, leg, &posting.amount);
            }
        }
        let what = if postings.iter().all(|posting| posting.side == Side::Gas) { "gas" } else { category.name() };
        text.push_str(" (");
        text.push_str(what);
        text.push_str(").");
    }
    text
}

fn is_batch(scene: &Scene<'_>, reading: &Reading) -> bool {
    let nfts = scene.legs.iter().filter(|leg| leg.asset.is_nft()).count();
    reading.category.is_nft_sale() && nfts > 1
}

/// A flash loan is two steps that cancel; the items of a batch, and claims beside the principal, are items.
fn roles(claim: &Opinion, reading: &Reading, is_batch: bool) -> Vec<Role> {
    match claim.role {
        Role::Principal if claim.category == Category::FlashLoan => vec![Role::FlashBorrow, Role::FlashRepay],
        Role::Principal if is_batch || claim.category != reading.category => vec![Role::Item],
        role => vec![role],
    }
}
