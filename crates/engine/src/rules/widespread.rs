//! Tokens that several public lists name: `tokens/widespread/`, which the build embeds as sorted addresses.

use alloy_primitives::Address;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Widespread {
    addresses: &'static [[u8; 20]],
}

impl Widespread {
    pub(super) fn of(sorted: &'static [u8]) -> Self {
        let (addresses, _) = sorted.as_chunks();
        Self { addresses }
    }

    pub(super) fn contains(self, token: Address) -> bool {
        self.addresses.binary_search(&token.0.0).is_ok()
    }
}
