//! Contracts that forge well-known events gain nothing. For every rule that listens to any contract, a stranger logs its
//! event in the wallet's name, with the wallet's own token and amount: the forged meaning never becomes authoritative.

#![expect(clippy::indexing_slicing, clippy::expect_used, reason = "tests fail loudly")]
#![expect(clippy::print_stdout, reason = "the count is told")]

#[path = "forged/coin.rs"]
mod coin;
mod facts;
#[path = "forged/guards.rs"]
mod guards;
#[path = "forged/proofs.rs"]
mod proofs;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use alloy_primitives::{Address, B256, Bytes, U64, U160, U256, address, hex, keccak256};
use engine::evm::code::Code;
use engine::evm::erc20::TRANSFER;
use engine::evm::json::Log;
use engine::evm::movements::{APPROVAL, TRANSFER_SINGLE};
use engine::evm::trace::InternalTransfer;
use engine::evm::{BalanceChange, EvmFacts, InternalValue};
use engine::rules::abi::{self, AbiType};
use engine::rules::compile::{
    self, AccountParam, CallRule, CallShape, EventRule, EventShape, Field, LegSpec, LegSubject, Proof, RulePlace, Who,
};
use engine::{
    Account, Block, Category, Classification, Facts, Knowledge, Missing, Need, Policy, Question, Read, Rules,
    Treatments,
};

const WALLET: Address = address!("00000000000000000000000000000000000000AA");
const STRANGER: Address = address!("00000000000000000000000000000000000000BB");
/// A recipient that only a bridge's 32 bytes can name.
const ON_SOLANA: Account = Account::Solana([7; 32]);
const THIRD: Address = address!("00000000000000000000000000000000000000CC");
const TOKEN: Address = address!("00000000000000000000000000000000000000DD");
const BEACON: Address = address!("00000000000000000000000000000000000000EE");
const USDC: Address = address!("A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48");
const DAI: Address = address!("6B175474E89094C44Da98b954EedeAC495271d0F");
const AMOUNT: u64 = 1_234_567_890_123;
/// Paid by another stranger beside.
const BESIDE: u64 = 987_654_321_987;

static KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(|| Knowledge::embedded().expect("embedded packs load"));

/// With the policies that tax the least.
fn question() -> Question {
    let mut policy = Policy::default();
    for (key, value) in [("lp", "non_taxable"), ("lst", "non_taxable"), ("staking", "defer")] {
        policy.set(key, value);
    }
    Question { wallet: Some(Account::from(WALLET)), policy, ..Question::default() }
}

fn classified(facts: EvmFacts, question: &Question, knowledge: &Knowledge) -> Option<Classification> {
    engine::read(&Facts::from(facts), question, knowledge, Missing::Accept).ok()?.done()
}

/// A rule and the event that it listens to.
struct Listener {
    rule: EventRule,
    shape: EventShape,
}

/// Every rule that listens to events, as its pack writes it.
fn listeners(rules: &Rules) -> impl Iterator<Item = Listener> {
    let rows =
        rules.packs.iter().enumerate().flat_map(|(at, pack)| pack.file.event.iter().map(move |row| (at, pack, row)));
    rows.map(|(at, pack, row)| Listener {
        rule: compile::event(at, &pack.id, row).expect("the pack loads"),
        shape: compile::event_shape(row.signature.get_ref(), row.topic0.as_deref()).expect("the pack loads"),
    })
}

/// What the forged log speaks of.
#[derive(Clone, Copy)]
struct Spoken {
    emitter: Address,
    out: Address,
    incoming: Address,
    amount: u64,
}

/// A word that a rule reads, and what a forger writes there.
type Word<'a> = (&'a Field, usize, U256);

/// What the legs and the actor of a rule ask for.
fn words<'a>(
    out: &'a [LegSpec],
    incoming: &'a [LegSpec],
    who: &'a [Who],
    spoken: Spoken,
) -> impl Iterator<Item = Word<'a>> {
    let as_number = |address: Address| U256::from_be_bytes(address.into_word().0);
    let of_legs = [(out, spoken.out), (incoming, spoken.incoming)].into_iter().flat_map(move |(specs, asset)| {
        specs.iter().flat_map(move |LegSpec { what, amount, .. }| {
            let subject = match what {
                LegSubject::Asset(field) => Some((field, 0, as_number(asset))),
                LegSubject::With(field) | LegSubject::Through(field) => Some((field, 0, as_number(spoken.emitter))),
                _ => None,
            };
            subject.into_iter().chain(amount.as_ref().map(|field| (field, 0, U256::from(spoken.amount))))
        })
    });
    let of_who = who.iter().filter_map(move |who| match who {
        Who::Field(field) => Some((field, 0, as_number(WALLET))),
        Who::Anyone | Who::Sender => None,
    });
    of_legs.chain(of_who)
}

