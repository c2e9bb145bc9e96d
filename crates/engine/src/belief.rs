//! What a contract may decide that no pack vouches for: anyone can log a well-known event, or be called by a well-known name.
//!
//! What is taxable it may decide when the movements agree. What is not, only where a lie would show: a wrap into its own token, one to one; a
//! deposit against its own token, freshly minted; and what it returns of an asset, up to what that asset's own logs show that the wallet gave it
//! before. Never a loan, never a bridge, never an exchange between two assets of which neither is its own.

use alloy_primitives::U256;

use crate::asset::{Account, Asset};
use crate::category::{Category, Nature, Presence, Rank};
use crate::legs::{Direction, Leg};
use crate::needs::Need;
use crate::opinion::{Opinion, Strength};
use crate::scene::Scene;
use crate::shares::{MoveSet, Share, Shares, Tie};

/// Assets of one transaction whose earlier transfers are asked for.
const PROOFS_MAX: usize = 4;

/// Whether the claim may decide. What is not believed stays open, with the claim as the leaning.
pub fn is_believed(scene: &Scene<'_>, claim: &Opinion) -> bool {
    let meaning = claim.category.meaning();
    if claim.strength == Strength::Verified || claim.category.is_plain_transfer() || meaning.rank == Rank::Decided {
        return true;
    }
    if claim.explains.is_empty() || matches!(meaning.presence, Presence::OnlyAlone | Presence::MovesNothing) {
        return scene.acts;
    }
    let goes_out = claim.explains_direction(&scene.legs, Direction::Out);
    let comes_in = claim.explains_direction(&scene.legs, Direction::In);
    match meaning.nature {
        Nature::Exchange => (goes_out && comes_in) || is_own_item(scene, claim) || is_returned(scene, claim),
        // Income in the coin or a canonical token cannot be forged.
        Nature::Earning => {
            comes_in && (goes_out || scene.acts || legs(scene, claim).all(|(leg, _)| scene.is_real(leg.asset)))
        }
        Nature::Spending | Nature::Undecided => comes_in && (goes_out || scene.acts),
        Nature::Keeping => match kept(claim.category) {
            Kept::Wrapped => is_wrapped(scene, claim),
            Kept::Given => comes_in && is_against_own_token(scene, claim),
            Kept::Returned => is_returned(scene, claim),
            Kept::Never => false,
        },
    }
}

/// How a claim that the wallet keeps what it has would show to be a lie.
enum Kept {
    Wrapped,
    /// A deposit.
    Given,
    /// A deposit that comes back.
    Returned,
    /// A loan, a bridge, an account elsewhere: nothing on chain contradicts whoever says so.
    Never,
}

fn kept(category: Category) -> Kept {
    match category {
        Category::Wrap | Category::Unwrap => Kept::Wrapped,
        Category::VaultDeposit
        | Category::StakingDeposit
        | Category::CollateralSupply
        | Category::VoteLock
        | Category::MarginDeposit
        | Category::RedemptionRequest
        | Category::OrderPlace => Kept::Given,
        Category::VaultWithdraw
        | Category::StakingWithdraw
        | Category::CollateralWithdraw
        | Category::MarginWithdraw
        | Category::OrderCancel
        | Category::LiquidityRemove
        | Category::Refund => Kept::Returned,
        _ => Kept::Never,
    }
}

/// Whether it gives back what was given before.
pub fn is_return(category: Category) -> bool {
    matches!(kept(category), Kept::Returned)
}

fn legs<'a>(scene: &'a Scene<'_>, claim: &'a Opinion) -> impl Iterator<Item = (&'a Leg, &'a Share)> {
    claim.explains.iter().filter_map(|share| Some((scene.legs.get(share.leg)?, share)))
}

fn legs_to<'a>(
    scene: &'a Scene<'_>,
    claim: &'a Opinion,
    direction: Direction,
) -> impl Iterator<Item = (&'a Leg, &'a Share)> {
    legs(scene, claim).filter(move |(leg, _)| leg.direction == direction)
}

/// The token is this contract, and it made or destroyed it, or handed it out or took it back itself.
fn is_own_token(leg: &Leg, contract: Account) -> bool {
    leg.asset.contract() == Some(contract) && (leg.minted_or_burned || leg.other == contract)
}

