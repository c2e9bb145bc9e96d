//! The cases that packs carry: a small transaction in words, and how it must be read. Here the words become facts, and
//! the engine is asked. `taxon rules check` and the tests run every one of them.
//!
//! Words for accounts: `wallet` (whose reading it is), `other` (a person), `stranger` (a contract nobody knows), `zero`, a role of the
//! pack (its first contract on the chain), `role.2` (its second), `pool(A,B)` or `pool(A,B,500)` (a pool of the pack's factory), an
//! address. Words for assets: `native`, `wrapped`, a capital letter or any account (its ERC-20 token), `A#7` (an NFT). A move is
//! `wallet > pool: 1000 A`, a log `pool: Supply(reserve=A, amount=1000)`; parameters are named by path, such as `amounts[1]=7`, and
//! what is not named is zero. On Solana programs log nothing
//! that is read: `solana` tells how their instructions are written.

pub mod recorded;
mod solana;

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, I256, U64, U256, keccak256};

use crate::adjudicate::Reading;
use crate::asset::Account;
use crate::block::{Block, NOT_A_DAY, day_start};
use crate::chain::{Chain, Family, Quirks};
use crate::classification::Side;
use crate::confidence;
use crate::evm::erc20::TRANSFER;
use crate::evm::json::{EvmTransaction, Log, Receipt};
use crate::evm::movements::TRANSFER_SINGLE;
use crate::evm::trace::InternalTransfer;
use crate::evm::{EvmFacts, Holding, HoldingChange, InternalValue, pools};
use crate::knowledge::Knowledge;
use crate::question::Question;
use crate::read::FamilyScene;
use crate::rules::abi;
use crate::rules::compile::{self, CallShape, EventShape, Field, ParamFinder};
use crate::rules::file::{CaseRow, CreatedRow, Derive, EVERY_CHAIN, PackFile};
use crate::rules::solana::SOLANA;
use crate::rules::{Fault, Pack, Rules};
use crate::scene::Scene;
use crate::token::Token;
use crate::{Category, Classification, answer, audit};

/// What is wrong with the cases of every pack: one that is missing, cannot be staged, or is read otherwise; and with its recorded readings.
pub fn check(knowledge: &Knowledge) -> Vec<Fault> {
    let rules = &knowledge.rules;
    let mut faults = Vec::new();
    let others = Vocabulary {
        events: rules.packs.iter().flat_map(|pack| events(&pack.file)).collect(),
        calls: rules.packs.iter().flat_map(|pack| calls(&pack.file)).collect(),
    };
    for (at, pack) in rules.packs.iter().enumerate() {
        let mut fault =
            |line: usize, what: String| faults.push(Fault { file: format!("{}.toml", pack.id), line, what });
        // What a custodian's wallets mean is said by the language, and tested there.
        let needs_positive = !pack.file.custodian && !pack.file.case.iter().any(|case| case.reads.is_some());
        let needs_silent = !pack.file.custodian && !pack.file.case.iter().any(|case| case.silent);
        if needs_positive {
            fault(1, "no case shows what it reads".to_owned());
        }
        if needs_silent {
            fault(1, "no case shows where it is silent".to_owned());
        }
        for case in &pack.file.case {
            if let Err(what) = run(knowledge, &others, at, pack, case) {
                fault(pack.line(&case.about.span()), format!("case `{}`: {what}", case.about.get_ref()));
            }
        }
    }
    faults.extend(recorded::check(rules));
    faults
}

fn run(knowledge: &Knowledge, others: &Vocabulary, at: usize, pack: &Pack, case: &CaseRow) -> Result<(), String> {
    let rules = &knowledge.rules;
    let (facts, wallet) = if case.chain == SOLANA {
        solana::staged(&pack.file, case)?
    } else {
        let facts = EvmStage { rules, others, at, file: &pack.file, chain: &case.chain }.facts(case)?;
        (facts.into(), Account::from(account_of("wallet")))
    };
    let question = asked(wallet);
    let scene = FamilyScene::read(&facts, &question, rules).map_err(|error| error.to_string())?;
    let reading = scene.adjudicate(&question, rules);
    judge(knowledge, at, case, scene.common(), &reading)
}

