//! From a rule's words about legs to the legs of this scene.

use alloy_primitives::{Address, B256, U256, address};

use crate::asset::{Account, Asset};
use crate::category::{Category, Nature, Rank};
use crate::evm::calldata::Calldata;
use crate::evm::json::word_address;
use crate::evm::scene::EvmScene;
use crate::legs::{Direction, LEGS_MAX, Leg};
use crate::rules::compile::{Field, LegSpec, LegSubject};
use crate::rules::path::MEMBERS_MAX;
use crate::scene::Own;
use crate::shares::{LegSet, MoveSet, Net, Share, Shares, Tie};

/// Protocols that take any token write the native coin as this.
const NATIVE_PLACEHOLDER: Address = address!("EeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE");

/// Words of one log or call that are looked through for a name.
const NAMED_WORDS_MAX: usize = 128;

/// Who speaks: the contract that logged or was called, and of which pack its rule is.
#[derive(Debug, Clone, Copy)]
pub struct Speaker {
    pub contract: Address,
    pub pack: usize,
    pub means: Category,
    /// Whether a pack vouches for it: then whoever it names belongs to it.
    pub is_verified: bool,
    /// Whether legs need no tie to it: what it says then only agrees or disagrees.
    pub is_loose: bool,
}

/// The words of a log or of calldata, by field. Where a field names each member of an array, `member` says which, from zero.
pub trait Words {
    /// The place of the words among the logs; calldata has none.
    fn position(&self) -> Option<usize> {
        None
    }

    fn word(&self, field: &Field, member: usize) -> Option<&[u8; 32]>;

    /// `bytes` or `string`.
    fn bytes(&self, field: &Field) -> Option<&[u8]>;

    /// Whether any of the words is this address.
    fn names(&self, address: Address) -> bool;

    /// How many members the field names: one, unless it repeats. `None` where that cannot be read, or is more than a rule looks at.
    fn count(&self, field: &Field) -> Option<usize>;

    fn address(&self, field: &Field, member: usize) -> Option<Address> {
        self.word(field, member).and_then(word_address)
    }

    fn amount(&self, field: &Field, member: usize) -> Option<U256> {
        self.word(field, member).map(|word| U256::from_be_bytes(*word))
    }
}

impl Words for Calldata<'_> {
    fn word(&self, field: &Field, member: usize) -> Option<&[u8; 32]> {
        field.word(self.arguments, member)
    }

    fn bytes(&self, field: &Field) -> Option<&[u8]> {
        field.bytes(self.arguments)
    }

    fn names(&self, address: Address) -> bool {
        has_word(self.arguments, &address.into_word())
    }

    fn count(&self, field: &Field) -> Option<usize> {
        count(field, self.arguments)
    }
}

/// How many members a field names in untrusted data; `None` for more than a rule looks at.
pub fn count(field: &Field, data: &[u8]) -> Option<usize> {
    field.count(data).filter(|count| *count <= MEMBERS_MAX)
}

/// Whether untrusted data has this word at one of its places, within the first that are looked at.
pub fn has_word(data: &[u8], word: &B256) -> bool {
    data.chunks_exact(32).take(NAMED_WORDS_MAX).any(|chunk| chunk == word.as_slice())
}

/// What the rule explains; `None` when a leg that it needs is not there.
pub fn explain(
    scene: &EvmScene<'_>,
    out: &[LegSpec],
    incoming: &[LegSpec],
    speaker: Speaker,
    words: &impl Words,
) -> Option<Shares> {
    let mut explained = Shares::default();
    for (specs, direction) in [(out, Direction::Out), (incoming, Direction::In)] {
        for spec in specs {
            let times = times(spec, words)?;
            // An empty list names no leg, so it does not show the one that the rule needs.
            if times == 0 && !spec.optional {
                return None;
            }
            for member in 0..times {
                let found = one(scene, spec, direction, speaker, (words, member), &mut explained)?;
                if !found && !spec.optional {
                    return None;
                }
            }
        }
    }
    Some(explained)
}

/// How often the words of a leg are said: once, or once for each member. Arrays that are named together are of one length.
fn times(spec: &LegSpec, words: &impl Words) -> Option<usize> {
    let mut times = None;
    for field in spec.fields().filter(|field| field.repeats()) {
        let count = words.count(field)?;
        if *times.get_or_insert(count) != count {
            return None;
        }
    }
    Some(times.unwrap_or(1))
}

