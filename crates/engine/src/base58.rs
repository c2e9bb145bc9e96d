//! Base58, as Solana writes addresses (32 bytes) and signatures (64). `five8` knows only these two lengths and is an order of magnitude
//! faster than `bs58`, which reads what may have any length: the data of instructions.

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_by_bs58<const N: usize>(text: &str) -> Option<[u8; N]> {
        bs58::decode(text).into_vec().ok()?.try_into().ok()
    }

    fn agrees(text: &str) {
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
        fn it_refuses_what_bs58_refuses(text in "[1-9A-Za-z]{43,44}|[1-9A-HJ-NP-Za-km-z]{86,88}|1{0,3}[1-9A-HJ-NP-Za-km-z]{30,44}|.{0,90}") {
            agrees(&text);
        }
    }
}
