//! What columns are called, in lower case and without anything but letters and digits.

/// The first that a table has is taken.
const HASH: [&str; 15] = [
    "transactionhash",
    "txhash",
    "txnhash",
    "hash",
    "signature",
    "transactionsignature",
    "txid",
    "blockchainid",
    "transactionid",
    "blockchaintransactionid",
    "txsignature",
    "txlink",
    "transactionlink",
    "link",
    "tx",
];
const CHAIN: [&str; 6] = ["chain", "blockchain", "network", "netzwerk", "chainname", "networkname"];
const WALLET: [&str; 5] = ["wallet", "walletaddress", "mywallet", "myaddress", "account"];

pub(super) fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

pub(super) fn hash(names: &[String]) -> Option<usize> {
    first(&HASH, names)
}

pub(super) fn chain(names: &[String]) -> Option<usize> {
    first(&CHAIN, names)
}

pub(super) fn wallet(names: &[String]) -> Option<usize> {
    first(&WALLET, names)
}

fn first(known: &[&str], names: &[String]) -> Option<usize> {
    known.iter().find_map(|one| names.iter().position(|name| name == one))
}
