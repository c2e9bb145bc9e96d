//! What the tables of tax tools have in common: at most one asset out and one in a row, and a fee. Each tool is a table from entries to its words, and a
//! line of cells.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use csv::{Terminator, WriterBuilder};
use engine::classification::{AssetLeg, Entry, Side};
use engine::{Account, Category, Classification};

use super::{Options, Rows};
use crate::cell::{one_line, tamed};
use crate::decision::Reading;
use crate::line::{Line, lines};

/// As the engine calls a token that tells no symbol.
const UNKNOWN: &str = "UNKNOWN";

pub(super) const MOVED: &str = "Own transfer: merge it with the other side. ";
pub(super) const LOCKED: &str = "Held by a protocol and still owned. ";
pub(super) const LOAN: &str = "A loan, not income and not a sale. ";
pub(super) const CARRIED: &str = "Not a sale: the cost passes to what came in for it. ";
/// What is left to a person; the reading's own mark says so in words.
pub(super) const REVIEW: &str = "REVIEW";
pub(super) const PAID: &str = "A payment. ";
const SEVERAL: &str = "One of several assets that were exchanged together: divide the value by hand. ";
pub(super) const ALONE: &str = "Its other side did not move here. ";

/// A tool's word, and what the description has to say where the word alone would mislead.
#[derive(Debug, Clone, Copy)]
pub(super) struct Label {
    pub word: &'static str,
    pub mark: &'static str,
}

pub(super) const fn says(word: &'static str) -> Label {
    Label { word, mark: "" }
}

pub(super) const fn marked(word: &'static str, mark: &'static str) -> Label {
    Label { word, mark }
}

/// The table from entries to a tool's words. Where there are two, the first is for what goes out.
#[derive(Debug)]
pub(super) struct Labels {
    pub trade: Label,
    /// One side of a trade that has no other side here.
    pub trade_apart: [Label; 2],
    /// An exchange without gain; without one, each side is a row of its own.
    pub carried: Option<Label>,
    pub carried_apart: [Label; 2],
    pub income: fn(Category) -> &'static str,
    pub fee: Label,
    pub expense: Label,
    pub moved: [Label; 2],
    pub locked: [Label; 2],
    /// What is paid back, and what is borrowed.
    pub loan: [Label; 2],
    pub open: [Label; 2],
}

#[derive(Debug)]
pub(super) struct Tool {
    pub columns: &'static [&'static str],
    pub labels: Labels,
    /// Whether a row that sends something carries the fee; else it is a row of its own.
    pub has_fees: bool,
    /// What goes out, comes in, or both, where the tool has a word for that beside the label.
    pub kinds: Option<[&'static str; 3]>,
    pub takes: Takes,
    pub cells: fn(&PairRow<'_>) -> Vec<String>,
}

/// Which rows a tool has a place for; the others are left out.
#[derive(Debug, Clone, Copy)]
pub(super) enum Takes {
    Every,
    /// It has no action for what has no word.
    WithWord,
    /// It has no column for a mark.
    WithoutMark,
}

impl Takes {
    pub(super) fn has_place(self, word: &str, is_marked: bool) -> bool {
        match self {
            Self::Every => true,
            Self::WithWord => !word.is_empty(),
            Self::WithoutMark => !is_marked,
        }
    }
}

/// An amount of an asset, by the name that the tool gets to see.
#[derive(Clone, Default)]
pub(super) struct Amount {
    pub amount: String,
    pub currency: String,
}

pub(super) struct PairRow<'a> {
    reading: &'a Reading,
    pub sent: Option<Amount>,
    pub received: Option<Amount>,
    pub fee: Option<Amount>,
    label: Label,
    /// What else has to be told of it.
    beside: &'static str,
    /// Its place among the rows of the same reading.
    place: usize,
    /// Whether another row of the reading has the same label and assets.
    pub is_one_of_many: bool,
}

impl<'a> PairRow<'a> {
    fn new(reading: &'a Reading, label: Label) -> Self {
        Self { reading, sent: None, received: None, fee: None, label, beside: "", place: 0, is_one_of_many: false }
    }