/// Where a word names the account.
fn as_word(param: &AccountParam) -> Option<&Field> {
    match param {
        AccountParam::Word(field) => Some(field),
        AccountParam::Bytes(_) => None,
    }
}

/// Words of packed bytes: a message of CCTP has five.
const PACKED_WORDS: usize = 5;

fn write<'a>(topics: &mut [B256], data: &mut [u8], words: impl Iterator<Item = Word<'a>>) {
    for (field, member, value) in words {
        match field {
            Field::Topic(at) => topics[*at] = B256::from(value),
            Field::Word(_) | Field::Path(_) => {
                let at = field.locate(data, member).expect("the field is in the data");
                data[at..at + 32].copy_from_slice(&value.to_be_bytes::<32>());
            }
        }
    }
}

/// The rule's own event, filled so that everything it asks of the log holds. Lists have two members, of which the second is of nothing.
fn forged(Listener { rule, shape }: &Listener, spoken: Spoken) -> Log {
    let mut topics = vec![B256::ZERO; rule.layout.topics.max(1)];
    let data = shape.signature.params.iter().filter(|param| !param.indexed);
    // Long enough for what a rule reads of packed bytes.
    let is_bytes = |path: &str| {
        shape.signature.params.iter().any(|param| param.name == path && matches!(param.kind, AbiType::Bytes(_)))
    };
    let mut data = abi::encode(data, &|_| U256::ZERO, &|path| if is_bytes(path) { PACKED_WORDS } else { 2 });
    let equals = rule.only.equals.iter().flat_map(|(field, values)| {
        let members = 0..if field.repeats() { 2 } else { 1 };
        members.map(move |member| (field, member, values[0]))
    });
    let positive = rule.only.positive.iter().map(|field| (field, 0, U256::ONE));
    let negative = rule.only.negative.iter().map(|field| (field, 0, U256::MAX));
    let wanted = words(&rule.out, &rule.incoming, &rule.who, spoken).chain(equals).chain(positive).chain(negative);
    write(&mut topics, &mut data, wanted);
    topics[0] = rule.topic0;
    Log { address: spoken.emitter, topics, data: Bytes::from(data), log_index: None }
}

/// The rule's own call, filled the same way.
fn asked(rule: &CallRule, shape: &CallShape, spoken: Spoken) -> Bytes {
    let mut data = abi::encode(shape.signature.params.iter(), &|_| U256::ZERO, &|_| 2);
    let zero = rule.zero.iter().map(|field| (field, 0, U256::ZERO));
    write(&mut [], &mut data, words(&rule.out, &rule.incoming, &rule.who, spoken).chain(zero));
    Bytes::from([rule.selector.as_slice(), &data].concat())
}

fn moved(token: Address, from: Address, to: Address, amount: u64) -> Log {
    let topic = engine::evm::erc20::TRANSFER;
    let data = Bytes::from(U256::from(amount).to_be_bytes_vec());
    Log { address: token, topics: vec![topic, from.into_word(), to.into_word()], data, log_index: None }
}

/// How assets move while a contract logs what it likes. Every flow is with a stranger.
const FLOWS: [Flow; 6] = [
    Flow { name: "in", out: None, incoming: Some(Moved::Real(USDC)) },
    Flow { name: "out", out: Some(Moved::Real(USDC)), incoming: None },
    Flow { name: "both ways", out: Some(Moved::Real(USDC)), incoming: Some(Moved::Real(DAI)) },
    Flow { name: "in, against the burn of its token", out: Some(Moved::Own), incoming: Some(Moved::Real(USDC)) },
    Flow { name: "out, against the mint of its token", out: Some(Moved::Real(USDC)), incoming: Some(Moved::Own) },
    Flow { name: "its token, minted for nothing", out: None, incoming: Some(Moved::Own) },
];

#[derive(Clone, Copy)]
struct Flow {
    name: &'static str,
    out: Option<Moved>,
    incoming: Option<Moved>,
}

#[derive(Clone, Copy, PartialEq)]
enum Moved {
    /// A canonical token.
    Real(Address),
    /// The stranger's own token, minted and burned.
    Own,
}

impl Moved {
    fn token(self) -> Address {
        match self {
            Self::Real(token) => token,
            Self::Own => STRANGER,
        }
    }

    fn other(self) -> Address {
        match self {
            Self::Real(_) => STRANGER,
            Self::Own => Address::ZERO,
        }
    }
}

impl Flow {
    fn logs(self, amount: u64) -> Vec<Log> {
        let out = self.out.map(|asset| moved(asset.token(), WALLET, asset.other(), amount));
        let incoming = self.incoming.map(|asset| moved(asset.token(), asset.other(), WALLET, amount));
        out.into_iter().chain(incoming).collect()
    }
}

