//! What moved on Solana, by balances, and what must hold for any answer of a node, however odd.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests fail loudly")]

#[path = "solana/beside.rs"]
mod beside;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use alloy_primitives::Address;
use engine::asset::Asset;
use engine::category::Nature;
use engine::classification::{Entry, Side};
use engine::rules::solana::InstructionRule;
use engine::solana::Key;
use engine::solana::instructions::{ASSOCIATED, SYSTEM, TOKEN, TOKEN_2022, WRAPPED_SOL};
use engine::solana::json::SolanaTransaction;
use engine::solana::movements::Ledger;
use engine::{Account, Category, Chain, Classification, Facts, Knowledge, Missing, Question, SolanaFacts};
use proptest::prelude::*;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

static KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(|| Knowledge::embedded().expect("embedded packs load"));

const WALLET: Key = [1; 32];
const OTHER: Key = [2; 32];
const MINE: Key = [3; 32];
const THEIRS: Key = [4; 32];
const MINT: Key = [5; 32];
const TEMPORARY: Key = [6; 32];
const POOL: Key = [7; 32];
const PROGRAM: Key = [8; 32];
const VAULT: Key = [9; 32];
/// A venue for perps, and Raydium's AMM v4.
const DRIFT: &str = "dRiftyHA39MWEi3m9aunc5MzRF1JYuBsbn6VPcn33UH";
const RAYDIUM: &str = "675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9H24wFSUt1Mp8";

const SOL: u64 = 1_000_000_000;
const RENT: u64 = 2_039_280;
const FEE: u64 = 5_000;

fn name(key: &Key) -> String {
    bs58::encode(key).into_string()
}

/// A transaction in the making: who has what before and after, and what was asked.
#[derive(Default)]
struct Draft {
    keys: Vec<String>,
    lamports: Vec<(u64, u64)>,
    tokens: [Vec<Value>; 2],
    instructions: Vec<Value>,
    inner: Vec<Value>,
    /// Signers beside the wallet.
    cosigners: usize,
}

impl Draft {
    /// The wallet pays the fee and loses or gains so much beside it.
    fn of_wallet(change: i64) -> Self {
        let mut draft = Self::default();
        draft.holds(WALLET, 100 * SOL, (100 * SOL).checked_add_signed(change).unwrap() - FEE);
        draft
    }

    fn place(&mut self, key: &Key) -> usize {
        let name = name(key);
        self.keys.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.keys.push(name);
            self.lamports.push((RENT, RENT));
            self.keys.len() - 1
        })
    }

    fn holds(&mut self, key: Key, before: u64, after: u64) {
        let at = self.place(&key);
        self.lamports[at] = (before, after);
    }

    fn token(&mut self, key: Key, mint: Key, owner: Option<Key>, amounts: [Option<u64>; 2]) {
        let at = self.place(&key);
        for (side, amount) in self.tokens.iter_mut().zip(amounts) {
            side.extend(amount.map(|amount| {
                json!({ "accountIndex": at, "mint": name(&mint), "owner": owner.map(|owner| name(&owner)),
                        "uiTokenAmount": { "amount": amount.to_string(), "decimals": 6 } })
            }));
        }
    }

    fn raw(&mut self, program: &Key, accounts: &[Key], data: &[u8]) -> Value {
        let program = self.place(program);
        let accounts: Vec<usize> = accounts.iter().map(|key| self.place(key)).collect();
        json!({ "programIdIndex": program, "accounts": accounts, "data": bs58::encode(data).into_string() })
    }

    fn asks(&mut self, program: Key, accounts: &[Key], data: &[u8]) {
        let raw = self.raw(&program, accounts, data);
        self.instructions.push(raw);
    }

    /// The last instruction calls this one.
    fn calls(&mut self, program: Key, accounts: &[Key], data: &[u8]) {
        let raw = self.raw(&program, accounts, data);
        self.inner.push(json!({ "index": self.instructions.len() - 1, "instructions": [raw] }));
    }

    fn json(&self) -> Value {
        let (before, after): (Vec<u64>, Vec<u64>) = self.lamports.iter().copied().unzip();
        json!({
            "slot": 7, "blockTime": 1_700_000_000,
            "meta": { "err": null, "fee": FEE, "preBalances": before, "postBalances": after,
                      "preTokenBalances": self.tokens[0], "postTokenBalances": self.tokens[1],
                      "innerInstructions": self.inner },
            "transaction": {
                "signatures": [bs58::encode([9; 64]).into_string()],
                "message": { "accountKeys": self.keys, "header": { "numRequiredSignatures": 1 + self.cosigners },
                             "instructions": self.instructions },
            },
        })
    }

    fn read(&self) -> Classification {
        let transaction = SolanaTransaction::parse(&self.json().to_string()).expect("a transaction");
        read(transaction, None).expect("the wallet takes part")
    }
}

fn facts(transaction: SolanaTransaction) -> SolanaFacts {
    // Without decimals amounts are printed as they are.
    let chain = Chain { native_decimals: 0, ..engine::cases::chain("solana", Address::ZERO) };
    SolanaFacts { chain: Arc::new(chain), signature: [9; 64], transaction, block: None, tokens: BTreeMap::new() }
}

