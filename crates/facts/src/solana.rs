//! Rows of Solana.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::solana::Key;
use engine::solana::json::{Effects, Instruction, SolanaTransaction, TokenAccount, TokenHolding};
use engine::{Account, Chain, SolanaFacts, TxHash};
use serde::Serialize;

use crate::error::RowError;
use crate::known;
use crate::row::{Row, RowText};

pub(crate) fn facts(row: &Row<'_>, chain: Arc<Chain>, signature: [u8; 64]) -> Result<SolanaFacts, RowError> {
    let text = row.transaction.ok_or(RowError::Missing("transaction"))?;
    let transaction = SolanaTransaction::parse(text).map_err(|error| RowError::unreadable("transaction", &error))?;
    if transaction.signatures.first() != Some(&signature) {
        return Err(RowError::Contradiction("`transaction` is another one than `hash`"));
    }
    if row.receipt.is_some() || row.internal.is_some() {
        return Err(RowError::Contradiction("`receipt` and `internal` are for EVM chains"));
    }
    let block = row.block((transaction.slot, transaction.time))?;
    let tokens = known::Solana::read(row.known)?.tokens()?;
    Ok(SolanaFacts { chain, signature, transaction, block, tokens })
}

pub(crate) fn row(facts: &SolanaFacts, wallet: Option<Account>) -> serde_json::Result<RowText> {
    let hash = TxHash::Solana(facts.signature);
    Ok(RowText {
        transaction: serde_json::to_string(&Answer::of(facts))?,
        known: known::Solana::of(facts).written()?,
        ..RowText::new(&facts.chain, hash, wallet, facts.block)
    })
}

/// A transaction as a node would answer `getTransaction`, with what is read of that.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    slot: Option<u64>,
    block_time: Option<i64>,
    transaction: Envelope,
    meta: Option<Meta>,
}

#[derive(Serialize)]
struct Envelope {
    signatures: Vec<String>,
    message: Message,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    /// All of them: also those that lookup tables loaded, which a node would give apart.
    account_keys: Vec<String>,
    header: MessageHeader,
    instructions: Vec<RawInstruction>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    address_table_lookups: Vec<Lookup>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MessageHeader {
    num_required_signatures: usize,
}

/// A table whose accounts nobody gave.
#[derive(Serialize)]
struct Lookup {}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RawInstruction {
    program_id_index: usize,
    accounts: Vec<usize>,
    data: String,
    stack_height: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    err: Option<&'static str>,
    fee: u64,
    pre_balances: Vec<u64>,
    post_balances: Vec<u64>,
    pre_token_balances: Vec<TokenBalance>,
    post_token_balances: Vec<TokenBalance>,
    inner_instructions: Vec<Inner>,
}

#[derive(Serialize)]
struct Inner {
    index: usize,
    instructions: Vec<RawInstruction>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TokenBalance {
    account_index: usize,
    mint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    ui_token_amount: UiAmount,
}

#[derive(Serialize)]
struct UiAmount {
    amount: String,
    decimals: u8,
}

impl Answer {
    fn of(facts: &SolanaFacts) -> Self {
        let transaction = &facts.transaction;
        let keys = Places::of(&transaction.keys);
        let mut outer = Vec::new();
        let mut inner: Vec<Inner> = Vec::new();
        for instruction in &transaction.instructions {
            let raw = keys.raw(instruction);
            match inner.last_mut() {
                _ if instruction.depth <= 1 => outer.push(raw),
                Some(last) if last.index == instruction.outer => last.instructions.push(raw),
                _ => inner.push(Inner { index: instruction.outer, instructions: vec![raw] }),
            }
        }
        // An account that is missing shows by itself where an instruction points past the end.
        let address_table_lookups = if transaction.is_unloaded { vec![Lookup {}] } else { Vec::new() };
        Self {
            slot: facts.block.and(transaction.slot),
            block_time: facts.block.and(transaction.time),
            transaction: Envelope {
                signatures: transaction.signatures.iter().map(|one| TxHash::Solana(*one).to_string()).collect(),
                message: Message {
                    account_keys: transaction.keys.iter().map(name).collect(),
                    header: MessageHeader { num_required_signatures: transaction.signers },
                    instructions: outer,
                    address_table_lookups,
                },
            },
            meta: transaction.effects.as_ref().map(|effects| keys.meta(effects, inner)),
        }
    }
}

/// Where each key is among those of the transaction.
struct Places {
    first: BTreeMap<Key, usize>,
    /// An account that is not there.
    past: usize,
}

impl Places {
    fn of(keys: &[Key]) -> Self {
        let first = keys.iter().enumerate().rev().map(|(place, key)| (*key, place)).collect();
        Self { first, past: keys.len() }
    }

    fn of_key(&self, key: &Key) -> usize {
        self.first.get(key).copied().unwrap_or(self.past)
    }

    fn raw(&self, instruction: &Instruction) -> RawInstruction {
        RawInstruction {
            program_id_index: self.of_key(&instruction.program),
            accounts: instruction.accounts.iter().map(|key| self.of_key(key)).collect(),
            data: bs58::encode(&instruction.data).into_string(),
            stack_height: instruction.depth,
        }
    }

    fn meta(&self, effects: &Effects, inner_instructions: Vec<Inner>) -> Meta {
        let balances = |side: fn(&TokenAccount) -> Option<TokenHolding>| {
            let held = effects.token_accounts.iter().filter_map(move |account| Some((account, side(account)?)));
            held.map(|(account, holding)| self.balance(account, holding)).collect()
        };
        Meta {
            err: effects.failed.then_some("failed"),
            fee: effects.fee,
            pre_balances: effects.lamports.iter().map(|(before, _)| *before).collect(),
            post_balances: effects.lamports.iter().map(|(_, after)| *after).collect(),
            pre_token_balances: balances(|account| account.before),
            post_token_balances: balances(|account| account.after),
            inner_instructions,
        }
    }

    fn balance(&self, account: &TokenAccount, holding: TokenHolding) -> TokenBalance {
        TokenBalance {
            account_index: self.of_key(&account.key),
            mint: name(&account.mint),
            owner: holding.owner.as_ref().map(name),
            ui_token_amount: UiAmount { amount: holding.amount.to_string(), decimals: account.decimals },
        }
    }
}

fn name(key: &Key) -> String {
    Account::Solana(*key).to_string()
}
