//! Which transactions a table asks for: a list of hashes or links, the CSV of an explorer or a tax tool, JSON Lines, or Parquet. Read as a spreadsheet would:
//! separators, byte-order marks and headers are guessed, and what was understood is told.

mod csv;
mod hash;
mod json;
mod names;
mod parquet;
mod text;

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read, Seek, SeekFrom};

use engine::{Account, TxHash};
use serde::{Deserialize, Serialize};

/// As with a job of the service.
pub const FILE_BYTES_MAX: u64 = 256 << 20;
pub const ROWS_MAX: usize = 1_000_000;
const COLUMNS_MAX: usize = 1_024;
/// A row of a table that people use is below a thousandth of it.
const ROW_BYTES_MAX: usize = 1 << 20;
/// Rows that could not be read and are told one by one; the others are counted.
const REFUSALS_TOLD_MAX: usize = 100;
/// Names of columns that are told.
const NAMES_TOLD_MAX: usize = 40;
/// What is shown of a cell that is no hash.
const SHOWN_CHARS_MAX: usize = 80;

/// One transaction that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub hash: TxHash,
    /// A name of a chain, as the table or the link has it.
    pub chain: Option<String>,
    pub wallet: Option<Account>,
}

/// How a table was understood.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Understood {
    /// Transactions that were handed on.
    pub count: usize,
    pub columns: Columns,
    /// Rows of the same transaction and wallet as an earlier one.
    pub repeated: usize,
    /// Rows with nothing where the hash should be.
    pub empty: usize,
    /// Rows whose wallet is no address, such as a name: they are read as if they named none.
    pub unread_wallets: usize,
    pub refused: Vec<Refusal>,
    /// Refused rows, also those that are not told one by one.
    pub refused_count: usize,
}

/// Where in the table things stand, for a person to check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Columns {
    pub separator: Option<char>,
    pub has_header: bool,
    /// The names of the columns, or their numbers from one where they have none.
    pub hash: String,
    pub chain: Option<String>,
    pub wallet: Option<String>,
    /// What the columns are called, the first 40: any may be named instead.
    pub names: Vec<String>,
}

/// A row that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// From one, the header counted where it is a row.
    pub row: usize,
    pub column: String,
    pub what: String,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    #[error("the file is longer than {FILE_BYTES_MAX} bytes")]
    TooLong,
    #[error("the table has more than {ROWS_MAX} rows")]
    TooManyRows,
    #[error("row {row} is longer than {ROW_BYTES_MAX} bytes; a quote may be left open")]
    RowTooLong { row: usize },
    #[error("row {row} has more than {COLUMNS_MAX} columns")]
    TooManyColumns { row: usize },
    #[error("row {row} is no line of a table: {what}")]
    Broken { row: usize, what: String },
    #[error("no column holds hashes of transactions; the columns are: {columns}")]
    NoHashes { columns: String },
    #[error("the table has no column `{name}`; the columns are: {columns}")]
    NoColumn { name: String, columns: String },
    #[error("the file has no rows")]
    Empty,
    #[error("the table cannot be read: {0}")]
    Unreadable(String),
    #[error("the file begins as Parquet and cannot be read: {0}")]
    Parquet(String),
    /// Whoever takes the rows wants no more of them.
    #[error("the rows of the table could not be kept")]
    NotTaken,
}

impl From<io::Error> for TableError {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// What the caller knows of the table.
#[derive(Debug, Default)]
pub struct Hints<'a> {
    /// The column that holds the hashes.
    pub column: Option<&'a str>,
    /// Whose view it is where the row names none.
    pub wallet: Option<Account>,
    /// Hosts of block explorers, each with the name of its chain.
    pub explorers: &'a [(String, String)],
    pub extent: Extent,
}

/// How long a table may be.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// As somebody uploads it: `FILE_BYTES_MAX` and `ROWS_MAX`.
    #[default]
    Bounded,
    /// An operator's own, of any length. Rows that are repeated are then known within `ROWS_MAX` of each other.
    Unbounded,
}

/// Whoever takes the transactions; false where it wants no more.
pub type Take<'a> = &'a mut dyn FnMut(Asked) -> bool;

