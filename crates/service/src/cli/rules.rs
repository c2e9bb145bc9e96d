//! `taxon rules`

mod coverage;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::{Context, bail};
use engine::cases::recorded;
use engine::rules::file::{CreatedRow, InstructionRow, PackFile, ProofRow, ProvingAnswer, TransferDirection};
use engine::rules::{EVERY_CHAIN, Pack};
use engine::{Category, Rules, Treatments};

use super::terminal::{print, table};
use crate::app::knowledge;
use crate::config::Config;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Validate every pack and run its cases
    Check,
    /// List the packs with what they hold
    List,
    /// A pack as documentation: what it is, where it stands, what each event means for tax, its cases
    Show { name: String },
    /// What of a contract's ABI is read, what is silent and why, and what nobody has looked at
    Coverage(coverage::Args),
}

pub(super) fn run(config: &Config, command: &Command) -> anyhow::Result<ExitCode> {
    let knowledge = knowledge(config)?;
    let rules = &knowledge.rules;
    let (packs, contracts, events, calls, instructions) = rules.counts();
    let totals = format!(
        "{packs} packs, {contracts} contracts, {events} events, {calls} calls, {instructions} instructions; engine {}\n",
        knowledge.engine
    );
    match command {
        Command::Check => {
            let mut faults = engine::cases::check(&knowledge);
            faults.extend(engine::coverage::faults(rules));
            if !faults.is_empty() {
                let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
                bail!("{} faults in the cases:\n{}", faults.len(), lines.join("\n"));
            }
            let (with, without) = (recorded::packs_with_rules(rules).count(), recorded::packs_without(rules).len());
            print(&format!("The rules are sound and every case is read as it says: {totals}"));
            let law = &knowledge.treatments;
            print(&format!("Every category has a treatment under the law of: {}, as of {}.\n", law.name, law.as_of));
            print(&format!(
                "Of {with} packs with rules for events, calls or instructions, {without} name no recorded reading.\n"
            ));
            print(&lists(rules, contracts));
        }
        Command::List => {
            let rows = rules.packs.iter().map(|pack| {
                let contracts: usize =
                    pack.file.contracts.values().flat_map(|chains| chains.values()).map(Vec::len).sum();
                let file = &pack.file;
                let counts = [contracts, file.event.len(), file.call.len(), file.instruction.len()];
                let [contracts, events, calls, instructions] = counts.map(|count| count.to_string());
                vec![pack.id.clone(), pack.name.to_string(), contracts, events, calls, instructions]
            });
            print(&table(&["PACK", "NAME", "CONTRACTS", "EVENTS", "CALLS", "INSTRUCTIONS"], rows));
            print(&totals);
        }
        Command::Show { name } => {
            print(&page(pack(rules, name)?, &knowledge.treatments));
        }
        Command::Coverage(args) => return coverage::run(rules, args),
    }
    Ok(ExitCode::SUCCESS)
}

fn pack<'a>(rules: &'a Rules, name: &str) -> anyhow::Result<&'a Pack> {
    let pack = rules.packs.iter().find(|pack| pack.id == *name);
    pack.with_context(|| format!("no pack is called `{name}`; `taxon rules list` names them"))
}

/// What stands on no list, and what is listed although a node could be asked.
fn lists(rules: &Rules, contracts: usize) -> String {
    let computed: u64 = rules.packs.iter().flat_map(|pack| &pack.file.created).map(made).sum();
    let asked = rules.packs.iter().flat_map(|pack| pack.file.proof.iter().map(move |row| (pack, row)));
    let vouched: BTreeMap<String, usize> = asked
        .map(|(pack, row)| (format!("{} {}", pack.id, row.of.get_ref()), listed_and_vouched(&pack.file, row)))
        .filter(|(_, count)| *count > 0)
        .collect();
    let total: usize = vouched.values().sum();
    let named: Vec<String> = vouched.iter().map(|(role, count)| format!("{role} {count}")).collect();
    let mut out = format!(
        "{computed} more contracts are computed from their factories; a list that repeats one of those that only governance makes is refused.\n"
    );
    let _ = writeln!(
        out,
        "Of {contracts} listed contracts, {total} would be vouched for by a registry, and stay for states that no node has any more:\n  {}",
        named.join(", ")
    );
    out
}

fn made(row: &CreatedRow) -> u64 {
    let makers = row.create3.as_ref().map_or(&row.at, |create3| &create3.salts);
    let makers = makers.values().map(Vec::len).sum::<usize>();
    row.count.get_ref().saturating_mul(u64::try_from(makers).unwrap_or(u64::MAX))
}

/// Contracts of the role on chains where one is listed that can be asked about them.
fn listed_and_vouched(file: &PackFile, row: &ProofRow) -> usize {
    let asked = row.ask.as_ref().and_then(|ask| file.contracts.get(ask.get_ref()));
    let (Some(listed), Some(asked)) = (file.contracts.get(row.of.get_ref()), asked) else {
        return 0;
    };
    let is_asked = |slug: &String| asked.contains_key(slug) || asked.contains_key(EVERY_CHAIN);
    listed.iter().filter(|(slug, _)| is_asked(slug)).map(|(_, rows)| rows.len()).sum()
}

