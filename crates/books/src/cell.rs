//! Text in a cell of a table.

/// Token text comes from strangers, and a spreadsheet must not read it as a formula.
pub fn tamed(text: String) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text }
}

/// One line without control characters, nor marks that turn the direction of what follows.
pub fn one_line(text: &str) -> String {
    let is_mark = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().filter(|c| !is_mark(*c)).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spreadsheet_reads_no_formula() {
        for text in ["=HYPERLINK(\"x\")", "+1", "-1", "@SUM(A1)", "\t=1"] {
            assert_eq!(tamed(text.to_owned()), format!("'{text}"));
        }
        assert_eq!(tamed("USDC".to_owned()), "USDC");
    }

    #[test]
    fn a_line_stays_one_and_keeps_its_direction() {
        assert_eq!(one_line("a\r\nb\u{202e}c"), "a  bc");
    }
}
