//! What a person reads on a terminal. Token text comes from strangers, so control characters are shown, never obeyed.

use std::io::Write;

use comfy_table::{ContentArrangement, Table, presets};

/// Everything that a command prints to standard output goes through here. A closed pipe, as after `head`, is no error.
pub(super) fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

pub(super) fn safe(text: &str) -> String {
    let visible = |c: char| match c {
        '\n' => ' ',
        c if c.is_control() || is_invisible(c) => '\u{fffd}',
        c => c,
    };
    text.chars().map(visible).collect()
}

/// Characters that reorder or hide the text around them.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
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
