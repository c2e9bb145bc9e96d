//! What must hold for any chain data, however hostile.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests fail loudly")]

mod facts;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use alloy_primitives::{Address, B256, Bytes, U64, U256, address};
use engine::adjudicate::adjudicate;
use engine::asset::{Account, Asset, Movement, NftKind, Seen};
use engine::evm::json::{EvmTransaction, Log, Receipt};
use engine::evm::scene;
use engine::evm::trace::InternalTransfer;
use engine::evm::{BalanceChange, EvmFacts, InternalValue};
use engine::legs::{Direction, legs};
use engine::sources::{Opinions, opine};
use engine::treatment::LedgerAction;
use engine::{Classification, Facts, Knowledge, Missing, Question, Read, Token, audit, read};
use proptest::prelude::*;

static KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(|| Knowledge::embedded().expect("embedded packs load"));

const WALLET: Address = address!("00000000000000000000000000000000000000AA");
const WETH: Address = address!("C02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2");

/// How a sentence begins that decides on the treatment.
const DECIDED: [&str; 4] = ["A taxable disposal", "Taxable income", "Not a taxable event", "An expense, paid by"];

/// Few enough that they meet: the wallet, zero, the wrapper, contracts that packs know, and strangers.
fn addresses() -> impl Strategy<Value = Address> {
    prop_oneof![
        4 => Just(WALLET),
        2 => Just(Address::ZERO),
        2 => Just(WETH),
        1 => Just(address!("87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2")),
        1 => Just(address!("C36442b4a4522E871399CD717aBDD847Ab11FE88")),
        1 => Just(address!("b47e3cd837dDF8e4c57F05d70Ab865de6e193BBB")),
        1 => Just(address!("0000000000000000000000000000000000001010")),
        3 => (1_u8..5).prop_map(Address::with_last_byte),
    ]
}

fn amounts() -> impl Strategy<Value = U256> {
    prop_oneof![
        4 => (0_u64..4).prop_map(U256::from),
        2 => any::<u64>().prop_map(U256::from),
        1 => Just(U256::MAX),
        1 => any::<[u64; 4]>().prop_map(U256::from_limbs),
    ]
}

fn words() -> impl Strategy<Value = B256> {
    // Offsets and lengths of arrays that meet something, and those that lie.
    let offsets = (0_u64..16).prop_map(|at| B256::from(U256::from(at * 32)));
    prop_oneof![2 => addresses().prop_map(|a| a.into_word()), 2 => amounts().prop_map(B256::from), 1 => offsets]
}

/// Topics that some rule or reader listens to, and noise.
fn topics() -> impl Strategy<Value = B256> {
    let known = KNOWLEDGE.rules.topics();
    let movements = [
        "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
        "c3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62",
        "4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb",
        "e6497e3ee548a3372136af2fcb0696db31fc6cf20260707645068bd3fe97f3c4",
        "05af636b70da6819000c49f85b21fa82081c632069bb626f30932034099107d8",
        "458f5fa412d0f69b08dd84872b0215675cc67bc1d5b6fd93300a1c3878b86196",
        "4cf25bc1d991c17529c25213d3cc0cda295eeaad5f13f361969b12ea48015f90",
    ]
    .map(|text| text.parse::<B256>().unwrap());
    prop_oneof![
        4 => prop::sample::select(known),
        6 => prop::sample::select(movements.to_vec()),
        1 => any::<[u8; 32]>().prop_map(B256::from),
    ]
}

fn logs() -> impl Strategy<Value = Log> {
    let shape = (topics(), prop::collection::vec(words(), 0..4), prop::collection::vec(words(), 0..16), 0_usize..40);
    (addresses(), shape, any::<bool>()).prop_map(|(address, (topic0, indexed, data, cut), is_cut)| {
        let mut topics = vec![topic0];
        topics.extend(indexed);
        let mut bytes: Vec<u8> = data.iter().flat_map(|word| word.0).collect();
        if is_cut {
            bytes.truncate(bytes.len().saturating_sub(cut));
        }
        Log { address, topics, data: Bytes::from(bytes), log_index: None }
    })
}

fn internal() -> impl Strategy<Value = InternalValue> {
    let transfer =
        || (addresses(), addresses(), amounts()).prop_map(|(from, to, value)| InternalTransfer { from, to, value });
    let transfers = || prop::collection::vec(transfer(), 0..6);
    prop_oneof![
        Just(InternalValue::NotAsked),
        Just(InternalValue::Untraceable),
        transfers().prop_map(|transfers| InternalValue::Listed { transfers }),
        (transfers(), any::<bool>()).prop_map(|(transfers, failed)| InternalValue::Traced { transfers, failed }),
    ]
}