/// The contract's own token one way, and as much of what it keeps the other.
fn is_wrapped(scene: &Scene<'_>, claim: &Opinion) -> bool {
    let Some(speaker) = claim.speaker else { return false };
    let mut legs = legs(scene, claim).map(|(leg, _)| leg);
    let (Some(one), Some(other), None) = (legs.next(), legs.next(), legs.next()) else { return false };
    let is_pair = |own: &Leg, kept: &Leg| is_own_token(own, speaker) && kept.other == speaker;
    one.direction != other.direction && one.amount == other.amount && (is_pair(one, other) || is_pair(other, one))
}

/// Whether the category rests on nothing but the word of an unlisted contract, so that no policy may make it untaxed. A deposit rests on more: a
/// share comes in that is minted, or handed out by its own contract.
pub fn is_only_word(scene: &Scene<'_>, claim: &Opinion) -> bool {
    let is_share = |leg: &Leg| leg.minted_or_burned || leg.asset.contract() == Some(leg.other);
    let came_in = || legs_to(scene, claim, Direction::In).map(|(leg, _)| leg);
    let has_share = came_in().any(is_share) && came_in().all(|leg| !scene.is_real(leg.asset));
    claim.strength != Strength::Verified && !has_share
}

/// All that came in is the own token of whoever says so, or of whoever took the asset.
fn is_against_own_token(scene: &Scene<'_>, claim: &Opinion) -> bool {
    let is_own = |leg: &Leg| {
        let takers = legs_to(scene, claim, Direction::Out).map(|(leg, _)| leg.other);
        claim.speaker.into_iter().chain(takers).any(|maker| is_own_token(leg, maker))
    };
    legs_to(scene, claim, Direction::In).all(|(leg, _)| is_own(leg))
}

/// An NFT that was minted and nothing was given for.
fn is_own_item(scene: &Scene<'_>, claim: &Opinion) -> bool {
    let is_minted = |leg: &Leg| leg.minted_or_burned && leg.asset.is_nft();
    claim.category == Category::NftMint && scene.acts && legs(scene, claim).all(|(leg, _)| is_minted(leg))
}

/// The wallet gave whoever pays as much before of all that came in.
fn is_returned(scene: &Scene<'_>, claim: &Opinion) -> bool {
    let mut came_in = legs_to(scene, claim, Direction::In).peekable();
    came_in.peek().is_some()
        && came_in.all(|(leg, share)| given(scene, leg).flatten().is_some_and(|given| given >= share.amount))
}

/// What the wallet gave before to whoever pays this leg. The coin leaves no log, so nothing shows who gave it.
fn given(scene: &Scene<'_>, leg: &Leg) -> Option<Option<U256>> {
    match leg.asset {
        Asset::Token(token) => scene.ground.given(token, scene.wallet, leg.other),
        Asset::Native | Asset::Nft { .. } => Some(None),
    }
}

/// Whether it is a return on the word of a contract that nobody vouches for.
fn is_unproved_return(claim: &Opinion) -> bool {
    is_return(claim.category) && claim.strength == Strength::Standard
}

/// The claim with no more of each return than was given before; the rest of the leg is nobody's.
pub fn clipped(scene: &Scene<'_>, claim: Opinion) -> Opinion {
    if !is_unproved_return(&claim) {
        return claim;
    }
    let mut explains = Shares::default();
    for share in claim.explains.iter() {
        let leg = scene.legs.get(share.leg).filter(|leg| leg.direction == Direction::In);
        let given = leg.and_then(|leg| given(scene, leg)).flatten();
        explains.add(match given.filter(|given| !given.is_zero() && *given < share.amount) {
            Some(amount) => Share { amount, tie: Tie::Stated, moves: MoveSet::default(), ..*share },
            None => *share,
        });
    }
    Opinion { explains, ..claim }
}

/// What would prove the claims that are returns, where nobody asked for it yet.
pub fn needs(scene: &Scene<'_>, claims: &[Opinion]) -> Vec<Need> {
    let unproved = claims.iter().filter(|claim| is_unproved_return(claim) && scene.acts && !is_believed(scene, claim));
    let paid = unproved.flat_map(|claim| legs_to(scene, claim, Direction::In));
    let unasked = paid.filter(|(leg, _)| given(scene, leg).is_none());
    let mut needs: Vec<Need> = unasked
        .filter_map(|(leg, _)| {
            let token = leg.asset.contract()?;
            Some(Need::Given { token, giver: scene.wallet, taker: leg.other })
        })
        .collect();
    needs.sort_unstable();
    needs.dedup();
    needs.truncate(PROOFS_MAX);
    needs
}