/// Whether the case is read as it says.
fn judge(knowledge: &Knowledge, at: usize, case: &CaseRow, scene: &Scene<'_>, reading: &Reading) -> Result<(), String> {
    let rules = &knowledge.rules;
    let id = rules.pack(at).map_or("", |pack| pack.id.as_str());
    let of_pack = |rule: &str| rule.strip_prefix(id).is_some_and(|rest| rest.starts_with('/'));
    let name = rules.protocol(at);
    if case.silent {
        let matched =
            reading.claims.iter().find(|claim| of_pack(&claim.rule) || (name.is_some() && claim.protocol == name));
        return match matched {
            Some(claim) => Err(format!("`{}` speaks: {}", claim.rule, claim.category.name())),
            None => Ok(()),
        };
    }
    let wanted = case.reads.as_deref().and_then(Category::parse);
    let answer = answer::answer(scene, reading, &asked(scene.wallet), knowledge);
    if let Some(fault) = audit::faults(&answer).into_iter().next() {
        return Err(format!("its books are wrong: {fault}"));
    }
    if !case.books.is_empty() {
        let posted = answer.postings.iter().flatten().filter(|posting| posting.side != Side::Gas);
        let posted: Vec<String> =
            posted.map(|posting| format!("{} {}", posting.entry.name(), posting.category.name())).collect();
        if posted != case.books {
            return Err(format!("it is booked as {posted:?}"));
        }
    }
    let Classification { category, confidence, review_note, protocol, needs_review, .. } = answer;
    if case.review {
        let is_settled = || format!("it is read as {} at confidence {confidence}, without review", category.name());
        let leans = || format!("it leans to {}", category.name());
        return match wanted {
            _ if !needs_review => Err(is_settled()),
            Some(wanted) if category != wanted => Err(leans()),
            _ => Ok(()),
        };
    }
    if Some(category) != wanted || confidence < confidence::REVIEW_BELOW {
        let note = review_note.unwrap_or_default();
        return Err(format!("it is read as {} at confidence {confidence}. {note}", category.name()));
    }
    match name {
        Some(name) if protocol.as_deref() != Some(name.as_ref()) => Err(format!("it is named {protocol:?}")),
        _ => Ok(()),
    }
}

fn asked(wallet: Account) -> Question {
    Question { wallet: Some(wallet), explain: true, ..Question::default() }
}

/// Events and calls of every pack: a case may name events and calls that only another pack has.
struct Vocabulary {
    events: Vec<EventShape>,
    calls: Vec<CallShape>,
}

/// Where a case is staged: the pack whose roles it names, and the chain.
struct EvmStage<'a> {
    rules: &'a Rules,
    others: &'a Vocabulary,
    at: usize,
    file: &'a PackFile,
    chain: &'a str,
}

/// The block of the case's day, where it names one.
fn block(case: &CaseRow) -> Result<Option<Block>, String> {
    let at = |day: &String| {
        let timestamp = day_start(day).ok_or_else(|| format!("{NOT_A_DAY}: `{day}`"))?;
        Ok(Block { number: 1, timestamp, finalized: true })
    };
    case.day.as_ref().map(at).transpose()
}

