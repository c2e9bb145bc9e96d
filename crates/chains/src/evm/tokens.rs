//! What tokens say of themselves: one Multicall3 read where it is deployed, single calls where it is not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloy_primitives::{Address, Bytes, U256, hex};
use alloy_sol_types::{SolCall, sol};
use engine::token::TOKEN_TEXT_BYTES_MAX;
use engine::{Account, Token};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared, join_all};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::error::{CallError, UpstreamError};
use crate::memory::TokenMemory;
use crate::rpc::{Node, OpenRound};

sol! {
    struct Call3 { address target; bool allowFailure; bytes callData; }
    struct Result3 { bool success; bytes returnData; }
    function aggregate3(Call3[] calls) returns (Result3[] returnData);
}

/// Tokens in one Multicall3 read; each takes four calls.
const MULTICALL_TOKENS_MAX: usize = 64;
/// Bytes of a token's text that are looked at; its length field is untrusted.
const TEXT_BYTES_MAX: usize = TOKEN_TEXT_BYTES_MAX * 4;

const SYMBOL: [u8; 4] = hex!("95d89b41");
const NAME: [u8; 4] = hex!("06fdde03");
const DECIMALS: [u8; 4] = hex!("313ce567");
/// `supportsInterface(0x80ac58cd)`: is this an ERC-721?
const IS_ERC721: [u8; 36] = hex!("01ffc9a780ac58cd00000000000000000000000000000000000000000000000000000000");

type Answer = Option<Bytes>;
type Known = BTreeMap<Address, Arc<Token>>;
type Asking = BoxFuture<'static, Result<Arc<Known>, UpstreamError>>;
type Round = Shared<Asking>;

/// Coalesces the metadata reads of transactions in flight: they share one round of calls, and no token is asked for twice at the same
/// time.
#[derive(Debug)]
pub(super) struct Tokens {
    memory: Arc<dyn TokenMemory>,
    gathering: Mutex<Gathering>,
}

/// Every waiting caller polls the shared future of a round, so a round survives the caller that opened it and is dropped with the last.
#[derive(Debug, Default)]
struct Gathering {
    /// The round that others can still join, and what it will ask for.
    open: Option<WeakShared<Asking>>,
    wanted: BTreeSet<Address>,
    /// Which round a token is asked for in.
    rounds: BTreeMap<Address, WeakShared<Asking>>,
}

impl Tokens {
    pub(super) fn new(memory: Arc<dyn TokenMemory>) -> Self {
        Self { memory, gathering: Mutex::default() }
    }

    pub(super) async fn metadata(
        self: &Arc<Self>,
        node: &Arc<Node>,
        tokens: &[Address],
    ) -> Result<Known, UpstreamError> {
        let (mut found, unknown) = self.at_hand(node, tokens);
        for said in join_all(self.join_rounds(node, &unknown)).await {
            let said = said?;
            found.extend(unknown.iter().filter_map(|token| Some((*token, Arc::clone(said.get(token)?)))));
        }
        Ok(found)
    }

    /// The rounds that these tokens are asked for in: of those under way, and of the one that is open or now opened.
    fn join_rounds(self: &Arc<Self>, node: &Arc<Node>, unknown: &[Address]) -> Vec<Round> {
        let mut gathering = self.gathering();
        let mut joined: Vec<Round> = Vec::new();
        for token in unknown {
            let round = match gathering.rounds.get(token).and_then(WeakShared::upgrade) {
                Some(round) => round,
                None => self.ask_for(*token, node, &mut gathering),
            };
            if !joined.iter().any(|other| other.ptr_eq(&round)) {
                joined.push(round);
            }
        }
        joined
    }

    fn ask_for(self: &Arc<Self>, token: Address, node: &Arc<Node>, gathering: &mut Gathering) -> Round {
        let round = gathering.open.as_ref().and_then(WeakShared::upgrade).unwrap_or_else(|| {
            gathering.wanted.clear();
            let (tokens, node) = (Arc::clone(self), Arc::clone(node));
            async move { tokens.ask_round(&node).await.map(Arc::new) }.boxed().shared()
        });
        gathering.open = round.downgrade();
        gathering.wanted.insert(token);
        gathering.rounds.extend(round.downgrade().map(|weak| (token, weak)));
        round
    }

