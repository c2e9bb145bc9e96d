//! The columns of a file of facts, once: the reader, the writer and the documentation have them from here.

/// Counts up when a row means something else than before. A new column or a new field of `known` that may be absent does not change it.
pub const VERSION: i64 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// JSON as text.
    Json,
    Number,
    Truth,
    Time,
}

impl Kind {
    /// As people and their tools call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "text (JSON)",
            Self::Number => "INT32 or INT64",
            Self::Truth => "BOOLEAN",
            Self::Time => "TIMESTAMP in UTC, or INT64 in seconds since 1970",
        }
    }
}

#[derive(Debug)]
pub struct ColumnRow {
    pub name: &'static str,
    pub kind: Kind,
    /// Whether every row must have a value.
    pub is_required: bool,
    /// In Markdown.
    pub about: &'static str,
}

const fn column(name: &'static str, kind: Kind, is_required: bool, about: &'static str) -> ColumnRow {
    ColumnRow { name, kind, is_required, about }
}

/// Places in `COLUMNS`.
pub(crate) mod place {
    pub(crate) const VERSION: usize = 0;
    pub(crate) const CHAIN: usize = 1;
    pub(crate) const HASH: usize = 2;
    pub(crate) const WALLET: usize = 3;
    pub(crate) const BLOCK_NUMBER: usize = 4;
    pub(crate) const BLOCK_TIME: usize = 5;
    pub(crate) const FINAL: usize = 6;
    pub(crate) const TRANSACTION: usize = 7;
    pub(crate) const RECEIPT: usize = 8;
    pub(crate) const INTERNAL: usize = 9;
    pub(crate) const KNOWN: usize = 10;
}

pub const COLUMNS: [ColumnRow; 11] = [
    column("version", Kind::Number, true, "`1`. A file with a row of a later version is refused"),
    column("chain", Kind::Text, true, "slug, alias or decimal chain id, as `taxon chains` lists them"),
    column("hash", Kind::Text, true, "`0x` and 64 digits, or a signature of Solana in base58"),
    column("wallet", Kind::Text, false, "whose view is asked for; without one that of `--wallet`, else the sender's"),
    column("block_number", Kind::Number, false, "on Solana the slot. Without it the number that `transaction` has"),
    column("block_time", Kind::Time, false, "without it the verdict has no `block`"),
    column("final", Kind::Truth, false, "whether the chain calls the block final; without it, it is not"),
    column(
        "transaction",
        Kind::Json,
        true,
        "the result of `eth_getTransactionByHash`; on Solana that of `getTransaction`, or an item of `transactions` of `getBlock`, in the encoding `json`",
    ),
    column(
        "receipt",
        Kind::Json,
        false,
        "the result of `eth_getTransactionReceipt`; required on EVM chains, empty on Solana",
    ),
    column(
        "internal",
        Kind::Json,
        false,
        "coin that contracts passed on: the result of `debug_traceTransaction` with `callTracer`, or that of `trace_transaction`, or \
         `{\"transfers\":[{\"from\",\"to\",\"value\"}],\"failed\":false}`; `{\"untraceable\":true}` where no node could say, and \
         `{\"listed\":[…]}` for what only an explorer lists",
    ),
    column("known", Kind::Json, false, "what else is known, as an object; its fields are below"),
];

/// A field of `known`.
#[derive(Debug)]
pub struct KnownRow {
    pub name: &'static str,
    /// In Markdown.
    pub about: &'static str,
}

const fn known(name: &'static str, about: &'static str) -> KnownRow {
    KnownRow { name, about }
}

pub const KNOWN: [KnownRow; 9] = [
    known(
        "tokens",
        "by contract or mint: `{\"symbol\",\"name\",\"decimals\",\"is_erc721\"}` as the token says them of itself. Without them amounts are raw",
    ),
    known("hash_computed", "true where somebody computed the hash from what was signed"),
    known(
        "balances",
        "by account: `{\"before\",\"after\",\"sent\":[nonce before, nonce after]}` in the native coin around the block, where `internal` is not known",
    ),
    known(
        "holdings",
        "`[{\"token\",\"holder\",\"before\":{\"balance\",\"shares\"},\"after\":{…}}]` of tokens that rebase, around the block",
    ),
    known(
        "given",
        "`[{\"token\",\"giver\",\"taker\",\"amount\"}]`: given in earlier blocks, less what came back; null where nobody could say",
    ),
    known(
        "vouched",
        "`[{\"asked\",\"selector\",\"about\",\"answer\"}]`: the first word of what a contract said of another; null where nobody could say",
    ),
    known(
        "codes",
        "by contract: `{\"code\",\"beacon\"}`, or `{\"start\",\"hash\",\"beacon\"}` with its first 128 bytes and the Keccak hash of all; null where nobody could say",
    ),
    known("also_on", "other chains that have a transaction of this hash"),
    known("unasked", "chains that might have it too and could not be asked"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_that_of_its_column() {
        let places = [
            (place::VERSION, "version"),
            (place::CHAIN, "chain"),
            (place::HASH, "hash"),
            (place::WALLET, "wallet"),
            (place::BLOCK_NUMBER, "block_number"),
            (place::BLOCK_TIME, "block_time"),
            (place::FINAL, "final"),
            (place::TRANSACTION, "transaction"),
            (place::RECEIPT, "receipt"),
            (place::INTERNAL, "internal"),
            (place::KNOWN, "known"),
        ];
        assert_eq!(places.len(), COLUMNS.len());
        for (place, name) in places {
            assert_eq!(COLUMNS[place].name, name);
        }
    }
}
