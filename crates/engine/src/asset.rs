//! Who holds, what is held, and how it moved: as the chain has it, before any reading of it.

use std::fmt;

use alloy_primitives::{Address, U256, hex};
use serde::{Deserialize, Serialize, Serializer};

use crate::base58::{self, Base58};

/// An address of either family. EVM addresses are written in lower-case hex, Solana's in base58.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Account {
    Evm(Address),
    Solana([u8; 32]),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an address is `0x` and 40 hexadecimal digits (EVM), or base58 of 32 bytes (Solana)")]
pub struct InvalidAddress;

impl Account {
    /// As bridges write the account of any chain: 32 bytes, an EVM address with zeros before it.
    pub fn from_word(word: &[u8; 32]) -> Self {
        let address = Address::from_word(word.into());
        if address.into_word() == *word { Self::Evm(address) } else { Self::Solana(*word) }
    }

    /// As bridges write it where its length tells the family: 20 bytes, 32 bytes, or text, with the name of a chain before it or without. Of a validator
    /// whose withdrawals go to an account, the credentials are that; of another they are the hash of a key. Zeros name nobody.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let found = match bytes {
            [1 | 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, address @ ..] if address.len() == 20 => {
                Some(Self::Evm(Address::from_slice(address)))
            }
            address if address.len() == 20 => Some(Self::Evm(Address::from_slice(address))),
            word if word.len() == 32 => {
                let account = Self::from_word(word.try_into().ok()?);
                Some(account).filter(|account| account.evm().is_some() || word.first() != Some(&0))
            }
            text => Self::from_text(std::str::from_utf8(text).ok()?),
        };
        found.filter(|account| !account.is_zero())
    }

    fn from_text(text: &str) -> Option<Self> {
        let Some((_, account)) = text.rsplit_once(':') else { return Self::parse(text).ok() };
        // Some write an address behind the name of its chain without `0x`.
        Self::parse(account).or_else(|_| Self::parse(&format!("0x{account}"))).ok()
    }

    pub fn parse(text: &str) -> Result<Self, InvalidAddress> {
        if let Some(digits) = text.strip_prefix("0x") {
            let well_formed = digits.len() == 40 && digits.bytes().all(|b| b.is_ascii_hexdigit());
            return match text.parse() {
                Ok(address) if well_formed => Ok(Self::Evm(address)),
                _ => Err(InvalidAddress),
            };
        }
        base58::read_address(text).map(Self::Solana).ok_or(InvalidAddress)
    }

    pub fn evm(&self) -> Option<Address> {
        match self {
            Self::Evm(address) => Some(*address),
            Self::Solana(_) => None,
        }
    }

    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Evm(address) => address.as_slice(),
            Self::Solana(key) => key,
        }
    }

    /// The address that mints and burns pass through.
    pub fn is_zero(&self) -> bool {
        match self {
            Self::Evm(address) => address.is_zero(),
            Self::Solana(key) => *key == [0; 32],
        }
    }
}

impl From<Address> for Account {
    fn from(address: Address) -> Self {
        Self::Evm(address)
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Evm(address) => f.write_str(hex::Buffer::<20, true>::new().format(address)),
            Self::Solana(bytes) => f.write_str(Base58::address(bytes).as_str()),
        }
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<'de> Deserialize<'de> for Account {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl Serialize for Account {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Evm(address) => serializer.serialize_str(hex::Buffer::<20, true>::new().format(address)),
            Self::Solana(bytes) => serializer.serialize_str(Base58::address(bytes).as_str()),
        }
    }
}

/// What kind of NFT; present on NFT legs only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NftKind {
    Erc721,
    Erc1155,
    Erc6909,
    Cryptopunk,
    SplNft,
    CompressedNft,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asset {
    Native,
    Token(Account),
    Nft { contract: Account, id: U256, kind: NftKind },
}

impl Asset {
    /// The contract or mint behind the asset; the native coin has none.
    pub fn contract(&self) -> Option<Account> {
        match self {
            Self::Native => None,
            Self::Token(contract) | Self::Nft { contract, .. } => Some(*contract),
        }
    }

    pub fn is_nft(&self) -> bool {
        matches!(self, Self::Nft { .. })
    }
}

/// Where on chain a thing was seen. `Log` carries the position inside the receipt; the number that
/// explorers show is looked up when it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Seen {
    /// The transaction's own value field.
    Value,
    Log(usize),
    Trace(usize),
    /// The outer instruction of a Solana transaction.
    Instruction(usize),
    /// Known only as a difference of balances.
    Balance,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Movement {
    pub asset: Asset,
    pub from: Account,
    pub to: Account,
    pub amount: U256,
    pub seen: Seen,
}

impl Movement {
    pub fn is_mint(&self) -> bool {
        self.from.is_zero()
    }

    pub fn is_burn(&self) -> bool {
        self.to.is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bridges_write_an_account_as_its_bytes_or_as_text() {
        let text = "0x00000000000000000000000000000000000000aA";
        let account = Account::parse(text).unwrap();
        let address = account.evm().unwrap();
        let written = [
            address.as_slice(),
            address.into_word().as_slice(),
            text.as_bytes(),
            b"aurora:0x00000000000000000000000000000000000000aa",
        ]
        .map(Account::from_bytes);
        assert_eq!(written, [Some(account); 4]);
        let solana = Account::Solana([7; 32]);
        assert_eq!([[7; 32].as_slice(), solana.to_string().as_bytes()].map(Account::from_bytes), [Some(solana); 2]);
        let hashed: Vec<u8> = (0..32).collect();
        for nobody in
            [b"".as_slice(), b"0x", b"alice.near", b"osmo1qqqq", &[0xff; 21], &[0xff; 52], &[0; 20], &[0; 32], &hashed]
        {
            assert_eq!(Account::from_bytes(nobody), None, "{nobody:?}");
        }
    }
}
