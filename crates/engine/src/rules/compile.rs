//! From a pack's text to rules that match by topic and read by word. Everything that can be wrong is found here, once.

use std::sync::Arc;

use alloy_json_abi::{Event, Function, Param};
use alloy_primitives::{Address, B256, FixedBytes, U256};

use super::file::{ActorRow, CallRow, Derive, EventRow, Reader};
use crate::category::Category;
use crate::evm::json::Log;
use crate::opinion::Role;

/// Where a parameter stands: in a topic, or in a 32-byte word of the data's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    Topic(usize),
    Word(usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Anywhere,
    /// The contract that the transaction calls.
    Called,
    /// A token that the wallet moved speaks for itself.
    Moved,
    WrappedNative,
    Role(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Anyone,
    Sender,
    Field(Field),
}

/// Which legs a rule explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegSpec {
    pub what: What,
    pub optional: bool,
    pub amount: Option<Field>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The asset whose contract the parameter names; the native coin answers for its wrapper.
    Asset(Field),
    /// The NFT of this contract with this id.
    Item(Field, Field),
    /// The emitting, or called, contract is the token or holds the NFTs.
    Emitter,
    /// The same, but no NFT.
    EmittedToken,
    Native,
    Nft,
    /// Minted to, or burned from, the wallet.
    Minted,
    /// Came from, or went to, the emitter itself.
    Counterparty,
    /// Came from, or went to, the account that the parameter names.
    With(Field),
    /// Any asset whose amount is exactly the parameter.
    Exact,
    /// What the emitter itself paid or took beyond the parameter.
    Rest,
    Any,
}

#[derive(Debug, Clone)]
pub struct EventRule {
    pub pack: usize,
    pub id: Arc<str>,
    pub topic0: B256,
    pub place: Place,
    pub layout: Layout,
    pub means: Category,
    pub who: Vec<Who>,
    pub out: Vec<LegSpec>,
    pub incoming: Vec<LegSpec>,
    pub role: Role,
    pub derive: Option<Derive>,
    pub reader: Option<Reader>,
    pub only: Only,
    /// Only this protocol logs it, so it names the protocol where nothing better does.
    pub own: bool,
    /// The other side moved in an earlier transaction.
    pub escrowed: bool,
}

/// Conditions on a log beyond its layout.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Only {
    pub equals: Vec<(Field, U256)>,
    /// Both parameters have the same value.
    pub same: Vec<(Field, Field)>,
    /// They have not.
    pub differ: Vec<(Field, Field)>,
    /// The parameter names a contract of this role.
    pub holds: Vec<(Field, String)>,
    pub beside: Option<B256>,
    pub without: Option<B256>,
    pub positive: Option<Field>,
    pub negative: Option<Field>,
}

/// How calls are packed inside a call: head words of the data and of whom it goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opens {
    One {
        data: usize,
        to: Option<usize>,
    },
    Many {
        data: usize,
        to: Option<usize>,
    },
    /// ERC-4337: an array of operations, each with its account and calldata.
    UserOperations,
    /// Safe's multiSend: operation, address, value, length, data, end to end.
    Packed,
    /// An array of (address, value, bytes).
    Calls,
}

#[derive(Debug, Clone)]
pub struct CallRule {
    pub pack: usize,
    pub id: Arc<str>,
    pub selector: FixedBytes<4>,
    pub place: Place,
    pub means: Option<Category>,
    pub who: Vec<Who>,
    pub out: Vec<LegSpec>,
    pub incoming: Vec<LegSpec>,
    pub opens: Option<Opens>,
    pub zero: Option<Field>,
    pub words: usize,
}

#[derive(Debug, Clone)]
pub struct ActorRule {
    pub pack: usize,
    pub topic0: B256,
    pub place: Place,
    pub layout: Layout,
    /// `None` is the emitter itself.
    pub who: Option<Field>,
    pub selector: Option<FixedBytes<4>>,
    pub idle_sender: bool,
    pub own: bool,
}

/// Topic count and data length of an event. Unrelated events share a topic0, so a log must match exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    pub topics: usize,
    /// Words in the data's head; with a dynamic parameter the data may be longer, else it is exactly this.
    pub words: usize,
    pub dynamic: bool,
}

