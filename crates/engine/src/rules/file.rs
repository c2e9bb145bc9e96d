//! A rule pack as an analyst writes it: one TOML file per protocol. Everything here is text; `compile` gives it meaning.

mod proof;
mod recorded;
mod signatures;
mod surface;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use toml::Spanned;

pub use proof::{AskedAt, ProofRow, ProvingAnswer};
pub use recorded::{RecordedCall, RecordedInstruction, RecordedLog, RecordedRow};
pub use signatures::{OneOrMore, Signatures};
pub use surface::SurfaceRow;

use crate::asset::NftKind;
use crate::opinion::Perhaps;
use crate::role::Role;

/// Chain key of a contract that is deployed at the same address on every chain.
pub const EVERY_CHAIN: &str = "every";

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackFile {
    pub name: String,
    #[serde(default)]
    pub about: String,
    /// An exchange or broker that keeps its customers' coins, of which nothing is known but its wallets. It says no more than names and links:
    /// what is sent to these wallets is a deposit, and what they send a withdrawal.
    #[serde(default)]
    pub custodian: bool,
    /// Where the addresses and signatures were checked.
    #[serde(default)]
    pub links: Vec<String>,
    /// A standard names no brand: its readings carry no protocol name.
    #[serde(default)]
    pub standard: bool,
    /// Text in the name or symbol of an unsolicited token that lures; lower case.
    #[serde(default)]
    pub lures: Vec<String>,
    /// Role, then chain slug (or `every`), then checksummed addresses.
    #[serde(default)]
    pub contracts: BTreeMap<String, BTreeMap<String, Vec<Spanned<String>>>>,
    /// Roles without rules: generic rules that match these contracts count as verified and carry this pack's name.
    #[serde(default)]
    pub vouches: Vec<String>,
    /// Roles whose contracts appear in transactions of every kind, such as a bridge's tokens: generic rules that match these contracts count as standard and carry no name.
    #[serde(default)]
    pub quiet: Vec<String>,
    /// A bridge on whose other side another asset may arrive than the one that was sent.
    #[serde(default)]
    pub may_exchange: bool,
    /// It keeps positions or balances inside that no transfer shows: perps, order books, margin, balances of its own.
    #[serde(default)]
    pub holds_positions: bool,
    #[serde(default)]
    pub factory: Vec<FactoryRow>,
    #[serde(default)]
    pub created: Vec<CreatedRow>,
    #[serde(default)]
    pub proof: Vec<ProofRow>,
    #[serde(default, deserialize_with = "each_signature")]
    pub event: Vec<EventRow>,
    #[serde(default, deserialize_with = "each_signature")]
    pub call: Vec<CallRow>,
    #[serde(default)]
    pub nft: Vec<NftRow>,
    #[serde(default)]
    pub supply: Vec<SupplyRow>,
    #[serde(default)]
    pub accrual: Vec<AccrualRow>,
    #[serde(default)]
    pub rebase: Vec<RebaseRow>,
    #[serde(default)]
    pub deposit: Vec<DepositRow>,
    #[serde(default)]
    pub transfer: Vec<TransferRow>,
    #[serde(default)]
    pub actor: Vec<ActorRow>,
    #[serde(default)]
    pub instruction: Vec<InstructionRow>,
    #[serde(default)]
    pub case: Vec<CaseRow>,
    #[serde(default)]
    pub recorded: Vec<RecordedRow>,
    #[serde(default)]
    pub surface: Vec<SurfaceRow>,
}

/// A small transaction in words, and how it must be read. `crate::cases` tells what the words mean.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseRow {
    /// One sentence: what happens, and why the reading is right.
    pub about: Spanned<String>,
    pub chain: String,
    /// Who sends the transaction; the wallet unless said.
    #[serde(default)]
    pub from: Option<String>,
    /// The day of its block, in UTC; unknown unless said.
    #[serde(default)]
    pub day: Option<String>,
    /// What it calls; else the account that logs first, or receives first.
    #[serde(default)]
    pub to: Option<String>,
    /// `name(parameter=value, …)` of a call that some rule knows; empty for a payment without a call.
    #[serde(default)]
    pub call: Option<String>,
    /// `from > to: 1000 A`
    #[serde(default)]
    pub moves: Vec<String>,
    /// `emitter: Event(parameter=value, …)`
    #[serde(default)]
    pub logs: Vec<String>,
    /// `token: 1000 > 1003`: what the wallet holds of it before and after the block, while its shares stay.
    #[serde(default)]
    pub balances: Vec<String>,
    /// `taker: 1000 A`: what the wallet gave it in earlier blocks, less what came back.
    #[serde(default)]
    pub given: Vec<String>,
    /// On Solana: `role: instruction(position=account, …)`
    #[serde(default)]
    pub instructions: Vec<String>,
    /// The category it must be read as, under this pack's name.
    #[serde(default)]
    pub reads: Option<String>,
    /// How each leg is booked, sent legs first: entry and category, such as `carry_out vault_deposit`.
    #[serde(default)]
    pub books: Vec<String>,
    /// No rule of this pack may match.
    #[serde(default)]
    pub silent: bool,
    /// A person must look, whatever is read; with `reads`, at what leans to that category.
    #[serde(default)]
    pub review: bool,
}

