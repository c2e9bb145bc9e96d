//! From opinions to one reading: the claims that explain the movements, one of them principal, and what no claim explains
//! named. Order-free: the same opinions in any order give the same reading.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use alloy_primitives::U256;

use crate::allocate::{self, Allocation, Taker, dust};
use crate::asset::Seen;
use crate::belief::{clipped, is_believed};
use crate::category::{Category, Legs, Rank};
use crate::confidence::{self, Weighing};
use crate::legs::{Direction, LEGS_MAX, Leg};
use crate::on_the_way::kept_or_added;
use crate::opinion::{Opinion, Perhaps, Source, Strength};
use crate::passed_on::{FEE_SHARE, passed_on};
use crate::question::Question;
use crate::role::Role;
use crate::scene::{Doubt, Outcome, Scene};
use crate::shares::{LegSet, MoveSet, Shares, Tie};
use crate::sources::Opinions;
use crate::whose::between_people;

/// What the transaction was, and what stays open.
#[derive(Debug, Clone)]
pub struct Reading {
    pub category: Category,
    pub confidence: u8,
    pub needs_review: bool,
    pub strength: Strength,
    pub protocol: Option<Arc<str>>,
    /// The accepted claims, in chain order. The principal is among them when there is one.
    pub claims: Vec<Opinion>,
    /// What each of them takes of the legs.
    pub allocation: Allocation,
    /// Legs that no claim explains.
    pub residual: LegSet,
    pub doubts: Vec<Doubt>,
    /// Some claim rests only on what a contract logged that no pack vouches for.
    pub has_unbacked: bool,
    /// Every opinion that was given.
    pub heard: Vec<Opinion>,
    /// What the accepted claims said. An opinion that says one of these agrees with the reading.
    pub agreed: Vec<Category>,
}

impl Reading {
    /// No claim decides, so the category is only a leaning.
    pub fn is_leaning(&self) -> bool {
        self.claims.is_empty() && self.strength == Strength::Suggested
    }

    /// A name for the protocol: a swap through a router has the router's name, whichever pools it went through; else the deciding
    /// claim names it; else any contract that a pack vouches for.
    pub fn name_protocol(
        self,
        called: impl FnOnce() -> Option<Arc<str>>,
        seen: impl FnOnce() -> Option<Arc<str>>,
    ) -> Self {
        let router = if self.category == Category::Swap { called() } else { None };
        let protocol = router.or_else(|| self.protocol.clone());
        // A fee is whoever's was paid, and not of a contract that ran beside.
        let protocol = if self.category == Category::FeePayment { protocol } else { protocol.or_else(seen) };
        Self { protocol, ..self }
    }
}

