//! Koinly's universal template: one asset out and one in a row. <https://support.koinly.io/en/articles/9489976>

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use csv::{Terminator, WriterBuilder};
use engine::classification::{AssetLeg, Entry, Side};
use engine::{Account, Category, Classification};

use super::Rows;
use crate::cell::{one_line, tamed};
use crate::chart::Chart;
use crate::line::{Line, lines};

const COLUMNS: [&str; 12] = [
    "Date",
    "Sent Amount",
    "Sent Currency",
    "Received Amount",
    "Received Currency",
    "Fee Amount",
    "Fee Currency",
    "Net Worth Amount",
    "Net Worth Currency",
    "Label",
    "Description",
    "TxHash",
];

/// What a posting becomes.
enum Becomes {
    /// One side of a row that has the other side too, under this label; alone, it is marked.
    Half { label: &'static str },
    /// A row of its own.
    Alone { label: &'static str, mark: &'static str },
    /// It has no value of its own, or is spam.
    Nothing,
}

/// As the engine calls a token that tells no symbol.
const UNKNOWN: &str = "UNKNOWN";

const MOVED: &str = "Own transfer: merge it with the other side. ";
const LOCKED: &str = "Held by a protocol and still owned. ";
const LOAN: &str = "A loan: not taxed by itself. ";
const UNMATCHED: &str = "One part of an exchange of several assets: join it with the others by hand. ";
const REVIEW: &str = "REVIEW, not decided: ";

/// The table from entries to Koinly's labels. Without a label Koinly takes what comes in for a purchase and what goes out for a sale, so that what is
/// neither has a label, or a mark in the description where there is none.
fn becomes(entry: Entry, category: Category) -> Becomes {
    let alone = |label, mark| Becomes::Alone { label, mark };
    match entry {
        Entry::Dispose | Entry::Acquire => Becomes::Half { label: "" },
        Entry::CarryOut | Entry::CarryIn => Becomes::Half { label: "swap" },
        Entry::Income => alone(income(category), ""),
        Entry::Expense => alone("cost", ""),
        Entry::MoveOut | Entry::MoveIn => alone("", MOVED),
        Entry::Lock => alone("sent to pool", LOCKED),
        Entry::Unlock => alone("received from pool", LOCKED),
        Entry::Borrow => alone("loan", LOAN),
        Entry::Repay => alone("loan repayment", LOAN),
        Entry::Open => alone("", REVIEW),
        Entry::Mirror | Entry::Ignore => Becomes::Nothing,
    }
}

fn income(category: Category) -> &'static str {
    match category {
        Category::Airdrop => "airdrop",
        Category::MiningReward => "mining",
        Category::Interest => "lending interest",
        Category::IncomeReceipt => "income",
        _ => "reward",
    }
}

/// One line of the file.
#[derive(Default)]
struct Cells {
    sent: Option<(String, String)>,
    received: Option<(String, String)>,
    fee: Option<(String, String)>,
    label: &'static str,
    mark: &'static str,
}

pub(super) fn write(rows: Rows<'_>, _: &Chart, out: &mut dyn Write) -> io::Result<()> {
    let mut table = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(out);
    let mut currencies = Currencies::default();
    table.write_record(COLUMNS)?;
    for row in rows {
        let row = row?;
        for cells in of_row(&row, &mut currencies) {
            table.write_record(written(&row, cells))?;
        }
    }
    table.flush()
}

fn of_row(row: &Classification, currencies: &mut Currencies) -> Vec<Cells> {
    let mut found: Vec<Cells> = Vec::new();
    let mut gas = None;
    for line in lines(row) {
        let amount = (line.posting.amount.clone(), currencies.of(&line));
        if line.posting.side == Side::Gas {
            gas = Some(amount);
            continue;
        }
        match becomes(line.entry(), line.posting.category) {
            Becomes::Nothing => {}
            Becomes::Half { label } => {
                let is_free = |cells: &&mut Cells| {
                    let taken = if line.is_out() { &cells.sent } else { &cells.received };
                    taken.is_none() && cells.mark == UNMATCHED && cells.label == label
                };
                match found.iter_mut().find(is_free) {
                    Some(cells) => {
                        cells.mark = "";
                        *side_of(cells, &line) = Some(amount);
                    }
                    None => {
                        let mut cells = Cells { label, mark: UNMATCHED, ..Cells::default() };
                        *side_of(&mut cells, &line) = Some(amount);
                        found.push(cells);
                    }
                }
            }
            Becomes::Alone { label, mark } => {
                let mut cells = Cells { label, mark, ..Cells::default() };
                *side_of(&mut cells, &line) = Some(amount);
                found.push(cells);
            }
        }
    }
    // A deposit cannot carry a fee.
    match (gas, found.iter_mut().find(|cells| cells.sent.is_some())) {
        (Some(fee), Some(cells)) => cells.fee = Some(fee),
        (Some(fee), None) => found.push(Cells { sent: Some(fee), label: "cost", ..Cells::default() }),
        (None, _) => {}
    }
    found
}

fn side_of<'a>(cells: &'a mut Cells, line: &Line<'_>) -> &'a mut Option<(String, String)> {
    if line.is_out() { &mut cells.sent } else { &mut cells.received }
}

fn written(row: &Classification, cells: Cells) -> [String; 12] {
    let time = row.block.as_ref().map(|block| block.timestamp.as_str()).unwrap_or_default();
    // From `2024-12-13T22:29:35Z`.
    let date = time.get(..16).map(|minute| format!("{} UTC", minute.replace('T', " "))).unwrap_or_default();
    let [sent, received, fee] = [cells.sent, cells.received, cells.fee].map(Option::unwrap_or_default);
    let told = if cells.mark == REVIEW { row.review_note.as_deref() } else { row.description.as_deref() };
    let description = format!("{}{}", cells.mark, told.unwrap_or_default());
    [
        date,
        sent.0,
        tamed(sent.1),
        received.0,
        tamed(received.1),
        fee.0,
        tamed(fee.1),
        String::new(),
        String::new(),
        cells.label.to_owned(),
        tamed(one_line(&description)),
        row.hash.clone().unwrap_or_default(),
    ]
}

/// Koinly knows assets by their symbols. A token that imitates another, one that has no symbol or the symbol of another token, and every NFT get the
/// placeholders that Koinly has for them, the same one throughout the file.
#[derive(Default)]
struct Currencies {
    known: BTreeMap<(Option<Account>, Option<String>), String>,
    taken: BTreeSet<String>,
    unknown: usize,
    nfts: usize,
}

impl Currencies {
    fn of(&mut self, line: &Line<'_>) -> String {
        let leg = line.leg;
        let chain = line.row.chain.clone().filter(|_| leg.token_address.is_none());
        let key = (leg.token_address, leg.token_id.clone().or(chain));
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let name = self.name(leg);
        self.known.insert(key, name.clone());
        name
    }

    fn name(&mut self, leg: &AssetLeg) -> String {
        if leg.token_type.is_some() {
            self.nfts = self.nfts.saturating_add(1);
            return format!("NFT{}", self.nfts);
        }
        let is_plain = !leg.symbol.is_empty() && leg.symbol.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
        let is_coin = leg.token_address.is_none();
        let is_known = is_plain && leg.symbol != UNKNOWN && !leg.symbol_collision && leg.decimals.is_some();
        if is_coin || is_known && self.taken.insert(leg.symbol.to_ascii_uppercase()) {
            self.taken.insert(leg.symbol.to_ascii_uppercase());
            return leg.symbol.clone();
        }
        self.unknown = self.unknown.saturating_add(1);
        format!("NULL{}", self.unknown)
    }
}
