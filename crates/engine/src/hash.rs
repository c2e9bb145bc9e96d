//! A transaction hash, parsed once where requests come in: behind that a malformed hash cannot be represented.

use std::fmt;

use alloy_primitives::{B256, hex};

use crate::base58::{self, Base58};
use crate::chain::Family;

/// A Solana signature is exactly this many bytes.
const SIGNATURE_BYTES: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TxHash {
    Evm(B256),
    Solana([u8; SIGNATURE_BYTES]),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a hash is `0x` and 64 hexadecimal digits (EVM), or a base58 signature of 64 bytes (Solana)")]
pub struct InvalidHash;

impl TxHash {
    /// Nothing is trimmed and nothing is guessed: what is not exactly one of the two formats is refused.
    pub fn parse(text: &str) -> Result<Self, InvalidHash> {
        match text.strip_prefix("0x") {
            Some(digits) => Self::parse_evm(digits),
            None => Self::parse_solana(text),
        }
    }

    fn parse_evm(digits: &str) -> Result<Self, InvalidHash> {
        let mut bytes = [0_u8; 32];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| InvalidHash)?;
        // The decoder takes a second prefix; the format does not.
        if digits.starts_with("0x") { Err(InvalidHash) } else { Ok(Self::Evm(B256::from(bytes))) }
    }

    fn parse_solana(text: &str) -> Result<Self, InvalidHash> {
        base58::read_signature(text).map(Self::Solana).ok_or(InvalidHash)
    }

    pub fn family(&self) -> Family {
        match self {
            Self::Evm(_) => Family::Evm,
            Self::Solana(_) => Family::Solana,
        }
    }
}

impl fmt::Display for TxHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Evm(hash) => f.write_str(hex::Buffer::<32, true>::new().format(hash)),
            Self::Solana(signature) => f.write_str(Base58::signature(signature).as_str()),
        }
    }
}

impl fmt::Debug for TxHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVM: &str = "0x00035065F364453ca4585ab5d4ee7dacc59a3f7acc305644c334fdfff3a2527f";
    const SOLANA: &str = "127PUhUseWJgUxcRY7fzHrWrM1tDVfgs7SjHDf5ccMjHaJhMqwD6gmcubinsmqkwzVuUHaziriLuQZJM9CiXaBrS";

    #[test]
    fn both_formats_parse_and_print_in_their_canonical_spelling() {
        assert_eq!(TxHash::parse(EVM).unwrap().to_string(), EVM.to_lowercase());
        assert_eq!(TxHash::parse(SOLANA).unwrap().to_string(), SOLANA);
    }

    #[test]
    fn everything_else_is_refused() {
        let too_long = format!("{EVM}0");
        let too_short = &EVM[..65];
        let padded = format!(" {EVM}");
        let upper_prefix = EVM.replacen("0x", "0X", 1);
        let double_prefix = format!("0x0x{}", &EVM[4..]);
        let off_alphabet = SOLANA.replacen('2', "0", 1);
        let huge = "1".repeat(1_000_000);
        for bad in ["", "0x", &too_long, too_short, &padded, &upper_prefix, &double_prefix, &off_alphabet, &huge] {
            assert_eq!(TxHash::parse(bad), Err(InvalidHash), "{bad:.80}");
        }
    }
}
