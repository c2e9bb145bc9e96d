//! From the reading to the answer, field by field. Only the position and the question's floor are decided here.

use std::collections::BTreeSet;

use crate::adjudicate::Reading;
use crate::asset::{Account, Seen};
use crate::asset_legs::{assets, assets_of};
use crate::block::Block;
use crate::books::{self, Line};
use crate::category::Category;
use crate::classification::{API_VERSION, Alternate, Assets, BlockTime, Classification, Evidence, GreyArea, Parent};
use crate::describe::{self, Told};
use crate::knowledge::Knowledge;
use crate::opinion::Source;
use crate::position::{GreyPosition, Position, circumstances, position};
use crate::question::Question;
use crate::scene::Scene;
use crate::steps;
use crate::treatment::{LedgerAction, Treatment};
use crate::treatments::Treatments;

pub fn answer(scene: &Scene<'_>, reading: &Reading, question: &Question, knowledge: &Knowledge) -> Classification {
    let treatments = &knowledge.treatments;
    let lines = books::lines(scene, reading, question, treatments);
    let headline = books::headline(reading, &lines);
    let category = headline.map_or(reading.category, |line| line.category);
    let position = headline.map_or_else(
        || position(treatments, category, &question.policy, circumstances(scene, reading, question, None)),
        |line| line.position.clone(),
    );
    let has_open_line = lines.iter().any(|line| line.position.treatment == Treatment::NeedsReview);
    let is_open = reading.needs_review || treatments.is_open(category) || has_open_line;
    let is_floored = !is_open && question.review_below.is_some_and(|floor| reading.confidence < floor);
    let needs_review = is_open || is_floored;
    let assets = assets(scene);
    // Where the headline is settled, a step beside it may not be.
    let grey = position.grey.or_else(|| lines.iter().find_map(|line| line.position.grey));
    let leaning = position.treatment;
    let protocol = reading.protocol.as_deref();
    let description = describe_lines(scene, reading, &lines, headline, &assets, &position, needs_review);
    let steps = steps::steps(scene, reading, &lines, needs_review);
    let of_lines = steps.as_ref().map(|steps| steps.of_lines.as_slice()).unwrap_or_default();
    let postings = books::postings(scene, &assets, &lines, of_lines, needs_review);
    let steps = steps.map(|steps| steps.steps);
    Classification {
        api_version: API_VERSION,
        id: None,
        error: None,
        hash: Some(scene.hash.to_string()),
        chain: Some(scene.chain.slug.clone()),
        category,
        treatment: leaning,
        taxable: if needs_review { None } else { position.treatment.taxable() },
        confidence: reading.confidence,
        needs_review,
        ledger_action: Some(if needs_review { LedgerAction::Review } else { position.ledger_action }),
        protocol: protocol.map(str::to_owned),
        review_note: match question.review_below {
            Some(floor) if is_floored => Some(describe::below_floor(reading.confidence, floor)),
            _ => needs_review.then(|| review_note(scene, reading, &lines, &assets, treatments)),
        },
        grey_area: grey.map(grey_area),
        chain_corrected: None,
        perspective: Some(scene.wallet),
        parties: (needs_review && question.wallet.is_none()).then(|| parties(scene)).filter(|all| !all.is_empty()),
        block: scene.block.and_then(block_time),
        parent: steps.as_ref().map(|_| Parent { category, treatment: leaning, description: description.clone() }),
        memo: steps.as_ref().map(|_| steps::memo(&postings, &assets)),
        legs: steps,
        assets,
        postings: Some(postings),
        description: Some(description),
        engine: knowledge.engine.clone(),
        evidence: question.explain.then(|| evidence(scene, reading)),
        source: decided_by(reading),
        is_floored,
        called: scene.ground.called_function(),
    }
}

/// What the headline tells first, then every other part, each with what it comes to.
fn describe_lines(
    scene: &Scene<'_>,
    reading: &Reading,
    lines: &[Line<'_>],
    headline: Option<&Line<'_>>,
    assets: &Assets,
    position: &Position<'_>,
    needs_review: bool,
) -> String {
    let protocol = reading.protocol.as_deref();
    let Some(first) = headline.filter(|_| reading.residual.is_empty()) else {
        let category = headline.map_or(reading.category, |line| line.category);
        let (treatment, basis) = (position.treatment, position.basis);
        let category = if reading.is_leaning() { Category::Unclassified } else { category };
        let told = Told { category, assets, protocol, treatment, basis };
        return describe::description(&told, needs_review);
    };
    let of = |wanted: &Line<'_>| {
        let same = |line: &&Line<'_>| line.category == wanted.category && line.position == wanted.position;
        steps::assets_of_lines(scene, lines.iter().filter(same), false)
    };
    let told = |line: &Line<'_>, assets: &Assets, protocol: Option<&str>, needs_review: bool| {
        let (treatment, basis) = (line.position.treatment, line.position.basis);
        let told = Told { category: line.category, assets, protocol, treatment, basis };
        if needs_review { describe::happened(&told) } else { describe::description(&told, false) }
    };
    // Most transactions are one line, which is the whole.
    let is_whole = lines.len() == 1 && first.parts.iter().all(|part| !part.is_mirror);
    let of_first = if is_whole { None } else { Some(of(first)) };
    let spoken_of = of_first.as_ref().unwrap_or(assets);
    let (treatment, basis) = (first.position.treatment, first.position.basis);
    // A fee that is nobody's by name was not paid to the protocol that was called.
    let is_fee = first.category == Category::FeePayment;
    let protocol = if is_fee { first.claim.protocol.as_deref() } else { protocol };
    let head = Told { category: first.category, assets: spoken_of, protocol, treatment, basis };
    let mut text = describe::description(&head, needs_review);
    let mut spoken: Vec<&Line<'_>> = vec![first];
    for line in lines {
        let is_told = |other: &&Line<'_>| other.category == line.category && other.position == line.position;
        if spoken.iter().any(is_told) {
            continue;
        }
        let protocol = line.claim.protocol.as_deref().filter(|name| reading.protocol.as_deref() != Some(*name));
        text.push(' ');
        text.push_str(&told(line, &of(line), protocol, needs_review));
        spoken.push(line);
    }
    text
}