fn classified(facts: SolanaFacts, question: &Question) -> Option<Classification> {
    engine::read(&Facts::from(facts), question, &KNOWLEDGE, Missing::Accept).ok()?.done()
}

fn read(transaction: SolanaTransaction, wallet: Option<Key>) -> Option<Classification> {
    let facts = facts(transaction);
    let question = Question { wallet: wallet.map(Account::Solana), explain: true, ..Question::default() };
    classified(facts, &question)
}

/// Amounts that moved, signed, the coin as `None`.
fn legs(answer: &Classification) -> Vec<(Option<String>, String)> {
    let assets = serde_json::to_value(&answer.assets).unwrap();
    let side = |side: &str, sign: &str| {
        let leg = |asset: &Value| {
            let token = asset["token_address"].as_str().map(str::to_owned);
            (token, format!("{sign}{}", asset["amount"].as_str().unwrap()))
        };
        assets[side].as_array().unwrap().iter().map(leg).collect::<Vec<_>>()
    };
    [side("sent", "-"), side("received", "")].concat()
}

fn coin(amount: &str) -> (Option<String>, String) {
    (None, amount.to_owned())
}

fn mint(amount: &str) -> (Option<String>, String) {
    (Some(name(&MINT)), amount.to_owned())
}

/// `CreateAccount` and `Transfer` of the System program.
fn system(number: u8, amount: u64) -> Vec<u8> {
    [[number, 0, 0, 0].as_slice(), &amount.to_le_bytes()].concat()
}

fn transfer(amount: u64) -> Vec<u8> {
    [[3].as_slice(), &amount.to_le_bytes()].concat()
}

/// The wallet opens an account for wrapped coin with so many lamports, which is gone in the end, and asks Raydium to swap.
fn with_temporary(lamports: u64) -> Draft {
    let mut draft = Draft::of_wallet(-(i64::try_from(lamports).unwrap()));
    draft.asks(SYSTEM, &[WALLET, TEMPORARY], &system(0, lamports));
    draft.holds(TEMPORARY, 0, 0);
    draft.asks(TOKEN, &[TEMPORARY, WRAPPED_SOL, WALLET], &[1]);
    let raydium: Key = bs58::decode(RAYDIUM).into_vec().unwrap().try_into().unwrap();
    let mut accounts = vec![POOL; 16];
    accounts.push(WALLET);
    draft.asks(raydium, &accounts, &[9]);
    draft
}

#[test]
fn a_temporary_account_of_wrapped_coin_cancels_out() {
    let mut draft = with_temporary(SOL + RENT);
    draft.holds(WALLET, 100 * SOL, 99 * SOL - FEE);
    draft.calls(TOKEN, &[TEMPORARY, POOL, WALLET], &transfer(SOL));
    draft.calls(TOKEN, &[THEIRS, MINE, OTHER], &transfer(70));
    draft.asks(TOKEN, &[TEMPORARY, WALLET, WALLET], &[9]);
    draft.token(POOL, WRAPPED_SOL, Some(OTHER), [Some(SOL), Some(2 * SOL)]);
    draft.token(MINE, MINT, Some(WALLET), [Some(0), Some(70)]);
    draft.token(THEIRS, MINT, Some(OTHER), [Some(70), Some(0)]);
    let answer = draft.read();
    assert_eq!(legs(&answer), [coin("-1000000000"), mint("70")]);
    assert_eq!((answer.category, answer.protocol.as_deref()), (Category::Swap, Some("Raydium")));
}

#[test]
fn rent_of_an_own_token_account_is_no_leg() {
    let rent = i64::try_from(RENT).unwrap();
    let mut opened = Draft::of_wallet(-rent);
    opened.asks(ASSOCIATED, &[WALLET, MINE, WALLET, MINT, SYSTEM, TOKEN], &[]);
    opened.calls(SYSTEM, &[WALLET, MINE], &system(0, RENT));
    opened.holds(MINE, 0, RENT);
    opened.token(MINE, MINT, Some(WALLET), [None, Some(0)]);
    let answer = opened.read();
    assert_eq!((legs(&answer), answer.category), (vec![], Category::AccountOpen));

    let mut closed = Draft::of_wallet(rent);
    closed.asks(TOKEN, &[MINE, WALLET, WALLET], &[9]);
    closed.holds(MINE, RENT, 0);
    closed.token(MINE, MINT, Some(WALLET), [Some(0), None]);
    let answer = closed.read();
    assert_eq!((legs(&answer), answer.category), (vec![], Category::AccountClose));
}

#[test]
fn a_transfer_fee_of_token_2022_is_part_of_what_went_out() {
    let mut draft = Draft::of_wallet(0);
    draft.asks(TOKEN_2022, &[MINE, MINT, THEIRS, WALLET], &[[12].as_slice(), &100_u64.to_le_bytes(), &[6]].concat());
    draft.token(MINE, MINT, Some(WALLET), [Some(100), Some(0)]);
    draft.token(THEIRS, MINT, Some(OTHER), [Some(0), Some(99)]);
    let answer = draft.read();
    assert_eq!((legs(&answer), answer.category), (vec![mint("-100")], Category::Transfer));
}

