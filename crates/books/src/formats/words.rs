//! What the pages on formats show: each kind of thing that is read, and what it becomes in a file. It is taken from the tables that files are written by, so
//! that a page cannot say anything else.

use engine::Category;
use engine::classification::Entry;

use super::Format;
use super::pairs::{ALONE, Label, Labels, Tool};
use crate::chart::Chart;
use crate::line::has_value;

/// A kind of thing that is read: an entry, both entries of an exchange, or an entry of some categories.
#[derive(Debug)]
pub struct Kind {
    pub about: &'static str,
    pub entries: &'static [Entry],
    /// Where there are none, those that no other kind of the same entry has.
    pub categories: &'static [Category],
    way: Way,
    said: fn(&Labels) -> Said,
}

/// What a kind becomes in a format.
#[derive(Debug)]
pub struct Word {
    pub becomes: Becomes,
    /// What is said beside it, since the word alone would mislead.
    pub mark: String,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Becomes {
    /// A row by these words; none where the format has no word for it.
    Row(Vec<String>),
    /// A row for each of its two entries.
    RowEach,
    LeftOut,
}

/// Which way something goes.
#[derive(Debug, Clone, Copy)]
enum Way {
    Out,
    In,
    Both,
}

/// What a tool's table has for a kind.
enum Said {
    Label(Label),
    /// One side of an exchange, whose other side did not move here.
    Alone(Label),
    /// No word for both sides together.
    Each([Label; 2]),
    Nothing,
}

/// In the order in which pages list them.
pub static KINDS: [Kind; 23] = [
    kind("trade", &[Entry::Dispose, Entry::Acquire], Way::Both, |it| Said::Label(it.trade)),
    kind("sold or paid with, and nothing came in", &[Entry::Dispose], Way::Out, |it| Said::Alone(out(it.trade_apart))),
    kind("bought, and nothing went out", &[Entry::Acquire], Way::In, |it| Said::Alone(incoming(it.trade_apart))),
    kind("exchange without gain", &[Entry::CarryOut, Entry::CarryIn], Way::Both, |it| {
        it.carried.map_or(Said::Each(it.carried_apart), Said::Label)
    }),
    kind("its side that goes out, alone", &[Entry::CarryOut], Way::Out, |it| carried(it, out(it.carried_apart))),
    kind("its side that comes in, alone", &[Entry::CarryIn], Way::In, |it| carried(it, incoming(it.carried_apart))),
    income("airdrop", &[Category::Airdrop], |it| earned(it, Category::Airdrop)),
    income("mining", &[Category::MiningReward], |it| earned(it, Category::MiningReward)),
    income("interest", &[Category::Interest], |it| earned(it, Category::Interest)),
    income("reward", &[Category::Reward, Category::StakingRebase, Category::MevReward], |it| {
        earned(it, Category::Reward)
    }),
    income("other income", &[], |it| earned(it, Category::IncomeReceipt)),
    Kind { categories: &[Category::FeePayment], ..kind("fee", &[Entry::Expense], Way::Out, |it| Said::Label(it.fee)) },
    kind("payment", &[Entry::Expense], Way::Out, |it| Said::Label(it.expense)),
    kind("own transfer, out", &[Entry::MoveOut], Way::Out, |it| Said::Label(out(it.moved))),
    kind("own transfer, in", &[Entry::MoveIn], Way::In, |it| Said::Label(incoming(it.moved))),
    kind("given to a protocol to hold", &[Entry::Lock], Way::Out, |it| Said::Label(out(it.locked))),
    kind("taken back from a protocol", &[Entry::Unlock], Way::In, |it| Said::Label(incoming(it.locked))),
    kind("loan taken", &[Entry::Borrow], Way::In, |it| Said::Label(incoming(it.loan))),
    kind("loan paid back", &[Entry::Repay], Way::Out, |it| Said::Label(out(it.loan))),
    kind("open, for review, out", &[Entry::Open], Way::Out, |it| Said::Label(out(it.open))),
    kind("open, for review, in", &[Entry::Open], Way::In, |it| Said::Label(incoming(it.open))),
    kind("token that only marks a debt", &[Entry::Mirror], Way::Both, |_| Said::Nothing),
    kind("spam", &[Entry::Ignore], Way::Both, |_| Said::Nothing),
];

const fn kind(about: &'static str, entries: &'static [Entry], way: Way, said: fn(&Labels) -> Said) -> Kind {
    Kind { about, entries, categories: &[], way, said }
}

const fn income(about: &'static str, categories: &'static [Category], said: fn(&Labels) -> Said) -> Kind {
    Kind { categories, ..kind(about, &[Entry::Income], Way::In, said) }
}

fn out([out, _]: [Label; 2]) -> Label {
    out
}

fn incoming([_, incoming]: [Label; 2]) -> Label {
    incoming
}

fn earned(labels: &Labels, category: Category) -> Said {
    Said::Label(Label { word: (labels.income)(category), mark: "" })
}

/// Where both sides have no word together, one alone is as usual as the other.
fn carried(labels: &Labels, side: Label) -> Said {
    if labels.carried.is_some() { Said::Alone(side) } else { Said::Label(side) }
}

pub(super) fn of_tool(tool: &Tool) -> Vec<Word> {
    KINDS.iter().map(|kind| tool_word(tool, kind)).collect()
}

fn tool_word(tool: &Tool, kind: &Kind) -> Word {
    let has_place = |label: &Label| tool.takes.has_place(label.word, !label.mark.is_empty());
    let (label, beside) = match (kind.said)(&tool.labels) {
        Said::Label(label) => (label, ""),
        Said::Alone(label) => (label, ALONE),
        Said::Each(labels) if labels.iter().any(has_place) => return plain(Becomes::RowEach),
        Said::Each(_) | Said::Nothing => return plain(Becomes::LeftOut),
    };
    let mark = format!("{}{beside}", label.mark);
    if !tool.takes.has_place(label.word, !mark.is_empty()) {
        return plain(Becomes::LeftOut);
    }
    let sort = tool.kinds.map(|[out, incoming, both]| match kind.way {
        Way::Out => out,
        Way::In => incoming,
        Way::Both => both,
    });
    let words = sort.into_iter().chain([label.word]).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    Word { becomes: Becomes::Row(words), mark: mark.trim_end().to_owned() }
}

pub(super) fn of_chart(chart: &Chart, format: &Format) -> Vec<Word> {
    KINDS.iter().map(|kind| plain(chart_word(chart, format, kind))).collect()
}

/// The account on the other side of the wallet's, after its code where accounts are known by codes. In a currency, what has no value has no line.
fn chart_word(chart: &Chart, format: &Format, kind: &Kind) -> Becomes {
    if format.needs_prices() && !kind.entries.iter().copied().any(has_value) {
        return Becomes::LeftOut;
    }
    let account = |entry: &Entry| {
        let (account, code) = chart.account_of(*entry, kind.categories.first().copied())?;
        Some(code.filter(|_| format.needs_codes).into_iter().chain([account]).map(str::to_owned).collect())
    };
    let mut accounts: Vec<Vec<String>> = kind.entries.iter().filter_map(account).collect();
    accounts.dedup();
    Becomes::Row(accounts.concat())
}

fn plain(becomes: Becomes) -> Word {
    Word { becomes, mark: String::new() }
}