impl Layout {
    fn of(event: &Event, anonymous: bool) -> Self {
        let indexed = event.inputs.iter().filter(|p| p.indexed).count();
        Self {
            topics: indexed.saturating_add(usize::from(!anonymous)),
            words: event.inputs.iter().filter(|p| !p.indexed).map(|p| head_words(&p.ty)).sum(),
            dynamic: event.inputs.iter().any(|p| !p.indexed && is_dynamic(&p.ty)),
        }
    }

    pub fn fits(&self, log: &Log) -> bool {
        let bytes = self.words.saturating_mul(32);
        let data_fits = if self.dynamic { log.data.len() >= bytes } else { log.data.len() == bytes };
        log.topics.len() == self.topics && data_fits
    }
}

type Fault = String;

/// An event by its signature: how its logs look and where each parameter stands.
#[derive(Debug, Clone)]
pub struct EventShape {
    pub name: String,
    pub topic0: B256,
    pub layout: Layout,
    pub fields: Fields,
}

/// `topic0` is what an anonymous event begins with.
pub fn event_shape(signature: &str, topic0: Option<&str>) -> Result<EventShape, Fault> {
    let event = parse_event(signature)?;
    let raw = topic0.map(|text| text.parse::<B256>().map_err(|_| format!("`{text}` is no topic"))).transpose()?;
    let is_anonymous = raw.is_some();
    Ok(EventShape {
        topic0: raw.unwrap_or_else(|| event.selector()),
        layout: Layout::of(&event, is_anonymous),
        fields: event_fields(&event, is_anonymous),
        name: event.name,
    })
}

/// A call by its signature.
#[derive(Debug, Clone)]
pub struct CallShape {
    pub name: String,
    pub selector: FixedBytes<4>,
    pub words: usize,
    pub fields: Fields,
}

pub fn call_shape(signature: &str) -> Result<CallShape, Fault> {
    let function = parse_function(signature)?;
    Ok(CallShape {
        selector: function.selector(),
        words: function.inputs.iter().map(|p| head_words(&p.ty)).sum(),
        fields: call_fields(&function.inputs),
        name: function.name,
    })
}

pub fn actor(pack: usize, row: &ActorRow) -> Result<ActorRule, Fault> {
    let event = event_shape(row.signature.get_ref(), None)?;
    let params = event.fields;
    let function = row.call.as_ref().map(|text| parse_function(text)).transpose()?;
    Ok(ActorRule {
        pack,
        topic0: event.topic0,
        place: place(&row.on)?,
        layout: event.layout,
        who: if row.who == "@emitter" { None } else { Some(field(&row.who, &params)?) },
        selector: function.map(|function| function.selector()),
        idle_sender: row.idle_sender,
        own: row.own,
    })
}

fn parse_event(text: &str) -> Result<Event, Fault> {
    Event::parse(text).map_err(|error| format!("signature `{text}` does not parse: {error}"))
}

fn parse_function(text: &str) -> Result<Function, Fault> {
    Function::parse(text).map_err(|error| format!("signature `{text}` does not parse: {error}"))
}

pub fn event(pack: usize, stem: &str, row: &EventRow) -> Result<EventRule, Fault> {
    let event = event_shape(row.signature.get_ref(), row.topic0.as_deref())?;
    let params = event.fields;
    let means = category(&row.means)?;
    Ok(EventRule {
        pack,
        id: format!("{stem}/{}", event.name).into(),
        topic0: event.topic0,
        place: place(&row.on)?,
        layout: event.layout,
        means,
        who: who(&row.who, &params)?,
        out: specs(&row.out, &params)?,
        incoming: specs(&row.incoming, &params)?,
        role: row.role.unwrap_or_else(|| default_role(means)),
        derive: row.derive,
        reader: row.reader,
        only: only(row, &params)?,
        own: row.own,
        escrowed: row.escrowed,
    })
}

