//! What moved, on chains and tokens that log it in their own way. Each is counted once, and none is lost.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail loudly")]

mod facts;

use std::sync::{Arc, LazyLock};

use alloy_primitives::{Address, B256, Bytes, U64, U256, address, hex, keccak256};
use engine::asset::{Asset, Movement, NftKind};
use engine::chain::FormerCoin;
use engine::evm::json::Log;
use engine::evm::movements;
use engine::evm::trace::InternalTransfer;
use engine::evm::{BalanceChange, EvmFacts, InternalValue};
use engine::{Block, Category, Chain, Facts, Knowledge, Missing, Question, Token};

const WALLET: Address = address!("00000000000000000000000000000000000000AA");
const OTHER: Address = address!("00000000000000000000000000000000000000BB");
const TOKEN: Address = address!("00000000000000000000000000000000000000DD");
const WETH: Address = address!("C02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2");
const NATIVE_LOG: Address = address!("0000000000000000000000000000000000001010");
const PUNKS: Address = address!("b47e3cd837dDF8e4c57F05d70Ab865de6e193BBB");

static KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(|| Knowledge::embedded().unwrap());

fn word(value: u64) -> B256 {
    B256::from(U256::from(value))
}

fn log(emitter: Address, signature: &str, indexed: &[B256], data: &[B256]) -> Log {
    let topics = [&[keccak256(signature)], indexed].concat();
    let data = Bytes::from(data.iter().flat_map(|word| word.0).collect::<Vec<u8>>());
    Log { address: emitter, topics, data, log_index: None }
}

fn with(logs: Vec<Log>) -> EvmFacts {
    facts::of(WALLET, OTHER, logs)
}

fn movements(facts: &EvmFacts) -> Vec<Movement> {
    movements::movements(facts, &KNOWLEDGE.rules.on("ethereum").into())
}

fn one(facts: &EvmFacts) -> (Asset, Address, Address, u64) {
    let found = movements(facts);
    let [Movement { asset, from, to, amount, .. }] = found.as_slice() else { panic!("one movement, not {found:?}") };
    (*asset, from.evm().unwrap(), to.evm().unwrap(), amount.to())
}

#[test]
fn a_token_and_an_nft_share_a_signature_and_differ_in_layout() {
    let (from, to) = (WALLET.into_word(), OTHER.into_word());
    let transfer = "Transfer(address,address,uint256)";
    let fungible = with(vec![log(TOKEN, transfer, &[from, to], &[word(7)])]);
    assert_eq!(one(&fungible), (Asset::Token(TOKEN.into()), WALLET, OTHER, 7));
    let nft = Asset::Nft { contract: TOKEN.into(), id: U256::from(7), kind: NftKind::Erc721 };
    let indexed = with(vec![log(TOKEN, transfer, &[from, to, word(7)], &[])]);
    assert_eq!(one(&indexed), (nft, WALLET, OTHER, 1));
    // CryptoKitties and their age index nothing; the contract's own word tells an id from an amount.
    let mut kitty = with(vec![log(TOKEN, transfer, &[], &[from, to, word(7)])]);
    assert_eq!(one(&kitty), (Asset::Token(TOKEN.into()), WALLET, OTHER, 7));
    kitty.tokens.insert(TOKEN, Arc::new(Token { is_erc721: true, ..Token::default() }));
    assert_eq!(one(&kitty), (nft, WALLET, OTHER, 1));
}

#[test]
fn erc1155_moves_one_or_many_ids() {
    let parties = [OTHER.into_word(), WALLET.into_word(), OTHER.into_word()];
    let single = with(vec![log(
        TOKEN,
        "TransferSingle(address,address,address,uint256,uint256)",
        &parties,
        &[word(5), word(3)],
    )]);
    let id = |id: u64| Asset::Nft { contract: TOKEN.into(), id: U256::from(id), kind: NftKind::Erc1155 };
    assert_eq!(one(&single), (id(5), WALLET, OTHER, 3));
    let arrays = [64, 160, 2, 5, 6, 2, 1, 9].map(word);
    let batch = with(vec![log(TOKEN, "TransferBatch(address,address,address,uint256[],uint256[])", &parties, &arrays)]);
    let moved: Vec<(Asset, u64)> = movements(&batch).iter().map(|m| (m.asset, m.amount.to())).collect();
    assert_eq!(moved, [(id(5), 1), (id(6), 9)]);
    let lies = [64, u64::MAX, 2, 5, 6].map(word);
    let broken = with(vec![log(TOKEN, "TransferBatch(address,address,address,uint256[],uint256[])", &parties, &lies)]);
    assert_eq!(movements(&broken), []);
}