#[test]
fn owners_that_old_answers_leave_out_follow_from_instructions_and_addresses() {
    let mut sent = Draft::of_wallet(0);
    sent.asks(TOKEN, &[MINE, THEIRS, WALLET], &transfer(40));
    sent.token(MINE, MINT, None, [Some(40), Some(0)]);
    sent.token(THEIRS, MINT, None, [Some(0), Some(40)]);
    assert_eq!(legs(&sent.read()), [mint("-40")]);

    let mut digest = Sha256::new();
    for part in [WALLET.as_slice(), &TOKEN, &MINT, &[255], &ASSOCIATED, b"ProgramDerivedAddress"] {
        digest.update(part);
    }
    let associated = Key::from(digest.finalize());
    let mut received = Draft::of_wallet(0);
    received.asks(TOKEN, &[THEIRS, associated, OTHER], &transfer(40));
    received.token(THEIRS, MINT, None, [Some(40), Some(0)]);
    received.token(associated, MINT, None, [Some(0), Some(40)]);
    assert_eq!(legs(&received.read()), [mint("40")]);
}

#[test]
fn a_token_account_stands_for_its_owner() {
    let mut draft = Draft::of_wallet(0);
    draft.asks(TOKEN, &[MINE, THEIRS, WALLET], &transfer(40));
    draft.token(MINE, MINT, Some(WALLET), [Some(40), Some(0)]);
    draft.token(THEIRS, MINT, Some(OTHER), [Some(0), Some(40)]);
    let transaction = SolanaTransaction::parse(&draft.json().to_string()).expect("a transaction");
    let answer = read(transaction, Some(THEIRS)).expect("its owner takes part");
    assert_eq!((legs(&answer), answer.perspective), (vec![mint("40")], Some(Account::Solana(OTHER))));
}

#[test]
fn coin_that_is_only_rent_makes_no_swap() {
    let claim = |spent: u64| {
        let mut draft = Draft::of_wallet(-(i64::try_from(spent).unwrap()));
        draft.asks(PROGRAM, &[WALLET, POOL], &[1, 2, 3]);
        draft.calls(SYSTEM, &[WALLET, POOL], &system(0, spent));
        draft.holds(POOL, 0, spent.min(RENT));
        draft.holds(OTHER, SOL, SOL + spent.saturating_sub(RENT));
        draft.token(MINE, MINT, Some(WALLET), [Some(0), Some(1_000)]);
        draft.token(THEIRS, MINT, Some(OTHER), [Some(1_000), Some(0)]);
        draft.read()
    };
    assert!(claim(RENT).needs_review, "an account was paid for, and something came in");
    assert_eq!(claim(SOL).category, Category::Swap);
}

#[test]
fn indexes_past_the_end_are_nobody() {
    let mut draft = Draft::of_wallet(0);
    draft.asks(TOKEN, &[MINE, THEIRS, WALLET], &transfer(1));
    let mut value = draft.json();
    value["transaction"]["message"]["instructions"][0] =
        json!({ "programIdIndex": 200, "accounts": [201, 255, 9_999], "data": "3" });
    value["meta"]["innerInstructions"] =
        json!([{ "index": 44, "instructions": [{ "programIdIndex": 7, "accounts": [], "data": "" }] }]);
    value["meta"]["postTokenBalances"] =
        json!([{ "accountIndex": 99, "mint": name(&MINT), "uiTokenAmount": { "amount": "1", "decimals": 0 } }]);
    let transaction = SolanaTransaction::parse(&value.to_string()).expect("odd, and still a transaction");
    assert!(read(transaction, None).is_some());
}

/// A node that leaves balances out shows nothing: that is not the same as nothing having moved.
#[test]
fn tokens_that_no_balance_tells_of_are_a_review() {
    let mut draft = Draft::of_wallet(0);
    draft.asks(TOKEN, &[MINE, THEIRS, WALLET], &transfer(1_000));
    assert!(draft.read().needs_review);
}

#[test]
fn what_is_burned_is_not_sent() {
    let mut draft = Draft::of_wallet(0);
    draft.asks(TOKEN, &[MINE, MINT, WALLET], &[[8].as_slice(), &500_u64.to_le_bytes()].concat());
    draft.token(MINE, MINT, Some(WALLET), [Some(500), Some(0)]);
    let answer = draft.read();
    assert_eq!((answer.category, answer.needs_review), (Category::TokenBurn, true));
}

/// A wallet that is given to a program belongs to whoever has the program.
#[test]
fn a_wallet_that_is_given_away_is_a_review() {
    let mut draft = Draft::of_wallet(0);
    draft.asks(SYSTEM, &[WALLET], &[[1, 0, 0, 0].as_slice(), &PROGRAM].concat());
    assert!(draft.read().needs_review);
}

/// Coin that went to a plain wallet is no rent, however new that wallet is.
/// Whoever settles the orders of others on an order book pays the fee and is not among the accounts of that instruction.
#[test]
fn a_crank_is_a_call_of_whoever_pays_for_it() {
    let serum =
        Key::try_from(bs58::decode("9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin").into_vec().unwrap()).unwrap();
    let consume_events = [0, 3, 0, 0, 0, 5, 0];
    let mut draft = Draft::of_wallet(0);
    draft.asks(serum, &[OTHER, POOL, MINE, THEIRS, VAULT], &consume_events);
    let answer = draft.read();
    assert_eq!((answer.category, answer.needs_review), (Category::ContractCall, false));
}

