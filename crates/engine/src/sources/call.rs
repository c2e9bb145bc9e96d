//! The `call` source: what was asked for. Amounts in calldata are what was asked for and not what moved, so a call names assets and
//! parties only.

use std::ops::RangeInclusive;

use alloy_primitives::{Address, U160, U256, address};

use super::explain::{Speaker, Words, explain};
use super::matched::{another, cross, is_for_perspective, is_unreadable, take_fee};
use super::trust::{EmitterTrust, listed_as};
use crate::asset::{Account, Asset, Movement};
use crate::category::Category;
use crate::evm::LOGS_MAX;
use crate::evm::calldata::{self, CALLS_MAX, Calldata, ContractCall};
use crate::evm::json::Log;
use crate::evm::movements::{APPROVAL, DEPOSIT, TRANSFER_BATCH, TRANSFER_SINGLE, WITHDRAWAL};
use crate::evm::scene::{EvmScene, mentions};
use crate::legs::{Direction, Leg, has_contract};
use crate::opinion::{Opinion, Source, Strength};
use crate::rules::Rules;
use crate::rules::compile::{CallRule, Field, RulePlace};
use crate::scene::Outcome;
use crate::shares::Shares;
use crate::sources::{OPINIONS_LIKELY, Opinions};

/// How deep calls inside calls are opened.
const CALL_DEPTH_MAX: usize = 6;

pub fn opinions(scene: &EvmScene<'_>, rules: &Rules) -> Opinions {
    let mut opinions = Opinions::default();
    let said = asked(scene, rules, &mut opinions);
    Opinions { said, ..opinions }
}