    fn row(&self) -> &'a Classification {
        &self.reading.row
    }

    pub(super) fn label(&self) -> String {
        self.label.word.to_owned()
    }

    pub(super) fn hash(&self) -> String {
        self.row().hash.clone().unwrap_or_default()
    }

    /// The reading in words, after what the tool's own word does not say.
    pub(super) fn description(&self) -> String {
        let told = if self.row().needs_review { &self.row().review_note } else { &self.row().description };
        tamed(one_line(&format!("{}{}", self.marks(), told.as_deref().unwrap_or_default())))
    }

    /// The same with the hash, for tools that have no column for it.
    pub(super) fn description_with_hash(&self) -> String {
        format!("{} {}", self.description(), self.hash())
    }

    pub(super) fn wallet(&self) -> String {
        self.row().perspective.map(|wallet| wallet.to_string()).unwrap_or_default()
    }

    pub(super) fn chain(&self) -> String {
        self.row().chain.clone().unwrap_or_default()
    }

    /// The chain, and before it what a tool without descriptions must be told.
    pub(super) fn marked_chain(&self) -> String {
        format!("{}{}", self.marks(), self.chain())
    }

    fn has_place(&self, tool: &Tool) -> bool {
        tool.takes.has_place(self.label.word, !self.marks().is_empty())
    }

    /// A name for this row alone.
    pub(super) fn id(&self) -> String {
        format!("{}-{}-{}", self.hash(), self.wallet(), self.place)
    }

    /// The same, after what a tool without descriptions must be told.
    pub(super) fn marked_id(&self) -> String {
        format!("{}{}", self.marks(), self.id())
    }

    /// A reading that a person must look at says so on each of its rows.
    fn marks(&self) -> String {
        let review = self.reading.mark();
        let mark = if self.label.mark == REVIEW { "" } else { self.label.mark };
        format!("{review}{mark}{}", self.beside)
    }

    /// Amount and asset.
    pub(super) fn pair(amount: &Option<Amount>) -> [String; 2] {
        amount.clone().map(|it| [it.amount, tamed(it.currency)]).unwrap_or_default()
    }

    /// Asset and amount.
    pub(super) fn turned(amount: &Option<Amount>) -> [String; 2] {
        let [amount, currency] = Self::pair(amount);
        [currency, amount]
    }

    /// Year, month, day and time of day, all in UTC.
    fn moment(&self) -> Option<[&str; 4]> {
        // `2024-12-13T22:29:35Z`
        let time = self.row().block.as_ref()?.timestamp.as_str();
        Some([time.get(..4)?, time.get(5..7)?, time.get(8..10)?, time.get(11..19)?])
    }

    fn timed(&self, write: impl Fn([&str; 4]) -> String) -> String {
        self.moment().map(write).unwrap_or_default()
    }

    /// `2024-12-13 22:29:35`
    pub(super) fn year_first(&self) -> String {
        self.timed(|[year, month, day, time]| format!("{year}-{month}-{day} {time}"))
    }

    /// `12/13/2024 22:29:35`
    pub(super) fn month_first(&self) -> String {
        self.timed(|[year, month, day, time]| format!("{month}/{day}/{year} {time}"))
    }

    /// `13.12.2024 22:29:35`
    pub(super) fn day_first(&self) -> String {
        self.timed(|[year, month, day, time]| format!("{day}.{month}.{year} {time}"))
    }

    /// `2024-12-13T22:29:35Z`
    pub(super) fn iso(&self) -> String {
        self.timed(|[year, month, day, time]| format!("{year}-{month}-{day}T{time}Z"))
    }

    /// Date and time of day, for tools that have a column for each.
    pub(super) fn date_and_time(&self) -> [String; 2] {
        [self.timed(|[year, month, day, _]| format!("{year}-{month}-{day}")), self.timed(|[.., time]| time.to_owned())]
    }

    /// What goes out, comes in, or both.
    pub(super) fn kind(&self, [out, incoming, both]: [&str; 3]) -> String {
        match (&self.sent, &self.received) {
            (Some(_), Some(_)) => both,
            (Some(_), None) => out,
            (None, _) => incoming,
        }
        .to_owned()
    }

    /// Label and assets, without the amounts.
    fn likeness(&self) -> (&'static str, [String; 2]) {
        let [[sent, _], [received, _]] = [&self.sent, &self.received].map(Self::turned);
        (self.label.word, [sent, received])
    }

    fn with(mut self, is_out: bool, amount: Amount) -> Self {
        *(if is_out { &mut self.sent } else { &mut self.received }) = Some(amount);
        self
    }
}