#[test]
fn erc6909_moves_amounts_of_an_id() {
    let moved = "Transfer(address,address,address,uint256,uint256)";
    let parties = [WALLET.into_word(), OTHER.into_word(), word(5)];
    let claims = with(vec![log(TOKEN, moved, &parties, &[OTHER.into_word(), word(30)])]);
    let id = Asset::Nft { contract: TOKEN.into(), id: U256::from(5), kind: NftKind::Erc6909 };
    assert_eq!(one(&claims), (id, WALLET, OTHER, 30));
    let nothing = with(vec![log(TOKEN, moved, &parties, &[OTHER.into_word(), word(0)])]);
    assert_eq!(movements(&nothing), []);
    let cut = with(vec![log(TOKEN, moved, &parties, &[OTHER.into_word()])]);
    assert_eq!(movements(&cut), []);
}

#[test]
fn a_punk_is_named_by_a_later_log() {
    let (seller, buyer) = (WALLET.into_word(), OTHER.into_word());
    let facts = with(vec![
        log(PUNKS, "Transfer(address,address,uint256)", &[seller, buyer], &[word(1)]),
        // The sale log names nobody as buyer, which is this contract's own mistake.
        log(PUNKS, "PunkBought(uint256,uint256,address,address)", &[word(4242), seller, B256::ZERO], &[word(0)]),
    ]);
    let punk = Asset::Nft { contract: PUNKS.into(), id: U256::from(4242), kind: NftKind::Cryptopunk };
    assert_eq!(one(&facts), (punk, WALLET, OTHER, 1));
}

#[test]
fn a_wrapper_that_also_logs_a_transfer_counts_once() {
    let deposit = log(WETH, "Deposit(address,uint256)", &[WALLET.into_word()], &[word(9)]);
    let minted = log(WETH, "Transfer(address,address,uint256)", &[B256::ZERO, WALLET.into_word()], &[word(9)]);
    let expected = (Asset::Token(WETH.into()), Address::ZERO, WALLET, 9);
    assert_eq!(one(&with(vec![deposit.clone()])), expected);
    assert_eq!(one(&with(vec![minted, deposit])), expected);
    // Staking contracts log the same event and mint nothing.
    let staked = log(TOKEN, "Deposit(address,uint256)", &[WALLET.into_word()], &[word(9)]);
    assert_eq!(movements(&with(vec![staked])), []);
}

#[test]
fn a_native_move_that_also_stands_in_a_log_counts_once() {
    let parties = [NATIVE_LOG.into_word(), OTHER.into_word(), WALLET.into_word()];
    let logged = || {
        log(
            NATIVE_LOG,
            "LogTransfer(address,address,address,uint256,uint256,uint256,uint256,uint256)",
            &parties,
            &[word(5); 5],
        )
    };
    let expected = (Asset::Native, OTHER, WALLET, 5);
    let mut traced = with(vec![logged()]);
    let transfer = InternalTransfer { from: OTHER, to: WALLET, value: U256::from(5) };
    traced.internal = InternalValue::Traced { transfers: vec![transfer], failed: false };
    assert_eq!(one(&traced), expected);
    assert_eq!(one(&with(vec![logged()])), expected, "a log that stands alone counts too");
}

#[test]
fn gas_that_a_chain_logs_is_not_a_movement() {
    let paid =
        log(NATIVE_LOG, "Transfer(address,address,uint256)", &[WALLET.into_word(), OTHER.into_word()], &[word(5)]);
    let mut facts = with(vec![paid]);
    let mut chain = (*facts.chain).clone();
    chain.fee_collector = Some(OTHER);
    facts.chain = Arc::new(chain);
    assert_eq!(movements(&facts), []);
}

