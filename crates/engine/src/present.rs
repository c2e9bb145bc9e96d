//! The reading, dressed as the answer. Nothing is decided here.

use alloy_primitives::U256;

use crate::adjudicate::Reading;
use crate::amount::Amount;
use crate::asset::{Account, Asset, Seen};
use crate::category::{Category, LedgerAction, Treatment};
use crate::classification::{
    API_VERSION, Action, Alternate, AssetLeg, Assets, BlockTime, Classification, Evidence, GreyArea, Parent,
};
use crate::describe;
use crate::evm::Token;
use crate::evm::scene::{Direction, Leg, Scene};
use crate::opinion::{Opinion, Strength};
use crate::policy::{self, Circumstances};
use crate::question::Question;
use crate::rules::Rules;
use crate::steps;

/// How much of a leg is shown: a step may speak for a part of it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    Whole,
    Amount(U256),
}

/// A contract that reports no symbol.
const SYMBOL_UNKNOWN: &str = "UNKNOWN";

pub fn present(scene: &Scene<'_>, reading: &Reading, question: &Question, rules: &Rules) -> Classification {
    let facts = scene.facts;
    let assets = assets(scene, |_| Some(Part::Whole));
    let position = policy::position(reading.category, &question.policy, circumstances(scene, reading, question, None));
    let leaning = if reading.category == Category::Unclassified { Treatment::NeedsReview } else { position.treatment };
    let spoken_of = steps::principal_assets(scene, reading).unwrap_or_else(|| assets.clone());
    let description =
        describe::description(reading.category, &spoken_of, reading.protocol.as_deref(), leaning, reading.needs_review);
    let steps = steps::steps(scene, reading, question);
    let memo = steps.as_ref().map(|steps| steps::memo(&description, steps));
    Classification {
        api_version: API_VERSION,
        id: None,
        error: None,
        hash: Some(format!("{:#x}", facts.transaction.hash)),
        chain: Some(facts.chain.slug.clone()),
        category: reading.category,
        treatment: leaning,
        taxable: if reading.needs_review { None } else { position.treatment.taxable() },
        confidence: reading.confidence,
        needs_review: reading.needs_review,
        ledger_action: Some(if reading.needs_review { LedgerAction::Review } else { position.ledger_action }),
        protocol: reading.protocol.as_deref().map(str::to_owned),
        review_note: reading.needs_review.then(|| review_note(scene, reading)),
        grey_area: position.grey.map(grey_area),
        assets,
        chain_corrected: None,
        perspective: Some(scene.perspective.into()),
        block: facts.block.map(|block| BlockTime {
            number: block.number,
            timestamp: jiff::Timestamp::from_second(block.timestamp).map(|at| at.to_string()).unwrap_or_default(),
            finalized: block.finalized,
        }),
        parent: steps.as_ref().map(|_| Parent {
            category: reading.category,
            treatment: leaning,
            description: description.clone(),
        }),
        legs: steps,
        memo,
        description: Some(description),
        engine: rules.engine.clone(),
        evidence: question.explain.then(|| evidence(scene, reading)),
    }
}

