//! Facts as bytes, so that they can be cached and read again without a node: packed, then compressed.
//!
//! Each family packs its own facts (`evm/kept`, `solana/kept`). The format has no field names, so `FORMAT` counts up
//! with every change of the facts' types; bytes of another format are never read. Bytes may be damaged: what does not decode counts as missing.

use std::cell::RefCell;
use std::io::Read;

use flate2::read::DeflateDecoder;
use flate2::{Compress, Compression, FlushCompress, Status};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub const FORMAT: &str = "facts.8";
/// Facts of more bytes are not cached: they are fetched again.
const KEPT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Of nine. On pieces of `demo/` the next lower one leaves two fifths more bytes in half the time; higher ones cost more time than they save.
const LEVEL: u32 = 2;
/// Least capacity of the buffer for compressed bytes.
const SQUEEZED_BYTES_MIN: usize = 256;

pub(crate) fn pack<T: Serialize>(facts: &T) -> Option<Vec<u8>> {
    squeeze(&postcard::to_allocvec(facts).ok()?)
}

pub(crate) fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    postcard::from_bytes(&unsqueeze(bytes)?).ok()
}

/// Compressed; `None` for more bytes than are cached.
pub fn squeeze(plain: &[u8]) -> Option<Vec<u8>> {
    if plain.len() > KEPT_BYTES_MAX {
        return None;
    }
    // A compressor fills hundreds of kilobytes with zeros before its first byte, so each thread has one and uses it again.
    thread_local! {
        static COMPRESSOR: RefCell<Compress> = RefCell::new(Compress::new(Compression::new(LEVEL), false));
    }
    COMPRESSOR.with_borrow_mut(|compressor| {
        compressor.reset();
        let mut squeezed = Vec::with_capacity((plain.len() / 2).max(SQUEEZED_BYTES_MIN));
        loop {
            let read = usize::try_from(compressor.total_in()).ok()?;
            match compressor.compress_vec(plain.get(read..)?, &mut squeezed, FlushCompress::Finish).ok()? {
                Status::StreamEnd => break,
                Status::Ok | Status::BufError if squeezed.capacity() > KEPT_BYTES_MAX => return None,
                Status::Ok | Status::BufError => squeezed.reserve(squeezed.capacity()),
            }
        }
        // It is cached for long, and the cache counts its length and not its capacity.
        squeezed.shrink_to_fit();
        Some(squeezed)
    })
}

/// What `squeeze` was given.
pub fn unsqueeze(bytes: &[u8]) -> Option<Vec<u8>> {
    let most = u64::try_from(KEPT_BYTES_MAX).ok()?;
    let mut plain = Vec::with_capacity(bytes.len().saturating_mul(3));
    DeflateDecoder::new(bytes).take(most).read_to_end(&mut plain).ok()?;
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_squeezed_comes_back_whatever_was_squeezed_before() {
        let noise = |length: u32| -> Vec<u8> {
            (0..length).map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect()
        };
        for plain in [vec![], vec![7], vec![0; 300_000], noise(100_000), vec![], noise(3)] {
            let squeezed = squeeze(&plain).expect("it is small enough");
            assert_eq!(unsqueeze(&squeezed), Some(plain));
        }
        assert_eq!(squeeze(&vec![0; KEPT_BYTES_MAX + 1]), None);
    }
}
