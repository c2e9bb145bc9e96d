//! Most topics and most contracts of a transaction are in no pack. One bit per first two bytes of a hash tells so without a search.

const WORDS: usize = 1 << 10;

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
    let beginning = u16::from_be_bytes(*hash.first_chunk()?);
    Some((usize::from(beginning >> 6), 1 << (beginning & 63)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_may_be_held_and_nothing_else_is_but_by_its_beginning() {
        let filter = PrefixFilter::of([[0x12_u8, 0x34, 0x56].as_slice(), &[0xff, 0xff]].into_iter());
        assert!(filter.may_hold(&[0x12, 0x34, 0x56]) && filter.may_hold(&[0xff, 0xff, 0x01]));
        assert!(filter.may_hold(&[0x12, 0x34, 0x99]), "only the beginning is looked at");
        assert!(!filter.may_hold(&[0x12, 0x35]) && !filter.may_hold(&[0x00, 0x00]) && !filter.may_hold(&[0x12]));
    }
}