pub fn adjudicate(scene: &Scene<'_>, heard: Opinions, question: &Question) -> Reading {
    if scene.outcome == Outcome::Failed {
        return failed(scene);
    }
    let Opinions { said: opinions, is_cut, is_unsettled, is_mixed, nets_income } = heard;
    let opinions = between_people(opinions, &question.own_wallets);
    let (mut claims, allocation) = allocated(scene, accepted_claims(scene, &opinions));
    let residual = residual(scene, &claims, &allocation);
    let has_unbacked = claims.iter().any(|claim| !is_believed(scene, claim));
    let mut doubts = scene.doubts.clone();
    if doubts.contains(&Doubt::InternalValueUnknown) && is_stated(scene, &claims) {
        doubts.retain(|doubt| *doubt != Doubt::InternalValueUnknown);
    }
    doubts.extend(claims.iter().find_map(|claim| claim.whose).map(Doubt::AnothersPosition));
    let moved = scene.own().len();
    doubts.extend((moved > MoveSet::MAX).then_some(Doubt::TooManyMovements(moved)));
    doubts.extend(passed_on(scene, &claims, &allocation.parts).map(Doubt::PassedOn));
    let on_the_way = kept_or_added(scene, &claims, &allocation.parts);
    doubts.extend(on_the_way.map(|(direction, account)| Doubt::OnTheWay(direction, account)));
    if nets_income {
        doubts.push(Doubt::NettedIncome);
    }
    if is_mixed {
        doubts.push(Doubt::Mixed);
    }
    if is_unsettled {
        doubts.push(Doubt::Unsettled);
    }
    if is_cut {
        doubts.push(Doubt::TooManyClaims);
    }
    let Some(principal) = principal(claims.iter()) else { return open(scene, opinions, doubts) };
    if let Some(rival) = rival(scene, principal, &claims) {
        doubts.push(Doubt::Rival(principal.category, rival));
    }
    let confidence = confidence::weigh(&Weighing {
        principal,
        heard: &opinions,
        has_residual: !residual.is_empty(),
        has_doubt: !doubts.is_empty(),
    });
    // What an account pays its bundler is gas, and gas is never the category of a transaction.
    let only_carried = scene.acts && !scene.carried.is_empty() && principal.role == Role::Fee;
    let (strength, protocol) = (principal.strength, principal.protocol.clone());
    let all_own = || !scene.legs.is_empty() && scene.legs.iter().all(|leg| scene.is_own_move(leg, question));
    let own = |category: Category| {
        if category.is_plain_transfer() && all_own() { Category::SelfTransfer } else { category }
    };
    let category = if only_carried { Category::ContractCall } else { own(principal.category) };
    let agreed = claims.iter().map(|claim| claim.category).collect();
    claims.iter_mut().for_each(|claim| claim.category = own(claim.category));
    Reading {
        category,
        confidence,
        needs_review: confidence < confidence::REVIEW_BELOW,
        strength,
        protocol,
        claims,
        allocation,
        residual,
        doubts,
        has_unbacked,
        heard: opinions,
        agreed,
    }
}

fn failed(scene: &Scene<'_>) -> Reading {
    Reading {
        category: Category::FailedTransaction,
        confidence: if scene.doubts.is_empty() { confidence::CERTAIN } else { confidence::OPEN },
        needs_review: !scene.doubts.is_empty(),
        strength: Strength::Verified,
        protocol: None,
        claims: Vec::new(),
        allocation: Allocation::default(),
        residual: LegSet::EMPTY,
        doubts: scene.doubts.clone(),
        has_unbacked: false,
        heard: Vec::new(),
        agreed: Vec::new(),
    }
}

/// No claim decides: what was asked for, or else what the movements alone suggest, is the leaning for the reviewer.
fn open(scene: &Scene<'_>, opinions: Vec<Opinion>, doubts: Vec<Doubt>) -> Reading {
    let leaning = opinions.iter().min_by_key(|opinion| (opinion.source, opinion.category.meaning().rank));
    Reading {
        category: leaning.map_or(Category::Unclassified, |opinion| opinion.category),
        confidence: confidence::OPEN,
        needs_review: true,
        strength: Strength::Suggested,
        protocol: None,
        claims: Vec::new(),
        allocation: Allocation::default(),
        residual: LegSet::all(scene.legs.len()),
        doubts,
        has_unbacked: false,
        heard: opinions,
        agreed: Vec::new(),
    }
}

