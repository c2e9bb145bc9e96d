//! Bytes as text, and hashes in text.

use std::borrow::Cow;

use engine::TxHash;

const UTF8_MARK: &[u8] = &[0xef, 0xbb, 0xbf];
const UTF16_LITTLE_MARK: &[u8] = &[0xff, 0xfe];
const UTF16_BIG_MARK: &[u8] = &[0xfe, 0xff];
/// Digits of an EVM hash without its `0x`.
const EVM_DIGITS: usize = 64;

/// What a mark at the beginning says it is, else UTF-8. Hashes are plain letters, so what is neither does no harm elsewhere in the table.
pub(super) fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| -> String {
        let units = bytes.chunks_exact(2).filter_map(|pair| pair.try_into().ok().map(unit));
        char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    if let Some(rest) = bytes.strip_prefix(UTF16_LITTLE_MARK) {
        return Cow::Owned(wide(rest, u16::from_le_bytes));
    }
    if let Some(rest) = bytes.strip_prefix(UTF16_BIG_MARK) {
        return Cow::Owned(wide(rest, u16::from_be_bytes));
    }
    String::from_utf8_lossy(bytes.strip_prefix(UTF8_MARK).unwrap_or(bytes))
}

/// The hash that a cell holds, by itself or in an explorer's link, and the chain of that explorer.
pub(super) fn hash_in(cell: &str, explorers: &[(String, String)]) -> Option<(TxHash, Option<String>)> {
    if let Some((_, rest)) = cell.split_once("://") {
        let mut parts = rest.split(['/', '?', '#', '&', '=']);
        let host = parts.next()?.trim_start_matches("www.");
        let hash = parts.find_map(hash)?;
        let explorer = explorers.iter().find(|(known, _)| known.eq_ignore_ascii_case(host));
        return Some((hash, explorer.map(|(_, chain)| chain.clone())));
    }
    hash(cell).map(|hash| (hash, None))
}

fn hash(text: &str) -> Option<TxHash> {
    let is_bare = text.len() == EVM_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_bare { TxHash::parse(&format!("0x{text}")).ok() } else { TxHash::parse(text).ok() }
}