/// A pack as a page to read: what it is, where it is deployed, what each of its rows means for tax, and the cases that show it.
fn page(pack: &Pack, treatments: &Treatments) -> String {
    let file = &pack.file;
    let mut out = format!("# {}\n\n{}\n", file.name, file.about);
    if file.standard {
        let _ = writeln!(out, "\nA standard: read wherever it stands, without a protocol's name.");
    }
    if !file.links.is_empty() {
        let _ = writeln!(out, "\nChecked against\n  {}", file.links.join("\n  "));
    }
    places(file, &mut out);
    surfaces(file, &mut out);
    rows(file, treatments, &mut out);
    if !file.case.is_empty() {
        let _ = writeln!(out, "\n## Cases");
    }
    for case in &file.case {
        let _ = writeln!(out, "\n{}", case.about.get_ref());
        let lines = [("from", &case.from), ("calls", &case.to), ("asks", &case.call)];
        for (word, text) in lines.into_iter().filter_map(|(word, text)| text.as_ref().map(|text| (word, text))) {
            let _ = writeln!(out, "  {word:<6} {text}");
        }
        let asked = case.instructions.iter().map(|text| ("asks", text));
        let moved = case.moves.iter().map(|text| ("moves", text));
        for (word, text) in asked.chain(moved).chain(case.logs.iter().map(|text| ("logs", text))) {
            let _ = writeln!(out, "  {word:<6} {text}");
        }
        let reads = match &case.reads {
            Some(category) => treated(category, treatments),
            None if case.review => "for a person to review".to_owned(),
            None => "nothing: the pack is silent".to_owned(),
        };
        let _ = writeln!(out, "  reads  {reads}");
    }
    if !file.recorded.is_empty() {
        let _ = writeln!(out, "\n## Recorded");
    }
    for row in &file.recorded {
        let from = row.tx.as_ref().or(row.demo.as_ref()).map_or("", String::as_str);
        let means = row
            .means
            .as_deref()
            .map_or_else(|| "what the calls inside it mean".to_owned(), |it| treated(it, treatments));
        let _ = writeln!(out, "\n{from}\n  holds  {}\n  means  {means}", row.reads.get_ref());
    }
    out
}

fn places(file: &PackFile, out: &mut String) {
    if file.contracts.is_empty() && file.factory.is_empty() && file.created.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n## Where it stands");
    for (role, chains) in &file.contracts {
        let part = if file.vouches.contains(role) { ", known by name" } else { "" };
        let _ = writeln!(out, "\n{role}{part}");
        for (chain, addresses) in chains {
            for (at, address) in addresses.iter().enumerate() {
                let chain = if at == 0 { chain.as_str() } else { "" };
                let _ = writeln!(out, "  {chain:<14} {}", address.get_ref());
            }
        }
    }
    for factory in &file.factory {
        let _ = writeln!(out, "\npools that prove their factory by their address");
        for (chain, address) in factory.at.iter().flat_map(|(chain, all)| all.iter().map(move |one| (chain, one))) {
            let _ = writeln!(out, "  {chain:<14} {}", address.get_ref());
        }
    }
    for row in &file.created {
        let _ = writeln!(out, "\n{}, up to {} made by each of these", row.role.get_ref(), row.count.get_ref());
        for (chain, address) in row.at.iter().flat_map(|(chain, all)| all.iter().map(move |one| (chain, one))) {
            let _ = writeln!(out, "  {chain:<14} {}", address.get_ref());
        }
    }
    proofs(file, out);
}

/// What proves contracts that are not listed.
fn proofs(file: &PackFile, out: &mut String) {
    for row in &file.proof {
        let of = row.of.get_ref();
        let answer = match row.answer {
            ProvingAnswer::True => "true",
            ProvingAnswer::NotZero => "not zero",
        };
        let _ = match (&row.ask, &row.call, &row.runs) {
            (Some(ask), Some(call), _) => {
                writeln!(out, "\n{of}, where {} answers {} with {answer}", ask.get_ref(), call.get_ref())
            }
            (_, _, Some(runs)) => writeln!(out, "\n{of}, where it runs the code of {} and no other", runs.get_ref()),
            _ => Ok(()),
        };
    }
}

/// How much of what can be done there is known.
fn surfaces(file: &PackFile, out: &mut String) {
    if !file.surface.is_empty() {
        let _ = writeln!(out, "\n## What can be done there");
    }
    for row in &file.surface {
        let silent: usize = row.silent.values().map(Vec::len).sum();
        let counts = format!("{} read, {silent} silent", row.read.len());
        let unknown = match row.unknown.len() {
            0 => "nothing unknown".to_owned(),
            count => format!("{count} unknown"),
        };
        let _ = writeln!(out, "\n{}: {counts}, {unknown}\n  {}", row.on.get_ref(), row.abi);
        for (why, entries) in &row.silent {
            let entries: Vec<&str> = entries.iter().map(|entry| entry.get_ref().as_str()).collect();
            let _ = writeln!(out, "  silent {why}\n         {}", entries.join("\n         "));
        }
    }
}