pub(super) fn write(tool: &Tool, rows: Rows<'_>, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let mut table = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(out);
    let mut currencies = Currencies { taken: options.coins.clone(), ..Currencies::default() };
    table.write_record(tool.columns)?;
    for reading in rows {
        let reading = reading?;
        for pair in pairs(&reading, tool, &mut currencies).iter().filter(|pair| pair.has_place(tool)) {
            table.write_record((tool.cells)(pair))?;
        }
    }
    table.flush()
}

/// What a posting becomes.
enum Becomes {
    /// One side of an exchange.
    Half(Kind),
    Alone(Label),
    /// It has no value of its own, or is spam.
    Nothing,
}

/// The kinds of exchange.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Trade,
    Carried,
}

impl Labels {
    fn of(&self, line: &Line<'_>) -> Becomes {
        let way = |[out, incoming]: [Label; 2]| Becomes::Alone(if line.is_out() { out } else { incoming });
        match line.entry() {
            Entry::Dispose | Entry::Acquire => Becomes::Half(Kind::Trade),
            Entry::CarryOut | Entry::CarryIn if self.carried.is_some() => Becomes::Half(Kind::Carried),
            Entry::CarryOut | Entry::CarryIn => way(self.carried_apart),
            Entry::Income => Becomes::Alone(says((self.income)(line.posting.category))),
            Entry::Expense if line.posting.category == Category::FeePayment => Becomes::Alone(self.fee),
            Entry::Expense => Becomes::Alone(self.expense),
            Entry::MoveOut | Entry::MoveIn => way(self.moved),
            Entry::Lock | Entry::Unlock => way(self.locked),
            Entry::Borrow | Entry::Repay => way(self.loan),
            Entry::Open => way(self.open),
            Entry::Mirror | Entry::Ignore => Becomes::Nothing,
        }
    }

    /// The word for both sides together, and those for one alone.
    fn exchange(&self, kind: Kind) -> (Label, [Label; 2]) {
        match kind {
            Kind::Trade => (self.trade, self.trade_apart),
            Kind::Carried => (self.carried.unwrap_or(self.trade), self.carried_apart),
        }
    }
}

/// What was exchanged in one step.
struct Exchange {
    kind: Kind,
    step: Option<usize>,
    out: Vec<Amount>,
    incoming: Vec<Amount>,
}

