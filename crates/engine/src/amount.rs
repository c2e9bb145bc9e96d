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
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl Amount {
    /// No exponent, no trailing zeros, no rounding, whatever the decimals (0 to 255) or size.
    pub fn text(&self) -> String {
        let (mut small, mut large) = (itoa::Buffer::new(), [b'0'; DIGITS_MAX]);
        let digits = match u128::try_from(self.raw) {
            Ok(0) => "",
            Ok(raw) => small.format(raw),
            Err(_) => digits(self.raw, &mut large),
        };
        let places = usize::from(self.decimals.unwrap_or(0));
        let (whole, fraction) = digits.split_at_checked(digits.len().saturating_sub(places)).unwrap_or_default();
        let zeros = fraction.bytes().rev().take_while(|digit| *digit == b'0').count();
        let fraction = fraction.get(..fraction.len().saturating_sub(zeros)).unwrap_or_default();
        let whole = if whole.is_empty() { "0" } else { whole };
        if fraction.is_empty() {
            return whole.to_owned();
        }
        let zeros = places.saturating_sub(digits.len());
        let mut text = String::with_capacity(whole.len().saturating_add(places).saturating_add(1));
        text.push_str(whole);
        text.push('.');
        text.extend(std::iter::repeat_n('0', zeros));
        text.push_str(fraction);
        text
    }
}

/// 256 bits never need more decimal digits than this.
const DIGITS_MAX: usize = 78;
/// The largest power of ten in 64 bits, and how many digits one division by it yields.
const CHUNK: u128 = 10_000_000_000_000_000_000;
const CHUNK_DIGITS: usize = 19;

/// The number in decimal; zero is no digit at all.
fn digits(raw: U256, buffer: &mut [u8; DIGITS_MAX]) -> &str {
    let mut limbs = raw.into_limbs();
    let mut end = DIGITS_MAX;
    while limbs != [0; 4] {
        let mut rest = 0_u128;
        for limb in limbs.iter_mut().rev() {
            let value = (rest << 64) | u128::from(*limb);
            if value != 0 {
                // The rest is below the divisor, so the quotient fits.
                *limb = u64::try_from(value / CHUNK).unwrap_or(u64::MAX);
                rest = value % CHUNK;
            }
        }
        let mut chunk = u64::try_from(rest).unwrap_or_default();
        let start = end.saturating_sub(CHUNK_DIGITS);
        for place in buffer.get_mut(start..end).unwrap_or_default().iter_mut().rev() {
            *place = u8::try_from(chunk % 10).unwrap_or_default().saturating_add(b'0');
            chunk /= 10;
        }
        end = start;
    }
    let written = std::str::from_utf8(buffer.get(end..).unwrap_or_default()).unwrap_or_default();
    written.trim_start_matches('0')
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
