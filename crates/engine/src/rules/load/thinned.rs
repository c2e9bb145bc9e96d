//! A pack's text without what only checks need.

/// How the headings of those sections begin.
const CHECKS: [&str; 6] = ["[[case]]", "[[recorded]]", "[recorded.", "[[surface]]", "[surface.", "[case."];

/// Their lines are left empty, so that the others keep their numbers. This looks at how lines begin and does not read TOML: a line inside of a
/// list or text that begins like a heading would be taken for one. Hence it is for the embedded packs alone, and a test reads all of them both ways.
pub(super) fn without_checks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_check = false;
    for line in text.split_inclusive('\n') {
        if line.starts_with('[') {
            is_check = CHECKS.iter().any(|heading| line.starts_with(heading));
        }
        out.push_str(if is_check { "\n" } else { line });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::without_checks;
    use crate::rules::embedded;

    #[test]
    fn nothing_else_of_an_embedded_pack_is_left_out() {
        for (stem, text) in embedded::PROTOCOLS {
            let parsed = |text: &str| text.parse::<toml::Table>().unwrap_or_else(|error| panic!("{stem}: {error}"));
            let (thin, mut whole) = (without_checks(text), parsed(text));
            whole.retain(|section, _| !["case", "recorded", "surface"].contains(&section));
            assert_eq!(parsed(&thin), whole, "{stem}");
            assert!(thin.lines().zip(text.lines()).all(|(thin, whole)| thin == whole || thin.is_empty()), "{stem}");
        }
    }
}
