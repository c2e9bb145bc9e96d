//! Targets over the engine: what nodes answer, what contracts log and are called with, what operators write, and the small words of requests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use alloy_primitives::{Address, B256, Bytes, U256, address, b256};
use engine::amount::Amount;
use engine::asset::{Account, Asset};
use engine::evm::calldata::{CALLS_MAX, Calldata, open};
use engine::evm::erc20::TRANSFER;
use engine::evm::json::{EvmTransaction, Log, Receipt};
use engine::evm::movements::{DEPOSIT, TRANSFER_SINGLE};
use engine::evm::scene;
use engine::evm::trace::{CallFrame, FlatTrace, from_call_tracer, from_flat};
use engine::evm::{EvmFacts, InternalValue};
use engine::legs::{Direction, legs};
use engine::rules::compile::{self, Opens};
use engine::solana::json::{ACCOUNTS_MAX, DATA_CHARS_MAX, INSTRUCTIONS_MAX};
use engine::solana::{instructions, json};
use engine::token::TOKEN_TEXT_BYTES_MAX;
use engine::{
    Block, Chain, Facts, Knowledge, Missing, Need, Policy, Question, Read, Rules, SolanaFacts, Token, Treatments,
    TxHash, WalletNotInTransaction, cases, read, rules,
};

use crate::contract;

#[expect(clippy::expect_used, reason = "without rules there is nothing to hold")]
static KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(|| Knowledge::embedded().expect("embedded packs load"));
/// Events and calls that some pack knows.
static TOPICS: LazyLock<Vec<B256>> = LazyLock::new(|| KNOWLEDGE.rules.topics());
static SELECTORS: LazyLock<Vec<[u8; 4]>> = LazyLock::new(|| KNOWLEDGE.rules.selectors());
static CHAIN: LazyLock<Arc<Chain>> = LazyLock::new(|| Arc::new(cases::chain("ethereum", WETH)));
static SOLANA: LazyLock<Arc<Chain>> = LazyLock::new(|| Arc::new(cases::chain("solana", Address::ZERO)));

/// Topics that the reading of movements itself listens to: tokens of three standards, CryptoPunks, and the wrapped coin.
const MOVEMENTS: [B256; 5] = [
    TRANSFER,
    TRANSFER_SINGLE,
    b256!("4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb"),
    b256!("05af636b70da6819000c49f85b21fa82081c632069bb626f30932034099107d8"),
    DEPOSIT,
];

const WALLET: Address = address!("00000000000000000000000000000000000000AA");
const WETH: Address = address!("C02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2");
/// Rows of a trace that are compared with each other one by one.
const ROWS_COMPARED_MAX: usize = 64;
/// Seconds since 1970, UTC.
const BLOCK_SECONDS: i64 = 1_700_000_000;
/// Few enough that they meet: the wallet, nobody, the wrapper, contracts that packs know, and strangers.
const ADDRESSES: [Address; 8] = [
    WALLET,
    Address::ZERO,
    WETH,
    address!("87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2"),
    address!("C36442b4a4522E871399CD717aBDD847Ab11FE88"),
    address!("b47e3cd837dDF8e4c57F05d70Ab865de6e193BBB"),
    address!("0000000000000000000000000000000000000001"),
    address!("0000000000000000000000000000000000000002"),
];

/// Lines: the answers to `eth_getTransactionByHash`, `eth_getTransactionReceipt` and a trace in either format, and what every token says of
/// itself. Whatever parses is read, twice to the same bytes, and the reading keeps the contract.
pub fn evm_answers(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut lines = text.lines();
    let (first, second) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let (trace, token) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let internal = internal(trace);
    let Ok(transaction) = serde_json::from_str::<EvmTransaction>(first) else { return };
    let Ok(receipt) = serde_json::from_str::<Receipt>(second) else { return };
    let token = serde_json::from_str::<Token>(token).ok().map(|said| Token {
        symbol: said.symbol.filter(|text| !text.is_empty()),
        name: said.name.filter(|text| !text.is_empty()),
        ..said
    });
    let number = transaction.block_number.map_or(0, |number| number.to::<u64>());
    let facts = EvmFacts {
        is_hash_computed: false,
        chain: Arc::clone(&CHAIN),
        transaction,
        receipt,
        block: Some(Block { number, timestamp: BLOCK_SECONDS, finalized: true }),
        internal,
        holdings: BTreeMap::new(),
        given: BTreeMap::new(),
        vouched: BTreeMap::new(),
        codes: BTreeMap::new(),
        balances: BTreeMap::new(),
        tokens: BTreeMap::new(),
        also_on: Vec::new(),
        unasked: Vec::new(),
    };
    read_evm(facts, token.as_ref());
}