    async fn ask_round(&self, node: &Node) -> Result<Known, UpstreamError> {
        let round = node.let_others_join(|| self.gathering().wanted.len()).await;
        let wanted: Vec<Address> = {
            let mut gathering = self.gathering();
            gathering.open = None;
            std::mem::take(&mut gathering.wanted).into_iter().collect()
        };
        let found = self.recall_or_ask(node, &wanted, round).await;
        let mut gathering = self.gathering();
        for token in &wanted {
            gathering.rounds.remove(token);
        }
        found
    }

    async fn recall_or_ask(
        &self,
        node: &Node,
        wanted: &[Address],
        round: Option<OpenRound>,
    ) -> Result<Known, UpstreamError> {
        let recalled = self.memory.recall(&node.chain.slug, wanted.iter().map(|token| Account::Evm(*token)).collect());
        let recalled = recalled.await.into_iter().filter_map(|(token, said)| Some((token.evm()?, said)));
        let mut found: Known = recalled.collect();
        let wanted: Vec<Address> = wanted.iter().copied().filter(|token| !found.contains_key(token)).collect();
        // What others asked for meanwhile goes with it.
        drop(round);
        let chunks = wanted.chunks(MULTICALL_TOKENS_MAX).map(|chunk| ask(node, chunk));
        for answers in join_all(chunks).await {
            for (token, said) in answers? {
                let said = Arc::new(said);
                self.memory.keep(&node.chain.slug, Account::Evm(token), &said);
                found.insert(token, said);
            }
        }
        Ok(found)
    }

    fn gathering(&self) -> MutexGuard<'_, Gathering> {
        self.gathering.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn at_hand(&self, node: &Node, tokens: &[Address]) -> (Known, Vec<Address>) {
        let known = |token: &Address| self.memory.known(&node.chain.slug, &Account::Evm(*token));
        let found: Known = tokens.iter().filter_map(|token| Some((*token, known(token)?))).collect();
        let unknown = tokens.iter().filter(|token| !found.contains_key(*token)).copied().collect();
        (found, unknown)
    }
}

async fn ask(node: &Node, tokens: &[Address]) -> Result<Vec<(Address, Token)>, UpstreamError> {
    let together = match node.chain.multicall3 {
        Some(multicall) => ask_together(node, multicall, tokens).await?,
        None => None,
    };
    let answers = match together {
        Some(answers) => answers,
        None => ask_one_by_one(node, tokens).await?,
    };
    let read = |(token, said): (&Address, &[Answer])| {
        let [symbol, name, decimals, is_erc721] = said else { return (*token, Token::default()) };
        let token_said = Token {
            symbol: symbol.as_ref().and_then(|bytes| text(bytes)),
            name: name.as_ref().and_then(|bytes| text(bytes)),
            decimals: decimals.as_ref().and_then(|bytes| number(bytes)),
            is_erc721: is_erc721.as_ref().is_some_and(|bytes| number(bytes) == Some(1)),
        };
        (*token, token_said)
    };
    Ok(tokens.iter().zip(answers.chunks(4)).map(read).collect())
}

fn questions() -> [Bytes; 4] {
    [SYMBOL.into(), NAME.into(), DECIMALS.into(), IS_ERC721.into()]
}

/// `None` when the contract is not there or does not answer as Multicall3 does.
async fn ask_together(
    node: &Node,
    multicall: Address,
    tokens: &[Address],
) -> Result<Option<Vec<Answer>>, UpstreamError> {
    let one = |target: &Address| {
        let target = *target;
        questions().map(|call_data| Call3 { target, allowFailure: true, callData: call_data })
    };
    let calls: Vec<Call3> = tokens.iter().flat_map(one).collect();
    let asked = calls.len();
    let data = Bytes::from(aggregate3Call { calls }.abi_encode());
    let Some(answer) = contract_said(node.call_gathered("eth_call", eth_call(multicall, &data)).await)? else {
        return Ok(None);
    };
    let Ok(results) = aggregate3Call::abi_decode_returns(&answer) else { return Ok(None) };
    if results.len() != asked {
        return Ok(None);
    }
    Ok(Some(results.into_iter().map(|result| result.success.then_some(result.returnData)).collect()))
}

