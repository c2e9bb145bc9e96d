//! The rows. One line of meaning each: read them as a table.

use super::{Bill, Legs, Meaning, Nature, Presence, Rank, Telling};
use crate::legs::Direction;
use crate::role::Role;

macro_rules! categories {
    ($( $variant:ident $name:literal: $bill:ident, $legs:ident, $way:ident, $rank:ident, $role:ident, $nature:ident, $presence:ident, $telling:ident, $about:literal; )*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Category { $( $variant, )* }

        pub const TABLE: &[Meaning] = &[ $( *Category::$variant.meaning(), )* ];

        impl Category {
            pub const fn meaning(self) -> &'static Meaning {
                match self {
                    $( Self::$variant => &const { Meaning {
                        category: Self::$variant,
                        name: $name,
                        bill: Bill::$bill,
                        legs: Legs::$legs,
                        way: $way,
                        rank: Rank::$rank,
                        role: Role::$role,
                        nature: Nature::$nature,
                        presence: Presence::$presence,
                        telling: Telling::$telling,
                        about: $about,
                    } }, )*
                }
            }
        }
    };
}

const OUT: Option<Direction> = Some(Direction::Out);
const IN: Option<Direction> = Some(Direction::In);
const EITHER: Option<Direction> = None;

categories! {
    Swap "swap": Billable, Both, EITHER, Swap, Principal, Exchange, Counts, AtOnce, "One asset exchanged for another.";
    Transfer "transfer": Free, Some, EITHER, Transfer, Principal, Keeping, Counts, AtOnce, "An asset moved between two addresses and nothing came back.";
    SelfTransfer "self_transfer": Free, Some, EITHER, OwnMove, Principal, Keeping, Counts, AtOnce, "A move between the caller's own wallets.";
    CexDeposit "cex_deposit": Free, Out, OUT, OwnMove, Principal, Keeping, Counts, AtOnce, "A move into an exchange account.";
    CexWithdrawal "cex_withdrawal": Free, In, IN, OwnMove, Principal, Keeping, Counts, AtOnce, "A move out of an exchange account.";
    NftTransfer "nft_transfer": Free, Some, EITHER, Transfer, Principal, Keeping, Counts, AtOnce, "An NFT moved between two addresses and nothing came back.";
    IncomeReceipt "income_receipt": Billable, In, IN, Earning, Principal, Earning, Counts, AtOnce, "Income with positive evidence of what it is for: salary streams, grants, referrals.";
    FeePayment "fee_payment": Billable, Out, OUT, Cost, Fee, Spending, Counts, AtOnce, "A fee paid in crypto for a service.";
    Payment "payment": Billable, Out, OUT, Payment, Principal, Exchange, Counts, AtOnce, "Crypto spent on a name, a subscription, goods or a service.";
    Borrow "borrow": Billable, In, IN, Loan, Principal, Keeping, Counts, AtOnce, "Loan proceeds.";
    Repay "repay": Billable, Out, OUT, Loan, Principal, Keeping, Counts, AtOnce, "A loan paid back.";
    CollateralSupply "collateral_supply": Billable, Out, OUT, Collateral, Principal, Keeping, Counts, AtOnce, "Assets supplied to a lending market.";
    CollateralWithdraw "collateral_withdraw": Billable, In, IN, Collateral, Principal, Keeping, Counts, AtOnce, "Assets taken back from a lending market.";
    VaultDeposit "vault_deposit": Billable, Out, OUT, Vault, Principal, Keeping, Counts, AtOnce, "Assets put into a yield vault against shares.";
    VaultWithdraw "vault_withdraw": Billable, In, IN, Vault, Principal, Keeping, Counts, AtOnce, "Assets taken back from a yield vault.";
    LiquidityAdd "liquidity_add": Billable, Out, OUT, Pool, Principal, Exchange, Counts, AtOnce, "Assets put into a liquidity pool.";
    LiquidityRemove "liquidity_remove": Billable, In, IN, Pool, Principal, Exchange, Counts, AtOnce, "Assets taken out of a liquidity pool.";
    Wrap "wrap": Billable, Both, EITHER, Wrap, Principal, Keeping, Counts, AtOnce, "An asset wrapped by its issuer, one to one or at the issuer's own rate.";
    Unwrap "unwrap": Billable, Both, EITHER, Wrap, Principal, Keeping, Counts, AtOnce, "A wrapped asset turned back.";
    LiquidStakingMint "liquid_staking_mint": Billable, Both, EITHER, LiquidStaking, Principal, Exchange, Counts, AtOnce, "A coin exchanged for its liquid staking token.";
    LiquidStakingRedeem "liquid_staking_redeem": Billable, Some, EITHER, LiquidStaking, Principal, Exchange, Counts, AtOnce, "A liquid staking token turned back into the coin.";
    StakingDeposit "staking_deposit": Billable, Any, OUT, Staking, Principal, Keeping, Counts, AtOnce, "Assets locked for staking.";
    StakingWithdraw "staking_withdraw": Billable, Any, IN, Staking, Principal, Keeping, Counts, AtOnce, "Staked assets released.";
    Reward "reward": Billable, In, IN, Earning, Reward, Earning, Counts, AtOnce, "A reward received.";
    Interest "interest": Billable, In, IN, Earning, Interest, Earning, Counts, AtOnce, "Interest received.";
    MiningReward "mining_reward": Billable, In, IN, Earning, Principal, Earning, Counts, AtOnce, "A reward for mining or validating.";
    MevReward "mev_reward": Billable, In, IN, Earning, Principal, Earning, Counts, AtOnce, "Value extracted from block building.";
    StakingRebase "staking_rebase": Billable, In, IN, Earning, Reward, Earning, Counts, AtOnce, "A staking balance that grew by rebase.";
    Airdrop "airdrop": Billable, In, IN, Earning, Reward, Earning, Counts, AtOnce, "Tokens received from an airdrop.";
    BridgeOut "bridge_out": Billable, Out, OUT, Bridge, BridgeOut, Keeping, Counts, InSteps, "An asset sent to another chain.";
    BridgeIn "bridge_in": Billable, In, IN, Bridge, BridgeIn, Keeping, Counts, InSteps, "An asset received from another chain.";
    BridgeSwap "bridge_swap": Billable, Some, EITHER, Bridge, Principal, Exchange, Counts, InSteps, "A bridge where another asset arrives than the one sent.";
    NftPurchase "nft_purchase": Billable, Both, EITHER, NftTrade, Principal, Exchange, Counts, AtOnce, "An NFT bought with crypto.";
    NftSale "nft_sale": Billable, Both, EITHER, NftTrade, Principal, Exchange, Counts, AtOnce, "An NFT sold for crypto.";
    NftMint "nft_mint": Billable, In, EITHER, NftMint, Principal, Exchange, Counts, AtOnce, "An NFT minted: a disposal of what was paid, no entry when free.";
    OrderPlace "order_place": Billable, Any, OUT, Order, Principal, Keeping, InTrade, InSteps, "Assets put into escrow for an order.";
    OrderCancel "order_cancel": Billable, Any, IN, Order, Principal, Keeping, InTrade, InSteps, "Escrow returned.";
    MarginDeposit "margin_deposit": Billable, Out, OUT, Collateral, Principal, Keeping, Counts, AtOnce, "Assets paid into a margin account at a venue for derivatives.";
    MarginWithdraw "margin_withdraw": Billable, In, IN, Collateral, Principal, Keeping, Counts, AtOnce, "Assets paid out of a margin account at a venue for derivatives.";
    RedemptionRequest "redemption_request": Billable, Out, OUT, Vault, Principal, Keeping, Counts, AtOnce, "A request to redeem later.";
    TokenMigration "token_migration": Billable, Some, EITHER, Migration, Principal, Keeping, Counts, AtOnce, "A token exchanged for its successor.";
    Liquidation "liquidation": Billable, Some, EITHER, Liquidation, Principal, Exchange, Counts, AtOnce, "Collateral sold by force against debt.";
    FlashLoan "flash_loan": Billable, Any, EITHER, FlashLoan, Principal, Keeping, Cancels, InSteps, "A loan taken and repaid in one transaction: treated by what is left after both cancel.";
    TokenSale "token_sale": Billable, Out, OUT, Migration, Principal, Exchange, Counts, AtOnce, "A contribution to a token sale.";
    Governance "governance": Billable, Any, EITHER, Governance, Principal, Keeping, MovesNothing, AtOnce, "A vote or a proposal.";
    Delegation "delegation": Billable, Any, EITHER, Governance, Principal, Keeping, MovesNothing, AtOnce, "Voting power delegated.";
    VoteLock "vote_lock": Billable, Any, OUT, VoteLock, Principal, Keeping, Counts, AtOnce, "Tokens locked for voting power.";
    Refund "refund": Billable, In, IN, Order, Refund, Keeping, Counts, AtOnce, "A cost returned.";
    Donation "donation": Billable, Some, EITHER, Payment, Principal, Undecided, Counts, AtOnce, "A donation.";
    Gift "gift": Billable, Some, EITHER, Payment, Principal, Undecided, Counts, AtOnce, "A gift, as only its giver knows: set by a reviewer.";
    VestingClaim "vesting_claim": Billable, In, IN, Payment, Principal, Undecided, Counts, AtOnce, "Vested tokens claimed.";
    PerpOpen "perp_open": Billable, Any, EITHER, Derivative, Principal, Undecided, Counts, AtOnce, "A perpetual position opened.";
    PerpClose "perp_close": Billable, Any, EITHER, Derivative, Principal, Undecided, Counts, AtOnce, "A perpetual position closed.";
    Funding "funding": Billable, Any, EITHER, Derivative, Principal, Undecided, Counts, AtOnce, "A funding payment of a perpetual position.";
    Bet "bet": Billable, Any, EITHER, Derivative, Principal, Undecided, Counts, AtOnce, "A bet placed or settled.";
    Raffle "raffle": Billable, Any, EITHER, Derivative, Principal, Undecided, Counts, AtOnce, "A raffle ticket or prize.";
    Option "option": Billable, Any, EITHER, Derivative, Principal, Undecided, Counts, AtOnce, "An option bought, written, exercised or expired.";
    NftLoan "nft_loan": Billable, Any, EITHER, NftTrade, Principal, Undecided, Counts, AtOnce, "A loan against an NFT.";
    TokenBurn "token_burn": Billable, Out, OUT, Cost, Principal, Undecided, Counts, AtOnce, "Tokens sent to a burn address.";
    Loss "loss": Billable, Some, EITHER, Cost, Principal, Undecided, Counts, AtOnce, "A loss by theft or failure, as only its owner knows: set by a reviewer.";
    AccountOpen "account_open": Free, Any, EITHER, Account, Principal, Keeping, OnlyAlone, AtOnce, "Rent paid into one's own account.";
    AccountClose "account_close": Free, Any, EITHER, Account, Principal, Keeping, OnlyAlone, AtOnce, "Rent returned from one's own account.";
    Approval "approval": Free, Any, EITHER, Approval, Principal, Keeping, OnlyAlone, AtOnce, "Permission for another address to move tokens.";
    Revoke "revoke": Free, Any, EITHER, Revoke, Principal, Keeping, OnlyAlone, AtOnce, "Such a permission taken back.";
    NftListing "nft_listing": Free, Any, OUT, Preparation, Principal, Keeping, InTrade, AtOnce, "An NFT offered for sale.";
    ContractCall "contract_call": Free, Any, EITHER, Call, Principal, Keeping, OnlyAlone, AtOnce, "A contract called; nothing moved for the wallet.";
    ContractDeploy "contract_deploy": Free, Any, EITHER, Preparation, Principal, Keeping, OnlyAlone, AtOnce, "A contract deployed.";
    FailedTransaction "failed_transaction": Free, Any, EITHER, Decided, Principal, Keeping, Counts, AtOnce, "The transaction failed on chain; only gas was spent.";
    Spam "spam": Free, Any, EITHER, Decided, Principal, Keeping, Counts, AtOnce, "Unsolicited tokens or look-alike transfers.";
    Unclassified "unclassified": Billable, Any, EITHER, Open, Principal, Undecided, Counts, AtOnce, "The evidence is too thin for a category.";
}