/// The claims that are left after they were compared with each other.
fn accepted_claims(scene: &Scene<'_>, opinions: &[Opinion]) -> Vec<Opinion> {
    let all = LegSet::all(scene.legs.len());
    // Whether fees explain every leg: then a claim that needs no leg gives the headline (D41).
    let fees = opinions.iter().filter(|o| o.role == Role::Fee && o.strength > Strength::Suggested);
    let is_bare = fees.fold(LegSet::EMPTY, |legs, fee| legs.union(full(scene, fee))) == all;
    let claims = opinions.iter().filter(|opinion| is_claim(scene, opinion, is_bare));
    let mut claims: Vec<Claim<'_>> = claims.map(|opinion| Claim { opinion, full: full(scene, opinion) }).collect();
    claims.sort_by(|a, b| order(a.opinion).cmp(&order(b.opinion)));
    claims.dedup_by(|later, first| subject(later.opinion) == subject(first.opinion));
    let kept: Vec<&Claim<'_>> = claims
        .iter()
        .filter(|claim| !claims.iter().any(|other| outdoes(other, claim)))
        .filter(|claim| !is_covered(claim.opinion, &claims))
        .collect();
    let is_whole = |claim: &Claim<'_>| claim.full == all && !all.is_empty();
    let whole = kept.iter().filter(|claim| is_whole(claim)).map(|claim| claim.opinion.strength).max();
    // A spam claim excludes every other claim.
    let is_spam = kept.iter().any(|claim| claim.opinion.category == Category::Spam);
    let stands_beside = |claim: &Claim<'_>, whole| {
        claim.opinion.strength > whole || (claim.opinion.strength == whole && is_stated_accessory(claim.opinion))
    };
    kept.into_iter()
        .filter(|claim| !is_spam || claim.opinion.category == Category::Spam)
        .filter(|claim| {
            // What explains no leg takes nothing from the others.
            claim.opinion.explains.is_empty()
                || is_whole(claim)
                || whole.is_none_or(|whole| stands_beside(claim, whole))
        })
        .map(|claim| clipped(scene, claim.opinion.clone()))
        .collect()
}

/// An opinion that may decide, and the legs that it explains to the last coin. A claim that names a smaller amount leaves
/// room for another beside it: a fee, a reward, a second position.
struct Claim<'a> {
    opinion: &'a Opinion,
    full: LegSet,
}

fn full(scene: &Scene<'_>, opinion: &Opinion) -> LegSet {
    let mut legs = LegSet::EMPTY;
    for at in opinion.explains.legs().iter() {
        let is_whole = |leg: &Leg| {
            let explained = opinion.explains.of(at);
            explained >= leg.amount || explained.saturating_add(dust(leg.amount)) >= leg.amount
        };
        if scene.legs.get(at).is_some_and(is_whole) {
            legs.insert(at);
        }
    }
    legs
}

/// The claims that are left once every unit of every leg went to one of them, and what each took.
fn allocated(scene: &Scene<'_>, claims: Vec<Opinion>) -> (Vec<Opinion>, Allocation) {
    let allocate = |claims: &[Opinion]| {
        let taker = |claim| Taker { claim, is_backed: is_believed(scene, claim), is_accessory: is_accessory(claim) };
        let takers: Vec<Taker<'_>> = claims.iter().map(taker).collect();
        let mut order: Vec<(usize, &Opinion)> = claims.iter().enumerate().collect();
        order.sort_by(|(_, a), (_, b)| by_precedence(a, b));
        let order: Vec<usize> = order.into_iter().map(|(at, _)| at).collect();
        allocate::allocate(scene, &takers, &order)
    };
    let first = allocate(&claims);
    let fees = fees(scene, &claims, &first);
    if !fees.is_empty() {
        let claims = claims.into_iter().chain(fees).collect();
        return allocated(scene, claims);
    }
    let has_part = |at: usize| first.parts.iter().any(|part| part.claim == at);
    let kept: Vec<bool> =
        claims.iter().enumerate().map(|(at, claim)| claim.explains.is_empty() || has_part(at)).collect();
    if kept.iter().all(|kept| *kept) {
        return (claims, first);
    }
    // What others took whole adds nothing.
    let claims: Vec<Opinion> = claims.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(claim, _)| claim).collect();
    let allocation = allocate(&claims);
    (claims, allocation)
}

/// What believed claims leave of a leg, where that went out as a fee.
fn fees(scene: &Scene<'_>, claims: &[Opinion], allocation: &Allocation) -> Vec<Opinion> {
    let mut found = Vec::new();
    for (at, (leg, left)) in scene.legs.iter().zip(&allocation.left).enumerate() {
        if left.is_zero() || leg.direction != Direction::Out {
            continue;
        }
        let holders = allocation.parts.iter().filter(|part| part.leg == at && part.is_backed);
        let mut holders = holders.filter_map(|part| claims.get(part.claim));
        if let Some(beside) = holders.find(|claim| leaves_fee(scene, claim.category, leg, *left)) {
            // What a token takes of itself nobody has to tell: it is seen.
            let strength = if beside.category.is_plain_transfer() { Strength::Verified } else { beside.strength };
            found.push(Opinion { at: beside.at, ..Opinion::fee("shape/fee", at, *left, strength) });
        }
    }
    found
}