async fn ask_one_by_one(node: &Node, tokens: &[Address]) -> Result<Vec<Answer>, UpstreamError> {
    let one = |target: &Address| {
        let target = *target;
        questions().map(|data| async move { contract_said(node.call("eth_call", eth_call(target, &data)).await) })
    };
    join_all(tokens.iter().flat_map(one)).await.into_iter().collect()
}

fn eth_call(to: Address, data: &Bytes) -> Value {
    json!([{ "to": to, "data": data }, "latest"])
}

/// A refusal is the contract's answer; a node that does not answer is a failure, and never an empty symbol.
fn contract_said(answer: Result<Box<RawValue>, CallError>) -> Result<Answer, UpstreamError> {
    match answer {
        Ok(answer) => Ok(hex_bytes(&answer)),
        Err(CallError::Refused | CallError::Unsupported) => Ok(None),
        Err(CallError::Upstream(error)) => Err(error),
    }
}

fn hex_bytes(answer: &RawValue) -> Answer {
    serde_json::from_str::<Bytes>(answer.get()).ok().filter(|bytes| !bytes.is_empty())
}

pub(crate) fn number(bytes: &[u8]) -> Option<u8> {
    let word: [u8; 32] = *bytes.first_chunk()?;
    u8::try_from(U256::from_be_bytes(word)).ok()
}

/// An ABI string, or the `bytes32` of early tokens.
pub(crate) fn text(bytes: &[u8]) -> Option<String> {
    let raw = if bytes.len() == 32 {
        bytes.split(|byte| *byte == 0).next()?
    } else {
        let offset = size_at(bytes, 0)?;
        let length = size_at(bytes, offset)?;
        let start = offset.checked_add(32)?;
        bytes.get(start..start.checked_add(length)?)?
    };
    let looked_at = raw.get(..raw.len().min(TEXT_BYTES_MAX))?;
    let said = String::from_utf8_lossy(looked_at);
    let said = Token::clip(&said);
    (!said.is_empty()).then(|| said.to_owned())
}

fn size_at(bytes: &[u8], at: usize) -> Option<usize> {
    let word: [u8; 32] = *bytes.get(at..)?.first_chunk()?;
    usize::try_from(U256::from_be_bytes(word)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn abi_string(said: &[u8]) -> Vec<u8> {
        let mut bytes = U256::from(32).to_be_bytes::<32>().to_vec();
        bytes.extend(U256::from(said.len()).to_be_bytes::<32>());
        bytes.extend(said);
        bytes
    }

    #[test]
    fn strings_and_bytes32_are_read() {
        assert_eq!(text(&abi_string(b"WETH")).as_deref(), Some("WETH"));
        let mut word = [0_u8; 32];
        word[..3].copy_from_slice(b"MKR");
        assert_eq!(text(&word).as_deref(), Some("MKR"));
    }

    #[test]
    fn hostile_text_is_cut_or_refused() {
        let long = abi_string(&[7_u8; 1_000_000]);
        assert_eq!(text(&long).map(|said| said.len()), Some(TOKEN_TEXT_BYTES_MAX));
        let split = abi_string("€".repeat(200).as_bytes());
        assert_eq!(text(&split).map(|said| said.len()), Some(255), "cut on a character boundary");
        let mut lies = abi_string(b"x");
        lies[32..64].fill(0xff);
        assert_eq!(text(&lies), None);
        assert_eq!(text(&abi_string(&[0xff, 0xfe])).as_deref(), Some("\u{fffd}\u{fffd}"));
        assert_eq!(text(&[]), None);
        assert_eq!(text(&[0_u8; 32]), None);
    }

    #[test]
    fn decimals_past_a_byte_are_no_decimals() {
        assert_eq!(number(&U256::from(255).to_be_bytes::<32>()), Some(255));
        assert_eq!(number(&U256::from(256).to_be_bytes::<32>()), None);
        assert_eq!(number(&U256::MAX.to_be_bytes::<32>()), None);
    }
}