fn calldata() -> impl Strategy<Value = Bytes> {
    let selectors = KNOWLEDGE.rules.selectors();
    let call =
        (prop::sample::select(selectors), prop::collection::vec(words(), 0..12)).prop_map(|(selector, words)| {
            let mut bytes = selector.to_vec();
            bytes.extend(words.iter().flat_map(|word| word.0));
            Bytes::from(bytes)
        });
    prop_oneof![3 => call, 1 => Just(Bytes::new()), 1 => prop::collection::vec(any::<u8>(), 0..64).prop_map(Bytes::from)]
}

fn tokens() -> impl Strategy<Value = BTreeMap<Address, Arc<Token>>> {
    let token = (any::<Option<u8>>(), any::<bool>(), any::<Option<String>>())
        .prop_map(|(decimals, is_erc721, symbol)| Arc::new(Token { symbol, name: None, decimals, is_erc721 }));
    prop::collection::btree_map(addresses(), token, 0..4)
}

fn any_facts() -> impl Strategy<Value = EvmFacts> {
    let transaction = (addresses(), prop::option::of(addresses()), amounts(), calldata(), 0_u64..128);
    let receipt = (prop::collection::vec(logs(), 0..12), prop::option::of(0_u64..2), amounts(), amounts());
    let balance = (amounts(), amounts(), any::<bool>());
    (transaction, receipt, internal(), tokens(), balance).prop_map(|(tx, rc, internal, tokens, balance)| {
        let (from, to, value, input, kind) = tx;
        let (logs, status, gas_used, price) = rc;
        let (before, after, has_balance) = balance;
        let change = BalanceChange {
            before: Some(before),
            after: has_balance.then_some(after),
            sent: has_balance.then_some((1, 2)),
        };
        let base = facts::of(from, Address::ZERO, logs);
        EvmFacts {
            transaction: EvmTransaction {
                to,
                value,
                input,
                kind: Some(U64::from(kind)),
                chain_id: None,
                ..base.transaction
            },
            receipt: Receipt {
                gas_used,
                effective_gas_price: Some(price),
                status: status.map(U64::from),
                ..base.receipt
            },
            internal,
            holdings: BTreeMap::new(),
            given: BTreeMap::new(),
            balances: BTreeMap::from([(from, change)]),
            tokens,
            ..base
        }
    })
}

fn movement() -> impl Strategy<Value = Movement> {
    let asset = prop_oneof![
        Just(Asset::Native),
        addresses().prop_map(|token| Asset::Token(token.into())),
        (addresses(), 0_u64..3).prop_map(|(contract, id)| Asset::Nft {
            contract: contract.into(),
            id: U256::from(id),
            kind: NftKind::Erc1155
        }),
    ];
    (asset, addresses(), addresses(), any::<u64>()).prop_map(|(asset, from, to, amount)| Movement {
        asset,
        from: from.into(),
        to: to.into(),
        amount: U256::from(amount),
        seen: Seen::Value,
    })
}