/// The listed contract of a rule's role on Ethereum.
fn listed(rules: &Rules, rule: &EventRule) -> Option<Address> {
    let RulePlace::Role(role) = &rule.place else { return None };
    let chains = rules.packs[rule.pack].file.contracts.get(role)?;
    let text = chains.get("ethereum").into_iter().chain(chains.get("every")).flatten().next()?;
    Address::parse_checksummed(text.get_ref(), None).ok()
}

/// Every rule, at a contract that nobody vouches for and at the listed one; the wallet calls it or not; assets move in every way with a stranger, with
/// or without another stranger's payment beside. A listed contract tells of one unit, as when a stranger calls it on the side. What is decided as not
/// taxable is only what would show as a lie.
#[test]
fn nothing_is_untaxed_on_the_word_of_a_stranger() {
    let mut tally = Tally::default();
    for listener in listeners(&KNOWLEDGE.rules) {
        let is_generic = !matches!(listener.rule.place, RulePlace::Role(_) | RulePlace::WrappedNative);
        let emitters = [is_generic.then_some(STRANGER), listed(&KNOWLEDGE.rules, &listener.rule)];
        for (emitter, flow, caller, beside) in emitters
            .into_iter()
            .flatten()
            .flat_map(|emitter| FLOWS.map(|flow| (emitter, flow)))
            .flat_map(|(emitter, flow)| [WALLET, THIRD].map(|caller| (emitter, flow, caller)))
            .flat_map(|(emitter, flow, caller)| [None, Some(BESIDE)].map(|beside| (emitter, flow, caller, beside)))
        {
            let said = |asset: Option<Moved>| asset.map_or(USDC, Moved::token);
            let amount = if emitter == STRANGER { AMOUNT } else { 1 };
            let spoken = Spoken { emitter, out: said(flow.out), incoming: said(flow.incoming), amount };
            let mut logs = flow.logs(AMOUNT);
            logs.extend(beside.map(|amount| moved(USDC, THIRD, WALLET, amount)));
            logs.push(forged(&listener, spoken));
            let Some(answer) = classified(facts::of(caller, emitter, logs), &question(), &KNOWLEDGE) else { continue };
            let kind = kind_of(&answer, flow, emitter == STRANGER && beside.is_none());
            tally.count(kind, || {
                let caller = if caller == WALLET { "the wallet" } else { "a third" };
                let staged = format!("{}, {caller} calls, {}, at {emitter}", flow.name, named(beside));
                format!("{}: {staged}: {}", listener.rule.id, answer.category.name())
            });
        }
    }
    tally.check(10_000);
}

/// The same of every call that means something at any contract: what was asked for is no proof of what was done.
#[test]
fn nothing_is_untaxed_by_the_name_of_a_call() {
    let rows = KNOWLEDGE.rules.packs.iter().enumerate();
    let rows = rows.flat_map(|(at, pack)| pack.file.call.iter().map(move |row| (at, pack, row)));
    let mut tally = Tally::default();
    for (at, pack, row) in rows {
        let rule = compile::call(at, &pack.id, row).expect("the pack loads");
        let shape = compile::call_shape(row.signature.get_ref()).expect("the pack loads");
        if rule.means.is_none() || matches!(rule.place, RulePlace::Role(_) | RulePlace::WrappedNative) {
            continue;
        }
        for (flow, beside) in FLOWS.into_iter().flat_map(|flow| [None, Some(BESIDE)].map(|beside| (flow, beside))) {
            let said = |asset: Option<Moved>| asset.map_or(USDC, Moved::token);
            let spoken =
                Spoken { emitter: STRANGER, out: said(flow.out), incoming: said(flow.incoming), amount: AMOUNT };
            let mut logs = flow.logs(AMOUNT);
            logs.extend(beside.map(|amount| moved(USDC, THIRD, WALLET, amount)));
            let mut facts = facts::of(WALLET, STRANGER, logs);
            facts.transaction.input = asked(&rule, &shape, spoken);
            let answer = classified(facts, &question(), &KNOWLEDGE).expect("the wallet sent it");
            let kind = kind_of(&answer, flow, beside.is_none());
            tally.count(kind, || format!("{}: {}, {}: {}", rule.id, flow.name, named(beside), answer.category.name()));
        }
    }
    tally.check(5_000);
}

/// A contract that some pack vouches for, so that rules for any contract count as verified there.
fn vouched(rules: &Rules) -> Address {
    let addresses = |pack: &engine::rules::Pack| {
        let of_role = pack.file.vouches.iter().filter_map(|role| pack.file.contracts.get(role)?.get("ethereum"));
        of_role.flatten().filter_map(|text| Address::parse_checksummed(text.get_ref(), None).ok()).next()
    };
    rules.packs.iter().find_map(addresses).expect("some pack vouches for a contract on Ethereum")
}