/// Beside an exchange, a small payment of the same asset to a third party is the fee of whoever brought it about. Beside a transfer, what the token
/// keeps or destroys of itself whenever it is sent.
fn leaves_fee(scene: &Scene<'_>, category: Category, leg: &Leg, left: U256) -> bool {
    let moved = scene.moved(leg.direction, leg.asset).iter();
    if category.is_plain_transfer() {
        let taken = moved.filter(|own| Some(own.counterparty()) == leg.asset.contract()).map(|own| own.amount);
        return taken.fold(U256::ZERO, U256::saturating_add) == left;
    }
    let is_exchange = category == Category::Swap || category.is_nft_sale();
    let is_small = || left.saturating_mul(U256::from(FEE_SHARE)) <= leg.amount;
    is_exchange && is_small() && moved.map(|own| own.amount).any(|amount| amount == left)
}

/// What an opinion explains, and how much of it. Two rules that say the same of the same log count once.
type Subject<'a> = (Option<Seen>, Source, Category, &'a Shares);

fn subject(o: &Opinion) -> Subject<'_> {
    (o.at, o.source, o.category, &o.explains)
}

/// A total order over opinions, so that their order of arrival cannot matter. Of opinions that count once the strongest
/// comes first, then one that tells what it may be instead, then the rule whose name sorts first.
fn order(o: &Opinion) -> (Subject<'_>, Reverse<Strength>, Reverse<Option<Perhaps>>, &str) {
    (subject(o), Reverse(o.strength), Reverse(o.perhaps), &o.rule)
}

/// What is only suggested never decides, and a category is asserted only with the legs it needs.
fn is_claim(scene: &Scene<'_>, opinion: &Opinion, is_bare: bool) -> bool {
    let has = |direction| opinion.explains_direction(&scene.legs, direction);
    let has_legs = match opinion.category.meaning().legs {
        _ if opinion.has_no_balance_leg && is_bare => true,
        Legs::Both if opinion.counterleg_in_earlier_tx => !opinion.explains.is_empty(),
        Legs::Both => has(Direction::Out) && has(Direction::In),
        Legs::Out => has(Direction::Out),
        Legs::In => has(Direction::In),
        Legs::Some => !opinion.explains.is_empty(),
        Legs::Any => is_bare || !opinion.explains.is_empty(),
    };
    opinion.strength > Strength::Suggested && has_legs
}

/// Of two claims on one log, the one that explains strictly more is accepted. A fee that the log states is a part of what it states as the whole.
fn outdoes(other: &Claim<'_>, claim: &Claim<'_>) -> bool {
    let (other_said, said) = (other.opinion, claim.opinion);
    let same_log = other_said.at.is_some() && other_said.at == said.at;
    let legs = said.explains.legs();
    let more = legs.is_subset(other.full) && other_said.explains.legs() != legs;
    let is_part_of_leg = said.role == Role::Fee && claim.full.is_empty() && is_stated_accessory(said);
    same_log && more && !is_part_of_leg && other_said.strength >= said.strength
}