/// A traced transaction of which nothing is known but who called whom and what was logged. Its call is one that no rule knows.
pub fn plain(chain: Chain, from: Address, to: Address, logs: Vec<Log>) -> EvmFacts {
    EvmFacts {
        chain: Arc::new(chain),
        transaction: EvmTransaction {
            hash: B256::ZERO,
            from,
            to: Some(to),
            value: U256::ZERO,
            input: Bytes::from_static(&[0xff; 4]),
            kind: Some(U64::from(2)),
            chain_id: None,
            v: None,
            block_number: None,
            block_hash: None,
            gas: None,
            gas_price: None,
            mint: None,
            fee_currency: None,
        },
        is_hash_computed: false,
        receipt: Receipt {
            transaction_hash: B256::ZERO,
            block_hash: None,
            block_number: None,
            contract_address: None,
            gas_used: U256::ONE,
            effective_gas_price: Some(U256::ONE),
            status: Some(U64::ONE),
            logs,
            l1_fee: None,
            operator_fee_scalar: None,
            operator_fee_constant: None,
            blob_gas_used: None,
            blob_gas_price: None,
            da_footprint_gas_scalar: None,
            fee_token: None,
            fee_payer: None,
            fee_token_id: None,
        },
        block: None,
        internal: InternalValue::Traced { transfers: Vec::new(), failed: false },
        balances: BTreeMap::new(),
        tokens: BTreeMap::new(),
        holdings: BTreeMap::new(),
        given: BTreeMap::new(),
        vouched: BTreeMap::new(),
        codes: BTreeMap::new(),
        also_on: Vec::new(),
        unasked: Vec::new(),
    }
}

/// A chain with only its name and the wrapper of its coin.
pub fn chain(slug: &str, wrapped: Address) -> Chain {
    Chain {
        slug: slug.to_owned(),
        name: slug.to_owned(),
        family: if slug == SOLANA { Family::Solana } else { Family::Evm },
        chain_id: None,
        aliases: Vec::new(),
        native_symbol: "COIN".to_owned(),
        native_name: "Coin".to_owned(),
        native_before: None,
        native_decimals: if slug == SOLANA { 9 } else { 18 },
        wrapped_native: vec![wrapped],
        multicall3: None,
        native_log: None,
        fee_collector: None,
        finality_depth: None,
        contracts_as: None,
        explorer: None,
        endpoints: Vec::new(),
        known_endpoints: Vec::new(),
        quirks: Quirks::default(),
        special: Vec::new(),
        documented_only: false,
    }
}

/// The wallet's shares of a rebased token in a case.
const CASE_SHARES: u64 = 1000;

/// Accounts and tokens of a case have addresses made from their names.
fn account_of(name: &str) -> Address {
    Address::from_word(keccak256(name))
}