#[test]
fn a_deposit_from_the_parent_chain_mints_what_it_brings() {
    let mut optimism = with(Vec::new());
    optimism.transaction.mint = Some(U256::from(8));
    assert_eq!(one(&optimism), (Asset::Native, Address::ZERO, WALLET, 8));
    let mut arbitrum = with(Vec::new());
    arbitrum.transaction.kind = Some(alloy_primitives::U64::from(0x64));
    arbitrum.transaction.value = U256::from(8);
    assert_eq!(one(&arbitrum), (Asset::Native, Address::ZERO, OTHER, 8));
}

/// Sai was minted to whoever drew it, and burned from whoever gave it back, without a Transfer.
#[test]
fn a_listed_token_that_mints_and_burns_without_a_transfer_moves_all_the_same() {
    let sai = address!("89d24A6b4CcB1B6fAA2625fE562bDD9a23260359");
    let (mint, burn) = ("Mint(address,uint256)", "Burn(address,uint256)");
    let made = |token, event| with(vec![log(token, event, &[WALLET.into_word()], &[word(7)])]);
    assert_eq!(one(&made(sai, mint)), (Asset::Token(sai.into()), Address::ZERO, WALLET, 7));
    assert_eq!(one(&made(sai, burn)), (Asset::Token(sai.into()), WALLET, Address::ZERO, 7));
    assert_eq!(movements(&made(TOKEN, mint)), [], "anybody can log a mint");
    // Where a Transfer tells the same, it counts once.
    let mut both = made(sai, mint);
    let zero = B256::ZERO;
    both.receipt.logs.push(log(sai, "Transfer(address,address,uint256)", &[zero, WALLET.into_word()], &[word(7)]));
    assert_eq!(one(&both), (Asset::Token(sai.into()), Address::ZERO, WALLET, 7));
}

/// Every block of an OP-stack chain begins with one: it tells the chain about its parent and moves nothing.
#[test]
fn a_system_transaction_that_deposits_nothing_is_a_call() {
    let system = address!("DeaDDEaDDeAdDeAdDEAdDEaddeAddEAdDEAd0001");
    let attributes = address!("4200000000000000000000000000000000000015");
    for kind in [0x7e, 0x68] {
        let mut facts = facts::of(system, attributes, Vec::new());
        facts.transaction.kind = Some(U64::from(kind));
        // setL1BlockValuesEcotone()
        facts.transaction.input = Bytes::from_static(&[0x44, 0x0a, 0x5e, 0x20, 0, 0]);
        let read = engine::read(&Facts::from(facts), &Question::default(), &KNOWLEDGE, Missing::Accept);
        let answer = read.unwrap().done().unwrap();
        assert_eq!((answer.category, answer.needs_review), (Category::ContractCall, false), "{:?}", answer.review_note);
    }
}

/// A log that says it moves something of the wallet's, in a form that no standard has, is not nothing: a person looks at it.
#[test]
fn a_transfer_that_cannot_be_read_is_a_doubt_that_names_it() {
    let (from, to) = (OTHER.into_word(), WALLET.into_word());
    let transfer = "Transfer(address,address,uint256)";
    let batch = "TransferBatch(address,address,address,uint256[],uint256[])";
    let mut dirty = to;
    dirty.0[0] = 1;
    let many: Vec<B256> = std::iter::once(word(10_001)).chain((0..10_001).map(word)).collect();
    let too_many = [vec![word(64), word(64 + 32 * 10_002)], many.clone(), many].concat();
    let unreadable = [
        ("one indexed parameter", log(TOKEN, transfer, &[from], &[to, word(7)])),
        ("dirty bits above an address", log(TOKEN, transfer, &[from, dirty], &[word(7)])),
        ("an NFT with data", log(TOKEN, transfer, &[from, to, word(7)], &[word(7)])),
        ("more ids than are read", log(TOKEN, batch, &[from, from, to], &too_many)),
        ("an offset between words", log(TOKEN, batch, &[from, from, to], &[word(65), word(65), word(0), word(0)])),
    ];
    for (what, log) in unreadable {
        let mut facts = with(vec![log]);
        let answer = |facts: &EvmFacts| {
            let facts = Facts::from(facts.clone());
            engine::read(&facts, &Question::default(), &KNOWLEDGE, Missing::Accept).unwrap().done().unwrap()
        };
        let said = answer(&facts);
        assert!(said.needs_review && said.review_note.is_some_and(|note| note.contains("Log 0 ")), "{what}");
        // Of somebody else's it is no matter.
        facts.transaction.from = address!("1234567890123456789012345678901234567890");
        assert!(!answer(&facts).needs_review, "{what}");
    }
}