/// An instruction of a Solana program, and what it means for the wallet.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstructionRow {
    pub on: Spanned<String>,
    /// Its name in an Anchor program, in snake case.
    #[serde(default)]
    pub anchor: Option<Spanned<String>>,
    /// How its data begins, in hexadecimal, in any other program.
    #[serde(default)]
    pub data: Option<Spanned<String>>,
    pub means: String,
    /// Positions in its accounts, one of which must be the wallet; without any, the wallet signs or is named.
    #[serde(default)]
    pub who: Vec<usize>,
    /// Positions of token accounts, one of which must be the wallet's: the wallet is at `who`, or it owns one of these.
    #[serde(default)]
    pub owner_of: Vec<usize>,
    /// Positions that must hold one and the same account. Such a row is used instead of the others of its instruction: a wallet
    /// that buys its own listing takes it back.
    #[serde(default)]
    pub same: Vec<usize>,
    /// It is dropped when any other rule matches in the transaction: a deposit before a purchase is part of the purchase.
    #[serde(default)]
    pub weak: bool,
    #[serde(default)]
    pub role: Option<Role>,
    /// The other side moved in an earlier transaction.
    #[serde(default)]
    pub escrowed: bool,
    /// No balance shows what it moves: compressed NFTs, and those of Metaplex Core.
    #[serde(default)]
    pub unseen: bool,
    /// What it comes to is decided in another transaction, such as an auction: a person links the two.
    #[serde(default)]
    pub unsettled: bool,
    /// Signed numbers in the data that must be above zero, each as offset and length in bytes, little-endian.
    #[serde(default)]
    pub positive: Vec<[usize; 2]>,
    /// The same, below zero.
    #[serde(default)]
    pub negative: Vec<[usize; 2]>,
    /// The same, of nothing: a withdrawal of no liquidity only collects what was earned.
    #[serde(default)]
    pub zero: Vec<[usize; 2]>,
    /// Where the data names who gets it on another chain, as an offset in bytes: 32 of them, an EVM address with zeros before it.
    #[serde(default)]
    pub whose: Option<usize>,
    /// One line, where the name does not say it.
    #[serde(default)]
    pub about: Option<String>,
}

/// An envelope: the sender only submits someone else's action, and this event tells whose.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActorRow {
    pub on: String,
    pub signature: Spanned<String>,
    /// The parameter that names the one who acts, or `@emitter`.
    pub who: String,
    /// Only when the transaction calls this function.
    #[serde(default)]
    pub call: Option<String>,
    /// Only when nothing moved to or from the sender itself.
    #[serde(default)]
    pub idle_sender: bool,
    /// Only this protocol logs it: a name where nothing better gives one.
    #[serde(default)]
    pub own: bool,
}

/// A plain transfer to, or from, a contract of this pack that is itself an action: a deposit address, a payout.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransferRow {
    /// The role on the other side.
    pub with: Spanned<String>,
    pub way: TransferDirection,
    pub means: String,
    /// Only the native coin: a token sent there is lost, or something else.
    #[serde(default)]
    pub native: bool,
    /// `2025-04-01`: only before that day, in UTC.
    #[serde(default)]
    pub until: Option<Spanned<String>>,
    /// As in an event.
    #[serde(default)]
    pub perhaps: Option<Perhaps>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransferDirection {
    Out,
    In,
}

/// A factory whose pools can be recognised by computing their address.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactoryRow {
    pub derive: Derive,
    pub init_code_hash: Spanned<String>,
    /// Fee tiers that are part of a v3-style pool's address.
    #[serde(default)]
    pub fees: Vec<u32>,
    /// It made most of the pools of its kind, so it is tried before others.
    #[serde(default)]
    pub often: bool,
    /// Chain slug to the deployer whose CREATE2 makes the pools.
    pub at: BTreeMap<String, Vec<Spanned<String>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Derive {
    UniswapV2,
    UniswapV3,
    /// As v3, but the fee is no part of the address.
    Algebra,
    /// As v2, and whether the pool is stable is part of the address.
    Solidly,
}

