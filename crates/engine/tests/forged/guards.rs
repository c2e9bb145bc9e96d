//! What a hostile contract may put beside, or in the way of, something that is true.

use super::*;

/// The router of Uniswap v2, and its pair of DAI and USDC.
const ROUTER: Address = address!("7a250d5630B4cF539739dF2C5dAcb4c659F2488D");
const PAIR: Address = address!("AE461cA67B15dc8dc81CE7615e0320dA1A9aB8D5");

/// The pair sells USDC to the wallet for as much DAI.
fn bought(dai: u64) -> Vec<Log> {
    let words = [U256::from(dai), U256::ZERO, U256::ZERO, U256::from(AMOUNT)].map(|word| word.to_be_bytes::<32>());
    let topics = vec![
        keccak256("Swap(address,uint256,uint256,uint256,uint256,address)"),
        STRANGER.into_word(),
        WALLET.into_word(),
    ];
    let swapped = Log { address: PAIR, topics, data: words.concat().into(), log_index: None };
    vec![moved(USDC, PAIR, WALLET, AMOUNT), swapped]
}

fn read(facts: EvmFacts) -> Classification {
    classified(facts, &question(), &KNOWLEDGE).expect("it is the wallet's")
}

/// A stranger's contract trades for the wallet, and gives somebody a part of what it got for that.
#[test]
fn a_trade_that_pays_somebody_more_than_a_fee_is_looked_at() {
    let traded = |kept: u64| {
        let mut logs = vec![moved(DAI, WALLET, STRANGER, AMOUNT), moved(DAI, STRANGER, PAIR, AMOUNT - kept)];
        if kept > 0 {
            logs.push(moved(DAI, STRANGER, THIRD, kept));
        }
        read(facts::of(WALLET, STRANGER, logs.into_iter().chain(bought(AMOUNT - kept)).collect()))
    };
    for fee in [0, AMOUNT / 100, AMOUNT / 10] {
        let answer = traded(fee);
        assert_eq!((answer.category, answer.needs_review), (Category::Swap, false), "a fee of {fee}");
    }
    let answer = traded(AMOUNT / 10 + 1);
    assert!(answer.needs_review, "{}", answer.category.name());
    assert!(answer.review_note.expect("it says why").contains(&Account::from(THIRD).to_string()));
}

/// What the wallet pays to somebody is joined to a pool that pays the wallet only by a token of the stranger's own.
#[test]
fn a_strangers_token_links_nobody() {
    let logs = |link: Vec<Log>| -> Vec<Log> {
        [moved(DAI, WALLET, THIRD, AMOUNT)].into_iter().chain(link).chain(bought(0)).collect()
    };
    let is_swap = |link: Vec<Log>| {
        let answer = read(facts::of(WALLET, STRANGER, logs(link)));
        answer.category == Category::Swap && !answer.needs_review
    };
    assert!(is_swap(vec![moved(DAI, THIRD, PAIR, AMOUNT)]));
    assert!(!is_swap(Vec::new()));
    assert!(!is_swap(vec![moved(TOKEN, THIRD, PAIR, AMOUNT)]));
}

/// A stranger's contract gets calldata as a Safe does, for the contract of a lender, and pays the wallet itself.
#[test]
fn what_a_strangers_contract_is_told_to_call_decides_nothing() {
    let operations = address!("372ABD1810eAF23Cb9D941BbE7596DFb2c46BC65");
    let borrow = {
        let selector = &keccak256("withdrawBold(uint256,uint256,uint256)")[..4];
        let words = [U256::from(7), U256::from(AMOUNT), U256::ZERO].map(|word| word.to_be_bytes::<32>());
        [selector, &words.concat()].concat()
    };
    let through = {
        let selector =
            &keccak256("execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)")
                [..4];
        let zero = U256::ZERO;
        let of = |number: usize| U256::from(number);
        let head = [of(0), zero, of(320), zero, zero, zero, zero, zero, zero, of(320 + 32 + 128), of(borrow.len())];
        let mut words = head.map(|word| word.to_be_bytes::<32>());
        words[0] = operations.into_word().0;
        let mut inner = borrow.clone();
        inner.resize(128, 0);
        [selector, &words.concat(), &inner, &[0; 32]].concat()
    };
    let paid = |called: Address, payer: Address, input: &[u8]| {
        let mut facts = facts::of(WALLET, called, vec![moved(USDC, payer, WALLET, AMOUNT)]);
        facts.transaction.input = Bytes::copy_from_slice(input);
        read(facts)
    };
    let asked = paid(operations, operations, &borrow);
    assert_eq!((asked.category, asked.needs_review), (Category::Borrow, false));
    let forged = paid(STRANGER, STRANGER, &through);
    assert_eq!((forged.category, forged.needs_review), (Category::Borrow, true), "it only leans to what was asked for");
}