/// Every rule that tells whose position it is, at a contract that a pack vouches for, with honest words: where they name somebody else, it is a
/// payment or a receipt for a person to look at; where that account is the wallet's own, or the wallet itself, it is what the rule says.
#[test]
fn what_is_another_persons_is_never_ones_own() {
    let vouched = vouched(&KNOWLEDGE.rules);
    let mut read = 0;
    for listener in listeners(&KNOWLEDGE.rules).filter(|listener| !listener.rule.whose.is_empty()) {
        let rule = &listener.rule;
        let emitter = match rule.place {
            RulePlace::Role(_) => listed(&KNOWLEDGE.rules, rule),
            _ => Some(vouched),
        };
        let Some(emitter) = emitter else { continue };
        let spoken = Spoken { emitter, out: USDC, incoming: USDC, amount: AMOUNT };
        let moves = [(&rule.out, WALLET, emitter), (&rule.incoming, emitter, WALLET)];
        let logs: Vec<Log> = moves
            .into_iter()
            .filter(|(specs, ..)| specs.iter().any(|spec| !spec.optional))
            .map(|(_, from, to)| moved(USDC, from, to, AMOUNT))
            .collect();
        let reading = |whose: Account, own: &[Account]| {
            let mut log = forged(&listener, spoken);
            let mut data = log.data.to_vec();
            let word = match whose {
                Account::Evm(address) => address.into_word().0,
                Account::Solana(key) => key,
            };
            let word = U256::from_be_bytes(word);
            // One of them is enough; of several the first may be the one by which the wallet is known.
            write(
                &mut log.topics,
                &mut data,
                rule.whose.iter().rev().filter_map(|param| Some((as_word(param)?, 0, word))).take(1),
            );
            log.data = data.into();
            let question = Question { own_wallets: own.to_vec(), ..question() };
            classified(facts::of(WALLET, emitter, logs.iter().cloned().chain([log]).collect()), &question, &KNOWLEDGE)
        };
        let as_own = |answer: &Option<Classification>| {
            answer.as_ref().is_some_and(|answer| answer.category == rule.means && !answer.needs_review)
        };
        // Some events want more beside them than this staging has.
        if !as_own(&reading(WALLET.into(), &[])) {
            continue;
        }
        read += 1;
        for other in [STRANGER.into(), ON_SOLANA] {
            let others = reading(other, &[]).expect("the wallet sent it");
            assert!(others.needs_review && others.category != rule.means, "{}: {}", rule.id, others.category.name());
            assert!(others.category == Category::Transfer && others.grey_area.is_some(), "{}", rule.id);
            assert!(as_own(&reading(other, &[other])), "{}: the other account is the wallet's own", rule.id);
        }
    }
    println!("{read} rules tell whose position it is");
    assert!(read > 80, "{read}");
}

/// A rollup mints what was deposited on its parent chain. The depositor is the wallet itself, or a contract at the wallet's address there, or
/// somebody else.
#[test]
fn a_deposit_that_somebody_else_made_is_a_receipt() {
    // An address on the parent chain, as a rollup shows that of a contract.
    let aliased = |address: Address| {
        let number = |address: Address| U160::from_be_bytes(address.0.0);
        let alias = number(address!("1111000000000000000000000000000000001111"));
        Address::from(number(address).wrapping_add(alias).to_be_bytes::<20>())
    };
    for kind in [0x7e_u64, 0x64] {
        for (from, is_own) in [(WALLET, true), (aliased(WALLET), true), (STRANGER, false), (aliased(STRANGER), false)] {
            let mut facts = facts::of(from, WALLET, Vec::new());
            facts.transaction.kind = Some(U64::from(kind));
            facts.transaction.input = Bytes::new();
            facts.transaction.value = U256::from(AMOUNT);
            facts.transaction.mint = Some(U256::from(AMOUNT));
            let answer = classified(facts, &question(), &KNOWLEDGE).expect("the wallet is paid");
            let read = (answer.category, answer.needs_review);
            let right = if is_own { (Category::BridgeIn, false) } else { (Category::Transfer, true) };
            assert_eq!(read, right, "type {kind:#x} from {from}");
        }
    }
}

/// A call of the wallet that no node can trace, with so much gas used and so much calldata.
fn untraced(to: Address, gas_used: usize, input: Vec<u8>, logs: Vec<Log>) -> EvmFacts {
    let mut facts = facts::of(WALLET, to, logs);
    facts.internal = InternalValue::Untraceable;
    facts.receipt.gas_used = U256::from(gas_used);
    facts.transaction.input = input.into();
    facts.block = Some(Block { number: 1, timestamp: SINCE_SMALL_REFUNDS, finalized: true });
    facts
}

