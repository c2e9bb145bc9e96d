//! The rows. One line of meaning each: read them as a table.

use super::Bill::{Billable as B, Free as F};
use super::LedgerAction::{
    CarryBasis, CloseLiability, DisposeAndAcquire, ExpenseFee, Ignore, Lock, Move, NoEntry, OpenLiability,
    PledgeCollateral, RecognizeIncome, ReleaseCollateral, Review, Unlock, WriteOff,
};
use super::Treatment::{Disposal, Expense, Income, NeedsReview, NonTaxable};
use super::{Condition, Grey, Legs, PolicyKey, Row, Side};

macro_rules! categories {
    ($( $variant:ident $name:literal: $treatment:ident, $action:ident, $bill:ident, $legs:ident, $policy:expr, $grey:expr, $about:literal, $basis:literal; )*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Category { $( $variant, )* }

        pub const TABLE: &[Row] = &[ $( *Category::$variant.row(), )* ];

        impl Category {
            pub const fn row(self) -> &'static Row {
                match self {
                    $( Self::$variant => &const { Row {
                        category: Self::$variant,
                        name: $name,
                        treatment: $treatment,
                        ledger_action: $action,
                        bill: $bill,
                        legs: Legs::$legs,
                        policy: $policy,
                        grey: $grey,
                        about: $about,
                        basis: $basis,
                    } }, )*
                }
            }
        }
    };
}

const NEVER: Grey = Grey::Never;
const LP: Option<PolicyKey> = Some(PolicyKey::Lp);
const WRAP: Option<PolicyKey> = Some(PolicyKey::Wrap);
const LST: Option<PolicyKey> = Some(PolicyKey::Lst);
const STAKING: Option<PolicyKey> = Some(PolicyKey::Staking);

const fn always(note: &'static str, treatment: super::Treatment, label: &'static str) -> Grey {
    Grey::Always(note, Side { treatment, label })
}

const fn when(condition: Condition, note: &'static str, treatment: super::Treatment, label: &'static str) -> Grey {
    Grey::When(condition, note, Side { treatment, label })
}

const PLEDGE: Grey = always(
    "A pledge that can be taken back is no exchange. Where beneficial ownership passes to the protocol, HMRC CRYPTO61000 and ATO guidance see a disposal.",
    Disposal,
    "Disposal of the asset against the protocol's promise to return it",
);
const POOL: Grey = always(
    "Pool shares differ materially from the assets put in (Cottage Savings; ATO and HMRC guidance). Notice 2024-57 takes no side; HMRC announced on 2025-11-26 that it intends no gain/no loss, which is not law yet.",
    NonTaxable,
    "Basis carried into and out of the pool position",
);
const WRAPPING: Grey = always(
    "The wrapped coin is the same asset one to one, so nothing differs materially (Reg. 1.1001-7). ATO guidance treats wrapping as a CGT event.",
    Disposal,
    "Exchange of the coin for its wrapped form",
);
const LIQUID_STAKING: Grey = always(
    "The liquid staking token is materially different property from the coin (Cottage Savings, Reg. 1.1001-7). The receipt-token theory sees a deposit slip for the same coin. Rev. Rul. 2023-14 does not decide it.",
    NonTaxable,
    "Receipt for the same coin, basis carried",
);
const REBASE: Grey = always(
    "A balance that grows by rebase is income when the holder can dispose of it, by analogy to Rev. Rul. 2023-14. The other position defers it until disposal.",
    NonTaxable,
    "Deferred until disposal",
);
const MIGRATION: Grey = always(
    "The same investment continued under a new contract. Under IRC 1001 a token with materially different rights would be an exchange.",
    Disposal,
    "Exchange of the old token for the new",
);
const LIQUIDATED: Grey = always(
    "Collateral taken against the debt is a forced sale at the value of the debt discharged. Some treat it as a plain settlement of the loan.",
    NonTaxable,
    "Settlement of the loan with its own collateral",
);
const PRESALE: Grey = always(
    "Paying crypto into a token sale disposes of what was paid. Where the token comes later, some treat the contribution as a deposit until then.",
    NonTaxable,
    "Deposit until the token is delivered",
);
const TRANSFER: Grey = when(
    Condition::OtherPartyUnknown,
    "A move between one's own wallets is no event (Rev. Proc. 2024-28: basis follows the wallet). If the other party is someone else, it may be a payment or a receipt of income (Notice 2014-21).",
    Disposal,
    "Payment to, or receipt from, another person",
);
const BRIDGE: Grey = when(
    Condition::AnotherTokenArrives,
    "The same asset on another chain in one's own wallet; no direct authority. A different token on the other side would be an exchange (Reg. 1.1001-7).",
    Disposal,
    "Exchange for the token on the other chain",
);
const AIRDROPPED: Grey = when(
    Condition::NotClaimedByWallet,
    "Income once the holder has dominion and control (Rev. Rul. 2019-24). Unclaimed and unsolicited tokens may not be under it yet; the BMF letter of 2025-03-06 asks whether a service was given.",
    NonTaxable,
    "No income until the holder takes control",
);
const INTENT: &str = "Intent or law is not on chain, so a person decides.";
const CONTRIBUTION: Grey = always(INTENT, NonTaxable, "Gift or deductible contribution without a realised gain");
const SALE: Grey = always(INTENT, Disposal, "Disposal of what was given");
const RECEIPT: Grey = always(INTENT, Income, "Income at receipt");
const WORTHLESS: Grey = always(
    "A loss needs a closed transaction: CCA 202302011 allows none while the token still trades.",
    Disposal,
    "Disposal at nil value",
);

