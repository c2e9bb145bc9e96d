//! How far a contract is believed that no pack lists and that another contract vouches for.
//!
//! Its code is the protocol's, but often anybody may have one made, with a token or an asset of his own that moves something else when it is paid. So it
//! is as good as listed only for what moved between it and the wallet; never for a loan, since anybody may lend; and for a return only where the wallet
//! gives something up for it, since anybody may stake for somebody else.

use crate::belief;
use crate::category::Rank;
use crate::evm::scene::EvmScene;
use crate::legs::Direction;
use crate::opinion::{Opinion, Strength};
use crate::rules::Rules;

/// The claim, verified where its speaker is vouched for and it is about nothing but the two of them.
pub fn raised(scene: &EvmScene<'_>, rules: &Rules, claim: Opinion) -> Opinion {
    let speaker = claim.speaker.filter(|_| claim.strength == Strength::Standard);
    let proved = speaker.and_then(|speaker| scene.known.proved(speaker.evm()?));
    let Some((speaker, pack)) = speaker.zip(proved) else { return claim };
    let is_between_them = claim.explains.iter().all(|share| {
        let leg = scene.legs.get(share.leg);
        let mut own = leg.into_iter().flat_map(|leg| scene.moved(leg.direction, leg.asset));
        own.all(|own| own.counterparty() == speaker)
    });
    let is_loan = claim.category.meaning().rank == Rank::Loan;
    let gives_up = claim.explains_direction(&scene.legs, Direction::Out);
    if !is_between_them || is_loan || belief::is_return(claim.category) && !gives_up {
        return claim;
    }
    let protocol = claim.protocol.clone().or_else(|| rules.protocol(pack));
    Opinion { strength: Strength::Verified, speaker: None, protocol, ..claim }
}
