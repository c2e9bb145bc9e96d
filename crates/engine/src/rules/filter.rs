//! Most topics and most contracts of a transaction are in no pack. One bit per beginning of a hash tells so without a search.

/// Of each hash; one chain's contracts are some ten thousands.
const BITS: u32 = 18;
const WORDS: usize = 1 << (BITS - u64::BITS.ilog2());

/// Which beginnings occur. What it does not hold is certainly absent.
#[derive(Debug, Clone)]
pub(super) struct PrefixFilter(Box<[u64]>);

impl Default for PrefixFilter {
    fn default() -> Self {
        Self(vec![0; WORDS].into())
    }
}

impl PrefixFilter {
    pub(super) fn of<'a>(hashes: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut filter = Self::default();
        for (word, bit) in hashes.filter_map(place) {
            if let Some(word) = filter.0.get_mut(word) {
                *word |= bit;
            }
        }
        filter
    }

    pub(super) fn may_hold(&self, hash: &[u8]) -> bool {
        place(hash).is_some_and(|(word, bit)| self.0.get(word).is_some_and(|word| word & bit != 0))
    }
}

fn place(hash: &[u8]) -> Option<(usize, u64)> {
    let beginning = u32::from_be_bytes(*hash.first_chunk()?) >> (u32::BITS - BITS);
    Some((usize::try_from(beginning / u64::BITS).ok()?, 1 << (beginning % u64::BITS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_may_be_held_and_nothing_else_is_but_by_its_beginning() {
        let filter = PrefixFilter::of([[0x12_u8, 0x34, 0x56, 0x78].as_slice(), &[0xff; 4]].into_iter());
        assert!(filter.may_hold(&[0x12, 0x34, 0x56, 0x78]) && filter.may_hold(&[0xff, 0xff, 0xff, 0x01, 0x02]));
        assert!(filter.may_hold(&[0x12, 0x34, 0x56, 0x99]), "only the beginning is looked at");
        assert!(!filter.may_hold(&[0x12, 0x35, 0, 0]) && !filter.may_hold(&[0; 4]) && !filter.may_hold(&[0x12, 0x34]));
    }
}