impl EvmStage<'_> {
    fn facts(&self, case: &CaseRow) -> Result<EvmFacts, String> {
        let sender = self.account(case.from.as_deref().unwrap_or("wallet"))?;
        let said: Vec<Log> = case.logs.iter().map(|text| self.log(text)).collect::<Result<_, _>>()?;
        let moves: Vec<EvmCaseMove> = case.moves.iter().map(|text| self.moved(text)).collect::<Result<_, _>>()?;
        let called = match &case.to {
            Some(name) => self.account(name)?,
            None => said.first().map(|log| log.address).or(moves.first().map(|m| m.to)).unwrap_or_default(),
        };
        let input = match case.call.as_deref() {
            Some("") => Some(Bytes::new()),
            call => call.map(|text| self.calldata(text)).transpose()?,
        };
        let mut value = U256::ZERO;
        let mut transfers = Vec::new();
        let mut logs = Vec::new();
        for moved in moves {
            match moved.what {
                MovedAsset::Native if moved.from == sender && moved.to == called => {
                    value = value.saturating_add(moved.amount)
                }
                MovedAsset::Native => {
                    transfers.push(InternalTransfer { from: moved.from, to: moved.to, value: moved.amount });
                }
                MovedAsset::Token(token) => logs.push(erc20(token, &moved)),
                MovedAsset::Nft(token, id) => logs.push(nft(token, id, &moved)),
            }
        }
        logs.extend(said);
        let token = |log: &Log| {
            let meta = Token { symbol: Some("CASE".to_owned()), decimals: Some(18), ..Token::default() };
            (log.address, Arc::new(meta))
        };
        let tokens: BTreeMap<Address, Arc<Token>> = logs.iter().map(token).collect();
        let mut facts = plain(chain(self.chain, account_of("wrapped")), sender, called, logs);
        facts.transaction.value = value;
        facts.block = block(case)?;
        facts.transaction.input = input.unwrap_or(facts.transaction.input);
        facts.internal = InternalValue::Traced { transfers, failed: false };
        facts.tokens = tokens;
        for text in &case.balances {
            let (token, change) = self.balances(text)?;
            facts.holdings.insert((token, account_of("wallet")), change);
        }
        for text in &case.given {
            let (taker, token, amount) = self.given(text)?;
            facts.given.insert((token, account_of("wallet"), taker), Some(amount));
        }
        Ok(facts)
    }

    /// `token: 1000 > 1003`
    fn balances(&self, text: &str) -> Result<(Address, HoldingChange), String> {
        let wrong = || format!("`{text}` is not `token: 1000 > 1003`");
        let (token, change) = text.split_once(':').ok_or_else(wrong)?;
        let (before, after) = change.split_once('>').ok_or_else(wrong)?;
        let [before, after] = [before, after].map(|text| text.trim().parse::<U256>().ok());
        let shares = U256::from(CASE_SHARES);
        let held = |balance: Option<U256>| balance.map(|balance| Holding { balance, shares });
        let (before, after) = (held(before), held(after));
        if before.is_none() || after.is_none() {
            return Err(wrong());
        }
        Ok((self.account(token.trim())?, HoldingChange { before, after }))
    }

    /// `taker: 1000 A`
    fn given(&self, text: &str) -> Result<(Address, Address, U256), String> {
        let wrong = || format!("`{text}` is not `taker: 1000 A`");
        let (taker, given) = text.split_once(':').ok_or_else(wrong)?;
        let (amount, token) = given.trim().split_once(' ').ok_or_else(wrong)?;
        let amount = amount.parse().map_err(|_| wrong())?;
        Ok((self.account(taker.trim())?, self.account(token.trim())?, amount))
    }

    fn account(&self, name: &str) -> Result<Address, String> {
        let is_letter = name.len() == 1 && name.chars().all(|c| c.is_ascii_uppercase());
        if let Some(tokens) = name.strip_prefix("pool(").and_then(|rest| rest.strip_suffix(')')) {
            return self.pool(tokens);
        }
        match name {
            "zero" => Ok(Address::ZERO),
            "listed" => self
                .rules
                .on(self.chain)
                .canonical_token()
                .ok_or_else(|| "no token is canonical on this chain".to_owned()),
            "wallet" | "other" | "stranger" | "wrapped" => Ok(account_of(name)),
            _ if is_letter => Ok(account_of(name)),
            _ if name.starts_with("0x") => compile::address(name),
            _ => self.role(name),
        }
    }

    fn role(&self, name: &str) -> Result<Address, String> {
        let (role, place) = name.split_once('.').map_or((name, Ok(1)), |(role, place)| (role, place.parse::<usize>()));
        let place = place.map_err(|_| format!("`{name}` is no place among a role's contracts"))?;
        let listed = self.file.contracts.get(role);
        let created: Vec<&CreatedRow> = self.file.created.iter().filter(|row| row.role.get_ref() == role).collect();
        if listed.is_none() && created.is_empty() {
            return Err(format!("nobody is called `{role}`"));
        }
        let chains = [self.chain, EVERY_CHAIN].into_iter();
        let here = chains.filter_map(|chain| listed.and_then(|chains| chains.get(chain)));
        let listed = here.flatten().map(|text| compile::address(text.get_ref()));
        let factories = created.iter().flat_map(|row| {
            let texts = row.at.get(self.chain).into_iter().flatten();
            texts.map(|text| compile::created(row, self.chain, compile::address(text.get_ref())?))
        });
        // A row that does not compute was refused when the pack was loaded.
        let made = factories.flat_map(Result::ok).flat_map(|created| created.addresses()).map(Ok);
        let contract = listed.chain(made).nth(place.saturating_sub(1));
        contract.unwrap_or_else(|| Err(format!("role `{role}` has no such contract on {}", self.chain)))
    }

    /// The address of the pool of these tokens, by the first factory of the pack on this chain.
    fn pool(&self, tokens: &str) -> Result<Address, String> {
        let parts: Vec<&str> = tokens.split(',').map(str::trim).collect();
        let [first, second, fee @ ..] = parts.as_slice() else { return Err("a pool holds two tokens".to_owned()) };
        let (first, second) = (self.account(first)?, self.account(second)?);
        let (derive, fee) = match fee.first() {
            None => (Derive::UniswapV2, 0),
            Some(&"volatile") => (Derive::Solidly, pools::VOLATILE),
            Some(&"stable") => (Derive::Solidly, pools::STABLE),
            Some(fee) => (Derive::UniswapV3, fee.parse::<u32>().map_err(|_| format!("`{fee}` is no fee"))?),
        };
        let known = self.rules.on(self.chain);
        let makers = [derive, Derive::Algebra].into_iter().flat_map(|derive| known.factories(derive));
        let maker = makers.into_iter().find(|factory| factory.pack == self.at).ok_or("the pack has no factory here")?;
        Ok(pools::address(maker, first.min(second), first.max(second), fee))
    }

    fn moved(&self, text: &str) -> Result<EvmCaseMove, String> {
        let shape = || format!("move `{text}` does not read `from > to: amount asset`");
        let (parties, what) = text.split_once(": ").ok_or_else(shape)?;
        let (from, to) = parties.split_once(" > ").ok_or_else(shape)?;
        let (from, to) = (self.account(from.trim())?, self.account(to.trim())?);
        let (amount, asset) = match what.trim().split_once(' ') {
            Some((amount, asset)) => (Some(amount), asset.trim()),
            None => (None, what.trim()),
        };
        let number = |text: &str| text.parse::<U256>().map_err(|_| format!("`{text}` is no amount"));
        let what = match (asset, asset.split_once('#')) {
            ("native", _) => MovedAsset::Native,
            (_, Some((contract, id))) => MovedAsset::Nft(self.account(contract)?, (number(id)?, amount.is_some())),
            (token, None) => MovedAsset::Token(self.account(token)?),
        };
        let is_nft = matches!(what, MovedAsset::Nft(..));
        let amount = match amount {
            Some(amount) => number(amount)?,
            None if is_nft => U256::ONE,
            None => return Err(shape()),
        };
        Ok(EvmCaseMove { from, to, amount, what })
    }

    fn log(&self, text: &str) -> Result<Log, String> {
        let (emitter, event) =
            text.split_once(": ").ok_or_else(|| format!("log `{text}` does not read `emitter: Event(…)`"))?;
        let (name, values) = self.values(event)?;
        let fits = |shape: &EventShape| shape.name() == name && has_all(shape, &values);
        // Of several with the same name, the one that leaves the fewest parameters unnamed.
        let count = |shape: &EventShape| shape.signature.params.len();
        let own = events(self.file).filter(fits).min_by_key(count);
        let shape = own.or_else(|| {
            self.others.events.iter().filter(|shape| fits(shape)).min_by_key(|shape| count(shape)).cloned()
        });
        let shape = shape.ok_or_else(|| format!("no pack knows an event `{event}`"))?;
        let mut topics = vec![B256::ZERO; shape.layout.topics.max(1)];
        if let Some(first) = topics.first_mut() {
            *first = shape.topic0;
        }
        for (path, value) in &values {
            if let Ok(Field::Topic(at)) = shape.word(path) {
                topics.get_mut(at).into_iter().for_each(|topic| *topic = B256::from(*value));
            }
        }
        let data = shape.signature.params.iter().filter(|param| !param.indexed);
        let data = Bytes::from(encoded(data, &values));
        Ok(Log { address: self.account(emitter.trim())?, topics, data, log_index: None })
    }

    fn calldata(&self, text: &str) -> Result<Bytes, String> {
        let (name, values) = self.values(text)?;
        let fits = |shape: &CallShape| shape.name() == name && has_all(shape, &values);
        let count = |shape: &CallShape| shape.signature.params.len();
        let own = calls(self.file).filter(fits).min_by_key(count);
        let shape = own
            .or_else(|| self.others.calls.iter().filter(|shape| fits(shape)).min_by_key(|shape| count(shape)).cloned());
        let shape = shape.ok_or_else(|| format!("no pack knows a call `{text}`"))?;
        Ok(Bytes::from([shape.selector.as_slice(), &encoded(&shape.signature.params, &values)].concat()))
    }

    /// `Name(parameter=value, …)`
    fn values(&self, text: &str) -> Result<(String, Vec<(String, U256)>), String> {
        let shape = || format!("`{text}` does not read `Name(parameter=value, …)`");
        let (name, rest) = text.trim().split_once('(').ok_or_else(shape)?;
        let inside = rest.strip_suffix(')').ok_or_else(shape)?;
        let one = |pair: &str| {
            let (parameter, value) = pair.split_once('=').ok_or_else(shape)?;
            Ok((parameter.trim().to_owned(), self.value(value.trim())?))
        };
        let pairs = inside.split(", ").map(str::trim).filter(|pair| !pair.is_empty());
        Ok((name.to_owned(), pairs.map(one).collect::<Result<_, String>>()?))
    }

    fn value(&self, text: &str) -> Result<U256, String> {
        let is_word = text.len() == 66 && text.starts_with("0x");
        match text.strip_prefix('-') {
            Some(amount) => amount
                .parse::<U256>()
                .map(|amount| I256::from_raw(amount).wrapping_neg().into_raw())
                .map_err(|_| format!("`{text}` is no number")),
            None if text.starts_with(|c: char| c.is_ascii_digit()) && (!text.starts_with("0x") || is_word) => {
                text.parse::<U256>().map_err(|_| format!("`{text}` is no number"))
            }
            None if text == "native" => Ok(U256::ZERO),
            None => Ok(U256::from_be_bytes(self.account(text)?.into_word().0)),
        }
    }
}

