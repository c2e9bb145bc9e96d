//! What tokens answer when they are asked for their metadata, alone or through Multicall3.

use std::collections::HashMap;

use serde_json::Value;

const MULTICALL: &str = "0xca11bde05977b3631167028862be2a173976ca11";
const AGGREGATE: [u8; 4] = [0x82, 0xad, 0x56, 0xcb];
const SYMBOL: [u8; 4] = [0x95, 0xd8, 0x9b, 0x41];
const NAME: [u8; 4] = [0x06, 0xfd, 0xde, 0x03];
const DECIMALS: [u8; 4] = [0x31, 0x3c, 0xe5, 0x67];
const WORD: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Tokens {
    said: HashMap<String, Value>,
}

impl Tokens {
    pub(super) fn add(&mut self, row: &Value) {
        let tokens = row.get("tokens").and_then(Value::as_object).into_iter().flatten();
        self.said.extend(tokens.map(|(token, said)| (token.to_lowercase(), said.clone())));
    }

    /// `None` where the contract reverts.
    pub(super) fn call(&self, params: &Value) -> Option<String> {
        let call = params.get(0)?;
        let data = bytes(call.get("data")?.as_str()?)?;
        Some(format!("0x{}", hex(&self.answer(&call.get("to")?.as_str()?.to_lowercase(), &data)?)))
    }

    fn answer(&self, to: &str, data: &[u8]) -> Option<Vec<u8>> {
        let selector = *data.first_chunk::<4>()?;
        if to == MULTICALL && selector == AGGREGATE {
            return self.together(data.get(4..)?);
        }
        let said = self.said.get(to)?;
        match selector {
            SYMBOL => said.get("symbol")?.as_str().map(string),
            NAME => said.get("name")?.as_str().map(string),
            DECIMALS => Some(word(said.get("decimals")?.as_u64()?).to_vec()),
            _ => {
                let is_erc721 = said.get("kind")? == "erc721" && data.get(4..8)? == [0x80, 0xac, 0x58, 0xcd];
                Some(word(u64::from(is_erc721)).to_vec())
            }
        }
    }

    /// `aggregate3((address,bool,bytes)[])`
    fn together(&self, arguments: &[u8]) -> Option<Vec<u8>> {
        let list = size(arguments, 0)?;
        let first = list + WORD;
        let count = size(arguments, list)?;
        let (mut offsets, mut parts) = (Vec::new(), Vec::new());
        for at in 0..count {
            let call = first + size(arguments, first + at * WORD)?;
            let to = format!("0x{}", hex(arguments.get(call + 12..call + WORD)?));
            let data = call + size(arguments, call + 2 * WORD)?;
            let data = arguments.get(data + WORD..data + WORD + size(arguments, data)?)?;
            let answer = self.answer(&to, data);
            offsets.extend(word(u64::try_from(count * WORD + parts.len()).ok()?));
            parts.extend(word(u64::from(answer.is_some())));
            parts.extend(word(2 * u64::try_from(WORD).ok()?));
            parts.extend(padded(&answer.unwrap_or_default()));
        }
        let head = [word(u64::try_from(WORD).ok()?), word(u64::try_from(count).ok()?)].concat();
        Some([head, offsets, parts].concat())
    }
}

fn word(value: u64) -> [u8; WORD] {
    let mut word = [0; WORD];
    if let Some(end) = word.last_chunk_mut::<8>() {
        *end = value.to_be_bytes();
    }
    word
}

fn size(bytes: &[u8], at: usize) -> Option<usize> {
    let word: &[u8; WORD] = bytes.get(at..)?.first_chunk()?;
    usize::try_from(u64::from_be_bytes(*word.last_chunk()?)).ok()
}

/// Its length, and the bytes up to a whole word.
fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut padded = word(u64::try_from(bytes.len()).unwrap_or_default()).to_vec();
    padded.extend(bytes);
    padded.resize(WORD + bytes.len().next_multiple_of(WORD), 0);
    padded
}

fn string(text: &str) -> Vec<u8> {
    [word(32).to_vec(), padded(text.as_bytes())].concat()
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x")?;
    let pair = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    (0..digits.len()).step_by(2).map(pair).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn many_questions_are_answered_as_each_would_be() {
        let mut tokens = Tokens::default();
        let token = format!("0x{:040x}", 7);
        tokens.add(&json!({ "tokens": { token.as_str(): { "symbol": "ABC", "decimals": 6 } } }));
        assert_eq!(tokens.answer(&token, &DECIMALS).unwrap(), word(6));
        let call = |to: u8, data: &[u8]| [&word(u64::from(to))[..], &word(1), &word(96), &padded(data)].concat();
        let (one, other) = (call(7, &SYMBOL), call(9, &SYMBOL));
        let offsets = [word(64), word(64 + u64::try_from(one.len()).unwrap())].concat();
        let asked = [&AGGREGATE[..], &word(32), &word(2), &offsets, &one, &other].concat();
        let said = tokens.answer(MULTICALL, &asked).unwrap();
        let symbol = string("ABC");
        let answers = [&word(1)[..], &word(64), &padded(&symbol), &word(0), &word(64), &padded(&[])].concat();
        let expected = [&word(32)[..], &word(2), &word(64), &word(64 + 96 + 96), &answers].concat();
        assert_eq!(hex(&said), hex(&expected));
    }
}