/// Without a trace only the balance tells whether coin came in. Where the account sent another transaction in the same block, that one may have sent it on.
#[test]
fn a_balance_that_did_not_change_proves_nothing_when_the_account_sent_twice() {
    let reviewed = |sent: Option<(u64, u64)>| {
        let mut facts = with(vec![log(OTHER, "Ping(uint256)", &[], &[word(7)])]);
        facts.internal = InternalValue::Untraceable;
        // One unit went for gas.
        let change = BalanceChange { before: Some(U256::from(1000)), after: Some(U256::from(999)), sent };
        facts.balances.insert(WALLET, change);
        let read = engine::read(&Facts::from(facts), &Question::default(), &KNOWLEDGE, Missing::Accept);
        let answer = read.unwrap().done().unwrap();
        assert_eq!(answer.category, Category::ContractCall);
        answer.needs_review
    };
    assert!(!reviewed(Some((5, 6))));
    assert!(reviewed(Some((5, 7))), "and spent it again");
    assert!(reviewed(None), "no node said");
}

/// A registrar that is paid too much sends the rest back. The balance tells how much, and the log that states the price bears it out; another
/// figure does not.
#[test]
fn what_came_back_is_proved_by_a_log_that_states_what_was_kept() {
    let (value, price) = (5_000_000_u64, 4_000_000_u64);
    let says_balance = |stated: u64| {
        let mut facts = with(vec![log(OTHER, "Paid(uint256)", &[], &[word(stated)])]);
        facts.transaction.value = U256::from(value);
        facts.internal = InternalValue::Untraceable;
        // One unit went for gas.
        let after = U256::from(10_000_000 - price - 1);
        let change = BalanceChange { before: Some(U256::from(10_000_000)), after: Some(after), sent: Some((5, 6)) };
        facts.balances.insert(WALLET, change);
        let read = engine::read(&Facts::from(facts), &Question::default(), &KNOWLEDGE, Missing::Accept);
        let answer = read.unwrap().done().unwrap();
        assert_eq!(answer.assets.sent[0].amount, "0.000000000004");
        answer.review_note.is_some_and(|note| note.contains("balance_delta"))
    };
    assert!(!says_balance(price));
    assert!(says_balance(price + 1));
}

/// Coin came in, and only the balance tells. It counts as read where something in the transaction says just as much: the wrapped coin's contract, less
/// a wei that routers keep; a log, less a fee of whole basis points; or what a listed contract was asked for, in one word or two.
#[test]
fn what_came_in_is_proved_by_what_was_unwrapped_stated_or_asked_for() {
    const RECEIVED: u64 = 1_990_000_000_000_000;
    let listed = address!("40A50cf069e992AA4536211B23F286eF88752187");
    let says_balance = |logs: Vec<Log>, called: Address, asked: &[u64]| {
        let mut facts = with(logs);
        facts.transaction.to = Some(called);
        facts.transaction.input = Bytes::from(
            [vec![0x7b, 0xc4, 0x1b, 0x96], asked.iter().flat_map(|amount| word(*amount).0).collect()].concat(),
        );
        facts.internal = InternalValue::Untraceable;
        // One unit went for gas.
        let change = BalanceChange { before: Some(U256::ONE), after: Some(U256::from(RECEIVED)), sent: Some((5, 6)) };
        facts.balances.insert(WALLET, change);
        let read = engine::read(&Facts::from(facts), &Question::default(), &KNOWLEDGE, Missing::Accept);
        let answer = read.unwrap().done().unwrap();
        assert_eq!(answer.assets.received[0].amount, "0.00199");
        answer.review_note.is_some_and(|note| note.contains("balance_delta"))
    };
    let wrapped = with(Vec::new()).chain.wrapped_native[0];
    let unwrapped =
        |amount: u64| vec![log(wrapped, "Withdrawal(address,uint256)", &[OTHER.into_word()], &[word(amount)])];
    let stated = |amount: u64| vec![log(OTHER, "Paid(uint256)", &[], &[word(amount)])];
    assert!(says_balance(Vec::new(), OTHER, &[]));
    assert!(!says_balance(unwrapped(RECEIVED), OTHER, &[]) && !says_balance(unwrapped(RECEIVED + 1), OTHER, &[]));
    assert!(says_balance(unwrapped(RECEIVED + 2), OTHER, &[]));
    assert!(says_balance(stated(RECEIVED + 1), OTHER, &[]), "only the wrapped coin's contract loses a wei");
    // Half a percent of it was kept.
    let whole = 2_000_000_000_000_000;
    assert!(!says_balance(stated(whole), OTHER, &[]) && says_balance(stated(whole + 7), OTHER, &[]));
    assert!(!says_balance(Vec::new(), listed, &[9, RECEIVED]) && says_balance(Vec::new(), OTHER, &[9, RECEIVED]));
    assert!(!says_balance(Vec::new(), listed, &[RECEIVED - 4_000_000, 9, 4_000_000]), "the order and its fee");
    assert!(says_balance(Vec::new(), listed, &[RECEIVED - 4_000_000, 9, 4_000_001]));
}