#[derive(Debug)]
struct EvmCaseMove {
    from: Address,
    to: Address,
    amount: U256,
    what: MovedAsset,
}

#[derive(Debug)]
enum MovedAsset {
    Native,
    Token(Address),
    /// Contract, id, and whether it is one of many (ERC-1155).
    Nft(Address, (U256, bool)),
}

fn erc20(token: Address, moved: &EvmCaseMove) -> Log {
    let topics = vec![TRANSFER, moved.from.into_word(), moved.to.into_word()];
    Log { address: token, topics, data: Bytes::from(moved.amount.to_be_bytes_vec()), log_index: None }
}

fn nft(token: Address, (id, is_one_of_many): (U256, bool), moved: &EvmCaseMove) -> Log {
    let (from, to) = (moved.from.into_word(), moved.to.into_word());
    if is_one_of_many {
        let data = [id.to_be_bytes::<32>(), moved.amount.to_be_bytes()].concat();
        let topics = vec![TRANSFER_SINGLE, B256::ZERO, from, to];
        return Log { address: token, topics, data: Bytes::from(data), log_index: None };
    }
    Log { address: token, topics: vec![TRANSFER, from, to, B256::from(id)], data: Bytes::new(), log_index: None }
}

fn events(file: &PackFile) -> impl Iterator<Item = EventShape> {
    let rows = file.event.iter().map(|row| (row.signature.get_ref(), row.topic0.as_deref()));
    let actors = file.actor.iter().map(|row| (row.signature.get_ref(), None));
    let beside = file
        .event
        .iter()
        .flat_map(|row| row.beside.iter().chain(&row.without).chain(&row.named_by).chain(&row.not_named_by))
        .map(|text| (text, None));
    let nfts = file.nft.iter().flat_map(|row| std::iter::once(&row.moved).chain(&row.named));
    let nfts = nfts.map(|text| (text.get_ref(), None));
    let supply = file.supply.iter().flat_map(|row| [&row.minted, &row.burned]).map(|text| (text.get_ref(), None));
    let accruals = file.accrual.iter().map(|row| (row.signature.get_ref(), None));
    let rebases = file.rebase.iter().map(|row| (row.signature.get_ref(), None));
    let rows = rows.chain(actors).chain(beside).chain(nfts).chain(supply).chain(accruals).chain(rebases);
    rows.filter_map(|(text, topic0)| compile::event_shape(text, topic0).ok())
}

