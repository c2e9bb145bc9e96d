//! The reading, dressed as the answer. Nothing is decided here.

use crate::adjudicate::{Reading, circumstances};
use crate::asset::Seen;
use crate::category::{Category, LedgerAction, Treatment};
use crate::classification::{API_VERSION, Alternate, BlockTime, Classification, Evidence, GreyArea, Parent};
use crate::describe;
use crate::evm::Block;
use crate::opinion::Source;
use crate::policy;
use crate::printed::{Part, assets};
use crate::question::Question;
use crate::rules::Rules;
use crate::scene::Scene;
use crate::steps;

pub fn present(scene: &Scene<'_>, reading: &Reading, question: &Question, rules: &Rules) -> Classification {
    let assets = assets(scene, |_| Some(Part::Whole));
    let position = policy::position(reading.category, &question.policy, circumstances(scene, reading, question, None));
    let is_for_review = reading.is_for_review(question);
    let leaning = if reading.category == Category::Unclassified { Treatment::NeedsReview } else { position.treatment };
    let principal = steps::principal_assets(scene, reading);
    let spoken_of = principal.as_ref().unwrap_or(&assets);
    let description =
        describe::description(reading.category, spoken_of, reading.protocol.as_deref(), leaning, is_for_review);
    let steps = steps::steps(scene, reading, question);
    let memo = steps.as_ref().map(|steps| steps::memo(&description, steps));
    Classification {
        api_version: API_VERSION,
        id: None,
        error: None,
        hash: Some(scene.hash.to_string()),
        chain: Some(scene.chain.slug.clone()),
        category: reading.category,
        treatment: leaning,
        taxable: if is_for_review { None } else { position.treatment.taxable() },
        confidence: reading.confidence,
        needs_review: is_for_review,
        ledger_action: Some(if is_for_review { LedgerAction::Review } else { position.ledger_action }),
        protocol: reading.protocol.as_deref().map(str::to_owned),
        review_note: is_for_review.then(|| review_note(scene, reading, question)),
        grey_area: position.grey.map(grey_area),
        assets,
        chain_corrected: None,
        perspective: Some(scene.wallet),
        block: scene.block.and_then(block_time),
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
        source: decided_by(reading),
        is_floored: is_for_review && !reading.needs_review,
    }
}

/// A time that no calendar has is not told.
fn block_time(block: Block) -> Option<BlockTime> {
    let at = jiff::Timestamp::from_second(block.timestamp).ok()?;
    Some(BlockTime { number: block.number, timestamp: at.to_string(), finalized: block.finalized })
}

fn decided_by(reading: &Reading) -> Source {
    let deciding = reading.claims.iter().filter(|claim| claim.category == reading.category);
    deciding.max_by_key(|claim| claim.strength).map_or(Source::None, |claim| claim.source)
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

/// Why a person should look, from the gravest reason down.
fn review_note(scene: &Scene<'_>, reading: &Reading, question: &Question) -> String {
    if let Some(floor) = question.review_below.filter(|_| !reading.needs_review) {
        return describe::below_floor(reading.confidence, floor);
    }
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
            instruction_index: opinion.at.and_then(instruction_index),
            agrees: *agrees,
        })
        .collect();
    rows.sort_by(|a, b| (a.source, a.log_index, &a.rule, a.says).cmp(&(b.source, b.log_index, &b.rule, b.says)));
    rows
}

fn instruction_index(seen: Seen) -> Option<u64> {
    match seen {
        Seen::Instruction(outer) => u64::try_from(outer).ok(),
        Seen::Value | Seen::Log(_) | Seen::Trace(_) | Seen::Balance => None,
    }
}

fn log_index(scene: &Scene<'_>, seen: Seen) -> Option<u64> {
    match seen {
        Seen::Log(position) => scene.ground.log_index(position),
        Seen::Value | Seen::Trace(_) | Seen::Instruction(_) | Seen::Balance => None,
    }
}
