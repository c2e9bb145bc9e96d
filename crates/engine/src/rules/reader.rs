//! The names of readers: what the words of a pack cannot say is a small function in `sources::readers`, which a rule names here.

/// Their joint opinions are asked for in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reader {
    /// The emitter is a pool: what the wallet sent into pools and took out of them is a swap.
    Amm,
    /// What a position paid out: principal as far as it was decreased, fees beyond.
    Collected,
    /// What was lent to a market or taken back, and what beyond it was a loan.
    OneBalance,
    /// An ERC-4626 vault: its assets may go straight on into another.
    Vault,
}

impl Reader {
    /// By the name that packs use.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "amm" => Some(Self::Amm),
            "collected" => Some(Self::Collected),
            "one_balance" => Some(Self::OneBalance),
            "vault" => Some(Self::Vault),
            _ => None,
        }
    }

    /// Whether it reads another event of the same contract, which the rule must name in `beside`.
    pub fn needs_beside(self) -> bool {
        match self {
            Self::Collected => true,
            Self::Amm | Self::OneBalance | Self::Vault => false,
        }
    }
}