/// The wallet signs a call of a program that no pack lists, and nothing of its own moves.
#[test]
fn nothing_moved_only_for_a_wallet_that_asks_and_outside_of_known_programs() {
    let read_beside = |program: &str, inner: Option<&str>, wallet: Option<Key>, moved: u64| {
        let key = |text: &str| Key::try_from(bs58::decode(text).into_vec().unwrap()).unwrap();
        let mut draft = Draft::of_wallet(0);
        draft.holds(OTHER, SOL, SOL - moved);
        draft.holds(POOL, SOL, SOL + moved);
        draft.asks(key(program), &[WALLET, OTHER], &[9; 8]);
        if let Some(inner) = inner {
            draft.calls(key(inner), &[WALLET, OTHER], &[9; 8]);
        }
        let transaction = SolanaTransaction::parse(&draft.json().to_string()).expect("a transaction");
        let answer = read(transaction, wallet).expect("it is the wallet's");
        (answer.category, answer.needs_review)
    };
    let read_as = |program: &str, inner: Option<&str>, wallet| read_beside(program, inner, wallet, 0);
    let unknown = name(&PROGRAM);
    assert_eq!(read_beside(&unknown, None, Some(WALLET), 7), (Category::ContractCall, false));
    assert!(read_beside(&unknown, None, None, 7).1, "the caller may be another account");
    assert_eq!(read_as(&unknown, None, None), (Category::ContractCall, false), "nothing moved for anybody");
    assert_eq!(read_as(&unknown, None, Some(WALLET)), (Category::ContractCall, false));
    assert!(read_as(RAYDIUM, None, Some(WALLET)).1, "a protocol was called, by an instruction that no rule has");
    assert_eq!(read_as(&unknown, Some(RAYDIUM), Some(WALLET)), (Category::ContractCall, false));
    assert!(read_as(&unknown, Some(DRIFT), Some(WALLET)).1, "a position of the wallet's may have changed inside");
}

#[test]
fn a_payment_beside_a_known_call_is_not_its_rent() {
    let mut draft = Draft::of_wallet(-90_000_000);
    let stake: Key =
        bs58::decode("Stake11111111111111111111111111111111111111").into_vec().unwrap().try_into().unwrap();
    draft.asks(stake, &[POOL, OTHER, WALLET], &[5, 0, 0, 0]);
    draft.asks(SYSTEM, &[WALLET, THEIRS], &system(2, 90_000_000));
    draft.holds(THEIRS, 0, 90_000_000);
    assert!(draft.read().needs_review);
}

/// Orders are taken back and a tip is paid for the place in the block: the tip is a cost beside, and nothing that the order book took.
#[test]
fn a_tip_beside_an_order_does_not_give_the_transaction_its_name() {
    let key = |text: &str| Key::try_from(bs58::decode(text).into_vec().unwrap()).unwrap();
    let phoenix = key("PhoeNiXZ8ByJGLkxNfZRnkUfjvmuYqLR89jjFHGqdXY");
    let mut draft = Draft::of_wallet(-1_000);
    draft.asks(phoenix, &[OTHER, POOL, VAULT, WALLET], &[6]);
    draft.asks(SYSTEM, &[WALLET, key(TIPS)], &system(2, 1_000));
    draft.holds(key(TIPS), 0, 1_000);
    let answer = draft.read();
    assert_eq!((answer.category, answer.needs_review), (Category::OrderCancel, false));
    let postings = answer.postings.unwrap_or_default();
    assert!(postings.iter().all(|posting| posting.entry == Entry::Expense), "{postings:?}");
    assert!(!answer.description.unwrap_or_default().contains("fee on Phoenix"));
}

#[test]
fn what_went_to_several_names_none_of_them() {
    let others = [OTHER, POOL, VAULT];
    let mut draft = Draft::of_wallet(-3_000_000);
    for other in others {
        draft.asks(SYSTEM, &[WALLET, other], &system(2, 1_000_000));
        draft.holds(other, RENT, RENT + 1_000_000);
    }
    let sent = serde_json::to_value(draft.read().assets).unwrap();
    assert_eq!((&sent["sent"][0]["amount"], &sent["sent"][0]["to"]), (&json!("3000000"), &Value::Null));

    let mut draft = Draft::of_wallet(-2_000_000);
    draft.asks(SYSTEM, &[WALLET, OTHER], &system(2, 1_500_000));
    draft.asks(SYSTEM, &[WALLET, OTHER], &system(2, 500_000));
    draft.holds(OTHER, RENT, RENT + 2_000_000);
    let sent = serde_json::to_value(draft.read().assets).unwrap();
    assert_eq!(sent["sent"][0]["to"], json!(name(&OTHER)));
}

/// A program that only posts prices gave back what it kept, or paid: no standard instruction moved the coin, so nobody can tell.
#[test]
fn coin_that_no_instruction_moved_is_a_review() {
    let oracle = bs58::decode("rec5EKMGg6MxZYaMdyBfgwp4d5rB9T1VQH5pJv5LtFJ").into_vec().unwrap().try_into().unwrap();
    let mut draft = Draft::of_wallet(7_836_960);
    draft.asks(oracle, &[WALLET, THEIRS], &[7]);
    draft.holds(THEIRS, 7_836_960, 0);
    assert!(draft.read().needs_review);

    let mut draft = Draft::of_wallet(7_836_960);
    draft.asks(oracle, &[WALLET, OTHER], &[7]);
    draft.asks(SYSTEM, &[THEIRS, WALLET], &system(2, 7_836_960));
    draft.holds(THEIRS, 7_836_960, 0);
    let answer = draft.read();
    assert_eq!((answer.category, answer.needs_review), (Category::Transfer, false), "{:?}", answer.review_note);
}

