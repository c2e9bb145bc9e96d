//! Base58, as Solana writes addresses and signatures. Five digits come off the number with each division: an answer holds a dozen
//! addresses, and one digit at a time would cost as much as all the rest of it.

const DIGITS: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const FIVE_DIGITS: u64 = 58 * 58 * 58 * 58 * 58;
/// A signature is 64 bytes.
const BYTES_MAX: usize = 64;
/// 64 bytes need 88 digits, which come in groups of five.
const CHARS_MAX: usize = 90;

/// Written bytes, on the stack.
#[derive(Debug, Clone, Copy)]
pub struct Base58 {
    chars: [u8; CHARS_MAX],
    start: usize,
}

impl Base58 {
    /// Of an address or a signature.
    pub fn of<const N: usize>(bytes: &[u8; N]) -> Self {
        const { assert!(N.is_multiple_of(4) && N <= BYTES_MAX) };
        let mut number = [0_u32; BYTES_MAX / 4];
        let words = bytes.as_chunks::<4>().0;
        for (limb, word) in number.iter_mut().zip(words) {
            *limb = u32::from_be_bytes(*word);
        }
        let mut open = number.get_mut(..N / 4).unwrap_or_default();
        let mut written = Self { chars: [b'1'; CHARS_MAX], start: CHARS_MAX };
        while let Some(first) = open.iter().position(|limb| *limb != 0) {
            open = open.get_mut(first..).unwrap_or_default();
            let mut rest = 0_u64;
            for limb in open.iter_mut() {
                let value = (rest << 32) | u64::from(*limb);
                // The rest is below the divisor, so the quotient fits.
                *limb = u32::try_from(value / FIVE_DIGITS).unwrap_or(u32::MAX);
                rest = value % FIVE_DIGITS;
            }
            written.put(u32::try_from(rest).unwrap_or_default());
        }
        let padding = written.chars.iter().skip(written.start).take_while(|digit| **digit == b'1').count();
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        // Each zero byte in front is written as one digit.
        written.start = written.start.saturating_add(padding).saturating_sub(zeros);
        written
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.chars.get(self.start..).unwrap_or_default()).unwrap_or_default()
    }

    fn put(&mut self, mut group: u32) {
        let end = self.start;
        self.start = end.saturating_sub(5);
        for place in self.chars.get_mut(self.start..end).unwrap_or_default().iter_mut().rev() {
            let digit = usize::try_from(group % 58).unwrap_or_default();
            *place = DIGITS.get(digit).copied().unwrap_or_default();
            group /= 58;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn zeros_in_front_are_kept() {
        assert_eq!(Base58::of(&[0; 32]).as_str(), "1".repeat(32));
        assert_eq!(Base58::of(&[0xff; 64]).as_str(), bs58::encode([0xff; 64]).into_string());
    }

    proptest! {
        #[test]
        fn it_writes_what_the_reader_reads(mut bytes: [u8; 32], zeros in 0_usize..32, more: [u8; 32]) {
            bytes[..zeros].fill(0);
            let written = Base58::of(&bytes);
            prop_assert_eq!(written.as_str(), bs58::encode(bytes).into_string());
            let signature: [u8; 64] = [bytes, more].concat().try_into().unwrap();
            let written = Base58::of(&signature);
            prop_assert_eq!(written.as_str(), bs58::encode(signature).into_string());
        }
    }
}