/// Hashes and explorers' links as somebody pastes them, between spaces, commas or lines; each once. The error is the first word that is neither.
pub fn pasted<'t>(text: &'t str, explorers: &[(String, String)]) -> Result<Vec<Asked>, &'t str> {
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '"' | '\'' | '<' | '>'));
    let mut found: Vec<Asked> = Vec::new();
    for word in words.filter(|word| !word.is_empty()) {
        let (hash, chain) = hash::hash_in(word, explorers).ok_or(word)?;
        if found.iter().all(|known| known.hash != hash) {
            found.push(Asked { hash, chain, wallet: None });
        }
    }
    Ok(found)
}

/// Reads a whole table and hands on one transaction after another. Of the table itself no more than a few rows are held at a time.
pub fn understand(mut table: impl Read + Seek, hints: &Hints<'_>, take: Take<'_>) -> Result<Understood, TableError> {
    let length = table.seek(SeekFrom::End(0))?;
    if hints.extent == Extent::Bounded && length > FILE_BYTES_MAX {
        return Err(TableError::TooLong);
    }
    table.rewind()?;
    let mut beginning = Vec::new();
    table.by_ref().take(4).read_to_end(&mut beginning)?;
    table.rewind()?;
    let mut collector = Collector {
        hints,
        take,
        seen: BTreeSet::new(),
        keys: [RandomState::new(), RandomState::new()],
        understood: Understood::default(),
    };
    // What a file is named says nothing: its first bytes do.
    match beginning == columns::MAGIC {
        true => parquet::read(table, length, &mut collector)?,
        false => text::read(table, &mut collector)?,
    }
    let understood = collector.understood;
    if understood.count == 0 && understood.refused_count == 0 {
        return Err(TableError::Empty);
    }
    Ok(understood)
}

/// What a person sees of a cell or a title.
fn shown(text: &str) -> String {
    crate::cell::one_line(text).chars().take(SHOWN_CHARS_MAX).collect()
}

/// Takes the cells of one row after another.
struct Collector<'a> {
    hints: &'a Hints<'a>,
    take: Take<'a>,
    /// Fingerprints of what was handed on, under keys that no table can know: a million rows as they are would take too much room.
    seen: BTreeSet<[u64; 2]>,
    keys: [RandomState; 2],
    understood: Understood,
}

/// The cells of a row that matter.
#[derive(Default)]
struct Cells<'a> {
    hash: &'a str,
    chain: Option<&'a str>,
    wallet: Option<&'a str>,
}

