//! Hashes of transactions in cells.

use engine::TxHash;

/// Digits of an EVM hash without its `0x`.
const EVM_DIGITS: usize = 64;

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
