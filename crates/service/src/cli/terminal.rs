//! What a person reads on a terminal. Token text comes from strangers, so control characters are shown, never obeyed.

use std::io::{IsTerminal, Write};

use comfy_table::{ContentArrangement, Table, presets};

use crate::text::visible;

/// Everything that a command prints to standard output goes through here. A closed pipe, as after `head`, is no error.
pub(super) fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

pub(super) fn safe(text: &str) -> String {
    text.chars().map(|c| if c == '\n' { ' ' } else { visible(c) }).collect()
}

/// Whether the operator wants this, said with `--yes` or typed on the terminal. Without a terminal nobody can be asked, and the answer is no.
pub(super) fn is_confirmed(act: &str, yes: bool) -> bool {
    if yes {
        return true;
    }
    if !std::io::stdin().is_terminal() {
        return false;
    }
    eprint!("{act} Type yes to go on: ");
    let mut typed = String::new();
    std::io::stdin().read_line(&mut typed).is_ok() && typed.trim().eq_ignore_ascii_case("yes")
}

pub(super) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled).set_header(header);
    for row in rows {
        table.add_row(row.iter().map(|cell| safe(cell)));
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    format!("{}\n", lines.join("\n"))
}