/// What was said; `beside` gets the rest of what opinions tell.
fn asked(scene: &EvmScene<'_>, rules: &Rules, beside: &mut Opinions) -> Vec<Opinion> {
    let transaction = &scene.facts.transaction;
    if scene.outcome == Outcome::Failed {
        return Vec::new();
    }
    let Some(target) = transaction.to else { return deployment(scene) };
    let is_coin_in = |leg: &Leg| leg.direction == Direction::In && leg.asset == Asset::Native;
    // A chain that takes its parent's messages in a transaction without sender mints what was deposited there.
    let is_system = transaction.from.is_zero() && target.is_zero();
    let is_minted = |leg: &Leg| leg.direction == Direction::In && leg.minted_or_burned;
    // Without a leg nothing was deposited: the first transaction of an OP-stack block only tells the chain about its parent.
    // Whoever is called with it may pay the wallet beside.
    let is_alone = || scene.own().windows(2).all(|pair| matches!(pair, [one, next] if one.other == next.other));
    let brings =
        |is_brought: &dyn Fn(&Leg) -> bool| !scene.legs.is_empty() && scene.legs.iter().all(is_brought) && is_alone();
    let of_type = rules.deposit(Some(transaction.kind())).filter(|_| brings(&is_coin_in));
    let of_nobody = || rules.deposit(None).filter(|_| is_system && brings(&is_minted));
    if let Some(bridge) = of_type.or_else(of_nobody) {
        // The chain itself mints it through its own bridge, so it is verified.
        let bridge = bridge.protocol_on(&scene.facts.chain.name);
        let deposit = bare(scene, "evm/deposit", Category::BridgeIn);
        let whose = depositor(scene, rules, target);
        return vec![Opinion { strength: Strength::Verified, protocol: Some(bridge.into()), whose, ..deposit }];
    }
    if transaction.input.is_empty() {
        return plain_value(scene, target);
    }
    let mut found = Vec::with_capacity(OPINIONS_LIKELY);
    let mut open = vec![(ContractCall { target, input: transaction.input.as_ref() }, 0_usize, true)];
    let mut looked_at = 0_usize;
    while let Some((ContractCall { target, input }, depth, is_believed)) = open.pop() {
        looked_at = looked_at.saturating_add(1);
        if input.is_empty() && is_believed {
            found.extend(inner_value(scene, target));
        }
        if looked_at > CALLS_MAX {
            beside.is_cut = true;
            break;
        }
        let Some(call) = Calldata::split(input) else { continue };
        for rule in rules.calls(&call.selector) {
            let Some(mut trust) = rule_trust(scene, rule, target) else { continue };
            if !is_believed {
                trust.strength = Strength::Suggested;
            }
            // The same pack says the same of this contract by itself.
            let is_own = |other: &CallRule| {
                other.pack == rule.pack
                    && (other.means, other.opens.is_some()) == (rule.means, rule.opens.is_some())
                    && scene.known.is_place_of(other, target)
            };
            if !matches!(rule.place, RulePlace::Role(_)) && rules.calls(&call.selector).iter().any(is_own) {
                continue;
            }
            match &rule.opens {
                Some(opens) if depth < CALL_DEPTH_MAX => {
                    let inside = calldata::open(&call, opens, target, scene.perspective);
                    let believed = |inner: &ContractCall<'_>| {
                        is_believed && (inner.target == target || does_as_asked(scene, target))
                    };
                    let inside =
                        inside.into_iter().rev().map(|inner| (inner, depth.saturating_add(1), believed(&inner)));
                    open.extend(inside);
                }
                Some(_) => beside.is_cut = true,
                // Calls inside an envelope are those of the actor; for a receiver only a direct transfer counts.
                None if depth > 0 && !scene.acts => {}
                None => {
                    beside.is_unsettled |= (rule.unsettled || is_unreadable(&rule.whose, &call))
                        && trust.strength == Strength::Verified
                        && is_meant(rule, &call)
                        && is_for_perspective(scene, &rule.who, &call);
                    let Some(mut said) = opinion(scene, rules, rule, &call, target, trust) else { continue };
                    let pays = (target, rule.pack);
                    let fee = if rule.may_pay_fee { take_fee(scene, pays, &mut said) } else { None };
                    found.push(said);
                    found.extend(fee);
                }
            }
        }
    }
    let is_sender = transaction.from == scene.perspective;
    if is_sender && !scene.carried.is_empty() && scene.legs.is_empty() {
        // What moved, moved for the account whose action this sender submitted.
        return vec![bare(scene, "evm/carried", Category::ContractCall)];
    }
    // Permissions and bare calls are believed only when no account's assets moved.
    found.retain(|opinion| !is_quiet(opinion.category) || scene.movements.is_empty());
    if found.is_empty() && scene.movements.is_empty() && scene.acts && !has_account_inside(scene) {
        found.push(bare(scene, "evm/call", Category::ContractCall));
    }
    found.extend(to_oneself(scene));
    found.extend(wrapped_by_another(scene));
    if found.is_empty() && is_untouched(scene, rules, target) {
        found.push(bare(scene, "evm/nothing-moved", Category::ContractCall));
    }
    found
}

/// Whether a contract that is told to call others does: the wallet's own account, or one that a pack lists. What a stranger's contract does with the
/// calldata that it gets, nobody knows.
fn does_as_asked(scene: &EvmScene<'_>, contract: Address) -> bool {
    contract == scene.perspective || scene.known.is_on_list(contract) && scene.known.open(contract).is_none()
}

/// Whether a contract that no pack lists tells of the wallet together with an amount: it may keep accounts inside, where a trade or a bet moves no token.
/// What a listed one does is said by its rules.
fn has_account_inside(scene: &EvmScene<'_>) -> bool {
    let logs = scene.facts.contract_logs().filter(|log| scene.known.holders(log.address).is_empty());
    logs.filter(|log| mentions(log, scene.perspective)).any(has_amount)
}

/// A smaller word is an id, a count or an amount too small to matter.
const AMOUNT_MIN: u64 = 100_000;
/// A longer word is a hash, a name or an address.
const AMOUNT_BITS_MAX: usize = 96;
/// A word in this range is a time: Unix seconds of the years 2008 to 2039.
const TIMES: RangeInclusive<u64> = 1_200_000_000..=2_200_000_000;

