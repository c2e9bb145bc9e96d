//! From one ERC-4626 vault straight into another: the assets never reach the wallet, so neither vault's event finds its
//! legs alone. Together they must match to the last digit, or there is no opinion.

use alloy_primitives::{Address, U256};

use super::OPINIONS_MAX;
use super::matched::{LogWords, Matched, is_for_perspective};
use super::trust::EmitterTrust;
use crate::asset::{Account, Asset, Movement, Seen};
use crate::category::Category;
use crate::evm::scene::EvmScene;
use crate::legs::{Direction, Leg};
use crate::opinion::{Opinion, Source, Strength};
use crate::rules::Rules;
use crate::rules::compile::EventRule;
use crate::shares::{Shares, Tie};

/// A deposit or withdrawal of the wallet's that a vault logged.
struct VaultLog<'a> {
    position: usize,
    vault: Address,
    rule: &'a EventRule,
    trust: EmitterTrust,
    assets: U256,
}

pub fn opinions(scene: &EvmScene<'_>, rules: &Rules, logs: &[Matched<'_>]) -> Vec<Opinion> {
    let of_wallet =
        logs.iter().filter(|matched| is_for_perspective(scene, &matched.rule.who, &LogWords(matched.log, None)));
    let logs: Vec<VaultLog<'_>> = of_wallet.filter_map(vault).take(OPINIONS_MAX).collect();
    opinion(scene, rules, &logs).into_iter().collect()
}

/// The first word of its data is how much of the assets went in or out.
fn vault<'a>(matched: &Matched<'a>) -> Option<VaultLog<'a>> {
    let Matched { position, log, rule, trust } = *matched;
    Some(VaultLog { position, vault: log.address, rule, trust, assets: log.data_u256(0)? })
}

fn opinion(scene: &EvmScene<'_>, rules: &Rules, logs: &[VaultLog<'_>]) -> Option<Opinion> {
    let (into, out_of): (Vec<_>, Vec<_>) = logs.iter().partition(|log| log.rule.means == Category::VaultDeposit);
    let (first, last) = (out_of.first()?, into.last()?);
    let underlying = underlying(scene, first, last)?;
    let share =
        |leg: &Leg, side: &[&VaultLog<'_>]| side.iter().any(|log| leg.asset == Asset::Token(Account::from(log.vault)));
    let mut explains = Shares::default();
    let (mut given, mut got) = (sum(&out_of)?, sum(&into)?);
    for (at, leg) in scene.legs.iter().enumerate() {
        let is_share = match leg.direction {
            Direction::Out => share(leg, &out_of),
            Direction::In => share(leg, &into),
        };
        let is_same = leg.asset == underlying || (scene.is_native(underlying) && scene.is_native(leg.asset));
        match leg.direction {
            Direction::Out if is_same => given = given.checked_add(leg.amount)?,
            Direction::In if is_same => got = got.checked_add(leg.amount)?,
            _ if is_share => {}
            _ => continue,
        }
        explains.push(at, leg.amount, Tie::Linked);
    }
    let is_whole = |side: &[&VaultLog<'_>], direction| {
        side.iter().all(|log| {
            let asset = Asset::Token(Account::from(log.vault));
            scene.legs.iter().any(|leg| leg.asset == asset && leg.direction == direction)
        })
    };
    let is_even = given == got && is_whole(&out_of, Direction::Out) && is_whole(&into, Direction::In);
    let strength = logs.iter().map(|log| log.trust.strength).min()?;
    is_even.then(|| Opinion {
        protocol: (strength == Strength::Verified).then(|| rules.protocol(last.trust.pack)).flatten(),
        at: Some(Seen::Log(last.position)),
        speaker: (strength != Strength::Verified).then(|| last.vault.into()),
        ..Opinion::new(Source::Protocol, last.rule.id.clone(), Category::VaultDeposit, strength, explains)
    })
}

fn sum(logs: &[&VaultLog<'_>]) -> Option<U256> {
    logs.iter().try_fold(U256::ZERO, |total, log| total.checked_add(log.assets))
}

/// What left the one vault and entered the other.
fn underlying(scene: &EvmScene<'_>, from: &VaultLog<'_>, to: &VaultLog<'_>) -> Option<Asset> {
    let enters = |m: &&Movement| m.to == Account::from(to.vault) && m.amount == to.assets;
    let leaves = |m: &Movement| m.from == Account::from(from.vault) && m.amount == from.assets;
    let entered = scene.movements.iter().find(enters)?.asset;
    scene.movements.iter().any(|m| m.asset == entered && leaves(m)).then_some(entered)
}
