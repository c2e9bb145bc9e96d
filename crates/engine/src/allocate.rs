//! Every unit of every leg goes to one claim, or stays open. What is stated goes before what is only linked, and an accessory before what it
//! accompanies: a fee or a reward is part of what the other claim saw as one amount.

use alloy_primitives::U256;

use crate::legs::{LEGS_MAX, Leg};
use crate::opinion::Opinion;
use crate::scene::{Own, Scene};
use crate::shares::{LegSet, Share, Tie};

/// What one claim takes of one leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The position of the claim.
    pub claim: usize,
    pub leg: usize,
    pub amount: U256,
    pub is_mirror: bool,
    /// Whether the claim is believed. What others take stays open.
    pub is_backed: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Allocation {
    pub parts: Vec<Part>,
    /// For each claim, the one of its category that took what both are linked to, as with one price for several items. Else itself.
    pub same_as: Vec<usize>,
    /// Legs of which something is left.
    pub open: LegSet,
    /// How much is left of each leg.
    pub left: Vec<U256>,
}

/// A claim, whether it is believed, and whether it only accompanies another.
#[derive(Debug, Clone, Copy)]
pub struct Taker<'a> {
    pub claim: &'a Opinion,
    pub is_backed: bool,
    pub is_accessory: bool,
}

/// When a taker takes what it is tied to in this way: what is believed, what is stated and what accompanies goes first.
fn turn(taker: &Taker<'_>, tie: Tie) -> (bool, u8) {
    let turn = match tie {
        Tie::Accrued => 0,
        Tie::Stated if taker.is_accessory => 1,
        Tie::Stated => 2,
        Tie::Linked => 3,
    };
    (!taker.is_backed, turn)
}

/// `order` holds the positions of the takers, in the order in which they may take.
pub fn allocate(scene: &Scene<'_>, takers: &[Taker<'_>], order: &[usize]) -> Allocation {
    let mut left = Left::of(scene);
    let mut parts: Vec<Part> = Vec::with_capacity(scene.legs.len());
    let mut same_as: Vec<usize> = (0..takers.len()).collect();
    let ordered = order.iter().filter_map(|at| Some((*at, takers.get(*at)?)));
    let mut wanted: Vec<(usize, &Taker<'_>, &Share)> =
        ordered.flat_map(|(at, taker)| taker.claim.explains.iter().map(move |share| (at, taker, share))).collect();
    // Within a turn they stay in order.
    wanted.sort_by_key(|(_, taker, share)| turn(taker, share.tie));
    for (at, taker, share) in wanted {
        let is_same = |part: &&Part| {
            let holder = takers.get(part.claim).map(|holder| holder.claim.category);
            part.leg == share.leg && holder == Some(taker.claim.category)
        };
        // An event and a call may state the same amount. What is left beside it then is somebody else's.
        let is_short = share.tie == Tie::Stated && left.of_leg(share.leg) < share.amount;
        let is_twice = is_short && parts.iter().filter(is_same).any(|part| part.amount == share.amount);
        let amount = if is_twice { U256::ZERO } else { left.take(scene, share) };
        if amount.is_zero() {
            if let (Some(part), Some(same_as)) = (parts.iter().find(is_same), same_as.get_mut(at)) {
                *same_as = part.claim;
            }
            continue;
        }
        let is_backed = taker.is_backed;
        parts.push(Part { claim: at, leg: share.leg, amount, is_mirror: share.is_mirror, is_backed });
    }
    let open = remainders(scene, &mut left.legs, &mut parts);
    Allocation { parts, same_as, open, left: left.legs }
}

/// What is not taken yet: of each leg, and of each movement of the wallet.
struct Left {
    legs: Vec<U256>,
    moves: Vec<U256>,
}

impl Left {
    fn of(scene: &Scene<'_>) -> Self {
        Self {
            legs: scene.legs.iter().map(|leg| leg.amount).collect(),
            moves: scene.own().iter().map(|own| own.amount).collect(),
        }
    }

    fn of_leg(&self, leg: usize) -> U256 {
        self.legs.get(leg).copied().unwrap_or_default()
    }

    /// How much of the share is still there; no movement is taken twice.
    fn take(&mut self, scene: &Scene<'_>, share: &Share) -> U256 {
        let (Some(leg), Some(left)) = (scene.legs.get(share.leg), self.legs.get(share.leg).copied()) else {
            return U256::ZERO;
        };
        let amount = if share.moves.is_empty() {
            let amount = share.amount.min(left);
            if share.tie == Tie::Stated {
                self.use_up(scene, leg, amount);
            }
            amount
        } else {
            let (mut ahead, mut back) = (U256::ZERO, U256::ZERO);
            for (at, (own, left)) in scene.own().iter().zip(&mut self.moves).enumerate() {
                if share.moves.contains(at) {
                    let sum = if own.direction == leg.direction { &mut ahead } else { &mut back };
                    *sum = sum.saturating_add(std::mem::take(left));
                }
            }
            ahead.saturating_sub(back).min(left)
        };
        if let Some(left) = self.legs.get_mut(share.leg) {
            *left = left.saturating_sub(amount);
        }
        amount
    }

    /// A stated amount is the movement of just that amount, where there is one, else of whatever movements of the asset come first.
    fn use_up(&mut self, scene: &Scene<'_>, leg: &Leg, amount: U256) {
        let is_of_leg = |own: &Own| own.asset == leg.asset && own.direction == leg.direction;
        let of_leg = || scene.own().iter().enumerate().filter(|(_, own)| is_of_leg(own)).map(|(at, _)| at);
        if let Some(left) =
            of_leg().find(|at| self.moves.get(*at) == Some(&amount)).and_then(|at| self.moves.get_mut(at))
        {
            *left = U256::ZERO;
            return;
        }
        let mut wanted = amount;
        for at in of_leg() {
            let Some(left) = self.moves.get_mut(at) else { continue };
            let used = wanted.min(*left);
            *left = left.saturating_sub(used);
            wanted = wanted.saturating_sub(used);
        }
    }
}

/// A remainder that is only rounding goes to whoever took the most of the leg; any other is open. What moved by itself is no rounding.
fn remainders(scene: &Scene<'_>, left: &mut [U256], parts: &mut [Part]) -> LegSet {
    let mut open = LegSet::EMPTY;
    for (at, (leg, left)) in scene.legs.iter().zip(left).enumerate().take(LEGS_MAX) {
        let most = parts.iter_mut().filter(|part| part.leg == at).max_by_key(|part| part.amount);
        let moved = || scene.moved(leg.direction, leg.asset).iter();
        let is_rounding = || *left <= dust(leg.amount) && !moved().any(|own| own.amount == *left);
        match most {
            Some(part) if left.is_zero() || is_rounding() => {
                part.amount = part.amount.saturating_add(*left);
                *left = U256::ZERO;
            }
            _ => open.insert(at),
        }
        if parts.iter().any(|part| part.leg == at && !part.is_backed) {
            open.insert(at);
        }
    }
    open
}

/// Rounding of shares and rebasing balances leaves a remainder of at most a ten-thousandth of the leg, which needs no claim.
pub fn dust(amount: U256) -> U256 {
    amount / U256::from(10_000_u32)
}