fn has_amount(log: &Log) -> bool {
    let words = log.data.chunks_exact(32).map(U256::from_be_slice);
    let words = words.chain(log.topics.iter().skip(1).map(|topic| U256::from_be_bytes(topic.0)));
    let is_time = |word: U256| u64::try_from(word).is_ok_and(|word| TIMES.contains(&word));
    words.into_iter().any(|word| word >= U256::from(AMOUNT_MIN) && word.bit_len() <= AMOUNT_BITS_MAX && !is_time(word))
}

/// Assets moved between others, and the wallet that asks only sent the transaction: no contract said anything of it, and none that was called or
/// logged may hold a position for it. Without a wallet in the question, the caller may be one of the others.
fn is_untouched(scene: &EvmScene<'_>, rules: &Rules, target: Address) -> bool {
    let is_sender = scene.acts && scene.is_wallet_named && scene.facts.transaction.from == scene.perspective;
    let is_silent =
        |log: &Log| !concerns(log, scene.perspective) && !rules.may_hold_positions(scene.known.holders(log.address));
    // What the wallet itself calls at a protocol may change a position there, whether or not something moves.
    is_sender
        && scene.legs.is_empty()
        && !rules.has_protocol(scene.known.holders(target))
        && scene.facts.receipt.logs.len() <= LOGS_MAX
        && scene.facts.contract_logs().all(is_silent)
}

/// Whether the log tells more of the wallet than that it carried out a transfer between others, as ERC-1155 names an operator, or may spend a token
/// of somebody else.
fn concerns(log: &Log, wallet: Address) -> bool {
    let place = match (log.topic0(), log.topics.len()) {
        (Some(TRANSFER_SINGLE | TRANSFER_BATCH), 4) => Some(1),
        (Some(APPROVAL), 3) => Some(2),
        _ => None,
    };
    let Some(place) = place.filter(|_| log.address != wallet) else { return mentions(log, wallet) };
    let mut topics = log.topics.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, topic)| topic.as_slice());
    topics.any(|topic| topic == wallet.into_word()) || log.data.chunks_exact(32).any(|word| word == wallet.into_word())
}

/// Rollups add this to the address of a contract on the parent chain, so that it is no other account's here.
const ALIAS: Address = address!("1111000000000000000000000000000000001111");

/// Somebody else who deposited on the parent chain. A deposit for a contract here, such as the bridge, names its sender in a log or a call.
fn depositor(scene: &EvmScene<'_>, rules: &Rules, target: Address) -> Option<Account> {
    let transaction = &scene.facts.transaction;
    if target != scene.perspective {
        let call = Calldata::split(transaction.input.as_ref())?;
        let told = rules.calls(&call.selector).iter().filter(|rule| rule_trust(scene, rule, target).is_some());
        let mut told = told.filter(|rule| is_meant(rule, &call) && is_for_perspective(scene, &rule.who, &call));
        return told.find_map(|rule| another(scene, rules, &rule.whose, &call));
    }
    let number = |address: Address| U160::from_be_bytes(address.0.0);
    let on_parent = Address::from(number(transaction.from).wrapping_sub(number(ALIAS)).to_be_bytes::<20>());
    let is_own = [transaction.from, on_parent].contains(&scene.perspective) || transaction.from.is_zero();
    (!is_own).then(|| transaction.from.into())
}

/// Whether what is asked for is what the rule speaks of.
pub fn is_meant(rule: &CallRule, call: &Calldata<'_>) -> bool {
    let is = |field: &Option<Field>, wanted: fn(U256) -> bool| {
        field.as_ref().is_none_or(|field| call.amount(field, 0).is_some_and(wanted))
    };
    let is_amount = is(&rule.zero, |amount| amount.is_zero()) && is(&rule.positive, |amount| !amount.is_zero());
    let differs = |(one, other): &(Field, Field)| {
        let both = call.amount(one, 0).zip(call.amount(other, 0));
        both.is_some_and(|(one, other)| one != other)
    };
    let is_complete = call.arguments.len() >= rule.words.saturating_mul(32);
    is_complete && is_amount && rule.differ.iter().all(differs)
}

