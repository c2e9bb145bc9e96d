//! Calldata, read by word, and the calls that are packed inside it. No offset is trusted.

use alloy_primitives::{Address, FixedBytes, U256};

use super::json::word_address;
use crate::rules::compile::{Field, Opens};
use crate::rules::path;

/// Calls looked at in one transaction.
pub const CALLS_MAX: usize = 256;

/// `transfer(address,uint256)`
pub const TRANSFER_CALL: FixedBytes<4> = FixedBytes([0xa9, 0x05, 0x9c, 0xbb]);

/// One call: to whom, with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContractCall<'a> {
    pub target: Address,
    pub input: &'a [u8],
}

#[derive(Debug, Clone, Copy)]
pub struct Calldata<'a> {
    pub selector: FixedBytes<4>,
    pub arguments: &'a [u8],
}

/// The calls inside, as far as they can be read; what is malformed is left out.
pub fn open<'a>(call: &Calldata<'a>, opens: &Opens, target: Address, acting: Address) -> Vec<ContractCall<'a>> {
    let inside = match opens {
        Opens::Inside { data, to } => inside(call, data, to.as_ref(), target),
        Opens::UserOperations => user_operations(call, acting),
        Opens::Packed => packed(call),
    };
    inside.unwrap_or_default()
}

fn inside<'a>(call: &Calldata<'a>, data: &Field, to: Option<&Field>, target: Address) -> Option<Vec<ContractCall<'a>>> {
    let one = |member: usize| {
        let target = match to {
            Some(field) => field.word(call.arguments, member).and_then(word_address)?,
            None => target,
        };
        Some(ContractCall { target, input: call.bytes_at(data.locate(call.arguments, member)?)? })
    };
    (0..data.count(call.arguments)?.min(CALLS_MAX)).map(one).collect()
}

/// Only the operations of the account whose view this is; the account itself is called with the operation's calldata.
fn user_operations<'a>(call: &Calldata<'a>, acting: Address) -> Option<Vec<ContractCall<'a>>> {
    const CALL_DATA_WORD: usize = 3;
    let mut found = Vec::new();
    for operation in call.members(call.offset(0)?)? {
        let account = call.word_at(operation).and_then(word_address)?;
        if account == acting {
            let offset = call.size_at(operation.checked_add(CALL_DATA_WORD.checked_mul(32)?)?)?;
            found.push(ContractCall { target: account, input: call.bytes_at(operation.checked_add(offset)?)? });
        }
    }
    Some(found)
}

fn packed<'a>(call: &Calldata<'a>) -> Option<Vec<ContractCall<'a>>> {
    const HEAD_BYTES: usize = 1 + 20 + 32 + 32;
    let mut rest = call.bytes_at(call.offset(0)?)?;
    let mut found = Vec::new();
    while let Some((head, tail)) = rest.split_at_checked(HEAD_BYTES) {
        let target = Address::from_slice(head.get(1..21)?);
        let length: &[u8; 32] = head.get(53..)?.first_chunk()?;
        let (input, next) = tail.split_at_checked(usize::try_from(U256::from_be_bytes(*length)).ok()?)?;
        found.push(ContractCall { target, input });
        if found.len() >= CALLS_MAX {
            break;
        }
        rest = next;
    }
    Some(found)
}

impl<'a> Calldata<'a> {
    pub fn split(input: &'a [u8]) -> Option<Self> {
        let (selector, arguments) = input.split_first_chunk::<4>()?;
        Some(Self { selector: FixedBytes(*selector), arguments })
    }

    /// Parameters that no selector stands before.
    pub fn bare(arguments: &'a [u8]) -> Self {
        Self { selector: FixedBytes::ZERO, arguments }
    }

    pub fn word_at(&self, byte: usize) -> Option<&'a [u8; 32]> {
        path::word_at(self.arguments, byte)
    }

    fn size_at(&self, byte: usize) -> Option<usize> {
        path::size_at(self.arguments, byte)
    }

    /// Where a dynamic parameter begins, as its head word says.
    pub fn offset(&self, head: usize) -> Option<usize> {
        self.size_at(head.checked_mul(32)?)
    }

    pub fn bytes_at(&self, start: usize) -> Option<&'a [u8]> {
        let length = self.size_at(start)?;
        let body = start.checked_add(32)?;
        self.arguments.get(body..body.checked_add(length)?)
    }

    /// Where the members of an array of dynamic members begin.
    pub fn members(&self, array: usize) -> Option<Vec<usize>> {
        let count = self.size_at(array)?.min(CALLS_MAX);
        let base = array.checked_add(32)?;
        (0..count).map(|at| base.checked_add(self.size_at(base.checked_add(at.checked_mul(32)?)?)?)).collect()
    }
}
