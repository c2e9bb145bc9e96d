//! What every reading promises, whatever it was read from.

use engine::Classification;
use engine::asset::NftKind;
use engine::classification::{AssetLeg, Assets};
use engine::confidence::REVIEW_BELOW;
use engine::token::TOKEN_TEXT_BYTES_MAX;

const CONFIDENCE_MAX: u8 = 100;

pub fn holds(answer: &Classification) {
    assert_eq!(answer.needs_review, answer.taxable.is_none(), "a review is never false: {answer:?}");
    assert_eq!(answer.needs_review, answer.review_note.is_some(), "a review says why: {answer:?}");
    assert!(answer.confidence <= CONFIDENCE_MAX);
    assert!(answer.needs_review || answer.confidence >= REVIEW_BELOW, "below 60 a person looks: {answer:?}");
    assert!(answer.needs_review || answer.taxable == answer.treatment.taxable(), "taxable follows treatment");
    assets_hold(&answer.assets);
    for (at, step) in answer.legs.iter().flatten().enumerate() {
        assert_eq!(step.leg_index, at, "steps are counted from 0");
        assets_hold(&step.assets);
    }
    let all = answer.assets.sent.iter().chain(&answer.assets.received);
    assert!(answer.needs_review || all.clone().all(|leg| !leg.inferred), "what is inferred is reviewed");
    let steps = answer.legs.is_some();
    assert!(answer.parent.is_some() == steps && answer.memo.is_some() == steps, "parent, legs and memo come together");
    if let Some(block) = &answer.block {
        let is_time = block.timestamp.parse::<jiff::Timestamp>().is_ok();
        assert!(is_time, "`{}` is no RFC 3339", block.timestamp);
    }
    let written = serde_json::to_string(answer);
    assert!(written.is_ok(), "{written:?}");
}

fn assets_hold(assets: &Assets) {
    for leg in assets.sent.iter().chain(&assets.received).chain(&assets.gas) {
        leg_holds(leg);
    }
    let sides = [(&assets.sent, true), (&assets.received, false)];
    for (legs, is_sent) in sides {
        // One that was with several names none of them.
        let other_way = |leg: &AssetLeg| if is_sent { leg.from } else { leg.to };
        assert!(legs.iter().all(|leg| other_way(leg).is_none()), "{legs:?}");
    }
}

fn leg_holds(leg: &AssetLeg) {
    assert!(!leg.symbol.is_empty() && leg.symbol.len() <= TOKEN_TEXT_BYTES_MAX, "{leg:?}");
    assert!(leg.token_name.as_ref().is_none_or(|name| name.len() <= TOKEN_TEXT_BYTES_MAX), "{leg:?}");
    let (whole, fraction) = leg.amount.split_once('.').unwrap_or((&leg.amount, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    assert!(!whole.is_empty() && is_digits(whole) && is_digits(fraction), "{leg:?}");
    assert!(whole == "0" || !whole.starts_with('0'), "{leg:?}");
    assert_eq!(leg.amount.contains('.'), !fraction.is_empty(), "{leg:?}");
    assert!(!fraction.ends_with('0') && fraction.len() <= usize::from(leg.decimals.unwrap_or(0)), "{leg:?}");
    assert_eq!(leg.inferred, leg.inferred_basis.is_some(), "{leg:?}");
    assert_eq!(leg.symbol_collision, leg.display_symbol.is_some(), "{leg:?}");
    // On Solana the mint itself is the item.
    let is_item = leg.token_type.is_some_and(|kind| kind != NftKind::SplNft);
    assert_eq!(is_item, leg.token_id.is_some(), "{leg:?}");
}