/// A loan from a program that a pack lists: its id, its data, and its accounts with the wallet where the rule wants it.
fn loan() -> (Key, Vec<u8>, Vec<Key>) {
    let is_plain = |rule: &&InstructionRule| {
        rule.means == Category::Borrow && !rule.who.is_empty() && rule.owner_of.is_empty() && rule.same.is_empty()
    };
    let rules = &KNOWLEDGE.rules;
    let rule = rules.solana.rules().find(is_plain).expect("a rule for loans");
    let roles = rules.packs[rule.pack].file.contracts.values().filter_map(|chains| chains.get("solana"));
    let programs = roles.flatten().map(|text| bs58::decode(text.get_ref()).into_vec().unwrap().try_into().unwrap());
    let program =
        { programs }.find(|key| rules.solana.of_program(key).any(|of| of.id == rule.id)).expect("its program");
    let mut accounts = vec![POOL; rule.who.iter().max().unwrap() + 2];
    accounts[rule.who[0]] = WALLET;
    (program, rule.data.clone(), accounts)
}

fn called(draft: &mut Draft, height: u32, program: Key, accounts: &[Key], data: &[u8]) -> Value {
    let mut raw = draft.raw(&program, accounts, data);
    raw["stackHeight"] = json!(height);
    raw
}

/// Six are borrowed. A million comes from a payer, if at all, in one of three ways.
fn borrowed(way: Option<&str>) -> Classification {
    let (program, data, mut accounts) = loan();
    let mut draft = Draft::of_wallet(0);
    let salary = if way.is_some() { 1_000_000 } else { 0 };
    draft.token(MINE, MINT, Some(WALLET), [Some(0), Some(6 + salary)]);
    draft.token(VAULT, MINT, Some(POOL), [Some(100), Some(94)]);
    draft.token(THEIRS, MINT, Some(OTHER), [Some(salary), Some(0)]);
    if way == Some("rides along") {
        accounts.push(THEIRS);
    }
    if way == Some("an unknown program pays beside it") {
        draft.asks(PROGRAM, &accounts, &[1]);
        let inner = [
            called(&mut draft, 2, program, &accounts, &data),
            called(&mut draft, 3, TOKEN, &[VAULT, MINE, POOL], &transfer(6)),
            called(&mut draft, 2, TOKEN, &[THEIRS, MINE, OTHER], &transfer(salary)),
        ];
        draft.inner.push(json!({ "index": 0, "instructions": inner }));
        return draft.read();
    }
    draft.asks(program, &accounts, &data);
    let paid = called(&mut draft, 2, TOKEN, &[VAULT, MINE, POOL], &transfer(6));
    draft.inner.push(json!({ "index": 0, "instructions": [paid] }));
    if way.is_some() {
        draft.asks(TOKEN, &[THEIRS, MINE, OTHER], &transfer(salary));
    }
    draft.read()
}

#[test]
fn a_salary_beside_a_loan_is_no_loan() {
    let alone = borrowed(None);
    assert_eq!((alone.category, alone.needs_review), (Category::Borrow, false), "{:?}", alone.review_note);
    for way in ["beside it", "rides along", "an unknown program pays beside it"] {
        let answer = borrowed(Some(way));
        assert!(answer.needs_review && answer.taxable.is_none(), "{way}: {:?}", answer.description);
    }
}

/// A known program is asked for a loan and calls nothing; the payer's account is among those that it is given.
#[test]
fn a_program_that_calls_nothing_makes_nobody_pay() {
    let (program, data, accounts) = loan();
    let mut draft = Draft::of_wallet(0);
    draft.token(MINE, MINT, Some(WALLET), [Some(0), Some(1_000_000)]);
    draft.token(THEIRS, MINT, Some(OTHER), [Some(1_000_000), Some(0)]);
    draft.asks(program, &[accounts.as_slice(), &[THEIRS]].concat(), &data);
    draft.asks(TOKEN, &[THEIRS, MINE, OTHER], &transfer(1_000_000));
    let answer = draft.read();
    assert!(answer.needs_review && answer.taxable.is_none(), "{:?}", answer.description);
}

/// So little that it could be taken for a tip.
const LITTLE: u64 = 4_900_000;
/// One of the accounts that take tips for a place in a block.
const TIPS: &str = "96gYZGLnJYVFmbjzopPSU6QiEV5fGqZNyN9nmNhvrZU5";