fn is_quiet(category: Category) -> bool {
    matches!(category, Category::Approval | Category::Revoke | Category::ContractCall)
}

/// `None` when the rule does not apply to what was called. As with events, a rule for any contract counts as verified where a pack lists this one;
/// but to move or to approve a listed token is no act of its protocol.
fn rule_trust(scene: &EvmScene<'_>, rule: &CallRule, target: Address) -> Option<EmitterTrust> {
    let (applies, is_listed) = match &rule.place {
        RulePlace::Role(role) => (scene.known.holds_role(target, rule.pack, role), true),
        RulePlace::WrappedNative => (scene.facts.chain.is_wrapped_native(target), true),
        RulePlace::Anywhere | RulePlace::Called => (true, false),
        // What is paid is not called.
        RulePlace::Paid => (false, false),
        RulePlace::ListedAs(role) => (listed_as(scene.known.holders(target), role).is_some(), false),
        RulePlace::Moved => (has_contract(&scene.legs, target.into()), false),
    };
    let is_act = rule.means.is_some_and(|means| !means.is_plain_transfer() && !is_quiet(means));
    let is_open = scene.known.open(target).is_some();
    let voucher = || is_act.then(|| scene.known.vouchers(target).next()).flatten().filter(|_| !is_open);
    let verified = |pack| EmitterTrust { strength: Strength::Verified, pack };
    let unlisted = EmitterTrust { strength: Strength::Standard, pack: rule.pack };
    let is_listed = is_listed && !is_open;
    applies.then(|| if is_listed { verified(rule.pack) } else { voucher().map_or(unlisted, verified) })
}

fn opinion(
    scene: &EvmScene<'_>,
    rules: &Rules,
    rule: &CallRule,
    call: &Calldata<'_>,
    target: Address,
    trust: EmitterTrust,
) -> Option<Opinion> {
    let category = rule.means?;
    if !is_meant(rule, call) || !is_for_perspective(scene, &rule.who, call) {
        return None;
    }
    let is_vouched = || scene.known.open(target).is_none() && scene.known.vouchers(target).next().is_some();
    let is_verified = trust.strength == Strength::Verified || trust.strength == Strength::Standard && is_vouched();
    let speaker = Speaker { contract: target, pack: rule.pack, means: category, is_verified, is_loose: false };
    let tied = explain(scene, &rule.out, &rule.incoming, speaker, call);
    // What was asked for still agrees or disagrees with what others saw, but decides nothing.
    let loose = || explain(scene, &rule.out, &rule.incoming, Speaker { is_loose: true, ..speaker }, call);
    let (explained, strength) = match tied {
        Some(explained) => (explained, trust.strength),
        None => (loose()?, Strength::Suggested),
    };
    let mut said = Opinion {
        protocol: (strength == Strength::Verified).then(|| rules.protocol(trust.pack)).flatten(),
        role: category.meaning().role,
        speaker: (strength != Strength::Verified).then(|| target.into()),
        whose: another(scene, rules, &rule.whose, call),
        ..Opinion::new(Source::Call, rule.id.clone(), category, strength, explained)
    };
    cross(&mut said, rules, rule.pack, rule.becomes.as_ref(), call);
    Some(said)
}

fn bare(scene: &EvmScene<'_>, rule: &str, category: Category) -> Opinion {
    Opinion::new(Source::Call, rule, category, Strength::Standard, Shares::whole(scene.legs.iter().enumerate()))
}