const SINCE_SMALL_REFUNDS: i64 = 1_750_000_000;

/// Coin that a stranger pays inside, where no node can show it, is a doubt unless the gas leaves no room for it.
#[test]
fn gas_proves_only_what_it_leaves_no_room_for() {
    let is_review =
        |facts: EvmFacts| classified(facts, &question(), &KNOWLEDGE).expect("it is the wallet's").needs_review;
    let data = vec![1_u8; 100];
    let intrinsic = 21_000 + 16 * 100;
    assert!(!is_review(untraced(STRANGER, intrinsic, data.clone(), Vec::new())), "no code ran");
    assert!(!is_review(untraced(STRANGER, intrinsic + 4_999, data.clone(), Vec::new())), "too little to move coin");
    assert!(
        is_review(untraced(STRANGER, intrinsic + 5_000, data.clone(), Vec::new())),
        "a contract may destroy itself"
    );
    assert!(
        is_review(untraced(STRANGER, 21_000 + 40 * 1_000, vec![1; 1_000], Vec::new())),
        "the floor of long calldata"
    );
    let mut legacy = untraced(STRANGER, intrinsic + 1, data.clone(), Vec::new());
    legacy.transaction.kind = Some(U64::ZERO);
    assert!(is_review(legacy), "the chain may give back more gas for clearing storage than it costs");
    let mut authorised = untraced(STRANGER, intrinsic, data.clone(), Vec::new());
    authorised.transaction.kind = Some(U64::from(4));
    assert!(is_review(authorised), "gas comes back for authorisations");
    let mut earlier = untraced(STRANGER, intrinsic + 1, data.clone(), Vec::new());
    earlier.block = Some(Block { number: 1, timestamp: 1_600_000_000, finalized: true });
    assert!(is_review(earlier), "clearing storage gave more back than it cost");
    let mut own_count = untraced(STRANGER, intrinsic, data, Vec::new());
    let chain = Arc::make_mut(&mut own_count.chain);
    chain.fee_collector = Some(THIRD);
    assert!(is_review(own_count), "the chain counts gas by its own rules");
    assert!(is_review(untraced(STRANGER, 30_000, Vec::new(), Vec::new())), "a contract that is only paid may pay back");
}

/// A token that nobody lists may do anything in its `transfer`.
#[test]
fn only_listed_tokens_prove_that_a_token_call_moved_no_coin() {
    let mut input = vec![0xa9, 0x05, 0x9c, 0xbb];
    input.extend([THIRD.into_word(), B256::from(U256::from(AMOUNT))].concat());
    for (token, is_proved) in [(USDC, true), (TOKEN, false)] {
        let logs = vec![moved(token, WALLET, THIRD, AMOUNT)];
        let answer = classified(untraced(token, 60_000, input.clone(), logs.clone()), &question(), &KNOWLEDGE);
        let answer = answer.expect("it is the wallet's");
        assert_eq!((answer.category, answer.needs_review), (Category::Transfer, !is_proved), "{token}");
        let more =
            logs.into_iter().chain([moved(token, STRANGER, THIRD, AMOUNT)]).map(|log| Log { address: STRANGER, ..log });
        let other = classified(untraced(token, 60_000, input.clone(), more.collect()), &question(), &KNOWLEDGE);
        assert!(other.expect("it is the wallet's").needs_review, "{token}: others logged too");
    }
}

/// A router that a pack lists swaps two canonical tokens, and no node can trace: only pools that prove their factory leave no room for coin.
#[test]
fn only_proved_pools_and_listed_tokens_prove_that_a_swap_paid_no_coin() {
    // `swapExactTokensForTokens` at the router of Uniswap v2, whose pair of DAI and USDC this is.
    let router = address!("7a250d5630B4cF539739dF2C5dAcb4c659F2488D");
    let pair = address!("AE461cA67B15dc8dc81CE7615e0320dA1A9aB8D5");
    let input = vec![0x38, 0xed, 0x17, 0x39];
    let swap = |pool: Address, bought: Address| {
        let words =
            [U256::from(AMOUNT), U256::ZERO, U256::ZERO, U256::from(AMOUNT)].map(|word| word.to_be_bytes::<32>());
        let topics = vec![
            keccak256("Swap(address,uint256,uint256,uint256,uint256,address)"),
            router.into_word(),
            WALLET.into_word(),
        ];
        let swapped = Log { address: pool, topics, data: words.concat().into(), log_index: None };
        vec![moved(DAI, WALLET, pool, AMOUNT), moved(bought, pool, WALLET, AMOUNT), swapped]
    };
    let is_review = |to: Address, logs: Vec<Log>| {
        let facts = untraced(to, 150_000, input.clone(), logs);
        classified(facts, &question(), &KNOWLEDGE).expect("it is the wallet's").needs_review
    };
    assert!(!is_review(router, swap(pair, USDC)));
    assert!(is_review(router, swap(STRANGER, USDC)), "a stranger's pool may pay coin");
    assert!(is_review(router, swap(pair, TOKEN)), "a stranger's token may pay coin, and the pair is not of it");
    assert!(is_review(STRANGER, swap(pair, USDC)), "a stranger's router may pay coin");
    let fork = address!("03f7724180AA6b939894B5Ca4314783B0b36b329");
    assert!(is_review(fork, swap(pair, USDC)), "a listed router of others may refund");
    let mut more = swap(pair, USDC);
    more.push(Log { address: STRANGER, topics: vec![keccak256("Paid()")], data: Bytes::new(), log_index: None });
    assert!(is_review(router, more), "a stranger ran too");
}