/// A trace never makes value up: each transfer is one that some frame states.
fn internal(text: &str) -> InternalValue {
    if let Ok(frame) = serde_json::from_str::<CallFrame>(text) {
        let (transfers, failed) = from_call_tracer(&frame);
        assert!(!failed || transfers.is_empty(), "what a failed root did was undone");
        assert!(transfers.iter().all(|transfer| !transfer.value.is_zero()));
        return InternalValue::Traced { transfers, failed };
    }
    if let Ok(rows) = serde_json::from_str::<Vec<FlatTrace>>(text) {
        let (transfers, failed) = from_flat(&rows);
        assert!(!failed || transfers.is_empty(), "what a failed root did was undone");
        let is_undone = |row: &FlatTrace| {
            rows.iter().any(|above| above.error.is_some() && row.trace_address.starts_with(&above.trace_address))
        };
        if rows.len() <= ROWS_COMPARED_MAX {
            let remaining: Vec<FlatTrace> = rows.iter().filter(|row| !is_undone(row)).cloned().collect();
            assert_eq!(from_flat(&remaining).0, transfers, "what a failed frame did was undone");
        }
        assert!(transfers.len() <= rows.len() && transfers.iter().all(|transfer| !transfer.value.is_zero()));
        return InternalValue::Traced { transfers, failed };
    }
    InternalValue::Untraceable
}

/// Every view of the facts that a caller may ask for.
fn read_evm(mut facts: EvmFacts, token: Option<&Token>) {
    let question = Question { explain: true, ..Question::default() };
    if let Ok(Read::Needs(needs)) = read(&Facts::from(facts.clone()), &question, &KNOWLEDGE, Missing::Ask) {
        for need in needs {
            if let (Need::Token(Account::Evm(contract)), Some(token)) = (need, token) {
                facts.tokens.insert(contract, Arc::new(token.clone()));
            }
        }
    }
    conserved(&facts);
    let called = facts.transaction.to;
    let facts = Facts::from(facts);
    for wallet in [None, called, Some(WALLET)] {
        let question = Question { wallet: wallet.map(Account::from), ..question.clone() };
        let is_party = read_twice(&facts, &question).is_ok();
        assert!(is_party || wallet.is_some(), "whoever acts is a party");
    }
}

/// To the same bytes, and within the contract.
fn read_twice(facts: &Facts, question: &Question) -> Result<(), WalletNotInTransaction> {
    let once = || read(facts, question, &KNOWLEDGE, Missing::Accept).map(Read::done);
    let (answer, again) = (once()?, once()?);
    assert!(answer.is_some(), "what is missing was accepted");
    answer.iter().for_each(contract::holds);
    assert_eq!(serde_json::to_string(&answer).ok(), serde_json::to_string(&again).ok(), "same input, same bytes");
    Ok(())
}

/// What leaves one account arrives at another: over all accounts, every asset nets to nothing.
fn conserved(facts: &EvmFacts) {
    let Ok(scene) = scene::read(facts, &Question::default(), &KNOWLEDGE.rules) else { return };
    let accounts: BTreeSet<Account> = scene.movements.iter().flat_map(|moved| [moved.from, moved.to]).collect();
    let mut net: BTreeMap<Asset, (U256, U256)> = BTreeMap::new();
    for account in accounts {
        // Sums past 256 bits are a doubt of the reading, and no sum.
        let Some(legs) = legs(&scene.movements, account) else { return };
        for leg in legs {
            let (out, incoming) = net.entry(leg.asset).or_default();
            let side = if leg.direction == Direction::Out { out } else { incoming };
            let Some(sum) = side.checked_add(leg.amount) else { return };
            *side = sum;
        }
    }
    assert!(net.values().all(|(out, incoming)| out == incoming), "{net:?}");
}