/// Value sent with an empty call is a transfer, unless the receiver did something for the wallet with it: where only coin moved and no log names the
/// wallet, it was kept or passed on, as deposit addresses of exchanges do.
fn plain_value(scene: &EvmScene<'_>, target: Address) -> Vec<Opinion> {
    let party = scene.perspective == scene.facts.transaction.from || scene.perspective == target;
    if scene.movements.is_empty() && scene.acts {
        return vec![bare(scene, "evm/call", Category::ContractCall)];
    }
    if let Some(own) = to_oneself(scene) {
        return vec![own];
    }
    let [leg] = scene.legs.as_slice() else { return Vec::new() };
    let is_coin_alone = scene.movements.iter().all(|m| m.asset == Asset::Native);
    let is_named = || scene.facts.contract_logs().any(|log| mentions(log, scene.perspective));
    let is_quiet = leg.direction == Direction::In || is_coin_alone && !is_named();
    if party && is_quiet && leg.asset == Asset::Native && !scene.facts.transaction.value.is_zero() {
        vec![bare(scene, "evm/value", Category::Transfer)]
    } else {
        Vec::new()
    }
}

/// The coin and its wrapper, as much of the one as of the other, changed places with one account, and the wrapper says that so much was wrapped or
/// unwrapped: whoever did it for the wallet, it has what it had.
fn wrapped_by_another(scene: &EvmScene<'_>) -> Option<Opinion> {
    let [sent, got] = scene.legs.as_slice() else { return None };
    let is_pair = scene.is_native(sent.asset) && scene.is_native(got.asset) && sent.direction != got.direction;
    let is_with_one = |leg: &Leg| scene.moved(leg.direction, leg.asset).iter().all(|own| own.other == sent.other);
    let is_even = sent.amount == got.amount && is_with_one(sent) && is_with_one(got);
    let (topic0, category) = match sent.asset {
        Asset::Native => (DEPOSIT, Category::Wrap),
        Asset::Token(_) | Asset::Nft { .. } => (WITHDRAWAL, Category::Unwrap),
    };
    let is_told = |log: &Log| {
        let is_wrapper = scene.facts.chain.is_wrapped_native(log.address);
        is_wrapper && log.topic0() == Some(topic0) && log.data_u256(0) == Some(sent.amount)
    };
    if !(is_pair && is_even && scene.facts.contract_logs().any(is_told)) {
        return None;
    }
    let explains = Shares::whole(scene.legs.iter().enumerate());
    Some(Opinion::new(Source::Call, "evm/wrapped-by-another", category, Strength::Verified, explains))
}

/// All that moved went from the wallet to itself.
fn to_oneself(scene: &EvmScene<'_>) -> Option<Opinion> {
    let wallet = Account::from(scene.perspective);
    let is_own = |m: &Movement| m.from == wallet && m.to == wallet;
    let moved = &scene.movements;
    (scene.acts && !moved.is_empty() && moved.iter().all(is_own))
        .then(|| Opinion { has_no_balance_leg: true, ..bare(scene, "evm/to-oneself", Category::SelfTransfer) })
}

/// An empty call inside another, by the account that acts: the coin went to whom it names.
fn inner_value(scene: &EvmScene<'_>, target: Address) -> Option<Opinion> {
    let is_sent =
        |leg: &Leg| leg.direction == Direction::Out && leg.asset == Asset::Native && leg.other == Account::from(target);
    let (at, leg) = scene.legs.iter().enumerate().find(|(_, leg)| is_sent(leg)).filter(|_| scene.acts)?;
    let mut explains = Shares::default();
    explains.link(at, scene.net(leg, |_, own| own.other == Account::from(target)));
    Some(Opinion { explains, ..bare(scene, "evm/value", Category::Transfer) })
}

fn deployment(scene: &EvmScene<'_>) -> Vec<Opinion> {
    if scene.legs.is_empty() && scene.facts.transaction.from == scene.perspective {
        vec![bare(scene, "evm/create", Category::ContractDeploy)]
    } else {
        Vec::new()
    }
}
