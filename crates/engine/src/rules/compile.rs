//! From a pack's text to rules that match by topic and read by word. Everything that can be wrong is found here, once.

mod created;
mod legs;
mod proof;
mod shapes;

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::{Address, B256, FixedBytes, Selector, U256, keccak256};

pub use created::{Created, created};
pub use legs::{LegSpec, LegSubject};
pub use proof::{Proof, ProofRule, proof};
pub use shapes::{AccountParam, CallShape, EventShape, Layout, ParamFinder, call_shape, event_shape};

use toml::Spanned;

use super::file::{
    AccrualRow, ActorRow, CallRow, Derive, EventRow, NftRow, PackFile, RebaseRow, SupplyRow, TransferDirection,
};
pub use super::path::Field;
use super::reader::Reader;
use crate::asset::NftKind;
use crate::category::{Category, Nature};
use crate::opinion::Perhaps;
use crate::role::Role;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RulePlace {
    Anywhere,
    /// The contract that the transaction calls.
    Called,
    /// The contract that the transaction pays, without a call.
    Paid,
    /// A token that the wallet moved.
    Moved,
    WrappedNative,
    /// A contract that some pack lists, or can prove, in a role of this name.
    ListedAs(String),
    /// A contract that this pack lists in the role.
    Role(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    Anyone,
    Sender,
    Field(Field),
}

#[derive(Debug, Clone)]
pub struct EventRule {
    pub pack: usize,
    pub id: Arc<str>,
    pub topic0: B256,
    pub place: RulePlace,
    pub layout: Layout,
    pub means: Category,
    pub who: Vec<Who>,
    /// Where it names whose position it is.
    pub whose: Vec<AccountParam>,
    /// Where it names what crosses a bridge, on either side.
    pub becomes: Option<[Field; 2]>,
    pub out: Vec<LegSpec>,
    /// Coin beyond what `out` states pays for it.
    pub may_pay_fee: bool,
    pub incoming: Vec<LegSpec>,
    pub role: Role,
    pub derive: Option<Derive>,
    pub reader: Option<Reader>,
    pub only: Only,
    /// Only this protocol logs it, so it names the protocol where nothing better does.
    pub own: bool,
    /// The other side moved in an earlier transaction.
    pub escrowed: bool,
    /// What it comes to is not decided in this transaction alone.
    pub unsettled: bool,
    pub perhaps: Option<Perhaps>,
}

/// Conditions on a log beyond its layout.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Only {
    /// The parameter has one of these values; with `[*]`, each member has.
    pub equals: Vec<(Field, Vec<U256>)>,
    /// Both parameters have the same value.
    pub same: Vec<(Field, Field)>,
    /// They have not.
    pub differ: Vec<(Field, Field)>,
    /// The parameter names a contract of this role.
    pub holds: Vec<(Field, String)>,
    pub beside: Option<Beside>,
    pub without: Option<B256>,
    pub named_by: Option<B256>,
    pub not_named_by: Option<B256>,
    pub positive: Option<Field>,
    pub negative: Option<Field>,
}

/// Another event that the same contract logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beside {
    pub topic0: B256,
    /// Parameters of one word that both events name alike: in the rule's own event, and in this one.
    pub shared: Vec<(Field, Field)>,
}

/// How calls are packed inside a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opens {
    /// `bytes` somewhere among the parameters, with `[*]` several of them, and whom they go to.
    Inside { data: Field, to: Option<Field> },
    /// ERC-4337: an array of operations, each with its account and calldata.
    UserOperations,
    /// Safe's multiSend: operation, address, value, length, data, end to end.
    Packed,
}

#[derive(Debug, Clone)]
pub struct CallRule {
    pub pack: usize,
    pub id: Arc<str>,
    pub selector: FixedBytes<4>,
    pub place: RulePlace,
    pub means: Option<Category>,
    pub who: Vec<Who>,
    pub whose: Vec<AccountParam>,
    pub becomes: Option<[Field; 2]>,
    pub out: Vec<LegSpec>,
    /// Coin beyond what `out` states pays for it.
    pub may_pay_fee: bool,
    pub incoming: Vec<LegSpec>,
    pub opens: Option<Opens>,
    pub zero: Option<Field>,
    pub positive: Option<Field>,
    pub differ: Vec<(Field, Field)>,
    /// To whom the contract's code pays coin, where that is known.
    pub coin: Option<CoinRule>,
    pub unsettled: bool,
    pub words: usize,
}