fn grey_area((note, side): (&'static str, crate::category::Side)) -> GreyArea {
    GreyArea {
        note: Some(note.to_owned()),
        alternate: Some(Alternate {
            treatment: Some(side.treatment),
            taxable: side.treatment.taxable(),
            label: Some(side.label.to_owned()),
        }),
    }
}

/// What the table's conditions ask, for the whole transaction or for one claim in it.
pub(crate) fn circumstances(
    scene: &Scene<'_>,
    reading: &Reading,
    question: &Question,
    claim: Option<&Opinion>,
) -> Circumstances {
    let counts = |at: usize| claim.is_none_or(|claim| claim.explains.contains(at));
    let legs = || scene.legs.iter().enumerate().filter(|(at, _)| counts(*at)).map(|(_, leg)| leg);
    let out = legs().any(|leg| leg.direction == Direction::Out);
    Circumstances {
        all_parties_own: legs().all(|leg| question.own_wallets.contains(&leg.other)),
        paid: legs().any(|leg| leg.direction == Direction::Out && !leg.asset.is_nft()),
        claimed_by_wallet: scene.acts(),
        incoming: legs().any(|leg| leg.direction == Direction::In),
        verified: claim.map_or(reading.strength, |claim| claim.strength) == Strength::Verified,
        out,
    }
}

pub(crate) fn assets(scene: &Scene<'_>, wanted: impl Fn(usize) -> Option<Part>) -> Assets {
    Assets { gas: scene.gas.map(|gas| gas_leg(scene, gas)), ..assets_of(scene, &scene.legs, wanted) }
}

/// The legs of any account in the scene, as they are printed.
pub(crate) fn assets_of(scene: &Scene<'_>, legs: &[Leg], wanted: impl Fn(usize) -> Option<Part>) -> Assets {
    let mut assets = Assets::default();
    for (at, leg) in legs.iter().enumerate() {
        let Some(part) = wanted(at) else { continue };
        let side = match leg.direction {
            Direction::Out => &mut assets.sent,
            Direction::In => &mut assets.received,
        };
        side.push(asset_leg(scene, leg, part));
    }
    assets
}

fn gas_leg(scene: &Scene<'_>, gas: U256) -> AssetLeg {
    let chain = &scene.facts.chain;
    AssetLeg {
        amount: Amount { raw: gas, decimals: Some(chain.native_decimals) }.to_string(),
        action: Action::PaidGas,
        ..native_leg(scene)
    }
}

fn native_leg(scene: &Scene<'_>) -> AssetLeg {
    let chain = &scene.facts.chain;
    AssetLeg {
        symbol: chain.native_symbol.clone(),
        amount: String::new(),
        action: Action::Received,
        decimals: Some(chain.native_decimals),
        token_address: None,
        token_name: Some(chain.native_name.clone()),
        to: None,
        from: None,
        token_type: None,
        token_id: None,
        symbol_collision: false,
        display_symbol: None,
        inferred: false,
        inferred_basis: None,
    }
}

fn asset_leg(scene: &Scene<'_>, leg: &Leg, part: Part) -> AssetLeg {
    let mut printed = native_leg(scene);
    if let Some(contract) = leg.asset.contract() {
        name_token(&mut printed, scene, contract);
    }
    if let Asset::Nft { id, kind, .. } = leg.asset {
        printed.token_type = Some(kind);
        printed.token_id = Some(id.to_string());
        printed.decimals = None;
    }
    let raw = match part {
        Part::Whole => leg.amount,
        Part::Amount(amount) => amount.min(leg.amount),
    };
    printed.amount = Amount { raw, decimals: printed.decimals }.to_string();
    printed.inferred = leg.inferred;
    printed.inferred_basis = leg.inferred.then_some("balance_delta");
    match leg.direction {
        Direction::Out => {
            printed.to = Some(leg.other);
            printed.action = if leg.minted_or_burned { Action::Burned } else { Action::Transferred };
        }
        Direction::In => {
            printed.from = Some(leg.other);
            printed.action = if leg.minted_or_burned { Action::Minted } else { Action::Received };
        }
    }
    printed
}

fn name_token(printed: &mut AssetLeg, scene: &Scene<'_>, contract: Account) {
    let known = contract.evm().and_then(|contract| scene.facts.tokens.get(&contract));
    let text = |text: &Option<String>| text.as_deref().map(Token::clip).map(str::to_owned);
    printed.token_address = Some(contract);
    printed.decimals = known.and_then(|token| token.decimals);
    printed.token_name = known.and_then(|token| text(&token.name));
    printed.symbol = known.and_then(|token| text(&token.symbol)).unwrap_or_else(|| SYMBOL_UNKNOWN.to_owned());
    let collides = contract.evm().is_some_and(|contract| scene.known.symbol_collides(&printed.symbol, contract));
    if collides {
        let address = contract.to_string();
        let (head, tail) = (address.get(..6).unwrap_or_default(), address.get(38..).unwrap_or_default());
        printed.symbol_collision = true;
        printed.display_symbol = Some(format!("{} ({head}…{tail})", printed.symbol));
    }
}

/// Why a person should look, from the gravest reason down.
fn review_note(scene: &Scene<'_>, reading: &Reading) -> String {
    let mut reasons: Vec<String> = reading.doubts.iter().map(describe::doubt).collect();
    if !reading.residual.is_empty() && !reading.claims.is_empty() {
        let open = assets(scene, |at| reading.residual.contains(at).then_some(Part::Whole));
        let sides = [("sent", describe::list(&open.sent)), ("received", describe::list(&open.received))];
        let named: Vec<String> =
            sides.into_iter().filter_map(|(side, legs)| legs.map(|legs| format!("{legs} {side}"))).collect();
        reasons.push(format!("No rule explains: {}.", named.join("; ")));
    }
    if reading.has_unbacked {
        reasons.push(
            "Only a contract that nobody vouches for says what this was, and no other movement bears it out."
                .to_owned(),
        );
    }
    if reading.claims.is_empty() {
        let suggestion = reading.heard.iter().map(|(opinion, _)| opinion.category.name()).next();
        let hint = suggestion.map(|name| format!(" The movements alone would suggest `{name}`.")).unwrap_or_default();
        reasons.push(format!("No rule and no known call says what this transaction was for.{hint}"));
    } else if reading.category.row().treatment == Treatment::NeedsReview {
        reasons.push(format!("Read as `{}`: {}.", reading.category.name(), reading.category.row().basis));
    }
    if reasons.is_empty() {
        reasons.push("The sources disagree on what this transaction was.".to_owned());
    }
    reasons.join(" ")
}

fn evidence(scene: &Scene<'_>, reading: &Reading) -> Vec<Evidence> {
    let mut rows: Vec<Evidence> = reading
        .heard
        .iter()
        .map(|(opinion, agrees)| Evidence {
            source: opinion.source,
            rule: opinion.rule.to_string(),
            says: opinion.category,
            log_index: opinion.at.and_then(|seen| log_index(scene, seen)),
            instruction_index: None,
            agrees: *agrees,
        })
        .collect();
    rows.sort_by(|a, b| (a.source, a.log_index, &a.rule, a.says).cmp(&(b.source, b.log_index, &b.rule, b.says)));
    rows
}

fn log_index(scene: &Scene<'_>, seen: Seen) -> Option<u64> {
    match seen {
        Seen::Log(position) => {
            let index = scene.facts.receipt.logs.get(position)?.log_index;
            index.map(|index| index.to::<u64>()).or_else(|| u64::try_from(position).ok())
        }
        Seen::Value | Seen::Trace(_) | Seen::Balance => None,
    }
}
