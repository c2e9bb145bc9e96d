//! The books of one reading: what each claim comes to under the law and the caller's policy, the headline, and how every unit is posted.

use alloy_primitives::U256;

use crate::adjudicate::{self, Reading};
use crate::amount::Amount;
use crate::category::Category;
use crate::classification::{Assets, Entry, Posting, Side};
use crate::legs::Direction;
use crate::opinion::Opinion;
use crate::position::{Position, circumstances, position};
use crate::question::Question;
use crate::role::Role;
use crate::scene::Scene;
use crate::treatment::{LedgerAction, Treatment};
use crate::treatments::Treatments;

/// One claim, or several that share what they moved, with what it comes to.
#[derive(Debug, Clone)]
pub struct Line<'a> {
    pub claim: &'a Opinion,
    pub category: Category,
    pub position: Position<'a>,
    pub parts: Vec<LinePart>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinePart {
    pub leg: usize,
    pub amount: U256,
    pub is_mirror: bool,
}

impl Line<'_> {
    /// Fees, refunds and flash loans never give the headline beside something else.
    fn gives_headline(&self) -> bool {
        !matches!(self.claim.role, Role::Fee | Role::Refund) && self.category != Category::FlashLoan
    }
}

/// The lines of a reading, in chain order.
pub fn lines<'a>(
    scene: &Scene<'_>,
    reading: &'a Reading,
    question: &Question,
    treatments: &'a Treatments,
) -> Vec<Line<'a>> {
    let allocation = &reading.allocation;
    let mut lines: Vec<Line<'a>> = Vec::with_capacity(reading.claims.len());
    // The place of each line's claim.
    let mut places: Vec<usize> = Vec::with_capacity(reading.claims.len());
    let holder = |at: usize| allocation.same_as.get(at).copied().unwrap_or(at);
    let is_alone = reading.claims.len() == 1;
    for (at, claim) in reading.claims.iter().enumerate() {
        let own = allocation.parts.iter().filter(|part| part.claim == at);
        let mut parts: Vec<LinePart> =
            own.map(|part| LinePart { leg: part.leg, amount: part.amount, is_mirror: part.is_mirror }).collect();
        let same = |line: &Line<'_>| {
            line.claim.category == claim.category
                && line.claim.role == claim.role
                && line.claim.explains.legs() == claim.explains.legs()
        };
        let mut all = lines.iter_mut().zip(&places);
        let found = all.find(|(line, of)| **of == holder(at) || holder(**of) == at || same(line));
        if let Some((line, _)) = found {
            line.parts.append(&mut parts);
            continue;
        }
        let category = claim.category;
        let facts = circumstances(scene, reading, question, (!is_alone).then_some(claim));
        let position = position(treatments, category, &question.policy, facts);
        lines.push(Line { claim, category, position, parts });
        places.push(at);
    }
    lines.iter_mut().for_each(|line| merge(&mut line.parts));
    lines
}

/// One part for each leg and kind.
fn merge(parts: &mut Vec<LinePart>) {
    parts.sort_by_key(|part| (part.leg, part.is_mirror));
    parts.dedup_by(|next, kept| {
        let is_same = (next.leg, next.is_mirror) == (kept.leg, kept.is_mirror);
        if is_same {
            kept.amount = kept.amount.saturating_add(next.amount);
        }
        is_same
    });
}

/// The line that the headline tells: the principal of those that are taxable, where there are any, else the reading's own.
pub fn headline<'a, 'b>(reading: &Reading, lines: &'b [Line<'a>]) -> Option<&'b Line<'a>> {
    let of = |claim: &Opinion| lines.iter().find(|line| std::ptr::eq(line.claim, claim));
    let is_taxable = |line: &&Line<'_>| line.position.treatment.taxable() == Some(true) && line.gives_headline();
    let taxable = adjudicate::principal(lines.iter().filter(is_taxable).map(|line| line.claim));
    let counting = || adjudicate::principal(lines.iter().filter(|line| line.gives_headline()).map(|line| line.claim));
    let own = || lines.iter().find(|line| line.category == reading.category);
    taxable.and_then(of).or_else(own).or_else(|| counting().and_then(of))
}