fn calls(file: &PackFile) -> impl Iterator<Item = CallShape> {
    let rows = file.call.iter().map(|row| row.signature.get_ref());
    let actors = file.actor.iter().filter_map(|row| row.call.as_ref());
    rows.chain(actors).filter_map(|text| compile::call_shape(text).ok())
}

fn has_all(shape: &ParamFinder, values: &[(String, U256)]) -> bool {
    values.iter().all(|(path, _)| shape.word(path).is_ok() || shape.account(path).is_ok())
}

/// The bytes of parameters by path: `amounts[1]=7` makes a list of two.
fn encoded<'a>(params: impl IntoIterator<Item = &'a abi::Param> + Clone, values: &[(String, U256)]) -> Vec<u8> {
    let value = |path: &str| values.iter().find(|(named, _)| named == path).map_or(U256::ZERO, |(_, value)| *value);
    let length = |path: &str| {
        let named = values.iter().find(|(named, _)| named.strip_prefix(path) == Some(".length"));
        let index = |named: &str| named.strip_prefix(path)?.strip_prefix('[')?.split_once(']')?.0.parse::<usize>().ok();
        let longest = values.iter().filter_map(|(named, _)| index(named)).max();
        let implied = longest.map_or(0, |last| last.saturating_add(1));
        named.map_or(implied, |(_, length)| usize::try_from(*length).unwrap_or(usize::MAX))
    };
    abi::encode(params, &value, &length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::treatments::Treatments;

    const PACK: &str = r#"
name  = "Mine"
about = "x"
links = ["https://example.org/a", "https://example.org/b"]

[contracts.pool]
ethereum = ["0x00000000000000000000000000000000000000AA"]

[[event]]
on        = "pool"
signature = "Locked(address indexed user, address token, uint256 amount)"
means     = "vote_lock"
who       = ["user"]
out       = ["token=amount"]
"#;

    const READ: &str = r#"
[[case]]
about = "locked"
chain = "ethereum"
moves = ["wallet > pool: 5 A"]
logs  = ["pool: Locked(user=wallet, token=A, amount=5)"]
reads = "vote_lock"
"#;

    const SILENT: &str = r#"
[[case]]
about  = "someone else's"
chain  = "ethereum"
moves  = ["wallet > pool: 5 A"]
logs   = ["pool: Locked(user=other, token=A, amount=5)"]
silent = true
"#;

    fn faults(cases: &str) -> Vec<String> {
        let rules = Rules::of(&[("mine", &format!("{PACK}{cases}"))]).expect("the pack loads");
        let knowledge = Knowledge::new(rules, Treatments::us().expect("treatments/us.toml loads"), []);
        check(&knowledge).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn cases_that_are_read_as_they_say_are_no_fault() {
        assert_eq!(faults(&format!("{READ}{SILENT}")), Vec::<String>::new());
    }

    #[test]
    fn a_missing_case_is_a_fault() {
        assert_eq!(faults(SILENT), ["mine.toml:1: no case shows what it reads"]);
        assert_eq!(faults(READ), ["mine.toml:1: no case shows where it is silent"]);
    }

    #[test]
    fn a_case_that_is_read_otherwise_is_a_fault_with_its_line() {
        let wrong = READ.replace("reads = \"vote_lock\"", "reads = \"swap\"");
        let said = faults(&format!("{wrong}{SILENT}")).join("\n");
        assert!(said.starts_with("mine.toml:17: case `locked`: it is read as vote_lock"), "{said}");
        let loud = SILENT.replace("user=other", "user=wallet");
        let said = faults(&format!("{READ}{loud}")).join("\n");
        assert!(said.contains("`mine/Locked` speaks: vote_lock"), "{said}");
    }

    #[test]
    fn words_that_nobody_knows_are_a_fault() {
        for (word, wrong) in [("> pool", "> nobody"), ("Locked(", "Lost("), ("amount=5", "amount=many"), ("5 A", "A")] {
            let said = faults(&format!("{}{SILENT}", READ.replace(word, wrong))).join("\n");
            assert!(said.starts_with("mine.toml:17: case `locked`: "), "{word}: {said}");
        }
    }
}