/// The deposit contract pays nobody, so a deposit there needs no trace. A stranger's contract that is called alike, or a stranger's log beside it, proves
/// nothing.
#[test]
fn a_listed_contract_that_keeps_what_it_is_given_hides_no_coin() {
    let deposit = address!("00000000219ab540356cBB839Cbe05303d7705Fa");
    let reviewed = |called: Address, logs: Vec<Log>| {
        let mut facts = with(logs);
        facts.transaction.to = Some(called);
        facts.transaction.value = U256::from(32_000_000_000_u64);
        // No key, the wallet's credentials, no signature and no root.
        let mut credentials = WALLET.into_word();
        credentials[0] = 1;
        let words = [word(128), word(160), word(224), word(0), word(0), word(32), credentials, word(0)];
        facts.transaction.input = Bytes::from([hex!("22895118").as_slice(), &words.concat()].concat());
        facts.internal = InternalValue::Untraceable;
        let read = engine::read(&Facts::from(facts), &Question::default(), &KNOWLEDGE, Missing::Accept);
        let answer = read.unwrap().done().unwrap();
        assert!(answer.needs_review || answer.category == Category::StakingDeposit, "{:?}", answer.category);
        answer.needs_review
    };
    let ping = |contract: Address| log(contract, "Ping(uint256)", &[], &[word(7)]);
    assert!(!reviewed(deposit, vec![ping(deposit)]));
    assert!(reviewed(OTHER, vec![ping(OTHER)]), "anybody can have a function of that name");
    assert!(reviewed(deposit, vec![ping(deposit), ping(OTHER)]), "somebody else ran too");
}

/// A coin that got another name is called by the one of its time: prices are quoted under it.
#[test]
fn a_coin_is_called_as_it_was_then() {
    let symbols = |timestamp: i64| {
        let mut facts = with(Vec::new());
        facts.transaction.value = U256::from(7);
        facts.block = Some(Block { number: 1, timestamp, finalized: true });
        let former = FormerCoin { until: 1_000, symbol: "OLD".to_owned(), name: "Old coin".to_owned() };
        facts.chain = Arc::new(Chain { native_before: Some(former), ..Chain::clone(&facts.chain) });
        let read = engine::read(&Facts::from(facts), &Question::default(), &KNOWLEDGE, Missing::Accept);
        let assets = read.unwrap().done().unwrap().assets;
        [assets.sent[0].symbol.clone(), assets.gas.unwrap().symbol]
    };
    assert_eq!(symbols(999), ["OLD", "OLD"]);
    assert_eq!(symbols(1_000), ["ETH", "ETH"]);
}