/// How every unit of every leg is booked. `steps` tells the step of each line, where the answer has steps; `needs_review` leaves all but gas
/// to a person.
pub fn postings(
    scene: &Scene<'_>,
    assets: &Assets,
    lines: &[Line<'_>],
    steps: &[Option<usize>],
    needs_review: bool,
) -> Vec<Posting> {
    let mut posted = Vec::with_capacity(scene.legs.len());
    for (line, step) in lines.iter().zip(steps.iter().copied().chain(std::iter::repeat(None))) {
        let has = |direction| {
            let of_leg = |part: &LinePart| scene.legs.get(part.leg).is_some_and(|leg| leg.direction == direction);
            line.parts.iter().any(|part| !part.is_mirror && of_leg(part))
        };
        let is_both = has(Direction::Out) && has(Direction::In);
        for part in &line.parts {
            let Some(leg) = scene.legs.get(part.leg) else { continue };
            let entry = if part.is_mirror { Entry::Mirror } else { entry(line, leg.direction, is_both) };
            let treatment = if part.is_mirror { Treatment::NonTaxable } else { line.position.treatment };
            posted.push(Unit { leg: part.leg, amount: part.amount, entry, category: line.category, treatment, step });
        }
    }
    let sent = scene.legs.partition_point(|leg| leg.direction == Direction::Out);
    let posting = |unit: &Unit| {
        let leg = scene.legs.get(unit.leg)?;
        let (side, index, printed) = match leg.direction {
            Direction::Out => (Side::Sent, unit.leg, &assets.sent),
            Direction::In => (Side::Received, unit.leg.saturating_sub(sent), &assets.received),
        };
        let whole = printed.get(index).filter(|_| unit.amount == leg.amount).map(|printed| printed.amount.clone());
        let part = || Amount { raw: unit.amount, decimals: scene.decimals(leg.asset) }.text();
        let is_open = needs_review || unit.entry == Entry::Open;
        Some(Posting {
            side,
            index,
            amount: whole.unwrap_or_else(part),
            entry: if is_open { Entry::Open } else { unit.entry },
            category: unit.category,
            treatment: unit.treatment,
            taxable: if is_open { None } else { unit.treatment.taxable() },
            step: unit.step,
        })
    };
    let units = with_rest(scene, posted);
    let mut postings = Vec::with_capacity(units.len().saturating_add(1));
    postings.extend(units.iter().filter_map(posting));
    postings.extend(assets.gas.as_ref().map(|gas| Posting {
        side: Side::Gas,
        index: 0,
        amount: gas.amount.clone(),
        entry: Entry::Expense,
        category: Category::FeePayment,
        treatment: Treatment::Expense,
        taxable: Treatment::Expense.taxable(),
        step: None,
    }));
    postings
}

/// A posting before it is written.
struct Unit {
    leg: usize,
    amount: U256,
    entry: Entry,
    category: Category,
    treatment: Treatment,
    step: Option<usize>,
}

/// In the order of the legs, with what no line took as open.
fn with_rest(scene: &Scene<'_>, mut posted: Vec<Unit>) -> Vec<Unit> {
    let mut left: Vec<U256> = scene.legs.iter().map(|leg| leg.amount).collect();
    for unit in &posted {
        if let Some(left) = left.get_mut(unit.leg) {
            *left = left.saturating_sub(unit.amount);
        }
    }
    for (at, amount) in left.into_iter().enumerate() {
        if !amount.is_zero() {
            posted.push(Unit {
                leg: at,
                amount,
                entry: Entry::Open,
                category: Category::Unclassified,
                treatment: Treatment::NeedsReview,
                step: None,
            });
        }
    }
    posted.sort_by_key(|unit| unit.leg);
    posted
}

/// `is_both`: the line has legs both ways, so cost can pass from one to the other.
fn entry(line: &Line<'_>, direction: Direction, is_both: bool) -> Entry {
    use Direction::{In, Out};
    use LedgerAction as Action;
    match (line.position.ledger_action, direction) {
        (Action::DisposeAndAcquire, Out) => Entry::Dispose,
        (Action::DisposeAndAcquire, In) => Entry::Acquire,
        (Action::RecognizeIncome, In) => Entry::Income,
        // Given up for the income: a voucher that is redeemed.
        (Action::RecognizeIncome, Out) => Entry::Dispose,
        (Action::Move, Out) => Entry::MoveOut,
        (Action::Move, In) => Entry::MoveIn,
        (Action::OpenLiability, In) => Entry::Borrow,
        (Action::CloseLiability, Out) => Entry::Repay,
        (Action::ExpenseFee, Out) => Entry::Expense,
        (Action::Ignore, _) => Entry::Ignore,
        (Action::NoEntry, In) if line.category == Category::NftMint => Entry::Acquire,
        (Action::NoEntry | Action::CarryBasis, In) if carries_alone(line.category) => Entry::CarryIn,
        (action, Out) if is_both && is_kept(action) => Entry::CarryOut,
        (action, In) if is_both && is_kept(action) => Entry::CarryIn,
        (Action::NoEntry | Action::OpenLiability, Out) => Entry::Lock,
        (Action::NoEntry | Action::CloseLiability, In) => Entry::Unlock,
        (
            Action::CarryBasis | Action::Lock | Action::PledgeCollateral | Action::Unlock | Action::ReleaseCollateral,
            _,
        ) => match direction {
            Out => Entry::Lock,
            In => Entry::Unlock,
        },
        (Action::ExpenseFee, In) | (Action::WriteOff | Action::Review, _) => Entry::Open,
    }
}

/// The wallet still owns what it owned, in another form or place: with a token for it, cost passes on.
fn is_kept(action: LedgerAction) -> bool {
    use LedgerAction::{CarryBasis, Lock, PledgeCollateral, ReleaseCollateral, Unlock};
    matches!(action, CarryBasis | Lock | PledgeCollateral | Unlock | ReleaseCollateral)
}

/// What was held before is held on, though its old form shows no leg.
fn carries_alone(category: Category) -> bool {
    matches!(category, Category::TokenMigration | Category::StakingRebase)
}
