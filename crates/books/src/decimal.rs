//! Exact decimals of any length, as they are in text. Nothing is rounded but where a currency ends.

/// Digits before and after the point, as in an amount of 256 bits with up to 255 decimals.
pub const AMOUNT_DIGITS_MAX: usize = 78;
pub const AMOUNT_PLACES_MAX: usize = 255;

/// Not negative.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decimal {
    /// The first is the most significant one and no zero.
    digits: Vec<u8>,
    /// How many of them are after the point; there may be more than there are digits.
    places: usize,
}

impl Decimal {
    /// `12` or `0.5`: no sign, exponent, or anything between digits.
    pub fn parse(text: &str, digits_max: usize, places_max: usize) -> Option<Self> {
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let is_plain =
            |text: &str, max: usize| (1..=max).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_plain(whole, digits_max) || !is_plain(part, places_max) {
            return None;
        }
        let part = part.trim_end_matches('0');
        let digits = whole.bytes().chain(part.bytes()).map(|byte| byte.saturating_sub(b'0'));
        Some(Self { digits: digits.skip_while(|digit| *digit == 0).collect(), places: part.len() })
    }

    /// An amount of a posting.
    pub fn amount(text: &str) -> Option<Self> {
        Self::parse(text, AMOUNT_DIGITS_MAX, AMOUNT_PLACES_MAX)
    }

    pub fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    pub fn times(&self, other: &Self) -> Self {
        // From the last place up. A sum of products of two digits, one for each of at most 333 places, fits easily.
        let mut sums = vec![0_u32; self.digits.len().saturating_add(other.digits.len())];
        for (at, one) in self.digits.iter().rev().enumerate() {
            let places = sums.iter_mut().skip(at);
            for (sum, another) in places.zip(other.digits.iter().rev()) {
                *sum = sum.saturating_add(u32::from(*one).saturating_mul(u32::from(*another)));
            }
        }
        let mut carry = 0_u32;
        let mut digits: Vec<u8> = Vec::with_capacity(sums.len());
        for sum in sums {
            let sum = sum.saturating_add(carry);
            digits.push(u8::try_from(sum % 10).unwrap_or_default());
            carry = sum / 10;
        }
        let digits = digits.into_iter().rev().skip_while(|digit| *digit == 0).collect();
        Self { digits, places: self.places.saturating_add(other.places) }
    }

    pub fn plus(&self, other: &Self) -> Self {
        let places = self.places.max(other.places);
        // From the last place up, both with as many places.
        let digits = |decimal: &Self| {
            let padding = std::iter::repeat_n(0, places.saturating_sub(decimal.places));
            padding.chain(decimal.digits.clone().into_iter().rev()).collect::<Vec<u8>>()
        };
        let (one, another) = (digits(self), digits(other));
        let mut carry = 0_u8;
        let mut sums: Vec<u8> = Vec::with_capacity(one.len().max(another.len()).saturating_add(1));
        for at in 0..=one.len().max(another.len()) {
            let [one, another] = [&one, &another].map(|digits| digits.get(at).copied().unwrap_or_default());
            let sum = one.saturating_add(another).saturating_add(carry);
            sums.push(sum % 10);
            carry = sum / 10;
        }
        Self { digits: sums.into_iter().rev().skip_while(|digit| *digit == 0).collect(), places }
    }

    /// With exactly so many places, a half rounded up.
    pub fn rounded(&self, places: usize) -> Self {
        let dropped = self.places.saturating_sub(places);
        if dropped == 0 {
            return self.clone();
        }
        let kept = self.digits.len().saturating_sub(dropped);
        // Where more places are dropped than there are digits, the first of the dropped ones is a zero.
        let is_up = self.digits.len() >= dropped && self.digits.get(kept).is_some_and(|digit| *digit >= 5);
        let mut digits: Vec<u8> = self.digits.iter().copied().take(kept).collect();
        if is_up {
            let nines = digits.iter().rev().take_while(|digit| **digit == 9).count();
            let at = digits.len().checked_sub(nines.saturating_add(1));
            digits.iter_mut().rev().take(nines).for_each(|digit| *digit = 0);
            match at.and_then(|at| digits.get_mut(at)) {
                Some(digit) => *digit = digit.saturating_add(1),
                None => digits.insert(0, 1),
            }
        }
        Self { digits, places }
    }