pub fn call(pack: usize, stem: &str, row: &CallRow) -> Result<CallRule, Fault> {
    let function = parse_function(row.signature.get_ref())?;
    let params = call_fields(&function.inputs);
    let opens = row.opens.as_ref().map(|name| opens(name, row.target.as_deref(), &function)).transpose()?;
    let zero = row.zero.as_ref().map(|name| field(name, &params)).transpose()?;
    let means = row.means.as_deref().map(category).transpose()?;
    if means.is_none() && opens.is_none() {
        return Err("a call either means something or opens others".to_owned());
    }
    Ok(CallRule {
        pack,
        id: format!("{stem}/{}()", function.name).into(),
        selector: function.selector(),
        place: place(&row.on)?,
        means,
        who: who(&row.who, &params)?,
        out: specs(&row.out, &params)?,
        incoming: specs(&row.incoming, &params)?,
        opens,
        zero,
        words: function.inputs.iter().map(|p| head_words(&p.ty)).sum(),
    })
}

fn opens(name: &str, target: Option<&str>, function: &Function) -> Result<Opens, Fault> {
    match name {
        "@handle_ops" => return Ok(Opens::UserOperations),
        "@multi_send" => return Ok(Opens::Packed),
        "@calls" => return Ok(Opens::Calls),
        other if other.starts_with('@') => return Err(format!("no packing of calls is called `{other}`")),
        _ => {}
    }
    let mut word = 0_usize;
    let (mut data, mut to) = (None, None);
    for input in &function.inputs {
        if input.name == name {
            data = Some((word, input.ty.as_str()));
        }
        if Some(input.name.as_str()) == target {
            to = Some(word);
        }
        word = word.saturating_add(head_words(&input.ty));
    }
    if target.is_some() && to.is_none() {
        return Err(format!("the signature has no parameter `{}`", target.unwrap_or_default()));
    }
    match data {
        Some((data, "bytes")) => Ok(Opens::One { data, to }),
        Some((data, "bytes[]")) => Ok(Opens::Many { data, to }),
        Some((_, ty)) => Err(format!("`{name}` is {ty}, not bytes or bytes[]")),
        None => Err(format!("the signature has no parameter `{name}`")),
    }
}

fn only(row: &EventRow, params: &Fields) -> Result<Only, Fault> {
    let topic = |signature: &Option<String>| {
        signature.as_ref().map(|text| parse_event(text)).transpose().map(|event| event.map(|event| event.selector()))
    };
    let sign = |name: &Option<String>| name.as_ref().map(|name| field(name, params)).transpose();
    let value = |(name, text): (&String, &String)| {
        let value = text.parse::<U256>().map_err(|_| format!("`{text}` is no number"))?;
        Ok((field(name, params)?, value))
    };
    let pair = |(one, other): (&String, &String)| Ok((field(one, params)?, field(other, params)?));
    Ok(Only {
        equals: row.equals.iter().map(value).collect::<Result<_, Fault>>()?,
        holds: row
            .holds
            .iter()
            .map(|(name, role)| Ok((field(name, params)?, role.clone())))
            .collect::<Result<_, Fault>>()?,
        same: row.same.iter().map(pair).collect::<Result<_, Fault>>()?,
        differ: row.differ.iter().map(pair).collect::<Result<_, Fault>>()?,
        beside: topic(&row.beside)?,
        without: topic(&row.without)?,
        positive: sign(&row.positive)?,
        negative: sign(&row.negative)?,
    })
}

/// A checksummed address; a typing mistake in lower case would go unseen.
pub fn address(text: &str) -> Result<Address, Fault> {
    Address::parse_checksummed(text, None).map_err(|_| format!("`{text}` is not a checksummed address"))
}

pub fn category(name: &str) -> Result<Category, Fault> {
    Category::parse(name).ok_or_else(|| format!("no category is called `{name}`"))
}

fn place(text: &str) -> Result<Place, Fault> {
    match text {
        "anywhere" => Ok(Place::Anywhere),
        "@called" => Ok(Place::Called),
        "@moved" => Ok(Place::Moved),
        "@wrapped_native" => Ok(Place::WrappedNative),
        other if other.starts_with('@') => Err(format!("no class of emitters is called `{other}`")),
        role => Ok(Place::Role(role.to_owned())),
    }
}