/// To whom a listed contract's code pays coin in one call, and to nobody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CoinRule {
    Nobody,
    /// All that it unwraps.
    Unwraps(Payee),
    /// What it did not wrap of the value.
    Refunds(Payee),
    /// As its own functions do, which are packed in these `bytes`.
    Runs(Field),
    /// As the commands of Uniswap's Universal Router do.
    RunsCommands,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payee {
    Sender,
    Named(Field),
}

#[derive(Debug, Clone)]
pub struct ActorRule {
    pub pack: usize,
    pub topic0: B256,
    pub place: RulePlace,
    pub layout: Layout,
    /// `None` is the emitter itself.
    pub who: Option<Field>,
    pub selector: Option<FixedBytes<4>>,
    pub idle_sender: bool,
    pub own: bool,
}

/// NFTs whose log of a move does not say which one moved.
#[derive(Debug, Clone)]
pub struct NftRule {
    pub kind: NftKind,
    pub moved: EventShape,
    pub from: Field,
    pub to: Field,
    /// Events one of which tells which it was, and where.
    pub named: Vec<(EventShape, Field)>,
}

/// A token that logs no `Transfer` when it mints and burns.
#[derive(Debug, Clone)]
pub struct SupplyRule {
    pub minted: SupplyEvent,
    pub burned: SupplyEvent,
}

#[derive(Debug, Clone)]
pub struct SupplyEvent {
    pub event: EventShape,
    pub holder: Field,
    pub amount: Field,
}

/// A receipt token that states how much its holder's balance grew.
#[derive(Debug, Clone)]
pub struct AccrualRule {
    pub pack: usize,
    pub id: Arc<str>,
    pub event: EventShape,
    pub holder: Field,
    pub value: Field,
    pub grew: Field,
    pub way: TransferDirection,
    pub tokens: String,
    pub debts: String,
    pub debt_symbol: String,
}

/// A token that changes every balance at once.
#[derive(Debug, Clone)]
pub struct RebaseRule {
    pub pack: usize,
    pub id: Arc<str>,
    pub event: EventShape,
    role: String,
    by: Option<String>,
    /// The tokens of the role, by chain.
    tokens: BTreeMap<String, Vec<Address>>,
    pub shares: Selector,
}

impl RebaseRule {
    /// The role of whoever logs it.
    pub fn logged_by(&self) -> &str {
        self.by.as_deref().unwrap_or(&self.role)
    }

    /// The tokens that this contract speaks for.
    pub fn tokens(&self, emitter: Address, chain: &str) -> Vec<Address> {
        match self.by {
            None => vec![emitter],
            Some(_) => self.tokens.get(chain).cloned().unwrap_or_default(),
        }
    }
}

type FaultText = String;