/// A hundred tokens go in by this rule's instruction, and a little coin beside it to somebody.
fn kept(rule: &InstructionRule, program: Key, beside: Option<Key>) -> Classification {
    let mut accounts = vec![POOL; rule.who.iter().max().unwrap() + 2];
    accounts[rule.who[0]] = WALLET;
    let mut draft = Draft::of_wallet(if beside.is_some() { -LITTLE.cast_signed() } else { 0 });
    draft.token(MINE, MINT, Some(WALLET), [Some(100), Some(0)]);
    draft.token(VAULT, MINT, Some(POOL), [Some(0), Some(100)]);
    draft.asks(program, &accounts, &rule.data);
    let taken = called(&mut draft, 2, TOKEN, &[MINE, VAULT, WALLET], &transfer(100));
    draft.inner.push(json!({ "index": 0, "instructions": [taken] }));
    if let Some(other) = beside {
        draft.asks(SYSTEM, &[WALLET, other], &system(2, LITTLE));
        draft.holds(other, SOL, SOL + LITTLE);
    }
    draft.read()
}

#[test]
fn a_little_coin_for_a_stranger_beside_what_is_kept_is_looked_at_and_a_tip_is_a_cost() {
    let rules = &KNOWLEDGE.rules;
    let tips: Key = bs58::decode(TIPS).into_vec().unwrap().try_into().unwrap();
    let mut tried = 0;
    for rule in rules.solana.rules() {
        let is_plain = !rule.who.is_empty() && rule.owner_of.is_empty() && rule.same.is_empty();
        if !is_plain || rule.means.meaning().nature != Nature::Keeping {
            continue;
        }
        let roles = rules.packs[rule.pack].file.contracts.values().filter_map(|chains| chains.get("solana"));
        let keys = roles.flatten().map(|text| bs58::decode(text.get_ref()).into_vec().unwrap().try_into().unwrap());
        let mut keys = { keys }.filter(|key: &Key| rules.solana.of_program(key).any(|of| of.id == rule.id));
        let Some(program) = keys.next() else { continue };
        let alone = kept(rule, program, None);
        if alone.needs_review || alone.category != rule.means {
            continue;
        }
        tried += 1;
        let answer = kept(rule, program, Some(OTHER));
        assert!(answer.needs_review, "{}: {:?}", rule.id, answer.description);
        let answer = kept(rule, program, Some(tips));
        assert!(!answer.needs_review && answer.category == rule.means, "{}: {:?}", rule.id, answer.review_note);
        let postings = answer.postings.unwrap_or_default();
        let mut costs = postings.iter().filter(|posting| posting.category == Category::FeePayment);
        assert!(
            costs.any(|cost| cost.amount == LITTLE.to_string() && cost.side == Side::Sent),
            "{}: {postings:?}",
            rule.id
        );
    }
    assert!(tried > 50, "{tried}");
}

/// A swap at Raydium: a hundred tokens for coin, which lands in a temporary account of the wallet; what becomes of that is added.
fn sold() -> Draft {
    let mut draft = with_temporary(RENT);
    draft.calls(TOKEN, &[MINE, THEIRS, WALLET], &transfer(100));
    draft.calls(TOKEN, &[POOL, TEMPORARY, OTHER], &transfer(2 * SOL));
    draft.token(POOL, WRAPPED_SOL, Some(OTHER), [Some(2 * SOL), Some(0)]);
    draft.token(MINE, MINT, Some(WALLET), [Some(100), Some(0)]);
    draft.token(THEIRS, MINT, Some(OTHER), [Some(0), Some(100)]);
    draft
}

/// Whoever closes an account says who gets what is in it.
#[test]
fn coin_of_an_account_that_is_closed_for_somebody_else_is_his() {
    let mut own = sold();
    own.asks(TOKEN, &[TEMPORARY, WALLET, WALLET], &[9]);
    own.holds(WALLET, 100 * SOL, 102 * SOL - FEE);
    let answer = own.read();
    assert_eq!((answer.category, answer.needs_review), (Category::Swap, false), "{:?}", answer.review_note);
    assert_eq!(legs(&answer), [mint("-100"), coin("2000000000")]);

    let stranger = PROGRAM;
    let mut given = sold();
    given.asks(TOKEN, &[TEMPORARY, stranger, WALLET], &[9]);
    given.holds(stranger, SOL, 3 * SOL + RENT);
    assert!(given.read().needs_review);

    // The stranger closes an account of his own for the wallet, beside its swap.
    let mut paid = sold();
    paid.asks(TOKEN, &[TEMPORARY, WALLET, WALLET], &[9]);
    paid.asks(TOKEN, &[VAULT, WALLET, stranger], &[9]);
    paid.holds(VAULT, 7 * SOL + RENT, 0);
    paid.token(VAULT, WRAPPED_SOL, Some(stranger), [Some(7 * SOL), None]);
    paid.holds(WALLET, 100 * SOL, 109 * SOL + RENT - FEE);
    assert!(paid.read().needs_review);
}

