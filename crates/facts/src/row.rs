//! One row: what somebody wrote down of a transaction.

use engine::{Account, Block, Chain, TxHash};

use crate::error::RowError;
use crate::schema::VERSION;

/// The cells of a row, as they are.
#[derive(Debug, Clone, Copy, Default)]
pub struct Row<'a> {
    pub version: Option<i64>,
    pub chain: Option<&'a str>,
    pub hash: Option<&'a str>,
    pub wallet: Option<&'a str>,
    pub block_number: Option<u64>,
    /// In seconds since 1970.
    pub block_time: Option<i64>,
    pub is_final: Option<bool>,
    pub transaction: Option<&'a str>,
    pub receipt: Option<&'a str>,
    pub internal: Option<&'a str>,
    pub known: Option<&'a str>,
}

impl Row<'_> {
    pub(crate) fn check_version(&self) -> Result<(), RowError> {
        match self.version {
            None => Err(RowError::Missing("version")),
            Some(version) if version > VERSION => Err(RowError::FutureVersion(version)),
            Some(VERSION) => Ok(()),
            Some(other) => Err(RowError::unreadable("version", &format!("there is no version {other}"))),
        }
    }

    /// The block, where its number is in the row or in what the nodes said, and its time is known.
    pub(crate) fn block(&self, said: (Option<u64>, Option<i64>)) -> Result<Option<Block>, RowError> {
        let (number, time) = said;
        if differ(self.block_number, number) {
            return Err(RowError::Contradiction("`block_number` is another block than that of the transaction"));
        }
        if differ(self.block_time, time) {
            return Err(RowError::Contradiction("`block_time` is another time than that of the transaction"));
        }
        let (number, timestamp) = (self.block_number.or(number), self.block_time.or(time));
        let finalized = self.is_final.unwrap_or(false);
        Ok(number.zip(timestamp).map(|(number, timestamp)| Block { number, timestamp, finalized }))
    }
}

/// Both exist and differ.
pub(crate) fn differ<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if one != other)
}

/// The same with texts of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowText {
    pub chain: String,
    pub hash: String,
    pub wallet: Option<String>,
    pub block_number: Option<u64>,
    pub block_time: Option<i64>,
    pub is_final: Option<bool>,
    pub transaction: String,
    pub receipt: Option<String>,
    pub internal: Option<String>,
    pub known: Option<String>,
}

impl RowText {
    pub(crate) fn new(chain: &Chain, hash: TxHash, wallet: Option<Account>, block: Option<Block>) -> Self {
        Self {
            chain: chain.slug.clone(),
            hash: hash.to_string(),
            wallet: wallet.map(|wallet| wallet.to_string()),
            block_number: block.map(|block| block.number),
            block_time: block.map(|block| block.timestamp),
            is_final: block.map(|block| block.finalized),
            transaction: String::new(),
            receipt: None,
            internal: None,
            known: None,
        }
    }

    pub fn row(&self) -> Row<'_> {
        Row {
            version: Some(VERSION),
            chain: Some(&self.chain),
            hash: Some(&self.hash),
            wallet: self.wallet.as_deref(),
            block_number: self.block_number,
            block_time: self.block_time,
            is_final: self.is_final,
            transaction: Some(&self.transaction),
            receipt: self.receipt.as_deref(),
            internal: self.internal.as_deref(),
            known: self.known.as_deref(),
        }
    }

    /// Bytes of its texts.
    pub fn bytes(&self) -> usize {
        let texts = [&self.wallet, &self.receipt, &self.internal, &self.known];
        let optional = texts.into_iter().flatten().map(String::len).sum::<usize>();
        [&self.chain, &self.hash, &self.transaction]
            .map(String::len)
            .into_iter()
            .sum::<usize>()
            .saturating_add(optional)
    }
}
