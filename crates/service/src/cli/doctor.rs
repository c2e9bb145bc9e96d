//! `taxon doctor`: looks at every node, the database, the clock and the configuration, and says in plain words what needs doing. Nodes are
//! named by chain and place, never by address.

mod nodes;
mod surroundings;

use std::process::ExitCode;

use serde::Serialize;
use serde_json::json;

use super::terminal::{print, table};
use crate::config::Config;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Well,
    /// It serves, with reduced results or speed.
    Weak,
    Broken,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Well => "well",
            Self::Weak => "weak",
            Self::Broken => "broken",
        }
    }
}

/// What needs doing, the gravest state first.
#[derive(Debug, Clone, Default)]
struct Todo(Vec<(State, String)>);

impl Todo {
    fn broken(&mut self, what: String) {
        self.0.push((State::Broken, what));
    }

    fn weak(&mut self, what: String) {
        self.0.push((State::Weak, what));
    }

    fn state(&self) -> State {
        let has = |state| self.0.iter().any(|(one, _)| *one == state);
        if has(State::Broken) {
            State::Broken
        } else if has(State::Weak) {
            State::Weak
        } else {
            State::Well
        }
    }

    fn texts(&self) -> Vec<&str> {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// The cells of a row with what to do in the last; one line each, the first beside the cells.
    fn rows(&self, cells: Vec<String>) -> Vec<Vec<String>> {
        let width = cells.len();
        let mut texts = self.texts().into_iter();
        let first = [cells, vec![texts.next().unwrap_or_default().to_owned()]].concat();
        let rest = texts.map(|text| [vec![String::new(); width], vec![text.to_owned()]].concat());
        std::iter::once(first).chain(rest).collect()
    }
}

pub(super) async fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    let nodes = nodes::look(config).await?;
    let parts = surroundings::look(config, &nodes).await;
    let todo: usize =
        nodes.iter().map(|node| &node.todo).chain(parts.iter().map(|part| &part.todo)).map(|t| t.0.len()).sum();
    if args.json {
        let nodes: Vec<_> = nodes.iter().map(nodes::ProbedNode::json).collect();
        let parts: Vec<_> = parts.iter().map(surroundings::CheckedPart::json).collect();
        print(&format!("{:#}\n", json!({ "well": todo == 0, "nodes": nodes, "parts": parts })));
    } else {
        print(&table(&nodes::HEADER, nodes.iter().flat_map(nodes::ProbedNode::rows)));
        print("\n");
        print(&table(&surroundings::HEADER, parts.iter().flat_map(surroundings::CheckedPart::rows)));
        print(&match todo {
            0 => "\nAll is well.\n".to_owned(),
            1 => "\n1 thing needs doing.\n".to_owned(),
            more => format!("\n{more} things need doing.\n"),
        });
    }
    Ok(if todo == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