/// A claim wholly covered by stronger ones adds nothing.
fn is_covered(claim: &Opinion, claims: &[Claim<'_>]) -> bool {
    let stronger = claims
        .iter()
        .filter(|other| other.opinion.strength > claim.strength)
        .fold(LegSet::EMPTY, |covered, other| covered.union(other.full));
    !claim.explains.is_empty() && claim.explains.legs().is_subset(stronger)
}

/// Fees, refunds and rewards accompany another action, and are principal only when there is no other claim.
fn is_accessory(claim: &Opinion) -> bool {
    match claim.role {
        Role::Fee | Role::Interest | Role::Reward | Role::Refund => true,
        Role::Principal | Role::FlashBorrow | Role::FlashRepay | Role::BridgeOut | Role::BridgeIn | Role::Item => false,
    }
}

/// What accompanies another claim is part of what that one saw as one amount, where it states how much of it.
fn is_stated_accessory(claim: &Opinion) -> bool {
    is_accessory(claim) && claim.explains.iter().all(|share| share.tie == Tie::Stated)
}

/// A claim as strong as the principal that explains the same legs in full and has another nature.
fn rival(scene: &Scene<'_>, principal: &Opinion, claims: &[Opinion]) -> Option<Category> {
    let contested = full(scene, principal);
    let nature = |claim: &Opinion| claim.category.meaning().nature;
    let is_rival = |claim: &&Opinion| {
        claim.strength == principal.strength
            && !is_accessory(claim)
            && nature(claim) != nature(principal)
            && !full(scene, claim).is_empty()
            && full(scene, claim).minus(contested).is_empty()
    };
    claims.iter().find(is_rival).map(|claim| claim.category)
}

/// Which claim is the principal: the first in this order.
fn precedence(claim: &Opinion) -> (bool, Rank, Reverse<Strength>, Source) {
    (is_accessory(claim), claim.category.meaning().rank, Reverse(claim.strength), claim.source)
}

/// A total order: claims of one precedence are in chain order.
fn by_precedence(a: &Opinion, b: &Opinion) -> Ordering {
    precedence(a).cmp(&precedence(b)).then_with(|| order(a).cmp(&order(b)))
}

/// The principal of these claims.
pub fn principal<'a>(claims: impl Iterator<Item = &'a Opinion>) -> Option<&'a Opinion> {
    claims.min_by(|a, b| by_precedence(a, b))
}

/// Legs that no claim explains, or of which the claims explain less than moved, or more because part of it was passed on to
/// another account.
fn residual(scene: &Scene<'_>, claims: &[Opinion], allocation: &Allocation) -> LegSet {
    let mut open = allocation.open;
    let backed: Vec<&Opinion> = claims.iter().filter(|claim| is_believed(scene, claim)).collect();
    for (at, leg) in scene.legs.iter().enumerate().take(LEGS_MAX) {
        if is_passed_on(scene, at, leg, backed.iter().copied()) {
            open.insert(at);
        }
    }
    open
}

/// A leg is net. Where a claim explains more of it than there is, and the same asset went the other way with a third
/// party, that other movement has no claim of its own.
fn is_passed_on<'a>(scene: &Scene<'_>, at: usize, leg: &Leg, mut claims: impl Iterator<Item = &'a Opinion>) -> bool {
    let back = || scene.moved(leg.direction.opposite(), leg.asset).iter().filter(|own| !own.amount.is_zero());
    claims.any(|claim| {
        let explained = claim.explains.of(at);
        let beyond = explained.saturating_sub(leg.amount);
        let is_linked = claim.explains.stated(at).is_none();
        // What is linked is counted to the last unit; an event may round.
        let is_more = if is_linked { !beyond.is_zero() } else { beyond > dust(explained) };
        let is_others = || back().any(|own| own.other != leg.other);
        let is_exactly = || !beyond.is_zero() && back().any(|own| own.amount == beyond && own.other != leg.other);
        (is_more && is_others()) || is_exactly()
    })
}

/// Contracts that packs vouch for state what was given and what came back, each to the last digit: native coin that no node
/// could show cannot be part of it. Nor is it beside it, where no other contract was called or logged that may have paid some.
fn is_stated(scene: &Scene<'_>, claims: &[Opinion]) -> bool {
    let has = |direction| scene.legs.iter().any(|leg| leg.direction == direction);
    let states = |claim: &Opinion, at: usize, leg: &Leg| {
        claim.strength == Strength::Verified && claim.explains.stated(at) == Some(leg.amount)
    };
    scene.legs.len() <= LEGS_MAX
        && scene.ground.is_among_known(&scene.movements, scene.wallet)
        && has(Direction::Out)
        && has(Direction::In)
        && scene.legs.iter().enumerate().all(|(at, leg)| claims.iter().any(|claim| states(claim, at, leg)))
}