/// The wallet opens an account for a stranger, and sends tokens there, beside a swap.
#[test]
fn an_account_that_is_opened_for_somebody_else_takes_its_rent_and_no_more() {
    let beside = |tokens: u64| {
        let mut draft = sold();
        draft.asks(TOKEN, &[TEMPORARY, WALLET, WALLET], &[9]);
        draft.asks(ASSOCIATED, &[WALLET, VAULT, PROGRAM, MINT, SYSTEM, TOKEN], &[]);
        draft.calls(SYSTEM, &[WALLET, VAULT], &system(0, RENT));
        draft.holds(VAULT, 0, RENT);
        draft.holds(WALLET, 100 * SOL, 102 * SOL - FEE - RENT);
        draft.token(VAULT, MINT, Some(PROGRAM), [None, Some(tokens)]);
        if tokens > 0 {
            draft.asks(TOKEN, &[MINE, VAULT, WALLET], &transfer(tokens));
            draft.tokens[0]
                .retain(|held| held["mint"] != name(&MINT).as_str() || held["owner"] != name(&WALLET).as_str());
            draft.tokens[1]
                .retain(|held| held["mint"] != name(&MINT).as_str() || held["owner"] != name(&WALLET).as_str());
            draft.token(MINE, MINT, Some(WALLET), [Some(100 + tokens), Some(0)]);
        }
        draft.read()
    };
    let opened = beside(0);
    assert_eq!((opened.category, opened.needs_review), (Category::Swap, false), "{:?}", opened.review_note);
    assert!(beside(40).needs_review);
}

/// A stranger hands a token account over with all that it holds: it came from him, and was not minted.
#[test]
fn what_an_account_holds_that_is_handed_over_comes_from_whoever_had_it() {
    let mut draft = Draft::of_wallet(0);
    draft.asks(TOKEN, &[THEIRS, OTHER], &[[6, 2, 1].as_slice(), &WALLET].concat());
    draft.token(THEIRS, MINT, Some(OTHER), [Some(70), None]);
    draft.token(THEIRS, MINT, Some(WALLET), [None, Some(70)]);
    let transaction = SolanaTransaction::parse(&draft.json().to_string()).expect("a transaction");
    let answer = read(transaction, Some(WALLET)).expect("the wallet takes part");
    assert_eq!(legs(&answer), [mint("70")]);
    let moves = serde_json::to_value(&answer.assets).unwrap()["received"][0].to_string();
    assert!(moves.contains(&name(&OTHER)), "{moves}");
}

/// What nodes tell of 2021 names no owners, so to whom the account was given does. Whoever may close it owns nothing.
#[test]
fn an_account_that_is_handed_over_tells_whose_it_is_where_no_balance_does() {
    let held = |authority: u8| {
        let mut draft = Draft::of_wallet(0);
        draft.asks(TOKEN, &[THEIRS, OTHER], &[[6, authority, 1].as_slice(), &WALLET].concat());
        draft.token(THEIRS, MINT, None, [Some(70), Some(70)]);
        let transaction = SolanaTransaction::parse(&draft.json().to_string()).expect("a transaction");
        legs(&read(transaction, Some(WALLET)).expect("the wallet takes part"))
    };
    assert_eq!(held(2), [mint("70")]);
    assert_eq!(held(3), []);
}

/// Paid to two people at once, only one of them one's own: no move among own wallets.
#[test]
fn all_of_a_leg_must_be_among_own_wallets() {
    let mut draft = Draft::of_wallet(-19);
    for (to, amount) in [(OTHER, 10), (THEIRS, 9)] {
        draft.asks(SYSTEM, &[WALLET, to], &system(2, amount));
        draft.holds(to, SOL, SOL + amount);
    }
    let transaction = SolanaTransaction::parse(&draft.json().to_string()).unwrap();
    let facts = facts(transaction);
    let own = |own_wallets: Vec<Key>| {
        let own_wallets = own_wallets.into_iter().map(Account::Solana).collect();
        classified(facts.clone(), &Question { own_wallets, ..Question::default() }).unwrap().category
    };
    assert_eq!([own(vec![OTHER]), own(vec![OTHER, THEIRS])], [Category::Transfer, Category::SelfTransfer]);
}

#[test]
fn of_several_who_signed_each_is_told_with_what_moved_for_it() {
    let mut draft = Draft::of_wallet(-2_000_000_000);
    draft.holds(OTHER, 100 * SOL, 97 * SOL);
    draft.holds(POOL, SOL, 6 * SOL);
    draft.cosigners = 1;
    draft.asks(SYSTEM, &[WALLET, POOL], &system(2, 2 * SOL));
    draft.asks(SYSTEM, &[OTHER, POOL], &system(2, 3 * SOL));
    let answer = draft.read();
    let note = answer.review_note.expect("a person says for whom it is read");
    assert!(note.contains(&name(&WALLET)) && note.contains(&name(&OTHER)), "{note}");
    let steps = answer.legs.expect("each account is a step");
    let sent: Vec<&str> = steps.iter().flat_map(|step| &step.assets.sent).map(|leg| leg.amount.as_str()).collect();
    assert_eq!(sent, ["2000000000", "3000000000"]);
}

#[test]
fn confidential_transfers_are_honestly_unknown() {
    let mut draft = Draft::of_wallet(0);
    draft.asks(TOKEN_2022, &[MINE, MINT, THEIRS, WALLET], &[27, 7]);
    let answer = draft.read();
    assert!(answer.needs_review && answer.review_note.unwrap().contains("hidden"));
}