fn one(
    scene: &EvmScene<'_>,
    spec: &LegSpec,
    direction: Direction,
    speaker: Speaker,
    (words, member): (&impl Words, usize),
    explained: &mut Shares,
) -> Option<bool> {
    let amount = match &spec.amount {
        Some(field) => {
            Some(words.amount(field, member).map(|word| if spec.is_negated { below_zero(word) } else { word })?)
        }
        None => None,
    };
    // An event with an amount of zero moved nothing.
    if amount.is_some_and(|amount| amount.is_zero()) {
        return Some(true);
    }
    let asset = match &spec.what {
        LegSubject::Asset(field) | LegSubject::Item(field, _) => Some(words.address(field, member)?),
        _ => None,
    };
    let party = match &spec.what {
        LegSubject::Counterparty => Some(speaker.contract),
        LegSubject::With(field) | LegSubject::Through(field) => Some(words.address(field, member)?),
        _ => None,
    };
    let id = match &spec.what {
        LegSubject::Item(_, field) => Some(words.amount(field, member)?),
        _ => None,
    };
    let mut found = false;
    let is_mirror = spec.what == LegSubject::Debt;
    let is_made = matches!(spec.what, LegSubject::Minted | LegSubject::Debt) && amount.is_none();
    let event = words.position().filter(|_| is_made);
    let nearest = event.map(|event| nearest(scene, direction, event, explained.legs()));
    // The native coin and its wrapper may both answer: the amount is given to the asset that was named first, and what is left
    // of it to the other.
    let mut left = amount;
    let is_named = |leg: &Leg| asset.is_none_or(|named| leg.asset.contract() == Some(named.into()));
    if spec.what == LegSubject::Exact && !amount.is_some_and(|amount| may_be_exactly(scene, direction, amount)) {
        return Some(false);
    }
    // What has no place in a set of legs is not looked at: a log costs the same however many legs there are.
    let of_name = scene.legs.iter().enumerate().take(LEGS_MAX).filter(|(_, leg)| is_named(leg));
    let of_kin = scene.legs.iter().enumerate().take(LEGS_MAX).filter(|(_, leg)| !is_named(leg));
    for (at, leg) in of_name.chain(of_kin).filter(|(_, leg)| leg.direction == direction) {
        let has_id = id.is_none_or(|id| matches!(leg.asset, Asset::Nft { id: of_leg, .. } if of_leg == id));
        let is_other = nearest.is_some_and(|nearest| nearest != Some(at));
        // An NFT mint explains no fungible token.
        let is_fungible_mint = speaker.means == Category::NftMint && direction == Direction::In && !leg.asset.is_nft();
        let is_kept = matches!(spec.what, LegSubject::Through(_))
            && !party.is_some_and(|party| scene.gave_up(party.into(), leg.asset));
        if !has_id
            || is_kept
            || is_fungible_mint
            || is_other
            || !matches_leg(scene, spec, (at, leg), speaker.contract, asset, amount)
        {
            continue;
        }
        let is_spent =
            found && matches!(spec.what, LegSubject::Asset(_) | LegSubject::Native) && scene.is_native(leg.asset);
        if is_spent && left.is_some_and(|left| left.is_zero()) {
            continue;
        }
        let is_with = |party: Address| !scene.net(leg, |_, own| own.other == Account::from(party)).amount.is_zero();
        if !speaker.is_loose && party.is_some_and(|party| !is_with(party)) {
            continue;
        }
        let stated = |amount| (Net { amount, moves: MoveSet::default() }, Tie::Stated);
        let (net, tie) = match (amount, party) {
            (Some(amount), _) if spec.what == LegSubject::Rest => stated(beyond(scene, (at, leg), amount)),
            (Some(amount), _) => stated(if is_spent { left.unwrap_or(amount) } else { amount }),
            (None, _) if speaker.is_loose => (Net { amount: leg.amount, moves: MoveSet::default() }, Tie::Linked),
            (None, Some(party)) => (scene.net(leg, |_, own| own.other == Account::from(party)), Tie::Linked),
            (None, None) => (linked(scene, spec, leg, speaker, words), Tie::Linked),
        };
        if net.amount.is_zero() {
            continue;
        }
        found = true;
        left = left.map(|left| left.saturating_sub(leg.amount));
        explained.add(Share { leg: at, amount: net.amount, tie, is_mirror, moves: net.moves });
    }
    Some(found)
}