pub fn default_role(category: Category) -> Role {
    match category {
        Category::FeePayment => Role::Fee,
        Category::Interest => Role::Interest,
        Category::Reward | Category::Airdrop | Category::StakingRebase => Role::Reward,
        Category::Refund => Role::Refund,
        Category::BridgeOut => Role::BridgeOut,
        Category::BridgeIn => Role::BridgeIn,
        _ => Role::Principal,
    }
}

pub type Fields = Vec<(String, Field)>;

/// Topic 0 of an anonymous event is its first indexed parameter, of any other its signature.
fn event_fields(event: &Event, anonymous: bool) -> Fields {
    let (mut topic, mut word) = (usize::from(!anonymous), 0_usize);
    let mut fields = Fields::new();
    for input in &event.inputs {
        let at = if input.indexed {
            let at = Field::Topic(topic);
            topic = topic.saturating_add(1);
            at
        } else {
            let at = Field::Word(word);
            word = word.saturating_add(head_words(&input.ty));
            at
        };
        fields.push((input.name.clone(), at));
    }
    fields
}

fn call_fields(inputs: &[Param]) -> Fields {
    let mut word = 0_usize;
    let mut fields = Fields::new();
    for input in inputs {
        fields.push((input.name.clone(), Field::Word(word)));
        word = word.saturating_add(head_words(&input.ty));
    }
    fields
}

fn is_dynamic(ty: &str) -> bool {
    ty == "bytes" || ty == "string" || ty.ends_with("[]")
}

/// Words that a type takes in the head: fixed arrays stand in line, dynamic types as one offset. Tuples of static
/// members would stand in line too, but no rule reads behind one.
fn head_words(ty: &str) -> usize {
    let Some((element, size)) = ty.strip_suffix(']').and_then(|t| t.rsplit_once('[')) else { return 1 };
    if is_dynamic(element) {
        return 1;
    }
    size.parse::<usize>().map_or(1, |count| count.saturating_mul(head_words(element)))
}

pub fn field(name: &str, fields: &Fields) -> Result<Field, Fault> {
    fields
        .iter()
        .find(|(known, _)| known == name)
        .map(|(_, at)| *at)
        .ok_or_else(|| format!("the signature has no parameter `{name}`"))
}

fn who(names: &[String], fields: &Fields) -> Result<Vec<Who>, Fault> {
    if names.is_empty() {
        return Err("`who` names nobody; write `@anyone` to opt out".to_owned());
    }
    let one = |name: &String| match name.as_str() {
        "@anyone" => Ok(Who::Anyone),
        "@sender" => Ok(Who::Sender),
        name => field(name, fields).map(Who::Field),
    };
    names.iter().map(one).collect()
}

/// `reserve=amount?` reads: the asset that `reserve` names, in the amount of `amount`, if there is such a leg.
fn specs(texts: &[String], fields: &Fields) -> Result<Vec<LegSpec>, Fault> {
    let one = |text: &String| {
        let (text, optional) = text.strip_suffix('?').map_or((text.as_str(), false), |text| (text, true));
        let (what, amount) = text.split_once('=').map_or((text, None), |(what, amount)| (what, Some(amount)));
        let amount = amount.map(|name| field(name, fields)).transpose()?;
        let what = match what {
            "@emitter" => What::Emitter,
            "@token" => What::EmittedToken,
            "@native" => What::Native,
            "@nft" => What::Nft,
            "@minted" | "@burned" => What::Minted,
            "@counterparty" => What::Counterparty,
            "@exact" if amount.is_some() => What::Exact,
            "@rest" if amount.is_some() => What::Rest,
            "@any" => What::Any,
            other if other.contains('#') => {
                let (contract, id) = other.split_once('#').unwrap_or_default();
                What::Item(field(contract, fields)?, field(id, fields)?)
            }
            other if other.starts_with("@with:") => What::With(field(other.trim_start_matches("@with:"), fields)?),
            other if other.starts_with('@') => return Err(format!("no class of legs is called `{other}`")),
            name => What::Asset(field(name, fields)?),
        };
        Ok(LegSpec { what, optional, amount })
    };
    texts.iter().map(one).collect()
}