/// What real programs did, as recorded: over all holders a mint's tokens stay as many as they were, but for what was minted, burned
/// or withheld as a fee; and no lamport comes from nowhere.
#[test]
fn recorded_tokens_and_lamports_are_conserved() {
    let lines =
        include_str!("../../../demo/solana.jsonl").lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut seen = 0;
    for line in lines.filter(|line| line["method"] == "getTransaction") {
        let transaction = SolanaTransaction::parse(&line["result"].to_string()).unwrap();
        let effects = transaction.effects.as_ref().unwrap();
        let change = |(before, after): &(u64, u64)| i128::from(*after) - i128::from(*before);
        assert_eq!(effects.lamports.iter().map(change).sum::<i128>(), -i128::from(effects.fee));
        let ledger = Ledger::open(&transaction, effects);
        let mut sums: BTreeMap<String, i128> = BTreeMap::new();
        for holder in ledger.holders() {
            for movement in ledger
                .movements(holder, &ledger.flows(holder))
                .iter()
                .filter(|movement| movement.asset != Asset::Native)
            {
                let amount = i128::try_from(movement.amount.to::<u128>()).unwrap();
                let sign = if movement.to == Account::Solana(holder) { 1 } else { -1 };
                *sums.entry(format!("{:?}", movement.asset)).or_default() += sign * amount;
                seen += 1;
            }
        }
        let is_taxed = transaction.instructions.iter().any(|instruction| instruction.program == TOKEN_2022);
        assert!(sums.values().all(|sum| if is_taxed { *sum == -100_000 } else { *sum == 0 }), "{sums:?}");
    }
    assert!(seen >= 10, "{seen}");
}

#[test]
fn effects_that_the_node_forgot_are_a_review() {
    let mut value = Draft::of_wallet(0).json();
    value["meta"] = Value::Null;
    let transaction = SolanaTransaction::parse(&value.to_string()).expect("old, and still a transaction");
    assert!(read(transaction, None).expect("the payer takes part").needs_review);
}

fn keys() -> impl Strategy<Value = Key> {
    let known = [SYSTEM, TOKEN, TOKEN_2022, ASSOCIATED, WRAPPED_SOL, WALLET, OTHER, MINE, THEIRS, MINT, POOL];
    let raydium: Key = bs58::decode(RAYDIUM).into_vec().unwrap().try_into().unwrap();
    prop_oneof![8 => prop::sample::select(known.to_vec()), 1 => Just(raydium), 1 => any::<Key>()]
}

fn instructions() -> impl Strategy<Value = Value> {
    let data = prop_oneof![
        (0_u8..30, any::<u64>()).prop_map(|(number, amount)| system(number, amount)),
        (0_u8..30, any::<u64>()).prop_map(|(number, amount)| [[number].as_slice(), &amount.to_le_bytes()].concat()),
        prop::collection::vec(any::<u8>(), 0..60),
    ];
    let index = prop_oneof![9 => 0_usize..14, 1 => any::<u16>().prop_map(usize::from)];
    (index.clone(), prop::collection::vec(index, 0..20), data, prop::option::of(0_usize..6)).prop_map(
        |(program, accounts, data, height)| {
            json!({ "programIdIndex": program, "accounts": accounts, "stackHeight": height,
                    "data": bs58::encode(data).into_string() })
        },
    )
}

fn balances() -> impl Strategy<Value = Vec<Value>> {
    let one = (0_usize..16, keys(), prop::option::of(keys()), any::<u64>(), any::<u8>()).prop_map(
        |(at, mint, owner, amount, decimals)| {
            json!({ "accountIndex": at, "mint": name(&mint), "owner": owner.map(|owner| name(&owner)),
                    "uiTokenAmount": { "amount": amount.to_string(), "decimals": decimals } })
        },
    );
    prop::collection::vec(one, 0..8)
}

proptest! {
    #[test]
    fn nothing_panics_and_review_is_never_false(
        keys in prop::collection::vec(keys(), 1..14),
        signers in 0_usize..20,
        lamports in prop::collection::vec((any::<u64>(), any::<u64>()), 14),
        tokens in (balances(), balances()),
        outer in prop::collection::vec(instructions(), 0..6),
        inner in prop::collection::vec((0_usize..7, prop::collection::vec(instructions(), 0..5)), 0..4),
        fee: u64,
    ) {
        let (before, after): (Vec<u64>, Vec<u64>) = lamports.into_iter().unzip();
        let inner: Vec<Value> =
            inner.into_iter().map(|(index, all)| json!({ "index": index, "instructions": all })).collect();
        let names: Vec<String> = keys.iter().map(name).collect();
        let value = json!({
            "meta": { "err": null, "fee": fee, "preBalances": before, "postBalances": after,
                      "preTokenBalances": tokens.0, "postTokenBalances": tokens.1, "innerInstructions": inner },
            "transaction": {
                "signatures": [],
                "message": { "accountKeys": names, "header": { "numRequiredSignatures": signers }, "instructions": outer },
            },
        });
        let transaction = SolanaTransaction::parse(&value.to_string()).expect("indexes and amounts are nobody's fault");
        for wallet in [None, Some(WALLET)] {
            let Some(answer) = read(transaction.clone(), wallet) else { continue };
            let again = read(transaction.clone(), wallet).expect("as before");
            prop_assert_eq!(serde_json::to_string(&answer).unwrap(), serde_json::to_string(&again).unwrap());
            prop_assert_eq!(answer.needs_review, answer.taxable.is_none());
        }
    }

    #[test]
    fn arbitrary_text_is_no_transaction_and_no_panic(text in ".{0,200}") {
        prop_assert!(SolanaTransaction::parse(&text).is_err());
    }
}
