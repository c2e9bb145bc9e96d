//! Exact amounts: a 256-bit integer and the decimals it is written with. No floats, no rounding.

use std::fmt;

use alloy_primitives::U256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    pub raw: U256,
    /// `None` when the token reports none; then the amount is written as the raw integer.
    pub decimals: Option<u8>,
}

impl fmt::Display for Amount {
    /// No exponent, no trailing zeros, no rounding, whatever the decimals (0 to 255) or size.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.raw.to_string();
        let places = usize::from(self.decimals.unwrap_or(0));
        if places == 0 {
            return f.write_str(&digits);
        }
        let padded = format!("{digits:0>width$}", width = places.saturating_add(1));
        let (whole, fraction) = padded.split_at(padded.len().saturating_sub(places));
        let fraction = fraction.trim_end_matches('0');
        if fraction.is_empty() { f.write_str(whole) } else { write!(f, "{whole}.{fraction}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(raw: &str, decimals: Option<u8>) -> String {
        Amount { raw: raw.parse().unwrap(), decimals }.to_string()
    }

    #[test]
    fn amounts_are_written_exactly() {
        assert_eq!(written("0", Some(18)), "0");
        assert_eq!(written("1", Some(18)), "0.000000000000000001");
        assert_eq!(written("1500000", Some(6)), "1.5");
        assert_eq!(written("1000000", Some(6)), "1");
        assert_eq!(written("1000000", Some(0)), "1000000");
        assert_eq!(written("1000000", None), "1000000");
        let max = U256::MAX.to_string();
        assert_eq!(written(&max, None), max);
        assert_eq!(written(&max, Some(255)), format!("0.{max:0>255}"));
    }

    /// The inverse of `Display`, written independently: move the point back and read an integer.
    fn read_back(text: &str, decimals: u8) -> U256 {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole}{fraction:0<width$}", width = usize::from(decimals));
        digits.trim_start_matches('0').parse().unwrap_or(U256::ZERO)
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(limbs: [u64; 4], decimals: u8) {
            let raw = U256::from_limbs(limbs);
            let text = Amount { raw, decimals: Some(decimals) }.to_string();
            prop_assert_eq!(read_back(&text, decimals), raw);
            prop_assert!(!text.contains('e'));
            prop_assert!(!text.contains('.') || !text.ends_with('0'));
        }
    }
}