/// The answer to `getTransaction`.
pub fn solana_answer(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(transaction) = json::SolanaTransaction::parse(text) else { return };
    assert!(transaction.keys.len() <= ACCOUNTS_MAX && transaction.signers <= transaction.keys.len());
    assert!(transaction.instructions.len() <= INSTRUCTIONS_MAX, "{}", transaction.instructions.len());
    assert!(transaction.instructions.is_sorted_by_key(|instruction| instruction.outer), "in the order of execution");
    for instruction in &transaction.instructions {
        assert!(instruction.depth >= 1 && instruction.accounts.len() <= ACCOUNTS_MAX);
        assert!(instruction.data.len() <= DATA_CHARS_MAX);
        let _ = instructions::done(instruction);
    }
    let block =
        Block { number: transaction.slot.unwrap_or(0), timestamp: transaction.time.unwrap_or(0), finalized: true };
    let signature = transaction.signatures.first().copied().unwrap_or([0; 64]);
    let wallets: Vec<Account> = transaction.keys.iter().take(3).map(|key| Account::Solana(*key)).collect();
    let facts =
        SolanaFacts { chain: Arc::clone(&SOLANA), signature, transaction, block: Some(block), tokens: BTreeMap::new() };
    let facts = Facts::from(facts);
    for wallet in std::iter::once(None).chain(wallets.into_iter().map(Some)) {
        let question = Question { wallet, explain: true, ..Question::default() };
        let _ = read_twice(&facts, &question);
    }
}

/// Logs around the events that packs listen to: which event, of whom, with which words, cut where.
pub fn logs(bytes: &[u8]) {
    const LOGS_MAX: usize = 24;
    let mut rest = Taken(bytes);
    let mut logs = Vec::new();
    while logs.len() < LOGS_MAX && !rest.0.is_empty() {
        let topic0 = match rest.byte() {
            // Most of what happens is tokens that move.
            kind @ 0..=127 => MOVEMENTS.get(usize::from(kind) % MOVEMENTS.len()).copied().unwrap_or_default(),
            high => {
                let at = usize::from(high & 0x7f).wrapping_mul(256).wrapping_add(usize::from(rest.byte()));
                TOPICS.get(at.checked_rem(TOPICS.len()).unwrap_or(0)).copied().unwrap_or_default()
            }
        };
        let address = rest.address();
        let indexed = rest.byte() % 4;
        let mut all = vec![topic0];
        all.extend((0..indexed).map(|_| rest.word()));
        let words = rest.byte() % 16;
        let cut = rest.byte();
        let mut data: Vec<u8> = (0..words).flat_map(|_| rest.word().0).collect();
        data.truncate(data.len().saturating_sub(usize::from(cut.saturating_sub(200))));
        logs.push(Log { address, topics: all, data: Bytes::from(data), log_index: None });
    }
    let to = logs.first().map_or(WETH, |log| log.address);
    read_evm(cases::plain(Chain::clone(&CHAIN), WALLET, to, logs), None);
}

/// Every way in which calls are packed inside calls.
#[expect(clippy::expect_used, reason = "without them there is nothing to hold")]
static PACKED: LazyLock<Vec<Opens>> = LazyLock::new(|| {
    let ways = [
        ("f(bytes data)", "data", None),
        ("f(address to, uint256 value, bytes data)", "data", Some("to")),
        ("f(bytes[] data)", "data[*]", None),
        ("f(address[] to, bytes[] data)", "data[*]", Some("to[*]")),
        ("f((address to, uint256 value, bytes data)[] calls)", "calls[*].data", Some("calls[*].to")),
        ("f((bytes[2] data, address to) calls)", "calls.data[*]", Some("calls.to")),
        ("f()", "@handle_ops", None),
        ("f()", "@multi_send", None),
    ];
    let opens = |(signature, path, target)| compile::opens(path, target, &compile::call_shape(signature)?);
    ways.into_iter().map(|way| opens(way).expect("it compiles")).collect()
});