/// A stranger's contract moves the wallet's tokens to an account of an exchange: what for is not known.
#[test]
fn an_exchange_is_no_shield_for_what_a_stranger_does() {
    let exchange = address!("28C6c06298d514Db089934071355E5743bf21d60");
    let read = |to: Address| {
        let logs = vec![moved(USDC, WALLET, exchange, AMOUNT)];
        let answer = classified(facts::of(WALLET, to, logs), &question(), &KNOWLEDGE).expect("it is the wallet's");
        (answer.category, answer.needs_review)
    };
    assert_eq!(read(USDC), (Category::CexDeposit, false));
    assert!(read(STRANGER).1);
}

/// The wallet gives wrapped coin to somebody and gets coin back.
#[test]
fn the_coin_and_its_wrapper_are_one_only_where_as_much_comes_back_and_the_wrapper_says_so() {
    let wrapper = address!("C02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2");
    let withdrawn = |address: Address, by: Address, amount: u64| Log {
        address,
        topics: vec![keccak256("Withdrawal(address,uint256)"), by.into_word()],
        data: Bytes::from(U256::from(amount).to_be_bytes::<32>()),
        log_index: None,
    };
    let read = |logs: Vec<Log>, (from, paid): (Address, u64)| {
        let mut facts = facts::of(WALLET, STRANGER, logs);
        // What is unwrapped leaves the wrapper before it is passed on.
        let unwrapped = InternalTransfer { from: wrapper, to: STRANGER, value: U256::from(AMOUNT) };
        let transfer = InternalTransfer { from, to: WALLET, value: U256::from(paid) };
        facts.internal = InternalValue::Traced { transfers: vec![unwrapped, transfer], failed: false };
        let answer = classified(facts, &question(), &KNOWLEDGE).expect("it is the wallet's");
        (answer.category, answer.needs_review)
    };
    let given = || moved(wrapper, WALLET, STRANGER, AMOUNT);
    let unwrapped = || withdrawn(wrapper, STRANGER, AMOUNT);
    let back = (STRANGER, AMOUNT);
    assert_eq!(read(vec![given(), unwrapped()], back), (Category::Unwrap, false));
    let is_unwrap = |logs: Vec<Log>, paid: (Address, u64)| read(logs, paid) == (Category::Unwrap, false);
    assert!(!is_unwrap(vec![given(), unwrapped()], (STRANGER, AMOUNT + 1)), "more comes back than was given");
    assert!(!is_unwrap(vec![given(), unwrapped()], (STRANGER, AMOUNT - 1)), "less comes back");
    assert!(!is_unwrap(vec![given(), unwrapped()], (THIRD, AMOUNT)), "somebody else pays");
    assert!(!is_unwrap(vec![given()], back), "nothing was unwrapped");
    let half = |by: Address| moved(wrapper, WALLET, by, AMOUNT / 2);
    assert!(!is_unwrap(vec![half(STRANGER), half(THIRD), unwrapped()], (STRANGER, AMOUNT / 2 * 2)), "two took it");
    assert!(!is_unwrap(vec![given(), withdrawn(STRANGER, STRANGER, AMOUNT)], back), "a stranger says so");
    assert!(!is_unwrap(vec![given(), withdrawn(wrapper, STRANGER, AMOUNT / 2)], back), "less was unwrapped");
    let beside = moved(USDC, STRANGER, WALLET, BESIDE);
    assert!(!is_unwrap(vec![given(), unwrapped(), beside], back), "something is paid beside");
}