impl Collector<'_> {
    fn take(&mut self, row: usize, column: &str, cells: &Cells<'_>) -> Result<(), TableError> {
        let cell = cells.hash.trim();
        if cell.is_empty() {
            self.understood.empty = self.understood.empty.saturating_add(1);
            return Ok(());
        }
        let Some((hash, linked)) = hash::hash_in(cell, self.hints.explorers) else {
            self.refuse(row, column, cell);
            return Ok(());
        };
        let named = |cell: &str| (!cell.trim().is_empty()).then(|| cell.trim().to_owned());
        let chain = cells.chain.and_then(named).or(linked);
        let cell = cells.wallet.map(str::trim).filter(|cell| !cell.is_empty());
        let named_wallet = cell.and_then(|cell| Account::parse(cell).ok());
        let is_unread = cell.is_some() && named_wallet.is_none();
        self.understood.unread_wallets = self.understood.unread_wallets.saturating_add(usize::from(is_unread));
        let wallet = named_wallet.or(self.hints.wallet);
        let fingerprint = [0, 1].map(|key: usize| self.keys.get(key).map_or(0, |key| key.hash_one((hash, wallet))));
        if !self.seen.insert(fingerprint) {
            self.understood.repeated = self.understood.repeated.saturating_add(1);
            return Ok(());
        }
        match self.hints.extent {
            Extent::Bounded if self.understood.count >= ROWS_MAX => return Err(TableError::TooManyRows),
            Extent::Unbounded if self.seen.len() >= ROWS_MAX => self.seen.clear(),
            _ => {}
        }
        self.understood.count = self.understood.count.saturating_add(1);
        if (self.take)(Asked { hash, chain, wallet }) { Ok(()) } else { Err(TableError::NotTaken) }
    }

    fn refuse(&mut self, row: usize, column: &str, cell: &str) {
        self.understood.refused_count = self.understood.refused_count.saturating_add(1);
        if self.understood.refused.len() < REFUSALS_TOLD_MAX {
            let what = format!("`{}` is no hash of a transaction", shown(cell));
            self.understood.refused.push(Refusal { row, column: column.to_owned(), what });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVM: &str = "0x04df701a75c3dc3f1283c6a26e668bec4bd92cf7f02e9963c3c887f5376c590e";
    const OTHER: &str = "0x6cb9d7ceb55a1063c17b58cb643e699525ca6037e711c34283cf0f3d6e81716e";
    const SOLANA: &str = "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW";

    fn explorers() -> Vec<(String, String)> {
        [("basescan.org", "base"), ("solscan.io", "solana")]
            .map(|(host, chain)| (host.to_owned(), chain.to_owned()))
            .to_vec()
    }

    /// A table as it was understood, with what it asks for.
    struct Table {
        rows: Vec<Asked>,
        understood: Understood,
    }

    fn parsed(bytes: &[u8], hints: &Hints<'_>) -> Result<Table, TableError> {
        let mut rows = Vec::new();
        let understood = understand(std::io::Cursor::new(bytes), hints, &mut |row| {
            rows.push(row);
            true
        })?;
        assert_eq!(rows.len(), understood.count);
        Ok(Table { rows, understood })
    }

    fn read(bytes: &[u8]) -> Table {
        let explorers = explorers();
        parsed(bytes, &Hints { explorers: &explorers, ..Hints::default() }).expect("it is a table")
    }

    fn hashes(table: &Table) -> Vec<String> {
        table.rows.iter().map(|row| row.hash.to_string()).collect()
    }

    #[test]
    fn a_list_of_hashes_and_links() {
        let text = format!("{EVM}\n\nhttps://basescan.org/tx/{OTHER}?a=b\r\nhttps://solscan.io/tx/{SOLANA}\n{EVM}\n");
        let table = read(text.as_bytes());
        assert_eq!(hashes(&table), [EVM, OTHER, SOLANA]);
        let chains: Vec<Option<&str>> = table.rows.iter().map(|row| row.chain.as_deref()).collect();
        assert_eq!(chains, [None, Some("base"), Some("solana")]);
        assert_eq!((table.understood.repeated, table.understood.refused_count), (1, 0));
    }

    #[test]
    fn what_somebody_pastes() {
        let explorers = [("basescan.org".to_owned(), "base".to_owned())];
        let text = format!("{EVM}, <https://basescan.org/tx/{OTHER}?a=b>\r\n\"{SOLANA}\"; {EVM}");
        let found = pasted(&text, &explorers).unwrap();
        let shown: Vec<(String, Option<&str>)> =
            found.iter().map(|asked| (asked.hash.to_string(), asked.chain.as_deref())).collect();
        let expected = [(EVM, None), (OTHER, Some("base")), (SOLANA, None)];
        assert_eq!(shown, expected.map(|(hash, chain)| (hash.to_owned(), chain)));
        assert_eq!(pasted(&format!("{EVM} and more"), &explorers).unwrap_err(), "and");
        assert!(pasted(" ,\n", &explorers).unwrap().is_empty());
    }

    #[test]
    fn the_csv_of_an_explorer() {
        let text = format!(
            "\u{feff}\"Transaction Hash\",\"Blockno\",\"DateTime (UTC)\",\"From\",\"Value\"\r\n\"{EVM}\",\"1\",\"2024-01-01\",\"0x1\",\"1E-05\"\r\n\"{OTHER}\",\"2\",\"two\nlines\",\"0x2\",\"0\"\r\n"
        );
        let table = read(text.as_bytes());
        assert_eq!(hashes(&table), [EVM, OTHER]);
        let columns = Columns {
            separator: Some(','),
            has_header: true,
            hash: "Transaction Hash".to_owned(),
            chain: None,
            wallet: None,
            names: ["Transaction Hash", "Blockno", "DateTime (UTC)", "From", "Value"].map(str::to_owned).to_vec(),
        };
        assert_eq!(table.understood.columns, columns);
        let wide = format!("hash,{}\n{EVM}\n", "\u{7}x,".repeat(100));
        let names = read(wide.as_bytes()).understood.columns.names;
        assert_eq!((names.len(), names[0].as_str()), (NAMES_TOLD_MAX, "hash"));
        assert!(names.iter().all(|name| !name.contains('\u{7}')), "as they may be shown: {names:?}");
    }

    #[test]
    fn another_separator_encoding_and_order() {
        let text = format!("Datum;Netzwerk;TxHash\n1.1.2024;base;{EVM}\n");
        let bytes: Vec<u8> = [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
        let table = read(&bytes);
        assert_eq!(hashes(&table), [EVM]);
        assert_eq!(table.understood.columns.separator, Some(';'));
        let text = format!("when\tnetwork\tnote\tproof\n1\tbase\tx\t{EVM}\n2\tbase\ty\t{OTHER}\n");
        let table = read(text.as_bytes());
        assert_eq!(
            (hashes(&table), table.understood.columns.hash.as_str()),
            (vec![EVM.to_owned(), OTHER.to_owned()], "proof")
        );
        assert_eq!(table.rows[0].chain.as_deref(), Some("base"));
        let text = format!("1,{EVM}\n2,{OTHER}\n");
        assert_eq!(read(text.as_bytes()).understood.columns.hash, "2");
    }

    #[test]
    fn json_lines() {
        let text = format!("{{\"hash\":\"{EVM}\",\"chain\":\"base\"}}\n{{\"signature\":\"{SOLANA}\",\"n\":7}}\n");
        assert_eq!(hashes(&read(text.as_bytes())), [EVM, SOLANA]);
    }

    #[test]
    fn what_cannot_be_read_is_told_with_row_and_column() {
        let text = format!("hash,chain\n{EVM},base\nnonsense,base\n,base\n");
        let table = read(text.as_bytes());
        let refusal =
            Refusal { row: 3, column: "hash".to_owned(), what: "`nonsense` is no hash of a transaction".to_owned() };
        assert_eq!((table.understood.refused, table.understood.empty), (vec![refusal], 1));
        let fault =
            |text: &str| parsed(text.as_bytes(), &Hints::default()).map(|table| table.rows).expect_err("it is refused");
        assert_eq!(fault("a,b\n1,2\n"), TableError::NoHashes { columns: "a, b".to_owned() });
        assert_eq!(fault(" \n\n"), TableError::Empty);
        let unclosed = format!("hash,note\n{EVM},\"never closed\n{}", format!("{OTHER},x\n").repeat(60));
        assert_eq!(fault(&unclosed), TableError::Broken { row: 2, what: "a quote is not closed".to_owned() });
        let wallet = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
        let text = format!("hash,wallet\n{EVM},{wallet}\n{EVM},\n{OTHER},alice.eth\n");
        let hints = Hints { wallet: Account::parse(wallet).ok(), ..Hints::default() };
        let table = parsed(text.as_bytes(), &hints).expect("it is a table");
        assert_eq!(
            (hashes(&table), table.understood.repeated, table.understood.unread_wallets),
            (vec![EVM.to_owned(), OTHER.to_owned()], 1, 1)
        );
        let wide = format!("{}\n", "x,".repeat(2_000));
        assert_eq!(fault(&wide), TableError::TooManyColumns { row: 1 });
        assert!(matches!(fault("{\"hash\": 7"), TableError::Broken { row: 1, .. }));
        assert_eq!(fault(&format!("hash\n{}\n", "x".repeat(2 << 20))), TableError::RowTooLong { row: 2 });
        let named =
            parsed(format!("a,b\n{EVM},{OTHER}\n").as_bytes(), &Hints { column: Some("B"), ..Hints::default() });
        assert_eq!(hashes(&named.expect("it is a table")), [OTHER]);
        let unnamed = parsed(b"a,b\n1,2\n", &Hints { column: Some("c"), ..Hints::default() })
            .map(|table| table.rows)
            .expect_err("it is refused");
        assert_eq!(unnamed, TableError::NoColumn { name: "c".to_owned(), columns: "a, b".to_owned() });
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_bring_it_down(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..2_000)) {
            let _ = parsed(&bytes, &Hints::default());
        }
    }
}