fn rows(file: &PackFile, treatments: &Treatments, out: &mut String) {
    let rows = [
        file.event.len(),
        file.call.len(),
        file.nft.len(),
        file.supply.len(),
        file.deposit.len(),
        file.transfer.len(),
        file.actor.len(),
        file.instruction.len(),
    ];
    if rows.iter().any(|count| *count > 0) {
        let _ = writeln!(out, "\n## What it says, and what that means for tax");
    }
    let legs = |out: &mut String, sent: &[String], received: &[String]| {
        for (word, legs) in [("gives", sent), ("gets", received)] {
            if !legs.is_empty() {
                let _ = writeln!(out, "  {word:<6} {}", legs.join(", "));
            }
        }
    };
    for row in &file.event {
        let _ =
            writeln!(out, "\nevent {}\n  on     {}, told of {}", row.signature.get_ref(), row.on, row.who.join(" or "));
        legs(out, &row.out, &row.incoming);
        let _ = writeln!(out, "  means  {}", meaning(&row.means, treatments));
    }
    for row in &file.call {
        let _ = writeln!(out, "\ncall {}\n  on     {}", row.signature.get_ref(), row.on);
        legs(out, &row.out, &row.incoming);
        let means = row
            .means
            .as_deref()
            .map_or_else(|| "what the calls inside it mean".to_owned(), |it| meaning(it, treatments));
        let _ = writeln!(out, "  means  {means}");
    }
    for row in &file.instruction {
        let name = [&row.anchor, &row.data].into_iter().flatten().next().map_or("", |name| name.get_ref().as_str());
        let name = if name.is_empty() { "of any kind" } else { name };
        let _ = writeln!(out, "\ninstruction {name}\n  on     {}, for {}", row.on.get_ref(), whom(row));
        for (numbers, word) in [(&row.positive, "above zero"), (&row.negative, "below zero"), (&row.zero, "zero")] {
            for [at, _] in numbers {
                let _ = writeln!(out, "  if     the number at byte {at} of its data is {word}");
            }
        }
        if let Some(about) = &row.about {
            let _ = writeln!(out, "  where  {about}");
        }
        let _ = writeln!(out, "  means  {}", meaning(&row.means, treatments));
    }
    for row in &file.transfer {
        let way = match row.way {
            TransferDirection::Out => "to",
            TransferDirection::In => "from",
        };
        let _ = writeln!(out, "\ntransfer {way} {}\n  means  {}", row.with.get_ref(), meaning(&row.means, treatments));
    }
    for row in &file.nft {
        let named: Vec<&str> = row.named.iter().map(|text| text.get_ref().as_str()).collect();
        let _ = writeln!(out, "\nNFT moved by {}\n  on     {}", row.moved.get_ref(), row.on.get_ref());
        let _ = writeln!(out, "  named  {}", named.join(", "));
    }
    for row in &file.supply {
        let _ = writeln!(out, "\ntoken minted by {}\n  on     {}", row.minted.get_ref(), row.on.get_ref());
        let _ = writeln!(out, "  burned {}", row.burned.get_ref());
    }
    for row in &file.deposit {
        let kinds: Vec<String> = row.kinds.iter().map(|kind| format!("{kind:#x}")).collect();
        let kinds =
            if kinds.is_empty() { "that nobody sends".to_owned() } else { format!("of type {}", kinds.join(", ")) };
        let _ = writeln!(out, "\ndeposit in a transaction {kinds}\n  means  {}", meaning("bridge_in", treatments));
        let _ = writeln!(out, "  named  {}", row.protocol.get_ref());
    }
    for row in &file.actor {
        let _ = writeln!(out, "\nactor by {}\n  on     {}", row.signature.get_ref(), row.on);
        let _ = writeln!(out, "  means  {} acts; the sender only carries it", row.who);
    }
}

/// The account that an instruction is about.
fn whom(row: &InstructionRow) -> String {
    let places = |places: &[usize]| places.iter().map(usize::to_string).collect::<Vec<_>>().join(" or ");
    let at_position = (!row.who.is_empty()).then(|| format!("whoever stands at position {}", places(&row.who)));
    let owns = (!row.owner_of.is_empty()).then(|| format!("the owner of token account {}", places(&row.owner_of)));
    let named: Vec<String> = [at_position, owns].into_iter().flatten().collect();
    if named.is_empty() { "whoever asks".to_owned() } else { named.join(", or ") }
}

/// A category with its treatment.
fn treated(category: &str, treatments: &Treatments) -> String {
    let known = Category::parse(category);
    known.map_or_else(|| category.to_owned(), |it| format!("{category}, {}", treatments.row(it).treatment.name()))
}

/// The same, and what the category says of itself.
fn meaning(category: &str, treatments: &Treatments) -> String {
    let about = Category::parse(category).map_or("", |category| category.meaning().about);
    format!("{}. {about}", treated(category, treatments))
}