/// What a factory made, one after another: each address follows from the factory's and a count (CREATE). Only for factories that make nothing but
/// the protocol's own code: where the caller chooses the code, an address proves nothing.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreatedRow {
    pub role: Spanned<String>,
    /// The factory has made at most this many.
    pub count: Spanned<u64>,
    /// Only whoever governs the protocol has it make one.
    #[serde(default)]
    pub governed: bool,
    /// Chain slug to the factories.
    pub at: BTreeMap<String, Vec<Spanned<String>>>,
    #[serde(default)]
    pub create3: Option<Create3Row>,
}

/// CREATE3: the factory puts a shim where the salt says (CREATE2), and the shim makes the contract as its first. A salt is some bytes and the count.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Create3Row {
    /// Of the shim.
    pub init_code_hash: Spanned<String>,
    /// Chain slug to the first 24 bytes of the salts; the count is the other eight.
    pub salts: BTreeMap<String, Vec<Spanned<String>>>,
}

/// NFTs that are logged otherwise than ERC-721 asks: who moved in one log, and which one in the next of others.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NftRow {
    /// The role whose contracts are the NFTs.
    pub on: Spanned<String>,
    pub kind: NftKind,
    /// The event that tells who moved, in its parameters `from` and `to`.
    pub moved: Spanned<String>,
    /// Events one of which then tells which NFT it was, in its parameter `id`.
    pub named: Vec<Spanned<String>>,
}

/// Tokens that tell what they mint and burn by events of their own, without a `Transfer`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SupplyRow {
    /// The role whose contracts are the tokens.
    pub on: Spanned<String>,
    /// The event of a mint, with the parameters `holder` and `amount`.
    pub minted: Spanned<String>,
    /// The same of a burn.
    pub burned: Spanned<String>,
}

/// A receipt token whose balance grows: what grew since the last time is stated when it is minted, burned or passed on, and minted or burned
/// together with what was put in or taken out.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccrualRow {
    /// The event that the token logs beside its `Transfer` from or to the zero address.
    pub signature: Spanned<String>,
    /// The parameter that names whose balance it is.
    pub holder: String,
    /// The parameter with the amount that was minted or burned.
    pub value: String,
    /// The parameter with what the balance grew by.
    pub grew: String,
    /// Whether `value` was minted (`in`) or burned (`out`).
    pub way: TransferDirection,
    /// The role, in this pack or any other, of tokens whose growth is earned: their word is taken without a second witness.
    pub tokens: String,
    /// The same of tokens that mark debts, whose growth is owed.
    pub debts: String,
    /// Tokens in neither role that have this in their symbol mark debts too.
    pub debt_symbol: String,
}

/// A token that changes every balance at once.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RebaseRow {
    /// The role of the tokens.
    pub role: Spanned<String>,
    /// The role of whoever logs it; the token itself unless said.
    #[serde(default)]
    pub by: Option<String>,
    /// The event after which every balance is another.
    pub signature: Spanned<String>,
    /// A view of one address, whose first word only transfers change: `sharesOf(address)`.
    pub shares: String,
}

/// Transactions that a chain itself makes out of a deposit on its parent.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DepositRow {
    /// Types of transactions, by their number; without any, those from the zero address to the zero address.
    #[serde(default)]
    pub kinds: Vec<u64>,
    /// Who brings it; `{chain}` is the name of the chain.
    pub protocol: Spanned<String>,
}

impl DepositRow {
    /// `None` is a transaction from the zero address to the zero address.
    pub fn covers(&self, kind: Option<u64>) -> bool {
        kind.map_or(self.kinds.is_empty(), |kind| self.kinds.contains(&kind))
    }

    pub fn protocol_on(&self, chain: &str) -> String {
        self.protocol.get_ref().replace("{chain}", chain)
    }
}

