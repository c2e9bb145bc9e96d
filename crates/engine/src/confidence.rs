//! Confidence comes from agreement, on this one page.
//!
//! It starts at what the deciding claim is worth: a verified contract 88, a well-known shape of event 72, a well-known call
//! 64. Every other source that agrees adds 8; a call that asked for something else takes 12 away, unless it asked for a plain
//! transfer, which many actions consist of. A contract that nobody vouches for and that says the wallet keeps what it has is worth 72 at most. A leg that no claim explains, or a doubt about the scene itself, caps it below
//! the review threshold. So 95 and more means a verified rule and another source that agrees, and an agreeing opinion
//! never lowers it.

use crate::category::Nature;
use crate::opinion::{Opinion, Source, Strength};

/// Below this the result is flagged for review.
pub const REVIEW_BELOW: u8 = 60;
/// Where the chain itself decides, such as a failure.
pub const CERTAIN: u8 = 99;
/// No claim decided.
pub const OPEN: u8 = 20;

const VERIFIED: u8 = 88;
const STANDARD: u8 = 72;
const ASKED: u8 = 64;
const SUGGESTED: u8 = 45;
const AGREES: u8 = 8;
const DISSENTS: u8 = 12;
const WITH_RESIDUAL_MAX: u8 = 45;
const WITH_DOUBT_MAX: u8 = 50;
const MAX: u8 = 99;

/// What a range of confidence means, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Band {
    /// The least confidence in it; it ends where the band above begins.
    pub from: u8,
    pub name: &'static str,
    pub about: &'static str,
}

/// From the highest down.
pub const BANDS: [Band; 4] = [
    Band {
        from: 95,
        name: "Very high",
        about: "A verified rule with evidence on chain, and other sources of the same mind.",
    },
    Band { from: 80, name: "High", about: "A verified rule, or a well-known one that others agree with." },
    Band {
        from: REVIEW_BELOW,
        name: "Fair",
        about: "One source decoded it and nothing contradicted; a plain transfer may stand here.",
    },
    LOWEST,
];

const LOWEST: Band = Band { from: 0, name: "Low", about: "Weak or contradicted, so a person must look." };

pub fn band(confidence: u8) -> Band {
    BANDS.into_iter().find(|band| confidence >= band.from).unwrap_or(LOWEST)
}

#[derive(Debug)]
pub struct Weighing<'a> {
    pub principal: &'a Opinion,
    /// Every opinion.
    pub heard: &'a [Opinion],
    pub has_residual: bool,
    pub has_doubt: bool,
}

pub fn weigh(weighing: &Weighing<'_>) -> u8 {
    let principal = weighing.principal;
    let base = match (principal.strength, principal.source) {
        (Strength::Verified, _) => VERIFIED,
        (Strength::Standard, Source::Protocol | Source::Labels | Source::None) => STANDARD,
        (Strength::Standard, Source::Call | Source::Shape) => ASKED,
        (Strength::Suggested, _) => SUGGESTED,
    };
    let others =
        [Source::Protocol, Source::Call, Source::Shape, Source::Labels].into_iter().filter(|s| *s != principal.source);
    let mut confidence = base;
    for source in others {
        let mut said = weighing.heard.iter().filter(|opinion| opinion.source == source);
        let is_plain = |opinion: &Opinion| opinion.category.is_plain_transfer();
        if said.clone().any(|opinion| opinion.category == principal.category) {
            confidence = confidence.saturating_add(AGREES);
        } else if source == Source::Call && said.any(|opinion| !is_plain(opinion)) {
            confidence = confidence.saturating_sub(DISSENTS);
        }
    }
    let is_kept = principal.category.meaning().nature == Nature::Keeping && !principal.category.is_plain_transfer();
    if principal.strength == Strength::Standard && is_kept && !principal.explains.is_empty() {
        confidence = confidence.min(STANDARD);
    }
    if weighing.has_residual {
        confidence = confidence.min(WITH_RESIDUAL_MAX);
    }
    if weighing.has_doubt {
        confidence = confidence.min(WITH_DOUBT_MAX);
    }
    confidence.min(MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::category::Category;
    use crate::shares::Shares;
    use proptest::prelude::*;

    fn opinion(source: Source, strength: Strength, category: Category) -> Opinion {
        Opinion::new(source, "test", category, strength, Shares::default())
    }

    fn sources() -> impl Strategy<Value = Source> {
        prop_oneof![Just(Source::Protocol), Just(Source::Call), Just(Source::Shape), Just(Source::Labels)]
    }

    fn strengths() -> impl Strategy<Value = Strength> {
        prop_oneof![Just(Strength::Suggested), Just(Strength::Standard), Just(Strength::Verified)]
    }

    fn categories() -> impl Strategy<Value = Category> {
        prop_oneof![Just(Category::Swap), Just(Category::Transfer), Just(Category::Borrow)]
    }

    #[test]
    fn bands_meet_without_a_gap() {
        let named = [0, 59, 60, 79, 80, 94, 95, 100].map(|confidence| band(confidence).name);
        assert_eq!(named, ["Low", "Low", "Fair", "Fair", "High", "High", "Very high", "Very high"]);
    }

    proptest! {
        #[test]
        fn an_agreeing_opinion_never_lowers_confidence(
            principal in (sources(), strengths(), categories()),
            said in prop::collection::vec((sources(), strengths(), categories()), 0..6),
            more in (sources(), strengths()),
            has_residual: bool,
            has_doubt: bool,
        ) {
            let principal = opinion(principal.0, principal.1, principal.2);
            let mut heard: Vec<Opinion> =
                said.into_iter().map(|(source, strength, category)| opinion(source, strength, category)).collect();
            let before = weigh(&Weighing { principal: &principal, heard: &heard, has_residual, has_doubt });
            heard.push(opinion(more.0, more.1, principal.category));
            let after = weigh(&Weighing { principal: &principal, heard: &heard, has_residual, has_doubt });
            prop_assert!(after >= before);
            prop_assert!(!(has_residual || has_doubt) || after < REVIEW_BELOW);
        }
    }
}
