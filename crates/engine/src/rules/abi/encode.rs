//! Parameters as the bytes of a log or call, for cases and tests: what is not named is zero.

use alloy_primitives::{Address, U256};

use super::{AbiType, Param};

/// Members of a list that a case can name; its cases are small transactions in words.
const MEMBERS_MAX: usize = 64;

/// `value` gives the word at a path such as `offer[0].token`, `length` the members of the list at a path, or the words of
/// bytes that are all zero.
pub fn encode<'a>(
    params: impl IntoIterator<Item = &'a Param> + Clone,
    value: &dyn Fn(&str) -> U256,
    length: &dyn Fn(&str) -> usize,
) -> Vec<u8> {
    let members: Vec<(String, &AbiType)> = params.into_iter().map(|param| (param.name.clone(), &param.kind)).collect();
    sequence(&members, value, length)
}

/// Heads, then what they point to.
fn sequence(members: &[(String, &AbiType)], value: &dyn Fn(&str) -> U256, length: &dyn Fn(&str) -> usize) -> Vec<u8> {
    let words = members.iter().fold(0_usize, |sum, (_, kind)| sum.saturating_add(kind.head_words()));
    let head_bytes = words.saturating_mul(32);
    let (mut heads, mut tails) = (Vec::with_capacity(head_bytes), Vec::new());
    for (path, kind) in members {
        let body = one(path, kind, value, length);
        if kind.is_dynamic() {
            heads.extend(U256::from(head_bytes.saturating_add(tails.len())).to_be_bytes::<32>());
            tails.extend(body);
        } else {
            heads.extend(body);
        }
    }
    heads.extend(tails);
    heads
}

fn one(path: &str, kind: &AbiType, value: &dyn Fn(&str) -> U256, length: &dyn Fn(&str) -> usize) -> Vec<u8> {
    let numbered = |member: &'_ AbiType, count: usize| -> Vec<u8> {
        let members: Vec<(String, &AbiType)> = (0..count).map(|at| (format!("{path}[{at}]"), member)).collect();
        sequence(&members, value, length)
    };
    match kind {
        AbiType::Word(_) => value(path).to_be_bytes_vec(),
        // A case names words only: here the word is an address, as bridges write it. Where it is not named, the bytes may still have a length.
        AbiType::Bytes(_) if value(path).is_zero() => {
            let count = length(path).min(MEMBERS_MAX).saturating_mul(32);
            let mut bytes = U256::from(count).to_be_bytes_vec();
            bytes.resize(count.saturating_add(32), 0);
            bytes
        }
        AbiType::Bytes(name) => {
            let address = Address::from_word(value(path).into());
            let mut text = if name == "string" { address.to_string().into_bytes() } else { address.to_vec() };
            let mut bytes = U256::from(text.len()).to_be_bytes_vec();
            text.resize(text.len().next_multiple_of(32), 0);
            bytes.extend(text);
            bytes
        }
        AbiType::Array(member, count) => numbered(member, *count),
        AbiType::List(member) => {
            let count = length(path).min(MEMBERS_MAX);
            let mut bytes = U256::from(count).to_be_bytes_vec();
            bytes.extend(numbered(member, count));
            bytes
        }
        AbiType::Tuple(members) => {
            let members: Vec<(String, &AbiType)> =
                members.iter().map(|member| (format!("{path}.{}", member.name), &member.kind)).collect();
            sequence(&members, value, length)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Signature, head_words};
    use super::*;

    #[test]
    fn nested_lists_of_tuples_are_laid_out_as_the_abi_says() {
        let call = Signature::call("f(uint256 a, (address b, uint256[] c)[] d, uint256[2] e)").unwrap();
        let value = |path: &str| match path {
            "a" => U256::from(1),
            "d[0].b" => U256::from(2),
            "d[0].c[0]" => U256::from(3),
            "e[1]" => U256::from(4),
            _ => U256::ZERO,
        };
        let length = |path: &str| usize::from(path == "d" || path == "d[0].c");
        let bytes = encode(&call.params, &value, &length);
        let words: Vec<u64> = bytes.chunks(32).map(|word| U256::from_be_slice(word).to()).collect();
        assert_eq!(words, [1, 128, 0, 4, 1, 32, 2, 64, 1, 3]);
        assert_eq!(head_words(&call.params), 4);
    }
}