/// What others take out of the wallet goes where they like, also to an exchange.
#[test]
fn a_theft_is_no_deposit_at_an_exchange() {
    let exchange = address!("28C6c06298d514Db089934071355E5743bf21d60");
    let read = |from: Address| {
        let answer = read(facts::of(from, USDC, vec![moved(USDC, WALLET, exchange, AMOUNT)]));
        (answer.category, answer.needs_review)
    };
    assert_eq!(read(WALLET), (Category::CexDeposit, false));
    assert_ne!(read(STRANGER).0, Category::CexDeposit);
}

/// A rollup brings what was deposited on its parent, and the contract that is called with it pays the wallet beside.
#[test]
fn what_a_contract_pays_beside_a_deposit_is_not_brought_by_the_chain() {
    let deposited = |beside: Vec<InternalTransfer>| {
        let mut facts = facts::of(WALLET, WALLET, Vec::new());
        facts.transaction.kind = Some(U64::from(0x7e));
        facts.transaction.input = Bytes::new();
        facts.transaction.value = U256::from(AMOUNT);
        facts.transaction.mint = Some(U256::from(AMOUNT));
        facts.internal = InternalValue::Traced { transfers: beside, failed: false };
        let answer = read(facts);
        (answer.category, answer.needs_review)
    };
    assert_eq!(deposited(Vec::new()), (Category::BridgeIn, false));
    let paid = InternalTransfer { from: STRANGER, to: WALLET, value: U256::from(BESIDE) };
    assert_ne!(deposited(vec![paid]), (Category::BridgeIn, false));
}

/// More movements than are told apart end in a review, whatever they are.
#[test]
fn movements_past_the_bound_are_looked_at() {
    let parts = |count: u64| {
        let given = (0..count).map(|_| moved(DAI, WALLET, PAIR, AMOUNT));
        read(facts::of(WALLET, ROUTER, given.chain(bought(AMOUNT * count)).collect()))
    };
    let (most, more) = (parts(127), parts(128));
    assert_eq!((most.category, most.needs_review), (Category::Swap, false));
    assert!(more.needs_review && more.review_note.expect("it says why").contains("129 times"));
}

/// No node traces, and the wallet's balance grew. A contract that has no part in the transaction logs the same amount.
#[test]
fn an_amount_that_anybody_logs_does_not_tell_where_coin_came_from() {
    let logged = |by: Address| {
        let topics = vec![keccak256("Paid(address,uint256)"), WALLET.into_word()];
        let data = Bytes::from(U256::from(AMOUNT).to_be_bytes::<32>());
        let mut facts = untraced(ROUTER, 150_000, vec![1; 4], vec![Log { address: by, topics, data, log_index: None }]);
        let before = U256::from(10_u64.pow(18));
        let change = BalanceChange {
            before: Some(before),
            after: Some(before - U256::from(150_000) + U256::from(AMOUNT)),
            sent: Some((1, 2)),
        };
        facts.balances.insert(WALLET, change);
        let note = read(facts).review_note.expect("nobody knows what it is");
        note.contains("balance_delta")
    };
    assert!(logged(STRANGER));
    assert!(!logged(ROUTER));
}

/// A stranger's contract takes collateral of its own out of Maker, and pays the wallet that called it as much of something else.
#[test]
fn what_a_known_contract_logs_without_a_name_is_the_wallets_only_where_it_moved_just_that() {
    let join = address!("2F0b23f53734252Bda2277357e97e1517d6B042A");
    let wrapped = address!("C02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2");
    let read = |paid: Address| {
        let mut exit = [0; 32];
        exit[..4].copy_from_slice(&hex!("ef693bed"));
        let amount = B256::from(U256::from(AMOUNT));
        let topics = vec![B256::from(exit), STRANGER.into_word(), STRANGER.into_word(), amount];
        let noted = Log { address: join, topics, data: Bytes::from(vec![0; 256]), log_index: None };
        let logs = vec![moved(wrapped, join, STRANGER, AMOUNT), moved(paid, STRANGER, WALLET, AMOUNT), noted];
        let answer = read(facts::of(WALLET, STRANGER, logs));
        (answer.category, answer.needs_review)
    };
    assert_eq!(read(wrapped), (Category::CollateralWithdraw, false));
    assert_eq!(read(USDC), (Category::CollateralWithdraw, true));
}

