//! The `shape` source: what the net movements alone suggest. It never decides, it only agrees or disagrees.

use crate::asset::Asset;
use crate::category::Category;
use crate::legs::{Direction, Leg};
use crate::opinion::{Opinion, Source, Strength};
use crate::scene::{Outcome, Scene};
use crate::shares::Shares;

/// The role in which packs list vaults whose shares are tokens.
const VAULT: &str = "vault";

pub fn opinion(scene: &Scene<'_>) -> Option<Opinion> {
    if scene.outcome == Outcome::Failed {
        return None;
    }
    let (rule, category) = suggestion(scene)?;
    Some(Opinion::new(Source::Shape, rule, category, Strength::Suggested, Shares::whole(scene.legs.iter().enumerate())))
}

fn suggestion(scene: &Scene<'_>) -> Option<(&'static str, Category)> {
    // Sent legs are before received ones.
    let (out, incoming) = scene.legs.split_at(scene.legs.partition_point(|leg| leg.direction == Direction::Out));
    let nft_out = out.iter().any(|leg| leg.asset.is_nft());
    let nft_in = incoming.iter().any(|leg| leg.asset.is_nft());
    let minted = incoming.iter().any(|leg| leg.minted_or_burned);
    let burned = out.iter().any(|leg| leg.minted_or_burned);
    match (out, incoming) {
        ([], []) if !scene.movements.is_empty() => None,
        ([], []) => Some(("shape/nothing", Category::ContractCall)),
        ([sent], [got]) if is_wrap(scene, sent, got) => Some(wrap(sent)),
        ([], [..]) if nft_in && minted => Some(("shape/nft-minted", Category::NftMint)),
        ([_], []) | ([], [_]) if nft_in || nft_out => Some(("shape/nft-one-way", Category::NftTransfer)),
        ([..], []) | ([], [..]) if nft_in || nft_out => Some(("shape/nfts-one-way", Category::NftTransfer)),
        ([_], []) | ([], [_]) => Some(("shape/one-way", Category::Transfer)),
        ([..], []) | ([], [..]) => Some(("shape/several-one-way", Category::Transfer)),
        ([..], [..]) if nft_in && minted && !nft_out => Some(("shape/nft-minted-paid", Category::NftMint)),
        ([..], [..]) if nft_in && !nft_out => Some(("shape/nft-for-coin", Category::NftPurchase)),
        ([..], [..]) if nft_out && !nft_in => Some(("shape/coin-for-nft", Category::NftSale)),
        ([..], [..]) if minted && !burned => Some(("shape/minted-for-asset", Category::VaultDeposit)),
        ([..], [..]) if burned && !minted => Some(("shape/burned-for-asset", Category::VaultWithdraw)),
        // By a router that trades on the way, or between two people: a person looks either way.
        ([..], [got]) if is_share(scene, got) => Some(("shape/asset-for-share", Category::VaultDeposit)),
        ([sent], [..]) if is_share(scene, sent) => Some(("shape/share-for-asset", Category::VaultWithdraw)),
        ([..], [..]) => Some(("shape/two-sided", Category::Swap)),
    }
}

/// A token that is the share of a listed vault.
fn is_share(scene: &Scene<'_>, leg: &Leg) -> bool {
    leg.asset.contract().is_some_and(|contract| scene.ground.is_listed_as(contract, VAULT))
}

/// The same amount of the coin one way and of its wrapper the other, and the wrapper minted or burned it.
fn is_wrap(scene: &Scene<'_>, sent: &Leg, got: &Leg) -> bool {
    is_one_to_one(scene, sent, got) && (sent.minted_or_burned || got.minted_or_burned)
}

fn is_one_to_one(scene: &Scene<'_>, sent: &Leg, got: &Leg) -> bool {
    scene.is_native(sent.asset) && scene.is_native(got.asset) && sent.amount == got.amount
}

/// The coin and its wrapper, one to one, and nothing else: no exchange, whichever router does it.
pub fn wrapped(scene: &Scene<'_>) -> Option<Category> {
    let [sent, got] = scene.legs.as_slice() else { return None };
    let is_both_ways = sent.direction == Direction::Out && got.direction == Direction::In;
    (is_both_ways && is_one_to_one(scene, sent, got)).then(|| wrap(sent).1)
}

fn wrap(sent: &Leg) -> (&'static str, Category) {
    match sent.asset {
        Asset::Native => ("shape/wrapped", Category::Wrap),
        Asset::Token(_) | Asset::Nft { .. } => ("shape/unwrapped", Category::Unwrap),
    }
}