/// The absolute value of a signed word; zero for one that is not below zero.
fn below_zero(word: U256) -> U256 {
    if word.bit(255) { word.wrapping_neg() } else { U256::ZERO }
}

/// How much of a leg belongs to the speaker, who names no amount.
fn linked(scene: &EvmScene<'_>, spec: &LegSpec, leg: &Leg, speaker: Speaker, words: &impl Words) -> Net {
    match spec.what {
        // One thing, which is named or the only one of its kind.
        LegSubject::Item(..) | LegSubject::Nft => Net { amount: leg.amount, moves: MoveSet::default() },
        // A loan that is minted is a token that everybody knows; any other may be a stranger's.
        LegSubject::Minted if speaker.means.meaning().rank == Rank::Loan && !scene.is_listed(leg.asset) => {
            Net::default()
        }
        LegSubject::Minted | LegSubject::Debt => scene.net(leg, |_, own| own.other.is_zero()),
        _ => {
            let flow = Flow::of(scene, speaker);
            // A transfer is between the wallet and whom it names, whoever made the token.
            let may_name = speaker.is_verified || speaker.means.is_plain_transfer();
            let called_with = called_with(scene, speaker);
            let is_named = |other: Address| words.names(other) || has_word(called_with, &other.into_word());
            let is_caller = |other: Address| speaker.means.is_plain_transfer() && other == scene.facts.transaction.from;
            let is_meant = |other: Address| is_named(other) || is_caller(other);
            // A word of zeros names nobody.
            let names = |own: &Own| may_name && !own.other.is_zero() && own.other.evm().is_some_and(is_meant);
            let is_item = |own: &Own| may_name && is_named_item(own, speaker.means, words);
            scene.net(leg, |at, own| flow.takes(scene, at, own) || names(own) || is_item(own))
        }
    }
}

/// What is minted or burned by the contract that the words name: the share of a pool, or an NFT of an artist who uses a marketplace.
fn is_named_item(own: &Own, means: Category, words: &impl Words) -> bool {
    let is_traded = own.asset.is_nft() || means.meaning().nature == Nature::Exchange;
    own.other.is_zero() && is_traded && own.counterparty().evm().is_some_and(|contract| words.names(contract))
}

/// The arguments of the transaction, where it calls a contract of the speaker's pack.
fn called_with<'a>(scene: &EvmScene<'a>, speaker: Speaker) -> &'a [u8] {
    let transaction = &scene.facts.transaction;
    let is_of_pack = |called: Address| scene.known.holders(called).iter().any(|holder| holder.pack == speaker.pack);
    let arguments = transaction.input.get(4..).filter(|_| scene.acts && transaction.to.is_some_and(is_of_pack));
    arguments.unwrap_or_default()
}

/// Whose movements belong to a speaker.
struct Flow<'a> {
    speaker: Speaker,
    /// The groups of the speaker, and of what the wallet called.
    anchors: [Option<usize>; 2],
    exchanged: &'a [usize],
    is_exchange: bool,
}

impl<'a> Flow<'a> {
    fn of(scene: &'a EvmScene<'_>, speaker: Speaker) -> Self {
        let links = scene.links();
        let called = scene.facts.transaction.to.filter(|_| scene.acts);
        let is_exchange = speaker.means.meaning().nature == Nature::Exchange;
        // What the wallet itself called: for an exchange whoever it is, else only a contract that some pack lists.
        let called = called.filter(|called| is_exchange || !scene.known.holders(*called).is_empty());
        let anchors = [Some(speaker.contract), called].map(|anchor| links.group(anchor?.into()));
        let exchanged = if is_exchange { scene.exchanged_with() } else { &[] };
        Self { speaker, anchors, exchanged, is_exchange }
    }

    fn is_linked(&self, group: usize) -> bool {
        self.anchors.contains(&Some(group)) || self.exchanged.binary_search(&group).is_ok()
    }

    /// Whether the movement at this place among the wallet's own is the speaker's.
    fn takes(&self, scene: &EvmScene<'_>, at: usize, own: &Own) -> bool {
        let Some(party) = own.counterparty().evm() else { return false };
        let is_of_pack = || scene.known.holders(party).iter().any(|holder| holder.pack == self.speaker.pack);
        let is_linked = || scene.own_groups().get(at).copied().flatten().is_some_and(|group| self.is_linked(group));
        // A token that taxes its own transfers keeps a part of what is traded.
        let is_tax = self.is_exchange && own.asset.contract() == Some(own.other);
        is_tax || party == self.speaker.contract || is_linked() || is_of_pack()
    }
}