/// `None` for a time outside the calendar's range.
fn block_time(block: Block) -> Option<BlockTime> {
    let at = jiff::Timestamp::from_second(block.timestamp).ok()?;
    Some(BlockTime { number: block.number, timestamp: at.to_string(), finalized: block.finalized })
}

fn decided_by(reading: &Reading) -> Source {
    let deciding = reading.claims.iter().filter(|claim| claim.category == reading.category);
    deciding.max_by_key(|claim| claim.strength).map_or(Source::None, |claim| claim.source)
}

fn grey_area(grey: GreyPosition<'_>) -> GreyArea {
    GreyArea {
        note: Some(grey.note.to_owned()),
        alternate: Some(Alternate {
            treatment: Some(grey.treatment),
            taxable: grey.treatment.taxable(),
            label: Some(grey.label.to_owned()),
        }),
    }
}

/// Why a person should look, most serious reason first: what was seen, what is missing, and what to look at.
fn review_note(
    scene: &Scene<'_>,
    reading: &Reading,
    lines: &[Line<'_>],
    assets: &Assets,
    treatments: &Treatments,
) -> String {
    let mut reasons: Vec<String> = reading.doubts.iter().map(describe::doubt).collect();
    if !reading.residual.is_empty() && !reading.claims.is_empty() {
        let is_open = |at: usize| scene.legs.get(at).filter(|_| reading.residual.contains(at));
        let open = assets_of(scene, |at| is_open(at).map(|leg| leg.amount));
        reasons.push(format!("No rule explains all of this: {}. Look at who that was.", describe::parties(&open)));
    }
    if reading.has_unbacked {
        reasons.push(
            "Only a contract that nobody vouches for says what this was, and no other movement bears it out."
                .to_owned(),
        );
    }
    if reading.is_leaning() && scene.actors.is_empty() {
        let seen = describe::parties(assets);
        let hint = match reading.category {
            Category::Unclassified => String::new(),
            category => format!("; the leaning is `{}`", category.name()),
        };
        reasons.push(format!(
            "Seen: {seen}. Missing: no rule says what {} was for. Look at what it does, and at whether the other side is yours{hint}.",
            scene.ground.called()
        ));
    }
    for line in lines.iter().filter(|line| treatments.is_open(line.category)) {
        reasons.push(format!("Read as `{}`: {}.", line.category.name(), treatments.row(line.category).basis));
    }
    if reasons.is_empty() {
        reasons.push("The sources disagree on what this transaction was.".to_owned());
    }
    reasons.join(" ")
}

/// Others that an answer names.
const PARTIES_MAX: usize = 16;

/// For whom something moved in a transaction that moved nothing for the wallet, in the order in which they appear.
fn parties(scene: &Scene<'_>) -> Vec<Account> {
    if !scene.legs.is_empty() || !scene.actors.is_empty() {
        return Vec::new();
    }
    let of_evm = scene.movements.iter().filter(|m| !m.amount.is_zero()).flat_map(|m| [m.from, m.to]);
    let mut named = BTreeSet::from([scene.wallet]);
    let others = of_evm.chain(scene.ground.solana_parties()).filter(|account| !account.is_zero());
    others.filter(|account| named.insert(*account)).take(PARTIES_MAX).collect()
}

/// The hash could not be computed from what was signed: that these are its transfers is the node's word.
const HASH_TOLD: &str = "evm/hash-not-computed";

fn evidence(scene: &Scene<'_>, reading: &Reading) -> Vec<Evidence> {
    let mut rows: Vec<Evidence> = reading
        .heard
        .iter()
        .map(|opinion| Evidence {
            source: opinion.source,
            rule: opinion.rule.to_string(),
            says: opinion.category,
            log_index: opinion.at.and_then(|seen| log_index(scene, seen)),
            instruction_index: opinion.at.and_then(instruction_index),
            agrees: reading.agreed.contains(&opinion.category),
        })
        .collect();
    let hash_told = scene.ground.is_hash_told().then(|| (HASH_TOLD.to_owned(), true));
    // A proof that decided nothing agrees with nothing.
    let proofs = scene.ground.proofs().into_iter().map(|rule| (rule, !reading.needs_review));
    for (rule, agrees) in hash_told.into_iter().chain(proofs) {
        let (source, says) = (Source::None, reading.category);
        rows.push(Evidence { source, rule, says, log_index: None, instruction_index: None, agrees });
    }
    rows.sort_by(|a, b| (a.source, a.log_index, &a.rule, a.says).cmp(&(b.source, b.log_index, &b.rule, b.says)));
    // Two rules of one name that say the same of one log are shown once.
    rows.dedup();
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
