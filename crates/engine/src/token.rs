//! What a token contract or mint says of itself. It is untrusted.

use serde::{Deserialize, Serialize};

/// Token text is passed on exactly, but no further than this.
pub const TOKEN_TEXT_BYTES_MAX: usize = 256;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    pub symbol: Option<String>,
    pub name: Option<String>,
    pub decimals: Option<u8>,
    #[serde(default)]
    pub is_erc721: bool,
}

impl Token {
    /// Cuts hostile text on a character boundary.
    pub fn clip(text: &str) -> &str {
        let end = (0..=TOKEN_TEXT_BYTES_MAX.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.get(..end).unwrap_or("")
    }
}