/// What a description says before it speaks of the treatment.
fn action(row: &Classification) -> Option<String> {
    let text = row.description.as_deref()?;
    let ends = DECIDED.iter().chain(&["A person decides"]).filter_map(|end| text.find(end));
    Some(text.get(..ends.min()?)?.to_owned())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics_and_the_contract_holds(facts in any_facts(), wallet in prop::option::of(addresses())) {
        let question = Question { wallet: wallet.map(Account::from), explain: true, ..Question::default() };
        let facts = Facts::from(facts);
        let asked = read(&facts, &question, &KNOWLEDGE, Missing::Ask);
        if let Ok(Read::Done(answer)) = read(&facts, &question, &KNOWLEDGE, Missing::Accept) {
            match asked.expect("the wallet is a party") {
                Read::Needs(needs) => prop_assert!(!needs.is_empty() && needs.is_sorted()),
                Read::Done(asked) => {
                    prop_assert_eq!(serde_json::to_string(&asked).unwrap(), serde_json::to_string(&answer).unwrap());
                }
            }
            prop_assert_eq!(answer.needs_review, answer.taxable.is_none());
            prop_assert_eq!(answer.needs_review, answer.review_note.is_some());
            prop_assert!(answer.needs_review || answer.confidence >= 60);
            prop_assert!(answer.needs_review || answer.taxable == answer.treatment.taxable());
            prop_assert_eq!(audit::faults(&answer), Vec::<String>::new());
            let again = read(&facts, &question, &KNOWLEDGE, Missing::Accept).expect("the same answer").done();
            prop_assert_eq!(serde_json::to_string(&answer).unwrap(), serde_json::to_string(&again).unwrap());
        }
    }

    /// A question may want more confidence than the engine's own line. That adds reviews and moves nothing else, and no sentence then
    /// tells a treatment that a person has yet to decide.
    #[test]
    fn a_floor_only_adds_reviews(facts in any_facts(), floor in 0_u8..=100) {
        let plain = Question { wallet: Some(WALLET.into()), ..Question::default() };
        let floored = Question { review_below: Some(floor), ..plain.clone() };
        let facts = Facts::from(facts);
        let answer = |question: &Question| read(&facts, question, &KNOWLEDGE, Missing::Accept).ok().and_then(Read::done);
        if let (Some(plain), Some(floored)) = (answer(&plain), answer(&floored)) {
            prop_assert_eq!(floored.needs_review, plain.needs_review || plain.confidence < floor);
            prop_assert_eq!(floored.is_floored, floored.needs_review && !plain.needs_review);
            if floored.is_floored {
                prop_assert_eq!((floored.taxable, floored.ledger_action), (None, Some(LedgerAction::Review)));
                let named = format!("under {floor} ");
                prop_assert!(floored.review_note.as_ref().is_some_and(|note| note.contains(&named)));
                let steps = floored.legs.as_deref().unwrap_or_default();
                prop_assert!(steps.iter().all(|step| step.taxable.is_none() && step.ledger_action == LedgerAction::Review));
                let parent = floored.parent.as_ref().map(|parent| &parent.description);
                let told = [floored.description.as_ref(), floored.memo.as_ref(), parent];
                for text in told.into_iter().flatten().chain(steps.iter().map(|step| &step.description)) {
                    prop_assert!(DECIDED.iter().all(|decided| !text.contains(decided)), "{}", text);
                }
                let sent = |row: &Classification| row.assets.sent.iter().map(|leg| leg.amount.clone()).collect::<Vec<_>>();
                let said = |row: &Classification| (row.category, row.treatment, row.confidence, sent(row), action(row));
                prop_assert_eq!(said(&plain), said(&floored));
            } else {
                prop_assert_eq!(serde_json::to_string(&plain).unwrap(), serde_json::to_string(&floored).unwrap());
            }
        }
    }

    /// What leaves one account arrives at another: over all accounts, every asset nets to nothing.
    #[test]
    fn assets_are_conserved(movements in prop::collection::vec(movement(), 0..20)) {
        let accounts: std::collections::BTreeSet<Account> = movements.iter().flat_map(|m| [m.from, m.to]).collect();
        let mut net: BTreeMap<Asset, (U256, U256)> = BTreeMap::new();
        for account in accounts {
            for leg in legs(&movements, account).expect("small amounts never overflow") {
                let (out, incoming) = net.entry(leg.asset).or_default();
                match leg.direction {
                    Direction::Out => *out += leg.amount,
                    Direction::In => *incoming += leg.amount,
                }
            }
        }
        for (asset, (out, incoming)) in net {
            prop_assert_eq!(out, incoming, "{:?}", asset);
        }
    }

    #[test]
    fn adjudication_is_order_free(facts in any_facts(), seed: u64) {
        let question = Question::default();
        let scene = scene::read(&facts, &question, &KNOWLEDGE.rules).expect("whoever acts is a party");
        let opinions = opine(&scene, &KNOWLEDGE.rules);
        let mut shuffled = opinions.said.clone();
        let mut state = seed;
        for at in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            shuffled.swap(at, usize::try_from(state >> 33).unwrap() % (at + 1));
        }
        let one = adjudicate(&scene, opinions.clone(), &question);
        let other = adjudicate(&scene, Opinions { said: shuffled, ..opinions }, &question);
        prop_assert_eq!(one.category, other.category);
        prop_assert_eq!(one.confidence, other.confidence);
        prop_assert_eq!(one.claims, other.claims);
        prop_assert_eq!(one.protocol, other.protocol);
        prop_assert_eq!(one.residual, other.residual);
    }
}