/// Where gas leaves no room for coin that moved inside, nobody's list of such coin is believed: no balance is asked that would tell. Where only what a
/// token is known for says so, the list is a reason to look.
#[test]
fn what_somebody_lists_is_nothing_where_no_coin_can_have_moved() {
    let usdc = address!("A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48");
    let sent = log(usdc, "Transfer(address,address,uint256)", &[WALLET.into_word(), OTHER.into_word()], &[word(7)]);
    let asked = [OTHER.into_word(), word(7)].map(|word| word.0).concat();
    let asked = Bytes::from([vec![0xa9, 0x05, 0x9c, 0xbb], asked].concat());
    let answer = |to: Address, input: Bytes, logs: Vec<Log>, gas_used: u64| {
        let mut facts = with(logs);
        facts.transaction.to = Some(to);
        facts.transaction.input = input;
        facts.receipt.gas_used = U256::from(gas_used);
        let invented = InternalTransfer { from: OTHER, to: WALLET, value: U256::from(5_000_000_000_u64) };
        facts.internal = InternalValue::Listed { transfers: vec![invented] };
        let read = engine::read(&Facts::from(facts), &Question::default(), &KNOWLEDGE, Missing::Accept);
        read.unwrap().done().unwrap()
    };
    let without_code = answer(OTHER, Bytes::from(vec![1; 100]), Vec::new(), 21_000 + 16 * 100);
    assert!(without_code.assets.received.is_empty() && !without_code.needs_review, "{:?}", without_code.assets);
    assert!(answer(usdc, asked, vec![sent], 60_000).needs_review);
}

/// An inscription is made by whoever writes it. What is done with it later moves nothing that the chain knows of.
#[test]
fn an_inscription_that_is_handed_on_is_left_to_a_person() {
    let answer = |text: &str| {
        let mut facts = with(Vec::new());
        let input = Bytes::from(text.as_bytes().to_vec());
        facts.receipt.gas_used = U256::from(21_000 + 16 * input.len());
        (facts.transaction.to, facts.transaction.input) = (Some(OTHER), input);
        let read = engine::read(&Facts::from(facts), &Question::default(), &KNOWLEDGE, Missing::Accept);
        read.unwrap().done().unwrap()
    };
    let made = answer(r#"data:,{"p":"erc-20","op":"mint","tick":"abcd","amt":"1000"}"#);
    assert!(!made.needs_review, "{:?}", made.review_note);
    let given = answer(r#"data:,{"p":"erc-20","op":"transfer","tick":"abcd","amt":"1000"}"#);
    assert!(given.needs_review && given.review_note.unwrap_or_default().contains("a text"));
}

/// A deposit address hands coin on and logs it. Where the log names the wallet, or a token moved for somebody, more may have been bought than was moved.
#[test]
fn coin_that_a_contract_only_passes_on_is_a_transfer() {
    let reviewed = |logs: Vec<Log>| {
        let mut facts = with(logs);
        facts.transaction.input = Bytes::new();
        facts.transaction.value = U256::from(5_000_000_000_u64);
        let passed_on = InternalTransfer { from: OTHER, to: TOKEN, value: facts.transaction.value };
        facts.transaction.to = Some(OTHER);
        facts.internal = InternalValue::Traced { transfers: vec![passed_on], failed: false };
        let read = engine::read(&Facts::from(facts), &Question::default(), &KNOWLEDGE, Missing::Accept);
        let answer = read.unwrap().done().unwrap();
        assert_eq!(answer.category, Category::Transfer);
        answer.needs_review
    };
    let forwarded =
        |account: Address| log(TOKEN, "Forwarded(address,uint256)", &[], &[account.into_word(), word(5_000_000_000)]);
    assert!(!reviewed(Vec::new()) && !reviewed(vec![forwarded(OTHER)]));
    assert!(reviewed(vec![forwarded(WALLET)]), "it may keep an account for the wallet");
    let sold = log(TOKEN, "Transfer(address,address,uint256)", &[OTHER.into_word(), TOKEN.into_word()], &[word(7)]);
    assert!(reviewed(vec![sold]), "a token moved");
}

/// A betting exchange changes balances inside and moves no token. Its log names the wallet and the amounts, so a person looks.
#[test]
fn a_contract_that_tells_of_the_wallet_and_an_amount_may_keep_accounts_inside() {
    let reviewed = |emitter: Address, amount: u64| {
        let words = [word(amount), word(amount / 2)];
        let mut facts =
            with(vec![log(emitter, "LogBalanceChange(address,uint256,uint256)", &[WALLET.into_word()], &words)]);
        facts.transaction.input = Bytes::from_static(&[1, 2, 3, 4]);
        let read = engine::read(&Facts::from(facts), &Question::default(), &KNOWLEDGE, Missing::Accept);
        read.unwrap().done().unwrap().needs_review
    };
    assert!(reviewed(OTHER, 5_000_000_000));
    assert!(!reviewed(OTHER, 7), "an id or a count");
}
