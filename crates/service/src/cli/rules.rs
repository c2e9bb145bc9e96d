//! `taxon rules`

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Context;
use engine::rules::Pack;

use super::terminal::{print, table};
use crate::app::rules;
use crate::config::Config;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Validate every pack
    Check,
    /// List the packs with what they hold
    List,
    /// What a pack knows: contracts, events and calls with their meaning
    Show { name: String },
}

pub(super) fn run(config: &Config, command: &Command) -> anyhow::Result<ExitCode> {
    let rules = rules(config)?;
    let (packs, contracts, events, calls) = rules.counts();
    let totals =
        format!("{packs} packs, {contracts} contracts, {events} events, {calls} calls; engine {}\n", rules.engine);
    match command {
        Command::Check => print(&format!("The rules are sound: {totals}")),
        Command::List => {
            let rows = rules.packs.iter().map(|pack| {
                let contracts: usize =
                    pack.file.contracts.values().flat_map(|chains| chains.values()).map(Vec::len).sum();
                let counts = [contracts, pack.file.event.len(), pack.file.call.len()].map(|count| count.to_string());
                let [contracts, events, calls] = counts;
                vec![pack.id.clone(), pack.name.to_string(), contracts, events, calls]
            });
            print(&table(&["PACK", "NAME", "CONTRACTS", "EVENTS", "CALLS"], rows));
            print(&totals);
        }
        Command::Show { name } => {
            let pack = rules.packs.iter().find(|pack| pack.id == *name);
            print(&page(pack.with_context(|| format!("no pack is called `{name}`; `taxon rules list` names them"))?));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn page(pack: &Pack) -> String {
    let file = &pack.file;
    let mut out = format!("{}\n\n{}\n", file.name, file.about);
    for link in &file.links {
        let _ = writeln!(out, "Checked at {link}");
    }
    for (role, chains) in &file.contracts {
        let _ = writeln!(out, "\nContracts, role `{role}`");
        for (chain, addresses) in chains {
            let _ = writeln!(out, "  {chain:<14} {}", addresses.join(" "));
        }
    }
    if !file.factory.is_empty() {
        let _ = writeln!(out, "\nFactories whose pools prove themselves by their address");
        for (chain, deployers) in file.factory.iter().flat_map(|factory| &factory.at) {
            let _ = writeln!(out, "  {chain:<14} {}", deployers.join(" "));
        }
    }
    let events =
        file.event.iter().map(|row| ("event", &row.on, &row.signature, Some(&row.means), &row.out, &row.incoming));
    let calls =
        file.call.iter().map(|row| ("call", &row.on, &row.signature, row.means.as_ref(), &row.out, &row.incoming));
    for (kind, on, signature, means, sent, received) in events.chain(calls) {
        let meaning = means.map_or("carries other calls", String::as_str);
        let _ = writeln!(out, "\n{kind} {signature}\n  on {on}: {meaning}");
        for (side, legs) in [("out", sent), ("in", received)] {
            if !legs.is_empty() {
                let _ = writeln!(out, "  explains {side}: {}", legs.join(", "));
            }
        }
    }
    out
}
