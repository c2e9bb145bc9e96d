//! Contracts that forge well-known events gain nothing. For every rule that listens to any contract, a stranger logs its
//! event in the wallet's name, with the wallet's own token and amount: the forged meaning never becomes authoritative.

#![expect(clippy::indexing_slicing, clippy::expect_used, reason = "tests fail loudly")]

mod facts;

use alloy_primitives::{Address, B256, Bytes, U256, address, keccak256};
use engine::evm::EvmFacts;
use engine::evm::json::Log;
use engine::rules::abi;
use engine::rules::compile::{self, EventRule, EventShape, Field, LegSpec, LegSubject, RulePlace, Who};
use engine::{Account, Category, Classification, Facts, Knowledge, Missing, Question, Rules};

const WALLET: Address = address!("00000000000000000000000000000000000000AA");
const STRANGER: Address = address!("00000000000000000000000000000000000000BB");
const THIRD: Address = address!("00000000000000000000000000000000000000CC");
const TOKEN: Address = address!("00000000000000000000000000000000000000DD");
const AMOUNT: u64 = 1_234_567_890_123;

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

/// The rule's own event, filled so that everything it asks of the log holds. Lists have two members, of which the second is of nothing.
fn forged(Listener { rule, shape }: &Listener) -> Log {
    let mut topics = vec![B256::ZERO; rule.layout.topics];
    let data = shape.signature.params.iter().filter(|param| !param.indexed);
    let mut data = abi::encode(data, &|_| U256::ZERO, &|_| 2);
    let mut set = |field: &Field, member: usize, value: U256| match field {
        Field::Topic(at) => topics[*at] = B256::from(value),
        Field::Word(_) | Field::Path(_) => {
            let at = field.locate(&data, member).expect("the field is in the data");
            data[at..at + 32].copy_from_slice(&value.to_be_bytes::<32>());
        }
    };
    let as_number = |address: Address| U256::from_be_bytes(address.into_word().0);
    for spec in rule.out.iter().chain(&rule.incoming) {
        let LegSpec { what, amount, .. } = spec;
        match what {
            LegSubject::Asset(field) => set(field, 0, as_number(TOKEN)),
            LegSubject::With(field) => set(field, 0, as_number(STRANGER)),
            _ => {}
        }
        if let Some(field) = amount {
            set(field, 0, U256::from(AMOUNT));
        }
    }
    for who in &rule.who {
        if let Who::Field(field) = who {
            set(field, 0, as_number(WALLET));
        }
    }
    for (field, values) in &rule.only.equals {
        for member in 0..if field.repeats() { 2 } else { 1 } {
            set(field, member, values[0]);
        }
    }
    if let Some(field) = &rule.only.positive {
        set(field, 0, U256::ONE);
    }
    if let Some(field) = &rule.only.negative {
        set(field, 0, U256::MAX);
    }
    if topics.is_empty() {
        topics.push(rule.topic0);
    }
    topics[0] = rule.topic0;
    Log { address: STRANGER, topics, data: Bytes::from(data), log_index: None }
}

fn transfer(from: Address, to: Address) -> Log {
    let topic = engine::evm::movements::TRANSFER;
    let data = Bytes::from(U256::from(AMOUNT).to_be_bytes_vec());
    Log { address: TOKEN, topics: vec![topic, from.into_word(), to.into_word()], data, log_index: None }
}

/// What a stranger can make happen without giving anything: nothing moves, the wallet pays it, or it dusts the wallet.
fn stagings(listener: &Listener) -> [(&'static str, EvmFacts); 3] {
    let log = || forged(listener);
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
    let knowledge = Knowledge::embedded().expect("embedded packs load");
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
    let answer = classified(facts, &Question::default(), &knowledge).expect("the sender is a party");
    assert!(answer.needs_review, "{answer:?}");
    assert!(answer.review_note.is_some_and(|note| note.contains("more calls")));
}

#[test]
fn no_generic_rule_is_fooled_by_a_stranger() {
    let knowledge = Knowledge::embedded().expect("embedded packs load");
    let is_generic =
        |listener: &Listener| !matches!(listener.rule.place, RulePlace::Role(_) | RulePlace::WrappedNative);
    let generic: Vec<Listener> = listeners(&knowledge.rules).filter(is_generic).collect();
    assert!(generic.len() >= 8, "{} generic rules", generic.len());
    let mut fooled = Vec::new();
    for listener in generic {
        for (staging, facts) in stagings(&listener) {
            let question = Question { wallet: Some(Account::from(WALLET)), explain: true, ..Question::default() };
            let Some(answer) = classified(facts, &question, &knowledge) else { continue };
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
    let knowledge = Knowledge::embedded().expect("embedded packs load");
    let mut fooled = Vec::new();
    let mut tried = 0;
    for pack in &knowledge.rules.packs {
        for row in &pack.file.transfer {
            let chains = pack.file.contracts.get(row.with.get_ref()).expect("the role has contracts");
            let here = chains.get("ethereum").into_iter().chain(chains.get("every")).flatten();
            for account in here.map(|text| Address::parse_checksummed(text.get_ref(), None).expect("checksummed")) {
                tried += 1;
                for log in [transfer(account, WALLET), transfer(WALLET, account)] {
                    let facts = facts::of(THIRD, STRANGER, vec![log]);
                    let question = Question { wallet: Some(Account::from(WALLET)), ..Question::default() };
                    let answer = classified(facts, &question, &knowledge).expect("the wallet is a party");
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
