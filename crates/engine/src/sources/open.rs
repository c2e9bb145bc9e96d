//! How far a contract is believed that no pack lists by itself: a factory made it, or another contract vouches for it.
//!
//! Its code is the protocol's, but anybody may have one made, with a token or an asset of his own that moves something else when it is paid. So it is as
//! good as listed only for what moved between it, or other contracts of its protocol, and the wallet; never for a loan, since anybody may lend; and for
//! a return only where the wallet gives something up for it, since anybody may stake for somebody else.

use alloy_primitives::Address;

use crate::asset::Account;
use crate::belief;
use crate::category::Rank;
use crate::evm::scene::EvmScene;
use crate::legs::Direction;
use crate::opinion::{Opinion, Strength};
use crate::rules::Rules;

/// What a contract makes for itself it makes first: the markets of a vault, its keeper.
const MADE_FIRST_MAX: u64 = 4;

/// The claim is verified where its speaker is such a contract and it is about nothing but the two of them. Not of one that only runs a listed contract's
/// code: whoever deployed it wrote its storage too, and may have given himself, or the wallet, shares of it.
pub fn raise(scene: &EvmScene<'_>, rules: &Rules, claim: &mut Opinion) {
    let speaker = claim.speaker.and_then(|speaker| speaker.evm()).filter(|_| claim.strength == Strength::Standard);
    let pack = speaker.and_then(|speaker| scene.known.open(speaker));
    let known = speaker.zip(pack).filter(|(speaker, _)| !scene.known.is_copy(*speaker));
    let Some((speaker, pack)) = known else { return };
    let is_its = |party: Address| {
        party == speaker
            || scene.known.holders(party).iter().any(|holder| holder.pack == pack)
            || (1..=MADE_FIRST_MAX).any(|nonce| speaker.create(nonce) == party)
    };
    let is_between_them = claim.explains.iter().all(|share| {
        let leg = scene.legs.get(share.leg);
        let mut own = leg.into_iter().flat_map(|leg| scene.moved(leg.direction, leg.asset));
        own.all(|own| Account::evm(&own.counterparty()).is_some_and(is_its))
    });
    let is_loan = claim.category.meaning().rank == Rank::Loan;
    let gives_up = claim.explains_direction(&scene.legs, Direction::Out);
    if !is_between_them || is_loan || belief::is_return(claim.category) && !gives_up {
        return;
    }
    (claim.strength, claim.speaker) = (Strength::Verified, None);
    claim.protocol = claim.protocol.take().or_else(|| rules.protocol(pack));
}
