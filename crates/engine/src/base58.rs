//! Base58, as Solana writes addresses (32 bytes) and signatures (64), which are the two lengths that `five8` knows; and the data of instructions, which may have
//! any length.

/// Written bytes, on the stack.
#[derive(Debug, Clone, Copy)]
pub struct Base58 {
    chars: [u8; five8::BASE58_ENCODED_64_MAX_LEN],
    length: usize,
}

impl Base58 {
    pub fn address(bytes: &[u8; 32]) -> Self {
        let mut written = [0; five8::BASE58_ENCODED_32_MAX_LEN];
        let length = usize::from(five8::encode_32(bytes, &mut written));
        let mut chars = [0; five8::BASE58_ENCODED_64_MAX_LEN];
        for (char, digit) in chars.iter_mut().zip(written) {
            *char = digit;
        }
        Self { chars, length }
    }

    pub fn signature(bytes: &[u8; 64]) -> Self {
        let mut chars = [0; five8::BASE58_ENCODED_64_MAX_LEN];
        let length = usize::from(five8::encode_64(bytes, &mut chars));
        Self { chars, length }
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.chars.get(..self.length).unwrap_or_default()).unwrap_or_default()
    }
}

/// `None` for what is not base58 of exactly 32 bytes.
pub fn read_address(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    five8::decode_32(text, &mut bytes).ok().map(|()| bytes)
}

/// `None` for what is not base58 of exactly 64 bytes.
pub fn read_signature(text: &str) -> Option<[u8; 64]> {
    let mut bytes = [0; 64];
    five8::decode_64(text, &mut bytes).ok().map(|()| bytes)
}

const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/// In `DIGITS`, of a byte that is no digit.
const NONE: u8 = u8::MAX;
/// The value of each byte.
const DIGITS: [u8; 256] = digits();
/// Digits that are taken together: 58 to the tenth is below 2 to the 59th.
const TAKEN: usize = 10;

#[expect(
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "it is computed by the compiler, which would say so"
)]
const fn digits() -> [u8; 256] {
    let mut digits = [NONE; 256];
    let mut value = 0_u8;
    while (value as usize) < ALPHABET.len() {
        digits[ALPHABET[value as usize] as usize] = value;
        value += 1;
    }
    digits
}

/// What may have any length; `None` for what is not base58. The time grows with the square of the length, so digits are taken ten at a time: a
/// digit at a time was 14 % of `taxon read` over transactions of which a quarter were Solana's.
pub fn read(text: &str) -> Option<Vec<u8>> {
    let zeros = text.bytes().take_while(|byte| *byte == b'1').count();
    // Words of 64 bits, the lowest first.
    let mut words: Vec<u64> = Vec::with_capacity(text.len() / TAKEN + 1);
    for part in text.as_bytes().get(zeros..)?.chunks(TAKEN) {
        let (mut carry, mut scale) = (0_u64, 1_u64);
        for byte in part {
            let digit = DIGITS.get(usize::from(*byte)).copied().filter(|digit| *digit != NONE)?;
            carry = carry * 58 + u64::from(digit);
            scale *= 58;
        }
        for word in &mut words {
            (*word, carry) = word.carrying_mul(scale, carry);
        }
        if carry > 0 {
            words.push(carry);
        }
    }
    let number = words.iter().rev().flat_map(|word| word.to_be_bytes()).skip_while(|byte| *byte == 0);
    let mut bytes = Vec::with_capacity(zeros + words.len() * size_of::<u64>());
    bytes.resize(zeros, 0);
    bytes.extend(number);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_by_bs58<const N: usize>(text: &str) -> Option<[u8; N]> {
        bs58::decode(text).into_vec().ok()?.try_into().ok()
    }

    fn agrees(text: &str) {
        assert_eq!(read(text), bs58::decode(text).into_vec().ok(), "{text:?}");
        assert_eq!(read_address(text), read_by_bs58(text), "{text:?}");
        assert_eq!(read_signature(text), read_by_bs58(text), "{text:?}");
    }

    #[test]
    fn zeros_in_front_are_kept() {
        assert_eq!(Base58::address(&[0; 32]).as_str(), "1".repeat(32));
        assert_eq!(Base58::signature(&[0xff; 64]).as_str(), bs58::encode([0xff; 64]).into_string());
    }

    #[test]
    fn text_of_another_length_is_refused() {
        for count in 0..=90 {
            agrees(&"1".repeat(count));
            agrees(&"z".repeat(count));
            agrees(&bs58::encode(vec![0xff; count]).into_string());
        }
    }

    proptest! {
        #[test]
        fn it_writes_and_reads_as_bs58_does(mut bytes: [u8; 32], zeros in 0_usize..=32, more: [u8; 32]) {
            bytes[..zeros].fill(0);
            let written = Base58::address(&bytes);
            prop_assert_eq!(written.as_str(), bs58::encode(bytes).into_string());
            prop_assert_eq!(read_address(written.as_str()), Some(bytes));
            let signature: [u8; 64] = [bytes, more].concat().try_into().unwrap();
            let written = Base58::signature(&signature);
            prop_assert_eq!(written.as_str(), bs58::encode(signature).into_string());
            prop_assert_eq!(read_signature(written.as_str()), Some(signature));
        }

        #[test]
        fn any_length_is_read_as_bs58_does(zeros in 0_usize..20, bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let bytes = [vec![0; zeros], bytes].concat();
            prop_assert_eq!(read(&bs58::encode(&bytes).into_string()), Some(bytes));
        }

        #[test]
        fn it_refuses_what_bs58_refuses(text in "[1-9A-Za-z]{43,44}|[1-9A-HJ-NP-Za-km-z]{86,88}|1{0,3}[1-9A-HJ-NP-Za-km-z]{30,44}|.{0,90}") {
            agrees(&text);
        }
    }
}
