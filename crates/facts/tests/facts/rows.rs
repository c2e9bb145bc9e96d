//! A row becomes facts and facts become a row, and nothing is lost.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};
use engine::evm::code::Code;
use engine::evm::{BalanceChange, Holding, HoldingChange, InternalValue};
use engine::{Account, Block, Facts, Missing, Question, Registry, Token, read};
use facts::{Row, RowError, RowJson, RowText};
use serde_json::{Value, json};

use super::demo::{CHAINS, KNOWLEDGE, rows};

fn verdict(facts: &Facts, wallet: Option<Account>) -> String {
    let question = Question { wallet, explain: true, ..Question::default() };
    let answer = read(facts, &question, &KNOWLEDGE, Missing::Accept).unwrap().done().unwrap();
    let mut bytes = Vec::new();
    answer.write_json(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn facts_of(row: &Row<'_>) -> Facts {
    row.facts(&CHAINS).unwrap_or_else(|error| panic!("{:?}: {error}", row.hash)).0
}

fn facts(row: &RowText) -> Facts {
    facts_of(&row.row())
}

#[test]
fn what_nodes_said_becomes_facts_and_comes_back_with_the_same_verdict() {
    for row in rows() {
        let first = facts(&row);
        let wallet = None;
        let written = RowText::of(&first, wallet).unwrap();
        let second = facts(&written);
        assert_eq!(verdict(&first, wallet), verdict(&second, wallet), "{}", row.hash);
        // Of nodes' answers only what is read is kept, and once it is, nothing changes any more.
        assert_eq!(RowText::of(&second, wallet).unwrap(), written);
        assert!(written.bytes() < row.bytes(), "{}", row.hash);
    }
}

fn address(number: u8) -> Address {
    Address::repeat_byte(number)
}

#[test]
fn everything_that_the_engine_can_know_is_in_a_row() {
    let Facts::Evm(known) = facts(&rows()[0]) else { panic!("the first row is of an EVM chain") };
    let mut known = Arc::unwrap_or_clone(known);
    let word = U256::MAX;
    let token = Token { symbol: Some("\"\u{1}é".to_owned()), name: None, decimals: Some(0), is_erc721: true };
    known.is_hash_computed = true;
    known.tokens = BTreeMap::from([(address(1), Arc::new(token)), (address(2), Arc::default())]);
    known.balances = BTreeMap::from([
        (address(3), BalanceChange { before: Some(word), after: None, sent: Some((7, u64::MAX)) }),
        (address(4), BalanceChange { before: None, after: None, sent: None }),
    ]);
    let held = Holding { balance: word, shares: U256::ZERO };
    known.holdings = BTreeMap::from([
        ((address(1), address(2)), HoldingChange { before: Some(held), after: None }),
        ((address(2), address(1)), HoldingChange { before: None, after: Some(held) }),
    ]);
    known.given = BTreeMap::from([
        ((address(1), address(2), address(3)), Some(word)),
        ((address(2), address(2), address(3)), None),
    ]);
    known.vouched = BTreeMap::from([
        ((address(1), [0, 1, 2, 255], address(3)), Some(U256::ZERO)),
        ((address(2), [0; 4], address(3)), None),
    ]);
    known.codes =
        BTreeMap::from([(address(5), Some(Code::new(&[0x60; 500], B256::repeat_byte(9)))), (address(6), None)]);
    known.also_on = vec!["ethereum".to_owned()];
    known.unasked = vec!["base".to_owned(), "polygon".to_owned()];
    let transfers = known.internal.transfers().to_vec();
    let ways = [
        InternalValue::NotAsked,
        InternalValue::Untraceable,
        InternalValue::Listed { transfers: transfers.clone() },
        InternalValue::Traced { transfers, failed: false },
    ];
    for internal in ways {
        known.internal = internal;
        for block in [None, Some(Block { number: 0, timestamp: -1, finalized: true }), known.block] {
            known.block = block.filter(|block| block.number > 0).or(known.block.filter(|_| block.is_some()));
            let whole = Facts::from(known.clone());
            let wallet = Some(Account::Evm(known.transaction.from));
            let written = RowText::of(&whole, wallet).unwrap();
            let (again, asked) = written.row().facts(&CHAINS).unwrap();
            assert_eq!(format!("{again:?}"), format!("{whole:?}"));
            assert_eq!(asked, wallet);
        }
    }
}

#[test]
fn a_solana_transaction_whose_accounts_are_missing_stays_so() {
    let row = rows().into_iter().find(|row| row.chain == "demo-solana").unwrap();
    let mut answer: Value = serde_json::from_str(&row.transaction).unwrap();
    let accounts = answer["transaction"]["message"]["instructions"][0]["accounts"].as_array_mut().unwrap();
    accounts.push(json!(250));
    let bent = RowText { transaction: answer.to_string(), ..row };
    let first = facts(&bent);
    let Facts::Solana(known) = &first else { panic!("it is of Solana") };
    assert!(known.transaction.is_unloaded);
    let again = facts(&RowText::of(&first, None).unwrap());
    assert_eq!(verdict(&again, None), verdict(&first, None));
    assert_eq!(format!("{again:?}"), format!("{first:?}"));
}

#[test]
fn a_row_may_be_json_whose_parts_are_text_or_are_there_as_they_are() {
    for row in rows() {
        let parsed = |text: &String| serde_json::from_str::<Value>(text).unwrap();
        let nested = json!({
            "version": 1, "chain": row.chain, "hash": row.hash, "block_number": row.block_number, "final": row.is_final,
            "block_time": row.block_time.map(|time| jiff::Timestamp::from_second(time).unwrap().to_string()),
            "transaction": parsed(&row.transaction), "receipt": row.receipt.as_ref().map(parsed),
            "internal": row.internal.as_ref().map(parsed), "mine": [1],
        });
        let texts = json!({
            "version": 1, "chain": row.chain, "hash": row.hash, "block_number": row.block_number, "final": row.is_final,
            "block_time": row.block_time, "transaction": row.transaction, "receipt": row.receipt, "internal": row.internal,
        });
        let expected = verdict(&facts(&row), None);
        for text in [nested.to_string(), texts.to_string()] {
            let row = RowJson::parse(&text).unwrap();
            assert_eq!(verdict(&facts_of(&row.row()), None), expected);
        }
    }
    assert!(RowJson::parse("[]").unwrap_err().to_string().starts_with("`row`: "));
}

#[test]
fn a_trace_may_be_flat_and_a_code_whole() {
    let row = rows().into_iter().next().unwrap();
    let Facts::Evm(known) = facts(&row) else { panic!("the first row is of an EVM chain") };
    let transaction = &known.transaction;
    let flat = json!([{
        "type": "call", "traceAddress": [], "transactionHash": transaction.hash,
        "action": { "callType": "call", "from": transaction.from, "to": transaction.to, "value": transaction.value },
    }]);
    let codes = json!({ "codes": { address(1).to_string(): { "code": "0x6001" } } });
    let flat = RowText { internal: Some(flat.to_string()), known: Some(codes.to_string()), ..row };
    let Facts::Evm(known) = facts(&flat) else { panic!("it is of an EVM chain") };
    assert!(matches!(known.internal, InternalValue::Traced { failed: false, .. }));
    assert_eq!(known.codes[&address(1)], Some(Code::new(&[0x60, 1], B256::ZERO)));
}

#[test]
fn what_contradicts_itself_is_said_to() {
    let all = rows();
    let (one, other) = (&all[0], &all[1]);
    let solana = all.iter().find(|row| row.chain == "demo-solana").unwrap();
    let told = |row: &RowText| row.row().facts(&CHAINS).unwrap_err().to_string();
    let change = |field: &str, value: Value| {
        let mut transaction: Value = serde_json::from_str(&one.transaction).unwrap();
        transaction[field] = value;
        transaction.to_string()
    };
    let hash = format!("0x{}", "ab".repeat(32));
    let cases = [
        (RowText { hash: other.hash.clone(), ..one.clone() }, "`transaction` is another one than `hash`"),
        (RowText { receipt: other.receipt.clone(), ..one.clone() }, "`receipt` is of another transaction than `hash`"),
        (
            RowText { transaction: change("blockHash", json!(hash)), ..one.clone() },
            "`transaction` and `receipt` are of different blocks",
        ),
        (
            RowText { transaction: change("chainId", json!("0x1")), ..one.clone() },
            "`transaction` carries the id of another chain",
        ),
        (
            RowText { block_number: Some(1 << 40), ..one.clone() },
            "`block_number` is another block than that of the transaction",
        ),
        (
            RowText { internal: other.internal.clone(), ..one.clone() },
            "`internal` is of another transaction, or ended otherwise than `receipt`",
        ),
        (
            RowText { internal: Some(r#"{"transfers":[],"failed":true}"#.to_owned()), ..one.clone() },
            "`internal` is of another transaction, or ended otherwise than `receipt`",
        ),
        (RowText { internal: Some("{}".to_owned()), ..one.clone() }, "`internal`: it is in none of the forms"),
        (RowText { receipt: None, ..one.clone() }, "`receipt` is missing"),
        (RowText { chain: "demo".to_owned(), ..solana.clone() }, "the hash is none of this chain"),
        (RowText { chain: "nowhere\u{1b}[2J".to_owned(), ..one.clone() }, "no chain is called `nowhere [2J`"),
        (
            RowText { block_time: Some(1), ..solana.clone() },
            "`block_time` is another time than that of the transaction",
        ),
        (
            RowText {
                transaction: all.iter().rfind(|row| row.chain == solana.chain).unwrap().transaction.clone(),
                ..solana.clone()
            },
            "`transaction` is another one than `hash`",
        ),
        (RowText { internal: one.internal.clone(), ..solana.clone() }, "`receipt` and `internal` are for EVM chains"),
        (
            RowText { known: Some(r#"{"tokens":{"0x00":{}}}"#.to_owned()), ..solana.clone() },
            "`known`: `0x00` is no mint",
        ),
    ];
    for (row, expected) in cases {
        assert_eq!(told(&row), expected);
    }
    let misspelled = RowText { known: Some(r#"{"token":{}}"#.to_owned()), ..one.clone() };
    assert!(told(&misspelled).starts_with("`known`: unknown field `token`, expected one of"), "{}", told(&misspelled));
    let wallet = RowText { wallet: Some("me".to_owned()), ..one.clone() };
    assert!(told(&wallet).starts_with("`wallet`: "), "{}", told(&wallet));
    // Call frames within call frames, more than any stack has.
    let deep = format!(
        "{{\"type\":\"CALL\",\"calls\":{}{}}}",
        "[{\"calls\":".repeat(5_000),
        "[]".to_owned() + &"}]".repeat(5_000)
    );
    let deep = RowText { internal: Some(deep), ..one.clone() };
    assert!(told(&deep).starts_with("`internal`: recursion limit exceeded"), "{}", told(&deep));
    let future = Row { version: Some(2), ..one.row() };
    let error = future.facts(&CHAINS).unwrap_err();
    assert_eq!(error, RowError::FutureVersion(2));
    let chains = Registry::embedded().unwrap();
    assert_eq!(one.row().facts(&chains).unwrap_err().code(), "unsupported_chain");
}

#[test]
fn what_a_token_says_of_itself_is_cut_as_a_nodes_answer_is() {
    let row = rows().into_iter().next().unwrap();
    let tokens = json!({ "tokens": { address(1).to_string(): { "symbol": "é".repeat(1_000) } } });
    let Facts::Evm(known) = facts(&RowText { known: Some(tokens.to_string()), ..row }) else { panic!("EVM") };
    assert_eq!(known.tokens[&address(1)].symbol.as_deref(), Some("é".repeat(128).as_str()));
}