    /// Without zeros at the end.
    pub fn text(&self) -> String {
        let text = self.text_with(self.places);
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    }

    /// With at least so many places.
    pub fn text_with(&self, places: usize) -> String {
        let places = places.max(self.places);
        let mut text: String = self.digits.iter().map(|digit| char::from(digit.saturating_add(b'0'))).collect();
        if !self.is_zero() {
            text.extend(std::iter::repeat_n('0', places.saturating_sub(self.places)));
        }
        let padded = format!("{text:0>width$}", width = places.saturating_add(1));
        match padded.split_at_checked(padded.len().saturating_sub(places)) {
            Some((whole, part)) if !part.is_empty() => format!("{whole}.{part}"),
            _ => padded,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::amount(text).expect("it is a decimal")
    }

    #[test]
    fn products_are_exact() {
        for (one, other, product) in [
            ("0.8", "2983.069", "2386.4552"),
            ("0.000000000000000001", "0.01", "0.00000000000000000001"),
            ("0", "3.5", "0"),
            ("100", "0.50", "50"),
            ("99999999999999999999.9", "99999999999999999999.9", "9999999999999999999980000000000000000000.01"),
        ] {
            assert_eq!(decimal(one).times(&decimal(other)).text(), product);
        }
    }

    #[test]
    fn sums_are_exact() {
        for (one, other, sum) in [
            ("0.8", "2983.069", "2983.869"),
            ("0", "0", "0"),
            ("0.000000000000000001", "0", "0.000000000000000001"),
            ("99.99", "0.01", "100"),
            ("5", "0.005", "5.005"),
        ] {
            assert_eq!(decimal(one).plus(&decimal(other)).text(), sum);
            assert_eq!(decimal(other).plus(&decimal(one)).text(), sum);
        }
    }

    #[test]
    fn a_half_is_rounded_up_to_the_places_of_a_currency() {
        for (exact, rounded) in [
            ("2386.4552", "2386.46"),
            ("0.005", "0.01"),
            ("0.00499", "0.00"),
            ("9.995", "10.00"),
            ("0.000541584", "0.00"),
            ("7", "7.00"),
            ("0", "0.00"),
        ] {
            assert_eq!(decimal(exact).rounded(2).text_with(2), rounded, "{exact}");
        }
        assert_eq!(decimal("1250.5").rounded(0).text_with(0), "1251");
        assert_eq!(decimal("0.05").rounded(0).text_with(0), "0");
    }

    #[test]
    fn what_is_no_plain_decimal_is_none() {
        for text in ["", ".", "1.", ".5", "-1", "+1", "1e5", "1,000", "0x1", " 1", "1.2.3", "٣", "NaN"] {
            assert_eq!(Decimal::amount(text), None, "{text}");
        }
        assert_eq!(Decimal::amount(&"9".repeat(79)), None);
        assert_eq!(Decimal::amount(&format!("0.{}", "1".repeat(256))), None);
    }

    proptest! {
        /// Against integers of the machine.
        #[test]
        fn products_agree_with_integers(one: u64, other: u64, shift in 0_usize..18) {
            let product = u128::from(one) * u128::from(other);
            let sum = u128::from(one) + u128::from(other);
            prop_assert_eq!(decimal(&one.to_string()).plus(&decimal(&other.to_string())).text(), sum.to_string());
            prop_assert_eq!(decimal(&one.to_string()).times(&decimal(&other.to_string())).text(), product.to_string());
            let digits = format!("{one:0>19}");
            let (whole, part) = digits.split_at(digits.len() - shift);
            let written = if part.is_empty() { whole.to_owned() } else { format!("{whole}.{part}") };
            let unit = 10_u128.pow(u32::try_from(shift).unwrap());
            let rounded = (u128::from(one) + unit / 2) / unit;
            prop_assert_eq!(decimal(&written).rounded(0).text(), rounded.to_string());
        }
    }
}