/// Calldata around the calls that packs know: two bytes choose the call, the rest are its arguments. The calls packed inside are parts of it.
pub fn calldata(bytes: &[u8]) {
    let mut rest = Taken(bytes);
    let at = usize::from(rest.byte()).wrapping_mul(256).wrapping_add(usize::from(rest.byte()));
    let selector = SELECTORS.get(at.checked_rem(SELECTORS.len()).unwrap_or(0)).copied().unwrap_or_default();
    let input = [selector.as_slice(), rest.0].concat();
    if let Some(call) = Calldata::split(&input) {
        for opens in PACKED.iter() {
            let inside = open(&call, opens, WETH, WALLET);
            assert!(inside.len() <= CALLS_MAX);
            let bounds = call.arguments.as_ptr_range();
            assert!(inside.iter().all(|call| {
                let part = call.input.as_ptr_range();
                part.start >= bounds.start && part.end <= bounds.end
            }));
        }
    }
    let mut facts = cases::plain(
        Chain::clone(&CHAIN),
        WALLET,
        ADDRESSES.get(at % ADDRESSES.len()).copied().unwrap_or(WETH),
        Vec::new(),
    );
    facts.transaction.input = Bytes::from(input);
    read_evm(facts, None);
}

/// A pack of an operator: refused with a line that it has, or loaded, and then its cases are read or refused likewise.
pub fn rule_pack(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let lines = text.lines().count().saturating_add(1);
    let faults = match Rules::of(&[("mine", text)]) {
        Ok(rules) => match Treatments::us() {
            Ok(treatments) => cases::check(&Knowledge::new(rules, treatments, [])),
            Err(faults) => faults,
        },
        Err(faults) => {
            assert!(!faults.is_empty(), "a refusal says why");
            faults
        }
    };
    for fault in faults {
        assert!(fault.file == "mine.toml" && (1..=lines).contains(&fault.line), "{fault}");
        assert!(!fault.what.is_empty());
    }
}

/// Hashes, addresses, amounts, symbols and policies: what is taken is written in one spelling, and that is taken again.
pub fn words(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(hash) = TxHash::parse(&text) {
        assert_eq!(TxHash::parse(&hash.to_string()), Ok(hash));
        assert!(hash.to_string() == *text || hash.to_string() == text.to_lowercase(), "{text}");
    }
    if let Ok(account) = Account::parse(&text) {
        assert_eq!(Account::parse(&account.to_string()), Ok(account));
        assert!(account.to_string() == *text || account.to_string() == text.to_lowercase(), "{text}");
    }
    let clipped = Token::clip(&text);
    assert!(text.starts_with(clipped) && clipped.len() <= TOKEN_TEXT_BYTES_MAX);
    let folded = rules::fold_symbol(&text);
    assert_eq!(rules::fold_symbol(&folded), folded, "what is folded stays");
    if let Ok(policy) = serde_json::from_str::<Policy>(&text) {
        assert_eq!(serde_json::from_str::<Policy>(&text).ok(), Some(policy));
    }
    let mut rest = Taken(bytes);
    let decimals = rest.byte();
    let raw = U256::from_be_bytes(rest.word().0);
    let written = Amount { raw, decimals: Some(decimals) }.to_string();
    let (whole, fraction) = written.split_once('.').unwrap_or((&written, ""));
    let digits = format!("{whole}{fraction:0<width$}", width = usize::from(decimals));
    assert_eq!(digits.trim_start_matches('0').parse().unwrap_or(U256::ZERO), raw, "exact: {written}");
}

/// Bytes, taken from the front; past the end all are zero.
struct Taken<'a>(&'a [u8]);

impl Taken<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().map_or((0, self.0), |(first, rest)| (*first, rest));
        self.0 = rest;
        first
    }

    fn address(&mut self) -> Address {
        ADDRESSES.get(usize::from(self.byte()) % ADDRESSES.len()).copied().unwrap_or_default()
    }

    /// An address that is known here, a small number, all ones, or any word.
    fn word(&mut self) -> B256 {
        match self.byte() {
            kind @ 0..=95 => {
                ADDRESSES.get(usize::from(kind) % ADDRESSES.len()).copied().unwrap_or_default().into_word()
            }
            kind @ 96..=191 => B256::from(U256::from(kind % 16)),
            192..=199 => B256::repeat_byte(0xff),
            _ => {
                let (word, rest) = self.0.split_at(self.0.len().min(32));
                self.0 = rest;
                B256::right_padding_from(word)
            }
        }
    }
}