/// Assets move between others in a transaction that the wallet sent.
#[test]
fn nothing_moved_only_where_nobody_speaks_of_the_wallet() {
    let others = || moved(USDC, STRANGER, THIRD, AMOUNT);
    let read = |to: Address, logs: Vec<Log>, question: &Question| {
        let answer = classified(facts::of(WALLET, to, logs), question, &KNOWLEDGE).expect("it is the wallet's");
        (answer.category, answer.needs_review)
    };
    let asked = question();
    assert_eq!(read(STRANGER, vec![others()], &asked), (Category::ContractCall, false));
    let unnamed = Question { wallet: None, ..question() };
    assert!(read(STRANGER, vec![others()], &unnamed).1, "the caller may be one of the others");
    let told = classified(facts::of(WALLET, STRANGER, vec![others()]), &unnamed, &KNOWLEDGE).expect("it is sent");
    assert_eq!(told.parties, Some(vec![Account::from(STRANGER), Account::from(THIRD)]));
    // The wallet carried out what moved between others, or may spend what is another's: neither is a position of its own.
    let operated = Log {
        address: STRANGER,
        topics: vec![TRANSFER_SINGLE, WALLET.into_word(), STRANGER.into_word(), THIRD.into_word()],
        data: Bytes::from([U256::from(7).to_be_bytes::<32>(), U256::from(AMOUNT).to_be_bytes()].concat()),
        log_index: None,
    };
    let allowed = Log { topics: vec![APPROVAL, THIRD.into_word(), WALLET.into_word()], ..others() };
    assert_eq!(read(STRANGER, vec![operated.clone()], &asked), (Category::ContractCall, false));
    assert_eq!(read(STRANGER, vec![others(), allowed], &asked), (Category::ContractCall, false));
    let also_told = Log { data: [operated.data.as_ref(), WALLET.into_word().as_slice()].concat().into(), ..operated };
    assert!(read(STRANGER, vec![also_told], &asked).1, "it says more of the wallet");
    let topics = vec![keccak256("Credited(address,uint256)"), WALLET.into_word()];
    let credited = Log { address: STRANGER, topics, data: Bytes::from(vec![1; 32]), log_index: None };
    assert!(read(STRANGER, vec![others(), credited.clone()], &asked).1, "a contract keeps something for the wallet");
    let in_data = Log { topics: vec![credited.topics[0]], data: WALLET.into_word().into(), ..credited };
    assert!(read(STRANGER, vec![others(), in_data], &asked).1);
    let holders = KNOWLEDGE.rules.packs.iter().filter(|pack| pack.file.holds_positions);
    let listed = holders.flat_map(|pack| pack.file.contracts.values()).filter_map(|chains| chains.get("ethereum"));
    let venue = listed.flatten().find_map(|text| Address::parse_checksummed(text.get_ref(), None).ok());
    let venue = venue.expect("some venue of positions is on Ethereum");
    let traded =
        Log { address: venue, topics: vec![keccak256("Traded(uint256)")], data: Bytes::new(), log_index: None };
    assert!(read(STRANGER, vec![others(), traded], &asked).1, "a venue that may hold a position for it");
    assert!(read(venue, vec![others()], &asked).1);
    let to_itself = moved(USDC, WALLET, WALLET, AMOUNT);
    assert_eq!(read(USDC, vec![to_itself.clone()], &asked), (Category::SelfTransfer, false));
    assert!(
        read(STRANGER, vec![to_itself, others()], &asked).0 != Category::SelfTransfer,
        "others moved something too"
    );
}

fn named(beside: Option<u64>) -> &'static str {
    if beside.is_some() { "paid beside" } else { "alone" }
}

/// How many stagings ended in which way, and which of them fooled the engine.
#[derive(Default)]
struct Tally {
    counts: BTreeMap<&'static str, usize>,
    fooled: Vec<String>,
}

impl Tally {
    fn count(&mut self, kind: &'static str, staging: impl FnOnce() -> String) {
        *self.counts.entry("staged").or_default() += 1;
        *self.counts.entry(kind).or_default() += 1;
        if kind == FOOLED {
            self.fooled.push(staging());
        }
    }

    fn check(&self, least: usize) {
        println!("{:?}", self.counts);
        assert!(self.counts["staged"] > least, "{:?}", self.counts);
        assert!(self.fooled.is_empty(), "{} fooled\n{}", self.fooled.len(), self.fooled.join("\n"));
    }
}

const FOOLED: &str = "fooled";

/// Why what is decided is right, if it is.
fn kind_of(answer: &Classification, flow: Flow, is_alone: bool) -> &'static str {
    let is_own_minted = flow.incoming == Some(Moved::Own) && flow.out.is_some();
    let is_own_pair = is_own_minted || (flow.out == Some(Moved::Own) && flow.incoming.is_some());
    match answer.taxable {
        _ if answer.needs_review => "for review",
        _ if is_harmless(answer.category) => "a plain transfer, with its grey area",
        Some(true) => "taxable, as the movements say",
        _ if is_alone && is_own_pair && matches!(answer.category, Category::Wrap | Category::Unwrap) => {
            "its own token, one to one"
        }
        _ if is_alone && is_own_minted && answer.confidence <= 72 && answer.grey_area.is_some() => {
            "a deposit against its own token, grey"
        }
        _ => FOOLED,
    }
}