/// A token that calls whoever gets it is sent to a bridge; the receiver on the other side stands in the bytes behind it.
#[test]
fn bytes_that_name_nobody_leave_a_bridge_to_a_person() {
    let bridge = address!("88ad09518695c6c3712AC10a214bE5109a655671");
    let read = |data: &[u8]| {
        let mut said = moved(USDC, WALLET, bridge, AMOUNT);
        said.topics[0] = keccak256("Transfer(address,address,uint256,bytes)");
        let words = [U256::from(AMOUNT), U256::from(64), U256::from(data.len())].map(|word| word.to_be_bytes::<32>());
        said.data = [words.concat().as_slice(), data].concat().into();
        let mut asked = moved(USDC, WALLET, bridge, AMOUNT);
        asked.address = bridge;
        asked.topics = vec![
            keccak256("TokensBridgingInitiated(address,address,uint256,bytes32)"),
            USDC.into_word(),
            WALLET.into_word(),
            B256::ZERO,
        ];
        let answer = read(facts::of(WALLET, USDC, vec![moved(USDC, WALLET, bridge, AMOUNT), said, asked]));
        (answer.category, answer.needs_review)
    };
    assert_eq!(read(WALLET.as_slice()), (Category::BridgeOut, false));
    assert_eq!(read(&[]), (Category::BridgeOut, false));
    assert_eq!(read(STRANGER.as_slice()), (Category::Transfer, true));
    for nobody in [&[0; 20][..], &[7; 52], &[7; 21], b"alice.near"] {
        assert!(read(nobody).1, "{nobody:?}");
    }
}

/// A stranger's contract sends a little of what the wallet gave it over a bridge, to the wallet on another chain, and keeps the rest.
#[test]
fn what_a_stranger_keeps_on_the_way_to_a_protocol_is_looked_at() {
    let bridge = address!("609c690e8F7D68a59885c9132e812eEbDaAf0c9e");
    let read = |kept: u64, keeper: Address| {
        let words = [U256::from(AMOUNT), U256::from_be_bytes(WALLET.into_word().0)];
        let words = words.into_iter().chain([1, 0, 0, 0].map(U256::from)).map(|word| word.to_be_bytes::<32>());
        let sent = Log {
            address: bridge,
            topics: vec![keccak256("TokensSent(uint256,bytes32,uint256,bytes32,uint256,uint8)")],
            data: words.collect::<Vec<_>>().concat().into(),
            log_index: None,
        };
        let mut logs = vec![moved(USDC, WALLET, STRANGER, AMOUNT), moved(USDC, STRANGER, bridge, AMOUNT - kept), sent];
        if kept > 0 && keeper != STRANGER {
            logs.push(moved(USDC, STRANGER, keeper, kept));
        }
        let answer = read(facts::of(WALLET, STRANGER, logs));
        (answer.category, answer.needs_review, answer.review_note.unwrap_or_default())
    };
    for fee in [0, AMOUNT / 100, AMOUNT / 10] {
        // What arrives may be another token, which that bridge does not log: a person looks for that alone.
        let (category, _, note) = read(fee, STRANGER);
        assert!(
            category == Category::BridgeOut && !note.contains(&Account::from(STRANGER).to_string()),
            "{fee}: {note}"
        );
    }
    for kept in [AMOUNT / 10 + 1, AMOUNT - 1] {
        for keeper in [STRANGER, THIRD] {
            let (_, needs_review, note) = read(kept, keeper);
            assert!(needs_review && note.contains(&Account::from(keeper).to_string()), "{kept} kept by {keeper}");
        }
    }
}

/// A bridge pays a little to a stranger's contract in the wallet's name, which pays the wallet much more.
#[test]
fn what_a_stranger_adds_on_the_way_back_is_looked_at() {
    let bridge = address!("3666f603Cc164936C1b87e207F36BEBa4AC5f18a");
    let read = |added: u64, payer: Address| {
        let data = [U256::from(AMOUNT - added), U256::ZERO].map(|word| word.to_be_bytes::<32>());
        let withdrew = Log {
            address: bridge,
            topics: vec![
                keccak256("Withdrew(bytes32,address,uint256,bytes32)"),
                B256::repeat_byte(7),
                WALLET.into_word(),
            ],
            data: data.concat().into(),
            log_index: None,
        };
        let mut logs =
            vec![withdrew, moved(USDC, bridge, STRANGER, AMOUNT - added), moved(USDC, STRANGER, WALLET, AMOUNT)];
        if added > 0 && payer != STRANGER {
            logs.push(moved(USDC, payer, STRANGER, added));
        }
        let answer = read(facts::of(WALLET, STRANGER, logs));
        (answer.category, answer.needs_review, answer.review_note.unwrap_or_default())
    };
    assert_eq!(read(0, STRANGER), (Category::BridgeIn, false, String::new()));
    for added in [AMOUNT / 10 + 1, AMOUNT - 1] {
        for payer in [STRANGER, THIRD] {
            let (_, needs_review, note) = read(added, payer);
            assert!(needs_review && note.contains(&Account::from(payer).to_string()), "{added} added by {payer}");
        }
    }
}