fn matches_leg(
    scene: &EvmScene<'_>,
    spec: &LegSpec,
    (at, leg): (usize, &Leg),
    emitter: Address,
    named: Option<Address>,
    amount: Option<U256>,
) -> bool {
    match spec.what {
        LegSubject::Asset(_) | LegSubject::Item(..) => named.is_some_and(|asset| is_asset(scene, leg, asset)),
        LegSubject::Emitter => is_asset(scene, leg, emitter),
        LegSubject::EmittedToken => !leg.asset.is_nft() && is_asset(scene, leg, emitter),
        LegSubject::Native => scene.is_native(leg.asset),
        LegSubject::Nft => leg.asset.is_nft(),
        LegSubject::Minted | LegSubject::Debt => leg.minted_or_burned,
        LegSubject::Exact => amount.is_some_and(|amount| is_exactly(scene, (at, leg), amount)),
        LegSubject::Rest => leg.other == Account::from(emitter) && amount != Some(leg.amount),
        // The movements behind the leg decide.
        LegSubject::Counterparty | LegSubject::With(_) | LegSubject::Through(_) | LegSubject::Flow => true,
    }
}

/// An event that names no amount of what it minted or burned explains one such leg, the nearest, and nothing
/// further away in the same transaction. A rule that means two names it twice.
fn nearest(scene: &EvmScene<'_>, direction: Direction, event: usize, taken: LegSet) -> Option<usize> {
    let distance = |leg: usize| {
        let logged = scene.logged(leg);
        let (before, after) = logged.split_at(logged.partition_point(|at| *at < event));
        before.last().into_iter().chain(after.first()).map(|at| at.abs_diff(event)).min()
    };
    let minted = scene
        .legs
        .iter()
        .enumerate()
        .take(LEGS_MAX)
        .filter(|(at, leg)| leg.minted_or_burned && leg.direction == direction && !taken.contains(*at));
    minted.filter_map(|(at, _)| Some((distance(at)?, at))).min().map(|(_, at)| at)
}

/// Of what came in, what is left when the amount is one of the movements behind it; else all of it. Of what went out, what was given beyond what
/// counts.
fn beyond(scene: &EvmScene<'_>, (at, leg): (usize, &Leg), amount: U256) -> U256 {
    let is_given = leg.direction == Direction::Out;
    if is_given || is_exactly(scene, (at, leg), amount) { leg.amount.saturating_sub(amount) } else { leg.amount }
}

/// The leg, one of the movements behind it, or the native coin and its wrapper together come to this amount.
fn is_exactly(scene: &EvmScene<'_>, (at, leg): (usize, &Leg), amount: U256) -> bool {
    let moved = || scene.moved_by(at).binary_search_by(|own| own.amount.cmp(&amount)).is_ok();
    leg.amount == amount || moved() || scene.is_native(leg.asset) && coins(scene, leg.direction) == amount
}

/// Whether `is_exactly` can hold for any leg of this direction: one look instead of one for each leg.
fn may_be_exactly(scene: &EvmScene<'_>, direction: Direction, amount: U256) -> bool {
    scene.has_moved(amount)
        || scene.legs.iter().any(|leg| leg.direction == direction && leg.amount == amount)
        || coins(scene, direction) == amount
}

/// The native coin and its wrapper together.
fn coins(scene: &EvmScene<'_>, direction: Direction) -> U256 {
    let coins = scene.legs.iter().filter(|leg| leg.direction == direction && scene.is_native(leg.asset));
    coins.fold(U256::ZERO, |sum, leg| sum.saturating_add(leg.amount))
}

/// The native coin and its wrapper answer for each other: gateways turn one into the other on the way.
fn is_asset(scene: &EvmScene<'_>, leg: &Leg, contract: Address) -> bool {
    let chain = &scene.facts.chain;
    let names_native = contract.is_zero()
        || contract == NATIVE_PLACEHOLDER
        || chain.logs_coin(contract)
        || chain.is_wrapped_native(contract);
    match leg.asset {
        Asset::Native => names_native,
        Asset::Token(token) | Asset::Nft { contract: token, .. } => {
            let is_pair = || scene.known.same(contract).is_some_and(|known_by| token == Account::from(known_by));
            token == Account::from(contract) || (names_native && scene.is_native(leg.asset)) || is_pair()
        }
    }
}
