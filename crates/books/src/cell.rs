//! Text in a cell of a table.

/// Token text comes from strangers, and a spreadsheet must not read it as a formula.
pub fn tamed(text: String) -> String {
    let begins = text.trim_start().starts_with(['=', '+', '-', '@', '|', '%', '＝', '＋', '－', '＠']);
    if begins || text.starts_with(['\t', '\r', '\n']) { format!("'{text}") } else { text }
}

/// One line without control characters, nor characters that nobody sees.
pub fn one_line(text: &str) -> String {
    let is_hidden = |c: char| matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    let ends_line = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    text.chars().filter(|c| !is_hidden(*c)).map(|c| if ends_line(c) { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spreadsheet_reads_no_formula() {
        for text in ["=HYPERLINK(\"x\")", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "|x", "＝1"] {
            assert_eq!(tamed(text.to_owned()), format!("'{text}"));
        }
        assert_eq!(tamed("USDC".to_owned()), "USDC");
    }

    #[test]
    fn a_line_stays_one_and_keeps_its_direction() {
        assert_eq!(one_line("a\r\nb\u{202e}c"), "a  bc");
    }
}
