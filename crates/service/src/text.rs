//! Text that strangers wrote (names of keys and tokens, e-mail addresses), as pages, terminals and logs show it: no character obeys a control,
//! hides, or reorders others.

/// What is shown in the place of a character.
pub(crate) fn visible(c: char) -> char {
    match c {
        '\u{7f}' => '\u{2421}',
        // The block of control pictures has the order of the control characters.
        c if c.is_ascii_control() => char::from_u32(u32::from(c).saturating_add(0x2400)).unwrap_or('\u{fffd}'),
        c if c.is_control() || hides(c) => '\u{fffd}',
        c => c,
    }
}

/// Characters that reorder the text around them, or take part in it without being seen.
pub(crate) fn hides(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides_or_reorders() {
        let shown = |text: &str| text.chars().map(visible).collect::<String>();
        assert_eq!(shown("ledger\u{202e}import\u{2066}\u{200b}"), "ledger\u{fffd}import\u{fffd}\u{fffd}");
        assert_eq!(shown("\u{1b}[2J\u{7f}\u{85}"), "\u{241b}[2J\u{2421}\u{fffd}");
        assert_eq!(shown("Zoë, 東京, עברית"), "Zoë, 東京, עברית", "letters of any script stay");
    }
}