/// No node traces, and listed contracts state all that the logs show. Whoever else was called, or logged, may have paid coin beside.
#[test]
fn stated_amounts_prove_that_no_coin_moved_only_among_known_contracts() {
    let vault = address!("83F20F44975D03b1b09e64809B757c47f942BEeA");
    let read = |called: Address, beside: Option<Address>| {
        let deposit = Log {
            address: vault,
            topics: vec![keccak256("Deposit(address,address,uint256,uint256)"), WALLET.into_word(), WALLET.into_word()],
            data: [U256::from(AMOUNT), U256::from(AMOUNT / 2)].map(|word| word.to_be_bytes::<32>()).concat().into(),
            log_index: None,
        };
        let mut logs =
            vec![moved(DAI, WALLET, vault, AMOUNT), moved(vault, Address::ZERO, WALLET, AMOUNT / 2), deposit];
        logs.extend(beside.map(|other| Log {
            address: other,
            topics: vec![B256::repeat_byte(9)],
            data: Bytes::new(),
            log_index: None,
        }));
        let answer = read(untraced(called, 150_000, vec![1; 4], logs));
        (answer.category, answer.needs_review)
    };
    assert_eq!(read(vault, None), (Category::VaultDeposit, false));
    assert!(read(STRANGER, None).1, "a stranger was called");
    assert!(read(vault, Some(STRANGER)).1, "a stranger logged");
}

/// Who makes the NFT of another contract for the wallet may have been paid before, or pays out what was earned; so may a collection that pays beside.
#[test]
fn a_free_mint_is_free_only_where_the_collection_makes_it() {
    let topics = vec![TRANSFER, Address::ZERO.into_word(), WALLET.into_word(), B256::from(U256::from(7))];
    let item = Log { address: TOKEN, topics, data: Bytes::new(), log_index: None };
    let read = |called: Address, change: &dyn Fn(&mut EvmFacts)| {
        let mut facts = facts::of(WALLET, called, vec![item.clone(), item.clone()]);
        change(&mut facts);
        let answer = read(facts);
        (answer.category, answer.needs_review)
    };
    assert_eq!(read(TOKEN, &|_| ()), (Category::NftMint, false));
    assert!(read(STRANGER, &|_| ()).1, "a minter");
    let coin = |facts: &mut EvmFacts| {
        let transfers = vec![InternalTransfer { from: TOKEN, to: WALLET, value: U256::from(AMOUNT) }];
        facts.internal = InternalValue::Traced { transfers, failed: false };
    };
    assert!(read(TOKEN, &coin).1, "coin came with it");
    assert!(read(TOKEN, &|facts| facts.internal = InternalValue::Untraceable).1, "coin may have come with it");
    let paid = |facts: &mut EvmFacts| facts.receipt.logs.push(moved(USDC, STRANGER, WALLET, AMOUNT));
    assert!(read(TOKEN, &paid).1, "a payment came with it");
}

/// Circle's message names who gave what is minted, behind the amount. Whoever it is: somebody else's coin is no bridging of one's own.
#[test]
fn coin_that_somebody_else_sent_over_cctp_is_a_receipt() {
    const TRANSMITTER: Address = address!("0a992d191DEeC32aFe36203Ad87D7d289a738F81");
    const MESSENGER: Address = address!("Bd3fa81B58Ba92a82136038B25aDec7066af3155");
    let minted = |giver: Address| {
        let word = |number: u64| U256::from(number).to_be_bytes::<32>();
        // The version, the token that was burned, who gets it, how much, who gave it.
        let body =
            [[0; 4].as_slice(), &THIRD.into_word().0, &WALLET.into_word().0, &word(AMOUNT), &giver.into_word().0]
                .concat();
        let data = [word(3).as_slice(), &word(0), &word(96), &word(132), &body, &[0; 28]].concat();
        let topic = keccak256("MessageReceived(address,uint32,uint64,bytes32,bytes)");
        let topics = vec![topic, THIRD.into_word(), B256::ZERO];
        let received = Log { address: TRANSMITTER, topics, data: data.into(), log_index: None };
        let topics = vec![keccak256("MintAndWithdraw(address,uint256,address)"), WALLET.into_word(), USDC.into_word()];
        let told = Log { address: MESSENGER, topics, data: word(AMOUNT).into(), log_index: None };
        let logs = vec![moved(USDC, Address::ZERO, WALLET, AMOUNT), told, received];
        let answer = read(facts::of(THIRD, TRANSMITTER, logs));
        (answer.category, answer.needs_review)
    };
    assert_eq!(minted(WALLET), (Category::BridgeIn, false));
    assert_eq!(minted(THIRD), (Category::Transfer, true));
}