pub fn rebase(pack: usize, stem: &str, row: &RebaseRow, file: &PackFile) -> Result<RebaseRule, FaultText> {
    let event = event_shape(row.signature.get_ref(), None)?;
    let name = row.signature.get_ref().split('(').next().unwrap_or_default();
    let is_view = row
        .shares
        .strip_suffix("(address)")
        .is_some_and(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
    if !is_view {
        return Err(format!(
            "`shares` is a view of one address, such as `sharesOf(address)`, and not `{}`",
            row.shares
        ));
    }
    let addresses =
        |texts: &Vec<Spanned<String>>| texts.iter().filter_map(|text| address(text.get_ref()).ok()).collect();
    let of_role = file.contracts.get(row.role.get_ref()).into_iter().flatten();
    Ok(RebaseRule {
        pack,
        id: format!("{stem}/{name}").into(),
        event,
        role: row.role.get_ref().clone(),
        by: row.by.clone(),
        tokens: of_role.map(|(chain, texts)| (chain.clone(), addresses(texts))).collect(),
        shares: Selector::from_slice(keccak256(&row.shares).get(..4).unwrap_or(&[0; 4])),
    })
}

pub fn actor(pack: usize, row: &ActorRow) -> Result<ActorRule, FaultText> {
    let event = event_shape(row.signature.get_ref(), None)?;
    let function = row.call.as_ref().map(|text| call_shape(text)).transpose()?;
    Ok(ActorRule {
        pack,
        topic0: event.topic0,
        place: place(&row.on)?,
        layout: event.layout,
        who: if row.who == "@emitter" { None } else { Some(event.address(&row.who)?) },
        selector: function.map(|function| function.selector),
        idle_sender: row.idle_sender,
        own: row.own,
    })
}

pub fn accrual(pack: usize, stem: &str, row: &AccrualRow) -> Result<AccrualRule, FaultText> {
    let event = event_shape(row.signature.get_ref(), None)?;
    let name = row.signature.get_ref().split('(').next().unwrap_or_default();
    if row.debt_symbol.is_empty() {
        return Err("`debt_symbol` tells debts apart, and every symbol holds an empty text".to_owned());
    }
    Ok(AccrualRule {
        pack,
        id: format!("{stem}/{name}").into(),
        holder: event.address(&row.holder)?,
        value: event.word(&row.value)?,
        grew: event.word(&row.grew)?,
        event,
        way: row.way,
        tokens: row.tokens.clone(),
        debts: row.debts.clone(),
        debt_symbol: row.debt_symbol.to_lowercase(),
    })
}

pub fn nft(row: &NftRow) -> Result<NftRule, FaultText> {
    if !matches!(place(row.on.get_ref())?, RulePlace::Role(_)) {
        return Err("`on` is the role whose contracts are the NFTs".to_owned());
    }
    let moved = event_shape(row.moved.get_ref(), None)?;
    let id = |text: &str| {
        let event = event_shape(text, None)?;
        let id = event.word("id")?;
        Ok((event, id))
    };
    let named: Vec<_> = row.named.iter().map(|text| id(text.get_ref())).collect::<Result<_, FaultText>>()?;
    if named.is_empty() {
        return Err("`named` lists no event that tells which NFT moved".to_owned());
    }
    Ok(NftRule { kind: row.kind, from: moved.address("from")?, to: moved.address("to")?, moved, named })
}

pub fn supply(row: &SupplyRow) -> Result<SupplyRule, FaultText> {
    if !matches!(place(row.on.get_ref())?, RulePlace::Role(_)) {
        return Err("`on` is the role whose contracts are the tokens".to_owned());
    }
    let changed = |text: &Spanned<String>| {
        let event = event_shape(text.get_ref(), None)?;
        let (holder, amount) = (event.address("holder")?, event.word("amount")?);
        Ok::<_, FaultText>(SupplyEvent { event, holder, amount })
    };
    Ok(SupplyRule { minted: changed(&row.minted)?, burned: changed(&row.burned)? })
}

pub fn event(pack: usize, stem: &str, row: &EventRow) -> Result<EventRule, FaultText> {
    let event = event_shape(row.signature.get_ref(), row.topic0.as_deref())?;
    let means = category(&row.means)?;
    let reader = |name: &str| match Reader::named(name) {
        None => Err(format!("no reader is called `{name}`")),
        Some(reader) if reader.needs_beside() && row.beside.is_none() => {
            Err(format!("the reader `{name}` needs the event that `beside` names"))
        }
        Some(reader) => Ok(reader),
    };
    is_told_whose(row, means)?;
    let (out, may_pay_fee) = legs::out_and_fee(&row.out, &event)?;
    Ok(EventRule {
        pack,
        id: format!("{stem}/{}", event.name()).into(),
        topic0: event.topic0,
        place: place(&row.on)?,
        layout: event.layout,
        means,
        who: who(&row.who, |path| event.addresses(path))?,
        whose: row.whose.iter().map(|path| event.account(path)).collect::<Result<_, _>>()?,
        becomes: becomes(row.becomes.as_ref(), &event)?,
        out,
        may_pay_fee,
        incoming: legs::specs(&row.incoming, &event)?,
        role: row.role.unwrap_or(means.meaning().role),
        derive: row.derive,
        reader: row.reader.as_ref().map(|name| reader(name.get_ref())).transpose()?,
        only: only(row, &event)?,
        own: row.own,
        escrowed: row.escrowed,
        unsettled: row.unsettled,
        perhaps: row.perhaps,
    })
}

fn becomes(paths: Option<&[String; 2]>, shape: &ParamFinder) -> Result<Option<[Field; 2]>, FaultText> {
    let Some([taken, given]) = paths else { return Ok(None) };
    Ok(Some([shape.address(taken)?, shape.address(given)?]))
}

/// Where one person may move what is another's, a rule says whose it is. What goes both ways shows it by itself.
fn is_told_whose(row: &EventRow, means: Category) -> Result<(), FaultText> {
    let is_required = |legs: &[String]| legs.iter().any(|leg| !leg.ends_with('?'));
    let is_one_way = is_required(&row.out) != is_required(&row.incoming);
    let is_keeping = means.meaning().nature == Nature::Keeping && !means.is_plain_transfer();
    if is_keeping && is_one_way && row.who.len() > 1 && row.whose.is_empty() {
        return Err("`who` may be one of several: say with `whose` which of them owns the position".to_owned());
    }
    Ok(())
}

pub fn call(pack: usize, stem: &str, row: &CallRow) -> Result<CallRule, FaultText> {
    let function = call_shape(row.signature.get_ref())?;
    let opens = row.opens.as_ref().map(|path| opens(path, row.target.as_deref(), &function)).transpose()?;
    let zero = row.zero.as_ref().map(|path| function.word(path)).transpose()?;
    let positive = row.positive.as_ref().map(|path| function.word(path)).transpose()?;
    let pair = |(one, other): (&String, &String)| Ok((function.word(one)?, function.word(other)?));
    let means = row.means.as_deref().map(category).transpose()?;
    let coin = coin(row, &function)?;
    if means.is_none() && opens.is_none() && coin.is_none() {
        return Err("a call means something, opens others, or tells where coin goes".to_owned());
    }
    if coin.is_some() && !matches!(place(&row.on)?, RulePlace::Role(_)) {
        return Err("only of listed contracts is it known where their coin goes".to_owned());
    }
    let (out, may_pay_fee) = legs::out_and_fee(&row.out, &function)?;
    Ok(CallRule {
        pack,
        id: format!("{stem}/{}()", function.name()).into(),
        selector: function.selector,
        place: place(&row.on)?,
        means,
        who: who(&row.who, |path| function.addresses(path))?,
        whose: row.whose.iter().map(|path| function.account(path)).collect::<Result<_, _>>()?,
        becomes: becomes(row.becomes.as_ref(), &function)?,
        out,
        may_pay_fee,
        incoming: legs::specs(&row.incoming, &function)?,
        opens,
        zero,
        positive,
        differ: row.differ.iter().map(pair).collect::<Result<_, FaultText>>()?,
        coin,
        unsettled: row.unsettled,
        words: function.words,
    })
}

/// `keeps`, `unwraps`, `refunds` and `runs` of a call, of which it may have one.
fn coin(row: &CallRow, function: &CallShape) -> Result<Option<CoinRule>, FaultText> {
    let payee = |path: &String| match path.as_str() {
        "@sender" => Ok(Payee::Sender),
        path => function.address(path).map(Payee::Named),
    };
    let runs = |path: &String| match path.as_str() {
        "@router_commands" => Ok(CoinRule::RunsCommands),
        other if other.starts_with('@') => Err(format!("no packing of commands is called `{other}`")),
        path => function.bytes(path).map(CoinRule::Runs),
    };
    let mut said = [
        row.keeps.then_some(Ok(CoinRule::Nobody)),
        row.unwraps.as_ref().map(|path| payee(path).map(CoinRule::Unwraps)),
        row.refunds.as_ref().map(|path| payee(path).map(CoinRule::Refunds)),
        row.runs.as_ref().map(runs),
    ]
    .into_iter()
    .flatten();
    let rule = said.next().transpose()?;
    if said.next().is_some() {
        return Err("a call says only one of `keeps`, `unwraps`, `refunds` and `runs`".to_owned());
    }
    Ok(rule)
}

/// `opens` and `target` of a call.
pub fn opens(path: &str, target: Option<&str>, function: &CallShape) -> Result<Opens, FaultText> {
    match path {
        "@handle_ops" => return Ok(Opens::UserOperations),
        "@multi_send" => return Ok(Opens::Packed),
        other if other.starts_with('@') => return Err(format!("no packing of calls is called `{other}`")),
        _ => {}
    }
    let data = function.bytes(path)?;
    let to = target.map(|target| function.addresses(target)).transpose()?;
    if to.as_ref().is_some_and(Field::repeats) && !data.repeats() {
        return Err(format!("`target` names several accounts, but `{path}` one call"));
    }
    Ok(Opens::Inside { data, to })
}

fn only(row: &EventRow, event: &EventShape) -> Result<Only, FaultText> {
    let other = |signature: &Option<String>| signature.as_ref().map(|text| event_shape(text, None)).transpose();
    let sign = |path: &Option<String>| path.as_ref().map(|path| event.word(path)).transpose();
    let number = |text: &String| text.parse::<U256>().map_err(|_| format!("`{text}` is no number"));
    let pair = |(one, other): (&String, &String)| Ok((event.word(one)?, event.word(other)?));
    let mut equals = Vec::new();
    for (path, values) in &row.equals {
        let values = values.as_slice().iter().map(number).collect::<Result<_, FaultText>>()?;
        equals.push((event.words(path)?, values));
    }
    Ok(Only {
        equals,
        holds: row
            .holds
            .iter()
            .map(|(path, role)| Ok((event.address(path)?, role.clone())))
            .collect::<Result<_, FaultText>>()?,
        same: row.same.iter().map(pair).collect::<Result<_, FaultText>>()?,
        differ: row.differ.iter().map(pair).collect::<Result<_, FaultText>>()?,
        beside: other(&row.beside)?.map(|other| Beside { topic0: other.topic0, shared: event.shared(&other) }),
        without: other(&row.without)?.map(|other| other.topic0),
        named_by: other(&row.named_by)?.map(|other| other.topic0),
        not_named_by: other(&row.not_named_by)?.map(|other| other.topic0),
        positive: sign(&row.positive)?,
        negative: sign(&row.negative)?,
    })
}

/// A checksummed address; a typing mistake in lower case would go unseen.
pub fn address(text: &str) -> Result<Address, FaultText> {
    Address::parse_checksummed(text, None).map_err(|_| format!("`{text}` is not a checksummed address"))
}

/// Of a text whose checksums were looked at before.
pub fn plain_address(text: &str) -> Result<Address, FaultText> {
    text.parse().map_err(|_| format!("`{text}` is no address"))
}

pub fn category(name: &str) -> Result<Category, FaultText> {
    Category::parse(name).ok_or_else(|| format!("no category is called `{name}`"))
}

fn place(text: &str) -> Result<RulePlace, FaultText> {
    match text {
        "anywhere" => Ok(RulePlace::Anywhere),
        "@called" => Ok(RulePlace::Called),
        "@paid" => Ok(RulePlace::Paid),
        "@moved" => Ok(RulePlace::Moved),
        "@wrapped_native" => Ok(RulePlace::WrappedNative),
        other if other.starts_with("@listed:") => Ok(RulePlace::ListedAs(other.replacen("@listed:", "", 1))),
        other if other.starts_with('@') => Err(format!("no class of emitters is called `{other}`")),
        role => Ok(RulePlace::Role(role.to_owned())),
    }
}

/// `address` finds the field of a path that names one address, or with `[*]` several.
fn who(names: &[String], address: impl Fn(&str) -> Result<Field, FaultText>) -> Result<Vec<Who>, FaultText> {
    if names.is_empty() {
        return Err("`who` names nobody; write `@anyone` to opt out".to_owned());
    }
    let one = |name: &String| match name.as_str() {
        "@anyone" => Ok(Who::Anyone),
        "@sender" => Ok(Who::Sender),
        other if other.starts_with('@') => Err(format!("nobody is called `{other}`")),
        path => address(path).map(Who::Field),
    };
    names.iter().map(one).collect()
}
