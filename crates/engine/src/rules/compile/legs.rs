//! Which legs a rule explains: the words of `out` and `in`.

use super::shapes::ParamFinder;
use super::{FaultText, Field};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegSpec {
    pub what: LegSubject,
    pub optional: bool,
    pub amount: Option<Field>,
    /// The parameter is signed and below zero: its absolute value is the amount, and any other is none.
    pub is_negated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LegSubject {
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
    /// The same, of a token that only marks a debt.
    Debt,
    /// Came from, or went to, the emitter itself.
    Counterparty,
    /// Came from, or went to, the account that the parameter names.
    With(Field),
    /// Went to the account that the parameter names, which then burned it, or gave it back to its own contract.
    Through(Field),
    /// Any asset whose amount is exactly the parameter.
    Exact,
    /// What the emitter itself paid or took beyond the parameter.
    Rest,
    /// Whose movements the flow of assets links to the contract that spoke or was called.
    Flow,
}

impl LegSpec {
    /// The parameters that it names.
    pub fn fields(&self) -> impl Iterator<Item = &Field> {
        let named = match &self.what {
            LegSubject::Asset(field) | LegSubject::With(field) | LegSubject::Through(field) => [Some(field), None],
            LegSubject::Item(contract, id) => [Some(contract), Some(id)],
            LegSubject::Emitter
            | LegSubject::EmittedToken
            | LegSubject::Native
            | LegSubject::Nft
            | LegSubject::Minted
            | LegSubject::Debt
            | LegSubject::Counterparty
            | LegSubject::Exact
            | LegSubject::Rest
            | LegSubject::Flow => [None, None],
        };
        named.into_iter().flatten().chain(&self.amount)
    }
}

/// `reserve=amount?` reads: the asset that `reserve` names, in the amount of `amount`, if there is such a leg. With `[*]` it
/// is said of each member: `tokens[*]=amounts[*]`. `=-amount` takes a signed parameter that is below zero.
pub(super) fn specs(texts: &[String], shape: &ParamFinder) -> Result<Vec<LegSpec>, FaultText> {
    texts.iter().map(|text| spec(text, shape)).collect()
}

/// In `out`: coin beyond what the rule states pays for the service.
const FEE: &str = "@fee?";

/// The legs that go out, and whether coin may be paid for it beside them.
pub(super) fn out_and_fee(texts: &[String], shape: &ParamFinder) -> Result<(Vec<LegSpec>, bool), FaultText> {
    let legs = texts.iter().filter(|text| *text != FEE);
    let legs: Vec<LegSpec> = legs.map(|text| spec(text, shape)).collect::<Result<_, _>>()?;
    let may_pay_fee = legs.len() < texts.len();
    Ok((legs, may_pay_fee))
}

fn spec(text: &str, shape: &ParamFinder) -> Result<LegSpec, FaultText> {
    let (text, optional) = text.strip_suffix('?').map_or((text, false), |text| (text, true));
    let (what, amount) = text.split_once('=').map_or((text, None), |(what, amount)| (what, Some(amount)));
    let is_negated = amount.is_some_and(|path| path.starts_with('-'));
    let amount = amount.map(|path| shape.words(path.trim_start_matches('-'))).transpose()?;
    let what = match what {
        "@emitter" => LegSubject::Emitter,
        "@token" => LegSubject::EmittedToken,
        "@native" => LegSubject::Native,
        "@nft" => LegSubject::Nft,
        "@minted" | "@burned" => LegSubject::Minted,
        "@debt" => LegSubject::Debt,
        "@counterparty" => LegSubject::Counterparty,
        "@exact" if amount.is_some() => LegSubject::Exact,
        "@rest" if amount.is_some() => LegSubject::Rest,
        "@flow" => LegSubject::Flow,
        other if other.contains('#') => {
            let (contract, id) = other.split_once('#').unwrap_or_default();
            LegSubject::Item(shape.addresses(contract)?, shape.words(id)?)
        }
        other if other.starts_with("@with:") => LegSubject::With(shape.addresses(other.trim_start_matches("@with:"))?),
        other if other.starts_with("@through:") => {
            LegSubject::Through(shape.address(other.trim_start_matches("@through:"))?)
        }
        other if other.starts_with('@') => return Err(format!("no class of legs is called `{other}`")),
        path => LegSubject::Asset(shape.addresses(path)?),
    };
    Ok(LegSpec { what, optional, amount, is_negated })
}