/// Written with one signature or several; in a `PackFile` every row has one.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventRow<S = Spanned<String>> {
    /// A role of this pack (verified), or `anywhere`, `@called`, `@moved`, `@wrapped_native`.
    pub on: String,
    pub signature: S,
    /// For an anonymous event: what its first topic must be. Its indexed parameters then begin at that topic.
    #[serde(default)]
    pub topic0: Option<String>,
    pub means: String,
    /// Parameters one of which must be the perspective, or `@sender`, or `@anyone` to opt out.
    pub who: Vec<String>,
    /// Parameters that name whose position it is, who gets it on another chain, or who sent it there. Where one of them names somebody else than
    /// the wallet, it is a payment or a receipt between two people.
    #[serde(default)]
    pub whose: Vec<String>,
    /// Of a bridge that names them: the asset that it takes, and the one that it gives on the other chain.
    #[serde(default)]
    pub becomes: Option<[String; 2]>,
    #[serde(default)]
    pub out: Vec<String>,
    #[serde(default, rename = "in")]
    pub incoming: Vec<String>,
    #[serde(default)]
    pub role: Option<Role>,
    /// Only when the emitter also logged this event in the same transaction.
    #[serde(default)]
    pub beside: Option<String>,
    /// Only when it did not.
    #[serde(default)]
    pub without: Option<String>,
    /// Only when another contract logged this event with the emitter as its first indexed parameter.
    #[serde(default)]
    pub named_by: Option<String>,
    /// Only when none did.
    #[serde(default)]
    pub not_named_by: Option<String>,
    /// Only when these parameters have these values, or one of them (hex or decimal; an address as a number).
    #[serde(default)]
    pub equals: BTreeMap<String, OneOrMore<String>>,
    /// Only when each of these parameters equals the other.
    #[serde(default)]
    pub same: BTreeMap<String, String>,
    /// Only when none of them does.
    #[serde(default)]
    pub differ: BTreeMap<String, String>,
    /// Only when these parameters name a contract of these roles.
    #[serde(default)]
    pub holds: BTreeMap<String, String>,
    /// Only when this signed parameter is above, or below, zero.
    #[serde(default)]
    pub positive: Option<String>,
    #[serde(default)]
    pub negative: Option<String>,
    /// The emitter may prove itself as a pool of a known factory.
    #[serde(default)]
    pub derive: Option<Derive>,
    /// What data cannot say is a small reader in Rust, by its name in `rules::reader`.
    #[serde(default)]
    pub reader: Option<Spanned<String>>,
    /// Only this protocol logs it: a name where nothing better gives one, never more weight.
    #[serde(default)]
    pub own: bool,
    /// The other side moved in an earlier transaction, such as the one that placed the order.
    #[serde(default)]
    pub escrowed: bool,
    /// What it comes to is not decided in this transaction alone: a person looks.
    #[serde(default)]
    pub unsettled: bool,
    /// What it may be instead, as no log tells: a grey area.
    #[serde(default)]
    pub perhaps: Option<Perhaps>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallRow<S = Spanned<String>> {
    pub on: String,
    pub signature: S,
    /// Absent on a call that only contains others, such as a multicall.
    #[serde(default)]
    pub means: Option<String>,
    #[serde(default = "sender_only")]
    pub who: Vec<String>,
    /// As in an event.
    #[serde(default)]
    pub whose: Vec<String>,
    #[serde(default)]
    pub becomes: Option<[String; 2]>,
    #[serde(default)]
    pub out: Vec<String>,
    #[serde(default, rename = "in")]
    pub incoming: Vec<String>,
    /// The `bytes` that hold the calls inside, as a path, or `@` and the name of a packing that the engine reads.
    #[serde(default)]
    pub opens: Option<String>,
    /// The `address` that they go to, as a path; without it, the same contract.
    #[serde(default)]
    pub target: Option<String>,
    /// Only when this parameter is zero: an approval of nothing is a revocation.
    #[serde(default)]
    pub zero: Option<String>,
    /// Only when this parameter is above zero.
    #[serde(default)]
    pub positive: Option<String>,
    /// Only when these parameters differ, as in an event.
    #[serde(default)]
    pub differ: BTreeMap<String, String>,
    /// In this call the contract's code pays no coin to anybody but the protocol's own contracts.
    #[serde(default)]
    pub keeps: bool,
    /// All coin that it unwraps goes to this account, as a path or `@sender`, and no other coin to anybody.
    #[serde(default)]
    pub unwraps: Option<String>,
    /// What it did not wrap of the value goes back to this account, and no other coin to anybody.
    #[serde(default)]
    pub refunds: Option<String>,
    /// It runs its own functions, which are packed here, and pays coin only as they do: a path to `bytes`, or `@` and the name of a packing.
    #[serde(default)]
    pub runs: Option<String>,
    /// As in an event.
    #[serde(default)]
    pub unsettled: bool,
}

fn sender_only() -> Vec<String> {
    vec!["@sender".to_owned()]
}

/// Rows with one signature each, out of rows that may have several.
fn each_signature<'de, D, R>(deserializer: D) -> Result<Vec<R>, D::Error>
where
    D: Deserializer<'de>,
    R: signatures::SignedRow,
    R::Written: Deserialize<'de>,
{
    let written = Vec::<R::Written>::deserialize(deserializer)?;
    Ok(written.into_iter().flat_map(R::each).collect())
}