categories! {
    Swap "swap": Disposal, DisposeAndAcquire, B, Both, None, NEVER, "One asset exchanged for another.", "IRC 1001; Notice 2014-21; Reg. 1.1001-7";
    Transfer "transfer": NonTaxable, Move, F, Some, None, TRANSFER, "An asset moved between two addresses and nothing came back.", "Rev. Proc. 2024-28 for own wallets";
    SelfTransfer "self_transfer": NonTaxable, Move, F, Some, None, NEVER, "A move between the caller's own wallets.", "Rev. Proc. 2024-28: basis follows the wallet";
    CexDeposit "cex_deposit": NonTaxable, Move, F, Out, None, NEVER, "A move into an exchange account.", "Rev. Proc. 2024-28: basis follows the wallet";
    CexWithdrawal "cex_withdrawal": NonTaxable, Move, F, In, None, NEVER, "A move out of an exchange account.", "Rev. Proc. 2024-28: basis follows the wallet";
    NftTransfer "nft_transfer": NonTaxable, Move, F, Some, None, NEVER, "An NFT moved between two addresses and nothing came back.", "Rev. Proc. 2024-28: basis follows the wallet";
    IncomeReceipt "income_receipt": Income, RecognizeIncome, B, In, None, NEVER, "Income with positive evidence of what it is for: salary streams, grants, referrals.", "IRC 61; Notice 2014-21";
    FeePayment "fee_payment": Expense, ExpenseFee, B, Out, None, NEVER, "A fee paid in crypto for a service.", "Reg. 1.1001-7(b)(1)(ii)";
    Payment "payment": Disposal, DisposeAndAcquire, B, Out, None, when(Condition::PayeeByShape, "Paying with crypto disposes of it (Notice 2014-21). The payee is known only by the shape of the payment.", NonTaxable, "Move to a wallet of the same owner"), "Crypto spent on a name, a subscription, goods or a service.", "Notice 2014-21";
    Borrow "borrow": NonTaxable, OpenLiability, B, In, None, NEVER, "Loan proceeds.", "Loan proceeds are no income: an obligation to repay stands against them";
    Repay "repay": NonTaxable, CloseLiability, B, Out, None, when(Condition::RepaidAssetDiffers, "Repaying a loan is no event for the borrower. Repaying it in another asset than the one borrowed may be a disposal (ATO: a CGT event).", Disposal, "Disposal of the asset used to repay"), "A loan paid back.", "Discharge of a liability in full is no gain";
    CollateralSupply "collateral_supply": NonTaxable, PledgeCollateral, B, Out, None, PLEDGE, "Assets supplied to a lending market.", "A pledge is no exchange";
    CollateralWithdraw "collateral_withdraw": NonTaxable, ReleaseCollateral, B, In, None, PLEDGE, "Assets taken back from a lending market.", "A pledge returned is no exchange";
    VaultDeposit "vault_deposit": NonTaxable, CarryBasis, B, Out, None, PLEDGE, "Assets put into a yield vault against shares.", "A deposit that can be taken back is no exchange";
    VaultWithdraw "vault_withdraw": NonTaxable, CarryBasis, B, In, None, PLEDGE, "Assets taken back from a yield vault.", "A deposit returned is no exchange";
    LiquidityAdd "liquidity_add": Disposal, DisposeAndAcquire, B, Out, LP, POOL, "Assets put into a liquidity pool.", "Cottage Savings; Reg. 1.1001-7; ATO and HMRC guidance";
    LiquidityRemove "liquidity_remove": Disposal, DisposeAndAcquire, B, In, LP, POOL, "Assets taken out of a liquidity pool.", "Cottage Savings; Reg. 1.1001-7; ATO and HMRC guidance";
    Wrap "wrap": NonTaxable, CarryBasis, B, Both, WRAP, WRAPPING, "The native coin wrapped one to one.", "Same asset, nothing differs materially (Reg. 1.1001-7)";
    Unwrap "unwrap": NonTaxable, CarryBasis, B, Both, WRAP, WRAPPING, "A wrapped coin turned back one to one.", "Same asset, nothing differs materially (Reg. 1.1001-7)";
    LiquidStakingMint "liquid_staking_mint": Disposal, DisposeAndAcquire, B, Both, LST, LIQUID_STAKING, "A coin exchanged for its liquid staking token.", "Materially different property (Cottage Savings, Reg. 1.1001-7)";
    LiquidStakingRedeem "liquid_staking_redeem": Disposal, DisposeAndAcquire, B, Some, LST, LIQUID_STAKING, "A liquid staking token turned back into the coin.", "Materially different property (Cottage Savings, Reg. 1.1001-7)";
    StakingDeposit "staking_deposit": NonTaxable, Lock, B, Any, None, NEVER, "Assets locked for staking.", "No change of ownership";
    StakingWithdraw "staking_withdraw": NonTaxable, Unlock, B, Any, None, NEVER, "Staked assets released.", "No change of ownership";
    Reward "reward": Income, RecognizeIncome, B, In, None, NEVER, "A reward received.", "Rev. Rul. 2023-14; IRC 61; CCA 202444009 for timing";
    Interest "interest": Income, RecognizeIncome, B, In, None, NEVER, "Interest received.", "IRC 61";
    MiningReward "mining_reward": Income, RecognizeIncome, B, In, None, NEVER, "A reward for mining or validating.", "Notice 2014-21; Rev. Rul. 2023-14";
    MevReward "mev_reward": Income, RecognizeIncome, B, In, None, NEVER, "Value extracted from block building.", "IRC 61";
    StakingRebase "staking_rebase": Income, RecognizeIncome, B, In, STAKING, REBASE, "A staking balance that grew by rebase.", "Rev. Rul. 2023-14 by analogy";
    Airdrop "airdrop": Income, RecognizeIncome, B, In, None, AIRDROPPED, "Tokens received from an airdrop.", "Rev. Rul. 2019-24";
    HardFork "hard_fork": Income, RecognizeIncome, B, In, None, AIRDROPPED, "Coins received from a hard fork.", "Rev. Rul. 2019-24";
    BridgeOut "bridge_out": NonTaxable, Move, B, Out, None, BRIDGE, "An asset sent to another chain.", "Same asset, own wallet; no direct authority";
    BridgeIn "bridge_in": NonTaxable, Move, B, In, None, BRIDGE, "An asset received from another chain.", "Same asset, own wallet; no direct authority";
    BridgeSwap "bridge_swap": Disposal, DisposeAndAcquire, B, Some, None, when(Condition::OneFamily, "Another asset arrives on the other chain, which is an exchange (Reg. 1.1001-7). Two tokens of one family, such as USDC and USDC.e, may be the same property.", NonTaxable, "Same property under another contract"), "A bridge where another asset arrives than the one sent.", "Reg. 1.1001-7";
    NftPurchase "nft_purchase": Disposal, DisposeAndAcquire, B, Both, None, NEVER, "An NFT bought with crypto.", "Notice 2014-21; Notice 2023-27 decides the rate only";
    NftSale "nft_sale": Disposal, DisposeAndAcquire, B, Both, None, NEVER, "An NFT sold for crypto.", "Notice 2014-21; Notice 2023-27 decides the rate only";
    NftMint "nft_mint": Disposal, DisposeAndAcquire, B, In, None, when(Condition::Free, "A free mint has no cost and no exchange. Where the NFT has a value when received, it may be income (IRC 61).", Income, "Income at the value received"), "An NFT minted: a disposal of what was paid, no entry when free.", "Notice 2014-21";
    OrderPlace "order_place": NonTaxable, Lock, B, Any, None, NEVER, "Assets put into escrow for an order.", "Escrow: the fill is the maker's swap";
    OrderCancel "order_cancel": NonTaxable, Unlock, B, Any, None, NEVER, "Escrow returned.", "Escrow: nothing was exchanged";
    TokenMigration "token_migration": NonTaxable, CarryBasis, B, Some, None, MIGRATION, "A token exchanged for its successor.", "Same investment continued";
    Liquidation "liquidation": Disposal, DisposeAndAcquire, B, Some, None, LIQUIDATED, "Collateral sold by force against debt.", "Forced sale against debt";
    FlashLoan "flash_loan": NonTaxable, NoEntry, B, Any, None, NEVER, "A loan taken and repaid in one transaction: treated by what is left after both cancel.", "Loan and repayment cancel; the fee is an expense";
    TokenSale "token_sale": Disposal, DisposeAndAcquire, B, Out, None, PRESALE, "A contribution to a token sale.", "Notice 2014-21";
    Governance "governance": NonTaxable, NoEntry, B, Any, None, NEVER, "A vote or a proposal.", "Nothing was exchanged";
    Delegation "delegation": NonTaxable, NoEntry, B, Any, None, NEVER, "Voting power delegated.", "Nothing was exchanged";
    VoteLock "vote_lock": NonTaxable, Lock, B, Any, None, when(Condition::LockReceipt, "A lock of one's own tokens changes no ownership. A transferable receipt for the lock may be materially different property.", Disposal, "Exchange for the lock's receipt"), "Tokens locked for voting power.", "No change of ownership";
    Refund "refund": NonTaxable, CarryBasis, B, In, None, NEVER, "A cost returned.", "Reverses a cost";
    Donation "donation": NeedsReview, Review, B, Some, None, CONTRIBUTION, "A donation.", "Intent is not on chain";
    Gift "gift": NeedsReview, Review, B, Some, None, CONTRIBUTION, "A gift.", "Intent is not on chain";
    VestingClaim "vesting_claim": NeedsReview, Review, B, In, None, RECEIPT, "Vested tokens claimed.", "IRC 83 depends on facts that are not on chain";
    PerpOpen "perp_open": NeedsReview, Review, B, Any, None, SALE, "A perpetual position opened.", "No settled authority";
    PerpClose "perp_close": NeedsReview, Review, B, Any, None, SALE, "A perpetual position closed.", "No settled authority";
    Funding "funding": NeedsReview, Review, B, Any, None, RECEIPT, "A funding payment of a perpetual position.", "No settled authority";
    Bet "bet": NeedsReview, Review, B, Any, None, SALE, "A bet placed or settled.", "No settled authority";
    Raffle "raffle": NeedsReview, Review, B, Any, None, SALE, "A raffle ticket or prize.", "No settled authority";
    Option "option": NeedsReview, Review, B, Any, None, SALE, "An option bought, written, exercised or expired.", "No settled authority";
    NftLoan "nft_loan": NeedsReview, Review, B, Any, None, SALE, "A loan against an NFT.", "No settled authority";
    TokenBurn "token_burn": NeedsReview, WriteOff, B, Out, None, WORTHLESS, "Tokens sent to a burn address.", "CCA 202302011";
    Loss "loss": NeedsReview, WriteOff, B, Some, None, WORTHLESS, "A loss by theft or failure.", "CCA 202302011";
    AccountOpen "account_open": NonTaxable, Lock, F, Any, None, NEVER, "Rent paid into one's own account.", "Rent comes back: never an expense";
    AccountClose "account_close": NonTaxable, Unlock, F, Any, None, NEVER, "Rent returned from one's own account.", "Rent comes back: never income";
    Approval "approval": NonTaxable, NoEntry, F, Any, None, NEVER, "Permission for another address to move tokens.", "Nothing moved but gas";
    Revoke "revoke": NonTaxable, NoEntry, F, Any, None, NEVER, "Such a permission taken back.", "Nothing moved but gas";
    NftListing "nft_listing": NonTaxable, NoEntry, F, Any, None, NEVER, "An NFT offered for sale.", "Nothing moved but gas";
    ContractCall "contract_call": NonTaxable, NoEntry, F, Any, None, NEVER, "A contract called; nothing moved for the wallet.", "Nothing moved but gas";
    ContractDeploy "contract_deploy": NonTaxable, NoEntry, F, Any, None, NEVER, "A contract deployed.", "Nothing moved but gas";
    FailedTransaction "failed_transaction": NonTaxable, ExpenseFee, F, Any, None, NEVER, "The transaction failed on chain; only gas was spent.", "Gas only";
    Spam "spam": NonTaxable, Ignore, F, Any, None, NEVER, "Unsolicited tokens or look-alike transfers.", "No dominion: Rev. Rul. 2019-24";
    Unclassified "unclassified": NeedsReview, Review, B, Any, None, NEVER, "The evidence is too thin for a category.", "A person decides";
}
