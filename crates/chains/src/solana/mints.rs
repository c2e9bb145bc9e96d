//! What mints say of themselves: the metadata extension of a Token-2022 mint, or the metadata account that Metaplex keeps at an
//! address derived from the mint. Both are asked for in bulk, and their text is untrusted.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use curve25519_dalek::edwards::CompressedEdwardsY;
use engine::Token;
use engine::solana::Key;
use sha2::{Digest, Sha256};

/// Accounts that a node gives in one answer.
pub(super) const ACCOUNTS_MAX: usize = 100;
/// metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s
const METAPLEX: Key = [
    11, 112, 101, 177, 227, 209, 124, 69, 56, 157, 82, 127, 107, 4, 195, 205, 88, 184, 108, 115, 26, 160, 253, 181, 73,
    182, 209, 188, 3, 248, 41, 70,
];
/// Where the extensions of a Token-2022 mint begin, after the mint, its padding and the byte that says it is one.
const EXTENSIONS_AT: usize = 166;
const EXTENSION_METADATA: u16 = 19;
/// A longer text is not taken for a name.
const TEXT_BYTES_MAX: usize = 1_024;

/// The address of the mint's metadata account: the first that is not a point of the curve, so that no private key exists for it.
pub(super) fn metadata_account(mint: &Key) -> Option<Key> {
    (0..=u8::MAX).rev().find_map(|bump| {
        let mut hash = Sha256::new();
        for part in [b"metadata".as_slice(), &METAPLEX, mint, &[bump], &METAPLEX, b"ProgramDerivedAddress"] {
            hash.update(part);
        }
        let key: Key = hash.finalize().into();
        CompressedEdwardsY(key).decompress().is_none().then_some(key)
    })
}

/// From the mint's own account.
pub(crate) fn of_mint(data: &str) -> Option<Token> {
    let data = STANDARD.decode(data).ok()?;
    let mut rest = data.get(EXTENSIONS_AT..)?;
    loop {
        let (head, after) = rest.split_first_chunk::<4>()?;
        let [kind_low, kind_high, length_low, length_high] = *head;
        let length = usize::from(u16::from_le_bytes([length_low, length_high]));
        let body = after.get(..length)?;
        if u16::from_le_bytes([kind_low, kind_high]) == EXTENSION_METADATA {
            return texts(body.get(64..)?);
        }
        rest = after.get(length..)?;
    }
}

/// From the account that Metaplex keeps beside it.
pub(crate) fn of_metadata(data: &str) -> Option<Token> {
    let data = STANDARD.decode(data).ok()?;
    texts(data.get(65..)?)
}

/// A name and a symbol, each after its length; padded with zeros in old accounts.
fn texts(data: &[u8]) -> Option<Token> {
    let (name, rest) = text(data)?;
    let (symbol, _) = text(rest)?;
    let is_there = |text: &String| !text.is_empty();
    Some(Token { name: Some(name).filter(is_there), symbol: Some(symbol).filter(is_there), ..Token::default() })
}

fn text(data: &[u8]) -> Option<(String, &[u8])> {
    let (length, rest) = data.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok().filter(|length| *length <= TEXT_BYTES_MAX)?;
    let (bytes, rest) = rest.split_at_checked(length)?;
    Some((String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Account;

    fn key(text: &str) -> Key {
        match Account::parse(text) {
            Ok(Account::Solana(key)) => key,
            _ => panic!("{text}"),
        }
    }

    #[test]
    fn the_metadata_account_of_usdc_is_where_the_chain_has_it() {
        assert_eq!(Account::Solana(METAPLEX).to_string(), "metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s");
        let found = metadata_account(&key("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")).unwrap();
        assert_eq!(Account::Solana(found).to_string(), "5x38Kp4hvdomTCnCrAny4UtMUt5rQBdB6px2K1Ui45Wq");
    }

    #[test]
    fn names_are_read_and_nonsense_is_not() {
        let mut data = vec![0; 65];
        for text in ["USD Coin\0\0", "USDC\0"] {
            data.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
            data.extend(text.as_bytes());
        }
        let token = of_metadata(&STANDARD.encode(&data)).unwrap();
        assert_eq!((token.name.as_deref(), token.symbol.as_deref()), (Some("USD Coin"), Some("USDC")));
        for broken in [&data[..70], &[0xff; 200], &[]] {
            assert!(of_metadata(&STANDARD.encode(broken)).is_none() && of_mint(&STANDARD.encode(broken)).is_none());
        }
        assert!(of_metadata("not base64!").is_none());
    }
}