fn transfer(from: Address, to: Address) -> Log {
    moved(TOKEN, from, to, AMOUNT)
}

/// What a stranger can make happen without giving anything: nothing moves, the wallet pays it, or it dusts the wallet.
fn stagings(listener: &Listener) -> [(&'static str, EvmFacts); 3] {
    let spoken = Spoken { emitter: STRANGER, out: TOKEN, incoming: TOKEN, amount: AMOUNT };
    let log = || forged(listener, spoken);
    [
        ("nothing moves", facts::of(THIRD, STRANGER, vec![log()])),
        ("the wallet pays a stranger", facts::of(WALLET, STRANGER, vec![transfer(WALLET, STRANGER), log()])),
        ("a stranger sends dust", facts::of(THIRD, STRANGER, vec![transfer(STRANGER, WALLET), log()])),
    ]
}

/// Categories that book nothing by themselves, whatever claims them.
fn is_harmless(category: Category) -> bool {
    matches!(category, Category::Transfer | Category::ContractCall | Category::Spam | Category::NftTransfer)
}

/// Calls packed into calls, more than anyone means: past the bound the answer is a review with the reason.
#[test]
fn more_calls_than_are_looked_at_end_in_a_review() {
    let word = |value: usize| U256::from(value).to_be_bytes::<32>();
    let count = 400;
    let approve = [&keccak256("approve(address,uint256)")[..4], &[0_u8; 64]].concat();
    let member = [word(approve.len()).as_slice(), &approve, &[0_u8; 28]].concat();
    let offsets = (0..count).map(|at| word(32 * count + at * member.len()));
    let mut input = keccak256("multicall(bytes[])")[..4].to_vec();
    input.extend(word(32));
    input.extend(word(count));
    offsets.for_each(|offset| input.extend(offset));
    (0..count).for_each(|_| input.extend(&member));
    let mut facts = facts::of(WALLET, STRANGER, Vec::new());
    facts.transaction.input = Bytes::from(input);
    let answer = classified(facts, &Question::default(), &KNOWLEDGE).expect("the sender is a party");
    assert!(answer.needs_review, "{answer:?}");
    assert!(answer.review_note.is_some_and(|note| note.contains("more calls")));
}

#[test]
fn no_generic_rule_is_fooled_by_a_stranger() {
    let is_generic =
        |listener: &Listener| !matches!(listener.rule.place, RulePlace::Role(_) | RulePlace::WrappedNative);
    let generic: Vec<Listener> = listeners(&KNOWLEDGE.rules).filter(is_generic).collect();
    assert!(generic.len() >= 8, "{} generic rules", generic.len());
    let mut fooled = Vec::new();
    for listener in generic {
        for (staging, facts) in stagings(&listener) {
            let question = Question { wallet: Some(Account::from(WALLET)), explain: true, ..Question::default() };
            let Some(answer) = classified(facts, &question, &KNOWLEDGE) else { continue };
            let Classification { category, needs_review, .. } = answer;
            // A governance or delegation log moves nothing and books nothing.
            let moved = !answer.assets.sent.is_empty() || !answer.assets.received.is_empty();
            if !needs_review && !is_harmless(category) && moved {
                fooled.push(format!("{}: {staging}: {}", listener.rule.id, category.name()));
            }
        }
    }
    assert!(fooled.is_empty(), "{}", fooled.join("\n"));
}

/// A token that nobody knows logs that it came from an exchange, a bridge or an airdrop. Whoever sent the transaction, it was not they.
#[test]
fn no_listed_account_is_impersonated_by_a_token() {
    let mut fooled = Vec::new();
    let mut tried = 0;
    for pack in &KNOWLEDGE.rules.packs {
        for row in &pack.file.transfer {
            let chains = pack.file.contracts.get(row.with.get_ref()).expect("the role has contracts");
            let here = chains.get("ethereum").into_iter().chain(chains.get("every")).flatten();
            for account in here.map(|text| Address::parse_checksummed(text.get_ref(), None).expect("checksummed")) {
                tried += 1;
                for log in [transfer(account, WALLET), transfer(WALLET, account)] {
                    let facts = facts::of(THIRD, STRANGER, vec![log]);
                    let question = Question { wallet: Some(Account::from(WALLET)), ..Question::default() };
                    let answer = classified(facts, &question, &KNOWLEDGE).expect("the wallet is a party");
                    if !answer.needs_review && !is_harmless(answer.category) {
                        fooled.push(format!("{}: {account}: {}", pack.id, answer.category.name()));
                    }
                }
            }
        }
    }
    assert!(tried > 100, "{tried} accounts");
    assert!(fooled.is_empty(), "{}", fooled.join("\n"));
}