fn pairs<'a>(reading: &'a Reading, tool: &Tool, currencies: &mut Currencies) -> Vec<PairRow<'a>> {
    let mut found: Vec<PairRow<'a>> = Vec::new();
    let mut exchanges: Vec<Exchange> = Vec::new();
    let mut gas = None;
    for line in lines(&reading.row) {
        let becomes = tool.labels.of(&line);
        if matches!(becomes, Becomes::Nothing) {
            continue;
        }
        let amount = Amount { amount: line.posting.amount.clone(), currency: currencies.of(&line) };
        match becomes {
            _ if line.posting.side == Side::Gas && tool.has_fees => gas = Some(amount),
            Becomes::Nothing => {}
            Becomes::Alone(label) => found.push(PairRow::new(reading, label).with(line.is_out(), amount)),
            Becomes::Half(kind) => {
                let step = line.posting.step;
                let same = exchanges.iter().position(|one| one.kind == kind && one.step == step);
                let at = same.unwrap_or_else(|| {
                    exchanges.push(Exchange { kind, step, out: Vec::new(), incoming: Vec::new() });
                    exchanges.len().saturating_sub(1)
                });
                if let Some(exchange) = exchanges.get_mut(at) {
                    let side = if line.is_out() { &mut exchange.out } else { &mut exchange.incoming };
                    side.push(amount);
                }
            }
        }
    }
    for exchange in exchanges {
        found.extend(exchanged(reading, &tool.labels, exchange));
    }
    // What only comes in cannot carry a fee.
    match (gas, found.iter_mut().find(|pair| pair.sent.is_some())) {
        (Some(fee), Some(pair)) => pair.fee = Some(fee),
        (Some(fee), None) => found.push(PairRow::new(reading, tool.labels.fee).with(true, fee)),
        (None, _) => {}
    }
    let mut alike: BTreeMap<_, usize> = BTreeMap::new();
    for pair in &found {
        let times = alike.entry(pair.likeness()).or_default();
        *times = times.saturating_add(1);
    }
    for (place, pair) in found.iter_mut().enumerate() {
        pair.place = place;
        pair.is_one_of_many = alike.get(&pair.likeness()).is_some_and(|times| *times > 1);
    }
    found
}

/// One against one is a row. Of several, each pair is one, and every row says that they belong together.
fn exchanged<'a>(reading: &'a Reading, labels: &Labels, exchange: Exchange) -> Vec<PairRow<'a>> {
    let (both, [out_label, in_label]) = labels.exchange(exchange.kind);
    let beside = match (exchange.out.len(), exchange.incoming.len()) {
        (1, 1) => "",
        (0, _) | (_, 0) => ALONE,
        _ => SEVERAL,
    };
    let (mut out, mut incoming) = (exchange.out.into_iter(), exchange.incoming.into_iter());
    let mut rows = Vec::new();
    loop {
        let pair = match (out.next(), incoming.next()) {
            (Some(sent), Some(received)) => PairRow::new(reading, both).with(true, sent).with(false, received),
            (Some(sent), None) => PairRow::new(reading, out_label).with(true, sent),
            (None, Some(received)) => PairRow::new(reading, in_label).with(false, received),
            (None, None) => return rows,
        };
        rows.push(PairRow { beside, ..pair });
    }
}

/// Chain, contract and id.
type AssetKey = (Option<String>, Option<Account>, Option<String>);

/// Tools know assets by their symbols. A token that imitates another, one that has no symbol or the symbol of another token, and every NFT get a
/// placeholder, the same one throughout the file.
#[derive(Default)]
struct Currencies {
    known: BTreeMap<AssetKey, String>,
    /// A coin's symbol is the coin's from the start.
    taken: BTreeSet<String>,
    unknown: usize,
    nfts: usize,
}

impl Currencies {
    fn of(&mut self, line: &Line<'_>) -> String {
        let leg = line.leg;
        let key = (line.row.chain.clone(), leg.token_address, leg.token_id.clone());
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
        let is_known = is_plain && leg.symbol != UNKNOWN && !leg.symbol_collision && leg.decimals.is_some();
        let symbol = leg.symbol.to_ascii_uppercase();
        let is_coin = leg.token_address.is_none();
        let is_free = is_known && self.taken.insert(symbol);
        if is_coin || is_free {
            return leg.symbol.clone();
        }
        self.unknown = self.unknown.saturating_add(1);
        format!("NULL{}", self.unknown)
    }
}

/// The kinds of income that most tools tell apart: airdrops, mining, interest, what was earned by staking and the like, and everything else.
pub(super) fn income(
    category: Category,
    [airdrop, mining, interest, reward, other]: [&'static str; 5],
) -> &'static str {
    match category {
        Category::Airdrop => airdrop,
        Category::MiningReward => mining,
        Category::Interest => interest,
        Category::Reward | Category::StakingRebase | Category::MevReward => reward,
        // Salaries, royalties and whatever else comes in as income.
        _ => other,
    }
}
