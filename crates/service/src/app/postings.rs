//! What a posting points at.

use engine::classification::{AssetLeg, Assets, Posting, Side};

/// The leg that a posting is a part of.
pub(crate) fn posted_leg<'a>(assets: &'a Assets, posting: &Posting) -> Option<&'a AssetLeg> {
    match posting.side {
        Side::Sent => assets.sent.get(posting.index),
        Side::Received => assets.received.get(posting.index),
        Side::Gas => assets.gas.as_ref(),
    }
}

/// The symbol that tells an imitation from what it imitates.
pub(crate) fn shown_symbol(leg: &AssetLeg) -> &str {
    leg.display_symbol.as_ref().unwrap_or(&leg.symbol)
}
