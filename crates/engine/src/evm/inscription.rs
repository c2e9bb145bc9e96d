//! Tokens that are texts in calldata. Indexers outside the chain make balances of them, and nothing in the state of the chain tells who has what.

/// More of a text is not looked at.
const TEXT_BYTES_MAX: usize = 4 * 1024;
/// What these do makes something for whoever asks, and takes nothing from anybody.
const MAKING: [&[u8]; 2] = [b"\"mint\"", b"\"deploy\""];

/// Whether the calldata is a text that does something with such a token, and not only makes it.
pub fn hands_on(calldata: &[u8]) -> bool {
    let Some(text) = calldata.strip_prefix(b"data:") else { return false };
    let text = text.get(..TEXT_BYTES_MAX).unwrap_or(text);
    has(text, b"\"op\"") && !MAKING.iter().any(|word| has(text, word))
}

fn has(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part == word)
}
